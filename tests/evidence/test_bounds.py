"""Bounds of the theorems on rich components, communities, dictionaries, networks and factorizations: how they scale."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from latentia import LatentiaError
from latentia.evidence import bounds

VIEWS = {"norm": 2.0, "radius": 1.5, "cumulant": 0.3}
ROWS = {"order": 2, "least_map": 0.5, **VIEWS}


def test_rows_for_two_views():
    base = bounds.contrastive_rows(0.1, **ROWS)
    assert bounds.contrastive_rows(0.05, **ROWS) == pytest.approx(4 * base)
    assert bounds.contrastive_rows(0.1, **{**ROWS, "cumulant": 0.15}) == pytest.approx(16 * base)
    assert bounds.contrastive_rows(0.1, **{**ROWS, "norm": 4.0}) == pytest.approx(2**10 * base)
    assert base == pytest.approx((2 * 1.5) ** 4 * 2**10 * 1.5**16 / (0.3**4 * 0.5**4 * 0.1**2))


def test_errors_and_operations():
    assert bounds.contrastive_map_error(0.1, **VIEWS) == pytest.approx(0.1 * 4 * 1.5**4 / 0.09)
    assert bounds.contrastive_operations(10, 4) == 40**6
    assert bounds.biased_gradient_error(0.1, 2.0) ** 2 == pytest.approx(8 * 0.1**2 / 2**2)
    assert bounds.rich_component_operations(5, 3, 3, 4) == 5040 * 15**7


def test_rows_for_many_components_grow_with_chains():
    settings = {"n_components": 7, "distinguishing": 3, "order": 4, "least_map": 0.5, **VIEWS}
    rows = [bounds.rich_component_rows(0.1, chain=q, **settings) for q in (1, 2, 3)]
    assert rows[1] / rows[0] == pytest.approx(rows[2] / rows[1])
    assert rows[0] < rows[1]
    with pytest.raises(LatentiaError, match="least_map"):
        bounds.rich_component_rows(0.1, chain=1, **{**settings, "least_map": 0.0})


def test_communities():
    assert bounds.community_strength(10_000, 10) == pytest.approx(0.1)
    memberships, connectivity = bounds.community_errors(10_000, 10, 0.04, 0.01)
    assert memberships == pytest.approx(20 / 0.03)
    assert connectivity == pytest.approx(10 * 0.2 / 100)
    assert bounds.support_threshold(10_000, 10, 0.04, 0.01) == pytest.approx(0.2 * 10 / (0.03 * 100))
    with pytest.raises(LatentiaError, match="below inside"):
        bounds.community_errors(100, 2, 0.1, 0.1)


def test_dictionaries():
    assert bounds.dictionary_sparsity(10**12, 10**5, 1.0) == pytest.approx(100.0)
    assert bounds.dictionary_sparsity(10**12, 10**5, 1.0, order=8) == pytest.approx(10 ** (5 * 7 / 15))
    assert bounds.dictionary_sparsity(100, 10**5, 2.0) == pytest.approx(10 / (2 * math.log(100)))
    supports = bounds.dictionary_rows(256, 4)
    assert supports == pytest.approx(64**2 * math.log(256))
    assert bounds.dictionary_rows(256, 4, 10.0) == supports
    assert bounds.dictionary_rows(256, 4, 0.01) == pytest.approx(256 * math.log(256) / 1e-4)
    assert bounds.dictionary_rows(256, 4, 0.01, noise=3.0) == pytest.approx(9 * bounds.dictionary_rows(256, 4, 0.01))
    rows, error = bounds.dictionary_svd(100, 400, 4, 1.0)
    assert error == pytest.approx(0.4)
    assert rows == pytest.approx(400 * 100 * math.log(400) * math.log(100) / 0.16)
    with pytest.raises(LatentiaError, match="order"):
        bounds.dictionary_sparsity(100, 100, 1.0, order=2)


def test_dictionaries_of_dependent_coefficients():
    limits = bounds.weak_dictionary(10**4, 10**4, 3, 4.0)
    assert limits.sparsity == pytest.approx(5.0)
    assert limits.error == pytest.approx(3 * 2 / 10)
    assert limits.rows == pytest.approx(10**4 * 10**6 * math.log(10**4) ** 2 / (9 * 4))
    assert bounds.weak_dictionary(10**4, 10**4, 3, 4.0, slack=0.1).error > limits.error


def test_edges_of_the_connection_graph():
    assert bounds.disjoint_product(10_000, 5, 2.0) == pytest.approx(0.5)
    likely = bounds.disjoint_product(10_000, 50, 2.0, certain=False)
    assert likely == pytest.approx(math.log(10_000))
    assert likely < bounds.disjoint_product(10_000, 50, 2.0)
    assert bounds.chance_of_common_neighbour(4, 400, 2) == pytest.approx(4**6 / 400**3 + 6 * 64 / 400**2)
    three = bounds.piercing_probability(4, 10_000, 3)
    assert three == pytest.approx((6 + 12) * (4e-4) ** 2 + (48e-4) ** 3 / (1 - 48e-4))
    assert bounds.piercing_probability(4, 10_000, 4) / 2**-4 < three / 2**-3 * 10
    assert bounds.piercing_probability(100, 100, 3) == 1.0


def test_networks():
    assert bounds.network_rows(2000, 0.01) == pytest.approx(1e4 * math.log(2000) ** 2)
    assert bounds.network_density(10.0) == pytest.approx(0.01)
    assert bounds.network_density(4.0, order=3) == pytest.approx(0.125)
    assert bounds.triple_recovery(10, 100, 10) == (pytest.approx(1e-5), 11_000)
    assert bounds.third_moment_bounds(0.05) == (pytest.approx(0.005), pytest.approx(0.03))
    with pytest.raises(LatentiaError, match="order"):
        bounds.network_density(4.0, order=4)


def test_conditions_of_networks():
    conditions = bounds.network_conditions((6000, 1000, 1000), (6, 40), 0.0015)
    assert conditions.densities == (pytest.approx(0.09**3 / 0.03), pytest.approx(0.03**3 / 0.0015))
    assert conditions.degrees == pytest.approx((1 / 6, 1 / 40, 1 / 36, 1 / 40))
    assert conditions.triples[0] == pytest.approx(1000**3 * 36**8 / 6000**8)
    assert conditions.real == ()
    real = bounds.network_conditions((600, 300, 1000, 1000), (4, 16, 10), 0.001, real=True)
    assert real.real == pytest.approx((0.001 * 5 * 8 * 4, 8 / 160, 2 / 16, 16 / 300))
    assert len(real.densities) == 2
    assert bounds.network_conditions((200, 100), (5,), 0.05, real=True).real == pytest.approx((0.25, 0.25))
    with pytest.raises(LatentiaError, match="each hidden layer"):
        bounds.network_conditions((6000, 1000), (6, 40), 0.01)


def test_systems_of_polynomials_of_factorizations():
    simplicial = bounds.simplicial_factorization_system(20, 30, 3)
    assert simplicial == (18, 150 + 600, 2, pytest.approx(9 * math.log10(600)))
    general = bounds.factorization_system(20, 30, 3)
    assert general.n_variables == 8 * simplicial.n_variables
    assert general.log10_operations == pytest.approx(8 * simplicial.log10_operations)
    assert bounds.factorization_system(20, 30, 4).log10_operations > 700


def test_hyperplane_partitions():
    assert bounds.hyperplane_partition_count(4, 2) == 8
    assert bounds.hyperplane_partition_count(5, 5) == 2**5
    assert bounds.hyperplane_partition_count(4, 2, affine=True) == 14  # all but the two of the exclusive or
    assert bounds.hyperplane_partition_count(3, 9) == 2**3
    assert bounds.hyperplane_partition_operations(10, 2) == 40**2
    with pytest.raises(LatentiaError, match="rank"):
        bounds.hyperplane_partition_count(4, 0)


def test_loners():
    assert bounds.loner_programs(100, 20) == (100, 99, 21)
    distance, margin, residual = bounds.robust_loner_bounds(0.001, 0.5)
    assert distance == pytest.approx(0.022)
    assert margin == pytest.approx(0.5 - 0.08 - 0.013)
    assert residual == pytest.approx(0.024)
    limit = bounds.robust_loner_noise_limit(0.5)
    assert bounds.robust_loner_bounds(limit, 0.5).margin == pytest.approx(0)
    assert bounds.almost_anchor_cover(0.001, 0.2) == pytest.approx(0.05)
    assert bounds.almost_anchor_noise_limit(0.2) == pytest.approx(0.002)


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
    stated, mended = 5 * eps / alpha + 2 * eps, bounds.robust_loner_bounds(eps, alpha)
    assert 20 * eps / alpha + 13 * eps < alpha
    assert mended.margin > 0
    # Rows just off the ones that are left out, one towards each of the others, and noise that moves anchor and hull together.
    for distance, is_loner in ((stated, False), (mended.distance, True)):
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
    rng, n_pairs, size = np.random.default_rng(0), 20_000, 400
    counts = rng.multinomial(n_pairs, np.full(size**2, 1 / size**2)).reshape(size, size)
    scaled = (counts + counts.T) / (2 * n_pairs) * size - 1 / size
    assert np.abs(np.linalg.eigvalsh(scaled)).max() == pytest.approx(
        2 * bounds.least_pair_eigenvalue(n_pairs, size), rel=0.1
    )
    base = bounds.probability_matrix_pairs(100, 2, 0.5)
    assert bounds.probability_matrix_pairs(200, 4, 0.5) == pytest.approx(8 * base)
    assert bounds.probability_matrix_pairs(100, 2, 0.25, accuracy=0.05) == pytest.approx(4 * 32 * base)
