"""Counts of joint presences that are kept in the place of rows, and can be added to those of other rows.

All triples of n findings are counted, n^3 / 6 of them, in four groups of rows, which a hash of the row deals. Rows with the
same findings are in one group then, and those with none, one or two findings have so many copies that groups would differ by
far more than chance. So these are counted apart, each kind of row, and dealt one by one when moments are made, as a multinomial
draw that hangs on the counts alone. Of the others `latentia.moments.additive` says what is done about copies.

Of up to 20 findings all different rows are counted, 2^n of them, and dealt in this way.
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
from ._findings import rows_with_gaps
from ._slabs import Counter
from .absences import CountedAbsences, PackedRows, PackedRowsSum

_MOST_FINDINGS = 300  # whose triples, in four groups of rows, take 71 MB
_ALL = 20  # findings of which all 2^n rows are counted: 8 MB
_FEW = 3  # findings from which on a row is dealt by its hash
_LONG = 8  # findings of a row from which on another one like it may be no accident
_NEARLY_NONE = 1.02  # excess of copies that changes nothing


class _Split(NamedTuple):
    """Rows packed into bits, and of how many there are copies; of those with fewer findings the products of pairs (n, n)."""

    packed: PackedRowsSum
    copies: np.ndarray
    few: np.ndarray
    n_few: int


@dataclass(frozen=True)
class _AllRows:
    """Count the rows with each set of findings, (2^n,): finding i is bit i of its number."""

    n_features: int
    names: Any

    def zero(self) -> np.ndarray:
        return np.zeros(1 << self.n_features, np.int64)

    def add(self, state: np.ndarray, block: Block) -> np.ndarray:
        numbers = _known(block, self.names) @ (1 << np.arange(self.n_features))
        return state + np.bincount(numbers, minlength=len(state))

    def merge(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return first + second


@dataclass(frozen=True)
class _SplitRows:
    """Pack rows with three findings or more, and sum up the others."""

    packing: PackedRows

    def zero(self) -> _Split:
        none = count_remainders(np.empty(0, np.int64))
        return _Split(
            self.packing.zero(), np.array([none, none]), np.zeros((self.packing.n_features,) * 2, np.int64), 0
        )

    def add(self, state: _Split, block: Block) -> _Split:
        table = _known(block, self.packing.names)
        size, hashes = table.sum(axis=1), self.packing.folds.leaders[block.rows]  # type: ignore[index]
        few, others = table[size < _FEW].astype(np.float32), size >= _FEW
        copies = np.array([count_remainders(hashes[others & (size < _LONG)]), count_remainders(hashes[size >= _LONG])])
        packed = self.packing.add(state.packed, Block.of([table[others]], rows=block.rows[others]))
        return _Split(packed, state.copies + copies, state.few + (few.T @ few).astype(np.int64), state.n_few + len(few))

    def merge(self, first: _Split, second: _Split) -> _Split:
        packed = self.packing.merge(first.packed, second.packed)
        return _Split(packed, first.copies + second.copies, first.few + second.few, first.n_few + second.n_few)


def _known(block: Block, names: Any) -> np.ndarray:
    """Rows, bool, in which all findings are known."""
    table, missing = rows_with_gaps(block[0], block.rows, names)
    if missing is not None:
        row = block.rows[int(missing.any(axis=1).argmax())]
        raise LatentiaError(f"Row {row} has findings that are not known: moments are kept of rows in which all are.")
    return table


def kept_counts(
    rows: Blocks, folds: Folds, names: Any = None, n_jobs: int | None = None, progress: Any = False
) -> CountSums:
    """Count all triples of findings in one pass over rows.

    Returns
    -------
    CountSums
        ``n``: rows of each group, and those with fewer than three findings, (5,). ``few``: of the latter the numbers with
        just these two findings, or on the diagonal with just this one, (n, n). ``pairs``: rows of each group with both
        findings, (4, n, n). ``triples``: with all three, (4, n (n - 1) (n - 2) / 6). ``copies``: rows with three to seven
        findings, and with more, by remainders of their hashes, (2, 65536). Of up to 20 findings only ``rows``, how many have
        each set of findings, (2^n,).
    """
    n = rows.shapes[0][1]
    if n > _MOST_FINDINGS:
        raise LatentiaError(
            f"The rows have {n} findings: moments are kept of at most {_MOST_FINDINGS}, as all triples of them are counted. "
            "Choose findings, or fit anew."
        )
    if n <= _ALL:
        return CountSums(rows.n_rows, {"rows": accumulate(rows, _AllRows(n, names), n_jobs, progress=progress)})
    split = accumulate(rows, _SplitRows(PackedRows(n, folds, names)), n_jobs, progress=progress)
    counts = CountedAbsences(split.packed, np.arange(n), n_jobs)
    two = np.triu(split.few, 1)
    few = two + np.diag(split.few.diagonal() - two.sum(axis=0) - two.sum(axis=1))
    tables = {
        "n": np.append(split.packed.n_rows, split.n_few).astype(np.int64), "few": few,
        "pairs": counts.together.astype(np.int64), "triples": _packed_triples(counts, n_jobs), "copies": split.copies,
    }  # fmt: skip
    return CountSums(rows.n_rows, tables)


def _packed_triples(counts: CountedAbsences, n_jobs: int | None) -> np.ndarray:
    order = np.argsort(counts.present.sum(axis=0), kind="stable")  # the rarest first: it has the fewest rows
    n = len(order)
    found = np.zeros((len(counts.bits), math.comb(n, 3)), np.int32)
    count = counts.of(order).counter()

    def fill(start: int, stop: int) -> None:
        for i in range(start, stop):
            for packed, table in zip(found, count(i, i + 1, n, i + 1), strict=True):
                _put(table, order, i, packed)

    run_in_chunks(fill, n, 1, n_jobs)
    return found


class KeptAbsences(CountedAbsences):
    """Moments of counts that were kept.

    Parameters
    ----------
    sums : CountSums
    n_jobs : int, optional
    """

    def __init__(self, sums: CountSums, n_jobs: int | None = None) -> None:
        tables = sums.tables if "few" in sums.tables else _tables_of(sums.tables["rows"])
        self.bits, self.n_jobs, self.added, self.n_features = [], n_jobs, 0.5, len(tables["few"])
        self._triples, self._order = tables["triples"], np.arange(self.n_features)
        excess = copy_inflation(*tables["copies"])
        self._excess = excess if excess > _NEARLY_NONE else 1.0
        rows, pairs = _draw_tables(tables["n"][-1], tables["few"])
        self.n_rows, self._together = self._evened(tables["n"][:-1]) + rows, self._evened(tables["pairs"]) + pairs
        self.present = np.einsum("gii->gi", self._together).copy()

    def counter(self) -> Counter:
        def count(i: int, start: int, stop: int, first: int) -> np.ndarray:
            counts = np.zeros((len(self._triples), stop - start, self.n_features - first), np.int32)
            for packed, table in zip(self._triples, counts, strict=True):
                _take(packed, self._order, i, start, first, table)
            return self._evened(counts)

        return count

    def _evened(self, tables: np.ndarray) -> np.ndarray:
        return tables if self._excess == 1 else shrink_to_mean(tables, self._excess)


def _tables_of(rows: np.ndarray) -> dict[str, np.ndarray]:
    """The tables of rows of each kind, (2^n,), dealt one by one."""
    n, kinds = len(rows).bit_length() - 1, np.flatnonzero(rows)
    having = np.zeros((4, len(rows)), np.int64)
    having[:, kinds] = np.random.default_rng(0).multinomial(rows[kinds], np.full(4, 0.25)).T
    for i in range(n):  # from rows with just a set of findings to those that have it
        halves = having.reshape(4, -1, 2, 1 << i)
        halves[:, :, 0] += halves[:, :, 1]
    one = 1 << np.arange(n)
    triples = np.array([one[i] | one[j] | one[k] for k in range(n) for j in range(k) for i in range(j)], np.int64)
    return {
        "n": np.append(having[:, 0], 0), "few": np.zeros((n, n), np.int64), "pairs": having[:, one[:, None] | one],
        "triples": having[:, triples].astype(np.int32), "copies": np.zeros((2, 1), np.int32),
    }  # fmt: skip


def _draw_tables(n: int, few: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with fewer than three findings in four groups: their numbers, (4,), and those with both of a pair, (4, n, n)."""
    rng, shares = np.random.default_rng(0), np.full(4, 0.25)
    upper = np.triu_indices(len(few))
    found = rng.multinomial(few[upper], shares)
    pairs = np.zeros((4, *few.shape), np.int64)
    pairs[:, upper[0], upper[1]] = found.T
    both = np.triu(np.ones(few.shape, bool), 1) * pairs
    both += both.swapaxes(1, 2)
    alone = np.einsum("gii->gi", pairs)
    both[:, range(len(few)), range(len(few))] = alone + both.sum(axis=2)
    return found.sum(axis=0) + rng.multinomial(n - few.sum(), shares), both


# --- kernels --------------------------------------------------------------------------------------------------------


@njit(nogil=True)
def _place(i, j, k):
    """Where three different numbers are, whatever their order."""
    least, most = min(i, j, k), max(i, j, k)
    middle = i + j + k - least - most
    return most * (most - 1) * (most - 2) // 6 + middle * (middle - 1) // 2 + least


@njit(nogil=True, cache=True)
def _put(table, numbers, i, packed):
    """Put the counts of finding i and the pairs of those after it into their places."""
    for j in range(i + 1, len(numbers)):
        for k in range(j + 1, len(numbers)):
            packed[_place(numbers[i], numbers[j], numbers[k])] = table[j - i - 1, k - i - 1]


@njit(nogil=True, cache=True)
def _take(packed, numbers, i, start, first, table):
    """Fill table, (findings j from start on, k from first on), with the counts of i, j and k, where j < k."""
    for row in range(len(table)):
        j = start + row
        for k in range(max(first, j + 1), len(numbers)):
            table[row, k - first] = packed[_place(numbers[i], numbers[j], numbers[k])]
