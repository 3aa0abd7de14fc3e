"""What independent features are distributed as given the component: all alike, or each column as its kind.

Columns of several kinds are encoded in features, see `latentia.mixtures._columns`: a number is normal with a mean and a
variance, a count is Poisson with a rate, and the zeros and ones of a category have probabilities that sum to one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from .._entries import missing_entries
from ..evidence import Check, at_most
from ..exceptions import LatentiaError
from ..likelihood import Distributions, Expected, Gaussians, Rates, Update, Values, independent_features
from ..likelihood.products import ProductMixtureUpdate, observed_sums, product_log_density
from ..likelihood.rows import MixtureSums, add_rows, log, merge_sums, normalised, responsibilities
from ..passes import Block
from ._columns import Columns

_LEAST = 1e-3  # least probability of a binary feature, and of its absence
FLOOR = 0.02  # of a feature's variance: the least variance of it in a component
_TINY = 1e-8  # least probability of a value, and least rate
_SPREAD = 1.5  # of counts, above which they are not Poisson
_PRIOR = 0.01  # rows with a count of one, for rates
_PRIOR_VALUES = 1.0  # rows, for the probabilities of values


class Emissions(Protocol):
    """Distributions of features side by side, (n, D)."""

    squares: bool

    def table(self, block: Block) -> Any:
        """The features of a block, checked."""

    def possible(self, means: np.ndarray) -> np.ndarray:
        """Means (K, D) that every row is possible under."""

    def spread(self, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Variances (K, D), where these are from moments."""

    def within(self, variance: np.ndarray, means: np.ndarray, weights: np.ndarray) -> Any:
        """These variances of features in the data, (D,), where they are independent, or covariances given the component."""

    def update(self, means: np.ndarray, variances: np.ndarray | None, weights: np.ndarray, scale: np.ndarray) -> Update:
        """An E-step from there, in data whose features have these standard deviations."""

    def answer(self, values: Values) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Means, variances and weights of what EM found."""

    def log_density(self, table: Any, means: np.ndarray, variances: np.ndarray | None) -> np.ndarray:
        """Of rows given each component, (n, K)."""

    def independent(
        self, rows: Any, weights: np.ndarray, means: np.ndarray, variances: np.ndarray | None
    ) -> tuple[np.ndarray, int]:
        """Log-density of rows without components, (n,), and its number of parameters; what they are compared with is a fit."""

    def n_parameters(self, width: int) -> int:
        """Of one component."""

    def checks(self, rows: Any, posterior: np.ndarray, means: np.ndarray) -> list[Check]:
        """What the model says of rows with these shares of the components, (n, K), and the data does not bear out."""


class OneKind:
    """All features Bernoulli, or all Gaussian.

    Parameters
    ----------
    kind : {"bernoulli", "gaussian"}
    joined : callable
        Makes one table of the parts of a block.
    place : callable
        Names a feature in messages.
    """

    def __init__(self, kind: str, joined: Callable[[Block], Any], place: Callable[[int], str]) -> None:
        self.kind, self.joined, self.place = kind, joined, place
        self.squares = kind == "gaussian"

    def table(self, block: Block) -> Any:
        table = self.joined(block)
        if self.kind != "bernoulli":
            return table
        values = table.data if sparse.issparse(table) else table
        other = (values != 0) & (values != 1) & ~np.isnan(values)
        if other.any():
            at = np.argwhere(other)[0]
            if sparse.issparse(table):
                row, column = int(np.searchsorted(table.indptr, at[0], side="right")) - 1, int(table.indices[at[0]])
            else:
                row, column = map(int, at)
            raise LatentiaError(
                f"row {block.rows[row]} has {values[tuple(at)]} in {self.place(column)}, and features of 0 and 1 are needed: "
                "use 'gaussian', or make the features binary.",
                parameter="distribution", value=self.kind,
            )  # fmt: skip
        return table

    def possible(self, means: np.ndarray) -> np.ndarray:
        return np.clip(means, _LEAST, 1 - _LEAST) if self.kind == "bernoulli" else means

    def spread(self, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
        return variances

    def within(self, variance: np.ndarray, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return variance

    def update(self, means: np.ndarray, variances: np.ndarray | None, weights: np.ndarray, scale: np.ndarray) -> Update:
        floor = FLOOR * scale**2 if self.squares else _LEAST
        return ProductMixtureUpdate(self.kind, self.possible(means), variances, weights, floor)

    def answer(self, values: Values) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        means, *variances, weights = values
        return means, variances[0] if variances else None, weights

    def log_density(self, table: Any, means: np.ndarray, variances: np.ndarray | None) -> np.ndarray:
        return product_log_density(self.kind, table, means, variances)

    def independent(
        self, rows: Any, weights: np.ndarray, means: np.ndarray, variances: np.ndarray | None
    ) -> tuple[np.ndarray, int]:
        return independent_features(rows, self.kind)

    def n_parameters(self, width: int) -> int:
        return width * (2 if self.squares else 1)

    def checks(self, rows: Any, posterior: np.ndarray, means: np.ndarray) -> list[Check]:
        return []


class Mixed:
    """Features of columns of several kinds.

    Parameters
    ----------
    columns : Columns
    """

    squares = True

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    @cached_property
    def numbers(self) -> np.ndarray:
        """Features that are numbers."""
        return _together(self.columns.of_kind("gaussian"))

    @cached_property
    def counts(self) -> np.ndarray:
        """Features that are counts."""
        return _together(self.columns.of_kind("poisson"))

    @cached_property
    def values(self) -> list[np.ndarray]:
        """The features of each column of categories."""
        return self.columns.of_kind("categorical")

    def table(self, block: Block) -> Any:
        return np.hstack(list(block[: len(self.columns.views)]))

    def possible(self, means: np.ndarray) -> np.ndarray:
        means = means.copy()
        means[:, self.counts] = np.maximum(means[:, self.counts], _TINY)
        for value in self.values:
            shares = np.maximum(means[:, value], _LEAST / len(value))
            means[:, value] = shares / shares.sum(axis=1, keepdims=True)
        return means

    def spread(self, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Variances (K, D): those of counts and categories follow from the means."""
        spread = means * (1 - means)
        spread[:, self.counts] = means[:, self.counts]
        spread[:, self.numbers] = variances[:, self.numbers]
        return np.maximum(spread, _TINY)

    def update(self, means: np.ndarray, variances: np.ndarray | None, weights: np.ndarray, scale: np.ndarray) -> Update:
        assert variances is not None
        means = self.possible(means)
        values = self.parameters(means, variances, weights)
        return MixedUpdate(self, values, FLOOR * scale[self.numbers] ** 2, weights @ means)

    def parameters(self, means: np.ndarray, variances: np.ndarray, weights: np.ndarray) -> Values:
        """What EM learns: means and variances of numbers, rates, probabilities of each category, and weights."""
        found: list[np.ndarray] = []
        if len(self.numbers):
            found += [means[:, self.numbers], variances[:, self.numbers]]
        if len(self.counts):
            found.append(means[:, self.counts])
        return (*found, *(means[:, value] for value in self.values), weights)

    def answer(self, values: Values) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        *found, weights = values
        means = np.empty((len(weights), sum(map(len, self.columns.places))))
        variances = np.ones(means.shape)
        if len(self.numbers):
            means[:, self.numbers], variances[:, self.numbers] = found.pop(0), found.pop(0)
        if len(self.counts):
            means[:, self.counts] = found.pop(0)
        for value, shares in zip(self.values, found, strict=True):
            means[:, value] = shares
        return means, self.spread(means, variances), weights

    def log_density(self, table: Any, means: np.ndarray, variances: np.ndarray | None) -> np.ndarray:
        assert variances is not None
        found = np.zeros((len(table), len(means)))
        if len(self.numbers):
            of_numbers = table[:, self.numbers], means[:, self.numbers], variances[:, self.numbers]
            found += product_log_density("gaussian", *of_numbers)
        for features in [
            *([self.counts] if len(self.counts) else []),
            *([_together(self.values)] if self.values else []),
        ]:
            cells = table[:, features]
            found += np.where(np.isnan(cells), 0.0, cells) @ np.log(np.maximum(means[:, features], 1e-300)).T
        if len(self.counts):
            cells = table[:, self.counts]
            missing = np.isnan(cells)
            found -= (~missing).astype(np.float64) @ means[:, self.counts].T
            found -= gammaln(np.where(missing, 0.0, cells) + 1).sum(axis=1)[:, None]
        return found

    def independent(
        self, rows: Any, weights: np.ndarray, means: np.ndarray, variances: np.ndarray | None
    ) -> tuple[np.ndarray, int]:
        """One component, or the columns apart with the distributions that the fit gives to each: what is likelier.

        A column of numbers in two heaps, or of counts that vary much, asks for components without telling of other columns.
        """
        assert variances is not None
        overall, spread = self.possible(np.nanmean(rows, axis=0)[None]), np.nanvar(rows, axis=0)[None]
        spread = np.maximum(spread, 1e-9 * max(float(spread.mean()), np.finfo(float).tiny))
        one, apart = self.log_density(rows, overall, spread)[:, 0], np.zeros(len(rows))
        means = self.possible(means)
        for number, column in zip(self.columns.order, self.columns.places, strict=True):
            of_column = Mixed(self.columns.only(number))
            density = of_column.log_density(rows[:, column], means[:, column], variances[:, column])
            apart += normalised(density + log(weights), weights)[1]
        return max(one, apart, key=lambda found: float(found.mean())), self.n_parameters(rows.shape[1])

    def n_parameters(self, width: int) -> int:
        return len(self.numbers) + self.columns.free(self.columns.order)

    def checks(self, rows: Any, posterior: np.ndarray, means: np.ndarray) -> list[Check]:
        """Whether counts vary as Poisson ones do."""
        if not len(self.counts):
            return []
        cells, rates = rows[:, self.counts], np.maximum(means[:, self.counts], _TINY)
        apart = [share[:, None] * (cells - rate) ** 2 / rate for share, rate in zip(posterior.T, rates, strict=True)]
        squares = np.nanmean(np.sum(apart, axis=0), axis=0)
        worst = int(np.argmax(squares))
        column = [name for view in self.columns.feature_names for name in view][self.counts[worst]]
        remedy = f"Take {column!r} for a number: distribution={{{column!r}: 'gaussian'}}."
        return [
            Check(
                "spread of counts", "E (x - lambda)^2 / lambda", float(squares[worst]), at_most(_SPREAD, "1 for Poisson"),
                f"How much the counts of {column!r}, the least regular ones, vary given the component.", "the model",
                "note", remedy,
            )
        ]  # fmt: skip

    def within(self, variance: np.ndarray, means: np.ndarray, weights: np.ndarray) -> sparse.csr_array:
        """Covariances of the features given the component, on average, (D, D), where theirs in the data are ``variance``."""
        own = weights @ (means - weights @ means) ** 2
        found = sparse.lil_array((len(variance), len(variance)))
        found.setdiag(variance - own)
        for value in self.values:
            shared = -(means[:, value].T * weights) @ means[:, value]
            np.fill_diagonal(shared, (variance - own)[value])
            found[np.ix_(value, value)] = shared
        return sparse.csr_array(found)


class MixedUpdate:
    """Statistic of one E-step for columns of several kinds.

    Parameters
    ----------
    emissions : Mixed
    values : tuple of ndarray
        As `Mixed.parameters` has them.
    floor : ndarray
        Least variances of numbers.
    overall : ndarray of shape (D,)
        Means of all rows, which the prior of probabilities is.
    """

    def __init__(self, emissions: Mixed, values: Values, floor: np.ndarray, overall: np.ndarray) -> None:
        self.emissions, self.values, self.floor, self.overall = emissions, values, floor, overall
        self.means, self.variances, self.weights = emissions.answer(values)

    def at(self, *values: np.ndarray) -> MixedUpdate:
        return MixedUpdate(self.emissions, values, self.floor, self.overall)

    def zero(self) -> MixtureSums:
        return MixtureSums(np.zeros(len(self.weights)), np.zeros(self.means.shape), np.zeros(self.means.shape))

    def add(self, state: MixtureSums, block: Block) -> MixtureSums:
        table = block[0]
        log_density = self.emissions.log_density(table, self.means, self.variances)
        posterior, log_likelihood = responsibilities(log_density, self.weights)
        missing = missing_entries(table)
        missing = np.zeros(table.shape, bool) if missing is None else missing
        first, second = observed_sums(table, missing, posterior, self.means, self.variances)
        state.first += first
        state.second += second
        return add_rows(state, posterior.sum(axis=0), log_likelihood)

    def merge(self, first: MixtureSums, second: MixtureSums) -> MixtureSums:
        return merge_sums(first, second)

    def expected(self, sums: MixtureSums) -> tuple[Expected, ...]:
        one, found, mass = self.emissions, list[Expected](), sums.mass
        whole = sums.first + mass[:, None] * self.means  # sums of cells, and what is expected of those that are missing
        if len(one.numbers):
            at = np.s_[:, one.numbers]
            found.append(
                Gaussians(self.means[at], self.variances[at], mass, sums.first[at], sums.second[at], self.floor)
            )
        if len(one.counts):
            found.append(Rates(self.means[:, one.counts], np.maximum(whole[:, one.counts], 0.0), mass, _PRIOR))
        for value in one.values:
            counts = np.maximum(whole[:, value], 0.0)
            found.append(Distributions(self.means[:, value], counts, _PRIOR_VALUES * self.overall[value]))
        return (*found, Distributions(self.weights, mass))


def _together(places: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(places) if places else np.empty(0, dtype=int)
