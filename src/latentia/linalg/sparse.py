"""Products of sparse counts with blocks of columns, and sums over observed cells; threads do not change the bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..system.threads import run_in_chunks

_ENTRIES = 1 << 18  # entries of a task: rows of frequent words are long


def sparse_product(table: Any, columns: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """Return ``table @ columns`` for a csr_array (n, m) and a dense (m, k), in float32 if ``columns`` is, else in float64."""
    columns = np.ascontiguousarray(columns, dtype=np.float32 if columns.dtype == np.float32 else np.float64)
    out = np.zeros((table.shape[0], columns.shape[1]), columns.dtype)
    data, indices, indptr = table.data, table.indices, table.indptr
    ends = row_pieces(table)
    run_in_chunks(
        lambda i, _: _product(data, indices, indptr, columns, out, ends[i], ends[i + 1]), len(ends) - 1, 1, n_jobs
    )
    return out


def ratio_product(
    table: Any, row_factor: np.ndarray, column_factor: np.ndarray, n_jobs: int | None = None
) -> tuple[np.ndarray, float]:
    """Return X @ V with X_ij = c_ij / m_ij where c_ij > 0, and sum c_ij log m_ij, for m = U V^T.

    Neither m nor X is built; every stored entry takes two passes over a row of V.

    Parameters
    ----------
    table : csr_array of shape (n, m)
    row_factor, column_factor : ndarray of shape (n, k) and (m, k)
        U and V.

    Returns
    -------
    image : ndarray of shape (n, k), float64
        Cells whose m_ij is not positive do not count.
    log_likelihood : float
        -inf if an observed cell has m_ij <= 0.
    """
    ends = row_pieces(table)
    sums = np.zeros(len(ends) - 1)
    row_factor, column_factor = (
        np.ascontiguousarray(row_factor, dtype=np.float64),
        np.ascontiguousarray(column_factor, dtype=np.float64),
    )
    image = np.zeros(row_factor.shape)
    data, indices, indptr = table.data, table.indices, table.indptr

    def task(i: int, _: int) -> None:
        sums[i] = _multiply_ratios(data, indices, indptr, row_factor, column_factor, image, ends[i], ends[i + 1])

    run_in_chunks(task, len(sums), 1, n_jobs)
    return image, float(sums.sum())


def sum_lowered_squares(table: Any, weights: np.ndarray, n_jobs: int | None = None) -> float:
    """Return sum_ij w_i w_j c_ij (c_ij - 1) over the cells of a csr_array (n, n), with c_ii - 2 on the diagonal."""
    ends = row_pieces(table)
    sums = np.zeros(len(ends) - 1)
    data, indices, indptr = table.data, table.indices, table.indptr

    def task(i: int, _: int) -> None:
        sums[i] = _sum_lowered(data, indices, indptr, weights, ends[i], ends[i + 1])

    run_in_chunks(task, len(sums), 1, n_jobs)
    return float(sums.sum())


def row_pieces(table: Any) -> np.ndarray:
    """Return boundaries of runs of rows with about equally many entries each; they depend on the table alone."""
    starts = np.searchsorted(table.indptr, np.arange(0, max(table.nnz, 1), _ENTRIES, dtype=table.indptr.dtype))
    return np.unique(np.concatenate([[0], starts, [table.shape[0]]]))


@njit(nogil=True, cache=True)
def _sum_lowered(
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
def _multiply_ratios(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    row_factor: np.ndarray,
    column_factor: np.ndarray,
    image: np.ndarray,
    start: int,
    stop: int,
) -> float:
    total = 0.0
    for i in range(start, stop):
        for e in range(indptr[i], indptr[i + 1]):
            row = indices[e]
            model = 0.0
            for c in range(row_factor.shape[1]):
                model += row_factor[i, c] * column_factor[row, c]
            if model > 0.0:
                ratio = data[e] / model
                total += data[e] * np.log(model)
                for c in range(column_factor.shape[1]):
                    image[i, c] += ratio * column_factor[row, c]
            else:
                total = total - np.inf if data[e] > 0 else total
    return total
