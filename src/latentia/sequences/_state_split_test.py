"""A test whether one state of a fitted chain of symbols stands for several.

Consecutive steps in one state are independent given it. If the state stands for two persistent states, such steps agree.
With scores s_j(x) of its symbols, of mean 0 and covariance I under O_j, and the probability g_tj of state j at step t, the
matrix

    sum_t g_tj s_j(x_t) sum_l r^(l - 1) g_t-l,j s_j(x_t-l)^T

then has an eigenvalue beyond noise, whose eigenvector v says which symbols each of the two emits more often. The states in
which this is clearest are split, O_jx exp(+- a v^T s_j(x)), and a few steps of EM from there measure the gain.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..likelihood import over, race_updates, refine
from ..passes import Block, Blocks
from ._chain import Chain
from ._emissions import Emissions
from ._lags import find_pair_starts
from .recursions import forward_backward

_LAGS, _DECAY = 3, 0.7  # past steps that are compared, and the weight r per step
_TILT, _MAX_TILT = 0.7, 1.5  # change of a log-probability: for a score of one, and at most
_STAY_FACTOR = 1.5  # The two new states stay this many times as often as by chance.
_MAX_SPLITS = 2  # states that are tried
_EM_STEPS = 5  # E-steps of each split
_MIN_VARIANCE_SHARE = 1e-6  # Scores with a smaller share of the largest variance are dropped.


def try_state_split(
    kind: Emissions, chain: Chain, sample: Blocks, basis: np.ndarray, deviations: np.ndarray, converged: bool
) -> tuple[float, Chain]:
    """Split the most doubtful state and return the gain in log-likelihood after a few steps of EM, and the larger chain.

    Parameters
    ----------
    kind : Emissions
        A kind of symbols.
    chain : Chain
    sample : Blocks
        Steps and lengths.
    basis : ndarray of shape (S, b)
        Coordinates of the symbols.
    deviations : ndarray of shape (S,)
    converged : bool
        True if EM has converged on exactly these steps.
    """
    e_step, k = over(sample), len(chain.startprob)
    posteriors = [forward_backward(*kind.recursion_arguments(chain, block))[1] for block in sample]
    agreements = [
        _measure_agreement(chain.emissions[j], basis, sample, [posterior[:, j] for posterior in posteriors])
        for j in range(k)
    ]
    candidates = sorted(range(k), key=lambda state: -agreements[state][0])[:_MAX_SPLITS]
    splits = {
        str(state): kind.update(_split_state(chain, state, agreements[state][1]), deviations) for state in candidates
    }
    split_fit = race_updates(splits, e_step, "auto", _EM_STEPS, max_steps=dict.fromkeys(splits, _EM_STEPS)).reached
    refit = refine(kind.update(chain, deviations), e_step, "auto", max_steps=1 if converged else _EM_STEPS)
    return float(split_fit.log_likelihood.max() - refit.log_likelihood.max()), kind.build_chain(split_fit.values)


def _measure_agreement(
    emissions: np.ndarray, basis: np.ndarray, sample: Iterable[Block], posteriors: list[np.ndarray]
) -> tuple[float, np.ndarray]:
    """Measure how much steps in a state agree with earlier ones, against noise; also the symbols' scores that agree most."""
    centred = basis - emissions @ basis
    variances, axes = np.linalg.eigh((centred.T * emissions) @ centred)
    is_large = variances > max(_MIN_VARIANCE_SHARE * variances[-1], np.finfo(float).eps)
    if not is_large.any():  # The state emits a single symbol.
        return 0.0, np.zeros(len(basis))
    scores = centred @ (axes[:, is_large] / np.sqrt(variances[is_large]))
    size = scores.shape[1]
    lagged_products, noise = np.zeros((size, size)), np.finfo(float).tiny
    for block, posterior in zip(sample, posteriors, strict=True):
        current = posterior[:, None] * scores[block[0].ravel()]
        past = np.zeros_like(current)
        for lag in range(1, _LAGS + 1):
            starts = find_pair_starts(block[-1], lag)
            past[starts + lag] += _DECAY ** (lag - 1) * current[starts]
        lagged_products += current.T @ past
        noise += float((current**2).sum(axis=1) @ (past**2).sum(axis=1))
    values, vectors = np.linalg.eigh(lagged_products + lagged_products.T)
    return float(values[-1] * np.sqrt(size / noise)), scores @ vectors[:, -1]


def _split_state(chain: Chain, state: int, scores: np.ndarray) -> Chain:
    """Replace a state by two persistent states that prefer symbols of high or of low scores."""
    k = len(chain.startprob)
    halves, origins = [state, k], np.append(np.arange(k), state)
    startprob = chain.startprob[origins]
    transmat = chain.transmat[np.ix_(origins, origins)]
    emissions = chain.emissions[origins]
    startprob[halves] /= 2
    transmat[:, halves] /= 2
    transmat[halves, halves] *= _STAY_FACTOR
    tilt = np.clip(_TILT * scores, -_MAX_TILT, _MAX_TILT)
    emissions[halves] *= np.exp([tilt, -tilt])
    transmat, emissions = (rows / rows.sum(axis=1, keepdims=True) for rows in (transmat, emissions))
    return Chain(startprob, transmat, emissions)
