"""Initial atoms: those of the clusters of the connection graph, or rows drawn at random.

Rows y, y' that share no atom have inner products of size sigma, which is small where atoms are incoherent; those that share
one have products of the size of a squared coefficient. So rows with large products are connected, the clusters of that graph
are the rows of one atom each, and the atom is the direction of largest variance of these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..linalg import leading_direction, unit_rows
from ..passes import Blocks, sample_rows
from .clusters import GraphClusters, connection_graph, recover_graph

_ROWS_PER_ATOM, _MIN_ROWS, _MAX_ROWS = 24, 1000, 20_000
_PAIRS = 20_000
_MAX_NUMBERS = 1 << 20  # numbers in the rows of the pairs at a time
_NORMAL_MEDIAN = 0.6745  # median absolute value of a standard normal number
_DEVIATIONS = 2.25  # rows are connected if their product exceeds so many standard deviations of chance
_STEPS = 30  # steps of power iteration
_SAME_ATOM = 0.7  # clusters whose atoms have a larger |cosine| are the same
_MIN_SHARE_OF_GRAPH = 0.5  # least share of the atoms from the graph, to count as a start from it


@dataclass(frozen=True)
class Start:
    """Initial atoms, and the graph they come from.

    Attributes
    ----------
    atoms : ndarray of shape (m, n)
        Atoms of unit length: those of the clusters first, then rows.
    clusters : GraphClusters
        Clusters of the rows of the graph; no sets for a random start.
    rows : ndarray of shape (p, n)
        The rows of the graph.
    threshold : float
        Rows with a larger product are connected.
    """

    atoms: np.ndarray
    clusters: GraphClusters = field(default_factory=lambda: GraphClusters([], 0.0, 0.0, 0.0))
    rows: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    threshold: float = 0.0

    @property
    def n_clusters(self) -> int:
        return len(self.clusters.sets)

    @property
    def is_from_graph(self) -> bool:
        """True if at least half of the atoms come from the graph."""
        return self.n_clusters >= _MIN_SHARE_OF_GRAPH * len(self.atoms)

    @property
    def sparsity(self) -> int:
        """Mean number of clusters of a row; at least one."""
        n_members = sum(len(cluster) for cluster in self.clusters.sets)
        return max(1, round(n_members / max(len(self.rows), 1)))


def start_from(
    blocks: Blocks,
    n_components: int,
    method: Literal["graph", "random"],
    atom_update: Literal["svd", "average"],
    order: int,
    seed: int,
    n_jobs: int | None,
) -> Start:
    """Find initial atoms from a sample of the rows: the graph has at most 24 rows for each atom."""
    max_rows = int(np.clip(_ROWS_PER_ATOM * n_components, _MIN_ROWS, _MAX_ROWS))
    rows = _dense(sample_rows(blocks, max_rows)[0])
    rows = rows[np.einsum("ij,ij->i", rows, rows) > 0]
    rng = np.random.default_rng(seed)
    if method == "random" or len(rows) < order or n_components < 2:
        return Start(_fill_up(np.empty((0, rows.shape[1])), rows, n_components, rng))
    threshold = _threshold(rows, rng)
    graph = connection_graph(rows, threshold, n_jobs)
    clusters = recover_graph(graph, n_components, order=order, random_state=seed)
    atom_of = _direction if atom_update == "svd" else _average
    atoms = unit_rows(np.array([atom_of(rows[cluster]) for cluster in clusters.sets]).reshape(-1, rows.shape[1]))
    best = _drop_duplicates(atoms, _rank_by_clarity(atoms, clusters.sets, rows))[:n_components]
    clusters = clusters._replace(sets=[clusters.sets[i] for i in best])
    return Start(_fill_up(atoms[best], rows, n_components, rng), clusters, rows, threshold)


def _threshold(rows: np.ndarray, rng: np.random.Generator) -> float:
    """Return the size of products beyond which they are hardly chance."""
    pairs = rng.integers(0, len(rows), (2, _PAIRS))
    pieces = np.array_split(pairs, max(1, -(-_PAIRS * rows.shape[1] // _MAX_NUMBERS)), axis=1)
    products_of_pairs = np.concatenate([np.einsum("ij,ij->i", rows[first], rows[second]) for first, second in pieces])
    products = np.abs(products_of_pairs)[pairs[0] != pairs[1]]
    return _DEVIATIONS * float(np.median(products)) / _NORMAL_MEDIAN if len(products) else 0.0


def _rank_by_clarity(atoms: np.ndarray, sets: list[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Rank clusters by the share of their rows' squared length along the atom."""
    shares = [
        float(((rows[cluster] @ atom) ** 2).sum() / np.einsum("ij,ij->", rows[cluster], rows[cluster]))
        for atom, cluster in zip(atoms, sets, strict=True)
    ]
    return np.argsort(-np.array(shares), kind="stable").astype(np.int64)


def _drop_duplicates(atoms: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the order without duplicates of earlier atoms: two halves of a cluster give the same atom."""
    are_alike, is_distinct = np.abs(atoms @ atoms.T) > _SAME_ATOM, np.zeros(len(atoms), dtype=bool)
    for i in order:
        is_distinct[i] = not (are_alike[i] & is_distinct).any()
    return order[is_distinct[order]]


def _direction(rows: np.ndarray) -> np.ndarray:
    """Return the direction of the largest variance about the origin (Algorithm 5.3)."""
    return leading_direction(rows, _STEPS)


def _average(rows: np.ndarray) -> np.ndarray:
    """Return the mean of the rows with one sign of the coefficient (Algorithm 5.2).

    Two rows have the same sign if most other rows have products of the same sign with both; rows are compared with a pivot row.
    """
    signs = np.sign(rows @ rows.T)
    np.fill_diagonal(signs, 1.0)
    pivot = np.abs(signs.sum(axis=1)).argmax()
    has_sign = signs @ signs[pivot] > 0
    has_sign = has_sign if 2 * has_sign.sum() >= len(has_sign) else ~has_sign
    return np.asarray(rows[has_sign].mean(axis=0))


def _fill_up(atoms: np.ndarray, rows: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """Fill up to m atoms: with rows drawn without replacement, then with random directions."""
    drawn_rows = rows[rng.permutation(len(rows))[: m - len(atoms)]]
    random_atoms = rng.standard_normal((m - len(atoms) - len(drawn_rows), rows.shape[1]))
    return np.concatenate([atoms, unit_rows(drawn_rows), unit_rows(random_atoms)])


def _dense(table: Any) -> np.ndarray:
    return np.ascontiguousarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
