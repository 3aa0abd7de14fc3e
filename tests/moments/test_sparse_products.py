"""Products of sparse tables with dense columns, against dense ones."""

import numpy as np
import pytest
from scipy import sparse

from latentia.moments.sparse_products import (
    add_products,
    encode_counts,
    gather_products,
    products,
    sort_by_column,
    squared_products,
)
from latentia.system.threads import serial, threads

N, F, K = 70, 40, 9


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.4, (N, F)).astype(float)
    dense[[0, 17, N - 1]] = 0  # rows without entries
    dense[:, 5] = 0  # and a column
    return sparse.csr_array(dense)


@pytest.fixture
def codes():
    codes = np.full(F, -1, np.int32)
    codes[::3] = np.arange(len(codes[::3]))
    return codes


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_and_their_squares(table, dtype):
    columns = np.random.default_rng(1).standard_normal((F, K)).astype(dtype)
    counts, tol = encode_counts(table, None, dtype), 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(products(counts, columns, serial), table @ columns, atol=tol)
    found, squares = squared_products(counts, columns, serial)
    assert found.dtype == squares.dtype == dtype
    np.testing.assert_allclose(found, table @ columns, atol=tol)
    np.testing.assert_allclose(squares, table @ columns**2, atol=tol)


def test_columns_without_codes_are_left_out(table, codes):
    columns = np.random.default_rng(2).standard_normal((int(codes.max()) + 1, K))
    counts = encode_counts(table, codes)
    expected = table.toarray()[:, codes >= 0] @ columns
    np.testing.assert_allclose(products(counts, columns, serial), expected, atol=1e-12)
    np.testing.assert_allclose(gather_products(encode_counts(table, None), codes, columns, 2), expected, atol=1e-12)


def test_sums_of_groups_of_rows(table, codes):
    rng = np.random.default_rng(3)
    rows, factors, groups = rng.standard_normal((N, K)), rng.random(N), rng.integers(0, 3, N)
    size = int(codes.max()) + 1
    total, single = np.ones((3 * size, K)), np.ones(3 * size)
    columns = sort_by_column(encode_counts(table, codes), size, serial, factors, groups, 3)
    add_products(total, columns, rows, serial, single)
    own = table.toarray()[:, codes >= 0] * factors[:, None]
    for g in range(3):
        part = slice(g * size, (g + 1) * size)
        np.testing.assert_allclose(total[part], 1 + own[groups == g].T @ rows[groups == g], atol=1e-12)
        np.testing.assert_allclose(single[part], 1 + own[groups == g].sum(axis=0), atol=1e-12)


def test_bits_do_not_depend_on_threads():
    rng = np.random.default_rng(4)
    table = sparse.random_array((3000, 500), density=0.1, random_state=rng, format="csr")
    columns, counts = rng.standard_normal((500, 33)).astype(np.float32), encode_counts(table, None, np.float32)

    def sums(parallel):
        total = np.zeros((500, 33))
        rows = products(counts, columns, parallel)
        add_products(total, sort_by_column(counts, 500, parallel), rows, parallel)
        return total

    with threads(3) as parallel:
        assert (sums(parallel) == sums(serial)).all()
    dense = table.toarray()
    np.testing.assert_allclose(sums(serial), dense.T @ (dense @ columns), rtol=1e-4, atol=1e-4)


def test_a_table_without_entries():
    counts = encode_counts(sparse.csr_array((4, 6)), None)
    total = np.zeros((6, 2))
    add_products(total, sort_by_column(counts, 6, serial), np.ones((4, 2)), serial)
    assert not total.any()
    assert not products(counts, np.ones((6, 2)), serial).any()
