"""Points near the simplex made points of it."""

from __future__ import annotations

import numpy as np


def distributions(rows: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Return rows with negative entries cut and sums of one; a row without positive entries becomes ``otherwise``."""
    rows = np.maximum(rows, 0)
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, rows / np.where(total > 0, total, 1.0), otherwise)
