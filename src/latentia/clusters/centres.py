"""Starting points of a mixture, computed from the rows without a seed.

Three ways to choose K centres, each followed by a few steps of k-means: rows that lower the sum of squared distances most, one
after the other (the first step of global k-means); rows farthest from those chosen before; and the clusters of Ward's linkage.
The first two find dense and remote groups, the third long chains of merges; none is best on all data.

Sources: A. Likas, N. Vlassis, J. J. Verbeek, The global k-means clustering algorithm, Pattern Recognition 36 (2003);
T. F. Gonzalez, Clustering to minimize the maximum intercluster distance, Theoretical Computer Science 38 (1985);
J. H. Ward, Hierarchical grouping to optimize an objective function, J. Amer. Statist. Assoc. 58 (1963).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

_MAX_CANDIDATES = 300  # rows that may become centres
_MAX_WATCHED_ROWS = 1000  # rows whose distances to centres are minimised
_MAX_LINKED_ROWS = 500  # rows in Ward's linkage
_SWEEPS = 10  # of k-means


def label_starts(table: np.ndarray, k: int, names: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Return labels of the rows of a table (n, b), shape (n,), by name of the method; ``names`` selects some methods."""
    ways: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
        "Ward": _ward_means, "greedy rows": _greedy_rows, "farthest rows": _farthest_rows,
    }  # fmt: skip
    chosen = {name: centres for name, centres in ways.items() if not names or name in names}
    return {name: _k_means(table, centres(table, k)) for name, centres in chosen.items()}


def shares_of_labels(labels: np.ndarray, k: int) -> np.ndarray:
    """Return indicators of the labels of rows, shape (K, n)."""
    shares = np.zeros((k, len(labels)))
    shares[labels, np.arange(len(labels))] = 1.0
    return shares


def _ward_means(table: np.ndarray, k: int) -> np.ndarray:
    rows = table[_even_indices(len(table), max(_MAX_LINKED_ROWS, 2 * k))]
    if len(rows) < 2:
        return rows
    clusters = {i: [i] for i in range(len(rows))}
    mergers = linkage(pdist(rows), "ward")[: max(len(rows) - k, 0), :2].astype(int)
    for number, (first, second) in enumerate(mergers.tolist(), start=len(rows)):
        clusters[number] = clusters.pop(first) + clusters.pop(second)
    return np.array([rows[cluster].mean(axis=0) for cluster in clusters.values()])


def _greedy_rows(table: np.ndarray, k: int) -> np.ndarray:
    candidates = table[_even_indices(len(table), max(_MAX_CANDIDATES, 2 * k))]
    distances = _distances_squared(candidates, table[_even_indices(len(table), max(_MAX_WATCHED_ROWS, 4 * k))])
    nearest, chosen = distances.max(axis=0), []
    for _ in range(k):
        chosen.append(int(np.minimum(distances, nearest).sum(axis=1).argmin()))
        nearest = np.minimum(nearest, distances[chosen[-1]])
    return candidates[chosen]


def _farthest_rows(table: np.ndarray, k: int) -> np.ndarray:
    nearest, chosen = np.einsum("ij,ij->i", table, table), []
    for number in range(k):
        chosen.append(int(nearest.argmax()))
        distances = ((table - table[chosen[-1]]) ** 2).sum(axis=1)
        nearest = np.minimum(nearest, distances) if number else distances
    return table[chosen]


def _k_means(table: np.ndarray, centres: np.ndarray) -> np.ndarray:
    labels = _nearest(table, centres)
    for _ in range(_SWEEPS):
        shares = shares_of_labels(labels, len(centres))
        sizes = shares.sum(axis=1)
        centres = np.where(sizes[:, None] > 0, shares @ table / np.maximum(sizes, 1)[:, None], centres)
        old_labels, labels = labels, _nearest(table, centres)
        if (labels == old_labels).all():
            break
    return labels


def _nearest(table: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the number of the nearest centre of every row."""
    products = centres @ table.T
    products -= 0.5 * (centres**2).sum(axis=1)[:, None]
    return products.argmax(axis=0)


def _distances_squared(table: np.ndarray, centres: np.ndarray) -> np.ndarray:
    squares = table @ (-2 * centres.T)
    squares += np.einsum("ij,ij->i", table, table)[:, None]
    squares += (centres**2).sum(axis=1)
    return squares


def _even_indices(n: int, max_size: int) -> np.ndarray:
    """Return at most ``max_size`` row numbers, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, max_size)).round().astype(int))
