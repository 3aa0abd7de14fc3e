"""Orthonormal bases of tall thin matrices by Cholesky-QR: two matrix products instead of LAPACK's column by column QR."""

from __future__ import annotations

import numpy as np
from scipy import linalg

_MOST_ROUNDS = 6


def cholesky_qr(columns: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the span of the columns, by Cholesky-QR applied twice, in the columns' precision.

    The first round brings the condition number down to about one and the second brings orthogonality to rounding
    error. Columns that are linearly dependent to half the working precision are made independent by a small shift of
    the Gram matrix (shifted Cholesky-QR, Fukaya et al. 2020), so that further rounds are taken then.

    Parameters
    ----------
    columns : ndarray of shape (n, k)
        With k <= n. Not changed.

    Returns
    -------
    ndarray of shape (n, k), orthonormal to rounding error where ``columns`` has full rank
    """
    basis, clean = columns, 0
    for _ in range(_MOST_ROUNDS):
        basis, shifted = _round(basis)
        clean += not shifted
        if clean == 2:
            break
    return basis


def polar_factor(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest matrix with orthonormal rows, or columns if it is tall."""
    u, _, vt = np.linalg.svd(matrix, full_matrices=False)
    return u @ vt


def _round(columns: np.ndarray) -> tuple[np.ndarray, bool]:
    gram = columns.T @ columns
    scale = np.sqrt(np.maximum(np.diag(gram), np.finfo(gram.dtype).tiny))
    gram = gram / np.outer(scale, scale)
    try:
        factor, shifted = linalg.cholesky(gram, lower=True), False
    except linalg.LinAlgError:
        shift = 100 * len(gram) * np.finfo(gram.dtype).eps
        factor, shifted = linalg.cholesky(gram + shift * np.eye(len(gram), dtype=gram.dtype), lower=True), True
    # The inverse of a small factor is applied as one product; the second round corrects the errors of the first.
    inverse, _ = linalg.lapack.get_lapack_funcs(("trtri",), (factor,))[0](factor, lower=1)
    return columns @ (inverse.T / scale[:, None]), shifted
