"""Initialisation of EM: the likeliest of several starts, after moves. See `latentia.mixtures.spherical`."""

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
from ._moves import Shape, propose_mergers
from ._rows import GaussianRows, Mixture, n_parameters
from ._search import search_mixture

_MAX_ROWS = 10_000  # rows on which starts are compared
_MERGERS, _MERGER_STEPS = 3, 20  # mergers that are tried, and steps of EM after each
_SHAPE_STEPS = 3  # steps of EM with another shape
_ROWS_PER_COLUMN = 10  # With fewer rows a covariance matrix cannot be fitted.
_MAX_STRETCH = 1e-4  # Whitening does not enlarge directions whose variance is a smaller share of the largest variance.
MOMENTS, _SPHERICAL, _WHITENED = "moments", "balls", "whitened: "


class InitialMixture(NamedTuple):
    """Initial mixture of EM, and the names of its starts: of the spherical one, and of another shape if there is one."""

    mixture: Mixture
    start_names: tuple[str, ...]


def find_likeliest_start(
    blocks: Blocks,
    moments: Moments,
    moment_mixture: Mixture | None,
    k: int,
    shape: Shape,
    *,
    shrink: bool = False,
    compete: bool = True,
    start_names: tuple[str, ...] = (),
) -> InitialMixture:
    """Find the likeliest mixture on at most 10,000 of the rows, after few steps of EM.

    Parameters
    ----------
    blocks : Blocks
    moments : Moments
        For the coordinates in which spherical mixtures are compared.
    moment_mixture : Mixture or None
        The mixture recovered from the moments of the rows.
    k : int
    shape : {"spherical", "diag", "full", "tied"}
        Other shapes race again from the best spherical mixture and from the clusters of its starts.
    shrink : bool
        True shrinks their covariances.
    compete : bool
        True adds starts besides the moments, and moves.
    start_names : tuple of str
        Restricts the starts to those of the full fit, without moves, for a fit on a part of the rows.
    """
    rows = GaussianRows.sample_spherical(blocks, moments.statistic.coordinates, moments.min_variance, _MAX_ROWS)
    # A part without the moments' start tries all.
    allowed = () if MOMENTS in start_names and moment_mixture is None else start_names
    labels = label_starts(rows.table, k, allowed) if compete else {}
    shares = {name: shares_of_labels(row_labels, k) for name, row_labels in labels.items()}
    whitened_labels = _label_whitened(rows.table, k, allowed) if compete and shape != "spherical" else {}
    try_moves, is_spherical = compete and not allowed, shape == "spherical"
    spherical_start, start = "", None
    if is_spherical or not allowed or _SPHERICAL in allowed:
        starts = {} if moment_mixture is None else {MOMENTS: moments.to_coordinates(moment_mixture)}
        spherical_start, best = search_mixture(
            rows,
            starts | {name: rows.start(row_shares) for name, row_shares in shares.items()},
            try_moves and is_spherical,
        )
        if is_spherical:
            return InitialMixture(moments.to_columns(best.mixture), (spherical_start,))
        start = best.shares
    shaped_rows = GaussianRows.from_blocks(blocks, moments.columns.mean, shape, _MAX_ROWS, shrink)
    start_shares = {} if start is None else {_SPHERICAL: start}
    shares |= {name: shares_of_labels(row_labels, k) for name, row_labels in whitened_labels.items()}
    start_shares |= {name: row_shares for name, row_shares in shares.items() if not allowed or name == allowed[-1]}
    mixtures = {name: shaped_rows.start(row_shares) for name, row_shares in start_shares.items()}
    if try_moves or len(mixtures) > 1:
        shaped_start, best = search_mixture(shaped_rows, mixtures, try_moves)
        mixture = best.mixture
    else:
        ((shaped_start, mixture),) = mixtures.items()
    return InitialMixture(
        mixture.shift(moments.columns.mean),
        (spherical_start, shaped_start) if shaped_start == _SPHERICAL else (shaped_start,),
    )


def _label_whitened(table: np.ndarray, k: int, allowed: Collection[str]) -> dict[str, np.ndarray]:
    """Label rows after whitening, which keeps long parallel clusters whole."""
    methods = [name.removeprefix(_WHITENED) for name in allowed if name.startswith(_WHITENED)]
    if allowed and not methods:
        return {}
    centred = table - table.mean(axis=0)
    values, axes = np.linalg.eigh(centred.T @ centred / len(table))
    scale = np.sqrt(np.maximum(values, _MAX_STRETCH * max(float(values[-1]), np.finfo(float).tiny)))
    return {
        _WHITENED + name: row_labels for name, row_labels in label_starts(centred @ (axes / scale), k, methods).items()
    }


def measure_gain_over_merged(blocks: Blocks, moments: Moments, mixture: Mixture) -> float:
    """Measure the gain of a spherical mixture over one with two components merged: nats per row, less Schwarz's penalty."""
    rows = GaussianRows.sample_spherical(blocks, moments.statistic.coordinates, moments.min_variance, _MAX_ROWS)
    full = rows.climb(moments.to_coordinates(mixture), _MERGER_STEPS)
    merged = propose_mergers(rows.table, full.shares, "spherical", _MERGERS)
    best = max(rows.climb(rows.start(shares), _MERGER_STEPS).objective for shares in merged)
    penalty = 0.5 * (rows.width + 2) * np.log(blocks.n_rows) / blocks.n_rows
    return (full.objective - best) / rows.size - float(penalty)


def measure_gain_of_full(rows: np.ndarray, shares: np.ndarray, shape: Shape) -> float | None:
    """Measure how many nats per row full covariances predict better, from these shares (K, n); None if rows are too few."""
    if len(rows) < _ROWS_PER_COLUMN * rows.shape[1]:
        return None
    likelihoods = []
    for candidate in ("full", shape):
        free_rows = GaussianRows.from_blocks(
            Blocks.from_array(rows), rows.mean(axis=0), candidate, shrink=True
        ).learn_prior(shares)
        rows_with_prior, climbed = free_rows.climb_with_prior(free_rows.start(shares), _SHAPE_STEPS)
        likelihoods.append(rows_with_prior.subtract_optimism(climbed) / len(rows))
    return likelihoods[0] - likelihoods[1]


def advise_shape(
    blocks: Blocks, k: int, shape: Shape, min_likelihood: float, fit: Callable[[np.ndarray, Shape], Mixture]
) -> str:
    """Advise another ``covariance_type`` if its fit describes a sample of rows better than one Gaussian.

    Parameters
    ----------
    k : int
        Number of components.
    shape : str
        Shape of the fitted components.
    min_likelihood : float
        Log-likelihood of one Gaussian, in nats per row, less Schwarz's penalty.
    fit : callable
        ``fit(rows, shape)``: fits a mixture to some rows.
    """
    (rows,) = sample_rows(blocks)
    n, width = rows.shape
    if n < _ROWS_PER_COLUMN * width or sparse.issparse(rows):
        return ""
    gains = dict[Shape, float]()
    candidates: tuple[Shape, ...] = ("diag", "tied", "full")
    for candidate in candidates:
        if candidate == shape:
            continue
        try:
            mixture = fit(rows, candidate)
        except LatentiaError:  # The covariances are singular.
            continue
        if mixture.covariances is None or not np.isfinite(mixture.covariances).all():  # Squares were out of range.
            continue
        likelihood = float(normalised(mixture.log_density(rows) + log(mixture.weights), mixture.weights)[1].mean())
        penalty = 0.5 * n_parameters(k, width, candidate) * np.log(blocks.n_rows) / blocks.n_rows
        gains[candidate] = likelihood - penalty - min_likelihood
    best = max(gains, key=gains.__getitem__, default=None)
    if best is None or gains[best] <= 0:
        return ""
    return (
        f"Compare with covariance_type={best!r}: on a sample of rows it predicts better than one component, by "
        f"{gains[best]:.2g} nats per row. covariance_type='auto' compares all shapes on held-out rows."
    )
