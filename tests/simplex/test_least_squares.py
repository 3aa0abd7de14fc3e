import numpy as np
import pytest
from scipy import optimize

from latentia.simplex import nonnegative_least_squares, simplex_least_squares


def project_reference(x, vertices):
    """Simplex-constrained least squares by a general solver."""
    k = len(vertices)
    result = optimize.minimize(
        lambda c: 0.5 * np.sum((x - c @ vertices) ** 2),
        np.full(k, 1 / k),
        jac=lambda c: (c @ vertices - x) @ vertices.T,
        bounds=[(0, None)] * k,
        constraints={"type": "eq", "fun": lambda c: c.sum() - 1, "jac": lambda c: np.ones(k)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return result.fun


def test_matches_a_general_solver():
    rng = np.random.default_rng(0)
    vertices, points = rng.standard_normal((6, 4)), 2 * rng.standard_normal((40, 4))
    weights = simplex_least_squares(points, vertices, tol=1e-12)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
    value = 0.5 * ((points - weights @ vertices) ** 2).sum(axis=1)
    reference = [project_reference(x, vertices) for x in points]
    np.testing.assert_allclose(value, reference, atol=1e-9)


def test_exact_points_get_their_weights():
    rng = np.random.default_rng(1)
    vertices = rng.standard_normal((8, 20))
    true = rng.dirichlet(np.full(8, 0.3), 100)
    np.testing.assert_allclose(simplex_least_squares(true @ vertices, vertices, tol=1e-14), true, atol=1e-6)


def test_gap_bounds_the_excess():
    rng = np.random.default_rng(2)
    vertices, points = rng.standard_normal((30, 30)), rng.standard_normal((50, 30))
    scale = ((vertices - vertices.mean(axis=0)) ** 2).sum() / 30
    best = simplex_least_squares(points, vertices, tol=1e-12)
    rough = simplex_least_squares(points, vertices, tol=1e-3)
    excess = [0.5 * ((points - w @ vertices) ** 2).sum(axis=1) for w in (rough, best)]
    assert (excess[0] - excess[1] <= 1e-3 * scale + 1e-12).all()


def test_same_bits_for_any_number_of_threads_and_warm_starts():
    rng = np.random.default_rng(3)
    vertices, points = rng.standard_normal((9, 5)), rng.standard_normal((2000, 5))
    one, two = (simplex_least_squares(points, vertices, n_jobs=n) for n in (1, 2))
    assert (one == two).all()
    warm = simplex_least_squares(points, vertices, start=one)
    np.testing.assert_allclose(warm, one, atol=1e-12)


def test_one_vertex_and_coinciding_vertices():
    points = np.ones((3, 2))
    np.testing.assert_array_equal(simplex_least_squares(points, np.zeros((1, 2))), np.ones((3, 1)))
    weights = simplex_least_squares(points, np.zeros((4, 2)))
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_nonnegative_matches_scipy():
    rng = np.random.default_rng(4)
    vertices, points = np.abs(rng.standard_normal((5, 12))), rng.standard_normal((30, 12))
    weights = nonnegative_least_squares(points, vertices, tol=1e-12)
    reference = np.array([optimize.nnls(vertices.T, x)[0] for x in points])
    np.testing.assert_allclose(weights, reference, atol=1e-8)


@pytest.mark.parametrize("solve", [simplex_least_squares, nonnegative_least_squares])
def test_no_points(solve):
    assert solve(np.empty((0, 3)), np.eye(3)).shape == (0, 3)
