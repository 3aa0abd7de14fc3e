import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import latentia
from latentia.mixtures import SphericalGaussianMixture
from latentia.passes import content_keys


@pytest.fixture(scope="module")
def parallel():
    """Two long parallel clusters, which balls cut across."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=500)
    return labels, np.column_stack([12 * rng.standard_normal(500), 5.0 * labels + rng.standard_normal(500)])


def test_the_shape_of_long_clusters_is_found_from_starts_of_its_own(parallel):
    labels, X = parallel
    model = SphericalGaussianMixture(2, covariance_type="auto").fit(X)
    assert model.covariance_type_ in ("diag", "tied", "full")
    agreement = (model.predict(X) == labels).mean()
    assert max(agreement, 1 - agreement) > 0.95
    line = next(check for check in model.evidence_.checks if check.name == "held-out log-likelihood")
    assert "spherical" in line.meaning
    balls = SphericalGaussianMixture(2).fit(X)
    assert balls.evidence_.grade == "not supported"
    assert "covariance_type='auto'" in balls.evidence_.advice


def test_numbers_and_shapes_are_compared_in_one_table_whatever_the_order_of_rows():
    X = StandardScaler().fit_transform(load_wine().data)
    answers = []
    for seed in (0, 1):
        order = np.random.default_rng(seed).permutation(len(X))
        model = SphericalGaussianMixture(range(2, 5), covariance_type="auto", n_splits=1).fit(X[order])
        held_out = [round(row["held out"], 6) for row in model.comparison_]
        answers.append((model.n_components_, model.covariance_type_, held_out))
    assert answers[0] == answers[1]
    assert {"n_components", "covariance", "held out"} <= set(model.comparison_[0])


def test_the_chosen_shape_is_that_of_the_fit_and_is_saved(parallel, tmp_path):
    _, X = parallel
    model = SphericalGaussianMixture(2, covariance_type="auto", n_splits=0).fit(X)
    plain = SphericalGaussianMixture(2, covariance_type=model.covariance_type_, n_splits=0).fit(X)
    np.testing.assert_array_equal(model.covariances_, plain.covariances_)
    latentia.save(model, tmp_path / "m.npz")
    again = latentia.load(tmp_path / "m.npz")
    assert again.covariance_type_ == model.covariance_type_
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
    assert again.bic(X) == plain.bic(X)


def test_auto_takes_balls_where_nothing_else_can_be_fitted():
    rng = np.random.default_rng(1)
    X = 6 * np.eye(4)[rng.integers(4, size=200)] + rng.standard_normal((200, 4))
    for options in ({"refine": 0}, {"keep_moments": True}, {"method": "hsu-kakade"}):
        assert SphericalGaussianMixture(3, covariance_type="auto", **options).fit(X).covariance_type_ == "spherical"


def test_shapes_of_rows_with_missing_cells(parallel):
    _, X = parallel
    gappy = np.column_stack([X, X[:, 1] + np.random.default_rng(2).standard_normal(len(X))])
    gappy[np.random.default_rng(3).random(gappy.shape) < 0.05] = np.nan
    gappy = gappy[~np.isnan(gappy).all(axis=1)]
    model = SphericalGaussianMixture(2, covariance_type="auto", n_splits=0).fit(gappy)
    assert model.covariance_type_ != "spherical"


def test_keys_of_content_do_not_hang_on_order_or_rounding():
    X = np.random.default_rng(0).standard_normal((50, 3))
    X[7] = X[3]
    keys, order = content_keys(X), np.random.default_rng(1).permutation(50)
    assert (content_keys(X[order]) == keys[order]).all()
    assert (content_keys(X * 3.7 + 11) == keys).mean() > 0.95
    assert keys[7] == keys[3]
    assert len(np.unique(keys)) == 49
