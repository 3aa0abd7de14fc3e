"""Layers from below: units by what fires together, rows encoded by them, and so on with the encoded rows (Algorithm 6.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy import sparse

from ._encode import decode, encode
from ._negatives import learn_negatives
from ._real import RealLayer, decode_real, encode_real, recover_real
from ._statistics import BinaryRows
from ._units import learn_units

Rows: TypeAlias = BinaryRows | np.ndarray
"""Rows of a layer: bits, or real columns."""


@dataclass(frozen=True)
class Settings:
    """How layers are learned.

    Attributes
    ----------
    n_layers : int
    n_polishes : int
        Rounds at most in which members are decided again by rows where no other unit explains them.
    seed : int
    n_jobs : int or None
    """

    n_layers: int
    n_polishes: int
    seed: int
    n_jobs: int | None


@dataclass(frozen=True)
class Layer:
    """A hidden layer.

    Attributes
    ----------
    edges : csr_array of int8, shape (n_units, n_below)
        1 and -1.
    undetermined : csr_array of bool, of the same shape
    hidden : BinaryRows
        Units that are on in the rows that it was learned from.
    real : RealLayer, optional
        Where the layer below is real.
    """

    edges: sparse.csr_array
    undetermined: sparse.csr_array
    hidden: BinaryRows
    real: RealLayer | None = None

    @property
    def members(self) -> sparse.csr_array:
        """The positive edges, with entries 1."""
        return signed(self.edges, 1)


def signed(edges: sparse.csr_array, sign: int) -> sparse.csr_array:
    """Edges of one sign, with entries 1."""
    kept = edges.data == sign
    indptr = np.append(0, np.cumsum(kept))[edges.indptr]
    return sparse.csr_array((np.ones(int(indptr[-1]), np.int8), edges.indices[kept], indptr), shape=edges.shape)


def learn_layers(rows: Rows, settings: Settings) -> list[Layer]:
    """Positive edges and codes, layer by layer, up to the first layer without units; at least one layer."""
    layers: list[Layer] = []
    for _ in range(settings.n_layers):
        layer = _lowest(rows, settings) if isinstance(rows, np.ndarray) else _next(rows, settings)
        if layers and not layer.edges.shape[0]:
            break
        layers.append(layer)
        rows = layer.hidden
    return layers


def _next(below: BinaryRows, settings: Settings) -> Layer:
    members = learn_units(below, settings.n_polishes, settings.n_jobs)
    hidden = encode(below, members, settings.n_jobs)
    order = np.argsort(-hidden.counts, kind="stable")
    members = sparse.csr_array(members[order])
    return Layer(members, sparse.csr_array(members.shape, dtype=bool), hidden.renamed(order))


def _lowest(Y: np.ndarray, settings: Settings) -> Layer:
    found = recover_real(Y, seed=settings.seed, n_jobs=settings.n_jobs)
    hidden = BinaryRows.of(sparse.csr_array(encode_real(found, Y, n_jobs=settings.n_jobs)))
    order = np.argsort(-hidden.counts, kind="stable")
    edges, undetermined = sparse.csr_array(found.weights[order]), sparse.csr_array(found.undetermined[order])
    hidden = hidden.renamed(order)
    return Layer(
        edges, undetermined, hidden, replace(found, weights=edges, undetermined=undetermined, densities=hidden.rates)
    )


def with_negative_edges(rows: Rows, layers: list[Layer], n_jobs: int | None) -> list[Layer]:
    """The layers with negative edges too, and with the pairs that the rows leave open."""
    found = []
    for number, layer in enumerate(layers):
        if not isinstance(rows, np.ndarray):
            negatives = learn_negatives(rows, layer.hidden, layer.edges, n_jobs, exact=number == 0)
            edges = sparse.csr_array(layer.edges - negatives.edges.astype(np.int8))
            edges.sort_indices()
            layer = replace(layer, edges=edges, undetermined=negatives.undetermined)
        found.append(layer)
        rows = layer.hidden
    return found


def encoded(rows: Rows, layers: list[Layer], n_jobs: int | None) -> BinaryRows:
    """Units of the last of these layers that are on in new rows."""
    for layer in layers:
        if layer.real is not None:
            rows = BinaryRows.of(sparse.csr_array(encode_real(layer.real, np.asarray(rows), n_jobs=n_jobs)))
        else:
            assert isinstance(rows, BinaryRows)
            rows = encode(rows, layer.members, n_jobs)
    assert isinstance(rows, BinaryRows)
    return rows


def decoded(hidden: BinaryRows, layers: list[Layer], n_jobs: int | None) -> Rows:
    """Rows of the observed layer from units of the last of these layers."""
    for layer in reversed(layers):
        if layer.real is not None:
            return decode_real(layer.real, hidden.table())
        hidden = decode(hidden, layer.edges, n_jobs)
    return hidden


def rows_of(rows: Rows, kept: np.ndarray) -> Rows:
    """Some rows, by ascending numbers."""
    return rows[kept] if isinstance(rows, np.ndarray) else rows.take(kept)
