"""Rows in memory on which starts of spherical mixtures are compared: plain EM without passes.

A row is there in a few coordinates, and as its squared length in all columns: means that lie in the span of the coordinates
have the same likelihood on both, and principal coordinates hold nearly all that tells means apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..likelihood import log, normalised
from ..moments import Coordinates
from ..moments.vectors import squared_distances
from ..passes import Blocks

__all__ = ["Mixture", "MixtureRows"]

_FLOOR = 1e-3  # least variance of a component, as a share of the mean one at the start
_STILL = 1e-5  # nats a row that a step gains, below which it is the last
_NOTHING = 1e-12


class Mixture(NamedTuple):
    """Means (K, D), weights (K,), variances of a single feature (K,) and, where these do not say all, covariances.

    Those are (K, D) where they are diagonal, (K, D, D) where they are full, and (1, D, D) where all components have the same.
    """

    means: np.ndarray
    weights: np.ndarray
    variance: np.ndarray
    covariances: np.ndarray | None = None

    def sorted(self) -> Mixture:
        """The same, the largest weight first."""
        return self.of(np.argsort(-self.weights, kind="stable"))

    def of(self, components: np.ndarray) -> Mixture:
        """Some of the components, in this order."""
        weights, covariances = self.weights[components], self.covariances
        if covariances is not None and len(covariances) > 1:
            covariances = covariances[components]
        return Mixture(self.means[components], weights / weights.sum(), self.variance[components], covariances)


@dataclass(frozen=True)
class MixtureRows:
    """Rows, and EM for spherical mixtures of them.

    Attributes
    ----------
    table : ndarray of shape (n, b)
        Coordinates of the rows, about their centre.
    lengths : ndarray of shape (n,)
        Squared distances to the centre over all columns.
    width : int
        Number of columns D.
    least : float
        Least variance of a component.
    """

    table: np.ndarray
    lengths: np.ndarray
    width: int
    least: float

    @classmethod
    def of(cls, blocks: Blocks, coordinates: Coordinates, least: float, most: int) -> MixtureRows:
        """At most so many rows, spread over the data."""
        (rows,) = blocks.some_rows(most)
        lengths = squared_distances(rows, coordinates.center)
        return cls(coordinates(rows)[:, : coordinates.basis.shape[1]], lengths, rows.shape[1], least)

    @property
    def size(self) -> int:
        return len(self.table)

    def start(self, shares: np.ndarray) -> Mixture:
        """The mixture whose components have these shares of the rows, shape (n, K)."""
        return self._estimate(shares, self.least)

    def climb(self, mixture: Mixture, steps: int) -> tuple[float, Mixture]:
        """The log-likelihood after at most so many plain EM steps, in nats, and the mixture there."""
        least, before = max(_FLOOR * float(mixture.weights @ mixture.variance), self.least), -np.inf
        for _ in range(steps):
            shares, height = self._expected(mixture)
            if height - before < _STILL * self.size:
                return height, mixture
            mixture, before = self._estimate(shares, least), height
        return self._expected(mixture)[1], mixture

    def shares(self, mixture: Mixture) -> np.ndarray:
        """The probability of each component for each row, shape (n, K)."""
        return self._expected(mixture)[0]

    def _expected(self, mixture: Mixture) -> tuple[np.ndarray, float]:
        joint = self.table @ (-2 * mixture.means.T)
        joint += self.lengths[:, None]
        joint += (mixture.means**2).sum(axis=1)
        joint *= -0.5 / mixture.variance
        joint += log(mixture.weights) - 0.5 * self.width * np.log(2 * np.pi * mixture.variance)
        shares, heights = normalised(joint, mixture.weights)
        return shares, float(heights.sum())

    def _estimate(self, shares: np.ndarray, least: float) -> Mixture:
        mass = np.maximum(shares.sum(axis=0), _NOTHING)
        means = shares.T @ self.table / mass[:, None]
        variance = (shares.T @ self.lengths / mass - (means**2).sum(axis=1)) / self.width
        return Mixture(means, mass / mass.sum(), np.maximum(variance, least))
