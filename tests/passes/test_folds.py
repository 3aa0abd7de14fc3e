"""Rows are dealt in stretches, and copies of a row together."""

import numpy as np
import pytest
from scipy import sparse

from latentia.passes import Blocks, Folds, assign_folds, assign_sequence_folds, sample_rows


def groups_of(X, **options):
    blocks = Blocks.from_array(X, **options)
    return assign_folds(blocks, 0).of(np.arange(X.shape[0]))


def test_neighbours_go_together_and_groups_are_balanced():
    X = np.random.default_rng(0).standard_normal((4000, 3))
    groups = groups_of(X)
    assert (groups.reshape(-1, 20) == groups[::20, None]).all()
    assert np.bincount(groups, minlength=4) == pytest.approx(1000, abs=20)


def test_few_rows_are_dealt_one_by_one():
    X = np.random.default_rng(0).standard_normal((60, 3))
    assert (groups_of(X) == Folds(4, 0).of(np.arange(60))).all()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("order", ["tiled", "shuffled"])
def test_copies_go_together(kind, order):
    rng = np.random.default_rng(1)
    first = rng.standard_normal((600, 4)) * (rng.random((600, 4)) < 0.7)
    numbers = np.tile(np.arange(600), 5)
    numbers = rng.permutation(numbers) if order == "shuffled" else numbers
    groups = groups_of(kind(first[numbers]), block_rows=700)
    for row in range(600):
        assert len(set(groups[numbers == row])) == 1
    assert np.bincount(groups, minlength=4).min() > 500


def test_short_rows_of_whole_numbers_are_alike_by_accident():
    X = (np.random.default_rng(2).random((3000, 6)) < 0.3).astype(float)
    assert assign_folds(Blocks.from_array(X), 0).leaders is None


def test_long_binary_rows_that_repeat_are_copies():
    rng = np.random.default_rng(3)
    first = (rng.random((500, 60)) < 0.3).astype(float)
    numbers = rng.permutation(np.tile(np.arange(500), 8))
    groups = groups_of(first[numbers])
    assert all(len(set(groups[numbers == row])) == 1 for row in range(500))


def test_a_few_rows_that_occur_twice_change_nothing():
    X = np.random.default_rng(4).standard_normal((3000, 3))
    X[:50] = X[50:100]
    assert assign_folds(Blocks.from_array(X), 0).leaders is None


def test_selected_rows_are_dealt_as_in_the_source():
    rng = np.random.default_rng(5)
    X = np.repeat(rng.standard_normal((300, 3)), 6, axis=0)[rng.permutation(1800)]
    blocks = Blocks.from_array(X)
    folds = assign_folds(blocks, 0)
    half = blocks.group((0, 1), folds)
    assert half.n_rows == np.isin(folds.of(np.arange(1800)), (0, 1)).sum()
    for row in np.unique(half.table(), axis=0)[:20]:
        assert (half.table() == row).all(axis=1).sum() == (row == X).all(axis=1).sum()


def test_a_sample_of_rows_is_even_and_repeatable():
    X = np.arange(50_000, dtype=float)[:, None]
    Y = sparse.csr_array(X % 7)
    blocks = Blocks.from_array(X, Y, block_rows=1000)
    x, y = sample_rows(blocks)
    assert len(x) == 2000
    assert (y.toarray() == x % 7).all()
    assert np.histogram(x, 5)[0] == pytest.approx(400, rel=0.35)
    assert (sample_rows(blocks)[0] == x).all()
    assert len(sample_rows(Blocks.from_array(X[:30]))[0]) == 30
    wide = Blocks.from_array(np.zeros((300, 200_000), np.float32))
    assert len(sample_rows(wide)[0]) <= 128


@pytest.mark.parametrize("block_rows", [None, 300])
def test_copies_of_sequences_are_dealt_together(block_rows):
    symbols = np.random.default_rng(6).integers(0, 6, (40, 50))
    order = np.random.default_rng(7).permutation(np.repeat(np.arange(40), 5))
    X = symbols[order].reshape(-1, 1).astype(float)
    folds = assign_sequence_folds(Blocks.from_array(X, lengths=[50] * 200, block_rows=block_rows), 0, 10)
    groups = folds.of(np.arange(len(X))).reshape(200, 50)
    for number in range(40):
        assert (groups[order == number] == groups[order == number][0]).all()
    assert len(np.unique(groups)) == 4


@pytest.mark.parametrize("length", [3, 50])
def test_sequences_that_are_alike_by_accident_are_no_copies(length):
    X = np.random.default_rng(8).integers(0, 3, (6000, 1)).astype(float)
    lengths = np.full(6000 // length, length)
    assert assign_sequence_folds(Blocks.from_array(X[: lengths.sum()], lengths=lengths), 0, 10).leaders is None
    same = np.zeros((6000, 1))
    assert assign_sequence_folds(Blocks.from_array(same[: lengths.sum()], lengths=lengths), 0, 10).leaders is None
