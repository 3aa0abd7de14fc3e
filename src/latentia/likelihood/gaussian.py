"""Normal distributions with diagonal or full covariances: densities and sums, stable far from the origin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from scipy import linalg, sparse

from ..exceptions import LatentiaError


def gaussian_log_density(X: Any, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Compute log-densities of Gaussians with diagonal covariances, shape (n, K), for X (n, d).

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    means, variances : ndarray of shape (K, d)
    """
    variances = np.asarray(variances, dtype=np.float64)
    constant = -0.5 * np.log(2 * np.pi * variances).sum(axis=1)
    rows, means = _dense(X), np.ascontiguousarray(means, dtype=np.float64)
    log_density = np.empty((len(rows), len(means)))
    _gaussian(rows, means, np.ascontiguousarray(1 / variances), constant, log_density)
    return log_density


def full_gaussian_log_density(X: Any, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Compute log-densities of Gaussians with full covariances, (n, K), for X (n, d).

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    means : ndarray of shape (K, d)
    covariances : ndarray of shape (K, d, d), or (1, d, d) if all components share one
    """
    rows = _dense(X)
    log_density = np.empty((len(rows), len(means)))
    for k, mean in enumerate(means):
        root = linalg.cholesky(covariances[min(k, len(covariances) - 1)], lower=True)
        scaled = linalg.solve_triangular(root, (rows - mean).T, lower=True)
        constant = len(mean) * np.log(2 * np.pi) + 2 * np.log(np.diag(root)).sum()
        log_density[:, k] = -0.5 * ((scaled**2).sum(axis=0) + constant)
    return log_density


def covariance_roots(covariances: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky roots of covariances, (n, D, D); raise a `LatentiaError` for a singular one."""
    try:
        return np.asarray(np.linalg.cholesky(covariances))
    except np.linalg.LinAlgError as error:
        raise LatentiaError(
            "A covariance is singular: columns depend on each other, or n_components is too large for the rows."
        ) from error


def check_covariances(covariances: np.ndarray, name: str) -> None:
    """Raise a `LatentiaError` unless they are symmetric and positive definite, shape (K, D, D)."""
    if not np.isfinite(covariances).all() or not np.allclose(covariances, covariances.swapaxes(1, 2)):
        raise LatentiaError(f"{name} is not symmetric")
    try:
        np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError as error:
        raise LatentiaError(f"{name} is not positive definite") from error


def add_gaussian(X: Any, posterior: np.ndarray, means: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Add posterior (x - mean) and posterior (x - mean)^2 over the rows to ``first`` and ``second``, shape (K, d)."""
    _add_gaussian(_dense(X), posterior, means, first, second)


def _dense(X: Any) -> np.ndarray:
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


# Sums over columns may be reordered for vector registers; compilation fixes the order.
@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _gaussian(rows, means, precisions, constant, log_density):
    k, d = means.shape
    for t in range(len(rows)):
        for i in range(k):
            square = 0.0
            for j in range(d):
                gap = rows[t, j] - means[i, j]
                square += gap * gap * precisions[i, j]
            log_density[t, i] = constant[i] - 0.5 * square


@njit(nogil=True, cache=True)
def _add_gaussian(rows, posterior, means, first, second):
    k, d = means.shape
    for t in range(len(rows)):
        for i in range(k):
            r = posterior[t, i]
            for j in range(d):
                gap = rows[t, j] - means[i, j]
                first[i, j] += r * gap
                second[i, j] += r * gap * gap
