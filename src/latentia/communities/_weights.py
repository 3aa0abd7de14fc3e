"""Weights of edges as counts: what noise they have, and how they are brought to that of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from .. import _fields as of
from ..linalg import ratio_product
from ..moments import Graph
from ._model import Communities

_COUNTS = 1.5  # dispersion up to which whole weights are taken for counts


@dataclass(frozen=True)
class Weights:
    """How counts come from weights: their roots, or the weights as they are, over a dispersion.

    The dispersion is sum (w^2 - m^2) / sum w with m_ij = d_i d_j / sum d, the variance of weights over their mean given the
    degrees. It is one for counts of independent events. Weights that scatter more, or are no whole numbers, have heavy tails
    as a rule, and a few heavy edges would decide: their roots have not.

    Attributes
    ----------
    root : bool
    dispersion : float
    """

    root: bool
    dispersion: Annotated[float, of.number(of.MIN_MAGNITUDE)]

    @classmethod
    def of(cls, table: sparse.csr_array) -> Weights:
        """Of the edges of a graph."""
        whole = table.dtype.kind in "iu" or bool((np.rint(table.data) == table.data).all())
        if whole and (dispersion := _dispersion(table)) <= _COUNTS:
            return cls(False, dispersion)
        return cls(True, _dispersion(_of_data(table, np.sqrt(table.data))))

    def counts(self, table: sparse.csr_array) -> sparse.csr_array:
        """Edges with weights as counts."""
        if not self.root and self.dispersion == 1:
            return table
        return _of_data(table, (np.sqrt(table.data) if self.root else table.data) / self.dispersion)

    def connectivity(self, c: Communities, graph: Graph, kept: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """P for the weights of the graph, edges being attributed to communities by their counts."""
        if not self.root:
            return self.dispersion * c.connectivity
        image, _ = ratio_product(among(graph, kept), c.senders @ c.connectivity, c.receivers, n_jobs)
        joint = c.connectivity * (c.senders.T @ image)
        return c.with_joint(joint if graph.directed else (joint + joint.T) / 2).connectivity


def among(graph: Graph, kept: np.ndarray) -> sparse.csr_array:
    """Edges among some nodes."""
    return graph.adjacency if len(kept) == graph.n_nodes else graph.adjacency[kept][:, kept]


def _dispersion(table: sparse.csr_array) -> float:
    data = table.data.astype(np.float64)
    total = float(data.sum())
    out, into = (np.asarray(table.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    explained = float((out**2).sum()) * float((into**2).sum()) / total**2
    squares = float(data @ data)
    return max((squares - explained) / total, 1e-3 * squares / total)


def _of_data(table: sparse.csr_array, data: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array((data, table.indices, table.indptr), shape=table.shape)
