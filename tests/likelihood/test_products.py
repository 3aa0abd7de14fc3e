import numpy as np
import pytest
from scipy import sparse

from latentia.exceptions import LatentiaError
from latentia.likelihood import estimate_values, gaussian_log_density
from latentia.likelihood.products import ProductMixtureUpdate, product_log_density
from latentia.passes import Blocks, accumulate


def test_gaussian_step_matches_naive_sums(problem_of, naive_posterior, naive_gaussian):
    (x,), (means, variances, weights) = problem_of("gaussian").tables, problem_of("gaussian").update.values
    variances = variances * np.linspace(0.5, 2, 4)
    log_density = naive_gaussian(x, means, variances)
    np.testing.assert_allclose(gaussian_log_density(x, means, variances), log_density)
    np.testing.assert_allclose(product_log_density("gaussian", sparse.csr_array(x), means, variances), log_density)
    r, expected = naive_posterior(log_density, weights)
    update = ProductMixtureUpdate("gaussian", means, variances, weights)
    state = accumulate(Blocks.from_array(x, block_rows=70), update)
    mass = r.sum(axis=0)[:, None]
    mean = r.T @ x / mass
    for found, want in zip(
        estimate_values(update, state), (mean, r.T @ x**2 / mass - mean**2, r.mean(axis=0)), strict=True
    ):
        np.testing.assert_allclose(found, want)
    np.testing.assert_allclose(state.log_likelihood, expected.sum())
    floored = ProductMixtureUpdate("gaussian", means, variances, weights, np.array([0, 0, 0, 50.0]))
    assert (estimate_values(floored, state)[1][:, 3] == 50).all()


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_bernoulli_step_matches_naive_sums(as_table, problem_of, naive_posterior):
    (x,), (p, weights) = problem_of("bernoulli").tables, problem_of("bernoulli").update.values
    density = np.ones((300, 3))
    for j in range(8):
        density *= np.where(x[:, [j]] == 1, p[:, j], 1 - p[:, j])
    np.testing.assert_allclose(product_log_density("bernoulli", as_table(x), p), np.log(density))
    r, expected = naive_posterior(np.log(density), weights)
    update = ProductMixtureUpdate("bernoulli", p, None, weights)
    state = accumulate(Blocks.from_array(as_table(x), block_rows=70), update)
    means, new_weights = estimate_values(update, state)
    np.testing.assert_allclose(means, r.T @ x / r.sum(axis=0)[:, None])
    np.testing.assert_allclose(new_weights, r.mean(axis=0))
    np.testing.assert_allclose(state.log_likelihood, expected.sum())
    kept = estimate_values(ProductMixtureUpdate("bernoulli", p, None, weights, 0.4), state)[0]
    assert kept.min() >= 0.4
    assert kept.max() <= 0.6


def test_bernoulli_columns_may_be_certain():
    p = np.array([[0.0, 0.5], [1.0, 0.25]])
    x = np.array([[0, 1], [1, 0.0]])
    expected = [[np.log(0.5), -np.inf], [-np.inf, np.log(0.75)]]
    for table in (x, sparse.csr_array(x)):
        np.testing.assert_allclose(product_log_density("bernoulli", table, p), expected)
    x[:, 1] = np.nan
    np.testing.assert_array_equal(np.exp(product_log_density("bernoulli", x, p)), np.eye(2))


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian"])
def test_missing_entries_count_for_nothing(kind, problem_of):
    (x,), (*values, _) = problem_of(kind).tables, problem_of(kind).update.values
    gaps = x.copy()
    gaps[:, 0] = np.nan
    others = product_log_density(kind, x[:, 1:], *(value[:, 1:] for value in values))
    np.testing.assert_allclose(product_log_density(kind, gaps, *values), others)


def test_unknown_kinds_and_missing_variances_are_named():
    with pytest.raises(LatentiaError, match="kind='poisson'"):
        product_log_density("poisson", np.zeros((1, 1)), np.zeros((1, 1)))
    with pytest.raises(LatentiaError, match="variances"):
        ProductMixtureUpdate("gaussian", np.zeros((1, 1)), None, np.ones(1))


def test_data_far_from_the_origin(problem_of):
    problem = problem_of("gaussian")
    (x,), near, shift = problem.tables, problem.update, 2.0**20
    means, *others = near.values
    far = near.move_to(means + shift, *others)
    for _ in range(3):
        a, b = accumulate(Blocks.from_array(x), near), accumulate(Blocks.from_array(x + shift), far)
        np.testing.assert_allclose(a.log_likelihood, b.log_likelihood, rtol=1e-7)
        near, far = near.move_to(*estimate_values(near, a)), far.move_to(*estimate_values(far, b))
    np.testing.assert_allclose(near.means, far.means - shift, atol=1e-7)
    np.testing.assert_allclose(near.values[1], far.values[1], rtol=1e-6)
