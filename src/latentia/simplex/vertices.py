"""Vertices of a simplex among noisy points of it.

`farthest_vertices` takes the point farthest from the span of those found (FastAnchorWords, Alg. 4.3 of Ge's thesis,
2013); `clean_up_vertices` is the second loop of that algorithm.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_NEGLIGIBLE = 1e-10


def farthest_vertices(
    points: np.ndarray, n_vertices: int, *, candidates: np.ndarray | None = None, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Greedily take the point farthest from the span of the points taken so far.

    Distances to a span only shrink as it grows, so an old distance is an upper bound: a point is brought up to date
    only while it could still be the farthest. The answer is that of the plain algorithm at a fraction of its work.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    n_vertices : int
        Points to take, at most d less the number of rows of ``start``.
    candidates : ndarray of int, optional
        Points that may be taken; by default all.
    start : ndarray of shape (m, d), optional
        Vertices that are known beforehand.

    Returns
    -------
    vertices : ndarray of int, shape (n_found,)
        In the order found. Fewer than ``n_vertices`` if every point lies in the span of those found, to 1e-10 of the
        largest norm.
    distances : ndarray of shape (n_found,)
        Distance of each from the span of those before it.
    """
    searched = np.ascontiguousarray(points if candidates is None else points[candidates], dtype=np.float64)
    given_vertices = np.empty((0, searched.shape[1])) if start is None else np.asarray(start, dtype=np.float64)
    basis = np.linalg.qr(given_vertices.T)[0].T if len(given_vertices) else given_vertices
    max_count = max(0, min(n_vertices, searched.shape[1] - len(basis), len(searched)))
    space = np.empty((len(basis) + max_count + 1, searched.shape[1]))
    space[: len(basis)] = basis
    vertices, distances = np.empty(max_count, np.int64), np.empty(max_count)
    size = _take_farthest(searched, space, len(basis), _NEGLIGIBLE, vertices, distances)
    vertices, distances = vertices[:size], distances[:size]
    return vertices if candidates is None else np.asarray(candidates)[vertices], distances


def clean_up_vertices(points: np.ndarray, vertices: np.ndarray, *, candidates: np.ndarray | None = None) -> np.ndarray:
    """Replace each vertex in turn by the point farthest from the span of the others (second loop of Alg. 4.3).

    Parameters
    ----------
    points : ndarray of shape (n, d)
    vertices : ndarray of int, shape (K,)
    candidates : ndarray of int, optional

    Returns
    -------
    ndarray of int, shape (K,)
    """
    candidates = np.arange(len(points)) if candidates is None else np.asarray(candidates)
    chosen, squared = points[candidates], np.einsum("ij,ij->i", points[candidates], points[candidates])
    cleaned = np.array(vertices)
    for k in range(len(cleaned)):
        basis = np.linalg.qr(points[np.delete(cleaned, k)].T)[0]
        projections = chosen @ basis
        cleaned[k] = candidates[np.argmax(squared - np.einsum("ij,ij->i", projections, projections))]
    return cleaned


@njit(nogil=True, cache=True)
def _take_farthest(points, basis, size, negligible, vertices, distances):
    """Take at most ``len(vertices)`` vertices and return how many there are. The first ``size`` rows of ``basis`` are given."""
    n, d = points.shape
    squared, level = np.empty(n), np.zeros(n, np.int64)
    largest = 0.0
    for i in range(n):
        squared[i] = np.dot(points[i], points[i])
        largest = max(largest, squared[i])
    last = -1
    for k in range(len(vertices)):
        # The runner-up of the last round is usually near the front: starting from it saves updates.
        best, at, second, second_at = -1.0, -1, -1.0, -1
        for turn in range(-1, n):
            i = last if turn < 0 else turn
            if i < 0 or (turn >= 0 and i == last) or squared[i] <= best:
                continue
            for b in range(level[i], size):
                along = np.dot(points[i], basis[b])
                squared[i] -= along * along
            level[i] = size
            if squared[i] > best:
                second, second_at = best, at
                best, at = squared[i], i
            elif squared[i] > second:
                second, second_at = squared[i], i
        residual = basis[size]
        for a in range(d):
            residual[a] = points[at, a]
        for _ in range(2):
            for b in range(size):
                along = np.dot(residual, basis[b])
                for a in range(d):
                    residual[a] -= along * basis[b, a]
        length = np.sqrt(np.dot(residual, residual))
        if length * length <= negligible**2 * largest:
            return k
        for a in range(d):
            residual[a] /= length
        size += 1
        vertices[k], distances[k] = at, length
        squared[at] = -1.0
        last = second_at
    return len(vertices)
