"""Posteriors by Gibbs sampling with exchanges of two causes, for rows without a short sum.

Chains run in parallel from different starts. The draws of a row depend on the seed and on its findings alone. Only links
between causes and findings are read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

_N_CHAINS, _N_BATCHES = 4, 8
_BURN_IN, _FIRST_BATCH, _LAST_BATCH = 100, 50, 1600  # sweeps of the burn-in, and of the first and the longest batches
_N_EXCHANGES = 4  # exchanges tried after a sweep
_MAX_ERROR = 0.01  # standard error at which sampling stops
MAX_VISITED = 1 << 13  # distinct configurations that are remembered
# Typed constants: a literal has another type, for which numba would compile a kernel once more.
_NO_CAUSE, _ON, _OFF = np.int64(-1), np.bool_(True), np.bool_(False)


class _Row(NamedTuple):
    """Causes of a row, given its absent findings, and its p present findings.

    Attributes
    ----------
    on, off : ndarray of shape (m,)
        Priors.
    absence_factors, strengths : ndarray of shape (m, p)
        exp(-W), and 1 - exp(-W).
    silent, leak : ndarray of shape (p,)
        P[off] and P[on] of the findings if no cause is on.
    ends, places : ndarray of int64, shape (m + 1,), (n_links,)
        Findings of each cause.
    links : ndarray of shape (n_links,)
        Strengths of these links.
    starts, parents : ndarray of int64, shape (p + 1,), (n_links,)
        Causes of each finding.
    """

    on: np.ndarray
    off: np.ndarray
    absence_factors: np.ndarray
    strengths: np.ndarray
    silent: np.ndarray
    leak: np.ndarray
    ends: np.ndarray
    places: np.ndarray
    links: np.ndarray
    starts: np.ndarray
    parents: np.ndarray

    @classmethod
    def from_loads(cls, on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray) -> _Row:
        (causes, places), (findings, parents) = np.nonzero(loads), np.nonzero(loads.T)
        ends, starts = (
            np.append(0, np.cumsum(np.bincount(numbers, minlength=size)))
            for numbers, size in zip((causes, findings), loads.shape, strict=True)
        )
        absence_factors = np.exp(-loads)
        strengths = -np.expm1(-loads)
        silent = np.exp(-hazard)
        leak = -np.expm1(-hazard)
        links = strengths[causes, places]
        places, parents = np.ascontiguousarray(places), np.ascontiguousarray(parents)
        return cls(on, off, absence_factors, strengths, silent, leak, ends, places, links, starts, parents)


class _Chain(NamedTuple):
    """A chain: its configuration, and probabilities of findings under it.

    Attributes
    ----------
    state : ndarray of bool, shape (m,)
    active : ndarray of int64, shape (m + 1,)
        Causes that are on; the last place holds their number.
    quiet, fired : ndarray of shape (p,)
        P[off] and P[on] of the findings.
    """

    state: np.ndarray
    active: np.ndarray
    quiet: np.ndarray
    fired: np.ndarray


@njit(nogil=True, cache=True)
def start_stream(seed: np.uint64, present: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return the state (1,) of a row's random numbers: a hash of the seed and of the row's findings."""
    state = np.array([seed], np.uint64)
    for i in range(len(present)):
        state[0] ^= np.uint64(1 + present[i] + 2 * observed[i])
        state[0] = _draw_bits(state)
    return state


@njit(nogil=True, cache=True)
def _draw_bits(state: np.ndarray) -> np.uint64:
    """Draw 64 random bits by splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def _draw_uniform(state: np.ndarray) -> float:
    """Draw a random number in [0, 1)."""
    return float(_draw_bits(state) >> np.uint64(11)) * 2.0**-53


def sample(
    on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray, stream: np.ndarray
) -> tuple[np.ndarray, float, float]:
    """Sample probabilities (m,); also return log of the mass of the distinct visited configurations, and the standard error.

    A chain's mean is over equal batches. If the error is too large, pairs of batches merge and as many sweeps follow again. The
    standard error is the larger of that from all batches and that from the chains alone, which shows chains that stay in
    different places; it is at least one sweep's share, as rarer configurations were not visited.
    """
    return _sample(_Row.from_loads(on, off, loads, hazard), stream)


@njit(nogil=True, cache=True)
def _sample(row: _Row, stream: np.ndarray) -> tuple[np.ndarray, float, float]:
    m = len(row.on)
    keys = np.empty(m, np.uint64)
    for k in range(m):
        keys[k] = _draw_bits(stream)
    chains = [_start_chain(c, row, stream) for c in range(_N_CHAINS)]
    sums = np.zeros((_N_CHAINS, _N_BATCHES, m))
    visited, mass = np.zeros(MAX_VISITED, np.uint64), np.array([-np.inf, 0.0, 0.0])
    length, first, error = _FIRST_BATCH, 0, np.inf
    while True:
        for c in range(_N_CHAINS):
            for b in range(first, _N_BATCHES):
                for _ in range(length):
                    _sweep(row, stream, chains[c], sums[c, b])
                    _visit(row, keys, chains[c], visited, mass)
        means, error = _summarise_batches(sums, length)
        error = max(error, 1.0 / (_N_CHAINS * _N_BATCHES * length))
        if error <= _MAX_ERROR or length >= _LAST_BATCH:
            return means, mass[0] + np.log(mass[1]), error
        half = _N_BATCHES // 2
        for c in range(_N_CHAINS):
            for b in range(_N_BATCHES):
                for k in range(m):
                    sums[c, b, k] = sums[c, 2 * b, k] + sums[c, 2 * b + 1, k] if b < half else 0.0
        first, length = half, 2 * length


@njit(nogil=True, cache=True)
def _start_chain(chain: int, row: _Row, stream: np.ndarray) -> _Chain:
    """Start a chain, each in its own way, and run its burn-in."""
    m = len(row.on)
    started = _Chain(np.zeros(m, np.bool_), np.zeros(m + 1, np.int64), row.silent.copy(), row.leak.copy())
    if chain == 0:
        _climb(row, started)
    elif chain == 1:
        for k in range(m):
            if _draw_uniform(stream) < row.on[k]:
                _flip_cause(row, started, k)
    else:
        _scatter(row, stream, started)
    for _ in range(_BURN_IN):
        _sweep(row, stream, started, np.zeros(m))
    return started


def list_visited_states(
    on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray, stream: np.ndarray, n: int
) -> np.ndarray:
    """List configurations (n, m) that chains pass through."""
    states = np.zeros((n, len(on)), np.bool_)
    _pass_through(_Row.from_loads(on, off, loads, hazard), stream, states)
    return states


@njit(nogil=True, cache=True)
def _pass_through(row: _Row, stream: np.ndarray, states: np.ndarray) -> None:
    n_per_chain = len(states) // _N_CHAINS
    for c in range(_N_CHAINS):
        chain = _start_chain(c, row, stream)
        for t in range(n_per_chain):
            _sweep(row, stream, chain, np.zeros(len(row.on)))
            for k in range(len(row.on)):
                states[c * n_per_chain + t, k] = chain.state[k]


@njit(nogil=True, cache=True)
def _summarise_batches(sums: np.ndarray, length: int) -> tuple[np.ndarray, float]:
    """Return means (m,) and the standard error, from sums over batches of ``length`` sweeps, (chains, batches, m)."""
    n_chains, n_batches, m = sums.shape
    means, chains, largest = np.zeros(m), np.empty(n_chains), 0.0
    for k in range(m):
        mean = within = between = 0.0
        for c in range(n_chains):
            chains[c] = 0.0
            for b in range(n_batches):
                chains[c] += sums[c, b, k] / length
            chains[c] /= n_batches
            mean += chains[c]
        mean /= n_chains
        for c in range(n_chains):
            for b in range(n_batches):
                within += (sums[c, b, k] / length - mean) ** 2
            between += (chains[c] - mean) ** 2
        within /= (n_chains * n_batches - 1) * n_chains * n_batches
        between /= (n_chains - 1) * n_chains
        means[k], largest = min(1.0, max(0.0, mean)), max(largest, within, between)
    return means, np.sqrt(largest)


@njit(nogil=True, cache=True)
def _flip_cause(row: _Row, chain: _Chain, k: int) -> None:
    """Turn a cause off or on."""
    row_arrays = row.absence_factors, row.silent, row.leak, row.ends, row.places
    _flip(k, *row_arrays, chain.state, chain.active, chain.quiet, chain.fired)


@njit(nogil=True, cache=True)
def _sweep(row: _Row, stream: np.ndarray, chain: _Chain, sums: np.ndarray) -> None:
    """Draw every cause once given the others, add its probabilities to ``sums``, then try exchanges."""
    cause_arrays = row.on, row.off, row.absence_factors, row.strengths, row.silent, row.leak
    links = row.ends, row.places, row.links, row.starts, row.parents
    _draw_all(*cause_arrays, *links, stream, chain.state, chain.active, chain.quiet, chain.fired, sums)


# Inner loops take arrays: numba would count references to the arrays of a record at every call.
@njit(nogil=True, cache=True)
def _draw_all(
    on, off, absence_factors, strengths, silent, leak, ends, places, links, starts, parents, stream,
    state, active, quiet, fired, sums,
):  # fmt: skip
    m, p = strengths.shape
    for k in range(m):
        against = off[k]  # a product of factors of at most 1: where it underflows, the cause is certain
        for e in range(ends[k], ends[k + 1]):
            i = places[e]
            other_absent, other_present = quiet[i], fired[i]
            if state[k]:
                other_absent, other_present = _absence_of_finding(
                    i, absence_factors, silent, leak, active, k, _NO_CAUSE
                )
            against *= other_present / (other_present + other_absent * links[e])
        probability = on[k] / (on[k] + against)
        sums[k] += probability
        if state[k] != (_draw_uniform(stream) < probability):
            _flip(k, absence_factors, silent, leak, ends, places, state, active, quiet, fired)
    for _ in range(min(p, _N_EXCHANGES)):
        i = int(_draw_uniform(stream) * p)
        parents_of_finding = parents[starts[i] : starts[i + 1]]
        _exchange(
            parents_of_finding,
            strengths[:, i],
            on,
            off,
            absence_factors,
            silent,
            leak,
            ends,
            places,
            stream,
            state,
            active,
            quiet,
            fired,
        )


@njit(nogil=True, cache=True)
def _flip(k, absence_factors, silent, leak, ends, places, state, active, quiet, fired):
    state[k] = not state[k]
    n = active[-1]
    if state[k]:
        active[n], active[-1] = k, n + 1
    else:
        place = 0
        while active[place] != k:
            place += 1
        active[place], active[-1] = active[n - 1], n - 1
    for e in range(ends[k], ends[k + 1]):
        i = places[e]
        quiet[i], fired[i] = _absence_of_finding(i, absence_factors, silent, leak, active, _NO_CAUSE, _NO_CAUSE)


@njit(nogil=True, cache=True)
def _absence_of_finding(i, absence_factors, silent, leak, active, without, extra):
    """Return P[off] and P[on] of a finding with the causes that are on, except ``without``, and with ``extra``.

    The product is computed anew: dividing factors out would lose leaks of 1e-12.
    """
    quiet = silent[i]
    for a in range(active[-1]):
        if active[a] != without:
            quiet *= absence_factors[active[a], i]
    if extra >= 0:
        quiet *= absence_factors[extra, i]
    return quiet, 1.0 - quiet if quiet < silent[i] else leak[i]


@njit(nogil=True, cache=True)
def _exchange(
    parents, weights, on, off, absence_factors, silent, leak, ends, places, stream, state, active, quiet, fired
):
    """Try a Metropolis step that turns one cause off and another on, both drawn by their strengths for a present finding.

    ``parents`` are the causes of the finding, ``weights`` (m,) the strengths of all causes for it.
    """
    on_weight, off_weight = 0.0, 0.0
    for k in parents:
        if state[k]:
            on_weight += weights[k]
        else:
            off_weight += weights[k]
    if on_weight <= 0.0 or off_weight <= 0.0:
        return
    a = _draw(parents, weights, state, _ON, on_weight * _draw_uniform(stream))
    b = _draw(parents, weights, state, _OFF, off_weight * _draw_uniform(stream))
    ratio = np.log(on[b]) - np.log(off[b]) + np.log(off[a]) - np.log(on[a])
    # The proposal depends on which causes are on: correct for the ratio of its probabilities back and forth.
    q_a, q_b = weights[a], weights[b]
    ratio += np.log(on_weight / max(on_weight - q_a + q_b, q_b)) + np.log(off_weight / max(off_weight - q_b + q_a, q_a))
    product = 1.0
    for cause in (a, b):
        for e in range(ends[cause], ends[cause + 1]):
            i = places[e]
            if cause == a or absence_factors[a, i] == 1.0:  # otherwise the first cause covers it
                product *= _absence_of_finding(i, absence_factors, silent, leak, active, a, b)[1] / fired[i]
                if not 1e-100 < product < 1e100:
                    ratio, product = ratio + np.log(product), 1.0
    if np.log(1.0 - _draw_uniform(stream)) < ratio + np.log(product):
        _flip(a, absence_factors, silent, leak, ends, places, state, active, quiet, fired)
        _flip(b, absence_factors, silent, leak, ends, places, state, active, quiet, fired)


@njit(nogil=True, cache=True)
def _draw(parents, weights, state, value, target):
    """Return the parent with state ``value`` at which the running sum of weights passes ``target``; -1 if there is none."""
    last, total = -1, 0.0
    for k in parents:
        if state[k] == value and weights[k] > 0.0:
            last = k
            total += weights[k]
            if total > target:
                break
    return last


@njit(nogil=True, cache=True)
def _climb(row: _Row, chain: _Chain) -> None:
    """Turn on the cause that raises the probability most, as long as one does."""
    for _ in range(len(row.on)):
        best, largest_gain = int(_NO_CAUSE), 0.0
        for k in range(len(row.on)):
            if not chain.state[k]:
                gain = np.log(row.on[k]) - np.log(row.off[k])
                for e in range(row.ends[k], row.ends[k + 1]):
                    i = row.places[e]
                    gain += np.log1p(chain.quiet[i] * row.links[e] / chain.fired[i])
                if gain > largest_gain:
                    best, largest_gain = k, gain
        if best < 0:
            return
        _flip_cause(row, chain, best)


@njit(nogil=True, cache=True)
def _scatter(row: _Row, stream: np.ndarray, chain: _Chain) -> None:
    """Turn on a random likely cause of every finding that the causes so far leave unexplained."""
    p = len(row.leak)
    start = int(_draw_uniform(stream) * p)
    for j in range(p):
        i = (start + j) % p
        parents = row.parents[row.starts[i] : row.starts[i + 1]]
        explained, weights, total = False, row.on * row.strengths[:, i], 0.0
        for k in parents:
            explained = explained or (chain.state[k] and row.strengths[k, i] > 0.5)
            total += 0.0 if chain.state[k] else weights[k]
        if not explained:
            k = _draw(parents, weights, chain.state, _OFF, total * _draw_uniform(stream))
            if k >= 0:
                _flip_cause(row, chain, k)


@njit(nogil=True, cache=True)
def _visit(row: _Row, keys: np.ndarray, chain: _Chain, visited: np.ndarray, mass: np.ndarray) -> None:
    """Add the joint probability of a new configuration to ``mass``: log scale, sum at that scale, and count."""
    key = np.uint64(1)
    for a in range(chain.active[-1]):
        key ^= keys[chain.active[a]]
    place = np.int64(key % np.uint64(MAX_VISITED))
    while visited[place] != np.uint64(0):
        if visited[place] == key:
            return
        place = (place + 1) % MAX_VISITED
    if mass[2] > 0.75 * MAX_VISITED:  # the table is full: the mass stays a lower bound
        return
    visited[place] = key
    mass[2] += 1.0
    joint = np.log(chain.fired).sum() + np.log(row.off).sum()
    for a in range(chain.active[-1]):
        joint += np.log(row.on[chain.active[a]]) - np.log(row.off[chain.active[a]])
    if joint > mass[0]:
        mass[1] *= np.exp(mass[0] - joint) if mass[1] > 0 else 0.0
        mass[0] = joint
    mass[1] += np.exp(joint - mass[0])
