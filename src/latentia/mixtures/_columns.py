"""Columns of several kinds in one table, and their encoding as features.

A number is one feature, and so is a count; a category is one feature of zeros and ones for each of its values. The mean of a
feature given the component is then the parameter of its distribution: the rate of a count, the probability of a value. NaN in
all features of a column marks a missing cell.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._entries import LARGEST, is_missing
from .._frames import frame_of, is_annotated, is_reading
from .._validation import check_form, fits, refuse_cell
from ..exceptions import DroppedDataWarning, LatentiaError, warn
from ..moments import span_of
from ..passes import Blocks
from ..passes.tables import fill_masked

Kind: TypeAlias = Literal["gaussian", "categorical", "poisson"]

KINDS = ("gaussian", "categorical", "poisson")
_MAX_COUNT_MEAN = 20.0  # Whole numbers with a larger mean are taken as normal, which assumes less.
_MAX_CATEGORIES = 20  # or half the number of rows, if that is larger


@dataclass(frozen=True)
class Kinds:
    """Allowed values of ``distribution``: one kind for all features, or kinds of columns."""

    expectation: str = (
        "use one of 'bernoulli', 'gaussian', 'mixed', or a list or dict that says 'gaussian', 'categorical' or 'poisson' of "
        "columns"
    )

    def allows(self, value: Any) -> bool:
        if isinstance(value, str):
            return value in ("bernoulli", "gaussian", "mixed")
        kinds = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
        return len(kinds) > 0 and all(isinstance(kind, str) and kind in KINDS for kind in kinds)


@dataclass(frozen=True)
class Columns:
    """Columns of several kinds in a table.

    Attributes
    ----------
    names : list of str
    kinds : list of {"gaussian", "categorical", "poisson"}
    categories : list of list
        The values of each column of categories, in order; empty for others.
    views : list of list of int
        Columns of every view. Features lie side by side in this order.
    positions : list of int
        Positions of the columns in the table.
    width : int
        Number of columns of the table, including unused ones.
    named : bool
        True if the names are those of the table.
    """

    names: Annotated[list[str], of.Field(types=("str",))]
    kinds: Annotated[list[str], of.Field(types=("str",))]
    categories: Annotated[list[list[Any]], of.Field(types=("str", "int64", "int32", "float64", "bool"))]
    views: Annotated[list[list[int]], of.count()]
    positions: Annotated[list[int], of.count()]
    width: Annotated[int, of.count(1)]
    named: bool

    @property
    def order(self) -> list[int]:
        """Columns in the order of their features."""
        return [column for view in self.views for column in view]

    def size(self, column: int) -> int:
        """Count the features of a column."""
        return len(self.categories[column]) if self.kinds[column] == "categorical" else 1

    def free(self, view: Sequence[int]) -> int:
        """Count the free dimensions of some columns, whose probabilities sum to one."""
        return sum(self.size(column) - (self.kinds[column] == "categorical") for column in view)

    @property
    def feature_names(self) -> list[list[str]]:
        """Names of the features of every view."""
        return [[name for column in view for name in self._features(column)] for view in self.views]

    @cached_property
    def places(self) -> list[np.ndarray]:
        """Features of each column, in the order of the features."""
        sizes = [self.size(column) for column in self.order]
        return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])

    def features_of_kind(self, kind: Kind) -> list[np.ndarray]:
        """Return the features of each column of a kind."""
        return [place for place, column in zip(self.places, self.order, strict=True) if self.kinds[column] == kind]

    def parameters(self, means: np.ndarray, variances: np.ndarray) -> list[tuple[str, str, np.ndarray]]:
        """List the components' parameters in the table's order: column, name of the parameter, and values (K,)."""
        rows: list[tuple[str, str, np.ndarray]] = []
        for column, place in sorted(zip(self.order, self.places, strict=True), key=lambda pair: pair[0]):
            name, kind, column_means = self.names[column], self.kinds[column], means[:, place].T
            labels = [f"probability of {value}" for value in self.categories[column]] or ["mean"]
            rows += [(name, label, pair) for label, pair in zip(labels, column_means, strict=True)]
            if kind == "gaussian":
                rows.append((name, "standard deviation", np.sqrt(variances[:, place[0]])))
        return rows

    def blocks(self, X: Any) -> Blocks:
        """Encode a table with these columns as blocks with one part per view."""
        table = Table.from_data(X)
        if self.named and table.named:
            missing = [name for name in self.names if name not in table.names]
            if missing:
                raise LatentiaError(f"Expected a column {missing[0]!r}, as in the fit; the table has none.")
            chosen = [table.columns[table.names.index(name)] for name in self.names]
        elif len(table.columns) != self.width:
            raise LatentiaError(f"Expected {self.width} columns, as in the fit; X has {len(table.columns)}.")
        else:
            chosen = [table.columns[i] for i in self.positions]
        return self.encode(chosen)

    def encode(self, columns: Sequence[Column], is_fit: bool = False) -> Blocks:
        """Encode columns in this order; the columns of the fit (``is_fit``) have no new categories."""
        features = [self._encode_column(i, column, is_fit) for i, column in enumerate(columns)]
        return Blocks.from_array(*[np.hstack([features[i] for i in view]) for view in self.views])

    def only(self, column: int) -> Columns:
        """Select one column."""
        return replace(
            self, names=[self.names[column]], kinds=[self.kinds[column]], categories=[self.categories[column]], views=[[0]],
            positions=[self.positions[column]],
        )  # fmt: skip

    def check(self) -> None:
        """Raise if the fields disagree."""
        n, kinds = len(self.names), zip(self.kinds, self.categories, strict=False)
        agree = len(self.kinds) == len(self.categories) == len(self.positions) == n and sorted(self.order) == list(
            range(n)
        )
        agree = agree and max(self.positions) < self.width
        if not agree or not all(kind in KINDS and bool(values) == (kind == "categorical") for kind, values in kinds):
            raise LatentiaError("the fields of the columns disagree")

    def _features(self, column: int) -> list[str]:
        name = self.names[column]
        return (
            [f"{name} = {value}" for value in self.categories[column]]
            if self.kinds[column] == "categorical"
            else [name]
        )

    def _encode_column(self, number: int, column: Column, is_fit: bool) -> np.ndarray:
        """Encode the features of a column, (n, size)."""
        if self.kinds[number] != "categorical":
            return column.numbers(self.kinds[number])[:, None]
        values, cells = self.categories[number], column.categories
        codes_of_values = {value: i for i, value in enumerate(values)}
        codes = np.array([codes_of_values.get(cell, -1) for cell in cells], dtype=np.int64)
        indicators = (codes[:, None] == np.arange(len(values))).astype(np.float64)
        indicators[codes < 0] = np.nan
        new = () if is_fit else {cell for cell in cells if cell is not None}.difference(codes_of_values)
        if new:
            warn(
                f"{column.place} holds {min(new, key=str)!r}, which does not occur in the fitted rows: such cells count as "
                "missing.",
                DroppedDataWarning,
            )
        return indicators


@dataclass(frozen=True)
class ColumnFeatures:
    """Columns with their encoded features, which need not be read again."""

    columns: Columns
    blocks: Blocks


# --- tables -------------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """A column of the user's table: its cells, floats with NaN or objects, and their type: "text", "whole" or "real"."""

    name: str
    place: str
    cells: np.ndarray
    type: Literal["text", "whole", "real"]

    def numbers(self, kind: str) -> np.ndarray:
        """Read the cells as numbers with NaN, shape (n,); counts must be whole numbers from 0."""
        cells = self._floats() if self.type == "text" else self.cells
        is_wrong = ~(np.abs(cells) <= LARGEST) & ~np.isnan(cells)
        if is_wrong.any():
            row = int(np.argmax(is_wrong))
            text = f"{cells[row]:g}" if np.isfinite(cells[row]) else "infinity" if cells[row] > 0 else "-infinity"
            raise LatentiaError(f"Row {row}, {self.place}: {text}; expected a number whose powers are finite.")
        if kind == "poisson":
            is_wrong = (cells < 0) | (cells != np.rint(cells)) & ~np.isnan(cells)
            if is_wrong.any():
                row = int(np.argmax(is_wrong))
                raise LatentiaError(
                    f"Row {row}, {self.place}: {cells[row]:g}; expected a count, a whole number from 0. 'gaussian' takes "
                    "other numbers."
                )
        return cells

    def _floats(self) -> np.ndarray:
        numbers = np.full(len(self.cells), np.nan)
        for row, cell in enumerate(self.cells.tolist()):
            if not is_missing(cell):
                refuse_cell(cell, f"Row {row}, {self.place}")
                numbers[row] = float(cell)
        return numbers

    @property
    def categories(self) -> list[Any]:
        """Cells as texts, truth values or numbers, whole numbers as int; None for missing ones."""
        return [None if is_missing(cell) else _category(cell) for cell in self.cells.tolist()]

    @property
    def kind(self) -> Kind:
        """Kind of the column, by its type. In pandas whole numbers with gaps are floats."""
        if self.type == "text":
            return "categorical"
        observed = self.cells[~np.isnan(self.cells)]
        has_gaps = len(observed) < len(self.cells)
        if not len(observed) or not (self.type == "whole" or (has_gaps and (observed == np.rint(observed)).all())):
            return "gaussian"
        if len(np.unique(observed)) <= 2:
            return "categorical"
        return "poisson" if observed.min() >= 0 and observed.mean() <= _MAX_COUNT_MEAN else "gaussian"

    def values(self) -> list[Any]:
        """List the categories in order."""
        values = sorted({cell for cell in self.categories if cell is not None}, key=_sort_key)
        if len(values) > max(_MAX_CATEGORIES, len(self.cells) // 2):
            raise LatentiaError(
                f"{self.place}: {len(values):,} categories in {len(self.cells):,} rows are too many to say anything about a "
                "class. Drop the column, or join categories."
            )
        return values


def _category(cell: Any) -> Any:
    if isinstance(cell, (bool, str)) or type(cell) is int:
        return cell
    if (type(cell) is float or isinstance(cell, numbers.Real)) and math.isfinite(cell):
        return int(float(cell)) if float(cell).is_integer() else float(cell)
    return str(cell)


def _sort_key(value: Any) -> tuple[bool, Any, str]:
    """Sort numbers by size, then texts."""
    return (True, 0.0, value) if isinstance(value, str) else (False, float(value), "")


@dataclass(frozen=True)
class Table:
    """Columns of a table; ``named`` is True if the table names them."""

    columns: list[Column]
    named: bool

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    @classmethod
    def from_data(cls, X: Any) -> Table:
        """Read the columns of a data frame, an array, or blocks of one table."""
        if isinstance(X, Blocks):
            names, X = X.names or [], X.table()
            columns = (
                []
                if sparse.issparse(X)
                else [_read_array(f"x{i}", f"column {i}", cells) for i, cells in enumerate(X.T)]
            )
            named = bool(names)
            if named:
                columns = [
                    column._replace(name=name, place=f"column {name!r}")
                    for column, name in zip(columns, names, strict=True)
                ]
            return cls(columns, named)
        X = X.to_frame() if is_reading(X) else X
        check_form(X, "X")
        if is_annotated(X):
            return cls.from_data(Blocks.from_array(X))
        frame = frame_of(X)
        if frame is not None:
            return cls([_read_series(series) for series in frame.iter_columns()], True)
        if sparse.issparse(X):
            raise LatentiaError("Expected a data frame or an array; X is sparse. Use its toarray().")
        table = np.asarray(fill_masked(X)) if hasattr(X, "dtype") else np.array(X, dtype=object)
        return cls([_read_array(f"x{i}", f"column {i}", cells) for i, cells in enumerate(table.T)], False)


def _read_series(series: Any) -> Column:
    """Read a column of narwhals."""
    dtype, name = series.dtype, str(series.name)
    place = f"column {name!r}"
    if dtype.is_temporal():
        raise LatentiaError(
            f"Column {name!r} holds dates or spans of time ({dtype}). Drop it, or convert it to numbers, such as days since "
            "the first date."
        )
    if dtype.is_numeric():
        return _read_array(name, place, series.to_numpy())._replace(type="whole" if dtype.is_integer() else "real")
    return _read_array(name, place, np.array([*series.to_list(), None], dtype=object)[:-1])


def _read_array(name: str, place: str, cells: np.ndarray) -> Column:
    """Read a column of an array; objects get their common type."""
    if cells.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            return Column(name, place, cells.astype(np.float64), "real" if cells.dtype.kind == "f" else "whole")
    objects = cells.astype(object)
    observed = [cell for cell in objects.tolist() if not is_missing(cell)]
    if not observed or not all(
        isinstance(value, numbers.Real) and not isinstance(value, bool) and fits(value) for value in observed
    ):
        return Column(name, place, objects, "text")
    values = np.array([np.nan if is_missing(cell) else float(cell) for cell in objects.tolist()])
    return Column(
        name, place, values, "whole" if all(isinstance(value, numbers.Integral) for value in observed) else "real"
    )


# --- columns for the first time -----------------------------------------------------------------------------------


def learn_columns(table: Table, distribution: Any, views: Any = None) -> tuple[Columns, list[Column]]:
    """Learn the kinds and categories of a table's columns, in one view by default; also return their cells.

    Parameters
    ----------
    table : Table
    distribution : str, list or dict
        Kinds of the columns, by a list or dict; other columns by their types.
    views : list of list of int, optional
        Columns of each view.
    """
    positions = list(range(len(table.columns))) if views is None else [column for view in views for column in view]
    if not positions or not len(table.columns[0].cells):
        raise LatentiaError("X is empty: it has no rows, or no columns.")
    requested = _expand_kinds(distribution, table.names)
    chosen = [table.columns[i] for i in positions]
    kinds = [column.kind if requested[i] is None else requested[i] for i, column in zip(positions, chosen, strict=True)]
    values = [column.values() if kind == "categorical" else [] for column, kind in zip(chosen, kinds, strict=True)]
    empty = [column.place for column in chosen if all(map(is_missing, column.cells.tolist()))]
    if empty:
        raise LatentiaError(f"All cells of {empty[0]} are missing: drop it.")
    independent = _find_independent_columns(chosen, kinds)
    ends = np.searchsorted(
        independent, np.cumsum([0] + ([len(positions)] if views is None else [len(view) for view in views]))
    )
    view_places = [list(range(start, end)) for start, end in pairwise(ends.tolist())]
    if [] in view_places:
        raise LatentiaError(f"View {view_places.index([]) + 1} says nothing that others do not: remove it.")
    chosen = [chosen[i] for i in independent]
    kinds = [kinds[i] for i in independent]
    values = [values[i] for i in independent]
    positions = [positions[i] for i in independent]
    names = [column.name for column in chosen]
    return Columns(names, kinds, values, view_places, positions, len(table.columns), table.named), chosen


def _find_independent_columns(columns: Sequence[Column], kinds: Sequence[str]) -> list[int]:
    """Find the independent columns, and warn of others: constants, copies, and combinations of numbers."""
    span = span_of(
        Blocks.from_array(np.column_stack([_encode_cells(*pair) for pair in zip(columns, kinds, strict=True)]))
    )
    if span is not None:
        sources = {int(j): span.kept[span.weights[[j]].indices] for j in span.dependent_columns}
        if len(span.kept) < 3:  # The fit needs three views, and rows without noise have fewer independent columns.
            restored = [j for j in sources if len(sources[j])]
        else:  # Linear combinations of category codes mean nothing.
            codes = np.array(kinds) == "categorical"
            restored = [j for j in sources if len(sources[j]) > 1 and codes[[j, *sources[j]]].any()]
        span = span.keep_columns(np.array(restored, int))
    if span is None:
        return list(range(len(columns)))
    span.tell([column.name for column in columns], entries=False)
    return [int(i) for i in span.kept]


def _encode_cells(column: Column, kind: str) -> np.ndarray:
    """Encode the cells of a column as numbers, categories by their rank; NaN for missing ones."""
    if kind != "categorical":
        return column.numbers(kind)
    codes_of_values = {value: float(i) for i, value in enumerate(column.values())}
    return np.array([codes_of_values.get(cell, np.nan) for cell in column.categories])


def _expand_kinds(distribution: Any, names: list[str]) -> list[Any]:
    """Expand ``distribution`` to one kind per column; None for columns that it does not name."""
    if isinstance(distribution, Mapping):
        unknown = [name for name in distribution if str(name) not in names]
        if unknown:
            raise LatentiaError(f"there is no column {unknown[0]!r}.", parameter="distribution", value=distribution)
        return [distribution.get(name) for name in names]
    if isinstance(distribution, str) or distribution is None:
        return [None] * len(names)
    if len(distribution) != len(names):
        raise LatentiaError(
            f"expected {len(names)} kinds, one per column; found {len(distribution)}.",
            parameter="distribution", value=distribution,
        )  # fmt: skip
    return list(distribution)
