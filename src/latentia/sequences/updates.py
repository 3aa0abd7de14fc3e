"""EM updates of hidden Markov chains, for symbols and for vectors. The recursions are in `recursions`.

A step may be missing: a symbol numbered after the last one, or a vector of NaN. It has density one in every state, so that the
likelihood is that of the other steps. Single cells of a vector may be NaN too: its density is that of the other cells, and EM
fills in their expectation given the state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .._entries import missing_entries
from ..likelihood import Distributions, Expected, Gaussians, MissingCells, Values, log
from ..likelihood.gaussian import add_gaussian
from ..likelihood.products import observed_sums, product_log_density
from ..likelihood.rows import merge_sums
from ..passes import Block
from ._symbols import as_symbols
from .recursions import as_floats, forward_backward

_MIN_MASS = 1e-12  # States with fewer expected steps keep their values.


@dataclass
class ChainSums:
    """Sums over sequences of one E-step.

    Attributes
    ----------
    start : ndarray of shape (K,)
        Expected sequences that start in each state.
    transitions : ndarray of shape (K, K)
        Expected transitions.
    emissions : ndarray of shape (K, S) or (2, K, d) or (K, 1 + d, d)
        Expected occurrences of every symbol, or sums of counts; for vectors the sums of gamma (x - mean) and
        gamma (x - mean)^2, or of the products of all features.
    log_likelihood : float
        In nats.
    n_steps : int
    missing : ndarray of shape (K,) or float
        Expected steps in each state that are missing.
    """

    start: np.ndarray
    transitions: np.ndarray
    emissions: np.ndarray
    log_likelihood: float = 0.0
    n_steps: int = 0
    missing: Any = 0.0

    @property
    def mass(self) -> np.ndarray:
        """Expected observed steps in each state: each begins a sequence, or ends a transition."""
        return np.asarray(self.start + self.transitions.sum(axis=0) - self.missing)


def log_by_symbol_table(emissionprob: np.ndarray) -> np.ndarray:
    """Build the log-probabilities by symbol, with zeros for a missing one, shape (S + 1, K)."""
    return np.vstack([log(emissionprob.T), np.zeros(len(emissionprob))])


def observed_log_density(X: np.ndarray, density: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Compute log-densities of vectors, zero for missing ones."""
    missing = missing_steps(X)
    if not missing.any():
        return density(X)
    observed_density = density(X[~missing])
    table = np.zeros((len(X), observed_density.shape[1]))
    table[~missing] = observed_density
    return table


class SymbolChainUpdate:
    """Statistic of one E-step for chains of symbols: blocks of a column of symbols and the lengths.

    Parameters
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K)
    emissionprob : ndarray of shape (K, S)
    prior : float, or a tuple of arrays
        Pseudo-counts of every start, transition and symbol.
    """

    def __init__(self, startprob: np.ndarray, transmat: np.ndarray, emissionprob: np.ndarray, prior: Any = 0.0) -> None:
        self.startprob, self.transmat = as_floats(startprob), as_floats(transmat)
        self.emissionprob, self.prior = as_floats(emissionprob), prior
        self.log_by_symbol = log_by_symbol_table(self.emissionprob)

    @property
    def values(self) -> Values:
        return self.startprob, self.transmat, self.emissionprob

    def move_to(self, *values: np.ndarray) -> SymbolChainUpdate:
        startprob, transmat, emissionprob = values
        return SymbolChainUpdate(startprob, transmat, emissionprob, self.prior)

    def zero(self) -> ChainSums:
        return ChainSums(
            np.zeros(self.startprob.shape), np.zeros(self.transmat.shape), np.zeros(self.emissionprob.shape)
        )

    def add(self, state: ChainSums, block: Block) -> ChainSums:
        n_symbols = self.emissionprob.shape[1]
        symbols = as_symbols(block[0], n_symbols + 1, block.rows)
        expectations = forward_backward(self.startprob, self.transmat, self.log_by_symbol, block[-1], symbols)
        counts = np.array([np.bincount(symbols, gamma, n_symbols + 1) for gamma in expectations[1].T])
        state.emissions += counts[:, :n_symbols]
        return add_sequences(state, *expectations)

    def merge(self, first: ChainSums, second: ChainSums) -> ChainSums:
        return merge_sums(first, second)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        start, moves, symbols = _split_prior(self.prior)
        emissions = Distributions(self.emissionprob, sums.emissions, symbols)
        return *expect_chain(self.startprob, self.transmat, sums, (start, moves)), emissions


class EmissionUpdate(SymbolChainUpdate):
    """Update of the symbols alone, with fixed transitions and start.

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

    def move_to(self, *values: np.ndarray) -> EmissionUpdate:
        (emissionprob,) = values
        return EmissionUpdate(self.startprob, self.transmat, emissionprob, self.prior)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        return (Distributions(self.emissionprob, sums.emissions, self.prior),)


class GaussianChainUpdate:
    """Statistic of one E-step for chains of vectors that are Gaussian with diagonal covariance in each state.

    Blocks have the vectors first and the lengths last.

    Parameters
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K)
    means, variances : ndarray of shape (K, d)
    floor : float or ndarray of shape (d,)
        Least variance after the step.
    prior : float, or a tuple of arrays
        Pseudo-counts of every start and transition.
    """

    def __init__(
        self,
        startprob: np.ndarray,
        transmat: np.ndarray,
        means: np.ndarray,
        variances: np.ndarray,
        floor: Any = 0.0,
        prior: Any = 0.0,
    ) -> None:
        self.startprob, self.transmat = as_floats(startprob), as_floats(transmat)
        self.means, self.variances = as_floats(means), as_floats(variances)
        self.floor, self.prior = floor, prior

    @property
    def values(self) -> Values:
        return self.startprob, self.transmat, self.means, self.variances

    def move_to(self, *values: np.ndarray) -> GaussianChainUpdate:
        startprob, transmat, means, variances = values
        return GaussianChainUpdate(startprob, transmat, means, variances, self.floor, self.prior)

    def zero(self) -> ChainSums:
        return ChainSums(
            np.zeros(self.startprob.shape), np.zeros(self.transmat.shape), np.zeros((2, *self.means.shape))
        )

    def add(self, state: ChainSums, block: Block) -> ChainSums:
        log_density = observed_log_density(
            block[0], lambda rows: product_log_density("gaussian", rows, self.means, self.variances)
        )
        expectations = forward_backward(self.startprob, self.transmat, log_density, block[-1])
        rows, posterior, state.missing = drop_missing_steps(block[0], expectations[1], state.missing)
        gaps = missing_entries(rows)
        if gaps is None:
            add_gaussian(rows, posterior, self.means, *state.emissions)
        else:
            state.emissions += observed_sums(rows, gaps, posterior, self.means, self.variances)
        return add_sequences(state, *expectations)

    def merge(self, first: ChainSums, second: ChainSums) -> ChainSums:
        return merge_sums(first, second)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        gaussians = Gaussians(self.means, self.variances, sums.mass, sums.emissions[0], sums.emissions[1], self.floor)
        return *expect_chain(self.startprob, self.transmat, sums, self.prior), gaussians


class FullChainUpdate:
    """Statistic of one E-step for chains of vectors that are Gaussian with full covariance in each state, for plain steps.

    Blocks have the vectors first and the lengths last.

    Parameters
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K)
    means : ndarray of shape (K, d)
    covariances : ndarray of shape (K, d, d)
    floor : float or ndarray of shape (d,)
        Smallest variance after the step, of the features and of their combinations in the same scale.
    prior : float, or a tuple of arrays
        Pseudo-counts of every start and transition.
    tied : bool
        True if all states share one covariance.
    """

    def __init__(
        self,
        startprob: np.ndarray,
        transmat: np.ndarray,
        means: np.ndarray,
        covariances: np.ndarray,
        floor: Any = 0.0,
        prior: Any = 0.0,
        tied: bool = False,
    ) -> None:
        self.startprob, self.transmat = as_floats(startprob), as_floats(transmat)
        self.means, self.covariances = as_floats(means), as_floats(covariances)
        self.floor, self.prior, self.tied = floor, prior, tied

    @property
    def values(self) -> Values:
        return self.startprob, self.transmat, self.means, self.covariances

    def move_to(self, *values: np.ndarray) -> FullChainUpdate:
        startprob, transmat, means, covariances = values
        return FullChainUpdate(startprob, transmat, means, covariances, self.floor, self.prior, self.tied)

    def zero(self) -> ChainSums:
        k, d = self.means.shape
        return ChainSums(np.zeros(k), np.zeros((k, k)), np.zeros((k, 1 + d, d)))

    def add(self, state: ChainSums, block: Block) -> ChainSums:
        log_density = observed_log_density(block[0], lambda rows: full_log_density(rows, self.means, self.covariances))
        expectations = forward_backward(self.startprob, self.transmat, log_density, block[-1])
        rows, posterior, state.missing = drop_missing_steps(block[0], expectations[1], state.missing)
        gaps = missing_entries(rows)
        if gaps is not None:
            is_partial = gaps.any(axis=1)
            self._add_partial_rows(state, rows[is_partial], gaps[is_partial], posterior[is_partial])
            rows, posterior = rows[~is_partial], posterior[~is_partial]
        for sums, mean, gamma in zip(state.emissions, self.means, posterior.T, strict=True):
            gap = rows - mean
            weighted = gamma[:, None] * gap
            sums[0] += weighted.sum(axis=0)
            sums[1:] += weighted.T @ gap
        return add_sequences(state, *expectations)

    def _add_partial_rows(self, state: ChainSums, rows: np.ndarray, gaps: np.ndarray, posterior: np.ndarray) -> None:
        """Add vectors with some missing cells, filled in by their expectation in each state."""
        conditional = MissingCells(self.means, self.covariances, rows, gaps)
        for k, (sums, mean) in enumerate(zip(state.emissions, self.means, strict=True)):
            for part, filled, covariance in conditional.expected(k):
                gamma, gap = posterior[part, k], filled - mean
                weighted = gamma[:, None] * gap
                sums[0] += weighted.sum(axis=0)
                sums[1:] += weighted.T @ gap + np.tensordot(gamma, covariance, 1)

    def merge(self, first: ChainSums, second: ChainSums) -> ChainSums:
        return merge_sums(first, second)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        gaussians = _FullGaussians(self.means, self.covariances, sums.mass, sums.emissions, self.floor, self.tied)
        return *expect_chain(self.startprob, self.transmat, sums, self.prior), gaussians  # type: ignore[return-value]


@dataclass(frozen=True)
class _FullGaussians:
    """Normal distributions with full covariances and their expected statistics, for plain steps without coordinates."""

    means: np.ndarray
    covariances: np.ndarray
    mass: np.ndarray
    sums: np.ndarray
    floor: Any
    tied: bool

    @property
    def values(self) -> Values:
        return self.means, self.covariances

    def estimate(self) -> Values:
        has_mass = self.mass > _MIN_MASS
        mass = np.where(has_mass, self.mass, 1.0)[:, None]
        shift = np.where(has_mass[:, None], self.sums[:, 0] / mass, 0.0)
        spread = self.sums[:, 1:] / mass[..., None] - shift[:, :, None] * shift[:, None, :]
        spread = np.where(has_mass[:, None, None], spread, self.covariances)
        if self.tied:
            shared = np.einsum("k,kij->ij", np.maximum(self.mass, 0), spread) / np.maximum(self.mass, 0).sum()
            spread = np.broadcast_to(shared, spread.shape)
        return self.means + shift, np.array([_apply_floor(covariance, self.floor) for covariance in spread])

    def log_prior(self) -> float:
        return 0.0


def full_log_density(X: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Compute the log-densities of observed cells under Gaussians with full covariances, shape (n, K)."""
    gaps = missing_entries(X)
    if gaps is not None:
        is_partial, table = gaps.any(axis=1), np.empty((len(X), len(means)))
        table[~is_partial] = full_log_density(X[~is_partial], means, covariances)
        table[is_partial] = MissingCells(means, covariances, X[is_partial], gaps[is_partial]).log_density()
        return table
    log_density = np.empty((len(X), len(means)))
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        root = np.linalg.cholesky(covariance)
        scaled = solve_triangular(root, (X - mean).T, lower=True)
        constant = len(mean) * np.log(2 * np.pi) + 2 * np.log(np.diag(root)).sum()
        log_density[:, k] = -0.5 * ((scaled**2).sum(axis=0) + constant)
    return log_density


def _apply_floor(covariance: np.ndarray, floor: Any) -> np.ndarray:
    """Raise variances below the floor, in every direction of the features in units of their floors."""
    unit = np.sqrt(np.broadcast_to(np.maximum(floor, np.finfo(float).tiny), len(covariance)))
    scaled = covariance / np.outer(unit, unit)
    values, directions = np.linalg.eigh((scaled + scaled.T) / 2)
    if values[0] < 1:
        scaled = (directions * np.maximum(values, 1.0)) @ directions.T
    return np.asarray((scaled + scaled.T) / 2 * np.outer(unit, unit))


def missing_steps(X: np.ndarray) -> np.ndarray:
    """Mark the vectors whose cells are all missing, shape (n,)."""
    missing = np.isnan(X[:, 0])
    if missing.any():
        missing[missing] = np.isnan(X[missing]).all(axis=1)
    return np.asarray(missing)


def drop_missing_steps(X: np.ndarray, posterior: np.ndarray, missing: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Drop missing vectors and their posteriors, and add their expected number in each state to ``missing``."""
    is_missing = missing_steps(X)
    if not is_missing.any():
        return X, posterior, missing
    return X[~is_missing], np.ascontiguousarray(posterior[~is_missing]), missing + posterior[is_missing].sum(axis=0)


def _split_prior(prior: Any) -> tuple[Any, ...]:
    """Return the pseudo-counts of starts, transitions and symbols."""
    return prior if isinstance(prior, tuple) else (prior, prior, prior)


def expect_chain(
    startprob: np.ndarray, transmat: np.ndarray, sums: ChainSums, prior: Any
) -> tuple[Distributions, Distributions]:
    """Build start and transitions with their expected counts."""
    start, moves = _split_prior(prior)[:2]
    return Distributions(startprob, sums.start, start), Distributions(transmat, sums.transitions, moves)


def add_sequences(
    state: ChainSums, log_likelihood: float, posterior: np.ndarray, transitions: np.ndarray, start: np.ndarray
) -> ChainSums:
    """Add the results of `forward_backward` for some sequences."""
    state.start += start
    state.transitions += transitions
    state.log_likelihood += log_likelihood
    state.n_steps += len(posterior)
    return state
