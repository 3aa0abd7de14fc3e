"""A start for vectors: clusters of the steps, whatever their order, and how steps move from one to another.

States that are far from each other are found by k-means from centres that are computed from the data (see
`latentia.clusters`). Where they overlap, and their neighbours tell them apart, the moments are the better start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..clusters import label_starts
from ..passes import Block, Blocks, accumulate
from ._chain import Chain

_ROWS = 5000  # in which clusters are looked for
_PRIOR = 0.1  # counts of every move
_LEAST = 1e-3  # variance in a cluster, of that of all steps


def chain_of_clusters(blocks: Blocks, deviations: np.ndarray, k: int, n_jobs: int | None = None) -> Chain:
    """The chain of K clusters of vectors.

    Parameters
    ----------
    blocks : Blocks
        Vectors, (n, D), NaN where a step is missing, and the lengths of the sequences.
    deviations : ndarray of shape (D,)
        Units of the features.
    k : int
    n_jobs : int, optional
    """
    rows = blocks.some_rows(_ROWS)[0]
    rows = rows[~np.isnan(rows[:, 0])] / deviations
    table = rows - rows.mean(axis=0)
    labels = min(label_starts(table, k).values(), key=lambda one: _spread(table, one, k))
    means, variances = np.zeros((k, len(deviations))), np.ones((k, len(deviations)))
    for i in range(k):
        own = rows[labels == i]
        if len(own):
            means[i], variances[i] = own.mean(axis=0), np.maximum(own.var(axis=0), _LEAST)
        else:
            means[i] = rows[i % len(rows)]
    moves, starts = accumulate(blocks, _Moves(means, deviations), n_jobs)
    moves, starts = moves + _PRIOR, starts + _PRIOR
    return Chain(
        starts / starts.sum(), moves / moves.sum(axis=1, keepdims=True), means * deviations, variances * deviations**2
    )


def _spread(table: np.ndarray, labels: np.ndarray, k: int) -> float:
    """Sum of squared distances to the means of clusters."""
    return sum(float(((own - own.mean(axis=0)) ** 2).sum()) for i in range(k) if len(own := table[labels == i]))


class _Counted(NamedTuple):
    """Moves between clusters, (K, K), and sequences that begin in them, (K,)."""

    moves: np.ndarray
    starts: np.ndarray


class _Moves:
    """Statistic: `_Counted`, every step being in the cluster of the nearest mean."""

    def __init__(self, means: np.ndarray, deviations: np.ndarray) -> None:
        self.means, self.deviations = means, deviations

    def zero(self) -> _Counted:
        k = len(self.means)
        return _Counted(np.zeros((k, k)), np.zeros(k))

    def add(self, state: _Counted, block: Block) -> _Counted:
        rows, ends = block[0] / self.deviations, np.cumsum(block[-1])
        seen = ~np.isnan(rows[:, 0])
        nearest = (np.where(seen[:, None], rows, 0) @ self.means.T - 0.5 * (self.means**2).sum(axis=1)).argmax(axis=1)
        followed = np.ones(len(rows), bool)
        followed[ends - 1] = False
        first = np.flatnonzero(followed & seen & np.append(seen[1:], False))
        np.add.at(state.moves, (nearest[first], nearest[first + 1]), 1)
        begin = ends - block[-1]
        np.add.at(state.starts, nearest[begin[seen[begin]]], 1)
        return state

    def merge(self, first: _Counted, second: _Counted) -> _Counted:
        return _Counted(first.moves + second.moves, first.starts + second.starts)
