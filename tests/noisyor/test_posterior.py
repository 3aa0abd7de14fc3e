import itertools

import numpy as np
import pytest
import sklearn

from latentia import LatentiaError, LatentiaWarning
from latentia.noisyor.inference import (
    ENUMERATION,
    QUICKSCORE,
    SAMPLING,
    Network,
    Posteriors,
    attributions,
    posterior,
    posteriors,
    sampling,
    subsets,
)
from latentia.noisyor.inference.network import InteriorNetwork, absorb_absent


def planted(m, n, seed, *, prior=0.1, leak=0.02, links=0.3):
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random((m, n)) < links, rng.uniform(0.2, 3, (m, n)), 0)
    return Network(weights, rng.uniform(0.3, 1.7, m) * prior, rng.uniform(0, 2, n) * leak)


def drawn(network, rows, seed):
    rng = np.random.default_rng(seed)
    causes = rng.random((rows, network.m)) < network.priors
    off = (1 - network.leak) * np.exp(-(causes.astype(float) @ network.weights))
    return causes, rng.random(off.shape) >= off


def by_hand(network, row, observed):
    """Posterior and likelihood by a sum over configurations and a product over findings."""
    total, joint = 0.0, np.zeros(network.m)
    for states in itertools.product([0, 1], repeat=network.m):
        p = 1.0
        for k, on in enumerate(states):
            p *= network.priors[k] if on else 1 - network.priors[k]
        for i in np.flatnonzero(observed):
            off = (1 - network.leak[i]) * np.exp(-sum(network.weights[k, i] for k in range(network.m) if states[k]))
            p *= 1 - off if row[i] else off
        total += p
        joint += p * np.array(states)
    return joint / total, np.log(total)


def row_by_row(network, X, observed):
    out = Posteriors(np.empty((len(X), network.m)), np.empty(len(X)), np.zeros(len(X), np.int8), np.empty(len(X)))
    posterior._fill_row_by_row(InteriorNetwork.from_network(network), X & observed, observed, out, 0, 1)
    return out


def parts(network, row):
    """Arguments of the private sums: priors given the absent findings, and the present findings."""
    model = InteriorNetwork.from_network(network)
    on, off, scale, found = absorb_absent(model.weights, model.on, model.off, model.hazard, row, np.ones_like(row))
    return on, off, np.ascontiguousarray(model.weights[:, found]), model.hazard[found], scale


def test_enumeration_is_the_double_sum():
    network = planted(6, 9, 0)
    _, X = drawn(network, 8, 1)
    observed = np.random.default_rng(2).random(X.shape) < 0.8
    found = posteriors(network, X, observed)
    assert (found.method == ENUMERATION).all()
    for r in range(len(X)):
        probabilities, log_likelihood = by_hand(network, X[r], observed[r])
        np.testing.assert_allclose(found.probabilities[r], probabilities, atol=1e-12)
        np.testing.assert_allclose(found.log_likelihood[r], log_likelihood, atol=1e-10)
    assert found.error.max() < 1e-13


def test_chunks_do_not_matter():
    network = planted(9, 30, 0)
    _, X = drawn(network, 100, 1)
    found = posteriors(network, X)
    with sklearn.config_context(working_memory=0.1):
        again = posteriors(network, X)
    np.testing.assert_allclose(again.probabilities, found.probabilities, atol=1e-13)
    np.testing.assert_allclose(again.log_likelihood, found.log_likelihood, atol=1e-11)


@pytest.mark.parametrize("leak", [0.02, 1e-7])
def test_sums_over_subsets(leak):
    network = planted(10, 14, 3, leak=leak)
    _, X = drawn(network, 60, 4)
    observed = np.random.default_rng(5).random(X.shape) < 0.9
    true, found = posteriors(network, X, observed), row_by_row(network, X, observed)
    assert (found.method == QUICKSCORE).all()
    errors = np.abs(found.probabilities - true.probabilities).max(axis=1)
    np.testing.assert_allclose(errors, 0, atol=1e-9)
    assert (errors <= found.error + true.error).all()
    np.testing.assert_allclose(found.log_likelihood, true.log_likelihood, atol=1e-8)


def test_quickscore_and_the_sum_without_subtractions():
    network = planted(8, 8, 6, prior=0.3, leak=0.1)
    _, X = drawn(network, 30, 7)
    true = posteriors(network, X)
    for r, row in enumerate(X):
        on, off, loads, hazard, scale = parts(network, row)
        for total, joint in (
            subsets._sum_alternating(on, off, np.exp(-loads.T), np.exp(-hazard))[:2],
            subsets._sum_without_subtractions(on, off, loads, hazard),
        ):
            np.testing.assert_allclose(joint / total, true.probabilities[r], atol=1e-10)
            np.testing.assert_allclose(scale + np.log(total), true.log_likelihood[r], atol=1e-10)


def test_rare_findings_lose_no_digits():
    # Fourteen findings of probability 1e-6 each: the alternating sum is below its own rounding errors.
    network = Network(np.eye(16, 14) * 2, np.full(16, 1e-6), np.full(14, 1e-9))
    found = posteriors(network, np.ones((1, 14)))
    link = -np.expm1(-2.0)
    expected = 1e-6 * (link + (1 - link) * 1e-9)
    expected /= expected + (1 - 1e-6) * 1e-9
    np.testing.assert_allclose(found.probabilities[0, :14], expected, rtol=1e-10)
    np.testing.assert_allclose(found.probabilities[0, 14:], 1e-6, rtol=1e-10)
    assert found.method[0] == QUICKSCORE
    assert found.error[0] < 1e-13


@pytest.mark.parametrize(("leak", "links"), [(0.02, 0.3), (1e-4, 0.15)])
def test_sampling_within_its_standard_error(leak, links):
    network = planted(12, 40, 8, leak=leak, links=links)
    _, X = drawn(network, 40, 9)
    X = X[X.any(axis=1)]
    true = posteriors(network, X)
    within, below = [], []
    for r, row in enumerate(X):
        on, off, loads, hazard, scale = parts(network, row)
        stream = sampling.start_stream(np.uint64(0), row, np.ones_like(row))
        probabilities, log_mass, error = sampling.sample(on, off, loads, hazard, stream)
        within.append(np.abs(probabilities - true.probabilities[r]).max() <= 4 * error)
        below.append(true.log_likelihood[r] - log_mass - scale)
        assert 0 < error < 0.02
        np.testing.assert_allclose(probabilities, true.probabilities[r], atol=0.05)
    assert np.mean(within) >= 0.9
    assert min(below) > -1e-9
    assert max(below) < 0.3


def test_many_causes_of_which_few_have_to_do_with_what_is_known():
    network = planted(70, 40, 3, prior=0.02, leak=0.05, links=0.08)
    present = np.arange(40)[None] < 12
    found = posteriors(network, present, present)
    assert found.method[0] == QUICKSCORE
    kept = np.exp(-network.weights[:, :12])
    total, joint, _ = subsets._sum_alternating(network.priors, 1 - network.priors, kept.T, 1 - network.leak[:12])
    np.testing.assert_allclose(found.probabilities[0], joint / total, atol=1e-9)
    np.testing.assert_allclose(found.log_likelihood[0], np.log(total), atol=1e-9)
    others = (kept == 1).all(axis=1)
    assert 10 < others.sum() < 60
    np.testing.assert_array_equal(found.probabilities[0, others], network.priors[others])
    # Sampled, where more are known.
    more = np.arange(40)[None] < 20
    sampled, whole = posteriors(network, more, more), posteriors(network, more)
    assert sampled.method[0] == SAMPLING
    assert sampled.log_likelihood[0] > whole.log_likelihood[0]
    assert (sampled.probabilities[0, ~network.weights[:, :20].any(axis=1)] < 0.04).all()


def test_rows_are_sampled_where_no_sum_is_short():
    network = planted(20, 60, 10, prior=0.15, links=0.4)
    _, X = drawn(network, 30, 11)
    many = X[X.sum(axis=1) > 16][:4]
    found = posteriors(network, many)
    assert (found.method == SAMPLING).all()
    assert np.isfinite(found.log_likelihood).all()
    # A row's draws depend on the row and the seed alone.
    again = posteriors(network, many[::-1])
    np.testing.assert_array_equal(again.probabilities[::-1], found.probabilities)
    other = posteriors(network, many, random_state=1)
    assert (other.probabilities != found.probabilities).any()
    np.testing.assert_allclose(other.probabilities, found.probabilities, atol=6 * (other.error + found.error).max())


def test_same_bits_for_any_number_of_threads():
    for m in (8, 20):
        network = planted(m, 40, 12, links=0.2)
        _, X = drawn(network, 24, 13)
        one, two = (posteriors(network, X, n_jobs=jobs) for jobs in (1, 2))
        for name in ("probabilities", "log_likelihood", "method", "error"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("m", [8, 18])
def test_unobserved_findings_are_summed_out(m):
    network = planted(m, 12, 14)
    _, X = drawn(network, 10, 15)
    observed = np.ones_like(X)
    observed[:, 3] = False
    without = Network(np.delete(network.weights, 3, 1), network.priors, np.delete(network.leak, 3))
    found, dropped = posteriors(network, X, observed), posteriors(without, np.delete(X, 3, 1))
    np.testing.assert_allclose(found.probabilities, dropped.probabilities, atol=1e-9)
    both = [posteriors(network, np.where(np.arange(12) == 3, on, X)).log_likelihood for on in (0, 1)]
    np.testing.assert_allclose(np.logaddexp(*both), found.log_likelihood, atol=1e-9)
    nothing = posteriors(network, X, np.zeros_like(X))
    np.testing.assert_allclose(nothing.probabilities, np.tile(network.priors, (10, 1)), rtol=1e-12)
    np.testing.assert_allclose(nothing.log_likelihood, 0, atol=1e-12)


@pytest.mark.parametrize("m", [6, 18])
def test_findings_that_nothing_explains(m):
    weights = np.zeros((m, 20))
    weights[0, :3] = 5
    network = Network(weights, np.full(m, 0.1), np.zeros(20))
    for present in (np.ones((1, 20)), np.arange(20)[None] > 4):
        found = posteriors(network, present)
        assert np.isfinite(found.probabilities).all()
        assert np.isfinite(found.log_likelihood).all()
        assert found.log_likelihood[0] < -300
        np.testing.assert_allclose(found.probabilities[0, 1:], 0.1, atol=1e-6)
        assert (found.probabilities[0, 0] > 0.99) == present[0, 0]


@pytest.mark.parametrize("m", [6, 18])
def test_sharp_posteriors(m):
    weights = np.zeros((m, 30))
    for k in range(m):
        weights[k, k % 6 * 5 : k % 6 * 5 + 5] = 40.0
    weights[6:] = 0
    network = Network(weights, np.full(m, 0.05), np.full(30, 1e-6))
    present = np.repeat(np.arange(6) % 2 == 0, 5)[None]
    found = posteriors(network, present)
    np.testing.assert_allclose(found.probabilities[0, :6], np.arange(6) % 2 == 0, atol=1e-12)
    assert found.probabilities.max() <= 1
    ends = Network(weights, np.where(np.arange(m) == 1, 0.0, np.where(np.arange(m) == 0, 1.0, 0.05)), np.full(30, 1.0))
    found = posteriors(ends, np.ones((1, 30)))
    np.testing.assert_allclose(found.probabilities[0, :3], [1, 0, 0.05], atol=1e-9)


@pytest.mark.parametrize("m", [10, 18])
def test_calibrated(m):
    network = planted(m, 14, 16, prior=0.2, links=0.25)
    causes, X = drawn(network, 1500, 17)
    p = posteriors(network, X).probabilities.ravel()
    on = causes.ravel()
    bins = np.minimum((p * 10).astype(int), 9)
    for b in range(10):
        here = bins == b
        error = np.sqrt((p[here] * (1 - p[here])).sum()) / here.sum()
        assert abs(on[here].mean() - p[here].mean()) < 4 * error


def test_evidence():
    network = planted(7, 10, 18)
    _, X = drawn(network, 5, 19)
    row = X[X.sum(axis=1).argmax()]
    observed = np.arange(10) != 4
    evidence = attributions(network, row, observed)
    assert evidence.shape == (7, 10)
    assert not evidence[:, 4].any()
    full = by_hand(network, row, observed)[0]
    for i in (0, 7):
        less = by_hand(network, row, observed & (np.arange(10) != i))[0]
        np.testing.assert_allclose(evidence[:, i], np.log(full / (1 - full)) - np.log(less / (1 - less)), atol=1e-9)
    alone = Network(np.array([[1.0]]), np.array([0.2]), np.array([0.1]))
    off = 0.9 * np.exp(-1)
    np.testing.assert_allclose(attributions(alone, [1]), [[np.log((1 - off) / 0.1)]], rtol=1e-12)
    np.testing.assert_allclose(attributions(alone, [0]), [[-1.0]], rtol=1e-12)


@pytest.mark.parametrize("seed", [8, 10, 12])
def test_attributions_of_sampled_rows(monkeypatch, seed):
    """Within a fraction of a nat of the exact one, also of causes whose probabilities are .99999."""
    network = planted(12, 40, seed, leak=0.02, links=0.3)
    _, X = drawn(network, 40, 9)
    row = X[X.sum(axis=1).argmax()]
    exact = attributions(network, row)
    for module in (subsets, posterior):
        for name in ("MAX_PRESENT", "MAX_COVERED"):
            monkeypatch.setattr(module, name, 0, raising=False)
    np.testing.assert_allclose(attributions(network, row), exact, atol=0.3)
    np.testing.assert_array_equal(attributions(network, row), attributions(network, row))


def test_what_cannot_be_used():
    network = planted(3, 4, 0)
    with pytest.raises(LatentiaError, match=r"present has shape \(2, 3\); expected rows of 4 findings"):
        posteriors(network, np.zeros((2, 3)))
    with pytest.raises(LatentiaError, match=r"present\[1, 2\] is .*2.0"):
        posteriors(network, [[0, 1, 0, 1], [0, 1, 2.0, 1]])
    with pytest.raises(LatentiaError, match="observed has shape"):
        posteriors(network, np.zeros((2, 4)), np.ones((1, 4)))
    with pytest.raises(LatentiaError, match="expected one row in each"):
        attributions(network, np.zeros((2, 4)))
    with pytest.raises(LatentiaError, match=r"weights\[0, 1\] is -1.0"):
        Network([[0, -1.0]], [0.1], [0.1, 0.1])
    with pytest.raises(LatentiaError, match=r"priors\[0\] is nan"):
        Network([[0, 1.0]], [np.nan], [0.1, 0.1])
    with pytest.raises(LatentiaError, match=r"leak has shape \(1,\)"):
        Network([[0, 1.0]], [0.1], [0.1])
    with pytest.raises(LatentiaError, match="weights has shape"):
        Network([0, 1.0], [0.1], [0.1])
    assert posteriors(network, np.zeros((0, 4))).probabilities.shape == (0, 3)


def test_minutes_are_announced(monkeypatch):
    network = planted(15, 40, 1)
    monkeypatch.setattr("latentia.noisyor.inference.posterior._MIN_WARNED_SECONDS", 0.1)
    with pytest.warns(LatentiaWarning, match=r"Posteriors of 15 causes take about 20 ms a row: .* for 10 rows"):
        posteriors(network, drawn(network, 10, 1)[1])
