"""The parameters of a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .. import _fields as of
from ..metrics import nearest_distances

SEQUENCES_PER_STATE = 10  # from which on their first steps tell where sequences start
_SMOOTHING = 0.01
_STILL = 1e-12


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
        Of vectors.
    covariances : ndarray of shape (K, D, D) or None
        Of vectors, where their features are not independent given the state; ``variances`` are the diagonals.
    """

    startprob: Annotated[np.ndarray, of.distributions("K")]
    transmat: Annotated[np.ndarray, of.distributions("K K")]
    emissions: Annotated[np.ndarray, of.numbers("K S")]
    variances: Annotated[np.ndarray | None, of.numbers("K S", of.MIN_MAGNITUDE)] = None
    covariances: Annotated[np.ndarray | None, of.numbers("K S S")] = None

    def sorted(self, lengths: Any = ()) -> Chain:
        """The same with the most visited state of sequences of these lengths first."""
        order = np.argsort(-self.shares(lengths), kind="stable")
        return Chain(
            self.startprob[order],
            self.transmat[np.ix_(order, order)],
            self.emissions[order],
            None if self.variances is None else self.variances[order],
            None if self.covariances is None else self.covariances[order],
        )

    def shares(self, lengths: Any = ()) -> np.ndarray:
        """Shares of the steps in each state, shape (K,): those in the long run, unless there are many sequences."""
        lengths = np.asarray(lengths, dtype=np.int64)
        if len(lengths) < SEQUENCES_PER_STATE * len(self.startprob):
            return stationary(self.transmat)
        longer = len(lengths) - np.cumsum(np.bincount(lengths))  # sequences that have a step of each number
        state, total = self.startprob, np.zeros(len(self.startprob))
        for t, n in enumerate(longer[:-1]):
            total += n * state
            after = state @ self.transmat
            if t and np.abs(after - state).max() < _STILL:
                total += longer[t + 1 : -1].sum() * after
                break
            state = after
        return np.asarray(total / total.sum())

    def smoothed(self, marginal: np.ndarray) -> Chain:
        """Every distribution mixed with 1% of its marginal, so that nothing is impossible.

        ``marginal`` has the frequencies of the symbols; densities of vectors stay.
        """
        shares = stationary(self.transmat)
        even = np.full(len(shares), 1.0 / len(shares))
        emissions = self.emissions
        if self.variances is None:
            emissions = _mixed(emissions, 0.99 * marginal + 0.01 / len(marginal))
        transmat = _mixed(self.transmat, 0.5 * shares + 0.5 * even)
        return Chain(_mixed(self.startprob, even), transmat, emissions, self.variances, self.covariances)


def stationary(transmat: np.ndarray) -> np.ndarray:
    """Long-run shares of the states, shape (K,)."""
    k = len(transmat)
    # A tiny restart makes the answer unique for chains that fall apart.
    chain = (1 - 1e-9) * transmat + 1e-9 / k
    equations = np.vstack([chain.T - np.eye(k), np.ones(k)])
    shares = np.maximum(np.linalg.lstsq(equations, np.append(np.zeros(k), 1.0), rcond=None)[0], 0)
    return shares / shares.sum()


def symbol_distances(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """l1 distance of each state to the nearest one of another chain, shape (K,).

    Each chain is the probabilities of its symbols in every state, (K, S), and the symbols, (S,): two may have seen different
    ones.
    """
    together = np.union1d(first[1], second[1])
    spread = []
    for emissions, symbols in (first, second):
        table = np.zeros((len(emissions), len(together)))
        table[:, np.searchsorted(together, symbols)] = emissions
        spread.append(table)
    return nearest_distances(*spread)


def _mixed(distribution: np.ndarray, other: np.ndarray) -> np.ndarray:
    return (1 - _SMOOTHING) * distribution + _SMOOTHING * other
