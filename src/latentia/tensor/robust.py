"""Robust decomposition of a nearly orthogonal tensor with three different modes, under systematic error.

Algorithm 2 of Arora, Ge, Ma and Risteski, Provable learning of noisy-or networks (2017). For

    T = sum_k lambda_k u_k (x) v_k (x) w_k + Z

with each family orthonormal, the top singular vectors of T(I, I, g), g Gaussian, are near (u_k, v_k) whenever g happens to
favour w_k. The error of the answer is of the order of the spectral norm of the flattenings of Z, which need not be small
entry by entry. When to prefer it: asymmetric tensors, and errors that do not average out.

Differences from the paper:

1. Weights need not be one, so that no absolute test can be made: candidates are taken by their value T(u, v, w), the largest
   first, each at a distance of at least 1/2 from those before it, until there are K.
2. Candidates are polished by some alternating power steps, u <- T(I, v, w) and so on, which only removes error.
3. Draws come in batches of 4 d, one matrix product each, until K candidates are found; at most d^(1 + 1/4) log d draws
   and 20 batches are made.
"""

from __future__ import annotations

import numpy as np

from .operators import unit_rows

_FAR = 0.5


def robust(
    tensor: np.ndarray, n_components: int, rng: np.random.Generator, *, n_polish: int = 10
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], int, bool]:
    """Triples of unit vectors, the largest values first.

    Parameters
    ----------
    tensor : ndarray of shape (d_1, d_2, d_3)
    n_polish : int
        Alternating power steps of every candidate.

    Returns
    -------
    vectors : three ndarrays of shape (n_components, d_i)
    n_iter : int
        Draws of g.
    converged : bool
        Whether K distinct candidates were found; if not, ``vectors`` have as many rows as were.
    """
    d = max(tensor.shape)
    batch = 4 * d
    most = max(int(np.ceil(d**1.25 * np.log(d + 1) / batch)), 20)
    u, v, w = (np.empty((0, size)) for size in tensor.shape)
    for n_batches in range(1, most + 1):
        new = _polished(tensor, _candidates(tensor, rng.standard_normal((batch, tensor.shape[2]))), n_polish)
        u, v, w = (np.vstack(pair) for pair in zip((u, v, w), new, strict=True))
        chosen = _far_apart(u, _values(tensor, u, v, w), n_components)
        u, v, w = u[chosen], v[chosen], w[chosen]
        # One more batch after K are there: a larger one may still come to light.
        if len(chosen) == n_components and n_batches > 1:
            break
    return (u, v, w), n_batches * batch, len(chosen) == n_components


def _candidates(tensor: np.ndarray, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Top singular vectors of T(I, I, g) for every draw g, and T(u, v, I) normalised."""
    d1, d2, d3 = tensor.shape
    matrices = (tensor.reshape(-1, d3) @ draws.T).reshape(d1, d2, len(draws)).transpose(2, 0, 1)
    left, _, right = np.linalg.svd(matrices, full_matrices=False)
    u, v = left[:, :, 0], right[:, 0]
    return u, v, unit_rows(_third(tensor, u, v))


def _polished(
    tensor: np.ndarray, vectors: tuple[np.ndarray, np.ndarray, np.ndarray], n_steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u, v, w = vectors
    for _ in range(n_steps):
        u = unit_rows(_third(tensor.transpose(1, 2, 0), v, w))
        v = unit_rows(_third(tensor.transpose(0, 2, 1), u, w))
        w = unit_rows(_third(tensor, u, v))
    return u, v, w


def _third(tensor: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """T(u, v, I) for every pair of rows, shape (m, d_3)."""
    d1, d2, d3 = tensor.shape
    half = (u @ tensor.reshape(d1, -1)).reshape(len(u), d2, d3)
    return np.einsum("mjk,mj->mk", half, v)


def _values(tensor: np.ndarray, u: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.einsum("mk,mk->m", _third(tensor, u, v), w)


def _far_apart(u: np.ndarray, values: np.ndarray, most: int) -> list[int]:
    """Rows by value, each at a distance of at least 1/2, up to sign, from those before it."""
    kept: list[int] = []
    for i in np.argsort(-values):
        if len(kept) == most:
            break
        if not kept or np.sqrt(2 - 2 * np.minimum(np.abs(u[kept] @ u[i]), 1)).min() >= _FAR:
            kept.append(int(i))
    return kept
