"""Regression on s1 where the moments do not tell its variance in every direction.

With R the residual covariance of the regression of u on v, let E = R^(-1/2) cov(s1) R^(-1/2) and g = R^(1/2) beta. Regression
of y on u and v finds h = E g, too small by the shares E of s1 in R, and E^(-1) h explodes where a share is not told from zero.
Let E be known up to noise N, and g have the variance tau^2 in every direction. The best linear estimate of g from h is then,
along each eigenvector of E,

    h E[e] / (E[e^2] + E[(N g)^2] / tau^2 + sigma^2 / tau^2),

where the share e is normal with its error bar, truncated to [0, 1], N g is what noise brings in of other directions, and
sigma^2 is the noise of h. That is h / e for a share that is well known, and near h, V as covariates, where nothing is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ._extract import Shares

_ABOVE = 1.25  # times the noise that groups of rows tell: the directions are those of the noisy matrix
_MISSED = 0.5  # of the square of how far the alternative is: the truth is somewhere between
_LEAST = 1e-4  # standard deviation of a share
_FAR = 30.0  # of those, outside of [0, 1], from where on all is at its end


@dataclass(frozen=True)
class Told:
    """What the moments tell of a regression, in units of the columns' standard deviations.

    Attributes
    ----------
    covariance : ndarray of shape (d_u, d_u)
        To be put in the place of cov(s1): the covariance with y over it are the coefficients.
    deviations : ndarray of shape (d_u,)
        Standard deviations of the coefficients.
    """

    covariance: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, shares: Shares, target: np.ndarray, noise: float) -> Told:
        """From the covariance of s1 with y, shape (d_u,), and the variance sigma^2 of its noise in the metric of R."""
        found, basis = np.linalg.eigh(shares.mean)
        root, inverse = shares.metric.root @ basis, shares.metric.inverse @ basis
        scatter = _ABOVE * _along(shares.noise, basis)
        # Symmetric noise has twice the variance on the diagonal: 2 of d + 1 parts of N^2 are the share's own.
        of_share = 2 / (len(found) + 1) * scatter
        mean, square = _truncated(found, of_share + _MISSED * _along(shares.apart @ shares.apart, basis))
        square = square + scatter - of_share
        spread = max(float(np.mean((inverse.T @ target) ** 2 / square)), np.finfo(float).tiny)  # tau^2
        divisor = (square + noise / spread) / mean
        left = spread * np.maximum(1 - mean / divisor, 0)
        return cls((root * divisor) @ root.T, np.sqrt(inverse**2 @ left))


def _along(matrix: np.ndarray, basis: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("ji,jk,ki->i", basis, matrix, basis))


def _truncated(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and mean square of normal variables, truncated to [0, 1]."""
    deviation = np.maximum(np.sqrt(variance), _LEAST)
    mean = np.clip(mean, -_FAR * deviation, 1 + _FAR * deviation)
    known = stats.truncnorm(-mean / deviation, (1 - mean) / deviation, mean, deviation)
    first = known.mean()
    return first, first**2 + known.var()
