"""Sequences of symbols, vectors or counts, for `SpectralHMM`.

The true error of a state is the l1 distance of its symbols, or the l2 distance of its mean in standard deviations of the
features, to those of the nearest true state.

Where something besides the state moves the steps, the truth is what the states emit without it, or on average over it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.stats import poisson

from latentia.sequences import SpectralHMM

from .world import Case, Rng, emitted, remembering, stationary, walk, worlds

Sequences = tuple[np.ndarray, np.ndarray]  # steps, lengths
Draw = Callable[[Rng, int], Sequences]


def of_symbols(rng: Rng, draw: Draw, n: int, k: int, size: int, emissions: np.ndarray | None) -> Case:
    (X, lengths), (new, cut) = draw(rng, n), draw(rng, 2000)
    frequencies = (np.bincount(X, minlength=size) + 0.5) / (len(X) + 0.5 * size)
    return Case(
        lambda refine: SpectralHMM(k, n_symbols=size, refine=refine),
        lambda model: model.fit(X, lengths),
        None if emissions is None else lambda model: cdist(model.emissionprob_, emissions, "cityblock"),
        lambda model: (model.score(new, cut) / len(new), float(np.log(frequencies[new]).mean())),
        2.0,
    )


def of_vectors(rng: Rng, draw: Draw, n: int, k: int, means: np.ndarray | None) -> Case:
    (X, lengths), (new, cut) = draw(rng, n), draw(rng, 2000)
    sd, center = X.std(axis=0), X.mean(axis=0)
    trivial = float(-0.5 * ((new - center) ** 2 / sd**2 + np.log(2 * np.pi * sd**2)).sum(axis=1).mean())
    return Case(
        lambda refine: SpectralHMM(k, refine=refine),
        lambda model: model.fit(X, lengths),
        None if means is None else lambda model: cdist(model.means_ / sd, means / sd),
        lambda model: (model.score(new, cut) / len(new), trivial),
    )


def of_counts(rng: Rng, draw: Draw, n: int, k: int, rates: np.ndarray | None) -> Case:
    (X, lengths), (new, cut) = draw(rng, n), draw(rng, 2000)
    sd, mean = X.std(axis=0), X.mean(axis=0)
    trivial = float(poisson.logpmf(new, np.maximum(mean, 1e-8)).sum(axis=1).mean())
    return Case(
        lambda refine: SpectralHMM(k, kind="counts", refine=refine),
        lambda model: model.fit(X, lengths),
        None if rates is None else lambda model: cdist(model.means_ / sd, rates / sd),
        lambda model: (model.score(new, cut) / len(new), trivial),
    )


def moves(rng: Rng, k: int, stay: float, concentration: float = 1.0) -> np.ndarray:
    """Transitions with no rare state."""
    while True:
        transmat = stay * np.eye(k) + (1 - stay) * rng.dirichlet(np.full(k, concentration), k)
        if stationary(transmat).min() > 0.4 / k:
            return transmat


def speech(rng: Rng, k: int, size: int, concentration: float = 0.5, least: float = 0.15) -> np.ndarray:
    """Emissions whose smallest singular value is at least ``least``."""
    while True:
        emissions = rng.dirichlet(np.full(size, concentration), k)
        if np.linalg.svd(emissions, compute_uv=False)[-1] >= least:
            return emissions


def lengths_of(n: int, length: int | None) -> np.ndarray:
    return np.array([n]) if length is None else np.full(n // length, length)


def walks(rng: Rng, lengths: np.ndarray, transmat: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """States of sequences, one after another."""
    start = stationary(transmat) if start is None else start
    return np.concatenate([walk(rng, int(length), transmat, start) for length in lengths])


def symbols(
    rng: Rng,
    n: int = 10_000,
    k: int = 4,
    size: int = 12,
    stay: float = 0.6,
    *,
    length: int | None = None,
    transmat: np.ndarray | None = None,
    emissions: np.ndarray | None = None,
    start: np.ndarray | None = None,
    asked: int | None = None,
    after: Callable[[Rng, np.ndarray], np.ndarray] | None = None,
    times: int = 1,
) -> Case:
    """A chain of symbols; ``after`` changes them, ``times`` copies whole sequences."""
    transmat = moves(rng, k, stay) if transmat is None else transmat
    emissions = speech(rng, len(transmat), size) if emissions is None else emissions

    def draw(rng: Rng, n: int) -> Sequences:
        lengths = lengths_of(n // times, length)
        X = emitted(rng, walks(rng, lengths, transmat, start), emissions)
        X = after(rng, X) if after else X
        return np.tile(X, times), np.tile(lengths, times)

    return of_symbols(rng, draw, n, k if asked is None else asked, emissions.shape[1], emissions)


def vectors(
    rng: Rng,
    n: int = 6000,
    k: int = 4,
    d: int = 5,
    sep: float = 4.0,
    stay: float = 0.7,
    *,
    length: int | None = None,
    transmat: np.ndarray | None = None,
    asked: int | None = None,
    noise: Callable[[Rng, np.ndarray, int], np.ndarray] | None = None,
    after: Callable[[Rng, np.ndarray], np.ndarray] | None = None,
    times: int = 1,
) -> Case:
    """A chain of vectors about means of which the median distance is ``sep``, with noise of unit variance."""
    transmat = moves(rng, k, stay) if transmat is None else transmat
    means = rng.standard_normal((k, d))
    means *= sep / np.median(pdist(means))
    noise = noise or (lambda rng, states, d: rng.standard_normal((len(states), d)))

    def draw(rng: Rng, n: int) -> Sequences:
        lengths = lengths_of(n // times, length)
        states = walks(rng, lengths, transmat)
        X = means[states] + noise(rng, states, d)
        X = after(rng, X) if after else X
        return np.tile(X, (times, 1)), np.tile(lengths, times)

    return of_vectors(rng, draw, n, k if asked is None else asked, means)


def counts(
    rng: Rng,
    n: int = 5000,
    k: int = 3,
    d: int = 1,
    rate: float = 5.0,
    stay: float = 0.7,
    *,
    apart: float = 2.0,
    length: int | None = None,
    asked: int | None = None,
    drawn: Callable[[Rng, np.ndarray], np.ndarray] | None = None,
    times: int = 1,
) -> Case:
    """A chain of Poisson counts, or of what ``drawn`` makes of rates, whose roots are at least ``apart`` / 2 apart."""
    transmat = moves(rng, k, stay)
    rates = rate * np.exp(rng.standard_normal((k, d)))
    while 2 * pdist(np.sqrt(rates)).min() < apart:
        rates = rate * np.exp(rng.standard_normal((k, d)))
    drawn = drawn or (lambda rng, means: rng.poisson(means))

    def draw(rng: Rng, n: int) -> Sequences:
        lengths = lengths_of(n // times, length)
        X = drawn(rng, rates[walks(rng, lengths, transmat)])
        return np.tile(X, (times, 1)), np.tile(lengths, times)

    return of_counts(rng, draw, n, k if asked is None else asked, rates)


def spread_wider(shape: float) -> Callable[[Rng, np.ndarray], np.ndarray]:
    """Negative binomial counts: the rate of each step and column is gamma with this shape."""
    return lambda rng, means: rng.poisson(means * rng.gamma(shape, 1 / shape, means.shape))


def exposed(rng: Rng, means: np.ndarray) -> np.ndarray:
    """The rates of all columns rise and fall together, slowly."""
    level = remembering(rng, len(means), 1, 0.98)
    return rng.poisson(means * np.exp(0.4 * level / level.std()))


def zeros(rng: Rng, means: np.ndarray) -> np.ndarray:
    """A fifth of the counts is not taken: it is zero."""
    return rng.poisson(means) * (rng.random(means.shape) < 0.8)


def slow_rates(rng: Rng, n: int, d: int) -> Sequences:
    """Rates that wander, without states."""
    level = remembering(rng, n, d, 0.95)
    return rng.poisson(5 * np.exp(0.5 * level / level.std())), np.array([n])


# --- what is wrong with them --------------------------------------------------------------------------------------


def repeats(share: float) -> Callable[[Rng, np.ndarray], np.ndarray]:
    """A symbol is said again, whatever the state, with some probability."""

    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        new = rng.random(len(X)) >= share
        new[0] = True
        return X[np.maximum.accumulate(np.where(new, np.arange(len(X)), 0))]

    return after


def rhythm(period: int) -> Callable[[Rng, np.ndarray], np.ndarray]:
    """In the second half of each period a third of the symbols is the first one."""

    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        night = (np.arange(len(X)) // (period // 2)) % 2 == 1
        return np.where(night & (rng.random(len(X)) < 0.33), 0, X)

    return after


def lost(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Stretches of ten steps on average, a fifth of all, in which the last symbol stands for what is missing."""
    gone = walk(rng, len(X), np.array([[0.975, 0.025], [0.1, 0.9]]), np.array([0.8, 0.2])) == 1
    return np.where(gone, X.max(), X)


def steady(rng: Rng, n: int, k: int, size: int, stays: int) -> Case:
    """Each stay in a state lasts between ``stays`` and one half more steps, not a geometric time."""
    emissions = speech(rng, k, size)

    def draw(rng: Rng, n: int) -> Sequences:
        order = np.cumsum(rng.integers(1, k, n)) % k
        states = np.repeat(order, rng.integers(stays, stays * 3 // 2 + 1, n))[:n]
        return emitted(rng, states, emissions), np.array([n])

    return of_symbols(rng, draw, n, k, size, emissions)


def second_order(rng: Rng) -> Case:
    """Where a chain moves depends on the last two states: it prefers to go on as (s, t) -> 2 t - s."""
    k, emissions = 4, speech(rng, 4, 12)

    def draw(rng: Rng, n: int) -> Sequences:
        states, free, other = np.zeros(n, int), rng.random(n) < 0.35, rng.integers(0, k, n)
        for t in range(2, n):
            states[t] = other[t] if free[t] else (2 * states[t - 1] - states[t - 2] + 1) % k
        return emitted(rng, states, emissions), np.array([n])

    return of_symbols(rng, draw, 10_000, k, 12, emissions)


def changing(rng: Rng) -> Case:
    """Emissions move from one set to another over the sequence; the truth is halfway."""
    k, size = 4, 12
    transmat, first, last = moves(rng, k, 0.6), speech(rng, k, size), speech(rng, k, size)
    halfway = (first + last) / 2

    def draw(rng: Rng, n: int) -> Sequences:
        states = walks(rng, np.array([n]), transmat)
        late = rng.random(n) < np.linspace(0, 1, n)
        return np.where(late, emitted(rng, states, last), emitted(rng, states, first)), np.array([n])

    return of_symbols(rng, draw, 10_000, k, size, halfway)


def two_populations(rng: Rng) -> Case:
    """A half of the sequences comes from speakers with other symbols; the truth is the states of both, and K is of one."""
    k, size = 3, 12
    transmat, ours, theirs = moves(rng, k, 0.6), speech(rng, k, size), speech(rng, k, size)

    def draw(rng: Rng, n: int) -> Sequences:
        lengths = lengths_of(n, 50)
        states, other = walks(rng, lengths, transmat), np.repeat(rng.random(len(lengths)) < 0.5, 50)
        return np.where(other, emitted(rng, states, theirs), emitted(rng, states, ours)), lengths

    return of_symbols(rng, draw, 10_000, k, size, np.vstack([ours, theirs]))


def nearly_singular(rng: Rng, n: int = 10_000) -> Case:
    """Two states move alike, up to 3%."""
    transmat = moves(rng, 4, 0.5)
    transmat[1] = 0.97 * transmat[0] + 0.03 * transmat[1]
    return symbols(rng, n, transmat=transmat)


def with_memory(rho: float) -> Callable[[Rng, np.ndarray, int], np.ndarray]:
    return lambda rng, states, d: remembering(rng, len(states), d, rho)


def heavy(rng: Rng, states: np.ndarray, d: int) -> np.ndarray:
    return rng.standard_normal((len(states), d)) / np.sqrt(rng.chisquare(3, (len(states), 1)))


def ellipsoids(rng: Rng, k: int, d: int, stretch: float) -> Callable[[Rng, np.ndarray, int], np.ndarray]:
    axes = np.geomspace(1, stretch, d)
    axes /= np.sqrt((axes**2).mean())
    shapes = np.stack([np.linalg.qr(rng.standard_normal((d, d)))[0] * axes for _ in range(k)])
    return lambda rng, states, d: np.einsum("nij,nj->ni", shapes[states], rng.standard_normal((len(states), d)))


def wandering(rng: Rng, X: np.ndarray) -> np.ndarray:
    """The sensor drifts, by a random walk that is half as wide as the data."""
    path = np.cumsum(rng.standard_normal(len(X)))
    return X + 0.5 * X.std(axis=0) * ((path - path.mean()) / path.std())[:, None]


def held(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Four in ten steps are missing, and filled with the step before."""
    return repeats(0.4)(rng, X)


def spikes(rng: Rng, X: np.ndarray) -> np.ndarray:
    out = rng.random(len(X)) < 0.01
    X[out] += 15 * rng.standard_normal((int(out.sum()), X.shape[1]))
    return X


def once_each(rng: Rng) -> Case:
    """Each state is visited once: a sequence with change points."""
    means = rng.standard_normal((4, 5))
    means *= 3.0 / np.median(pdist(means))

    def draw(rng: Rng, n: int) -> Sequences:
        return means[np.arange(n) * 4 // n] + rng.standard_normal((n, 5)), np.array([n])

    return of_vectors(rng, draw, 4000, 4, means)


def moving_line(rng: Rng, n: int) -> Sequences:
    return remembering(rng, n, 5, 0.95), np.array([n])


WORLDS = worlds(
    "SpectralHMM",
    right={
        "plenty": lambda rng: symbols(rng, 20_000, 3, 8),
        "four states": lambda rng: symbols(rng),
        "large alphabet": lambda rng: symbols(rng, 15_000, 4, 60),
        "many sequences": lambda rng: symbols(rng, 9000, 3, 10, length=30, start=np.array([0.8, 0.1, 0.1])),
        "quick changes": lambda rng: symbols(rng, 20_000, 3, 10, 0.3),
        "few steps": lambda rng: symbols(rng, 1500, 3, 8),
        "hopeless": lambda rng: symbols(rng, 400, 6, 12),
        "alike states": lambda rng: symbols(rng, 15_000, emissions=speech(rng, 4, 12, 4.0, 0.05)),
        "six states": lambda rng: symbols(rng, 15_000, 6, 20),
        "vectors": lambda rng: vectors(rng),
        "vectors, overlapping": lambda rng: vectors(rng, 8000, sep=2.0),
        "vectors, few steps": lambda rng: vectors(rng, 500, 3, 4),
        "vectors, persistent": lambda rng: vectors(rng, 6000, stay=0.95),
        "vectors, hardly enough": lambda rng: vectors(rng, 2000, 4, 5, 1.5),
        "counts, one column": lambda rng: counts(rng),
        "counts, two states, few steps": lambda rng: counts(rng, 600, 2),
        "counts, columns": lambda rng: counts(rng, 5000, 4, 5),
        "counts, rare": lambda rng: counts(rng, 8000, 3, 10, 0.3, apart=1.0),
        "counts, many sequences": lambda rng: counts(rng, 6000, 3, 2, length=40),
    },
    wrong={
        "symbols said again": lambda rng: symbols(rng, after=repeats(0.3)),
        "day and night": lambda rng: symbols(rng, after=rhythm(48)),
        "lost stretches": lambda rng: symbols(rng, after=lost),
        "steady stays": lambda rng: steady(rng, 10_000, 4, 12, 8),
        "second order": second_order,
        "changing emissions": changing,
        "two populations": two_populations,
        "nearly singular transitions": nearly_singular,
        "copied sequences": lambda rng: symbols(rng, 10_000, length=50, times=10),
        "K half": lambda rng: symbols(rng, 15_000, 6, 20, asked=3),
        "K twice": lambda rng: symbols(rng, 10_000, 3, 12, asked=6),
        "K one too few": lambda rng: symbols(rng, 15_000, 4, 12, asked=3),
        "vectors, noise with memory": lambda rng: vectors(rng, noise=with_memory(0.8)),
        "vectors, noise with long memory, overlapping": lambda rng: vectors(rng, sep=2.5, noise=with_memory(0.97)),
        "vectors, tails": lambda rng: vectors(rng, noise=heavy),
        "vectors, own ellipsoids": lambda rng: vectors(rng, sep=3.0, noise=ellipsoids(rng, 4, 5, 5.0)),
        "vectors, drift": lambda rng: vectors(rng, after=wandering),
        "vectors, missing, filled by the last": lambda rng: vectors(rng, after=held),
        "vectors, spikes": lambda rng: vectors(rng, after=spikes),
        "vectors, K half": lambda rng: vectors(rng, 8000, 6, 8, asked=3),
        "vectors, K twice": lambda rng: vectors(rng, 6000, 3, 8, asked=6),
        "vectors, each state once": once_each,
        "counts, wider than Poisson": lambda rng: counts(rng, 6000, 3, 3, drawn=spread_wider(2.0)),
        "counts, one column, wider than Poisson": lambda rng: counts(rng, 6000, 2, 1, drawn=spread_wider(3.0)),
        "counts, a common level": lambda rng: counts(rng, 6000, 3, 4, drawn=exposed),
        "counts, zeros too many": lambda rng: counts(rng, 6000, 3, 3, drawn=zeros),
        "counts, K half": lambda rng: counts(rng, 6000, 4, 4, asked=2),
        "counts, K twice": lambda rng: counts(rng, 6000, 3, 4, asked=6),
        "counts, copied sequences": lambda rng: counts(rng, 6000, 3, 3, length=60, times=10),
        "vectors, copied sequences": lambda rng: vectors(rng, 6000, sep=2.5, length=60, times=10),
    },
    empty={
        "independent symbols": lambda rng: of_symbols(
            rng, lambda r, n: (r.choice(10, n, p=np.arange(1, 11) / 55), np.array([n])), 8000, 3, 10, None
        ),
        "independent vectors": lambda rng: of_vectors(
            rng, lambda r, n: (r.standard_normal((n, 5)), np.array([n])), 5000, 3, None
        ),
        "independent counts": lambda rng: of_counts(
            rng, lambda r, n: (r.poisson(4.0, (n, 3)), np.array([n])), 5000, 3, None
        ),
        "independent counts, wider than Poisson": lambda rng: of_counts(
            rng, lambda r, n: (r.negative_binomial(2, 0.3, (n, 1)), np.array([n])), 5000, 2, None
        ),
        "counts, a rate that wanders": lambda rng: of_counts(rng, lambda r, n: slow_rates(r, n, 1), 5000, 3, None),
        "counts, rates that wander": lambda rng: of_counts(rng, lambda r, n: slow_rates(r, n, 4), 5000, 3, None),
        "one state, noise with memory": lambda rng: of_vectors(rng, moving_line, 5000, 3, None),
        "one state, symbols said again": lambda rng: of_symbols(
            rng, lambda r, n: (repeats(0.3)(r, r.choice(10, n)), np.array([n])), 8000, 3, 10, None
        ),
    },
)
