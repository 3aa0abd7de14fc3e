"""How many rows an expected error needs."""

import numpy as np
import pytest

import latentia
from latentia.evidence import Evidence, PartErrors, error_checks
from latentia.exceptions import LatentiaError
from latentia.mixtures import SphericalGaussianMixture
from latentia.nmf import SeparableNMF


def evidence(errors, shared=0.0, limit=0.4, n_rows=100):
    errors = np.asarray(errors, dtype=float)
    return Evidence(error_checks(PartErrors(errors, 2, shared=shared), limit, "mean l1", "l1", n_rows=n_rows), errors)


def test_what_rows_leave_falls_with_their_root():
    needed = evidence([0.6, 1.0]).rows_needed(0.4)
    np.testing.assert_allclose([needed.rows, needed.low, needed.high], [400, 178, 900])
    np.testing.assert_allclose(evidence([0.6, 1.0]).rows_needed().rows, 400)  # The limit is the default.


def test_what_parts_share_stays():
    made = evidence([0.5], shared=0.09)
    np.testing.assert_allclose(made.rows_needed(0.34).rows, np.ceil(100 * (0.25 - 0.09) / (0.34**2 - 0.09)))
    assert made.rows_needed(0.3).rows == np.inf


@pytest.mark.parametrize("error", [0.0, -1.0, np.nan, "a"])
def test_an_error_is_above_zero(error):
    with pytest.raises(LatentiaError, match="expected a number above 0"):
        evidence([0.5]).rows_needed(error)


def test_an_error_that_falls_with_something_else_is_refused():
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(3), 200) @ rng.random((3, 8))
    with pytest.raises(LatentiaError, match="no expected errors that depend"):
        SeparableNMF(3).fit(X).evidence_.rows_needed(0.1)


@pytest.mark.parametrize(
    ("errors", "what"), [([0.3, 0.5], "all components"), ([0.3, 0.5, 5.0], "1 more component"), ([5.0, 0.3], None)]
)
def test_advice_names_what_more_rows_are_enough_for(errors, what):
    advice = evidence(errors, limit=0.4).advice
    if what is None:
        assert "would be enough" not in advice
    else:
        assert f"About 160 rows (70 to 360) would be enough for {what}, if the model holds: there are 100." in advice


def test_advice_asks_for_rows_only_where_they_help():
    """What halves share does not fall with more rows."""
    assert "About 360 rows" in evidence([np.hypot(0.5, 0.3)] * 2, shared=0.09, limit=0.4).advice
    assert "would be enough" not in evidence([0.6, 0.6], shared=0.2, limit=0.4).advice


def test_components_that_are_not_found_again_get_no_rows():
    made = evidence([0.5, 0.5], limit=0.4)
    made.found_again = np.array([0.9, 0.2])
    assert "would be enough for 1 more component," in made.advice
    made.found_again = np.array([0.3, 0.2])
    assert "would be enough" not in made.advice


def test_a_loaded_model_knows_it(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(mean, 1, (60, 5)) for mean in (0, 4)])
    model = SphericalGaussianMixture(2).fit(X)
    latentia.save(model, tmp_path / "model.latentia")
    assert latentia.load(tmp_path / "model.latentia").evidence_.rows_needed(0.1) == model.evidence_.rows_needed(0.1)
