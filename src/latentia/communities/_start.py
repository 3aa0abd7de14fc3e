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

_TAU = 0.5  # mean degrees that are added to every degree
_BEYOND = 5  # eigenvalues that are looked at beyond those of the communities
_PASSES, _BASIS_BYTES = (8, 40), 1 << 28  # products with the counts, and what they may take
_OPPOSITE = 0.3  # cosine of the vectors of where edges start and end
_FEW = 5000  # nodes that clusters are found among


@dataclass(frozen=True)
class Start:
    """What the spectrum says.

    Attributes
    ----------
    space : ScaledSpace
        Of the pairs of ends, with some directions more than communities need.
    stars : StarMoments
        In its leading directions.
    directed : bool
    """

    space: ScaledSpace
    stars: StarMoments

    directed: bool

    def mixing(self, n_components: int) -> bool:
        """Whether some communities are linked to others more than within: a direction above the noise has the opposite sign.

        For then P_kl^2 > P_kk P_ll, and P has a negative eigenvalue. Of singular vectors u, v of a directed graph it is u^T v.
        """
        observed, limit = self.space.observed, noise_limit(len(self.space.scale)) * self.space.edge
        if not self.directed:
            return bool((observed[: n_components - 1] < -limit).any())
        half = len(self.space.scale) // 2
        chosen = np.flatnonzero(observed[: 2 * n_components - 1] > limit)
        u, v = self.space.vectors[:half, chosen], self.space.vectors[half:, chosen]
        return bool((2 * (u * v).sum(axis=0) < -_OPPOSITE).any())


def spectral_start(ends: EdgeLists, n_components: int, seed: int, n_jobs: int | None = None) -> Start:
    """Leading directions of the degree-scaled adjacency matrix, and the moments of stars in them.

    Of a directed graph there are two for each singular value, one of nodes that edges start from and one of those where they
    end, and a first one that tells these apart.
    """
    wanted = 2 * n_components - 1 if ends.directed else n_components - 1
    beyond = _BEYOND * (2 if ends.directed else 1)
    width = wanted + beyond + 3
    space = scaled_eigenspace(
        ends.pairs,
        wanted + beyond,
        tau=_TAU,
        calibrate=False,
        n_passes=int(np.clip(_BASIS_BYTES / (4 * width * ends.pairs.shape[0]), *_PASSES)),
        n_settled=wanted,
        random_state=seed,
        n_jobs=n_jobs,
    )
    vectors = space.vectors[:, :wanted] / np.sqrt(space.scale)[:, None]
    size = np.sqrt(np.maximum((vectors**2).mean(axis=0), np.finfo(float).tiny))
    coordinates = np.column_stack([np.ones(len(vectors)), vectors / size])
    return Start(space, star_moments(ends.table, coordinates, n_jobs), ends.directed)


def suggested_number(ends: EdgeLists, most: int, n_jobs: int | None = None) -> int:
    """One more than the directions above the noise, at most ``most``."""
    wanted = min(most, ends.n_nodes)
    n = 2 * wanted - 1 if ends.directed else wanted - 1
    space = scaled_eigenspace(ends.pairs, n, tau=_TAU, calibrate=False, n_passes=_PASSES[0], n_jobs=n_jobs)
    return above_noise(space, ends.directed) + 1


def above_noise(space: ScaledSpace, directed: bool) -> int:
    """Directions above the noise.

    Of a directed graph every singular value is an eigenvalue with both signs, and the first one tells its ends apart.
    """
    observed = space.observed[1::2] if directed else space.observed
    return int((np.abs(observed) > noise_limit(len(space.scale)) * space.edge).sum())


def by_stars(ends: EdgeLists, start: Start, n_components: int, alpha0: float, seed: int) -> np.ndarray:
    """Memberships, shape (n, K), of the communities that the tensor of 3-stars has.

    Its whitened eigenvectors map back to what the neighbours of a node of each community look like, and a node's shares of
    these are found by least squares.
    """
    moments = start.stars.corrected(alpha0)
    fit = decompose_whitened(moments.second, moments.third, n_components, seed)
    profiles = (
        fit.whitening.inverse @ fit.vectors.T
    ).T  # multiples of S^T F e_k over the degree, whose first entry is 1
    first = np.where(np.abs(profiles[:, :1]) > 1e-9, profiles[:, :1], 1.0)
    means = start.stars.images / np.maximum(ends.degrees, 1e-300)[:, None]
    shares = np.linalg.lstsq((profiles / first).T, means.T, rcond=None)[0].T
    return distributions(shares, np.full(n_components, 1 / n_components))


def by_clusters(ends: EdgeLists, start: Start, n_components: int, seed: int) -> list[np.ndarray]:
    """Memberships, shape (n, K), in clusters of the nodes' mean coordinates of neighbours, and of their directions alone.

    Coordinates of nodes with few edges count less. Directions do not depend on how active a node is.
    """
    points = coordinates(ends, start)
    if not points.shape[1]:
        return [np.ones((ends.n_nodes, 1))]
    size = np.sqrt((points**2).sum(axis=1, keepdims=True))
    return [_clusters(rows, n_components, seed) for rows in (points, points / np.where(size > 0, size, 1.0))]


def coordinates(ends: EdgeLists, start: Start) -> np.ndarray:
    """Mean coordinates of the nodes' neighbours, shape (n, b); those of few edges are nearer to zero."""
    degrees = ends.degrees
    return np.asarray(start.stars.images[:, 1:] / (degrees + degrees.mean())[:, None])


def _clusters(points: np.ndarray, n_components: int, seed: int) -> np.ndarray:
    some = np.arange(len(points))
    if len(points) > _FEW:
        some = np.sort(np.random.default_rng(0).choice(len(points), _FEW, replace=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there are fewer different nodes than clusters
        clusters = KMeans(n_components, n_init=3, random_state=seed).fit(points[some])
    return np.eye(n_components)[clusters.predict(points)]


def with_fallback(ends: EdgeLists, start: Start, n_components: int, alpha0: float, seed: int) -> np.ndarray | None:
    """`by_stars`, or nothing where the moments have no such rank."""
    try:
        return by_stars(ends, start, n_components, alpha0, seed)
    except LatentiaError:
        return None
