"""Rows of Dask collections: blocks whose chunks are computed when they are read, by the workers that need them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._frames import column_names_of
from ..exceptions import LatentiaError
from .accumulate import accumulate
from .blocks import BlockDigests, Blocks, Folds, RowSample, TableBlocks, check_lengths, draw_row_numbers
from .cluster import explain_cluster_errors, find_client, import_extra, is_on_worker
from .tables import as_table, take_rows

_ALIGNED_TABLES = frozenset({"Y", "V", "y"})  # parameters of fits with the same rows as the first table


# --- collections ------------------------------------------------------------------------------------------------


def is_collection(value: Any) -> bool:
    """Return True for a Dask array, data frame, bag or delayed object."""
    return type(value).__module__.partition(".")[0] == "dask" and hasattr(value, "__dask_graph__")


class ChunkBlocks(TableBlocks):
    """Blocks whose parts are chunks of Dask collections, computed when they are read.

    Parameters
    ----------
    chunks : sequence
        For every block a `_Recipe` that computes its parts, or a future of parts in the cluster's memory.
    boundaries : ndarray of int, shape (n_blocks + 1,)
    widths : sequence of int
        Columns of the parts.
    times : sequence of ndarray of int, optional
        For every block how often each row of its chunk is repeated.
    """

    def __init__(
        self,
        chunks: Sequence[Any],
        boundaries: np.ndarray,
        widths: Sequence[int],
        *,
        lengths: np.ndarray | None = None,
        names: list[str] | None = None,
        selections: tuple[tuple[frozenset[int], Folds], ...] = (),
        times: Sequence[np.ndarray] | None = None,
    ) -> None:
        self._chunks, self._widths, self._times = list(chunks), tuple(widths), times
        self._parts_in_memory: dict[int, list[Any]] = {}
        shapes = [(int(boundaries[-1]), int(width)) for width in widths]
        super().__init__(
            [_ShapeOnly(shape) for shape in shapes], boundaries, lengths=lengths, names=names, selections=selections
        )

    def _read_parts(self, number: int, start: int, stop: int) -> list[Any]:
        parts = self._parts_in_memory.get(number)
        pieces = _convert_tables(_compute_chunk(self._chunks[number]) if parts is None else parts)
        times = None if self._times is None else self._times[number]
        n_rows = stop - start if times is None else len(times)
        for i, (piece, width) in enumerate(zip(pieces, self._widths, strict=True)):
            if piece.shape != (n_rows, width):
                raise LatentiaError(f"Chunk {number} of part {i} has shape {piece.shape}; expected {(n_rows, width)}.")
        return pieces if times is None else [take_rows(piece, np.repeat(np.arange(n_rows), times)) for piece in pieces]

    def table(self) -> Any:
        return Blocks.table(self)

    def some_rows(self, max_rows: int) -> tuple[Any, ...]:
        sample = RowSample(draw_row_numbers(self.n_rows, max_rows), len(self.shapes))
        return sample.tables(accumulate(self, sample))

    def fingerprint(self) -> str:
        return BlockDigests.combine(self, accumulate(self, BlockDigests()))

    def group(self, groups: Iterable[int], folds: Folds) -> Blocks:
        selected = frozenset(groups)
        if selected.issuperset(folds.all):
            return self
        return ChunkBlocks(
            self._chunks, self._boundaries, self._widths, lengths=self._lengths, names=self.names,
            selections=(*self._selections, (selected, folds)), times=self._times,
        )  # fmt: skip

    def repeated(self, times: np.ndarray) -> Blocks:
        if self._times is not None:
            raise LatentiaError("These rows have weights already; expected rows without weights.")
        if self._selection_bits is not None:
            is_selected, selected_times = self._select_all_rows(), times
            times = np.zeros(len(is_selected), np.int64)
            times[is_selected] = selected_times
        times_by_chunk = np.split(times, self._boundaries[1:-1])
        boundaries = np.append(0, np.cumsum([int(chunk_times.sum()) for chunk_times in times_by_chunk])).astype(
            np.int64
        )
        return ChunkBlocks(self._chunks, boundaries, self._widths, names=self.names, times=times_by_chunk)

    @property
    def cheap_to_send(self) -> bool:
        return True

    def find_futures(self, numbers: Sequence[int]) -> list[Any]:
        """Return the futures of some blocks; None for those that are not in the cluster's memory."""
        return [self._chunks[number] if _is_future(self._chunks[number]) else None for number in numbers]

    def use_parts(self, numbers: Sequence[int], parts_list: Sequence[Any]) -> None:
        """Use these parts for the blocks of these numbers."""
        self._parts_in_memory = {
            number: parts for number, parts in zip(numbers, parts_list, strict=True) if parts is not None
        }

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without futures, in whose place workers get the parts."""
        return self.__dict__ | {
            "_chunks": [None if _is_future(chunk) else chunk for chunk in self._chunks],
            "_made": {},
        }


class _ShapeOnly:
    """Shape of a part that is not in memory."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape


def from_collections(
    *parts: Any, lengths: Any = None, names: Sequence[str] | None = None, vectorizer: Any = None
) -> Blocks:
    """Make blocks of Dask collections, see `Blocks.from_dask`."""
    import_extra("dask")
    if not parts:
        raise LatentiaError("Blocks.from_dask: expected at least one collection, found none.")
    if len(parts) == 1 and (isinstance(parts[0], (list, tuple)) or _is_delayed(parts[0])):
        delayed, collections = [parts[0]] if _is_delayed(parts[0]) else list(parts[0]), []
        if not delayed:
            raise LatentiaError("Blocks.from_dask: expected at least one delayed block, found an empty list.")
    else:
        collections = [_count_words(part, vectorizer) if _is_bag(part) else part for part in parts]
        if names is None:
            names = next((part.names for part in collections if isinstance(part, _WordCountChunks)), None)
        if names is None and hasattr(collections[0], "columns"):
            names = [str(name) for name in collections[0].columns]
        lengths = None if lengths is None else np.asarray(lengths)
        rows = [_list_chunks(part, i) for i, part in enumerate(_align_chunks(collections, lengths))]
        counts = {len(chunks) for chunks in rows}
        if len(counts) != 1:
            numbers = ", ".join(str(len(chunks)) for chunks in rows)
            raise LatentiaError(f"The parts have {numbers} chunks: rechunk or repartition them alike.")
        delayed = [tuple(chunk_shapes) for chunk_shapes in zip(*rows, strict=True)]
    chunks = _build_recipes(
        delayed, delayed if not collections else [part for part in collections if is_collection(part)]
    )
    shapes, columns = zip(*_inspect_chunks(chunks), strict=True)
    _check_chunks(shapes, columns)
    boundaries = np.concatenate([[0], np.cumsum([chunk_shapes[0][0] for chunk_shapes in shapes])]).astype(np.int64)
    widths = [shape[1] for shape in shapes[0]]
    if names is not None and len(names) != widths[0]:
        raise LatentiaError(f"names has {len(names)} entries and the table {widths[0]} columns: they must agree.")
    checked = None if lengths is None else check_lengths(lengths, int(boundaries[-1]))
    return ChunkBlocks(
        chunks, boundaries, widths, lengths=checked, names=None if names is None else [str(name) for name in names]
    )


def _check_chunks(shapes: Sequence[Any], columns: Sequence[Any]) -> None:
    """Raise unless the parts of every chunk have equally many rows, and all chunks the columns of the first."""
    for number, chunk_shapes in enumerate(shapes):
        if len({shape[0] for shape in chunk_shapes}) > 1:
            row_counts = ", ".join(str(shape[0]) for shape in chunk_shapes)
            raise LatentiaError(f"Chunk {number} has {row_counts} rows in its parts: expected equally many.")
        if [shape[1] for shape in chunk_shapes] != [shape[1] for shape in shapes[0]]:
            raise LatentiaError(f"Chunk {number} has other numbers of columns than chunk 0.")
        for names_here, names_first in zip(columns[number], columns[0], strict=True):
            for name, expected in zip(names_here or (), names_first or (), strict=False):
                if name != expected:
                    problem = f"Chunk {number} has column {name!r} where chunk 0 has {expected!r}"
                    raise LatentiaError(f"{problem}: expected the same columns, in one order.", column=name)


def _align_chunks(collections: list[Any], lengths: np.ndarray | None) -> list[Any]:
    """Rechunk arrays alike, with whole rows and whole sequences in each chunk."""
    aligned, first_chunks = [], None
    for part in collections:
        if hasattr(part, "rechunk"):
            if part.ndim == 1:
                part = part[:, None]
            if part.ndim != 2:
                raise LatentiaError(f"A Dask array has {part.ndim} dimensions: expected a table of rows and columns.")
            part = part.rechunk({1: -1})
            if lengths is not None:
                part = part.rechunk({0: _compute_chunk_sizes(part, lengths)})
            elif (
                first_chunks is not None
                and part.chunks[0] != first_chunks
                and not np.isnan(sum(part.chunks[0]) + sum(first_chunks))
            ):
                part = part.rechunk({0: first_chunks})
            first_chunks = part.chunks[0] if first_chunks is None else first_chunks
        elif lengths is not None:
            raise LatentiaError("lengths: expected Dask arrays, whose chunks can be cut between sequences.")
        aligned.append(part)
    return aligned


def _compute_chunk_sizes(part: Any, lengths: np.ndarray) -> tuple[int, ...]:
    """Return sizes of chunks that end where sequences end, about as large as an array's own chunks."""
    ends, sizes, start = np.cumsum(check_lengths(lengths, part.shape[0])), [], 0
    size = max(int(part.shape[0] / max(len(part.chunks[0]), 1)), 1)
    while start < part.shape[0]:
        stop = int(ends[min(int(np.searchsorted(ends, start + size)), len(ends) - 1)])
        sizes.append(stop - start)
        start = stop
    return tuple(sizes)


def _list_chunks(part: Any, number: int) -> list[Any]:
    """Return the delayed chunks of a collection."""
    if isinstance(part, _WordCountChunks):
        return part.chunks
    if not is_collection(part) or not hasattr(part, "to_delayed"):
        raise LatentiaError(
            f"Part {number} is a {type(part).__name__}; expected a Dask array, data frame or bag of texts, or a list of "
            "delayed blocks. Use Blocks.from_array for tables in memory."
        )
    return list(np.asarray(part.to_delayed(), dtype=object).ravel())


def _build_recipes(chunks: list[Any], collections: list[Any]) -> list[Any]:
    """Return a recipe for each chunk; for persisted collections a future of the chunk in the cluster's memory."""
    import dask

    client = find_client()
    if client is None or not _is_persisted(collections):
        return [_Recipe(chunk) for chunk in chunks]
    return list(client.compute([dask.delayed(list)(list(c)) if isinstance(c, tuple) else c for c in chunks]))


def _inspect_chunks(chunks: Sequence[Any]) -> list[tuple[list[tuple[int, int]], list[list[str] | None]]]:
    """Return shapes and columns of the parts of every chunk, in one pass, which also finds errors of the data early."""
    client = find_client()
    if client is None:
        return [_inspect_chunk(chunk) for chunk in chunks]
    with explain_cluster_errors():
        return list(client.gather([client.submit(_inspect_chunk, chunk, pure=False) for chunk in chunks]))


def _inspect_chunk(chunk: Any) -> tuple[list[tuple[int, int]], list[list[str] | None]]:
    value = chunk() if isinstance(chunk, _Recipe) else chunk  # workers get the result of a future in its place
    parts = value if isinstance(value, (tuple, list)) else [value]
    return [table.shape for table in _convert_tables(value)], [column_names_of(part) for part in parts]


def _is_persisted(collections: list[Any]) -> bool:
    from distributed import futures_of

    return bool(futures_of(collections))


def _convert_tables(value: Any) -> list[Any]:
    """Return the parts of a chunk as tables: its value is one table, or a tuple of aligned ones."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    return [as_table(part, i) for i, part in enumerate(parts)]


class _Recipe:
    """Callable that computes all parts of a block from its Dask chunks, in any process.

    Parameters
    ----------
    chunk : delayed, or tuple of delayed
        The value with all parts, or one for each part.
    """

    def __init__(self, chunk: Any) -> None:
        import dask

        chunks = chunk if isinstance(chunk, tuple) else (chunk,)
        optimized = [dask.optimize(delayed)[0] for delayed in chunks]  # without the tasks of other chunks
        self._single = not isinstance(chunk, tuple)
        self._graphs = [(dict(delayed.__dask_graph__()), delayed.__dask_keys__()) for delayed in optimized]

    def __call__(self) -> Any:
        import dask

        try:
            parts = [dask.get(graph, keys)[0] for graph, keys in self._graphs]
        except LatentiaError:
            raise
        except Exception as error:
            raise LatentiaError(
                f"A chunk of the data could not be computed ({type(error).__name__}: {error})."
            ) from error
        return parts[0] if self._single else parts


def _compute_chunk(chunk: Any) -> Any:
    """Return the value of a chunk."""
    client = None if _is_future(chunk) else find_client()
    with explain_cluster_errors():
        if client is not None and not is_on_worker():
            chunk = client.submit(chunk, pure=False)
        return chunk.result() if _is_future(chunk) else chunk()


def _is_delayed(value: Any) -> bool:
    return is_collection(value) and type(value).__name__.startswith("Delayed")


def _is_future(chunk: Any) -> bool:
    return type(chunk).__module__.startswith("distributed") and hasattr(chunk, "result")


def convert_collections(
    method: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], vectorizer: Any = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert Dask collections among the arguments of an estimator's method (without ``self``) to blocks.

    The first argument and those aligned with it become blocks. Other collections are loaded into memory.
    """
    values = (*arguments, *keywords.values())
    is_list = bool(values) and isinstance(values[0], (list, tuple)) and any(map(is_collection, values[0][:1]))
    if not is_list and not any(map(is_collection, values)):
        return arguments, keywords
    bound = inspect.signature(method).bind_partial(None, *arguments, **keywords)
    (_, (_first, table), *further) = bound.arguments.items()
    following, rest = dict(further), {}
    parts, lengths = list(table) if is_list else [table], following.pop("lengths", None)
    for name, value in following.items():
        if not is_collection(value):
            rest[name] = value
        elif (
            name in _ALIGNED_TABLES
            and (name != "y" or method.__name__ in ("fit", "_read"))
            and (is_list or is_collection(table))
        ):
            parts.append(value)
        else:
            rest[name] = value.compute()
    if not is_list and not is_collection(table):
        return (table,), rest | ({} if lengths is None else {"lengths": lengths})
    if all(map(_is_delayed, parts)):
        parts = [parts]
    return (from_collections(*parts, lengths=lengths, vectorizer=vectorizer),), rest


# --- bags of texts ----------------------------------------------------------------------------------------------


class _WordCountChunks:
    """Chunks of word counts of texts, and the words."""

    def __init__(self, chunks: list[Any], names: list[str]) -> None:
        self.chunks, self.names = chunks, names


def _is_bag(part: Any) -> bool:
    return is_collection(part) and type(part).__name__ == "Bag"


def _count_words(bag: Any, vectorizer: Any) -> _WordCountChunks:
    import dask

    from ..words import WordVectorizer, learn_words

    vectorizer = WordVectorizer() if vectorizer is None else vectorizer
    parts = list(bag.to_delayed())
    if not hasattr(vectorizer, "vocabulary_"):
        learn_words(vectorizer, lambda count: dask.compute(*[dask.delayed(count, pure=False)(part) for part in parts]))
    count = dask.delayed(_TextCounter(vectorizer), pure=False)
    return _WordCountChunks([count(part) for part in parts], [str(word) for word in vectorizer.get_feature_names_out()])


class _TextCounter:
    """Function that counts the words of texts with a fitted vectorizer."""

    def __init__(self, vectorizer: Any) -> None:
        self._vectorizer = vectorizer

    def __call__(self, texts: Iterable[str]) -> Any:
        texts = list(texts)
        if not texts:
            return sparse.csr_array((0, len(self._vectorizer.get_feature_names_out())), dtype=np.int64)
        return sparse.csr_array(self._vectorizer.transform(texts))
