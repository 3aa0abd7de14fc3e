"""Lists of edges in tables: the two columns of nodes, recognised by their values, and the one of weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._numbers import numbers_of
from ._roles import Column, ColumnOptions, find_column, is_coded
from ._tables import RawTable

_SOURCE = re.compile(
    r"(source|from|src|node_?1|sender|ego|citing|follower|origin|von|absender|quelle|de|desde|origen)(_?id)?",
    re.IGNORECASE,
)
_TARGET = re.compile(
    r"(target|to|dst|dest|destination|node_?2|receiver|alter|cited|followee|nach|zu|an|ziel|vers|hacia|destino)(_?id)?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(.*[_ .-])?(time|time_?stamp|date|date_?time|year|month|day|epoch|ts)", re.IGNORECASE)
_WEIGHT = re.compile(r"weights?|gewicht|poids|peso", re.IGNORECASE)
_NAMES = frozenset({"category", "id", "text", "group"})  # roles of columns that may hold names of nodes
_MAX_COLUMNS = 4  # of a list of edges whose headings say so
_MAX_NUMBERS = 2  # columns of numbers beside two of names
_MIN_NODES, _MIN_EDGES = 8, 12
_MIN_SHARED = 0.5  # share of the names of the smaller column that the other holds too
_MAX_LOOPS = 0.1  # share of rows with the same name twice
_MIN_UNIQUE = 0.95  # share of the pairs of numbers that occur once
_MAX_DISTINCT = 0.8  # share of the rows with another number, in each column: nodes have several edges
_MIN_DENSE = 0.9  # share of the whole numbers up to the largest that are nodes


@dataclass(frozen=True)
class Ends:
    """Columns of a list of edges.

    Attributes
    ----------
    columns : tuple of str
        The column of first nodes and that of second nodes.
    weight : str
        Column of weights; empty if there is none.
    """

    columns: tuple[str, str]
    weight: str = ""

    @property
    def is_directed(self) -> bool:
        """True if the headings tell the first node of an edge from the second."""
        first, second = self.columns
        return bool(_SOURCE.fullmatch(first) and _TARGET.fullmatch(second))


def is_clock(table: RawTable, name: str) -> bool:
    """Return True if the name or the values of a column are those of a time or date."""
    return _is_clock(find_column(table, name, ColumnOptions()))


def _is_clock(column: Column) -> bool:
    return _CLOCK.fullmatch(column.name) is not None or column.role in ("date", "clock")


def find_ends(table: RawTable, columns: Sequence[Column], column_options: ColumnOptions) -> Ends | None:
    """Return the columns of a list of edges; None for other tables.

    They are the columns with the roles from and to, or with such headings in a table of up to four columns, or the only two
    columns of names if both hold names of one set, beside at most two columns of numbers, and dates. A table of two columns of
    whole numbers is a list of edges if they number the nodes of one set.
    """
    roles = {role: name for name, role in column_options.roles.items() if role in ("from", "to")}
    if len(roles) == 2:
        ends: tuple[str, ...] = roles["from"], roles["to"]
    else:
        ends = _find_by_headings(columns) or _find_by_values(table, columns)
    if not ends:
        return None
    return Ends((ends[0], ends[1]), _find_weight(columns, ends))


def _find_by_headings(columns: Sequence[Column]) -> tuple[str, ...]:
    names = [column.name for column in columns]
    sources, targets = ([name for name in names[:2] if kind.fullmatch(name)] for kind in (_SOURCE, _TARGET))
    is_list = 2 <= len(names) <= _MAX_COLUMNS and len({*sources, *targets}) == 2 and sources and targets
    return tuple(names[:2]) if is_list else ()


def _find_by_values(table: RawTable, columns: Sequence[Column]) -> tuple[str, ...]:
    if len(table) < _MIN_EDGES:
        return ()
    candidates = [column for column in columns if not _is_clock(column) and not _counts_rows(column)]
    names = [column for column in candidates if column.role in _NAMES and not column.n_missing]
    numbers = [column for column in candidates if column.role == "weight" or _is_number(column)]
    if len(names) == 2 and len(names) + len(numbers) == len(candidates) and len(numbers) <= _MAX_NUMBERS:
        ends = tuple(column.name for column in names)
        first, second = (table.texts(name).str.strip_chars() for name in ends)
        return ends if _name_one_set(first, second) else ()
    if len(candidates) == 2 and all(column.role in ("count", "id") and not column.n_missing for column in candidates):
        ends = tuple(column.name for column in candidates)
        return ends if _number_one_set(*(_read_whole_numbers(table, name) for name in ends)) else ()
    return ()


def _is_number(column: Column) -> bool:
    return column.used and not is_coded(column)


def _counts_rows(column: Column) -> bool:
    return column.role == "id" and ("counts the rows" in column.reason or "without a heading" in column.reason)


def _name_one_set(first: Any, second: Any) -> bool:
    """Return True if the names of two columns come from one set."""
    ours, theirs = set(first.unique().to_list()), set(second.unique().to_list())
    shared = len(ours & theirs)
    are_nodes = len(ours | theirs) >= _MIN_NODES and shared >= _MIN_SHARED * min(len(ours), len(theirs))
    return are_nodes and float((first == second).mean()) <= _MAX_LOOPS


def _read_whole_numbers(table: RawTable, name: str) -> np.ndarray:
    return numbers_of(table.series(name), table.separator).values


def _number_one_set(first: np.ndarray, second: np.ndarray) -> bool:
    """Return True if two columns of whole numbers hold the numbers of one set of nodes."""
    if np.isnan(first).any() or np.isnan(second).any() or (first % 1).any() or (second % 1).any():
        return False
    ours, theirs = np.unique(first), np.unique(second)
    nodes, shared = np.union1d(ours, theirs), np.intersect1d(ours, theirs)
    pairs = np.unique(np.column_stack([first, second]), axis=0)
    return bool(
        len(nodes) >= _MIN_NODES
        and len(shared) >= _MIN_SHARED * min(len(ours), len(theirs))
        and max(len(ours), len(theirs)) <= _MAX_DISTINCT * len(first)
        and nodes[0] >= 0
        and len(nodes) >= _MIN_DENSE * nodes[-1]
        and len(pairs) >= _MIN_UNIQUE * len(first)
        and (first == second).mean() <= _MAX_LOOPS
    )


def _find_weight(columns: Sequence[Column], ends: Sequence[str]) -> str:
    """Return the column of weights: the one with that role or heading, or the first of numbers."""
    candidates = [column for column in columns if column.name not in ends and not _is_clock(column)]
    named = [column.name for column in candidates if column.role == "weight" or _WEIGHT.fullmatch(column.name)]
    numbers = [column.name for column in candidates if _is_number(column)]
    return next(iter([*named, *numbers]), "")
