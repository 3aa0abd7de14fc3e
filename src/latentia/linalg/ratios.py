"""Ratios to sums that may be zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._fields import MAX_MAGNITUDE

_TINY = np.finfo(float).tiny


def ratio_of(above: Any, below: Any) -> Any:
    """Return the quotients of numbers and of sums that are not negative, at most 1e100 in size.

    A sum that a few rows, or rows without noise, make zero gives that size: squares and sums of it stay in range.
    """
    return above / np.maximum(below, np.abs(above) / MAX_MAGNITUDE + _TINY)
