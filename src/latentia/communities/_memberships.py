"""Dirichlet posteriors of documents' shares of known topics, from several starts that race by evidence.

Model: a document has shares w ~ Dirichlet(alpha), and each of its c_v occurrences of v comes from topic k with probability
w_k f_vk. The posterior of w is approximated by Dirichlet(gamma), the fixed point of

    gamma_k = alpha_k + sum_v c_v a_k f_vk / sum_l a_l f_vl,      log a_k = psi(gamma_k) - psi(sum gamma),

and the evidence of the document, log p(c), by the lower bound that these steps climb. Where alpha is small the bound has many
local maxima: a topic that has taken an occurrence keeps it. So each document starts from several sparse shares, such as least
squares estimates cut at several multiples of their noise, and keeps the one of highest evidence.

Source: D. Blei, A. Ng, M. Jordan, Latent Dirichlet allocation, JMLR 3 (2003), section 5, for the fixed point and the bound.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.special import digamma, polygamma

from ..linalg import row_pieces
from ..system.threads import run_in_chunks

CUTS = (1.0, 2.0, 3.0)
"""Multiples of the noise at which starting shares are cut."""

_STEPS_BEFORE_RACE, _STEPS_AFTER_RACE = 3, 3  # steps before and after the race
_MIN_GAMMA = 0.06  # for smaller gamma exp(psi) is below 1e-7, and taken as zero
_TINY = 1e-30
_MIN_ALPHA = 1e-6


class Posteriors(NamedTuple):
    """Posteriors of all documents.

    Attributes
    ----------
    gamma : ndarray of shape (n, K)
        Parameters of their Dirichlet distributions.
    evidence : ndarray of shape (n,)
        Lower bounds of log p(c), in nats.
    """

    gamma: np.ndarray
    evidence: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """Means of the posteriors, shape (n, K)."""
        return np.asarray(self.gamma / self.gamma.sum(axis=1, keepdims=True))

    def mean_logs(self) -> np.ndarray:
        """Return the mean over documents of E[log w_k], shape (K,), the statistic for a fit of alpha."""
        total = np.zeros(self.gamma.shape[1])
        for a in range(0, len(self.gamma), 1 << 16):
            part = self.gamma[a : a + (1 << 16)]
            total += (digamma(part) - digamma(part.sum(axis=1))[:, None]).sum(axis=0)
        return total / max(len(self.gamma), 1)


def dirichlet_posteriors(
    table: Any,
    field: np.ndarray,
    alpha: np.ndarray,
    current: np.ndarray | None = None,
    rough: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    n_jobs: int | None = None,
) -> Posteriors:
    """Compute the posterior of every row of a table of counts.

    Parameters
    ----------
    table : csr_array of shape (n, m)
        c.
    field : ndarray of shape (m, K)
        f, not negative.
    alpha : ndarray of shape (K,)
        Positive.
    current : ndarray of shape (n, K), optional
        Shares to start from.
    rough : (ndarray of shape (n, K), ndarray of shape (n,), ndarray of shape (K,)), optional
        Estimates of the shares, which may be negative, and two factors of their standard deviations: further starts
        are the largest share alone, and the estimates cut at each of `CUTS` times the deviation.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    """
    n, k = table.shape[0], field.shape[1]
    field = np.ascontiguousarray(field, dtype=np.float32)
    no_rows = np.empty((0, k), np.float32)
    current_shares = no_rows if current is None else np.ascontiguousarray(current, dtype=np.float32)
    rough_estimates = (no_rows, np.empty(0), np.empty(0)) if rough is None else rough
    estimate = np.ascontiguousarray(rough_estimates[0], dtype=np.float32)
    deviations = np.asarray(rough_estimates[1], dtype=np.float64), np.asarray(rough_estimates[2], dtype=np.float64)
    gamma, evidence = np.empty((n, k)), np.empty(n)
    ends, cuts = row_pieces(table), np.array(CUTS)
    counts = table.data, table.indices, table.indptr, field, np.asarray(alpha, dtype=np.float64)

    def task(i: int, _: int) -> None:
        _race(*counts, current_shares, estimate, *deviations, cuts, ends[i], ends[i + 1], gamma, evidence)

    run_in_chunks(task, len(ends) - 1, 1, n_jobs)
    return Posteriors(gamma, evidence)


def dirichlet_fit(mean_logs: np.ndarray, start: np.ndarray, n_steps: int = 5) -> np.ndarray:
    """Fit alpha, shape (K,), of a Dirichlet distribution to given E[log w_k], by steps of Minka's fixed point."""
    alpha = np.maximum(np.asarray(start, dtype=np.float64), _MIN_ALPHA)
    for _ in range(n_steps):
        target = np.maximum(digamma(alpha.sum()) + mean_logs, digamma(_MIN_ALPHA))
        with np.errstate(over="ignore"):
            alpha = np.where(target > -2.22, np.exp(target) + 0.5, -1 / (np.minimum(target, -2.22) - digamma(1)))
        for _ in range(5):  # Newton's steps for the inverse of digamma
            alpha = alpha - (digamma(alpha) - target) / polygamma(1, alpha)
        alpha = np.maximum(alpha, _MIN_ALPHA)
    return alpha


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _psi(x):
    """Return digamma of a positive number, to 1e-10."""
    below = 0.0
    while x < 6.0:
        below += 1.0 / x
        x += 1.0
    f = 1.0 / (x * x)
    return (
        math.log(x) - 0.5 / x - f * (1 / 12.0 - f * (1 / 120.0 - f * (1 / 252.0 - f * (1 / 240.0 - f / 132.0)))) - below
    )


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _steps(rows, counts, n_rows, alpha, n_steps, gamma, a, gain):
    """Make steps of the fixed point on ``gamma``, in place."""
    k = len(alpha)
    for _ in range(n_steps):
        total = 0.0
        for c in range(k):
            total += gamma[c]
        shift = _psi(total)
        for c in range(k):
            a[c] = math.exp(_psi(gamma[c]) - shift) if gamma[c] > _MIN_GAMMA else 0.0
            gain[c] = 0.0
        for e in range(n_rows):
            model = np.float32(_TINY)
            for c in range(k):
                model += a[c] * rows[e, c]
            ratio = counts[e] / model
            for c in range(k):
                gain[c] += ratio * rows[e, c]
        for c in range(k):
            gamma[c] = alpha[c] + a[c] * gain[c]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _bound(rows, counts, n_rows, alpha, log_gammas, log_gamma_total, gamma, a):
    """Return the lower bound of the evidence."""
    k = len(alpha)
    total = 0.0
    for c in range(k):
        total += gamma[c]
    shift = _psi(total)
    bound = log_gamma_total - math.lgamma(total)
    for c in range(k):
        if gamma[c] > _MIN_GAMMA:
            log_a = _psi(gamma[c]) - shift
            a[c] = math.exp(log_a)
            bound += math.lgamma(gamma[c]) - log_gammas[c] - (gamma[c] - alpha[c]) * log_a
        else:  # the prior's value
            a[c] = 0.0
    for e in range(n_rows):
        model = np.float32(_TINY)
        for c in range(k):
            model += a[c] * rows[e, c]
        bound += counts[e] * math.log(model)
    return bound


@njit(cache=True, nogil=True)
def _cut(estimate, deviations, column_deviations, shares):
    """Write estimates above so many deviations into ``shares``, zero for the others, and return their number."""
    n_kept = 0
    for c in range(len(shares)):
        is_above = estimate[c] > deviations * column_deviations[c] and estimate[c] > 0
        shares[c] = estimate[c] if is_above else 0.0
        n_kept += is_above
    return n_kept


@njit(cache=True, nogil=True)
def _race(
    data,
    indices,
    indptr,
    field,
    alpha,
    current,
    rough,
    row_deviations,
    column_deviations,
    cuts,
    first,
    last,
    gamma,
    evidence,
):
    k = len(alpha)
    log_gammas, prior, longest = np.empty(k), 0.0, 0
    for c in range(k):
        log_gammas[c] = math.lgamma(alpha[c])
        prior += alpha[c]
    log_gamma_total = math.lgamma(prior)
    for i in range(first, last):
        longest = max(longest, indptr[i + 1] - indptr[i])
    rows, counts = np.empty((longest, k), np.float32), np.empty(longest, np.float32)
    a, gain = np.empty(k, np.float32), np.empty(k, np.float32)
    candidate, best = np.empty(k), np.empty(k)
    n_rough = len(cuts) + 1 if len(rough) else 0
    for i in range(first, last):
        size, degree = indptr[i + 1] - indptr[i], 0.0
        for e in range(size):
            at = indptr[i] + e
            counts[e] = data[at]
            degree += data[at]
            for c in range(k):
                rows[e, c] = field[indices[at], c]
        best_bound, n_before = -np.inf, 0
        for start in range(n_rough + (1 if len(current) else 0)):
            if start == n_rough:
                for c in range(k):
                    candidate[c] = current[i, c]
            elif start == 0:
                largest = 0
                for c in range(k):
                    candidate[c] = 0.0
                    if rough[i, c] > rough[i, largest]:
                        largest = c
                candidate[largest] = 1.0
                n_before = 1
            else:  # from the highest cut down: an equal number means equal starting shares
                n_kept = _cut(rough[i], cuts[len(cuts) - start] * row_deviations[i], column_deviations, candidate)
                if n_kept <= n_before:
                    continue
                n_before = n_kept
            total = 0.0
            for c in range(k):
                total += candidate[c]
            if not total > 0.0:
                continue
            for c in range(k):
                candidate[c] = alpha[c] + degree * candidate[c] / total
            if n_rough == 0:
                best, candidate = candidate, best
                best_bound = 0.0
                break
            _steps(rows, counts, size, alpha, _STEPS_BEFORE_RACE, candidate, a, gain)
            bound = _bound(rows, counts, size, alpha, log_gammas, log_gamma_total, candidate, a)
            if bound > best_bound:
                best_bound = bound
                best, candidate = candidate, best
        if best_bound == -np.inf:  # all starts are empty: start from the prior
            for c in range(k):
                best[c] = alpha[c] + degree / k
        _steps(rows, counts, size, alpha, _STEPS_AFTER_RACE, best, a, gain)
        evidence[i] = _bound(rows, counts, size, alpha, log_gammas, log_gamma_total, best, a)
        for c in range(k):
            gamma[i, c] = best[c]
