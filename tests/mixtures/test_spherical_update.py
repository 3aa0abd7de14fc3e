import numpy as np
import pytest
from scipy import sparse

from latentia.likelihood import estimate_values
from latentia.mixtures._spherical_update import SphericalMixtureUpdate, spherical_log_density
from latentia.passes import Blocks, accumulate


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_spherical_step_matches_naive_sums(tied, as_table, problem_of, naive_posterior, naive_gaussian):
    (x,), (means, variance, weights) = problem_of("spherical").tables, problem_of("spherical").update.values
    variance = variance * [1, 2, 3]
    log_density = naive_gaussian(x, means, np.repeat(variance[:, None], 4, axis=1))
    np.testing.assert_allclose(spherical_log_density(as_table(x), means, variance), log_density)
    r, expected = naive_posterior(log_density, weights)
    update = SphericalMixtureUpdate(means, weights, variance, tied=tied)
    state = accumulate(Blocks.from_array(as_table(x), block_rows=70), update)
    mass = r.sum(axis=0)
    mean = r.T @ x / mass[:, None]
    spread = (r * ((x[:, None] - mean) ** 2).sum(axis=2)).sum(axis=0)
    new = spread / (4 * mass) if not tied else np.full(3, spread.sum() / (4 * 300))
    for found, want in zip(estimate_values(update, state), (mean, new, mass / 300), strict=True):
        np.testing.assert_allclose(found, want)
    np.testing.assert_allclose(state.log_likelihood, expected.sum())
    for options in ({"min_variance": 99.0}, {"floor": 99 / (weights @ variance)}):
        floored = SphericalMixtureUpdate(means, weights, variance, tied=tied, **options)
        np.testing.assert_allclose(estimate_values(floored, state)[1], 99)


@pytest.mark.parametrize("kind", ["spherical", "tied"])
def test_data_far_from_the_origin(problem_of, kind):
    problem = problem_of(kind)
    (x,), near, shift = problem.tables, problem.update, 2.0**20
    means, *others = near.values
    far = near.move_to(means + shift, *others)
    for _ in range(3):
        a, b = accumulate(Blocks.from_array(x), near), accumulate(Blocks.from_array(x + shift), far)
        np.testing.assert_allclose(a.log_likelihood, b.log_likelihood, rtol=1e-7)
        near, far = near.move_to(*estimate_values(near, a)), far.move_to(*estimate_values(far, b))
    np.testing.assert_allclose(near.means, far.means - shift, atol=1e-7)
    np.testing.assert_allclose(near.values[1], far.values[1], rtol=1e-6)


def test_at_keeps_the_options(problem_of):
    means, _, weights = problem_of("spherical").update.values
    update = SphericalMixtureUpdate(means, weights, np.array([1.0, 2, 3]), floor=0.5, tied=True)
    there = update.move_to(means, np.full(3, 50.0), weights)
    assert (there.min_variance, there.tied) == (
        1.0,
        True,
    )  # the floor is that of the start: EM would not climb under one that moves
    assert (
        SphericalMixtureUpdate(means, weights, np.ones(3), floor=0.5, min_variance=2.0)
        .move_to(*update.values)
        .min_variance
        == 2
    )
