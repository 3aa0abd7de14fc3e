"""Recovery of planted topics: exact moments, thresholds on finite corpora, and evidence that predicts the error."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from latentia.datasets import planted
from latentia.metrics import l1_distances, match_components, nearest_distances, recovery_errors
from latentia.topics import AnchorTopics


@pytest.mark.parametrize("embedding", ["subspace", "projection"])
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_moments_give_exact_topics(embedding, seed):
    truth = planted.topic_model(12, 400, anchors=True, spread=3, random_state=seed)
    model = AnchorTopics(12, embedding=embedding).fit_moments(truth.cooccurrence(), tol=1e-12)
    assert recovery_errors(model.components_, truth.topics).max() <= 1e-8
    assert set(model.anchors_) == set(truth.anchors)
    order = np.argsort(model.anchors_)
    moment = model.topic_covariance_[np.ix_(order, order)]
    np.testing.assert_allclose(moment, truth.second_moment(), atol=1e-6)
    np.testing.assert_allclose(model.dirichlet_[order], truth.dirichlet, rtol=1e-5)


def test_linear_programs_find_the_same_anchors():
    truth = planted.topic_model(5, 60, anchors=True, random_state=2)
    model = AnchorTopics(5, anchors="lp").fit_moments(truth.cooccurrence(), tol=1e-12)
    assert set(model.anchors_) == set(truth.anchors)
    assert recovery_errors(model.components_, truth.topics).max() <= 1e-8


def test_correlated_topics_with_exact_moments():
    truth = planted.topic_model(10, 300, anchors=True, proportions="logistic-normal", correlation=0.3, n_groups=3)
    model = AnchorTopics(10).fit_moments(truth.cooccurrence(), tol=1e-12)
    assert recovery_errors(model.components_, truth.topics).max() <= 1e-8


def test_three_thousand_documents_fifty_topics():
    corpus = planted.topic_corpus(3000, n_topics=50, n_words=5000, random_state=42)
    plain = recovery_errors(AnchorTopics(50, refine=0, n_splits=0).fit(corpus.counts).components_, corpus.topics)
    refined = recovery_errors(AnchorTopics(50, n_splits=0).fit(corpus.counts).components_, corpus.topics)
    assert plain.mean() <= 0.30
    assert refined.mean() <= 0.22
    assert refined.max() <= 0.30


def test_default_is_far_better_than_the_projection():
    corpus = planted.topic_corpus(2500, n_topics=40, n_words=4000, random_state=43)
    errors = {
        embedding: recovery_errors(
            AnchorTopics(40, embedding=embedding, refine=0, n_splits=0).fit(corpus.counts).components_, corpus.topics
        ).mean()
        for embedding in ("subspace", "projection")
    }
    assert errors["subspace"] <= 0.6 * errors["projection"]


@pytest.mark.parametrize("refine", [0, "auto"])
def test_evidence_orders_fits_and_lies_near_the_truth(refine):
    true, expected, holds = [], [], []
    for n, k, v, options, asked in [
        (300, 15, 800, {}, 15), (1000, 15, 800, {}, 15), (300, 25, 1200, {}, 25), (1500, 25, 1200, {}, 25),
        (600, 25, 1200, {"anchors": True}, 25), (600, 25, 1200, {"proportions": "logistic-normal", "correlation": 0.1}, 25),
        (2000, 40, 2000, {}, 25), (2000, 40, 2000, {}, 55), (1000, 25, 1200, {}, 44),
    ]:  # fmt: skip
        corpus = planted.topic_corpus(n, n_topics=k, n_words=v, random_state=n + asked, **options)
        model = AnchorTopics(asked, refine=refine).fit(corpus.counts)
        distances = l1_distances(model.components_, corpus.topics)
        of_found, of_true = match_components(model.components_, corpus.topics)
        errors = nearest_distances(model.components_, corpus.topics)
        errors[of_found] = distances[of_found, of_true]
        true.append(errors.mean())
        expected.append(model.evidence_.component_errors.mean())
        holds.append(model.evidence_.grade)
    ratio = np.array(true) / expected
    assert spearmanr(true, expected)[0] >= 0.9
    assert ratio.max() <= 1.3
    assert np.mean(ratio >= 1 / 1.3) >= (1 if refine == 0 else 0.85)
    good, held = np.array(true) <= 0.4, np.isin(holds, ("supported", "with care"))
    assert held[good].all()
    assert not held[np.array(true) > (0.4 if refine == 0 else 0.5)].any()
    assert np.mean(np.array(holds)[good] == "supported") >= 2 / 3


def test_evidence_ranks_topics_of_unequal_prevalence():
    corpus = planted.topic_corpus(3000, n_topics=40, n_words=3000, spread=20, random_state=8)
    model = AnchorTopics(40).fit(corpus.counts)
    distances = l1_distances(model.components_, corpus.topics)
    expected = model.evidence_.component_errors[distances.argmin(axis=0)]
    assert spearmanr(distances.min(axis=0), expected)[0] >= 0.8
