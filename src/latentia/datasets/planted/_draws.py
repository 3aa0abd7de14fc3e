"""Draws and checks that several generators share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import pdist

from ...exceptions import LatentiaError


def check_sizes(**sizes: int) -> None:
    """Refuse a size below one, by its name."""
    for name, size in sizes.items():
        if size < 1:
            raise LatentiaError(f"{name}={size}: at least 1 is needed.")


def checked_variance(variance: float | np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Positive variances, broadcast to ``shape``."""
    values = np.asarray(variance, dtype=np.float64)
    try:
        values = np.broadcast_to(values, shape).copy()
    except ValueError:
        raise LatentiaError(f"variance has shape {values.shape}: give a number or an array of shape {shape}.") from None
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise LatentiaError(
            f"variance has the entry {values[~(values > 0) | np.isinf(values)][0]}: need positive numbers."
        )
    return values


def geometric_weights(n: int, spread: float, rng: np.random.Generator) -> np.ndarray:
    """Weights that sum to one, shape (n,): geometric, the largest ``spread`` times the smallest, in random order."""
    if not 1 <= spread < np.inf:
        raise LatentiaError(f"spread={spread}: the ratio of the largest to the smallest weight is at least 1.")
    weights = np.geomspace(1.0, spread, n) if spread != 1 else np.ones(n)
    return rng.permutation(weights / weights.sum())


def separated_means(n: int, n_features: int, distance: float, rng: np.random.Generator) -> np.ndarray:
    """Gaussian means, shape (n, n_features), scaled so that two of them have root mean square distance ``distance``."""
    means = rng.standard_normal((n, n_features))
    # A single mean has no distances: it gets the scale that it would have beside others.
    squared = np.mean(pdist(means, "sqeuclidean")) if n > 1 else 2 * n_features
    return means * (distance / np.sqrt(squared))


def gaussian_rows(labels: np.ndarray, means: np.ndarray, variances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Row i, of shape (d,), is Gaussian with ``means[labels[i]]`` and diagonal covariance ``variances[labels[i]]``."""
    X = rng.standard_normal((len(labels), means.shape[1]))
    X *= np.sqrt(variances)[labels]
    X += means[labels]
    return X


def redraw(
    draw: Callable[[], np.ndarray], accept: Callable[[np.ndarray], bool], failure: str, n_tries: int = 1000
) -> np.ndarray:
    """The first draw that is accepted; a LatentiaError that ends in ``failure`` if none is."""
    for _ in range(n_tries):
        candidate = draw()
        if accept(candidate):
            return candidate
    raise LatentiaError(f"None of {n_tries} draws was accepted: {failure}")
