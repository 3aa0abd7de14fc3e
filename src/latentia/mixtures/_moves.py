"""Moves that escape a local optimum of a mixture: merge two components and split a third.

EM cannot carry a component from where there are too many to where there are too few. Hard clusters rank the moves: with scatter
S_k about its mean and n_k rows, the best log-likelihood of cluster k is, up to terms that all moves share,

    n_k log n_k - n_k / 2 log det (S_k / n_k),

where the determinant is that of the covariance's shape. The two scatters give the cost of a merger. Halving the rows of a
cluster along its longest direction, with a few steps of k-means, gives the gain of a split.

Source: N. Ueda, R. Nakano, Z. Ghahramani, G. E. Hinton, SMEM algorithm for mixture models, Neural Computation 12 (2000), for
the moves; they rank them by overlaps and by local densities.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

Shape: TypeAlias = str
"""Of covariances: "spherical", "diag", "full" or "tied"."""

_MIN_HALF = 2  # rows of a half
_SWEEPS = 3  # steps of k-means with two centres
_POWER_STEPS = 10  # power iterations towards the longest direction
# Smallest variance of a cluster, as a share of the data's variance, or for "full" of its own.
_MIN_VARIANCE = {"spherical": 1e-6, "diag": 1e-6, "full": 0.02, "tied": 1e-6}
_NEIGHBOURS = 8  # nearest clusters with which a cluster may merge


def propose_moves(table: np.ndarray, shares: np.ndarray, shape: Shape, n_moves: int) -> list[np.ndarray]:
    """Propose the rows' shares in components after the most promising moves, each (K, n).

    Parameters
    ----------
    table : ndarray of shape (n, b)
        Centred rows.
    shares : ndarray of shape (K, n)
    shape : {"spherical", "diag", "full", "tied"}
    n_moves : int
    """
    clusters = _Clusters.from_shares(table, shares, shape)
    costs, gains = clusters.rank_mergers(), clusters.rank_splits()
    pairs, split = costs[: 2 * n_moves], gains[: 2 * n_moves]
    moves = [
        (cost + gain, pair, k, half)
        for (cost, pair), (gain, k, half) in product(pairs, split)
        if k not in pair and np.isfinite(cost + gain)
    ]
    moves.sort(key=lambda move: -move[0])
    return [_apply_move(shares, pair, k, half) for _, pair, k, half in moves[:n_moves]]


def propose_mergers(table: np.ndarray, shares: np.ndarray, shape: Shape, n_mergers: int) -> list[np.ndarray]:
    """Propose the rows' shares after the cheapest mergers of two components, each (K - 1, n)."""
    proposals = []
    for _, (first, second) in _Clusters.from_shares(table, shares, shape).rank_mergers()[:n_mergers]:
        merged = shares.copy()
        merged[first] += merged[second]
        proposals.append(np.delete(merged, second, axis=0))
    return proposals


def _apply_move(shares: np.ndarray, pair: tuple[int, int], k: int, half: np.ndarray) -> np.ndarray:
    """Merge a pair into its first component; use the freed one to split k."""
    first, second = pair
    moved = shares.copy()
    moved[first] += moved[second]
    moved[second] = 0.0
    moved[second, half] = moved[k, half]
    moved[k, half] = 0.0
    return moved


@dataclass(frozen=True)
class _Clusters:
    """Hard clusters of rows.

    Attributes
    ----------
    table : ndarray of shape (n, b)
    labels : ndarray of shape (n,)
    shape : Shape
    sizes : ndarray of shape (K,)
    means : ndarray of shape (K, b)
    scatters : list of ndarray
        Sums of squares about the mean: a number, (b,) or (b, b).
    min_variance : float
    """

    table: np.ndarray
    labels: np.ndarray
    shape: Shape
    sizes: np.ndarray
    means: np.ndarray
    scatters: list[np.ndarray]
    min_variance: float

    @classmethod
    def from_shares(cls, table: np.ndarray, shares: np.ndarray, shape: Shape) -> _Clusters:
        labels, k = shares.argmax(axis=0), len(shares)
        means = np.array([table[labels == i].mean(axis=0) if (labels == i).any() else table[0] for i in range(k)])
        if shape == "tied":  # After whitening by the common covariance the clusters are spherical.
            within = table - means[labels]
            values, vectors = np.linalg.eigh(within.T @ within / len(table))
            root = vectors / np.sqrt(np.maximum(values, _MIN_VARIANCE[shape] * max(float(values.mean()), 1e-300)))
            table, means = table @ root, means @ root
        scatters = [_scatter(table[labels == i] - means[i], shape) for i in range(k)]
        min_variance = _MIN_VARIANCE[shape] * max(float(table.var(axis=0).mean()), np.finfo(float).tiny)
        return cls(table, labels, shape, np.bincount(labels, minlength=k).astype(float), means, scatters, min_variance)

    def rank_mergers(self) -> list[tuple[float, tuple[int, int]]]:
        """Rank pairs of clusters by the gain of their merger, largest first."""
        likelihoods = [
            self.cluster_likelihood(n, scatter) for n, scatter in zip(self.sizes, self.scatters, strict=True)
        ]
        squares = ((self.means[:, None] - self.means) ** 2).sum(axis=2)
        near = np.argsort(squares, axis=1, kind="stable")[:, : _NEIGHBOURS + 1]
        mergers = []
        for i, j in sorted({(max(i, int(j)), min(i, int(j))) for i, row in enumerate(near) for j in row if i != j}):
            n = self.sizes[i] + self.sizes[j]
            weight = self.sizes[i] * self.sizes[j] / max(n, 1.0)
            scatter = (
                self.scatters[i]
                + self.scatters[j]
                + weight * _scatter((self.means[i] - self.means[j])[None], self.shape)
            )
            mergers.append((self.cluster_likelihood(n, scatter) - likelihoods[i] - likelihoods[j], (i, j)))
        return sorted(mergers, key=lambda merger: -merger[0])

    def rank_splits(self) -> list[tuple[float, int, np.ndarray]]:
        """Rank clusters by the gain of a split, largest first, with the rows that leave them."""
        splits = []
        for k, size in enumerate(self.sizes):
            rows = np.flatnonzero(self.labels == k)
            centred = self.table[rows] - self.means[k]
            leaves = _halve(centred) if size >= 2 * _MIN_HALF else None
            if leaves is None:
                continue
            gain = -self.cluster_likelihood(size, self.scatters[k])
            for part in (leaves, ~leaves):
                gain += self.cluster_likelihood(
                    float(part.sum()), _scatter(centred[part] - centred[part].mean(axis=0), self.shape)
                )
            splits.append((gain, k, rows[leaves]))
        return sorted(splits, key=lambda split: -split[0])

    def cluster_likelihood(self, n: float, scatter: np.ndarray) -> float:
        """Compute the best log-likelihood of a cluster, up to terms that all moves share."""
        if n < 1:
            return 0.0
        d, spread = self.table.shape[1], scatter / n
        if self.shape == "spherical":
            entropy = d * np.log(max(float(spread) / d, self.min_variance))
        elif self.shape == "diag":
            entropy = float(np.log(np.maximum(spread, self.min_variance)).sum())
        elif self.shape == "full":  # A ridge is needed: few rows do not span all directions.
            ridge = _MIN_VARIANCE["full"] * float(np.trace(spread)) / d + 1e-9 * self.min_variance
            entropy = float(np.linalg.slogdet(spread + max(ridge, np.finfo(float).tiny) * np.eye(d))[1])
        else:
            entropy = float(spread)
        return float(n * np.log(n) - 0.5 * n * entropy)


def _scatter(rows: np.ndarray, shape: Shape) -> np.ndarray:
    """Compute sums of squares of rows that have mean zero."""
    if shape == "full":
        return rows.T @ rows
    return (rows**2).sum(axis=0) if shape == "diag" else np.asarray((rows**2).sum())


def _halve(rows: np.ndarray) -> np.ndarray | None:
    """Halve the centred rows of a cluster, and mark those of one half; None if a half would be too small."""
    direction = rows[np.einsum("ij,ij->i", rows, rows).argmax()]
    for _ in range(_POWER_STEPS):
        direction = (rows @ direction) @ rows
        direction = direction / max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
    half = rows @ direction > 0
    for _ in range(_SWEEPS):
        if min(half.sum(), (~half).sum()) < _MIN_HALF:
            return None
        first, second = rows[half].mean(axis=0), rows[~half].mean(axis=0)
        half = rows @ (first - second) > 0.5 * (first @ first - second @ second)
    return half if min(half.sum(), (~half).sum()) >= _MIN_HALF else None
