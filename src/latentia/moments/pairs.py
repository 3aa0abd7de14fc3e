"""Counts of pairs of words in a sparse matrix."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from .._validation import array_of
from ..exceptions import LatentiaError
from ..passes import Block, Blocks, accumulate
from ..passes.formats import rows_fit

_CHUNK_PAIRS = 1 << 24  # pairs sorted together; adding tables takes longer than counting
_ROUNDING = 1e-9
_MAX_WORDS = 2**31 - 1
_MAX_UNSEEN_WORDS = 1 << 24  # or a hundred per pair: words that do not occur also take memory


class PairCounts:
    """Statistic: counts of pairs, as csr_array (M, M); M grows with the largest word number.

    Blocks are tables of two columns, words from 0, or of three, the last how often.

    Parameters
    ----------
    n_words : int, optional
        M, where it is known beforehand.
    n_pairs : int, optional
        Number of pairs in all blocks: word numbers that are too large for so few pairs are refused.
    """

    def __init__(self, n_words: int | None = None, n_pairs: int | None = None) -> None:
        self.n_words, self.n_pairs = n_words, n_pairs

    def zero(self) -> sparse.csr_array:
        size = self.n_words or 1
        return sparse.csr_array((size, size), dtype=np.int32)

    def add(self, state: sparse.csr_array, block: Block) -> sparse.csr_array:
        pairs = np.asarray(block[0])
        if not len(pairs):
            return state
        words = _check_words(pairs[:, :2], self.n_words, block.start)
        size = self.n_words or int(words.max()) + 1
        if self.n_words is None:
            self._check_size(size, block.start + int(words.max(axis=1).argmax()))
        times = None if pairs.shape[1] == 2 else _check_times(pairs[:, 2])
        return self.merge(state, _build_table(words, times, size))

    def _check_size(self, size: int, pair: int) -> None:
        """Raise if the largest word, which this pair has, is too large."""
        reason = _explain_too_large(size, self.n_pairs)
        if reason:
            raise LatentiaError(
                f"Pair {pair} has the word {size - 1}: a table of that many words {reason}. Number the words from 0 without "
                "gaps."
            )

    def merge(self, first: sparse.csr_array, second: sparse.csr_array) -> sparse.csr_array:
        size = max(first.shape[0], second.shape[0])
        if not first.nnz or not second.nnz:
            nonempty = first if first.nnz else second
            nonempty.resize((size, size))
            return nonempty
        for table in (first, second):
            table.resize((size, size))
        return first + second


def _explain_too_large(n_words: int, n_pairs: int | None) -> str:
    """Return why a table of so many words is refused; empty if it is not."""
    if n_pairs is not None and n_words > max(_MAX_UNSEEN_WORDS, 100 * n_pairs):
        return f"is too large for {n_pairs} pairs"
    return "" if rows_fit(n_words) else "does not fit into memory"


def count_pairs(
    pairs: Any, n_words: int | None = None, n_jobs: int | None = None, progress: bool | str = False
) -> sparse.csr_array:
    """Count pairs, shape (M, M), in one pass that needs no more memory than the counts.

    Parameters
    ----------
    pairs : array-like of shape (N, 2) or (N, 3), Blocks, or path
        Numbers of words from 0; a third column says how often. A path names a list of pairs: a ``.npy`` file, read from disk as
        needed, or a text of two or three whole numbers per line (``.gz`` is read as it is), see `Blocks.from_files`.
    n_words : int, optional
        M; by default one more than the largest word.
    """
    if isinstance(pairs, (str, os.PathLike)):
        return _count_file(pairs, n_words, n_jobs, progress)
    if not isinstance(pairs, Blocks):
        pairs = array_of(pairs, "pairs")
        if pairs.ndim != 2 or pairs.shape[1] not in (2, 3) or pairs.dtype.kind not in "iuf":
            raise LatentiaError(
                f"The pairs have shape {pairs.shape} and type {pairs.dtype}: two columns of whole numbers."
            )
        pairs = Blocks.from_array(pairs, block_rows=_CHUNK_PAIRS)
    if pairs.shapes[0][1] not in (2, 3):
        raise LatentiaError(
            f"The pairs have {pairs.shapes[0][1]} columns: two of words, and one of counts if there is one."
        )
    if not pairs.n_rows:
        raise LatentiaError("There are no pairs.")
    if n_words is not None and (reason := _explain_too_large(n_words, pairs.n_rows)):
        raise LatentiaError(f"a table of that many words {reason}.", parameter="n_words", value=n_words)
    return accumulate(pairs, PairCounts(n_words, pairs.n_rows), n_jobs, progress=progress)


def _count_file(
    path: str | os.PathLike[str], n_words: int | None, n_jobs: int | None, progress: bool | str
) -> sparse.csr_array:
    """Count the pairs of a file; the converted copy of a text is deleted afterwards."""
    blocks = Blocks.from_files(path, format="pairs", cache=False, block_rows=_CHUNK_PAIRS, progress=bool(progress))
    try:
        return count_pairs(blocks, n_words, n_jobs, progress)
    except LatentiaError as error:
        raise LatentiaError(f"{error}", source=os.fspath(path)) from error


def symmetric_counts(counts: sparse.csr_array) -> tuple[sparse.csr_array, bool]:
    """Return C + C^T, and whether C was symmetric: then C itself, with every pair twice.

    Counts of words with themselves alone do not make a table symmetric.
    """
    if counts.dtype.kind == "i" and counts.nnz and counts.data.max() > np.iinfo(counts.dtype).max // 2:
        counts = counts.astype(np.float64)  # their sum has no room
    transposed = sparse.csr_array(counts.T)
    transposed.sort_indices()
    if not counts.has_sorted_indices:
        counts = counts.sorted_indices()
    is_symmetric = (
        counts.nnz == transposed.nnz
        and np.array_equal(counts.indptr, transposed.indptr)
        and np.array_equal(counts.indices, transposed.indices)
        and np.allclose(counts.data, transposed.data, rtol=_ROUNDING, atol=0)
        and bool((counts.indices != np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))).any())
    )
    return (counts, True) if is_symmetric else (counts + transposed, False)


def _check_words(words: np.ndarray, n_words: int | None, start: int) -> np.ndarray:
    """Return words as integers, checked to be from 0 to M - 1."""
    limit = _MAX_WORDS if n_words is None else n_words
    if words.dtype.kind == "i" and words.dtype.isnative and words.min() >= 0 and words.max() < limit:
        return words
    is_bad = (words < 0) | (words >= limit)
    if words.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # of infinity
            is_bad |= ~(words % 1 == 0)
    if is_bad.any():
        row, column = (int(x[0]) for x in np.nonzero(is_bad))
        upper_text = f" to {limit - 1}"
        raise LatentiaError(
            f"Pair {start + row} has the word {words[row, column]}; expected whole numbers from 0{upper_text}."
        )
    return words.astype(np.int64)


def _build_table(words: np.ndarray, times: np.ndarray | None, size: int) -> sparse.csr_array:
    """Count pairs, (size, size), by sorting by the second words and then by the first ones."""
    ends = _row_starts(words, size)
    kind = np.dtype(np.int32) if times is None else times.dtype
    times = np.empty(0, kind) if times is None else times
    firsts, seconds = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
    by_second, by_first = np.empty_like(times), np.empty_like(times)
    _sort_by_second(words, times, ends[1].copy(), firsts, by_second)
    _sort_by_first(firsts, by_second, ends[1], ends[0].copy(), seconds, by_first)
    data, indptr = np.empty(len(words), kind), np.empty(size + 1, np.int32)  # no more cells than pairs in a chunk
    n_cells = _merge_duplicates(ends[0], seconds, by_first, data, indptr)
    return sparse.csr_array((data[:n_cells].copy(), seconds[:n_cells].copy(), indptr), shape=(size, size))


def _check_times(column: np.ndarray) -> np.ndarray:
    if not (np.isfinite(column).all() and (column >= 0).all()):
        raise LatentiaError("Expected finite counts of at least 0 in the third column.")
    return column.astype(np.float64) if column.dtype.kind == "f" else column.astype(np.int64)


# --- kernels --------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _row_starts(words, size):
    """Return the start of each first and each second word among sorted pairs, (2, size + 1)."""
    ends = np.zeros((2, size + 1), np.int64)
    for k in range(len(words)):
        ends[0, words[k, 0] + 1] += 1
        ends[1, words[k, 1] + 1] += 1
    for word in range(size):
        ends[0, word + 1] += ends[0, word]
        ends[1, word + 1] += ends[1, word]
    return ends


@njit(nogil=True, cache=True)
def _sort_by_second(words, times, places, firsts, sorted_times):
    """Fill the first words, and their counts if given, in the order of the second ones."""
    for k in range(len(words)):
        at = places[words[k, 1]]
        places[words[k, 1]] = at + 1
        firsts[at] = words[k, 0]
        if len(sorted_times):
            sorted_times[at] = times[k]


@njit(nogil=True, cache=True)
def _sort_by_first(firsts, times, second_ends, places, seconds, sorted_times):
    """Fill the second words and their counts in the order of the first ones, from pairs sorted by the second ones."""
    for second in range(len(second_ends) - 1):
        for k in range(second_ends[second], second_ends[second + 1]):
            at = places[firsts[k]]
            places[firsts[k]] = at + 1
            seconds[at] = second
            if len(sorted_times):
                sorted_times[at] = times[k]


@njit(nogil=True, cache=True)
def _merge_duplicates(ends, seconds, times, data, indptr):
    """Sum repeated pairs in place, fill data and row starts, and return the number of cells."""
    cell, unit = 0, data.dtype.type(1)
    indptr[0] = 0
    for row in range(len(ends) - 1):
        begin = cell
        for k in range(ends[row], ends[row + 1]):
            count = times[k] if len(times) else unit
            if cell > begin and seconds[cell - 1] == seconds[k]:
                data[cell - 1] += count
            else:
                seconds[cell], data[cell] = seconds[k], count
                cell += 1
        indptr[row + 1] = cell
    return cell
