"""Separable nonnegative factorization and vertices of a simplex, as printed: one linear program for each question.

R. Ge, thesis, Princeton 2013, sections 2.5 and 3.5 and Algorithm 4.3 (with S. Arora, R. Kannan, A. Moitra and others).
`latentia.simplex` has the same answers hundreds of times faster (`exact_loners`, `distance_loners`, `robust_loners`,
`farthest_vertices`).
"""

from __future__ import annotations

import numpy as np
from scipy import optimize
from scipy.sparse.csgraph import connected_components

_COPY = 1e-7  # of the spread of the rows: distances up to which rows are copies, and in a hull


def distance_to_hull(row: np.ndarray, rows: np.ndarray, least_weights: float | np.ndarray = 0.0) -> float:
    """Return min |x - c M|_1 over convex weights c >= ``least_weights`` of the rows M, shape (n, d); infinite without rows."""
    n, d = rows.shape
    if not n:
        return np.inf
    equalities = np.block([[rows.T, np.eye(d), -np.eye(d)], [np.ones((1, n)), np.zeros((1, 2 * d))]])
    right = np.append(row, 1.0)
    result = optimize.milp(  # a linear program, as no variable is integer; a call costs less than one of `linprog`
        np.r_[np.zeros(n), np.ones(2 * d)],
        constraints=optimize.LinearConstraint(equalities, right, right),
        bounds=optimize.Bounds(np.r_[np.broadcast_to(least_weights, n), np.zeros(2 * d)]),
    )
    return float(result.fun)


def loners(rows: np.ndarray) -> np.ndarray:
    """Return the rows outside of the hull of all others, but for their copies (Theorem 2.46); of copies the first."""
    rows = rows / np.abs(rows - rows.mean(axis=0)).sum(axis=1).max()
    distances = _pairwise_distances(rows)
    first_copies = [j for j in range(len(rows)) if not (distances[j, :j] <= _COPY).any()]
    return np.array([j for j in first_copies if distance_to_hull(rows[j], rows[distances[j] > _COPY]) > _COPY])


def robust_loners(
    rows: np.ndarray, noise: float, separation: float, radius: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows farther than 2 epsilon from the hull of those beyond the radius d, and their groups (Theorem 2.48).

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    noise : float
        epsilon, l1 noise of a row.
    separation : float
        alpha, least l1 distance of a vertex to the hull of the others.
    radius : float, optional
        d. The default is as printed, 5 epsilon / alpha + 2 epsilon; the proof needs 10 epsilon / alpha + 2 epsilon.

    Returns
    -------
    loners : ndarray of int
    groups : ndarray of int, one number a loner
        Loners within 2 (d + epsilon) of each other stand for one vertex.
    """
    radius = 5 * noise / separation + 2 * noise if radius is None else radius
    distances = _pairwise_distances(rows)
    far = [j for j in range(len(rows)) if distance_to_hull(rows[j], rows[distances[j] > radius]) > 2 * noise]
    links = distances[np.ix_(far, far)] <= 2 * (radius + noise)
    return np.array(far, dtype=np.int64), connected_components(links, directed=False)[1]


def almost_anchors(rows: np.ndarray, noise: float, separation: float) -> tuple[np.ndarray, np.ndarray]:
    """Return robust loners by weights (Definitions 3.21 to 3.23) and their groups (Theorem 3.20).

    Definition 3.23 prints "at most" 2 epsilon, and means more. Loners that are (6 epsilon / gamma, 2 epsilon)-close are linked;
    the proof has 10 epsilon / gamma.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    noise : float
        epsilon.
    separation : float
        gamma.
    """
    n, delta, distances = len(rows), 6 * noise / separation, _pairwise_distances(rows)
    close = np.eye(n, dtype=bool)
    for j in range(n):
        # Row i is reached from row j by a step of at most delta, and the noise.
        for i in np.flatnonzero(distances[j] <= 2 * noise + delta * distances[j].max()):
            least_weights = np.where(np.arange(n) == j, 1 - delta, 0.0)
            close[j, i] = i == j or distance_to_hull(rows[i], rows, least_weights) <= 2 * noise
    far = [j for j in range(n) if distance_to_hull(rows[j], rows[~close[j]]) > 2 * noise]
    return np.array(far, dtype=np.int64), connected_components(close[np.ix_(far, far)], directed=False)[1]


def fast_anchor_words(points: np.ndarray, n_vertices: int) -> np.ndarray:
    """Return points near the vertices of a simplex (Algorithm 4.3, without its random projection)."""

    def farthest(vertices: list[int]) -> int:
        """Return the point with the largest distance to the span of the vertices."""
        basis = np.linalg.qr(points[vertices].T)[0]
        return int(np.argmax(np.linalg.norm(points - points @ basis @ basis.T, axis=1)))

    vertices: list[int] = []
    for _ in range(n_vertices):
        vertices.append(farthest(vertices))
    for i in range(n_vertices):
        vertices[i] = farthest(vertices[:i] + vertices[i + 1 :])
    return np.array(vertices)


def _pairwise_distances(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(rows[:, None] - rows[None]).sum(axis=2))
