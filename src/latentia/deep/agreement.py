"""How far what the units of a network say of the layer below is what is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class Agreement(NamedTuple):
    """How far a layer says what the one below is.

    Attributes
    ----------
    layer : int
    explained : float
        Share of what is on, below, that a unit switches on; of real columns the share of their variance.
    right : float or None
        Share of what the units switch on that is on; None of real columns.
    """

    layer: int
    explained: float
    right: float | None


def encoded(model: Any, Y: Any) -> list[sparse.csr_array]:
    """Which units of each layer are on in each row, the lowest layer first: csr_arrays of bool, shape (n_rows, units)."""
    return [sparse.csr_array(model.encode(Y, layer=i + 1)) for i in range(len(model.layers_))]


def agreements(model: Any, Y: Any, hidden: Sequence[sparse.csr_array]) -> list[Agreement]:
    """How far each layer says what the one below is, one step down; `hidden` is what `encoded` gives."""
    found = []
    for i, (layer, on) in enumerate(zip(model.layers_, hidden, strict=True)):
        if i == 0 and model.input_type == "real":
            table = Y.toarray() if sparse.issparse(Y) else np.asarray(Y, dtype=float)
            left = float(((table - model.decode(on, layer=1)) ** 2).sum())
            spread = max(float(((table - table.mean(axis=0)) ** 2).sum()), 1e-300)
            found.append(Agreement(1, 1 - left / spread, None))
            continue
        said = sparse.csr_array(on.astype(np.int32) @ sparse.csr_array(layer).astype(np.int32))
        below = sparse.csr_array(Y if i == 0 else hidden[i - 1]).astype(bool)
        lit = sparse.csr_array(said > 0)
        both = lit.multiply(below).nnz
        found.append(Agreement(i + 1, both / max(below.nnz, 1), both / max(lit.nnz, 1)))
    return found
