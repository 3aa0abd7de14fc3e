"""Algorithms of chapters 3 and 4 of the thesis: exact on exact moments, and compared with the estimator."""

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.exceptions import LatentiaError, NegativeRecoveryWarning
from latentia.metrics import recovery_errors
from latentia.moments import Cooccurrence
from latentia.papers.topics import kl_weights, recover, recover_kl, recover_l2, topics_from_weights
from latentia.passes import Blocks
from latentia.topics import AnchorTopics


@pytest.fixture(scope="module")
def truth():
    return planted.topic_model(12, 400, anchors=True, spread=3, random_state=0)


@pytest.fixture(scope="module")
def corpus():
    return planted.topic_corpus(1500, n_topics=10, n_words=800, random_state=0)


def cooccurrence(counts):
    q = Cooccurrence(Blocks.from_array(counts))
    return q.product(np.eye(q.size))


@pytest.mark.parametrize(("algorithm", "largest"), [(recover, 1e-8), (recover_l2, 1e-8), (recover_kl, 1e-3)])
def test_exact_moments_give_exact_topics(truth, algorithm, largest):
    options = {} if algorithm is recover else {"tolerance": 1e-12}
    topics, moment = algorithm(truth.cooccurrence(), np.array(truth.anchors), **options)
    assert np.abs(topics - truth.topics).sum(axis=1).max() <= largest
    np.testing.assert_allclose(moment, truth.second_moment(), atol=100 * largest)


def test_almost_anchor_words_give_almost_the_topics(truth):
    """Lemma 3.13: with anchors' rows D (I + Z) and |Z|_1 = e, topics err by at most 6 e."""
    k, epsilon = len(truth.topics), 0.05
    topics, anchors = truth.topics.copy(), np.array(truth.anchors)
    other = (np.arange(k) + 1) % k
    topics[other, anchors] = epsilon / k * topics[np.arange(k), anchors]
    topics /= topics.sum(axis=1, keepdims=True)
    q = topics.T @ truth.second_moment() @ topics
    assert np.abs(recover(q, anchors)[0] - topics).sum(axis=1).max() <= 6 * epsilon


def test_merged_columns_keep_the_model_exact(truth):
    q = truth.cooccurrence()
    merged = np.eye(100)[np.random.default_rng(0).permutation(len(q)) % 100]
    rows = q @ merged / q.sum(axis=1)[:, None]
    topics = topics_from_weights(kl_weights(rows, rows[list(truth.anchors)], 1e-12), q.sum(axis=1))
    assert recovery_errors(topics, truth.topics).max() <= 1e-2


@pytest.mark.parametrize("algorithm", [recover_l2, recover_kl])
def test_recovery_from_documents(corpus, algorithm):
    anchors = AnchorTopics(10, embedding="projection", min_df=20, n_splits=0).fit(corpus.counts).anchors_
    topics, _ = algorithm(cooccurrence(corpus.counts), anchors)
    assert recovery_errors(topics, corpus.topics).mean() < 0.5
    np.testing.assert_allclose(topics.sum(axis=1), 1)


def test_least_squares_is_that_of_the_estimator(truth):
    model = AnchorTopics(12).fit_moments(truth.cooccurrence(), tol=1e-12)
    topics, _ = recover_l2(truth.cooccurrence(), model.anchors_, tolerance=1e-12)
    np.testing.assert_allclose(model.components_, topics, atol=1e-6)


def test_inverse_of_noise_warns(corpus):
    counts = corpus.counts[:150]
    frequent = np.argsort(-np.asarray(counts.sum(axis=0)).ravel())[:10]
    with pytest.warns(NegativeRecoveryWarning, match="recover_l2 does not"):
        topics, _ = recover(cooccurrence(counts), frequent)
    assert (topics < 0).any()
    np.testing.assert_allclose(topics.sum(axis=1), 1)


def test_singular_block_of_anchors_is_refused():
    with pytest.raises(LatentiaError, match="singular"):
        recover(np.full((4, 4), 1 / 16), np.array([0, 1]))
