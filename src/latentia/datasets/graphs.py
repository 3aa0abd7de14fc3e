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
from ._edges import ListOf, named_matrix, numbered_rows, order_of_numbers, read_square

_LEAST, _MOST = 1e-15, 1e15  # weights, as `as_graph` takes them
_COMMENT = ("#", "%")
_HASH, _PERCENT = (ord(mark) for mark in _COMMENT)
_MARKED_ALWAYS = 1 << 24  # node numbers up to here, or to eight times the edges, are marked off instead of sorted
_PIECE = 1 << 22  # edges whose numbers are looked up together
_LABELS = ("label", "name")  # attributes with names of nodes, the first that names all
_PLAIN = (".mtx", ".npy", ".npz", ".xlsx")

_EDGES = ListOf(
    things="edges",
    end="node",
    ends="nodes",
    number="weight",
    numbers="weights",
    meaning=f"weights are 0, for no edge, or numbers from {_LEAST:g} to {_MOST:g}",
    row="an edge is two nodes and, if wanted, a weight. Leave other columns out, or name the two or three that count, in a "
    ".csv or .tsv file with headings.",
    table="The matrix of a graph",
    is_comment=lambda name: name.startswith(_COMMENT),
    allows=lambda weight: weight == 0 or _LEAST <= weight <= _MOST,
    weight="weight",
    measured="A list of edges is two columns of nodes and, if wanted, a weight. If these are nodes after all, name the "
    "columns that count, in a .csv or .tsv file with headings. Rows of measurements are data of another command, such as "
    "'latentia mixture' or 'latentia ica'.",
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

    Nodes have names, which are strings, also where the file numbers them. Those of a list of edges are the ones that occur in
    it, in the order of their numbers, or else of their first use; how large numbers are, and what is between them, does not
    matter. `latentia.moments.as_graph` says what becomes of loops, repeated edges and directions.

    Parameters
    ----------
    path : path
        A file of one of these kinds, recognised by its name:

        - text with two nodes and, if wanted, a weight a line, separated by blanks or tabs; lines that begin with ``#`` or
          ``%`` are comments
        - ``.csv``, ``.tsv`` or ``.xlsx`` with headings
        - ``.mtx``, MatrixMarket with a square table; nodes are numbered from 1
        - ``.npy`` with two or three columns: nodes, which are whole numbers, and weights
        - ``.npz`` as `scipy.sparse.save_npz` writes it; nodes are numbered from 0
        - ``.graphml``, ``.gml``, ``.gexf`` or Pajek ``.net``, through the ``data`` extra; edges have their attribute
          ``weight``, and nodes are named by ``label`` or ``name`` where all have one of their own

        ``.gz`` is read as it is. A pipe is read to its end as a list of edges; ``-`` is standard input.
    columns : sequence of str, optional
        Of a table with headings the two columns of nodes and the one of weights, if there is one. By default the first two, and
        the one called weight, or the third if it holds numbers.
    directed : bool or None, default=False
        Whether edges lead from the first node, or the row, to the second. None is what `as_graph` makes of matrices and of
        graphs that say it themselves; lists of edges are undirected then.
    encoding : str, optional
        Of a text or table with headings; by default it is detected, see `latentia.datasets.readers`.
    cache : path or bool, optional
        Folder for the binary cache of a MatrixMarket file; by default beside it. False keeps none.
    progress : bool
        Show how far it has come.

    Returns
    -------
    Graph

    Raises
    ------
    LatentiaError
        If the file is missing, empty, damaged or has no edge, or a line is no edge, with its number.
    """
    with reusable(path) as source:
        kept = cache if source == Path(path) else False
        graph = _read_graph(source, columns, directed, encoding, kept, progress)
    names = range(graph.n_nodes) if graph.names is None else graph.names
    return replace(graph, names=[str(name) for name in names])


def graph_of(source: Any, directed: bool | None = None, progress: bool = False) -> Graph:
    """The graph in a file, where a path is given, and otherwise what `latentia.moments.as_graph` makes of the source."""
    if isinstance(source, (str, os.PathLike)):
        return read_graph(source, directed=directed, progress=progress)
    return as_graph(source, directed)


@dataclass(frozen=True)
class NewNodes:
    """Nodes that a model was not fitted on, and their edges to those that it was.

    Attributes
    ----------
    names : list of str
        Of the new nodes.
    leading : csr_array of shape (n_new, n_known)
        Weights of edges from new nodes to those of the model.
    coming : csr_array of shape (n_new, n_known)
        Weights of edges to new nodes from those of the model.
    n_edges, n_ignored, n_loops : int
        Number of edges that are used; numbers of edges that are left out: between other nodes, and from a node to itself.
    ignored : (str, str) or None
        The first edge between other nodes.
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
    r"""Read edges of new nodes to those of a model, as `MixedMembershipBlockModel.transform` takes them.

    An edge is of a new node, first, and of one of the model's. Where only the first is one of the model's, the second is new.

    Parameters
    ----------
    path : path
        A graph, as `read_graph` reads it.
    known : sequence
        Names of the model's nodes, such as its ``names_``, or their numbers.
    columns : sequence of str, optional
        Of a table with headings, see `read_graph`; other files are read without them.
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
    used = forward | backward
    if not used.any():
        raise LatentiaError("the model has none of its nodes. Every edge needs one of them.", source=Path(path).name)
    nodes = np.unique(np.where(forward, first, second)[used])

    def table(these: np.ndarray, new: np.ndarray, old: np.ndarray) -> sparse.csr_array:
        places = np.searchsorted(nodes, new[these]), place[old[these]]
        return sparse.csr_array((cells.data[these], places), shape=(len(nodes), len(numbers)))

    at, n = int(used.argmin()), int(used.sum())
    ignored = None if used.all() else (graph.names[first[at]], graph.names[second[at]])
    return NewNodes(
        [graph.names[i] for i in nodes], table(forward, first, second), table(backward, second, first), n, len(used) - n,
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
        raise LatentiaError("a folder, and a file with a graph is needed.", source=path)
    if not path.exists():
        raise LatentiaError("no such file.", source=path)
    name = plain_name(path)
    drawn = next((suffix for suffix in _READERS if name.endswith(suffix)), None)
    if encoding is not None and (drawn or name.endswith(_PLAIN)):
        raise no_encoding(path, encoding)
    if columns is not None and not has_columns(path):
        raise LatentiaError(f"the file has no named columns; leave {', '.join(columns)} out.", source=path)
    if drawn:
        return _named(path, _of_networkx(path, drawn), directed)
    if name.endswith(".mtx"):
        table = read_square(path, cache, _EDGES)
        return replace(_named(path, table, directed), names=[str(i) for i in range(1, table.shape[0] + 1)])
    if name.endswith(".npz"):
        return _named(path, _of_npz(path), directed)
    matrix = named_matrix(path, columns, encoding, _EDGES)
    if matrix is not None:
        return replace(_named(path, matrix[0], directed), names=matrix[1])
    edges = _of_npy(path) if name.endswith(".npy") else None
    if edges is None and encoding is None and not has_columns(path):
        edges = _of_numbers(path, progress)
    if edges is None:
        edges = _of_names(path, columns, encoding, progress)
    table, names = edges
    return replace(_named(path, table, bool(directed)), names=names)


def _named(path: Path, source: Any, directed: bool | None) -> Graph:
    """The graph of what a file holds; errors name the file."""
    try:
        return as_graph(source, directed)
    except LatentiaError as error:
        raise LatentiaError(f"{error}", source=path) from error


# --- lists of edges -----------------------------------------------------------------------------------------------

_Edges = tuple[sparse.coo_array, list[str]]


def _of_names(path: Path, columns: Sequence[str] | None, encoding: str | None, progress: bool) -> _Edges:
    """Edges of a list in which nodes have names, and the names."""
    numbers: dict[str, int] = {}
    found = [
        (codes.astype(np.int32), weights)
        for codes, weights in numbered_rows(path, _EDGES, numbers, columns, encoding, progress and "reading edges")
    ]
    names = list(numbers)
    ends = np.concatenate([codes for codes, _ in found])
    order = order_of_numbers(names)
    if order is not None:
        place = np.empty(len(names), np.int32)
        place[order] = np.arange(len(names))
        ends, names = place[ends], [names[i] for i in order]
    return _coo(ends, np.concatenate([weights for _, weights in found]), len(names)), names


def _of_numbers(path: Path, progress: bool) -> _Edges | None:
    """Edges of a list in which nodes have numbers, and the numbers; None if other names are in it."""
    width = _width(path)
    if not width:
        return None
    ends, weights = [], []
    with readable(path), open_lines(path) as file:
        for buffer, line in chunks(path, file, progress):
            pairs, third, bad = _parsed(buffer, width, _LEAST, _MOST)
            if bad >= 0:
                cells = bytes(buffer).split(b"\n")[bad].decode("utf-8", "replace").split()
                _EDGES.check_row(path, line + bad, cells)
                return None
            ends.append(pairs.astype(np.int32) if pairs.max(initial=0) < 2**31 else pairs)
            weights.append(third)
    return _numbered(ends, None if width == 2 else np.concatenate(weights))


def _width(path: Path) -> int:
    """Columns of the first line that is no comment, if the first two of two or three are whole numbers; 0 if not."""
    with readable(path), open_lines(path) as file:
        for line in file:
            cells = line.split()
            if cells and not line.lstrip().startswith((b"#", b"%")):
                return len(cells) if 2 <= len(cells) <= 3 and cells[0].isdigit() and cells[1].isdigit() else 0
    return 0


@njit(nogil=True, cache=True)
def _parsed(buffer: np.ndarray, width: int, least: float, most: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Ends (n, 2) and weights (n,) of lines of ``width`` numbers, no weights if that is 2; and the first bad line, or -1."""
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
                if not good or buffer[i] > SPACE or not (weights[n] == 0.0 or least <= weights[n] <= most):
                    return ends[:0], weights[:0], line
                i = skip_blanks(buffer, i)
            if buffer[i] != NEWLINE:
                return ends[:0], weights[:0], line
            n += 1
        i += 1
    return ends[:n], weights[:n], -1


def _of_npy(path: Path) -> _Edges:
    if is_compressed(path):
        raise LatentiaError("a packed .npy file cannot be mapped into memory. Unpack it first.", source=path)
    table = _loaded(path, lambda _: np.load(path, mmap_mode="r", allow_pickle=False), "NumPy file")
    if table.ndim != 2 or table.shape[1] not in (2, 3) or table.dtype.kind not in "iuf":
        raise LatentiaError(
            f"holds an array of shape {table.shape} and type {table.dtype}, and a list of edges is two columns "
            "of whole numbers, and a third of weights if there are some. Load an adjacency matrix with numpy.load.",
            source=path,
        )
    if not len(table):
        raise LatentiaError("there are no edges in the file.", source=path)
    ends = table[:, :2]
    bad = (ends < 0) | (ends >= 2.0**63)
    if table.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # of infinity
            bad |= ~(ends % 1 == 0)
    if bad.any():
        row, column = (int(at) for at in np.unravel_index(bad.argmax(), bad.shape))
        raise LatentiaError(
            f"the node is {ends[row, column]}: whole numbers from 0 are needed.", source=path, place=f"row {row}"
        )
    weights = table[:, 2] if table.shape[1] == 3 else None
    if weights is not None and not (good := (weights == 0) | ((weights >= _LEAST) & (weights <= _MOST))).all():
        at = int(good.argmin())
        raise LatentiaError(f"{weights[at]} is no weight; {_EDGES.meaning}.", source=path, place=f"row {at}")
    return _numbered([ends.astype(np.int64)], weights)


def _numbered(ends: list[np.ndarray], weights: np.ndarray | None) -> _Edges:
    """Edges between the nodes that occur, in the order of their numbers."""
    listed = np.concatenate(ends)
    ends.clear()
    most = int(listed.max(initial=0))
    if most < max(_MARKED_ALWAYS, 8 * len(listed)):
        used = np.zeros(most + 1, dtype=bool)
        for piece in _pieces(listed):
            used[piece] = True
        nodes = np.flatnonzero(used)
        place = (np.cumsum(used) - 1).astype(np.int32)
        found = np.empty(listed.shape, np.int32)
        for piece, target in zip(_pieces(listed), _pieces(found), strict=True):
            target[:] = place[piece]
    else:
        nodes, inverse = np.unique(listed, return_inverse=True)
        found = inverse.reshape(listed.shape).astype(np.int32)
    return _coo(found, weights, len(nodes)), nodes.astype(str).tolist()


def _pieces(table: np.ndarray) -> Iterator[np.ndarray]:
    return (table[start : start + _PIECE] for start in range(0, len(table), _PIECE))


def _coo(ends: np.ndarray, weights: np.ndarray | None, size: int) -> sparse.coo_array:
    given = np.ones(len(ends), np.int8) if weights is None else weights
    return sparse.coo_array((given, (ends[:, 0], ends[:, 1])), shape=(size, size))


# --- files of other programs --------------------------------------------------------------------------------------


def _of_npz(path: Path) -> Any:
    if is_compressed(path):
        raise LatentiaError("a packed .npz file. Unpack it first.", source=path)

    def load(file: Any) -> Any:
        with open_archive(path, file):
            table = sparse.load_npz(file)
        if check := getattr(table, "check_format", None):
            check(full_check=True)  # compiled code trusts the numbers of columns
        return table

    table = _loaded(path, load, "file of scipy.sparse.save_npz")
    if not rows_fit(table.shape[0]):
        raise LatentiaError(f"a table of {table.shape[0]} rows does not fit into memory.", source=path)
    return table


def _loaded(path: Path, load: Callable[[Any], Any], what: str) -> Any:
    """What a reader of another library makes of a file, its errors as ours."""
    with readable(path), open_text(path) as file:
        try:
            return load(file)
        except LatentiaError:
            raise
        except Exception as error:  # whatever they meet in a damaged file
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise LatentiaError(f"not a readable {what} ({error}).", source=path) from error


def _of_networkx(path: Path, suffix: str) -> Any:
    """A graph of networkx, its nodes named by their labels where all have one of their own."""
    kind, load = _READERS[suffix]
    try:
        import networkx
    except ImportError:
        raise MissingExtraError("networkx", "data", f"Reading {kind} files") from None
    graph = _loaded(path, lambda file: load(networkx, file), f"{kind} file")
    for attribute in _LABELS:
        labels = [label for _, label in graph.nodes(data=attribute)]
        if labels and None not in labels and len(set(map(str, labels))) == len(labels):
            return networkx.relabel_nodes(graph, dict(zip(graph, map(str, labels), strict=True)))
    return graph


def _load_gml(networkx: Any, file: Any) -> Any:
    """A GML file, whose nodes always have an id."""
    return networkx.read_gml(file, label="id")


_READERS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    ".graphml": ("GraphML", lambda networkx, file: networkx.read_graphml(file)),
    ".gml": ("GML", _load_gml),
    ".gexf": ("GEXF", lambda networkx, file: networkx.read_gexf(file)),
    ".net": ("Pajek", lambda networkx, file: networkx.read_pajek(file)),
}
