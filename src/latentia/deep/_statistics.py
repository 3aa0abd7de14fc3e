"""Tables of 0 and 1 in the layouts that fits read: ones by rows, ones by columns, and packed columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from scipy import sparse

from ..system.threads import run_in_chunks

_CHUNK_ROWS = 4096  # rows packed at once; a multiple of 64
_CHUNK_COLUMNS = 64
_MAX_PAIRS = 4_000_000
_WORDS_PER_STEP = 8  # words that are compared in the time of one step through the ones of rows
_PAIR_WORK = 2 * 10**10  # largest number of words that are compared for pairs
_MIN_TOGETHER = 6.0
_DEVIATIONS = 5.0  # standard deviations by which pairs must be on together more often than by chance


@dataclass(frozen=True)
class BinaryRows:
    """Rows of 0 and 1, stored as the columns that are on in each row.

    Attributes
    ----------
    n_columns : int
    indptr : ndarray of int64, shape (n_rows + 1,)
    indices : ndarray of int32
        Columns that are on, row by row, ascending.
    """

    n_columns: int
    indptr: np.ndarray
    indices: np.ndarray

    @classmethod
    def from_table(cls, table: sparse.csr_array) -> BinaryRows:
        """Return the rows of a table whose stored entries are all 1."""
        return cls(table.shape[1], table.indptr.astype(np.int64), table.indices.astype(np.int32, copy=False))

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def counts(self) -> np.ndarray:
        """Rows in which each column is on, shape (n_columns,)."""
        return np.bincount(self.indices, minlength=self.n_columns)

    @property
    def rates(self) -> np.ndarray:
        """Share of the rows in which each column is on, shape (n_columns,)."""
        return self.counts / max(self.n_rows, 1)

    @cached_property
    def rows_by_column(self) -> tuple[np.ndarray, np.ndarray]:
        """Starts of the columns, shape (n_columns + 1,), and rows in which they are on, ascending."""
        starts = np.append(0, np.cumsum(self.counts))
        rows = np.empty(len(self.indices), np.int32)
        _transpose(self.indptr, self.indices, starts[:-1].copy(), rows)
        return starts, rows

    def bits(self, n_jobs: int | None = None) -> np.ndarray:
        """Packed columns, uint64, shape (n_columns, ceil(n_rows / 64)): bit r % 64 of word r // 64 is row r."""
        packed = np.zeros((self.n_columns, -(-self.n_rows // 64)), np.uint64)
        run_in_chunks(lambda a, b: _pack(self.indptr, self.indices, a, b, packed), self.n_rows, _CHUNK_ROWS, n_jobs)
        return packed

    def table(self) -> sparse.csr_array:
        """Return the rows as a sparse table of bool."""
        kind = np.int32 if len(self.indices) < 2**31 else np.int64
        table = sparse.csr_array((self.n_rows, self.n_columns), dtype=bool)
        table.data, table.indptr = np.ones(len(self.indices), bool), self.indptr.astype(kind)
        table.indices = self.indices.astype(kind, copy=False)
        return table

    def reorder(self, order: np.ndarray) -> BinaryRows:
        """Reorder the columns: column ``order[i]`` becomes column i."""
        names = np.empty(self.n_columns, np.int32)
        names[order] = np.arange(self.n_columns, dtype=np.int32)
        table = self.table()
        table.indices = names[self.indices]
        table.has_sorted_indices = False
        table.sort_indices()
        return BinaryRows(self.n_columns, self.indptr, table.indices.astype(np.int32, copy=False))

    def take(self, rows: np.ndarray) -> BinaryRows:
        """Return the rows with these numbers, which ascend."""
        sizes = np.diff(self.indptr)[rows]
        indptr = np.append(0, np.cumsum(sizes))
        places = np.repeat(self.indptr[rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return BinaryRows(self.n_columns, indptr, self.indices[places])

    def thin(self, max_ones: float) -> BinaryRows:
        """Return evenly spaced rows with about ``max_ones`` ones at most; all rows if they have no more."""
        share = max_ones / max(len(self.indices), 1)
        if share >= 1:
            return self
        n = max(1, int(self.n_rows * share))
        return self.take(np.unique(((np.arange(n) + 0.5) * (self.n_rows / n)).astype(np.int64)))


@dataclass(frozen=True)
class Pairs:
    """Pairs of columns that are on together more often than by chance, the most dependent first.

    Attributes
    ----------
    first, second : ndarray of int32, shape (n_pairs,)
    excess : ndarray of float32, shape (n_pairs,)
        Number of rows with both, beyond that of independent columns.
    """

    first: np.ndarray
    second: np.ndarray
    excess: np.ndarray


def cofiring_pairs(firings: BinaryRows, n_jobs: int | None = None) -> Pairs:
    """Find dependent pairs of columns on as many rows as can be compared in some seconds."""
    n, words = firings.n_columns, _PAIR_WORK / max(firings.n_columns**2 / 2, 1)
    rows = firings if firings.n_rows <= 64 * words else firings.thin(
        64 * words * len(firings.indices) / firings.n_rows
    )  # fmt: skip
    together_of, counts = _make_counter(rows, n_jobs), rows.counts.astype(np.float64)
    scale = firings.n_rows / max(rows.n_rows, 1)
    results: list[Any] = [None] * -(-n // _CHUNK_COLUMNS)

    def task(start: int, stop: int) -> None:
        together = together_of(start, stop)
        expected = counts[start:stop, None] * counts / max(rows.n_rows, 1)
        excess = together - expected
        chosen = np.nonzero((together >= _MIN_TOGETHER) & (excess > _DEVIATIONS * np.sqrt(expected)))
        first, second = (chosen[0] + start).astype(np.int32), chosen[1].astype(np.int32)
        strength = excess[chosen] / np.sqrt(counts[first] * counts[second])
        results[start // _CHUNK_COLUMNS] = (
            first,
            second,
            (excess[chosen] * scale).astype(np.float32),
            strength.astype(np.float32),
        )

    run_in_chunks(task, n, _CHUNK_COLUMNS, n_jobs)
    if not results:
        results = [(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.float32))]
    first, second, excess, strength = (np.concatenate(parts) for parts in zip(*results, strict=True))
    order = np.argsort(-strength, kind="stable")[:_MAX_PAIRS]
    return Pairs(first[order], second[order], excess[order])


def pair_dependence(firings: BinaryRows, max_ones: float = 5e6, n_jobs: int | None = None) -> tuple[float, float]:
    """Return the squared norm of the excess of pairs over independence, and its value by noise alone.

    It is measured on rows with about ``max_ones`` ones.
    """
    rows = firings.thin(max_ones)
    n, counts = rows.n_columns, rows.counts.astype(np.float64)
    together_of = _make_counter(rows, n_jobs)
    sums = np.zeros((-(-n // _CHUNK_COLUMNS), 2))

    def task(start: int, stop: int) -> None:
        expected = np.triu(counts[start:stop, None] * counts / max(rows.n_rows, 1), start + 1)
        excess = together_of(start, stop) - expected
        sums[start // _CHUNK_COLUMNS] = np.einsum("ij,ij->", excess, excess), expected.sum()

    run_in_chunks(task, n, _CHUNK_COLUMNS, n_jobs)
    beyond, noise = sums.sum(axis=0)
    return float(beyond), float(noise)


def _make_counter(rows: BinaryRows, n_jobs: int | None) -> Callable[[int, int], np.ndarray]:
    """Return a function of (start, stop) that counts the rows in which columns start to stop are on with each later one."""
    sizes = np.diff(rows.indptr).astype(np.float64)
    of_rows = _WORDS_PER_STEP * float(sizes @ sizes) < rows.n_columns**2 * (rows.n_rows / 64)
    rows_by_column = rows.rows_by_column
    bits = None if of_rows else rows.bits(n_jobs)

    def counter(start: int, stop: int) -> np.ndarray:
        together = np.zeros((stop - start, rows.n_columns), np.int32)
        if bits is None:
            add_together(rows.indptr, rows.indices, *rows_by_column, start, stop, together)
        else:
            count_together(bits, start, stop, together)
        return together

    return counter


# --- kernels --------------------------------------------------------------------------------------------------------


@intrinsic
def count_ones(context: Any, word: Any) -> Any:
    """Count the ones among the bits of a word."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


def list_owners(members: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and numbers of the units of each column, as int32, so that kernels are compiled once."""
    owners = sparse.csr_array(members.T)
    owners.sort_indices()
    return owners.indptr.astype(np.int32, copy=False), owners.indices.astype(np.int32, copy=False)


@njit(nogil=True, cache=True)
def enlarge(values):
    """Copy int32 numbers to an array of twice the length and one more; np.append takes long to compile."""
    larger = np.empty(2 * len(values) + 1, np.int32)
    for i in range(len(values)):
        larger[i] = values[i]
    return larger


@njit(nogil=True, cache=True)
def put_in_order(values, start, stop):
    """Sort values start to stop in place by Shell's method; numba's own sort takes two seconds to compile."""
    gap = 1
    while 3 * gap < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, stop):
            value, j = values[i], i
            while j >= start + gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@njit(nogil=True, cache=True)
def once_and_twice(units, first, last, owners, once, twice):
    """Pack the rows in which at least one, and at least two, of the units ``owners[first:last]`` are on, into both arrays."""
    for w in range(len(once)):
        once[w] = twice[w] = 0
    for i in range(first, last):
        unit = units[owners[i]]
        for w in range(len(once)):
            twice[w] |= once[w] & unit[w]
            once[w] |= unit[w]


@njit(nogil=True, cache=True)
def _transpose(indptr, indices, places, rows):
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            column = indices[i]
            rows[places[column]] = row
            places[column] += 1


@njit(nogil=True, cache=True)
def _pack(indptr, indices, start, stop, bits):
    for row in range(start, stop):
        word, bit = row >> 6, np.uint64(1) << np.uint64(row & 63)
        for i in range(indptr[row], indptr[row + 1]):
            bits[indices[i], word] |= bit


@njit(nogil=True, cache=True)
def count_together(bits, start, stop, together):
    """Fill together[i - start, j > i] with the rows in which both are on; words in stretches that stay in the cache."""
    for begin in range(0, bits.shape[1], 128):
        end = min(begin + 128, bits.shape[1])
        for j in range(start + 1, len(bits)):
            for i in range(start, min(stop, j)):
                first_words, second_words, total = bits[i, begin:end], bits[j, begin:end], np.uint64(0)
                for word in range(len(first_words)):
                    total += count_ones(first_words[word] & second_words[word])
                together[i - start, j] += total


@njit(nogil=True, cache=True)
def add_together(indptr, indices, starts, on, start, stop, together):
    """Fill the same from the rows."""
    for i in range(start, stop):
        for place in range(starts[i], starts[i + 1]):
            row = on[place]
            for k in range(indptr[row], indptr[row + 1]):
                together[i - start, indices[k]] += 1
        for k in range(i + 1):
            together[i - start, k] = 0
