"""Draws and checks common to several generators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import pdist

from ...exceptions import LatentiaError


def check_sizes(**sizes: int) -> None:
    """Raise for a size below one, with its name."""
    for name, size in sizes.items():
        if size < 1:
            raise LatentiaError(f"{name}={size}: expected at least 1.")


def check_variance(variance: float | np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return positive variances, broadcast to ``shape``."""
    values = np.asarray(variance, dtype=np.float64)
    try:
        values = np.broadcast_to(values, shape).copy()
    except ValueError:
        raise LatentiaError(
            f"variance has shape {values.shape}: expected a number or an array of shape {shape}."
        ) from None
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise LatentiaError(
            f"variance has the entry {values[~(values > 0) | np.isinf(values)][0]}: expected positive numbers."
        )
    return values


def geometric_weights(n: int, spread: float, rng: np.random.Generator) -> np.ndarray:
    """Draw weights that sum to one, shape (n,): geometric, the largest ``spread`` times the smallest, in random order."""
    if not 1 <= spread < np.inf:
        raise LatentiaError(f"spread={spread}: expected a ratio of the largest to the smallest weight of at least 1.")
    weights = np.geomspace(1.0, spread, n) if spread != 1 else np.ones(n)
    return rng.permutation(weights / weights.sum())


def draw_separated_means(n: int, n_features: int, distance: float, rng: np.random.Generator) -> np.ndarray:
    """Draw Gaussian means, shape (n, n_features), scaled to the root mean square distance ``distance`` between two."""
    means = rng.standard_normal((n, n_features))
    # A single mean has no distance: its scale is that of one of several.
    squared = np.mean(pdist(means, "sqeuclidean")) if n > 1 else 2 * n_features
    return means * (distance / np.sqrt(squared))


def gaussian_rows(labels: np.ndarray, means: np.ndarray, variances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw Gaussian rows; row i has mean ``means[labels[i]]`` and diagonal covariance ``variances[labels[i]]``."""
    X = rng.standard_normal((len(labels), means.shape[1]))
    X *= np.sqrt(variances)[labels]
    X += means[labels]
    return X


def redraw(
    draw: Callable[[], np.ndarray], accept: Callable[[np.ndarray], bool], failure: str, n_tries: int = 1000
) -> np.ndarray:
    """Return the first accepted draw; raise a LatentiaError that ends in ``failure`` if none is accepted."""
    for _ in range(n_tries):
        candidate = draw()
        if accept(candidate):
            return candidate
    raise LatentiaError(f"None of {n_tries} draws was accepted: {failure}")
