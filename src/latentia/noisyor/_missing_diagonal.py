"""Low-rank factor of a positive semidefinite matrix with an unknown diagonal.

    find B of shape (n, K) with (B B^T)_ij = M_ij for i != j

by imputation: each step takes the best approximation of rank K of M with the diagonal of the step before. Use it for matrices
of co-occurrence, where the diagonal has no meaning. Products of blocks off the diagonal, M_ab (M_cb)^+ M_ca, need no
iteration, but they use less of M and need each block to carry rank K.
"""

from __future__ import annotations

import numpy as np

from ..linalg import leading_eigenspace

# After this many steps, a step that removes less than this share of the squared residual is the last. With more columns than
# the matrix has directions above its noise, the spare ones move about in the noise for long.
_PATIENCE, _MIN_GAIN = 100, 1e-5
_BLOCK_COLUMNS = 4  # columns of the iteration for a largest eigenvalue
_SHIFT_TOL = 0.1  # relative accuracy of the shift


def factor_off_diagonal(
    matrix: np.ndarray, rank: int, start: np.ndarray | None = None, *, max_iter: int = 500, tol: float = 1e-8
) -> tuple[np.ndarray, int]:
    """Factor the off-diagonal part of a matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric matrix; its diagonal is not read.
    rank : int
        K < n.
    start : ndarray of shape (n, K), optional
        Factor of a similar matrix.
    max_iter, tol
        Stop when no entry of the diagonal moves by more than ``tol`` times the largest; after 100 steps also when a step
        removes less than 1e-5 of the squared residual.

    Returns
    -------
    B : ndarray of shape (n, K)
        Orthogonal columns, the longest first.
    n_iter : int
    """
    filled = np.array(matrix, dtype=np.result_type(matrix, np.float32))
    np.fill_diagonal(filled, 0.0 if start is None else (start**2).sum(axis=1))
    if start is None:
        values, basis = np.linalg.eigh(filled)
        smallest, values, basis = values[0], values[::-1][:rank], basis[:, ::-1][:, :rank]
    else:
        smallest = -compute_largest_eigenvalue(-filled, _SHIFT_TOL)
        values, basis = _update_eigenpairs(filled, start, max(-float(smallest), 0.0))
    off_diagonal, last_residual = float((filled**2).sum() - (filled.diagonal() ** 2).sum()), np.inf
    shift = max(-float(smallest), 0.0)  # so that the leading eigenvalues are the largest, not negative ones
    for n_iter in range(1, max_iter + 1):
        factor = basis * np.sqrt(np.maximum(values, 0.0))
        last_diagonal, diagonal = filled.diagonal().copy(), (factor**2).sum(axis=1)
        if np.abs(diagonal - last_diagonal).max() <= tol * diagonal.max():
            break
        residual = off_diagonal + float((last_diagonal**2).sum() - (np.maximum(values, 0.0) ** 2).sum())
        if n_iter > _PATIENCE and last_residual - residual <= _MIN_GAIN * residual:
            break
        last_residual = residual
        np.fill_diagonal(filled, diagonal)
        values, basis = _update_eigenpairs(filled, basis, shift)
    return factor, n_iter


def compute_largest_eigenvalue(matrix: np.ndarray, tol: float) -> float:
    """Return the largest eigenvalue of a symmetric matrix, from below, with a relative residual of at most ``tol``."""
    start = np.random.default_rng(0).standard_normal((len(matrix), min(_BLOCK_COLUMNS, len(matrix))))
    return float(leading_eigenspace(lambda block: matrix @ block.astype(matrix.dtype), start, 1, tol=tol)[0][0])


def _update_eigenpairs(matrix: np.ndarray, basis: np.ndarray, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Return leading eigenpairs, the largest first, by two steps of subspace iteration from those of a similar matrix."""
    for _ in range(2):
        basis = np.linalg.qr(matrix @ basis + np.asarray(shift, basis.dtype) * basis)[0]
    values, rotation = np.linalg.eigh(basis.T @ matrix @ basis)
    return values[::-1], basis @ rotation[:, ::-1]
