"""Characteristic words of components, from texts with shares in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..words import WordVectorizer, check_texts
from .relevance import RELEVANCE, other_topics, top_words


def describe(
    shares: Any, texts: Any, n_words: int = 10, *, vectorizer: Any = None, relevance: float = RELEVANCE
) -> np.ndarray:
    """Return characteristic words of each component, from texts with shares in the components.

    For components that were learned without words: clusters of embeddings, sources, communities, factors.

    Parameters
    ----------
    shares : array-like of shape (n_documents, K) or (n_documents,)
        Nonnegative shares, weights or probabilities of the components in every document, or the number of its cluster; -1 is
        in none. Where components have a sign, describe both signs, ``np.maximum(S, 0)`` and ``np.maximum(-S, 0)``.
    texts : sequence of str of length n_documents
        The documents.
    n_words : int, default=10
        Number of words.
    vectorizer : vectorizer of scikit-learn, optional
        Vectorizer of the texts; by default a `latentia.words.WordVectorizer` for English.
    relevance : float, default=0.5
        Weight of a word's probability in the component, against its lift over the others, see
        `latentia.metrics.relevance`: 1 ranks by probability, 0 by lift.

    Returns
    -------
    ndarray of str, shape (K, n_words)

    Raises
    ------
    LatentiaError
        If numbers of rows and texts differ, if an entry is negative or NaN, or if no words remain.

    Notes
    -----
    The probability of a word in a component is the mean of its frequencies in the documents, weighted by their shares, so that
    documents weigh equally whatever their length.

    Examples
    --------
    >>> from latentia import describe
    >>> texts = ["The river floods the valley", "A valley and its river", "Bread and butter", "Butter on fresh bread"]
    >>> describe([0, 0, 1, 1], texts, 2).tolist()
    [['river', 'valley'], ['bread', 'butter']]
    """
    table, documents = _table_of(shares), check_texts(texts)
    if len(table) != len(documents):
        raise LatentiaError(f"shares has {len(table)} rows; expected {len(documents)}, one for each text.")
    counter = WordVectorizer() if vectorizer is None else vectorizer
    counts = counter.fit_transform(documents)
    probabilities = word_probabilities(counts, table)
    background = other_topics(probabilities, table.sum(axis=0))
    columns = top_words(probabilities, n_words, word_frequencies=background, relevance=relevance)
    words = np.asarray(counter.get_feature_names_out(), dtype=object)
    return np.asarray(words[columns])


def word_probabilities(counts: Any, shares: np.ndarray) -> np.ndarray:
    """Average word frequencies of documents, weighted by their shares in components, shape (K, V).

    Parameters
    ----------
    counts : array or sparse matrix of shape (n_documents, V)
        Counts of the words.
    shares : ndarray of shape (n_documents, K)
        Nonnegative. A component without documents has the mean of all.

    Returns
    -------
    ndarray of shape (K, V)
        Rows sum to one.
    """
    table = sparse.csr_array(counts, dtype=np.float64)
    lengths = np.asarray(table.sum(axis=1)).ravel()
    weights = 1.0 / np.where(lengths > 0, lengths, 1.0)
    sums = np.asarray(table.T @ (shares * weights[:, None])).T
    total = sums.sum(axis=1, keepdims=True)
    mean = np.asarray(table.T @ weights)
    mean = mean / mean.sum() if mean.sum() > 0 else np.full(len(mean), 1 / len(mean))
    return np.where(total > 0, sums / np.where(total > 0, total, 1.0), mean)


def _table_of(shares: Any) -> np.ndarray:
    """Return shares as a table; numbers of clusters become 0 and 1."""
    table = np.asarray(shares)
    if table.ndim == 1 and table.dtype.kind in "iu" and len(table):
        if table.max() < 0:
            raise LatentiaError("No document is in a cluster: all are -1.")
        return (table[:, None] == np.arange(table.max() + 1)).astype(np.float64)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise LatentiaError(
            f"shares has the shape {table.shape} and the type {table.dtype}; expected a number for every document and "
            "component, or whole numbers of clusters."
        )
    table = table.astype(np.float64)
    if not np.isfinite(table).all() or table.min(initial=0) < 0:
        raise LatentiaError(
            "shares has negative or invalid entries. If components have a sign, describe both signs: np.maximum(S, 0) and "
            "np.maximum(-S, 0)."
        )
    return table
