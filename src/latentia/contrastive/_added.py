"""Rows of two views: how they are read, and how their joint moments are added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..exceptions import LatentiaError
from ..fitting.additive import Additive, Receipt
from ..moments import ColumnSpan, FramedSums
from ..passes import Blocks
from ._linear_map import Choice, Signal, choose, given
from .views import JointMoments, dense_rows, two_views, view_table

_LOST = 1e-10  # of the largest singular value of a given map


@dataclass(frozen=True)
class Joint:
    """Joint moments of the views, and what was chosen by those of all rows, for parts as well."""

    views: JointMoments
    choice: Choice
    signal: Signal | None


class AddedViews(Additive):
    """Base of the estimators of one component of two views: from rows to `Joint` moments."""

    _target: ClassVar[bool] = False
    linear_map: Any
    method: str
    order: Any
    n_shared: int | None
    n_features_v_: int

    def _read(  # type: ignore[override]
        self, U: Any, V: Any = None, y: Any = None, *, reset: bool = True
    ) -> Blocks:
        return two_views(self, U, V, self._checked_target(y), reset=reset, target=self._target)

    def partial_fit(  # type: ignore[override]
        self, U: Any, V: Any = None, y: Any = None, *, sample_weight: Any = None
    ) -> Self:
        """Add rows: the model is that of all rows so far, as of one ``fit`` with ``keep_moments=True``.

        Parameters
        ----------
        U, V, y, sample_weight : as in ``fit``
            New rows.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            As in ``fit``.

        Warns
        -----
        DroppedDataWarning
            After a ``fit`` without ``keep_moments``, whose rows are not among those of the model then.
        """
        return self._update_rows((U, V, y), sample_weight=sample_weight)

    def forget(  # type: ignore[override]
        self, U: Any, V: Any = None, y: Any = None, *, sample_weight: Any = None
    ) -> Receipt:
        """Take rows away again: the model is that of the remaining rows, and nothing in it depends on the removed ones.

        Parameters
        ----------
        U, V, y, sample_weight : as in ``fit``
            Rows that were in a ``fit`` or ``partial_fit``. That they were is not checked: sums do not show it.

        Returns
        -------
        Receipt
            How many rows were removed, how many are left, and a digest of those removed.
        """
        return self._forget_rows((U, V, y), sample_weight)

    def _checked_target(self, y: Any) -> Any:
        return y

    def _sum_rows(self, rows: Blocks, like: FramedSums | None) -> Any:
        """Of both views, and the target, side by side."""
        return super()._sum_rows(dense_rows(rows), like)

    def _moments_from_sums(self, sums: FramedSums) -> Joint:
        return self._of_joint(JointMoments.of_sums(sums, (self.n_features_in_, self.n_features_v_)))

    def _of_joint(self, moments: JointMoments) -> Joint:
        known = self._known_map(self.n_features_v_)
        if known is not None:
            return Joint(moments, given(moments, known, self.method), None)
        return Joint(moments, *choose(moments, self.method, self.order, self.n_shared))

    def _known_map(self, width: int) -> np.ndarray | None:
        """The given A, checked against the columns of both views."""
        if self.linear_map is None:
            return None
        spans = vars(self).get("_spans") or tuple(ColumnSpan.all_columns(n) for n in (self.n_features_in_, width))
        of_u, of_v = spans
        width, shape = len(of_v.offset), (len(of_v.offset), len(of_u.offset))
        found = np.eye(width) if isinstance(self.linear_map, str) else view_table(self.linear_map, "linear_map")
        if found.shape != shape:
            said = "'identity'" if isinstance(self.linear_map, str) else f"an array of shape {found.shape}"
            raise LatentiaError(
                f"linear_map={said}: views of {shape[1]} and {width} columns need one of shape {shape}."
            )
        found = (found @ of_u.weights)[of_v.kept]
        sizes = np.linalg.svd(found, compute_uv=False)
        if len(found) < found.shape[1] or sizes[-1] <= _LOST * sizes[0]:
            raise LatentiaError(
                f"linear_map has rank {int((sizes > _LOST * sizes[0]).sum())} and {found.shape[1]} is needed: V must see all "
                "that it shares with U."
            )
        return found
