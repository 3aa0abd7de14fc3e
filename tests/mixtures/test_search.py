import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

import latentia
from latentia import LatentiaError
from latentia.clusters import label_starts, shares_of_labels
from latentia.exceptions import DroppedDataWarning
from latentia.likelihood.gaussian import full_gaussian_log_density
from latentia.mixtures import SphericalGaussianMixture
from latentia.mixtures._moves import _Clusters, propose_moves

SHAPES = ("spherical", "diag", "full", "tied")


@pytest.fixture(scope="module")
def wine():
    return StandardScaler().fit_transform(load_wine().data)


@pytest.fixture(scope="module")
def squares():
    """Fifteen clusters in a plane: more than there are columns, where k-means merges some."""
    rng = np.random.default_rng(1)
    means = 8.0 * np.array([(i, j) for i in range(5) for j in range(3)])
    labels = rng.integers(15, size=1500)
    return means, labels, means[labels] + rng.standard_normal((1500, 2))


def ten_starts(X, k, shape):
    return GaussianMixture(k, covariance_type=shape, n_init=10, random_state=0).fit(X).score(X)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("table", ["wine", "iris"])
def test_at_least_as_likely_as_ten_starts(wine, table, shape):
    X = wine if table == "wine" else load_iris().data
    model = SphericalGaussianMixture(3, covariance_type=shape, shrink=False, n_splits=0).fit(X)
    assert model.score(X) >= ten_starts(X, 3, shape) - 1e-3


def test_digits():
    X = PCA(20, random_state=0).fit_transform(load_digits().data)
    assert SphericalGaussianMixture(10, n_splits=0).fit(X).score(X) >= ten_starts(X, 10, "spherical")


def test_more_components_than_columns(squares):
    means, labels, X = squares
    model = SphericalGaussianMixture(15).fit(X)
    assert adjusted_rand_score(labels, model.predict(X)) > 0.95
    assert np.linalg.norm(model.means_[:, None] - means, axis=2).min(axis=1).max() < 0.5
    assert model.evidence_.expected_error < 0.5


@pytest.mark.parametrize("shape", ["spherical", "diag"])
def test_the_likelihood_of_a_cluster_is_that_of_a_gaussian(shape):
    rows = np.random.default_rng(4).standard_normal((50, 3)) * [1, 2, 5] + 7
    clusters = _Clusters.from_shares(rows, np.ones((1, 50)), shape)
    score = GaussianMixture(1, covariance_type=shape, reg_covar=0.0).fit(rows).score(rows)
    expected = 50 * (score + 1.5 * (np.log(2 * np.pi) + 1) + np.log(50))
    assert clusters.cluster_likelihood(50.0, clusters.scatters[0]) == pytest.approx(expected)
    assert clusters.cluster_likelihood(0.0, clusters.scatters[0]) == 0.0


def test_nothing_hangs_on_the_seed(squares):
    _, _, X = squares
    first, second = (SphericalGaussianMixture(15, random_state=seed, n_splits=0).fit(X) for seed in (0, 7))
    assert (first.means_ == second.means_).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_methods_are_those_of_scikit_learn(wine, shape, tmp_path):
    model = SphericalGaussianMixture(3, covariance_type=shape).fit(wine)
    peer = GaussianMixture(3, covariance_type=shape)
    peer.weights_, peer.means_, peer.covariances_ = model.weights_, model.means_, model.covariances_
    inverse = (lambda c: 1 / np.sqrt(c)) if shape in ("spherical", "diag") else (
        lambda c: np.linalg.cholesky(np.linalg.inv(c)).swapaxes(-1, -2).swapaxes(-1, -2)
    )  # fmt: skip
    peer.precisions_cholesky_ = inverse(model.covariances_)
    np.testing.assert_allclose(model.score_samples(wine), peer.score_samples(wine), rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(wine), peer.predict_proba(wine), atol=1e-6)
    assert model.bic(wine) == pytest.approx(peer.bic(wine))
    assert model.aic(wine) == pytest.approx(peer.aic(wine))
    assert (model.fit_predict(wine) == model.predict(wine)).all()
    assert (latentia.load(latentia.save(model, tmp_path / "m")).predict_proba(wine) == model.predict_proba(wine)).all()
    np.testing.assert_allclose(model.score_samples(sparse.csr_array(wine)), model.score_samples(wine))
    x, labels = model.sample(20_000)
    largest = x[labels == 0]
    covariance = model.covariances_ if shape == "tied" else model.covariances_[0]
    expected = covariance * np.ones(13) if np.ndim(covariance) < 2 else np.diag(covariance)
    np.testing.assert_allclose(largest.var(axis=0), expected, rtol=0.12)


def test_covariances_that_are_no_balls_are_found():
    rng = np.random.default_rng(3)
    means, labels = np.array([[0.0, 0, 0], [6, 0, 0], [0, 6, 6]]), rng.integers(3, size=6000)
    roots = np.array([np.diag([1, 3, 0.3]), np.diag([0.5, 0.5, 2]), [[1, 0, 0], [0.9, 0.3, 0], [0, 0, 1]]])
    X = means[labels] + np.einsum("nij,nj->ni", roots[labels], rng.standard_normal((6000, 3)))
    model = SphericalGaussianMixture(3, covariance_type="full").fit(X)
    true = roots @ roots.swapaxes(1, 2)
    nearest = np.linalg.norm(model.means_[:, None] - means, axis=2).argmin(axis=1)
    assert sorted(nearest) == [0, 1, 2]
    np.testing.assert_allclose(model.covariances_, true[nearest], atol=0.4)
    error = np.linalg.norm(model.means_ - means[nearest], axis=1).mean()
    assert error / 3 < model.evidence_.expected_error < 3 * error
    assert model.evidence_.holds


def test_components_without_rows_are_dropped():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((2, 3)) * 5, 20, axis=0) + 1e-3 * rng.standard_normal((40, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SphericalGaussianMixture(12).fit(X)
    assert (model.weights_ * 40 >= 1 - 1e-6).all()  # a component of one row has all of it but what EM rounds
    dropped = any(issubclass(one.category, DroppedDataWarning) for one in caught)
    assert dropped == (model.n_components_ < 12)
    assert model.n_components_ == len(model.means_)
    assert np.bincount(model.predict(X)).sum() == 40


def test_the_paper_s_method_starts_from_the_moments_alone(squares):
    _, _, X = squares
    model = SphericalGaussianMixture(2, method="hsu-kakade").fit(X)
    race = SphericalGaussianMixture(2).fit(X)
    assert race.score(X) >= model.score(X) - 1e-6
    with pytest.raises(LatentiaError, match="^method='kmeans'"):
        SphericalGaussianMixture(2, method="kmeans").fit(X)


def test_starts_have_all_components(squares):
    _, _, X = squares
    for labels in label_starts(X, 15).values():
        assert set(labels) <= set(range(15))
        assert np.bincount(labels, minlength=15).sum() == 1500
    same = np.repeat(X[:5], 10, axis=0)  # fewer different rows than centres
    for labels in label_starts(same, 7).values():
        assert len(set(labels)) >= 5


@pytest.mark.parametrize("shape", SHAPES)
def test_a_move_joins_what_was_cut_and_cuts_what_was_joined(shape):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 200)
    X = np.array([[0.0, 0], [12, 0], [0, 12]])[labels] + rng.standard_normal((600, 2))
    wrong = np.where(labels < 2, 0, 1)
    wrong[(labels == 2) & (X[:, 0] > 0)] = 2
    best = propose_moves(X - X.mean(axis=0), shares_of_labels(wrong, 3), shape, 12)[0]
    assert adjusted_rand_score(labels, best.argmax(axis=0)) > 0.95


def test_full_densities():
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(0)
    roots, means, X = rng.standard_normal((2, 4, 4)), rng.standard_normal((2, 4)), rng.standard_normal((30, 4))
    covariances = roots @ roots.swapaxes(1, 2) + np.eye(4)
    expected = np.column_stack([multivariate_normal(m, c).logpdf(X) for m, c in zip(means, covariances, strict=True)])
    np.testing.assert_allclose(full_gaussian_log_density(X, means, covariances), expected)


def test_names_of_columns_raise_no_warning_inside(wine):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(wine, columns=[f"c{i}" for i in range(wine.shape[1])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SphericalGaussianMixture(3).fit(X)
        model.predict(X)
        model.evidence_.stability(X)
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(wine)
