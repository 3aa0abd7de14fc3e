"""Search for exact factorizations: floats find where zeros are, rational numbers follow.

Theorem 2.6 of R. Ge's thesis (Princeton 2013) decides systems of polynomial inequalities in time (nm)^{O(r^2)}.
Differences:

1. The search decides nothing where it finds nothing.
2. Solutions that are isolated and not rational are not found.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ._floats import balance, remove_scales
from ._general import GeneralSearch
from ._results import Approximation
from ._simplicial import SimplicialSearch


class SearchResult(NamedTuple):
    """Exact factors, if any were found, and the best ones in floats."""

    factors: tuple[np.ndarray, np.ndarray] | None
    best: Approximation


class Search:
    """Factorizations of a matrix of known rank, from seeded random starts until a time is over.

    Parameters
    ----------
    M : array of int, shape (n, m)
        No zero rows and no zero columns.
    minor : (tuple of int, tuple of int)
        Rows and columns of a largest minor that is not zero.
    """

    def __init__(self, M: np.ndarray, minor: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
        self._shape, self._rank = M.shape, len(minor[0])
        M, *self._scales = remove_scales(M)
        self._X, self._rows, self._columns = balance(M)
        self._simplicial = SimplicialSearch(M, minor, self._X, self._rows)
        self._general = GeneralSearch(M, self._X, self._rows, self._columns)
        self._rngs: dict[int, np.random.Generator] = {}
        self._starts: dict[int, int] = {}

    def zero_factors(self, r: int) -> Approximation:
        """Return factors that are zero."""
        A, W = np.zeros((self._shape[0], r), dtype=object), np.zeros((r, self._shape[1]), dtype=object)
        return Approximation(A, W, 1.0)

    def run(self, r: int, seconds: float) -> SearchResult:
        """Search for ``r`` components, at least the rank, from one start or more; the next call goes on from there."""
        end, best = time.monotonic() + seconds, self.zero_factors(r)
        rng = self._rngs.setdefault(r, np.random.default_rng(0))
        with threadpool_limits(1):
            while True:
                start = self._starts[r] = self._starts.get(r, -1) + 1
                # As many components as the rank are enough as well, and their search is much the faster one.
                if r == self._rank or start % 4 == 3:
                    factors, A, W = self._simplicial.attempt(rng, end)
                else:
                    factors, A, W = self._general.attempt(r, rng, end)
                best = self._choose_better(best, A, W)
                if factors is not None:
                    return SearchResult(self._rescale(*factors), best)
                if time.monotonic() >= end:
                    return SearchResult(None, best)

    def _rescale(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return factors of the whole matrix from those of the levelled one."""
        rows, columns = (np.array(scales, dtype=object) for scales in self._scales)
        return rows[:, None] * A, W * columns

    def _choose_better(self, best: Approximation, A: np.ndarray, W: np.ndarray) -> Approximation:
        residual = float(np.linalg.norm(self._X - A @ W) / np.linalg.norm(self._X))
        if not residual < best.residual:
            return best
        r = best.A.shape[1]
        exactly = np.vectorize(Fraction, otypes=[object])  # scales may be beyond floats
        A, W = self._rescale(exactly(self._rows[:, None] * A), exactly(W * self._columns))
        return Approximation(np.pad(A, ((0, 0), (0, r - A.shape[1]))), np.pad(W, ((0, r - len(W)), (0, 0))), residual)
