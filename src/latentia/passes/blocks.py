"""Rows in blocks: one view of arrays, sparse matrices, data frames and files.

A block is a tuple of aligned parts: (X,), (X, Y), several views (X1, X2, X3), or a stretch of whole sequences with
its lengths (X, lengths). The cuts depend on the data alone, never on the number of workers, so that sums over blocks
have the same bits everywhere.
"""

from __future__ import annotations

import numbers
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._frames import column_names_of
from ..exceptions import LatentiaError
from ._digests import digest
from .tables import RowView, TableLocation, as_table, is_mapped, list_arrays, slice_rows, take_rows

constructors: dict[str, Callable[..., Blocks]] = {}
"""Functions behind constructors of `Blocks`, by name. `latentia.passes` registers them, which avoids a circular import."""

_BLOCK_ENTRIES = 1 << 20
_ROWS_AT_ONCE = 1 << 20  # rows whose folds are computed together; a multiple of 8, for bits are packed


class Block(tuple):
    """Tuple of aligned parts, with its place in the data.

    Attributes
    ----------
    number : int
        Position among the blocks.
    start : int
        Number of rows before it.
    rows : ndarray of shape (n_rows,)
        Numbers of its rows in the source, as error messages and `row_groups` count them.
    """

    number: int
    start: int
    rows: np.ndarray

    @classmethod
    def from_parts(cls, parts: Sequence[Any], number: int = 0, start: int = 0, rows: np.ndarray | None = None) -> Block:
        """Return a block of these parts; by default the only block of the data."""
        block = cls(parts)
        block.number, block.start = number, start
        block.rows = np.arange(start, start + parts[0].shape[0]) if rows is None else rows
        return block


@dataclass(frozen=True)
class Folds:
    """Assignment of rows to groups: random and balanced, a function of the row's number in the source alone.

    Attributes
    ----------
    n : int
        Number of groups.
    seed : int
    stretch : int
        Number of neighbouring rows that stay in one group.
    leaders : ndarray of int, optional
        For every row of the source the row whose group it shares: the first of its copies. See `latentia.passes.assign_folds`.
    """

    n: int = 4
    seed: int = 0
    stretch: int = 1
    leaders: np.ndarray | None = field(default=None, compare=False, repr=False)

    @property
    def all(self) -> tuple[int, ...]:
        """The numbers of all groups."""
        return tuple(range(self.n))

    @property
    def splits(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """The ways to pair the groups into two halves: three for four groups, one for two."""
        if self.n == 4:
            return ((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))
        return (((0,), (1,)),) if self.n == 2 else ()

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Return the group of every row, given its number in the source; int8, shape (n,)."""
        rows = np.asarray(rows, dtype=np.int64)
        rows = rows if self.leaders is None else self.leaders[rows]
        return row_groups(rows if self.stretch == 1 else rows // self.stretch, self.n, self.seed)


def draw_folds(n_groups: int, random_state: int, n_selections: int = 0) -> Folds:
    """Draw random groups of rows; rows that were split ``n_selections`` times before get groups independent of those."""
    return Folds(n_groups, random_state + 7919 * (n_selections + 1))


class Blocks(ABC):
    """Aligned tables cut into blocks of rows. Make one with `from_array` or `from_files`.

    A new kind of source implements ``n_rows``, ``shapes``, ``names`` and ``lengths``, ``len(blocks)``, ``blocks[number]`` and
    `group`; all other methods use these.

    Attributes
    ----------
    n_rows : int
    shapes : tuple of (int, int)
        Shape of every part with columns.
    names : list of str or None
        Column names of the first part, where the source has them.
    lengths : ndarray of shape (n_sequences,) or None
        Lengths of the sequences; None if the rows are no sequences. Each block then ends with the lengths of its sequences.
    """

    n_rows: int
    shapes: tuple[tuple[int, int], ...]
    names: list[str] | None

    @property
    @abstractmethod
    def lengths(self) -> np.ndarray | None: ...

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, number: int) -> Block: ...

    @abstractmethod
    def group(self, groups: Iterable[int], folds: Folds) -> Blocks:
        """Return the rows (or whole sequences) that ``folds`` puts into one of ``groups``, as new blocks, without copying."""

    @property
    @abstractmethod
    def n_selections(self) -> int:
        """Number of selections by `group` that led to these blocks."""

    # --- making -------------------------------------------------------------------------------------------------

    @classmethod
    def from_array(
        cls, *parts: Any, lengths: Any = None, block_rows: int | None = None, names: Sequence[str] | None = None
    ) -> Blocks:
        """Cut arrays, sparse matrices or data frames with equally many rows.

        Parameters
        ----------
        *parts : array-like of shape (n_rows, n_columns)
            The aligned tables; a block is a tuple with one piece of each.
        lengths : array-like of shape (n_sequences,), optional
            Lengths of consecutive sequences of rows. Blocks then hold whole sequences, and end with their lengths.
        block_rows : int, optional
            Rows in a block; by default as many as hold about a million entries.
        names : sequence of str, optional
            Names of the columns of the first table; by default those of a data frame.
        """
        if not parts:
            raise LatentiaError("Blocks.from_array: expected at least one table, found none.")
        names = column_names_of(parts[0]) if names is None else names
        tables = [as_table(part, i, names=lengths is not None) for i, part in enumerate(parts)]
        n_rows = tables[0].shape[0]
        for i, table in enumerate(tables):
            if table.shape[0] != n_rows:
                raise LatentiaError(
                    f"Part {i} has {table.shape[0]} rows and part 0 has {n_rows}: expected equally many."
                )
        if names is not None and len(names) != tables[0].shape[1]:
            raise LatentiaError(
                f"names has {len(names)} entries and the table {tables[0].shape[1]} columns: they must agree."
            )
        if block_rows is None:
            block_rows = _choose_block_rows(tables, n_rows)
        if block_rows < 1:
            raise LatentiaError(f"block_rows={block_rows}: expected at least 1.")
        column_names = None if names is None else [str(name) for name in names]
        if lengths is None:
            boundaries = np.append(np.arange(0, n_rows, block_rows), n_rows)
            return TableBlocks(tables, boundaries, names=column_names)
        lengths = check_lengths(lengths, n_rows)
        return TableBlocks(tables, _compute_boundaries(lengths, block_rows), lengths=lengths, names=column_names)

    @classmethod
    def from_files(
        cls,
        *paths: str | os.PathLike[str],
        format: str | None = None,
        cache: str | os.PathLike[str] | bool | None = None,
        block_rows: int | None = None,
        progress: bool = False,
        **options: Any,
    ) -> Blocks:
        """Read tables from files; text formats are converted once, to a memory-mapped binary cache.

        Parameters
        ----------
        *paths : path
            One file a part: UCI bag of words, MatrixMarket, svmlight multi-label (which gives two parts, X and Y),
            Parquet, lists of pairs (a ``.npy`` file of shape (N, 2) or (N, 3), mapped as it is, or text of two or three whole
            numbers per line), or a cache folder written earlier. ``.gz`` is read as it is.
        format : {"uci", "matrixmarket", "svmlight", "parquet", "pairs", "cache"}, optional
            By default recognised by the file's name and first line; a text of pairs must be named.
        cache : path or bool, optional
            Folder of the caches; by default (or True) beside each file, as ``NAME.latentia-cache``; a `FileNotice` says so
            when one is written. A cache is used again as long as its file has the same content. False keeps none: the
            converted tables are deleted with the blocks.
        block_rows : int, optional
            Rows in a block; by default as many as hold about a million entries.
        progress : bool
            Show how far a conversion has come.
        **options
            Passed to the format's reader: ``columns=`` for Parquet; for svmlight ``zero_based=`` (whether features and
            labels count from 0; needed where neither a first line nor a feature 0 shows it), ``labels_zero_based=`` (where
            labels count differently), ``n_features=`` and ``n_labels=`` (the columns of the training file, for a test file).
        """
        from .formats import open_tables

        if not paths:
            raise LatentiaError("Blocks.from_files: expected at least one path, found none.")
        tables: list[Any] = []
        names: list[str] | None = None
        for i, path in enumerate(paths):
            file_tables, columns = open_tables(Path(path), format, cache, progress, options)
            names = columns if i == 0 else names
            tables += file_tables
        return cls.from_array(*tables, block_rows=block_rows, names=names)

    @classmethod
    def from_dask(
        cls, *parts: Any, lengths: Any = None, names: Sequence[str] | None = None, vectorizer: Any = None
    ) -> Blocks:
        """Take the chunks of Dask collections as blocks; the workers that need a chunk compute it.

        Passes run on the cluster of the default client, where there is one, and otherwise here, a chunk at a time. See
        `latentia.passes.on_cluster`. Estimators accept collections directly, and convert them in this way.

        Parameters
        ----------
        *parts : dask.array.Array, dask.dataframe.DataFrame or dask.bag.Bag, or one list of delayed blocks
            The aligned tables, in chunks of whole rows: arrays are rechunked to have all columns in each; data frames must have
            as many partitions as the other parts. A bag holds texts, whose words are counted. A delayed block gives a table, an
            array or a sparse matrix, or a tuple of aligned ones.
        lengths : array-like of shape (n_sequences,), optional
            Lengths of consecutive sequences of rows of arrays, whose chunks are then cut where sequences end.
        names : sequence of str, optional
            Names of the columns of the first table; by default those of a data frame, or the words of texts.
        vectorizer : WordVectorizer, optional
            Choice of the words of a bag that are counted.

        Notes
        -----
        One pass counts the rows, since data frames and delayed blocks do not know their number. A chunk is computed again in
        every pass unless the collection is persisted; a chunk should hold 10 to 100 MB.
        """
        return constructors["from_dask"](*parts, lengths=lengths, names=names, vectorizer=vectorizer)

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def source(self) -> Blocks:
        """The blocks from which these are computed, before all maps."""
        return self

    @property
    def cheap_to_send(self) -> bool:
        """True if another process can read or compute these rows itself, so that they need not be sent."""
        return False

    @property
    def maps(self) -> list[Any]:
        """The functions that compute these blocks from their source, each followed by its output shapes."""
        return []

    def fingerprint(self) -> str:
        """Return the digest of all rows, by which a checkpoint recognises its data; it takes a pass."""
        statistic, state = BlockDigests(), BlockDigests().zero()
        for block in self:
            state = statistic.add(state, block)
        return statistic.combine(self, state)

    def __iter__(self) -> Iterator[Block]:
        return (self[i] for i in range(len(self)))

    def table(self) -> Any:
        """Return all rows of the first part as one table; that of a cache stays on disk until it is read."""
        pieces = [block[0] for block in self]
        return sparse.vstack(pieces, format="csr") if sparse.issparse(pieces[0]) else np.vstack(pieces)

    def some_rows(self, max_rows: int) -> tuple[Any, ...]:
        """Return a random sample of at most ``max_rows`` rows of all parts, in their order, whatever the cuts into blocks."""
        sample = RowSample(draw_row_numbers(self.n_rows, max_rows), len(self.shapes))
        state = sample.zero()
        for block in self:
            state = sample.add(state, block)
        return sample.tables(state)

    def first_rows(self, max_rows: int) -> tuple[Any, ...]:
        """Return at most ``max_rows`` neighbouring rows of all parts, from the first block."""
        return tuple(part[:max_rows] for part in self[0][: len(self.shapes)])

    def map(self, function: Callable[[Block], Sequence[Any]], shapes: Sequence[tuple[int, int]]) -> Blocks:
        """Return blocks whose parts, of these shapes, ``function`` computes from each block when it is read."""
        return MappedBlocks(self, function, shapes)

    def repeated(self, times: np.ndarray) -> Blocks:
        """Return blocks with each row repeated ``times`` times (whole numbers, shape (n_rows,)), copied when they are read."""
        raise LatentiaError(f"{type(self).__name__} has no method `repeated`, so its rows cannot have weights.")

    def split(self, n_groups: int, random_state: int = 0) -> list[Blocks]:
        """Split the rows (or whole sequences) at random into disjoint groups of equal size, without copying them.

        Every split of a split draws new groups, which differ from those of `row_groups` with the same seed, so that an
        estimator that is fitted on a part has rows in all of its groups.
        """
        folds = draw_folds(n_groups, random_state, self.n_selections)
        return [self.group([g], folds) for g in folds.all]


class TableBlocks(Blocks):
    """Blocks of tables in memory or mapped from files, see `Blocks.from_array`.

    Parameters
    ----------
    parts : sequence of ndarray or csr_array
    boundaries : ndarray of int, shape (n_blocks + 1,)
        First row of every block, and the end.
    lengths : ndarray of int, shape (n_sequences,), optional
    names : list of str, optional
    selections : tuple of (frozenset of int, Folds)
        Groups of rows that were selected, in the order of the selections.
    """

    def __init__(
        self,
        parts: Sequence[Any],
        boundaries: np.ndarray,
        *,
        lengths: np.ndarray | None = None,
        names: list[str] | None = None,
        selections: tuple[tuple[frozenset[int], Folds], ...] = (),
    ) -> None:
        self._parts, self._boundaries, self._lengths = tuple(parts), boundaries, lengths
        self._selections, self.names = selections, names
        self.shapes = tuple((p.shape[0], p.shape[1]) for p in self._parts)
        # Beginnings of the blocks, in sequences (or rows) and in selected rows; and the selected sequences (or rows), as bits.
        self._first = boundaries if lengths is None else np.searchsorted(np.cumsum(lengths), boundaries, side="right")
        self._selection_bits = self._compute_selection() if selections else None
        self._starts = boundaries
        if self._selection_bits is not None:
            sizes = [np.count_nonzero(self._select_block_rows(number)) for number in range(len(self))]
            self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.n_rows = int(self._starts[-1])

    @property
    def lengths(self) -> np.ndarray | None:
        if self._lengths is None or self._selection_bits is None:
            return self._lengths
        return self._lengths[self._unpack_selection(0, len(self._lengths))]

    @property
    def n_selections(self) -> int:
        return len(self._selections)

    def __len__(self) -> int:
        return len(self._boundaries) - 1

    def __getitem__(self, number: int) -> Block:
        if not 0 <= number < len(self):
            raise IndexError(number)
        start, stop = int(self._boundaries[number]), int(self._boundaries[number + 1])
        pieces, rows = self._read_parts(number, start, stop), np.arange(start, stop)
        first, last = int(self._first[number]), int(self._first[number + 1])
        lengths = None if self._lengths is None else self._lengths[first:last]
        if self._selection_bits is not None:
            keep = np.flatnonzero(self._select_block_rows(number))
            pieces, rows = [piece[keep] for piece in pieces], rows[keep]
            lengths = None if lengths is None else lengths[self._unpack_selection(first, last)]
        return Block.from_parts(
            pieces if lengths is None else [*pieces, lengths], number, int(self._starts[number]), rows
        )

    def fingerprint(self) -> str:
        return digest([self._parts, self._boundaries, self._lengths, self._selection_bits])

    def table(self) -> Any:
        if self._selection_bits is not None or isinstance(self._parts[0], RowView):
            return super().table()
        return self._parts[0] if sparse.issparse(self._parts[0]) else np.ascontiguousarray(self._parts[0])

    def _read_parts(self, number: int, start: int, stop: int) -> list[Any]:
        """Return the parts of a block, before rows are selected."""
        return [slice_rows(part, start, stop) for part in self._parts]

    @property
    def cheap_to_send(self) -> bool:
        return all(is_mapped(array) for part in self._parts for array in list_arrays(part))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with file locations in place of mapped tables, which another process maps again."""
        return self.__dict__ | {"_parts": tuple(TableLocation.locate(part) for part in self._parts)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = tuple(part.table() if isinstance(part, TableLocation) else part for part in state["_parts"])
        self.__dict__.update(state, _parts=parts)

    def some_rows(self, max_rows: int) -> tuple[Any, ...]:
        chosen = None if self._selection_bits is None else np.flatnonzero(self._select_all_rows())
        rows = draw_row_numbers(self.n_rows, max_rows)
        rows = rows if chosen is None else chosen[rows]
        return tuple(take_rows(part, rows) for part in self._parts)

    def group(self, groups: Iterable[int], folds: Folds) -> Blocks:
        selected = frozenset(groups)
        if selected.issuperset(folds.all):
            return self
        return TableBlocks(
            self._parts,
            self._boundaries,
            lengths=self._lengths,
            names=self.names,
            selections=(*self._selections, (selected, folds)),
        )

    def repeated(self, times: np.ndarray) -> Blocks:
        rows = np.arange(self.n_rows) if self._selection_bits is None else np.flatnonzero(self._select_all_rows())
        rows = np.repeat(rows, times)
        parts = [RowView.from_table(part, rows) for part in self._parts]
        size = _choose_block_rows(parts, len(rows))
        return TableBlocks(parts, np.append(np.arange(0, len(rows), size), len(rows)), names=self.names)

    def _compute_selection(self) -> np.ndarray:
        """Return packed bits: 1 for the rows (or the sequences, if there are any) that all selections keep."""
        n = int(self._boundaries[-1]) if self._lengths is None else len(self._lengths)
        packed = []
        for start in range(0, n, _ROWS_AT_ONCE):
            rows = np.arange(start, min(start + _ROWS_AT_ONCE, n))
            masks = [np.isin(folds.of(rows), list(selected)) for selected, folds in self._selections]
            packed.append(np.packbits(np.logical_and.reduce(masks)))
        return np.concatenate(packed) if packed else np.empty(0, np.uint8)

    def _unpack_selection(self, first: int, last: int) -> np.ndarray:
        """Return the selection of rows or sequences first to last, bool."""
        assert self._selection_bits is not None
        bits = np.unpackbits(self._selection_bits[first // 8 : -(-last // 8)])
        return bits[first % 8 : first % 8 + last - first].astype(bool)

    def _select_all_rows(self) -> np.ndarray:
        """Return the selection of all rows of the source, bool."""
        return np.concatenate([self._select_block_rows(number) for number in range(len(self))])

    def _select_block_rows(self, number: int) -> np.ndarray:
        """Return the selection of the rows of a block, bool."""
        first, last = int(self._first[number]), int(self._first[number + 1])
        chosen = self._unpack_selection(first, last)
        return chosen if self._lengths is None else np.repeat(chosen, self._lengths[first:last])


class MappedBlocks(Blocks):
    """Blocks that are computed from other blocks when they are read: joined, shifted, encoded. See `Blocks.map`.

    Parameters
    ----------
    blocks : Blocks
    function : callable
        Maps the parts of a block to the new parts, with the same rows, and the lengths last where there are sequences.
    shapes : sequence of (int, int)
        Shapes of the new parts.
    names : list of str, optional
        Column names of the new first part.
    """

    def __init__(
        self,
        blocks: Blocks,
        function: Callable[[Block], Sequence[Any]],
        shapes: Sequence[tuple[int, int]],
        names: list[str] | None = None,
    ) -> None:
        self._blocks, self._function = blocks, function
        n_numbers = blocks.shapes[0][0]  # Selected rows have their numbers in the source.
        self.n_rows, self.names, self.shapes = blocks.n_rows, names, tuple((n_numbers, width) for _, width in shapes)

    @property
    def lengths(self) -> np.ndarray | None:
        return self._blocks.lengths

    @property
    def source(self) -> Blocks:
        return self._blocks.source

    @property
    def cheap_to_send(self) -> bool:
        return self._blocks.cheap_to_send

    @property
    def n_selections(self) -> int:
        return self._blocks.n_selections

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, number: int) -> Block:
        block = self._blocks[number]
        return Block.from_parts(self._function(block), block.number, block.start, block.rows)

    @property
    def maps(self) -> list[Any]:
        return [*self._blocks.maps, self._function, self.shapes]

    def fingerprint(self) -> str:
        return digest([self.source.fingerprint(), self.maps])

    def some_rows(self, max_rows: int) -> tuple[Any, ...]:
        if self.lengths is not None:  # the function needs the lengths as well
            return super().some_rows(max_rows)
        return tuple(self._function(Block.from_parts(self._blocks.some_rows(max_rows))))

    def first_rows(self, max_rows: int) -> tuple[Any, ...]:
        return tuple(self._function(Block.from_parts(self._blocks.first_rows(max_rows))))

    def group(self, groups: Iterable[int], folds: Folds) -> Blocks:
        return MappedBlocks(self._blocks.group(groups, folds), self._function, self.shapes, self.names)

    def repeated(self, times: np.ndarray) -> Blocks:
        blocks = self._blocks.repeated(times)
        shapes = [(blocks.n_rows, width) for _, width in self.shapes]
        return MappedBlocks(blocks, self._function, shapes, self.names)


class BlockDigests:
    """Statistic: the digest of every block by its number."""

    def zero(self) -> dict[int, str]:
        return {}

    def add(self, state: dict[int, str], block: Block) -> dict[int, str]:
        return state | {block.number: digest([*block, block.rows])}

    def merge(self, first: dict[int, str], second: dict[int, str]) -> dict[int, str]:
        return first | second

    @staticmethod
    def combine(blocks: Blocks, digests: dict[int, str]) -> str:
        """Return the digest of all blocks."""
        return digest([blocks.n_rows, blocks.shapes, [digests[number] for number in range(len(blocks))]])


def row_groups(rows: np.ndarray, n_groups: int, random_state: int = 0) -> np.ndarray:
    """Assign every row to one of ``n_groups`` groups: random, balanced, and a function of its number alone.

    Every run of ``n_groups`` consecutive rows is a random permutation of the groups, so that the groups are balanced
    also over time-sorted data.

    Parameters
    ----------
    rows : ndarray of int, shape (n,)
        Row numbers in the source.
    n_groups : int
        Number of groups.
    random_state : int, default=0
        Seed.

    Returns
    -------
    ndarray of int8, shape (n,)
    """
    rows = np.asarray(rows, dtype=np.int64)
    run = rows[:, None] // n_groups * n_groups + np.arange(n_groups)
    salt = mix_bits(np.array([random_state & 0xFFFFFFFF, n_groups], dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    keys = mix_bits(run.astype(np.uint64) + (salt[:1] ^ (salt[1:] >> np.uint64(1))))
    row_keys = keys[np.arange(len(rows)), rows % n_groups]
    return (keys < row_keys[:, None]).sum(axis=1).astype(np.int8)


class RowSample:
    """Statistic: the rows at these places (ascending), of all parts."""

    def __init__(self, places: np.ndarray, n_parts: int) -> None:
        self.places, self.n_parts = places, n_parts

    def zero(self) -> list[list[Any]]:
        return []

    def add(self, state: list[list[Any]], block: Block) -> list[list[Any]]:
        first, last = np.searchsorted(self.places, [block.start, block.start + len(block.rows)])
        positions = self.places[first:last] - block.start
        return [*state, [take_rows(part, positions) for part in block[: self.n_parts]]]

    def merge(self, first: list[list[Any]], second: list[list[Any]]) -> list[list[Any]]:
        return first + second

    def tables(self, state: list[list[Any]]) -> tuple[Any, ...]:
        """Return the sampled rows of each part."""
        return tuple(
            sparse.vstack(pieces, format="csr") if sparse.issparse(pieces[0]) else np.concatenate(pieces)
            for pieces in zip(*state, strict=True)
        )


def draw_row_numbers(n_rows: int, max_rows: int) -> np.ndarray:
    """Draw the numbers of ``max_rows`` of n rows, ascending; return all if there are no more."""
    return (
        np.arange(n_rows)
        if n_rows <= max_rows
        else np.sort(np.random.default_rng(0).choice(n_rows, max_rows, replace=False))
    )


def mix_bits(x: np.ndarray) -> np.ndarray:
    """Apply the finaliser of splitmix64: a bijection of 64-bit integers without visible structure."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _choose_block_rows(tables: Sequence[Any], n_rows: int) -> int:
    entries = sum(map(_count_entries, tables))
    return max(1, int(_BLOCK_ENTRIES * n_rows / max(entries, 1))) if n_rows else 1


def _count_entries(table: Any) -> int:
    if isinstance(table, RowView):
        source, times = table.table, np.bincount(table.rows, minlength=table.table.shape[0])
        return int(times @ (np.diff(source.indptr) if sparse.issparse(source) else np.count_nonzero(source, axis=1)))
    return int(table.indptr[-1]) if sparse.issparse(table) else int(np.count_nonzero(table))


def check_lengths(lengths: Any, n_rows: int) -> np.ndarray:
    """Return the lengths of sequences as int64; raise unless they are whole numbers of at least 1 that add up to the rows."""
    try:
        array = np.asarray(lengths)
    except ValueError:  # lists of different lengths
        array = np.empty(())
    if array.ndim != 1:
        raise LatentiaError("lengths: expected a list of whole numbers, one for each sequence.")
    is_whole = array.dtype.kind in "iu"
    if not is_whole or (array < 1).any():
        for at, n in enumerate(array.tolist()):
            if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 1:
                raise LatentiaError(f"lengths: expected whole numbers of at least 1, found {n!r} at position {at}.")
    # Sums of whole numbers in floating point are exact below 2^53 and stay above it once they are: they cannot wrap around.
    if (array.sum(dtype=np.float64) if is_whole else sum(array.tolist())) != n_rows:
        raise LatentiaError(f"lengths add up to {sum(array.tolist())}, and the data has {n_rows} rows.")
    return array.astype(np.int64)


def _compute_boundaries(lengths: np.ndarray, block_rows: int) -> np.ndarray:
    ends = np.cumsum(lengths)
    boundaries = [0]
    while boundaries[-1] < (ends[-1] if len(ends) else 0):
        reached = np.searchsorted(ends, boundaries[-1] + block_rows, side="left")
        boundaries.append(int(ends[min(int(reached), len(ends) - 1)]))
    return np.array(boundaries)
