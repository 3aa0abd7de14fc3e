"""Polar iteration: all components of a nearly orthogonal symmetric tensor at once.

For T = sum_k lambda_k v_k^(x 3) + E with orthonormal v_k, iterate on an orthonormal frame V, rows v_k,

    V <- polar factor of the matrix with rows lambda_k T(I, v_k, v_k),      lambda_k = T(v_k, v_k, v_k),

which is projected gradient ascent of sum_k lambda_k^2 with an infinite step. When to prefer it: always, for
orthogonal tensors (it is the default). Components keep apart without deflation, so errors do not pile up from one to
the next, and the work of an iteration is one matrix product: K d^3 flops for T of size d^3.
"""

from __future__ import annotations

import numpy as np

from ..linalg import polar_factor
from ._operators import SymmetricTensor, stable

__all__ = ["polar"]

_NEAR = 1e-3


def polar(
    tensor: SymmetricTensor,
    n_components: int,
    rng: np.random.Generator,
    *,
    n_starts: int = 3,
    max_iter: int = 200,
    tol: float = 1e-9,
    starts: np.ndarray | None = None,
) -> tuple[np.ndarray, int, bool]:
    """Orthonormal rows that locally maximise sum_k T(v_k, ..., v_k)^2.

    Parameters
    ----------
    tensor : SymmetricTensor of dimension d >= n_components
    n_starts : int
        Most random orthonormal frames to start from. The first answer whose vectors are all stable is taken, since K
        orthogonal attractors are all that a nearly orthogonal tensor has; else the one with the largest sum.
    max_iter, tol
        Iterations of a start, and the change of V (largest entry) at which it has converged.
    starts : ndarray of shape (n_components, d), optional
        A frame to begin with, in place of the random ones; it is made orthonormal.

    Returns
    -------
    vectors : ndarray of shape (n_components, d)
    n_iter : int
        Iterations of all starts.
    converged : bool
    """
    shape = (n_components, tensor.dim)
    best, best_value, total, settled = np.empty(shape), -np.inf, 0, False
    tol = max(tol, 10 * float(np.finfo(tensor.dtype).eps))
    rough = tensor.in_single_precision()
    for _ in range(n_starts if starts is None else 1):
        frame = polar_factor(rng.standard_normal(shape) if starts is None else np.asarray(starts, dtype=np.float64))
        # Half of the bytes and flops for the way from a random frame; double precision for the end of it.
        near, _, n_rough, _ = _ascend(rough, frame.astype(np.float32), max_iter, max(tol, _NEAR))
        vectors, weights, n_iter, converged = _ascend(tensor, near.astype(tensor.dtype), max_iter, tol)
        total += n_rough + n_iter
        attracts = bool(stable(tensor, weights, vectors).all())
        if attracts or weights @ weights > best_value:
            best, best_value, settled = vectors, float(weights @ weights), converged
        if attracts:
            break
    return best, total, settled


def _ascend(
    tensor: SymmetricTensor, vectors: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Vectors, their weights, the number of iterations, and whether the last one changed V by no more than ``tol``."""
    for n_iter in range(1, max_iter + 1):
        images = tensor.contract(vectors)
        weights = np.einsum("ki,ki->k", images, vectors)
        new = polar_factor(weights[:, None] * images)
        new *= np.where(np.einsum("ki,ki->k", new, vectors) < 0, -1.0, 1.0)[:, None]
        change = np.abs(new - vectors).max()
        vectors = new
        if change <= tol:
            return vectors, weights, n_iter, True
    return vectors, weights, n_iter, False
