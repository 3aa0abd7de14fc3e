"""Conditional normal distributions of missing cells given the observed ones.

Given the component, missing cells have mean mu_m + C_mo C_oo^-1 (x_o - mu_o) and covariance C_mm - C_mo C_oo^-1 C_om.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .gaussian import covariance_roots

_CHUNK_ENTRIES = 1 << 21  # entries of covariances in memory at a time


@dataclass(frozen=True)
class MissingCells:
    """Rows with missing cells, and the distribution of these given the others, by component.

    Attributes
    ----------
    means : ndarray of shape (K, D)
    spread : ndarray of shape (K, D), (K, D, D) or (1, D, D)
        Variances, or covariances, of the components or of all.
    rows : ndarray of shape (n, D)
    gaps : ndarray of bool, shape (n, D)
        Mask of missing cells.
    """

    means: np.ndarray
    spread: np.ndarray
    rows: np.ndarray
    gaps: np.ndarray

    def log_density(self) -> np.ndarray:
        """Return log-densities of the observed cells, shape (n, K)."""
        means, is_observed = self.means, (~self.gaps).astype(np.float64)
        if self.spread.ndim == 2:
            variances, centre = self.spread, means.mean(axis=0)
            rows, shifts = np.where(self.gaps, 0.0, self.rows - centre), means - centre
            squares = rows**2 @ (1 / variances).T - 2 * rows @ (shifts / variances).T
            return np.asarray(
                -0.5 * (squares + is_observed @ (shifts**2 / variances + np.log(2 * np.pi * variances)).T)
            )
        density = np.empty((len(self.rows), len(means)))
        for k in range(len(means)):
            for part, roots, rest in self._iterate_roots(k):
                scaled = np.linalg.solve(roots, rest[..., None])[..., 0]
                heights = (scaled**2).sum(axis=1) + 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
                density[part, k] = -0.5 * (heights + np.log(2 * np.pi) * is_observed[part].sum(axis=1))
        return density

    def expected(self, k: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield rows, expected cells under component k, (p, D), and covariances (p, D, D), or variances (p, D)."""
        if self.spread.ndim == 2:
            filled = np.where(self.gaps, self.means[k], self.rows)
            yield slice(0, len(self.rows)), filled, np.where(self.gaps, self.spread[k], 0.0)
            return
        covariance = self.spread[min(k, len(self.spread) - 1)]
        for part, roots, rest in self._iterate_roots(k):
            is_observed = ~self.gaps[part]
            inverse = np.linalg.inv(roots)
            inner = inverse.swapaxes(1, 2) @ inverse * (is_observed[:, :, None] & is_observed[:, None, :])
            mean = np.where(
                is_observed, self.rows[part], self.means[k] + (inner @ rest[..., None])[..., 0] @ covariance
            )
            spread = (covariance - covariance @ inner @ covariance) * (
                ~is_observed[:, :, None] & ~is_observed[:, None, :]
            )
            yield part, mean, spread

    def _iterate_roots(self, k: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield roots of covariances and centred rows; missing cells have unit variance and value zero."""
        covariance, d = self.spread[min(k, len(self.spread) - 1)], self.rows.shape[1]
        step = max(_CHUNK_ENTRIES // d**2, 1)
        for start in range(0, len(self.rows), step):
            part = slice(start, start + step)
            gaps = self.gaps[part]
            roots = covariance_roots(np.where(gaps[:, :, None] | gaps[:, None, :], np.eye(d), covariance))
            yield part, roots, np.where(gaps, 0.0, self.rows[part] - self.means[k])
