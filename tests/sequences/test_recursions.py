import numpy as np
import pytest

from latentia.exceptions import LatentiaError
from latentia.sequences.recursions import forward_backward, log_likelihood, viterbi

LENGTHS = [5, 1, 4]


def test_recursions_match_all_paths(parameters, enumerate_paths):
    startprob, transmat, _ = parameters
    density = np.random.default_rng(1).uniform(0, 3, (sum(LENGTHS), 3))
    pieces = [enumerate_paths(startprob, transmat, d) for d in np.split(density, np.cumsum(LENGTHS)[:-1])]
    total, posterior, transitions, start = forward_backward(startprob, transmat, np.log(density), LENGTHS)
    np.testing.assert_allclose(total, sum(np.log(p[0]) for p in pieces))
    np.testing.assert_allclose(posterior, np.vstack([p[1] for p in pieces]))
    np.testing.assert_allclose(transitions, sum(p[2] for p in pieces))
    np.testing.assert_allclose(start, sum(p[1][0] for p in pieces))
    np.testing.assert_allclose(log_likelihood(startprob, transmat, np.log(density), LENGTHS), total)
    states, log_probability = viterbi(startprob, transmat, np.log(density), LENGTHS)
    assert states.tolist() == [s for p in pieces for s in p[3][1]]
    np.testing.assert_allclose(log_probability, sum(np.log(p[3][0]) for p in pieces))


def test_symbols_gather_their_densities(parameters):
    startprob, transmat, emissionprob = parameters
    x = np.random.default_rng(1).integers(0, 6, (sum(LENGTHS), 1))
    table = np.log(emissionprob.T)
    full = forward_backward(startprob, transmat, table[x[:, 0]], LENGTHS)
    gathered = forward_backward(startprob, transmat, table, LENGTHS, x)
    for a, b in zip(full, gathered, strict=True):
        np.testing.assert_allclose(a, b)
    a, b = (viterbi(startprob, transmat, *d) for d in ((table[x[:, 0]], LENGTHS), (table, LENGTHS, x)))
    assert (a[0] == b[0]).all()
    assert a[1] == b[1]


def test_a_million_steps_and_extreme_densities(parameters):
    startprob, transmat, _ = parameters
    n = 1_000_000
    log_density = np.random.default_rng(0).normal(scale=50, size=(n, 3))
    total, posterior, transitions, _ = forward_backward(startprob, transmat, log_density, [n])
    np.testing.assert_allclose(posterior.sum(axis=1), 1, atol=1e-10)
    np.testing.assert_allclose(transitions.sum(), n - 1)
    shifted = forward_backward(startprob, transmat, log_density - 1e4, [n])
    np.testing.assert_allclose(shifted[0], total - 1e4 * n)
    np.testing.assert_allclose(shifted[1], posterior, atol=1e-9)


def test_densities_of_the_reachable_states_may_underflow():
    transmat = np.array([[1.0, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    log_density = np.array([[0, -2000, -2001], [0, -3000, -3001.0]])
    total, posterior, _, _ = forward_backward(np.array([0, 0.5, 0.5]), transmat, log_density, [2])
    q = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(total, -5000 + 2 * np.log(0.5 / q))
    np.testing.assert_allclose(posterior, [[0, q, 1 - q]] * 2)


def test_an_impossible_observation_leaves_the_prediction(parameters):
    startprob, transmat, _ = parameters
    log_density = np.log(np.random.default_rng(0).uniform(size=(5, 3)))
    log_density[2] = -np.inf
    total, posterior, transitions, start = forward_backward(startprob, transmat, log_density, [5])
    assert total == -np.inf
    assert log_likelihood(startprob, transmat, log_density, [5]) == -np.inf
    log_density[2] = 0  # an observation that says nothing has the same posterior
    same = forward_backward(startprob, transmat, log_density, [5])
    for found, expected in zip((posterior, transitions, start), same[1:], strict=True):
        np.testing.assert_allclose(found, expected)
    states, _ = viterbi(startprob, transmat, log_density, [5])
    log_density[2] = -np.inf
    found, log_probability = viterbi(startprob, transmat, log_density, [5])
    assert (found == states).all()
    assert log_probability == -np.inf


def test_viterbi_avoids_impossible_moves():
    cycle = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
    log_density = np.log([[0.9, 0.1, 0.1], [0.9, 0.1, 0.1], [0.9, 0.1, 0.1], [0.9, 0.1, 0.1]])
    states, log_probability = viterbi(np.array([0, 1.0, 0]), cycle, log_density, [4])
    assert states.tolist() == [1, 2, 0, 1]
    np.testing.assert_allclose(log_probability, np.log(0.9 * 0.1**3))


def test_lengths_must_add_up(parameters):
    with pytest.raises(LatentiaError, match="lengths add up to 9"):
        forward_backward(*parameters[:2], np.zeros((10, 3)), [9])
