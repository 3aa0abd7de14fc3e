"""``latentia hmm``: a hidden Markov model of sequences on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Screen

from .. import persistence
from ..datasets.readers import read_lines
from ..exceptions import LatentiaError
from ..report import import_report
from ..report._parts import short_number
from ..report.hmm import emission_lifts, mean_stays
from ..sequences import SpectralHMM, TwoStateHMM
from ._shared import (
    Columns,
    Force,
    Jobs,
    Quiet,
    Seed,
    check_choice,
    check_jobs,
    check_target,
    error_cell,
    named,
    print_evidence,
    write_all,
    write_csv,
    write_evidence,
)
from ._tables import Wanted, is_table, known, numeric_columns, read_table, split_names

__all__ = ["hmm"]

RARE = "<rare>"
_TOP = 20
_STATES = 4


@dataclass(frozen=True)
class Sequences:
    """Steps of sequences, one after another.

    Attributes
    ----------
    steps : ndarray of str, shape (n_steps,), or of float, shape (n_steps, D)
    lengths : ndarray of int, shape (n_sequences,)
    names : list of str
        A name for every sequence.
    rows : sequence of int, or None
        The line of every step, where each has its own.
    columns : list of str
        Names of the features, for vectors.
    source : str
    """

    steps: np.ndarray
    lengths: np.ndarray
    names: list[str]
    rows: Sequence[int] | None
    columns: list[str]
    source: str

    @property
    def symbols(self) -> bool:
        """Whether the steps are symbols."""
        return self.steps.ndim == 1


def hmm(
    source: Annotated[
        Path,
        typer.Argument(help="A text file with a sequence a line, symbols separated by spaces; or CSV, TSV, Parquet."),
    ],
    k: Annotated[int | None, typer.Option("-k", help="Number of states; by default 4.", min=1)] = None,
    two_state: Annotated[
        bool, typer.Option("--two-state", help="Two states over many symbols, and whether there is a second at all.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("hmm"),
    column: Annotated[str | None, typer.Option(help="Column of symbols of a table.")] = None,
    columns: Columns = None,
    sequence: Annotated[str | None, typer.Option(help="Column of a table whose changes start a new sequence.")] = None,
    kind: Annotated[str, typer.Option(help="auto, symbols or vectors: what the steps are.")] = "auto",
    min_count: Annotated[int, typer.Option(help="Rarer symbols become one symbol, <rare>.", min=1)] = 1,
    lower: Annotated[bool, typer.Option("--lower", help="Symbols in lower case.")] = False,
    refine: Annotated[int, typer.Option(help="EM passes after the recovery; 0 keeps to the theorem.", min=0)] = 10,
    seed: Seed = 0,
    jobs: Jobs = -1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Learn a hidden Markov model of sequences and write tables, a model and a report."""
    check_jobs(jobs)
    check_choice("--kind", kind, ("auto", "symbols", "vectors"))
    if two_state and k not in (None, 2):
        raise LatentiaError(f"-k {k}: --two-state has two states; leave one of them out.")
    check_target(out, source, force)
    import_report()
    data = _read(source, column, split_names(columns), sequence, kind)
    if data.symbols:
        data = _mapped(data, min_count, lower)
    elif two_state:
        raise LatentiaError(
            f"{data.source}: --two-state is for symbols, and these steps are numbers: name a column of symbols with --column, "
            "or leave it out."
        )
    elif min_count > 1 or lower:
        raise LatentiaError("--min-count and --lower are for symbols, and these steps are numbers: leave them out.")
    console = Console()
    console.print(f"{data.source}: {_described(data)}", highlight=False, markup=False)
    with named(data.source):
        model = _estimator(k, two_state, data, refine=refine, random_state=seed, n_jobs=jobs, verbose=not quiet)
        model.fit(data.steps, data.lengths)
    written = write_all(out, lambda folder: _write(folder, model, data))
    _print_states(model, data, console)
    if isinstance(model, TwoStateHMM):
        rate = f"{model.entropy_rate(random_state=seed):.3f} nats a step, of {_entropy(data):.3f} without memory"
        console.print(f"Entropy rate: {rate}.", highlight=False)
    print_evidence(model.evidence_, console)
    console.print(f"Wrote {', '.join(written)} to {out}", highlight=False, soft_wrap=True, markup=False)


def _estimator(k: int | None, two_state: bool, data: Sequences, **options: Any) -> SpectralHMM | TwoStateHMM:
    if two_state:
        return TwoStateHMM(**options)
    return SpectralHMM(_STATES if k is None else k, kind="symbols" if data.symbols else "vectors", **options)


def _entropy(data: Sequences) -> float:
    """Entropy of a step that nothing is known before, in nats."""
    shares = np.unique(data.steps, return_counts=True)[1] / len(data.steps)
    return float(-(shares @ np.log(shares)))


def _described(data: Sequences) -> str:
    what = f"{len(np.unique(data.steps)):,} symbols" if data.symbols else f"columns {', '.join(data.columns)}"
    many = len(data.lengths)
    return f"{many:,} sequence{'' if many == 1 else 's'}, {len(data.steps):,} steps, {what}"


# --- reading ----------------------------------------------------------------------------------------------------


def _read(path: Path, column: str | None, columns: list[str] | None, sequence: str | None, kind: str) -> Sequences:
    if column is not None and columns is not None:
        raise LatentiaError(
            "--column names a column of symbols, and --columns columns of numbers: give one of the two."
        )
    if column is not None and kind == "vectors":
        raise LatentiaError("--kind vectors: name the columns of numbers with --columns, not --column.")
    if columns is not None and kind == "symbols":
        raise LatentiaError("--kind symbols: name the one column of symbols with --column, not --columns.")
    if is_table(path):
        return _read_columns(path, column, columns, sequence, kind)
    for option, value in (("--column", column), ("--columns", columns), ("--sequence", sequence)):
        if value is not None:
            raise LatentiaError(f"{path}: a text file has no columns; leave {option} out, or save a table as .csv.")
    if kind == "vectors":
        raise LatentiaError(
            f"{path}: what stands in a text file is taken for symbols. Save vectors as .csv, a step a line."
        )
    return _read_text(path)


def _read_text(path: Path) -> Sequences:
    """A sequence a line, symbols separated by white space; empty lines are passed over."""
    if path.is_dir():
        raise LatentiaError(f"{path}: a folder, and a file with a sequence a line is needed.")
    if not path.exists():
        raise LatentiaError(f"{path}: no such file.")
    lines = [(number, line.split()) for number, line in enumerate(read_lines(path), 1)]
    lines = [(number, symbols) for number, symbols in lines if symbols]
    if not lines:
        raise LatentiaError(f"{path}: the file has no symbols in it.")
    steps = np.array([symbol for _, symbols in lines for symbol in symbols], dtype=object)
    lengths = np.array([len(symbols) for _, symbols in lines])
    return Sequences(steps, lengths, [f"line {number}" for number, _ in lines], None, [], path.name)


def _read_columns(
    path: Path, column: str | None, columns: list[str] | None, sequence: str | None, kind: str
) -> Sequences:
    table = read_table(path, lambda kinds: _choose(path, kinds, column, columns, sequence, kind))
    n = len(table.rows)
    keys = table.texts[sequence] if sequence is not None else ["1"] * n
    starts = np.flatnonzero([True, *(a != b for a, b in pairwise(keys))])
    lengths, names = np.diff(np.append(starts, n)), [keys[i] for i in starts]
    symbols = [name for name in table.texts if name != sequence]
    if symbols:
        steps: np.ndarray = np.array(table.texts[symbols[0]], dtype=object)
    else:
        steps = table.values
    return Sequences(steps, lengths, names, table.rows, table.columns, table.source)


def _choose(
    path: Path,
    kinds: Mapping[str, str],
    column: str | None,
    columns: list[str] | None,
    sequence: str | None,
    kind: str,
) -> Wanted:
    """The column of symbols, or the columns of numbers, and the one that tells sequences apart."""
    known(path, kinds, "--sequence", [sequence] if sequence else [])
    known(path, kinds, "--column", [column] if column else [])
    apart = [sequence] if sequence else []
    if sequence is not None and sequence in (column, *(columns or ())):
        raise LatentiaError(f"--sequence {sequence}: the column is used for the steps too; it cannot be both.")
    rest = {name: held for name, held in kinds.items() if name != sequence}
    texts = [name for name, held in rest.items() if held == "text"]
    if column is None and columns is None and kind != "vectors":
        if len(rest) == 1 and (kind == "symbols" or "decimal" not in rest.values()):
            column = next(iter(rest))
        elif len(texts) == 1 and (kind == "symbols" or len(texts) == len(rest)):
            column = texts[0]
        elif kind == "symbols" or len(texts) == len(rest):
            raise LatentiaError(
                f"{path}: which column holds the symbols? There are {', '.join(rest)}; name one with --column."
            )
    if column is not None:
        return Wanted(texts=[column, *apart])
    return Wanted(numeric_columns(path, rest, columns), apart)


def _mapped(data: Sequences, min_count: int, lower: bool) -> Sequences:
    """The symbols in lower case, and rare ones as one, if asked."""
    steps = np.array([symbol.lower() for symbol in data.steps], dtype=object) if lower else data.steps
    symbols, inverse, counts = np.unique(steps.astype(str), return_inverse=True, return_counts=True)
    kept = np.where(counts >= min_count, symbols.astype(object), RARE)
    if len(np.unique(kept.astype(str))) < 2:
        why = f"occur {min_count} times or more; lower --min-count" if min_count > 1 else "are there: a chain needs two"
        raise LatentiaError(f"{data.source}: fewer than two symbols {why}.")
    return Sequences(kept[inverse].astype(str), data.lengths, data.names, data.rows, data.columns, data.source)


# --- printing ---------------------------------------------------------------------------------------------------


def _print_states(model: SpectralHMM | TwoStateHMM, data: Sequences, console: Console) -> None:
    table = Screen(title=f"{len(model.weights_)} states, most visited first")
    for name in ("state", "share", "error", "mean stay"):
        table.add_column(name, justify="right")
    table.add_column("most probable symbols" if data.symbols else "means")
    stays = mean_stays(model.transmat_)
    for i, share in enumerate(model.weights_):
        if data.symbols:
            top = np.argsort(-model.emissionprob_[i], kind="stable")[:10]
            text = " ".join(model.symbols_[top])
        else:
            text = ", ".join(
                f"{name} {short_number(value)}" for name, value in zip(data.columns[:10], model.means_[i], strict=False)
            )
        error = error_cell(model.evidence_.component_errors, i, 2)
        table.add_row(str(i), f"{100 * share:.1f}%", error, f"{stays[i]:.1f}", escape(text))
    console.print(table)


# --- writing ----------------------------------------------------------------------------------------------------


def _write(folder: Path, model: SpectralHMM | TwoStateHMM, data: Sequences) -> None:
    from ..report import write_hmm_report

    persistence.save(model, folder / "model.npz")
    write = _write_symbols if data.symbols else _write_means
    write(folder / "states.csv", model, data)
    k = len(model.weights_)
    moves = [[i, *(f"{p:.6f}" for p in row), f"{stay:.4f}"] for i, (row, stay) in enumerate(_moves(model))]
    write_csv(folder / "transitions.csv", ["from state", *(f"to {j}" for j in range(k)), "mean stay"], moves)
    states = model.predict(data.steps, data.lengths)
    sure = model.predict_proba(data.steps, data.lengths)[np.arange(len(states)), states]
    step = "symbol" if data.symbols else "row"
    write_csv(folder / "paths.csv", ["sequence", "step", step, "state", "probability"], _paths(data, states, sure))
    write_evidence(folder / "evidence.csv", model.evidence_)
    write_hmm_report(
        folder / "report.html", model, data.steps, data.lengths, columns=data.columns, states=states, names=data.names,
        title=f"States of {data.source}", source=data.source,
    )  # fmt: skip


def _moves(model: SpectralHMM | TwoStateHMM) -> Iterator[tuple[np.ndarray, float]]:
    return zip(model.transmat_, mean_stays(model.transmat_), strict=True)


def _first_cells(model: SpectralHMM | TwoStateHMM, i: int) -> list[Any]:
    error = error_cell(model.evidence_.component_errors, i)
    return [i, f"{model.weights_[i]:.6f}", error, f"{model.startprob_[i]:.6f}"]


def _write_symbols(path: Path, model: SpectralHMM | TwoStateHMM, data: Sequences) -> None:
    """The most probable symbols of every state."""
    lifts, rows = emission_lifts(model, data.steps), []
    for i, probabilities in enumerate(model.emissionprob_):
        for rank, s in enumerate(np.argsort(-probabilities, kind="stable")[:_TOP], 1):
            values = [f"{probabilities[s]:.8f}", f"{lifts[i, s]:.4f}"]
            rows.append([*_first_cells(model, i), rank, model.symbols_[s], *values])
    header = [
        "state",
        "share",
        "expected error (l1 of 2)",
        "start probability",
        "rank",
        "symbol",
        "probability",
        "lift",
    ]
    write_csv(path, header, rows)


def _write_means(path: Path, model: SpectralHMM | TwoStateHMM, data: Sequences) -> None:
    """The mean and standard deviation of every column in every state."""
    deviations = np.sqrt(np.asarray(model.variances_))
    rows = [
        [*_first_cells(model, i), name, f"{model.means_[i, d]:.8g}", f"{deviations[i, d]:.8g}"]
        for i in range(len(model.means_))
        for d, name in enumerate(data.columns)
    ]
    header = ["state", "share", "expected error (standard deviations)", "start probability", "column", "mean"]
    write_csv(path, [*header, "standard deviation"], rows)


def _paths(data: Sequences, states: np.ndarray, sure: np.ndarray) -> Iterator[list[Any]]:
    t = 0
    for name, length in zip(data.names, data.lengths, strict=True):
        for step in range(1, length + 1):
            shown = data.steps[t] if data.symbols or data.rows is None else data.rows[t]
            yield [name, step, shown, states[t], f"{sure[t]:.5f}"]
            t += 1
