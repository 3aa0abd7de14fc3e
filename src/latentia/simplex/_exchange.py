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

MAX_VERTICES = 32  # with more, factorising all of them costs more than factorising those in use
_LANES = 32
_INDEPENDENT = 1e-9  # least pivot, as a share of its diagonal
_CORRECTION = 1e-6  # largest relative change that one correction step may make
_PATIENCE = 3  # block exchanges without fewer wrong signs before single ones are made
_MAX_EXCHANGES = 16
_MAX_NEGATIVE_RATIO = 0.9  # with more negative than positive weight, the signs of a start are not trusted


@njit(nogil=True, cache=True)
def least_weights(columns, gram, lengths, points, products, weights, is_open, affine):
    """Return weights of each row of ``points`` on the columns. Those in ``weights``, of any sign, are the start.

    ``gram`` holds the inner products of the columns, ``products`` those of points with columns. A row of ``left`` that
    becomes True is for active sets, from the weights that are given then.
    """
    k, n_columns = columns.shape
    space = np.zeros((n_columns + 6, n_columns, _LANES))
    factor, in_use, right, solution = space[6:], space[0], space[1], space[2]
    unit_sums, gradient, wrong = space[3], space[4], space[5]
    lanes = np.zeros((5, _LANES))
    shift, squared, dependent, noise, fewest = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4]
    points_of, patience, n_exchanges = np.full(_LANES, -1), np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    floats = np.empty((4, max(k, n_columns)))
    queue, n = np.empty(len(points), np.int64), 0
    for i in range(len(points)):
        positive, negative = 0.0, 0.0
        for j in range(n_columns):
            positive += max(weights[i, j], 0.0)
            negative -= min(weights[i, j], 0.0)
        if negative > _MAX_NEGATIVE_RATIO * positive:
            is_open[i] = True
            for j in range(n_columns):
                weights[i, j] = 0.0
        else:
            queue[n] = i
            n += 1
    next_point, busy = 0, 0
    for lane in range(in_use.shape[1]):
        if next_point < n:
            _load(queue[next_point], lane, points, weights, in_use, noise, fewest, patience, n_exchanges, points_of)
            next_point, busy = next_point + 1, busy + 1
    while busy > 0:
        for j in range(n_columns):
            for lane in range(in_use.shape[1]):
                right[j, lane] = products[max(points_of[lane], 0), j]
        _factorise(gram, in_use, factor, dependent)
        _solve(factor, in_use, right, affine, unit_sums, shift, squared, solution)
        _count(gram, lengths, in_use, right, solution, shift, noise, gradient, wrong)
        for lane in range(in_use.shape[1]):
            i = points_of[lane]
            if i < 0:
                continue
            size, count, last = 0, 0, -1
            for j in range(n_columns):
                if in_use[j, lane] > 0.0:
                    size += 1
                if wrong[j, lane] > 0.0:
                    count += 1
                    last = j
            n_exchanges[lane] += 1
            failed = dependent[lane] > 0.0 or (affine and size == 0) or n_exchanges[lane] > _MAX_EXCHANGES
            if not failed and count > 0:
                if count < fewest[lane]:
                    fewest[lane], patience[lane] = count, _PATIENCE
                else:
                    patience[lane] -= 1
                for j in range(n_columns):
                    if wrong[j, lane] > 0.0 and (patience[lane] > 0 or j == last):
                        in_use[j, lane] = 1.0 - in_use[j, lane]
                continue
            if failed or not _correct(
                columns,
                gram,
                lengths,
                points[i],
                lane,
                in_use,
                factor,
                solution,
                unit_sums,
                squared,
                noise,
                affine,
                weights[i],
                floats,
            ):
                for j in range(n_columns):
                    weights[i, j] = max(solution[j, lane], 0.0) * in_use[j, lane] if dependent[lane] == 0.0 else 0.0
                is_open[i] = True
            if next_point < n:
                _load(queue[next_point], lane, points, weights, in_use, noise, fewest, patience, n_exchanges, points_of)
                next_point += 1
            else:
                points_of[lane] = -1
                busy -= 1


@njit(nogil=True, cache=True)
def _load(i, lane, points, weights, in_use, noise, fewest, patience, n_exchanges, points_of):
    norm = 0.0
    for a in range(points.shape[1]):
        norm += points[i, a] * points[i, a]
    noise[lane] = NOISE * np.sqrt(points.shape[1] * norm)
    for j in range(len(in_use)):
        in_use[j, lane] = 1.0 if weights[i, j] > 0.0 else 0.0
    points_of[lane], fewest[lane], patience[lane], n_exchanges[lane] = i, len(in_use) + 1, _PATIENCE, 0


@njit(nogil=True, cache=True)
def _factorise(gram, in_use, factor, dependent):
    """Return upper triangular R with R' R the Gram matrix of the columns in use; its diagonal holds reciprocals."""
    n_columns = len(gram)
    for lane in range(in_use.shape[1]):
        dependent[lane] = 0.0
    for p in range(n_columns):
        for q in range(p, n_columns):
            for lane in range(in_use.shape[1]):
                factor[p, q, lane] = gram[p, q] * in_use[p, lane] * in_use[q, lane]
    for p in range(n_columns):
        min_pivot = _INDEPENDENT * gram[p, p]
        for lane in range(in_use.shape[1]):
            pivot = factor[p, p, lane] + (1.0 - in_use[p, lane])
            is_dependent = in_use[p, lane] if not pivot > min_pivot else 0.0
            dependent[lane] += is_dependent
            factor[p, p, lane] = 1.0 / np.sqrt(1.0 if is_dependent > 0.0 else pivot)
        for q in range(p + 1, n_columns):
            for lane in range(in_use.shape[1]):
                factor[p, q, lane] *= factor[p, p, lane]
        for m in range(p + 1, n_columns):
            for q in range(m, n_columns):
                for lane in range(in_use.shape[1]):
                    factor[m, q, lane] -= factor[p, m, lane] * factor[p, q, lane]


@njit(nogil=True, cache=True)
def _solve(factor, in_use, right, affine, unit_sums, shift, squared, solution):
    """Solve R' R c = right + shift on the columns in use. The shift makes the sum of c one, and is 0 if not ``affine``."""
    n_columns = len(in_use)
    for j in range(n_columns):
        for lane in range(in_use.shape[1]):
            solution[j, lane] = right[j, lane] * in_use[j, lane]
            unit_sums[j, lane] = in_use[j, lane]
    for p in range(n_columns):
        for lane in range(in_use.shape[1]):
            solution[p, lane] *= factor[p, p, lane]
        for q in range(p + 1, n_columns):
            for lane in range(in_use.shape[1]):
                solution[q, lane] -= solution[p, lane] * factor[p, q, lane]
    for lane in range(in_use.shape[1]):
        shift[lane], squared[lane] = 0.0, 0.0
    if affine:
        for p in range(n_columns):
            for lane in range(in_use.shape[1]):
                unit_sums[p, lane] *= factor[p, p, lane]
                squared[lane] += unit_sums[p, lane] * unit_sums[p, lane]
                shift[lane] += unit_sums[p, lane] * solution[p, lane]
            for q in range(p + 1, n_columns):
                for lane in range(in_use.shape[1]):
                    unit_sums[q, lane] -= unit_sums[p, lane] * factor[p, q, lane]
        for lane in range(in_use.shape[1]):
            shift[lane] = (1.0 - shift[lane]) / (squared[lane] if squared[lane] > 0.0 else 1.0)
        for p in range(n_columns):
            for lane in range(in_use.shape[1]):
                solution[p, lane] += shift[lane] * unit_sums[p, lane]
    for p in range(n_columns - 1, -1, -1):
        for q in range(p + 1, n_columns):
            for lane in range(in_use.shape[1]):
                solution[p, lane] -= factor[p, q, lane] * solution[q, lane]
        for lane in range(in_use.shape[1]):
            solution[p, lane] *= factor[p, p, lane]


@njit(nogil=True, cache=True)
def _count(gram, lengths, in_use, right, solution, shift, noise, gradient, wrong):
    """Mark the columns in use without positive weight, and the others by which the residual falls."""
    n_columns = len(in_use)
    for j in range(n_columns):
        for lane in range(in_use.shape[1]):
            gradient[j, lane] = right[j, lane] + shift[lane]
    for p in range(n_columns):
        for j in range(n_columns):
            for lane in range(in_use.shape[1]):
                gradient[j, lane] -= gram[p, j] * solution[p, lane]
    for j in range(n_columns):
        for lane in range(in_use.shape[1]):
            is_gain = 1.0 if gradient[j, lane] > noise[lane] * lengths[j] else 0.0
            negative = 1.0 if solution[j, lane] <= 0.0 else 0.0
            wrong[j, lane] = negative if in_use[j, lane] > 0.0 else is_gain


@njit(nogil=True, cache=True)
def _correct(
    columns, gram, lengths, y, lane, in_use, factor, solution, unit_sums, squared, noise, affine, weights, floats
):
    """Write the corrected weights and return True, or return False and leave the weights as they are."""
    k, n_columns = columns.shape
    gradient, change, residual = floats[0], floats[1], floats[2]
    squared_residual = 0.0
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
        squared_residual += residual[a] * residual[a]
    for j in range(n_columns):
        gradient[j] = 0.0
    for a in range(k):
        for j in range(n_columns):
            gradient[j] += residual[a] * columns[a, j]
    missing, largest, shift = 1.0, 0.0, 0.0
    for j in range(n_columns):
        missing -= solution[j, lane]
        largest = max(largest, abs(solution[j, lane]))
        change[j] = gradient[j] * in_use[j, lane]
    for p in range(n_columns):
        if change[p] != 0.0:
            change[p] *= factor[p, p, lane]
            for q in range(p + 1, n_columns):
                change[q] -= change[p] * factor[p, q, lane]
    if affine:
        total_change = 0.0
        for p in range(n_columns):
            total_change += unit_sums[p, lane] * change[p]
        shift = (missing - total_change) / squared[lane]
        for p in range(n_columns):
            change[p] += shift * unit_sums[p, lane]
    for p in range(n_columns - 1, -1, -1):
        if in_use[p, lane] > 0.0:
            for q in range(p + 1, n_columns):
                change[p] -= factor[p, q, lane] * change[q]
            change[p] *= factor[p, p, lane]
            if abs(change[p]) > _CORRECTION * largest or solution[p, lane] + change[p] <= 0.0:
                return False
    if squared_residual > noise[lane] ** 2:
        for p in range(n_columns):
            if change[p] != 0.0:
                for j in range(n_columns):
                    gradient[j] -= change[p] * gram[p, j]
        for j in range(n_columns):
            if in_use[j, lane] == 0.0 and gradient[j] + shift >= -noise[lane] * lengths[j]:
                return False
    total = 0.0
    for j in range(n_columns):
        weights[j] = (solution[j, lane] + change[j]) * in_use[j, lane]
        total += weights[j]
    if affine:
        for j in range(n_columns):
            weights[j] /= total
    return True
