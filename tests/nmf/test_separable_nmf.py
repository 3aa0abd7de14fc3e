"""Separable factorization: planted components come back, whatever method, kind of mixing and form of the data."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF

from latentia.datasets import planted
from latentia.exceptions import EvidenceWarning, LatentiaError
from latentia.metrics import match_components
from latentia.nmf import SeparableNMF

METHODS = ["auto", "spa", "farthest", "whitened", "spa-spa", "snpa", "robust-lp"]


def rows(**settings):
    data = planted.separable_rows(**{"n_rows": 150, "n_features": 25, "n_components": 4, "random_state": 5, **settings})
    return replace(data, X=np.maximum(data.X, 0))


def direction_errors(found, true):
    found, true = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (found, true))
    of_found, of_true = match_components(found, true)
    return np.linalg.norm(found[of_found] - true[of_true], axis=1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mixing", ["simplex", "cone"])
def test_every_method_finds_components_without_noise(method, mixing):
    data = rows(mixing=mixing)
    model = SeparableNMF(4, method=method, mixing=mixing, n_splits=1).fit(data.X)
    assert set(model.anchors_) == set(data.anchors.ravel())
    assert direction_errors(model.components_, data.components).max() < 1e-5
    assert model.relative_error_ < 1e-5


def test_linear_programs_with_noise():
    data = rows(n_rows=60, noise=0.001, purity=0.7)
    model = SeparableNMF(4, method="robust-lp", n_splits=1).fit(data.X)
    assert set(model.anchors_) == set(data.anchors.ravel())


@pytest.mark.parametrize(
    ("noise_kind", "noise", "condition"), [("middle", 0.2, None), ("middle", 0.2, 1000), ("gauss", 0.01, 1000)]
)
def test_the_best_search_is_taken(noise_kind, noise, condition):
    shares = []
    for seed in range(3):
        data = planted.separable_rows(
            mixtures="midpoints", noise_kind=noise_kind, noise=noise, condition=condition, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EvidenceWarning)
            model = SeparableNMF(20, mixing="simplex", n_splits=0).fit(data.X)
        shares.append(len(set(model.anchors_) & set(data.anchors.ravel())) / 20)
    assert np.mean(shares) >= 0.95


def test_the_kind_of_mixing_is_found():
    assert SeparableNMF(4, n_splits=0).fit(rows(noise=0.05, n_pure=4).X).mixing_kind_ == "simplex"
    assert SeparableNMF(4, n_splits=0).fit(rows(noise=0.02, n_pure=4, mixing="cone").X).mixing_kind_ == "cone"


@pytest.mark.parametrize("mixing", ["simplex", "cone"])
def test_weights(mixing):
    data = rows(mixing=mixing)
    model = SeparableNMF(4, mixing=mixing).fit(data.X)
    weights = model.transform(data.X)
    assert weights.min() >= 0
    if mixing == "simplex":
        np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(model.inverse_transform(weights), data.X, atol=1e-5)
    assert model.score(data.X) > 1 - 1e-9
    np.testing.assert_allclose(model.weights_.sum(), 1)
    np.testing.assert_allclose(
        model.reconstruction_err_,
        np.linalg.norm(data.X - weights @ model.components_),
        atol=1e-9 * np.linalg.norm(data.X),
    )


def test_means_of_pure_rows_have_less_noise_than_anchors():
    data = rows(n_rows=600, n_pure=40, noise=0.2)
    of_means, of_anchors = (
        direction_errors(SeparableNMF(4, pooled=pooled, n_splits=0).fit(data.X).components_, data.components).mean()
        for pooled in (True, False)
    )
    assert of_means < of_anchors / 2
    model = SeparableNMF(4, pooled=False, n_splits=0).fit(data.X)
    np.testing.assert_allclose(model.components_, data.X[model.anchors_])


def test_copies_of_rows_change_nothing():
    data = rows(noise=0.05, n_pure=3)
    once, twice = (SeparableNMF(4).fit(X) for X in (data.X, np.vstack([data.X, data.X])))
    np.testing.assert_allclose(once.components_, twice.components_)
    np.testing.assert_allclose(once.evidence_.component_errors, twice.evidence_.component_errors, rtol=1e-6)
    np.testing.assert_array_equal(once.anchors_, twice.anchors_)


def test_descent_comes_as_near_as_other_learners():
    data = rows(n_rows=300, noise=0.1, n_pure=0, concentration=1.0)
    X = np.abs(data.X)
    model = SeparableNMF(4, mixing="cone", refine="auto", n_splits=0).fit(X)
    plain = SeparableNMF(4, mixing="cone", n_splits=0).fit(X)
    peer = NMF(4, init="nndsvda", max_iter=1000, tol=1e-6).fit(X)
    assert model.reconstruction_err_ <= 1.01 * peer.reconstruction_err_
    assert model.reconstruction_err_ < plain.reconstruction_err_
    assert model.components_.min() >= 0
    assert (np.diff(model.refinement_) > -1e-6 * np.abs(model.refinement_[1:])).all()


def test_wide_sparse_rows():
    rng = np.random.default_rng(0)
    W = rng.exponential(size=(5, 3000)) * (rng.random((5, 3000)) < 0.05)
    A = np.vstack([np.eye(5), rng.dirichlet(np.full(5, 0.3), 300)])
    X = rng.poisson(20 * A @ W)
    of_sparse, of_dense = (SeparableNMF(5, n_splits=1).fit(table) for table in (sparse.csr_array(X), X))
    assert direction_errors(of_sparse.components_, W).mean() < 0.3
    np.testing.assert_allclose(of_sparse.components_, of_dense.components_, atol=1e-6)


def test_negative_entries_are_said():
    with pytest.warns(EvidenceWarning, match="entries are negative"):
        SeparableNMF(4).fit(rows().X - 0.1)


def test_components_that_are_too_many():
    with pytest.raises(LatentiaError, match="at most 1 components"):
        SeparableNMF(2).fit(np.ones((20, 5)))
    with pytest.raises(LatentiaError, match="at most"):
        SeparableNMF(8, method="spa").fit(rows().X)


def test_rows_of_zeros():
    X = np.vstack([rows(mixing="cone").X, np.zeros((3, 25))])
    weights = SeparableNMF(4, mixing="cone").fit(X).transform(X)
    assert np.isfinite(weights).all()
    assert (weights[-3:] == 0).all()
    with pytest.raises(LatentiaError, match="positive sum"):
        SeparableNMF(1, mixing="cone").fit(np.zeros((5, 3)))


def test_dark_rows_of_noise_are_no_components():
    data = rows(mixing="cone")
    dark = 1e-4 * np.random.default_rng(0).exponential(size=(20, 25)) ** 2  # each of a direction of its own
    model = SeparableNMF(4, mixing="cone", n_splits=0).fit(np.vstack([data.X, dark]))
    assert set(model.anchors_) == set(data.anchors.ravel())


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_pure_ones_are_not_trusted(seed):
    data = rows(n_rows=500, n_pure=0, concentration=5.0, noise=0.02, random_state=seed)
    assert SeparableNMF(4).fit(data.X).evidence_.grade != "supported"


def test_the_number_of_components_is_found():
    data = rows(n_rows=400, noise=0.05, n_pure=5)
    model = SeparableNMF(range(2, 7)).fit(data.X)
    assert model.n_components_ == 4
