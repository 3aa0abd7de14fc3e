"""The fitted symmetric matrix in factors, and clusters of its words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from .. import _fields as of
from ..likelihood import Refinement
from ..linalg import ScaledSpace, unit_rows
from .factored import LowRankProduct

_SMOOTHING = 0.01  # share of the smoothed marginals in likelihoods
_DRAWS = 50_000  # cells at which distances to fits on halves are measured


@dataclass(frozen=True)
class SymmetricMatrix:
    """B in factors up to a scale, which is computed at its first use by a pass over all entries."""

    factored: LowRankProduct
    sums_to_one: bool
    n_jobs: Annotated[int | None, of.Field(types=("int64", "int32"))]

    @cached_property
    def scale(self) -> float:
        """The factor that scales the sum of all entries to one."""
        total = 1.0 if self.sums_to_one else float(self.row_sums().sum())
        return 1 / total if total > 0 else 1.0

    def row_sums(self) -> np.ndarray:
        return np.maximum(self.factored.row_sums(self.n_jobs), 0)

    def entries(self, i: Any, j: Any) -> np.ndarray:
        return self.factored.entries(i, j) * self.scale

    def log_likelihood(self, counts: sparse.csr_array, marginals: np.ndarray) -> float:
        """Return the mean log-probability of a pair, mixed with a little of the product of smoothed marginals."""
        cells, size = counts.tocoo(), len(marginals)
        i, j = cells.coords
        smooth = (marginals + 0.3 / size) / 1.3
        total = 0.0
        for start in range(0, cells.nnz, 1 << 20):
            part = slice(start, start + (1 << 20))
            chance = (1 - _SMOOTHING) * self.entries(i[part], j[part]) + _SMOOTHING * smooth[i[part]] * smooth[j[part]]
            total += float(cells.data[part] @ np.log(chance))
        return total / float(cells.sum())


@dataclass(frozen=True)
class WordClusters:
    """Clusters of words, computed at their first use.

    Attributes
    ----------
    points : ndarray of shape (M, R - 1)
    marginals : ndarray of shape (M,)
        Weights of the words; those of weight 0 are ignored.
    seed : int
    """

    points: Annotated[np.ndarray, of.numbers("V P")]
    marginals: Annotated[np.ndarray, of.shares("V")]
    seed: Annotated[int, of.count()]

    @cached_property
    def labels(self) -> np.ndarray:
        """The cluster of every word, shape (M,)."""
        points, is_observed = self.points, self.marginals > 0
        if not points.shape[1]:
            return np.zeros(len(points), np.int64)
        if points.shape[1] == 1:
            return (points[:, 0] > 0).astype(np.int64)
        points = unit_rows(points)
        clusters = KMeans(min(points.shape[1] + 1, int(is_observed.sum())), n_init=10, random_state=self.seed)
        clusters.fit(points[is_observed], sample_weight=self.marginals[is_observed])
        return clusters.predict(points).astype(np.int64)


@dataclass(frozen=True)
class Estimate:
    """Estimate of B in factors; a refined one also has P (R, M), W (R, R) and the course of the refinement."""

    model: LowRankProduct
    space: ScaledSpace
    components: np.ndarray | None = None
    mixing: np.ndarray | None = None
    refinement: Refinement = field(default_factory=Refinement.no_steps)

    def matrix(self, n_jobs: int | None) -> SymmetricMatrix:
        return SymmetricMatrix(self.model, self.components is not None, n_jobs)


def estimate_sum(estimate: Estimate, seed: int) -> float:
    """Estimate the sum of all entries of a matrix from random cells."""
    i, j, weight = _draw_weighted_cells(estimate, seed)
    return float((estimate.model.entries(i, j) * weight).mean())


def _draw_weighted_cells(estimate: Estimate, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw cells by the words' frequencies; return them and one over the probability of each."""
    rng = np.random.default_rng(seed)
    chance = estimate.space.scale / estimate.space.scale.sum()
    i, j = rng.choice(len(chance), (2, _DRAWS), p=chance)
    return i, j, 1 / (chance[i] * chance[j])


def estimate_distance(estimate: Estimate, second: Estimate, seed: int) -> float:
    """Estimate the l1 distance of two matrices from random cells."""
    i, j, weight = _draw_weighted_cells(estimate, seed)
    differences = np.abs(
        _normalise(estimate.model.entries(i, j), weight) - _normalise(second.model.entries(i, j), weight)
    )
    return float((differences * weight).mean())


def draw_cells(counts: sparse.csr_array, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw cells by the frequencies of their rows and columns; return them and the product of these frequencies."""
    rng, total = np.random.default_rng([seed, 105]), counts.sum()
    first, second = (np.asarray(counts.sum(axis=axis)).ravel() / total for axis in (1, 0))
    i, j = (rng.choice(len(shares), _DRAWS, p=shares) for shares in (first, second))
    return i, j, first[i] * second[j]


def _normalise(entries: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Divide entries that were drawn with probability 1 / weight by the estimated sum of the matrix."""
    total = float((entries * weight).mean())
    return entries / total if total > 0 else entries
