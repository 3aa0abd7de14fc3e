"""Classes of symbols by exchange: each symbol moves to the class where a chain of classes is most likely.

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
    """Move symbols between classes, in ``classes``, and return the log-likelihood, up to its constant.

    Parameters
    ----------
    neighbours : csr_array of shape (S, S)
        How often a symbol is followed by another.
    classes : ndarray of int, shape (S,)
        From 0 to K - 1; changed in place.
    k : int
    order : ndarray of int
        In which symbols are visited.
    n_sweeps : int
        Visits of all, at most; there are fewer where a visit moves none.
    """
    after, before = neighbours, neighbours.T.tocsr()
    found: float = _exchange(
        after.indptr, after.indices, after.data, before.indptr, before.indices, before.data, classes, k, order, n_sweeps
    )
    return found


@njit(nogil=True, cache=True)
def _x_log_x(x):
    return x * np.log(x) if x > 0.0 else 0.0


@njit(nogil=True, cache=True)
def _gain(moves, left, right, after, before, itself, b):
    """What the likelihood gains if a symbol with these neighbours, counted by class, joins class b."""
    k = len(left)
    gain = 0.0
    for c in range(k):
        if c != b:
            if after[c] > 0.0:
                gain += _x_log_x(moves[b, c] + after[c]) - _x_log_x(moves[b, c])
            if before[c] > 0.0:
                gain += _x_log_x(moves[c, b] + before[c]) - _x_log_x(moves[c, b])
    gain += _x_log_x(moves[b, b] + after[b] + before[b] + itself) - _x_log_x(moves[b, b])
    followed, preceded = after.sum() + itself, before.sum() + itself
    gain -= _x_log_x(left[b] + followed) - _x_log_x(left[b])
    return gain - (_x_log_x(right[b] + preceded) - _x_log_x(right[b]))


@njit(nogil=True, cache=True)
def _shift(moves, left, right, after, before, itself, b, sign):
    """Add a symbol's neighbours to those of class b, or take them away."""
    for c in range(len(left)):
        moves[b, c] += sign * after[c]
        moves[c, b] += sign * before[c]
    moves[b, b] += sign * itself
    left[b] += sign * (after.sum() + itself)
    right[b] += sign * (before.sum() + itself)


@njit(nogil=True, cache=True)
def _exchange(starts, followers, times, other_starts, preceders, other_times, classes, k, order, n_sweeps):
    """Move each symbol to the class where the likelihood is highest, in ``classes``. Sums of whole counts are exact."""
    moves, left, right = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    for x in range(len(classes)):
        for at in range(starts[x], starts[x + 1]):
            c, d = classes[x], classes[followers[at]]
            moves[c, d] += times[at]
            left[c] += times[at]
            right[d] += times[at]
    after, before = np.empty(k), np.empty(k)
    for _ in range(n_sweeps):
        moved = 0
        for x in order:
            itself = 0.0
            for c in range(k):
                after[c], before[c] = 0.0, 0.0
            for at in range(starts[x], starts[x + 1]):
                if followers[at] == x:
                    itself += times[at]
                else:
                    after[classes[followers[at]]] += times[at]
            for at in range(other_starts[x], other_starts[x + 1]):
                if preceders[at] != x:
                    before[classes[preceders[at]]] += other_times[at]
            was = classes[x]
            _shift(moves, left, right, after, before, itself, was, -1.0)
            best, highest = was, _gain(moves, left, right, after, before, itself, was)
            for b in range(k):
                gain = _gain(moves, left, right, after, before, itself, b)
                if gain > highest + 1e-9:
                    best, highest = b, gain
            _shift(moves, left, right, after, before, itself, best, 1.0)
            classes[x] = best
            moved += best != was
        if moved == 0:
            break
    height = 0.0
    for c in range(k):
        height -= _x_log_x(left[c]) + _x_log_x(right[c])
        for d in range(k):
            height += _x_log_x(moves[c, d])
    return height
