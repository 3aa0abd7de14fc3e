"""Sufficient statistics of noisy-or networks: joint counts that can be added across data sets.

All n^3 / 6 triples of n findings are counted in four folds of rows, which a hash of each row assigns. Rows with the same
findings then share a fold. Rows with none, one or two findings have so many copies that folds would differ by far more than
chance. They are counted separately, by kind of row, and assigned one by one when moments are computed, by a multinomial draw
that depends on the counts alone. `latentia.moments.additive` describes the correction for copies of other rows.

With up to 20 findings all 2^n kinds of rows are counted, and assigned in this way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ..exceptions import LatentiaError
from ..moments import CountSums
from ..moments.additive import copy_inflation, count_remainders, shrink_to_mean
from ..passes import Block, Blocks, Folds, accumulate
from ..system.threads import run_in_chunks
from ._findings import split_gaps
from ._pmi_blocks import Counter
from .absences import AbsenceCounts, BitColumns, RowPacking

_MAX_FINDINGS = 300  # their triples take 71 MB in four folds of rows
_MAX_ENUMERATED = 20  # findings up to which all 2^n kinds of rows are counted: 8 MB
_MIN_HASHED = 3  # findings from which a row is assigned to a fold by its hash
_MIN_LONG = 8  # findings of a row from which equal rows may be no accident
_NEGLIGIBLE_EXCESS = 1.02  # largest excess of copies that needs no correction


class _Split(NamedTuple):
    """Packed long rows and counts of their copies; for short rows the joint counts of pairs (n, n) and their number."""

    packed: BitColumns
    copies: np.ndarray
    short: np.ndarray
    n_short: int


@dataclass(frozen=True)
class _AllRows:
    """Count the rows with each set of findings, (2^n,): finding i is bit i of its number."""

    n_features: int
    names: Any

    def zero(self) -> np.ndarray:
        return np.zeros(1 << self.n_features, np.int64)

    def add(self, state: np.ndarray, block: Block) -> np.ndarray:
        numbers = _read_known_rows(block, self.names) @ (1 << np.arange(self.n_features))
        return state + np.bincount(numbers, minlength=len(state))

    def merge(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return first + second


@dataclass(frozen=True)
class _SplitRows:
    """Pack rows with at least three findings, and sum the others."""

    packing: RowPacking

    def zero(self) -> _Split:
        no_copies = count_remainders(np.empty(0, np.int64))
        return _Split(
            self.packing.zero(), np.array([no_copies, no_copies]), np.zeros((self.packing.n_features,) * 2, np.int64), 0
        )

    def add(self, state: _Split, block: Block) -> _Split:
        table = _read_known_rows(block, self.packing.names)
        size, hashes = table.sum(axis=1), self.packing.folds.leaders[block.rows]  # type: ignore[index]
        short_rows, is_long_enough = table[size < _MIN_HASHED].astype(np.float32), size >= _MIN_HASHED
        copies = np.array(
            [count_remainders(hashes[is_long_enough & (size < _MIN_LONG)]), count_remainders(hashes[size >= _MIN_LONG])]
        )
        packed = self.packing.add(
            state.packed, Block.from_parts([table[is_long_enough]], rows=block.rows[is_long_enough])
        )
        return _Split(
            packed,
            state.copies + copies,
            state.short + (short_rows.T @ short_rows).astype(np.int64),
            state.n_short + len(short_rows),
        )

    def merge(self, first: _Split, second: _Split) -> _Split:
        packed = self.packing.merge(first.packed, second.packed)
        return _Split(packed, first.copies + second.copies, first.short + second.short, first.n_short + second.n_short)


def _read_known_rows(block: Block, names: Any) -> np.ndarray:
    """Return the rows of a block, bool; raise if a finding is unknown."""
    table, missing = split_gaps(block[0], block.rows, names)
    if missing is not None:
        row = block.rows[int(missing.any(axis=1).argmax())]
        raise LatentiaError(
            f"Row {row} has unknown findings; sufficient statistics need rows without gaps. Drop the row, or fit without "
            "keep_moments."
        )
    return table


def count_absences(
    rows: Blocks, folds: Folds, names: Any = None, n_jobs: int | None = None, progress: Any = False
) -> CountSums:
    """Count all triples of findings in one pass over rows.

    Returns
    -------
    CountSums
        ``n``: rows of each fold, and rows with fewer than three findings, (5,). ``few``: among the latter, rows with exactly
        two findings, and on the diagonal with exactly one, (n, n). ``pairs``: rows of each fold with both findings,
        (4, n, n). ``triples``: rows with all three, (4, n (n - 1) (n - 2) / 6). ``copies``: rows with three to seven
        findings, and with more, by remainders of their hashes, (2, 65536). With up to 20 findings only ``rows``, the number
        of rows with each set of findings, (2^n,).
    """
    n = rows.shapes[0][1]
    if n > _MAX_FINDINGS:
        raise LatentiaError(
            f"The rows have {n} findings; expected at most {_MAX_FINDINGS}, as all triples are counted. Choose findings, or "
            "fit without keep_moments."
        )
    if n <= _MAX_ENUMERATED:
        return CountSums(rows.n_rows, {"rows": accumulate(rows, _AllRows(n, names), n_jobs, progress=progress)})
    split = accumulate(rows, _SplitRows(RowPacking(n, folds, names)), n_jobs, progress=progress)
    counts = AbsenceCounts(split.packed, np.arange(n), n_jobs)
    exact_pairs = np.triu(split.short, 1)
    short = exact_pairs + np.diag(split.short.diagonal() - exact_pairs.sum(axis=0) - exact_pairs.sum(axis=1))
    tables = {
        "n": np.append(split.packed.n_rows, split.n_short).astype(np.int64), "few": short,
        "pairs": counts.together.astype(np.int64), "triples": _pack_triples(counts, n_jobs), "copies": split.copies,
    }  # fmt: skip
    return CountSums(rows.n_rows, tables)


def _pack_triples(counts: AbsenceCounts, n_jobs: int | None) -> np.ndarray:
    order = np.argsort(counts.present.sum(axis=0), kind="stable")  # the rarest first: it has the fewest rows
    n = len(order)
    packed_triples = np.zeros((len(counts.bits), math.comb(n, 3)), np.int32)
    count = counts.select(order).counter()

    def fill(start: int, stop: int) -> None:
        for i in range(start, stop):
            for packed, table in zip(packed_triples, count(i, i + 1, n, i + 1), strict=True):
                _put(table, order, i, packed)

    run_in_chunks(fill, n, 1, n_jobs)
    return packed_triples


class AbsenceStatistics(AbsenceCounts):
    """Moments of rows from their sufficient statistics.

    Parameters
    ----------
    sums : CountSums
    n_jobs : int, optional
    """

    def __init__(self, sums: CountSums, n_jobs: int | None = None) -> None:
        tables = sums.tables if "few" in sums.tables else _split_tables(sums.tables["rows"])
        self.bits, self.n_jobs, self.added, self.n_features = [], n_jobs, 0.5, len(tables["few"])
        self._triples, self._order = tables["triples"], np.arange(self.n_features)
        excess = copy_inflation(*tables["copies"])
        self._excess = excess if excess > _NEGLIGIBLE_EXCESS else 1.0
        rows, pairs = _draw_tables(tables["n"][-1], tables["few"])
        self.n_rows = self._reduce_copies(tables["n"][:-1]) + rows
        self._together = self._reduce_copies(tables["pairs"]) + pairs
        self.present = np.einsum("gii->gi", self._together).copy()

    def counter(self) -> Counter:
        def count(i: int, start: int, stop: int, first: int) -> np.ndarray:
            counts = np.zeros((len(self._triples), stop - start, self.n_features - first), np.int32)
            for packed, table in zip(self._triples, counts, strict=True):
                _take(packed, self._order, i, start, first, table)
            return self._reduce_copies(counts)

        return count

    def _reduce_copies(self, tables: np.ndarray) -> np.ndarray:
        return tables if self._excess == 1 else shrink_to_mean(tables, self._excess)


def _split_tables(rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the tables of `count_absences` from numbers of each kind of row, (2^n,), assigned to folds one by one."""
    n, present_kinds = len(rows).bit_length() - 1, np.flatnonzero(rows)
    with_set = np.zeros((4, len(rows)), np.int64)
    with_set[:, present_kinds] = np.random.default_rng(0).multinomial(rows[present_kinds], np.full(4, 0.25)).T
    for i in range(n):  # from rows with exactly a set of findings to rows that contain it
        halves = with_set.reshape(4, -1, 2, 1 << i)
        halves[:, :, 0] += halves[:, :, 1]
    bits = 1 << np.arange(n)
    triples = np.array([bits[i] | bits[j] | bits[k] for k in range(n) for j in range(k) for i in range(j)], np.int64)
    return {
        "n": np.append(with_set[:, 0], 0), "few": np.zeros((n, n), np.int64), "pairs": with_set[:, bits[:, None] | bits],
        "triples": with_set[:, triples].astype(np.int32), "copies": np.zeros((2, 1), np.int32),
    }  # fmt: skip


def _draw_tables(n: int, short: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Assign rows with fewer than three findings to folds; return their numbers, (4,), and joint counts."""
    rng, shares = np.random.default_rng(0), np.full(4, 0.25)
    upper = np.triu_indices(len(short))
    counts = rng.multinomial(short[upper], shares)
    pairs = np.zeros((4, *short.shape), np.int64)
    pairs[:, upper[0], upper[1]] = counts.T
    with_pair = np.triu(np.ones(short.shape, bool), 1) * pairs
    with_pair += with_pair.swapaxes(1, 2)
    exact_single = np.einsum("gii->gi", pairs)
    with_pair[:, range(len(short)), range(len(short))] = exact_single + with_pair.sum(axis=2)
    return counts.sum(axis=0) + rng.multinomial(n - short.sum(), shares), with_pair


# --- kernels --------------------------------------------------------------------------------------------------------


@njit(nogil=True)
def _triple_index(i, j, k):
    """Return the position of three different numbers, in any order."""
    smallest, largest = min(i, j, k), max(i, j, k)
    middle = i + j + k - smallest - largest
    return largest * (largest - 1) * (largest - 2) // 6 + middle * (middle - 1) // 2 + smallest


@njit(nogil=True, cache=True)
def _put(table, numbers, i, packed):
    """Write the counts of finding i with the pairs of later findings to their positions."""
    for j in range(i + 1, len(numbers)):
        for k in range(j + 1, len(numbers)):
            packed[_triple_index(numbers[i], numbers[j], numbers[k])] = table[j - i - 1, k - i - 1]


@njit(nogil=True, cache=True)
def _take(packed, numbers, i, start, first, table):
    """Fill table, (findings j from start on, k from first on), with the counts of i, j and k where j < k."""
    for row in range(len(table)):
        j = start + row
        for k in range(max(first, j + 1), len(numbers)):
            table[row, k - first] = packed[_triple_index(numbers[i], numbers[j], numbers[k])]
