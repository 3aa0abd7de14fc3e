"""Mixtures of product distributions: densities, and the update of a pass.

Model: row x comes from component k with probability w_k, and its columns are independent given k: Bernoulli, or normal with a
mean and a variance each. NaN is a missing entry of density one, whose expectation comes from the component.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._entries import missing_entries
from ..exceptions import LatentiaError
from ..passes import Block
from .coordinates import Chances, Distributions, Expected, Gaussians, Values
from .gaussian import add_gaussian, gaussian_log_density
from .rows import MixtureSums, add_rows, log, merge_sums, responsibilities

_IMPOSSIBLE = -1e300  # logarithm of zero that can be multiplied by zero


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
        Smallest variance after the step, or smallest distance of probabilities from zero and one.
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

    def move_to(self, *values: np.ndarray) -> ProductMixtureUpdate:
        means, *variances, weights = values
        return ProductMixtureUpdate(self.kind, means, variances[0] if variances else None, weights, self.floor)

    def zero(self) -> MixtureSums:
        second = np.zeros(self.means.shape) if self.kind == "gaussian" else 0.0
        return MixtureSums(np.zeros(len(self.weights)), np.zeros(self.means.shape), second)

    def add(self, state: MixtureSums, block: Block) -> MixtureSums:
        log_density = product_log_density(self.kind, block[0], self.means, self.variances)
        posterior, log_likelihood = responsibilities(log_density, self.weights)
        mass, table, missing = posterior.sum(axis=0), block[0], missing_entries(block[0])
        if missing is not None:
            self._add_observed(state, table, missing, posterior)
        elif self.kind == "gaussian":
            add_gaussian(table, posterior, self.means, state.first, state.second)
        else:
            state.first += (table.T @ posterior).T
        return add_rows(state, mass, log_likelihood)

    def _add_observed(self, state: MixtureSums, table: np.ndarray, missing: np.ndarray, posterior: np.ndarray) -> None:
        """Add sums over observed entries, and expectations of missing ones."""
        if self.variances is None:
            expected = posterior.T @ missing.astype(np.float64)
            state.first += posterior.T @ np.where(missing, 0.0, table) + expected * self.means
            return
        first, second = observed_sums(table, missing, posterior, self.means, self.variances)
        state.first += first
        state.second += second

    def merge(self, first: MixtureSums, second: MixtureSums) -> MixtureSums:
        return merge_sums(first, second)

    def expected(self, sums: MixtureSums) -> tuple[Expected, ...]:
        weights = Distributions(self.weights, sums.mass)
        if self.variances is None:
            chances = Chances(self.means, sums.first, sums.mass[:, None], low=self.floor, high=1 - self.floor)
            return chances, weights
        return Gaussians(self.means, self.variances, sums.mass, sums.first, sums.second, self.floor), weights


def observed_sums(
    table: np.ndarray, missing: np.ndarray, posterior: np.ndarray, means: np.ndarray, variances: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of r (x - mean) and r (x - mean)^2 over rows, (K, d), with expectations of missing entries.

    Parameters
    ----------
    table : ndarray of shape (n, d)
    missing : ndarray of bool, shape (n, d)
    posterior : ndarray of shape (n, K)
        Shares r of the components.
    means, variances : ndarray of shape (K, d)
    """
    expected = posterior.T @ missing.astype(np.float64)
    centre = means.mean(axis=0)
    rows, gaps, observed_mass = (
        np.where(missing, 0.0, table - centre),
        means - centre,
        posterior.sum(axis=0)[:, None] - expected,
    )
    sums = posterior.T @ rows
    squares = posterior.T @ rows**2 - 2 * gaps * sums + observed_mass * gaps**2
    return sums - observed_mass * gaps, np.maximum(squares, 0.0) + expected * variances


def product_log_density(kind: str, X: Any, means: np.ndarray, variances: np.ndarray | None = None) -> np.ndarray:
    """Compute log-densities of rows with independent columns, shape (n, K).

    Parameters
    ----------
    kind : {"bernoulli", "gaussian"}
    X : array or sparse matrix of shape (n, d)
        Zeros and ones for "bernoulli"; NaN marks a missing entry.
    means : ndarray of shape (K, d)
    variances : ndarray of shape (K, d), optional
        For "gaussian".
    """
    _check_kind(kind, variances)
    missing = missing_entries(X)
    if missing is not None:
        return _observed_log_density(X, missing, means, variances)
    if variances is not None:
        return gaussian_log_density(X, means, variances)
    log_ones, log_zeros = log(means), log(1 - means)
    never, always = np.isneginf(log_ones), np.isneginf(log_zeros)
    log_ones[never], log_zeros[always] = 0, 0
    log_density = X @ (log_ones - log_zeros).T + log_zeros.sum(axis=1)
    if never.any() or always.any():  # 0 * -inf is NaN: count the columns with the impossible value instead
        impossible = X @ (never.astype(float) - always).T + always.sum(axis=1)
        log_density[impossible > 0.5] = -np.inf
    return log_density


def _observed_log_density(
    X: np.ndarray, missing: np.ndarray, means: np.ndarray, variances: np.ndarray | None
) -> np.ndarray:
    """Return log-densities of the observed entries, shape (n, K)."""
    is_observed = (~missing).astype(np.float64)
    if variances is None:
        with np.errstate(divide="ignore"):
            log_ones, log_zeros = (np.maximum(np.log(probability), _IMPOSSIBLE) for probability in (means, 1 - means))
        rows = np.where(missing, 0.0, X)
        return rows @ log_ones.T + (is_observed - rows) @ log_zeros.T  # type: ignore[no-any-return]
    centre = means.mean(axis=0)
    rows, shifted = np.where(missing, 0.0, X - centre), means - centre
    squares = rows**2 @ (1 / variances).T - 2 * rows @ (shifted / variances).T
    return -0.5 * (squares + is_observed @ (shifted**2 / variances + np.log(2 * np.pi * variances)).T)  # type: ignore[no-any-return]


def _check_kind(kind: str, variances: np.ndarray | None) -> None:
    if kind not in ("bernoulli", "gaussian"):
        raise LatentiaError(f"kind={kind!r}: must be 'bernoulli' or 'gaussian'.")
    if (variances is None) != (kind == "bernoulli"):
        raise LatentiaError("variances: expected for 'gaussian' columns, and not for 'bernoulli' ones.")
