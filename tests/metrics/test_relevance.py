"""Which words tell a topic from the others."""

import numpy as np
import pytest

from latentia import LatentiaError
from latentia.metrics import other_topics, relevance, top_words


def language(n_topics=5, n_own=20, n_common=20, n_rare=200, share_common=0.6):
    """Topics with words of their own, common words that all have nearly alike, and rare words that chance gave to one."""
    rng = np.random.default_rng(0)
    own = np.kron(np.eye(n_topics), np.full(n_own, 0.39 / n_own))
    common = np.full((n_topics, n_common), share_common / n_common) * rng.uniform(0.9, 1.1, (n_topics, n_common))
    rare = np.zeros((n_topics, n_rare))
    rare[rng.integers(n_topics, size=n_rare), np.arange(n_rare)] = 0.01 / n_rare
    topics = np.hstack([own, common, rare])
    return topics / topics.sum(axis=1, keepdims=True)


def test_neither_common_nor_rare_words_come_first():
    topics = language()
    own = np.arange(100).reshape(5, 20)
    for compared in (topics.mean(axis=0), other_topics(topics, np.full(5, 0.2))):
        found = top_words(topics, 20, word_frequencies=compared, relevance=0.3)
        np.testing.assert_array_equal(np.sort(found), own)
    assert (top_words(topics, 20) >= 100).all()  # the most probable words are common ones


def test_a_topic_that_has_most_of_the_corpus_stands_out_against_the_others():
    topics = language()
    topics[0] = (
        0.9 * topics[:, 100:120].sum() / 5 * np.r_[np.zeros(100), topics[0, 100:120], np.zeros(200)] + 0.1 * topics[0]
    )
    topics[0] /= topics[0].sum()
    shares = np.array([0.8, 0.05, 0.05, 0.05, 0.05])
    first = top_words(topics, 5, word_frequencies=other_topics(topics, shares), relevance=0.3)[0]
    assert (first < 20).all()


def test_relevance_is_what_it_says():
    topics, frequencies = np.array([[0.5, 0.3, 0.2, 0.0]]), np.array([0.25, 0.25, 0.4, 0.1])
    rare = 0.3 / 4
    expected = 0.6 * np.log(0.3) + 0.4 * np.log((0.3 + rare) / (0.25 + rare))
    scores = relevance(topics, frequencies, 0.6)
    assert scores[0, 1] == pytest.approx(expected)
    assert scores[0, 3] == -np.inf
    np.testing.assert_allclose(relevance(topics, frequencies, 1.0)[0, :3], np.log(topics[0, :3]))
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(LatentiaError, match="relevance"):
            relevance(topics, frequencies, wrong)


def test_other_topics():
    topics = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    np.testing.assert_allclose(
        other_topics(topics, np.array([0.5, 0.3, 0.2])), [[0, 0.6, 0.4], [5 / 7, 0, 2 / 7], [0.625, 0.375, 0]]
    )
    np.testing.assert_allclose(other_topics(topics, np.array([1.0, 0, 0]))[0], [0, 0.5, 0.5])
    np.testing.assert_allclose(other_topics(topics[:1], np.ones(1)), topics[:1])


def test_all_words_where_fewer_are_there():
    assert top_words(np.array([[0.2, 0.8]]), 10).tolist() == [[1, 0]]
