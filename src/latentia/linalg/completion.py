"""Completion of tables with missing cells from the other cells.

A table of low rank r with noise is fitted in turns: missing cells become those of the best approximation of rank r to the table
as completed before, whose directions are shrunk by noise (R. Mazumder, T. Hastie, R. Tibshirani, JMLR 11, 2010, shrink all by
one amount).
"""

from __future__ import annotations

import numpy as np

_MAX_TURNS, _MIN_MOVE = 100, 1e-5  # turns end when missing cells move by less than this share of their spread
_MIN_SQUARE = 1e-12


def complete_table(table: np.ndarray, missing: np.ndarray, rank: int) -> np.ndarray:
    """Fill missing cells with those of the nearest table of rank r; return the table, shape (n, d).

    Parameters
    ----------
    table : ndarray of shape (n, d)
        Its values in missing cells are not read.
    missing : ndarray of bool, shape (n, d)
        Each row and column must have an observed cell.
    rank : int
        Number of singular directions; each is shrunk by the mean square of the others.
    """
    observed = np.where(missing, 0.0, table)
    means = observed.sum(axis=0) / (~missing).sum(axis=0)
    filled = np.where(missing, means, table)
    spread = float(np.sqrt(np.where(missing, 0.0, (table - means) ** 2).sum() / max((~missing).sum(), 1)))
    for _ in range(_MAX_TURNS):
        is_wide = filled.shape[1] > filled.shape[0]
        squares, vectors = np.linalg.eigh(filled @ filled.T if is_wide else filled.T @ filled)
        leading = slice(max(len(squares) - rank, 0), None)
        other_squares = squares[: leading.start]
        noise = float(other_squares.mean()) if len(other_squares) else 0.0
        sizes = np.maximum(squares[leading], _MIN_SQUARE)
        directions = vectors[:, leading] * np.sqrt(np.maximum(1 - noise / sizes, 0.0))
        low = directions @ (directions.T @ filled) if is_wide else (filled @ directions) @ directions.T
        changes = np.where(missing, low - filled, 0.0)
        filled = filled + changes
        if np.abs(changes).max(initial=0.0) <= _MIN_MOVE * spread:
            break
    return np.asarray(filled)
