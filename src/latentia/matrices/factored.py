"""Symmetric matrices of probabilities as products of thin factors, evaluated in tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .. import _fields as of
from ..system.threads import run_in_chunks, single_blas_thread

_TILE_SHAPE = (256, 1024)


@dataclass(frozen=True)
class LowRankProduct:
    """The matrix max(factor @ core @ factor.T, limits @ limits.T), shape (M, M), entrywise; without ``limits`` the product.

    Attributes
    ----------
    factor : ndarray of shape (M, K)
    core : ndarray of shape (K, K)
        Symmetric.
    limits : ndarray of shape (M,), optional
    """

    factor: Annotated[np.ndarray, of.numbers("V R")]
    core: Annotated[np.ndarray, of.numbers("R R")]
    limits: Annotated[np.ndarray | None, of.numbers("V", 0.0)] = None

    @property
    def size(self) -> int:
        return len(self.factor)

    def entries(self, i: Any, j: Any) -> np.ndarray:
        """Return the entries (i, j), for arrays that broadcast."""
        i, j = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        products = np.einsum("nk,nk->n", self.factor[i.ravel()] @ self.core, self.factor[j.ravel()]).reshape(i.shape)
        return products if self.limits is None else np.maximum(products, self.limits[i] * self.limits[j])

    def rows(self, i: Any, columns: slice = slice(None)) -> np.ndarray:
        """Return rows i (an array of numbers or a slice), shape (n, M), or some of their columns."""
        return self._tile(self.factor[i] @ self.core, None if self.limits is None else self.limits[i], columns)

    def row_sums(self, n_jobs: int | None = None) -> np.ndarray:
        """Return the sum of every row, shape (M,), in one pass over tiles."""
        if self.limits is None:
            return (self.factor @ self.core) @ self.factor.sum(axis=0)
        out = np.zeros(self.size)

        def task(start: int, stop: int) -> None:
            mapped, row_limits = self.factor[start:stop] @ self.core, self.limits[start:stop]  # type: ignore[index]
            for columns in _slice_columns(self.size):
                out[start:stop] += self._tile(mapped, row_limits, columns).sum(axis=1)

        with single_blas_thread():
            run_in_chunks(task, self.size, _TILE_SHAPE[0], n_jobs)
        return out

    def _tile(self, mapped_rows: np.ndarray, row_limits: np.ndarray | None, columns: slice) -> np.ndarray:
        tile = mapped_rows @ self.factor[columns].T
        if row_limits is not None:
            np.maximum(tile, row_limits[:, None] * self.limits[columns], out=tile)  # type: ignore[index]
        return tile


def total_distance(first: Any, second: Any, scales: tuple[float, float], n_jobs: int | None = None) -> float:
    """Return the l1 distance sum_ij |s_1 A_ij - s_2 B_ij| of two matrices with ``size`` and ``rows(slice, columns)``, in tiles.

    Rectangular matrices have a ``width`` too.
    """
    size, width = first.size, getattr(first, "width", first.size)
    sums = np.zeros(-(-size // _TILE_SHAPE[0]))

    def task(start: int, stop: int) -> None:
        for columns in _slice_columns(width):
            tile = first.rows(slice(start, stop), columns) * scales[0]
            tile -= second.rows(slice(start, stop), columns) * scales[1]
            sums[start // _TILE_SHAPE[0]] += np.abs(tile, out=tile).sum()

    with single_blas_thread():
        run_in_chunks(task, size, _TILE_SHAPE[0], n_jobs)
    return float(sums.sum())


def _slice_columns(size: int) -> list[slice]:
    return [slice(a, min(a + _TILE_SHAPE[1], size)) for a in range(0, size, _TILE_SHAPE[1])]
