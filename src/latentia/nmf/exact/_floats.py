"""Floats that exact searches start from: balanced matrices, and nonnegative factors by coordinate descent."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

_LARGEST = 10**300


def levelled(M: np.ndarray) -> tuple[np.ndarray, list[Fraction], list[Fraction]]:
    """A matrix of whole numbers without the scales of its rows and columns: M = rows[:, None] * result * columns.

    Scales are powers of two and the result is exact, array of Fraction, shape (n, m), so that whole numbers of any size
    have floats.
    """
    bits = np.array([[int(x).bit_length() for x in row] for row in M], dtype=float)
    bits[M == 0] = np.nan
    of_rows = np.rint(np.nanmean(bits, axis=1))
    of_columns = np.rint(np.nanmean(bits - of_rows[:, None], axis=0))
    rows, columns = ([Fraction(2) ** int(power) for power in powers] for powers in (of_rows, of_columns))
    level = np.empty(M.shape, dtype=object)
    for i, a in enumerate(rows):
        level[i] = [x / (a * b) for x, b in zip(M[i], columns, strict=True)]
    return level, rows, columns


def in_floats(M: np.ndarray) -> np.ndarray:
    """Floats of exact numbers, and the largest power of ten for those beyond."""
    return np.array([float(min(x, _LARGEST)) for x in M.flat]).reshape(M.shape)


def balanced(M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Floats with rows and columns of mean one, and the scales: M = rows[:, None] * X * columns."""
    X = in_floats(M)
    rows, columns = np.ones(len(X)), np.ones(X.shape[1])
    for _ in range(10):
        mean = X.mean(axis=1)
        X, rows = X / np.maximum(mean, 1e-300)[:, None], rows * mean
        mean = X.mean(axis=0)
        X, columns = X / np.maximum(mean, 1e-300), columns * mean
    return X, rows, columns


def descended(X: np.ndarray, r: int, rng: np.random.Generator, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Nonnegative factors by coordinate descent (HALS) from a random start."""
    A, W = rng.random((X.shape[0], r)), rng.random((r, X.shape[1]))
    for _ in range(rounds):
        for left, right, target in ((A, W, X), (W.T, A.T, X.T)):
            gram, products = right @ right.T, target @ right.T
            for k in range(r):
                step = (products[:, k] - left @ gram[:, k]) / max(gram[k, k], 1e-12)
                left[:, k] = np.maximum(1e-12, left[:, k] + step)
    return A, W
