"""What codes of rows say: which atoms, how many are needed, and what they leave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..system.progress import progress_bar

_BATCH = 20_000  # rows whose codes are dense at a time
_MORE = 1.5  # times chance: what is left is fitted, and so a little less than the noise


def sparse_codes(model: Any, X: Any, progress: str = "") -> sparse.csr_array:
    """The codes of all rows, shape (n_rows, m), made some rows at a time: dense ones can be larger than the data."""
    parts = []
    with progress_bar(progress, X.shape[0], "rows") as advance:
        for rows in _batches(X):
            parts.append(sparse.csr_array(model.transform(rows)))
            advance(rows.shape[0])
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def needed(model: Any, codes: sparse.csr_array) -> np.ndarray:
    """How many atoms each row needs, shape (n_rows,): those with half as much weight again as noise would give the best of all.

    Noise of standard deviation s in every column gives the best of m atoms a weight of about s (2 log m)^(1/2).
    """
    limit = _MORE * float(model.noise_) * float(np.sqrt(2 * np.log(max(codes.shape[1], 2))))
    kept = np.abs(codes.data) > limit
    counts = np.zeros(codes.shape[0] + 1, dtype=np.int64)
    counts[1:] = np.diff(np.concatenate([[0], np.cumsum(kept)])[codes.indptr])
    return counts[1:]


def row_errors(model: Any, X: Any, codes: sparse.csr_array) -> np.ndarray:
    """Squared distance of each row from what its code says, relative to its square, shape (n_rows,); 0 for a row of zeros.

    Cells that are NaN are left out of both.
    """
    found, start = [], 0
    for rows in _batches(X):
        rows = (rows.toarray() if sparse.issparse(rows) else np.asarray(rows)).astype(np.float64)
        said = codes[start : start + len(rows)] @ model.components_
        square = np.nansum(rows**2, axis=1)
        found.append(np.nansum((rows - said) ** 2, axis=1) / np.where(square > 0, square, 1.0))
        start += len(rows)
    return np.concatenate(found)


def _batches(X: Any) -> Iterator[Any]:
    return (X[start : start + _BATCH] for start in range(0, X.shape[0], _BATCH))
