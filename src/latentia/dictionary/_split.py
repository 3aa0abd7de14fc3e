"""Atoms that have merged two: residuals of the rows that use them vary in one direction.

An atom between d and d' is used by the rows of both, with residuals along d - d'. So the covariance of their residuals has one
large eigenvalue, where that of noise of variance s^2 has none above s^2 (1 + (n / N)^1/2)^2.
"""

from __future__ import annotations

import numpy as np

from ..linalg import leading_direction, unit_rows
from ._sparse_codes import CodeSums
from .pursuit import Codes

_MIN_RATIO = 1.5  # least variance over the edge of noise
_MAX_SHARE = 0.05  # largest share of the atoms to split at a time
_MIN_ROWS = 8  # least rows of an atom to split
_STEPS = 20


def split_atoms(atoms: np.ndarray, sums: CodeSums, rows: np.ndarray, codes: Codes) -> np.ndarray | None:
    """Split atoms that have merged two, in place of the least important atoms; return None if there is none.

    Parameters
    ----------
    atoms : ndarray of shape (m, n)
    sums : CodeSums
        Sums of all rows.
    rows, codes : ndarray of shape (r, n), Codes
        A sample of the rows and their codes.
    """
    m, n = atoms.shape
    table = codes.table(m)
    rest, by_atom = rows - table @ atoms, table.tocsc()
    noise = float(np.einsum("ij,ij->", rest, rest)) / max(rest.size, 1)
    spikes, directions = np.zeros(m), np.zeros((m, n))
    for atom in range(m):
        rows_of_atom = by_atom.indices[by_atom.indptr[atom] : by_atom.indptr[atom + 1]]
        if len(rows_of_atom) >= _MIN_ROWS:
            directions[atom] = leading_direction(rest[rows_of_atom], _STEPS)
            size = float(((rest[rows_of_atom] @ directions[atom]) ** 2).mean())
            edge = noise * (1 + np.sqrt(n / len(rows_of_atom))) ** 2
            spikes[atom] = size if size > _MIN_RATIO * edge else 0.0
    best = np.argsort(-spikes, kind="stable")[: max(1, int(_MAX_SHARE * m))]
    best = best[spikes[best] > 0]
    free_places = [atom for atom in np.argsort(np.diag(sums.gram), kind="stable") if atom not in set(best)][: len(best)]
    if not free_places:
        return None
    divided = atoms.copy()
    for atom, place in zip(best, free_places, strict=False):
        rows_of_atom = by_atom.data[by_atom.indptr[atom] : by_atom.indptr[atom + 1]]
        centre, spread = np.abs(rows_of_atom).mean() * atoms[atom], np.sqrt(spikes[atom]) * directions[atom]
        divided[atom], divided[place] = unit_rows(np.array([centre + spread, centre - spread]))
    return divided
