"""Joint absences of binary findings: pointwise mutual information of pairs and triples.

For findings s_1, ..., s_n of 0 and 1, with P_S the probability that all findings of a set S are absent,

    PMI2(i, j) = log P_ij / (P_i P_j)
    PMI3(i, j, l) = log P_ij P_il P_jl / (P_ijl P_i P_j P_l)

((2.1) to (2.3) of Arora, Ge, Ma and Risteski, Provable learning of noisy-or networks). Causes that are independent add
up in both, and whatever acts on one finding alone, such as a leak, cancels. Probabilities are counts over rows, half
of a row added to each count.

Rows are packed into bits once: presences together are counted with AND and a population count over 64 rows at a time,
O(N / 64) a triple, and absences follow by inclusion and exclusion. Triples are met slab by slab, one finding with all
pairs of others, and each slab is contracted at once: no array has n^3 entries.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import effective_n_jobs
from numba import njit, types
from numba.extending import intrinsic

from .._progress import progress_bar
from .._threads import for_chunks, one_blas_thread, threads
from ..exceptions import LatentiaError
from ..passes import Block, RowGroups
from ..tensor import symmetrised
from .findings import binary_rows

__all__ = [
    "AbsenceMoments",
    "CountedAbsences",
    "ExactAbsences",
    "LogAbsences",
    "PackedRows",
    "PackedRowsSum",
    "Partition",
]

Groups = tuple[int, ...]
_SLABS = 16  # findings that are dealt with at a time
_WORDS = 512  # of a column that are worked on together: 4 KB
_ROWS_AT_ONCE = 1 << 14


class Partition(NamedTuple):
    """Three disjoint sets of findings, S_a, S_b and S_c, as arrays of their numbers."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray


class LogAbsences(NamedTuple):
    """Logarithms of P_i, shape (n,), and of P_ij, shape (n, n); the diagonal of the latter has no meaning."""

    single: np.ndarray
    pair: np.ndarray

    @property
    def pmi(self) -> np.ndarray:
        """PMI2, shape (n, n), with a diagonal of zeros."""
        table = self.pair - self.single[:, None] - self.single[None]
        np.fill_diagonal(table, 0.0)
        return table


class AbsenceMoments(Protocol):
    """What the moments come from: counts of rows, or the parameters of a network."""

    n_features: int

    def logs(self, groups: Groups) -> LogAbsences:
        """Of the rows in these groups."""

    def contracted(
        self, partition: Partition, factors: Sequence[np.ndarray], groups: Groups, progress: bool | str = False
    ) -> np.ndarray:
        """PMI3 of S_a x S_b x S_c times a factor, (size of the set, m), along each mode; shape (m, m, m)."""

    def all_triples(
        self,
        factor: np.ndarray,
        selections: Sequence[Groups],
        partitions: Sequence[Partition],
        progress: bool | str = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums of PMI3_ijl f_i (x) f_j (x) f_l over triples of distinct findings, f the rows of a factor (n, d).

        Each triple counts once; findings with a row of zeros are left out. The tensors are symmetric.

        Returns
        -------
        ndarray of shape (n_selections, d, d, d)
            For the rows of each selection of groups.
        ndarray of shape (n_partitions, d, d, d)
            For all rows, over the triples that each partition splits.
        """


# --- rows packed into bits ------------------------------------------------------------------------------------------


class PackedRowsSum(NamedTuple):
    """Columns as bits, a piece (n, words) for some rows, in a list for each group; and numbers of rows, shape (G,)."""

    pieces: tuple[list[np.ndarray], ...]
    n_rows: np.ndarray


@dataclass(frozen=True)
class PackedRows:
    """Pack rows of 0 and 1 into bits, in groups; rows without a finding are only counted.

    Memory: one bit an entry, up to the rounding of each block to 64 rows a group.

    Parameters
    ----------
    n_features : int
        n.
    dealt : RowGroups
    names : sequence of str, optional
        Names of the columns, for errors.
    """

    n_features: int
    dealt: RowGroups
    names: Sequence[str] | None = None

    def zero(self) -> PackedRowsSum:
        return PackedRowsSum(tuple([] for _ in self.dealt.all), np.zeros(self.dealt.n, np.int64))

    def add(self, state: PackedRowsSum, block: Block) -> PackedRowsSum:
        group = self.dealt.of(block.rows)
        for start in range(0, len(group), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            table = binary_rows(block[0][rows], block.rows[rows], self.names)
            some = table.any(axis=1)
            for g in self.dealt.all:
                own = group[rows] == g
                state.n_rows[g] += own.sum()
                if (own & some).any():
                    state.pieces[g].append(_packed(table[own & some]))
        return state

    def merge(self, first: PackedRowsSum, second: PackedRowsSum) -> PackedRowsSum:
        pieces = tuple(one + other for one, other in zip(first.pieces, second.pieces, strict=True))
        return PackedRowsSum(pieces, first.n_rows + second.n_rows)


def _packed(table: np.ndarray) -> np.ndarray:
    """Columns of a table of bool, (rows, n), as bits: (n, words) of uint64."""
    as_bytes = np.packbits(table, axis=0, bitorder="little")
    padded = np.zeros((-(-len(as_bytes) // 8) * 8, table.shape[1]), np.uint8)
    padded[: len(as_bytes)] = as_bytes
    return np.ascontiguousarray(padded.T).view(np.uint64)


# --- counts ---------------------------------------------------------------------------------------------------------


class CountedAbsences:
    """Moments of packed rows.

    Parameters
    ----------
    rows : PackedRowsSum
    columns : ndarray of int, optional
        Findings to keep.
    n_jobs : int, optional
        Threads; the numbers do not depend on it.

    Attributes
    ----------
    n_rows : ndarray of shape (G,)
        Rows of each group, those without a finding among them.
    present : ndarray of shape (G, n)
        Rows with each finding.
    together : ndarray of shape (G, n, n)
        Rows with both of a pair, on the diagonal with the one; computed once.
    """

    def __init__(self, rows: PackedRowsSum, columns: np.ndarray | None = None, n_jobs: int | None = None) -> None:
        width = next((piece.shape[0] for pieces in rows.pieces for piece in pieces), 0)
        kept = np.arange(width) if columns is None else columns
        self._bits = [
            np.concatenate([piece[kept] for piece in pieces], axis=1) if pieces else np.zeros((len(kept), 0), np.uint64)
            for pieces in rows.pieces
        ]
        self.n_rows, self.n_features, self.n_jobs = rows.n_rows, len(kept), n_jobs
        self.present = np.array([np.bitwise_count(bits).sum(axis=1, dtype=np.int64) for bits in self._bits])
        self._together: np.ndarray | None = None

    @property
    def together(self) -> np.ndarray:
        if self._together is None:
            counts = np.zeros((len(self.n_rows), self.n_features, self.n_features), np.int32)

            def count(i: int, _: int) -> None:
                for bits, table in zip(self._bits, counts, strict=True):
                    _count_pairs(bits, i, table)

            for_chunks(count, self.n_features, 1, self.n_jobs)
            upper = np.triu(counts, 1)
            self._together = upper + upper.transpose(0, 2, 1)
            for table, present in zip(self._together, self.present, strict=True):
                np.fill_diagonal(table, present)
        return self._together

    def logs(self, groups: Groups) -> LogAbsences:
        chosen = list(groups)
        n, present, together = (
            self.n_rows[chosen].sum(),
            self.present[chosen].sum(axis=0),
            self.together[chosen].sum(axis=0),
        )
        absent = n - present[:, None] - present[None] + together
        return LogAbsences(np.log((n - present + 0.5) / (n + 1)), np.log((absent + 0.5) / (n + 1)))

    def fewest_absences(self) -> tuple[np.ndarray, int]:
        """Rows in which both of a pair are absent, (n, n), the diagonal -1, and the number of all rows."""
        n, present = int(self.n_rows.sum()), self.present.sum(axis=0)
        table = n - present[:, None] - present[None] + self.together.sum(axis=0)
        np.fill_diagonal(table, -1)
        return table, n

    def contracted(
        self, partition: Partition, factors: Sequence[np.ndarray], groups: Groups, progress: bool | str = False
    ) -> np.ndarray:
        a, b, c = partition
        view = _View(self, groups)
        partial = np.empty((len(a), factors[1].shape[1], factors[2].shape[1]))

        def slab(place: int) -> None:
            counts = self._triples(a[place], b, c, upper=False)
            partial[place] = factors[1].T @ view.slab(a[place], b, c, counts) @ factors[2]

        self._each(slab, range(len(a)), progress)
        return np.einsum("ix,iyz->xyz", factors[0], partial, optimize=True)

    def all_triples(
        self,
        factor: np.ndarray,
        selections: Sequence[Groups],
        partitions: Sequence[Partition],
        progress: bool | str = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        used = np.flatnonzero(factor.any(axis=1))
        if len(used) < self.n_features:  # then nothing as large as all pairs is made for a selection
            places = np.cumsum(factor.any(axis=1)) - 1
            within = [Partition(*(places[part] for part in partition)) for partition in partitions]
            return self.of(used).all_triples(factor[used], selections, within, progress)
        views = [_View(self, groups) for groups in selections]
        everything = _View(self, tuple(range(len(self.n_rows))))
        sides = np.array([_sides(partition, self.n_features) for partition in partitions]).reshape(-1, self.n_features)
        d = factor.shape[1]
        cubes, split = np.zeros((len(views), d, d, d)), np.zeros((len(sides), d, d, d))
        for start in range(0, len(used), _SLABS):
            chunk = range(start, min(start + _SLABS, len(used)))
            partial = np.zeros((len(chunk), len(views) + len(sides), d, d))

            def slab(place: int, start: int = start, partial: np.ndarray = partial) -> None:
                i, later = used[place], used[place + 1 :]
                counts = self._triples(i, later, later, upper=True)
                own = factor[later]
                for s, view in enumerate(views):
                    partial[place - start, s] = own.T @ np.triu(view.slab(i, later, later, counts), 1) @ own
                if len(sides):
                    pmi = np.triu(everything.slab(i, later, later, counts), 1)
                for p, side in enumerate(sides):
                    partial[place - start, len(views) + p] = _rainbow(pmi, own, side[later], side[i])

            self._each(slab, chunk, progress and f"{progress} {start} of {len(used)}")
            sums = np.einsum("ix,isyz->sxyz", factor[used[chunk.start : chunk.stop]], partial, optimize=True)
            cubes += sums[: len(views)]
            split += sums[len(views) :]
        return np.array([symmetrised(cube) for cube in cubes]), np.array([symmetrised(cube) for cube in split])

    def of(self, columns: np.ndarray) -> CountedAbsences:
        """Counts of these findings alone."""
        some = copy.copy(self)
        some._bits = [bits[columns] for bits in self._bits]
        some.n_features, some.present = len(columns), self.present[:, columns]
        some._together = self.together[:, columns[:, None], columns]
        return some

    def _triples(self, i: int, b: np.ndarray, c: np.ndarray, upper: bool) -> np.ndarray:
        """Rows of each group with i and one of each set, (G, |b|, |c|); ``upper``: where the place in b is the smaller."""
        counts = np.zeros((len(self.n_rows), len(b), len(c)), np.int64)
        for bits, table in zip(self._bits, counts, strict=True):
            _count_triples(bits, i, b, c, upper, table)
        return counts

    def _each(self, task: Callable[[int], None], places: range, progress: bool | str) -> None:
        """Run the task for all places in threads, which leave matrix products alone."""
        bar = progress_bar(progress, len(places), "slabs")
        with threads(effective_n_jobs(self.n_jobs)) as parallel, one_blas_thread(), bar as advance:
            for start in range(0, len(places), _SLABS):
                size = min(_SLABS, len(places) - start)
                parallel(lambda k, first=places[start]: task(first + k), size)  # type: ignore[misc]
                advance(size)


class _View:
    """Counts of some groups of rows, and PMI3 from them slab by slab."""

    def __init__(self, counts: CountedAbsences, groups: Groups) -> None:
        chosen = list(groups)
        self.mask = np.isin(np.arange(len(counts.n_rows)), chosen)
        self.n, self.present = counts.n_rows[chosen].sum(), counts.present[chosen].sum(axis=0)
        self.together, self.log = counts.together[chosen].sum(axis=0), counts.logs(groups)

    def slab(self, i: int, b: np.ndarray, c: np.ndarray, counts: np.ndarray) -> np.ndarray:
        absent = _absent(self.mask, counts, self.n, self.present, self.together, i, b, c)
        return _pmi3(self.log, np.log((np.maximum(absent, 0.0) + 0.5) / (self.n + 1)), i, b, c)


def _sides(partition: Partition, n_features: int) -> np.ndarray:
    """The set of each finding, 0, 1 or 2, or -1."""
    sides = np.full(n_features, -1)
    for number, part in enumerate(partition):
        sides[part] = number
    return sides


def _rainbow(pmi: np.ndarray, factor: np.ndarray, sides: np.ndarray, own: int) -> np.ndarray:
    """Sum of PMI3_jl f_j (x) f_l over j and l in the two sets that the slab's finding is not in, (d, d)."""
    d = factor.shape[1]
    if own < 0:
        return np.zeros((d, d))
    first, second = (np.flatnonzero(sides == side) for side in {0, 1, 2} - {int(own)})
    left, right = factor[first], factor[second]
    return left.T @ pmi[np.ix_(first, second)] @ right + right.T @ pmi[np.ix_(second, first)] @ left


def _pmi3(log: LogAbsences, triple: np.ndarray, i: int, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """PMI3 of one finding with all pairs of two sets, from logarithms of P_ijl, shape (|b|, |c|)."""
    first, second = log.pair[i, b] - log.single[b], log.pair[i, c] - log.single[c]
    return first[:, None] + second[None] + log.pair[np.ix_(b, c)] - log.single[i] - triple


# --- the same of a known network ------------------------------------------------------------------------------------


class ExactAbsences:
    """Moments of a noisy-or network, without sampling: what infinitely many rows would give.

    Parameters
    ----------
    weights : ndarray of shape (m, n)
        P(finding i absent | cause k alone) = exp(-weights[k, i]).
    priors : ndarray of shape (m,)
    leak : ndarray of shape (n,), optional
        P(finding present | no cause).
    """

    def __init__(self, weights: np.ndarray, priors: np.ndarray, leak: np.ndarray | None = None) -> None:
        weights, priors = np.asarray(weights, dtype=np.float64), np.asarray(priors, dtype=np.float64)
        if weights.ndim != 2 or priors.shape != weights.shape[:1]:
            raise LatentiaError(
                f"weights has the shape {weights.shape} and priors {priors.shape}: one row of weights and one prior a cause."
            )
        leak = None if leak is None else np.broadcast_to(np.asarray(leak, dtype=np.float64), weights.shape[1:])
        self.n_features = weights.shape[1]
        self._passing, self._priors = np.exp(-weights), priors
        self._leak = np.zeros(weights.shape[1]) if leak is None else np.log1p(-leak)

    def logs(self, groups: Groups = ()) -> LogAbsences:
        single, pair = self._leak.copy(), self._leak[:, None] + self._leak[None]
        for rho, t in zip(self._priors, self._passing, strict=True):
            single += np.log1p(-rho * (1 - t))
            pair += np.log1p(-rho * (1 - np.outer(t, t)))
        return LogAbsences(single, pair)

    def contracted(
        self, partition: Partition, factors: Sequence[np.ndarray], groups: Groups, progress: bool | str = False
    ) -> np.ndarray:
        a, b, c = partition
        slabs = np.array([factors[1].T @ self._slab(i, b, c) @ factors[2] for i in a])
        return np.einsum("ix,iyz->xyz", factors[0], slabs, optimize=True)

    def all_triples(
        self,
        factor: np.ndarray,
        selections: Sequence[Groups],
        partitions: Sequence[Partition],
        progress: bool | str = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        used = np.flatnonzero(factor.any(axis=1))
        own = factor[used]
        slabs = np.array([own.T @ _distinct(self._slab(i, used, used), place) @ own for place, i in enumerate(used)])
        cube = symmetrised(np.einsum("ix,iyz->xyz", own, slabs, optimize=True)) / 6
        split = [symmetrised(self.contracted(part, [factor[one] for one in part], ())) for part in partitions]
        return np.repeat(cube[None], len(selections), axis=0), np.array(split)

    def _slab(self, i: Any, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        triple = self._leak[i] + self._leak[b][:, None] + self._leak[c][None]
        for rho, t in zip(self._priors, self._passing, strict=True):
            triple = triple + np.log1p(-rho * (1 - t[i] * np.outer(t[b], t[c])))
        return _pmi3(self.logs(), triple, i, b, c)


def _distinct(slab: np.ndarray, place: int) -> np.ndarray:
    """A slab of all pairs with zeros where two of the three findings are the same."""
    slab[place] = slab[:, place] = 0.0
    np.fill_diagonal(slab, 0.0)
    return slab


# --- kernels --------------------------------------------------------------------------------------------------------


@intrinsic
def _ones(context: Any, word: Any) -> Any:
    """Ones among the bits of a word."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


@njit(nogil=True, cache=True)
def _count_pairs(bits, i, table):
    """Fill table[i, j > i] with the rows that have both."""
    for j in range(i + 1, len(bits)):
        total = np.uint64(0)
        for word in range(bits.shape[1]):
            total += _ones(bits[i, word] & bits[j, word])
        table[i, j] = total


@njit(nogil=True, cache=True)
def _count_triples(bits, i, b, c, upper, table):
    """Add to table, (|b|, |c|), the rows with i and one of each set; with ``upper``, where the place in b is the smaller."""
    both = np.empty((len(b), _WORDS), np.uint64)
    for start in range(0, bits.shape[1], _WORDS):
        size = min(_WORDS, bits.shape[1] - start)
        for j in range(len(b)):
            for word in range(size):
                both[j, word] = bits[i, start + word] & bits[b[j], start + word]
        for k in range(len(c)):
            column = bits[c[k], start : start + size]
            for j in range(k if upper else len(b)):
                total = np.uint64(0)
                for word in range(size):
                    total += _ones(both[j, word] & column[word])
                table[j, k] += total


@njit(nogil=True, cache=True)
def _absent(mask, counts, n, present, together, i, b, c):
    """Rows of the chosen groups without any of the three, (|b|, |c|), by inclusion and exclusion."""
    absent = np.empty((len(b), len(c)))
    for j in range(len(b)):
        left = n - present[i] - present[b[j]] + together[i, b[j]]
        for k in range(len(c)):
            all_three = 0
            for g in range(len(mask)):
                if mask[g]:
                    all_three += counts[g, j, k]
            absent[j, k] = left - present[c[k]] + together[i, c[k]] + together[b[j], c[k]] - all_three
    return absent
