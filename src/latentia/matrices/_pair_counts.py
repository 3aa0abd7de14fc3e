"""Checked counts of pairs as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._validation import number_table
from ..exceptions import LatentiaError, NonIntegerCountWarning, warn
from ..passes import Blocks

_MIN_CELLS = 20  # with fewer cells a common divisor of all counts is a coincidence
_PIECE_SIZE = 1 << 16  # numbers that are converted to floats at a time


@dataclass(frozen=True)
class PairSums:
    """Counts of pairs to which other counts can be added, or from which they can be subtracted.

    Attributes
    ----------
    counts : csr_array of shape (M, M_columns)
    """

    counts: Annotated[sparse.csr_array, of.sparse_matrix("* *", low=0.0)]

    @classmethod
    def from_counts(cls, counts: sparse.csr_array) -> PairSums:
        """Return the sums of a table of counts, in canonical form."""
        table = sparse.csr_array(counts, dtype=np.float64, copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
        return cls(table)

    @property
    def n_rows(self) -> int:
        return round(float(self.counts.sum()))

    @property
    def n_bytes(self) -> int:
        return self.counts.data.nbytes + self.counts.indices.nbytes + self.counts.indptr.nbytes

    def plus(self, other: PairSums, sign: int = 1) -> PairSums:
        if self.counts.shape != other.counts.shape:
            raise LatentiaError(f"Expected counts of shape {self.counts.shape}, found shape {other.counts.shape}.")
        total = self.counts + other.counts if sign > 0 else self.counts - other.counts  # in order, and without zeros
        if sign < 0 and (total.data < 0).any():
            raise LatentiaError("Some of these pairs were never added to the model.")
        if not total.nnz:
            raise LatentiaError("No pair would remain in the model.")
        return PairSums(sparse.csr_array(total))


class DenseTable:
    """Array with the interface that `total_distance` reads."""

    def __init__(self, table: np.ndarray) -> None:
        self.table, (self.size, self.width) = table, table.shape

    def rows(self, i: Any, columns: slice = slice(None)) -> np.ndarray:
        return self.table[i, columns]


def read_square_counts(C: Any) -> sparse.csr_array:
    """Return checked counts of pairs of the same words as a csr_array."""
    table = read_pair_counts(C)
    if table.shape[0] != table.shape[1]:
        raise LatentiaError(
            f"The counts have shape {table.shape}: expected a square table, with the same words in rows and columns. Set "
            "symmetric=False for ordered pairs, or pairs of two kinds."
        )
    return table


def read_pair_counts(C: Any) -> sparse.csr_array:
    """Return checked counts as a csr_array."""
    C = C.table() if isinstance(C, Blocks) else number_table(C, "C", dtype="numeric")
    return check_pair_counts(sparse.csr_array(C))


def check_pair_counts(table: sparse.csr_array) -> sparse.csr_array:
    """Return counts of pairs; raise unless they are finite, nonnegative, and not all zero."""
    _check_entries(table, np.isfinite(table.data), "expected finite numbers. Drop or impute the others")
    _check_entries(table, table.data >= 0, "expected counts of at least 0")
    in_range = (table.data == 0) | ((table.data >= 1e-15) & (table.data <= 1e15))
    _check_entries(table, in_range, "expected counts from 1e-15 to 1e15, whose products are in range")
    if not table.nnz or not table.sum() > 0:
        raise LatentiaError("Expected pairs, but all counts are zero.")
    if table.dtype.kind == "f" and not (np.rint(table.data) == table.data).all():
        warn("The counts are not whole numbers; their noise is assumed to be that of counts.", NonIntegerCountWarning)
    return table if table.dtype.kind in "fi" and table.dtype.itemsize >= 4 else table.astype(np.float64)


def remove_copies(counts: sparse.csr_array) -> sparse.csr_array:
    """Divide C + C^T by the common divisor of all counts: then each pair is taken to be copied that many times."""
    data = counts.data
    if counts.nnz < _MIN_CELLS or data.min() < 2 or (np.rint(data) != data).any():
        return counts
    cells = counts.tocoo()
    whole_counts = np.rint(cells.data).astype(np.int64)
    divisor = int(
        np.gcd.reduce(np.where(cells.coords[0] == cells.coords[1], whole_counts // 2, whole_counts))
    )  # pairs i, i are there twice
    if divisor < 2:
        return counts
    return sparse.csr_array((data // divisor, counts.indices, counts.indptr), shape=counts.shape)


def _check_entries(table: sparse.csr_array, good: np.ndarray, needed: str) -> None:
    """Raise for the first entry that is not good, with the expected content."""
    if good.all():
        return
    at = int(np.argmin(good))
    row = int(np.searchsorted(table.indptr, at, side="right")) - 1
    raise LatentiaError(f"The counts have {table.data[at]} in row {row}, column {table.indices[at]}: {needed}.")


def measure_asymmetry(table: Any, counts: Any) -> float:
    """Return sum (c_ij - c_ji)^2 / sum (c_ij + c_ji) outside the diagonal, from C and C + C^T."""
    squares = [_sum_of_squares(matrix.data) for matrix in (table, counts)]
    outside = float(counts.sum()) - 2 * float(table.diagonal().sum())
    return (4 * squares[0] - squares[1]) / outside if outside > 0 else 0.0


def _sum_of_squares(data: np.ndarray) -> float:
    """Sum squares of numbers of any dtype, without a copy of the whole array as floats."""
    pieces = (data[start : start + _PIECE_SIZE].astype(np.float64) for start in range(0, len(data), _PIECE_SIZE))
    return sum(float(piece @ piece) for piece in pieces)
