"""Hidden Markov chains: the updates of a pass, for symbols and for vectors. The recursions are in `recursions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..moments.symbols import as_symbols
from ..passes import Block
from .coordinates import Distributions, Expected, Gaussians, Values
from .gaussian import add_gaussian, gaussian_log_density
from .recursions import as_floats, forward_backward
from .rows import log, merged

__all__ = ["ChainSums", "EmissionUpdate", "GaussianChainUpdate", "SymbolChainUpdate"]


@dataclass
class ChainSums:
    """Sums over sequences of one E-step.

    Attributes
    ----------
    start : ndarray of shape (K,)
        Expected sequences that start in each state.
    transitions : ndarray of shape (K, K)
        Expected transitions.
    emissions : ndarray of shape (K, S) or (2, K, d)
        Expected occurrences of every symbol; of vectors, the sums of gamma (x - mean) and gamma (x - mean)^2.
    log_likelihood : float
        In nats.
    n_steps : int
    """

    start: np.ndarray
    transitions: np.ndarray
    emissions: np.ndarray
    log_likelihood: float = 0.0
    n_steps: int = 0


class SymbolChainUpdate:
    """Statistic of one E-step for chains of symbols: blocks of a column of symbols and the lengths.

    Parameters
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K)
    emissionprob : ndarray of shape (K, S)
    prior : float
        Pseudo-counts of every start, transition and symbol.
    """

    def __init__(self, startprob: np.ndarray, transmat: np.ndarray, emissionprob: np.ndarray, prior: Any = 0.0) -> None:
        self.startprob, self.transmat = as_floats(startprob), as_floats(transmat)
        self.emissionprob, self.prior = as_floats(emissionprob), prior
        self.log_by_symbol = log(self.emissionprob.T)

    @property
    def values(self) -> Values:
        return self.startprob, self.transmat, self.emissionprob

    def at(self, *values: np.ndarray) -> SymbolChainUpdate:
        startprob, transmat, emissionprob = values
        return SymbolChainUpdate(startprob, transmat, emissionprob, self.prior)

    def zero(self) -> ChainSums:
        return ChainSums(
            np.zeros(self.startprob.shape), np.zeros(self.transmat.shape), np.zeros(self.emissionprob.shape)
        )

    def add(self, state: ChainSums, block: Block) -> ChainSums:
        n_symbols = len(self.log_by_symbol)
        symbols = as_symbols(block[0], n_symbols, block.rows)
        found = forward_backward(self.startprob, self.transmat, self.log_by_symbol, block[-1], symbols)
        state.emissions += [np.bincount(symbols, gamma, n_symbols) for gamma in found[1].T]
        return _add_sequences(state, *found)

    def merge(self, first: ChainSums, second: ChainSums) -> ChainSums:
        return merged(first, second)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        emissions = Distributions(self.emissionprob, sums.emissions, self.prior)
        return *_chain(self.startprob, self.transmat, sums, self.prior), emissions


class EmissionUpdate(SymbolChainUpdate):
    """The same for the symbols alone, with the transitions and the start kept.

    Parameters
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K)
    emissionprob : ndarray of shape (K, S)
    prior : float or ndarray of shape (S,) or (K, S)
        Pseudo-counts of every symbol.
    """

    @property
    def values(self) -> Values:
        return (self.emissionprob,)

    def at(self, *values: np.ndarray) -> EmissionUpdate:
        (emissionprob,) = values
        return EmissionUpdate(self.startprob, self.transmat, emissionprob, self.prior)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        return (Distributions(self.emissionprob, sums.emissions, self.prior),)


class GaussianChainUpdate:
    """Statistic of one E-step for chains of vectors, Gaussian with diagonal covariance in each state.

    Blocks have the vectors first and the lengths last.

    Parameters
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K)
    means, variances : ndarray of shape (K, d)
    floor : float or ndarray of shape (d,)
        Least variance after the step.
    prior : float
        Pseudo-counts of every start and transition.
    """

    def __init__(
        self,
        startprob: np.ndarray,
        transmat: np.ndarray,
        means: np.ndarray,
        variances: np.ndarray,
        floor: Any = 0.0,
        prior: float = 0.0,
    ) -> None:
        self.startprob, self.transmat = as_floats(startprob), as_floats(transmat)
        self.means, self.variances = as_floats(means), as_floats(variances)
        self.floor, self.prior = floor, prior

    @property
    def values(self) -> Values:
        return self.startprob, self.transmat, self.means, self.variances

    def at(self, *values: np.ndarray) -> GaussianChainUpdate:
        startprob, transmat, means, variances = values
        return GaussianChainUpdate(startprob, transmat, means, variances, self.floor, self.prior)

    def zero(self) -> ChainSums:
        return ChainSums(
            np.zeros(self.startprob.shape), np.zeros(self.transmat.shape), np.zeros((2, *self.means.shape))
        )

    def add(self, state: ChainSums, block: Block) -> ChainSums:
        log_density = gaussian_log_density(block[0], self.means, self.variances)
        found = forward_backward(self.startprob, self.transmat, log_density, block[-1])
        add_gaussian(block[0], found[1], self.means, *state.emissions)
        return _add_sequences(state, *found)

    def merge(self, first: ChainSums, second: ChainSums) -> ChainSums:
        return merged(first, second)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        mass = sums.start + sums.transitions.sum(axis=0)  # a step begins a sequence, or is the end of a transition
        gaussians = Gaussians(self.means, self.variances, mass, sums.emissions[0], sums.emissions[1], self.floor)
        return *_chain(self.startprob, self.transmat, sums, self.prior), gaussians


def _chain(
    startprob: np.ndarray, transmat: np.ndarray, sums: ChainSums, prior: float
) -> tuple[Distributions, Distributions]:
    return Distributions(startprob, sums.start, prior), Distributions(transmat, sums.transitions, prior)


def _add_sequences(
    state: ChainSums, log_likelihood: float, posterior: np.ndarray, transitions: np.ndarray, start: np.ndarray
) -> ChainSums:
    state.start += start
    state.transitions += transitions
    state.log_likelihood += log_likelihood
    state.n_steps += len(posterior)
    return state
