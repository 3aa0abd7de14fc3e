"""Hidden Markov chains, with symbols, Gaussian rows or rows of counts as emissions.

The state h_t moves by a row-stochastic matrix T, T_ij = P(h_{t+1} = j | h_t = i) =
persistence I + (1 - persistence) D with rows of D uniform on the simplex, and starts in the stationary distribution of
T, so that every step has the same distribution. Given h_t = i, a symbol is drawn from row i of a matrix O of
probabilities, a row of numbers from a Gaussian with diagonal covariance, or a row of independent Poisson counts.

Spectral methods need every state to occur and T and O to have full rank; T and O are redrawn until the least mass and
the smallest singular values reach given bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.spatial.distance import pdist

from ...exceptions import LatentiaError
from ._draws import check_sizes, check_variance, draw_separated_means, gaussian_rows, redraw


@dataclass(frozen=True)
class PlantedChain:
    """Sequences of symbols, one after the other, and the hidden Markov model that generated them.

    Attributes
    ----------
    symbols : ndarray of shape (n_steps,), int64
    states : ndarray of shape (n_steps,), int64
    lengths : ndarray of shape (n_sequences,), int64
        Lengths of the sequences; they sum to n_steps.
    startprob : ndarray of shape (n_states,)
        The stationary distribution.
    transmat : ndarray of shape (n_states, n_states)
        Row i: probabilities of the state after state i.
    emissionprob : ndarray of shape (n_states, n_symbols)
        Row i: probabilities of the symbols in state i.
    """

    symbols: np.ndarray
    states: np.ndarray
    lengths: np.ndarray
    startprob: np.ndarray
    transmat: np.ndarray
    emissionprob: np.ndarray


@dataclass(frozen=True)
class PlantedGaussianChain:
    """Sequences of Gaussian rows, one after the other, and the hidden Markov model that generated them.

    Attributes
    ----------
    X : ndarray of shape (n_steps, n_features)
    states : ndarray of shape (n_steps,), int64
    lengths : ndarray of shape (n_sequences,), int64
        Lengths of the sequences; they sum to n_steps.
    startprob : ndarray of shape (n_states,)
        The stationary distribution.
    transmat : ndarray of shape (n_states, n_states)
        Row i: probabilities of the state after state i.
    means : ndarray of shape (n_states, n_features)
    variances : ndarray of shape (n_states, n_features)
        Variance of each feature given the state.
    """

    X: np.ndarray
    states: np.ndarray
    lengths: np.ndarray
    startprob: np.ndarray
    transmat: np.ndarray
    means: np.ndarray
    variances: np.ndarray


@dataclass(frozen=True)
class PlantedCountChain:
    """Sequences of rows of counts, one after the other, and the hidden Markov model that generated them.

    Attributes
    ----------
    X : ndarray of shape (n_steps, n_columns), int64
    states : ndarray of shape (n_steps,), int64
    lengths : ndarray of shape (n_sequences,), int64
        Lengths of the sequences; they sum to n_steps.
    startprob : ndarray of shape (n_states,)
        The stationary distribution.
    transmat : ndarray of shape (n_states, n_states)
        Row i: probabilities of the state after state i.
    rates : ndarray of shape (n_states, n_columns)
        Mean of each count given the state.
    """

    X: np.ndarray
    states: np.ndarray
    lengths: np.ndarray
    startprob: np.ndarray
    transmat: np.ndarray
    rates: np.ndarray


def hidden_markov_chain(
    n_steps: int = 20_000,
    n_states: int = 4,
    n_symbols: int = 12,
    *,
    persistence: float = 0.5,
    concentration: float = 0.5,
    min_mass: float = 0.1,
    min_singular_value: float = 0.2,
    min_transition_singular_value: float = 0.2,
    lengths: Sequence[int] | np.ndarray | None = None,
    random_state: int = 0,
) -> PlantedChain:
    """Plant a hidden Markov model with symbols and draw from it.

    Parameters
    ----------
    n_steps : int
        Length of the one sequence that is drawn without ``lengths``, and not used with them.
    n_states, n_symbols : int
        K and S.
    persistence : float
        In [0, 1): share of the identity in the transition matrix.
    concentration : float
        Dirichlet parameter of every symbol in a row of emission probabilities.
    min_mass : float
        Least stationary mass of a state; lower it for more than eight states.
    min_singular_value, min_transition_singular_value : float
        Least K-th singular value of the emission and of the transition matrix.
    lengths : sequence of int, optional
        Lengths of sequences that each start from the stationary distribution.
    random_state : int
        The same ``random_state`` plants the same parameters for all lengths.

    Returns
    -------
    PlantedChain
        The data and the truth that it was drawn from.
    """
    check_sizes(n_steps=n_steps, n_states=n_states, n_symbols=n_symbols)
    if not 0 < concentration < np.inf:
        raise LatentiaError(f"concentration={concentration}: need a positive number.")
    rng = np.random.default_rng(random_state)
    lengths = _check_lengths(n_steps, lengths)
    transmat = _draw_transitions(n_states, persistence, min_mass, min_transition_singular_value, rng)
    emissionprob = redraw(
        lambda: rng.dirichlet(np.full(n_symbols, concentration), size=n_states),
        lambda rows: _compute_singular_value(rows) >= min_singular_value,
        f"no emission matrix of {n_states} states and {n_symbols} symbols has min_singular_value={min_singular_value}; "
        "lower it, lower concentration, or plant fewer states.",
    )
    startprob = stationary_of(transmat)
    states = walk(cumulate(startprob), cumulate(transmat), lengths, rng.random(lengths.sum()))
    symbols = _pick(cumulate(emissionprob), states, rng.random(len(states)))
    return PlantedChain(symbols, states, lengths, startprob, transmat, emissionprob)


def gaussian_chain(
    n_steps: int = 20_000,
    n_states: int = 4,
    n_features: int = 5,
    *,
    separation: float = 4.0,
    variance: float | np.ndarray = 1.0,
    persistence: float = 0.5,
    min_mass: float = 0.1,
    min_transition_singular_value: float = 0.2,
    lengths: Sequence[int] | np.ndarray | None = None,
    random_state: int = 0,
) -> PlantedGaussianChain:
    """Plant a hidden Markov model with Gaussian rows and draw from it.

    Parameters
    ----------
    n_steps : int
        Length of the one sequence that is drawn without ``lengths``, and not used with them.
    n_states, n_features : int
        K and d.
    separation : float
        Root mean square distance of two means, in units of the square root of the mean variance.
    variance : float or ndarray of shape (n_features,) or (n_states, n_features)
        Variance of a feature given the state.
    persistence, min_mass, min_transition_singular_value, lengths, random_state
        As in `hidden_markov_chain`.

    Returns
    -------
    PlantedGaussianChain
        The data and the truth that it was drawn from.
    """
    check_sizes(n_steps=n_steps, n_states=n_states, n_features=n_features)
    rng = np.random.default_rng(random_state)
    lengths = _check_lengths(n_steps, lengths)
    variances = check_variance(variance, (n_states, n_features))
    transmat = _draw_transitions(n_states, persistence, min_mass, min_transition_singular_value, rng)
    means = draw_separated_means(n_states, n_features, separation * np.sqrt(variances.mean()), rng)
    startprob = stationary_of(transmat)
    states = walk(cumulate(startprob), cumulate(transmat), lengths, rng.random(lengths.sum()))
    X = gaussian_rows(states, means, variances, rng)
    return PlantedGaussianChain(X, states, lengths, startprob, transmat, means, variances)


def count_chain(
    n_steps: int = 20_000,
    n_states: int = 3,
    n_columns: int = 1,
    *,
    rate: float = 5.0,
    separation: float = 2.0,
    persistence: float = 0.5,
    min_mass: float = 0.1,
    min_transition_singular_value: float = 0.2,
    lengths: Sequence[int] | np.ndarray | None = None,
    random_state: int = 0,
) -> PlantedCountChain:
    """Plant a hidden Markov model with Poisson counts and draw from it.

    Parameters
    ----------
    n_steps : int
        Length of the one sequence that is drawn without ``lengths``, and not used with them.
    n_states, n_columns : int
        K and d.
    rate : float
        Median of the rates, which are log-normal with a standard deviation of 1 of the logarithm.
    separation : float
        Least distance of two states in roots of the rates, in units of 1/2, the standard deviation of the root of a count.
    persistence, min_mass, min_transition_singular_value, lengths, random_state
        As in `hidden_markov_chain`.

    Returns
    -------
    PlantedCountChain
        The data and the truth that it was drawn from.
    """
    check_sizes(n_steps=n_steps, n_states=n_states, n_columns=n_columns)
    if not 0 < rate < np.inf:
        raise LatentiaError(f"rate={rate}: need a positive number.")
    rng = np.random.default_rng(random_state)
    lengths = _check_lengths(n_steps, lengths)
    transmat = _draw_transitions(n_states, persistence, min_mass, min_transition_singular_value, rng)
    rates = redraw(
        lambda: rate * np.exp(rng.standard_normal((n_states, n_columns))),
        lambda rows: n_states == 1 or 2 * pdist(np.sqrt(rows)).min() >= separation,
        f"no rates of {n_states} states and {n_columns} columns have separation={separation}; lower it, raise rate, or plant "
        "fewer states.",
    )
    startprob = stationary_of(transmat)
    states = walk(cumulate(startprob), cumulate(transmat), lengths, rng.random(lengths.sum()))
    return PlantedCountChain(rng.poisson(rates[states]), states, lengths, startprob, transmat, rates)


def _check_lengths(n_steps: int, lengths: Sequence[int] | np.ndarray | None) -> np.ndarray:
    """Return the lengths of the sequences, shape (n_sequences,), int64."""
    if lengths is None:
        return np.array([n_steps])
    values = np.asarray(lengths)
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "iu" or values.min() < 1:
        raise LatentiaError(f"lengths={lengths!r}: need a list of integers, each at least 1.")
    return values.astype(np.int64)


def _draw_transitions(
    n_states: int, persistence: float, min_mass: float, min_singular_value: float, rng: np.random.Generator
) -> np.ndarray:
    """Draw a transition matrix, shape (K, K), whose stationary masses and singular values reach the bounds."""
    if not 0 <= persistence < 1:
        raise LatentiaError(f"persistence={persistence}: need a number in [0, 1).")
    if min_mass * n_states > 1:
        raise LatentiaError(f"min_mass={min_mass}: the least of {n_states} masses is at most 1/{n_states}; lower it.")
    identity, uniform = np.eye(n_states), np.ones(n_states)
    return redraw(
        lambda: persistence * identity + (1 - persistence) * rng.dirichlet(uniform, size=n_states),
        # One state has mass 1 up to rounding.
        lambda rows: (
            stationary_of(rows).min() >= min_mass - 1e-12 and _compute_singular_value(rows) >= min_singular_value
        ),
        f"no transition matrix of {n_states} states has min_mass={min_mass} and "
        f"min_transition_singular_value={min_singular_value}; lower them, raise persistence, or plant fewer states.",
    )


def stationary_of(transmat: np.ndarray) -> np.ndarray:
    """Return the distribution p with p T = p, shape (K,)."""
    n_states = len(transmat)
    equations = np.vstack([transmat.T - np.eye(n_states), np.ones(n_states)])
    mass = np.linalg.lstsq(equations, np.append(np.zeros(n_states), 1.0), rcond=None)[0]
    mass = np.maximum(mass, 0.0)
    return mass / mass.sum()


def _compute_singular_value(rows: np.ndarray) -> float:
    """Return the K-th singular value of a matrix of K rows: 0 with fewer columns than rows."""
    values = np.linalg.svd(rows, compute_uv=False)
    return float(values[-1]) if len(values) == len(rows) else 0.0


def cumulate(probabilities: np.ndarray) -> np.ndarray:
    """Return cumulative sums along the last axis; the last is exactly 1, above every number in [0, 1)."""
    sums = np.cumsum(probabilities, axis=-1)
    return sums / sums[..., -1:]


@njit(nogil=True, cache=True)
def walk(start: np.ndarray, transitions: np.ndarray, lengths: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Draw states, shape (n_steps,), by inversion of cumulative start (K,) and transition (K, K) probabilities."""
    states = np.empty(len(uniforms), np.int64)
    t = 0
    for length in lengths:
        cumulative = start
        for _ in range(length):
            state = 0
            while uniforms[t] >= cumulative[state]:
                state += 1
            states[t] = state
            cumulative = transitions[state]
            t += 1
    return states


@njit(nogil=True, cache=True)
def _pick(cumulative: np.ndarray, rows: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Draw once from row ``rows[t]`` of cumulative probabilities for every t, shape (n_steps,)."""
    choices = np.empty(len(rows), np.int64)
    for t in range(len(rows)):
        low, high = 0, cumulative.shape[1]
        while low < high:
            middle = (low + high) // 2
            if cumulative[rows[t], middle] <= uniforms[t]:
                low = middle + 1
            else:
                high = middle
        choices[t] = low
    return choices
