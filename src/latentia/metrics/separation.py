"""Quality of source separation, up to order, sign and scale of the sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import LatentiaError


def amari_index(unmixing: Any, mixing: Any) -> float:
    """Compute Amari's index of P = |unmixing @ mixing|, shape (K, K).

    [sum_i (sum_j P_ij / max_j P_ij - 1) + sum_j (sum_i P_ij / max_i P_ij - 1)] / (2 K (K - 1)) lies in [0, 1]. It is 0
    where P has one entry in every row and column, a perfect separation up to order, sign and scale, and 1 where all
    entries are equal.

    Parameters
    ----------
    unmixing : array-like of shape (K, d)
    mixing : array-like of shape (d, K)

    Returns
    -------
    float

    References
    ----------
    Amari, Cichocki, Yang: A new learning algorithm for blind signal separation, NIPS 1996.

    Examples
    --------
    >>> amari_index([[0, 2], [-3, 0]], [[1, 0], [0, 1]])
    0.0
    """
    unmixing, mixing = np.asarray(unmixing, dtype=np.float64), np.asarray(mixing, dtype=np.float64)
    if unmixing.ndim != 2 or unmixing.shape != mixing.shape[::-1]:
        raise LatentiaError(
            f"unmixing has shape {unmixing.shape} and mixing {mixing.shape}; expected (K, d) and (d, K)."
        )
    product = np.abs(unmixing @ mixing)
    by_row, by_column = product.max(axis=1), product.max(axis=0)
    if not (np.isfinite(product).all() and by_row.all() and by_column.all()):
        raise LatentiaError("unmixing @ mixing has a row or a column of zeros, or entries that are not finite.")
    n = len(product)
    excess = (product.sum(axis=1) / by_row - 1).sum() + (product.sum(axis=0) / by_column - 1).sum()
    return float(excess / (2 * n * (n - 1))) if n > 1 else 0.0
