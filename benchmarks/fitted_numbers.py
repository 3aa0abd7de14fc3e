"""Whether two versions of the library give users the same: every estimator and command, what differs, and by how much.

Run it in one tree and then in the other, with the file that the first wrote; ``--only`` names packages, or ``demo``::

    python benchmarks/fitted_numbers.py --save before.npz
    python benchmarks/fitted_numbers.py --compare before.npz [--n-jobs 2] [--only topics ica]

Of each case of ``tests/contract.py``: fitted attributes, the evidence, what the methods answer that need nothing but the data,
and the text of the report; attributes and evidence also of fits with each other choice that a parameter has. Of each source of
``tests/sources.py``: every file that its command, ``apply``, ``update`` and ``merge`` write, and what they print.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import html
import inspect
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import takewhile
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from contract import CASES, Case
from shell import latentia as run_command
from sources import SOURCES

import latentia
from latentia.cli.commands import COMMANDS
from latentia.families import FAMILIES, estimators, family_of

Answer = np.ndarray | str
NO_ANSWERS = re.compile("fit|partial_fit|set_|get_metadata|get_params|report|summary|forget|inverse|merge|reanchor|_")
"""How names of methods begin that learn, set something, or repeat the report."""
VOLATILE = re.compile(
    r"'?\bn_jobs'?[=:] ?(-?\d+|None)|\b[\d.]+ (s|seconds)\b|(?<=\"seconds\": )[\d.e-]+| at 0x[0-9a-f]+"
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
PACKAGES = ["demo", *(family.package for family in FAMILIES)]
SHOWN = 8  # differences of a family


# --- what users get -------------------------------------------------------------------------------------------------


def answers(name: str, value: Any) -> Iterator[tuple[str, Answer]]:
    """The numbers or texts of a value."""
    value = value.toarray() if sparse.issparse(value) else value
    if isinstance(value, (list, tuple)) and any(hasattr(one, "shape") for one in value):
        for i, one in enumerate(value):
            yield from answers(f"{name}[{i}]", one)
    elif isinstance(value, str):
        yield name, steady(value)
    elif isinstance(value, (int, float, list, tuple, range, np.ndarray, np.generic)) and not mixed(value):
        yield name, np.asarray(value)
    else:
        lines = value.items() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else [value]
        yield name, steady("\n".join(map(repr, lines)))


def mixed(value: Any) -> bool:
    """Whether a sequence is no table of numbers."""
    try:
        return np.asarray(value).dtype.kind not in "fiub"
    except ValueError:
        return True


def steady(text: str) -> str:
    """A text without what differs from run to run."""
    return VOLATILE.sub("_", text).replace(latentia.__version__, "VERSION")


def visible(page: str) -> str:
    """The text of a page, and the numbers that its charts draw."""
    page = re.sub(r'<(style|script)\b(?![^>]*\bid="report-data").*?</\1>', "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"(<[^>]*>|\s)+", "\n", page))


def of_evidence(evidence: Any) -> Iterator[tuple[str, Answer]]:
    """Verdict, grade, records of components and checks; also of the topics of a classifier."""
    yield "evidence", steady("\n".join([evidence.grade, evidence.verdict, evidence.advice, str(evidence)]))
    for name in ("components", "checks", "component_errors", "found_again"):
        yield from answers(f"evidence {name}", getattr(evidence, name))
    if evidence.topics is not None:
        yield from ((f"topics' {name}", value) for name, value in of_evidence(evidence.topics))


def of_model(model: Any) -> Iterator[tuple[str, Answer]]:
    """Fitted attributes and the evidence."""
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_") and name != "evidence_":
            yield from answers(name, value)
    yield from of_evidence(model.evidence_)


def attempted(work: Callable[[], Iterable[tuple[str, Answer]]]) -> list[tuple[str, Answer]]:
    """What it gives, or why it is refused."""
    try:
        return list(work())
    except latentia.LatentiaError as error:
        return [("error", str(error))]


def of_methods(model: Any, data: Mapping[str, Any]) -> Iterator[tuple[str, Answer]]:
    """What each public method says that needs nothing but the data."""
    data = {**data, "y": data["Y"]} if "Y" in data else data
    for name, method in inspect.getmembers(model, callable):
        if NO_ANSWERS.match(name) or name.endswith("_"):
            continue
        parameters = inspect.signature(method).parameters
        required = [key for key, one in parameters.items() if one.default is one.empty]
        if set(required) <= set(data):
            more = {key: data[key] for key in parameters if key in data and key not in required}
            yield from attempted(lambda: answers(f"{name}()", method(*(data[key] for key in required), **more)))


def variants(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Parameters of other fits of a case: without refinement, with some, and with each choice that there is."""
    yield from ((f" {values}", values) for values in (dict(case.plain), dict(case.refined)) if values)
    for name, constraint in type(case.estimator)._constraints.items():
        inner = getattr(constraint, "inner", constraint)
        options = getattr(inner, "options", (True, False) if type(inner).__name__ == "Flag" else ())
        for value in options:
            if value != getattr(case.estimator, name):
                yield f" {name}={value!r}", {**case.refined, name: value}


def of_case(case: Case, n_jobs: int) -> Iterator[tuple[str, Answer]]:
    """All fits of a case."""
    data = case.data()
    model = case.new(n_jobs=n_jobs).fit(**data)
    page = model.report("page.html", *data.values())
    answered = [*of_model(model), *of_methods(model, data), ("report", steady(visible(page.read_text("utf-8"))))]
    yield from ((f"{case.name} {key}", value) for key, value in answered)
    for said, parameters in variants(case):
        answered = attempted(lambda: of_model(case.new(**parameters, n_jobs=n_jobs).fit(**data)))
        yield from ((f"{case.name}{said} {key}", value) for key, value in answered)


def of_files(folder: Path) -> Iterator[tuple[str, Answer]]:
    """What a command has written."""
    for path in sorted(folder.rglob("[!.]*")):
        if path.suffix == ".npz":
            yield from ((f"{path} {key}", value) for key, value in of_model(latentia.load(path)))
        elif path.suffix == ".html":
            yield str(path), steady(visible(path.read_text("utf-8")))
        elif path.is_file() and path.suffix != ".png":
            yield str(path), steady(path.read_text("utf-8"))


def of_command(*arguments: Any, out: str) -> Iterator[tuple[str, Answer]]:
    """What a command prints for people and for programs, and its files."""
    done = run_command(*arguments, "--out", out, "--json")
    yield f"{arguments[0]} --json", steady(done.stdout.replace(', "', ',\n"'))
    yield f"{arguments[0]} on screen", steady(done.stderr)
    yield from of_files(Path(out))


def of_source(command: str, source: list[Any], n_jobs: int) -> Iterator[tuple[str, Answer]]:
    """What a command learns of a source, says of the same rows again, and keeps when they are added or merged."""
    files = list(takewhile(lambda one: isinstance(one, Path), source))
    options = ["--quiet", "--jobs", n_jobs]
    yield from of_command(command, *source, *options, out="learned")
    yield from of_command("apply", "learned", *files, *options, out="applied")
    if "--keep-moments" in source:
        yield from of_command("update", "learned", *files, *options, out="updated")
        yield from of_command("merge", "learned", "updated", out="merged")


# --- all of them ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    """An empty folder to work in, so that no text names a place."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path()
        finally:
            os.chdir(before)


def check_nothing_is_missing() -> None:
    """Name the estimators without a case, and the commands without a source."""
    lacking = set(estimators()) - {type(case.estimator).__name__ for case in CASES}
    lacking |= {family.command for family in FAMILIES} - {command for command, _ in SOURCES.values()}
    lacking |= set(COMMANDS) - {family.command for family in FAMILIES} - {"apply", "update", "merge", "demo"}
    if lacking:
        raise SystemExit(f"Nothing in tests/contract.py or tests/sources.py tries {', '.join(sorted(lacking))}.")


def collect(package: str, n_jobs: int) -> dict[str, Answer]:
    """All answers of a family, by name."""
    answered: dict[str, Answer] = {}
    with np.printoptions(precision=17, threshold=sys.maxsize), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if package == "demo":
            with new_folder():
                answered |= of_command("demo", out="demo")
        for family in (one for one in FAMILIES if one.package == package):
            for case in (one for one in CASES if family_of(type(one.estimator).__name__) is family):
                with new_folder():
                    answered |= of_case(case, n_jobs)
            for name, (_, make) in ((name, one) for name, one in SOURCES.items() if one[0] == family.command):
                with new_folder() as folder:
                    answered |= {
                        f"{name}: {key}": value for key, value in of_source(family.command, make(folder), n_jobs)
                    }
    return {f"{package}: {key}": value for key, value in answered.items()}


# --- what differs ---------------------------------------------------------------------------------------------------


def apart(old: np.ndarray, new: np.ndarray) -> str:
    """The largest absolute difference of two tables, and that as a share of the largest number."""
    if old.shape != new.shape:
        return f"shape {old.shape} -> {new.shape}"
    if np.array_equal(old, new, equal_nan=old.dtype.kind == new.dtype.kind == "f"):
        return ""
    old, new = old.astype(float), new.astype(float)
    undefined = int((np.isfinite(old) != np.isfinite(new)).sum())
    most = np.nanmax(np.where(old == new, 0.0, np.abs(old - new)), initial=0.0)
    scale = max(np.abs(one[np.isfinite(one)]).max(initial=0.0) for one in (old, new))
    counted = (
        f"{(old != new).sum()} of {new.size} numbers by {most:.3g} at most, {most / (scale or 1):.2g} of the largest"
    )
    return counted + (f"; {undefined} are finite in one alone" if undefined else "")


def excerpt(old: str, new: str) -> str:
    """The first lines of two texts that differ, around the first letter that does; of their numbers also by how much."""
    parts = [NUMBER.findall(text) for text in (old, new)]
    alike = NUMBER.sub("#", old) == NUMBER.sub("#", new)
    said = [apart(*(np.array(part, float) for part in parts))] if alike else []
    lines = [one for one in difflib.unified_diff(old.split("\n"), new.split("\n"), n=0, lineterm="") if one[0] in "+-"][
        2:6
    ]
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    column = first - old.rfind("\n", 0, first) - 1
    return "\n        ".join([*said, *(f"{one[0]} {one[1:][max(0, column - 60) : column + 60]}" for one in lines)])


def difference(old: Answer | None, new: Answer | None) -> str:
    """How two answers differ; nothing where they do not."""
    if old is None or new is None:
        return "is new" if old is None else "is no more"
    if isinstance(old, str) and isinstance(new, str):
        return "" if old == new else excerpt(old, new)
    if isinstance(old, str) or isinstance(new, str):
        return f"{type(old).__name__} -> {type(new).__name__}"
    return apart(old, new)


def compare(old: Mapping[str, Answer], new: Mapping[str, Answer]) -> int:
    """Print what differs in each family; how much does."""
    names = dict.fromkeys([*new, *old])
    told = {name: said for name in names if (said := difference(old.get(name), new.get(name)))}
    for family in dict.fromkeys(name.partition(":")[0] for name in names):
        total = sum(name.startswith(f"{family}:") for name in names)
        differing = [name for name in told if name.startswith(f"{family}:")]
        print(f"{family}: {len(differing)} of {total} differ" if differing else f"{family}: all {total} are the same")
        for name in differing[:SHOWN]:
            print(f"    {name.partition(': ')[2]}: {told[name]}")
        if len(differing) > SHOWN:
            print(f"    and {len(differing) - SHOWN} more")
    return len(told)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--save", type=Path, help="file to write")
    parser.add_argument("--compare", type=Path, help="file that another version wrote")
    parser.add_argument("--only", nargs="+", default=PACKAGES, choices=PACKAGES)
    parser.add_argument("--n-jobs", type=int, default=1, help="threads of a fit; families are fitted on all cores")
    options = parser.parse_args(arguments)
    check_nothing_is_missing()
    work = partial(collect, n_jobs=options.n_jobs)
    if len(options.only) == 1:
        parts = [work(options.only[0])]
    else:
        with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:  # modules are there already
            parts = list(pool.map(work, options.only))
    answered = {name: value for part in parts for name, value in part.items()}
    if options.save:
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in answered.items()}
        np.savez_compressed(options.save, **arrays)
    if options.compare is None:
        return 0
    with np.load(options.compare) as file:
        old = {name: file[name] for name in file.files if name.partition(":")[0] in options.only}
    old = {name: str(value) if value.dtype.kind == "U" else value for name, value in old.items()}
    return int(compare(old, answered) > 0)


if __name__ == "__main__":
    sys.exit(main())
