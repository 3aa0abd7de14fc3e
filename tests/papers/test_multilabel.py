"""Topics of documents with labels by the algorithm of the paper."""

import numpy as np
import pytest

from latentia import LatentiaError
from latentia.datasets import planted
from latentia.metrics import document_auc, recovery_errors
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.papers.multilabel import learn_labelled_topics, score_labels
from latentia.papers.tensors import robust_power_method


def normalised(rows):
    return rows / rows.sum(axis=1, keepdims=True)


def algorithm_1(X, Y, k):
    """Algorithm 1 of the paper, line by line on dense arrays."""
    X, Y = X.toarray().astype(float), Y.toarray().astype(float)
    length = X.sum(axis=1)
    M2 = np.einsum("di,dj->ij", X, X) / (length**2).sum()
    nu, omega = np.linalg.eigh(M2)
    nu, omega = nu[::-1][:k], omega[:, ::-1][:, :k]
    omega = omega * np.where(omega.sum(axis=0) < 0, -1, 1)
    W = omega @ np.diag(nu**-0.5)
    Z = X @ W
    M3 = np.einsum("di,dj,dk->ijk", Z, Z, Z) / (length**3).sum()
    U = robust_power_method(M3, k)[1]
    values = np.einsum("ijk,ri,rj,rk->r", M3, U, U, U)  # of M3 itself, not of what deflation leaves of it
    mu = (W @ np.linalg.inv(W.T @ W) @ U.T).T
    gamma = (Y.T @ ((X @ W @ U.T) ** 2)).T
    pi = values**-2.0
    return pi / pi.sum(), normalised(mu), normalised(gamma)


def test_topics_and_scores_are_those_of_dense_arrays():
    corpus = planted.labelled_corpus(2000, n_topics=5, n_words=90, n_labels=12, features=20, random_state=3)
    pi, mu, gamma = algorithm_1(corpus.X, corpus.Y, 5)
    weights, words, labels = learn_labelled_topics(corpus.X, corpus.Y, 5)
    order = np.argsort(-pi)
    np.testing.assert_allclose(weights, pi[order], atol=1e-8)
    np.testing.assert_allclose(words, np.maximum(mu[order], 1e-10), atol=1e-8)
    np.testing.assert_allclose(labels, gamma[order], atol=1e-8)

    row = corpus.X[:1].toarray()[0] > 0
    absent = (words > 0.001) & ~row
    log_joint = np.log(pi[order]) + np.log(words[:, row]).sum(axis=1)
    log_joint += np.where(absent, np.log(1 - words), 0).sum(axis=1)
    posterior = np.exp(log_joint - log_joint.max())
    posterior /= posterior.sum()
    scores = score_labels(corpus.X[:1], weights, words, labels)
    np.testing.assert_allclose(scores[0], posterior @ gamma[order], atol=1e-8)


def test_printed_moments_are_biased_and_those_of_the_estimator_are_not():
    corpus = planted.labelled_corpus(30_000, n_topics=5, n_words=200, n_labels=20, features=15, random_state=0)
    true_words = normalised(corpus.truth.word_probabilities)
    weights, words, labels = learn_labelled_topics(corpus.X, corpus.Y, 5)
    model = MomentMultiLabelClassifier(5, head="bayes").fit(corpus.X, corpus.Y)
    printed = recovery_errors(words, true_words).mean()
    debiased = recovery_errors(normalised(model.word_probabilities_), true_words).mean()
    assert debiased < 0.08
    assert printed > 2 * debiased
    scores = score_labels(corpus.X[:2000], weights, words, labels)
    assert np.nanmean(document_auc(corpus.Y[:2000], scores)) > 0.6


def test_more_topics_than_directions():
    X = np.kron(np.eye(3), np.ones((20, 3)))
    with pytest.raises(
        LatentiaError, match=r"^n_components=5: Expected words that span 5 directions, one a topic; found 3"
    ):
        learn_labelled_topics(X, np.ones((60, 2)), 5)
