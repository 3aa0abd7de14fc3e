"""Starting memberships: communities by the 3-star tensor, and clusters of the leading eigenvectors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from ..evidence import noise_limit
from ..exceptions import LatentiaError
from ..linalg import ScaledSpace, scaled_eigenspace
from ..simplex import distributions
from ..tensor import decompose_whitened
from ._model import EdgeLists
from ._stars import StarMoments, star_moments

_TAU = 0.5  # regularisation: so many mean degrees are added to every degree
_N_BEYOND = 5  # eigenvalues to compute beyond those of the communities
_PASSES, _BASIS_BYTES = (8, 40), 1 << 28  # minimum and maximum number of products with the counts; bytes for the basis
_OPPOSITE_COSINE = 0.3  # singular vectors of both ends with a cosine below minus this have opposite signs
_MAX_CLUSTERED = 5000  # sampled nodes for clustering


@dataclass(frozen=True)
class Start:
    """Leading directions of the scaled adjacency matrix, and moments of stars in them.

    Attributes
    ----------
    space : ScaledSpace
        Eigenspace of the pairs of ends, with some directions more than communities need.
    stars : StarMoments
        Moments in its leading directions.
    directed : bool
    """

    space: ScaledSpace
    stars: StarMoments
    directed: bool

    def mixing(self, n_components: int) -> bool:
        """Return True if a direction above the noise has a negative sign: some communities link more to others than inside.

        Then P_kl^2 > P_kk P_ll, and P has a negative eigenvalue. For singular vectors u, v of a directed graph the sign is that
        of u^T v.
        """
        observed, limit = self.space.observed, noise_limit(len(self.space.scale)) * self.space.edge
        if not self.directed:
            return bool((observed[: n_components - 1] < -limit).any())
        half = len(self.space.scale) // 2
        chosen = np.flatnonzero(observed[: 2 * n_components - 1] > limit)
        u, v = self.space.vectors[:half, chosen], self.space.vectors[half:, chosen]
        return bool((2 * (u * v).sum(axis=0) < -_OPPOSITE_COSINE).any())


def spectral_start(ends: EdgeLists, n_components: int, seed: int, n_jobs: int | None = None) -> Start:
    """Compute leading directions of the degree-scaled adjacency matrix, and moments of stars in them.

    A directed graph has two directions for each singular value, one for the nodes where edges start and one for those where
    they end, and a first one that separates these.
    """
    n_directions = 2 * n_components - 1 if ends.directed else n_components - 1
    n_beyond = _N_BEYOND * (2 if ends.directed else 1)
    width = n_directions + n_beyond + 3
    space = scaled_eigenspace(
        ends.pairs,
        n_directions + n_beyond,
        tau=_TAU,
        calibrate=False,
        n_passes=int(np.clip(_BASIS_BYTES / (4 * width * ends.pairs.shape[0]), *_PASSES)),
        n_settled=n_directions,
        random_state=seed,
        n_jobs=n_jobs,
    )
    vectors = space.vectors[:, :n_directions] / np.sqrt(space.scale)[:, None]
    sizes = np.sqrt(np.maximum((vectors**2).mean(axis=0), np.finfo(float).tiny))
    coordinates = np.column_stack([np.ones(len(vectors)), vectors / sizes])
    return Start(space, star_moments(ends.table, coordinates, n_jobs), ends.directed)


def suggest_number(ends: EdgeLists, max_number: int, n_jobs: int | None = None) -> int:
    """Return one more than the number of directions above the noise, at most ``max_number``."""
    n_communities = min(max_number, ends.n_nodes)
    n = 2 * n_communities - 1 if ends.directed else n_communities - 1
    space = scaled_eigenspace(ends.pairs, n, tau=_TAU, calibrate=False, n_passes=_PASSES[0], n_jobs=n_jobs)
    return count_above_noise(space, ends.directed) + 1


def count_above_noise(space: ScaledSpace, directed: bool) -> int:
    """Count directions above the noise.

    For a directed graph every singular value is an eigenvalue with both signs, and the first eigenvalue separates both ends.
    """
    observed = space.observed[1::2] if directed else space.observed
    return int((np.abs(observed) > noise_limit(len(space.scale)) * space.edge).sum())


def find_by_stars(ends: EdgeLists, start: Start, n_components: int, alpha0: float, seed: int) -> np.ndarray:
    """Return memberships, shape (n, K), in the communities of the tensor of 3-stars.

    Its whitened eigenvectors map back to profiles of the neighbours of a node in each community; least squares give a node's
    shares of these.
    """
    moments = start.stars.correct_for_mixing(alpha0)
    fit = decompose_whitened(moments.second, moments.third, n_components, seed)
    profiles = (
        fit.whitening.inverse @ fit.vectors.T
    ).T  # multiples of S^T F e_k over the degree, whose first entry is 1
    first = np.where(np.abs(profiles[:, :1]) > 1e-9, profiles[:, :1], 1.0)
    means = start.stars.images / np.maximum(ends.degrees, 1e-300)[:, None]
    shares = np.linalg.lstsq((profiles / first).T, means.T, rcond=None)[0].T
    return distributions(shares, np.full(n_components, 1 / n_components))


def find_by_clusters(ends: EdgeLists, start: Start, n_components: int, seed: int) -> list[np.ndarray]:
    """Return memberships, shape (n, K), in clusters of the mean coordinates of nodes' neighbours, and of their directions.

    Coordinates of nodes with few edges count less. Directions do not depend on a node's activity.
    """
    points = coordinates(ends, start)
    if not points.shape[1]:
        return [np.ones((ends.n_nodes, 1))]
    size = np.sqrt((points**2).sum(axis=1, keepdims=True))
    return [_cluster_points(rows, n_components, seed) for rows in (points, points / np.where(size > 0, size, 1.0))]


def coordinates(ends: EdgeLists, start: Start) -> np.ndarray:
    """Return mean coordinates of the nodes' neighbours, shape (n, b), shrunk to zero for nodes with few edges."""
    degrees = ends.degrees
    return np.asarray(start.stars.images[:, 1:] / (degrees + degrees.mean())[:, None])


def _cluster_points(points: np.ndarray, n_components: int, seed: int) -> np.ndarray:
    sample = np.arange(len(points))
    if len(points) > _MAX_CLUSTERED:
        sample = np.sort(np.random.default_rng(0).choice(len(points), _MAX_CLUSTERED, replace=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct nodes than clusters
        clusters = KMeans(n_components, n_init=3, random_state=seed).fit(points[sample])
    return np.eye(n_components)[clusters.predict(points)]


def try_stars(ends: EdgeLists, start: Start, n_components: int, alpha0: float, seed: int) -> np.ndarray | None:
    """Return the answer of `find_by_stars`, or None where the rank of the moments is too small."""
    try:
        return find_by_stars(ends, start, n_components, alpha0, seed)
    except LatentiaError:
        return None
