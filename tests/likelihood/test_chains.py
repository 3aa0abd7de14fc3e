import itertools

import numpy as np
import pytest

from latentia.exceptions import LatentiaError
from latentia.likelihood import (
    GaussianChainUpdate,
    SymbolChainUpdate,
    forward_backward,
    gaussian_log_density,
    log_likelihood,
    viterbi,
)
from latentia.passes import Blocks, accumulate

LENGTHS = [5, 1, 4]


@pytest.fixture
def chain():
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(6), 3)


def draw(startprob, transmat, lengths, rng):
    states = []
    for length in lengths:
        p = startprob
        for _ in range(length):
            states.append(rng.choice(len(p), p=p))
            p = transmat[states[-1]]
    return np.array(states)


def draw_symbols(model, lengths, seed=1):
    rng = np.random.default_rng(seed)
    states = draw(*model[:2], lengths, rng)
    return np.array([rng.choice(model[2].shape[1], p=model[2][s]) for s in states])[:, None]


def enumerate_paths(startprob, transmat, density):
    """Likelihood, posterior, transitions and the best path of one sequence, from all paths."""
    n, k = density.shape
    posterior, transitions, best = np.zeros((n, k)), np.zeros((k, k)), (-1.0, ())
    for path in itertools.product(range(k), repeat=n):
        moves = list(itertools.pairwise(path))
        p = startprob[path[0]] * np.prod([transmat[m] for m in moves]) * np.prod(density[range(n), path])
        best = max(best, (p, path))
        posterior[range(n), path] += p
        for move in moves:
            transitions[move] += p
    total = posterior[0].sum()
    return total, posterior / total, transitions / total, best


def test_recursions_match_all_paths(chain):
    startprob, transmat, _ = chain
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


def test_symbols_gather_their_densities(chain):
    startprob, transmat, emissionprob = chain
    x = draw_symbols(chain, LENGTHS)
    table = np.log(emissionprob.T)
    full = forward_backward(startprob, transmat, table[x[:, 0]], LENGTHS)
    gathered = forward_backward(startprob, transmat, table, LENGTHS, x)
    for a, b in zip(full, gathered, strict=True):
        np.testing.assert_allclose(a, b)
    a, b = (viterbi(startprob, transmat, *d) for d in ((table[x[:, 0]], LENGTHS), (table, LENGTHS, x)))
    assert (a[0] == b[0]).all()
    assert a[1] == b[1]


def test_a_million_steps_and_extreme_densities(chain):
    startprob, transmat, _ = chain
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


def test_an_impossible_observation_leaves_the_prediction(chain):
    startprob, transmat, _ = chain
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


def test_symbol_step_matches_naive_sums(chain):
    x, update = draw_symbols(chain, LENGTHS), SymbolChainUpdate(*chain)
    state = accumulate(Blocks.from_array(x, lengths=LENGTHS), update)
    ends = np.cumsum(LENGTHS)[:-1]
    pieces = [enumerate_paths(*chain[:2], chain[2].T[part[:, 0]]) for part in np.split(x, ends)]
    posterior = np.vstack([p[1] for p in pieces])
    emissions = np.zeros((3, 6))
    for t, symbol in enumerate(x[:, 0]):
        emissions[:, symbol] += posterior[t]
    transitions, start = sum(p[2] for p in pieces), sum(p[1][0] for p in pieces)
    assert state.n_steps == 10
    np.testing.assert_allclose(state.log_likelihood, sum(np.log(p[0]) for p in pieces))
    for prior in (0, 0.1):
        for new, counts in zip(update.updated(state, prior), (start, transitions, emissions), strict=True):
            expected = counts + prior
            np.testing.assert_allclose(new, expected / expected.sum(axis=-1, keepdims=True))


def test_symbols_of_any_type_and_no_others(chain):
    x, update = draw_symbols(chain, LENGTHS), SymbolChainUpdate(*chain)
    expected = accumulate(Blocks.from_array(x, lengths=LENGTHS), update)
    for dtype in (np.uint8, np.int32, np.float32):
        state = accumulate(Blocks.from_array(x.astype(dtype), lengths=LENGTHS), update)
        assert (state.emissions == expected.emissions).all()
    for wrong in (6, -1, 0.5, np.nan):
        x = x.astype(float)
        x[7] = wrong
        with pytest.raises(LatentiaError, match="in row 7: symbols must be whole numbers from 0 to 5"):
            accumulate(Blocks.from_array(x, lengths=LENGTHS, block_rows=4), update)
    with pytest.raises(LatentiaError, match="lengths add up to 9"):
        forward_backward(*chain[:2], np.zeros((10, 3)), [9])


def test_gaussian_step_matches_naive_sums(chain):
    rng = np.random.default_rng(0)
    x, means, variances = rng.normal(size=(10, 2)), rng.normal(size=(3, 2)), rng.uniform(0.5, 2, (3, 2))
    update = GaussianChainUpdate(*chain[:2], means, variances)
    state = accumulate(Blocks.from_array(x, lengths=LENGTHS), update)
    squares = (x[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)
    log_density = -0.5 * squares.sum(axis=2)
    np.testing.assert_allclose(gaussian_log_density(x, means, variances), log_density)
    total, gamma, transitions, start = forward_backward(*chain[:2], log_density, LENGTHS)
    mass = gamma.sum(axis=0)[:, None]
    mean = gamma.T @ x / mass
    expected = start / start.sum(), transitions / transitions.sum(1)[:, None], mean, gamma.T @ x**2 / mass - mean**2
    np.testing.assert_allclose(state.log_likelihood, total)
    for found, want in zip(update.updated(state), expected, strict=True):
        np.testing.assert_allclose(found, want)
    floor = np.array([0.0, 9.0])
    assert (update.updated(state, floor)[3][:, 1] == 9).all()


def planted_gaussian(shift=0.0):
    rng = np.random.default_rng(3)
    transmat = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    means = np.array([[0.0, 0], [3, 0], [0, 3]])
    lengths = [40] * 20
    x = means[draw(np.ones(3) / 3, transmat, lengths, rng)] + rng.normal(size=(800, 2)) + shift
    return x, lengths, (np.ones(3) / 3, transmat, means + 0.5 + shift, np.full((3, 2), 2.0))


@pytest.mark.parametrize("kind", ["symbols", "vectors"])
def test_em_never_lowers_the_likelihood(kind, chain):
    if kind == "symbols":
        lengths = [30] * 20
        blocks, make = Blocks.from_array(draw_symbols(chain, lengths), lengths=lengths), SymbolChainUpdate
        rng = np.random.default_rng(5)
        model = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(6), 3)
    else:
        x, lengths, model = planted_gaussian()
        blocks, make = Blocks.from_array(x, lengths=lengths), GaussianChainUpdate
    history = []
    for _ in range(30):
        update = make(*model)
        state = accumulate(blocks, update)
        history.append(state.log_likelihood)
        model = update.updated(state)
    assert (np.diff(history) > -1e-8 * abs(history[0])).all()
    assert history[-1] > history[0] + 10


def test_vectors_far_from_the_origin():
    near, far = [], []
    for results, shift in ((near, 0.0), (far, 2.0**20)):  # a power of two, so that shifted data is rounded less
        x, lengths, model = planted_gaussian(shift)
        for _ in range(3):
            update = GaussianChainUpdate(*model)
            state = accumulate(Blocks.from_array(x, lengths=lengths), update)
            model = update.updated(state, 1e-3)
        results += [*model[:2], model[2] - shift, model[3], state.log_likelihood]
    for a, b in zip(near, far, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["symbols", "vectors"])
def test_same_bits_for_any_number_of_threads(kind, chain):
    if kind == "symbols":
        lengths = [7] * 60
        x, update = draw_symbols(chain, lengths), SymbolChainUpdate(*chain)
    else:
        x, lengths, model = planted_gaussian()
        update = GaussianChainUpdate(*model)
    results = {}
    for rows in (17, 60, 10_000):
        blocks = Blocks.from_array(x, lengths=lengths, block_rows=rows)
        one, two = (accumulate(blocks, update, n_jobs) for n_jobs in (1, 2))
        assert one.log_likelihood == two.log_likelihood
        for a, b in zip(update.updated(one), update.updated(two), strict=True):
            assert (a == b).all()
        results[rows] = update.updated(one)
    for rows in (17, 60):
        for a, b in zip(results[rows], results[10_000], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_state_without_mass_keeps_its_rows(chain):
    startprob, transmat = np.array([0.5, 0.5, 0]), np.array([[0.5, 0.5, 0], [0.2, 0.8, 0], [0.3, 0.3, 0.4]])
    update = SymbolChainUpdate(startprob, transmat, chain[2])
    new = update.updated(accumulate(Blocks.from_array(draw_symbols(chain, LENGTHS), lengths=LENGTHS), update), 0.1)
    assert (new[1][2] == transmat[2]).all()
    assert (new[2][2] == chain[2][2]).all()
    assert all(np.isfinite(part).all() for part in new)
    model = startprob, transmat, np.zeros((3, 1)), np.arange(1.0, 4)[:, None]
    gaussian = GaussianChainUpdate(*model)
    x = np.random.default_rng(0).normal(size=(10, 1))
    new = gaussian.updated(accumulate(Blocks.from_array(x, lengths=LENGTHS), gaussian), 0.01)
    assert new[2][2] == 0
    assert new[3][2] == 3


def test_sequences_of_one_step(chain):
    x, update = draw_symbols(chain, [1] * 50), SymbolChainUpdate(*chain)
    state = accumulate(Blocks.from_array(x, lengths=[1] * 50), update)
    joint = chain[0] * chain[2].T[x[:, 0]]
    np.testing.assert_allclose(state.start, (joint / joint.sum(axis=1, keepdims=True)).sum(axis=0))
    np.testing.assert_allclose(state.log_likelihood, np.log(joint.sum(axis=1)).sum())
    assert (update.updated(state)[1] == chain[1]).all()


def test_an_impossible_symbol_is_survived(chain):
    emissionprob = chain[2].copy()
    emissionprob[:, 3] = 0
    update = SymbolChainUpdate(*chain[:2], emissionprob)
    x = np.array([0, 3, 1, 3, 2, 3, 1, 1, 0, 2])[:, None]
    state = accumulate(Blocks.from_array(x, lengths=LENGTHS), update)
    assert state.log_likelihood == -np.inf
    new = update.updated(state)
    for part in new:
        np.testing.assert_allclose(part.sum(axis=-1), 1)
