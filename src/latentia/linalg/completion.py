"""Tables with missing cells, completed from the other cells.

A table of low rank r with noise is found by turns: cells that are missing become those of the best approximation of rank r to
the table as it was completed before, whose directions are shrunk by noise (R. Mazumder, T. Hastie, R. Tibshirani, JMLR 11,
2010, shrink all by one amount).
"""

from __future__ import annotations

import numpy as np

_MOST, _STILL = 100, 1e-5  # turns, and the share of their spread that missing cells move in the last one
_NOTHING = 1e-12


def completed(table: np.ndarray, missing: np.ndarray, rank: int) -> np.ndarray:
    """The table with its missing cells as those of the nearest table of rank r, shape (n, d).

    Parameters
    ----------
    table : ndarray of shape (n, d)
        Its values in missing cells are not read.
    missing : ndarray of bool, shape (n, d)
        Each row and column has a cell that is not.
    rank : int
        Singular directions, as far as they stand out: each is shrunk by the mean square of the others.
    """
    seen = np.where(missing, 0.0, table)
    means = seen.sum(axis=0) / (~missing).sum(axis=0)
    found = np.where(missing, means, table)
    spread = float(np.sqrt(np.where(missing, 0.0, (table - means) ** 2).sum() / max((~missing).sum(), 1)))
    for _ in range(_MOST):
        wide = found.shape[1] > found.shape[0]
        squares, vectors = np.linalg.eigh(found @ found.T if wide else found.T @ found)
        kept = slice(max(len(squares) - rank, 0), None)
        others = squares[: kept.start]
        noise = float(others.mean()) if len(others) else 0.0
        sizes = np.maximum(squares[kept], _NOTHING)
        directions = vectors[:, kept] * np.sqrt(np.maximum(1 - noise / sizes, 0.0))
        low = directions @ (directions.T @ found) if wide else (found @ directions) @ directions.T
        moved = np.where(missing, low - found, 0.0)
        found = found + moved
        if np.abs(moved).max(initial=0.0) <= _STILL * spread:
            break
    return np.asarray(found)
