"""Sequences of symbols or of vectors from files: texts with one a line, and tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import FileNotice, LatentiaError, warn, write_parameter
from ..reading import holds_chains
from .tables import CellError, Table, Wanted, check_columns, is_table, numeric_columns, read_table
from .texts import read_lines

__all__ = ["RARE", "Sequences", "read_sequences"]

RARE = "<rare>"
"""The symbol that stands for all rare ones."""


@dataclass(frozen=True)
class Sequences:
    """Steps of sequences, one after another.

    Attributes
    ----------
    steps : ndarray of str, shape (n_steps,), or of float, shape (n_steps, D)
        Of missing steps empty texts, and NaN; single cells of a vector may be NaN too.
    lengths : ndarray of int, shape (n_sequences,)
    names : list of str
        A name for every sequence.
    rows : sequence of int, or None
        The line of every step, where each has its own.
    columns : list of str
        Names of the features, or of the column of symbols; empty for texts.
    source : str
    n_unknown : int
        How many steps have symbols that are none of those that were asked for with ``symbols=``.
    """

    steps: np.ndarray
    lengths: np.ndarray
    names: list[str]
    rows: Sequence[int] | None
    columns: list[str]
    source: str
    n_unknown: int = 0

    @property
    def symbols(self) -> bool:
        """Whether the steps are symbols."""
        return self.steps.ndim == 1

    @property
    def there(self) -> np.ndarray:
        """Which steps are not missing, shape (n_steps,)."""
        return np.asarray(self.steps != "" if self.symbols else ~np.isnan(self.steps).all(axis=1), dtype=bool)

    def whole(self) -> Sequences:
        """Return the same with every vector of which a cell is missing as a missing step."""
        gaps = np.isnan(self.steps).any(axis=1)
        return replace(self, steps=np.where(gaps[:, None], np.nan, self.steps)) if gaps.any() else self

    @property
    def given(self) -> np.ndarray:
        """The steps as models read them: None where a symbol is missing."""
        if not self.symbols or self.there.all():
            return self.steps
        return np.array([step or None for step in self.steps.tolist()], dtype=object)


@dataclass(frozen=True)
class _Asked:
    """What of a file is read, and how."""

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
    r"""Read sequences of symbols, or of vectors, as `latentia.sequences` takes them.

    Parameters
    ----------
    path : path
        A text file with one sequence a line, symbols separated by blanks or commas, empty lines skipped; FASTA; or a table as
        `read_table` takes it, with a step a row.
    column : str, optional
        Column of symbols of a table; by default the only one that is not of numbers.
    columns : sequence of str, optional
        Columns of numbers of a table, whose rows are vectors; by default all of them, where no column of symbols is found.
    sequence : str, optional
        Column of a table that says which sequence a row is of; those of one are put together. By default all rows are one.
    kind : {"auto", "symbols", "vectors"}
        What the steps are.
    min_count : int
        Symbols that occur less often become one, ``<rare>``.
    lower : bool
        Put symbols into lower case.
    symbols : sequence, optional
        The symbols of a model, its ``symbols_``, in place of ``min_count``: those that it does not have are its ``<rare>``, or
        missing steps if it has none, and ``n_unknown`` says how many steps these are.
    of_model : bool
        The columns are those that a model was fitted on: errors say so, and a text, which has no columns, is read as well.
    missing : {"error", "keep"}
        What to do with a cell that is empty or says NA, null, ? or alike: raise, or treat it as missing.
    encoding : str, optional
        Of a text or of separated values, see `latentia.datasets.readers`.
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
    asked = _Asked(column, columns, sequence, kind, of_model, missing, encoding, cache)
    _check(asked)
    path = Path(path)
    try:
        data = _of_columns(path, asked) if is_table(path) else _of_text(path, asked)
    except LatentiaError:
        if asked.column or asked.columns or asked.sequence or not holds_chains(path, encoding):
            raise
        data = _of_text(path, asked)
    if data.symbols:
        return _mapped(data, min_count, lower) if symbols is None else _of_symbols(data, symbols, lower)
    if min_count > 1 or lower:
        both = f"{write_parameter('min_count')} and {write_parameter('lower')}"
        raise LatentiaError(f"{both} are for symbols, and these steps are numbers.")
    return data


def _check(asked: _Asked) -> None:
    """Raise for what contradicts itself."""
    if asked.kind not in ("auto", "symbols", "vectors"):
        raise LatentiaError("use 'auto', 'symbols' or 'vectors'.", parameter="kind", value=asked.kind)
    if asked.missing not in ("error", "keep"):
        raise LatentiaError("use 'error' or 'keep'.", parameter="missing", value=asked.missing)
    if asked.column is not None and asked.columns is not None:
        one, several = write_parameter("column"), write_parameter("columns")
        raise LatentiaError(f"{one} names a column of symbols, and {several} columns of numbers: give one of the two.")
    if asked.column is not None and asked.kind == "vectors":
        text = f"name the columns of numbers with {write_parameter('columns')}, not {write_parameter('column')}."
        raise LatentiaError(text, parameter="kind", value=asked.kind)
    if asked.columns is not None and asked.kind == "symbols":
        text = f"name the one column of symbols with {write_parameter('column')}, not {write_parameter('columns')}."
        raise LatentiaError(text, parameter="kind", value=asked.kind)


# --- texts and tables -------------------------------------------------------------------------------------------


def _of_text(path: Path, asked: _Asked) -> Sequences:
    """One sequence per line, symbols separated by white space; empty lines are skipped."""
    for name, value in (("column", asked.column), ("columns", asked.columns), ("sequence", asked.sequence)):
        if value is not None and not asked.of_model:
            raise LatentiaError(
                f"a text file has no columns; leave {write_parameter(name)} out, or save a table as .csv.", source=path
            )
    if asked.kind == "vectors":
        raise LatentiaError(
            "what stands in a text file is taken for symbols. Save vectors as .csv, one step per line.", source=path
        )
    if path.is_dir():
        raise LatentiaError("a folder, and a file with one sequence per line is needed.", source=path)
    if not path.exists():
        raise LatentiaError("no such file.", source=path)
    sequences = _sequences_of_lines(read_lines(path, asked.encoding))
    if not sequences:
        raise LatentiaError("the file has no symbols in it.", source=path)
    steps = np.array([symbol for _, symbols in sequences for symbol in symbols], dtype=object)
    lengths = np.array([len(symbols) for _, symbols in sequences])
    return Sequences(steps, lengths, [name for name, _ in sequences], None, [], path.name)


def _sequences_of_lines(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return names and symbols: of FASTA the letters below each name, else those between blanks, or commas, of each line."""
    filled = [line for line in lines if line.strip()]
    if filled and filled[0].startswith(">"):
        found: list[tuple[str, list[str]]] = []
        for line in filled:
            if line.startswith(">"):
                found.append((line[1:].strip() or f"sequence {len(found) + 1}", []))
            elif not line.startswith(";"):
                found[-1][1].extend(line.strip())
        return [(name, symbols) for name, symbols in found if symbols]
    comma = next(
        (mark for mark in ",;" if filled and all(mark in line for line in filled if len(line.split()) > 0)), None
    )
    whole = comma is not None and sum(len(line.split()) for line in filled) < 2 * len(filled)
    spaced = comma is not None and all(len(line.split(comma)) == len(line.split()) for line in filled)
    cut = (lambda line: [part.strip() for part in line.split(comma) if part.strip()]) if whole or spaced else str.split
    return [(f"line {number}", cut(line)) for number, line in enumerate(lines, 1) if cut(line)]


def _of_columns(path: Path, asked: _Asked) -> Sequences:
    table, sequence = _table(path, asked), asked.sequence
    n = len(table.rows)
    if sequence is not None:
        table = _together(path, table, sequence)
    keys = table.texts[sequence] if sequence is not None else ["1"] * n
    starts = np.flatnonzero([True, *(a != b for a, b in pairwise(keys))])
    lengths, names = np.diff(np.append(starts, n)), [keys[i] for i in starts]
    symbols = [name for name in table.texts if name != sequence]
    steps = np.array(table.texts[symbols[0]], dtype=object) if symbols else table.values
    if "" in names:
        at = table.rows[int(starts[names.index("")])]
        raise LatentiaError(
            "no value, and it tells sequences apart. Fill it in.", source=path, place=f"line {at}, column {sequence!r}"
        )
    data = Sequences(steps, lengths, names, table.rows, symbols or table.columns, table.source)
    if not data.there.any():
        raise LatentiaError(f"all {len(steps):,} steps are missing.", source=path)
    return data


def _together(path: Path, table: Table, sequence: str) -> Table:
    """Put the rows of each sequence together, in the order of the file, where those of several are mixed, and say so."""
    keys = table.texts[sequence]
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    order = sorted(range(len(keys)), key=lambda i: first[keys[i]])
    if order == list(range(len(keys))):
        return table
    fact = f"{path}: rows of {len(first):,} {sequence!r} are mixed; those of each were put together, in the order of the file."
    warn(FileNotice(fact))
    texts = {name: [cells[i] for i in order] for name, cells in table.texts.items()}
    rows = [table.rows[i] for i in order]
    return replace(table, values=table.values[order], texts=texts, rows=rows)


def _table(path: Path, asked: _Asked) -> Table:
    try:
        return read_table(
            path, lambda kinds: _choose(path, kinds, asked),
            missing=asked.missing, cache=asked.cache, encoding=asked.encoding,
        )  # fmt: skip
    except CellError as error:
        if not asked.of_model:
            way = f" {write_parameter('missing', 'keep')} treats them as missing." if error.missing else ""
            error.hint = f"Or use other columns with {write_parameter('columns')}.{way}"
        error.missing = False  # Rows of sequences are neither dropped nor filled.
        raise


def _choose(path: Path, kinds: Mapping[str, str], asked: _Asked) -> Wanted:
    """The column of symbols, or the columns of numbers, and the one that tells sequences apart."""
    column, columns, sequence, kind = asked.column, asked.columns, asked.sequence, asked.kind
    for name, names in (("sequence", [sequence]), ("column", [column]), ("columns", columns or ())):
        check_columns(path, kinds, None if asked.of_model else write_parameter(name), [one for one in names if one])
    apart = [sequence] if sequence else []
    if sequence is not None and sequence in (column, *(columns or ())):
        text = "the column is used for the steps too; it cannot be both."
        raise LatentiaError(text, parameter="sequence", value=sequence)
    named = {column, *(columns or ())}
    rest = {name: held for name, held in kinds.items() if name != sequence and (held != "apart" or name in named)}
    texts = [name for name, held in rest.items() if held in ("text", "two")]
    if column is None and columns is None and kind != "vectors":
        if len(rest) == 1 and (kind == "symbols" or "decimal" not in rest.values()):
            column = next(iter(rest))
        elif len(texts) == 1 and (kind == "symbols" or len(texts) == len(rest)):
            column = texts[0]
        elif kind == "symbols" or len(texts) == len(rest):
            what = "save that one alone" if asked.of_model else f"name one with {write_parameter('column')}"
            raise LatentiaError(f"which column holds the symbols? There are {', '.join(rest)}; {what}.", source=path)
    if column is not None:
        return Wanted(texts=[column, *apart])
    return Wanted(numeric_columns(path, rest, columns), apart)


# --- symbols ----------------------------------------------------------------------------------------------------


def _mapped(data: Sequences, min_count: int, lower: bool) -> Sequences:
    """The symbols in lower case, and rare ones as one, if asked."""
    steps = np.array([symbol.lower() for symbol in data.steps], dtype=object) if lower else data.steps
    symbols, inverse, counts = np.unique(steps.astype(str), return_inverse=True, return_counts=True)
    kept = np.where((counts >= min_count) | (symbols == ""), symbols.astype(object), RARE)
    if len(set(kept.tolist()) - {""}) < 2:
        why = "are there: a chain needs two"
        if min_count > 1:
            why = f"occur {min_count} times or more; lower {write_parameter('min_count')}"
        raise LatentiaError(f"fewer than two symbols {why}.", source=data.source)
    return replace(data, steps=kept[inverse].astype(str))


def _of_symbols(data: Sequences, symbols: Sequence[Any], lower: bool) -> Sequences:
    """Return the steps as symbols of a model; those that it does not have are its rare one, or missing if it has none."""
    places = {str(symbol): place for place, symbol in enumerate(symbols)}
    texts, there = [symbol.lower() if lower else symbol for symbol in data.steps], data.there
    known = np.array([places.get(text, places.get(RARE, -1)) for text in texts])
    unknown = there & np.array([text not in places for text in texts])
    there = there & (known >= 0)
    if not there.any():
        raise LatentiaError(f"the model has none of its symbols, such as {texts[0]!r}.", source=data.source)
    steps = np.asarray(symbols)[known]
    steps = steps if there.all() else np.where(there, steps.astype(object), "").astype(str)
    return replace(data, steps=steps, n_unknown=int(unknown.sum()))
