"""The parameters of a chain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..metrics import nearest_distances

__all__ = ["Chain", "stationary", "symbol_distances"]

_SMOOTHING = 0.01


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
    """

    startprob: np.ndarray
    transmat: np.ndarray
    emissions: np.ndarray
    variances: np.ndarray | None = None

    def sorted(self) -> Chain:
        """The same with the most visited state first."""
        order = np.argsort(-stationary(self.transmat), kind="stable")
        return Chain(
            self.startprob[order],
            self.transmat[np.ix_(order, order)],
            self.emissions[order],
            None if self.variances is None else self.variances[order],
        )

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
        return Chain(_mixed(self.startprob, even), transmat, emissions, self.variances)


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
