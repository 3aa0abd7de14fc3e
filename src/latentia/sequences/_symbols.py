"""Columns of symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import LatentiaError


def as_symbols(column: Any, n_symbols: int, rows: np.ndarray | None = None) -> np.ndarray:
    """Convert a column of symbols to int64, shape (n,); ``rows`` are row numbers for the error message."""
    values = np.asarray(column).reshape(-1)
    bad = ~((values >= 0) & (values < n_symbols))
    if values.dtype.kind == "f":
        bad |= values % 1 != 0
    if bad.any():
        place = int(np.argmax(bad))
        row = place if rows is None else rows[place]
        raise LatentiaError(
            f"Expected symbols that are whole numbers from 0 to {n_symbols - 1}; row {row} holds {values[place]}."
        )
    return values.astype(np.int64, copy=False)
