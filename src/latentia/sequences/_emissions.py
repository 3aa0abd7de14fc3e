"""What the steps of a sequence are: symbols of an alphabet, or vectors. All that `SpectralHMM` does differently for the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from .. import _fields as of
from .._entries import missing_entries
from ..evidence import Check, PartErrors, at_most, error_checks, separation_limit
from ..exceptions import LatentiaError
from ..likelihood import Values, one_gaussian, over, refine
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

_MAX_TRUSTED_ERROR = 0.4  # l1 error of a state's symbols (0 to 2)
_STEPS_PER_PARAMETER = 10  # steps, for each number of a linear function
_MOMENT_FLOOR = 0.02  # least variance of a feature in a state that moments may give, as a share of the feature's
_EM_FLOOR = 1e-4  # that EM may reach: states can be far narrower than they are apart
CLUSTER_STEPS, CLUSTER_STRETCH = 5000, 1000  # in which clusters are looked for, and those of a stretch
_ROUNDS = ((10, 6), (30, 3), (100, 1))  # E-steps of every start that is left, and how many go on
PRIOR = 0.01  # pseudo-counts of a transition and of a symbol in EM


class Scaling(NamedTuple):
    """How columns are brought to one scale before their moments are taken.

    Attributes
    ----------
    center, scale : ndarray of shape (D,)
    deviations : ndarray of shape (D,)
        Of vectors; 1 for symbols.
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
    """The steps of a chain, and what its states show."""

    @property
    def constant(self) -> bool:
        """Whether a constant is appended to a step's coordinates, and squares are summed."""

    @property
    def max_distance(self) -> float:
        """The largest distance of two states."""

    def encode_array(self, first: Block) -> np.ndarray:
        """The steps of an array as `blocks` would have them, and what stands for missing ones."""

    def missing(self, rows: np.ndarray) -> np.ndarray:
        """Which of the steps of a block are missing, shape (n,)."""

    def n_parameters(self, chain: Chain) -> int:
        """Free parameters of what the states show."""

    def encode_blocks(self, blocks: Blocks) -> Blocks:
        """Blocks of steps as the recursions read them."""

    def moment_blocks(self, blocks: Blocks) -> Blocks:
        """Blocks whose rows are what moments are taken of."""

    def decode_steps(self, rows: Any) -> Any:
        """Steps as they were given."""

    def scaling(self, columns: ColumnMoments) -> Scaling: ...

    def expected_columns(self, emissions: np.ndarray) -> np.ndarray:
        """Means of the columns of `table` in states with these emissions."""

    def noise(self, chain: Chain, deviations: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        """What columns of `table` have on their own: their variances, or covariances given the state; None: not known."""

    def build_chain(self, values: Values) -> Chain:
        """That of the values of an update."""

    def recover_emissions(
        self, frame: CommonFrame, m: ViewSums, v: np.ndarray, marginal: np.ndarray, deviations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """What the states show, and the variances of vectors, from the middle view."""

    def update(self, chain: Chain, deviations: np.ndarray) -> Any:
        """EM's from this chain."""

    def recursion_arguments(self, chain: Chain, block: Block) -> tuple[Any, ...]:
        """Those of the recursions for a block."""

    def nearest_state_distances(self, first: np.ndarray, second: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Distance of each state to the nearest one of another chain of the same data, shape (K,)."""

    def paired_distances(self, first: np.ndarray, second: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Distance of each state to the one of the same number, shape (K,)."""

    def distances_to_model(
        self, first: np.ndarray, second: np.ndarray, second_kind: Emissions, deviations: np.ndarray
    ) -> np.ndarray:
        """The same for a chain of other data."""

    def draw(self, chain: Chain, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Steps of these states."""

    def state_separations(self, chain: Chain, deviations: np.ndarray) -> np.ndarray:
        """Distance of each state to the nearest other one, shape (K,)."""

    def min_errors(self, chain: Chain, deviations: np.ndarray, n_steps: np.ndarray) -> Any:
        """What errors are at least, with so many steps in each state, (K,): those where states are known. 0: not computed."""

    def score_independent_steps(
        self, rows: Any, marginal: np.ndarray, n_steps: int, chain: Chain
    ) -> tuple[np.ndarray, int, str]:
        """Log-likelihood of each of some steps where all are independent, its number of parameters, and what that is called."""

    def score_drifting_steps(self, sample: Blocks) -> list[tuple[np.ndarray, int, str]]:
        """The same of models without states in which neighbouring steps are alike."""

    def checks(self, chain: Chain, deviations: np.ndarray, parts: PartErrors, n_steps: int) -> list[Check]:
        """The expected errors, and what else the evidence says of the emissions."""


@dataclass(frozen=True)
class Symbols:
    """Symbols of an alphabet, as numbers from 0.

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

    def paired_distances(self, first: np.ndarray, second: np.ndarray, deviations: np.ndarray) -> np.ndarray:
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
        limit = separation_limit(chain.emissions, "cityblock", _MAX_TRUSTED_ERROR)
        unit = "0 is exact, 2 is all wrong"
        return error_checks(parts, limit, "mean |O_k - O'_k|_1", unit, "state", n_rows=n_steps)


@dataclass(frozen=True)
class Vectors:
    """Vectors of numbers.

    Attributes
    ----------
    covariance : {"diag", "full", "tied"}
        What EM ends with; moments are those of independent features.
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
            raise LatentiaError(f"All {columns.n} steps are the same: there are no states to find.")
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
        """The likeliest start from clusters, on some stretches of the steps."""
        sample = sample_even_stretches(blocks, CLUSTER_STEPS, CLUSTER_STRETCH)
        return self.choose_likeliest(build_cluster_chains(sample, deviations, k), sample, deviations)

    def choose_likeliest(self, starts: Mapping[str, Chain], sample: Blocks, deviations: np.ndarray) -> Chain:
        """The chain that is likeliest on some steps: all starts make a few steps of EM, and the best of them more."""
        e_step = over(sample)

        def climb(start: Chain, steps: int) -> tuple[float, Chain]:
            reached = refine(self.update(start, deviations), e_step, "auto", most=steps)
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
        """EM's with full covariances, which are those of the chain, if it has any, or its variances."""
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

    def paired_distances(self, first: np.ndarray, second: np.ndarray, deviations: np.ndarray) -> np.ndarray:
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
        return *one_gaussian(rows, n_steps), "one Gaussian"

    def score_drifting_steps(self, sample: Blocks) -> list[tuple[np.ndarray, int, str]]:
        """Each step is a linear function of the last one: states may be what such a line is cut into."""
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
        return [(one_gaussian(residuals, n)[0], d * (d + 1) + d * (d + 1) // 2, "steps that follow from the last one")]

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
                f"Of a state's features whose variance is {_MOMENT_FLOOR:g} of the feature's own, the least that moments may give, or "
                f"{_EM_FLOOR:g}, the least that EM may: too little data gives such.",
                "not in the paper", "note", "Variances are rough: let EM refine them, or get more data.",
            ),
        ]  # fmt: skip


def estimate_unseen(emissions: np.ndarray, weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Probability that a state shows a symbol that has not been seen, shape (K,).

    By leaving one step out (Good and Turing): what was seen once would then be new. A state gets one step more, which is new as
    often as in all states together.

    Parameters
    ----------
    emissions : ndarray of shape (K, S)
    weights : ndarray of shape (K,)
        Shares of the steps in each state.
    counts : ndarray of shape (S,)
        How often each symbol was seen.
    """
    if counts.all():
        return np.zeros(len(weights))
    n, seen_once = counts.sum(), counts == 1
    state_counts = weights[:, None] * emissions[:, seen_once]
    expected_once = (state_counts / np.maximum(state_counts.sum(axis=0), np.finfo(float).tiny)).sum(axis=1)
    return np.asarray((expected_once + (seen_once.sum() + 0.5) / (n + 1)) / (weights * n + 1))


def add_unseen_symbols(emissions: np.ndarray, chances: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """Emissions (K, S) of which ``chances`` (K,) go, in equal shares, to the symbols of the mask ``unseen``."""
    widened = emissions * (1 - chances)[:, None]
    widened[:, unseen] += (chances / max(int(unseen.sum()), 1))[:, None]
    return widened


def build_prior(values: np.ndarray) -> np.ndarray:
    """Pseudo-counts of probabilities: none for those that are zero, which stay so."""
    return np.where(values > 0, PRIOR, 0.0)
