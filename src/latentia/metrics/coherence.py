"""Do the most probable words of a topic occur in the same documents, and are they its own?"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .relevance import top_words

__all__ = ["npmi_coherence", "umass_coherence", "unique_words"]


def umass_coherence(components: np.ndarray, table: Any, n_words: int = 10, eps: float = 0.01) -> np.ndarray:
    """Sum over ordered pairs of top words of log((D(w1, w2) + eps) / D(w2)), shape (K,): thesis eq. 4.3.

    D counts documents with a word, or with both. At most 0 up to ``eps``; higher is better.

    Parameters
    ----------
    components : ndarray of shape (K, V)
        Word probabilities of the topics.
    table : array-like or sparse matrix of shape (n_documents, V)
        Counts of words in documents.
    n_words : int, default=10
        Number of top words of each topic.
    eps : float, default=0.01
        Added to counts of pairs.

    Returns
    -------
    ndarray of shape (K,)
    """
    return _pairwise(components, table, n_words, lambda both, _, second, __: np.log((both + eps) / second), np.sum)


def npmi_coherence(components: np.ndarray, table: Any, n_words: int = 10) -> np.ndarray:
    """Mean normalised pointwise mutual information of pairs of top words by document, shape (K,), in [-1, 1].

    Parameters
    ----------
    components : ndarray of shape (K, V)
        Word probabilities of the topics.
    table : array-like or sparse matrix of shape (n_documents, V)
        Counts of words in documents.
    n_words : int, default=10
        Number of top words of each topic.

    Returns
    -------
    ndarray of shape (K,)
    """

    def npmi(both: np.ndarray, first: np.ndarray, second: np.ndarray, n: int) -> np.ndarray:
        joint = np.maximum(both, 1e-12) / n
        value = np.log(joint * n * n / (first * second)) / -np.log(np.minimum(joint, 1 - 1e-12))
        return np.where(both > 0, value, -1.0)

    return _pairwise(components, table, n_words, npmi, np.mean)


def unique_words(components: np.ndarray, n_words: int = 10) -> np.ndarray:
    """How many of each topic's top words are in no other topic's, shape (K,).

    Parameters
    ----------
    components : ndarray of shape (K, V)
        Word probabilities of the topics.
    n_words : int, default=10
        Number of top words of each topic.

    Returns
    -------
    ndarray of int, shape (K,)
    """
    words = top_words(components, n_words)
    counts = np.bincount(words.ravel(), minlength=components.shape[1])
    return (counts[words] == 1).sum(axis=1)


def _pairwise(components: np.ndarray, table: Any, n_words: int, score: Any, summary: Any) -> np.ndarray:
    """Sum or mean over ordered pairs of different top words, shape (K,).

    Words in no document do not count; a topic without a pair left gets 0.
    """
    words = top_words(components, n_words)
    used, place = np.unique(words, return_inverse=True)
    present = sparse.csc_array(table)[:, used].astype(bool).astype(np.float64)
    together = (present.T @ present).toarray()
    frequency = np.maximum(np.diag(together), 1e-12)
    place = place.reshape(words.shape)
    a, b = np.nonzero(~np.eye(words.shape[1], dtype=bool))
    first, second = place[:, a], place[:, b]
    scores = score(together[first, second], frequency[first], frequency[second], present.shape[0])
    counted = (frequency[first] >= 1) & (frequency[second] >= 1)
    return np.array([summary(row[use]) if use.any() else 0.0 for row, use in zip(scores, counted, strict=True)])
