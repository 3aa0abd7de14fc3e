"""Rows of findings, 1 (present) or 0 (absent), checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError

__all__ = ["binary_rows", "present_findings"]


def binary_rows(table: Any, rows: np.ndarray, names: Sequence[str] | None = None) -> np.ndarray:
    """A dense table of bool, shape as given, or an error that names the row and column of the first other value."""
    dense = table.toarray() if sparse.issparse(table) else np.asarray(table)
    found = dense != 0
    wrong = found & (dense != 1)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        name = f"column {column}" if names is None else f"column {names[column]!r}"
        raise LatentiaError(
            f"Row {rows[row]} has {dense[row, column]:g} in {name}: findings are 1 (present) or 0 (absent). Code other values, "
            "or cut them at a threshold."
        )
    return found


def present_findings(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """Which findings are present in each row of 0 and 1: ends of the rows (n_rows + 1,) and, row by row, their numbers."""
    if sparse.issparse(table):
        rows = sparse.csr_array(table, copy=True)
        rows.eliminate_zeros()
        rows.sort_indices()
        return rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    present = np.asarray(table) != 0
    return np.append(0, np.cumsum(np.count_nonzero(present, axis=1))), np.nonzero(present)[1]
