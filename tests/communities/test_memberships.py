"""Dirichlet posteriors of documents' shares, and edges drawn from block models."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import digamma, gammaln
from scipy.stats import dirichlet

from latentia.communities._memberships import dirichlet_fit, dirichlet_posteriors
from latentia.likelihood import draw_edges


def naive(counts, field, alpha, start, n_steps):
    """The fixed point of one document, and its bound."""
    gamma = alpha + counts.sum() * start
    for _ in range(n_steps):
        a = np.exp(digamma(gamma) - digamma(gamma.sum()))
        gamma = alpha + (counts[:, None] * a * field / (field @ a)[:, None]).sum(axis=0)
    log_a = digamma(gamma) - digamma(gamma.sum())
    bound = counts @ np.log(field @ np.exp(log_a))
    bound += gammaln(alpha.sum()) - gammaln(alpha).sum() + gammaln(gamma).sum() - gammaln(gamma.sum())
    return gamma, bound - ((gamma - alpha) * log_a).sum()


@pytest.fixture
def documents():
    rng = np.random.default_rng(1)
    field = rng.dirichlet(np.full(12, 0.5), 3).T
    shares = rng.dirichlet([0.6, 0.4, 0.5], 40)
    counts = np.array([rng.multinomial(30, w) for w in shares @ field.T])
    return sparse.csr_array(counts), field, np.array([0.6, 0.4, 0.5]), shares


def test_the_fixed_point_and_its_bound(documents):
    table, field, alpha, _ = documents
    start = np.full((40, 3), 1 / 3)
    found = dirichlet_posteriors(table, field, alpha, start)
    for i, counts in enumerate(table.toarray()):
        gamma, bound = naive(counts, field, alpha, start[i], 3)
        np.testing.assert_allclose(found.gamma[i], gamma, rtol=2e-4)
        assert found.evidence[i] == pytest.approx(bound, abs=2e-3)


def test_starts_race_by_evidence(documents):
    table, field, alpha, shares = documents
    alpha = alpha / 20
    stuck = np.eye(3)[np.random.default_rng(0).integers(0, 3, 40)]
    rough = shares + 0.05 * np.random.default_rng(2).standard_normal(shares.shape), np.full(40, 0.05), np.ones(3)
    alone, raced = (dirichlet_posteriors(table, field, alpha, stuck, one) for one in (None, rough))
    assert (raced.evidence >= alone.evidence - 0.5).all()
    assert raced.evidence.mean() > alone.evidence.mean() + 1
    assert np.abs(raced.shares - shares).sum(axis=1).mean() < np.abs(alone.shares - shares).sum(axis=1).mean()
    np.testing.assert_allclose(raced.shares.sum(axis=1), 1)


def test_the_same_bits_for_any_number_of_threads(documents):
    table, field, alpha, shares = documents
    table = sparse.vstack([table] * 2000, format="csr")
    start = np.tile(shares, (2000, 1))
    one, two = (dirichlet_posteriors(table, field, alpha, start, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.gamma, two.gamma)


def test_a_dirichlet_distribution_from_its_mean_logarithms():
    alpha = np.array([0.2, 1.5, 0.7])
    logs = np.log(dirichlet(alpha).rvs(20_000, random_state=1)).mean(axis=0)
    np.testing.assert_allclose(dirichlet_fit(logs, np.ones(3), n_steps=500), alpha, rtol=0.05)


@pytest.mark.parametrize("directed", [False, True])
def test_chances_of_edges(directed):
    rng = np.random.default_rng(3)
    memberships, activity = rng.dirichlet([0.5, 0.5], 12), np.exp(0.3 * rng.standard_normal(12))
    table = np.array([[0.5, 0.1], [0.3, 0.2]]) if directed else np.array([[0.5, 0.1], [0.1, 0.2]])
    graphs = [draw_edges(memberships, table, activity, directed=directed, rng=rng).toarray() for _ in range(4000)]
    rates = activity[:, None] * (memberships @ table @ memberships.T) * activity
    np.fill_diagonal(rates, 0)
    np.testing.assert_allclose(np.mean(graphs, axis=0), np.minimum(rates, 0.99), atol=0.035)
    assert directed or all((graph == graph.T).all() for graph in graphs[:20])
