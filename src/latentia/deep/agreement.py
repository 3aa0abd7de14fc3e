"""Agreement of the units of a network with the layer below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class Agreement(NamedTuple):
    """Agreement of a layer with the one below.

    Attributes
    ----------
    layer : int
    explained : float
        Share of the active columns below that a unit switches on; for real columns the share of their variance.
    right : float or None
        Share of the columns that units switch on which are on; None for real columns.
    """

    layer: int
    explained: float
    right: float | None


def encode_layers(model: Any, Y: Any) -> list[sparse.csr_array]:
    """Return the units of each layer that are on in each row, lowest layer first: csr_arrays of bool, shape (n_rows, units)."""
    return [sparse.csr_array(model.encode(Y, layer=i + 1)) for i in range(len(model.layers_))]


def measure_agreements(model: Any, Y: Any, hidden: Sequence[sparse.csr_array]) -> list[Agreement]:
    """Measure how well each layer predicts the one below; ``hidden`` comes from `encode_layers`."""
    result = []
    for i, (layer, on) in enumerate(zip(model.layers_, hidden, strict=True)):
        if i == 0 and model.input_type == "real":
            table = Y.toarray() if sparse.issparse(Y) else np.asarray(Y, dtype=float)
            residual = float(((table - model.decode(on, layer=1)) ** 2).sum())
            spread = max(float(((table - table.mean(axis=0)) ** 2).sum()), 1e-300)
            result.append(Agreement(1, 1 - residual / spread, None))
            continue
        activation = sparse.csr_array(on.astype(np.int32) @ sparse.csr_array(layer).astype(np.int32))
        below = sparse.csr_array(Y if i == 0 else hidden[i - 1]).astype(bool)
        is_predicted = sparse.csr_array(activation > 0)
        n_agreeing = is_predicted.multiply(below).nnz
        result.append(Agreement(i + 1, n_agreeing / max(below.nnz, 1), n_agreeing / max(is_predicted.nnz, 1)))
    return result
