"""The partitioned algorithm: exact moments, a dense transcription, recovery, and what it refuses."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from latentia.communities import _partitioned as algorithm
from latentia.communities._partitioned import partitioned
from latentia.datasets.planted.graphs import mixed_membership_graph
from latentia.exceptions import EvidenceWarning, LatentiaError
from latentia.metrics import match_components

METHODS = ("adaptive", "polar")


def parts_of(size):
    return algorithm._Parts(*np.arange(5 * size).reshape(5, size))


def task_of(graph, n_components, alpha0=0.0, method="adaptive"):
    return algorithm._Task(sparse.csr_array(graph), n_components, alpha0, 0, method, 1)


def mean_graph(memberships, connectivity):
    return sparse.csr_array(memberships @ connectivity @ memberships.T)


def homophilic(k, inside=0.3, across=0.05):
    return across + (inside - across) * np.eye(k)


def dirichlet_like():
    """54 points whose moments up to the third are those of a Dirichlet(1/3, 1/3, 1/3) distribution: alpha_0 = 1."""
    pairs = [(np.eye(3)[i] + np.eye(3)[j]) / 2 for i, j in combinations(range(3), 2)]
    return np.vstack([np.repeat(np.eye(3), 7, axis=0), np.repeat(pairs, 8, axis=0), np.full((9, 3), 1 / 3)])


def matched(found, true):
    order, _ = match_components(found.T, true.T)
    return order


def mean_l1(found, true):
    return np.abs(found[:, matched(found, true)] - true).sum(axis=1).mean()


# --- exact moments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, 1])
def test_expected_edges_of_pure_nodes_give_the_model_back(method, seed):
    sizes, connectivity = [60, 50, 40, 50], homophilic(4)
    true = np.repeat(np.eye(4), sizes, axis=0)
    found = partitioned(mean_graph(true, connectivity), 4, 0.0, seed=seed, method=method)
    order = matched(found.memberships, true)
    np.testing.assert_allclose(found.memberships[:, order], true, atol=1e-8)
    np.testing.assert_allclose(found.connectivity[order][:, order], connectivity, atol=1e-8)
    np.testing.assert_allclose(found.support_average[:, order], true, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_shares_are_exact_where_all_parts_hold_the_same(method):
    shares = np.array([0.2, 0.3, 0.5])
    true = np.tile(np.repeat(np.eye(3), (30 * shares).astype(int), axis=0), (5, 1))
    graph = mean_graph(true, np.array([[0.5, 0.1, 0.2], [0.1, 0.4, 0.1], [0.2, 0.1, 0.3]]))
    found = algorithm._learned(task_of(graph, 3, method=method), parts_of(30))
    order = matched(found.memberships, true)
    np.testing.assert_allclose(found.weights[order], shares**-0.5, rtol=1e-6)
    np.testing.assert_allclose(found.shares[order], shares, rtol=1e-6)


@pytest.mark.parametrize("connectivity", [homophilic(3), np.array([[0.5, 0.2, 0.1], [0.1, 0.4, 0.3], [0.2, 0.1, 0.6]])])
def test_mixed_memberships_are_exact_where_the_moments_are_the_dirichlet_s(connectivity):
    """(8.6), (8.7), (8.9) halved, (8.10) and the reconstruction, with edges that may be directed."""
    true, parts = np.tile(dirichlet_like(), (5, 1)), parts_of(54)
    task = task_of(mean_graph(true, connectivity), 3, alpha0=1.0)
    weights, mapping = algorithm._rotation(task, parts)
    np.testing.assert_allclose(weights, np.sqrt(3), rtol=1e-6)
    values = algorithm._sums(task.graph, parts.A, mapping, 1).values
    np.testing.assert_allclose(values[:, matched(values, true)], true, atol=1e-6)


def test_averages_of_the_true_memberships_are_the_true_memberships():
    true = np.tile(dirichlet_like(), (5, 1))
    task = task_of(mean_graph(true, homophilic(3)), 3, alpha0=1.0)
    np.testing.assert_allclose(algorithm._averages(task, parts_of(54), true, true).values, true, atol=1e-12)
    np.testing.assert_allclose(algorithm._connectivity(task, true), homophilic(3), atol=1e-12)


def test_averages_of_a_part_use_no_memberships_that_its_edges_gave():
    """A node's neighbours were assigned by their edges to A, or to Y: A and Y never meet such memberships."""
    true, parts = np.tile(dirichlet_like(), (5, 1)), parts_of(54)
    task = task_of(mean_graph(true, homophilic(3)), 3, alpha0=1.0)
    expected = algorithm._averages(task, parts, true, true).values
    rng = np.random.default_rng(0)
    others = np.concatenate([parts.X, parts.B, parts.C])
    for of_edges_to_a, spoilt, untouched in [(False, parts.Y, "XYABC"), (False, others, "XYBC"), (True, others, "A")]:
        by_edges_to_a, by_edges_to_y = true.copy(), true.copy()
        table = by_edges_to_a if of_edges_to_a else by_edges_to_y
        table[spoilt] = 0.7 * true[spoilt] + 0.3 * rng.dirichlet(np.ones(3), len(spoilt))
        found = algorithm._averages(task, parts, by_edges_to_a, by_edges_to_y).values
        for name in untouched:
            nodes = getattr(parts, name)
            np.testing.assert_array_equal(found[nodes], expected[nodes])


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
    turned = [whitening[0]]
    for w, g in zip(whitening[1:], lowered[1:], strict=True):
        turned.append(w @ (w.T @ g @ lowered[0].T @ whitening[0] / len(parts.X)))
    whole = np.einsum("abc,ai,bj,ck->ijk", tensor, *turned, optimize=True)
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    return sum(whole.transpose(order) for order in orders) / 6 / 2, whitening[0]


@pytest.mark.parametrize("alpha0", [0.0, 0.7])
@pytest.mark.parametrize("directed", [False, True])
def test_whitened_tensor_is_that_of_a_dense_transcription(alpha0, directed, monkeypatch):
    planted = mixed_membership_graph(200, 3, alpha0=alpha0, degree=60, snr=5, directed=directed, random_state=1)
    parts, seen = algorithm._assign_folds(200, 3), {}
    tensor_of = algorithm._whitened_tensor

    def spy(stars, alpha0):
        seen["stars"], seen["tensor"] = stars, tensor_of(stars, alpha0)
        return seen["tensor"]

    monkeypatch.setattr(algorithm, "_whitened_tensor", spy)
    algorithm._rotation(task_of(planted.adjacency, 3, alpha0), parts)
    dense = planted.adjacency.toarray().astype(float)
    tensor, whitening = naive_whitened_tensor(dense, parts, 3, alpha0)
    signs = np.sign(np.sum(seen["stars"][0] * (dense[np.ix_(parts.Y, parts.A)] @ whitening), axis=0))
    np.testing.assert_allclose(seen["tensor"], tensor * np.einsum("i,j,k->ijk", signs, signs, signs), atol=1e-8)


def test_singular_vectors_have_settled_where_the_parts_are_larger_than_the_krylov_space():
    planted = mixed_membership_graph(1500, 4, alpha0=0.2, degree=150, snr=6, random_state=0)
    parts, task = algorithm._assign_folds(1500, 0), task_of(planted.adjacency, 4, 0.2)
    block = planted.adjacency[parts.X][:, parts.A]
    found = algorithm._whitened(block, task)
    u, d, vt = np.linalg.svd(naive_modified(block.toarray(), 0.2).T / np.sqrt(300), full_matrices=False)
    np.testing.assert_allclose(np.linalg.norm(found.matrix, axis=0), 1 / d[:4], rtol=1e-8)
    np.testing.assert_allclose(np.abs(found.right.T @ vt[:4].T), np.eye(4), atol=1e-7)
    np.testing.assert_allclose(np.abs(found.matrix.T @ u[:, :4]) * d[:4], np.eye(4), atol=1e-7)


# --- recovery -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("directed", [False, True])
def test_communities_of_a_planted_graph_are_found(method, directed):
    planted = mixed_membership_graph(2000, 4, alpha0=0, degree=250, snr=8, directed=directed, random_state=0)
    found = partitioned(planted.adjacency, 4, 0.0, method=method)
    assert mean_l1(found.memberships, planted.memberships) < 0.002
    order = matched(found.memberships, planted.memberships)
    np.testing.assert_allclose(found.connectivity[order][:, order], planted.connectivity, rtol=0.08)
    np.testing.assert_allclose(found.shares, 0.25, atol=0.1)


@pytest.mark.parametrize("seed", [0, 1])
def test_overlapping_communities_of_a_planted_graph_are_found(seed):
    planted = mixed_membership_graph(3000, 5, alpha0=0.1, degree=300, snr=10, random_state=seed)
    found = partitioned(planted.adjacency, 5, 0.1, seed=seed)
    assert mean_l1(found.memberships, planted.memberships) < 0.04
    assert mean_l1(found.support_average, planted.memberships) < 0.35
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1)
    assert found.memberships.min() >= 0
    order = matched(found.memberships, planted.memberships)
    np.testing.assert_allclose(found.connectivity[order][:, order], planted.connectivity, atol=0.015)


def test_one_community():
    planted = mixed_membership_graph(200, 1, alpha0=0, degree=40, snr=0.5, random_state=0)
    found = partitioned(planted.adjacency, 1, 0.0)
    np.testing.assert_array_equal(found.memberships, 1)
    np.testing.assert_allclose(found.connectivity, planted.adjacency.sum() / 200**2)


def test_threads_change_no_bit_and_seeds_deal_other_parts():
    planted = mixed_membership_graph(600, 3, alpha0=0.2, degree=100, snr=6, random_state=0)
    one, two, other = (
        partitioned(planted.adjacency, 3, 0.2, n_jobs=n_jobs, seed=seed) for n_jobs, seed in [(1, 0), (2, 0), (1, 1)]
    )
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(one.weights, other.weights)


def test_weights_of_edges_may_have_any_unit():
    planted = mixed_membership_graph(600, 3, alpha0=0.2, degree=100, snr=6, random_state=0)
    one, many = (partitioned(planted.adjacency * unit, 3, 0.2) for unit in (1, 1000.0))
    np.testing.assert_allclose(many.memberships, one.memberships, atol=1e-6)
    np.testing.assert_allclose(many.connectivity, 1000 * one.connectivity, rtol=1e-6)


def test_nodes_without_edges_get_the_shares():
    planted = mixed_membership_graph(800, 3, alpha0=0.1, degree=150, snr=8, random_state=0)
    graph = sparse.block_diag([planted.adjacency, sparse.csr_array((5, 5), dtype=np.int8)], format="csr")
    found = partitioned(sparse.csr_array(graph), 3, 0.1)
    np.testing.assert_allclose(found.memberships[800:], np.tile(found.shares, (5, 1)))
    assert mean_l1(found.memberships[:800], planted.memberships) < 0.15


# --- refusals -----------------------------------------------------------------------------------------------------


def test_rank_below_the_number_of_communities_is_an_error():
    graph = mean_graph(np.repeat(np.eye(2), 50, axis=0), homophilic(2))
    with pytest.raises(LatentiaError, match="rank 2, and 3 is needed") as error:
        partitioned(graph, 3, 0.0)
    assert error.value.parameter == "n_components"


@pytest.mark.parametrize("n_components", [0, 5])
def test_parts_smaller_than_the_number_of_communities_are_an_error(n_components):
    planted = mixed_membership_graph(20, 2, alpha0=0, degree=5, snr=1)
    with pytest.raises(LatentiaError, match="five parts of 4 nodes") as error:
        partitioned(planted.adjacency, n_components, 0.0)
    assert error.value.parameter == "n_components"


def test_a_graph_without_stars_is_an_error():
    true, parts = np.tile(np.eye(2), (25, 1)), parts_of(10)
    graph = mean_graph(true, homophilic(2)).toarray()
    graph[parts.Y] = 0
    with pytest.raises(LatentiaError, match="no 3-stars") as error:
        algorithm._rotation(task_of(graph, 2), parts)
    assert error.value.parameter == "n_components"


def test_a_community_without_nodes_is_an_error():
    with pytest.raises(LatentiaError, match="no node was found for 1 of 3 communities") as error:
        algorithm._mean_weights(np.eye(3)[[0, 0, 1]], 0.0)
    assert error.value.parameter == "n_components"


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [({"alpha0": -1.0}, "alpha0"), ({"alpha0": np.nan}, "alpha0"), ({"method": "als"}, "method")],
)
def test_wrong_parameters_are_named(wrong, parameter):
    planted = mixed_membership_graph(100, 2, alpha0=0, degree=20, snr=3)
    with pytest.raises(LatentiaError) as error:
        partitioned(planted.adjacency, **({"n_components": 2, "alpha0": 0.0} | wrong))
    assert error.value.parameter == parameter


def test_edges_across_communities_leave_the_memberships_of_the_first_algorithm():
    planted = mixed_membership_graph(
        2000, 3, alpha0=0, degree=300, connectivity=np.ones((3, 3)) - 0.9 * np.eye(3), random_state=0
    )
    with pytest.warns(EvidenceWarning, match="needs more inside"):
        found = partitioned(planted.adjacency, 3, 0.0)
    assert mean_l1(found.memberships, planted.memberships) < 0.02
    assert np.isnan(found.support_average).all()
