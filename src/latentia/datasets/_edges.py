"""Lists with two names and an optional number a row: pairs of words with counts, edges of graphs with weights."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from ..exceptions import FileNotice, LatentiaError, warn, write_parameter
from ..passes import Blocks
from ..passes.formats import bytes_read, open_unicode
from ..reading import (
    RawTable,
    Reading,
    has_columns,
    is_clock,
    is_named_matrix,
    is_symmetric_matrix,
    matrix_of,
    open_reading,
)
from ..system.progress import progress_bar

_CHUNK = 1 << 18
_MAX_EXACT = 2**40  # counts above it are added as floats
_N_CHECKED, _N_LISTED = 1000, 5  # rows that are checked for measurements, and names of columns in a message
_FRACTION = re.compile(r"[-+]?\d*[.,]\d+(e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class ListKind:
    """Kind of a list: the words of messages, and the rules of its rows.

    Attributes
    ----------
    things, end, ends, number, numbers : str
        Such as pairs, word, words, count, counts.
    meaning : str
        Meaning of the third column.
    row : str
        Content of a row, and advice for other rows.
    table : str
        Name of a matrix of such pairs.
    is_comment : callable
        Function that returns True for the first string of a comment.
    allows : callable
        Function that returns True for numbers that the third column may hold.
    weight : str, optional
        Heading of the numbers, in any column. If it is given, a third column without numbers is ignored.
    measured : str, optional
        Advice if the names are decimal fractions, as in a table of measurements; without it they are ordinary names.
    """

    things: str
    end: str
    ends: str
    number: str
    numbers: str
    meaning: str
    row: str
    table: str
    is_comment: Callable[[str], bool]
    allows: Callable[[float], bool]
    weight: str | None = None
    measured: str | None = None

    def check_row(self, path: Path, number: int, cells: list[str]) -> None:
        """Raise if a row of a text cannot be read."""
        next(_read_rows(path, iter([(number, cells)]), self), None)


def read_square(path: Path, cache: str | os.PathLike[str] | bool | None, kind: ListKind) -> sparse.csr_array:
    """Return the table of a MatrixMarket file; raise unless it is square."""
    table = sparse.csr_array(Blocks.from_files(path, cache=cache).table())
    if table.shape[0] != table.shape[1]:
        raise LatentiaError(
            f"{table.shape[0]} rows and {table.shape[1]} columns. {kind.table} is a square table, with the same "
            f"{kind.ends} in rows and columns.",
            source=path,
        )
    return table


def read_named_matrix(
    path: Path, columns: Sequence[str] | None, encoding: str | None, kind: ListKind
) -> tuple[sparse.coo_array, list[str]] | None:
    """Return the pairs of a matrix with names, in a table, and the names; None for a list of pairs."""
    if columns is not None or not has_columns(path):
        return None
    table = open_reading(path, encoding=encoding, unique=False).table
    assert table is not None
    if not is_named_matrix(table) and not is_symmetric_matrix(table):
        return None
    names, values = table.names[-len(table) :], matrix_of(table)
    wrong = ~np.vectorize(kind.allows)(values)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise LatentiaError(
            f"{values[row, column]:g} is no {kind.number}; {kind.meaning}. In a matrix with negative entries, such as "
            "correlations, keep those above a threshold: in pandas, frame.where(frame > 0.3, 0).",
            **table.cell(row, names[column]),
        )
    warn(
        FileNotice(
            f"{path}: was read as a matrix of {len(names)} {kind.ends}, as rows and columns have the same names."
        )
    )
    return sparse.coo_array(values), names


def read_numbered_rows(
    path: Path,
    kind: ListKind,
    numbers: dict[str, int],
    columns: Sequence[str] | None,
    encoding: str | None,
    progress: str | bool,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield chunks of rows: the numbers of both names, shape (n, 2), and the third column or ones, shape (n,).

    Names are numbered in the order of their first use; ``numbers`` is filled with them. ``progress`` may be a label.
    """
    if has_columns(path):
        yield _read_table_rows(open_reading(path, encoding=encoding, unique=False), kind, numbers, columns)
        return
    size, n_read = path.stat().st_size, 0
    with _open_rows(path, encoding, kind) as (rows, count_bytes), progress_bar(progress, size, "bytes") as advance:
        while chunk := list(itertools.islice(rows, _CHUNK)):
            if not numbers:
                _refuse_measurements(path, chunk[:_N_CHECKED], kind)
            codes = [(numbers.setdefault(a, len(numbers)), numbers.setdefault(b, len(numbers))) for a, b, _ in chunk]
            yield np.array(codes), np.array([n for _, _, n in chunk])
            advance(count_bytes() - n_read)
            n_read = count_bytes()
    if not numbers:
        raise LatentiaError(f"expected {kind.things}, found none in the file.", source=path)


def _refuse_measurements(path: Path, rows: Sequence[tuple[str, str, float | int]], kind: ListKind) -> None:
    """Raise if most names of a column are decimal fractions, which are measurements and no names."""
    for number, column in enumerate(("first", "second")):
        fractions = [row[number] for row in rows if _FRACTION.fullmatch(row[number])]  # type: ignore[arg-type]
        if kind.measured is not None and len(fractions) > len(rows) / 2:
            raise LatentiaError(
                f"the {column} column holds numbers such as {fractions[0]}, which are measurements and no "
                f"{kind.ends}. {kind.measured}",
                source=path,
            )


def sort_by_number(names: Sequence[str]) -> np.ndarray | None:
    """Return the order of names that are all whole numbers; None if there are other names."""
    if not all(name.isdecimal() for name in names):
        return None
    return np.argsort([int(name) for name in names], kind="stable")


_NumberedRows = Iterator[tuple[int, list[str]]]


def _read_table_rows(
    reading: Reading, kind: ListKind, numbers: dict[str, int], columns: Sequence[str] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the names in two columns, and the third column or ones, of a table with headings."""
    import polars as pl

    table, ends = reading.table, reading.ends if columns is None else None
    assert table is not None
    if ends is not None:
        columns_used = [*ends.columns, *filter(None, [ends.weight])]
        places = _find_columns(table.path, table.names, columns_used, kind)
    else:
        places = _find_columns(table.path, table.names, columns, kind)
        if columns is None and kind.weight is not None:
            places = [*places[:2], *_find_weight(table, kind.weight)]
    if columns is None:
        _report_unused(table, places, kind)
    first, second = (table.texts(table.names[place]).str.strip_chars() for place in places[:2])
    for column, place in ((first, places[0]), (second, places[1])):
        if (column == "").any():
            row = int((column == "").arg_max() or 0)
            raise LatentiaError(
                f"expected a {kind.end}, found an empty cell. Fill it in or leave the {table.unit} out.",
                **table.cell(row, table.names[place]),
            )
    if columns is None and ends is None:
        rows = list(zip(first.head(_N_CHECKED).to_list(), second.head(_N_CHECKED).to_list(), strict=True))
        _refuse_measurements(table.path, [(a, b, 1) for a, b in rows], kind)
    stacked = (
        pl.DataFrame({"a": first, "b": second})
        .with_row_index()
        .unpivot(index="index")
        .sort("index", maintain_order=True)
    )
    names = stacked["value"].unique(maintain_order=True).to_list()
    numbers.update({name: i for i, name in enumerate(names)})
    name_codes = pl.Series(names), pl.Series(range(len(names)), dtype=pl.Int64)
    codes = [column.replace_strict(*name_codes, return_dtype=pl.Int64).to_numpy() for column in (first, second)]
    return np.column_stack(codes), _read_weights(table, places, kind)


def _read_weights(table: RawTable, places: Sequence[int], kind: ListKind) -> np.ndarray:
    """Return the third column as numbers, or ones."""
    import polars as pl

    if len(places) < 3:
        return np.ones(len(table), np.int64)
    name = table.names[places[2]]
    column = table.series(name)
    values = (
        column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        if column.dtype == pl.String
        else column.fill_null(np.nan).to_numpy()
    )
    unique, inverse = np.unique(values, return_inverse=True)
    wrong = ~np.array([kind.allows(float(value)) for value in unique])[inverse]
    if wrong.any():
        row = int(wrong.argmax())
        raise LatentiaError(
            f"{table.texts(name)[row]!r} is no {kind.number}; {kind.meaning}. Take such rows out, or "
            f"read the {kind.things} without {kind.numbers}: name the columns of the {kind.ends} alone with "
            f"{write_parameter('columns')}.",
            **table.cell(row, name),
        )
    is_whole = (unique % 1 == 0).all() and (not len(unique) or unique[-1] < _MAX_EXACT)
    return values.astype(np.int64) if is_whole else values


def _find_weight(table: RawTable, name: str) -> list[int]:
    """Return the place of the numbers: of the column with this name, or the third one if it holds numbers and no times."""
    named = [i for i, heading in enumerate(table.names) if i > 1 and heading.lower() == name]
    if named or len(table.names) < 3 or is_clock(table, table.names[2]):
        return named[:1]
    return [2] if _is_number(str(table.texts(table.names[2])[0]).strip()) else []


def _report_unused(table: RawTable, places: Sequence[int], kind: ListKind) -> None:
    unused = [name for place, name in enumerate(table.names) if place not in places]
    if unused:
        rest = f" and {len(unused) - _N_LISTED} more" * (len(unused) > _N_LISTED)
        names_used = " and ".join(repr(table.names[place]) for place in places[:2])
        fact = f"{table.path}: columns {names_used} were read as the {kind.ends} of {kind.things}; not used: "
        warn(
            FileNotice(
                f"{fact}{', '.join(map(repr, unused[:_N_LISTED]))}{rest}.",
                "columns= names others.",
                parameter="columns",
            )
        )


@contextlib.contextmanager
def _open_rows(
    path: Path, encoding: str | None, kind: ListKind
) -> Iterator[tuple[Iterator[tuple[str, str, float | int]], Callable[[], int]]]:
    """Yield the rows of a text, and a function that returns the number of bytes read so far."""
    with open_unicode(path, encoding=encoding) as file:
        lines: _NumberedRows = enumerate((line.split() for line in file), 1)
        yield _read_rows(path, lines, kind), lambda: bytes_read(file)


def _read_rows(path: Path, rows: _NumberedRows, kind: ListKind) -> Iterator[tuple[str, str, float | int]]:
    """Yield two names and a number, or 1, of every row."""
    for number, cells in rows:
        if not cells or kind.is_comment(cells[0]):
            continue
        if not 2 <= len(cells) <= 3:
            raise LatentiaError(f"{len(cells)} columns, and {kind.row}", source=path, place=f"line {number}")
        yield cells[0], cells[1], _parse_number(path, number, cells[2], kind) if len(cells) == 3 else 1


def _find_columns(path: Path, header: list[str], columns: Sequence[str] | None, kind: ListKind) -> list[int]:
    if header and all(_is_number(cell) for cell in header):
        raise LatentiaError(
            f"expected headings, found numbers in the first line, {', '.join(header[:3])}. Put a line of headings above it, "
            "such as from,to.",
            source=path,
        )
    if columns is None:
        if len(header) < 2:
            raise LatentiaError(
                f"expected two columns of {kind.ends}, found {len(header)}. Name a file .csv if commas separate its columns, "
                "and .tsv if tabs do.",
                source=path,
            )
        return list(range(min(len(header), 3)))
    for column in columns:
        if column not in header:
            raise LatentiaError(f"no column {column!r}. There are {', '.join(header)}.", source=path)
    if len(columns) not in (2, 3):
        raise LatentiaError(
            f"expected two columns of {kind.ends}, and optionally one of {kind.numbers}; found {len(columns)} names."
        )
    return [header.index(column) for column in columns]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _parse_number(path: Path, line: int, cell: str, kind: ListKind) -> float | int:
    value = float(cell) if _is_number(cell) else float("nan")
    if not kind.allows(value):
        raise LatentiaError(f"{cell!r} is no {kind.number}; {kind.meaning}.", source=path, place=f"line {line}")
    return int(value) if value.is_integer() and value < _MAX_EXACT else value
