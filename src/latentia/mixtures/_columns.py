"""Columns of several kinds in one table, and the features that they are encoded in.

A number is one feature, and so is a count; a category is one of zeros and ones for each of its values. The mean of a feature
given the component is then the parameter of its distribution: the rate of a count, the probability of a value. NaN in all
features of a column stands for a cell that is missing.
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
from ..passes.tables import unmasked

Kind: TypeAlias = Literal["gaussian", "categorical", "poisson"]

KINDS = ("gaussian", "categorical", "poisson")
_MEAN_OF_COUNTS = 20.0  # up to which whole numbers are taken for counts: above it a normal distribution assumes less
_MANY = 20  # categories, which half as many as there are rows may be more than


@dataclass(frozen=True)
class Kinds:
    """One kind for all features, or kinds of columns: the values of ``distribution``."""

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
    """Columns of a table, of several kinds.

    Attributes
    ----------
    names : list of str
    kinds : list of {"gaussian", "categorical", "poisson"}
    categories : list of list
        The values of each column of categories, in order; empty for others.
    views : list of list of int
        The columns of every view. Features lie side by side in this order.
    given : list of int
        Where the columns are in the table.
    width : int
        Number of columns of the table, which may have others.
    named : bool
        Whether the names are the table's.
    """

    names: Annotated[list[str], of.Field(types=("str",))]
    kinds: Annotated[list[str], of.Field(types=("str",))]
    categories: Annotated[list[list[Any]], of.Field(types=("str", "int64", "int32", "float64", "bool"))]
    views: Annotated[list[list[int]], of.count()]
    given: Annotated[list[int], of.count()]
    width: Annotated[int, of.count(1)]
    named: bool

    @property
    def order(self) -> list[int]:
        """The columns in the order of their features."""
        return [column for view in self.views for column in view]

    def size(self, column: int) -> int:
        """Number of features of a column."""
        return len(self.categories[column]) if self.kinds[column] == "categorical" else 1

    def free(self, view: Sequence[int]) -> int:
        """Dimensions of the features of some columns: probabilities sum to one."""
        return sum(self.size(column) - (self.kinds[column] == "categorical") for column in view)

    @property
    def feature_names(self) -> list[list[str]]:
        """Of every view."""
        return [[name for column in view for name in self._features(column)] for view in self.views]

    @cached_property
    def places(self) -> list[np.ndarray]:
        """The features of each column, in the order of the features."""
        sizes = [self.size(column) for column in self.order]
        return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])

    def of_kind(self, kind: Kind) -> list[np.ndarray]:
        """The features of each column of a kind."""
        return [place for place, column in zip(self.places, self.order, strict=True) if self.kinds[column] == kind]

    def parameters(self, means: np.ndarray, variances: np.ndarray) -> list[tuple[str, str, np.ndarray]]:
        """Column, what it is, and values (K,), of the parameters of components with these features, in the table's order."""
        found: list[tuple[str, str, np.ndarray]] = []
        for column, place in sorted(zip(self.order, self.places, strict=True), key=lambda one: one[0]):
            name, kind, own = self.names[column], self.kinds[column], means[:, place].T
            said = [f"probability of {value}" for value in self.categories[column]] or ["mean"]
            found += [(name, each, one) for each, one in zip(said, own, strict=True)]
            if kind == "gaussian":
                found.append((name, "standard deviation", np.sqrt(variances[:, place[0]])))
        return found

    def blocks(self, X: Any) -> Blocks:
        """Features of a table with these columns, as blocks with one part a view."""
        table = Table.of(X)
        if self.named and table.named:
            lacking = [name for name in self.names if name not in table.names]
            if lacking:
                raise LatentiaError(f"The table has no column {lacking[0]!r}, and the model was fitted on one.")
            chosen = [table.columns[table.names.index(name)] for name in self.names]
        elif len(table.columns) != self.width:
            raise LatentiaError(f"X has {len(table.columns)} columns and the model was fitted on {self.width}.")
        else:
            chosen = [table.columns[i] for i in self.given]
        return self.encoded(chosen)

    def encoded(self, columns: Sequence[Column], learned: bool = False) -> Blocks:
        """Features of columns in this order; where they were ``learned`` from they have no other categories."""
        features = [self._encoded(i, column, learned) for i, column in enumerate(columns)]
        return Blocks.from_array(*[np.hstack([features[i] for i in view]) for view in self.views])

    def only(self, column: int) -> Columns:
        """One column."""
        return replace(
            self, names=[self.names[column]], kinds=[self.kinds[column]], categories=[self.categories[column]], views=[[0]],
            given=[self.given[column]],
        )  # fmt: skip

    def check(self) -> None:
        """Raise unless the fields agree."""
        n, kinds = len(self.names), zip(self.kinds, self.categories, strict=False)
        same = len(self.kinds) == len(self.categories) == len(self.given) == n and sorted(self.order) == list(range(n))
        same = same and max(self.given) < self.width
        if not same or not all(kind in KINDS and bool(values) == (kind == "categorical") for kind, values in kinds):
            raise LatentiaError("the columns of several kinds do not agree")

    def _features(self, column: int) -> list[str]:
        name = self.names[column]
        return [f"{name} = {one}" for one in self.categories[column]] if self.kinds[column] == "categorical" else [name]

    def _encoded(self, number: int, column: Column, learned: bool) -> np.ndarray:
        """Features of a column, (n, size)."""
        if self.kinds[number] != "categorical":
            return column.numbers(self.kinds[number])[:, None]
        values, cells = self.categories[number], column.categories
        place = {value: i for i, value in enumerate(values)}
        codes = np.array([place.get(cell, -1) for cell in cells], dtype=np.int64)
        found = (codes[:, None] == np.arange(len(values))).astype(np.float64)
        found[codes < 0] = np.nan
        new = () if learned else {cell for cell in cells if cell is not None}.difference(place)
        if new:
            warn(
                f"There is {min(new, key=str)!r} in {column.place}, which no row of the fit had: such cells are left out, as "
                "missing ones are.",
                DroppedDataWarning,
            )
        return found


@dataclass(frozen=True)
class Encoded:
    """Columns, and the features that they are encoded in: rows that need not be read again."""

    columns: Columns
    blocks: Blocks


# --- tables -------------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """A column as it was given: its cells, floats with NaN or objects, and whether these are "text", "whole" or "real"."""

    name: str
    place: str
    cells: np.ndarray
    type: Literal["text", "whole", "real"]

    def numbers(self, kind: str) -> np.ndarray:
        """The cells as numbers with NaN, shape (n,); where they are counts, whole ones of at least 0."""
        cells = self._floats() if self.type == "text" else self.cells
        wrong = ~(np.abs(cells) <= LARGEST) & ~np.isnan(cells)
        if wrong.any():
            row = int(np.argmax(wrong))
            shown = f"{cells[row]:g}" if np.isfinite(cells[row]) else "infinity" if cells[row] > 0 else "-infinity"
            raise LatentiaError(f"Row {row}, {self.place}: {shown}, and a number whose powers are in range is needed.")
        if kind == "poisson":
            wrong = (cells < 0) | (cells != np.rint(cells)) & ~np.isnan(cells)
            if wrong.any():
                row = int(np.argmax(wrong))
                raise LatentiaError(
                    f"Row {row}, {self.place}: {cells[row]:g}, and counts are whole numbers of at least 0. 'gaussian' takes "
                    "others."
                )
        return cells

    def _floats(self) -> np.ndarray:
        found = np.full(len(self.cells), np.nan)
        for row, cell in enumerate(self.cells.tolist()):
            if not is_missing(cell):
                refuse_cell(cell, f"Row {row}, {self.place}")
                found[row] = float(cell)
        return found

    @property
    def categories(self) -> list[Any]:
        """The cells as texts, truth values or numbers, whole ones as such; None where they are missing."""
        return [None if is_missing(cell) else _category(cell) for cell in self.cells.tolist()]

    @property
    def kind(self) -> Kind:
        """By its type. Whole numbers with gaps are floats in pandas."""
        if self.type == "text":
            return "categorical"
        seen = self.cells[~np.isnan(self.cells)]
        gaps = len(seen) < len(self.cells)
        if not len(seen) or not (self.type == "whole" or (gaps and (seen == np.rint(seen)).all())):
            return "gaussian"
        if len(np.unique(seen)) <= 2:
            return "categorical"
        return "poisson" if seen.min() >= 0 and seen.mean() <= _MEAN_OF_COUNTS else "gaussian"

    def values(self) -> list[Any]:
        """Its categories in order."""
        values = sorted({cell for cell in self.categories if cell is not None}, key=_in_order)
        if len(values) > max(_MANY, len(self.cells) // 2):
            raise LatentiaError(
                f"There are {len(values):,} categories in {len(self.cells):,} rows of {self.place}, which say nothing of a "
                "class: drop it, or join them."
            )
        return values


def _category(cell: Any) -> Any:
    if isinstance(cell, (bool, str)) or type(cell) is int:
        return cell
    if (type(cell) is float or isinstance(cell, numbers.Real)) and math.isfinite(cell):
        return int(float(cell)) if float(cell).is_integer() else float(cell)
    return str(cell)


def _in_order(value: Any) -> tuple[bool, Any, str]:
    """Numbers by size, then texts."""
    return (True, 0.0, value) if isinstance(value, str) else (False, float(value), "")


@dataclass(frozen=True)
class Table:
    """The columns of a table, and whether their names are its own."""

    columns: list[Column]
    named: bool

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [column.name for column in self.columns]

    @classmethod
    def of(cls, X: Any) -> Table:
        """The columns of a data frame, an array, or blocks of one table."""
        if isinstance(X, Blocks):
            names, X = X.names or [], X.table()
            columns = (
                [] if sparse.issparse(X) else [_of_array(f"x{i}", f"column {i}", cells) for i, cells in enumerate(X.T)]
            )
            named = bool(names)
            if named:
                columns = [
                    one._replace(name=name, place=f"column {name!r}") for one, name in zip(columns, names, strict=True)
                ]
            return cls(columns, named)
        X = X.to_frame() if is_reading(X) else X
        check_form(X, "X")
        if is_annotated(X):
            return cls.of(Blocks.from_array(X))
        frame = frame_of(X)
        if frame is not None:
            return cls([_of_frame(series) for series in frame.iter_columns()], True)
        if sparse.issparse(X):
            raise LatentiaError("X is sparse, and a data frame or an array is needed: use its toarray().")
        table = unmasked(X) if hasattr(X, "dtype") else np.array(X, dtype=object)
        return cls([_of_array(f"x{i}", f"column {i}", cells) for i, cells in enumerate(table.T)], False)


def _of_frame(series: Any) -> Column:
    """A column of narwhals."""
    dtype, name = series.dtype, str(series.name)
    place = f"column {name!r}"
    if dtype.is_temporal():
        raise LatentiaError(
            f"Column {name!r} has type {dtype}, dates or spans of time. Drop it, or make numbers of it, such as days since the "
            "first."
        )
    if dtype.is_numeric():
        return _of_array(name, place, series.to_numpy())._replace(type="whole" if dtype.is_integer() else "real")
    return _of_array(name, place, np.array([*series.to_list(), None], dtype=object)[:-1])


def _of_array(name: str, place: str, cells: np.ndarray) -> Column:
    """A column of an array; objects are what they all are."""
    if cells.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            return Column(name, place, cells.astype(np.float64), "real" if cells.dtype.kind == "f" else "whole")
    objects = cells.astype(object)
    seen = [cell for cell in objects.tolist() if not is_missing(cell)]
    if not seen or not all(isinstance(one, numbers.Real) and not isinstance(one, bool) and fits(one) for one in seen):
        return Column(name, place, objects, "text")
    values = np.array([np.nan if is_missing(cell) else float(cell) for cell in objects.tolist()])
    return Column(name, place, values, "whole" if all(isinstance(one, numbers.Integral) for one in seen) else "real")


# --- columns for the first time -----------------------------------------------------------------------------------


def learned_columns(table: Table, distribution: Any, views: Any = None) -> tuple[Columns, list[Column]]:
    """The columns of a table with their kinds and categories, in one view where none are given; and their cells.

    Parameters
    ----------
    table : Table
    distribution : str, list or dict
        Kinds of the columns: those of a list or dict, others by their types.
    views : list of list of int, optional
        Columns of the table.
    """
    given = list(range(len(table.columns))) if views is None else [column for view in views for column in view]
    if not given or not len(table.columns[0].cells):
        raise LatentiaError("X is empty: it has no rows, or no columns.")
    asked = _asked(distribution, table.names)
    chosen = [table.columns[i] for i in given]
    kinds = [column.kind if asked[i] is None else asked[i] for i, column in zip(given, chosen, strict=True)]
    values = [column.values() if kind == "categorical" else [] for column, kind in zip(chosen, kinds, strict=True)]
    empty = [column.place for column in chosen if all(map(is_missing, column.cells.tolist()))]
    if empty:
        raise LatentiaError(f"There is no cell in {empty[0]}, all are missing: drop it.")
    own = _own_columns(chosen, kinds)
    ends = np.searchsorted(own, np.cumsum([0] + ([len(given)] if views is None else [len(view) for view in views])))
    dealt = [list(range(start, end)) for start, end in pairwise(ends.tolist())]
    if [] in dealt:
        raise LatentiaError(f"View {dealt.index([]) + 1} says nothing that others do not: remove it.")
    chosen = [chosen[i] for i in own]
    kinds, values, given = [kinds[i] for i in own], [values[i] for i in own], [given[i] for i in own]
    names = [column.name for column in chosen]
    return Columns(names, kinds, values, dealt, given, len(table.columns), table.named), chosen


def _own_columns(columns: Sequence[Column], kinds: Sequence[str]) -> list[int]:
    """Return which columns say something of their own, and warn of others: constants, copies, and combinations of numbers."""
    span = span_of(Blocks.from_array(np.column_stack([_coded(*pair) for pair in zip(columns, kinds, strict=True)])))
    if span is not None:
        sources = {int(j): span.kept[span.weights[[j]].indices] for j in span.dependent_columns}
        if len(span.kept) < 3:  # Three views are needed, and rows without noise have fewer columns of their own.
            back = [j for j in sources if len(sources[j])]
        else:  # Combinations of the codes of categories say nothing.
            codes = np.array(kinds) == "categorical"
            back = [j for j in sources if len(sources[j]) > 1 and codes[[j, *sources[j]]].any()]
        span = span.keep_columns(np.array(back, int))
    if span is None:
        return list(range(len(columns)))
    span.tell([column.name for column in columns], entries=False)
    return [int(i) for i in span.kept]


def _coded(column: Column, kind: str) -> np.ndarray:
    """Return the cells of a column as numbers, those of categories in the order of their values; NaN where they are missing."""
    if kind != "categorical":
        return column.numbers(kind)
    place = {value: float(i) for i, value in enumerate(column.values())}
    return np.array([place.get(cell, np.nan) for cell in column.categories])


def _asked(distribution: Any, names: list[str]) -> list[Any]:
    """The kinds of the columns that were asked for, None for others."""
    if isinstance(distribution, Mapping):
        unknown = [name for name in distribution if str(name) not in names]
        if unknown:
            raise LatentiaError(f"there is no column {unknown[0]!r}.", parameter="distribution", value=distribution)
        return [distribution.get(name) for name in names]
    if isinstance(distribution, str) or distribution is None:
        return [None] * len(names)
    if len(distribution) != len(names):
        raise LatentiaError(
            f"{len(distribution)} kinds for {len(names)} columns: as many are needed.",
            parameter="distribution", value=distribution,
        )  # fmt: skip
    return list(distribution)
