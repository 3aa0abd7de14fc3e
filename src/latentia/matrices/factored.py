"""Symmetric matrices of probabilities as products of thin factors: whatever is asked of them is computed in tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .. import _fields as of
from ..system.threads import run_in_chunks, single_blas_thread

_TILE = (256, 1024)


@dataclass(frozen=True)
class Factored:
    """The matrix max(left @ core @ left.T, least @ least.T), shape (M, M), entrywise; without ``least``, the product alone.

    Attributes
    ----------
    left : ndarray of shape (M, K)
    core : ndarray of shape (K, K)
        Symmetric.
    least : ndarray of shape (M,), optional
    """

    left: Annotated[np.ndarray, of.numbers("V R")]
    core: Annotated[np.ndarray, of.numbers("R R")]
    least: Annotated[np.ndarray | None, of.numbers("V", 0.0)] = None

    @property
    def size(self) -> int:
        return len(self.left)

    def entries(self, i: Any, j: Any) -> np.ndarray:
        """Entries at the places (i, j), arrays of one shape."""
        i, j = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        found = np.einsum("nk,nk->n", self.left[i.ravel()] @ self.core, self.left[j.ravel()]).reshape(i.shape)
        return found if self.least is None else np.maximum(found, self.least[i] * self.least[j])

    def rows(self, i: Any, columns: slice = slice(None)) -> np.ndarray:
        """Rows i (an array of numbers or a slice), shape (n, M), or some of their columns."""
        return self._tile(self.left[i] @ self.core, None if self.least is None else self.least[i], columns)

    def row_sums(self, n_jobs: int | None = None) -> np.ndarray:
        """Sum of every row, shape (M,), in one pass over tiles."""
        if self.least is None:
            return (self.left @ self.core) @ self.left.sum(axis=0)
        out = np.zeros(self.size)

        def task(start: int, stop: int) -> None:
            mapped, least = self.left[start:stop] @ self.core, self.least[start:stop]  # type: ignore[index]
            for columns in _columns(self.size):
                out[start:stop] += self._tile(mapped, least, columns).sum(axis=1)

        with single_blas_thread():
            run_in_chunks(task, self.size, _TILE[0], n_jobs)
        return out

    def _tile(self, mapped: np.ndarray, least: np.ndarray | None, columns: slice) -> np.ndarray:
        tile = mapped @ self.left[columns].T
        if least is not None:
            np.maximum(tile, least[:, None] * self.least[columns], out=tile)  # type: ignore[index]
        return tile


def total_distance(first: Any, second: Any, scales: tuple[float, float], n_jobs: int | None = None) -> float:
    """l1 distance sum_ij |s_1 A_ij - s_2 B_ij| of two matrices with ``size`` and ``rows(slice, columns)``, in tiles.

    Those that are not square have a ``width`` too.
    """
    size, width = first.size, getattr(first, "width", first.size)
    sums = np.zeros(-(-size // _TILE[0]))

    def task(start: int, stop: int) -> None:
        for columns in _columns(width):
            tile = first.rows(slice(start, stop), columns) * scales[0]
            tile -= second.rows(slice(start, stop), columns) * scales[1]
            sums[start // _TILE[0]] += np.abs(tile, out=tile).sum()

    with single_blas_thread():
        run_in_chunks(task, size, _TILE[0], n_jobs)
    return float(sums.sum())


def _columns(size: int) -> list[slice]:
    return [slice(a, min(a + _TILE[1], size)) for a in range(0, size, _TILE[1])]
