"""Supports of matrices, and the all-positive rectangles in them.

A factorization M = A W with nonnegative factors covers the support of M by r rectangles, the supports of A_t W^t. Sets of
rows, of columns and of cells are bits of Python integers here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

Rectangle = tuple[int, int]  # rows and columns, as bits

_DENOMINATORS = (*range(1, 31), 60, 120, 420, 1000, 10**6, 10**9)
_MAX_INCIDENCES = 3_000_000  # cells of all rectangles
_MAX_LINES = 100
_SLACK = 1e-7  # tolerance of a value by a linear program in floats


class Deadline:
    """A moment after which a search returns what it has proved so far."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def remaining(self) -> float:
        return max(0.0, self._end - time.monotonic())

    @property
    def has_passed(self) -> bool:
        return time.monotonic() >= self._end


@dataclass(frozen=True)
class Support:
    """The support of M without empty and repeated rows and columns.

    With ``merge_rows=False`` repeated rows are kept. Of too many rows or columns those with the most zeros are kept: bounds for
    a part of M hold for M.

    Attributes
    ----------
    rows, columns : tuple of int
        Numbers in M of those that are kept.
    masks : tuple of int
        For each kept row the kept columns where it is positive.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    masks: tuple[int, ...]

    @classmethod
    def from_matrix(cls, M: np.ndarray, merge_rows: bool = True) -> Support:
        positive = (M > 0).astype(bool)
        rows = _list_distinct(positive) if merge_rows else tuple(np.flatnonzero(positive.any(axis=1)).tolist())
        columns = _list_distinct(positive[list(rows)].T)
        rows, columns = _choose_sparsest(positive, rows, columns), _choose_sparsest(positive.T, columns, rows)
        return cls(rows, columns, positive_masks(M, rows, columns))

    def cell(self, number: int) -> tuple[int, int]:
        """Return the row and column in M of cell ``number`` of the kept ones, counted row by row."""
        row, column = divmod(number, len(self.columns))
        return self.rows[row], self.columns[column]

    @property
    def cells(self) -> list[int]:
        """Numbers of the positive cells."""
        return [i * len(self.columns) + j for i, mask in enumerate(self.masks) for j in bits(mask)]

    @property
    def all_cells(self) -> int:
        return sum(mask << (i * len(self.columns)) for i, mask in enumerate(self.masks))

    def cells_of(self, rectangle: Rectangle) -> int:
        """Return cells of a rectangle."""
        rows, columns = rectangle
        return sum(columns << (i * len(self.columns)) for i in bits(rows))


def are_in(M: np.ndarray, rows: Iterable[int], columns: Iterable[int]) -> bool:
    """Return True if M has these rows and columns."""
    n, m = M.shape
    return all(0 <= i < n for i in rows) and all(0 <= j < m for j in columns)


def are_few(rectangles: Iterable[Rectangle]) -> bool:
    """Return True if the rectangles have at most some million cells in all."""
    return sum(rows.bit_count() * columns.bit_count() for rows, columns in rectangles) <= _MAX_INCIDENCES


def positive_masks(M: np.ndarray, rows: Sequence[int], columns: Sequence[int]) -> tuple[int, ...]:
    """Return, for each of ``rows`` the positions in ``columns`` where M is positive."""
    return tuple(sum(1 << position for position, j in enumerate(columns) if M[i, j] > 0) for i in rows)


def transpose_masks(masks: Sequence[int], n_columns: int) -> tuple[int, ...]:
    """Return, for each column the rows that have it."""
    return tuple(sum(1 << i for i, mask in enumerate(masks) if mask >> j & 1) for j in range(n_columns))


def maximal_rectangles(
    masks: Sequence[int], deadline: Deadline | None = None, max_count: int = 200_000
) -> list[Rectangle] | None:
    """Return all rectangles inside the support that no larger one contains, as (rows, columns); None if they are too many.

    Their column sets are the intersections of rows.
    """
    closed: set[int] = set()
    for mask in sorted(set(masks)):
        closed |= {mask} | {mask & intersection for intersection in closed}
        if deadline is not None and (len(closed) > max_count or deadline.has_passed):
            return None
    closed.discard(0)
    return [(sum(1 << i for i, mask in enumerate(masks) if not columns & ~mask), columns) for columns in sorted(closed)]


def only_maximal(sets: Iterable[int]) -> list[int]:
    """Return the sets that are not contained in another one."""
    maximal: list[int] = []
    for candidate in sorted(set(sets), key=lambda s: (-s.bit_count(), s)):
        if all(candidate & ~larger for larger in maximal):
            maximal.append(candidate)
    return maximal


def shared_cells(support: Support) -> dict[int, int]:
    """Return, for each positive cell the positive cells, itself among them, that lie with it in a rectangle of the support."""
    width = len(support.columns)
    by_column = transpose_masks(support.masks, width)
    return {
        i * width + j: sum((support.masks[k] & mask) << (k * width) for k in bits(by_column[j]))
        for i, mask in enumerate(support.masks)
        for j in bits(mask)
    }


def incidence(sets: Sequence[int], cells: Sequence[int]) -> sparse.csr_array:
    """Mark which of ``cells`` are in each set: integer array, shape (len(sets), len(cells))."""
    position = {cell: number for number, cell in enumerate(cells)}
    columns = [[position[cell] for cell in bits(cells_in_set)] for cells_in_set in sets]
    ends = np.cumsum([0, *map(len, columns)])
    flat = np.array([column for row in columns for column in row], dtype=np.int64)
    return sparse.csr_array((np.ones(len(flat), dtype=np.int64), flat, ends), shape=(len(sets), len(cells)))


def integral_dual(inside: sparse.csr_array, values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return rational weights of cells of which no rectangle has more than one: whole numbers and their common denominator.

    They are the weights that a linear program found in floats, rounded, and divided by the exact weight of the heaviest
    rectangle. The denominator is the first that keeps the bound.
    """
    target = int(np.ceil(values.sum() - _SLACK))
    best: tuple[np.ndarray, int] = (np.zeros(len(values), dtype=np.int64), 1)
    for denominator in _DENOMINATORS:
        weights = np.maximum(np.rint(values * denominator), 0).astype(np.int64)
        heaviest = int((inside @ weights).max(initial=0))
        if not heaviest:
            continue
        if Fraction(int(weights.sum()), heaviest) > Fraction(int(best[0].sum()), best[1]):
            best = weights, heaviest
        if -(-int(weights.sum()) // heaviest) >= target:
            return weights, heaviest
    return best


def bits(mask: int) -> list[int]:
    """Return positions of the ones."""
    positions = []
    while mask:
        low = mask & -mask
        positions.append(low.bit_length() - 1)
        mask ^= low
    return positions


def _choose_sparsest(positive: np.ndarray, rows: Sequence[int], columns: Sequence[int]) -> tuple[int, ...]:
    counts = positive[np.ix_(rows, columns)].sum(axis=1)
    return tuple(sorted(rows[k] for k in np.argsort(counts, kind="stable")[:_MAX_LINES]))


def _list_distinct(positive: np.ndarray) -> tuple[int, ...]:
    """Return rows that are neither empty nor the same as an earlier one."""
    first_rows: dict[bytes, int] = {}
    for i, row in enumerate(positive):
        if row.any():
            first_rows.setdefault(row.tobytes(), i)
    return tuple(first_rows.values())
