"""Sparse codes of rows: needed atoms, and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..system.progress import progress_bar

_BATCH = 20_000  # rows whose codes are dense at a time
_FACTOR_OVER_CHANCE = 1.5  # multiple of chance; fitted residuals are a little smaller than the noise


def sparse_codes(model: Any, X: Any, progress: str = "") -> sparse.csr_array:
    """Compute the codes of all rows, shape (n_rows, m), in batches: dense codes can be larger than the data."""
    parts = []
    with progress_bar(progress, X.shape[0], "rows") as advance:
        for rows in _batches(X):
            parts.append(sparse.csr_array(model.transform(rows)))
            advance(rows.shape[0])
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def count_needed_atoms(model: Any, codes: sparse.csr_array) -> np.ndarray:
    """Count the atoms that each row needs, shape (n_rows,): those with 1.5 times the weight that noise gives the best atom.

    Noise of standard deviation s in every column gives the best of m atoms a weight of about s (2 log m)^(1/2).
    """
    limit = _FACTOR_OVER_CHANCE * float(model.noise_) * float(np.sqrt(2 * np.log(max(codes.shape[1], 2))))
    is_above = np.abs(codes.data) > limit
    counts = np.zeros(codes.shape[0] + 1, dtype=np.int64)
    counts[1:] = np.diff(np.concatenate([[0], np.cumsum(is_above)])[codes.indptr])
    return counts[1:]


def row_errors(model: Any, X: Any, codes: sparse.csr_array) -> np.ndarray:
    """Return the squared error of each row's code, relative to its square, shape (n_rows,); 0 for a row of zeros.

    Cells that are NaN are left out of both.
    """
    errors, start = [], 0
    for rows in _batches(X):
        rows = (rows.toarray() if sparse.issparse(rows) else np.asarray(rows)).astype(np.float64)
        reconstruction = codes[start : start + len(rows)] @ model.components_
        square = np.nansum(rows**2, axis=1)
        errors.append(np.nansum((rows - reconstruction) ** 2, axis=1) / np.where(square > 0, square, 1.0))
        start += len(rows)
    return np.concatenate(errors)


def _batches(X: Any) -> Iterator[Any]:
    return (X[start : start + _BATCH] for start in range(0, X.shape[0], _BATCH))
