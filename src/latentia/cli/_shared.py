"""What several commands share: checks of options, tables on the screen, and results that are written whole or not at all."""

from __future__ import annotations

import csv
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..evidence.checks import Evidence, describe
from ..exceptions import LatentiaError

__all__ = [
    "Columns",
    "Force",
    "Jobs",
    "Quiet",
    "Seed",
    "best_size",
    "cache_folder",
    "check_choice",
    "check_jobs",
    "check_target",
    "error_cell",
    "existing",
    "named",
    "parse_sizes",
    "print_comparison",
    "print_evidence",
    "write_all",
    "write_csv",
    "write_evidence",
]

# Every file that a command may write: what an earlier run of any of them left in the folder goes.
_OUTPUTS = (
    "causes.csv", "comparison.csv", "documents.csv", "edges.csv", "evidence.csv", "findings.csv", "labels.csv",
    "means.csv", "metrics.csv", "mixing.csv", "model.npz", "nearest.csv", "network.bif", "paths.csv",
    "posteriors.csv", "predictions.csv", "report.html", "scaling.csv", "sources.csv", "spectrum.csv", "states.csv",
    "topics.csv", "transitions.csv", "unmixing.csv", "words.csv",
)  # fmt: skip
_MOST_SIZES = 100

Columns = Annotated[
    str | None, typer.Option(help="Columns of numbers to use, separated by commas; by default all of them.")
]
Seed = Annotated[int, typer.Option(help="Seed.", min=0)]
Jobs = Annotated[int, typer.Option(help="Threads; -1 uses every core.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the results of an earlier run in the folder.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


# --- options ----------------------------------------------------------------------------------------------------


def parse_sizes(text: str, what: str = "topics", option: str = "-k") -> list[int]:
    """``20`` or ``FROM:TO:STEP``, both ends included."""
    if not re.fullmatch(r"\d+(:\d+(:\d+)?)?", text):
        raise LatentiaError(f"{option} {text!r}: give a number of {what}, or FROM:TO:STEP as in 10:50:10.")
    parts = [int(part) for part in text.split(":")]
    if len(parts) == 1:
        sizes: Any = parts
    else:
        step = parts[2] if len(parts) == 3 else 1
        sizes = range(parts[0], parts[1] + 1, step) if all(parts) else []
    if len(parts) == 1 and parts[0] < 1:
        raise LatentiaError(f"{option} {text}: at least 1 of the {what} is needed.")
    if not len(sizes) or sizes[0] < 1:
        raise LatentiaError(f"{option} {text!r}: no number of {what} in that range.")
    if len(sizes) > _MOST_SIZES:
        raise LatentiaError(f"{option} {text!r}: {len(sizes)} numbers of {what}; {_MOST_SIZES} can be compared.")
    return list(sizes)


def check_jobs(jobs: int) -> None:
    """Raise unless ``--jobs`` is a number of threads or -1."""
    if jobs == 0 or jobs < -1:
        raise LatentiaError(f"--jobs {jobs}: give a number of threads, or -1 for every core.")


def check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    """Raise unless an option has one of its values."""
    if value not in allowed:
        raise LatentiaError(f"{option} {value!r}: use one of {', '.join(allowed)}.")


def check_target(out: Path, source: Path, force: bool) -> None:
    """Raise before any work where the results could not be written, or would overwrite something."""
    try:
        if out.exists() and not out.is_dir():
            raise LatentiaError(f"{out}: exists and is not a folder. Choose another with --out.")
        if out.exists() and any(out.iterdir()) and not force:
            raise LatentiaError(
                f"{out}: the folder is not empty. Choose another with --out, or replace its results with --force."
            )
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LatentiaError(f"--out {out}: cannot be written ({error.strerror or error}).") from error
    if source.is_dir() and out.resolve().is_relative_to(source.resolve()):
        raise LatentiaError(
            f"--out {out}: lies in the folder of texts {source}, which would be read again. Choose another."
        )


def existing(path: Path, option: str) -> Path:
    """The path, if it is a file."""
    if not path.is_file():
        raise LatentiaError(f"{option} {path}: no such file.")
    return path


def cache_folder(source: Path) -> Path | None:
    """Beside the source if that can be written, else a folder of temporary files."""
    folder = source if source.is_dir() else source.parent
    return None if os.access(folder, os.W_OK) else Path(tempfile.gettempdir()) / "latentia-cache"


@contextmanager
def named(source: str, option: str = "-k") -> Iterator[None]:
    """Errors of an estimator name the source, and the options instead of the parameters."""
    try:
        yield
    except LatentiaError as error:
        text = str(error).replace("n_components=", f"{option} ").replace("n_components", option)
        text = text.replace("refine=", "--refine ")
        raise LatentiaError(text if source in text else f"{source}: {text}") from error


# --- printing ---------------------------------------------------------------------------------------------------


def print_comparison(rows: list[dict[str, Any]], best: int, title: str, sentence: str, console: Console) -> None:
    """The table of sizes that were compared, the best one in bold."""
    table = Table(title=title)
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        values = list(row.values())
        table.add_row(*map(_short, values), style="bold" if values[0] == best else None)
    console.print(table)
    console.print(sentence, highlight=False)


def best_size(rows: list[dict[str, Any]], measure: str, *, lowest: bool) -> int:
    """The size, a row's first value, with the lowest or highest measure."""
    chosen = (min if lowest else max)(rows, key=lambda row: row[measure])
    return int(next(iter(chosen.values())))


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else f"{value:.0f}"


def print_evidence(evidence: Evidence, console: Console, *, verdict: bool = True) -> None:
    """The evidence table and its verdict."""
    table = Table(title="Evidence")
    for name in ("check", "measured", "needed", "holds", "meaning"):
        table.add_column(name, justify="right" if name == "measured" else "left")
    for check in evidence.checks:
        table.add_row(*map(escape, describe(check)), style="red" if check.holds is False else None)
    console.print(table)
    if verdict:
        console.print(evidence.verdict, style="bold" if evidence.holds else "bold red", highlight=False)


# --- writing ----------------------------------------------------------------------------------------------------


def error_cell(errors: np.ndarray | None, number: int, digits: int = 4) -> str:
    """A component's expected error as text; empty where none was measured."""
    return "" if errors is None else f"{errors[number]:.{digits}f}"


def write_evidence(path: Path, evidence: Evidence) -> None:
    """The evidence table as CSV."""
    rows = evidence.rows()
    write_csv(path, list(rows[0]), [list(row.values()) for row in rows])


def write_csv(path: Path, header: Sequence[str], rows: Any) -> None:
    """A table with a line of headings."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write_all(out: Path, write: Callable[[Path], None]) -> list[str]:
    """Write into a folder beside ``out`` and move the files over when all are there."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            write(partial)
            files = sorted(file.name for file in partial.iterdir())
            out.mkdir(exist_ok=True)
            for name in set(_OUTPUTS) - set(files):
                (out / name).unlink(missing_ok=True)  # of an earlier run
            for name in files:
                os.replace(partial / name, out / name)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise LatentiaError(f"{out}: cannot be written ({error.strerror or error}).") from error
    return files
