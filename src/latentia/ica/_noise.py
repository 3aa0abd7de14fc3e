"""Independent components in Gaussian noise of any covariance.

Model. y = A h + e in coordinates in which y has covariance I; e is Gaussian. Noise changes the covariance, not the fourth
cumulant C = sum_k kappa_k a_k^(x 4), but the columns a_k of A are then not orthogonal. They solve

    min |C - sum_k sigma_k b_k^(x 4)|^2,      b_k = |kappa_k|^(1/4) a_k,      sigma_k the sign of kappa_k,

by L-BFGS. Entries of C have independent noise of equal size if rows are nearly Gaussian, as in much noise; the entries that A
does not change at the truth, C_kkll and C_klmn, absorb part of the noise of the others.

Neither the length of a_k nor the size of kappa_k is identified: a source may have a Gaussian part. We take the smallest noise
for which all a_k have the same length: |a_k|^2 is the inverse of the largest eigenvalue of the Gram matrix of the unit
vectors a_k / |a_k|, and I - A A^T is the covariance of the noise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from ..linalg import whiten
from ..moments import FourthCumulants
from ..tensor.operators import SymmetricFour

_MIN_VARIANCE = 1e-9  # Directions with a smaller share of the largest variance are rounding errors.
_OPTIONS = {"maxiter": 300, "ftol": 1e-11, "gtol": 1e-6}


class SourcesInNoise(NamedTuple):
    """Sources in Gaussian noise, by the fourth cumulant.

    Attributes
    ----------
    matrix : ndarray of shape (K, b)
        Unmixing of coordinates with the smallest noise: (A^T S^-1 A)^-1 A^T S^-1, with the covariance S of noise or rows.
    inverse : ndarray of shape (b, K)
        Mixing A, for noise-free sources of unit variance.
    rest : ndarray of shape (r - K, b)
        White combinations of coordinates without a source.
    kurtosis : ndarray of shape (K,)
        Excess kurtosis of the noise-free sources.
    residual : float
        Unexplained share of the cumulant, in Frobenius norm.
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


def recover_in_noise(sums: FourthCumulants, start: np.ndarray) -> SourcesInNoise:
    """Recover sources by least squares on the cumulant, from an initial mixing of shape (b, K)."""
    k, variances = start.shape[1], np.linalg.eigvalsh(sums.covariance)
    white = whiten(sums.covariance, max(k, int((variances > _MIN_VARIANCE * variances[-1]).sum())), "covariance")
    vectors, signs, result = _fit_least_squares(sums.cumulant(white.matrix), (white.matrix.T @ start).T)
    sizes = np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(float).tiny)
    units = vectors / sizes[:, None]
    length = 1 / np.linalg.norm(units, 2)
    kurtosis = signs * (sizes / length) ** 4
    order = np.argsort(-np.abs(kurtosis), kind="stable")
    mixing = length * units[order].T
    rest = np.linalg.qr(mixing, mode="complete")[0][:, k:]
    return SourcesInNoise(
        np.linalg.pinv(mixing) @ white.matrix.T, white.inverse @ mixing, rest.T @ white.matrix.T,
        kurtosis[order], float(np.sqrt(max(result.fun, 0.0))), int(result.nit), bool(result.success),
    )  # fmt: skip


def _fit_least_squares(cumulant: SymmetricFour, start: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """Fit the vectors b_k (rows) and their signs; also return the result of the optimiser."""
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

    initial = units * np.abs(kurtosis)[:, None] ** 0.25
    result: Any = optimize.minimize(objective, initial.ravel(), jac=True, method="L-BFGS-B", options=_OPTIONS)
    return result.x.reshape(start.shape), signs, result
