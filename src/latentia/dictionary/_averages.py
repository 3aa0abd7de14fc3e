"""Atoms from all rows, given those of the clusters of some: Algorithms 5.2 and 5.3.

Codes of every row by matching pursuit with the atoms of the clusters say which clusters the row is in, and with which signs.
An atom is the direction of the sum of its rows: with coefficients of random signs the other atoms of these rows cancel, so that
the error falls as one over the root of their number. Where a row was taken for one of another cluster, the error of the atom
before stays in part; so rows are assigned again with the averages.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from ..linalg import unit_rows
from ..passes import Block, Blocks, accumulate
from .pursuit import matching_pursuit

AVERAGED = 3
"""Passes, in each of which all rows are assigned and averaged."""

_AT_ONCE = 1 << 22  # entries of the products of rows with atoms


def averages(
    blocks: Blocks, atoms: np.ndarray, sparsity: int, method: Literal["svd", "average"], n_jobs: int | None
) -> np.ndarray:
    """Atoms of all rows, of unit length, shape (m, n); those that no row uses stay.

    Parameters
    ----------
    blocks : Blocks
    atoms : ndarray of shape (m, n)
        Of unit length.
    sparsity : int
    method : {"svd", "average"}
        Rows count with their coefficient, which is a step of power iteration for the direction of largest variance, or with its
        sign.
    n_jobs : int, optional
    """
    for _ in range(AVERAGED):
        sums: np.ndarray = accumulate(blocks, _Sums(atoms, sparsity, method == "average"), n_jobs)
        atoms = np.asarray(np.where(sums.any(axis=1, keepdims=True), unit_rows(sums), atoms))
    return atoms


class _Sums:
    """Small statistic: of every atom the sum of the rows that use it, times the coefficient or its sign; shape (m, n)."""

    def __init__(self, atoms: np.ndarray, sparsity: int, signs: bool) -> None:
        self.atoms, self.sparsity, self.signs = atoms, sparsity, signs

    def zero(self) -> np.ndarray:
        return np.zeros(self.atoms.shape)

    def add(self, state: np.ndarray, block: Block) -> np.ndarray:
        step = max(1, _AT_ONCE // sum(self.atoms.shape))
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
