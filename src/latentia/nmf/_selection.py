"""Greedy searches for the vertices of a simplex among its points, beside the plain `latentia.simplex.farthest_vertices`.

Each adds one point at a time. They differ in what the distance is measured from, and in how the points are transformed before.
All return numbers of points in the order of their choice; fewer than asked for where no further point adds anything.

Sources: R. Ge, thesis 2013, Algorithm 4.3; N. Gillis, S. Vavasis, IEEE TPAMI 36 (2014), and SIAM J. Optim. 25 (2015), for
successive projections and their preconditioning; N. Gillis, SIAM J. Imaging Sci. 7 (2014), for nonnegative projections.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..simplex import farthest_vertices, simplex_least_squares

_NEGLIGIBLE = 1e-10  # share of the largest norm or singular value that counts as zero
_MIN_GRAM_RATIO = 1e-6  # singular values below this share of the largest are lost in a Gram matrix


def find_affine_vertices(points: np.ndarray, n_vertices: int) -> np.ndarray:
    """Take the farthest point from the affine span of those chosen, then replace each by the farthest from the others' span.

    These are both loops of Algorithm 4.3. In d dimensions there are up to d + 1 vertices; spans through the origin allow d.
    """
    first = int(np.einsum("ij,ij->i", points, points).argmax())
    further, _ = farthest_vertices(points - points[first], n_vertices - 1)
    vertices = np.concatenate([[first], further]).astype(np.int64)
    for k in range(len(vertices)):
        remaining = np.delete(vertices, k)
        if not len(remaining):
            continue
        shifted = points - points[remaining[0]]
        basis = np.linalg.qr(shifted[remaining[1:]].T)[0]
        projections = shifted @ basis
        vertices[k] = np.argmax(
            np.einsum("ij,ij->i", shifted, shifted) - np.einsum("ij,ij->i", projections, projections)
        )
    return vertices


class LeadingCoordinates(NamedTuple):
    """Coordinates of points on their leading singular vectors, shape (m, k), and the singular values."""

    coordinates: np.ndarray
    sizes: np.ndarray

    @classmethod
    def compute(cls, points: np.ndarray, n: int) -> LeadingCoordinates:
        """Return coordinates on ``n`` singular vectors, or on as many as there are."""
        if points.shape[1] > points.shape[0]:
            _, sizes, directions = np.linalg.svd(points, full_matrices=False)
        else:
            squares, vectors = np.linalg.eigh(points.T @ points)
            sizes, directions = np.sqrt(np.maximum(squares[::-1], 0.0)), vectors[:, ::-1].T
            if sizes[: n + 1].min() < _MIN_GRAM_RATIO * sizes[0]:  # lost in the Gram matrix
                _, sizes, directions = np.linalg.svd(np.linalg.qr(points, mode="r"))
        return cls(points @ directions[:n].T, sizes[:n])


def find_whitened_vertices(
    points: np.ndarray, n_vertices: int, leading: LeadingCoordinates | None = None
) -> np.ndarray:
    """Run successive projections on points whitened to n_vertices dimensions, which makes vertices well-conditioned."""
    coordinates, sizes = leading or LeadingCoordinates.compute(points, n_vertices)
    chosen = sizes > _NEGLIGIBLE * sizes.max(initial=0.0)
    return farthest_vertices(coordinates[:, chosen] / sizes[chosen], n_vertices)[0]


def find_preconditioned_vertices(
    points: np.ndarray, n_vertices: int, leading: LeadingCoordinates | None = None
) -> np.ndarray:
    """Run successive projections twice, the second time in coordinates in which the first vertices are orthonormal."""
    coordinates, _ = leading or LeadingCoordinates.compute(points, n_vertices)
    first_vertices, _ = farthest_vertices(coordinates, n_vertices)
    return farthest_vertices(coordinates @ np.linalg.pinv(coordinates[first_vertices]), n_vertices)[0]


def find_hull_vertices(points: np.ndarray, n_vertices: int, n_jobs: int | None = None) -> np.ndarray:
    """Take the farthest point from the convex hull of the origin and the points chosen so far (SNPA).

    There may be more vertices than dimensions, and points inside the hull are not mistaken for vertices.
    """
    squared = np.einsum("ij,ij->i", points, points)
    largest = float(squared.max(initial=0.0))
    vertices: list[int] = []
    residuals, weights = squared, np.empty((len(points), 0))
    for _ in range(n_vertices):
        farthest = int(residuals.argmax())
        residual = points[farthest] - weights[farthest, 1:] @ points[vertices] if vertices else points[farthest]
        if float(residual @ residual) <= _NEGLIGIBLE**2 * largest or farthest in vertices:
            break
        vertices.append(farthest)
        start = np.hstack([weights, np.zeros((len(points), 1))]) if weights.size else None
        corners = np.vstack([np.zeros((1, points.shape[1])), points[vertices]])
        weights = simplex_least_squares(points, corners, start=start, tol=0.0, n_jobs=n_jobs)
        residuals = compute_squared_distances(points, squared, corners, weights)
    return np.array(vertices, dtype=np.int64)


def compute_squared_distances(
    points: np.ndarray, squared_lengths: np.ndarray, vertices: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return |x - c S|^2 of each point from its squared length, without forming the points c S; shape (n,)."""
    difference = np.einsum("ij,ij->i", weights, weights @ (vertices @ vertices.T) - 2 * (points @ vertices.T))
    return np.asarray(np.maximum(squared_lengths + difference, 0.0))
