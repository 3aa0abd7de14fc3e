"""Cases and controls, for `BackgroundPCA`.

The true error is the sine of the angle of a direction to the nearest true one. Truth of data that is not as the model says is
the directions that cases have of their own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from latentia.contrastive import BackgroundPCA

from .world import Case, Rng, worlds

Noise = Callable[[Rng, int, int], np.ndarray]


def gaussian(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d))


def heavy(rng: Rng, n: int, d: int) -> np.ndarray:
    """Rows of different size, with five degrees of freedom."""
    return rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(5, (n, 1)) / 5)


def lagging(rng: Rng, n: int, d: int) -> np.ndarray:
    """Neighbouring rows are alike."""
    found = rng.standard_normal((n, d))
    for t in range(1, n):
        found[t] = 0.8 * found[t - 1] + 0.6 * found[t]
    return found


def contrast(
    rng: Rng,
    n: int = 600,
    m: int = 600,
    d: int = 30,
    k: int = 1,
    variance: float = 8.0,
    *,
    asked: int | None = None,
    strength: float = 1.0,
    factors: float = 1.0,
    unequal: float = 0.0,
    inside: bool = False,
    noise: Noise = gaussian,
) -> Case:
    """Four common directions; ``strength`` of the background and ``factors`` of these are those of the cases."""
    basis = np.linalg.qr(rng.standard_normal((d, 4)))[0]
    sizes, scale = np.array([6.0, 5, 4, 3]), np.exp(unequal * rng.standard_normal(d))
    own = np.linalg.qr(rng.standard_normal((d, max(k, 1))))[0][:, :k]
    if inside:
        own = own + basis[:, :k]
        own = np.linalg.qr(own)[0]
    common = (noise(rng, rows, 4 + d) for rows in (n, m))
    X, B = (
        table[:, :4] * sizes * by @ basis.T + table[:, 4:] * scale
        for table, by in zip(common, (factors, 1.0), strict=True)
    )
    X = np.sqrt(strength) * X + (noise(rng, n, k) * np.sqrt(variance * np.linspace(min(k, 2), 1, k))) @ own.T

    def distances(model: BackgroundPCA) -> np.ndarray:
        return np.asarray(np.sqrt(np.clip(1 - (model.components_ @ own) ** 2, 0, None)))

    size = asked or k
    return Case(
        lambda refine: BackgroundPCA(size),
        lambda model: model.fit(X, B),
        distances if k and variance else None,
        most=1.0,
    )


WORLDS = worlds(
    "BackgroundPCA",
    right={
        "plenty": lambda rng: contrast(rng, 3000, 3000),
        "one direction": lambda rng: contrast(rng),
        "two directions": lambda rng: contrast(rng, 1500, 1500, 30, 2),
        "a stronger background": lambda rng: contrast(rng, strength=1.5),
        "columns of different noise": lambda rng: contrast(rng, unequal=0.5),
        "few rows": lambda rng: contrast(rng, 100, 100, 20),
        "more columns than rows": lambda rng: contrast(rng, 200, 200, 250, 1, 20.0),
        "hopeless": lambda rng: contrast(rng, 60, 60, 30, 1, 2.0),
        "near the background": lambda rng: contrast(rng, 1000, 1000, inside=True),
    },
    wrong={
        "common directions stronger": lambda rng: contrast(rng, factors=1.4),
        "rows of different size": lambda rng: contrast(rng, noise=heavy),
        "rows with a memory": lambda rng: contrast(rng, noise=lagging),
        "K twice": lambda rng: contrast(rng, 1500, 1500, 30, 1, asked=2),
        "K half": lambda rng: contrast(rng, 1500, 1500, 30, 4, asked=2),
    },
    empty={
        "the same": lambda rng: contrast(rng, 500, 500, 30, 0, asked=2),
        "the same, stronger": lambda rng: contrast(rng, 500, 500, 30, 0, asked=1, strength=1.5),
        "the same, rows of different size": lambda rng: contrast(rng, 500, 500, 30, 0, asked=1, noise=heavy),
        "the same, rows with a memory": lambda rng: contrast(rng, 500, 500, 10, 0, asked=1, noise=lagging),
    },
)
