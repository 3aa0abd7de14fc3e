"""Pairs of words counted into a sparse matrix."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from ..exceptions import LatentiaError
from ..passes import Block, Blocks, accumulate
from ..passes.formats import rows_fit

_CHUNK = 1 << 24  # pairs that are sorted together: sums of tables take longer than their counting
_ROUNDING = 1e-9
_MOST_WORDS = 2**31 - 1
_MOST_UNSEEN = 1 << 24  # or a hundred for each pair: words that do not occur take memory as well


class PairCounts:
    """Statistic: how often each pair occurs, as csr_array (M, M); M grows with the largest word number.

    Blocks are tables of two columns, words from 0, or of three, the last how often.

    Parameters
    ----------
    n_words : int, optional
        M, where it is known beforehand.
    n_pairs : int, optional
        How many there are in all blocks: numbers of words that are too large for so few are refused.
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
        words = _checked(pairs[:, :2], self.n_words, block.start)
        size = self.n_words or int(words.max()) + 1
        if self.n_words is None:
            self._check_size(size, block.start + int(words.max(axis=1).argmax()))
        times = None if pairs.shape[1] == 2 else _times(pairs[:, 2])
        return self.merge(state, _table(words, times, size))

    def _check_size(self, size: int, pair: int) -> None:
        """Raise if the largest word, which this pair has, is too large."""
        why = ""
        if self.n_pairs is not None and size > max(_MOST_UNSEEN, 100 * self.n_pairs):
            why = f"is too large for {self.n_pairs} pairs"
        elif not rows_fit(size):
            why = "does not fit into memory"
        if why:
            raise LatentiaError(
                f"Pair {pair} has the word {size - 1}: a table of that many words {why}. Number the words from 0 without gaps."
            )

    def merge(self, first: sparse.csr_array, second: sparse.csr_array) -> sparse.csr_array:
        size = max(first.shape[0], second.shape[0])
        if not first.nnz or not second.nnz:
            kept = first if first.nnz else second
            kept.resize((size, size))
            return kept
        for table in (first, second):
            table.resize((size, size))
        return first + second


def count_pairs(
    pairs: Any, n_words: int | None = None, n_jobs: int | None = None, progress: bool | str = False
) -> sparse.csr_array:
    """Counts of pairs, shape (M, M), in one pass whose memory is that of the counts.

    Parameters
    ----------
    pairs : array-like of shape (N, 2) or (N, 3), Blocks, or path
        Numbers of words from 0; a third column says how often. A path names a list of pairs: a ``.npy`` file, read from disk as
        needed, or a text of two or three whole numbers per line (``.gz`` is read as it is), see `Blocks.from_files`.
    n_words : int, optional
        M; by default one more than the largest word.
    """
    if n_words is not None and not rows_fit(n_words):
        raise LatentiaError("a table of that many words does not fit into memory.", parameter="n_words", value=n_words)
    if isinstance(pairs, (str, os.PathLike)):
        return _count_file(pairs, n_words, n_jobs, progress)
    if not isinstance(pairs, Blocks):
        pairs = np.asanyarray(pairs)
        if pairs.ndim != 2 or pairs.shape[1] not in (2, 3) or pairs.dtype.kind not in "iuf":
            raise LatentiaError(
                f"The pairs have shape {pairs.shape} and type {pairs.dtype}: two columns of whole numbers."
            )
        pairs = Blocks.from_array(pairs, block_rows=_CHUNK)
    if pairs.shapes[0][1] not in (2, 3):
        raise LatentiaError(
            f"The pairs have {pairs.shapes[0][1]} columns: two of words, and one of counts if there is one."
        )
    if not pairs.n_rows:
        raise LatentiaError("There are no pairs.")
    return accumulate(pairs, PairCounts(n_words, pairs.n_rows), n_jobs, progress=progress)


def _count_file(
    path: str | os.PathLike[str], n_words: int | None, n_jobs: int | None, progress: bool | str
) -> sparse.csr_array:
    """Counts of a file; what a text is converted to is deleted, as it is of no use once it is counted."""
    blocks = Blocks.from_files(path, format="pairs", cache=False, block_rows=_CHUNK, progress=bool(progress))
    try:
        return count_pairs(blocks, n_words, n_jobs, progress)
    except LatentiaError as error:
        raise LatentiaError(f"{error}", source=os.fspath(path)) from error


def symmetric_counts(counts: sparse.csr_array) -> tuple[sparse.csr_array, bool]:
    """C + C^T, and whether C was symmetric: then every pair is in it twice, and C itself is returned.

    Counts of words with themselves alone do not make a table symmetric.
    """
    if counts.dtype.kind == "i" and counts.nnz and counts.data.max() > np.iinfo(counts.dtype).max // 2:
        counts = counts.astype(np.float64)  # their sum has no room
    turned = sparse.csr_array(counts.T)
    turned.sort_indices()
    if not counts.has_sorted_indices:
        counts = counts.sorted_indices()
    same = (
        counts.nnz == turned.nnz
        and np.array_equal(counts.indptr, turned.indptr)
        and np.array_equal(counts.indices, turned.indices)
        and np.allclose(counts.data, turned.data, rtol=_ROUNDING, atol=0)
        and bool((counts.indices != np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))).any())
    )
    return (counts, True) if same else (counts + turned, False)


def _checked(words: np.ndarray, n_words: int | None, start: int) -> np.ndarray:
    """Words as integers, each from 0 to M - 1."""
    most = _MOST_WORDS if n_words is None else n_words
    if words.dtype.kind == "i" and words.dtype.isnative and words.min() >= 0 and words.max() < most:
        return words
    bad = (words < 0) | (words >= most)
    if words.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # of infinity
            bad |= ~(words % 1 == 0)
    if bad.any():
        row, column = (int(x[0]) for x in np.nonzero(bad))
        limit = f" to {most - 1}"
        raise LatentiaError(
            f"Pair {start + row} has the word {words[row, column]}: whole numbers from 0{limit} are needed."
        )
    return words.astype(np.int64)


def _table(words: np.ndarray, times: np.ndarray | None, size: int) -> sparse.csr_array:
    """Counts of pairs, (size, size), rows and columns in order: sorted by the second words, and these by the first."""
    ends = _ends(words, size)
    kind = np.dtype(np.int32) if times is None else times.dtype
    times = np.empty(0, kind) if times is None else times
    firsts, seconds = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
    by_second, by_first = np.empty_like(times), np.empty_like(times)
    _by_second(words, times, ends[1].copy(), firsts, by_second)
    _by_first(firsts, by_second, ends[1], ends[0].copy(), seconds, by_first)
    data, indptr = np.empty(len(words), kind), np.empty(size + 1, np.int32)  # no more cells than pairs in a chunk
    n_cells = _put_together(ends[0], seconds, by_first, data, indptr)
    return sparse.csr_array((data[:n_cells].copy(), seconds[:n_cells].copy(), indptr), shape=(size, size))


def _times(column: np.ndarray) -> np.ndarray:
    if not (np.isfinite(column).all() and (column >= 0).all()):
        raise LatentiaError("The third column says how often a pair occurs: finite numbers of at least 0 are needed.")
    return column.astype(np.float64) if column.dtype.kind == "f" else column.astype(np.int64)


# --- kernels --------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _ends(words, size):
    """Where the pairs of each first and each second word begin when they are sorted by it, (2, size + 1)."""
    ends = np.zeros((2, size + 1), np.int64)
    for k in range(len(words)):
        ends[0, words[k, 0] + 1] += 1
        ends[1, words[k, 1] + 1] += 1
    for word in range(size):
        ends[0, word + 1] += ends[0, word]
        ends[1, word + 1] += ends[1, word]
    return ends


@njit(nogil=True, cache=True)
def _by_second(words, times, places, firsts, own):
    """Fill the first words, and how often where that is said, in the order of the second ones."""
    for k in range(len(words)):
        at = places[words[k, 1]]
        places[words[k, 1]] = at + 1
        firsts[at] = words[k, 0]
        if len(own):
            own[at] = times[k]


@njit(nogil=True, cache=True)
def _by_first(firsts, times, second_ends, places, seconds, own):
    """Fill the second words, and how often, in the order of the first ones, from pairs in the order of the second ones."""
    for second in range(len(second_ends) - 1):
        for k in range(second_ends[second], second_ends[second + 1]):
            at = places[firsts[k]]
            places[firsts[k]] = at + 1
            seconds[at] = second
            if len(own):
                own[at] = times[k]


@njit(nogil=True, cache=True)
def _put_together(ends, seconds, times, data, indptr):
    """Sum pairs that come again, in place, and fill the data and where rows begin; the number of cells."""
    at, one = 0, data.dtype.type(1)
    indptr[0] = 0
    for row in range(len(ends) - 1):
        begin = at
        for k in range(ends[row], ends[row + 1]):
            more = times[k] if len(times) else one
            if at > begin and seconds[at - 1] == seconds[k]:
                data[at - 1] += more
            else:
                seconds[at], data[at] = seconds[k], more
                at += 1
        indptr[row + 1] = at
    return at
