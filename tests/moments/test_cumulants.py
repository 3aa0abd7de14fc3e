"""Cumulants: conversion from and to moments, unbiased estimates of every order, and Gram matrices of unfoldings."""

import itertools

import numpy as np
import pytest

from latentia import LatentiaError
from latentia.moments import (
    Coordinates,
    FourthGram,
    FourthMoments,
    KStatistics,
    cross_cumulant,
    cumulants_to_moments,
    moments_to_cumulants,
    set_partitions,
)
from latentia.passes import Blocks, Folds, accumulate

POINTS = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 5.0]])


def population_moments(order):
    """E[x], E[x x^T], ... of the uniform distribution on the points."""
    found = []
    for t in range(1, order + 1):
        total = 0.0
        for point in POINTS:
            one = np.ones(())
            for _ in range(t):
                one = np.multiply.outer(one, point)
            total = total + one / len(POINTS)
        found.append(total)
    return found


def test_partitions_are_counted_by_bell_numbers():
    assert [len(set_partitions(n)) for n in range(7)] == [1, 1, 2, 5, 15, 52, 203]
    assert all(sorted(i for block in pi for i in block) == [0, 1, 2, 3] for pi in set_partitions(4))


def test_cumulants_of_known_distributions():
    normal = [
        np.full((1,) * t, m) for t, m in enumerate([1.0, 5.0, 13.0, 73.0, 281.0, 1741.0], 1)
    ]  # mean 1, variance 4
    found = [float(k.ravel()[0]) for k in moments_to_cumulants(normal)]
    np.testing.assert_allclose(found, [1, 4, 0, 0, 0, 0], atol=1e-9)
    exponential = [np.full((1,) * t, float(np.prod(range(1, t + 1)))) for t in range(1, 7)]
    found = [float(k.ravel()[0]) for k in moments_to_cumulants(exponential)]
    np.testing.assert_allclose(found, [1, 1, 2, 6, 24, 120])


def test_conversion_goes_back_and_forth():
    moments = population_moments(5)
    for one, other in zip(moments, cumulants_to_moments(moments_to_cumulants(moments)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    with pytest.raises(LatentiaError, match="Tensor 1 has shape"):
        moments_to_cumulants([np.zeros(2), np.zeros((2, 3))])


@pytest.mark.parametrize(("order", "n"), [(2, 3), (3, 4), (4, 4), (5, 5), (6, 6)])
def test_estimates_are_unbiased(order, n):
    """The mean over all samples of n points is the population's cumulant."""
    samples = [POINTS[list(rows)] for rows in itertools.product(range(3), repeat=n)]
    mean = np.mean([cross_cumulant([x], (0,) * order) for x in samples], axis=0)
    np.testing.assert_allclose(mean, moments_to_cumulants(population_moments(order))[-1], atol=1e-9)


def test_modes_of_several_tables_and_projections():
    rng = np.random.default_rng(0)
    x, y, w = rng.exponential(size=(60, 3)), rng.exponential(size=(60, 2)), rng.standard_normal((3, 1))
    joint = cross_cumulant([np.hstack([x, y])], (0,) * 4)
    found = cross_cumulant([x, y], (0, 1, 0, 1))
    np.testing.assert_allclose(found, joint[:3, 3:, :3, 3:], atol=1e-12)
    projected = cross_cumulant([x, y], (0, 1, 0, 1), {0: w, 2: w})
    np.testing.assert_allclose(projected[0, :, 0], np.einsum("abcd,a,c->bd", found, w[:, 0], w[:, 0]), atol=1e-12)
    np.testing.assert_allclose(cross_cumulant([x], (0, 0)), np.cov(x.T), atol=1e-12)
    cut = Blocks.from_array(x, y, block_rows=7)
    np.testing.assert_allclose(cross_cumulant(cut, (0, 1, 0, 1), n_jobs=2), found, atol=1e-12)


def test_wrong_orders_and_sizes_are_refused():
    x = np.random.default_rng(0).standard_normal((5, 2))
    with pytest.raises(LatentiaError, match="an order from 1 to 6"):
        cross_cumulant([x], (0,) * 7)
    with pytest.raises(LatentiaError, match="at least 6 rows"):
        cross_cumulant([x], (0,) * 6)
    with pytest.raises(LatentiaError, match="entries"):
        cross_cumulant([np.zeros((10, 200))], (0,) * 4)


@pytest.mark.parametrize("same", [True, False], ids=["u twice", "all different"])
def test_gram_matrices_of_unfoldings(same):
    """Pairs of rows, and slabs, give what unfolding the cumulants of each group gives."""
    rng = np.random.default_rng(1)
    p, q = rng.exponential(size=(90, 4)), rng.exponential(size=(90, 3))
    r = q if same else rng.exponential(size=(90, 2))
    x, groups = np.hstack([p, q]) + rng.standard_normal((90, 7)), rng.integers(0, 3, 90)
    unfolded = [
        cross_cumulant([p[g], q[g], r[g], x[g]], range(4)).reshape(-1, 7) for g in (groups == i for i in range(3))
    ]
    expected = np.array([[one.T @ other for other in unfolded] for one in unfolded])
    for method in ("kernel", "slabs", "auto"):
        found = FourthGram(method)((p, q, r), x, groups)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    with pytest.raises(LatentiaError, match="at least 4 rows in each part"):
        FourthGram()((p[:3], q[:3], r[:3]), x[:3])


def test_k_statistics_from_fourth_moments():
    """Of groups of rows, those of the power sums; and blocks of them."""
    rng = np.random.default_rng(2)
    x = rng.exponential(size=(80, 4)) + 3
    statistic = FourthMoments(Coordinates(np.full(4, 2.0), np.eye(4)), Folds())
    state = accumulate(Blocks.from_array(x, block_rows=11), statistic)
    for groups in ((0, 1, 2, 3), (1, 2)):
        rows = x[np.isin(Folds().of(np.arange(80)), groups)]
        found = KStatistics(statistic.of(state, groups))
        every = np.arange(4)
        for order in (2, 3, 4):
            expected = cross_cumulant([rows], (0,) * order)
            np.testing.assert_allclose(found.block(*[every] * order), expected, rtol=1e-8, atol=1e-9)
        part = found.block(np.array([2, 0]), np.array([1]), np.array([3, 3, 0]))
        np.testing.assert_allclose(part, cross_cumulant([rows], (0, 0, 0))[[2, 0]][:, [1]][:, :, [3, 3, 0]], rtol=1e-8)
        np.testing.assert_allclose(found.fourth.full(), cross_cumulant([rows], (0,) * 4), rtol=1e-8, atol=1e-9)
