import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from latentia import LatentiaError
from latentia.passes import Blocks, Folds, MappedBlocks, TableBlocks, row_groups

X = np.arange(30.0).reshape(10, 3)
LENGTHS = np.array([5, 1, 7, 2, 4, 6, 3, 1, 8, 3] * 4)
ROWS = np.arange(3.0 * LENGTHS.sum()).reshape(-1, 3)
FOURTHS, THIRDS = Folds(4, 5), Folds(3, 1)


def twice(block):
    """Twice the table, a column wider, with the lengths if there are any."""
    return np.column_stack([2 * block[0], block.rows]), *block[1:]


def of_rows():
    return Blocks.from_array(ROWS, block_rows=17, names=["a", "b", "c"])


def of_sequences():
    return Blocks.from_array(ROWS, lengths=LENGTHS, block_rows=17, names=["a", "b", "c"])


def mapped(blocks):
    return blocks.map(twice, [(blocks.n_rows, 4)])


KINDS = {
    "table": of_rows,
    "sparse": lambda: Blocks.from_array(sparse.csr_array(ROWS), block_rows=17),
    "mapped": lambda: mapped(of_rows()),
    "sequences": of_sequences,
    "mapped sequences": lambda: mapped(of_sequences()),
    "grouped": lambda: of_rows().group([0, 2], FOURTHS),
    "grouped sequences": lambda: of_sequences().group([0, 2], FOURTHS),
    "grouped twice": lambda: of_rows().group([0, 2], FOURTHS).group([1], THIRDS),
    "sequences grouped twice": lambda: of_sequences().group([0, 2], FOURTHS).group([1, 2], THIRDS),
    "mapped, then split": lambda: mapped(of_sequences()).split(2)[1],
    "grouped, then mapped": lambda: mapped(of_rows().group([3, 1], FOURTHS)),
    "mapped twice": lambda: mapped(of_rows()).map(lambda block: (block[0][:, 1:],), [(len(ROWS), 3)]),
}


@pytest.fixture(params=KINDS)
def blocks(request):
    return KINDS[request.param]()


def all_rows(blocks):
    """Numbers of all rows in the source."""
    return np.concatenate([block.rows for block in blocks])


def dense(table):
    return table.toarray() if sparse.issparse(table) else table


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
    with pytest.raises(LatentiaError, match="column 'b' has dtype"):
        Blocks.from_array(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))


def test_a_part_of_a_split_has_rows_of_all_groups_of_the_same_seed():
    part = Blocks.from_array(np.arange(4000.0)[:, None]).split(4, 0)[0]
    rows = all_rows(part)
    assert np.bincount(row_groups(rows, 4, 0), minlength=4).min() > 150
    folds = part.group(frozenset([1, 2]), Folds(4, 0))
    np.testing.assert_array_equal(all_rows(folds), rows[np.isin(row_groups(rows, 4, 0), [1, 2])])


def test_every_kind_of_blocks_is_indexed_alike(blocks):
    assert len(list(blocks)) == len(blocks) > 3
    start = 0
    for number in range(len(blocks)):
        block = blocks[number]
        assert (block.number, block.start, len(block.rows)) == (number, start, block[0].shape[0])
        start += block[0].shape[0]
    assert start == blocks.n_rows > 0
    assert blocks[0][0].shape[1] == blocks.shapes[0][1]
    assert (np.diff(all_rows(blocks)) > 0).all()
    for beyond in (-1, len(blocks)):
        with pytest.raises(IndexError):
            blocks[beyond]


def test_every_kind_of_blocks_has_the_lengths_of_its_sequences(blocks):
    if blocks.lengths is None:
        assert all(len(block) == 1 for block in blocks)
        return
    np.testing.assert_array_equal(np.concatenate([block[-1] for block in blocks]), blocks.lengths)
    assert blocks.lengths.sum() == blocks.n_rows
    assert all(block[-1].sum() == block[0].shape[0] for block in blocks)


def test_every_kind_of_blocks_is_one_table(blocks):
    table = dense(blocks.table())
    assert table.shape == (blocks.n_rows, blocks.shapes[0][1])
    np.testing.assert_array_equal(np.vstack([dense(block[0]) for block in blocks]), table)


def test_every_kind_of_blocks_is_split_into_all_its_rows(blocks):
    parts = blocks.split(3, random_state=2)
    rows = [all_rows(part) for part in parts]
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), all_rows(blocks))
    for part, numbers in zip(parts, rows, strict=True):
        assert part.n_selections == blocks.n_selections + 1
        here = np.isin(all_rows(blocks), numbers)
        np.testing.assert_array_equal(dense(part.table()), dense(blocks.table())[here])


def test_every_kind_of_blocks_is_grouped_by_the_numbers_of_rows_or_sequences(blocks):
    folds = Folds(2, 9)
    part = blocks.group([1], folds)
    assert len(part) == len(blocks)
    wanted = folds.of(np.arange(len(ROWS))) == 1
    if blocks.lengths is not None:
        wanted = np.repeat(folds.of(np.arange(len(LENGTHS))) == 1, LENGTHS)
    rows = all_rows(blocks)
    np.testing.assert_array_equal(all_rows(part), rows[wanted[rows]])
    assert blocks.group(folds.all, folds).n_rows == blocks.n_rows
    assert blocks.group([], folds).n_rows == 0


def test_every_kind_of_blocks_is_mapped(blocks):
    shifted = blocks.map(lambda block: (dense(block[0]) + 1, *block[1:]), blocks.shapes)
    assert isinstance(shifted, MappedBlocks)
    assert (len(shifted), shifted.n_rows, shifted.n_selections) == (len(blocks), blocks.n_rows, blocks.n_selections)
    np.testing.assert_array_equal(shifted.table(), dense(blocks.table()) + 1)
    np.testing.assert_array_equal(all_rows(shifted), all_rows(blocks))
    assert (shifted.lengths is None) == (blocks.lengths is None)
    part = blocks.group([1], Folds(2, 9))
    mapped = part.map(lambda block: block, [(part.n_rows, width) for _, width in part.shapes])
    assert mapped.shapes == part.shapes  # Rows of a part have their numbers in the source.


def test_two_selections_keep_the_rows_of_both():
    rows = np.arange(len(ROWS))
    both = np.isin(row_groups(rows, 4, 5), [0, 2]) & (row_groups(rows, 3, 1) == 1)
    one_way = of_rows().group([0, 2], FOURTHS).group([1], THIRDS)
    other_way = of_rows().group([1], THIRDS).group([2, 0], FOURTHS)
    for blocks in (one_way, other_way):
        assert isinstance(blocks, TableBlocks)
        np.testing.assert_array_equal(all_rows(blocks), rows[both])
        np.testing.assert_array_equal(blocks.table(), ROWS[both])


def test_a_group_of_sequences_has_their_lengths():
    sequences = np.arange(len(LENGTHS))
    first = np.isin(row_groups(sequences, 4, 5), [0, 2])
    grouped = of_sequences().group([0, 2], FOURTHS)
    np.testing.assert_array_equal(grouped.lengths, LENGTHS[first])
    np.testing.assert_array_equal(all_rows(grouped), np.flatnonzero(np.repeat(first, LENGTHS)))
    second = row_groups(sequences, 3, 1) == 1
    np.testing.assert_array_equal(grouped.group([1], THIRDS).lengths, LENGTHS[first & second])
    assert of_rows().group([0, 2], FOURTHS).lengths is None


def test_many_rows_are_dealt_as_few_are(monkeypatch):
    whole = of_rows().group([0, 3], FOURTHS)
    monkeypatch.setattr("latentia.passes.blocks._ROWS_AT_ONCE", 8)
    pieces = of_rows().group([0, 3], FOURTHS)
    np.testing.assert_array_equal(all_rows(pieces), all_rows(whole))


def test_rows_of_one_stretch_stay_together():
    folds = Folds(2, 0, stretch=5)
    groups = folds.of(np.arange(40)).reshape(8, 5)
    assert (groups == groups[:, :1]).all()
    np.testing.assert_array_equal(groups[:, 0], row_groups(np.arange(8), 2, 0))
    rows = all_rows(of_rows().group([0], folds))
    np.testing.assert_array_equal(rows, np.flatnonzero(folds.of(np.arange(len(ROWS))) == 0))


def test_halves_of_groups():
    assert Folds(2).splits == (((0,), (1,)),)
    assert Folds(3).splits == ()
    for first, second in Folds(4).splits:
        assert sorted(first + second) == list(Folds(4).all)
    assert len(set(Folds(4).splits)) == 3


def test_names_of_columns():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert Blocks.from_array(X).names is None
    assert Blocks.from_array(frame).names == ["a", "b", "c"]
    assert Blocks.from_array(frame, names=["x", 2, np.str_("z")]).names == ["x", "2", "z"]
    assert Blocks.from_array(X, frame).names is None
    for names in (["a", "b"], ["a", "b", "c", "d"], []):
        with pytest.raises(LatentiaError, match=f"names has {len(names)} entries and the table 3 columns"):
            Blocks.from_array(X, names=names)


def test_names_go_with_the_rows_and_not_with_what_is_computed_of_them():
    blocks = of_rows()
    assert blocks.group([0], FOURTHS).names == blocks.split(2)[0].names == ["a", "b", "c"]
    assert mapped(blocks).names is None
    named = MappedBlocks(blocks, twice, [(blocks.n_rows, 4)], ["a", "b", "c", "row"])
    assert named.group([0], FOURTHS).names == ["a", "b", "c", "row"]


def test_blocks_are_a_contract():
    with pytest.raises(TypeError, match="abstract"):
        Blocks()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_that_are_repeated_are_those_of_a_longer_table(kind):
    rows, times = np.arange(60.0).reshape(20, 3) + 1, np.random.default_rng(1).integers(0, 4, size=20)
    table, expected = kind(rows), Blocks.from_array(kind(np.repeat(rows, times, axis=0)))
    for blocks in (
        Blocks.from_array(table),
        Blocks.from_array(table, block_rows=7),
        Blocks.from_array(table).map(lambda block: (block[0] * 1,), [(20, 3)]),
    ):
        longer = blocks.repeated(times)
        assert longer.n_rows == expected.n_rows == longer.shapes[0][0]
        pairs = [(longer.table(), expected.table()), (longer.some_rows(9)[0], expected.some_rows(9)[0])]
        group, same = (one.group([1], Folds()) for one in (longer, expected))
        pairs += [(group.table(), same.table())]
        for one, other in pairs:
            assert one.shape == other.shape
            assert not (one != other).sum()
        np.testing.assert_array_equal(group[0].rows, same[0].rows)
        assert group.repeated(np.full(group.n_rows, 2)).table().sum() == 2 * same.table().sum()
    blocks = Blocks.from_array(table)
    assert pickle.loads(pickle.dumps(blocks.repeated(times))).table().sum() == expected.table().sum()
    assert blocks.repeated(times).fingerprint() != blocks.fingerprint()


def test_rows_of_an_unknown_source_are_not_repeated():
    class Own(MappedBlocks):
        repeated = Blocks.repeated

    with pytest.raises(LatentiaError, match="Own has no method `repeated`"):
        Own(Blocks.from_array(X), lambda block: block, [(10, 3)]).repeated(np.ones(10, int))
