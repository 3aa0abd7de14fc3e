"""Spectral algebra through operators that are never densified."""

from .completion import complete_table
from .directions import leading_direction, unit_rows
from .krylov import (
    block_krylov_eigh,
    block_krylov_svd,
    converged_eigenspace,
    leading_eigenspace,
    outlying_eigenpairs,
    subspace_iteration,
)
from .orthonormal import cholesky_qr, polar_factor
from .scaled import ScaledSpace, scaled_eigenspace, signal_norm
from .sparse import ratio_product, row_pieces, sparse_product, sum_lowered_squares
from .whitening import Whitening, whiten

__all__ = [
    "ScaledSpace",
    "Whitening",
    "block_krylov_eigh",
    "block_krylov_svd",
    "cholesky_qr",
    "complete_table",
    "converged_eigenspace",
    "leading_direction",
    "leading_eigenspace",
    "outlying_eigenpairs",
    "polar_factor",
    "ratio_product",
    "row_pieces",
    "scaled_eigenspace",
    "signal_norm",
    "sparse_product",
    "subspace_iteration",
    "sum_lowered_squares",
    "unit_rows",
    "whiten",
]
