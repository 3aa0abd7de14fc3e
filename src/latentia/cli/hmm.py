"""``latentia hmm``: a hidden Markov model of sequences on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from ..datasets.readers import read_lines
from ..datasets.tables import is_table
from ..exceptions import LatentiaError
from ..passes import RowGroups
from ..persistence import load
from ..report.hmm import rows_of, summarize_hmm
from ..report.parts import count
from ..sequences import SpectralHMM, TwoStateHMM
from ..summaries import Column, Summary

from ._shared import (  # isort: skip
    Columns, Comparison, Reading, Refine, Rows, Run, check_choice, existing, learn, parse_sizes, possible_sizes, refuse_options,
    say, sizes_help,
)  # fmt: skip
from ._tables import Wanted, known, missing_help, numeric_columns, read_table, split_names

__all__ = ["apply_hmm", "hmm"]

RARE = "<rare>"
_SOURCE = "A text file with one sequence per line, symbols separated by spaces; or a table: CSV, TSV, Excel, Parquet."
_COVARIANCE = "diag, full or tied: of numbers, whether columns vary together within a state, or alike in all."
_TWO_STATE = "Two states over many symbols, and whether there is a second at all."


@dataclass(frozen=True)
class Sequences:
    """Steps of sequences, one after another.

    Attributes
    ----------
    steps : ndarray of str, shape (n_steps,), or of float, shape (n_steps, D)
        Of missing steps empty texts, and NaN.
    lengths : ndarray of int, shape (n_sequences,)
    names : list of str
        A name for every sequence.
    rows : sequence of int, or None
        The line of every step, where each has its own.
    columns : list of str
        Names of the features, or of the column of symbols; empty for texts.
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

    @property
    def there(self) -> np.ndarray:
        """Which steps are not missing, shape (n_steps,)."""
        return np.asarray(self.steps != "" if self.symbols else ~np.isnan(self.steps[:, 0]), dtype=bool)

    @property
    def given(self) -> np.ndarray:
        """The steps as models read them: None where a symbol is missing."""
        if not self.symbols or self.there.all():
            return self.steps
        return np.array([step or None for step in self.steps.tolist()], dtype=object)

    @property
    def labels(self) -> tuple[Column, ...]:
        """What tells steps apart that have lines of their own."""
        return () if self.rows is None else (Column("row", self.rows),)

    def __str__(self) -> str:
        there = self.there
        symbols = len(np.unique(self.steps[there])) if self.symbols else 0
        what = f"{symbols:,} symbols" if self.symbols else f"columns {', '.join(self.columns)}"
        gone = "" if there.all() else f", {(~there).sum():,} of them missing"
        return f"{self.source}: {count(len(self.lengths), 'sequence')}, {len(self.steps):,} steps{gone}, {what}"


def hmm(
    run: Run,
    source: Annotated[Path, typer.Argument(help=_SOURCE)],
    k: Annotated[str | None, typer.Option("-k", "--states", help=sizes_help("states, by default 4"))] = None,
    two_state: Annotated[bool, typer.Option("--two-state", help=_TWO_STATE)] = False,
    column: Annotated[str | None, typer.Option(help="Column of symbols of a table.")] = None,
    columns: Columns = None,
    sequence: Annotated[str | None, typer.Option(help="Column of a table whose changes start a new sequence.")] = None,
    kind: Annotated[str, typer.Option(help="auto, symbols or vectors: what the steps are.")] = "auto",
    min_count: Annotated[int, typer.Option(help="Rarer symbols become one symbol, <rare>.", min=1)] = 1,
    lower: Annotated[bool, typer.Option("--lower", help="Put symbols into lower case.")] = False,
    covariance: Annotated[str, typer.Option(help=_COVARIANCE)] = "diag",
    init: Annotated[
        Path | None, typer.Option("--init", help="A model.npz of chains of the same steps, from which EM starts.")
    ] = None,
    missing: Annotated[str | None, typer.Option("--missing", help=missing_help("keep"))] = None,
    refine: Refine = "auto",
) -> dict[str, Any]:
    """Learn a hidden Markov model of sequences and write tables, a model and a report."""
    sizes = parse_sizes(k or ("2" if two_state else "4"), "states")
    check_choice("--kind", kind, ("auto", "symbols", "vectors"))
    check_choice("--covariance", covariance, ("diag", "full", "tied"))
    if two_state and sizes != [2]:
        raise LatentiaError(f"-k {k}: --two-state has two states; give one of the two options.")
    results = run.results(source, "paths.csv", "states.csv", "transitions.csv", "covariances.csv")
    if two_state:
        other = None if covariance == "diag" else covariance
        refuse_options(source, "--two-state has none", covariance=other, init=init)
    data = _read(source, _Asked(column, split_names(columns), sequence, kind), run.reading(missing, ("keep",)))
    if data.symbols:
        data = _mapped(data, min_count, lower)
    _check_steps(data, two_state, min_count > 1 or lower, covariance)
    say(run.console, str(data))
    most = len(np.unique(data.steps[data.there])) if data.symbols else data.steps.shape[1] + 1
    sizes = possible_sizes(sizes, most, str(data), "states", run.console)
    options: dict[str, Any] = {"refine": refine, **run.parameters}
    if not two_state:
        options |= {"covariance_type": covariance, "init": _start(init, data, sizes)}
    criteria: dict[str, float] = {}

    def told(model: Any, comparison: Rows | None) -> Summary:
        criteria["log_likelihood"] = model.score(data.given, data.lengths)
        criteria.update(bic=model.bic(data.given, data.lengths), aic=model.aic(data.given, data.lengths))
        said = "Log-likelihood {log_likelihood:,.1f}, BIC {bic:,.1f}, AIC {aic:,.1f}".format(**criteria)
        if two_state:
            rate, alone = model.entropy_rate(random_state=run.seed), _entropy(data)
            said = f"Entropy rate: {rate:.3f} nats per step, of {alone:.3f} without memory.\n{said}"
        return summarize_hmm(
            model, data.given, data.lengths, columns=data.columns, names=data.names, row_labels=data.labels, criteria=said,
            title=f"States of {data.source}", source=data.source, comparison=comparison,
        )  # fmt: skip

    summary = learn(
        results, data.source, sizes, lambda size: _fit(size, two_state, data, options), told,
        reading={"columns": data.columns, "sequence": sequence, "lower": lower},
        compare=lambda: _comparison(data, options | {"verbose": False}),
    )  # fmt: skip
    return summary | criteria


def _check_steps(data: Sequences, two_state: bool, mapped: bool, covariance: str) -> None:
    """Raise for options that these steps do not have."""
    if two_state and not data.symbols:
        raise LatentiaError(
            f"{data.source}: --two-state is for symbols, and these steps are numbers: name a column of symbols with --column."
        )
    if mapped and not data.symbols:
        raise LatentiaError("--min-count and --lower are for symbols, and these steps are numbers.")
    if data.symbols and covariance != "diag":
        raise LatentiaError(f"--covariance {covariance} is for columns of numbers, and these steps are symbols.")
    if two_state and not data.there.all():
        raise LatentiaError(f"{data.source}: --two-state takes no missing steps: leave --missing keep out.")


def _entropy(data: Sequences) -> float:
    """Entropy of a step that nothing is known before, in nats."""
    shares = np.unique(data.steps, return_counts=True)[1] / len(data.steps)
    return float(-(shares @ np.log(shares)))


# --- fitting ----------------------------------------------------------------------------------------------------


def _fit(size: int | None, two_state: bool, data: Sequences, options: dict[str, Any]) -> Any:
    if two_state:
        return TwoStateHMM(**options).fit(data.given, data.lengths)
    kind: Any = "symbols" if data.symbols else "vectors"
    return SpectralHMM(size, kind=kind, **options).fit(data.given, data.lengths)  # type: ignore[arg-type]


def _start(path: Path | None, data: Sequences, sizes: Sequence[int]) -> dict[str, Any] | None:
    """The chain of a saved model, for these symbols or columns."""
    if path is None:
        return None
    model = load(existing(path, "--init"))
    if not isinstance(model, SpectralHMM | TwoStateHMM) or model.of_symbols != data.symbols:
        wanted = "symbols" if data.symbols else "columns of numbers"
        raise LatentiaError(f"--init {path}: a chain of {wanted} is needed, and this is a {type(model).__name__}.")
    k = len(model.startprob_)
    if list(sizes) != [k]:
        raise LatentiaError(f"--init {path}: a chain of {k} states; ask for as many with -k {k}.")
    start = {"startprob": model.startprob_, "transmat": model.transmat_}
    if not model.of_symbols:
        width, here = model.means_.shape[1], data.steps.shape[1]
        if width != here:
            raise LatentiaError(f"--init {path}: a chain of {width} columns, and {data.source} gives {here}.")
        return start | {"means": model.means_, "variances": model.variances_}
    places = {str(one): i for i, one in enumerate(model.symbols_)}
    there = [str(one) for one in np.unique(data.steps[data.there])]
    strange = [one for one in there if one not in places]
    if strange:
        raise LatentiaError(f"--init {path}: the model does not have the symbol {strange[0]!r} of {data.source}.")
    emissions = model.emissionprob_[:, [places[one] for one in there]]
    totals = emissions.sum(axis=1, keepdims=True)
    if not (totals > 0).all():
        raise LatentiaError(f"--init {path}: state {int(totals.argmin())} has no symbol of {data.source}.")
    return start | {"emissionprob": emissions / totals}


def _comparison(data: Sequences, options: dict[str, Any]) -> Comparison:
    """Models of nine tenths of the steps, and the likelihood that each gives to the others."""
    train, test, what = _held_out(data)
    score = "held-out log-likelihood"

    def measure(model: Any) -> dict[str, Any]:
        value = model.score(test.given, test.lengths) / max(int(test.there.sum()), 1)
        bic = model.bic(train.given, train.lengths) / max(int(train.there.sum()), 1)
        return {"BIC a step": bic, score: value, "smallest share": float(model.weights_.min())}

    return Comparison(
        "states", what, lambda size: _fit(size, False, train, options), measure,
    )  # fmt: skip


def _held_out(data: Sequences) -> tuple[Sequences, Sequences, str]:
    """Sequences to learn from and to measure on: whole ones where there are ten or more, else parts of each.

    Steps whose symbol is not among those that are learned from are measured by no model: they end a sequence.
    """
    whole = len(data.lengths) >= 10
    sequence = np.repeat(np.arange(len(data.lengths)), data.lengths)
    within = np.arange(len(sequence)) - np.repeat(np.cumsum(data.lengths) - data.lengths, data.lengths)
    tenth = 10 * sequence + 10 * within // data.lengths[sequence]
    part = (RowGroups(10, 1).of(sequence if whole else tenth) == 0).astype(int)
    if data.symbols:
        unknown = data.there & ~np.isin(data.steps, np.unique(data.steps[part == 0]))
        part[(part == 1) & unknown] = 2
    if min((part == 0).sum(), (part == 1).sum()) < 3:
        raise LatentiaError(f"{data.source}: too few steps to hold some out; give one number with -k.")
    starts = np.flatnonzero(np.diff(4 * sequence + part, prepend=-1))
    lengths = np.diff(np.append(starts, len(sequence)))
    train, test = (
        replace(data, steps=data.steps[part == i], lengths=lengths[part[starts] == i]) for i in (0, 1)
    )  # fmt: skip
    return train, test, "one sequence in ten" if whole else "a tenth of every sequence"


# --- reading ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """What of a table is read: options of the command or, with ``known``, the columns that a model was fitted on."""

    column: str | None
    columns: list[str] | None
    sequence: str | None
    kind: str
    known: bool = False


def _read(path: Path, asked: _Asked, how: Reading) -> Sequences:
    if asked.column is not None and asked.columns is not None:
        raise LatentiaError(
            "--column names a column of symbols, and --columns columns of numbers: give one of the two."
        )
    if asked.column is not None and asked.kind == "vectors":
        raise LatentiaError("--kind vectors: name the columns of numbers with --columns, not --column.")
    if asked.columns is not None and asked.kind == "symbols":
        raise LatentiaError("--kind symbols: name the one column of symbols with --column, not --columns.")
    if is_table(path):
        return _read_columns(path, asked, how)
    given = {"--column": asked.column, "--columns": asked.columns, "--sequence": asked.sequence}
    for option, value in given.items():
        if value is not None and not asked.known:
            raise LatentiaError(f"{path}: a text file has no columns; leave {option} out, or save a table as .csv.")
    if asked.kind == "vectors":
        raise LatentiaError(
            f"{path}: what stands in a text file is taken for symbols. Save vectors as .csv, one step per line."
        )
    return _read_text(path, how.encoding)


def _read_text(path: Path, encoding: str | None) -> Sequences:
    """One sequence per line, symbols separated by white space; empty lines are skipped."""
    if path.is_dir():
        raise LatentiaError(f"{path}: a folder, and a file with one sequence per line is needed.")
    if not path.exists():
        raise LatentiaError(f"{path}: no such file.")
    lines = [(number, line.split()) for number, line in enumerate(read_lines(path, encoding), 1)]
    lines = [(number, symbols) for number, symbols in lines if symbols]
    if not lines:
        raise LatentiaError(f"{path}: the file has no symbols in it.")
    steps = np.array([symbol for _, symbols in lines for symbol in symbols], dtype=object)
    lengths = np.array([len(symbols) for _, symbols in lines])
    return Sequences(steps, lengths, [f"line {number}" for number, _ in lines], None, [], path.name)


def _read_columns(path: Path, asked: _Asked, how: Reading) -> Sequences:
    table = read_table(path, lambda kinds: _choose(path, kinds, asked), how, other="" if asked.known else "--columns")
    sequence = asked.sequence
    n = len(table.rows)
    keys = table.texts[sequence] if sequence is not None else ["1"] * n
    starts = np.flatnonzero([True, *(a != b for a, b in pairwise(keys))])
    lengths, names = np.diff(np.append(starts, n)), [keys[i] for i in starts]
    symbols = [name for name in table.texts if name != sequence]
    steps = np.array(table.texts[symbols[0]], dtype=object) if symbols else table.values
    if "" in names:
        at = table.rows[int(starts[names.index("")])]
        raise LatentiaError(
            f"{path}, line {at}, column {sequence!r}: no value, and it tells sequences apart. Fill it in."
        )
    if not symbols and np.isnan(steps).any():
        steps = np.where(np.isnan(steps).any(axis=1)[:, None], np.nan, steps)
    data = Sequences(steps, lengths, names, table.rows, symbols or table.columns, table.source)
    if not data.there.any():
        raise LatentiaError(f"{path}: all {len(steps):,} steps are missing.")
    return data


def _choose(path: Path, kinds: Mapping[str, str], asked: _Asked) -> Wanted:
    """The column of symbols, or the columns of numbers, and the one that tells sequences apart."""
    column, columns, sequence, kind = asked.column, asked.columns, asked.sequence, asked.kind
    for option, names in (("--sequence", [sequence]), ("--column", [column]), ("--columns", columns or ())):
        known(path, kinds, None if asked.known else option, [name for name in names if name])
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
            what = "save that one alone" if asked.known else "name one with --column"
            raise LatentiaError(f"{path}: which column holds the symbols? There are {', '.join(rest)}; {what}.")
    if column is not None:
        return Wanted(texts=[column, *apart])
    return Wanted(numeric_columns(path, rest, columns), apart)


def _mapped(data: Sequences, min_count: int, lower: bool) -> Sequences:
    """The symbols in lower case, and rare ones as one, if asked."""
    steps = np.array([symbol.lower() for symbol in data.steps], dtype=object) if lower else data.steps
    symbols, inverse, counts = np.unique(steps.astype(str), return_inverse=True, return_counts=True)
    kept = np.where((counts >= min_count) | (symbols == ""), symbols.astype(object), RARE)
    if len(set(kept.tolist()) - {""}) < 2:
        why = f"occur {min_count} times or more; lower --min-count" if min_count > 1 else "are there: a chain needs two"
        raise LatentiaError(f"{data.source}: fewer than two symbols {why}.")
    return replace(data, steps=kept[inverse].astype(str))


# --- applying ---------------------------------------------------------------------------------------------------


def apply_hmm(model: Any, source: Path, console: Console, how: Reading) -> Callable[[Path], object]:
    """Read other sequences; gives the function that writes their paths."""
    reading, symbols = model.reading_, model.of_symbols
    columns, kind = reading.get("columns") or None, "symbols" if symbols else "vectors"
    column, columns = (columns[0], None) if symbols and columns else (None, columns)
    data = _read(source, _Asked(column, columns, reading.get("sequence"), kind, known=True), how)
    if symbols:
        data = _known_symbols(data, model, bool(reading.get("lower")), console)
    elif data.steps.shape[1] != model.n_features_in_:
        raise LatentiaError(
            f"{source}: {data.steps.shape[1]} columns of numbers, and the model was fitted on {model.n_features_in_}, of which "
            "it has no names."
        )
    say(console, str(data))
    return lambda path: rows_of(model, data.given, data.lengths, data.names, data.labels).write(path)


def _known_symbols(data: Sequences, model: Any, lower: bool, console: Console) -> Sequences:
    """The steps as symbols of the model; those that it does not have are its rare one, if it has that."""
    places = {str(symbol): place for place, symbol in enumerate(model.symbols_)}
    texts = [symbol.lower() if lower else symbol for symbol in data.steps]
    found = np.array([places.get(text, -1) for text in texts])
    unknown = np.flatnonzero(found < 0)
    if len(unknown) and RARE not in places:
        at = int(unknown[0])
        sequence = int(np.searchsorted(np.cumsum(data.lengths), at, side="right"))
        where = data.names[sequence] if data.rows is None else f"line {data.rows[at]}"
        raise LatentiaError(
            f"{data.source}, {where}: the model does not have the symbol {texts[at]!r}. Exclude such steps, or learn the model "
            f"with --min-count, which gives it a symbol for rare ones, {RARE}."
        )
    if len(unknown):
        say(console, f"{len(unknown):,} of {len(texts):,} steps have symbols that count as {RARE}.")
        found[unknown] = places[RARE]
    return replace(data, steps=np.asarray(model.symbols_)[found])
