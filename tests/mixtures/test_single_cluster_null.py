"""Whether a mixture's components are more than parts of one cloud."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from latentia.datasets import planted
from latentia.mixtures import SphericalGaussianMixture
from latentia.mixtures._nulls import build_null_checks, simulate_null_gains
from latentia.mixtures._single_cluster_null import has_valley, simulate_cloud


def test_a_cloud_has_the_covariance_of_the_rows_and_no_clusters() -> None:
    rows = planted.gaussian_mixture(3000, n_components=2, n_features=3, separation=8).X
    cloud = simulate_cloud(rows, 0)
    np.testing.assert_allclose(cloud.mean(axis=0), rows.mean(axis=0), atol=0.3)
    np.testing.assert_allclose(np.cov(cloud.T), np.cov(rows.T), rtol=0.1, atol=0.3)
    assert np.array_equal(cloud, simulate_cloud(rows, 0))


def test_constant_and_dependent_columns_make_no_directions() -> None:
    one = np.random.default_rng(0).standard_normal(100)
    rows = np.column_stack([one, 2 * one, np.ones(100)])
    np.testing.assert_allclose(simulate_cloud(rows, 0)[:, 2], 1.0)


def test_rows_between_two_means_leave_a_valley_only_where_there_are_two_clusters() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 500)
    apart = rng.standard_normal(1000) + np.where(labels, 2.5, -2.5)
    cut = rng.uniform(-1, 1, 1000)
    assert has_valley(apart[:, None], np.array([[-2.5], [2.5]]), labels)
    assert not has_valley(cut[:, None], np.array([[-0.5], [0.5]]), (cut > 0).astype(int))


def test_a_gain_is_compared_with_those_of_nulls() -> None:
    nulls = [0.1, 0.12, 0.08, 0.11, 0.09, 0.1]
    (check,) = build_null_checks(0.5, nulls, "single clouds")
    assert check.role == "veto"
    assert check.holds
    assert not build_null_checks(0.12, nulls, "single clouds")[0].holds
    assert build_null_checks(0.5, nulls[:2], "single clouds") == []


@pytest.mark.parametrize(("gain", "n"), [(0.5, 4), (0.09, 4), (0.13, 10)])
def test_few_nulls_are_simulated_where_they_tell_clearly(gain: float, n: int) -> None:
    assert len(simulate_null_gains(gain, lambda number: 0.1 + 0.01 * (-1) ** number)) == n


def test_nulls_that_cannot_be_fitted_are_left_out() -> None:
    assert len(simulate_null_gains(0.13, lambda number: None if number % 2 else 0.1 + 0.001 * number)) == 5


@pytest.mark.parametrize("shape", ["spherical", "full"])
def test_single_clouds_are_denied_and_clusters_are_not(shape: str) -> None:
    rng = np.random.default_rng(410)
    tails = rng.standard_normal((600, 4)) / np.sqrt(rng.chisquare(3, (600, 1)) / 3)
    clouds = (tails, rng.uniform(-1, 1, (600, 4)), rng.standard_normal((600, 4)) @ rng.standard_normal((4, 4)))
    for cloud in clouds:
        evidence = SphericalGaussianMixture(3, covariance_type=shape).fit(cloud).evidence_
        assert evidence.grade == "not supported"
        assert evidence.statements[2].passed is False
    iris = SphericalGaussianMixture(3, covariance_type=shape).fit(load_iris().data).evidence_
    assert iris["better than single clouds"].holds
    assert iris.grade != "not supported"


def test_of_many_rows_the_standard_error_tells() -> None:
    rows = planted.gaussian_mixture(12_000, n_components=3, n_features=4, random_state=1).X
    evidence = SphericalGaussianMixture(3).fit(rows).evidence_
    assert "single clouds" not in str(evidence.checks)
    assert evidence["better than one component"].role == "veto"
    assert evidence.statements[2].passed


@pytest.mark.parametrize("shape", ["spherical", "full"])
def test_parts_of_a_cloud_are_not_found_again(shape: str) -> None:
    rng = np.random.default_rng(2)
    tails = rng.standard_normal((800, 3)) / np.sqrt(rng.chisquare(6, (800, 1)) / 6)
    for cloud in (tails, rng.uniform(-1, 1, (800, 3)) * [3, 1, 1]):
        found = SphericalGaussianMixture(2, covariance_type=shape).fit(cloud).evidence_.found_again
        assert found.max() < 0.75


def test_components_that_overlap_are_found_again() -> None:
    rows = planted.gaussian_mixture(1500, n_components=2, n_features=4, separation=3, random_state=1).X
    evidence = SphericalGaussianMixture(2).fit(rows).evidence_
    assert evidence.found_again.min() > 0.9


@pytest.mark.parametrize("shape", ["diag", "full"])
def test_few_rows_of_many_columns_are_not_denied(shape: str) -> None:
    wine = SphericalGaussianMixture(3, covariance_type=shape).fit(scale(load_wine().data)).evidence_
    assert wine.statements[2].passed
    assert wine.grade != "not supported"
