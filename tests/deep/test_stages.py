"""The stages of a fit against plain transcriptions of the thesis's algorithms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.deep._encode import decode, encode, select_unexplained, subtract
from latentia.deep._evidence import unit_distances
from latentia.deep._layers import select_sign
from latentia.deep._negatives import learn_negatives
from latentia.deep._statistics import BinaryRows, cofiring_pairs, pair_dependence, put_in_order
from latentia.deep._units import _cut, learn_units, member_table


@pytest.fixture(scope="module")
def small():
    """A network in whose regime the plain algorithms work too: few units on at a time, and many rows."""
    return planted.sparse_network(20_000, (60, 12), 2.4, 0.02, random_state=5)


def pairwise_graph(rows, rho):
    """Algorithm 6.2."""
    together = rows.T.astype(int) @ rows
    return together >= 2 * rho * len(rows) / 3


def triples(rows, rho):
    """Algorithm 6.3."""
    n = rows.shape[1]
    counts = {
        t: int((rows[:, t[0]] & rows[:, t[1]] & rows[:, t[2]]).sum()) for t in itertools.combinations(range(n), 3)
    }
    return {t for t, count in counts.items() if count >= rho * len(rows) / 3}


def partial_encoder(rows, members, theta):
    """Algorithm 6.4, with a threshold for each unit."""
    return rows.astype(int) @ members.T - theta >= 0


def learned_graph(rows, hidden, members):
    """Algorithm 6.5: pairs that no row rules out."""
    left = ~members.astype(bool)
    for y, h in zip(rows, hidden, strict=True):
        on = np.flatnonzero(h)
        for v in np.flatnonzero(y):
            if members[on, v].sum() == 1:
                left[on, v] = False
    return left


def test_triples_with_a_common_parent_are_those_of_algorithm_6_3(small):
    rows = small.Y.toarray()
    used = np.flatnonzero((small.layers[0].toarray() > 0).any(axis=0))[:24]
    found = learn_units(BinaryRows.from_table(small.Y)).toarray() > 0
    of_units = {
        t for t in itertools.combinations(range(len(used)), 3) if found[:, used[list(t)]].all(axis=1).any()
    }  # fmt: skip
    assert of_units == triples(rows[:, used], 0.02)


def test_pairs_with_a_common_parent_come_first(small):
    graph = pairwise_graph(small.Y.toarray(), 0.02)
    pairs = cofiring_pairs(BinaryRows.from_table(small.Y))
    n = int(np.triu(graph, 1).sum())
    first = set(zip(pairs.first[:n].tolist(), pairs.second[:n].tolist(), strict=True))
    assert len(first & set(zip(*np.nonzero(np.triu(graph, 1)), strict=True))) >= 0.95 * n


def test_codes_are_those_of_algorithm_6_4(small):
    members = select_sign(small.layers[0], 1)
    sizes = members.sum(axis=1)
    plain = partial_encoder(small.Y[:500].toarray(), members.toarray().astype(int), np.ceil(0.6 * sizes - 1e-9))
    found = encode(BinaryRows.from_table(small.Y[:500]), members, explain_away=False).table().toarray()
    np.testing.assert_array_equal(found, plain & (sizes > 0))


def test_units_that_others_explain_are_taken_out():
    members = member_table([np.arange(0, 6), np.arange(6, 12), np.array([0, 1, 2, 6, 7, 12, 13])], 14)
    rows = np.zeros((3, 14), bool)
    rows[0, :12] = True  # the first two, which have five of the seven members of the third
    rows[1, :14] = True
    rows[2, [0, 1, 2, 6, 7, 12, 13]] = True
    firings = BinaryRows.from_table(sparse.csr_array(rows))
    plain = encode(firings, members, explain_away=False).table().toarray()
    np.testing.assert_array_equal(plain, [[1, 1, 1], [1, 1, 1], [0, 0, 1]])
    np.testing.assert_array_equal(encode(firings, members).table().toarray(), [[1, 1, 0], [1, 1, 1], [0, 0, 1]])


def test_negative_edges_are_those_of_algorithm_6_5(small):
    members = select_sign(small.layers[0], 1)
    plain = learned_graph(small.Y.toarray(), small.hidden[0].toarray(), members.toarray())
    found = learn_negatives(BinaryRows.from_table(small.Y), BinaryRows.from_table(small.hidden[0]), members)
    undetermined = found.undetermined.toarray()
    np.testing.assert_array_equal(found.edges.toarray(), plain & ~undetermined)
    np.testing.assert_array_equal(found.edges.toarray(), (small.layers[0].toarray() < 0) & ~undetermined)
    never = ~(members.toarray() > 0).any(axis=0)
    assert undetermined[:, never].all()


def test_one_wrong_bit_deletes_edges_in_algorithm_6_5_only(small):
    members = select_sign(small.layers[0], 1)
    truth, hidden = small.layers[0].toarray() < 0, small.hidden[0].toarray().copy()
    unit = int(np.argmax(truth.sum(axis=1)))
    hidden[np.random.default_rng(0).choice(len(hidden), 200, replace=False), unit] = True
    plain = learned_graph(small.Y.toarray(), hidden, members.toarray())
    found = learn_negatives(BinaryRows.from_table(small.Y), BinaryRows.from_table(sparse.csr_array(hidden)), members)
    known = ~found.undetermined.toarray()
    assert (plain[unit] & truth[unit]).sum() < truth[unit].sum()
    assert (found.edges.toarray()[known] == truth[known]).all()


def test_decoding_is_the_sign_of_the_sum(small):
    hidden, layer = small.hidden[0][:300], small.layers[0]
    said = decode(BinaryRows.from_table(hidden), layer).table().toarray()
    np.testing.assert_array_equal(said, hidden.toarray().astype(int) @ layer.toarray() > 0)


def test_what_is_left_is_what_no_unit_of_a_column_explains(small):
    rows, members = small.Y[:300], select_sign(small.layers[0], 1)
    hidden = encode(BinaryRows.from_table(rows), members)
    covered = hidden.table().toarray().astype(int) @ members.toarray() > 0
    left = select_unexplained(BinaryRows.from_table(rows), hidden, members)
    np.testing.assert_array_equal(left.table().toarray(), rows.toarray() & ~covered)
    other = subtract(BinaryRows.from_table(rows), BinaryRows.from_table(sparse.csr_array(covered)))
    np.testing.assert_array_equal(left.table().toarray(), other.table().toarray())


def test_layouts_of_firings_hold_the_same_ones():
    table = np.random.default_rng(0).random((200, 30)) < 0.2
    firings = BinaryRows.from_table(sparse.csr_array(table))
    np.testing.assert_array_equal(firings.table().toarray(), table)
    np.testing.assert_array_equal(firings.counts, table.sum(axis=0))
    starts, rows = firings.rows_by_column
    for column in range(30):
        np.testing.assert_array_equal(rows[starts[column] : starts[column + 1]], np.flatnonzero(table[:, column]))
    unpacked = np.unpackbits(firings.bits().view(np.uint8), axis=1, bitorder="little")[:, :200]
    np.testing.assert_array_equal(unpacked.T.astype(bool), table)
    np.testing.assert_array_equal(firings.take(np.array([3, 8, 150])).table().toarray(), table[[3, 8, 150]])
    order = np.random.default_rng(1).permutation(30)
    np.testing.assert_array_equal(firings.reorder(order).table().toarray(), table[:, order])


@pytest.mark.parametrize("density", [0.03, 0.5])
def test_pair_dependence_is_that_of_all_pairs(density):
    table = np.random.default_rng(0).random((500, 90)) < density
    together, counts = table.T.astype(float) @ table, table.sum(axis=0)
    upper = np.triu_indices(90, 1)
    expected = np.outer(counts, counts)[upper] / 500
    found = pair_dependence(BinaryRows.from_table(sparse.csr_array(table)))
    np.testing.assert_allclose(found, [((together[upper] - expected) ** 2).sum(), expected.sum()])


def test_distances_of_units_follow_names_of_the_layer_below():
    first = member_table([np.arange(0, 5), np.arange(5, 10), np.arange(10, 15)], 15)
    second = member_table([np.array([0, 1]), np.array([1, 2])], 3)
    turned = [first[[2, 0, 1]], member_table([np.array([1, 2]), np.array([0, 2])], 3)]
    np.testing.assert_allclose(unit_distances([first, second], turned), 0)
    lacking = [first[[0, 1]], member_table([np.array([0, 1])], 2)]
    np.testing.assert_allclose(unit_distances([first, second], lacking), [0, 0, 1, 0, 2 / 3])
    np.testing.assert_allclose(unit_distances([first, second], [first]), [0, 0, 0, 1, 1])


def test_numbers_are_put_in_order_and_the_rest_stays():
    numbers = np.random.default_rng(0).permutation(500).astype(np.int32)
    for start, stop in ((0, 500), (100, 101), (40, 300), (7, 7)):
        found = numbers.copy()
        put_in_order(found, start, stop)
        expected = numbers.copy()
        expected[start:stop].sort()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n", [0, 1, 5, 20, 200])
def test_members_are_cut_at_the_largest_gap_of_all_rates_in_order(n):
    for seed in range(40):
        rates = np.random.default_rng(seed).random(n) * 1.5 - 0.2
        inner = np.concatenate([[0.4], np.sort(rates[(rates > 0.4) & (rates < 0.8)]), [0.8]])
        gaps = np.diff(inner)
        at = int(np.argmax(gaps))
        expected = (inner[at] + inner[at + 1]) / 2 if gaps[at] >= 0.04 else 2.0
        assert _cut(rates) == expected
