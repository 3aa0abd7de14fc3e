"""How the rows of a source are dealt into groups for error bars: stretches of neighbours together, and copies together.

Halves of the rows say how large the error is if their rows are independent. Neighbours in a time series are not, and copies of
a row even less: dealt one by one they put the same noise into both halves. So rows are dealt in about 200 stretches, and where
the source repeats itself, each row with its first copy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .blocks import Blocks, RowGroups, mixed_bits

__all__ = ["deal", "sample_rows"]

_STRETCHES = 200
_SAMPLE = 2000  # rows in which copies are looked for
_SAMPLE_ENTRIES = 20_000_000
_STRIPS = 16  # blocks that these are taken from, at most
_LONG = 8  # entries of a row of whole numbers from which on another one like it is no accident
_REPEATED = 0.5  # copies that a row has on average, in a source that repeats itself
_FEWEST_PAIRS = 3


def deal(blocks: Blocks, seed: int, n: int = 4) -> RowGroups:
    """Groups of the rows of blocks without sequences, for error bars.

    A sample of the rows tells whether the source repeats itself; only then are all of them read for it.
    """
    n_rows = blocks.shapes[0][0]
    dealt = RowGroups(n, seed, max(1, n_rows // _STRETCHES))
    if n == 1 or not _repeats(blocks):
        return dealt
    return replace(dealt, leaders=_first_copies(blocks))


def sample_rows(blocks: Blocks, most: int = _SAMPLE) -> tuple[Any, ...]:
    """Some rows of all parts, evenly from up to 16 blocks, in their order; all where there are no more than ``most``.

    There are fewer of dense rows so long that they would take 160 MB.
    """
    width = sum(0 if sparse.issparse(part) else part.shape[1] for part in blocks[0]) if len(blocks) else 0
    most = max(min(most, _SAMPLE_ENTRIES // max(width, 1)), _STRIPS)
    numbers = np.unique(np.linspace(0, len(blocks) - 1, min(len(blocks), _STRIPS)).round().astype(int))
    rng, pieces = np.random.default_rng(0), []
    for number in numbers:
        block = blocks[int(number)]
        n, wanted = block[0].shape[0], -(-most // len(numbers))
        rows = np.arange(n) if n <= wanted else np.sort(rng.choice(n, wanted, replace=False))
        pieces.append([part[rows] for part in block[: len(blocks.shapes)]])
    return tuple(
        sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
        for parts in zip(*pieces, strict=True)
    )


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
    return np.asarray(((part != 0).sum(axis=1) >= _LONG) | (part != np.rint(part)).any(axis=1))


def _first_copies(blocks: Blocks) -> np.ndarray:
    """For every row of the source the number of the first row that is the same."""
    leaders = np.arange(blocks.shapes[0][0])
    found = [(block.rows, _hashes(block[: len(blocks.shapes)])) for block in blocks]
    if found:
        rows = np.concatenate([rows for rows, _ in found])
        _, first, same = np.unique(np.concatenate([h for _, h in found]), return_index=True, return_inverse=True)
        leaders[rows] = rows[first][same]
    return leaders


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
