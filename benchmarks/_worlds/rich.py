"""Several views of components that some of them share, for `RichComponents`.

The true error of a component in several views is the Frobenius norm of the errors of its maps to all views but its first, over
that of the maps, in units of the columns' standard deviations. A component that is found and does not exist has an error of
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.signal import lfilter

from latentia.contrastive import RichComponents

from .world import Case, Draw, Rng, worlds

ALL = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
PAIR = ((0,), (1,), (0, 1))
CHAIN = ((0,), (1,), (2,), (0, 1), (1, 2))
Rows = Callable[[Rng, int, int], np.ndarray]  # (rng, n, d): independent entries of unit variance


def exponential(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.exponential(size=(n, d)) - 1


def laplace(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.laplace(scale=np.sqrt(0.5), size=(n, d))


def uniform(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.uniform(-np.sqrt(3), np.sqrt(3), (n, d))


def gamma(rng: Rng, n: int, d: int) -> np.ndarray:
    """Entries that depend on each other."""
    rows = (rng.gamma(2.0, size=(n, d)) - 2) / np.sqrt(2)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return np.asarray(rows @ turn.T)


def gaussian(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d))


def with_memory(draw: Rows, memory: float) -> Rows:
    def rows(rng: Rng, n: int, d: int) -> np.ndarray:
        return np.asarray(np.sqrt(1 - memory**2) * lfilter([1.0], [1.0, -memory], draw(rng, n + 200, d), axis=0)[200:])

    return rows


def matrix(rng: Rng, d: int) -> np.ndarray:
    """A map whose singular values are between a half and two."""
    left, right = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
    return np.asarray(left * rng.uniform(0.5, 2.0, d) @ right)


def made(
    n: int = 50_000,
    d: int = 3,
    subsets: Sequence[tuple[int, ...]] = ALL,
    draw: Rows = exponential,
    absent: Sequence[int] = (),
    told: Sequence[tuple[int, ...]] | None = None,
    times: int = 1,
    dependent: bool = False,
    bent: bool = False,
    noise: float = 0.0,
    found: bool = True,
) -> Draw:
    """``told`` are the sets that the estimator is told, all three views' by default; ``times`` is how often rows are
    repeated."""

    def world(rng: Rng) -> Case:
        parts = [draw(rng, n, d) * (j not in absent) for j in range(len(subsets))]
        if dependent:
            parts[0] = 0.7 * parts[0] + 0.7 * parts[-1]
        views = [np.zeros((n, d)) for _ in range(1 + max(map(max, subsets)))]
        maps: dict[tuple[int, int], np.ndarray] = {}
        for j, one in enumerate(subsets):
            for i in one:
                maps[i, j] = np.eye(d) if i == one[0] else matrix(rng, d)
                views[i] += (np.tanh(parts[j]) if bent and i != one[0] else parts[j]) @ maps[i, j].T
        views = [np.repeat(view + noise * rng.standard_normal(view.shape), times, axis=0) for view in views]
        real = {one: j for j, one in enumerate(subsets) if j not in absent}

        def distances(model: Any) -> np.ndarray:
            errors = []
            for k, one in enumerate(model.subsets_):
                if len(one) < 2 or not model.present_[k]:
                    continue
                if one not in real:
                    errors.append(1.0)
                    continue
                stacked = [
                    np.vstack([some[i, number] * model._scale[one[0]] / model._scale[i][:, None] for i in one[1:]])
                    for some, number in ((model.linear_maps_, k), (maps, real[one]))
                ]
                errors.append(float(np.linalg.norm(stacked[0] - stacked[1]) / np.linalg.norm(stacked[1])))
            return np.array(errors)[:, None]

        sets = list(subsets if told is None else told)
        return Case(lambda refine: RichComponents(sets), lambda model: model.fit(views), distances if found else None)

    return world


right: dict[str, Draw] = {
    "all seven": made(),
    "all seven, plenty": made(400_000),
    "all seven, few rows": made(8000),
    "five columns": made(150_000, 5),
    "two absent": made(absent=(3, 5)),
    "only one shared": made(20_000, absent=(3, 4, 5)),
    "two views": made(20_000, 4, PAIR),
    "two views, symmetric": made(40_000, 4, PAIR, laplace),
    "chain of views": made(30_000, 3, CHAIN),
    "symmetric": made(200_000, 3, ALL, laplace),
    "flat": made(200_000, 3, ALL, uniform),
    "columns that depend": made(100_000, 3, ALL, gamma),
    "noise in the views": made(100_000, 3, noise=1.0),
}
wrong: dict[str, Draw] = {
    "copied rows": made(10_000, times=5),
    "copied rows, plenty": made(50_000, times=4),
    "time series": made(100_000, 3, ALL, with_memory(exponential, 0.9)),
    "components depend": made(dependent=True),
    "bent maps": made(bent=True),
    "a pair is not told": made(told=[one for one in ALL if one != (0, 1)]),
    "the common one is not told": made(told=[one for one in ALL if one != (0, 1, 2)]),
}
empty: dict[str, Draw] = {
    "all Gaussian": made(20_000, 3, ALL, gaussian, found=False),
    "independent views": made(20_000, absent=(3, 4, 5, 6), found=False),
    "Gaussian with memory": made(20_000, 3, ALL, with_memory(gaussian, 0.97), found=False),
    "hundred rows": made(100, 2, found=False),
}
WORLDS = worlds("RichComponents", right, wrong, empty)
