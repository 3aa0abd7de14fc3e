"""Stages of the fit: exchanges, rates of pairs, scatter, what is left, weights."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import normalized_mutual_info_score as nmi

from latentia.communities import MixedMembershipBlockModel
from latentia.communities._exchange import exchange_communities, gain_of_free_rates
from latentia.communities._fit import dispersion
from latentia.communities._model import Communities, EdgeLists, balance_activity, build_communities, tie_rates
from latentia.communities._refine import Shape, average_neighbours, fit_single_memberships
from latentia.communities._residual import measure_residual_ratio, measure_triangle_ratios
from latentia.communities._scatter import Scatter
from latentia.communities._start import coordinates, spectral_start, suggest_number
from latentia.communities._weights import Weights
from latentia.datasets import planted

TIED = Shape(corrected=False, homophilic=True)


@pytest.fixture(scope="module")
def graph():
    return planted.mixed_membership_graph(1200, 4, alpha0=0, degree=30, snr=3, random_state=5)


@pytest.fixture(scope="module")
def ends(graph):
    return EdgeLists(graph.adjacency, False)


def test_exchanges_leave_a_local_optimum(graph, ends):
    labels = np.where(graph.labels == 1, 0, graph.labels)  # two communities share one, and one is cut in two
    labels[np.flatnonzero(graph.labels == 2)[::2]] = 1
    stuck = fit_single_memberships(ends, build_communities(ends, np.eye(4)[labels], False), TIED, "auto")
    start = spectral_start(ends, 4, 0)
    found = exchange_communities(ends, coordinates(ends, start), stuck, TIED)
    assert nmi(stuck.communities.memberships.argmax(axis=1), graph.labels) < 0.9
    assert nmi(found.communities.memberships.argmax(axis=1), graph.labels) > 0.95
    again = exchange_communities(ends, coordinates(ends, start), found, TIED)
    assert again is found


def test_steps_make_the_edges_more_probable(ends, graph):
    rng = np.random.default_rng(0)
    start = build_communities(ends, 0.7 * graph.memberships + 0.3 * rng.dirichlet(np.ones(4), 1200), False)
    values = fit_single_memberships(ends, start, TIED, 15).refinement.log_likelihood
    assert values[-1] > values[0]
    assert np.diff(values)[5:].min() > -1e-4 * abs(values[0])


def test_one_rate_for_all_pairs():
    joint, mass = np.arange(9.0).reshape(3, 3), np.outer([1, 2, 3], [3, 2, 1]).astype(float)
    found = tie_rates(joint, mass)
    apart = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(np.diag(found), np.diag(joint))
    np.testing.assert_allclose(found[apart].sum(), joint[apart].sum())
    assert np.ptp((found / mass)[apart]) < 1e-12


def test_rates_of_pairs_are_told_where_there_are_any(ends, graph):
    best = fit_single_memberships(ends, build_communities(ends, graph.memberships, False), TIED, 3)
    assert gain_of_free_rates(ends, best, False) < 20
    table = np.exp(-0.9 * np.abs(np.subtract.outer(np.arange(4), np.arange(4))))
    chain = planted.mixed_membership_graph(1200, 4, alpha0=0, degree=30, connectivity=table, random_state=5)
    other = EdgeLists(chain.adjacency, False)
    best = fit_single_memberships(other, build_communities(other, chain.memberships, False), TIED, 3)
    assert gain_of_free_rates(other, best, False) > 200


def test_what_is_left_is_noise_where_the_model_is_right(ends, graph):
    space = spectral_start(ends, 4, 0).space
    right = build_communities(ends, graph.memberships, False)
    assert measure_residual_ratio(ends, right, space, 0) < 1.08
    merged = np.column_stack([graph.memberships[:, :2], graph.memberships[:, 2:].sum(axis=1)])
    assert measure_residual_ratio(ends, build_communities(ends, merged, False), space, 0) > 1.3


def test_triangles_are_those_of_communities(ends, graph):
    of_all, of_each = measure_triangle_ratios(ends, build_communities(ends, graph.memberships, False), 0)
    assert of_all == pytest.approx(1, abs=0.06)
    assert (of_each < 1.05).all()
    directed = planted.mixed_membership_graph(800, 3, alpha0=0, degree=20, spread=0.5, directed=True, random_state=1)
    both = EdgeLists(directed.adjacency, True)
    assert measure_triangle_ratios(both, build_communities(both, directed.memberships, True), 0)[0] == pytest.approx(
        1, abs=0.06
    )
    star = sparse.csr_array(([1.0] * 4, ([0] * 4, range(1, 5))), shape=(5, 5))
    alone = EdgeLists(star + star.T, False)
    assert measure_triangle_ratios(alone, build_communities(alone, np.eye(2)[[0, 0, 0, 1, 1]], False), 0)[0] == 0


def test_positions_on_a_map_are_no_communities():
    rng = np.random.default_rng(1)
    places = rng.random((600, 2))
    near = (cdist(places, places) < 0.1) & ~np.eye(600, dtype=bool)
    evidence = MixedMembershipBlockModel(5).fit(sparse.csr_array(near.astype(float))).evidence_
    assert evidence.grade == "not supported"
    check = next(check for check in evidence.checks if check.name == "triangles")
    assert check.measured > 3
    assert not check.holds


def test_scatter_tells_mixed_nodes():
    ratios = []
    for alpha0 in (0, 1.0):
        drawn = planted.mixed_membership_graph(1500, 4, alpha0=alpha0, degree=40, snr=4, random_state=1)
        ends = EdgeLists(drawn.adjacency, False)
        start = build_communities(ends, np.eye(4)[drawn.labels], False)
        found = Scatter.measure(ends, fit_single_memberships(ends, start, TIED, 10))
        ratios.append(found.ratio / found.limit)
    assert ratios[0] < 1 < ratios[1]


def test_the_dispersion_of_degrees():
    plain, active = (
        planted.mixed_membership_graph(1500, 3, alpha0=0, degree=20, spread=spread, random_state=1)
        for spread in (0, 0.7)
    )
    assert dispersion(EdgeLists(plain.adjacency, False), plain.memberships) == pytest.approx(1, abs=0.15)
    assert dispersion(EdgeLists(active.adjacency, False), active.memberships) > 3


def test_scales_of_communities_are_fixed_by_mean_activity():
    rng = np.random.default_rng(0)
    memberships, activity = rng.dirichlet([0.3, 0.5, 0.2], 500), rng.gamma(2, 0.5, 500)
    found, factor = balance_activity(memberships, activity)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose((activity * factor) @ found, found.sum(axis=0), rtol=1e-4)


def test_directions_of_every_kind_of_end():
    drawn = planted.mixed_membership_graph(800, 3, alpha0=0, degree=15, snr=2.5, directed=True, random_state=1)
    ends = EdgeLists(drawn.adjacency, True)
    assert ends.table.shape == (800, 1600)
    assert suggest_number(ends, 10) == 3
    np.testing.assert_array_equal(ends.degrees, drawn.adjacency.sum(axis=0) + drawn.adjacency.sum(axis=1))


def test_activity_is_of_the_node_in_both_directions():
    table = [[3, 0.1, 0.1], [1, 2, 0.1], [2, 1, 2]]  # the first community has many edges to it, the last one from it
    drawn = planted.mixed_membership_graph(
        900, 3, alpha0=0, degree=30, spread=0.7, connectivity=table, directed=True, random_state=1
    )
    ends = EdgeLists(drawn.adjacency, True)
    start = build_communities(ends, 0.7 * drawn.memberships + 0.1, True)
    found = fit_single_memberships(ends, start, Shape(corrected=True, homophilic=False), 10).communities
    assert nmi(found.memberships.argmax(axis=1), drawn.labels) > 0.95


def test_averages_over_neighbours(graph, ends):
    model = build_communities(ends, graph.memberships, False)
    found, high, low = average_neighbours(ends, model, 0.0)
    members = graph.memberships.astype(bool)
    assert found[members].mean() == pytest.approx(1, abs=0.01)
    assert found[~members].mean() == pytest.approx(0, abs=0.01)
    assert high == pytest.approx(graph.connectivity[0, 0], rel=0.05)
    assert low == pytest.approx(graph.connectivity[0, 1], rel=0.05)


def test_averages_over_neighbours_in_both_directions(graph, ends):
    undirected = build_communities(ends, graph.memberships, True)
    both = EdgeLists(ends.adjacency, True)
    expected = average_neighbours(ends, undirected, 0.5)
    values = average_neighbours(both, build_communities(both, graph.memberships, True), 0.5)
    np.testing.assert_allclose(values[0], expected[0])
    senders = np.arange(ends.n_nodes) % 2 == 0  # other nodes have edges to them alone
    half = sparse.csr_array(sparse.diags_array(senders.astype(float)) @ ends.adjacency)
    means, high, low = average_neighbours(
        EdgeLists(half, True), build_communities(EdgeLists(half, True), graph.memberships, False), 0.0
    )
    members = graph.memberships.astype(bool)
    assert means[members].mean() > means[~members].mean() + 0.8
    assert high > low


def test_weights_as_counts():
    rng = np.random.default_rng(0)
    counts = np.triu(rng.poisson(0.6, (300, 300)), 1)
    how = Weights.from_edges(sparse.csr_array(counts + counts.T))
    assert not how.root
    assert how.dispersion == pytest.approx(1, abs=0.05)
    heavy = np.triu(rng.lognormal(0, 1.5, (300, 300)) * (rng.random((300, 300)) < 0.1), 1)
    how = Weights.from_edges(sparse.csr_array(heavy + heavy.T))
    assert how.root
    scaled = Weights.from_edges(sparse.csr_array(100 * (heavy + heavy.T)))
    table = sparse.csr_array(heavy + heavy.T)
    np.testing.assert_allclose(how.counts(table).data, scaled.counts(sparse.csr_array(100 * table)).data)


def test_an_empty_community_has_no_rates(ends, graph):
    memberships = np.column_stack([graph.memberships, np.zeros(1200)])
    model = build_communities(ends, memberships, True)
    assert np.isfinite(model.connectivity).all()
    assert (model.connectivity[4] == 0).all()
    assert isinstance(model, Communities)


def test_averages_of_directed_graphs_are_over_the_directions_with_edges():
    graph = planted.mixed_membership_graph(300, 3, alpha0=0, degree=12, directed=True, random_state=2)
    adjacency = graph.adjacency.toarray()
    adjacency[:20] = adjacency[:, 20:40] = 0  # The first nodes have no edges of their own, and others no edges to them.
    ends = EdgeLists(sparse.csr_array(adjacency), True)
    communities = build_communities(ends, graph.memberships, True)
    averages, high, low = average_neighbours(ends, communities, 0.5)
    expected = np.zeros_like(averages)
    for node in range(300):
        for edges, neighbours, activity in (
            (adjacency[node], communities.receivers, communities.activity),
            (adjacency[:, node], communities.senders, communities.activity_in),
        ):
            if edges.any():
                q = 1.5 * graph.memberships / neighbours.sum(axis=0) - 0.5 / 300
                n_directions = adjacency[node].any() + int(adjacency[:, node].any())
                expected[node] += edges @ q / activity[node] / n_directions
    np.testing.assert_allclose(averages, (expected - low) / (high - low), atol=1e-9)
