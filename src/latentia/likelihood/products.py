"""Mixtures of product distributions: densities, and the update of a pass.

Model: row x comes from component k with probability w_k, and its columns are there independent: chances of a one, or normal
with a mean and a variance each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..passes import Block
from .coordinates import Chances, Distributions, Expected, Gaussians, Values
from .gaussian import add_gaussian, gaussian_log_density
from .rows import MixtureSums, add_rows, log, merged, responsibilities

__all__ = ["ProductMixtureUpdate", "product_log_density"]


class ProductMixtureUpdate:
    """Statistic of one E-step for columns that are independent within a component.

    Parameters
    ----------
    kind : {"bernoulli", "gaussian"}
        Columns of zeros and ones, or Gaussian columns with variances of their own.
    means : ndarray of shape (K, d)
        For "bernoulli" the probabilities of a one.
    variances : ndarray of shape (K, d) or None
        For "gaussian" only.
    weights : ndarray of shape (K,)
    floor : float or ndarray of shape (d,)
        Least variance after the step, or how far probabilities are kept from zero and one.
    """

    def __init__(
        self, kind: str, means: np.ndarray, variances: np.ndarray | None, weights: np.ndarray, floor: Any = 0.0
    ) -> None:
        _check_kind(kind, variances)
        self.kind, self.weights, self.floor = kind, np.asarray(weights, dtype=np.float64), floor
        self.means = np.ascontiguousarray(means, dtype=np.float64)
        self.variances = None if variances is None else np.asarray(variances, dtype=np.float64)

    @property
    def values(self) -> Values:
        return (self.means, self.weights) if self.variances is None else (self.means, self.variances, self.weights)

    def at(self, *values: np.ndarray) -> ProductMixtureUpdate:
        means, *variances, weights = values
        return ProductMixtureUpdate(self.kind, means, variances[0] if variances else None, weights, self.floor)

    def zero(self) -> MixtureSums:
        second = np.zeros(self.means.shape) if self.kind == "gaussian" else 0.0
        return MixtureSums(np.zeros(len(self.weights)), np.zeros(self.means.shape), second)

    def add(self, state: MixtureSums, block: Block) -> MixtureSums:
        log_density = product_log_density(self.kind, block[0], self.means, self.variances)
        posterior, log_likelihood = responsibilities(log_density, self.weights)
        if self.kind == "gaussian":
            add_gaussian(block[0], posterior, self.means, state.first, state.second)
        else:
            state.first += (block[0].T @ posterior).T
        return add_rows(state, posterior.sum(axis=0), log_likelihood)

    def merge(self, first: MixtureSums, second: MixtureSums) -> MixtureSums:
        return merged(first, second)

    def expected(self, sums: MixtureSums) -> tuple[Expected, ...]:
        weights = Distributions(self.weights, sums.mass)
        if self.variances is None:
            chances = Chances(self.means, sums.first, sums.mass[:, None], low=self.floor, high=1 - self.floor)
            return chances, weights
        return Gaussians(self.means, self.variances, sums.mass, sums.first, sums.second, self.floor), weights


def product_log_density(kind: str, X: Any, means: np.ndarray, variances: np.ndarray | None = None) -> np.ndarray:
    """Log-densities of rows with independent columns, shape (n, K).

    Parameters
    ----------
    kind : {"bernoulli", "gaussian"}
    X : array or sparse matrix of shape (n, d)
        Zeros and ones for "bernoulli".
    means : ndarray of shape (K, d)
    variances : ndarray of shape (K, d), optional
        For "gaussian".
    """
    _check_kind(kind, variances)
    if variances is not None:
        return gaussian_log_density(X, means, variances)
    ones, zeros = log(means), log(1 - means)
    never, always = np.isneginf(ones), np.isneginf(zeros)
    ones[never], zeros[always] = 0, 0
    log_density = X @ (ones - zeros).T + zeros.sum(axis=1)
    if never.any() or always.any():  # 0 * -inf is no number: count the columns with the impossible value instead
        impossible = X @ (never.astype(float) - always).T + always.sum(axis=1)
        log_density[impossible > 0.5] = -np.inf
    return log_density


def _check_kind(kind: str, variances: np.ndarray | None) -> None:
    if kind not in ("bernoulli", "gaussian"):
        raise LatentiaError(f"kind={kind!r}: must be 'bernoulli' or 'gaussian'.")
    if (variances is None) != (kind == "bernoulli"):
        raise LatentiaError("variances: 'gaussian' columns need them, and 'bernoulli' columns have none.")
