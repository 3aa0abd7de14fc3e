"""Sums of products of rows in symmetric blocked form: third and fourth moments at the speed of matrix products.

Third moment. For rows z_n (n x d) with factors s_n, T = sum_n s_n z_n (x) z_n (x) z_n is symmetric, so that only
blocks I <= J <= L of index panels are summed: for a pair of panels of 16 the Khatri-Rao product of their columns
(rows x 256) meets the columns from J on in one matrix product. Flops: about 2 N d^3 / 6, plus what the blocks on the
diagonal do twice; bytes: N d^2 / 2 for the Khatri-Rao products, in chunks that stay in cache. With float32 rows the
products are in float32 and the sums over chunks in float64.

Fourth moment. T = sum_n z_n^(x 4) is kept as the P x P matrix of pairs i <= j, P = d (d + 1) / 2 (see
`latentia.tensor`): the Gram matrix of the rows' pair products, N P^2 flops.
"""

from __future__ import annotations

import numpy as np

from ..system.threads import Parallel, serial
from ..tensor.operators import symmetrise_modes

CHUNK = 2048
_PANEL = 16
_PAIRS = 256


def third_moment(rows: np.ndarray, factors: np.ndarray | None = None, parallel: Parallel = serial) -> np.ndarray:
    """sum_n s_n z_n (x) z_n (x) z_n, shape (d, d, d), for rows (n, d) and factors s (n,), by default all one."""
    total = np.zeros((rows.shape[1],) * 3)
    add_cubes(total, rows, factors, parallel)
    return mirror_cube(total)


def add_cubes(total: np.ndarray, rows: np.ndarray, factors: np.ndarray | None, parallel: Parallel) -> None:
    """Add the rows' third moment to the blocks I <= J <= L of ``total``, (d, d, d); `mirror_cube` fills in the others."""
    n, d = rows.shape
    starts = range(0, d, _PANEL)
    pairs = [(i, j) for i in starts for j in starts if i <= j]
    columns = np.ascontiguousarray(rows.T)  # panels of columns are contiguous, and so are their products
    scaled = columns if factors is None else columns * factors.astype(rows.dtype)

    def task(t: int) -> None:
        i, j = pairs[t]
        first, second = scaled[i : i + _PANEL], columns[j : j + _PANEL]
        part = total[i : i + len(first), j : j + len(second), j:]
        product = np.empty((len(first), len(second), min(n, CHUNK)), rows.dtype)
        for a in range(0, n, CHUNK):
            size = min(CHUNK, n - a)
            chunk = product[:, :, :size]
            np.multiply(first[:, None, a : a + size], second[None, :, a : a + size], out=chunk)
            part += (chunk.reshape(-1, size) @ columns[j:, a : a + size].T).reshape(part.shape)

    parallel(task, len(pairs))


def mirror_cube(total: np.ndarray) -> np.ndarray:
    """Fill in the blocks of a symmetric tensor from the sums of `add_cubes`, in place."""
    d = len(total)
    starts = range(0, d, _PANEL)
    for i in starts:
        for j in starts:
            for k in starts:
                if i <= j <= k:
                    continue
                order = np.argsort((i, j, k), kind="stable")
                source = [slice((i, j, k)[m], (i, j, k)[m] + _PANEL) for m in order]
                target = tuple(slice(s, s + _PANEL) for s in (i, j, k))
                total[target] = total[tuple(source)].transpose(np.argsort(order))
    return total


def sum_mixed_cubes(rows: np.ndarray, second_rows: np.ndarray, parallel: Parallel) -> np.ndarray:
    """Return sum_n of x (x) x (x) y, averaged over the orders of its modes, (d, d, d), for rows x and y, (n, d), of two tables.

    N d^3 flops: of the first two modes, which may be swapped, the blocks I <= J are summed.
    """
    n, d = rows.shape
    starts = range(0, d, _PANEL)
    pairs = [(i, j) for i in starts for j in starts if i <= j]
    columns, total = np.ascontiguousarray(rows.T), np.zeros((d, d, d))

    def task(t: int) -> None:
        i, j = pairs[t]
        first, second = columns[i : i + _PANEL], columns[j : j + _PANEL]
        part = total[i : i + len(first), j : j + len(second)]
        product = np.empty((len(first), len(second), min(n, CHUNK)), rows.dtype)
        for a in range(0, n, CHUNK):
            size = min(CHUNK, n - a)
            chunk = product[:, :, :size]
            np.multiply(first[:, None, a : a + size], second[None, :, a : a + size], out=chunk)
            part += (chunk.reshape(-1, size) @ second_rows[a : a + size]).reshape(part.shape)

    parallel(task, len(pairs))
    for i in range(d):
        total[i, :i] = total[:i, i]
    return symmetrise_modes(total)


def add_triples(
    total: np.ndarray, first: np.ndarray, second: np.ndarray, third: np.ndarray, parallel: Parallel
) -> None:
    """Add sum_n x_n (x) y_n (x) z_n to ``total``, (d_1, d_2, d_3), for rows (n, d_i) of three tables: 2 N d_1 d_2 d_3 flops."""
    n = len(first)
    starts = range(0, first.shape[1], _PANEL)
    x, y = np.ascontiguousarray(first.T), np.ascontiguousarray(second.T)
    rows = max(1, CHUNK * _PANEL // max(len(y), 1))

    def task(t: int) -> None:
        panel = x[starts[t] : starts[t] + _PANEL]
        part = total[starts[t] : starts[t] + len(panel)]
        for a in range(0, n, rows):
            product = panel[:, None, a : a + rows] * y[None, :, a : a + rows]
            size = product.shape[2]
            part += (product.reshape(-1, size) @ third[a : a + rows]).reshape(part.shape)

    parallel(task, len(starts))


def add_pair_gram(total: np.ndarray, rows: np.ndarray, parallel: Parallel) -> None:
    """Add sum_n pairs(z_n) pairs(z_n)^T to the upper blocks of ``total``, (P, P); `mirror_gram` fills in the others."""
    d = rows.shape[1]
    starts = np.concatenate([[0], np.cumsum(np.arange(d, 0, -1))])
    for a in range(0, len(rows), CHUNK):
        columns = np.ascontiguousarray(rows[a : a + CHUNK].T)
        products = np.empty((len(total), columns.shape[1]))
        for i in range(d):
            np.multiply(columns[i], columns[i:], out=products[starts[i] : starts[i + 1]])

        def task(t: int, products: np.ndarray = products) -> None:
            start = t * _PAIRS
            total[start : start + _PAIRS, start:] += products[start : start + _PAIRS] @ products[start:].T

        parallel(task, -(-len(total) // _PAIRS))


def mirror_gram(total: np.ndarray) -> np.ndarray:
    """Fill in the lower half of the sums of `add_pair_gram`, in place."""
    lower = np.tril_indices(len(total), -1)
    total[lower] = total.T[lower]
    return total
