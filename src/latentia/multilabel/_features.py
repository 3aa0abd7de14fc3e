"""Words of documents as counts, for topics, and as weighted features, for linear heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from ..moments.counts import as_counts
from ..passes import Block, Blocks


def inverse_document_frequency(document_frequency: np.ndarray, n_rows: int) -> np.ndarray:
    """Compute log((1 + N) / (1 + n_v)) + 1 for words in n_v of N documents, shape (D,)."""
    return np.log((1 + n_rows) / (1 + document_frequency)) + 1


def words(table: Any, occurrences: bool) -> sparse.csr_array:
    """Return the counts of a table without stored zeros, or ones where a word is present."""
    counts = as_counts(table)
    csr = sparse.csr_array((counts.data, counts.indices, counts.indptr), shape=table.shape)
    csr.eliminate_zeros()
    if occurrences:
        csr.data[:] = 1.0
    return csr


def features(table: Any, weights: np.ndarray | None) -> sparse.csr_array:
    """Return rows of unit length, single precision: (1 + log count) times ``weights``, or plain entries without weights."""
    counts = as_counts(table)
    data = np.empty(len(counts.data), np.float32)
    _weigh(counts.indptr, counts.indices, counts.data, np.empty(0) if weights is None else weights, data)
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=table.shape)


def view(blocks: Blocks, *, occurrences: bool, weights: np.ndarray | None, linear: bool) -> Blocks:
    """Return blocks of words, label sets and, with ``linear``, features."""

    def make_parts(block: Block) -> tuple[Any, ...]:
        words_and_labels = (words(block[0], occurrences), block[1])
        return (*words_and_labels, features(block[0], weights)) if linear else words_and_labels

    x, y = blocks.shapes[:2]
    return blocks.map(make_parts, [x, y, x] if linear else [x, y])


@njit(nogil=True, cache=True)
def _weigh(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    for d in range(len(indptr) - 1):
        square = 0.0
        for e in range(indptr[d], indptr[d + 1]):
            value = data[e]
            if len(weights) > 0 and value > 0.0:
                value = (1.0 + np.log(value)) * weights[indices[e]]
            square += value * value
            out[e] = value
        if square > 0.0:
            for e in range(indptr[d], indptr[d + 1]):
                out[e] /= np.sqrt(square)
