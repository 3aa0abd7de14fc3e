"""Search in the span of the rows (section 2.7): r^2 unknowns in place of all entries of both factors.

The best approximation of rank r, without signs, is M_r = U V. Any factors of it are A = U S, W = S^-1 V. Where some S makes
both nonnegative they are a best nonnegative factorization; where none does, the S of the least negative parts is a start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

_STEPS = 500
_ABSENT, _PRESENT = 0.02, 0.2  # of the largest entry, up to which one counts as zero, and from which on as there
_COUNTS = 0.05  # of the largest, from which on an entry that would become negative counts


def in_span(left: np.ndarray, right: np.ndarray, start: np.ndarray) -> np.ndarray:
    """S^-1 for which the negative parts of U S and S^-1 V have the least squared length, near a start.

    Parameters
    ----------
    left, right : ndarrays of shape (n, r), (r, d)
        U and V.
    start : ndarray of shape (r, r)
        S to start from.

    Returns
    -------
    ndarray of shape (r, r)
    """
    r = len(start)
    sizes = np.linalg.norm(left @ start, axis=0)
    start = start / np.where(sizes > 0, sizes, 1.0)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        S = flat.reshape(r, r)
        try:
            T = np.linalg.inv(S)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(flat)
        a, w = np.minimum(left @ S, 0.0), np.minimum(T @ right, 0.0)
        slope = 2 * (left.T @ a) - 2 * T.T @ (w @ right.T) @ T.T
        return float((a**2).sum() + (w**2).sum()), slope.ravel()

    found: Any = optimize.minimize(
        objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS, "ftol": 1e-30, "gtol": 1e-14}
    )
    S = found.x.reshape(r, r)
    return np.asarray(np.linalg.pinv(S))


def freedom(components: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """How far each component may be from the one that made the rows, though A W is the same: of unit length, shape (r,).

    A_k W_k + A_j W_j = A_k (W_k + t W_j) + (A_j - t A_k) W_j, which is nonnegative as well for t from -min W_k / W_j to
    min A_j / A_k. Any t of this range is as good, so the component is off by the root mean square of what they move it.
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
    counts = below > _COUNTS * below.max(initial=0.0)
    return float((above[counts] / below[counts]).min()) if counts.any() else 0.0


def telling_apart(components: np.ndarray, weights: np.ndarray) -> int:
    """Least number, over pairs of components, of features of one without the other, and of rows of one without the other.

    Where each pair has some of both, neither component can be moved along the other.
    """

    def least(columns: np.ndarray) -> int:
        sizes = columns / np.maximum(columns.max(axis=0, initial=0.0), np.finfo(float).tiny)
        counts = (sizes <= _ABSENT).T.astype(np.int64) @ (sizes >= _PRESENT).astype(np.int64)
        np.fill_diagonal(counts, len(columns))
        return int(counts.min())

    return min(least(components.T), least(weights))
