"""Rows as points: scaled, each kept once, and few coordinates where there are many features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from .._validation import check_sizes
from ..exceptions import LatentiaError
from ..linalg import block_krylov_svd
from ..passes import Blocks
from ._model import dense_parts, to_dense

_DIRECTIONS_PER_COMPONENT, _SPARE_DIRECTIONS = 3, 20  # number of leading singular vectors
_MIN_FEATURE_RATIO = 2  # with more features than this multiple of the vectors, rows are replaced by their coordinates
_MAX_DIRECT_SIZE = 1000  # rows or features up to which singular vectors are computed directly
_MAX_UNSCALED = 1e20  # size of entries up to which their products are in the range of floats
_MIN_LARGEST_ENTRY = 1e-300  # least size of the largest entry, so that its inverse is in range
_RANK_TOL = 1e-12  # share of the largest singular value, or of its square, that counts as zero
_MIN_SUM_RATIO = 0.1  # share of the median row's sum; rows below it are scaled as if they had this sum
_MIN_SUM_SHARE = 1e-100  # the same as a share of the largest sum, so that squares of the scales stay in range


@dataclass(frozen=True)
class Table:
    """All rows, divided by a power of two of about the size of the largest entry if that is very large or small.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n, d)
    unit : float
        Their divisor.
    first : ndarray of int, shape (m,)
        The first copy of every different row, ascending.
    """

    rows: Any
    unit: float
    first: np.ndarray

    def points(self, mixing: Literal["simplex", "cone"], n_components: int, seed: int, exact: bool = False) -> Points:
        """Return the rows as points for the search of vertices, with all features if ``exact``.

        For "cone", where rows may have any scale, rows are scaled to sum to one; dark ones, whose noise would grow, to less.
        """
        n, d = self.rows.shape
        scales = np.ones(n)
        if mixing == "cone":
            sums = np.asarray(self.rows.sum(axis=1)).ravel()
            positive_sums = sums[sums > 0]
            if not len(positive_sums):
                raise LatentiaError(
                    "No row has a positive sum, so that rows cannot be scaled to one. Use mixing='simplex'.",
                    parameter="mixing", value=mixing,
                )  # fmt: skip
            min_sum = max(_MIN_SUM_RATIO * float(np.median(positive_sums)), _MIN_SUM_SHARE * float(positive_sums.max()))
            scales = np.where(sums > 0, 1.0 / np.maximum(sums, min_sum), 0.0)
        rows = sparse.diags_array(scales) @ self.rows if sparse.issparse(self.rows) else self.rows * scales[:, None]
        directions = None
        k = min(n, d, _DIRECTIONS_PER_COMPONENT * n_components + _SPARE_DIRECTIONS)
        if d > _MIN_FEATURE_RATIO * k and not exact:
            _, _, directions = compute_leading_triplets(rows, k, seed)
        rows = rows if len(self.first) == n else rows[self.first]
        energy = float((rows * rows).sum()) if directions is not None else 0.0
        points = rows.toarray() if sparse.issparse(rows) and directions is None else rows
        points = np.ascontiguousarray(points if directions is None else points @ directions.T, dtype=np.float64)
        outside = max(energy - float(np.einsum("ij,ij->", points, points)), 0.0) if directions is not None else 0.0
        return Points(mixing, points, scales[self.first], d, outside, directions)

    def scale_rows(self, points: Points, max_rows: int) -> np.ndarray:
        """Return the rows of `Points.subsample`, scaled and with all features; shape (max_rows, d)."""
        places = choose_evenly(len(points.points), max_rows)
        rows = self.rows[self.first[places]]
        return np.asarray((rows.toarray() if sparse.issparse(rows) else rows) * points.scales[places, None])

    def average_members(self, members: Sequence[np.ndarray], points: Points) -> np.ndarray:
        """Average the scaled rows of each vertex, and return the means in the scale of its first row, shape (r, d)."""
        average_members = []
        for places in members:
            rows, scales = self.rows[self.first[places]], points.scales[places]
            rows = rows.toarray() if sparse.issparse(rows) else rows
            average_members.append((rows * scales[:, None]).mean(axis=0) / (scales[0] if scales[0] > 0 else 1.0))
        return np.array(average_members)


@dataclass(frozen=True)
class Points:
    """Points for the search of vertices.

    Attributes
    ----------
    mixing : {"simplex", "cone"}
    points : ndarray of shape (m, k)
        The different rows of a table, scaled, or their coordinates on k leading singular vectors.
    scales : ndarray of shape (m,)
        Factors of the rows.
    dimension : int
        Number of features.
    outside : float
        Squared length of the points beyond their coordinates.
    directions : ndarray of shape (k, d) or None
        The singular vectors.
    """

    mixing: Literal["simplex", "cone"]
    points: np.ndarray
    scales: np.ndarray
    dimension: int
    outside: float
    directions: np.ndarray | None

    @property
    def energy(self) -> float:
        """Squared length of the points."""
        return float(np.einsum("ij,ij->", self.points, self.points)) + self.outside

    def subsample(self, max_rows: int) -> Points:
        """Return at most ``max_rows`` of the points, evenly spaced."""
        places = choose_evenly(len(self.points), max_rows)
        return replace(
            self,
            points=self.points[places],
            scales=self.scales[places],
            outside=self.outside * len(places) / len(self.points),
        )

    def project_components(self, components: np.ndarray) -> np.ndarray:
        """Return components as vertices among the points, shape (r, k)."""
        if self.mixing == "cone":
            sums = components.sum(axis=1, keepdims=True)
            components = components / np.where(sums > 0, sums, 1.0)
        return components if self.directions is None else np.asarray(components @ self.directions.T)


def choose_evenly(n: int, max_size: int) -> np.ndarray:
    """Return at most ``max_size`` of the numbers 0 to n - 1, evenly spaced."""
    return np.linspace(0, n - 1, min(n, max_size)).astype(np.int64)


def compute_leading_triplets(
    rows: Any, n: int, seed: int, n_passes: int = 6
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the n largest singular triplets of a table without those of zero: shapes (m, k), (k,), (k, d)."""
    if min(rows.shape) > _MAX_DIRECT_SIZE:
        return block_krylov_svd(rows, n, n_passes=n_passes, random_state=seed)
    if max(rows.shape) <= _MAX_DIRECT_SIZE:
        row_vectors, sizes, directions = np.linalg.svd(to_dense(rows), full_matrices=False)
        chosen = np.flatnonzero(sizes > _RANK_TOL * sizes[:1])[:n]
        return row_vectors[:, chosen], sizes[chosen], directions[chosen]
    is_wide = rows.shape[1] > rows.shape[0]
    table = rows.T if is_wide else rows
    gram = np.zeros((table.shape[1],) * 2)
    for part in dense_parts(table):
        gram += part.T @ part
    squares, vectors = np.linalg.eigh(gram)
    chosen = np.flatnonzero(squares > _RANK_TOL * squares[-1:])[::-1][:n]
    sizes, vectors = np.sqrt(squares[chosen]), vectors[:, chosen]
    long_vectors = np.vstack([part @ vectors for part in dense_parts(table)]) / sizes
    return (vectors, sizes, long_vectors.T) if is_wide else (long_vectors, sizes, vectors.T)


def read_table(blocks: Blocks, missing: bool = False) -> Table:
    """Read all rows in one pass. NaN is a missing cell."""
    parts = [block[0] for block in blocks]
    if any(sparse.issparse(part) for part in parts):
        rows: Any = sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts])).astype(np.float64)
        check_sizes(rows, names=blocks.names)
        largest = float(np.abs(rows.data).max(initial=0.0))
    else:
        rows = (np.concatenate(parts) if len(parts) > 1 else np.asarray(parts[0])).astype(np.float64, copy=False)
        check_sizes(rows, names=blocks.names, missing=missing)
        largest = float(np.fmax.reduce(np.abs(rows), axis=None, initial=0.0))  # NaN is a missing cell
    if 0 < largest < _MIN_LARGEST_ENTRY:
        raise LatentiaError(
            f"The largest entry is {largest:.3g}, and smaller than {_MIN_LARGEST_ENTRY:g}: give the data in other units."
        )
    unit = float(2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0
    unit = 1.0 if 1 / _MAX_UNSCALED < unit < _MAX_UNSCALED else unit
    rows = rows if unit == 1 else rows / unit
    return Table(rows, unit, _find_first_copies(rows))


def _find_first_copies(rows: Any) -> np.ndarray:
    """Return the first copy of every different row, ascending. Only rows with equal sums are compared."""
    if sparse.issparse(rows):
        rows.sum_duplicates()
    _, groups, counts = np.unique(np.asarray(rows.sum(axis=1)).ravel(), return_inverse=True, return_counts=True)
    suspects = np.flatnonzero(counts[groups] > 1)
    is_first = np.ones(rows.shape[0], dtype=bool)
    is_first[suspects] = False
    first_rows: dict[bytes, int] = {}
    for i in suspects.tolist():
        if sparse.issparse(rows):
            stretch = slice(rows.indptr[i], rows.indptr[i + 1])
            key = rows.indices[stretch].tobytes() + rows.data[stretch].tobytes()
        else:
            key = (rows[i] + 0.0).tobytes()  # no negative zeros
        is_first[first_rows.setdefault(key, i)] = True
    return np.flatnonzero(is_first)
