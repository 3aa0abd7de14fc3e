"""Edges of a block model drawn in time proportional to their number.

Pairs of nodes come from a Poisson process of slightly too large a rate, c theta_i phi_j pi_i^T P pi_j for
c = -log(1 - p_max) / p_max, community by community; of those that came at all, each is kept with the probability that makes its
chance the model's.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError

_MOST_LIKELY = 0.99  # chance of an edge
_MOST_DRAWN = 1e9  # edges between two communities
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
    """Edges with probability theta_i theta_j pi_i^T P pi_j, at most .99, for every pair of different nodes.

    Returns a csr_array (n, n) of zeros and ones, symmetric unless directed. ``activity_in`` are the factors theta_j of where
    edges end, if they are others.
    """
    n = len(memberships)
    starts = memberships * activity[:, None]
    ends = starts if activity_in is None else memberships * activity_in[:, None]
    most = float(connectivity.max()) * float(activity.max()) * float(ends.sum(axis=1).max(initial=0))
    most = min(most, _MOST_LIKELY)
    if most <= 0:
        return sparse.csr_array((n, n), dtype=np.int8)
    more = -np.log1p(-most) / most
    pairs = np.unique(np.concatenate(_proposed(starts, ends, more * connectivity, directed, rng)))
    i, j = np.divmod(pairs, n)
    chosen = np.empty(len(pairs), bool)
    image = starts @ connectivity
    for a in range(0, len(pairs), _CHUNK):
        part = slice(a, a + _CHUNK)
        chance = np.einsum("ek,ek->e", image[i[part]], ends[j[part]])
        chosen[part] = rng.random(len(chance)) * -np.expm1(-more * chance) < np.minimum(chance, _MOST_LIKELY)
    i, j = i[chosen].astype(np.int32), j[chosen].astype(np.int32)
    if not directed:
        i, j = np.concatenate([i, j]), np.concatenate([j, i])
    return sparse.csr_array(sparse.coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n)))


def _proposed(
    starts: np.ndarray, ends: np.ndarray, rates: np.ndarray, directed: bool, rng: np.random.Generator
) -> list[np.ndarray]:
    """Pairs i n + j of different nodes, for every pair of communities; i < j unless directed."""
    n, k = starts.shape
    left, right = (np.ascontiguousarray(np.cumsum(x, axis=0).T) for x in (starts, ends))
    found = [np.empty(0, np.int64)]
    for a in range(k):
        for b in range(0 if directed else a, k):
            rate = float(rates[a, b]) * left[a, -1] * right[b, -1] * (0.5 if a == b and not directed else 1.0)
            if rate > _MOST_DRAWN:
                raise LatentiaError(
                    f"Communities {a} and {b} have {rate:.3g} edges: at most {_MOST_DRAWN:.0e} can be drawn."
                )
            size = int(rng.poisson(rate))
            i, j = (_drawn(sums, size, rng) for sums in (left[a], right[b]))
            kept = i != j
            i, j = i[kept], j[kept]
            if not directed:
                i, j = np.minimum(i, j), np.maximum(i, j)
            found.append(i * n + j)
    return found


def _drawn(cumulated: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Nodes by their weights."""
    at = np.searchsorted(cumulated, rng.random(size) * cumulated[-1], side="right")
    return np.minimum(at, len(cumulated) - 1).astype(np.int64)
