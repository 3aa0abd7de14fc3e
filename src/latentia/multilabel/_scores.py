"""Scores that are linear in few coordinates: all scores, the best of each row, or those above a threshold.

N rows of K coordinates and L labels take 2 N K L flops. The best labels of a row are selected while its scores, in single
precision, are still in the cache.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..metrics import top_indices
from ..moments import gather_products
from ..moments.counts import as_stored_counts
from ..system.threads import run_in_chunks, single_blas_thread

_ENTRIES = 1 << 21  # scores of a chunk
_ROWS, _TILE = 256, 1 << 14  # rows and labels whose scores stay in the cache


class LinearScores:
    """Scores Z H + h_0 for coordinates Z of shape (n, K), an ndarray, or a csr_array of all words.

    Parameters
    ----------
    coefficients : ndarray of shape (K, L)
    intercept : ndarray of shape (L,)
    """

    def __init__(self, coefficients: np.ndarray, intercept: np.ndarray) -> None:
        self.coefficients, self.intercept = coefficients, intercept

    def __call__(self, rows: Any) -> np.ndarray:
        return rows @ self.coefficients + self.intercept

    def top(self, rows: Any, n_labels: int, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``n_labels`` best labels of every row and their scores, best first."""
        n_labels = min(n_labels, len(self.intercept))
        single, offset, columns = self._copies
        labels, scores = np.empty((rows.shape[0], n_labels), np.int32), np.empty((rows.shape[0], n_labels))
        tiles = range(0, max(len(offset), 1), _TILE)

        def compute_scores(part: Any, start: int) -> np.ndarray:
            values = part @ single[:, start : start + _TILE]
            values += offset[start : start + _TILE]
            return values

        def task(first: int, last: int) -> None:
            part = rows[first:last].astype(np.float32)
            best = [top_indices(compute_scores(part, t), n_labels) for t in tiles]
            places = np.concatenate(
                [t + labels_of_tile for t, (labels_of_tile, _) in zip(tiles, best, strict=True)], axis=1
            )
            chosen, _ = top_indices(np.concatenate([values for _, values in best], axis=1), n_labels)
            labels[first:last] = np.take_along_axis(places, chosen, 1)

        with single_blas_thread():
            run_in_chunks(task, rows.shape[0], _ROWS, n_jobs)
        for j in range(n_labels):
            scores[:, j] = _along(rows, columns, labels[:, j]) + self.intercept[labels[:, j]]
        order = np.argsort(-scores, axis=1, kind="stable")
        return np.take_along_axis(labels, order, 1), np.take_along_axis(scores, order, 1)

    @functools.cached_property
    def _copies(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coefficients and intercept in single precision, and contiguous coefficients of each label."""
        single = self.coefficients.astype(np.float32), self.intercept.astype(np.float32)
        return *single, np.ascontiguousarray(self.coefficients.T)

    def where(self, rows: Any, chosen: Callable[[np.ndarray], np.ndarray]) -> sparse.csr_array:
        """Return a table with 1 where ``chosen`` is true of the scores."""
        empty = sparse.csr_array((0, len(self.intercept)), dtype=np.int8)
        pieces = [empty] + [sparse.csr_array(chosen(part).astype(np.int8)) for part in self._chunks(rows)]
        return sparse.vstack(pieces, format="csr")

    def _chunks(self, rows: Any) -> Iterator[np.ndarray]:
        size = max(1, _ENTRIES // max(len(self.intercept), 1))
        for a in range(0, rows.shape[0], size):
            yield self(rows[a : a + size])


def _along(rows: Any, columns: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return z_d^T h_l of every row d and its label l; ``columns`` has contiguous coefficients of each label."""
    if not sparse.issparse(rows):
        return np.asarray(np.einsum("ik,ik->i", rows, columns[labels]))
    number = np.repeat(np.arange(len(labels)), np.diff(rows.indptr))
    return np.bincount(number, rows.data * columns[labels[number], rows.indices], len(labels))


def project(features: sparse.csr_array, basis: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Return F U in double precision, shape (n, K)."""
    return gather_products(as_stored_counts(features), None, basis, n_jobs).astype(np.float64)


def unit_interval(scores: np.ndarray, edge: float) -> np.ndarray:
    """Map scores into (0, 1), strictly increasing: the identity from ``edge`` to 1 - ``edge``, with rational tails."""
    low, high = np.minimum(scores, edge), np.maximum(scores, 1 - edge)
    below, above = edge**2 / (2 * edge - low), 1 - edge**2 / (2 * edge + high - 1)
    return np.where(scores < edge, below, np.where(scores > 1 - edge, above, scores))
