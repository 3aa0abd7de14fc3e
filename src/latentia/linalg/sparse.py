"""Sparse counts times blocks of columns, and sums over the cells that were seen: rows on threads, same bits for any number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..system.threads import run_in_chunks

_ENTRIES = 1 << 18  # of a task: rows of frequent words are long


def sparse_product(table: Any, columns: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """``table @ columns`` for a csr_array (n, m) of any number type and a dense (m, k), in float64, or float32 if that is."""
    columns = np.ascontiguousarray(columns, dtype=np.float32 if columns.dtype == np.float32 else np.float64)
    out = np.zeros((table.shape[0], columns.shape[1]), columns.dtype)
    data, indices, indptr = table.data, table.indices, table.indptr
    ends = row_pieces(table)
    run_in_chunks(
        lambda i, _: _product(data, indices, indptr, columns, out, ends[i], ends[i + 1]), len(ends) - 1, 1, n_jobs
    )
    return out


def ratio_product(
    table: Any, left: np.ndarray, right: np.ndarray, n_jobs: int | None = None
) -> tuple[np.ndarray, float]:
    """X @ right with X_ij = c_ij / m_ij at the cells that hold c_ij > 0, and sum c_ij log m_ij, for m = left @ right.T.

    Neither m nor X is built; every stored entry takes two passes over a row of ``right``.

    Parameters
    ----------
    table : csr_array of shape (n, m)
    left, right : ndarray of shape (n, k) and (m, k)

    Returns
    -------
    image : ndarray of shape (n, k), float64
        Cells whose m_ij is not positive do not count.
    log_likelihood : float
        -inf if an observed cell has m_ij <= 0.
    """
    ends = row_pieces(table)
    sums = np.zeros(len(ends) - 1)
    left, right = np.ascontiguousarray(left, dtype=np.float64), np.ascontiguousarray(right, dtype=np.float64)
    image = np.zeros(left.shape)
    data, indices, indptr = table.data, table.indices, table.indptr

    def task(i: int, _: int) -> None:
        sums[i] = _ratios(data, indices, indptr, left, right, image, ends[i], ends[i + 1])

    run_in_chunks(task, len(sums), 1, n_jobs)
    return image, float(sums.sum())


def lowered_squares(table: Any, weights: np.ndarray, n_jobs: int | None = None) -> float:
    """sum_ij w_i w_j c_ij (c_ij - 1) over the cells of a csr_array (n, n), with c_ii - 2 on the diagonal."""
    ends = row_pieces(table)
    sums = np.zeros(len(ends) - 1)
    data, indices, indptr = table.data, table.indices, table.indptr

    def task(i: int, _: int) -> None:
        sums[i] = _lowered(data, indices, indptr, weights, ends[i], ends[i + 1])

    run_in_chunks(task, len(sums), 1, n_jobs)
    return float(sums.sum())


def row_pieces(table: Any) -> np.ndarray:
    """Boundaries of runs of rows with about equally many entries each; they depend on the table alone."""
    starts = np.searchsorted(table.indptr, np.arange(0, max(table.nnz, 1), _ENTRIES, dtype=table.indptr.dtype))
    return np.unique(np.concatenate([[0], starts, [table.shape[0]]]))


@njit(nogil=True, cache=True)
def _lowered(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, weights: np.ndarray, start: int, stop: int
) -> float:
    total = 0.0
    for i in range(start, stop):
        part = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            value = float(data[e])
            part += weights[indices[e]] * value * (value - (2.0 if indices[e] == i else 1.0))
        total += weights[i] * part
    return total


@njit(nogil=True, cache=True)
def _product(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    columns: np.ndarray,
    out: np.ndarray,
    start: int,
    stop: int,
) -> None:
    k = columns.shape[1]
    for i in range(start, stop):
        for e in range(indptr[i], indptr[i + 1]):
            value, row = columns.dtype.type(data[e]), indices[e]
            for c in range(k):
                out[i, c] += value * columns[row, c]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _ratios(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    image: np.ndarray,
    start: int,
    stop: int,
) -> float:
    total = 0.0
    for i in range(start, stop):
        for e in range(indptr[i], indptr[i + 1]):
            row = indices[e]
            model = 0.0
            for c in range(left.shape[1]):
                model += left[i, c] * right[row, c]
            if model > 0.0:
                ratio = data[e] / model
                total += data[e] * np.log(model)
                for c in range(right.shape[1]):
                    image[i, c] += ratio * right[row, c]
            else:
                total = total - np.inf if data[e] > 0 else total
    return total
