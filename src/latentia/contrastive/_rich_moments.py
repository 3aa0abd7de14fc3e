"""Cross-cumulants of several views up to the fourth order, of all rows and of groups of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..moments import (
    Coordinates,
    FourthMoments,
    FourthSums,
    KStatistics,
    all_column_moments,
    cross_cumulant,
)
from ..passes import Blocks, Folds, accumulate
from ._sets import Views
from .views import check_constant, dense_rows, whitener

MAX_ORDER = 4
MAX_COLUMNS = 64
"""Columns of all views together: their fourth moments in eight groups of rows take 300 megabytes."""

N_GROUPS = 8


class RowCumulants:
    """k-statistics of views, in units of the columns' standard deviations, of the rows of some groups.

    Parameters
    ----------
    sums : FourthSums
        Sums of all columns.
    width : int
        Columns of a view.
    beyond : callable
        Returns cumulants of the fifth and sixth order of the same rows, for views in ascending order.
    """

    def __init__(self, sums: FourthSums, width: int, beyond: Callable[[Views], np.ndarray]) -> None:
        self._statistics = KStatistics(sums)
        self.n, self.width, self._beyond = sums.n, width, beyond
        self.covariance = self._statistics.covariance
        self._cache: dict[Views, np.ndarray] = {}

    def __call__(self, index: Views) -> np.ndarray:
        """Return the cross-cumulant of the views ``index``, of order two to six: a mode of ``width`` entries for each."""
        return _look_up_ascending(index, self._block if len(index) <= MAX_ORDER else self._beyond, self._cache)

    def _block(self, index: Views) -> np.ndarray:
        return self._statistics.block(*[np.arange(view * self.width, (view + 1) * self.width) for view in index])


def _look_up_ascending(
    index: Views, compute: Callable[[Views], np.ndarray], cache: dict[Views, np.ndarray]
) -> np.ndarray:
    """Return the cumulant of some views, from the cached one of the same views in ascending order."""
    order = np.argsort(index, kind="stable")
    ascending = tuple(index[i] for i in order)
    if ascending not in cache:
        cache[ascending] = compute(ascending)
    return cache[ascending].transpose(np.argsort(order))


def read_cumulants(blocks: Blocks, **options: Any) -> Callable[[Views], np.ndarray]:
    """Return a function of views that reads their cross-cumulant, of any order up to six, in two passes for each."""
    cache: dict[Views, np.ndarray] = {}
    return lambda index: _look_up_ascending(index, lambda views: cross_cumulant(blocks, views, **options), cache)


class ViewCumulants:
    """Fourth moments of views of equal width, in eight groups of rows: two passes, and two for each cumulant beyond the fourth.

    Parameters
    ----------
    blocks : Blocks
        Blocks with a part for each view.
    quarters : Folds
        The four groups of rows of the fits of parts; each consists of two of the eight.
    options : dict
        Options of `accumulate`.

    Attributes
    ----------
    scale : ndarray of shape (n_views, width)
        Standard deviations of the columns.
    n_passes : int
        Passes until now.
    """

    def __init__(self, blocks: Blocks, quarters: Folds, **options: Any) -> None:
        self.n_views, self.width = len(blocks.shapes), blocks.shapes[0][1]
        size = self.n_views * self.width
        if size > MAX_COLUMNS:
            raise LatentiaError(
                f"Expected at most {MAX_COLUMNS} columns in all views together, since products of four are summed; there are "
                f"{size}. Reduce each view to {MAX_COLUMNS // self.n_views} columns or fewer, by PCA for example."
            )
        self._blocks, self._options = blocks, options
        columns = all_column_moments(blocks, **options)
        check_constant(columns, [f"view {i}" for i in range(self.n_views)], ", and a column of each other view")
        center = np.concatenate([moments.mean for moments in columns])
        scale = np.sqrt(np.concatenate([moments.variance for moments in columns]))
        folds = self._folds = replace(quarters, n=N_GROUPS)
        self.groups = folds.all
        joined = dense_rows(blocks)
        self._statistic = FourthMoments(Coordinates(center, np.diag(1 / scale)), folds)
        self._sums = accumulate(joined, self._statistic, **options)
        self.scale, self.n_passes = scale.reshape(self.n_views, self.width), 2
        self.all = self._group_cumulants(self.groups)
        self.n_rows = self.all.n
        for view in range(self.n_views):
            whitener(self.all((view, view)), f"view {view}")

    def quarter_cumulants(self, groups: tuple[int, ...]) -> RowCumulants:
        """Return the cumulants of the rows of some of the four groups."""
        return (
            self.all if len(groups) == 4 else self._group_cumulants(tuple(g for g in self.groups if g // 2 in groups))
        )

    def leave_out_groups(self) -> list[RowCumulants]:
        """Return the cumulants of the rows, leaving out each of the eight groups in turn."""
        return [self._group_cumulants(tuple(h for h in self.groups if h != g)) for g in self.groups]

    def _group_cumulants(self, groups: tuple[int, ...]) -> RowCumulants:
        def beyond(index: Views) -> np.ndarray:
            rows = self._blocks if groups == self.groups else self._blocks.group(groups, self._folds)
            self.n_passes += 2
            return scale_modes(cross_cumulant(rows, index, **self._options), index, 1 / self.scale)

        return RowCumulants(self._statistic.of(self._sums, groups), self.width, beyond)


def scale_modes(tensor: np.ndarray, index: Views, scale: np.ndarray) -> np.ndarray:
    """Multiply each mode of a tensor by the scale of the columns of its view."""
    for mode, view in enumerate(index):
        tensor = tensor * scale[view].reshape((-1,) + (1,) * (tensor.ndim - 1 - mode))
    return tensor
