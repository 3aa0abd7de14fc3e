"""Documents of one topic each with labels, for `MomentMultiLabelClassifier`.

The true error of a topic is the l1 distance of its word probabilities, scaled to sum one, to those of the nearest true one.

The truth is P(word present | topic) where occurrences are given, or the words of a topic where counts are, on average over what
else differs from document to document, and without what other topics or the drawing of labels put in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from latentia.multilabel import MomentMultiLabelClassifier

from .world import Case, Rng, copies, labels_of, spread_shares, worlds

Rows = tuple[np.ndarray, np.ndarray]  # X, Y
Change = Callable[[Rng, np.ndarray, np.ndarray], np.ndarray]


def case(
    rng: Rng, draw: Callable[[Rng, int], Rows], n: int, k: int, words: np.ndarray | None, counts: bool = False
) -> Case:
    (X, Y), (new, _) = draw(rng, n), draw(rng, 1000)
    true = None if words is None else sum_one(words)
    inputs = sparse.csr_array(X, dtype=float), sparse.csr_array(Y, dtype=float)
    return Case(
        lambda refine: MomentMultiLabelClassifier(k, refine=refine),
        lambda model: model.fit(*inputs),
        None if true is None else lambda model: cdist(sum_one(model.word_probabilities_), true, "cityblock"),
        lambda model: (mixture_score(model, X, new, counts), trivial_score(X, new, counts)),
        2.0,
    )


def sum_one(words: np.ndarray) -> np.ndarray:
    return words / np.maximum(words.sum(axis=1, keepdims=True), 1e-12)


def frequencies(X: np.ndarray, counts: bool) -> np.ndarray:
    return (X.sum(axis=0) + 0.5) / (X.sum() + 0.5 * X.shape[1]) if counts else (X.sum(axis=0) + 0.5) / (len(X) + 1)


def log_words(new: np.ndarray, p: np.ndarray, counts: bool) -> np.ndarray:
    """Log-probability of the words of each document in each row of ``p``."""
    return new @ np.log(p).T if counts else new @ np.log(p / (1 - p)).T + np.log1p(-p).sum(axis=1)


def mixture_score(model: Any, X: np.ndarray, new: np.ndarray, counts: bool) -> float:
    """Mean log-probability of a document's words in the topics, mixed with 5% of the words' frequencies."""
    p = np.clip(0.95 * model.word_probabilities_ + 0.05 * frequencies(X, counts), 1e-6, 1 - 1e-6)
    weights = np.log(np.maximum(model.weights_, 1e-12))
    return float(logsumexp(log_words(new, p, counts) + weights, axis=1).mean())


def trivial_score(X: np.ndarray, new: np.ndarray, counts: bool) -> float:
    return float(log_words(new, frequencies(X, counts)[None], counts).mean())


def presences(rng: Rng, k: int, v: int, length: float, contrast: float = 1.5) -> np.ndarray:
    """P(word present | topic), Zipfian up to log-normal factors, about ``length`` words a document."""
    p = 1 / (np.arange(v) + 5.0) * np.exp(contrast * rng.standard_normal((k, v)))
    return np.minimum(p * length / p.sum(axis=1, keepdims=True), 0.9)


def documents(
    rng: Rng,
    n: int = 5000,
    k: int = 5,
    v: int = 150,
    length: float = 20,
    *,
    contrast: float = 1.5,
    words: np.ndarray | None = None,
    counts: bool = False,
    fold: float = 2.0,
    stay: float = 0.0,
    asked: int | None = None,
    n_labels: int = 15,
    change: Change | None = None,
    after: Change | None = None,
    average: bool = False,
    label_noise: float = 0.0,
    times: int = 1,
    shuffled: bool = True,
) -> Case:
    """``change`` makes other word probabilities, (rng, topics of the rows, P), ``after`` other rows."""
    words = presences(rng, k, v, length, contrast) if words is None else words
    k, v = words.shape
    gamma, shares = np.clip(rng.gamma(0.3, 0.6, (k, n_labels)), 0.01, 0.9), spread_shares(k, fold)

    def rows(rng: Rng, topics: np.ndarray) -> np.ndarray:
        P = change(rng, topics, words[topics]) if change else words[topics]
        X = rng.multinomial(rng.poisson(length, len(P)), sum_one(P)) if counts else rng.random(P.shape) < P
        return after(rng, topics, X.astype(np.int64)) if after else X.astype(np.int64)

    def draw(rng: Rng, n: int) -> Rows:
        topics = labels_of(rng, n // times, shares, stay)
        X, Y = rows(rng, topics), rng.random((len(topics), n_labels)) < gamma[topics]
        Y ^= rng.random(Y.shape) < label_noise
        again = np.arange(n) if times == 1 else copies(rng, n, times, shuffled)
        return X[again], Y[again]

    true = np.stack([rows(rng, np.full(4000, j)).mean(axis=0) for j in range(k)]) if average else words
    return case(rng, draw, n, k if asked is None else asked, true, counts)


# --- what is wrong with them --------------------------------------------------------------------------------------


def varying_lengths(spread: float) -> Change:
    """Long documents have more of all words: P = 1 - exp(-length p)."""
    return lambda rng, topics, P: 1 - np.exp(np.log1p(-P) * np.exp(spread * rng.standard_normal((len(P), 1))))


def foreign(words: np.ndarray, share: float) -> Change:
    """A share of each document's words is of another topic, drawn for the document."""
    return lambda rng, topics, P: (1 - share) * P + share * words[rng.integers(0, len(words), len(P))]


def mixtures(words: np.ndarray, total: float) -> Change:
    """Documents mix topics, their own the most."""

    def change(rng: Rng, topics: np.ndarray, P: np.ndarray) -> np.ndarray:
        W = rng.dirichlet(np.full(len(words), total / len(words)), len(P))
        return 0.6 * P + 0.4 * W @ words

    return change


def register(rng: Rng, v: int, size: float) -> Change:
    """In four of ten documents words are preferred or avoided whatever the topic."""
    factors = np.exp(size * rng.standard_normal(v))
    return lambda rng, topics, P: np.where(rng.random((len(P), 1)) < 0.4, np.minimum(P * factors, 0.95), P)


def drifting(rng: Rng, v: int, size: float) -> Change:
    slope = size * rng.standard_normal(v)
    return lambda rng, topics, P: np.minimum(P * np.exp(np.linspace(-0.5, 0.5, len(P))[:, None] * slope), 0.95)


def in_pairs(rng: Rng, topics: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Words come in pairs: the second of each is there as well in 60% of the documents with the first."""
    X[:, 1::2] |= X[:, : X.shape[1] - X.shape[1] % 2 : 2] & (rng.random(X[:, 1::2].shape) < 0.6)
    return X


def unread(rng: Rng, topics: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Of a quarter of the documents only the first half of the vocabulary was recorded."""
    X[np.ix_(rng.random(len(X)) < 0.25, np.arange(X.shape[1] // 2, X.shape[1]))] = 0
    return X


def lists(rng: Rng, topics: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Two in a hundred documents have half of all words."""
    out = rng.random(len(X)) < 0.02
    X[out] = rng.random((int(out.sum()), X.shape[1])) < 0.5
    return X


def bursts(rng: Rng, topics: np.ndarray, X: np.ndarray) -> np.ndarray:
    """A word that is said is said again, a geometric number of times."""
    return X * rng.geometric(0.5, X.shape)


def carried(rng: Rng, topics: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Each word is as in the row before but in every fourth row."""
    rows = np.arange(len(X))[:, None]
    new = np.where((rng.random(X.shape) < 0.25) | (rows == 0), rows, 0)
    return np.take_along_axis(X, np.maximum.accumulate(new, axis=0), axis=0)


def twins(words: np.ndarray, own: float) -> np.ndarray:
    out = words.copy()
    out[-1] = (1 - own) * words[0] + own * words[-1]
    return out


def with_words(make: Callable[[np.ndarray], Change], **options: Any) -> Callable[[Rng], Case]:
    """A change that needs the topics."""

    def draw(rng: Rng) -> Case:
        words = presences(rng, 5, 150, 20)
        return documents(rng, words=words, change=make(words), **options)

    return draw


def nothing(rows: Callable[[Rng, int], np.ndarray], n: int = 4000, counts: bool = False) -> Callable[[Rng], Case]:
    """Words and labels that have nothing to do with any topic."""
    return lambda rng: case(rng, lambda r, n: (rows(r, n), r.random((n, 10)) < 0.15), n, 4, None, counts)


FLAT = np.minimum(20 / (np.arange(150) + 5.0) / (1 / (np.arange(150) + 5.0)).sum(), 0.9)

WORLDS = worlds(
    "MomentMultiLabelClassifier",
    right={
        "plenty": lambda rng: documents(rng, 12_000),
        "ten topics": lambda rng: documents(rng, 8000, 10, 300, 30),
        "twenty topics": lambda rng: documents(rng, 4000, 20, 400, 30),
        "counts": lambda rng: documents(rng, 6000, counts=True),
        "short counts": lambda rng: documents(rng, 8000, length=6, counts=True),
        "one label a topic": lambda rng: documents(rng, n_labels=5),
        "noisy labels": lambda rng: documents(rng, label_noise=0.15),
        "few documents": lambda rng: documents(rng, 500),
        "short": lambda rng: documents(rng, 8000, length=6),
        "shares 50-fold": lambda rng: documents(rng, 10_000, 6, 200, fold=50),
        "twins": lambda rng: documents(rng, 10_000, words=twins(presences(rng, 5, 150, 20), 0.3)),
        "topics alike": lambda rng: documents(rng, 8000, contrast=0.6),
        "hardly enough": lambda rng: documents(rng, 1500, length=12, contrast=0.8),
        "hopeless": lambda rng: documents(rng, 250, 8, 300, 8),
    },
    wrong={
        "varying lengths": lambda rng: documents(rng, change=varying_lengths(0.8), average=True),
        "very varying lengths": lambda rng: documents(rng, length=12, change=varying_lengths(1.4), average=True),
        "foreign words, a sixth": with_words(lambda words: foreign(words, 1 / 6)),
        "foreign words, a third": with_words(lambda words: foreign(words, 1 / 3)),
        "foreign words in counts": with_words(lambda words: foreign(words, 1 / 4), counts=True),
        "mixed topics": with_words(lambda words: mixtures(words, 1.0)),
        "bursty counts": lambda rng: documents(rng, length=15, counts=True, after=bursts),
        "register": lambda rng: documents(rng, change=register(rng, 150, 1.2), average=True),
        "drift": lambda rng: documents(rng, change=drifting(rng, 150, 2.5), average=True),
        "words in pairs": lambda rng: documents(rng, after=in_pairs, average=True),
        "half of the words unread": lambda rng: documents(rng, after=unread),
        "lists": lambda rng: documents(rng, after=lists),
        "copied rows": lambda rng: documents(rng, 5000, times=10),
        "copied rows, neighbours": lambda rng: documents(rng, 8000, length=10, times=10, shuffled=False),
        "time series": lambda rng: documents(rng, stay=0.99),
        "time series, words carried on": lambda rng: documents(rng, stay=0.997, after=carried),
        "K half": lambda rng: documents(rng, 8000, 8, 200, asked=4),
        "K twice": lambda rng: documents(rng, 6000, 4, 200, asked=8),
        "K one too few": lambda rng: documents(rng, 6000, 6, 200, asked=5),
    },
    empty={
        "independent words": nothing(lambda rng, n: (rng.random((n, 150)) < FLAT).astype(int)),
        "one topic, varying lengths": nothing(
            lambda rng, n: (rng.random((n, 150)) < varying_lengths(0.8)(rng, np.zeros(n), np.tile(FLAT, (n, 1)))) * 1
        ),
        "one topic, counts": nothing(
            lambda rng, n: rng.multinomial(rng.poisson(20, n), FLAT / FLAT.sum()), counts=True
        ),
        "one topic, copied rows": nothing(lambda rng, n: ((rng.random((n // 10, 150)) < FLAT) * 1)[copies(rng, n, 10)]),
    },
)
