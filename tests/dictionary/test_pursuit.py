"""Matching pursuit of many rows at once against scikit-learn's of one row at a time."""

import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp

from latentia.dictionary._sparsity import suggest_sparsity
from latentia.dictionary.pursuit import Codes, matching_pursuit


@pytest.mark.parametrize("sparsity", [1, 3, 6])
def test_codes_are_those_of_scikit_learn(sparsity):
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((40, 20))
    atoms /= np.linalg.norm(atoms, axis=1)[:, None]
    rows = rng.standard_normal((700, 20))
    codes = matching_pursuit(rows, atoms, sparsity)
    found = codes.dense(40)
    expected = orthogonal_mp(atoms.T, rows.T, n_nonzero_coefs=sparsity).T
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(codes.residuals[:, -1], ((rows - found @ atoms) ** 2).sum(axis=1), atol=1e-8)
    np.testing.assert_array_equal(found, matching_pursuit(rows, atoms, sparsity, n_jobs=2).dense(40))


def test_exact_rows_take_no_more_atoms_than_they_have():
    atoms = np.eye(10)
    rows = np.zeros((3, 10))
    rows[0, 2], rows[1, [3, 4]] = 2.0, (1.0, -1.0)
    codes = matching_pursuit(rows, atoms, 4)
    np.testing.assert_array_equal((codes.atoms >= 0).sum(axis=1), [1, 2, 0])
    np.testing.assert_allclose(codes.dense(10), rows)


def test_twin_atoms_are_not_taken_twice():
    atoms = np.vstack([np.eye(4), np.eye(4)[:1]])
    codes = matching_pursuit(np.array([[1.0, 0.5, 0.2, 0.0]]), atoms, 5)
    assert sorted(codes.atoms[0][codes.atoms[0] >= 0] % 4) == [0, 1, 2]


def test_a_first_atom_that_takes_most_is_not_the_last():
    """Rows of photographs: one atom takes four fifths, and every further one much of what is left."""
    kept = np.array([1.0, 0.2, 0.6, 0.65, 0.75, 0.9, 0.92, 0.93])
    left = np.tile(np.cumprod(kept), (50, 1))
    codes = Codes(np.zeros((50, 7), np.int32), np.zeros((50, 7)), left)
    assert suggest_sparsity(codes, 100, 64) == 4
