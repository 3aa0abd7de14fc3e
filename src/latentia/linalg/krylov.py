"""Leading eigenpairs and singular triplets from few applications of an operator to blocks of columns.

A block Krylov method keeps every block that it has applied the operator to, and solves the small problem on their
joint span (Rayleigh-Ritz; Musco and Musco 2015). `subspace_iteration` keeps the last block only: less accurate for the
same number of passes, and all that is held is one block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from ..system.threads import single_blas_thread
from .orthonormal import cholesky_qr

Apply = Callable[[np.ndarray], np.ndarray]
_DENSE, _CONVERGED = 500, 1e-6  # rows up to which all eigenpairs are computed; relative error of eigenvalues
_LANES = 8  # numbers that a processor takes at once
_MIN_NEW_SHARE = 0.01  # share of an image outside the basis below which its direction is rounding in single precision
_MAX_OVERLAP, _MIN_LENGTH, _MAX_TRIES = 1e-5, 1e-3, 8
_NEGLIGIBLE = 1e-7  # share of the largest eigenvalue below which directions are rounding


def subspace_iteration(apply: Apply, start: np.ndarray, n_passes: int) -> np.ndarray:
    """Return an orthonormal basis after ``n_passes`` applications of ``apply`` to the block ``start``, shape (n, k)."""
    basis = cholesky_qr(start)
    for _ in range(n_passes):
        basis = cholesky_qr(apply(basis))
    return basis


def leading_eigenspace(
    apply: Apply,
    start: np.ndarray,
    n_components: int,
    *,
    tol: float = 0.03,
    n_passes: int = 12,
    most_columns: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of a symmetric operator and their eigenvectors, to an angle.

    Block Krylov passes are taken until every one of the leading eigenpairs leaves a residual |M u - lambda u| of at most
    ``tol`` times the last of their eigenvalues, or until there is nothing new to find. A basis that is full is cut back
    to its leading directions (thick restart), which loses nothing that has been found.

    Parameters
    ----------
    apply : callable
        Maps an array of shape (n, k) to the operator's product with it. Called at most ``n_passes`` times.
    start : ndarray of shape (n, m)
        First block; it should overlap with all leading eigenvectors. Nothing else is random.
    n_components : int
        Number of eigenpairs, at most m, whose residuals count.
    tol : float
    n_passes : int
        Most applications of the operator.
    most_columns : int, optional
        Columns of the basis, at least 3 m.

    Returns
    -------
    values : ndarray of shape (m,), descending
        Of these the first ``n_components`` have converged.
    vectors : ndarray of shape (n, m), orthonormal columns
    """
    n, width = start.shape
    room = min(n, n_passes * width, n if most_columns is None else max(most_columns, 3 * width))
    basis, small, filled = np.empty((n, room)), np.zeros((room, room)), 0
    values, vectors = np.empty(0), np.empty((0, 0))
    block = cholesky_qr(start)
    for _ in range(n_passes):
        k = block.shape[1]
        if filled + k > room:
            basis[:, :width] = basis[:, :filled] @ vectors[:, :width]
            small[:width, :width] = np.diag(values[:width])
            filled = width
        basis[:, filled : filled + k] = block
        image, filled_basis = apply(block), basis[:, : filled + k]
        products = filled_basis.T @ image
        small[: filled + k, filled : filled + k], small[filled : filled + k, :filled] = products, products[:filled].T
        filled += k
        part = small[:filled, :filled]
        values, vectors = (pair[..., ::-1] for pair in np.linalg.eigh((part + part.T) / 2))
        # The basis contains the images of all its blocks but the last, so residuals come from the image of the last block.
        image = image - filled_basis @ products
        residuals = np.linalg.norm(image @ vectors[-k:, :n_components], axis=0)
        if residuals.max() <= tol * max(values[min(n_components, filled) - 1], 0.0):
            break
        block = _find_added_directions(image, filled_basis, _NEGLIGIBLE * np.abs(values).max())[:, : max(n - filled, 0)]
        if not block.shape[1]:
            break
    return values[:width], basis[:, :filled] @ vectors[:, :width]


def converged_eigenspace(apply: Apply, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of a symmetric operator that is quick to apply, and their eigenvectors, all but exact.

    Parameters
    ----------
    apply : callable
        Maps an array of shape (n,) to the operator's product with it.
    start : ndarray of shape (n, m)
        As many columns as eigenpairs are wanted. The first one starts the Lanczos method (ARPACK).

    Returns
    -------
    values : ndarray of shape (m,), descending
    vectors : ndarray of shape (n, m), orthonormal columns
    """
    n, width = start.shape
    with single_blas_thread():  # the number of BLAS threads may change the bits
        if n <= max(_DENSE, 3 * width):
            dense = np.array([apply(column) for column in np.eye(n)])
            values, vectors = np.linalg.eigh((dense + dense.T) / 2)
        else:
            operator = LinearOperator((n, n), matvec=lambda v: apply(v.ravel()), dtype=np.float64)
            values, vectors = eigsh(operator, k=width, which="LA", tol=_CONVERGED, v0=start[:, 0])
    order = np.argsort(-values, kind="stable")[:width]
    return values[order], vectors[:, order]


def block_krylov_eigh(
    apply: Apply,
    size: int,
    n_components: int,
    *,
    n_passes: int = 3,
    oversample: int = 28,
    random_state: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of a symmetric operator and their eigenvectors.

    Parameters
    ----------
    apply : callable
        Maps an array of shape (size, k) to the operator's product with it. Called ``n_passes`` times.
    size : int
        Rows of the operator.
    n_components : int
        Number of eigenpairs.
    n_passes : int
        Applications of the operator, each to ``n_components + oversample`` columns (fewer where ``size`` is small).
    oversample : int
        Extra columns.
    random_state : int
        Seed of the first block.

    Returns
    -------
    values : ndarray of shape (n_components,), descending
    vectors : ndarray of shape (size, n_components), orthonormal columns
    """
    width = min(n_components + oversample, size)
    block = cholesky_qr(np.random.default_rng(random_state).standard_normal((size, width)))
    basis, image = block, apply(block)
    for _ in range(n_passes - 1):
        width = min(width, size - basis.shape[1])
        if width <= 0:
            break
        block = _find_new_directions(image[:, -block.shape[1] :], basis)[:, :width]
        basis, image = np.hstack([basis, block]), np.hstack([image, apply(block)])
    small = basis.T @ image
    values, vectors = np.linalg.eigh((small + small.T) / 2)
    top = np.argsort(-values)[:n_components]
    return values[top], basis @ vectors[:, top]


def outlying_eigenpairs(
    apply: Apply,
    size: int,
    n_components: int,
    edge: float,
    *,
    n_passes: int | None = None,
    n_settled: int | None = None,
    oversample: int = 3,
    tol: float = 1e-3,
    random_state: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of largest modulus of a symmetric operator whose other eigenvalues fill [-edge, edge], and eigenvectors.

    An eigenvalue just outside of the bulk takes many passes, one far outside few: passes are taken until all that are asked
    for lie outside and have converged, or the basis is full. No image is kept, only the basis, in single precision, which
    limits how closely they converge.

    Parameters
    ----------
    apply : callable
        Maps an array of shape (size, k) in float32 to the operator's product with it, which may be written over.
    size, n_components : int
    edge : float
    n_passes : int, optional
        Most passes; by default as many as give the basis 160 columns, and at least 8.
    n_settled : int, optional
        How many eigenvalues must have converged; by default all.
    oversample : int
        Extra columns of a block; blocks of more than eight columns are widened to a multiple of eight, which costs no time.
    tol : float
        Relative change of an eigenvalue in two passes at which it has converged.

    Returns
    -------
    values : ndarray of shape (n_components,), by decreasing modulus
    vectors : ndarray of shape (size, n_components), orthonormal columns
    """
    width = n_components + oversample
    if width > _LANES:
        width = -(-width // _LANES) * _LANES
    width = min(width, size)
    max_passes = min(max(8, 160 // width) if n_passes is None else n_passes, -(-size // width))
    basis = np.empty((size, min(max_passes * width, size)), dtype=np.float32, order="F")
    small = np.zeros((basis.shape[1], basis.shape[1]))
    workspace = np.empty((size, width), dtype=np.float32)
    block = cholesky_qr(np.random.default_rng(random_state).standard_normal((size, width), dtype=np.float32))
    n_watched = n_components if n_settled is None else min(n_settled, n_components)
    last_moduli, filled = np.zeros(n_watched), 0
    for n_done in range(max_passes):
        k = block.shape[1]
        basis[:, filled : filled + k] = block
        image = apply(block)
        filled_basis = basis[:, : filled + k]
        small[: filled + k, filled : filled + k] = products = filled_basis.T @ image
        filled += k
        if n_done % 2:
            part = small[:filled, :filled]
            moduli = np.sort(np.abs(np.linalg.eigvalsh(np.triu(part) + np.triu(part, 1).T)))[::-1][:n_watched]
            if (
                len(moduli) == len(last_moduli)
                and (moduli > edge).all()
                and (np.abs(moduli - last_moduli) <= tol * moduli).all()
            ):
                break
            last_moduli = moduli
        width = min(width, size - filled)
        if n_done == max_passes - 1 or width <= 0:
            break
        squared_lengths = np.einsum("ij,ij->j", image, image)
        image -= np.matmul(filled_basis, products, out=workspace[:, :k])
        if np.linalg.eigvalsh(image.T @ image)[0] > _MIN_NEW_SHARE**2 * squared_lengths.max():
            block = cholesky_qr(image)[:, :width]
        else:  # some direction is mostly rounding
            block = _draw_outside(filled_basis, image, width, random_state)
    part = small[:filled, :filled]
    values, vectors = np.linalg.eigh(np.triu(part) + np.triu(part, 1).T)
    top = np.argsort(-np.abs(values), kind="stable")[:n_components]
    return values[top], cholesky_qr((basis[:, :filled] @ vectors[:, top].astype(np.float32)).astype(np.float64))


def _draw_outside(basis: np.ndarray, image: np.ndarray, width: int, random_state: int) -> np.ndarray:
    """Return orthonormal columns outside the basis, in the span of the image as far as possible; the others are drawn."""
    rng = np.random.default_rng([random_state, basis.shape[1]])
    block = cholesky_qr(image)[:, :width]
    for _ in range(_MAX_TRIES):
        overlap = basis.T @ block
        if np.abs(overlap).max() < _MAX_OVERLAP and np.abs(block.T @ block - np.eye(width)).max() < _MAX_OVERLAP:
            break
        block = block - basis @ overlap
        is_short = np.linalg.norm(block, axis=0) < _MIN_LENGTH
        block[:, is_short] = rng.standard_normal((len(block), int(is_short.sum())), dtype=np.float32)
        block = cholesky_qr(block)
    return block


def block_krylov_svd(
    operator: Any, n_components: int, *, n_passes: int = 3, oversample: int = 28, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the largest singular triplets of anything with ``shape``, ``@`` and ``.T``: a sparse matrix, a LinearOperator.

    The Krylov space is built on the smaller side, so that it holds ``n_passes`` blocks of as many rows as that side has.
    Each of the ``n_passes`` passes applies the operator and its transpose once; one more product gives the other side:
    2 n_passes + 1 products with blocks of ``n_components + oversample`` columns (the last with ``n_components``).

    Returns
    -------
    u : ndarray of shape (n_rows, n_components)
    values : ndarray of shape (n_components,), descending
    vt : ndarray of shape (n_components, n_columns)
    """
    if operator.shape[0] < operator.shape[1]:
        options: dict[str, Any] = {"n_passes": n_passes, "oversample": oversample, "random_state": random_state}
        v, values, ut = block_krylov_svd(operator.T, n_components, **options)
        return ut.T, values, v.T
    options = {"n_passes": n_passes, "oversample": oversample, "random_state": random_state}
    _, v = block_krylov_eigh(lambda block: operator.T @ (operator @ block), operator.shape[1], n_components, **options)
    # The tall side is orthogonalised by its Gram matrix, whose condition is that of the leading singular values, squared.
    image = operator @ v
    squares, rotation = np.linalg.eigh(image.T @ image)
    values = np.sqrt(np.maximum(squares[::-1], 0))
    rotation = rotation[:, ::-1]
    image = image @ (rotation / np.where(values > 0, values, 1.0))
    return image, values, rotation.T @ v.T


def _find_new_directions(block: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return orthonormal columns for what ``block`` adds to the orthonormal ``basis``; projected twice against rounding."""
    for _ in range(2):
        block = cholesky_qr(block - basis @ (basis.T @ block))
    return block - basis @ (basis.T @ block)


def _find_added_directions(image: np.ndarray, basis: np.ndarray, min_length: float) -> np.ndarray:
    """Return orthonormal columns for what ``image`` adds to the ``basis``, without directions shorter than ``min_length``."""
    squares, rotation = np.linalg.eigh(image.T @ image)
    is_long = squares > min_length**2
    block = image @ (rotation[:, is_long] / np.sqrt(squares[is_long]))
    for _ in range(2 * bool(block.shape[1])):
        block = cholesky_qr(block - basis @ (basis.T @ block))
    return block
