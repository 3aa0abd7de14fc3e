"""Samplers: words from many distributions, by Walker's alias tables in constant time per word, and findings."""

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
        """Draw draws[d, k] words from distribution k for every row d; return counts, shape (n, V), with sorted indices."""
        indptr = np.concatenate([[0], np.cumsum(draws.sum(axis=1, dtype=np.int64))])
        words = np.empty(indptr[-1], np.int32)
        _sample(draws.astype(np.int64), self._threshold, self._alias, rng, words)
        counts = sparse.csr_array((np.ones(len(words), np.int32), words, indptr), shape=(len(draws), self.n_words))
        counts.sum_duplicates()
        return counts


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
def alias_tables(probabilities):
    """Build Walker's alias tables of every row: thresholds and aliases, in the shape of ``probabilities``."""
    n_rows, n = probabilities.shape
    threshold = np.ones((n_rows, n))
    alias = np.zeros((n_rows, n), dtype=np.int32)
    small, large, scaled = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    for r in range(n_rows):
        total = 0.0
        for j in range(n):
            total += probabilities[r, j]
        n_small = n_large = 0
        for j in range(n):
            scaled[j] = probabilities[r, j] * n / total
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
def _sample(per_topic, threshold, alias, rng, words):
    """Draw per_topic[d, k] words from topic k for every document d, one document after the other."""
    n_documents, n_topics = per_topic.shape
    n_words = threshold.shape[1]
    end = 0
    for d in range(n_documents):
        for k in range(n_topics):
            for _ in range(per_topic[d, k]):
                u = rng.random() * n_words
                j = int(u)
                words[end] = j if u - j < threshold[k, j] else alias[k, j]
                end += 1
