"""The search for the best mixture: starts race by likelihood, and moves improve the winner.

Each start makes a few steps of EM, the best one many more; it also sets how much covariances are shrunk. Then moves of it (see
`latentia.mixtures._moves`) make a few steps each, the best of them some more, and the best one replaces the winner if it has a
larger objective.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..likelihood import race
from ._moves import propose_moves
from ._rows import EMResult, GaussianRows, Mixture

_MIN_GAIN = 1e-4  # smallest gain of a move, in nats per row


@dataclass(frozen=True)
class Effort:
    """Size of a search.

    Attributes
    ----------
    race_steps, winner_steps : int
        Steps of every start, and of the winner.
    moves : int
        Moves that are tried in a round.
    move_steps, best_move_steps : int
        Steps of every move, and of the best ones.
    n_best : int
        Number of best moves.
    rounds : int
    """

    race_steps: int = 8
    winner_steps: int = 40
    moves: int = 8
    move_steps: int = 4
    best_move_steps: int = 30
    n_best: int = 1
    rounds: int = 2


# The steps of other shapes cost more.
_SHAPED_EFFORT = Effort(race_steps=12, winner_steps=20, moves=6, move_steps=4, best_move_steps=10, n_best=2, rounds=4)
EFFORTS = {"spherical": Effort(), "diag": _SHAPED_EFFORT, "full": _SHAPED_EFFORT, "tied": _SHAPED_EFFORT}


def search_mixture(rows: GaussianRows, starts: Mapping[str, Mixture], try_moves: bool = True) -> tuple[str, EMResult]:
    """Search for the mixture of the highest likelihood; return the name of its start and the result of EM.

    Parameters
    ----------
    rows : GaussianRows
    starts : mapping from name to Mixture
        The preferred start comes first.
    try_moves : bool
        True tries moves after the race.
    """
    effort = EFFORTS[rows.shape]

    def climb(start: Mixture) -> tuple[float, EMResult]:
        result = rows.learn_prior(rows.shares(start)).climb(start, effort.race_steps)
        return rows.learn_prior(result.shares).subtract_optimism(result), result

    won = race(starts, climb)
    rows, best = rows.climb_with_prior(won.reached.mixture, effort.winner_steps)
    for _ in range(effort.rounds if try_moves else 0):
        proposals = propose_moves(rows.table, best.shares, rows.shape, effort.moves)
        candidates = sorted(
            (rows.climb(rows.start(proposal), effort.move_steps) for proposal in proposals), key=_negative_objective
        )
        finalists = sorted(
            (rows.climb(candidate.mixture, effort.best_move_steps) for candidate in candidates[: effort.n_best]),
            key=_negative_objective,
        )
        if not finalists or not finalists[0].objective > best.objective + _MIN_GAIN * rows.size:
            break
        next_rows, next_best = rows.climb_with_prior(finalists[0].mixture, effort.winner_steps)
        if not next_rows.subtract_optimism(next_best) > rows.subtract_optimism(best):
            break
        rows, best = next_rows, next_best
    return won.name, best


def _negative_objective(result: EMResult) -> float:
    return -result.objective
