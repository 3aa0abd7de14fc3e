"""Starting memberships: communities by the 3-star tensor, and clusters of the leading eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from ..exceptions import LatentiaError
from ..linalg import ScaledSpace, scaled_eigenspace
from ..moments import StarMoments, star_moments
from ..simplex import distributions
from ..tensor import WhitenedDecomposition, decompose_whitened
from ._model import Ends

__all__ = ["Start", "by_clusters", "by_stars", "spectral_start", "with_fallback"]

_TAU = 0.5  # mean degrees that are added to every degree
_BEYOND = 5  # eigenvalues that are looked at beyond those of the communities
_PASSES, _BASIS_BYTES = (8, 40), 1 << 30  # products with the counts, and what they may take
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
    """

    space: ScaledSpace
    stars: StarMoments

    @property
    def above(self) -> int:
        """Directions above the noise."""
        return self.space.n_kept


def spectral_start(ends: Ends, n_components: int, seed: int, n_jobs: int | None = None) -> Start:
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
    return Start(space, star_moments(ends.table, coordinates, n_jobs))


def by_stars(
    ends: Ends, start: Start, n_components: int, alpha0: float, seed: int
) -> tuple[np.ndarray, WhitenedDecomposition]:
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
    return distributions(shares, np.full(n_components, 1 / n_components)), fit


def by_clusters(ends: Ends, start: Start, n_components: int, seed: int) -> np.ndarray:
    """Memberships, shape (n, K), in clusters of the nodes' mean coordinates of neighbours; those of few edges count less."""
    images, degrees = start.stars.images[:, 1:], ends.degrees
    if not images.shape[1]:
        return np.ones((ends.n_nodes, 1))
    points = images / (degrees + degrees.mean())[:, None]
    some = np.arange(len(points))
    if len(points) > _FEW:
        some = np.sort(np.random.default_rng(0).choice(len(points), _FEW, replace=False))
    clusters = KMeans(n_components, n_init=3, random_state=seed).fit(points[some])
    return np.eye(n_components)[clusters.predict(points)]


def with_fallback(
    ends: Ends, start: Start, n_components: int, alpha0: float, seed: int
) -> tuple[np.ndarray | None, WhitenedDecomposition | None]:
    """`by_stars`, or nothing where the moments have no such rank."""
    try:
        return by_stars(ends, start, n_components, alpha0, seed)
    except LatentiaError:
        return None, None
