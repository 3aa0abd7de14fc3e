"""Whether components are what a mixture cuts a single cloud into. Halves of the rows cut it alike and find these again.

A cloud has the rows' mean and covariance, and their distances from it in all directions alike: tails as heavy, and no clusters.
One of another shape, such as a cube, gains a little more. Where rows do not lie about components as the model says, so much
does not count, unless rows are missing between components.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.covariance import oas

from ..evidence import Check, trivial_checks
from ..exceptions import LatentiaError
from ..likelihood import log, normalised, single_gaussian
from ..passes import Blocks, Folds, content_keys, sample_rows
from ._nulls import MOST_ROWS, gains_of_nulls, null_checks
from ._rows import Mixture

_VANISHED = 1e-8  # of the widest direction
_SAMPLE = 3000  # rows of a simulated cloud at most
_OTHER_SHAPE = "One Gaussian predicts rows better than components of this shape: compare with another covariance_type."
_SHAPE = 0.2  # nats a row, that a cloud of another shape may gain: cubes up to .15
_WINDOW, _SHALLOW, _SURE = 0.125, 0.5, 2.0  # of the distance of two means; share of the rows there; standard errors
_DEVIATIONS = 2.0  # standard errors of a gain in other rows


def one_cloud(rows: np.ndarray, seed: int) -> np.ndarray:
    """Rows of one cloud: directions are drawn anew, distances in standard deviations dealt to them, shape (n, D)."""
    rng, mean = np.random.default_rng([seed, 104]), rows.mean(axis=0)
    left, sizes, right = np.linalg.svd(rows - mean, full_matrices=False)
    kept = sizes > _VANISHED * sizes[0]
    lengths = np.linalg.norm(left[:, kept], axis=1)
    directions = rng.standard_normal((len(rows), int(kept.sum())))
    directions *= (rng.permutation(lengths) / np.linalg.norm(directions, axis=1))[:, None]
    return np.asarray(mean + (directions * sizes[kept]) @ right[kept])


def structure_checks(
    blocks: Blocks,
    folds: Folds,
    halves: list[tuple[Mixture, Any, Any]],
    fit: Callable[[Blocks], Mixture],
    shaped: bool,
    seed: int,
) -> list[Check]:
    """Whether fits to halves predict the other halves better than one Gaussian does, and, of few rows, than single clouds are.

    Parameters
    ----------
    halves : list of triples
        The mixture of one half, groups of that half, and groups of the other half.
    fit : callable
        The mixture of some rows, as the estimator fits it.
    shaped : bool
        Whether rows lie about components as the model says.
    """
    if not halves:
        return []
    heights = [_heights(mixture, sample_rows(blocks.group(other, folds))[0]) for mixture, _, other in halves]
    fitted, trivial = (np.concatenate(one) for one in zip(*heights, strict=True))
    lines = list[Check]()
    (rows,) = sample_rows(blocks, _SAMPLE)
    parts = [[sample_rows(blocks.group(half, folds))[0] for half in one[1:]] for one in halves]
    enough = min(part.shape[0] for pair in parts for part in pair) > 1  # One row has no ellipsoid.
    if blocks.n_rows <= MOST_ROWS and not sparse.issparse(rows) and enough:
        gain = float(np.mean([_gain(one[0], *rows) for one, rows in zip(halves, parts, strict=False)]))
        if not shaped and not any(_has_valley(mixture, blocks.group(other, folds)) for mixture, _, other in halves):
            gain -= _SHAPE
        lines = null_checks(gain, _gains_of_clouds(np.asarray(rows), gain, fit, seed), "single clouds")
    options: dict[str, Any] = {"extra": 0, "n_rows": blocks.n_rows, "against": "one component"}
    if not lines:
        return trivial_checks(fitted, trivial, deviations=_DEVIATIONS, **options)
    # Components of the wrong shape are worse than one Gaussian of the right one, and are there nevertheless.
    (shape,) = trivial_checks(fitted, trivial, deviations=-_DEVIATIONS, **options)
    return [*lines, replace(shape, role="caution", remedy=_OTHER_SHAPE)]


def _gains_of_clouds(table: np.ndarray, gain: float, fit: Callable[[Blocks], Mixture], seed: int) -> list[float]:
    """Return gains of fits to one half of simulated clouds in the other half."""
    table, half = table[np.argsort(content_keys(table), kind="stable")], len(table) // 2

    def simulate(number: int) -> float | None:
        cloud = one_cloud(table, seed + number)
        with contextlib.suppress(LatentiaError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _gain(fit(Blocks.from_array(cloud[:half])), cloud[:half], cloud[half:])
        return None

    return gains_of_nulls(gain, simulate)


def _gain(mixture: Mixture, rows: np.ndarray, others: np.ndarray) -> float:
    """Median gain of the mixture of some rows over one ellipsoid of these, in other rows, in nats.

    The ellipsoid is shrunk, since few rows tell little of many columns. On the mean a few rows of heavy tails would decide.
    """
    scale = np.vstack([rows, others]).std(axis=0)
    center, scale = rows.mean(axis=0), np.where(scale > 0, scale, 1.0)
    values, axes = np.linalg.eigh(oas((rows - center) / scale, assume_centered=True)[0])
    values = np.maximum(values, _VANISHED * values[-1])
    squares = np.square((others - center) / scale @ axes) / values
    constant = np.log(2 * np.pi * values).sum() + 2 * np.log(scale).sum()
    trivial = -0.5 * (squares.sum(axis=1) + constant)
    return float(np.median(_log_density(mixture, others) - trivial))


def _heights(mixture: Mixture, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Log-densities of rows under a mixture, and under one Gaussian."""
    return _log_density(mixture, rows), single_gaussian(rows, rows.shape[0])[0]


def _log_density(mixture: Mixture, rows: Any) -> np.ndarray:
    return normalised(mixture.log_density(rows) + log(mixture.weights), mixture.weights)[1]


def _has_valley(mixture: Mixture, blocks: Blocks) -> bool:
    (rows,) = sample_rows(blocks)
    shares = normalised(mixture.log_density(rows) + log(mixture.weights), mixture.weights)[0]
    return len(mixture.weights) > 1 and have_valley(np.asarray(rows), mixture.means, shares.argmax(axis=1))


def have_valley(rows: np.ndarray, means: np.ndarray, labels: np.ndarray) -> bool:
    """Whether rows are fewer halfway between a component and the nearest other one than about both of them.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
    means : ndarray of shape (K, D)
    labels : ndarray of int, shape (n,)
        Component of each row.
    """
    apart = cdist(means, means)
    np.fill_diagonal(apart, np.inf)
    for k, nearest in enumerate(apart.argmin(axis=1)):
        between = means[nearest] - means[k]
        places = (
            (rows[(labels == k) | (labels == nearest)] - means[k]) @ between / max(float(between @ between), 1e-300)
        )
        first, middle, last = (int((np.abs(places - place) < _WINDOW).sum()) for place in (0.0, 0.5, 1.0))
        few = min(first, last)
        if middle + _SURE * np.sqrt(few) < _SHALLOW * few:
            return True
    return False
