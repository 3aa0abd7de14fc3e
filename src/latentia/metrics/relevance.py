"""Relevance: words that distinguish a topic from the others.

Model. With p(w | k) the probability of word w in topic k and q(w) its probability in the background, relevance is

    lambda log p(w | k) + (1 - lambda) log ((p(w | k) + d) / (q(w) + d)).

lambda = 1 ranks by probability, so that the words of the language come first; 0 by lift alone, where rare words do.

Source: C. Sievert, K. Shirley, LDAvis: a method for visualizing and interpreting topics, 2014, with two differences:

1. There q is the word's frequency in the corpus. Here it may be that in the other topics (`other_topics`), so that a topic with
   half of all words can still stand out.
2. There d = 0. Here it is 0.3 / V, three tenths of the mean frequency of a word, since rare words have lifts by chance.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from ..exceptions import LatentiaError

RELEVANCE = 0.5
"""Default weight of a word's probability against its lift."""

_SMOOTHING = 0.3  # smoothing of lifts, in mean frequencies of a word
_ABSENT = -np.inf


def other_topics(topics: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Average the other topics of each topic by their shares, shape (K, V).

    Parameters
    ----------
    topics : ndarray of shape (K, V)
    shares : ndarray of shape (K,)
        Shares of the topics in the corpus. If all others have none, they count equally; a single topic returns itself.

    Returns
    -------
    ndarray of shape (K, V)
    """
    n_topics = len(topics)
    if n_topics == 1:
        return topics.copy()
    weights = (np.ones((n_topics, n_topics)) - np.eye(n_topics)) * shares
    total = weights.sum(axis=1, keepdims=True)
    weights = np.where(total > 0, weights, 1.0 - np.eye(n_topics))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True) @ topics)


def relevance(topics: np.ndarray, word_frequencies: np.ndarray, weight: float = RELEVANCE) -> np.ndarray:
    """Compute the relevance of each word for each topic, shape (K, V); higher is better.

    Parameters
    ----------
    topics : ndarray of shape (K, V)
        Word probabilities.
    word_frequencies : ndarray of shape (V,) or (K, V)
        Background: frequencies of the words in the corpus, or outside of each topic (`other_topics`).
    weight : float
        lambda, from 0 to 1.

    Returns
    -------
    ndarray of shape (K, V)
        Relevance in nats; minus infinity for words that a topic lacks.
    """
    if not 0 <= weight <= 1:
        raise LatentiaError("expected a number from 0 to 1.", parameter="relevance", value=weight)
    rare = _SMOOTHING / topics.shape[1]
    lift = np.log(topics + rare) - np.log(word_frequencies + rare)
    present = topics > 0
    return np.where(present, weight * np.log(np.where(present, topics, 1.0)) + (1 - weight) * lift, _ABSENT)


def frex(topics: np.ndarray, weight: float = 0.5) -> np.ndarray:
    """Compute FREX, the frequency and exclusivity of each word in each topic, shape (K, V), from 0 to 1.

    The harmonic mean 1 / (weight / E + (1 - weight) / F) of two shares of the words of a topic: F, those that are at most as
    probable in it, and E, those that are at most as exclusive to it, by p(w | k) over the sum of that in all topics.

    Parameters
    ----------
    topics : ndarray of shape (K, V)
        Word probabilities.
    weight : float, default=0.5
        Weight of exclusivity, from 0 to 1.

    Returns
    -------
    ndarray of shape (K, V)

    Notes
    -----
    Source: J. Bischof, E. Airoldi, ICML 2012, as in the package stm of R.
    """
    if not 0 <= weight <= 1:
        raise LatentiaError("expected a number from 0 to 1.", parameter="weight", value=weight)
    total = topics.sum(axis=0)
    exclusive = topics / np.where(total > 0, total, 1.0)
    shares = [rankdata(values, "max", axis=1) / topics.shape[1] for values in (exclusive, topics)]
    return np.asarray(1 / (weight / shares[0] + (1 - weight) / shares[1]))


def top_words(
    components: np.ndarray,
    n_words: int = 10,
    *,
    word_frequencies: np.ndarray | None = None,
    relevance: float = 1.0,
) -> np.ndarray:
    """Return indices of the first words of every topic, shape (K, n_words); all words if there are fewer.

    Parameters
    ----------
    components : ndarray of shape (K, V)
        Word probabilities of topics.
    n_words : int
    word_frequencies : ndarray of shape (V,) or (K, V), optional
        Background, see `relevance`. Without it, words are ranked by probability.
    relevance : float
        Weight of the probability; with 1 the most probable words come first.

    Returns
    -------
    ndarray of int, shape (K, n_words)
    """
    scores = components if word_frequencies is None else _relevance(components, word_frequencies, relevance)
    return np.argsort(-scores, axis=1, kind="stable")[:, :n_words]


_relevance = relevance
