"""Weights of edges as counts: their noise, and its scaling to that of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from .. import _fields as of
from ..linalg import ratio_product
from ..moments import Graph
from ._model import Communities

_MAX_COUNT_DISPERSION = 1.5  # whole weights with a smaller dispersion are taken for counts


@dataclass(frozen=True)
class Weights:
    """The map from weights to counts: their roots, or the weights as they are, over a dispersion.

    The dispersion is sum (w^2 - m^2) / sum w with m_ij = d_i d_j / sum d, the variance of weights over their mean given the
    degrees. It is one for counts of independent events. Weights that scatter more, or are not whole numbers, usually have heavy
    tails, and a few heavy edges would dominate; their roots do not have heavy tails.

    Attributes
    ----------
    root : bool
    dispersion : float
    """

    root: bool
    dispersion: Annotated[float, of.number(of.MIN_MAGNITUDE)]

    @classmethod
    def from_edges(cls, table: sparse.csr_array) -> Weights:
        """Choose the map for the edges of a graph."""
        is_whole = table.dtype.kind in "iu" or bool((np.rint(table.data) == table.data).all())
        if is_whole and (dispersion := _dispersion(table)) <= _MAX_COUNT_DISPERSION:
            return cls(False, dispersion)
        return cls(True, _dispersion(_replace_data(table, np.sqrt(table.data))))

    def counts(self, table: sparse.csr_array) -> sparse.csr_array:
        """Return edges with weights as counts."""
        if not self.root and self.dispersion == 1:
            return table
        return _replace_data(table, (np.sqrt(table.data) if self.root else table.data) / self.dispersion)

    def connectivity(self, c: Communities, graph: Graph, nodes: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """Return P for the weights of the graph, with edges attributed to communities by their counts."""
        if not self.root:
            return self.dispersion * c.connectivity
        image, _ = ratio_product(select_nodes(graph, nodes), c.senders @ c.connectivity, c.receivers, n_jobs)
        joint = c.connectivity * (c.senders.T @ image)
        return c.replace_joint(joint if graph.directed else (joint + joint.T) / 2).connectivity


def select_nodes(graph: Graph, nodes: np.ndarray) -> sparse.csr_array:
    """Return the edges among some nodes."""
    return graph.adjacency if len(nodes) == graph.n_nodes else graph.adjacency[nodes][:, nodes]


def _dispersion(table: sparse.csr_array) -> float:
    data = table.data.astype(np.float64)
    total = float(data.sum())
    out, into = (np.asarray(table.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    explained = float((out**2).sum()) * float((into**2).sum()) / total**2
    squares = float(data @ data)
    return max((squares - explained) / total, 1e-3 * squares / total)


def _replace_data(table: sparse.csr_array, data: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array((data, table.indices, table.indptr), shape=table.shape)
