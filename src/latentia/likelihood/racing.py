"""Starts that race by likelihood: a few steps from each, and the rest from the one that is highest.

EM ends at the optimum whose basin it starts in, and no single way to start is best on all data. Starts that are computed from
the data need no seed, and a few steps tell them apart: most of what EM gains it gains at once. So a handful of such starts
costs little more than one, where restarts from random numbers cost a whole fit each and give another answer for another seed.
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
    """Who won.

    Attributes
    ----------
    name : str
        Of the start that came highest.
    reached : object
        What became of it.
    heights : dict from str to float
        What every start reached, in nats; -inf for one that failed.
    n_steps : int
        E-steps of all starts together, of `race_updates`.
    """

    name: str
    reached: Reached
    heights: dict[str, float]
    n_steps: int = 0


def race(
    starts: Mapping[str, Start], climb: Callable[[Start], tuple[float, Reached]], clearly: float = 0.0
) -> Race[Reached]:
    """The start that climbs highest.

    Parameters
    ----------
    starts : mapping from name to start
        The preferred one first.
    climb : callable
        ``climb(start)``: the log-likelihood that it reaches, and what it has become. A start that raises a `LatentiaError`, or
        reaches no number, loses.
    clearly : float
        Nats by which a later start must be higher than the best of those before it.

    Raises
    ------
    LatentiaError
        That of the first start, if all fail.
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
        if best is None or heights[key] > heights[name] + clearly:
            best, name = reached, key
    if best is None:
        raise failure or LatentiaError("No start was given.")
    return Race(name, best, heights)


def race_updates(
    starts: Mapping[str, Update],
    e_step: EStep,
    steps: Refine,
    few: int,
    clearly: float = 0.0,
    most: Mapping[str, int] | None = None,
    **options: Any,
) -> Race[Refinement]:
    """Refine every start by a few steps, and the one of the highest likelihood to the end.

    Parameters
    ----------
    starts : mapping from name to Update
        The preferred one first; it is taken as it is where ``steps`` is 0, and where it is alone.
    e_step : callable
        As in `refine`.
    steps : int or "auto"
        Of the winner, the few ones among them; as in `refine`.
    few : int
        Steps of every start, accelerated ones if ``steps`` is "auto".
    clearly : float
        Nats by which a later start must be higher than the best of those before it.
    most : mapping from name to int, optional
        E-steps of "auto" from some of the starts, more than a few.
    **options
        ``enough`` of `refine`.

    Returns
    -------
    Race
        ``reached`` is a `Refinement` with the steps of the winner alone; the others cost ``few`` passes each.
    """
    capped = most or {}
    if len(starts) == 1 or not steps:
        name, update = next(iter(starts.items()))
        found = refine(update, e_step, steps, **_limit(capped.get(name)), **options)
        return Race(name, found, {}, len(found.log_likelihood))
    made = 0
    tried: Refine = "auto" if steps == "auto" else min(few, steps)

    def climb(update: Update) -> tuple[float, tuple[Update, Refinement]]:
        nonlocal made
        found = refine(update, e_step, tried, **_limit(few), **options)
        made += len(found.log_likelihood)
        return float(np.max(found.log_likelihood)), (update, found)

    winner = race(starts, climb, clearly)
    update, found = winner.reached
    rest: Refine = "auto" if steps == "auto" else steps - min(few, steps)
    left = capped[winner.name] - few if steps == "auto" and winner.name in capped else None
    if found.converged or not rest or (left is not None and left <= 0):
        return Race(winner.name, found, winner.heights, made)
    limit = _limit(left)
    further = refine(update.at(*found.values), e_step, rest, **limit, **options)
    history = np.concatenate([found.log_likelihood, further.log_likelihood])
    reached = Refinement(further.values, history, further.converged, further.remaining)
    return Race(winner.name, reached, winner.heights, made + len(further.log_likelihood))


def _limit(most: int | None) -> dict[str, Any]:
    return {} if most is None else {"most": max(most, 1)}
