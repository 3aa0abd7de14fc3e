"""Coherence and uniqueness of the most probable words of topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .relevance import top_words

_EPSILON = 1e-12


def umass_coherence(components: np.ndarray, table: Any, n_words: int = 10, eps: float = 0.01) -> np.ndarray:
    """Compute UMass coherence, shape (K,): sums over ordered pairs of top words of log((D(w1, w2) + eps) / D(w2)).

    Thesis eq. 4.3. D counts documents with a word, or with both. At most 0 up to ``eps``; higher is better.

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
    words = top_words(components, n_words)
    return _pairwise(words, table, lambda pair_counts, _, second, __: np.log((pair_counts + eps) / second), np.sum)


def npmi_coherence(components: np.ndarray, table: Any, n_words: int = 10) -> np.ndarray:
    """Compute the mean normalised pointwise mutual information of pairs of top words by document, (K,), in [-1, 1].

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
    return npmi_of_words(top_words(components, n_words), table)


def npmi_of_words(words: np.ndarray, table: Any) -> np.ndarray:
    """Return the coherence `npmi_coherence` of given words of topics, shape (K,).

    Parameters
    ----------
    words : ndarray of int, shape (K, n_words)
        Columns of the words of each topic.
    table : array-like or sparse matrix of shape (n_documents, V)
        Counts of words in documents.

    Returns
    -------
    ndarray of shape (K,)
    """

    def npmi(pair_counts: np.ndarray, first: np.ndarray, second: np.ndarray, n: int) -> np.ndarray:
        joint = np.maximum(pair_counts, 1e-12) / n
        value = np.log(joint * n * n / (first * second)) / -np.log(np.minimum(joint, 1 - 1e-12))
        return np.where(pair_counts > 0, value, -1.0)

    return _pairwise(words, table, npmi, np.mean)


def cv_coherence(words: Sequence[Sequence[str]], documents: Sequence[Sequence[str]], window: int = 110) -> np.ndarray:
    """Compute the coherence C_V of the top words of topics, shape (K,): similarity of the words' neighbourhoods.

    The vector of a word is its normalised mutual information with all words of the topic in windows of a text; the coherence is
    the mean cosine of these vectors with their sum.

    Parameters
    ----------
    words : sequence of K sequences of str
        Top words of the topics, such as ``model.top_words(10)``.
    documents : sequence of sequences of str
        The words of every text in their order, such as ``list(map(vectorizer.build_analyzer(), texts))``.
    window : int, default=110
        Words of a window. A shorter text is one window.

    Returns
    -------
    ndarray of shape (K,)
        From 0 to 1; words that occur nowhere count for nothing.

    Notes
    -----
    Source: M. Roeder, A. Both, A. Hinneburg, Exploring the space of topic coherence measures, WSDM 2015. gensim has the
    same numbers for texts no longer than a window; in longer ones it takes a word out of a window when the first of its uses
    leaves it.
    """
    topics = [[str(word) for word in topic] for topic in words]
    columns = {word: i for i, word in enumerate(dict.fromkeys(word for topic in topics for word in topic))}
    present = _windows(documents, columns, window)
    n, pair_counts = max(present.shape[0], 1), np.asarray((present.T @ present).toarray())
    joint, single = pair_counts / n, np.diag(pair_counts) / n
    product = np.outer(single, single)
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log((joint + _EPSILON) / product) / -np.log(joint + _EPSILON)
    npmi = np.where(product > 0, npmi, 0.0)
    return np.array(
        [_cosine_with_sum(npmi[np.ix_(at, at)]) for at in ([columns[w] for w in topic] for topic in topics)]
    )


def _windows(documents: Sequence[Sequence[str]], columns: Mapping[str, int], window: int) -> sparse.csr_array:
    """Return the words in each window of each text, as a 0-1 table."""
    rows, places, n = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for document in documents:
        columns_of_words = np.array([columns.get(str(word), -1) for word in document], dtype=np.int64)
        last = max(len(columns_of_words) - window, 0)  # number of the last window
        positions = np.flatnonzero(columns_of_words >= 0)
        first = np.maximum(positions - window + 1, 0)
        spans = np.minimum(positions, last) - first + 1
        rows.append(n + np.repeat(first - np.cumsum(spans) + spans, spans) + np.arange(spans.sum()))
        places.append(np.repeat(columns_of_words[positions], spans))
        n += last + 1 if len(columns_of_words) else 0
    row, place = np.concatenate(rows), np.concatenate(places)
    table = sparse.csr_array((np.ones(len(row)), (row, place)), shape=(n, len(columns)))
    table.sum_duplicates()
    table.data[:] = 1.0
    return table


def _cosine_with_sum(vectors: np.ndarray) -> float:
    """Return the mean cosine of the rows with their sum."""
    total = vectors.sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(total)
    return float(np.mean(vectors @ total / np.where(lengths > 0, lengths, 1.0)))


def unique_words(components: np.ndarray, n_words: int = 10) -> np.ndarray:
    """Count the top words of each topic that are not top words of another topic, shape (K,).

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


def _pairwise(words: np.ndarray, table: Any, score: Any, summary: Any) -> np.ndarray:
    """Sum or average scores over ordered pairs of different words of each topic, shape (K,).

    Words in no document do not count; a topic without remaining pairs gets 0.
    """
    words_used, place = np.unique(words, return_inverse=True)
    present = sparse.csc_array(table)[:, words_used].astype(bool).astype(np.float64)
    pair_counts = (present.T @ present).toarray()
    frequency = np.maximum(np.diag(pair_counts), 1e-12)
    place = place.reshape(words.shape)
    a, b = np.nonzero(~np.eye(words.shape[1], dtype=bool))
    first, second = place[:, a], place[:, b]
    scores = score(pair_counts[first, second], frequency[first], frequency[second], max(present.shape[0], 1))
    is_counted = (frequency[first] >= 1) & (frequency[second] >= 1)
    return np.array([summary(row[use]) if use.any() else 0.0 for row, use in zip(scores, is_counted, strict=True)])
