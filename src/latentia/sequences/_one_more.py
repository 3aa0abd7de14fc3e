"""What a state more would gain: whether one of the states of a fitted chain of symbols stands for several.

Steps that follow each other in one state are independent given it. Where it stands for two that stay, they agree: with
scores s_j(x) of its symbols, of mean 0 and covariance I under O_j, and the probability g_tj of state j at step t, the matrix

    sum_t g_tj s_j(x_t) sum_l r^(l - 1) g_t-l,j s_j(x_t-l)^T

has an eigenvalue beyond noise, whose eigenvector v says which symbols each of the two shows more often. The states in which
this is clearest are split, O_jx exp(+- a v^T s_j(x)), and a few steps of EM from there say what that gains.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..likelihood import over, race_updates, refine
from ..passes import Block, Blocks
from ._chain import Chain
from ._emissions import Emissions
from ._lags import followed
from .recursions import forward_backward

_LAGS, _FADE = 3, 0.7
_TILT, _MOST_TILT = 0.7, 1.5  # of logarithms of the probabilities, for a score of one and at most
_STAY = 1.5  # times as often as by chance the two states stay
_TRIED = 2  # states that are split
_STEPS = 5  # E-steps of each
_SHARE = 1e-6  # of the largest variance, below which scores are left out


def one_state_more(
    kind: Emissions, chain: Chain, some: Blocks, basis: np.ndarray, deviations: np.ndarray, converged: bool
) -> tuple[float, Chain]:
    """The log-likelihood of some steps that a state more gains within a few steps of EM, and the chain with it.

    Parameters
    ----------
    kind : Emissions
        Of symbols.
    chain : Chain
    some : Blocks
        Steps and lengths.
    basis : ndarray of shape (S, b)
        Coordinates of the symbols.
    deviations : ndarray of shape (S,)
    converged : bool
        Whether the chain is the likeliest of its size on these very steps.
    """
    e_step, k = over(some), len(chain.startprob)
    posteriors = [forward_backward(*kind.arguments(chain, block))[1] for block in some]
    found = [_agreement(chain.emissions[j], basis, some, [one[:, j] for one in posteriors]) for j in range(k)]
    clearest = sorted(range(k), key=lambda state: -found[state][0])[:_TRIED]
    splits = {str(state): kind.update(_split(chain, state, found[state][1]), deviations) for state in clearest}
    more = race_updates(splits, e_step, "auto", _STEPS, max_steps=dict.fromkeys(splits, _STEPS)).reached
    same = refine(kind.update(chain, deviations), e_step, "auto", max_steps=1 if converged else _STEPS)
    return float(more.log_likelihood.max() - same.log_likelihood.max()), kind.chain(more.values)


def _agreement(
    shown: np.ndarray, basis: np.ndarray, some: Iterable[Block], posteriors: list[np.ndarray]
) -> tuple[float, np.ndarray]:
    """How much steps in a state agree with those before them, against noise, and the scores of symbols that agree most."""
    apart = basis - shown @ basis
    variances, axes = np.linalg.eigh((apart.T * shown) @ apart)
    kept = variances > max(_SHARE * variances[-1], np.finfo(float).eps)
    if not kept.any():  # the state shows a single symbol
        return 0.0, np.zeros(len(basis))
    scores = apart @ (axes[:, kept] / np.sqrt(variances[kept]))
    size = scores.shape[1]
    together, noise = np.zeros((size, size)), np.finfo(float).tiny
    for block, posterior in zip(some, posteriors, strict=True):
        now = posterior[:, None] * scores[block[0].ravel()]
        before = np.zeros_like(now)
        for lag in range(1, _LAGS + 1):
            first = followed(block[-1], lag)
            before[first + lag] += _FADE ** (lag - 1) * now[first]
        together += now.T @ before
        noise += float((now**2).sum(axis=1) @ (before**2).sum(axis=1))
    values, vectors = np.linalg.eigh(together + together.T)
    return float(values[-1] * np.sqrt(size / noise)), scores @ vectors[:, -1]


def _split(chain: Chain, state: int, scores: np.ndarray) -> Chain:
    """Two states in the place of one, which stay a little and show symbols of high or of low scores."""
    k = len(chain.startprob)
    both, each = [state, k], np.append(np.arange(k), state)
    startprob, transmat, emissions = chain.startprob[each], chain.transmat[np.ix_(each, each)], chain.emissions[each]
    startprob[both] /= 2
    transmat[:, both] /= 2
    transmat[both, both] *= _STAY
    tilt = np.clip(_TILT * scores, -_MOST_TILT, _MOST_TILT)
    emissions[both] *= np.exp([tilt, -tilt])
    transmat, emissions = (rows / rows.sum(axis=1, keepdims=True) for rows in (transmat, emissions))
    return Chain(startprob, transmat, emissions)
