import itertools

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.moments import Cooccurrence, DocumentMoments, WordMoments, correct_for_lda, leading_words
from latentia.passes import Blocks, Folds


def naive_moments(counts):
    """Moments of different words by listing all ordered pairs and triples of every document."""
    v = counts.shape[1]
    second, third, n2, n3 = np.zeros((v, v)), np.zeros((v, v, v)), 0, 0
    for row in counts:
        words = np.repeat(np.arange(v), row)
        n = len(words)
        if n >= 2:
            n2 += 1
            for a, b in itertools.permutations(words, 2):
                second[a, b] += 1 / (n * (n - 1))
        if n >= 3:
            n3 += 1
            for a, b, c in itertools.permutations(words, 3):
                third[a, b, c] += 1 / (n * (n - 1) * (n - 2))
    return second / n2, third / n3


@pytest.mark.parametrize("block_rows", [5, 40])
def test_moments_are_those_of_all_ordered_triples(block_rows):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, (40, 9))
    coordinates = rng.standard_normal((9, 4))
    q = Cooccurrence(Blocks.from_array(counts, block_rows=block_rows), folds=Folds(4))
    found = DocumentMoments(q, coordinates).of((0, 1, 2, 3))
    second, third = naive_moments(counts)
    np.testing.assert_allclose(found.second, coordinates.T @ second @ coordinates, atol=1e-12)
    np.testing.assert_allclose(found.sketch, second @ coordinates, atol=1e-12)
    np.testing.assert_allclose(found.marginal, second.sum(axis=1), atol=1e-12)
    expected = np.einsum("abc,ai,bj,ck->ijk", third, *[coordinates] * 3, optimize=True)
    np.testing.assert_allclose(found.third, expected, atol=1e-12)


def test_halves_average_to_the_whole():
    counts = np.random.default_rng(1).poisson(2.0, (80, 6))
    q = Cooccurrence(Blocks.from_array(counts), folds=Folds(4))
    moments = DocumentMoments(q, np.eye(6))
    halves = [moments.of(groups) for groups in ((0, 1), (2, 3))]
    sizes = [moments.documents[:2].sum(), moments.documents[2:].sum()]
    mean = np.average([half.third for half in halves], axis=0, weights=sizes)
    np.testing.assert_allclose(mean, moments.of((0, 1, 2, 3)).third, atol=1e-14)


def test_leading_words_spans_the_topics():
    truth = planted.topic_model(5, 200, proportions="single", random_state=3)
    corpus = truth.sample(20_000, 30)
    q = Cooccurrence(Blocks.from_array(corpus.counts), folds=Folds(4))
    coordinates = leading_words(q, 17)
    scale = np.sqrt(q.marginal())[:, None]
    basis = coordinates * scale
    np.testing.assert_allclose(basis.T @ basis, np.eye(17), atol=1e-10)
    scaled = truth.topics.T / scale
    missing = scaled - basis @ (basis.T @ scaled)
    assert np.linalg.norm(missing) < 0.1 * np.linalg.norm(scaled)


@pytest.mark.parametrize("alpha0", [0.3, 1.0, 5.0])
def test_correction_makes_population_moments_of_lda_a_sum_over_topics(alpha0):
    rng = np.random.default_rng(2)
    k, v = 4, 12
    topics, alpha = rng.dirichlet(np.ones(v), k), alpha0 * rng.dirichlet(np.full(k, 5.0))
    second = np.outer(alpha, alpha) + np.diag(alpha)
    third = np.einsum("i,j,k->ijk", alpha, alpha, alpha)
    for i, j, n in itertools.product(range(k), repeat=3):  # E[h_i h_j h_n] of a Dirichlet: rising factorials
        a = alpha[i], alpha[j] + (j == i), alpha[n] + (n == i) + (n == j)
        third[i, j, n] = a[0] * a[1] * a[2]
    second /= alpha0 * (alpha0 + 1)
    third /= alpha0 * (alpha0 + 1) * (alpha0 + 2)
    mean = alpha / alpha0 @ topics
    pairs = topics.T @ second @ topics
    triples = np.einsum("ijn,ia,jb,nc->abc", third, topics, topics, topics, optimize=True)
    found = correct_for_lda(WordMoments(mean, pairs, mean, pairs, triples), alpha0)
    weights = alpha / (alpha0 * (alpha0 + 1))
    np.testing.assert_allclose(found.second, np.einsum("k,ka,kb->ab", weights, topics, topics), atol=1e-14)
    np.testing.assert_allclose(
        found.third, np.einsum("k,ka,kb,kc->abc", 2 * weights / (alpha0 + 2), topics, topics, topics), atol=1e-14
    )
