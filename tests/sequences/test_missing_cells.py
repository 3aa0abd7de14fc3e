"""Chains of vectors of which single cells are missing."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

from latentia.exceptions import DroppedDataWarning, LatentiaError
from latentia.likelihood import MissingCells, single_gaussian
from latentia.sequences import SpectralHMM


def chain_of_vectors(seed, n=1500, d=4, shared=0.0):
    rng = np.random.default_rng([seed, 31])
    transmat, states = np.full((3, 3), 0.1) + 0.7 * np.eye(3), [0]
    for draw in rng.random(n - 1):
        states.append(int(np.searchsorted(transmat[states[-1]].cumsum(), draw)))
    means = 1.3 * rng.standard_normal((3, d))
    noise = rng.standard_normal((n, d)) + shared * rng.standard_normal((n, 1))
    X = means[states] + noise
    return X, np.where(rng.random(X.shape) < 0.1, np.nan, X), means


@pytest.mark.parametrize("covariance_type", ["diag", "full"])
def test_states_are_as_good_as_those_of_whole_steps_and_better_than_with_means(covariance_type):
    errors, expected = [], []
    for seed in range(4):
        X, gappy, means = chain_of_vectors(seed, shared=0.8 if covariance_type == "full" else 0.0)
        imputed = np.where(np.isnan(gappy), np.nanmean(gappy, axis=0), gappy)
        models = [
            SpectralHMM(3, covariance_type=covariance_type, n_splits=n_splits).fit(table)
            for table, n_splits in ((X, 0), (gappy, 1), (imputed, 0))
        ]
        errors.append([cdist(means / X.std(0), one.means_ / X.std(0)).min(axis=1).mean() for one in models])
        expected.append(models[1].evidence_.expected_error)
    whole, gappy, imputed = np.mean(errors, axis=0)
    assert gappy < 1.2 * whole
    assert gappy < 0.8 * imputed
    assert 0.5 < np.mean(expected) / gappy < 3


def test_moments_alone_are_unbiased_too():
    X, gappy, _ = chain_of_vectors(5, n=6000)
    whole, found = (SpectralHMM(3, refine=0, n_splits=0).fit(table) for table in (X, gappy))
    order = cdist(whole.means_, found.means_).argmin(axis=1)
    np.testing.assert_allclose(found.means_[order], whole.means_, atol=0.25)
    np.testing.assert_allclose(found.variances_[order], whole.variances_, rtol=0.4)


@pytest.mark.parametrize("covariance_type", ["diag", "full"])
def test_likelihood_is_that_of_the_cells_that_are_there(covariance_type):
    X, gappy, _ = chain_of_vectors(0, n=600)
    model = SpectralHMM(3, covariance_type=covariance_type, n_splits=0).fit(X)
    there = ~np.isnan(gappy[7:8, :])[0]
    covariances = model.covariances_ if covariance_type == "full" else map(np.diag, model.variances_)
    densities = [
        multivariate_normal(mean[there], covariance[np.ix_(there, there)]).pdf(gappy[7, there])
        for mean, covariance in zip(model.means_, covariances, strict=True)
    ]
    np.testing.assert_allclose(model.score(gappy[7:8]), np.log(model.startprob_ @ densities))
    state = None
    for step in gappy[:40]:
        state = model.filter_step(step, state)
    np.testing.assert_allclose(state, model.filter(gappy[:40])[-1])
    assert (
        np.diff(SpectralHMM(3, covariance_type=covariance_type, refine=15, n_splits=0).fit(gappy).refinement_) > -1e-6
    ).all()


def test_one_gaussian_of_some_cells_is_nearly_that_of_all():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3)) @ rng.standard_normal((3, 3)) + 5
    gappy = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    density, n_parameters = single_gaussian(gappy, 2000)
    assert n_parameters == 9
    gaps = np.isnan(gappy)
    truth = MissingCells(X.mean(axis=0)[None], np.cov(X.T)[None], gappy, gaps).log_density()[:, 0]
    assert abs(density.mean() - truth.mean()) < 0.01


def test_what_is_missing_is_counted_and_constant_columns_stay_out():
    X, gappy, _ = chain_of_vectors(1, n=800)
    plain = SpectralHMM(3, n_splits=0).fit(gappy)
    line = next(check for check in plain.evidence_.checks if check.name == "missing cells")
    assert line.measured == pytest.approx(np.isnan(gappy).mean())
    assert not any(check.name == "missing cells" for check in SpectralHMM(3, n_splits=0).fit(X).evidence_.checks)
    constant = np.where(np.arange(800)[:, None] % 7, 1.0, np.nan)
    with pytest.warns(DroppedDataWarning, match="constant"):
        wider = SpectralHMM(3, n_splits=0).fit(np.hstack([gappy, constant]))
    np.testing.assert_allclose(wider.means_[:, :4], plain.means_)
    pieces = SpectralHMM(3, n_splits=0).fit([gappy[:300], gappy[300:]])
    np.testing.assert_array_equal(pieces.means_, SpectralHMM(3, n_splits=0).fit(gappy, lengths=[300, 500]).means_)


def test_cells_that_are_missing_by_their_value_are_a_caution():
    X, gappy, _ = chain_of_vectors(1, n=1500)
    hidden = (np.random.default_rng(0).random(X.shape) < 0.7) & (X.mean(axis=0) + 1.5 * X.std(axis=0) < X)
    for table, holds in ((gappy, True), (np.where(hidden, np.nan, X), False)):
        assert SpectralHMM(3, n_splits=0).fit(table).evidence_["cells missing by value"].holds is holds


def test_columns_without_cells_and_cells_of_counts_are_refused():
    X, gappy, _ = chain_of_vectors(1, n=300)
    with pytest.raises(LatentiaError, match="column 2 has no values"):
        SpectralHMM(3).fit(np.where(np.arange(4) == 2, np.nan, X))
    counts = np.where(np.isnan(gappy), np.nan, np.abs(X).round())
    with pytest.raises(LatentiaError, match="NaN; expected a number"):
        SpectralHMM(3, kind="counts").fit(counts)
    with pytest.raises(LatentiaError, match="too few to split"):
        SpectralHMM(2).fit(X[:6])
