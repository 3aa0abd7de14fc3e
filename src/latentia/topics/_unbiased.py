"""Unbiased shares of topics in single documents, and their products."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from ..effects import Memberships


class DocumentMemberships(Memberships):
    """Shares of topics in documents: B x of a document with word frequencies x has the mean w for any length.

    For counts c of L words, (c c' - diag(c)) / (L (L - 1)) has the mean A' w w' A over pairs of different words, so that
    multiplication by B from the left and B' from the right is unbiased for w w'. Documents of a single word have no pairs, and
    are not used.

    Parameters
    ----------
    tables : callable
        Returns the counts of the documents, block by block: arrays or sparse matrices of shape (n, V).
    by_words : ndarray of shape (K, V)
        B, zero for words without probability in any topic.
    errors : ndarray of shape (n_splits, K, K)
        See `Memberships`.
    """

    def __init__(self, tables: Callable[[], Iterable[Any]], by_words: np.ndarray, errors: np.ndarray) -> None:
        self._tables, self._by_words, self.errors = tables, by_words, errors
        is_known_word = by_words.any(axis=0).astype(float)
        products = [(counts @ by_words.T, counts @ is_known_word) for counts in self._counts()]
        scores, lengths = (np.concatenate(parts) for parts in zip(*products, strict=True))
        self._lengths = np.where(lengths >= 2, lengths, np.nan)[:, None]
        self.shares = scores / self._lengths

    def squares(self, rows: np.ndarray) -> np.ndarray:
        lengths, shares = self._lengths[rows], self.shares[rows]
        weight = np.where(rows, 1 / (self._lengths * (self._lengths - 1)).ravel(), 0.0)
        start, word_weights = 0, np.zeros(self._by_words.shape[1])
        for counts in self._counts():
            word_weights += weight[start : start + counts.shape[0]] @ counts
            start += counts.shape[0]
        return (shares * (lengths / (lengths - 1))).T @ shares - (self._by_words * word_weights) @ self._by_words.T

    def perturb_squares(self, second: np.ndarray, error: np.ndarray) -> np.ndarray:
        return error @ second + second @ error.T

    def apply_squares(self, coefficients: np.ndarray) -> np.ndarray:
        weighted = (self._by_words * (coefficients @ self._by_words)).T
        same_word_terms = np.vstack([counts @ weighted for counts in self._counts()])
        lengths = self._lengths
        return (lengths * self.shares * (self.shares @ coefficients)[:, None] - same_word_terms / lengths) / (
            lengths - 1
        )

    def _counts(self) -> Iterable[sparse.csr_array]:
        return (sparse.csr_array(table, dtype=float) for table in self._tables())
