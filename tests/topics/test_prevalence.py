"""How much of each topic groups of documents have, with error bars."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import latentia
from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.likelihood import WordSampler
from latentia.metrics import match_components
from latentia.report._effects import effects_lines
from latentia.report._prevalence import prevalence_figures
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA
from latentia.topics.prevalence import _wilson_interval, assign_groups

N, K = 1500, 6


@pytest.fixture(scope="module")
def trend():
    """Counts, years, topics, and their prevalence in each of five years."""
    rng = np.random.default_rng(5)
    model = planted.topic_model(K, 800, random_state=5)
    year = rng.integers(5, size=N)
    shares = model.prevalence * np.exp(np.outer(np.linspace(-1, 1, 5), np.linspace(-1, 1, K)))
    shares /= shares.sum(axis=1, keepdims=True)
    proportions = np.vstack([rng.dirichlet(0.6 * shares[y]) for y in year])
    counts = WordSampler(model.topics)(rng.multinomial(60, proportions), rng)
    return counts, year, model.topics, shares


@pytest.fixture(scope="module")
def fitted(trend):
    return AnchorTopics(K).fit(trend[0])


@pytest.mark.parametrize("kind", [AnchorTopics, SpectralLDA])
def test_intervals_hold_the_planted_shares(kind, trend) -> None:
    counts, year, topics, shares = trend
    model = kind(K).fit(counts)
    found = model.prevalence_over(counts, 2000 + year)
    own, true = match_components(model.components_, topics)
    assert found.labels == ["2000", "2001", "2002", "2003", "2004"]
    assert found.topic_errors
    value, low, high = (getattr(found.share, part)[:, own] for part in ("value", "low", "high"))
    assert np.abs(value - shares[:, true]).max() < 0.06
    assert ((low <= shares[:, true]) & (shares[:, true] <= high)).mean() >= 0.75
    assert ((low >= 0) & (low <= value) & (value <= high) & (high <= 1)).all()
    rises = (shares[-1] - shares[0])[true]
    assert np.array_equal(np.sign(found.change.value[own][np.abs(rises) > 0.1]), np.sign(rises[np.abs(rises) > 0.1]))
    assert found.change.clear[own][np.abs(rises) > 0.15].all()


def test_without_a_trend_few_changes_are_clear(fitted, trend) -> None:
    clear = [
        fitted.prevalence_over(trend[0], np.random.default_rng(100 + seed).integers(5, size=N)).change.clear
        for seed in range(10)
    ]
    assert np.mean(clear) < 0.06


def test_nothing_is_clear_of_topics_that_are_not_supported(fitted, trend) -> None:
    counts, year, *_ = trend
    assert fitted.prevalence_over(counts, year).change.clear.any()
    unmeasured = AnchorTopics(K, n_splits=0).fit(counts)
    found = unmeasured.prevalence_over(counts, year)
    assert not found.change.clear.any()
    assert not found.difference.clear.any()
    effects = unmeasured.effects(counts, "~ year", {"year": year})
    assert list(effects.not_supported) == list(range(K))
    assert "without support by the evidence left out: see" in effects_lines("~ year", effects, ["a"] * K)[-2]


def test_groups_are_compared_with_all_others(fitted, trend) -> None:
    counts, year, *_ = trend
    party = np.where(year < 2, "left", "right").astype(object)
    party[::7] = None
    found = fitted.prevalence_by(counts, party)
    assert found.labels == ["left", "right"]
    assert found.change is None
    assert found.n_left_out == len(party[::7])
    assert found.n_documents.sum() == N - found.n_left_out
    np.testing.assert_allclose(found.difference.value[0], -found.difference.value[1], atol=1e-12)
    np.testing.assert_allclose(found.difference.value[0], -np.diff(found.share.value, axis=0)[0], atol=0.01)
    frame = found.to_frame()
    assert len(frame) == 2 * K
    assert frame["group"].unique().tolist() == ["left", "right"]


def test_document_order_and_length_do_not_matter(fitted, trend) -> None:
    counts, year, *_ = trend
    order = np.random.default_rng(0).permutation(N)
    one, other = fitted.prevalence_by(counts, year), fitted.prevalence_by(counts[order], year[order])
    np.testing.assert_allclose(one.share.low, other.share.low, atol=1e-12)
    longer = fitted.prevalence_by(counts * 3, year)
    np.testing.assert_allclose(one.share.value, longer.share.value, atol=1e-12)


def test_fewer_documents_have_wider_intervals(fitted, trend) -> None:
    counts, year, *_ = trend
    every, some = fitted.prevalence_by(counts, year), fitted.prevalence_by(counts[:150], year[:150])
    width, wider = (found.share.high - found.share.low for found in (every, some))
    assert (wider > 1.5 * width).mean() > 0.9


def test_errors_of_topics_are_kept_and_can_be_missing(fitted, trend, tmp_path: Path) -> None:
    counts, year, *_ = trend
    latentia.save(fitted, tmp_path / "model")
    again = latentia.load(tmp_path / "model").prevalence_by(counts, year)
    np.testing.assert_array_equal(again.share.high, fitted.prevalence_by(counts, year).share.high)
    alone = AnchorTopics(K, n_splits=0).fit(counts).prevalence_by(counts, year)
    assert not alone.topic_errors
    assert not fitted.reanchor(replace={0: int(fitted.anchors_[0])}).prevalence_by(counts, year).topic_errors


def test_single_topics_too(trend) -> None:
    rng = np.random.default_rng(1)
    model = planted.topic_model(4, 300, proportions="single", random_state=1)
    group = rng.integers(2, size=1200)
    shares = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    topic = np.array([rng.choice(4, p=shares[g]) for g in group])
    counts = WordSampler(model.topics)(30 * np.eye(4, dtype=int)[topic], rng)
    fit = SingleTopicModel(4).fit(counts)
    own, true = match_components(fit.components_, model.topics)
    found = fit.prevalence_by(counts, group)
    assert np.abs(found.share.value[:, own] - shares[:, true]).max() < 0.07
    assert found.difference.clear.sum() >= 6


def test_one_group_and_empty_documents(fitted, trend) -> None:
    counts, *_ = trend
    empty = counts[:50].copy()
    empty.data[:] = 0
    found = fitted.prevalence_by(np.vstack([counts[:50].toarray(), empty.toarray()]), ["all"] * 100)
    assert found.n_documents.tolist() == [50]
    assert found.n_left_out == 50
    assert np.isfinite(found.share.high).all()
    assert (found.difference.value == 0).all()


def test_groups_in_the_order_of_numbers() -> None:
    of_rows, labels = assign_groups([10, 9, "b", "a", None])
    assert labels == ["9", "10", "a", "b"]
    assert of_rows.tolist() == [1, 0, 3, 2, -1]


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (["a"] * 3, "each of 1500 documents; there are 3"),
        ([None] * N, "None of the documents has a group"),
        (list(range(N)), "at most 200 groups; there are 1,500"),
    ],
)
def test_groups_that_cannot_be_used(groups, words, fitted, trend) -> None:
    with pytest.raises(LatentiaError, match=words):
        fitted.prevalence_by(trend[0], groups)


def test_level_is_checked(fitted, trend) -> None:
    with pytest.raises(LatentiaError, match="level"):
        fitted.prevalence_by(trend[0], trend[1], level=90)


def test_bounds_of_a_share_that_is_cut_to_zero_are_as_wide_as_its_error() -> None:
    zero, middle, error = np.zeros((1, 1)), np.full((1, 1), 0.3), 0.045
    found = _wilson_interval(zero, zero, np.full((1, 1), error**2))
    assert found.low[0, 0] == 0
    assert found.high[0, 0] == pytest.approx(error, rel=0.01)
    found = _wilson_interval(1 - zero, 1 - zero, np.full((1, 1), error**2))
    assert found.low[0, 0] == pytest.approx(1 - error, rel=0.01)
    wide = _wilson_interval(
        middle, middle, np.full((1, 1), error**2)
    )  # Where the error is small beside it nothing changes.
    assert wide.high[0, 0] - wide.low[0, 0] == pytest.approx(2 * error, rel=0.02)


def test_months_keep_their_places_and_names(fitted, trend) -> None:
    counts, year, *_ = trend
    months = np.array(["2024-05-03", "2024-06-28", "2024-07-02", "2024-09-09", "2024-10-01"])[year]
    found = fitted.prevalence_over(counts, months.tolist(), period="month")
    assert found.numbers is not None
    assert found.numbers.tolist() == [0, 1, 2, 4, 5]
    panel = prevalence_figures([("time", found)], [str(k) for k in range(K)])[0].data["panels"][0]
    assert panel["x"]["names"] == [f"2024-{month:02}" for month in range(5, 11)]
    assert panel["marks"][0]["x"] == [0, 1, 2, 4, 5]
