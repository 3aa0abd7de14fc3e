"""Checks and forms of rows of findings: 1 (present), 0 (absent) or NaN (unknown)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError


def split_gaps(
    table: Any, rows: np.ndarray, names: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return which findings are present, and which are unknown (None if all are known), bool of the table's shape."""
    dense = table.toarray() if sparse.issparse(table) else np.asarray(table)
    missing = _find_gaps(dense)
    if missing is None:
        return _check_binary(dense, rows, names), None
    return _check_binary(np.where(missing, 0.0, dense), rows, names), missing


def read_cells(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which findings are present, 0 or 1, and which are unknown, bool, both of shape (n_rows, n)."""
    present, missing = split_gaps(rows, np.arange(rows.shape[0]))
    return present.astype(float), np.zeros(present.shape, bool) if missing is None else missing


def fill_gaps_with_nan(rows: Any) -> np.ndarray:
    """Return rows of 0 and 1 as floats, with NaN for unknown findings."""
    present, missing = read_cells(rows)
    return np.where(missing, np.nan, present) if missing.any() else present


def list_present(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """List the present findings of rows of 0, 1 and NaN: ends of the rows (n_rows + 1,), and numbers row by row."""
    return _list_cells(table, lambda values: (values != 0) & (values == values))


def list_missing(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """List the unknown findings of rows in the same form."""
    if table.dtype.kind != "f":
        return np.zeros(table.shape[0] + 1, np.int64), np.empty(0, np.int64)
    return _list_cells(table, lambda values: values != values)


def _list_cells(table: Any, choose: Any) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(table):
        rows = sparse.csr_array(table, copy=True)
        rows.data = choose(rows.data)
        rows.eliminate_zeros()
        rows.sort_indices()
        return rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    is_chosen = choose(np.asarray(table))
    return np.append(0, np.cumsum(np.count_nonzero(is_chosen, axis=1))), np.ascontiguousarray(np.nonzero(is_chosen)[1])


def _find_gaps(dense: np.ndarray) -> np.ndarray | None:
    missing = dense != dense if dense.dtype.kind == "f" else None
    return missing if missing is not None and missing.any() else None


def _check_binary(dense: np.ndarray, rows: np.ndarray, names: Sequence[str] | None) -> np.ndarray:
    present = dense != 0
    is_wrong = present & (dense != 1)
    if is_wrong.any():
        row, column = (int(i) for i in np.argwhere(is_wrong)[0])
        name = f"column {column}" if names is None else f"column {names[column]!r}"
        raise LatentiaError(
            f"Row {rows[row]} has {dense[row, column]:g} in {name}; expected 1 (present) or 0 (absent). Recode other values, "
            "or cut them at a threshold."
        )
    return present
