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

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["MOST_CANDIDATES", "MOST_FOUND", "Likely", "SearchModel", "likely_configurations", "log_fired"]

MOST_FOUND = 128  # configurations of a row
MOST_CANDIDATES = 62  # bits of a configuration
_KEPT, _LOOKED_AT = 7.0, 6.0  # nats below the best
_LEAST_GAIN = 1e-9
_SMALL = 1e-200  # product of factors of at least 1e-12 at which its logarithm is taken


class SearchModel(NamedTuple):
    """A network of m causes and n findings as the search takes it.

    Attributes
    ----------
    gains : ndarray of shape (n, m)
        What a finding that is present adds to the gains beside the empty set.
    loads : ndarray of shape (n, m)
        W: what a finding that is not absent adds to ``base``.
    base : ndarray of shape (m,)
        log rho / (1 - rho), less the loads of all findings.
    kept : ndarray of shape (m, n)
        t.
    silent : ndarray of shape (n,)
        1 - leak.
    """

    gains: np.ndarray
    loads: np.ndarray
    base: np.ndarray
    kept: np.ndarray
    silent: np.ndarray


class Likely(NamedTuple):
    """Likely configurations of some rows.

    Attributes
    ----------
    causes : ndarray of int64, shape (n_rows, c)
        Those that can be on in a likely configuration of a row, the likeliest first; m where there are no more.
    masks : ndarray of int64, shape (n_rows, MOST_FOUND)
        Bit a: whether causes[a] is on.
    logs : ndarray of shape (n_rows, MOST_FOUND)
        Logarithms of their joint probabilities with the row, relative to the empty configuration; -inf where there are no more.
    n_found : ndarray of int64, shape (n_rows,)
        Number of configurations.
    crowded : ndarray of bool, shape (n_rows,)
        Whether there were more of them.
    """

    causes: np.ndarray
    masks: np.ndarray
    logs: np.ndarray
    n_found: np.ndarray
    crowded: np.ndarray


def likely_configurations(
    model: SearchModel, indptr: np.ndarray, indices: np.ndarray, gap_indptr: np.ndarray, gap_indices: np.ndarray
) -> Likely:
    """Search rows, given by lists of the findings that are present and of those that are not known: all others are absent."""
    n, m = len(indptr) - 1, len(model.base)
    found = Likely(
        np.full((n, min(m, MOST_CANDIDATES)), m), np.zeros((n, MOST_FOUND), np.int64), np.full((n, MOST_FOUND), -np.inf),
        np.empty(n, np.int64), np.empty(n, bool),
    )  # fmt: skip
    _search(indptr, indices, gap_indptr, gap_indices, *model, *found)
    return found


# --- kernels --------------------------------------------------------------------------------------------------------
# Loops copy and search arrays: assignments to slices, sorting and reductions would take seconds to compile.


@njit(nogil=True, cache=True)
def _search(
    indptr, indices, gap_indptr, gap_indices, gains, loads, base, kept, silent, causes, masks, logs, n_found, crowded
):  # pragma: no cover - compiled
    m, n = kept.shape
    alone, own, off = np.empty(m), np.empty(m), np.empty(n)
    # bounds[x]: gains beside configuration x, or bounds on them, of causes that are off in it.
    bounds, looked_at = np.empty((masks.shape[1], causes.shape[1])), np.empty(masks.shape[1], np.bool_)
    for r in range(len(indptr) - 1):
        for k in range(m):
            alone[k] = own[k] = base[k]
        present = indices[indptr[r] : indptr[r + 1]]
        for i in present:
            for k in range(m):
                alone[k] += gains[i, k]
                own[k] += loads[i, k]
        for place in range(gap_indptr[r], gap_indptr[r + 1]):
            for k in range(m):
                alone[k] += loads[gap_indices[place], k]
                own[k] += loads[gap_indices[place], k]
        c = _choose(alone, causes[r])
        n_found[r], crowded[r] = _configurations(
            alone, own, kept, silent, causes[r, :c], present, off, bounds, looked_at, masks[r], logs[r]
        )


@njit(nogil=True, cache=True)
def _choose(gains, causes):  # pragma: no cover - compiled
    """Fill ``causes`` with those that can be on, given their gains beside the empty set; how many they are."""
    n = 0
    for k in range(len(gains)):
        at = n
        while at > 0 and gains[causes[at - 1]] < gains[k]:
            at -= 1
        if gains[k] > -_KEPT and at < len(causes):
            n = min(n + 1, len(causes))
            for b in range(n - 1, at, -1):
                causes[b] = causes[b - 1]
            causes[at] = k
    return n


@njit(nogil=True, cache=True)
def _configurations(
    alone, base, kept, silent, causes, present, off, bounds, looked_at, masks, logs
):  # pragma: no cover - compiled
    """Fill ``masks`` and ``logs`` for a row; the number of configurations, and whether there were more of them.

    ``alone`` (m,) are gains beside the empty set, ``base`` (m,) log rho / (1 - rho) less the loads of the absent findings.
    """
    logs[0] = _climb(alone, base, kept, silent, causes, present, off, masks, bounds[0])
    looked_at[0] = False
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
        for a in range(len(causes)):
            mask, on, k = masks[x] ^ (1 << a), masks[x] >> a & 1, causes[a]
            if not on and logs[x] + bounds[x, a] <= best - _KEPT:
                continue
            known = False
            for y in range(n):
                known |= masks[y] == mask
            if known:
                continue
            if on:
                log = logs[x] + _without(off, kept[k], present) - here - base[k]
            else:
                bounds[x, a] = _with(off, kept[k], present) - here + base[k]
                log = logs[x] + bounds[x, a]
            if log <= best - _KEPT:
                continue
            at = n
            if n < len(masks):
                n += 1
            else:
                at, more = 0, True
                for y in range(1, n):
                    if logs[y] < logs[at]:
                        at = y
                if logs[at] >= log or at == x:
                    continue
            masks[at], logs[at], looked_at[at] = mask, log, False
            for b in range(len(causes)):
                bounds[at, b] = alone[causes[b]] if on else bounds[x, b]
            best = max(best, log)


@njit(nogil=True, cache=True)
def _climb(alone, base, kept, silent, causes, present, off, masks, gains):  # pragma: no cover - compiled
    """The logarithm of a mode that single flips lead to, left in ``masks[0]``; ``gains`` (c,) gets bounds beside it."""
    log, here, masks[0] = 0.0, 0.0, 0
    for a, k in enumerate(causes):
        gains[a] = alone[k]
    for _ in range(4 * len(causes)):
        best, most, mask = -1, _LEAST_GAIN, masks[0]
        if mask:
            here = log_fired(mask, kept, silent, causes, present, off)
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
            for a, k in enumerate(causes):
                gains[a] = alone[k]
        masks[0], log = mask ^ (1 << best), log + most
    return log


@njit(nogil=True, cache=True)
def log_fired(mask, kept, silent, causes, present, off):  # pragma: no cover - compiled
    """Fill ``off`` with P(absent) of the present findings; return the sum of the logarithms of P(present)."""
    for j, i in enumerate(present):
        off[j] = silent[i]
    for a, k in enumerate(causes):
        if mask >> a & 1:
            for j, i in enumerate(present):
                off[j] *= kept[k, i]
    total, product = 0.0, 1.0
    for j in range(len(present)):
        product *= 1.0 - off[j]
        if product < _SMALL:
            total, product = total + np.log(product), 1.0
    return total + np.log(product)


@njit(nogil=True, cache=True)
def _with(off, kept, present):  # pragma: no cover - compiled
    """The same sum with a cause on besides, ``kept`` (n,) being its t."""
    total, product = 0.0, 1.0
    for j, i in enumerate(present):
        product *= 1.0 - off[j] * kept[i]
        if product < _SMALL:
            total, product = total + np.log(product), 1.0
    return total + np.log(product)


@njit(nogil=True, cache=True)
def _without(off, kept, present):  # pragma: no cover - compiled
    """The same sum without a cause that is on."""
    total, product = 0.0, 1.0
    for j, i in enumerate(present):
        product *= 1.0 - off[j] / kept[i]
        if product < _SMALL:
            total, product = total + np.log(product), 1.0
    return total + np.log(product)
