"""How the rows of a source are dealt into groups for error bars: stretches of neighbours together, and copies together.

Halves of the rows say how large the error is if their rows are independent. Neighbours in a time series are not, and copies of
a row even less: dealt one by one they put the same noise into both halves. So rows are dealt in about 200 stretches, and where
the source repeats itself, each row, or sequence, with its first copy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .blocks import Blocks, Folds, mixed_bits

_STRETCHES = 200
_SAMPLE = 2000  # rows in which copies are looked for
_SAMPLE_ENTRIES = 20_000_000
_WIDEST = 200_000  # columns: wider tables are sparse
_FEWEST_ROWS = 16
_DIGITS = 6  # of cells, in standard deviations of their column, that enter hashes of content
_STRIPS = 16  # blocks of sequences in which copies are looked for
_LONG = 8  # entries of a row of whole numbers from which on another one like it is no accident
_REPEATED = 0.5  # copies that a row has on average, in a source that repeats itself
_FEWEST_PAIRS = 3
_FEW_COLUMNS = 100  # of so few, whole rows come again by accident as well
_FEWEST_LEADERS = 8  # for each group: of fewer, a group of four has none in one case of 2,500 or more
_ONCE = 0.5  # of the different rows, which then are there once, in a source that does not repeat itself


def assign_folds(blocks: Blocks, seed: int, n: int = 4) -> Folds:
    """Groups of the rows of blocks without sequences, for error bars.

    A sample of the rows tells whether the source repeats itself; only then are all of them read for it. Where there are no more
    different rows than groups, copies are not put together.

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
    if n == 1 or not _repeats(blocks):
        return folds
    leaders = _first_copies(blocks)
    if leaders is None:
        return folds
    return join_copies(folds, leaders)


def deal_by_content(blocks: Blocks, n: int = 4) -> Folds:
    """Groups of the rows of blocks without sequences that hang on nothing but what is in a row: one pass.

    Sums of groups can then be added to those of other rows, in any order. Copies of a row are together, and neighbours are not.

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
        leaders[block.rows] = (_hashes(block[:n_parts]) >> np.uint64(1)).astype(np.int64)
    return Folds(n, 0, leaders=leaders)


def deal_sequences(blocks: Blocks, seed: int, stretch: int, n: int = 4) -> Folds:
    """Groups of the steps of sequences: stretches together, and sequences together with their first copies.

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
    numbers = np.unique(np.linspace(0, len(blocks) - 1, min(len(blocks), _STRIPS)).round().astype(int))
    found = [_sequences(blocks[int(number)]) for number in numbers]
    hashes = np.concatenate([hashes[distinct] for _, _, hashes, distinct in found])
    n_seen = sum(len(hashes) for _, _, hashes, _ in found)
    counts = np.unique(hashes, return_counts=True)[1]
    pairs = float((counts * (counts - 1) / 2).sum())
    if pairs < _FEWEST_PAIRS or 2 * pairs * len(blocks.lengths) / (n_seen * (n_seen - 1)) < _REPEATED:
        return folds
    found = found if len(numbers) == len(blocks) else [_sequences(block) for block in blocks]
    starts, lengths, hashes, distinct = (np.concatenate(parts) for parts in zip(*found, strict=True))
    hashes = np.where(distinct, hashes, np.arange(len(hashes), dtype=np.uint64))
    _, first, same = np.unique(hashes, return_index=True, return_inverse=True)
    shift = np.repeat(starts[first][same] - starts, lengths)
    rows = np.repeat(starts, lengths) + np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    leaders = np.arange(int(rows.max()) + 1)
    leaders[rows] = rows + shift
    return join_copies(folds, leaders)


def deal_sequences_by_content(blocks: Blocks, stretch: int, n: int = 4) -> Folds:
    """Groups of the steps of sequences that hang on nothing but what is in a sequence: one pass.

    Stretches of a sequence go to all groups alike, as far as there are enough.

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
        _, lengths, hashes, _ = _sequences(block)
        place = np.arange(len(block.rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        # The groups of n numbers one after another are different.
        first = (mixed_bits(hashes) >> np.uint64(2)).astype(np.int64) // n * n
        leaders[block.rows] = np.repeat(first, lengths) + place // stretch
    return Folds(n, 0, leaders=leaders)


def content_keys(table: np.ndarray, seed: int = 0) -> np.ndarray:
    """A number for the content of each row of a table: the same in any order of rows, and for equal rows.

    Cells are rounded to a millionth of their column's spread, so that rounding errors of units do not enter.

    Parameters
    ----------
    table : ndarray of shape (n, D)
        NaN is a cell that is missing.
    seed : int, default=0
        Seed of the numbers.

    Returns
    -------
    ndarray of uint64, shape (n,)
    """
    spread = np.nanstd(table, axis=0)
    cells = np.round((table - np.nanmean(table, axis=0)) / np.where(spread > 0, spread, 1.0), _DIGITS)
    return mixed_bits(_hashes([cells]) ^ mixed_bits(np.array([seed], np.uint64)))


def sample_rows(blocks: Blocks, most: int = _SAMPLE) -> tuple[Any, ...]:
    """At most this many rows of all parts, spread over the data, without a pass over it.

    There are fewer of rows so wide that they would take 160 MB if all their entries were stored.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    most : int, default=2000
        Number of rows at most.

    Returns
    -------
    tuple of arrays or sparse matrices
        One for each part.
    """
    width = min(sum(shape[1] for shape in blocks.shapes), _WIDEST)
    return blocks.some_rows(max(min(most, _SAMPLE_ENTRIES // max(width, 1)), _FEWEST_ROWS))


def join_copies(folds: Folds, leaders: np.ndarray) -> Folds:
    """Groups with rows of one leader together, unless these are so few that a group may have none."""
    return replace(folds, leaders=leaders) if len(np.unique(leaders)) > _FEWEST_LEADERS * folds.n else folds


def _repeats(blocks: Blocks) -> bool:
    """Whether the rows of a source have copies: those at least of which there should be no two."""
    rows = sample_rows(blocks)
    distinctive = np.logical_or.reduce([_distinctive(part) for part in rows])
    n = int(distinctive.sum())
    if n < 2:
        return False
    counts = np.unique(_hashes(rows)[distinctive], return_counts=True)[1]
    pairs = float((counts * (counts - 1) / 2).sum())
    return pairs >= _FEWEST_PAIRS and 2 * pairs * blocks.n_rows / (n * (n - 1)) >= _REPEATED


def _distinctive(part: Any) -> np.ndarray:
    """Rows with a fraction, or with so many entries that another one like it is no accident."""
    if sparse.issparse(part):
        table = sparse.csr_array(part)
        entries, fractions = np.diff(table.indptr), table.data != np.rint(table.data)
        broken = np.add.reduceat(np.append(fractions, 0), table.indptr[:-1]) * (entries > 0) > 0
        return np.asarray((entries >= _LONG) | broken)
    known = part == part  # gaps are alike
    return np.asarray((((part != 0) & known).sum(axis=1) >= _LONG) | ((part != np.rint(part)) & known).any(axis=1))


def _first_copies(blocks: Blocks) -> np.ndarray | None:
    """For every row of the source the number of the first row that is the same; None if they are so by accident.

    That can be where columns are few: some rows are then frequent, and most of the different ones are there once.
    """
    leaders, n_parts = np.arange(blocks.shapes[0][0]), len(blocks.shapes)
    found = [
        (block.rows, _hashes(block[:n_parts]), np.logical_or.reduce([_distinctive(part) for part in block[:n_parts]]))
        for block in blocks
    ]
    rows, hashes, distinctive = (np.concatenate(parts) for parts in zip(*found, strict=True))
    _, first, same, counts = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    different = counts[distinctive[first]]
    if sum(shape[1] for shape in blocks.shapes) < _FEW_COLUMNS and (different == 1).mean() > _ONCE:
        return None
    leaders[rows] = rows[first][same]
    return leaders


def _sequences(block: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """First row, length and hash of each sequence of a block, and whether another one like it is no accident."""
    lengths = np.asarray(block[-1])
    ends = np.cumsum(lengths)
    of_step = _hashes(block[:1])
    place = np.arange(len(of_step)) - np.repeat(ends - lengths, lengths)
    total = np.append(np.uint64(0), np.cumsum(mixed_bits(of_step + mixed_bits(place.astype(np.uint64)))))
    changes = np.append(0, np.cumsum(np.append(0, of_step[1:] != of_step[:-1])))
    distinct = changes[ends] - changes[ends - lengths] > _LONG
    rows = block.rows[np.minimum(ends - lengths, max(len(of_step) - 1, 0))]
    return rows, lengths, total[ends] - total[ends - lengths], distinct


def _hashes(parts: Any) -> np.ndarray:
    """A number of 64 bits for the content of each row of aligned tables."""
    total = np.zeros(parts[0].shape[0], np.uint64)
    for number, part in enumerate(parts):
        salt = np.uint64(number + 1) << np.uint64(40)
        if sparse.issparse(part):
            table = sparse.csr_array(part)
            kept = table.data != 0
            bits = _bits(table.data[kept]) ^ mixed_bits(table.indices[kept].astype(np.uint64) ^ salt)
            sums = np.append(np.uint64(0), np.cumsum(mixed_bits(bits)))[np.append(0, np.cumsum(kept))]
            total += sums[table.indptr[1:]] - sums[table.indptr[:-1]]
        else:
            columns = mixed_bits(np.arange(part.shape[1], dtype=np.uint64) ^ salt)
            keys = mixed_bits(_bits(np.asarray(part)) ^ columns)
            total += np.where(np.asarray(part) != 0, keys, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return total


def _bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
