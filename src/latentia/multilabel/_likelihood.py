"""Mixtures of labelled documents: posteriors of topics, and the EM update.

Model: a document has topic k with probability w_k; given the topic its labels are independent, each on with probability
gamma_kl, and its words are either independent, each present with probability mu_kv, or drawn one after the other from the
distribution mu_k. In logarithms both are a constant of the topic plus a sum over the words present:

    log P[x | k] = sum_v log(1 - mu_kv) + sum_(v in x) (log mu_kv - log(1 - mu_kv)),      or      sum_v x_v log mu_kv,

so that absent words cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..likelihood import Chances, Distributions, Expected, MultinomialMixtureUpdate, Values
from ..likelihood.multinomial import ROWS, multinomial_posterior
from ..likelihood.rows import MixtureSums
from ..moments.counts import as_counts
from ..passes import Block
from ..system.threads import Parallel, run_in_chunks

_MIN_PROBABILITY = 1e-12  # its logarithm is finite
_CHUNK = 1 << 14  # words at a time


@dataclass(frozen=True)
class LogProbabilities:
    """A mixture in logarithms: log P[k, x] = constant[k] + sum_v x_v by_word[v, k], up to a constant of x.

    Attributes
    ----------
    by_word : ndarray of shape (D, K)
    constant : ndarray of shape (K,)
    weights : ndarray of shape (K,)
    """

    by_word: np.ndarray
    constant: np.ndarray
    weights: np.ndarray


def log_probabilities(
    words: np.ndarray,
    weights: np.ndarray,
    *,
    occurrences: bool,
    threshold: float = 0.0,
    share: float = 0.0,
    overall: np.ndarray | None = None,
) -> LogProbabilities:
    """Compute logarithms of word probabilities (K, D) and weights (K,), in one new array of that size.

    Parameters
    ----------
    occurrences : bool
        Whether words are independently present or absent, not drawn one after the other.
    threshold : float
        eta: absent words count only in topics where they have at least this probability.
    share, overall : float, ndarray of shape (D,)
        Share of the overall probabilities that is first mixed in.
    """
    by_word = np.empty(words.shape[::-1])
    constant = np.log(np.maximum(weights, np.finfo(float).tiny))
    _fill(by_word, constant, words, occurrences, threshold, share, overall)
    return LogProbabilities(by_word, constant, weights)


def _fill(
    by_word: np.ndarray, constant: np.ndarray, words: np.ndarray, occurrences: bool, threshold: float = 0.0,
    share: float = 0.0, overall: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Write logarithms of word probabilities (K, D) to an array (D, K), and add those of absent words to the constants (K,)."""
    for a in range(0, len(by_word), _CHUNK):
        part = words[:, a : a + _CHUNK]
        if overall is not None:
            part = (1 - share) * part + share * overall[a : a + _CHUNK]
        logs = np.log(np.maximum(part, _MIN_PROBABILITY))
        if occurrences:
            absent = np.log1p(-np.minimum(part, 1 - _MIN_PROBABILITY))
            absent[part <= threshold] = 0.0
            constant += absent.sum(axis=1)
            logs -= absent
        by_word[a : a + _CHUNK] = logs.T


def topic_posterior(table: Any, model: LogProbabilities, n_jobs: int | None = None) -> np.ndarray:
    """Compute P[k | x] of the rows of a table of counts or occurrences, shape (n, K), in logarithms."""
    return topic_rows(table, model, n_jobs)[0]


def topic_rows(table: Any, model: LogProbabilities, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Compute P[k | x] of rows of counts or occurrences, shape (n, K), and their log-likelihoods, shape (n,)."""
    counts = as_counts(table)
    n = len(counts.indptr) - 1
    posterior, log_likelihood = np.empty((n, len(model.weights))), np.empty(n)

    def task(first: int, last: int) -> None:
        multinomial_posterior(
            counts, first, last, model.by_word, model.constant, model.weights, posterior, log_likelihood
        )

    run_in_chunks(task, n, ROWS, n_jobs)
    return posterior, log_likelihood


@dataclass(frozen=True)
class Pseudo:
    """Pseudo-documents added to every topic: their number, and the frequencies of words (D,) and labels (L,) in them."""

    strength: float
    words: np.ndarray
    labels: np.ndarray


class MixtureWithLabelsUpdate(MultinomialMixtureUpdate):
    """In-place statistic of one E-step for blocks (C, Y) of words and label sets.

    Parameters
    ----------
    words : ndarray of shape (K, D)
    labels : ndarray of shape (K, L)
    weights : ndarray of shape (K,)
    occurrences : bool
        As in `log_probabilities`.
    pseudo : Pseudo
    """

    def __init__(
        self, words: np.ndarray, labels: np.ndarray, weights: np.ndarray, occurrences: bool, pseudo: Pseudo
    ) -> None:
        self.words, self.labels, self.weights = words, labels, weights
        self.occurrences, self.pseudo = occurrences, pseudo
        self.log_by_word, n_words = np.empty((words.shape[1] + labels.shape[1], len(weights))), words.shape[1]
        self.log_weights, absent = np.log(np.maximum(weights, np.finfo(float).tiny)), np.zeros(len(weights))
        _fill(self.log_by_word[:n_words], self.log_weights, words, occurrences)
        _fill(self.log_by_word[n_words:], absent, labels, True)
        self.log_weights += absent

    @property
    def values(self) -> Values:
        return self.words, self.labels, self.weights

    def move_to(self, *values: np.ndarray) -> MixtureWithLabelsUpdate:
        words, labels, weights = values
        return MixtureWithLabelsUpdate(words, labels, weights, self.occurrences, self.pseudo)

    def add_tasks(self, state: MixtureSums, block: Block, parallel: Parallel) -> MixtureSums:
        words_and_labels = sparse.hstack([block[0], block[1]], format="csr")
        return super().add_tasks(
            state, Block.from_parts((words_and_labels,), block.number, block.start, block.rows), parallel
        )

    def expected(self, sums: MixtureSums) -> tuple[Expected, ...]:
        counts, n_words = np.concatenate(sums.first, axis=1).T, self.words.shape[1]
        mass, strength = sums.mass[:, None], self.pseudo.strength
        words: Expected
        if self.occurrences:
            words = Chances(self.words, counts[:, :n_words], mass, (strength * self.pseudo.words, strength))
        else:
            words = Distributions(self.words, counts[:, :n_words], strength * self.pseudo.words)
        labels = Chances(self.labels, counts[:, n_words:], mass, (strength * self.pseudo.labels, strength))
        return words, labels, Distributions(self.weights, sums.mass)
