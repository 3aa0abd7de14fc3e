"""Mixed sources, for `TensorICA`.

The true error of a recovered source is the amplitude of all true sources in it but the one that it has most of, relative to
that of all of them.

Noise that is in it as well does not count: it is another question. Of a mixing that changes, the truth is the first half's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter

from latentia.ica import TensorICA

from .world import Case, Rng, copies, remembering, worlds

Sources = Callable[[Rng, int, int], np.ndarray]  # (rng, n, k): (n, k) of unit variance


def case(
    rng: Rng, draw: Callable[[Rng, int], np.ndarray], n: int, asked: int | None, mixing: np.ndarray | None
) -> Case:
    X = draw(rng, n)
    return Case(
        lambda refine: TensorICA(asked, refine=refine),
        lambda model: model.fit(X),
        None if mixing is None else lambda model: crosstalk(model.components_, mixing),
        most=1.0,
    )


def crosstalk(unmixing: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    gains = (unmixing @ mixing) ** 2
    return np.sqrt(np.maximum(1 - gains / gains.sum(axis=1, keepdims=True), 0))


def laplace(rng: Rng, n: int, k: int) -> np.ndarray:
    return rng.laplace(scale=np.sqrt(0.5), size=(n, k))


def uniform(rng: Rng, n: int, k: int) -> np.ndarray:
    return rng.uniform(-np.sqrt(3), np.sqrt(3), (n, k))


def exponential(rng: Rng, n: int, k: int) -> np.ndarray:
    return rng.exponential(size=(n, k)) - 1


def student(degrees: float) -> Sources:
    return lambda rng, n, k: rng.standard_t(degrees, (n, k))


def gamma(shape: float) -> Sources:
    """Nearly Gaussian for a large shape: its kurtosis is 6 / shape."""
    return lambda rng, n, k: (rng.gamma(shape, size=(n, k)) - shape) / np.sqrt(shape)


def sparse(rng: Rng, n: int, k: int) -> np.ndarray:
    """On in a tenth of the rows."""
    return np.sqrt(10) * rng.standard_normal((n, k)) * (rng.random((n, k)) < 0.1)


def of_all_kinds(rng: Rng, n: int, k: int) -> np.ndarray:
    kinds = [laplace, uniform, exponential, sparse]
    return np.hstack([kinds[i % 4](rng, n, 1) for i in range(k)])


def some_gaussian(count: int) -> Sources:
    return lambda rng, n, k: np.hstack([laplace(rng, n, k - count), rng.standard_normal((n, count))])


def signals(rng: Rng, n: int, k: int) -> np.ndarray:
    """Sines, saws, and noise with a memory: neighbouring rows are alike."""
    t, out = np.arange(n), []
    for i in range(k):
        phase = rng.uniform(0, 1) + t * rng.uniform(0.001, 0.01)
        if i % 3 == 0:
            out.append(np.sqrt(2) * np.sin(2 * np.pi * phase))
        elif i % 3 == 1:
            out.append(np.sqrt(12) * (phase % 1 - 0.5))
        else:
            out.append(lagging(rng.laplace(size=n), 0.97))
    return np.column_stack(out)


def slow(rho: float) -> Sources:
    """Noise of Laplace innovations with a memory."""
    return lambda rng, n, k: np.column_stack([lagging(rng.laplace(size=n + 300), rho)[300:] for _ in range(k)])


def lagging(innovations: np.ndarray, rho: float) -> np.ndarray:
    out = lfilter([1.0], [1, -rho], innovations)
    return (out - out.mean()) / out.std()


def loud_together(rng: Rng, n: int, k: int) -> np.ndarray:
    """Sources that are loud and quiet at the same times: uncorrelated, not independent."""
    return rng.laplace(scale=np.sqrt(0.5), size=(n, k)) * np.exp(0.7 * rng.standard_normal((n, 1)) - 0.49)


def loud_in_pairs(rng: Rng, n: int, k: int) -> np.ndarray:
    volume = np.exp(rng.standard_normal((n, (k + 1) // 2)) - 1)
    return laplace(rng, n, k) * np.repeat(volume, 2, axis=1)[:, :k]


def correlated(rng: Rng, n: int, k: int) -> np.ndarray:
    """Sources with correlations of a quarter."""
    return (laplace(rng, n, k) * np.sqrt(3) + laplace(rng, n, 1)) / 2


def mixed(
    rng: Rng,
    n: int = 8000,
    k: int = 6,
    d: int | None = None,
    sources: Sources = laplace,
    *,
    asked: int | None = None,
    noise: Callable[[Rng, int, int], np.ndarray] | None = None,
    after: Callable[[Rng, np.ndarray], np.ndarray] | None = None,
    scales: np.ndarray | None = None,
    times: int = 1,
    shuffled: bool = True,
) -> Case:
    """k sources in d features; ``noise`` is added, and ``after`` changes the rows."""
    d = k if d is None else d
    mixing = rng.standard_normal((d, k)) * (1.0 if scales is None else scales)

    def draw(rng: Rng, n: int) -> np.ndarray:
        X = sources(rng, n // times, k) @ mixing.T
        X = X + noise(rng, len(X), d) if noise else X
        X = after(rng, X) if after else X
        return X if times == 1 else X[copies(rng, n, times, shuffled)]

    return case(rng, draw, n, asked, mixing)


def uneven_noise(rng: Rng, d: int, size: float) -> Callable[[Rng, int, int], np.ndarray]:
    """Gaussian noise that is loud in some directions."""
    shape = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.geomspace(size, size / 20, d)
    return lambda rng, n, d: rng.standard_normal((n, d)) @ shape.T


def white_noise(size: float) -> Callable[[Rng, int, int], np.ndarray]:
    return lambda rng, n, d: size * rng.standard_normal((n, d))


def saturated(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Sensors that cannot follow large values."""
    return np.tanh(X / X.std(axis=0))


def spikes(rng: Rng, X: np.ndarray) -> np.ndarray:
    """One in two hundred rows is loud in a direction of its own."""
    out = rng.random(len(X)) < 0.005
    X[out] += 15 * rng.standard_normal((int(out.sum()), X.shape[1]))
    return X


def filled(rng: Rng, X: np.ndarray) -> np.ndarray:
    """A fifth of the entries is missing, and filled with the mean."""
    return np.where(rng.random(X.shape) < 0.2, X.mean(axis=0), X)


def echoing(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Rooms: each feature holds what the next one held three rows ago, at 0.6 of the amplitude."""
    late = np.roll(X, 3, axis=0)
    return X + 0.6 * np.roll(late, 1, axis=1)


def coarse(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Readings in steps of one and a half standard deviations."""
    step = 1.5 * X.std(axis=0)
    return step * np.round(X / step)


def moving(rng: Rng) -> Case:
    """The mixing turns into another one halfway."""
    first, second = rng.standard_normal((5, 5)), rng.standard_normal((5, 5))

    def draw(rng: Rng, n: int) -> np.ndarray:
        S = laplace(rng, n, 5)
        return np.where(np.arange(n)[:, None] < n // 2, S @ first.T, S @ second.T)

    return case(rng, draw, 8000, None, first)


def two_populations(rng: Rng) -> Case:
    """A third of the rows is mixed by a matrix that is a quarter off."""
    first = rng.standard_normal((5, 5))
    second = first + 0.5 * rng.standard_normal((5, 5))

    def draw(rng: Rng, n: int) -> np.ndarray:
        S = laplace(rng, n, 5)
        return np.where(rng.random((n, 1)) < 0.33, S @ second.T, S @ first.T)

    return case(rng, draw, 8000, None, first)


def nothing(draw: Callable[[Rng, int], np.ndarray], n: int = 5000) -> Callable[[Rng], Case]:
    return lambda rng: case(rng, draw, n, None, None)


def skew(rng: Rng, n: int) -> np.ndarray:
    return rng.standard_normal((n, 6)) @ np.random.default_rng(0).standard_normal((6, 6))


def elliptical(rng: Rng, n: int) -> np.ndarray:
    """Tails in every direction alike: no direction is a source."""
    return skew(rng, n) / np.sqrt(rng.chisquare(8, (n, 1)) / 8)


WORLDS = worlds(
    "TensorICA",
    right={
        "plenty": lambda rng: mixed(rng, 12_000),
        "flat sources": lambda rng: mixed(rng, 3000, 5, sources=uniform),
        "of all kinds": lambda rng: mixed(rng, 4000, 8, sources=of_all_kinds),
        "twelve sources": lambda rng: mixed(rng, 10_000, 12),
        "fifteen sources, few rows": lambda rng: mixed(rng, 1500, 15),
        "skewed sources": lambda rng: mixed(rng, 3000, 5, sources=exponential),
        "sparse sources": lambda rng: mixed(rng, 2000, 5, sources=sparse),
        "few rows": lambda rng: mixed(rng, 300, 4),
        "two sources": lambda rng: mixed(rng, 1000, 2, sources=student(6)),
        "more features than sources": lambda rng: mixed(rng, 6000, 4, 12, asked=4),
        "hardly enough": lambda rng: mixed(rng, 4000, 6, sources=gamma(4.0)),
        "nearly Gaussian": lambda rng: mixed(rng, 4000, 5, sources=gamma(12.0)),
        "hopeless": lambda rng: mixed(rng, 80, 8),
        "one Gaussian source": lambda rng: mixed(rng, 8000, 5, sources=some_gaussian(1)),
    },
    wrong={
        "noise, uneven": lambda rng: mixed(rng, k=5, noise=uneven_noise(rng, 5, 1.5)),
        "noise, uneven and faint": lambda rng: mixed(rng, k=5, noise=uneven_noise(rng, 5, 0.6)),
        "noise, white": lambda rng: mixed(rng, k=5, noise=white_noise(0.7)),
        "too many sources": lambda rng: mixed(rng, k=8, d=5),
        "one source too many": lambda rng: mixed(rng, k=7, d=6),
        "too few asked for": lambda rng: mixed(rng, k=6, asked=3),
        "signals": lambda rng: mixed(rng, 4000, 6, sources=signals),
        "sources with long memory": lambda rng: mixed(rng, 8000, 5, sources=slow(0.9)),
        "signals with noise": lambda rng: mixed(rng, 4000, 5, sources=signals, noise=white_noise(0.3)),
        "copied rows": lambda rng: mixed(rng, 8000, 5, times=10),
        "copied rows, neighbours": lambda rng: mixed(rng, 8000, 5, times=10, shuffled=False),
        "loud together": lambda rng: mixed(rng, k=5, sources=loud_together),
        "loud in pairs": lambda rng: mixed(rng, k=6, sources=loud_in_pairs),
        "correlated sources": lambda rng: mixed(rng, k=5, sources=correlated),
        "saturated sensors": lambda rng: mixed(rng, k=5, after=saturated),
        "coarse readings": lambda rng: mixed(rng, k=5, sources=uniform, after=coarse),
        "spikes": lambda rng: mixed(rng, k=5, after=spikes),
        "missing, filled by means": lambda rng: mixed(rng, k=5, after=filled),
        "echoes": lambda rng: mixed(rng, k=5, after=echoing),
        "three Gaussian sources": lambda rng: mixed(rng, k=6, sources=some_gaussian(3)),
        "tails without fourth moment": lambda rng: mixed(rng, k=5, sources=student(2.5)),
        "moving mixing": moving,
        "two populations": two_populations,
    },
    empty={
        "white Gaussian": nothing(lambda rng, n: rng.standard_normal((n, 6))),
        "Gaussian": nothing(skew),
        "Gaussian with memory": nothing(lambda rng, n: remembering(rng, n, 6, 0.97)),
        "elliptical tails": nothing(elliptical),
    },
)
