"""Packed symmetric d x d x d tensors, for sizes at which a full array is too large.

A tensor is stored as a d x P matrix, P = d (d + 1) / 2, with a column for each pair i <= j of its last two modes. Sums of
products and changes of coordinates are matrix products in this form, and need no array of d^3 numbers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..tensor.operators import pair_products, pieces

_TILE = 16  # side of the blocks that stay in the cache


def pack_pairs(matrix: np.ndarray) -> np.ndarray:
    """Return the mean of a square matrix and its transpose, packed: shape (P,)."""
    i, j = np.triu_indices(len(matrix))
    return (matrix[i, j] + matrix[j, i]) / 2


def sum_products(first_factor: np.ndarray, second_factor: np.ndarray) -> np.ndarray:
    """Sum l (x) r (x) r over the rows l, r of two factors of shape (n, d); packed, (d, P), not symmetric yet."""
    d = second_factor.shape[1]
    sums = np.empty((d, d * (d + 1) // 2), second_factor.dtype)
    for columns, first, last in pieces(d):
        np.matmul(first_factor.T, pair_products(second_factor, columns.start, columns.stop), out=sums[:, first:last])
    return sums


def symmetrise(packed: np.ndarray) -> np.ndarray:
    """Replace a tensor by its mean over all orders of the modes, in place; return it."""
    _symmetrise(packed, _pair_starts(len(packed)))
    return packed


def transform(packed: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Replace T by T(M, M, M) for a square matrix M, in place; return it."""
    d = len(packed)
    upper, full = np.triu_indices(d), np.empty((d, d), packed.dtype)
    for row in packed:
        full[upper] = row
        full.T[upper] = row
        row[:] = (matrix.T @ full @ matrix)[upper]
    for _, first, last in pieces(d):
        packed[:, first:last] = matrix.T @ packed[:, first:last]
    return packed


def _pair_starts(d: int) -> np.ndarray:
    """Return the column of the pair (i, j), less j, for every i."""
    i = np.arange(d)
    return i * d - i * (i + 1) // 2


@njit(nogil=True, cache=True)
def _symmetrise(packed: np.ndarray, starts: np.ndarray) -> None:
    d = len(packed)
    for a in range(0, d, _TILE):
        for b in range(a, d, _TILE):
            for c in range(b, d, _TILE):
                for i in range(a, min(a + _TILE, d)):
                    for j in range(max(b, i), min(b + _TILE, d)):
                        for k in range(max(c, j), min(c + _TILE, d)):
                            jk, ik, ij = starts[j] + k, starts[i] + k, starts[i] + j
                            mean = (packed[i, jk] + packed[j, ik] + packed[k, ij]) / 3
                            packed[i, jk] = packed[j, ik] = packed[k, ij] = mean
