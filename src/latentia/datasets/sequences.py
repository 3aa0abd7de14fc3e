"""Sequences of symbols or of vectors from files: texts with a sequence a line, and tables."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import FileNotice, LatentiaError, warn, write_parameter
from ..reading import Reading, holds_chains, put_in_order
from .tables import CellError, ColumnChoice, Table, check_columns, is_table, numeric_columns, read_table
from .texts import read_lines

__all__ = ["RARE", "Sequences", "read_sequences"]

_NO_STEPS = frozenset({"clock", "date", "group", "weight", "ignored"})  # roles of columns that are no steps by default
RARE = "<rare>"
"""Symbol in place of all rare ones."""


@dataclass(frozen=True)
class Sequences:
    """Steps of sequences, one after another.

    Attributes
    ----------
    steps : ndarray of str, shape (n_steps,), or of float, shape (n_steps, D)
        Missing steps are empty texts, or NaN; single cells of a vector may be NaN too.
    lengths : ndarray of int, shape (n_sequences,)
    names : list of str
        Name of every sequence.
    rows : sequence of int, or None
        Line of every step, if each has its own.
    columns : list of str
        Names of the features, or of the column of symbols; empty for texts.
    source : str
    n_unknown : int
        Number of steps with symbols that are not among ``symbols=``.
    unknown : dict from str to int
        These symbols, with their counts.
    order_note : str
        Description of the order of the steps, unless it is that of the file.
    order_is_known : bool
        False if the steps of several sequences were mixed, and no column gave their order.
    """

    steps: np.ndarray
    lengths: np.ndarray
    names: list[str]
    rows: Sequence[int] | None
    columns: list[str]
    source: str
    n_unknown: int = 0
    unknown: Mapping[str, int] = field(default_factory=dict)
    order_note: str = ""
    order_is_known: bool = True

    @property
    def symbols(self) -> bool:
        """True if the steps are symbols, False for vectors."""
        return self.steps.ndim == 1

    @property
    def there(self) -> np.ndarray:
        """True for steps that are not missing, shape (n_steps,)."""
        return np.asarray(self.steps != "" if self.symbols else ~np.isnan(self.steps).all(axis=1), dtype=bool)

    def whole(self) -> Sequences:
        """Return the sequences with every vector that has a missing cell as a missing step."""
        gaps = np.isnan(self.steps).any(axis=1)
        return replace(self, steps=np.where(gaps[:, None], np.nan, self.steps)) if gaps.any() else self

    @property
    def given(self) -> np.ndarray:
        """Steps in the form that models read: None for a missing symbol."""
        if not self.symbols or self.there.all():
            return self.steps
        return np.array([step or None for step in self.steps.tolist()], dtype=object)


@dataclass(frozen=True)
class _ReadOptions:
    """Options of `read_sequences`."""

    column: str | None
    columns: Sequence[str] | None
    sequence: str | None
    kind: str
    of_model: bool
    missing: str
    encoding: str | None
    cache: str | os.PathLike[str] | bool | None


def read_sequences(
    path: str | os.PathLike[str],
    *,
    column: str | None = None,
    columns: Sequence[str] | None = None,
    sequence: str | None = None,
    kind: str = "auto",
    min_count: int = 1,
    lower: bool = False,
    symbols: Sequence[Any] | None = None,
    of_model: bool = False,
    missing: str = "error",
    encoding: str | None = None,
    cache: str | os.PathLike[str] | bool | None = None,
) -> Sequences:
    r"""Read sequences of symbols, or of vectors, for `latentia.sequences`.

    Parameters
    ----------
    path : path
        A text file with one sequence a line, symbols separated by blanks or commas, empty lines skipped; FASTA; or a table as
        `read_table` takes it, with a step a row.
    column : str, optional
        Column of symbols of a table; by default the only one that is not of numbers.
    columns : sequence of str, optional
        Columns of numbers of a table, whose rows are vectors; by default all, if there is no column of symbols.
    sequence : str, optional
        Column of a table that names the sequence of each row; rows of one sequence are put together. By default all rows are
        one sequence.
    kind : {"auto", "symbols", "vectors"}
        Kind of the steps.
    min_count : int
        Symbols that occur less often become one, ``<rare>``.
    lower : bool
        True converts symbols to lower case.
    symbols : sequence, optional
        The symbols of a model, its ``symbols_``, in place of ``min_count``: other symbols become its ``<rare>``, or missing
        steps if it has none, and ``n_unknown`` counts these steps.
    of_model : bool
        True if the columns are those of a fitted model: errors say so, and a text, which has no columns, is read as well.
    missing : {"error", "keep"}
        What to do with a cell that is empty or says NA, null, ? or alike: raise, or treat it as missing.
    encoding : str, optional
        Encoding of a text or of separated values, see `latentia.datasets.readers`.
    cache : path or bool, optional
        Folder for the binary cache of a MatrixMarket file; by default beside it. False keeps none.

    Returns
    -------
    Sequences
        With ``steps`` of shape (n_steps,) or (n_steps, D), and ``lengths`` of shape (n_sequences,).

    Raises
    ------
    LatentiaError
        If the file cannot be read so, has no steps, lacks a column or the name of a sequence, or has fewer than two symbols.
        The message names the file, and the line and the column where there are some.

    Examples
    --------
    >>> import tempfile
    >>> from latentia.datasets import read_sequences
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "words.txt"
    ...     _ = path.write_text("a b a\nb c\n")
    ...     data = read_sequences(path)
    >>> data.steps.tolist(), data.lengths.tolist()
    (['a', 'b', 'a', 'b', 'c'], [3, 2])
    """
    options = _ReadOptions(column, columns, sequence, kind, of_model, missing, encoding, cache)
    _check_options(options)
    path = Path(path)
    try:
        data = _read_table_steps(path, options) if is_table(path) else _read_text(path, options)
    except LatentiaError:
        if options.column or options.columns or options.sequence or not holds_chains(path, encoding):
            raise
        data = _read_text(path, options)
    if data.symbols:
        return _merge_rare(data, min_count, lower) if symbols is None else _match_symbols(data, symbols, lower)
    if min_count > 1 or lower:
        parameters = f"{write_parameter('min_count')} and {write_parameter('lower')}"
        raise LatentiaError(f"{parameters} are for symbols, and these steps are numbers.")
    return data


def _check_options(options: _ReadOptions) -> None:
    """Raise for contradictory options."""
    if options.kind not in ("auto", "symbols", "vectors"):
        raise LatentiaError("expected 'auto', 'symbols' or 'vectors'.", parameter="kind", value=options.kind)
    if options.missing not in ("error", "keep"):
        raise LatentiaError("expected 'error' or 'keep'.", parameter="missing", value=options.missing)
    if options.column is not None and options.columns is not None:
        singular, plural = write_parameter("column"), write_parameter("columns")
        raise LatentiaError(
            f"{singular} names a column of symbols, and {plural} columns of numbers: give one of the two."
        )
    if options.column is not None and options.kind == "vectors":
        text = f"name the columns of numbers with {write_parameter('columns')}, not {write_parameter('column')}."
        raise LatentiaError(text, parameter="kind", value=options.kind)
    if options.columns is not None and options.kind == "symbols":
        text = f"name the one column of symbols with {write_parameter('column')}, not {write_parameter('columns')}."
        raise LatentiaError(text, parameter="kind", value=options.kind)


# --- texts and tables -------------------------------------------------------------------------------------------


def _read_text(path: Path, options: _ReadOptions) -> Sequences:
    """Read a sequence a line, symbols separated by white space; empty lines are skipped."""
    for name, value in (("column", options.column), ("columns", options.columns), ("sequence", options.sequence)):
        if value is not None and not options.of_model:
            raise LatentiaError(
                f"a text file has no columns; leave {write_parameter(name)} out, or save a table as .csv.", source=path
            )
    if options.kind == "vectors":
        raise LatentiaError("a text file holds symbols. Save vectors as .csv, one step per line.", source=path)
    if path.is_dir():
        raise LatentiaError("expected a file with one sequence per line, found a folder.", source=path)
    if not path.exists():
        raise LatentiaError("no such file.", source=path)
    sequences = _parse_lines(read_lines(path, options.encoding))
    if not sequences:
        raise LatentiaError("expected symbols, found an empty file.", source=path)
    steps = np.array([symbol for _, symbols in sequences for symbol in symbols], dtype=object)
    lengths = np.array([len(symbols) for _, symbols in sequences])
    return Sequences(steps, lengths, [name for name, _ in sequences], None, [], path.name)


def _parse_lines(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return names and symbols: letters below each name of FASTA, else parts of each line between blanks or commas."""
    filled = [line for line in lines if line.strip()]
    if filled and filled[0].startswith(">"):
        records: list[tuple[str, list[str]]] = []
        for line in filled:
            if line.startswith(">"):
                records.append((line[1:].strip() or f"sequence {len(records) + 1}", []))
            elif not line.startswith(";"):
                records[-1][1].extend(line.strip())
        return [(name, symbols) for name, symbols in records if symbols]
    comma = next(
        (mark for mark in ",;" if filled and all(mark in line for line in filled if len(line.split()) > 0)), None
    )
    has_one_word = comma is not None and sum(len(line.split()) for line in filled) < 2 * len(filled)
    spaced = comma is not None and all(len(line.split(comma)) == len(line.split()) for line in filled)
    split_line = (
        (lambda line: [part.strip() for part in line.split(comma) if part.strip()])
        if has_one_word or spaced
        else str.split
    )
    return [(f"line {number}", split_line(line)) for number, line in enumerate(lines, 1) if split_line(line)]


def _read_table_steps(path: Path, options: _ReadOptions) -> Sequences:
    table = _read_table(path, options)
    sequence = _sequence_of(table.reading, options)
    n = len(table.rows)
    table, note, order_is_known = _order_steps(path, table, sequence)
    keys = table.texts[sequence] if sequence is not None else ["1"] * n
    starts = np.flatnonzero([True, *(a != b for a, b in pairwise(keys))])
    lengths, names = np.diff(np.append(starts, n)), [keys[i] for i in starts]
    symbols = [name for name in table.texts if name != sequence]
    steps = np.array(table.texts[symbols[0]], dtype=object) if symbols else table.values
    if "" in names:
        row = table.rows[int(starts[names.index("")])]
        raise LatentiaError(
            "expected the name of a sequence, found no value. Fill it in.",
            source=path,
            place=f"line {row}, column {sequence!r}",
        )
    data = Sequences(
        steps, lengths, names, table.rows, symbols or table.columns, table.source,
        order_note=note, order_is_known=order_is_known,
    )  # fmt: skip
    if not data.there.any():
        raise LatentiaError(f"all {len(steps):,} steps are missing.", source=path)
    return data


def _sequence_of(reading: Reading | None, options: _ReadOptions) -> str | None:
    """Return the column that names sequences: that of the options, or the only group among the user's roles."""
    group = None if reading is None else reading.group_by_role
    return options.sequence or (group if group not in (options.column, *(options.columns or ())) else None) or None


def _order_steps(path: Path, table: Table, sequence: str | None) -> tuple[Table, str, bool]:
    """Put the rows of each sequence together, in the order of a clock, with a notice unless the file has that order."""
    if table.reading is None:
        return table, "", True
    reading, order = put_in_order(table.reading, sequence)
    assert reading.table is not None
    if order.is_of_file:
        return table, order.note, True
    warn(FileNotice(f"{path}: {order.note}."))
    place = {row: i for i, row in enumerate(table.rows)}  # Rows without a value may have been left out.
    rows = [row for row in (reading.table.rows[int(i)] for i in order.places) if row in place]
    places = [place[row] for row in rows]
    texts = {name: [cells[i] for i in places] for name, cells in table.texts.items()}
    return replace(table, values=table.values[places], texts=texts, rows=rows), order.note, order.is_known


def _read_table(path: Path, options: _ReadOptions) -> Table:
    try:
        return read_table(
            path, lambda kinds: _choose_columns(path, kinds, options),
            missing=options.missing, cache=options.cache, encoding=options.encoding,
        )  # fmt: skip
    except CellError as error:
        if not options.of_model:
            way = f" {write_parameter('missing', 'keep')} treats them as missing." if error.missing else ""
            error.hint = f"Or use other columns with {write_parameter('columns')}.{way}"
        error.missing = False  # rows of sequences are neither dropped nor filled
        raise


def _choose_columns(path: Path, kinds: Mapping[str, str], options: _ReadOptions) -> ColumnChoice:
    """Choose the column of symbols, or the columns of numbers, and the column with names of sequences."""
    column, columns, kind = options.column, options.columns, options.kind
    reading = getattr(kinds, "reading", None)
    sequence = _sequence_of(reading, options)
    for name, names in (("sequence", [sequence]), ("column", [column]), ("columns", columns or ())):
        check_columns(
            path,
            kinds,
            None if options.of_model else write_parameter(name),
            [given_name for given_name in names if given_name],
        )
    sequence_columns = [sequence] if sequence else []
    if sequence is not None and sequence in (column, *(columns or ())):
        text = "the column is used for the steps too. Use it for one of the two."
        raise LatentiaError(text, parameter="sequence", value=sequence)
    named = {column, *(columns or ())}
    is_step = {} if reading is None else {c.name: c.role not in _NO_STEPS for c in reading.columns}
    candidates = {
        name: kind_of_column
        for name, kind_of_column in kinds.items()
        if name != sequence and ((kind_of_column != "apart" and is_step.get(name, True)) or name in named)
    }
    texts = [name for name, kind_of_column in candidates.items() if kind_of_column in ("text", "two")]
    if column is None and columns is None and kind != "vectors":
        if len(candidates) == 1 and (kind == "symbols" or "decimal" not in candidates.values()):
            column = next(iter(candidates))
        elif len(texts) == 1 and (kind == "symbols" or len(texts) == len(candidates)):
            column = texts[0]
        elif kind == "symbols" or len(texts) == len(candidates):
            advice = "save that one alone" if options.of_model else f"name one with {write_parameter('column')}"
            raise LatentiaError(
                f"which column holds the symbols? There are {', '.join(candidates)}; {advice}.", source=path
            )
    if column is not None:
        return ColumnChoice(texts=[column, *sequence_columns])
    return ColumnChoice(numeric_columns(path, candidates, columns), sequence_columns)


# --- symbols ----------------------------------------------------------------------------------------------------


def _merge_rare(data: Sequences, min_count: int, lower: bool) -> Sequences:
    """Convert symbols to lower case, and merge rare ones, if requested."""
    steps = np.array([symbol.lower() for symbol in data.steps], dtype=object) if lower else data.steps
    symbols, inverse, counts = np.unique(steps.astype(str), return_inverse=True, return_counts=True)
    replaced = np.where((counts >= min_count) | (symbols == ""), symbols.astype(object), RARE)
    if len(set(replaced.tolist()) - {""}) < 2:
        problem = "are there: a chain needs two"
        if min_count > 1:
            problem = f"occur {min_count} times or more; lower {write_parameter('min_count')}"
        raise LatentiaError(f"fewer than two symbols {problem}.", source=data.source)
    return replace(data, steps=replaced[inverse].astype(str))


def _match_symbols(data: Sequences, symbols: Sequence[Any], lower: bool) -> Sequences:
    """Return the steps as symbols of a model; unknown ones become its rare symbol, or missing if it has none."""
    places = {str(symbol): place for place, symbol in enumerate(symbols)}
    texts, is_present = [symbol.lower() if lower else symbol for symbol in data.steps], data.there
    codes = np.array([places.get(text, places.get(RARE, -1)) for text in texts])
    unknown = is_present & np.array([text not in places for text in texts])
    is_present = is_present & (codes >= 0)
    if not is_present.any():
        raise LatentiaError(f"the model knows none of its symbols, such as {texts[0]!r}.", source=data.source)
    steps = np.asarray(symbols)[codes]
    steps = steps if is_present.all() else np.where(is_present, steps.astype(object), "").astype(str)
    counts = Counter(symbol for symbol, is_unknown in zip(data.steps.tolist(), unknown, strict=True) if is_unknown)
    return replace(data, steps=steps, n_unknown=int(unknown.sum()), unknown=counts)
