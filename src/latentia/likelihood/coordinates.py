"""The distributions that EM's models are made of, with what a pass expects of them.

Given the hidden variables every model here is a product of exponential families: rows of probabilities (`Distributions`),
chances of single events (`Chances`), normal distributions (`Gaussians`). An E-step gives their expected sufficient statistics;
from these follow the new value that EM takes, `estimate`, and the gradient of the observed log-likelihood in coordinates
without constraints, which by Fisher's identity is that of the expected complete one,

    probabilities p from counts n, in log p:        n - (sum n) p
    chance q, s of t trials, in log q / (1 - q):    s - t q
    rate r, s counted in mass m, in log r:          s - m r
    mean mu and log-variance of mass m:             m (mu' - mu) / v,      m (v' + (mu' - mu)^2 - v) / (2 v),

mu' being EM's new mean and v' the mean square about it; `curvature` is the diagonal of the complete-data information in the
same coordinates. Priors are pseudo-counts: part of the counts, and of the objective through `log_prior`. What EM never moves
has slope zero: the rows of a component without data, and probabilities of zero where nothing is expected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

Values: TypeAlias = tuple[np.ndarray, ...]
"""The arrays of a model's parameters, in an order of its own."""

_NOTHING = 1e-12  # rows with less than this expected of them keep their values
_TINY = 1e-14  # least probability in coordinates
_NEAR = 1e-9  # of a limit: values within are at it, up to the rounding of their coordinates
_STEADY = 0.5  # pseudo-counts in curvatures, so that entries that are hardly seen move with their rows


class Expected(Protocol):
    """Distributions with what a pass expects of them."""

    @property
    def values(self) -> Values:
        """Values of the pass."""

    def estimate(self) -> Values:
        """EM's new values."""

    def coordinates(self, *values: np.ndarray) -> np.ndarray:
        """These values, or else its own, without constraints, one-dimensional."""

    def slope(self) -> np.ndarray:
        """Gradient of the penalised log-likelihood in the coordinates."""

    def curvature(self) -> np.ndarray:
        """Diagonal of the complete-data information in them, positive."""

    def at(self, coordinates: np.ndarray) -> Values:
        """The values that have these coordinates."""

    def reach(self, step: np.ndarray) -> float:
        """The largest move in a step of the coordinates: of a logarithm, or of a mean in standard deviations.

        What is as good as nothing does not count: probabilities that leave zero, and components of less than a row by the root
        of their mass.
        """

    def log_prior(self) -> float:
        """Logarithm of the prior, up to a constant."""


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
        smoothed, used = self._smoothed, self._used
        return (np.where(used, smoothed / np.where(used, smoothed.sum(axis=-1, keepdims=True), 1.0), self.value),)

    def coordinates(self, *values: np.ndarray) -> np.ndarray:
        (value,) = values or self.values
        return np.log(np.maximum(value, _TINY)).ravel()

    def slope(self) -> np.ndarray:
        smoothed = self._smoothed
        slope = smoothed - smoothed.sum(axis=-1, keepdims=True) * self.value
        return np.where(self._used, slope, 0.0).ravel()

    def curvature(self) -> np.ndarray:
        return (self._smoothed.sum(axis=-1, keepdims=True) * self.value + _STEADY).ravel()

    def at(self, coordinates: np.ndarray) -> Values:
        logs = coordinates.reshape(self.value.shape)
        possible = (self.value > 0) | (self._smoothed > _NOTHING)
        shares = np.where(possible, np.exp(logs - logs.max(axis=-1, keepdims=True)), 0.0)
        return (shares / shares.sum(axis=-1, keepdims=True),)

    def reach(self, step: np.ndarray) -> float:
        return float(np.abs(step, where=self.value.ravel() > 0, out=np.zeros_like(step)).max())

    def log_prior(self) -> float:
        if not np.any(self.prior):
            return 0.0
        return float((self.prior * np.log(np.maximum(self.value, _TINY))).sum())

    @property
    def _used(self) -> np.ndarray:
        return self.counts.sum(axis=-1, keepdims=True) > _NOTHING

    @property
    def _smoothed(self) -> np.ndarray:
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
        What the values are kept between.
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
        successes, trials = self._smoothed
        used = trials > _NOTHING
        new = np.where(used, successes / np.where(used, trials, 1.0), self.value)
        return (np.clip(new, self.low, self.high),)

    def coordinates(self, *values: np.ndarray) -> np.ndarray:
        value = self._inside(*(values or self.values))
        return (np.log(value) - np.log1p(-value)).ravel()

    def slope(self) -> np.ndarray:
        successes, trials = self._smoothed
        slope = successes - trials * self.value
        below = (self.value <= self._low * (1 + _NEAR)) & (slope < 0)
        above = (1 - self.value <= (1 - self._high) * (1 + _NEAR)) & (slope > 0)
        return np.where(below | above, 0.0, slope).ravel()

    def curvature(self) -> np.ndarray:
        value = self._inside(self.value)
        return (self._smoothed[1] * value * (1 - value) + _STEADY).ravel()

    def at(self, coordinates: np.ndarray) -> Values:
        logits, (successes, trials) = coordinates.reshape(self.value.shape), self._smoothed
        never = (self.value <= 0) & (successes <= _NOTHING)
        always = (self.value >= 1) & (trials - successes <= _NOTHING * trials)  # a difference of two sums
        chances = np.clip(1 / (1 + np.exp(-np.clip(logits, -700, 700))), self.low, self.high)
        return (np.where(never | always, self.value, chances),)

    def reach(self, step: np.ndarray) -> float:
        return float(np.abs(step).max())

    def log_prior(self) -> float:
        successes, trials = self.prior
        if not np.any(trials):
            return 0.0
        value = self._inside(self.value)
        return float((successes * np.log(value) + (trials - successes) * np.log1p(-value)).sum())

    @property
    def _smoothed(self) -> tuple[np.ndarray, np.ndarray]:
        """Successes and trials with the prior."""
        return self.successes + self.prior[0], np.broadcast_to(self.trials, self.value.shape) + self.prior[1]

    @property
    def _low(self) -> Any:
        return np.maximum(self.low, _TINY)

    @property
    def _high(self) -> Any:
        return np.minimum(self.high, 1 - _TINY)

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
        counts, mass = self._smoothed
        used = mass > _NOTHING
        return (np.where(used, counts / np.where(used, mass, 1.0), self.value),)

    def coordinates(self, *values: np.ndarray) -> np.ndarray:
        (value,) = values or self.values
        return np.log(np.maximum(value, _TINY)).ravel()

    def slope(self) -> np.ndarray:
        counts, mass = self._smoothed
        return np.where(mass > _NOTHING, counts - mass * self.value, 0.0).ravel()

    def curvature(self) -> np.ndarray:
        return (self._smoothed[1] * self.value + _STEADY).ravel()

    def at(self, coordinates: np.ndarray) -> Values:
        return (np.exp(np.clip(coordinates, -700, 700)).reshape(self.value.shape),)

    def reach(self, step: np.ndarray) -> float:
        return float(np.abs(step).max())

    def log_prior(self) -> float:
        return float(self.prior * (np.log(np.maximum(self.value, _TINY)) - self.value).sum())

    @property
    def _smoothed(self) -> tuple[np.ndarray, np.ndarray]:
        """Counts, and rows as a column, with the prior."""
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
        Least variance.
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
        moved = self._moved()
        return self.means + moved, np.maximum(self._spread(moved), self.floor)

    def coordinates(self, *values: np.ndarray) -> np.ndarray:
        means, variances = values or self.values
        return np.concatenate([means.ravel(), np.log(self._free(variances)).ravel()])

    def slope(self) -> np.ndarray:
        spreads = self._joined(self.second / self.variances - self._entries) / 2
        stuck = (self._free(self.variances) <= np.multiply(self.floor, 1 + _NEAR)) & (spreads < 0)
        return np.concatenate([(self.first / self._by_column).ravel(), np.where(stuck, 0.0, spreads).ravel()])

    def curvature(self) -> np.ndarray:
        means = np.maximum(self.mass, _NOTHING)[:, None] / self._by_column * np.ones_like(self.means)
        return np.concatenate([means.ravel(), self._joined(self._entries).ravel() / 2 + _STEADY])

    def at(self, coordinates: np.ndarray) -> Values:
        means, logs = coordinates[: self.means.size], np.clip(coordinates[self.means.size :], -700, 700)
        now = self._free(self.variances)
        # One that starts below its floor stays there: values must be continuous in the coordinates.
        variances = np.maximum(np.exp(logs).reshape(now.shape), np.minimum(now, self.floor))
        return means.reshape(self.means.shape), np.array(np.broadcast_to(variances, self.variances.shape))

    def reach(self, step: np.ndarray) -> float:
        moves = step[: self.means.size].reshape(self.means.shape) / np.sqrt(self._by_column)
        moves = np.abs(moves) * np.sqrt(np.minimum(self.mass, 1))[:, None]
        return float(max(moves.max(), np.abs(step[self.means.size :]).max()))

    def log_prior(self) -> float:
        return 0.0

    @property
    def _shared(self) -> bool:
        """Whether the columns of a component share a variance."""
        return self.variances.ndim == 1

    @property
    def _by_column(self) -> np.ndarray:
        """Variances that broadcast with the means."""
        return self.variances[:, None] if self._shared else self.variances

    @property
    def _entries(self) -> np.ndarray:
        """Expected number of entries of the rows that each variance is one of, in the shape of the variances."""
        if self._shared:
            return self.means.shape[1] * self.mass
        return np.broadcast_to(self.mass[:, None], self.variances.shape)

    def _free(self, variances: np.ndarray) -> np.ndarray:
        """The variances that have a coordinate: a tied one only once."""
        return variances.mean(keepdims=True) if self.tied else variances

    def _joined(self, by_variance: np.ndarray) -> np.ndarray:
        """Sums of what belongs to the same coordinate."""
        return by_variance.sum(keepdims=True) if self.tied else by_variance

    def _moved(self) -> np.ndarray:
        used = self.mass[:, None] > _NOTHING
        return np.where(used, self.first / np.where(used, self.mass[:, None], 1.0), 0.0)

    def _spread(self, moved: np.ndarray) -> np.ndarray:
        """New variances, before the floor."""
        used = self.mass > _NOTHING
        mass = np.where(used, self.mass, 1.0)
        if not self._shared:
            return np.where(used[:, None], self.second / mass[:, None] - moved**2, self.variances)
        spread = np.where(used, self.second - self.mass * (moved**2).sum(axis=1), 0.0)
        width = self.means.shape[1]
        if self.tied:
            return np.full(len(mass), spread.sum() / (width * self.mass.sum())) if used.any() else self.variances
        return np.where(used, spread / (width * mass), self.variances)
