"""Approximate factorization: the certificate bounds the error, and is one where nothing better exists."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import NMF

from latentia.exceptions import LatentiaError
from latentia.nmf import ApproximateNMF, SeparableNMF
from latentia.nmf._span import reduce_negative_parts


def table(r, noise, seed=0, n=60, d=40):
    rng = np.random.default_rng(seed)
    M = rng.random((n, r)) @ rng.random((r, d))
    return np.maximum(M + noise * M.mean() * rng.standard_normal(M.shape), 0)


@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_the_error_is_at_least_the_bound_and_hardly_more(r):
    M = table(r, 0.1)
    model = ApproximateNMF(r).fit(M)
    sizes = np.linalg.svd(M, compute_uv=False)
    np.testing.assert_allclose(model.lower_bound_, np.linalg.norm(sizes[r:]))
    assert 1 <= model.certificate_ < 1.01
    np.testing.assert_allclose(
        model.reconstruction_err_, np.linalg.norm(M - model.inverse_transform(model.transform(M))), rtol=1e-6
    )
    np.testing.assert_allclose(model.certificate_, model.reconstruction_err_ / model.lower_bound_)


@pytest.mark.parametrize("seed", range(3))
def test_no_worse_than_the_best_of_other_learners(seed):
    M = table(3, 0.3, seed)
    best = min(
        NMF(3, init="random", random_state=i, max_iter=3000, tol=1e-7).fit(M).reconstruction_err_ for i in range(5)
    )
    assert ApproximateNMF(3, n_splits=0).fit(M).reconstruction_err_ <= best * 1.0005


def test_exact_factorizations_have_no_error():
    model = ApproximateNMF(3, n_splits=0).fit(table(3, 0))
    assert model.relative_error_ < 1e-6
    assert model.certificate_ == 1


def test_more_starts_never_raise_the_error():
    M = table(4, 0.3)
    errors = [ApproximateNMF(4, n_init=n, n_splits=0).fit(M).reconstruction_err_ for n in (1, 12)]
    assert errors[1] <= errors[0] * (1 + 1e-6)


def test_search_in_the_span_ends_where_signs_are_right():
    rng = np.random.default_rng(0)
    A, W = rng.random((30, 3)) * (rng.random((30, 3)) < 0.6), rng.random((3, 20)) * (rng.random((3, 20)) < 0.6)
    turn = rng.standard_normal((3, 3))
    left, right = A @ turn, np.linalg.solve(turn, W)
    found = reduce_negative_parts(left, right, np.linalg.inv(turn) + 0.3 * rng.standard_normal((3, 3)))
    scale = np.abs(found @ right).max(axis=1, keepdims=True)
    assert ((found @ right) / scale).min() > -1e-4
    assert (left @ np.linalg.inv(found) * scale.T).min() > -1e-3


def test_the_net_is_out_of_reach():
    model = ApproximateNMF(2, n_splits=0).fit(table(2, 0.1))
    assert 1e6 < model.net_size(0.1) < 1e8
    assert model.net_size(0.01) > model.net_size(0.1)
    with pytest.raises(LatentiaError, match="below 1"):
        model.net_size(2)


def test_tables_that_cannot_be_factorized():
    with pytest.raises(LatentiaError, match="Negative values"):
        ApproximateNMF(2).fit(table(2, 0.1) - 1)
    with pytest.raises(LatentiaError, match="zero"):
        ApproximateNMF(2).fit(np.zeros((5, 4)))
    with pytest.raises(LatentiaError, match="at most 2"):
        ApproximateNMF(3).fit(table(2, 0))


def test_answers_that_are_not_unique_are_not_trusted():
    rng = np.random.default_rng(0)
    M = (5 + rng.random((80, 3))) @ (5 + rng.random((3, 40)))
    assert not ApproximateNMF(3).fit(M).evidence_.holds


@pytest.mark.parametrize("estimator", [ApproximateNMF(2, n_splits=0), SeparableNMF(2, n_splits=0)])
@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_tables_of_tiny_numbers_have_a_finite_score_or_an_error(estimator):
    table = np.random.default_rng(0).random((60, 2)) @ np.random.default_rng(1).random((2, 10))
    model = estimator.fit(table * 1e-200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 0.99 < model.score(table * 1e-200) <= 1
        for rows in (table, table * 1e-305):
            with pytest.raises(LatentiaError, match="give both in the same units"):
                model.score(rows)
    with pytest.raises(LatentiaError, match="give the data in other units"):
        estimator.fit(table * 1e-310)


def test_parts_of_tables_with_large_means_are_structure():
    """Weights from four columns are noisier than the rows vary, so that they must be shrunk before they predict the others."""
    rng = np.random.default_rng(3)
    table = 10 + rng.standard_normal((400, 2)) @ rng.standard_normal((2, 8)) + rng.standard_normal((400, 8))
    assert ApproximateNMF(4).fit(table).evidence_["better than the mean row"].holds
    permuted = rng.permuted(table, axis=0)
    assert not ApproximateNMF(4).fit(permuted).evidence_["better than the mean row"].holds
