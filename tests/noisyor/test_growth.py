"""Starts of EM that do not use the moments: data that no noisy-or network has made."""

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.likelihood import normalised, over
from latentia.noisyor import NoisyOr
from latentia.noisyor._em import Configurations, NoisyOrUpdate, refine_network
from latentia.noisyor._growth import choose_start
from latentia.noisyor.inference import Network
from latentia.passes import Blocks

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")


def rows_of_exclusive_groups(n_rows=1500, seed=0):
    """Three questions with three answers each, which hang on one of four classes, as 0 and 1; and five more findings."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 4, n_rows)
    answers = [rng.dirichlet([0.6] * 3, 4)[classes].cumsum(axis=1) for _ in range(3)]
    chosen = [(rng.random((n_rows, 1)) < answer).argmax(axis=1) for answer in answers]
    groups = [np.eye(3)[one] for one in chosen]
    return np.column_stack([*groups, rng.random((n_rows, 5)) < rng.uniform(0.05, 0.6, (4, 5))[classes]]).astype(float)


def log_likelihood(network, X):
    configurations = Configurations.enumerate(NoisyOrUpdate.from_network(network))
    log_joint = configurations.log_joint(X, None)
    return normalised(log_joint, np.exp(configurations.log_prior))[1].mean()


def fitted_network(model):
    return Network(model.weights_, model.priors_, model.leak_)


def test_fits_are_as_likely_as_random_starts_and_as_fits_with_fewer_causes():
    X, before = rows_of_exclusive_groups(), -np.inf
    for m in (2, 3, 5, 6):
        found = log_likelihood(fitted_network(NoisyOr(m, n_splits=0).fit(X)), X)
        assert found >= before - 0.01
        before, likelihoods = found, []
        for seed in range(4):
            strengths = np.random.default_rng(seed).uniform(0, 0.95, (m, X.shape[1]))
            start = Network(-np.log1p(-strengths), np.full(m, 1 / m), X.mean(axis=0) / 2)
            refined = refine_network(start, over(Blocks.from_array(X), 1), "auto", max_weight=5.0)
            likelihoods.append(log_likelihood(refined.network, X))
        assert found >= max(likelihoods) - 0.02


def test_a_poor_start_gives_way_and_a_good_one_stays():
    truth = planted.noisy_or_network(20, 3, leak=0.02, random_state=4)
    X, network = truth.sample(3000, 1).X, Network(truth.weights, truth.priors, truth.leak)
    grown, is_grown = choose_start(Network(np.full((3, 20), 0.01), np.full(3, 0.5), X.mean(axis=0)), X[:2000], None)
    assert is_grown
    assert log_likelihood(grown, X) >= log_likelihood(network, X) - 0.03
    assert choose_start(network, X[:2000], None) == (network, False)


def test_a_given_prior_stays_in_starts_of_any_kind():
    model = NoisyOr(4, prior=0.3, n_splits=0).fit(rows_of_exclusive_groups())
    np.testing.assert_allclose(model.priors_, 0.3)


def test_unknown_findings_are_summed_out():
    X = rows_of_exclusive_groups(800)
    X[np.random.default_rng(3).random(X.shape) < 0.1] = np.nan
    model = NoisyOr(3, n_splits=0).fit(X)
    assert np.isfinite(model.weights_).all()
    assert model.score(X) > NoisyOr(1, n_splits=0).fit(X).score(X)
