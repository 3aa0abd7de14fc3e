"""Fourth cumulants of real vectors, in few coordinates.

With y = (B^T (x - c), 1) the P x P Gram matrix of the pairs y_i y_j (i <= j) contains all moments up to the fourth, so that
halves of the data can be centred and whitened on their own. The cumulant of z = L^T y, with E[z] = 0 and S = E[z z^T], is

    C_ijkl = E[z_i z_j z_k z_l] - S_ij S_kl - S_ik S_jl - S_il S_jk,

zero for a Gaussian and additive over independent parts. Source: Ge, thesis 2013, Theorem 7.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._threads import Parallel
from ..exceptions import LatentiaError
from ..passes import Block, RowGroups
from ..tensor import SymmetricFour
from .products import CHUNK, add_pair_gram, mirror_gram
from .vectors import Coordinates

__all__ = ["FourthMoments", "FourthSums"]


@dataclass(frozen=True)
class FourthSums:
    """All moments up to the fourth of rows in coordinates y, whose last entry is 1.

    Attributes
    ----------
    n : int
    fourth : SymmetricFour of dimension b + 1
        E[y^(x 4)].
    mean : ndarray of shape (b,)
    covariance : ndarray of shape (b, b)
    """

    n: int
    fourth: SymmetricFour
    mean: np.ndarray
    covariance: np.ndarray

    def cumulant(self, matrix: np.ndarray) -> SymmetricFour:
        """Fourth cumulant of z = matrix^T (y - mean), for a matrix of shape (b, k)."""
        k = matrix.shape[1]
        moment = self.fourth.project(np.vstack([matrix, -(self.mean @ matrix)]))
        spread = matrix.T @ self.covariance @ matrix
        i, j = np.triu_indices(k)
        gaussian = np.outer(spread[i, j], spread[i, j])
        gaussian += spread[i][:, i] * spread[j][:, j]
        gaussian += spread[i][:, j] * spread[j][:, i]
        return SymmetricFour(moment.packed - gaussian, k)


class FourthMoments:
    """In-place statistic: Gram matrix of the pairs, (G, P, P), of rows in groups. N P^2 flops, 8 G P^2 bytes.

    Parameters
    ----------
    coordinates : Coordinates
        With the constant.
    dealt : RowGroups
        Groups of rows, with sums each.
    """

    def __init__(self, coordinates: Coordinates, dealt: RowGroups) -> None:
        self.coordinates, self.dealt = coordinates, dealt

    def zero(self) -> np.ndarray:
        pairs = self.coordinates.size * (self.coordinates.size + 1) // 2
        return np.zeros((self.dealt.n, pairs, pairs))

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        groups = self.dealt.of(block.rows)
        for g in self.dealt.all:
            rows = np.flatnonzero(groups == g)
            for a in range(0, len(rows), CHUNK):
                add_pair_gram(state[g], self.coordinates(block[0][rows[a : a + CHUNK]]), parallel)
        return state

    def of(self, state: np.ndarray, groups: tuple[int, ...]) -> FourthSums:
        """Moments of the rows of some groups, from the summed state."""
        gram: Any = mirror_gram(state[list(groups)].sum(axis=0))
        n = float(gram[-1, -1])
        if n < 1:
            raise LatentiaError("A part of the data has no rows: there are too few to be split.")
        gram = gram / n
        size = self.coordinates.size
        i, j = np.triu_indices(size)
        second = np.empty((size, size))
        second[i, j] = second[j, i] = gram[-1]  # the last pair is (1, 1): its row has the second moments
        mean = second[-1, :-1]
        return FourthSums(round(n), SymmetricFour(gram, size), mean, second[:-1, :-1] - np.outer(mean, mean))
