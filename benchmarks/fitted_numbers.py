"""Whether two versions of the library give users the same: every estimator and command, what differs, and by how much.

Run it in one tree and then in the other, with the file that the first wrote; ``--only`` names packages, or ``demo``::

    python benchmarks/fitted_numbers.py --save before.npz
    python benchmarks/fitted_numbers.py --compare before.npz [--n-jobs 2] [--only topics ica]

Of each case of ``tests/contract.py``: fitted attributes, the evidence, what the methods answer that need nothing but the data,
and the text of the report; attributes and evidence also of a fit to noise, and of fits with each other choice that a parameter
has. Of each source of ``tests/sources.py``: every file that its command, ``apply``, ``update``, ``merge`` and ``compare``
write, and what they and ``look`` print.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import html
import inspect
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
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
from shell import latentia as run_in_shell
from sources import SOURCES

import latentia
from latentia.cli.commands import COMMANDS, LEARN_NOTHING
from latentia.families import FAMILIES, estimators, family_of

Answer = np.ndarray | str
Answers = Iterator[tuple[str, Answer]]
PACKAGES = ["demo", *(family.package for family in FAMILIES)]
NO_ANSWER = re.compile("fit|partial_fit|set_|get_metadata|get_params|report|summary|forget|inverse|merge|reanchor|_")
"""How names of methods begin that learn, set something, take answers, or repeat the report."""
VOLATILE = re.compile(
    r"""\s*\b[\d.,]+\s(s|seconds|[GM]B\sof\smemory|rows\s(predicted\s)?per\ssecond)\b | (?<="seconds":\s)[\d.e-]+ |
    '?\bn_jobs'?[=:\s]\s?(-?\d+|None) | \sat\s0x[0-9a-f]+""",
    re.VERBOSE,
)
"""Times, memory, threads and addresses."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
MOST_SHOWN = 8
"""Differences of a family that are printed."""


# --- what users get -------------------------------------------------------------------------------------------------


def read_value(name: str, value: Any) -> Answers:
    """Give the numbers or the text of a value; arrays of a list one by one."""
    value = value.toarray() if sparse.issparse(value) else value
    listed = isinstance(value, list | tuple)
    if listed and any(hasattr(item, "shape") for item in value):
        for i, item in enumerate(value):
            yield from read_value(f"{name}[{i}]", item)
    elif isinstance(value, str):
        yield name, remove_volatile(value)
    elif is_numeric(value):
        yield name, np.asarray(value)
    else:
        items = value.items() if isinstance(value, Mapping) else value if listed else [value]
        yield name, remove_volatile("\n".join(map(repr, items)))


def is_numeric(value: Any) -> bool:
    """Say whether a value is a number or a table of numbers."""
    try:
        return np.asarray(value).dtype.kind in "fiub"
    except ValueError:
        return False


def remove_volatile(text: str) -> str:
    """Take out what differs from run to run."""
    return VOLATILE.sub("_", text).replace(latentia.__version__, "VERSION")


def visible_text(path: Path) -> str:
    """Read the text of a page, and the numbers that its charts draw."""
    page = path.read_text("utf-8")
    page = re.sub(r'<(style|script)\b(?![^>]*\bid="report-data").*?</\1>', "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r" ?(<[^>]*> ?)+", "\n", re.sub(r"\s+", " ", page)))


def read_evidence(evidence: Any) -> Answers:
    """Give the grade, the text, and records of components and checks; also of the topics of a classifier."""
    yield from read_value("evidence", f"{evidence.grade}\n{evidence}")
    yield from read_value("evidence components", evidence.components)
    for name, value in vars(evidence).items():
        if name == "topics" and value is not None:
            yield from ((f"topics' {key}", answer) for key, answer in read_evidence(value))
        elif not name.startswith("_"):
            yield from read_value(f"evidence {name}", value)


def read_model(model: Any) -> Answers:
    """Give fitted attributes and the evidence."""
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_") and name != "evidence_":
            yield from read_value(name, value)
    yield from read_evidence(model.evidence_)


def attempt(name: str, read: Callable[[Any], Answers], call: Callable[[], Any]) -> Answers:
    """Read what a call gives, or why it is refused."""
    try:
        result = call()
    except latentia.LatentiaError as error:
        yield f"{name} is refused", str(error)
    else:
        yield from ((f"{name}{key}", value) for key, value in read(result))


def ask_methods(model: Any, data: Mapping[str, Any]) -> Answers:
    """Call each public method that needs nothing but the data."""
    data = {**data, "y": data["Y"]} if "Y" in data else data
    for name, method in inspect.getmembers(model, callable):
        if NO_ANSWER.match(name) or name.endswith("_"):
            continue
        parameters = inspect.signature(method).parameters
        required = [key for key, parameter in parameters.items() if parameter.default is parameter.empty]
        if set(required) <= set(data):
            optional = {key: data[key] for key in parameters if key in data and key not in required}
            call = partial(method, *(data[key] for key in required), **optional)
            yield from attempt(f"{name}()", partial(read_value, ""), call)


def other_fits(case: Case) -> Iterator[dict[str, Any]]:
    """List parameters of other fits: without refinement, with it, and with each choice that a parameter has."""
    yield from (dict(values) for values in (case.plain, case.refined) if values)
    for name, constraint in type(case.estimator)._constraints.items():
        constraint = getattr(constraint, "inner", constraint)
        options = getattr(constraint, "options", (True, False) if type(constraint).__name__ == "Flag" else ())
        for value in options:
            if value != getattr(case.estimator, name):
                yield {**case.refined, name: value}


def run_case(case: Case, n_jobs: int) -> Answers:
    """Fit an estimator to its data, to data without structure, and with other parameters."""
    data = case.data()
    model = case.new(n_jobs=n_jobs).fit(**data)
    page = model.report("page.html", *data.values())
    answers = [*read_model(model), *ask_methods(model, data), *read_value("report", visible_text(page))]
    yield from ((f"{case.name} {name}", value) for name, value in answers)
    fit = partial(case.new(n_jobs=n_jobs).fit, **case.hopeless())
    yield from attempt(f"{case.name} on noise ", read_model, fit)
    for parameters in other_fits(case):
        fit = partial(case.new(**parameters, n_jobs=n_jobs).fit, **data)
        yield from attempt(f"{case.name} {parameters} ", read_model, fit)


def read_files(folder: Path) -> Answers:
    """Read what a command has written."""
    for path in sorted(folder.rglob("[!.]*")):
        if path.suffix == ".npz":
            yield from ((f"{path} {name}", value) for name, value in read_model(latentia.load(path)))
        elif path.is_file() and path.suffix != ".png":
            yield from read_value(str(path), visible_text(path) if path.suffix == ".html" else path.read_text("utf-8"))


def run_command(*arguments: Any, out: str = "") -> Answers:
    """Run a command: what it prints for people and for programs, and its files in the folder ``out``, if it writes any."""
    done = run_in_shell(*arguments, *(["--out", out] if out else []), "--json")
    yield from read_value(f"{arguments[0]} --json", done.stdout.replace(', "', ',\n"'))
    yield from read_value(f"{arguments[0]} on screen", done.stderr)
    if out:
        yield from read_files(Path(out))


def run_commands(command: str, write: Callable[[Path], list[Any]], n_jobs: int) -> Answers:
    """Look at a source, learn from it, apply the model to it, compare it with itself, and add and merge sums that were kept.

    So the commands that learn nothing need no sources of their own.
    """
    source = write(Path())
    files = list(takewhile(lambda argument: isinstance(argument, Path), source))
    options = ["--quiet", "--jobs", n_jobs]
    yield from run_command("look", files[0])
    yield from run_command(command, *source, *options, out="learned")
    yield from run_command("apply", "learned", *files, *options, out="applied")
    yield from run_command("compare", "learned", "learned", "--quiet", out="compared")
    if "--keep-moments" in source:
        yield from run_command("update", "learned", *files, *options, out="updated")
        yield from run_command("merge", "learned", "updated", out="merged")


# --- all of them ----------------------------------------------------------------------------------------------------


def check_nothing_is_missing() -> None:
    """Name the estimators without a case, and the commands without a source."""
    learning = {family.command for family in FAMILIES}
    missing = set(estimators()) - {type(case.estimator).__name__ for case in CASES}
    missing |= learning - {command for command, _ in SOURCES.values()}
    missing |= set(COMMANDS) - learning - set(LEARN_NOTHING)
    if missing:
        raise SystemExit(f"Nothing in tests/contract.py or tests/sources.py tries {', '.join(sorted(missing))}.")


def collect(package: str, n_jobs: int) -> dict[str, Answer]:
    """Collect all answers of a family, by name; each task works in an empty folder, so that no text names a place."""
    cases = [case for case in CASES if getattr(family_of(type(case.estimator).__name__), "package", "") == package]
    commands = {family.command for family in FAMILIES if family.package == package}
    tasks: list[tuple[str, Callable[[], Answers]]] = [("", partial(run_case, case, n_jobs)) for case in cases]
    for name, (command, write) in SOURCES.items():
        if command in commands:
            tasks.append((f"{name}: ", partial(run_commands, command, write, n_jobs)))
    if package == "demo":
        tasks.append(("", partial(run_command, "demo", out="demo")))
    answers: dict[str, Answer] = {}
    with np.printoptions(precision=17, threshold=sys.maxsize), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, task in tasks:
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                answers |= {f"{package}: {name}{key}": value for key, value in task()}
    return answers


# --- what differs ---------------------------------------------------------------------------------------------------


def describe_numbers(old: np.ndarray, new: np.ndarray, table: bool = True) -> str:
    """Say how many numbers differ, and by how much at most, also as a share: of the largest of a table, or of the number."""
    if old.shape != new.shape:
        return f"shape {old.shape} -> {new.shape}"
    old, new = old.astype(float), new.astype(float)
    if np.array_equal(old, new, equal_nan=True):
        return ""
    finite = np.isfinite(old) & np.isfinite(new)
    distances, sizes = np.abs(old - new)[finite], np.maximum(np.abs(old), np.abs(new))[finite]
    shares = distances / np.maximum(sizes.max(initial=0.0) if table else sizes, 1e-300)
    infinite = int((~finite & (old != new) & ~(np.isnan(old) & np.isnan(new))).sum())
    count = int((distances > 0).sum()) + infinite
    text = f"{count} of {new.size} numbers by {distances.max(initial=0.0):.3g} at most"
    text += f", {shares.max(initial=0.0):.2g} of {'the largest' if table else 'a number'}"
    return text + (f"; {infinite} of them NaN or infinite" if infinite else "")


def describe_texts(old: str, new: str) -> str:
    """Show the first lines that differ, around the first letter that does; if only numbers do, say by how much."""
    differences = []
    if NUMBER.sub("#", old) == NUMBER.sub("#", new):
        numbers = [np.array(NUMBER.findall(text), float) for text in (old, new)]
        differences.append(describe_numbers(numbers[0], numbers[1], table=False))
    changes = difflib.unified_diff(old.split("\n"), new.split("\n"), n=0, lineterm="")
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = max(0, first - old.rfind("\n", 0, first) - 61)
    lines = [line for line in changes if line[0] in "+-"][2:6]
    return "\n        ".join(differences + [f"{line[0]} {line[1:][start : start + 120]}" for line in lines])


def describe_difference(old: Answer | None, new: Answer | None) -> str:
    """Say how two answers differ; nothing where they do not."""
    if old is None or new is None:
        return "is new" if old is None else "is no more"
    if isinstance(old, str) and isinstance(new, str):
        return "" if old == new else describe_texts(old, new)
    if isinstance(old, str) or isinstance(new, str):
        return f"{type(old).__name__} -> {type(new).__name__}"
    return describe_numbers(old, new)


def compare(old: Mapping[str, Answer], new: Mapping[str, Answer]) -> int:
    """Print what differs in each family; return how many answers do."""
    total = 0
    for family in dict.fromkeys(name.partition(": ")[0] for name in [*new, *old]):
        names = [name for name in dict.fromkeys([*new, *old]) if name.startswith(f"{family}: ")]
        texts = {name: describe_difference(old.get(name), new.get(name)) for name in names}
        lines = [f"    {name.partition(': ')[2]}: {text}" for name, text in texts.items() if text]
        rest = [f"    and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
        heading = f"{len(lines)} of {len(names)} differ" if lines else f"all {len(names)} are the same"
        print(f"{family}: {heading}", *lines[:MOST_SHOWN], *rest, sep="\n", flush=True)
        total += len(lines)
    return total


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--save", type=Path, help="file to write")
    parser.add_argument("--compare", type=Path, help="file that another version wrote")
    parser.add_argument("--only", nargs="+", default=PACKAGES, choices=PACKAGES)
    parser.add_argument("--n-jobs", type=int, default=1, help="threads of a fit; families are fitted on all cores")
    options = parser.parse_args(arguments)
    check_nothing_is_missing()
    collect_family = partial(collect, n_jobs=options.n_jobs)
    if len(options.only) == 1:
        parts = [collect_family(options.only[0])]
    else:
        # Forks have the modules of this process, which take seconds to import.
        with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
            parts = list(pool.map(collect_family, options.only))
    answers = {name: value for part in parts for name, value in part.items()}
    if options.save:
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in answers.items()}
        np.savez_compressed(options.save, **arrays)
    if options.compare is None:
        return 0
    with np.load(options.compare) as file:
        saved = {name: file[name] for name in file.files if name.partition(": ")[0] in options.only}
    texts_and_arrays = {name: str(value) if value.dtype.kind == "U" else value for name, value in saved.items()}
    return int(compare(texts_and_arrays, answers) > 0)


if __name__ == "__main__":
    sys.exit(main())
