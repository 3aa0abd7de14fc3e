"""Lower bounds of the nonnegative rank: known values, certificates that hold, and forged ones that do not."""

import dataclasses
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from latentia.datasets.instances import euclidean_distance_matrix, polygon_slack_matrix, unique_disjointness
from latentia.exceptions import LatentiaError
from latentia.nmf.exact._boolean_rank import boolean_rank_bound
from latentia.nmf.exact._fooling_set import fooling_set_bound
from latentia.nmf.exact._rectangle_cover import rectangle_cover_bound
from latentia.nmf.exact._restricted_cover import restricted_cover_bound

BOUNDS = fooling_set_bound, rectangle_cover_bound, restricted_cover_bound, boolean_rank_bound
HEXAGON = polygon_slack_matrix(6, "regular")


def random_matrix(seed, n=6, m=7, share=0.55):
    rng = np.random.default_rng(seed)
    return (rng.integers(1, 9, (n, m)) * (rng.random((n, m)) < share)).tolist()


def rectangles_of(M):
    """All maximal rectangles, by brute force over sets of rows."""
    positive = np.array(M, dtype=float) > 0
    found = set()
    for size in range(1, len(positive) + 1):
        for rows in combinations(range(len(positive)), size):
            columns = positive[list(rows)].all(axis=0)
            rows = positive[:, columns].all(axis=1)
            if columns.any():
                found.add((tuple(np.flatnonzero(rows)), tuple(np.flatnonzero(columns))))
    return sorted(found)


def brute_force(M):
    """Sizes of the largest fooling set and of the smallest rectangle cover."""
    cells = {(i, j) for i, row in enumerate(M) for j, x in enumerate(row) if x > 0}
    fooling = 0
    for size in range(1, len(M) + 1):
        if any(
            all(M[i][q] == 0 or M[p][j] == 0 for (i, j), (p, q) in combinations(chosen, 2))
            for chosen in combinations(sorted(cells), size)
            if len({i for i, _ in chosen}) == size
        ):
            fooling = size
        else:
            break
    covers = [{(i, j) for i in rows for j in columns} for rows, columns in rectangles_of(M)]
    rank = next(
        size
        for size in range(len(M) + 1)
        if any(set().union(*chosen) == cells for chosen in combinations(covers, size))
    )
    return fooling, rank


@pytest.mark.parametrize(
    ("M", "fooling", "cover", "restricted", "boolean"),
    [
        (HEXAGON, 4, 5, 5, 5),
        (euclidean_distance_matrix(range(6)), 3, 4, 5, 4),
        (polygon_slack_matrix(8), 4, 5, 5, 6),
        (unique_disjointness(3), 7, 7, 7, 7),
        (np.eye(5, dtype=int), 5, 5, 5, 5),
        (np.ones((3, 4), dtype=int), 1, 1, 1, 1),
    ],
    ids=["hexagon", "six points", "octagon", "unique disjointness", "identity", "ones"],
)
def test_known_matrices(M, fooling, cover, restricted, boolean):
    found = [bound(M) for bound in BOUNDS]
    assert found[0].bound == fooling
    assert found[0].largest
    assert found[1].bound == cover
    assert found[1].optimal
    assert found[2].bound == restricted
    assert found[3].bound == boolean
    assert found[3].exact
    for proof in found:
        assert proof.verify(M)
        assert str(proof.bound) in proof.reason


def test_six_points_on_a_line_need_five_components_but_four_rectangles():
    M = euclidean_distance_matrix(range(6))
    restricted = restricted_cover_bound(M)
    assert restricted.values == (6, 6)
    assert "6 and 6 are needed" in restricted.reason
    # The same for any points on a line, however many.
    for points in ([0, 1, 2, 3, 4], ["0", "0.1", "5", "7", "1/3", "100", "101"]):
        M = euclidean_distance_matrix(points)
        bound = restricted_cover_bound(M)
        assert (bound.bound, bound.values) == (5, (len(points),) * 2)
        assert bound.verify(M)


def test_unique_disjointness_of_four_elements():
    M = unique_disjointness(4)
    bound = rectangle_cover_bound(M)
    assert bound.value >= Fraction(3, 2) ** 4
    assert bound.bound == 12
    assert bound.verify(M)
    assert fooling_set_bound(M).bound == 10


@pytest.mark.parametrize("seed", range(8))
def test_combinatorial_bounds_are_those_of_brute_force(seed):
    M = random_matrix(seed)
    fooling, rank = brute_force(M)
    found = [bound(M) for bound in (fooling_set_bound, rectangle_cover_bound, boolean_rank_bound)]
    assert [found[0].bound, found[2].bound] == [fooling, rank]
    assert fooling <= found[1].bound <= rank
    assert all(proof.verify(M) for proof in found)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_are_below_the_size_of_a_factorization(seed):
    rng = np.random.default_rng(seed)
    n_components = int(rng.integers(1, 6))
    A, W = (rng.integers(1, 9, shape) * (rng.random(shape) < 0.5) for shape in ((8, n_components), (n_components, 9)))
    M = A @ W
    for bound in BOUNDS:
        proof = bound(M)
        assert proof.bound <= n_components
        assert proof.verify(M)


@pytest.mark.parametrize("bound", BOUNDS)
def test_bounds_of_zeros_and_repetitions(bound):
    zeros = np.zeros((3, 2), dtype=int)
    assert bound(zeros).bound == 0
    assert bound(zeros).verify(zeros)
    repeated = np.zeros((9, 13), dtype=object)
    repeated[:6, :6] = HEXAGON
    repeated[6:8, :6] = HEXAGON[:2] * 2
    repeated[:, 6:12] = repeated[:, :6]
    proof = bound(repeated)
    assert proof.bound == bound(HEXAGON).bound
    assert proof.verify(repeated)


@pytest.mark.parametrize("bound", BOUNDS)
def test_certificates_do_not_hold_for_other_matrices(bound):
    proof = bound(HEXAGON)
    assert not proof.verify(np.ones((6, 6), dtype=int))
    assert not proof.verify(np.zeros((6, 6), dtype=int))
    # One more positive entry that makes the bound untrue.
    dense = np.full((6, 6), Fraction(1)) + HEXAGON
    dense[0, 0] = Fraction(0)
    assert not proof.verify(dense)


def test_forged_certificates_are_found_out():
    fooling = fooling_set_bound(HEXAGON)
    first = fooling.cells[0]
    assert not dataclasses.replace(fooling, cells=(*fooling.cells, first)).verify(HEXAGON)
    assert not dataclasses.replace(fooling, cells=(*fooling.cells, (0, 0))).verify(HEXAGON)
    cover = rectangle_cover_bound(HEXAGON)
    assert not heavier(cover, "weights").verify(HEXAGON)
    doubled = dataclasses.replace(cover, weights=(*cover.weights, cover.weights[0]))
    assert not doubled.verify(HEXAGON)
    on_zero = dataclasses.replace(cover, weights=(*cover.weights, (0, 0, Fraction(1, 100))))
    assert not on_zero.verify(HEXAGON)
    M = euclidean_distance_matrix(range(6))
    restricted = restricted_cover_bound(M)
    assert not heavier(restricted, "weights").verify(M)
    assert not heavier(restricted, "row_weights").verify(M)
    assert not dataclasses.replace(restricted, rank=4).verify(M)


def heavier(proof, name):
    weights = getattr(proof, name)
    return dataclasses.replace(proof, **{name: tuple((i, j, w * Fraction(101, 100)) for i, j, w in weights)})


def test_forged_proofs_of_the_boolean_rank_are_found_out():
    M = polygon_slack_matrix(7)
    proof = boolean_rank_bound(M)
    assert proof.bound == 6
    assert len(proof.steps) > 1
    assert not dataclasses.replace(proof, bound=7).verify(M)
    assert not dataclasses.replace(proof, cover=heavier(proof.cover, "weights")).verify(M)
    everything = next(iter(max(proof.steps.items(), key=lambda step: step[0].bit_count())))
    for step in ((), (0,), tuple(range(6)), tuple(proof.steps[everything]) * 6):
        assert not dataclasses.replace(proof, steps={everything: step}).verify(M)
    assert not any(dataclasses.replace(proof, steps=without(proof.steps, key)).verify(M) for key in proof.steps)


def without(steps, key):
    return {other: step for other, step in steps.items() if other != key}


@pytest.mark.parametrize("bound", BOUNDS)
def test_best_bound_so_far_when_there_is_no_time(bound):
    M = unique_disjointness(4)
    proof = bound(M, seconds=0.0)
    assert 3 <= proof.bound <= 16
    assert proof.verify(M)


def test_bounds_want_exact_numbers():
    with pytest.raises(LatentiaError, match="float"):
        fooling_set_bound([[0.1]])
    assert fooling_set_bound([["0.1", 0], [0, "1/3"]]).bound == 2
