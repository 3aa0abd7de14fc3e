"""Pairs of words counted into a sparse matrix, and counts dealt into two parts at random."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..passes import Block, Blocks, accumulate
from ..passes.formats import open_text

__all__ = ["PairCounts", "count_pairs", "split_counts", "symmetric_counts"]

_CHUNK = 1 << 20
_ROUNDING = 1e-9
_MOST_WORDS = 2**31 - 1


class PairCounts:
    """Statistic: how often each pair occurs, as csr_array (M, M); M grows with the largest word seen.

    Blocks are tables of two columns, words from 0, or of three, the last how often.

    Parameters
    ----------
    n_words : int, optional
        M, where it is known beforehand.
    """

    def __init__(self, n_words: int | None = None) -> None:
        self.n_words = n_words

    def zero(self) -> sparse.csr_array:
        size = self.n_words or 1
        return sparse.csr_array((size, size), dtype=np.int32)

    def add(self, state: sparse.csr_array, block: Block) -> sparse.csr_array:
        pairs = np.asarray(block[0])
        if not len(pairs):
            return state
        words = _checked(pairs[:, :2], self.n_words, block.start)
        size = self.n_words or int(words.max()) + 1
        times = np.ones(len(pairs), np.int32) if pairs.shape[1] == 2 else _times(pairs[:, 2])
        table = sparse.csr_array(sparse.coo_array((times, (words[:, 0], words[:, 1])), shape=(size, size)))
        return self.merge(state, table)

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
        Numbers of words from 0; a third column says how often. A path names a ``.npy`` file, read from disk as needed, or a
        text of two or three whole numbers a line (``.gz`` is read as it is).
    n_words : int, optional
        M; by default one more than the largest word.
    """
    statistic = PairCounts(n_words)
    if isinstance(pairs, (str, Path)):
        path = Path(pairs)
        if not path.exists():
            raise LatentiaError(f"{path}: no such file.")
        if path.suffix != ".npy":
            return _from_text(path, statistic)
        pairs = np.load(path, mmap_mode="r")
    if not isinstance(pairs, Blocks):
        pairs = np.asanyarray(pairs)
        if pairs.ndim != 2 or pairs.shape[1] not in (2, 3) or pairs.dtype.kind not in "iuf":
            raise LatentiaError(
                f"The pairs have shape {pairs.shape} and type {pairs.dtype}: two columns of whole numbers."
            )
        pairs = Blocks.from_array(pairs, block_rows=_CHUNK)
    if not pairs.n_rows:
        raise LatentiaError("There are no pairs.")
    return accumulate(pairs, statistic, n_jobs, progress=progress)


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


def split_counts(
    counts: sparse.csr_array, symmetric: bool, random_state: int = 0, share: float = 0.5
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Two parts of the counts: every pair goes to the first with probability ``share`` (binomial thinning).

    With ``symmetric`` the two entries of a pair go together, and a word with itself counts twice. Parts of a count beyond
    whole numbers go to either as one.
    """
    rng = np.random.default_rng(random_state)
    table = counts
    if symmetric:
        table = sparse.csr_array(sparse.triu(counts, k=1) + sparse.diags_array(counts.diagonal() / 2))
    whole = np.floor(table.data)
    first = rng.binomial(whole.astype(np.int64), share) + (table.data - whole) * (rng.random(table.nnz) < share)
    parts = []
    for data in (first, table.data - first):
        part = sparse.csr_array(
            (data.astype(table.dtype), table.indices.copy(), table.indptr.copy()), shape=table.shape
        )
        part.eliminate_zeros()
        parts.append(sparse.csr_array(part + part.T).astype(counts.dtype) if symmetric else part)
    return parts[0], parts[1]


def _checked(words: np.ndarray, n_words: int | None, start: int) -> np.ndarray:
    """Words as integers, each from 0 to M - 1."""
    bad = (words < 0) | (words >= (_MOST_WORDS if n_words is None else n_words))
    if words.dtype.kind == "f":
        bad |= ~(words % 1 == 0)
    if bad.any():
        row, column = (int(x[0]) for x in np.nonzero(bad))
        limit = f" to {(_MOST_WORDS if n_words is None else n_words) - 1}"
        raise LatentiaError(
            f"Pair {start + row} has the word {words[row, column]}: whole numbers from 0{limit} are needed."
        )
    return words if words.dtype.kind == "i" else words.astype(np.int64)


def _times(column: np.ndarray) -> np.ndarray:
    if not (np.isfinite(column).all() and (column >= 0).all()):
        raise LatentiaError("The third column says how often a pair occurs: finite numbers of at least 0 are needed.")
    return column.astype(np.float64) if column.dtype.kind == "f" else column.astype(np.int64)


def _from_text(path: Path, statistic: PairCounts) -> sparse.csr_array:
    """Chunks of lines, merged in a binary tree as `accumulate` does for blocks."""
    stack: list[tuple[int, sparse.csr_array]] = []
    for number, chunk in enumerate(_text_chunks(path)):
        stack.append((0, statistic.add(statistic.zero(), Block.of([chunk], number, number * _CHUNK))))
        while len(stack) > 1 and stack[-1][0] == stack[-2][0]:
            (level, first), (_, second) = stack[-2:]
            stack[-2:] = [(level + 1, statistic.merge(first, second))]
    if not stack:
        raise LatentiaError(f"{path}: there are no pairs in the file.")
    total = stack[-1][1]
    for _, partial in reversed(stack[:-1]):
        total = statistic.merge(partial, total)
    return total


def _text_chunks(path: Path) -> Iterator[np.ndarray]:
    import warnings

    done = 0
    with open_text(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an empty rest
        while True:
            try:
                chunk = np.loadtxt(file, dtype=np.int64, max_rows=_CHUNK, ndmin=2)
            except ValueError as error:
                raise LatentiaError(
                    f"{path}, after line {done}: two or three whole numbers a line ({error})."
                ) from error
            if not chunk.size:
                return
            if chunk.shape[1] not in (2, 3):
                raise LatentiaError(f"{path}, after line {done}: two or three numbers a line, found {chunk.shape[1]}.")
            done += len(chunk)
            yield chunk
