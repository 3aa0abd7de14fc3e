"""Moments of words and labels against sums over pairs and triples of different words, written out."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from latentia import LatentiaError
from latentia.likelihood import over, refine
from latentia.multilabel._likelihood import MixtureWithLabelsUpdate, Pseudo, log_probabilities, topic_posterior
from latentia.multilabel.moments import (
    CountDocuments,
    Factors,
    LabelsToWords,
    OccurrenceMoments,
    OccurrenceProducts,
    TopicMoments,
    WordsToLabels,
    frequent_words,
)
from latentia.passes import Blocks, Folds, accumulate, follow

N, D, L, B = 60, 9, 5, 4


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.7, (N, D)).astype(float)
    counts[3] = 0
    return counts, (rng.random((N, L)) < 0.3).astype(float)


@pytest.fixture(scope="module")
def blocks(tables):
    return Blocks.from_array(*(sparse.csr_array(t) for t in tables), block_rows=13)


def tokens(row):
    return np.repeat(np.arange(D), row.astype(int))


def moments_by_hand(counts, falling):
    """First, second and third moments over ordered tuples of different tokens of a document."""
    first, second, third = np.zeros(D), np.zeros((D, D)), np.zeros((D, D, D))
    used = np.zeros(3)
    for row in counts:
        words = tokens(row)
        n = len(words)
        for order, total in ((1, first), (2, second), (3, third)):
            if falling and n < order:
                continue
            weight = 1 / np.prod([n - i for i in range(order)]) if falling else 1.0
            used[order - 1] += 1
            for places in itertools.permutations(range(n), order):
                total[tuple(words[list(places)])] += weight
    return first / used[0], second / used[1], third / used[2]


@pytest.mark.parametrize("falling", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_moments_are_sums_over_different_words(tables, blocks, falling, n_jobs):
    coordinates = np.random.default_rng(1).standard_normal((D, B))
    codes, factors = np.arange(D, dtype=np.int32), Factors(falling)
    statistic = OccurrenceMoments(coordinates, codes, factors, Folds(3, 0))
    found = statistic.compute(accumulate(blocks, statistic, n_jobs), range(3))
    first, second, third = moments_by_hand(tables[0], falling)
    s = coordinates
    np.testing.assert_allclose(found.first, first @ s, atol=1e-12)
    np.testing.assert_allclose(found.sketch, second @ s, atol=1e-12)
    np.testing.assert_allclose(found.second, s.T @ second @ s, atol=1e-12)
    expected = np.einsum("ijk,ia,jb,kc->abc", third, s, s, s)
    np.testing.assert_allclose(found.third, expected, atol=1e-5 * np.abs(expected).max())


def test_words_without_codes_have_no_coordinates(tables, blocks):
    columns = np.random.default_rng(1).standard_normal((D, 2))
    codes = np.array([0, -1, 1, -1, 2, 3, 4, -1, 5], np.int32)
    kept = np.flatnonzero(codes >= 0)
    counts = tables[0]
    products, single = accumulate(blocks, OccurrenceProducts(columns[kept], codes, Factors(False)))
    np.testing.assert_allclose(products, counts[:, kept].T @ counts[:, kept] @ columns[kept])
    np.testing.assert_allclose(single, counts[:, kept].sum(axis=0))


def test_groups_add_up(blocks):
    coordinates, codes = np.random.default_rng(1).standard_normal((D, B)), np.arange(D, dtype=np.int32)
    one, four = (OccurrenceMoments(coordinates, codes, Factors(False), Folds(g, 0)) for g in (1, 4))
    whole, split = accumulate(blocks, [one, four])
    np.testing.assert_allclose(one.compute(whole, [0]).third, four.compute(split, range(4)).third, atol=1e-5)
    assert split.documents[:, 0].sum() == N


@pytest.mark.parametrize("falling", [True, False])
def test_label_moments_leave_out_the_diagonal(tables, blocks, falling):
    counts, labels = tables
    g = np.random.default_rng(2).standard_normal((D, 3))
    codes, factors = np.arange(D, dtype=np.int32), Factors(falling)
    words, crossed = accumulate(blocks, TopicMoments(g, codes, factors, L))
    lengths = counts.sum(axis=1)
    scale = factors(lengths, 2)
    np.testing.assert_allclose(words, (counts * scale[:, None]).T @ (counts @ g))
    expected = np.zeros((L, 3))
    for row, mark, s in zip(counts, labels, scale, strict=True):
        pairs = np.outer(row, row) - np.diag(row)
        expected += s * np.outer(mark, np.einsum("ik,ij,jk->k", g, pairs, g))
    np.testing.assert_allclose(crossed, expected, atol=1e-10)


def test_products_of_features_and_labels(tables, blocks):
    counts, labels = tables
    s = np.random.default_rng(3).standard_normal((D, B))
    z = counts @ s
    three = Blocks.from_array(
        *(sparse.csr_array(t) for t in (counts, labels, counts.astype(np.float32))), block_rows=13
    )
    columns = np.random.default_rng(4).standard_normal((L, B))
    np.testing.assert_allclose(
        accumulate(three, LabelsToWords(columns, D)), counts.T @ labels @ columns, rtol=1e-4, atol=1e-4
    )
    crossed, gram, total = accumulate(three, WordsToLabels(s, L))
    np.testing.assert_allclose(crossed, labels.T @ z, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(gram, z.T @ z, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(total, z.sum(axis=0), rtol=1e-5, atol=1e-4)


def test_first_pass(tables, blocks):
    counts, labels = tables
    seen = accumulate(blocks, CountDocuments(D, L), 2)
    words = (counts > 0).sum(axis=1)
    assert (seen.n_rows, seen.n_empty) == (N, (words == 0).sum())
    assert seen.n_unlabelled == (labels.sum(axis=1) == 0).sum()
    np.testing.assert_array_equal(seen.document_frequency, (counts > 0).sum(axis=0))
    np.testing.assert_array_equal(seen.label_counts, labels.sum(axis=0))
    expected = [words.sum(), (words**2).sum(), (words**3).sum(), (labels.sum(axis=1) * words**2).sum()]
    np.testing.assert_allclose(seen.powers, expected)
    assert (seen.longest, seen.largest, seen.fractional) == (words.max(), counts.max(), False)
    np.testing.assert_array_equal(seen.usable, [(counts.sum(axis=1) >= i).sum() for i in (1, 2, 3)])


def test_frequent_words():
    words, codes = frequent_words(np.array([0.0, 5, 2, 9, 2]), 3)
    assert words.tolist() == [1, 2, 3]
    assert codes.tolist() == [-1, 0, 1, 2, -1]
    assert frequent_words(np.array([0.0, 5, 2]), 9)[0].tolist() == [1, 2]


@pytest.mark.parametrize("occurrences", [True, False])
def test_posterior_and_em_step(tables, occurrences):
    counts, labels = tables
    x = (counts > 0).astype(float) if occurrences else counts
    rng = np.random.default_rng(5)
    words = rng.uniform(0.05, 0.6, (3, D))
    words = words if occurrences else words / words.sum(axis=1, keepdims=True)
    gamma, weights = rng.uniform(0.1, 0.9, (3, L)), np.array([0.5, 0.3, 0.2])
    log_words = x @ np.log(words).T + (1 - x) @ np.log(1 - words).T if occurrences else x @ np.log(words).T
    alone = np.log(weights) + log_words
    both = alone + labels @ np.log(gamma).T + (1 - labels) @ np.log(1 - gamma).T
    log_joint = logsumexp(both, axis=1)
    alone, both = (np.exp(p) / np.exp(p).sum(axis=1, keepdims=True) for p in (alone, both))
    model = log_probabilities(words, weights, occurrences=occurrences)
    np.testing.assert_allclose(topic_posterior(sparse.csr_array(x), model), alone, atol=1e-12)

    pseudo = Pseudo(2.0, x.mean(axis=0), labels.mean(axis=0))
    update = MixtureWithLabelsUpdate(words, gamma, weights, occurrences, pseudo)
    found = refine(update, over(Blocks.from_array(sparse.csr_array(x), sparse.csr_array(labels), block_rows=7)), 1)
    new_words, new_labels, new_weights = found.values
    assert found.log_likelihood == pytest.approx(log_joint.sum())
    mass = both.sum(axis=0)
    expected = both.T @ x + 2 * x.mean(axis=0)
    expected /= (mass + 2)[:, None] if occurrences else expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(new_words, expected)
    np.testing.assert_allclose(new_labels, (both.T @ labels + 2 * labels.mean(axis=0)) / (mass + 2)[:, None])
    np.testing.assert_allclose(new_weights, mass / N)


def test_threshold_of_absent_words():
    words = np.array([[0.5, 0.01], [0.2, 0.4]])
    model = log_probabilities(words, np.array([0.5, 0.5]), occurrences=True, threshold=0.1)
    np.testing.assert_allclose(model.constant, np.log([0.5 * 0.5, 0.5 * 0.8 * 0.6]))
    np.testing.assert_allclose(model.by_word[:, 0], [0, np.log(0.01)], atol=1e-12)


def test_tables_of_logarithms_do_not_depend_on_how_they_are_cut(monkeypatch):
    rng = np.random.default_rng(6)
    words, gamma, weights = rng.random((3, D)), rng.random((3, L)), np.full(3, 1 / 3)
    pseudo = Pseudo(1.0, np.full(D, 0.1), np.full(L, 0.1))
    whole = MixtureWithLabelsUpdate(words, gamma, weights, True, pseudo)
    monkeypatch.setattr("latentia.multilabel._likelihood._CHUNK", 4)
    cut = MixtureWithLabelsUpdate(words, gamma, weights, True, pseudo)
    np.testing.assert_array_equal(cut.log_by_word, whole.log_by_word)
    np.testing.assert_allclose(cut.log_weights, whole.log_weights)
    alone = log_probabilities(words, weights, occurrences=True)
    np.testing.assert_array_equal(whole.log_by_word[:D], alone.by_word)
    np.testing.assert_allclose(whole.log_weights, alone.constant + np.log(1 - gamma).sum(axis=1))


def test_a_label_that_is_not_one_is_named(blocks):
    bad = Blocks.from_array(sparse.csr_array(np.ones((2, D))), sparse.csr_array([[0, 1.0], [0, 3.0]]))
    with pytest.raises(LatentiaError, match="Y has 3 in row 1, column 1"):
        accumulate(bad, CountDocuments(D, 2))


class Rows:
    """Statistic: number of rows."""

    def zero(self):
        return 0

    def add(self, state, block):
        return state + block[0].shape[0]

    def merge(self, first, second):
        return first + second


def test_plans_share_their_passes(blocks):
    def plan(n_passes):
        total = 0
        for _ in range(n_passes):
            first, second = yield [Rows(), Rows()]
            assert first == second
            total += first
        return total

    results, n_passes = follow(blocks, [plan(3), plan(1), plan(0)])
    assert results == [3 * N, N, 0]
    assert n_passes == 3
    assert follow(blocks, []) == ([], 0)
