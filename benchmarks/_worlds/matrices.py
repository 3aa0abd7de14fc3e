"""Counts of pairs, for `ProbabilityMatrix`.

The true error is the l1 distance of the matrix of pair probabilities to the true one, of a possible 2: its only component.

Of pairs with an order, or of dependent ones, the truth is the probability of an unordered pair of the whole population.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from latentia.matrices import ProbabilityMatrix

from .world import Case, Rng, emitted, labels_of, spread_shares, stationary, walk, worlds

Draw = Callable[[Rng, int], np.ndarray]  # N pairs as counts (M, M)


def case(rng: Rng, draw: Draw, n: int, rank: int, B: np.ndarray | None) -> Case:
    C, new = draw(rng, n), draw(rng, n)
    C, new = C + C.T, new + new.T
    r = (C.sum(axis=0) + 0.5) / (C.sum() + 0.5 * len(C))
    table = sparse.csr_array(C, dtype=float)

    def score(model: ProbabilityMatrix) -> tuple[float, float]:
        return model.score(sparse.csr_array(new, dtype=float)), float(2 * new.sum(axis=0) @ np.log(r) / new.sum())

    return Case(
        lambda refine: ProbabilityMatrix(rank, refine=refine),
        lambda model: model.fit(table),
        None if B is None else lambda model: np.array([[model.l1_distance(B)]]),
        score,
        2.0,
    )


def counted(pairs: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(pairs[:, 0] * size + pairs[:, 1], minlength=size * size).reshape(size, size)


def of_matrix(rng: Rng, B: np.ndarray, n: int) -> np.ndarray:
    """n pairs."""
    cells = np.searchsorted(np.cumsum(B.ravel()), rng.random(n) * B.sum(), side="right")
    return np.bincount(np.minimum(cells, B.size - 1), minlength=B.size).reshape(B.shape)


def marginals(rng: Rng, size: int, zipf: bool) -> np.ndarray:
    weights = 1 / (np.arange(size) + 5.0) if zipf else np.ones(size)
    return rng.permutation(weights) / weights.sum()


def of_topics(rng: Rng, size: int, k: int, contrast: float, zipf: bool = True, fold: float = 2.0) -> np.ndarray:
    """B = sum_k w_k t_k t_k^T with topics t_k that prefer words by log-normal factors."""
    topics = marginals(rng, size, zipf) * np.exp(contrast * rng.standard_normal((k, size)))
    topics /= topics.sum(axis=1, keepdims=True)
    return (topics.T * spread_shares(k, fold)) @ topics


def pairs(
    rng: Rng,
    n: int = 30_000,
    size: int = 200,
    k: int = 4,
    contrast: float = 1.2,
    *,
    B: np.ndarray | None = None,
    zipf: bool = True,
    fold: float = 2.0,
    asked: int | None = None,
    times: int = 1,
    after: Callable[[Rng, np.ndarray], np.ndarray] | None = None,
    asymmetric: bool = False,
) -> Case:
    """Pairs drawn from ``B``, each of them ``times`` times; ``after`` changes the counts."""
    B = of_topics(rng, size, k, contrast, zipf, fold) if B is None else B

    def draw(rng: Rng, n: int) -> np.ndarray:
        C = times * of_matrix(rng, B, n // times)
        return after(rng, C) if after else C

    return case(rng, draw, n, k if asked is None else asked, (B + B.T) / 2)


def blocks(rng: Rng, size: int, k: int, within: float, uneven: bool = False) -> np.ndarray:
    """Communities: pairs within are ``within`` times as likely; ``uneven`` members have degrees of their own."""
    member = rng.integers(0, k, size)
    B = np.where(member[:, None] == member, within, 1.0)
    degree = rng.pareto(2.0, size) + 0.3 if uneven else np.ones(size)
    B *= np.outer(degree, degree)
    return B / B.sum()


def bipartite(rng: Rng, size: int) -> np.ndarray:
    """Negative eigenvalues: the two halves meet each other more than themselves."""
    side = np.arange(size) % 2
    B = np.where(side[:, None] == side, 1.0, 3.0) * np.outer(p := marginals(rng, size, True), p)
    return B / B.sum()


# --- what is wrong with them --------------------------------------------------------------------------------------


def of_documents(rng: Rng, size: int, k: int, length: tuple[int, int], n: int, *, mixed: bool = False) -> Case:
    """All pairs of words of short documents: a word is in many pairs. Documents have one topic, or mix them."""
    topics = marginals(rng, size, True) * np.exp(1.5 * rng.standard_normal((k, size)))
    topics /= topics.sum(axis=1, keepdims=True)
    shares, total = spread_shares(k, 2), 0.8
    moment = (np.diag(shares) + total * np.outer(shares, shares)) / (1 + total) if mixed else np.diag(shares)

    def draw(rng: Rng, n: int) -> np.ndarray:
        each = (length[0] + length[1]) ** 2 / 8
        m = max(int(n / each), 2)
        W = rng.dirichlet(total * shares, m) if mixed else np.eye(k)[labels_of(rng, m, shares)]
        words = rng.multinomial(rng.integers(length[0], length[1] + 1, m), W @ topics)
        both = words.T @ words - np.diag(words.sum(axis=0))  # ordered pairs of different places
        return np.triu(both, 1) + np.diag(np.diag(both) // 2)

    return case(rng, draw, n, k, topics.T @ moment @ topics)


def of_windows(rng: Rng, size: int, n: int) -> Case:
    """Neighbours in the running text of a chain of four states, up to five steps apart."""
    k, transmat = 4, 0.8 * np.eye(4) + 0.2 * rng.dirichlet(np.ones(4), 4)
    states = marginals(rng, size, True) * np.exp(1.2 * rng.standard_normal((k, size)))
    states /= states.sum(axis=1, keepdims=True)
    pi = stationary(transmat)
    joint = sum(pi[:, None] * np.linalg.matrix_power(transmat, lag) for lag in range(1, 6)) / 5
    B = states.T @ joint @ states

    def draw(rng: Rng, n: int) -> np.ndarray:
        X = emitted(rng, walk(rng, n // 5, transmat, pi), states)
        return sum(counted(np.column_stack([X[:-lag], X[lag:]]), size) for lag in range(1, 6))

    return case(rng, draw, n, k, (B + B.T) / 2)


def of_users(rng: Rng, n: int, size: int, taste: float, k: int, states: bool = True) -> Case:
    """Pairs of users' own baskets: each of some hundred users buys from a few things of his own; truth over all users."""
    topics = marginals(rng, size, True) * np.exp((1.5 if states else 0.0) * rng.standard_normal((k, size)))
    topics /= topics.sum(axis=1, keepdims=True)
    shares = spread_shares(k, 2)
    # A basket from Dirichlet(taste t) has pairs (taste t t^T + diag t) / (taste + 1).
    B = sum(w * (taste * np.outer(t, t) + np.diag(t)) / (taste + 1) for w, t in zip(shares, topics, strict=True))

    def draw(rng: Rng, n: int) -> np.ndarray:
        m, C = n // 50, np.zeros((size, size), np.int64)
        own = rng.standard_gamma(taste * topics[labels_of(rng, m, shares)]) + 1e-12
        own = np.cumsum(own / own.sum(axis=1, keepdims=True), axis=1)
        for basket in own:
            both = np.minimum(np.searchsorted(basket, rng.random((50, 2))), size - 1)
            np.add.at(C, (both[:, 0], both[:, 1]), 1)
        return C

    return case(rng, draw, n, k, B if states else None)


def near(size: int, width: float, rng: Rng) -> np.ndarray:
    """Words on a line meet their neighbours: full rank."""
    p = marginals(rng, size, True)
    x = np.arange(size)
    B = np.outer(p, p) * (0.1 + np.exp(-0.5 * ((x[:, None] - x) / width) ** 2))
    return B / B.sum()


def with_itself(B: np.ndarray, share: float) -> np.ndarray:
    """A share of the pairs is a word with itself."""
    return (1 - share) * B + share * np.diag(B.sum(axis=0))


def with_phrases(rng: Rng, B: np.ndarray, share: float, count: int) -> np.ndarray:
    """A share of the pairs is one of some fixed pairs."""
    i, j = rng.integers(0, len(B), (2, count))
    weight = rng.dirichlet(np.full(count, 0.5))
    fixed = np.zeros_like(B)
    np.add.at(fixed, (i, j), weight / 2)
    np.add.at(fixed, (j, i), weight / 2)
    return (1 - share) * B + share * fixed


def ordered(rng: Rng, size: int, k: int) -> np.ndarray:
    """First and second words are of different kinds, as of verbs and their objects."""
    first, second = (marginals(rng, size, True) * np.exp(1.2 * rng.standard_normal((k, size))) for _ in range(2))
    first, second = first / first.sum(axis=1, keepdims=True), second / second.sum(axis=1, keepdims=True)
    return (first.T * spread_shares(k, 2)) @ second


def rare_cut(rng: Rng, C: np.ndarray) -> np.ndarray:
    """Cells that were seen once are left out, as in lists of frequent pairs."""
    return np.where(C >= 2, C, 0)


def bursty_cells(rng: Rng, C: np.ndarray) -> np.ndarray:
    """A pair that is seen is seen again, a geometric number of times."""
    return C + np.where(C > 0, rng.negative_binomial(np.maximum(C, 1), 0.3), 0)


def nothing(p: Callable[[Rng], np.ndarray], n: int, times: int = 1) -> Callable[[Rng], Case]:
    def draw(rng: Rng) -> Case:
        r = p(rng)
        return case(rng, lambda r_, n: times * of_matrix(r_, np.outer(r, r), n // times), n, 4, None)

    return draw


WORLDS = worlds(
    "ProbabilityMatrix",
    right={
        "plenty": lambda rng: pairs(rng, 300_000),
        "enough": lambda rng: pairs(rng, 50_000),
        "ten components": lambda rng: pairs(rng, 200_000, 300, 10, 1.5),
        "even words": lambda rng: pairs(rng, 30_000, zipf=False),
        "communities": lambda rng: pairs(rng, 10_000, 300, 4, B=blocks(rng, 300, 4, 5.0)),
        "communities, degrees": lambda rng: pairs(rng, 20_000, 300, 4, B=blocks(rng, 300, 4, 5.0, uneven=True)),
        "twenty communities": lambda rng: pairs(rng, 20_000, 300, 20, B=blocks(rng, 300, 20, 20.0)),
        "two sides": lambda rng: pairs(rng, 20_000, 200, 2, B=bipartite(rng, 200)),
        "many words": lambda rng: pairs(rng, 40_000, 1000, 3),
        "shares 50-fold": lambda rng: pairs(rng, 100_000, k=5, fold=50),
        "weak contrast": lambda rng: pairs(rng, 50_000, contrast=0.4),
        "few pairs": lambda rng: pairs(rng, 3000),
        "hardly enough": lambda rng: pairs(rng, 2000, 300, 4),
        "hopeless": lambda rng: pairs(rng, 500, 400, 4, 0.8),
    },
    wrong={
        "pairs of documents, 20 words": lambda rng: of_documents(rng, 200, 4, (15, 25), 60_000),
        "pairs of documents, 60 words": lambda rng: of_documents(rng, 300, 4, (40, 80), 100_000),
        "pairs of documents that mix topics": lambda rng: of_documents(rng, 200, 4, (20, 60), 80_000, mixed=True),
        "pairs of few long documents": lambda rng: of_documents(rng, 200, 4, (150, 250), 200_000),
        "windows of running text": lambda rng: of_windows(rng, 200, 50_000),
        "baskets of users": lambda rng: of_users(rng, 40_000, 200, 20.0, 4),
        "copied pairs": lambda rng: pairs(rng, 50_000, times=10),
        "pairs copied three times": lambda rng: pairs(rng, 60_000, times=3),
        "bursty cells": lambda rng: pairs(rng, 15_000, after=bursty_cells),
        "rank half": lambda rng: pairs(rng, 100_000, k=8, contrast=1.5, asked=4),
        "rank a quarter, even words": lambda rng: pairs(rng, 60_000, k=12, contrast=2.0, zipf=False, asked=3),
        "rank twice": lambda rng: pairs(rng, 50_000, k=4, asked=8),
        "neighbours on a line": lambda rng: pairs(rng, 60_000, B=near(200, 5.0, rng)),
        "words with themselves": lambda rng: pairs(rng, 50_000, B=with_itself(of_topics(rng, 200, 4, 1.2), 0.15)),
        "phrases": lambda rng: pairs(rng, 50_000, B=with_phrases(rng, of_topics(rng, 200, 4, 1.2), 0.2, 60)),
        "ordered pairs": lambda rng: pairs(rng, 50_000, B=ordered(rng, 200, 4)),
        "cells seen once left out": lambda rng: pairs(rng, 50_000, after=rare_cut),
    },
    empty={
        "independent words": nothing(lambda rng: marginals(rng, 200, True), 30_000),
        "independent words, even": nothing(lambda rng: marginals(rng, 300, False), 20_000),
        "independent words, copied pairs": nothing(lambda rng: marginals(rng, 200, True), 30_000, 10),
        "baskets of users without taste": lambda rng: of_users(rng, 40_000, 200, 60.0, 4, states=False),
    },
)
