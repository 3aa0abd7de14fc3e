"""What entries of a table may be: how large, and which are missing. Nothing here needs another room."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

LARGEST = 1e30
"""Sizes of numbers, and one over it the least standard deviation, at which products of six of them are in range."""


def missing_entries(X: Any) -> np.ndarray | None:
    """Which entries of a table are NaN, bool of shape (n, d); None where there are none, or the table is sparse."""
    if sparse.issparse(X) or np.asarray(X).dtype.kind != "f":
        return None
    missing = np.isnan(X)
    return missing if missing.any() else None


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, or what pandas has in their place."""
    try:
        return value is None or bool(value != value)
    except ValueError:  # an array has no single truth
        return False
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True
