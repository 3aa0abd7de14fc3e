"""Exact factorizations and their certificates, on matrices whose nonnegative rank is known."""

from __future__ import annotations

import builtins
import dataclasses
import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from latentia.datasets.instances import euclidean_distance_matrix, hardness_gadget, polygon_slack_matrix
from latentia.exceptions import LatentiaError, MissingExtraError
from latentia.nmf.exact import PolygonPair, PolygonProof
from latentia.nmf.exact._rational import rank_of
from latentia.nmf.exact._reduce import reduce_matrix
from latentia.nmf.exact._results import Factorization, Impossible, Undecided
from latentia.nmf.exact.exact_nmf import exact_nmf, nonnegative_rank

flint = pytest.importorskip("flint", reason="exact factorization needs python-flint")

TINY = Fraction(1, 10**9)
SQUARE = [(-1, -1), (1, -1), (1, 1), (-1, 1)]


def exact(M):
    return np.array(
        [[Fraction(int(x)) if isinstance(x, np.integer) else Fraction(x) for x in row] for row in M], dtype=object
    )


def cross(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def slack(polygon, points):
    """Distances of points to the edges of a polygon, in whole numbers or fractions."""
    sides = itertools.pairwise([*polygon, polygon[0]])
    return exact([[cross(a, b, point) for point in points] for a, b in sides])


def squares(ratio):
    """A triangle lies between squares if their ratio is at most sqrt(2) - 1, and only then."""
    return slack(SQUARE, [(ratio * x, ratio * y) for x, y in SQUARE])


def nested(M):
    core = reduce_matrix(M).core
    return PolygonPair(core, *rank_of(core))


def restricted(M, k):
    """Whether a polygon with k vertices is nested for M; a proof that it is not is checked."""
    found = nested(M).find_polygon(k)
    if isinstance(found, PolygonProof):
        assert found.verify(reduce_matrix(M).core)
    return not isinstance(found, PolygonProof)


def planted(r, n, zeros, seed):
    rng = np.random.default_rng(seed)
    A, W = (rng.integers(1, 10, shape) * (rng.random(shape) >= zeros) for shape in ((n, r), (r, n)))
    return A @ W


# --- input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "M",
    [
        [[Fraction(1, 4), 1], [2, 3]],
        [["0.25", "1"], ["2", "3"]],
        [["1/4", Decimal(1)], [np.int8(2), 3]],
        np.array([["0.25", "1"], ["2", "3"]]),
        np.array([[Fraction(1, 4), 1], [2, 3]], dtype=object),
        flint.fmpq_mat(2, 2, [flint.fmpq(1, 4), 1, 2, 3]),
    ],
)
def test_exact_numbers_of_every_kind_are_the_same(M):
    found = exact_nmf(M, 2)
    assert found.M.tolist() == [[Fraction(1, 4), 1], [2, 3]]
    assert found.verify()


def test_fractions_of_numpy_integers_do_not_overflow():
    large = np.int64(3_000_000_001)
    M = np.array([[Fraction(large), Fraction(large + 2)], [Fraction(large + 4), Fraction(large + 10)]], dtype=object)
    found = exact_nmf(M, 2)
    assert found.verify()
    assert all(type(x.numerator) is int for x in found.M.flat)


def test_floats_are_refused_with_the_reason_and_a_way_out():
    M = np.random.default_rng(0).random((4, 3))
    for matrix in (M, M.tolist(), M.astype(object)):
        with pytest.raises(LatentiaError, match=r"rounded number.*full rank|rounded number.*Fraction"):
            exact_nmf(matrix, 3)
        with pytest.raises(LatentiaError, match="SeparableNMF"):
            nonnegative_rank(matrix)


@pytest.mark.parametrize(
    ("M", "message"),
    [
        ([[1, -2]], r"Entry \[0, 1\] is -2"),
        ([[1, 2], [3]], "Row 1 has 1 entries, and row 0 has 2"),
        ([["1", "two"]], r"Entry \[0, 1\] is 'two', which is not a finite number"),
        ([[Decimal("nan")]], "not a finite number"),
        ([["1/0"]], "not a finite number"),
        ([[None]], "of type NoneType"),
        ([], "no rows or no columns"),
        ([[]], "no rows or no columns"),
        ([1, 2], "A matrix was expected"),
        (["12", "34"], "rows that are strings"),
        (3, "found int"),
    ],
)
def test_input_that_is_no_exact_matrix_is_refused(M, message):
    with pytest.raises(LatentiaError, match=message):
        exact_nmf(M, 2)


@pytest.mark.parametrize(
    ("r", "budget"), [(0, 1), (-1, 1), (1.0, 1), (True, 1), ("2", 1), (2, 0), (2, -1), (2, "1"), (2, None)]
)
def test_parameters_out_of_range_are_refused(r, budget):
    with pytest.raises(LatentiaError, match=r"(r|budget)=.*expected"):
        exact_nmf([[1]], r, budget)


def test_without_flint_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "flint":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match="pip install python-flint"):
        exact_nmf([[1, 2], [3, 4]], 2)


# --- small ranks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [1, 2])
def test_rank_two_and_below_is_factored_in_closed_form(rank):
    rng = np.random.default_rng(rank)
    for _ in range(20):
        M = rng.integers(0, 4, (6, rank)) @ rng.integers(0, 4, (rank, 7))
        true = int(np.linalg.matrix_rank(M))
        bounds = nonnegative_rank(M)
        assert bounds.lower == bounds.upper == true
        assert bounds.verify()
        assert exact_nmf(M, 4).verify()


def test_components_that_are_not_needed_are_zero():
    found = exact_nmf([[1, 2], [2, 4]], 3)
    assert found.r == 3
    assert found.verify()
    assert (found.A[:, 1:] == 0).all()
    A, W = found.to_float()
    np.testing.assert_allclose(A @ W, [[1, 2], [2, 4]])


def test_a_zero_matrix_has_rank_zero():
    bounds = nonnegative_rank([[0, 0], [0, 0]])
    assert (bounds.lower, bounds.upper, bounds.proof) == (0, 0, None)
    assert bounds.verify()
    assert exact_nmf([[0, 0], [0, 0]], 1).verify()


def test_fewer_components_than_the_rank_are_impossible():
    found = exact_nmf([[1, 2, 3], [0, 1, 0], [2, 0, "1/7"]], 2)
    assert isinstance(found, Impossible)
    assert found.verify()
    assert "rank" in found.reason
    assert not Impossible(exact([[1, 2, 3], [2, 4, 6], [0, 0, 1]]), 2, found.proof).verify()


def test_zero_and_proportional_rows_and_columns_do_not_matter():
    M = exact(
        [
            [0, 0, 1, 2, 2, 1],
            [1, 0, 0, 1, 2, 2],
            [2, 1, 0, 0, 1, 2],
            [2, 2, 1, 0, 0, 1],
            [1, 2, 2, 1, 0, 0],
            [0, 1, 2, 2, 1, 0],
        ]
    )
    rows, columns = [3, 0, 1, 1, 2, 3, 4, 5, 0], [5, 0, 0, 1, 2, 3, 4, 2]
    scale = np.array([Fraction(i + 1, 3) for i in range(9)], dtype=object)
    wide = np.hstack([M[np.ix_(rows, columns)] * scale[:, None], exact([[0]] * 9)])
    assert reduce_matrix(wide).core.shape == (6, 6)
    for r, kind in ((3, Impossible), (4, Impossible), (5, Factorization)):
        found = exact_nmf(wide, r)
        assert isinstance(found, kind)
        assert found.M is not None
        assert found.verify()


# --- rank three -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(15))
def test_products_of_three_components_are_factored(seed):
    rng = np.random.default_rng(seed)
    A, W = (rng.integers(1, 9, shape) * (rng.random(shape) < 0.6) for shape in ((9, 3), (3, 10)))
    found = exact_nmf(A @ W, 3)
    assert isinstance(found, Factorization)
    assert found.verify()


@pytest.mark.parametrize("n", [2, 7, 20])
@pytest.mark.parametrize("shift", [-TINY, 0, TINY])
def test_the_hardness_gadget_is_decided_at_a_shift_of_a_billionth(n, shift):
    found = exact_nmf(hardness_gadget([Fraction(i, n + 1) for i in range(1, n + 1)], shift=shift), 3)
    assert isinstance(found, Impossible if shift > 0 else Factorization)
    assert found.verify()


def test_squares_are_decided_on_both_sides_of_an_irrational_ratio():
    p, q = 0, 1
    for _ in range(40):  # continued fraction of sqrt(2) - 1
        p, q = q, 2 * q + p
        found = exact_nmf(squares(Fraction(p, q)), 3)
        assert isinstance(found, Factorization) == ((p + q) ** 2 < 2 * q * q)
        assert found.verify()


def test_a_proof_for_one_matrix_is_none_for_a_neighbour():
    above, below = Fraction(985, 2378), Fraction(408, 985)
    found = exact_nmf(squares(max(above, below)), 3)
    assert isinstance(found, Impossible)
    assert found.verify()
    assert not Impossible(squares(min(above, below)), 3, found.proof).verify()


def test_a_proof_with_a_part_missing_or_changed_does_not_hold():
    found = exact_nmf(polygon_slack_matrix(5), 3)
    polygon = found.proof
    assert found.verify()

    def holds(**changes):
        return Impossible(found.M, 3, dataclasses.replace(polygon, **changes)).verify()

    pieces = polygon.pieces
    assert all(not holds(pieces=pieces[:i] + pieces[i + 1 :]) for i in range(len(pieces)))
    wide = max(range(len(pieces)), key=lambda i: pieces[i].high - pieces[i].low)
    shorter = pieces[wide]._replace(high=(pieces[wide].low + pieces[wide].high) / 2)
    assert not holds(pieces=(*pieces[:wide], shorter, *pieces[wide + 1 :]))
    assert not holds(outer=polygon.outer[::-1])
    assert not holds(outer=polygon.outer[:-1])
    assert not holds(vertices=4)
    assert not holds(minor=(polygon.minor[0][:2] * 2, polygon.minor[1]))
    assert not Impossible(found.M, 4, found.proof).verify()


def test_a_factorization_that_is_off_does_not_verify():
    found = exact_nmf(planted(3, 6, 0.2, 1), 3)
    assert found.verify()
    for factor in ("A", "W"):
        changed = getattr(found, factor).copy()
        changed[0, 0] += TINY
        assert not dataclasses.replace(found, **{factor: changed}).verify()
    assert not dataclasses.replace(found, A=-found.A, W=-found.W).verify()
    assert not dataclasses.replace(found, A=found.A.astype(float)).verify()
    assert not dataclasses.replace(found, A=found.A[:, :2]).verify()


@pytest.mark.parametrize("n", range(3, 9))
def test_corners_of_a_polygon_need_all_its_corners(n):
    M = polygon_slack_matrix(n)
    assert [restricted(M, k) for k in range(3, n + 1)] == [False] * (n - 3) + [True]
    assert len(nested(M).smallest) == n


def test_a_corner_of_the_triangle_may_be_a_point_that_touches():
    square = [(0, 0), (4, 0), (4, 4), (0, 4)]
    assert restricted(slack(square, [(2, 0), (0, 4), (4, 4), (2, 3)]), 3)
    assert not restricted(slack(square, [(2, 0), (0, 3), (4, 3), (3, 4)]), 3)
    assert restricted(slack(square, [(2, 0), (0, 3), (4, 3), (3, 4)]), 4)
    assert restricted(slack(square, [(0, 0), (4, 0), (0, 4), (1, 1)]), 3)
    assert restricted(slack(square, [(1, 0), (3, 0), (1, 1)]), 3)
    assert restricted(slack(square, [(0, 0), (1, 0), (3, 0), (2, 4)]), 3)


def most_turned(polygon, points, k, starts=2001):
    """The largest number of turns, less one, that k tangents make from points of the boundary, in floats."""
    P, Q = np.array(polygon, float), np.array(points, float)
    P, Q = P - Q.mean(axis=0), Q - Q.mean(axis=0)
    place = np.linspace(0, len(P), starts)[:-1]
    share, following = (place % 1)[:, None], np.roll(P, -1, axis=0)
    p, edges, turned = P[place.astype(int)] * (1 - share) + following[place.astype(int)] * share, following - P, 0
    for _ in range(k):
        to_points = Q[None] - p[:, None]
        sines = -p[:, None, 0] * to_points[..., 1] + p[:, None, 1] * to_points[..., 0]
        rightmost = np.arctan2(sines, (-p[:, None] * to_points).sum(axis=2)).argmin(axis=1)
        d = Q[rightmost] - p
        leaving = edges[:, 0] * d[:, [1]] - edges[:, 1] * d[:, [0]]
        beyond = edges[:, 0] * (p[:, [1]] - P[:, 1]) - edges[:, 1] * (p[:, [0]] - P[:, 0])
        landed = (
            p
            + np.where(leaving < -1e-12, beyond / np.where(leaving < -1e-12, -leaving, 1), np.inf).min(axis=1)[:, None]
            * d
        )
        turned = turned + np.arctan2(p[:, 0] * landed[:, 1] - p[:, 1] * landed[:, 0], (p * landed).sum(axis=1)) % (
            2 * np.pi
        )
        p = landed
    return turned.max() / (2 * np.pi) - 1


@pytest.mark.parametrize("k", [3, 4, 5])
def test_random_polygons_agree_with_tangents_in_floats(k):
    rng, asked = np.random.default_rng(k), set()
    for _ in range(25):
        halves = sorted(
            {
                Fraction(int(x), 20)
                for x in np.tan(np.linspace(-1.4, 1.4, int(rng.integers(5, 9)))) * 20 + rng.normal(0, 2)
            }
        )
        polygon = [((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)) for t in halves]
        centre = tuple(sum(p[i] for p in polygon) / len(polygon) for i in (0, 1))
        points, least = [], int(rng.integers(20, 95))
        for x, y in polygon:
            share = Fraction(int(rng.integers(least, 99)), 100)
            points.append((centre[0] + share * (x - centre[0]), centre[1] + share * (y - centre[1])))
        turned = most_turned(polygon, points, k)
        M = slack(polygon, points)
        assert (len(nested(M).smallest) <= k) == restricted(M, k)
        if abs(turned) > 1e-3:
            asked.add(turned > 0)
            assert restricted(M, k) == (turned > 0)
    assert asked == {True, False}


@pytest.mark.parametrize("k", [3, 4, 5])
def test_polygons_of_the_transpose_have_the_same_answer(k):
    rng, answers = np.random.default_rng(0), set()
    for _ in range(40):
        M = exact(
            rng.integers(0, 4, (6, 5))
            @ np.vstack([np.eye(3, dtype=int), [[1, 1, -1], [0, 1, 0]]])
            @ rng.integers(0, 4, (3, 6))
        )
        M = M[:, (M >= 0).all(axis=0)]
        if len(rank_of(M)[0]) == 3:
            answers.add(restricted(M, k))
            assert restricted(M, k) == restricted(M.T, k)
    assert True in answers


# --- nonnegative ranks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("M", [polygon_slack_matrix(6, "regular"), euclidean_distance_matrix(range(6))])
def test_hexagons_and_six_points_on_a_line_have_rank_five(M):
    bounds = nonnegative_rank(M)
    assert (bounds.lower, bounds.upper, bounds.exact) == (5, 5, True)
    assert bounds.verify()
    assert bounds.proof.r == 4
    assert bounds.factorization.r == 5


def test_the_support_can_prove_more_than_the_rank():
    M = 1 - np.eye(10, dtype=int)
    M = M @ np.diag(range(1, 11))
    assert nonnegative_rank(M).lower == 10
    found = exact_nmf((polygon_slack_matrix(16) > 0).astype(int), 5, 5)
    assert not isinstance(found, Factorization)


# --- higher ranks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("r", "zeros"), [(4, 0.0), (4, 0.3), (5, 0.5), (6, 0.2), (6, 0.4)])
def test_planted_simplicial_factorizations_are_found(r, zeros):
    for seed in range(3):
        found = exact_nmf(planted(r, 20, zeros, seed), r)
        assert isinstance(found, Factorization)
        assert found.r == r
        assert found.verify()


def test_fractions_and_scales_do_not_hinder_the_search():
    M = exact(planted(5, 15, 0.4, 3))
    rows = np.array([Fraction(10**i, 7) for i in range(15)], dtype=object)
    columns = np.array([Fraction(1, 3**i) for i in range(15)], dtype=object)
    found = exact_nmf(rows[:, None] * M * columns, 5)
    assert isinstance(found, Factorization)
    assert found.verify()


def test_numbers_beyond_floats_are_factored():
    found = exact_nmf(exact(planted(4, 10, 0.4, 0)) * 10**400, 4)
    assert isinstance(found, Factorization)
    assert found.verify()


def test_the_search_gives_the_same_factors_every_time():
    M = planted(5, 12, 0.1, 0)
    first, second = exact_nmf(M, 5), exact_nmf(M, 5)
    assert (first.A == second.A).all()
    assert (first.W == second.W).all()


def test_what_stays_open_comes_with_bounds_and_the_best_factors():
    corners = list(itertools.product((-1, 1), repeat=3))
    faces = [(axis, sign) for axis in range(3) for sign in (-1, 1)]
    shrunk = Fraction(9, 10)  # no tetrahedron lies between two cubes of nearly the same size
    M = exact([[1 + sign * shrunk * corner[axis] for corner in corners] for axis, sign in faces])
    found = exact_nmf(M, 4, 0.3)
    assert isinstance(found, Undecided)
    assert (found.lower, found.upper) == (4, 6)
    assert 1e-6 < found.residual < 0.5
    A, W, residual = found.best
    assert min(A.min(), W.min()) >= 0
    enormous = exact_nmf(M * 10**400, 4, 0.3)
    assert isinstance(enormous, Undecided)
    assert 1e-6 < enormous.residual < 0.5
    M = M.astype(float)
    assert np.linalg.norm(M - A @ W) / np.linalg.norm(M) == pytest.approx(residual)
    assert "no zeros" in found.reason
