"""Regression on s1 where the moments do not determine its variance in every direction.

With R the residual covariance of the regression of u on v, let E = R^(-1/2) cov(s1) R^(-1/2) and g = R^(1/2) beta. Regression
of y on u and v gives h = E g, too small by the shares E of s1 in R, and E^(-1) h explodes where a share may be zero.
Let E be known up to noise N, and g have the variance tau^2 in every direction. The best linear estimate of g from h is then,
along each eigenvector of E,

    h E[e] / (E[e^2] + E[(N g)^2] / tau^2 + sigma^2 / tau^2),

where the share e is normal with its error bar, truncated to [0, 1], N g is the noise from other directions, and sigma^2 is the
noise of h. That is h / e for a share with a small error, and near h, the regression with V as covariates, for an unknown share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ._extract import Shares

_NOISE_FACTOR = 1.25  # raises the noise from groups of rows, as the directions are those of the noisy matrix
_ALTERNATIVE_WEIGHT = 0.5  # weight of the squared distance of the alternative: the truth is somewhere between
_MIN_DEVIATION = 1e-4  # standard deviation of a share
_MAX_DISTANCE = 30.0  # means further outside of [0, 1], in standard deviations, are clipped


@dataclass(frozen=True)
class ShrunkRegression:
    """A regression on s1 that shrinks directions of uncertain variance, in units of the columns' standard deviations.

    Attributes
    ----------
    covariance : ndarray of shape (d_u, d_u)
        Stands in for cov(s1): the coefficients are its inverse times the covariance with y.
    deviations : ndarray of shape (d_u,)
        Standard deviations of the coefficients.
    """

    covariance: np.ndarray
    deviations: np.ndarray

    @classmethod
    def from_shares(cls, shares: Shares, target: np.ndarray, noise: float) -> ShrunkRegression:
        """Compute it from the covariance of s1 with y, shape (d_u,), and its noise sigma^2 in the metric of R."""
        values, basis = np.linalg.eigh(shares.mean)
        root, inverse = shares.metric.root @ basis, shares.metric.inverse @ basis
        scatter = _NOISE_FACTOR * _quadratic_forms(shares.noise, basis)
        # Symmetric noise has twice the variance on the diagonal: 2 of d + 1 parts of N^2 belong to the share itself.
        share_variance = 2 / (len(values) + 1) * scatter
        mean, square = _moments_of_truncated(
            values,
            share_variance
            + _ALTERNATIVE_WEIGHT * _quadratic_forms(shares.alternative_shift @ shares.alternative_shift, basis),
        )
        square = square + scatter - share_variance
        spread = max(float(np.mean((inverse.T @ target) ** 2 / square)), np.finfo(float).tiny)  # tau^2
        divisor = (square + noise / spread) / mean
        unexplained = spread * np.maximum(1 - mean / divisor, 0)
        return cls((root * divisor) @ root.T, np.sqrt(inverse**2 @ unexplained))


def _quadratic_forms(matrix: np.ndarray, basis: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("ji,jk,ki->i", basis, matrix, basis))


def _moments_of_truncated(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and mean square of normal variables, truncated to [0, 1]."""
    deviation = np.maximum(np.sqrt(variance), _MIN_DEVIATION)
    mean = np.clip(mean, -_MAX_DISTANCE * deviation, 1 + _MAX_DISTANCE * deviation)
    truncated = stats.truncnorm(-mean / deviation, (1 - mean) / deviation, mean, deviation)
    first = truncated.mean()
    return first, first**2 + truncated.var()
