import numpy as np
import pytest
from scipy.spatial.distance import pdist

from latentia import LatentiaError
from latentia.datasets import planted


@pytest.fixture(scope="module")
def chain():
    return planted.hidden_markov_chain(200_000, random_state=3)


def test_same_seed_same_chain_and_the_truth_does_not_depend_on_the_lengths(chain):
    again = planted.hidden_markov_chain(200_000, random_state=3)
    assert (chain.symbols == again.symbols).all()
    assert (chain.states == again.states).all()
    short = planted.hidden_markov_chain(lengths=[3, 4], random_state=3)
    assert (chain.transmat == short.transmat).all()
    assert (chain.emissionprob == short.emissionprob).all()
    other = planted.hidden_markov_chain(7, random_state=4)
    assert (chain.transmat != other.transmat).any()
    assert (planted.gaussian_chain(50).X == planted.gaussian_chain(50).X).all()


def test_parameters_reach_the_bounds(chain):
    np.testing.assert_allclose(chain.transmat.sum(axis=1), 1)
    np.testing.assert_allclose(chain.emissionprob.sum(axis=1), 1)
    np.testing.assert_allclose(chain.startprob @ chain.transmat, chain.startprob)
    assert chain.startprob.sum() == pytest.approx(1)
    assert (np.diag(chain.transmat) >= 0.5).all()
    strict = planted.hidden_markov_chain(
        10, 3, 9, min_mass=0.28, min_singular_value=0.5, min_transition_singular_value=0.6
    )
    assert strict.startprob.min() >= 0.28
    assert np.linalg.svd(strict.emissionprob, compute_uv=False)[-1] >= 0.5
    assert np.linalg.svd(strict.transmat, compute_uv=False)[-1] >= 0.6


def test_chain_follows_its_parameters(chain):
    assert chain.symbols.shape == chain.states.shape == (200_000,)
    assert chain.symbols.dtype == chain.states.dtype == np.int64
    moves, emissions = np.zeros((4, 4)), np.zeros((4, 12))
    np.add.at(moves, (chain.states[:-1], chain.states[1:]), 1)
    np.add.at(emissions, (chain.states, chain.symbols), 1)
    np.testing.assert_allclose(moves.sum(axis=1) / moves.sum(), chain.startprob, atol=0.01)
    np.testing.assert_allclose(moves / moves.sum(axis=1, keepdims=True), chain.transmat, atol=0.01)
    np.testing.assert_allclose(emissions / emissions.sum(axis=1, keepdims=True), chain.emissionprob, atol=0.01)


def test_pairs_of_symbols_have_the_moments_of_the_model(chain):
    pairs = np.zeros((12, 12))
    np.add.at(pairs, (chain.symbols[:-1], chain.symbols[1:]), 1)
    expected = chain.emissionprob.T @ np.diag(chain.startprob) @ chain.transmat @ chain.emissionprob
    np.testing.assert_allclose(pairs / pairs.sum(), expected, atol=4e-3)


def test_sequences_start_from_the_stationary_distribution():
    data = planted.hidden_markov_chain(lengths=np.tile([1, 3], 20_000), persistence=0.9)
    assert data.lengths.sum() == len(data.symbols) == 80_000
    starts = np.cumsum(data.lengths) - data.lengths
    share = np.bincount(data.states[starts]) / len(starts)
    np.testing.assert_allclose(share, data.startprob, atol=0.015)
    # The state before a start says nothing about it, for all the persistence.
    joint = np.zeros((4, 4))
    np.add.at(joint, (data.states[starts[1:] - 1], data.states[starts[1:]]), 1)
    np.testing.assert_allclose(joint / joint.sum(), np.outer(data.startprob, data.startprob), atol=0.01)
    assert list(planted.hidden_markov_chain(9).lengths) == [9]


def test_gaussian_chain_follows_its_parameters():
    variance = np.array([1.0, 4.0, 1.0])
    data = planted.gaussian_chain(60_000, 3, 3, variance=variance, lengths=[20_000, 40_000])
    assert data.X.shape == (60_000, 3)
    assert np.sqrt(np.mean(pdist(data.means) ** 2)) == pytest.approx(4 * np.sqrt(2))
    for k in range(3):
        rows = data.X[data.states == k]
        np.testing.assert_allclose(rows.mean(axis=0), data.means[k], atol=0.1)
        np.testing.assert_allclose(rows.var(axis=0), data.variances[k], rtol=0.05)
    moves = np.zeros((3, 3))
    np.add.at(moves, (data.states[:-1], data.states[1:]), 1)
    np.testing.assert_allclose(moves / moves.sum(axis=1, keepdims=True), data.transmat, atol=0.015)


def test_one_state_draws_independent_symbols():
    data = planted.hidden_markov_chain(1000, 1, 3)
    assert (data.states == 0).all()
    assert data.transmat == pytest.approx(1)


def test_bad_parameters():
    with pytest.raises(LatentiaError, match="at most 1/20; lower it"):
        planted.hidden_markov_chain(10, 20, 40)
    with pytest.raises(LatentiaError, match="min_transition_singular_value=0.99; lower"):
        planted.hidden_markov_chain(10, min_transition_singular_value=0.99)
    with pytest.raises(LatentiaError, match="4 states and 3 symbols has min_singular_value"):
        planted.hidden_markov_chain(10, 4, 3)
    with pytest.raises(LatentiaError, match="persistence=1"):
        planted.gaussian_chain(10, persistence=1)
    with pytest.raises(LatentiaError, match="concentration=0"):
        planted.hidden_markov_chain(10, concentration=0)
    with pytest.raises(LatentiaError, match="n_steps=0"):
        planted.hidden_markov_chain(0)
    for lengths in ([], [3, 0], [[1]], [1.5]):
        with pytest.raises(LatentiaError, match="list of integers"):
            planted.gaussian_chain(lengths=lengths)
