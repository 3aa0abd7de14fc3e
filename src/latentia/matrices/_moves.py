"""Degree-corrected improvement of clusters by moves of single nodes.

A node moves to the cluster c with the largest

    (weight of its edges into c) - gamma d_i D_c / (2 W),

where d are degrees, D_c the sum of the degrees of the other nodes in c, and W the weight of all edges. The number of clusters
does not grow. Rounds end when no node moves, or after 30. With gamma = 1 the sum is modularity. In a degree-corrected block
model with edges inside clusters w_in times, and others w_out times as frequent as by chance, the most likely clusters have
gamma = (w_in - w_out) / log(w_in / w_out) (Newman 2016); both are estimated again before each round.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy import sparse

_MAX_ROUNDS = 30
_TINY = 1e-9


def move_labels(
    counts: sparse.csr_array, labels: np.ndarray, n_clusters: int, resolution: float | None = None
) -> np.ndarray:
    """Return labels after rounds of moves, in order of decreasing degree, until no node moves.

    Parameters
    ----------
    counts : csr_array of shape (n, n)
        Symmetric weights of edges; the diagonal has no effect.
    labels : ndarray of int, shape (n,)
        Clusters from 0.
    n_clusters : int
    resolution : float, optional
        gamma; estimated by default.

    Returns
    -------
    ndarray of int, shape (n,)
        The input labels if edges inside clusters are no more frequent than by chance.
    """
    table = sparse.csr_array(counts).astype(np.float64)
    degrees = np.asarray(table.sum(axis=1)).ravel()
    total, moved = float(degrees.sum()), labels.astype(np.int64)
    order = np.argsort(-degrees, kind="stable")
    cells = table.tocoo()
    for _ in range(_MAX_ROUNDS):
        sums = np.bincount(moved, weights=degrees, minlength=n_clusters)
        gamma = resolution
        if gamma is None:
            inside = float(cells.data[moved[cells.coords[0]] == moved[cells.coords[1]]].sum())
            chance = float((sums**2).sum()) / total
            within, between = inside / max(chance, _TINY), (total - inside) / max(total - chance, _TINY)
            if within <= between:
                return moved
            gamma = (within - between) / np.log(within / max(between, _TINY))
        if not _move_once(table.data, table.indices, table.indptr, degrees, order, moved, sums, gamma / total):
            break
    return moved


@njit(nogil=True, cache=True)
def _move_once(data, indices, indptr, degrees, order, labels, sums, gamma):
    """Move every node once, in place in ``labels`` and ``sums``; return the number of nodes that moved."""
    moved, weights = 0, np.zeros(len(sums))
    for i in order:
        for c in range(len(sums)):
            weights[c] = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            if indices[place] != i:
                weights[labels[indices[place]]] += data[place]
        current = labels[i]
        sums[current] -= degrees[i]
        best, highest_gain = current, weights[current] - gamma * degrees[i] * sums[current]
        min_gain = highest_gain + 1e-9 * max(1.0, abs(highest_gain))
        for c in range(len(sums)):
            gain = weights[c] - gamma * degrees[i] * sums[c]
            if gain > min_gain and gain > highest_gain:
                best, highest_gain = c, gain
        sums[best] += degrees[i]
        labels[i] = best
        moved += best != current
    return moved
