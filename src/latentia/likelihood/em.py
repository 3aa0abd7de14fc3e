"""Expectation maximisation: the driver of all refinement.

An update is a statistic of one pass (see `latentia.passes`) that can be moved to other values, and turns the sums of a pass
into `Expected` distributions. A number of steps means plain EM steps. "auto" corrects EM's steps by a quasi-Newton method: the
gradient of the observed log-likelihood comes with every E-step, the inverse of the complete-data information is the first guess
at the inverse Hessian, and pairs of steps and changes of the gradient turn it into the observed one (L-BFGS); their effect is
the correction. Plain EM is slow if most of the information is missing; corrected steps are not. If a correction fails, EM's own
step is made, and the next corrections are shorter. On a plateau, where the gradient nearly vanishes, either may seem to have
converged.

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

from ..passes import Blocks, accumulate
from ..system.threads import single_blas_thread
from .coordinates import Expected, Values

Refine: TypeAlias = int | Literal["auto"]

_MAX_STEPS = 200
_MAX_REMAINING_GAIN = 0.02  # nats: EM has converged if the predicted and the last gain stay below this
_MAX_REMAINING_SHARE = 1e-9  # share of the log-likelihood: the same limit for large data
_CALM_STEPS = 3  # number of steps in a row for which the gains must stay below
_ROUNDING = 1e-12  # relative rounding of the log-likelihood: smaller gains are invisible
_MIN_VISIBLE_GAIN = 1e-20  # nats of a coordinate alone: slopes that promise less are rounding
_MEMORY_BYTES = 1 << 28  # memory of the kept pairs of steps
_MAX_PAIRS = 20
_MAX_CORRECTION = 3.0  # largest correction: of a logarithm, or of a mean in standard deviations
_MIN_CURVATURE_SHARE = 1e-8  # share of the complete-data information that a pair must show
_MIN_GAIN_SHARE = 0.1  # a corrected step must gain this share of the gain that EM's own step promises
_SHRINK, _GROW = 0.25, 2.0  # change of the largest correction after a failure, and after a success of a cut one
_EM_STEP_SHARES = 1.0, 0.3, 0.1  # shares of EM's step that are tried without correction
_MAX_FIRST_STEPS = 5  # plain EM steps if the data is impossible at the start


class Update(Protocol):
    """Statistic of one E-step at some values; its sums have ``log_likelihood``, in nats."""

    @property
    def values(self) -> Values:
        """Arrays of the parameters."""

    def move_to(self, *values: np.ndarray) -> Update:
        """Return a copy of this update with other parameter values."""

    def expected(self, sums: Any) -> Sequence[Expected]:
        """Return the expected statistics of each distribution, in the order of the values."""


EStep: TypeAlias = Callable[[Update, int], Any]
"""``e_step(update, number)``: the sums of the E-step of that number at the update's values."""


@dataclass(frozen=True)
class Refinement:
    """Result of EM.

    Attributes
    ----------
    values : tuple of ndarray
    log_likelihood : ndarray of shape (n_steps,)
        Log-likelihood of the data, in nats, at the values of each E-step.
    converged : bool
        Whether further steps would gain only a negligible amount.
    remaining : float
        Predicted gain of further steps in nats, or, if patience ended, the gain of the last step; NaN after a given number of
        plain steps.
    """

    values: Values
    log_likelihood: np.ndarray
    converged: bool
    remaining: float

    @classmethod
    def no_steps(cls, *values: np.ndarray) -> Refinement:
        """Return the result of no steps."""
        return cls(values, np.empty(0), False, float("nan"))


class Refined(NamedTuple):
    """Parameters of a family, and their refinement."""

    parameters: Any
    refinement: Refinement


def refine(
    update: Update,
    e_step: EStep,
    steps: Refine,
    min_gain: float = _MAX_REMAINING_GAIN,
    until: Callable[[], bool] | None = None,
    max_steps: int = _MAX_STEPS,
    patience: float = np.inf,
) -> Refinement:
    """Climb the likelihood from an update's values.

    Parameters
    ----------
    update : Update
    e_step : callable
        ``e_step(update, number)``: the sums of a pass at the update's values; `over` makes one of blocks.
    steps : int or "auto"
        Number of plain EM steps; "auto" makes accelerated ones until they converge.
    min_gain : float
        Smaller gains, in nats, count as nothing, for "auto".
    until : callable, optional
        Returns True when the state has converged. If E-steps have a state, such as memberships of nodes, gradients cannot
        correct them: then "auto" makes plain steps until this returns True.
    max_steps : int
        Largest number of E-steps of "auto".
    patience : float
        Number of gains below ``min_gain`` in a row after which "auto" stops, whatever gain it predicts: for lower bounds of
        likelihoods, whose slope promises more than they rise.
    """
    if not steps:
        return Refinement.no_steps(*update.values)
    with single_blas_thread():  # their number may change the bits of inner products
        passes = _Passes(e_step)
        if until is not None and steps == "auto":
            return _plain(update, passes, max_steps, until)
        return (
            _accelerate(update, passes, min_gain, max_steps, patience)
            if steps == "auto"
            else _plain(update, passes, steps)
        )


def converge(update: Any, e_step: EStep, max_steps: int = _MAX_STEPS) -> Refinement:
    """Run plain EM until the gain of a step is negligible, for models whose distributions have no coordinates."""
    heights: list[float] = []

    def record_step(current: Update, number: int) -> Any:
        sums = e_step(current, number)
        heights.append(float(sums.log_likelihood))
        return sums

    def converged() -> bool:
        enough = max(_MAX_REMAINING_GAIN, _MAX_REMAINING_SHARE * abs(heights[-1]))
        return len(heights) > _CALM_STEPS and heights[-1] - heights[-1 - _CALM_STEPS] < _CALM_STEPS * enough

    return refine(update, record_step, "auto", until=converged, max_steps=max_steps)


def estimate_values(update: Update, sums: Any) -> Values:
    """Return EM's new values from the sums of a pass."""
    return tuple(value for distribution in update.expected(sums) for value in distribution.estimate())


def over(blocks: Blocks, n_jobs: int | None = None, progress: bool = False) -> EStep:
    """Return the E-step that is a pass over blocks; options as in `accumulate`."""

    def e_step(update: Update, number: int) -> Any:
        return accumulate(blocks, update, n_jobs, progress=progress and f"refining, step {number}")

    return e_step


def _plain(update: Update, passes: _Passes, steps: int, until: Callable[[], bool] = lambda: False) -> Refinement:
    values, converged = update.values, False
    for _ in range(steps):
        values = passes.move_to(update.move_to(*values)).estimate()
        if converged := until():
            break
    return Refinement(values, np.array(passes.log_likelihood), converged, float("nan"))


def _accelerate(update: Update, passes: _Passes, min_gain: float, max_steps: int, patience: float) -> Refinement:
    point = _find_possible_start(update, passes)
    pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=_n_pairs(len(point.slope)))
    gain, remaining, max_correction, n_calm, n_slow, converged = np.inf, np.inf, _MAX_CORRECTION, 0, 0, False
    while np.isfinite(point.objective):
        correction = _correction(point, pairs)
        remaining = 0.5 * float(point.slope @ (point.em_step + correction))
        negligible = max(min_gain, _MAX_REMAINING_SHARE * abs(point.objective))
        n_calm = n_calm + 1 if max(remaining, gain) < negligible else 0
        n_slow = n_slow + 1 if gain < negligible else 0
        converged = n_calm >= _CALM_STEPS or n_slow >= patience
        if converged or len(passes.log_likelihood) >= max_steps:
            break
        next_point, max_correction = _search(point, correction, max_correction, passes, max_steps)
        if next_point is None:  # EM's own step does not gain either: only rounding remains
            converged = bool(remaining < negligible)
            break
        _remember(pairs, next_point.coordinates - point.coordinates, point.slope - next_point.slope, point.curvature)
        point, gain = next_point, next_point.objective - point.objective
    if n_slow >= patience:
        remaining = min(remaining, max(gain, 0.0))
    return Refinement(point.estimate(), np.array(passes.log_likelihood), converged, max(remaining, 0.0))


def _find_possible_start(update: Update, passes: _Passes) -> _Point:
    """Return the start, after a few plain EM steps if the data is impossible there."""
    point = passes.move_to(update)
    for _ in range(_MAX_FIRST_STEPS):
        if np.isfinite(point.objective):
            break
        point = passes.move_to(update.move_to(*point.estimate()))
    return point


@dataclass(frozen=True)
class _Point:
    """Update after a pass at its values; quantities that only "auto" needs are computed on demand."""

    update: Update
    expected: Sequence[Expected]
    log_likelihood: float

    @cached_property
    def objective(self) -> float:
        return self.log_likelihood + sum(distribution.log_prior() for distribution in self.expected)

    @cached_property
    def coordinates(self) -> np.ndarray:
        return np.concatenate(self._coordinate_parts)

    @cached_property
    def slope(self) -> np.ndarray:
        """Gradient of the objective, zero where it is rounding, which differs with the order in which rows are summed."""
        slope = np.concatenate([distribution.slope() for distribution in self.expected])
        return np.where(np.square(slope) <= _MIN_VISIBLE_GAIN * self.curvature, 0.0, slope)

    @cached_property
    def curvature(self) -> np.ndarray:
        return np.concatenate([distribution.curvature() for distribution in self.expected])

    def estimate(self) -> Values:
        """EM's new values."""
        return tuple(value for distribution in self.expected for value in distribution.estimate())

    @cached_property
    def em_step(self) -> np.ndarray:
        """Move of the coordinates by EM; coordinates without slope stay."""
        step = (
            np.concatenate([distribution.coordinates(*distribution.estimate()) for distribution in self.expected])
            - self.coordinates
        )
        return np.where(self.slope == 0, 0.0, step)

    def move(self, step: np.ndarray) -> Update:
        """Return the update at the coordinates after a step."""
        values: list[np.ndarray] = []
        for distribution, coordinates, part in zip(
            self.expected, self._coordinate_parts, self._split_step(step), strict=True
        ):
            values += distribution.move_to(coordinates + part)
        return self.update.move_to(*values)

    def reach(self, step: np.ndarray) -> float:
        """Return the largest move in a step."""
        return max(
            distribution.reach(part) for distribution, part in zip(self.expected, self._split_step(step), strict=True)
        )

    @cached_property
    def _coordinate_parts(self) -> list[np.ndarray]:
        """Coordinates of each distribution."""
        return [distribution.coordinates() for distribution in self.expected]

    def _split_step(self, step: np.ndarray) -> list[np.ndarray]:
        """Split a step into the steps of each distribution."""
        return np.split(step, np.cumsum([len(part) for part in self._coordinate_parts])[:-1])


class _Passes:
    """Counter of E-steps and their log-likelihoods."""

    def __init__(self, e_step: EStep) -> None:
        self._e_step = e_step
        self.log_likelihood: list[float] = []

    def move_to(self, update: Update) -> _Point:
        sums = self._e_step(update, len(self.log_likelihood) + 1)
        self.log_likelihood.append(float(sums.log_likelihood))
        return _Point(update, update.expected(sums), self.log_likelihood[-1])


def _correction(point: _Point, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the correction of EM's step by pairs of steps and slope changes (L-BFGS)."""
    if not pairs:
        return np.zeros_like(point.slope)
    step_to, scales = point.slope.copy(), []
    for step, change in reversed(pairs):
        scales.append(float(step @ step_to) / float(step @ change))
        step_to -= scales[-1] * change
    step_to /= point.curvature
    for (step, change), scale in zip(pairs, reversed(scales), strict=True):
        step_to += (scale - float(change @ step_to) / float(step @ change)) * step
    return np.where(point.slope == 0, 0.0, step_to - point.slope / point.curvature)


def _search(
    point: _Point, correction: np.ndarray, max_correction: float, passes: _Passes, max_steps: int
) -> tuple[_Point | None, float]:
    """Return the next point (None if nothing gains) and the largest correction to trust from there.

    EM's step with the correction, cut to the trusted size, is accepted if it gains a tenth of what EM's step alone promises.
    Next comes EM's step alone, which always gains, and a part of it, in case of rounding.
    """
    em_rise, reach = float(point.slope @ point.em_step), point.reach(correction)
    if not em_rise > _ROUNDING * abs(point.objective):
        return None, max_correction
    if em_rise + float(point.slope @ correction) > 0 and 0 < reach < np.inf:
        share = min(1.0, max_correction / reach)
        candidate = passes.move_to(point.move(point.em_step + share * correction))
        if candidate.objective - point.objective >= _MIN_GAIN_SHARE * em_rise:
            return candidate, min(_GROW * max_correction, _MAX_CORRECTION) if share < 1 else max_correction
        max_correction = _SHRINK * share * reach
        if len(passes.log_likelihood) >= max_steps:
            return None, max_correction
    for part in _EM_STEP_SHARES:
        candidate = passes.move_to(point.move(part * point.em_step))
        if candidate.objective > point.objective:
            return candidate, max_correction
        if len(passes.log_likelihood) >= max_steps:
            break
    return None, max_correction


def _remember(
    pairs: deque[tuple[np.ndarray, np.ndarray]], step: np.ndarray, change: np.ndarray, curvature: np.ndarray
) -> None:
    """Keep a pair if the objective is sufficiently concave along it."""
    if step @ change > _MIN_CURVATURE_SHARE * (step @ (curvature * step)):
        pairs.append((step, change))


def _n_pairs(size: int) -> int:
    return int(np.clip(_MEMORY_BYTES // max(16 * size, 1), 1, _MAX_PAIRS))
