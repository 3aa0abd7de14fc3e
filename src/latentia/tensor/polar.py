"""Polar iteration for all components of a nearly orthogonal symmetric tensor at once.

For T = sum_k lambda_k v_k^(x 3) + E with orthonormal v_k, iterate on an orthonormal frame V, rows v_k,

    V <- polar factor of the matrix with rows lambda_k T(I, v_k, v_k),      lambda_k = T(v_k, v_k, v_k),

which is projected gradient ascent of sum_k lambda_k^2 with an infinite step. When to prefer it: always, for
orthogonal tensors (it is the default). Components keep apart without deflation, so errors do not pile up from one to
the next, and the work of an iteration is one matrix product: K d^3 flops for T of size d^3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..linalg import polar_factor
from .operators import SymmetricTensor, are_stable

_NEAR, _SINGLE = 1e-3, 1e-5


def polar(
    tensor: SymmetricTensor, n_components: int, rng: np.random.Generator, **options: Any
) -> tuple[np.ndarray, int, bool]:
    """Return vectors, number of iterations and whether they converged, of `ascent` with these options."""
    return ascent(tensor, n_components, rng, **options)[:3]


class Ascent(NamedTuple):
    """Result of `ascent`.

    Attributes
    ----------
    vectors : ndarray of shape (n_components, d)
    n_iter : int
        Iterations of all starts.
    converged : bool
    weights : ndarray of shape (n_components,)
        T(v_k, ..., v_k).
    attracts : ndarray of bool, shape (n_components,), or None
        Whether the vectors are stable; None if it was not tested.
    """

    vectors: np.ndarray
    n_iter: int
    converged: bool
    weights: np.ndarray
    attracts: np.ndarray | None


def ascent(
    tensor: SymmetricTensor,
    n_components: int,
    rng: np.random.Generator,
    *,
    n_init: int = 3,
    max_iter: int = 200,
    tol: float = 1e-7,
    starts: np.ndarray | None = None,
) -> Ascent:
    """Return orthonormal rows that locally maximise sum_k T(v_k, ..., v_k)^2.

    Parameters
    ----------
    tensor : SymmetricTensor of dimension d >= n_components
    n_init : int
        Largest number of initial frames: eigenvectors of T(I, I, u, ...) for random u. The first answer with stable vectors
        is taken, since a nearly orthogonal tensor has no more than K attractors; else the one with the largest sum.
    max_iter, tol
        Largest number of iterations of a start, and the change of V (largest entry) at which it has converged.
    starts : ndarray of shape (n_components, d), optional
        Initial frame, in place of the random ones; it is made orthonormal.
    """
    best, best_value, total = None, -np.inf, 0
    tol = max(tol, 10 * float(np.finfo(tensor.dtype).eps))
    single_tensor = tensor.to_single_precision()
    is_single_start = n_init == 1 or starts is not None
    for _ in range(1 if is_single_start else n_init):
        frame = (
            _frame(single_tensor, n_components, rng) if starts is None else polar_factor(np.asarray(starts, np.float64))
        )
        # Single precision takes half of the bytes and flops; double precision finishes the answer.
        approximation, _, n_rough, _ = _iterate(
            single_tensor, frame.astype(np.float32), max_iter, max(tol, _SINGLE), _NEAR
        )
        max_fine_iter = max(max_iter - n_rough, 1)
        vectors, weights, n_iter, converged = _iterate(tensor, approximation.astype(tensor.dtype), max_fine_iter, tol)
        total += n_rough + n_iter
        attracts = None if is_single_start else are_stable(tensor, weights, vectors)
        is_stable = attracts is None or bool(attracts.all())
        if is_stable or best is None or weights @ weights > best_value:
            best, best_value = Ascent(vectors, total, converged, weights, attracts), float(weights @ weights)
        if is_stable:
            break
    assert best is not None
    return best._replace(n_iter=total)


def _frame(tensor: SymmetricTensor, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Return orthonormal eigenvectors of T(I, I, u, ...) for a random u: those of T, but for noise and near ties."""
    direction = rng.standard_normal((1, tensor.dim)).astype(np.float32)
    values, vectors = np.linalg.eigh(tensor.matrices(direction / np.linalg.norm(direction))[0].astype(np.float64))
    return vectors[:, np.argsort(-np.abs(values), kind="stable")[:n_components]].T


def _iterate(
    tensor: SymmetricTensor, vectors: np.ndarray, max_iter: int, tol: float, near: float = 0.0
) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Return vectors, their weights, the number of iterations, and whether the last one changed V by no more than ``tol``.

    Weights are extrapolated to the last vectors, exact but for the square of the change. The iteration also ends where a change
    below ``near`` is not halved by the next one, since the rest may be rounding.
    """
    before = np.inf
    for n_iter in range(1, max_iter + 1):
        images = tensor.contract(vectors)
        weights = np.einsum("ki,ki->k", images, vectors)
        new = polar_factor(weights[:, None] * images)
        new *= np.where(np.einsum("ki,ki->k", new, vectors) < 0, -1.0, 1.0)[:, None]
        change = np.abs(new - vectors).max()
        weights = tensor.order * np.einsum("ki,ki->k", images, new) - (tensor.order - 1) * weights
        vectors = new
        if change <= tol or n_iter == max_iter or (before <= near and change > before / 2):
            return vectors, weights, n_iter, bool(change <= tol)
        before = change
    raise AssertionError("at least one iteration is run")
