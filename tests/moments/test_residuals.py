"""What fits leave of the moments of three views is noise where the model holds."""

from __future__ import annotations

import numpy as np
import pytest

from latentia.moments import (
    Coordinates,
    ViewMoments,
    common_frame,
    independent_rows,
    means_given_middle,
    residual_across_views,
    residual_within_views,
    tensor_residual,
)
from latentia.passes import Blocks, Folds, accumulate

K, D, N = 3, 5, 20_000


def moments(rng, spoilt=0.0, repeats=1):
    """Sums of three views of K components, their halves, coordinates, true means and weights."""
    means = [2 * rng.standard_normal((K, D)) for _ in range(3)]
    labels = rng.integers(0, K, N // repeats)
    other = rng.standard_normal((len(labels), 1))
    views = [mean[labels] + rng.standard_normal((len(labels), D)) + spoilt * other for mean in means]
    blocks = Blocks.from_array(*[np.repeat(view, repeats, axis=0) for view in views])
    folds = Folds(4, 0, repeats)
    coordinates = [Coordinates(np.zeros(D), np.eye(D)) for _ in range(3)]
    statistic = ViewMoments(coordinates, lambda block: (block, folds.of(block.rows)))
    sums = accumulate(blocks, statistic)
    halves = [(statistic.of(sums, one), statistic.of(sums, two)) for one, two in folds.splits]
    variances = [view.var(axis=0) for view in views]
    return statistic.of(sums, folds.all), halves, coordinates, means, np.full(K, 1 / K), variances


def ratios(m, halves, coordinates, means, weights, variances):
    seen = [to(mean) for to, mean in zip(coordinates, means, strict=True)]
    found = (
        tensor_residual(common_frame(m, K), m, halves, seen, weights),
        residual_across_views(m, halves, seen, weights),
        residual_within_views(coordinates, variances, m, halves, means, weights),
    )
    return [one.residual / one.noise for one in found]


def test_the_truth_leaves_noise():
    found = np.array([ratios(*moments(np.random.default_rng(seed))) for seed in range(20)])
    assert (np.abs(found.mean(axis=0) - 0.8) < 0.5).all()
    assert (found < 2).mean() > 0.8


def test_what_views_share_besides_is_left():
    _, across, within = ratios(*moments(np.random.default_rng(0), spoilt=1.0))
    assert across > 10
    assert within > 10


def test_means_of_the_other_views_follow_from_those_of_the_middle_one():
    m, _, coordinates, means, weights, _ = moments(np.random.default_rng(1))
    found, shares = means_given_middle(m, coordinates[1](means[1]))
    np.testing.assert_allclose(shares, weights, atol=0.02)
    for one, true, to in zip(found, means, coordinates, strict=True):
        np.testing.assert_allclose(one, to(true), atol=0.15)


@pytest.mark.parametrize("repeats", [1, 20])
def test_copies_count_once(repeats):
    m, halves, *_ = moments(np.random.default_rng(2), repeats=repeats)
    assert N / repeats / 2.5 < independent_rows(m, halves) <= 2.5 * N / repeats
