"""Steps of counts: in state k column d is Poisson with the rate O_kd, and columns are independent given the state.

Moments are those of the counts and of indicators: whether a count is at most one of a few thresholds, quantiles of the column.
So one column carries many states, which counts alone would not: their means lie on a line, while Poisson distributions of
different rates are linearly independent. What indicators are in a state follows from its rates.
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
from ._chain import Chain, stationary
from ._clusters import chains_of_clusters
from ._emissions import PRIOR, STEPS, STRETCH, Scaling, Vectors, prior_of
from ._steps import even_stretches, present, vectors
from .recursions import as_floats, forward_backward
from .updates import ChainSums, add_sequences, chain_expected, observed_log_density, seen_rows

_ROWS = 5000  # whose quantiles are thresholds
_LEAST = 1e-8  # rate
_CLOSE = 1e-3  # of a column's mean, by which its variance is at least above that of a Poisson distribution
_WITHIN = 0.5  # standard deviation of the root of a count in a state
_MOST_INDICATORS = 10  # of a column
_KEPT = (0.6, 0.8, 0.9, 0.95, 0.98)  # of what steps before tell of a level; with less, it would be noise of each step


@dataclass(frozen=True)
class Counts(Vectors):
    """Rows of counts.

    Attributes
    ----------
    thresholds : ndarray of shape (D, m)
        Of the indicators of each column.
    """

    thresholds: Annotated[np.ndarray, of.numbers("S *", 0.0)] = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def told_by(cls, X: Any, first: Block, n_states: int) -> Counts:
        """With thresholds from some rows of the data: none where there are columns enough for the states."""
        if isinstance(X, Blocks):
            rows = np.asarray(X.some_rows(_ROWS)[0])
        else:
            rows = vectors(first[0][present(first[0])])
            check_counts(rows, first.rows)
        d = rows.shape[1]
        m = min(-(-2 * n_states // d), _MOST_INDICATORS) if d < 2 * n_states else 0
        return cls(thresholds=np.quantile(rows, (np.arange(m) + 0.5) / max(m, 1), axis=0, method="lower").T)

    def values(self, first: Block) -> np.ndarray:
        vectors(first[0][present(first[0])])  # Single cells of counts may not be missing.
        rows = super().values(first)
        check_counts(rows, first.rows)
        return rows

    def n_parameters(self, chain: Chain) -> int:
        return chain.emissions.size

    def blocks(self, blocks: Blocks) -> Blocks:
        def checked(block: Block) -> list[Any]:
            check_counts(block[0], block.rows)
            return [as_floats(block[0]), block[-1]]

        return finite_blocks(blocks).map(checked, blocks.shapes)

    def table(self, blocks: Blocks) -> Blocks:
        if not self.thresholds.size:
            return blocks

        def widened(block: Block) -> list[Any]:
            below = block[0][:, :, None] <= self.thresholds
            return [np.hstack([block[0], below.reshape(len(below), -1)]), block[-1]]

        return blocks.map(widened, [(blocks.n_rows, len(self.thresholds) + self.thresholds.size)])

    def shown(self, emissions: np.ndarray) -> np.ndarray:
        below = pdtr(self.thresholds, emissions[:, :, None])
        return np.hstack([emissions, below.reshape(len(below), -1)])

    def noise(self, chain: Chain, deviations: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Of the counts and indicators of one column, by cov(x, 1{x <= q}) = rate (F(q - 1) - F(q))."""
        (d, m), rates = self.thresholds.shape, chain.emissions[:, :, None]
        at, before = pdtr(self.thresholds, rates), pdtr(np.maximum(self.thresholds - 1, 0), rates)
        before = np.where(self.thresholds >= 1, before, 0.0)
        both = (
            np.minimum(at[..., None], at[..., None, :]) - at[..., None] * at[..., None, :]
        )  # of a threshold and another
        cross = np.einsum("k,kdi->di", weights, rates * (before - at))
        found = np.zeros((d * (1 + m), d * (1 + m)))
        found[np.arange(d), np.arange(d)] = weights @ chain.emissions
        for j, (one, other) in enumerate(zip(cross, np.einsum("k,kdij->dij", weights, both), strict=True)):
            own = slice(d + j * m, d + (j + 1) * m)
            found[j, own] = found[own, j] = one
            found[own, own] = other
        return found

    def scaling(self, columns: ColumnMoments) -> Scaling:
        d = len(self.thresholds)
        found = super().scaling(columns)
        if not self.thresholds.size:
            return found
        distinct = sum(len(np.unique(one[1:])) for one in self.thresholds)
        most = 1 + distinct + int((columns.variance[:d] > 0).sum())
        why = f"the {'column of counts takes' if d == 1 else 'columns of counts take'} few different values"
        return Scaling(found.center, found.scale, found.deviations[:d], most, why)

    def recovered(
        self, frame: CommonFrame, m: ViewSums, v: np.ndarray, marginal: np.ndarray, deviations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        d = len(self.thresholds)
        rates = frame.mean_given(m.sketches, 1, v)[:, :d]
        rates = np.maximum(rates, np.maximum(0.01 * marginal[:d], _LEAST))
        return rates, rates

    def chain(self, values: Values) -> Chain:
        startprob, transmat, rates = values
        return Chain(startprob, transmat, rates, rates)

    def clusters(self, blocks: Blocks, deviations: np.ndarray, k: int) -> Chain:
        """Of the roots of counts, whose noise is the same for all rates: a mean of squares is a rate."""
        some = even_stretches(blocks, STEPS, STRETCH)
        roots = some.map(lambda block: [np.sqrt(block[0]), block[-1]], some.shapes)
        chains = chains_of_clusters(roots, np.full(len(deviations), _WITHIN), k)
        starts = {
            name: self.chain((one.startprob, one.transmat, one.emissions**2 + one.variances))
            for name, one in chains.items()
            if one.variances is not None
        }
        return self.likeliest(starts, some, deviations)

    def update(self, chain: Chain, deviations: np.ndarray) -> CountChainUpdate:  # type: ignore[override]
        values = chain.startprob, chain.transmat
        return CountChainUpdate(*values, chain.emissions, (*map(prior_of, values), PRIOR))

    def arguments(self, chain: Chain, block: Block) -> tuple[Any, ...]:
        return chain.startprob, chain.transmat, _density(block[0], chain.emissions), block[-1]

    def draw(self, chain: Chain, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(chain.emissions[states])

    def least_errors(self, chain: Chain, deviations: np.ndarray, n_steps: np.ndarray) -> np.ndarray:
        """The variance of a mean of counts is its rate by their number; halves of few columns may agree by chance."""
        return np.sqrt((chain.emissions / deviations**2).sum(axis=1) / np.maximum(n_steps, 1))

    def without_states(
        self, rows: Any, marginal: np.ndarray, n_steps: int, chain: Chain
    ) -> tuple[np.ndarray, int, str]:
        """A mixture of what the states show: counts vary more than one Poisson has it, in whatever order they come."""
        shares = stationary(chain.transmat)
        found = normalised(_density(rows, chain.emissions) + log(shares), shares)[1]
        return found, len(shares) - 1 + chain.emissions.size, "independent steps"

    def wandering(self, some: Blocks) -> list[tuple[np.ndarray, int, str]]:
        """Each column has a rate of its own that wanders about its mean: states may be what such a line is cut into."""
        rows, lengths = (np.concatenate(pieces) for pieces in zip(*(block[:2] for block in some), strict=True))
        mean, variance = rows.mean(axis=0), rows.var(axis=0)
        inverse_scale = mean / np.maximum(variance - mean, _LEAST + _CLOSE * mean)
        fits = [_of_levels(rows, lengths, mean, inverse_scale, kept) for kept in _KEPT]
        columns = [max(of_column, key=np.sum) for of_column in zip(*(one.T for one in fits), strict=True)]
        return [(np.sum(columns, axis=0), 3 * rows.shape[1], "rates that wander")]

    def checks(self, chain: Chain, deviations: np.ndarray, parts: PartErrors, n_steps: int) -> list[Check]:
        limit = separation_limit(chain.emissions / deviations, "euclidean") if len(chain.emissions) > 1 else 1.0
        unit = "in standard deviations of the columns"
        return error_checks(parts, limit, "mean |O_k - O'_k|_2", unit, "state", n_rows=n_steps)


class CountChainUpdate:
    """Statistic of one E-step for chains of counts, Poisson and independent in each state.

    Blocks have the counts first and the lengths last.

    Parameters
    ----------
    startprob : ndarray of shape (K,)
    transmat : ndarray of shape (K, K)
    rates : ndarray of shape (K, d)
    prior : float, or a tuple of arrays
        Pseudo-counts of every start, transition, and of a rate: so many steps with one count each.
    """

    def __init__(self, startprob: np.ndarray, transmat: np.ndarray, rates: np.ndarray, prior: Any = 0.0) -> None:
        self.startprob, self.transmat = as_floats(startprob), as_floats(transmat)
        self.rates, self.prior = as_floats(rates), prior

    @property
    def values(self) -> Values:
        return self.startprob, self.transmat, self.rates

    def at(self, *values: np.ndarray) -> CountChainUpdate:
        startprob, transmat, rates = values
        return CountChainUpdate(startprob, transmat, rates, self.prior)

    def zero(self) -> ChainSums:
        return ChainSums(np.zeros(self.startprob.shape), np.zeros(self.transmat.shape), np.zeros(self.rates.shape))

    def add(self, state: ChainSums, block: Block) -> ChainSums:
        found = forward_backward(self.startprob, self.transmat, _density(block[0], self.rates), block[-1])
        rows, posterior, state.missing = seen_rows(block[0], found[1], state.missing)
        state.emissions += posterior.T @ rows
        return add_sequences(state, *found)

    def merge(self, first: ChainSums, second: ChainSums) -> ChainSums:
        return merge_sums(first, second)

    def expected(self, sums: ChainSums) -> tuple[Expected, ...]:
        prior = self.prior[2] if isinstance(self.prior, tuple) else self.prior
        rates = Rates(self.rates, sums.emissions, sums.mass, prior)
        return *chain_expected(self.startprob, self.transmat, sums, self.prior), rates


def check_counts(rows: np.ndarray, numbers: np.ndarray) -> None:
    """Raise for entries that are no counts; NaN is a missing step."""
    bad = (rows < 0) | (rows != np.rint(rows)) & ~np.isnan(rows) | np.isinf(rows)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise LatentiaError(
            f"Row {numbers[i]}, column {j} holds {rows[i, j]:g}: counts must be whole numbers from 0. For other numbers use "
            "kind='vectors'."
        )


def _of_levels(
    rows: np.ndarray, lengths: np.ndarray, mean: np.ndarray, inverse_scale: np.ndarray, kept: float
) -> np.ndarray:
    """Log-probability of each count given those before it, shape (n, D): rates are gamma, and forget them step by step."""
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    left = kept ** (np.arange(len(rows)) - first)[:, None]
    before = lfilter([0.0, kept], [1.0, -kept], rows, axis=0)
    total, n = np.maximum(before - left * before[first], 0.0), kept * (1 - left) / (1 - kept)
    shape, rate = mean * inverse_scale + total + _LEAST, inverse_scale + n
    logs = gammaln(shape + rows) - gammaln(shape) - gammaln(rows + 1)
    return np.asarray(logs + shape * np.log(rate / (rate + 1)) - rows * np.log1p(rate))


def _density(rows: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Log-probabilities of counts, shape (n, K), zero for missing steps."""
    rates = np.maximum(rates, np.finfo(float).tiny)

    def density(rows: np.ndarray) -> np.ndarray:
        return rows @ np.log(rates).T - rates.sum(axis=1) - gammaln(rows + 1).sum(axis=1)[:, None]

    return observed_log_density(rows, density)
