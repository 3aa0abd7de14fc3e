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


# --- exact ----------------------------------------------------------------------------------------------------------


def conditioned(k, d, condition, rng):
    """Vertices with singular values between 1 and 1 / condition."""
    left, right = np.linalg.qr(rng.standard_normal((k, k)))[0], np.linalg.qr(rng.standard_normal((d, k)))[0]
    return (left * np.geomspace(1, 1 / condition, k)) @ right.T


def optimality(points, vertices, weights, *, affine):
    """Largest violation of the conditions of an optimum, in units of the largest inner product."""
    slopes = (points - weights @ vertices) @ vertices.T
    if affine:
        slopes -= (slopes * weights).sum(axis=1, keepdims=True)
    scale = np.sqrt((points**2).sum(axis=1).max() * (vertices**2).sum(axis=1).max()) or 1.0
    return max(slopes.max(), np.abs(slopes * weights).max()) / scale


@pytest.mark.parametrize("condition", [3, 1e3])
@pytest.mark.parametrize("noise", [0, 0.01, 0.5])
def test_exact_weights_are_those_of_scipy(condition, noise):
    rng = np.random.default_rng(5)
    vertices = conditioned(20, 60, condition, rng)
    true = rng.dirichlet(np.full(20, 0.2), 200)
    points = true @ vertices + noise * rng.standard_normal((200, 60)) / np.sqrt(60)
    weights = nonnegative_least_squares(points, vertices)
    np.testing.assert_allclose(weights, [optimize.nnls(vertices.T, x)[0] for x in points], atol=1e-10)
    convex = simplex_least_squares(points, vertices, tol=0)
    np.testing.assert_allclose(convex.sum(axis=1), 1, atol=1e-14)
    assert optimality(points, vertices, convex, affine=True) < 1e-13
    if not noise:
        np.testing.assert_allclose(weights, true, atol=1e-10)
        np.testing.assert_allclose(convex, true, atol=1e-10)


def test_both_exact_ways_agree():
    rng = np.random.default_rng(6)
    points = rng.standard_normal((300, 40))
    vertices = rng.standard_normal((32, 40)) + 0.5  # as many as are exchanged in blocks
    unused = np.vstack([vertices, np.zeros((1, 40))])  # one more
    both = nonnegative_least_squares(points, unused)
    np.testing.assert_allclose(nonnegative_least_squares(points, vertices), both[:, :-1], atol=1e-12)
    far = np.vstack([vertices, np.full((1, 40), 100.0)])
    both = simplex_least_squares(points, far, tol=0)
    assert (both[:, -1] == 0).all()
    np.testing.assert_allclose(simplex_least_squares(points, vertices, tol=0), both[:, :-1], atol=1e-12)


def awkward_vertices():
    rng = np.random.default_rng(7)
    return {
        "copies": np.repeat(rng.random((5, 8)), 3, axis=0),
        "some zero": np.vstack([rng.random((4, 8)), np.zeros((2, 8))]),
        "all zero": np.zeros((3, 8)),
        "more than dimensions": rng.standard_normal((50, 8)),
        "many more than dimensions": rng.random((200, 8)),
        "on a line": np.outer(rng.random(10), rng.random(8)),
        "one": rng.random((1, 8)),
        "of low rank": rng.random((12, 3)) @ rng.random((3, 8)),
        "opposite": np.vstack([np.eye(8), -np.eye(8)]),
        "nearly copies": np.repeat(rng.random((5, 8)), 2, axis=0) + 1e-9 * rng.random((10, 8)),
        "Hilbert's": 1 / (np.arange(8)[:, None] + np.arange(8) + 1.0),
        "tiny": 1e-120 * rng.random((5, 8)),
    }


@pytest.mark.parametrize("kind", awkward_vertices())
def test_awkward_vertices_end_at_an_optimum(kind):
    rng, vertices = np.random.default_rng(8), awkward_vertices()[kind]
    inside = rng.dirichlet(np.full(len(vertices), 0.1), 100) @ vertices
    outside = rng.standard_normal((100, 8)) * np.abs(vertices).max()
    for points in (inside, outside, vertices, np.zeros((2, 8))):
        weights = nonnegative_least_squares(points, vertices)
        assert (weights >= 0).all()
        assert optimality(points, vertices, weights, affine=False) < 1e-13
        weights = simplex_least_squares(points, vertices, tol=0)
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-13)
        residual = ((points - weights @ vertices) ** 2).sum(axis=1)
        descent = simplex_least_squares(points, vertices, tol=1e-9)
        assert (residual <= ((points - descent @ vertices) ** 2).sum(axis=1) + 1e-13 * (vertices**2).sum()).all()


@pytest.mark.parametrize("n_vertices", [9, 40])
def test_exact_weights_have_the_same_bits_for_any_number_of_threads(n_vertices):
    rng = np.random.default_rng(9)
    vertices, points = rng.standard_normal((n_vertices, 12)), rng.standard_normal((2000, 12))
    for solve in (nonnegative_least_squares, lambda *a, n_jobs: simplex_least_squares(*a, tol=0, n_jobs=n_jobs)):
        one, two = (solve(points, vertices, n_jobs=n) for n in (1, 2))
        np.testing.assert_array_equal(one, two)
    one = simplex_least_squares(points, vertices, tol=0)
    np.testing.assert_allclose(simplex_least_squares(points, vertices, tol=0, start=one), one, atol=1e-12)


@pytest.mark.parametrize("solve", [simplex_least_squares, nonnegative_least_squares])
def test_no_points(solve):
    assert solve(np.empty((0, 3)), np.eye(3)).shape == (0, 3)
