"""The words that stand for a topic go together, and the same ones stand wherever words are shown."""

import numpy as np
import pytest
from scipy import sparse

import latentia
from latentia.metrics import npmi_coherence, other_topics
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA
from latentia.topics.display_words import order_words


def two_themes(n=2000, rng=None):
    """A topic of two themes, of 20 words each, that are never in one document; and one of 20 other words."""
    rng = np.random.default_rng(0) if rng is None else rng
    theme = rng.choice(3, n, p=[0.3, 0.2, 0.5])
    counts = np.zeros((n, 60), dtype=int)
    for k in range(3):
        rows = theme == k
        counts[rows, 20 * k : 20 * k + 20] = rng.poisson(0.7, (rows.sum(), 20))
    return sparse.csr_array(counts)


def topics():
    return np.array([np.r_[np.full(40, 1 / 40), np.zeros(20)], np.r_[np.zeros(40), np.full(20, 1 / 20)]])


def shown(components, order):
    """Scores by which `npmi_coherence` reads the words that are shown."""
    scores = np.zeros(components.shape)
    np.put_along_axis(scores, order, np.arange(order.shape[1], 0, -1.0)[None], axis=1)
    return scores


def test_words_of_one_theme_come_first():
    table, rng = two_themes(), np.random.default_rng(1)
    mixed = topics() * rng.uniform(0.8, 1.2, (2, 60))  # whose most probable words are of both themes
    mixed /= mixed.sum(axis=1, keepdims=True)
    order = order_words(mixed, other_topics(mixed, np.full(2, 0.5)), table)
    assert len({word // 20 for word in order[0, :10]}) == 1
    assert set(order[1, :10]) <= set(range(40, 60))
    held_out = two_themes(rng=np.random.default_rng(2))
    coherence = [npmi_coherence(some, held_out)[0] for some in (mixed, shown(mixed, order))]
    assert coherence[1] > coherence[0] + 0.3


def test_without_documents_the_order_is_that_of_lift():
    mixed = topics() * np.random.default_rng(1).uniform(0.8, 1.2, (2, 60))
    others = other_topics(mixed, np.full(2, 0.5))
    for table in (sparse.csr_array((0, 60)), sparse.csr_array((5, 60)), sparse.csr_array(np.eye(60))):
        order = order_words(mixed, others, table)
        assert (np.diff(np.take_along_axis(mixed, order, axis=1)[:, :20]) <= 0).all()


@pytest.mark.parametrize("kind", [AnchorTopics, SpectralLDA, SingleTopicModel])
def test_the_same_words_everywhere(kind, tmp_path):
    names = [f"w{i:02}" for i in range(60)]
    model = kind(3, vocabulary=names).fit(two_themes())
    words = model.top_words(10)
    for k, row in enumerate(words):
        assert model.topic_table().loc[k, "words"] == " ".join(row)
        assert model.find_topics(row[3]).loc[k, "rank"] == 4
        assert model.get_feature_names_out()[k] == "_".join([f"topic{k}", *row[:3]])
    loaded = latentia.load(latentia.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.top_words(60), model.top_words(60))
    merged = model.merge([[0, 2]])
    np.testing.assert_array_equal(merged.top_words(10)[1], words[1])
    assert set(merged.top_words(4)[0]) <= {*words[0][:4], *words[2][:4]}


def test_edited_anchors_leave_no_order_behind():
    model = AnchorTopics(3).fit(two_themes())
    edited = model.reanchor(model.anchors_.tolist())
    relevant = np.argsort(-edited._relevance(), axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(edited.word_columns(), relevant)
