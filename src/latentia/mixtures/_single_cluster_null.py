"""A test against a single cluster, which a mixture cuts into components that turn up again in halves of the rows.

A simulated cloud has the rows' mean, covariance and distances from the mean, in random directions: the same tails, and no
clusters. A cloud of another shape, such as a cube, gains a little more. If rows do not spread about components as the model
assumes, that much is subtracted, unless there is a valley between two components.
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
from ..evidence.limits import STANDARD_ERRORS
from ..exceptions import LatentiaError
from ..likelihood import log, normalised, single_gaussian
from ..passes import Blocks, Folds, content_keys, sample_rows
from ._nulls import MAX_ROWS, build_null_checks, simulate_null_gains
from ._rows import Mixture

_MIN_VARIANCE_SHARE = 1e-8  # Narrower directions, relative to the widest one, are dropped.
_MAX_SIMULATED_ROWS = 3000
_SHAPE_REMEDY = "One Gaussian predicts rows better than components of this shape: compare with another covariance_type."
_SHAPE_ALLOWANCE = 0.2  # gain of a cloud of another shape, in nats per row; cubes gain up to 0.15
_WINDOW = 0.125  # half width of the window for counts, as a share of the distance of two means
_VALLEY_SHARE = 0.5  # share of the rows in a valley


def simulate_cloud(rows: np.ndarray, seed: int) -> np.ndarray:
    """Simulate one cloud, shape (n, D): random directions, and the rows' distances in standard deviations."""
    rng, mean = np.random.default_rng([seed, 104]), rows.mean(axis=0)
    left_vectors, sizes, right_vectors = np.linalg.svd(rows - mean, full_matrices=False)
    is_kept = sizes > _MIN_VARIANCE_SHARE * sizes[0]
    lengths = np.linalg.norm(left_vectors[:, is_kept], axis=1)
    directions = rng.standard_normal((len(rows), int(is_kept.sum())))
    directions *= (rng.permutation(lengths) / np.linalg.norm(directions, axis=1))[:, None]
    return np.asarray(mean + (directions * sizes[is_kept]) @ right_vectors[is_kept])


def build_structure_checks(
    blocks: Blocks,
    folds: Folds,
    halves: list[tuple[Mixture, Any, Any]],
    fit: Callable[[Blocks], Mixture],
    fits_shape: bool,
    seed: int,
) -> list[Check]:
    """Check that fits on halves predict the other halves better than one Gaussian, and for few rows than single clouds.

    Parameters
    ----------
    halves : list of triples
        Mixture of one half, groups of that half, and groups of the other half.
    fit : callable
        Fits the estimator's mixture to some rows.
    fits_shape : bool
        True if rows spread about components as the model assumes.
    """
    if not halves:
        return []
    scores = [
        _score_rows(mixture, sample_rows(blocks.group(other_half, folds))[0]) for mixture, _, other_half in halves
    ]
    fitted, trivial = (np.concatenate(values) for values in zip(*scores, strict=True))
    lines = list[Check]()
    (rows,) = sample_rows(blocks, _MAX_SIMULATED_ROWS)
    parts = [[sample_rows(blocks.group(group, folds))[0] for group in half_fit[1:]] for half_fit in halves]
    has_rows = min(part.shape[0] for pair in parts for part in pair) > 1  # One row has no ellipsoid.
    if blocks.n_rows <= MAX_ROWS and not sparse.issparse(rows) and has_rows:
        gain = float(
            np.mean([_measure_gain(half_fit[0], *rows) for half_fit, rows in zip(halves, parts, strict=False)])
        )
        if not fits_shape and not any(
            _has_valley(mixture, blocks.group(other_half, folds)) for mixture, _, other_half in halves
        ):
            gain -= _SHAPE_ALLOWANCE
        lines = build_null_checks(gain, _simulate_gains(np.asarray(rows), gain, fit, seed), "single clouds")
    options: dict[str, Any] = {"extra": 0, "n_rows": blocks.n_rows, "against": "one component"}
    if not lines:
        return trivial_checks(fitted, trivial, deviations=STANDARD_ERRORS, **options)
    # Components of the wrong shape may predict worse than one Gaussian of the right shape, and still exist.
    (shape,) = trivial_checks(fitted, trivial, deviations=-STANDARD_ERRORS, **options)
    return [*lines, replace(shape, role="caution", remedy=_SHAPE_REMEDY)]


def _simulate_gains(table: np.ndarray, gain: float, fit: Callable[[Blocks], Mixture], seed: int) -> list[float]:
    """Simulate clouds, fit one half of each, and return the gains in the other half."""
    table, half = table[np.argsort(content_keys(table), kind="stable")], len(table) // 2

    def simulate(number: int) -> float | None:
        cloud = simulate_cloud(table, seed + number)
        with contextlib.suppress(LatentiaError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _measure_gain(fit(Blocks.from_array(cloud[:half])), cloud[:half], cloud[half:])
        return None

    return simulate_null_gains(gain, simulate)


def _measure_gain(mixture: Mixture, rows: np.ndarray, other_rows: np.ndarray) -> float:
    """Measure the median gain of a mixture over one ellipsoid of the same rows, in other rows, in nats.

    The ellipsoid is shrunk, since few rows say little about many columns. A few rows in heavy tails would dominate the mean.
    """
    scale = np.vstack([rows, other_rows]).std(axis=0)
    center, scale = rows.mean(axis=0), np.where(scale > 0, scale, 1.0)
    values, axes = np.linalg.eigh(oas((rows - center) / scale, assume_centered=True)[0])
    values = np.maximum(values, _MIN_VARIANCE_SHARE * max(values[-1], _MIN_VARIANCE_SHARE))  # Rows may be equal.
    squares = np.square((other_rows - center) / scale @ axes) / values
    constant = np.log(2 * np.pi * values).sum() + 2 * np.log(scale).sum()
    trivial = -0.5 * (squares.sum(axis=1) + constant)
    return float(np.median(_log_density(mixture, other_rows) - trivial))


def _score_rows(mixture: Mixture, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Score rows under a mixture and under one Gaussian, in log-densities."""
    return _log_density(mixture, rows), single_gaussian(rows, rows.shape[0])[0]


def _log_density(mixture: Mixture, rows: Any) -> np.ndarray:
    return normalised(mixture.log_density(rows) + log(mixture.weights), mixture.weights)[1]


def _has_valley(mixture: Mixture, blocks: Blocks) -> bool:
    (rows,) = sample_rows(blocks)
    shares = normalised(mixture.log_density(rows) + log(mixture.weights), mixture.weights)[0]
    return len(mixture.weights) > 1 and has_valley(np.asarray(rows), mixture.means, shares.argmax(axis=1))


def has_valley(rows: np.ndarray, means: np.ndarray, labels: np.ndarray) -> bool:
    """Return True if rows are fewer halfway between a component and its nearest neighbour than about both of them.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
    means : ndarray of shape (K, D)
    labels : ndarray of int, shape (n,)
        Component of each row.
    """
    distances = cdist(means, means)
    np.fill_diagonal(distances, np.inf)
    for k, nearest in enumerate(distances.argmin(axis=1)):
        direction = means[nearest] - means[k]
        positions = (
            (rows[(labels == k) | (labels == nearest)] - means[k])
            @ direction
            / max(float(direction @ direction), 1e-300)
        )
        first, middle, last = (int((np.abs(positions - position) < _WINDOW).sum()) for position in (0.0, 0.5, 1.0))
        smaller = min(first, last)
        if middle + STANDARD_ERRORS * np.sqrt(smaller) < _VALLEY_SHARE * smaller:
            return True
    return False
