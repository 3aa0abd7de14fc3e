import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from latentia.linalg import block_krylov_eigh, block_krylov_svd, cholesky_qr, subspace_iteration


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


def test_krylov_svd_against_lapack():
    a = sparse.random_array((400, 300), density=0.1, rng=np.random.default_rng(1)) @ sparse.diags_array(
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
