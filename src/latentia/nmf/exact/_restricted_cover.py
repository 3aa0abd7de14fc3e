"""Covers by rectangles that a factor of the same rank as the matrix could have.

Let M have rank k. As rank(A) + rank(W) <= r + k, with r <= k + 1 components one factor has rank k, and then all columns of A
are in the column space of M, or all rows of W in its row space. A column of A then vanishes on a face of the cone {x >= 0 in
the column space}, and a rectangle is allowed only if its rows are the support of such an x. If neither the columns nor the rows
of M have a cover by k + 1 allowed rectangles, r >= k + 2. This is what shows that six points on a line have a distance matrix
of nonnegative rank five: its support needs no more than four rectangles.

References
----------
Gillis, Glineur. On the geometric interpretation of the nonnegative rank. 2012.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...linalg.rational import Vector, dot, independent_columns, inverse, null_vectors, primitive
from ...linalg.rational import rank as matrix_rank
from ._rational import as_rational
from ._rectangle_cover import Weights, dual_weights, weights_hold
from ._rectangles import Deadline, Support, maximal_rectangles

_MAX_FLATS = 20_000  # sets of rows that the check of extreme rays goes through


@dataclass(frozen=True)
class RestrictedCover:
    """Weights of cells of which no rectangle that a factor of the same rank as M could have holds more than one.

    Attributes
    ----------
    rank : int
        k, the rank of M.
    weights : tuple of (int, int, Fraction)
        For rectangles whose rows are the support of a nonnegative vector of the column space.
    row_weights : tuple of (int, int, Fraction)
        For rectangles whose columns are the support of a nonnegative vector of the row space.
    """

    rank: int
    weights: Weights
    row_weights: Weights

    @property
    def values(self) -> tuple[Fraction, Fraction]:
        """Sizes that the two covers have at least."""
        first, second = (sum((w for *_, w in weights), Fraction(0)) for weights in (self.weights, self.row_weights))
        return first, second

    @property
    def bound(self) -> int:
        low, high = sorted(map(math.ceil, self.values))
        if low >= self.rank + 2:
            return self.rank + 2
        return self.rank + 1 if high > self.rank else self.rank

    @property
    def reason(self) -> str:
        if self.bound == self.rank:
            return f"The rank is {self.rank}."
        sizes = " and ".join(map(str, self.values))
        return (
            f"With fewer than {self.bound} components a factor would have the rank of the matrix, {self.rank}, and its "
            f"supports, which are unions of faces, cannot cover the support of the matrix: {sizes} are needed."
        )

    def verify(self, M: Any) -> bool:
        """Return True if the rank is k, and no allowed rectangle is heavier than one.

        Vectors on the extreme rays are found anew, from all sets of k - 1 rows of which they are the null vectors.
        """
        M = as_rational(M)
        if matrix_rank(M) != self.rank:
            return False
        sides = ((M, self.weights), (M.T, tuple((j, i, w) for i, j, w in self.row_weights)))
        return all(_check_dual_weights(matrix, weights) for matrix, weights in sides)


def restricted_cover_bound(M: Any, seconds: float = 5.0) -> RestrictedCover:
    """Bound the nonnegative rank, up to rank + 2, by covers with supports of nonnegative vectors of the column and row space.

    The bound is the rank where the cone has too many faces for the time, or the rank is full.

    Parameters
    ----------
    M : array-like of exact numbers, shape (n, m)
        Nonnegative, as `exact_nmf` takes it.
    seconds : float
        Time limit of the search.

    Returns
    -------
    RestrictedCover
        The bound and its certificate, with a method ``verify``.

    Raises
    ------
    LatentiaError
        If M has negative entries or numbers that are not exact, such as NaN.
    """
    M = as_rational(M)
    deadline = Deadline(seconds)
    rank = matrix_rank(M)
    if rank == min(M.shape):  # more components are never needed
        return RestrictedCover(rank, (), ())
    weights = _find_dual_weights(M, rank, deadline)
    row_weights = _find_dual_weights(M.T, rank, deadline)
    return RestrictedCover(rank, weights, tuple((j, i, w) for i, j, w in row_weights))


def _find_dual_weights(M: np.ndarray, rank: int, deadline: Deadline) -> Weights:
    """Weight cells for covers by rectangles whose rows are the support of a nonnegative vector of the column space."""
    support = Support.from_matrix(M, merge_rows=False)  # rows of one support may bound different faces
    if math.comb(len(support.rows), max(rank - 1, 0)) > _MAX_FLATS or not support.rows:
        return ()
    rectangles = maximal_rectangles(support.masks, deadline)
    rays = _list_extreme_supports(_basis(M, support.rows), deadline)
    if rectangles is None or rays is None:
        return ()
    allowed = [(_largest_within(rows, rays), columns) for rows, columns in rectangles]
    return dual_weights(support, allowed, deadline) or ()


def _check_dual_weights(M: np.ndarray, weights: Weights) -> bool:
    """Return True if no allowed rectangle is heavier than one."""
    if not weights:
        return True
    rows = [i for i in range(len(M)) if any(x > 0 for x in M[i])]
    rays = _list_null_vector_supports(_basis(M, rows))
    return weights_hold(M, weights, rows=rows, allowed=lambda mask: _largest_within(mask, rays))


def _largest_within(rows: int, rays: Sequence[int]) -> int:
    """Return the union of the supports that are within ``rows``."""
    union = 0
    for support in rays:
        if not support & ~rows:
            union |= support
    return union


def _list_extreme_supports(B: Sequence[Vector], deadline: Deadline) -> list[int] | None:
    """Return supports of the extreme rays of {B c >= 0}, by double description; None if the time is over.

    B has full column rank, so that the cone has an apex.
    """
    start = independent_columns(zip(*B, strict=True))
    simplicial_rays = inverse([B[i] for i in start]) or []
    rays = [primitive(column) for column in zip(*simplicial_rays, strict=True)]
    used_rows = list(start)
    for i in range(len(B)):
        if i in start:
            continue
        used_rows.append(i)
        rays = _add_row(rays, B, used_rows, deadline)
        if deadline.has_passed:
            return None
    return sorted({sum(1 << i for i, row in enumerate(B) if dot(row, ray) > 0) for ray in rays})


def _add_row(rays: Sequence[Vector], B: Sequence[Vector], used_rows: Sequence[int], deadline: Deadline) -> list[Vector]:
    """Return the extreme rays after the last of ``used_rows`` is added too; an incomplete list when the time is over."""
    heights = [dot(B[used_rows[-1]], ray) for ray in rays]
    tight = [sum(1 << i for i in used_rows[:-1] if not dot(B[i], ray)) for ray in rays]
    remaining_rays = [ray for ray, height in zip(rays, heights, strict=True) if height >= 0]
    above = [k for k, height in enumerate(heights) if height > 0]
    below = [k for k, height in enumerate(heights) if height < 0]
    for p in above:
        if deadline.has_passed:
            break
        for q in below:
            common = tight[p] & tight[q]
            if all(common & ~tight[k] for k in range(len(rays)) if k not in (p, q)):
                pairs = zip(rays[q], rays[p], strict=True)
                remaining_rays.append(primitive([heights[p] * x - heights[q] * y for x, y in pairs]))
    return remaining_rays


def _list_null_vector_supports(B: Sequence[Vector]) -> list[int]:
    """Return supports of the extreme rays of {B c >= 0}: of the null vectors of k - 1 rows that have one sign."""
    supports = set()
    for ray in null_vectors(B):
        heights = [dot(row, ray) for row in B]
        if min(heights) >= 0 or max(heights) <= 0:
            supports.add(sum(1 << i for i, height in enumerate(heights) if height))
    return sorted(supports)


def _basis(M: np.ndarray, rows: Sequence[int]) -> list[Vector]:
    """Return rows of M in coordinates of independent columns, each a primitive integer vector.

    A row may be scaled by a positive number: supports stay as they are.
    """
    columns = independent_columns(M[list(rows)])
    return [primitive([Fraction(M[i, j]) for j in columns]) for i in rows]
