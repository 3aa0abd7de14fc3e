"""Sweeps of collapsed variational Bayes against a transcription, and what they recover."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from latentia.datasets import planted
from latentia.likelihood import over, refine
from latentia.metrics import recovery_errors
from latentia.passes import Blocks
from latentia.topics import _collapsed as collapsed
from latentia.topics._collapsed import SweepUpdate, allocate_shares


def corpus(n=60, seed=0, **options):
    return planted.topic_corpus(n, n_topics=4, n_words=80, length=30, random_state=seed, **options)


def update_of(counts, n_topics=4, *, room, seed=1, **options):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.ones(counts.shape[1]), n_topics)
    prior = options.pop("prior", np.full(counts.shape[1], 0.03))
    return SweepUpdate(topics, np.full(n_topics, 0.1), room, counts.shape[0], prior=prior, **options)


def naive_sweep(table, shares, counts, alpha, prior):
    """The formula at the head of the module; documents follow their own shares at once, topics when all are done."""
    new = shares.copy()
    for d in range(table.shape[0]):
        span = range(table.indptr[d], table.indptr[d + 1])
        for e in span:
            w, c, r = table.indices[e], table.data[e], shares[e]
            in_document = sum(table.data[f] * new[f] for f in span)
            share = (
                (in_document - r + alpha) * (counts[w] - c * r + prior[w]) / (counts.sum(axis=0) - c * r + prior.sum())
            )
            new[e] = share / share.sum()
    return new


def test_a_sweep_is_the_formula(monkeypatch):
    table = sparse.csr_array(corpus().counts)
    monkeypatch.setattr(collapsed, "_N_GROUPS", table.nnz)  # no document sees what another one has changed
    with allocate_shares(table.nnz, 4) as room:
        update = update_of(table, room=room, learn_alpha=False)
        step = over(Blocks.from_array(table))
        refine(update, step, 1)
        before = room.load(0, 0, table.nnz)[:, :4].copy()
        counts = update.counts.copy()
        refine(update, step, 1)
        after = room.load(0, 0, table.nnz)[:, :4]
    expected = naive_sweep(table, before.astype(float), counts, update.alpha, update.prior)
    np.testing.assert_allclose(after, expected, atol=2e-4)
    np.testing.assert_allclose(after.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("in_memory", [True, False])
def test_counts_are_those_that_the_shares_make(in_memory):
    table = sparse.csr_array(corpus(150).counts)
    blocks = Blocks.from_array(table, block_rows=40)
    with config_context(working_memory=1024 * in_memory), allocate_shares(table.nnz, 4) as room:
        update = update_of(table, room=room)
        refine(update, over(blocks), 7)
        counts = np.zeros((table.shape[1], 4))
        for block in blocks:
            own = sparse.csr_array(block[0])
            shares = room.load(block.number, 0, own.nnz)[:, :4]
            np.add.at(counts, own.indices, own.data[:, None] * shares)
    np.testing.assert_allclose(update.counts, counts, atol=1e-3)
    assert counts.sum() == pytest.approx(table.sum(), rel=1e-3)


@pytest.mark.parametrize("in_memory", [True, False])
def test_bits_do_not_depend_on_threads(in_memory):
    table = sparse.csr_array(corpus(200).counts)
    found = []
    for n_jobs in (1, 2, 3):
        with config_context(working_memory=1024 * in_memory), allocate_shares(table.nnz, 4) as room:
            update = update_of(table, room=room)
            refined = refine(update, over(Blocks.from_array(table, block_rows=70), n_jobs), 6)
            found.append((refined.values[0], update.alpha, refined.log_likelihood))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_shares_in_files_lead_to_nearly_the_same_topics():
    data = planted.topic_corpus(400, n_topics=20, n_words=300, length=60, random_state=3)
    table, found = sparse.csr_array(data.counts), []
    for memory in (1024, 0):
        with config_context(working_memory=memory), allocate_shares(table.nnz, 20) as room:
            start = 0.5 * data.topics + 0.5 * data.topics.mean(axis=0)
            update = SweepUpdate(start, np.full(20, 0.1), room, 400, prior=np.full(300, 0.03))
            found.append(refine(update, over(Blocks.from_array(table)), 15).values[0])
    in_memory, in_files = (recovery_errors(topics, data.topics).mean() for topics in found)
    assert in_files < 1.05 * in_memory
    assert recovery_errors(*found).mean() < 0.3 * in_memory


def test_the_likelihood_of_words_without_themselves_tells_the_right_number_of_topics():
    train = planted.topic_corpus(600, n_topics=5, n_words=100, length=40, random_state=2)
    table, values = sparse.csr_array(train.counts), {}
    for k in (2, 5):
        with allocate_shares(table.nnz, k) as room:
            update = update_of(table, k, room=room)
            values[k] = refine(update, over(Blocks.from_array(table)), 40).log_likelihood[-1]
    assert values[5] > values[2]


def test_dirichlet_parameters_are_found():
    data = planted.topic_corpus(2000, n_topics=5, n_words=300, length=80, concentration=0.2, random_state=4)
    table = sparse.csr_array(data.counts)
    with allocate_shares(table.nnz, 5) as room:
        update = SweepUpdate(data.topics, np.full(5, 1.0), room, 2000, prior=np.full(300, 0.03))
        refine(update, over(Blocks.from_array(table)), 40)
    assert update.alpha.sum() == pytest.approx(1.0, rel=0.25)


def test_joining_leaves_the_topics_that_are_there():
    data = planted.topic_corpus(500, n_topics=4, n_words=80, length=40, random_state=5)
    table = sparse.csr_array(data.counts)
    twice = np.vstack([data.topics, data.topics])
    with allocate_shares(table.nnz, 8) as room:
        update = SweepUpdate(twice, np.full(8, 0.1), room, 500, prior=np.full(80, 0.03))
        step = over(Blocks.from_array(table))
        refine(update, step, 3)
        update.join(4)
        topics = refine(update, step, 5).values[0]
    assert topics.shape == (4, 80)
    assert recovery_errors(topics, data.topics).max() < 0.3
    assert update.counts.sum() == pytest.approx(table.sum(), rel=1e-5)


def test_empty_documents_and_fractions_do_no_harm():
    table = sparse.csr_array(np.array([[0, 0, 0], [1.5, 0.25, 0], [0, 0, 2], [0, 1, 1]], float))
    with allocate_shares(table.nnz, 2) as room:
        update = update_of(table, 2, room=room)
        refined = refine(update, over(Blocks.from_array(table)), 12)
    assert np.isfinite(refined.values[0]).all()
    assert np.isfinite(refined.log_likelihood).all()
    assert (update.alpha > 0).all()
