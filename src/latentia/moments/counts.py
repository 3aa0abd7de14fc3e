"""Count tables as the compiled kernels want them: CSR with contiguous float64 data and int32 indices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError

_LEAST, _MOST = 1e-20, 1e20


class Counts(NamedTuple):
    """Rows of counts: ``data[indptr[d]:indptr[d + 1]]`` are the entries of row d."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


def as_counts(table: Any) -> Counts:
    """One block's table, shape (n, V), dense or sparse, as `Counts`."""
    csr = table if sparse.issparse(table) and table.format == "csr" else sparse.csr_array(table)
    if not csr.has_canonical_format:  # a word listed twice in a document occurs that often
        csr = csr.copy()
        csr.sum_duplicates()
    return Counts(
        np.array(csr.indptr, dtype=np.int64),
        np.array(csr.indices, dtype=np.int32),
        np.array(csr.data, dtype=np.float64),
    )


def stored(table: Any) -> Counts:
    """Entries of a CSR table as they are stored, of any sign and type, with rows as `as_counts` has them."""
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
    bad = ~((counts.data >= _LEAST) & (counts.data <= _MOST)) & (counts.data != 0)
    if not bad.any():
        return
    at = int(np.argmax(bad))
    row = rows[int(np.searchsorted(counts.indptr, at, side="right")) - 1]
    column = int(counts.indices[at])
    label = f"{column} ({names[column]!r})" if names is not None else str(column)
    value = counts.data[at]
    if 0 < value < np.inf:
        raise LatentiaError(
            f"A count of {value} in row {row}, column {label}: counts from {_LEAST:g} to {_MOST:g} are needed, whose products "
            "are in range. Multiply or divide the data by its size."
        )
    # scikit-learn's common checks look for these phrases.
    kind = "Negative values in data: a" if value < 0 else "Input contains NaN or infinity: a"
    raise LatentiaError(f"{kind} count of {value} in row {row}, column {label}. Counts must be finite and >= 0.")
