"""The slope of every update is the gradient of its penalised log-likelihood, and coordinates say what the values are."""

import numpy as np
import pytest

from latentia.likelihood import (
    Chances,
    Distributions,
    Gaussians,
    MultinomialMixtureUpdate,
    ProductMixtureUpdate,
    SphericalMixtureUpdate,
    SymbolChainUpdate,
)

STEP = 1e-5


def slope_and_differences(problem, update=None):
    """The slope at an update's values, and central differences of the penalised log-likelihood, for each of its parts."""
    update = update or problem.update
    parts = update.expected(problem.sums(update))

    def objective(i, coordinates):
        values = [value for j, one in enumerate(parts) for value in (one.at(coordinates) if i == j else one.values)]
        at = update.at(*values)
        sums = problem.sums(at)
        return sums.log_likelihood + sum(one.log_prior() for one in at.expected(sums))

    found = []
    for i, one in enumerate(parts):
        here = one.coordinates()
        moves = STEP * np.eye(len(here))
        found.append((one.slope(), [(objective(i, here + m) - objective(i, here - m)) / (2 * STEP) for m in moves]))
    return found


def check_slopes(problem, update=None):
    for slope, differences in slope_and_differences(problem, update):
        np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-4)


def test_slopes_are_gradients(problem):
    check_slopes(problem)


@pytest.mark.parametrize("kind", ["symbols", "emissions", "vectors", "multinomial", "present", "drawn"])
def test_slopes_are_gradients_with_priors(problem_of, kind):
    check_slopes(problem_of(kind, prior=0.7))


def test_slopes_with_a_prior_for_every_symbol(problem_of):
    problem = problem_of("emissions")
    problem.update.prior = np.linspace(0.1, 2, 6)
    check_slopes(problem)
