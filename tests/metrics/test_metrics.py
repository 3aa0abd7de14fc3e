import numpy as np
import pytest
from scipy import sparse

from latentia import LatentiaError, metrics


def test_matching_undoes_a_permutation():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.ones(20), 6)
    order = rng.permutation(6)
    of_found, of_true = metrics.match_components(true[order], true)
    assert (order[of_found] == of_true).all()
    np.testing.assert_array_equal(metrics.recovery_errors(true[order], true), np.zeros(6))


def test_errors_are_the_norms_and_missing_components_are_nan():
    true, found = np.eye(3), np.eye(3)[:2] * [1, 0.5, 1]
    errors = metrics.recovery_errors(found, true)
    assert list(errors[:2]) == [0, 0.5]
    assert np.isnan(errors[2])
    assert metrics.recovery_errors(np.full((1, 2), 0.5), np.array([[1.0, 0]]), "l2")[0] == pytest.approx(np.sqrt(0.5))
    np.testing.assert_array_equal(metrics.nearest_distances(true, found), [0, 0.5, 1.5])


def test_coherence_by_hand():
    # words 0 and 1 are together in 2 of 4 documents, word 2 is alone in one
    x = sparse.csr_array(np.array([[1, 2, 0], [3, 1, 0], [1, 0, 0], [0, 0, 5]]))
    topics = np.array([[0.5, 0.4, 0.1], [0.1, 0.0, 0.9]])
    eps = 0.01
    umass = metrics.umass_coherence(topics, x, 2, eps)
    assert umass[0] == pytest.approx(np.log((2 + eps) / 2) + np.log((2 + eps) / 3))
    assert umass[1] == pytest.approx(np.log(eps / 1) + np.log(eps / 3))
    npmi = metrics.npmi_coherence(topics, x, 2)
    assert npmi[0] == pytest.approx(np.log(0.5 / (0.75 * 0.5)) / -np.log(0.5))
    assert npmi[1] == -1
    assert list(metrics.unique_words(topics, 2)) == [1, 1]


def test_completion_perplexity_of_known_models():
    rng = np.random.default_rng(1)
    uniform = np.full((1, 50), 0.02)
    x = rng.multinomial(200, uniform[0], 30)
    assert metrics.completion_perplexity(uniform, np.ones(1), x) == pytest.approx(50)
    topics = np.kron(np.eye(2), np.full((1, 25), 0.04))
    x = np.vstack([rng.multinomial(200, topics[d % 2]) for d in range(40)])
    assert metrics.completion_perplexity(topics, np.full(2, 0.01), x) == pytest.approx(25, rel=0.02)
    halves = metrics.split_tokens(x)
    assert (halves[0] + halves[1] != sparse.csr_array(x)).nnz == 0
    with pytest.raises(LatentiaError, match="no words to predict"):
        metrics.completion_perplexity(uniform, np.ones(1), np.zeros((3, 50)))


def test_words_in_no_document_do_not_count():
    x = sparse.csr_array(np.array([[1, 1, 0], [1, 0, 0]]))
    topics = np.array([[0.5, 0.1, 0.4]])
    assert metrics.umass_coherence(topics, x, 2)[0] == 0
    assert metrics.npmi_coherence(topics, x, 1)[0] == 0
