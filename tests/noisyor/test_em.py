"""EM of noisy-or networks: sums against brute force, links that the data supports, when it settles and when it is refused."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.likelihood import estimate_values, noisy_or_rows, over
from latentia.noisyor import NoisyOr
from latentia.noisyor._em import MIN_GAIN, NoisyOrSums, NoisyOrUpdate, refine_network
from latentia.noisyor._goodness import _draw_causes
from latentia.noisyor.inference import Network
from latentia.passes import Blocks, accumulate


@pytest.fixture(scope="module")
def truth():
    """12 causes of some 8 of 80 findings each."""
    return planted.noisy_or_network(80, 12, density=0.1, active=1.2, leak=0.01, random_state=3)


@pytest.fixture(scope="module")
def rows(truth):
    return truth.sample(5000, 4).X


@pytest.fixture(scope="module")
def model(rows):
    return NoisyOr(12, n_splits=0).fit(rows)


@pytest.fixture(scope="module")
def weak():
    """4 of 12 causes on at a time, all weak: nearly every configuration of them is likely; and rows."""
    truth = planted.noisy_or_network(
        60, 12, density=0.4, active=4, least_weight=0.05, largest_weight=0.3, leak=0.05, random_state=1
    )
    return truth, truth.sample(3000, 2).X


def small(seed=0):
    """An update of 4 causes and 7 findings, and rows."""
    rng = np.random.default_rng(seed)
    strengths = np.where(rng.random((4, 7)) < 0.6, rng.uniform(0.2, 0.8, (4, 7)), 0.0)
    update = NoisyOrUpdate(strengths, rng.uniform(0.01, 0.2, 7), rng.uniform(0.1, 0.4, 4), enumerate_all=True)
    return update, rng.random((50, 7)) < 0.3


def sums_of(update, X):
    return accumulate(Blocks.from_array(X), update)


def nearest(truth, network):
    """The cause of a network that is nearest to each true one."""
    return np.linalg.norm(truth.weights[:, None] - network.weights, axis=2).argmin(axis=1)


# --- sums of a step -------------------------------------------------------------------------------------------------


def test_sums_are_those_of_all_configurations():
    update, X = small()
    on, together, total = np.zeros(4), np.zeros((4, 7)), 0.0
    for row in X:
        joint = {}
        for causes in product([False, True], repeat=4):
            d = np.array(causes)
            absent = (1 - update.leak) * np.prod(np.where(d[:, None], 1 - update.strengths, 1.0), axis=0)
            prior = np.prod(np.where(d, update.priors, 1 - update.priors))
            joint[causes] = prior * np.prod(np.where(row, 1 - absent, absent))
        total += np.log(sum(joint.values()))
        posterior = sum(np.array(d) * p for d, p in joint.items()) / sum(joint.values())
        on += posterior
        together += np.outer(posterior, row)
    sums = sums_of(update, X)
    assert np.allclose(sums.on, on)
    assert np.allclose(sums.together, together)
    assert np.isclose(sums.log_likelihood, total)


def test_likely_configurations_leave_little_out():
    update, X = small(1)
    likely = NoisyOrUpdate(update.strengths, update.leak, update.priors, enumerate_all=False)
    everything, some = sums_of(update, X), sums_of(likely, X)
    linked = update.strengths > 0  # sums over likely configurations are of links alone
    every, own = ((one.on, one.together[linked], one.explained[:-1][linked]) for one in (everything, some))
    for one, other in zip(own, every, strict=True):
        assert np.allclose(one, other, rtol=1e-2, atol=1e-2 * len(X))
    assert np.allclose(some.explained[-1], everything.explained[-1], rtol=1e-2)
    assert everything.log_likelihood - 0.01 * len(X) < some.log_likelihood <= everything.log_likelihood + 1e-9
    assert some.n_crowded == 0


def test_slopes_are_gradients():
    update, X = small(2)

    def objective(at):
        sums = sums_of(at, X)
        return sums.log_likelihood + sum(one.log_prior() for one in at.expected(sums))

    expected = update.expected(sums_of(update, X))
    for which, one in enumerate(expected):
        here, slope = one.coordinates(), one.slope()
        for i in np.flatnonzero(slope)[:5]:
            apart = []
            for move in (1e-5, -1e-5):
                values = list(update.values)
                (values[which],) = one.move_to(here + move * np.eye(len(here))[i])
                apart.append(objective(update.move_to(*values)))
            assert np.isclose((apart[0] - apart[1]) / 2e-5, slope[i], rtol=1e-4, atol=1e-5)


# --- links ----------------------------------------------------------------------------------------------------------


def test_support_is_a_squared_excess_over_its_variance():
    # In 100 rows with the cause on: 3 of 10, 12 of 20 and none of 10 presences are its own.
    triggered, together = np.array([[3.0, 12.0, 0.0]]), np.array([[10.0, 20.0, 10.0]])
    strengths = triggered / 100
    update = NoisyOrUpdate(strengths, np.full(3, 0.1), np.array([0.1]))
    sums = NoisyOrSums(np.array([100.0]), np.full((2, 3), 100.0), together, np.zeros((2, 3)))
    assert (update.select_supported_links(sums) == [[False, True, False]]).all()
    kept = update.restrict_to_links(update.select_supported_links(sums))
    assert (kept.strengths == [[0.0, 0.12, 0.0]]).all()
    assert kept.n_parameters == 1 + 3 + 1


def test_links_that_are_not_there_are_left_out(truth, rows, model):
    weights = model.weights_[nearest(truth, model._network)]
    absent, strong = truth.weights == 0, truth.weights > 0.3
    assert (weights[absent] == 0).mean() > 0.85
    assert (weights[strong] > 0).mean() > 0.99
    plain = NoisyOr(12, refine=6, n_splits=0).fit(rows)
    others = plain.weights_[nearest(truth, plain._network)]
    assert (weights[absent] > 0).mean() < 0.5 * (others[absent] > 0).mean()
    assert np.abs(weights - truth.weights).mean() < np.abs(others - truth.weights).mean()


def test_strengths_and_posteriors_are_better_than_those_of_the_moments(truth, rows, model):
    fresh = truth.sample(300, 5)
    moments = NoisyOr(12, refine=0, n_splits=0).fit(rows)
    distances, losses = [], []
    for one in (model, moments):
        places = nearest(truth, one._network)
        distances.append(np.linalg.norm(one.strengths_[places] + np.expm1(-truth.weights), axis=1).mean())
        p = np.clip(one.predict_proba(fresh.X)[:, places], 1e-7, 1 - 1e-7)
        losses.append(-np.where(fresh.causes, np.log(p), np.log1p(-p)).mean())
    assert distances[0] < distances[1]
    assert losses[0] < losses[1]


@pytest.mark.parametrize("refine", [0, 2, "auto"])
def test_no_leak_is_zero(refine):
    # Ten findings are never present without a cause.
    truth = planted.noisy_or_network(40, 4, density=0.5, random_state=5)
    assert (truth.weights.max(axis=0) > 0).all()
    leak = np.where(np.arange(40) < 10, 0.0, 0.01)
    X, _ = noisy_or_rows(truth.weights, truth.priors, leak, 3000, np.random.default_rng(6))
    model = NoisyOr(4, refine=refine, n_splits=0).fit(X)
    assert (model.leak_ > 0).all()
    assert np.isfinite(model.posterior(np.eye(40)).log_likelihood).all()


# --- when it ends ---------------------------------------------------------------------------------------------------


def test_it_says_whether_it_has_settled(rows, model):
    checks = [NoisyOr(12, refine=refine, n_splits=0).fit(rows).evidence_["EM has converged"] for refine in (1, 2)]
    converged = model.evidence_["EM has converged"]
    assert [check.holds for check in (*checks, converged)] == [None, False, True]
    assert 0 <= converged.measured <= MIN_GAIN


def test_more_steps_gain_no_more_than_it_says(rows, model):
    rest = refine_network(model._network, over(Blocks.from_array(rows)), 10)
    n_parameters = np.count_nonzero(model.weights_) + 12 + 80
    assert 0 <= np.ptp(rest.refinement.log_likelihood) <= 5 * MIN_GAIN * n_parameters


def test_a_number_of_steps_is_that_many_of_plain_em():
    update, X = small(3)
    network = update.network
    for steps in (1, 3):
        by_hand = NoisyOrUpdate.from_network(network)
        for _ in range(steps):
            by_hand = by_hand.move_to(*estimate_values(by_hand, sums_of(by_hand, X)))
        found = refine_network(network, over(Blocks.from_array(X)), steps)
        assert found.n_steps == len(found.refinement.log_likelihood) == steps
        assert (found.network.weights == by_hand.network.weights).all()
        assert (found.remaining is None) == (steps == 1)


def test_it_is_refused_where_too_many_rows_are_crowded(weak):
    truth, X = weak
    network = Network(truth.weights, truth.priors, truth.leak)
    refined = partial(refine_network, network, over(Blocks.from_array(X[:200])), max_crowded=0.3, max_weight=5.0)
    refused = refined("auto")
    assert refused.refused
    assert refused.crowded > 0.3
    assert refused.n_steps == 0
    assert refused.network is network
    assert refined(2).n_steps == 2  # as asked


def test_the_evidence_says_that_it_was_refused(weak):
    X = weak[1]
    model = NoisyOr(12, n_splits=1).fit(X)
    moments = NoisyOr(12, n_splits=0, refine=0).fit(X)
    many = model.evidence_["rows with many explanations"]
    assert not many.holds
    assert "there is no EM" in many.meaning
    assert (model.weights_ == moments.weights_).all()
    assert len(model.refinement_) == 1
    assert model.n_passes_ == 2
    assert model.evidence_.component_errors is not None
    assert "EM has converged" not in [check.name for check in model.evidence_.checks]
    asked = NoisyOr(12, n_splits=0, refine=1).fit(X)
    assert asked.evidence_["rows with many explanations"].role == "veto"
    assert not asked.evidence_.holds


def test_expected_errors_are_near_the_true_ones():
    ratios = []
    for seed in range(4):
        truth = planted.noisy_or_network(40, 6, leak=0.02, spread=2, random_state=seed)
        model = NoisyOr(6).fit(truth.sample(3000, seed + 10).X)
        apart = np.linalg.norm(truth.weights - model.weights_[nearest(truth, model._network)], axis=1)
        true = (apart / np.linalg.norm(truth.weights, axis=1)).mean()
        ratios.append(np.log(model.evidence_.expected_error / true))
    assert np.abs(ratios).max() < np.log(2)
    assert abs(np.mean(ratios)) < np.log(1.3)


def test_causes_are_drawn_from_all_configurations_or_the_likely_ones():
    update, X = small(1)
    likely = NoisyOrUpdate(update.strengths, update.leak, update.priors, enumerate_all=False)
    uniform = np.tile((np.arange(400) + 0.5) / 400, (len(X), 1))
    for at, tolerance in ((update, 1 / 200), (likely, 0.01)):
        drawn, log_likelihood = _draw_causes(at, X, uniform)
        for row, one, causes in zip(X, log_likelihood, drawn.swapaxes(0, 1), strict=True):
            sums = sums_of(update, row[None])
            assert one == pytest.approx(sums.log_likelihood, abs=tolerance)
            np.testing.assert_allclose(causes.mean(axis=0), sums.on, atol=8 * tolerance)
