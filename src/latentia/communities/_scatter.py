"""Scatter of nodes' edges over communities, compared with the model's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from ._model import EdgeLists
from ._refine import BlockModelFit

_SLACK, _DEVIATIONS = 0.06, 2.0  # mean-field posteriors, a little too certain, raise the ratio above one; and chance
_TINY = 1e-300


class Scatter(NamedTuple):
    """Scatter of nodes' edges over communities, given the nodes' memberships.

    For one community k a node, with posteriors p_ik, s_il edges of node i to nodes of community l, d_i edges in total, and q_kl
    the model's shares of them, the ratio is

        sum_ik p_ik |s_i - d_i q_k|^2 / sum_ik p_ik d_i (1 - |q_k|^2),

    which is one however uncertain the posteriors are. Mixed memberships have q_i = sum_k pi_ik q_k.

    Attributes
    ----------
    ratio : float
    limit : float
        The ratio seldom exceeds it where the model holds.
    misplaced : float
        Root mean square share of a node's membership that is misplaced, if that explains the excess over the limit; zero for
        mixed memberships, for which fits of parts of the edges show it.
    """

    ratio: float
    limit: float
    misplaced: float

    @classmethod
    def measure(cls, ends: EdgeLists, fit: BlockModelFit, labels: np.ndarray | None = None) -> Scatter:
        """Measure it, in both directions of a directed graph; ``labels`` are the communities of ends, by default the fit's."""
        c = fit.communities
        n, k = c.memberships.shape
        mixed = bool(fit.dirichlet.any())
        groups = np.eye(k)[c.memberships.argmax(axis=1) if labels is None else labels]
        rows = [_scatter(ends.adjacency, c.memberships, c.senders, c.connectivity, c.receivers, groups, mixed)]
        if ends.directed:
            reversed_edges = ends.adjacency.T.tocsr()
            rows.append(
                _scatter(reversed_edges, c.memberships, c.receivers, c.connectivity.T, c.senders, groups, mixed)
            )
        observed, expected, elsewhere = np.sum(rows, axis=0)
        limit = 1 + _SLACK + _DEVIATIONS * float(np.sqrt(2 / (n * max(k - 1, 1))))
        if not expected > 0:
            return cls(1.0 if k == 1 else np.inf, limit, 0.0)  # all ends are in one community
        excess = max(observed - limit * expected, 0.0)
        misplaced = 0.0 if mixed or not elsewhere > 0 else float(np.sqrt(min(excess / elsewhere, 1.0)))
        return cls(float(observed / expected), limit, misplaced)


def _scatter(
    edges: sparse.csr_array,
    pi: np.ndarray,
    activities: np.ndarray,
    connectivity: np.ndarray,
    receivers: np.ndarray,
    groups: np.ndarray,
    mixed: bool,
) -> tuple[float, float, float]:
    """Return the sum of squares of s - d q, its expectation, and its value if every node were in another community."""
    counts, profiles = edges @ groups, connectivity @ (receivers.T @ groups)
    degrees = counts.sum(axis=1, keepdims=True)
    if mixed:
        shares = activities @ profiles
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), _TINY)
        observed = np.square(counts - degrees * shares).sum()
        return float(observed), float((degrees[:, 0] * (1 - np.square(shares).sum(axis=1))).sum()), 0.0
    profiles /= np.maximum(profiles.sum(axis=1, keepdims=True), _TINY)
    lengths = np.square(profiles).sum(axis=1)
    distances = (
        np.square(counts).sum(axis=1, keepdims=True) - 2 * degrees * (counts @ profiles.T) + degrees**2 * lengths
    )
    sizes = pi.mean(axis=0)
    elsewhere = cdist(profiles, profiles, "sqeuclidean") @ sizes / np.maximum(1 - sizes, _TINY)
    return (
        float((pi * distances).sum()),
        float((pi * degrees).sum(axis=0) @ (1 - lengths)),
        float((pi * degrees**2).sum(axis=0) @ elsewhere),
    )
