"""A fit that the data does not support says so once, in every family."""

import warnings

import contract
import pytest
from contract import CASES

from latentia.datasets import planted
from latentia.dictionary import IncoherentDictionary
from latentia.exceptions import LatentiaWarning, NotSupportedWarning
from latentia.mixtures import SphericalGaussianMixture

every = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def fitted(case, data, **parameters):
    """The model, and all that it warned of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", LatentiaWarning)
        model = case.new(**parameters).fit(**data)
    return model, [one for one in heard if issubclass(one.category, LatentiaWarning)]


def of_verdicts(heard):
    return [one for one in heard if issubclass(one.category, NotSupportedWarning)]


@every
def test_a_fit_that_is_not_supported_says_so_once_at_the_line_of_the_caller(case):
    model, heard = case.lost()
    assert model.evidence_.grade == "not supported"
    assert not model.evidence_.holds
    assert [model.evidence_.verdict in str(one.message) for one in of_verdicts(heard)] == [True]
    assert {one.filename for one in heard} == {contract.__file__}


@every
def test_what_was_not_measured_is_open_and_no_reason_to_warn(case):
    if not case.needs_splits:
        pytest.skip("its errors need no fits on parts")
    model, heard = fitted(case, case.data(), n_splits=0)
    assert not of_verdicts(heard)
    marks = [mark for mark, _ in model.evidence_.rests_on()]
    assert "bad" not in marks
    assert ("open" in marks) == (not model.evidence_.measured)


def test_a_number_that_advice_names_is_left_out_where_it_was_compared():
    rows = planted.gaussian_mixture(3000, n_components=3, n_features=6, random_state=0).X
    codes = planted.sparse_codes(2500, n_features=24, n_components=30, sparsity=2, noise=0.03, random_state=11).X
    for asked, data in ((SphericalGaussianMixture(6), rows), (IncoherentDictionary(40, refine=3), codes)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentiaWarning)
            evidence = asked.fit(data).evidence_
        suggested = {check.suggests for check in evidence.checks} - {0}
        assert suggested
        assert min(suggested) < asked.n_components
        assert all(str(check.suggests) in check.remedy for check in evidence.checks if check.suggests)
        evidence.forget_sizes([*suggested, asked.n_components])
        assert {check.suggests for check in evidence.checks} == {0}
        assert evidence.advice


def test_fits_that_are_supported_or_only_measure_are_silent():
    case = next(case for case in CASES if case.name == "SphericalGaussianMixture")
    model, heard = fitted(case, case.data())
    assert model.evidence_.holds
    assert not heard
    model, _ = fitted(case, case.hopeless())
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.evidence_.stability(**case.hopeless())
    assert not heard
    model, heard = fitted(case, case.hopeless(), n_components=range(2, 4))
    assert len(of_verdicts(heard)) == (model.evidence_.grade == "not supported")
