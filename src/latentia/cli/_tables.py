"""Readers of tables with named columns (CSV, TSV, Parquet, MatrixMarket) and of sequences of symbols."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from scipy import sparse

from ..datasets.readers import read_lines
from ..exceptions import LatentiaError, MissingExtraError
from ..passes import Blocks
from ._shared import cache_folder

__all__ = ["Table", "Wanted", "announce", "is_table", "known", "numeric_columns", "read_table", "split_names"]

_LOOKED_AT = 1000  # rows that say what a column holds
_CHUNK = 10_000
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "."})
_TRUTH = {"true": 1.0, "false": 0.0}
_SUFFIXES = (".csv", ".tsv", ".parquet", ".mtx")


@dataclass(frozen=True)
class Wanted:
    """The columns that a command reads: as numbers, and as they are."""

    numbers: Sequence[str] = ()
    texts: Sequence[str] = ()


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


def announce(table: Table, console: Console) -> None:
    """Print what was read and what was not, and which columns merely count the rows."""
    n, width = table.values.shape
    console.print(
        f"{table.source}: {n:,} rows, {width} columns: {_listed(table.columns, 10)}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    if table.left_out:
        console.print(f"left out: {_listed(table.left_out, 10)}", highlight=False, markup=False, soft_wrap=True)
    if sparse.issparse(table.values) or n < 3:
        return
    counting = (np.diff(table.values, axis=0) == 1).all(axis=0)
    for i in np.flatnonzero(counting):
        console.print(
            f"note: column {table.columns[i]!r} counts the rows; if it measures nothing, leave it out with --ignore.",
            highlight=False, markup=False, soft_wrap=True,
        )  # fmt: skip


def is_table(path: Path) -> bool:
    """Whether the name says that the file is a table."""
    return path.name.removesuffix(".gz").lower().endswith(_SUFFIXES)


def read_table(path: Path, choose: Callable[[Mapping[str, str]], Wanted]) -> Table:
    """Read the columns that ``choose`` picks from what every column holds: "whole", "decimal" or "text".

    A cell without a value, or one that should be a number and is not, is an error that names its line and column.
    """
    if path.is_dir():
        raise LatentiaError(f"{path}: a folder, and a file is needed.")
    if not path.exists():
        raise LatentiaError(f"{path}: no such file.")
    name = path.name.removesuffix(".gz").lower()
    if not is_table(path):
        raise LatentiaError(f"{path}: not a table that can be read. Save it as .csv, .tsv, .parquet or .mtx.")
    if name.endswith(".mtx"):
        return _read_matrix(path, choose)
    if name.endswith(".parquet"):
        return _read_parquet(path, choose)
    return _read_csv(path, "," if name.endswith(".csv") else "\t", choose)


def numeric_columns(
    path: Path,
    kinds: Mapping[str, str],
    columns: Sequence[str] | None,
    ignore: Sequence[str] = (),
    option: str = "--columns",
) -> list[str]:
    """The columns that an option names, or else all that hold numbers, less those to ignore."""
    known(path, kinds, option, columns or ())
    known(path, kinds, "--ignore", ignore)
    both = [name for name in columns or () if name in ignore]
    if both:
        raise LatentiaError(f"--columns and --ignore both name {both[0]!r}: leave it out of one.")
    chosen = list(columns) if columns else [name for name, kind in kinds.items() if kind != "text"]
    chosen = [name for name in chosen if name not in ignore]
    if not chosen:
        raise LatentiaError(f"{path}: no column holds numbers. There are {_listed(kinds)}.")
    return chosen


def known(path: Path, kinds: Mapping[str, str], option: str, names: Sequence[str]) -> None:
    """Raise unless the table has the columns that an option names, each once."""
    for name in names:
        if name not in kinds:
            raise LatentiaError(f"{path}: no column {name!r}, which {option} names. There are {_listed(kinds)}.")
        if list(names).count(name) > 1:
            raise LatentiaError(f"{option} names {name!r} twice.")


def split_names(text: str | None, separator: str = ",") -> list[str] | None:
    """Names of columns from an option."""
    return None if text is None else [part.strip() for part in text.split(separator) if part.strip()]


def _listed(names: Any, most: int = 30) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# --- CSV --------------------------------------------------------------------------------------------------------


def _read_csv(path: Path, delimiter: str, choose: Callable[[Mapping[str, str]], Wanted]) -> Table:
    rows = _csv_rows(path, delimiter)
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


def _csv_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the line where it begins; all as long as the first."""
    csv.field_size_limit(1 << 30)
    reader = csv.reader((line + "\n" for line in read_lines(path)), delimiter=delimiter, strict=True)
    first, width = 1, 0
    try:
        for row in reader:
            if row:
                width = width or len(row)
                if len(row) != width:
                    raise LatentiaError(
                        f"{path}, line {first}: {len(row)} fields, and the header has {width}. Put fields with "
                        f"{delimiter!r} or quotes in them in double quotes."
                    )
                yield first, row
            first = reader.line_num + 1
    except csv.Error as error:
        raise LatentiaError(f"{path}, line {first}: not readable as CSV ({error}). Is a quote not closed?") from error


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
                raise LatentiaError(
                    f"{path}, line {line}, column {names[i]!r}: {row[i]!r} is not a number.{hint} Correct it, or use "
                    "other columns with --columns."
                )
            values[r, c] = value
    return values


def _present(path: Path, line: int, name: str, cell: str) -> str:
    """The cell, if it has a value."""
    if cell.strip().lower() in _MISSING:
        raise LatentiaError(
            f"{path}, line {line}, column {name!r}: no value ({cell!r}). Fill it in, delete the line, or use other columns "
            "with --columns."
        )
    return cell.strip()


def _others(names: Sequence[str], wanted: Wanted) -> list[str]:
    return [name for name in names if name not in wanted.numbers and name not in wanted.texts]


# --- binary formats ---------------------------------------------------------------------------------------------


def _read_parquet(path: Path, choose: Callable[[Mapping[str, str]], Wanted]) -> Table:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "data", "Reading Parquet") from None
    try:
        schema = pq.read_schema(path)
        kinds = {name: _arrow_kind(pa.types, schema.field(name).type) for name in schema.names}
        wanted = choose(kinds)
        table = pq.read_table(path, columns=[*wanted.numbers, *wanted.texts])
    except (pa.ArrowInvalid, OSError) as error:
        raise LatentiaError(f"{path}: not readable as Parquet ({error}).") from error
    if not table.num_rows:
        raise LatentiaError(f"{path}: the table has no rows.")
    for name in (*wanted.numbers, *wanted.texts):
        if table[name].null_count:
            row = table[name].is_null().to_numpy().argmax() + 1
            raise LatentiaError(
                f"{path}, row {row}, column {name!r}: no value. Fill it in, drop the row, or use other columns with --columns."
            )
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


def _arrow_kind(types: Any, kind: Any) -> str:
    if types.is_integer(kind) or types.is_boolean(kind):
        return "whole"
    return "decimal" if types.is_floating(kind) else "text"


def _read_matrix(path: Path, choose: Callable[[Mapping[str, str]], Wanted]) -> Table:
    blocks = Blocks.from_files(path, cache=cache_folder(path))
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
