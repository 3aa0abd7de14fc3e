import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from latentia.mixtures import SphericalGaussianMixture
from latentia.mixtures._shrunk import _STRENGTHS, Prior, _score_left_out

SHAPES = ("diag", "full", "tied")


def classes(n_rows, seed, common=0.0):
    """Four classes in ten columns, of so many rows, and 2,000 others: with covariances of their own, or one they vary."""
    rng = np.random.default_rng(seed)
    means, roots = 3 * rng.standard_normal((4, 10)), rng.standard_normal((4, 10, 10)) / 3 + np.eye(10)
    roots = common * roots[0] + (1 - common) * roots
    labels = np.repeat(np.arange(4), [n_rows] * 4), rng.integers(4, size=2000)
    return [means[one] + np.einsum("nij,nj->ni", roots[one], rng.standard_normal((len(one), 10))) for one in labels]


def test_rows_are_left_out_one_by_one():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((7, 3)) @ rng.standard_normal((3, 3))
    rows -= rows.mean(axis=0)
    brute, columns = np.zeros(len(_STRENGTHS)), np.zeros(len(_STRENGTHS))
    for i, row in enumerate(rows):
        others = np.delete(rows, i, axis=0)
        mean = others.mean(axis=0)
        scatter = (others - mean).T @ (others - mean)
        for g, nu in enumerate(_STRENGTHS):
            covariance = (scatter + nu * np.eye(3)) / (6 + nu)
            brute[g] += multivariate_normal(mean, covariance).logpdf(row)
            columns[g] += multivariate_normal(mean, np.diag(np.diag(covariance))).logpdf(row)
    constant = -0.5 * 7 * 3 * np.log(2 * np.pi)
    np.testing.assert_allclose(_score_left_out(rows, np.array([7]))[0] + constant, brute)
    np.testing.assert_allclose(_score_left_out(rows, np.array([7]), is_diagonal=True)[0] + constant, columns)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_held_out_are_as_likely_as_by_ten_starts(shape):
    X = StandardScaler().fit_transform(load_wine().data)[np.random.default_rng(0).permutation(178)]
    peer = GaussianMixture(3, covariance_type=shape, n_init=10, random_state=0).fit(X[:89])
    model = SphericalGaussianMixture(3, covariance_type=shape).fit(X[:89])
    assert model.score(X[89:]) > peer.score(X[89:])
    assert model.score(X[:89]) <= SphericalGaussianMixture(3, covariance_type=shape, shrink=False).fit(X[:89]).score(
        X[:89]
    )


def test_small_classes_share_more_than_large_ones():
    strengths, gains = [], []
    for n_rows, common in ((25, 0.9), (25, 0.0), (2000, 0.0)):
        X, held = classes(n_rows, 1, common)
        model = SphericalGaussianMixture(4, covariance_type="full", n_splits=0).fit(X)
        plain = SphericalGaussianMixture(4, covariance_type="full", shrink=False, n_splits=0).fit(X)
        strengths.append(model.prior_strength_ / n_rows)
        gains.append(model.score(held) - plain.score(held))
        assert plain.prior_strength_ == 0.0
    assert strengths[0] > strengths[1] > strengths[2]
    assert strengths[2] < 0.01
    assert gains[0] > gains[1] > 0.05
    assert abs(gains[2]) < 1e-3


@pytest.mark.parametrize("shape", SHAPES)
def test_em_climbs_the_penalized_likelihood(shape):
    X, _ = classes(30, 2)
    model = SphericalGaussianMixture(4, covariance_type=shape, n_splits=0).fit(X)
    assert (np.diff(model.refinement_) > -1e-3).all()
    assert model.refinement_[-1] <= model.score(X) * len(X) + 1e-6


def test_covariances_are_averages_with_the_shared_one():
    rng = np.random.default_rng(3)
    table, labels = rng.standard_normal((40, 3)), np.repeat([0, 1], 20)
    prior = Prior.from_labels(table, labels, "full", 0.0)
    scatters = np.array([20 * np.cov(table[labels == k].T, bias=True) for k in (0, 1)])
    shrunk = prior.shrink(scatters, np.array([20.0, 20.0]))
    np.testing.assert_allclose(shrunk, (scatters + prior.strength * prior.target) / (20 + prior.strength))
    assert prior.cost(np.linalg.inv(prior.target)[None], np.linalg.slogdet(prior.target)[1]) == pytest.approx(
        0, abs=1e-9
    )
    assert prior.cost(np.linalg.inv(shrunk), np.linalg.slogdet(shrunk)[1]) > 0


@pytest.mark.parametrize("shape", ["diag", "tied"])
def test_columns_that_depend_on_each_other_ask_for_full_covariances(shape):
    name, rng = "better than full covariances", np.random.default_rng(4)
    labels, means = rng.integers(3, size=900), 4 * rng.standard_normal((3, 5))
    noise = rng.standard_normal((900, 5))
    roots = rng.standard_normal((3, 5, 5)) / 2 + np.eye(5)
    right = noise * (rng.uniform(0.5, 2, (3, 5))[labels] if shape == "diag" else 1.0)
    for rows, holds in ((right, True), (np.einsum("nij,nj->ni", roots[labels], noise), False)):
        evidence = SphericalGaussianMixture(3, covariance_type=shape).fit(means[labels] + rows).evidence_
        assert evidence[name].holds is holds
    assert "covariance_type='full'" in evidence.advice
