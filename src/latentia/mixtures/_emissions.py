"""Distributions of independent features given the component: one kind for all, or a kind for each column.

`latentia.mixtures._columns` encodes columns of several kinds as features: a number is normal with a mean and a variance, a
count is Poisson with a rate, and the zeros and ones of a category have probabilities that sum to one.
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

_MIN_PROBABILITY = 1e-3  # smallest probability of a binary feature's 0 and 1
FLOOR = 0.02  # smallest variance of a feature in a component, as a share of its variance in the data
_MIN_RATE = 1e-8  # smallest rate, and smallest probability of a value
_MAX_COUNT_SPREAD = 1.5  # Counts with more dispersion are not Poisson.
_RATE_PRIOR = 0.01  # pseudo-rows with a count of one, for rates
_CATEGORY_PRIOR = 1.0  # pseudo-rows for the probabilities of values


class Emissions(Protocol):
    """Distributions of features side by side, (n, D)."""

    squares: bool

    def table(self, block: Block) -> Any:
        """Read and check the features of a block."""

    def clip_means(self, means: np.ndarray) -> np.ndarray:
        """Clip means (K, D) so that every row is possible."""

    def complete_variances(self, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Complete variances (K, D) that come from moments."""

    def conditional_covariance(self, variance: np.ndarray, means: np.ndarray, weights: np.ndarray) -> Any:
        """Return the features' covariance given the component, (D, D), or variances (D,) if the data's own will do."""

    def update(self, means: np.ndarray, variances: np.ndarray | None, weights: np.ndarray, scale: np.ndarray) -> Update:
        """Build the EM update from these parameters, for features with standard deviations ``scale``."""

    def unpack(self, values: Values) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Unpack EM's values: means, variances and weights."""

    def log_density(self, table: Any, means: np.ndarray, variances: np.ndarray | None) -> np.ndarray:
        """Compute log-densities of rows given each component, (n, K)."""

    def score_independent(
        self, rows: Any, weights: np.ndarray, means: np.ndarray, variances: np.ndarray | None
    ) -> tuple[np.ndarray, int]:
        """Score rows by a model without components: log-densities (n,), and its number of parameters."""

    def n_parameters(self, width: int) -> int:
        """Count the parameters of one component."""

    def checks(self, rows: Any, posterior: np.ndarray, means: np.ndarray) -> list[Check]:
        """Check the distributions on rows with these probabilities of the components, (n, K)."""


class UniformEmissions:
    """Emissions of one kind: all features Bernoulli, or all Gaussian.

    Parameters
    ----------
    kind : {"bernoulli", "gaussian"}
    join : callable
        Joins the parts of a block to one table.
    place : callable
        Names a feature in messages.
    """

    def __init__(self, kind: str, join: Callable[[Block], Any], place: Callable[[int], str]) -> None:
        self.kind, self.join, self.place = kind, join, place
        self.squares = kind == "gaussian"

    def table(self, block: Block) -> Any:
        table = self.join(block)
        if self.kind != "bernoulli":
            return table
        values = table.data if sparse.issparse(table) else table
        is_invalid = (values != 0) & (values != 1) & ~np.isnan(values)
        if is_invalid.any():
            place = np.argwhere(is_invalid)[0]
            if sparse.issparse(table):
                row = int(np.searchsorted(table.indptr, place[0], side="right")) - 1
                column = int(table.indices[place[0]])
            else:
                row, column = map(int, place)
            raise LatentiaError(
                f"expected features of 0 and 1; row {block.rows[row]} has {values[tuple(place)]} in {self.place(column)}. Use "
                "'gaussian', or make the features binary.",
                parameter="distribution", value=self.kind,
            )  # fmt: skip
        return table

    def clip_means(self, means: np.ndarray) -> np.ndarray:
        return np.clip(means, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY) if self.kind == "bernoulli" else means

    def complete_variances(self, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
        return variances

    def conditional_covariance(self, variance: np.ndarray, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return variance

    def update(self, means: np.ndarray, variances: np.ndarray | None, weights: np.ndarray, scale: np.ndarray) -> Update:
        floor = FLOOR * scale**2 if self.squares else _MIN_PROBABILITY
        return ProductMixtureUpdate(self.kind, self.clip_means(means), variances, weights, floor)

    def unpack(self, values: Values) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        means, *variances, weights = values
        return means, variances[0] if variances else None, weights

    def log_density(self, table: Any, means: np.ndarray, variances: np.ndarray | None) -> np.ndarray:
        return product_log_density(self.kind, table, means, variances)

    def score_independent(
        self, rows: Any, weights: np.ndarray, means: np.ndarray, variances: np.ndarray | None
    ) -> tuple[np.ndarray, int]:
        return independent_features(rows, self.kind)

    def n_parameters(self, width: int) -> int:
        return width * (2 if self.squares else 1)

    def checks(self, rows: Any, posterior: np.ndarray, means: np.ndarray) -> list[Check]:
        return []


class MultiKindEmissions:
    """Emissions of columns of several kinds.

    Parameters
    ----------
    columns : Columns
    """

    squares = True

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    @cached_property
    def numbers(self) -> np.ndarray:
        """Features of number columns."""
        return _join_features(self.columns.features_of_kind("gaussian"))

    @cached_property
    def counts(self) -> np.ndarray:
        """Features of count columns."""
        return _join_features(self.columns.features_of_kind("poisson"))

    @cached_property
    def values(self) -> list[np.ndarray]:
        """Features of each column of categories."""
        return self.columns.features_of_kind("categorical")

    def table(self, block: Block) -> Any:
        return np.hstack(list(block[: len(self.columns.views)]))

    def clip_means(self, means: np.ndarray) -> np.ndarray:
        means = means.copy()
        means[:, self.counts] = np.maximum(means[:, self.counts], _MIN_RATE)
        for value in self.values:
            shares = np.maximum(means[:, value], _MIN_PROBABILITY / len(value))
            means[:, value] = shares / shares.sum(axis=1, keepdims=True)
        return means

    def complete_variances(self, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Complete variances (K, D): those of counts and categories follow from the means."""
        completed = means * (1 - means)
        completed[:, self.counts] = means[:, self.counts]
        completed[:, self.numbers] = variances[:, self.numbers]
        return np.maximum(completed, _MIN_RATE)

    def update(self, means: np.ndarray, variances: np.ndarray | None, weights: np.ndarray, scale: np.ndarray) -> Update:
        assert variances is not None
        means = self.clip_means(means)
        values = self.parameters(means, variances, weights)
        return MultiKindUpdate(self, values, FLOOR * scale[self.numbers] ** 2, weights @ means)

    def parameters(self, means: np.ndarray, variances: np.ndarray, weights: np.ndarray) -> Values:
        """List EM's parameters: means and variances of numbers, rates, probabilities of each category, and weights."""
        parameters: list[np.ndarray] = []
        if len(self.numbers):
            parameters += [means[:, self.numbers], variances[:, self.numbers]]
        if len(self.counts):
            parameters.append(means[:, self.counts])
        return (*parameters, *(means[:, value] for value in self.values), weights)

    def unpack(self, values: Values) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        *arrays, weights = values
        means = np.empty((len(weights), sum(map(len, self.columns.places))))
        variances = np.ones(means.shape)
        if len(self.numbers):
            means[:, self.numbers], variances[:, self.numbers] = arrays.pop(0), arrays.pop(0)
        if len(self.counts):
            means[:, self.counts] = arrays.pop(0)
        for value, shares in zip(self.values, arrays, strict=True):
            means[:, value] = shares
        return means, self.complete_variances(means, variances), weights

    def log_density(self, table: Any, means: np.ndarray, variances: np.ndarray | None) -> np.ndarray:
        assert variances is not None
        log_density = np.zeros((len(table), len(means)))
        if len(self.numbers):
            arguments = table[:, self.numbers], means[:, self.numbers], variances[:, self.numbers]
            log_density += product_log_density("gaussian", *arguments)
        for features in [
            *([self.counts] if len(self.counts) else []),
            *([_join_features(self.values)] if self.values else []),
        ]:
            cells = table[:, features]
            log_density += np.where(np.isnan(cells), 0.0, cells) @ np.log(np.maximum(means[:, features], 1e-300)).T
        if len(self.counts):
            cells = table[:, self.counts]
            missing = np.isnan(cells)
            log_density -= (~missing).astype(np.float64) @ means[:, self.counts].T
            log_density -= gammaln(np.where(missing, 0.0, cells) + 1).sum(axis=1)[:, None]
        return log_density

    def score_independent(
        self, rows: Any, weights: np.ndarray, means: np.ndarray, variances: np.ndarray | None
    ) -> tuple[np.ndarray, int]:
        """Score rows by one component, or by independent columns with the fitted distribution of each: the likelier one.

        A bimodal column, or one of overdispersed counts, asks for components without any dependence on other columns.
        """
        assert variances is not None
        overall, variance = self.clip_means(np.nanmean(rows, axis=0)[None]), np.nanvar(rows, axis=0)[None]
        variance = np.maximum(variance, 1e-9 * max(float(variance.mean()), np.finfo(float).tiny))
        single, separate = self.log_density(rows, overall, variance)[:, 0], np.zeros(len(rows))
        means = self.clip_means(means)
        for number, column in zip(self.columns.order, self.columns.places, strict=True):
            column_emissions = MultiKindEmissions(self.columns.only(number))
            density = column_emissions.log_density(rows[:, column], means[:, column], variances[:, column])
            separate += normalised(density + log(weights), weights)[1]
        return max(single, separate, key=lambda scores: float(scores.mean())), self.n_parameters(rows.shape[1])

    def n_parameters(self, width: int) -> int:
        return len(self.numbers) + self.columns.free(self.columns.order)

    def checks(self, rows: Any, posterior: np.ndarray, means: np.ndarray) -> list[Check]:
        """Check that counts vary as Poisson counts do."""
        if not len(self.counts):
            return []
        cells, rates = rows[:, self.counts], np.maximum(means[:, self.counts], _MIN_RATE)
        deviations = [
            share[:, None] * (cells - rate) ** 2 / rate for share, rate in zip(posterior.T, rates, strict=True)
        ]
        squares = np.nanmean(np.sum(deviations, axis=0), axis=0)
        worst = int(np.argmax(squares))
        column = [name for view in self.columns.feature_names for name in view][self.counts[worst]]
        remedy = f"Take {column!r} for a number: distribution={{{column!r}: 'gaussian'}}."
        return [
            Check(
                "spread of counts", "E (x - lambda)^2 / lambda", float(squares[worst]),
                at_most(_MAX_COUNT_SPREAD, "1 for Poisson"),
                f"Variation of the counts of {column!r} given the component, the largest of all columns.", "the model",
                "note", remedy,
            )
        ]  # fmt: skip

    def conditional_covariance(self, variance: np.ndarray, means: np.ndarray, weights: np.ndarray) -> sparse.csr_array:
        """Compute the features' average covariance given the component, (D, D), from their variances in the data."""
        explained = weights @ (means - weights @ means) ** 2
        covariance = sparse.lil_array((len(variance), len(variance)))
        covariance.setdiag(variance - explained)
        for value in self.values:
            shared = -(means[:, value].T * weights) @ means[:, value]
            np.fill_diagonal(shared, (variance - explained)[value])
            covariance[np.ix_(value, value)] = shared
        return sparse.csr_array(covariance)


class MultiKindUpdate:
    """Statistic of one E-step for columns of several kinds.

    Parameters
    ----------
    emissions : MultiKindEmissions
    values : tuple of ndarray
        As from `MultiKindEmissions.parameters`.
    floor : ndarray
        Smallest variances of numbers.
    overall : ndarray of shape (D,)
        Means of all rows, the prior of probabilities.
    """

    def __init__(self, emissions: MultiKindEmissions, values: Values, floor: np.ndarray, overall: np.ndarray) -> None:
        self.emissions, self.values, self.floor, self.overall = emissions, values, floor, overall
        self.means, self.variances, self.weights = emissions.unpack(values)

    def move_to(self, *values: np.ndarray) -> MultiKindUpdate:
        return MultiKindUpdate(self.emissions, values, self.floor, self.overall)

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
        emissions, parts, mass = self.emissions, list[Expected](), sums.mass
        totals = sums.first + mass[:, None] * self.means  # sums of cells, with the expectation of missing ones
        if len(emissions.numbers):
            number_places = np.s_[:, emissions.numbers]
            parts.append(
                Gaussians(
                    self.means[number_places],
                    self.variances[number_places],
                    mass,
                    sums.first[number_places],
                    sums.second[number_places],
                    self.floor,
                )
            )
        if len(emissions.counts):
            parts.append(
                Rates(self.means[:, emissions.counts], np.maximum(totals[:, emissions.counts], 0.0), mass, _RATE_PRIOR)
            )
        for value in emissions.values:
            counts = np.maximum(totals[:, value], 0.0)
            parts.append(Distributions(self.means[:, value], counts, _CATEGORY_PRIOR * self.overall[value]))
        return (*parts, Distributions(self.weights, mass))


def _join_features(places: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(places) if places else np.empty(0, dtype=int)
