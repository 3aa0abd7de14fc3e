"""Sequences over large alphabets, for `TwoStateHMM`.

The true error of a state is the l1 distance of its symbols to those of the nearest true state.

Where there are more regimes than two, a state is compared with the nearest regime; where symbols are moved by something else
than the state, with what the state says without it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from latentia.sequences import TwoStateHMM

from .world import Case, Rng, emitted, remembering, stationary, walk, worlds

Draw = Callable[[Rng, int], tuple[np.ndarray, np.ndarray]]  # symbols, lengths


def case(rng: Rng, draw: Draw, n: int, size: int, emissions: np.ndarray | None) -> Case:
    (X, lengths), (new, cut) = draw(rng, n), draw(rng, 4000)
    counts = np.bincount(X, minlength=size)
    seen = np.flatnonzero(counts)
    new = seen[
        np.minimum(np.searchsorted(seen, new), len(seen) - 1)
    ]  # symbols never seen say nothing: take a neighbour

    def score(model: TwoStateHMM) -> tuple[float, float]:
        value = model.score(new, cut) / len(new)
        return max(value, -99.0), float(np.log(counts[new] / len(X)).mean())

    return Case(
        lambda refine: TwoStateHMM(n_symbols=size, refine=refine),
        lambda model: model.fit(X, lengths),
        None if emissions is None else lambda model: cdist(model.emissionprob_, emissions, "cityblock"),
        score,
        2.0,
    )


def base(rng: Rng, size: int, zipf: bool = True) -> np.ndarray:
    weights = 1 / (np.arange(size) + 10.0) if zipf else np.ones(size)
    return rng.permutation(weights) / weights.sum()


def tilted(rng: Rng, frequencies: np.ndarray, k: int, contrast: float) -> np.ndarray:
    """States that prefer and avoid symbols by log-normal factors."""
    emissions = frequencies * np.exp(contrast * rng.standard_normal((k, len(frequencies))))
    return emissions / emissions.sum(axis=1, keepdims=True)


def halves(rng: Rng, size: int) -> np.ndarray:
    """States with symbols of their own."""
    own = rng.permutation(size) < size // 2
    return np.stack([own, ~own]) / (size / 2)


def switching(leave: tuple[float, ...]) -> np.ndarray:
    """Transitions of states that are left with these probabilities, to any of the others alike."""
    k = len(leave)
    out = np.array(leave)[:, None]
    return np.where(np.eye(k, dtype=bool), 1 - out, out / (k - 1))


def chain(
    rng: Rng,
    n: int = 15_000,
    size: int = 200,
    contrast: float = 1.0,
    *,
    leave: tuple[float, ...] = (0.1, 0.15),
    emissions: np.ndarray | None = None,
    after: Callable[[Rng, np.ndarray], np.ndarray] | None = None,
    length: int | None = None,
    times: int = 1,
) -> Case:
    """A chain of as many states as ``leave`` says; ``after`` changes the symbols, ``times`` copies sequences."""
    transmat = switching(leave)
    emissions = tilted(rng, base(rng, size), len(leave), contrast) if emissions is None else emissions

    def draw(rng: Rng, n: int) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.full(n // times // length, length) if length else np.array([n // times])
        states = np.concatenate([walk(rng, int(one), transmat, stationary(transmat)) for one in lengths])
        X = emitted(rng, states, emissions)
        X = after(rng, X) if after else X
        return np.tile(X, times), np.tile(lengths, times)

    return case(rng, draw, n, emissions.shape[1], emissions)


# --- what is wrong with them --------------------------------------------------------------------------------------


def said_again(share: float) -> Callable[[Rng, np.ndarray], np.ndarray]:
    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        new = rng.random(len(X)) >= share
        new[0] = True
        return X[np.maximum.accumulate(np.where(new, np.arange(len(X)), 0))]

    return after


def recalled(rng: Rng, X: np.ndarray) -> np.ndarray:
    """A fifth of the steps says again what was said two to ten steps ago."""
    X = X.copy()
    for t in np.flatnonzero(rng.random(len(X)) < 0.2):
        X[t] = X[max(t - int(rng.integers(2, 11)), 0)]
    return X


def in_pairs(share: float) -> Callable[[Rng, np.ndarray], np.ndarray]:
    """Fixed phrases: after a symbol of even number the next one follows with this probability."""

    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        follow = np.append(False, (X[:-1] % 2 == 0) & (rng.random(len(X) - 1) < share))
        return np.where(follow, np.roll(X, 1) + 1, X)

    return after


def lost(size: int) -> Callable[[Rng, np.ndarray], np.ndarray]:
    """Stretches of ten steps, a tenth of all, read as one symbol."""

    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        gone = walk(rng, len(X), np.array([[0.99, 0.01], [0.1, 0.9]]), np.array([0.9, 0.1])) == 1
        return np.where(gone, size - 1, X)

    return after


def drifting(rng: Rng) -> Case:
    """Symbols come into and out of use from the first step to the last; the truth is their mean."""
    emissions, slope = tilted(rng, base(rng, 200), 2, 1.0), 1.5 * rng.standard_normal(200)
    parts = np.stack([emissions * np.exp(u * slope) for u in np.linspace(-0.5, 0.5, 30)])
    parts /= parts.sum(axis=2, keepdims=True)

    def draw(rng: Rng, n: int) -> tuple[np.ndarray, np.ndarray]:
        states = walk(rng, n, switching((0.1, 0.15)), np.full(2, 0.5))
        pieces = zip(np.array_split(states, 30), parts, strict=True)
        return np.concatenate([emitted(rng, piece, part) for piece, part in pieces]), np.array([n])

    return case(rng, draw, 15_000, 200, parts.mean(axis=0))


def subjects(rng: Rng, n: int = 15_000) -> Case:
    """Sequences of fifty steps on subjects of their own, with two states beside; the truth is the mean over subjects."""
    size, k = 200, 10
    tones = np.exp(0.8 * rng.standard_normal((k, size)))
    emissions = tilted(rng, base(rng, size), 2, 1.0)
    both = emissions[:, None, :] * tones
    both /= both.sum(axis=2, keepdims=True)

    def draw(rng: Rng, n: int) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.full(n // 50, 50)
        path = walk(rng, len(lengths) * 50, switching((0.1, 0.15)), np.full(2, 0.5))
        subject = np.repeat(rng.integers(0, k, len(lengths)), 50)
        return emitted(rng, path * k + subject, both.reshape(2 * k, size)), lengths

    return case(rng, draw, n, size, both.mean(axis=1))


def mood(rng: Rng) -> Case:
    """What is said depends on a continuous mood with a memory, not on one of two states; the truth is the mean of each half."""
    size = 200
    ends = tilted(rng, base(rng, size), 2, 1.0)

    def draw(rng: Rng, n: int) -> tuple[np.ndarray, np.ndarray]:
        good = 1 / (1 + np.exp(-remembering(rng, n, 1, 0.95).ravel()))
        return emitted(rng, (rng.random(n) < good).astype(int), ends), np.array([n])

    more = (1 / (1 + np.exp(-np.abs(rng.standard_normal(100_000))))).mean()
    mixing = np.array([[more, 1 - more], [1 - more, more]])
    return case(rng, draw, 15_000, size, mixing @ ends)


def steady(rng: Rng) -> Case:
    """A state lasts at least eight steps, at most twelve: an alternation, with no geometric stays."""
    emissions = tilted(rng, base(rng, 200), 2, 1.0)

    def draw(rng: Rng, n: int) -> tuple[np.ndarray, np.ndarray]:
        states = np.repeat(np.arange(n) % 2, rng.integers(8, 13, n))[:n]
        return emitted(rng, states, emissions), np.array([n])

    return case(rng, draw, 15_000, 200, emissions)


def nothing(
    draw: Callable[[Rng, int, np.ndarray], np.ndarray], n: int = 10_000, size: int = 200
) -> Callable[[Rng], Case]:
    def of(rng: Rng) -> Case:
        frequencies = base(rng, size)
        return case(rng, lambda r, n: (draw(r, n, frequencies), np.array([n])), n, size, None)

    return of


def independent(rng: Rng, n: int, frequencies: np.ndarray) -> np.ndarray:
    return rng.choice(len(frequencies), n, p=frequencies)


def changing(rng: Rng, n: int, frequencies: np.ndarray) -> np.ndarray:
    """Independent steps whose frequencies change slowly."""
    slope = 1.0 * np.random.default_rng(0).standard_normal(len(frequencies))
    pieces = zip(np.array_split(np.arange(n), 30), np.linspace(-0.5, 0.5, 30), strict=True)
    parts = [(len(steps), frequencies * np.exp(u * slope)) for steps, u in pieces]
    return np.concatenate([rng.choice(len(p), m, p=p / p.sum()) for m, p in parts])


WORLDS = worlds(
    "TwoStateHMM",
    right={
        "plenty": lambda rng: chain(rng, 40_000),
        "own symbols": lambda rng: chain(rng, 10_000, 400, emissions=halves(rng, 400)),
        "many symbols": lambda rng: chain(rng, 20_000, 1000, 1.5),
        "persistent": lambda rng: chain(rng, 15_000, leave=(0.02, 0.03)),
        "quick changes": lambda rng: chain(rng, 30_000, contrast=1.5, leave=(0.35, 0.35)),
        "one state in ten steps": lambda rng: chain(rng, 30_000, contrast=1.5, leave=(0.03, 0.27)),
        "alternating": lambda rng: chain(rng, 20_000, contrast=1.5, leave=(0.8, 0.8)),
        "many sequences": lambda rng: chain(rng, 15_000, length=50),
        "few steps": lambda rng: chain(rng, 3000, contrast=1.5),
        "weak contrast": lambda rng: chain(rng, 30_000, contrast=0.4, leave=(0.05, 0.05)),
        "few steps, many symbols": lambda rng: chain(rng, 4000, 1500, emissions=halves(rng, 1500)),
        "hardly enough": lambda rng: chain(rng, 6000, contrast=0.7),
        "hopeless": lambda rng: chain(rng, 2000, 500, 0.5, leave=(0.3, 0.3)),
    },
    wrong={
        "three regimes": lambda rng: chain(rng, contrast=1.2, leave=(0.1, 0.1, 0.1)),
        "four regimes": lambda rng: chain(rng, 20_000, contrast=1.2, leave=(0.08, 0.08, 0.08, 0.08)),
        "eight regimes, quick": lambda rng: chain(rng, 20_000, contrast=1.2, leave=(0.3,) * 8),
        "symbols said again": lambda rng: chain(rng, after=said_again(0.15)),
        "symbols said again, weak contrast": lambda rng: chain(rng, contrast=0.5, after=said_again(0.3)),
        "symbols recalled": lambda rng: chain(rng, after=recalled),
        "phrases": lambda rng: chain(rng, after=in_pairs(0.5)),
        "lost stretches": lambda rng: chain(rng, after=lost(200)),
        "drift": drifting,
        "subjects of sequences": lambda rng: subjects(rng),
        "ten slow regimes": lambda rng: chain(rng, leave=(0.01,) * 10, contrast=0.8),
        "mood": mood,
        "stays of ten steps": steady,
        "copied sequences": lambda rng: chain(rng, length=50, times=10),
        "copied sequences, many symbols": lambda rng: chain(rng, 20_000, 600, 1.5, length=100, times=10),
    },
    empty={
        "independent symbols": nothing(independent),
        "independent symbols, said again": nothing(lambda rng, n, p: said_again(0.15)(rng, independent(rng, n, p))),
        "independent symbols, recalled": nothing(lambda rng, n, p: recalled(rng, independent(rng, n, p))),
        "independent symbols, phrases": nothing(lambda rng, n, p: in_pairs(0.4)(rng, independent(rng, n, p))),
        "independent symbols, copied": nothing(lambda rng, n, p: np.tile(independent(rng, n // 10, p), 10)),
        "independent symbols that change": nothing(changing),
        "many symbols, few steps": nothing(independent, 1500, 1000),
    },
)
