"""Informative columns: constants, copies and linear combinations of others are left out of a fit.

Along such a column rows do not vary, or vary by rounding only, and densities are unbounded: the likelihood of a model would
depend on rounding. All of these columns are affine maps of others,

    x_j = o_j + sum_k W_jk x_k        over the columns k that are kept,

up to rounding: of floats, or of decimals if all entries of a column have few of them. Among dependent columns the first ones
are kept. Candidates come from a sample and are checked on all rows. With missing cells, a column is left out if its observed
cells agree with the map, and are missing wherever the map has no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from .. import _fields as of
from .._entries import LARGEST
from ..exceptions import DroppedDataWarning, warn
from ..passes import Block, Blocks, sample_rows
from .vectors import dense_table

_MAX_COLUMNS = 1000  # with more columns only constants and copies are searched, in dense tables
_DECIMALS = range(1, 9)
_MIN_STEPS = 16.0  # a column with fewer steps per standard deviation holds counts or codes, not rounded numbers
_ROUNDING_FACTOR = 4.0  # tolerated multiple of the rounding variance
_EXACT_TOLERANCE = 1e-9  # relative to a column's standard deviation
_SUM_TOLERANCE = 1e-6  # the same for sums of products, which have half of the digits
_MAX_DEVIATIONS = 12.0  # rounding deviations of the worst row
_MAX_RESIDUAL = 0.5  # columns with a smaller relative residual may be combinations
_MIN_CONTRIBUTION = 0.1  # smaller contributions, relative to rounding, are dropped from a combination
_MAX_NAMED = 3


@dataclass(frozen=True)
class ColumnSpan:
    """Kept columns, and the affine map from them to all columns.

    Attributes
    ----------
    kept : ndarray of int, shape (r,)
    weights : csr_array of shape (D, r)
        W; the rows of columns that are kept are those of the identity.
    offset : ndarray of shape (D,)
        o.
    """

    kept: Annotated[np.ndarray, of.places("O")]
    weights: Annotated[sparse.csr_array, of.sparse_matrix("* O")]
    offset: Annotated[np.ndarray, of.numbers("*")]

    @classmethod
    def all_columns(cls, width: int) -> ColumnSpan:
        """Return the span that keeps all columns."""
        return cls(np.arange(width), sparse.csr_array(sparse.eye_array(width)), np.zeros(width))

    @classmethod
    def from_kept(cls, columns: np.ndarray, weights: Any, offset: np.ndarray) -> ColumnSpan:
        """Build a span from weights on all columns, of which only the kept ones are used."""
        selected = sparse.csr_array(sparse.csc_array(weights)[:, columns])
        selected.sort_indices()
        return cls(np.asarray(columns, np.int64), selected, offset)

    def join(self, right: ColumnSpan) -> ColumnSpan:
        """Return the span of two tables side by side."""
        weights = sparse.csr_array(sparse.block_diag([self.weights, right.weights], format="csr"))
        offset = np.append(self.offset, right.offset)
        return ColumnSpan(np.append(self.kept, len(self.offset) + right.kept), weights, offset)

    def take_first(self, width: int) -> ColumnSpan:
        """Return the span of the first columns, which must not depend on later ones."""
        columns = self.kept[self.kept < width]
        return ColumnSpan(columns, self.weights[:width, : len(columns)], self.offset[:width])

    def keep_columns(self, columns: np.ndarray) -> ColumnSpan | None:
        """Keep some more columns; return None if all are kept then."""
        width, all_kept = len(self.offset), np.sort(np.append(self.kept, columns))
        if len(all_kept) == width:
            return None
        weights, offset = sparse.lil_array((width, width)), self.offset.copy()
        weights[:, self.kept] = self.weights
        weights[columns] = 0.0
        weights[columns, columns] = 1.0
        offset[columns] = 0.0
        return ColumnSpan.from_kept(all_kept, weights, offset)

    @property
    def dependent_columns(self) -> np.ndarray:
        """Numbers of the columns that are not kept."""
        return np.setdiff1d(np.arange(len(self.offset)), self.kept)

    def reduce(self, blocks: Blocks, part: int = 0) -> Blocks:
        """Drop the dependent columns of one part of the blocks."""
        shapes = [(blocks.n_rows, len(self.kept) if i == part else shape[1]) for i, shape in enumerate(blocks.shapes)]

        def select_block(block: Block) -> list[Any]:
            return [self.select(table) if i == part else table for i, table in enumerate(block)]

        return blocks.map(select_block, shapes)

    def select(self, table: Any) -> Any:
        """Return the kept columns of a table."""
        return select_columns(table, self.kept)

    def points(self, points: np.ndarray) -> np.ndarray:
        """Map points (..., r) from the kept columns to all columns."""
        return self.offset + self.directions(points)

    def directions(self, directions: np.ndarray, axis: int = -1) -> np.ndarray:
        """Map directions from the kept columns to all columns."""
        return _apply_weights(self.weights, directions, axis)

    def variances(self, variances: np.ndarray) -> np.ndarray:
        """Map variances (..., r) of independent kept columns to all columns."""
        return _apply_weights(self.weights.power(2), variances, -1)

    def covariances(self, covariances: np.ndarray) -> np.ndarray:
        """Map covariances (..., r, r) from the kept columns to all columns."""
        return self.directions(self.directions(covariances), axis=-2)

    def coefficients(self, coefficients: np.ndarray, axis: int = -1) -> np.ndarray:
        """Map coefficients from the kept columns to all columns: zero for the others."""
        expanded = np.zeros((*np.delete(coefficients.shape, axis), len(self.offset)))
        expanded[..., self.kept] = np.moveaxis(coefficients, axis, -1)
        return np.moveaxis(expanded, -1, axis)

    def tell(self, names: Sequence[str] | None = None, table: str = "", entries: bool = True) -> None:
        """Warn about the dependent columns, and whether the model has entries for them."""
        descriptions = []
        for j in self.dependent_columns[:_MAX_NAMED]:
            row = self.weights[[j]]
            sources = row.indices
            labels = [str(names[i]) if names is not None else str(i) for i in (j, *self.kept[sources])]
            is_copy = len(sources) == 1 and row.data[0] == 1 and self.offset[j] == 0
            description = (
                "constant" if not len(sources) else "a copy of column {}" if is_copy else "a combination of others"
            )
            descriptions.append(f"column {labels[0]} ({description.format(labels[-1])})")
        suffix = (
            f" and {len(self.dependent_columns) - _MAX_NAMED} more" if len(self.dependent_columns) > _MAX_NAMED else ""
        )
        warn(
            f"Left out{table and f' of {table}'}, as they add no information: {', '.join(descriptions)}{suffix}. The model "
            f"is fitted on the other {len(self.kept)} columns{' and has entries for all of them' if entries else ''}.",
            DroppedDataWarning,
        )


def span_of(blocks: Blocks, part: int = 0, further_tables: Sequence[Blocks] = ()) -> ColumnSpan | None:
    """Find the columns to keep; return None if these are all, or none.

    Parameters
    ----------
    blocks : Blocks
        Rows; a sample is read, and all rows if columns of the sample seem dependent.
    part : int, default=0
        The part of the blocks.
    further_tables : sequence of Blocks
        Other rows of the same columns, in which the same dependence must hold.

    Returns
    -------
    ColumnSpan or None
    """
    sample = _sample(blocks, part)
    return None if sample is None else _check_all_rows(*_span_of_rows(*sample), part, (blocks, *further_tables))


def span_without_constants(blocks: Blocks, *, keep_zeros: bool = True) -> ColumnSpan | None:
    """Find the columns that are not constant, except zeros that are kept; return None if these are all, or none."""
    sample = _sample(blocks, 0)
    if sample is None:
        return None
    low, high = np.fmin.reduce(sample[0]), np.fmax.reduce(sample[0])
    varying = np.flatnonzero((low != high) | (keep_zeros & (low == 0)))
    return _check_all_rows(_build_span(varying, {}, np.where(low == high, low, 0.0)), np.zeros(len(low)), 0, (blocks,))


def span_of_moments(mean: np.ndarray, covariance: np.ndarray) -> ColumnSpan | None:
    """Find the columns to keep from moments, which show dependence to half of the digits.

    Parameters
    ----------
    mean : ndarray of shape (D,)
    covariance : ndarray of shape (D, D)

    Returns
    -------
    ColumnSpan or None
    """
    deviations = np.sqrt(np.diag(covariance))
    scale = np.where(deviations > 0, deviations, 1.0)
    correlation = covariance / scale / scale[:, None]
    independent, weights = list[int](), dict[int, tuple[np.ndarray, np.ndarray]]()
    for j in np.flatnonzero(deviations):
        differences = np.array([mean[independent] - mean[j], deviations[independent] - deviations[j]])
        is_copy = (1 - correlation[j, independent] <= _SUM_TOLERANCE**2) & (
            np.abs(differences) <= _SUM_TOLERANCE * deviations[j]
        ).all(axis=0)
        solution = np.linalg.lstsq(
            correlation[np.ix_(independent, independent)], correlation[independent, j], rcond=None
        )[0]
        if is_copy.any():
            weights[int(j)] = np.array(independent)[is_copy][:1], np.ones(1)
        elif independent and 1 - correlation[j, independent] @ solution <= _SUM_TOLERANCE**2:
            weights[int(j)] = np.array(independent), solution * deviations[j] / deviations[independent]
        else:
            independent.append(int(j))
    return _build_span(np.array(independent, np.int64), weights, mean) if 0 < len(independent) < len(mean) else None


def select_columns(table: Any, columns: np.ndarray) -> Any:
    """Return some columns of a table, dense or sparse; rows of dense ones stay in one piece."""
    return table[:, columns] if sparse.issparse(table) else np.take(table, columns, axis=1)


def _apply_weights(weights: Any, values: np.ndarray, axis: int) -> np.ndarray:
    """Return the values with weights applied along an axis."""
    leading = np.moveaxis(values, axis, 0)
    product = np.asarray(weights @ leading.reshape(len(leading), -1))
    return np.moveaxis(product.reshape(-1, *leading.shape[1:]), 0, axis)


def _build_span(
    kept_columns: np.ndarray, dependent: dict[int, tuple[np.ndarray, np.ndarray]], mean: np.ndarray
) -> ColumnSpan | None:
    """Build the span from sources and weights of dependent columns; None if all or none are kept."""
    width = len(mean)
    if not 0 < len(kept_columns) < width:
        return None
    rows = np.concatenate([kept_columns, *(np.full(len(sources), j) for j, (sources, _) in dependent.items())])
    columns = np.concatenate([kept_columns, *(sources for sources, _ in dependent.values())])
    values = np.concatenate([np.ones(len(kept_columns)), *(factors for _, factors in dependent.values())])
    weights = sparse.csr_array((values, (rows, columns)), (width, width))
    offset = mean - weights @ mean
    span = ColumnSpan.from_kept(kept_columns, weights, offset)
    offset[_is_copy(span.weights)] = 0.0
    return span


def _sample(blocks: Blocks, part: int) -> tuple[np.ndarray, float] | None:
    """Return some rows and their precision; None if squares are out of range, or rows are wide and sparse."""
    table = sample_rows(blocks)[part]
    if sparse.issparse(table) and table.shape[1] > _MAX_COLUMNS:
        return None
    rows = dense_table(table)
    eps = np.finfo(np.float32).eps if table.dtype == np.float32 else np.finfo(np.float64).eps
    return None if not len(rows) or (np.abs(rows) > LARGEST).any() else (rows, float(eps))


def _check_all_rows(
    span: ColumnSpan | None, noise: np.ndarray, part: int, tables: Sequence[Blocks]
) -> ColumnSpan | None:
    """Check a span on all rows, and keep the columns that deviate from it."""
    while span is not None:
        deviates = np.any([_find_deviations(table, part, span, noise) for table in tables], axis=0)
        if not deviates.any():
            return span
        span = span.keep_columns(span.dependent_columns[deviates])
    return None


def _span_of_rows(rows: np.ndarray, eps: float) -> tuple[ColumnSpan | None, np.ndarray]:
    """Return the span of a sample, and the rounding deviation of each column."""
    low, high, width = np.fmin.reduce(rows), np.fmax.reduce(rows), rows.shape[1]
    distinct, noise, dependent = list[int](), np.zeros(width), dict[int, tuple[np.ndarray, np.ndarray]]()
    copies: dict[bytes, int] = {}
    for j in np.flatnonzero(~(low == high)).tolist():
        source = copies.setdefault(rows[:, j].tobytes(), j)
        if source == j:
            distinct.append(j)
        else:
            dependent[j] = np.array([source]), np.ones(1)
    complete = rows[~np.isnan(rows).any(axis=1)]
    mean = low.copy()
    if width <= _MAX_COLUMNS and len(complete) > 2 * len(distinct) + 8:
        mean = complete.mean(axis=0)
        mean = np.where(
            low == high, low, mean + (complete - mean).mean(axis=0)
        )  # the first one is off by rounding of sums
        distinct, combined = _find_combinations(complete, mean, distinct, eps, noise)
        for j, (sources, factors) in dependent.items():
            dependent[j] = combined.get(int(sources[0]), (sources, factors))
            noise[j] = noise[sources[0]]
        dependent |= combined
    return _build_span(np.array(distinct, np.int64), dependent, mean), noise


def _find_combinations(
    rows: np.ndarray, mean: np.ndarray, columns: list[int], eps: float, noise: np.ndarray
) -> tuple[list[int], dict[int, tuple[np.ndarray, np.ndarray]]]:
    """Return the kept columns, and combinations for the others; write rounding deviations into ``noise``."""
    n, steps, deviations = len(rows), _grid_steps(rows, eps), rows.std(axis=0)
    constant = [j for j in columns if not deviations[j]]  # that they vary rows with missing cells alone show
    columns = [j for j in columns if deviations[j]]
    scaled = (rows[:, columns] - mean[columns]) / (deviations[columns] * np.sqrt(n))
    combined = dict[int, tuple[np.ndarray, np.ndarray]]()
    if _are_independent(np.asarray(np.linalg.qr(scaled, mode="r")), steps[columns], deviations[columns]):
        return sorted([*constant, *columns]), combined
    basis, roots, independent = np.empty((len(columns), n)), np.zeros((len(columns),) * 2), list[int]()
    for i, j in enumerate(columns):
        directions, coefficients = basis[: len(independent)], np.zeros(len(independent))
        residual = scaled[:, i].copy()
        for _ in range(2):
            along = directions @ residual
            residual -= along @ directions
            coefficients += along
        size = float(np.linalg.norm(residual))
        if size < _MAX_RESIDUAL:
            weights = (
                solve_triangular(roots[: len(independent), : len(independent)], coefficients)
                * deviations[j]
                / deviations[independent]
            )
            noise[j] = _max_rounding(steps[j], steps[independent], deviations[j], weights)
            if size * deviations[j] <= noise[j]:
                sources = np.flatnonzero(np.abs(weights) * deviations[independent] > _MIN_CONTRIBUTION * noise[j])
                combined[j] = np.array(independent)[sources], weights[sources]
                continue
        roots[: len(independent), len(independent)], roots[len(independent), len(independent)] = coefficients, size
        basis[len(independent)] = residual / size
        independent.append(j)
    return sorted([*constant, *independent]), combined


def _are_independent(root: np.ndarray, steps: np.ndarray, deviations: np.ndarray) -> bool:
    """Return True if each column varies beyond those before it by more than its rounding, by the root of correlations."""
    sizes = np.abs(np.diag(root))
    if sizes.min(initial=1.0) <= _EXACT_TOLERANCE:
        return False
    inverse = solve_triangular(root, np.eye(len(root)))
    weights = np.triu(inverse * np.diag(root), 1) * deviations / deviations[:, None]
    noise = [
        _max_rounding(step, steps, deviation, column_weights)
        for step, deviation, column_weights in zip(steps, deviations, weights.T, strict=True)
    ]
    return bool((sizes * deviations > noise)[sizes < _MAX_RESIDUAL].all())


def _max_rounding(step: float, steps: np.ndarray, deviation: float, weights: np.ndarray) -> float:
    """Return the largest deviation that rounding can leave of a column, given others with weights."""
    variance = (step**2 + float(np.square(weights * steps).sum())) / 12
    return float(np.sqrt(_ROUNDING_FACTOR * variance) + _EXACT_TOLERANCE * deviation)


def _grid_steps(rows: np.ndarray, eps: float) -> np.ndarray:
    """Return the grid step of each column: of decimals, or of floats."""
    sizes, deviations = np.abs(rows).max(axis=0), rows.std(axis=0)
    steps, is_unknown = eps * sizes, np.ones(rows.shape[1], bool)
    is_unknown &= (rows != np.rint(rows)).any(axis=0)  # whole numbers are counts or codes
    for decimals in _DECIMALS:
        if not is_unknown.any():
            break
        scaled = rows[:, is_unknown] * 10.0**decimals
        is_decimal = (np.abs(scaled - np.rint(scaled)) <= 4 * eps * np.abs(scaled)).all(axis=0)
        fits = np.flatnonzero(is_unknown)[is_decimal]
        is_unknown[fits] = False
        rounded_columns = fits[deviations[fits] > _MIN_STEPS * 10.0**-decimals]
        steps[rounded_columns] = np.maximum(steps[rounded_columns], 10.0**-decimals)
    return steps


def _is_copy(weights: sparse.csr_array) -> np.ndarray:
    """Return which rows of weights have a single entry, of one."""
    return np.asarray((np.diff(weights.indptr) == 1) & (weights @ np.ones(weights.shape[1]) == 1))


def _find_deviations(blocks: Blocks, part: int, span: ColumnSpan, noise: np.ndarray) -> np.ndarray:
    """Return which dependent columns deviate from the span on some row."""
    left_out = span.dependent_columns
    weights = span.weights[left_out]
    is_exact = _is_copy(weights) | (np.diff(weights.indptr) == 0)
    limit, deviates = np.where(is_exact, 0.0, _MAX_DEVIATIONS * noise[left_out]), np.zeros(len(left_out), bool)
    for block in blocks:
        table = dense_table(block[part])
        cells, expected = table[:, left_out], span.offset[left_out] + (weights @ table[:, span.kept].T).T
        deviates |= ((np.abs(cells - expected) > limit) | (np.isnan(expected) & ~np.isnan(cells))).any(axis=0)
    return deviates
