import numpy as np
import pytest
from scipy import sparse

from latentia.moments import VectorMoments, column_moments, principal_coordinates
from latentia.moments.fourth import FourthMoments
from latentia.moments.vectors import Coordinates
from latentia.passes import Blocks, Folds, accumulate


@pytest.fixture
def table():
    return np.random.default_rng(0).gamma(2.0, size=(500, 5)) @ np.random.default_rng(1).standard_normal((5, 5))


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_column_moments(table, offset, make):
    if offset and make is sparse.csr_array:
        pytest.skip("sparse columns are not centred before they are summed")
    found = column_moments(Blocks.from_array(make(table + offset), block_rows=37))
    np.testing.assert_allclose(found.mean, table.mean(axis=0) + offset, atol=1e-9)
    np.testing.assert_allclose(found.variance, table.var(axis=0), rtol=1e-6)


@pytest.mark.parametrize("groups", [(0, 1, 2, 3), (1, 2)])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_moments_are_about_the_mean_of_the_groups(table, groups, make):
    coordinates = Coordinates(table.mean(axis=0) + 0.3, np.eye(5))
    moments = VectorMoments(coordinates, Folds(4, 0))
    found = moments.of(accumulate(Blocks.from_array(make(table), block_rows=60), moments), groups)
    rows = table[np.isin(Folds(4, 0).of(np.arange(500)), groups)]
    centred = rows - rows.mean(axis=0)
    y = np.hstack([centred, np.ones((len(rows), 1))])
    n = len(rows)
    assert found.n == n
    np.testing.assert_allclose(found.mean, rows.mean(axis=0))
    np.testing.assert_allclose(found.third, np.einsum("na,nb,nc->abc", y, y, y) / n, atol=1e-10)
    np.testing.assert_allclose(found.energy, (centred**2).sum(axis=1) @ y / n, atol=1e-10)
    np.testing.assert_allclose(found.sketch, centred.T @ y / n, atol=1e-10)


def test_wide_tables_are_reduced_to_their_leading_directions():
    rng = np.random.default_rng(2)
    signal = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 200)) * 3
    x = signal + 0.1 * rng.standard_normal((400, 200)) + 5
    blocks = Blocks.from_array(x, block_rows=100)
    coordinates, n_passes = principal_coordinates(blocks, 10, x.mean(axis=0))
    assert n_passes == 3
    assert coordinates.basis.shape == (200, 10)
    centred = x - x.mean(axis=0)
    kept = np.linalg.norm(centred @ coordinates.basis) ** 2 / np.linalg.norm(centred) ** 2
    assert kept > 0.99
    same, none = principal_coordinates(Blocks.from_array(x[:, :12]), 10, x[:, :12].mean(axis=0))
    assert none == 0
    assert (same.basis == np.eye(12)).all()


@pytest.mark.parametrize("groups", [(0, 1, 2, 3), (0, 3)])
def test_fourth_cumulant(table, groups):
    coordinates = Coordinates(table.mean(axis=0) - 0.2, np.eye(5))
    moments = FourthMoments(coordinates, Folds(4, 0))
    found = moments.of(accumulate(Blocks.from_array(table, block_rows=60), moments), groups)
    rows = table[np.isin(Folds(4, 0).of(np.arange(500)), groups)]
    matrix = np.random.default_rng(3).standard_normal((5, 3))
    z = (rows - rows.mean(axis=0)) @ matrix
    s = z.T @ z / len(z)
    fourth = np.einsum("na,nb,nc,nd->abcd", z, z, z, z, optimize=True) / len(z)
    gaussian = np.einsum("ab,cd->abcd", s, s) + np.einsum("ac,bd->abcd", s, s) + np.einsum("ad,bc->abcd", s, s)
    i, j = np.triu_indices(3)
    expected = (fourth - gaussian)[i, j][:, i, j]
    np.testing.assert_allclose(found.cumulant(matrix).packed, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
