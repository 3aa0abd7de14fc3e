"""Components of two models are named by what happened to them."""

import numpy as np
import pandas as pd
import pytest

import latentia
from latentia.comparing import Profile
from latentia.comparing.matching import _match_profiles
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture

MEANS = 10 * np.eye(4)[:, :4]
NAMES = ["age", "<b>height", "=weight", "\x1b[31mred"]


def fit(means, seed, order=(0, 1, 2, 3), **options):
    rng = np.random.default_rng(seed)
    X = means[rng.integers(len(means), size=1500)] + rng.standard_normal((1500, 4))
    frame = pd.DataFrame(X, columns=NAMES)[[NAMES[i] for i in order]]
    return SphericalGaussianMixture(len(means), **options).fit(frame)


@pytest.fixture(scope="module")
def model():
    return fit(MEANS, 1)


def test_nothing_changed_whatever_the_order_of_columns(model):
    match = latentia.match(model, fit(MEANS, 2, order=(2, 0, 3, 1)))
    assert list(match.to_frame().columns) == ["a", "b", "distance", "joint_error", "status"]
    assert [pair.a for pair in match.pairs] == [0, 1, 2, 3]
    assert sorted(pair.b for pair in match.pairs) == [0, 1, 2, 3]
    assert all(first.split()[0] == second.split()[0] for first, second in match.names)
    assert [pair.status for pair in match.pairs].count("same") >= 3


def test_changed_names_the_column_that_moved(model):
    means = MEANS.copy()
    means[0, 2] += 3
    changed = [
        pair for pair in latentia.match(model, fit(means, 3)).pairs if pair.status == "changed" and pair.distance > 2
    ]
    assert len(changed) == 1
    name, before, after = changed[0].largest_moves[0]
    assert name == "=weight"
    assert after - before == pytest.approx(3, abs=0.5)


def test_new_and_gone(model):
    more = fit(np.vstack([MEANS, -10 * np.ones(4)]), 4)
    assert [pair.status for pair in latentia.match(model, more).pairs].count("new") == 1
    assert [pair.status for pair in latentia.match(more, model).pairs].count("gone") == 1


def test_pairs_that_only_their_errors_make_equal_are_named(model):
    few = fit(MEANS, 7)
    far = latentia.match(model, few)
    assert not any("errors are too large" in message for message in far.messages)
    errors = np.full(4, 12.0)
    few.evidence_.of_components.component_errors = errors
    moved = few.means_.copy()
    few.means_ = moved + 11 * np.array([1, 0, 0, 0])
    (message,) = latentia.match(model, few).messages
    assert "errors are too large" in message


def test_hostile_names_are_escaped(model):
    match = latentia.match(model, fit(MEANS + 1.5, 5))
    assert "\x1b" not in str(match)
    assert "<b>" not in match._repr_html_()


def test_split_and_merged():
    whole = Profile(np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]), np.array([0.5, 0.5]))
    parts = Profile(np.array([[0.9, 0.1, 0, 0], [0.1, 0.9, 0, 0], [0, 0, 0.5, 0.5]]), np.array([0.25, 0.25, 0.5]))
    errors = np.full(3, 0.05)
    names = list("wxyz")
    split = _match_profiles(whole, parts, errors[:2], errors, names)
    assert [(p.a, p.b, p.status) for p in split] == [(0, 0, "split"), (0, 1, "split"), (1, 2, "same")]
    merged = _match_profiles(parts, whole, errors, errors[:2], names)
    assert [(p.a, p.b, p.status) for p in merged] == [(0, 0, "merged"), (1, 0, "merged"), (2, 1, "same")]


@pytest.mark.parametrize("moved", [0.1, 0.9])
def test_a_component_that_splits_may_change_too(moved):
    """Both parts are further from the component than errors allow, and together much nearer than each alone."""
    whole = Profile(np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]), np.array([0.5, 0.5]))
    parts = np.array([[0.9, 0.1, 0, 0], [0.1, 0.9, 0, 0], [0, 0, 0, 1.0]])
    parts[:2] = (1 - moved) * parts[:2] + moved * np.array([0, 0, 1, 0])
    pairs = _match_profiles(whole, Profile(parts, np.full(3, 1 / 3)), np.full(2, 0.01), np.full(3, 0.01), list("wxyz"))
    statuses = [pair.status for pair in pairs]
    assert statuses == (["split", "split", "same"] if moved == 0.1 else ["gone", "same", "new", "new"])


def test_words_of_one_side_count_and_are_named():
    from latentia.comparing.profile import align_profiles

    a = Profile(np.array([[0.7, 0.3]]), np.ones(1), ["x", "only a"])
    b = Profile(np.array([[1.0]]), np.ones(1), ["x"])
    first, second, names, messages = align_profiles(a, b)
    assert names == ["x", "only a"]
    assert first.measure(first.values, second.values) == pytest.approx(0.6)
    assert "30.0%" in messages[0]


def test_what_cannot_be_matched(model):
    with pytest.raises(latentia.LatentiaError, match="n_splits"):
        latentia.match(model, fit(MEANS, 6, n_splits=0))
    X = np.random.default_rng(0).laplace(size=(500, 3))
    sources = TensorICA(3).fit(X)
    with pytest.raises(latentia.LatentiaError, match="one class"):
        latentia.match(model, sources)
    with pytest.raises(latentia.LatentiaError, match="found NoneType"):
        latentia.match(model, None)
    with pytest.raises(latentia.LatentiaError, match="cannot be compared"):
        latentia.match(sources, sources)
