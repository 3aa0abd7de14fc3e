"""Topics refined by default: better than the start, whatever the seed and the order, and in any amount of memory."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

from latentia.datasets import planted
from latentia.exceptions import NonIntegerCountWarning
from latentia.metrics import recovery_errors
from latentia.passes import Blocks
from latentia.topics import AnchorTopics, SpectralLDA, _refine


@pytest.fixture(scope="module")
def corpus():
    return planted.topic_corpus(1500, n_topics=12, n_words=900, length=80, random_state=6)


@pytest.fixture(scope="module")
def model(corpus):
    return AnchorTopics(12, n_splits=1).fit(corpus.counts)


def test_refined_topics_are_better_and_their_errors_are_known(corpus, model):
    plain = recovery_errors(AnchorTopics(12, refine=0).fit(corpus.counts).components_, corpus.topics).mean()
    refined = recovery_errors(model.components_, corpus.topics).mean()
    assert refined < 0.92 * plain
    assert 1 / 1.3 < model.evidence_.component_errors.mean() / refined < 1.3
    assert model.evidence_["refinement has converged"].holds
    assert model.dirichlet_.sum() == pytest.approx(12 * 0.03, rel=0.5)


@pytest.mark.parametrize("kind", [AnchorTopics, SpectralLDA])
@pytest.mark.parametrize("n_topics", [12, 7])
def test_topics_depend_on_no_seed_and_no_order(corpus, kind, n_topics):
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(1500), rng.permutation(900)
    options = {"n_splits": 0}
    first = kind(n_topics, **options).fit(corpus.counts).components_
    again = kind(n_topics, random_state=9, n_splits=1).fit(corpus.counts).components_
    other_rows = kind(n_topics, **options).fit(corpus.counts[rows]).components_
    moved = kind(n_topics, **options).fit(sparse.csr_array(corpus.counts[rows][:, columns])).components_
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(other_rows, first)
    np.testing.assert_allclose(moved, first[:, columns], atol=1e-5)


def test_fewer_topics_than_there_are_come_from_a_search(corpus, monkeypatch):
    """Joining some of more topics leaves likelier ones than starting with too few."""
    found = AnchorTopics(7, n_splits=0).fit(corpus.counts)
    monkeypatch.setattr(_refine, "_CANDIDATES_PER_TOPIC", 1.0)
    plain = AnchorTopics(7, n_splits=0).fit(corpus.counts)
    assert found.refinement_[-1] > plain.refinement_[-1]


def test_large_counts_that_are_not_whole_are_searched_in_part_and_held_in_files(corpus, model, monkeypatch):
    for name, value in (("_MAX_SEARCH_WORK", 100_000), ("LARGE", 1000)):
        monkeypatch.setattr(_refine, name, value)
    halves = corpus.counts * 0.5
    with config_context(working_memory=3), pytest.warns(NonIntegerCountWarning):
        few = AnchorTopics(7, n_splits=0).fit(halves)
    assert few.components_.shape == (7, 900)
    with config_context(working_memory=0), warnings.catch_warnings():
        warnings.simplefilter("ignore", NonIntegerCountWarning)
        files = AnchorTopics(7, n_splits=0).fit(halves)
        theorem = AnchorTopics(12, n_splits=0).fit(halves)  # that has as many directions as topics
        packed = AnchorTopics(12, n_splits=0, refine=8).fit(halves)
    assert files.refinement_[-1] > files.refinement_[0]
    assert len(theorem.refinement_) == 0
    errors = [recovery_errors(m.components_, corpus.topics).mean() for m in (packed, model)]
    assert errors[0] < 1.2 * errors[1]


@pytest.mark.parametrize("estimator", [AnchorTopics(12), SpectralLDA(12)], ids=str)
def test_large_corpora_are_sampled_in_fewer_sweeps_and_then_in_part(corpus, estimator, monkeypatch):
    def error(**options):
        return recovery_errors(
            clone(estimator).set_params(**options).fit(corpus.counts).components_, corpus.topics
        ).mean()

    theorem, whole = error(refine=0), error()
    monkeypatch.setattr(_refine, "LARGE", 10_000)
    assert error() < min(theorem, 1.15 * whole)
    monkeypatch.setattr(_refine, "MAX_OCCURRENCES", 60_000)
    assert error() <= theorem


def test_given_anchors_keep_their_topics(corpus, model):
    given = [int(word) for word in model.anchors_]
    topics = AnchorTopics(12, anchors=given, n_splits=0).fit(corpus.counts)
    assert [words[0] for words in topics.anchor_words_] == given
    assert recovery_errors(topics.components_, corpus.topics).mean() < 0.3
    assert (topics.components_[np.arange(12), given] >= 0.9 * topics.components_[:, given].max(axis=0)).all()


def test_refined_lda_is_better_and_holds_a_given_dirichlet_sum(corpus):
    plain, refined = (SpectralLDA(12, refine=refine, n_splits=0).fit(corpus.counts) for refine in (0, "auto"))
    errors = [recovery_errors(m.components_, corpus.topics).mean() for m in (plain, refined)]
    assert errors[1] < errors[0]
    assert refined.alpha0_ == pytest.approx(refined.dirichlet_.sum())
    held = SpectralLDA(12, alpha0=1.2, n_splits=0).fit(corpus.counts)
    assert held.alpha0_ == pytest.approx(1.2)


@pytest.mark.parametrize("estimator", [AnchorTopics(7), SpectralLDA(7), AnchorTopics(7, refine=3)], ids=str)
def test_parts_are_refined_as_the_whole_is(corpus, estimator, monkeypatch):
    refined, ways = _refine.Refiner.refine_groups, []

    def recording(self, groups, starts):
        result = refined(self, groups, starts)
        ways.append(result.way)
        return result

    monkeypatch.setattr(_refine.Refiner, "refine_groups", recording)
    estimator.fit(corpus.counts)
    assert len(ways) >= 3  # all documents and two halves
    assert set(ways) == {ways[0]}


def test_short_documents_are_not_refined_away_from_the_truth():
    corpus = planted.topic_corpus(10_000, n_topics=20, n_words=2000, length=15, random_state=5)
    posterior, theorem = (AnchorTopics(20, n_splits=0, refine=refine).fit(corpus.counts) for refine in ("auto", 0))
    errors = [recovery_errors(m.components_, corpus.topics).mean() for m in (posterior, theorem)]
    assert errors[0] < errors[1]


def test_a_sample_of_huge_counts_is_some_document():
    counts = sparse.csr_array(np.full((5, 3), 1e25))
    assert 0 < _refine._sample_documents(Blocks.from_array(counts), 15, 1e4).shape[0] < 5
