"""Size and noise of nonnegative factorizations, exact, separable and approximate: Ge, thesis 2013, chapter 2."""

from __future__ import annotations

import math
from typing import NamedTuple

from ._positive import check_positive


class PolynomialSystem(NamedTuple):
    """Systems of polynomial inequalities whose solutions are nonnegative factorizations.

    ``log10_operations`` is for all of them, with the constant in the exponent.
    """

    n_variables: int
    n_constraints: int
    degree: int
    log10_operations: float


def simplicial_factorization_system(n_rows: int, n_columns: int, rank: int, constant: float = 1.0) -> PolynomialSystem:
    """System that decides whether a matrix of rank r has a nonnegative factorization of rank r: (n m)^(c r^2) (Theorem 2.6).

    The unknowns are S and T, of shape (r, r), with A = C S and W = T R for independent columns C and rows R: entries of both
    are nonnegative, and C S T R = M.

    Parameters
    ----------
    n_rows : int
        n, the number of rows.
    n_columns : int
        m, the number of columns.
    rank : int
        r.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    PolynomialSystem
    """
    check_positive(n_rows=n_rows, n_columns=n_columns, rank=rank)
    n, m, r = n_rows, n_columns, rank
    return PolynomialSystem(2 * r**2, (n + m) * r + n * m, 2, constant * r**2 * math.log10(n * m))


def factorization_system(n_rows: int, n_columns: int, n_components: int, constant: float = 1.0) -> PolynomialSystem:
    """System that decides whether the nonnegative rank is at most r: (n m)^(c r^2 2^r) (Theorem 2.24).

    For every pair of partitions of the rows and of the columns (Corollary 2.23) a system in up to 2^r maps of shape (r, r) for
    each factor. Moitra 2012 needs no more than (n m)^(c r^2).

    Parameters
    ----------
    n_rows : int
        n, the number of rows.
    n_columns : int
        m, the number of columns.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    PolynomialSystem
    """
    check_positive(n_rows=n_rows, n_columns=n_columns, n_components=n_components)
    n, m, r = n_rows, n_columns, n_components
    return PolynomialSystem(2 * r**2 * 2**r, (n + m) * r + n * m, 2, constant * r**2 * 2.0**r * math.log10(n * m))


def hyperplane_partition_count(n_points: int, rank: int, *, affine: bool = False) -> int:
    """Most partitions of n points of rank s by a hyperplane through 0: 2 sum over i < s of (n - 1 over i) (Cover 1965).

    This is reached in general position, without a hyperplane through points; ``affine`` is for hyperplanes anywhere. Partitions
    that put the points in the hyperplane on one side can be more if points are opposite to each other.

    Parameters
    ----------
    n_points : int
        n, the number of points.
    rank : int
        s, the rank of the points.
    affine : bool, default=False
        Whether hyperplanes need not contain the origin.

    Returns
    -------
    int
    """
    check_positive(n_points=n_points, rank=rank)
    return 2 * sum(math.comb(n_points - 1, i) for i in range(rank + affine))


def hyperplane_partition_operations(n_points: int, rank: int, constant: float = 1.0) -> float:
    """Choices by which all hyperplane partitions are listed: m^s (s + 2)^s (Theorem 2.22).

    `latentia.nmf.hyperplane_partitions` goes through the (m over s - 1) hyperplanes of independent points instead.

    Parameters
    ----------
    n_points : int
        n, the number of points.
    rank : int
        s, the rank of the points.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(n_points=n_points, rank=rank)
    return constant * (n_points * (rank + 2.0)) ** rank


class LonerPrograms(NamedTuple):
    """Linear programs that identify loners, each with these numbers of variables and of equations."""

    n_programs: int
    n_variables: int
    n_equations: int


def loner_programs(n_rows: int, n_columns: int) -> LonerPrograms:
    """Cost of an exact separable factorization: for each row, whether it is in the hull of the others (Theorem 2.46).

    Copies of a row are left out of its program. There is no condition: M = A W has to hold exactly.

    Parameters
    ----------
    n_rows : int
        n, the number of rows.
    n_columns : int
        m, the number of columns.

    Returns
    -------
    LonerPrograms
    """
    check_positive(n_rows=n_rows - 1, n_columns=n_columns)
    return LonerPrograms(n_rows, n_rows - 1, n_columns + 1)


class RobustLonerBounds(NamedTuple):
    """Guarantees of Theorem 2.48 for robust loners.

    Attributes
    ----------
    distance : float
        d: rows of l1 distance below it are left out when a row is tested. A robust loner is within d + eps of a row of W.
    margin : float
        Above 0 where the theorem holds.
    residual : float
        l1 norm of a row of M' - A' W', at most.
    """

    distance: float
    margin: float
    residual: float


def robust_loner_bounds(eps: float, robustness: float) -> RobustLonerBounds:
    """d = 10 eps / alpha + 2 eps, residual d + 2 eps, if 40 eps / alpha + 13 eps < alpha (Theorem 2.48).

    The thesis has half of the terms in 1 / alpha. But a row with the share x of other components is up to 2 x from its anchor,
    so that leaving out rows within d leaves out those with x <= 5 eps / alpha only if d >= 10 eps / alpha + 2 eps.

    Parameters
    ----------
    eps : float
        l1 noise of a row of M', whose noiseless rows sum to one.
    robustness : float
        alpha: no row of W is closer to the convex hull of the others, in l1.

    Returns
    -------
    RobustLonerBounds
    """
    check_positive(robustness=robustness)
    distance = 10 * eps / robustness + 2 * eps
    return RobustLonerBounds(distance, robustness - (40 * eps / robustness + 13 * eps), distance + 2 * eps)


def robust_loner_noise_limit(robustness: float) -> float:
    """Largest l1 noise of a row for which robust loners are proven to be anchors: alpha^2 / (40 + 13 alpha) (Theorem 2.48).

    Parameters
    ----------
    robustness : float
        Least distance of a vertex to the span (or the hull) of the others.

    Returns
    -------
    float
    """
    return robustness**2 / (40 + 13 * robustness)


class ApproximateFactorizationBounds(NamedTuple):
    """Relative error that is proven, and delta, below which singular values of A are left to the convex program."""

    error: float
    cutoff: float


def approximate_factorization_bounds(
    eps: float, n_components: int, constant: float = 1.0
) -> ApproximateFactorizationBounds:
    """Error eps^(1/2) r^(1/4) in Frobenius norm, with delta = (eps / r^(1/2))^(1/2) (Theorem 2.49).

    ``eps`` is the relative error of the best nonnegative factorization by r components. Lemma 2.53 needs the factor A' from a
    nonnegative least-squares problem, which the text does not say.

    Parameters
    ----------
    eps : float
        Error that is asked for.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    ApproximateFactorizationBounds
    """
    check_positive(n_components=n_components)
    return ApproximateFactorizationBounds(
        constant * math.sqrt(eps) * n_components**0.25, math.sqrt(eps / math.sqrt(n_components))
    )
