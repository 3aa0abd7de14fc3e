"""Graphs read from files."""

import gzip
import os
import threading
import warnings

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import graphs, read_graph, read_new_nodes
from latentia.exceptions import FileNotice, LatentiaError


def edges(graph):
    """Edges as a dictionary of names, each once in an undirected graph."""
    table = (graph.adjacency if graph.directed else sparse.triu(graph.adjacency)).tocoo()
    ends = zip(table.row, table.col, table.data.tolist(), strict=True)
    return {(graph.names[i], graph.names[j]): weight for i, j, weight in ends}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.txt", "# friends\n%who\nann bob 2\n\nbob cid\nann\tbob\n"),
        ("x.edges.gz", gzip.compress(b"ann bob 3\nbob cid\n", mtime=0)),
        ("x.csv", 'one,other,times\nann,bob,2\n"bob",cid,1\nann,bob,1.0\n'),
        ("x.csv", "Source,Target,Type,Weight\nann,bob,Undirected,3\nbob,cid,Undirected,1\n"),
        ("x.tsv", "one\tother\ttimes\nann\tbob\t3\nbob\tcid\t1\n"),
        ("x.tsv.gz", gzip.compress(b"one\tother\ttimes\nann\tbob\t3\nbob\tcid\t1\n", mtime=0)),
    ],
)
def test_lists_with_names(tmp_path, name, content):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    graph = read_graph(tmp_path / name, progress=True)
    assert edges(graph) == {("ann", "bob"): 3, ("bob", "cid"): 1}
    assert (graph.names, graph.directed, graph.adjacency.dtype) == (["ann", "bob", "cid"], False, np.int32)


def test_a_third_column_without_numbers_is_no_weight(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,kind\np,q,friend\nq,r,foe\n")
    assert edges(read_graph(tmp_path / "x.csv")) == {("p", "q"): 1, ("q", "r"): 1}
    (tmp_path / "x.csv").write_text("id,n,a,b\n1,5,p,q\n2,1,q,r\n")
    assert edges(read_graph(tmp_path / "x.csv", columns=["a", "b", "n"])) == {("p", "q"): 5, ("q", "r"): 1}
    assert edges(read_graph(tmp_path / "x.csv", columns=["a", "b"])) == {("p", "q"): 1, ("q", "r"): 1}


def test_nodes_may_be_fractions_where_their_columns_are_named(tmp_path):
    (tmp_path / "x.csv").write_text("n,section,other\n1,1.1,1.2\n2,1.2,2.1\n")
    assert edges(read_graph(tmp_path / "x.csv", columns=["section", "other"])) == {("1.1", "1.2"): 1, ("1.2", "2.1"): 1}
    (tmp_path / "x.txt").write_text("intro 1.1\nintro 1.2\nx y\nx z\n")  # some names are
    assert read_graph(tmp_path / "x.txt").n_edges == 4


def test_columns_that_are_not_used_are_named(tmp_path):
    (tmp_path / "x.csv").write_text("age,rooms,a,b,c,d,e,f\n" + "31,4,1,2,3,4,5,6\n45,3,1,2,3,4,5,6\n")
    said = "'age' and 'rooms' were read as the nodes of edges; not used: 'b', 'c', 'd', 'e', 'f'. columns= names others"
    with pytest.warns(FileNotice, match=said):
        read_graph(tmp_path / "x.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_graph(tmp_path / "x.csv", columns=["age", "rooms"])


def test_workbooks(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("one", "other", "weight"), ("ann", "bob", 2), ("bob", "cid", 0.5)):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    assert edges(read_graph(tmp_path / "x.xlsx")) == {("ann", "bob"): 2, ("bob", "cid"): 0.5}


NUMBERED = [
    ("10 2\n2 30\n", ["2", "10", "30"], {("2", "10"): 1, ("2", "30"): 1}),
    ("% sym\n#\n 1\t2 \r\n\r\n2  3\r\n# 9 9\n3 1", ["1", "2", "3"], {("1", "2"): 1, ("1", "3"): 1, ("2", "3"): 1}),
    ("0 1000000000000\n5 0\n", ["0", "5", "1000000000000"], {("0", "5"): 1, ("0", "1000000000000"): 1}),
    ("0 1 2\n1 2 3\n", ["0", "1", "2"], {("0", "1"): 2, ("1", "2"): 3}),
    ("0 1 0.5\n1 2 3e-3\n4 4 1\n5 4 0\n", ["0", "1", "2", "4", "5"], {("0", "1"): 0.5, ("1", "2"): 0.003}),
    # these are read as names
    ("0 1\n1 2 2.5\n", ["0", "1", "2"], {("0", "1"): 1, ("1", "2"): 2.5}),
    ("1 0\nx 1\n", ["1", "0", "x"], {("1", "0"): 1, ("1", "x"): 1}),
    ("1 0\n1 -1\n", ["1", "0", "-1"], {("1", "0"): 1, ("1", "-1"): 1}),
    ("1 2\n2 12345678901234567890123\n", ["1", "2", "12345678901234567890123"], None),
]  # fmt: skip


@pytest.mark.parametrize(("content", "names", "expected"), NUMBERED)
def test_lists_with_numbers(tmp_path, content, names, expected):
    (tmp_path / "x.txt").write_text(content)
    graph = read_graph(tmp_path / "x.txt")
    assert graph.names == names
    assert expected is None or edges(graph) == expected


def test_numbers_are_read_alike_however_they_are_read(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 400, (3000, 2)) * 7
    text = "\n".join(f"{i} {j} {i % 5}" for i, j in pairs.tolist())
    (tmp_path / "x.txt").write_text(text)
    expected = read_graph(tmp_path / "x.txt", directed=True)
    assert (expected.n_loops, expected.n_merged) != (0, 0)
    np.save(tmp_path / "x.npy", np.c_[pairs, pairs[:, 0] % 5])
    np.save(tmp_path / "y.npy", np.c_[pairs, pairs[:, 0] % 5].astype(float))
    found = [read_graph(tmp_path / "x.txt", directed=True, encoding="utf-8")]
    found += [read_graph(tmp_path / name, directed=True) for name in ("x.npy", "y.npy")]
    monkeypatch.setattr(graphs, "_MAX_MARKED", 0)
    monkeypatch.setattr(graphs, "_PIECE_EDGES", 100)
    found += [read_graph(tmp_path / "x.txt", directed=True)]
    np.save(tmp_path / "z.npy", np.c_[pairs * 10**12, pairs[:, 0] % 5])
    found += [read_graph(tmp_path / "z.npy", directed=True)]
    for graph in found:
        assert (graph.adjacency != expected.adjacency).nnz == 0
        assert (graph.n_loops, graph.n_merged, graph.directed) == (expected.n_loops, expected.n_merged, True)
    assert found[-1].names == [name + "0" * 12 if name != "0" else "0" for name in expected.names]


def test_directions(tmp_path):
    (tmp_path / "x.txt").write_text("0 1\n1 0\n1 2\n")
    assert read_graph(tmp_path / "x.txt").n_edges == 2
    assert read_graph(tmp_path / "x.txt", directed=None).n_edges == 2
    assert edges(read_graph(tmp_path / "x.txt", directed=True)) == {("0", "1"): 1, ("1", "0"): 1, ("1", "2"): 1}


def test_a_list_with_all_edges_both_ways_has_them_once(tmp_path):
    (tmp_path / "x.txt").write_text("0 1 2\n1 0 2\n1 2 3\n2 1 3\n")
    graph = read_graph(tmp_path / "x.txt")
    assert (edges(graph), graph.n_merged) == ({("0", "1"): 2, ("1", "2"): 3}, 0)


def test_matrices(tmp_path):
    (tmp_path / "x.mtx").write_text("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 2\n3 3\n")
    graph = read_graph(tmp_path / "x.mtx", cache=False)
    assert (edges(graph), graph.n_loops) == ({("1", "2"): 1, ("2", "3"): 1}, 1)
    assert (graph.names, graph.isolated.tolist()) == (["1", "2", "3", "4"], [3])
    with pytest.warns(FileNotice, match="binary copy"):
        read_graph(tmp_path / "x.mtx")
    table = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(table))
    assert read_graph(tmp_path / "x.npz").n_edges == 3
    assert not read_graph(tmp_path / "x.npz").directed
    assert read_graph(tmp_path / "x.npz", directed=None).directed
    assert read_graph(tmp_path / "x.npz").names == ["0", "1", "2"]


def test_a_damaged_matrix(tmp_path):
    table = sparse.csr_array(np.eye(3)[::-1].copy())
    table.indices = np.array([2, 77, 0], table.indices.dtype)
    sparse.save_npz(tmp_path / "x.npz", table)
    with pytest.raises(LatentiaError, match=r"x.npz: not a readable file of scipy.sparse.save_npz \(indices"):
        read_graph(tmp_path / "x.npz")


@pytest.mark.parametrize("suffix", ["graphml", "gml", "gexf", "net", "graphml.gz"])
def test_files_of_networkx(tmp_path, suffix):
    nx = pytest.importorskip("networkx")
    write = {"graphml": nx.write_graphml, "gml": nx.write_gml, "gexf": nx.write_gexf, "net": nx.write_pajek}
    source = nx.Graph([("ann", "bob"), ("bob", "cid"), ("cid", "cid")])
    source.add_node("dan")
    source["ann"]["bob"]["weight"] = 2.5
    path = tmp_path / f"x.{suffix}"
    write[suffix.partition(".")[0]](source, path)
    graph = read_graph(path)
    assert edges(graph) == {("ann", "bob"): 2.5, ("bob", "cid"): 1}
    assert (graph.names, graph.n_loops, graph.isolated.tolist()) == (["ann", "bob", "cid", "dan"], 1, [3])
    assert read_graph(path, directed=True).n_edges == 4
    write[suffix.partition(".")[0]](nx.DiGraph(source), path)
    assert read_graph(path, directed=None).directed
    assert not read_graph(path).directed


def test_nodes_are_named_by_labels_of_their_own(tmp_path):
    nx = pytest.importorskip("networkx")
    source = nx.path_graph(3)
    nx.set_node_attributes(source, {0: "p", 1: "q", 2: "r"}, "name")
    nx.write_graphml(source, tmp_path / "x.graphml")
    assert read_graph(tmp_path / "x.graphml").names == ["p", "q", "r"]
    source.nodes[2]["name"] = "p"
    nx.write_graphml(source, tmp_path / "x.graphml")
    assert read_graph(tmp_path / "x.graphml").names == ["0", "1", "2"]
    (tmp_path / "x.gml").write_text("graph [ node [ id 7 ] node [ id 8 ] edge [ source 7 target 8 ] ]")
    assert edges(read_graph(tmp_path / "x.gml")) == {("7", "8"): 1}


def test_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("0 1\n1 2\n",))
    writer.start()
    graph = read_graph(tmp_path / "pipe")
    writer.join()
    assert edges(graph) == {("0", "1"): 1, ("1", "2"): 1}


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.txt", "a b\na b c d\n", {}, "x.txt, line 2: 4 columns, and an edge is two nodes"),
        ("x.txt", "# ids\n0 1\n1 2 3 4\n", {}, "x.txt, line 3: 4 columns, and an edge is two nodes"),
        ("x.txt", "0 1\n1\n", {}, "x.txt, line 2: 1 columns"),
        ("x.txt", "a b\na b many\n", {}, "x.txt, line 2: 'many' is no weight"),
        ("x.txt", "0 1 1\n0 1 -1\n", {}, "x.txt, line 2: '-1' is no weight; weights are 0, for no edge, or numbers"),
        ("x.txt", "0 1 1e16\n", {}, "x.txt, line 1: '1e16' is no weight"),
        ("x.txt", "0 1 nan\n", {}, "x.txt, line 1: 'nan' is no weight"),
        ("x.txt", "# nothing\n", {}, "expected edges, found none in the file"),
        ("x.txt", "", {}, "expected edges, found none in the file"),
        ("x.txt", "0 0\n", {}, "x.txt: The graph has no edges: its 1 edges are loops"),
        ("x.txt", b"a b\n\xff\x81 b\n", {}, "x.txt, line 2: not UTF-8 text .byte 0xff"),
        ("x.txt", b"0 1\n1 \x002\n", {}, "x.txt, line 2: a NUL byte"),
        ("x.txt", "a b\n", {"columns": ["a", "b"]}, "no named columns"),
        ("x.csv", "a,b\np\n", {}, "x.csv, line 2: 1 fields"),
        ("x.csv", "0,1,5\n1,2,7\n", {}, "expected headings, found numbers in the first line"),
        ("x.csv", "a,b\np,q\n,q\n", {}, "x.csv, line 3, column .*: expected a node, found an empty cell"),
        ("x.csv", "a,b\np,q\n", {"columns": ["a", "c"]}, "no column 'c'"),
        ("x.csv", "a,b\np,q\n", {"columns": ["a"]}, "expected two columns of nodes, and optionally one of weights; found 1"),
        ("x.csv", "a,b,c\np,q,1\nq,r,\n", {}, "x.csv, line 3, column 'c': '' is no weight"),
        ("x.csv", "alcohol,acid,ash\n14.23,1.71,2.43\n13.2,1.78,2\n", {}, "first column holds numbers such as 14.23,"),
        ("x.tsv", "class\tacid\n1\t1.71\n1\t2\n2\t-.3e5\n", {}, "second column .* 1.71, which are measurements and no nodes"),
        ("x.csv", "a;b\n1,5;2\n2;3\n2,5;3\n", {}, "x.csv: the first column holds numbers such as 1,5"),
        ("x.txt", "14.23 1.71 2.43\n13.2 1.78 2.14\n", {}, "x.txt: the first column holds numbers such as 14.23"),
        ("x.mtx", "%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 2 4\n", {"cache": False}, "2 rows and 3 col"),
        ("x.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 -4\n", {"cache": False}, "x.mtx: The weight"),
        ("x.txt.gz", gzip.compress(b"0 1\n" * 99, mtime=0)[:-9], {}, "x.txt.gz: the compressed file is damaged or truncated"),
        ("x.npy", "no array", {}, "x.npy: not a readable NumPy file"),
        ("x.npz", "no array", {}, "x.npz: not a readable zip archive"),
        ("x.npz", "no array", {"encoding": "utf-8"}, "its encoding cannot be chosen"),
        ("x.graphml", "<graphml", {}, "x.graphml: not a readable GraphML file"),
        ("x.gml", "graph", {}, "x.gml: not a readable GML file"),
        ("x.gexf", "nothing", {}, "x.gexf: not a readable GEXF file"),
        ("x.gexf", "nothing", {"encoding": "utf-8"}, "its encoding cannot be chosen"),
        ("x.net", "nothing", {}, "x.net: "),
    ],
)  # fmt: skip
def test_bad_files(tmp_path, name, content, options, message):
    if name.endswith(("ml", "gexf", "net")):
        pytest.importorskip("networkx")
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LatentiaError, match=message):
        read_graph(tmp_path / name, **options)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((3, 4)), r"shape \(3, 4\)"),
        (np.empty((0, 2), int), "expected edges, found none in the file"),
        (np.array([[0, 1], [-1, 2]]), "row 1: expected whole numbers from 0 as nodes, found -1"),
        (np.array([[0, 1.5]]), "row 0: expected whole numbers from 0 as nodes, found 1.5"),
        (np.array([[0, np.nan]]), "row 0: expected whole numbers from 0 as nodes, found nan"),
        (np.array([[0, np.inf]]), "row 0: expected whole numbers from 0 as nodes, found inf"),
        (
            np.array([[0, 1], [2, 2**64 - 1]], np.uint64),
            "row 1: expected whole numbers from 0 as nodes, found 18446744073709551615",
        ),
        (np.array([[0, 1, 1.0], [0, 1, np.inf]]), "row 1: inf is no weight"),
        (np.array([["a", "b"]]), "type <U1"),
    ],
)
def test_bad_arrays(tmp_path, array, message):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(LatentiaError, match=message):
        read_graph(tmp_path / "x.npy")


def test_an_array_that_is_cut_short(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(200).reshape(-1, 2))
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-100])
    with pytest.raises(LatentiaError, match="x.npy: not a readable NumPy file"):
        read_graph(tmp_path / "x.npy")


def test_no_file(tmp_path):
    with pytest.raises(LatentiaError, match="no such file"):
        read_graph(tmp_path / "x.txt")
    with pytest.raises(LatentiaError, match="a folder"):
        read_graph(tmp_path)


def test_a_missing_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    (tmp_path / "x.gml").write_text("graph [ ]")
    with pytest.raises(ImportError, match=r"Reading GML files needs the package 'networkx'.*pip install networkx "):
        read_graph(tmp_path / "x.gml")


def test_a_graph_is_read_from_a_path_or_made_of_a_matrix(tmp_path):
    (tmp_path / "x.txt").write_text("a b\nb c\n")
    assert edges(graphs.graph_of(tmp_path / "x.txt")) == {("a", "b"): 1, ("b", "c"): 1}
    assert graphs.graph_of(str(tmp_path / "x.txt"), directed=True).directed
    assert graphs.graph_of([[0, 1], [1, 0]]).n_edges == 1


def test_edges_of_new_nodes(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("w,from,to\n2,n,a\n3,b,m\n5,b,a\n7,p,q\n11,n,n\n13,m,c\n")
    found = read_new_nodes(path, ["a", "b", "c"], columns=["from", "to", "w"])
    names = sorted(found.names)
    order = [found.names.index(name) for name in names]
    assert names == ["b", "m", "n"]  # of an edge between two of the model's, the first is taken as new
    np.testing.assert_array_equal(found.leading.toarray()[order], [[5, 0, 0], [0, 0, 13], [2, 0, 0]])
    np.testing.assert_array_equal(found.coming.toarray()[order], [[0, 0, 0], [0, 3, 0], [0, 0, 0]])
    assert (found.n_edges, found.n_ignored, found.ignored, found.n_loops) == (4, 1, ("p", "q"), 1)
    path = tmp_path / "x.txt"
    path.write_text("7 0\n7 1\n")
    assert read_new_nodes(path, range(2), columns=["from", "to"]).names == ["7"]  # a list has no columns
    with pytest.raises(LatentiaError, match=r"x.txt: the model knows none of its nodes. Every edge must have one"):
        read_new_nodes(path, ["a"])
