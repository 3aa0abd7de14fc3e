"""Distributions that models fitted by EM consist of, with their expected sufficient statistics.

Given the hidden variables every model here is a product of exponential families: rows of probabilities (`Distributions`),
chances of single events (`Chances`), normal distributions (`Gaussians`). An E-step gives their expected sufficient statistics;
from these follow the new value that EM takes, `estimate`, and the gradient of the observed log-likelihood in coordinates
without constraints, which by Fisher's identity is that of the expected complete one,

    probabilities p from counts n, in log p:        n - (sum n) p
    chance q, s of t trials, in log q / (1 - q):    s - t q
    rate r, s counted in mass m, in log r:          s - m r
    mean mu and log-variance of mass m:             m (mu' - mu) / v,      m (v' + (mu' - mu)^2 - v) / (2 v),

mu' being EM's new mean and v' the mean square about it; `curvature` is the diagonal of the complete-data information in the
same coordinates. Priors are pseudo-counts: part of the counts, and of the objective through `log_prior`. Values that EM never
moves have slope zero: rows of a component without data, and probabilities of zero without expected counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

Values: TypeAlias = tuple[np.ndarray, ...]
"""Arrays of a model's parameters, in the order of the model."""

_MIN_MASS = 1e-12  # rows with less expected mass keep their values
_MIN_PROBABILITY = 1e-14  # smallest probability in coordinates
_LIMIT_TOLERANCE = 1e-9  # relative tolerance: nearer values count as at their limit
_CURVATURE_PSEUDO_COUNTS = 0.5  # pseudo-counts in curvatures, so that rare entries move with their rows


class Expected(Protocol):
    """Distributions with the expected statistics of a pass."""

    @property
    def values(self) -> Values:
        """Values of the pass."""

    def estimate(self) -> Values:
        """Return EM's new values."""

    def coordinates(self, *values: np.ndarray) -> np.ndarray:
        """Return unconstrained coordinates of these values, or of the current ones, one-dimensional."""

    def slope(self) -> np.ndarray:
        """Return the gradient of the penalised log-likelihood in the coordinates."""

    def curvature(self) -> np.ndarray:
        """Return the diagonal of the complete-data information in the coordinates, positive."""

    def move_to(self, coordinates: np.ndarray) -> Values:
        """Return the values at these coordinates."""

    def reach(self, step: np.ndarray) -> float:
        """Return the largest move in a step of the coordinates: of a logarithm, or of a mean in standard deviations.

        Probabilities that leave zero do not count, and components of less than a row count by the root of their mass.
        """

    def log_prior(self) -> float:
        """Return the logarithm of the prior, up to a constant."""


@dataclass(frozen=True)
class Distributions:
    """Rows of probabilities that sum to one.

    Attributes
    ----------
    value : ndarray of shape (..., S)
    counts : ndarray of shape (..., S)
        Expected counts, without the prior.
    prior : float or ndarray that broadcasts with the counts
        Pseudo-counts.
    """

    value: np.ndarray
    counts: np.ndarray
    prior: Any = 0.0

    @property
    def values(self) -> Values:
        return (self.value,)

    def estimate(self) -> Values:
        counts, has_data = self._smooth, self._has_data
        return (np.where(has_data, counts / np.where(has_data, counts.sum(axis=-1, keepdims=True), 1.0), self.value),)

    def coordinates(self, *values: np.ndarray) -> np.ndarray:
        (value,) = values or self.values
        return np.log(np.maximum(value, _MIN_PROBABILITY)).ravel()

    def slope(self) -> np.ndarray:
        counts = self._smooth
        slope = counts - counts.sum(axis=-1, keepdims=True) * self.value
        return np.where(self._has_data, slope, 0.0).ravel()

    def curvature(self) -> np.ndarray:
        return (self._smooth.sum(axis=-1, keepdims=True) * self.value + _CURVATURE_PSEUDO_COUNTS).ravel()

    def move_to(self, coordinates: np.ndarray) -> Values:
        logs = coordinates.reshape(self.value.shape)
        is_possible = (self.value > 0) | (self._smooth > _MIN_MASS)
        shares = np.where(is_possible, np.exp(logs - logs.max(axis=-1, keepdims=True)), 0.0)
        return (shares / shares.sum(axis=-1, keepdims=True),)

    def reach(self, step: np.ndarray) -> float:
        return float(np.abs(step, where=self.value.ravel() > 0, out=np.zeros_like(step)).max())

    def log_prior(self) -> float:
        if not np.any(self.prior):
            return 0.0
        return float((self.prior * np.log(np.maximum(self.value, _MIN_PROBABILITY))).sum())

    @property
    def _has_data(self) -> np.ndarray:
        return self.counts.sum(axis=-1, keepdims=True) > _MIN_MASS

    @property
    def _smooth(self) -> np.ndarray:
        return self.counts + self.prior


@dataclass(frozen=True)
class Chances:
    """Probabilities of events, each on its own.

    Attributes
    ----------
    value : ndarray
    successes, trials : ndarray that broadcast with it
        Expected, without the prior.
    prior : (ndarray or float, ndarray or float)
        Pseudo-counts of successes and of trials.
    low, high : float or ndarray that broadcasts with it
        Bounds of the values.
    """

    value: np.ndarray
    successes: np.ndarray
    trials: np.ndarray
    prior: tuple[Any, Any] = (0.0, 0.0)
    low: Any = 0.0
    high: Any = 1.0

    @property
    def values(self) -> Values:
        return (self.value,)

    def estimate(self) -> Values:
        successes, trials = self._smooth
        has_trials = trials > _MIN_MASS
        new = np.where(has_trials, successes / np.where(has_trials, trials, 1.0), self.value)
        return (np.clip(new, self.low, self.high),)

    def coordinates(self, *values: np.ndarray) -> np.ndarray:
        value = self._inside(*(values or self.values))
        return (np.log(value) - np.log1p(-value)).ravel()

    def slope(self) -> np.ndarray:
        successes, trials = self._smooth
        slope = successes - trials * self.value
        is_at_low = (self.value <= self._low * (1 + _LIMIT_TOLERANCE)) & (slope < 0)
        is_at_high = (1 - self.value <= (1 - self._high) * (1 + _LIMIT_TOLERANCE)) & (slope > 0)
        return np.where(is_at_low | is_at_high, 0.0, slope).ravel()

    def curvature(self) -> np.ndarray:
        value = self._inside(self.value)
        return (self._smooth[1] * value * (1 - value) + _CURVATURE_PSEUDO_COUNTS).ravel()

    def move_to(self, coordinates: np.ndarray) -> Values:
        logits, (successes, trials) = coordinates.reshape(self.value.shape), self._smooth
        is_never = (self.value <= 0) & (successes <= _MIN_MASS)
        is_always = (self.value >= 1) & (trials - successes <= _MIN_MASS * trials)  # a difference of two sums
        chances = np.clip(1 / (1 + np.exp(-np.clip(logits, -700, 700))), self.low, self.high)
        return (np.where(is_never | is_always, self.value, chances),)

    def reach(self, step: np.ndarray) -> float:
        return float(np.abs(step).max())

    def log_prior(self) -> float:
        successes, trials = self.prior
        if not np.any(trials):
            return 0.0
        value = self._inside(self.value)
        return float((successes * np.log(value) + (trials - successes) * np.log1p(-value)).sum())

    @property
    def _smooth(self) -> tuple[np.ndarray, np.ndarray]:
        """Successes and trials, including the prior."""
        return self.successes + self.prior[0], np.broadcast_to(self.trials, self.value.shape) + self.prior[1]

    @property
    def _low(self) -> Any:
        return np.maximum(self.low, _MIN_PROBABILITY)

    @property
    def _high(self) -> Any:
        return np.minimum(self.high, 1 - _MIN_PROBABILITY)

    def _inside(self, value: np.ndarray) -> np.ndarray:
        return np.clip(value, self._low, self._high)


@dataclass(frozen=True)
class Rates:
    """Means of Poisson distributions.

    Attributes
    ----------
    value : ndarray of shape (K, d)
    counts : ndarray of shape (K, d)
        Expected sums, without the prior.
    mass : ndarray of shape (K,)
        Expected rows of each component.
    prior : float
        Pseudo-rows, with a count of one in each.
    """

    value: np.ndarray
    counts: np.ndarray
    mass: np.ndarray
    prior: float = 0.0

    @property
    def values(self) -> Values:
        return (self.value,)

    def estimate(self) -> Values:
        counts, mass = self._smooth
        has_rows = mass > _MIN_MASS
        return (np.where(has_rows, counts / np.where(has_rows, mass, 1.0), self.value),)

    def coordinates(self, *values: np.ndarray) -> np.ndarray:
        (value,) = values or self.values
        return np.log(np.maximum(value, _MIN_PROBABILITY)).ravel()

    def slope(self) -> np.ndarray:
        counts, mass = self._smooth
        return np.where(mass > _MIN_MASS, counts - mass * self.value, 0.0).ravel()

    def curvature(self) -> np.ndarray:
        return (self._smooth[1] * self.value + _CURVATURE_PSEUDO_COUNTS).ravel()

    def move_to(self, coordinates: np.ndarray) -> Values:
        return (np.exp(np.clip(coordinates, -700, 700)).reshape(self.value.shape),)

    def reach(self, step: np.ndarray) -> float:
        return float(np.abs(step).max())

    def log_prior(self) -> float:
        return float(self.prior * (np.log(np.maximum(self.value, _MIN_PROBABILITY)) - self.value).sum())

    @property
    def _smooth(self) -> tuple[np.ndarray, np.ndarray]:
        """Counts, and rows as a column, including the prior."""
        return self.counts + self.prior, self.mass[:, None] + self.prior


@dataclass(frozen=True)
class Gaussians:
    """Normal distributions with a mean for every component and column, and variances.

    Attributes
    ----------
    means : ndarray of shape (K, d)
    variances : ndarray of shape (K, d), or (K,) where all columns of a component share one
    mass : ndarray of shape (K,)
    first : ndarray of shape (K, d)
        Sums of r (x - mean).
    second : ndarray of the shape of ``variances``
        Sums of r (x - mean)^2, over the columns too where they share a variance.
    floor : float or ndarray of shape (d,)
        Smallest variance.
    tied : bool
        Whether all components share one variance.
    """

    means: np.ndarray
    variances: np.ndarray
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray
    floor: Any = 0.0
    tied: bool = False

    @property
    def values(self) -> Values:
        return self.means, self.variances

    def estimate(self) -> Values:
        steps = self._mean_steps()
        return self.means + steps, np.maximum(self._spread(steps), self.floor)

    def coordinates(self, *values: np.ndarray) -> np.ndarray:
        means, variances = values or self.values
        return np.concatenate([means.ravel(), np.log(self._free_variances(variances)).ravel()])

    def slope(self) -> np.ndarray:
        spreads = self._sum_shared(self.second / self.variances - self._entries) / 2
        is_at_floor = (self._free_variances(self.variances) <= np.multiply(self.floor, 1 + _LIMIT_TOLERANCE)) & (
            spreads < 0
        )
        return np.concatenate(
            [(self.first / self._column_variances).ravel(), np.where(is_at_floor, 0.0, spreads).ravel()]
        )

    def curvature(self) -> np.ndarray:
        means = np.maximum(self.mass, _MIN_MASS)[:, None] / self._column_variances * np.ones_like(self.means)
        return np.concatenate([means.ravel(), self._sum_shared(self._entries).ravel() / 2 + _CURVATURE_PSEUDO_COUNTS])

    def move_to(self, coordinates: np.ndarray) -> Values:
        means, logs = coordinates[: self.means.size], np.clip(coordinates[self.means.size :], -700, 700)
        current = self._free_variances(self.variances)
        # A variance below its floor stays there: values must be continuous in the coordinates.
        variances = np.maximum(np.exp(logs).reshape(current.shape), np.minimum(current, self.floor))
        return means.reshape(self.means.shape), np.array(np.broadcast_to(variances, self.variances.shape))

    def reach(self, step: np.ndarray) -> float:
        moves = step[: self.means.size].reshape(self.means.shape) / np.sqrt(self._column_variances)
        moves = np.abs(moves) * np.sqrt(np.minimum(self.mass, 1))[:, None]
        return float(max(moves.max(), np.abs(step[self.means.size :]).max()))

    def log_prior(self) -> float:
        return 0.0

    @property
    def _is_shared(self) -> bool:
        """True if the columns of a component share a variance."""
        return self.variances.ndim == 1

    @property
    def _column_variances(self) -> np.ndarray:
        """Variances that broadcast with the means."""
        return self.variances[:, None] if self._is_shared else self.variances

    @property
    def _entries(self) -> np.ndarray:
        """Expected number of entries that each variance belongs to, in the shape of the variances."""
        if self._is_shared:
            return self.means.shape[1] * self.mass
        return np.broadcast_to(self.mass[:, None], self.variances.shape)

    def _free_variances(self, variances: np.ndarray) -> np.ndarray:
        """Return the variances that have a coordinate: a tied one only once."""
        return variances.mean(keepdims=True) if self.tied else variances

    def _sum_shared(self, by_variance: np.ndarray) -> np.ndarray:
        """Sum terms that belong to the same coordinate."""
        return by_variance.sum(keepdims=True) if self.tied else by_variance

    def _mean_steps(self) -> np.ndarray:
        has_rows = self.mass[:, None] > _MIN_MASS
        return np.where(has_rows, self.first / np.where(has_rows, self.mass[:, None], 1.0), 0.0)

    def _spread(self, steps: np.ndarray) -> np.ndarray:
        """Return new variances, before the floor."""
        has_rows = self.mass > _MIN_MASS
        mass = np.where(has_rows, self.mass, 1.0)
        if not self._is_shared:
            return np.where(has_rows[:, None], self.second / mass[:, None] - steps**2, self.variances)
        spread = np.where(has_rows, self.second - self.mass * (steps**2).sum(axis=1), 0.0)
        width = self.means.shape[1]
        if self.tied:
            return np.full(len(mass), spread.sum() / (width * self.mass.sum())) if has_rows.any() else self.variances
        return np.where(has_rows, spread / (width * mass), self.variances)
