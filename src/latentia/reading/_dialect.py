"""Dialects of separated text: the separator and quote of cells, and the position of the headings."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..exceptions import LatentiaError
from ..passes.formats import LONGEST_LINE

SAMPLE = 1 << 16  # characters from which the dialect is found
_SAMPLE_ROWS = 200
_SEPARATORS = (",", ";", "\t", "|", "^", "~")
_SEPARATOR_LINE = re.compile(r"sep=(.)[\r\n]", re.IGNORECASE)  # Excel writes this line.
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?%?")
MOST_TITLES = 20

Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Dialect:
    """Rules that cut a text into cells.

    Attributes
    ----------
    separator, quote : str
    escape : str or None
        Character before a quote within quotes; None if quotes are doubled.
    start : int
        Number of rows above the headings.
    titles : tuple of str
        Text of these rows.
    names_rows : bool
        Whether rows have one cell more than the headings, as R writes names of rows.
    trailing : bool
        Whether rows end with a separator, and the headings do not.
    """

    separator: str
    quote: str = '"'
    escape: str | None = None
    start: int = 0
    titles: tuple[str, ...] = ()
    names_rows: bool = False
    trailing: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `csv.reader`."""
        return {
            "delimiter": self.separator, "quotechar": self.quote, "escapechar": self.escape,
            "doublequote": self.escape is None, "skipinitialspace": self.separator == " ",
        }  # fmt: skip


def find_dialect(sample: str, preferred: str, *, is_complete: bool) -> Dialect:
    """Find the dialect of a text from its first lines.

    The separator occurs in the headings. Among several, it is the one that gives most rows the same length, then the one that
    leaves most numbers. Blanks are the separator only if they give all rows the same length and leave mostly numbers.

    Parameters
    ----------
    sample : str
    preferred : str
        Separator that the file name suggests.
    whole : bool
        Whether the sample is all of the text.
    """
    announced = _SEPARATOR_LINE.match(sample)
    sample = sample[announced.end() :] if announced else sample
    lines = list(io.StringIO(sample, newline=""))
    if not is_complete and len(lines) > 1:
        lines.pop()
    quote, escape = _find_quote(sample)
    dialects = [Dialect(sep, quote, escape) for sep in dict.fromkeys((preferred, *_SEPARATORS, " "))]
    if announced:
        dialects = [Dialect(announced[1], quote, escape)]
    candidates = [(dialect, _sample_rows(lines, dialect)) for dialect in dialects]
    separated = [(d, rows) for d, rows in candidates if d.separator != " " and _width(rows) > 1]
    if separated:
        dialect, rows = max(separated, key=lambda candidate: _evenness(candidate[1]))
        return _locate_headings(dialect, rows, bool(announced))
    if not announced and _blanks_separate(candidates[-1][1]):
        return _locate_headings(*candidates[-1], False)
    return Dialect(announced[1] if announced else preferred, quote, escape, int(bool(announced)))


def rows_of(lines: Iterable[str], dialect: Dialect) -> Iterator[Row]:
    """Yield each row that is not empty with the line where it begins; raise for an unclosed quote."""
    csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader(strip_blanks(lines, dialect.separator), strict=True, **dialect.options)
    first = 1
    try:
        for row in reader:
            if row:
                yield first, row
            first = reader.line_num + 1
    except csv.Error as error:
        problem = f"not readable as CSV ({error}). Is a quote not closed?"
        raise LatentiaError(problem, place=f"line {first}") from error


def strip_blanks(lines: Iterable[str], separator: str) -> Iterable[str]:
    """Strip the blanks around each line if blanks are the separator."""
    return (line.strip(" \r\n") + "\n" for line in lines) if separator == " " else lines


def _find_quote(sample: str) -> tuple[str, str | None]:
    """Find the quote and its escape: apostrophes if they enclose cells and there are no double quotes."""
    if '"' not in sample:
        quoted_cells = re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n])", sample, re.MULTILINE)
        return (
            "'" if len(quoted_cells) > 1 and 2 * len(quoted_cells) >= sample.count("'") - len(quoted_cells) else '"'
        ), None
    escaped = len(re.findall(r'[^\\]\\"[^,;\t|\r\n]', sample))
    return '"', "\\" if escaped and not re.search(r'[^,;\t|\n\r]""[^,;\t|\r\n]', sample) else None


def _sample_rows(lines: list[str], dialect: Dialect) -> list[list[str]]:
    rows: list[list[str]] = []
    reader = csv.reader(strip_blanks(lines, dialect.separator), **dialect.options)
    try:
        for row in itertools.islice((row for row in reader if row), _SAMPLE_ROWS):
            rows.append(row)
    except csv.Error:
        return rows
    return rows


def _width(rows: list[list[str]]) -> int:
    """Return the most frequent number of cells if the first rows can be headings of that width."""
    if not rows:
        return 0
    if len(rows[0]) > 1:
        return len(rows[0])
    widths = Counter(map(len, rows))
    width = max(widths, key=lambda width: (widths[width], width))
    return width if widths[width] > 1 and 2 * widths[width] > len(rows) - MOST_TITLES else 1


def _evenness(rows: list[list[str]]) -> tuple[float, float]:
    """Return the share of rows that have the usual length, and the share of numbers below the first row."""
    width = Counter(map(len, rows[1:] or rows)).most_common(1)[0][0]
    cells = [cell.strip() for row in rows[1:] for cell in row]
    numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in cells)
    even = sum(len(row) == width for row in rows) / len(rows) if width > 1 else 0.0
    return even, numbers / max(len(cells), 1)


def _blanks_separate(rows: list[list[str]]) -> bool:
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    width = len(rows[1])
    even = all(len(row) == width for row in rows[1:]) and len(rows[0]) in (width, width - 1)
    return even and _evenness(rows)[1] >= 1 / 3


def _locate_headings(dialect: Dialect, rows: list[list[str]], announced: bool) -> Dialect:
    """Add the position of the headings: below titles, one cell shorter than the rows, or without their trailing separator."""
    widths = Counter(map(len, rows[1:] or rows))
    width = max(widths, key=lambda width: (widths[width], width))
    start = count_titles(rows[: min(len(rows) - 1, MOST_TITLES + 1)], width)
    headings, body = rows[start], rows[start + 1 :]
    longer = bool(body) and len(headings) > 0 and all(len(row) == len(headings) + 1 for row in body)
    trailing = longer and all(not row[-1].strip() for row in body)
    names_rows = longer and len(body) > 1 and len({row[0] for row in body}) == len(body)
    return Dialect(
        dialect.separator, dialect.quote, dialect.escape, start + announced,
        tuple(filter(None, (dialect.separator.join(row).strip(dialect.separator + " ") for row in rows[:start]))),
        names_rows and not trailing, trailing,
    )  # fmt: skip


def count_titles(rows: list[list[str]], width: int, *, padded: bool = False) -> int:
    """Return the number of rows above the headings: titles, comments and empty rows.

    The headings are the first row that is as wide as the table and has at least two cells. ``padded`` rows, as in a workbook,
    all have the length of the longest.
    """
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    start = next((i for i, row in enumerate(rows) if len(row) == width and filled[i] > 1), 0)
    full = padded or (width > 2 and start < len(rows) and filled[start] == width)
    return start if all(_is_title(row, n, width, full) for row, n in zip(rows[:start], filled, strict=False)) else 0


def _is_title(row: list[str], filled: int, width: int, full: bool) -> bool:
    """Return True if a row above the headings is a title, a comment or empty; ``full`` headings have no empty cell."""
    if row[0].lstrip().startswith(("#", "%")) and len(row) != width:
        return True
    return filled <= 1 and (filled == 0 or bool(row[0].strip())) and (len(row) == 1 or (len(row) == width and full))
