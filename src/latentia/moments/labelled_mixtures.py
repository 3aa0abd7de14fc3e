"""Mixtures of labelled documents: posteriors of the topic, and EM updates of a pass.

Model: a document has topic k with probability w_k; given the topic its labels are independent, each on with probability
gamma_kl, and its words are either independent, each present with probability mu_kv, or drawn one after the other from the
distribution mu_k. In logarithms both are a constant of the topic plus a sum over what is present:

    log P[x | k] = sum_v log(1 - mu_kv) + sum_(v in x) (log mu_kv - log(1 - mu_kv)),      or      sum_v x_v log mu_kv,

so that absent words cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._threads import Parallel, for_chunks
from ..passes import Block
from .counts import as_counts
from .mixtures import _ROWS, MixtureSums, MultinomialMixtureUpdate, _multinomial

__all__ = ["LabelledMixtureUpdate", "LogProbabilities", "log_probabilities", "topic_posterior"]

_LEAST = 1e-12
_CHUNK = 1 << 14


@dataclass(frozen=True)
class LogProbabilities:
    """A mixture in logarithms: log P[k, x] = ``constant``_k + sum_v x_v ``by_word``_vk (+ what no topic changes).

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
    """Logarithms of word probabilities (K, D) and weights (K,); one array of that size is made.

    Parameters
    ----------
    occurrences : bool
        Words are independently present or absent; otherwise they are drawn one after the other.
    threshold : float
        eta: absent words count only in topics where they have at least this probability.
    share, overall : float, ndarray of shape (D,)
        Words are first mixed with this share of their overall probabilities.
    """
    by_word = np.empty(words.shape[::-1])
    constant = np.log(np.maximum(weights, np.finfo(float).tiny))
    for a in range(0, len(by_word), _CHUNK):
        part = words[:, a : a + _CHUNK]
        if overall is not None:
            part = (1 - share) * part + share * overall[a : a + _CHUNK]
        logs = np.log(np.maximum(part, _LEAST))
        if occurrences:
            absent = np.log1p(-np.minimum(part, 1 - _LEAST))
            absent[part <= threshold] = 0.0
            constant += absent.sum(axis=1)
            logs -= absent
        by_word[a : a + _CHUNK] = logs.T
    return LogProbabilities(by_word, constant, weights)


def topic_posterior(table: Any, model: LogProbabilities, n_jobs: int | None = None) -> np.ndarray:
    """P[k | x] of the rows of a table of counts or occurrences, shape (n, K), computed in logarithms."""
    counts = as_counts(table)
    n = len(counts.indptr) - 1
    posterior, log_likelihood = np.empty((n, len(model.weights))), np.empty(n)

    def task(first: int, last: int) -> None:
        _multinomial(counts, first, last, model.by_word, model.constant, model.weights, posterior, log_likelihood)

    for_chunks(task, n, _ROWS, n_jobs)
    return posterior


class LabelledMixtureUpdate(MultinomialMixtureUpdate):
    """In-place statistic of one EM step for blocks (C, Y) of words and label sets.

    Parameters
    ----------
    words : ndarray of shape (K, D)
    labels : ndarray of shape (K, L)
    weights : ndarray of shape (K,)
    occurrences : bool
        As in `log_probabilities`.
    """

    def __init__(self, words: np.ndarray, labels: np.ndarray, weights: np.ndarray, occurrences: bool) -> None:
        self.n_words, self.occurrences, self.weights = words.shape[1], occurrences, weights
        first = log_probabilities(words, weights, occurrences=occurrences)
        second = log_probabilities(labels, np.ones(len(weights)), occurrences=True)
        self.log_by_word = np.concatenate([first.by_word, second.by_word])
        self.log_weights = first.constant + second.constant

    def add_tasks(self, state: MixtureSums, block: Block, parallel: Parallel) -> MixtureSums:
        both = sparse.hstack([block[0], block[1]], format="csr")
        return super().add_tasks(state, Block.of((both,), block.number, block.start, block.rows), parallel)

    def updated_model(
        self, state: MixtureSums, word_frequencies: np.ndarray, label_frequencies: np.ndarray, strength: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Words (K, D), labels (K, L) and weights (K,) after the pass.

        ``strength`` pseudo-documents with the overall frequencies (D,) and (L,) are added to every topic.
        """
        expected = np.concatenate(state.first, axis=1).T
        words, labels = expected[:, : self.n_words], expected[:, self.n_words :]
        mass = state.mass[:, None] + strength
        words = words + strength * word_frequencies
        words /= mass if self.occurrences else words.sum(axis=1, keepdims=True)
        return words, (labels + strength * label_frequencies) / mass, state.mass / state.mass.sum()
