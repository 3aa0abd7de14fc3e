"""The algorithms on five parts of a graph: exact moments, a dense transcription, recovery, and refusals."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from latentia.communities import MixedMembershipBlockModel
from latentia.datasets.planted.graphs import mixed_membership_graph
from latentia.exceptions import EvidenceWarning, LatentiaError
from latentia.metrics import match_components
from latentia.papers import communities as algorithms
from latentia.papers.communities import NodeParts, partitioned_communities


def equal_parts(size):
    return NodeParts(*np.arange(5 * size).reshape(5, size))


def random_parts(n_nodes, seed):
    return NodeParts(*map(np.sort, np.array_split(np.random.default_rng(seed).permutation(n_nodes), 5)))


def mean_graph(memberships, connectivity):
    return sparse.csr_array(memberships @ connectivity @ memberships.T)


def homophilic(k, inside=0.3, across=0.05):
    return across + (inside - across) * np.eye(k)


def dirichlet_like():
    """54 points whose moments up to the third are those of a Dirichlet(1/3, 1/3, 1/3) distribution: alpha_0 = 1."""
    pairs = [(np.eye(3)[i] + np.eye(3)[j]) / 2 for i, j in combinations(range(3), 2)]
    return np.vstack([np.repeat(np.eye(3), 7, axis=0), np.repeat(pairs, 8, axis=0), np.full((9, 3), 1 / 3)])


def matched(estimate, truth):
    order, _ = match_components(estimate.T, truth.T)
    return order


def mean_l1(estimate, truth):
    return np.abs(estimate[:, matched(estimate, truth)] - truth).sum(axis=1).mean()


# --- exact moments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_expected_edges_of_pure_nodes_give_the_model_back(seed):
    connectivity = homophilic(4)
    truth = np.repeat(np.eye(4), [60, 50, 40, 50], axis=0)
    answer = partitioned_communities(mean_graph(truth, connectivity), 4, 0.0, random_state=seed)
    order = matched(answer.memberships, truth)
    np.testing.assert_allclose(answer.memberships[:, order], truth, atol=1e-8)
    np.testing.assert_allclose(answer.connectivity[order][:, order], connectivity, atol=1e-8)
    np.testing.assert_allclose(answer.averages[:, order], truth, atol=1e-8)


def test_shares_are_exact_where_all_parts_hold_the_same():
    shares = np.array([0.2, 0.3, 0.5])
    truth = np.tile(np.repeat(np.eye(3), (30 * shares).astype(int), axis=0), (5, 1))
    graph = mean_graph(truth, np.array([[0.5, 0.1, 0.2], [0.1, 0.4, 0.1], [0.2, 0.1, 0.3]]))
    weights, _ = algorithms.rotate_stars(graph, equal_parts(30), 3, 0.0)
    np.testing.assert_allclose(np.sort(weights), np.sort(shares**-0.5), rtol=1e-6)
    answer = algorithms.learn_from_parts(graph, equal_parts(30), 3, 0.0)
    np.testing.assert_allclose(answer.shares[matched(answer.memberships, truth)], shares, rtol=1e-6)


@pytest.mark.parametrize("connectivity", [homophilic(3), np.array([[0.5, 0.2, 0.1], [0.1, 0.4, 0.3], [0.2, 0.1, 0.6]])])
def test_mixed_memberships_are_exact_where_the_moments_are_the_dirichlet_s(connectivity):
    """(8.6), (8.7), (8.9) halved, (8.10) and the reconstruction, with edges that may be directed."""
    truth, parts = np.tile(dirichlet_like(), (5, 1)), equal_parts(54)
    graph = mean_graph(truth, connectivity)
    weights, rotation = algorithms.rotate_stars(graph, parts, 3, 1.0)
    np.testing.assert_allclose(weights, np.sqrt(3), rtol=1e-6)
    values = algorithms.sum_edges(graph, parts.A, rotation).values
    np.testing.assert_allclose(values[:, matched(values, truth)], truth, atol=1e-6)


def test_averages_of_the_true_memberships_are_the_true_memberships():
    truth = np.tile(dirichlet_like(), (5, 1))
    graph = mean_graph(truth, homophilic(3))
    averages = algorithms.average_neighbours(graph, equal_parts(54), truth, truth, 1.0)
    np.testing.assert_allclose(averages.values, truth, atol=1e-12)
    q = algorithms.mean_weights(truth, 1.0)
    np.testing.assert_allclose(q.T @ (graph @ q), homophilic(3), atol=1e-12)


def test_averages_of_a_part_use_no_memberships_that_its_edges_gave():
    """A node's neighbours were assigned by their edges to A, or to Y: A and Y never meet such memberships."""
    truth, parts = np.tile(dirichlet_like(), (5, 1)), equal_parts(54)
    graph = mean_graph(truth, homophilic(3))
    expected = algorithms.average_neighbours(graph, parts, truth, truth, 1.0).values
    rng = np.random.default_rng(0)
    others = np.concatenate([parts.X, parts.B, parts.C])
    for through_a_spoilt, spoilt, untouched in [
        (False, parts.Y, "XYABC"),
        (False, others, "XYBC"),
        (True, others, "A"),
    ]:
        through_a, through_y = truth.copy(), truth.copy()
        table = through_a if through_a_spoilt else through_y
        table[spoilt] = 0.7 * truth[spoilt] + 0.3 * rng.dirichlet(np.ones(3), len(spoilt))
        averages = algorithms.average_neighbours(graph, parts, through_a, through_y, 1.0).values
        for name in untouched:
            nodes = getattr(parts, name)
            np.testing.assert_array_equal(averages[nodes], expected[nodes])


# --- a dense transcription ----------------------------------------------------------------------------------------


def naive_modified(block, alpha0):
    root = np.sqrt(alpha0 + 1)
    return root * block - (root - 1) * np.outer(np.ones(len(block)), block.mean(axis=0))  # (8.6)


def naive_whitened_tensor(graph, parts, k, alpha0):
    """(8.3) to (8.7), (8.14) and Algorithm 8.2's tensor, entry by entry; also the whitening matrix of A."""
    leaves = [parts.A, parts.B, parts.C]
    stars = [graph[np.ix_(parts.Y, nodes)] for nodes in leaves]
    n = len(parts.Y)
    mu = [star.mean(axis=0) for star in stars]
    a, b, c = stars
    tensor = (alpha0 + 1) * (alpha0 + 2) * np.einsum("ya,yb,yc->abc", a, b, c) / n
    tensor += 2 * alpha0**2 * np.einsum("a,b,c->abc", *mu)
    pairs = np.einsum("ya,yb,c->abc", a, b, mu[2]) + np.einsum("ya,b,yc->abc", a, mu[1], c)
    pairs += np.einsum("a,yb,yc->abc", mu[0], b, c)
    tensor -= alpha0 * (alpha0 + 1) / n * pairs
    whitening, lowered = [], []
    for nodes in leaves:
        block = naive_modified(graph[np.ix_(parts.X, nodes)], alpha0)
        u, d, vt = np.linalg.svd(block.T / np.sqrt(len(parts.X)), full_matrices=False)
        whitening.append(u[:, :k] / d[:k])
        lowered.append(np.sqrt(len(parts.X)) * (u[:, :k] * d[:k]) @ vt[:k])  # (G_XA)^T of rank K
    rotated = [whitening[0]]
    for w, g in zip(whitening[1:], lowered[1:], strict=True):
        rotated.append(w @ (w.T @ g @ lowered[0].T @ whitening[0] / len(parts.X)))
    full = np.einsum("abc,ai,bj,ck->ijk", tensor, *rotated, optimize=True)
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    return sum(full.transpose(order) for order in orders) / 6 / 2, whitening[0]


@pytest.mark.parametrize("alpha0", [0.0, 0.7])
@pytest.mark.parametrize("directed", [False, True])
def test_whitened_tensor_is_that_of_a_dense_transcription(alpha0, directed, monkeypatch):
    planted = mixed_membership_graph(200, 3, alpha0=alpha0, degree=60, snr=5, directed=directed, random_state=1)
    parts, calls = random_parts(200, 3), {}
    star_tensor = algorithms.star_tensor

    def spy(*stars_and_alpha0):
        calls["stars"], calls["tensor"] = stars_and_alpha0[:3], star_tensor(*stars_and_alpha0)
        return calls["tensor"]

    monkeypatch.setattr(algorithms, "star_tensor", spy)
    algorithms.rotate_stars(planted.adjacency, parts, 3, alpha0)
    dense = planted.adjacency.toarray().astype(float)
    tensor, whitening = naive_whitened_tensor(dense, parts, 3, alpha0)
    signs = np.sign(np.sum(calls["stars"][0] * (dense[np.ix_(parts.Y, parts.A)] @ whitening), axis=0))
    np.testing.assert_allclose(calls["tensor"], tensor * np.einsum("i,j,k->ijk", signs, signs, signs), atol=1e-8)


def test_singular_vectors_converge_where_the_parts_are_larger_than_the_krylov_space():
    planted = mixed_membership_graph(1500, 4, alpha0=0.2, degree=150, snr=6, random_state=0)
    parts = random_parts(1500, 0)
    block = planted.adjacency[parts.X][:, parts.A]
    whitening, right = algorithms.whiten_edges(block, 4, 0.2)
    u, d, vt = np.linalg.svd(naive_modified(block.toarray(), 0.2).T / np.sqrt(300), full_matrices=False)
    np.testing.assert_allclose(np.linalg.norm(whitening, axis=0), 1 / d[:4], rtol=1e-8)
    np.testing.assert_allclose(np.abs(right.T @ vt[:4].T), np.eye(4), atol=1e-7)
    np.testing.assert_allclose(np.abs(whitening.T @ u[:, :4]) * d[:4], np.eye(4), atol=1e-7)


# --- recovery -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
def test_communities_of_a_planted_graph_are_recovered(directed):
    planted = mixed_membership_graph(2000, 4, alpha0=0, degree=250, snr=8, directed=directed, random_state=0)
    answer = partitioned_communities(planted.adjacency, 4, 0.0)
    assert mean_l1(answer.memberships, planted.memberships) < 0.002
    order = matched(answer.memberships, planted.memberships)
    np.testing.assert_allclose(answer.connectivity[order][:, order], planted.connectivity, rtol=0.08)
    np.testing.assert_allclose(answer.shares, 0.25, atol=0.1)


@pytest.mark.parametrize("seed", [0, 1])
def test_overlapping_communities_of_a_planted_graph_are_recovered(seed):
    planted = mixed_membership_graph(3000, 5, alpha0=0.1, degree=300, snr=10, random_state=seed)
    answer = partitioned_communities(planted.adjacency, 5, 0.1, random_state=seed)
    assert mean_l1(answer.memberships, planted.memberships) < 0.04
    assert mean_l1(answer.averages, planted.memberships) < 0.35
    np.testing.assert_allclose(answer.memberships.sum(axis=1), 1)
    assert answer.memberships.min() >= 0
    order = matched(answer.memberships, planted.memberships)
    np.testing.assert_allclose(answer.connectivity[order][:, order], planted.connectivity, atol=0.015)


def test_the_estimator_agrees_on_a_dense_graph():
    planted = mixed_membership_graph(3000, 4, alpha0=0.1, degree=300, snr=10, random_state=2)
    answer = partitioned_communities(planted.adjacency, 4, 0.1)
    model = MixedMembershipBlockModel(4, alpha0=0.1, n_splits=0).fit(planted.adjacency)
    assert mean_l1(answer.memberships, planted.memberships) < 0.05
    assert mean_l1(answer.memberships, model.memberships_) < 0.06


def test_one_community():
    planted = mixed_membership_graph(200, 1, alpha0=0, degree=40, snr=0.5, random_state=0)
    answer = partitioned_communities(planted.adjacency, 1, 0.0)
    np.testing.assert_array_equal(answer.memberships, 1)
    np.testing.assert_allclose(answer.connectivity, planted.adjacency.sum() / 200**2)


def test_weights_of_edges_may_have_any_unit():
    planted = mixed_membership_graph(600, 3, alpha0=0.2, degree=100, snr=6, random_state=0)
    plain, scaled = (partitioned_communities(planted.adjacency * unit, 3, 0.2) for unit in (1, 1000.0))
    np.testing.assert_allclose(scaled.memberships, plain.memberships, atol=1e-6)
    np.testing.assert_allclose(scaled.connectivity, 1000 * plain.connectivity, rtol=1e-6)


def test_nodes_without_edges_get_the_shares():
    planted = mixed_membership_graph(800, 3, alpha0=0.1, degree=150, snr=8, random_state=0)
    graph = sparse.block_diag([planted.adjacency, sparse.csr_array((5, 5), dtype=np.int8)], format="csr")
    answer = partitioned_communities(sparse.csr_array(graph), 3, 0.1)
    np.testing.assert_allclose(answer.memberships[800:], np.tile(answer.shares, (5, 1)))
    assert mean_l1(answer.memberships[:800], planted.memberships) < 0.15


# --- refusals -----------------------------------------------------------------------------------------------------


def test_rank_below_the_number_of_communities_is_an_error():
    graph = mean_graph(np.repeat(np.eye(2), 50, axis=0), homophilic(2))
    with pytest.raises(LatentiaError, match="rank 2") as error:
        partitioned_communities(graph, 3, 0.0)
    assert error.value.parameter == "n_components"


@pytest.mark.parametrize("n_components", [0, 5])
def test_more_communities_than_a_part_has_nodes_are_an_error(n_components):
    planted = mixed_membership_graph(20, 2, alpha0=0, degree=8, snr=2, random_state=0)
    with pytest.raises(LatentiaError, match="five parts of 4 nodes") as error:
        partitioned_communities(planted.adjacency, n_components, 0.0)
    assert error.value.parameter == "n_components"


def test_a_graph_without_stars_is_an_error():
    truth, parts = np.tile(np.eye(2), (25, 1)), equal_parts(10)
    graph = mean_graph(truth, homophilic(2)).toarray()
    graph[parts.Y] = 0
    with pytest.raises(LatentiaError, match="no 3-stars") as error:
        algorithms.rotate_stars(sparse.csr_array(graph), parts, 2, 0.0)
    assert error.value.parameter == "n_components"


def test_a_community_without_nodes_is_an_error():
    with pytest.raises(LatentiaError, match="1 of 3 communities have no nodes") as error:
        algorithms.mean_weights(np.eye(3)[[0, 0, 1]], 0.0)
    assert error.value.parameter == "n_components"


def test_edges_across_communities_leave_the_memberships_of_the_first_algorithm():
    planted = mixed_membership_graph(
        2000, 3, alpha0=0, degree=300, connectivity=np.ones((3, 3)) - 0.9 * np.eye(3), random_state=0
    )
    with pytest.warns(EvidenceWarning, match="expects more edges inside"):
        answer = partitioned_communities(planted.adjacency, 3, 0.0)
    assert mean_l1(answer.memberships, planted.memberships) < 0.02
    assert np.isnan(answer.averages).all()
