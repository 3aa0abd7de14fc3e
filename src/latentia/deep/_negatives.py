"""Negative edges: units that keep a column off where one of its positive parents is on.

For a pair (z, s) those rows count where z is on and exactly one positive parent of s is. With a negative edge the column is off
in all of them; without one it is on, unless another negative parent is on. So the clearest edges are taken first, and rows in
which their units are on do not count for others (Algorithm 6.5, with counts in place of single rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from ..system.threads import run_in_chunks
from ._statistics import BinaryRows, count_ones, enlarge, list_owners, once_and_twice

_ROUNDS = 2
_MIN_OFF, _MIN_OFF_OF_CODES = 3, 5  # least number of rows with the column off for a negative edge
_MIN_ROWS = 6  # least number of rows for the absence of an edge
_MIN_ON_AT_FIRST = 20.0  # rows with the column on that show the absence of an edge at first sight
_MIN_LOG_ODDS = 4.6  # log-odds of decisions: 99 to 1
_MIN_CHANCE = 0.02  # least chance of a row that contradicts an edge, or its absence


@dataclass(frozen=True)
class Negatives:
    """Decisions on the pairs without a positive edge.

    Attributes
    ----------
    edges : csr_array of bool, shape (n_units, n_columns)
        Negative edges.
    undetermined : csr_array of bool, of the same shape
        Neither an edge nor its absence is established.
    """

    edges: sparse.csr_array
    undetermined: sparse.csr_array


@dataclass(frozen=True)
class _Chances:
    """Chances of a contradicting row (on with a negative edge, off without), and the share of pairs with a negative edge."""

    on: float = _MIN_CHANCE
    off: float = 0.1
    share: float = 0.01

    @classmethod
    def estimate(cls, totals: np.ndarray) -> _Chances:
        """Estimate chances from rows, and rows with the column on, of pairs with and without an edge, and their numbers."""
        edge_rows, edge_on, free_rows, free_on, edges, free = (float(x) for x in totals)
        on = (edge_on + 1) / (edge_rows + 2)
        off = 1 - (free_on + 1) / (free_rows + 2)
        share = (edges + 1) / (edges + free + 2)
        on, off = (min(max(chance, _MIN_CHANCE), 0.4) for chance in (on, off))
        return cls(on, off, min(max(share, 1e-4), 0.5))

    def weights(self) -> tuple[float, float, float]:
        """Return the prior log-odds of an edge, and what a row with the column off, and on, adds."""
        return (
            float(np.log(self.share / (1 - self.share))),
            float(np.log((1 - self.on) / self.off)),
            float(np.log(self.on / (1 - self.off))),
        )


def learn_negatives(
    below: BinaryRows, hidden: BinaryRows, members: sparse.csr_array, n_jobs: int | None = None, *, exact: bool = True
) -> Negatives:
    """Decide on every pair of a unit and a column.

    Parameters
    ----------
    below, hidden : BinaryRows
        Rows of the layer below, and of the units that encode it.
    members : csr_array of shape (n_units, n_columns)
        Entries are the positive edges.
    n_jobs : int, optional
    exact : bool
        Whether the layer below is observed. Codes have correlated errors, so they need more zeros.
    """
    min_off = _MIN_OFF if exact else _MIN_OFF_OF_CODES
    bits, units = below.bits(n_jobs), hidden.bits(n_jobs)
    owners = list_owners(members)
    chances = _Chances()
    for _ in range(_ROUNDS):
        negatives, totals = _decide_all(bits, units, owners, chances, min_off, n_jobs)
        chances = _Chances.estimate(totals)
    return negatives


def _decide_all(
    bits: np.ndarray,
    units: np.ndarray,
    owners: tuple[np.ndarray, np.ndarray],
    chances: _Chances,
    min_off: int,
    n_jobs: int | None,
) -> tuple[Negatives, np.ndarray]:
    """Decide all pairs under some chances; return decisions, and totals for new chances."""
    n_columns, n_units = len(owners[0]) - 1, len(units)
    results: list[Any] = [None] * -(-n_columns // 16)
    weights = chances.weights()

    def task(start: int, stop: int) -> None:
        results[start // 16] = _decide(bits, units, *owners, min_off, *weights, start, stop)

    run_in_chunks(task, n_columns, 16, n_jobs)
    tables = []
    for part in (0, 2):
        row, column = (
            np.concatenate([np.empty(0, np.int32), *(result[part + i] for result in results)]) for i in (0, 1)
        )
        tables.append(sparse.csr_array((np.ones(len(row), bool), (row, column)), shape=(n_units, n_columns)))
    return Negatives(*tables), np.sum([np.zeros(6), *(result[4] for result in results)], axis=0)


# --- kernels --------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _count_rows(unit, rows, column, n_first_words, min_hits):
    """Count the rows with the unit on, and those with the column on too; return True last if most are in the first words.

    Then the other words are skipped; it takes ``min_hits`` rows with both.
    """
    trials, hits, first, last = 0.0, 0.0, 0, n_first_words
    while True:
        a, b, c = unit[first:last], rows[first:last], column[first:last]
        all_on, both_on = np.uint64(0), np.uint64(0)
        for w in range(len(a)):
            both_words = a[w] & b[w]
            all_on += count_ones(both_words)
            both_on += count_ones(both_words & c[w])
        trials += float(all_on)
        hits += float(both_on)
        if first == 0 and hits >= min_hits and hits >= 0.7 * trials:
            return trials, hits, True
        if last == len(unit):
            return trials, hits, False
        first, last = last, len(unit)


@njit(nogil=True, cache=True)
def _decide(bits, units, owner_starts, owners, min_off, prior, off, on, start, stop):
    """Return edges, open pairs, and totals of the decisions for columns start to stop."""
    n_words, n_units = bits.shape[1], len(units)
    edge_units, edge_columns, n_edges = np.empty(64, np.int32), np.empty(64, np.int32), 0
    open_units, open_columns, n_open = np.empty(1024, np.int32), np.empty(1024, np.int32), 0
    totals = np.zeros(6)
    n_first_words = min(max(8, n_words // 16), n_words)
    rows, twice = np.zeros(n_words, np.uint64), np.zeros(n_words, np.uint64)
    trials, hits, odds = np.zeros(n_units), np.zeros(n_units), np.zeros(n_units)
    # State of each unit: 0 undecided, 1 positive edge, 2 negative edge, 3 certainly no edge.
    state = np.zeros(n_units, np.int8)
    for column_number in range(start, stop):
        column = bits[column_number]
        for unit in range(n_units):
            state[unit] = 0
        for i in range(owner_starts[column_number], owner_starts[column_number + 1]):
            state[owners[i]] = 1
        once_and_twice(units, owner_starts[column_number], owner_starts[column_number + 1], owners, rows, twice)
        for w in range(n_words):
            rows[w] &= ~twice[w]
        for unit in range(n_units):
            if state[unit]:
                continue
            trials[unit], hits[unit], on_in_most = _count_rows(
                units[unit], rows, column, n_first_words, _MIN_ON_AT_FIRST
            )
            if on_in_most:
                state[unit] = 3
                totals[2] += trials[unit]
                totals[3] += hits[unit]
                totals[5] += 1
                continue
            odds[unit] = prior + off * (trials[unit] - hits[unit]) + on * hits[unit]
        # Units that are on together share the zeros of one edge: the clearest edge first, and then the rows without it.
        changed = False
        while True:
            best, least_share = -1, 0.5
            for unit in range(n_units):
                if state[unit] == 0 and odds[unit] > _MIN_LOG_ODDS and trials[unit] - hits[unit] >= min_off:
                    share = (hits[unit] + 1) / (trials[unit] + 2)
                    if share < least_share:
                        best, least_share = unit, share
            if best < 0:
                break
            state[best], changed = 2, True
            if n_edges == len(edge_units):
                edge_units, edge_columns = enlarge(edge_units), enlarge(edge_columns)
            edge_units[n_edges], edge_columns[n_edges] = best, column_number
            n_edges += 1
            totals[0] += trials[best]
            totals[1] += hits[best]
            totals[4] += 1
            for w in range(n_words):
                rows[w] &= ~units[best, w]
            for unit in range(n_units):
                if state[unit] == 0 and odds[unit] > _MIN_LOG_ODDS:
                    trials[unit], hits[unit], _ = _count_rows(units[unit], rows, column, n_words, np.inf)
                    odds[unit] = prior + off * (trials[unit] - hits[unit]) + on * hits[unit]
        for unit in range(n_units):
            if state[unit]:
                continue
            if changed:
                trials[unit], hits[unit], _ = _count_rows(units[unit], rows, column, n_words, np.inf)
            if (
                trials[unit] >= _MIN_ROWS
                and prior + off * (trials[unit] - hits[unit]) + on * hits[unit] < -_MIN_LOG_ODDS
            ):
                totals[2] += trials[unit]
                totals[3] += hits[unit]
                totals[5] += 1
                continue
            if n_open == len(open_units):
                open_units, open_columns = enlarge(open_units), enlarge(open_columns)
            open_units[n_open], open_columns[n_open] = unit, column_number
            n_open += 1
    edges = edge_units[:n_edges].copy(), edge_columns[:n_edges].copy()
    return *edges, open_units[:n_open].copy(), open_columns[:n_open].copy(), totals
