"""From second and third moments to components: whitening makes general vectors orthogonal (thesis, section 7.2).

If M_2 = sum_k w_k mu_k mu_k^T and M_3 = sum_k w_k mu_k^(x 3) with linearly independent mu_k, then W with W^T M_2 W =
I turns the vectors sqrt(w_k) W^T mu_k into an orthonormal basis v_k, and M_3(W, W, W) = sum_k w_k^(-1/2) v_k^(x 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ..linalg import Whitening, whiten
from .decompose import decompose
from .operators import multilinear, symmetrise_modes


@dataclass(frozen=True)
class MomentNoise:
    """Size of the noise of estimated moments, from two halves of the data.

    Half of the difference of two halves has the distribution of the noise of the whole.

    Attributes
    ----------
    whitening : float
        Spectral norm of the noise E of the second moment after whitening, |W^T E W|.
    tensor : float
        Operator norm of the noise of the whitened tensor.
    spectrum : float or None
        Spectral norm of E itself, where the further eigenvalues of the second moment are noise: it gives the rank.
    """

    whitening: float
    tensor: float
    spectrum: float | None = None


@dataclass(frozen=True)
class WhitenedDecomposition:
    """Components in whitened coordinates.

    Attributes
    ----------
    whitening : Whitening
    tensor : ndarray of shape (K, K, K)
        M_3(W, W, W).
    weights : ndarray of shape (K,)
        Its eigenvalues, positive.
    vectors : ndarray of shape (K, K)
        v_k in rows, orthonormal.
    info : Bunch
        Of `decompose`.
    """

    whitening: Whitening
    tensor: np.ndarray
    weights: np.ndarray
    vectors: np.ndarray
    info: Any


def decompose_whitened(
    second: np.ndarray, third: np.ndarray, n_components: int, random_state: Any = 0, **options: Any
) -> WhitenedDecomposition:
    """Whiten M_3, shape (b, b, b), by M_2, shape (b, b), and decompose it into ``n_components``."""
    whitening = whiten(second, n_components)
    tensor = apply_to_modes(third, whitening.matrix)
    if n_components == 1:  # nothing to rotate; the first moment shows the sign better than a noisy third one
        return WhitenedDecomposition(whitening, tensor, np.abs(tensor[0, 0]), np.ones((1, 1)), _trivial())
    weights, vectors, info = decompose(tensor, n_components, random_state, **options)
    return WhitenedDecomposition(whitening, tensor, weights, vectors, info)


def apply_to_modes(third: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """T(W, W, W), shape (k, k, k), of a symmetric (b, b, b) array and W of shape (b, k)."""
    return symmetrise_modes(multilinear(third, matrix, matrix, matrix))


def _trivial() -> Bunch:
    """Return the diagnostics of a single component, as `decompose` has them."""
    return Bunch(
        method="none", iterations=0, converged=True, residual=0.0, orthogonality_defect=0.0, stable=np.ones(1, bool)
    )
