"""Exact instances: their rank, their solutions, and what the reductions promise."""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from latentia.datasets import instances
from latentia.exceptions import LatentiaError
from latentia.linalg import rational


def is_exact(M):
    return M.dtype == object and all(isinstance(x, Fraction) for x in M.flat)


@pytest.mark.parametrize(
    ("n", "kind"), [(3, "regular"), (4, "regular"), (6, "regular"), (8, "parabola"), (9, "circle")]
)
def test_slack_matrix_of_a_polygon(n, kind):
    M = instances.polygon_slack_matrix(n, kind)
    assert is_exact(M)
    assert M.shape == (n, n)
    assert M.min() == 0
    assert rational.rank(M) == 3
    # Each edge holds two corners, and each corner lies on two edges.
    assert ((M == 0).sum(axis=0) == 2).all()
    assert ((M == 0).sum(axis=1) == 2).all()


def test_regular_polygons_are_affinely_regular_and_others_are_refused():
    M = instances.polygon_slack_matrix(6, "regular")
    assert sorted(M[0]) == sorted(M[3]) == [0, 0, 1, 1, 2, 2]
    with pytest.raises(LatentiaError, match="kind='circle'"):
        instances.polygon_slack_matrix(5, "regular")
    with pytest.raises(LatentiaError, match="at least 3"):
        instances.polygon_slack_matrix(2)
    with pytest.raises(LatentiaError, match="'parabola'"):
        instances.polygon_slack_matrix(5, "star")


def test_polygon_on_the_circle_is_nearly_regular():
    M = instances.polygon_slack_matrix(8, "circle").astype(float)
    M /= M.sum(axis=1, keepdims=True)
    turned = np.array([np.roll(row, -k) for k, row in enumerate(M)])
    np.testing.assert_allclose(turned, np.broadcast_to(turned[0], (8, 8)), atol=1e-4)


def test_euclidean_distances():
    M = instances.euclidean_distance_matrix(range(6))
    assert is_exact(M)
    assert M[1, 4] == 9
    assert rational.rank(M) == 3
    plane = instances.euclidean_distance_matrix([("0.5", 0), (0, "1/3"), (1, 1)])
    assert plane[0, 1] == Fraction(1, 4) + Fraction(1, 9)
    with pytest.raises(LatentiaError, match="is a float"):
        instances.euclidean_distance_matrix([0.5, 1])
    with pytest.raises(LatentiaError, match="found 'x'"):
        instances.euclidean_distance_matrix(["x", 1])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_unique_disjointness(n):
    M = instances.unique_disjointness(n)
    sets = [{i for i in range(n) if a >> i & 1} for a in range(2**n)]
    for a, first in enumerate(sets):
        for b, second in enumerate(sets):
            assert M[a, b] == (1 - len(first & second)) ** 2
    assert rational.rank(M) == 1 + n + n * (n - 1) // 2
    assert rational.rank(instances.unique_disjointness(n, "zero")) == 2**n


def test_intermediate_simplex_and_factorization_are_the_same_question():
    rng = np.random.default_rng(0)
    A, W = rng.integers(0, 5, (7, 3)), rng.integers(0, 5, (3, 9))
    W[:, 4] = 0
    M = A @ W
    instance = instances.IntermediateSimplex.of_matrix(M)
    assert instance.r == 3
    columns = [[Fraction(int(x), int(c.sum())) for x in c] for c in M.T if c.sum()]
    assert (np.array(columns, dtype=object) == instance.matrix.T).all()
    # A solution of the one gives a solution of the other.
    scaled = [[Fraction(int(x), int(c.sum())) for x in c] for c in A.T]
    corners = np.array([[solved(instance, column) for column in scaled]], dtype=object)[0]
    first, second = instance.factorization(corners)
    assert (np.array(scaled, dtype=object) == first.T).all()
    assert (first @ second == instance.matrix).all()
    assert instance.is_solved_by(corners)
    assert not instance.is_solved_by((corners + corners[[1, 2, 0]]) / 2)
    assert not instance.is_solved_by(corners[[0, 0, 1]])
    with pytest.raises(LatentiaError, match="3 points of 2 numbers"):
        instance.factorization(corners[:2])
    with pytest.raises(LatentiaError, match="at least 0"):
        instances.IntermediateSimplex.of_matrix([[1, -1]])


def test_a_polyhedron_without_bounds_has_factorizations_that_are_no_simplices():
    # x, y >= 0 and x + y >= 1. Only a corner at infinity, along x, lets three corners reach all four points.
    H, b = np.array([[1, 0], [0, 1], [1, 1]]), np.array([0, 0, 1])
    M = H @ np.array([[1, 0, 10, 9], [0, 1, 0, 1]]) - b[:, None]
    A = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 1]])
    W = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 9, 9]])
    assert (A @ W == M).all()
    # A simplex has the corners (1, 0) and (0, 1) of the polyhedron, and a third on y = 0, beyond (10, 0): (9, 1) is outside.
    bounded = instances.IntermediateSimplex(
        *(np.array(x, dtype=object) for x in (H, b, [[1, 0], [0, 1], [10, 0], [9, 1]]))
    )
    assert not any(bounded.is_solved_by([[1, 0], [0, 1], [far, 0]]) for far in (10, 100, 10**6))
    # The matrix asks about a bounded polytope, where the corner at infinity is one like others.
    assert instances.IntermediateSimplex.of_matrix(M).is_solved_by([solved_by(M, A[:, k]) for k in range(3)])


def solved_by(M, column):
    instance = instances.IntermediateSimplex.of_matrix(M)
    return solved(instance, [Fraction(int(x), int(column.sum())) for x in column])


def solved(instance, distances):
    """The point with these distances to the facets."""
    rows = [[*row, offset + distance] for row, offset, distance in zip(instance.H, instance.b, distances, strict=True)]
    assert rational.reduce_rows(rows) == [0, 1]
    return [row[-1] for row in rows[:2]]


@pytest.mark.parametrize("n_values", [1, 2, 5, 12])
def test_only_the_triangles_of_the_values_solve_the_gadget(n_values):
    values = [Fraction(k, n_values) ** 2 for k in range(n_values)]
    gadget = instances.hexagon_gadget(values)
    assert gadget.matrix.shape == (6, 3 * n_values)  # Lemma 2.30
    assert is_exact(gadget.matrix)
    assert rational.rank(gadget.matrix) == 3
    assert len({tuple(point) for point in gadget.simplex.points}) == 3 * n_values
    assert all(gadget.simplex.is_solved_by(triangle) for triangle in gadget.triangles)
    # Triangles of other values, and of mixed ones, are none.
    others = instances.hexagon_gadget([value + Fraction(1, 1000) for value in values]).triangles
    assert not any(gadget.simplex.is_solved_by(triangle) for triangle in others)
    if n_values > 1:
        mixed = gadget.triangles[0].copy()
        mixed[2] = gadget.triangles[1, 2]
        assert not gadget.simplex.is_solved_by(mixed)


def test_shift_of_the_gadget_makes_it_solvable_or_not():
    values = ["0", "0.3", "0.31", "1"]
    inward, outward = (instances.hexagon_gadget(values, shift=shift) for shift in ("-1e-9", "1e-9"))
    assert inward.matrix.min() > 0
    assert all(inward.simplex.is_solved_by(triangle) for triangle in inward.triangles)
    assert not any(outward.simplex.is_solved_by(triangle) for triangle in outward.triangles)
    assert (instances.hardness_gadget(values, shift="1e-9") == outward.matrix).all()
    with pytest.raises(LatentiaError, match="leave the hexagon"):
        instances.hardness_gadget(values, shift=1)


def test_gadget_has_the_angles_and_the_symmetry_of_the_regular_picture():
    gadget = instances.hexagon_gadget([0])
    # The map that turns A, C, E into one another leaves the hexagon and its centre as they are.
    a, c, e = (gadget.hexagon[k] - gadget.centre for k in (0, 2, 4))
    assert ((a + c + e) == 0).all()
    turn = rational.inverse(np.column_stack([a, c]).tolist())
    turn = np.column_stack([c, e]) @ np.array(turn, dtype=object)
    assert ((gadget.hexagon - gadget.centre) @ turn.T == np.roll(gadget.hexagon - gadget.centre, -2, axis=0)).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [([], "at least one"), ([1, 1], "different"), (["1.5"], "from 0 to 1"), ([0.5], "is a float")],
)
def test_values_are_checked(values, message):
    with pytest.raises(LatentiaError, match=message):
        instances.hexagon_gadget(values)


def test_size_of_short_edges_is_checked():
    with pytest.raises(LatentiaError, match="below 1/1000"):
        instances.hexagon_gadget([0], eps="0.001")
    with pytest.raises(LatentiaError, match="told apart"):
        instances.d_sum_instance(["0.123"], 2, eps="0.0005")
    with pytest.raises(LatentiaError, match="at least one"):
        instances.d_sum_instance(["0.5"], 0)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_d_sum_reduction_is_solved_by_the_choices_that_sum_to_half_of_d(d):
    values = ["0.1", "0.2", "0.5", "0.8"]
    instance = instances.d_sum_instance(values, d)
    M = instance.matrix
    assert M.shape == (15 * d + 2, 12 * d + 3)
    assert M.min() == 0  # every point is in the polytope
    assert rational.rank(M) == instance.simplex.r == 3 * d + 2
    found = 0
    for chosen in combinations_with_replacement(range(4), d):
        total = sum(instance.values[k] for k in chosen)
        assert instance.simplex.is_solved_by(instance.corners(chosen)) == (total == Fraction(d, 2))
        found += total == Fraction(d, 2)
    assert found


def test_corners_of_d_sum_need_as_many_values():
    with pytest.raises(LatentiaError, match="d = 2"):
        instances.d_sum_instance(["0.5"], 2).corners([0])


PATH = np.diag(np.ones(5, dtype=int), 1)  # a path of six nodes


def test_documents_of_a_graph():
    corpus = instances.bisection_corpus(PATH)
    assert corpus.X.shape == (11, 6)
    assert (corpus.X.sum(axis=1) == 2).all()
    assert (corpus.X.toarray()[:6] == 2 * np.eye(6)).all()
    assert corpus.copies[0] == np.ceil(3200 * 125 * np.log(6))
    assert (corpus.copies[6:] == 1).all()
    with pytest.raises(LatentiaError, match="even"):
        instances.bisection_corpus(np.diag([1, 1], 1))


def test_likelihood_of_bisections_is_the_closed_form_and_highest_for_the_least_cut():
    corpus = instances.bisection_corpus(PATH)
    n, m, n_copies = 6, 5, corpus.copies[0]
    likelihoods = {}
    for side in combinations(range(6), 3):
        cut = sum((k in side) != (k + 1 in side) for k in range(5))
        value = instances.bisection_objective(corpus, corpus.topics(side))
        same, across = np.log(3 * n**2 / 4), np.log(3 * n**2 / 2)
        assert value == pytest.approx(-n_copies * n * same - cut * across - (m - cut) * same, rel=1e-12)
        likelihoods[side] = value, cut
    assert likelihoods[max(likelihoods, key=likelihoods.get)][1] == 1


def test_probability_of_a_document_is_its_mean_over_uniform_proportions():
    rng = np.random.default_rng(1)
    corpus = instances.bisection_corpus(PATH, copies=3)
    A = rng.dirichlet(np.ones(6), size=2).T
    nodes, weights = np.polynomial.legendre.leggauss(5)
    shares = (nodes + 1) / 2
    words = A @ np.array([shares, 1 - shares])
    expected = 0.0
    for row, copies in zip(corpus.X.toarray(), corpus.copies, strict=True):
        i, j = np.repeat(np.arange(6), row)
        expected += copies * np.log(words[i] * words[j] @ weights / 2)
    assert instances.bisection_objective(corpus, A) == pytest.approx(expected)
    with pytest.raises(LatentiaError, match=r"\(6, 2\)"):
        instances.bisection_objective(corpus, A.T)


def test_cost_of_a_heavy_word_is_what_the_number_of_copies_allows_for():
    # With x = n delta / 2 = 1 / (40 m) the documents of repeated words lose N x^2 at least, not N / (50 m^2) as in the thesis.
    n, m = 6, 5
    delta = 1 / (20 * n * m)
    corpus = instances.bisection_corpus(PATH, copies=1)
    words = corpus.topics([0, 1, 2])
    heavy = words * (1 - n / 2 * delta / (n - 1))
    heavy[0, 0] = words[0, 0] + delta
    best, moved = (2 * np.log(A.sum(axis=1)).sum() for A in (words, heavy * 2 / heavy.sum()))
    assert best - moved == pytest.approx(1 / (1600 * m**2) * n / (n - 1), rel=0.05)
    # The default number of copies makes this more than the documents of edges can win.
    assert instances.bisection_corpus(PATH).copies[0] * (best - moved) > m * np.log(n**2 / 2)
