"""Check how the theorems' bounds on communities, factorizations and two-state chains scale."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from latentia import LatentiaError
from latentia.evidence import bounds


def test_communities():
    assert bounds.community_strength(10_000, 10) == pytest.approx(0.1)
    assert bounds.support_threshold(10_000, 10, 0.04, 0.01) == pytest.approx(0.2 * 10 / (0.03 * 100))
    with pytest.raises(LatentiaError, match="below inside"):
        bounds.support_threshold(100, 2, 0.1, 0.1)


def distance_to_hull(point, rows):
    """Least l1 distance of a point to convex combinations of rows."""
    n, m = rows.shape
    equations = np.block([[rows.T, np.eye(m), -np.eye(m)], [np.ones((1, n)), np.zeros((1, 2 * m))]])
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    return linprog(cost, A_eq=equations, b_eq=np.append(point, 1.0)).fun


def test_distance_that_the_thesis_has_for_robust_loners_is_too_small():
    # An anchor at l1 distance .2 from the hull of the others, and nearly 2 from each of them.
    alpha, eps, n_others = 0.2, 0.0009, 20
    others = np.eye(n_others + 1)[:-1]
    anchor = np.append(np.full(n_others, 0.9 / n_others), 0.1)
    W = np.vstack([anchor, others])
    robustness = min(distance_to_hull(row, np.delete(W, k, axis=0)) for k, row in enumerate(W))
    assert robustness == pytest.approx(alpha)
    stated, corrected = 5 * eps / alpha + 2 * eps, 10 * eps / alpha + 2 * eps
    assert 20 * eps / alpha + 13 * eps < alpha
    assert eps < bounds.robust_loner_noise_limit(alpha)
    # Rows just off the ones that are left out, one towards each of the others, and noise that moves anchor and hull together.
    for distance, is_loner in ((stated, False), (corrected, True)):
        share = (distance + 3 * eps) / abs(anchor - others[0]).sum()
        toward = others.mean(axis=0) - anchor
        noise = eps * toward / abs(toward).sum()
        rows = np.vstack([W, anchor + share * (others - anchor)])
        rows[0] += noise
        rows[n_others + 1 :] -= noise
        left = rows[abs(rows - rows[0]).sum(axis=1) >= distance]
        assert len(left) == 2 * n_others
        assert (distance_to_hull(rows[0], left) > 2 * eps) == is_loner


def test_approximate_factorization():
    error, cutoff = bounds.approximate_factorization_bounds(0.01, 16)
    assert error == pytest.approx(0.2)
    assert cutoff == pytest.approx(0.05)
    # The two terms that the cutoff weighs against each other, eps / delta and delta r^(1/2), are equal.
    assert 0.01 / cutoff == pytest.approx(cutoff * 4)


def second_moment(lengths, n_symbols, switch, contrast):
    """E[Y^2] and the total variation distance, over all sequences of all halves of the symbols."""
    halves = [np.isin(np.arange(n_symbols), some) for some in itertools.combinations(range(n_symbols), n_symbols // 2)]
    kept = np.array([[1 - switch, switch], [switch, 1 - switch]])

    def chance(sequence, half):
        forward, state = np.array([0.5, 0.5]), np.where(half, contrast, -contrast)
        for place, symbol in enumerate(sequence):
            forward = (forward @ kept if place else forward) * (1 + state[symbol] * np.array([1, -1])) / n_symbols
        return forward.sum()

    square = distance = 0.0
    for data in itertools.product(*[list(itertools.product(range(n_symbols), repeat=length)) for length in lengths]):
        planted = np.mean([np.prod([chance(sequence, half) for sequence in data]) for half in halves])
        even = float(n_symbols) ** -sum(lengths)
        square, distance = square + planted**2 / even, distance + abs(planted - even) / 2
    return square, distance


@pytest.mark.parametrize(
    ("lengths", "n_symbols", "switch", "contrast"),
    [((4,), 4, 0.25, 1.0), ((5,), 4, 0.1, 0.6), ((3, 2), 4, 0.3, 0.8), ((3,), 6, 0.25, 1.0), ((2, 2), 4, 0.7, 1.0)],
)
def test_the_bound_on_tests_of_two_states_is_the_exact_sum(lengths, n_symbols, switch, contrast):
    square, distance = second_moment(lengths, n_symbols, switch, contrast)
    bound = bounds.two_state_detection(lengths, n_symbols, switch, contrast)
    assert bound == pytest.approx(0.5 + math.sqrt(square - 1) / 4)
    assert bound >= 0.5 + distance / 2  # what the best test reaches


def test_the_bound_on_tests_of_two_states_goes_to_that_of_the_paper():
    for ratio in (0.25, 0.5, 0.75):
        limit = 0.5 + math.sqrt(math.sqrt(2 / (2 - 4 * ratio / 3)) - 1) / 4
        assert bounds.two_state_detection(int(ratio * 20_000), 20_000) == pytest.approx(limit, abs=2e-4)
    assert bounds.two_state_detection(0, 10) == bounds.two_state_detection([1] * 50, 10, switch=0.5) == 0.5
    assert bounds.two_state_detection(10**6, 1000) == 1
    with pytest.raises(LatentiaError, match="between 0 and 1"):
        bounds.two_state_detection(10, 10, switch=1.5)


def test_limits_of_detection():
    assert bounds.kesten_stigum(1000, 2, 0.01, 0.0) == pytest.approx(5.0)
    assert bounds.kesten_stigum(1000, 4, 0.02, 0.02) == 0
