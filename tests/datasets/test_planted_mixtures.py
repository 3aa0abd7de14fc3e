import numpy as np
import pytest
from scipy.spatial.distance import pdist

from latentia import LatentiaError
from latentia.datasets import planted


@pytest.mark.parametrize(
    "plant",
    [
        planted.gaussian_mixture,
        planted.product_mixture,
        lambda *sizes, **options: planted.product_mixture(*sizes, kind="gaussian", **options),
    ],
    ids=["gaussian", "bernoulli products", "gaussian products"],
)
def test_same_seed_same_data_and_the_truth_does_not_depend_on_the_sample_size(plant):
    a, b = plant(200, 3, 4, spread=3, random_state=1), plant(200, 3, 4, spread=3, random_state=1)
    assert (a.X == b.X).all()
    assert (a.labels == b.labels).all()
    longer, other = plant(300, 3, 4, spread=3, random_state=1), plant(200, 3, 4, spread=3, random_state=2)
    assert (a.means == longer.means).all()
    assert (a.weights == longer.weights).all()
    assert (a.means != other.means).any()
    assert a.labels.dtype == np.int64


def test_gaussian_mixture_follows_its_parameters():
    variance = np.array([0.5, 1.0, 4.0])
    data = planted.gaussian_mixture(30_000, 3, 6, spread=3, variance=variance)
    assert data.X.shape == (30_000, 6)
    assert (data.variance == variance).all()
    assert data.weights.sum() == pytest.approx(1)
    assert data.weights.max() / data.weights.min() == pytest.approx(3)
    np.testing.assert_allclose(np.bincount(data.labels) / 30_000, data.weights, atol=0.015)
    for k in range(3):
        rows = data.X[data.labels == k]
        np.testing.assert_allclose(rows.mean(axis=0), data.means[k], atol=0.12)
        np.testing.assert_allclose(np.cov(rows.T), variance[k] * np.eye(6), atol=0.08 * variance[k])


def test_separation_is_in_standard_deviations():
    data = planted.gaussian_mixture(10, 8, 20, separation=5, variance=4)
    assert np.sqrt(np.mean(pdist(data.means) ** 2)) == pytest.approx(5 * 2)
    data = planted.product_mixture(10, 4, 3, kind="gaussian", separation=5, variance=np.array([1.0, 4.0, 7.0]))
    assert np.sqrt(np.mean(pdist(data.means) ** 2)) == pytest.approx(5 * 2)
    assert planted.gaussian_mixture(10, 1, 3).means.shape == (1, 3)


def test_bernoulli_products_follow_their_parameters():
    data = planted.product_mixture(40_000, 3, 5, spread=2)
    assert set(np.unique(data.X)) == {0, 1}
    assert data.X.dtype == np.float64
    for k in range(3):
        rows = data.X[data.labels == k]
        np.testing.assert_allclose(rows.mean(axis=0), data.means[k], atol=0.03)
        np.testing.assert_allclose(np.cov(rows.T), np.diag(data.variances[k]), atol=0.02)


@pytest.mark.parametrize("contrast", [0.05, 0.6, 0.95, 1.0])
def test_contrast_is_twice_the_standard_deviation_of_the_probabilities(contrast):
    means = planted.product_mixture(10, 100, 300, contrast=contrast).means
    assert 2 * means.std() == pytest.approx(contrast, rel=0.02)
    assert means.mean() == pytest.approx(0.5, abs=0.01)


def test_gaussian_products_may_be_heteroscedastic():
    variance = np.array([[1.0, 2.0], [3.0, 0.5]])
    data = planted.product_mixture(20_000, 2, 2, kind="gaussian", variance=variance)
    assert (data.variances == variance).all()
    for k in range(2):
        np.testing.assert_allclose(data.X[data.labels == k].var(axis=0), variance[k], rtol=0.05)


def test_bad_parameters():
    with pytest.raises(LatentiaError, match="n_components=0"):
        planted.gaussian_mixture(10, 0)
    with pytest.raises(LatentiaError, match=r"shape \(2,\).*shape \(3,\)"):
        planted.gaussian_mixture(10, 3, 4, variance=np.ones(2))
    with pytest.raises(LatentiaError, match="entry -1"):
        planted.gaussian_mixture(10, 2, 4, variance=np.array([1.0, -1.0]))
    with pytest.raises(LatentiaError, match="spread=0.1"):
        planted.gaussian_mixture(10, 2, 4, spread=0.1)
    with pytest.raises(LatentiaError, match="contrast=0"):
        planted.product_mixture(10, contrast=0)
    with pytest.raises(LatentiaError, match="'bernoulli' or 'gaussian'"):
        planted.product_mixture(10, kind="poisson")
