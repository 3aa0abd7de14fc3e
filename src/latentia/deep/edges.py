"""What the units of a network switch, by their edges."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

_BELOW = 8


class Switched(NamedTuple):
    """Of every unit, those of the lowest layer first, what it switches: numbers of columns, or of units of the layer below.

    Attributes
    ----------
    layers : list of int
        The layer of each, from 1, the lowest.
    on, off : list of list of int
    undetermined : list of int
        How many there are of which the data cannot tell.
    below : list of list of int
        Of units of higher layers, the columns to which most of their edges lead; else empty.
    """

    layers: list[int]
    on: list[list[int]]
    off: list[list[int]]
    undetermined: list[int]
    below: list[list[int]]


def unit_names(model: Any) -> list[list[str]]:
    """Of each hidden layer, the lowest first, what its units are called: their number over all layers."""
    ends = np.cumsum([0, *(layer.shape[0] for layer in model.layers_)])
    return [[f"unit {i}" for i in range(a, b)] for a, b in pairwise(ends)]


def switched(model: Any) -> Switched:
    """What the units of all layers switch."""
    found, reach = Switched([], [], [], [], []), None
    for i, (layer, open_pairs) in enumerate(zip(model.layers_, model.undetermined_, strict=True), 1):
        positive = sparse.csr_array((layer > 0).astype(np.int64))
        found.layers.extend([i] * layer.shape[0])
        found.on.extend(members(positive))
        found.off.extend(members(layer < 0))
        found.undetermined.extend(np.diff(sparse.csr_array(open_pairs).indptr).tolist())
        reach = positive if i == 1 else sparse.csr_array(positive @ reach)
        found.below.extend([] if i == 1 else _most(reach, j) for j in range(layer.shape[0]))
    return found


def members(pairs: Any) -> list[list[int]]:
    """The columns of each row that are there, in their order."""
    rows = sparse.csr_array(pairs)
    return [np.sort(rows.indices[a:b]).tolist() for a, b in pairwise(rows.indptr)]


def _most(reach: sparse.csr_array, unit: int) -> list[int]:
    """Columns to which most paths of positive edges lead; of as many those that come first."""
    own = slice(reach.indptr[unit], reach.indptr[unit + 1])
    first = np.argsort(-reach.data[own], kind="stable")[:_BELOW]
    return reach.indices[own][first].tolist()  # type: ignore[no-any-return]
