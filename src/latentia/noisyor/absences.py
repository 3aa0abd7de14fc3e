"""Joint absences of binary findings: pointwise mutual information of pairs and triples.

For findings s_1, ..., s_n of 0 and 1, with P_S the probability that all findings of a set S are absent,

    PMI2(i, j) = log P_ij / (P_i P_j)
    PMI3(i, j, l) = log P_ij P_il P_jl / (P_ijl P_i P_j P_l)

((2.1) to (2.3) of Arora, Ge, Ma and Risteski, Provable learning of noisy-or networks). Causes that are independent add
up in both, and whatever acts on one finding alone, such as a leak, cancels. Probabilities are shares of rows, half a row
added to each count and to the number of rows: the logarithm of such a share has no bias of order 1 / N. (With another number
all pairs of rare findings, scaled, would share a bias, which looks like a cause.) Where findings are not known in some rows,
P_S is the share of those rows in which all of S are known.

Rows are packed into bits once: presences together are counted over 64 rows at a time (`latentia.noisyor.bits`), and
absences follow by inclusion and exclusion: of findings with gaps, those of "present or not known" less those of "not known",
both as if they were findings. Triples are met slab by slab, one finding with all pairs of others, the rarest
finding first, and each slab is contracted at once: no array has n^3 entries.

The order is n^3, and no product of matrices lowers it: every one of the n^3 / 6 triples must be counted, since the moments are
logarithms of the counts. N p n^3 / 384 words are counted, where p is how frequent the rarest finding of a triple is in the
mean; S selections of rows take S n^3 / 6 logarithms and, in d coordinates, S d n^3 / 3 flops.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import effective_n_jobs

from ..exceptions import LatentiaError
from ..passes import Block, Folds
from ..system.progress import progress_bar
from ..system.threads import run_in_chunks, single_blas_thread, threads
from ..tensor.operators import symmetrised
from ._findings import rows_with_gaps
from ._packed import packed_pairs, symmetrise
from ._slabs import ADDED, Counter, Slabs, SplitSums
from .bits import COLUMNS, count_pairs_among, count_pairs_of, count_pairs_of_some, packed_columns, turned

Groups = tuple[int, ...]
_SLABS = 64  # findings that are dealt with at a time
_PARTIAL = 1 << 22  # entries of sums of single slabs: 32 MB
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

    @property
    def n_features(self) -> int:
        """n."""

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

    def packed_triples(
        self, factor: np.ndarray, selections: Sequence[Groups], progress: bool | str = False
    ) -> np.ndarray:
        """The first of these sums, packed as in `latentia.noisyor._packed` and in single precision: (n_selections, d, P)."""


# --- rows packed into bits ------------------------------------------------------------------------------------------


class PackedRowsSum(NamedTuple):
    """Columns as bits, a piece (n, words) for some rows, in a list for each group; and numbers of rows, shape (G,).

    Attributes
    ----------
    pieces : tuple of lists of ndarray
        Findings that are present or not known.
    gaps : tuple of lists of (ndarray or None)
        Findings that are not known, of the same rows; None where all are known.
    n_rows : ndarray of shape (G,)
    """

    pieces: tuple[list[np.ndarray], ...]
    gaps: tuple[list[np.ndarray | None], ...]
    n_rows: np.ndarray

    @property
    def whole(self) -> bool:
        """Whether all findings are known."""
        return all(gap is None for group in self.gaps for gap in group)


@dataclass(frozen=True)
class PackedRows:
    """Pack rows of 0, 1 and NaN into bits, in groups; rows in which all findings are absent are only counted.

    Memory: one bit an entry, two where some are not known, up to the rounding of each block to 64 rows a group.

    Parameters
    ----------
    n_features : int
        n.
    folds : Folds
    names : sequence of str, optional
        Names of the columns, for errors.
    """

    n_features: int
    folds: Folds
    names: Sequence[str] | None = None

    def zero(self) -> PackedRowsSum:
        groups = self.folds.all
        return PackedRowsSum(tuple([] for _ in groups), tuple([] for _ in groups), np.zeros(self.folds.n, np.int64))

    def add(self, state: PackedRowsSum, block: Block) -> PackedRowsSum:
        group = self.folds.of(block.rows)
        for start in range(0, len(group), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            table, missing = rows_with_gaps(block[0][rows], block.rows[rows], self.names)
            if missing is not None:
                table |= missing
                nothing = missing.all(axis=1)
                if nothing.any():
                    row = block.rows[rows][int(np.argmax(nothing))]
                    raise LatentiaError(f"Row {row}: no finding is known, all are NaN. Drop it.")
            some = table.any(axis=1)
            for g in self.folds.all:
                own = group[rows] == g
                state.n_rows[g] += own.sum()
                own &= some
                if own.any():
                    state.pieces[g].append(packed_columns(table[own]))
                    gaps = None if missing is None else missing[own]
                    state.gaps[g].append(None if gaps is None or not gaps.any() else packed_columns(gaps))
        return state

    def merge(self, first: PackedRowsSum, second: PackedRowsSum) -> PackedRowsSum:
        pieces = tuple(one + other for one, other in zip(first.pieces, second.pieces, strict=True))
        gaps = tuple(one + other for one, other in zip(first.gaps, second.gaps, strict=True))
        return PackedRowsSum(pieces, gaps, first.n_rows + second.n_rows)


# --- counts ---------------------------------------------------------------------------------------------------------


class CountedAbsences:
    """Moments of packed rows.

    Parameters
    ----------
    rows : PackedRowsSum
        All findings must be known; `absences_of_rows` serves others too.
    columns : ndarray of int, optional
        Findings to keep.
    n_jobs : int, optional
        Threads; the numbers do not depend on it.

    Attributes
    ----------
    bits : list of ndarray of uint64, shape (n, words)
        The columns of each group, without rows that have no finding.
    n_rows : ndarray of shape (G,)
        Rows of each group, those without a finding among them. Of counts that were kept, groups need not have whole numbers.
    present : ndarray of shape (G, n)
        Rows with each finding.
    together : ndarray of shape (G, n, n)
        Rows with both of a pair, on the diagonal with the one; computed once.
    """

    def __init__(self, rows: PackedRowsSum, columns: np.ndarray | None = None, n_jobs: int | None = None) -> None:
        width = next((piece.shape[0] for pieces in rows.pieces for piece in pieces), 0)
        kept = np.arange(width) if columns is None else columns
        self.bits = [
            np.concatenate([piece[kept] for piece in pieces], axis=1) if pieces else np.zeros((len(kept), 0), np.uint64)
            for pieces in rows.pieces
        ]
        self.n_rows, self.n_features, self.n_jobs = rows.n_rows, len(kept), n_jobs
        self.present = np.array([np.bitwise_count(bits).sum(axis=1, dtype=np.int64) for bits in self.bits])
        self._together: np.ndarray | None = None
        self._order = np.arange(len(kept))  # of findings among the columns of ``bits``

    @property
    def together(self) -> np.ndarray:
        if self._together is None:
            counts = np.zeros((len(self.n_rows), self.n_features, self.n_features), np.int32)

            def count(start: int, stop: int) -> None:
                for bits, table in zip(self.bits, counts, strict=True):
                    count_pairs_of_some(bits, start, stop, table)

            run_in_chunks(count, self.n_features, COLUMNS, self.n_jobs)
            for table, present in zip(counts, self.present, strict=True):
                table += table.T
                np.fill_diagonal(table, present)
            self._together = counts
        return self._together

    def logs(self, groups: Groups) -> LogAbsences:
        chosen = list(groups)
        n = self.n_rows[chosen].sum()
        present = self.present[chosen].sum(axis=0)
        together = self.together[chosen].sum(axis=0)
        absent = n - present[:, None] - present[None] + together
        return LogAbsences(np.log((n - present + ADDED) / (n + ADDED)), np.log((absent + ADDED) / (n + ADDED)))

    @property
    def frequency(self) -> np.ndarray:
        """P(finding present), shape (n,), half a row added."""
        return np.asarray((self.present.sum(axis=0) + 0.5) / (self.n_rows.sum() + 1))

    def varying(self) -> np.ndarray:
        """Findings that are present in some rows and absent in others, bool (n,)."""
        present = np.rint(self.present.sum(axis=0))
        return np.asarray((present > 0) & (present < np.rint(self.n_rows.sum())))

    def copies(self, used: np.ndarray) -> np.ndarray:
        """Of the findings in use, bool (n,), those that are present in just the rows of an earlier one."""
        together, present = np.rint(self.together.sum(axis=0)), np.rint(self.present.sum(axis=0))
        same = (together == present[:, None]) & (together == present) & used[:, None] & used
        return np.asarray(np.triu(same, 1).any(axis=0))

    def fewest_absences(self) -> tuple[np.ndarray, int]:
        """Rows in which both of a pair are absent, (n, n), the diagonal -1, and the number of all rows."""
        n, present = round(self.n_rows.sum()), self.present.sum(axis=0)
        table = np.rint(n - present[:, None] - present[None] + self.together.sum(axis=0))
        np.fill_diagonal(table, -1)
        return table, n

    def contracted(
        self, partition: Partition, factors: Sequence[np.ndarray], groups: Groups, progress: bool | str = False
    ) -> np.ndarray:
        end_a, end_b = len(partition.a), len(partition.a) + len(partition.b)
        slabs = Slabs(self.of(np.concatenate(partition)), [groups])
        partial = np.zeros((end_a, factors[1].shape[1], factors[2].shape[1]))

        def slab(i: int) -> None:
            for tile in slabs.tiles(i, end_a, end_b, end_b):
                left = factors[1][tile.rows.start - end_a : tile.rows.stop - end_a]
                partial[i] += left.T @ (tile.tables[0] @ factors[2])

        self._each(slab, range(end_a), progress)
        return np.einsum("ix,iyz->xyz", factors[0], partial, optimize=True)

    def all_triples(
        self,
        factor: np.ndarray,
        selections: Sequence[Groups],
        partitions: Sequence[Partition],
        progress: bool | str = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.present.sum(axis=0), kind="stable")  # the rarest first: it has the fewest rows
        used = order[factor[order].any(axis=1)]
        sides = np.array([_sides(part, self.n_features)[used] for part in partitions]).reshape(-1, len(used))
        return self.of(used)._all_triples(factor[used], list(selections), sides, progress)

    def _all_triples(
        self, factor: np.ndarray, selections: list[Groups], sides: np.ndarray, progress: bool | str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of all findings in their order; ``sides`` (n_partitions, n) has the set of each, 0, 1 or 2, or -1."""
        (n, d), n_asked, everyone = factor.shape, len(selections), tuple(range(len(self.n_rows)))
        slabs = Slabs(self, selections if everyone in selections else [*selections, everyone])
        whole = selections.index(everyone) if everyone in selections else n_asked
        n_sums = n_asked + len(sides)
        cubes, step = np.zeros((n_sums, d, d, d)), max(_SLABS, _PARTIAL // (n_sums * d * d))
        for begin in range(0, n, step):
            chunk = range(begin, min(begin + step, n))
            partial = np.zeros((len(chunk), n_sums, d, d))

            def slab(i: int, begin: int = begin, partial: np.ndarray = partial) -> None:
                split, own = SplitSums(factor, sides, i), partial[i - begin]
                for tile in slabs.tiles(i, i + 1, n, i + 1):
                    own[:n_asked] += factor[tile.rows].T @ (tile.tables[:n_asked] @ factor[tile.first :])
                    own[n_asked:] += split.of(tile.tables[whole], tile.rows, tile.first)

            self._each(slab, chunk, progress and f"{progress} {begin} of {n}")
            cubes += np.einsum("ix,isyz->sxyz", factor[chunk.start : chunk.stop], partial, optimize=True)
        found = np.array([symmetrised(cube) for cube in cubes]).reshape(cubes.shape)
        return found[:n_asked], found[n_asked:]

    def packed_triples(
        self, factor: np.ndarray, selections: Sequence[Groups], progress: bool | str = False
    ) -> np.ndarray:
        order = np.argsort(self.present.sum(axis=0), kind="stable")
        used = order[factor[order].any(axis=1)]
        slabs, own, d = Slabs(self.of(used), selections), factor[used].astype(np.float32), factor.shape[1]
        found = np.zeros((len(selections), d, d * (d + 1) // 2), np.float32)
        for begin in range(0, len(used), _SLABS):
            chunk = range(begin, min(begin + _SLABS, len(used)))
            sums = np.zeros((len(selections), len(chunk), found.shape[2]), np.float32)

            def slab(i: int, begin: int = begin, sums: np.ndarray = sums) -> None:
                images = np.zeros((len(selections), len(used), d), np.float32)
                for tile in slabs.tiles(i, i + 1, len(used), i + 1):
                    np.matmul(tile.tables.astype(np.float32), own[tile.first :], out=images[:, tile.rows])
                for each, image in zip(sums, images, strict=True):
                    each[i - begin] = packed_pairs(own[i + 1 :].T @ image[i + 1 :])

            self._each(slab, chunk, progress and f"{progress} {begin} of {len(used)}")
            for all_sums, some in zip(found, sums, strict=True):
                all_sums += own[chunk.start : chunk.stop].T @ some
        for each in found:
            symmetrise(each)
        return found

    def counter(self) -> Counter:
        """Counts rows with three findings."""
        rows = [turned(bits, self._order) for bits in self.bits]

        def count(i: int, start: int, stop: int, first: int) -> np.ndarray:
            counts = np.zeros((len(rows), stop - start, self.n_features - first), np.int32)
            for bits, own, table in zip(self.bits, rows, counts, strict=True):
                count_pairs_among(bits, self._order, own, i, start, stop, first, table)
            return counts

        return count

    def of(self, columns: np.ndarray) -> CountedAbsences:
        """Counts of these findings alone, of the same bits."""
        some = copy.copy(self)
        some._order = self._order[columns]
        some.n_features, some.present = len(columns), self.present[:, columns]
        some._together = self.together[:, columns[:, None], columns]
        return some

    def _each(self, task: Callable[[int], None], places: range, progress: bool | str) -> None:
        """Run the task for all places in threads, which leave matrix products alone."""
        bar = progress_bar(progress, len(places), "slabs")
        with threads(effective_n_jobs(self.n_jobs)) as parallel, single_blas_thread(), bar as advance:
            for start in range(0, len(places), _SLABS):
                size = min(_SLABS, len(places) - start)
                parallel(lambda k, first=places[start]: task(first + k), size)  # type: ignore[misc]
                advance(size)


class ObservedAbsences:
    """Moments of packed rows in which some findings are not known.

    Logarithms of shares are differences of two: of rows without "present or not known", and of rows without "not known". All
    moments are linear in them, so that both are counted as if there were no gaps.

    Parameters and attributes are those of `CountedAbsences`.
    """

    def __init__(self, rows: PackedRowsSum, columns: np.ndarray, n_jobs: int | None = None) -> None:
        gaps = tuple(
            [np.zeros_like(piece) if gap is None else gap for piece, gap in zip(pieces, own, strict=True)]
            for pieces, own in zip(rows.pieces, rows.gaps, strict=True)
        )
        unknown = PackedRowsSum(gaps, tuple([None] * len(group) for group in gaps), rows.n_rows)
        self._either = CountedAbsences(rows, columns, n_jobs)
        self._unknown = CountedAbsences(unknown, columns, n_jobs)

    @property
    def n_features(self) -> int:
        return self._either.n_features

    @property
    def n_rows(self) -> np.ndarray:
        return self._either.n_rows

    @property
    def present(self) -> np.ndarray:
        return self._either.present - self._unknown.present

    @property
    def frequency(self) -> np.ndarray:
        known = self.n_rows.sum() - self._unknown.present.sum(axis=0)
        return np.asarray((self.present.sum(axis=0) + 0.5) / (known + 1))

    @property
    def share_missing(self) -> float:
        """Share of the cells that are not known."""
        return float(self._unknown.present.sum() / max(self.n_rows.sum() * self.n_features, 1))

    def varying(self) -> np.ndarray:
        present, unknown = self.present.sum(axis=0), self._unknown.present.sum(axis=0)
        return np.asarray((present > 0) & (present + unknown < self.n_rows.sum()))

    def copies(self, used: np.ndarray) -> np.ndarray:
        """Of the findings in use, those that are known and present in some row with an earlier one, and never without it."""
        n = self.n_features
        both, apart = np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)
        for either, unknown in zip(self._either.bits, self._unknown.bits, strict=True):
            present = either & ~unknown
            table = np.zeros((n, 2 * n), np.int32)
            pair = np.concatenate([present, either])

            def count(i: int, _: int, pair: np.ndarray = pair, table: np.ndarray = table) -> None:
                count_pairs_of(pair, i, table)

            run_in_chunks(count, n, 1, self._either.n_jobs)
            both += table[:, :n] + table[:, :n].T
            # Present while the other one is neither present nor unknown.
            apart += np.bitwise_count(present).sum(axis=1, dtype=np.int64)[:, None] - table[:, n:]
        same = (both > 0) & (apart == 0) & (apart.T == 0) & used[:, None] & used
        return np.asarray(np.triu(same, 1).any(axis=0))

    def logs(self, groups: Groups) -> LogAbsences:
        either, unknown = self._either.logs(groups), self._unknown.logs(groups)
        return LogAbsences(either.single - unknown.single, either.pair - unknown.pair)

    def fewest_absences(self) -> tuple[np.ndarray, int]:
        return self._either.fewest_absences()

    def contracted(
        self, partition: Partition, factors: Sequence[np.ndarray], groups: Groups, progress: bool | str = False
    ) -> np.ndarray:
        arguments = partition, factors, groups, progress
        return self._either.contracted(*arguments) - self._unknown.contracted(*arguments)

    def all_triples(
        self,
        factor: np.ndarray,
        selections: Sequence[Groups],
        partitions: Sequence[Partition],
        progress: bool | str = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        arguments = factor, selections, partitions, progress
        either, unknown = self._either.all_triples(*arguments), self._unknown.all_triples(*arguments)
        return either[0] - unknown[0], either[1] - unknown[1]

    def packed_triples(
        self, factor: np.ndarray, selections: Sequence[Groups], progress: bool | str = False
    ) -> np.ndarray:
        found = self._either.packed_triples(factor, selections, progress)
        found -= self._unknown.packed_triples(factor, selections, progress)
        return found

    def of(self, columns: np.ndarray) -> ObservedAbsences:
        some = copy.copy(self)
        some._either, some._unknown = self._either.of(columns), self._unknown.of(columns)
        return some


def absences_of_rows(
    rows: PackedRowsSum, columns: np.ndarray, n_jobs: int | None = None
) -> CountedAbsences | ObservedAbsences:
    """Moments of packed rows, with gaps or without."""
    return (CountedAbsences if rows.whole else ObservedAbsences)(rows, columns, n_jobs)


def _sides(partition: Partition, n_features: int) -> np.ndarray:
    """The set of each finding, 0, 1 or 2, or -1."""
    sides = np.full(n_features, -1)
    for number, part in enumerate(partition):
        sides[part] = number
    return sides


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

    def packed_triples(
        self, factor: np.ndarray, selections: Sequence[Groups], progress: bool | str = False
    ) -> np.ndarray:
        i, j = np.triu_indices(factor.shape[1])
        return self.all_triples(factor.astype(np.float64), selections, [])[0][:, :, i, j].astype(np.float32)

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
