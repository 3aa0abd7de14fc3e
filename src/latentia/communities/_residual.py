"""What communities leave of the edges: directions, and triangles."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..linalg import ScaledSpace, outlying_eigenpairs, sparse_product
from ._model import Communities, EdgeLists, of_memberships

_PASSES = 10
_OPEN = 200_000  # pairs of neighbours of a node that are looked at
_DEVIATIONS = 3.0  # of triangles above what is expected of them, that may be chance
_TINY = 1e-300


def residual_ratio(ends: EdgeLists, c: Communities, space: ScaledSpace, seed: int, n_jobs: int | None = None) -> float:
    """Leading eigenvalue of D^-1/2 (A - expected) D^-1/2 over the edge of the noise's.

    Of a directed graph, of the symmetric matrix of both kinds of ends.
    """
    if not space.edge > 0:
        return 0.0
    total = float(ends.pairs.sum())
    inverse = (1 / np.sqrt(space.scale))[:, None].astype(np.float32)
    sizes = [np.maximum(x.sum(axis=0), _TINY) for x in (c.senders, c.receivers)]
    left = np.vstack([c.senders / sizes[0], c.receivers / sizes[1]]) if ends.directed else c.senders / sizes[0]
    left = (left * inverse).astype(np.float32)
    core, k = np.where(c.mass > 0, c.connectivity * c.mass, 0.0) / total, c.memberships.shape[1]
    if ends.directed:
        core = np.block([[np.zeros((k, k)), core], [core.T, np.zeros((k, k))]])
        n = ends.n_nodes
        both = np.zeros((2 * n, 2 * k), np.float32)
        both[:n, :k], both[n:, k:] = left[:n], left[n:]
        left = both
    core = core.astype(np.float32)

    def apply(block: np.ndarray) -> np.ndarray:
        image = sparse_product(ends.pairs, block * inverse, n_jobs)
        image *= inverse / np.float32(total)
        image -= left @ (core @ (left.T @ block))
        return image

    values, _ = outlying_eigenpairs(apply, len(left), 1, space.edge, n_passes=_PASSES, random_state=seed)
    return float(abs(values[0]) / space.edge)


def triangle_ratios(ends: EdgeLists, c: Communities, seed: int) -> tuple[float, np.ndarray]:
    """Edges between two neighbours of a node over those that communities and degrees expect there; and about each community.

    One, up to chance, where the model holds; far more where nodes have positions, on a line or a map. Those of communities,
    shape (K,), are about nodes that are in them, and at most what they surely are.
    """
    c = of_memberships(ends, c.memberships, corrected=True)
    both = sparse.csr_array(ends.adjacency + ends.adjacency.T) if ends.directed else ends.adjacency
    degrees = np.diff(both.indptr)
    chances = degrees * (degrees - 1.0)
    if not chances.any():
        return 1.0, np.ones(c.memberships.shape[1])
    rng = np.random.default_rng(seed)
    middle = rng.choice(len(degrees), _OPEN, p=chances / chances.sum())
    first = rng.integers(0, degrees[middle])
    second = rng.integers(0, degrees[middle] - 1)
    second += second >= first
    i, j = both.indices[both.indptr[middle] + first], both.indices[both.indptr[middle] + second]
    seen = np.asarray(both[i, j]).ravel()
    others = 1 - 1 / np.maximum(ends.degrees, 1.0)  # of the ends of a node, those that are not the middle's
    expected = (c.rates(i, j) + (c.rates(j, i) if ends.directed else 0.0)) * others[i] * others[j]
    of_middle = c.memberships[middle]
    triangles = (seen > 0) @ of_middle * min(float(chances.sum()) / (6 * _OPEN), 1.0)
    ratios = seen @ of_middle / np.maximum(expected @ of_middle, _TINY)
    sure = ratios * (1 - np.minimum(_DEVIATIONS / np.sqrt(np.maximum(triangles, 1.0)), 1.0))
    return float(seen.sum() / max(float(expected.sum()), _TINY)), sure
