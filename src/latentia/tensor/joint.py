"""Joint diagonalisation of the slices of a symmetric tensor by Jacobi rotations.

The slices T(I, I, e_r) of an orthogonal tensor have the same eigenvectors v_k. Sweeps over pairs (p, q) of coordinates
apply the plane rotation that makes the slices together as diagonal as one rotation can (Cardoso and Souloumiac 1996).
When to prefer it: small d, or noise of very different size in different slices; it needs no start, so nothing is random.
Its accuracy is that of `polar`. Work: 8 d^4 flops a sweep of memory-bound rotations.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .operators import SymmetricFour, SymmetricTensor


def joint(
    tensor: SymmetricTensor, n_components: int, *, max_iter: int = 100, tol: float = 1e-8
) -> tuple[np.ndarray, int, bool]:
    """Orthonormal rows that nearly diagonalise all slices.

    Parameters
    ----------
    tensor : SymmetricTensor of dimension d = n_components
    max_iter, tol
        Sweeps, and the largest sine of a rotation at which a sweep is the last.

    Returns
    -------
    vectors : ndarray of shape (d, d)
    n_iter : int
        Sweeps.
    converged : bool
    """
    d = tensor.dim
    four = isinstance(tensor, SymmetricFour)
    slices = tensor.eigenmatrices(n_components) if four else tensor.matrices(np.eye(d))  # type: ignore[attr-defined]
    stack = np.ascontiguousarray(slices.transpose(1, 2, 0), dtype=np.float64)  # slices last: rotations run over them
    rotation = np.eye(d)
    n_iter, largest = _sweeps(stack, rotation, max_iter, tol)
    return rotation.T, n_iter, largest <= tol


@njit(nogil=True, cache=True)
def _sweeps(stack, rotation, max_iter, tol):
    """Rotate ``stack``, (d, d, R), and collect the rotation in ``rotation``, (d, d): columns are the eigenvectors."""
    d, _, n = stack.shape
    largest = 0.0
    for sweep in range(max_iter):
        largest = 0.0
        for p in range(d - 1):
            for q in range(p + 1, d):
                on, off = 0.0, 0.0
                for r in range(n):
                    difference = stack[p, p, r] - stack[q, q, r]
                    twice = stack[p, q, r] + stack[q, p, r]
                    on += difference * difference - twice * twice
                    off += 2.0 * difference * twice
                theta = 0.5 * np.arctan2(off, on + np.sqrt(on * on + off * off))
                c, s = np.cos(theta), np.sin(theta)
                if abs(s) > largest:
                    largest = abs(s)
                if abs(s) <= tol:
                    continue
                for j in range(d):
                    for r in range(n):
                        a, b = stack[p, j, r], stack[q, j, r]
                        stack[p, j, r] = c * a + s * b
                        stack[q, j, r] = c * b - s * a
                for j in range(d):
                    for r in range(n):
                        a, b = stack[j, p, r], stack[j, q, r]
                        stack[j, p, r] = c * a + s * b
                        stack[j, q, r] = c * b - s * a
                    a, b = rotation[j, p], rotation[j, q]
                    rotation[j, p] = c * a + s * b
                    rotation[j, q] = c * b - s * a
        if largest <= tol:
            return sweep + 1, largest
    return max_iter, largest
