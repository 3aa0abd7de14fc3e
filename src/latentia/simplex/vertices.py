"""Vertices of a simplex among noisy points of it.

`farthest_vertices` takes the point farthest from the span of those found (FastAnchorWords, Alg. 4.3 of Ge's thesis,
2013); `clean_up_vertices` is the second loop of that algorithm. `robust_loners` is the linear-programming selection of
section 3.5, for some hundreds of points at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from scipy import optimize, sparse
from scipy.sparse.csgraph import connected_components

from ..exceptions import LatentiaError

__all__ = ["clean_up_vertices", "farthest_vertices", "robust_loners"]

_VANISHED = 1e-10
_MOST_LONERS = 400


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
    candidates = np.arange(len(points)) if candidates is None else np.asarray(candidates)
    chosen = np.ascontiguousarray(points[candidates], dtype=np.float64)
    known = np.empty((0, chosen.shape[1])) if start is None else np.asarray(start, dtype=np.float64)
    basis = np.linalg.qr(known.T)[0].T if len(known) else known
    room = max(0, min(n_vertices, chosen.shape[1] - len(basis), len(chosen)))
    found, distances = _farthest(chosen, np.ascontiguousarray(basis), room, _VANISHED)
    return candidates[found], distances


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
        others = np.linalg.qr(points[np.delete(cleaned, k)].T)[0]
        inside = chosen @ others
        cleaned[k] = candidates[np.argmax(squared - np.einsum("ij,ij->i", inside, inside))]
    return cleaned


def robust_loners(points: np.ndarray, n_vertices: int, *, eps: float | None = None) -> np.ndarray:
    """Vertices by linear programming: rows that are more than 2 eps from the hull of the rows outside their neighbourhood.

    Row j is (delta, eps)-close to row i if some convex combination of all rows that puts at least 1 - delta on j lies
    within eps of row i in l1. A row is a robust loner if its l1 distance to the hull of the rows that it is not
    (6 eps / gamma, 2 eps)-close to exceeds 2 eps (Def. 3.23, which prints "at most"). Loners that are close to one
    another stand for the same vertex; the loner farthest from its hull represents them.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        At most 400 rows: the number of linear programs grows as n^2.
    n_vertices : int
    eps : float, optional
        l1 noise of a row. By default the first of a doubling series that leaves ``n_vertices`` groups of loners or
        fewer.

    Returns
    -------
    ndarray of int, shape (n_found,), with n_found <= n_vertices, sorted by decreasing distance
    """
    if len(points) > _MOST_LONERS:
        raise LatentiaError(
            f"Selection by linear programming is for at most {_MOST_LONERS} candidates and there are {len(points)}. "
            "Raise min_df, or use anchors='greedy'."
        )
    spread = np.abs(points - points.mean(axis=0)).sum(axis=1).max()
    if spread == 0:
        return np.zeros(min(1, len(points)), dtype=np.int64)
    series = [eps] if eps is not None else list(spread * 2.0 ** np.arange(-20, 0))
    found = np.empty(0, dtype=np.int64)
    for noise in series:
        found = _loners(points, noise, gamma=100 * noise)
        if len(found) > 1:
            # The rows found are nearly the vertices, so their own separation is a better gamma (end of section 3.5).
            apart = min(_hull_distance(points, i, np.delete(found, k)) for k, i in enumerate(found))
            found = _loners(points, noise, gamma=max(apart - 2 * noise, 100 * noise))
        if len(found) <= n_vertices:
            break
    return found[:n_vertices]


def _loners(points: np.ndarray, eps: float, gamma: float) -> np.ndarray:
    """One robust loner for each group of them, by decreasing distance from the hull of the others."""
    n, delta = len(points), 6 * eps / gamma
    everyone = np.arange(n)
    close = np.eye(n, dtype=bool)
    for j in everyone:
        apart = np.abs(points - points[j]).sum(axis=1)
        for i in np.flatnonzero(apart <= 2 * eps + delta * apart.max()):  # no row farther away can be close
            close[j, i] = i == j or _pinned_distance(points, i, j, 1 - delta) <= 2 * eps
    distance = np.array([_hull_distance(points, j, np.flatnonzero(~close[j])) for j in everyone])
    loners = np.flatnonzero(distance > 2 * eps)
    links = close[np.ix_(loners, loners)]
    n_groups, group = connected_components(sparse.csr_array(links | links.T), directed=False)
    members = [loners[group == g] for g in range(n_groups)]
    best = [m[np.argmax(distance[m])] for m in members]
    return np.array(sorted(best, key=lambda j: -distance[j]), dtype=np.int64)


def _hull_distance(points: np.ndarray, i: Any, others: np.ndarray) -> float:
    """l1 distance of row i to the convex hull of other rows; infinite if there are none."""
    if not len(others):
        return np.inf
    return _l1_program(points[i], points[others], np.zeros(len(others)))


def _pinned_distance(points: np.ndarray, i: Any, j: Any, weight: float) -> float:
    """l1 distance of row i to the convex combinations of all rows that put at least ``weight`` on row j."""
    lower = np.zeros(len(points))
    lower[j] = weight
    return _l1_program(points[i], points, lower)


def _l1_program(target: np.ndarray, rows: np.ndarray, lower: np.ndarray) -> float:
    """min |target - c rows|_1 over convex weights c >= lower, as a linear program in (c, positive, negative parts)."""
    n, d = rows.shape
    cost = np.concatenate([np.zeros(n), np.ones(2 * d)])
    equal = np.block([[rows.T, np.eye(d), -np.eye(d)], [np.ones((1, n)), np.zeros((1, 2 * d))]])
    bounds = [(low, None) for low in lower] + [(0, None)] * (2 * d)
    result = optimize.linprog(cost, A_eq=equal, b_eq=np.append(target, 1.0), bounds=bounds, method="highs")
    if result.status != 0:
        raise LatentiaError(f"A linear program of the vertex selection failed: {result.message}")
    return float(result.fun)


@njit(nogil=True, cache=True)
def _farthest(points, known, room, vanished):  # pragma: no cover - compiled
    n, d = points.shape
    basis = np.empty((len(known) + room, d))
    basis[: len(known)] = known
    size = len(known)
    squared, level = np.empty(n), np.zeros(n, np.int64)
    for i in range(n):
        squared[i] = np.dot(points[i], points[i])
    floor = vanished**2 * squared.max()
    found, distances = np.empty(room, np.int64), np.empty(room)
    last = -1
    for k in range(room):
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
        residual = points[at].copy()
        for _ in range(2):
            for b in range(size):
                residual -= np.dot(residual, basis[b]) * basis[b]
        length = np.sqrt(np.dot(residual, residual))
        if length * length <= floor:
            return found[:k], distances[:k]
        basis[size] = residual / length
        size += 1
        found[k], distances[k] = at, length
        squared[at] = -1.0
        last = second_at
    return found, distances
