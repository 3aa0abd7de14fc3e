from functools import cache

import numpy as np
import pytest

from latentia.papers.nmf import almost_anchors, distance_to_hull, loners
from latentia.papers.nmf import robust_loners as robust_loners_by_programs
from latentia.simplex import distance_loners, exact_loners, hull_separation, loner_groups, robust_loners
from latentia.simplex.loners import _DistanceRule, _WeightRule


def spread(points):
    return np.abs(points - points.mean(axis=0)).sum(axis=1).max()


def simplex_points(k, n, d, *, noise=0.0, seed=0):
    """Points of a random simplex, its vertices first; rows have l1 noise up to ``noise``."""
    rng = np.random.default_rng(seed)
    vertices = rng.dirichlet(np.full(d, 0.5), k)
    points = np.vstack([np.eye(k), rng.dirichlet(np.full(k, 0.5), n - k)]) @ vertices
    error = rng.standard_normal(points.shape)
    return points + noise * rng.random((n, 1)) * error / np.abs(error).sum(axis=1, keepdims=True)


def kinds_of_points(seed):
    rng = np.random.default_rng(seed)
    exact = simplex_points(4, 20, 6, seed=seed)
    weights = np.vstack([np.eye(4), rng.dirichlet(np.full(4, 0.5), 16)])
    return {
        "exact": exact,
        "noisy": simplex_points(4, 20, 6, noise=0.01, seed=seed),
        "very noisy": simplex_points(4, 20, 6, noise=0.2, seed=seed),
        "copies": np.vstack([exact, exact[::3]]),
        "nearly copies": np.vstack([exact, exact + 1e-12]),
        "a cloud": rng.standard_normal((20, 3)),
        "a line": np.outer(rng.random(20), rng.random(4)) + 1,
        "dependent vertices": weights @ rng.random((4, 2)) @ rng.random((2, 6)),
        "more dimensions than points": rng.standard_normal((15, 40)),
        "a noisy simplex in many dimensions": simplex_points(4, 18, 60, noise=0.01, seed=seed),
        "corners, edges and the middle of a cube": np.array(np.meshgrid(*[[0, 0.5, 1]] * 3)).reshape(3, -1).T,
    }


KINDS = list(kinds_of_points(0))


# --- the same answers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_exact_loners_are_those_of_a_program_for_each_row(kind, seed):
    points = kinds_of_points(seed)[kind]
    assert list(exact_loners(points)) == list(loners(points))


@pytest.mark.parametrize("kind", KINDS)
def test_distance_loners_are_those_of_a_program_for_each_row(kind):
    points = kinds_of_points(2)[kind]
    rule = _DistanceRule(points, None)  # one rule for all, so that bounds of one question serve the next
    literal = cache(lambda eps, alpha: robust_loners_by_programs(points, eps, alpha, 10 * eps / alpha + 2 * eps))
    for eps, alpha in ((1e-3, 0.3), (1e-2, 0.8), (3e-3, 0.1), (0.05, 1.0), (1e-3, 0.3)):
        eps, alpha = eps * spread(points), alpha * spread(points)
        rows, groups = literal(eps, alpha)
        found = rule.groups(eps, alpha, None)
        assert sorted(row for group in found.groups for row in group) == list(rows)
        assert len(found.groups) == len(set(groups))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "dimensions" not in kind])
def test_robust_loners_are_those_of_a_program_for_each_pair(kind):
    points = kinds_of_points(3)[kind]
    rule = _WeightRule(points, None)
    for eps, gamma in ((1e-3, 0.1), (1e-2, 1.0), (3e-3, 0.1)):
        eps, gamma = eps * spread(points), gamma * spread(points)
        rows, groups = almost_anchors(points, eps, gamma)
        found = rule.groups(eps, gamma, None)
        assert sorted(row for group in found.groups for row in group) == list(rows)
        assert len(found.groups) == len(set(groups))


@pytest.mark.parametrize("kind", KINDS)
def test_separation_is_the_least_distance_to_a_hull(kind):
    points = kinds_of_points(4)[kind][:12]
    least = min(distance_to_hull(x, np.delete(points, i, axis=0)) for i, x in enumerate(points))
    assert hull_separation(points) == pytest.approx(least, abs=1e-9)


# --- recovery -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("find", [distance_loners, robust_loners])
@pytest.mark.parametrize("seed", range(3))
def test_vertices_are_found_with_and_without_noise(find, seed):
    exact = simplex_points(5, 80, 12, seed=seed)
    assert sorted(find(exact, 5)) == [0, 1, 2, 3, 4]
    noisy = simplex_points(5, 80, 12, noise=1e-3, seed=seed)
    assert sorted(find(noisy, 5)) == [0, 1, 2, 3, 4]
    assert sorted(find(noisy, 5, eps=1e-3)) == [0, 1, 2, 3, 4]


def test_what_the_theorem_promises():
    eps = 2e-3
    points, vertices = simplex_points(5, 300, 30, noise=eps, seed=7), simplex_points(5, 5, 30, seed=7)
    alpha = hull_separation(vertices)
    assert 40 * eps / alpha + 13 * eps < alpha
    found = loner_groups(points, 5, eps=eps, separation=alpha)
    apart = np.abs(points[found.rows][:, None] - vertices[None]).sum(axis=2)
    assert sorted(apart.argmin(axis=1)) == [0, 1, 2, 3, 4]
    assert apart.min(axis=1).max() <= 10 * eps / alpha + 3 * eps
    unknown = loner_groups(points, 5, eps=eps)
    assert len(unknown.rows) == 5
    assert unknown.separation <= alpha  # a lower bound of the vertices' own
    assert (np.diff(found.distances) <= 0).all()


def test_dependent_vertices_and_many_rows():
    rng = np.random.default_rng(0)
    vertices = rng.random((6, 2)) @ rng.random((2, 10))
    corners = exact_loners(vertices)
    points = np.vstack([vertices, rng.dirichlet(np.full(6, 0.5), 3000) @ vertices])
    np.testing.assert_array_equal(exact_loners(points), corners)


@pytest.mark.parametrize("find", [distance_loners, robust_loners])
def test_twins(find):
    points = np.vstack([np.eye(3), np.random.default_rng(0).dirichlet(np.ones(3), 10), np.eye(3)])
    found = find(points, 3)
    assert sorted(np.argmax(points[found], axis=1)) == [0, 1, 2]


def test_few_rows():
    one, same = np.ones((1, 3)), np.ones((4, 3))
    for points in (one, same):
        assert list(exact_loners(points)) == [0]
        assert list(distance_loners(points, 2)) == [0]
        assert list(robust_loners(points, 2)) == [0]
    assert len(exact_loners(np.empty((0, 3)))) == 0
    assert list(exact_loners(np.eye(3)[:2])) == [0, 1]
    assert hull_separation(one) == np.inf
    assert hull_separation(np.array([[1.0, 0.0], [0.0, 1.0]])) == pytest.approx(2.0)


def test_same_bits_for_any_number_of_threads_and_units():
    points = simplex_points(6, 300, 20, noise=0.01, seed=1)
    for near in ("distance", "weight"):
        one, two = (loner_groups(points, 6, near=near, eps=0.01, n_jobs=n) for n in (1, 2))
        np.testing.assert_array_equal(one.rows, two.rows)
        np.testing.assert_array_equal(one.distances, two.distances)
    np.testing.assert_array_equal(exact_loners(points), exact_loners(points * 2.0**40))
