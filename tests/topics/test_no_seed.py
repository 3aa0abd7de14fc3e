"""Topics of the theorem hang on the documents alone: not on a seed, nor on the order of documents or words."""

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.metrics import recovery_errors
from latentia.moments import Cooccurrence
from latentia.passes import Blocks, Folds
from latentia.topics import AnchorTopics, _embedding
from latentia.topics._pooled import NoisyPoints, find_pooled_vertices, sharpen_vertices


@pytest.fixture(scope="module")
def few():
    """A corpus of which the topics are uncertain, with lengths that differ."""
    truth = planted.topic_model(8, 600, random_state=5)
    short, long = truth.sample(400, length=30, random_state=1), truth.sample(300, length=80, random_state=2)
    return sparse.csr_array(sparse.vstack([short.counts, long.counts]))


def topics_of(counts, **options):
    return AnchorTopics(8, refine=0, tol=1e-8, n_splits=0, **options).fit(counts).components_


def sketches(counts, k, **options):
    return _embedding.subspace(Cooccurrence(Blocks.from_array(counts), **options), k)


def test_a_seed_does_not_change_the_topics(few):
    one, other = (topics_of(few, random_state=seed) for seed in (0, 7))
    assert recovery_errors(one, other).max() < 1e-4


def test_the_order_of_documents_and_words_does_not_change_the_topics(few):
    rng, plain = np.random.default_rng(0), topics_of(few)
    rows, columns = (rng.permutation(n) for n in few.shape)
    assert recovery_errors(plain, topics_of(few[rows])).max() < 1e-4
    permuted = np.empty_like(plain)
    permuted[:, columns] = topics_of(few[:, columns])
    assert recovery_errors(plain, permuted).max() < 1e-4


def test_a_few_documents_less_change_the_topics_little(few):
    plain = topics_of(few)
    for seed in range(3):
        kept = np.random.default_rng(seed).random(few.shape[0]) > 0.01
        assert recovery_errors(plain, topics_of(few[kept])).mean() < 0.15


def test_the_eigenspace_has_settled(few):
    found = sketches(few, 8)
    q = Cooccurrence(Blocks.from_array(few))
    scale = 1 / np.sqrt(np.where(q.marginal() > 0, q.marginal(), np.inf))
    matrix = scale[:, None] * q.product(np.eye(q.size)) * scale
    values = np.linalg.eigvalsh(matrix)[::-1]
    whole = found.embedding((0,))
    np.testing.assert_allclose(whole.spectrum[:8], values[:8], atol=0.03 * values[7])
    leading = found.basis[:, :8]
    assert np.linalg.norm(matrix @ leading - leading * whole.spectrum[:8], axis=0).max() <= 0.03 * values[7]


def test_words_that_counts_do_not_tell_apart_are_told_apart():
    counts = np.kron(np.eye(6), np.full((5, 4), 3))  # every word occurs as often as all others
    model = AnchorTopics(6, refine=0, n_splits=0).fit(counts)
    expected = np.kron(np.eye(6), np.full((1, 4), 0.25))
    assert recovery_errors(model.components_, expected).max() < 0.01


# --- noise of the rows ------------------------------------------------------------------------------------------


def noise_as_written(x, test, rows):
    lengths, noise = x.sum(axis=1), np.zeros(x.shape[1])
    for w in range(x.shape[1]):
        share = x[:, w] / lengths
        total = share.sum()
        for c, n, u in zip(x, lengths, share, strict=True):
            own = (test.T @ c - test[w]) / (n - 1)
            noise[w] += u**2 * ((own - rows[w]) ** 2).sum() / (1 - u / total) / total**2
    return noise


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_noise_is_its_formula(n_jobs):
    rng = np.random.default_rng(0)
    x = rng.poisson(1.0, (40, 12)) + np.eye(40, 12, dtype=int)
    test, values = rng.standard_normal((12, 70)), rng.random(66)
    q = Cooccurrence(Blocks.from_array(x, block_rows=16), folds=Folds(4), n_jobs=n_jobs)
    products, noise, _ = q.noisy_pass(test, values)
    expected = noise_as_written(x[x.sum(axis=1) > 1], test[:, :66], test[:, :66] * values)
    np.testing.assert_allclose(noise, expected, rtol=1e-10)
    np.testing.assert_allclose(q.combine(products, (0, 1, 2, 3)), q.product(test), atol=1e-12)


def test_copies_of_documents_do_not_lower_the_noise(few):
    copies = sparse.csr_array(sparse.vstack([few] * 4))
    leaders = np.arange(copies.shape[0]) % few.shape[0]
    once, often = sketches(few, 8), sketches(copies, 8, folds=Folds(4, 0, 1, leaders))
    assert often.noise == pytest.approx(once.noise, rel=1e-2)


def test_noise_is_the_error_of_the_rows():
    truth = planted.topic_model(8, 500, random_state=3)
    exact = truth.topics.T @ truth.second_moment() @ truth.topics
    found = sketches(truth.sample(1500, length=60, random_state=4).counts, 8)
    embedding = found.embedding((0,))
    error = ((embedding.rows - (exact / exact.sum(axis=1, keepdims=True)) @ embedding.test) ** 2).sum(axis=1)
    own = np.asarray(embedding.excess) > 0.5  # not those that are held at the least
    assert (error[own] / embedding.row_noise[own]).mean() == pytest.approx(1.0, abs=0.3)


# --- vertices ---------------------------------------------------------------------------------------------------


def noisy_points(sigma, seed=0):
    rng = np.random.default_rng(seed)
    vertices = 3 * np.eye(5)
    weights = np.vstack([np.repeat(np.eye(5), 20, axis=0), rng.dirichlet(np.full(5, 0.5), 300)])
    true = weights @ vertices
    measured = true + sigma * rng.standard_normal(true.shape)
    return NoisyPoints(measured, measured, np.ones(len(true)), np.full(len(true), 5 * sigma**2)), vertices


def test_sharpened_vertices_are_as_near_as_the_noise_allows():
    for sigma, most in ((0.001, 0.03), (0.3, 0.5)):
        points, true = noisy_points(sigma)
        inner = find_pooled_vertices(points, 5)
        sharp = sharpen_vertices(points, inner, np.ones(5, bool))
        of_inner, of_sharp = (np.linalg.norm(found[:, None] - true, axis=2).min(axis=0) for found in (inner, sharp))
        assert of_sharp.max() < most
        if sigma < 0.01:
            assert of_sharp.mean() < 0.5 * of_inner.mean()


def test_known_vertices_stay_and_the_rank_is_the_limit():
    points, true = noisy_points(0.05)
    start = true[:2]
    assert len(find_pooled_vertices(points, 9, start=start)) == 3
    fixed = sharpen_vertices(
        points, np.vstack([start, find_pooled_vertices(points, 3, start=start)]), np.arange(5) >= 2
    )
    assert (fixed[:2] == start).all()
    assert np.linalg.norm(fixed[2:, None] - true[2:], axis=2).min(axis=0).max() < 0.3
    flat = NoisyPoints(points.measured[:, :3], points.shrunk[:, :3], points.weights, points.noise)
    assert len(find_pooled_vertices(flat, 9)) == 3


def test_a_point_less_moves_pooled_vertices_little():
    points, _ = noisy_points(0.5)
    whole = find_pooled_vertices(points, 5)
    for lost in np.argmax(points.shrunk, axis=0):
        kept = np.arange(len(points.shrunk)) != lost
        part = NoisyPoints(*(each[kept] for each in (points.measured, points.shrunk, points.weights, points.noise)))
        moved = np.linalg.norm(whole[:, None] - find_pooled_vertices(part, 5), axis=2).min(axis=1)
        assert moved.max() < 0.3
