"""Layer by layer from below: units from columns that fire together, then units of the encoded rows (Algorithm 6.1)."""

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
    """Settings of the learning of layers.

    Attributes
    ----------
    n_layers : int
    n_polishes : int
        Largest number of rounds that decide members again on rows where no other unit explains them.
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
        Units that are on in the rows of the fit.
    real : RealLayer, optional
        Parameters if the layer below is real.
    """

    edges: sparse.csr_array
    undetermined: sparse.csr_array
    hidden: BinaryRows
    real: RealLayer | None = None

    @property
    def members(self) -> sparse.csr_array:
        """The positive edges, with entries 1."""
        return select_sign(self.edges, 1)


def select_sign(edges: sparse.csr_array, sign: int) -> sparse.csr_array:
    """Return the edges of one sign, with entries 1."""
    is_kept = edges.data == sign
    indptr = np.append(0, np.cumsum(is_kept))[edges.indptr]
    return sparse.csr_array((np.ones(int(indptr[-1]), np.int8), edges.indices[is_kept], indptr), shape=edges.shape)


def learn_layers(rows: Rows, settings: Settings) -> list[Layer]:
    """Learn positive edges and codes, layer by layer, up to the first layer without units; at least one layer."""
    layers: list[Layer] = []
    for _ in range(settings.n_layers):
        layer = (
            _learn_real_layer(rows, settings) if isinstance(rows, np.ndarray) else _learn_binary_layer(rows, settings)
        )
        if layers and not layer.edges.shape[0]:
            break
        layers.append(layer)
        rows = layer.hidden
    return layers


def _learn_binary_layer(below: BinaryRows, settings: Settings) -> Layer:
    members = learn_units(below, settings.n_polishes, settings.n_jobs)
    hidden = encode(below, members, settings.n_jobs)
    order = np.argsort(-hidden.counts, kind="stable")
    members = sparse.csr_array(members[order])
    return Layer(members, sparse.csr_array(members.shape, dtype=bool), hidden.reorder(order))


def _learn_real_layer(Y: np.ndarray, settings: Settings) -> Layer:
    real_layer = recover_real(Y, seed=settings.seed, n_jobs=settings.n_jobs)
    hidden = BinaryRows.from_table(sparse.csr_array(encode_real(real_layer, Y, n_jobs=settings.n_jobs)))
    order = np.argsort(-hidden.counts, kind="stable")
    edges, undetermined = sparse.csr_array(real_layer.weights[order]), sparse.csr_array(real_layer.undetermined[order])
    hidden = hidden.reorder(order)
    return Layer(
        edges,
        undetermined,
        hidden,
        replace(real_layer, weights=edges, undetermined=undetermined, densities=hidden.rates),
    )


def add_negative_edges(rows: Rows, layers: list[Layer], n_jobs: int | None) -> list[Layer]:
    """Add negative edges to the layers, and the pairs that the rows leave undetermined."""
    complete_layers = []
    for number, layer in enumerate(layers):
        if not isinstance(rows, np.ndarray):
            negatives = learn_negatives(rows, layer.hidden, layer.edges, n_jobs, exact=number == 0)
            edges = sparse.csr_array(layer.edges - negatives.edges.astype(np.int8))
            edges.sort_indices()
            layer = replace(layer, edges=edges, undetermined=negatives.undetermined)
        complete_layers.append(layer)
        rows = layer.hidden
    return complete_layers


def encode_rows(rows: Rows, layers: list[Layer], n_jobs: int | None) -> BinaryRows:
    """Return the units of the last layer that are on in new rows."""
    for layer in layers:
        if layer.real is not None:
            rows = BinaryRows.from_table(sparse.csr_array(encode_real(layer.real, np.asarray(rows), n_jobs=n_jobs)))
        else:
            assert isinstance(rows, BinaryRows)
            rows = encode(rows, layer.members, n_jobs)
    assert isinstance(rows, BinaryRows)
    return rows


def decode_rows(hidden: BinaryRows, layers: list[Layer], n_jobs: int | None) -> Rows:
    """Return the observed rows for units of the last layer."""
    for layer in reversed(layers):
        if layer.real is not None:
            return decode_real(layer.real, hidden.table())
        hidden = decode(hidden, layer.edges, n_jobs)
    return hidden


def take_rows(rows: Rows, numbers: np.ndarray) -> Rows:
    """Return the rows with these numbers, which ascend."""
    return rows[numbers] if isinstance(rows, np.ndarray) else rows.take(numbers)
