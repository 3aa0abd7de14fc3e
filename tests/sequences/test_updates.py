import numpy as np
import pytest

from latentia.exceptions import LatentiaError
from latentia.likelihood import estimate_values, gaussian_log_density
from latentia.passes import Blocks, accumulate
from latentia.sequences.recursions import forward_backward
from latentia.sequences.updates import EmissionUpdate, GaussianChainUpdate, SymbolChainUpdate

LENGTHS = [5, 1, 4]


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


def test_symbol_step_matches_naive_sums(parameters, enumerate_paths):
    x, update = draw_symbols(parameters, LENGTHS), SymbolChainUpdate(*parameters)
    state = accumulate(Blocks.from_array(x, lengths=LENGTHS), update)
    ends = np.cumsum(LENGTHS)[:-1]
    pieces = [enumerate_paths(*parameters[:2], parameters[2].T[part[:, 0]]) for part in np.split(x, ends)]
    posterior = np.vstack([p[1] for p in pieces])
    emissions = np.zeros((3, 6))
    for t, symbol in enumerate(x[:, 0]):
        emissions[:, symbol] += posterior[t]
    transitions, start = sum(p[2] for p in pieces), sum(p[1][0] for p in pieces)
    assert state.n_steps == 10
    np.testing.assert_allclose(state.log_likelihood, sum(np.log(p[0]) for p in pieces))
    for prior in (0, 0.1):
        update = SymbolChainUpdate(*parameters, prior)
        for new, counts in zip(estimate_values(update, state), (start, transitions, emissions), strict=True):
            expected = counts + prior
            np.testing.assert_allclose(new, expected / expected.sum(axis=-1, keepdims=True))


def test_symbols_of_any_type_and_no_others(parameters):
    x, update = draw_symbols(parameters, LENGTHS), SymbolChainUpdate(*parameters)
    expected = accumulate(Blocks.from_array(x, lengths=LENGTHS), update)
    for dtype in (np.uint8, np.int32, np.float32):
        state = accumulate(Blocks.from_array(x.astype(dtype), lengths=LENGTHS), update)
        assert (state.emissions == expected.emissions).all()
    for wrong in (7, -1, 0.5, np.nan):  # 6 is a missing one
        x = x.astype(float)
        x[7] = wrong
        with pytest.raises(LatentiaError, match="whole numbers from 0 to 6; row 7"):
            accumulate(Blocks.from_array(x, lengths=LENGTHS, block_rows=4), update)


def test_emissions_alone(parameters):
    x = draw_symbols(parameters, LENGTHS)
    prior = np.linspace(0.1, 1, 6)
    alone, full = EmissionUpdate(*parameters, prior), SymbolChainUpdate(*parameters)
    states = [accumulate(Blocks.from_array(x, lengths=LENGTHS), update) for update in (alone, full)]
    assert states[0].log_likelihood == states[1].log_likelihood
    (new,) = estimate_values(alone, states[0])
    expected = states[1].emissions + prior
    np.testing.assert_allclose(new, expected / expected.sum(axis=1, keepdims=True))
    there = alone.move_to(new)
    assert (there.values[0] == new).all()
    for kept, value in zip((there.startprob, there.transmat, there.prior), (*parameters[:2], prior), strict=True):
        assert (kept == value).all()


def test_gaussian_step_matches_naive_sums(parameters):
    rng = np.random.default_rng(0)
    x, means, variances = rng.normal(size=(10, 2)), rng.normal(size=(3, 2)), rng.uniform(0.5, 2, (3, 2))
    update = GaussianChainUpdate(*parameters[:2], means, variances)
    state = accumulate(Blocks.from_array(x, lengths=LENGTHS), update)
    squares = (x[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)
    log_density = -0.5 * squares.sum(axis=2)
    np.testing.assert_allclose(gaussian_log_density(x, means, variances), log_density)
    total, gamma, transitions, start = forward_backward(*parameters[:2], log_density, LENGTHS)
    mass = gamma.sum(axis=0)[:, None]
    mean = gamma.T @ x / mass
    expected = start / start.sum(), transitions / transitions.sum(1)[:, None], mean, gamma.T @ x**2 / mass - mean**2
    np.testing.assert_allclose(state.log_likelihood, total)
    for found, want in zip(estimate_values(update, state), expected, strict=True):
        np.testing.assert_allclose(found, want)
    update = GaussianChainUpdate(*parameters[:2], means, variances, np.array([0.0, 9.0]), 0.5)
    smoothed = (start + 0.5) / (start + 0.5).sum(), (transitions + 0.5) / (transitions + 0.5).sum(1)[:, None]
    for found, want in zip(estimate_values(update, state), (*smoothed, mean), strict=False):
        np.testing.assert_allclose(found, want)
    assert (estimate_values(update, state)[3][:, 1] == 9).all()


def planted_gaussian(shift=0.0):
    rng = np.random.default_rng(3)
    transmat = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    means = np.array([[0.0, 0], [3, 0], [0, 3]])
    lengths = [40] * 20
    x = means[draw(np.ones(3) / 3, transmat, lengths, rng)] + rng.normal(size=(800, 2)) + shift
    return x, lengths, (np.ones(3) / 3, transmat, means + 0.5 + shift, np.full((3, 2), 2.0))


def test_vectors_far_from_the_origin():
    near, far = [], []
    for results, shift in ((near, 0.0), (far, 2.0**20)):  # a power of two, so that shifted data is rounded less
        x, lengths, model = planted_gaussian(shift)
        for _ in range(3):
            update = GaussianChainUpdate(*model, 1e-3)
            state = accumulate(Blocks.from_array(x, lengths=lengths), update)
            model = estimate_values(update, state)
        results += [*model[:2], model[2] - shift, model[3], state.log_likelihood]
    for a, b in zip(near, far, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_a_state_without_mass_keeps_its_rows(parameters):
    startprob, transmat = np.array([0.5, 0.5, 0]), np.array([[0.5, 0.5, 0], [0.2, 0.8, 0], [0.3, 0.3, 0.4]])
    update = SymbolChainUpdate(startprob, transmat, parameters[2], 0.1)
    x = draw_symbols(parameters, LENGTHS)
    new = estimate_values(update, accumulate(Blocks.from_array(x, lengths=LENGTHS), update))
    assert (new[1][2] == transmat[2]).all()
    assert (new[2][2] == parameters[2][2]).all()
    assert all(np.isfinite(part).all() for part in new)
    model = startprob, transmat, np.zeros((3, 1)), np.arange(1.0, 4)[:, None]
    gaussian = GaussianChainUpdate(*model, 0.01)
    x = np.random.default_rng(0).normal(size=(10, 1))
    new = estimate_values(gaussian, accumulate(Blocks.from_array(x, lengths=LENGTHS), gaussian))
    assert new[2][2] == 0
    assert new[3][2] == 3


def test_sequences_of_one_step(parameters):
    x, update = draw_symbols(parameters, [1] * 50), SymbolChainUpdate(*parameters)
    state = accumulate(Blocks.from_array(x, lengths=[1] * 50), update)
    joint = parameters[0] * parameters[2].T[x[:, 0]]
    np.testing.assert_allclose(state.start, (joint / joint.sum(axis=1, keepdims=True)).sum(axis=0))
    np.testing.assert_allclose(state.log_likelihood, np.log(joint.sum(axis=1)).sum())
    assert (estimate_values(update, state)[1] == parameters[1]).all()


def test_an_impossible_symbol_is_survived(parameters):
    emissionprob = parameters[2].copy()
    emissionprob[:, 3] = 0
    update = SymbolChainUpdate(*parameters[:2], emissionprob)
    x = np.array([0, 3, 1, 3, 2, 3, 1, 1, 0, 2])[:, None]
    state = accumulate(Blocks.from_array(x, lengths=LENGTHS), update)
    assert state.log_likelihood == -np.inf
    new = estimate_values(update, state)
    for part in new:
        np.testing.assert_allclose(part.sum(axis=-1), 1)
