"""Factors of matrices whose diagonal is not known."""

import numpy as np
import pytest

from latentia.noisyor._missing_diagonal import factor_off_diagonal


@pytest.mark.parametrize(("n", "rank"), [(12, 1), (20, 3), (60, 10)])
def test_the_diagonal_is_found_and_not_read(n, rank):
    rng = np.random.default_rng(n)
    factor = rng.standard_normal((n, rank))
    matrix = factor @ factor.T
    hollow = matrix.copy()
    np.fill_diagonal(hollow, rng.standard_normal(n) * 100)
    found, n_iter = factor_off_diagonal(hollow, rank)
    assert np.abs(found @ found.T - matrix).max() < 1e-5
    gram = found.T @ found
    assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-8 * gram.max()
    assert (np.diff(np.diag(gram)) <= 0).all()
    assert factor_off_diagonal(hollow, rank, found)[1] < n_iter


def test_noise_does_not_prolong_the_search():
    rng = np.random.default_rng(3)
    factor, noise = rng.standard_normal((40, 3)), 0.3 * rng.standard_normal((40, 40))
    matrix = factor @ factor.T + noise + noise.T
    _, n_iter = factor_off_diagonal(matrix, 8)
    to_the_end = factor_off_diagonal(matrix, 8, max_iter=5000, tol=0.0)[0]
    assert n_iter < 500
    found = factor_off_diagonal(matrix, 8)[0]
    off = ~np.eye(40, dtype=bool)
    residuals = [((matrix - one @ one.T)[off] ** 2).sum() for one in (found, to_the_end)]
    assert residuals[0] < 1.02 * residuals[1]


def test_noise_moves_it_little():
    rng = np.random.default_rng(0)
    factor = np.abs(rng.standard_normal((80, 5)))
    noise = 0.01 * rng.standard_normal((80, 80))
    found, _ = factor_off_diagonal(factor @ factor.T + noise + noise.T, 5)
    assert np.linalg.norm(found @ found.T - factor @ factor.T) < 0.02 * np.linalg.norm(factor @ factor.T)
