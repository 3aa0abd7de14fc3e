"""Steps of counts: in state k column d is Poisson with rate O_kd, and columns are independent given the state.

Moments are taken of the counts and of indicators whether a count is at most a threshold, for a few quantiles of the column.
This lets one column carry many states. Counts alone would not: their means lie on a line, while Poisson distributions of
different rates are linearly independent. The means of the indicators in a state follow from its rates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from scipy.signal import lfilter
from scipy.special import gammaln, pdtr

from .. import _fields as of
from .._validation import finite_blocks
from ..evidence import Check, PartErrors, error_checks, separation_limit
from ..exceptions import LatentiaError
from ..likelihood import Expected, Rates, Values, log, normalised
from ..likelihood.rows import merge_sums
from ..moments import ColumnMoments, CommonFrame, ViewSums
from ..passes import Block, Blocks
from ._chain import Chain, compute_stationary
from ._clusters import build_cluster_chains
from ._emissions import CLUSTER_STEPS, CLUSTER_STRETCH, PRIOR, Scaling, Vectors, build_prior
from ._steps import find_present, read_vectors, sample_even_stretches
from .recursions import as_floats, forward_backward
from .updates import ChainSums, add_sequences, drop_missing_steps, expect_chain, observed_log_density

_THRESHOLD_ROWS = 5000  # rows whose quantiles become thresholds
_MIN_RATE = 1e-8
_MIN_EXCESS_VARIANCE = 1e-3  # smallest variance beyond that of a Poisson distribution, as a share of the column's mean
_ROOT_DEVIATION = 0.5  # standard deviation of the root of a Poisson count
_MAX_INDICATORS = 10  # per column
_MEMORIES = (0.6, 0.8, 0.9, 0.95, 0.98)  # discount of past counts per step; with less, a wandering rate is mere noise


@dataclass(frozen=True)
class Counts(Vectors):
    """Rows of counts.

    Attributes
    ----------
    thresholds : ndarray of shape (D, m)
        Thresholds of each column's indicators.
    """

    thresholds: Annotated[np.ndarray, of.numbers("S *", 0.0)] = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def from_rows(cls, X: Any, first: Block, n_states: int) -> Counts:
        """Choose thresholds from the first rows of the data; no thresholds if there are enough columns for the states."""
        if isinstance(X, Blocks):
            rows = np.asarray(X.some_rows(_THRESHOLD_ROWS)[0])
        else:
            rows = read_vectors(first[0][find_present(first[0])])
            check_counts(rows, first.rows)
        d = rows.shape[1]
        m = min(-(-2 * n_states // d), _MAX_INDICATORS) if d < 2 * n_states else 0
        return cls(thresholds=np.quantile(rows, (np.arange(m) + 0.5) / max(m, 1), axis=0, method="lower").T)

    def encode_array(self, first: Block) -> np.ndarray:
        read_vectors(first[0][find_present(first[0])])  # Single cells of counts may not be missing.
        rows = super().encode_array(first)
        check_counts(rows, first.rows)
        return rows

    def n_parameters(self, chain: Chain) -> int:
        return chain.emissions.size

    def encode_blocks(self, blocks: Blocks) -> Blocks:
        def check_and_convert(block: Block) -> list[Any]:
            check_counts(block[0], block.rows)
            return [as_floats(block[0]), block[-1]]

        return finite_blocks(blocks).map(check_and_convert, blocks.shapes)

    def moment_blocks(self, blocks: Blocks) -> Blocks:
        if not self.thresholds.size:
            return blocks

        def append_indicators(block: Block) -> list[Any]:
            below = block[0][:, :, None] <= self.thresholds
            return [np.hstack([block[0], below.reshape(len(below), -1)]), block[-1]]

        return blocks.map(append_indicators, [(blocks.n_rows, len(self.thresholds) + self.thresholds.size)])

    def expected_columns(self, emissions: np.ndarray) -> np.ndarray:
        below = pdtr(self.thresholds, emissions[:, :, None])
        return np.hstack([emissions, below.reshape(len(below), -1)])

    def noise(self, chain: Chain, deviations: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Compute the covariance of counts and indicators in a state: cov(x, 1{x <= q}) = rate (F(q - 1) - F(q))."""
        (d, m), rates = self.thresholds.shape, chain.emissions[:, :, None]
        at_most_threshold = pdtr(self.thresholds, rates)
        below_threshold = pdtr(np.maximum(self.thresholds - 1, 0), rates)
        below_threshold = np.where(self.thresholds >= 1, below_threshold, 0.0)
        indicator_covariances = (
            np.minimum(at_most_threshold[..., None], at_most_threshold[..., None, :])
            - at_most_threshold[..., None] * at_most_threshold[..., None, :]
        )
        cross = np.einsum("k,kdi->di", weights, rates * (below_threshold - at_most_threshold))
        covariance = np.zeros((d * (1 + m), d * (1 + m)))
        covariance[np.arange(d), np.arange(d)] = weights @ chain.emissions
        for j, (column_cross, column_indicators) in enumerate(
            zip(cross, np.einsum("k,kdij->dij", weights, indicator_covariances), strict=True)
        ):
            indicators = slice(d + j * m, d + (j + 1) * m)
            covariance[j, indicators] = covariance[indicators, j] = column_cross
            covariance[indicators, indicators] = column_indicators
        return covariance

    def scaling(self, columns: ColumnMoments) -> Scaling:
        d = len(self.thresholds)
        scaling = super().scaling(columns)
        if not self.thresholds.size:
            return scaling
        distinct = sum(len(np.unique(column_thresholds[1:])) for column_thresholds in self.thresholds)
        max_states = 1 + distinct + int((columns.variance[:d] > 0).sum())
        reason = f"the {'column of counts takes' if d == 1 else 'columns of counts take'} few different values"
        return Scaling(scaling.center, scaling.scale, scaling.deviations[:d], max_states, reason)

    def recover_emissions(
        self, frame: CommonFrame, m: ViewSums, v: np.ndarray, marginal: np.ndarray, deviations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        d = len(self.thresholds)
        rates = frame.mean_given(m.sketches, 1, v)[:, :d]
        rates = np.maximum(rates, np.maximum(0.01 * marginal[:d], _MIN_RATE))
        return rates, rates

    def build_chain(self, values: Values) -> Chain:
        startprob, transmat, rates = values
        return Chain(startprob, transmat, rates, rates)

    def build_cluster_start(self, blocks: Blocks, deviations: np.ndarray, k: int) -> Chain:
        """Cluster the roots of the counts, whose noise is the same at all rates; the mean of their squares is a rate."""
        sample = sample_even_stretches(blocks, CLUSTER_STEPS, CLUSTER_STRETCH)
        roots = sample.map(lambda block: [np.sqrt(block[0]), block[-1]], sample.shapes)
        chains = build_cluster_chains(roots, np.full(len(deviations), _ROOT_DEVIATION), k)
        starts = {
            name: self.build_chain((chain.startprob, chain.transmat, chain.emissions**2 + chain.variances))
            for name, chain in chains.items()
            if chain.variances is not None
        }
        return self.choose_likeliest(starts, sample, deviations)

    def update(self, chain: Chain, deviations: np.ndarray) -> CountChainUpdate:  # type: ignore[override]
        values = chain.startprob, chain.transmat
        return CountChainUpdate(*values, chain.emissions, (*map(build_prior, values), PRIOR))

    def recursion_arguments(self, chain: Chain, block: Block) -> tuple[Any, ...]:
        return chain.startprob, chain.transmat, _density(block[0], chain.emissions), block[-1]

    def draw(self, chain: Chain, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(chain.emissions[states])

    def min_errors(self, chain: Chain, deviations: np.ndarray, n_steps: np.ndarray) -> np.ndarray:
        """Return the standard error of a mean of counts, since halves of few columns may agree by chance."""
        return np.sqrt((chain.emissions / deviations**2).sum(axis=1) / np.maximum(n_steps, 1))

    def score_independent_steps(
        self, rows: Any, marginal: np.ndarray, n_steps: int, chain: Chain
    ) -> tuple[np.ndarray, int, str]:
        """Score steps by the mixture of the states: counts vary more than one Poisson allows, in any order."""
        shares = compute_stationary(chain.transmat)
        log_likelihoods = normalised(_density(rows, chain.emissions) + log(shares), shares)[1]
        return log_likelihoods, len(shares) - 1 + chain.emissions.size, "independent steps"

    def score_drifting_steps(self, sample: Blocks) -> list[tuple[np.ndarray, int, str]]:
        """Score a model in which the rate of each column wanders about its mean, without states."""
        rows, lengths = (np.concatenate(pieces) for pieces in zip(*(block[:2] for block in sample), strict=True))
        mean, variance = np.maximum(rows.mean(axis=0), _MIN_RATE), rows.var(axis=0)  # A sample may have no count.
        inverse_scale = mean / np.maximum(variance - mean, _MIN_RATE + _MIN_EXCESS_VARIANCE * mean)
        fits = [_score_wandering_rates(rows, lengths, mean, inverse_scale, memory) for memory in _MEMORIES]
        columns = [max(column_fits, key=np.sum) for column_fits in zip(*(fit.T for fit in fits), strict=True)]
        return [(np.sum(columns, axis=0), 3 * rows.shape[1], "rates that wander")]

    def checks(self, chain: Chain, deviations: np.ndarray, parts: PartErrors, n_steps: int) -> list[Check]:
        limit = separation_limit(chain.emissions / deviations, "euclidean") if len(chain.emissions) > 1 else 1.0
        unit = "in standard deviations of the columns"
        return error_checks(parts, limit, "mean |O_k - O'_k|_2", unit, "state", n_rows=n_steps)


class CountChainUpdate:
    """Statistic of one E-step for chains of counts that are Poisson and independent in each state.

    Blocks hold the counts first and the lengths last.

    Parameters
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K)
    rates : ndarray of shape (K, d)
    prior : float, or a tuple of arrays
        Pseudo-counts of every start and transition; for a rate, that many pseudo-steps with one count each.
    """

    def __init__(self, startprob: np.ndarray, transmat: np.ndarray, rates: np.ndarray, prior: Any = 0.0) -> None:
        self.startprob, self.transmat = as_floats(startprob), as_floats(transmat)
        self.rates, self.prior = as_floats(rates), prior

    @property
    def values(self) -> Values:
        return self.startprob, self.transmat, self.rates

    def move_to(self, *values: np.ndarray) -> CountChainUpdate:
        startprob, transmat, rates = values
        return CountChainUpdate(startprob, transmat, rates, self.prior)

    def zero(self) -> ChainSums:
        return ChainSums(np.zeros(self.startprob.shape), np.zeros(self.transmat.shape), np.zeros(self.rates.shape))

    def add(self, state: ChainSums, block: Block) -> ChainSums:
        expectations = forward_backward(self.startprob, self.transmat, _density(block[0], self.rates), block[-1])
        rows, posterior, state.missing = drop_missing_steps(block[0], expectations[1], state.missing)
        state.emissions += posterior.T @ rows
        return add_sequences(state, *expectations)

    def merge(self, first: ChainSums, second: ChainSums) -> ChainSums:
        return merge_sums(first, second)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        prior = self.prior[2] if isinstance(self.prior, tuple) else self.prior
        rates = Rates(self.rates, sums.emissions, sums.mass, prior)
        return *expect_chain(self.startprob, self.transmat, sums, self.prior), rates


def check_counts(rows: np.ndarray, row_numbers: np.ndarray) -> None:
    """Raise if an entry is not a count; NaN marks a missing step."""
    bad = (rows < 0) | (rows != np.rint(rows)) & ~np.isnan(rows) | np.isinf(rows)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise LatentiaError(
            f"Expected counts (whole numbers from 0); row {row_numbers[i]}, column {j} holds {rows[i, j]:g}. For other numbers "
            "use kind='vectors'."
        )


def _score_wandering_rates(
    rows: np.ndarray, lengths: np.ndarray, mean: np.ndarray, inverse_scale: np.ndarray, memory: float
) -> np.ndarray:
    """Compute the log-probability of each count given the earlier ones, shape (n, D), with gamma rates that forget slowly."""
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    decay = memory ** (np.arange(len(rows)) - starts)[:, None]
    discounted_sums = lfilter([0.0, memory], [1.0, -memory], rows, axis=0)
    past_total = np.maximum(discounted_sums - decay * discounted_sums[starts], 0.0)
    past_steps = memory * (1 - decay) / (1 - memory)
    shape, rate = mean * inverse_scale + past_total + _MIN_RATE, inverse_scale + past_steps
    logs = gammaln(shape + rows) - gammaln(shape) - gammaln(rows + 1)
    return np.asarray(logs + shape * np.log(rate / (rate + 1)) - rows * np.log1p(rate))


def _density(rows: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Compute log-probabilities of counts, shape (n, K), zero for missing steps."""
    rates = np.maximum(rates, np.finfo(float).tiny)

    def density(rows: np.ndarray) -> np.ndarray:
        return rows @ np.log(rates).T - rates.sum(axis=1) - gammaln(rows + 1).sum(axis=1)[:, None]

    return observed_log_density(rows, density)
