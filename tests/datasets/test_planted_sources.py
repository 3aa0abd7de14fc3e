import numpy as np
import pytest
from scipy.stats import kurtosis, skew

from latentia import LatentiaError
from latentia.datasets import planted


def test_same_seed_same_sources_and_the_mixing_does_not_depend_on_the_sample_size():
    a, b = (planted.independent_sources(100, 3, distribution="mixed", noise=0.1, random_state=1) for _ in range(2))
    assert (a.X == b.X).all()
    assert (a.sources == b.sources).all()
    assert (a.mixing == planted.independent_sources(50, 3, random_state=1).mixing).all()
    assert (a.mixing != planted.independent_sources(50, 3, random_state=2).mixing).any()


@pytest.mark.parametrize(
    ("distribution", "skewness", "excess"),
    [("laplace", 0, 3), ("uniform", 0, -1.2), ("exponential", 2, 6), ("student", 0, None)],
)
def test_sources_are_standardised_and_of_the_named_distribution(distribution, skewness, excess):
    sources = planted.independent_sources(100_000, 3, distribution=distribution).sources
    np.testing.assert_allclose(sources.mean(axis=0), 0, atol=0.015)
    np.testing.assert_allclose(np.cov(sources.T), np.eye(3), atol=0.04)
    if excess is None:  # the fourth moment of five degrees of freedom has no finite variance
        assert (kurtosis(sources) > 1).all()
    else:
        np.testing.assert_allclose(skew(sources), skewness, atol=0.15)
        np.testing.assert_allclose(kurtosis(sources), excess, atol=0.8)


def test_mixed_sources_take_turns():
    sources = planted.independent_sources(50_000, 8, distribution="mixed").sources
    assert (np.abs(sources[:, [1, 5]]).max(axis=0) <= np.sqrt(3)).all()
    assert (sources[:, [3, 7]].min(axis=0) >= -1).all()


def test_mixing_and_noise():
    clean = planted.independent_sources(50, 4, 6)
    assert clean.mixing.shape == (6, 4)
    np.testing.assert_allclose(clean.X, clean.sources @ clean.mixing.T)
    noisy = planted.independent_sources(40_000, 4, 6, noise=0.5)
    noise = noisy.X - noisy.sources @ noisy.mixing.T
    np.testing.assert_allclose(np.cov(noise.T), 0.25 * np.eye(6), atol=0.01)


def test_condition_is_bounded():
    for seed in range(10):
        assert np.linalg.cond(planted.independent_sources(5, 6, max_condition=8, random_state=seed).mixing) <= 8


def test_bad_parameters():
    with pytest.raises(LatentiaError, match="only 3 features"):
        planted.independent_sources(10, 4, 3)
    with pytest.raises(LatentiaError, match="'laplace', .* or 'mixed'"):
        planted.independent_sources(10, distribution="gaussian")
    with pytest.raises(LatentiaError, match="noise=-1"):
        planted.independent_sources(10, noise=-1)
    with pytest.raises(LatentiaError, match="a covariance of shape"):
        planted.independent_sources(10, 3, noise=np.eye(2))
    with pytest.raises(LatentiaError, match="eigenvalue -1"):
        planted.independent_sources(10, 2, noise=np.diag([1.0, -1.0]))
    with pytest.raises(LatentiaError, match="max_condition=0.5; raise it"):
        planted.independent_sources(10, 3, max_condition=0.5)


def test_noise_has_the_covariance_that_is_given():
    root = np.random.default_rng(0).standard_normal((4, 4))
    data = planted.independent_sources(40_000, 4, noise=root @ root.T)
    left = data.X - data.sources @ data.mixing.T
    np.testing.assert_allclose(left.T @ left / len(left), root @ root.T, atol=0.25)
