"""What the benchmarks of communities share: measures, and the methods of others.

Every method takes a symmetric adjacency matrix (csr, float64) and gives labels, shape (n,), or memberships, shape (n, K).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import igraph
import leidenalg
import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import NMF
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import NearestNeighbors
from sknetwork.embedding import Spectral

FIRST_SEED = 300
RESOLUTIONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
_DENSE, _NEIGHBOURS, _FAR = 0.95, 10, 0.75  # SPACL's pruning: quantile of norms, neighbours, quantile of their distance


# --- measures ---------------------------------------------------------------------------------------------------


def nmi(truth: np.ndarray, labels: np.ndarray) -> float:
    return float(normalized_mutual_info_score(truth, labels))


def as_memberships(found: np.ndarray) -> np.ndarray:
    """Memberships of labels; those that are NaN become even."""
    if found.ndim == 2:
        return np.where(np.isnan(found), 1 / found.shape[1], found)
    return np.eye(found.max() + 1)[np.unique(found, return_inverse=True)[1]] if found.max() < 200 else _many(found)


def _many(labels: np.ndarray) -> np.ndarray:
    """The 199 largest communities, and one for all others."""
    order = np.argsort(-np.bincount(labels), kind="stable")
    place = np.full(labels.max() + 1, 199)
    place[order[:199]] = np.arange(199)
    return np.eye(200)[place[labels]]


def membership_error(found: np.ndarray, truth: np.ndarray) -> float:
    """Mean l1 distance of a node's memberships from the true ones, of a possible 2, with columns matched one to one.

    |a - b| = a + b - 2 min(a, b), so that the best matching has the largest sum of minima, also where there are more
    columns on one side.
    """
    found = as_memberships(found)
    shared = np.array([np.minimum(column[:, None], found).sum(axis=0) for column in truth.T])
    return float((found.sum() + truth.sum() - 2 * shared[linear_sum_assignment(-shared)].sum()) / len(truth))


def scores(found: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """NMI of the labels and mean l1 error of a node."""
    labels = found if found.ndim == 1 else np.nan_to_num(found).argmax(axis=1)
    return {"nmi": nmi(truth.argmax(axis=1), labels), "l1": membership_error(found, truth)}


# --- others' methods --------------------------------------------------------------------------------------------


def spectral(A: sparse.csr_array, k: int) -> np.ndarray:
    """k-means of the leading eigenvectors of D^-1/2 A D^-1/2, with the mean degree added to D."""
    return _kmeans(_scaled_vectors(A, k), k)


def spectral_sklearn(A: sparse.csr_array, k: int) -> np.ndarray:
    """By LOBPCG: the default solver factorises, which takes 4 s at 3,000 nodes and grows with the cube of the nodes."""
    return SpectralClustering(
        k, affinity="precomputed", eigen_solver="lobpcg", assign_labels="kmeans", random_state=0, n_jobs=1
    ).fit_predict(A)


def spectral_sknetwork(A: sparse.csr_array, k: int) -> np.ndarray:
    return _kmeans(Spectral(k).fit_transform(sparse.csr_matrix(A)), k)


def spacl(A: sparse.csr_array, k: int) -> np.ndarray:
    """Like SPACL (Mao, Sarkar and Chakrabarti 2018): corners of the leading eigenvectors' rows by successive projection."""
    vectors = eigsh(A, k, v0=np.ones(A.shape[0]))[1]
    norms = np.linalg.norm(vectors, axis=1)
    outer = np.flatnonzero(norms > np.quantile(norms, _DENSE))
    apart = NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(vectors).kneighbors(vectors[outer])[0].mean(axis=1)
    kept = np.setdiff1d(np.arange(len(vectors)), outer[apart > np.quantile(apart, _FAR)])
    corners = vectors[kept[_successive_projection(vectors[kept], k)]]
    return normalised(np.maximum(vectors @ np.linalg.pinv(corners), 0.0))


def _successive_projection(rows: np.ndarray, k: int) -> list[int]:
    left, chosen = rows.copy(), []
    for _ in range(k):
        norms = (left**2).sum(axis=1)
        chosen.append(int(norms.argmax()))
        direction = left[chosen[-1]] / np.sqrt(norms.max())
        left -= np.outer(left @ direction, direction)
    return chosen


def nmf(A: sparse.csr_array, k: int) -> np.ndarray:
    return normalised(NMF(k, init="nndsvd", random_state=0).fit_transform(sparse.csr_matrix(A)))


def normalised(rows: np.ndarray) -> np.ndarray:
    """Rows over their sums; even ones where these are zero."""
    sums = rows.sum(axis=1, keepdims=True)
    return np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), 1 / rows.shape[1])


def _scaled_vectors(A: sparse.csr_array, k: int) -> np.ndarray:
    degrees = np.asarray(A.sum(axis=1)).ravel()
    scale = sparse.diags_array(1 / np.sqrt(degrees + degrees.mean()))
    return eigsh((scale @ A @ scale).tocsr(), k, which="LA", v0=np.sqrt(degrees + 1))[1]


def _kmeans(rows: np.ndarray, k: int) -> np.ndarray:
    return KMeans(k, n_init=10, random_state=0).fit_predict(rows)


def as_igraph(A: sparse.csr_array, directed: bool = False) -> igraph.Graph:
    """With weights, where they are not all one."""
    edges = sparse.coo_array(A if directed else sparse.triu(A, 1))
    graph = igraph.Graph(n=A.shape[0], edges=np.column_stack(edges.coords), directed=directed)
    if (edges.data != 1).any():
        graph.es["weight"] = edges.data
    return graph


def leiden(graph: igraph.Graph, resolution: float | None = None) -> np.ndarray:
    """Modularity; with a resolution, that of its configuration model."""
    kind, more = leidenalg.ModularityVertexPartition, {}
    if resolution is not None:
        kind, more = leidenalg.RBConfigurationVertexPartition, {"resolution_parameter": resolution}
    weights = "weight" if graph.is_weighted() else None
    return np.array(leidenalg.find_partition(graph, kind, weights=weights, seed=1, **more).membership)


def louvain(graph: igraph.Graph) -> np.ndarray:
    igraph.set_random_number_generator(random.Random(0))
    weights = "weight" if graph.is_weighted() else None
    return np.array(graph.community_multilevel(weights=weights).membership)


def of_grid(
    graph: igraph.Graph, k: int, rate: Callable[[np.ndarray], float], grid: Iterable[float] = RESOLUTIONS
) -> dict[str, tuple[float, np.ndarray]]:
    """Leiden by resolutions: the one best by a rate of labels, and the one with the nearest number of communities to k."""
    many = [(resolution, leiden(graph, resolution)) for resolution in grid]
    return {
        "Leiden, best resolution": max(many, key=lambda one: rate(one[1])),
        "Leiden, k nearest": min(many, key=lambda one: abs(int((np.bincount(one[1]) > 1).sum()) - k)),
    }


def means(rows: list[dict[str, Any]], by: tuple[str, ...]) -> list[dict[str, Any]]:
    """Means of numbers over rows that agree in ``by``."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in by), []).append(row)
    out = []
    for key, some in groups.items():
        numbers = [
            name for name in some[0] if name not in by and isinstance(some[0][name], (int, float)) and name != "seed"
        ]
        out.append(
            dict(zip(by, key, strict=True)) | {name: float(np.mean([row[name] for row in some])) for name in numbers}
        )
    return out
