"""Planted matrices, two-state chains and block models: what they draw follows what they say."""

import numpy as np
import pytest

from latentia import LatentiaError
from latentia.datasets import planted


def test_pairs_follow_the_matrix():
    data = planted.word_pairs(200_000, 3, 30, base="uniform", n_triples=1000)
    B = data.rows(slice(None))
    assert B.sum() == pytest.approx(1)
    assert (B == B.T).all() or pytest.approx(B.T) == B
    table = data.counts.toarray()
    assert table.sum() == 200_000
    assert np.abs(table / 200_000 - B).sum() < 0.1
    assert data.triples.shape == (1000, 3)
    assert data.rows([2], slice(3, 5)) == pytest.approx(B[[2], 3:5])


def test_the_same_seed_plants_the_same_matrix_for_all_sizes():
    first, second = (planted.word_pairs(n, 4, 100, random_state=3) for n in (10, 5000))
    assert (first.components == second.components).all()
    assert (first.mixing == second.mixing).all()


def test_a_given_mixing():
    mixing = np.array([[0.0, 1.0], [1.0, 0.0]])
    data = planted.word_pairs(1000, 2, 50, mixing=mixing)
    assert data.mixing == pytest.approx(mixing / 2)
    with pytest.raises(LatentiaError, match="symmetric nonnegative"):
        planted.word_pairs(10, 2, 5, mixing=np.array([[0, 1.0], [0, 1]]))
    with pytest.raises(LatentiaError, match="diagonal mixing"):
        planted.word_pairs(10, 2, 5, mixing=mixing, n_triples=3)
    with pytest.raises(LatentiaError, match="base="):
        planted.word_pairs(10, 2, 5, base="flat")


def test_chains_switch_and_show_halves():
    chain = planted.two_state_chain(100_000, 100, switch=(0.1, 0.3), emissions="halves")
    assert (chain.emissionprob > 0).sum(axis=1).tolist() == [50, 50]
    assert chain.startprob == pytest.approx([0.75, 0.25])
    assert (chain.states[1:] != chain.states[:-1]).mean() == pytest.approx(0.15, abs=0.01)
    assert (chain.emissionprob[chain.states, chain.symbols] > 0).all()
    with pytest.raises(LatentiaError, match="switch="):
        planted.two_state_chain(10, 5, switch=(0.0, 0.5))


def test_block_models_have_their_degrees():
    graph = planted.block_model(20_000, 3, degree=6, snr=1.5)
    a = graph.adjacency
    assert abs(a - a.T).sum() == 0
    assert a.diagonal().sum() == 0
    assert set(a.data) == {1.0}
    assert a.sum() / 20_000 == pytest.approx(6, rel=0.03)
    u, v = a.nonzero()
    within = (graph.labels[u] == graph.labels[v]).mean()
    apart = 3 * np.sqrt(1.5 * 6)
    across = 6 - apart / 3
    assert within == pytest.approx((across + apart) / 3 / 6, abs=0.01)
    with pytest.raises(LatentiaError, match="negative probability"):
        planted.block_model(100, 2, degree=1, snr=4)
