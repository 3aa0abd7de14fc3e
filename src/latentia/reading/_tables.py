"""Tables in files as columns of numbers and of texts: separated values, workbooks, Parquet, JSON Lines.

polars opens them. What it reads of separated values is compared with the separators and line ends in the file; where these do
not agree (rows that are short, blank lines, escaped quotes), the rows are cut by `csv` of the standard library, which says
where they begin.
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
_SAMPLED = 1000  # rows from which the types of columns are told
_CHUNK = 10_000
_MOST_COLUMNS = 1_000_000
_EXACT = 1e15  # Whole numbers above may be ids, whose digits count.
_PLAIN = re.compile(r"[+-]?(0|[1-9]\d{0,14}|(?=\d*\.)\d{0,15})(\.\d*)?([eE][+-]?\d+)?")
_FEED, _RETURN = 10, 13
_MARKS = b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"%PDF", b"PK", b"\x89PNG", b"\x93NUMPY", b"PAR1", b"x\x01"
_LONGEST_MARK = max(map(len, _MARKS))


@dataclass(frozen=True)
class RawTable:
    """Columns of a table as they stand in a file.

    Attributes
    ----------
    columns : list of polars.Series
        Of plain numbers (Float64), or of texts.
    names : list of str
        Names of the columns, each its own.
    rows : sequence of int
        The line of every row, or its number where the format has no lines.
    unit : {"line", "row"}
    path : Path
    separator : str
    notes : tuple of str
        What was skipped or named, in sentences.
    named_rows : bool
        Whether the first column has names of rows, and no heading.
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
        """The place of every column."""
        return {name: i for i, name in enumerate(self.names)}

    def texts(self, name: str) -> Any:
        """Return a column as it is written, a series of texts without nulls."""
        import polars as pl

        place = self.places[name]
        column = self.columns[place]
        if column.dtype != pl.String:
            column = self.reread(place) if self.reread is not None else _number_texts(column)
        return column.fill_null("")

    def place(self, row: int, name: str) -> str:
        """Return where a cell stands."""
        return f"{self.path}, {self._place(row, name)}"

    def cell(self, row: int, name: str) -> dict[str, Any]:
        """Return what an error about a cell carries."""
        return {"source": self.path, "place": self._place(row, name), "row": row, "column": name}

    def _place(self, row: int, name: str) -> str:
        return f"{self.unit} {self.rows[row]}, column {name!r}"


def is_csv(path: Path) -> bool:
    """Return True if the name says that the file has separated values."""
    return plain_name(path)[-4:] in SUFFIXES


def is_parquet(path: Path) -> bool:
    """Return True if the name says that the file is a Parquet table."""
    return path.name.lower().endswith(_PARQUET)


def is_json(path: Path) -> bool:
    """Return True if the name says that the file has JSON."""
    return plain_name(path).endswith(_JSON)


def has_columns(path: Path) -> bool:
    """Return True if the name says that the file has headings: separated values, a workbook, JSON Lines, Parquet."""
    if path.name == STANDARD_INPUT and path.is_file():
        return _begins_as_table(path)
    return is_csv(path) or is_excel(path) or is_json(path) or is_parquet(path)


def _begins_as_table(path: Path) -> bool:
    """Return True if a file without a name is Parquet, JSON, or a text whose lines have equally many cells."""
    with readable(path), open_text(path) as file:
        start = file.read(SAMPLE)
    if start.startswith((b"PAR1", b'{"', b"[{")):
        return True
    if b"\0" in start or start.startswith((b"%%", b">", b"PK")):
        return False
    return is_even(start.decode("utf-8", "replace"), whole=len(start) < SAMPLE)


def is_even(sample: str, *, whole: bool) -> bool:
    """Return True if all lines of a text have equally many cells, and more than one."""
    dialect = find_dialect(sample, ",", whole=whole)
    lines = [line for line in sample.splitlines() if line.strip()][dialect.start : _SAMPLED]
    widths = {line.count(dialect.separator) for line in (lines if whole else lines[:-1]) if '"' not in line}
    return dialect.separator != " " and len(lines) > 1 and len(widths) == 1 and 0 not in widths


def open_table(path: Path, *, encoding: str | None = None, sheet: str | None = None, unique: bool = True) -> RawTable:
    """Open a file that is a table with headings.

    Parameters
    ----------
    path : Path
    encoding : str, optional
        Of separated values and JSON; by default it is detected.
    sheet : str, optional
        Of a workbook, by name or number from 1; by default the first.
    unique : bool, default=True
        Whether two columns of one name are an error; else the second of "date" is called "date (2)".

    Raises
    ------
    LatentiaError
        If the file is empty or damaged, or a row has another number of cells than the headings, or in a process that was
        forked from one that had loaded polars.
    """
    check_threads(path)
    if sheet is not None and not is_excel(path):
        raise LatentiaError("no workbook; leave it out.", parameter="sheet", value=sheet, source=path)
    if encoding is not None and (is_excel(path) or is_parquet(path)):
        raise no_encoding(path, encoding)
    if is_excel(path):
        return _of_rows(sheet_rows(path, sheet), path, "row", unique)
    start = _start(path) if path.name == STANDARD_INPUT else b""
    if is_parquet(path) or start.startswith(b"PAR1"):
        return _of_parquet(path)
    if is_json(path) or start.startswith((b'{"', b"[{")):
        return _of_json(path, encoding)
    return _of_text(path, encoding, unique)


def _start(path: Path) -> bytes:
    with readable(path), open_text(path) as file:
        return file.read(4)


def column_names(header: Sequence[str], path: Path | None = None) -> list[str]:
    """Return names of columns, each its own: ``column 3`` without a name; without a path ``date (2)`` for a second one."""
    if len(header) > _MOST_COLUMNS:
        raise LatentiaError(f"{len(header):,} columns; up to {_MOST_COLUMNS:,} can be read.", source=path)
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


def _of_text(path: Path, encoding: str | None, unique: bool) -> RawTable:
    text = _Text.of(path, encoding)
    preferred, size = SUFFIXES.get(plain_name(path)[-4:], ","), SAMPLE
    while True:
        data = text.read(size)
        sample, whole = data.decode("utf-8", "ignore"), len(data) < size
        dialect = find_dialect(sample, preferred, whole=whole)
        first_rows = _first_rows(path, sample, dialect, whole)
        if whole or len(first_rows) > 2:
            break
        size *= 16
    header = _header(path, first_rows, dialect)
    names = column_names([*(["row"] if dialect.names_rows else []), *header], path if unique else None)
    table = _fast(path, text, names, first_rows, dialect) or _careful(path, text.read(), names, dialect)
    notes = _notes(dialect, first_rows)
    return replace(_without_empty_end(table), notes=notes, named_rows=dialect.names_rows)


@dataclass(frozen=True)
class _Text:
    """A text in UTF-8: a file as it is on disk, or its bytes where it is packed, has a mark or another encoding."""

    path: Path
    data: bytes | None = None

    @classmethod
    def of(cls, path: Path, encoding: str | None) -> _Text:
        """Find out what a file is; what is not UTF-8 is decoded as `open_unicode` does."""
        with readable(path), open_text(path) as file:
            on_disk = encoding is None and path.stat().st_size > SAMPLE and not is_compressed(path)
            if on_disk and not file.read(_LONGEST_MARK).startswith(_MARKS) and _is_plain(file):
                return cls(path)
            file.seek(0)
            find_encoding(path, file, encoding)
        with open_unicode(path, "", encoding) as text:
            data = text.read().encode()
        if not data.strip():
            raise LatentiaError("the file is empty.", source=path)
        return cls(path, data)

    def read(self, size: int = -1) -> bytes:
        """Return the first bytes, or all."""
        if self.data is not None:
            return self.data[:size] if size >= 0 else self.data
        with readable(self.path), open(self.path, "rb") as file:
            return file.read(size)

    def pieces(self, start: int) -> Iterator[np.ndarray]:
        """Yield the bytes from a place on, some at a time."""
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
    """Return True if the rest of a file is ASCII in lines of a usual length, which is read as it is on disk."""
    length = 0
    for piece in _pieces(file):
        end = piece.rfind(b"\n")
        length = length + len(piece) if end < 0 else len(piece) - end
        if length > LONGEST_LINE or not piece.isascii() or b"\0" in piece:
            return False
    return True


def _first_rows(path: Path, sample: str, dialect: Dialect, whole: bool) -> list[tuple[int, list[str]]]:
    """Return the headings and the rows below them that types are told from, each with its line."""
    lines = list(io.StringIO(sample, newline=""))
    if not whole and len(lines) > 1:
        lines.pop()
    rows: list[tuple[int, list[str]]] = []
    try:
        for row in itertools.islice(rows_of(lines, dialect), dialect.start + 1 + _SAMPLED):
            rows.append(row)
    except LatentiaError as error:
        if whole:
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
            "numbers, where the names of the columns are needed. Put a line of names above.",
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
        notes.append("rows have one cell more than the headings: the first names the rows, as R writes them")
    if all(_is_number(name) for name in rows[0][1]):
        notes.append(
            f"the headings are numbers ({', '.join(rows[0][1][:3])}): if they are data, put a line of names above"
        )
    return tuple(notes)


@dataclass(frozen=True)
class _Counts:
    """How often separators and line ends stand below the headings, and whether quotes do, and ends that polars has not."""

    separators: int
    lines: int
    quoted: bool
    odd_ends: bool
    blank_end: bool

    @classmethod
    def of(cls, text: _Text, start: int, dialect: Dialect) -> _Counts:
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


def _fast(
    path: Path, text: _Text, names: list[str], rows: list[tuple[int, list[str]]], dialect: Dialect
) -> RawTable | None:
    """Read by polars; None where separators and line ends in the file say that rows were cut in another way."""
    import polars as pl

    if dialect.escape or dialect.separator == " " or dialect.trailing or not dialect.separator.isascii():
        return None
    skipped = rows[1][0] - 1
    start = _line_start(text, skipped)
    counts = _Counts.of(text, start, dialect)
    if counts.odd_ends or counts.lines < 1:
        return None
    source: Any = str(text.path)
    if text.data is not None or counts.blank_end:
        source, skipped = text.read()[start:].rstrip(b"\r\n"), 0
        counts = replace(counts, lines=source.count(b"\n") + 1)
    cells = [[row[i] if i < len(row) else "" for _, row in rows[1:]] for i in range(len(names))]
    types = [pl.Float64 if _are_plain(column) else pl.String for column in cells]
    frame = _parsed(source, skipped, types, dialect)
    frame = _parsed(source, skipped, [pl.String] * len(names), dialect) if frame is None else frame
    if frame is None or (len(names) == 1 and frame.to_series(0).null_count()):  # Blank lines are no rows.
        return None
    texts = [column for column in frame if column.dtype == pl.String]
    inside = breaks = 0
    if counts.quoted:
        inside = sum(int(column.str.count_matches(dialect.separator, literal=True).sum() or 0) for column in texts)
        breaks = sum(int(column.str.count_matches("\n", literal=True).sum() or 0) for column in texts)
    if counts.separators - inside != (len(names) - 1) * len(frame) or counts.lines - breaks != len(frame):
        return None

    def reread(i: int) -> Any:
        return _parsed(source, skipped, [pl.String] * len(names), dialect, [i]).to_series(0)  # type: ignore[union-attr]

    lines = range(rows[1][0], rows[1][0] + len(frame))
    columns = [reread(i) if _digits_count(column) else column for i, column in enumerate(frame)]
    return RawTable(columns, names, _lines(lines, texts, breaks), "line", path, dialect.separator, reread=reread)


def _line_start(text: _Text, n_lines: int) -> int:
    """Return the place where a line begins, in bytes."""
    data, at, size = b"", 0, SAMPLE
    while (data.count(b"\n") < n_lines and len(data) == size) or not data:
        size *= 4
        data = text.read(size)
        if len(data) < size:
            break
    for _ in range(n_lines):
        at = data.find(b"\n", at) + 1
    return at


def _are_plain(cells: list[str]) -> bool:
    """Return True if the cells that are not empty are numbers as programs write them, of which no digit is lost."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(_PLAIN.fullmatch(cell) for cell in filled)


def _digits_count(column: Any) -> bool:
    """Return True if a column of numbers has infinity or NaN, or whole numbers of which digits would be lost."""
    import polars as pl

    if column.dtype != pl.Float64 or column.null_count() == len(column):
        return False
    most, least = column.max(), column.min()
    return bool(column.is_nan().any()) or not np.isfinite([most, least]).all() or max(abs(most), abs(least)) >= _EXACT


def _parsed(
    source: Any, skipped: int, types: list[Any], dialect: Dialect, columns: list[int] | None = None
) -> pl.DataFrame | None:
    """Cut a text by polars; None where cells are no numbers, or rows are longer than the headings."""
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
    """Return the line where each row begins, where cells have line breaks."""
    if not breaks:
        return lines
    within = sum(
        column.fill_null("").str.count_matches("\n", literal=True).to_numpy().astype(np.int64) for column in texts
    )
    return (np.asarray(lines) + np.concatenate([[0], np.cumsum(within)[:-1]])).tolist()


def _careful(path: Path, data: bytes, names: list[str], dialect: Dialect) -> RawTable:
    """Read by the standard library, which says where a row is that has another number of cells."""
    width, rows, lines = len(names), [], []
    text = io.StringIO(data.decode(), newline="")
    pieces: list[Any] = []
    try:
        for number, row in itertools.islice(rows_of(text, dialect), dialect.start + 1, None):
            if dialect.trailing and not row[-1].strip():
                row = row[:-1]
            if len(row) != width:
                raise LatentiaError(
                    f"{len(row)} fields, and the header has {width}. Put fields with {dialect.separator!r} or "
                    "quotes in them in double quotes.",
                    place=f"line {number}",
                )
            rows.append(row)
            lines.append(number)
            if len(rows) == _CHUNK:
                pieces.append(_frame(rows, width))
                rows = []
    except LatentiaError as error:
        error.source = path
        raise
    texts = _stacked([*pieces, _frame(rows, width)])
    columns = list(map(_as_numbers, texts))
    return RawTable(columns, names, _plain_lines(lines), "line", path, dialect.separator, reread=texts.__getitem__)


def _as_numbers(column: Any) -> Any:
    """Return a column of texts as numbers, if all cells with a value are plain ones; else as it is."""
    import polars as pl

    if not _are_plain([cell.strip() for cell in column.head(_SAMPLED).to_list()]):
        return column
    cells = column.str.strip_chars()
    cells = pl.select(pl.when(cells == "").then(None).otherwise(cells)).to_series()
    values = cells.cast(pl.Float64, strict=False)
    zeros = cells.str.contains(r"^[+-]?0\d").any()
    return column if zeros or values.null_count() > cells.null_count() or _digits_count(values) else values


def _frame(rows: list[list[str]], width: int) -> Any:
    import polars as pl

    cells = zip(*rows, strict=True) if rows else [()] * width
    return pl.DataFrame({f"c{i}": pl.Series(column, dtype=pl.String) for i, column in enumerate(cells)})


def _stacked(pieces: list[Any]) -> list[Any]:
    import polars as pl

    return list(pl.concat(pieces))


def _plain_lines(lines: list[int]) -> Sequence[int]:
    """Return a range where lines follow each other."""
    return range(lines[0], lines[0] + len(lines)) if lines and lines[-1] - lines[0] == len(lines) - 1 else lines


def _without_empty_end(table: RawTable) -> RawTable:
    """Leave out a last column without heading and cells, which a separator at the end of all lines makes."""
    last = table.columns[-1]
    if len(table.names) > 1 and table.names[-1] == f"column {len(table.names)}" and _is_blank(last):
        return replace(table, columns=table.columns[:-1], names=table.names[:-1])
    return table


def _is_blank(column: Any) -> bool:
    import polars as pl

    filled = column.drop_nulls()
    return len(filled) == 0 or (filled.dtype == pl.String and not (filled.str.strip_chars() != "").any())


# --- other formats ----------------------------------------------------------------------------------------------


def _of_rows(rows: list[tuple[int, list[str]]], path: Path, unit: str, unique: bool) -> RawTable:
    """Make a table of rows of texts, the headings first, which may stand below a title."""
    start = count_titles([row for _, row in rows[: min(len(rows) - 1, MOST_TITLES + 1)]], len(rows[0][1]), padded=True)
    header = rows[start][1]
    if len(rows) < start + 2:
        raise LatentiaError("there are no rows below the header.", source=path)
    titles = "; ".join(filter(None, ("".join(row) for _, row in rows[:start])))
    texts = _stacked([_frame([row for _, row in rows[start + 1 :]], len(header))])
    notes = (f"rows above the headings were skipped: {titles}",) if start else ()
    lines = [n for n, _ in rows[start + 1 :]]
    names = column_names(header, path if unique else None)
    return RawTable(list(map(_as_numbers, texts)), names, lines, unit, path, notes=notes, reread=texts.__getitem__)


def _of_parquet(path: Path) -> RawTable:
    import polars as pl

    with readable(path):
        with contextlib.suppress(MissingExtraError), open_parquet(path):
            pass  # It compares the sizes that are declared.
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
            text = str(error)
            double = re.search(r"name '(.*)' has more than one", text, re.DOTALL)
            if double:
                raise LatentiaError(
                    f"two columns are called {double[1]!r}. Give each its own name.", source=path
                ) from error
            raise LatentiaError(f"not a readable Parquet file ({text}).", source=path) from error
    if not len(frame):
        raise LatentiaError("the table has no rows.", source=path)
    return _of_frame(frame, path)


def _of_frame(frame: Any, path: Path, unit: str = "row", rows: Sequence[int] | None = None) -> RawTable:
    """Make a table of a frame of polars."""
    lines = range(1, len(frame) + 1) if rows is None else rows
    return RawTable([typed_column(column) for column in frame], list(frame.columns), lines, unit, path)


def typed_column(column: Any) -> Any:
    """Return numbers as Float64, lists as JSON, and all else as texts."""
    import polars as pl

    kind = column.dtype
    if kind.is_integer() and len(column) and max(abs(column.max() or 0), abs(column.min() or 0)) >= _EXACT:
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
        return column.dt.to_string("iso:strict")
    return column.cast(pl.String) if kind != pl.Null else pl.Series([None] * len(column), dtype=pl.String)


def _number_texts(column: Any) -> Any:
    """Write numbers as texts, whole ones without a point."""
    import polars as pl

    values = column.to_list()
    return pl.Series(
        ["" if v is None else str(int(v)) if float(v).is_integer() else repr(v) for v in values], dtype=pl.String
    )


def _of_json(path: Path, encoding: str | None) -> RawTable:
    """Read objects, one a line or in one array, whose keys are the columns."""
    import polars as pl

    text = _Text.of(path, encoding).read().decode()
    array = text.lstrip().startswith("[")
    objects, lines = _json_array(path, text) if array else _json_lines(path, text)
    keys = list(dict.fromkeys(itertools.chain.from_iterable(objects)))
    if len(keys) > _MOST_COLUMNS:
        raise LatentiaError(f"{len(keys):,} keys; up to {_MOST_COLUMNS:,} can be read.", source=path)
    columns = [_json_column([one.get(key) for one in objects]) for key in keys]
    table = RawTable(columns, column_names(keys), lines, "object" if array else "line", path)
    assert all(isinstance(column, pl.Series) for column in columns)
    return table


def _json_column(cells: list[Any]) -> Any:
    import polars as pl

    numbers = all(cell is None or (isinstance(cell, (int, float)) and abs(cell) < _EXACT) for cell in cells)
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
    """Read one object over several lines, whose only list holds the rows."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        raise LatentiaError(f"not readable as JSON ({error}).", source=path, place="line 1") from error
    lists = [value for value in whole.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(lists) != 1:
        raise LatentiaError(
            "one object of JSON, and a table has one a row: save its rows with one object a line, as "
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
                f"{json.dumps(item)[:60]}, and an object with the columns as keys is expected, such as "
                '{"text": "...", "year": 2020}.',
                source=path,
                place=f"{unit} {line}",
            )
    return items
