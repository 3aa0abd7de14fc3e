"""Counts that are kept in the place of rows: any order of changes has the bits of one fit on what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import latentia
from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.moments.additive import copy_inflation, count_remainders, shrink_to_mean
from latentia.noisyor import NoisyOr
from latentia.noisyor._sufficient_statistics import AbsenceStatistics, count_absences
from latentia.noisyor.absences import AbsenceCounts, RowPacking
from latentia.passes import Blocks, Folds, accumulate, assign_folds_by_content, assign_sequence_folds_by_content
from latentia.sequences import SpectralHMM, TwoStateHMM

PIECES = 4
pytestmark = pytest.mark.filterwarnings("ignore")


@dataclass(frozen=True)
class Case:
    """An estimator, pieces of data for it, and the attributes that say what it has found."""

    estimator: Callable[..., Any]
    pieces: Callable[[], list[tuple[Any, ...]]]


@cache
def findings() -> list[tuple[Any, ...]]:
    X = planted.noisy_or_network(12, 2, leak=0.02, random_state=1).sample(4000, 2).X
    return [(part,) for part in np.array_split(X, PIECES)]


@cache
def sequences(n_symbols: int) -> list[tuple[Any, ...]]:
    symbols = planted.two_state_chain(12_000, n_symbols=n_symbols, random_state=3).symbols
    lengths = np.array([1, 3, 5, 40, 700, 2251])
    return [(part, lengths) for part in np.split(symbols, PIECES)]


CASES = {
    "causes": Case(lambda **kw: NoisyOr(2, corrections=1, n_splits=1, **kw), findings),
    "two states": Case(lambda **kw: TwoStateHMM(n_symbols=30, **kw), lambda: sequences(30)),
    "states": Case(lambda **kw: SpectralHMM(2, n_symbols=6, n_splits=1, **kw), lambda: sequences(6)),
}
each = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def together(pieces: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(np.concatenate(parts) for parts in zip(*pieces, strict=True))


@cache
def fit_of(name: str, chosen: tuple[int, ...]) -> Any:
    case = CASES[name]
    return case.estimator(keep_moments=True).fit(*together([case.pieces()[i] for i in chosen]))


def fit(case: Case, *chosen: int) -> Any:
    return fit_of(next(name for name, one in CASES.items() if one is case), tuple(sorted(chosen)))


def assert_same(one: Any, other: Any) -> None:
    for table, same in zip(one.moments_.tables.values(), other.moments_.tables.values(), strict=True):
        np.testing.assert_array_equal(table, same)
    for name in ("weights_", "priors_", "leak_", "startprob_", "transmat_", "emissionprob_", "n_passes_"):
        if hasattr(one, name):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.evidence_.component_errors, other.evidence_.component_errors)
    assert str(one.evidence_.table()) == str(other.evidence_.table())


@each
@settings(max_examples=2, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_order_of_changes_has_the_bits_of_one_fit(case, data):
    order = data.draw(st.permutations(range(PIECES)))
    n, gone = data.draw(st.integers(2, PIECES)), data.draw(st.booleans())
    models = [case.estimator().partial_fit(*case.pieces()[order[0]]), case.estimator(n_jobs=2)]
    models[1].partial_fit(*case.pieces()[order[1]])
    for i in order[2:n]:
        models[data.draw(st.integers(0, 1))].partial_fit(*case.pieces()[i])
    merged = latentia.merge(models)
    if isinstance(merged, NoisyOr):  # rows have weights, which say how often they are there
        (X,), times = case.pieces()[order[0]], 1 + np.arange(len(case.pieces()[0][0])) % 3
        merged.partial_fit(X, sample_weight=times).forget(X, sample_weight=times - 1)
        merged.forget(X)
    if gone:
        merged.forget(*case.pieces()[order[1]])
    assert_same(merged, fit(case, *[i for i in order[:n] if not (gone and i == order[1])]))


@each
def test_saved_models_go_on_and_forget(case, tmp_path):
    pieces = case.pieces()
    model = case.estimator(keep_moments=True).partial_fit(*together(pieces[:3]))
    loaded = latentia.load(latentia.save(model, tmp_path / "model"))
    receipt = loaded.partial_fit(*pieces[3]).forget(*pieces[1])
    whole = fit(case, 0, 2, 3)
    assert_same(loaded, whole)
    assert receipt.n_left == whole.moments_.n_rows
    one, other = (latentia.save(saved, tmp_path / name) for saved, name in ((loaded, "one"), (whole, "other")))
    assert one.read_bytes() == other.read_bytes()


@each
def test_over_dask(case):
    dask, pieces = pytest.importorskip("dask.array"), case.pieces()
    model = case.estimator()
    for X, *lengths in pieces[:3]:
        table = X.reshape(len(X), -1)
        model.partial_fit(dask.from_array(table * 1, chunks=(900, table.shape[1])), *lengths)
    model.forget(*pieces[1])
    assert_same(model, fit(case, 0, 2))


@each
def test_rows_that_were_not_there_are_not_forgotten(case):
    pieces = case.pieces()
    model = case.estimator().partial_fit(*together(pieces[:2]))
    before = model.moments_
    with pytest.raises(LatentiaError, match="not all among those|never added"):
        model.forget(*pieces[3])
    assert model.moments_ is before


@each
def test_the_answer_is_that_of_the_theorem_on_rows(case):
    data = together(case.pieces())
    plain, kept = case.estimator(refine=0).fit(*data), fit(case, *range(PIECES))
    name = "weights_" if hasattr(plain, "priors_") else "emissionprob_"
    # Two states have scores of each part along the direction of the others, and parts are other ones.
    apart = 0.2 if isinstance(kept, TwoStateHMM) else 1e-6
    np.testing.assert_allclose(getattr(kept, name), getattr(plain, name), atol=apart * getattr(plain, name).max())
    if not isinstance(kept, NoisyOr):  # whose errors are widened by how rows differ, where there are rows
        assert kept.evidence_.component_errors.mean() == pytest.approx(plain.evidence_.component_errors.mean(), rel=0.5)
    refined = case.estimator().partial_fit(*together(case.pieces()[:3]))
    given = data[0] if len(data) == 1 else data
    refined.partial_fit(*case.pieces()[3], refine_on=given)
    assert refined.n_iter_ > 0
    assert "refined on the rows" in refined.evidence_["fitted on kept moments"].meaning


def test_what_is_too_wide_or_unknown_is_an_error():
    X = np.random.default_rng(1).random((200, 301)) < 0.1
    with pytest.raises(LatentiaError, match="at most 300"):
        NoisyOr(3).partial_fit(X)
    table = X[:, :9].astype(float)
    table[7, 2] = np.nan
    with pytest.raises(LatentiaError, match="Row 7 has unknown findings"):
        NoisyOr(2).partial_fit(table)
    with pytest.raises(LatentiaError, match="at least 100"):
        NoisyOr(2).partial_fit(X[:50, :9]).weights_  # noqa: B018
    for model, n_symbols in ((TwoStateHMM(), 201), (SpectralHMM(), 101)):
        with pytest.raises(LatentiaError, match=f"this data has {n_symbols}"):
            model.partial_fit(np.arange(n_symbols).repeat(3))
    with pytest.raises(LatentiaError, match="expected symbols"):
        SpectralHMM(2).partial_fit(np.random.default_rng(2).normal(size=(500, 2)))


def test_sequences_with_gaps_are_added_in_pieces():
    symbols = together(sequences(6))[0].astype(object)
    symbols[[50, 51, 9000]] = None
    one = SpectralHMM(2, kind="symbols", n_symbols=6).partial_fit(symbols)
    other = SpectralHMM(2, kind="symbols", n_symbols=6)
    for part in (symbols[52:9000], symbols[:50], symbols[9001:]):
        other.partial_fit(part.astype(int))
    np.testing.assert_array_equal(one.emissionprob_, other.emissionprob_)


def test_groups_of_steps_hang_on_their_sequence_alone():
    symbols, lengths = together(sequences(30))
    starts = np.cumsum(lengths) - lengths
    groups = assign_sequence_folds_by_content(Blocks.from_array(symbols[:, None], lengths=lengths), 100).of(
        np.arange(len(symbols))
    )
    order = np.random.default_rng(3).permutation(len(lengths))
    order_in_rows = np.concatenate([np.arange(starts[i], starts[i] + lengths[i]) for i in order])
    again = assign_sequence_folds_by_content(
        Blocks.from_array(symbols[order_in_rows, None], lengths=lengths[order]), 100
    )
    np.testing.assert_array_equal(again.of(np.arange(len(symbols))), groups[order_in_rows])
    assert np.bincount(groups).min() > len(symbols) / 5


@pytest.mark.parametrize(("n_kinds", "share"), [(50, 1.0), (100_000, 0.5)])
def test_groups_of_copies_by_accident_differ_as_if_each_were_dealt_alone(n_kinds, share):
    rng = np.random.default_rng(5)
    kinds = np.where(rng.random(40_000) < share, rng.integers(50, size=40_000), rng.integers(n_kinds, size=40_000))
    folds, none = assign_folds_by_content(Blocks.from_array(kinds[:, None].astype(float))), np.zeros(65_536, np.int32)
    times = np.bincount(kinds)
    excess = copy_inflation(count_remainders(folds.leaders), none)
    assert excess == pytest.approx((times**2).sum() / times.sum(), rel=0.05)
    tables = np.array([np.bincount(kinds[folds.of(np.arange(40_000)) == g], minlength=len(times)) for g in range(4)])
    even = shrink_to_mean(tables, excess)
    np.testing.assert_allclose(even.sum(axis=0), times)
    # Squares of differences of halves, which have the mean c for c copies that are dealt one by one.
    assert ((even[:2].sum(axis=0) - even[2:].sum(axis=0)) ** 2).sum() / times.sum() == pytest.approx(1, rel=0.1)
    doubled = copy_inflation(none, 2 * count_remainders(np.unique(folds.leaders)))
    assert doubled == 1  # of long rows that are all there twice, which is no accident


@pytest.mark.parametrize("n", [9, 24])
def test_counts_that_are_kept_are_those_of_rows(n):
    X = planted.noisy_or_network(24, 3, leak=0.02, random_state=1).sample(5000, 2).X[:, :n]
    parts = [Blocks.from_array(part) for part in (X, X[:3000], X[3000:])]
    whole, one, other = (count_absences(part, assign_folds_by_content(part)) for part in parts)
    for found in (one.plus(other), other.plus(one), whole.plus(one).plus(one, -1)):
        assert all(np.array_equal(table, whole.tables[name]) for name, table in found.tables.items())
    kept = AbsenceStatistics(whole)
    rows = AbsenceCounts(accumulate(parts[0], RowPacking(n, Folds())), np.arange(n))
    everyone = (0, 1, 2, 3)
    np.testing.assert_allclose(kept.logs(everyone).pair, rows.logs(everyone).pair, atol=1e-12)
    factor = np.random.default_rng(1).normal(size=(n, 2))
    (all_of_them,), _ = kept.all_triples(factor, [everyone], [])
    (expected,), _ = rows.all_triples(factor, [everyone], [])
    np.testing.assert_allclose(all_of_them, expected, rtol=1e-9)
    # Pairs of halves differ by as much as where each row is dealt alone.
    apart = [
        np.mean([np.linalg.norm(source.logs(a).pmi - source.logs(b).pmi) for a, b in Folds().splits])
        for source in (kept, rows)
    ]
    assert 0.5 < apart[0] / apart[1] < 2
