"""Sums over documents of c_d s_d (c_d^T B), for folds of documents, and the noise of their rows.

Each is two products of `latentia.moments.sparse_products`: t_d = B^T c_d of some thousands of documents at a time, and the sums
over their words. For k columns and nnz stored counts: 4 nnz k flops, 16 nnz k bytes gathered (8 nnz k with columns in single
precision), in rows of 8 k bytes, mostly from cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from ..passes import Block, Folds
from ..system.threads import Parallel
from .counts import Counts
from .sparse_products import Columns, add_products, encode_counts, products, sort_by_column

_MAX_IMAGES = 1 << 22  # numbers t_d in memory: 32 MB
_N_STRIPS = 16  # ranges of words, one task each


class CountProducts:
    """In-place statistic: sum over documents of c_d s_d (c_d^T B), for each group, shape (G, V, k), in double precision.

    The factor s_d is one over the falling factorial of the length, 1 / (n_d (n_d - 1)) for ``order=2`` and
    1 / (n_d (n_d - 1) (n_d - 2)) for ``order=3``; shorter documents are left out.

    Parameters
    ----------
    columns : ndarray of shape (V, k), float64 or float32
        B. In single precision products with the counts are too: twice as fast.
    codes : ndarray of int32
        Row of B of every word.
    folds : Folds
    order : int
    exact : bool
        Whether documents can be taken away again without a trace: see `add_products`.
    """

    def __init__(
        self, columns: np.ndarray, codes: np.ndarray, folds: Folds, order: int = 2, *, exact: bool = False
    ) -> None:
        self.columns = np.ascontiguousarray(columns)
        self.codes, self.folds, self.order, self.exact = codes, folds, order, exact

    def zero(self) -> np.ndarray:
        return np.zeros((self.folds.n, *self.columns.shape))

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        total = state.reshape(-1, self.columns.shape[1])
        for piece in _pieces(block, self.codes, self.folds, self.columns, self.order, parallel):
            add_products(total, piece.by_word, piece.images, parallel, exact=self.exact)
        return state


@dataclass
class NoisySums:
    """Sums of `NoisyProducts`.

    Attributes
    ----------
    products : ndarray of shape (G, V, k)
        As of `CountProducts`.
    squared : ndarray of shape (V,)
        Sum of u^2 |m - r|^2 / (1 - h) over documents.
    """

    products: np.ndarray
    squared: np.ndarray


class NoisyProducts:
    """In-place statistic: `CountProducts` and, in the leading columns, the noise of the rows.

    With f = 1 + (n_d - 1) lambda the distance is (n_d - 1)^2 |m - r|^2 = |t_d - S_w f|^2, of which |S_w f|^2 is a polynomial
    in n_d whose three coefficients are the word's own.

    Parameters
    ----------
    columns : ndarray of shape (V, k)
        S.
    values : ndarray of shape (m,)
        Eigenvalues of the first m <= k columns: in them the rows of D^-1 Q S are those of S, times these.
    totals : ndarray of shape (V,)
        sum_d u_dw.
    codes : ndarray of int
        As of `CountProducts`.
    folds : Folds
        A document counts as often as it has copies there: copies err together.
    """

    def __init__(
        self, columns: np.ndarray, values: np.ndarray, totals: np.ndarray, codes: np.ndarray, folds: Folds
    ) -> None:
        self.columns, self.values = np.ascontiguousarray(columns), np.ascontiguousarray(values)
        self.totals, self.codes, self.folds = totals, codes, folds
        self._copies = None if folds.leaders is None else np.bincount(folds.leaders)[folds.leaders].astype(np.float64)

    def zero(self) -> NoisySums:
        n_words, width = self.columns.shape
        return NoisySums(np.zeros((self.folds.n, n_words, width)), np.zeros(n_words))

    def add_tasks(self, state: NoisySums, block: Block, parallel: Parallel) -> NoisySums:
        copies = np.ones(len(block.rows)) if self._copies is None else self._copies[block.rows]
        total, n_words = state.products.reshape(-1, self.columns.shape[1]), len(self.columns)
        edges = np.linspace(0, n_words, _N_STRIPS + 1).astype(int)
        for piece in _pieces(block, self.codes, self.folds, self.columns, 2, parallel):
            add_products(total, piece.by_word, piece.images, parallel)
            leading = piece.images[:, : len(self.values)]
            squares, piece_copies = np.einsum("dj,dj->d", leading, leading), copies[piece.documents]

            def task(
                i: int, piece: _Piece = piece, squares: np.ndarray = squares, piece_copies: np.ndarray = piece_copies
            ) -> None:
                _add_noise(
                    *piece.by_word, piece.images, piece.lengths, squares, piece_copies, self.columns, self.values, self.totals,
                    state.squared, edges[i], edges[i + 1],
                )  # fmt: skip

            parallel(task, _N_STRIPS)
        return state


class _Piece(NamedTuple):
    """Some of the documents of a block.

    Attributes
    ----------
    documents : slice
        Their places in the block.
    lengths : ndarray of shape (n,)
        n_d.
    images : ndarray of shape (n, k)
        t_d = B^T c_d.
    by_word : Columns
        s_d c_d by word, those of each group of documents after the group before; s_d is zero where n_d is too small.
    """

    documents: slice
    lengths: np.ndarray
    images: np.ndarray
    by_word: Columns


def _pieces(
    block: Block, codes: np.ndarray, folds: Folds, columns: np.ndarray, order: int, parallel: Parallel
) -> Iterator[_Piece]:
    counts, groups, (n_words, width) = (
        encode_counts(block[0], codes, columns.dtype),
        folds.of(block.rows),
        columns.shape,
    )
    step = max(1, _MAX_IMAGES // max(width, 1))
    for first in range(0, len(groups), step):
        documents = slice(first, min(first + step, len(groups)))
        starts = counts.indptr[first : documents.stop + 1]
        entries = slice(starts[0], starts[-1])
        counts_of_piece = Counts(starts - starts[0], counts.indices[entries], counts.data[entries])
        lengths = np.bincount(
            np.repeat(np.arange(len(starts) - 1), np.diff(starts)), counts_of_piece.data, len(starts) - 1
        )
        is_long_enough = lengths >= order
        n = np.where(is_long_enough, lengths, float(order))
        factors = np.where(is_long_enough, 1.0 / (n * (n - 1) * (n - 2 if order == 3 else 1)), 0.0)
        by_word = sort_by_column(counts_of_piece, n_words, parallel, factors, groups[documents], folds.n)
        yield _Piece(documents, lengths, products(counts_of_piece, columns, parallel), by_word)


# --- kernels --------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _add_noise(
    starts, documents, values, images, lengths, squares, copies, columns, eigenvalues, totals, squared, first, last
):
    """Add the noise of words first to last, of all groups, to ``squared``, (V,). A value s c is u / (n - 1)."""
    n_words, m = columns.shape[0], len(eigenvalues)
    scaled = np.empty(m)
    for w in range(first, last):
        row = columns[w, :m]
        for j in range(m):
            scaled[j] = eigenvalues[j] * row[j]
        size, slope, curvature = _dot(row, row), 2.0 * _dot(row, scaled), _dot(scaled, scaled)
        for slot in range(w, len(starts) - 1, n_words):
            for e in range(starts[slot], starts[slot + 1]):
                d, ratio = documents[e], values[e]
                if ratio == 0.0:
                    continue
                length_minus_one, image = lengths[d] - 1.0, images[d, :m]
                leverage_complement = 1.0 - copies[d] * ratio * length_minus_one / totals[w]
                crossed = _dot(image, row) + length_minus_one * _dot(image, scaled)
                distance = max(
                    squares[d] - 2.0 * crossed + size + length_minus_one * (slope + length_minus_one * curvature), 0.0
                )
                squared[w] += (
                    copies[d] * ratio * ratio * distance / leverage_complement if leverage_complement > 1e-9 else np.nan
                )


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"}, inline="never")
def _dot(first, second):
    """Nothing is stored, so that the order of the sum is fixed."""
    total = 0.0
    for j in range(len(first)):
        total += first[j] * second[j]
    return total
