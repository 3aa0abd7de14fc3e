"""Shares of components in batches are measured with intervals, and news in each batch."""

from dataclasses import replace

import numpy as np
import pytest

import latentia
from latentia.comparing import measure_drift
from latentia.comparing.drift import estimate_shares
from latentia.datasets import planted
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics

MEANS = 3 * np.eye(3)


@pytest.fixture(scope="module")
def drift():
    """Drift of a mixture in two batches: one as in the fit, one with other shares, and a small one."""
    rng = np.random.default_rng(0)

    def draw(n, shares):
        return MEANS[rng.choice(3, n, p=shares)] + rng.standard_normal((n, 3))

    model = SphericalGaussianMixture(3).fit(draw(4000, [1 / 3] * 3))
    X = np.vstack([draw(800, [1 / 3] * 3), draw(800, [0.7, 0.3, 0.0]), draw(20, [1 / 3] * 3)])
    batches = [*["first"] * 800, *["second"] * 800, *["small"] * 19, None]
    drift = measure_drift(model, X, batches, labels=["second", "first", "small", "absent"])
    return drift, np.argmax(model.means_, axis=1)


def test_shares_of_overlapping_components_are_without_bias(drift):
    drift, order = drift
    assert drift.labels == ("second", "first", "small")
    assert drift.n_rows == (800, 800, 19)
    for g, truth in ((0, [0.7, 0.3, 0.0]), (1, [1 / 3] * 3)):
        value, low, high = drift.shares[g].T
        assert value == pytest.approx(np.array(truth)[order], abs=0.05)
        assert (low <= value).all()
        assert (value <= high).all()
        assert (high - low < 0.1).all()
    assert value.sum() == pytest.approx(1)


def test_small_batches_have_shares_and_no_news(drift):
    drift, _ = drift
    assert drift.news[2] is None
    assert np.isfinite(drift.shares[2]).all()
    assert drift.table().rows()[2]["alarm"] == "too few rows"
    assert [row["differs"] for row in drift.shares_table().rows() if row["batch"] == "second"].count("yes") >= 2
    n_alarms = sum(news.alarm for news in drift.news[:2])
    assert drift.lines()[0].startswith(f"{n_alarms} of 2 batches alarm")
    assert drift.lines()[1].startswith("1 of 3 batches have too few rows")
    unmeasured = replace(drift, news=(None, None, None))
    assert "alarm" not in " ".join(unmeasured.lines())


def test_causes_may_be_present_together():
    network = planted.noisy_or_network(30, 4, leak=0.02, random_state=1)
    model = NoisyOr(4).fit(network.sample(3000, random_state=1).X)
    drift = measure_drift(model, network.sample(1000, random_state=2).X.astype(float), ["one"] * 1000)
    assert drift.shares[0, :, 0] == pytest.approx(model.priors_, abs=0.06)
    assert drift.names == tuple(model.cause_names_)


def test_topics_have_shares_with_their_errors():
    counts = planted.topic_corpus(1200, n_topics=4, n_words=60, random_state=1).counts
    model = AnchorTopics(4).fit(counts)
    drift = measure_drift(model, counts, np.repeat(["a", "b"], 600).tolist())
    assert drift.shares.shape == (2, 4, 3)
    assert drift.shares[..., 0].mean(axis=0) == pytest.approx(drift.expected_shares, abs=0.03)


def test_intervals_of_certain_components_are_those_of_counts():
    probabilities = np.eye(2)[np.repeat([0, 1], [30, 70])]
    (first, second) = estimate_shares(probabilities, np.array([0.5, 0.5]), np.zeros(100, dtype=int), 1)[0]
    assert first == pytest.approx([0.3, 0.231, 0.380], abs=0.002)
    assert second[0] == pytest.approx(0.7)


def test_what_cannot_be_measured(drift):
    X = np.random.default_rng(0).laplace(size=(500, 3))
    with pytest.raises(latentia.LatentiaError, match="expected one for each of 500 rows"):
        measure_drift(SphericalGaussianMixture(2).fit(X), X, ["a"])
    with pytest.raises(latentia.LatentiaError, match="news"):
        measure_drift(TensorICA(3).fit(X), X, ["a"] * 500)


@pytest.mark.parametrize(
    ("rows", "batches", "labels", "message"),
    [
        (None, ["a"] * 500, None, "X: Expected a list"),
        (5, ["a"] * 500, None, "X: Expected a list"),
        ([[0.0, 0.0, 0.0]] * 500, None, None, "batches: Expected a list"),
        ([[0.0, 0.0, 0.0]] * 500, [np.nan] * 500, None, "expected a batch of some rows"),
        ([[0.0, 0.0, 0.0]] * 500, ["a"] * 500, ["b"], "expected a batch of some rows"),
    ],
)
def test_odd_rows_and_batches_are_refused(rows, batches, labels, message):
    model = SphericalGaussianMixture(2, n_splits=0).fit(np.random.default_rng(0).normal(size=(200, 3)))
    with pytest.raises(latentia.LatentiaError, match=message):
        measure_drift(model, rows, batches, labels=labels)


@pytest.mark.parametrize("model", [None, SphericalGaussianMixture])
def test_drift_needs_a_fitted_model(model):
    with pytest.raises(latentia.LatentiaError, match="expected a fitted model"):
        measure_drift(model, np.zeros((60, 3)), ["a"] * 60)


def test_batches_may_be_numbers_and_missing():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = SphericalGaussianMixture(2, n_splits=0).fit(X)
    drift = measure_drift(model, X.tolist(), [*[2024] * 90, *[2023] * 60, *[np.nan] * 50], labels=[2024, 2023])
    assert (drift.labels, drift.n_rows) == (("2024", "2023"), (90, 60))


def test_batches_of_steps_need_fifty_windows():
    steps = np.random.default_rng(0).integers(2, size=300).repeat(10)
    model = SpectralHMM(2, n_splits=0).fit(steps)
    drift = measure_drift(model, steps, ["long"] * 2000 + ["short"] * 1000)
    drift_short = measure_drift(model, steps, ["long"] * 2001 + ["short"] * 999)
    assert [news is None for news in drift.news] == [False, False]
    assert [news is None for news in drift_short.news] == [False, True]
