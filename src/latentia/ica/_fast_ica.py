"""FastICA, symmetric and with the contrast log cosh, as passes over the data.

With white z and an orthogonal W, an iteration is

    W <- orthogonal factor of E[tanh(y) z^T] - diag(E[1 - tanh(y)^2]) W,      y = W z,

and its means are sums over rows. It maximises sum_k |E log cosh y_k - E log cosh nu| with nu standard normal: up to a constant
the mean log-likelihood of a row, in nats, if sources have the density exp(-y^2 / 2) / cosh y or, if that fits better,
exp(-y^2 / 2) cosh y.

Source: A. Hyvärinen, Fast and robust fixed-point algorithms for independent component analysis, IEEE Trans. Neural Networks
10 (1999); A. T. Erdogan, On the convergence of ICA algorithms with symmetric orthogonalization, IEEE Trans. Signal Processing
57 (2009), for the objective; the densities are those of T.-W. Lee, M. Girolami, T. J. Sejnowski, Neural Computation 11 (1999).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..likelihood.rows import merge_sums
from ..moments import Coordinates
from ..passes import Block, Blocks, accumulate

MAX_TURN = 1e-4  # 1 - |cosine| between a source before and after the last iteration
_CHUNK_ROWS = 2048
_MAX_CACHE = 1 << 22  # numbers that are kept between passes, 32 MiB
_GAUSSIAN_LOG_COSH = 0.3745672074914381  # E log cosh of a standard normal


class FastICAResult(NamedTuple):
    """Result of FastICA.

    Attributes
    ----------
    rotation : ndarray of shape (K, K)
    log_likelihood : ndarray of shape (n_iter,)
        Mean log-likelihood of a row, in nats and up to a constant, at the start of each iteration.
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
    max_iter: int,
    n_jobs: int | None = None,
    progress: bool = False,
) -> FastICAResult:
    """Rotate white rows until FastICA has converged. Few rows are kept as coordinates between passes.

    Parameters
    ----------
    blocks : Blocks
    coordinates : Coordinates
        With the constant.
    mean : ndarray of shape (b,)
    whitening : ndarray of shape (K, b)
        Maps centred coordinates to white rows.
    max_iter : int
        Largest number of iterations, each a pass.
    """
    rows = _center_rows(blocks, coordinates, mean)
    log_likelihood: list[float] = []
    rotation, turn = np.eye(len(whitening)), np.inf
    while turn >= MAX_TURN and len(log_likelihood) < max_iter:
        step = _IterationStatistic(rotation @ whitening)
        label = progress and f"FastICA, iteration {len(log_likelihood) + 1}"
        sums = accumulate(rows, step, n_jobs, progress=label)
        log_likelihood.append(float(np.abs(sums.log_cosh / sums.n_rows - _GAUSSIAN_LOG_COSH).sum()))
        left_vectors, _, right_vectors = linalg.svd(sums.products @ whitening.T - sums.slopes[:, None] * rotation)
        next_rotation = left_vectors @ right_vectors
        turn = float((1 - np.abs(np.einsum("ij,ij->i", next_rotation, rotation))).max())
        rotation = next_rotation
    return FastICAResult(rotation, np.array(log_likelihood), turn)


def _center_rows(blocks: Blocks, coordinates: Coordinates, mean: np.ndarray) -> Blocks:
    """Centre the rows' coordinates, shape (n, b): once, or again in every pass if there are many."""
    centred = blocks.map(lambda block: [coordinates(block[0])[:, :-1] - mean], [(blocks.n_rows, len(mean))])
    if blocks.n_rows * len(mean) > _MAX_CACHE:
        return centred
    return Blocks.from_array(np.vstack([block[0] for block in centred]))


@dataclass
class _IterationSums:
    """Sums over centred rows c: tanh(y) c^T, (K, b); 1 - tanh(y)^2 and log cosh y, (K,)."""

    products: np.ndarray
    slopes: np.ndarray
    log_cosh: np.ndarray
    n_rows: int = 0


class _IterationStatistic:
    """Statistic of one iteration for sources y = matrix c of centred rows c."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix

    def zero(self) -> _IterationSums:
        k = len(self.matrix)
        return _IterationSums(np.zeros(self.matrix.shape), np.zeros(k), np.zeros(k))

    def add(self, state: _IterationSums, block: Block) -> _IterationSums:
        for start in range(0, block[0].shape[0], _CHUNK_ROWS):
            rows = block[0][start : start + _CHUNK_ROWS]
            sources = rows @ self.matrix.T
            sizes = np.abs(sources)
            decays = np.exp(-2 * sizes)
            tanh = np.copysign((1 - decays) / (1 + decays), sources)
            state.products += tanh.T @ rows
            state.slopes += len(rows) - (tanh**2).sum(axis=0)
            state.log_cosh += (sizes + np.log1p(decays)).sum(axis=0) - len(rows) * np.log(2)
            state.n_rows += len(rows)
        return state

    def merge(self, first: _IterationSums, second: _IterationSums) -> _IterationSums:
        return merge_sums(first, second)
