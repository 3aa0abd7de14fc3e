"""Decompositions of tensors into rank-one components, as printed.

R. Ge, thesis, Princeton 2013, Algorithms 7.1 to 7.3 (with A. Anandkumar, D. Hsu, S. Kakade, M. Telgarsky). S. Arora, R. Ge,
T. Ma, A. Risteski, Provable learning of noisy-or networks, STOC 2017, Algorithm 2. `latentia.tensor.decompose` finds all
components at once instead: it is faster, and errors of one component do not reach the next.
"""

from __future__ import annotations

import numpy as np

from .._parameters import seed_of
from ..linalg import unit_rows

_DRAWS_PER_BATCH = 4  # times the largest dimension
_MIN_BATCHES, _MAX_BATCHES = 2, 20
_MIN_DISTANCE = 0.5  # between u and those of components that were taken before


def power_iteration(
    tensor: np.ndarray, n_starts: int, n_iter: int, rng: np.random.Generator
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return an eigenvector, its eigenvalue and the deflated tensor (Algorithm 7.1; L starts of N steps).

    The L starts are iterated together, in one matrix product a step.
    """
    theta = unit_rows(rng.standard_normal((n_starts, len(tensor))))
    for _ in range(n_iter):
        theta = unit_rows(_contract(tensor, theta))
    vector = theta[np.argmax(_values(tensor, theta))][None]
    for _ in range(n_iter):
        vector = unit_rows(_contract(tensor, vector))
    weight, vector = float(_values(tensor, vector)[0]), vector[0]
    return vector, weight, tensor - weight * np.multiply.outer(np.multiply.outer(vector, vector), vector)


def robust_power_method(
    tensor: np.ndarray, n_components: int, *, n_starts: int | None = None, n_iter: int = 30, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Decompose a nearly orthogonal symmetric tensor by power iterations and deflation (Algorithm 7.2; Theorem 7.9).

    Parameters
    ----------
    tensor : ndarray of shape (d, d, d)
    n_starts : int, optional
        L, by default 2 d, but at least 20.
    n_iter : int
        N.

    Returns
    -------
    weights : ndarray of shape (n_components,)
    vectors : ndarray of shape (n_components, d)
        Unit rows, in the order in which they were found.
    """
    rng, n_starts = np.random.default_rng(seed_of(random_state)), n_starts or max(20, 2 * len(tensor))
    weights, vectors = np.empty(n_components), np.empty((n_components, len(tensor)))
    for i in range(n_components):
        vectors[i], weights[i], tensor = power_iteration(tensor, n_starts, n_iter, rng)
    return weights, vectors


def tensor_eigen(
    tensor: np.ndarray, starts: np.ndarray, n_components: int, *, n_iter: int = 30, threshold: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Decompose a symmetric tensor from given starts; deflate only what threatens an iteration (Algorithm 7.3).

    Two things are mended. The test of theta_t comes before theta_t exists: here it is of theta_(t-1). And xi = 5 epsilon needs
    the unknown noise: by default it is a tenth of the largest eigenvalue so far.

    Parameters
    ----------
    tensor : ndarray of shape (d, d, d)
    starts : ndarray of shape (L, d)
    n_iter : int
        N.
    threshold : float, optional
        xi.

    Returns
    -------
    weights : ndarray of shape (n_components,)
    vectors : ndarray of shape (n_components, d)
    """
    weights, vectors = np.empty(0), np.empty((0, len(tensor)))

    def contract_deflated(theta: np.ndarray) -> np.ndarray:
        """Return T~(I, theta, theta) with the components subtracted whose |lambda_j theta . v_j| exceeds xi."""
        xi = 0.1 * weights.max(initial=0.0) if threshold is None else threshold
        overlap = theta @ vectors.T
        overlap *= np.abs(overlap * weights) > xi
        return _contract(tensor, theta) - (overlap**2 * weights) @ vectors

    for _ in range(n_components):
        theta = unit_rows(np.asarray(starts, dtype=np.float64))
        for _ in range(n_iter):
            theta = unit_rows(contract_deflated(theta))
        vector = theta[np.argmax(np.einsum("la,la->l", contract_deflated(theta), theta))][None]
        for _ in range(n_iter):
            vector = unit_rows(contract_deflated(vector))
        weights = np.append(weights, np.einsum("la,la->l", contract_deflated(vector), vector))
        vectors = np.vstack([vectors, vector])
    return weights, vectors


def robust_orthogonal_decomposition(
    tensor: np.ndarray, n_components: int, *, n_polish: int = 10, random_state: int = 0
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Decompose a tensor with three nearly orthonormal families under systematic error (noisy-or paper, Algorithm 2).

    Weights need not be one. So line 5 tests no absolute value: of all candidates those with the largest T(u, v, z) are taken.
    Alternating power steps polish each candidate. Draws come in batches, and end one batch after K candidates are there.

    Parameters
    ----------
    tensor : ndarray of shape (d_1, d_2, d_3)
    n_polish : int
        Power steps of a candidate.

    Returns
    -------
    weights : ndarray of shape (n_found,)
        n_found <= n_components, largest first.
    vectors : three ndarrays of shape (n_found, d_i)
    """
    rng, d = np.random.default_rng(seed_of(random_state)), max(tensor.shape)
    n_draws = _DRAWS_PER_BATCH * d
    max_batches = max(int(np.ceil(d**1.25 * np.log(d + 1) / n_draws)), _MAX_BATCHES)
    families = [np.empty((0, size)) for size in tensor.shape]
    for n_batches in range(1, max_batches + 1):
        # Lines 3 and 4: the top singular vectors of T(I, I, g), and z = T(u, v, I).
        slices = (tensor.reshape(-1, tensor.shape[2]) @ rng.standard_normal((n_draws, tensor.shape[2])).T).T
        row_vectors, _, directions = np.linalg.svd(slices.reshape(n_draws, *tensor.shape[:2]), full_matrices=False)
        u, v = row_vectors[:, :, 0], directions[:, 0]
        w = unit_rows(_contract_two(tensor, u, v))
        for _ in range(n_polish):
            u = unit_rows(_contract_two(tensor.transpose(1, 2, 0), v, w))
            v = unit_rows(_contract_two(tensor.transpose(0, 2, 1), u, w))
            w = unit_rows(_contract_two(tensor, u, v))
        # Line 5: the largest values, each u at a distance from those before it.
        families = [np.vstack(pair) for pair in zip(families, (u, v, w), strict=True)]
        values = np.einsum("mk,mk->m", _contract_two(tensor, *families[:2]), families[2])
        chosen: list[int] = []
        for i in np.argsort(-values):
            cosines = np.abs(families[0][chosen] @ families[0][i])
            if len(chosen) < n_components and (np.sqrt(2 - 2 * np.minimum(cosines, 1)) >= _MIN_DISTANCE).all():
                chosen.append(int(i))
        families = [family[chosen] for family in families]
        if len(chosen) == n_components and n_batches >= _MIN_BATCHES:
            break
    return values[chosen], (families[0], families[1], families[2])


def _contract(tensor: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return T(I, theta, theta) for every row theta, shape (L, d)."""
    pairs = (theta[:, :, None] * theta[:, None, :]).reshape(len(theta), -1)
    return pairs @ tensor.reshape(len(tensor), -1).T


def _values(tensor: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return T(theta, theta, theta) for every row theta, shape (L,)."""
    return np.asarray(np.einsum("la,la->l", _contract(tensor, theta), theta))


def _contract_two(tensor: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return T(u, v, I) for every pair of rows, shape (m, d_3)."""
    d1, d2, d3 = tensor.shape
    half = (u @ tensor.reshape(d1, -1)).reshape(len(u), d2, d3)
    return np.asarray(np.einsum("mjk,mj->mk", half, v))
