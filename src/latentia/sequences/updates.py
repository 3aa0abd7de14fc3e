"""Hidden Markov chains: the updates of a pass, for symbols and for vectors. The recursions are in `recursions`.

A step may be missing: a symbol with the number after the last one, or a vector of NaN. It has density one in every state, so
that the likelihood is that of the others, and the states go on. Single cells of a vector may be NaN too: its density is that of
the others, and EM expects there what the state says.
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

_NOTHING = 1e-12  # states with less than this expected of them keep their values


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
        Expected occurrences of every symbol, or sums of counts; of vectors, the sums of gamma (x - mean) and
        gamma (x - mean)^2, or the same with products of all features.
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
        """Expected steps in each state that were seen: each begins a sequence, or is the end of a transition."""
        return np.asarray(self.start + self.transitions.sum(axis=0) - self.missing)


def by_symbol(emissionprob: np.ndarray) -> np.ndarray:
    """Log-probabilities by symbol, and zeros for a missing one, shape (S + 1, K)."""
    return np.vstack([log(emissionprob.T), np.zeros(len(emissionprob))])


def observed_log_density(X: np.ndarray, density: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Log-densities of vectors, zero for missing ones."""
    missing = missing_steps(X)
    if not missing.any():
        return density(X)
    there = density(X[~missing])
    table = np.zeros((len(X), there.shape[1]))
    table[~missing] = there
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
        self.log_by_symbol = by_symbol(self.emissionprob)

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
        n_symbols = self.emissionprob.shape[1]
        symbols = as_symbols(block[0], n_symbols + 1, block.rows)
        found = forward_backward(self.startprob, self.transmat, self.log_by_symbol, block[-1], symbols)
        counts = np.array([np.bincount(symbols, gamma, n_symbols + 1) for gamma in found[1].T])
        state.emissions += counts[:, :n_symbols]
        return add_sequences(state, *found)

    def merge(self, first: ChainSums, second: ChainSums) -> ChainSums:
        return merge_sums(first, second)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        start, moves, symbols = _three(self.prior)
        emissions = Distributions(self.emissionprob, sums.emissions, symbols)
        return *chain_expected(self.startprob, self.transmat, sums, (start, moves)), emissions


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

    def at(self, *values: np.ndarray) -> GaussianChainUpdate:
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
        found = forward_backward(self.startprob, self.transmat, log_density, block[-1])
        rows, posterior, state.missing = seen_rows(block[0], found[1], state.missing)
        gaps = missing_entries(rows)
        if gaps is None:
            add_gaussian(rows, posterior, self.means, *state.emissions)
        else:
            state.emissions += observed_sums(rows, gaps, posterior, self.means, self.variances)
        return add_sequences(state, *found)

    def merge(self, first: ChainSums, second: ChainSums) -> ChainSums:
        return merge_sums(first, second)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        gaussians = Gaussians(self.means, self.variances, sums.mass, sums.emissions[0], sums.emissions[1], self.floor)
        return *chain_expected(self.startprob, self.transmat, sums, self.prior), gaussians


class FullChainUpdate:
    """Statistic of one E-step for chains of vectors, Gaussian with full covariance in each state, for plain steps.

    Blocks have the vectors first and the lengths last.

    Parameters
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K)
    means : ndarray of shape (K, d)
    covariances : ndarray of shape (K, d, d)
    floor : float or ndarray of shape (d,)
        Least variance after the step, of the features and of their combinations in the same scale.
    prior : float, or a tuple of arrays
        Pseudo-counts of every start and transition.
    tied : bool
        Whether all states share one covariance.
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

    def at(self, *values: np.ndarray) -> FullChainUpdate:
        startprob, transmat, means, covariances = values
        return FullChainUpdate(startprob, transmat, means, covariances, self.floor, self.prior, self.tied)

    def zero(self) -> ChainSums:
        k, d = self.means.shape
        return ChainSums(np.zeros(k), np.zeros((k, k)), np.zeros((k, 1 + d, d)))

    def add(self, state: ChainSums, block: Block) -> ChainSums:
        log_density = observed_log_density(block[0], lambda rows: full_log_density(rows, self.means, self.covariances))
        found = forward_backward(self.startprob, self.transmat, log_density, block[-1])
        rows, posterior, state.missing = seen_rows(block[0], found[1], state.missing)
        gaps = missing_entries(rows)
        if gaps is not None:
            in_part = gaps.any(axis=1)
            self._add_in_part(state, rows[in_part], gaps[in_part], posterior[in_part])
            rows, posterior = rows[~in_part], posterior[~in_part]
        for sums, mean, gamma in zip(state.emissions, self.means, posterior.T, strict=True):
            gap = rows - mean
            weighted = gamma[:, None] * gap
            sums[0] += weighted.sum(axis=0)
            sums[1:] += weighted.T @ gap
        return add_sequences(state, *found)

    def _add_in_part(self, state: ChainSums, rows: np.ndarray, gaps: np.ndarray, posterior: np.ndarray) -> None:
        """Add vectors of which some cells are missing, with what each state expects there."""
        given = MissingCells(self.means, self.covariances, rows, gaps)
        for k, (sums, mean) in enumerate(zip(state.emissions, self.means, strict=True)):
            for part, filled, spread in given.expected(k):
                gamma, gap = posterior[part, k], filled - mean
                weighted = gamma[:, None] * gap
                sums[0] += weighted.sum(axis=0)
                sums[1:] += weighted.T @ gap + np.tensordot(gamma, spread, 1)

    def merge(self, first: ChainSums, second: ChainSums) -> ChainSums:
        return merge_sums(first, second)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        gaussians = _FullGaussians(self.means, self.covariances, sums.mass, sums.emissions, self.floor, self.tied)
        return *chain_expected(self.startprob, self.transmat, sums, self.prior), gaussians  # type: ignore[return-value]


@dataclass(frozen=True)
class _FullGaussians:
    """Normal distributions with full covariances, and what a pass expects of them: for plain steps, without coordinates."""

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
        used = self.mass > _NOTHING
        mass = np.where(used, self.mass, 1.0)[:, None]
        moved = np.where(used[:, None], self.sums[:, 0] / mass, 0.0)
        spread = self.sums[:, 1:] / mass[..., None] - moved[:, :, None] * moved[:, None, :]
        spread = np.where(used[:, None, None], spread, self.covariances)
        if self.tied:
            shared = np.einsum("k,kij->ij", np.maximum(self.mass, 0), spread) / np.maximum(self.mass, 0).sum()
            spread = np.broadcast_to(shared, spread.shape)
        return self.means + moved, np.array([_raised(one, self.floor) for one in spread])

    def log_prior(self) -> float:
        return 0.0


def full_log_density(X: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Log-densities of Gaussians with full covariances, of the cells that are there, shape (n, K)."""
    gaps = missing_entries(X)
    if gaps is not None:
        in_part, table = gaps.any(axis=1), np.empty((len(X), len(means)))
        table[~in_part] = full_log_density(X[~in_part], means, covariances)
        table[in_part] = MissingCells(means, covariances, X[in_part], gaps[in_part]).log_density()
        return table
    log_density = np.empty((len(X), len(means)))
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        root = np.linalg.cholesky(covariance)
        scaled = solve_triangular(root, (X - mean).T, lower=True)
        constant = len(mean) * np.log(2 * np.pi) + 2 * np.log(np.diag(root)).sum()
        log_density[:, k] = -0.5 * ((scaled**2).sum(axis=0) + constant)
    return log_density


def _raised(covariance: np.ndarray, floor: Any) -> np.ndarray:
    """The covariance with no variance below its floor, in any direction of features in units of their floors."""
    unit = np.sqrt(np.broadcast_to(np.maximum(floor, np.finfo(float).tiny), len(covariance)))
    scaled = covariance / np.outer(unit, unit)
    values, directions = np.linalg.eigh((scaled + scaled.T) / 2)
    if values[0] < 1:
        scaled = (directions * np.maximum(values, 1.0)) @ directions.T
    return np.asarray((scaled + scaled.T) / 2 * np.outer(unit, unit))


def missing_steps(X: np.ndarray) -> np.ndarray:
    """Return which vectors are missing, of which no cell is there, shape (n,)."""
    missing = np.isnan(X[:, 0])
    if missing.any():
        missing[missing] = np.isnan(X[missing]).all(axis=1)
    return np.asarray(missing)


def seen_rows(X: np.ndarray, posterior: np.ndarray, missing: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """The vectors that are not missing, with their posteriors, and the expected number of missing ones with those before."""
    gone = missing_steps(X)
    if not gone.any():
        return X, posterior, missing
    return X[~gone], np.ascontiguousarray(posterior[~gone]), missing + posterior[gone].sum(axis=0)


def _three(prior: Any) -> tuple[Any, ...]:
    """Pseudo-counts of starts, transitions and symbols."""
    return prior if isinstance(prior, tuple) else (prior, prior, prior)


def chain_expected(
    startprob: np.ndarray, transmat: np.ndarray, sums: ChainSums, prior: Any
) -> tuple[Distributions, Distributions]:
    """Start and transitions with what a pass expects of them."""
    start, moves = _three(prior)[:2]
    return Distributions(startprob, sums.start, start), Distributions(transmat, sums.transitions, moves)


def add_sequences(
    state: ChainSums, log_likelihood: float, posterior: np.ndarray, transitions: np.ndarray, start: np.ndarray
) -> ChainSums:
    """Count sequences with what `forward_backward` found of them."""
    state.start += start
    state.transitions += transitions
    state.log_likelihood += log_likelihood
    state.n_steps += len(posterior)
    return state
