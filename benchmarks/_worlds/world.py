"""A world: a way to draw data with a known truth, and how far a fit is from it; and what the generators share.

Nothing here comes from `latentia.datasets.planted`: an audit with the library's own generators would share their habits.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.signal import lfilter

Kind = Literal["right", "wrong", "empty"]
Rng = np.random.Generator
Draw = Callable[[Rng], "Case"]


@dataclass(frozen=True)
class Case:
    """Data and truth.

    Attributes
    ----------
    estimator : callable
        From ``refine`` to the estimator, not fitted, with the K that the world asks for.
    fit : callable
        From the estimator to the fitted one.
    distances : callable, optional
        From a fitted estimator to the distances of its components to the true ones, (K, K_true), in the unit of its expected
        error; none where there is nothing to find.
    new_score : callable, optional
        From a fitted estimator to its score on new rows of the same world, and that of the trivial model.
    most : float
        What errors are cut at, as the estimator does.
    """

    estimator: Callable[[Any], Any]
    fit: Callable[[Any], Any]
    distances: Callable[[Any], np.ndarray] | None = None
    new_score: Callable[[Any], tuple[float, float]] | None = None
    most: float = np.inf

    def errors_by_component(self, fitted: Any) -> np.ndarray:
        """Distance of each fitted component to the nearest true one: what parts of the data are compared by, too.

        So with more components than there are the surplus ones count by what they are nearest to, and with fewer by how far
        each is from anything true, which is what its reader takes from it.
        """
        if self.distances is None:
            return np.full(len(np.atleast_1d(self._expected(fitted))), np.nan)
        return np.minimum(self.distances(fitted).min(axis=1), self.most)

    def error(self, fitted: Any) -> float:
        """Mean over the fitted components."""
        return float(self.errors_by_component(fitted).mean())

    def matched(self, fitted: Any) -> float:
        """The same with components matched one to one; NaN where there are not as many of them as true ones."""
        apart = np.zeros((0, 1)) if self.distances is None else self.distances(fitted)
        if apart.shape[0] != apart.shape[1]:
            return np.nan
        return float(np.minimum(apart[linear_sum_assignment(apart)], self.most).mean())

    @staticmethod
    def _expected(fitted: Any) -> Any:
        errors = fitted.evidence_.component_errors
        return np.nan if errors is None else errors


@dataclass(frozen=True)
class World:
    """``make(seed)`` draws it."""

    family: str
    name: str
    kind: Kind
    make: Callable[[int], Case]


def worlds(family: str, right: Mapping[str, Draw], wrong: Mapping[str, Draw], empty: Mapping[str, Draw]) -> list[World]:
    """The worlds of a family, each with random numbers of its own."""

    def seeded(name: str, draw: Draw) -> Callable[[int], Case]:
        return lambda seed: draw(np.random.default_rng([zlib.crc32(f"{family}/{name}".encode()), seed]))

    kinds: dict[Kind, Mapping[str, Draw]] = {"right": right, "wrong": wrong, "empty": empty}
    return [World(family, name, kind, seeded(name, draw)) for kind, of in kinds.items() for name, draw in of.items()]


# --- what generators share ----------------------------------------------------------------------------------------


def spread_shares(k: int, fold: float = 1.0) -> np.ndarray:
    """Shares of which the largest is ``fold`` times the smallest."""
    shares = np.geomspace(fold, 1, k)
    return shares / shares.sum()


def labels_of(rng: Rng, n: int, shares: np.ndarray, stay: float = 0.0) -> np.ndarray:
    """A label for each row; it is kept from the row before with probability ``stay``."""
    labels = rng.choice(len(shares), n, p=shares)
    new = rng.random(n) >= stay
    new[0] = True
    return labels[np.maximum.accumulate(np.where(new, np.arange(n), 0))]


def remembering(rng: Rng, n: int, d: int, rho: float) -> np.ndarray:
    """Gaussian noise of unit variance, (n, d), in which neighbours have correlation ``rho``."""
    noise = rng.standard_normal((n + 200, d))
    return lfilter([np.sqrt(1 - rho**2)], [1, -rho], noise, axis=0)[200:]


def copies(rng: Rng, n: int, times: int, shuffled: bool = True) -> np.ndarray:
    """Numbers of ``n // times`` rows, each ``times`` times."""
    rows = np.repeat(np.arange(n // times), times)
    return rng.permutation(rows) if shuffled else rows


def walk(rng: Rng, n: int, transmat: np.ndarray, start: np.ndarray) -> np.ndarray:
    """States of a Markov chain."""
    steps, draws = [list(row) for row in np.cumsum(transmat, axis=1)], rng.random(n)
    states, last = np.empty(n, np.int64), len(start) - 1
    state = min(bisect_right(list(np.cumsum(start)), draws[0]), last)
    for t in range(n):
        states[t] = state
        if t + 1 < n:
            state = min(bisect_right(steps[state], draws[t + 1]), last)
    return states


def stationary(transmat: np.ndarray) -> np.ndarray:
    k = len(transmat)
    equations = np.vstack([transmat.T - np.eye(k), np.ones(k)])
    shares = np.maximum(np.linalg.lstsq(equations, np.append(np.zeros(k), 1.0), rcond=None)[0], 0)
    return shares / shares.sum()


def emitted(rng: Rng, states: np.ndarray, emissions: np.ndarray) -> np.ndarray:
    """A symbol for each state."""
    symbols, draws = np.empty(len(states), np.int64), rng.random(len(states))
    for k, row in enumerate(np.cumsum(emissions, axis=1)):
        mine = states == k
        symbols[mine] = np.minimum(np.searchsorted(row, draws[mine] * row[-1], side="right"), len(row) - 1)
    return symbols
