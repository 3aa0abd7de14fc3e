"""Rows of separated values, each with the line where it begins, whatever separates them; and of Excel workbooks."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..exceptions import LatentiaError
from ..passes.formats import open_unicode, plain_name
from ..reading._excel import is_excel, sheet_rows

_SUFFIXES = {".csv": ",", ".tsv": "\t"}
_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE, _SAMPLE_ROWS = 1 << 16, 200
_ANNOUNCED = re.compile(r"sep=(.)[\r\n]", re.IGNORECASE)  # as Excel writes it
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")

_NumberedRows = Iterator[tuple[int, list[str]]]


@dataclass(frozen=True)
class Rows:
    """The rows of a file, those of headings first.

    Attributes
    ----------
    rows : iterator of (int, list of str)
        With the line where each begins, or its number.
    separator : str
    unit : {"line", "row"}
        What the numbers count.
    """

    rows: _NumberedRows
    separator: str
    unit: str


def is_csv(path: Path) -> bool:
    """Whether the name says that the file is CSV or TSV."""
    return plain_name(path)[-4:] in _SUFFIXES


def has_columns(path: Path) -> bool:
    """Whether the name says that the file is CSV, TSV or an Excel workbook."""
    return is_csv(path) or is_excel(path)


@contextlib.contextmanager
def open_rows(path: Path, newline: str | None = "", encoding: str | None = None) -> Iterator[Rows]:
    """Open a file of rows, all as long as the first."""
    if is_excel(path):
        yield Rows(iter(sheet_rows(path)), ",", "row")
        return
    with open_unicode(path, newline, encoding) as file:
        separator = find_separator(path, file)
        yield Rows(csv_rows(path, file, separator), separator, "line")


def find_separator(path: Path, file: IO[str]) -> str:
    """What separates the columns of a text, which is at its beginning before and after: `,`, `;`, a tab, `|` or blanks.

    What stands in the headings does, and of several the one that cuts most rows as it cuts the headings, or leaves most
    numbers. Blanks do where they alone cut all rows alike, and most of what they leave is numbers.
    """
    sample = file.read(_SAMPLE)
    file.seek(0)
    announced = _ANNOUNCED.match(sample)
    if announced:
        return announced[1]
    preferred = _SUFFIXES.get(plain_name(path)[-4:], ",")
    cut = {sep: _sample_rows(sample, sep) for sep in (preferred, *_SEPARATORS, " ")}
    usual = [sep for sep in cut if sep != " " and cut[sep] and len(cut[sep][0]) > 1]
    if usual:
        return max(usual, key=lambda sep: _evenness(cut[sep]))
    return " " if _blanks_separate(cut[" "]) else preferred


def _sample_rows(sample: str, separator: str) -> list[list[str]]:
    """The first rows of a sample, as a separator cuts them."""
    lines = list(io.StringIO(sample, newline=""))
    if len(sample) >= _SAMPLE and len(lines) > 1:
        lines.pop()
    rows = (row for row in csv.reader(_unpadded(lines, separator), **_style(separator)) if row)  # type: ignore[arg-type]
    found = []
    with contextlib.suppress(csv.Error):
        for row in itertools.islice(rows, _SAMPLE_ROWS):
            found.append(row)
    return found


def _evenness(rows: list[list[str]]) -> tuple[float, float]:
    """The share of rows as long as the first, and that of numbers below it."""
    cells = [cell.strip() for row in rows[1:] for cell in row]
    numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in cells)
    return sum(len(row) == len(rows[0]) for row in rows) / len(rows), numbers / max(len(cells), 1)


def _blanks_separate(rows: list[list[str]]) -> bool:
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    even, numbers = _evenness(rows)
    return even == 1 and numbers >= 0.5


def _style(separator: str) -> dict[str, object]:
    return {"delimiter": separator, "skipinitialspace": separator == " "}


def _unpadded(lines: Iterable[str], separator: str) -> Iterable[str]:
    """Lines without blanks around them, if blanks separate."""
    return (line.strip(" \r\n") + "\n" for line in lines) if separator == " " else lines


def csv_rows(path: Path, lines: Iterable[str], separator: str, *, even: bool = True) -> _NumberedRows:
    """The rows that are not empty, each with the line where it begins; if ``even``, all must be as long as the first."""
    csv.field_size_limit(1 << 30)
    reader = csv.reader(_unpadded(lines, separator), strict=even, **_style(separator))  # type: ignore[arg-type]
    first, width = 1, 0
    try:
        for row in reader:
            announced = first == 1 and row[:1] and row[0].lower() == "sep="
            if row and not announced:
                width = width or len(row)
                if even and len(row) != width:
                    raise LatentiaError(
                        f"{path}, line {first}: {len(row)} fields, and the header has {width}. Put fields with "
                        f"{separator!r} or quotes in them in double quotes."
                    )
                yield first, row
            first = reader.line_num + 1
    except csv.Error as error:
        raise LatentiaError(f"{path}, line {first}: not readable as CSV ({error}). Is a quote not closed?") from error
