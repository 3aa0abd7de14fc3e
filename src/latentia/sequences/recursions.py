"""Recursions of hidden Markov chains over the steps.

Model: a sequence starts in state k with probability startprob_k, moves from i to j with probability transmat_ij, and
its step t has in state k the log-density log_density_tk. Forwards, alpha_t is the distribution of the state given the
steps up to t; backwards, with the predictions p_t+1 = alpha_t transmat, the posterior given all steps is

    gamma_t(i) = sum_j xi_t(i, j),     xi_t(i, j) = alpha_t(i) transmat_ij gamma_t+1(j) / p_t+1(j),

so every quantity is a probability and sequences may be of any length. Predictions below 1e-300 count as zero.

Densities are an array of shape (n_steps, K), or for symbols a row each, (S, K), of which step t has row symbols[t].
An observation that is impossible in every reachable state makes the log-likelihood -inf; the states then follow the
prediction.

Source: Rabiner, Proc. IEEE 77 (1989), section III; the backward recursion without densities is that of Rauch, Tung
and Striebel (1965) for discrete states.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..exceptions import LatentiaError
from ..likelihood import log
from ..likelihood.rows import scale_exp
from ._symbols import as_symbols

_ZERO = 1e-300  # Smaller predictions count as zero.


def forward_backward(
    startprob: np.ndarray, transmat: np.ndarray, log_density: np.ndarray, lengths: Any, symbols: Any = None
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Compute the posterior of the states given whole sequences.

    Parameters
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K), rows sum to one
    log_density : ndarray of shape (n_steps, K), or (S, K) with ``symbols``
    lengths : array-like of int, shape (n_sequences,)
        Steps of consecutive sequences.
    symbols : array-like of shape (n_steps,), optional
        Whole numbers: the row of ``log_density`` for every step.

    Returns
    -------
    log_likelihood : float
        Of all sequences, in nats.
    posterior : ndarray of shape (n_steps, K)
    expected_transitions : ndarray of shape (K, K)
    expected_start : ndarray of shape (K,)
        Sum over the sequences of the posterior of their first step.
    """
    startprob, transmat = as_floats(startprob), as_floats(transmat)
    table, codes, lengths, n = _prepare_arguments(log_density, lengths, symbols)
    posterior, start, transitions = np.empty((n, len(startprob))), np.zeros(len(startprob)), np.zeros(transmat.shape)
    total = _filter(startprob, transmat, table, *scale_exp(table), codes, lengths, posterior)
    _smooth(transmat, lengths, posterior, transitions, start)
    return total, posterior, transitions, start


def forward(
    startprob: np.ndarray, transmat: np.ndarray, log_density: np.ndarray, lengths: Any, symbols: Any = None
) -> np.ndarray:
    """Compute the distribution of the state given the steps so far, (n_steps, K); parameters as in `forward_backward`."""
    startprob, transmat = as_floats(startprob), as_floats(transmat)
    table, codes, lengths, n = _prepare_arguments(log_density, lengths, symbols)
    filtered = np.empty((n, len(startprob)))
    _filter(startprob, transmat, table, *scale_exp(table), codes, lengths, filtered)
    return filtered


def log_likelihood(
    startprob: np.ndarray, transmat: np.ndarray, log_density: np.ndarray, lengths: Any, symbols: Any = None
) -> float:
    """Compute the log-likelihood of all sequences in nats; parameters as in `forward_backward`."""
    startprob, transmat = as_floats(startprob), as_floats(transmat)
    table, codes, lengths, _ = _prepare_arguments(log_density, lengths, symbols)
    return _filter(startprob, transmat, table, *scale_exp(table), codes, lengths, np.empty((0, len(startprob))))


def viterbi(
    startprob: np.ndarray, transmat: np.ndarray, log_density: np.ndarray, lengths: Any, symbols: Any = None
) -> tuple[np.ndarray, float]:
    """Find the most probable states (n_steps,) and their log-probability with the observations, in nats.

    Among equally probable paths it prefers lower states, from the end backwards. Parameters as in `forward_backward`.
    """
    table, codes, lengths, n = _prepare_arguments(log_density, lengths, symbols)
    origin, states = np.empty((n, len(startprob)), np.int32), np.empty(n, np.int64)
    return states, _best_path(log(startprob), log(np.transpose(transmat)), table, codes, lengths, origin, states)


def as_floats(values: Any) -> np.ndarray:
    """Convert to contiguous float64."""
    return np.ascontiguousarray(values, dtype=np.float64)


def _prepare_arguments(log_density: Any, lengths: Any, symbols: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return contiguous densities, symbols (empty for none) and lengths, and the number of steps."""
    table, lengths = as_floats(log_density), np.ascontiguousarray(lengths, dtype=np.int64)
    codes = np.empty(0, np.int64) if symbols is None else as_symbols(symbols, len(table))
    n = len(table) if symbols is None else len(codes)
    if lengths.sum() != n or (lengths < 0).any():
        raise LatentiaError(f"lengths add up to {lengths.sum()}; expected {n}, the number of steps.")
    return table, codes, lengths, n


# Sums over states may be reordered, so that they use vector registers. Compilation fixes the order as long as no loop both sums
# and stores: such loops are compiled twice, and the addresses of arrays decide which version runs. Loops copy arrays, since an
# assignment to a slice or a row takes seconds to compile, for the text of its error.
@njit(inline="always")
def _predict(now, transmat, after):
    k = len(now)
    for j in range(k):
        after[j] = 0.0
    for i in range(k):
        for j in range(k):
            after[j] += now[i] * transmat[i, j]


@njit(nogil=True, cache=True)
def _condition(predicted, log_density, now):
    """Condition ``predicted`` on an observation, in logarithms, where the densities of all likely states underflow."""
    k = len(now)
    largest = -np.inf
    for j in range(k):
        now[j] = np.log(predicted[j]) + log_density[j] if predicted[j] > 0.0 else -np.inf
        largest = max(largest, now[j])
    if largest == -np.inf:
        for j in range(k):
            now[j] = predicted[j]
        return -np.inf
    total = 0.0
    for j in range(k):
        now[j] = np.exp(now[j] - largest)
        total += now[j]
    for j in range(k):
        now[j] /= total
    return largest + np.log(total)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _filter(startprob, transmat, log_density, density, shift, codes, lengths, filtered):
    """Compute the log-likelihood, and write the distributions alpha into ``filtered`` unless it is empty."""
    k = len(startprob)
    predicted, now = np.empty(k), np.empty(k)
    log_likelihood = 0.0
    t = 0
    for length in lengths:
        for step in range(length):
            row = codes[t] if len(codes) > 0 else t
            if step == 0:
                for j in range(k):
                    predicted[j] = startprob[j]
            else:
                _predict(now, transmat, predicted)
            for j in range(k):
                if predicted[j] < _ZERO:
                    predicted[j] = 0.0
                now[j] = predicted[j] * density[row, j]
            total = 0.0
            for j in range(k):
                total += now[j]
            if total > 1e-200:
                log_likelihood += np.log(total) + shift[row]
                for j in range(k):
                    now[j] /= total
            else:
                log_likelihood += _condition(predicted, log_density[row], now)
            if len(filtered) > 0:
                for j in range(k):
                    filtered[t, j] = now[j]
            t += 1
    return log_likelihood


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _smooth(transmat, lengths, states, transitions, start):
    """Turn alpha in ``states`` into gamma, adding xi to ``transitions`` and first steps to ``start``."""
    k = len(start)
    predicted, ratio = np.empty(k), np.empty(k)
    stop = len(states)
    for s in range(len(lengths) - 1, -1, -1):
        first = stop - lengths[s]
        for t in range(stop - 2, first - 1, -1):
            now, after = states[t], states[t + 1]
            _predict(now, transmat, predicted)
            for j in range(k):
                ratio[j] = after[j] / predicted[j] if predicted[j] > 0.0 else 0.0
            for i in range(k):
                gamma = 0.0
                for j in range(k):
                    gamma += now[i] * transmat[i, j] * ratio[j]
                for j in range(k):
                    transitions[i, j] += now[i] * transmat[i, j] * ratio[j]
                now[i] = gamma
        if first < stop:
            for j in range(k):
                start[j] += states[first, j]
        stop = first


@njit(nogil=True, cache=True)
def _best_path(log_start, log_into, log_density, codes, lengths, origin, states):
    """Write the best paths into ``states`` and return their log-probability; ``log_into[j, i]`` is for a move from i to j."""
    k = len(log_start)
    now, after = np.empty(k), np.empty(k)
    log_probability = 0.0
    first = 0
    for length in lengths:
        for t in range(first, first + length):
            row = codes[t] if len(codes) > 0 else t
            possible = False
            for j in range(k):
                best = 0
                if t == first:
                    after[j] = log_start[j]
                else:
                    for i in range(1, k):
                        if now[i] + log_into[j, i] > now[best] + log_into[j, best]:
                            best = i
                    after[j] = now[best] + log_into[j, best]
                origin[t, j] = best
                possible |= after[j] + log_density[row, j] > -np.inf
            for j in range(k):
                now[j] = after[j] + log_density[row, j] if possible else after[j]
            if not possible:
                log_probability = -np.inf
        if length > 0:
            last = first + length - 1
            state = np.argmax(now)
            log_probability += now[state]
            states[last] = state
            for t in range(last, first, -1):
                state = origin[t, state]
                states[t - 1] = state
        first += length
    return log_probability
