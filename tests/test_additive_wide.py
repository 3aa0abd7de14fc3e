"""Wide tables are added up in a frame of the first rows, and the evidence says what lies outside of it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import sparse

import latentia
from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture
from latentia.moments import WideSums
from latentia.passes import Blocks, assign_folds_by_content

PIECES, OUTSIDE = 5, "new rows outside of the frame"
pytestmark = pytest.mark.filterwarnings("ignore")


@cache
def clouds(k: int = 3):
    """Batches of a mixture of k components in 70 columns; the means of fewer are among those of more."""
    means = planted.gaussian_mixture(10, n_components=4, n_features=70, separation=8).means
    draws = np.random.default_rng(k)
    X = means[draws.integers(k, size=300 * PIECES)] + draws.normal(size=(300 * PIECES, 70))
    return np.array_split(X, PIECES)


@cache
def signals(k: int = 3):
    mixing = planted.independent_sources(10, 4, 70).mixing[:, :k]
    draws = np.random.default_rng(k)
    X = draws.laplace(size=(300 * PIECES, k)) @ mixing.T + 0.3 * draws.normal(size=(300 * PIECES, 70))
    return np.array_split(X + 50, PIECES)


CASES = {"mixture": (SphericalGaussianMixture, clouds, "means_"), "sources": (TensorICA, signals, "components_")}
each = pytest.mark.parametrize(("cls", "batches", "name"), CASES.values(), ids=CASES)


def added(cls, batches, **options):
    model = cls(3, n_splits=1, **options)
    for batch in batches:
        model.partial_fit(batch)
    return model


def assert_same(one, other, name):
    first, second = getattr(one, name), getattr(other, name)
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-9 * np.abs(second).max())
    np.testing.assert_allclose(one.evidence_.component_errors, other.evidence_.component_errors, rtol=1e-6)
    assert one.evidence_[OUTSIDE].measured == pytest.approx(other.evidence_[OUTSIDE].measured, abs=1e-9)
    assert one.evidence_[OUTSIDE].meaning == other.evidence_[OUTSIDE].meaning


@each
def test_after_the_first_batch_any_order_is_the_same(cls, batches, name, tmp_path):
    first, *others = batches()
    whole = added(cls, [first, np.concatenate(others)])
    begun = latentia.save(added(cls, [first]), tmp_path / "begun")
    one, other = latentia.load(begun), latentia.load(begun)
    other.set_params(n_jobs=2)
    one.partial_fit(others[3]).partial_fit(others[0])
    other.partial_fit(Blocks.from_array(np.concatenate([others[2], others[1]]), block_rows=70))
    merged = latentia.merge([other, one])
    assert merged.forget(first).n_left == whole.moments_.n_rows  # it was there twice
    assert_same(merged, whole, name)
    times = np.arange(len(first)) % 3
    merged.partial_fit(others[0], sample_weight=times)
    merged.forget(others[0], sample_weight=times)
    again = latentia.load(latentia.save(merged, tmp_path / "merged"))
    again.forget(first)
    assert again.moments_.frame.is_that_of(merged.moments_.frame)
    assert not len(again.moments_.members)
    assert OUTSIDE not in [check.name for check in again.evidence_.checks]  # there is nothing to compare with
    again.partial_fit(first)
    np.testing.assert_allclose(
        getattr(again, name), getattr(whole, name), atol=1e-9 * np.abs(getattr(whole, name)).max()
    )


@each
@pytest.mark.parametrize("size", [10, 1e3, 1e6])
def test_rows_far_out_are_forgotten_without_a_trace(cls, batches, name, size):
    first, second, *_ = batches()
    whole, model = (cls(3, n_splits=1).partial_fit(first).partial_fit(second) for _ in range(2))
    far = second[:4].copy()
    far[:, ::2] += size * second.std(axis=0)[::2] * [[1], [-1], [1], [1]]
    far[:, 0] = second[:4, 0] - 3 * size * second[:, 0].std()
    model.partial_fit(far).forget(far)
    assert_same(model, whole, name)
    np.testing.assert_allclose(model.moments_.columns.variance, whole.moments_.columns.variance, rtol=1e-9)
    np.testing.assert_allclose(model.moments_.products, whole.moments_.products, atol=1e-9 * len(second))


@each
def test_errors_are_those_of_one_fit(cls, batches, name):
    one, other = added(cls, batches()), cls(3, refine=0).fit(np.concatenate(batches()))
    scale = np.abs(getattr(other, name)).max()
    assert other._distances(one).mean() < 0.2 * other.evidence_.expected_error
    assert np.abs(one.mean_ - other.mean_).max() < 1e-9 * scale if cls is TensorICA else True
    kept = cls(3, n_splits=1, keep_moments=True).fit(batches()[0])
    assert OUTSIDE not in [check.name for check in kept.evidence_.checks]
    assert_same(kept.partial_fit(np.concatenate(batches()[1:])), one, name)


@each
def test_a_new_component_is_outside_of_the_frame(cls, batches, name):
    model = added(cls, batches())
    assert model.evidence_[OUTSIDE].holds
    for batch in batches(4)[:2]:
        model.partial_fit(batch)
    check = model.evidence_[OUTSIDE]
    assert check.measured > 1.5 * check.bound.limit
    assert model.evidence_.grade != "supported"
    assert OUTSIDE in str(model.evidence_)
    for batch in batches(4)[:2]:
        model.forget(batch)
    assert model.evidence_[OUTSIDE].holds


def test_over_dask():
    dask = pytest.importorskip("dask.array")
    first, *others = clouds()
    tables = [dask.from_array(table, chunks=(80, 70)) for table in (first, np.concatenate(others))]
    assert_same(added(SphericalGaussianMixture, tables), added(SphericalGaussianMixture, clouds()), "means_")


@pytest.mark.parametrize("noise", [None, "gaussian"])
def test_mixing_is_of_all_columns(noise):
    data = planted.independent_sources(4000, 3, 70, noise=0.0 if noise is None else 0.1)
    model = TensorICA(3, noise=noise, n_splits=1)
    for batch in np.array_split(data.X, 8):
        model.partial_fit(batch)
    one = TensorICA(3, noise=noise, refine=0).fit(data.X)
    scale = np.abs(one.mixing_).max()
    np.testing.assert_allclose(model.mixing_, one.mixing_, atol=(1e-6 if noise is None else 0.02) * scale)
    np.testing.assert_allclose(model.components_ @ model.mixing_, np.eye(3), atol=1e-9)
    assert model.evidence_[OUTSIDE].holds


def test_rows_are_added_without_learning(monkeypatch):
    monkeypatch.setattr(SphericalGaussianMixture, "_fit_sums", None)
    model = added(SphericalGaussianMixture, clouds())
    assert model.moments_.n_rows == 300 * PIECES


@pytest.mark.parametrize("width", [70, 700])
def test_sums_of_wide_tables_are_those_of_rows(width):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((400, width)) < 0.3, rng.gamma(2.0, size=(400, width)), 0.0)
    both = []
    for table in (X, sparse.csr_array(X)):
        total = None
        for rows in (slice(0, 150), slice(150, 260), slice(260, 400)):
            part = Blocks.from_array(table[rows])
            sums = WideSums.from_blocks(part, 3, assign_folds_by_content(part), 6, total)
            total = sums if total is None else total.plus(sums)
        both.append(total)
    dense, thin = both
    np.testing.assert_allclose(dense.columns.mean, X.mean(axis=0))
    np.testing.assert_allclose(dense.columns.variance, X.var(axis=0))
    np.testing.assert_allclose(np.abs(np.linalg.svd(thin.frame.basis.T @ dense.frame.basis)[1]), 1)
    # The share that coordinates do not tell, by least squares on the rows themselves.
    later, frame = X[150:], dense.frame
    y = np.column_stack([(later - frame.center) @ frame.basis, np.ones(len(later))])
    left = later - y @ np.linalg.lstsq(y, later, None)[0]
    left = left if width == 70 else left @ frame.buckets
    every = (
        (later - later.mean(axis=0))
        if width == 70
        else np.hstack(
            [
                (later - later.mean(axis=0) - (y - y.mean(axis=0))[:, :-1] @ frame.basis.T) @ frame.buckets,
                y - y.mean(axis=0),
            ]
        )
    )
    n = len(later)
    expected = (left**2).sum() / (n - 7) / ((every**2).sum() / (n - 1))
    assert dense.outside().shares[1] == pytest.approx(expected)
    assert thin.outside().shares[1] == pytest.approx(expected, rel=1e-6)
    assert dense.outside().n_rows == n


def test_what_cannot_be_kept_in_a_frame():
    first, second = clouds()[:2]
    with pytest.raises(LatentiaError, match="in different frames"):
        latentia.merge([added(SphericalGaussianMixture, [batch]) for batch in (first, second)])
    with pytest.raises(LatentiaError, match="expected at least 60 different rows"):
        added(SphericalGaussianMixture, [first[:20]])
    with pytest.raises(LatentiaError, match="Ask for 8 components fewer"):
        SphericalGaussianMixture(60).partial_fit(first)
    for model in (TensorICA(), SphericalGaussianMixture("auto")):
        with pytest.raises(LatentiaError, match="at most 64"):
            model.partial_fit(first)
    model = added(SphericalGaussianMixture, [first]).set_params(n_components=9)
    with pytest.raises(LatentiaError, match="begin anew"):
        model.partial_fit(second).means_  # noqa: B018
