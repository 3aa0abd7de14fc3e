"""Covariances of components, shrunk towards their shared covariance by as much as helps to predict left-out rows.

With n_k rows of scatter S_k the covariance of component k is estimated as

    C_k = (S_k + nu T) / (n_k + nu),

as if nu more rows had covariance T. T is the covariance within components, which is shrunk in the same way towards its
diagonal. EM then maximises the log-likelihood less nu sum_k KL(N(0, T) | N(0, C_k)). The strength nu is the one that makes each
row likeliest in its component without that row. With d the distance of a row to the mean of its component and
a = n_k / (n_k - 1), the mean without the row is a d away, and the scatter is S_k - a d d^T. So leaving out a row only needs
d^T (S_k + nu T)^-1 d, for many nu at once from the eigenvectors of T^-1 S_k. If classes are large and differ, the chosen nu is
small beside their numbers of rows.

Source: C. Fraley, A. E. Raftery, Bayesian regularization for normal mixture estimation and model-based clustering, Journal of
Classification 24 (2007), for such a prior, of fixed strength.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

_STRENGTHS = np.geomspace(1e-6, 1e4, 16)  # strengths that are compared, in rows
_MAX_LEFT_OUT = 1 << 16  # entries of the table that are left out one by one
_MIN_REMAINDER = 1e-9  # keeps logarithms finite


@dataclass(frozen=True)
class Prior:
    """Prior of covariances: the strength nu in rows, the target T, shape (D,) or (D, D), and the optimism of a fit in nats.

    ``optimism`` is the gain of the rows' log-likelihood from being part of the fit. A component of one row uses the mean of all
    rows when that row is left out.
    """

    strength: float
    target: np.ndarray
    optimism: float = 0.0

    @classmethod
    def from_labels(cls, table: np.ndarray, labels: np.ndarray, shape: str, min_variance: np.ndarray | float) -> Prior:
        """Learn the prior from rows with labels.

        Parameters
        ----------
        table : ndarray of shape (n, D)
            Centred rows.
        labels : ndarray of int, shape (n,)
        shape : {"diag", "full", "tied"}
        min_variance : float or ndarray of shape (D,)
            Added to the variances of the target.
        """
        rows, sizes = table[np.argsort(labels, kind="stable")], np.bincount(labels)
        sizes = sizes[sizes > 0]
        is_single = np.repeat(sizes == 1, sizes)
        means = np.add.reduceat(rows, np.cumsum(sizes) - sizes) / sizes[:, None]
        rows -= np.where(is_single[:, None], 0.0, np.repeat(means, sizes, axis=0))
        within = rows if is_single.all() else rows[~is_single]
        variance = (within**2).mean(axis=0) + min_variance
        if shape == "diag":
            stride = max(table.size * len(_STRENGTHS) // _MAX_LEFT_OUT, 1)
            return cls._choose_strength(
                _score_left_out(rows / np.sqrt(variance), sizes, stride, is_diagonal=True), variance
            )
        prior = cls._choose_strength(
            _score_left_out(within / np.sqrt(variance), np.array([len(within)])), np.diag(variance)
        )
        if shape == "tied":
            return prior
        target = prior.shrink(within.T @ within, len(within))
        return cls._choose_strength(_score_left_out(rows @ np.linalg.inv(np.linalg.cholesky(target)).T, sizes), target)

    @classmethod
    def _choose_strength(cls, heights: np.ndarray, target: np.ndarray) -> Prior:
        left_out, fitted = heights[0], heights[1]
        best = int(np.argmax(left_out))
        return cls(float(_STRENGTHS[best]), target, float(fitted[best] - left_out[best]))

    def shrink(self, scatters: np.ndarray, mass: np.ndarray | float) -> np.ndarray:
        """Compute shrunk covariances, (..., D) or (..., D, D), from scatters and numbers of rows (...)."""
        mass = np.reshape(mass, np.shape(mass) + (1,) * self.target.ndim)
        return (scatters + self.strength * self.target) / (mass + self.strength)

    def cost(self, precisions: np.ndarray, log_dets: np.ndarray) -> float:
        """Compute the penalty of the log-likelihood in nats, from inverse covariances and their log-determinants."""
        traces = precisions.reshape(len(precisions), -1) @ self.target.ravel()
        return 0.5 * self.strength * float((log_dets - self._log_det + traces - len(self.target)).sum())

    @cached_property
    def _log_det(self) -> float:
        """Log-determinant of the target."""
        return float(np.linalg.slogdet(self.target)[1] if self.target.ndim == 2 else np.log(self.target).sum())


def _score_left_out(rows: np.ndarray, sizes: np.ndarray, stride: int = 1, is_diagonal: bool = False) -> np.ndarray:
    """Score centred rows for G strengths, each row left out and included: log-likelihoods of shape (2, G).

    The target is I; constants that all strengths share are dropped.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        Rows sorted by component.
    sizes : ndarray of int, shape (K,)
        Numbers of rows of the components; a single row is not centred.
    stride : int
        Every ``stride``-th row is left out.
    is_diagonal : bool
        True if columns are independent given the component.
    """
    starts = np.cumsum(sizes) - sizes
    if is_diagonal:
        return -0.5 * _sum_heights(rows, np.add.reduceat(rows**2, starts), sizes, _STRENGTHS, stride, True)
    groups = np.split(rows, starts[1:])
    values, vectors = np.linalg.eigh(np.array([group.T @ group for group in groups]))
    rotated = np.concatenate([group @ axes for group, axes in zip(groups, vectors, strict=True)])
    return -0.5 * _sum_heights(rotated, np.maximum(values, 0.0), sizes, _STRENGTHS, stride, False)


@njit(nogil=True, cache=True)
def _sum_heights(rows, scatters, sizes, strengths, stride, is_diagonal):
    """Compute -2 times these log-likelihoods in coordinates in which the components' scatters, (K, D), are diagonal."""
    d, g = rows.shape[1], len(strengths)
    heights, inverse = np.zeros((2, g)), np.empty((d, g))
    left_out, fitted = heights[0], heights[1]
    distance, distances, weighted_distances, product = np.zeros(g), np.empty(g), np.empty(g), np.empty(g)
    start = 0
    for k in range(len(sizes)):
        n = sizes[k]
        if n == 1:
            length = 0.0
            for j in range(d):
                length += rows[start, j] ** 2
            for h in range(g):
                left_out[h] += length
                fitted[h] += d * np.log(strengths[h] / (1 + strengths[h]))
            start += 1
            continue
        for j in range(d):
            for h in range(g):
                inverse[j, h] = 1 / (scatters[k, j] + strengths[h])
                left_out[h] -= n * np.log(inverse[j, h] * (n - 1 + strengths[h]))
                fitted[h] -= n * np.log(inverse[j, h] * (n + strengths[h]))
        a, share = n / (n - 1), n / ((n + stride - 1) // stride)
        for i in range(start, start + n, stride):
            for h in range(g):
                distances[h], weighted_distances[h], product[h] = 0.0, 0.0, 1.0
            for j in range(d):
                squared_entry = rows[i, j] ** 2
                for h in range(g):
                    distance[h] += squared_entry * inverse[j, h]
                if is_diagonal or j == d - 1:
                    for h in range(g):
                        remainder = max(1 - a * distance[h], _MIN_REMAINDER)
                        product[h] *= remainder
                        weighted_distances[h] += distance[h] / remainder
                        distances[h] += distance[h]
                        distance[h] = 0.0
                if j == d - 1 or (is_diagonal and j % 16 == 15):  # before the product underflows
                    for h in range(g):
                        left_out[h] += share * np.log(product[h])
                        product[h] = 1.0
            for h in range(g):
                left_out[h] += share * a**2 * (n - 1 + strengths[h]) * weighted_distances[h]
                fitted[h] += share * (n + strengths[h]) * distances[h]
        start += n
    return heights
