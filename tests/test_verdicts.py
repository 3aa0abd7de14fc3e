"""A fit that the data does not support says so once, in every family."""

import warnings

import pytest
from contract import CASES

from latentia.exceptions import NotSupportedWarning


def fitted(case, data, **parameters):
    """The model, and what it warned of its verdict."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = case.new(**parameters).fit(**data)
    return model, [one for one in heard if issubclass(one.category, NotSupportedWarning)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fit_that_is_not_supported_warns_once(case):
    model, heard = fitted(case, case.hopeless())
    assert model.evidence_.grade == "not supported"
    assert len(heard) == 1
    assert model.evidence_.verdict in str(heard[0].message)
    assert heard[0].filename == __file__


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_other_fits_do_not(case):
    model, heard = fitted(case, case.data())
    assert model.evidence_.grade != "not supported"
    assert not heard
    if case.needs_splits:
        model, heard = fitted(case, case.data(), n_splits=0)
        assert not heard
        marks = [mark for mark, _ in model.evidence_.rests_on()]
        assert "bad" not in marks
        assert ("open" in marks) == (not model.evidence_.measured)


def test_fits_that_only_measure_are_silent():
    case = next(case for case in CASES if case.name == "SphericalGaussianMixture")
    model, _ = fitted(case, case.hopeless())
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.evidence_.stability(**case.hopeless())
    assert not heard
    model, heard = fitted(case, case.hopeless(), n_components=range(2, 4))
    assert len(heard) == (model.evidence_.grade == "not supported")
