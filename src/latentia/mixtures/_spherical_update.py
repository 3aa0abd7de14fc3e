"""Mixtures of spherical Gaussians: densities, and the EM update.

Model: row x comes from component k with probability w_k, and is then normal with mean mu_k and covariance sigma_k^2 I.
Sums are taken about the current means, so that nothing cancels if the data is far from the origin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..likelihood import Distributions, Expected, Gaussians, Values
from ..likelihood.rows import MixtureSums, add_rows, merge_sums, responsibilities
from ..passes import Block


class SphericalMixtureUpdate:
    """Statistic of one E-step for Gaussians with covariance sigma_k^2 I, on dense or sparse rows.

    Squared distances are one product with the means, taken about their centre (sparse rows: about the origin). They
    lose accuracy if the means are more than about 1e6 standard deviations apart.

    Parameters
    ----------
    means : ndarray of shape (K, d)
    weights : ndarray of shape (K,)
    variance : ndarray of shape (K,)
        sigma_k^2, positive.
    floor : float
        Smallest variance after this step and later ones, as a multiple of the current mean variance.
    min_variance : float
        Smallest variance in any case.
    tied : bool
        True if all components share one variance.
    """

    def __init__(
        self,
        means: np.ndarray,
        weights: np.ndarray,
        variance: np.ndarray,
        *,
        floor: float = 0.0,
        min_variance: float = 0.0,
        tied: bool = False,
    ) -> None:
        self.means, self.weights = np.asarray(means, dtype=np.float64), np.asarray(weights, dtype=np.float64)
        self.variance = np.broadcast_to(np.asarray(variance, dtype=np.float64), len(means))
        self.min_variance, self.tied = max(floor * float(self.weights @ self.variance), min_variance), tied

    @property
    def values(self) -> Values:
        return self.means, self.variance, self.weights

    def move_to(self, *values: np.ndarray) -> SphericalMixtureUpdate:
        means, variance, weights = values
        return SphericalMixtureUpdate(means, weights, variance, min_variance=self.min_variance, tied=self.tied)

    def zero(self) -> MixtureSums:
        k, d = self.means.shape
        return MixtureSums(np.zeros(k), np.zeros((k, d)), np.zeros(k))

    def add(self, state: MixtureSums, block: Block) -> MixtureSums:
        rows, means = _centre(block[0], self.means)
        squares = _compute_squared_distances(rows, means)
        log_density = _compute_log_density(squares, self.variance, means.shape[1])
        posterior, log_likelihood = responsibilities(log_density, self.weights)
        mass = posterior.sum(axis=0)
        state.first += (rows.T @ posterior).T - mass[:, None] * means
        state.second += np.einsum("ij,ij->j", posterior, squares)
        return add_rows(state, mass, log_likelihood)

    def merge(self, first: MixtureSums, second: MixtureSums) -> MixtureSums:
        return merge_sums(first, second)

    def expected(self, sums: MixtureSums) -> tuple[Expected, ...]:
        gaussians = Gaussians(
            self.means, self.variance, sums.mass, sums.first, sums.second, self.min_variance, self.tied
        )
        return gaussians, Distributions(self.weights, sums.mass)


def spherical_log_density(X: Any, means: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Compute log-densities of Gaussians with covariance variance_k I, shape (n, K), for dense or sparse X (n, d)."""
    rows, shifted = _centre(X, np.asarray(means, dtype=np.float64))
    variance = np.broadcast_to(np.asarray(variance, dtype=np.float64), len(shifted))
    return _compute_log_density(_compute_squared_distances(rows, shifted), variance, shifted.shape[1])


def _centre(X: Any, means: np.ndarray) -> tuple[Any, np.ndarray]:
    """Centre rows and means at the mean of the means; sparse rows are unchanged."""
    if sparse.issparse(X):
        return sparse.csr_array(X, dtype=np.float64), means
    centre = means.mean(axis=0)
    return np.asarray(X) - centre, means - centre


def _compute_squared_distances(rows: Any, means: np.ndarray) -> np.ndarray:
    lengths = rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else np.einsum("ij,ij->i", rows, rows)
    squares = rows @ (-2 * means.T)
    squares += lengths[:, None]
    squares += (means**2).sum(axis=1)
    return np.maximum(squares, 0, out=squares)


def _compute_log_density(squares: np.ndarray, variance: np.ndarray, d: int) -> np.ndarray:
    return squares * (-0.5 / variance) - 0.5 * d * np.log(2 * np.pi * variance)
