"""The search for the best mixture: starts race by likelihood, and the winner is left for better ones by moves.

Each start climbs a few steps, the highest a good deal more. Then twelve moves of it (see `latentia.mixtures._moves`) climb a
few steps each, the highest three of them some more, and the best one takes the place of the winner if it is higher: at most
three times, so that all of it costs about as much as ten starts from random numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..likelihood import race
from ._moves import Shape, moved_shares

__all__ = ["Climber", "search"]

_HIGHER = 1e-4  # nats a row by which a move must be higher


@dataclass(frozen=True)
class Effort:
    """How far a search goes.

    Attributes
    ----------
    few, many : int
        Steps of every start, and of the winner.
    moves : int
        That are tried in a round.
    short, long : int
        Steps of every move, and of the best ones.
    kept : int
        The best ones.
    rounds : int
    """

    few: int = 8
    many: int = 40
    moves: int = 12
    short: int = 4
    long: int = 12
    kept: int = 3
    rounds: int = 3


_SHAPED = Effort(few=5, many=20, short=2, long=8, rounds=2)  # whose steps cost more
EFFORTS = {"spherical": Effort(), "diag": _SHAPED, "full": _SHAPED, "tied": _SHAPED}


class Climber(Protocol):
    """EM on rows in memory, from whatever the model is described by."""

    @property
    def table(self) -> np.ndarray:
        """The rows about their centre, shape (n, b)."""

    def start(self, shares: np.ndarray) -> Any:
        """The model whose components have these shares of the rows, shape (n, K)."""

    def climb(self, model: Any, steps: int) -> tuple[float, Any]:
        """The log-likelihood after at most so many steps, and the model there."""

    def shares(self, model: Any) -> np.ndarray:
        """The probability of each component for each row, shape (n, K)."""


def search(climber: Climber, starts: Mapping[str, Any], shape: Shape, moves: bool = True) -> Any:
    """The model of the highest likelihood that is found.

    Parameters
    ----------
    climber : Climber
    starts : mapping from name to model
        The preferred one first.
    shape : {"spherical", "diag", "full", "tied"}
        Of the covariances.
    moves : bool
        Whether moves are tried after the race.
    """
    effort = EFFORTS[shape]
    winner = race(starts, lambda one: climber.climb(one, effort.few)).reached
    height, model = climber.climb(winner, effort.many)
    for _ in range(effort.rounds if moves else 0):
        tried = []
        for shares in moved_shares(climber.table, climber.shares(model), shape, effort.moves):
            tried.append(climber.climb(climber.start(shares), effort.short))
        tried.sort(key=lambda one: -one[0])
        further = [climber.climb(one, effort.long) for _, one in tried[: effort.kept]]
        best = max(further, key=lambda one: one[0], default=(-np.inf, None))
        if not best[0] > height + _HIGHER * len(climber.table):
            break
        height, model = climber.climb(best[1], effort.many)
    return model
