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

MOST_ORDER = 4
MOST_COLUMNS = 64
"""Of all views, whose fourth moments in eight groups of rows take 300 megabytes."""

N_GROUPS = 8


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
        self._statistics = KStatistics(sums)
        self.n, self.width, self._beyond = sums.n, width, beyond
        self.covariance = self._statistics.covariance
        self._found: dict[Views, np.ndarray] = {}

    def __call__(self, index: Views) -> np.ndarray:
        """The cross-cumulant of the views ``index``, of order two to six: a mode of ``width`` entries for each."""
        return _by_ascending(index, self._block if len(index) <= MOST_ORDER else self._beyond, self._found)

    def _block(self, index: Views) -> np.ndarray:
        return self._statistics.block(*[np.arange(view * self.width, (view + 1) * self.width) for view in index])


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
    quarters : Folds
        The four groups of rows that fits of parts speak of; each is two of the eight.
    options : dict
        Of `accumulate`.

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
        if size > MOST_COLUMNS:
            raise LatentiaError(
                f"The views have {size} columns together, and at most {MOST_COLUMNS} can be, since products of four of them "
                f"are summed: reduce each view to {MOST_COLUMNS // self.n_views} columns or fewer, by PCA for example."
            )
        self._blocks, self._options = blocks, options
        columns = all_column_moments(blocks, **options)
        check_constant(columns, [f"view {i}" for i in range(self.n_views)], ", and a column of each other view")
        center = np.concatenate([one.mean for one in columns])
        scale = np.sqrt(np.concatenate([one.variance for one in columns]))
        folds = self._folds = replace(quarters, n=N_GROUPS)
        self.groups = folds.all
        joined = dense_rows(blocks)
        self._statistic = FourthMoments(Coordinates(center, np.diag(1 / scale)), folds)
        self._sums = accumulate(joined, self._statistic, **options)
        self.scale, self.n_passes = scale.reshape(self.n_views, self.width), 2
        self.all = self._of(self.groups)
        self.n_rows = self.all.n
        for view in range(self.n_views):
            whitener(self.all((view, view)), f"view {view}")

    def of_quarters(self, groups: tuple[int, ...]) -> RowCumulants:
        """Of the rows of some of four groups."""
        return self.all if len(groups) == 4 else self._of(tuple(g for g in self.groups if g // 2 in groups))

    def without(self) -> list[RowCumulants]:
        """Of all rows but those of each of the eight groups."""
        return [self._of(tuple(h for h in self.groups if h != g)) for g in self.groups]

    def _of(self, groups: tuple[int, ...]) -> RowCumulants:
        def beyond(index: Views) -> np.ndarray:
            rows = self._blocks if groups == self.groups else self._blocks.group(groups, self._folds)
            self.n_passes += 2
            return scaled(cross_cumulant(rows, index, **self._options), index, 1 / self.scale)

        return RowCumulants(self._statistic.of(self._sums, groups), self.width, beyond)


def scaled(tensor: np.ndarray, index: Views, scale: np.ndarray) -> np.ndarray:
    """The tensor, with each mode multiplied by the scale of the columns of its view."""
    for mode, view in enumerate(index):
        tensor = tensor * scale[view].reshape((-1,) + (1,) * (tensor.ndim - 1 - mode))
    return tensor
