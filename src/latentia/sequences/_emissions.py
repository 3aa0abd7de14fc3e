"""Kinds of emissions: symbols of an alphabet, or vectors. All that `SpectralHMM` does differently for the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from .. import _fields as of
from .._entries import missing_entries
from ..evidence import Check, PartErrors, at_most, error_checks, separation_limit
from ..evidence.limits import MAX_L1_ERROR
from ..exceptions import LatentiaError
from ..likelihood import Values, over, refine, single_gaussian
from ..likelihood.products import product_log_density
from ..metrics import nearest_distances, nearest_others
from ..moments import ColumnMoments, CommonFrame, ViewSums
from ..passes import Block, Blocks
from ..simplex import distributions
from ._chain import Chain, symbol_distances
from ._clusters import build_cluster_chains
from ._lags import encode_one_hot
from ._steps import (
    encode_symbol_blocks,
    encode_symbols,
    find_present,
    insert_missing,
    read_vectors,
    sample_even_stretches,
    select_rows,
)
from .updates import (
    FullChainUpdate,
    GaussianChainUpdate,
    SymbolChainUpdate,
    full_log_density,
    log_by_symbol_table,
    missing_steps,
    observed_log_density,
)

Covariance: TypeAlias = Literal["diag", "full", "tied"]

_STEPS_PER_PARAMETER = 10  # steps per coefficient of the linear model without states
_MOMENT_FLOOR = 0.02  # smallest variance of a feature in a state by moments, as a share of the feature's variance
_EM_FLOOR = 1e-4  # the same in EM: states can be far narrower than the distance between them
CLUSTER_STEPS, CLUSTER_STRETCH = 5000, 1000  # steps that are clustered, and length of their stretches
_ROUNDS = ((10, 6), (30, 3), (100, 1))  # E-steps of every remaining start, and the number of starts that go on
PRIOR = 0.01  # pseudo-count of a transition and of a symbol in EM


class Scaling(NamedTuple):
    """Centre and scale of the columns whose moments are taken.

    Attributes
    ----------
    center, scale : ndarray of shape (D,)
    deviations : ndarray of shape (D,)
        Standard deviations of vectors; 1 for symbols.
    max_states : int
        Number of states that the columns can carry.
    reason : str
        What limits it.
    """

    center: np.ndarray
    scale: np.ndarray
    deviations: np.ndarray
    max_states: int
    reason: str


class Emissions(Protocol):
    """A kind of steps, and what the states of a chain emit."""

    @property
    def constant(self) -> bool:
        """True if a constant is appended to a step's coordinates, and squares are summed."""

    @property
    def max_distance(self) -> float:
        """Largest possible distance of two states."""

    def encode_array(self, first: Block) -> np.ndarray:
        """Encode the steps of an array as `encode_blocks` does, with a mark for missing ones."""

    def missing(self, rows: np.ndarray) -> np.ndarray:
        """Mark the missing steps of a block, shape (n,)."""

    def n_parameters(self, chain: Chain) -> int:
        """Count the free parameters of the emissions."""

    def encode_blocks(self, blocks: Blocks) -> Blocks:
        """Encode blocks of steps for the recursions."""

    def moment_blocks(self, blocks: Blocks) -> Blocks:
        """Build the blocks whose rows enter the moments."""

    def decode_steps(self, rows: Any) -> Any:
        """Turn encoded steps back into those of the user."""

    def scaling(self, columns: ColumnMoments) -> Scaling: ...

    def expected_columns(self, emissions: np.ndarray) -> np.ndarray:
        """Compute the means of the columns of `moment_blocks` in states with these emissions."""

    def noise(self, chain: Chain, deviations: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        """Return the noise of `moment_blocks` given the state: variances, or covariances; None if unknown."""

    def build_chain(self, values: Values) -> Chain:
        """Build the chain of an update's values."""

    def recover_emissions(
        self, frame: CommonFrame, m: ViewSums, v: np.ndarray, marginal: np.ndarray, deviations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Recover emissions, and the variances of vectors, from the middle view."""

    def update(self, chain: Chain, deviations: np.ndarray) -> Any:
        """Build the EM update that starts at this chain."""

    def recursion_arguments(self, chain: Chain, block: Block) -> tuple[Any, ...]:
        """Build the arguments of the recursions for a block."""

    def nearest_state_distances(self, first: np.ndarray, second: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Compute the distance of each state to the nearest state of another chain of the same data, shape (K,)."""

    def distances_by_number(self, first: np.ndarray, second: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Compute the distance of each state to the state of the same number, shape (K,)."""

    def distances_to_model(
        self, first: np.ndarray, second: np.ndarray, second_kind: Emissions, deviations: np.ndarray
    ) -> np.ndarray:
        """Compute the distance of each state to the nearest state of a chain of other data, shape (K,)."""

    def draw(self, chain: Chain, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a step of each of these states."""

    def state_separations(self, chain: Chain, deviations: np.ndarray) -> np.ndarray:
        """Compute the distance of each state to the nearest other state, shape (K,)."""

    def min_errors(self, chain: Chain, deviations: np.ndarray, n_steps: np.ndarray) -> Any:
        """Return the error with known states and this many steps in each, (K,): a lower bound. 0 if not computed."""

    def score_independent_steps(
        self, rows: Any, marginal: np.ndarray, n_steps: int, chain: Chain
    ) -> tuple[np.ndarray, int, str]:
        """Score sampled steps by a model of independent steps: log-likelihoods, number of parameters, and its name."""

    def score_drifting_steps(self, sample: Blocks) -> list[tuple[np.ndarray, int, str]]:
        """Score sampled steps by models without states in which neighbouring steps are alike."""

    def checks(self, chain: Chain, deviations: np.ndarray, parts: PartErrors, n_steps: int) -> list[Check]:
        """Build the checks of expected errors and of the emissions."""


@dataclass(frozen=True)
class Symbols:
    """Symbols of an alphabet, encoded as numbers from 0.

    Attributes
    ----------
    alphabet : ndarray of shape (S,)
    """

    alphabet: Annotated[np.ndarray, of.symbols("S")]
    constant: bool = False
    max_distance: Annotated[float, of.Field(low=0.0, finite=False)] = 2.0

    def encode_array(self, first: Block) -> np.ndarray:
        is_present = find_present(first[0])
        return insert_missing(
            encode_symbols(first if is_present.all() else select_rows(first, is_present), self.alphabet),
            is_present,
            len(self.alphabet),
        )

    def missing(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows[:, 0] == len(self.alphabet))

    def n_parameters(self, chain: Chain) -> int:
        return len(chain.startprob) * (len(self.alphabet) - 1)

    def encode_blocks(self, blocks: Blocks) -> Blocks:
        return encode_symbol_blocks(blocks, self.alphabet)

    def moment_blocks(self, blocks: Blocks) -> Blocks:
        return encode_one_hot(blocks, len(self.alphabet))

    def decode_steps(self, rows: Any) -> Any:
        return self.alphabet[rows.ravel()]

    def scaling(self, columns: ColumnMoments) -> Scaling:
        occurs, width = columns.mean > 0, len(columns.mean)
        scale = np.where(occurs, np.where(occurs, columns.mean, 1.0) ** -0.25, 0.0)
        max_states = int(occurs.sum())
        reason = f"{max_states} different symbols occur" if max_states > 1 else "one symbol occurs"
        return Scaling(np.zeros(width), scale, np.ones(width), max_states, reason)

    def recover_emissions(
        self, frame: CommonFrame, m: ViewSums, v: np.ndarray, marginal: np.ndarray, deviations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        return distributions(frame.mean_given(m.sketches, 1, v), marginal), None

    def expected_columns(self, emissions: np.ndarray) -> np.ndarray:
        return emissions

    def noise(self, chain: Chain, deviations: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        return None

    def build_chain(self, values: Values) -> Chain:
        return Chain(*values)

    def update(self, chain: Chain, deviations: np.ndarray) -> SymbolChainUpdate:
        values = chain.startprob, chain.transmat, chain.emissions
        return SymbolChainUpdate(*values, tuple(map(build_prior, values)))

    def recursion_arguments(self, chain: Chain, block: Block) -> tuple[Any, ...]:
        return chain.startprob, chain.transmat, log_by_symbol_table(chain.emissions), block[-1], block[0].ravel()

    def nearest_state_distances(self, first: np.ndarray, second: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        return nearest_distances(first, second)

    def distances_by_number(self, first: np.ndarray, second: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        return np.asarray(np.abs(first - second).sum(axis=1))

    def distances_to_model(
        self, first: np.ndarray, second: np.ndarray, second_kind: Any, deviations: np.ndarray
    ) -> np.ndarray:
        return symbol_distances((first, self.alphabet), (second, second_kind.alphabet))

    def draw(self, chain: Chain, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        emitted = (np.cumsum(chain.emissions, axis=1)[states] < rng.random(len(states))[:, None]).sum(axis=1)
        return self.alphabet[np.minimum(emitted, len(self.alphabet) - 1)]

    def state_separations(self, chain: Chain, deviations: np.ndarray) -> np.ndarray:
        return nearest_others(chain.emissions, "cityblock")

    def min_errors(self, chain: Chain, deviations: np.ndarray, n_steps: np.ndarray) -> Any:
        return 0.0

    def score_independent_steps(
        self, rows: Any, marginal: np.ndarray, n_steps: int, chain: Chain
    ) -> tuple[np.ndarray, int, str]:
        return np.log(marginal[rows.ravel()]), int((marginal > 0).sum()) - 1, "independent symbols"

    def score_drifting_steps(self, sample: Blocks) -> list[tuple[np.ndarray, int, str]]:
        return []

    def checks(self, chain: Chain, deviations: np.ndarray, parts: PartErrors, n_steps: int) -> list[Check]:
        limit = separation_limit(chain.emissions, "cityblock", MAX_L1_ERROR)
        unit = "0 is exact, 2 is all wrong"
        return error_checks(parts, limit, "mean |O_k - O'_k|_1", unit, "state", n_rows=n_steps)


@dataclass(frozen=True)
class Vectors:
    """Vectors of numbers, Gaussian given the state.

    Attributes
    ----------
    covariance : {"diag", "full", "tied"}
        Covariance of the final EM; the moments take features as independent.
    """

    covariance: Covariance = "diag"
    constant: bool = True
    max_distance: Annotated[float, of.Field(low=0.0, finite=False)] = np.inf

    def encode_array(self, first: Block) -> np.ndarray:
        is_present = find_present(first[0])
        return insert_missing(
            read_vectors(first[0] if is_present.all() else first[0][is_present], missing=True), is_present, np.nan
        )

    def missing(self, rows: np.ndarray) -> np.ndarray:
        return missing_steps(rows)

    def n_parameters(self, chain: Chain) -> int:
        k, d = chain.emissions.shape
        n_covariances = d * (d + 1) // 2
        return k * d + {"diag": k * d, "full": k * n_covariances, "tied": n_covariances}[self.covariance]

    def encode_blocks(self, blocks: Blocks) -> Blocks:
        return blocks

    def moment_blocks(self, blocks: Blocks) -> Blocks:
        return blocks

    def decode_steps(self, rows: Any) -> Any:
        return rows

    def scaling(self, columns: ColumnMoments) -> Scaling:
        varies = columns.variance > 0
        if not varies.any():
            raise LatentiaError(f"Expected steps that vary; all {columns.n} steps are the same.")
        deviations = np.sqrt(np.where(varies, columns.variance, 1.0))
        reason = f"{int(varies.sum())} of {len(varies)} features vary"
        return Scaling(columns.mean, varies / deviations, deviations, int(varies.sum()) + 1, reason)

    def recover_emissions(
        self, frame: CommonFrame, m: ViewSums, v: np.ndarray, marginal: np.ndarray, deviations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        means = frame.mean_given(m.sketches, 1, v)
        square = frame.mean_given(m.squares, 1, v)
        return means, np.maximum(square - (means - marginal) ** 2, _MOMENT_FLOOR * deviations**2)

    def expected_columns(self, emissions: np.ndarray) -> np.ndarray:
        return emissions

    def noise(self, chain: Chain, deviations: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        return None if chain.covariances is not None else deviations**2

    def build_chain(self, values: Values) -> Chain:
        return Chain(*values)

    def build_cluster_start(self, blocks: Blocks, deviations: np.ndarray, k: int) -> Chain:
        """Build the likeliest start from clusters of sampled steps."""
        sample = sample_even_stretches(blocks, CLUSTER_STEPS, CLUSTER_STRETCH)
        return self.choose_likeliest(build_cluster_chains(sample, deviations, k), sample, deviations)

    def choose_likeliest(self, starts: Mapping[str, Chain], sample: Blocks, deviations: np.ndarray) -> Chain:
        """Choose the likeliest chain on sampled steps: all starts make a few steps of EM, the best of them more."""
        e_step = over(sample)

        def climb(start: Chain, steps: int) -> tuple[float, Chain]:
            reached = refine(self.update(start, deviations), e_step, "auto", max_steps=steps)
            return float(np.max(reached.log_likelihood)), self.build_chain(reached.values)

        climbed = list(starts.values())
        for steps, n_best in _ROUNDS:
            reached = [climb(start, steps) for start in climbed]
            climbed = [chain for _, chain in sorted(reached, key=lambda candidate: -candidate[0])[:n_best]]
        return climbed[0]

    def update(self, chain: Chain, deviations: np.ndarray) -> GaussianChainUpdate:
        assert chain.variances is not None
        floor = _EM_FLOOR * deviations**2
        values = chain.startprob, chain.transmat
        prior = tuple(map(build_prior, values))
        return GaussianChainUpdate(*values, chain.emissions, chain.variances, floor, prior)

    def full_update(self, chain: Chain, deviations: np.ndarray) -> FullChainUpdate:
        """Build the EM update with full covariances, from the chain's covariances or else its variances."""
        assert chain.variances is not None
        covariances = chain.covariances
        if covariances is None:
            covariances = np.array([np.diag(variances) for variances in chain.variances])
        floor, values = _EM_FLOOR * deviations**2, (chain.startprob, chain.transmat)
        prior = tuple(map(build_prior, values))
        return FullChainUpdate(*values, chain.emissions, covariances, floor, prior, self.covariance == "tied")

    def recursion_arguments(self, chain: Chain, block: Block) -> tuple[Any, ...]:
        def density(rows: np.ndarray) -> np.ndarray:
            assert chain.variances is not None
            if chain.covariances is not None:
                return full_log_density(rows, chain.emissions, chain.covariances)
            return product_log_density("gaussian", rows, chain.emissions, chain.variances)

        return chain.startprob, chain.transmat, observed_log_density(block[0], density), block[-1]

    def nearest_state_distances(self, first: np.ndarray, second: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        return cdist(first / deviations, second / deviations).min(axis=1)

    def distances_by_number(self, first: np.ndarray, second: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        return np.linalg.norm((first - second) / deviations, axis=1)

    def distances_to_model(
        self, first: np.ndarray, second: np.ndarray, second_kind: Any, deviations: np.ndarray
    ) -> np.ndarray:
        return self.nearest_state_distances(first, second, deviations)

    def draw(self, chain: Chain, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        assert chain.variances is not None
        noise = rng.standard_normal((len(states), chain.emissions.shape[1]))
        if chain.covariances is not None:
            roots = np.linalg.cholesky(chain.covariances)
            return np.asarray(chain.emissions[states] + np.einsum("nij,nj->ni", roots[states], noise))
        return chain.emissions[states] + np.sqrt(chain.variances[states]) * noise

    def state_separations(self, chain: Chain, deviations: np.ndarray) -> np.ndarray:
        return nearest_others(chain.emissions / deviations, "euclidean")

    def min_errors(self, chain: Chain, deviations: np.ndarray, n_steps: np.ndarray) -> Any:
        return 0.0

    def score_independent_steps(
        self, rows: Any, marginal: np.ndarray, n_steps: int, chain: Chain
    ) -> tuple[np.ndarray, int, str]:
        return *single_gaussian(rows, n_steps), "one Gaussian"

    def score_drifting_steps(self, sample: Blocks) -> list[tuple[np.ndarray, int, str]]:
        """Score a model in which each step is a linear function of the previous step, without states."""
        rows, lengths = (np.concatenate(pieces) for pieces in zip(*(block[:2] for block in sample), strict=True))
        n, d = rows.shape
        if n < _STEPS_PER_PARAMETER * d * d:
            return []
        successors = np.setdiff1d(np.arange(n), np.cumsum(lengths) - lengths)
        gaps = missing_entries(rows)
        means = rows.mean(axis=0) if gaps is None else np.nanmean(rows, axis=0)
        completed = rows if gaps is None else np.where(gaps, means, rows)
        predictors = np.column_stack([np.ones(len(successors)), completed[successors - 1]])
        residuals = rows - means
        residuals[successors] = (
            rows[successors] - predictors @ np.linalg.lstsq(predictors, completed[successors], rcond=None)[0]
        )
        return [
            (single_gaussian(residuals, n)[0], d * (d + 1) + d * (d + 1) // 2, "steps that follow from the last one")
        ]

    def checks(self, chain: Chain, deviations: np.ndarray, parts: PartErrors, n_steps: int) -> list[Check]:
        assert chain.variances is not None
        several = len(chain.emissions) > 1
        limit = separation_limit(chain.emissions / deviations, "euclidean") if several else 1.0
        unit = "in standard deviations of the features"
        shares = chain.variances / deviations**2
        at_floor = float(
            ((shares <= _EM_FLOOR * (1 + 1e-9)) | (np.abs(shares - _MOMENT_FLOOR) <= 1e-9 * _MOMENT_FLOOR)).mean()
        )
        return [
            *error_checks(parts, limit, "mean |O_k - O'_k|_2", unit, "state", n_rows=n_steps),
            Check(
                "variances at their floor", "share", at_floor, at_most(0.1),
                "Share of the variances of states that are the smallest allowed: as a share of the feature's variance, "
                f"{_MOMENT_FLOOR:g} by moments and {_EM_FLOOR:g} by EM. Too little data is the usual cause.",
                "not in the paper", "note", "Variances are rough: let EM refine them, or get more data.",
            ),
        ]  # fmt: skip


def estimate_unseen(emissions: np.ndarray, weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Estimate the probability that a state emits a symbol that is not in the data, shape (K,).

    Leave one step out (Good and Turing): a symbol that occurs once would then be new. Each state also gets one pseudo-step,
    which is new as often as in all states together.

    Parameters
    ----------
    emissions : ndarray of shape (K, S)
    weights : ndarray of shape (K,)
        Shares of the steps in each state.
    counts : ndarray of shape (S,)
        How often each symbol occurs.
    """
    if counts.all():
        return np.zeros(len(weights))
    n, seen_once = counts.sum(), counts == 1
    state_counts = weights[:, None] * emissions[:, seen_once]
    expected_once = (state_counts / np.maximum(state_counts.sum(axis=0), np.finfo(float).tiny)).sum(axis=1)
    return np.asarray((expected_once + (seen_once.sum() + 0.5) / (n + 1)) / (weights * n + 1))


def add_unseen_symbols(emissions: np.ndarray, chances: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """Give the share ``chances`` (K,) of each state's emissions (K, S) to the symbols of the mask ``unseen``, evenly."""
    widened = emissions * (1 - chances)[:, None]
    widened[:, unseen] += (chances / max(int(unseen.sum()), 1))[:, None]
    return widened


def build_prior(values: np.ndarray) -> np.ndarray:
    """Return pseudo-counts of probabilities; zero where the probability is zero, which then stays zero."""
    return np.where(values > 0, PRIOR, 0.0)
