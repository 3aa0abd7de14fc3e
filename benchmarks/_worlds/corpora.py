"""Corpora as others would make them, for the three topic models: words of Zipfian frequencies, and what texts are like.

There are a thousand words and more. Topics have words of their own because most words are rare in most topics (draws around
common frequencies, as in hierarchical Dirichlet processes) or because each has a vocabulary beside the common one. Lengths of
documents have heavy tails, proportions are logistic-normal or share a topic that is everywhere, and some corpora are small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA

from . import texts
from .texts import Lengths, Mixing, about
from .world import Case, Draw, Rng, worlds

Topics = Callable[[Rng, int, int], np.ndarray]


# --- topics -------------------------------------------------------------------------------------------------------


def ranked(rng: Rng, v: int, exponent: float = 1.1, shift: float = 3.0) -> np.ndarray:
    """Frequencies by the law of Zipf and Mandelbrot, in any order."""
    p = 1 / (np.arange(v) + shift) ** exponent
    return rng.permutation(p / p.sum())


def around(total: float) -> Topics:
    """Dirichlet draws around common frequencies: the smaller the total, the more words a topic has to itself."""

    def topics(rng: Rng, k: int, v: int) -> np.ndarray:
        drawn = rng.standard_gamma(total * ranked(rng, v), (k, v)) + 1e-12
        return drawn / drawn.sum(axis=1, keepdims=True)

    return topics


def vocabularies(common: float) -> Topics:
    """Each topic has a vocabulary of its own, and all say common words, which are half of the vocabulary, alike."""

    def topics(rng: Rng, k: int, v: int) -> np.ndarray:
        n_common, out = v // 2, np.zeros((k, v))
        for row, own in zip(out, np.array_split(n_common + rng.permutation(v - n_common), k), strict=True):
            row[own] = (1 - common) * ranked(rng, len(own))
        out[:, :n_common] += common * ranked(rng, n_common)
        return out

    return topics


def overlapping(rng: Rng, k: int, v: int) -> np.ndarray:
    """Every word belongs to three topics, neighbours in a ring: there are no words of one topic."""
    centre, p = rng.integers(0, k, v), ranked(rng, v)
    out = np.zeros((k, v))
    for step in (-1, 0, 1):
        out[(centre + step) % k, np.arange(v)] += p * rng.uniform(0.4, 1.0, v)
    return out / out.sum(axis=1, keepdims=True)


# --- proportions --------------------------------------------------------------------------------------------------


def even(k: int, each: float) -> Mixing:
    """Dirichlet proportions with this parameter for each topic."""
    return lambda rng, n: rng.dirichlet(np.full(k, each), n)


def uneven(k: int, total: float, fold: float) -> Mixing:
    """Dirichlet proportions, some topics so many times as frequent as others."""
    shares = np.linspace(1, fold, k)
    return lambda rng, n: rng.dirichlet(total * shares / shares.sum(), n)


def one_of(k: int, fold: float = 3.0) -> Mixing:
    shares = np.linspace(1, fold, k) / np.linspace(1, fold, k).sum()
    return lambda rng, n: np.eye(k)[rng.choice(k, n, p=shares)]


def softmax(k: int, size: float, alike: float) -> Mixing:
    """Logistic-normal proportions; ``alike``: correlation of topics of the same half of them."""

    def mixing(rng: Rng, n: int) -> np.ndarray:
        halves = rng.standard_normal((n, 2))[:, np.arange(k) % 2]
        g = size * (np.sqrt(alike) * halves + np.sqrt(1 - alike) * rng.standard_normal((n, k)))
        w = np.exp(g - g.max(axis=1, keepdims=True))
        return w / w.sum(axis=1, keepdims=True)

    return mixing


def everywhere(k: int, share: float, each: float) -> Mixing:
    """The first topic has about this share of every document, and the others mix in the rest."""

    def mixing(rng: Rng, n: int) -> np.ndarray:
        first = rng.beta(6 * share, 6 * (1 - share), (n, 1))
        return np.hstack([first, (1 - first) * rng.dirichlet(np.full(k - 1, each), n)])

    return mixing


# --- lengths ------------------------------------------------------------------------------------------------------


def pareto(exponent: float, least: float = 25, most: int = 5000) -> Lengths:
    return lambda rng, n: np.minimum(least * (1 + rng.pareto(exponent, n)), most).astype(int)


def log_normal(median: float, spread: float, most: int = 5000) -> Lengths:
    return lambda rng, n: np.minimum(median * rng.lognormal(0, spread, n), most).astype(int)


def bursts_of(mean: float, size: float = 1.5) -> Lengths:
    """Negative binomial."""
    return lambda rng, n: rng.negative_binomial(size, size / (size + mean), n)


# --- corpora ------------------------------------------------------------------------------------------------------


def background(rng: Rng, v: int, share: float, varies: bool = False) -> texts.Change:
    """A share of the words of all documents is of common frequencies, that no topic has; it may vary from one to another."""
    words = ranked(rng, v)

    def change(rng: Rng, W: np.ndarray, P: np.ndarray) -> np.ndarray:
        shares = rng.beta(4 * share, 4 * (1 - share), (len(P), 1)) if varies else share
        return (1 - shares) * P + shares * words

    return change


def drawn(
    estimator: Any,
    n: int,
    k: int,
    v: int,
    topics: Topics,
    mixing: Callable[[int], Mixing],
    lengths: Lengths | None = None,
    asked: int | None = None,
    behind: tuple[float, bool] | None = None,
) -> Draw:
    """``behind``: share of a background, and whether it varies."""

    def draw(rng: Rng) -> Case:
        words = topics(rng, k, v)
        change = background(rng, v, *behind) if behind else None
        model = lambda refine: estimator(asked or k, refine=refine)  # noqa: E731
        single = estimator is SingleTopicModel
        return texts.corpus(rng, model, words, mixing(k), lengths or about(100), n, change=change, one_each=single)

    return draw


def random_text(estimator: Any, lengths: Lengths, k: int = 6) -> Draw:
    """Words at random, by their frequencies."""

    def draw(rng: Rng) -> Case:
        model = lambda refine: estimator(k, refine=refine)  # noqa: E731
        words, one = ranked(rng, 1000)[None], one_of(1)
        single = estimator is SingleTopicModel
        return texts.corpus(rng, model, None, one, lengths, 3000, words=words, one_each=single)

    return draw


def mixed(estimator: Any) -> dict[str, Draw]:
    """Corpora in Dirichlet proportions."""
    few = lambda k: even(k, 0.1)  # noqa: E731
    return {
        "others': around common words": drawn(estimator, 3000, 8, 1000, around(300), few),
        "others': ten topics, 2000 words": drawn(estimator, 2500, 10, 2000, around(500), few),
        "others': negative binomial lengths": drawn(estimator, 3000, 8, 1000, around(300), few, bursts_of(90)),
        "others': log-normal lengths": drawn(estimator, 3000, 8, 1000, around(300), few, log_normal(50, 1.2)),
        "others': Pareto 2 lengths": drawn(estimator, 3000, 6, 800, around(300), few, pareto(2.0)),
        "others': Pareto 1.5 lengths": drawn(estimator, 3000, 6, 800, around(300), few, pareto(1.5)),
        "others': vocabularies": drawn(estimator, 2500, 8, 1000, vocabularies(0.3), few),
        "others': vocabularies, half common": drawn(estimator, 3000, 6, 800, vocabularies(0.5), few),
        "others': shares 10-fold": drawn(estimator, 4000, 8, 1000, around(300), lambda k: uneven(k, 0.8, 10)),
        "others': short": drawn(estimator, 4000, 6, 600, around(200), few, about(25)),
        "others': mixed much": drawn(estimator, 3000, 6, 800, around(300), lambda k: even(k, 0.5)),
        "others': 300 documents": drawn(estimator, 300, 5, 500, around(150), few, about(120)),
        "others': 300 documents, tails": drawn(estimator, 300, 5, 500, around(150), few, log_normal(80, 1.0)),
    }


def mixed_freely(estimator: Any) -> dict[str, Draw]:
    """Corpora in other proportions."""
    normal, nested = (lambda k: softmax(k, 2.0, 0.0)), (lambda k: softmax(k, 2.0, 0.6))
    behind = lambda k: everywhere(k, 0.4, 0.15)  # noqa: E731
    tails = log_normal(50, 1.2)
    return {
        "others': logistic-normal": drawn(estimator, 3000, 6, 800, around(300), normal),
        "others': logistic-normal, nested": drawn(estimator, 3000, 8, 1000, around(300), nested),
        "others': logistic-normal, tails": drawn(estimator, 3000, 6, 800, around(300), normal, tails),
        "others': logistic-normal, 300": drawn(estimator, 300, 5, 500, around(150), normal),
        "others': background topic": drawn(estimator, 3000, 7, 1000, around(300), behind),
        "others': background topic, tails": drawn(estimator, 3000, 7, 1000, around(300), behind, tails),
        "others': background topic, 300": drawn(estimator, 300, 5, 500, around(150), behind),
    }


def wrong_for_mixtures(estimator: Any) -> dict[str, Draw]:
    few = lambda k: even(k, 0.1)  # noqa: E731
    return {
        "others': single, background 30%": drawn(estimator, 3000, 6, 800, around(300), one_of, behind=(0.3, False)),
        "others': single, background about 30%": drawn(
            estimator, 3000, 6, 800, around(300), one_of, behind=(0.3, True)
        ),
        "others': every word in three topics": drawn(estimator, 3000, 8, 1000, overlapping, few),
        "others': words of all topics": drawn(estimator, 3000, 6, 800, around(5000), few),
        "others': K twice": drawn(estimator, 3000, 5, 800, around(300), few, asked=10),
        "others': K twice, tails": drawn(estimator, 3000, 5, 800, around(300), few, log_normal(50, 1.2), asked=10),
        "others': K half": drawn(estimator, 3000, 8, 1000, around(300), few, asked=4),
    }


def empty(estimator: Any) -> dict[str, Draw]:
    return {
        "others': random text": random_text(estimator, about(100)),
        "others': random text, tails": random_text(estimator, log_normal(50, 1.2)),
    }


def single(estimator: Any) -> tuple[dict[str, Draw], dict[str, Draw]]:
    """Corpora of one topic a document, and such as are nearly so."""
    right = {
        "others': around common words": drawn(estimator, 3000, 8, 1000, around(300), one_of, about(25)),
        "others': ten topics, 2000 words": drawn(estimator, 3000, 10, 2000, around(500), one_of, about(30)),
        "others': log-normal lengths": drawn(estimator, 3000, 6, 800, around(300), one_of, log_normal(15, 1.0)),
        "others': Pareto 1.5 lengths": drawn(estimator, 3000, 6, 800, around(300), one_of, pareto(1.5, 8)),
        "others': vocabularies": drawn(estimator, 2500, 8, 1000, vocabularies(0.3), one_of, about(20)),
        "others': alike": drawn(estimator, 3000, 6, 800, around(2000), one_of, about(30)),
        "others': short": drawn(estimator, 4000, 6, 600, around(200), one_of, about(7)),
        "others': 300 documents": drawn(estimator, 300, 5, 500, around(150), one_of, about(40)),
    }  # fmt: skip
    wrong = {
        "others': background 30%": drawn(estimator, 3000, 6, 800, around(300), one_of, about(40), behind=(0.3, False)),
        "others': background about 30%": drawn(
            estimator, 3000, 6, 800, around(300), one_of, about(40), behind=(0.3, True)
        ),
        "others': background about 60%": drawn(
            estimator, 3000, 6, 800, around(300), one_of, about(40), behind=(0.6, True)
        ),
        "others': K twice": drawn(estimator, 3000, 5, 800, around(300), one_of, about(30), asked=10),
        "others': K twice, ten topics": drawn(estimator, 3000, 10, 1000, around(300), one_of, about(30), asked=20),
        "others': K twice, long": drawn(estimator, 1500, 5, 800, around(300), one_of, about(150), asked=10),
        "others': K twice, vocabularies": drawn(estimator, 2500, 6, 800, vocabularies(0.3), one_of, about(30), asked=12),
        "others': K half": drawn(estimator, 3000, 8, 1000, around(300), one_of, about(30), asked=4),
        "others': mixed": drawn(estimator, 3000, 6, 800, around(300), lambda k: even(k, 0.15), about(40)),
    }  # fmt: skip
    return right, wrong


_RIGHT, _WRONG = single(SingleTopicModel)
WORLDS = [
    *worlds(
        "AnchorTopics",
        right=mixed(AnchorTopics) | mixed_freely(AnchorTopics),
        wrong=wrong_for_mixtures(AnchorTopics),
        empty=empty(AnchorTopics),
    ),
    *worlds(
        "SpectralLDA",
        right=mixed(SpectralLDA),
        wrong=mixed_freely(SpectralLDA) | wrong_for_mixtures(SpectralLDA),
        empty=empty(SpectralLDA),
    ),
    *worlds("SingleTopicModel", right=_RIGHT, wrong=_WRONG, empty=empty(SingleTopicModel)),
]
