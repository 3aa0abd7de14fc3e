"""Posteriors by Gibbs sampling with exchanges of two causes, for rows that no short sum allows.

Chains run side by side from different starts. The draws of a row depend on the seed and on its findings alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["VISITED", "sample", "states_visited", "stream_of"]

_CHAINS, _BATCHES = 4, 8
_BURN_IN, _FIRST_BATCH, _LAST_BATCH = 100, 50, 1600
_EXCHANGES = 4  # after a sweep
_ACCURATE = 0.01
VISITED = 1 << 13
# Literals are types of their own, for which a kernel is compiled once more.
_NONE, _ON, _OFF = np.int64(-1), np.bool_(True), np.bool_(False)


@njit(nogil=True, cache=True)
def stream_of(seed: np.uint64, present: np.ndarray, observed: np.ndarray) -> np.ndarray:  # pragma: no cover - compiled
    """State (1,) of the random numbers of a row: a hash of the seed and of the row's findings."""
    state = np.array([seed], np.uint64)
    for i in range(len(present)):
        state[0] ^= np.uint64(1 + present[i] + 2 * observed[i])
        state[0] = _bits(state)
    return state


@njit(nogil=True, cache=True)
def _bits(state: np.ndarray) -> np.uint64:  # pragma: no cover - compiled
    """64 random bits; splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def _uniform(state: np.ndarray) -> float:  # pragma: no cover - compiled
    """A random number in [0, 1)."""
    return float(_bits(state) >> np.uint64(11)) * 2.0**-53


@njit(nogil=True, cache=True)
def sample(
    on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray, stream: np.ndarray
) -> tuple[np.ndarray, float, float]:  # pragma: no cover - compiled
    """Probabilities (m,), log of the mass of the distinct configurations visited, and standard error.

    Chains run side by side. A chain's mean is over equal batches; when the answer is not accurate enough, pairs of
    batches become one and as many sweeps again are made. The standard error is the larger of that from all batches and that
    from the chains alone, so that chains which stay in different places show; and at least one sweep's share, since what is
    rarer than that was not seen.
    """
    m = len(on)
    strengths = -np.expm1(-loads)
    keys = np.empty(m, np.uint64)
    for k in range(m):
        keys[k] = _bits(stream)
    states = np.zeros((_CHAINS, m), np.bool_)
    for c in range(_CHAINS):
        _begin(c, on, off, loads, strengths, hazard, stream, states[c])
    sums = np.zeros((_CHAINS, _BATCHES, m))
    visited, mass = np.zeros(VISITED, np.uint64), np.array([-np.inf, 0.0, 0.0])
    length, first, error = _FIRST_BATCH, 0, np.inf
    while True:
        for c in range(_CHAINS):
            for b in range(first, _BATCHES):
                for _ in range(length):
                    _sweep(on, off, loads, strengths, hazard, stream, states[c], sums[c, b])
                    _visit(on, off, loads, hazard, keys, states[c], visited, mass)
        means, error = _summary(sums / length)
        error = max(error, 1.0 / (_CHAINS * _BATCHES * length))
        if error <= _ACCURATE or length >= _LAST_BATCH:
            return means, mass[0] + np.log(mass[1]), error
        half = _BATCHES // 2
        for c in range(_CHAINS):
            for b in range(_BATCHES):
                for k in range(m):
                    sums[c, b, k] = sums[c, 2 * b, k] + sums[c, 2 * b + 1, k] if b < half else 0.0
        first, length = half, 2 * length


@njit(nogil=True, cache=True)
def _begin(
    chain: int,
    on: np.ndarray,
    off: np.ndarray,
    loads: np.ndarray,
    strengths: np.ndarray,
    hazard: np.ndarray,
    stream: np.ndarray,
    state: np.ndarray,
) -> None:  # pragma: no cover - compiled
    """Put a chain where it starts, each otherwise, and let it forget that."""
    if chain == 0:
        _climb(on, off, strengths, hazard, loads, state)
    elif chain == 1:
        for k in range(len(on)):
            state[k] = _uniform(stream) < on[k]
    else:
        _scatter(on, strengths, stream, state)
    for _ in range(_BURN_IN):
        _sweep(on, off, loads, strengths, hazard, stream, state, np.zeros(len(on)))


@njit(nogil=True, cache=True)
def states_visited(
    on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray, stream: np.ndarray, n: int
) -> np.ndarray:  # pragma: no cover - compiled
    """Configurations (n, m) that chains pass through."""
    m = len(on)
    strengths = -np.expm1(-loads)
    found, each = np.zeros((n, m), np.bool_), n // _CHAINS
    for c in range(_CHAINS):
        state = np.zeros(m, np.bool_)
        _begin(c, on, off, loads, strengths, hazard, stream, state)
        for t in range(each):
            _sweep(on, off, loads, strengths, hazard, stream, state, np.zeros(m))
            for k in range(m):
                found[c * each + t, k] = state[k]
    return found


@njit(nogil=True, cache=True)
def _summary(batches: np.ndarray) -> tuple[np.ndarray, float]:  # pragma: no cover - compiled
    """Means (m,) of batches of chains, shape (chains, batches, m), and their standard error."""
    n_chains, n_batches, m = batches.shape
    means, largest = np.zeros(m), 0.0
    for k in range(m):
        chains = np.zeros(n_chains)
        for c in range(n_chains):
            chains[c] = batches[c, :, k].mean()
        mean = chains.mean()
        within = ((batches[:, :, k] - mean) ** 2).sum() / (n_chains * n_batches - 1) / (n_chains * n_batches)
        between = ((chains - mean) ** 2).sum() / (n_chains - 1) / n_chains
        means[k], largest = min(1.0, max(0.0, mean)), max(largest, within, between)
    return means, np.sqrt(largest)


@njit(nogil=True, cache=True)
def _sweep(
    on: np.ndarray,
    off: np.ndarray,
    loads: np.ndarray,
    strengths: np.ndarray,
    hazard: np.ndarray,
    stream: np.ndarray,
    state: np.ndarray,
    sums: np.ndarray,
) -> None:  # pragma: no cover - compiled
    """Draw every cause once given the others, add those probabilities to ``sums``, then try exchanges."""
    m, p = loads.shape
    # exp(-load) and 1 - exp(-load) of the present findings in this state, and in another one beside it
    quiet, fired, quiet_beside, fired_beside = np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    _fire(loads, hazard, state, _NONE, _NONE, quiet, fired)
    for k in range(m):
        was = state[k]
        if was:
            _fire(loads, hazard, state, k, _NONE, quiet_beside, fired_beside)
            probability = _conditional(on[k], off[k], strengths[k], quiet_beside, fired_beside)
        else:
            probability = _conditional(on[k], off[k], strengths[k], quiet, fired)
        sums[k] += probability
        state[k] = _uniform(stream) < probability
        if was and not state[k]:
            for i in range(p):
                quiet[i], fired[i] = quiet_beside[i], fired_beside[i]
        elif state[k] and not was:
            _fire(loads, hazard, state, _NONE, _NONE, quiet, fired)
    for _ in range(min(p, _EXCHANGES)):
        if _exchange(on, off, loads, strengths, hazard, stream, state, fired, quiet_beside, fired_beside):
            for i in range(p):
                fired[i] = fired_beside[i]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _conditional(
    on: float, off: float, strengths: np.ndarray, quiet: np.ndarray, fired: np.ndarray
) -> float:  # pragma: no cover - compiled
    """Probability of a cause given the others, with which the findings are as ``quiet`` and ``fired`` say."""
    against = off  # a product of factors of at most 1: where it underflows, the cause is certain
    for i in range(len(fired)):
        against *= fired[i] / (fired[i] + quiet[i] * strengths[i])
    return on / (on + against)


@njit(nogil=True, cache=True)
def _fire(
    loads: np.ndarray,
    hazard: np.ndarray,
    state: np.ndarray,
    without: int | np.int64,
    extra: int | np.int64,
    quiet: np.ndarray,
    fired: np.ndarray,
) -> None:  # pragma: no cover - compiled
    """P[off] and P[on] of the findings, shape (p,), with the causes on but for ``without``, and with ``extra``.

    Summed afresh: loads from which others were subtracted would lose leaks of 1e-12.
    """
    for i in range(len(hazard)):
        quiet[i] = hazard[i]
    for k in range(len(state)):
        if (state[k] and k != without) or k == extra:
            for i in range(len(hazard)):
                quiet[i] += loads[k, i]
    for i in range(len(hazard)):
        load = quiet[i]
        quiet[i] = np.exp(-load)
        fired[i] = 1.0 - quiet[i] if load > 1.0 else -np.expm1(-load)


@njit(nogil=True, cache=True)
def _exchange(
    on: np.ndarray,
    off: np.ndarray,
    loads: np.ndarray,
    strengths: np.ndarray,
    hazard: np.ndarray,
    stream: np.ndarray,
    state: np.ndarray,
    fired: np.ndarray,
    quiet_after: np.ndarray,
    fired_after: np.ndarray,
) -> bool:  # pragma: no cover - compiled
    """A Metropolis step that turns a cause off and another on, drawn by their strengths for one random present finding.

    ``fired`` (p,) is that of ``state`` before; the other two get those of the state proposed. Returns whether it is taken.
    """
    m, p = loads.shape
    i = int(_uniform(stream) * p)
    active, idle = 0.0, 0.0
    for k in range(m):
        if state[k]:
            active += strengths[k, i]
        else:
            idle += strengths[k, i]
    if active <= 0.0 or idle <= 0.0:
        return False
    weights = strengths[:, i].copy()
    a = _draw(weights, state, _ON, active * _uniform(stream))
    b = _draw(weights, state, _OFF, idle * _uniform(stream))
    _fire(loads, hazard, state, a, b, quiet_after, fired_after)
    ratio = np.log(on[b]) - np.log(off[b]) + np.log(off[a]) - np.log(on[a])
    # Of the way back to the way there: the draws depend on which causes are on.
    q_a, q_b = strengths[a, i], strengths[b, i]
    ratio += np.log(active / max(active - q_a + q_b, q_b)) + np.log(idle / max(idle - q_b + q_a, q_a))
    product = 1.0
    for j in range(p):
        product *= fired_after[j] / fired[j]
        if not 1e-100 < product < 1e100:
            ratio += np.log(product)
            product = 1.0
    taken = np.log(1.0 - _uniform(stream)) < ratio + np.log(product)
    if taken:
        state[a], state[b] = False, True
    return taken


@njit(nogil=True, cache=True)
def _draw(weights: np.ndarray, state: np.ndarray, value: np.bool_, target: float) -> int:  # pragma: no cover - compiled
    """A cause whose state is ``value``, where the running sum of weights passes ``target``; -1 where none has weight."""
    last, total = -1, 0.0
    for k in range(len(weights)):
        if state[k] == value and weights[k] > 0.0:
            last = k
            total += weights[k]
            if total > target:
                break
    return last


@njit(nogil=True, cache=True)
def _climb(
    on: np.ndarray, off: np.ndarray, strengths: np.ndarray, hazard: np.ndarray, loads: np.ndarray, state: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Turn on the cause that raises the probability most, as long as one does."""
    m, p = loads.shape
    quiet, fired = np.empty(p), np.empty(p)
    for _ in range(m):
        _fire(loads, hazard, state, _NONE, _NONE, quiet, fired)
        best, most = -1, 0.0
        for k in range(m):
            if not state[k]:
                gain = np.log(on[k]) - np.log(off[k])
                for i in range(p):
                    gain += np.log1p(quiet[i] * strengths[k, i] / fired[i])
                if gain > most:
                    best, most = k, gain
        if best < 0:
            return
        state[best] = True


@njit(nogil=True, cache=True)
def _scatter(
    on: np.ndarray, strengths: np.ndarray, stream: np.ndarray, state: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Turn on a random likely cause of every finding that the causes on so far leave unexplained."""
    m, p = strengths.shape
    start = int(_uniform(stream) * p)
    for j in range(p):
        i = (start + j) % p
        explained, weights, total = False, np.empty(m), 0.0
        for k in range(m):
            explained = explained or (state[k] and strengths[k, i] > 0.5)
            weights[k] = on[k] * strengths[k, i]
            total += 0.0 if state[k] else weights[k]
        if not explained:
            k = _draw(weights, state, _OFF, total * _uniform(stream))
            if k >= 0:
                state[k] = True


@njit(nogil=True, cache=True)
def _visit(
    on: np.ndarray,
    off: np.ndarray,
    loads: np.ndarray,
    hazard: np.ndarray,
    keys: np.ndarray,
    state: np.ndarray,
    visited: np.ndarray,
    mass: np.ndarray,
) -> None:  # pragma: no cover - compiled
    """Add the joint probability of a configuration not seen before to ``mass``: log of a scale, sum at it, their number."""
    m, p = loads.shape
    key = np.uint64(1)
    for k in range(m):
        if state[k]:
            key ^= keys[k]
    place = np.int64(key % np.uint64(VISITED))
    while visited[place] != np.uint64(0):
        if visited[place] == key:
            return
        place = (place + 1) % VISITED
    if mass[2] > 0.75 * VISITED:  # a lower bound still
        return
    visited[place] = key
    mass[2] += 1.0
    quiet, fired = np.empty(p), np.empty(p)
    _fire(loads, hazard, state, _NONE, _NONE, quiet, fired)
    joint = np.log(fired).sum()
    for k in range(m):
        joint += np.log(on[k]) if state[k] else np.log(off[k])
    if joint > mass[0]:
        mass[1] *= np.exp(mass[0] - joint) if mass[1] > 0 else 0.0
        mass[0] = joint
    mass[1] += np.exp(joint - mass[0])
