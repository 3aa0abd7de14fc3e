"""Cross-cumulants of several views up to the fourth order, of all rows and of groups of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..moments import (
    ColumnMoments,
    Coordinates,
    FourthMoments,
    FourthSums,
    all_column_moments,
    cross_cumulant,
    k_factors,
)
from ..passes import Blocks, accumulate, deal
from ._sets import Views

__all__ = ["MOST_COLUMNS", "MOST_ORDER", "N_GROUPS", "RowCumulants", "ViewCumulants", "cumulants_of", "scaled"]

MOST_ORDER = 4
MOST_COLUMNS = 64
"""Of all views, whose fourth moments in eight groups of rows take 300 megabytes."""

N_GROUPS = 8
_SINGULAR = 1e-10


class RowCumulants:
    """k-statistics of views, in units of the columns' standard deviations, of the rows of some groups.

    Parameters
    ----------
    sums : FourthSums
        Of all columns.
    width : int
        Columns of a view.
    beyond : callable
        Cumulants of the fifth and sixth order of the same rows, whose views ascend.
    """

    def __init__(self, sums: FourthSums, width: int, beyond: Callable[[Views], np.ndarray]) -> None:
        self.n, self.width, self._beyond = sums.n, width, beyond
        self.covariance = sums.covariance * (sums.n / max(sums.n - 1, 1))
        size = len(sums.mean)
        moment, pairs = k_factors(sums.n)
        i, j = np.triu_indices(size + 1)
        self._place = np.empty((size + 1, size + 1), int)
        self._place[i, j] = self._place[j, i] = np.arange(len(i))
        # Moments about the mean of these rows, with the constant for those of the third order.
        shift = _shift(np.append(sums.mean, 0.0), i, j, self._place[-1])
        central, spread = shift.T @ (shift.T @ sums.fourth.packed).T, np.zeros((size + 1, size + 1))
        spread[:-1, :-1] = sums.covariance
        self._third = central[:, self._place[-1]] * (sums.n**2 / ((sums.n - 1) * (sums.n - 2)))
        gaussian = np.outer(spread[i, j], spread[i, j]) + spread[i][:, i] * spread[j][:, j]
        gaussian += spread[i][:, j] * spread[j][:, i]
        self._fourth = moment * central - pairs * gaussian
        self._found: dict[Views, np.ndarray] = {}

    def __call__(self, index: Views) -> np.ndarray:
        """The cross-cumulant of the views ``index``, of order two to six: a mode of ``width`` entries for each."""
        return _by_ascending(index, self._block if len(index) <= MOST_ORDER else self._beyond, self._found)

    def _block(self, index: Views) -> np.ndarray:
        d = self.width
        columns = [np.arange(view * d, (view + 1) * d) for view in index]
        if len(index) == 2:
            return self.covariance[np.ix_(*columns)]
        pairs = self._place[np.ix_(*columns[:2])].ravel()
        if len(index) == 3:
            return self._third[np.ix_(pairs, columns[2])].reshape((d,) * 3)
        return self._fourth[np.ix_(pairs, self._place[np.ix_(*columns[2:])].ravel())].reshape((d,) * 4)


def _shift(mean: np.ndarray, i: np.ndarray, j: np.ndarray, alone: np.ndarray) -> sparse.csc_array:
    """From products of pairs y_i y_j to (y_i - m_i)(y_j - m_j), a column each; ``alone`` are the pairs with the constant."""
    pairs, constant = np.arange(len(i)), np.full(len(i), alone[-1])
    rows = np.concatenate([pairs, alone[j], alone[i], constant])
    factors = np.concatenate([np.ones(len(i)), -mean[i], -mean[j], mean[i] * mean[j]])
    return sparse.csc_array((factors, (rows, np.tile(pairs, 4))), shape=(len(i), len(i)))


def _by_ascending(index: Views, of: Callable[[Views], np.ndarray], found: dict[Views, np.ndarray]) -> np.ndarray:
    """The cumulant of some views, from that of the same views in ascending order, which is kept."""
    order = np.argsort(index, kind="stable")
    ascending = tuple(index[i] for i in order)
    if ascending not in found:
        found[ascending] = of(ascending)
    return found[ascending].transpose(np.argsort(order))


def cumulants_of(blocks: Blocks, **options: Any) -> Callable[[Views], np.ndarray]:
    """Cross-cumulants of the views of blocks, of any order up to six, in the units of the data: two passes for each."""
    found: dict[Views, np.ndarray] = {}
    return lambda index: _by_ascending(index, lambda views: cross_cumulant(blocks, views, **options), found)


class ViewCumulants:
    """Fourth moments of views of equal width, in eight groups of rows: two passes, and two for each cumulant beyond the fourth.

    Parameters
    ----------
    blocks : Blocks
        With a part for each view.
    seed : int
    options : dict
        Of `accumulate`.

    Attributes
    ----------
    scale : ndarray of shape (n_views, width)
        Standard deviations of the columns.
    quarters : RowGroups
        Numbers of the four groups of rows that fits of parts speak of; each is two of the eight.
    n_passes : int
        Passes until now.
    """

    def __init__(self, blocks: Blocks, seed: int, **options: Any) -> None:
        self.n_views, self.width = len(blocks.shapes), blocks.shapes[0][1]
        size = self.n_views * self.width
        if size > MOST_COLUMNS:
            raise LatentiaError(
                f"The views have {size} columns together, and at most {MOST_COLUMNS} can be, since products of four of them "
                f"are summed: reduce each view to {MOST_COLUMNS // self.n_views} columns or fewer, by PCA for example."
            )
        self._blocks, self._options = blocks, options
        columns = all_column_moments(blocks, **options)
        _check_constant(columns)
        center = np.concatenate([one.mean for one in columns])
        scale = np.sqrt(np.concatenate([one.variance for one in columns]))
        dealt = self._dealt = deal(blocks, seed, N_GROUPS)
        self.groups, self.quarters = dealt.all, replace(dealt, n=4)
        joined = blocks.map(lambda block: [np.hstack([np.asarray(part) for part in block])], [(blocks.n_rows, size)])
        self._statistic = FourthMoments(Coordinates(center, np.diag(1 / scale)), dealt)
        self._sums = accumulate(joined, self._statistic, **options)
        self.scale, self.n_passes = scale.reshape(self.n_views, self.width), 2
        self.all = self._of(self.groups)
        self.n_rows = self.all.n
        _check_singular(self.all)

    def of_quarters(self, groups: tuple[int, ...]) -> RowCumulants:
        """Of the rows of some of four groups."""
        return self.all if len(groups) == 4 else self._of(tuple(g for g in self.groups if g // 2 in groups))

    def without(self) -> list[RowCumulants]:
        """Of all rows but those of each of the eight groups."""
        return [self._of(tuple(h for h in self.groups if h != g)) for g in self.groups]

    def _of(self, groups: tuple[int, ...]) -> RowCumulants:
        def beyond(index: Views) -> np.ndarray:
            rows = self._blocks if groups == self.groups else self._blocks.group(groups, self._dealt)
            self.n_passes += 2
            return scaled(cross_cumulant(rows, index, **self._options), index, 1 / self.scale)

        return RowCumulants(self._statistic.of(self._sums, groups), self.width, beyond)


def scaled(tensor: np.ndarray, index: Views, scale: np.ndarray) -> np.ndarray:
    """The tensor, with each mode multiplied by the scale of the columns of its view."""
    for mode, view in enumerate(index):
        tensor = tensor * scale[view].reshape((-1,) + (1,) * (tensor.ndim - 1 - mode))
    return tensor


def _check_constant(columns: list[ColumnMoments]) -> None:
    for view, one in enumerate(columns):
        constant = np.flatnonzero(one.variance == 0)
        if len(constant):
            raise LatentiaError(
                f"Column {constant[0]} of view {view} is constant, over all {one.n} rows: remove it, and a column of "
                "each other view, since views need equally many."
            )


def _check_singular(cumulants: RowCumulants) -> None:
    d = cumulants.width
    for view in range(len(cumulants.covariance) // d):
        values, vectors = np.linalg.eigh(cumulants((view, view)))
        if values[0] <= _SINGULAR * values[-1]:
            most = sorted(np.argsort(-np.abs(vectors[:, 0]))[:3])
            raise LatentiaError(
                f"The covariance of view {view} is singular: columns {', '.join(map(str, most))} and perhaps others depend on "
                "each other linearly. Remove one of them, or reduce every view to as many columns by PCA."
            )
