"""Directions of some documents, measured in others: what short documents make of the spectrum is no structure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from latentia.metrics import nearest_distances
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA
from latentia.topics._cross_validation import cross_validated_spectrum
from latentia.topics.single_topic import _find_redundant_topics


def corpus(n: int, k: int, seed: int = 0, v: int = 500) -> tuple[sparse.csr_array, np.ndarray]:
    """Documents that mix topics around common words, half of them of less than a third of the mean length."""
    rng = np.random.default_rng(seed)
    common = rng.permutation(1 / (np.arange(v) + 3.0))
    topics = rng.standard_gamma(200 * common / common.sum(), (k, v)) + 1e-12
    topics /= topics.sum(axis=1, keepdims=True)
    lengths = np.clip(40 * rng.lognormal(0, 1.4, n), 2, 2000).astype(int)
    return sparse.csr_array(rng.multinomial(lengths, rng.dirichlet(np.full(k, 0.1), n) @ topics), dtype=float), topics


@pytest.fixture(scope="module")
def tailed() -> tuple[sparse.csr_array, np.ndarray]:
    return corpus(2000, 6)


def test_lengths_with_heavy_tails_are_no_misfit(tailed):
    counts, topics = tailed
    model = AnchorTopics(6).fit(counts)
    evidence = model.evidence_
    true = nearest_distances(model.components_, topics).mean()
    assert true < evidence.limit / 2
    assert true / 1.5 < evidence.expected_error < 1.5 * true
    assert evidence["rank supported"].measured == 6
    assert evidence.grade == "supported"


def test_topics_left_out_are_seen_beside_tails(tailed):
    evidence = AnchorTopics(3).fit(tailed[0]).evidence_
    assert evidence["rank supported"].measured >= 5
    assert evidence["goodness of fit"].holds is False
    assert evidence.grade not in ("supported", "with care")


def test_spectrum_has_what_both_halves_have():
    counts, _ = corpus(2000, 4, seed=1)
    spectrum = cross_validated_spectrum([counts[:1000], counts[1000:]], float(counts.sum() / 2000), 10)
    assert (np.diff(spectrum) <= 0).all()
    assert spectrum[0] == pytest.approx(1, abs=0.1)
    assert spectrum[3] > 10 * np.abs(spectrum[4:]).max()


def test_nothing_is_known_without_pairs_of_words_in_both_halves():
    counts, _ = corpus(400, 2, seed=2)
    empty = sparse.csr_array(counts.shape)
    assert np.isinf(cross_validated_spectrum([counts, empty], 40.0, 5)).all()
    frequent = counts[:, np.argsort(-counts.sum(axis=0))[:3]]
    assert (cross_validated_spectrum([frequent[:200], frequent[200:]], 40.0, 5)[3:] == 0).all()


@pytest.fixture(scope="module")
def single() -> tuple[sparse.csr_array, np.ndarray]:
    """Documents of one topic each, of a thousand words by the law of Zipf."""
    rng = np.random.default_rng(3)
    common = rng.permutation(1 / (np.arange(1000) + 3.0))
    topics = rng.standard_gamma(300 * common / common.sum(), (5, 1000)) + 1e-12
    topics /= topics.sum(axis=1, keepdims=True)
    counts = rng.multinomial(rng.poisson(30, 2500) + 3, topics[rng.integers(0, 5, 2500)])
    return sparse.csr_array(counts, dtype=float), topics


@pytest.mark.parametrize("estimator", [SingleTopicModel, SpectralLDA])
def test_noise_of_rare_words_is_no_rank(single, estimator):
    model = estimator(5).fit(single[0])
    assert model.evidence_["rank supported"].holds
    assert model.evidence_.grade == "supported"
    assert model.evidence_.expected_error == pytest.approx(
        nearest_distances(model.components_, single[1]).mean(), rel=0.4
    )


@pytest.mark.parametrize("n_topics", [3, 4])
def test_too_few_single_topics_ask_for_care(single, n_topics):
    evidence = SingleTopicModel(n_topics).fit(single[0]).evidence_
    assert evidence["rank supported"].measured == 5
    assert evidence["rank supported"].holds is False
    assert evidence.grade != "supported"


@pytest.mark.parametrize("n_topics", [7, 10])
def test_empty_topics_have_the_error_of_nothing_known(single, n_topics):
    counts, topics = single
    model = SingleTopicModel(n_topics).fit(counts)
    true = nearest_distances(model.components_, topics)
    empty = model.weights_ < 0.01
    assert empty.sum() == n_topics - 5
    assert model.evidence_["topics that predict nothing"].measured == n_topics - 5
    assert (model.evidence_.component_errors[empty] > true[empty] / 1.5).all()
    assert true.mean() / 1.5 < model.evidence_.expected_error < 1.5 * true.mean()


def test_few_long_documents_do_not_make_topics_idle(single):
    counts, topics = single
    rng = np.random.default_rng(4)
    long = rng.multinomial(20_000, topics[[0, 0, 1, 1]])
    idle = _find_redundant_topics(sparse.csr_array(sparse.vstack([counts, long])), topics + 1e-6, np.full(5, 0.2))
    assert not idle.any()
    assert _find_redundant_topics(counts, np.vstack([topics, topics[[2, 2]]]) + 1e-6, np.full(7, 1 / 7)).sum() == 2


def test_topics_without_words_of_their_own_ask_for_care(tailed):
    """Every word has a share of a common background in each topic: none is separable."""
    rng = np.random.default_rng(5)
    own = rng.dirichlet(np.full(300, 1.0), 5)
    topics = 0.4 * own + 0.6 * rng.dirichlet(np.full(300, 1.0))
    counts = rng.multinomial(rng.poisson(100, 3000) + 2, rng.dirichlet(np.full(5, 0.15), 3000) @ topics)
    evidence = AnchorTopics(5).fit(sparse.csr_array(counts, dtype=float)).evidence_
    assert evidence["words of its own"].holds is False
    assert evidence.grade != "supported"
    assert AnchorTopics(6, n_splits=0).fit(tailed[0]).evidence_["words of its own"].holds
