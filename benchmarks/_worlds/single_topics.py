"""Documents of one topic each, for `SingleTopicModel`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latentia.topics import SingleTopicModel

from . import texts
from .texts import about, heavy_tailed, scattered, single, zipfian
from .world import Case, Rng, spread_shares, worlds


def documents(
    rng: Rng,
    n: int = 4000,
    k: int = 5,
    v: int = 200,
    length: float = 20,
    *,
    topics: np.ndarray | None = None,
    mixing: texts.Mixing | None = None,
    lengths: texts.Lengths | None = None,
    fold: float = 2.0,
    stay: float = 0.0,
    asked: int | None = None,
    change: Callable[[np.ndarray], texts.Change] | None = None,
    **options: Any,
) -> Case:
    """``change`` takes the topics."""
    topics = scattered(rng, k, v) if topics is None else topics
    mixing = mixing or single(spread_shares(len(topics), fold), stay)
    asked = len(topics) if asked is None else asked
    if change:
        options["change"] = change(topics)
    return texts.corpus(
        rng, lambda refine: SingleTopicModel(asked, refine=refine), topics, mixing, lengths or about(length), n,
        one_each=True, **options,
    )  # fmt: skip


def nothing(words: Callable[[Rng], np.ndarray], lengths: texts.Lengths, **options: Any) -> Callable[[Rng], Case]:
    def draw(rng: Rng) -> Case:
        model = lambda refine: SingleTopicModel(4, refine=refine)  # noqa: E731
        one = single(np.ones(1))
        return texts.corpus(rng, model, None, one, lengths, 4000, words=words(rng)[None], one_each=True, **options)

    return draw


def zipf_words(rng: Rng) -> np.ndarray:
    return zipfian(rng, 1, 300, 0.5)[0]


WORLDS = worlds(
    "SingleTopicModel",
    right={
        "plenty": lambda rng: documents(rng, 8000),
        "ten topics": lambda rng: documents(rng, 6000, 10, 500),
        "twenty topics": lambda rng: documents(rng, 3000, 20, 500, 25),
        "short": lambda rng: documents(rng, 8000, 5, 200, 5),
        "Zipfian words": lambda rng: documents(rng, 6000, topics=zipfian(rng, 6, 400), length=25),
        "Zipfian words, tails of lengths": lambda rng: documents(
            rng, 5000, topics=zipfian(rng, 6, 400), lengths=heavy_tailed(12)
        ),
        "few documents": lambda rng: documents(rng, 400, 5, 200),
        "shares 50-fold": lambda rng: documents(rng, 8000, 6, 200, fold=50),
        "twins": lambda rng: documents(rng, 8000, topics=texts.twins(rng, scattered(rng, 5, 200), 0.25)),
        "common background": lambda rng: documents(rng, 8000, topics=texts.alike(rng, scattered(rng, 5, 200), 0.6)),
        "hardly enough": lambda rng: documents(rng, 1000, topics=zipfian(rng, 6, 400, 0.8), length=10),
        "hardly enough, short": lambda rng: documents(rng, 1500, 6, 300, 4),
        "hopeless": lambda rng: documents(rng, 200, 10, 500, 6),
        "long": lambda rng: documents(rng, 600, 6, 300, 120),
    },
    wrong={
        "foreign words, a sixth": lambda rng: documents(rng, change=lambda topics: texts.foreign(topics, 1 / 6)),
        "foreign words, a third": lambda rng: documents(rng, change=lambda topics: texts.foreign(topics, 1 / 3)),
        "mixed documents": lambda rng: documents(rng, mixing=texts.dirichlet(np.full(5, 0.2), 1.0)),
        "logistic-normal mixtures": lambda rng: documents(
            rng, mixing=texts.logistic_normal(rng, 5, 2.0, 0.6), length=40
        ),
        "bursty": lambda rng: documents(rng, burst=30.0),
        "bursty, Zipfian": lambda rng: documents(
            rng, topics=zipfian(rng, 6, 400), lengths=heavy_tailed(20), burst=50.0
        ),
        "words said twice": lambda rng: documents(rng, length=10, after=texts.twice_said),
        "phrases": lambda rng: documents(rng, length=12, after=texts.phrases(200), average=True),
        "register": lambda rng: documents(rng, change=lambda topics: texts.style(rng, 200, 0.4, 1.0), average=True),
        "boilerplate": lambda rng: documents(rng, change=lambda topics: texts.boilerplate(rng, 200, 0.3, 0.5)),
        "subtopics": lambda rng: documents(rng, change=lambda topics: texts.subtopics(rng, topics, 0.5)),
        "drift": lambda rng: documents(rng, change=lambda topics: texts.drifting(rng, 200, 2.0), average=True),
        "spam": lambda rng: documents(rng, after=texts.spam(rng, 200, 0.03, 40)),
        "lists": lambda rng: documents(rng, after=texts.long_ones(rng, 200, 0.01, 500)),
        "copied documents": lambda rng: documents(rng, 5000, times=10),
        "quoted documents": lambda rng: documents(rng, after=texts.quoting(0.3)),
        "threads": lambda rng: documents(rng, stay=0.95, after=texts.carried(0.8)),
        "lengths by topic": lambda rng: documents(
            rng, 5000, topics=(topics := scattered(rng, 5, 200)), length=30, after=texts.lengths_by_topic(topics, 8)
        ),
        "K half": lambda rng: documents(rng, 5000, 8, 300, asked=4),
        "K twice": lambda rng: documents(rng, 5000, 4, 300, asked=8),
        "K one too few": lambda rng: documents(rng, 5000, 6, 300, asked=5),
    },
    empty={
        "one topic": nothing(lambda rng: scattered(rng, 1, 200)[0], about(20)),
        "one topic, Zipfian, tails of lengths": nothing(zipf_words, heavy_tailed(15)),
        "one topic, bursty": nothing(zipf_words, about(30), burst=60.0),
        "one topic, copied documents": nothing(zipf_words, about(20), times=10),
    },
)
