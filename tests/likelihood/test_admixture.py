import numpy as np
import pytest
from scipy import sparse

from latentia.likelihood import AdmixtureUpdate, Proportions, fold_in, token_probabilities, updated
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
    return expected, w, (x * np.log(x / np.where(x, ratio, 1), where=x > 0, out=np.zeros(x.shape))).sum()


def test_one_pass_matches_the_dense_update(model):
    topics, _, x = model
    start = np.full((60, 4), 0.25)
    expected, after, nats = em_naive(x, topics, start, 0.05, 6)
    proportions = Proportions(start.astype(np.float32), first=6)
    update = AdmixtureUpdate(topics, np.full(4, 0.05), proportions)
    state = accumulate(Blocks.from_array(sparse.csr_array(x), block_rows=13), update)
    (new,) = updated(update, state)
    np.testing.assert_allclose(new, expected / expected.sum(axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(proportions.values, after, atol=1e-4)
    np.testing.assert_allclose(state.log_likelihood, nats, rtol=1e-6)
    np.testing.assert_allclose(proportions.shares(), after.mean(axis=0), atol=1e-4)


def test_a_document_is_iterated_longer_in_its_first_pass(model):
    topics, _, x = model
    start = np.full((60, 4), 0.25)
    proportions, blocks = Proportions(start.astype(np.float32), first=6, later=2), Blocks.from_array(x, block_rows=13)
    update = AdmixtureUpdate(topics, np.full(4, 0.05), proportions)
    (new,) = updated(update, accumulate(blocks, update))
    accumulate(blocks, update.at(new))
    *_, once, _ = em_naive(x, topics, start, 0.05, 6)
    *_, twice, _ = em_naive(x, new, once, 0.05, 2)
    np.testing.assert_allclose(proportions.values, twice, atol=1e-4)


def test_new_topics_are_the_same_whenever_they_are_asked_for(model):
    topics, _, x = model
    update = AdmixtureUpdate(topics, np.full(4, 0.05), Proportions(np.full((60, 4), 0.25, np.float32)))
    sums = accumulate(Blocks.from_array(x), update)
    np.testing.assert_array_equal(*(updated(update, sums)[0] for _ in range(2)))


def test_em_passes_have_the_same_bits_for_any_number_of_threads(model):
    topics, _, x = model
    results = []
    for n_jobs in (1, 2, 3):
        proportions = Proportions(np.full((60, 4), 0.25, np.float32), first=3)
        update = AdmixtureUpdate(topics, np.full(4, 0.05), proportions, prior=np.full(30, 0.1))
        state = accumulate(Blocks.from_array(x, block_rows=9), update, n_jobs)
        results.append(*updated(update, state))
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
