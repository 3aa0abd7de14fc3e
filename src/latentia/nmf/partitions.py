"""All partitions of points by a hyperplane, in any position (thesis, Theorem 2.22).

A central hyperplane h parts points into {i : h . x_i >= 0} and the rest. Turn h so that what it contains stays in it, until it
contains s - 1 independent points, where s is the rank of all (Lemma 2.20, which has s of them: these would span everything).
No point changes its side, but some come to lie in the hyperplane g that is reached. So every partition is given by such a g for
the points off it, and for the points in g, which have rank s - 1, by a partition of them. Conversely all of these occur, by a
small turn of g; no linear program is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..linalg.rational import Vector, independent_columns, null_vectors, primitive

_MAX_HYPERPLANES = 2_000_000
_MAX_PRODUCT = 2**62


def hyperplane_partitions(points: Any, *, affine: bool = False, strict: bool = False, tol: float = 1e-9) -> np.ndarray:
    """List all ways in which a hyperplane separates points.

    Exact input (whole numbers, fractions) is treated exactly, floats up to ``tol``. Points may repeat, be 0, or lie in
    subspaces of any kind. The cost grows as n^(s - 1) for n points of rank s.

    Parameters
    ----------
    points : array-like of shape (n, k)
        The columns of a matrix M are given as ``M.T``.
    affine : bool
        Whether hyperplanes need not pass through the origin.
    strict : bool
        Leave out partitions whose hyperplane must pass through points. Points on a hyperplane count as being on the side of
        True; so does 0, which every hyperplane contains.
    tol : float
        Floats: sine of the angle between a point and a hyperplane up to which it lies in it.

    Returns
    -------
    partitions : ndarray of bool, shape (n_partitions, n)
        True where h . x >= 0, for each different partition once, in lexicographic order. A hyperplane that contains the span
        of the points is not counted.

    Raises
    ------
    LatentiaError
        If the points are no table of finite numbers, or span more than 2 million hyperplanes.

    Examples
    --------
    >>> hyperplane_partitions([[1, 0], [0, 1]]).astype(int)
    array([[0, 0],
           [0, 1],
           [1, 0],
           [1, 1]])
    >>> len(hyperplane_partitions([[0], [1], [2]], affine=True))
    6
    """
    table = _read_points(points)
    if not len(table):
        return np.zeros((1, 0), dtype=bool)
    if affine:
        table = np.column_stack([table, np.ones(len(table), dtype=table.dtype)])
    rows: Any
    if table.dtype == object:
        rows = [primitive(row) for row in table]
        search = _Partitions(_project_to_span, _exact_hyperplanes, strict)
    else:
        lengths = np.linalg.norm(table, axis=1, keepdims=True)
        rows = np.divide(table, lengths, out=np.zeros_like(table), where=lengths > 0)
        search = _Partitions(
            lambda x: _project_floats_to_span(np.asarray(x), tol),
            lambda x: _float_hyperplanes(np.asarray(x), tol),
            strict,
        )
    width = -(-len(table) // 8)
    packed = b"".join(mask.to_bytes(width, "little") for mask in search.list_partitions(rows))
    sides = np.unpackbits(
        np.frombuffer(packed, np.uint8).reshape(-1, width), axis=1, count=len(table), bitorder="little"
    )
    return sides[np.lexsort(np.packbits(sides, axis=1).T[::-1])].astype(bool)


class _Partitions:
    """Partitions as bits, of points and of those subsets of them that lie in hyperplanes.

    ``project`` gives points in coordinates of their span, and ``hyperplanes`` the signs of the points for each hyperplane that
    independent ones span, shape (n_hyperplanes, n).
    """

    def __init__(self, project: Callable[[Any], Any], hyperplanes: Callable[[Any], np.ndarray], strict: bool) -> None:
        self._project, self._hyperplanes, self._strict = project, hyperplanes, strict

    def list_partitions(self, points: Any) -> set[int]:
        """List the partitions by hyperplanes that do not contain all points, unless all are 0."""
        all_points = (1 << len(points)) - 1
        inner = self._project(points)
        rank = len(inner[0]) if len(inner) else 0
        if not rank:
            return {all_points}
        if rank == len(points):
            return set(range(all_points + 1))
        partitions: set[int] = set()
        for signs in self._hyperplanes(inner):
            above, below = _mask(signs > 0), _mask(signs < 0)
            members = np.flatnonzero(signs == 0).tolist()
            if len(members) < rank:  # independent points can be separated in any way
                parts: Iterable[int] = range(1 << len(members))
            else:
                parts = self.list_partitions([inner[i] for i in members]) | (
                    set() if self._strict else {(1 << len(members)) - 1}
                )
            spread = [_spread(part, members) for part in parts]
            partitions.update(side | part for side in (above, below) for part in spread)
        return partitions


def _exact_hyperplanes(points: Sequence[Vector]) -> np.ndarray:
    """Return the signs of the points for the hyperplanes through rank - 1 independent ones."""
    size = len(points[0])
    _check_number(len(points), size)
    normals = sorted({max(normal, tuple(-x for x in normal)) for normal in null_vectors(points)})
    largest = [max(abs(x) for row in rows for x in row) for rows in (points, normals)]
    dtype = np.int64 if math.prod(largest) * size < _MAX_PRODUCT else object
    return _unique(np.sign(np.array(normals, dtype=dtype) @ np.array(points, dtype=dtype).T).astype(np.int8))


def _project_to_span(points: Sequence[Vector]) -> list[Vector]:
    columns = independent_columns(points)
    return [primitive([point[j] for j in columns]) for point in points]


def _float_hyperplanes(points: np.ndarray, tol: float) -> np.ndarray:
    size = points.shape[1]
    _check_number(len(points), size)
    normals = np.array(list(_orthogonal_vectors(np.eye(size), points, 0, tol)))
    heights = normals @ points.T
    return _unique(np.where(np.abs(heights) > tol, np.sign(heights), 0).astype(np.int8))


def _orthogonal_vectors(basis: np.ndarray, points: np.ndarray, start: int, tol: float) -> Iterator[np.ndarray]:
    """Yield unit vectors of the span of a basis that are orthogonal to maximal sets of independent points."""
    if len(basis) == 1:
        yield basis[0]
        return
    for i in range(start, len(points) - len(basis) + 2):
        heights = basis @ points[i]
        length = np.linalg.norm(heights)
        if length > tol:
            # A reflection that takes the heights to a multiple of the first unit vector; the others are orthogonal to them.
            mirror = heights / length
            mirror[0] += 1.0 if mirror[0] >= 0 else -1.0
            turned = basis - np.outer(mirror, 2 * (mirror @ basis) / (mirror @ mirror))
            yield from _orthogonal_vectors(turned[1:], points, i + 1, tol)


def _project_floats_to_span(points: np.ndarray, tol: float) -> np.ndarray:
    if not points.size:
        return np.zeros((len(points), 0))
    _, scale, right = np.linalg.svd(points, full_matrices=False)
    return points @ right[scale > tol].T


def _unique(signs: np.ndarray) -> np.ndarray:
    """Return each hyperplane once, with signs whose first nonzero entry is 1."""
    first = np.take_along_axis(signs, (signs != 0).argmax(axis=1)[:, None], axis=1)
    return np.unique(signs * first, axis=0)


def _mask(where: np.ndarray) -> int:
    return int.from_bytes(np.packbits(where, bitorder="little").tobytes(), "little")


def _spread(part: int, members: Sequence[int]) -> int:
    """Move the bits of a subset of ``members`` from their positions to their numbers."""
    return sum(1 << member for k, member in enumerate(members) if part >> k & 1)


def _check_number(n_points: int, rank: int) -> None:
    n_hyperplanes = math.comb(n_points, rank - 1)
    if n_hyperplanes > _MAX_HYPERPLANES:
        raise LatentiaError(
            f"{n_points} points of rank {rank} span up to {n_hyperplanes} hyperplanes; at most {_MAX_HYPERPLANES} are "
            "allowed. Use fewer points, or project them to fewer dimensions."
        )


def _read_points(points: Any) -> np.ndarray:
    """Return the points as floats, or as fractions if the input is exact; shape (n, k)."""
    table = np.asarray(points)
    if table.ndim != 2:
        raise LatentiaError(f"Expected a table with one point per row, found an array of shape {table.shape}.")
    if table.dtype.kind in "biu" or (table.dtype == object and not any(isinstance(x, float) for x in table.flat)):
        try:
            exact = [
                Fraction(int(x)) if isinstance(x, (bool, np.bool_, np.integer)) else Fraction(x) for x in table.flat
            ]
        except (TypeError, ValueError) as error:
            raise LatentiaError(f"The points are no table of numbers: {error}.") from None
        result = np.empty(table.shape, dtype=object)
        result[...] = np.array(exact, dtype=object).reshape(table.shape)
        return result
    try:
        floats = table.astype(float)
    except (TypeError, ValueError) as error:
        raise LatentiaError(f"The points are no table of numbers: {error}.") from None
    if not np.isfinite(floats).all():
        raise LatentiaError("Expected finite numbers; the points hold NaN or infinite values.")
    return floats
