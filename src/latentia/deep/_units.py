"""Positive edges: sets of columns that fire together, grown from pairs and polished on rows without other units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from scipy.special import gammaln

from ..system.threads import run_in_chunks
from ._encode import MIN_SHARE_ON, encode, select_unexplained
from ._statistics import BinaryRows, cofiring_pairs, count_ones, count_together, enlarge, list_owners, once_and_twice

MIN_DEGREE = 4  # least number of members of a unit that differs from chance
_MAX_ENTRIES = 20_000_000  # ones in the rows that units are grown on
_ROUNDS = 4
MAX_POLISHES = 5
_SEEDS_AT_ONCE = 64
_MAX_BARREN = 1500  # balance of seeds without a new unit at which the search ends
_SEEDS_PER_UNIT = 100  # seeds that a new unit takes off the balance
_SEED_SHARE = 0.3  # least firings that the columns of a seed have together, as a share of a typical unit's
_MIN_GAIN = 15.0  # nats
_MIN_RATE = 0.65  # least mean rate of members where the others are on
_MAX_OVERLAP = 0.5
_MAX_CONTAINED = 0.7
_MIN_EXPLAINED = 0.5  # share of its rows that a unit must explain if larger units have its members


@dataclass(frozen=True)
class CandidateUnits:
    """Sets of columns that may be units.

    Attributes
    ----------
    members : list of ndarray
        Columns of each set, ascending; may be empty.
    active : ndarray
        Number of rows in which each is on.
    gain : ndarray
        Nats by which it shortens the description of the rows.
    rate : ndarray
        Rate of its members where most others are on, beyond chance.
    """

    members: list[np.ndarray]
    active: np.ndarray
    gain: np.ndarray
    rate: np.ndarray


def member_table(members: Sequence[np.ndarray], n_columns: int) -> sparse.csr_array:
    """Return sets of columns as a table with entries 1, shape (n_units, n_columns)."""
    indptr = np.append(0, np.cumsum([len(columns) for columns in members])).astype(np.int64)
    indices = np.concatenate([np.empty(0, np.int64), *members]).astype(np.int64)
    return sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(len(members), n_columns))


def learn_units(firings: BinaryRows, n_polishes: int = MAX_POLISHES, n_jobs: int | None = None) -> sparse.csr_array:
    """Learn the positive edges of the layer above: shape (n_units, n_columns), entries 1."""
    rows = firings.thin(_MAX_ENTRIES)
    units: list[np.ndarray] = []
    for _ in range(_ROUNDS):
        table = member_table(units, rows.n_columns)
        residual_rows = select_unexplained(rows, encode(rows, table, n_jobs), table, n_jobs) if units else rows
        new = _grow_units(residual_rows, units, n_jobs)
        if not new:
            break
        units = _polish(rows, [*units, *new], n_polishes, n_jobs)
    is_unit = are_units(measure_units(rows, units, n_jobs=n_jobs))
    return member_table([unit for unit, keep in zip(units, is_unit, strict=True) if keep], rows.n_columns)


# --- growing --------------------------------------------------------------------------------------------------------


def _grow_units(rows: BinaryRows, known_units: list[np.ndarray], n_jobs: int | None) -> list[np.ndarray]:
    pairs = cofiring_pairs(rows, n_jobs)
    owners = np.zeros((rows.n_columns, 16), np.uint64)
    active: list[int] = []
    gains: list[float] = []
    for number, unit in enumerate(known_units):
        owners = _add_owner(owners, unit, number)
    place, barren, floor = 0, 0, 0.0
    seeds = np.empty(_SEEDS_AT_ONCE, np.int64)
    all_units = list(known_units)
    while barren < _MAX_BARREN and place < len(pairs.first):
        n_seeds, place = _next_seeds(pairs.first, pairs.second, pairs.excess, owners, floor, place, seeds)
        if not n_seeds:
            break
        grown = _grow_all(rows, pairs.first[seeds[:n_seeds]], pairs.second[seeds[:n_seeds]], n_jobs)
        for members, n_active, gain, is_unit in zip(
            grown.members, grown.active, grown.gain, are_units(grown), strict=True
        ):
            barren += 1
            if not is_unit:
                continue
            rivals = _find_rivals(members, all_units, owners)
            if rivals and not all(
                r >= len(known_units) and gains[r - len(known_units)] < gain and len(all_units[r]) < len(members)
                for r in rivals
            ):
                continue
            # A rival may be its overlap with other units, or it may be two rivals at once: polishing decides.
            owners = _add_owner(owners, members, len(all_units))
            all_units.append(members)
            active.append(n_active)
            gains.append(gain)
            barren = max(0, barren - _SEEDS_PER_UNIT) if not rivals else barren
        if len(active) >= 10:
            floor = _SEED_SHARE * float(np.median(active))
    return all_units[len(known_units) :]


def _add_owner(owners: np.ndarray, members: np.ndarray, number: int) -> np.ndarray:
    """Return bits of the units that each column belongs to, with one more."""
    if number >= 64 * owners.shape[1]:
        owners = np.hstack([owners, np.zeros_like(owners)])
    owners[members, number // 64] |= np.uint64(1) << np.uint64(number % 64)
    return owners


def _find_rivals(members: np.ndarray, units: list[np.ndarray], owners: np.ndarray) -> list[int]:
    """Return units that have more than half of the members of the smaller set in common with these."""
    bits = np.unpackbits(owners[members].view(np.uint8), axis=1, bitorder="little")
    shared = bits.sum(axis=0)
    near = np.flatnonzero(shared)
    return [int(r) for r in near if shared[r] > _MAX_OVERLAP * min(len(members), len(units[r]))]


def _grow_all(rows: BinaryRows, first: np.ndarray, second: np.ndarray, n_jobs: int | None) -> CandidateUnits:
    starts, on = rows.rows_by_column
    rates = rows.rates
    n = len(first)
    members: list[Any] = [None] * n
    numbers = np.zeros((n, 3))

    def task(start: int, stop: int) -> None:
        for i in range(start, stop):
            members[i], *numbers[i] = _grow(rows.indptr, rows.indices, starts, on, rates, first[i], second[i])

    run_in_chunks(task, n, 4, n_jobs)
    log_sets = _log_choose(rows.n_columns, np.array([len(columns) for columns in members]))
    gain = numbers[:, 1] - _log_choose(rows.n_rows, numbers[:, 0]) - log_sets
    return CandidateUnits(members, numbers[:, 0].astype(int), gain, numbers[:, 2])


def _log_choose(n: int, k: np.ndarray) -> np.ndarray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def measure_units(
    rows: BinaryRows, units: Sequence[np.ndarray], temper: float = 1.0, n_jobs: int | None = None
) -> CandidateUnits:
    """Measure sets of columns on rows, each of which counts 1 / ``temper``, for the test of acceptance."""
    starts, on = rows.rows_by_column
    rates, numbers = rows.rates, np.zeros((len(units), 3))

    def task(start: int, stop: int) -> None:
        for i in range(start, stop):
            numbers[i] = _measure(rows.indptr, rows.indices, starts, on, rates, units[i].astype(np.int64))

    run_in_chunks(task, len(units), 16, n_jobs)
    sizes = np.array([len(unit) for unit in units], dtype=np.int64)
    code_length = _log_choose(rows.n_rows, numbers[:, 0]) / temper + _log_choose(rows.n_columns, sizes)
    return CandidateUnits(list(units), numbers[:, 0].astype(int), numbers[:, 1] / temper - code_length, numbers[:, 2])


def are_units(candidates: CandidateUnits) -> np.ndarray:
    """Return which sets are units, shape (n_sets,)."""
    large = np.array([len(columns) >= MIN_DEGREE for columns in candidates.members], dtype=bool)
    return np.asarray(large & (candidates.gain > _MIN_GAIN) & (candidates.rate >= _MIN_RATE))


# --- polishing ------------------------------------------------------------------------------------------------------


def _polish(rows: BinaryRows, units: list[np.ndarray], n_polishes: int, n_jobs: int | None) -> list[np.ndarray]:
    """Decide members again by how often they are on where their unit is on and no other unit of theirs."""
    bits = rows.bits(n_jobs)
    for _ in range(n_polishes):
        table = member_table(units, rows.n_columns)
        hidden = encode(rows, table, n_jobs).bits(n_jobs)
        new = _choose_members(bits, hidden, table, rows.rates, n_jobs)
        new = _drop_fragments(new, hidden, measure_units(rows, units, n_jobs=n_jobs).active)
        is_unchanged = len(new) == len(units) and all(np.array_equal(a, b) for a, b in zip(new, units, strict=True))
        units = new
        if is_unchanged:
            break
    return units


def _choose_members(
    bits: np.ndarray, hidden: np.ndarray, table: sparse.csr_array, rates: np.ndarray, n_jobs: int | None
) -> list[np.ndarray]:
    starts, owners = list_owners(table)
    n_units, n_columns = table.shape
    min_gain = np.log(max(n_columns * n_units, 2)) + 3.0
    results: list[Any] = [None] * -(-n_columns // 16)

    def task(start: int, stop: int) -> None:
        results[start // 16] = _pair_alone(bits, hidden, starts, owners, rates, min_gain, start, stop)

    run_in_chunks(task, n_columns, 16, n_jobs)
    unit, column = (np.concatenate(parts) for parts in zip(*results, strict=True))
    order = np.lexsort((column, unit))
    return np.split(column[order], np.searchsorted(unit[order], np.arange(1, n_units)))


def _drop_fragments(units: list[np.ndarray], hidden: np.ndarray, near: np.ndarray) -> list[np.ndarray]:
    """Drop units that are too small, nearly always on together with a larger one, or the overlap of two larger ones.

    ``near`` has the number of rows in which most members of each unit are on, whatever explains them.
    """
    sizes = np.array([len(columns) for columns in units])
    together = np.zeros((len(hidden), len(hidden)), np.int32)
    count_together(hidden, 0, len(hidden), together)
    together += together.T
    active = np.bitwise_count(hidden).sum(axis=1, dtype=np.int64)
    dropped = sizes < MIN_DEGREE
    i, j = np.nonzero(together > _MAX_CONTAINED * np.minimum(active[:, None], active))
    larger = (sizes[j] > sizes[i]) | ((sizes[j] == sizes[i]) & (j < i))
    for a, b in sorted(zip(i[larger].tolist(), j[larger].tolist(), strict=True), key=lambda pair: sizes[pair[0]]):
        if dropped[a] or dropped[b]:
            continue
        shared = len(np.intersect1d(units[a], units[b])) > _MAX_OVERLAP * len(units[a])
        dropped[a] = shared or together[a, b] > _MAX_CONTAINED * active[a]
    for a in np.argsort(sizes, kind="stable"):
        dropped[a] = dropped[a] or (active[a] < _MIN_EXPLAINED * near[a] and _is_overlap(a, units, dropped))
    return [unit for unit, drop in zip(units, dropped, strict=True) if not drop]


def _is_overlap(a: int, units: list[np.ndarray], dropped: np.ndarray) -> bool:
    """Return True if two larger units have most members of this one."""
    n = 0
    for b in np.flatnonzero(~dropped):
        if len(units[b]) > len(units[a]):
            n += len(np.intersect1d(units[a], units[b])) > _MAX_OVERLAP * len(units[a])
    return n > 1


# --- doubts ---------------------------------------------------------------------------------------------------------


def estimate_edge_doubts(
    rows: BinaryRows, hidden: BinaryRows, members: sparse.csr_array, temper: float = 1.0, n_jobs: int | None = None
) -> np.ndarray:
    """Estimate the share of wrong edges of each unit from the odds of all pairs of a unit and a column, shape (n_units,).

    For a pair those rows count in which the unit is on and no other unit of the column is. A member is on in most of them; any
    other column as often as without units.

    Parameters
    ----------
    rows, hidden : BinaryRows
        Rows of the layer below, and of the units.
    members : csr_array of shape (n_units, n_columns)
    temper : float
        Number of rows that count as one.
    """
    n_units, n_columns = members.shape
    if not n_units:
        return np.empty(0)
    bits, units = rows.bits(n_jobs), hidden.bits(n_jobs)
    starts, owners = list_owners(members)
    prior = np.log(members.nnz / max(n_units * n_columns - members.nnz, 1))
    wrong = np.zeros((-(-n_columns // 16), n_units))

    def task(start: int, stop: int) -> None:
        _doubt(bits, units, starts, owners, rows.n_rows, prior, temper, start, stop, wrong[start // 16])

    run_in_chunks(task, n_columns, 16, n_jobs)
    return np.minimum(wrong.sum(axis=0) / np.maximum(np.diff(members.indptr), 1), 1.0)


# --- kernels --------------------------------------------------------------------------------------------------------

_LOW, _HIGH, _GAP = 0.4, 0.8, 0.04  # the largest gap between these rates separates members, if it is at least the third
_BINS = 16  # bins of the rates between the limits, each narrower than such a gap
_MIN_SHARP = 0.5
_MIN_OFF_ROWS = 20.0  # rows that show at first sight that a column is off in most of them
_MIN_ROWS = 8
_MAX_CONDITIONS = 5
_MAX_ITERATIONS = 15
_STRETCHES, _MIN_USUAL_SHARE = 100, 0.7  # stretches of the data, and the share of the usual number for independent rows
_MEMBER_RATE = 0.85  # rate of members where their unit is on
_MAX_SCATTER, _SCATTER_BY_CHANCE = 2.0, 4.0
_MIDDLING = 0.75  # share of the members that are on, and of the rows that have no more, if it scatters
_MAX_MIDDLING = 0.2


@njit(nogil=True, cache=True)
def _next_seeds(first, second, excess, owners, floor, place, seeds):
    """Fill ``seeds`` with the next pairs of columns that share no unit; return how many, and the next place."""
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
def _intersect(a, b):
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
    """Return columns that are on with a pair, after adding the columns that it takes to single out one unit."""
    n = len(rates)
    is_chosen = np.zeros(n, np.bool_)
    is_chosen[u] = is_chosen[v] = True
    rows = _intersect(on[starts[u] : starts[u + 1]], on[starts[v] : starts[v + 1]])
    hits = np.empty(n, np.int32)
    for _ in range(_MAX_CONDITIONS):
        if len(rows) < _MIN_ROWS:
            return np.empty(0, np.int64)
        for s in range(n):
            hits[s] = 0
        for row in rows:
            for i in range(indptr[row], indptr[row + 1]):
                hits[indices[i]] += 1
        n_sharp, best, best_rate = 0, -1, 0.0
        for s in range(n):
            if is_chosen[s]:
                continue
            rate = (hits[s] / len(rows) - rates[s]) / max(1 - rates[s], 1e-9)
            n_sharp += rate >= _MIN_SHARP
            if rate > best_rate:
                best, best_rate = s, rate
        if n_sharp >= 2:
            for s in range(n):
                if (hits[s] / len(rows) - rates[s]) / max(1 - rates[s], 1e-9) >= _MIN_SHARP:
                    is_chosen[s] = True
            return np.nonzero(is_chosen)[0]
        if best < 0:
            break
        is_chosen[best] = True
        rows = _intersect(rows, on[starts[best] : starts[best + 1]])
    return np.empty(0, np.int64)


@njit(nogil=True, cache=True)
def _leave_members_out(indptr, indices, starts, on, members):
    """Count rows where at least 60% of the other members are on, and in how many of them each column is on.

    Return the number of active rows, trials and hits of each column, and the share of these rows that count: less if they lie
    on few stretches of the data, and 0 if the number of active members scatters as if one cause graded many columns, with many
    rows in the middle.
    """
    n, size = len(starts) - 1, len(members)
    needed = max(int(np.ceil(MIN_SHARE_ON * (size - 1) - 1e-9)), 1)
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
    middling = _MAX_MIDDLING * active + np.sqrt(_MAX_MIDDLING * active)
    graded = scatter > _MAX_SCATTER and n_middling > middling
    usual = _STRETCHES * (1 - (1 - 1 / _STRETCHES) ** active)
    independent = min(1.0, n_stretches / (_MIN_USUAL_SHARE * usual)) if active else 0.0
    return (
        active,
        trials,
        hits,
        independent if not graded and n_stretches >= min(_MIN_ROWS, _MIN_USUAL_SHARE * usual) else 0.0,
    )


@njit(nogil=True, cache=True)
def _compute_gain(members, trials, hits, rates):
    """Return the nats that firings of members gain over their rates, and the mean of their rates beyond chance."""
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
    active, trials, hits, counted = _leave_members_out(indptr, indices, starts, on, members)
    gain, rate = _compute_gain(members, trials, hits, rates)
    return active, gain * counted, rate


@njit(nogil=True, cache=True)
def _cut(beyond):
    """Return the middle of the largest gap of the rates between two limits; 2 if there is none.

    A gap that counts is wider than a bin, so it lies between the highest rate of one bin and the lowest of a later one.
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
    """Grow a pair to a set of columns; return it, the rows where it is on, nats gained and the mean rate of its members."""
    n, no_members = len(rates), np.empty(0, np.int64)
    members, beyond = _profile(indptr, indices, starts, on, rates, u, v), np.empty(len(rates))
    for _ in range(_MAX_ITERATIONS):
        if len(members) < 4:
            return no_members, 0, 0.0, 0.0
        active, trials, hits, counted = _leave_members_out(indptr, indices, starts, on, members)
        if active < _MIN_ROWS:
            return no_members, 0, 0.0, 0.0
        for s in range(n):
            beyond[s] = (hits[s] / max(trials[s], 1) - rates[s]) / max(1 - rates[s], 1e-9)
        cut, size = _cut(beyond), 0
        for s in range(n):
            size += beyond[s] >= cut
        new, is_unchanged, size = np.empty(size, np.int64), size == len(members), 0
        for s in range(n):
            if beyond[s] >= cut:
                new[size] = s
                is_unchanged = is_unchanged and members[size] == s
                size += 1
        if is_unchanged:
            gain, rate = _compute_gain(members, trials, hits, rates)
            return members, active, gain * counted, rate
        members = new
    return no_members, 0, 0.0, 0.0


@njit(nogil=True, cache=True)
def _count_alone(unit, other_units, column, min_trials):
    """Count the rows with the unit on and no other, and those with the column on too; return True last if most are off.

    Then the first words suffice and the others are skipped; it takes ``min_trials`` rows.
    """
    n_words, trials, hits, begin = len(unit), np.uint64(0), np.uint64(0), 0
    end = min(max(4, n_words // 16), n_words)
    while True:
        for w in range(begin, end):
            alone = unit[w] & ~other_units[w]
            trials += count_ones(alone)
            hits += count_ones(alone & column[w])
        if begin == 0 and trials >= min_trials and hits < 0.3 * trials:
            return trials, hits, True
        if end == n_words:
            return trials, hits, False
        begin, end = end, n_words


@njit(nogil=True, cache=True)
def _pair_alone(bits, hidden, owner_starts, owners, rates, min_gain, start, stop):
    """Return pairs of units and columns start to stop that are on together where no other unit of the column is on."""
    n_words, n_units = bits.shape[1], len(hidden)
    units, columns, n = np.empty(1024, np.int32), np.empty(1024, np.int32), 0
    once, twice = np.zeros(n_words, np.uint64), np.zeros(n_words, np.uint64)
    is_owner = np.zeros(n_units, np.bool_)
    for column in range(start, stop):
        once_and_twice(hidden, owner_starts[column], owner_starts[column + 1], owners, once, twice)
        for i in range(owner_starts[column], owner_starts[column + 1]):
            is_owner[owners[i]] = True
        p = min(max(rates[column], 1e-9), 1 - 1e-9)
        for unit in range(n_units):
            other_units, min_trials = (twice, np.inf) if is_owner[unit] else (once, _MIN_OFF_ROWS)
            trials, hits, off_in_most = _count_alone(hidden[unit], other_units, bits[column], min_trials)
            if off_in_most:
                continue
            is_member = (is_owner[unit] and trials < 4) or (trials > 0 and hits >= 0.5 * trials)
            if is_member and not is_owner[unit]:
                r = hits / trials
                is_member = r > p
                if is_member:
                    gain = hits * np.log(r / p)
                    if r < 1:
                        gain += (trials - hits) * np.log((1 - r) / (1 - p))
                    is_member = gain >= min_gain
            if is_member:
                if n == len(units):
                    units, columns = enlarge(units), enlarge(columns)
                units[n], columns[n] = unit, column
                n += 1
        for i in range(owner_starts[column], owner_starts[column + 1]):
            is_owner[owners[i]] = False
    return units[:n].copy(), columns[:n].copy()


@njit(nogil=True, cache=True)
def _doubt(bits, hidden, owner_starts, owners, n_rows, prior, temper, start, stop, wrong):
    """Add to ``wrong`` the chances that edges of columns start to stop are not as they were decided."""
    n_words, n_units = bits.shape[1], len(hidden)
    once, twice = np.zeros(n_words, np.uint64), np.zeros(n_words, np.uint64)
    is_owner = np.zeros(n_units, np.bool_)
    for s in range(start, stop):
        once_and_twice(hidden, owner_starts[s], owner_starts[s + 1], owners, once, twice)
        for i in range(owner_starts[s], owner_starts[s + 1]):
            is_owner[owners[i]] = True
        covered, select_unexplained = np.uint64(0), np.uint64(0)
        for w in range(n_words):
            covered += count_ones(once[w])
            select_unexplained += count_ones(bits[s, w] & ~once[w])
        chance = min(max((float(select_unexplained) + 0.5) / (n_rows - float(covered) + 1), 1e-4), 0.45)
        on, off = np.log(_MEMBER_RATE / chance), np.log((1 - _MEMBER_RATE) / (1 - chance))
        for z in range(n_units):
            other_units, min_trials = (twice, np.inf) if is_owner[z] else (once, _MIN_OFF_ROWS * temper)
            trials, hits, off_in_most = _count_alone(hidden[z], other_units, bits[s], min_trials)
            if off_in_most:
                continue
            odds = prior + (float(hits) * on + (float(trials) - float(hits)) * off) / temper
            chance_of_edge = 1 / (1 + np.exp(-min(max(odds, -700.0), 700.0)))
            if is_owner[z]:
                wrong[z] += 1 - chance_of_edge
            elif hits > 0:
                wrong[z] += chance_of_edge
        for i in range(owner_starts[s], owner_starts[s + 1]):
            is_owner[owners[i]] = False
