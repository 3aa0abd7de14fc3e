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
_MOST_INCIDENCES = 3_000_000  # cells of all rectangles
_MOST_LINES = 100
_SLACK = 1e-7  # of a value that a linear program in floats has found


class Deadline:
    """A moment after which a search returns what it has proved so far."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._end


@dataclass(frozen=True)
class Support:
    """The support of M without empty and repeated rows and columns.

    With ``merge_rows=False`` rows that repeat another one are kept. Of many rows or columns those with the most zeros are kept:
    what is shown for a part of M holds for M.

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
    def of(cls, M: np.ndarray, merge_rows: bool = True) -> Support:
        positive = (M > 0).astype(bool)
        rows = _distinct(positive) if merge_rows else tuple(np.flatnonzero(positive.any(axis=1)).tolist())
        columns = _distinct(positive[list(rows)].T)
        rows, columns = _sparsest(positive, rows, columns), _sparsest(positive.T, columns, rows)
        return cls(rows, columns, positive_masks(M, rows, columns))

    def cell(self, number: int) -> tuple[int, int]:
        """Row and column in M of cell ``number`` of the kept ones, counted row by row."""
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
        """Cells of a rectangle."""
        rows, columns = rectangle
        return sum(columns << (i * len(self.columns)) for i in bits(rows))


def are_in(M: np.ndarray, rows: Iterable[int], columns: Iterable[int]) -> bool:
    """Whether M has these rows and columns."""
    n, m = M.shape
    return all(0 <= i < n for i in rows) and all(0 <= j < m for j in columns)


def are_few(rectangles: Iterable[Rectangle]) -> bool:
    """Whether the rectangles have no more than some million cells, each with its own."""
    return sum(rows.bit_count() * columns.bit_count() for rows, columns in rectangles) <= _MOST_INCIDENCES


def positive_masks(M: np.ndarray, rows: Sequence[int], columns: Sequence[int]) -> tuple[int, ...]:
    """For each of ``rows`` the positions in ``columns`` where M is positive."""
    return tuple(sum(1 << position for position, j in enumerate(columns) if M[i, j] > 0) for i in rows)


def transposed(masks: Sequence[int], n_columns: int) -> tuple[int, ...]:
    """For each column the rows that have it."""
    return tuple(sum(1 << i for i, mask in enumerate(masks) if mask >> j & 1) for j in range(n_columns))


def maximal_rectangles(
    masks: Sequence[int], deadline: Deadline | None = None, most: int = 200_000
) -> list[Rectangle] | None:
    """All rectangles inside the support that no larger one contains, as (rows, columns); None if they are too many.

    Their column sets are the intersections of rows.
    """
    closed: set[int] = set()
    for mask in sorted(set(masks)):
        closed |= {mask} | {mask & other for other in closed}
        if deadline is not None and (len(closed) > most or deadline.passed):
            return None
    closed.discard(0)
    return [(sum(1 << i for i, mask in enumerate(masks) if not columns & ~mask), columns) for columns in sorted(closed)]


def only_maximal(sets: Iterable[int]) -> list[int]:
    """Sets that are in no other one."""
    kept: list[int] = []
    for candidate in sorted(set(sets), key=lambda s: (-s.bit_count(), s)):
        if all(candidate & ~other for other in kept):
            kept.append(candidate)
    return kept


def shared_cells(support: Support) -> dict[int, int]:
    """For each positive cell the positive cells, itself among them, that lie with it in a rectangle of the support."""
    width = len(support.columns)
    by_column = transposed(support.masks, width)
    return {
        i * width + j: sum((support.masks[k] & mask) << (k * width) for k in bits(by_column[j]))
        for i, mask in enumerate(support.masks)
        for j in bits(mask)
    }


def incidence(sets: Sequence[int], cells: Sequence[int]) -> sparse.csr_array:
    """Which of ``cells`` are in each set: integer array, shape (len(sets), len(cells))."""
    position = {cell: number for number, cell in enumerate(cells)}
    columns = [[position[cell] for cell in bits(one)] for one in sets]
    ends = np.cumsum([0, *map(len, columns)])
    flat = np.array([column for row in columns for column in row], dtype=np.int64)
    return sparse.csr_array((np.ones(len(flat), dtype=np.int64), flat, ends), shape=(len(sets), len(cells)))


def integral_dual(inside: sparse.csr_array, values: np.ndarray) -> tuple[np.ndarray, int]:
    """Rational weights of cells of which no rectangle has more than one: whole numbers and their common denominator.

    They are the weights that a linear program found in floats, rounded, and divided by the exact weight of the heaviest
    rectangle. The denominator is the first that keeps the bound.
    """
    wanted = int(np.ceil(values.sum() - _SLACK))
    best: tuple[np.ndarray, int] = (np.zeros(len(values), dtype=np.int64), 1)
    for denominator in _DENOMINATORS:
        weights = np.maximum(np.rint(values * denominator), 0).astype(np.int64)
        heaviest = int((inside @ weights).max(initial=0))
        if not heaviest:
            continue
        if Fraction(int(weights.sum()), heaviest) > Fraction(int(best[0].sum()), best[1]):
            best = weights, heaviest
        if -(-int(weights.sum()) // heaviest) >= wanted:
            return weights, heaviest
    return best


def bits(mask: int) -> list[int]:
    """Positions of the ones."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _sparsest(positive: np.ndarray, rows: Sequence[int], columns: Sequence[int]) -> tuple[int, ...]:
    counts = positive[np.ix_(rows, columns)].sum(axis=1)
    return tuple(sorted(rows[k] for k in np.argsort(counts, kind="stable")[:_MOST_LINES]))


def _distinct(positive: np.ndarray) -> tuple[int, ...]:
    """Rows that are neither empty nor the same as an earlier one."""
    kept: dict[bytes, int] = {}
    for i, row in enumerate(positive):
        if row.any():
            kept.setdefault(row.tobytes(), i)
    return tuple(kept.values())
