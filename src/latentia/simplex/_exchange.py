"""Least squares with nonnegative weights by exchange of whole blocks, for few vertices that are independent.

All vertices whose weight or whose gradient has the wrong sign change sides at once (block principal pivoting: Portugal,
Judice and Vicente, 1994), which takes a Cholesky factorisation of a part of the Gram matrix each time. Several points are
solved side by side, each in a lane of the arrays' last axis: the vertices that a lane does not use are rows of the identity,
so that all lanes take the same steps. A lane that is done takes the next point.

A Gram matrix squares the condition number. So the weights are corrected once by the residual of the point itself, and given
only if their signs are then beyond rounding. Whatever is left is for the active sets of `_active_set`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._active_set import NOISE

MOST_VERTICES = 32  # with more, a factorisation of all of them costs more than one of those in use
_LANES = 32
_INDEPENDENT = 1e-9  # what a pivot must leave of its diagonal
_CORRECTION = 1e-6  # largest relative change by the residual that one step makes up for
_PATIENCE = 3  # exchanges of blocks without fewer wrong signs, before single ones
_MOST_EXCHANGES = 16
_HOPELESS = 0.9  # negative weights for each positive one in the start: no sign of it is to be trusted


@njit(nogil=True, cache=True)
def least_weights(columns, gram, lengths, points, products, weights, left, affine):
    """Weights of each row of ``points`` on the columns. Those in ``weights``, of any sign, say where to start.

    ``gram`` holds the inner products of the columns, ``products`` those of points with columns. A row of ``left`` that
    becomes True is for active sets, from the weights that are given then.
    """
    k, n_columns = columns.shape
    space = np.zeros((n_columns + 6, n_columns, _LANES))
    factor, used, right, solution = space[6:], space[0], space[1], space[2]
    ones, gradient, wrong = space[3], space[4], space[5]
    lanes = np.zeros((5, _LANES))
    shift, squared, dependent, noise, fewest = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4]
    whose, patience, turns = np.full(_LANES, -1), np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    floats = np.empty((4, max(k, n_columns)))
    queue, n = np.empty(len(points), np.int64), 0
    for i in range(len(points)):
        positive, negative = 0.0, 0.0
        for j in range(n_columns):
            positive += max(weights[i, j], 0.0)
            negative -= min(weights[i, j], 0.0)
        if negative > _HOPELESS * positive:
            left[i] = True
            for j in range(n_columns):
                weights[i, j] = 0.0
        else:
            queue[n] = i
            n += 1
    following, busy = 0, 0
    for lane in range(used.shape[1]):
        if following < n:
            _load(queue[following], lane, points, weights, used, noise, fewest, patience, turns, whose)
            following, busy = following + 1, busy + 1
    while busy > 0:
        for j in range(n_columns):
            for lane in range(used.shape[1]):
                right[j, lane] = products[max(whose[lane], 0), j]
        _factorise(gram, used, factor, dependent)
        _solve(factor, used, right, affine, ones, shift, squared, solution)
        _count(gram, lengths, used, right, solution, shift, noise, gradient, wrong)
        for lane in range(used.shape[1]):
            i = whose[lane]
            if i < 0:
                continue
            size, count, last = 0, 0, -1
            for j in range(n_columns):
                if used[j, lane] > 0.0:
                    size += 1
                if wrong[j, lane] > 0.0:
                    count += 1
                    last = j
            turns[lane] += 1
            failed = dependent[lane] > 0.0 or (affine and size == 0) or turns[lane] > _MOST_EXCHANGES
            if not failed and count > 0:
                if count < fewest[lane]:
                    fewest[lane], patience[lane] = count, _PATIENCE
                else:
                    patience[lane] -= 1
                for j in range(n_columns):
                    if wrong[j, lane] > 0.0 and (patience[lane] > 0 or j == last):
                        used[j, lane] = 1.0 - used[j, lane]
                continue
            if failed or not _correct(
                columns,
                gram,
                lengths,
                points[i],
                lane,
                used,
                factor,
                solution,
                ones,
                squared,
                noise,
                affine,
                weights[i],
                floats,
            ):
                for j in range(n_columns):
                    weights[i, j] = max(solution[j, lane], 0.0) * used[j, lane] if dependent[lane] == 0.0 else 0.0
                left[i] = True
            if following < n:
                _load(queue[following], lane, points, weights, used, noise, fewest, patience, turns, whose)
                following += 1
            else:
                whose[lane] = -1
                busy -= 1


@njit(nogil=True, cache=True)
def _load(i, lane, points, weights, used, noise, fewest, patience, turns, whose):
    norm = 0.0
    for a in range(points.shape[1]):
        norm += points[i, a] * points[i, a]
    noise[lane] = NOISE * np.sqrt(points.shape[1] * norm)
    for j in range(len(used)):
        used[j, lane] = 1.0 if weights[i, j] > 0.0 else 0.0
    whose[lane], fewest[lane], patience[lane], turns[lane] = i, len(used) + 1, _PATIENCE, 0


@njit(nogil=True, cache=True)
def _factorise(gram, used, factor, dependent):
    """Upper triangular R with R' R the Gram matrix of the columns in use; its diagonal holds reciprocals."""
    n_columns = len(gram)
    for lane in range(used.shape[1]):
        dependent[lane] = 0.0
    for p in range(n_columns):
        for q in range(p, n_columns):
            for lane in range(used.shape[1]):
                factor[p, q, lane] = gram[p, q] * used[p, lane] * used[q, lane]
    for p in range(n_columns):
        least = _INDEPENDENT * gram[p, p]
        for lane in range(used.shape[1]):
            pivot = factor[p, p, lane] + (1.0 - used[p, lane])
            bad = used[p, lane] if not pivot > least else 0.0
            dependent[lane] += bad
            factor[p, p, lane] = 1.0 / np.sqrt(1.0 if bad > 0.0 else pivot)
        for q in range(p + 1, n_columns):
            for lane in range(used.shape[1]):
                factor[p, q, lane] *= factor[p, p, lane]
        for m in range(p + 1, n_columns):
            for q in range(m, n_columns):
                for lane in range(used.shape[1]):
                    factor[m, q, lane] -= factor[p, m, lane] * factor[p, q, lane]


@njit(nogil=True, cache=True)
def _solve(factor, used, right, affine, ones, shift, squared, solution):
    """Solve R' R c = right + shift on the columns in use. The shift makes the sum of c one, and is 0 if not ``affine``."""
    n_columns = len(used)
    for j in range(n_columns):
        for lane in range(used.shape[1]):
            solution[j, lane] = right[j, lane] * used[j, lane]
            ones[j, lane] = used[j, lane]
    for p in range(n_columns):
        for lane in range(used.shape[1]):
            solution[p, lane] *= factor[p, p, lane]
        for q in range(p + 1, n_columns):
            for lane in range(used.shape[1]):
                solution[q, lane] -= solution[p, lane] * factor[p, q, lane]
    for lane in range(used.shape[1]):
        shift[lane], squared[lane] = 0.0, 0.0
    if affine:
        for p in range(n_columns):
            for lane in range(used.shape[1]):
                ones[p, lane] *= factor[p, p, lane]
                squared[lane] += ones[p, lane] * ones[p, lane]
                shift[lane] += ones[p, lane] * solution[p, lane]
            for q in range(p + 1, n_columns):
                for lane in range(used.shape[1]):
                    ones[q, lane] -= ones[p, lane] * factor[p, q, lane]
        for lane in range(used.shape[1]):
            shift[lane] = (1.0 - shift[lane]) / (squared[lane] if squared[lane] > 0.0 else 1.0)
        for p in range(n_columns):
            for lane in range(used.shape[1]):
                solution[p, lane] += shift[lane] * ones[p, lane]
    for p in range(n_columns - 1, -1, -1):
        for q in range(p + 1, n_columns):
            for lane in range(used.shape[1]):
                solution[p, lane] -= factor[p, q, lane] * solution[q, lane]
        for lane in range(used.shape[1]):
            solution[p, lane] *= factor[p, p, lane]


@njit(nogil=True, cache=True)
def _count(gram, lengths, used, right, solution, shift, noise, gradient, wrong):
    """Mark the columns in use without positive weight, and the others by which the residual falls."""
    n_columns = len(used)
    for j in range(n_columns):
        for lane in range(used.shape[1]):
            gradient[j, lane] = right[j, lane] + shift[lane]
    for p in range(n_columns):
        for j in range(n_columns):
            for lane in range(used.shape[1]):
                gradient[j, lane] -= gram[p, j] * solution[p, lane]
    for j in range(n_columns):
        for lane in range(used.shape[1]):
            out = 1.0 if gradient[j, lane] > noise[lane] * lengths[j] else 0.0
            negative = 1.0 if solution[j, lane] <= 0.0 else 0.0
            wrong[j, lane] = negative if used[j, lane] > 0.0 else out


@njit(nogil=True, cache=True)
def _correct(columns, gram, lengths, y, lane, used, factor, solution, ones, squared, noise, affine, weights, floats):
    """Write the corrected weights and return True, or return False and leave the weights as they are."""
    k, n_columns = columns.shape
    gradient, change, residual = floats[0], floats[1], floats[2]
    left = 0.0
    for a in range(k):
        residual[a] = y[a]
    for a in range(k):
        s0 = s1 = 0.0
        for j in range(0, n_columns - 1, 2):
            s0 += solution[j, lane] * columns[a, j]
            s1 += solution[j + 1, lane] * columns[a, j + 1]
        if n_columns % 2:
            s0 += solution[n_columns - 1, lane] * columns[a, n_columns - 1]
        residual[a] -= s0 + s1
        left += residual[a] * residual[a]
    for j in range(n_columns):
        gradient[j] = 0.0
    for a in range(k):
        for j in range(n_columns):
            gradient[j] += residual[a] * columns[a, j]
    missing, largest, shift = 1.0, 0.0, 0.0
    for j in range(n_columns):
        missing -= solution[j, lane]
        largest = max(largest, abs(solution[j, lane]))
        change[j] = gradient[j] * used[j, lane]
    for p in range(n_columns):
        if change[p] != 0.0:
            change[p] *= factor[p, p, lane]
            for q in range(p + 1, n_columns):
                change[q] -= change[p] * factor[p, q, lane]
    if affine:
        found = 0.0
        for p in range(n_columns):
            found += ones[p, lane] * change[p]
        shift = (missing - found) / squared[lane]
        for p in range(n_columns):
            change[p] += shift * ones[p, lane]
    for p in range(n_columns - 1, -1, -1):
        if used[p, lane] > 0.0:
            for q in range(p + 1, n_columns):
                change[p] -= factor[p, q, lane] * change[q]
            change[p] *= factor[p, p, lane]
            if abs(change[p]) > _CORRECTION * largest or solution[p, lane] + change[p] <= 0.0:
                return False
    if left > noise[lane] ** 2:
        for p in range(n_columns):
            if change[p] != 0.0:
                for j in range(n_columns):
                    gradient[j] -= change[p] * gram[p, j]
        for j in range(n_columns):
            if used[j, lane] == 0.0 and gradient[j] + shift >= -noise[lane] * lengths[j]:
                return False
    total = 0.0
    for j in range(n_columns):
        weights[j] = (solution[j, lane] + change[j]) * used[j, lane]
        total += weights[j]
    if affine:
        for j in range(n_columns):
            weights[j] /= total
    return True
