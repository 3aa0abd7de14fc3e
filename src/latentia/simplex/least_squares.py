"""Least-squares problems of many points over one set of vertices, with weights on the simplex or nonnegative.

For points x_i and vertices s_k, weights c_i minimise |x_i - sum_k c_ik s_k|^2. There are two ways. Descent by coordinates
on the K x K Gram matrix of the vertices, stopped at a tolerance, is the cheapest where two or three digits do. The exact
solvers end at the optimum itself, to rounding: blocks of vertices exchanged at once where the points are many and the
vertices few and independent, active sets with a QR factorisation for the rest. Neither works in the dimension of the points,
after one product of them with the vertices. Problems are solved in chunks on threads, and the bits do not depend on how many.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..system.threads import run_in_chunks
from . import _active_set, _exchange

_CHUNK = 512
_FREE_VERTICES = 3
_MIN_EXCHANGE_SIZE = 1000  # points times further vertices; below it active sets take at most a millisecond more


def simplex_least_squares(
    points: np.ndarray,
    vertices: np.ndarray,
    *,
    tol: float = 1e-4,
    max_steps: int = 100_000,
    start: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Nearest point of the simplex spanned by the vertices, as weights on them.

    Pairwise coordinate descent (sequential minimal optimisation): each step moves weight from one vertex to another,
    the pair chosen to second order. It stops when the duality gap, which bounds the excess of |x - c S|^2 / 2 over its
    minimum, is at most ``tol`` times the mean squared norm of the vertices about their centre. With ``tol=0``, the
    weights are exact: see `nonnegative_least_squares`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    vertices : ndarray of shape (K, d)
    tol : float
        Relative duality gap; 0 for the optimum itself.
    max_steps : int
        Most steps of the descent for one point.
    start : ndarray of shape (n, K), optional
        Weights to start from; by default each point starts at its nearest vertex.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ndarray of shape (n, K), rows nonnegative and summing to one
    """
    if tol == 0:
        return _solve_exactly(points, vertices, start, affine=True, n_jobs=n_jobs)
    centre = vertices.mean(axis=0)  # weights sum to one, so a shift changes only the rounding
    shifted = vertices - centre
    gram = shifted @ shifted.T
    products = (points - centre) @ shifted.T
    weights = _start_at_nearest(products, gram) if start is None else np.array(start, dtype=np.float64)
    gap = tol * max(np.trace(gram) / len(gram), np.finfo(float).tiny)
    run_in_chunks(
        lambda a, b: _descend_pairwise(gram, products[a:b], weights[a:b], gap, max_steps), len(points), _CHUNK, n_jobs
    )
    return weights


def nonnegative_least_squares(
    points: np.ndarray,
    vertices: np.ndarray,
    *,
    tol: float = 0.0,
    max_sweeps: int = 1000,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return nonnegative weights on the vertices.

    Exact by default, as `scipy.optimize.nnls` of each point: the error of the weights is that of rounding, times the
    condition number of the vertices in use. Where vertices are dependent or repeated, the weights are one of the optima.
    With ``tol``, by cyclic coordinate descent, which stops when no weight's change in a sweep moves the fitted point by
    more than ``tol`` times the norm of x.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    vertices : ndarray of shape (K, d)
    tol : float
        Relative change at which descent stops; 0 for the optimum itself.
    max_sweeps : int
        Most sweeps of the descent for one point.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ndarray of shape (n, K), nonnegative
    """
    if tol == 0:
        return _solve_exactly(points, vertices, None, affine=False, n_jobs=n_jobs)
    gram = vertices @ vertices.T
    products = points @ vertices.T
    scale = tol * np.sqrt(np.einsum("ij,ij->i", points, points))
    weights = np.zeros_like(products)
    run_in_chunks(
        lambda a, b: _descend_cyclically(gram, products[a:b], weights[a:b], scale[a:b], max_sweeps),
        len(points),
        _CHUNK,
        n_jobs,
    )
    return weights


def observed_least_squares(
    points: np.ndarray, observed: np.ndarray, vertices: np.ndarray, *, affine: bool, n_jobs: int | None = None
) -> np.ndarray:
    """Optimal nonnegative weights of each point on the vertices by some of its coordinates.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    observed : ndarray of bool, shape (n, d)
        Which coordinates count; the others are not read.
    vertices : ndarray of shape (K, d)
    affine : bool
        Whether weights sum to one.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ndarray of shape (n, K)
    """
    weights = np.zeros((len(points), len(vertices)))
    vertices, points = (np.ascontiguousarray(rows, dtype=np.float64) for rows in (vertices, points))

    def solve(a: int, b: int) -> None:
        _active_set.least_observed_weights(vertices, points[a:b], observed[a:b], affine, weights[a:b])

    run_in_chunks(solve, len(points), _CHUNK, n_jobs)
    return weights


def _solve_exactly(
    points: np.ndarray, vertices: np.ndarray, start: np.ndarray | None, *, affine: bool, n_jobs: int | None
) -> np.ndarray:
    """Optimal weights, of shape (n, K)."""
    inside, columns = _active_set.coordinates(points, vertices, affine=affine)
    gram = columns.T @ columns
    is_small = len(inside) * (len(gram) - _FREE_VERTICES) < _MIN_EXCHANGE_SIZE  # exchanges take seconds to compile
    if is_small or columns.shape[1] > min(len(columns), _exchange.MAX_VERTICES):
        weights = np.zeros((len(inside), len(gram))) if start is None else np.array(start, dtype=np.float64)
        lengths = np.linalg.norm(columns, axis=0)

        def improve(a: int, b: int) -> None:
            weights[a:b] = _active_set.improve_weights(columns, lengths, inside[a:b], weights[a:b], affine=affine)

        run_in_chunks(improve, len(points), _CHUNK, n_jobs)
        return weights
    products = inside @ columns
    # Without constraints the weights come from one product, and most of their signs are right.
    weights = inside @ np.linalg.pinv(columns).T if start is None else np.array(start, dtype=np.float64)
    lengths = np.sqrt(np.diag(gram))

    def exchange(a: int, b: int) -> None:
        is_open = np.zeros(b - a, dtype=bool)
        _exchange.least_weights(columns, gram, lengths, inside[a:b], products[a:b], weights[a:b], is_open, affine)
        if is_open.any():
            rows = a + np.flatnonzero(is_open)
            weights[rows] = _active_set.improve_weights(columns, lengths, inside[rows], weights[rows], affine=affine)

    run_in_chunks(exchange, len(points), _CHUNK, n_jobs)
    return weights


def _start_at_nearest(products: np.ndarray, gram: np.ndarray) -> np.ndarray:
    weights = np.zeros(products.shape)
    weights[np.arange(len(products)), np.argmax(products - np.diag(gram) / 2, axis=1)] = 1.0
    return weights


@njit(nogil=True, cache=True)
def _descend_pairwise(gram, products, weights, gap, max_steps):
    n, k = products.shape
    gradient = np.empty(k)
    for i in range(n):
        c = weights[i]
        for j in range(k):
            gradient[j] = -products[i, j]
        for j in range(k):
            if c[j] != 0.0:
                for m in range(k):
                    gradient[m] += c[j] * gram[j, m]
        for _ in range(max_steps):
            low, mean = 0, 0.0
            for j in range(k):
                mean += c[j] * gradient[j]
                if gradient[j] < gradient[low]:
                    low = j
            if mean - gradient[low] <= gap:
                break
            high, best = -1, 0.0
            for j in range(k):
                if c[j] > 0.0 and gradient[j] > gradient[low]:
                    curvature = gram[low, low] + gram[j, j] - 2.0 * gram[low, j]
                    step = (gradient[j] - gradient[low]) / max(curvature, 1e-300)
                    if step > c[j]:
                        step = c[j]
                    gain = step * (gradient[j] - gradient[low] - 0.5 * step * curvature)
                    if gain > best:
                        high, best = j, gain
            if high < 0:
                break
            curvature = gram[low, low] + gram[high, high] - 2.0 * gram[low, high]
            step = (gradient[high] - gradient[low]) / max(curvature, 1e-300)
            if step >= c[high]:
                step = c[high]
                c[high] = 0.0
            else:
                c[high] -= step
            c[low] += step
            for j in range(k):
                gradient[j] += step * (gram[low, j] - gram[high, j])
        total = 0.0
        for j in range(k):
            total += c[j]
        for j in range(k):
            c[j] /= total


@njit(nogil=True, cache=True)
def _descend_cyclically(gram, products, weights, scale, max_sweeps):
    n, k = products.shape
    gradient = np.empty(k)
    for i in range(n):
        c = weights[i]
        for j in range(k):
            gradient[j] = -products[i, j]
        for _ in range(max_sweeps):
            moved = 0.0
            for j in range(k):
                if gram[j, j] <= 0.0:
                    continue
                new = max(c[j] - gradient[j] / gram[j, j], 0.0)
                change = new - c[j]
                if change != 0.0:
                    c[j] = new
                    for m in range(k):
                        gradient[m] += change * gram[j, m]
                    moved = max(moved, abs(change) * np.sqrt(gram[j, j]))
            if moved <= scale[i]:
                break
