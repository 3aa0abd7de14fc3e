"""Graphs from files: lists of edges, tables, matrices, and the formats of programs that draw graphs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from ..exceptions import LatentiaError, MissingExtraError
from ..moments import Graph, as_graph
from ..passes.formats import (
    chunks,
    no_encoding,
    open_lines,
    open_text,
    plain_name,
    readable,
    reusable,
    rows_fit,
)
from ..passes.parsing import NEWLINE, SPACE, count_lines, read_decimal, read_whole, skip_blanks
from ..reading import has_columns
from ..system.compressed import is_compressed, open_archive
from ._edges import ListKind, read_named_matrix, read_numbered_rows, read_square, sort_by_number

_MIN_WEIGHT, _MAX_WEIGHT = 1e-15, 1e15  # range of weights in `as_graph`
_COMMENT = ("#", "%")
_HASH, _PERCENT = (ord(mark) for mark in _COMMENT)
_MAX_MARKED = 1 << 24  # node numbers up to this, or eight times the edges, are marked in an array instead of sorted
_PIECE_EDGES = 1 << 22  # edges that are renumbered at a time
_LABELS = ("label", "name")  # attributes with names of nodes, in order of preference
_PLAIN = (".mtx", ".npy", ".npz", ".xlsx")

_EDGES = ListKind(
    things="edges",
    end="node",
    ends="nodes",
    number="weight",
    numbers="weights",
    meaning=f"weights are 0, for no edge, or numbers from {_MIN_WEIGHT:g} to {_MAX_WEIGHT:g}",
    row="an edge is two nodes and optionally a weight. Leave other columns out, or name the two or three to use, in a .csv "
    "or .tsv file with headings.",
    table="The matrix of a graph",
    is_comment=lambda name: name.startswith(_COMMENT),
    allows=lambda weight: weight == 0 or _MIN_WEIGHT <= weight <= _MAX_WEIGHT,
    weight="weight",
    measured="A list of edges is two columns of nodes and optionally a weight. If these are nodes, name the columns in a .csv "
    "or .tsv file with headings. Rows of measurements are data of other commands, such as 'latentia mixture' or "
    "'latentia ica'.",
)


def read_graph(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    directed: bool | None = False,
    encoding: str | None = None,
    cache: str | os.PathLike[str] | bool | None = None,
    progress: bool = False,
) -> Graph:
    """Read a graph.

    Nodes have names, which are strings, even if the file numbers them. The nodes of a list of edges are those that occur in it,
    in numerical order, or else in the order of their first use; numbers may have gaps. `latentia.moments.as_graph` describes
    the treatment of loops, repeated edges and directions.

    Parameters
    ----------
    path : path
        A file of one of these kinds, recognised by its name:

        - text with two nodes and optionally a weight a line, separated by blanks or tabs; lines that begin with ``#`` or
          ``%`` are comments
        - ``.csv``, ``.tsv`` or ``.xlsx`` with headings
        - ``.mtx``, MatrixMarket with a square table; nodes are numbered from 1
        - ``.npy`` with two or three columns: nodes, which are whole numbers, and weights
        - ``.npz`` as `scipy.sparse.save_npz` writes it; nodes are numbered from 0
        - ``.graphml``, ``.gml``, ``.gexf`` or Pajek ``.net``, through the ``data`` extra; edges have their attribute
          ``weight``, and nodes are named by ``label`` or ``name`` where all have one of their own

        ``.gz`` is read as it is. A pipe is read to its end as a list of edges; ``-`` is standard input.
    columns : sequence of str, optional
        The two columns of nodes and optionally the one of weights, of a table with headings. By default the first two, and
        the one named weight, or the third if it holds numbers.
    directed : bool or None, default=False
        True if edges lead from the first node, or the row, to the second. None leaves it to `as_graph` for matrices and
        graph formats; lists of edges are then undirected.
    encoding : str, optional
        Encoding of a text or table with headings; detected by default, see `latentia.datasets.readers`.
    cache : path or bool, optional
        Folder for the binary cache of a MatrixMarket file; by default beside it. False keeps none.
    progress : bool
        True shows progress.

    Returns
    -------
    Graph

    Raises
    ------
    LatentiaError
        If the file is missing, empty, damaged or has no edge, or a line is no edge, with its number.
    """
    with reusable(path) as source:
        file_cache = cache if source == Path(path) else False
        graph = _read_graph(source, columns, directed, encoding, file_cache, progress)
    names = range(graph.n_nodes) if graph.names is None else graph.names
    return replace(graph, names=[str(name) for name in names])


def graph_of(source: Any, directed: bool | None = None, progress: bool = False) -> Graph:
    """Return the graph in a file, given its path; convert other sources by `latentia.moments.as_graph`."""
    if isinstance(source, (str, os.PathLike)):
        return read_graph(source, directed=directed, progress=progress)
    return as_graph(source, directed)


@dataclass(frozen=True)
class NewNodes:
    """New nodes, and their edges to the nodes of a model.

    Attributes
    ----------
    names : list of str
        Names of the new nodes.
    leading : csr_array of shape (n_new, n_known)
        Weights of edges from new nodes to nodes of the model.
    coming : csr_array of shape (n_new, n_known)
        Weights of edges from nodes of the model to new nodes.
    n_edges, n_ignored, n_loops : int
        Number of edges in use; numbers of edges that are left out: those between two new nodes, and loops.
    ignored : (str, str) or None
        The first edge between two new nodes.
    """

    names: list[str]
    leading: sparse.csr_array
    coming: sparse.csr_array
    n_edges: int
    n_ignored: int
    n_loops: int
    ignored: tuple[str, str] | None


def read_new_nodes(
    path: str | os.PathLike[str],
    known: Sequence[object],
    *,
    columns: Sequence[str] | None = None,
    encoding: str | None = None,
    cache: str | os.PathLike[str] | bool | None = None,
    progress: bool = False,
) -> NewNodes:
    r"""Read edges between new nodes and nodes of a model, for `MixedMembershipBlockModel.transform`.

    If the second node of an edge is one of the model's, the first is taken as new; otherwise the second is new, if the first is
    one of the model's.

    Parameters
    ----------
    path : path
        A graph, as `read_graph` reads it.
    known : sequence
        Names of the model's nodes, such as its ``names_``, or their numbers.
    columns : sequence of str, optional
        Columns of a table with headings, see `read_graph`; ignored for other files.
    encoding, cache, progress : optional
        See `read_graph`.

    Returns
    -------
    NewNodes

    Raises
    ------
    LatentiaError
        If the file cannot be read as a graph, or no edge has one of the model's nodes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentia.datasets import read_new_nodes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "edges.txt"
    ...     _ = path.write_text("new a\nnew b\nb other\nc d\n")
    ...     found = read_new_nodes(path, ["a", "b"])
    >>> found.names, found.leading.toarray().tolist(), found.coming.toarray().tolist(), found.ignored
    (['new', 'other'], [[1, 1], [0, 0]], [[0, 0], [0, 1]], ('c', 'd'))
    """
    columns = columns if has_columns(Path(path)) else None
    graph = read_graph(path, columns=columns, directed=True, encoding=encoding, cache=cache, progress=progress)
    assert graph.names is not None
    numbers = {str(name): i for i, name in enumerate(known)}
    place = np.array([numbers.get(name, -1) for name in graph.names])
    cells = graph.adjacency.tocoo()
    first, second = cells.coords
    forward = place[second] >= 0
    backward = ~forward & (place[first] >= 0)
    is_used = forward | backward
    if not is_used.any():
        raise LatentiaError(
            "the model knows none of its nodes. Every edge must have one of them.", source=Path(path).name
        )
    nodes = np.unique(np.where(forward, first, second)[is_used])

    def table(selected: np.ndarray, new: np.ndarray, old: np.ndarray) -> sparse.csr_array:
        places = np.searchsorted(nodes, new[selected]), place[old[selected]]
        return sparse.csr_array((cells.data[selected], places), shape=(len(nodes), len(numbers)))

    first_ignored, n = int(is_used.argmin()), int(is_used.sum())
    ignored = None if is_used.all() else (graph.names[first[first_ignored]], graph.names[second[first_ignored]])
    return NewNodes(
        [graph.names[i] for i in nodes], table(forward, first, second), table(backward, second, first), n, len(is_used) - n,
        graph.n_loops, ignored,
    )  # fmt: skip


def _read_graph(
    path: Path,
    columns: Sequence[str] | None,
    directed: bool | None,
    encoding: str | None,
    cache: str | os.PathLike[str] | bool | None,
    progress: bool,
) -> Graph:
    if path.is_dir():
        raise LatentiaError("expected a file with a graph, found a folder.", source=path)
    if not path.exists():
        raise LatentiaError("no such file.", source=path)
    name = plain_name(path)
    program_suffix = next((suffix for suffix in _READERS if name.endswith(suffix)), None)
    if encoding is not None and (program_suffix or name.endswith(_PLAIN)):
        raise no_encoding(path, encoding)
    if columns is not None and not has_columns(path):
        raise LatentiaError(f"the file has no named columns; leave {', '.join(columns)} out.", source=path)
    if program_suffix:
        return _build_graph(path, _read_networkx(path, program_suffix), directed)
    if name.endswith(".mtx"):
        table = read_square(path, cache, _EDGES)
        return replace(_build_graph(path, table, directed), names=[str(i) for i in range(1, table.shape[0] + 1)])
    if name.endswith(".npz"):
        return _build_graph(path, _read_npz(path), directed)
    matrix = read_named_matrix(path, columns, encoding, _EDGES)
    if matrix is not None:
        return replace(_build_graph(path, matrix[0], directed), names=matrix[1])
    edges = _read_npy(path) if name.endswith(".npy") else None
    if edges is None and encoding is None and not has_columns(path):
        edges = _read_numbered_edges(path, progress)
    if edges is None:
        edges = _read_named_edges(path, columns, encoding, progress)
    table, names = edges
    return replace(_build_graph(path, table, bool(directed)), names=names)


def _build_graph(path: Path, source: Any, directed: bool | None) -> Graph:
    """Return the graph of a file's content; errors name the file."""
    try:
        return as_graph(source, directed)
    except LatentiaError as error:
        raise LatentiaError(f"{error}", source=path) from error


# --- lists of edges -----------------------------------------------------------------------------------------------

_Edges = tuple[sparse.coo_array, list[str]]


def _read_named_edges(path: Path, columns: Sequence[str] | None, encoding: str | None, progress: bool) -> _Edges:
    """Return the edges of a list in which nodes have names, and the names."""
    numbers: dict[str, int] = {}
    chunks_read = [
        (codes.astype(np.int32), weights)
        for codes, weights in read_numbered_rows(path, _EDGES, numbers, columns, encoding, progress and "reading edges")
    ]
    names = list(numbers)
    ends = np.concatenate([codes for codes, _ in chunks_read])
    order = sort_by_number(names)
    if order is not None:
        place = np.empty(len(names), np.int32)
        place[order] = np.arange(len(names))
        ends, names = place[ends], [names[i] for i in order]
    return _build_coo(ends, np.concatenate([weights for _, weights in chunks_read]), len(names)), names


def _read_numbered_edges(path: Path, progress: bool) -> _Edges | None:
    """Return the edges of a list in which nodes have numbers, and the numbers; None if it contains other names."""
    width = _find_width(path)
    if not width:
        return None
    ends, weights = [], []
    with readable(path), open_lines(path) as file:
        for buffer, line in chunks(path, file, progress):
            pairs, third, bad = _parse_edges(buffer, width, _MIN_WEIGHT, _MAX_WEIGHT)
            if bad >= 0:
                cells = bytes(buffer).split(b"\n")[bad].decode("utf-8", "replace").split()
                _EDGES.check_row(path, line + bad, cells)
                return None
            ends.append(pairs.astype(np.int32) if pairs.max(initial=0) < 2**31 else pairs)
            weights.append(third)
    return _renumber_nodes(ends, None if width == 2 else np.concatenate(weights))


def _find_width(path: Path) -> int:
    """Return the number of columns, 2 or 3, if the first line below comments begins with two whole numbers; else 0."""
    with readable(path), open_lines(path) as file:
        for line in file:
            cells = line.split()
            if cells and not line.lstrip().startswith((b"#", b"%")):
                return len(cells) if 2 <= len(cells) <= 3 and cells[0].isdigit() and cells[1].isdigit() else 0
    return 0


@njit(nogil=True, cache=True)
def _parse_edges(buffer: np.ndarray, width: int, low: float, high: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Parse lines of ``width`` numbers: ends (n, 2), weights (n,) if ``width`` is 3, and the first bad line, or -1."""
    n_lines = count_lines(buffer)
    ends, weights = np.empty((n_lines, 2), np.int64), np.empty(n_lines if width == 3 else 0)
    i, n = np.int64(0), 0
    for line in range(n_lines):
        i = skip_blanks(buffer, i)
        if buffer[i] == _HASH or buffer[i] == _PERCENT:
            while buffer[i] != NEWLINE:
                i += 1
        elif buffer[i] != NEWLINE:
            for column in range(2):
                ends[n, column], i = read_whole(buffer, i)
                if ends[n, column] < 0 or buffer[i] > SPACE:
                    return ends[:0], weights[:0], line
                i = skip_blanks(buffer, i)
            if width == 3:
                weights[n], i, good = read_decimal(buffer, i)
                if not good or buffer[i] > SPACE or not (weights[n] == 0.0 or low <= weights[n] <= high):
                    return ends[:0], weights[:0], line
                i = skip_blanks(buffer, i)
            if buffer[i] != NEWLINE:
                return ends[:0], weights[:0], line
            n += 1
        i += 1
    return ends[:n], weights[:n], -1


def _read_npy(path: Path) -> _Edges:
    if is_compressed(path):
        raise LatentiaError("a packed .npy file cannot be mapped into memory. Unpack it first.", source=path)
    table = _load(path, lambda _: np.load(path, mmap_mode="r", allow_pickle=False), "NumPy file")
    if table.ndim != 2 or table.shape[1] not in (2, 3) or table.dtype.kind not in "iuf":
        raise LatentiaError(
            f"expected two columns of whole numbers, and optionally a third of weights; found an array of shape {table.shape} "
            f"and dtype {table.dtype}. Load an adjacency matrix with numpy.load.",
            source=path,
        )
    if not len(table):
        raise LatentiaError("expected edges, found none in the file.", source=path)
    ends = table[:, :2]
    bad = (ends < 0) | (ends >= 2.0**63)
    if table.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # remainders of infinity
            bad |= ~(ends % 1 == 0)
    if bad.any():
        row, column = (int(at) for at in np.unravel_index(bad.argmax(), bad.shape))
        raise LatentiaError(
            f"expected whole numbers from 0 as nodes, found {ends[row, column]}.", source=path, place=f"row {row}"
        )
    weights = table[:, 2] if table.shape[1] == 3 else None
    if (
        weights is not None
        and not (good := (weights == 0) | ((weights >= _MIN_WEIGHT) & (weights <= _MAX_WEIGHT))).all()
    ):
        at = int(good.argmin())
        raise LatentiaError(f"{weights[at]} is no weight; {_EDGES.meaning}.", source=path, place=f"row {at}")
    return _renumber_nodes([ends.astype(np.int64)], weights)


def _renumber_nodes(ends: list[np.ndarray], weights: np.ndarray | None) -> _Edges:
    """Return edges between the nodes that occur, numbered from 0 in the order of their numbers."""
    listed = np.concatenate(ends)
    ends.clear()
    max_number = int(listed.max(initial=0))
    if max_number < max(_MAX_MARKED, 8 * len(listed)):
        is_used = np.zeros(max_number + 1, dtype=bool)
        for piece in _iterate_pieces(listed):
            is_used[piece] = True
        nodes = np.flatnonzero(is_used)
        place = (np.cumsum(is_used) - 1).astype(np.int32)
        renumbered = np.empty(listed.shape, np.int32)
        for piece, target in zip(_iterate_pieces(listed), _iterate_pieces(renumbered), strict=True):
            target[:] = place[piece]
    else:
        nodes, inverse = np.unique(listed, return_inverse=True)
        renumbered = inverse.reshape(listed.shape).astype(np.int32)
    return _build_coo(renumbered, weights, len(nodes)), nodes.astype(str).tolist()


def _iterate_pieces(table: np.ndarray) -> Iterator[np.ndarray]:
    return (table[start : start + _PIECE_EDGES] for start in range(0, len(table), _PIECE_EDGES))


def _build_coo(ends: np.ndarray, weights: np.ndarray | None, size: int) -> sparse.coo_array:
    values = np.ones(len(ends), np.int8) if weights is None else weights
    return sparse.coo_array((values, (ends[:, 0], ends[:, 1])), shape=(size, size))


# --- files of other programs --------------------------------------------------------------------------------------


def _read_npz(path: Path) -> Any:
    if is_compressed(path):
        raise LatentiaError("a packed .npz file. Unpack it first.", source=path)

    def load(file: Any) -> Any:
        with open_archive(path, file):
            table = sparse.load_npz(file)
        if check := getattr(table, "check_format", None):
            check(full_check=True)  # compiled code relies on valid indices
        return table

    table = _load(path, load, "file of scipy.sparse.save_npz")
    if not rows_fit(table.shape[0]):
        raise LatentiaError(f"a table of {table.shape[0]} rows does not fit into memory.", source=path)
    return table


def _load(path: Path, load: Callable[[Any], Any], description: str) -> Any:
    """Load a file by a reader of another library, with its errors converted to ours."""
    with readable(path), open_text(path) as file:
        try:
            return load(file)
        except LatentiaError:
            raise
        except Exception as error:  # such readers raise anything for a damaged file
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise LatentiaError(f"not a readable {description} ({error}).", source=path) from error


def _read_networkx(path: Path, suffix: str) -> Any:
    """Return a graph of networkx, with nodes named by their labels if all are distinct."""
    kind, load = _READERS[suffix]
    try:
        import networkx
    except ImportError:
        raise MissingExtraError("networkx", "data", f"Reading {kind} files") from None
    graph = _load(path, lambda file: load(networkx, file), f"{kind} file")
    for attribute in _LABELS:
        labels = [label for _, label in graph.nodes(data=attribute)]
        if labels and None not in labels and len(set(map(str, labels))) == len(labels):
            return networkx.relabel_nodes(graph, dict(zip(graph, map(str, labels), strict=True)))
    return graph


def _load_gml(networkx: Any, file: Any) -> Any:
    """Load a GML file, whose nodes always have an id."""
    return networkx.read_gml(file, label="id")


_READERS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    ".graphml": ("GraphML", lambda networkx, file: networkx.read_graphml(file)),
    ".gml": ("GML", _load_gml),
    ".gexf": ("GEXF", lambda networkx, file: networkx.read_gexf(file)),
    ".net": ("Pajek", lambda networkx, file: networkx.read_pajek(file)),
}
