import numpy as np
import pytest

from latentia import LatentiaError
from latentia.datasets import planted


def test_same_seed_same_corpus_and_blocks_do_not_matter():
    a = planted.topic_corpus(300, n_topics=4, n_words=60, length=30, random_state=1)
    b = planted.topic_corpus(300, n_topics=4, n_words=60, length=30, random_state=1)
    assert (a.counts != b.counts).nnz == 0
    assert (a.topics == b.topics).all()
    assert (a.counts.sum(axis=1) == 30).all()
    np.testing.assert_allclose(a.topics.sum(axis=1), 1)
    np.testing.assert_allclose(a.proportions.sum(axis=1), 1)


def test_documents_follow_the_model():
    corpus = planted.topic_corpus(5000, n_topics=3, n_words=40, length=50, random_state=0)
    moment = corpus.proportions.T @ corpus.proportions / 5000
    np.testing.assert_allclose(moment, corpus.truth.second_moment(), atol=0.01)
    expected = corpus.proportions @ corpus.topics
    observed = corpus.counts.toarray() / 50
    assert np.abs((observed - expected).mean(axis=0)).max() < 5e-3


def test_anchors_belong_to_one_topic():
    truth = planted.topic_model(6, 100, anchors=True)
    assert truth.topics.shape == (6, 106)
    block = truth.topics[:, truth.anchors]
    assert (np.diag(block) > 0).all()
    assert (block - np.diag(np.diag(block)) == 0).all()
    np.testing.assert_allclose(np.diag(block), truth.topics[:, :100].max(axis=1))


def test_spread_and_correlation():
    truth = planted.topic_model(10, 50, spread=20)
    assert truth.prevalence.max() / truth.prevalence.min() == pytest.approx(20)
    assert truth.dirichlet.sum() == pytest.approx(0.3)
    normal = planted.topic_model(20, 50, proportions="logistic-normal", correlation=0.1)
    assert normal.log_covariance[0, 10] == pytest.approx(0.9)
    assert normal.log_covariance[0, 1] == 0
    assert normal.cooccurrence().sum() == pytest.approx(1)


def test_single_topics():
    corpus = planted.topic_corpus(4000, n_topics=4, n_words=50, length=20, spread=4, proportions="single")
    assert set(np.unique(corpus.proportions)) == {0, 1}
    assert (corpus.proportions.sum(axis=1) == 1).all()
    np.testing.assert_allclose(corpus.proportions.mean(axis=0), corpus.truth.prevalence, atol=0.03)
    np.testing.assert_array_equal(corpus.truth.second_moment(), np.diag(corpus.truth.prevalence))
    counts = corpus.counts.toarray()[corpus.proportions[:, 0] == 1]
    np.testing.assert_allclose(counts.mean(axis=0) / 20, corpus.topics[0], atol=0.02)


def test_bad_parameters():
    with pytest.raises(LatentiaError, match="n_topics <= n_words"):
        planted.topic_model(10, 5)
    with pytest.raises(LatentiaError, match="logistic-normal"):
        planted.topic_model(3, 5, proportions="beta")
    with pytest.raises(LatentiaError, match="spread=0.5"):
        planted.topic_model(3, 5, spread=0.5)


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.5, 0.5, 0.0], [0.5, 0.7, -0.2]])
def test_shares_of_communities_are_positive_and_one_a_community(shares):
    with pytest.raises(LatentiaError, match="3 positive numbers"):
        planted.mixed_membership_graph(60, 3, shares=shares)


def test_communities_have_their_shares():
    graph = planted.mixed_membership_graph(900, 3, alpha0=0, shares=[1, 2, 6], random_state=0)
    np.testing.assert_allclose(np.bincount(graph.labels, minlength=3) / 900, [1 / 9, 2 / 9, 6 / 9], atol=0.05)
