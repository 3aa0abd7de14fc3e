import numpy as np
import pytest
from scipy import sparse

from latentia.likelihood import AdmixtureUpdate, fold_in
from latentia.likelihood.admixture import token_probabilities
from latentia.likelihood.sampling import WordSampler
from latentia.passes import Blocks, accumulate


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.2), 4)
    proportions = rng.dirichlet(np.full(4, 0.3), 60)
    return topics, proportions, rng.multinomial(500, proportions @ topics)


def em_naive(x, a, w, alpha, n_inner):
    """The same update, written with dense arrays: the last iteration's responsibilities give the expected counts."""
    for _ in range(n_inner):
        ratio = x / (w @ a)
        expected = a * (w.T @ ratio)
        w = w * (ratio @ a.T) + alpha
        w = w / w.sum(axis=1, keepdims=True)
    return expected, w


def test_one_pass_matches_the_dense_update(model):
    topics, _, x = model
    start = np.full((60, 4), 0.25)
    expected, after = em_naive(x, topics, start, 0.05, 6)
    proportions = start.astype(np.float32)
    update = AdmixtureUpdate(topics, np.full(4, 0.05), proportions, 6)
    state = accumulate(Blocks.from_array(sparse.csr_array(x), block_rows=13), update)
    new = update.updated_topics(state, np.zeros(30))
    np.testing.assert_allclose(new, expected / expected.sum(axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(proportions, after, atol=1e-4)


def test_em_passes_have_the_same_bits_for_any_number_of_threads(model):
    topics, _, x = model
    results = []
    for n_jobs in (1, 2, 3):
        proportions = np.full((60, 4), 0.25, np.float32)
        update = AdmixtureUpdate(topics, np.full(4, 0.05), proportions, 3)
        state = accumulate(Blocks.from_array(x, block_rows=9), update, n_jobs)
        results.append(update.updated_topics(state, np.full(30, 0.1)))
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


def test_fold_in_finds_the_proportions_and_the_prior_of_an_empty_document(model):
    topics, proportions, x = model
    found = fold_in(x, topics, np.full(4, 0.01))
    assert np.abs(found - proportions).sum(axis=1).mean() < 0.15
    np.testing.assert_allclose(found.sum(axis=1), 1)
    alpha = np.array([1.0, 2, 3, 4])
    np.testing.assert_allclose(fold_in(np.zeros((1, 30)), topics, alpha), [alpha / 10])
    impossible = np.zeros((1, 30))
    topics[:, 0], impossible[0, 0] = 0, 5
    assert np.isfinite(fold_in(impossible, topics, alpha)).all()


def test_token_probabilities(model):
    topics, proportions, x = model
    csr = sparse.csr_array(x)
    dense = proportions @ topics
    rows = np.repeat(np.arange(60), np.diff(csr.indptr))
    np.testing.assert_allclose(token_probabilities(csr, topics, proportions), dense[rows, csr.indices])


def test_word_sampler_draws_from_its_distributions():
    p = np.array([[0.5, 0.25, 0.25, 0.0], [0.0, 0.1, 0.0, 0.9]])
    counts = WordSampler(p)(np.array([[100_000, 0], [0, 100_000], [0, 0]]), np.random.default_rng(0))
    np.testing.assert_allclose(counts.toarray()[:2] / 100_000, p, atol=0.01)
    assert counts[2:].sum() == 0
    assert counts.has_sorted_indices
