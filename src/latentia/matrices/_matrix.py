"""The fitted matrix in factors, and clusters of its words."""

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
from .factored import Factored

_SMOOTHING = 0.01  # share of the smoothed marginals in likelihoods
_DRAWS = 50_000  # cells at which distances to fits on halves are measured


@dataclass(frozen=True)
class FactoredMatrix:
    """B in factors up to a scale, which is found when it is first needed: that takes a pass over all entries."""

    factored: Factored
    sums_to_one: bool
    n_jobs: Annotated[int | None, of.Field(types=("int64", "int32"))]

    @cached_property
    def scale(self) -> float:
        """What brings the sum of all entries to one."""
        total = 1.0 if self.sums_to_one else float(self.row_sums().sum())
        return 1 / total if total > 0 else 1.0

    def row_sums(self) -> np.ndarray:
        return np.maximum(self.factored.row_sums(self.n_jobs), 0)

    def entries(self, i: Any, j: Any) -> np.ndarray:
        return self.factored.entries(i, j) * self.scale

    def log_likelihood(self, counts: sparse.csr_array, marginals: np.ndarray) -> float:
        """Mean logarithm of the probability of a pair, mixed with a little of the product of smoothed marginals."""
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
    """Clusters of words, found when they are first asked for.

    Attributes
    ----------
    points : ndarray of shape (M, R - 1)
    marginals : ndarray of shape (M,)
        Weights of the words; those of weight 0 are not looked at.
    seed : int
    """

    points: Annotated[np.ndarray, of.numbers("V P")]
    marginals: Annotated[np.ndarray, of.shares("V")]
    seed: Annotated[int, of.count()]

    @cached_property
    def labels(self) -> np.ndarray:
        """The cluster of every word, shape (M,)."""
        points, seen = self.points, self.marginals > 0
        if not points.shape[1]:
            return np.zeros(len(points), np.int64)
        if points.shape[1] == 1:
            return (points[:, 0] > 0).astype(np.int64)
        points = unit_rows(points)
        clusters = KMeans(min(points.shape[1] + 1, int(seen.sum())), n_init=10, random_state=self.seed)
        clusters.fit(points[seen], sample_weight=self.marginals[seen])
        return clusters.predict(points).astype(np.int64)


@dataclass(frozen=True)
class Estimate:
    """B in factors, and what else there is: P (R, M), W (R, R) and the refinement of refined ones, and the sizes of bins."""

    model: Factored
    space: ScaledSpace
    components: np.ndarray | None = None
    mixing: np.ndarray | None = None
    bins: list[int] | None = None
    refinement: Refinement = field(default_factory=Refinement.no_steps)

    def matrix(self, n_jobs: int | None) -> FactoredMatrix:
        return FactoredMatrix(self.model, self.components is not None, n_jobs)


def sampled_sum(found: Estimate, seed: int) -> float:
    """Sum of all entries of a matrix, from some cells."""
    i, j, weight = _cells(found, seed)
    return float((found.model.entries(i, j) * weight).mean())


def _cells(found: Estimate, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells drawn by the words' frequencies, and one over the chance of each."""
    rng = np.random.default_rng(seed)
    chance = found.space.scale / found.space.scale.sum()
    i, j = rng.choice(len(chance), (2, _DRAWS), p=chance)
    return i, j, 1 / (chance[i] * chance[j])


def sampled_distance(found: Estimate, part: Estimate, seed: int) -> float:
    """l1 distance of two matrices, from some cells."""
    i, j, weight = _cells(found, seed)
    apart = np.abs(_scaled(found.model.entries(i, j), weight) - _scaled(part.model.entries(i, j), weight))
    return float((apart * weight).mean())


def some_cells(counts: sparse.csr_array, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells drawn by the frequencies of their rows and columns, and the product of these."""
    rng, total = np.random.default_rng([seed, 105]), counts.sum()
    first, second = (np.asarray(counts.sum(axis=axis)).ravel() / total for axis in (1, 0))
    i, j = (rng.choice(len(one), _DRAWS, p=one) for one in (first, second))
    return i, j, first[i] * second[j]


def _scaled(entries: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Entries of a matrix drawn with chance 1 / weight, divided by their estimated sum."""
    total = float((entries * weight).mean())
    return entries / total if total > 0 else entries
