import numpy as np
import pytest

from latentia.moments.products import (
    add_cubes,
    add_pair_gram,
    add_triples,
    mirror_cube,
    mirror_gram,
    sum_mixed_cubes,
    third_moment,
)
from latentia.system.threads import serial, threads
from latentia.tensor.operators import pair_products, symmetrise_modes


@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 3), (50, 16), (5000, 33), (100, 40)])
def test_third_moment_against_einsum(n, d):
    rng = np.random.default_rng(0)
    rows, factors = rng.standard_normal((n, d)), rng.standard_normal(n)
    expected = np.einsum("n,na,nb,nc->abc", factors, rows, rows, rows, optimize=True)
    np.testing.assert_allclose(third_moment(rows, factors), expected, atol=1e-9 * n)


def test_third_moment_is_additive_and_the_same_for_any_number_of_threads():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((3000, 20))
    total = np.zeros((20, 20, 20))
    with threads(3) as parallel:
        add_cubes(total, rows[:1000], None, parallel)
        add_cubes(total, rows[1000:], None, parallel)
    again = np.zeros((20, 20, 20))
    add_cubes(again, rows[:1000], None, serial)
    add_cubes(again, rows[1000:], None, serial)
    assert (total == again).all()
    np.testing.assert_allclose(mirror_cube(total), third_moment(rows), atol=1e-8)


def test_single_precision_rows_have_a_relative_error_below_1e_5():
    rows = np.random.default_rng(2).standard_normal((15_000, 30))
    exact = third_moment(rows)
    single = third_moment(rows.astype(np.float32))
    assert single.dtype == np.float64
    assert np.linalg.norm(single - exact) <= 1e-5 * np.linalg.norm(exact)


def test_triples_of_three_tables():
    rng = np.random.default_rng(3)
    x, y, z = (rng.standard_normal((4000, d)) for d in (18, 5, 33))
    total = np.zeros((18, 5, 33))
    add_triples(total, x, y, z, serial)
    np.testing.assert_allclose(total, np.einsum("na,nb,nc->abc", x, y, z, optimize=True), atol=1e-9)


def test_gram_matrix_of_pairs():
    rows = np.random.default_rng(4).standard_normal((3000, 24))  # 300 pairs: more than one panel
    total = np.zeros((300, 300))
    with threads(2) as parallel:
        add_pair_gram(total, rows, parallel)
    pairs = pair_products(rows)
    np.testing.assert_allclose(mirror_gram(total), pairs.T @ pairs, atol=1e-8)


def test_symmetrised_is_the_mean_over_orders():
    t = np.random.default_rng(5).random((3, 3, 3))
    s = symmetrise_modes(t)
    assert np.allclose(s, s.transpose(2, 1, 0))
    assert s[0, 1, 2] == pytest.approx(
        np.mean([t[0, 1, 2], t[0, 2, 1], t[1, 0, 2], t[1, 2, 0], t[2, 0, 1], t[2, 1, 0]])
    )


@pytest.mark.parametrize(("n", "d"), [(1, 1), (40, 7), (5000, 33)])
def test_mixed_cube_is_a_mean_over_orders(n, d):
    rng = np.random.default_rng(6)
    x, y = rng.standard_normal((n, d)), rng.standard_normal((n, d))
    expected = symmetrise_modes(np.einsum("na,nb,nc->abc", x, x, y, optimize=True))
    found = sum_mixed_cubes(x, y, serial)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    with threads(3) as parallel:
        assert (sum_mixed_cubes(x, y, parallel) == found).all()


@pytest.mark.parametrize("d", [1, 5, 16, 37])
def test_symmetrised_in_blocks(d):
    t = np.random.default_rng(7).standard_normal((d, d, d))
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    np.testing.assert_allclose(symmetrise_modes(t), np.mean([t.transpose(o) for o in orders], axis=0), atol=1e-14)
