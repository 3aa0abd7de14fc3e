"""Read a source of any kind as a `Reading`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .._frames import frame_of
from ..exceptions import LatentiaError
from ..passes.formats import plain_name, readable, reusable
from ..system.forks import check_threads
from ._others import is_binary, other_reading, plain_table
from ._reading import Reading, source_name
from ._roles import Asked, find_columns
from ._shapes import commands_for, find_shape
from ._tables import RawTable, has_columns, is_csv, open_table, typed_column

_PLAIN = (".txt", ".dat", ".data", ".tab")


@dataclass(frozen=True)
class _Command:
    """What the options of a command say of the tables that it opens, and what it has read."""

    asked: Asked
    sheet: str | None
    readings: list[Reading] = field(default_factory=list)


_COMMAND: ContextVar[_Command | None] = ContextVar("command", default=None)


def read(
    source: Any,
    *,
    roles: Mapping[str, str] | None = None,
    missing_codes: Sequence[Any] = (),
    empty: str = "missing",
    positive: Mapping[str, str] | None = None,
    id: str | None = None,
    sheet: str | int | None = None,
    encoding: str | None = None,
) -> Reading:
    """Read a table, and find the role of every column.

    A column of numbers is left out only if it counts the rows in file order, or if both its name and its values say that it is
    an id or a clock. All other doubts are used, and listed first.

    Parameters
    ----------
    source : path, data frame, or array of texts
        A file of separated values, a workbook, Parquet, JSON Lines; ``.gz`` is read as it is, and ``-`` is standard input. Or a
        data frame of pandas, polars, pyarrow or another library.
    roles : dict from str to str, optional
        The role of columns: measurement, count, binary, category, text, tags, id, clock, date, group, weight or ignored.
    missing_codes : sequence, optional
        Values that stand for missing answers in all columns, such as -99, or in one, such as "age=99".
    empty : {"missing", "absent"}
        What empty cells of binary columns are: not known, or 0.
    positive : dict from str to str, optional
        Of columns of two values the one that is 1.
    id : str, optional
        The column that names the rows.
    sheet : str or int, optional
        Of a workbook, by name or number from 1; by default the first.
    encoding : str, optional
        By default it is detected.

    Returns
    -------
    Reading

    Raises
    ------
    LatentiaError
        If the source is no table, or damaged, or has no such column.
    """
    codes = tuple(_code(code) for code in missing_codes)
    given = dict(positive or {})
    asked = Asked(dict(roles or {}), codes, empty, {name: str(value) for name, value in given.items()}, id, True)
    if isinstance(source, Reading):
        return source
    if not isinstance(source, (str, os.PathLike)):
        return reading_of(_of_frame(source), asked)
    with reusable(source) as path:
        return reading_of(_opened(path, sheet, encoding), asked)


@contextmanager
def reading_as(asked: Asked, sheet: str | None = None) -> Iterator[None]:
    """Open all tables in this block by these options; `readings` gives what was read of them."""
    token = _COMMAND.set(_Command(asked, sheet))
    try:
        yield
    finally:
        _COMMAND.reset(token)


def readings() -> list[Reading]:
    """Return what was read since the `reading_as` around began, the last reading of each file."""
    command = _COMMAND.get()
    return [] if command is None else list({str(one.path): one for one in command.readings}.values())


def kept_readings(columns: Collection[str]) -> dict[str, Any]:
    """Return what a model of some columns keeps of how files were read since the `reading_as` around began."""
    command, read = _COMMAND.get(), readings()
    if command is None or not read:
        return {}
    codings = {coding[0]: coding for reading in read for coding in reading.kept["codings"] if coding[0] in columns}
    return read[0].kept | {"codings": list(codings.values()), "sheet": command.sheet}


def open_reading(
    path: Path,
    *,
    asked: Asked | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    unique: bool = True,
) -> Reading:
    """Open a table and find the role of every column; options that are not given are those of `reading_as`."""
    command = _COMMAND.get()
    if command is not None:
        asked, sheet = asked or command.asked, sheet or command.sheet
    reading = reading_of(open_table(path, encoding=encoding, sheet=sheet, unique=unique), asked or Asked())
    if command is not None:
        command.readings.append(reading)
    return reading


def reading_of(table: RawTable, asked: Asked) -> Reading:
    """Return the reading of a table."""
    columns = tuple(find_columns(table, asked))
    shape, notes = find_shape(table, columns)
    reading = Reading(
        source_name(table.path), shape, columns, len(table), (*table.notes, *notes), table=table, asked=asked
    )
    return reading.with_commands(commands_for(reading, str(table.path)))


def _code(code: Any) -> str:
    return f"{code:.15g}" if isinstance(code, float) else str(code).strip()


def _opened(path: Path, sheet: str | int | None, encoding: str | None) -> RawTable:
    with readable(path):
        if path.is_dir() or not path.exists():
            raise LatentiaError(
                f"{'a folder, and a file is needed' if path.is_dir() else 'no such file'}.", source=path
            )
    return open_table(path, encoding=encoding, sheet=None if sheet is None else str(sheet))


def _of_frame(source: Any) -> RawTable:
    check_threads(f"A {type(source).__name__}")
    import polars as pl

    frame = frame_of(source)
    if frame is None:
        raise LatentiaError(
            f"A {type(source).__name__} cannot be read: give a path or a data frame. Estimators take arrays and lists "
            "as they are."
        )
    columns = [pl.Series(name, frame[name].to_list(), strict=False) for name in frame.columns]
    return RawTable(
        [typed_column(column) for column in columns],
        list(frame.columns),
        range(len(frame)),
        "row",
        Path("frame"),
        "memory",
    )


def look_at(
    path: Path, asked: Asked, *, sheet: str | None = None, encoding: str | None = None, name: str | None = None
) -> Reading:
    """Read a file of any kind that commands take, and say which of them can answer questions of it.

    Parameters
    ----------
    path : Path
    asked : Asked
    sheet, encoding : str, optional
        As in `read`.
    name : str, optional
        Of the file in commands, where it is another, as that of a pipe.
    """
    shown = name or str(path)
    if has_columns(path) or (path.is_file() and not is_binary(path) and plain_table(path)):
        try:
            reading = reading_of(_opened(path, sheet, encoding), replace(asked, two=True))
        except LatentiaError:
            other = other_reading(path, shown, encoding) if is_csv(path) else None
            if other is None or other.shape not in ("baskets", "sequences"):
                raise
            return other  # Lines of different lengths without headings.
        return replace(reading, source=source_name(shown)).with_commands(commands_for(reading, shown))
    return other_reading(path, shown, encoding)


def is_table_name(path: Path) -> bool:
    """Return True if the name says that the file may be a table: separated values by any name, a workbook, Parquet, JSON."""
    return has_columns(path) or plain_name(path).endswith(_PLAIN)
