"""Rows of Dask collections: blocks that are made of chunks when they are read, by the workers that need them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._frames import column_names_of
from ..exceptions import LatentiaError
from .accumulate import accumulate
from .blocks import BlockDigests, Blocks, Folds, SomeRows, TableBlocks, sequence_lengths, some_places
from .cluster import client_in_use, cluster_at_work, import_extra, on_worker
from .tables import as_table, taken

_ALIGNED = frozenset({"Y", "V", "y"})  # tables that a fit takes beside the first one, with the same rows


# --- collections ------------------------------------------------------------------------------------------------


def is_collection(value: Any) -> bool:
    """Whether a value is a Dask array, data frame, bag or delayed object."""
    return type(value).__module__.partition(".")[0] == "dask" and hasattr(value, "__dask_graph__")


class ChunkBlocks(TableBlocks):
    """Blocks whose parts are chunks of Dask collections, which are made when they are read.

    Parameters
    ----------
    chunks : sequence
        For every block how its parts are made, a `_Recipe`, or a future of what is in the cluster's memory.
    boundaries : ndarray of int, shape (n_blocks + 1,)
    widths : sequence of int
        Columns of the parts.
    times : sequence of ndarray of int, optional
        For every block how often each row of its chunk is there.
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
        self._made: dict[int, list[Any]] = {}
        shapes = [(int(boundaries[-1]), int(width)) for width in widths]
        super().__init__(
            [_Shaped(shape) for shape in shapes], boundaries, lengths=lengths, names=names, selections=selections
        )

    def _pieces(self, number: int, start: int, stop: int) -> list[Any]:
        made = self._made.get(number)
        pieces = _tables(_made(self._chunks[number]) if made is None else made)
        times = None if self._times is None else self._times[number]
        n_rows = stop - start if times is None else len(times)
        for i, (piece, width) in enumerate(zip(pieces, self._widths, strict=True)):
            if piece.shape != (n_rows, width):
                raise LatentiaError(
                    f"Chunk {number} of part {i} has shape {piece.shape}, and {(n_rows, width)} were expected."
                )
        return pieces if times is None else [taken(piece, np.repeat(np.arange(n_rows), times)) for piece in pieces]

    def table(self) -> Any:
        return Blocks.table(self)

    def some_rows(self, most: int) -> tuple[Any, ...]:
        sample = SomeRows(some_places(self.n_rows, most), len(self.shapes))
        return sample.tables(accumulate(self, sample))

    def fingerprint(self) -> str:
        return BlockDigests.together(self, accumulate(self, BlockDigests()))

    def group(self, groups: Iterable[int], folds: Folds) -> Blocks:
        wanted = frozenset(groups)
        if wanted.issuperset(folds.all):
            return self
        return ChunkBlocks(
            self._chunks, self._boundaries, self._widths, lengths=self._lengths, names=self.names,
            selections=(*self._selections, (wanted, folds)), times=self._times,
        )  # fmt: skip

    def repeated(self, times: np.ndarray) -> Blocks:
        if self._times is not None:
            raise LatentiaError("These rows have weights already.")
        if self._chosen is not None:
            chosen, of_chosen = self._rows_of_all(), times
            times = np.zeros(len(chosen), np.int64)
            times[chosen] = of_chosen
        each = np.split(times, self._boundaries[1:-1])
        boundaries = np.append(0, np.cumsum([int(own.sum()) for own in each])).astype(np.int64)
        return ChunkBlocks(self._chunks, boundaries, self._widths, names=self.names, times=each)

    @property
    def cheap_to_send(self) -> bool:
        return True

    def held(self, numbers: Sequence[int]) -> list[Any]:
        """Futures of the chunks of some blocks, as far as they are in the cluster's memory already."""
        return [self._chunks[number] if _is_future(self._chunks[number]) else None for number in numbers]

    def hold(self, numbers: Sequence[int], made: Sequence[Any]) -> None:
        """Use these parts for some blocks."""
        self._made = {number: parts for number, parts in zip(numbers, made, strict=True) if parts is not None}

    def __getstate__(self) -> dict[str, Any]:
        """Futures stay behind: workers get what they stand for."""
        return self.__dict__ | {
            "_chunks": [None if _is_future(chunk) else chunk for chunk in self._chunks],
            "_made": {},
        }


class _Shaped:
    """The shape of a part that is not here."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape


def from_collections(
    *parts: Any, lengths: Any = None, names: Sequence[str] | None = None, vectorizer: Any = None
) -> Blocks:
    """See `Blocks.from_dask`."""
    import_extra("dask")
    if not parts:
        raise LatentiaError("Blocks.from_dask needs at least one collection.")
    if len(parts) == 1 and (isinstance(parts[0], (list, tuple)) or _is_delayed(parts[0])):
        delayed, collections = [parts[0]] if _is_delayed(parts[0]) else list(parts[0]), []
        if not delayed:
            raise LatentiaError("Blocks.from_dask: the list of delayed blocks is empty.")
    else:
        collections = [_of_bag(part, vectorizer) if _is_bag(part) else part for part in parts]
        if names is None:
            names = next((part.names for part in collections if isinstance(part, _Counted)), None)
        if names is None and hasattr(collections[0], "columns"):
            names = [str(name) for name in collections[0].columns]
        lengths = None if lengths is None else np.asarray(lengths)
        rows = [_chunks_of(part, i) for i, part in enumerate(_even(collections, lengths))]
        counts = {len(chunks) for chunks in rows}
        if len(counts) != 1:
            found = ", ".join(str(len(chunks)) for chunks in rows)
            raise LatentiaError(f"The parts have {found} chunks: rechunk or repartition them alike.")
        delayed = [tuple(own) for own in zip(*rows, strict=True)]
    chunks = _recipes(delayed, delayed if not collections else [part for part in collections if is_collection(part)])
    shapes, columns = zip(*_looks(chunks), strict=True)
    _check_chunks(shapes, columns)
    boundaries = np.concatenate([[0], np.cumsum([own[0][0] for own in shapes])]).astype(np.int64)
    widths = [shape[1] for shape in shapes[0]]
    if names is not None and len(names) != widths[0]:
        raise LatentiaError(f"names has {len(names)} entries and the table {widths[0]} columns: they must agree.")
    checked = None if lengths is None else sequence_lengths(lengths, int(boundaries[-1]))
    return ChunkBlocks(
        chunks, boundaries, widths, lengths=checked, names=None if names is None else [str(name) for name in names]
    )


def _check_chunks(shapes: Sequence[Any], columns: Sequence[Any]) -> None:
    """Raise unless the parts of every chunk have as many rows, and all chunks the columns of the first."""
    for number, own in enumerate(shapes):
        if len({shape[0] for shape in own}) > 1:
            found = ", ".join(str(shape[0]) for shape in own)
            raise LatentiaError(f"Chunk {number} has {found} rows in its parts: aligned parts need equally many.")
        if [shape[1] for shape in own] != [shape[1] for shape in shapes[0]]:
            raise LatentiaError(f"Chunk {number} has other numbers of columns than chunk 0.")
        for names_here, names_first in zip(columns[number], columns[0], strict=True):
            for name, expected in zip(names_here or (), names_first or (), strict=False):
                if name != expected:
                    problem = f"Chunk {number} has column {name!r} where chunk 0 has {expected!r}"
                    raise LatentiaError(f"{problem}: expected the same columns, in one order.", column=name)


def _even(collections: list[Any], lengths: np.ndarray | None) -> list[Any]:
    """Arrays in chunks of whole rows, alike, and of whole sequences."""
    found, first = [], None
    for part in collections:
        if hasattr(part, "rechunk"):
            if part.ndim == 1:
                part = part[:, None]
            if part.ndim != 2:
                raise LatentiaError(f"A Dask array has {part.ndim} dimensions: a table of rows and columns is needed.")
            part = part.rechunk({1: -1})
            if lengths is not None:
                part = part.rechunk({0: _whole_sequences(part, lengths)})
            elif first is not None and part.chunks[0] != first and not np.isnan(sum(part.chunks[0]) + sum(first)):
                part = part.rechunk({0: first})
            first = part.chunks[0] if first is None else first
        elif lengths is not None:
            raise LatentiaError("lengths: sequences are taken from Dask arrays, whose chunks can be cut between them.")
        found.append(part)
    return found


def _whole_sequences(part: Any, lengths: np.ndarray) -> tuple[int, ...]:
    """Sizes of chunks about as large as those of an array, which end where sequences end."""
    ends, sizes, start = np.cumsum(sequence_lengths(lengths, part.shape[0])), [], 0
    size = max(int(part.shape[0] / max(len(part.chunks[0]), 1)), 1)
    while start < part.shape[0]:
        stop = int(ends[min(int(np.searchsorted(ends, start + size)), len(ends) - 1)])
        sizes.append(stop - start)
        start = stop
    return tuple(sizes)


def _chunks_of(part: Any, number: int) -> list[Any]:
    """The chunks of a collection, delayed."""
    if isinstance(part, _Counted):
        return part.chunks
    if not is_collection(part) or not hasattr(part, "to_delayed"):
        raise LatentiaError(
            f"Part {number} is a {type(part).__name__}, and a Dask array, data frame or bag of texts is needed, or a list of "
            "delayed blocks. Tables in memory are read with Blocks.from_array."
        )
    return list(np.asarray(part.to_delayed(), dtype=object).ravel())


def _recipes(chunks: list[Any], collections: list[Any]) -> list[Any]:
    """How the chunks of collections are made; of those that are persisted, futures of what the cluster has in memory."""
    import dask

    client = client_in_use()
    if client is None or not _persisted(collections):
        return [_Recipe(chunk) for chunk in chunks]
    return list(client.compute([dask.delayed(list)(list(c)) if isinstance(c, tuple) else c for c in chunks]))


def _looks(chunks: Sequence[Any]) -> list[tuple[list[tuple[int, int]], list[list[str] | None]]]:
    """Shapes and columns of the parts of every chunk: in one pass, which also brings errors of the data to light early."""
    client = client_in_use()
    if client is None:
        return [_look(chunk) for chunk in chunks]
    with cluster_at_work():
        return list(client.gather([client.submit(_look, chunk, pure=False) for chunk in chunks]))


def _look(chunk: Any) -> tuple[list[tuple[int, int]], list[list[str] | None]]:
    made = chunk() if isinstance(chunk, _Recipe) else chunk  # what a future stands for comes in its place
    parts = made if isinstance(made, (tuple, list)) else [made]
    return [table.shape for table in _tables(made)], [column_names_of(part) for part in parts]


def _persisted(collections: list[Any]) -> bool:
    from distributed import futures_of

    return bool(futures_of(collections))


def _tables(made: Any) -> list[Any]:
    """Parts of a chunk as tables: what it gives is one table, or a tuple of aligned ones."""
    parts = made if isinstance(made, (tuple, list)) else [made]
    return [as_table(part, i) for i, part in enumerate(parts)]


class _Recipe:
    """How the parts of a block are made, in whatever process asks for them.

    Parameters
    ----------
    chunk : delayed, or tuple of delayed
        What gives the parts, or each of them.
    """

    def __init__(self, chunk: Any) -> None:
        import dask

        chunks = chunk if isinstance(chunk, tuple) else (chunk,)
        made = [dask.optimize(one)[0] for one in chunks]  # without the tasks of other chunks
        self._single = not isinstance(chunk, tuple)
        self._graphs = [(dict(one.__dask_graph__()), one.__dask_keys__()) for one in made]

    def __call__(self) -> Any:
        import dask

        try:
            found = [dask.get(graph, keys)[0] for graph, keys in self._graphs]
        except LatentiaError:
            raise
        except Exception as error:
            raise LatentiaError(f"A chunk of the data could not be made ({type(error).__name__}: {error}).") from error
        return found[0] if self._single else found


def _made(chunk: Any) -> Any:
    """What a chunk stands for."""
    client = None if _is_future(chunk) else client_in_use()
    with cluster_at_work():
        if client is not None and not on_worker():
            chunk = client.submit(chunk, pure=False)
        return chunk.result() if _is_future(chunk) else chunk()


def _is_delayed(value: Any) -> bool:
    return is_collection(value) and type(value).__name__.startswith("Delayed")


def _is_future(chunk: Any) -> bool:
    return type(chunk).__module__.startswith("distributed") and hasattr(chunk, "result")


def in_blocks(
    method: Any, arguments: tuple[Any, ...], named: dict[str, Any], vectorizer: Any = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a method of an estimator, without ``self``: Dask collections become blocks.

    The first argument does, with those after it that are aligned with it. Other collections are brought into memory.
    """
    values = (*arguments, *named.values())
    several = bool(values) and isinstance(values[0], (list, tuple)) and any(map(is_collection, values[0][:1]))
    if not several and not any(map(is_collection, values)):
        return arguments, named
    bound = inspect.signature(method).bind_partial(None, *arguments, **named)
    (_, (_first, table), *others) = bound.arguments.items()
    given, rest = dict(others), {}
    parts, lengths = list(table) if several else [table], given.pop("lengths", None)
    for name, value in given.items():
        if not is_collection(value):
            rest[name] = value
        elif (
            name in _ALIGNED
            and (name != "y" or method.__name__ in ("fit", "_read"))
            and (several or is_collection(table))
        ):
            parts.append(value)
        else:
            rest[name] = value.compute()
    if not several and not is_collection(table):
        return (table,), rest | ({} if lengths is None else {"lengths": lengths})
    if all(map(_is_delayed, parts)):
        parts = [parts]
    return (from_collections(*parts, lengths=lengths, vectorizer=vectorizer),), rest


# --- bags of texts ----------------------------------------------------------------------------------------------


class _Counted:
    """Chunks of counts of the words of texts, and the words."""

    def __init__(self, chunks: list[Any], names: list[str]) -> None:
        self.chunks, self.names = chunks, names


def _is_bag(part: Any) -> bool:
    return is_collection(part) and type(part).__name__ == "Bag"


def _of_bag(bag: Any, vectorizer: Any) -> _Counted:
    import dask

    from ..words import WordVectorizer, learn_words

    vectorizer = WordVectorizer() if vectorizer is None else vectorizer
    parts = list(bag.to_delayed())
    if not hasattr(vectorizer, "vocabulary_"):
        learn_words(vectorizer, lambda count: dask.compute(*[dask.delayed(count, pure=False)(part) for part in parts]))
    count = dask.delayed(_Transform(vectorizer), pure=False)
    return _Counted([count(part) for part in parts], [str(word) for word in vectorizer.get_feature_names_out()])


class _Transform:
    """Counts of texts, by a vectorizer that knows its words."""

    def __init__(self, vectorizer: Any) -> None:
        self._vectorizer = vectorizer

    def __call__(self, texts: Iterable[str]) -> Any:
        texts = list(texts)
        if not texts:
            return sparse.csr_array((0, len(self._vectorizer.get_feature_names_out())), dtype=np.int64)
        return sparse.csr_array(self._vectorizer.transform(texts))
