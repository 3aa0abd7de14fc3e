"""Mixtures of multinomials, documents of one component each: posteriors, and the update of a pass.

Model: a document comes from component k with probability w_k, and its words are drawn from the distribution mu_k.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .._threads import Parallel, for_chunks
from ..moments.counts import Counts, as_counts
from ..passes import Block
from .admixture import COLUMNS, add_expected
from .coordinates import Distributions, Expected, Values
from .rows import MixtureSums, log, normalised

__all__ = [
    "ROWS",
    "MultinomialMixtureUpdate",
    "multinomial_log_likelihood",
    "multinomial_posterior",
    "multinomial_responsibilities",
]

ROWS = 1024  # documents of a task


class MultinomialMixtureUpdate:
    """In-place statistic of one E-step for documents that each have one component.

    Parameters
    ----------
    components : ndarray of shape (K, V)
        Word probabilities; a word of probability zero rules the component out.
    weights : ndarray of shape (K,)
    prior : float or ndarray of shape (V,)
        Pseudo-counts of every word in a component.
    """

    def __init__(self, components: np.ndarray, weights: np.ndarray, prior: Any = 0.0) -> None:
        self.components, self.weights = np.asarray(components, dtype=np.float64), np.asarray(weights, dtype=np.float64)
        self.log_by_word, self.log_weights, self.prior = log(self.components.T), log(self.weights), prior

    @property
    def values(self) -> Values:
        return self.components, self.weights

    def at(self, *values: np.ndarray) -> MultinomialMixtureUpdate:
        components, weights = values
        return MultinomialMixtureUpdate(components, weights, self.prior)

    def zero(self) -> MixtureSums:
        n_words, k = self.log_by_word.shape
        first = [np.zeros((n_words, min(COLUMNS, k - a))) for a in range(0, k, COLUMNS)]
        return MixtureSums(np.zeros(k), first)

    def add_tasks(self, state: MixtureSums, block: Block, parallel: Parallel) -> MixtureSums:
        counts = as_counts(block[0])
        n = len(counts.indptr) - 1
        posterior, log_likelihood = np.empty((n, len(self.weights))), np.empty(n)

        def rows(i: int) -> None:
            span = (i * ROWS, min(n, (i + 1) * ROWS))
            multinomial_posterior(
                counts, *span, self.log_by_word, self.log_weights, self.weights, posterior, log_likelihood
            )

        def columns(i: int) -> None:
            chunk = np.ascontiguousarray(posterior[:, i * COLUMNS : (i + 1) * COLUMNS])
            add_expected(counts.indptr, counts.indices, counts.data, chunk, state.first[i])

        parallel(rows, -(-n // ROWS))
        parallel(columns, len(state.first))
        state.mass += posterior.sum(axis=0)
        state.log_likelihood += float(log_likelihood.sum())
        state.n_rows += n
        return state

    def expected(self, sums: MixtureSums) -> tuple[Expected, ...]:
        counts = np.concatenate(sums.first, axis=1).T
        return Distributions(self.components, counts, self.prior), Distributions(self.weights, sums.mass)


def multinomial_responsibilities(
    table: Any, components: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Probabilities of the components given each document, shape (n_documents, K).

    Parameters
    ----------
    table : array or sparse matrix of shape (n_documents, V)
        Counts.
    components : ndarray of shape (K, V)
    weights : ndarray of shape (K,)
    n_jobs : int, optional
    """
    return _multinomial_rows(table, components, weights, n_jobs)[0]


def multinomial_log_likelihood(
    table: Any, components: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """log sum_k w_k prod_v A_kv^c_dv for each document, without the multinomial coefficient, shape (n_documents,)."""
    return _multinomial_rows(table, components, weights, n_jobs)[1]


def _multinomial_rows(
    table: Any, components: np.ndarray, weights: np.ndarray, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    counts, update = as_counts(table), MultinomialMixtureUpdate(components, weights)
    n = len(counts.indptr) - 1
    out = np.empty((n, len(update.weights))), np.empty(n)
    model = update.log_by_word, update.log_weights, update.weights
    for_chunks(lambda a, b: multinomial_posterior(counts, a, b, *model, *out), n, ROWS, n_jobs)
    return out


def multinomial_posterior(
    counts: Counts,
    first: int,
    last: int,
    log_by_word: np.ndarray,
    log_weights: np.ndarray,
    weights: np.ndarray,
    posterior: np.ndarray,
    log_likelihood: np.ndarray,
) -> None:
    """Responsibilities and log-likelihoods of documents first to last."""
    log_joint = np.tile(log_weights, (last - first, 1))
    _add_log_words(*counts, first, log_by_word, log_joint)
    posterior[first:last], log_likelihood[first:last] = normalised(log_joint, weights)


@njit(nogil=True, cache=True)
def _add_log_words(indptr, indices, data, first, log_by_word, log_joint):  # pragma: no cover - compiled
    k = log_by_word.shape[1]
    for d in range(len(log_joint)):
        out = log_joint[d]
        for e in range(indptr[first + d], indptr[first + d + 1]):
            c = data[e]
            if c == 0.0:  # a stored zero is no word: 0 * -inf is no number
                continue
            row = log_by_word[indices[e]]
            for j in range(k):
                out[j] += c * row[j]
