"""The likeliest configurations of the causes of a row, by best-first search from the mode.

Turning on cause k, given a set of causes S, changes the logarithm of the joint probability of a configuration and the row by

    gain_k(S) = log rho_k / (1 - rho_k) - sum_(i absent) W_ki + sum_(i present) log (1 - p_i(S) t_ki) / (1 - p_i(S)),

p_i(S) being the probability that i is absent and t = exp(-W). The last sum falls as S grows, because causes explain each
other away. So a gain given a smaller set bounds that given a larger one. A cause that costs too much given the empty
set always does: few causes of a row are candidates at all.

The search climbs to a mode by single flips. Then it expands the likeliest configuration not expanded yet: likely ones that
differ from it by one cause are added, until none within some nats of the best remains. The result holds all configurations that
are likely and can be reached through likely ones.

Only links are read, pairs of a cause and a finding with t < 1: those of the present findings of a row, and of its candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

MAX_CONFIGURATIONS = 128  # listed configurations of a row
MAX_CANDIDATES = 62  # causes of a configuration, one a bit
_MAX_NATS_BELOW, _MAX_NATS_EXPANDED = 7.0, 6.0  # nats below the best of listed, and of expanded configurations
_MIN_GAIN = 1e-9  # smaller gains are rounding
_SMALL, _LARGE = 1e-200, 1e200  # products of factors from 1e-12 to 1e12 at which logarithms are taken
_MIN_PROBABILITY = 1e-15  # smallest P(present), against rounding


class SearchModel(NamedTuple):
    """A network of m causes and n findings as lists of links, by finding and by cause.

    Attributes
    ----------
    starts : ndarray of int64, shape (n + 1,)
        Start of the links of each finding.
    parents : ndarray of int32, shape (n_links,)
        Causes of these links.
    gains : ndarray of shape (n_links,)
        Contribution of the finding, if it is present, to the gain of the cause given the empty set.
    first : ndarray of int64, shape (m + 1,)
        Start of the links of each cause.
    findings : ndarray of int32, shape (n_links,)
        Findings of these links.
    absence_factors : ndarray of shape (n_links,)
        t of these links.
    base : ndarray of shape (m,)
        log rho / (1 - rho), less the weights of all findings.
    silent : ndarray of shape (n,)
        1 - leak.
    """

    starts: np.ndarray
    parents: np.ndarray
    gains: np.ndarray
    first: np.ndarray
    findings: np.ndarray
    absence_factors: np.ndarray
    base: np.ndarray
    silent: np.ndarray

    @classmethod
    def from_strengths(cls, strengths: np.ndarray, leak: np.ndarray, priors: np.ndarray) -> SearchModel:
        """Return the model of strengths (m, n), leaks and priors that are neither 0 nor 1."""
        causes, findings = np.nonzero(strengths)
        absence_factors, silent = 1 - strengths[causes, findings], 1 - leak
        gains = -np.log(absence_factors) + np.log1p(-silent[findings] * absence_factors) - np.log(leak[findings])
        base = np.log(priors) - np.log1p(-priors) + np.log1p(-strengths).sum(axis=1)
        order = np.argsort(findings, kind="stable")
        first, starts = (
            np.append(0, np.cumsum(np.bincount(numbers, minlength=size)))
            for numbers, size in ((causes, len(priors)), (findings, len(leak)))
        )
        parents, findings = causes[order].astype(np.int32), findings.astype(np.int32)
        return cls(starts, parents, gains[order], first, findings, absence_factors, base, silent)

    @property
    def causes(self) -> np.ndarray:
        """Cause of every link, in the order of causes."""
        return np.repeat(np.arange(len(self.base)), np.diff(self.first))


class LikelyConfigurations(NamedTuple):
    """Likely configurations of some rows.

    Attributes
    ----------
    causes : ndarray of int64, shape (n_rows, c)
        Causes that can be on in a likely configuration of a row, the likeliest first, padded with m.
    masks : ndarray of int64, shape (n_rows, MAX_CONFIGURATIONS)
        Bit a is set if causes[a] is on.
    logs : ndarray of shape (n_rows, MAX_CONFIGURATIONS)
        Log joint probabilities with the row, relative to the empty configuration, padded with -inf.
    n_configurations : ndarray of int64, shape (n_rows,)
        Number of configurations.
    crowded : ndarray of bool, shape (n_rows,)
        Whether there are more than can be listed.
    """

    causes: np.ndarray
    masks: np.ndarray
    logs: np.ndarray
    n_configurations: np.ndarray
    crowded: np.ndarray


def likely_configurations(
    model: SearchModel, indptr: np.ndarray, indices: np.ndarray, gap_indptr: np.ndarray, gap_indices: np.ndarray
) -> LikelyConfigurations:
    """Search the configurations of rows, given by lists of present and of unknown findings; all others are absent."""
    n, m = len(indptr) - 1, len(model.base)
    result = LikelyConfigurations(
        np.full((n, min(m, MAX_CANDIDATES)), m), np.zeros((n, MAX_CONFIGURATIONS), np.int64),
        np.full((n, MAX_CONFIGURATIONS), -np.inf),
        np.empty(n, np.int64), np.empty(n, bool),
    )  # fmt: skip
    _search(indptr, indices, gap_indptr, gap_indices, *model, *result)
    return result


# --- kernels --------------------------------------------------------------------------------------------------------
# Loops copy and search arrays, since slices, sorting and reductions would take seconds to compile.


@njit(nogil=True, cache=True)
def _search(
    indptr, indices, gap_indptr, gap_indices, starts, parents, gains, first, findings, absence_factors, base, silent, causes,
    masks, logs, n_configurations, crowded,
):  # fmt: skip
    m, n, max_causes = len(base), len(silent), causes.shape[1]
    alone, base_with_links, base_of_row, off, fired = np.empty(m), np.empty(m), np.empty(m), np.empty(n), np.empty(n)
    scratch, ends = np.full(n, -1), np.empty(max_causes + 1, np.int64)
    size = bound_links(first, max_causes)
    link_numbers, places, row_factors = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    # bounds[x]: gains, or bounds on them, of causes that are off in configuration x.
    bounds, is_expanded = np.empty((masks.shape[1], max_causes)), np.empty(masks.shape[1], np.bool_)
    for r in range(len(indptr) - 1):
        for k in range(m):
            base_of_row[k] = base[k]
        for place in range(gap_indptr[r], gap_indptr[r + 1]):
            scratch[gap_indices[place]] = 0
        if gap_indptr[r + 1] > gap_indptr[r]:
            for k in range(m):
                for e in range(first[k], first[k + 1]):
                    if scratch[findings[e]] == 0:
                        base_of_row[k] -= np.log(absence_factors[e])
        for place in range(gap_indptr[r], gap_indptr[r + 1]):
            scratch[gap_indices[place]] = -1
        for k in range(m):
            alone[k] = base_of_row[k]
        present = indices[indptr[r] : indptr[r + 1]]
        for i in present:
            for e in range(starts[i], starts[i + 1]):
                alone[parents[e]] += gains[e]
        c = _choose_candidates(alone, causes[r])
        list_row_links(
            present, first, findings, absence_factors, causes[r, :c], scratch, ends, link_numbers, places, row_factors
        )
        for a in range(c):
            k = causes[r, a]
            base_with_links[k] = base_of_row[k]
            for x in range(ends[a], ends[a + 1]):
                base_with_links[k] -= np.log(row_factors[x])
        n_configurations[r], crowded[r] = _list_configurations(
            alone, base_with_links, silent, causes[r, :c], present, ends, places, row_factors, off, fired, bounds, is_expanded,
            masks[r], logs[r],
        )  # fmt: skip


@njit(nogil=True, cache=True)
def bound_links(first, n_causes):
    """Return a bound on the number of links of ``n_causes`` causes."""
    max_links = 0
    for k in range(len(first) - 1):
        max_links = max(max_links, first[k + 1] - first[k])
    return min(max_links * n_causes, first[-1])


@njit(nogil=True, cache=True)
def list_row_links(present, first, findings, absence_factors, causes, scratch, ends, link_numbers, places, row_factors):
    """List the links of some causes with the present findings; those of causes[a] go from ends[a] to ends[a + 1].

    ``link_numbers`` gets their numbers, ``places`` that of the finding among the present ones, ``row_factors`` t. ``scratch``
    (n,) is -1 before and after.
    """
    for j, i in enumerate(present):
        scratch[i] = j
    place = ends[0] = 0
    for a, k in enumerate(causes):
        for e in range(first[k], first[k + 1]):
            j = scratch[findings[e]]
            if j >= 0:
                link_numbers[place], places[place], row_factors[place] = e, j, absence_factors[e]
                place += 1
        ends[a + 1] = place
    for i in present:
        scratch[i] = -1


@njit(nogil=True, cache=True)
def _choose_candidates(gains, causes):
    """Fill ``causes`` with those that can be on, given gains given the empty set; return their number."""
    n = 0
    for k in range(len(gains)):
        if gains[k] <= -_MAX_NATS_BELOW:
            continue
        at = n
        while at > 0 and gains[causes[at - 1]] < gains[k]:
            at -= 1
        if at < len(causes):
            n = min(n + 1, len(causes))
            for b in range(n - 1, at, -1):
                causes[b] = causes[b - 1]
            causes[at] = k
    return n


@njit(nogil=True, cache=True)
def _list_configurations(
    alone, base, silent, causes, present, ends, places, row_factors, off, fired, bounds, is_expanded, masks, logs
):
    """Fill ``masks`` and ``logs`` for a row; return the number of configurations, and whether there were more.

    ``alone`` (m,) are gains given the empty set, ``base`` (m,) log rho / (1 - rho) less the loads of the absent findings.
    """
    logs[0] = _climb(alone, base, silent, causes, present, ends, places, row_factors, off, fired, masks, bounds[0])
    is_expanded[0] = False
    n, best, is_crowded = 1, logs[0], False
    while True:
        x, highest = -1, best - _MAX_NATS_EXPANDED
        for y in range(n):
            if not is_expanded[y] and logs[y] > highest:
                x, highest = y, logs[y]
        if x < 0:
            return n, is_crowded
        is_expanded[x] = True
        compute_absence(masks[x], silent, present, ends, places, row_factors, off, fired)
        for a in range(len(causes)):
            mask, on, k = masks[x] ^ (1 << a), masks[x] >> a & 1, causes[a]
            if not on and logs[x] + bounds[x, a] <= best - _MAX_NATS_BELOW:
                continue
            is_listed = False
            for y in range(n):
                is_listed |= masks[y] == mask
            if is_listed:
                continue
            if on:
                log = logs[x] + _gain_of_removing(ends[a], ends[a + 1], places, row_factors, off, fired) - base[k]
            else:
                bounds[x, a] = _gain_of_adding(ends[a], ends[a + 1], places, row_factors, off, fired) + base[k]
                log = logs[x] + bounds[x, a]
            if log <= best - _MAX_NATS_BELOW:
                continue
            at = n
            if n < len(masks):
                n += 1
            else:
                at, is_crowded = 0, True
                for y in range(1, n):
                    if logs[y] < logs[at]:
                        at = y
                if logs[at] >= log or at == x:
                    continue
            masks[at], logs[at], is_expanded[at] = mask, log, False
            for b in range(len(causes)):
                bounds[at, b] = alone[causes[b]] if on else bounds[x, b]
            best = max(best, log)


@njit(nogil=True, cache=True)
def _climb(alone, base, silent, causes, present, ends, places, row_factors, off, fired, masks, gains):
    """Climb to a mode by single flips, left in ``masks[0]``; return its logarithm and fill ``gains`` (c,) with bounds."""
    log, masks[0] = 0.0, 0
    for a, k in enumerate(causes):
        gains[a] = alone[k]
    for _ in range(4 * len(causes)):
        best, largest_gain, mask = -1, _MIN_GAIN, masks[0]
        if mask:
            compute_absence(mask, silent, present, ends, places, row_factors, off, fired)
        for a, k in enumerate(causes):
            gain = gains[a]
            if mask >> a & 1:
                gain = _gain_of_removing(ends[a], ends[a + 1], places, row_factors, off, fired) - base[k]
            elif mask and gain > largest_gain:  # otherwise its bound rules it out
                gain = gains[a] = _gain_of_adding(ends[a], ends[a + 1], places, row_factors, off, fired) + base[k]
            if gain > largest_gain:
                best, largest_gain = a, gain
        if best < 0:
            break
        if mask >> best & 1:
            for a, k in enumerate(causes):
                gains[a] = alone[k]
        masks[0], log = mask ^ (1 << best), log + largest_gain
    return log


@njit(nogil=True, cache=True)
def compute_absence(mask, silent, present, ends, places, row_factors, off, fired):
    """Fill ``off`` with P(absent) of the present findings and ``fired`` with 1 / P(present) in a configuration."""
    for j, i in enumerate(present):
        off[j] = silent[i]
    a = 0
    while mask >> a:
        if mask >> a & 1:
            for x in range(ends[a], ends[a + 1]):
                off[places[x]] *= row_factors[x]
        a += 1
    for j in range(len(present)):
        fired[j] = 1.0 / (1.0 - off[j])


@njit(nogil=True, cache=True)
def _gain_of_adding(start, stop, places, row_factors, off, fired):
    """Return the change of the sum of log P(present) if a cause with these links is turned on."""
    total, product = 0.0, 1.0
    for x in range(start, stop):
        product *= (1.0 - off[places[x]] * row_factors[x]) * fired[places[x]]
        if product > _LARGE:
            total, product = total + np.log(product), 1.0
    return total + np.log(product)


@njit(nogil=True, cache=True)
def _gain_of_removing(start, stop, places, row_factors, off, fired):
    """Return the change of the sum of log P(present) if a cause with these links is turned off."""
    total, product = 0.0, 1.0
    for x in range(start, stop):
        product *= max(1.0 - off[places[x]] / row_factors[x], _MIN_PROBABILITY) * fired[places[x]]
        if product < _SMALL:
            total, product = total + np.log(product), 1.0
    return total + np.log(product)
