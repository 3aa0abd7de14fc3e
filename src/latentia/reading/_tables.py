"""Tables in files as columns of numbers and text: separated values, workbooks, Parquet, JSON Lines.

Polars opens them. For separated values its result is compared with the number of separators and line ends in the file. If these
disagree (short rows, blank lines, escaped quotes), the standard library's `csv` reads the file and says where each row begins.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import LatentiaError, MissingExtraError
from ..passes.formats import (
    LONGEST_LINE,
    STANDARD_INPUT,
    find_encoding,
    free_memory,
    no_encoding,
    open_text,
    open_unicode,
    plain_name,
    readable,
)
from ..passes.formats.parquet import open_parquet
from ..system.compressed import is_compressed
from ..system.forks import check_threads
from ._dialect import MOST_TITLES, SAMPLE, Dialect, count_titles, find_dialect, rows_of
from ._excel import is_excel, sheet_rows

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = {".csv": ",", ".tsv": "\t"}
_PARQUET, _JSON = (".parquet", ".pq"), (".jsonl", ".ndjson", ".json")
_N_LISTED_ROWS = 5  # in a note
_N_SAMPLE_ROWS = 1000  # rows that decide the types of columns
_CHUNK_ROWS = 10_000
_MAX_COLUMNS = 1_000_000
_MAX_EXACT = 1e15  # Larger whole numbers may be ids, which must keep every digit.
_PLAIN_NUMBER = re.compile(r"[+-]?(0|[1-9]\d{0,14}|(?=\d*\.)\d{0,15})(\.\d*)?([eE][+-]?\d+)?")
_FEED, _RETURN = 10, 13
_FILE_SIGNATURES = (
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"%PDF",
    b"PK",
    b"\x89PNG",
    b"\x93NUMPY",
    b"PAR1",
    b"x\x01",
)
_MAX_SIGNATURE = max(map(len, _FILE_SIGNATURES))


@dataclass(frozen=True)
class RawTable:
    """Columns of a table as they stand in a file.

    Attributes
    ----------
    columns : list of polars.Series
        Columns of plain numbers (Float64) or of text.
    names : list of str
        Unique names of the columns.
    rows : sequence of int
        Line of each row; its number if the format has no lines.
    unit : {"line", "row"}
    path : Path
    separator : str
    notes : tuple of str
        Sentences about skipped lines and names.
    named_rows : bool
        Whether the first column holds row names and has no heading.
    reread : callable, optional
        ``reread(i)``: column i as it is written.
    """

    columns: list[Any]
    names: list[str]
    rows: Sequence[int]
    unit: str
    path: Path
    separator: str = ","
    notes: tuple[str, ...] = ()
    named_rows: bool = False
    reread: Callable[[int], Any] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def series(self, name: str) -> Any:
        """Return a column."""
        return self.columns[self.places[name]]

    @cached_property
    def places(self) -> dict[str, int]:
        """Position of each column."""
        return {name: i for i, name in enumerate(self.names)}

    def texts(self, name: str) -> Any:
        """Return a column as it is written, as text without nulls."""
        import polars as pl

        place = self.places[name]
        column = self.columns[place]
        if column.dtype != pl.String:
            column = self.reread(place) if self.reread is not None else _number_texts(column)
        return column.fill_null("")

    def take(self, places: np.ndarray) -> RawTable:
        """Return the table with these rows, in this order."""
        reread, rows = self.reread, [self.rows[int(place)] for place in places]
        columns = [column.gather(places) for column in self.columns]
        return replace(self, columns=columns, rows=rows, reread=reread and (lambda i: reread(i).gather(places)))

    def drop_blank_rows(self) -> RawTable:
        """Return the table without the rows in which no cell has a value, with a note that counts them."""
        blank: Any = None
        for column in self.columns:
            empty = column.is_null()
            empty = empty if column.dtype.is_numeric() else empty | (column.fill_null("").str.strip_chars() == "")
            blank = empty if blank is None else blank & empty
            if not blank.any():
                return self
        if len(self.names) < 2 or blank.all():
            return self
        rows = [self.rows[int(i)] for i in blank.arg_true()]
        listed = ", ".join(map(str, rows[:_N_LISTED_ROWS])) + (", ..." if len(rows) > _N_LISTED_ROWS else "")
        note = f"{len(rows):,} rows without any value were left out: {self.unit} {listed}"
        return replace(self.take((~blank).arg_true().to_numpy()), notes=(*self.notes, note))

    def place(self, row: int, name: str) -> str:
        """Return the file, line and column of a cell."""
        return f"{self.path}, {self._place(row, name)}"

    def cell(self, row: int, name: str) -> dict[str, Any]:
        """Return the data of an error about a cell."""
        return {"source": self.path, "place": self._place(row, name), "row": row, "column": name}

    def _place(self, row: int, name: str) -> str:
        return f"{self.unit} {self.rows[row]}, column {name!r}"


def is_csv(path: Path) -> bool:
    """Return True if the file name is that of separated values."""
    return plain_name(path)[-4:] in SUFFIXES


def is_parquet(path: Path) -> bool:
    """Return True if the file name is that of a Parquet table."""
    return path.name.lower().endswith(_PARQUET)


def is_json(path: Path) -> bool:
    """Return True if the file name is that of JSON."""
    return plain_name(path).endswith(_JSON)


def has_columns(path: Path) -> bool:
    """Return True if the file name is that of a table with headings: separated values, a workbook, JSON Lines, Parquet."""
    if path.name == STANDARD_INPUT and path.is_file():
        return _begins_as_table(path)
    return is_csv(path) or is_excel(path) or is_json(path) or is_parquet(path)


def _begins_as_table(path: Path) -> bool:
    """Return True if standard input holds Parquet, JSON, or lines with equally many cells."""
    with readable(path), open_text(path) as file:
        start = file.read(SAMPLE)
    if start.startswith((b"PAR1", b'{"', b"[{")):
        return True
    if b"\0" in start or start.startswith((b"%%", b">", b"PK")):
        return False
    return is_even(start.decode("utf-8", "replace"), is_complete=len(start) < SAMPLE)


def is_even(sample: str, *, is_complete: bool) -> bool:
    """Return True if all lines of a text have the same number of cells, at least two."""
    dialect = find_dialect(sample, ",", is_complete=is_complete)
    lines = [line for line in sample.splitlines() if line.strip()][dialect.start : _N_SAMPLE_ROWS]
    widths = {line.count(dialect.separator) for line in (lines if is_complete else lines[:-1]) if '"' not in line}
    return dialect.separator != " " and len(lines) > 1 and len(widths) == 1 and 0 not in widths


def open_table(path: Path, *, encoding: str | None = None, sheet: str | None = None, unique: bool = True) -> RawTable:
    """Open a file that is a table with headings.

    Parameters
    ----------
    path : Path
    encoding : str, optional
        Encoding of separated values and JSON; by default it is detected.
    sheet : str, optional
        Sheet of a workbook, by name or by number from 1; by default the first.
    unique : bool, default=True
        Whether two columns of one name are an error; otherwise the second "date" becomes "date (2)".

    Raises
    ------
    LatentiaError
        If the file is empty or damaged, if a row and the headings differ in length, or in a process forked from one that had
        loaded polars.
    """
    check_threads(path)
    if sheet is not None and not is_excel(path):
        raise LatentiaError("only workbooks have sheets; leave it out.", parameter="sheet", value=sheet, source=path)
    if encoding is not None and (is_excel(path) or is_parquet(path)):
        raise no_encoding(path, encoding)
    if is_excel(path):
        return _read_rows(sheet_rows(path, sheet), path, "row", unique)
    start = _read_start(path) if path.name == STANDARD_INPUT else b""
    if is_parquet(path) or start.startswith(b"PAR1"):
        return _read_parquet(path)
    if is_json(path) or start.startswith((b'{"', b"[{")):
        return _read_json(path, encoding)
    return _read_separated(path, encoding, unique)


def _read_start(path: Path) -> bytes:
    with readable(path), open_text(path) as file:
        return file.read(4)


def column_names(header: Sequence[str], path: Path | None = None) -> list[str]:
    """Return unique column names: ``column 3`` for an empty one, and without a path ``date (2)`` for a second ``date``."""
    if len(header) > _MAX_COLUMNS:
        raise LatentiaError(f"{len(header):,} columns; up to {_MAX_COLUMNS:,} can be read.", source=path)
    names: dict[str, int] = {}
    for i, name in enumerate(header, 1):
        plain = name.strip() or f"column {i}"
        unique, n = plain, names.get(plain, 0)
        if n and path is not None:
            raise LatentiaError(
                f"two columns are called {plain!r}. Give each its own name.", source=path, place="line 1"
            )
        while unique in names:
            n += 1
            unique = f"{plain} ({n})"
        names[plain] = max(n, 1)
        names.setdefault(unique, 1)
    return list(names)


# --- separated values -------------------------------------------------------------------------------------------


def _read_separated(path: Path, encoding: str | None, unique: bool) -> RawTable:
    text = _Text.open(path, encoding)
    preferred, size = SUFFIXES.get(plain_name(path)[-4:], ","), SAMPLE
    while True:
        data = text.read(size)
        sample, is_complete = data.decode("utf-8", "ignore"), len(data) < size
        dialect = find_dialect(sample, preferred, is_complete=is_complete)
        first_rows = _first_rows(path, sample, dialect, is_complete)
        if is_complete or len(first_rows) > 2:
            break
        size *= 16
    header = _header(path, first_rows, dialect)
    names = column_names([*(["row"] if dialect.names_rows else []), *header], path if unique else None)
    table = _read_fast(path, text, names, first_rows, dialect) or _read_careful(path, text.read(), names, dialect)
    notes = _notes(dialect, first_rows)
    return replace(_drop_empty_end(table), notes=notes, named_rows=dialect.names_rows)


@dataclass(frozen=True)
class _Text:
    """A UTF-8 text: the file on disk, or its decoded bytes if it is compressed, has a byte-order mark or another encoding."""

    path: Path
    data: bytes | None = None

    @classmethod
    def open(cls, path: Path, encoding: str | None) -> _Text:
        """Open a file; other encodings are decoded as by `open_unicode`."""
        with readable(path), open_text(path) as file:
            on_disk = encoding is None and path.stat().st_size > SAMPLE and not is_compressed(path)
            if on_disk and not file.read(_MAX_SIGNATURE).startswith(_FILE_SIGNATURES) and _is_plain(file):
                return cls(path)
            file.seek(0)
            find_encoding(path, file, encoding)
        with open_unicode(path, "", encoding) as text:
            data = text.read().encode()
        if not data.strip():
            raise LatentiaError("the file is empty.", source=path)
        return cls(path, data)

    def read(self, size: int = -1) -> bytes:
        """Return the first bytes, by default all."""
        if self.data is not None:
            return self.data[:size] if size >= 0 else self.data
        with readable(self.path), open(self.path, "rb") as file:
            return file.read(size)

    def pieces(self, start: int) -> Iterator[np.ndarray]:
        """Yield the bytes from a position on, in pieces."""
        if self.data is not None:
            yield np.frombuffer(memoryview(self.data)[start:], np.uint8)
            return
        with readable(self.path), open(self.path, "rb") as file:
            file.seek(start)
            yield from (np.frombuffer(piece, np.uint8) for piece in _pieces(file))


def _pieces(file: Any) -> Iterator[bytes]:
    while piece := file.read(SAMPLE * 16):
        yield piece


def _is_plain(file: Any) -> bool:
    """Return True if the rest of a file is ASCII in lines of moderate length, so that it can be read from disk."""
    length = 0
    for piece in _pieces(file):
        end = piece.rfind(b"\n")
        length = length + len(piece) if end < 0 else len(piece) - end
        if length > LONGEST_LINE or not piece.isascii() or b"\0" in piece:
            return False
    return True


def _first_rows(path: Path, sample: str, dialect: Dialect, is_complete: bool) -> list[tuple[int, list[str]]]:
    """Return the headings and the sample of rows that decides types, each with its line."""
    lines = list(io.StringIO(sample, newline=""))
    if not is_complete and len(lines) > 1:
        lines.pop()
    rows: list[tuple[int, list[str]]] = []
    try:
        for row in itertools.islice(rows_of(lines, dialect), dialect.start + 1 + _N_SAMPLE_ROWS):
            rows.append(row)
    except LatentiaError as error:
        if is_complete:
            error.source = path
            raise
    return rows[dialect.start :]


def _header(path: Path, rows: list[tuple[int, list[str]]], dialect: Dialect) -> list[str]:
    header = rows[0][1] if rows else []
    if not any(name.strip() for name in header):
        raise LatentiaError("the file is empty.", source=path)
    if len(rows) < 2:
        raise LatentiaError("there are no rows below the header.", source=path)
    numbers = all(_is_number(name) for name in header)
    if numbers and (any("." in name for name in header) or len({*header}) < len(header)):
        raise LatentiaError(
            "expected the names of the columns, and found numbers. Put a line of names above.",
            source=path,
            place=f"line {rows[0][0]}",
        )
    return header


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip().lower() in ("true", "false")
    return True


def _notes(dialect: Dialect, rows: list[tuple[int, list[str]]]) -> tuple[str, ...]:
    notes = [f"lines above the headings were skipped: {'; '.join(dialect.titles)}"] if dialect.titles else []
    if dialect.names_rows:
        notes.append("rows have one cell more than the headings: the first cell is the row name, as in files from R")
    if all(_is_number(name) for name in rows[0][1]):
        notes.append(
            f"the headings are numbers ({', '.join(rows[0][1][:3])}): if they are data, put a line of names above"
        )
    return tuple(notes)


@dataclass(frozen=True)
class _Counts:
    """Counts of separators and lines below the headings, with the presence of quotes and of unusual line ends."""

    separators: int
    lines: int
    quoted: bool
    odd_ends: bool
    blank_end: bool

    @classmethod
    def from_text(cls, text: _Text, start: int, dialect: Dialect) -> _Counts:
        separators = feeds = returns = 0
        quoted, last = False, b""
        for piece in text.pieces(start):
            separators += int(np.count_nonzero(piece == ord(dialect.separator)))
            feeds += int(np.count_nonzero(piece == _FEED))
            returns += int(np.count_nonzero(piece == _RETURN))
            quoted = quoted or bool((piece == ord(dialect.quote)).any())
            last = (last + piece[-4:].tobytes())[-4:]
        ended = last.endswith((b"\n", b"\r"))
        blank_end = last.rstrip(b"\r").endswith((b"\n\n", b"\n\r\n"))
        return cls(separators, feeds + (not ended), quoted, 0 < returns < feeds - 1 or returns > feeds, blank_end)


def _read_fast(
    path: Path, text: _Text, names: list[str], rows: list[tuple[int, list[str]]], dialect: Dialect
) -> RawTable | None:
    """Read with polars; return None if the separators and line ends of the file contradict the result."""
    import polars as pl

    if dialect.escape or dialect.separator == " " or dialect.trailing or not dialect.separator.isascii():
        return None
    skipped = rows[1][0] - 1
    start = _line_start(text, skipped)
    counts = None if start is None else _Counts.from_text(text, start, dialect)
    if counts is None or counts.odd_ends or counts.lines < 1:
        return None
    source: Any = str(text.path)
    if text.data is not None or counts.blank_end:
        source, skipped = text.read()[start:].rstrip(b"\r\n"), 0
        counts = replace(counts, lines=source.count(b"\n") + 1)
    cells = [[row[i] if i < len(row) else "" for _, row in rows[1:]] for i in range(len(names))]
    types = [pl.Float64 if _are_plain_numbers(column) else pl.String for column in cells]
    frame = _parse_with_polars(source, skipped, types, dialect)
    frame = _parse_with_polars(source, skipped, [pl.String] * len(names), dialect) if frame is None else frame
    if frame is None or (len(names) == 1 and frame.to_series(0).null_count()):  # Polars counts blank lines as rows.
        return None
    texts = [column for column in frame if column.dtype == pl.String]
    quoted_separators = quoted_breaks = 0
    if counts.quoted:
        quoted_separators = sum(
            int(column.str.count_matches(dialect.separator, literal=True).sum() or 0) for column in texts
        )
        quoted_breaks = sum(int(column.str.count_matches("\n", literal=True).sum() or 0) for column in texts)
    if counts.separators - quoted_separators != (len(names) - 1) * len(frame) or counts.lines - quoted_breaks != len(
        frame
    ):
        return None

    def reread(i: int) -> Any:
        return _parse_with_polars(source, skipped, [pl.String] * len(names), dialect, [i]).to_series(0)  # type: ignore[union-attr]

    lines = range(rows[1][0], rows[1][0] + len(frame))
    columns = [reread(i) if _loses_digits(column) else column for i, column in enumerate(frame)]
    return RawTable(columns, names, _lines(lines, texts, quoted_breaks), "line", path, dialect.separator, reread=reread)


def _line_start(text: _Text, n_lines: int) -> int | None:
    """Return the position where a line begins, in bytes; None after lines that end otherwise than at line feeds."""
    data, at, size = b"", 0, SAMPLE
    while (data.count(b"\n") < n_lines and len(data) == size) or not data:
        size *= 4
        data = text.read(size)
        if len(data) < size:
            break
    for _ in range(n_lines):
        at = data.find(b"\n", at) + 1
    too_few = data.count(b"\n") < n_lines
    return None if too_few or data.count(b"\r", 0, at) > data.count(b"\r\n", 0, at) else at


def _are_plain_numbers(cells: list[str]) -> bool:
    """Return True if all filled cells are plain numbers that floats represent without loss."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(_PLAIN_NUMBER.fullmatch(cell) for cell in filled)


def _loses_digits(column: Any) -> bool:
    """Return True if a column holds infinity, NaN, or whole numbers too large for exact floats."""
    import polars as pl

    if column.dtype != pl.Float64 or column.null_count() == len(column):
        return False
    largest, smallest = column.max(), column.min()
    return (
        bool(column.is_nan().any())
        or not np.isfinite([largest, smallest]).all()
        or max(abs(largest), abs(smallest)) >= _MAX_EXACT
    )


def _parse_with_polars(
    source: Any, skipped: int, types: list[Any], dialect: Dialect, columns: list[int] | None = None
) -> pl.DataFrame | None:
    """Parse a text with polars; return None if a cell is not of its type, or a row is longer than the headings."""
    import polars as pl

    names = [f"c{i}" for i in range(len(types))]
    try:
        return pl.read_csv(
            source, has_header=False, separator=dialect.separator, quote_char=dialect.quote, skip_lines=skipped,
            schema=dict(zip(names, types, strict=True)), columns=columns, encoding="utf8", glob=False,
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None


def _lines(lines: Sequence[int], texts: list[Any], breaks: int) -> Sequence[int]:
    """Return the line where each row begins, with allowance for line breaks in cells."""
    if not breaks:
        return lines
    within = sum(
        column.fill_null("").str.count_matches("\n", literal=True).to_numpy().astype(np.int64) for column in texts
    )
    return (np.asarray(lines) + np.concatenate([[0], np.cumsum(within)[:-1]])).tolist()


def _read_careful(path: Path, data: bytes, names: list[str], dialect: Dialect) -> RawTable:
    """Read with the standard library, which locates rows of the wrong length."""
    width, rows, lines = len(names), [], []
    text = io.StringIO(data.decode(), newline="")
    pieces: list[Any] = []
    try:
        for number, row in itertools.islice(rows_of(text, dialect), dialect.start + 1, None):
            if dialect.trailing and not row[-1].strip():
                row = row[:-1]
            if len(row) != width:
                raise LatentiaError(
                    f"{len(row)} fields, and the header has {width}. Put fields that contain {dialect.separator!r} or "
                    "quotes in double quotes.",
                    place=f"line {number}",
                )
            rows.append(row)
            lines.append(number)
            if len(rows) == _CHUNK_ROWS:
                pieces.append(_frame(rows, width))
                rows = []
    except LatentiaError as error:
        error.source = path
        raise
    texts = _concatenate([*pieces, _frame(rows, width)])
    columns = list(map(_as_numbers, texts))
    return RawTable(columns, names, _compress_lines(lines), "line", path, dialect.separator, reread=texts.__getitem__)


def _as_numbers(column: Any) -> Any:
    """Convert a text column to numbers if all filled cells are plain numbers; otherwise return it unchanged."""
    import polars as pl

    if not _are_plain_numbers([cell.strip() for cell in column.head(_N_SAMPLE_ROWS).to_list()]):
        return column
    cells = column.str.strip_chars()
    cells = pl.select(pl.when(cells == "").then(None).otherwise(cells)).to_series()
    values = cells.cast(pl.Float64, strict=False)
    zeros = cells.str.contains(r"^[+-]?0\d").any()
    return column if zeros or values.null_count() > cells.null_count() or _loses_digits(values) else values


def _frame(rows: list[list[str]], width: int) -> Any:
    import polars as pl

    cells = zip(*rows, strict=True) if rows else [()] * width
    return pl.DataFrame({f"c{i}": pl.Series(column, dtype=pl.String) for i, column in enumerate(cells)})


def _concatenate(pieces: list[Any]) -> list[Any]:
    import polars as pl

    return list(pl.concat(pieces))


def _compress_lines(lines: list[int]) -> Sequence[int]:
    """Return consecutive lines as a range."""
    return range(lines[0], lines[0] + len(lines)) if lines and lines[-1] - lines[0] == len(lines) - 1 else lines


def _drop_empty_end(table: RawTable) -> RawTable:
    """Drop a last column without heading and cells, as trailing separators produce."""
    last = table.columns[-1]
    if len(table.names) > 1 and table.names[-1] == f"column {len(table.names)}" and _is_blank(last):
        return replace(table, columns=table.columns[:-1], names=table.names[:-1])
    return table


def _is_blank(column: Any) -> bool:
    import polars as pl

    filled = column.drop_nulls()
    return len(filled) == 0 or (filled.dtype == pl.String and not (filled.str.strip_chars() != "").any())


# --- other formats ----------------------------------------------------------------------------------------------


def _read_rows(rows: list[tuple[int, list[str]]], path: Path, unit: str, unique: bool) -> RawTable:
    """Make a table from rows of text; the headings come first or below a title."""
    start = count_titles([row for _, row in rows[: min(len(rows) - 1, MOST_TITLES + 1)]], len(rows[0][1]), padded=True)
    header = rows[start][1]
    if len(rows) < start + 2:
        raise LatentiaError("there are no rows below the header.", source=path)
    titles = "; ".join(filter(None, ("".join(row) for _, row in rows[:start])))
    texts = _concatenate([_frame([row for _, row in rows[start + 1 :]], len(header))])
    notes = (f"rows above the headings were skipped: {titles}",) if start else ()
    lines = [n for n, _ in rows[start + 1 :]]
    names = column_names(header, path if unique else None)
    return RawTable(list(map(_as_numbers, texts)), names, lines, unit, path, notes=notes, reread=texts.__getitem__)


def _read_parquet(path: Path) -> RawTable:
    import polars as pl

    with readable(path):
        with contextlib.suppress(MissingExtraError), open_parquet(path):
            pass  # Opening checks the declared sizes.
        try:
            lazy = pl.scan_parquet(path, glob=False)
            size = 8 * len(lazy.collect_schema()) * lazy.select(pl.len()).collect().item()
            if size > free_memory():
                raise LatentiaError(f"{size} bytes of numbers, which do not fit into memory.", source=path)
            frame = pl.read_parquet(path, use_pyarrow=False, glob=False)
        except FileNotFoundError:
            raise
        except (pl.exceptions.PolarsError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            if isinstance(error, pl.exceptions.DuplicateError):
                raise LatentiaError(
                    f"two columns have the same name ({error}). Give each its own name.", source=path
                ) from error
            raise LatentiaError(f"not a readable Parquet file ({error}).", source=path) from error
    if not len(frame):
        raise LatentiaError("the table has no rows.", source=path)
    return _convert_frame(frame, path)


def _convert_frame(frame: Any, path: Path, unit: str = "row", rows: Sequence[int] | None = None) -> RawTable:
    """Make a table from a polars frame."""
    lines = range(1, len(frame) + 1) if rows is None else rows
    return RawTable([convert_column(column) for column in frame], list(frame.columns), lines, unit, path)


def convert_column(column: Any) -> Any:
    """Convert numbers to Float64, lists to JSON, and everything else to text."""
    import polars as pl

    kind = column.dtype
    if kind.is_integer() and len(column) and max(abs(column.max() or 0), abs(column.min() or 0)) >= _MAX_EXACT:
        return column.cast(pl.String)
    if kind.is_numeric() or kind == pl.Boolean:
        values = column.cast(pl.Float64)
        return values.fill_nan(None)
    if kind.is_nested():
        cells = column.to_list()
        return pl.Series(
            [None if cell is None else json.dumps(cell, ensure_ascii=False, default=str) for cell in cells],
            dtype=pl.String,
        )
    if kind == pl.Datetime:
        are_days = bool((column.dt.truncate("1d") == column).all())
        return column.dt.date().cast(pl.String) if are_days else column.dt.to_string("iso:strict")
    return column.cast(pl.String) if kind != pl.Null else pl.Series([None] * len(column), dtype=pl.String)


def _number_texts(column: Any) -> Any:
    """Write numbers as text, whole numbers without a point."""
    import polars as pl

    values = column.to_list()
    return pl.Series(
        ["" if v is None else str(int(v)) if float(v).is_integer() else repr(v) for v in values], dtype=pl.String
    )


def _read_json(path: Path, encoding: str | None) -> RawTable:
    """Read objects, one per line or in one array; their keys are the columns."""
    import polars as pl

    text = _Text.open(path, encoding).read().decode()
    array = text.lstrip().startswith("[")
    objects, lines = _json_array(path, text) if array else _json_lines(path, text)
    keys = list(dict.fromkeys(itertools.chain.from_iterable(objects)))
    if len(keys) > _MAX_COLUMNS:
        raise LatentiaError(f"{len(keys):,} keys; up to {_MAX_COLUMNS:,} can be read.", source=path)
    columns = [_json_column([record.get(key) for record in objects]) for key in keys]
    table = RawTable(columns, column_names(keys), lines, "object" if array else "line", path)
    assert all(isinstance(column, pl.Series) for column in columns)
    return table


def _json_column(cells: list[Any]) -> Any:
    import polars as pl

    numbers = all(cell is None or (isinstance(cell, (int, float)) and abs(cell) < _MAX_EXACT) for cell in cells)
    if numbers and any(cell is not None for cell in cells):
        return pl.Series([None if cell is None else float(cell) for cell in cells], dtype=pl.Float64)
    texts = [cell if isinstance(cell, (str, type(None))) else json.dumps(cell, ensure_ascii=False) for cell in cells]
    return pl.Series(texts, dtype=pl.String)


def _json_array(path: Path, text: str) -> tuple[list[dict[str, Any]], Sequence[int]]:
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LatentiaError(f"not readable as JSON ({error}).", source=path) from error
    return _objects(path, items, range(1, len(items) + 1), "entry"), range(1, len(items) + 1)


def _json_lines(path: Path, text: str) -> tuple[list[dict[str, Any]], Sequence[int]]:
    items, lines = [], []
    for number, line in enumerate(text.splitlines() if "\u2028" not in text else text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            items.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            if number == 1 and text.lstrip().startswith("{"):
                return _columns_of_object(path, text, error)
            raise LatentiaError(f"not readable as JSON ({error}).", source=path, place=f"line {number}") from error
        lines.append(number)
    return _objects(path, items, lines, "line"), lines


def _columns_of_object(path: Path, text: str, error: Exception) -> tuple[list[dict[str, Any]], Sequence[int]]:
    """Read one object that spans several lines and whose only list holds the rows."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise LatentiaError(f"not readable as JSON ({error}).", source=path, place="line 1") from error
    lists = [value for value in document.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(lists) != 1:
        raise LatentiaError(
            "expected one JSON object per row, and found a single object. Save the rows with one object per line, as "
            "pandas.DataFrame.to_json(orient='records', lines=True) does.",
            source=path,
        )
    return _objects(path, lists[0], range(1, len(lists[0]) + 1), "entry"), range(1, len(lists[0]) + 1)


def _objects(path: Path, items: Any, lines: Sequence[int], unit: str) -> list[dict[str, Any]]:
    if not items:
        raise LatentiaError("the file is empty.", source=path)
    for line, item in zip(lines, items, strict=True):
        if not isinstance(item, dict):
            raise LatentiaError(
                f'expected an object with the columns as keys, such as {{"text": "...", "year": 2020}}, and found '
                f"{json.dumps(item)[:60]}.",
                source=path,
                place=f"{unit} {line}",
            )
    return items
