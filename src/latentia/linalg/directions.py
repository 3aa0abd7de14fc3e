"""Rows as directions."""

from __future__ import annotations

import numpy as np


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Return rows scaled to unit length; those of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def leading_direction(rows: np.ndarray, n_steps: int) -> np.ndarray:
    """Direction of the largest mean square of rows, shape (n,), by this many power iterations from the longest one."""
    v = rows[np.einsum("ij,ij->i", rows, rows).argmax()]
    for _ in range(n_steps):
        v = unit_rows(((rows @ v) @ rows)[None])[0]
    return np.asarray(v)
