"""Independent components in Gaussian noise of any covariance.

Model. y = A h + e in coordinates in which y has covariance I; e is Gaussian. Noise is in the covariance and not in the fourth
cumulant, C = sum_k kappa_k a_k^(x 4), but the columns a_k of A are not orthogonal then. They are those of

    min |C - sum_k sigma_k b_k^(x 4)|^2,      b_k = |kappa_k|^(1/4) a_k,      sigma_k the sign of kappa_k,

by L-BFGS. Entries of C have independent noise of one size where rows are nearly Gaussian, as they are in much
noise; those that no change of A moves at the truth, C_kkll and C_klmn, take part of the noise of the others with them.

Neither length of a_k nor size of kappa_k can be told: a source may have a Gaussian part. Noise is taken to be as small as the
covariance permits with the same length for all: |a_k|^2 is the inverse of the largest eigenvalue of the Gram matrix of the unit
vectors a_k / |a_k|, and I - A A^T is the covariance of the noise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from ..linalg import whiten
from ..moments import FourthSums
from ..tensor.operators import SymmetricFour

_FLOOR = 1e-9  # of the largest variance, below which a direction is rounding
_STEPS = {"maxiter": 300, "ftol": 1e-11, "gtol": 1e-6}


class SourcesInNoise(NamedTuple):
    """What the fourth cumulant says of sources in Gaussian noise.

    Attributes
    ----------
    matrix : ndarray of shape (K, b)
        Unmixing of coordinates with least noise: (A^T S^-1 A)^-1 A^T S^-1, for the noise's covariance S or that of all.
    inverse : ndarray of shape (b, K)
        A, for sources without their noise of unit variance.
    rest : ndarray of shape (r - K, b)
        White combinations of coordinates in which no source is.
    kurtosis : ndarray of shape (K,)
        Of the sources without their noise.
    residual : float
        Share of the cumulant that they leave, in Frobenius norm.
    n_iter : int
    converged : bool
    """

    matrix: np.ndarray
    inverse: np.ndarray
    rest: np.ndarray
    kurtosis: np.ndarray
    residual: float
    n_iter: int
    converged: bool


def sources_in_noise(m: FourthSums, start: np.ndarray) -> SourcesInNoise:
    """Least squares on the cumulant, from a mixing of coordinates of shape (b, K)."""
    k, variances = start.shape[1], np.linalg.eigvalsh(m.covariance)
    white = whiten(m.covariance, max(k, int((variances > _FLOOR * variances[-1]).sum())), "covariance")
    vectors, signs, found = _least_squares(m.cumulant(white.matrix), (white.matrix.T @ start).T)
    sizes = np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(float).tiny)
    units = vectors / sizes[:, None]
    length = 1 / np.linalg.norm(units, 2)
    kurtosis = signs * (sizes / length) ** 4
    order = np.argsort(-np.abs(kurtosis), kind="stable")
    mixing = length * units[order].T
    rest = np.linalg.qr(mixing, mode="complete")[0][:, k:]
    return SourcesInNoise(
        np.linalg.pinv(mixing) @ white.matrix.T, white.inverse @ mixing, rest.T @ white.matrix.T,
        kurtosis[order], float(np.sqrt(max(found.fun, 0.0))), int(found.nit), bool(found.success),
    )  # fmt: skip


def _least_squares(cumulant: SymmetricFour, start: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """The vectors b_k in rows, their signs, and what the descent says of itself."""
    units = start / np.linalg.norm(start, axis=1, keepdims=True)
    values = np.einsum("ki,ki->k", cumulant.contract(units), units)
    kurtosis = np.linalg.lstsq((units @ units.T) ** 4, values, rcond=None)[0]
    signs, size = np.where(kurtosis < 0, -1.0, 1.0), max(cumulant.norm_squared(), np.finfo(float).tiny)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        vectors = flat.reshape(start.shape)
        gram, images = vectors @ vectors.T, signs[:, None] * cumulant.contract(vectors)
        cubes = np.outer(signs, signs) * gram**3
        value = (cubes * gram).sum() - 2 * (images * vectors).sum()
        return 1 + value / size, (8 / size * (cubes @ vectors - images)).ravel()

    first = units * np.abs(kurtosis)[:, None] ** 0.25
    found: Any = optimize.minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", options=_STEPS)
    return found.x.reshape(start.shape), signs, found
