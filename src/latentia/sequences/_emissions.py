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
from ..likelihood import Values, over, refine, single_gaussian
from ..likelihood.products import product_log_density
from ..metrics import nearest_distances, nearest_others
from ..moments import ColumnMoments, CommonFrame, ViewSums
from ..passes import Block, Blocks
from ..simplex import distributions
from ._chain import Chain, symbol_distances
from ._clusters import chains_of_clusters
from ._lags import one_hot_blocks
from ._steps import encoded, encoded_blocks, even_stretches, kept, present, spread, vectors
from .updates import (
    FullChainUpdate,
    GaussianChainUpdate,
    SymbolChainUpdate,
    by_symbol,
    full_log_density,
    missing_steps,
    observed_log_density,
)

Covariance: TypeAlias = Literal["diag", "full", "tied"]

_TRUSTED = 0.4  # l1 error of a state's symbols (0 to 2)
_PER_PARAMETER = 10  # steps, for each number of a linear function
_FLOOR = 0.02  # least variance of a feature in a state that moments may give, as a share of the feature's
_LEAST = 1e-4  # that EM may reach: states can be far narrower than they are apart
STEPS, STRETCH = 5000, 1000  # in which clusters are looked for, and those of a stretch
_ROUNDS = ((10, 6), (30, 3), (100, 1))  # E-steps of every start that is left, and how many go on
PRIOR = 0.01  # pseudo-counts of a transition and of a symbol in EM


class Scaling(NamedTuple):
    """How columns are brought to one scale before their moments are taken.

    Attributes
    ----------
    center, scale : ndarray of shape (D,)
    deviations : ndarray of shape (D,)
        Of vectors; 1 for symbols.
    most : int
        States that the columns carry.
    why : str
        What limits them.
    """

    center: np.ndarray
    scale: np.ndarray
    deviations: np.ndarray
    most: int
    why: str


class Emissions(Protocol):
    """The steps of a chain, and what its states show."""

    @property
    def constant(self) -> bool:
        """Whether a constant is appended to a step's coordinates, and squares are summed."""

    @property
    def most(self) -> float:
        """The largest distance of two states."""

    def values(self, first: Block) -> np.ndarray:
        """The steps of an array as `blocks` would have them, and what stands for missing ones."""

    def missing(self, rows: np.ndarray) -> np.ndarray:
        """Which of the steps of a block are missing, shape (n,)."""

    def n_parameters(self, chain: Chain) -> int:
        """Free parameters of what the states show."""

    def blocks(self, blocks: Blocks) -> Blocks:
        """Blocks of steps as the recursions read them."""

    def table(self, blocks: Blocks) -> Blocks:
        """Blocks whose rows are what moments are taken of."""

    def original(self, rows: Any) -> Any:
        """Steps as they were given."""

    def scaling(self, columns: ColumnMoments) -> Scaling: ...

    def shown(self, emissions: np.ndarray) -> np.ndarray:
        """Means of the columns of `table` in states with these emissions."""

    def noise(self, chain: Chain, deviations: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        """What columns of `table` have on their own: their variances, or covariances given the state; None: not known."""

    def chain(self, values: Values) -> Chain:
        """That of the values of an update."""

    def recovered(
        self, frame: CommonFrame, m: ViewSums, v: np.ndarray, marginal: np.ndarray, deviations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """What the states show, and the variances of vectors, from the middle view."""

    def update(self, chain: Chain, deviations: np.ndarray) -> Any:
        """EM's from this chain."""

    def arguments(self, chain: Chain, block: Block) -> tuple[Any, ...]:
        """Those of the recursions for a block."""

    def nearest(self, one: np.ndarray, other: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Distance of each state to the nearest one of another chain of the same data, shape (K,)."""

    def between(self, one: np.ndarray, other: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Distance of each state to the one of the same number, shape (K,)."""

    def distances(self, one: np.ndarray, other: np.ndarray, others: Emissions, deviations: np.ndarray) -> np.ndarray:
        """The same for a chain of other data."""

    def draw(self, chain: Chain, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Steps of these states."""

    def apart(self, chain: Chain, deviations: np.ndarray) -> np.ndarray:
        """Distance of each state to the nearest other one, shape (K,)."""

    def least_errors(self, chain: Chain, deviations: np.ndarray, n_steps: np.ndarray) -> Any:
        """What errors are at least, with so many steps in each state, (K,): those where states are known. 0: not computed."""

    def without_states(
        self, rows: Any, marginal: np.ndarray, n_steps: int, chain: Chain
    ) -> tuple[np.ndarray, int, str]:
        """Log-likelihood of each of some steps where all are independent, its number of parameters, and what that is called."""

    def wandering(self, some: Blocks) -> list[tuple[np.ndarray, int, str]]:
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
    most: Annotated[float, of.Field(low=0.0, finite=False)] = 2.0

    def values(self, first: Block) -> np.ndarray:
        there = present(first[0])
        return spread(encoded(first if there.all() else kept(first, there), self.alphabet), there, len(self.alphabet))

    def missing(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows[:, 0] == len(self.alphabet))

    def n_parameters(self, chain: Chain) -> int:
        return len(chain.startprob) * (len(self.alphabet) - 1)

    def blocks(self, blocks: Blocks) -> Blocks:
        return encoded_blocks(blocks, self.alphabet)

    def table(self, blocks: Blocks) -> Blocks:
        return one_hot_blocks(blocks, len(self.alphabet))

    def original(self, rows: Any) -> Any:
        return self.alphabet[rows.ravel()]

    def scaling(self, columns: ColumnMoments) -> Scaling:
        seen, width = columns.mean > 0, len(columns.mean)
        scale = np.where(seen, np.where(seen, columns.mean, 1.0) ** -0.25, 0.0)
        most = int(seen.sum())
        why = f"{most} different symbols occur" if most > 1 else "one symbol occurs"
        return Scaling(np.zeros(width), scale, np.ones(width), most, why)

    def recovered(
        self, frame: CommonFrame, m: ViewSums, v: np.ndarray, marginal: np.ndarray, deviations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        return distributions(frame.mean_given(m.sketches, 1, v), marginal), None

    def shown(self, emissions: np.ndarray) -> np.ndarray:
        return emissions

    def noise(self, chain: Chain, deviations: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        return None

    def chain(self, values: Values) -> Chain:
        return Chain(*values)

    def update(self, chain: Chain, deviations: np.ndarray) -> SymbolChainUpdate:
        values = chain.startprob, chain.transmat, chain.emissions
        return SymbolChainUpdate(*values, tuple(map(prior_of, values)))

    def arguments(self, chain: Chain, block: Block) -> tuple[Any, ...]:
        return chain.startprob, chain.transmat, by_symbol(chain.emissions), block[-1], block[0].ravel()

    def nearest(self, one: np.ndarray, other: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        return nearest_distances(one, other)

    def between(self, one: np.ndarray, other: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        return np.asarray(np.abs(one - other).sum(axis=1))

    def distances(self, one: np.ndarray, other: np.ndarray, others: Any, deviations: np.ndarray) -> np.ndarray:
        return symbol_distances((one, self.alphabet), (other, others.alphabet))

    def draw(self, chain: Chain, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        emitted = (np.cumsum(chain.emissions, axis=1)[states] < rng.random(len(states))[:, None]).sum(axis=1)
        return self.alphabet[np.minimum(emitted, len(self.alphabet) - 1)]

    def apart(self, chain: Chain, deviations: np.ndarray) -> np.ndarray:
        return nearest_others(chain.emissions, "cityblock")

    def least_errors(self, chain: Chain, deviations: np.ndarray, n_steps: np.ndarray) -> Any:
        return 0.0

    def without_states(
        self, rows: Any, marginal: np.ndarray, n_steps: int, chain: Chain
    ) -> tuple[np.ndarray, int, str]:
        return np.log(marginal[rows.ravel()]), int((marginal > 0).sum()) - 1, "independent symbols"

    def wandering(self, some: Blocks) -> list[tuple[np.ndarray, int, str]]:
        return []

    def checks(self, chain: Chain, deviations: np.ndarray, parts: PartErrors, n_steps: int) -> list[Check]:
        limit = separation_limit(chain.emissions, "cityblock", _TRUSTED)
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
    most: Annotated[float, of.Field(low=0.0, finite=False)] = np.inf

    def values(self, first: Block) -> np.ndarray:
        there = present(first[0])
        return spread(vectors(first[0] if there.all() else first[0][there], missing=True), there, np.nan)

    def missing(self, rows: np.ndarray) -> np.ndarray:
        return missing_steps(rows)

    def n_parameters(self, chain: Chain) -> int:
        k, d = chain.emissions.shape
        of_all = d * (d + 1) // 2
        return k * d + {"diag": k * d, "full": k * of_all, "tied": of_all}[self.covariance]

    def blocks(self, blocks: Blocks) -> Blocks:
        return blocks

    def table(self, blocks: Blocks) -> Blocks:
        return blocks

    def original(self, rows: Any) -> Any:
        return rows

    def scaling(self, columns: ColumnMoments) -> Scaling:
        seen = columns.variance > 0
        if not seen.any():
            raise LatentiaError(f"All {columns.n} steps are the same: there are no states to find.")
        deviations = np.sqrt(np.where(seen, columns.variance, 1.0))
        why = f"{int(seen.sum())} of {len(seen)} features vary"
        return Scaling(columns.mean, seen / deviations, deviations, int(seen.sum()) + 1, why)

    def recovered(
        self, frame: CommonFrame, m: ViewSums, v: np.ndarray, marginal: np.ndarray, deviations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        means = frame.mean_given(m.sketches, 1, v)
        square = frame.mean_given(m.squares, 1, v)
        return means, np.maximum(square - (means - marginal) ** 2, _FLOOR * deviations**2)

    def shown(self, emissions: np.ndarray) -> np.ndarray:
        return emissions

    def noise(self, chain: Chain, deviations: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        return None if chain.covariances is not None else deviations**2

    def chain(self, values: Values) -> Chain:
        return Chain(*values)

    def clusters(self, blocks: Blocks, deviations: np.ndarray, k: int) -> Chain:
        """The likeliest start from clusters, on some stretches of the steps."""
        some = even_stretches(blocks, STEPS, STRETCH)
        return self.likeliest(chains_of_clusters(some, deviations, k), some, deviations)

    def likeliest(self, starts: Mapping[str, Chain], some: Blocks, deviations: np.ndarray) -> Chain:
        """The chain that is likeliest on some steps: all starts make a few steps of EM, and the best of them more."""
        e_step = over(some)

        def climb(start: Chain, steps: int) -> tuple[float, Chain]:
            reached = refine(self.update(start, deviations), e_step, "auto", max_steps=steps)
            return float(np.max(reached.log_likelihood)), self.chain(reached.values)

        climbed = list(starts.values())
        for steps, n_best in _ROUNDS:
            reached = [climb(start, steps) for start in climbed]
            climbed = [chain for _, chain in sorted(reached, key=lambda one: -one[0])[:n_best]]
        return climbed[0]

    def update(self, chain: Chain, deviations: np.ndarray) -> GaussianChainUpdate:
        assert chain.variances is not None
        floor = _LEAST * deviations**2
        values = chain.startprob, chain.transmat
        prior = tuple(map(prior_of, values))
        return GaussianChainUpdate(*values, chain.emissions, chain.variances, floor, prior)

    def full_update(self, chain: Chain, deviations: np.ndarray) -> FullChainUpdate:
        """EM's with full covariances, which are those of the chain, if it has any, or its variances."""
        assert chain.variances is not None
        covariances = chain.covariances
        if covariances is None:
            covariances = np.array([np.diag(one) for one in chain.variances])
        floor, values = _LEAST * deviations**2, (chain.startprob, chain.transmat)
        prior = tuple(map(prior_of, values))
        return FullChainUpdate(*values, chain.emissions, covariances, floor, prior, self.covariance == "tied")

    def arguments(self, chain: Chain, block: Block) -> tuple[Any, ...]:
        def density(rows: np.ndarray) -> np.ndarray:
            assert chain.variances is not None
            if chain.covariances is not None:
                return full_log_density(rows, chain.emissions, chain.covariances)
            return product_log_density("gaussian", rows, chain.emissions, chain.variances)

        return chain.startprob, chain.transmat, observed_log_density(block[0], density), block[-1]

    def nearest(self, one: np.ndarray, other: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        return cdist(one / deviations, other / deviations).min(axis=1)

    def between(self, one: np.ndarray, other: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        return np.linalg.norm((one - other) / deviations, axis=1)

    def distances(self, one: np.ndarray, other: np.ndarray, others: Any, deviations: np.ndarray) -> np.ndarray:
        return self.nearest(one, other, deviations)

    def draw(self, chain: Chain, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        assert chain.variances is not None
        noise = rng.standard_normal((len(states), chain.emissions.shape[1]))
        if chain.covariances is not None:
            roots = np.linalg.cholesky(chain.covariances)
            return np.asarray(chain.emissions[states] + np.einsum("nij,nj->ni", roots[states], noise))
        return chain.emissions[states] + np.sqrt(chain.variances[states]) * noise

    def apart(self, chain: Chain, deviations: np.ndarray) -> np.ndarray:
        return nearest_others(chain.emissions / deviations, "euclidean")

    def least_errors(self, chain: Chain, deviations: np.ndarray, n_steps: np.ndarray) -> Any:
        return 0.0

    def without_states(
        self, rows: Any, marginal: np.ndarray, n_steps: int, chain: Chain
    ) -> tuple[np.ndarray, int, str]:
        return *single_gaussian(rows, n_steps), "one Gaussian"

    def wandering(self, some: Blocks) -> list[tuple[np.ndarray, int, str]]:
        """Each step is a linear function of the last one: states may be what such a line is cut into."""
        rows, lengths = (np.concatenate(pieces) for pieces in zip(*(block[:2] for block in some), strict=True))
        n, d = rows.shape
        if n < _PER_PARAMETER * d * d:
            return []
        later = np.setdiff1d(np.arange(n), np.cumsum(lengths) - lengths)
        gaps = missing_entries(rows)
        means = rows.mean(axis=0) if gaps is None else np.nanmean(rows, axis=0)
        whole = rows if gaps is None else np.where(gaps, means, rows)
        before = np.column_stack([np.ones(len(later)), whole[later - 1]])
        left = rows - means
        left[later] = rows[later] - before @ np.linalg.lstsq(before, whole[later], rcond=None)[0]
        return [(single_gaussian(left, n)[0], d * (d + 1) + d * (d + 1) // 2, "steps that follow from the last one")]

    def checks(self, chain: Chain, deviations: np.ndarray, parts: PartErrors, n_steps: int) -> list[Check]:
        assert chain.variances is not None
        several = len(chain.emissions) > 1
        limit = separation_limit(chain.emissions / deviations, "euclidean") if several else 1.0
        unit = "in standard deviations of the features"
        shares = chain.variances / deviations**2
        stuck = float(((shares <= _LEAST * (1 + 1e-9)) | (np.abs(shares - _FLOOR) <= 1e-9 * _FLOOR)).mean())
        return [
            *error_checks(parts, limit, "mean |O_k - O'_k|_2", unit, "state", n_rows=n_steps),
            Check(
                "variances at their floor", "share", stuck, at_most(0.1),
                f"Of a state's features whose variance is {_FLOOR:g} of the feature's own, the least that moments may give, or "
                f"{_LEAST:g}, the least that EM may: too little data gives such.",
                "not in the paper", "note", "Variances are rough: let EM refine them, or get more data.",
            ),
        ]  # fmt: skip


def chances_of_unseen(emissions: np.ndarray, weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
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
    n, once = counts.sum(), counts == 1
    of_state = weights[:, None] * emissions[:, once]
    alone = (of_state / np.maximum(of_state.sum(axis=0), np.finfo(float).tiny)).sum(axis=1)
    return np.asarray((alone + (once.sum() + 0.5) / (n + 1)) / (weights * n + 1))


def with_unseen(emissions: np.ndarray, chances: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """Emissions (K, S) of which ``chances`` (K,) go, in equal shares, to the symbols of the mask ``unseen``."""
    found = emissions * (1 - chances)[:, None]
    found[:, unseen] += (chances / max(int(unseen.sum()), 1))[:, None]
    return found


def prior_of(values: np.ndarray) -> np.ndarray:
    """Pseudo-counts of probabilities: none for those that are zero, which stay so."""
    return np.where(values > 0, PRIOR, 0.0)
