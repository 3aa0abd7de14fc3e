"""Atoms that stand for two: what is left of the rows that use them varies in one direction.

An atom between d and d' is used by the rows of both, and leaves of them what is along d - d'. So the covariance of what is left
of its rows has one large eigenvalue, where that of noise of variance s^2 has none above s^2 (1 + (n / N)^1/2)^2.
"""

from __future__ import annotations

import numpy as np

from ..linalg import leading_direction, unit_rows
from ._sparse_codes import CodeSums
from .pursuit import Codes

_ABOVE = 1.5  # times the edge of noise
_MOST = 0.05  # share of the atoms that are split at a time
_FEWEST = 8  # rows of an atom
_STEPS = 20


def split(atoms: np.ndarray, sums: CodeSums, rows: np.ndarray, codes: Codes) -> np.ndarray | None:
    """The atoms with those split that stand for two, in place of those that contribute least; None if none does.

    Parameters
    ----------
    atoms : ndarray of shape (m, n)
    sums : CodeSums
        Of all rows.
    rows, codes : ndarray of shape (r, n), Codes
        Some of the rows.
    """
    m, n = atoms.shape
    table = codes.table(m)
    rest, by_atom = rows - table @ atoms, table.tocsc()
    noise = float(np.einsum("ij,ij->", rest, rest)) / max(rest.size, 1)
    spikes, directions = np.zeros(m), np.zeros((m, n))
    for atom in range(m):
        own = by_atom.indices[by_atom.indptr[atom] : by_atom.indptr[atom + 1]]
        if len(own) >= _FEWEST:
            directions[atom] = leading_direction(rest[own], _STEPS)
            size = float(((rest[own] @ directions[atom]) ** 2).mean())
            edge = noise * (1 + np.sqrt(n / len(own))) ** 2
            spikes[atom] = size if size > _ABOVE * edge else 0.0
    best = np.argsort(-spikes, kind="stable")[: max(1, int(_MOST * m))]
    best = best[spikes[best] > 0]
    room = [atom for atom in np.argsort(np.diag(sums.gram), kind="stable") if atom not in set(best)][: len(best)]
    if not room:
        return None
    divided = atoms.copy()
    for atom, place in zip(best, room, strict=False):
        own = by_atom.data[by_atom.indptr[atom] : by_atom.indptr[atom + 1]]
        along, beyond = np.abs(own).mean() * atoms[atom], np.sqrt(spikes[atom]) * directions[atom]
        divided[atom], divided[place] = unit_rows(np.array([along + beyond, along - beyond]))
    return divided
