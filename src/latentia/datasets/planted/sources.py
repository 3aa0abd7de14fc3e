"""Linear mixtures of independent sources.

A sample is x = A s + e: K independent sources s of mean 0 and variance 1, a mixing matrix A (d x K) with standard
normal entries, and Gaussian noise e, of any covariance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...exceptions import LatentiaError
from ._draws import check_sizes, redraw

_DRAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "laplace": lambda rng, n: rng.laplace(scale=np.sqrt(0.5), size=n),
    "uniform": lambda rng, n: rng.uniform(-np.sqrt(3), np.sqrt(3), size=n),
    "student": lambda rng, n: rng.standard_t(5, size=n) * np.sqrt(3 / 5),
    "exponential": lambda rng, n: rng.standard_exponential(n) - 1,
}


@dataclass(frozen=True)
class PlantedSources:
    """Mixed signals, their sources and the mixing matrix.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    sources : ndarray of shape (n_samples, n_components)
        Draws from distributions of mean 0 and variance 1.
    mixing : ndarray of shape (n_features, n_components)
        X is sources @ mixing.T, plus noise.
    """

    X: np.ndarray
    sources: np.ndarray
    mixing: np.ndarray


def independent_sources(
    n_samples: int = 20_000,
    n_components: int = 10,
    n_features: int | None = None,
    *,
    distribution: Literal["laplace", "uniform", "student", "exponential", "mixed"] = "laplace",
    noise: float | np.ndarray = 0.0,
    max_condition: float = 50.0,
    random_state: int = 0,
) -> PlantedSources:
    """Plant independent sources and mix them.

    Parameters
    ----------
    n_samples, n_components : int
        n and K.
    n_features : int, optional
        d, at least K; K by default.
    distribution : {"laplace", "uniform", "student", "exponential", "mixed"}
        Distribution of the sources. "student" has 5 degrees of freedom; "mixed" gives the sources the other four in
        turn.
    noise : float or ndarray of shape (n_features, n_features)
        Standard deviation of the Gaussian noise in every feature, or the covariance of the noise.
    max_condition : float
        The mixing matrix is redrawn until its condition number is at most this. Raise it for more than 50 sources in
        as many features.
    random_state : int
        The same ``random_state`` plants the same mixing matrix for every ``n_samples``.

    Returns
    -------
    PlantedSources
        The data and the truth that it was drawn from.
    """
    n_features = n_components if n_features is None else n_features
    check_sizes(n_samples=n_samples, n_components=n_components, n_features=n_features)
    if n_features < n_components:
        raise LatentiaError(
            f"there are only {n_features} features; need as many at least.",
            parameter="n_components",
            value=n_components,
        )
    spread = _noise_factor(noise, n_features)
    if distribution not in (*_DRAWS, "mixed"):
        raise LatentiaError(f"distribution={distribution!r}: use {', '.join(map(repr, _DRAWS))} or 'mixed'.")
    rng = np.random.default_rng(random_state)
    mixing = redraw(
        lambda: rng.standard_normal((n_features, n_components)),
        lambda matrix: bool(np.linalg.cond(matrix) <= max_condition),
        f"no mixing matrix of shape ({n_features}, {n_components}) has max_condition={max_condition}; raise it, or "
        "n_features.",
    )
    names = list(_DRAWS) if distribution == "mixed" else [distribution]
    sources = np.column_stack([_DRAWS[names[k % len(names)]](rng, n_samples) for k in range(n_components)])
    X = sources @ mixing.T
    if spread.any():
        X += rng.standard_normal(X.shape) @ spread.T if spread.ndim else spread * rng.standard_normal(X.shape)
    return PlantedSources(X, sources, mixing)


def _noise_factor(noise: float | np.ndarray, n_features: int) -> np.ndarray:
    """Return the factor of standard normal noise: the standard deviation, or a root of the covariance, (d, d)."""
    table = np.asarray(noise, dtype=float)
    if table.ndim == 0:
        if not 0 <= table < np.inf:
            raise LatentiaError(f"noise={noise}: a standard deviation is at least 0.")
        return table
    if table.shape != (n_features,) * 2 or not np.isfinite(table).all() or not np.allclose(table, table.T):
        raise LatentiaError(
            f"noise of shape {table.shape}: expected a covariance of shape ({n_features}, {n_features})."
        )
    values, vectors = np.linalg.eigh(table)
    if values[0] < -1e-9 * abs(values[-1]):
        raise LatentiaError(f"noise has the eigenvalue {values[0]:.3g}: a covariance has none below 0.")
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
