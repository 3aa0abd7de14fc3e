"""The fractional rectangle cover: weights of cells of which no rectangle has more than one.

By duality of linear programs the largest sum of such weights is the size of the smallest fractional cover of the support by
rectangles. It is at most the number of components.

References
----------
Karchmer, Kushilevitz, Nisan. Fractional covers and communication complexity. 1995.
Fiorini, Kaibel, Pashkovich, Theis. Combinatorial bounds on nonnegative rank and extended formulations. 2013.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from ._fooling_set import fooling_set_bound
from ._rational import as_rational
from ._rectangles import (
    Deadline,
    Rectangle,
    Support,
    are_few,
    are_in,
    incidence,
    integral_dual,
    maximal_rectangles,
    positive_masks,
    transpose_masks,
)

Weights = tuple[tuple[int, int, Fraction], ...]  # row, column and weight of cells

_MAX_INT_SUM = 2**62


@dataclass(frozen=True)
class RectangleCover:
    """Weights of positive cells of which no rectangle of positive entries has more than one.

    Attributes
    ----------
    weights : tuple of (int, int, Fraction)
        Row, column and weight of the cells that have one.
    optimal : bool
        The weights come from the solved linear program; otherwise its time was over, or rectangles were too many.
    """

    weights: Weights
    optimal: bool

    @property
    def value(self) -> Fraction:
        """Sum of the weights: the fractional rectangle cover has at least this size."""
        return sum((weight for *_, weight in self.weights), Fraction(0))

    @property
    def bound(self) -> int:
        return math.ceil(self.value)

    @property
    def reason(self) -> str:
        return (
            f"Positive entries have weights with sum {self.value} of which no rectangle of positive entries has more than 1, "
            f"so that fewer than {self.bound} components cannot cover them."
        )

    def verify(self, M: Any) -> bool:
        """Return True if the weights are positive, on positive cells, and no rectangle is heavier than one.

        Rectangles of the rows and columns with weights are listed anew, by intersections of columns.
        """
        return weights_hold(as_rational(M), self.weights)


def rectangle_cover_bound(M: Any, seconds: float = 5.0) -> RectangleCover:
    """Return weights of positive cells for the fractional rectangle cover, in rational numbers.

    The linear program over all maximal rectangles is solved in floats; its weights are rounded, and scaled so that the heaviest
    rectangle has exactly weight one. The denominator is the first that keeps the bound. Where the rectangles are too many for
    the time, the weights are those of a fooling set.

    Parameters
    ----------
    M : array-like of exact numbers, shape (n, m)
        Nonnegative, as `exact_nmf` takes it. Only the support matters.
    seconds : float
        Time limit of the search.

    Returns
    -------
    RectangleCover
        The bound and its certificate, with a method ``verify``.

    Raises
    ------
    LatentiaError
        If M has negative entries or numbers that are not exact, such as NaN.
    """
    M = as_rational(M)
    deadline = Deadline(seconds)
    support = Support.from_matrix(M)
    rectangles = maximal_rectangles(support.masks, deadline)
    weights = None if rectangles is None else dual_weights(support, rectangles, deadline)
    if weights is None:
        fooling = fooling_set_bound(M, deadline.remaining)
        return RectangleCover(tuple((i, j, Fraction(1)) for i, j in fooling.cells), False)
    return RectangleCover(weights, True)


def dual_weights(support: Support, rectangles: Sequence[Rectangle], deadline: Deadline) -> Weights | None:
    """Return rational weights of cells of which no rectangle has more than one, and as much as possible in all.

    None if there are too many rectangles, or the time is over.
    """
    cells = support.cells
    if not cells:
        return ()
    if not are_few(rectangles):
        return None
    inside = incidence(list(dict.fromkeys(map(support.cells_of, rectangles))), cells)
    limit = {"time_limit": max(0.1, deadline.remaining)}
    solved = linprog(-np.ones(len(cells)), A_ub=inside, b_ub=np.ones(inside.shape[0]), method="highs", options=limit)
    if solved.x is None or solved.status != 0:
        return None
    weights, denominator = integral_dual(inside, solved.x)
    return tuple(
        (*support.cell(cell), Fraction(int(weight), denominator))
        for cell, weight in zip(cells, weights, strict=True)
        if weight
    )


def weights_hold(
    M: np.ndarray,
    weights: Weights,
    *,
    rows: Sequence[int] | None = None,
    allowed: Callable[[int], int] | None = None,
) -> bool:
    """Return True if the weights are positive, on positive cells, and no rectangle is heavier than one.

    Rectangles are listed by intersections of columns. They are those of the columns with weights, and of ``rows``: by default
    those with weights. ``allowed`` takes the rows of a rectangle, as bits, to those that count.
    """
    cells = {(i, j) for i, j, _ in weights}
    columns = sorted({j for _, j in cells})
    rows = sorted({i for i, _ in cells}) if rows is None else rows
    if len(cells) < len(weights) or not are_in(M, rows, columns):
        return False
    if not all(weight > 0 and M[i, j] > 0 for i, j, weight in weights):
        return False
    by_column = transpose_masks(positive_masks(M, rows, columns), len(columns))
    listed = maximal_rectangles(by_column) or []
    common = math.lcm(1, *(weight.denominator for *_, weight in weights))
    table = np.zeros((len(rows), len(columns)), dtype=object)
    for i, j, weight in weights:
        table[rows.index(i), columns.index(j)] = int(weight * common)
    if table.sum() < _MAX_INT_SUM:
        table = table.astype(np.int64)
    row_indicators = _unpack_bits([allowed(mask) if allowed else mask for _, mask in listed], len(rows))
    column_indicators = _unpack_bits([mask for mask, _ in listed], len(columns))
    return bool(((row_indicators @ table) * column_indicators).sum(axis=1).max(initial=0) <= common)


def _unpack_bits(masks: Sequence[int], size: int) -> np.ndarray:
    """Return rows of zeros and ones for sets of bits: shape (len(masks), size)."""
    width = -(-size // 8)
    packed = b"".join(mask.to_bytes(width, "little") for mask in masks)
    table = np.frombuffer(packed, np.uint8).reshape(len(masks), width)
    return np.unpackbits(table, axis=1, count=size, bitorder="little").astype(np.int64)
