"""Products of a block's sparse table C with dense columns: C B, and sums of C^T Z over blocks.

C B gathers a row of B for every entry, four at a time, so that several are on their way from memory at once. C^T Z could
scatter to a row of the sum for every entry; instead the entries are put in the order of their columns first, so that every
row of the sum is read and written once a block and its terms are added in the cache.

Every row of the sum belongs to one task, and terms are added one after the other, in the order of the entries: no bit depends
on threads, nor on entries of zero. Terms are in the precision of B and Z, sums of C^T Z in that of the sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numba import njit

from ..system.threads import Parallel, threads
from .counts import Counts, as_counts

_TASK_ROWS, _TASK_ENTRIES, _N_RANGES = 512, 1 << 15, 4


class Columns(NamedTuple):
    """Entries by column: those of column v are ``rows[starts[v]:starts[v + 1]]``, ascending, with their ``values``."""

    starts: np.ndarray
    rows: np.ndarray
    values: np.ndarray


def encode_counts(table: Any, codes: np.ndarray | None, dtype: Any = np.float64) -> Counts:
    """Replace columns v by codes[v], and drop entries with negative codes; keep all entries without codes."""
    counts = as_counts(table)
    data = counts.data.astype(dtype, copy=False)
    if codes is None:
        return Counts(counts.indptr, counts.indices, data)
    return Counts(*_encode(counts.indptr, counts.indices, data, codes))


def products(counts: Counts, columns: np.ndarray, parallel: Parallel) -> np.ndarray:
    """Return C B, shape (n, k), for B of shape (F, k) and data of its type."""
    n = len(counts.indptr) - 1
    out = np.empty((n, columns.shape[1]), columns.dtype)

    def task(i: int) -> None:
        _gather(counts.indptr, counts.indices, counts.data, columns, out, i * _TASK_ROWS, min(n, (i + 1) * _TASK_ROWS))

    parallel(task, -(-n // _TASK_ROWS))
    return out


def squared_products(counts: Counts, columns: np.ndarray, parallel: Parallel) -> tuple[np.ndarray, np.ndarray]:
    """Return C B and C B^2, with entries of B squared, in one scan of its rows."""
    n = len(counts.indptr) - 1
    out, squares = (np.empty((n, columns.shape[1]), columns.dtype) for _ in range(2))

    def task(i: int) -> None:
        _gather_squares(
            counts.indptr,
            counts.indices,
            counts.data,
            columns,
            out,
            squares,
            i * _TASK_ROWS,
            min(n, (i + 1) * _TASK_ROWS),
        )

    parallel(task, -(-n // _TASK_ROWS))
    return out, squares


def gather_products(counts: Counts, codes: np.ndarray | None, columns: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Return C B, shape (n, k), in the precision of B, shape (F, k); words with a code of -1 are dropped."""
    data = counts.data.astype(columns.dtype, copy=False)
    encoded = Counts(counts.indptr, counts.indices, data)
    if codes is not None:
        encoded = Counts(*_encode(counts.indptr, counts.indices, data, codes))
    with threads(effective_n_jobs(n_jobs)) as parallel:
        return products(encoded, np.ascontiguousarray(columns), parallel)


def sort_by_column(
    counts: Counts,
    n_columns: int,
    parallel: Parallel,
    factors: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    n_groups: int = 1,
) -> Columns:
    """Sort entries by column, times the factors of their rows; columns of later groups of rows follow earlier ones."""
    n = len(counts.indptr) - 1
    offsets = np.zeros(n, np.int64) if groups is None else groups.astype(np.int64) * n_columns
    factors = np.ones(n, counts.data.dtype) if factors is None else factors.astype(counts.data.dtype)
    starts = _starts(counts.indptr, counts.indices, offsets, n_groups * n_columns)
    columns = Columns(starts, np.empty(starts[-1], np.int32), np.empty(starts[-1], counts.data.dtype))
    bounds = np.searchsorted(starts, np.linspace(0, starts[-1], _N_RANGES + 1))
    bounds[0], bounds[-1] = 0, n_groups * n_columns

    def task(i: int) -> None:
        first, last = bounds[i], bounds[i + 1]
        _fill(
            counts.indptr,
            counts.indices,
            counts.data,
            factors,
            offsets,
            columns.rows,
            columns.values,
            starts,
            first,
            last,
        )

    parallel(task, _N_RANGES)
    return columns


def add_products(
    total: np.ndarray,
    columns: Columns,
    rows: np.ndarray,
    parallel: Parallel,
    single: np.ndarray | None = None,
    *,
    exact: bool = False,
) -> None:
    """Add C^T Z to ``total``, shape (F, k), for Z of shape (n, k), and the sums of the columns of C to ``single``, (F,).

    With ``exact`` every term of C^T Z is rounded by `round_to_grid` first, so that terms can be subtracted again.
    """
    starts = columns.starts
    bounds = np.searchsorted(starts, np.arange(0, starts[-1] + _TASK_ENTRIES, _TASK_ENTRIES))
    bounds[-1] = len(starts) - 1
    sums = np.empty(0) if single is None else single

    def task(i: int) -> None:
        if exact:
            _collect_on_grid(starts, columns.rows, columns.values, rows, total, bounds[i], bounds[i + 1])
        else:
            _collect(starts, columns.rows, columns.values, rows, total, sums, bounds[i], bounds[i + 1])

    parallel(task, len(bounds) - 1)


# --- kernels ----------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True, inline="always")
def round_to_grid(term):
    """Round a term to a multiple of 2^-38: sums below 2^15 are exact, in any order, and a term taken away leaves nothing."""
    return np.rint(term * 2.0**38) * 2.0**-38


@njit(nogil=True, cache=True)
def _encode(indptr, indices, data, codes):
    indptr_out = np.empty(len(indptr), np.int64)
    columns, values = np.empty(len(indices), np.int32), np.empty(len(indices), data.dtype)
    n_entries = 0
    indptr_out[0] = 0
    for d in range(len(indptr) - 1):
        for e in range(indptr[d], indptr[d + 1]):
            code = codes[indices[e]]
            columns[n_entries], values[n_entries] = code, data[e]
            n_entries += code >= 0
        indptr_out[d + 1] = n_entries
    return indptr_out, columns[:n_entries], values[:n_entries]


@njit(nogil=True, cache=True)
def _gather(indptr, indices, data, columns, out, first, last):
    k = columns.shape[1]
    for d in range(first, last):
        t = out[d]
        t[:] = 0
        e, end = indptr[d], indptr[d + 1]
        while e + 4 <= end:
            a, b, c, f = data[e], data[e + 1], data[e + 2], data[e + 3]
            p, q = columns[indices[e]], columns[indices[e + 1]]
            r, s = columns[indices[e + 2]], columns[indices[e + 3]]
            for j in range(k):
                t[j] = (((t[j] + a * p[j]) + b * q[j]) + c * r[j]) + f * s[j]
            e += 4
        while e < end:
            a, p = data[e], columns[indices[e]]
            for j in range(k):
                t[j] += a * p[j]
            e += 1


@njit(nogil=True, cache=True)
def _gather_squares(indptr, indices, data, columns, out, squares, first, last):
    k = columns.shape[1]
    for d in range(first, last):
        t, u = out[d], squares[d]
        t[:] = 0
        u[:] = 0
        e, end = indptr[d], indptr[d + 1]
        while e + 2 <= end:
            a, b = data[e], data[e + 1]
            p, q = columns[indices[e]], columns[indices[e + 1]]
            for j in range(k):
                x, y = a * p[j], b * q[j]
                t[j] = (t[j] + x) + y
                u[j] = (u[j] + x * p[j]) + y * q[j]
            e += 2
        if e < end:
            a, p = data[e], columns[indices[e]]
            for j in range(k):
                x = a * p[j]
                t[j] += x
                u[j] += x * p[j]


@njit(nogil=True, cache=True)
def _starts(indptr, indices, offsets, n_columns):
    starts = np.zeros(n_columns + 1, np.int32)
    for d in range(len(indptr) - 1):
        for e in range(indptr[d], indptr[d + 1]):
            starts[offsets[d] + indices[e] + 1] += 1
    for v in range(n_columns):
        starts[v + 1] += starts[v]
    return starts


@njit(nogil=True, cache=True)
def _fill(indptr, indices, data, factors, offsets, rows, values, starts, first, last):
    at = starts[first:last].copy()
    for d in range(len(indptr) - 1):
        shift = offsets[d] - first
        for e in range(indptr[d], indptr[d + 1]):
            v = shift + indices[e]
            if 0 <= v < last - first:
                place = at[v]
                rows[place], values[place] = d, data[e] * factors[d]
                at[v] = place + 1


@njit(nogil=True, cache=True)
def _collect(starts, docs, values, rows, total, single, first, last):
    k = rows.shape[1]
    row = np.empty(k, total.dtype)
    for v in range(first, last):
        e, end = starts[v], starts[v + 1]
        if e == end:
            continue
        if len(single) > 0:
            single[v] += values[e:end].sum()
        row[:] = 0
        while e + 4 <= end:
            a, b, c, f = values[e], values[e + 1], values[e + 2], values[e + 3]
            p, q, r, s = rows[docs[e]], rows[docs[e + 1]], rows[docs[e + 2]], rows[docs[e + 3]]
            for j in range(k):
                row[j] = (((row[j] + a * p[j]) + b * q[j]) + c * r[j]) + f * s[j]
            e += 4
        while e < end:
            a, p = values[e], rows[docs[e]]
            for j in range(k):
                row[j] += a * p[j]
            e += 1
        t = total[v]
        for j in range(k):
            t[j] += row[j]


@njit(nogil=True, cache=True)
def _collect_on_grid(starts, docs, values, rows, total, first, last):
    for v in range(first, last):
        t = total[v]
        for e in range(starts[v], starts[v + 1]):
            a, p = values[e], rows[docs[e]]
            for j in range(rows.shape[1]):
                t[j] += round_to_grid(a * p[j])
