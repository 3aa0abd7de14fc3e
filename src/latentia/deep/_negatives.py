"""Negative edges: units that keep a column off where one of its positive parents is on.

Of a pair (z, s) those rows count where z is on and exactly one positive parent of s is. With a negative edge the column is off
in all of them; without one it is on, unless another negative parent is on. So the clearest edges are taken first, and rows
in which their units are on left out for all others (Algorithm 6.5, with counts in place of single rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from ..system.threads import run_in_chunks
from ._statistics import BinaryRows, doubled, once_and_twice, ones, owners_of

_ROUNDS = 2
_LEAST_OFF, _LEAST_OFF_OF_CODES = 3, 5  # rows with the column off, for a negative edge
_LEAST = 6  # rows, for the absence of one
_ENOUGH = 20.0  # rows with the column on, for the same at first sight
_SURE = 4.6  # log-odds of what is decided: 99 to 1
_LEAST_CHANCE = 0.02  # of a row that contradicts an edge, or its absence


@dataclass(frozen=True)
class Negatives:
    """What is known of the pairs that have no positive edge.

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
    """Chances of a row that contradicts: on with a negative edge, off without; and the share of pairs with one."""

    on: float = _LEAST_CHANCE
    off: float = 0.1
    share: float = 0.01

    @classmethod
    def of(cls, totals: np.ndarray) -> _Chances:
        """From rows and rows with the column on, of pairs with an edge and without, and the numbers of these pairs."""
        edge_rows, edge_on, free_rows, free_on, edges, free = (float(x) for x in totals)
        on = (edge_on + 1) / (edge_rows + 2)
        off = 1 - (free_on + 1) / (free_rows + 2)
        share = (edges + 1) / (edges + free + 2)
        on, off = (min(max(chance, _LEAST_CHANCE), 0.4) for chance in (on, off))
        return cls(on, off, min(max(share, 1e-4), 0.5))

    def weights(self) -> tuple[float, float, float]:
        """Log-odds of an edge: at first, and what a row with the column off and on adds."""
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
    below, hidden : Firings
        Of the layer below, and of the units that were encoded from it.
    members : csr_array of shape (n_units, n_columns)
        Entries are the positive edges.
    n_jobs : int, optional
    exact : bool
        Whether the layer below is observed. Codes have errors that come together, so that more zeros are asked for.
    """
    least_off = _LEAST_OFF if exact else _LEAST_OFF_OF_CODES
    bits, units = below.bits(n_jobs), hidden.bits(n_jobs)
    owners = owners_of(members)
    chances = _Chances()
    for _ in range(_ROUNDS):
        found, totals = _decided(bits, units, owners, chances, least_off, n_jobs)
        chances = _Chances.of(totals)
    return found


def _decided(
    bits: np.ndarray,
    units: np.ndarray,
    owners: tuple[np.ndarray, np.ndarray],
    chances: _Chances,
    least_off: int,
    n_jobs: int | None,
) -> tuple[Negatives, np.ndarray]:
    """What is known under some chances, and the totals that new ones follow from."""
    n_columns, n_units = len(owners[0]) - 1, len(units)
    found: list[Any] = [None] * -(-n_columns // 16)
    weights = chances.weights()

    def task(start: int, stop: int) -> None:
        found[start // 16] = _decide(bits, units, *owners, least_off, *weights, start, stop)

    run_in_chunks(task, n_columns, 16, n_jobs)
    tables = []
    for part in (0, 2):
        row, column = (np.concatenate([np.empty(0, np.int32), *(one[part + i] for one in found)]) for i in (0, 1))
        tables.append(sparse.csr_array((np.ones(len(row), bool), (row, column)), shape=(n_units, n_columns)))
    return Negatives(*tables), np.sum([np.zeros(6), *(one[4] for one in found)], axis=0)


# --- kernels --------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _seen(unit, rows, column, some, enough):
    """The rows with the unit on, those of them with the column on too, and whether ``some`` words made clear that most are.

    Then other words are not looked at; it takes ``enough`` rows with both.
    """
    trials, hits, begin, end = 0.0, 0.0, 0, some
    while True:
        a, b, c = unit[begin:end], rows[begin:end], column[begin:end]
        all_on, both_on = np.uint64(0), np.uint64(0)
        for w in range(len(a)):
            both = a[w] & b[w]
            all_on += ones(both)
            both_on += ones(both & c[w])
        trials += float(all_on)
        hits += float(both_on)
        if begin == 0 and hits >= enough and hits >= 0.7 * trials:
            return trials, hits, True
        if end == len(unit):
            return trials, hits, False
        begin, end = end, len(unit)


@njit(nogil=True, cache=True)
def _decide(bits, units, owner_starts, owners, least_off, prior, off, on, start, stop):
    """Edges, open pairs, and totals of what was decided, for columns start to stop."""
    n_words, n_units = bits.shape[1], len(units)
    edge_units, edge_columns, n_edges = np.empty(64, np.int32), np.empty(64, np.int32), 0
    open_units, open_columns, n_open = np.empty(1024, np.int32), np.empty(1024, np.int32), 0
    totals = np.zeros(6)
    some = min(max(8, n_words // 16), n_words)
    rows, twice = np.zeros(n_words, np.uint64), np.zeros(n_words, np.uint64)
    trials, hits, odds = np.zeros(n_units), np.zeros(n_units), np.zeros(n_units)
    state = np.zeros(
        n_units, np.int8
    )  # of each unit: 0 to be decided, 1 positive edge, 2 negative edge, 3 no edge for sure
    for s in range(start, stop):
        column = bits[s]
        for z in range(n_units):
            state[z] = 0
        for i in range(owner_starts[s], owner_starts[s + 1]):
            state[owners[i]] = 1
        once_and_twice(units, owner_starts[s], owner_starts[s + 1], owners, rows, twice)
        for w in range(n_words):
            rows[w] &= ~twice[w]
        for z in range(n_units):
            if state[z]:
                continue
            trials[z], hits[z], on_in_most = _seen(units[z], rows, column, some, _ENOUGH)
            if on_in_most:
                state[z] = 3
                totals[2] += trials[z]
                totals[3] += hits[z]
                totals[5] += 1
                continue
            odds[z] = prior + off * (trials[z] - hits[z]) + on * hits[z]
        # Units that are on together share the zeros of one edge: the clearest edge first, and then the rows without it.
        changed = False
        while True:
            best, least = -1, 0.5
            for z in range(n_units):
                if state[z] == 0 and odds[z] > _SURE and trials[z] - hits[z] >= least_off:
                    share = (hits[z] + 1) / (trials[z] + 2)
                    if share < least:
                        best, least = z, share
            if best < 0:
                break
            state[best], changed = 2, True
            if n_edges == len(edge_units):
                edge_units, edge_columns = doubled(edge_units), doubled(edge_columns)
            edge_units[n_edges], edge_columns[n_edges] = best, s
            n_edges += 1
            totals[0] += trials[best]
            totals[1] += hits[best]
            totals[4] += 1
            for w in range(n_words):
                rows[w] &= ~units[best, w]
            for z in range(n_units):
                if state[z] == 0 and odds[z] > _SURE:
                    trials[z], hits[z], _ = _seen(units[z], rows, column, n_words, np.inf)
                    odds[z] = prior + off * (trials[z] - hits[z]) + on * hits[z]
        for z in range(n_units):
            if state[z]:
                continue
            if changed:
                trials[z], hits[z], _ = _seen(units[z], rows, column, n_words, np.inf)
            if trials[z] >= _LEAST and prior + off * (trials[z] - hits[z]) + on * hits[z] < -_SURE:
                totals[2] += trials[z]
                totals[3] += hits[z]
                totals[5] += 1
                continue
            if n_open == len(open_units):
                open_units, open_columns = doubled(open_units), doubled(open_columns)
            open_units[n_open], open_columns[n_open] = z, s
            n_open += 1
    edges = edge_units[:n_edges].copy(), edge_columns[:n_edges].copy()
    return *edges, open_units[:n_open].copy(), open_columns[:n_open].copy(), totals
