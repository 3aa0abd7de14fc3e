"""The dialect of a text with columns: what separates and quotes cells, and where the headings stand."""

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

SAMPLE = 1 << 16  # characters from which the dialect is told
_SAMPLE_ROWS = 200
_SEPARATORS = (",", ";", "\t", "|", "^", "~")
_ANNOUNCED = re.compile(r"sep=(.)[\r\n]", re.IGNORECASE)  # Excel writes this line.
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?%?")
MOST_TITLES = 20

Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Dialect:
    """How the cells of a text are cut.

    Attributes
    ----------
    separator, quote : str
    escape : str or None
        What stands before a quote within quotes, where it is not another quote.
    start : int
        Rows above the headings.
    titles : tuple of str
        What these rows say.
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


def find_dialect(sample: str, preferred: str, *, whole: bool) -> Dialect:
    """Find the dialect of a text from its first lines.

    The separator stands in the headings; of several it is the one that cuts most rows alike, or leaves most numbers. Blanks
    separate where they alone cut all rows alike, and most of what they leave is numbers.

    Parameters
    ----------
    sample : str
    preferred : str
        The separator that the name of the file announces.
    whole : bool
        Whether the sample is all of the text.
    """
    announced = _ANNOUNCED.match(sample)
    sample = sample[announced.end() :] if announced else sample
    lines = list(io.StringIO(sample, newline=""))
    if not whole and len(lines) > 1:
        lines.pop()
    quote, escape = _quote(sample)
    dialects = [Dialect(sep, quote, escape) for sep in dict.fromkeys((preferred, *_SEPARATORS, " "))]
    if announced:
        dialects = [Dialect(announced[1], quote, escape)]
    cut = [(dialect, _sample_rows(lines, dialect)) for dialect in dialects]
    usual = [(d, rows) for d, rows in cut if d.separator != " " and _width(rows) > 1]
    if usual:
        dialect, rows = max(usual, key=lambda one: _evenness(one[1]))
        return _with_headings(dialect, rows, bool(announced))
    if not announced and _blanks_separate(cut[-1][1]):
        return _with_headings(*cut[-1], False)
    return Dialect(announced[1] if announced else preferred, quote, escape, int(bool(announced)))


def rows_of(lines: Iterable[str], dialect: Dialect) -> Iterator[Row]:
    """Yield the rows that are not empty, each with the line where it begins; a quote that is not closed is an error."""
    csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader(unpadded(lines, dialect.separator), strict=True, **dialect.options)
    first = 1
    try:
        for row in reader:
            if row:
                yield first, row
            first = reader.line_num + 1
    except csv.Error as error:
        problem = f"not readable as CSV ({error}). Is a quote not closed?"
        raise LatentiaError(problem, place=f"line {first}") from error


def unpadded(lines: Iterable[str], separator: str) -> Iterable[str]:
    """Return the lines, without blanks around them if blanks separate."""
    return (line.strip(" \r\n") + "\n" for line in lines) if separator == " " else lines


def _quote(sample: str) -> tuple[str, str | None]:
    """Find the quote and its escape: apostrophes quote where they, and no double quotes, stand around cells."""
    if '"' not in sample:
        around = re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n])", sample, re.MULTILINE)
        return ("'" if len(around) > 1 and 2 * len(around) >= sample.count("'") - len(around) else '"'), None
    escaped = len(re.findall(r'[^\\]\\"[^,;\t|\r\n]', sample))
    return '"', "\\" if escaped and not re.search(r'[^,;\t|\n\r]""[^,;\t|\r\n]', sample) else None


def _sample_rows(lines: list[str], dialect: Dialect) -> list[list[str]]:
    rows: list[list[str]] = []
    reader = csv.reader(unpadded(lines, dialect.separator), **dialect.options)
    try:
        for row in itertools.islice((row for row in reader if row), _SAMPLE_ROWS):
            rows.append(row)
    except csv.Error:
        return rows
    return rows


def _width(rows: list[list[str]]) -> int:
    """Cells of most rows, if the first rows can be their headings."""
    if not rows:
        return 0
    if len(rows[0]) > 1:
        return len(rows[0])
    widths = Counter(map(len, rows))
    width = max(widths, key=lambda width: (widths[width], width))
    return width if widths[width] > 1 and 2 * widths[width] > len(rows) - MOST_TITLES else 1


def _evenness(rows: list[list[str]]) -> tuple[float, float]:
    """Return the share of rows as long as most are, and that of numbers below the first."""
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


def _with_headings(dialect: Dialect, rows: list[list[str]], announced: bool) -> Dialect:
    """Add where the headings stand: below titles, one shorter than the rows, or without the separator that ends these."""
    widths = Counter(map(len, rows[1:] or rows))
    width = max(widths, key=lambda width: (widths[width], width))
    start = count_titles(rows[: min(len(rows) - 1, MOST_TITLES + 1)], width)
    headings, body = rows[start], rows[start + 1 :]
    longer = bool(body) and len(headings) > 0 and all(len(row) == len(headings) + 1 for row in body)
    trailing = longer and all(not row[-1].strip() for row in body)
    named = longer and len(body) > 1 and len({row[0] for row in body}) == len(body)
    return Dialect(
        dialect.separator, dialect.quote, dialect.escape, start + announced,
        tuple(filter(None, (dialect.separator.join(row).strip(dialect.separator + " ") for row in rows[:start]))),
        named and not trailing, trailing,
    )  # fmt: skip


def count_titles(rows: list[list[str]], width: int, *, padded: bool = False) -> int:
    """Return how many rows stand above the headings: those with titles or comments, or without any cell.

    The headings are the first row as wide as the table with two cells or more. ``padded`` rows, as those of a workbook, are all
    as long as the longest.
    """
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    start = next((i for i, row in enumerate(rows) if len(row) == width and filled[i] > 1), 0)
    full = padded or (width > 2 and start < len(rows) and filled[start] == width)
    return start if all(_is_title(row, n, width, full) for row, n in zip(rows[:start], filled, strict=False)) else 0


def _is_title(row: list[str], filled: int, width: int, full: bool) -> bool:
    """Return True if a row above the headings holds a title or a comment, or nothing; ``full`` headings lack no cell."""
    if row[0].lstrip().startswith(("#", "%")) and len(row) != width:
        return True
    return filled <= 1 and (filled == 0 or bool(row[0].strip())) and (len(row) == 1 or (len(row) == width and full))
