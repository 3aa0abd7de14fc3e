"""Residuals of a block model: remaining directions, and triangles."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..linalg import ScaledSpace, outlying_eigenpairs, sparse_product
from ..linalg.ratios import ratio_of
from ._model import Communities, EdgeLists, build_communities

_PASSES = 10
_N_PAIRS = 200_000  # sampled pairs of neighbours of a node
_DEVIATIONS = 3.0  # an excess of triangles of fewer standard deviations may be chance
_TINY = 1e-300


def measure_residual_ratio(
    ends: EdgeLists, c: Communities, space: ScaledSpace, seed: int, n_jobs: int | None = None
) -> float:
    """Return the leading eigenvalue of D^-1/2 (A - expected) D^-1/2 over the edge of the noise.

    For a directed graph, that of the symmetric matrix of both kinds of ends.
    """
    if not space.edge > 0:
        return 0.0
    total = float(ends.pairs.sum())
    inverse = (1 / np.sqrt(space.scale))[:, None].astype(np.float32)
    sizes = [np.maximum(x.sum(axis=0), _TINY) for x in (c.senders, c.receivers)]
    factors = np.vstack([c.senders / sizes[0], c.receivers / sizes[1]]) if ends.directed else c.senders / sizes[0]
    factors = (factors * inverse).astype(np.float32)
    core, k = np.where(c.mass > 0, c.connectivity * c.mass, 0.0) / total, c.memberships.shape[1]
    if ends.directed:
        core = np.block([[np.zeros((k, k)), core], [core.T, np.zeros((k, k))]])
        n = ends.n_nodes
        block_factors = np.zeros((2 * n, 2 * k), np.float32)
        block_factors[:n, :k], block_factors[n:, k:] = factors[:n], factors[n:]
        factors = block_factors
    core = core.astype(np.float32)

    def apply(block: np.ndarray) -> np.ndarray:
        image = sparse_product(ends.pairs, block * inverse, n_jobs)
        image *= inverse / np.float32(total)
        image -= factors @ (core @ (factors.T @ block))
        return image

    values, _ = outlying_eigenpairs(apply, len(factors), 1, space.edge, n_passes=_PASSES, random_state=seed)
    return float(abs(values[0]) / space.edge)


def measure_triangle_ratios(ends: EdgeLists, c: Communities, seed: int) -> tuple[float, np.ndarray]:
    """Return edges between two neighbours of a node over those expected from communities and degrees; and by community.

    It is one, up to chance, where the model holds, and far more where nodes have positions, on a line or a map. Ratios by
    community, shape (K,), are about the nodes in it, and lower bounds.
    """
    c = build_communities(ends, c.memberships, corrected=True)
    symmetric = sparse.csr_array(ends.adjacency + ends.adjacency.T) if ends.directed else ends.adjacency
    degrees = np.diff(symmetric.indptr)
    chances = degrees * (degrees - 1.0)
    if not chances.any():
        return 1.0, np.ones(c.memberships.shape[1])
    rng = np.random.default_rng(seed)
    middle = rng.choice(len(degrees), _N_PAIRS, p=chances / chances.sum())
    first = rng.integers(0, degrees[middle])
    second = rng.integers(0, degrees[middle] - 1)
    second += second >= first
    i, j = symmetric.indices[symmetric.indptr[middle] + first], symmetric.indices[symmetric.indptr[middle] + second]
    edges = np.asarray(symmetric[i, j]).ravel()
    other_ends = 1 - 1 / np.maximum(ends.degrees, 1.0)  # share of a node's ends that are not the middle node's
    expected = (c.rates(i, j) + (c.rates(j, i) if ends.directed else 0.0)) * other_ends[i] * other_ends[j]
    middle_memberships = c.memberships[middle]
    triangles = (edges > 0) @ middle_memberships * min(float(chances.sum()) / (6 * _N_PAIRS), 1.0)
    ratios = ratio_of(edges @ middle_memberships, expected @ middle_memberships)
    sure_ratios = ratios * (1 - np.minimum(_DEVIATIONS / np.sqrt(np.maximum(triangles, 1.0)), 1.0))
    return float(ratio_of(edges.sum(), expected.sum())), sure_ratios
