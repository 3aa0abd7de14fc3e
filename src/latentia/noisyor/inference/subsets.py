"""Posteriors by a sum over the subsets of a row's present findings P (Quickscore):

    P[x] = sum_(T subset of P) (-1)^|T| prod_(i in T) (1 - leak_i) prod_k (1 - rho_k + rho_k exp(-sum_(i in T) W_ki)),

2^|P| m operations, with the priors rho_k given the absent findings. Terms cancel if the findings are rare. The sum itself
shows how many digits are lost. If too few remain, causes are added one by one to the distribution of the set of findings
explained so far: the same sum over subsets without subtractions. It takes |P| times as long, or less than the first if most
pairs of causes and findings have no link.

Source: D. Heckerman, A tractable inference algorithm for diagnosing multiple diseases, UAI 1989.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .records import EPS

MAX_PRESENT = 14  # present findings of a sum with subtractions: 2^14 terms
MAX_COVERED = 16  # present findings of a sum without subtractions: 2^16 sets take as long as sampling
MAX_ERROR = 1e-9  # error of Quickscore above which the sum is repeated without subtractions


def count_terms(loads: np.ndarray) -> int:
    """Count the terms of a sum without subtractions, which runs over links alone."""
    return (np.count_nonzero(loads) + len(loads)) << loads.shape[1]


def sum_over_subsets(
    on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray, may_cover: bool
) -> tuple[float, np.ndarray, float]:
    """Compute P[x], P[x, d_k = 1] of shape (m,), and a bound on the relative error of both."""
    (m, p), few_links = loads.shape, may_cover and 2 * count_terms(loads) < loads.size << loads.shape[1]
    digits = EPS * np.sqrt(m + p)  # relative error of a term, a product of m + p factors
    if p <= MAX_PRESENT and not few_links:
        likelihood, joint, absolute = _sum_alternating(on, off, np.exp(-loads.T), np.exp(-hazard))
        error = float(digits * absolute / likelihood) if likelihood > 0 else np.inf
        if error <= MAX_ERROR or not may_cover:
            return likelihood, joint, error
    likelihood, joint = _sum_without_subtractions(on, off, loads, hazard)
    return likelihood, joint, float(digits * 8)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _sum_alternating(
    on: np.ndarray, off: np.ndarray, absence_factors: np.ndarray, quiet: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Compute the alternating sums P[x], P[x, d_k = 1] of shape (m,), and the sum of absolute terms.

    ``absence_factors`` (p, m) is exp(-W), ``quiet`` (p,) is 1 - leak, both for the present findings.
    """
    p, m = absence_factors.shape
    # A subset is its parent, without its lowest member, times that member. The last subset with a given lowest member is the
    # parent of all that follow until the next such subset.
    path, weight = np.empty((p + 1, m)), np.empty(p + 1)
    joint, share = np.empty(m), np.empty(m)
    weight[p] = 1.0
    for k in range(m):
        path[p, k] = joint[k] = on[k]
    total, absolute = 1.0, 1.0
    for subset in range(1, 1 << p):
        lowest = 0
        while not subset >> lowest & 1:
            lowest += 1
        parent_place = lowest + 1
        while parent_place < p and not subset >> parent_place & 1:
            parent_place += 1
        product_path, parent, member = path[lowest], path[parent_place], absence_factors[lowest]
        weight[lowest] = -quiet[lowest] * weight[parent_place]
        for k in range(m):
            product_path[k] = parent[k] * member[k]
            share[k] = product_path[k] / (off[k] + product_path[k])
        product = weight[lowest]
        for k in range(m):  # a separate loop: one that also stores would be compiled twice
            product *= off[k] + product_path[k]
        total += product
        absolute += abs(product)
        for k in range(m):
            joint[k] += product * share[k]
    return total, joint, absolute


@njit(nogil=True, cache=True)
def _sum_without_subtractions(
    on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray
) -> tuple[float, np.ndarray]:
    """Compute P[x] and P[x, d_k = 1] of shape (m,), by the distribution of the set of findings explained by the first k causes.

    ``loads`` (m, p) and ``hazard`` (p,) are those of the present findings. Every term is nonnegative.
    """
    m, p = loads.shape
    strengths, absence_factors = -np.expm1(-loads), np.exp(-loads)
    size = 1 << p
    # after[k, S]: probability that causes k, k + 1, ... complete the set S.
    after = np.zeros((m + 1, size))
    after[m, size - 1] = 1.0
    for k in range(m - 1, -1, -1):
        _complete_sets(strengths[k], absence_factors[k], after[k + 1], after[k])
        for s in range(size):
            after[k, s] = off[k] * after[k + 1, s] + on[k] * after[k, s]
    before, active, joint = np.zeros(size), np.empty(size), np.empty(m)
    before[0] = 1.0
    _add_cause(-np.expm1(-hazard), np.exp(-hazard), before)
    total = 0.0
    for s in range(size):
        total += before[s] * after[0, s]
    for k in range(m):
        for s in range(size):
            active[s] = before[s]
        _add_cause(strengths[k], absence_factors[k], active)
        mass = 0.0
        for s in range(size):
            mass += active[s] * after[k + 1, s]
        joint[k] = on[k] * mass
        for s in range(size):
            before[s] = off[k] * before[s] + on[k] * active[s]
    return total, joint


@njit(nogil=True, cache=True)
def _add_cause(strengths: np.ndarray, absence_factors: np.ndarray, sets: np.ndarray) -> None:
    """Update the distribution of the set of explained findings by an active cause, in place."""
    for i in range(len(strengths)):
        q, step = strengths[i], 1 << i
        if q == 0.0:
            continue
        for a in range(0, len(sets), 2 * step):
            for s in range(a, a + step):
                sets[s + step] += q * sets[s]
                sets[s] *= absence_factors[i]


@njit(nogil=True, cache=True)
def _complete_sets(strengths: np.ndarray, absence_factors: np.ndarray, after: np.ndarray, out: np.ndarray) -> None:
    """Compute the expectation of ``after`` over the sets after an active cause: the transpose of `_add_cause`."""
    for s in range(len(out)):
        out[s] = after[s]
    for i in range(len(strengths)):
        q, step = strengths[i], 1 << i
        if q == 0.0:
            continue
        for a in range(0, len(out), 2 * step):
            for s in range(a, a + step):
                out[s] = absence_factors[i] * out[s] + q * out[s + step]
