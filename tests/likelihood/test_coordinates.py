"""The slope of every update is the gradient of its penalised log-likelihood, and coordinates say what the values are."""

import numpy as np
import pytest

from latentia.likelihood import Chances, Distributions, Gaussians, MultinomialMixtureUpdate
from latentia.likelihood.products import ProductMixtureUpdate
from latentia.mixtures._spherical_update import SphericalMixtureUpdate
from latentia.sequences.updates import SymbolChainUpdate

STEP = 1e-5


def slope_and_differences(problem, update=None):
    """The slope at an update's values, and central differences of the penalised log-likelihood, for each of its parts."""
    update = update or problem.update
    parts = update.expected(problem.sums(update))

    def objective(i, coordinates):
        values = [
            value for j, one in enumerate(parts) for value in (one.move_to(coordinates) if i == j else one.values)
        ]
        at = update.move_to(*values)
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


@pytest.mark.parametrize("kind", ["symbols", "emissions", "vectors", "counts", "multinomial", "present", "drawn"])
def test_slopes_are_gradients_with_priors(problem_of, kind):
    check_slopes(problem_of(kind, prior=0.7))


def test_slopes_with_a_prior_for_every_symbol(problem_of):
    problem = problem_of("emissions")
    problem.update.prior = np.linspace(0.1, 2, 6)
    check_slopes(problem)


def test_slopes_where_probabilities_are_zero(problem_of):
    problem = problem_of("symbols")
    startprob, transmat, emissionprob = problem.update.values
    transmat, emissionprob = transmat.copy(), emissionprob.copy()
    transmat[0, 1], emissionprob[2, 3] = 0, 0
    transmat, emissionprob = (p / p.sum(axis=1, keepdims=True) for p in (transmat, emissionprob))
    check_slopes(problem, SymbolChainUpdate(startprob, transmat, emissionprob))


@pytest.mark.parametrize("tied", [False, True])
def test_slopes_at_other_variances(problem_of, tied):
    problem = problem_of("tied" if tied else "spherical")
    variance = np.full(3, 2.5) if tied else np.array([0.5, 1.5, 4])
    check_slopes(problem, SphericalMixtureUpdate(*problem.update.values[::2], variance, tied=tied))


def test_a_variance_at_its_floor_is_pushed_up_only(problem_of):
    problem = problem_of("gaussian")
    means, _, weights = problem.update.values
    variances = np.full((3, 4), 1.0)
    for value, stuck in ((9.0, True), (0.01, False)):  # the floor; the likelihood wants less, or more
        variances[1, 2] = value
        update = ProductMixtureUpdate("gaussian", means, variances, weights, np.array([0, 0, value, 0]))
        gaussians, _ = update.expected(problem.sums(update))
        slope = gaussians.slope()[means.size :].reshape(3, 4)
        assert bool(slope[1, 2] == 0) is stuck
        lower = gaussians.move_to(gaussians.coordinates() - 0.5)[1]
        assert lower[1, 2] == value
        assert lower[0, 0] < variances[0, 0]
        there = update.move_to(means, gaussians.move_to(gaussians.coordinates())[1] * (1 + 1e-15), weights)
        assert (
            bool(there.expected(problem.sums(there))[0].slope()[means.size + 6] == 0) is stuck
        )  # whatever the rounding
    check_slopes(problem, ProductMixtureUpdate("gaussian", means, variances, weights, 1e-3))


def test_a_variance_below_its_floor_stays_until_it_is_moved():
    """Values that jumped to the floor would not be continuous in the coordinates."""
    one = Gaussians(np.zeros((2, 1)), np.array([0.01, 1.0]), np.ones(2), np.zeros((2, 1)), np.array([0.0, 2.0]), 0.1)
    np.testing.assert_allclose(one.move_to(one.coordinates())[1], [0.01, 1.0])
    assert one.slope()[2] == 0
    np.testing.assert_allclose(one.estimate()[1], [0.1, 2.0])


def test_chances_at_their_limits_are_pushed_inwards_only():
    value = np.array([[0.1, 0.1, 0.9, 0.9, 0.5]])
    one = Chances(value, np.array([[5, 30, 95, 70, 60.0]]), np.array([[100.0]]), low=0.1, high=0.9)
    np.testing.assert_allclose(one.slope(), [0, 20, 0, -20, 10], atol=1e-12)
    np.testing.assert_allclose(one.move_to(one.coordinates() + [-1, 0, 1, 0, 0])[0], value)
    rounded = Chances(value + [[1e-17, 0, -1e-17, 0, 0]], one.successes, one.trials, low=0.1, high=0.9)
    assert (rounded.slope()[[0, 2]] == 0).all()
    by_column = Chances(value, one.successes, one.trials, low=np.full(5, 0.1), high=np.full(5, 0.9))
    assert (by_column.slope() == one.slope()).all()


def test_coordinates_round_trip(problem):
    rng = np.random.default_rng(0)
    for one in problem.update.expected(problem.sums()):
        for found, value in zip(one.move_to(one.coordinates()), one.values, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-12)
        there = one.coordinates() + 0.1 * rng.standard_normal(len(one.coordinates()))
        back = one.coordinates(*one.move_to(there))
        if isinstance(one, Distributions):  # coordinates have a free constant for every row
            back, there = (
                (p - p.mean(axis=-1, keepdims=True)) for p in (x.reshape(one.value.shape) for x in (back, there))
            )
        np.testing.assert_allclose(back, there, atol=1e-10)


def test_tied_variances_have_one_coordinate(problem_of):
    problem = problem_of("tied")
    gaussians, _ = problem.update.expected(problem.sums())
    assert len(gaussians.coordinates()) == len(gaussians.slope()) == len(gaussians.curvature()) == 13
    direction = gaussians.slope() / gaussians.curvature()
    assert len(set(gaussians.move_to(gaussians.coordinates() + direction)[1])) == 1


def test_zeros_stay_where_nothing_is_expected_of_them():
    value = np.array([[0.0, 0.4, 0.6], [0.0, 0.4, 0.6]])
    one = Distributions(value, np.array([[0.0, 5, 5], [0, 5, 5]]), np.array([[0.0, 0, 0], [1, 1, 1]]))
    moved = one.move_to(one.coordinates() + 1)[0]
    assert moved[0, 0] == 0
    assert 0 < moved[1, 0] < 1e-13  # a prior lifts it, from as good as nothing
    np.testing.assert_allclose(one.slope()[[0, 3]], [0, 1])
    to_the_estimate = one.move_to(one.coordinates(*one.estimate()))[0]
    np.testing.assert_allclose(to_the_estimate, one.estimate()[0], atol=1e-13)
    events = Chances(np.array([[0.0, 1, 0, 1]]), np.array([[0, 10, 1, 9.0]]), np.array([[10.0]]))
    moved = events.move_to(events.coordinates() + [3, -3, 3, -3])[0]
    assert moved[0, :2].tolist() == [0, 1]
    assert ((moved[0, 2:] > 0) & (moved[0, 2:] < 1)).all()


def test_what_the_data_does_not_see_has_no_slope():
    rows = Distributions(np.array([[0.2, 0.8], [0.3, 0.7]]), np.array([[0.0, 0], [1, 1]]), 0.5)
    assert (rows.estimate()[0][0] == rows.value[0]).all()
    assert rows.slope()[:2].tolist() == [0, 0]
    gaussians = Gaussians(np.ones((1, 2)), np.ones((1, 2)), np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2)))
    assert (gaussians.slope() == 0).all()
    assert (gaussians.curvature() > 0).all()


def test_moves_of_means_count_in_standard_deviations(problem_of):
    problem = problem_of("gaussian")
    means, variances, weights = problem.update.values
    gaussians, chances = problem.update.expected(problem.sums())
    step = np.zeros(gaussians.coordinates().size)
    step[1], step[-1] = 4.0, -2.0
    assert gaussians.reach(step) == 4
    large = ProductMixtureUpdate("gaussian", 1e6 * means, 1e12 * variances, weights).expected(problem.sums())[0]
    step[1] *= 1e6
    assert large.reach(step) == pytest.approx(4)
    assert chances.reach(np.array([0, 1, -3.0])) == 3
    leaving = Distributions(np.array([0.0, 0.5, 0.5]), np.ones(3))
    assert leaving.reach(np.array([20, 1, -2.0])) == 2  # to leave zero is no move
    dead = Gaussians(np.zeros((2, 1)), np.ones((2, 1)), np.array([1e-4, 50]), np.zeros((2, 1)), np.zeros((2, 1)))
    assert dead.reach(np.array([100, 2.0, 0, 0])) == 2  # of less than a row: by the root of its mass
    assert dead.reach(np.array([300, 2.0, 0, 0])) == pytest.approx(3)


def test_em_steps_are_steps_of_the_coordinates(problem):
    parts = problem.update.expected(problem.sums())
    for one in parts:
        for found, value in zip(one.move_to(one.coordinates(*one.estimate())), one.estimate(), strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-9)
        assert one.slope() @ (one.coordinates(*one.estimate()) - one.coordinates()) >= 0


def test_a_word_of_probability_zero_rules_a_component_out(problem_of):
    problem = problem_of("multinomial")
    components, weights = problem.update.values
    components = components.copy()
    components[0, 3] = 0
    update = MultinomialMixtureUpdate(components / components.sum(axis=1, keepdims=True), weights)
    check_slopes(problem, update)
    words, _ = update.expected(problem.sums(update))
    assert words.move_to(words.coordinates() + 1)[0][0, 3] == 0
