"""Many least-squares problems over one set of vertices, constrained to the simplex or to nonnegative weights.

For points x_i and vertices s_k, weights c_i minimise |x_i - sum_k c_ik s_k|^2. Both solvers work on the K x K Gram
matrix of the vertices and the inner products of points with them, so the dimension of the points does not matter.
Problems are independent: they are solved in chunks on threads, and the bits do not depend on how many.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .._threads import for_chunks

__all__ = ["nonnegative_least_squares", "simplex_least_squares"]

_CHUNK = 512


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
    minimum, is at most ``tol`` times the mean squared norm of the vertices about their centre.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    vertices : ndarray of shape (K, d)
    tol : float
        Relative duality gap.
    max_steps : int
        Most steps for one point.
    start : ndarray of shape (n, K), optional
        Weights to start from; by default each point starts at its nearest vertex.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ndarray of shape (n, K), rows nonnegative and summing to one
    """
    centre = vertices.mean(axis=0)  # weights sum to one, so shifting everything changes nothing but the rounding
    shifted = vertices - centre
    gram = shifted @ shifted.T
    products = (points - centre) @ shifted.T
    weights = _nearest(products, gram) if start is None else np.array(start, dtype=np.float64)
    gap = tol * max(np.trace(gram) / len(gram), np.finfo(float).tiny)
    for_chunks(lambda a, b: _pairwise(gram, products[a:b], weights[a:b], gap, max_steps), len(points), _CHUNK, n_jobs)
    return weights


def nonnegative_least_squares(
    points: np.ndarray,
    vertices: np.ndarray,
    *,
    tol: float = 1e-8,
    max_sweeps: int = 1000,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Nonnegative weights on the vertices, by cyclic coordinate descent.

    It stops when no weight's change in a sweep moves the fitted point by more than ``tol`` times the norm of x.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    vertices : ndarray of shape (K, d)

    Returns
    -------
    ndarray of shape (n, K), nonnegative
    """
    gram = vertices @ vertices.T
    products = points @ vertices.T
    scale = tol * np.sqrt(np.einsum("ij,ij->i", points, points))
    weights = np.zeros_like(products)
    for_chunks(
        lambda a, b: _cyclic(gram, products[a:b], weights[a:b], scale[a:b], max_sweeps), len(points), _CHUNK, n_jobs
    )
    return weights


def _nearest(products: np.ndarray, gram: np.ndarray) -> np.ndarray:
    weights = np.zeros(products.shape)
    weights[np.arange(len(products)), np.argmax(products - np.diag(gram) / 2, axis=1)] = 1.0
    return weights


@njit(nogil=True, cache=True)
def _pairwise(gram, products, weights, gap, max_steps):  # pragma: no cover - compiled
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
def _cyclic(gram, products, weights, scale, max_sweeps):  # pragma: no cover - compiled
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
