"""Classes of symbols by exchange: each symbol moves to the class that makes the chain of classes most likely.

With N_cd neighbours of classes c and d the log-likelihood is, up to a constant,

    sum_cd N_cd log N_cd - sum_c N_c. log N_c. - sum_d N_.d log N_.d.

Source: S. Martin, J. Liermann, H. Ney, Algorithms for bigram and trigram word clustering, Speech Communication 24 (1998).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy import sparse


def exchange_classes(
    neighbours: sparse.csr_array, classes: np.ndarray, k: int, order: np.ndarray, n_sweeps: int
) -> float:
    """Move symbols between classes, in place, and return the log-likelihood up to its constant.

    Parameters
    ----------
    neighbours : csr_array of shape (S, S)
        How often a symbol is followed by another.
    classes : ndarray of int, shape (S,)
        From 0 to K - 1; changed in place.
    k : int
    order : ndarray of int
        Order in which symbols are visited.
    n_sweeps : int
        Maximum number of visits to all symbols; it stops early when a visit moves none.
    """
    after, before = neighbours, neighbours.T.tocsr()
    log_likelihood: float = _exchange(
        after.indptr, after.indices, after.data, before.indptr, before.indices, before.data, classes, k, order, n_sweeps
    )
    return log_likelihood


@njit(nogil=True, cache=True)
def _x_log_x(x):
    return x * np.log(x) if x > 0.0 else 0.0


@njit(nogil=True, cache=True)
def _gain(class_pairs, row_totals, column_totals, next_counts, previous_counts, self_pairs, b):
    """Compute the gain in likelihood if a symbol with these neighbours, counted by class, joins class b."""
    k = len(row_totals)
    gain = 0.0
    for c in range(k):
        if c != b:
            if next_counts[c] > 0.0:
                gain += _x_log_x(class_pairs[b, c] + next_counts[c]) - _x_log_x(class_pairs[b, c])
            if previous_counts[c] > 0.0:
                gain += _x_log_x(class_pairs[c, b] + previous_counts[c]) - _x_log_x(class_pairs[c, b])
    gain += _x_log_x(class_pairs[b, b] + next_counts[b] + previous_counts[b] + self_pairs) - _x_log_x(class_pairs[b, b])
    followed, preceded = next_counts.sum() + self_pairs, previous_counts.sum() + self_pairs
    gain -= _x_log_x(row_totals[b] + followed) - _x_log_x(row_totals[b])
    return gain - (_x_log_x(column_totals[b] + preceded) - _x_log_x(column_totals[b]))


@njit(nogil=True, cache=True)
def _shift(class_pairs, row_totals, column_totals, next_counts, previous_counts, self_pairs, b, sign):
    """Add a symbol's neighbours to class b (sign 1), or remove them (sign -1)."""
    for c in range(len(row_totals)):
        class_pairs[b, c] += sign * next_counts[c]
        class_pairs[c, b] += sign * previous_counts[c]
    class_pairs[b, b] += sign * self_pairs
    row_totals[b] += sign * (next_counts.sum() + self_pairs)
    column_totals[b] += sign * (previous_counts.sum() + self_pairs)


@njit(nogil=True, cache=True)
def _exchange(
    next_starts, followers, next_times, previous_starts, preceders, previous_times, classes, k, order, n_sweeps
):
    """Move each symbol to the class of highest likelihood, in place. Sums of whole counts are exact."""
    class_pairs, row_totals, column_totals = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    for x in range(len(classes)):
        for place in range(next_starts[x], next_starts[x + 1]):
            c, d = classes[x], classes[followers[place]]
            class_pairs[c, d] += next_times[place]
            row_totals[c] += next_times[place]
            column_totals[d] += next_times[place]
    next_counts, previous_counts = np.empty(k), np.empty(k)
    for _ in range(n_sweeps):
        n_moved = 0
        for x in order:
            self_pairs = 0.0
            for c in range(k):
                next_counts[c], previous_counts[c] = 0.0, 0.0
            for place in range(next_starts[x], next_starts[x + 1]):
                if followers[place] == x:
                    self_pairs += next_times[place]
                else:
                    next_counts[classes[followers[place]]] += next_times[place]
            for place in range(previous_starts[x], previous_starts[x + 1]):
                if preceders[place] != x:
                    previous_counts[classes[preceders[place]]] += previous_times[place]
            old_class = classes[x]
            _shift(class_pairs, row_totals, column_totals, next_counts, previous_counts, self_pairs, old_class, -1.0)
            best = old_class
            highest = _gain(class_pairs, row_totals, column_totals, next_counts, previous_counts, self_pairs, old_class)
            for b in range(k):
                gain = _gain(class_pairs, row_totals, column_totals, next_counts, previous_counts, self_pairs, b)
                if gain > highest + 1e-9:
                    best, highest = b, gain
            _shift(class_pairs, row_totals, column_totals, next_counts, previous_counts, self_pairs, best, 1.0)
            classes[x] = best
            n_moved += best != old_class
        if n_moved == 0:
            break
    log_likelihood = 0.0
    for c in range(k):
        log_likelihood -= _x_log_x(row_totals[c]) + _x_log_x(column_totals[c])
        for d in range(k):
            log_likelihood += _x_log_x(class_pairs[c, d])
    return log_likelihood
