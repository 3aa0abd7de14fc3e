"""Neighbouring steps beside those of a sequence that is drawn from a chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evidence import RealAndSimulated
from ..passes import Blocks
from ._emissions import Symbols
from ._steps import some_stretches

_STEPS, _AT_ONCE = 2000, 200


def drawn_steps(model: Any, kind: Any, steps: Blocks, rng: np.random.Generator) -> RealAndSimulated:
    """Pairs of neighbours in some stretches, and in stretches as long that ``model`` draws; symbols are numbers."""
    some = some_stretches(steps, _STEPS, _AT_ONCE)
    table, lengths = np.vstack([block[0] for block in some]), np.concatenate([block[-1] for block in some])
    real, drawn = kind.original(table), model.sample(len(table), int(rng.integers(2**31)))[0]
    if isinstance(kind, Symbols):
        both = np.unique(np.concatenate([np.ravel(real), drawn]), return_inverse=True)[1].astype(float)
        real, drawn = both[: len(table), None], both[len(table) :, None]
    columns = np.arange(drawn.shape[1])
    if "_span" in vars(model):  # columns that others determine are not among the steps of a fit
        columns = model._span.kept
        drawn = drawn[:, columns]
    first = np.setdiff1d(np.arange(len(table)), np.cumsum(lengths) - 1)
    called = model.column_names if model.column_names and not isinstance(kind, Symbols) else range(columns.max() + 1)
    names = [f"{when} {called[j]}" for when in ("step", "next") for j in columns]
    real, drawn = (np.hstack([table[first], table[first + 1]]).astype(float) for table in (real, drawn))
    return RealAndSimulated(real, np.where(np.isnan(real), np.nan, drawn), names)
