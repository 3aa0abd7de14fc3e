"""Agreement of covers, and of scores with edges."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from latentia.exceptions import LatentiaError
from latentia.metrics import communities, link_auc, overlapping_f1, overlapping_nmi

RNG = np.random.default_rng(0)
COVER = RNG.random((60, 5)) < 0.3
OTHER = RNG.random((60, 7)) < 0.2


def as_sets(memberships):
    return [set(np.flatnonzero(column).tolist()) for column in memberships.T]


def h(w, n):
    return 0.0 if w == 0 else -w * np.log2(w / n)


def naive_nmi(X, Y, n):
    """McDaid, Greene and Hurley, section 2, one formula a line."""

    def entropy(x):
        return h(len(x), n) + h(n - len(x), n)

    def conditional(x, y):
        d, c, b = len(x & y), len(x - y), len(y - x)
        a = n - b - c - d
        if h(a, n) + h(d, n) >= h(b, n) + h(c, n):
            return h(a, n) + h(b, n) + h(c, n) + h(d, n) - h(b + d, n) - h(a + c, n)
        return entropy(x)

    def left(X, Y):
        return sum(min(conditional(x, y) for y in Y) for x in X)

    of_x, of_y = sum(map(entropy, X)), sum(map(entropy, Y))
    return (of_x - left(X, Y) + of_y - left(Y, X)) / 2 / max(of_x, of_y)


def naive_f1(X, Y):
    def score(x, y):
        return 2 * len(x & y) / (len(x) + len(y))

    return (np.mean([max(score(x, y) for y in Y) for x in X]) + np.mean([max(score(x, y) for x in X) for y in Y])) / 2


@pytest.mark.parametrize("at_once", [1 << 22, 10])
def test_against_the_formulas_one_by_one(monkeypatch, at_once):
    monkeypatch.setattr(communities, "_CHUNK_PAIRS", at_once)
    near = COVER ^ (RNG.random(COVER.shape) < 0.05)
    for found, true in ((COVER, OTHER), (near, COVER), (OTHER[:, :1], COVER), (np.c_[COVER, OTHER], OTHER)):
        assert overlapping_nmi(found, true) == pytest.approx(naive_nmi(as_sets(found), as_sets(true), 60), abs=1e-12)
        assert overlapping_f1(found, true) == pytest.approx(naive_f1(as_sets(found), as_sets(true)))


def test_equal_covers():
    order = RNG.permutation(5)
    assert overlapping_nmi(COVER, COVER[:, order]) == pytest.approx(1)
    assert overlapping_f1(COVER, COVER[:, order]) == 1


def test_independent_covers():
    found, true = RNG.random((2, 5000, 4)) < 0.2
    assert 0 <= overlapping_nmi(found, true) < 0.005
    assert overlapping_nmi([{0, 1}, {2, 3}], [{0, 2}, {1, 3}], n_nodes=4) == 0


def test_a_complement_is_no_match():
    half = np.arange(10) < 5
    assert overlapping_nmi(half[:, None], ~half[:, None]) == 0
    assert overlapping_f1(half[:, None], ~half[:, None]) == 0
    assert overlapping_nmi(np.ones((4, 1)), np.ones((4, 2))) == 1  # nothing is left to tell


def test_better_covers_score_more():
    values = [
        [measure(COVER ^ (np.random.default_rng(1).random(COVER.shape) < noise), COVER) for noise in (0, 0.05, 0.15, 0.4)]
        for measure in (overlapping_nmi, overlapping_f1)
    ]  # fmt: skip
    for each in values:
        assert each == sorted(each, reverse=True)


def test_forms_of_communities():
    pd = pytest.importorskip("pandas")
    sets = as_sets(OTHER)
    expected = overlapping_nmi(COVER, OTHER), overlapping_f1(COVER, OTHER)
    for other in (
        OTHER.astype(float), sparse.csc_matrix(OTHER), pd.DataFrame(OTHER), sets, tuple(map(sorted, sets)),
        [np.array(sorted(each)) for each in sets], [*sets, set(), []], np.c_[OTHER, np.zeros(60, dtype=bool)],
    ):  # fmt: skip
        assert (overlapping_nmi(COVER, other), overlapping_f1(COVER, other)) == pytest.approx(expected)
        assert (overlapping_nmi(other, COVER), overlapping_f1(other, COVER)) == pytest.approx(expected)
    assert overlapping_nmi(as_sets(COVER), sets, n_nodes=60) == pytest.approx(expected[0])
    assert overlapping_f1(as_sets(COVER), sets) == pytest.approx(expected[1])


@pytest.mark.parametrize(
    ("found", "n_nodes", "message"),
    [
        (np.full((60, 2), 0.5), None, "recovered has the value 0.5; expected memberships of 0 or 1"),
        (np.array([["a"]]), None, "type <U1; expected truth values"),
        (COVER[:50], None, "of 50 nodes and of 60"),
        (COVER, 61, "of 60 nodes and of 61"),
        ([{0, 60}], None, "found has the node 60, and there are 60 nodes"),
        ([{-1}], None, "recovered, community 0 has the node .*-1"),
        ([{0.5}], None, "community 0 has the node .*0.5"),
        ([{"ann"}], None, "community 0 has the node .*'ann'"),
        (3, None, "recovered must be an array of memberships or a list of sets"),
        ([set()], None, "recovered: expected at least one community"),
        (np.zeros((60, 3)), None, "recovered: expected at least one community"),
        (COVER, 0, "n_nodes=0: expected at least 1 node"),
    ],
)
def test_what_are_no_communities(found, n_nodes, message):
    with pytest.raises(LatentiaError, match=message):
        overlapping_nmi(found, COVER, n_nodes)


def test_lists_do_not_say_how_many_nodes_there_are():
    with pytest.raises(LatentiaError, match="give n_nodes"):
        overlapping_nmi([{0, 1}], [{0, 1}])


def test_scores_of_links():
    edges, others = np.round(RNG.normal(1, 1, 300), 1), np.round(RNG.normal(0, 1, 500), 1)  # with ties
    expected = roc_auc_score(np.repeat([1, 0], [300, 500]), np.r_[edges, others])
    assert link_auc(edges, others) == pytest.approx(expected)
    assert link_auc(others, edges) == pytest.approx(1 - expected)
    assert link_auc([1, 2], [0]) == 1
    assert link_auc([1, 1], [1]) == 0.5
    assert link_auc([0.0], [-np.inf]) == 1


@pytest.mark.parametrize(
    ("edges", "others", "message"),
    [
        ([], [1.0], r"scores_of_edges has shape \(0,\)"),
        ([1.0], [[1.0]], r"scores_of_non_edges has shape \(1, 1\)"),
        ([1.0], [0.0, np.nan], "scores_of_non_edges has NaN at 1"),
        (["a"], [0.0], "scores_of_edges must be numbers"),
    ],
)
def test_what_are_no_scores(edges, others, message):
    with pytest.raises(LatentiaError, match=message):
        link_auc(edges, others)
