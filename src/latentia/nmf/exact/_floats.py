"""Floats for the start of exact searches: balanced matrices, and nonnegative factors by coordinate descent."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

_MAX_FLOAT = 10**300


def remove_scales(M: np.ndarray) -> tuple[np.ndarray, list[Fraction], list[Fraction]]:
    """Return a matrix of whole numbers without the scales of its rows and columns: M = rows[:, None] * result * columns.

    Scales are powers of two and the result is exact, array of Fraction, shape (n, m), so that whole numbers of any size
    have floats.
    """
    bits = np.array([[int(x).bit_length() for x in row] for row in M], dtype=float)
    bits[M == 0] = np.nan
    row_powers = np.rint(np.nanmean(bits, axis=1))
    column_powers = np.rint(np.nanmean(bits - row_powers[:, None], axis=0))
    rows, columns = ([Fraction(2) ** int(power) for power in powers] for powers in (row_powers, column_powers))
    level = np.empty(M.shape, dtype=object)
    for i, a in enumerate(rows):
        level[i] = [x / (a * b) for x, b in zip(M[i], columns, strict=True)]
    return level, rows, columns


def to_floats(M: np.ndarray) -> np.ndarray:
    """Return floats of exact numbers, and the largest power of ten for those beyond."""
    return np.array([float(min(x, _MAX_FLOAT)) for x in M.flat]).reshape(M.shape)


def balance(M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return floats with rows and columns of mean one, and the scales: M = rows[:, None] * X * columns."""
    X = to_floats(M)
    rows, columns = np.ones(len(X)), np.ones(X.shape[1])
    for _ in range(10):
        mean = X.mean(axis=1)
        X, rows = X / np.maximum(mean, 1e-300)[:, None], rows * mean
        mean = X.mean(axis=0)
        X, columns = X / np.maximum(mean, 1e-300), columns * mean
    return X, rows, columns


def descend(X: np.ndarray, r: int, rng: np.random.Generator, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nonnegative factors by coordinate descent (HALS) from a random start."""
    A, W = rng.random((X.shape[0], r)), rng.random((r, X.shape[1]))
    for _ in range(rounds):
        for factor, other_factor, target in ((A, W, X), (W.T, A.T, X.T)):
            gram, products = other_factor @ other_factor.T, target @ other_factor.T
            for k in range(r):
                step = (products[:, k] - factor @ gram[:, k]) / max(gram[k, k], 1e-12)
                factor[:, k] = np.maximum(1e-12, factor[:, k] + step)
    return A, W
