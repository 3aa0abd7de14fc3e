"""Results of `exact_nmf` and `nonnegative_rank`; each can be checked without the search that found it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...linalg.rational import rank


class LowerBound(Protocol):
    """A proof that the nonnegative rank of a matrix is at least ``bound``."""

    @property
    def bound(self) -> int: ...

    @property
    def reason(self) -> str: ...

    def verify(self, M: np.ndarray) -> bool: ...


@dataclass(frozen=True, eq=False, repr=False)
class Factorization:
    """An exact factorization M = A W with nonnegative factors.

    Parameters
    ----------
    A : array of Fraction, shape (n, r)
        First factor.
    W : array of Fraction, shape (r, m)
        Second factor.
    M : array of Fraction, shape (n, m)
        The matrix.
    """

    A: np.ndarray
    W: np.ndarray
    M: np.ndarray

    @property
    def r(self) -> int:
        """Inner dimension."""
        return self.A.shape[1]

    def verify(self) -> bool:
        """Return True if A W = M exactly, and no entry is negative.

        Every entry is an `int` or a `Fraction`, and the product is compared in whole numbers after denominators of the
        rows of A and the columns of W have been cleared. Nothing that the search knew is used.

        Returns
        -------
        bool
        """
        n, m = self.M.shape
        if self.A.shape != (n, self.r) or self.W.shape != (self.r, m):
            return False
        if not all(_is_nonnegative(x) for factor in (self.A, self.W) for x in factor.flat):
            return False
        row_vectors, column_vectors = (
            [_clear_denominators(row) for row in self.A],
            [_clear_denominators(column) for column in self.W.T],
        )
        for i, (row, row_scale) in enumerate(row_vectors):
            for j, (column, column_scale) in enumerate(column_vectors):
                product = sum(x * y for x, y in zip(row, column, strict=True))
                entry = Fraction(self.M[i, j])
                if product * entry.denominator != entry.numerator * row_scale * column_scale:
                    return False
        return True

    def to_float(self) -> tuple[np.ndarray, np.ndarray]:
        """Return A and W as arrays of floats.

        Returns
        -------
        A : ndarray of shape (n, r)
        W : ndarray of shape (r, m)
        """
        return self.A.astype(float), self.W.astype(float)

    def __repr__(self) -> str:
        return f"Factorization(r={self.r}, shape={self.M.shape})"


@dataclass(frozen=True, eq=False, repr=False)
class Impossible:
    """M has no nonnegative factorization of inner dimension r, with a proof.

    Parameters
    ----------
    M : array of Fraction, shape (n, m)
        The matrix.
    r : int
        Inner dimension that was asked for.
    proof : LowerBound
        Proof that the nonnegative rank is at least ``proof.bound``, which is above r.
    """

    M: np.ndarray
    r: int
    proof: LowerBound

    @property
    def reason(self) -> str:
        """The proof in a sentence."""
        return self.proof.reason

    def verify(self) -> bool:
        """Return True if the proof holds for M, recomputed from what it records, and is about more than r components.

        Returns
        -------
        bool
        """
        return self.proof.bound > self.r and self.proof.verify(self.M)

    def __repr__(self) -> str:
        return f"Impossible(r={self.r}: {self.reason})"


class Approximation(NamedTuple):
    """The best factorization in floats that a search met: nonnegative factors and |M - A W| / |M| in Frobenius norm."""

    A: np.ndarray
    W: np.ndarray
    residual: float


@dataclass(frozen=True, eq=False, repr=False)
class Undecided:
    """Neither a factorization nor a proof that there is none was found within the budget.

    Parameters
    ----------
    M : array of Fraction, shape (n, m)
        The matrix.
    r : int
        Inner dimension that was asked for.
    best : Approximation
        The closest factors that were found, in floats, with their relative residual. A residual of 1e-15 proves nothing.
    lower, upper : int
        Proved bounds of the nonnegative rank, lower <= r < upper.
    reason : str
        What was tried, and what would help.
    """

    M: np.ndarray
    r: int
    best: Approximation
    lower: int
    upper: int
    reason: str

    @property
    def residual(self) -> float:
        """Relative residual of the best factors."""
        return self.best.residual

    def __repr__(self) -> str:
        return f"Undecided(r={self.r}, {self.lower} <= nonnegative rank <= {self.upper}, residual {self.residual:.1e})"


@dataclass(frozen=True, eq=False)
class RankBounds:
    """Bounds of the nonnegative rank, both with a certificate.

    Parameters
    ----------
    lower, upper : int
        lower <= nonnegative rank <= upper.
    factorization : Factorization
        A factorization with ``upper`` components.
    proof : Impossible or None
        Proof that ``lower - 1`` components are too few; None where ``lower`` is 0.
    """

    lower: int
    upper: int
    factorization: Factorization = field(repr=False)
    proof: Impossible | None = field(repr=False)

    @property
    def exact(self) -> bool:
        """True if the two bounds meet."""
        return self.lower == self.upper

    def verify(self) -> bool:
        """Return True if both certificates hold and are about these bounds.

        Returns
        -------
        bool
        """
        below = self.lower == 0 if self.proof is None else self.proof.r == self.lower - 1 and self.proof.verify()
        return below and self.factorization.r == self.upper and self.factorization.verify()


@dataclass(frozen=True)
class RankMinor:
    """A minor that is not zero: the nonnegative rank is at least the rank.

    Attributes
    ----------
    rows, columns : tuple of int
        Of the minor.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def bound(self) -> int:
        return len(self.rows)

    @property
    def reason(self) -> str:
        return f"The rank of the matrix is at least {self.bound}: a minor of this size is not zero."

    def verify(self, M: np.ndarray) -> bool:
        """Return True if the minor has full rank, by elimination in whole numbers."""
        return rank([M[i][j] for j in self.columns] for i in self.rows) == len(self.rows) == len(self.columns)


def _is_nonnegative(x: Any) -> bool:
    return isinstance(x, (int, Fraction)) and x >= 0


def _clear_denominators(vector: Any) -> tuple[list[int], int]:
    """Return the vector without denominators, and the factor that removed them."""
    fractions = [Fraction(x) for x in vector]
    scale = math.lcm(*(x.denominator for x in fractions))
    return [x.numerator * (scale // x.denominator) for x in fractions], scale
