"""Where EM starts: the likeliest of several starts, after moves. See `latentia.mixtures.spherical`."""

from __future__ import annotations

import numpy as np

from ..clusters import label_starts, shares_of_labels
from ..passes import Blocks
from ._moments import Moments
from ._moves import Shape, merged_shares
from ._rows import Mixture, MixtureRows
from ._search import search
from ._shapes import ShapedRows

__all__ = ["gain_over_one_fewer", "likeliest_start"]

_MOST_ROWS = 10_000  # on which starts are compared
_MERGERS, _STEPS = 3, 40  # that are tried, and of EM after each


def likeliest_start(
    blocks: Blocks,
    moments: Moments,
    by_moments: Mixture | None,
    k: int,
    shape: Shape,
    *,
    others: bool = True,
    moves: bool = True,
) -> Mixture:
    """The likeliest mixture on at most 10,000 of the rows, after few steps of EM.

    Parameters
    ----------
    blocks : Blocks
    moments : Moments
        For the coordinates in which spherical mixtures are compared.
    by_moments : Mixture or None
        The one that the moments of the rows say.
    k : int
    shape : {"spherical", "diag", "full", "tied"}
        Other shapes race anew from the best spherical mixture and from the clusters that its starts were.
    others : bool
        Whether there are starts besides the moments.
    moves : bool
        Whether the winner is left for better ones by moves.
    """
    rows = MixtureRows.of(blocks, moments.statistic.coordinates, moments.least_variance, _MOST_ROWS)
    labels = label_starts(rows.table, k) if others else {}
    shares = {name: shares_of_labels(one, k) for name, one in labels.items()}
    starts = {} if by_moments is None else {"moments": moments.in_coordinates(by_moments)}
    starts |= {name: rows.start(one) for name, one in shares.items()}
    best: Mixture = search(rows, starts, "spherical", moves and shape == "spherical")
    if shape == "spherical":
        return moments.in_columns(best)
    shaped = ShapedRows.of(blocks, moments.columns.mean, shape, _MOST_ROWS)
    all_shares: dict[str, np.ndarray] = {"spherical": rows.shares(best)} | shares
    return shaped.mixture(search(shaped, {name: shaped.start(one) for name, one in all_shares.items()}, shape, moves))


def gain_over_one_fewer(blocks: Blocks, moments: Moments, mixture: Mixture) -> float:
    """Nats a row that a spherical mixture gains over one with two of its components merged, less Schwarz's penalty."""
    rows = MixtureRows.of(blocks, moments.statistic.coordinates, moments.least_variance, _MOST_ROWS)
    height, whole = rows.climb(moments.in_coordinates(mixture), _STEPS)
    fewer = merged_shares(rows.table, rows.shares(whole), "spherical", _MERGERS)
    best = max(rows.climb(rows.start(shares), _STEPS)[0] for shares in fewer)
    penalty = 0.5 * (rows.width + 2) * np.log(blocks.n_rows) / blocks.n_rows
    return (height - best) / rows.size - float(penalty)
