"""The parameters of a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .. import _fields as of
from ..metrics import nearest_distances

SEQUENCES_PER_STATE = 10  # With fewer, first steps are too few to estimate where sequences start.
_SMOOTHING = 0.01  # share of the background in a smoothed distribution
_STATIONARY_CHANGE = 1e-12  # A chain whose shares change less in a step is stationary.


@dataclass(frozen=True)
class Chain:
    """Parameters of a hidden Markov chain.

    Attributes
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K)
    emissions : ndarray of shape (K, S) or (K, D)
        Symbol probabilities, or means of vectors.
    variances : ndarray of shape (K, D) or None
        For vectors.
    covariances : ndarray of shape (K, D, D) or None
        For vectors whose features are not independent given the state; ``variances`` are the diagonals.
    """

    startprob: Annotated[np.ndarray, of.distributions("K")]
    transmat: Annotated[np.ndarray, of.distributions("K K")]
    emissions: Annotated[np.ndarray, of.numbers("K S")]
    variances: Annotated[np.ndarray | None, of.numbers("K S", of.MIN_MAGNITUDE)] = None
    covariances: Annotated[np.ndarray | None, of.numbers("K S S")] = None

    def sorted(self, lengths: Any = ()) -> Chain:
        """Order the states by how often sequences of these lengths visit them, most visited first."""
        order = np.argsort(-self.compute_shares(lengths), kind="stable")
        return Chain(
            self.startprob[order],
            self.transmat[np.ix_(order, order)],
            self.emissions[order],
            None if self.variances is None else self.variances[order],
            None if self.covariances is None else self.covariances[order],
        )

    def compute_shares(self, lengths: Any = ()) -> np.ndarray:
        """Compute the share of steps in each state, shape (K,): in the long run, unless there are many sequences."""
        lengths = np.asarray(lengths, dtype=np.int64)
        if len(lengths) < SEQUENCES_PER_STATE * len(self.startprob):
            return compute_stationary(self.transmat)
        n_longer = len(lengths) - np.cumsum(np.bincount(lengths))  # sequences that have a step of each number
        state, total = self.startprob, np.zeros(len(self.startprob))
        for t, n in enumerate(n_longer[:-1]):
            total += n * state
            next_state = state @ self.transmat
            if t and np.abs(next_state - state).max() < _STATIONARY_CHANGE:
                total += n_longer[t + 1 : -1].sum() * next_state
                break
            state = next_state
        return np.asarray(total / total.sum())

    def smooth(self, marginal: np.ndarray) -> Chain:
        """Mix every distribution with 1% of a broad one, so that nothing is impossible.

        ``marginal`` holds the frequencies of the symbols; densities of vectors are unchanged.
        """
        shares = compute_stationary(self.transmat)
        uniform = np.full(len(shares), 1.0 / len(shares))
        emissions = self.emissions
        if self.variances is None:
            emissions = _mix(emissions, 0.99 * marginal + 0.01 / len(marginal))
        transmat = _mix(self.transmat, 0.5 * shares + 0.5 * uniform)
        return Chain(_mix(self.startprob, uniform), transmat, emissions, self.variances, self.covariances)


def compute_stationary(transmat: np.ndarray) -> np.ndarray:
    """Compute the long-run shares of the states, shape (K,)."""
    k = len(transmat)
    # A tiny restart probability makes the answer unique for chains that are not connected.
    chain = (1 - 1e-9) * transmat + 1e-9 / k
    equations = np.vstack([chain.T - np.eye(k), np.ones(k)])
    shares = np.maximum(np.linalg.lstsq(equations, np.append(np.zeros(k), 1.0), rcond=None)[0], 0)
    return shares / shares.sum()


def symbol_distances(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Compute the l1 distance of each state to the nearest state of another chain, shape (K,).

    A chain is a pair: symbol probabilities (K, S) and the symbols (S,). Two chains may have different symbols.
    """
    all_symbols = np.union1d(first[1], second[1])
    tables = []
    for emissions, symbols in (first, second):
        table = np.zeros((len(emissions), len(all_symbols)))
        table[:, np.searchsorted(all_symbols, symbols)] = emissions
        tables.append(table)
    return nearest_distances(*tables)


def _mix(distribution: np.ndarray, background: np.ndarray) -> np.ndarray:
    return (1 - _SMOOTHING) * distribution + _SMOOTHING * background
