"""Count tables for the compiled kernels: CSR with contiguous float64 data and int32 indices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError

_MIN_COUNT, _MAX_COUNT = 1e-20, 1e20


class Counts(NamedTuple):
    """Rows of counts: ``data[indptr[d]:indptr[d + 1]]`` are the entries of row d."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


def as_counts(table: Any) -> Counts:
    """Convert a block's table, shape (n, V), dense or sparse, to `Counts`."""
    csr = table if sparse.issparse(table) and table.format == "csr" else sparse.csr_array(table)
    if not csr.has_canonical_format:  # a word listed twice in a document occurs that often
        csr = csr.copy()
        csr.sum_duplicates()
    return Counts(
        np.array(csr.indptr, dtype=np.int64),
        np.array(csr.indices, dtype=np.int32),
        np.array(csr.data, dtype=np.float64),
    )


def as_stored_counts(table: Any) -> Counts:
    """View the stored entries of a CSR table, of any sign and type, as `Counts`."""
    return Counts(table.indptr.astype(np.int64, copy=False), table.indices, table.data)


def check_counts(counts: Counts, rows: np.ndarray, names: Any = None) -> None:
    """Raise for a count that is negative, not finite or out of range, naming its row and column.

    Parameters
    ----------
    counts : Counts
    rows : ndarray of int, shape (n,)
        Numbers of the rows in the source.
    names : sequence of str, optional
        Column names.
    """
    is_bad = ~((counts.data >= _MIN_COUNT) & (counts.data <= _MAX_COUNT)) & (counts.data != 0)
    if not is_bad.any():
        return
    entry = int(np.argmax(is_bad))
    row = rows[int(np.searchsorted(counts.indptr, entry, side="right")) - 1]
    column = int(counts.indices[entry])
    label = f"{column} ({names[column]!r})" if names is not None else str(column)
    value = counts.data[entry]
    if 0 < value < np.inf:
        raise LatentiaError(
            f"Row {row}, column {label} has a count of {value}; expected counts from {_MIN_COUNT:g} to {_MAX_COUNT:g}. "
            "Rescale the data."
        )
    # scikit-learn's common checks look for these phrases.
    kind = "Negative values in data: a" if value < 0 else "Input contains NaN or infinity: a"
    raise LatentiaError(f"{kind} count of {value} in row {row}, column {label}. Counts must be finite and >= 0.")
