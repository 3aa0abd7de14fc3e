"""Rows in blocks: one view of arrays, sparse matrices, data frames and files.

A block is a tuple of aligned parts: (X,), (X, Y), several views (X1, X2, X3), or a stretch of whole sequences with
its lengths (X, lengths). Cutting depends on the data alone, never on the number of workers, so that sums over blocks
have the same bits wherever they are taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError

__all__ = ["Block", "Blocks", "MappedBlocks", "row_groups"]

_BLOCK_ENTRIES = 1 << 20


class Block(tuple):
    """A tuple of aligned parts, with its place in the data.

    Attributes
    ----------
    number : int
        Position among the blocks.
    start : int
        Number of rows before it.
    rows : ndarray of shape (n_rows,)
        Numbers of its rows in the source: what error messages and `row_groups` speak of.
    """

    number: int
    start: int
    rows: np.ndarray

    @classmethod
    def of(cls, parts: Sequence[Any], number: int = 0, start: int = 0, rows: np.ndarray | None = None) -> Block:
        """Make a block of parts; by default the only one."""
        block = cls(parts)
        block.number, block.start = number, start
        block.rows = np.arange(start, start + parts[0].shape[0]) if rows is None else rows
        return block


class Blocks:
    """Aligned tables cut into blocks of rows. Make one with `from_array` or `from_files`.

    Attributes
    ----------
    n_rows : int
    shapes : tuple of (int, int)
        Shape of every part with columns.
    names : list of str or None
        Column names of the first part, where the source has them.
    """

    def __init__(
        self,
        parts: Sequence[Any],
        boundaries: np.ndarray,
        *,
        lengths: np.ndarray | None = None,
        names: list[str] | None = None,
        groups: tuple[tuple[int, frozenset[int], int], ...] = (),
    ) -> None:
        self._parts = tuple(parts)
        self._boundaries = boundaries
        self._lengths = lengths
        self._groups = groups
        self.names = names
        self.shapes = tuple((p.shape[0], p.shape[1]) for p in self._parts)
        self._starts = self._selected_starts() if groups else self._boundaries
        self.n_rows = int(self._starts[-1])

    @classmethod
    def from_array(cls, *parts: Any, lengths: Any = None, block_rows: int | None = None) -> Blocks:
        """Cut arrays, sparse matrices or data frames with equally many rows.

        Parameters
        ----------
        *parts : array-like of shape (n_rows, n_columns)
            The aligned tables; a block is a tuple with one piece of each.
        lengths : array-like of shape (n_sequences,), optional
            Lengths of consecutive sequences of rows. Blocks then hold whole sequences, and end with their lengths.
        block_rows : int, optional
            Rows in a block; by default as many as hold about a million entries.
        """
        if not parts:
            raise LatentiaError("Blocks.from_array needs at least one table.")
        names = [str(c) for c in parts[0].columns] if hasattr(parts[0], "columns") else None
        tables = [_as_table(part, i) for i, part in enumerate(parts)]
        n_rows = tables[0].shape[0]
        for i, table in enumerate(tables):
            if table.shape[0] != n_rows:
                raise LatentiaError(
                    f"Part {i} has {table.shape[0]} rows and part 0 has {n_rows}: aligned parts need equally many."
                )
        if block_rows is None:
            block_rows = _default_block_rows(tables, n_rows)
        if block_rows < 1:
            raise LatentiaError(f"block_rows={block_rows}: need at least one row in a block.")
        if lengths is None:
            boundaries = np.append(np.arange(0, n_rows, block_rows), n_rows)
            return cls(tables, boundaries, names=names)
        lengths = np.asarray(lengths)
        return cls(tables, _sequence_boundaries(lengths, n_rows, block_rows), lengths=lengths, names=names)

    @classmethod
    def from_files(
        cls,
        *paths: str | os.PathLike[str],
        format: str | None = None,
        cache: str | os.PathLike[str] | None = None,
        block_rows: int | None = None,
        progress: bool = False,
        **options: Any,
    ) -> Blocks:
        """Read tables from files, converting text formats once to a memory-mapped binary cache.

        Parameters
        ----------
        *paths : path
            One file a part: UCI bag of words, MatrixMarket, svmlight multi-label (which gives two parts, X and Y),
            Parquet, or a cache folder written earlier. ``.gz`` is read as it is.
        format : {"uci", "matrixmarket", "svmlight", "parquet", "cache"}, optional
            By default told from the file's name and first line.
        cache : path, optional
            Folder of the caches; by default beside each file, as ``NAME.latentia-cache``. A cache that is newer than
            its file is used again.
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
            raise LatentiaError("Blocks.from_files needs at least one path.")
        tables: list[Any] = []
        names: list[str] | None = None
        for i, path in enumerate(paths):
            found, columns = open_tables(Path(path), format, cache, progress, options)
            names = columns if i == 0 else names
            tables += found
        blocks = cls.from_array(*tables, block_rows=block_rows)
        blocks.names = names
        return blocks

    @property
    def lengths(self) -> np.ndarray | None:
        """Lengths of the sequences, shape (n_sequences,); None if the rows are no sequences."""
        if self._lengths is None or not self._groups:
            return self._lengths
        return self._lengths[self._selected_sequences(0, len(self._lengths))]

    def __len__(self) -> int:
        return len(self._boundaries) - 1

    def __getitem__(self, number: int) -> Block:
        if not 0 <= number < len(self):
            raise IndexError(number)
        start, stop = int(self._boundaries[number]), int(self._boundaries[number + 1])
        pieces = [_rows(part, start, stop) for part in self._parts]
        rows = np.arange(start, stop)
        if self._lengths is not None:
            ends = np.cumsum(self._lengths)
            first, last = np.searchsorted(ends, start, side="right"), np.searchsorted(ends, stop, side="right")
            pieces.append(self._lengths[first:last])
        if self._groups:
            keep = np.flatnonzero(self._selected(start, stop))
            if self._lengths is not None:
                chosen = self._selected_sequences(int(first), int(last))
                pieces[-1] = pieces[-1][chosen]
            pieces = [p[keep] for p in pieces[: len(self._parts)]] + pieces[len(self._parts) :]
            rows = rows[keep]
        return Block.of(pieces, number, int(self._starts[number]), rows)

    def __iter__(self) -> Iterator[Block]:
        return (self[i] for i in range(len(self)))

    def table(self) -> Any:
        """All rows of the first part as one table; of a cache it stays on disk until it is read."""
        if not self._groups:
            return self._parts[0]
        pieces = [block[0] for block in self]
        return sparse.vstack(pieces, format="csr") if sparse.issparse(pieces[0]) else np.vstack(pieces)

    def split(self, n_groups: int, random_state: int = 0) -> list[Blocks]:
        """Split the rows (or whole sequences) at random into disjoint groups of equal size, without copying them.

        Rows are dealt anew by every split of a split, and otherwise than `row_groups` with the same seed deals them, so that
        an estimator that is fitted on a part finds rows of all its own groups in it.
        """
        seed = random_state + 7919 * (len(self._groups) + 1)
        return [self.group(frozenset([g]), n_groups, seed) for g in range(n_groups)]

    def group(self, groups: frozenset[int], n_groups: int, random_state: int = 0) -> Blocks:
        """The rows that `row_groups` puts into one of ``groups``, as blocks of their own."""
        return Blocks(
            self._parts,
            self._boundaries,
            lengths=self._lengths,
            names=self.names,
            groups=(*self._groups, (n_groups, groups, random_state)),
        )

    def _selected(self, start: int, stop: int) -> np.ndarray:
        if self._lengths is not None:
            sequence = np.repeat(np.arange(len(self._lengths)), self._lengths)[start:stop]
            first, last = int(sequence[0]), int(sequence[-1]) + 1
            return self._selected_sequences(first, last)[sequence - first]
        return self._selected_sequences(start, stop)

    def _selected_sequences(self, start: int, stop: int) -> np.ndarray:
        rows = np.arange(start, stop)
        chosen = [np.isin(row_groups(rows, n, seed), list(wanted)) for n, wanted, seed in self._groups]
        return np.logical_and.reduce(chosen)

    def _selected_starts(self) -> np.ndarray:
        counts = [
            np.count_nonzero(self._selected(int(a), int(b)))
            for a, b in zip(self._boundaries[:-1], self._boundaries[1:], strict=True)
        ]
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


class MappedBlocks(Blocks):
    """Blocks whose parts are computed from those of others as they are read: joined, shifted, encoded.

    Parameters
    ----------
    blocks : Blocks
    function : callable
        Maps the parts of a block to the new parts, with the same rows.
    shapes : sequence of (int, int)
        Shapes of the new parts.
    """

    def __init__(
        self, blocks: Blocks, function: Callable[[Block], Sequence[Any]], shapes: Sequence[tuple[int, int]]
    ) -> None:
        self._blocks, self._function = blocks, function
        self.n_rows, self.names, self.shapes = blocks.n_rows, None, tuple(shapes)

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, number: int) -> Block:
        block = self._blocks[number]
        return Block.of(self._function(block), block.number, block.start, block.rows)

    def group(self, groups: frozenset[int], n_groups: int, random_state: int = 0) -> Blocks:
        return MappedBlocks(self._blocks.group(groups, n_groups, random_state), self._function, self.shapes)

    def table(self) -> Any:
        pieces = [block[0] for block in self]
        return sparse.vstack(pieces, format="csr") if sparse.issparse(pieces[0]) else np.vstack(pieces)


def row_groups(rows: np.ndarray, n_groups: int, random_state: int = 0) -> np.ndarray:
    """Put every row into one of ``n_groups`` groups: at random, equally many, and a function of its number alone.

    Every run of ``n_groups`` consecutive rows is a random permutation of the groups, so that the groups are balanced
    also over time-sorted data.

    Parameters
    ----------
    rows : ndarray of int, shape (n,)
        Row numbers in the source.

    Returns
    -------
    ndarray of int8, shape (n,)
    """
    rows = np.asarray(rows, dtype=np.int64)
    run = rows[:, None] // n_groups * n_groups + np.arange(n_groups)
    salt = _mix(np.array([random_state & 0xFFFFFFFF, n_groups], dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    keys = _mix(run.astype(np.uint64) + (salt[:1] ^ (salt[1:] >> np.uint64(1))))
    own = keys[np.arange(len(rows)), rows % n_groups]
    return (keys < own[:, None]).sum(axis=1).astype(np.int8)


def _mix(x: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64: a bijection of 64-bit integers without visible structure."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _as_table(part: Any, number: int) -> Any:
    """An ndarray or csr_array with two dimensions; columns of a data frame must be numeric."""
    if sparse.issparse(part):
        return part if isinstance(part, sparse.csr_array) else sparse.csr_array(part)
    if hasattr(part, "columns") and hasattr(part, "dtypes"):
        for name, dtype in zip(part.columns, part.dtypes, strict=True):
            if getattr(dtype, "kind", "f") in "OUSM":
                raise LatentiaError(
                    f"Part {number}: column {name!r} has type {dtype}, and numbers are needed. Drop or encode it."
                )
        if hasattr(part, "sparse") and all(str(d).startswith("Sparse") for d in part.dtypes):
            return sparse.csr_array(part.sparse.to_coo())
        part = part.to_numpy()
    table = np.asarray(part)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise LatentiaError(f"Part {number} has {table.ndim} dimensions: a table of rows and columns is needed.")
    return table


def _rows(table: Any, start: int, stop: int) -> Any:
    """Rows start to stop as a view where possible: SciPy's own slicing copies the entries."""
    if not sparse.issparse(table):
        return table[start:stop]
    lo, hi = int(table.indptr[start]), int(table.indptr[stop])
    indptr = (table.indptr[start : stop + 1] - lo).astype(table.indices.dtype, copy=False)
    piece = sparse.csr_array((stop - start, table.shape[1]), dtype=table.dtype)
    piece.data, piece.indices, piece.indptr = table.data[lo:hi], table.indices[lo:hi], indptr
    return piece


def _default_block_rows(tables: Sequence[Any], n_rows: int) -> int:
    entries = sum(int(t.indptr[-1]) if sparse.issparse(t) else int(np.count_nonzero(t)) for t in tables)
    return max(1, int(_BLOCK_ENTRIES * n_rows / max(entries, 1))) if n_rows else 1


def _sequence_boundaries(lengths: np.ndarray, n_rows: int, block_rows: int) -> np.ndarray:
    if lengths.ndim != 1 or (lengths < 1).any() or lengths.dtype.kind not in "iu":
        raise LatentiaError("lengths: need one whole number of at least 1 for each sequence.")
    if lengths.sum() != n_rows:
        raise LatentiaError(f"lengths add up to {lengths.sum()}, and the data has {n_rows} rows.")
    ends = np.cumsum(lengths)
    boundaries = [0]
    while boundaries[-1] < n_rows:
        reached = np.searchsorted(ends, boundaries[-1] + block_rows, side="left")
        boundaries.append(int(ends[min(int(reached), len(ends) - 1)]))
    return np.array(boundaries)
