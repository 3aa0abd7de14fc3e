import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from latentia import LatentiaError
from latentia.linalg import (
    block_krylov_eigh,
    block_krylov_svd,
    cholesky_qr,
    outlying_eigenpairs,
    subspace_iteration,
    whiten,
)


@pytest.mark.parametrize("condition", [1e0, 1e6, 1e12])
def test_cholesky_qr_is_orthonormal_and_keeps_the_span(condition):
    rng = np.random.default_rng(0)
    q, _ = np.linalg.qr(rng.standard_normal((300, 12)))
    columns = q * np.geomspace(1, 1 / condition, 12) @ np.linalg.qr(rng.standard_normal((12, 12)))[0]
    basis = cholesky_qr(columns)
    np.testing.assert_allclose(basis.T @ basis, np.eye(12), atol=1e-12)
    leading = columns @ np.linalg.svd(columns, full_matrices=False)[2].T[:, :4]
    assert np.linalg.norm(leading - basis @ (basis.T @ leading)) <= 1e-8 * np.linalg.norm(leading)


def test_cholesky_qr_of_zero_and_repeated_columns_is_finite():
    columns = np.zeros((20, 3))
    columns[:, 0] = columns[:, 1] = 1.0
    assert np.isfinite(cholesky_qr(columns)).all()


def test_no_more_directions_are_whitened_than_there_are():
    columns = np.random.default_rng(0).standard_normal((8, 4))
    found = whiten(columns @ columns.T, 4)
    np.testing.assert_allclose(found.matrix.T @ columns @ columns.T @ found.matrix, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(found.inverse.T @ found.matrix, np.eye(4), atol=1e-12)
    with pytest.raises(LatentiaError, match="supports at most 4 components"):
        whiten(columns @ columns.T, 5)


def test_krylov_svd_against_lapack():
    a = sparse.random_array((400, 300), density=0.1, random_state=np.random.default_rng(1)) @ sparse.diags_array(
        np.geomspace(10, 0.1, 300)
    )
    u, s, vt = block_krylov_svd(aslinearoperator(a), 10, n_passes=6)
    exact = np.linalg.svd(a.toarray(), compute_uv=False)[:10]
    np.testing.assert_allclose(s, exact, rtol=1e-6)
    np.testing.assert_allclose(a.T @ u, vt.T * s, atol=1e-3 * s[0])
    np.testing.assert_allclose(u.T @ u, np.eye(10), atol=1e-10)


def test_krylov_eigh_on_a_small_space_and_repeatable():
    rng = np.random.default_rng(2)
    a = rng.standard_normal((15, 15))
    a = a + a.T
    values, vectors = block_krylov_eigh(lambda b: a @ b, 15, 3)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a)[::-1][:3], rtol=1e-10)
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-9)
    assert (block_krylov_eigh(lambda b: a @ b, 15, 3)[1] == vectors).all()


def test_subspace_iteration_converges_to_the_leading_space():
    a = np.diag(np.concatenate([[5.0, 4.0, 3.0], np.full(47, 0.1)]))
    basis = subspace_iteration(lambda b: a @ b, np.random.default_rng(0).standard_normal((50, 3)), 8)
    assert np.abs(basis[3:]).max() < 1e-8


def _hard_matrices():
    """Symmetric matrices whose Krylov space ends early, or whose eigenvectors sit on few coordinates."""
    rng = np.random.default_rng(0)
    x = rng.random(50)
    yield "rank one", 0.8 * np.outer(x, x) / (x @ x)
    group = np.arange(60) % 3
    yield "blocks", (group[:, None] == group) / 20 - 1 / 60
    star = np.zeros((80, 80))
    star[0, 1:] = star[1:, 0] = 1 / np.sqrt(79)
    yield "star", 0.8 * star
    part = np.zeros((60, 60))
    part[:40, 40:] = rng.random((40, 20)) / 40
    yield "two kinds", part + part.T
    small = np.zeros((300, 300))
    small[:12, :12] = rng.standard_normal((12, 12)) / 12
    yield "few coordinates", small + small.T
    yield "zero", np.zeros((30, 30))


@pytest.mark.parametrize(("name", "matrix"), list(_hard_matrices()), ids=[name for name, _ in _hard_matrices()])
@pytest.mark.parametrize("k", [1, 2, 6, 20])
def test_outlying_eigenvalues_where_the_krylov_space_ends(name, matrix, k):
    values, vectors = outlying_eigenpairs(lambda block: (matrix @ block).astype(np.float32), len(matrix), k, 0.05)
    true = np.linalg.eigvalsh(matrix)
    true = true[np.argsort(-np.abs(true))][:k]
    np.testing.assert_allclose(np.abs(values), np.abs(true), atol=2e-3 * max(np.abs(true[0]), 1e-3))
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-6)


def test_cholesky_qr_of_dependent_columns_to_single_precision():
    columns = np.vander(np.linspace(0, 1, 500), 16).astype(np.float32)
    basis = cholesky_qr(columns)
    assert basis.dtype == np.float32
    np.testing.assert_allclose(basis.T @ basis, np.eye(16), atol=1e-5)
