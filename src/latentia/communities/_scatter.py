"""Whether nodes' edges scatter over communities as their memberships say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from ._model import EdgeLists
from ._refine import Mixed

_SLACK, _DEVIATIONS = 0.06, 2.0  # of the scatter above one: mean-field posteriors are a little too sure; and chance
_TINY = 1e-300


class Scatter(NamedTuple):
    """How edges of nodes to communities scatter, given the nodes' own communities.

    Of one community k a node, with posteriors p_ik, s_il edges of node i to nodes whose community is l, d_i to all, and q_kl
    the model's shares of them, the ratio is

        sum_ik p_ik |s_i - d_i q_k|^2 / sum_ik p_ik d_i (1 - |q_k|^2),

    which is one whatever the posteriors leave open. Mixed memberships have q_i = sum_k pi_ik q_k.

    Attributes
    ----------
    ratio : float
    limit : float
        What it seldom is above where the model holds.
    misplaced : float
        Root mean square share of a node's membership that is misplaced, if that explains what is beyond the limit; zero for
        mixed memberships, of which parts of the edges tell it.
    """

    ratio: float
    limit: float
    misplaced: float

    @classmethod
    def of(cls, ends: EdgeLists, fit: Mixed, labels: np.ndarray | None = None) -> Scatter:
        """Of both directions, where there are two; ``labels`` say which communities ends are in, by default the fit's own."""
        c = fit.communities
        n, k = c.memberships.shape
        mixed = bool(fit.dirichlet.any())
        groups = np.eye(k)[c.memberships.argmax(axis=1) if labels is None else labels]
        rows = [_scatter(ends.adjacency, c.memberships, c.senders, c.connectivity, c.receivers, groups, mixed)]
        if ends.directed:
            back = ends.adjacency.T.tocsr()
            rows.append(_scatter(back, c.memberships, c.receivers, c.connectivity.T, c.senders, groups, mixed))
        seen, expected, moved = np.sum(rows, axis=0)
        limit = 1 + _SLACK + _DEVIATIONS * float(np.sqrt(2 / (n * max(k - 1, 1))))
        if not expected > 0:
            return cls(1.0 if k == 1 else np.inf, limit, 0.0)  # all ends are in one community
        beyond = max(seen - limit * expected, 0.0)
        misplaced = 0.0 if mixed or not moved > 0 else float(np.sqrt(min(beyond / moved, 1.0)))
        return cls(float(seen / expected), limit, misplaced)


def _scatter(
    edges: sparse.csr_array,
    pi: np.ndarray,
    own: np.ndarray,
    connectivity: np.ndarray,
    others: np.ndarray,
    groups: np.ndarray,
    mixed: bool,
) -> tuple[float, float, float]:
    """Sums of squares of s - d q, of what is expected of them, and of what they would be if every node were elsewhere."""
    counts, profiles = edges @ groups, connectivity @ (others.T @ groups)
    degrees = counts.sum(axis=1, keepdims=True)
    if mixed:
        shares = own @ profiles
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), _TINY)
        seen = np.square(counts - degrees * shares).sum()
        return float(seen), float((degrees[:, 0] * (1 - np.square(shares).sum(axis=1))).sum()), 0.0
    profiles /= np.maximum(profiles.sum(axis=1, keepdims=True), _TINY)
    lengths = np.square(profiles).sum(axis=1)
    apart = np.square(counts).sum(axis=1, keepdims=True) - 2 * degrees * (counts @ profiles.T) + degrees**2 * lengths
    sizes = pi.mean(axis=0)
    elsewhere = cdist(profiles, profiles, "sqeuclidean") @ sizes / np.maximum(1 - sizes, _TINY)
    return (
        float((pi * apart).sum()),
        float((pi * degrees).sum(axis=0) @ (1 - lengths)),
        float((pi * degrees**2).sum(axis=0) @ elsewhere),
    )
