"""Graphs from matrices, from networkx and igraph."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from latentia.exceptions import LatentiaError
from latentia.moments import Graph, as_graph
from latentia.passes import Blocks

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
CYCLE = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def dense(graph):
    return graph.adjacency.toarray().tolist()


def assert_canonical(graph):
    table = sparse.csr_array(graph.adjacency, copy=True)
    table.has_canonical_format = False
    table.sum_duplicates()
    assert table.nnz == graph.adjacency.nnz
    np.testing.assert_array_equal(table.indices, graph.adjacency.indices)
    assert graph.adjacency.has_canonical_format
    assert (graph.adjacency.data > 0).all()
    assert not graph.adjacency.diagonal().any()
    assert graph.directed or (graph.adjacency != graph.adjacency.T).nnz == 0


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32, np.float64])
def test_sparse_matrices_of_all_formats(form, dtype):
    for make in (sparse.csr_array, sparse.csr_matrix):
        graph = as_graph(make(PATH.astype(dtype)).asformat(form))
        assert dense(graph) == PATH.tolist()
        assert (graph.adjacency.dtype, graph.directed, graph.names) == (np.int32, False, None)
        assert isinstance(graph.adjacency, sparse.csr_array)
        assert_canonical(graph)


def test_properties():
    links = np.zeros((8, 8))
    for i, j, weight in ((0, 1, 2), (2, 3, 1), (3, 4, 1.5), (5, 6, 1)):
        links[i, j] = links[j, i] = weight
    graph = as_graph(links)
    np.testing.assert_allclose(graph.degrees, [2, 2, 1, 2.5, 1.5, 1, 1, 0])
    assert (graph.n_nodes, graph.n_edges, graph.weighted, graph.parts) == (8, 4, True, 3)
    assert graph.isolated.tolist() == [7]
    assert graph.part_of.tolist() == [1, 1, 0, 0, 0, 2, 2, -1]  # the largest first
    assert not as_graph(links > 0).weighted
    again = pickle.loads(pickle.dumps(graph))
    assert dense(again) == dense(graph)


def test_properties_of_a_directed_graph():
    graph = as_graph([[0, 3, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    assert graph.directed
    assert graph.degrees.tolist() == [3, 5, 2, 0]
    assert (graph.n_edges, graph.parts, graph.isolated.tolist()) == (3, 1, [3])
    assert graph.part_of.tolist() == [0, 0, 0, -1]


@pytest.mark.parametrize("turn", [np.triu, np.tril])
def test_a_triangular_matrix_has_each_edge_once(turn):
    graph = as_graph(turn(PATH + np.eye(3)))
    assert dense(graph) == PATH.tolist()
    assert (graph.directed, graph.n_loops, graph.n_merged) == (False, 3, 0)
    assert as_graph(turn(PATH), directed=True).adjacency.nnz == 2


def test_directions_are_taken_away():
    both = CYCLE.copy()
    both[1, 0] = 1
    graph = as_graph(both, directed=False)
    assert dense(graph) == (np.ones((3, 3)) - np.eye(3)).tolist()
    assert (graph.n_merged, graph.directed, graph.adjacency.dtype) == (1, False, np.int32)
    both[0, 1] = 2
    assert dense(as_graph(both, directed=False)) == (both + both.T).tolist()
    assert dense(as_graph(PATH, directed=False)) == PATH.tolist()  # symmetric: each edge is there twice
    assert as_graph(both).directed
    assert dense(as_graph(as_graph(both), directed=False)) == (both + both.T).tolist()


def test_directions_are_given():
    graph = as_graph(as_graph(PATH), directed=True)
    assert (graph.directed, graph.n_edges, dense(graph)) == (True, 4, PATH.tolist())
    assert as_graph(PATH, directed=True).directed


def test_rounding_does_not_give_directions():
    rng = np.random.default_rng(0)
    table = rng.random((20, 20))
    table = table + table.T
    table[0, 1] *= 1 + 1e-15 * 4
    graph = as_graph(table)
    assert not graph.directed
    assert_canonical(graph)
    assert as_graph(table * (1 + 1e-6 * np.triu(np.ones((20, 20)), 1))).directed


def listed(weights, pairs, size=4):
    return sparse.coo_array((weights, tuple(np.array(pairs).T)), shape=(size, size))


def test_repeated_entries_are_summed_before_weights_are_checked():
    ends, weights = ([0, 0, 1, 2, 2, 2], [1, 1, 2, 2, 0, 0]), [3.0, -1.0, 2.0, 5.0, 1.0, -1.0]
    for table in (
        sparse.coo_array((weights, ends), shape=(3, 3)),
        sparse.csr_array(([3.0, -1.0, 2.0], [1, 1, 2], [0, 2, 3, 3])),
    ):
        before = table.data.copy()
        graph = as_graph(table)
        assert dense(graph) == [[0, 2, 0], [2, 0, 2], [0, 2, 0]]
        assert graph.n_loops == (table.format == "coo")
        np.testing.assert_array_equal(table.data, before)
    with pytest.raises(LatentiaError, match="in row 0, column 1 is -1.0: weights must not be negative"):
        as_graph(sparse.coo_array(([1.0, -2.0], ([0, 0], [1, 1])), shape=(2, 2)))


def test_repeated_edges():
    pairs = [(0, 1), (0, 1), (1, 2), (2, 2), (0, 3)]
    graph = as_graph(listed([1, 1, 1, 1, 0], pairs))
    assert dense(graph)[:2] == [[0, 1, 0, 0], [1, 0, 1, 0]]
    assert (graph.n_merged, graph.n_loops, graph.n_edges, graph.isolated.tolist()) == (1, 1, 2, [3])
    graph = as_graph(listed([1, 1, 0.5, 1, 0], pairs))
    assert dense(graph)[:2] == [[0, 2, 0, 0], [2, 0, 0.5, 0]]
    assert (graph.n_merged, graph.n_loops, graph.n_edges) == (1, 1, 2)


def test_many_repetitions_are_one_edge():
    pairs = [(0, 1)] * 256 + [(1, 0), (1, 2), (2, 1)]
    graph = as_graph(listed(np.ones(len(pairs), np.int8), pairs))
    assert dense(graph)[:2] == [[0, 1, 0, 0], [1, 0, 1, 0]]
    assert (graph.n_merged, graph.directed) == (255, False)
    graph = as_graph(listed(np.full(len(pairs), 100, np.int8), pairs), directed=True)
    assert graph.adjacency[0, 1] == 25_600


def test_a_matrix_that_is_not_canonical_stays_as_it_is():
    table = sparse.csr_array((np.ones(4), [2, 1, 1, 0], [0, 3, 4, 4]), shape=(3, 3))
    graph = as_graph(table, directed=True)
    assert (dense(graph), graph.n_merged) == ([[0, 1, 1], [1, 0, 0], [0, 0, 0]], 1)
    assert table.indices.tolist() == [2, 1, 1, 0]
    assert not table.has_canonical_format


def test_types_of_weights():
    assert as_graph(PATH * 2.0).adjacency.dtype == np.int32
    assert as_graph(PATH * 2**40).adjacency.dtype == np.int64
    assert as_graph(PATH * 0.5).adjacency.dtype == np.float64
    assert as_graph(np.triu(PATH) * 2**40).degrees[1] == 2**41
    large = as_graph(PATH * (2**31 - 1))
    assert (large.adjacency.dtype, large.degrees[1]) == (np.int32, 2**32 - 2)


def test_tables_with_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[0, 2, 0], [2, 0, 1], [0, 1, 0]], index=list("abc"), columns=list("abc"))
    graph = as_graph(frame)
    assert (graph.names, graph.degrees.tolist()) == (["a", "b", "c"], [2, 3, 1])
    assert dense(as_graph(frame[["c", "a", "b"]])) == dense(graph)
    assert as_graph(pd.DataFrame(PATH)).names is None
    assert dense(as_graph(frame.astype(pd.SparseDtype("int64", 0)))) == dense(graph)
    with pytest.raises(LatentiaError, match="column 'd' is not a row"):
        as_graph(frame.rename(columns={"c": "d"}))
    with pytest.raises(LatentiaError, match=r"column 'a' has dtype (object|str)"):
        as_graph(frame.astype(object).replace(2, "x"))


def test_blocks_and_lists():
    assert dense(as_graph(Blocks.from_array(sparse.csr_array(PATH), block_rows=2))) == PATH.tolist()
    assert as_graph(Blocks.from_array(PATH, names=list("abc"))).names == ["a", "b", "c"]
    assert dense(as_graph(PATH.tolist())) == PATH.tolist()
    graph = as_graph(PATH)
    assert as_graph(graph) is graph
    assert isinstance(graph, Graph)


def test_files_are_read_elsewhere(tmp_path):
    with pytest.raises(LatentiaError, match="x.txt: a file is read by latentia.datasets.read_graph"):
        as_graph(tmp_path / "x.txt")


def test_graphs_of_networkx():
    nx = pytest.importorskip("networkx")
    graph = as_graph(nx.path_graph(3))
    assert (dense(graph), graph.names, graph.directed) == (PATH.tolist(), None, False)

    several = nx.MultiGraph([("a", "b"), ("b", "a"), ("b", "b")])
    several.add_node("c")
    graph = as_graph(several)
    assert (dense(graph), graph.names) == ([[0, 1, 0], [1, 0, 0], [0, 0, 0]], ["a", "b", "c"])
    assert (graph.n_loops, graph.n_merged, graph.isolated.tolist()) == (1, 1, [2])

    one_way = nx.DiGraph([("a", "b"), ("b", "a")])
    one_way["a"]["b"]["weight"] = 2.5
    graph = as_graph(one_way)
    assert (dense(graph), graph.directed) == ([[0, 2.5], [1, 0]], True)
    assert dense(as_graph(one_way, directed=False)) == [[0, 3.5], [3.5, 0]]
    assert as_graph(nx.path_graph(3), directed=True).n_edges == 4

    one_way["a"]["b"]["weight"] = Fraction(1, 2)
    assert dense(as_graph(one_way)) == [[0, 0.5], [1, 0]]

    class Mine(nx.Graph):
        pass

    assert as_graph(Mine([(1, 0)])).names == ["1", "0"]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("x", "The weight of the edge of 'a' and 'b' is 'x'; expected a number of at most 1e[+]15"),
        (10**40, "The weight of the edge of 'a' and 'b' is 1000"),
        ([], r"The weight of the edge of 'a' and 'b' is \[\]"),
        ([1, 2], r"The weight of the edge of 'a' and 'b' is \[1, 2\]"),
        (None, "of the edge of 'a' and 'b' is nan: weights must be finite"),
        (-2, "of the edge of 'a' and 'b' is -2.*: weights must not be negative"),
    ],
)
def test_weights_of_networkx_that_are_none(weight, message):
    nx = pytest.importorskip("networkx")
    graph = nx.Graph([("a", "c")])
    graph.add_edge("a", "b", weight=weight)
    with pytest.raises(LatentiaError, match=message):
        as_graph(graph)


def test_graphs_of_igraph():
    igraph = pytest.importorskip("igraph")
    source = igraph.Graph([(1, 0), (0, 1), (2, 1)])
    graph = as_graph(source)
    assert (dense(graph), graph.names, graph.n_merged) == (PATH.tolist(), None, 1)
    source.vs["name"], source.es["weight"] = list("xyz"), [1, 2, 0.5]
    graph = as_graph(source)
    assert (dense(graph)[0], graph.names) == ([0, 3, 0], ["x", "y", "z"])
    one_way = igraph.Graph([(0, 1), (1, 2), (2, 0)], directed=True)
    assert dense(as_graph(one_way)) == CYCLE.tolist()
    assert dense(as_graph(one_way, directed=False)) == (CYCLE + CYCLE.T).tolist()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\); expected a square one"),
        (np.ones(3), r"shape \(3,\); expected a square one"),
        (None, r"shape \(\); expected a square one"),
        ([[0, 1], [0]], "not a table of rows and columns"),
        ([["a", "b"], ["c", "d"]], "type <U1; expected real numbers"),
        (np.array([[0, 1j], [1j, 0]]), "type complex128"),
        ([[0, np.nan], [1, 0]], "in row 0, column 1 is nan: weights must be finite"),
        (sparse.csc_array([[0, 1.0], [np.inf, 0]]), "in row 1, column 0 is inf"),
        (listed([1.0, -1.0, -2.0], [(0, 1), (2, 1), (1, 3)]), "row 2, column 1 is -1.0, and 1 more like it: .*negative"),
        ([[0, 1e20], [1, 0]], "row 0, column 1 is 1e[+]20: expected weights from 1e-15 to 1e[+]15"),
        ([[0, 1e-20], [1, 0]], "row 0, column 1 is 1e-20"),
        (np.eye(3), "no edges: its 3 edges are loops"),
        (np.zeros((3, 3)), "no edges: all weights are zero"),
        (sparse.csr_array((0, 0)), "no edges"),
    ],
)  # fmt: skip
def test_what_is_no_graph(source, message):
    with pytest.raises(LatentiaError, match=message):
        as_graph(source)


def test_two_nodes_are_a_graph():
    assert as_graph([[0, 1], [1, 0]]).n_edges == 1
