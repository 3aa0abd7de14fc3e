"""Topic proportions of documents under known topics, and expected counts.

Model: word probabilities of a document are w^T A with topics in the rows of A (K x V). `fold_in` iterates

    w_k <- (w_k sum_v c_v A_kv / (w^T A)_v + alpha_k) / (n + sum alpha),

EM for w under smoothing by the pseudo-counts alpha (the mode under a Dirichlet(1 + alpha) prior, so that small alpha
does not push proportions to the boundary). The fixed point of an empty document is alpha normalised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..moments.counts import as_counts
from ..system.threads import run_in_chunks

_CHUNK_ROWS, COLUMNS = 256, 16


def fold_in(
    table: Any,
    topics: np.ndarray,
    alpha: np.ndarray,
    *,
    max_iter: int = 100,
    tol: float = 1e-4,
    start: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Compute topic proportions of documents.

    Parameters
    ----------
    table : array or sparse matrix of shape (n_documents, n_words)
        Counts.
    topics : ndarray of shape (K, n_words)
    alpha : ndarray of shape (K,)
        Pseudo-counts, positive.
    max_iter : int
        Largest number of iterations for a document.
    tol : float
        A document stops when its proportions move by less than this in l1.
    start : ndarray of shape (n_documents, K), optional
    n_jobs : int, optional

    Returns
    -------
    ndarray of shape (n_documents, K), rows sum to one
    """
    counts, by_word = as_counts(table), np.ascontiguousarray(topics.T, dtype=np.float64)
    n = len(counts.indptr) - 1
    weights = np.tile(alpha / alpha.sum(), (n, 1)) if start is None else np.array(start, dtype=np.float64)
    alpha = np.asarray(alpha, dtype=np.float64)
    run_in_chunks(lambda a, b: _iterate(*counts, a, b, by_word, alpha, max_iter, tol, weights), n, _CHUNK_ROWS, n_jobs)
    return weights


def token_probabilities(table: Any, topics: np.ndarray, proportions: np.ndarray) -> np.ndarray:
    """Return (w_d^T A)_v for every stored entry (d, v) of a CSR table, in its order, shape (nnz,)."""
    counts = as_counts(table)
    probability = np.empty(len(counts.data))
    by_word = np.ascontiguousarray(topics.T, dtype=np.float64)
    _probabilities(counts.indptr, counts.indices, by_word, np.ascontiguousarray(proportions), probability)
    return probability


# Sums over topics may be reordered for vector registers; compilation fixes the order, as long as no loop both sums and stores:
# such loops are compiled twice, and the memory layout decides which version runs.
@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _iterate(indptr, indices, data, first, last, by_word, alpha, max_iter, tol, weights):
    """Iterate the proportions of rows first to last."""
    k = by_word.shape[1]
    gain = np.empty(k)
    prior = 0.0
    for j in range(k):
        prior += alpha[j]
    for d in range(first, last):
        w = weights[d]
        for _ in range(max_iter):
            gain[:] = 0.0
            for e in range(indptr[d], indptr[d + 1]):
                row = by_word[indices[e]]
                p = 0.0
                for j in range(k):
                    p += w[j] * row[j]
                r = data[e] / p if p > 0.0 else 0.0
                for j in range(k):
                    gain[j] += r * row[j]
            for j in range(k):
                gain[j] = w[j] * gain[j] + alpha[j]
            total = 0.0
            for j in range(k):
                total += gain[j]
            for j in range(k):
                gain[j] = gain[j] / total if total > 0.0 else alpha[j] / prior
            change = 0.0
            for j in range(k):
                change += abs(gain[j] - w[j])
            for j in range(k):
                w[j] = gain[j]
            if change <= tol:
                break


@njit(nogil=True, cache=True)
def add_expected(indptr, indices, ratio, weights, total):
    """Add ratio[e] weights[d] to the row of ``total`` of every stored entry e of document d."""
    k = weights.shape[1]
    for d in range(len(indptr) - 1):
        w = weights[d]
        for e in range(indptr[d], indptr[d + 1]):
            r = ratio[e]
            row = total[indices[e]]
            for j in range(k):
                row[j] += r * w[j]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _probabilities(indptr, indices, by_word, weights, probability):
    for d in range(len(indptr) - 1):
        for e in range(indptr[d], indptr[d + 1]):
            p = 0.0
            for j in range(by_word.shape[1]):
                p += weights[d, j] * by_word[indices[e], j]
            probability[e] = p
