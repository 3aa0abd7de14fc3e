"""Ratios to sums that may be zero."""

import numpy as np
import pytest

from latentia.ica._misfit import measure_cumulant_fit
from latentia.linalg.ratios import ratio_of
from latentia.moments import FourthSums
from latentia.tensor.operators import SymmetricFour

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def test_ratios_are_quotients_where_these_are_in_range():
    above, below = np.random.default_rng(0).standard_normal((2, 100)) * [[1e20], [1e-20]]
    np.testing.assert_array_equal(ratio_of(above, np.abs(below)), above / np.abs(below))


@pytest.mark.parametrize("above", [1e-320, 1.0, 1e9, 1e308])
def test_ratios_to_zero_have_squares(above):
    assert 0 < ratio_of(np.float64(above), 0.0) ** 2 < np.inf
    assert ratio_of(0.0, 0.0) == 0


def test_halves_with_equal_rows_have_a_misfit():
    rows = np.random.default_rng(0).standard_normal((200, 3)) ** 3
    with_ones = np.column_stack([rows, np.ones(len(rows))])
    i, j = np.triu_indices(4)
    products = with_ones[:, i] * with_ones[:, j]
    fourth = SymmetricFour(products.T @ products / len(rows), 4)
    half = FourthSums(len(rows), fourth, rows.mean(axis=0), np.cov(rows.T, bias=True))
    fit = measure_cumulant_fit(half, [(half, half)], np.eye(3))
    assert np.isfinite(fit.misfit.ratio)
    assert not fit.fits
