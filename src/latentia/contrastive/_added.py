"""Reading of two views, and sums of their joint moments that can be added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..exceptions import LatentiaError
from ..fitting.additive import Additive, Receipt
from ..fitting.stages import Parameters
from ..moments import ColumnSpan, FramedSums
from ..passes import Blocks
from ._linear_map import Choice, Signal, choose_given_map, choose_method
from .views import JointMoments, dense_rows, two_views, view_table

_RANK_TOLERANCE = 1e-10  # singular values of a given map below this share of the largest count as zero


@dataclass(frozen=True)
class Joint:
    """Joint moments of the views, and the choices that all rows made, which fits of parts share."""

    views: JointMoments
    choice: Choice
    signal: Signal | None


class AdditiveViews(Additive[Joint, Parameters]):
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
        return two_views(self, U, V, self._check_target(y), reset=reset, target=self._target)

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

    def _check_target(self, y: Any) -> Any:
        return y

    def _sum_rows(self, rows: Blocks, like: FramedSums | None) -> Any:
        """Add up sums of both views and the target, side by side."""
        return super()._sum_rows(dense_rows(rows), like)

    def _moments_from_sums(self, sums: FramedSums) -> Joint:
        return self._choose_map(JointMoments.from_sums(sums, (self.n_features_in_, self.n_features_v_)))

    def _choose_map(self, moments: JointMoments) -> Joint:
        linear_map = self._read_linear_map(self.n_features_v_)
        if linear_map is not None:
            return Joint(moments, choose_given_map(moments, linear_map, self.method), None)
        return Joint(moments, *choose_method(moments, self.method, self.order, self.n_shared))

    def _read_linear_map(self, width: int) -> np.ndarray | None:
        """Return the given A, checked against the columns of both views; None where it is to be learned."""
        if self.linear_map is None:
            return None
        spans = vars(self).get("_spans") or tuple(ColumnSpan.all_columns(n) for n in (self.n_features_in_, width))
        span_u, span_v = spans
        width, shape = len(span_v.offset), (len(span_v.offset), len(span_u.offset))
        linear_map = np.eye(width) if isinstance(self.linear_map, str) else view_table(self.linear_map, "linear_map")
        if linear_map.shape != shape:
            description = "'identity'" if isinstance(self.linear_map, str) else f"an array of shape {linear_map.shape}"
            raise LatentiaError(
                f"linear_map={description}: views of {shape[1]} and {width} columns need one of shape {shape}."
            )
        linear_map = (linear_map @ span_u.weights)[span_v.kept]
        singular_values = np.linalg.svd(linear_map, compute_uv=False)
        if len(linear_map) < linear_map.shape[1] or singular_values[-1] <= _RANK_TOLERANCE * singular_values[0]:
            raise LatentiaError(
                f"linear_map has rank {int((singular_values > _RANK_TOLERANCE * singular_values[0]).sum())}; expected "
                f"{linear_map.shape[1]}: V must see the whole part that it shares with U."
            )
        return linear_map
