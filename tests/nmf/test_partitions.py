"""Partitions by hyperplanes against Cover's count and against a linear program for every subset."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.optimize import linprog

from latentia.exceptions import LatentiaError
from latentia.nmf.partitions import hyperplane_partitions


def cover_count(n_points, rank):
    """Return the number of partitions of points in general position by a hyperplane through zero (Cover 1965)."""
    return 2 * sum(comb(n_points - 1, i) for i in range(rank))


def brute_force(points, strict=False):
    """Subsets S for which some h has h . x >= 0 on S and < 0 off it, by a linear program each."""
    X = np.array(points, dtype=float)
    zero = ~X.any(axis=1)
    found = []
    for sides in product([False, True], repeat=len(X)):
        inside = np.array(sides)
        least = np.where(inside, 0.0 if not strict else np.where(zero, 0.0, 1.0), 1.0)
        sign = np.where(inside, 1.0, -1.0)
        if inside.all() and X.any():  # not all points in the hyperplane
            least, sign, X_all = np.append(least, 1.0), np.append(sign, 1.0), np.vstack([X, X.sum(axis=0)])
        else:
            X_all = X
        feasible = linprog(
            np.zeros(X.shape[1]), A_ub=-sign[:, None] * X_all, b_ub=-least, bounds=[(None, None)] * X.shape[1]
        )
        if feasible.status == 0:
            found.append(sides)
    return np.array(found)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 1), (6, 2), (7, 3), (9, 3), (8, 4), (4, 6)])
def test_count_in_general_position_is_that_of_cover(n, k):
    rng = np.random.default_rng(n + 10 * k)
    whole = rng.integers(-50, 50, (n, k))
    expected = cover_count(n, k)
    for points in (whole, whole.astype(float), rng.standard_normal((n, k))):
        partitions = hyperplane_partitions(points)
        assert len(partitions) == expected
        assert len(np.unique(partitions, axis=0)) == expected
        assert len(hyperplane_partitions(points, strict=True)) == expected


def test_count_of_affine_partitions():
    points = np.random.default_rng(0).integers(-100, 100, (7, 2))
    assert len(hyperplane_partitions(points, affine=True)) == cover_count(7, 3) == 44
    assert len(hyperplane_partitions(np.arange(9)[:, None], affine=True)) == 18


@pytest.mark.parametrize("seed", range(12))
def test_partitions_of_points_in_degenerate_position_are_those_of_linear_programs(seed):
    rng = np.random.default_rng(seed)
    # Small whole numbers: points repeat, are opposite, 0, or lie on common lines and planes.
    points = rng.integers(-1, 2, (int(rng.integers(4, 8)), int(rng.integers(1, 5))))
    for strict in (False, True):
        expected = brute_force(points, strict)
        np.testing.assert_array_equal(hyperplane_partitions(points, strict=strict), expected)
        np.testing.assert_array_equal(hyperplane_partitions(points * 0.1, strict=strict), expected)
    affine = brute_force(np.column_stack([points, np.ones(len(points))]))
    np.testing.assert_array_equal(hyperplane_partitions(points, affine=True), affine)


def test_points_of_low_rank_in_many_dimensions():
    rng = np.random.default_rng(5)
    plane, lift = rng.integers(-9, 10, (8, 2)), rng.integers(-9, 10, (2, 6))
    np.testing.assert_array_equal(hyperplane_partitions(plane @ lift), hyperplane_partitions(plane))


def test_opposite_points_share_a_side_only_if_the_hyperplane_holds_them():
    points = [[1, 0], [-1, 0], [0, 1]]
    apart = [[False, True, False], [False, True, True], [True, False, False], [True, False, True]]
    assert hyperplane_partitions(points, strict=True).tolist() == apart
    assert hyperplane_partitions(points).tolist() == [*apart, [True, True, False], [True, True, True]]


def test_fractions_are_exact_where_floats_cannot_tell():
    # The third point is off the line of the first two by 10^-30.
    tiny = Fraction(1, 10**30)
    points = np.array([[Fraction(1), Fraction(0)], [Fraction(-1), Fraction(0)], [Fraction(1), tiny]], dtype=object)
    assert len(hyperplane_partitions(points, strict=True)) == 4
    assert len(hyperplane_partitions(points.astype(float), strict=True)) == 2


def test_no_points_and_points_at_zero():
    assert hyperplane_partitions(np.zeros((3, 2), dtype=int)).tolist() == [[True, True, True]]
    assert hyperplane_partitions(np.zeros((0, 2), dtype=int)).shape == (1, 0)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([1, 2], "one point per row"),
        ([[np.nan, 1.0]], "NaN"),
        ([["a", "b"]], "no table of numbers"),
        (np.ones((2000, 4)) * np.random.default_rng(0).random((2000, 4)), "hyperplanes"),
    ],
)
def test_points_that_cannot_be_used(points, message):
    with pytest.raises(LatentiaError, match=message):
        hyperplane_partitions(points)
