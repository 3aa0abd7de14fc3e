"""What communities leave of the edges."""

from __future__ import annotations

import numpy as np

from ..linalg import ScaledSpace, outlying_eigenpairs, sparse_product
from ._model import Communities, Ends

_PASSES = 10
_TINY = 1e-300


def residual_ratio(ends: Ends, c: Communities, space: ScaledSpace, seed: int, n_jobs: int | None = None) -> float:
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
