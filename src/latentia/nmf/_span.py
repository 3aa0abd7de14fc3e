"""Search in the span of the rows (section 2.7): r^2 unknowns in place of all entries of both factors.

The best approximation of rank r, without signs, is M_r = U V. Any factors of it are A = U S, W = S^-1 V. Where some S makes
both nonnegative they are a best nonnegative factorization; where none does, the S of the least negative parts is a start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

_MAX_STEPS = 500
_MAX_ABSENT, _MIN_PRESENT = 0.02, 0.2  # shares of the largest entry: absent up to the first, present from the second
_MIN_RELEVANT = 0.05  # share of the largest entry from which an entry must not become negative


def reduce_negative_parts(row_factor: np.ndarray, column_factor: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the S^-1 near a start for which the negative parts of U S and S^-1 V have the least squared length.

    Parameters
    ----------
    row_factor, column_factor : ndarrays of shape (n, r), (r, d)
        U and V.
    start : ndarray of shape (r, r)
        Initial S.

    Returns
    -------
    ndarray of shape (r, r)
    """
    r = len(start)
    sizes = np.linalg.norm(row_factor @ start, axis=0)
    start = start / np.where(sizes > 0, sizes, 1.0)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        S = flat.reshape(r, r)
        try:
            T = np.linalg.inv(S)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(flat)
        a, w = np.minimum(row_factor @ S, 0.0), np.minimum(T @ column_factor, 0.0)
        slope = 2 * (row_factor.T @ a) - 2 * T.T @ (w @ column_factor.T) @ T.T
        return float((a**2).sum() + (w**2).sum()), slope.ravel()

    result: Any = optimize.minimize(
        objective,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_STEPS, "ftol": 1e-30, "gtol": 1e-14},
    )
    S = result.x.reshape(r, r)
    return np.asarray(np.linalg.pinv(S))


def measure_freedom(components: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return how far each component of unit length can be moved with the same A W, shape (r,).

    A_k W_k + A_j W_j = A_k (W_k + t W_j) + (A_j - t A_k) W_j, which is nonnegative as well for t from -min W_k / W_j to
    min A_j / A_k. Any t of this range is as good, so the error of the component is the root mean square of its moves.
    """
    r = len(components)
    lengths = np.linalg.norm(components, axis=1)
    directions = components / np.where(lengths > 0, lengths, 1.0)[:, None]
    squares = np.zeros(r)
    for k in range(r):
        for j in range(r):
            if j == k or not lengths[k] or not lengths[j]:
                continue
            low, high = _least_ratio(components[k], components[j]), _least_ratio(weights[:, j], weights[:, k])
            across = np.sqrt(max(1 - float(directions[k] @ directions[j]) ** 2, 0.0)) * lengths[j] / lengths[k]
            squares[k] += (low**2 - low * high + high**2) / 3 * across**2
    return np.minimum(np.sqrt(squares), np.sqrt(2))


def _least_ratio(above: np.ndarray, below: np.ndarray) -> float:
    counts = below > _MIN_RELEVANT * below.max(initial=0.0)
    return float((above[counts] / below[counts]).min()) if counts.any() else 0.0


def count_distinguishing(components: np.ndarray, weights: np.ndarray) -> int:
    """Count the features, and the rows, that have one component without another; return the least number over all pairs.

    Where every pair has some of both, no component can be moved along another.
    """

    def count_smallest(columns: np.ndarray) -> int:
        sizes = columns / np.maximum(columns.max(axis=0, initial=0.0), np.finfo(float).tiny)
        counts = (sizes <= _MAX_ABSENT).T.astype(np.int64) @ (sizes >= _MIN_PRESENT).astype(np.int64)
        np.fill_diagonal(counts, len(columns))
        return int(counts.min())

    return min(count_smallest(components.T), count_smallest(weights))
