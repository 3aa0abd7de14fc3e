import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from latentia import LatentiaError
from latentia.passes import Blocks, row_groups

X = np.arange(30.0).reshape(10, 3)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame])
def test_every_kind_of_table_comes_back_whole(kind):
    blocks = Blocks.from_array(kind(X), block_rows=4)
    pieces = [block[0] for block in blocks]
    assert [piece.shape[0] for piece in pieces] == [4, 4, 2]
    dense = [piece.toarray() if sparse.issparse(piece) else piece for piece in pieces]
    np.testing.assert_array_equal(np.vstack(dense), X)
    assert [block.start for block in blocks] == [0, 4, 8]


def test_parts_stay_aligned():
    y = sparse.csr_array(np.arange(10)[:, None])
    for block in Blocks.from_array(X, y, block_rows=3):
        np.testing.assert_array_equal(block[0][:, 0], 3.0 * block[1].toarray()[:, 0])


def test_sequences_are_never_cut():
    lengths = np.array([3, 1, 4, 2])
    blocks = Blocks.from_array(X, lengths=lengths, block_rows=2)
    assert [list(block[1]) for block in blocks] == [[3], [1, 4], [2]]
    assert all(block[0].shape[0] == block[1].sum() for block in blocks)


def test_splits_are_disjoint_balanced_and_repeatable():
    big = np.arange(1001.0)[:, None]
    halves = Blocks.from_array(big, block_rows=64).split(2, random_state=3)
    rows = [np.concatenate([block[0][:, 0] for block in half]) for half in halves]
    assert abs(len(rows[0]) - len(rows[1])) <= 1
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), big[:, 0])
    again = Blocks.from_array(big, block_rows=100).split(2, random_state=3)[0]
    np.testing.assert_array_equal(np.concatenate([block[0][:, 0] for block in again]), rows[0])
    assert [block.start for block in halves[0]] == list(halves[0]._starts[:-1])
    quarter = halves[0].split(2, random_state=3)[0]
    assert set(np.concatenate([b[0][:, 0] for b in quarter])) < set(rows[0])


def test_split_keeps_sequences_together():
    lengths = np.full(20, 5)
    for half in Blocks.from_array(np.repeat(np.arange(20.0), 5)[:, None], lengths=lengths, block_rows=12).split(2):
        for block in half:
            assert block[0].shape[0] == block[1].sum()
            assert all(count == 5 for count in np.unique(block[0], return_counts=True)[1])


def test_groups_look_random():
    groups = row_groups(np.arange(40_000), 4, 0)
    assert np.bincount(groups).tolist() == [10_000] * 4
    assert np.corrcoef(groups[:-1], groups[1:])[0, 1] == pytest.approx(-0.25, abs=0.02)  # runs are permutations
    assert abs(np.corrcoef(groups[::4][:-1], groups[::4][1:])[0, 1]) < 0.03
    assert (groups != row_groups(np.arange(40_000), 4, 1)).mean() > 0.7


def test_clear_errors():
    with pytest.raises(LatentiaError, match="Part 1 has 9 rows and part 0 has 10"):
        Blocks.from_array(X, X[:9])
    with pytest.raises(LatentiaError, match="lengths add up to 5"):
        Blocks.from_array(X, lengths=[5])
    with pytest.raises(LatentiaError, match="column 'b' has type"):
        Blocks.from_array(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))


def test_a_part_of_a_split_has_rows_of_all_groups_of_the_same_seed():
    part = Blocks.from_array(np.arange(4000.0)[:, None]).split(4, 0)[0]
    rows = np.concatenate([block.rows for block in part])
    assert np.bincount(row_groups(rows, 4, 0), minlength=4).min() > 150
    dealt = part.group(frozenset([1, 2]), 4, 0)
    np.testing.assert_array_equal(
        np.concatenate([block.rows for block in dealt]), rows[np.isin(row_groups(rows, 4, 0), [1, 2])]
    )
