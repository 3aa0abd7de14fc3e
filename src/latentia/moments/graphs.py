"""Graphs as sparse adjacency matrices, from whatever holds one."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..exceptions import LatentiaError
from ..passes import Blocks
from ..passes.tables import check_arrays, fill_masked

_LEAST, _MOST = 1e-15, 1e15  # weights, whose products are in range
_EXACT = 2**53  # whole numbers above are left as floats
_ROUNDING = 1e-9
_PIECE = 1 << 22  # entries that are looked at together
_ATTRIBUTE = "weight"


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph without loops and without repeated edges. Make one with `as_graph` or `latentia.datasets.read_graph`.

    Attributes
    ----------
    adjacency : csr_array of shape (n, n)
        Weights a_ij > 0 of the edges, in canonical format; symmetric unless ``directed``, when a_ij is that of i to j. Whole
        weights are int32, or int64 if they are large, and others float64.
    names : list of str of length n, or None
        Names of the nodes; None where they are only numbered.
    directed : bool
    n_loops : int
        Edges of a node to itself that were left out.
    n_merged : int
        Repetitions of an edge in the source that were merged with it.
    """

    adjacency: sparse.csr_array
    names: list[str] | None = None
    directed: bool = False
    n_loops: int = 0
    n_merged: int = 0

    @property
    def n_nodes(self) -> int:
        """n."""
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of edges; those of an undirected graph count once."""
        return int(self.adjacency.nnz if self.directed else self.adjacency.nnz // 2)

    @cached_property
    def weighted(self) -> bool:
        """Whether any edge has another weight than 1."""
        return not _every(self.adjacency.data, lambda data: data == 1)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Sum of the weights of each node's edges, those to it and from it; shape (n,), int64 or float64."""
        found = self.adjacency.sum(axis=1)
        return np.asarray(found + self.adjacency.sum(axis=0) if self.directed else found).ravel()

    @cached_property
    def isolated(self) -> np.ndarray:
        """Numbers of the nodes that have no edge."""
        return np.flatnonzero(self.part_of < 0)

    @property
    def parts(self) -> int:
        """Number of connected components, nodes without edges left out; directions do not matter."""
        return int(self.part_of.max()) + 1

    @cached_property
    def part_of(self) -> np.ndarray:
        """Connected component of each node, shape (n,): 0 is the largest, and -1 stands for nodes without edges."""
        # Of a symmetric matrix the strong components are the components, and need no copy of its transpose.
        labels = connected_components(self.adjacency, connection="weak" if self.directed else "strong")[1]
        sizes = np.bincount(labels)
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > 1]
        numbers = np.full(len(sizes), -1)
        numbers[order] = np.arange(len(order))
        return numbers[labels]


def as_graph(source: Any, directed: bool | None = None) -> Graph:
    """A graph from a matrix, from networkx or igraph; files are read by `latentia.datasets.read_graph`.

    Loops are left out, and explicit zeros are no edges. Repeated edges are summed if there are weights, before they are
    checked; where all weights are 1 they become one edge.

    Parameters
    ----------
    source : sparse matrix or array-like of shape (n, n), DataFrame, Blocks, networkx or igraph graph, or Graph
        Weights of edges: 0 is no edge, and others lie from 1e-15 to 1e15. The index of a DataFrame names the nodes. Edges of
        networkx and igraph graphs have their attribute ``weight``, if there is one, and nodes of igraph their ``name``.
    directed : bool, optional
        By default networkx and igraph graphs say it themselves, and a matrix is that of an undirected graph if it is symmetric
        or triangular: then it has each edge once. False makes a graph undirected: to A + A^T if A is weighted, and else with
        an edge where there is one either way; a symmetric A is left as it is. True takes every entry of a matrix as an edge
        from the row's node to the column's, and gives every edge of an undirected graph both directions.

    Raises
    ------
    LatentiaError
        If the matrix is not square, holds what is no number, NaN, infinite or negative weights or weights out of range, or if
        there is no edge.

    Examples
    --------
    >>> graph = as_graph([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> graph.n_edges, graph.directed, graph.degrees
    (2, False, array([1, 3, 2]))
    """
    if isinstance(source, Graph):
        return _turned(source, directed)
    if isinstance(source, (str, os.PathLike)):
        raise LatentiaError("a file is read by latentia.datasets.read_graph.", source=source)
    if _is_from(source, "networkx"):
        return _of_networkx(source, directed)
    if _is_from(source, "igraph"):
        return _of_igraph(source, directed)
    table, names = _table(source)
    return replace(_of_matrix(table, directed, _cell(table)), names=names)


def _turned(graph: Graph, directed: bool | None) -> Graph:
    """A graph with directions, or without them."""
    if directed is None or directed == graph.directed:
        return graph
    if directed:
        return replace(graph, directed=True)
    found = _of_matrix(graph.adjacency, False, _cell(graph.adjacency))
    return replace(found, names=graph.names, n_loops=graph.n_loops, n_merged=graph.n_merged + found.n_merged)


# --- sources ------------------------------------------------------------------------------------------------------


def is_graph(source: Any) -> bool:
    """Return True for a graph of networkx or igraph, or a `Graph`; not for a matrix."""
    return isinstance(source, Graph) or _is_from(source, "networkx") or _is_from(source, "igraph")


def _is_from(source: Any, package: str) -> bool:
    """Whether an object's class, or one that it derives from, is of a package."""
    return any(kind.__module__.partition(".")[0] == package for kind in type(source).__mro__)


def _of_networkx(source: Any, directed: bool | None) -> Graph:
    nodes = list(source)
    place = {node: i for i, node in enumerate(nodes)}
    edges = [(place[a], place[b], weight) for a, b, weight in source.edges(data=_ATTRIBUTE, default=1)]
    ends = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
    return _of_edges(ends, [edge[2] for edge in edges], nodes, source.is_directed(), directed)


def _of_igraph(source: Any, directed: bool | None) -> Graph:
    ends = np.array(source.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weights = source.es[_ATTRIBUTE] if _ATTRIBUTE in source.es.attributes() else None
    nodes = source.vs["name"] if "name" in source.vs.attributes() else range(source.vcount())
    return _of_edges(ends, weights, nodes, source.is_directed(), directed)


def _of_edges(
    ends: np.ndarray, weights: list[Any] | None, nodes: Sequence[Hashable], has_directions: bool, directed: bool | None
) -> Graph:
    """A graph of a list of edges, each of which an undirected graph has once."""

    def edge(at: int) -> str:
        return f"of the edge of {nodes[int(listed[at, 0])]!r} and {nodes[int(listed[at, 1])]!r}"

    listed, size = ends, len(nodes)
    given = np.ones(len(ends), np.int8) if weights is None else _numbers(weights, edge)
    if not has_directions:
        ends = np.sort(ends, axis=1)
    table = sparse.coo_array((given, (ends[:, 0], ends[:, 1])), shape=(size, size))
    names = None if all(type(node) is int and node == i for i, node in enumerate(nodes)) else [str(n) for n in nodes]
    found = replace(_of_matrix(table, has_directions, edge), names=names)
    return _turned(found, directed)


def _numbers(weights: list[Any], edge: Callable[[int], str]) -> np.ndarray:
    """Weights of edges as an array; a missing one is NaN, and refused later."""
    given = [np.nan if weight is None else weight for weight in weights]
    try:
        found = np.asarray(given)
    except ValueError:  # lists of different lengths
        found = np.empty(0, dtype=object)
    if found.ndim == 1 and found.dtype.kind in "buif":
        return found
    at = next((i for i, weight in enumerate(given) if not _is_weight(weight)), None)
    if at is not None:
        raise LatentiaError(f"The weight {edge(at)} is {given[at]!r}: numbers to {_MOST:g} are needed.")
    return np.array([float(weight) for weight in given])  # fractions


def _is_weight(value: Any) -> bool:
    return isinstance(value, (Real, np.bool_)) and not abs(value) > _MOST  # type: ignore[operator, arg-type]


def _table(source: Any) -> tuple[Any, list[str] | None]:
    """A matrix as a sparse one, and the names of its nodes."""
    if sparse.issparse(source):
        return _with_sums(check_arrays(source, "The adjacency matrix")), None
    names = None
    if hasattr(source, "columns") and hasattr(source, "index"):
        source, names = _of_frame(source)
    elif isinstance(source, Blocks):
        names = source.names
        source = source.table()
    if not sparse.issparse(source):
        try:
            source = np.asarray(fill_masked(source))
        except ValueError as error:  # rows of different lengths
            raise LatentiaError(f"The adjacency matrix is no table of rows and columns: {error}") from error
        _check_square(source.shape)
        _check_type(source.dtype)
        dtype = np.float32 if source.dtype == np.float16 else source.dtype.newbyteorder("=")
        source = sparse.csr_array(source.astype(dtype, copy=False))
    return source, names if names is not None and len(names) == source.shape[0] else None


def _with_sums(table: Any) -> Any:
    """Return a matrix in which repeated entries are summed, where some are negative and their sums may not be."""
    if (
        table.format not in ("coo", "csr")
        or table.dtype.kind not in "if"
        or _every(table.data, lambda data: ~(data < 0))
    ):
        return table
    found = sparse.csr_array(table, copy=True)
    found.sum_duplicates()
    return found if found.nnz < table.nnz else table


def _of_frame(frame: Any) -> tuple[Any, list[str] | None]:
    """The table of a DataFrame with its columns in the order of its rows, and the names of the rows."""
    _check_square(frame.shape)
    index, columns = list(frame.index), list(frame.columns)
    numbered = index == list(range(len(index)))
    if index != columns and not numbered:
        if len(set(index)) < len(index) or set(index) != set(columns):
            odd = next((name for name in columns if name not in set(index)), columns[0])
            raise LatentiaError(
                f"The rows and columns of the table name different nodes: column {odd!r} is no row, or a name is there twice. "
                "Give both the same names."
            )
        frame = frame[index]
    table = Blocks.from_array(frame).table()
    return table, None if numbered else [str(name) for name in index]


# --- matrices -----------------------------------------------------------------------------------------------------


def _of_matrix(table: Any, directed: bool | None, entry: Callable[[int], str]) -> Graph:
    """A graph of a sparse matrix in any format; ``entry(at)`` says where a stored entry stands."""
    _check_square(table.shape)
    _check_type(table.dtype)
    if table.format not in ("coo", "csr"):
        table = sparse.csr_array(table)
    _check_weights(table.data, entry)
    plain = _every(table.data, lambda data: (data == 1) | (data == 0))
    found, n_loops, n_listed = _without_loops(table, np.int8 if plain else np.float64)
    if not found.nnz:
        what = f"its {n_loops} edges are loops, of a node to itself" if n_loops else "all weights are zero"
        raise LatentiaError(f"The graph has no edges: {what}.")
    n_merged = n_listed - found.nnz
    if plain and n_merged:
        found.data[:] = 1
    if directed is None or not directed:
        turned = sparse.csr_array(found.T)
        same = _is_same(found, turned)
        if not (directed := directed is None and not (same or _is_triangular(found))):
            single = found.nnz
            found = _evened(found, turned) if same else found + turned
            n_merged += 0 if same else (2 * single - found.nnz) // 2
    return Graph(_finished(found, plain), None, bool(directed), n_loops, n_merged)


def _check_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise LatentiaError(
            f"The adjacency matrix has shape {shape}: a square one is needed, with the same nodes in rows and columns. Make a "
            "list of edges one with scipy.sparse.coo_array((weights, (i, j)), shape=(n, n))."
        )


def _check_type(dtype: np.dtype) -> None:
    if dtype.kind not in "buif":
        raise LatentiaError(f"The weights have type {dtype}: real numbers are needed.")


def _check_weights(data: np.ndarray, entry: Callable[[int], str]) -> None:
    tests: tuple[tuple[Callable[[np.ndarray], np.ndarray], str], ...] = (
        (np.isfinite, "weights must be finite; leave out edges whose weight is not known"),
        (lambda x: x >= 0, "weights must not be negative; no model here has signed edges"),
        (lambda x: (x == 0) | ((x >= _LEAST) & (x <= _MOST)), f"weights from {_LEAST:g} to {_MOST:g} are needed; rescale them"),
    )  # fmt: skip
    if data.dtype.kind == "b":
        return
    for good, needed in tests:
        if _every(data, good):
            continue
        bad = np.flatnonzero(~good(data))
        more = f", and {len(bad) - 1} more like it" if len(bad) > 1 else ""
        raise LatentiaError(f"The weight {entry(int(bad[0]))} is {data[bad[0]]}{more}: {needed}.")


def _cell(table: Any) -> Callable[[int], str]:
    """Says in which row and column a stored entry of a matrix is."""

    def entry(at: int) -> str:
        if table.format == "coo":
            return f"in row {table.row[at]}, column {table.col[at]}"
        rows = sparse.csr_array(table)
        return f"in row {np.searchsorted(rows.indptr, at, side='right') - 1}, column {rows.indices[at]}"

    return entry


def _without_loops(table: Any, dtype: Any) -> tuple[sparse.csr_array, int, int]:
    """The matrix in canonical format without its diagonal and zeros; how many loops and how many other edges it had.

    Repeated edges are summed; where all are 1 the sums may overflow, and are of no use.
    """
    size = table.shape[0]
    index = np.int32 if max(size, table.nnz) < 2**31 else np.int64
    if table.format == "coo":
        rows, columns = (np.asarray(ends).astype(index, copy=False) for ends in (table.row, table.col))
    else:
        rows = np.repeat(np.arange(size, dtype=index), np.diff(table.indptr))
        columns = table.indices.astype(index, copy=False)
    data = table.data.astype(dtype, copy=False)
    keep = data != 0
    n_edges = int(np.count_nonzero(keep))
    keep &= rows != columns
    n_listed = int(np.count_nonzero(keep))
    n_loops = n_edges - n_listed
    if table.format == "csr" and n_listed == table.nnz and table.has_canonical_format:
        indptr = table.indptr.astype(index, copy=False)
        found = sparse.csr_array((data, columns, indptr), shape=table.shape)
        found.has_canonical_format = True
        return found, n_loops, n_listed
    if n_listed < table.nnz:
        rows, columns, data = rows[keep], columns[keep], data[keep]
    return sparse.csr_array(sparse.coo_array((data, (rows, columns)), shape=table.shape)), n_loops, n_listed


def _is_triangular(table: sparse.csr_array) -> bool:
    """Whether all entries are on one side of the diagonal, which is empty. Columns are sorted."""
    used = np.flatnonzero(np.diff(table.indptr))
    first, last = table.indices[table.indptr[used]], table.indices[table.indptr[used + 1] - 1]
    return bool((first > used).all() or (last < used).all())


def _is_same(table: sparse.csr_array, other: sparse.csr_array) -> bool:
    """Whether two matrices are the same, up to rounding."""
    return (
        np.array_equal(table.indptr, other.indptr)
        and np.array_equal(table.indices, other.indices)
        and all(
            np.allclose(table.data[start : start + _PIECE], other.data[start : start + _PIECE], rtol=_ROUNDING, atol=0)
            for start in range(0, table.nnz, _PIECE)
        )
    )


def _evened(table: sparse.csr_array, turned: sparse.csr_array) -> sparse.csr_array:
    """A matrix that is symmetric up to rounding without the rounding."""
    if np.array_equal(table.data, turned.data):
        return table
    return sparse.csr_array(((table.data + turned.data) / 2, table.indices, table.indptr), shape=table.shape)


def _finished(table: sparse.csr_array, plain: bool) -> sparse.csr_array:
    """Weights of the narrowest type; all are 1 if the graph is ``plain``."""
    if plain:
        data = np.ones(table.nnz, np.int32)
    else:
        data = table.data
        if _every(data, lambda x: x % 1 == 0) and (most := data.max()) <= _EXACT:
            data = data.astype(np.int32 if most < 2**31 else np.int64)
    found = sparse.csr_array((data, table.indices, table.indptr), shape=table.shape)
    found.has_canonical_format = True
    return found


def _every(data: np.ndarray, test: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether all entries pass a test, which sees some of them at a time."""
    return all(bool(test(data[start : start + _PIECE]).all()) for start in range(0, len(data), _PIECE))
