"""Counts of pairs as sparse matrices, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._validation import number_table
from ..exceptions import LatentiaError, NonIntegerCountWarning, warn
from ..passes import Blocks

_FEW_CELLS = 20  # of which it is no wonder if all counts have a common divisor
_PIECE = 1 << 16  # numbers


@dataclass(frozen=True)
class PairSums:
    """Counts of pairs that others are added to, or taken from.

    Attributes
    ----------
    counts : csr_array of shape (M, M_columns)
    """

    counts: Annotated[sparse.csr_array, of.sparse_matrix("* *", low=0.0)]

    @classmethod
    def of(cls, counts: sparse.csr_array) -> PairSums:
        """Without zeros, in order."""
        found = sparse.csr_array(counts, dtype=np.float64, copy=True)
        found.sum_duplicates()
        found.eliminate_zeros()
        return cls(found)

    @property
    def n_rows(self) -> int:
        return round(float(self.counts.sum()))

    @property
    def n_bytes(self) -> int:
        return self.counts.data.nbytes + self.counts.indices.nbytes + self.counts.indptr.nbytes

    def plus(self, other: PairSums, sign: int = 1) -> PairSums:
        if self.counts.shape != other.counts.shape:
            raise LatentiaError(
                f"Counts of shape {other.counts.shape} cannot be put to ones of shape {self.counts.shape}."
            )
        total = self.counts + other.counts if sign > 0 else self.counts - other.counts  # in order, and without zeros
        if sign < 0 and (total.data < 0).any():
            raise LatentiaError("Pairs are to be forgotten that are not all among those of the model.")
        if not total.nnz:
            raise LatentiaError("No pair would be left.")
        return PairSums(sparse.csr_array(total))


class DenseTable:
    """An array as `total_distance` reads it."""

    def __init__(self, table: np.ndarray) -> None:
        self.table, (self.size, self.width) = table, table.shape

    def rows(self, i: Any, columns: slice = slice(None)) -> np.ndarray:
        return self.table[i, columns]


def square_counts(C: Any) -> sparse.csr_array:
    """Counts of pairs of the same words as csr_array, checked."""
    table = pair_counts(C)
    if table.shape[0] != table.shape[1]:
        raise LatentiaError(
            f"The counts have shape {table.shape}: a square table is needed, with the same words in rows and columns. For "
            "pairs of two kinds, or in which order matters, set symmetric=False."
        )
    return table


def pair_counts(C: Any) -> sparse.csr_array:
    """Counts as csr_array, checked."""
    C = C.table() if isinstance(C, Blocks) else number_table(C, "C", dtype="numeric")
    return checked_counts(sparse.csr_array(C))


def checked_counts(table: sparse.csr_array) -> sparse.csr_array:
    """Counts of pairs that are finite, not negative, and not all zero."""
    _check_entries(table, np.isfinite(table.data), "NaN and infinite entries must be dropped or imputed")
    _check_entries(table, table.data >= 0, "counts must not be negative")
    in_range = (table.data == 0) | ((table.data >= 1e-15) & (table.data <= 1e15))
    _check_entries(table, in_range, "counts from 1e-15 to 1e15 are needed, whose products are in range")
    if not table.nnz or not table.sum() > 0:
        raise LatentiaError("There are no pairs: all counts are zero.")
    if table.dtype.kind == "f" and not (np.rint(table.data) == table.data).all():
        warn("The counts are not whole numbers; noise is taken to be that of counts.", NonIntegerCountWarning)
    return table if table.dtype.kind in "fi" and table.dtype.itemsize >= 4 else table.astype(np.float64)


def without_copies(counts: sparse.csr_array) -> sparse.csr_array:
    """C + C^T of pairs of which each is there once, where all counts have a common divisor."""
    data = counts.data
    if counts.nnz < _FEW_CELLS or data.min() < 2 or (np.rint(data) != data).any():
        return counts
    cells = counts.tocoo()
    whole = np.rint(cells.data).astype(np.int64)
    times = int(
        np.gcd.reduce(np.where(cells.coords[0] == cells.coords[1], whole // 2, whole))
    )  # pairs i, i are there twice
    if times < 2:
        return counts
    return sparse.csr_array((data // times, counts.indices, counts.indptr), shape=counts.shape)


def _check_entries(table: sparse.csr_array, good: np.ndarray, needed: str) -> None:
    """Raise for the first entry that is not good."""
    if good.all():
        return
    at = int(np.argmin(good))
    row = int(np.searchsorted(table.indptr, at, side="right")) - 1
    raise LatentiaError(f"The counts have {table.data[at]} in row {row}, column {table.indices[at]}: {needed}.")


def asymmetry_of(table: Any, counts: Any) -> float:
    """sum (c_ij - c_ji)^2 / sum (c_ij + c_ji) outside of the diagonal, from C and C + C^T."""
    squares = [_sum_of_squares(each.data) for each in (table, counts)]
    outside = float(counts.sum()) - 2 * float(table.diagonal().sum())
    return (4 * squares[0] - squares[1]) / outside if outside > 0 else 0.0


def _sum_of_squares(data: np.ndarray) -> float:
    """Of numbers of any type, without a copy of them all as floats."""
    pieces = (data[start : start + _PIECE].astype(np.float64) for start in range(0, len(data), _PIECE))
    return sum(float(piece @ piece) for piece in pieces)
