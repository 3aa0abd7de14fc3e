"""Columns that carry something of their own: constants, copies and linear combinations of others are left out of a fit.

Along such a column rows do not vary, or vary by what was rounded away, and a density there is as large as one likes: the
likelihood of a model would be that of its rounding. All of these are one thing, an affine map of other columns,

    x_j = o_j + sum_k W_jk x_k        over the columns k that are kept,

up to rounding: that of the numbers themselves, or that of decimals where all entries of a column have few of them. Of columns
that hang on each other the first ones are kept. Candidates are found in a sample and checked on all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .. import _fields as of
from ..exceptions import DroppedDataWarning, warn
from ..passes import Block, Blocks, sample_rows
from .vectors import dense_table

_MOST = 512  # columns of which linear combinations are looked for
_DECIMALS = range(1, 9)
_COARSE = (
    16.0  # steps in a standard deviation, below which a column is taken for counts or codes and not for rounded numbers
)
_ROUNDED = 4.0  # times the variance of what rounding leaves
_EXACT = 1e-9  # of a column's standard deviation
_EXTREME = 12.0  # standard deviations of what is rounded away, in the worst of all rows
_DEPENDENT = 0.5  # of a column's deviation that others leave of it, below which it may be their combination
_SHOWN = 3


@dataclass(frozen=True)
class ColumnSpan:
    """Which columns are kept, and how all columns hang on them.

    Attributes
    ----------
    kept : ndarray of int, shape (r,)
    weights : ndarray of shape (D, r)
        W; the rows of columns that are kept are those of the identity.
    offset : ndarray of shape (D,)
        o.
    """

    kept: Annotated[np.ndarray, of.places("R")]
    weights: Annotated[np.ndarray, of.numbers("* R")]
    offset: Annotated[np.ndarray, of.numbers("*")]

    @classmethod
    def whole(cls, width: int) -> ColumnSpan:
        """All columns."""
        return cls(np.arange(width), np.eye(width), np.zeros(width))

    def beside(self, other: ColumnSpan) -> ColumnSpan:
        """Of the columns of two tables side by side."""
        width, size = self.weights.shape
        weights = np.zeros((width + len(other.weights), size + len(other.kept)))
        weights[:width, :size], weights[width:, size:] = self.weights, other.weights
        return ColumnSpan(np.append(self.kept, width + other.kept), weights, np.append(self.offset, other.offset))

    def before(self, width: int) -> ColumnSpan:
        """Of the first columns alone, which hang on no later ones."""
        kept = self.kept[self.kept < width]
        return ColumnSpan(kept, self.weights[:width, : len(kept)], self.offset[:width])

    @property
    def left_out(self) -> np.ndarray:
        """Columns that are not kept."""
        return np.setdiff1d(np.arange(len(self.weights)), self.kept)

    def reduce(self, blocks: Blocks, part: int = 0) -> Blocks:
        """The rows without the columns that are left out of one of their parts."""
        shapes = [(blocks.n_rows, len(self.kept) if i == part else own[1]) for i, own in enumerate(blocks.shapes)]

        def reduced(block: Block) -> list[Any]:
            return [self.select(table) if i == part else table for i, table in enumerate(block)]

        return blocks.map(reduced, shapes)

    def select(self, table: Any) -> Any:
        """The columns of a table that are kept."""
        return table[:, self.kept]

    def points(self, points: np.ndarray) -> np.ndarray:
        """Points (..., r) in the kept columns, in all columns."""
        return self.offset + points @ self.weights.T

    def directions(self, directions: np.ndarray, axis: int = -1) -> np.ndarray:
        """Directions in the kept columns, in all columns."""
        return np.moveaxis(np.moveaxis(directions, axis, -1) @ self.weights.T, -1, axis)

    def covariances(self, covariances: np.ndarray) -> np.ndarray:
        """Covariances (..., r, r) of the kept columns, as those of all columns."""
        return np.asarray(self.weights @ covariances @ self.weights.T)

    def coefficients(self, coefficients: np.ndarray, axis: int = -1) -> np.ndarray:
        """Factors of the kept columns, as those of all columns: zero for the others."""
        found = np.zeros((*np.delete(coefficients.shape, axis), len(self.weights)))
        found[..., self.kept] = np.moveaxis(coefficients, axis, -1)
        return np.moveaxis(found, -1, axis)

    def tell(self, names: Sequence[str] | None = None, table: str = "") -> None:
        """Warn of the columns that are left out."""
        said = []
        for j in self.left_out[:_SHOWN]:
            sources = np.flatnonzero(self.weights[j])
            named = [str(names[i]) if names is not None else str(i) for i in (j, *self.kept[sources])]
            copy = len(sources) == 1 and self.weights[j, sources[0]] == 1 and self.offset[j] == 0
            what = "constant" if not len(sources) else "a copy of column {}" if copy else "a combination of others"
            said.append(f"column {named[0]} ({what.format(named[-1])})")
        more = f" and {len(self.left_out) - _SHOWN} more" if len(self.left_out) > _SHOWN else ""
        warn(
            f"Left out{table and f' of {table}'}, as they say nothing of their own: {', '.join(said)}{more}. The model is "
            f"that of the other {len(self.kept)} columns, and gives all of them their entries.",
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
    if blocks.shapes[part][1] > _MOST:
        return None
    sample = sample_rows(blocks)[part]
    single = np.finfo(np.float32).eps if sample.dtype == np.float32 else np.finfo(np.float64).eps
    rows = dense_table(sample)
    if not np.isfinite(rows).all():
        return None
    span, noise = _span_of_rows(rows, float(single))
    while span is not None and len(span.kept):
        wrong = np.any([_differ(own, part, span, noise) for own in (blocks, *more)], axis=0)
        if not wrong.any():
            return span
        span = _with_columns(span, wrong)
    return None


def _span_of_rows(rows: np.ndarray, eps: float) -> tuple[ColumnSpan | None, np.ndarray]:
    """The span of a sample, and standard deviations of what is rounded away in each column."""
    n, width = rows.shape
    mean, steps = rows.mean(axis=0), _steps(rows, eps)
    deviations = np.where(np.ptp(rows, axis=0) > 0, rows.std(axis=0), 0.0)
    varying = np.flatnonzero(deviations)
    basis, kept, noise = np.empty((n, 0)), list[int](), np.zeros(width)
    weights = np.zeros((width, width))
    enough = n > 2 * len(varying) + 8
    copies: dict[bytes, int] = {}
    for j in varying:
        key = rows[:, j].tobytes()
        if key in copies:
            weights[j, copies[key]] = 1.0
            continue
        column = (rows[:, j] - mean[j]) / (deviations[j] * np.sqrt(n))
        left = column - basis @ (basis.T @ column)
        left -= basis @ (basis.T @ left)
        size = float(np.linalg.norm(left))
        if enough and size < _DEPENDENT:
            found = np.linalg.lstsq(rows[:, kept] - mean[kept], rows[:, j] - mean[j], rcond=None)[0]
            noise[j] = _most_noise(steps[j], steps[kept], deviations[j], found)
            if size * deviations[j] <= noise[j]:
                weights[j, kept] = found
                continue
        copies[key] = int(j)
        kept.append(int(j))
        weights[j, j] = 1.0
        basis = np.column_stack([basis, left / size])
    if len(kept) == width:
        return None, noise
    weights = weights[:, kept]
    offset = np.where(deviations > 0, mean - weights @ mean[kept], rows[0])
    offset[_is_copy(weights)] = 0.0
    return ColumnSpan(np.array(kept, np.int64), weights, offset), noise


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


def _is_copy(weights: np.ndarray) -> np.ndarray:
    return np.asarray(((weights != 0).sum(axis=1) == 1) & ((weights == 1).sum(axis=1) == 1))


def _differ(blocks: Blocks, part: int, span: ColumnSpan, noise: np.ndarray) -> np.ndarray:
    """Which of the columns that are left out are not what the sample says, on all rows."""
    left, worst = span.left_out, np.zeros(len(span.left_out))
    for block in blocks:
        table = dense_table(block[part])
        if len(table):
            said = span.offset[left] + table[:, span.kept] @ span.weights[left].T
            worst = np.maximum(worst, np.abs(table[:, left] - said).max(axis=0))
    exact = _is_copy(span.weights[left]) | ~span.weights[left].any(axis=1)
    return np.asarray(worst > np.where(exact, 0.0, _EXTREME * noise[left]))


def _with_columns(span: ColumnSpan, wrong: np.ndarray) -> ColumnSpan | None:
    """The span with some more columns kept."""
    added = span.left_out[wrong]
    kept = np.sort(np.append(span.kept, added))
    if len(kept) == len(span.weights):
        return None
    weights = np.zeros((len(span.weights), len(kept)))
    weights[:, np.searchsorted(kept, span.kept)] = span.weights
    weights[added] = 0.0
    weights[added, np.searchsorted(kept, added)] = 1.0
    offset = span.offset.copy()
    offset[added] = 0.0
    return ColumnSpan(kept, weights, offset)
