"""Expectation maximisation: the one driver of all refinement.

An update is a statistic of one pass (see `latentia.passes`) that knows how to become one at other values, and turns the sums
of a pass into `Expected` distributions. A number of steps is so many plain EM steps. "auto" climbs the same likelihood by a
quasi-Newton method that starts from EM: the gradient of the observed log-likelihood comes with every E-step, the inverse of
the complete-data information is the first guess at the inverse Hessian, and pairs of steps and changes of the gradient turn it
into the observed one (L-BFGS). Plain EM is slow where most of the information is missing; steps that know it are not. On a
plateau, where the gradient is as good as nothing, either may seem to have settled.

Source: M. Jamshidian, R. I. Jennrich, Acceleration of the EM algorithm by using quasi-Newton methods, J. R. Statist. Soc. B 59
(1997), method QN2; J. Nocedal, Updating quasi-Newton matrices with limited storage, Math. Comp. 35 (1980).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from .._threads import one_blas_thread
from ..passes import Blocks, accumulate
from .coordinates import Expected, Values

__all__ = ["EStep", "Refine", "Refined", "Refinement", "Update", "over", "refine", "updated"]

Refine: TypeAlias = int | Literal["auto"]

_MOST_STEPS = 200
_REMAINING = 0.02  # nats: where the gain that a step predicts, and that of the last step, are below, EM has settled
_SHARE = 1e-9  # or below this share of the log-likelihood
_ROUNDING = 1e-12  # of the log-likelihood: smaller gains cannot be seen
_CALM = 2  # times in a row
_MEMORY_BYTES = 1 << 28  # of the pairs that are kept
_MOST_PAIRS = 20
_LONGEST = 3.0  # move in one step: of a logarithm, or of a mean in standard deviations
_LEAST_SHARE = 1e-8  # of the complete data's information that a pair must show
_ARMIJO, _TRIES = 1e-4, 5


class Update(Protocol):
    """A statistic of one E-step at some values; its sums have ``log_likelihood``, in nats."""

    @property
    def values(self) -> Values:
        """The arrays of its parameters."""

    def at(self, *values: np.ndarray) -> Update:
        """The same update at other values."""

    def expected(self, sums: Any) -> Sequence[Expected]:
        """What the pass expects of each of its distributions, in the order of the values."""


EStep: TypeAlias = Callable[[Update, int], Any]
"""``e_step(update, number)``: the sums of the E-step of that number at the update's values."""


@dataclass(frozen=True)
class Refinement:
    """What EM made of its start.

    Attributes
    ----------
    values : tuple of ndarray
    log_likelihood : ndarray of shape (n_steps,)
        Of the data, in nats, at the values of each E-step.
    settled : bool
        Whether further steps would gain nothing to speak of.
    remaining : float
        Nats that they are predicted to gain; NaN where that is not known, after a given number of plain steps.
    """

    values: Values
    log_likelihood: np.ndarray
    settled: bool
    remaining: float

    @classmethod
    def none(cls, *values: np.ndarray) -> Refinement:
        """No steps were made."""
        return cls(values, np.empty(0), False, float("nan"))


class Refined(NamedTuple):
    """A family's parameters, and the refinement that they come from."""

    parameters: Any
    refinement: Refinement


def refine(update: Update, e_step: EStep, steps: Refine) -> Refinement:
    """Climb the likelihood from an update's values.

    Parameters
    ----------
    update : Update
    e_step : callable
        ``e_step(update, number)``: the sums of a pass at the update's values; `over` makes one of blocks.
    steps : int or "auto"
        Number of plain EM steps; "auto" makes accelerated ones until they have settled, 200 at most.
    """
    if not steps:
        return Refinement.none(*update.values)
    with one_blas_thread():  # whose number may change the bits of inner products
        passes = _Passes(e_step)
        return _until_settled(update, passes) if steps == "auto" else _plain(update, passes, steps)


def updated(update: Update, sums: Any) -> Values:
    """EM's new values from the sums of a pass."""
    return tuple(value for one in update.expected(sums) for value in one.estimate())


def over(blocks: Blocks, n_jobs: int | None = None, progress: bool = False) -> EStep:
    """E-steps that are passes over blocks; options as in `accumulate`."""

    def e_step(update: Update, number: int) -> Any:
        return accumulate(blocks, update, n_jobs, progress=progress and f"refining, step {number}")

    return e_step


def _plain(update: Update, passes: _Passes, steps: int) -> Refinement:
    values = update.values
    for _ in range(steps):
        values = passes.at(update.at(*values)).estimate()
    return Refinement(values, np.array(passes.log_likelihood), False, float("nan"))


def _until_settled(update: Update, passes: _Passes) -> Refinement:
    point = _possible(update, passes)
    pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=_n_pairs(len(point.slope)))
    gain, remaining, calm, settled = np.inf, np.inf, 0, False
    while np.isfinite(point.objective):
        direction = _direction(point, pairs)
        remaining = 0.5 * float(point.slope @ direction)
        enough = max(_REMAINING, _SHARE * abs(point.objective))
        calm = calm + 1 if max(remaining, gain) < enough else 0
        settled = calm >= _CALM
        if settled or len(passes.log_likelihood) >= _MOST_STEPS:
            break
        after = _searched(point, direction, passes)
        if after is not None:
            _remember(pairs, after.coordinates - point.coordinates, point.slope - after.slope, point.curvature)
            point, gain = after, after.objective - point.objective
        elif len(passes.log_likelihood) >= _MOST_STEPS:
            break
        elif pairs:  # they mislead: EM's own step comes next
            pairs.clear()
            calm = 0
        else:  # EM's own step does not gain either: the rest is rounding
            settled = bool(remaining < enough)
            break
    return Refinement(point.estimate(), np.array(passes.log_likelihood), settled, max(remaining, 0.0))


def _possible(update: Update, passes: _Passes) -> _Point:
    """The start, after a few of EM's own steps if the data is impossible there: they make it possible, where anything can."""
    point = passes.at(update)
    for _ in range(_TRIES):
        if np.isfinite(point.objective):
            break
        point = passes.at(update.at(*point.estimate()))
    return point


@dataclass(frozen=True)
class _Point:
    """An update after a pass at its values; what only "auto" needs is computed when it is asked for."""

    update: Update
    expected: Sequence[Expected]
    log_likelihood: float

    @cached_property
    def objective(self) -> float:
        return self.log_likelihood + sum(one.log_prior() for one in self.expected)

    @cached_property
    def coordinates(self) -> np.ndarray:
        return np.concatenate(self._by_distribution)

    @cached_property
    def slope(self) -> np.ndarray:
        return np.concatenate([one.slope() for one in self.expected])

    @cached_property
    def curvature(self) -> np.ndarray:
        return np.concatenate([one.curvature() for one in self.expected])

    def estimate(self) -> Values:
        """EM's new values."""
        return tuple(value for one in self.expected for value in one.estimate())

    def em_step(self) -> np.ndarray:
        """How EM would move the coordinates."""
        return np.concatenate([one.coordinates(*one.estimate()) for one in self.expected]) - self.coordinates

    def moved(self, step: np.ndarray) -> Update:
        """The update whose coordinates are so far from here."""
        values: list[np.ndarray] = []
        for one, here, part in zip(self.expected, self._by_distribution, self._cut(step), strict=True):
            values += one.at(here + part)
        return self.update.at(*values)

    def reach(self, step: np.ndarray) -> float:
        """The largest move in a step."""
        return max(one.reach(part) for one, part in zip(self.expected, self._cut(step), strict=True))

    @cached_property
    def _by_distribution(self) -> list[np.ndarray]:
        """The coordinates of each."""
        return [one.coordinates() for one in self.expected]

    def _cut(self, step: np.ndarray) -> list[np.ndarray]:
        """A step as the steps of each."""
        return np.split(step, np.cumsum([len(part) for part in self._by_distribution])[:-1])


class _Passes:
    """E-steps, and the log-likelihood of each."""

    def __init__(self, e_step: EStep) -> None:
        self._e_step = e_step
        self.log_likelihood: list[float] = []

    def at(self, update: Update) -> _Point:
        sums = self._e_step(update, len(self.log_likelihood) + 1)
        self.log_likelihood.append(float(sums.log_likelihood))
        return _Point(update, update.expected(sums), self.log_likelihood[-1])


def _direction(point: _Point, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The quasi-Newton direction; EM's own step where nothing is known of the Hessian yet. What has no slope stays."""
    if not pairs:
        return np.where(point.slope == 0, 0.0, point.em_step())
    direction, scales = point.slope.copy(), []
    for step, change in reversed(pairs):
        scales.append(float(step @ direction) / float(step @ change))
        direction -= scales[-1] * change
    direction /= point.curvature
    for (step, change), scale in zip(pairs, reversed(scales), strict=True):
        direction += (scale - float(change @ direction) / float(step @ change)) * step
    return np.where(point.slope == 0, 0.0, direction)


def _searched(point: _Point, direction: np.ndarray, passes: _Passes) -> _Point | None:
    """A point along the direction that gains enough; None if none is found."""
    rise, reach = float(point.slope @ direction), point.reach(direction)
    if not (rise > _ROUNDING * abs(point.objective) and np.isfinite(reach)):
        return None
    length = min(1.0, _LONGEST / reach) if reach > 0 else 1.0
    for _ in range(_TRIES):
        after = passes.at(point.moved(length * direction))
        gain = after.objective - point.objective
        if gain >= _ARMIJO * length * rise:
            return after
        if len(passes.log_likelihood) >= _MOST_STEPS:
            return None
        # The parabola through both heights and the slope here has its top at this length.
        bend = 2 * (length * rise - gain)
        length *= float(np.clip(length * rise / bend, 0.1, 0.5)) if np.isfinite(bend) else 0.1
    return None


def _remember(
    pairs: deque[tuple[np.ndarray, np.ndarray]], step: np.ndarray, change: np.ndarray, curvature: np.ndarray
) -> None:
    """Keep a pair where the objective is concave along it, in a share of the complete data's information."""
    if step @ change > _LEAST_SHARE * (step @ (curvature * step)):
        pairs.append((step, change))


def _n_pairs(size: int) -> int:
    return int(np.clip(_MEMORY_BYTES // max(16 * size, 1), 1, _MOST_PAIRS))
