"""Effects and outcomes of topics and classes that are fitted to planted data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import latentia
from latentia.datasets import planted
from latentia.exceptions import EvidenceWarning, LatentiaError
from latentia.likelihood import WordSampler
from latentia.metrics import match_components
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.mixtures._deconvolution import ClassMemberships, correct_memberships
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA
from latentia.topics._unbiased import DocumentMemberships

pytest.importorskip("formulaic")
N, K = 900, 4
NONE = np.empty((0, 3, 3))


@pytest.fixture(scope="module")
def corpus():
    """Counts, a covariate that moves the shares, the shares, topics, and the coefficients of their means."""
    rng = np.random.default_rng(3)
    truth = planted.topic_model(K, 300, random_state=3)
    x = rng.uniform(-1, 1, N)
    coefficients = np.vstack([truth.prevalence, 0.3 * truth.prevalence * np.array([1, -1, 1, -1])])
    coefficients[1] -= truth.prevalence * coefficients[1].sum()
    shares = np.vstack([rng.dirichlet(1.5 * one) for one in np.column_stack([np.ones(N), x]) @ coefficients])
    lengths = 2 + rng.poisson(28, N)
    drawn = np.array([rng.multinomial(n, one) for n, one in zip(lengths, shares, strict=True)])
    return WordSampler(truth.topics)(drawn, rng), x, shares, truth.topics, coefficients


def test_products_of_words_are_those_of_pairs(corpus) -> None:
    counts, _, _, topics, _ = corpus
    by_words, table = np.linalg.pinv(topics.T), counts[:5].toarray()
    members = DocumentMemberships(lambda: [counts[:2], counts[2:5]], by_words, NONE)
    pairs = []
    for row in table:
        words = np.repeat(np.arange(len(row)), row.astype(int))
        said = by_words[:, words]
        n = len(words)
        pairs.append((np.outer(said.sum(axis=1), said.sum(axis=1)) - said @ said.T) / (n * (n - 1)))
    b, some = np.arange(K) + 1.0, np.array([True, False, True, True, False])
    np.testing.assert_allclose(members.apply_squares(b), np.array(pairs) @ b, atol=1e-10)
    np.testing.assert_allclose(members.squares(some), np.array(pairs)[some].sum(axis=0), atol=1e-10)
    np.testing.assert_allclose(members.shares, (table @ by_words.T) / table.sum(axis=1, keepdims=True), atol=1e-10)


def test_documents_of_one_word_say_nothing() -> None:
    members = DocumentMemberships(lambda: [np.array([[1, 0], [2, 1], [0, 0]])], np.eye(2), NONE)
    assert members.is_known.tolist() == [False, True, False]
    assert np.isfinite(members.squares(members.is_known)).all()


@pytest.mark.parametrize("kind", [AnchorTopics, SpectralLDA])
def test_effects_on_topics(kind, corpus) -> None:
    counts, x, shares, topics, coefficients = corpus
    model = kind(K).fit(counts)
    own, true = match_components(model.components_, topics)
    found = model.effects(counts, "~ x", {"x": x, "site": np.arange(N) // 9}, cluster="site")
    assert found.terms == ["Intercept", "x"]
    assert (found.n_rows, found.n_clusters, found.n_left_out) == (N, N // 9, 0)
    assert found.component_errors
    assert np.abs(found.estimate[:, own] - coefficients[:, true]).max() < 0.06
    assert (np.abs(found.estimate[:, own] - coefficients[:, true]) < 3 * found.error[:, own]).all()
    np.testing.assert_allclose(found.estimate.sum(axis=1), [1, 0], atol=1e-6)
    outcome = shares @ np.arange(K) + x
    result = model.regress(counts, outcome, {"x": x})
    assert result.terms == ["level", "difference"]
    assert np.abs(result.estimate[1, own] - (np.arange(K) - shares.mean(axis=0) @ np.arange(K))[true]).max() < 0.3
    assert result.to_frame().columns[:5].tolist() == ["component", "term", "estimate", "low", "high"]
    assert "plug_in" in result.to_frame()


def test_levels_of_groups_are_their_mean_shares(corpus) -> None:
    counts, x, *_ = corpus
    model = AnchorTopics(K, refine=0).fit(counts)
    group = np.where(x > 0, "high", "low")
    found, before = model.effects(counts, "~ 0 + g", {"g": group}), model.prevalence_by(counts, group)
    np.testing.assert_allclose(found.estimate, before.share.value, atol=1e-9)
    again = model.effects(counts, "~ 0 + g", {"g": group}, cluster=np.arange(N))
    np.testing.assert_array_equal(found.error, again.error)


def test_a_sum_of_topics_is_the_merged_topic(corpus) -> None:
    counts, x, *_ = corpus
    model = AnchorTopics(K, refine=0).fit(counts)
    found = model.effects(counts, "~ x", {"x": x}, components={"both": [0, 3], "to": ([0], [1])})
    merged = model.merge([[0, 3]]).effects(counts, "~ x", {"x": x})
    np.testing.assert_allclose(found.estimate[:, 0], merged.estimate[:, 0], atol=0.01)
    assert "combination  term" in repr(found)
    assert found.to_frame()["name"].tolist() == ["both", "both", "to", "to"]
    assert found.p_value[0, 1] > 0.001  # of the ratio being one
    result = model.regress(counts, x, components={"less": {0: 1, 3: -1}})
    plain = model.regress(counts, x)
    np.testing.assert_allclose(result.estimate[0, 0], plain.estimate[0, 0] - plain.estimate[0, 3], rtol=1e-9)
    np.testing.assert_allclose(result.plug_in[0, 0], plain.plug_in[0, 0] - plain.plug_in[0, 3], rtol=1e-9)


def test_single_topics_and_saved_models(corpus, tmp_path) -> None:
    counts, x, *_ = corpus
    model = SingleTopicModel(K).fit(counts)
    latentia.save(model, tmp_path / "model.npz")
    one, other = (m.effects(counts, "~ x", {"x": x}) for m in (model, latentia.load(tmp_path / "model.npz")))
    np.testing.assert_array_equal(one.low, other.low)


def test_corrected_memberships_are_right_on_average() -> None:
    data = planted.gaussian_mixture(20_000, 3, 4, separation=2.5, random_state=1)
    squares = ((data.X[:, None] - data.means) ** 2).sum(axis=2)
    shifted = np.flatnonzero((data.labels != 0) | (np.arange(20_000) % 4 == 0))  # other shares than those of the model
    members = ClassMemberships(-squares[shifted] / 2, NONE)
    labels = np.eye(3)[data.labels[shifted]]
    mean = (labels.T @ members.shares) / labels.sum(axis=0)[:, None]
    np.testing.assert_allclose(mean, np.eye(3), atol=0.04)
    plain = correct_memberships(-squares[shifted] / 2)[0]
    assert np.abs((labels.T @ plain) / labels.sum(axis=0)[:, None] - np.eye(3)).max() > 0.2
    np.testing.assert_allclose(members.shares.sum(axis=1), 1, atol=1e-9)


@pytest.fixture(scope="module")
def classes():
    """Rows of three clouds, a covariate that moves their shares, labels, means, and coefficients."""
    rng = np.random.default_rng(5)
    means = 1.8 * np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
    coefficients = np.array([[0.4, 0.35, 0.25], [0.15, -0.1, -0.05]])
    x = rng.uniform(-1, 1, 1500)
    labels = np.array([rng.choice(3, p=one) for one in np.column_stack([np.ones(1500), x]) @ coefficients])
    return means[labels] + rng.normal(size=(1500, 4)), x, labels, means, coefficients


def test_effects_on_classes(classes) -> None:
    X, x, labels, means, coefficients = classes
    model = SphericalGaussianMixture(3).fit(X)
    own, true = match_components(model.means_, means)
    found = model.effects(X, "~ x", {"x": x})
    assert found.nouns[0] == "component"
    assert (np.abs(found.estimate[:, own] - coefficients[:, true]) < 3 * found.error[:, own]).all()
    y = np.array([1.0, 0.0, -1.0])[labels] + np.random.default_rng(0).normal(size=len(x))
    y[:10] = np.nan
    result = model.regress(X, y)
    assert result.n_left_out == 10
    levels = np.array([1.0, 0.0, -1.0])[true]
    assert np.abs(result.estimate[0, own] - levels).max() < 0.2
    assert np.ptp(result.plug_in[0]) < np.ptp(result.estimate[0])
    np.testing.assert_allclose(result.plug_in[1], result.plug_in[0] - y[10:].mean())


def test_a_column_of_clusters_is_no_control(classes) -> None:
    X, x, labels, *_ = classes
    model, site = SphericalGaussianMixture(3, n_splits=0).fit(X), np.arange(len(X)) // 10
    y = labels + 0.1 * x
    for controls in ({}, {"x": x}):
        named = model.regress(X, y, {**controls, "site": site}, cluster="site")
        given = model.regress(X, y, controls or None, cluster=site)
        for result in (named, given):
            assert (result.n_clusters, result.n_left_out) == (len(X) // 10, 0)
        np.testing.assert_array_equal(named.estimate, given.estimate)
        np.testing.assert_array_equal(named.error, given.error)


def test_classes_of_bits_and_those_without_probabilities() -> None:
    data = planted.product_mixture(800, 2, 12)
    views = [list(range(i, 12, 3)) for i in range(3)]
    model = MultiViewMixture(2, distribution="bernoulli").fit(data.X, views=views)
    found = model.effects(data.X, "~ x", {"x": data.labels})
    assert np.abs(np.abs(found.estimate[1]) - 1).max() < 0.1
    plain = MultiViewMixture(2).fit(data.X, views=views)
    with pytest.raises(LatentiaError, match="no densities"):
        plain.effects(data.X, "~ x", {"x": data.labels})


@pytest.mark.parametrize(
    ("y", "words"),
    [(["a", "b"] * 750, "is text"), (np.ones(3), "y has 3"), (np.full(1500, np.inf), "infinity")],
)
def test_outcomes_that_cannot_be_used(y, words, classes) -> None:
    model = SphericalGaussianMixture(3, n_splits=0).fit(classes[0])
    with pytest.raises(LatentiaError, match=words):
        model.regress(classes[0], y)
    assert not model.effects(classes[0], "~ x", {"x": classes[1]}).component_errors


def test_pictures(classes) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, x, *_ = classes
    model = SphericalGaussianMixture(3, n_splits=0, refine=3).fit(X)
    found = model.effects(X, "~ x + I(x**2)", {"x": x})
    assert len(found.plot()) == 2
    axes = found.plot(terms=["x"])
    assert found.plot(terms=["x"], ax=axes) is axes


def test_columns_that_rows_depend_on_each_other_within_are_named(classes) -> None:
    X, _, _, means, _ = classes
    rng = np.random.default_rng(3)
    site = rng.integers(12, size=900)
    labels = (
        (rng.random(900)[:, None] > rng.dirichlet(np.full(3, 0.5), 12)[site].cumsum(axis=1)).sum(axis=1).clip(max=2)
    )
    rows = means[labels] + rng.normal(size=(900, 4))
    model, data = SphericalGaussianMixture(3, n_splits=0).fit(X), {"site": site.astype(str)}
    data |= {"x": rng.normal(size=900), "room": rng.integers(40, size=900)}  # Neither says anything of the rows.
    with pytest.warns(EvidenceWarning, match=r"column 'site' \(12 groups.*cluster='site'"):
        plain = model.effects(rows, "~ x", data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = model.effects(rows, "~ x", data, cluster="site")
        model.effects(rows, "~ x + site", data)  # What a group has in common is in the terms.
    assert named.n_clusters == 12 < plain.n_clusters
