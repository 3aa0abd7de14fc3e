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

_PER_COMPONENT, _MORE = 3, 20  # leading singular vectors,
_FOLD = 2  # and times as many features, from which on rows are replaced by their coordinates on these
_SMALL = 1000  # rows or features, up to which singular vectors are computed at once
_PLAIN = 1e20  # size of entries, up to which products of them are far from the ends of floats
_SMALLEST = 1e-300  # entry of a table, whose inverse is in range
_NOTHING = 1e-12  # of the largest singular value, or square of one
_DARK = 0.1  # of the median row's sum, below which rows are not brightened further
_DARKEST = (
    1e-100  # of the largest sum: the same where most rows are so dark that squares of their scales are out of range
)


@dataclass(frozen=True)
class Table:
    """All rows, divided by a power of two of about the size of the largest entry if that is very large or small.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n, d)
    unit : float
        What they were divided by.
    first : ndarray of int, shape (m,)
        The first copy of every different row, ascending.
    """

    rows: Any
    unit: float
    first: np.ndarray

    def points(self, mixing: Literal["simplex", "cone"], n_components: int, seed: int, exact: bool = False) -> Points:
        """The rows as points among which vertices are looked for, with all features if ``exact``.

        Where any multiple of a row is as good, "cone", rows are scaled to sum to one; dark ones, whose noise would become
        large, to less.
        """
        n, d = self.rows.shape
        scales = np.ones(n)
        if mixing == "cone":
            sums = np.asarray(self.rows.sum(axis=1)).ravel()
            bright = sums[sums > 0]
            if not len(bright):
                raise LatentiaError(
                    "No row has a positive sum, so that rows cannot be scaled to one. Use mixing='simplex'.",
                    parameter="mixing", value=mixing,
                )  # fmt: skip
            least = max(_DARK * float(np.median(bright)), _DARKEST * float(bright.max()))
            scales = np.where(sums > 0, 1.0 / np.maximum(sums, least), 0.0)
        rows = sparse.diags_array(scales) @ self.rows if sparse.issparse(self.rows) else self.rows * scales[:, None]
        directions = None
        k = min(n, d, _PER_COMPONENT * n_components + _MORE)
        if d > _FOLD * k and not exact:
            _, _, directions = leading_triplets(rows, k, seed)
        rows = rows if len(self.first) == n else rows[self.first]
        energy = float((rows * rows).sum()) if directions is not None else 0.0
        points = rows.toarray() if sparse.issparse(rows) and directions is None else rows
        points = np.ascontiguousarray(points if directions is None else points @ directions.T, dtype=np.float64)
        outside = max(energy - float(np.einsum("ij,ij->", points, points)), 0.0) if directions is not None else 0.0
        return Points(mixing, points, scales[self.first], d, outside, directions)

    def scaled(self, points: Points, most: int) -> np.ndarray:
        """The rows, scaled and with all features, of `Points.some`; shape (most, d)."""
        at = evenly(len(points.points), most)
        rows = self.rows[self.first[at]]
        return np.asarray((rows.toarray() if sparse.issparse(rows) else rows) * points.scales[at, None])

    def means(self, members: Sequence[np.ndarray], points: Points) -> np.ndarray:
        """Means of the scaled rows of some points, each brought back to the scale of the first, shape (r, d)."""
        found = []
        for own in members:
            rows, scales = self.rows[self.first[own]], points.scales[own]
            rows = rows.toarray() if sparse.issparse(rows) else rows
            found.append((rows * scales[:, None]).mean(axis=0) / (scales[0] if scales[0] > 0 else 1.0))
        return np.array(found)


@dataclass(frozen=True)
class Points:
    """Points among which vertices are looked for.

    Attributes
    ----------
    mixing : {"simplex", "cone"}
    points : ndarray of shape (m, k)
        The different rows of a table, scaled, or their coordinates on k leading singular vectors.
    scales : ndarray of shape (m,)
        What the rows were multiplied by.
    dimension : int
        Number of features.
    outside : float
        Squared length of the points that the coordinates leave out.
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

    def some(self, most: int) -> Points:
        """Some of them."""
        at = evenly(len(self.points), most)
        return replace(
            self, points=self.points[at], scales=self.scales[at], outside=self.outside * len(at) / len(self.points)
        )

    def of(self, components: np.ndarray) -> np.ndarray:
        """Components as vertices among the points, shape (r, k)."""
        if self.mixing == "cone":
            sums = components.sum(axis=1, keepdims=True)
            components = components / np.where(sums > 0, sums, 1.0)
        return components if self.directions is None else np.asarray(components @ self.directions.T)


def evenly(n: int, most: int) -> np.ndarray:
    """At most so many of n numbers, evenly from the first to the last."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


def leading_triplets(rows: Any, n: int, seed: int, n_passes: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The n largest singular triplets of a table, those without length left out: shapes (m, k), (k,), (k, d)."""
    if min(rows.shape) > _SMALL:
        return block_krylov_svd(rows, n, n_passes=n_passes, random_state=seed)
    if not sparse.issparse(rows) and max(rows.shape) <= _SMALL:
        left, sizes, right = np.linalg.svd(rows, full_matrices=False)
        kept = np.flatnonzero(sizes > _NOTHING * sizes[:1])[:n]
        return left[:, kept], sizes[kept], right[kept]
    wide = rows.shape[1] > rows.shape[0]
    table = rows if wide else rows.T
    gram = table @ table.T
    squares, vectors = np.linalg.eigh(gram.toarray() if sparse.issparse(gram) else gram)
    kept = np.flatnonzero(squares > _NOTHING * squares[-1:])[::-1][:n]
    sizes, vectors = np.sqrt(squares[kept]), vectors[:, kept]
    others = (table.T @ vectors) / sizes
    return (vectors, sizes, others.T) if wide else (others, sizes, vectors.T)


def table_of(blocks: Blocks, missing: bool = False) -> Table:
    """Read all rows: a pass. NaN stands for missing cells, where they may be."""
    parts = [block[0] for block in blocks]
    if any(sparse.issparse(part) for part in parts):
        rows: Any = sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts])).astype(np.float64)
        check_sizes(rows, names=blocks.names)
        largest = float(np.abs(rows.data).max(initial=0.0))
    else:
        rows = (np.concatenate(parts) if len(parts) > 1 else np.asarray(parts[0])).astype(np.float64, copy=False)
        check_sizes(rows, names=blocks.names, missing=missing)
        largest = float(np.fmax.reduce(np.abs(rows), axis=None, initial=0.0))  # NaN is a missing cell
    if 0 < largest < _SMALLEST:
        raise LatentiaError(
            f"The largest entry is {largest:.3g}, and smaller than {_SMALLEST:g}: give the data in other units."
        )
    unit = float(2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0
    unit = 1.0 if 1 / _PLAIN < unit < _PLAIN else unit
    rows = rows if unit == 1 else rows / unit
    return Table(rows, unit, _once(rows))


def _once(rows: Any) -> np.ndarray:
    """The first copy of every different row, ascending: of rows with the same sum, those with the same entries are copies."""
    if sparse.issparse(rows):
        rows.sum_duplicates()
    _, same, counts = np.unique(np.asarray(rows.sum(axis=1)).ravel(), return_inverse=True, return_counts=True)
    suspects = np.flatnonzero(counts[same] > 1)
    kept = np.ones(rows.shape[0], dtype=bool)
    kept[suspects] = False
    seen: dict[bytes, int] = {}
    for i in suspects.tolist():
        if sparse.issparse(rows):
            own = slice(rows.indptr[i], rows.indptr[i + 1])
            key = rows.indices[own].tobytes() + rows.data[own].tobytes()
        else:
            key = (rows[i] + 0.0).tobytes()  # no negative zeros
        kept[seen.setdefault(key, i)] = True
    return np.flatnonzero(kept)
