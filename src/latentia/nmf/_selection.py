"""Ways to select the vertices of a simplex among points of it, beside the plain one, `latentia.simplex.farthest_vertices`.

Each is a greedy search that adds one point at a time; they differ in what they measure the distance from, and in what has
been done to the points before. All return numbers of points in the order found, fewer than were asked for where the others add
nothing.

Sources: R. Ge, thesis 2013, Algorithm 4.3; N. Gillis, S. Vavasis, IEEE TPAMI 36 (2014), and SIAM J. Optim. 25 (2015), for
successive projections and their preconditioning; N. Gillis, SIAM J. Imaging Sci. 7 (2014), for nonnegative projections.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..simplex import farthest_vertices, simplex_least_squares

_VANISHED = 1e-10  # of the largest norm
_SQUARED = 1e-6  # of the largest singular value, that its square still shows


def affine_vertices(points: np.ndarray, n_vertices: int) -> np.ndarray:
    """Farthest point from the affine span of those found, and then from that of the others (Algorithm 4.3, both loops).

    In d dimensions it finds up to d + 1 vertices, where distances to a span through the origin end at d.
    """
    first = int(np.einsum("ij,ij->i", points, points).argmax())
    rest, _ = farthest_vertices(points - points[first], n_vertices - 1)
    found = np.concatenate([[first], rest]).astype(np.int64)
    for k in range(len(found)):
        others = np.delete(found, k)
        if not len(others):
            continue
        shifted = points - points[others[0]]
        basis = np.linalg.qr(shifted[others[1:]].T)[0]
        inside = shifted @ basis
        found[k] = np.argmax(np.einsum("ij,ij->i", shifted, shifted) - np.einsum("ij,ij->i", inside, inside))
    return found


class Leading(NamedTuple):
    """Coordinates of points on their leading singular vectors, shape (m, k), and the singular values."""

    coordinates: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, n: int) -> Leading:
        """Of ``n`` singular vectors, or as many as there are."""
        if points.shape[1] > points.shape[0]:
            _, sizes, directions = np.linalg.svd(points, full_matrices=False)
        else:
            squares, vectors = np.linalg.eigh(points.T @ points)
            sizes, directions = np.sqrt(np.maximum(squares[::-1], 0.0)), vectors[:, ::-1].T
            if sizes[: n + 1].min() < _SQUARED * sizes[0]:  # the Gram matrix has lost them
                _, sizes, directions = np.linalg.svd(np.linalg.qr(points, mode="r"))
        return cls(points @ directions[:n].T, sizes[:n])


def whitened_vertices(points: np.ndarray, n_vertices: int, leading: Leading | None = None) -> np.ndarray:
    """Successive projections of points whitened to n_vertices dimensions: ill-conditioned vertices become well-conditioned."""
    coordinates, sizes = leading or Leading.of(points, n_vertices)
    kept = sizes > _VANISHED * sizes.max(initial=0.0)
    return farthest_vertices(coordinates[:, kept] / sizes[kept], n_vertices)[0]


def preconditioned_vertices(points: np.ndarray, n_vertices: int, leading: Leading | None = None) -> np.ndarray:
    """Successive projections twice, the second time in coordinates in which the vertices found first are orthonormal."""
    coordinates, _ = leading or Leading.of(points, n_vertices)
    found, _ = farthest_vertices(coordinates, n_vertices)
    return farthest_vertices(coordinates @ np.linalg.pinv(coordinates[found]), n_vertices)[0]


def nonnegative_projections(points: np.ndarray, n_vertices: int, n_jobs: int | None = None) -> np.ndarray:
    """Farthest point from the convex hull of those found and the origin (SNPA).

    It finds more vertices than there are dimensions, and does not mistake points inside of the hull for vertices.
    """
    squared = np.einsum("ij,ij->i", points, points)
    largest = float(squared.max(initial=0.0))
    found: list[int] = []
    left, weights = squared, np.empty((len(points), 0))
    for _ in range(n_vertices):
        at = int(left.argmax())
        own = points[at] - weights[at, 1:] @ points[found] if found else points[at]
        if float(own @ own) <= _VANISHED**2 * largest or at in found:
            break
        found.append(at)
        start = np.hstack([weights, np.zeros((len(points), 1))]) if weights.size else None
        vertices = np.vstack([np.zeros((1, points.shape[1])), points[found]])
        weights = simplex_least_squares(points, vertices, start=start, tol=0.0, n_jobs=n_jobs)
        left = squared_distances(points, squared, vertices, weights)
    return np.array(found, dtype=np.int64)


def squared_distances(points: np.ndarray, squared: np.ndarray, vertices: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """|x - c S|^2 of each point, whose squared length is known, without the points c S; shape (n,)."""
    across = np.einsum("ij,ij->i", weights, weights @ (vertices @ vertices.T) - 2 * (points @ vertices.T))
    return np.asarray(np.maximum(squared + across, 0.0))
