"""Fourth cumulants of real vectors, in few coordinates.

With y = (B^T (x - c), 1) the P x P Gram matrix of the pairs y_i y_j (i <= j) contains all moments up to the fourth, so that
halves of the data can be centred and whitened on their own. The cumulant of z = L^T y, with E[z] = 0 and S = E[z z^T], is

    C_ijkl = E[z_i z_j z_k z_l] - S_ij S_kl - S_ik S_jl - S_il S_jk,

zero for a Gaussian and additive over independent parts. Source: Ge, thesis 2013, Theorem 7.3. `KStatistics` are unbiased
estimates of it, and of the third cumulant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..passes import Block, Folds
from ..system.threads import Parallel
from ..tensor.operators import SymmetricFour
from .cumulants import k_factors
from .products import CHUNK, add_pair_gram, mirror_gram
from .vectors import Coordinates


class FourthCumulants(Protocol):
    """Number, mean (b,) and covariance (b, b) of rows in coordinates, and the fourth cumulant of combinations of these."""

    @property
    def n(self) -> int: ...
    @property
    def mean(self) -> np.ndarray: ...
    @property
    def covariance(self) -> np.ndarray: ...
    def cumulant(self, matrix: np.ndarray) -> SymmetricFour: ...


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
        """Compute the fourth cumulant of z = matrix^T (y - mean), for a matrix of shape (b, k)."""
        k = matrix.shape[1]
        moment = self.fourth.project(np.vstack([matrix, -(self.mean @ matrix)]))
        spread = matrix.T @ self.covariance @ matrix
        i, j = np.triu_indices(k)
        gaussian = np.outer(spread[i, j], spread[i, j])
        gaussian += spread[i][:, i] * spread[j][:, j]
        gaussian += spread[i][:, j] * spread[j][:, i]
        return SymmetricFour(moment.packed - gaussian, k)


class KStatistics:
    """Unbiased estimates of the second, third and fourth cumulants of rows in coordinates, from all their moments.

    Parameters
    ----------
    sums : FourthSums
        Of at least four rows.

    Attributes
    ----------
    n : int
    covariance : ndarray of shape (b, b)
    third : ndarray of shape (P, b)
        A row for each pair of coordinates.
    fourth : SymmetricFour of dimension b
    """

    def __init__(self, sums: FourthSums) -> None:
        self.n, b = sums.n, len(sums.mean)
        moment, pairs = k_factors(sums.n)
        self.covariance = sums.covariance * (sums.n / (sums.n - 1))
        central = _about_mean(sums)
        with_constant = central.where[:-1, -1]
        i, j = np.triu_indices(b)
        inside = central.where[i, j]
        self.third = central.packed[np.ix_(inside, with_constant)] * (sums.n**2 / ((sums.n - 1) * (sums.n - 2)))
        s = sums.covariance
        gaussian = np.outer(s[i, j], s[i, j])
        gaussian += s[i][:, i] * s[j][:, j]
        gaussian += s[i][:, j] * s[j][:, i]
        self.fourth = SymmetricFour(moment * central.packed[np.ix_(inside, inside)] - pairs * gaussian, b)

    def block(self, *columns: np.ndarray) -> np.ndarray:
        """Return the cross-cumulant of two, three or four sets of coordinates, one mode each."""
        if len(columns) == 2:
            return self.covariance[np.ix_(*columns)]
        pair_index, shape = self.fourth.where, tuple(len(mode) for mode in columns)
        pairs = pair_index[np.ix_(*columns[:2])].ravel()
        if len(columns) == 3:
            return self.third[np.ix_(pairs, columns[2])].reshape(shape)
        return self.fourth.packed[np.ix_(pairs, pair_index[np.ix_(*columns[2:])].ravel())].reshape(shape)


def _about_mean(sums: FourthSums) -> SymmetricFour:
    """Return the moments of (y - mean, 1)."""
    return SymmetricFour(move_pairs(sums.fourth.packed, np.ones(len(sums.mean)), -sums.mean), len(sums.mean) + 1)


def move_pairs(packed: np.ndarray, factors: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return sums of products of pairs of (f y + h, 1), from those of (y, 1), both of shape (P, P)."""
    f, h = np.append(factors, 1.0), np.append(shift, 0.0)
    i, j = np.triu_indices(len(f))
    single = np.empty(len(f), np.int64)  # places of the pairs (y_i, 1)
    single[i[j == len(f) - 1]] = np.flatnonzero(j == len(f) - 1)
    # (f_i y_i + h_i)(f_j y_j + h_j) from products of pairs: a column for each pair.
    pairs = np.arange(len(i))
    rows = np.concatenate([pairs, single[j], single[i], np.full(len(i), single[-1])])
    values = np.concatenate([f[i] * f[j], h[i] * f[j], f[i] * h[j], h[i] * h[j]])
    lift = sparse.csc_array((values, (rows, np.tile(pairs, 4))), shape=(len(i), len(i)))
    return np.asarray(lift.T @ (lift.T @ packed).T)


class FourthMoments:
    """In-place statistic: Gram matrix of the pairs, (G, P, P), of rows in groups. N P^2 flops, 8 G P^2 bytes.

    Parameters
    ----------
    coordinates : Coordinates
        With the constant.
    folds : Folds
        Groups of rows, with sums each.
    """

    def __init__(self, coordinates: Coordinates, folds: Folds) -> None:
        self.coordinates, self.folds = coordinates, folds

    def zero(self) -> np.ndarray:
        pairs = self.coordinates.size * (self.coordinates.size + 1) // 2
        return np.zeros((self.folds.n, pairs, pairs))

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        groups = self.folds.of(block.rows)
        for g in self.folds.all:
            rows = np.flatnonzero(groups == g)
            for a in range(0, len(rows), CHUNK):
                add_pair_gram(state[g], self.coordinates(block[0][rows[a : a + CHUNK]]), parallel)
        return state

    def of(self, state: np.ndarray, groups: tuple[int, ...]) -> FourthSums:
        """Return the moments of the rows of some folds, from the summed state."""
        gram: Any = mirror_gram(state[list(groups)].sum(axis=0))
        n = float(gram[-1, -1])
        if n < 1:
            raise LatentiaError("Expected rows in each part of the data, found none: there are too few to split.")
        gram = gram / n
        size = self.coordinates.size
        i, j = np.triu_indices(size)
        second = np.empty((size, size))
        second[i, j] = second[j, i] = gram[-1]  # the last pair is (1, 1): its row has the second moments
        mean = second[-1, :-1]
        return FourthSums(round(n), SymmetricFour(gram, size), mean, second[:-1, :-1] - np.outer(mean, mean))
