"""Orthogonal matching pursuit of many rows at once, by inner products with the atoms and of the atoms.

For a row y and atoms d_1, ..., d_m of unit length, the next atom is the one with the largest |d_j^T r|, with the residual r of
y after the atoms so far, and all coefficients are those of least squares. With G = D D^T and D y, steps do not touch the rows:
Cholesky factors of G on the chosen atoms grow by a row a step.

Source: R. Rubinstein, M. Zibulevsky, M. Elad, Efficient implementation of the K-SVD algorithm using batch orthogonal matching
pursuit, Technion CS-2008-08.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from ..system.threads import run_in_chunks

_ROWS = 512
_DEPENDENT = 1e-10  # atoms with a smaller squared length beyond the chosen ones depend on these


class Codes(NamedTuple):
    """Sparse codes of rows.

    Attributes
    ----------
    atoms : ndarray of int32, shape (n_rows, k)
        Chosen atoms in the order of choice; -1 after the last one.
    values : ndarray of shape (n_rows, k)
        Their coefficients.
    residuals : ndarray of shape (n_rows, k + 1)
        Squared length of the row's residual after so many atoms.
    """

    atoms: np.ndarray
    values: np.ndarray
    residuals: np.ndarray

    def dense(self, n_atoms: int) -> np.ndarray:
        """Return the coefficients of all atoms, shape (n_rows, m)."""
        return np.asarray(self.table(n_atoms).toarray())

    def table(self, n_atoms: int) -> sparse.csr_array:
        """Return the coefficients of all atoms as a sparse table, shape (n_rows, m)."""
        rows, places = np.nonzero(self.atoms >= 0)
        entries = self.values[rows, places], (rows, self.atoms[rows, places])
        return sparse.csr_array(entries, shape=(len(self.atoms), n_atoms))


def matching_pursuit(
    rows: np.ndarray, atoms: np.ndarray, sparsity: int, *, tol: float = 1e-6, n_jobs: int | None = None
) -> Codes:
    """Compute codes with at most ``sparsity`` atoms a row.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n)
    atoms : ndarray of shape (m, n)
        Atoms of unit length.
    sparsity : int
    tol : float
        A row whose residual has less than this share of its length takes no further atom.
    n_jobs : int, optional
    """
    n, k = len(rows), min(sparsity, *atoms.shape)
    gram = atoms @ atoms.T
    chosen, values, residuals = np.full((n, k), -1, np.int32), np.zeros((n, k)), np.zeros((n, k + 1))

    def pursue_rows(first: int, last: int) -> None:
        part = rows[first:last]
        energy = np.einsum("ij,ij->i", part, part)
        _pursue(part @ atoms.T, gram, energy, tol**2, chosen[first:last], values[first:last], residuals[first:last])

    run_in_chunks(pursue_rows, n, _ROWS, n_jobs)
    return Codes(chosen, values, residuals)


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})  # without these, the maximum is not vectorised
def _largest(correlation):
    best = 0.0
    for j in range(len(correlation)):
        size = abs(correlation[j])
        best = size if size > best else best
    return best


@njit(nogil=True, cache=True)
def _pursue(products, gram, energy, tol, chosen, values, residuals):
    m, k = len(gram), chosen.shape[1]
    factor, projections, solution = np.empty((k, k)), np.empty(k), np.empty(k)
    correlation = np.empty(m)
    for row in range(len(products)):
        products_of_row, atoms = products[row], chosen[row]
        for j in range(m):
            correlation[j] = products_of_row[j]
        residuals[row, :] = energy[row]
        n = 0
        while n < k and residuals[row, n] > tol * energy[row]:
            largest, best = _largest(correlation), -1
            if largest == 0.0:
                break
            for j in range(m):
                if abs(correlation[j]) == largest:
                    best = j
                    break
            remaining = gram[best, best]
            for i in range(n):
                total = gram[best, atoms[i]]
                for j in range(i):
                    total -= factor[i, j] * factor[n, j]
                factor[n, i] = total / factor[i, i]
                remaining -= factor[n, i] * factor[n, i]
            if remaining < _DEPENDENT:
                break
            factor[n, n] = np.sqrt(remaining)
            total = products_of_row[best]
            for i in range(n):
                total -= factor[n, i] * projections[i]
            projections[n] = total / factor[n, n]
            atoms[n] = best
            residuals[row, n + 1 :] = max(residuals[row, n] - projections[n] * projections[n], 0.0)
            n += 1
            for i in range(n - 1, -1, -1):
                total = projections[i]
                for j in range(i + 1, n):
                    total -= factor[j, i] * solution[j]
                solution[i] = total / factor[i, i]
            for j in range(m):
                correlation[j] = products_of_row[j]
            for i in range(n):
                share, atom = solution[i], gram[atoms[i]]
                for j in range(m):
                    correlation[j] -= share * atom[j]
        for i in range(n):
            values[row, i] = solution[i]
