"""Positive edges: sets of columns that fire together, grown from pairs, and polished on what others do not explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from scipy.special import gammaln

from ..system.threads import run_in_chunks
from ._encode import SHARE_ON, encode, unexplained
from ._statistics import BinaryRows, cofiring_pairs, count_together, doubled, once_and_twice, ones, owners_of

LEAST_DEGREE = 4  # members of a unit that can be told from chance
_ENTRIES = 20_000_000  # ones in the rows that units are grown on
_ROUNDS = 4
MOST_POLISHES = 5
_AT_ONCE = 64  # seeds
_BARREN = 1500  # seeds without a new unit, after which there are none
_WORTH = 100  # seeds without one, that a new unit makes up for: fewer are accidents
_SEED_SHARE = 0.3  # of a typical unit's firings that the columns of a seed must have together
_LEAST_GAIN = 15.0  # nats
_LEAST_RATE = 0.65  # mean of members where the others are on
_OVERLAP = 0.5
_CONTAINED = 0.7
_OWN = 0.5  # share of the rows where most members are on that a unit must explain, if larger ones have its members


@dataclass(frozen=True)
class Grown:
    """What seeds grew into.

    Attributes
    ----------
    members : list of ndarray
        Columns of each, ascending; empty where there is nothing.
    active : ndarray
        Rows in which each is on.
    gain : ndarray
        Nats by which it shortens the description of the rows.
    rate : ndarray
        How often its members are on where most others are, beyond chance.
    """

    members: list[np.ndarray]
    active: np.ndarray
    gain: np.ndarray
    rate: np.ndarray


def member_table(members: Sequence[np.ndarray], n_columns: int) -> sparse.csr_array:
    """Sets of columns as a table with entries 1, shape (n_units, n_columns)."""
    indptr = np.append(0, np.cumsum([len(one) for one in members])).astype(np.int64)
    indices = np.concatenate([np.empty(0, np.int64), *members]).astype(np.int64)
    return sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(len(members), n_columns))


def learn_units(firings: BinaryRows, n_polishes: int = MOST_POLISHES, n_jobs: int | None = None) -> sparse.csr_array:
    """The positive edges of a layer above some firings: shape (n_units, n_columns), entries 1."""
    rows = firings.thinned(_ENTRIES)
    units: list[np.ndarray] = []
    for _ in range(_ROUNDS):
        table = member_table(units, rows.n_columns)
        left = unexplained(rows, encode(rows, table, n_jobs), table, n_jobs) if units else rows
        new = _grow_units(left, units, n_jobs)
        if not new:
            break
        units = _polished(rows, [*units, *new], n_polishes, n_jobs)
    kept = acceptable(gains_of(rows, units, n_jobs=n_jobs))
    return member_table([unit for unit, keep in zip(units, kept, strict=True) if keep], rows.n_columns)


# --- growing --------------------------------------------------------------------------------------------------------


def _grow_units(rows: BinaryRows, known: list[np.ndarray], n_jobs: int | None) -> list[np.ndarray]:
    pairs = cofiring_pairs(rows, n_jobs)
    owners = np.zeros((rows.n_columns, 16), np.uint64)
    active: list[int] = []
    gains: list[float] = []
    for number, one in enumerate(known):
        owners = _owned(owners, one, number)
    place, barren, floor = 0, 0, 0.0
    seeds = np.empty(_AT_ONCE, np.int64)
    all_units = list(known)
    while barren < _BARREN and place < len(pairs.first):
        n_seeds, place = _next_seeds(pairs.first, pairs.second, pairs.excess, owners, floor, place, seeds)
        if not n_seeds:
            break
        found = _grow_all(rows, pairs.first[seeds[:n_seeds]], pairs.second[seeds[:n_seeds]], n_jobs)
        for members, n_active, gain, good in zip(
            found.members, found.active, found.gain, acceptable(found), strict=True
        ):
            barren += 1
            if not good:
                continue
            rivals = _rivals(members, all_units, owners)
            if rivals and not all(
                r >= len(known) and gains[r - len(known)] < gain and len(all_units[r]) < len(members) for r in rivals
            ):
                continue
            # Rivals may be what it has in common with others, and it may be two of them at once: polishing tells.
            owners = _owned(owners, members, len(all_units))
            all_units.append(members)
            active.append(n_active)
            gains.append(gain)
            barren = max(0, barren - _WORTH) if not rivals else barren
        if len(active) >= 10:
            floor = _SEED_SHARE * float(np.median(active))
    return all_units[len(known) :]


def _owned(owners: np.ndarray, members: np.ndarray, number: int) -> np.ndarray:
    """Bits of the units that each column belongs to, with one more."""
    if number >= 64 * owners.shape[1]:
        owners = np.hstack([owners, np.zeros_like(owners)])
    owners[members, number // 64] |= np.uint64(1) << np.uint64(number % 64)
    return owners


def _rivals(members: np.ndarray, units: list[np.ndarray], owners: np.ndarray) -> list[int]:
    """Units that have more than half of the members of the smaller set in common with these."""
    bits = np.unpackbits(owners[members].view(np.uint8), axis=1, bitorder="little")
    shared = bits.sum(axis=0)
    near = np.flatnonzero(shared)
    return [int(r) for r in near if shared[r] > _OVERLAP * min(len(members), len(units[r]))]


def _grow_all(rows: BinaryRows, first: np.ndarray, second: np.ndarray, n_jobs: int | None) -> Grown:
    starts, on = rows.by_column
    rates = rows.rates
    n = len(first)
    members: list[Any] = [None] * n
    numbers = np.zeros((n, 3))

    def task(start: int, stop: int) -> None:
        for i in range(start, stop):
            members[i], *numbers[i] = _grow(rows.indptr, rows.indices, starts, on, rates, first[i], second[i])

    run_in_chunks(task, n, 4, n_jobs)
    log_sets = _log_choose(rows.n_columns, np.array([len(one) for one in members]))
    gain = numbers[:, 1] - _log_choose(rows.n_rows, numbers[:, 0]) - log_sets
    return Grown(members, numbers[:, 0].astype(int), gain, numbers[:, 2])


def _log_choose(n: int, k: np.ndarray) -> np.ndarray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def gains_of(rows: BinaryRows, units: Sequence[np.ndarray], temper: float = 1.0, n_jobs: int | None = None) -> Grown:
    """The test of acceptance on given rows, of which each counts 1 / ``temper``."""
    starts, on = rows.by_column
    rates, numbers = rows.rates, np.zeros((len(units), 3))

    def task(start: int, stop: int) -> None:
        for i in range(start, stop):
            numbers[i] = _measure(rows.indptr, rows.indices, starts, on, rates, units[i].astype(np.int64))

    run_in_chunks(task, len(units), 16, n_jobs)
    sizes = np.array([len(one) for one in units], dtype=np.int64)
    named = _log_choose(rows.n_rows, numbers[:, 0]) / temper + _log_choose(rows.n_columns, sizes)
    return Grown(list(units), numbers[:, 0].astype(int), numbers[:, 1] / temper - named, numbers[:, 2])


def acceptable(found: Grown) -> np.ndarray:
    """Which sets are units, shape (n_sets,)."""
    large = np.array([len(one) >= LEAST_DEGREE for one in found.members], dtype=bool)
    return np.asarray(large & (found.gain > _LEAST_GAIN) & (found.rate >= _LEAST_RATE))


# --- polishing ------------------------------------------------------------------------------------------------------


def _polished(rows: BinaryRows, units: list[np.ndarray], n_polishes: int, n_jobs: int | None) -> list[np.ndarray]:
    """Members by how often they are on where their unit is and no other unit of theirs."""
    bits = rows.bits(n_jobs)
    for _ in range(n_polishes):
        table = member_table(units, rows.n_columns)
        hidden = encode(rows, table, n_jobs).bits(n_jobs)
        new = _members_alone(bits, hidden, table, rows.rates, n_jobs)
        new = _without_fragments(new, hidden, gains_of(rows, units, n_jobs=n_jobs).active)
        same = len(new) == len(units) and all(np.array_equal(a, b) for a, b in zip(new, units, strict=True))
        units = new
        if same:
            break
    return units


def _members_alone(
    bits: np.ndarray, hidden: np.ndarray, table: sparse.csr_array, rates: np.ndarray, n_jobs: int | None
) -> list[np.ndarray]:
    starts, owners = owners_of(table)
    n_units, n_columns = table.shape
    least = np.log(max(n_columns * n_units, 2)) + 3.0
    kept: list[Any] = [None] * -(-n_columns // 16)

    def task(start: int, stop: int) -> None:
        kept[start // 16] = _alone(bits, hidden, starts, owners, rates, least, start, stop)

    run_in_chunks(task, n_columns, 16, n_jobs)
    unit, column = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    order = np.lexsort((column, unit))
    return np.split(column[order], np.searchsorted(unit[order], np.arange(1, n_units)))


def _without_fragments(units: list[np.ndarray], hidden: np.ndarray, near: np.ndarray) -> list[np.ndarray]:
    """Without those too small, the smaller of two that are on together nearly always, and what larger ones have in common.

    ``near`` are the rows in which most members of each are on, whatever explains them.
    """
    sizes = np.array([len(one) for one in units])
    together = np.zeros((len(hidden), len(hidden)), np.int32)
    count_together(hidden, 0, len(hidden), together)
    together += together.T
    active = np.bitwise_count(hidden).sum(axis=1, dtype=np.int64)
    dropped = sizes < LEAST_DEGREE
    i, j = np.nonzero(together > _CONTAINED * np.minimum(active[:, None], active))
    larger = (sizes[j] > sizes[i]) | ((sizes[j] == sizes[i]) & (j < i))
    for a, b in sorted(zip(i[larger].tolist(), j[larger].tolist(), strict=True), key=lambda pair: sizes[pair[0]]):
        if dropped[a] or dropped[b]:
            continue
        shared = len(np.intersect1d(units[a], units[b])) > _OVERLAP * len(units[a])
        dropped[a] = shared or together[a, b] > _CONTAINED * active[a]
    for a in np.argsort(sizes, kind="stable"):
        dropped[a] = dropped[a] or (active[a] < _OWN * near[a] and _is_overlap(a, units, dropped))
    return [unit for unit, drop in zip(units, dropped, strict=True) if not drop]


def _is_overlap(a: int, units: list[np.ndarray], dropped: np.ndarray) -> bool:
    """Whether two larger units have most members of this one."""
    n = 0
    for b in np.flatnonzero(~dropped):
        if len(units[b]) > len(units[a]):
            n += len(np.intersect1d(units[a], units[b])) > _OVERLAP * len(units[a])
    return n > 1


# --- doubts ---------------------------------------------------------------------------------------------------------


def edge_doubts(
    rows: BinaryRows, hidden: BinaryRows, members: sparse.csr_array, temper: float = 1.0, n_jobs: int | None = None
) -> np.ndarray:
    """Expected share of each unit's edges that are wrong, from the odds of all pairs of a unit and a column, shape (n_units,).

    Of a pair those rows count in which the unit is on and no other unit of the column: the column is on in most of them if it
    is a member, and else as often as it is without units.

    Parameters
    ----------
    rows, hidden : Firings
        Of the layer below, and of the units.
    members : csr_array of shape (n_units, n_columns)
    temper : float
        Rows that count as one.
    """
    n_units, n_columns = members.shape
    if not n_units:
        return np.empty(0)
    bits, units = rows.bits(n_jobs), hidden.bits(n_jobs)
    starts, owners = owners_of(members)
    prior = np.log(members.nnz / max(n_units * n_columns - members.nnz, 1))
    wrong = np.zeros((-(-n_columns // 16), n_units))

    def task(start: int, stop: int) -> None:
        _doubt(bits, units, starts, owners, rows.n_rows, prior, temper, start, stop, wrong[start // 16])

    run_in_chunks(task, n_columns, 16, n_jobs)
    return np.minimum(wrong.sum(axis=0) / np.maximum(np.diff(members.indptr), 1), 1.0)


# --- kernels --------------------------------------------------------------------------------------------------------

_LOW, _HIGH, _GAP = 0.4, 0.8, 0.04  # members are told by the largest gap between these rates, of at least the third
_BINS = 16  # of the rates between the limits, each smaller than such a gap
_SHARP = 0.5
_ENOUGH = 20.0  # rows, for a column that is off in most of them
_LEAST_ROWS = 8
_MOST_CONDITIONS = 5
_ITERATIONS = 15
_STRETCHES, _USUAL = 100, 0.7  # of these that are usual, from which on rows are taken for independent
_MEMBER_RATE = 0.85  # of columns where their unit is on
_MOST_SCATTER, _SCATTER_BY_CHANCE = 2.0, 4.0
_MIDDLING = 0.75  # share of the members that are on, and of the rows that have no more, if it scatters
_MOST_MIDDLING = 0.2


@njit(nogil=True, cache=True)
def _next_seeds(first, second, excess, owners, floor, place, seeds):
    """Fill ``seeds`` with the next pairs that no unit has both of; how many, and where to go on."""
    n = 0
    while n < len(seeds) and place < len(first):
        if excess[place] >= floor:
            together = False
            for word in range(owners.shape[1]):
                if owners[first[place], word] & owners[second[place], word]:
                    together = True
                    break
            if not together:
                seeds[n] = place
                n += 1
        place += 1
    return n, place


@njit(nogil=True, cache=True)
def _common(a, b):
    out, n, i, j = np.empty(min(len(a), len(b)), np.int32), 0, 0, 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            out[n] = a[i]
            n += 1
            i += 1
            j += 1
        elif a[i] < b[j]:
            i += 1
        else:
            j += 1
    return out[:n]


@njit(nogil=True, cache=True)
def _profile(indptr, indices, starts, on, rates, u, v):
    """Columns that go with a pair, after as many further columns as it takes to tell one unit from others."""
    n = len(rates)
    given = np.zeros(n, np.bool_)
    given[u] = given[v] = True
    rows = _common(on[starts[u] : starts[u + 1]], on[starts[v] : starts[v + 1]])
    hits = np.empty(n, np.int32)
    for _ in range(_MOST_CONDITIONS):
        if len(rows) < _LEAST_ROWS:
            return np.empty(0, np.int64)
        for s in range(n):
            hits[s] = 0
        for row in rows:
            for i in range(indptr[row], indptr[row + 1]):
                hits[indices[i]] += 1
        n_sharp, best, most = 0, -1, 0.0
        for s in range(n):
            if given[s]:
                continue
            beyond = (hits[s] / len(rows) - rates[s]) / max(1 - rates[s], 1e-9)
            n_sharp += beyond >= _SHARP
            if beyond > most:
                best, most = s, beyond
        if n_sharp >= 2:
            for s in range(n):
                if (hits[s] / len(rows) - rates[s]) / max(1 - rates[s], 1e-9) >= _SHARP:
                    given[s] = True
            return np.nonzero(given)[0]
        if best < 0:
            break
        given[best] = True
        rows = _common(rows, on[starts[best] : starts[best + 1]])
    return np.empty(0, np.int64)


@njit(nogil=True, cache=True)
def _loo(indptr, indices, starts, on, members):
    """Rows where at least 60% of the others are on, and in how many of them each column is.

    Members are tried where so many of the other members are on: trials, hits of each column. Last, the share of these rows
    that count: fewer where they are on few stretches of the data, and none where the number of members that are on scatters as
    it does if one thing grades many columns, with many rows in the middle.
    """
    n, size = len(starts) - 1, len(members)
    needed = max(int(np.ceil(SHARE_ON * (size - 1) - 1e-9)), 1)
    counts = np.zeros(len(indptr) - 1, np.int32)
    for s in members:
        for i in range(starts[s], starts[s + 1]):
            counts[on[i]] += 1
    hits, near = np.zeros(n, np.int32), np.zeros(n, np.int32)
    active, n_near, n_middling, n_stretches, last, total, squares = 0, 0, 0, 0, -1, 0.0, 0.0
    for row in range(len(counts)):
        if counts[row] > needed:
            active += 1
            total += counts[row]
            squares += counts[row] ** 2
            n_middling += counts[row] <= _MIDDLING * size
            stretch = row * _STRETCHES // len(counts)
            n_stretches += stretch != last
            last = stretch
            for i in range(indptr[row], indptr[row + 1]):
                hits[indices[i]] += 1
        elif counts[row] == needed:
            n_near += 1
            for i in range(indptr[row], indptr[row + 1]):
                near[indices[i]] += 1
    trials = np.empty(n, np.int32)
    for s in range(n):
        trials[s] = active
    for s in members:
        trials[s] += n_near - near[s]
    mean = total / max(active, 1)
    binomial = max(mean * (1 - mean / size), 1e-9)
    scatter = (squares / max(active, 1) - mean**2) / binomial - _SCATTER_BY_CHANCE * np.sqrt(2 / max(active, 1))
    middling = _MOST_MIDDLING * active + np.sqrt(_MOST_MIDDLING * active)
    graded = scatter > _MOST_SCATTER and n_middling > middling
    usual = _STRETCHES * (1 - (1 - 1 / _STRETCHES) ** active)
    independent = min(1.0, n_stretches / (_USUAL * usual)) if active else 0.0
    return (
        active,
        trials,
        hits,
        independent if not graded and n_stretches >= min(_LEAST_ROWS, _USUAL * usual) else 0.0,
    )


@njit(nogil=True, cache=True)
def _gain_of(members, trials, hits, rates):
    """Nats that members' firings gain over their rates, and the mean of their rates beyond chance."""
    gain, rate = 0.0, 0.0
    for s in members:
        p = min(max(rates[s], 1e-12), 1 - 1e-12)
        r = hits[s] / max(trials[s], 1)
        rate += (r - p) / (1 - p)
        if r > p:
            gain += hits[s] * np.log(r / p)
            if r < 1:
                gain += (trials[s] - hits[s]) * np.log((1 - r) / (1 - p))
    return gain, rate / max(len(members), 1)


@njit(nogil=True, cache=True)
def _measure(indptr, indices, starts, on, rates, members):
    active, trials, hits, counted = _loo(indptr, indices, starts, on, members)
    gain, rate = _gain_of(members, trials, hits, rates)
    return active, gain * counted, rate


@njit(nogil=True, cache=True)
def _cut(beyond):
    """The middle of the largest gap of the rates between two limits; 2 if there is none.

    It is between the highest rate of one bin and the lowest of a later one, as no gap that counts is inside a bin.
    """
    lowest, highest = np.empty(_BINS + 1), np.empty(_BINS + 1)
    for b in range(_BINS + 1):
        lowest[b], highest[b] = np.inf, -np.inf
    lowest[_BINS] = highest[_BINS] = _HIGH
    for rate in beyond:
        if _LOW < rate < _HIGH:
            b = min(int((rate - _LOW) / (_HIGH - _LOW) * _BINS), _BINS - 1)
            lowest[b], highest[b] = min(lowest[b], rate), max(highest[b], rate)
    last, best, cut = _LOW, 0.0, 2.0
    for b in range(_BINS + 1):
        if lowest[b] <= highest[b]:
            if lowest[b] - last > best:
                best, cut = lowest[b] - last, (lowest[b] + last) / 2
            last = highest[b]
    return cut if best >= _GAP else 2.0


@njit(nogil=True, cache=True)
def _grow(indptr, indices, starts, on, rates, u, v):
    """The set of columns that a pair grows into; rows where it is on, nats gained and mean rate of its members."""
    n, none = len(rates), np.empty(0, np.int64)
    members, beyond = _profile(indptr, indices, starts, on, rates, u, v), np.empty(len(rates))
    for _ in range(_ITERATIONS):
        if len(members) < 4:
            return none, 0, 0.0, 0.0
        active, trials, hits, counted = _loo(indptr, indices, starts, on, members)
        if active < _LEAST_ROWS:
            return none, 0, 0.0, 0.0
        for s in range(n):
            beyond[s] = (hits[s] / max(trials[s], 1) - rates[s]) / max(1 - rates[s], 1e-9)
        cut, size = _cut(beyond), 0
        for s in range(n):
            size += beyond[s] >= cut
        new, same, size = np.empty(size, np.int64), size == len(members), 0
        for s in range(n):
            if beyond[s] >= cut:
                new[size] = s
                same = same and members[size] == s
                size += 1
        if same:
            gain, rate = _gain_of(members, trials, hits, rates)
            return members, active, gain * counted, rate
        members = new
    return none, 0, 0.0, 0.0


@njit(nogil=True, cache=True)
def _seen_alone(unit, others, column, enough):
    """The rows with the unit on and no other, those with the column on too, and whether few words made clear that most are off.

    Then other words are not looked at; it takes ``enough`` rows.
    """
    n_words, trials, hits, begin = len(unit), np.uint64(0), np.uint64(0), 0
    end = min(max(4, n_words // 16), n_words)
    while True:
        for w in range(begin, end):
            alone = unit[w] & ~others[w]
            trials += ones(alone)
            hits += ones(alone & column[w])
        if begin == 0 and trials >= enough and hits < 0.3 * trials:
            return trials, hits, True
        if end == n_words:
            return trials, hits, False
        begin, end = end, n_words


@njit(nogil=True, cache=True)
def _alone(bits, hidden, owner_starts, owners, rates, least, start, stop):
    """Pairs of units and columns start to stop that are on together where no other unit of the column is."""
    n_words, n_units = bits.shape[1], len(hidden)
    units, columns, n = np.empty(1024, np.int32), np.empty(1024, np.int32), 0
    once, twice = np.zeros(n_words, np.uint64), np.zeros(n_words, np.uint64)
    own = np.zeros(n_units, np.bool_)
    for s in range(start, stop):
        once_and_twice(hidden, owner_starts[s], owner_starts[s + 1], owners, once, twice)
        for i in range(owner_starts[s], owner_starts[s + 1]):
            own[owners[i]] = True
        p = min(max(rates[s], 1e-9), 1 - 1e-9)
        for z in range(n_units):
            others, enough = (twice, np.inf) if own[z] else (once, _ENOUGH)
            trials, hits, off_in_most = _seen_alone(hidden[z], others, bits[s], enough)
            if off_in_most:
                continue
            kept = (own[z] and trials < 4) or (trials > 0 and hits >= 0.5 * trials)
            if kept and not own[z]:
                r = hits / trials
                kept = r > p
                if kept:
                    gain = hits * np.log(r / p)
                    if r < 1:
                        gain += (trials - hits) * np.log((1 - r) / (1 - p))
                    kept = gain >= least
            if kept:
                if n == len(units):
                    units, columns = doubled(units), doubled(columns)
                units[n], columns[n] = z, s
                n += 1
        for i in range(owner_starts[s], owner_starts[s + 1]):
            own[owners[i]] = False
    return units[:n].copy(), columns[:n].copy()


@njit(nogil=True, cache=True)
def _doubt(bits, hidden, owner_starts, owners, n_rows, prior, temper, start, stop, wrong):
    """Add to ``wrong`` the chances that edges of columns start to stop are not as they were decided."""
    n_words, n_units = bits.shape[1], len(hidden)
    once, twice = np.zeros(n_words, np.uint64), np.zeros(n_words, np.uint64)
    own = np.zeros(n_units, np.bool_)
    for s in range(start, stop):
        once_and_twice(hidden, owner_starts[s], owner_starts[s + 1], owners, once, twice)
        for i in range(owner_starts[s], owner_starts[s + 1]):
            own[owners[i]] = True
        covered, left = np.uint64(0), np.uint64(0)
        for w in range(n_words):
            covered += ones(once[w])
            left += ones(bits[s, w] & ~once[w])
        chance = min(max((float(left) + 0.5) / (n_rows - float(covered) + 1), 1e-4), 0.45)
        on, off = np.log(_MEMBER_RATE / chance), np.log((1 - _MEMBER_RATE) / (1 - chance))
        for z in range(n_units):
            others, enough = (twice, np.inf) if own[z] else (once, _ENOUGH * temper)
            trials, hits, off_in_most = _seen_alone(hidden[z], others, bits[s], enough)
            if off_in_most:
                continue
            odds = prior + (float(hits) * on + (float(trials) - float(hits)) * off) / temper
            chance_of_edge = 1 / (1 + np.exp(-min(max(odds, -700.0), 700.0)))
            if own[z]:
                wrong[z] += 1 - chance_of_edge
            elif hits > 0:
                wrong[z] += chance_of_edge
        for i in range(owner_starts[s], owner_starts[s + 1]):
            own[owners[i]] = False
