"""Fits that are added to, merged and forgotten are those of one fit on the rows that are left."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import latentia
from latentia.contrastive import (
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveIsing,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
)
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning, LatentiaError, NonIntegerCountWarning
from latentia.families import FAMILIES
from latentia.fitting.additive import Additive
from latentia.ica import TensorICA
from latentia.matrices import ProbabilityMatrix
from latentia.mixtures import SphericalGaussianMixture
from latentia.moments import FramedSums
from latentia.noisyor import NoisyOr
from latentia.passes import Blocks, Folds, assign_folds_by_content
from latentia.sequences import SpectralHMM, TwoStateHMM
from latentia.topics import AnchorTopics

PIECES, ONE = 6, {"n_splits": 1}


@dataclass(frozen=True)
class Case:
    """An estimator, pieces of data for it, whether its sums have no rounding, and whether they are counts of pairs."""

    estimator: Callable[..., Any]
    pieces: Callable[[], list[tuple[Any, ...]]]
    together: Callable[[list[tuple[Any, ...]]], tuple[Any, ...]]
    bits: bool = False
    pairs: bool = False


def stacked(pieces: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(np.concatenate(parts) for parts in zip(*pieces, strict=True))


def summed(pieces: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return (sum(piece[0] for piece in pieces),)


def cut(*tables: np.ndarray) -> list[tuple[Any, ...]]:
    return list(zip(*(np.array_split(table, PIECES) for table in tables), strict=True))


@cache
def signals() -> list[tuple[Any, ...]]:
    draws = np.random.default_rng(1)
    return cut(50 + draws.laplace(size=(1800, 3)) @ draws.normal(size=(3, 5)) + 0.01 * draws.normal(size=(1800, 5)))


@cache
def clouds() -> list[tuple[Any, ...]]:
    return cut(planted.gaussian_mixture(1200, n_components=3, n_features=6, separation=8).X)


@cache
def views(kind: str) -> list[tuple[Any, ...]]:
    data = planted.contrastive_views(3000, 9 if kind == "ising" else 3, kind, linear_map="orthogonal")
    return cut(data.U, data.V, *([data.y] if data.y is not None else []))


@cache
def pairs() -> list[tuple[Any, ...]]:
    found = []
    for seed in range(PIECES):
        upper = np.triu(planted.word_pairs(2000, n_components=3, n_words=40, random_state=seed).counts.toarray())
        found.append((np.asarray(upper + np.triu(upper, 1).T, np.int64),))
    return found


@cache
def documents() -> list[tuple[Any, ...]]:
    return cut(planted.topic_corpus(1800, n_topics=3, n_words=60).counts.toarray())


CASES = {
    AnchorTopics: Case(lambda **kw: AnchorTopics(3, embedding="projection", **ONE | kw), documents, stacked, bits=True),
    TensorICA: Case(lambda **kw: TensorICA(3, **ONE | kw), signals, stacked),
    SphericalGaussianMixture: Case(lambda **kw: SphericalGaussianMixture(3, **ONE | kw), clouds, stacked),
    ContrastivePCA: Case(lambda **kw: ContrastivePCA(**ONE | kw), lambda: views("pca"), stacked),
    ContrastiveComponents: Case(lambda **kw: ContrastiveComponents(**ONE | kw), lambda: views("pca"), stacked),
    ContrastiveGaussianMixture: Case(
        lambda **kw: ContrastiveGaussianMixture(2, **ONE | kw), lambda: views("mixture"), stacked
    ),
    ContrastiveRegression: Case(lambda **kw: ContrastiveRegression(**ONE | kw), lambda: views("regression"), stacked),
    ContrastiveLogisticRegression: Case(
        lambda **kw: ContrastiveLogisticRegression(**ONE | kw), lambda: views("logistic"), stacked
    ),
    ContrastiveIsing: Case(lambda **kw: ContrastiveIsing(**ONE | kw), lambda: views("ising"), stacked),
    ProbabilityMatrix: Case(lambda **kw: ProbabilityMatrix(3, **ONE | kw), pairs, summed, bits=True, pairs=True),
}
COUNTED = {NoisyOr, SpectralHMM, TwoStateHMM}  # see test_additive_counts.py
SOME = (AnchorTopics, TensorICA, SphericalGaussianMixture, ContrastivePCA, ProbabilityMatrix)
each = pytest.mark.parametrize("case", CASES.values(), ids=[cls.__name__ for cls in CASES])
pytestmark = pytest.mark.filterwarnings("ignore")


@cache
def fit_of(cls: type, chosen: tuple[int, ...]) -> Any:
    case = CASES[cls]
    return case.estimator(keep_moments=True).fit(*case.together([case.pieces()[i] for i in chosen]))


def fit(case: Case, *chosen: int) -> Any:
    return fit_of(next(cls for cls, one in CASES.items() if one is case), tuple(sorted(chosen)))


def assert_same(case: Case, one: Any, other: Any) -> None:
    for name in set(one._compared) - {"vectorizer_"}:
        if name == "_matrix":
            np.testing.assert_array_equal(one.rows([0, 7]), other.rows([0, 7]))
            continue
        first, second = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        np.testing.assert_allclose(first, second, rtol=0, atol=0 if case.bits else 1e-9 * np.abs(second).max())
    np.testing.assert_allclose(
        one.evidence_.component_errors, other.evidence_.component_errors, rtol=0 if case.bits else 1e-6
    )
    assert one.evidence_.grade == other.evidence_.grade
    assert [check.name for check in one.evidence_.checks] == [check.name for check in other.evidence_.checks]


def test_every_estimator_that_adds_has_a_case():
    assert {one for family in FAMILIES for one in family.classes() if issubclass(one, Additive)} == {*CASES, *COUNTED}


@pytest.mark.parametrize("case", [CASES[cls] for cls in SOME], ids=[cls.__name__ for cls in SOME])
@settings(max_examples=4, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_order_of_changes_is_one_fit_on_what_is_left(case, data):
    order = data.draw(st.permutations(range(PIECES)))
    n, gone = data.draw(st.integers(3, PIECES)), data.draw(st.integers(0, 1))
    model = case.estimator()
    for i in order[:n]:
        model.partial_fit(*case.pieces()[i])
    if not case.pairs:  # rows have weights, which say how often they are there
        piece = case.pieces()[order[0]]
        times = np.random.default_rng(data.draw(st.integers(0, 9))).integers(1, 4, size=len(piece[0]))
        model.partial_fit(*piece, sample_weight=times).forget(*piece, sample_weight=times - 1)
        model.forget(*piece)
    if gone:
        model.forget(*case.pieces()[order[1]])
    assert_same(case, model, fit(case, *[i for i in order[:n] if not (gone and i == order[1])]))


@each
@pytest.mark.parametrize("size", [10.0, 1e3, 1e6])
def test_rows_far_out_leave_no_trace(case, size):
    """In one column and in all, added to a fit on the other rows."""
    whole, first = fit(case, *range(PIECES)), case.together(case.pieces())
    signs = np.array([[1], [-1], [1], [1]])
    for columns in (slice(0, 1), slice(None)):
        far = [table.copy() if case.pairs else np.array(table[:4]) for table in first]
        for table, other in zip(far[:2], first, strict=False):
            if case.pairs:  # counts of pairs
                table[columns, columns] += int(size)
            elif table.dtype.kind == "i":
                table[:, columns] += int(size)
            else:
                table[:, columns] += size * other.std(axis=0)[columns] * signs
        model = latentia.merge([whole])
        model.partial_fit(*far)
        model.forget(*far)
        assert_same(case, model, whole)


@pytest.mark.parametrize("cls", [SphericalGaussianMixture, TensorICA])
def test_rows_far_out_of_a_first_fit_leave_no_trace(cls):
    case = CASES[cls]
    (X,) = stacked(case.pieces())
    far = X[:4] + 1e6 * X.std(axis=0)
    model = case.estimator(n_splits=0).partial_fit(np.concatenate([X, far]))
    model.forget(far)
    for one in far + 1e5 * X.std(axis=0):  # and one by one
        model.partial_fit(one[None])
        model.forget(one[None])
    whole = case.estimator(keep_moments=True, n_splits=0).fit(X)
    np.testing.assert_allclose(
        model.mean_ if cls is TensorICA else model.means_, whole.mean_ if cls is TensorICA else whole.means_, rtol=1e-9
    )
    np.testing.assert_allclose(model.moments_.columns.variance, whole.moments_.columns.variance, rtol=1e-9)


def test_rows_that_could_not_be_forgotten_are_refused_and_change_nothing():
    (X,) = stacked(clouds())
    model = SphericalGaussianMixture(3, n_splits=1).partial_fit(X)
    far = X[:2].copy()
    far[1, 4] = 1e9
    with pytest.raises(LatentiaError, match="Column 4 has an entry of 1e.09"):
        model.partial_fit(far)
    with pytest.raises(LatentiaError, match="Column 4"):
        SphericalGaussianMixture(3, keep_moments=True).fit(np.concatenate([X, far]))
    with pytest.raises(LatentiaError, match="Column 3"):  # a batch that is far out as a whole
        model.partial_fit(X + 1e9)
    assert model.moments_.n_rows == len(X)
    constant = np.column_stack([X, np.full(len(X), 5.0)])
    model = SphericalGaussianMixture(3, n_splits=1).partial_fit(constant)
    model.partial_fit(constant[:1] * [1] * 6 + [0, 0, 0, 0, 0, 0, 1e12])  # no digit of it can be lost


def test_few_rows_and_batches_elsewhere_are_exact():
    X = np.random.default_rng(5).normal(size=(500, 3))
    single = SphericalGaussianMixture(2, n_splits=0).partial_fit(X[:2])
    for row in X[2:100]:
        single.partial_fit(row[None])
    moved = single.partial_fit(X[100:] + 1e5)
    moved.forget(X[100:] + 1e5)
    kept = FramedSums.from_blocks(Blocks.from_array(X[:100]), 3, assign_folds_by_content(Blocks.from_array(X[:100])))
    np.testing.assert_allclose(moved.moments_.covariance, kept.covariance, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moved.moments_.change_frame(kept.center, kept.scale).sums, kept.sums, atol=1e-7)


@each
def test_a_row_is_added_and_forgotten(case):
    first, last = case.together(case.pieces()[:-1]), case.pieces()[-1]
    one = last if case.pairs else tuple(table[:1] for table in last)
    model = case.estimator(keep_moments=True).fit(*first)
    assert model.partial_fit(*one).moments_.n_rows > fit(case, *range(PIECES - 1)).moments_.n_rows
    model.forget(*one)
    assert_same(case, model, fit(case, *range(PIECES - 1)))


@each
def test_merged_saved_and_forgotten(case, tmp_path):
    pieces = case.pieces()
    one = case.estimator().partial_fit(*case.together(pieces[:2]))
    other = case.estimator(n_jobs=2).partial_fit(*case.together(pieces[2:5]))
    merged = latentia.merge([other, one])
    assert_same(case, merged, fit(case, 0, 1, 2, 3, 4))
    loaded = latentia.load(latentia.save(merged, tmp_path / "model"))
    before = loaded.moments_.n_bytes
    receipt = loaded.forget(*pieces[1])
    assert_same(case, loaded, fit(case, 0, 2, 3, 4))
    again = loaded.partial_fit(*pieces[1])
    assert again.moments_.n_rows == receipt.n_rows + receipt.n_left == merged.moments_.n_rows
    assert_same(case, again, merged)
    assert loaded.moments_.n_bytes == pytest.approx(before, rel=0.2)
    turned = [part[::-1] for part in pieces[1]] if not case.pairs else pieces[1]
    assert case.estimator().partial_fit(*case.together(pieces[:3])).forget(*turned).digest == receipt.digest


@each
def test_what_cannot_be_put_together(case):
    pieces = case.pieces()
    model = case.estimator(keep_moments=True).fit(*pieces[0])
    state = dict(vars(model))
    plain = case.estimator().fit(*case.together(pieces[:3]))
    with pytest.raises(LatentiaError, match="kept no moments"):
        plain.forget(*pieces[0])
    with pytest.raises(LatentiaError, match="kept no moments"):
        latentia.merge([model, plain])
    with pytest.warns(DroppedDataWarning, match="were not kept"):
        assert plain.partial_fit(*pieces[0]).moments_.n_rows == model.moments_.n_rows
    with pytest.raises(LatentiaError, match="no rows yet"):
        case.estimator().forget(*pieces[0])
    with pytest.raises(LatentiaError):
        model.forget(*pieces[0])  # no row would be left
    with pytest.raises(LatentiaError):
        model.partial_fit(*(part[:, :-1] if np.ndim(part) == 2 else part for part in pieces[1]))
    assert vars(model) == state
    with pytest.raises(LatentiaError, match="Models 0 and 1 have n_splits"):
        latentia.merge([model, case.estimator(keep_moments=True, n_splits=0).fit(*pieces[1])])
    with pytest.raises(LatentiaError, match="has not been fitted"):
        latentia.merge([case.estimator(keep_moments=True)])


def test_models_of_different_columns_are_not_merged():
    pd = pytest.importorskip("pandas")
    (X,), (Y,) = clouds()[:2]
    one, other = (
        SphericalGaussianMixture(3, **ONE).partial_fit(pd.DataFrame(table, columns=list(names)))
        for table, names in ((X, "abcdef"), (Y, "abcdeg"))
    )
    with pytest.raises(LatentiaError, match="differ in feature names in"):
        latentia.merge([one, other])
    with pytest.raises(LatentiaError, match="cannot be merged"):
        latentia.merge([one, object()])


def test_topics_of_texts_keep_the_words_of_the_first_batch():
    texts = ["lamb and dog at home"] * 40 + ["a ship on the sea"] * 40 + ["lamb ship dog sea home"] * 40
    new = AnchorTopics(2, embedding="projection", min_df=1)
    model = new.partial_fit(texts[::2]).partial_fit(["a new lamb", *texts[1::2]])
    assert model.column_names == ["dog", "home", "lamb", "sea", "ship"]
    assert model.moments_.n_rows == 121
    counts = model.counted(["a new lamb", *texts])
    whole = AnchorTopics(2, embedding="projection", min_df=1, keep_moments=True).fit(counts)
    np.testing.assert_allclose(model.components_, whole.components_, atol=1e-9)
    refined = AnchorTopics(2, embedding="projection", min_df=1, refine=3).partial_fit(texts, refine_on=texts[:60])
    assert refined.n_iter_ == 3


def test_topics_that_are_not_made_of_sums_are_not_added():
    with pytest.raises(LatentiaError, match="kept moments need"):
        AnchorTopics(3, embedding="subspace").partial_fit(*documents()[0])


def test_sums_of_topics_are_those_of_the_same_columns_and_of_documents_that_are_there():
    (counts,), (other,) = documents()[:2]
    options = {"embedding": "projection", "n_splits": 0}
    model = AnchorTopics(3, **options).partial_fit(counts)
    drawn = [AnchorTopics(3, random_state=None, **options).partial_fit(rows) for rows in (counts, other)]
    with pytest.raises(LatentiaError, match="drew different columns.*same random_state"):
        latentia.merge(drawn)
    for rows, message in ((np.concatenate([counts, counts]), "never added"), (counts, "No document would remain")):
        with pytest.raises(LatentiaError, match=message):
            model.forget(rows)
    for unit, warned in ((1.0, False), (0.5, True)):
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            AnchorTopics(3, keep_moments=True, **options).fit(unit * counts)
        assert any(issubclass(message.category, NonIntegerCountWarning) for message in messages) == warned


def test_pairs_that_were_not_there_are_not_forgotten():
    model = ProbabilityMatrix(3).partial_fit(*pairs()[0])
    with pytest.raises(LatentiaError, match="not all among those|never added"):
        model.forget(pairs()[1][0] * 5)


def test_a_model_of_moments_is_refined_on_rows_that_are_given():
    model = SphericalGaussianMixture(3)
    for piece in clouds()[:-1]:
        model.partial_fit(*piece)
    assert model.n_iter_ == 0
    assert "It was not refined" in str(model.evidence_.table())
    X = stacked(clouds())[0]
    model.partial_fit(*clouds()[-1], refine_on=X)
    assert model.n_iter_ > 0
    plain = SphericalGaussianMixture(3, method="hsu-kakade").fit(X)
    np.testing.assert_allclose(model.means_, plain.means_, atol=0.02)


def test_balls_alone_are_told_by_moments():
    with pytest.raises(LatentiaError, match="covariance_type"):
        SphericalGaussianMixture(3, covariance_type="full").partial_fit(*clouds()[0])


@pytest.mark.parametrize("cls", [TensorICA, SphericalGaussianMixture, ContrastivePCA, ContrastiveRegression])
def test_over_dask(cls):
    dask = pytest.importorskip("dask.array")
    case, model = CASES[cls], CASES[cls].estimator()
    for piece in case.pieces()[:3]:
        model.partial_fit(*[dask.from_array(part, chunks=(100, *part.shape[1:])) for part in piece])
    model.forget(*[dask.from_array(part) for part in case.pieces()[1]])
    assert_same(case, model, fit(case, 0, 2))


def test_weights_of_pairs_are_their_counts():
    with pytest.raises(LatentiaError, match="Multiply the counts"):
        ProbabilityMatrix(3).partial_fit(*pairs()[0], sample_weight=np.ones(40, int))


def test_from_blocks_and_frames():
    (X,) = stacked(signals())
    one = TensorICA(3).partial_fit(Blocks.from_array(X[:700], block_rows=50)).partial_fit(X[700:])
    np.testing.assert_allclose(one.components_, fit_of(TensorICA, tuple(range(PIECES))).components_, atol=1e-9)


def test_sums_are_those_of_rows_whatever_the_frame():
    X = np.random.default_rng(3).gamma(2.0, size=(400, 3)) * [1, 100, 0.01] + [5, -1e4, 0]
    folds = assign_folds_by_content(Blocks.from_array(X))
    for order in (3, 4):
        whole = FramedSums.from_blocks(Blocks.from_array(X), order, folds)
        first, second = (Blocks.from_array(part) for part in (X[:150], X[150:]))
        parts = [FramedSums.from_blocks(part, order, assign_folds_by_content(part)) for part in (first, second)]
        total = parts[1].plus(parts[0])
        np.testing.assert_allclose(total.columns.mean, X.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(total.covariance, np.cov(X.T, bias=True), rtol=1e-9)
        np.testing.assert_allclose(total.change_frame(whole.center, whole.scale).sums, whole.sums, rtol=1e-9, atol=1e-6)
        np.testing.assert_allclose(
            total.plus(parts[0], -1).change_frame(*_choose_frame(parts[1])).sums, parts[1].sums, atol=1e-6
        )


def _choose_frame(sums: FramedSums) -> tuple[np.ndarray, np.ndarray]:
    return sums.center, sums.scale


def test_groups_hang_on_the_content_of_rows_alone():
    X = np.random.default_rng(4).normal(size=(4000, 3))
    groups = assign_folds_by_content(Blocks.from_array(X)).of(np.arange(4000))
    np.testing.assert_array_equal(assign_folds_by_content(Blocks.from_array(X[::-1])).of(np.arange(4000)), groups[::-1])
    assert np.bincount(groups).min() > 900
    assert isinstance(assign_folds_by_content(Blocks.from_array(X)), Folds)
