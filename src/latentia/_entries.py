"""Limits and missing values of table entries. This module imports no other one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

LARGEST = 1e30
"""Largest magnitude of a number, and its inverse the smallest standard deviation: products of six stay in range."""


def missing_entries(X: Any) -> np.ndarray | None:
    """Return a mask of NaN entries, shape (n, d); None if there are none, or the table is sparse."""
    if sparse.issparse(X) or np.asarray(X).dtype.kind != "f":
        return None
    missing = np.isnan(X)
    return missing if missing.any() else None


def is_missing(value: Any) -> bool:
    """Return True for None, NaN, NaT and pandas.NA."""
    try:
        return value is None or bool(value != value)
    except ValueError:  # an array has no single truth value
        return False
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True
