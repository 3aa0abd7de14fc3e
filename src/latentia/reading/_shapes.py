"""Kinds of tables: measurements, texts, edges, a named matrix, receipts, sequences; and commands for each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._ends import Ends
from ._numbers import numbers_of
from ._roles import Column
from ._tables import RawTable

if TYPE_CHECKING:
    from ._reading import Reading

_BASKET_COLUMN = re.compile(
    r"(.*[_ .-]|(?-i:.*[a-z](?=[A-Z])))?(invoice|basket|order|receipt|transaction|trans|session|ticket|cart|bill)s?"
    r"([_ .-]?(id|no|nr|number|num|code|key|name|date))?",
    re.IGNORECASE,
)
_ITEM_COLUMN = re.compile(r".*(item|product|article|sku|description|stock|symptom|finding|code).*", re.IGNORECASE)
_TOTAL_CELL = re.compile(r"(grand |sub)?(totals?|sum|summe|gesamt|total general|average|mean)\W*", re.IGNORECASE)
_N_LABEL_COLUMNS = 3  # A row of totals says so in one of the first three columns.
_CODE_COLUMN = re.compile(r".*(code|sku|id|no|number)", re.IGNORECASE)


def find_shape(
    table: RawTable, columns: Sequence[Column], ends: Ends | None, has_sequences: bool
) -> tuple[str, tuple[str, ...]]:
    """Find the kind of a table, and notes about it."""
    shape, notes = _classify_table(table, columns, ends, has_sequences)
    return shape, (*notes, *_describe_total_row(table))


def _describe_total_row(table: RawTable) -> tuple[str, ...]:
    """Return a note if the last row may be the sum of the others."""
    last = [(str(column[-1]).strip(), column) for column in table.columns[:_N_LABEL_COLUMNS] if len(column)]
    total = next(
        (cell for cell, column in last if _TOTAL_CELL.fullmatch(cell) and (column == column[-1]).sum() == 1), None
    )
    if total is None:
        return ()
    return (
        f"{table.unit} {table.rows[-1]}, the last, begins with {total!r}: remove it if it is the sum of the others",
    )


def _classify_table(
    table: RawTable, columns: Sequence[Column], ends: Ends | None, has_sequences: bool
) -> tuple[str, tuple[str, ...]]:
    if is_named_matrix(table):
        return "matrix", ("rows and columns have the same names: a matrix of pairs",)
    if ends is not None:
        return "pairs", (_describe_ends(ends),)
    long = long_columns(table, columns)
    if long is not None:
        return "baskets", (
            f"several rows share {long[0]!r}: one row per item. --rows long collects the items {long[1]!r} of each",
        )
    if has_sequences:
        return "sequences", ()
    if any(column.role == "text" for column in columns):
        return "texts", ()
    return "table", ()


def _describe_ends(ends: Ends) -> str:
    weights = f", with weights in {ends.weight!r}" if ends.weight else ""
    return (
        f"edges between the nodes of {ends.columns[0]!r} and {ends.columns[1]!r}{weights}; --columns names others, and "
        "--directed uses directions"
    )


def is_named_matrix(table: RawTable) -> bool:
    """Return True if a table is square and its first column holds the names of the others, in order."""
    if len(table) != len(table.names) - 1 or len(table) < 2:
        return False
    first = [cell.strip() for cell in table.texts(table.names[0]).to_list()]
    return first == table.names[1:]


def is_symmetric_matrix(table: RawTable) -> bool:
    """Return True if a table without row names is a symmetric matrix of numbers with more than two rows."""
    n = len(table)
    if (
        n != len(table.names)
        or n < 3
        or any(numbers_of(column, table.separator).wrong is not None for column in table.columns)
    ):
        return False
    values = np.column_stack([numbers_of(column, table.separator).values for column in table.columns])
    return bool((values == values.T).all())


def matrix_of(table: RawTable) -> np.ndarray:
    """Return the numbers of a matrix with column names, shape (n, n); row names are skipped and empty cells are 0."""
    from ..exceptions import LatentiaError

    columns = []
    for name in table.names[-len(table) :]:
        numbers = numbers_of(table.series(name), table.separator)
        if numbers.wrong is not None:
            raise LatentiaError(numbers.describe_problem(table.unit, table.rows), **table.cell(numbers.wrong, name))
        columns.append(np.nan_to_num(numbers.values))
    return np.column_stack(columns)


def long_columns(table: RawTable, columns: Sequence[Column]) -> tuple[str, str] | None:
    """Return the columns of receipts and of items in a table with one row per item; None for other tables."""
    if len(columns) < 2:
        return None
    baskets = [c.name for c in columns if _BASKET_COLUMN.fullmatch(c.name) and c.role != "text"]
    items = [c.name for c in columns if _ITEM_COLUMN.fullmatch(c.name) and c.name not in baskets[:1]]
    items.sort(key=lambda name: bool(_CODE_COLUMN.fullmatch(name)))
    if not baskets or not items:
        return None
    cells = table.texts(baskets[0])
    return (baskets[0], items[0]) if cells.n_unique() <= 0.8 * len(cells) else None


def commands_for(reading: Reading, path: str) -> list[str]:
    """Return the commands that fit a file, ready to copy."""
    file = shlex.quote(path)
    by_role: dict[str, list[str]] = {}
    for column in reading.columns:
        by_role.setdefault(column.role, []).append(column.name)
    if reading.shape == "matrix":
        return [f"latentia communities {file} -k 2:10", f"latentia matrix {file} -k 10"]
    if reading.shape == "pairs":
        return [f"latentia communities {file} -k auto", f"latentia matrix {file} -k 10"]
    commands = []
    if reading.shape == "sequences":
        sequence = reading.sequence
        symbols = [name for name in by_role.get("category", []) if name != sequence]
        step = f" --column {shlex.quote(symbols[0])}" if symbols else ""
        commands += [f"latentia hmm {file} -k 2:6 --sequence {shlex.quote(sequence)}{step}"]
    if reading.shape == "baskets":
        commands += [f"latentia noisy-or {file} --baskets --rows long"]
    if by_role.get("text"):
        text = shlex.quote(by_role["text"][0])
        commands += [f"latentia topics {file} --column {text} -k 5:25:5"]
        if by_role.get("tags"):
            commands += [f"latentia labels {file} --column {text} --tags {shlex.quote(by_role['tags'][0])}"]
    binary, numbers = by_role.get("binary", []), by_role.get("measurement", []) + by_role.get("count", [])
    group = next(iter(by_role.get("category", [])), None)
    if by_role.get("group") and group and reading.shape != "sequences":
        sequence = shlex.quote(by_role["group"][0])
        commands += [f"latentia hmm {file} -k 2:6 --sequence {sequence} --column {shlex.quote(group)}"]
    if len(binary) >= 3:
        commands += [f"latentia noisy-or {file}{_columns_option(binary, reading)}"]
    if len(numbers) + len(binary) >= 2:
        effects = f" --effects {shlex.quote('~ ' + group)}" if group and re.fullmatch(r"[A-Za-z_]\w*", group) else ""
        commands += [f"latentia mixture {file} -k 2:8{effects}"]
        if group and len(numbers) + len(binary) + len(by_role["category"]) >= 4:
            commands += [f"latentia mixture {file} -k 2:6 --distribution mixed"]
    if len(numbers) >= 3:
        commands += [f"latentia ica {file}{_columns_option(numbers, reading)}"]
    if len(by_role.get("count", [])) >= 5:
        commands += [f"latentia nmf {file} -k 5{_columns_option(by_role['count'], reading)}"]
    if (by_role.get("clock") or by_role.get("date")) and numbers and reading.shape != "sequences":
        commands += [f"latentia hmm {file} -k 2:6{_columns_option(numbers, reading)}"]
    return commands


def _columns_option(names: Sequence[str], reading: Reading) -> str:
    """Return the option that names the columns; empty if they are all columns in use."""
    if list(names) == reading.used or any("," in name for name in names) or len(names) > 30:
        return ""
    return f" --columns {shlex.quote(','.join(names))}"
