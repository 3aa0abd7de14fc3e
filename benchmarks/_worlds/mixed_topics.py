"""Documents that mix topics in Dirichlet proportions, for `SpectralLDA`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latentia.topics import SpectralLDA

from . import texts
from .texts import about, dirichlet, few_of, heavy_tailed, logistic_normal, scattered, single, zipfian
from .world import Case, Rng, spread_shares, worlds


def documents(
    rng: Rng,
    n: int = 3000,
    k: int = 5,
    v: int = 250,
    length: float = 80,
    *,
    alpha0: float = 0.8,
    told: float | None = None,
    topics: np.ndarray | None = None,
    mixing: texts.Mixing | None = None,
    lengths: texts.Lengths | None = None,
    fold: float = 2.0,
    asked: int | None = None,
    change: Callable[[np.ndarray], texts.Change] | None = None,
    **options: Any,
) -> Case:
    """``told``: the sum of the Dirichlet parameters that the model is given; ``change`` takes the topics."""
    topics = scattered(rng, k, v) if topics is None else topics
    mixing = mixing or dirichlet(spread_shares(len(topics), fold), alpha0)
    asked = len(topics) if asked is None else asked
    if change:
        options["change"] = change(topics)
    model = lambda refine: SpectralLDA(asked, alpha0=told, refine=refine)  # noqa: E731
    return texts.corpus(rng, model, topics, mixing, lengths or about(length), n, **options)


def nothing(words: Callable[[Rng], np.ndarray], lengths: texts.Lengths, **options: Any) -> Callable[[Rng], Case]:
    def draw(rng: Rng) -> Case:
        model = lambda refine: SpectralLDA(4, refine=refine)  # noqa: E731
        return texts.corpus(rng, model, None, single(np.ones(1)), lengths, 3000, words=words(rng)[None], **options)

    return draw


def zipf_words(rng: Rng) -> np.ndarray:
    return zipfian(rng, 1, 300, 0.5)[0]


WORLDS = worlds(
    "SpectralLDA",
    right={
        "plenty": lambda rng: documents(rng, 8000),
        "ten topics": lambda rng: documents(rng, 5000, 10, 400),
        "fifteen topics, few documents": lambda rng: documents(rng, 1000, 15, 400, alpha0=1.5),
        "alpha0 told": lambda rng: documents(rng, 3000, told=0.8),
        "sparse proportions": lambda rng: documents(rng, 4000, alpha0=0.2),
        "even proportions": lambda rng: documents(rng, 6000, alpha0=3.0),
        "short": lambda rng: documents(rng, 8000, length=15),
        "Zipfian words, tails of lengths": lambda rng: documents(
            rng, 5000, topics=zipfian(rng, 6, 400), lengths=heavy_tailed(50)
        ),
        "few documents": lambda rng: documents(rng, 400),
        "shares 50-fold": lambda rng: documents(rng, 8000, 6, fold=50, alpha0=1.2),
        "twins": lambda rng: documents(rng, 6000, topics=texts.twins(rng, scattered(rng, 5, 250), 0.3)),
        "common background": lambda rng: documents(rng, 6000, topics=texts.alike(rng, scattered(rng, 5, 250), 0.6)),
        "hardly enough": lambda rng: documents(rng, 800, topics=zipfian(rng, 6, 400, 1.0), length=40),
        "hopeless": lambda rng: documents(rng, 150, 8, 400, 20),
    },
    wrong={
        "logistic-normal": lambda rng: documents(rng, mixing=logistic_normal(rng, 5, 2.0, 0.0)),
        "logistic-normal, correlated": lambda rng: documents(rng, 5000, 6, mixing=logistic_normal(rng, 6, 2.0, 0.8)),
        "two topics each, in halves": lambda rng: documents(rng, 4000, 6, mixing=few_of(spread_shares(6, 2), 2)),
        "alpha0 told too small": lambda rng: documents(rng, 4000, alpha0=2.0, told=0.3),
        "alpha0 told too large": lambda rng: documents(rng, 4000, alpha0=0.3, told=4.0),
        "bursty": lambda rng: documents(rng, burst=80.0),
        "bursty, Zipfian": lambda rng: documents(
            rng, topics=zipfian(rng, 6, 400), lengths=heavy_tailed(60), burst=60.0
        ),
        "words said twice": lambda rng: documents(rng, length=40, after=texts.twice_said),
        "phrases": lambda rng: documents(rng, length=40, after=texts.phrases(250), average=True),
        "register": lambda rng: documents(rng, change=lambda topics: texts.style(rng, 250, 0.4, 1.0), average=True),
        "boilerplate": lambda rng: documents(rng, change=lambda topics: texts.boilerplate(rng, 250, 0.3, 0.5)),
        "subtopics": lambda rng: documents(rng, change=lambda topics: texts.subtopics(rng, topics, 0.5)),
        "drift": lambda rng: documents(rng, change=lambda topics: texts.drifting(rng, 250, 2.0), average=True),
        "spam": lambda rng: documents(rng, after=texts.spam(rng, 250, 0.03, 120)),
        "lists": lambda rng: documents(rng, after=texts.long_ones(rng, 250, 0.01, 1500)),
        "copied documents": lambda rng: documents(rng, 4000, times=10),
        "quoted documents": lambda rng: documents(rng, after=texts.quoting(0.3)),
        "time series": lambda rng: documents(rng, 4000, mixing=logistic_normal(rng, 5, 2.5, 0.0, rho=0.98)),
        "threads": lambda rng: documents(
            rng, 4000, mixing=logistic_normal(rng, 5, 2.5, 0.0, rho=0.98), length=40, after=texts.carried(0.8)
        ),
        "lengths by topic": lambda rng: documents(
            rng, 5000, topics=(topics := scattered(rng, 5, 250)), length=100, after=texts.lengths_by_topic(topics, 8)
        ),
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
