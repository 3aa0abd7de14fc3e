"""Exact nonnegative factorization: a factorization, a proof that there is none, or neither.

References
----------
R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, sections 2.2 to 2.4.
Cohen, Rothblum. Nonnegative ranks, decompositions, and factorizations of nonnegative matrices. 1993.
Gillis, Glineur. On the geometric interpretation of the nonnegative rank. 2012.
"""

from __future__ import annotations

import numbers
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ...exceptions import LatentiaError
from ._boolean_rank import boolean_rank_bound
from ._floats import to_floats
from ._fooling_set import fooling_set_bound
from ._polygons import PolygonPair, PolygonProof
from ._rank_two import factor_of_rank_two
from ._rational import as_rational, rank_of
from ._rectangle_cover import rectangle_cover_bound
from ._reduce import primitive, reduce_matrix
from ._restricted_cover import restricted_cover_bound
from ._results import Approximation, Factorization, Impossible, LowerBound, RankBounds, RankMinor, Undecided
from ._search import Search

Factors = tuple[np.ndarray, np.ndarray]


def exact_nmf(M: Any, r: int, budget: float = 10.0) -> Factorization | Impossible | Undecided:
    r"""Find an exact factorization M = A W with nonnegative A of r columns and W of r rows, in rational numbers.

    M is n x m, A is n x r, W is r x m, no entry is negative, and the product is equal to M exactly. Whether A and W
    exist is decided as far as it can be:

    - r below the rank of M: impossible.
    - Rank one or two: there is a factorization, in closed form.
    - Rank three, r = 3 or 4: decided by nested polygons (see Notes).
    - r at least the number of rows or columns, apart from zero ones and multiples of others: M = M I.
    - Otherwise a search over floats finds where the zeros are, and rational numbers follow, which are checked exactly.
      At the same time lower bounds from the support of M may show that r is too small: fooling sets, rectangle covers,
      Boolean rank.

    Parameters
    ----------
    M : array-like, shape (n, m)
        Nonnegative whole numbers, `fractions.Fraction`, `decimal.Decimal`, strings such as "0.25" and "1/3", or numbers
        of python-flint. Floats are refused: a product of floats has no exact factorization.
    r : int
        Inner dimension, 1 or more.
    budget : float
        Seconds after which the search stops. Reductions, ranks and polygons are not cut short.

    Returns
    -------
    Factorization
        Exact factors. ``verify()`` multiplies them.
    Impossible
        A proof that there are none; ``reason`` in words. ``verify()`` checks what the proof records, without the
        search.
    Undecided
        Neither was found: the best factors in floats with their residual, and proved bounds of the nonnegative rank. A
        dense matrix of rank four or more that has no factorization stays undecided.

    Raises
    ------
    LatentiaError
        If M holds floats, negative numbers or what is not a number, or is no table; if r or the budget is not above 0.
    MissingExtraError
        If python-flint is not installed. It comes with the extra ``exact``.

    See Also
    --------
    nonnegative_rank : The least r, or bounds of it.
    SeparableNMF, ApproximateNMF : For measured values.

    Notes
    -----
    Theorem 2.6 of the thesis decides whether r = rank(M) components are enough in time (nm)^{O(r^2)} by a system
    of polynomial inequalities in 2 r^2 unknowns. Here

    1. rank three is decided by tangents to nested polygons, which takes milliseconds. Since rank(A) + rank(W) <= r +
       rank(M), three components mean that A has rank three, and four that A or W has: then a triangle, or a
       quadrilateral, lies between the two polygons of M. Where one does, one with rational vertices does;
    2. higher ranks are searched in r^2 unknowns, S with A = U S and W = S^{-1} V for M = U V. What the search does not
       find stays undecided; factorizations that exist only in irrational numbers are among it;
    3. more components than the rank are searched in all entries of A and W (the thesis has Theorem 2.24 for this, whose
       cost is out of reach).

    Examples
    --------
    >>> from latentia.nmf import exact_nmf
    >>> found = exact_nmf([[1, 2, 3], [2, 1, 3], [3, 3, 6]], 2)
    >>> found.r, found.verify()
    (2, True)
    >>> exact_nmf([["0.5", "0.25"], ["0", "1/3"]], 1).reason
    'The rank of the matrix is at least 2: a minor of this size is not zero.'
    """
    return _Problem(as_rational(M)).decide(_check_size(r), _check_budget(budget))


def nonnegative_rank(M: Any, budget: float = 30.0) -> RankBounds:
    """Return the least r for which M has an exact nonnegative factorization, or bounds of it.

    Parameters
    ----------
    M : array-like, shape (n, m)
        Exact nonnegative numbers, as in `exact_nmf`.
    budget : float
        Seconds for the search and the lower bounds.

    Returns
    -------
    RankBounds
        ``lower`` and ``upper``, a factorization with ``upper`` components, and a proof that ``lower - 1`` are too few.
        The nonnegative rank is known where ``exact`` is true.

    Raises
    ------
    LatentiaError
        As in `exact_nmf`.

    Examples
    --------
    The distance matrix of six points on a line has rank three:

    >>> from latentia.nmf import nonnegative_rank
    >>> found = nonnegative_rank([[(i - j) ** 2 for i in range(6)] for j in range(6)])
    >>> found.lower, found.upper, found.verify()
    (5, 5, True)
    """
    return _Problem(as_rational(M)).bounds(_check_budget(budget))


def _check_size(r: Any) -> int:
    if isinstance(r, (bool, np.bool_)) or not isinstance(r, numbers.Integral) or r < 1:
        raise LatentiaError("expected a whole number of at least 1.", parameter="r", value=r)
    return int(r)


def _check_budget(budget: Any) -> float:
    is_number = isinstance(budget, numbers.Real) and not isinstance(budget, (bool, np.bool_))
    if not is_number or not float(budget) > 0:
        raise LatentiaError("expected a number of seconds above 0.", parameter="budget", value=budget)
    return float(budget)


class _Problem:
    """A matrix with the bounds and factorizations that are known so far."""

    def __init__(self, M: np.ndarray) -> None:
        self.M, self._reduced = M, reduce_matrix(M)
        self._minor = rank_of(self._reduced.core)
        self._rank = len(self._minor[0])
        numbers_in_whole = self._reduced.rows, self._reduced.columns
        self._lower: LowerBound = RankMinor(
            *(
                _rename_numbers(part, all_numbers)
                for part, all_numbers in zip(self._minor, numbers_in_whole, strict=True)
            )
        )
        self._supports = self._support_bounds()
        self._search: Search | None = None

    @property
    def _trivial(self) -> int:
        """Components that are enough for any matrix of this size."""
        return min(self._reduced.core.shape)

    # --- one inner dimension ----------------------------------------------------------------------------------------

    def decide(self, r: int, budget: float) -> Factorization | Impossible | Undecided:
        end = time.monotonic() + budget
        factors = self._factor_certainly(r)
        if factors is None and self._prove(r) is None:
            factors, best = self._search_factors(r, end)
        if factors is not None:
            return self._factorization(factors, r)
        upper = len(self._polygon_pair.smallest) if self._rank == 3 else self._trivial
        return self._prove(r) or Undecided(self.M, r, best, self._lower.bound, upper, self._advice(r))

    def _prove(self, r: int) -> Impossible | None:
        return Impossible(self.M, r, self._lower) if self._lower.bound > r else None

    def _factor_certainly(self, r: int) -> Factors | None:
        """Return factors without a search; where rank three shows that there are none, the lower bound is raised."""
        core, undo = self._reduced.core, self._reduced.undo
        if self._lower.bound > r:
            return None
        if self._rank <= 2:
            return undo(*factor_of_rank_two(core, *self._minor))
        if r >= self._trivial:
            n, m = core.shape
            exact_core = np.array([[Fraction(int(x)) for x in row] for row in core], dtype=object)
            return undo(exact_core, _identity(m)) if m <= n else undo(_identity(n), exact_core)
        return self._polygons(r) if self._rank == 3 else None

    def _polygons(self, k: int) -> Factors | None:
        """Return factors from a nested polygon with k vertices."""
        part, polygons = self._reduced, self._polygon_pair
        result = polygons.find_polygon(k) if k <= 4 else polygons.smallest
        if isinstance(result, PolygonProof):
            self._lower = result.extend(part.rows, part.columns)
            return None
        return part.undo(*polygons.factors(result)) if len(result) <= k else None

    @cached_property
    def _polygon_pair(self) -> PolygonPair:
        return PolygonPair(self._reduced.core, *self._minor)

    def _search_factors(self, r: int, end: float) -> tuple[Factors | None, Approximation]:
        """Return factors by search, in turns with the lower bounds until one of them is above r."""
        search = self._search = self._search or Search(self._reduced.core, self._minor)
        best = search.zero_factors(r)
        while True:
            seconds_left = end - time.monotonic()
            pending = self._raise_lower(0.15 * seconds_left)
            if self._lower.bound > r:
                break
            result = search.run(r, 0.15 * seconds_left if pending else seconds_left)
            best = min(best, result.best, key=lambda approximation: approximation.residual)
            if result.factors is not None:
                return self._reduced.undo(*result.factors), best
            if time.monotonic() >= end:
                break
        A, W, M = map(to_floats, (*self._reduced.undo(best.A, best.W), self.M))
        if M.max() < 1e150:  # squares are within floats
            best = best._replace(residual=float(np.linalg.norm(M - A @ W) / np.linalg.norm(M)))
        return None, best._replace(A=A, W=W)

    def _raise_lower(self, seconds: float) -> bool:
        """Try the next of the bounds by the support; return False if there are no more."""
        bound = next(self._supports, None)
        if bound is None:
            return False
        lower = bound(self.M, max(0.05, seconds))
        if lower.bound > self._lower.bound:
            self._lower = lower
        return True

    def _support_bounds(self) -> Iterator[Callable[[np.ndarray, float], LowerBound]]:
        core = self._reduced.core
        if (core > 0).all():
            return  # a single rectangle covers the support
        yield fooling_set_bound
        yield rectangle_cover_bound
        yield boolean_rank_bound
        yield restricted_cover_bound

    def _factorization(self, factors: Factors, r: int) -> Factorization:
        """Pad A and W with zeros to exactly r components, and scale columns of A to whole numbers."""
        A, W = (factor.copy() for factor in factors)
        n_missing = r - A.shape[1]
        for k, (column, scale) in enumerate(map(primitive, A.T)):
            A[:, k], W[k] = [Fraction(x) for x in column], W[k] * scale
        A = np.hstack([A, np.full((len(A), n_missing), Fraction(0), dtype=object)])
        W = np.vstack([W, np.full((n_missing, W.shape[1]), Fraction(0), dtype=object)])
        return Factorization(A, W, self.M)

    def _advice(self, r: int) -> str:
        failure = (
            f"The budget ended without a factorization with {r} components and without a proof that there is none."
        )
        if self._rank == 3:
            return failure + " For matrices of rank three only up to four components are always decided."
        if (self._reduced.core > 0).all():
            return failure + " The matrix has no zeros, so no lower bound exceeds the rank."
        return failure + " Give a larger budget to continue the search and the lower bounds."

    # --- all inner dimensions ---------------------------------------------------------------------------------------

    def bounds(self, budget: float) -> RankBounds:
        """Bound the nonnegative rank: from below by one r after the other, from above by factorizations."""
        end = time.monotonic() + budget
        if self._rank == 0:
            zero_factors = self._reduced.undo(*factor_of_rank_two(self._reduced.core, (), ()))
            return RankBounds(0, 0, self._factorization(zero_factors, 0), None)
        upper = self._factor_without_search()
        r = self._lower.bound
        while r < upper.r and time.monotonic() < end:
            attempt = self.decide(r, 0.2 * (end - time.monotonic()))
            upper = attempt if isinstance(attempt, Factorization) else upper
            r = max(r + 1, self._lower.bound)
        while self._lower.bound < upper.r and time.monotonic() < end:
            attempt = self.decide(upper.r - 1, end - time.monotonic())
            if not isinstance(attempt, Factorization):
                break
            upper = attempt
        lower = self._lower.bound
        return RankBounds(lower, upper.r, upper, Impossible(self.M, lower - 1, self._lower))

    def _factor_without_search(self) -> Factorization:
        """Return the smallest factorization that needs no search."""
        sizes = [self._rank, self._rank + 1, len(self._polygon_pair.smallest)] if self._rank == 3 else [self._rank]
        r, factors = next(
            (r, factors_of_r)
            for r in (*sizes, self._trivial)
            if (factors_of_r := self._factor_certainly(r)) is not None
        )
        return self._factorization(factors, r)


def _rename_numbers(numbers_: tuple[int, ...], numbers_in_whole: tuple[int, ...]) -> tuple[int, ...]:
    """Return numbers in the whole matrix of rows or columns of the core."""
    return tuple(numbers_in_whole[i] for i in numbers_)


def _identity(size: int) -> np.ndarray:
    identity = np.full((size, size), Fraction(0), dtype=object)
    np.fill_diagonal(identity, Fraction(1))
    return identity
