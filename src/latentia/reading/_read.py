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
from ._ends import find_ends
from ._order import Order, describe_sequences, find_clocks, find_sequence, mark_clocks, order_rows
from ._others import is_binary, is_plain_table, read_without_headings
from ._reading import Reading, source_name
from ._roles import ColumnOptions, find_columns
from ._shapes import commands_for, find_shape
from ._tables import RawTable, convert_column, has_columns, is_csv, open_table

_PLAIN = (".txt", ".dat", ".data", ".tab")


@dataclass(frozen=True)
class _Command:
    """Options of the running command for its tables, and the tables that it has read."""

    column_options: ColumnOptions
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

    A column of numbers is left out only if it counts the rows in file order, or if both its name and its values mark it as an
    id or a clock. Every other doubtful column is used and listed first.

    Parameters
    ----------
    source : path, data frame, or array of texts
        A file of separated values, a workbook, Parquet or JSON Lines, also compressed (``.gz``); ``-`` is standard input. Or a
        data frame of pandas, polars, pyarrow or another library.
    roles : dict from str to str, optional
        Roles of columns: measurement, count, binary, category, text, tags, id, clock, date, group, weight, from, to or
        ignored. Rows of sequences, and those of a table with a clock, are put in its order.
    missing_codes : sequence, optional
        Values that stand for missing answers in all columns, such as -99, or in one, such as "age=99".
    empty : {"missing", "absent"}
        Meaning of empty cells in binary columns: unknown, or 0.
    positive : dict from str to str, optional
        The value that becomes 1, for columns of two values.
    id : str, optional
        Column with the names of the rows.
    sheet : str or int, optional
        Sheet of a workbook, by name or by number from 1; by default the first.
    encoding : str, optional
        Encoding of the text; by default it is detected.

    Returns
    -------
    Reading

    Raises
    ------
    LatentiaError
        If the source is not a table, is damaged, or lacks a named column.
    """
    codes = tuple(_code_text(code) for code in missing_codes)
    positive_values = dict(positive or {})
    column_options = ColumnOptions(
        dict(roles or {}), codes, empty, {name: str(value) for name, value in positive_values.items()}, id, True
    )
    if isinstance(source, Reading):
        return source
    if not isinstance(source, (str, os.PathLike)):
        return _sort(reading_of(_frame_table(source), column_options))
    with reusable(source) as path:
        return _sort(reading_of(_open_file(path, sheet, encoding), column_options))


def _sort(reading: Reading) -> Reading:
    """Put the rows of sequences, or of a table with a clock of the user's options, in their order."""
    has_clock = any(reading.column_options.roles.get(name) == "clock" for name in reading.clocks)
    if reading.table is None or not (has_clock or (reading.sequence and reading.clocks)):
        return reading
    ordered, order = put_in_order(reading, reading.sequence)
    return ordered if order.is_of_file else replace(ordered, table=reading.table.take(order.places))


@contextmanager
def reading_as(column_options: ColumnOptions, sheet: str | None = None) -> Iterator[None]:
    """Open all tables in this block with these options; `readings` returns what was read."""
    token = _COMMAND.set(_Command(column_options, sheet))
    try:
        yield
    finally:
        _COMMAND.reset(token)


def readings() -> list[Reading]:
    """Return the last reading of each file that was opened in the enclosing `reading_as` block."""
    command = _COMMAND.get()
    return [] if command is None else list({str(reading.path): reading for reading in command.readings}.values())


def reading_settings(columns: Collection[str]) -> dict[str, Any]:
    """Return the reading settings that a model of these columns stores, from the enclosing `reading_as` block."""
    command, past_readings = _COMMAND.get(), readings()
    if command is None or not past_readings:
        return {}
    codings = {
        coding[0]: coding
        for reading in past_readings
        for coding in reading.model_settings["codings"]
        if coding[0] in columns
    }
    return past_readings[0].model_settings | {"codings": list(codings.values()), "sheet": command.sheet}


def open_reading(
    path: Path,
    *,
    column_options: ColumnOptions | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    unique: bool = True,
) -> Reading:
    """Open a table and find the role of every column; `reading_as` supplies the defaults of the options."""
    command = _COMMAND.get()
    if command is not None:
        column_options, sheet = column_options or command.column_options, sheet or command.sheet
    reading = reading_of(
        open_table(path, encoding=encoding, sheet=sheet, unique=unique), column_options or ColumnOptions()
    )
    if command is not None:
        command.readings.append(reading)
    return reading


def reading_of(table: RawTable, column_options: ColumnOptions) -> Reading:
    """Find the roles, the shape and the commands of a table."""
    if column_options.empty != "absent":
        table = table.drop_blank_rows()
    columns = tuple(find_columns(table, column_options))
    ends = find_ends(table, columns, column_options)
    sequence, clocks = find_sequence(table, columns, column_options)
    shape, notes = find_shape(table, columns, ends, bool(sequence))
    if shape == "sequences":
        columns = mark_clocks(columns, sequence, clocks)
    else:
        sequence, clocks = "", find_clocks(columns, column_options)
    reading = Reading(
        source_name(table.path),
        shape,
        columns,
        len(table),
        (*table.notes, *notes),
        sequence=sequence,
        clocks=clocks,
        ends=ends if shape == "pairs" else None,
        table=table,
        column_options=column_options,
    )
    if sequence:
        reading = reading.replace_order_note(describe_sequences(table, sequence, clocks, column_options))
    return reading.replace_commands(commands_for(reading, str(table.path)))


def put_in_order(reading: Reading, sequence: str | None = None) -> tuple[Reading, Order]:
    """Find the order of the rows of sequences, and return the reading with a note about it.

    Parameters
    ----------
    reading : Reading
    sequence : str, optional
        Column that names the sequence of each row; by default all rows are one sequence.
    """
    assert reading.table is not None
    order = order_rows(reading.table, sequence or "", reading.clocks)
    command, ordered = _COMMAND.get(), reading.replace_order_note(order.note)
    if command is not None:
        command.readings.append(ordered)
    return ordered, order


def _code_text(code: Any) -> str:
    return f"{code:.15g}" if isinstance(code, float) else str(code).strip()


def _open_file(path: Path, sheet: str | int | None, encoding: str | None) -> RawTable:
    with readable(path):
        if path.is_dir() or not path.exists():
            raise LatentiaError(
                f"{'expected a file, and found a folder' if path.is_dir() else 'no such file'}.", source=path
            )
    return open_table(path, encoding=encoding, sheet=None if sheet is None else str(sheet))


def _frame_table(source: Any) -> RawTable:
    check_threads(f"A {type(source).__name__}")
    import polars as pl

    frame = frame_of(source)
    if frame is None:
        raise LatentiaError(
            f"Expected a path or a data frame, and found a {type(source).__name__}. Give arrays and lists to an estimator "
            "directly."
        )
    columns = [pl.Series(name, frame[name].to_list(), strict=False) for name in frame.columns]
    return RawTable(
        [convert_column(column) for column in columns],
        list(frame.columns),
        range(len(frame)),
        "row",
        Path("frame"),
        "memory",
    )


def look_at(
    path: Path,
    column_options: ColumnOptions,
    *,
    sheet: str | None = None,
    encoding: str | None = None,
    name: str | None = None,
) -> Reading:
    """Read a file of any kind that commands take, and list the commands that fit it.

    Parameters
    ----------
    path : Path
    column_options : ColumnOptions
    sheet, encoding : str, optional
        As in `read`.
    name : str, optional
        Name of the file in the commands if it differs from the path, as for a pipe.
    """
    displayed_name = name or str(path)
    if has_columns(path) or (path.is_file() and not is_binary(path) and is_plain_table(path)):
        try:
            reading = reading_of(_open_file(path, sheet, encoding), replace(column_options, code_two_numbers=True))
        except LatentiaError:
            alternative = read_without_headings(path, displayed_name, encoding) if is_csv(path) else None
            if alternative is None or alternative.shape not in ("baskets", "sequences") or alternative.n_rows < 2:
                raise
            return alternative  # The lines have no headings and different lengths.
        return replace(reading, source=source_name(displayed_name)).replace_commands(
            commands_for(reading, displayed_name)
        )
    return read_without_headings(path, displayed_name, encoding)


def is_table_name(path: Path) -> bool:
    """Return True if the file name allows a table: separated values with any suffix, a workbook, Parquet, JSON."""
    return has_columns(path) or plain_name(path).endswith(_PLAIN)
