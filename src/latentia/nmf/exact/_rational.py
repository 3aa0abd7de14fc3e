"""Input of exact problems, and linear algebra over the rationals by python-flint.

A float is a rounded number. The product of two factors of inner dimension 3 has rank 3, but the product that a computer
rounds has, as a matrix of rational numbers, full rank, and no exact factorization of dimension 3. So floats are
refused.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from ...exceptions import LatentiaError, MissingExtraError

_ADVICE = (
    "Pass whole numbers, fractions.Fraction, or decimal strings, such as numpy.array([['0.25', '1/3'], ['1', '0']]). "
    "Measured values can be rounded, as [[str(round(x, 6)) for x in row] for row in M], but what is rounded has full "
    "rank in general: for a factorization of measured values use SeparableNMF or ApproximateNMF."
)
_PRIME = 2**61 - 1
_FLOATS_REASON = (
    "A float is a rounded number: a product of floats of inner dimension 3 has, in exact numbers, a rank far above 3, "
    "so that no exact factorization exists."
)


def flint() -> Any:
    """Return the module python-flint."""
    try:
        import flint as module
    except ImportError:
        raise MissingExtraError("python-flint", "exact", "Exact factorization") from None
    return module


def as_rational(M: Any) -> np.ndarray:
    """Return the matrix in exact numbers: array of Fraction, shape (n, m), with no negative entry.

    Raises
    ------
    LatentiaError
        If M is not a table, has no rows or no columns, an entry is negative, or one is a float.
    """
    if hasattr(M, "toarray"):
        M = M.toarray()
    elif hasattr(M, "to_numpy"):
        M = M.to_numpy()
    elif hasattr(M, "table"):  # fmpz_mat and fmpq_mat
        M = M.table()
    if isinstance(M, np.ndarray) and M.dtype.kind in "fc":
        raise LatentiaError(f"The matrix has the type {M.dtype}. {_FLOATS_REASON} {_ADVICE}")
    try:
        rows = [list(row) for row in M]
    except TypeError:
        raise LatentiaError(f"A matrix was expected, that is rows of numbers; found {type(M).__name__}.") from None
    if any(isinstance(row, (str, bytes)) for row in M):
        raise LatentiaError("A matrix was expected, that is rows of numbers; found rows that are strings.")
    if not rows or not rows[0]:
        raise LatentiaError("The matrix has no rows or no columns.")
    odd = next((i for i, row in enumerate(rows) if len(row) != len(rows[0])), None)
    if odd is not None:
        raise LatentiaError(f"Row {odd} has {len(rows[odd])} entries, and row 0 has {len(rows[0])}.")
    exact = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            exact[i, j] = _entry(x, i, j)
    return exact


def _entry(x: Any, i: int, j: int) -> Fraction:
    where = f"Entry [{i}, {j}]"
    if isinstance(x, (float, complex, np.floating, np.complexfloating)):
        raise LatentiaError(f"{where} is the float {x!r}. {_FLOATS_REASON} {_ADVICE}")
    try:
        if isinstance(x, (bool, np.bool_, int, np.integer)):
            value = Fraction(int(x))
        elif isinstance(x, Rational):  # parts may be integers of numpy, which overflow
            value = Fraction(int(x.numerator), int(x.denominator))
        elif isinstance(x, (Decimal, str)):
            value = Fraction(x)
        elif type(x).__name__ == "fmpq":
            value = Fraction(int(x.p), int(x.q))
        elif type(x).__name__ == "fmpz":
            value = Fraction(int(x))
        else:
            raise LatentiaError(f"{where} is {x!r}, of type {type(x).__name__}. {_ADVICE}")
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        if isinstance(error, LatentiaError):
            raise
        raise LatentiaError(f"{where} is {x!r}, which is not a finite number. {_ADVICE}") from None
    if value < 0:
        raise LatentiaError(f"{where} is {x}, and a nonnegative factorization needs entries that are 0 or more.")
    return value


# --- linear algebra -------------------------------------------------------------------------------------------------


def to_flint(M: np.ndarray) -> Any:
    """`fmpq_mat` of an array of fractions or whole numbers, shape (n, m)."""
    lib = flint()
    return lib.fmpq_mat(M.shape[0], M.shape[1], [lib.fmpq(int(x.numerator), int(x.denominator)) for x in M.flat])


def fractions_of(M: Any) -> np.ndarray:
    """Convert an `fmpq_mat` to an array of Fractions."""
    result = np.empty(M.nrows() * M.ncols(), dtype=object)
    result[:] = [Fraction(int(x.p), int(x.q)) for x in M.entries()]
    return result.reshape(M.nrows(), M.ncols())


def rank_of(M: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return rows and columns of a largest minor that is not zero; their number is the rank.

    For whole numbers they are found modulo a prime, and are right if the minor is as large as the rank.
    """
    if all(isinstance(x, int) for x in M.flat):
        lib = flint()
        integers = lib.fmpz_mat(*M.shape, list(M.flat))
        modular = lib.nmod_mat(integers, _PRIME)
        columns, rows = _pivots(modular), _pivots(modular.transpose())
        minor = lib.fmpz_mat(len(rows), len(columns), [M[i, j] for i in rows for j in columns])
        if integers.rank() == len(rows) == minor.rank():
            return rows, columns
    columns = _pivots(to_flint(M))
    rows = _pivots(to_flint(M[:, list(columns)].T)) if columns else ()
    return rows, columns


def nullspace(M: Any) -> Any:
    """Return the basis of {x: M x = 0} for an `fmpq_mat` of shape (n, m): `fmpq_mat` of shape (m, k)."""
    lib = flint()
    echelon, rank = M.rref()
    pivots = _pivots_of(echelon, rank)
    free = [j for j in range(M.ncols()) if j not in set(pivots)]
    basis = lib.fmpq_mat(M.ncols(), len(free))
    for k, j in enumerate(free):
        basis[j, k] = 1
        for i, pivot in enumerate(pivots):
            basis[pivot, k] = -echelon[i, j]
    return basis


def solve(A: Any, B: Any) -> Any | None:
    """X with A X = B for a square `fmpq_mat` A; None if A is singular."""
    try:
        return A.solve(B)
    except ZeroDivisionError:
        return None


def _pivots(M: Any) -> tuple[int, ...]:
    return _pivots_of(*M.rref())


def _pivots_of(echelon: Any, rank: int) -> tuple[int, ...]:
    pivots: list[int] = []
    for i in range(rank):
        begin = pivots[-1] + 1 if pivots else 0
        pivots.append(next(j for j in range(begin, echelon.ncols()) if echelon[i, j] != 0))
    return tuple(pivots)
