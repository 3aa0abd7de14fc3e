"""CP decomposition by alternating least squares: components need not be orthogonal, modes may differ.

    minimise |T - sum_k lambda_k a_k (x) b_k (x) c_k|^2

over one mode at a time, each a linear least-squares problem. When to prefer it: tensors that are not orthogonal, and
to refine an answer of another method (``starts``). There is no guarantee: a start may end in a poor local minimum, so
several random ones and one from a matrix pencil (exact where T has no noise) are made, and the best one is kept.
Tensors with more dimensions than components are first compressed to the leading singular spaces of their unfoldings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..linalg import unit_rows

Factors = list[np.ndarray]


def als(
    tensor: np.ndarray,
    n_components: int,
    rng: np.random.Generator,
    *,
    n_init: int = 10,
    max_iter: int = 500,
    tol: float = 1e-10,
    starts: Sequence[np.ndarray] | None = None,
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], int, bool]:
    """Triples of unit vectors of the best fit.

    Parameters
    ----------
    tensor : ndarray of shape (d_1, d_2, d_3)
    n_init : int
        Random starts, besides that from a matrix pencil.
    max_iter, tol
        Iterations of a start, and the decrease of the relative residual at which it has converged.
    starts : three ndarrays of shape (n_components, d_i), optional
        Where to start, in place of the random starts.

    Returns
    -------
    vectors : three ndarrays of shape (n_components, d_i)
    n_iter : int
        Iterations of all starts.
    converged : bool
        Of the best start.
    """
    bases = [_leading_space(tensor, mode, n_components) for mode in range(3)]
    core = np.einsum("abc,ai,bj,ck->ijk", tensor, *bases, optimize=True)
    if starts is not None:
        first: Iterable[Factors] = [[np.asarray(s) @ basis for s, basis in zip(starts, bases, strict=True)]]
    else:
        first = _random_starts(core, n_components, n_init, rng)
    best: tuple[float, Factors, bool] | None = None
    total = 0
    for factors in first:
        residual, factors, n_iter, converged = _alternate(core, factors, max_iter, tol)
        total += n_iter
        if best is None or residual < best[0]:
            best = residual, factors, converged
    assert best is not None
    a, b, c = (factor @ basis.T for factor, basis in zip(best[1], bases, strict=True))
    return (a, b, c), total, best[2]


def _random_starts(core: np.ndarray, n_components: int, n_init: int, rng: np.random.Generator) -> Iterator[Factors]:
    """Draw so many starts one by one, and last those of a matrix pencil."""
    for _ in range(n_init):
        yield [rng.standard_normal((n_components, d)) for d in core.shape]
    yield from _pencil(core, n_components, rng)


def _alternate(core: np.ndarray, factors: Factors, max_iter: int, tol: float) -> tuple[float, Factors, int, bool]:
    norm = float(np.linalg.norm(core))
    unfoldings = [np.moveaxis(core, mode, 0).reshape(core.shape[mode], -1) for mode in range(3)]
    factors = [unit_rows(f) for f in factors]
    residual = np.inf
    for n_iter in range(1, max_iter + 1):
        for mode in range(3):
            first, second = (factors[m] for m in range(3) if m != mode)
            gram = (first @ first.T) * (second @ second.T)
            pairs = (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
            images = pairs @ unfoldings[mode].T
            solved = np.linalg.lstsq(gram, images, rcond=None)[0]
            factors[mode] = unit_rows(solved)
        # |T - S|^2 = |T|^2 - 2 <T, S> + |S|^2 from the products of the last mode.
        fitted = float(np.sum((solved @ solved.T) * gram)) - 2 * float(np.sum(solved * images))
        old, residual = residual, float(np.sqrt(max(norm**2 + fitted, 0.0))) / norm
        if old - residual <= tol:
            return residual, factors, n_iter, True
    return residual, factors, n_iter, False


def _pencil(core: np.ndarray, n_components: int, rng: np.random.Generator) -> list[Factors]:
    """Starting factors from the eigenvectors of T(I, I, x) T(I, I, y)^+ for random x and y; none if K exceeds a dimension."""
    if min(core.shape[:2]) < n_components:
        return []
    first, second = (core @ rng.standard_normal(core.shape[2]) for _ in range(2))
    try:
        a = np.linalg.eig(first @ np.linalg.pinv(second))[1].real.T
        slices = (np.linalg.pinv(a.T) @ core.reshape(len(core), -1)).reshape(n_components, *core.shape[1:])
        u, _, vt = np.linalg.svd(slices)
    except np.linalg.LinAlgError:
        return []
    return [[a, u[:, :, 0], vt[:, 0]]]


def _leading_space(tensor: np.ndarray, mode: int, n_components: int) -> np.ndarray:
    """Return an orthonormal basis, shape (d, k), of the leading singular space of an unfolding, k = min(d, n_components)."""
    flat = np.moveaxis(tensor, mode, 0).reshape(tensor.shape[mode], -1)
    if len(flat) <= n_components:
        return np.eye(len(flat))
    return np.linalg.eigh(flat @ flat.T)[1][:, ::-1][:, :n_components]
