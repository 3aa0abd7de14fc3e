"""Tables with named columns: CSV, TSV, Parquet and MatrixMarket."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..passes import Blocks
from ..passes.formats import open_unicode, plain_name, readable, reusable
from ..passes.formats.parquet import arrow_kind, open_parquet
from ._csv import csv_rows

__all__ = ["CellError", "Table", "Wanted", "is_table", "read_table"]

_LOOKED_AT = 1000  # rows that say what a column holds
_CHUNK = 10_000
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "."})
_TRUTH = {"true": 1.0, "false": 0.0}
_SUFFIXES = (".csv", ".tsv", ".parquet", ".mtx")


@dataclass(frozen=True)
class Wanted:
    """The columns to read: as numbers, and as they are."""

    numbers: Sequence[str] = ()
    texts: Sequence[str] = ()


Choose = Callable[[Mapping[str, str]], Wanted]


@dataclass(frozen=True)
class Table:
    """Columns of a file.

    Attributes
    ----------
    values : ndarray or sparse matrix of shape (n_rows, D)
        The columns read as numbers.
    columns : list of str
        Their names.
    texts : dict of lists
        The columns read as they are.
    rows : list of int
        For every row the line of the file that it stands in, or its number from 1 where the format has no lines.
    left_out : list of str
        The file's other columns.
    source : str
    """

    values: Any
    columns: list[str]
    texts: dict[str, list[str]]
    rows: Sequence[int]
    left_out: list[str]
    source: str

    @property
    def unit(self) -> str:
        """What ``rows`` count: "line", or "row" where the format has no lines."""
        return "row" if isinstance(self.rows, range) else "line"


class CellError(LatentiaError):
    """A cell without a value, or one that should be a number and is not; the message ends with what to do."""


def is_table(path: Path) -> bool:
    """Whether the name says that the file is a table."""
    return plain_name(path).endswith(_SUFFIXES)


def read_table(
    path: str | os.PathLike[str],
    choose: Choose | None = None,
    *,
    cache: str | os.PathLike[str] | None = None,
) -> Table:
    """Read columns of a table; an error names the line and the column.

    Parameters
    ----------
    path : path
        A ``.csv``, ``.tsv``, ``.parquet`` or ``.mtx`` file. ``.gz`` is read as it is, and a pipe to its end.
    choose : callable, optional
        ``choose(kinds)`` gives the `Wanted` columns; ``kinds`` says of every column whether it holds "whole" or "decimal"
        numbers or "text". By default all columns of numbers are read.
    cache : path, optional
        Folder for the binary cache of a MatrixMarket file; by default beside it.
    """
    with reusable(path) as source:
        if source.is_dir():
            raise LatentiaError(f"{source}: a folder, and a file is needed.")
        if not source.exists():
            raise LatentiaError(f"{source}: no such file.")
        if not is_table(source):
            raise LatentiaError(f"{source}: not a table that can be read. Save it as .csv, .tsv, .parquet or .mtx.")
        name, choose = plain_name(source), choose or _all_numbers
        if name.endswith(".mtx"):
            return _read_matrix(source, choose, cache)
        return (_read_parquet if name.endswith(".parquet") else _read_csv)(source, choose)


def _all_numbers(kinds: Mapping[str, str]) -> Wanted:
    return Wanted([name for name, kind in kinds.items() if kind != "text"])


# --- CSV --------------------------------------------------------------------------------------------------------


def _read_csv(path: Path, choose: Choose) -> Table:
    with open_unicode(path, newline=None) as file:
        rows = csv_rows(path, file)
        _, header = next(rows, (0, []))
        names = _header(path, header)
        first = list(islice(rows, _LOOKED_AT))
        if not first:
            raise LatentiaError(f"{path}: there are no rows below the header.")
        wanted = choose({name: _kind(row[i] for _, row in first) for i, name in enumerate(names)})
        numbers, texts = [names.index(n) for n in wanted.numbers], [names.index(n) for n in wanted.texts]
        pieces, lines, strings = [], [], {name: [] for name in wanted.texts}  # type: ignore[var-annotated]
        everything = chain(first, rows)
        while chunk := list(islice(everything, _CHUNK)):
            pieces.append(_numbers(path, chunk, numbers, names))
            lines += [line for line, _ in chunk]
            for i in texts:
                strings[names[i]] += [_present(path, line, names[i], row[i]) for line, row in chunk]
    return Table(np.vstack(pieces), list(wanted.numbers), strings, lines, _others(names, wanted), path.name)


def _header(path: Path, header: list[str]) -> list[str]:
    """Names of the columns, each its own."""
    if not any(name.strip() for name in header):
        raise LatentiaError(f"{path}: the file is empty.")
    for other in (";", "\t"):
        if len(header) == 1 and other in header[0]:
            raise LatentiaError(f"{path}: separated by {other!r}? Save it with commas, or with tabs as .tsv.")
    names = [name.strip() or f"column {i}" for i, name in enumerate(header, 1)]
    double = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if all(_number(name) is not None for name in names) and (double or any("." in name for name in names)):
        raise LatentiaError(
            f"{path}, line 1: numbers, where the names of the columns are needed. Put a line of names above."
        )
    if double:
        raise LatentiaError(f"{path}, line 1: two columns are called {double[0]!r}. Give each its own name.")
    return names


def _kind(cells: Iterator[str]) -> str:
    """What most cells of a column are; a column without values is taken for text."""
    # A number with a comma counts: reading it then ends with an error that says so.
    values = [_number(cell.replace(",", ".")) for cell in cells if cell.strip().lower() not in _MISSING]
    good = [value for value in values if value is not None]
    if not good or 2 * len(good) < len(values):
        return "text"
    return "whole" if all(value.is_integer() for value in good) else "decimal"


def _number(cell: str) -> float | None:
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return _TRUTH.get(cell.strip().lower())


def _numbers(path: Path, chunk: list[tuple[int, list[str]]], places: list[int], names: list[str]) -> np.ndarray:
    """Cells of some columns as numbers, shape (n, D)."""
    try:
        values = np.array([[float(row[i]) for i in places] for _, row in chunk]).reshape(len(chunk), len(places))
        if np.isfinite(values).all():
            return values
    except ValueError:
        pass
    values = np.empty((len(chunk), len(places)))
    for r, (line, row) in enumerate(chunk):
        for c, i in enumerate(places):
            value = _number(_present(path, line, names[i], row[i]))
            if value is None or not math.isfinite(value):
                hint = (
                    " Write decimals with a point, and thousands without a comma."
                    if _number(row[i].replace(",", ".")) is not None and "," in row[i]
                    else ""
                )
                raise CellError(
                    f"{path}, line {line}, column {names[i]!r}: {row[i]!r} is not a number.{hint} Correct it."
                )
            values[r, c] = value
    return values


def _present(path: Path, line: int, name: str, cell: str) -> str:
    """The cell, if it has a value."""
    if cell.strip().lower() in _MISSING:
        raise CellError(f"{path}, line {line}, column {name!r}: no value ({cell!r}). Fill it in or delete the line.")
    return cell.strip()


def _others(names: Sequence[str], wanted: Wanted) -> list[str]:
    return [name for name in names if name not in wanted.numbers and name not in wanted.texts]


# --- binary formats ---------------------------------------------------------------------------------------------


def _read_parquet(path: Path, choose: Choose) -> Table:
    with readable(path), open_parquet(path) as file:
        schema = file.schema_arrow
        kinds = {name: arrow_kind(schema.field(name).type) for name in schema.names}
        wanted = choose(kinds)
        table = file.read(columns=[*wanted.numbers, *wanted.texts])
    for name in (*wanted.numbers, *wanted.texts):
        if table[name].null_count:
            row = table[name].is_null().to_numpy().argmax() + 1
            raise CellError(f"{path}, row {row}, column {name!r}: no value. Fill it in or drop the row.")
    for name in wanted.numbers:
        if kinds[name] == "text":
            raise LatentiaError(f"{path}, column {name!r}: holds {schema.field(name).type}, and numbers are needed.")
    values = np.empty((table.num_rows, len(wanted.numbers)))
    for i, name in enumerate(wanted.numbers):
        values[:, i] = table[name].to_numpy()
        if not np.isfinite(values[:, i]).all():
            row = int(np.argmin(np.isfinite(values[:, i]))) + 1
            raise LatentiaError(f"{path}, row {row}, column {name!r}: {values[row - 1, i]} is not a number.")
    texts = {name: [str(value) for value in table[name].to_pylist()] for name in wanted.texts}
    rows = range(1, table.num_rows + 1)
    return Table(values, list(wanted.numbers), texts, rows, _others(schema.names, wanted), path.name)


def _read_matrix(path: Path, choose: Choose, cache: str | os.PathLike[str] | None) -> Table:
    blocks = Blocks.from_files(path, cache=cache)
    names = [f"column {i}" for i in range(1, blocks.shapes[0][1] + 1)]
    wanted = choose(dict.fromkeys(names, "decimal"))
    if wanted.texts:
        raise LatentiaError(f"{path}: a matrix holds numbers only; column {wanted.texts[0]!r} cannot be read as text.")
    values = _narrowed(blocks.table())
    if list(wanted.numbers) != names:
        values = values[:, [names.index(name) for name in wanted.numbers]]
    return Table(values, list(wanted.numbers), {}, range(1, blocks.n_rows + 1), _others(names, wanted), path.name)


def _narrowed(table: Any) -> Any:
    """A sparse matrix with indices of 32 bits where they suffice: scikit-learn's scaler takes no others."""
    if not sparse.issparse(table) or max(table.nnz, *table.shape) >= 2**31:
        return table
    parts = table.data, table.indices.astype(np.int32), table.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=table.shape)
