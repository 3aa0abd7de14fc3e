"""The sampler: against enumeration, the limit of the data, and whatever must not enter the answer."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from latentia import LatentiaError
from latentia.datasets import planted
from latentia.metrics import recovery_errors
from latentia.topics import AnchorTopics, SpectralLDA, _sampling
from latentia.topics._sampling import document_keys, is_samplable, mean_proportions, sample_topics


def shared_words(n_documents, n_topics=6, n_words=300, background=0.4, seed=0):
    """Documents of topics that share a part of their words, and the topics."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.full(n_words, 0.5))
    topics = (1 - background) * rng.dirichlet(np.full(n_words, 0.05), n_topics) + background * base
    proportions = rng.dirichlet(np.full(n_topics, 0.1), n_documents)
    counts = np.array([rng.multinomial(60, p @ topics) for p in proportions])
    return sparse.csr_array(counts, dtype=np.float64), topics


@pytest.fixture(scope="module")
def corpus():
    return shared_words(1500)


def test_averages_are_those_of_all_assignments(monkeypatch):
    """One document of six words and two topics, with priors that are held: the posterior mean of the counts by enumeration."""
    monkeypatch.setattr(_sampling, "_LEARNING_STARTS_AT", 10**9)
    monkeypatch.setattr(_sampling, "_N_GROUPS", 1)  # One document is in one group: the others are empty.
    table = sparse.csr_array(np.array([[3.0, 2.0, 1.0]]))
    words, alpha, beta = [0, 0, 0, 1, 1, 2], 0.1, _sampling._BETA
    total, expected = 0.0, np.zeros((3, 2))
    for z in product(range(2), repeat=6):
        counts = np.zeros((3, 2))
        np.add.at(counts, (words, list(z)), 1)
        in_document = counts.sum(axis=0)
        log_p = (
            gammaln(in_document + alpha).sum() + gammaln(counts + beta).sum() - gammaln(in_document + 3 * beta).sum()
        )
        total, expected = total + np.exp(log_p), expected + np.exp(log_p) * counts
    mean = expected / total + beta
    start = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
    chain = sample_topics(table, start, burn_in=50, n_averaged=60_000, alpha=np.full(2, alpha))
    np.testing.assert_allclose(chain.topics, (mean / mean.sum(axis=0)).T, atol=0.02)


@pytest.mark.parametrize("estimator", [AnchorTopics, SpectralLDA])
def test_shared_words_end_where_the_truth_would(corpus, estimator):
    counts, topics = corpus
    limit = sample_topics(counts, 0.999 * topics + 0.001 / topics.shape[1], burn_in=60, n_averaged=60)
    model = estimator(6).fit(counts)
    error, least = (recovery_errors(found, topics).mean() for found in (model.components_, limit.topics))
    assert error < 1.1 * least
    assert 1 / 1.5 < model.evidence_.component_errors.mean() / error < 1.5
    assert limit.spread.mean() == pytest.approx(least, rel=0.25)


def test_no_order_and_no_number_of_threads_enters(corpus):
    counts, _ = corpus
    model = AnchorTopics(6, n_splits=0).fit(counts)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(counts.shape[0]), rng.permutation(counts.shape[1])
    for fitted in (
        AnchorTopics(6, n_splits=0, n_jobs=3).fit(counts),
        AnchorTopics(6, n_splits=0, random_state=5).fit(counts),
        AnchorTopics(6, n_splits=0).fit(counts[rows]),
    ):
        np.testing.assert_array_equal(fitted.components_, model.components_)
    moved = AnchorTopics(6, n_splits=0).fit(sparse.csr_array(counts[:, columns]))
    np.testing.assert_allclose(moved.components_, model.components_[:, columns], atol=1e-12)


def test_weights_are_repeated_documents(corpus):
    counts, topics = corpus
    times = np.random.default_rng(2).integers(1, 4, counts.shape[0])
    start = 0.99 * topics + 0.01 / topics.shape[1]
    repeated = sparse.csr_array(counts[np.repeat(np.arange(len(times)), times)])
    assert len(set(document_keys(repeated).tolist())) == repeated.shape[0]
    weighted = AnchorTopics(6, n_splits=0).fit(counts, sample_weight=times)
    np.testing.assert_array_equal(weighted.components_, AnchorTopics(6, n_splits=0).fit(repeated).components_)
    assert sample_topics(repeated, start, burn_in=5, n_averaged=2).topics.shape == topics.shape


def test_kinds_of_documents_tell_topics_apart_that_meet_often(monkeypatch):
    """Logistic-normal proportions: one Dirichlet prior gives the words of a topic to those that it meets."""
    rng = np.random.default_rng(5)
    topics = 0.85 * rng.dirichlet(np.full(300, 0.05), 6) + 0.15 * rng.dirichlet(np.full(300, 0.5))
    logits = 2 / np.sqrt(6) * rng.standard_normal((3000, 6)) @ rng.standard_normal((6, 6))
    proportions = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    counts = sparse.csr_array(rng.multinomial(60, proportions @ topics).astype(float))
    errors = []
    for n_kinds in (1, 32):
        monkeypatch.setattr(_sampling, "_MAX_KINDS", n_kinds)
        chain = sample_topics(counts, 0.999 * topics + 0.001 / 300, burn_in=40, n_averaged=40)
        errors.append(recovery_errors(chain.topics, topics).mean())
    assert errors[1] < 0.92 * errors[0]


def test_noise_of_the_draws_is_that_of_two_chains(corpus):
    counts, topics = corpus
    start = 0.99 * topics + 0.01 / topics.shape[1]
    first = sample_topics(counts, start, burn_in=30, n_averaged=40)
    second = sample_topics(counts[1:], start, burn_in=30, n_averaged=40)  # all draws differ where a document does
    between = np.abs(first.topics - second.topics).sum(axis=1).mean() / np.sqrt(2)
    assert 0.4 < first.noise.mean() / between < 2.5


def test_proportions_are_posterior_means():
    truth = planted.topic_model(4, 200, random_state=1)
    documents = truth.sample(300, length=60, random_state=2)
    counts = sparse.csr_array(documents.counts)
    proportions = mean_proportions(counts, truth.topics + 1e-9, np.full(4, 0.1))
    np.testing.assert_allclose(proportions.sum(axis=1), 1.0)
    assert np.abs(proportions - documents.proportions).sum(axis=1).mean() < 0.2


def test_counts_that_are_not_whole_are_swept():
    assert not is_samplable(sparse.csr_array(np.array([[0.5, 2.0]])))
    assert is_samplable(sparse.csr_array(np.array([[1.0, 2.0]])))


def test_a_document_of_billions_of_words_is_refused():
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (300, 40)).astype(float)
    counts[7, 3] = 2.0**31
    with pytest.raises(LatentiaError, match="2,147,483,"):
        AnchorTopics(3).fit(sparse.csr_array(counts))
    AnchorTopics(3, refine=0).fit(sparse.csr_array(counts))
