"""Order of the rows of sequences: the column that names each sequence, and the clocks or dates that order its rows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ._dates import dates_of, hours_of
from ._numbers import missing_cells, numbers_of
from ._roles import CLOCK, SEQUENCE, Column, ColumnOptions
from ._tables import RawTable

_MIN_STEPS = 3  # rows of a sequence, on average
_MIN_CHANGES = 3  # times the number of sequences that the name changes from row to row, if rows are mixed
_MIN_UNIQUE_SHARE = 0.95  # of the pairs of a sequence and a moment
_STEP = re.compile(
    r"(.*[_ .-])?(visit|visite|besuch|wave|welle|step|schritt|period|occasion|monat|woche|tag|datum)s?([_ .-]?(no|nr))?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Order:
    """Sequences of the rows of a table, and the order of the rows in each.

    Attributes
    ----------
    sequence : str
        Column that names the sequence of each row; empty if there is none.
    clocks : tuple of str
        Columns that order the rows.
    places : ndarray of int, shape (n_rows,)
        Rows in order, those of each sequence together.
    note : str
        Description of the order, with the option that changes it; empty for the order of the file.
    is_known : bool
        False if the rows of several sequences are mixed, and no column gives their order.
    """

    sequence: str
    clocks: tuple[str, ...]
    places: np.ndarray
    note: str
    is_known: bool = True

    @property
    def is_of_file(self) -> bool:
        """True if the rows stand in order in the file."""
        return bool((np.diff(self.places) > 0).all())


def find_clocks(columns: Sequence[Column], column_options: ColumnOptions) -> tuple[str, ...]:
    """Return the columns that order the rows: those of the user's options, else the first clock, else the only date."""
    roles = column_options.roles
    for role in "clock", "date":
        requested = tuple(column.name for column in columns if roles.get(column.name) == role)
        if requested and (role == "clock" or len(requested) == 1):
            return requested
    clocks, dates = ([column.name for column in columns if column.role == role] for role in ("clock", "date"))
    return (clocks[0],) if clocks else (dates[0],) if len(dates) == 1 else ()


def find_sequence(
    table: RawTable, columns: Sequence[Column], column_options: ColumnOptions
) -> tuple[str, tuple[str, ...]]:
    """Return the column that names sequences, and the clocks; empty if rows are no steps of sequences.

    A column names sequences if its values repeat and its rows are mixed; or if a clock or date orders the rows of each value,
    and begins anew with the next value.
    """
    clocks = find_clocks(columns, column_options)
    roles = column_options.roles
    candidates = [
        column
        for column in columns
        if (clocks or column.name in roles or SEQUENCE.fullmatch(column.name))
        and column.name not in clocks
        and _may_name_sequences(table, column)
    ]
    requested = [column for column in candidates if roles.get(column.name) == "group"]
    named = [column for column in candidates if SEQUENCE.fullmatch(column.name) and column.role != "binary"]
    for column in [*requested, *(column for column in named if column not in requested)]:
        steps = clocks or _find_step(table, columns, column)
        if steps or _are_mixed(table.series(column.name)):
            return column.name, steps
    has_clock = len(clocks) == 1 and not any(column.n_missing for column in columns if column.name in clocks)
    for column in candidates if has_clock and not requested else ():
        if column.role in ("category", "group") and _orders_each(table, clocks[0], column.name):
            return column.name, clocks
    return "", clocks


def _may_name_sequences(table: RawTable, column: Column) -> bool:
    if column.n_missing or column.role not in ("category", "group", "count", "binary"):
        return False
    return 1 < table.series(column.name).n_unique() <= len(table) / _MIN_STEPS


def _are_mixed(cells: Any) -> bool:
    """Return True if the name of the sequence changes from row to row."""
    return int((cells != cells.shift(1)).sum() or 0) + 1 > _MIN_CHANGES * cells.n_unique()


def _codes(table: RawTable, name: str) -> np.ndarray:
    """Return the cells of a column as numbers from 0."""
    column = table.series(name)
    is_number = column.dtype.is_numeric()
    column = column.fill_null(float("-inf")) if is_number else column.fill_null("").str.strip_chars()
    return np.asarray(column.rank("dense").to_numpy(), int) - 1


def _find_step(table: RawTable, columns: Sequence[Column], sequence: Column) -> tuple[str, ...]:
    """Return the column of whole numbers that counts the steps of each sequence; empty if there is none."""
    for column in columns:
        is_named = CLOCK.fullmatch(column.name) or _STEP.fullmatch(column.name)
        if column.role == "count" and is_named and not column.n_missing and column.name != sequence.name:
            is_shared = table.series(column.name).n_unique() <= len(table) / 2
            if is_shared and _orders_each(table, column.name, sequence.name):
                return (column.name,)
    return ()


def _orders_each(table: RawTable, clock: str, sequence: str) -> bool:
    """Return True if no moment repeats in a sequence, and moments repeat, or begin anew, from sequence to sequence."""
    codes, moments = _codes(table, sequence), _codes(table, clock)
    n_moments = moments.max() + 1
    if len(np.unique(codes * n_moments + moments)) < _MIN_UNIQUE_SHARE * len(codes):
        return False
    if n_moments <= len(codes) / _MIN_STEPS:
        return True
    times, same = times_of(table, clock), np.diff(codes) == 0
    if times is None or (~same).sum() != codes.max():
        return False
    rises = np.diff(times) >= 0
    return bool(rises[same].all() and not rises.all())


def mark_clocks(columns: Sequence[Column], sequence: str, clocks: Sequence[str]) -> tuple[Column, ...]:
    """Give the role of a clock to the column that counts the steps of each sequence."""
    return tuple(
        replace(
            column,
            role="clock",
            reason=f"named as a time, and counts the steps of each {sequence!r}",
            doubt=f"left out; if it is a measurement, --role {shlex.quote(f'{column.name}=measurement')}",
        )
        if column.name in clocks and column.role == "count"
        else column
        for column in columns
    )


def describe_sequences(table: RawTable, sequence: str, clocks: Sequence[str], column_options: ColumnOptions) -> str:
    """Describe the sequences of a table, with the option that makes each value of a column a sequence."""
    order = f", in the order of {' and '.join(map(repr, clocks))}" if clocks else ""
    if column_options.roles.get(sequence) == "group":
        return f"each {sequence!r} is a sequence{order}"
    cells = table.series(sequence)
    are = "are mixed" if _are_mixed(cells) else "may be steps of sequences"
    option = f"--sequence {shlex.quote(sequence)}"
    return f"rows of {cells.n_unique():,} {sequence!r} {are}: {option} makes each a sequence{order}"


def order_rows(table: RawTable, sequence: str, clocks: Sequence[str]) -> Order:
    """Put the rows of each sequence together, in the order of the clocks.

    Sequences stand in the order of their first rows, and rows of one moment in that of the file. Rows without a moment follow
    the others of their sequence. A clock that is neither numbers, dates nor times raises an error that names a cell.
    """
    n = len(table)
    keys, n_missing = [], 0
    for name in clocks:
        times = times_of(table, name)
        if times is None:
            raise _build_clock_error(table, name)
        n_missing = max(n_missing, int(np.isnan(times).sum()))
        keys.append(times)
    first: np.ndarray = np.zeros(n, np.int64)
    if sequence:
        cells = _codes(table, sequence)
        _, starts, inverse = np.unique(cells, return_index=True, return_inverse=True)
        first = starts[inverse]
    together = np.argsort(first, kind="stable")
    places = np.lexsort([*reversed(keys), first])  # A stable sort: rows of one moment keep the order of the file.
    are_mixed, is_sorted = bool((np.diff(together) < 0).any()), bool((places == together).all())
    by, each = " and ".join(map(repr, clocks)), f"each {sequence!r}"
    if not clocks:
        facts = (
            f"rows of {len(np.unique(first)):,} {sequence!r} are mixed; those of each were put together, in the order of the "
            "file, as no column gives another: --role NAME=clock names such a column"
        )
        return Order(sequence, (), places, facts if are_mixed else "", not are_mixed)
    if is_sorted and not are_mixed:
        facts = f"{each} is a sequence, in the order of {by}" if sequence else ""
    elif is_sorted:
        facts = f"rows of {len(np.unique(first)):,} {sequence!r} are mixed; those of each are in the order of {by}"
    else:
        facts = f"rows are not in the order of {by}; {f'those of {each}' if sequence else 'they'} were sorted by it"
    gaps = f"; {n_missing:,} rows without a value there are last" if n_missing else ""
    return Order(sequence, tuple(clocks), places, facts and facts + gaps)


def times_of(table: RawTable, name: str) -> np.ndarray | None:
    """Return a clock or date as numbers that rise with time, NaN for missing cells; None if a cell is neither."""
    column = table.series(name)
    numbers = numbers_of(column, table.separator)
    if numbers.wrong is None and not numbers.forms:
        return numbers.values
    cells = table.texts(name).str.strip_chars()
    missing = missing_cells(cells)
    present = [cell for cell, is_missing in zip(cells.to_list(), missing, strict=True) if not is_missing]
    dated = dates_of(name, present)
    moments = [hours_of(cell) for cell in present] if dated is None else dated[0].tolist()
    if None in moments:
        return numbers.values if numbers.wrong is None else None
    times = np.full(len(cells), np.nan)
    times[~missing] = moments
    return times


def _build_clock_error(table: RawTable, name: str) -> LatentiaError:
    cells = table.texts(name).str.strip_chars()
    is_wrong = [dates_of(name, [cell]) is None and hours_of(cell) is None for cell in cells.to_list()]
    row = int(np.argmax(np.array(is_wrong) & ~missing_cells(cells)))
    return LatentiaError(
        f"expected a number, a date or a time, by which the rows are put in order, and found {str(cells[row])!r}. Correct such "
        f"cells, or leave the column out: --role {shlex.quote(f'{name}=ignored')}.",
        **table.cell(row, name),
    )
