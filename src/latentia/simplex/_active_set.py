"""Active sets for least squares with nonnegative weights, one point at a time, in compiled code.

The weights of the vertices in use solve an unconstrained problem; a vertex enters when it lowers the residual, and leaves
when its weight would be negative (Lawson and Hanson, 1974; with weights that sum to one, Wolfe, 1976). The vertices in use
are kept as a QR factorisation, updated by orthogonalisation (twice) and rotations, so the error of the weights grows with
the condition number of the vertices and not with its square.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_DEPENDENT = 1e-12  # share of its length within which a vertex lies in the span of those in use
_MIN_REMAINING = 0.1  # orthogonalisation is repeated if it leaves less than this share of a length
NOISE = 2e-15  # share of the point's length that rounding leaves in a residual


def coordinates(points: np.ndarray, vertices: np.ndarray, *, affine: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates of points in the span of the vertices, shape (n, k), and of the vertices, transposed, shape (k, K).

    With ``affine``, weights sum to one. Then the origin is the vertices' centre and a constant coordinate is added to all,
    which changes no distance and makes vertices that are affinely independent linearly independent.
    """
    centre = vertices.mean(axis=0) if affine else np.zeros(vertices.shape[1])
    vertices = vertices - centre
    if vertices.shape[1] > len(vertices):
        basis, inside = np.linalg.qr(vertices.T)
        points = points @ basis - centre @ basis  # not of shifted points, which would copy them
    else:
        inside, points = vertices.T, points - centre
    if affine:
        lift = np.sqrt(np.einsum("ij,ij->", inside, inside) / inside.shape[1]) or 1.0
        inside = np.vstack([inside, np.full(inside.shape[1], lift)])
        points = np.column_stack([points, np.full(len(points), lift)])
    return np.ascontiguousarray(points, dtype=np.float64), np.ascontiguousarray(inside, dtype=np.float64)


def improve_weights(
    columns: np.ndarray, lengths: np.ndarray, points: np.ndarray, weights: np.ndarray, *, affine: bool
) -> np.ndarray:
    """Optimal weights of each row of ``points`` on the columns, from other ones, which may be zero; shape (n, K)."""
    weights = np.array(weights, dtype=np.float64)
    numbers = np.empty((len(points), min(columns.shape) + 1), dtype=np.int64)
    least_weights(columns, lengths, points, np.ones(weights.shape, dtype=bool), weights, numbers, affine, np.inf)
    return weights


@njit(nogil=True, cache=True)
def least_observed_weights(vertices, points, observed, affine, weights):
    """Put into ``weights`` those of each row of ``points`` on the vertices, by the coordinates that are observed."""
    n_vertices, d = vertices.shape
    columns, point = np.empty((d + 1, n_vertices)), np.empty((1, d + 1))
    lengths, usable = np.empty(n_vertices), np.ones((1, n_vertices), np.bool_)
    for i in range(len(points)):
        size = 0
        for a in range(d):
            if observed[i, a]:
                point[0, size] = points[i, a]
                for j in range(n_vertices):
                    columns[size, j] = vertices[j, a]
                size += 1
        if affine:  # The origin moves to the centre of the vertices, and a constant coordinate keeps them independent.
            squares = 0.0
            for a in range(size):
                centre = 0.0
                for j in range(n_vertices):
                    centre += columns[a, j] / n_vertices
                point[0, a] -= centre
                for j in range(n_vertices):
                    columns[a, j] -= centre
                    squares += columns[a, j] ** 2
            lift = np.sqrt(squares / n_vertices) if squares > 0.0 else 1.0
            point[0, size] = lift
            columns[size] = lift
            size += 1
        for j in range(n_vertices):
            squares = 0.0
            for a in range(size):
                squares += columns[a, j] ** 2
            lengths[j] = np.sqrt(squares)
        numbers = np.empty((1, min(size, n_vertices) + 1), np.int64)
        weights[i] = 0.0
        least_weights(columns[:size], lengths, point[:, :size], usable, weights[i : i + 1], numbers, affine, np.inf)


@njit(nogil=True, cache=True)
def least_weights(columns, lengths, points, usable, weights, numbers, affine, max_gap):
    """Return weights of each row of ``points`` on the columns that it may use, started from those in ``weights``.

    Row i of ``numbers`` receives the columns in use, ended by -1.
    """
    k, n_columns = columns.shape
    max_size = min(k, n_columns) + 1
    space = np.empty((2 * max_size + 8, max(k, n_columns) + 2))
    states = np.empty(n_columns, np.int64)
    for i in range(len(points)):
        size = _solve_point(
            columns, lengths, points[i], usable[i], weights[i], affine, max_gap, space, states, numbers[i]
        )
        for j in range(weights.shape[1]):
            weights[i, j] = 0.0
        for p in range(size):
            weights[i, numbers[i, p]] = space[0, p]
        for p in range(size, numbers.shape[1]):
            numbers[i, p] = -1


@njit(inline="always")
def _solve_point(columns, lengths, y, usable, start, affine, max_gap, space, tried, numbers):
    """Solve for one point; return how many columns are in use. ``numbers`` has their numbers, ``space[0]`` their weights.

    Columns that are not ``usable`` get no weight. Without any usable column, the answer is 0. With ``affine``, it also stops
    where a plane separates the point from the columns' hull by more than ``max_gap``.
    """
    k, n_columns = columns.shape
    max_size = min(k, n_columns)
    # Weights, unconstrained weights, Q y, and Q e with e . column = 1.
    current, target, inner, unit_sums = space[0], space[1], space[2], space[3]
    residual, gradient, direction, projections = space[4], space[5], space[6], space[7]
    basis, upper = space[8 : 8 + max_size], space[8 + max_size : 8 + 2 * max_size]  # rows of Q; row p is column p of R
    # The size is no literal, for which helpers would be compiled once more.
    size, shift, squared_residual = np.int64(0), 0.0, 0.0
    # State of each column: 1 in use, 2 tried since the columns in use last changed.
    for j in range(n_columns):
        tried[j] = 0 if usable[j] else 1
    norm = 0.0
    for a in range(k):
        norm += y[a] * y[a]
        residual[a] = y[a]
    norm = np.sqrt(norm)
    noise = NOISE * np.sqrt(k) * norm
    total = 0.0
    for j in range(n_columns):
        is_used = start[j] > 0.0 and tried[j] == 0 and size < max_size
        if is_used and _append(columns, lengths, j, basis, upper, size, direction, projections):
            _enter(y, basis, upper, inner, unit_sums, size, direction, projections)
            numbers[size], current[size] = j, start[j]
            total += start[j]
            tried[j] = 1
            size += 1
    warm = size > 0
    if affine:
        for p in range(size):
            current[p] /= total
    if warm:
        shift = _weights(upper, inner, unit_sums, size, affine, target)
    for _ in range(30 * max_size + 30):
        if not warm:
            # Inner products of the columns with the residual, the gain by a little more of each.
            for j in range(n_columns):
                gradient[j] = 0.0
            for a in range(k):
                r = residual[a]
                for j in range(n_columns):
                    gradient[j] += r * columns[a, j]
            if affine and size > 0 and max_gap < np.inf:
                nearest = 0.0
                for j in range(n_columns):
                    if tried[j] == 0:
                        nearest = max(nearest, gradient[j] + shift)
                if squared_residual - nearest > max_gap * np.sqrt(squared_residual):
                    break
            entered = False
            while not entered and size < max_size:
                j = np.int64(-1)
                best = -noise
                if affine and size == 0:
                    best = -np.inf
                    for m in range(n_columns):
                        if tried[m] == 0 and gradient[m] - 0.5 * lengths[m] ** 2 > best:
                            best, j = gradient[m] - 0.5 * lengths[m] ** 2, m
                else:
                    lift = shift if affine else 0.0
                    for m in range(n_columns):
                        if tried[m] == 0 and gradient[m] + lift > best * lengths[m] and lengths[m] > 0.0:
                            best, j = (gradient[m] + lift) / lengths[m], m
                if j < 0:
                    break
                tried[j] = 2
                if not _append(columns, lengths, j, basis, upper, size, direction, projections):
                    continue
                _enter(y, basis, upper, inner, unit_sums, size, direction, projections)
                shift_before = shift
                shift = _weights(upper, inner, unit_sums, size + 1, affine, target)
                if target[size] * upper[size, size] <= noise:
                    shift = shift_before
                    continue
                entered = True
                numbers[size] = j
                current[size] = 0.0
                size += 1
            if not entered:
                break
        warm = False
        while True:
            step, leaving = 1.0, np.int64(-1)
            for p in range(size):
                if target[p] <= 0.0:
                    reach = current[p] / (current[p] - target[p]) if current[p] > 0.0 else 0.0
                    if reach < step or leaving < 0:
                        step, leaving = reach, p
            if leaving < 0:
                break
            for p in range(size):
                current[p] = max(current[p] + step * (target[p] - current[p]), 0.0)
            tried[numbers[leaving]] = 0
            _remove(basis, upper, inner, unit_sums, size, leaving, k)
            for p in range(leaving, size - 1):
                current[p], numbers[p] = current[p + 1], numbers[p + 1]
            size -= 1
            shift = _weights(upper, inner, unit_sums, size, affine, target)
        for j in range(n_columns):
            if tried[j] == 2:
                tried[j] = 0
        for p in range(size):
            current[p] = target[p]
            tried[numbers[p]] = 1
        for a in range(k):
            residual[a] = y[a]
        squared_residual = 0.0
        for p in range(size):
            weight = inner[p] + shift * unit_sums[p] if affine else inner[p]
            for a in range(k):
                residual[a] -= weight * basis[p, a]
        for a in range(k):
            squared_residual += residual[a] * residual[a]
        if np.sqrt(squared_residual) <= noise:
            break
    if affine:
        total = 0.0
        for p in range(size):
            total += current[p]
        for p in range(size):
            current[p] /= total
    return size


@njit(nogil=True, cache=True)
def _dot(a, b, n):
    """Four sums side by side: faster than one, and in an order that is always the same."""
    s0 = s1 = s2 = s3 = 0.0
    n_quads = n - n % 4
    for i in range(0, n_quads, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(n_quads, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@njit(nogil=True, cache=True)
def _append(columns, lengths, j, basis, upper, size, direction, projections):
    """Return the direction in which column j leaves the span of those in use, as ``new``; False if it does not."""
    k = columns.shape[0]
    for a in range(k):
        direction[a] = columns[a, j]
    for p in range(size):
        projections[p] = 0.0
    length = lengths[j]
    for _ in range(3):
        before = length
        for p in range(size):
            h = _dot(basis[p], direction, k)
            projections[p] += h
            for a in range(k):
                direction[a] -= h * basis[p, a]
        length = np.sqrt(_dot(direction, direction, k))
        if length > _MIN_REMAINING * before:
            break
    if not length > _DEPENDENT * lengths[j]:
        return False
    for a in range(k):
        direction[a] /= length
    for p in range(size):
        upper[size, p] = projections[p]
    upper[size, size] = length
    return True


@njit(nogil=True, cache=True)
def _enter(y, basis, upper, inner, unit_sums, size, direction, projections):
    k = len(y)
    inner[size] = _dot(direction, y, k)
    for a in range(k):
        basis[size, a] = direction[a]
    total = 1.0
    for p in range(size):
        total -= projections[p] * unit_sums[p]
    unit_sums[size] = total / upper[size, size]


@njit(nogil=True, cache=True)
def _weights(upper, inner, unit_sums, size, affine, target):
    """Unconstrained weights on the columns in use, R^-1 (Q y + shift Q e), and the shift that makes them sum to one."""
    shift = 0.0
    if affine:
        squared, total = 0.0, 0.0
        for p in range(size):
            squared += unit_sums[p] * unit_sums[p]
            total += unit_sums[p] * inner[p]
        shift = (1.0 - total) / squared
        for p in range(size):
            target[p] = inner[p] + shift * unit_sums[p]
    else:
        for p in range(size):
            target[p] = inner[p]
    for p in range(size - 1, -1, -1):
        target[p] /= upper[p, p]
        for q in range(p):
            target[q] -= target[p] * upper[p, q]
    return shift


@njit(nogil=True, cache=True)
def _remove(basis, upper, inner, unit_sums, size, leaving, k):
    """Take column ``leaving`` out of the factorisation, by rotations."""
    for p in range(leaving, size - 1):
        for q in range(p + 2):
            upper[p, q] = upper[p + 1, q]
    for p in range(leaving, size - 1):
        a, b = upper[p, p], upper[p, p + 1]
        length = np.hypot(a, b)
        c, s = a / length, b / length
        for m in range(p, size - 1):
            x, y = upper[m, p], upper[m, p + 1]
            upper[m, p], upper[m, p + 1] = c * x + s * y, c * y - s * x
        upper[p, p + 1] = 0.0
        for m in range(k):
            x, y = basis[p, m], basis[p + 1, m]
            basis[p, m], basis[p + 1, m] = c * x + s * y, c * y - s * x
        x, y = inner[p], inner[p + 1]
        inner[p], inner[p + 1] = c * x + s * y, c * y - s * x
        x, y = unit_sums[p], unit_sums[p + 1]
        unit_sums[p], unit_sums[p + 1] = c * x + s * y, c * y - s * x
