"""Rank at most two: the nonnegative rank is the rank, with a factorization in closed form.

The columns of a matrix of rank two lie in a plane, and the cone that they generate has two extreme rays, which are
columns a and b of the matrix. Every column is a nonnegative combination of the two. (Rank one: one column.)
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def factor_of_rank_two(M: np.ndarray, rows: tuple[int, ...], columns: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return factors A (columns of M) and W of a nonnegative matrix of rank at most two.

    Parameters
    ----------
    M : array of int, shape (n, m)
        A matrix without zero columns.
    rows, columns : tuple of int
        Of a minor that is not zero, as many as the rank.

    Returns
    -------
    A, W : array of Fraction, shapes (n, rank) and (rank, m)
    """
    if not rows:
        return np.empty((M.shape[0], 0), dtype=object), np.empty((0, M.shape[1]), dtype=object)
    if len(rows) == 1:
        base = M[rows[0], columns[0]]
        return _fractions(M[:, [columns[0]]]), np.array(
            [[Fraction(int(x), int(base)) for x in M[rows[0]]]], dtype=object
        )
    # Two rows tell the columns apart, and both are nonnegative there: directions are ordered by their ratio.
    top, low = M[rows[0]], M[rows[1]]
    first = last = 0
    for j in range(M.shape[1]):
        first = j if top[j] * low[first] > top[first] * low[j] else first
        last = j if top[j] * low[last] < top[last] * low[j] else last
    minor = int(top[first] * low[last] - top[last] * low[first])
    W = np.empty((2, M.shape[1]), dtype=object)
    W[0] = [Fraction(int(x), minor) for x in top * low[last] - top[last] * low]
    W[1] = [Fraction(int(x), minor) for x in top[first] * low - top * low[first]]
    return _fractions(M[:, [first, last]]), W


def _fractions(M: np.ndarray) -> np.ndarray:
    return np.array([[Fraction(int(x)) for x in row] for row in M], dtype=object).reshape(M.shape)
