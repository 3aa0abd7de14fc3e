"""Noisy-or networks by the algorithm of the paper."""

import numpy as np
import pytest

from latentia import LatentiaError
from latentia.datasets import planted
from latentia.noisyor import ExactAbsences, NoisyOr
from latentia.papers.noisy_or import compute_pmi, learn_noisy_or, recover_weights


def median_error(truth, weights):
    """Return the median of the relative l2 errors of causes, each matched with the nearest."""
    distances = np.linalg.norm(truth[:, None] - weights, axis=2).min(axis=1)
    return np.median(distances / np.linalg.norm(truth, axis=1))


def exact_pmi(moments, partition):
    eyes = [np.eye(len(findings)) for findings in partition]
    return moments.logs().pmi, moments.contract(partition, eyes)


def test_weights_from_exact_moments():
    truth = planted.noisy_or_network(80, 10, active=0.5)
    partition = np.array_split(np.random.default_rng(0).permutation(80), 3)
    pairs, triples = exact_pmi(ExactAbsences(truth.weights, truth.priors), partition)
    weights = recover_weights(pairs, triples, partition, 10, 1 / 20)
    assert weights.shape == (10, 80)
    assert median_error(truth.weights, weights) <= 0.05


def test_pmi_of_rows_is_near_that_of_the_network():
    truth = planted.noisy_or_network(9, 2, leak=0.1)
    partition = np.array_split(np.arange(9), 3)
    pairs, triples = compute_pmi(truth.sample(400_000, 1).X, partition)
    exact = exact_pmi(ExactAbsences(truth.weights, truth.priors, truth.leak), partition)
    off_diagonal = ~np.eye(9, dtype=bool)
    np.testing.assert_allclose(pairs[off_diagonal], exact[0][off_diagonal], atol=0.01)
    np.testing.assert_allclose(triples, exact[1], atol=0.02)


def test_the_estimator_corrects_the_error_of_the_printed_algorithm():
    truth = planted.noisy_or_network(40, 6, active=0.5, leak=0.02, random_state=1)
    X = truth.sample(20_000, 0).X
    weights = learn_noisy_or(X, 6, truth.priors[0])
    assert median_error(truth.weights, weights) < 0.15
    model = NoisyOr(6, prior=truth.priors[0], refine=0, n_splits=0).fit(X)
    assert median_error(truth.weights, model.weights_) < median_error(truth.weights, weights)
    np.testing.assert_array_equal(weights, learn_noisy_or(X, 6, truth.priors[0]))


def test_one_cause():
    """Its tensor has one entry and is symmetric."""
    truth = planted.noisy_or_network(30, 1, active=0.1, leak=0.05)
    weights = learn_noisy_or(truth.sample(20_000).X, 1, truth.priors[0])
    assert median_error(truth.weights, weights) < 0.12


def test_more_causes_than_the_pairs_carry():
    X = planted.noisy_or_network(30, 2, active=0.5, leak=0.02).sample(5000).X
    with pytest.raises(LatentiaError, match=r"^n_components=10: Expected 10 causes; .* Ask for at most that many"):
        learn_noisy_or(X, 10, 0.2)
