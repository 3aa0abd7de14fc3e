"""Columns that carry something of their own: constants, copies and linear combinations of others are left out of a fit.

Along such a column rows do not vary, or vary by what was rounded away, and a density there is as large as one likes: the
likelihood of a model would be that of its rounding. All of these are one thing, an affine map of other columns,

    x_j = o_j + sum_k W_jk x_k        over the columns k that are kept,

up to rounding: that of the numbers themselves, or that of decimals where all entries of a column have few of them. Of columns
that hang on each other the first ones are kept. Candidates are found in a sample and checked on all rows. Where cells are
missing, a column is left out if its cells are what the map says, and are missing where the map says nothing.
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

_MOST = 1000  # columns of which linear combinations are looked for; of more, constants and copies, in dense tables
_DECIMALS = range(1, 9)
_COARSE = (
    16.0  # steps in a standard deviation, below which a column is taken for counts or codes and not for rounded numbers
)
_ROUNDED = 4.0  # times the variance of what rounding leaves
_EXACT = 1e-9  # of a column's standard deviation
_EXACT_OF_SUMS = 1e-6  # the same where it is read off sums of products, which have lost half of the digits
_EXTREME = 12.0  # standard deviations of what is rounded away, in the worst of all rows
_DEPENDENT = 0.5  # of a column's deviation that others leave of it, below which it may be their combination
_COUNTS = 0.1  # of what is rounded away, up to which what a column adds to a combination is nothing
_SHOWN = 3


@dataclass(frozen=True)
class ColumnSpan:
    """Which columns are kept, and how all columns hang on them.

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
    def whole(cls, width: int) -> ColumnSpan:
        """All columns."""
        return cls(np.arange(width), sparse.csr_array(sparse.eye_array(width)), np.zeros(width))

    @classmethod
    def of_kept(cls, kept: np.ndarray, weights: Any, offset: np.ndarray) -> ColumnSpan:
        """From weights on all columns, of which those that are kept count."""
        own = sparse.csr_array(sparse.csc_array(weights)[:, kept])
        own.sort_indices()
        return cls(np.asarray(kept, np.int64), own, offset)

    def beside(self, other: ColumnSpan) -> ColumnSpan:
        """Of the columns of two tables side by side."""
        weights = sparse.csr_array(sparse.block_diag([self.weights, other.weights], format="csr"))
        offset = np.append(self.offset, other.offset)
        return ColumnSpan(np.append(self.kept, len(self.offset) + other.kept), weights, offset)

    def before(self, width: int) -> ColumnSpan:
        """Of the first columns alone, which hang on no later ones."""
        kept = self.kept[self.kept < width]
        return ColumnSpan(kept, self.weights[:width, : len(kept)], self.offset[:width])

    def with_columns(self, added: np.ndarray) -> ColumnSpan | None:
        """With some more columns kept; None if these are all then."""
        width, kept = len(self.offset), np.sort(np.append(self.kept, added))
        if len(kept) == width:
            return None
        weights, offset = sparse.lil_array((width, width)), self.offset.copy()
        weights[:, self.kept] = self.weights
        weights[added] = 0.0
        weights[added, added] = 1.0
        offset[added] = 0.0
        return ColumnSpan.of_kept(kept, weights, offset)

    @property
    def left_out(self) -> np.ndarray:
        """Columns that are not kept."""
        return np.setdiff1d(np.arange(len(self.offset)), self.kept)

    def reduce(self, blocks: Blocks, part: int = 0) -> Blocks:
        """The rows without the columns that are left out of one of their parts."""
        shapes = [(blocks.n_rows, len(self.kept) if i == part else own[1]) for i, own in enumerate(blocks.shapes)]

        def reduced(block: Block) -> list[Any]:
            return [self.select(table) if i == part else table for i, table in enumerate(block)]

        return blocks.map(reduced, shapes)

    def select(self, table: Any) -> Any:
        """The columns of a table that are kept."""
        return select_columns(table, self.kept)

    def points(self, points: np.ndarray) -> np.ndarray:
        """Points (..., r) in the kept columns, in all columns."""
        return self.offset + self.directions(points)

    def directions(self, directions: np.ndarray, axis: int = -1) -> np.ndarray:
        """Directions in the kept columns, in all columns."""
        return _mapped(self.weights, directions, axis)

    def variances(self, variances: np.ndarray) -> np.ndarray:
        """Variances (..., r) of kept columns that are independent, as those of all columns."""
        return _mapped(self.weights.power(2), variances, -1)

    def covariances(self, covariances: np.ndarray) -> np.ndarray:
        """Covariances (..., r, r) of the kept columns, as those of all columns."""
        return self.directions(self.directions(covariances), axis=-2)

    def coefficients(self, coefficients: np.ndarray, axis: int = -1) -> np.ndarray:
        """Factors of the kept columns, as those of all columns: zero for the others."""
        found = np.zeros((*np.delete(coefficients.shape, axis), len(self.offset)))
        found[..., self.kept] = np.moveaxis(coefficients, axis, -1)
        return np.moveaxis(found, -1, axis)

    def tell(self, names: Sequence[str] | None = None, table: str = "", entries: bool = True) -> None:
        """Warn of the columns that are left out, and say whether the model has entries of them."""
        said = []
        for j in self.left_out[:_SHOWN]:
            own = self.weights[[j]]
            sources = own.indices
            named = [str(names[i]) if names is not None else str(i) for i in (j, *self.kept[sources])]
            copy = len(sources) == 1 and own.data[0] == 1 and self.offset[j] == 0
            what = "constant" if not len(sources) else "a copy of column {}" if copy else "a combination of others"
            said.append(f"column {named[0]} ({what.format(named[-1])})")
        more = f" and {len(self.left_out) - _SHOWN} more" if len(self.left_out) > _SHOWN else ""
        warn(
            f"Left out{table and f' of {table}'}, as they say nothing of their own: {', '.join(said)}{more}. The model is "
            f"that of the other {len(self.kept)} columns{', and gives all of them their entries' if entries else ''}.",
            DroppedDataWarning,
        )


def span_of(blocks: Blocks, part: int = 0, more: Sequence[Blocks] = ()) -> ColumnSpan | None:
    """Find the columns that are to be kept; None where these are all, or none.

    Parameters
    ----------
    blocks : Blocks
        Rows, of which a sample is read, and all where columns of it seem to hang on others.
    part : int, default=0
        The part of the blocks.
    more : sequence of Blocks
        Other rows of the same columns, which must be like these.

    Returns
    -------
    ColumnSpan or None
    """
    sample = _sample(blocks, part)
    return None if sample is None else _checked(*_span_of_rows(*sample), part, (blocks, *more))


def span_without_constants(blocks: Blocks, part: int = 0) -> ColumnSpan | None:
    """Find the columns that are not constant, or zero; None where these are all, or none."""
    sample = _sample(blocks, part)
    if sample is None:
        return None
    low, high = np.fmin.reduce(sample[0]), np.fmax.reduce(sample[0])
    kept = np.flatnonzero(~((low == high) & (low != 0)))
    return _checked(_span(kept, {}, np.where(low == high, low, 0.0)), np.zeros(len(low)), part, (blocks,))


def span_of_moments(mean: np.ndarray, covariance: np.ndarray) -> ColumnSpan | None:
    """Find the same from moments of rows, which show what columns hang on others to half of their digits.

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
    kept, weights = list[int](), dict[int, tuple[np.ndarray, np.ndarray]]()
    for j in np.flatnonzero(deviations):
        beside = np.array([mean[kept] - mean[j], deviations[kept] - deviations[j]])
        alike = (1 - correlation[j, kept] <= _EXACT_OF_SUMS**2) & (
            np.abs(beside) <= _EXACT_OF_SUMS * deviations[j]
        ).all(axis=0)
        found = np.linalg.lstsq(correlation[np.ix_(kept, kept)], correlation[kept, j], rcond=None)[0]
        if alike.any():
            weights[int(j)] = np.array(kept)[alike][:1], np.ones(1)
        elif kept and 1 - correlation[j, kept] @ found <= _EXACT_OF_SUMS**2:
            weights[int(j)] = np.array(kept), found * deviations[j] / deviations[kept]
        else:
            kept.append(int(j))
    return _span(np.array(kept, np.int64), weights, mean) if 0 < len(kept) < len(mean) else None


def select_columns(table: Any, columns: np.ndarray) -> Any:
    """Return some columns of a table, dense or sparse; rows of dense ones stay in one piece."""
    return table[:, columns] if sparse.issparse(table) else np.take(table, columns, axis=1)


def _mapped(weights: Any, values: np.ndarray, axis: int) -> np.ndarray:
    """Return the values with weights applied along an axis."""
    leading = np.moveaxis(values, axis, 0)
    product = np.asarray(weights @ leading.reshape(len(leading), -1))
    return np.moveaxis(product.reshape(-1, *leading.shape[1:]), 0, axis)


def _span(kept: np.ndarray, others: dict[int, tuple[np.ndarray, np.ndarray]], mean: np.ndarray) -> ColumnSpan | None:
    """Return the span in which other columns have sources and weights among the kept ones; None if all or none are kept."""
    width = len(mean)
    if not 0 < len(kept) < width:
        return None
    rows = np.concatenate([kept, *(np.full(len(sources), j) for j, (sources, _) in others.items())])
    columns = np.concatenate([kept, *(sources for sources, _ in others.values())])
    values = np.concatenate([np.ones(len(kept)), *(own for _, own in others.values())])
    weights = sparse.csr_array((values, (rows, columns)), (width, width))
    offset = mean - weights @ mean
    span = ColumnSpan.of_kept(kept, weights, offset)
    offset[_is_copy(span.weights)] = 0.0
    return span


def _sample(blocks: Blocks, part: int) -> tuple[np.ndarray, float] | None:
    """Return some rows, and the precision of their numbers; None where squares are out of range, or rows wide and sparse."""
    table = sample_rows(blocks)[part]
    if sparse.issparse(table) and table.shape[1] > _MOST:
        return None
    rows = dense_table(table)
    eps = np.finfo(np.float32).eps if table.dtype == np.float32 else np.finfo(np.float64).eps
    return None if not len(rows) or (np.abs(rows) > LARGEST).any() else (rows, float(eps))


def _checked(span: ColumnSpan | None, noise: np.ndarray, part: int, tables: Sequence[Blocks]) -> ColumnSpan | None:
    """Return the span, with columns kept that are not what it says on all rows."""
    while span is not None:
        wrong = np.any([_differ(own, part, span, noise) for own in tables], axis=0)
        if not wrong.any():
            return span
        span = span.with_columns(span.left_out[wrong])
    return None


def _span_of_rows(rows: np.ndarray, eps: float) -> tuple[ColumnSpan | None, np.ndarray]:
    """Return the span of a sample, and standard deviations of what is rounded away in each column."""
    low, high, width = np.fmin.reduce(rows), np.fmax.reduce(rows), rows.shape[1]
    kept, noise, others = list[int](), np.zeros(width), dict[int, tuple[np.ndarray, np.ndarray]]()
    copies: dict[bytes, int] = {}
    for j in np.flatnonzero(~(low == high)).tolist():
        source = copies.setdefault(rows[:, j].tobytes(), j)
        if source == j:
            kept.append(j)
        else:
            others[j] = np.array([source]), np.ones(1)
    whole = rows[~np.isnan(rows).any(axis=1)]
    mean = low.copy()
    if width <= _MOST and len(whole) > 2 * len(kept) + 8:
        mean = np.where(low == high, low, whole.mean(axis=0))
        kept, combined = _combined(whole, mean, kept, eps, noise)
        for j, (sources, own) in others.items():
            others[j] = combined.get(int(sources[0]), (sources, own))
            noise[j] = noise[sources[0]]
        others |= combined
    return _span(np.array(kept, np.int64), others, mean), noise


def _combined(
    rows: np.ndarray, mean: np.ndarray, columns: list[int], eps: float, noise: np.ndarray
) -> tuple[list[int], dict[int, tuple[np.ndarray, np.ndarray]]]:
    """Return which columns are kept, and the others as combinations of these; write what is rounded away into ``noise``."""
    n, steps, deviations = len(rows), _steps(rows, eps), rows.std(axis=0)
    constant = [j for j in columns if not deviations[j]]  # that they vary rows with missing cells alone show
    columns = [j for j in columns if deviations[j]]
    scaled = (rows[:, columns] - mean[columns]) / (deviations[columns] * np.sqrt(n))
    combined = dict[int, tuple[np.ndarray, np.ndarray]]()
    if _are_independent(np.asarray(np.linalg.qr(scaled, mode="r")), steps[columns], deviations[columns]):
        return sorted([*constant, *columns]), combined
    basis, roots, kept = np.empty((len(columns), n)), np.zeros((len(columns),) * 2), list[int]()
    for i, j in enumerate(columns):
        directions, coefficients = basis[: len(kept)], np.zeros(len(kept))
        residual = scaled[:, i].copy()
        for _ in range(2):
            along = directions @ residual
            residual -= along @ directions
            coefficients += along
        size = float(np.linalg.norm(residual))
        if size < _DEPENDENT:
            weights = solve_triangular(roots[: len(kept), : len(kept)], coefficients) * deviations[j] / deviations[kept]
            noise[j] = _most_noise(steps[j], steps[kept], deviations[j], weights)
            if size * deviations[j] <= noise[j]:
                sources = np.flatnonzero(np.abs(weights) * deviations[kept] > _COUNTS * noise[j])
                combined[j] = np.array(kept)[sources], weights[sources]
                continue
        roots[: len(kept), len(kept)], roots[len(kept), len(kept)] = coefficients, size
        basis[len(kept)] = residual / size
        kept.append(j)
    return sorted([*constant, *kept]), combined


def _are_independent(root: np.ndarray, steps: np.ndarray, deviations: np.ndarray) -> bool:
    """Return True if each column varies beyond those before it by more than its rounding, by the root of correlations."""
    sizes = np.abs(np.diag(root))
    if sizes.min(initial=1.0) <= _EXACT:
        return False
    inverse = solve_triangular(root, np.eye(len(root)))
    weights = np.triu(inverse * np.diag(root), 1) * deviations / deviations[:, None]
    noise = [
        _most_noise(step, steps, own, along) for step, own, along in zip(steps, deviations, weights.T, strict=True)
    ]
    return bool((sizes * deviations > noise)[sizes < _DEPENDENT].all())


def _most_noise(step: float, steps: np.ndarray, deviation: float, weights: np.ndarray) -> float:
    """Standard deviation that rounding leaves of a column at most, given others with weights."""
    variance = (step**2 + float(np.square(weights * steps).sum())) / 12
    return float(np.sqrt(_ROUNDED * variance) + _EXACT * deviation)


def _steps(rows: np.ndarray, eps: float) -> np.ndarray:
    """The step of the grid on which each column's numbers lie: of decimals, or of floats."""
    sizes, deviations = np.abs(rows).max(axis=0), rows.std(axis=0)
    steps, unknown = eps * sizes, np.ones(rows.shape[1], bool)
    unknown &= (rows != np.rint(rows)).any(axis=0)  # whole numbers are counts or codes
    for decimals in _DECIMALS:
        if not unknown.any():
            break
        scaled = rows[:, unknown] * 10.0**decimals
        close = (np.abs(scaled - np.rint(scaled)) <= 4 * eps * np.abs(scaled)).all(axis=0)
        fits = np.flatnonzero(unknown)[close]
        unknown[fits] = False
        fine = fits[deviations[fits] > _COARSE * 10.0**-decimals]
        steps[fine] = np.maximum(steps[fine], 10.0**-decimals)
    return steps


def _is_copy(weights: sparse.csr_array) -> np.ndarray:
    """Return which rows of weights have a single entry, of one."""
    return np.asarray((np.diff(weights.indptr) == 1) & (weights @ np.ones(weights.shape[1]) == 1))


def _differ(blocks: Blocks, part: int, span: ColumnSpan, noise: np.ndarray) -> np.ndarray:
    """Return which of the columns that are left out differ from what the sample says, on all rows."""
    left = span.left_out
    weights = span.weights[left]
    exact = _is_copy(weights) | (np.diff(weights.indptr) == 0)
    limit, wrong = np.where(exact, 0.0, _EXTREME * noise[left]), np.zeros(len(left), bool)
    for block in blocks:
        table = dense_table(block[part])
        cells, expected = table[:, left], span.offset[left] + (weights @ table[:, span.kept].T).T
        wrong |= ((np.abs(cells - expected) > limit) | (np.isnan(expected) & ~np.isnan(cells))).any(axis=0)
    return wrong
