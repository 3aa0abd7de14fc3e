"""Methods of every fitted chain: posteriors, likelihood, information criteria, long-run shares."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from .. import _fields as of
from .._entries import is_missing
from .._validation import array_of, number_array
from ..evidence import RealAndSimulated
from ..exceptions import LatentiaError
from ..fitting.base import Estimator, fitted
from ..fitting.stages import Fitted
from ._chain import compute_stationary
from ._simulated_steps import simulate_steps
from ._steps import join_sequences, read_all_steps
from .recursions import forward, forward_backward, log_likelihood, viterbi


class ChainMethods(Estimator):
    """Base of chains: a subclass gives the arguments of the recursions and the number of free parameters."""

    startprob_: Annotated[np.ndarray, of.distributions("K")]
    transmat_: Annotated[np.ndarray, of.distributions("K K")]
    weights_: Annotated[np.ndarray, of.distributions("K")]
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    n_iter_: Annotated[int, of.count()]
    converged_: bool

    def _real_and_simulated(self, fitted: Fitted, rng: np.random.Generator) -> RealAndSimulated | None:
        kind = vars(self).get("_kind")
        return None if kind is None else simulate_steps(self, kind, fitted.rows.observed, rng)

    @abstractmethod
    def _chains(self, X: Any, lengths: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield for each block of sequences the number of observed steps and the arguments of the recursions."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """Count the free parameters."""

    @fitted
    def _smooth_states(self, X: Any, lengths: Any) -> tuple[float, np.ndarray, int]:
        """Compute the log-likelihood, posteriors (n_steps, K), and the number of observed steps."""
        parts = [(n, *forward_backward(*chain)) for n, chain in self._chains(X, lengths)]
        return (
            float(sum(part[1] for part in parts)),
            np.vstack([part[2] for part in parts]),
            sum(part[0] for part in parts),
        )

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return the most probable path of states (Viterbi), shape (n_steps,).

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        ndarray of int, shape (n_steps,)
        """
        return self.decode(X, lengths)[1]

    @property
    def of_symbols(self) -> bool:
        """True if steps are symbols, False if they are vectors."""
        return hasattr(self, "emissionprob_")

    def join_steps(self, X: Any, lengths: Any = None) -> tuple[np.ndarray, Any]:
        """Join sequences as `fit` does.

        Parameters
        ----------
        X : as in ``fit``
            Sequences one after another, or a list of them.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        steps : ndarray of shape (n_steps, D)
        lengths : array-like of int, or None for one sequence
        """
        X, lengths = join_sequences(X, lengths, getattr(self, "kind", "auto"))
        block, of_blocks = read_all_steps(X, lengths)
        return block[0], of_blocks if lengths is None else lengths

    @fitted
    def decode(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        """Return the log-probability of the most probable path together with the steps, and the path, shape (n_steps,).

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        log_probability : float
            In nats.
        path : ndarray of int, shape (n_steps,)
            The states.
        """
        paths = [viterbi(*chain) for _, chain in self._chains(X, lengths)]
        return float(sum(value for _, value in paths)), np.concatenate([states for states, _ in paths])

    def predict_proba(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return the probabilities of the states at every step given whole sequences (smoothing), shape (n_steps, K).

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        ndarray of shape (n_steps, K)
        """
        return self.score_samples(X, lengths)[1]

    @fitted
    def filter(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return the probabilities of the states at every step given the steps up to it, shape (n_steps, K).

        Prefer it to `predict_proba` where later steps must not count: to act on live data, or to test a rule on the past.

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        ndarray of shape (n_steps, K)
        """
        return np.vstack([forward(*chain) for _, chain in self._chains(X, lengths)])

    @fitted
    def filter_step(self, x: Any, state: Any = None) -> np.ndarray:
        """Return the probabilities of the states after one more step, shape (K,): `filter`, one step at a time.

        ::

            state = None
            for x in stream:
                state = model.filter_step(x, state)

        Parameters
        ----------
        x : symbol, number, or array-like of shape (D,)
            The new step. None or NaN marks a missing step.
        state : array-like of shape (K,), optional
            The result of the previous step; without it the new step begins a sequence.

        Returns
        -------
        ndarray of shape (K,)

        Raises
        ------
        LatentiaError
            If x is not a step like those of the fit, or state is not a distribution over K states.
        """
        predicted = self.startprob_
        if state is not None:
            current = number_array(state, "state")
            if (
                current.shape != predicted.shape
                or not ((current >= 0) & (current <= 2)).all()
                or abs(current.sum() - 1) > of.TOLERANCE
            ):
                raise LatentiaError(
                    f"state: expected probabilities of {len(predicted)} states that sum to one, as filter_step returns them; "
                    f"found {current}."
                )
            predicted = current @ self.transmat_
        row = np.atleast_1d(array_of(x, "x"))
        if all(is_missing(value) for value in row.tolist()):
            return np.asarray(predicted / predicted.sum())
        ((_, (_, *chain)),) = self._chains(row[None], None)
        return np.asarray(forward(predicted, *chain)[0])

    @fitted
    def score(self, X: Any, lengths: Any = None) -> float:
        """Return the log-likelihood of all steps together in nats; higher is better.

        Parameters
        ----------
        X : array-like of shape (n_steps,) or (n_steps, 1) of symbols, or (n_steps, D) of numbers, or Blocks with lengths
            Sequences one after another.
        lengths : array-like of int, shape (n_sequences,), optional
            Lengths of the sequences, in order; by default there is one.

        Returns
        -------
        float

        Raises
        ------
        LatentiaError
            If X has symbols that do not occur in the fitted data, or another number of features.
        """
        return float(sum(log_likelihood(*chain) for _, chain in self._chains(X, lengths)))

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
        total, posteriors, _ = self._smooth_states(X, lengths)
        return total, posteriors

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
        total, _, n = self._smooth_states(X, lengths)
        return float(-2 * total + self._n_parameters() * np.log(max(n, 1)))

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
        return float(-2 * self._smooth_states(X, lengths)[0] + 2 * self._n_parameters())

    @property
    def stationary_(self) -> np.ndarray:
        """Long-run shares of the states: the distribution pi = pi T, shape (K,).

        If some states are never left, it is where a chain with a uniform start ends.
        """
        return compute_stationary(self.transmat_)
