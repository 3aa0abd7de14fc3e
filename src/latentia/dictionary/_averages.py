"""Atoms from all rows, given those of the clusters of some rows: Algorithms 5.2 and 5.3.

Matching pursuit with the atoms of the clusters assigns every row to clusters, with signs. An atom is the direction of the sum
of its rows: with coefficients of random signs the other atoms of these rows cancel, so that the error falls as one over the
root of their number. Wrong assignments keep a part of the previous error; so rows are assigned again with the averages.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from ..linalg import unit_rows
from ..passes import Block, Blocks, accumulate
from .pursuit import matching_pursuit

AVERAGING_PASSES = 3
"""Number of passes; each assigns and averages all rows."""

_MAX_PRODUCTS = 1 << 22  # entries of the products of rows with atoms at a time


def average_rows(
    blocks: Blocks, atoms: np.ndarray, sparsity: int, method: Literal["svd", "average"], n_jobs: int | None
) -> np.ndarray:
    """Compute atoms of unit length from all rows, shape (m, n); unused atoms stay.

    Parameters
    ----------
    blocks : Blocks
    atoms : ndarray of shape (m, n)
        Atoms of unit length.
    sparsity : int
    method : {"svd", "average"}
        "svd" weights rows by their coefficients, a step of power iteration for the direction of largest variance; "average" by
        the signs of these.
    n_jobs : int, optional
    """
    for _ in range(AVERAGING_PASSES):
        sums: np.ndarray = accumulate(blocks, _Sums(atoms, sparsity, method == "average"), n_jobs)
        atoms = np.asarray(np.where(sums.any(axis=1, keepdims=True), unit_rows(sums), atoms))
    return atoms


class _Sums:
    """Small statistic: for every atom, the sum of the rows that use it, times the coefficient or its sign; shape (m, n)."""

    def __init__(self, atoms: np.ndarray, sparsity: int, signs: bool) -> None:
        self.atoms, self.sparsity, self.signs = atoms, sparsity, signs

    def zero(self) -> np.ndarray:
        return np.zeros(self.atoms.shape)

    def add(self, state: np.ndarray, block: Block) -> np.ndarray:
        step = max(1, _MAX_PRODUCTS // sum(self.atoms.shape))
        for first in range(0, block[0].shape[0], step):
            part = block[0][first : first + step]
            rows = np.ascontiguousarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
            codes = matching_pursuit(rows, self.atoms, self.sparsity)
            codes = codes._replace(values=np.sign(codes.values)) if self.signs else codes
            state += codes.table(len(state)).T @ rows
        return state

    def merge(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        first += second
        return first
