"""Order in which the words of a topic are shown.

A broad topic has frequent words of several themes, and its most probable words may not belong together. So words that certainly
occur in the same documents as the topic's other words come first. Of the 50 words of highest relevance r_i
(`latentia.metrics.relevance`), with log lift l_i, word i has the score

    sum_{j != i} exp(r_j) N_ij / sum_{j != i} exp(r_j) + 0.03 l_i.

N_ij is their normalised pointwise mutual information in documents, from a lower bound of the n_ij documents that have both,
n_ij - 2 sqrt(n_ij), and is at least -0.5. Long documents have more of all words, so that n_i n_j sum_d m_d^2 / (sum_d m_d)^2
documents are expected to have two independent words, where document d has m_d words. Without enough documents the order is that
of lift.

In very short documents few pairs of words certainly occur together, and lift then prefers rare words that never do. If fewer
than half of the pairs of a topic's first ten words certainly occur together, two other orders compete: the same score among the
20 most probable words, and the order of probability. The topic gets the order whose first ten words are most coherent in the
documents (`latentia.metrics.npmi_coherence`).

All constants were chosen on held-out documents of the Associated Press and the Bible, the 20 words on titles of papers.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..metrics import relevance, top_words
from ..metrics.coherence import npmi_of_words

_N_CANDIDATES = 50  # Words of each topic to be ordered.
_N_PROBABLE = 20  # The narrow choice has this many of the most probable words.
_MIN_SHARE_OF_PAIRS = (
    0.5  # Of the first ten words: topics of AP and 20 Newsgroups exceed it, half of those of titles do not.
)
_N_COMPARED = 10  # Orders are compared by this many words.
_STANDARD_ERRORS = 2.0
_MIN_PMI = -0.5  # Mutual information of words that hardly ever occur together.
_LIFT_WEIGHT = 0.03
_TINY = 1e-12


def order_words(topics: np.ndarray, other_topics: np.ndarray, table: sparse.csr_array) -> np.ndarray:
    """Order the first words of every topic as they are shown: their columns, shape (K, M).

    Parameters
    ----------
    topics, other_topics : ndarray of shape (K, V)
        Word probabilities in each topic, and in the other topics.
    table : csr_array of shape (n_documents, V)
        Counts of words in documents.
    """
    relevant, lifts = relevance(topics, other_topics), relevance(topics, other_topics, 0.0)
    order = _order_by_company(top_words(relevant, _N_CANDIDATES), relevant, lifts, table)
    has_sure_pairs = _shares_of_sure_pairs(order[:, :_N_COMPARED], table) >= _MIN_SHARE_OF_PAIRS
    if has_sure_pairs.all():
        return order
    probable = top_words(topics, _N_CANDIDATES)
    narrow = _order_by_company(probable[:, :_N_PROBABLE], relevant, lifts, table)
    orders = np.stack([order, np.hstack([narrow, probable[:, _N_PROBABLE:]]), probable])
    coherences = [npmi_of_words(words[:, :_N_COMPARED], table) for words in orders]
    best = np.where(has_sure_pairs, 0, np.argmax(coherences, axis=0))
    return np.asarray(orders[best, np.arange(len(topics))])


def _shares_of_sure_pairs(words: np.ndarray, table: sparse.csr_array) -> np.ndarray:
    """Return the share of pairs of each topic's words (K, M) that certainly occur together, shape (K,)."""
    upper, shares = np.triu_indices(words.shape[1], 1), np.ones(len(words))
    for k, columns in enumerate(words):
        present = sparse.csc_array(table[:, columns] > 0, dtype=np.float64)
        n_common = (present.T @ present).toarray()[upper]
        shares[k] = (n_common > _STANDARD_ERRORS**2).mean() if len(n_common) else 1.0
    return shares


def _order_by_company(
    words: np.ndarray, relevant: np.ndarray, lifts: np.ndarray, table: sparse.csr_array
) -> np.ndarray:
    """Order the words of every topic (K, M) by their score: first those that certainly occur with the others."""
    bonuses = _LIFT_WEIGHT * np.take_along_axis(lifts, words, axis=1)
    weights = np.exp(np.take_along_axis(relevant, words, axis=1))
    used_words, places = np.unique(words, return_inverse=True)
    present = sparse.csc_array(table[:, used_words] > 0, dtype=np.float64)
    lengths = np.diff(table.indptr).astype(np.float64)
    expected = (lengths**2).sum() / max(lengths.sum() ** 2, 1.0)
    scores = [
        _means_off_diagonal(_conservative_pmi(present[:, columns], expected), word_weights) + bonus
        for columns, word_weights, bonus in zip(places.reshape(words.shape), weights, bonuses, strict=True)
    ]
    return np.take_along_axis(words, np.argsort(-np.array(scores), axis=1, kind="stable"), axis=1)


def _means_off_diagonal(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return weighted means of the rows of a table (M, M) without its diagonal, shape (M,)."""
    weights = weights / weights.max() * (1 - np.eye(len(weights)))
    return np.asarray((weights * values).sum(axis=1) / np.maximum(weights.sum(axis=1), _TINY))


def _conservative_pmi(present: sparse.csc_array, expected: float) -> np.ndarray:
    """Bound the normalised mutual information of words from below, by their presence in documents (n, M), shape (M, M)."""
    common = (present.T @ present).toarray()
    frequency, sure_counts = np.diag(common), common - _STANDARD_ERRORS * np.sqrt(common)
    is_sure, n = sure_counts > 0, max(present.shape[0], 1)
    joint = np.where(is_sure, sure_counts, 1.0)
    by_chance = np.where(is_sure, np.outer(frequency, frequency) * expected, 1.0)
    pmi = np.log(joint / by_chance) / -np.log(np.minimum(joint / n, 1 - _TINY))
    return np.where(is_sure, np.maximum(pmi, _MIN_PMI), _MIN_PMI)
