"""Clusters of nodes improved by moves of single nodes, with degrees corrected for.

A node goes to the cluster c that has most of

    (weight of its edges into c) - gamma d_i D_c / (2 W),

d being degrees, D_c the sum of those of the other nodes in c, and W the weight of all edges: the number of clusters stays.
Rounds end when no node moves, or after 30. With gamma = 1 the sum is modularity. In a degree-corrected block model in which
edges inside of clusters are w_in times, and others w_out times as frequent as by chance, the likeliest clusters are those of
gamma = (w_in - w_out) / log(w_in / w_out) (Newman 2016), both of which are estimated anew before each round.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy import sparse

_ROUNDS = 30
_LEAST = 1e-9


def moved_labels(
    counts: sparse.csr_array, labels: np.ndarray, n_clusters: int, resolution: float | None = None
) -> np.ndarray:
    """Labels after rounds of moves, the nodes of most edges first, until none moves.

    Parameters
    ----------
    counts : csr_array of shape (n, n)
        Symmetric weights of edges; the diagonal moves nothing.
    labels : ndarray of int, shape (n,)
        Clusters from 0.
    n_clusters : int
    resolution : float, optional
        gamma; by default estimated.

    Returns
    -------
    ndarray of int, shape (n,)
        The labels themselves where clusters do not hold together: edges inside are no more frequent than by chance.
    """
    table = sparse.csr_array(counts).astype(np.float64)
    degrees = np.asarray(table.sum(axis=1)).ravel()
    total, found = float(degrees.sum()), labels.astype(np.int64)
    order = np.argsort(-degrees, kind="stable")
    cells = table.tocoo()
    for _ in range(_ROUNDS):
        sums = np.bincount(found, weights=degrees, minlength=n_clusters)
        gamma = resolution
        if gamma is None:
            inside = float(cells.data[found[cells.coords[0]] == found[cells.coords[1]]].sum())
            chance = float((sums**2).sum()) / total
            within, between = inside / max(chance, _LEAST), (total - inside) / max(total - chance, _LEAST)
            if within <= between:
                return found
            gamma = (within - between) / np.log(within / max(between, _LEAST))
        if not _round(table.data, table.indices, table.indptr, degrees, order, found, sums, gamma / total):
            break
    return found


@njit(nogil=True, cache=True)
def _round(data, indices, indptr, degrees, order, labels, sums, gamma):
    """One look at every node; the number that moved. ``labels`` and ``sums`` change in place."""
    moved, weights = 0, np.zeros(len(sums))
    for i in order:
        for c in range(len(sums)):
            weights[c] = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            if indices[place] != i:
                weights[labels[indices[place]]] += data[place]
        own = labels[i]
        sums[own] -= degrees[i]
        best, most = own, weights[own] - gamma * degrees[i] * sums[own]
        least = most + 1e-9 * max(1.0, abs(most))
        for c in range(len(sums)):
            gain = weights[c] - gamma * degrees[i] * sums[c]
            if gain > least and gain > most:
                best, most = c, gain
        sums[best] += degrees[i]
        labels[i] = best
        moved += best != own
    return moved
