"""Mixed membership block models: recovery, what is chosen, what is refused, and how a fit is used."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score as nmi

from latentia import LatentiaError, load, save
from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning, EvidenceWarning

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.EvidenceWarning")


def l1(found, true):
    """Mean l1 distance of a node's memberships, communities matched."""
    cost = np.array([[np.abs(a - b).sum() for b in true.T] for a in found.T])
    return cost[linear_sum_assignment(cost)].sum() / len(true)


@pytest.fixture(scope="module")
def graph():
    return planted.mixed_membership_graph(1500, 5, alpha0=0.1, degree=30, snr=3.5, random_state=3)


@pytest.fixture(scope="module")
def model(graph):
    return MixedMembershipBlockModel(5).fit(graph.adjacency)


def test_memberships_and_connectivity(graph, model):
    assert l1(model.memberships_, graph.memberships) < 0.12
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    assert 0.03 <= model.dirichlet_.sum() <= 0.4
    assert np.diag(model.connectivity_).mean() == pytest.approx(graph.connectivity[0, 0], rel=0.1)
    assert not model.degree_corrected_
    assert model.homophilic_
    assert not model.directed_
    assert model.n_suggested_ == 5
    assert (np.diff(model.weights_) <= 0).all()
    assert model.evidence_.grade == "supported"


def test_blocks_near_the_threshold_are_found_better_than_by_the_tensor_alone():
    graph = planted.mixed_membership_graph(3000, 5, alpha0=0, degree=20, snr=1.6, random_state=1)
    full, theorem = (
        MixedMembershipBlockModel(5, alpha0=0, n_splits=0, refine=refine).fit(graph.adjacency) for refine in ("auto", 0)
    )
    assert nmi(full.labels_, graph.labels) > nmi(theorem.labels_, graph.labels) + 0.015
    assert not full.dirichlet_.any()


@pytest.mark.parametrize("alpha0", [0.1, 1.0])
def test_the_theorem_and_what_refinement_adds(alpha0):
    graph = planted.mixed_membership_graph(3000, 4, alpha0=alpha0, degree=50, snr=5, random_state=2)
    errors = [
        l1(
            MixedMembershipBlockModel(4, alpha0=alpha0, n_splits=0, refine=refine).fit(graph.adjacency).memberships_,
            graph.memberships,
        )
        for refine in (0, "auto")
    ]
    assert errors[1] < errors[0] < (0.25 if alpha0 < 1 else 0.6)


def test_activity_of_nodes():
    graph = planted.mixed_membership_graph(1500, 3, alpha0=0, degree=30, snr=3, spread=1, random_state=1)
    linked = np.asarray(graph.adjacency.sum(axis=1)).ravel() > 0
    adjacency = graph.adjacency[linked][:, linked]
    model = MixedMembershipBlockModel(3, n_splits=0).fit(adjacency)
    assert model.degree_corrected_
    assert nmi(model.labels_, graph.labels[linked]) > 0.7
    assert np.corrcoef(model.activity_, graph.activity[linked])[0, 1] > 0.95
    plain = MixedMembershipBlockModel(3, n_splits=0, degree_corrected=False).fit(adjacency)
    assert nmi(plain.labels_, graph.labels[linked]) < nmi(model.labels_, graph.labels[linked])
    assert (plain.activity_ == 1).all()


def test_directions_that_symmetric_edges_do_not_show():
    cycle = np.roll(np.eye(3), 1, axis=1) + 0.1  # from each community to the next one
    graph = planted.mixed_membership_graph(
        900, 3, alpha0=0, degree=15, connectivity=cycle, directed=True, random_state=1
    )
    model = MixedMembershipBlockModel(3).fit(graph.adjacency)
    assert model.directed_
    assert not model.homophilic_
    assert nmi(model.labels_, graph.labels) > 0.95
    assert (model.connectivity_.argmax(axis=1) != np.arange(3)).all()


def test_groups_that_are_linked_to_others():
    table = np.array([[0.1, 1.0, 0.2, 0.2], [1.0, 0.1, 0.2, 0.2], [0.2, 0.2, 0.1, 1.0], [0.2, 0.2, 1.0, 0.1]])
    graph = planted.mixed_membership_graph(1200, 4, alpha0=0, degree=25, connectivity=table, random_state=1)
    model = MixedMembershipBlockModel(4, n_splits=0).fit(graph.adjacency)
    assert not model.homophilic_
    assert nmi(model.labels_, graph.labels) > 0.9
    assert model.evidence_["homophily"].holds is False


def test_weights_in_any_unit(graph):
    rng = np.random.default_rng(0)
    upper = sparse.triu(graph.adjacency, 1).astype(float).tocsr()
    upper.data = rng.gamma(2.0, 0.7, len(upper.data))
    weighted = sparse.csr_array(upper + upper.T)
    one, other = (MixedMembershipBlockModel(5, n_splits=0).fit(weighted * unit) for unit in (1.0, 1000.0))
    np.testing.assert_allclose(one.memberships_, other.memberships_, atol=1e-4)
    np.testing.assert_allclose(1000 * one.connectivity_, other.connectivity_, rtol=1e-3)
    assert l1(one.memberships_, graph.memberships) < 0.25
    new = weighted[:20]
    np.testing.assert_allclose(one.transform(new), other.transform(1000 * new), atol=1e-3)


def test_a_graph_may_be_a_file(graph, tmp_path):
    edges = np.argwhere(sparse.triu(graph.adjacency).toarray())
    np.savetxt(tmp_path / "links.txt", edges, fmt="%d")
    model, other = (
        MixedMembershipBlockModel(5, refine=0, n_splits=0).fit(A) for A in (tmp_path / "links.txt", graph.adjacency)
    )
    np.testing.assert_array_equal(model.memberships_, other.memberships_)
    assert model.score(tmp_path / "links.txt") == other.score(graph.adjacency)
    assert len(model.evidence_.stability(tmp_path / "links.txt", n_splits=1)) == 5


def test_isolated_nodes_loops_and_repeats_are_said(graph, tmp_path):
    table = graph.adjacency.tolil()
    table[7] = 0
    table[:, 7] = 0
    table[3, 3] = 1
    with pytest.warns(DroppedDataWarning) as said:
        model = MixedMembershipBlockModel(5, n_splits=0).fit(table)
    texts = " ".join(str(one.message) for one in said)
    assert "1 loop was left out" in texts
    assert "Nodes without edges: 1 of 1500" in texts
    assert np.isnan(model.memberships_[7]).all()
    assert model.labels_[7] == -1
    assert model.isolated_.tolist() == [7]
    assert not model.support().all(axis=1)[7]
    assert np.isfinite(model.edge_probability([7], [0])).all()
    again = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.memberships_, model.memberships_)


def test_noise_is_not_supported_and_warned_of():
    upper = sparse.triu(sparse.random_array((600, 600), density=0.02, random_state=np.random.default_rng(1)), 1)
    upper.data[:] = 1
    with pytest.warns(EvidenceWarning, match="The spectrum shows no communities"):
        model = MixedMembershipBlockModel(4).fit(upper + upper.T)
    assert model.evidence_.grade == "not supported"


def test_communities_are_found_again_and_those_of_noise_are_not(graph, model):
    assert model.evidence_.found_again.min() > 0.75
    rng = np.random.default_rng(0)
    table = sparse.csr_array(np.triu(rng.random((300, 300)) < 0.05, 1))
    noise = MixedMembershipBlockModel(3).fit(sparse.csr_array(table + table.T))
    assert noise.evidence_.found_again.max() < 0.75
    assert MixedMembershipBlockModel(1).fit(graph.adjacency).evidence_.found_again is None


def test_too_many_communities():
    with pytest.raises(LatentiaError, match="at most 3 communities") as error:
        MixedMembershipBlockModel(4).fit(np.ones((3, 3)))
    assert error.value.parameter == "n_components"


def test_communities_beyond_the_rank_are_fitted():
    graph = planted.mixed_membership_graph(300, 2, alpha0=0, degree=20, snr=4, random_state=1)
    with pytest.warns(EvidenceWarning):
        model = MixedMembershipBlockModel(12).fit(graph.adjacency)
    assert np.isfinite(model.memberships_).all()
    assert not model.evidence_.holds


def test_auto_looks_around_the_number_of_the_spectrum():
    graph = planted.mixed_membership_graph(500, 5, alpha0=0.1, degree=25, snr=4, random_state=3)
    model = MixedMembershipBlockModel("auto", n_splits=1).fit(graph.adjacency)
    assert model.n_components_ == 5
    assert model.candidates(graph.adjacency) == [2, 4, 5, 6, 7]


@pytest.mark.parametrize("spread", [False, True])
def test_auto_finds_one_community_where_there_is_none(spread):
    rng = np.random.default_rng(3)
    activity = 1 + rng.pareto(2.5, 150) if spread else np.ones(150)
    rates = np.minimum(0.08 * np.outer(activity, activity) / activity.mean() ** 2, 1)
    table = np.triu(rng.random((150, 150)) < rates, 1).astype(float)
    model = MixedMembershipBlockModel("auto", n_splits=1).fit(sparse.csr_array(table + table.T))
    assert [row["n_components"] for row in model.comparison_] == [1, 2, 3]
    assert model.n_components_ == 1


def test_graphs_of_other_packages(graph, model):
    found = nx.from_scipy_sparse_array(graph.adjacency)
    other = MixedMembershipBlockModel(5, n_splits=0).fit(nx.relabel_nodes(found, lambda i: f"n{i}"))
    assert other.names_[:2] == ["n0", "n1"]
    np.testing.assert_array_equal(other.memberships_, model.memberships_)
    upper = MixedMembershipBlockModel(5, n_splits=0).fit(sparse.triu(graph.adjacency))
    np.testing.assert_array_equal(upper.memberships_, model.memberships_)


def test_new_nodes(graph):
    rest = np.arange(1400)
    model = MixedMembershipBlockModel(5, n_splits=0).fit(graph.adjacency[rest][:, rest])
    new = graph.adjacency[1400:][:, rest]
    shares = model.transform(new)
    assert shares.shape == (100, 5)
    assert nmi(model.predict(new), graph.labels[1400:]) > 0.8
    assert np.isnan(model.transform(sparse.csr_array((1, 1400)))).all()
    with pytest.raises(LatentiaError, match="1400 columns"):
        model.transform(new[:, :5])
    with pytest.raises(LatentiaError, match="no directions"):
        model.transform(new, new)


def test_links_scores_and_samples(graph, model):
    inside = model.edge_probability(*np.nonzero(graph.adjacency[:50].toarray())).mean()
    assert inside > 2 * model.edge_probability(np.arange(50)[:, None], np.arange(50, 1500)).mean()
    assert 0.75 < model.score(graph.adjacency) < 1
    (drawn,) = model.sample(random_state=1)
    assert drawn.sum() == pytest.approx(graph.adjacency.sum(), rel=0.05)
    assert (drawn != drawn.T).nnz == 0
    again = MixedMembershipBlockModel(5, n_splits=0).fit(drawn)
    assert l1(again.memberships_, model.memberships_) < 0.2
    with pytest.raises(LatentiaError, match="from 0 to 1499"):
        model.edge_probability([0], [1500])


@pytest.mark.parametrize("statistic", ["memberships", "averages"])
def test_support(statistic):
    graph = planted.mixed_membership_graph(3000, 4, alpha0=0.3, degree=150, snr=9, random_state=4)
    model = MixedMembershipBlockModel(4, n_splits=0).fit(graph.adjacency)
    cost = -(model.memberships_.T @ graph.memberships)
    order = linear_sum_assignment(cost)[1]
    found, true = model.support(0.4, statistic), graph.memberships[:, order]
    assert found[true >= 0.4].mean() > 0.99
    assert found[true <= 0.2].mean() < 0.02


def test_the_tensor_does_not_hang_on_the_seed(graph):
    found = [MixedMembershipBlockModel(5, n_splits=0, random_state=seed).fit(graph.adjacency) for seed in (0, 1)]
    assert l1(*(one.memberships_ for one in found)) < 0.005


def test_one_community_is_never_supported():
    drawn = planted.mixed_membership_graph(400, 3, alpha0=0, degree=20, snr=2, random_state=2)
    evidence = MixedMembershipBlockModel(1).fit(drawn.adjacency).evidence_
    assert evidence.grade == "not supported"
    check = next(check for check in evidence.checks if check.name == "better than degrees alone")
    assert check.measured == 0
