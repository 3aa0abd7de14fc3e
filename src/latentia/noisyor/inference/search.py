"""The likeliest configurations of the causes of a row, by best-first search from the mode.

Turning on cause k beside a set of causes S changes the logarithm of the joint probability of a configuration and the row by

    gain_k(S) = log rho_k / (1 - rho_k) - sum_(i absent) W_ki + sum_(i present) log (1 - p_i(S) t_ki) / (1 - p_i(S)),

p_i(S) being the probability that i is absent and t = exp(-W). The last sum falls as S grows, because causes explain each
other away. So a gain beside a smaller set bounds the one beside a larger set, and a cause that costs too much beside the
empty set does so beside all: few causes of a row are candidates at all.

The search climbs to a mode by single flips. Then the likeliest configuration that was not looked at yet is looked at, and of
those that differ from it by one cause the likely ones are added, as long as there are any within some nats of the best. A
sum over what it finds is one over all that is that likely and can be reached through others that are.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["MOST_CANDIDATES", "MOST_FOUND", "configurations_of_row", "likely_causes", "log_fired"]

MOST_FOUND = 128  # configurations of a row
MOST_CANDIDATES = 62  # bits of a configuration
_KEPT, _LOOKED_AT = 7.0, 6.0  # nats below the best
_LEAST_GAIN = 1e-9
_SMALL = 1e-200  # product of factors of at least 1e-12 at which its logarithm is taken


@njit(nogil=True, cache=True)
def likely_causes(gains: np.ndarray) -> np.ndarray:  # pragma: no cover - compiled
    """The causes that can be on in a likely configuration, given their gains beside the empty set; the likeliest first."""
    order = np.argsort(-gains, kind="mergesort")
    n = 0
    while n < len(order) and n < MOST_CANDIDATES and gains[order[n]] > -_KEPT:
        n += 1
    return order[:n]


@njit(nogil=True, cache=True)
def likely_configurations(
    present: np.ndarray,
    missing: np.ndarray,
    gains: np.ndarray,
    loads: np.ndarray,
    base: np.ndarray,
    kept: np.ndarray,
    silent: np.ndarray,
    alone: np.ndarray,
    own: np.ndarray,
    masks: np.ndarray,
    logs: np.ndarray,
) -> tuple[np.ndarray, int, bool]:  # pragma: no cover - compiled
    """The causes that can be on in a row with these findings, and `configurations_of_row` of them.

    ``present`` and ``missing`` are the findings that are present and those that are not known; all others are absent. ``gains``
    and ``loads`` (n, m) are what a finding adds to ``base`` (m,); ``alone`` and ``own`` (m,) are written over.
    """
    alone[:], own[:] = base, base
    for i in present:
        for k in range(len(base)):
            alone[k] += gains[i, k]
            own[k] += loads[i, k]
    for i in missing:
        for k in range(len(base)):
            alone[k] += loads[i, k]
            own[k] += loads[i, k]
    causes = likely_causes(alone)
    n, crowded = configurations_of_row(alone, own, kept, silent, causes, present, masks, logs)
    return causes, n, crowded


@njit(nogil=True, cache=True)
def configurations_of_row(
    alone: np.ndarray,
    base: np.ndarray,
    kept: np.ndarray,
    silent: np.ndarray,
    causes: np.ndarray,
    present: np.ndarray,
    masks: np.ndarray,
    logs: np.ndarray,
) -> tuple[int, bool]:  # pragma: no cover - compiled
    """Fill ``masks`` and ``logs`` with likely configurations of a row and the logarithms of their joint probabilities.

    Parameters
    ----------
    alone : ndarray of shape (m,)
        Gains beside the empty set.
    base : ndarray of shape (m,)
        log rho / (1 - rho), less the loads of the absent findings.
    kept : ndarray of shape (m, n)
        t.
    silent : ndarray of shape (n,)
        1 - leak.
    causes : ndarray of shape (c,)
        What `likely_causes` says of ``alone``.
    present : ndarray of shape (p,)
        The findings that are present.
    masks : ndarray of int64, shape (MOST_FOUND,)
        Bit a: whether causes[a] is on.
    logs : ndarray of shape (MOST_FOUND,)
        Relative to the empty configuration.

    Returns
    -------
    Number of configurations, and whether there were more of them.
    """
    c = len(causes)
    # gains[x]: those beside configuration x, or bounds on them, of causes that are off in it.
    gains, off = np.empty((len(masks), c)), np.empty(len(present))
    looked_at = np.zeros(len(masks), np.bool_)
    masks[0], logs[0] = _climb(alone, base, kept, silent, causes, present, off, gains[0])
    n, best, more = 1, logs[0], False
    while True:
        x, highest = -1, best - _LOOKED_AT
        for y in range(n):
            if not looked_at[y] and logs[y] > highest:
                x, highest = y, logs[y]
        if x < 0:
            return n, more
        looked_at[x] = True
        here = log_fired(masks[x], kept, silent, causes, present, off)
        for a in range(c):
            mask, on, k = masks[x] ^ (1 << a), masks[x] >> a & 1, causes[a]
            if (not on and logs[x] + gains[x, a] <= best - _KEPT) or _known(mask, masks, n):
                continue
            if on:
                log = logs[x] + _without(off, kept[k], present) - here - base[k]
            else:
                gains[x, a] = _with(off, kept[k], present) - here + base[k]
                log = logs[x] + gains[x, a]
            if log <= best - _KEPT:
                continue
            at = n
            if n < len(masks):
                n += 1
            else:
                at, more = int(np.argmin(logs)), True
                if logs[at] >= log or at == x:
                    continue
            masks[at], logs[at], looked_at[at] = mask, log, False
            for b in range(c):
                gains[at, b] = alone[causes[b]] if on else gains[x, b]
            best = max(best, log)


@njit(nogil=True, cache=True)
def _climb(
    alone: np.ndarray,
    base: np.ndarray,
    kept: np.ndarray,
    silent: np.ndarray,
    causes: np.ndarray,
    present: np.ndarray,
    off: np.ndarray,
    gains: np.ndarray,
) -> tuple[int, float]:  # pragma: no cover - compiled
    """A mode that single flips lead to, and its logarithm; ``gains`` (c,) gets bounds on the gains beside it."""
    mask, log = 0, 0.0
    gains[:] = alone[causes]
    for _ in range(4 * len(causes)):
        best, most = -1, _LEAST_GAIN
        here = log_fired(mask, kept, silent, causes, present, off) if mask else 0.0
        for a, k in enumerate(causes):
            gain = gains[a]
            if mask >> a & 1:
                gain = _without(off, kept[k], present) - here - base[k]
            elif mask and gain > most:  # else its bound says enough
                gain = gains[a] = _with(off, kept[k], present) - here + base[k]
            if gain > most:
                best, most = a, gain
        if best < 0:
            break
        if mask >> best & 1:
            gains[:] = alone[causes]
        mask, log = mask ^ (1 << best), log + most
    return mask, log


@njit(nogil=True, cache=True)
def _known(mask: int, masks: np.ndarray, n: int) -> bool:  # pragma: no cover - compiled
    for y in range(n):  # noqa: SIM110 - compiled
        if masks[y] == mask:
            return True
    return False


@njit(nogil=True, cache=True)
def log_fired(
    mask: int, kept: np.ndarray, silent: np.ndarray, causes: np.ndarray, present: np.ndarray, off: np.ndarray
) -> float:  # pragma: no cover - compiled
    """Fill ``off`` (p,) with P(absent) of the present findings; return the sum of the logarithms of P(present)."""
    off[:] = silent[present]
    for a, k in enumerate(causes):
        if mask >> a & 1:
            for j, i in enumerate(present):
                off[j] *= kept[k, i]
    return _log_product(1.0 - off)


@njit(nogil=True, cache=True)
def _with(off: np.ndarray, kept: np.ndarray, present: np.ndarray) -> float:  # pragma: no cover - compiled
    """The same sum with a cause on besides, ``kept`` (n,) being its t."""
    total, product = 0.0, 1.0
    for j, i in enumerate(present):
        product *= 1.0 - off[j] * kept[i]
        if product < _SMALL:
            total, product = total + np.log(product), 1.0
    return total + np.log(product)


@njit(nogil=True, cache=True)
def _without(off: np.ndarray, kept: np.ndarray, present: np.ndarray) -> float:  # pragma: no cover - compiled
    """The same sum without a cause that is on."""
    total, product = 0.0, 1.0
    for j, i in enumerate(present):
        product *= 1.0 - off[j] / kept[i]
        if product < _SMALL:
            total, product = total + np.log(product), 1.0
    return total + np.log(product)


@njit(nogil=True, cache=True)
def _log_product(factors: np.ndarray) -> float:  # pragma: no cover - compiled
    total, product = 0.0, 1.0
    for factor in factors:
        product *= factor
        if product < _SMALL:
            total, product = total + np.log(product), 1.0
    return total + np.log(product)
