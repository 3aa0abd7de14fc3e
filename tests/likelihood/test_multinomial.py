import numpy as np
import pytest
from scipy import sparse

from latentia.likelihood import (
    MultinomialMixtureUpdate,
    estimate_values,
    multinomial_log_likelihood,
    multinomial_responsibilities,
    over,
    refine,
)
from latentia.likelihood.multinomial import LeaveOneOutUpdate, Responsibilities
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
        found, new_weights = estimate_values(update, state)
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


def leave_one_out(table, components, weights, pseudo=2.0):
    """An update that leaves documents out, what it holds, and word frequencies."""
    n, n_words = table.shape
    frequencies = np.arange(1.0, n_words + 1)
    frequencies /= frequencies.sum()
    held = Responsibilities.empty(n, n_words, len(weights))
    return LeaveOneOutUpdate(components, weights, np.array([pseudo]), frequencies, held), held, frequencies


def naive_pass(x, r, pseudo, frequencies, batch):
    """Responsibilities after a pass, the log-likelihood, and its slope in the pseudo-counts."""
    r, log_likelihood, slope = r.copy(), 0.0, 0.0
    for start in range(0, len(x), batch):
        new = r.copy()
        for d in range(start, min(len(x), start + batch)):
            if not x[d].any():
                continue
            counts, mass = (r.T @ x) - np.outer(r[d], x[d]), r.sum(axis=0) - r[d] + 1
            words = (counts + pseudo * frequencies) / (counts.sum(axis=1, keepdims=True) + pseudo)
            joint = np.log(words) @ x[d] + np.log(mass / mass.sum())
            log_likelihood += np.logaddexp.reduce(joint)
            new[d] = np.exp(joint - np.logaddexp.reduce(joint))
            from_pseudo = pseudo * frequencies / (counts + pseudo * frequencies)
            slope += new[d] @ (from_pseudo @ x[d] - x[d].sum() * pseudo / (counts.sum(axis=1) + pseudo))
        r = new
    return r, log_likelihood, slope


@pytest.mark.parametrize("block_rows", [37, 1000])
def test_leaving_documents_out_matches_naive_passes(problem_of, block_rows):
    (table,), (components, weights) = problem_of("multinomial").tables, problem_of("multinomial").update.values
    x = table.toarray()[:150].astype(float)
    x[3, 2], x[7, 5], x[9] = 11, 0.5, 0  # many occurrences, a fraction, an empty document
    update, held, frequencies = leave_one_out(x, components, weights)
    r = multinomial_responsibilities(x, components, weights)
    r[9] = 0
    for number in range(3):
        sums = accumulate(Blocks.from_array(sparse.csr_array(x), block_rows=block_rows), update)
        if number:
            r, log_likelihood, slope = naive_pass(x, r, float(update.pseudo[0]), frequencies, held.batch)
            np.testing.assert_allclose(sums.log_likelihood, log_likelihood, rtol=1e-5)
            np.testing.assert_allclose(sums.from_pseudo[1] - sums.of_pseudo[1], slope, atol=0.01 * sums.of_pseudo[1])
        np.testing.assert_allclose(held.values, r, atol=1e-4)
        np.testing.assert_allclose(held.counts, x.T @ held.values.astype(float), atol=1e-9)
        np.testing.assert_allclose(held.mass, held.values.sum(axis=0, dtype=float), atol=1e-9)
        before, after = float(update.pseudo[0]), estimate_values(update, sums)
        assert 0.5 <= float(after[2][0]) / before <= 2
        if number:
            assert np.sign(np.log(float(after[2][0]) / before)) == np.sign(slope)
        np.testing.assert_allclose(after[0].sum(axis=1), 1)
        np.testing.assert_allclose(after[1].sum(), 1)
        update = update.move_to(*after)


def test_leaving_documents_out_settles_at_the_same_bits_for_any_number_of_threads(problem_of):
    (table,), (components, weights) = problem_of("multinomial").tables, problem_of("multinomial").update.values
    found = []
    for n_jobs in (1, 2, 3):
        update, held, _ = leave_one_out(table, components, weights)
        found.append(refine(update, over(Blocks.from_array(table), n_jobs), "auto", until=held.converged))
        assert found[-1].converged
        assert len(found[-1].log_likelihood) < 200
    for other in found[1:]:
        assert all((a == b).all() for a, b in zip(found[0].values, other.values, strict=True))
        assert (found[0].log_likelihood == other.log_likelihood).all()


def test_pseudo_counts_are_those_of_the_components():
    rng = np.random.default_rng(0)
    frequencies = rng.dirichlet(np.full(100, 2.0))
    for pseudo in (20.0, 200.0):
        components = rng.dirichlet(pseudo * frequencies, 8)
        labels = rng.choice(8, 4000)
        x = rng.multinomial(25, components[labels])
        held = Responsibilities.empty(4000, 100, 8)
        update = LeaveOneOutUpdate(components, np.full(8, 0.125), np.array([1.0]), frequencies, held)
        found = refine(update, over(Blocks.from_array(x)), "auto", until=held.converged)
        assert 0.6 < float(found.values[2][0]) / pseudo < 1.6
