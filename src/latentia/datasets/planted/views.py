"""Views that share a component: u = s1 + s2, v = A s2 + s3, and views of many components.

The settings are those of Ge and Zou, Rich component analysis, 2015, section 5: s1 is a direction of large variance, what a
linear or logistic regression is learned from, a mixture of Gaussians, or an Ising model; s2 is uniform with a direction of
larger variance, a mixture, or spins; s3 is uniform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...exceptions import LatentiaError
from ._draws import check_sizes

_PROBLEMS = ("pca", "regression", "logistic", "mixture", "ising")
_SHARED = ("uniform", "exponential", "laplace", "gaussian", "mixture", "spins")
_GIBBS_SWEEPS = 60
_ENUMERATED = 12  # spins whose states are all listed


@dataclass(frozen=True)
class PlantedViews:
    """Two views, and what they were made of.

    Attributes
    ----------
    U, V : ndarrays of shape (n_rows, d_u), (n_rows, d_v)
    y : ndarray of shape (n_rows,) or None
        Of a regression on s1; labels 0 and 1 of a logistic one.
    own, shared, other : ndarray
        The rows of s1, s2 and s3.
    linear_map : ndarray of shape (d_v, d_u)
        A.
    truth : ndarray or None
        The leading direction (d_u,), the coefficients (d_u,), the means (d_u, d_u), or the couplings (n_edges,) of s1.
    edges : ndarray of shape (n_edges, 2) or None
        Of the Ising model.
    """

    U: np.ndarray
    V: np.ndarray
    y: np.ndarray | None
    own: np.ndarray
    shared: np.ndarray
    other: np.ndarray
    linear_map: np.ndarray
    truth: np.ndarray | None
    edges: np.ndarray | None = None


def contrastive_views(
    n_rows: int = 10_000,
    n_features: int = 10,
    problem: Literal["pca", "regression", "logistic", "mixture", "ising"] = "regression",
    *,
    n_features_v: int | None = None,
    shared: Literal["auto", "uniform", "exponential", "laplace", "gaussian", "mixture", "spins"] = "auto",
    n_shared: int | None = None,
    linear_map: Literal["uniform", "orthogonal"] = "uniform",
    strength: float = 1.0,
    random_state: int = 0,
) -> PlantedViews:
    """Plant two views that share a component.

    Parameters
    ----------
    n_rows, n_features : int
        n and d_u. An Ising model is on a periodic grid, so that d_u must be a square, from 9 on.
    problem : {"pca", "regression", "logistic", "mixture", "ising"}
        What s1 is: N(0, v v^T + 0.09 I); uniform on [-1, 1]^d with y = beta . s1 + N(0, 1), or with labels of probability
        1 / (1 + exp(-beta . s1)), for unit vectors v and beta; a mixture of d Gaussians of variance 0.04 whose means
        are standard normal, less their mean; spins with couplings uniform on [-1, 1].
    n_features_v : int, optional
        d_v, at least d_u; d_u by default.
    shared : str
        Distribution of s2. "auto" is that of the paper: "mixture" for a mixture, "spins" for an Ising model (half of them
        independent, half equal), "uniform" otherwise: uniform on [-1, 1]^d plus a normal multiple of a unit vector. The
        others have independent entries of the same variance.
    n_shared : int, optional
        Dimensions of s2, d_u by default: with fewer its rows are multiplied by a random projection.
    linear_map : {"uniform", "orthogonal"}
        A, with entries uniform on [-1, 1], or orthonormal columns times (d_v / 3)^(1/2), which makes them as large.
    strength : float
        What s2 is multiplied by.
    random_state : int

    Returns
    -------
    PlantedViews
        The data and the truth that it was drawn from.
    """
    d_v = n_features if n_features_v is None else n_features_v
    check_sizes(n_rows=n_rows, n_features=n_features)
    if d_v < n_features:
        raise LatentiaError(
            f"n_features_v={d_v}: the second view needs at least {n_features} features, as many as the first."
        )
    if problem not in _PROBLEMS:
        raise LatentiaError(f"problem={problem!r}: use {', '.join(map(repr, _PROBLEMS))}.")
    if shared not in ("auto", *_SHARED):
        raise LatentiaError(f"shared={shared!r}: use 'auto', {', '.join(map(repr, _SHARED))}.")
    if linear_map not in ("uniform", "orthogonal"):
        raise LatentiaError(f"linear_map={linear_map!r}: use 'uniform' or 'orthogonal'.")
    if not 0 <= strength < np.inf:
        raise LatentiaError(f"strength={strength}: expected a number of at least 0.")
    rng = np.random.default_rng(random_state)
    if linear_map == "orthogonal":
        matrix = np.linalg.qr(rng.standard_normal((d_v, n_features)))[0] * np.sqrt(d_v / 3)
    else:
        matrix = rng.uniform(-1, 1, (d_v, n_features))
    s1, y, truth, edges = _draw_s1(problem, n_rows, n_features, rng)
    kind = {"mixture": "mixture", "ising": "spins"}.get(problem, "uniform") if shared == "auto" else shared
    s2 = strength * _draw_s2(kind, n_rows, n_features, rng)
    if n_shared is not None:
        if not 1 <= n_shared <= n_features:
            raise LatentiaError(f"n_shared={n_shared}: expected a whole number from 1 to {n_features}.")
        frame = np.linalg.qr(rng.standard_normal((n_features, n_shared)))[0]
        s2 = s2 @ frame @ frame.T
    s3 = rng.uniform(-1, 1, (n_rows, d_v))
    return PlantedViews(s1 + s2, s2 @ matrix.T + s3, y, s1, s2, s3, matrix, truth, edges)


def _draw_s1(
    problem: str, n: int, d: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray, np.ndarray | None]:
    """Draw rows of s1, the target, the truth, and edges."""
    if problem == "pca":
        direction = _draw_unit_vector(d, rng)
        return np.outer(rng.standard_normal(n), direction) + 0.3 * rng.standard_normal((n, d)), None, direction, None
    if problem == "mixture":
        means = _draw_means(d, rng)
        return means[rng.integers(d, size=n)] + 0.2 * rng.standard_normal((n, d)), None, means, None
    if problem == "ising":
        edges = grid_edges(d)
        couplings = rng.uniform(-1, 1, len(edges))
        return _draw_spins(n, d, edges, couplings, rng), None, couplings, edges
    rows, beta = rng.uniform(-1, 1, (n, d)), _draw_unit_vector(d, rng)
    if problem == "regression":
        return rows, rows @ beta + rng.standard_normal(n), beta, None
    return rows, (rng.random(n) < 1 / (1 + np.exp(-rows @ beta))).astype(float), beta, None


def _draw_s2(kind: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows of s2."""
    if kind == "uniform":
        return rng.uniform(-1, 1, (n, d)) + np.outer(rng.standard_normal(n), _draw_unit_vector(d, rng))
    if kind == "mixture":
        return _draw_means(d, rng)[rng.integers(d, size=n)] + 0.2 * rng.standard_normal((n, d))
    if kind == "spins":
        equal = np.sort(rng.permutation(d)[: d // 2])
        rows = rng.choice([-1.0, 1.0], (n, d))
        rows[:, equal] = rng.choice([-1.0, 1.0], (n, 1))
        return rows
    draws = {
        "exponential": lambda: rng.standard_exponential((n, d)) - 1,
        "laplace": lambda: rng.laplace(scale=np.sqrt(0.5), size=(n, d)),
        "gaussian": lambda: rng.standard_normal((n, d)),
    }
    return draws[kind]() * np.sqrt(1 / 3)


def _draw_unit_vector(d: int, rng: np.random.Generator) -> np.ndarray:
    direction = rng.standard_normal(d)
    return direction / np.linalg.norm(direction)


def _draw_means(d: int, rng: np.random.Generator) -> np.ndarray:
    means = rng.standard_normal((d, d))
    return means - means.mean(axis=0)


def grid_edges(n_spins: int) -> np.ndarray:
    """Return pairs of neighbours on a periodic square grid of ``n_spins`` places, the smaller number first.

    Parameters
    ----------
    n_spins : int
        Number of spins, a square.

    Returns
    -------
    ndarray of int, shape (2 n_spins, 2)
    """
    side = int(np.sqrt(n_spins) + 0.5)
    if side**2 != n_spins or side < 3:
        raise LatentiaError(f"n_spins={n_spins}: expected the square of 3 or more, for a periodic grid.")
    place = np.arange(n_spins).reshape(side, side)
    pairs = [(place, np.roll(place, -1, axis)) for axis in (0, 1)]
    return np.array(
        sorted(
            tuple(sorted((int(a), int(b))))
            for places, neighbours in pairs
            for a, b in zip(places.flat, neighbours.flat, strict=True)
        )
    )


def _draw_spins(n: int, d: int, edges: np.ndarray, couplings: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw spins with P(s) ~ exp(sum of J_ij s_i s_j): from a list of all states, or by sweeps of Gibbs sampling."""
    strengths = np.zeros((d, d))
    strengths[edges[:, 0], edges[:, 1]] = strengths[edges[:, 1], edges[:, 0]] = couplings
    if d <= _ENUMERATED:
        states = 2.0 * ((np.arange(2**d)[:, None] >> np.arange(d)) & 1) - 1
        weights = np.exp(np.einsum("si,ij,sj->s", states, strengths, states) / 2)
        return states[rng.choice(len(states), size=n, p=weights / weights.sum())]
    rows = rng.choice([-1.0, 1.0], (d, n))
    for _ in range(_GIBBS_SWEEPS):
        for i in range(d):
            near = np.flatnonzero(strengths[i])
            rows[i] = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * strengths[i, near] @ rows[near])), 1.0, -1.0)
    return np.ascontiguousarray(rows.T)


# --- many components ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlantedComponents:
    """Views of many components, and what they were made of.

    Attributes
    ----------
    views : list of ndarray of shape (n_rows, d)
    subsets : list of tuple of int
        The views that each component is in.
    present : ndarray of bool, shape (n_subsets,)
        Components that are not zero.
    linear_maps : dict of (int, int) to ndarray of shape (d, d)
        A^(i, j) of view i and component j; the identity in the first view of the component.
    components : list of ndarray of shape (n_rows, d)
    """

    views: list[np.ndarray]
    subsets: list[tuple[int, ...]]
    present: np.ndarray
    linear_maps: dict[tuple[int, int], np.ndarray]
    components: list[np.ndarray]


def rich_components(
    n_rows: int = 100_000,
    n_features: int = 5,
    subsets: Sequence[Sequence[int]] = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)),
    *,
    absent: Sequence[int] = (),
    distribution: Literal["exponential", "uniform", "laplace", "gaussian"] = "exponential",
    max_condition: float = 5.0,
    random_state: int = 0,
) -> PlantedComponents:
    """Plant components that are each in some of the views, through linear maps with a bounded condition number.

    Parameters
    ----------
    n_rows, n_features : int
        n, and d of all views and components.
    subsets : sequence of sequences of int
        The views of each component; by default all that three views have.
    absent : sequence of int
        Components that are zero, by their places in ``subsets``.
    distribution : {"exponential", "uniform", "laplace", "gaussian"}
        Of the independent entries of the components, with unit variance.
    max_condition : float
        Maps are drawn until their condition number is at most this.
    random_state : int

    Returns
    -------
    PlantedComponents
        The data and the truth that it was drawn from.
    """
    check_sizes(n_rows=n_rows, n_features=n_features, subsets=len(subsets))
    rng, d = np.random.default_rng(random_state), n_features
    draws = {
        "exponential": lambda: rng.standard_exponential((n_rows, d)) - 1,
        "uniform": lambda: rng.uniform(-np.sqrt(3), np.sqrt(3), (n_rows, d)),
        "laplace": lambda: rng.laplace(scale=np.sqrt(0.5), size=(n_rows, d)),
        "gaussian": lambda: rng.standard_normal((n_rows, d)),
    }
    if distribution not in draws:
        raise LatentiaError(f"distribution={distribution!r}: use {', '.join(map(repr, draws))}.")
    sets = [tuple(sorted(int(i) for i in subset)) for subset in subsets]
    views = [np.zeros((n_rows, d)) for _ in range(1 + max(max(subset) for subset in sets))]
    present = np.array([j not in absent for j in range(len(sets))])
    maps: dict[tuple[int, int], np.ndarray] = {}
    components = []
    for j, subset in enumerate(sets):
        rows = draws[distribution]() if present[j] else np.zeros((n_rows, d))
        components.append(rows)
        for i in subset:
            matrix = np.eye(d)
            while i != subset[0]:
                matrix = rng.uniform(-1, 1, (d, d))
                if np.linalg.cond(matrix) <= max_condition:
                    break
            maps[i, j] = matrix
            views[i] += rows @ matrix.T
    return PlantedComponents(views, sets, present, maps, components)


@dataclass(frozen=True)
class PlantedContrast:
    """Cases and controls, and the directions along which cases vary more.

    Attributes
    ----------
    X : ndarray of shape (n_cases, n_features)
    background : ndarray of shape (n_controls, n_features)
    directions : ndarray of shape (n_components, n_features)
        Of unit length, at right angles to each other.
    """

    X: np.ndarray
    background: np.ndarray
    directions: np.ndarray


def cases_and_controls(
    n_cases: int = 1000,
    n_controls: int = 1000,
    n_features: int = 30,
    n_components: int = 1,
    *,
    variance: float = 6.0,
    strength: float = 1.0,
    random_state: int = 0,
) -> PlantedContrast:
    """Plant directions along which cases vary more than controls.

    Both have noise of unit variance and four directions of variance 36, 25, 16 and 9.

    Parameters
    ----------
    n_cases, n_controls : int
        Rows.
    n_features, n_components : int
        d, at least 4, and K.
    variance : float
        Of the cases along the last own direction, beyond the background's; along the first one of several it is twice that.
    strength : float
        How many times the background's covariance cases have.
    random_state : int
        Seed.

    Returns
    -------
    PlantedContrast
        The data and the truth that it was drawn from.
    """
    check_sizes(n_cases=n_cases, n_controls=n_controls, n_features=n_features, n_components=n_components)
    if n_features < max(4, n_components):
        raise LatentiaError(f"n_features={n_features}: expected at least 4, and as many as components.")
    rng = np.random.default_rng(random_state)
    factors = np.linalg.qr(rng.standard_normal((n_features, 4)))[0] * np.arange(6, 2, -1)
    directions = np.linalg.qr(rng.standard_normal((n_features, n_components)))[0].T

    def common(n: int) -> np.ndarray:
        return rng.standard_normal((n, 4)) @ factors.T + rng.standard_normal((n, n_features))

    sizes = np.sqrt(variance * np.linspace(min(n_components, 2), 1, n_components))
    X = np.sqrt(strength) * common(n_cases) + (rng.standard_normal((n_cases, n_components)) * sizes) @ directions
    return PlantedContrast(X, common(n_controls), directions)
