"""Edges of the units of a network: the columns that they switch on and off."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

_MAX_COLUMNS = 8


class UnitEdges(NamedTuple):
    """Edges of all units, lowest layer first.

    Attributes
    ----------
    layers : list of int
        Layer of each unit; 1 is the lowest.
    on, off : list of list of int
        Numbers of the columns, or units of the layer below, that each unit switches on and off.
    undetermined : list of int
        Number of columns that the data leaves undetermined for each unit.
    below : list of list of int
        For units of higher layers the observed columns to which most of their edges lead; else empty.
    """

    layers: list[int]
    on: list[list[int]]
    off: list[list[int]]
    undetermined: list[int]
    below: list[list[int]]


def unit_names(model: Any) -> list[list[str]]:
    """Name the units of each hidden layer, lowest first, by their number over all layers."""
    ends = np.cumsum([0, *(layer.shape[0] for layer in model.layers_)])
    return [[f"unit {i}" for i in range(a, b)] for a, b in pairwise(ends)]


def list_unit_edges(model: Any) -> UnitEdges:
    """List the edges of the units of all layers."""
    unit_edges, reach = UnitEdges([], [], [], [], []), None
    for i, (layer, open_pairs) in enumerate(zip(model.layers_, model.undetermined_, strict=True), 1):
        positive = sparse.csr_array((layer > 0).astype(np.int64))
        unit_edges.layers.extend([i] * layer.shape[0])
        unit_edges.on.extend(members(positive))
        unit_edges.off.extend(members(layer < 0))
        unit_edges.undetermined.extend(np.diff(sparse.csr_array(open_pairs).indptr).tolist())
        reach = positive if i == 1 else sparse.csr_array(positive @ reach)
        unit_edges.below.extend([] if i == 1 else _choose_main_columns(reach, j) for j in range(layer.shape[0]))
    return unit_edges


def members(pairs: Any) -> list[list[int]]:
    """List the columns of the entries of each row, ascending."""
    rows = sparse.csr_array(pairs)
    return [np.sort(rows.indices[a:b]).tolist() for a, b in pairwise(rows.indptr)]


def _choose_main_columns(reach: sparse.csr_array, unit: int) -> list[int]:
    """Return the columns to which most paths of positive edges lead; of ties the first."""
    stretch = slice(reach.indptr[unit], reach.indptr[unit + 1])
    first = np.argsort(-reach.data[stretch], kind="stable")[:_MAX_COLUMNS]
    return reach.indices[stretch][first].tolist()  # type: ignore[no-any-return]
