"""Document completion: proportions from one half of a held-out document's words, likelihood of the other half."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..likelihood.admixture import fold_in, token_probabilities
from ..moments.counts import as_counts


def split_tokens(table: Any, random_state: Any = 0) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split every document's tokens at random into two halves, each token with probability one half.

    Entries of both halves are sorted and each occurs once, whatever the order in the table.

    Parameters
    ----------
    table : array-like or sparse matrix of shape (n_documents, V)
        Counts of words in documents.
    random_state : int, RandomState or Generator, default=0
        Seed of the halves.

    Returns
    -------
    first, second : csr_array of shape (n_documents, V)
        The halves.
    """
    indptr, indices, data = as_counts(table)
    counts = np.minimum(np.maximum(np.rint(data), data > 0), 1e15).astype(
        np.int64
    )  # a fraction counts as one occurrence
    half = np.random.default_rng(random_state).binomial(counts, 0.5)
    first = sparse.csr_array((half.astype(np.float64), indices, indptr), shape=np.shape(table))
    second = sparse.csr_array(((counts - half).astype(np.float64), indices, indptr), shape=np.shape(table))
    return first, second


def completion_log_likelihood(
    components: np.ndarray,
    alpha: np.ndarray,
    tables: Any,
    *,
    random_state: int = 0,
    max_iter: int = 100,
    tol: float = 1e-4,
    n_jobs: int | None = None,
) -> float:
    """Compute the mean log-probability of a token of the second halves given the first halves, in nats.

    Parameters
    ----------
    components : ndarray of shape (K, V)
        Word probabilities of the topics; the result is -inf if a held-out word has probability 0 in all topics.
    alpha : ndarray of shape (K,)
        Dirichlet parameters of the proportions.
    tables : array or sparse matrix of shape (n_documents, V), or an iterator over such pieces
        Held-out counts; of an iterator one piece is in memory at a time.
    random_state : int
        Seed of the split into halves.
    max_iter, tol
        Of the proportions, as in `moments.fold_in`.
    n_jobs : int, optional
        Number of threads. Results are the same for any value.

    Returns
    -------
    float
    """
    rng = np.random.default_rng(
        random_state
    )  # one generator for all pieces, so the result does not depend on their sizes
    total, log_likelihood = 0.0, 0.0
    for table in tables if isinstance(tables, Iterator) else [tables]:
        observed, hidden = split_tokens(table, rng)
        weights = fold_in(observed, components, alpha, max_iter=max_iter, tol=tol, n_jobs=n_jobs)
        probability = token_probabilities(hidden, components, weights)
        is_word = hidden.data > 0
        with np.errstate(divide="ignore"):
            log_likelihood += float(hidden.data[is_word] @ np.log(probability[is_word]))
        total += float(hidden.sum())
    if total == 0:
        raise LatentiaError("The held-out documents have no words to predict. Use documents of at least two words.")
    return log_likelihood / total


def completion_perplexity(
    components: np.ndarray, alpha: np.ndarray, table: Any, *, random_state: int = 0, n_jobs: int | None = None
) -> float:
    """Compute the perplexity of hidden tokens: 1 is certainty, V is a uniform guess; lower is better.

    Parameters
    ----------
    components : ndarray of shape (K, V)
        Word probabilities of the topics.
    alpha : ndarray of shape (K,)
        Dirichlet parameters of the proportions.
    table : array-like or sparse matrix of shape (n_documents, V)
        Counts of words in documents.
    random_state : int, default=0
        Seed of the halves.
    n_jobs : int, optional
        Number of threads. Results are the same for any value.

    Returns
    -------
    float
    """
    return float(np.exp(-completion_log_likelihood(components, alpha, table, random_state=random_state, n_jobs=n_jobs)))
