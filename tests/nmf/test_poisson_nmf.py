"""Nonnegative factors of counts: against multiplicative updates, planted components, and scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF

from latentia.exceptions import LatentiaError
from latentia.linalg import unit_rows
from latentia.moments.counts import as_counts
from latentia.nmf import PoissonNMF
from latentia.nmf._counts import Table, choose_start, compute_divergences, factorize, fit_weights, sweep_factor
from latentia.nmf._evidence import component_distances
from latentia.nmf._misfit import estimate_bias
from latentia.nmf.poisson_nmf import _simulate_counts


def planted(n=400, d=50, r=3, length=200, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.full(d, 0.1), r)
    A = length * rng.dirichlet(np.full(r, 0.2), n)
    return rng.poisson(A @ W).astype(float), A, W


def divergence(X, P):
    return float((np.where(X > 0, X * np.log(np.maximum(X, 1) / np.maximum(P, 1e-300)), 0.0) - X + P).sum())


def test_divergence_never_rises_and_is_as_computed_plainly():
    X, _, _ = planted(100, 30, 4)
    table = Table.from_matrix(sparse.csr_array(X))
    found = factorize(table, choose_start(table, 4, 0), 60, 0.0)
    assert (np.diff(found.divergence) <= 1e-9 * found.divergence[:-1]).all()
    np.testing.assert_allclose(found.divergence[-1], divergence(X, found.weights @ found.columns.T))


def test_weights_of_a_row_are_those_of_many_multiplicative_updates():
    X, _, W = planted(40, 30, 3)
    weights, logs = fit_weights(as_counts(X), W)
    slow = np.full((40, 3), 50.0)
    for _ in range(20_000):
        slow *= (X / np.maximum(slow @ W, 1e-300)) @ W.T / W.sum(axis=1)
    np.testing.assert_allclose(weights, slow, atol=1e-3)
    rows = compute_divergences(as_counts(X), logs, weights @ W.sum(axis=1))
    np.testing.assert_allclose(rows.sum(), divergence(X, slow @ W), rtol=1e-8)


def test_a_sweep_ends_at_the_minimum_of_one_component():
    rng = np.random.default_rng(0)
    X, h = rng.poisson(3.0, (20, 10)).astype(float), rng.random((10, 1))
    own = rng.random((20, 1))
    sweep_factor(as_counts(X), h, own, 50)
    np.testing.assert_allclose(own[:, 0], X.sum(axis=1) / h.sum())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planted_components_and_their_errors(seed):
    X, A, W = planted(seed=seed)
    model = PoissonNMF(3).fit(X)
    true = component_distances(model.components_, W, "cone")
    assert true.max() < 0.1
    assert 0.5 < model.evidence_.expected_error / true.mean() < 2
    assert model.evidence_.holds
    nearest = ((model.components_[:, None] - W) ** 2).sum(axis=2).argmin(axis=1)
    assert np.abs(model.transform(X) - A[:, nearest]).mean() < 0.1 * A.mean()


@pytest.mark.parametrize("seed", [1, 2])
def test_no_worse_than_scikit_learn(seed):
    X, _, _ = planted(200, 60, 5, seed=seed)
    peer = NMF(5, beta_loss="kullback-leibler", solver="mu", max_iter=2000, tol=1e-6).fit(X)
    model = PoissonNMF(5, n_splits=0, tol=1e-7).fit(sparse.csr_array(X))
    assert model.reconstruction_err_ <= 1.0005 * peer.reconstruction_err_
    P = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(np.sqrt(2 * divergence(X, P)), model.reconstruction_err_, rtol=1e-4)
    np.testing.assert_allclose(model.score(X), 1 - model.relative_error_**2, rtol=1e-4)


@pytest.mark.parametrize("length", [5, 500])
def test_counts_drawn_again_have_the_rates_of_the_fit(length):
    """RealAndSimulated component by component where they are few, entry by entry where they are many."""
    rng = np.random.default_rng(0)
    weights, components = np.tile(length * rng.dirichlet(np.ones(3)), (2000, 1)), rng.dirichlet(np.ones(20), 3)
    drawn = _simulate_counts(weights, components, rng).csr.toarray()
    np.testing.assert_allclose(drawn.mean(axis=0), weights[0] @ components, rtol=0.15, atol=0.03)
    np.testing.assert_allclose(drawn.var(axis=0), weights[0] @ components, rtol=0.25, atol=0.05)


def test_a_shift_that_all_draws_share_counts_and_scatter_does_not():
    rng = np.random.default_rng(0)
    components = unit_rows(rng.random((2, 400)))
    shift = np.array([[0.2], [0.0]]) * unit_rows(rng.standard_normal((1, 400)))
    draws = [components + shift + 0.002 * rng.standard_normal((2, 400)) for _ in range(6)]
    found = estimate_bias(components, draws)
    assert found[0] == pytest.approx(2.5 * 0.2, rel=0.1)
    assert found[1] < 0.05


def test_one_row_of_counts_holds_no_components():
    X = np.random.default_rng(0).poisson(5.0, (300, 20))
    assert PoissonNMF(3).fit(X).evidence_.grade == "not supported"


def test_empty_rows_and_columns_and_unseen_words():
    X, _, _ = planted(100, 30, 3)
    X[5], X[:, 7] = 0, 0
    model = PoissonNMF(3, n_splits=0).fit(X)
    assert not model.transform(X)[5].any()
    assert not model.components_[:, 7].any()
    new = X[:4].copy()
    new[:, 7] = 3
    np.testing.assert_allclose(model.transform(new), model.transform(X[:4]))
    assert np.isfinite(model.score(new))


def test_what_cannot_be_factored():
    X, _, _ = planted(60, 20, 2)
    with pytest.raises(LatentiaError, match="Negative values"):
        PoissonNMF(2).fit(X - 1)
    with pytest.raises(LatentiaError, match="All entries are zero"):
        PoissonNMF(2).fit(np.zeros((5, 4)))
    with pytest.raises(LatentiaError, match="supports at most 3"):
        PoissonNMF(5).fit(X[:, X.sum(axis=0) > 0][:, :3])
    with pytest.raises(LatentiaError, match="rank 1"):
        PoissonNMF(2).fit(np.outer(np.arange(1, 9), np.arange(1, 6)))


@pytest.mark.parametrize(("scatter", "says"), [("poisson", False), ("gamma", True), ("dropout", True)])
def test_counts_that_scatter_more_are_said(scatter, says):
    rng = np.random.default_rng(5)
    means = rng.gamma(0.7, size=(400, 3)) @ rng.dirichlet(np.full(40, 0.3), 3)
    means *= 2 / means.mean()
    counts = rng.poisson(means * rng.gamma(3, 1 / 3, means.shape) if scatter == "gamma" else means)
    if scatter == "dropout":
        counts[rng.random(counts.shape) < 0.3] = 0
    check = PoissonNMF(3).fit(counts).evidence_["dispersion of counts"]
    assert check.holds is not says
    assert check.role == "caution"
    assert says or 0.9 < check.measured < 1.1
