"""Spectral algebra through operators that are never densified."""

from .completion import completed
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
from .sparse import lowered_squares, ratio_product, row_pieces, sparse_product
from .whitening import Whitening, whiten

__all__ = [
    "ScaledSpace",
    "Whitening",
    "block_krylov_eigh",
    "block_krylov_svd",
    "cholesky_qr",
    "completed",
    "converged_eigenspace",
    "leading_direction",
    "leading_eigenspace",
    "lowered_squares",
    "outlying_eigenpairs",
    "polar_factor",
    "ratio_product",
    "row_pieces",
    "scaled_eigenspace",
    "signal_norm",
    "sparse_product",
    "subspace_iteration",
    "unit_rows",
    "whiten",
]
