"""Documents whose topics have words of their own, in any proportions, for `AnchorTopics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latentia.topics import AnchorTopics

from . import texts
from .texts import about, dirichlet, few_of, heavy_tailed, logistic_normal, scattered, single, with_anchors, zipfian
from .world import Case, Rng, spread_shares, worlds


def documents(
    rng: Rng,
    n: int = 3000,
    k: int = 6,
    v: int = 300,
    length: float = 80,
    *,
    alpha0: float = 0.8,
    topics: np.ndarray | None = None,
    share: float = 0.08,
    mixing: texts.Mixing | None = None,
    lengths: texts.Lengths | None = None,
    fold: float = 2.0,
    asked: int | None = None,
    change: Callable[[np.ndarray], texts.Change] | None = None,
    **options: Any,
) -> Case:
    """``share``: probability of a topic's own words, 0 for none; ``change`` takes the topics."""
    topics = scattered(rng, k, v, 0.3) if topics is None else topics
    topics = with_anchors(rng, topics, share=share) if share else topics
    mixing = mixing or dirichlet(spread_shares(len(topics), fold), alpha0)
    asked = len(topics) if asked is None else asked
    if change:
        options["change"] = change(topics)
    model = lambda refine: AnchorTopics(asked, refine=refine)  # noqa: E731
    return texts.corpus(rng, model, topics, mixing, lengths or about(length), n, **options)


def nothing(words: Callable[[Rng], np.ndarray], lengths: texts.Lengths, **options: Any) -> Callable[[Rng], Case]:
    def draw(rng: Rng) -> Case:
        model = lambda refine: AnchorTopics(4, refine=refine)  # noqa: E731
        return texts.corpus(rng, model, None, single(np.ones(1)), lengths, 3000, words=words(rng)[None], **options)

    return draw


def zipf_words(rng: Rng) -> np.ndarray:
    return zipfian(rng, 1, 300, 0.5)[0]


def dense(rng: Rng, k: int, v: int, own: float) -> np.ndarray:
    """Topics without words of their own: every word has a share of the background in each."""
    return texts.alike(rng, scattered(rng, k, v, 1.0), 1 - own)


def borrowed(topics: np.ndarray) -> np.ndarray:
    """Every topic says a quarter of the next one's words as well, so that no word is of one topic alone."""
    return 0.8 * topics + 0.2 * np.roll(topics, 1, axis=0)


def coupled(k: int) -> texts.Mixing:
    """The proportion of the last topic is always half of the first one's: R has no full rank."""

    def mixing(rng: Rng, n: int) -> np.ndarray:
        W = rng.dirichlet(np.full(k - 1, 0.2), n)
        return np.column_stack([W[:, 0] / 1.5, W[:, 1:], W[:, 0] / 3])

    return mixing


WORLDS = worlds(
    "AnchorTopics",
    right={
        "plenty": lambda rng: documents(rng, 8000),
        "ten topics": lambda rng: documents(rng, 5000, 10, 500),
        "twenty topics": lambda rng: documents(rng, 3000, 20, 500, alpha0=2.0),
        "logistic-normal, correlated": lambda rng: documents(rng, 5000, mixing=logistic_normal(rng, 6, 2.0, 0.8)),
        "two topics each, in halves": lambda rng: documents(rng, 4000, mixing=few_of(spread_shares(6, 2), 2)),
        "one topic each": lambda rng: documents(rng, 4000, mixing=single(spread_shares(6, 2)), length=30),
        "even proportions": lambda rng: documents(rng, 6000, alpha0=4.0),
        "short": lambda rng: documents(rng, 8000, length=15),
        "Zipfian words, tails of lengths": lambda rng: documents(
            rng, 6000, topics=zipfian(rng, 6, 400), lengths=heavy_tailed(50)
        ),
        "few documents": lambda rng: documents(rng, 400),
        "shares 50-fold": lambda rng: documents(rng, 8000, fold=50, alpha0=1.2),
        "twins": lambda rng: documents(rng, 6000, topics=texts.twins(rng, scattered(rng, 6, 300, 0.3), 0.3)),
        "rare anchors": lambda rng: documents(rng, 6000, share=0.015),
        "hardly enough": lambda rng: documents(rng, 500, length=20),
        "hardly enough, alike": lambda rng: documents(
            rng, 1000, topics=texts.alike(rng, scattered(rng, 6, 300, 0.3), 0.5), length=40
        ),
        "hopeless": lambda rng: documents(rng, 150, 10, 400, 20),
    },
    wrong={
        "no anchors": lambda rng: documents(rng, 5000, topics=dense(rng, 6, 300, 0.7), share=0),
        "no anchors, alike": lambda rng: documents(rng, 6000, topics=dense(rng, 6, 300, 0.4), share=0),
        "anchors in a second topic": lambda rng: documents(
            rng, 5000, topics=borrowed(with_anchors(rng, scattered(rng, 6, 300, 0.3))), share=0
        ),
        "bursty": lambda rng: documents(rng, burst=80.0),
        "bursty, Zipfian": lambda rng: documents(
            rng, topics=zipfian(rng, 6, 400), lengths=heavy_tailed(60), burst=60.0
        ),
        "words said twice": lambda rng: documents(rng, length=40, after=texts.twice_said),
        "phrases": lambda rng: documents(rng, length=40, after=texts.phrases(300), average=True),
        "register": lambda rng: documents(rng, change=lambda topics: texts.style(rng, 300, 0.4, 1.0), average=True),
        "boilerplate": lambda rng: documents(rng, change=lambda topics: texts.boilerplate(rng, 300, 0.3, 0.5)),
        "subtopics": lambda rng: documents(rng, change=lambda topics: texts.subtopics(rng, topics, 0.5)),
        "drift": lambda rng: documents(rng, change=lambda topics: texts.drifting(rng, 300, 2.0), average=True),
        "spam": lambda rng: documents(rng, after=texts.spam(rng, 300, 0.03, 120)),
        "lists": lambda rng: documents(rng, after=texts.long_ones(rng, 300, 0.01, 1500)),
        "copied documents": lambda rng: documents(rng, 4000, times=10),
        "quoted documents": lambda rng: documents(rng, after=texts.quoting(0.3)),
        "time series": lambda rng: documents(rng, 4000, mixing=logistic_normal(rng, 6, 2.5, 0.0, rho=0.98)),
        "threads": lambda rng: documents(
            rng, 4000, mixing=logistic_normal(rng, 6, 2.5, 0.0, rho=0.98), length=40, after=texts.carried(0.8)
        ),
        "topics always together": lambda rng: documents(rng, 5000, mixing=coupled(6)),
        "K half": lambda rng: documents(rng, 5000, 8, asked=4),
        "K twice": lambda rng: documents(rng, 5000, 4, asked=8),
        "K one too few": lambda rng: documents(rng, 5000, 6, asked=5),
    },
    empty={
        "one topic": nothing(lambda rng: scattered(rng, 1, 250)[0], about(80)),
        "one topic, Zipfian, tails of lengths": nothing(zipf_words, heavy_tailed(50)),
        "one topic, bursty": nothing(zipf_words, about(80), burst=100.0),
        "one topic, copied documents": nothing(zipf_words, about(60), times=10),
    },
)
