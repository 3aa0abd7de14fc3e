"""Neighbouring steps of the data beside those of a simulated sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evidence import RealAndSimulated
from ..passes import Blocks
from ._emissions import Symbols
from ._steps import sample_stretches

_MAX_STEPS, _STRETCH = 2000, 200


def simulate_steps(model: Any, kind: Any, steps: Blocks, rng: np.random.Generator) -> RealAndSimulated:
    """Pair neighbours in a sample of the data and in an equally long sample from ``model``; symbols become numbers."""
    sample = sample_stretches(steps, _MAX_STEPS, _STRETCH)
    table, lengths = np.vstack([block[0] for block in sample]), np.concatenate([block[-1] for block in sample])
    real, simulated = kind.decode_steps(table), model.sample(len(table), int(rng.integers(2**31)))[0]
    if isinstance(kind, Symbols):
        symbol_numbers = np.unique(np.concatenate([np.ravel(real), simulated]), return_inverse=True)[1].astype(float)
        real, simulated = symbol_numbers[: len(table), None], symbol_numbers[len(table) :, None]
    columns = np.arange(simulated.shape[1])
    if "_span" in vars(model):  # Columns that depend linearly on others are not part of a fit.
        columns = model._span.kept
        simulated = simulated[:, columns]
    pair_starts = np.setdiff1d(np.arange(len(table)), np.cumsum(lengths) - 1)
    labels = model.column_names if model.column_names and not isinstance(kind, Symbols) else range(columns.max() + 1)
    names = [f"{when} {labels[j]}" for when in ("step", "next") for j in columns]
    real, simulated = (
        np.hstack([table[pair_starts], table[pair_starts + 1]]).astype(float) for table in (real, simulated)
    )
    return RealAndSimulated(real, np.where(np.isnan(real), np.nan, simulated), names)
