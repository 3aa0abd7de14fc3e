"""Shrunk scaled singular space of a rectangular matrix of counts, for ordered pairs.

C are the counts of N pairs of a row and a column, r and c the marginals. In

    S = D_r^-1/2 (C / N - r c^T) D_c^-1/2,        D_r = diag(r) + tau / M_rows,    D_c = diag(c) + tau / M_columns,

the noise of an entry has variance v a_i b_j / N with a = r / D_r and b = c / D_c, both at most 1, and v = 1 for counts. The
largest singular value of the noise is about e = (|a^1/2| + |b^1/2|) sqrt(v / N). Values above e are shrunk to
sqrt(s^2 - e^2), as those of symmetric counts are (`latentia.linalg.scaled`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..linalg import block_krylov_svd, sparse_product
from ..system.threads import single_blas_thread

_N_PASSES = 4  # passes of the block Krylov method


@dataclass(frozen=True)
class SingularSpace:
    """Leading singular triplets of S.

    Attributes
    ----------
    rows, columns : ndarray of shape (M_rows,) and (M_columns,)
        r and c.
    row_scale, column_scale : ndarray of the same shapes
        The diagonals of D_r and D_c.
    left_vectors, right_vectors : ndarray of shape (M_rows, k) and (M_columns, k)
        Orthonormal columns.
    observed, values : ndarray of shape (k,)
        Singular values, the largest first, and the shrunk ones; 0 below the edge.
    edge : float
        e.
    """

    rows: np.ndarray
    columns: np.ndarray
    row_scale: np.ndarray
    column_scale: np.ndarray
    left_vectors: np.ndarray
    right_vectors: np.ndarray
    observed: np.ndarray
    values: np.ndarray
    edge: float

    @property
    def n_kept(self) -> int:
        """Number of values above the edge."""
        return int((self.values > 0).sum())


class _CountOperator:
    """S as an operator with ``shape``, ``@`` and ``.T``."""

    def __init__(self, table: Any, turned: Any, rows: Any, columns: Any, n_jobs: int | None) -> None:
        self.table, self.transposed, self.rows, self.columns, self.n_jobs = table, turned, rows, columns, n_jobs
        self.shape = table.shape

    @property
    def T(self) -> _CountOperator:  # noqa: N802 - as of arrays
        return _CountOperator(self.transposed, self.table, self.columns, self.rows, self.n_jobs)

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        (row_factors, row_marginals), (column_factors, weights) = self.rows, self.columns
        image = sparse_product(self.table, block * column_factors[:, None], self.n_jobs) * row_factors[:, None]
        return np.asarray(image - row_marginals[:, None] * (weights @ block))


def compute_singular_space(
    counts: sparse.csr_array,
    n_vectors: int,
    *,
    tau: float = 0.3,
    variance: float = 1.0,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> SingularSpace:
    """Compute the leading singular triplets of S by a block Krylov method.

    Parameters
    ----------
    counts : csr_array of shape (M_rows, M_columns)
    n_vectors : int
        Maximum number of triplets.
    tau : float
        Rows and columns are scaled as if each had occurred tau N / M times more.
    variance : float
        v: variance of an entry over its mean; 1 for counts.
    random_state : int
        Seed of the start.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    """
    total = float(counts.sum())
    if not total > 0:
        raise LatentiaError("A part of the data has no pairs: expected enough pairs to split them.")
    transposed = sparse.csr_array(counts.T)
    rows, columns = (np.asarray(table.sum(axis=1), dtype=np.float64).ravel() / total for table in (counts, transposed))
    row_scale, column_scale = (shares + tau / len(shares) for shares in (rows, columns))
    edge = (np.sqrt((rows / row_scale).sum()) + np.sqrt((columns / column_scale).sum())) * np.sqrt(variance / total)
    k = min(n_vectors, min(counts.shape) - 1)
    if k < 1:
        empty = np.empty((counts.shape[0], 0)), np.empty((counts.shape[1], 0)), np.empty(0), np.empty(0)
        return SingularSpace(rows, columns, row_scale, column_scale, *empty, float(edge))
    sides = [
        (1 / np.sqrt(scale), shares / np.sqrt(scale)) for shares, scale in ((rows, row_scale), (columns, column_scale))
    ]
    scaled = _CountOperator(counts / total, transposed / total, sides[0], sides[1], n_jobs)
    with single_blas_thread():  # threads of BLAS would keep spinning during products with the counts
        left_vectors, observed, right = block_krylov_svd(scaled, k, n_passes=_N_PASSES, random_state=random_state)
    values = np.sqrt(np.maximum(observed**2 - edge**2, 0.0))
    return SingularSpace(rows, columns, row_scale, column_scale, left_vectors, right.T, observed, values, float(edge))
