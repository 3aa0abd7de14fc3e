"""Search in the span of the rows (section 2.7): r^2 unknowns in place of all entries of both factors.

The best approximation of rank r, without signs, is M_r = U V. Any factors of it are A = U S, W = S^-1 V. Where some S makes
both nonnegative they are a best nonnegative factorization; where none does, the S of the least negative parts is a start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

__all__ = ["in_span"]

_STEPS = 500


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
    u, v = np.linalg.qr(left, mode="r"), right  # what follows needs U itself for signs, its triangle for sizes
    sizes = np.linalg.norm(u @ start, axis=0)
    start = start / np.where(sizes > 0, sizes, 1.0)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        S = flat.reshape(r, r)
        try:
            T = np.linalg.inv(S)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(flat)
        a, w = np.minimum(left @ S, 0.0), np.minimum(T @ v, 0.0)
        slope = 2 * (left.T @ a) - 2 * T.T @ (w @ v.T) @ T.T
        return float((a**2).sum() + (w**2).sum()), slope.ravel()

    found: Any = optimize.minimize(
        objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS, "ftol": 1e-30, "gtol": 1e-14}
    )
    S = found.x.reshape(r, r)
    return np.asarray(np.linalg.pinv(S))
