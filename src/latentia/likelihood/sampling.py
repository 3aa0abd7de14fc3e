"""Samplers: words from many distributions at once, by Walker's alias tables in constant time for each, and findings."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy import sparse


class WordSampler:
    """Sampler of words from K distributions.

    Parameters
    ----------
    probabilities : ndarray of shape (K, V)
        Rows that sum to one.
    """

    def __init__(self, probabilities: np.ndarray) -> None:
        self.n_words = probabilities.shape[1]
        self._threshold, self._alias = alias_tables(np.ascontiguousarray(probabilities, dtype=np.float64))

    def __call__(self, draws: np.ndarray, rng: np.random.Generator) -> sparse.csr_array:
        """Counts, shape (n, V), of draws[d, k] words from distribution k for every row d; indices sorted."""
        indptr, indices, data = _sample(draws.astype(np.int64), self._threshold, self._alias, rng)
        return sparse.csr_array((data, indices, indptr), shape=(len(draws), self.n_words))


def noisy_or_rows(
    weights: np.ndarray, priors: np.ndarray, leak: np.ndarray, n_rows: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of a noisy-or network.

    Parameters
    ----------
    weights : ndarray of shape (m, n)
        P(finding i absent | cause k alone) = exp(-weights[k, i]).
    priors : ndarray of shape (m,)
    leak : ndarray of shape (n,)

    Returns
    -------
    X : ndarray of bool, shape (n_rows, n)
    causes : ndarray of bool, shape (n_rows, m)
    """
    causes = rng.random((n_rows, len(priors))) < priors
    with np.errstate(divide="ignore"):  # a finding that is always present
        silent = sparse.csr_array(causes.astype(float)) @ weights - np.log1p(-leak)
    return rng.random(silent.shape) >= np.exp(-silent), causes


@njit(nogil=True, cache=True)
def alias_tables(probabilities):  # pragma: no cover - compiled
    """Walker's alias tables of every row: thresholds and aliases, both of the shape of ``probabilities``."""
    n_rows, n = probabilities.shape
    threshold = np.ones((n_rows, n))
    alias = np.zeros((n_rows, n), dtype=np.int32)
    small, large = np.empty(n, np.int64), np.empty(n, np.int64)
    for r in range(n_rows):
        scaled = probabilities[r] * n / probabilities[r].sum()
        n_small = n_large = 0
        for j in range(n):
            if scaled[j] < 1.0:
                small[n_small] = j
                n_small += 1
            else:
                large[n_large] = j
                n_large += 1
        while n_small > 0 and n_large > 0:
            n_small -= 1
            lo, hi = small[n_small], large[n_large - 1]
            threshold[r, lo], alias[r, lo] = scaled[lo], hi
            scaled[hi] -= 1.0 - scaled[lo]
            if scaled[hi] < 1.0:
                n_large -= 1
                small[n_small] = hi
                n_small += 1
    return threshold, alias


@njit(nogil=True, cache=True)
def _sample(per_topic, threshold, alias, rng):  # pragma: no cover - compiled
    """Draw per_topic[d, k] words from topic k for every document d; return the counts as CSR with sorted indices."""
    n_documents, n_topics = per_topic.shape
    n_words = threshold.shape[1]
    total = per_topic.sum()
    indptr = np.zeros(n_documents + 1, np.int64)
    indices, data = np.empty(total, np.int32), np.empty(total, np.int32)
    words = np.empty(per_topic.sum(axis=1).max() if n_documents else 0, np.int32)
    end = 0
    for d in range(n_documents):
        n = 0
        for k in range(n_topics):
            for _ in range(per_topic[d, k]):
                u = rng.random() * n_words
                j = int(u)
                words[n] = j if u - j < threshold[k, j] else alias[k, j]
                n += 1
        drawn = np.sort(words[:n])
        for i in range(n):
            if i > 0 and drawn[i] == drawn[i - 1]:
                data[end - 1] += 1
            else:
                indices[end], data[end] = drawn[i], 1
                end += 1
        indptr[d + 1] = end
    return indptr, indices[:end].copy(), data[:end].copy()
