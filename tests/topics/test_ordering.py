"""The own order of a table: the same for any order that it comes in, and a way back."""

import numpy as np
import pytest
from scipy import sparse

from latentia.passes import Blocks, Folds
from latentia.topics._ordering import canonical_order


def read(block):
    return sparse.csr_array(block[0])


@pytest.fixture
def counts():
    return sparse.random_array((60, 40), density=0.2, random_state=np.random.default_rng(1), format="csr")


@pytest.fixture
def order(counts):
    return canonical_order(Blocks.from_array(counts, block_rows=7), read, 10_000)


def test_another_order_of_rows_and_columns_gives_the_same_table(counts, order):
    rng = np.random.default_rng(2)
    moved = counts[rng.permutation(60)][:, rng.permutation(40)]
    other = canonical_order(Blocks.from_array(moved), read, 10_000)
    np.testing.assert_array_equal(other.blocks.table().toarray(), order.blocks.table().toarray())


def test_columns_and_rows_are_found_again(counts, order):
    table = order.blocks.table()
    np.testing.assert_array_equal(table.toarray(), counts.toarray()[order.rows][:, order.columns])
    np.testing.assert_array_equal(order.restore_table(table).toarray(), counts.toarray()[order.rows])
    totals = counts.sum(axis=0)
    np.testing.assert_array_equal(order.restore(order.arrange(totals)), totals)


def test_rows_keep_their_groups(order):
    copies = np.arange(60) // 2 * 2
    for folds in (Folds(4, 3, 5), Folds(4, 3, 1, copies)):
        np.testing.assert_array_equal(order.folds(folds).of(np.arange(60)), folds.of(order.rows))
    one = order.group((0, 2), order.folds(Folds(4, 3)))
    assert one.blocks.n_rows == 30
    assert order.merge_groups(Folds(4, 3)).n == 1


def test_selected_rows_are_known_by_their_numbers_in_the_source(counts):
    folds = Folds(2, 5)
    half = canonical_order(Blocks.from_array(counts).group([1], folds), read, 10_000)
    assert set(half.rows) == set(np.flatnonzero(folds.of(np.arange(60)) == 1))


def test_large_tables_stay_as_they_came(counts):
    blocks = Blocks.from_array(counts)
    order = canonical_order(blocks, read, 100)
    assert order.blocks is blocks
    assert order.rows is None
    np.testing.assert_array_equal(order.columns, np.arange(40))
    assert order.folds(Folds(4)) == order.merge_groups(Folds(4)) == Folds(4)
