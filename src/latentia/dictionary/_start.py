"""Where the rounds begin: atoms of the clusters of the connection graph, or rows drawn at random.

Rows y, y' that share no atom have inner products of size sigma, which is small where atoms are incoherent; those that share
one have products of the size of a squared coefficient. So rows with large products are connected, the clusters of that graph
are the rows of one atom each, and the atom is the direction in which these rows vary most.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..linalg import leading_direction, unit_rows
from ..passes import Blocks, sample_rows
from .clusters import GraphClusters, connection_graph, recover_graph

_ROWS_PER_ATOM, _FEWEST_ROWS, _MOST_ROWS = 24, 1000, 20_000
_PAIRS = 20_000
_AT_ONCE = 1 << 20  # numbers of the rows of some pairs
_NORMAL_MEDIAN = 0.6745  # of the size of a standard normal number
_DEVIATIONS = 2.25  # of a product by chance, beyond which two rows are connected
_STEPS = 30  # of power iterations
_SAME = 0.7  # |cosine| of the atoms of two clusters, from which on they are one
_OWN = 0.5  # share of the atoms that the graph must give


@dataclass(frozen=True)
class Start:
    """Atoms to begin with.

    Attributes
    ----------
    atoms : ndarray of shape (m, n)
        Of unit length: those of the clusters first, then rows.
    clusters : GraphClusters
        Of the rows of the graph; no sets where no graph was asked for.
    rows : ndarray of shape (p, n)
        The rows of the graph.
    threshold : float
        Product that connects two of them.
    """

    atoms: np.ndarray
    clusters: GraphClusters = field(default_factory=lambda: GraphClusters([], 0.0, 0.0, 0.0))
    rows: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    threshold: float = 0.0

    @property
    def n_clusters(self) -> int:
        return len(self.clusters.sets)

    @property
    def of_graph(self) -> bool:
        """Whether the atoms are those of the graph, with some others at most."""
        return self.n_clusters >= _OWN * len(self.atoms)

    @property
    def sparsity(self) -> int:
        """Clusters that a row is in on average; at least one."""
        n_members = sum(len(one) for one in self.clusters.sets)
        return max(1, round(n_members / max(len(self.rows), 1)))


def start_from(
    blocks: Blocks,
    n_components: int,
    method: Literal["graph", "random"],
    columns: Literal["svd", "average"],
    order: int,
    seed: int,
    n_jobs: int | None,
) -> Start:
    """Begin with some of the rows: at most 24 of them an atom are in the graph."""
    most = int(np.clip(_ROWS_PER_ATOM * n_components, _FEWEST_ROWS, _MOST_ROWS))
    rows = _dense(sample_rows(blocks, most)[0])
    rows = rows[np.einsum("ij,ij->i", rows, rows) > 0]
    rng = np.random.default_rng(seed)
    if method == "random" or len(rows) < order or n_components < 2:
        return Start(_filled(np.empty((0, rows.shape[1])), rows, n_components, rng))
    threshold = _threshold(rows, rng)
    graph = connection_graph(rows, threshold, n_jobs)
    clusters = recover_graph(graph, n_components, order=order, random_state=seed)
    column = _direction if columns == "svd" else _average
    atoms = unit_rows(np.array([column(rows[one]) for one in clusters.sets]).reshape(-1, rows.shape[1]))
    best = _distinct(atoms, _clearest(atoms, clusters.sets, rows))[:n_components]
    clusters = clusters._replace(sets=[clusters.sets[i] for i in best])
    return Start(_filled(atoms[best], rows, n_components, rng), clusters, rows, threshold)


def _threshold(rows: np.ndarray, rng: np.random.Generator) -> float:
    """The size of products beyond which they are hardly by chance."""
    pairs = rng.integers(0, len(rows), (2, _PAIRS))
    pieces = np.array_split(pairs, max(1, -(-_PAIRS * rows.shape[1] // _AT_ONCE)), axis=1)
    each = np.concatenate([np.einsum("ij,ij->i", rows[one], rows[other]) for one, other in pieces])
    products = np.abs(each)[pairs[0] != pairs[1]]
    return _DEVIATIONS * float(np.median(products)) / _NORMAL_MEDIAN if len(products) else 0.0


def _clearest(atoms: np.ndarray, sets: list[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Order of the clusters by the share of their rows' squared length that is along the atom."""
    shares = [
        float(((rows[one] @ atom) ** 2).sum() / np.einsum("ij,ij->", rows[one], rows[one]))
        for atom, one in zip(atoms, sets, strict=True)
    ]
    return np.argsort(-np.array(shares), kind="stable").astype(np.int64)


def _distinct(atoms: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Those, in their order, that are no earlier one over again: clusters that were found by halves give the same atom."""
    alike, kept = np.abs(atoms @ atoms.T) > _SAME, np.zeros(len(atoms), dtype=bool)
    for i in order:
        kept[i] = not (alike[i] & kept).any()
    return order[kept[order]]


def _direction(rows: np.ndarray) -> np.ndarray:
    """Direction of the largest variance about the origin (Algorithm 5.3)."""
    return leading_direction(rows, _STEPS)


def _average(rows: np.ndarray) -> np.ndarray:
    """Mean of the rows with one sign of the coefficient (Algorithm 5.2).

    Signs are those of the products with one row, mended by the rows that agree with it: two rows have the same sign if most
    other rows have products of the same sign with both.
    """
    signs = np.sign(rows @ rows.T)
    np.fill_diagonal(signs, 1.0)
    pivot = np.abs(signs.sum(axis=1)).argmax()
    same = signs @ signs[pivot] > 0
    same = same if 2 * same.sum() >= len(same) else ~same
    return np.asarray(rows[same].mean(axis=0))


def _filled(atoms: np.ndarray, rows: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """m atoms: these, then rows drawn without replacement, then random directions."""
    drawn = rows[rng.permutation(len(rows))[: m - len(atoms)]]
    more = rng.standard_normal((m - len(atoms) - len(drawn), rows.shape[1]))
    return np.concatenate([atoms, unit_rows(drawn), unit_rows(more)])


def _dense(table: Any) -> np.ndarray:
    return np.ascontiguousarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
