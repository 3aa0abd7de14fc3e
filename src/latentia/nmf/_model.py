"""Base of fitted factorizations: weights of rows on the components, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin

from .. import _fields as of
from .._entries import missing_entries
from .._validation import check_gaps, number_table, table_blocks, weighted
from ..evidence import ComponentView
from ..exceptions import LatentiaError
from ..fitting.base import OutputNames, fitted
from ..fitting.stages import Fitted, Moments, Parameters, Staged
from ..moments import ColumnSpan, span_without_constants
from ..passes import Blocks
from ..simplex import nonnegative_least_squares
from ._descent import row_weights

_MAX_UNIT_RATIO = 1e100  # largest ratio between the sizes of rows and components
_MAX_DENSE_ENTRIES = 1 << 22  # entries of rows that are made dense at a time


class FactorModel(OutputNames, TransformerMixin, Staged[Moments, Parameters]):
    """Base of estimators of X = A W."""

    mixing_kind_: Literal["simplex", "cone"] = "cone"
    n_jobs: int | None
    components_: Annotated[np.ndarray, of.numbers("K V")]
    weights_: Annotated[np.ndarray, of.shares("K")]
    reconstruction_err_: Annotated[float, of.number(0.0)]
    relative_error_: Annotated[float, of.number(0.0)]

    def _fit_varying(self, rows: Blocks) -> Self:
        """Fit on the columns that are not constant, and give constants the entries that weights of rows fit best."""
        self._fit_in_span(rows)
        span = vars(self).get("_span")
        if span is not None:
            constant_columns = span.dependent_columns
            weights = np.ascontiguousarray(self.transform(rows).T)
            constant_entries = nonnegative_least_squares(np.ones((1, weights.shape[1])), weights, n_jobs=self.n_jobs)
            self.components_[:, constant_columns] = np.outer(constant_entries, span.offset[constant_columns])
        return self

    def _span_of(self, rows: Any, more: Sequence[Any]) -> ColumnSpan | None:
        """Return the columns that are not constant; negative constants stay, since fits of nonnegative numbers refuse them."""
        span = span_without_constants(rows)
        return None if span is None or (span.offset < 0).any() else span

    def _expand_columns(self, span: ColumnSpan) -> None:
        self.components_ = span.coefficients(self.components_)

    def _select(self, table: Any) -> Any:
        """Return the columns of a table that are not constant in the fit."""
        span = vars(self).get("_span")
        return table if span is None else span.select(table)

    def _component_view(self, fitted: Fitted) -> ComponentView:
        """Return the weights of rows; for "cone" without the part that follows the size of a row."""
        weights = np.asarray(self.transform(fitted.comparison_rows))
        return ComponentView(
            (weights if self.mixing_kind_ == "simplex" else _remove_size_effect(weights, self.components_)).T
        )

    @fitted
    def transform(self, X: Any) -> np.ndarray:
        """Return the weights of rows on the components, by least squares.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, d)
            Nonnegative rows with the columns of the fit. Cells that are NaN are left out.

        Returns
        -------
        ndarray of shape (n_rows, r), nonnegative; rows sum to one if ``mixing_kind_`` is "simplex"

        Raises
        ------
        LatentiaError
            If X has another number of columns than the data of the fit, or a row without a cell.
        """
        return np.concatenate([weights for _, weights in self._iterate_pieces(X)])

    @fitted
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows that weights stand for, shape (n_rows, d).

        Parameters
        ----------
        X : array-like of shape (n_rows, r)
            Weights.

        Returns
        -------
        ndarray of shape (n_rows, d)
        """
        weights = number_table(X)
        if weights.shape[1] != len(self.components_):
            raise LatentiaError(
                f"Expected weights with {len(self.components_)} columns, one per component; found {weights.shape[1]}."
            )
        return np.asarray(weights @ self.components_)

    @fitted
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return the share of the rows' squared length that the components explain; at most 1.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, d)
            Nonnegative rows with the columns of the fit.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        float
        """
        residual_energy = energy = 0.0
        unit = self._unit()
        for rows, weights in self._iterate_pieces(X, sample_weight):
            residual = rows / unit - weights @ (self.components_ / unit)
            residual_energy += float(np.nansum(residual**2))
            energy += float(np.nansum((rows / unit) ** 2))
        return 1.0 - residual_energy / energy if energy > 0 else 1.0

    def _iterate_pieces(self, X: Any, sample_weight: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield pieces of the rows, and their weights."""
        unit = self._unit()
        step = max(1, _MAX_DENSE_ENTRIES // self.n_features_in_)
        for block in weighted(table_blocks(self, X, reset=False, missing=True), sample_weight):
            for first in range(0, block[0].shape[0], step):
                rows = to_dense(block[0][first : first + step])
                gaps = missing_entries(rows)
                if gaps is not None:
                    check_gaps(gaps, block.rows[first:])
                self._check_units(rows if gaps is None else rows[~gaps], unit)
                components = self._select(self.components_) / unit
                yield rows, row_weights(self._select(rows) / unit, components, self.mixing_kind_, self.n_jobs)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _unit(self) -> float:
        return float(np.abs(self.components_).max()) or 1.0

    def _check_units(self, rows: np.ndarray, unit: float) -> None:
        """Raise for rows that are so much larger or smaller than the components that squares are out of range."""
        largest = float(np.abs(rows).max(initial=0.0))
        if largest > 0 and not 1 / _MAX_UNIT_RATIO <= largest / unit <= _MAX_UNIT_RATIO:
            raise LatentiaError(
                f"The largest entry of these rows is {largest:.3g}, and that of the components {unit:.3g}: give both in the "
                "same units."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


def _remove_size_effect(weights: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Return the weights without the part that the size of a row explains, shape (n, r)."""
    centred = weights - weights.mean(axis=0)
    size = centred @ components.sum(axis=1)
    return np.asarray(centred - np.outer(size, size @ centred / max(float(size @ size), np.finfo(float).tiny)))


def dense_parts(table: Any) -> Iterator[np.ndarray]:
    """Yield groups of rows as arrays of floats, so that sums over them have the same bits however the table is stored."""
    table, step = table.tocsr() if sparse.issparse(table) else table, max(1, _MAX_DENSE_ENTRIES // table.shape[1])
    for first in range(0, table.shape[0], step):
        yield to_dense(table[first : first + step])


def to_dense(rows: Any) -> np.ndarray:
    """Return the rows as an array of floats."""
    return np.ascontiguousarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
