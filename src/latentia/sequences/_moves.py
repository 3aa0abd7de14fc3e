"""Moves that leave a local optimum of a chain of vectors: a state is taken out, and another one is split.

EM cannot carry a state from where there are too many to where there are too few. What it costs to take a state out, and what a
split gains, is told by a few steps of EM with a state less and with a state more; the best of both are made together.

Source: N. Ueda, R. Nakano, Z. Ghahramani, G. E. Hinton, SMEM algorithm for mixture models, Neural Computation 12 (2000), for
moves of mixtures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np

from ._chain import Chain

_APART = 0.6  # standard deviations by which the means of halves move
_WIDER = 2.0  # times the variance of the wide half, and as many times less of the narrow one
_STAY = 1.5  # times as often as by chance halves stay
_N_BEST = 3  # removals and splits that are combined
_FEW, _SOME, _MANY = 2, 4, 25  # E-steps of a removal or split alone, of both, and of the best move
_ROUNDS = 3
_HIGHER = 1.0  # nats that a move must gain

Climb = Callable[[Chain, int], tuple[float, Chain]]
"""``climb(chain, steps)``: the log-likelihood after so many steps of EM, and the chain then."""


def escape_local_optimum(chain: Chain, climb: Climb) -> Chain:
    """Move states while the likelihood rises by it."""
    height, chain = climb(chain, _MANY)
    for _ in range(_ROUNDS if len(chain.startprob) > 1 else 0):
        tried = [climb(move, _SOME) for move in _moves(chain, climb)]
        further = climb(max(tried, key=_height)[1], _MANY) if tried else (-np.inf, chain)
        if not further[0] > height + _HIGHER:
            break
        height, chain = further
    return chain


def _moves(chain: Chain, climb: Climb) -> list[Chain]:
    """Return the most promising chains after one removal and one split."""
    states = range(len(chain.startprob))
    removals = sorted(((climb(_remove(chain, state), _FEW)[0], state) for state in states), reverse=True)
    kinds = list(product(states, (False, True)))
    splits = sorted(((climb(_split(chain, *kind), _FEW)[0], kind) for kind in kinds), reverse=True)
    pairs = product(removals[: _N_BEST + 1], splits[:_N_BEST])
    return [_remove(_split(chain, *kind), state) for (_, state), (_, kind) in pairs if state != kind[0]]


def _remove(chain: Chain, state: int) -> Chain:
    """Take a state out: what passes through it goes on as from there."""
    others = np.delete(np.arange(len(chain.startprob)), state)
    onward = chain.transmat[state, others]
    onward = onward / onward.sum() if onward.sum() > 0 else np.full(len(others), 1 / len(others))
    startprob = chain.startprob[others] + chain.startprob[state] * onward
    transmat = chain.transmat[np.ix_(others, others)] + np.outer(chain.transmat[others, state], onward)
    assert chain.variances is not None
    return replace(
        chain, startprob=startprob / startprob.sum(), transmat=transmat / transmat.sum(axis=1, keepdims=True),
        emissions=chain.emissions[others], variances=chain.variances[others],
    )  # fmt: skip


def _split(chain: Chain, state: int, by_variance: bool) -> Chain:
    """Split a state in two that stay a little, the second one last: with means apart, or one wide and one narrow."""
    assert chain.variances is not None
    k = len(chain.startprob)
    both, each = [state, k], np.append(np.arange(k), state)
    startprob, transmat = chain.startprob[each], chain.transmat[np.ix_(each, each)]
    startprob[both] /= 2
    transmat[:, both] /= 2
    transmat[both, both] *= _STAY
    means, variances = chain.emissions[each], chain.variances[each]
    if by_variance:
        variances[state], variances[k] = variances[state] * _WIDER, variances[k] / _WIDER
    else:
        step = _APART * np.sqrt(variances[state])
        means[state], means[k] = means[state] + step, means[k] - step
    return replace(
        chain, startprob=startprob, transmat=transmat / transmat.sum(axis=1, keepdims=True), emissions=means,
        variances=variances,
    )  # fmt: skip


def _height(climbed: tuple[float, Chain]) -> float:
    return climbed[0]
