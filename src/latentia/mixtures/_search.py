"""The search for the best mixture: starts race by likelihood, and the winner is left for better ones by moves.

Each start climbs a few steps, the highest a good deal more; it also says by how much covariances are shrunk. Then
moves of it (see `latentia.mixtures._moves`) climb a few steps each, the highest of them some more, and the best one takes the
place of the winner if it is higher.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..likelihood import race
from ._moves import moved_shares
from ._rows import Climbed, GaussianRows, Mixture

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
    moves: int = 8
    short: int = 4
    long: int = 30
    kept: int = 1
    rounds: int = 2


_SHAPED = Effort(few=12, many=20, moves=6, short=4, long=10, kept=2, rounds=4)  # whose steps cost more
EFFORTS = {"spherical": Effort(), "diag": _SHAPED, "full": _SHAPED, "tied": _SHAPED}


def search(rows: GaussianRows, starts: Mapping[str, Mixture], moves: bool = True) -> tuple[str, Climbed]:
    """The start of the highest likelihood, and what becomes of it.

    Parameters
    ----------
    rows : GaussianRows
    starts : mapping from name to Mixture
        The preferred one first.
    moves : bool
        Whether moves are tried after the race.
    """
    effort = EFFORTS[rows.shape]

    def climbed(start: Mixture) -> tuple[float, Climbed]:
        found = rows.taught(rows.shares(start)).climb(start, effort.few)
        return rows.taught(found.shares).honest(found), found

    won = race(starts, climbed)
    rows, best = rows.learn(won.reached.mixture, effort.many)
    for _ in range(effort.rounds if moves else 0):
        moved = moved_shares(rows.table, best.shares, rows.shape, effort.moves)
        tried = sorted((rows.climb(rows.start(one), effort.short) for one in moved), key=_fall)
        further = sorted((rows.climb(one.mixture, effort.long) for one in tried[: effort.kept]), key=_fall)
        if not further or not further[0].height > best.height + _HIGHER * rows.size:
            break
        told, moved_to = rows.learn(further[0].mixture, effort.many)
        if not told.honest(moved_to) > rows.honest(best):
            break
        rows, best = told, moved_to
    return won.name, best


def _fall(climbed: Climbed) -> float:
    return -climbed.height
