"""Clusters from the connection graph: packed bits against plain sets, and recovery of planted sets."""

import itertools

import numpy as np
import pytest

from latentia.dictionary.clusters import PackedGraph, connection_graph, recover_graph


def planted_sets(n_nodes, n_sets, per_node, miss=0.0, seed=0):
    """Nodes in random sets; nodes of a common set are connected, but for a share of the pairs."""
    rng = np.random.default_rng(seed)
    member = np.zeros((n_nodes, n_sets), bool)
    for node in range(n_nodes):
        member[node, rng.choice(n_sets, per_node, replace=False)] = True
    adjacency = (member.astype(int) @ member.T.astype(int)) > 0
    lost = np.triu(rng.random(adjacency.shape) < miss, 1)
    adjacency &= ~(lost | lost.T)
    return member, adjacency


@pytest.mark.parametrize("n_nodes", [1, 63, 64, 65, 130])
def test_packed_graphs_are_the_graphs_that_they_pack(n_nodes):
    adjacency = np.random.default_rng(n_nodes).random((n_nodes, n_nodes)) < 0.3
    adjacency |= adjacency.T
    graph = PackedGraph.from_table(adjacency)
    np.fill_diagonal(adjacency, False)
    np.testing.assert_array_equal(graph.degrees, adjacency.sum(axis=1))
    for node in range(0, n_nodes, 7):
        np.testing.assert_array_equal(graph.neighbours(node), np.nonzero(adjacency[node])[0])
    if n_nodes > 2:
        both = np.unpackbits(graph.common(0, n_nodes - 1).view(np.uint8), bitorder="little")[:n_nodes]
        np.testing.assert_array_equal(both.astype(bool), adjacency[0] & adjacency[-1])


def test_rows_are_connected_where_their_product_is_large():
    rows = np.random.default_rng(0).standard_normal((300, 5))
    graph = connection_graph(rows, 2.0)
    expected = np.abs(rows @ rows.T) > 2.0
    np.fill_diagonal(expected, False)
    found = np.array([np.isin(np.arange(300), graph.neighbours(node)) for node in range(300)])
    assert (found != expected).sum() <= 2  # products at the threshold, in single precision


def test_the_graph_takes_a_bit_for_each_pair():
    assert connection_graph(np.ones((1000, 2)), 0.5).words.nbytes == 1000 * 16 * 8


@pytest.mark.parametrize("size", [None, 40.0])
def test_planted_sets_are_recovered(size):
    member, adjacency = planted_sets(2000, 100, 2, miss=0.2)
    found = recover_graph(PackedGraph.from_table(adjacency), 100, size, n_tries=60_000)
    table = np.array([np.isin(np.arange(2000), one) for one in found.sets])
    shared = table.astype(int) @ member.astype(int)
    jaccard = shared / (table.sum(axis=1)[:, None] + member.sum(axis=0) - shared)
    assert (jaccard.max(axis=0) > 0.4).mean() >= 0.8
    assert np.median(jaccard.max(axis=0)) > 0.9


def test_higher_orders_recover_them_too():
    member, adjacency = planted_sets(2000, 100, 3)
    found = recover_graph(PackedGraph.from_table(adjacency), 100, order=4, n_tries=200_000)
    table = np.array([np.isin(np.arange(2000), one) for one in found.sets])
    shared = table.astype(int) @ member.astype(int)
    jaccard = shared / (table.sum(axis=1)[:, None] + member.sum(axis=0) - shared)
    assert (jaccard.max(axis=0) > 0.7).mean() > 0.9


def test_a_set_is_what_the_thesis_says():
    """Of a connected pair: all nodes with enough neighbours in common with both."""
    _, adjacency = planted_sets(300, 30, 2, seed=3)
    found = recover_graph(PackedGraph.from_table(adjacency), 30, 20.0)
    np.fill_diagonal(adjacency, False)
    literal = set()
    for u, v in itertools.combinations(range(300), 2):
        if adjacency[u, v]:
            counts = (adjacency & adjacency[u] & adjacency[v]).sum(axis=1)
            counts[[u, v]] = 300
            literal.add(frozenset(np.nonzero(counts >= found.threshold)[0]))
    assert len(found.sets) > 10
    assert all(
        frozenset(one) in literal for one in found.sets
    )  # the third node of a tuple has enough, or it is not one


def test_graphs_without_clusters_give_none():
    assert recover_graph(PackedGraph.from_table(np.zeros((50, 50))), 5).sets == []
    noise = np.triu(np.random.default_rng(0).random((400, 400)) < 0.1, 1)
    assert len(recover_graph(PackedGraph.from_table(noise | noise.T), 20, 60.0).sets) == 0


@pytest.mark.parametrize("size", [2.0**500, 2.0**-500])
def test_a_graph_of_rows_of_any_size(size):
    rows = np.random.default_rng(0).normal(size=(40, 6))
    found = connection_graph(size * rows, size * size)
    np.testing.assert_array_equal(found.words, connection_graph(rows, 1.0).words)
