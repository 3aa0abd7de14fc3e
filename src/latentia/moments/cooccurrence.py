"""Word co-occurrence, never formed.

For documents with counts c_d of n_d words the estimate

    Q = mean_d (c_d c_d^T - diag(c_d)) / (n_d (n_d - 1))

of the joint probability of the words at two different positions is unbiased, V x V, and used only through products

    Q B = X^T (s * (X B)) - h * B,      s_d = 1 / (n_d (n_d - 1)),  h = X^T s,

each of which is one pass over the documents, see `latentia.moments.count_products`.

Documents are assigned to folds (`passes.Folds`) with separate sums: halves of the data for the evidence cost no further pass.
Words may be merged: ``codes`` maps a word to its column, and Q is that of the merged counts.

The noise of a row of D^-1 Q S, D = diag(p), p = Q 1, is a sum over documents too. That row is the mean of
m_dw = (t_d - S_w) / (n_d - 1), t_d = S^T c_d, with weights u_dw = c_dw / n_d, and its expected squared error is estimated by

    sum_d u_dw^2 |m_dw - r_w|^2 / (1 - h_dw) / (sum_d u_dw)^2,      h_dw = u_dw / sum_d u_dw,

the sandwich variance with the leverage correction HC2 (MacKinnon and White 1985). `NoisyProducts` takes it with the products
for columns D^-1/2 U with eigenvectors U of D^-1/2 Q D^-1/2, whose rows r_w = S_w * lambda are known beforehand.

Source: Ge, thesis 2013, section 3.3 (Q from two halves of a document) and section 4.1; all ordered pairs of different
words are used here instead of one random split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from ..passes import Block, Blocks, Folds, accumulate
from .count_products import CountProducts, NoisyProducts
from .counts import as_counts, check_counts
from .sparse_products import round_to_grid

_ONE_GROUP = Folds(1)


@dataclass
class WordSums:
    """Sums over documents, one row a group where the first axis is G.

    Attributes
    ----------
    scaled : ndarray of shape (G, V)
        Sum of s_d c_d: the diagonal term h, times the number of documents.
    paired : ndarray of shape (G, V)
        Sum of s_d (n_d - 1) c_d = row sums of the group's Q, times the number of documents.
    used, empty, short : ndarray of int, shape (G,)
        Documents with two words or more, with none, with fewer than two.
    document_frequency : ndarray of shape (V,)
        Used documents with the word at least once.
    occurrences : ndarray of shape (V,)
        Occurrences of the word in them.
    fractional : bool
        Whether some count was not a whole number.
    """

    scaled: np.ndarray
    paired: np.ndarray
    used: np.ndarray
    empty: np.ndarray
    short: np.ndarray
    document_frequency: np.ndarray
    occurrences: np.ndarray
    fractional: bool = False


class WordCounts:
    """Statistic: `WordSums` of a corpus, checking every count on the way.

    With ``exact`` the terms are rounded by `round_to_grid`, so that documents can be taken away again without a trace.
    """

    def __init__(self, n_words: int, folds: Folds, names: Any = None, *, exact: bool = False) -> None:
        self.n_words, self.folds, self.names, self.exact = n_words, folds, names, exact

    def zero(self) -> WordSums:
        wide = (self.folds.n, self.n_words)
        used, empty, short = (np.zeros(self.folds.n, np.int64) for _ in range(3))
        return WordSums(
            np.zeros(wide), np.zeros(wide), used, empty, short, np.zeros(self.n_words), np.zeros(self.n_words)
        )

    def add(self, state: WordSums, block: Block) -> WordSums:
        counts = as_counts(block[0])
        check_counts(counts, block.rows, self.names)
        state.fractional |= bool((counts.data % 1 != 0).any())
        groups = self.folds.of(block.rows)
        _add_words(
            *counts, groups, state.scaled, state.paired, state.used, state.empty, state.short,
            state.document_frequency, state.occurrences, self.exact,
        )  # fmt: skip
        return state

    def merge(self, first: WordSums, second: WordSums) -> WordSums:
        for name in ("scaled", "paired", "used", "empty", "short", "document_frequency", "occurrences"):
            getattr(first, name).__iadd__(getattr(second, name))
        first.fractional |= second.fractional
        return first


class Cooccurrence:
    """The matrix Q of a corpus, as sums over words and products that each take one pass.

    Parameters
    ----------
    blocks : Blocks
        Documents by words; the first part is used.
    folds : Folds
        Groups of documents, with a sum each.
    n_jobs, progress
        As in `accumulate`.

    Attributes
    ----------
    sums : WordSums
        From the first pass, made by the constructor.
    size : int
        Rows of Q: words, or merged words.
    n_passes : int
        Passes made so far.
    """

    def __init__(
        self,
        blocks: Blocks,
        *,
        folds: Folds = _ONE_GROUP,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self.blocks, self.folds = blocks, folds
        self.n_jobs, self.progress = n_jobs, progress
        n_words = blocks.shapes[0][1]
        statistic = WordCounts(n_words, folds, blocks.names)
        self.sums: WordSums = accumulate(blocks, statistic, n_jobs, progress=progress and "counting words")
        self.n_passes = 1
        self.merge_words(np.arange(n_words, dtype=np.int32))

    def merge_words(self, codes: np.ndarray) -> None:
        """Let word w count as column codes[w] of Q from now on."""
        self.codes = codes.astype(np.int32)
        self.size = int(codes.max()) + 1
        self._scaled = np.array([np.bincount(codes, row, self.size) for row in self.sums.scaled])
        self._paired = np.array([np.bincount(codes, row, self.size) for row in self.sums.paired])

    def regroup(self, folds: Folds) -> Cooccurrence:
        """Return the co-occurrence of the same documents with other folds: one pass."""
        regroup = Cooccurrence(self.blocks, folds=folds, n_jobs=self.n_jobs, progress=self.progress)
        regroup.merge_words(self.codes)
        return regroup

    def word_sizes(self) -> np.ndarray:
        """Return three positive numbers per occurring column, shape (size, 3): row sum, diagonal term, documents.

        They do not depend on the order of documents or words, up to rounding.
        """
        frequency = np.bincount(self.codes, self.sums.document_frequency, self.size)
        return np.column_stack([self._paired.sum(axis=0), self._scaled.sum(axis=0), frequency])

    def marginal(self, groups: Any = slice(None)) -> np.ndarray:
        """Return the row sums p = Q 1 over some folds, shape (size,); they sum to one."""
        return self._paired[groups].sum(axis=0) / max(self.sums.used[groups].sum(), 1)

    def group_products(self, columns: np.ndarray) -> np.ndarray:
        """Return Q_g B for every fold g, shape (G, size, k), for B of shape (size, k): one pass."""
        return self.pass_with(columns)[0]

    def pass_with(self, columns: np.ndarray, *statistics: Any) -> list[Any]:
        """Return `group_products` and the sums of other statistics from the same pass."""
        statistic = CountProducts(columns, self.codes, self.folds)
        label = self.progress and f"pass {self.n_passes + 1}"
        products, *further = accumulate(self.blocks, [statistic, *statistics], self.n_jobs, progress=label)
        self.n_passes += 1
        return [self._subtract_diagonal(products, columns), *further]

    def noisy_pass(
        self, columns: np.ndarray, values: np.ndarray, *statistics: Any
    ) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """Return `group_products`, the noise of rows of D^-1 Q B, and the sums of other statistics from the same pass.

        Parameters
        ----------
        columns : ndarray of shape (size, k)
            B = D^-1/2 U, with eigenvectors U of D^-1/2 Q D^-1/2.
        values : ndarray of shape (m,)
            Eigenvalues of the first m columns, in which the noise is taken.

        Returns
        -------
        products : ndarray of shape (G, size, k)
        noise : ndarray of shape (size,)
            Expected squared error of every row in m dimensions, see the head of this file; NaN for a word of which a single
            document has all occurrences, and 0 for one that never occurs.
        others : list
        """
        totals = self._paired.sum(axis=0)
        statistic = NoisyProducts(columns, values, totals, self.codes, self.folds)
        label = self.progress and f"pass {self.n_passes + 1}"
        sums, *further = accumulate(self.blocks, [statistic, *statistics], self.n_jobs, progress=label)
        self.n_passes += 1
        noise = sums.squared / np.where(totals > 0, totals, 1.0) ** 2
        return self._subtract_diagonal(sums.products, columns), noise, further

    def product(self, columns: np.ndarray) -> np.ndarray:
        """Return Q B over all documents, shape (size, k): one pass."""
        statistic = CountProducts(columns, self.codes, _ONE_GROUP)
        label = self.progress and f"pass {self.n_passes + 1}"
        products = accumulate(self.blocks, statistic, self.n_jobs, progress=label)[0]
        self.n_passes += 1
        products -= self._scaled.sum(axis=0)[:, None] * columns
        products /= max(self.sums.used.sum(), 1)
        return products

    def build_operator(self) -> Callable[[np.ndarray], np.ndarray]:
        """Load all counts in one pass, and return the function v -> Q v for single columns, shape (size,)."""
        pieces = []
        for block in self.blocks:
            indptr, indices, data = as_counts(block[0])
            n = np.add.reduceat(np.append(data, 0.0), indptr[:-1]) * (np.diff(indptr) > 0)
            is_paired = n >= 2
            roots = np.where(is_paired, 1 / np.sqrt(np.where(is_paired, n * (n - 1), 1.0)), 0.0)
            data = data * np.repeat(roots, np.diff(indptr))
            pieces.append(sparse.csr_array((data, self.codes[indices], indptr), shape=(len(n), self.size)))
        table = sparse.csr_array(sparse.vstack(pieces, format="csr"))
        columns, n_used = sparse.csr_array(table.T), max(self.sums.used.sum(), 1)
        diagonal = self._scaled.sum(axis=0)
        self.n_passes += 1
        return lambda v: (columns @ (table @ v) - diagonal * v) / n_used

    def _subtract_diagonal(self, products: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Turn sums over documents into Q_g B, in place."""
        for g in self.folds.all:  # group by group: no temporary as large as the products
            products[g] -= self._scaled[g][:, None] * columns
            products[g] /= max(self.sums.used[g], 1)
        return products

    def combine(self, products: np.ndarray, groups: Any) -> np.ndarray:
        """Combine `group_products` into the product with the Q of several folds."""
        share = self.sums.used[list(groups)] / max(self.sums.used[list(groups)].sum(), 1)
        total = share[0] * products[groups[0]]
        for weight, g in zip(share[1:], groups[1:], strict=True):
            total += weight * products[g]
        return total


@njit(nogil=True, cache=True)
def _add_words(indptr, indices, data, groups, scaled, paired, used, empty, short, frequency, occurrences, exact):
    for d in range(len(indptr) - 1):
        n = 0.0
        for e in range(indptr[d], indptr[d + 1]):
            n += data[e]
        g = groups[d]
        if n < 2.0:
            empty[g] += n == 0.0
            short[g] += 1
            continue
        used[g] += 1
        s = 1.0 / (n * (n - 1.0))
        for e in range(indptr[d], indptr[d + 1]):
            diagonal, share = s * data[e], s * (n - 1.0) * data[e]
            scaled[g, indices[e]] += round_to_grid(diagonal) if exact else diagonal
            paired[g, indices[e]] += round_to_grid(share) if exact else share
            occurrences[indices[e]] += data[e]
            frequency[indices[e]] += data[e] > 0.0
