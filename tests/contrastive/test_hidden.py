"""Moments of s1 that other estimators take, and gradients of any loss."""

from itertools import product

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy.spatial.distance import cdist

from latentia.contrastive import (
    ContrastiveGradient,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
    contrast_moments,
)
from latentia.exceptions import DroppedDataWarning, LatentiaError
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture
from latentia.topics import SpectralLDA

N = 50_000


def views(rng, s1, scale=1.0, gaussian=False):
    """Return U and V for rows of s1 and a shared part."""
    n, d = s1.shape
    draws = rng.standard_normal((n, d)) if gaussian else rng.exponential(size=(n, d)) - 1
    s2 = draws @ rng.standard_normal((d, d)) * scale
    linear_map = np.linalg.qr(rng.standard_normal((d + 1, d + 1)))[0][:, :d]
    return s1 + s2, s2 @ linear_map.T + rng.standard_normal((n, d + 1)) * scale


def test_sources_of_s1_come_from_its_fourth_cumulant():
    rng = np.random.default_rng(1)
    mixing = np.linalg.qr(rng.standard_normal((3, 3)))[0] * [1.0, 1.5, 2.0]
    U, V = views(rng, rng.laplace(size=(2 * N, 3)) @ mixing.T)
    model = TensorICA().fit_moments(contrast_moments(U, V, order=4))
    gains = (model.components_ @ mixing) ** 2
    crosstalk = np.sqrt(1 - gains.max(axis=1) / gains.sum(axis=1)).mean()
    naive = (TensorICA(refine=0).fit(U).components_ @ mixing) ** 2
    assert crosstalk < 3 * model.evidence_.expected_error < 0.1
    assert crosstalk < np.sqrt(1 - naive.max(axis=1) / naive.sum(axis=1)).mean() / 2


def test_clusters_of_s1_come_from_its_third_cumulant():
    rng = np.random.default_rng(2)
    means = rng.standard_normal((3, 4)) * 2
    s1 = means[rng.integers(0, 3, N)] + rng.standard_normal((N, 4))
    moments = contrast_moments(*views(rng, s1), mean=s1.mean(axis=0))
    model = SphericalGaussianMixture(3).fit_moments(moments)
    errors = cdist(means, model.means_).min(axis=1)
    assert errors.mean() < 0.2
    assert errors.mean() < 2 * model.evidence_.expected_error
    assert model.sample(5)[0].shape == (5, 4)


def test_topics_of_s1_come_from_its_third_cumulant():
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(8, 0.3), 3)
    s1 = rng.dirichlet(np.full(3, 0.4), N) @ topics
    moments = contrast_moments(*views(rng, s1, 0.03), mean=s1.mean(axis=0))
    model = SpectralLDA(3, alpha0=1.2).fit_moments(moments)
    errors = cdist(topics, model.components_, "cityblock").min(axis=1)
    assert errors.mean() < 0.1
    assert errors.mean() < 2 * model.evidence_.expected_error
    with pytest.raises(LatentiaError, match="Give alpha0"):
        SpectralLDA(3).fit_moments(moments)


def test_what_is_doubtful_about_the_moments_is_doubtful_about_the_model():
    rng = np.random.default_rng(4)
    s1 = rng.laplace(size=(5000, 3))
    moments = contrast_moments(*views(rng, s1, gaussian=True), order=4)
    assert moments.evidence.grade == "not supported"
    assert TensorICA().fit_moments(moments).evidence_.grade == "not supported"


def gradient_of_loss(width, pairs):
    """Return gradients E[s (link(s . b) - y)] for a link of powers: ``pairs`` maps a power to its coefficient."""

    def gradient(b):
        terms = {}
        for i, unit in enumerate(np.eye(width)):
            entries = [(((i, width)), -1.0)]
            for power, coefficient in pairs.items():
                entries += [
                    ((i, *js), coefficient * np.prod(b[list(js)])) for js in product(range(width), repeat=power)
                ]
            for columns, value in entries:
                monomial = tuple(np.bincount(columns, minlength=width + 1))
                terms[monomial] = terms.get(monomial, 0) + unit * value
        return terms

    return gradient


def test_gradients_agree_with_the_estimators_of_two_regressions():
    rng = np.random.default_rng(5)
    s1, weights = rng.uniform(-1.7, 1.7, (N, 2)), np.array([1.0, -0.5])
    U, V = views(rng, s1)
    y = s1 @ weights + 0.3 * rng.standard_normal(N)
    model = ContrastiveGradient(gradient_of_loss(2, {1: 1.0}), np.zeros(2), mean=np.zeros(3)).fit(U, V, y)
    other = ContrastiveRegression().fit(U, V, y)
    assert np.abs(model.parameters_ - other.coef_).max() < 3 * (model.errors_.max() + other.evidence_.expected_error)
    assert np.abs(model.parameters_ - weights).max() < 0.1
    labels = (rng.random(N) < 1 / (1 + np.exp(-s1 @ weights))).astype(float)
    polynomial = chebyshev.cheb2poly(chebyshev.chebinterpolate(lambda t: 1 / (1 + np.exp(-3 * t)), 3))
    link = gradient_of_loss(2, {0: polynomial[0], 1: polynomial[1] / 3, 3: polynomial[3] / 27})
    model = ContrastiveGradient(link, np.zeros(2), mean=np.array([0.0, 0.0, labels.mean()])).fit(U, V, labels)
    other = ContrastiveLogisticRegression().fit(U, V, labels)
    assert np.abs(model.parameters_ - other.coef_).max() < 3 * (model.errors_.max() + other.evidence_.expected_error)


def test_a_gradient_finds_the_direction_of_contrastive_pca():
    rng = np.random.default_rng(6)
    U, V = views(rng, rng.uniform(-1.7, 1.7, (N, 3)) * [2.0, 1.0, 0.5])

    def gradient(v):  # of |s - v v^T s|^2 / 2 on unit vectors
        terms = {}
        for i, j in product(range(3), repeat=2):
            square = np.outer(np.eye(3)[i], np.eye(3)[j])
            monomial = tuple(np.bincount([i, j], minlength=3))
            terms[monomial] = terms.get(monomial, 0) + v * (v @ square @ v) - square @ v
        return terms

    model = ContrastiveGradient(gradient, np.full(3, 0.5), mean=np.zeros(3)).fit(U, V)
    direction = ContrastivePCA(1).fit(U, V).components_[0]
    assert abs(model.parameters_ @ direction) > 0.999


def test_moments_and_gradients_that_do_not_fit_are_refused():
    rng = np.random.default_rng(7)
    U, V = views(rng, rng.laplace(size=(1000, 3)))
    with pytest.raises(LatentiaError, match=r"contrast_moments\(U, V, order=4\)"):
        TensorICA().fit_moments(contrast_moments(U, V, order=3))
    with pytest.raises(LatentiaError, match="expected 3 finite numbers"):
        contrast_moments(U, V, mean=[1.0])
    with pytest.warns(DroppedDataWarning), pytest.raises(LatentiaError, match="do not depend on each other"):
        contrast_moments(np.column_stack([U, U[:, 0]]), np.column_stack([V, V[:, :1] ** 2]))
    with pytest.raises(LatentiaError, match="expected 3 exponents"):
        ContrastiveGradient(lambda b: {(1, 1): b}, np.zeros(1)).fit(U, V)
    with pytest.raises(LatentiaError, match="has not converged"):
        ContrastiveGradient(lambda b: {(2, 0, 0): -b}, np.ones(1), max_iter=50).fit(U, V)
