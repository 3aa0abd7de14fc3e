"""The ground of the estimators: tables of parameters, fits that change nothing when they fail, places of warnings."""

import threading
import warnings
from typing import ClassVar

import numpy as np
import pytest

from latentia import LatentiaError, LatentiaWarning
from latentia._parameters import Choice, Flag, Integer, Names, Number, OrNone, seed_of
from latentia.exceptions import EvidenceWarning, warn
from latentia.fitting.base import Estimator, fitted, fitting


class Mean(Estimator):
    _constraints: ClassVar = {"power": Number(0, closed="low"), "how": Choice("plain", "robust")}

    def __init__(self, n_components=1, *, power=1.0, how="plain", random_state=0):
        self.n_components, self.power, self.how, self.random_state = n_components, power, how, random_state

    def _check_parameters(self):
        if self.how == "robust" and self.power > 2:
            raise LatentiaError("robust means have a power of at most 2.", parameter="power", value=self.power)

    @fitting
    def fit(self, X, y=None):
        """Learn."""
        self.scale_ = len(X)
        self._secret = self._seed
        if not len(X):
            raise LatentiaError("no rows")
        self.mean_ = np.mean(X)
        return self

    @fitted
    def predict(self, X):
        """Use."""
        return self.mean_


@pytest.mark.parametrize(
    ("constraint", "good", "bad", "needed"),
    [
        (Integer(1), [1, np.int64(7)], [0, True, 1.0, "1", None], "expected a whole number of at least 1"),
        (Integer(0, 3), [0, 3], [4, -1], "expected a whole number from 0 to 3"),
        (Number(0), [0.1, 5, np.float32(2)], [0, -1, np.nan, np.inf, True, "a", [1]], "expected a number above 0"),
        (Number(0, 1, "low"), [0, 0.5], [1, -0.1], "expected a number of at least 0 and below 1"),
        (Number(0, 1, "both"), [0, 1], [1.1], "expected a number of at least 0 and at most 1"),
        (Choice("a", "b"), ["a"], ["c", 1, None, ["a"]], "use one of 'a', 'b'"),
        (Flag(), [True, np.False_], [1, "yes", None], "expected True or False"),
        (OrNone(Integer(1)), [None, 2], [0, "x"], "expected a whole number of at least 1, or None"),
        (Names(), [["a"], np.array(["a"])], ["a", 5, None], "a sequence of names"),
    ],
)
def test_constraints(constraint, good, bad, needed):
    assert all(constraint.allows(value) for value in good)
    assert not any(constraint.allows(value) for value in bad)
    assert needed in constraint.expectation


def test_seeds():
    assert seed_of(7) == seed_of(np.int32(7)) == 7
    assert seed_of(np.random.default_rng(3)) == seed_of(np.random.default_rng(3))
    assert 0 <= seed_of(None) < 2**31
    for wrong in (-1, 2**32, 1.5, "a", True):
        with pytest.raises(LatentiaError, match="random_state="):
            seed_of(wrong)


def test_parameters_are_checked_one_by_one_and_together():
    with pytest.raises(LatentiaError, match=r"^power='a': expected a number of at least 0\.$") as error:
        Mean(power="a").fit([1.0])
    assert (error.value.parameter, error.value.value) == ("power", "a")
    with pytest.raises(LatentiaError, match="power=3: robust means"):
        Mean(power=3, how="robust").fit([1.0])


def test_a_failed_fit_changes_nothing_and_a_good_one_leaves_nothing_behind():
    model = Mean().fit([1.0, 3.0])
    model._sklearn_output_config = {"transform": "pandas"}
    state = dict(vars(model))
    with pytest.raises(LatentiaError, match="no rows"):
        model.fit([])
    assert vars(model) == state
    model.leftover_ = model._leftover = 5
    assert model.fit([2.0]) is model
    assert not hasattr(model, "leftover_")
    assert not hasattr(model, "_leftover")
    assert model._sklearn_output_config == {"transform": "pandas"}
    assert model.predict(None) == 2.0


def test_an_unfitted_model_says_so():
    with pytest.raises(ValueError, match="not fitted"):
        Mean().predict(None)


def deep(message):
    warn(message, EvidenceWarning)


def test_a_warning_is_of_the_line_that_called_the_library():
    # `warn` steps over the frames of the package: this file is outside of it.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        deep("look")
    assert caught[0].filename == __file__
    assert caught[0].category is EvidenceWarning
    assert issubclass(EvidenceWarning, LatentiaWarning)


def test_fits_in_two_threads():
    found = [None, None]

    def fit(i):
        found[i] = Mean().fit(np.full(10, float(i))).mean_

    running = [threading.Thread(target=fit, args=(i,)) for i in (0, 1)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert found == [0.0, 1.0]
