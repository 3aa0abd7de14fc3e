"""Where EM starts: the likeliest of several starts, after moves. See `latentia.mixtures.spherical`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..clusters import label_starts, shares_of_labels
from ..exceptions import LatentiaError
from ..likelihood import log, normalised
from ..passes import Blocks, sample_rows
from ._moments import Moments
from ._moves import Shape, merged_shares
from ._rows import GaussianRows, Mixture, n_parameters
from ._search import search

_MOST_ROWS = 10_000  # on which starts are compared
_MERGERS, _STEPS = 3, 20  # that are tried, and of EM after each
_FEW_STEPS = 3  # of EM with another shape
_PER_COLUMN = 10  # rows, from which on a covariance can be fitted
_FLAT = 1e-4  # variance of a direction, of the widest one, up to which whitening widens it
MOMENTS, _BALLS, _WHITENED = "moments", "balls", "whitened: "


class Begun(NamedTuple):
    """Where EM starts, and the names of the starts that led there: of balls, and of the shape if it is another one."""

    mixture: Mixture
    ways: tuple[str, ...]


def likeliest_start(
    blocks: Blocks,
    moments: Moments,
    by_moments: Mixture | None,
    k: int,
    shape: Shape,
    *,
    shrink: bool = False,
    others: bool = True,
    ways: tuple[str, ...] = (),
) -> Begun:
    """The likeliest mixture on at most 10,000 of the rows, after few steps of EM.

    Parameters
    ----------
    blocks : Blocks
    moments : Moments
        For the coordinates in which balls are compared.
    by_moments : Mixture or None
        The one that the moments of the rows say.
    k : int
    shape : {"spherical", "diag", "full", "tied"}
        Other shapes race anew from the best mixture of balls and from the clusters that its starts were.
    shrink : bool
        Whether their covariances are shrunk.
    others : bool
        Whether there are starts besides the moments, and moves.
    ways : tuple of str
        The only starts, and no moves: those that led to the fit of which this is a part.
    """
    rows = GaussianRows.balls(blocks, moments.statistic.coordinates, moments.least_variance, _MOST_ROWS)
    only = () if MOMENTS in ways and by_moments is None else ways  # where a part lacks it, all compete
    labels = label_starts(rows.table, k, only) if others else {}
    shares = {name: shares_of_labels(one, k) for name, one in labels.items()}
    stretched = _stretched_labels(rows.table, k, only) if others and shape != "spherical" else {}
    moves, round_ = others and not only, shape == "spherical"
    found, start = "", None
    if round_ or not only or _BALLS in only:
        starts = {} if by_moments is None else {MOMENTS: moments.in_coordinates(by_moments)}
        found, best = search(rows, starts | {name: rows.start(one) for name, one in shares.items()}, moves and round_)
        if round_:
            return Begun(moments.in_columns(best.mixture), (found,))
        start = best.shares
    shaped = GaussianRows.of(blocks, moments.columns.mean, shape, _MOST_ROWS, shrink)
    all_shares = {} if start is None else {_BALLS: start}
    shares |= {name: shares_of_labels(one, k) for name, one in stretched.items()}
    all_shares |= {name: one for name, one in shares.items() if not only or name == only[-1]}
    ready = {name: shaped.start(one) for name, one in all_shares.items()}
    if moves or len(ready) > 1:
        way, best = search(shaped, ready, moves)
        mixture = best.mixture
    else:
        ((way, mixture),) = ready.items()
    return Begun(mixture.moved(moments.columns.mean), (found, way) if way == _BALLS else (way,))


def _stretched_labels(table: np.ndarray, k: int, only: Collection[str]) -> dict[str, np.ndarray]:
    """Label rows after whitening: long clusters side by side are not cut across there."""
    wanted = [name.removeprefix(_WHITENED) for name in only if name.startswith(_WHITENED)]
    if only and not wanted:
        return {}
    centred = table - table.mean(axis=0)
    values, axes = np.linalg.eigh(centred.T @ centred / len(table))
    scale = np.sqrt(np.maximum(values, _FLAT * max(float(values[-1]), np.finfo(float).tiny)))
    return {_WHITENED + name: one for name, one in label_starts(centred @ (axes / scale), k, wanted).items()}


def gain_over_one_fewer(blocks: Blocks, moments: Moments, mixture: Mixture) -> float:
    """Nats a row that a spherical mixture gains over one with two of its components merged, less Schwarz's penalty."""
    rows = GaussianRows.balls(blocks, moments.statistic.coordinates, moments.least_variance, _MOST_ROWS)
    whole = rows.climb(moments.in_coordinates(mixture), _STEPS)
    fewer = merged_shares(rows.table, whole.shares, "spherical", _MERGERS)
    best = max(rows.climb(rows.start(shares), _STEPS).height for shares in fewer)
    penalty = 0.5 * (rows.width + 2) * np.log(blocks.n_rows) / blocks.n_rows
    return (whole.height - best) / rows.size - float(penalty)


def gain_of_full(rows: np.ndarray, shares: np.ndarray, shape: Shape) -> float | None:
    """Nats a row by which full covariances predict better, from these shares of rows (K, n) on; None where rows are too few."""
    if len(rows) < _PER_COLUMN * rows.shape[1]:
        return None
    heights = []
    for one in ("full", shape):
        free = GaussianRows.of(Blocks.from_array(rows), rows.mean(axis=0), one, shrink=True).taught(shares)
        told, climbed = free.learn(free.start(shares), _FEW_STEPS)
        heights.append(told.honest(climbed) / len(rows))
    return heights[0] - heights[1]


def shape_to_try(
    blocks: Blocks, k: int, shape: Shape, least: float, fit: Callable[[np.ndarray, Shape], Mixture]
) -> str:
    """Advise another ``covariance_type``, where a fit of it describes a sample of rows better than one Gaussian does.

    Parameters
    ----------
    k : int
        Number of components.
    shape : str
        Of the components that were fitted.
    least : float
        Nats a row, less Schwarz's penalty, of one Gaussian.
    fit : callable
        ``fit(rows, shape)``: the mixture of some rows, from starts of its own.
    """
    (rows,) = sample_rows(blocks)
    n, width = rows.shape
    if n < _PER_COLUMN * width or sparse.issparse(rows):
        return ""
    gains = dict[Shape, float]()
    others: tuple[Shape, ...] = ("diag", "tied", "full")
    for other in others:
        if other == shape:
            continue
        try:
            mixture = fit(rows, other)
        except LatentiaError:  # singular
            continue
        if mixture.covariances is None or not np.isfinite(mixture.covariances).all():  # squares were out of range
            continue
        height = float(normalised(mixture.log_density(rows) + log(mixture.weights), mixture.weights)[1].mean())
        penalty = 0.5 * n_parameters(k, width, other) * np.log(blocks.n_rows) / blocks.n_rows
        gains[other] = height - penalty - least
    best = max(gains, key=gains.__getitem__, default=None)
    if best is None or gains[best] <= 0:
        return ""
    return (
        f"Compare with covariance_type={best!r}: such components predict a sample of rows better than one component, by "
        f"{gains[best]:.2g} nats a row. covariance_type='auto' compares all shapes on held-out rows."
    )
