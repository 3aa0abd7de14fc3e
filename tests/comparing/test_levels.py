"""Components of one model are grouped on coarser levels, and each split says how far the data supports it."""

import numpy as np
import pandas as pd
import pytest

import latentia
from latentia.communities import MixedMembershipBlockModel
from latentia.comparing import Profile
from latentia.comparing.levels import find_levels
from latentia.ica import TensorICA
from latentia.metrics.matching import l1_distances
from latentia.mixtures import SphericalGaussianMixture
from latentia.topics import AnchorTopics

POINTS = np.array([[0.0, 0], [0, 2], [20, 0], [20, 2], [0, 30], [2, 30]])
GROUPS = [0, 0, 1, 1, 2, 2]


def euclidean(first, second):
    return np.linalg.norm(first[:, None] - second[None], axis=2)


def levels_of_points(points, errors, shares=None):
    profile = Profile(points, np.ones(len(points)) if shares is None else shares, distances=euclidean)
    return find_levels(profile, np.asarray(errors), [f"<b>part {i}\x1b" for i in range(len(points))])


@pytest.fixture(scope="module")
def mixture():
    rng = np.random.default_rng(1)
    means = np.hstack([3 * POINTS, np.zeros((6, 2))])
    X = means[rng.integers(6, size=3000)] + rng.standard_normal((3000, 4))
    return SphericalGaussianMixture(6).fit(pd.DataFrame(X, columns=list("wxyz")))


def test_two_levels_are_suggested_and_supported():
    levels = levels_of_points(POINTS, np.full(6, 0.1))
    assert levels.suggested == 3
    assert levels.cut().tolist() == GROUPS
    assert levels.cut(1).tolist() == [0] * 6
    assert levels.cut(6).tolist() == list(range(6))
    assert {join.grade for join in levels.joins[:3]} == {"supported"}


def test_cuts_are_nested():
    levels = levels_of_points(np.random.default_rng(0).standard_normal((9, 3)), np.full(9, 0.1))
    for k in range(2, 10):
        coarse, fine = levels.cut(k - 1), levels.cut(k)
        assert len(set(fine.tolist())) == k
        assert all(len(set(coarse[fine == group].tolist())) == 1 for group in range(k))


def test_splits_within_the_error_are_not_supported():
    levels = levels_of_points(POINTS, np.full(6, 2.0))
    assert [join.grade for join in levels.joins[:3]] == ["not supported"] * 3
    assert levels.joins[-1].grade != "not supported"


def test_no_split_rests_on_components_that_are_not_reliable():
    profile = Profile(POINTS, np.ones(6), distances=euclidean)
    levels = find_levels(profile, np.full(6, 0.1), list("abcdef"), np.array([True, False] * 3))
    assert [join.grade for join in levels.joins[:3]] == ["not supported"] * 3
    assert levels.suggested == 3
    assert levels.joins[-1].grade != "not supported"


def test_components_equally_far_apart_have_no_upper_level():
    levels = levels_of_points(np.eye(5), np.full(5, 0.01))
    assert levels.suggested == 5
    assert "supported" not in {join.grade for join in levels.joins if join.first >= 5 and join.second >= 5}


def test_joint_error_and_distance_are_weighted_by_shares():
    levels = levels_of_points(np.array([[0.0], [1.0], [9.0]]), [0.3, 0.4, 0.5], np.array([3.0, 1.0, 2.0]))
    assert levels.joins[0].joint_error == pytest.approx(np.hypot(0.3, 0.4))
    assert levels.joins[1].distance == pytest.approx(9 - 0.25)
    assert levels.joins[1].joint_error == pytest.approx(np.linalg.norm([0.75 * 0.3, 0.25 * 0.4, 0.5]))


def test_components_without_share_and_single_ones():
    levels = levels_of_points(POINTS, np.full(6, 0.1), np.array([0.0, 1, 1, 1, 1, 1]))
    assert np.isfinite(levels.joins[-1].distance)
    single = levels_of_points(POINTS[:1], [0.1])
    assert single.suggested == 1
    assert single.cut().tolist() == [0]
    assert "part 0" in str(single)


def test_frames_texts_and_pages():
    levels = levels_of_points(POINTS, np.full(6, 0.1))
    assert list(levels.to_frame().columns) == ["join", "first", "second", "distance", "joint_error", "grade"]
    assert "\x1b" not in str(levels)
    assert len(str(levels).splitlines()) == 11
    html = levels._repr_html_()
    assert "<b>" not in html
    assert html.count("<details") == html.count("</details>") == 5
    for k in (7, 0, 2.5, "3"):
        with pytest.raises(latentia.LatentiaError, match="from 1 to 6"):
            levels.cut(k)


def test_mixtures(mixture):
    truth = mixture.predict(pd.DataFrame(np.hstack([3 * POINTS, np.zeros((6, 2))]), columns=list("wxyz")))
    labels = mixture.levels().cut(3)[truth]
    assert labels[0] == labels[1]
    assert labels[2] == labels[3]
    assert labels[4] == labels[5]
    assert len(set(labels.tolist())) == 3
    *groups, root = mixture.levels().group_names
    assert root == "6 components"
    assert all(": " in name for name in groups)


def test_topics_are_named_by_their_words():
    corpus = latentia.datasets.planted.topic_corpus(1500, n_topics=4, n_words=60, random_state=1)
    model = AnchorTopics(4, vocabulary=[f"word{i}" for i in range(60)]).fit(corpus.counts)
    levels = model.levels()
    assert levels.names[0].startswith("topic 0: word")
    assert model._profile_of_levels().distances is l1_distances


def test_communities_are_grouped_by_their_links():
    rng = np.random.default_rng(0)
    rates = np.kron(np.eye(2), np.full((2, 2), 0.15)) + 0.02 + 0.3 * np.eye(4)
    labels = np.repeat(np.arange(4), 60)
    upper = np.triu(rng.random((240, 240)) < rates[labels][:, labels], 1)
    model = MixedMembershipBlockModel(4).fit((upper | upper.T).astype(float))
    groups = model.levels().cut(2)[model.labels_[[0, 60, 120, 180]]]
    assert groups[0] == groups[1] != groups[2] == groups[3]


def test_models_without_errors_or_rows():
    X = np.random.default_rng(0).laplace(size=(500, 3))
    with pytest.raises(latentia.LatentiaError, match="cannot be grouped"):
        TensorICA(3).fit(X).levels()
    with pytest.raises(latentia.LatentiaError, match="n_splits"):
        SphericalGaussianMixture(2, n_splits=0).fit(X).levels()
