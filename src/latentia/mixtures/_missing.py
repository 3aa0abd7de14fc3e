"""Mixtures of Gaussians where cells of the rows are missing: exact EM on those that are there.

EM takes expectations of sums over a row's missing cells given the others, see `latentia.likelihood.given`. Cells must be
missing at random: what is missing may hang on what is there, not on itself. What needs whole rows, moments, starts and the
shape of components, sees rows whose missing cells are drawn in this way from a mixture that was fitted on those that are
there: they scatter as whole rows do.

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
from ..linalg import completed
from ..passes import Blocks
from ._moves import Shape
from ._rows import GaussianRows, Mixture


def log_density(mixture: Mixture, rows: Any, numbers: np.ndarray) -> np.ndarray:
    """Of the cells of rows that are there, given each component, in nats, shape (n, K)."""
    gaps = None if sparse.issparse(rows) else missing_entries(rows)
    if gaps is None:
        return mixture.log_density(rows)
    check_gaps(gaps, numbers)
    whole, density = ~gaps.any(axis=1), np.empty((len(gaps), len(mixture.weights)))
    if whole.any():
        density[whole] = mixture.log_density(rows[whole])
    density[~whole] = _given(mixture, rows[~whole], gaps[~whole]).log_density()
    return density


def _given(mixture: Mixture, rows: np.ndarray, gaps: np.ndarray) -> MissingCells:
    means, _, variance, covariances, _ = mixture
    spread = np.repeat(variance[:, None], means.shape[1], axis=1) if covariances is None else covariances
    return MissingCells(means, spread, rows, gaps)


@dataclass(frozen=True)
class ObservedRows(GaussianRows):
    """Rows about their centre with missing cells, which ``table`` has completed, and EM on those that are there."""

    gaps: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    _at: list[Mixture] = field(default_factory=list, repr=False)

    @classmethod
    def of_part(
        cls, blocks: Blocks, gaps: np.ndarray, center: np.ndarray, shape: Shape, least: float, shrink: bool
    ) -> ObservedRows:
        """Of completed rows of a table, all of whose gaps are given."""
        found = [(block.rows, np.asarray(block[0], dtype=np.float64)) for block in blocks]
        table, own = np.vstack([rows for _, rows in found]) - center, gaps[np.concatenate([at for at, _ in found])]
        if shape == "spherical":
            return cls(table, shape, table.shape[1], least, (table**2).sum(axis=1), gaps=own)
        plain = GaussianRows.of(Blocks.from_array(table), np.zeros(table.shape[1]), shape, shrink=shrink)
        return cls(table, shape, plain.width, plain.least, shrink=shrink, gaps=own)

    def taught(self, shares: np.ndarray) -> GaussianRows:
        return replace(super().taught(shares), _at=[])  # type: ignore[call-arg]

    def _expected(self, mixture: Mixture) -> tuple[np.ndarray, float, float]:
        self._at[:] = [mixture]
        joint = _given(mixture, self.table, self.gaps).log_density() + log(mixture.weights)
        shares, heights = normalised(joint, mixture.weights)
        return np.ascontiguousarray(shares.T), float(heights.sum()), self._density(mixture)[3]

    def _sums(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Expectations, by the mixture of the last step, of the sums of whole rows; the first step takes rows as completed."""
        if not self._at:
            return super()._sums(shares)
        mass, means, scatters = np.maximum(shares.sum(axis=1), 1e-12), [], []
        given, full = _given(self._at[0], self.table, self.gaps), self.shape in ("full", "tied")
        for k, own in enumerate(shares):
            first, second = np.zeros(self.width), np.zeros((self.width,) * (2 if full else 1))
            for part, rows, spread in given.expected(k):
                first += own[part] @ rows
                second += np.tensordot(own[part], spread, 1)
                second += (rows.T * own[part]) @ rows if full else own[part] @ rows**2
            means.append(first / mass[k])
            scatters.append(second - mass[k] * (np.multiply.outer(means[k], means[k]) if full else means[k] ** 2))
        found = np.array(scatters) if full else np.maximum(scatters, 0.0)
        if self.shape == "spherical":
            found = found.sum(axis=1)
        return mass, np.array(means), found.sum(axis=0, keepdims=True) if self.shape == "tied" else found


def drawn(rows: np.ndarray, gaps: np.ndarray, mixture: Mixture, seed: int) -> np.ndarray:
    """The rows with missing cells drawn from a mixture given the others."""
    rng, given = np.random.default_rng([seed, 105]), _given(mixture, rows, gaps)
    shares = normalised(given.log_density() + log(mixture.weights), mixture.weights)[0]
    labels = (shares.cumsum(axis=1) < rng.random((len(rows), 1)) * shares.sum(axis=1, keepdims=True)).sum(axis=1)
    found = np.where(gaps, 0.0, rows)
    for k in range(len(mixture.weights)):
        own = np.flatnonzero(labels == k)
        for part, mean, spread in _given(mixture, rows[own], gaps[own]).expected(k):
            noise = rng.standard_normal(mean.shape)
            if spread.ndim == 2:
                noise = np.sqrt(spread) * noise
            else:
                values, vectors = np.linalg.eigh(spread)
                noise = np.einsum("nij,nj->ni", vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :], noise)
            found[own[part]] = np.where(gaps[own[part]], mean + noise, rows[own[part]])
    return found


def whole_rows(blocks: Blocks, gaps: np.ndarray, rank: int, begin: Callable[[Blocks], Mixture], seed: int) -> Blocks:
    """Rows whose missing cells are drawn from the mixture that ``begin`` fits, from rows completed to a low rank."""
    table = np.vstack([np.asarray(block[0], dtype=np.float64) for block in blocks])
    center = np.nanmean(table, axis=0)
    filled = completed(table - center, gaps, rank) + center
    return Blocks.from_array(drawn(table, gaps, begin(Blocks.from_array(filled)), seed), names=blocks.names)


def gaps_checks(gaps: np.ndarray, rows: np.ndarray, mixture: Mixture, seed: int) -> list[Check]:
    """Measure the share of missing cells, and in some rows, with NaN there, whether they are missing by their value."""
    meaning = (
        "EM asks that what is missing does not depend on its value. Moments and the shape of components are measured on rows "
        "whose missing cells are drawn given the others."
    )
    share = Check("missing cells", "share", float(gaps.mean()), None, meaning, "the model")

    def expect(seen: np.ndarray, others: np.ndarray) -> np.ndarray:
        given, found = _given(mixture, rows, np.isnan(rows) | ~seen), np.zeros((len(rows), len(others)))
        shares = normalised(given.log_density() + log(mixture.weights), mixture.weights)[0]
        for k in range(len(mixture.weights)):
            for part, filled, _ in given.expected(k):
                found[part] += shares[part, k, None] * filled[:, others]
        return found

    return [share, *missing_checks(rows, expect, seed)]
