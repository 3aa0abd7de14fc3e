import numpy as np
from scipy import sparse

from latentia.likelihood import (
    MultinomialMixtureUpdate,
    multinomial_log_likelihood,
    multinomial_responsibilities,
    updated,
)
from latentia.passes import Blocks, accumulate


def test_multinomial_step_matches_naive_sums(problem_of, naive_posterior):
    (table,), (components, weights) = problem_of("multinomial").tables, problem_of("multinomial").update.values
    x = table.toarray()
    r, expected = naive_posterior(x @ np.log(components).T, weights)
    np.testing.assert_allclose(multinomial_responsibilities(table, components, weights, n_jobs=2), r)
    np.testing.assert_allclose(multinomial_log_likelihood(x, components, weights), expected)
    for prior in (0.0, np.linspace(0, 1, 12)):
        update = MultinomialMixtureUpdate(components, weights, prior)
        state = accumulate(Blocks.from_array(table, block_rows=70), update)
        found, new_weights = updated(update, state)
        counts = r.T @ x + prior
        np.testing.assert_allclose(found, counts / counts.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(new_weights, r.mean(axis=0))
        np.testing.assert_allclose(state.log_likelihood, expected.sum())
    assert state.n_rows == 300


def test_multinomial_with_many_components_and_impossible_words():
    rng = np.random.default_rng(0)
    components = rng.dirichlet(np.full(9, 0.3), 20)
    components[:10, 0] = 0  # a word of the others only
    components[:, 8] = 0  # a word of none
    components /= components.sum(axis=1, keepdims=True)
    weights = rng.dirichlet(np.ones(20))
    x = rng.integers(0, 3, (40, 9))
    x[:, 8] = 0
    x[0], x[1], x[2] = 0, 0, 0
    x[1, 8], x[2, 0] = 1, 1
    r, log_likelihood = (f(x, components, weights) for f in (multinomial_responsibilities, multinomial_log_likelihood))
    np.testing.assert_allclose(r[0], weights)
    np.testing.assert_allclose(r[1], weights)
    np.testing.assert_allclose(log_likelihood[0], 0, atol=1e-12)
    assert log_likelihood[1] == -np.inf
    assert (r[2, :10] == 0).all()
    update = MultinomialMixtureUpdate(components, weights)
    state = accumulate(Blocks.from_array(x, block_rows=7), update)
    counts = r.T @ x
    np.testing.assert_allclose(np.concatenate(state.first, axis=1).T, counts, atol=1e-12)
    stored = sparse.csr_array(x)
    stored.data[stored.indices == 0] = 0  # stored zeros are no words
    np.testing.assert_allclose(
        multinomial_responsibilities(stored, components, weights),
        multinomial_responsibilities(stored.toarray(), components, weights),
    )
