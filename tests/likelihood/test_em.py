"""The driver: plain steps are plain EM, and accelerated ones end where many plain ones do."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from latentia.likelihood import MultinomialMixtureUpdate, em, estimate_values, over, refine
from latentia.likelihood.products import ProductMixtureUpdate
from latentia.mixtures import SphericalGaussianMixture
from latentia.mixtures._spherical_update import SphericalMixtureUpdate
from latentia.passes import Blocks, accumulate
from latentia.sequences.updates import SymbolChainUpdate


def same(first, second):
    return all((a == b).all() for a, b in zip(first, second, strict=True))


def final(problem_or_blocks, update, refinement):
    """The log-likelihood at the values that a refinement ends with."""
    return refine(update.move_to(*refinement.values), over(problem_or_blocks), 1).log_likelihood[0]


def walk(transmat, n, rng):
    steps, states = np.cumsum(transmat, axis=1), np.zeros(n, int)
    for t, u in enumerate(rng.random(n - 1)):
        states[t + 1] = min(np.searchsorted(steps[states[t]], u), len(transmat) - 1)
    return states


# --- plain steps ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 7])
def test_a_number_is_a_number_of_plain_steps(problem, steps):
    update, log_likelihood = problem.update, []
    for _ in range(steps):
        sums = accumulate(problem.blocks(), update)
        log_likelihood.append(sums.log_likelihood)
        update = update.move_to(*estimate_values(update, sums))
    found = refine(problem.update, over(problem.blocks()), steps)
    assert same(found.values, update.values)
    assert found.log_likelihood.tolist() == log_likelihood
    assert not found.converged
    assert np.isnan(found.remaining)


def test_no_steps_make_no_pass(problem):
    found = refine(problem.update, lambda update, number: pytest.fail("a pass was made"), 0)
    assert same(found.values, problem.update.values)
    assert len(found.log_likelihood) == 0
    assert not found.converged


def test_steps_are_numbered(problem_of):
    problem, numbers = problem_of("spherical"), []

    def e_step(update, number):
        numbers.append(number)
        return problem.sums(update)

    refine(problem.update, e_step, 3)
    assert numbers == [1, 2, 3]
    steps = len(refine(problem.update, e_step, "auto").log_likelihood)
    assert numbers[3:] == list(range(1, steps + 1))


def test_em_never_lowers_the_likelihood(problem):
    history = refine(problem.update, over(problem.blocks(90)), 30).log_likelihood
    assert (np.diff(history) > -1e-9 * abs(history[0])).all()
    assert history[-1] > history[0] + 10


@pytest.mark.parametrize("kind", ["symbols", "emissions", "counts", "multinomial", "present", "drawn"])
def test_em_never_lowers_the_penalised_likelihood(problem_of, kind):
    problem, history = problem_of(kind, prior=0.7), []
    update = problem.update
    for _ in range(30):
        sums = problem.sums(update)
        history.append(sums.log_likelihood + sum(one.log_prior() for one in update.expected(sums)))
        update = update.move_to(*estimate_values(update, sums))
    assert (np.diff(history) > -1e-9 * abs(history[0])).all()


# --- accelerated steps ----------------------------------------------------------------------------------------------


def overlapping(seed):
    """Gaussians about 1.6 standard deviations from their centre, from a start where they are nearly one."""
    rng = np.random.default_rng([seed, 20])
    means = rng.standard_normal((3, 4))
    means *= 1.6 / np.linalg.norm(means, axis=1).mean()
    x = means[rng.choice(3, 2000, p=[0.5, 0.3, 0.2])] + rng.standard_normal((2000, 4))
    return Blocks.from_array(x), SphericalMixtureUpdate(0.2 * means, np.full(3, 1 / 3), np.full(3, 1.5), floor=1e-3)


def bernoulli(seed):
    """Three profiles of ten items that differ little."""
    rng = np.random.default_rng([seed, 21])
    chances = np.clip(0.5 + 0.15 * rng.standard_normal((3, 10)), 0.05, 0.95)
    x = (rng.random((3000, 10)) < chances[rng.choice(3, 3000)]).astype(float)
    start = 0.5 + 0.3 * (chances - 0.5)
    return Blocks.from_array(x), ProductMixtureUpdate("bernoulli", start, None, np.full(3, 1 / 3), 1e-3)


def mixing(seed):
    """A chain that stays for ten steps, of states whose symbols overlap."""
    rng = np.random.default_rng([seed, 22])
    transmat, emissions = 0.9 * np.eye(3) + 0.1 / 3, 0.5 * rng.dirichlet(np.ones(8), 3) + 0.5 / 8
    states = walk(transmat, 3000, rng)
    x = np.minimum((rng.random(3000)[:, None] > np.cumsum(emissions, axis=1)[states]).sum(axis=1), 7)
    start = np.full(3, 1 / 3), 0.5 * transmat + 0.5 / 3, 0.5 * emissions + 0.5 / 8
    return Blocks.from_array(x[:, None], lengths=[3000]), SymbolChainUpdate(*start, 1e-3)


# Seeds where plain EM is slow and both reach the same optimum: on a plateau "auto" may stop a nat or two short of it.
SLOW = [(overlapping, 1), (overlapping, 3), (bernoulli, 2), (bernoulli, 11), (mixing, 0), (mixing, 1), (mixing, 10)]


@pytest.mark.parametrize(("make", "seed"), SLOW, ids=lambda value: getattr(value, "__name__", value))
def test_auto_ends_where_two_thousand_plain_steps_do(make, seed):
    blocks, update = make(seed)
    plain, auto = refine(update, over(blocks), 2000), refine(update, over(blocks), "auto")
    end = final(blocks, update, plain)
    near = int(np.argmax(plain.log_likelihood > end - 1)) + 1
    assert near > 60
    assert final(blocks, update, auto) > end - 0.5
    assert len(auto.log_likelihood) <= near / 3
    assert auto.converged
    assert 0 <= auto.remaining < em._MAX_REMAINING_GAIN


@pytest.mark.parametrize(
    "kind",
    [
        "symbols",
        "emissions",
        "vectors",
        "counts",
        "spherical",
        "tied",
        "gaussian",
        "bernoulli",
        "multinomial",
        "present",
        "drawn",
    ],
)
def test_auto_settles_on_every_update(problem_of, kind):
    problem = problem_of(kind, n=1500)
    auto, plain = (refine(problem.update, over(problem.blocks()), steps) for steps in ("auto", 300))
    assert auto.converged
    assert len(auto.log_likelihood) < 80
    assert final(problem.blocks(), problem.update, auto) > final(problem.blocks(), problem.update, plain) - 0.5
    for value, start in zip(auto.values, problem.update.values, strict=True):
        assert value.shape == start.shape
        assert np.isfinite(value).all()


def test_tied_variances_stay_one(problem_of):
    problem = problem_of("tied")
    assert len(set(refine(problem.update, over(problem.blocks()), "auto").values[1])) == 1


def test_auto_stops_at_the_most_steps():
    blocks, update = mixing(1)
    found = refine(update, over(blocks), "auto", max_steps=9)
    assert len(found.log_likelihood) == 9
    assert not found.converged
    assert found.remaining > em._MAX_REMAINING_GAIN


def test_the_same_bits_for_any_number_of_threads(problem):
    found = [refine(problem.update, over(problem.blocks(70), n_jobs), "auto") for n_jobs in (1, 2)]
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(refine(problem.update, over(problem.blocks(70)), "auto"))
    for other in found[1:]:
        assert same(other.values, found[0].values)
        assert (other.log_likelihood == found[0].log_likelihood).all()
        assert other.remaining == found[0].remaining


def test_passes_have_the_same_bits_for_any_number_of_threads(problem):
    results = []
    for rows in (7, 64, 1000):
        one, two = (problem.sums(block_rows=rows, n_jobs=n_jobs) for n_jobs in (1, 2))
        assert one.log_likelihood == two.log_likelihood
        results.append(estimate_values(problem.update, one))
        assert same(results[-1], estimate_values(problem.update, two))
    for found in results[:2]:
        for a, b in zip(found, results[2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_many_coordinates_have_the_same_bits_for_any_number_of_blas_threads():
    """Inner products of more than 10,000 numbers, which BLAS cuts by the number of its threads."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(6000, 0.1), 3)
    x = sparse.csr_array(np.array([rng.multinomial(20, topics[k]) for k in rng.choice(3, 300)]))
    update = MultinomialMixtureUpdate(0.5 * topics + 0.5 / 6000, np.full(3, 1 / 3), 0.01)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(refine(update, over(Blocks.from_array(x)), "auto"))
    assert same(found[0].values, found[1].values)


# --- edges ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [3, "auto"])
@pytest.mark.parametrize("kind", ["multinomial", "bernoulli", "gaussian", "spherical", "tied", "drawn", "present"])
def test_a_component_without_rows_keeps_its_values(problem_of, kind, steps):
    problem = problem_of(kind, prior=0 if kind != "multinomial" else 0.5)
    *values, _ = problem.update.values
    update = problem.update.move_to(*values, np.array([0.5, 0.5, 0]))
    found = refine(update, over(problem.blocks()), steps)
    assert all(np.isfinite(value).all() for value in found.values)
    assert found.values[-1][2] < 1e-200  # labelled documents take weights of zero for the least number
    np.testing.assert_allclose(found.values[0][2], update.values[0][2], rtol=1e-12)
    if kind in ("gaussian", "spherical"):
        np.testing.assert_allclose(found.values[1][2], update.values[1][2], rtol=1e-12)


@pytest.mark.parametrize("kind", ["symbols", "vectors", "counts"])
def test_a_state_without_steps_keeps_its_values(problem_of, kind):
    problem = problem_of(kind, prior=0.5)
    _, transmat, *others = problem.update.values
    transmat = transmat.copy()
    transmat[:2, 2], transmat[2] = 0, [0.3, 0.3, 0.4]
    transmat /= transmat.sum(axis=1, keepdims=True)
    update = problem.update.move_to(np.array([0.5, 0.5, 0]), transmat, *others)
    without = type(update)(*update.values)
    found = refine(without, over(problem.blocks()), "auto")
    assert all(np.isfinite(value).all() for value in found.values)
    for value, start in zip(found.values[1:], without.values[1:], strict=True):
        np.testing.assert_allclose(value[2], start[2], rtol=1e-12)
    # With pseudo-counts the state is reached, and its values move with those of the others.
    assert refine(update, over(problem.blocks()), "auto").values[0][2] > 0.01


@pytest.mark.parametrize("kind", ["spherical", "gaussian", "bernoulli", "multinomial"])
def test_one_component(problem_of, kind):
    problem = problem_of(kind)
    *values, _ = problem.update.values
    update = problem.update.move_to(*(value[:1] for value in values), np.ones(1))
    found, plain = (refine(update, over(problem.blocks()), steps) for steps in ("auto", 2))
    assert found.converged
    assert len(found.log_likelihood) <= 4
    for a, b in zip(found.values, plain.values, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_one_state(problem_of):
    problem = problem_of("symbols")
    update = SymbolChainUpdate(np.ones(1), np.ones((1, 1)), problem.update.emissionprob[:1])
    found = refine(update, over(problem.blocks()), "auto")
    np.testing.assert_allclose(found.values[2][0], np.bincount(problem.tables[0][:, 0], minlength=6) / 300, rtol=1e-9)


def test_a_start_at_the_optimum_stops_soon(problem):
    near = problem.update.move_to(*refine(problem.update, over(problem.blocks()), "auto").values)
    best = near.move_to(*refine(near, over(problem.blocks()), 800).values)
    found = refine(best, over(problem.blocks()), "auto")
    assert found.converged
    assert len(found.log_likelihood) <= 4
    assert found.remaining < 1e-3


@pytest.mark.parametrize(("unit", "offset"), [(1e8, 0), (1e-8, 0), (1e3, 0), (1, 1e8), (1e-8, 1)])
@pytest.mark.parametrize("kind", ["spherical", "gaussian", "vectors"])
def test_units_and_origin_change_nothing(problem_of, kind, unit, offset):
    problem = problem_of(kind)
    (x,), update = problem.tables, problem.update

    def there(values):
        """Values in other units: the means come first for mixtures, and last but one for chains."""
        place = 2 if kind == "vectors" else 0
        values = list(values)
        values[place], values[place + 1] = values[place] * unit + offset, values[place + 1] * unit**2
        return values

    moved = Blocks.from_array(x * unit + offset, lengths=problem.lengths)
    far = update.move_to(*there(update.values))
    found, expected = refine(far, over(moved), "auto"), refine(update, over(problem.blocks()), "auto")
    assert found.converged
    assert abs(len(found.log_likelihood) - len(expected.log_likelihood)) <= 5
    shift = x.size * np.log(unit)
    assert final(moved, far, found) + shift == pytest.approx(final(problem.blocks(), update, expected), abs=0.05)


def test_a_start_that_makes_the_data_impossible_is_left(problem_of):
    problem = problem_of("symbols", n=1500)
    startprob, transmat, emissionprob = problem.update.values
    emissionprob = emissionprob.copy()
    emissionprob[:, 3] = 0
    update = SymbolChainUpdate(startprob, transmat, emissionprob / emissionprob.sum(axis=1, keepdims=True))
    plain, auto = (refine(update, over(problem.blocks()), steps) for steps in (300, "auto"))
    assert auto.log_likelihood[0] == -np.inf
    assert auto.converged
    assert final(problem.blocks(), update, auto) > final(problem.blocks(), update, plain) - 0.5


def test_data_that_stays_impossible_never_settles():
    """A row of which one column is certainly otherwise, under chances that are kept."""
    x = np.array([[0, 1.0, 0], [0, 1, 1], [1, 1, 0]])

    class Kept(ProductMixtureUpdate):
        def move_to(self, *values):
            return Kept("bernoulli", self.means, None, values[-1])

    found = refine(Kept("bernoulli", np.zeros((2, 3)), None, np.full(2, 0.5)), over(Blocks.from_array(x)), "auto")
    assert not found.converged
    assert found.remaining == np.inf
    assert len(found.log_likelihood) <= 6


def test_zeros_are_kept_and_priors_lift_them(problem_of):
    problem = problem_of("symbols")
    startprob, transmat, emissionprob = problem.update.values
    transmat = transmat.copy()
    transmat[0, 1] = 0
    transmat /= transmat.sum(axis=1, keepdims=True)
    for prior, zero in ((0.0, True), (0.1, False)):
        update = SymbolChainUpdate(startprob, transmat, emissionprob, prior)
        found = refine(update, over(problem.blocks()), "auto")
        assert found.converged
        assert (found.values[1][0, 1] == 0) == zero
        assert found.values[1][0, 1] >= 0 if zero else found.values[1][0, 1] > 1e-4


def test_objectives_that_are_no_numbers_are_stepped_back_from(problem_of):
    """As where a step leads to values at which the likelihood cannot be computed."""
    problem, calls = problem_of("spherical"), []

    def e_step(update, number):
        sums = problem.sums(update)
        calls.append(number)
        if number in (4, 5):
            sums.log_likelihood = {4: float("nan"), 5: float("-inf")}[number]
        return sums

    found = refine(problem.update, e_step, "auto")
    plain = refine(problem.update, over(problem.blocks()), 300)
    assert found.converged
    assert final(problem.blocks(), problem.update, found) > final(problem.blocks(), problem.update, plain) - 0.5


def test_only_slopes_of_rounding_are_zero():
    slopes = np.array([1e-11, 1e-3, np.nan])
    distribution = SimpleNamespace(slope=lambda: slopes, curvature=lambda: np.ones(3))
    np.testing.assert_array_equal(em._Point(None, [distribution], 0.0).slope, [0.0, 1e-3, np.nan])


def test_variances_on_their_floor(problem_of):
    """Rows that are all the same for one component: its variance stays at the floor, and the others climb."""
    problem = problem_of("spherical")
    x = np.vstack([problem.tables[0], np.tile(problem.tables[0][0] + 9, (50, 1))])
    means, _, weights = problem.update.values
    start = np.vstack([means, x[-1] + 0.1]), np.append(weights * 0.75, 0.25), np.ones(4)
    update = SphericalMixtureUpdate(*start, floor=1e-3)
    plain, auto = (refine(update, over(Blocks.from_array(x)), steps) for steps in (500, "auto"))
    assert (np.diff(plain.log_likelihood) > -1e-6).all()
    assert auto.converged
    assert len(auto.log_likelihood) < 40
    assert auto.values[1][3] == 1e-3
    np.testing.assert_allclose(auto.values[0][3], x[-1], atol=1e-6)
    assert final(Blocks.from_array(x), update, auto) > final(Blocks.from_array(x), update, plain) - 0.5


def test_a_component_is_not_dropped_by_the_first_step():
    """EM's first step from moments of noise takes a tight component to a weight of 1e-11, from which it alone comes back."""
    x = np.random.default_rng(4).standard_normal((400, 8))
    start = SphericalGaussianMixture(4, refine=0, n_splits=0).fit(x)
    update = SphericalMixtureUpdate(start.means_, start.weights_, start.variance_, floor=1e-3)
    plain, auto = (refine(update, over(Blocks.from_array(x)), steps) for steps in (500, "auto"))
    assert final(Blocks.from_array(x), update, auto) > final(Blocks.from_array(x), update, plain) - 0.5
