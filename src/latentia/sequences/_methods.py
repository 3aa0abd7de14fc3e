"""What every fitted chain can be asked for: posteriors with the likelihood, criteria of size, long-run shares."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any

import numpy as np

from .. import _fields as of
from ._chain import stationary

__all__ = ["ChainMethods"]


class ChainMethods:
    """Methods of chains, from the log-likelihood with posteriors, and the number of free parameters."""

    startprob_: Annotated[np.ndarray, of.distributions("K")]
    transmat_: Annotated[np.ndarray, of.distributions("K K")]
    weights_: Annotated[np.ndarray, of.distributions("K")]
    refinement_: Annotated[np.ndarray, of.numbers("*")]

    @abstractmethod
    def _smoothed(self, X: Any, lengths: Any) -> tuple[float, np.ndarray, int]:
        """Log-likelihood, posteriors (n_steps, K), and the number of steps that are not missing."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """Free parameters."""

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        """Return the log-likelihood and the posteriors of the states.

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        log_likelihood : float
            Of all steps together, in nats, as `score` gives it.
        posteriors : ndarray of shape (n_steps, K)
            Probability of every state at every step given the whole sequence, as `predict_proba` gives it.
        """
        log_likelihood, posteriors, _ = self._smoothed(X, lengths)
        return log_likelihood, posteriors

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Return Schwarz's criterion, -2 log-likelihood + m log n for m free parameters and n steps; lower is better.

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        float
        """
        log_likelihood, _, n = self._smoothed(X, lengths)
        return float(-2 * log_likelihood + self._n_parameters() * np.log(max(n, 1)))

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Return Akaike's criterion, -2 log-likelihood + 2 m for m free parameters; lower is better.

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        float
        """
        return float(-2 * self._smoothed(X, lengths)[0] + 2 * self._n_parameters())

    @property
    def stationary_(self) -> np.ndarray:
        """Long-run shares of the states, the distribution pi = pi T, shape (K,).

        If states cannot all be left, it is where a chain ends that starts in any state with the same probability.
        """
        return stationary(self.transmat_)
