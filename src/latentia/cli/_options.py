"""What the shell calls: a command, whose options follow from its signature and from what its docstring says of them."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..passes import checkpointing, on_cluster
from ._shared import Reading, Results, check_choice, check_jobs, steps_of

_ENTRY = re.compile(r"^(\w+)(?: : (.*))?\n((?: +.+\n?)+)", re.MULTILINE)
_TOKEN = re.compile(r"\{[^}]*\}|[^,\s][^,]*")
_BOUND = re.compile(r"([<>])= ([\d.]+)")
_CHECKS: dict[str, Callable[[Any], Any]] = {"refine": steps_of, "jobs": check_jobs}


@dataclass(frozen=True)
class Run:
    """What the options say that all commands which learn have.

    Parameters
    ----------
    out : --out, -o
        Folder for the results.
    cache
        Folder for binary copies of tables, which later runs read faster; by default that of each file.
    no_cache
        Keep no binary copies.
    encoding
        Encoding of texts and CSV files, such as cp1251; detected by default.
    seed : >= 0
        Seed of the random splits and starts.
    jobs
        Number of threads; -1 uses every core.
    evidence
        Print all checks, not only those that decide.
    force
        Replace the results of an earlier run in the folder.
    quiet : --quiet, -q
        Show no progress.
    checkpoint
        Folder for the state of long fits: after a crash the same command goes on from it. Removed in the end.
    scheduler
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers make the passes over files.

    Other Parameters
    ----------------
    as_json : --json
        Print one JSON object for programs; all else goes to standard error.
    columns
        Columns of numbers to use, separated by commas; by default all of them.
    ignore
        Columns not to use, such as an id, separated by commas.
    missing
        Cells without a value: drop leaves their rows out, mean puts the mean of the column there; by default they are an error.
    splits : >= 0, <= 3
        Fits on parts of the data, for the expected errors; 0 measures none.
    refine
        Steps of refinement after the recovery: a number, 0 for the theorem, or auto: until it converges.
    keep_moments
        Keep sums over the rows in the model, so that rows can be added and models merged: see 'update' and 'merge'.
    effects
        Formula of columns, such as '~ party + year': their effects on the components, with error bars.
    cluster
        With --effects: column of what rows depend on each other within, such as an author.
    column
        Text column of a CSV file or workbook.
    split
        Cut texts into documents: chapter, paragraph, or a number of words. A text file is one text then.
    metadata
        Table about the documents: a row for each, in order, or with its name in the first column.
    vocabulary
        Words of a table of counts, one per line.
    stop_words
        Words to skip: english (the default), german, ..., none, or a file of words to skip besides the English ones; several
        separated by commas.
    min_df : >= 1
        Skip words in fewer documents; by default 2, or 5 of 20,000 documents.
    max_df : >= 0.0, <= 1.0
        Skip words in more than this share of the documents; by default 0.5.
    """

    out: Path
    cache: Path | None = None
    no_cache: bool = False
    encoding: str | None = None
    seed: int = 0
    jobs: int = -1
    evidence: bool = False
    force: bool = False
    quiet: bool = False
    checkpoint: Path | None = None
    scheduler: str | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Of every estimator."""
        return {"random_state": self.seed, "n_jobs": self.jobs, "verbose": not self.quiet}

    def results(self, source: Path, *files: str) -> Results:
        """Where results go, after a look whether they can; ``files`` may be written besides those of all commands."""
        found = Results(self.out, source, files, self.force, self.evidence, not self.quiet)
        found.check()
        return found

    def reading(self, missing: str | None = None, ways: tuple[str, ...] = ()) -> Reading:
        """How files are read."""
        return Reading.of(self.quiet, self.cache, self.no_cache, missing, ways, encoding=self.encoding)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Fits run on the cluster, and keep what they have read, where the options say so."""
        with ExitStack() as around:
            if self.checkpoint is not None:
                around.enter_context(checkpointing(self.checkpoint))
            if self.scheduler is not None:
                around.enter_context(on_cluster(self.scheduler))
            yield


def as_command(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with options for what its signature has; where it takes a `Run` first, it has those of this as well.

    Behind the colon of a parameter its docstring may give names of the option, choices in braces, and bounds; an argument
    is called as words in capitals say.
    """
    says, _, own = (inspect.getdoc(function) or "").partition("\n\nParameters\n")
    described = _described(inspect.getdoc(Run) or "") | _described(own)
    given = list(inspect.signature(function, eval_str=True).parameters.values())
    learns = given[0].annotation is Run
    of_all = dict(inspect.signature(Run, eval_str=True).parameters) if learns else {}
    if learns:
        of_all["out"] = of_all["out"].replace(default=Path(function.__name__.replace("_", "-")))
    asks = [inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool)]
    options = [_option(one, *described[one.name]) for one in (*given[learns:], *of_all.values(), *asks)]

    @functools.wraps(function)
    def run(as_json: bool = False, **values: Any) -> Any:
        if not learns:
            return function(**values)
        shared = Run(**{one: values.pop(one) for one in of_all})
        with shared.placed():
            return function(shared, **values)

    run.__doc__, run.__annotations__ = says, {one.name: one.annotation for one in options}
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run


def _described(text: str) -> dict[str, tuple[str, str]]:
    """Of each parameter of a docstring what stands behind its colon, and what is said of it."""
    return {found[1]: (found[2] or "", " ".join(found[3].split())) for found in _ENTRY.finditer(text + "\n")}


def _option(parameter: inspect.Parameter, behind: str, text: str) -> inspect.Parameter:
    """A parameter as typer takes it."""
    name, kind, names, look = parameter.name, parameter.annotation, list[str](), dict[str, Any](help=text)
    look["callback"] = _CHECKS.get(name)
    for token in _TOKEN.findall(behind):
        bound = _BOUND.fullmatch(token)
        if token.startswith("-"):
            names.append(token)
        elif token.startswith("{"):
            look["callback"] = _one_of(f"--{name.replace('_', '-')}", token[1:-1].split(", "))
        elif bound:
            look["min" if bound[1] == ">" else "max"] = int(bound[2]) if bound[2].isdigit() else float(bound[2])
        else:
            look["metavar"] = token
    if kind is bool and not names:
        names = [f"--{name.replace('_', '-')}"]
    argues = not names and (parameter.default is parameter.empty or "metavar" in look)
    info = typer.Argument(**look) if argues else typer.Option(*names, **look)
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])


def _one_of(option: str, choices: list[str]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if value is not None:
            check_choice(option, value, choices)
        return value

    return checked
