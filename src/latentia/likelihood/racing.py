"""Race of starting points: a few steps from each, and the rest from the one with the highest likelihood.

EM ends at the optimum whose basin it starts in, and no single way to start is best on all data. Starts computed from the data
need no seed, and a few steps rank them, since EM gains most at once. So a handful of such starts costs little more than one,
whereas random restarts cost a full fit each and depend on the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ..exceptions import LatentiaError
from .em import EStep, Refine, Refinement, Update, refine

Start = TypeVar("Start")
Reached = TypeVar("Reached")


@dataclass(frozen=True)
class Race(Generic[Reached]):
    """Result of a race.

    Attributes
    ----------
    name : str
        Name of the best start.
    reached : object
        Result from that start.
    heights : dict from str to float
        Log-likelihood that every start reached, in nats; -inf for a failed one.
    n_steps : int
        Number of E-steps of all starts together, in `race_updates`.
    """

    name: str
    reached: Reached
    heights: dict[str, float]
    n_steps: int = 0


def race(
    starts: Mapping[str, Start], climb: Callable[[Start], tuple[float, Reached]], min_gain: float = 0.0
) -> Race[Reached]:
    """Find the start that climbs highest.

    Parameters
    ----------
    starts : mapping from name to start
        The preferred one first.
    climb : callable
        ``climb(start)`` returns the log-likelihood that it reaches, and the result. A start that raises a `LatentiaError`, or
        reaches NaN, loses.
    min_gain : float
        Nats by which a later start must be higher than the best of those before it.

    Raises
    ------
    LatentiaError
        The error of the first start, if all fail.
    """
    best: Reached | None = None
    name, heights, failure = "", {}, None
    for key, start in starts.items():
        try:
            height, reached = climb(start)
        except LatentiaError as error:
            heights[key], failure = -np.inf, failure or error
            continue
        heights[key] = height if height == height else -np.inf
        if best is None or heights[key] > heights[name] + min_gain:
            best, name = reached, key
    if best is None:
        raise failure or LatentiaError("Expected at least one start.")
    return Race(name, best, heights)


def race_updates(
    starts: Mapping[str, Update],
    e_step: EStep,
    steps: Refine,
    n_trial_steps: int,
    min_gain: float = 0.0,
    max_steps: Mapping[str, int] | None = None,
    **options: Any,
) -> Race[Refinement]:
    """Refine every start by a few steps, and the one of the highest likelihood to the end.

    Parameters
    ----------
    starts : mapping from name to Update
        The preferred one first; it wins without a race if ``steps`` is 0, or if it is alone.
    e_step : callable
        As in `refine`.
    steps : int or "auto"
        Steps of the winner, including the trial steps; as in `refine`.
    n_trial_steps : int
        Trial steps of every start, accelerated ones if ``steps`` is "auto".
    min_gain : float
        Nats by which a later start must be higher than the best of those before it.
    max_steps : mapping from name to int, optional
        Limits of the E-steps of "auto" from some of the starts.
    **options
        ``min_gain`` of `refine`.

    Returns
    -------
    Race
        ``reached`` is a `Refinement` with the steps of the winner alone; the others cost ``n_trial_steps`` passes each.
    """
    limits = max_steps or {}
    if len(starts) == 1 or not steps:
        name, update = next(iter(starts.items()))
        refinement = refine(update, e_step, steps, **_limit(limits.get(name)), **options)
        return Race(name, refinement, {}, len(refinement.log_likelihood))
    n_steps = 0
    trial_steps: Refine = "auto" if steps == "auto" else min(n_trial_steps, steps)

    def climb(update: Update) -> tuple[float, tuple[Update, Refinement]]:
        nonlocal n_steps
        refinement = refine(update, e_step, trial_steps, **_limit(n_trial_steps), **options)
        n_steps += len(refinement.log_likelihood)
        return float(np.max(refinement.log_likelihood)), (update, refinement)

    winner = race(starts, climb, min_gain)
    update, refinement = winner.reached
    further_steps: Refine = "auto" if steps == "auto" else steps - min(n_trial_steps, steps)
    remaining_steps = limits[winner.name] - n_trial_steps if steps == "auto" and winner.name in limits else None
    if refinement.converged or not further_steps or (remaining_steps is not None and remaining_steps <= 0):
        return Race(winner.name, refinement, winner.heights, n_steps)
    limit = _limit(remaining_steps)
    further = refine(update.move_to(*refinement.values), e_step, further_steps, **limit, **options)
    history = np.concatenate([refinement.log_likelihood, further.log_likelihood])
    reached = Refinement(further.values, history, further.converged, further.remaining)
    return Race(winner.name, reached, winner.heights, n_steps + len(further.log_likelihood))


def _limit(max_steps: int | None) -> dict[str, Any]:
    return {} if max_steps is None else {"max_steps": max(max_steps, 1)}
