"""Spectral algebra through operators that are never densified."""

from .hollow import hollow_factor
from .krylov import block_krylov_eigh, block_krylov_svd, subspace_iteration
from .orthonormal import cholesky_qr, polar_factor
from .whitening import Whitening, whiten

__all__ = [
    "Whitening",
    "block_krylov_eigh",
    "block_krylov_svd",
    "cholesky_qr",
    "hollow_factor",
    "polar_factor",
    "subspace_iteration",
    "whiten",
]
