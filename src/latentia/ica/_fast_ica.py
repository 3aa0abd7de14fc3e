"""FastICA, symmetric and with the contrast log cosh, as passes over the data.

With white z and an orthogonal W, an iteration is

    W <- orthogonal factor of E[tanh(y) z^T] - diag(E[1 - tanh(y)^2]) W,      y = W z,

and its means are sums over rows. It climbs sum_k |E log cosh y_k - E log cosh nu|, nu being standard normal: up to a constant
the mean log-likelihood of a row, in nats, where sources have the density exp(-y^2 / 2) / cosh y or, where that fits better,
exp(-y^2 / 2) cosh y.

Source: A. Hyvärinen, Fast and robust fixed-point algorithms for independent component analysis, IEEE Trans. Neural Networks
10 (1999); A. T. Erdogan, On the convergence of ICA algorithms with symmetric orthogonalization, IEEE Trans. Signal Processing
57 (2009), for what it climbs; the densities are those of T.-W. Lee, M. Girolami, T. J. Sejnowski, Neural Computation 11 (1999).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..likelihood.rows import merge_sums
from ..moments import Coordinates
from ..passes import Block, Blocks, accumulate

STILL = 1e-4  # 1 - |cosine| of what an iteration turns a source by, where it has converged
_ROWS = 2048
_MOST_KEPT = 1 << 22  # numbers, 32 MiB
_GAUSSIAN = 0.3745672074914381  # E log cosh of a standard normal


class FastICAResult(NamedTuple):
    """What FastICA made of its start.

    Attributes
    ----------
    rotation : ndarray of shape (K, K)
    log_likelihood : ndarray of shape (n_iter,)
        Of a row, in nats and up to a constant, at the start of each iteration.
    turn : float
        Largest 1 - |cosine| between a source before and after the last iteration.
    """

    rotation: np.ndarray
    log_likelihood: np.ndarray
    turn: float


def fast_ica(
    blocks: Blocks,
    coordinates: Coordinates,
    mean: np.ndarray,
    whitening: np.ndarray,
    most: int,
    n_jobs: int | None = None,
    progress: bool = False,
) -> FastICAResult:
    """Rotate white rows until FastICA has converged. The coordinates of all rows are kept where they are few.

    Parameters
    ----------
    blocks : Blocks
    coordinates : Coordinates
        With the constant.
    mean : ndarray of shape (b,)
    whitening : ndarray of shape (K, b)
        Maps coordinates without their mean to the white rows that are rotated.
    most : int
        Largest number of iterations, each a pass.
    """
    rows = _rows(blocks, coordinates, mean)
    log_likelihood: list[float] = []
    rotation, turn = np.eye(len(whitening)), np.inf
    while turn >= STILL and len(log_likelihood) < most:
        step = _Iteration(rotation @ whitening)
        label = progress and f"FastICA, iteration {len(log_likelihood) + 1}"
        sums = accumulate(rows, step, n_jobs, progress=label)
        log_likelihood.append(float(np.abs(sums.log_cosh / sums.n_rows - _GAUSSIAN).sum()))
        left, _, right = linalg.svd(sums.products @ whitening.T - sums.slopes[:, None] * rotation)
        after = left @ right
        turn = float((1 - np.abs(np.einsum("ij,ij->i", after, rotation))).max())
        rotation = after
    return FastICAResult(rotation, np.array(log_likelihood), turn)


def _rows(blocks: Blocks, coordinates: Coordinates, mean: np.ndarray) -> Blocks:
    """The coordinates of the rows without their mean, shape (n, b): computed once, or anew in every pass if they are many."""
    centred = blocks.map(lambda block: [coordinates(block[0])[:, :-1] - mean], [(blocks.n_rows, len(mean))])
    if blocks.n_rows * len(mean) > _MOST_KEPT:
        return centred
    return Blocks.from_array(np.vstack([block[0] for block in centred]))


@dataclass
class _Sums:
    """Sums over rows c without their mean: tanh(y) c^T, (K, b); 1 - tanh(y)^2 and log cosh y, (K,)."""

    products: np.ndarray
    slopes: np.ndarray
    log_cosh: np.ndarray
    n_rows: int = 0


class _Iteration:
    """Statistic of one iteration for sources y = matrix c of rows c without their mean."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix

    def zero(self) -> _Sums:
        k = len(self.matrix)
        return _Sums(np.zeros(self.matrix.shape), np.zeros(k), np.zeros(k))

    def add(self, state: _Sums, block: Block) -> _Sums:
        for a in range(0, block[0].shape[0], _ROWS):
            rows = block[0][a : a + _ROWS]
            sources = rows @ self.matrix.T
            sizes = np.abs(sources)
            is_worse_than_promised = np.exp(-2 * sizes)
            tanh = np.copysign((1 - is_worse_than_promised) / (1 + is_worse_than_promised), sources)
            state.products += tanh.T @ rows
            state.slopes += len(rows) - (tanh**2).sum(axis=0)
            state.log_cosh += (sizes + np.log1p(is_worse_than_promised)).sum(axis=0) - len(rows) * np.log(2)
            state.n_rows += len(rows)
        return state

    def merge(self, first: _Sums, second: _Sums) -> _Sums:
        return merge_sums(first, second)
