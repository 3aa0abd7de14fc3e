"""Assignment of rows to folds for error bars: neighbouring rows together, and copies together.

Halves of the rows show how large the error is if their rows are independent. Neighbours in a time series are not, and copies of
a row even less: assigned one by one they put the same noise into both halves. So rows are assigned in about 200 stretches and,
where the source repeats itself, each row or sequence together with its first copy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .blocks import Blocks, Folds, mix_bits

_STRETCHES = 200  # runs of neighbouring rows that stay together
_SAMPLE_ROWS = 2000  # rows among which copies are searched
_SAMPLE_ENTRIES = 20_000_000  # entries of the sample: 160 MB if all are stored
_MAX_WIDTH = 200_000  # columns that count for the size of a sample; wider tables are sparse
_MIN_ROWS = 16  # rows of a sample, however wide they are
_DIGITS = 6  # decimals of cells, in standard deviations of their column, that enter hashes
_SAMPLE_BLOCKS = 16  # blocks of sequences among which copies are searched
_MIN_ENTRIES = 8  # entries of a row of whole numbers above which an equal row is no coincidence
_MIN_COPIES = 0.5  # copies of a row on average in a source that repeats itself
_MIN_PAIRS = 3  # pairs of equal rows in a sample; fewer are a coincidence
_NARROW_COLUMNS = 100  # below this, equal rows may be coincidences
_MIN_LEADERS = 8  # different rows for each group; with fewer, one group of four is empty more often than once in 2,500
_MAX_UNIQUE_SHARE = 0.5  # share of rows without a copy above which the copies in narrow tables are coincidences


def assign_folds(blocks: Blocks, seed: int, n: int = 4) -> Folds:
    """Assign the rows of blocks without sequences to folds, for error bars.

    A sample of the rows shows whether the source repeats itself; only then all rows are read to find copies. Copies are not put
    together where there are hardly more different rows than groups.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    seed : int
        Seed.
    n : int, default=4
        Number of groups.

    Returns
    -------
    Folds
    """
    n_rows = blocks.shapes[0][0]
    folds = Folds(n, seed, max(1, n_rows // _STRETCHES))
    if n == 1 or not _has_copies(blocks):
        return folds
    leaders = _find_first_copies(blocks)
    if leaders is None:
        return folds
    return join_copies(folds, leaders)


def assign_folds_by_content(blocks: Blocks, n: int = 4) -> Folds:
    """Assign rows to folds by a hash of their content (one pass), for blocks without sequences.

    Sums of groups can then be added to those of other rows, in any order. Copies of a row stay together, neighbours do not.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    n : int, default=4
        Number of groups.

    Returns
    -------
    Folds
    """
    leaders, n_parts = np.zeros(blocks.shapes[0][0], np.int64), len(blocks.shapes)
    for block in blocks:
        leaders[block.rows] = (_hash_rows(block[:n_parts]) >> np.uint64(1)).astype(np.int64)
    return Folds(n, 0, leaders=leaders)


def assign_sequence_folds(blocks: Blocks, seed: int, stretch: int, n: int = 4) -> Folds:
    """Assign the steps of sequences to folds: stretches together, and sequences together with their first copies.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    seed : int
        Seed.
    stretch : int
        Steps that stay together.
    n : int, default=4
        Number of groups.

    Returns
    -------
    Folds
    """
    folds = Folds(n, seed, stretch)
    if blocks.lengths is None or len(blocks.lengths) < 2:
        return folds
    numbers = np.unique(np.linspace(0, len(blocks) - 1, min(len(blocks), _SAMPLE_BLOCKS)).round().astype(int))
    sequences = [_hash_sequences(blocks[int(number)]) for number in numbers]
    hashes = np.concatenate([hashes[distinct] for _, _, hashes, distinct in sequences])
    n_sampled = sum(len(hashes) for _, _, hashes, _ in sequences)
    counts = np.unique(hashes, return_counts=True)[1]
    pairs = float((counts * (counts - 1) / 2).sum())
    if pairs < _MIN_PAIRS or 2 * pairs * len(blocks.lengths) / (n_sampled * (n_sampled - 1)) < _MIN_COPIES:
        return folds
    sequences = sequences if len(numbers) == len(blocks) else [_hash_sequences(block) for block in blocks]
    starts, lengths, hashes, distinct = (np.concatenate(parts) for parts in zip(*sequences, strict=True))
    hashes = np.where(distinct, hashes, np.arange(len(hashes), dtype=np.uint64))
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    shift = np.repeat(starts[first][inverse] - starts, lengths)
    rows = np.repeat(starts, lengths) + np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    leaders = np.arange(int(rows.max()) + 1)
    leaders[rows] = rows + shift
    return join_copies(folds, leaders)


def assign_sequence_folds_by_content(blocks: Blocks, stretch: int, n: int = 4) -> Folds:
    """Assign the steps of sequences to folds by a hash of the sequence's content (one pass).

    The stretches of a sequence are spread evenly over the groups.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    stretch : int
        Steps that stay together.
    n : int, default=4
        Number of groups.

    Returns
    -------
    Folds
    """
    leaders = np.zeros(blocks.shapes[0][0], np.int64)
    for block in blocks:
        _, lengths, hashes, _ = _hash_sequences(block)
        place = np.arange(len(block.rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        # n consecutive numbers belong to n different groups.
        first = (mix_bits(hashes) >> np.uint64(2)).astype(np.int64) // n * n
        leaders[block.rows] = np.repeat(first, lengths) + place // stretch
    return Folds(n, 0, leaders=leaders)


def content_keys(table: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return a number for the content of each row of a table: equal for equal rows, and the same in any order of rows.

    Cells are rounded to a millionth of their column's spread, so that rounding errors of units have no effect.

    Parameters
    ----------
    table : ndarray of shape (n, D)
        NaN marks a missing cell.
    seed : int, default=0
        Seed of the numbers.

    Returns
    -------
    ndarray of uint64, shape (n,)
    """
    spread = np.nanstd(table, axis=0)
    cells = np.round((table - np.nanmean(table, axis=0)) / np.where(spread > 0, spread, 1.0), _DIGITS)
    return mix_bits(_hash_rows([cells]) ^ mix_bits(np.array([seed], np.uint64)))


def sample_rows(blocks: Blocks, max_rows: int = _SAMPLE_ROWS) -> tuple[Any, ...]:
    """Return at most ``max_rows`` rows of all parts, spread over the data, without a pass over it.

    Very wide rows give fewer, so that the sample stays below 160 MB with all entries stored.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    max_rows : int, default=2000
        Number of rows at most.

    Returns
    -------
    tuple of arrays or sparse matrices
        One for each part.
    """
    width = min(sum(shape[1] for shape in blocks.shapes), _MAX_WIDTH)
    return blocks.some_rows(max(min(max_rows, _SAMPLE_ENTRIES // max(width, 1)), _MIN_ROWS))


def join_copies(folds: Folds, leaders: np.ndarray) -> Folds:
    """Return folds with the rows of one leader together, unless there are so few leaders that a group may be empty."""
    return replace(folds, leaders=leaders) if len(np.unique(leaders)) > _MIN_LEADERS * folds.n else folds


def _has_copies(blocks: Blocks) -> bool:
    """Return True if distinctive rows of a source, of which no two should be equal, have copies."""
    rows = sample_rows(blocks)
    distinctive = np.logical_or.reduce([_find_distinctive(part) for part in rows])
    n = int(distinctive.sum())
    if n < 2:
        return False
    counts = np.unique(_hash_rows(rows)[distinctive], return_counts=True)[1]
    pairs = float((counts * (counts - 1) / 2).sum())
    return pairs >= _MIN_PAIRS and 2 * pairs * blocks.n_rows / (n * (n - 1)) >= _MIN_COPIES


def _find_distinctive(part: Any) -> np.ndarray:
    """Mark rows with a fraction, or with so many entries that an equal row is no coincidence."""
    if sparse.issparse(part):
        table = sparse.csr_array(part)
        entries, fractions = np.diff(table.indptr), table.data != np.rint(table.data)
        has_fraction = np.add.reduceat(np.append(fractions, 0), table.indptr[:-1]) * (entries > 0) > 0
        return np.asarray((entries >= _MIN_ENTRIES) | has_fraction)
    is_finite = part == part  # NaN differs from itself
    return np.asarray(
        (((part != 0) & is_finite).sum(axis=1) >= _MIN_ENTRIES) | ((part != np.rint(part)) & is_finite).any(axis=1)
    )


def _find_first_copies(blocks: Blocks) -> np.ndarray | None:
    """Return for every row of the source the number of the first equal row; None if equal rows are coincidences.

    Coincidences occur in narrow tables: some rows are frequent, and most of the different rows occur once.
    """
    leaders, n_parts = np.arange(blocks.shapes[0][0]), len(blocks.shapes)
    columns = [
        (
            block.rows,
            _hash_rows(block[:n_parts]),
            np.logical_or.reduce([_find_distinctive(part) for part in block[:n_parts]]),
        )
        for block in blocks
    ]
    rows, hashes, distinctive = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    _, first, inverse, counts = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    multiplicities = counts[distinctive[first]]
    if sum(shape[1] for shape in blocks.shapes) < _NARROW_COLUMNS and (multiplicities == 1).mean() > _MAX_UNIQUE_SHARE:
        return None
    leaders[rows] = rows[first][inverse]
    return leaders


def _hash_sequences(block: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return first row, length and hash of each sequence of a block, and True where an equal sequence is no coincidence."""
    lengths = np.asarray(block[-1])
    ends = np.cumsum(lengths)
    step_hashes = _hash_rows(block[:1])
    place = np.arange(len(step_hashes)) - np.repeat(ends - lengths, lengths)
    total = np.append(np.uint64(0), np.cumsum(mix_bits(step_hashes + mix_bits(place.astype(np.uint64)))))
    changes = np.append(0, np.cumsum(np.append(0, step_hashes[1:] != step_hashes[:-1])))
    distinct = changes[ends] - changes[ends - lengths] > _MIN_ENTRIES
    rows = block.rows[np.minimum(ends - lengths, max(len(step_hashes) - 1, 0))]
    return rows, lengths, total[ends] - total[ends - lengths], distinct


def _hash_rows(parts: Any) -> np.ndarray:
    """Return a 64-bit hash of the content of each row of aligned tables."""
    total = np.zeros(parts[0].shape[0], np.uint64)
    for number, part in enumerate(parts):
        salt = np.uint64(number + 1) << np.uint64(40)
        if sparse.issparse(part):
            table = sparse.csr_array(part)
            nonzero = table.data != 0
            bits = _view_bits(table.data[nonzero]) ^ mix_bits(table.indices[nonzero].astype(np.uint64) ^ salt)
            sums = np.append(np.uint64(0), np.cumsum(mix_bits(bits)))[np.append(0, np.cumsum(nonzero))]
            total += sums[table.indptr[1:]] - sums[table.indptr[:-1]]
        else:
            columns = mix_bits(np.arange(part.shape[1], dtype=np.uint64) ^ salt)
            keys = mix_bits(_view_bits(np.asarray(part)) ^ columns)
            total += np.where(np.asarray(part) != 0, keys, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return total


def _view_bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
