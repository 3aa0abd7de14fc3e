"""Joint absences of binary findings: pointwise mutual information of pairs and triples.

For findings s_1, ..., s_n of 0 and 1, with P_S the probability that all findings of a set S are absent,

    PMI2(i, j) = log P_ij / (P_i P_j)
    PMI3(i, j, l) = log P_ij P_il P_jl / (P_ijl P_i P_j P_l)

((2.1) to (2.3) of Arora, Ge, Ma and Risteski, Provable learning of noisy-or networks). Causes that are independent add
up in both, and whatever acts on one finding alone, such as a leak, cancels. Probabilities are shares of rows, with half a row
added to each count and to the number of rows: logarithms of such shares have no bias of order 1 / N. (With another number all
pairs of rare findings, scaled, would share a bias, which looks like a cause.) If some cells are unknown, P_S is the share of
the rows in which all of S are known.

Rows are packed into bits once. Joint presences are counted over 64 rows at a time (`latentia.noisyor.bits`), and absences
follow by inclusion and exclusion. For findings with gaps, moments of "present or unknown" less those of "unknown" are used,
both as if they were findings. Triples are processed slab by slab: one finding with all pairs of others, the rarest finding
first. Each slab is contracted at once: no array has n^3 entries.

The cost is of order n^3, and no matrix product lowers it: the moments are logarithms of counts, so each of the n^3 / 6 triples
must be counted. That reads N p n^3 / 384 words, p being the mean frequency of the rarest finding of a triple; S selections of
rows take S n^3 / 6 logarithms and, in d coordinates, S d n^3 / 3 flops.
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
from ..tensor.operators import symmetrise_modes
from ._findings import split_gaps
from ._packed import pack_pairs, symmetrise
from ._pmi_blocks import ADDED_COUNT, Counter, Slabs, SplitSums
from .bits import COLUMNS, count_pairs_among, count_pairs_of_range, count_pairs_with, pack_columns, transpose_bits

Groups = tuple[int, ...]
_SLABS_AT_ONCE = 64  # slabs between two steps of the progress bar
_MAX_PARTIAL_ENTRIES = 1 << 22  # entries of the sums of single slabs in memory: 32 MB
_ROWS_AT_ONCE = 1 << 14  # rows packed at a time


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
    """A source of moments: counts of rows, or the parameters of a network."""

    @property
    def n_features(self) -> int:
        """Number of findings n."""

    def logs(self, groups: Groups) -> LogAbsences:
        """Return logarithms of absences in the rows of these groups."""

    def all_triples(
        self,
        factor: np.ndarray,
        selections: Sequence[Groups],
        partitions: Sequence[Partition],
        progress: bool | str = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sum PMI3_ijl f_i (x) f_j (x) f_l over triples of distinct findings, f being the rows of a factor (n, d).

        Each triple counts once; findings with a zero row are left out. The tensors are symmetric.

        Returns
        -------
        ndarray of shape (n_selections, d, d, d)
            For the rows of each selection of groups.
        ndarray of shape (n_partitions, d, d, d)
            For all rows, over the triples that each partition splits.
        """

    def sum_packed_triples(
        self, factor: np.ndarray, selections: Sequence[Groups], progress: bool | str = False
    ) -> np.ndarray:
        """Compute the first of these sums, packed (`latentia.noisyor._packed`), single precision: (n_selections, d, P)."""


# --- rows packed into bits ------------------------------------------------------------------------------------------


class BitColumns(NamedTuple):
    """Columns packed into bits, a list of pieces (n, words) for each group of rows, and the numbers of rows.

    Attributes
    ----------
    pieces : tuple of lists of ndarray
        Findings that are present or unknown.
    gaps : tuple of lists of (ndarray or None)
        Unknown findings of the same rows; None where all are known.
    n_rows : ndarray of shape (G,)
    """

    pieces: tuple[list[np.ndarray], ...]
    gaps: tuple[list[np.ndarray | None], ...]
    n_rows: np.ndarray

    @property
    def is_complete(self) -> bool:
        """True if all findings are known."""
        return all(gap is None for group in self.gaps for gap in group)


@dataclass(frozen=True)
class RowPacking:
    """Statistic that packs rows of 0, 1 and NaN into bits, by group; rows without findings are only counted.

    Memory: one bit an entry, two if some cells are unknown, up to the rounding of each block to 64 rows a group.

    Parameters
    ----------
    n_features : int
        Number of findings n.
    folds : Folds
    names : sequence of str, optional
        Names of the columns, for errors.
    """

    n_features: int
    folds: Folds
    names: Sequence[str] | None = None

    def zero(self) -> BitColumns:
        groups = self.folds.all
        return BitColumns(tuple([] for _ in groups), tuple([] for _ in groups), np.zeros(self.folds.n, np.int64))

    def add(self, state: BitColumns, block: Block) -> BitColumns:
        group = self.folds.of(block.rows)
        for start in range(0, len(group), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            table, missing = split_gaps(block[0][rows], block.rows[rows], self.names)
            if missing is not None:
                table |= missing
                is_unknown = missing.all(axis=1)
                if is_unknown.any():
                    row = block.rows[rows][int(np.argmax(is_unknown))]
                    raise LatentiaError(f"Row {row} has NaN for all findings. Drop it.")
            has_findings = table.any(axis=1)
            for g in self.folds.all:
                in_group = group[rows] == g
                state.n_rows[g] += in_group.sum()
                in_group &= has_findings
                if in_group.any():
                    state.pieces[g].append(pack_columns(table[in_group]))
                    gaps = None if missing is None else missing[in_group]
                    state.gaps[g].append(None if gaps is None or not gaps.any() else pack_columns(gaps))
        return state

    def merge(self, first: BitColumns, second: BitColumns) -> BitColumns:
        pieces = tuple(
            first_pieces + second_pieces
            for first_pieces, second_pieces in zip(first.pieces, second.pieces, strict=True)
        )
        gaps = tuple(
            first_pieces + second_pieces for first_pieces, second_pieces in zip(first.gaps, second.gaps, strict=True)
        )
        return BitColumns(pieces, gaps, first.n_rows + second.n_rows)


# --- counts ---------------------------------------------------------------------------------------------------------


class AbsenceCounts:
    """Moments of packed rows.

    Parameters
    ----------
    rows : BitColumns
        Rows without gaps; `make_absences` accepts gaps too.
    columns : ndarray of int, optional
        Findings to use.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Attributes
    ----------
    bits : list of ndarray of uint64, shape (n, words)
        The columns of each group, without rows that have no finding.
    n_rows : ndarray of shape (G,)
        Rows of each group, including those without a finding; not always whole numbers in `AbsenceStatistics`.
    present : ndarray of shape (G, n)
        Rows with each finding.
    together : ndarray of shape (G, n, n)
        Rows with both findings of a pair, on the diagonal with the one; computed once.
    """

    def __init__(self, rows: BitColumns, columns: np.ndarray | None = None, n_jobs: int | None = None) -> None:
        width = next((piece.shape[0] for pieces in rows.pieces for piece in pieces), 0)
        chosen_columns = np.arange(width) if columns is None else columns
        self.bits = [
            np.concatenate([piece[chosen_columns] for piece in pieces], axis=1)
            if pieces
            else np.zeros((len(chosen_columns), 0), np.uint64)
            for pieces in rows.pieces
        ]
        self.n_rows, self.n_features, self.n_jobs = rows.n_rows, len(chosen_columns), n_jobs
        self.present = np.array([np.bitwise_count(bits).sum(axis=1, dtype=np.int64) for bits in self.bits])
        self._together: np.ndarray | None = None
        self._order = np.arange(len(chosen_columns))  # column of ``bits`` of each finding

    @property
    def together(self) -> np.ndarray:
        if self._together is None:
            counts = np.zeros((len(self.n_rows), self.n_features, self.n_features), np.int32)

            def count(start: int, stop: int) -> None:
                for bits, table in zip(self.bits, counts, strict=True):
                    count_pairs_of_range(bits, start, stop, table)

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
        return LogAbsences(
            np.log((n - present + ADDED_COUNT) / (n + ADDED_COUNT)), np.log((absent + ADDED_COUNT) / (n + ADDED_COUNT))
        )

    @property
    def frequency(self) -> np.ndarray:
        """P(finding present), shape (n,), with half a row added."""
        return np.asarray((self.present.sum(axis=0) + 0.5) / (self.n_rows.sum() + 1))

    def find_varying(self) -> np.ndarray:
        """Return the findings that are present in some rows and absent in others, bool (n,)."""
        present = np.rint(self.present.sum(axis=0))
        return np.asarray((present > 0) & (present < np.rint(self.n_rows.sum())))

    def find_copies(self, is_used: np.ndarray) -> np.ndarray:
        """Return the used findings that are present in exactly the rows of an earlier one, bool (n,)."""
        together, present = np.rint(self.together.sum(axis=0)), np.rint(self.present.sum(axis=0))
        is_same = (together == present[:, None]) & (together == present) & is_used[:, None] & is_used
        return np.asarray(np.triu(is_same, 1).any(axis=0))

    def fewest_absences(self) -> tuple[np.ndarray, int]:
        """Return the number of rows in which both of a pair are absent, (n, n), with -1 on the diagonal, and of all rows."""
        n, present = round(self.n_rows.sum()), self.present.sum(axis=0)
        table = np.rint(n - present[:, None] - present[None] + self.together.sum(axis=0))
        np.fill_diagonal(table, -1)
        return table, n

    def all_triples(
        self,
        factor: np.ndarray,
        selections: Sequence[Groups],
        partitions: Sequence[Partition],
        progress: bool | str = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.present.sum(axis=0), kind="stable")  # the rarest finding first: it has the fewest rows
        chosen_columns = order[factor[order].any(axis=1)]
        sides = np.array([_label_sides(part, self.n_features)[chosen_columns] for part in partitions]).reshape(
            -1, len(chosen_columns)
        )
        return self.select(chosen_columns)._all_triples(factor[chosen_columns], list(selections), sides, progress)

    def _all_triples(
        self, factor: np.ndarray, selections: list[Groups], sides: np.ndarray, progress: bool | str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sum over all findings in their order; ``sides`` (n_partitions, n) has the set of each, 0, 1 or 2, or -1."""
        (n, d), n_selections, all_groups = factor.shape, len(selections), tuple(range(len(self.n_rows)))
        slabs = Slabs(self, selections if all_groups in selections else [*selections, all_groups])
        all_rows = selections.index(all_groups) if all_groups in selections else n_selections
        n_sums = n_selections + len(sides)
        cubes, step = np.zeros((n_sums, d, d, d)), max(_SLABS_AT_ONCE, _MAX_PARTIAL_ENTRIES // (n_sums * d * d))
        for begin in range(0, n, step):
            chunk = range(begin, min(begin + step, n))
            partial = np.zeros((len(chunk), n_sums, d, d))

            def slab(i: int, begin: int = begin, partial: np.ndarray = partial) -> None:
                split, sums_of_slab = SplitSums(factor, sides, i), partial[i - begin]
                for tile in slabs.tiles(i):
                    sums_of_slab[:n_selections] += factor[tile.rows].T @ (
                        tile.tables[:n_selections] @ factor[tile.first :]
                    )
                    sums_of_slab[n_selections:] += split.sum_tile(tile.tables[all_rows], tile.rows, tile.first)

            self._run_in_threads(slab, chunk, progress and f"{progress} {begin} of {n}")
            cubes += np.einsum("ix,isyz->sxyz", factor[chunk.start : chunk.stop], partial, optimize=True)
        tensors = np.array([symmetrise_modes(cube) for cube in cubes]).reshape(cubes.shape)
        return tensors[:n_selections], tensors[n_selections:]

    def sum_packed_triples(
        self, factor: np.ndarray, selections: Sequence[Groups], progress: bool | str = False
    ) -> np.ndarray:
        order = np.argsort(self.present.sum(axis=0), kind="stable")
        chosen_columns = order[factor[order].any(axis=1)]
        slabs = Slabs(self.select(chosen_columns), selections)
        rows_of_factor = factor[chosen_columns].astype(np.float32)
        d = factor.shape[1]
        totals = np.zeros((len(selections), d, d * (d + 1) // 2), np.float32)
        for begin in range(0, len(chosen_columns), _SLABS_AT_ONCE):
            chunk = range(begin, min(begin + _SLABS_AT_ONCE, len(chosen_columns)))
            sums = np.zeros((len(selections), len(chunk), totals.shape[2]), np.float32)

            def slab(i: int, begin: int = begin, sums: np.ndarray = sums) -> None:
                images = np.zeros((len(selections), len(chosen_columns), d), np.float32)
                for tile in slabs.tiles(i):
                    np.matmul(tile.tables.astype(np.float32), rows_of_factor[tile.first :], out=images[:, tile.rows])
                for target, image in zip(sums, images, strict=True):
                    target[i - begin] = pack_pairs(rows_of_factor[i + 1 :].T @ image[i + 1 :])

            self._run_in_threads(slab, chunk, progress and f"{progress} {begin} of {len(chosen_columns)}")
            for all_sums, chunk_sums in zip(totals, sums, strict=True):
                all_sums += rows_of_factor[chunk.start : chunk.stop].T @ chunk_sums
        for target in totals:
            symmetrise(target)
        return totals

    def counter(self) -> Counter:
        """Return a function that counts rows with three findings."""
        rows = [transpose_bits(bits, self._order) for bits in self.bits]

        def count(i: int, start: int, stop: int, first: int) -> np.ndarray:
            counts = np.zeros((len(rows), stop - start, self.n_features - first), np.int32)
            for bits, row_bits, table in zip(self.bits, rows, counts, strict=True):
                count_pairs_among(bits, self._order, row_bits, i, start, stop, first, table)
            return counts

        return count

    def select(self, columns: np.ndarray) -> AbsenceCounts:
        """Return the counts of these findings alone, from the same bits."""
        selection = copy.copy(self)
        selection._order = self._order[columns]
        selection.n_features, selection.present = len(columns), self.present[:, columns]
        selection._together = self.together[:, columns[:, None], columns]
        return selection

    def _run_in_threads(self, task: Callable[[int], None], places: range, progress: bool | str) -> None:
        """Run the task for all places in threads, with one thread for each matrix product."""
        bar = progress_bar(progress, len(places), "slabs")
        with threads(effective_n_jobs(self.n_jobs)) as parallel, single_blas_thread(), bar as advance:
            for start in range(0, len(places), _SLABS_AT_ONCE):
                size = min(_SLABS_AT_ONCE, len(places) - start)
                parallel(lambda k, first=places[start]: task(first + k), size)  # type: ignore[misc]
                advance(size)


class ObservedAbsences:
    """Moments of packed rows in which some findings are unknown.

    The logarithm of a share is a difference: that of rows without "present or unknown", less that of rows without "unknown".
    Moments are linear in these logarithms, so that both are counted as if there were no gaps.

    Parameters and attributes are those of `AbsenceCounts`.
    """

    def __init__(self, rows: BitColumns, columns: np.ndarray, n_jobs: int | None = None) -> None:
        gaps = tuple(
            [np.zeros_like(piece) if gap is None else gap for piece, gap in zip(pieces, gaps_of_group, strict=True)]
            for pieces, gaps_of_group in zip(rows.pieces, rows.gaps, strict=True)
        )
        unknown = BitColumns(gaps, tuple([None] * len(group) for group in gaps), rows.n_rows)
        self._either = AbsenceCounts(rows, columns, n_jobs)
        self._unknown = AbsenceCounts(unknown, columns, n_jobs)

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
        n_known = self.n_rows.sum() - self._unknown.present.sum(axis=0)
        return np.asarray((self.present.sum(axis=0) + 0.5) / (n_known + 1))

    @property
    def share_missing(self) -> float:
        """Share of the cells that are unknown."""
        return float(self._unknown.present.sum() / max(self.n_rows.sum() * self.n_features, 1))

    def find_varying(self) -> np.ndarray:
        present, unknown = self.present.sum(axis=0), self._unknown.present.sum(axis=0)
        return np.asarray((present > 0) & (present + unknown < self.n_rows.sum()))

    def find_copies(self, is_used: np.ndarray) -> np.ndarray:
        """Return the used findings that are known and present in some row with an earlier one, and never without it."""
        n = self.n_features
        n_together, n_without = np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)
        for either, unknown in zip(self._either.bits, self._unknown.bits, strict=True):
            present = either & ~unknown
            table = np.zeros((n, 2 * n), np.int32)
            pair = np.concatenate([present, either])

            def count(i: int, _: int, pair: np.ndarray = pair, table: np.ndarray = table) -> None:
                count_pairs_with(pair, i, table)

            run_in_chunks(count, n, 1, self._either.n_jobs)
            n_together += table[:, :n] + table[:, :n].T
            # Rows with the first finding in which the second is neither present nor unknown.
            n_without += np.bitwise_count(present).sum(axis=1, dtype=np.int64)[:, None] - table[:, n:]
        is_same = (n_together > 0) & (n_without == 0) & (n_without.T == 0) & is_used[:, None] & is_used
        return np.asarray(np.triu(is_same, 1).any(axis=0))

    def logs(self, groups: Groups) -> LogAbsences:
        either, unknown = self._either.logs(groups), self._unknown.logs(groups)
        return LogAbsences(either.single - unknown.single, either.pair - unknown.pair)

    def fewest_absences(self) -> tuple[np.ndarray, int]:
        return self._either.fewest_absences()

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

    def sum_packed_triples(
        self, factor: np.ndarray, selections: Sequence[Groups], progress: bool | str = False
    ) -> np.ndarray:
        totals = self._either.sum_packed_triples(factor, selections, progress)
        totals -= self._unknown.sum_packed_triples(factor, selections, progress)
        return totals

    def select(self, columns: np.ndarray) -> ObservedAbsences:
        selection = copy.copy(self)
        selection._either, selection._unknown = self._either.select(columns), self._unknown.select(columns)
        return selection


def make_absences(rows: BitColumns, columns: np.ndarray, n_jobs: int | None = None) -> AbsenceCounts | ObservedAbsences:
    """Return the moments of packed rows, with or without gaps."""
    return (AbsenceCounts if rows.is_complete else ObservedAbsences)(rows, columns, n_jobs)


def _label_sides(partition: Partition, n_features: int) -> np.ndarray:
    """Return the set of each finding, 0, 1 or 2, or -1."""
    sides = np.full(n_features, -1)
    for number, part in enumerate(partition):
        sides[part] = number
    return sides


def _compute_pmi3(log: LogAbsences, triple: np.ndarray, i: int, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Compute PMI3 of one finding with all pairs of two sets, from logarithms of P_ijl, shape (|b|, |c|)."""
    first, second = log.pair[i, b] - log.single[b], log.pair[i, c] - log.single[c]
    return first[:, None] + second[None] + log.pair[np.ix_(b, c)] - log.single[i] - triple


# --- exact moments of a network -------------------------------------------------------------------------------------


class ExactAbsences:
    """Exact moments of a noisy-or network, the limit of infinitely many rows.

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
                f"weights has shape {weights.shape} and priors {priors.shape}; expected (m, n) and (m,): a row of weights "
                "and a prior for each cause."
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

    def contract(self, partition: Sequence[np.ndarray], factors: Sequence[np.ndarray]) -> np.ndarray:
        """Return PMI3 of three sets of findings times a factor, (size of the set, d), along each mode; shape (d, d, d)."""
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
        used_columns = np.flatnonzero(factor.any(axis=1))
        rows_of_factor = factor[used_columns]
        slabs = np.array(
            [
                rows_of_factor.T @ _zero_repeats(self._slab(i, used_columns, used_columns), place) @ rows_of_factor
                for place, i in enumerate(used_columns)
            ]
        )
        cube = symmetrise_modes(np.einsum("ix,iyz->xyz", rows_of_factor, slabs, optimize=True)) / 6
        split_cubes = [symmetrise_modes(self.contract(part, [factor[side] for side in part])) for part in partitions]
        return np.repeat(cube[None], len(selections), axis=0), np.array(split_cubes)

    def sum_packed_triples(
        self, factor: np.ndarray, selections: Sequence[Groups], progress: bool | str = False
    ) -> np.ndarray:
        i, j = np.triu_indices(factor.shape[1])
        return self.all_triples(factor.astype(np.float64), selections, [])[0][:, :, i, j].astype(np.float32)

    def _slab(self, i: Any, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        triple = self._leak[i] + self._leak[b][:, None] + self._leak[c][None]
        for rho, t in zip(self._priors, self._passing, strict=True):
            triple = triple + np.log1p(-rho * (1 - t[i] * np.outer(t[b], t[c])))
        return _compute_pmi3(self.logs(), triple, i, b, c)


def _zero_repeats(slab: np.ndarray, place: int) -> np.ndarray:
    """Set a slab to zero where two of the three findings are the same, in place; return it."""
    slab[place] = slab[:, place] = 0.0
    np.fill_diagonal(slab, 0.0)
    return slab
