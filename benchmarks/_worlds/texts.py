"""Corpora, for the three topic models.

The true error of a topic is the l1 distance of its words to the nearest true topic's.

Where words of a topic change from document to document (registers, phrases, drift) the truth is their mean; where something
else than topics writes (boilerplate, foreign words, spam, quotes, bursts), it is the topics without that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from latentia.metrics.held_out import completion_log_likelihood

from .world import Case, Rng, copies, labels_of, remembering

Lengths = Callable[[Rng, int], np.ndarray]
Mixing = Callable[[Rng, int], np.ndarray]  # proportions of n documents, (n, K)
Change = Callable[[Rng, np.ndarray, np.ndarray], np.ndarray]  # (rng, proportions, word probabilities (n, V))
After = Callable[[Rng, np.ndarray, np.ndarray], np.ndarray]  # (rng, proportions, counts (n, V))


# --- topics -------------------------------------------------------------------------------------------------------


def scattered(rng: Rng, k: int, v: int, concentration: float = 0.1) -> np.ndarray:
    """Topics drawn from a Dirichlet distribution."""
    return rng.dirichlet(np.full(v, concentration), k)


def zipfian(rng: Rng, k: int, v: int, spread: float = 1.5) -> np.ndarray:
    """Words of Zipfian frequencies, which topics prefer and avoid by log-normal factors."""
    topics = 1 / (np.arange(v) + 3.0) * np.exp(spread * rng.standard_normal((k, v)))
    return topics / topics.sum(axis=1, keepdims=True)


def with_anchors(rng: Rng, topics: np.ndarray, each: int = 3, share: float = 0.05) -> np.ndarray:
    """Each topic gets words of its own, at the end of the vocabulary, of this probability together."""
    k, v = topics.shape
    own = np.zeros((k, v))
    for j in range(k):
        own[j, v - (j + 1) * each : v - j * each] = 1 / each
    topics = np.where(own.any(axis=0), 0, topics)
    return (1 - share) * topics / topics.sum(axis=1, keepdims=True) + share * own


def alike(rng: Rng, topics: np.ndarray, common: float) -> np.ndarray:
    """A share of every topic's words comes from one background."""
    return (1 - common) * topics + common * rng.dirichlet(np.full(topics.shape[1], 0.3))


def twins(rng: Rng, topics: np.ndarray, own: float) -> np.ndarray:
    """The last topic is the first but for a share of its words."""
    out = topics.copy()
    out[-1] = (1 - own) * topics[0] + own * topics[-1]
    return out


# --- proportions, lengths -----------------------------------------------------------------------------------------


def single(shares: np.ndarray, stay: float = 0.0) -> Mixing:
    return lambda rng, n: np.eye(len(shares))[labels_of(rng, n, shares, stay)]


def dirichlet(shares: np.ndarray, total: float) -> Mixing:
    return lambda rng, n: rng.dirichlet(total * shares, n)


def logistic_normal(rng: Rng, k: int, size: float, correlation: float, rho: float = 0.0) -> Mixing:
    """Softmax of Gaussians: pairs of topics go together, or not; with ``rho`` those of neighbours, too."""
    factor = np.linalg.qr(rng.standard_normal((k, k)))[0] * np.geomspace(1, 0.2, k)
    factor = correlation * factor * np.sqrt(k / (np.geomspace(1, 0.2, k) ** 2).sum()) + (1 - correlation) * np.eye(k)

    def mixing(rng: Rng, n: int) -> np.ndarray:
        g = size * (remembering(rng, n, k, rho) if rho else rng.standard_normal((n, k))) @ factor.T
        w = np.exp(g - g.max(axis=1, keepdims=True))
        return w / w.sum(axis=1, keepdims=True)

    return mixing


def few_of(shares: np.ndarray, count: int) -> Mixing:
    """Each document has this many topics, in equal parts."""

    def mixing(rng: Rng, n: int) -> np.ndarray:
        keys = np.log(shares) + rng.gumbel(size=(n, len(shares)))
        return (np.argsort(np.argsort(-keys)) < count) / count

    return mixing


def about(mean: float) -> Lengths:
    return lambda rng, n: rng.poisson(mean, n)


def heavy_tailed(median: float, spread: float = 1.2) -> Lengths:
    return lambda rng, n: np.minimum(np.round(median * np.exp(spread * rng.standard_normal(n))), 3000).astype(int)


# --- corpora ------------------------------------------------------------------------------------------------------


def corpus(
    rng: Rng,
    model: Callable[[Any], Any],
    topics: np.ndarray | None,
    mixing: Mixing,
    lengths: Lengths,
    n: int,
    *,
    words: np.ndarray | None = None,
    burst: float | None = None,
    change: Change | None = None,
    after: After | None = None,
    average: bool = False,
    times: int = 1,
    one_each: bool = False,
) -> Case:
    """Documents and a topic model of them, ``model(refine)``.

    ``burst``: each document has word probabilities of its own, Dirichlet with this total; ``change`` makes other word
    probabilities, ``after`` other counts; with ``average`` the truth is the mean of what pure documents say. ``words``: the
    topics to draw from where nothing is to be found.
    """
    words = topics if words is None else words

    def draw(rng: Rng, n: int) -> sparse.csr_array:
        W = mixing(rng, n // times)
        P = W @ words
        P = change(rng, W, P) if change else P
        if burst:
            P = rng.standard_gamma(burst * P) + 1e-12
        counts = rng.multinomial(lengths(rng, len(P)), P / P.sum(axis=1, keepdims=True))
        counts = after(rng, W, counts) if after else counts
        return sparse.csr_array(counts if times == 1 else counts[copies(rng, n, times)], dtype=float)

    X, new = draw(rng, n), draw(rng, 400)
    frequencies = X.sum(axis=0) / X.sum()
    frequencies = 0.999 * frequencies + 0.001 / len(frequencies)

    def score(fitted: Any) -> tuple[float, float]:
        if one_each:
            return fitted.score(new), float((new @ np.log(frequencies)).mean())
        return fitted.score(new), completion_log_likelihood(frequencies[None], np.ones(1), new)

    true = topics if topics is None or not average else averages(rng, topics, change, after)
    distances = None if true is None else lambda fitted: cdist(fitted.components_, true, "cityblock")
    return Case(model, lambda estimator: estimator.fit(X), distances, score, 2.0)


def averages(rng: Rng, topics: np.ndarray, change: Change | None, after: After | None) -> np.ndarray:
    """Word frequencies of long documents of one topic each."""
    out = []
    for one in np.eye(len(topics)):
        W = np.tile(one, (1000, 1))
        P = change(rng, W, W @ topics) if change else W @ topics
        P /= P.sum(axis=1, keepdims=True)
        # `after` takes counts: 10,000 words for each document, as expected.
        P = after(rng, W, np.round(10_000 * P).astype(np.int64)) / 10_000 if after else P
        out.append(P.sum(axis=0) / P.sum())
    return np.array(out)


# --- what is wrong with them --------------------------------------------------------------------------------------


def foreign(topics: np.ndarray, share: float) -> Change:
    """A share of the words of each document is of another topic, drawn for the document."""

    def change(rng: Rng, W: np.ndarray, P: np.ndarray) -> np.ndarray:
        return (1 - share) * P + share * topics[rng.integers(0, len(topics), len(P))]

    return change


def style(rng: Rng, v: int, share: float, size: float) -> Change:
    """Some documents are of another register, which prefers and avoids words by log-normal factors."""
    factors = np.exp(size * rng.standard_normal(v))
    return lambda rng, W, P: np.where(rng.random((len(P), 1)) < share, P * factors, P)


def boilerplate(rng: Rng, v: int, share: float, part: float) -> Change:
    """Some documents have a part of common words that is the same everywhere."""
    text = rng.dirichlet(np.full(v, 0.05))
    return lambda rng, W, P: np.where(rng.random((len(P), 1)) < share, (1 - part) * P + part * text, P)


def drifting(rng: Rng, v: int, size: float) -> Change:
    """Words come into and out of use from the first document to the last, by factors e^(+-size / 2)."""
    slope = size * rng.standard_normal(v)
    return lambda rng, W, P: P * np.exp(np.linspace(-0.5, 0.5, len(P))[:, None] * slope)


def spam(rng: Rng, v: int, share: float, length: int) -> After:
    """Some documents are one and the same text."""
    text = rng.multinomial(length, rng.dirichlet(np.full(v, 0.1)))

    def after(rng: Rng, W: np.ndarray, counts: np.ndarray) -> np.ndarray:
        counts[rng.random(len(counts)) < share] = text
        return counts

    return after


def phrases(v: int) -> After:
    """Words come in fixed pairs: with each word of even number the next one is said as well."""

    def after(rng: Rng, W: np.ndarray, counts: np.ndarray) -> np.ndarray:
        counts[:, 1 : v - v % 2 : 2] += counts[:, 0 : v - v % 2 : 2]
        return counts

    return after


def quoting(share: float) -> After:
    """Some documents hold another document as well."""

    def after(rng: Rng, W: np.ndarray, counts: np.ndarray) -> np.ndarray:
        quote = rng.random(len(counts)) < share
        counts[quote] += counts[rng.integers(0, len(counts), int(quote.sum()))]
        return counts

    return after


def carried(share: float) -> After:
    """Each word of a document is in the next one as well with this probability, until the topic changes: threads of letters."""

    def after(rng: Rng, W: np.ndarray, counts: np.ndarray) -> np.ndarray:
        same = np.append(False, np.abs(np.diff(W, axis=0)).sum(axis=1) < 0.5)
        fresh = rng.binomial(counts, 1 - share)
        for i in np.flatnonzero(same):
            counts[i] = fresh[i] + rng.binomial(counts[i - 1], share)
        return counts

    return after


def long_ones(rng: Rng, v: int, share: float, length: int) -> After:
    """Some documents are lists of all words, and very long."""

    def after(rng: Rng, W: np.ndarray, counts: np.ndarray) -> np.ndarray:
        out = rng.random(len(counts)) < share
        counts[out] = rng.multinomial(length, np.full(v, 1 / v), int(out.sum()))
        return counts

    return after


def twice_said(rng: Rng, W: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Every word is said twice."""
    return 2 * counts


def lengths_by_topic(topics: np.ndarray, fold: float) -> After:
    """Documents of some topics are shorter: their words are kept with a probability down to 1 / fold."""
    keep = np.geomspace(1, 1 / fold, len(topics))
    return lambda rng, W, counts: rng.binomial(counts, (W @ keep)[:, None])


def subtopics(rng: Rng, topics: np.ndarray, own: float) -> Change:
    """Each topic comes in three kinds, with a share of words of their own; the truth is their mean."""
    kinds = rng.dirichlet(np.full(topics.shape[1], 0.1), (len(topics), 3))
    kinds -= kinds.mean(axis=1, keepdims=True)

    def change(rng: Rng, W: np.ndarray, P: np.ndarray) -> np.ndarray:
        P = P + own * np.einsum("nk,nkv->nv", W, kinds[:, rng.integers(0, 3, len(P))].transpose(1, 0, 2))
        return np.maximum(P, 1e-6)

    return change
