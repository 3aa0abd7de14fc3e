"""Mixtures of Gaussians with missing cells: exact EM on the observed cells.

EM takes expectations of sums over a row's missing cells given its observed cells, see `latentia.likelihood.given`. Cells must
be missing at random: whether a cell is missing may depend on observed cells, not on its own value. Moments, starts and the
shape of components need complete rows. For them missing cells are drawn given the observed ones, from a mixture that was fitted
on the observed cells, so that completed rows scatter like complete ones.

Source: Z. Ghahramani, M. I. Jordan, Supervised learning from incomplete data via an EM approach, NIPS 1993.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._entries import missing_entries
from .._validation import check_gaps
from ..evidence import Check, missing_checks
from ..likelihood import MissingCells, log, normalised
from ..linalg import complete_table
from ..passes import Blocks
from ._moves import Shape
from ._rows import GaussianRows, Mixture


def log_density(mixture: Mixture, rows: Any, row_numbers: np.ndarray) -> np.ndarray:
    """Compute the log-density of the rows' observed cells given each component, in nats, shape (n, K)."""
    gaps = None if sparse.issparse(rows) else missing_entries(rows)
    if gaps is None:
        return mixture.log_density(rows)
    check_gaps(gaps, row_numbers)
    is_complete, density = ~gaps.any(axis=1), np.empty((len(gaps), len(mixture.weights)))
    if is_complete.any():
        density[is_complete] = mixture.log_density(rows[is_complete])
    density[~is_complete] = _condition_cells(mixture, rows[~is_complete], gaps[~is_complete]).log_density()
    return density


def _condition_cells(mixture: Mixture, rows: np.ndarray, gaps: np.ndarray) -> MissingCells:
    means, _, variance, covariances, _ = mixture
    spread = np.repeat(variance[:, None], means.shape[1], axis=1) if covariances is None else covariances
    return MissingCells(means, spread, rows, gaps)


@dataclass(frozen=True)
class ObservedRows(GaussianRows):
    """Centred rows with missing cells, which ``table`` has completed, and EM on the observed cells."""

    gaps: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    _current: list[Mixture] = field(default_factory=list, repr=False)

    @classmethod
    def from_completed(
        cls, blocks: Blocks, gaps: np.ndarray, center: np.ndarray, shape: Shape, min_variance: float, shrink: bool
    ) -> ObservedRows:
        """Build from some completed rows of a table, and the gaps of all its rows."""
        parts = [(block.rows, np.asarray(block[0], dtype=np.float64)) for block in blocks]
        table = np.vstack([rows for _, rows in parts]) - center
        part_gaps = gaps[np.concatenate([row_numbers for row_numbers, _ in parts])]
        if shape == "spherical":
            return cls(table, shape, table.shape[1], min_variance, (table**2).sum(axis=1), gaps=part_gaps)
        plain = GaussianRows.from_blocks(Blocks.from_array(table), np.zeros(table.shape[1]), shape, shrink=shrink)
        return cls(table, shape, plain.width, plain.min_variance, shrink=shrink, gaps=part_gaps)

    def learn_prior(self, shares: np.ndarray) -> GaussianRows:
        return replace(super().learn_prior(shares), _current=[])  # type: ignore[call-arg]

    def _e_step(self, mixture: Mixture) -> tuple[np.ndarray, float, float]:
        self._current[:] = [mixture]
        joint = _condition_cells(mixture, self.table, self.gaps).log_density() + log(mixture.weights)
        shares, heights = normalised(joint, mixture.weights)
        return np.ascontiguousarray(shares.T), float(heights.sum()), self._density_coefficients(mixture)[3]

    def _component_moments(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the expected moments of complete rows under the last mixture; the first step uses the completed rows."""
        if not self._current:
            return super()._component_moments(shares)
        mass, means, scatters = np.maximum(shares.sum(axis=1), 1e-12), [], []
        conditional, is_full = _condition_cells(self._current[0], self.table, self.gaps), self.shape in ("full", "tied")
        for k, component_shares in enumerate(shares):
            first, second = np.zeros(self.width), np.zeros((self.width,) * (2 if is_full else 1))
            for places, rows, spread in conditional.expected(k):
                first += component_shares[places] @ rows
                second += np.tensordot(component_shares[places], spread, 1)
                second += (rows.T * component_shares[places]) @ rows if is_full else component_shares[places] @ rows**2
            means.append(first / mass[k])
            scatters.append(second - mass[k] * (np.multiply.outer(means[k], means[k]) if is_full else means[k] ** 2))
        sums_of_squares = np.array(scatters) if is_full else np.maximum(scatters, 0.0)
        if self.shape == "spherical":
            sums_of_squares = sums_of_squares.sum(axis=1)
        return (
            mass,
            np.array(means),
            sums_of_squares.sum(axis=0, keepdims=True) if self.shape == "tied" else sums_of_squares,
        )


def draw_missing(rows: np.ndarray, gaps: np.ndarray, mixture: Mixture, seed: int) -> np.ndarray:
    """Draw the missing cells of rows from a mixture, given their observed cells."""
    rng, conditional = np.random.default_rng([seed, 105]), _condition_cells(mixture, rows, gaps)
    shares = normalised(conditional.log_density() + log(mixture.weights), mixture.weights)[0]
    labels = (shares.cumsum(axis=1) < rng.random((len(rows), 1)) * shares.sum(axis=1, keepdims=True)).sum(axis=1)
    complete_table = np.where(gaps, 0.0, rows)
    for k in range(len(mixture.weights)):
        component_rows = np.flatnonzero(labels == k)
        for places, mean, spread in _condition_cells(mixture, rows[component_rows], gaps[component_rows]).expected(k):
            noise = rng.standard_normal(mean.shape)
            if spread.ndim == 2:
                noise = np.sqrt(spread) * noise
            else:
                values, vectors = np.linalg.eigh(spread)
                noise = np.einsum("nij,nj->ni", vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :], noise)
            complete_table[component_rows[places]] = np.where(
                gaps[component_rows[places]], mean + noise, rows[component_rows[places]]
            )
    return complete_table


def complete_rows(blocks: Blocks, gaps: np.ndarray, rank: int, fit: Callable[[Blocks], Mixture], seed: int) -> Blocks:
    """Complete rows at a low rank, fit a mixture to them, and draw the missing cells from it."""
    table = np.vstack([np.asarray(block[0], dtype=np.float64) for block in blocks])
    center = np.nanmean(table, axis=0)
    filled = complete_table(table - center, gaps, rank) + center
    return Blocks.from_array(draw_missing(table, gaps, fit(Blocks.from_array(filled)), seed), names=blocks.names)


def build_gaps_checks(gaps: np.ndarray, rows: np.ndarray, mixture: Mixture, seed: int) -> list[Check]:
    """Check the share of missing cells, and on some rows (with NaN) whether cells are missing by their value."""
    meaning = (
        "EM assumes that whether a cell is missing does not depend on its value. Moments and the shape of components use rows "
        "whose missing cells are drawn given the observed ones."
    )
    share = Check("missing cells", "share", float(gaps.mean()), None, meaning, "the model")

    def expect(is_observed: np.ndarray, target_columns: np.ndarray) -> np.ndarray:
        conditional = _condition_cells(mixture, rows, np.isnan(rows) | ~is_observed)
        expectation = np.zeros((len(rows), len(target_columns)))
        shares = normalised(conditional.log_density() + log(mixture.weights), mixture.weights)[0]
        for k in range(len(mixture.weights)):
            for places, filled, _ in conditional.expected(k):
                expectation[places] += shares[places, k, None] * filled[:, target_columns]
        return expectation

    return [share, *missing_checks(rows, expect, seed)]
