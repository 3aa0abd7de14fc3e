"""Whitening: W with W^T M W = I for a positive semidefinite M of rank K that is known with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..exceptions import LatentiaError


@dataclass(frozen=True)
class Whitening:
    """Leading part of a symmetric matrix M, shape (b, b).

    Attributes
    ----------
    matrix : ndarray of shape (b, K)
        W = U L^-1/2, from the K largest eigenvalues L and their eigenvectors U.
    inverse : ndarray of shape (b, K)
        U L^1/2 = (W^T)^+: maps whitened coordinates back.
    spectrum : ndarray of shape (b,)
        All eigenvalues of M, descending.
    """

    matrix: np.ndarray
    inverse: np.ndarray
    spectrum: np.ndarray


def whiten(second: np.ndarray, n_components: int, name: str = "second moment") -> Whitening:
    """Whiten a symmetric matrix, shape (b, b), in its K leading directions.

    The largest algebraic eigenvalues are taken: a moment without its diagonal is indefinite, and negative eigenvalues of
    large modulus are noise.
    """
    values, vectors = np.linalg.eigh(second)
    values, vectors = values[::-1], vectors[:, ::-1]
    floor = len(values) * np.finfo(float).eps * max(values[0], 0.0)
    rank = int((values > floor).sum())
    if rank < n_components:
        found_value = f"{values[rank]:.3g}" if rank < len(values) else "missing"
        raise LatentiaError(
            f"eigenvalue {rank + 1} of the {name} is {found_value} (the largest is {values[0]:.3g}) and must be positive: this "
            f"data supports at most {rank} components.",
            at_most=rank, parameter="n_components", value=n_components,
        )  # fmt: skip
    values_k, vectors_k = values[:n_components], vectors[:, :n_components]
    vectors_k = vectors_k * np.where(vectors_k.sum(axis=0) < 0, -1.0, 1.0)  # LAPACK leaves the signs open
    root = np.sqrt(values_k)
    return Whitening(vectors_k / root, vectors_k * root, values)
