import numpy as np
import pytest

from latentia.simplex import clean_up_vertices, farthest_vertices


def simplex_points(k, n, d, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    vertices = rng.standard_normal((k, d))
    weights = np.vstack([np.eye(k), rng.dirichlet(np.full(k, 0.5), n)])
    return weights @ vertices + noise * rng.standard_normal((n + k, d))


def farthest_naive(points, n_vertices):
    found, residual = [], points.copy()
    for _ in range(n_vertices):
        i = int(np.argmax((residual**2).sum(axis=1)))
        found.append(i)
        direction = residual[i] / np.linalg.norm(residual[i])
        residual = residual - np.outer(residual @ direction, direction)
    return np.array(found)


@pytest.mark.parametrize("seed", range(5))
def test_finds_the_vertices_and_agrees_with_the_plain_algorithm(seed):
    points = simplex_points(7, 300, 10, seed=seed)
    found, distances = farthest_vertices(points, 7)
    assert sorted(found) == list(range(7))
    assert (distances > 0).all()
    noisy = simplex_points(7, 300, 10, noise=0.3, seed=seed)
    np.testing.assert_array_equal(farthest_vertices(noisy, 9)[0], farthest_naive(noisy, 9))


def test_stops_at_the_rank():
    points = simplex_points(4, 100, 10)
    found, _ = farthest_vertices(points, 8)
    assert len(found) == 4


def test_candidates_and_known_vertices():
    points = simplex_points(5, 50, 5)
    found, _ = farthest_vertices(points, 5, candidates=np.arange(5, 55))
    assert (found >= 5).all()
    rest, _ = farthest_vertices(points, 3, start=points[[0, 1]])
    assert sorted(rest) == [2, 3, 4]


def test_clean_up_repairs_a_bad_vertex():
    points = simplex_points(5, 200, 5)
    start = np.array([0, 1, 2, 3, 100])
    assert sorted(clean_up_vertices(points, start)) == [0, 1, 2, 3, 4]
