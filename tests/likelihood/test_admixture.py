import numpy as np
import pytest
from scipy import sparse

from latentia.likelihood import fold_in, token_probabilities


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.2), 4)
    proportions = rng.dirichlet(np.full(4, 0.3), 60)
    return topics, proportions, rng.multinomial(500, proportions @ topics)


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
