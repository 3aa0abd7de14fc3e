"""Lists of two names a row, and a number if there is one: pairs of words with counts, edges of graphs with weights."""

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

from .._progress import progress_bar
from ..exceptions import FileNotice, LatentiaError, warn
from ..passes import Blocks
from ..passes.formats import bytes_read, open_unicode
from ..reading._excel import is_excel, sheet_rows
from .separated import csv_rows, find_separator, is_csv

_CHUNK = 1 << 18
_MOST_EXACT = 2**40  # counts above are added as floats
_LOOKED_AT, _LISTED = 1000, 5  # rows, and names of columns in a message
_FRACTION = re.compile(r"[-+]?\d*[.,]\d+(e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class ListOf:
    """What a list holds, in the words of messages, and how its rows are read.

    Attributes
    ----------
    things, end, ends, number, numbers : str
        Such as pairs, word, words, count, counts.
    meaning : str
        What the third column says.
    row : str
        What a row holds, and what to do if there is something else.
    table : str
        What a matrix of such pairs is.
    is_comment : callable
        Whether a row of a text that begins with this string is none.
    allows : callable
        Whether the third column may hold this number.
    weight : str, optional
        Heading of the numbers, wherever it stands. With it the third column is left out if it holds no number.
    measured : str, optional
        What to do where the names are decimal fractions, as in a table of measurements; without it they are names as others.
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
        next(_rows(path, "line", iter([(number, cells)]), None, self), None)


def read_square(path: Path, cache: str | os.PathLike[str] | bool | None, kind: ListOf) -> sparse.csr_array:
    """The table of a MatrixMarket file, which must be square."""
    table = sparse.csr_array(Blocks.from_files(path, cache=cache).table())
    if table.shape[0] != table.shape[1]:
        raise LatentiaError(
            f"{path}: {table.shape[0]} rows and {table.shape[1]} columns. {kind.table} is a square table, with the same "
            f"{kind.ends} in rows and columns."
        )
    return table


def numbered_rows(
    path: Path,
    kind: ListOf,
    numbers: dict[str, int],
    columns: Sequence[str] | None,
    encoding: str | None,
    progress: str | bool,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Some rows at a time: the numbers of both names, shape (n, 2), and the third column or ones, shape (n,).

    Names get numbers in the order in which they come, which are put into ``numbers``. ``progress`` may be a label.
    """
    size, done = path.stat().st_size, 0
    with _open(path, columns, encoding, kind) as (rows, read), progress_bar(progress, size, "bytes") as advance:
        while chunk := list(itertools.islice(rows, _CHUNK)):
            if not numbers and columns is None:
                _refuse_measurements(path, chunk[:_LOOKED_AT], kind)
            codes = [(numbers.setdefault(a, len(numbers)), numbers.setdefault(b, len(numbers))) for a, b, _ in chunk]
            yield np.array(codes), np.array([n for _, _, n in chunk])
            advance(read() - done)
            done = read()
    if not numbers:
        raise LatentiaError(f"{path}: there are no {kind.things} in the file.")


def _refuse_measurements(path: Path, rows: Sequence[tuple[str, str, float | int]], kind: ListOf) -> None:
    """Raise if most names of a column are decimal fractions: these are measured, and name nothing."""
    for number, column in enumerate(("first", "second")):
        fractions = [row[number] for row in rows if _FRACTION.fullmatch(row[number])]  # type: ignore[arg-type]
        if kind.measured is not None and len(fractions) > len(rows) / 2:
            raise LatentiaError(
                f"{path}: the {column} column holds numbers such as {fractions[0]}, which are measurements and no "
                f"{kind.ends}. {kind.measured}"
            )


def order_of_numbers(names: Sequence[str]) -> np.ndarray | None:
    """What sorts names that are all whole numbers; None if others are among them."""
    if not all(name.isdecimal() for name in names):
        return None
    return np.argsort([int(name) for name in names], kind="stable")


_NumberedRows = Iterator[tuple[int, list[str]]]


@contextlib.contextmanager
def _open(
    path: Path, columns: Sequence[str] | None, encoding: str | None, kind: ListOf
) -> Iterator[tuple[Iterator[tuple[str, str, float | int]], Callable[[], int]]]:
    """Rows of a table with headings or of a text, and a function that says how many bytes of the file were read."""
    if is_excel(path):
        places, rows = _headed(path, iter(sheet_rows(path)), columns, kind)
        yield _rows(path, "row", rows, places, kind), lambda: path.stat().st_size
        return
    with open_unicode(path, encoding=encoding) as file:
        lines: _NumberedRows = enumerate((line.split() for line in file), 1)
        places = None
        if is_csv(path):
            lines = csv_rows(path, file, find_separator(path, file), even=False)
            places, lines = _headed(path, lines, columns, kind)
        yield _rows(path, "line", lines, places, kind), lambda: bytes_read(file)


def _headed(
    path: Path, rows: _NumberedRows, columns: Sequence[str] | None, kind: ListOf
) -> tuple[Sequence[int] | None, _NumberedRows]:
    """Places of the columns, and the rows below the headings, which are the first row."""
    header = [cell.strip() for cell in next(rows, (1, []))[1]]
    places = _places(path, header, columns, kind)
    if columns is None and kind.weight is not None:
        first = next(rows, (0, []))
        rows = itertools.chain([first], rows)
        places = [*places[:2], *_weight(header, first[1], kind.weight)]
    unused = [name for place, name in enumerate(header) if place not in places]
    if columns is None and unused:
        listed = ", ".join(map(repr, unused[:_LISTED])) + (
            f" and {len(unused) - _LISTED} more" * (len(unused) > _LISTED)
        )
        used = " and ".join(repr(header[place]) for place in places[:2])
        fact = f"{path}: columns {used} were read as the {kind.ends} of {kind.things}; not used: {listed}."
        warn(FileNotice(fact, "columns= names others."))
    return places, rows


def _weight(header: list[str], row: list[str], name: str) -> list[int]:
    """Place of the numbers: of the column with this name, or the third one if it holds a number in the first row."""
    named = [i for i, heading in enumerate(header) if i > 1 and heading.lower() == name]
    return named[:1] or [2 for cell in row[2:3] if len(header) > 2 and _is_number(cell.strip())]


def _rows(
    path: Path, unit: str, rows: _NumberedRows, places: Sequence[int] | None, kind: ListOf
) -> Iterator[tuple[str, str, float | int]]:
    """Two names and a number, or 1, of every row."""
    for number, row in rows:
        if not row or (places is None and kind.is_comment(row[0])):
            continue  # empty, or a comment
        cells = row if places is None else [row[i].strip() for i in places if i < len(row)]
        if (places is not None and len(cells) < len(places)) or not 2 <= len(cells) <= 3:
            raise LatentiaError(f"{path}, {unit} {number}: {len(row)} columns, and {kind.row}")
        if not (cells[0] and cells[1]):
            raise LatentiaError(
                f"{path}, {unit} {number}: an empty cell where a {kind.end} is needed. Fill it in or leave the {unit} out."
            )
        yield cells[0], cells[1], _number(f"{path}, {unit} {number}", cells[2], kind) if len(cells) == 3 else 1


def _places(path: Path, header: list[str], columns: Sequence[str] | None, kind: ListOf) -> list[int]:
    if header and all(_is_number(cell) for cell in header):
        raise LatentiaError(
            f"{path}: the first line, {', '.join(header[:3])}, holds numbers where headings are expected. Put a line of "
            "headings above it, such as from,to."
        )
    if columns is None:
        if len(header) < 2:
            raise LatentiaError(
                f"{path}: {len(header)} columns, and two of {kind.ends} are needed. Name a file .csv if commas separate its "
                "columns, and .tsv if tabs do."
            )
        return list(range(min(len(header), 3)))
    for column in columns:
        if column not in header:
            raise LatentiaError(f"{path}: no column {column!r}. There are {', '.join(header)}.")
    if len(columns) not in (2, 3):
        raise LatentiaError(
            f"{len(columns)} columns are named: two of {kind.ends}, and one of {kind.numbers} if there is one."
        )
    return [header.index(column) for column in columns]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(place: str, cell: str, kind: ListOf) -> float | int:
    value = float(cell) if _is_number(cell) else float("nan")
    if not kind.allows(value):
        raise LatentiaError(f"{place}: {cell!r} is no {kind.number}; {kind.meaning}.")
    return int(value) if value.is_integer() and value < _MOST_EXACT else value
