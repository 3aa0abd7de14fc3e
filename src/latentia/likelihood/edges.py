"""Sampler of the edges of a block model, in time proportional to their number.

Pairs of nodes come from a Poisson process of slightly too large a rate, c theta_i phi_j pi_i^T P pi_j for
c = -log(1 - p_max) / p_max, community by community; each proposed pair is kept with the probability that corrects its chance to
that of the model.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError

_MAX_PROBABILITY = 0.99  # largest chance of an edge
_MAX_EDGES = 1e9  # largest number of edges between two communities
_CHUNK = 1 << 16


def draw_edges(
    memberships: np.ndarray,
    connectivity: np.ndarray,
    activity: np.ndarray,
    *,
    directed: bool,
    rng: np.random.Generator,
    activity_in: np.ndarray | None = None,
) -> sparse.csr_array:
    """Draw edges with probability theta_i theta_j pi_i^T P pi_j, at most .99, for every pair of different nodes.

    Returns a csr_array (n, n) of zeros and ones, symmetric unless directed. ``activity_in`` are separate factors theta_j of the
    ends of edges.
    """
    n = len(memberships)
    starts = memberships * activity[:, None]
    ends = starts if activity_in is None else memberships * activity_in[:, None]
    max_probability = float(connectivity.max()) * float(activity.max()) * float(ends.sum(axis=1).max(initial=0))
    max_probability = min(max_probability, _MAX_PROBABILITY)
    if max_probability <= 0:
        return sparse.csr_array((n, n), dtype=np.int8)
    rate_factor = -np.log1p(-max_probability) / max_probability
    pairs = np.unique(np.concatenate(_propose_pairs(starts, ends, rate_factor * connectivity, directed, rng)))
    i, j = np.divmod(pairs, n)
    is_edge = np.empty(len(pairs), bool)
    image = starts @ connectivity
    for a in range(0, len(pairs), _CHUNK):
        part = slice(a, a + _CHUNK)
        chance = np.einsum("ek,ek->e", image[i[part]], ends[j[part]])
        is_edge[part] = rng.random(len(chance)) * -np.expm1(-rate_factor * chance) < np.minimum(
            chance, _MAX_PROBABILITY
        )
    i, j = i[is_edge].astype(np.int32), j[is_edge].astype(np.int32)
    if not directed:
        i, j = np.concatenate([i, j]), np.concatenate([j, i])
    return sparse.csr_array(sparse.coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n)))


def _propose_pairs(
    starts: np.ndarray, ends: np.ndarray, rates: np.ndarray, directed: bool, rng: np.random.Generator
) -> list[np.ndarray]:
    """Propose pairs i n + j of different nodes, for every pair of communities; i < j unless directed."""
    n, k = starts.shape
    start_sums, end_sums = (np.ascontiguousarray(np.cumsum(x, axis=0).T) for x in (starts, ends))
    pairs = [np.empty(0, np.int64)]
    for a in range(k):
        for b in range(0 if directed else a, k):
            rate = float(rates[a, b]) * start_sums[a, -1] * end_sums[b, -1] * (0.5 if a == b and not directed else 1.0)
            if rate > _MAX_EDGES:
                raise LatentiaError(
                    f"Communities {a} and {b} have {rate:.3g} edges; expected at most {_MAX_EDGES:.0e}."
                )
            size = int(rng.poisson(rate))
            i, j = (_draw_nodes(sums, size, rng) for sums in (start_sums[a], end_sums[b]))
            is_pair = i != j
            i, j = i[is_pair], j[is_pair]
            if not directed:
                i, j = np.minimum(i, j), np.maximum(i, j)
            pairs.append(i * n + j)
    return pairs


def _draw_nodes(cumulated: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw nodes by their weights."""
    at = np.searchsorted(cumulated, rng.random(size) * cumulated[-1], side="right")
    return np.minimum(at, len(cumulated) - 1).astype(np.int64)
