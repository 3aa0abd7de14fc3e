"""Sums of all moments of rows up to the third or fourth, in a frame: a center and a scale of each column.

Numbers are summed about the center and in the scale, so that powers of them keep their digits:

    y = ((x - c) / s, 1),      sums over rows of y^(x 3), or of y^(x 4),

and the sums about another center are a linear map of these. The frame is that of the first rows and stays: their medians, and
what nine tenths of them say of their spread, on a grid, so that it says little of single rows and a row far out cannot stretch
it. Rows within 64 scales are summed by matrix products. Those beyond are rare, and are added one by one in twice the precision,
in which the sums are kept: rows up to two million scales out can be forgotten again and leave nothing. Rows further out are
refused when they come. What is read off the sums is moved to the mean and the standard deviation of what is there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np

from .. import _fields as of
from ..exceptions import LatentiaError
from ..passes import Block, Blocks, Folds, accumulate, sample_rows
from ..passes.cluster import merged
from ..system.threads import Parallel
from ..tensor import apply_to_modes
from ..tensor.operators import SymmetricFour
from . import twofold
from .fourth import FourthMoments, moved_pairs
from .products import mirror_cube, mirror_gram
from .span import ColumnSpan, span_of_moments
from .twofold import Twofold
from .vectors import ColumnMoments, Coordinates, VectorMoments, column_moments, dense_table

_GRID = 8  # steps of the center in a scale
_SETTLED = 64  # rows from which on a frame stays
_NEAR = 64.0  # scales within which rows are summed by matrix products
FARTHEST = 2.0**21  # scales beyond which a row is refused
_MANY = 0.1  # of the rows that may be far before they are summed in a frame of their own
_ROUNDING = 1e-6  # of a size; a spread below its square, of a center, is none
_OFF = 4.0  # scales from the mean, or times the deviation, by which a frame may be off where numbers are read


@dataclass(frozen=True)
class FramedSums:
    """Sums of all moments up to the third or fourth, of four groups of rows.

    Attributes
    ----------
    center, scale : ndarray of shape (D,)
    sums : ndarray of shape (4, D + 1, D + 1, D + 1) or (4, P, P)
        Sums of y^(x 3); or of products of pairs y_i y_j, i <= j, as in `latentia.moments.FourthMoments`.
    rest : ndarray of the same shape
        What ``sums`` rounds away.
    """

    center: Annotated[np.ndarray, of.numbers("Q")]
    scale: Annotated[np.ndarray, of.numbers("Q", of.MIN_MAGNITUDE)]
    sums: Annotated[np.ndarray, of.numbers("...")]
    rest: Annotated[np.ndarray, of.numbers("...")]

    @classmethod
    def of_blocks(
        cls, blocks: Blocks, order: int, folds: Folds, like: Self | None = None, farthest: float = FARTHEST,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Of the rows of the first part, in the frame of others where these are given and near: one pass, or two."""
        center, scale, reach = _frame_of(blocks, like, farthest, options)
        coordinates = Coordinates(center, np.diag(1 / scale))
        statistic = FourthMoments(coordinates, folds) if order == 4 else VectorMoments(coordinates, folds)
        state, rows, groups = accumulate(blocks, _NearRows(statistic, reach * scale), **options)
        near = [mirror_gram(gram) for gram in state] if order == 4 else [mirror_cube(cube) for cube in state[0]]
        sums = np.array(near)
        found = cls(center, scale, sums, np.zeros_like(sums))
        rows = np.vstack(rows)
        if like is not None and like.n_rows >= _SETTLED:
            like._check_reach(rows, farthest)
        elif len(rows) < blocks.n_rows:
            found._check_reach(rows, farthest)
        found._add_far(rows, np.concatenate(groups))
        return found

    @property
    def n_rows(self) -> int:
        return round(float(self.sums.sum(axis=0).ravel()[-1]))

    @property
    def n_bytes(self) -> int:
        return self.sums.nbytes + self.rest.nbytes

    @cached_property
    def columns(self) -> ColumnMoments:
        """Means and variances."""
        n, (first, second) = self.n_rows, self._first_and_second
        none, about = np.zeros_like(first[0]), first[0] / n
        # sum (y - a)^2 = sum y^2 - 2 a sum y + n a^2, and what the mean is beside a.
        square = twofold.add(second, twofold.multiply(first, (-2 * about, none)))
        square = twofold.add(square, twofold.multiply(twofold.multiply_floats(about, about), (none + n, none)))
        beside = twofold.add(first, twofold.multiply_floats(-about, none + n))[0] / n
        variance = np.maximum(square[0] / n - beside**2, 0.0)
        variance[variance <= 1e-14 * second[0] / n] = 0.0
        return ColumnMoments(n, self.center + self.scale * (about + beside), self.scale**2 * variance)

    @property
    def covariance(self) -> np.ndarray:
        """Of the columns, (D, D)."""
        own = self._at_mean
        second = own._second / own.n_rows
        return np.outer(own.scale, own.scale) * (second[:-1, :-1] - np.outer(second[-1, :-1], second[-1, :-1]))

    @property
    def span(self) -> ColumnSpan | None:
        """The columns that say something of their own; None where these are all, or none."""
        columns, covariance = self.columns, self.covariance
        np.fill_diagonal(covariance, columns.variance)
        return span_of_moments(columns.mean, covariance)

    def select(self, columns: np.ndarray) -> Self:
        """Of some of the columns alone."""
        size, own = len(self.center) + 1, np.append(columns, len(self.center))
        if self.sums.ndim == 3:
            i, j = np.triu_indices(size)
            own = np.flatnonzero(np.isin(i, own) & np.isin(j, own))
        places = np.ix_(np.arange(len(self.sums)), *[own] * (self.sums.ndim - 1))
        return replace(
            self, center=self.center[columns], scale=self.scale[columns], sums=self.sums[places], rest=self.rest[places]
        )

    def vectors(self, n_columns: int) -> tuple[Coordinates, tuple[np.ndarray, ...]]:
        """Principal coordinates, and sums in these as `VectorMoments` has them, from third moments."""
        coordinates, width = self.principal(n_columns), len(self.center)
        cubes = self.within(Coordinates(coordinates.center, np.eye(width)))
        lift = np.zeros((width + 1, coordinates.size))
        lift[:-1, :-1], lift[-1, -1] = coordinates.basis, 1.0
        energy = np.einsum("gaab->gb", cubes[:, :-1, :-1]) @ lift
        moved = np.array([apply_to_modes(cube, lift) for cube in cubes])
        return coordinates, (moved, energy, cubes[:, :-1, :, -1] @ lift)

    def principal(self, n_columns: int, slack: float = 2.0) -> Coordinates:
        """About the mean, the leading principal directions; with at most ``slack`` times as many columns all of them."""
        center, width = self.columns.mean, len(self.center)
        if width <= slack * n_columns:
            return Coordinates(center, np.eye(width))
        return Coordinates(center, np.linalg.eigh(self.covariance)[1][:, ::-1][:, :n_columns])

    def plus(self, other: Self, sign: int = 1) -> Self:
        _check_left(self.n_rows + sign * other.n_rows)
        first = self
        if sign > 0 and self.n_rows < _SETTLED <= other.n_rows:
            first = self.about(other.center, other.scale)
        second = other.about(first.center, first.scale)
        sums, rest = twofold.add_tables((first.sums, first.rest), (second.sums, second.rest), sign)
        total = replace(first, sums=sums, rest=rest)
        if sign > 0 and max(self.n_rows, other.n_rows) < _SETTLED:
            return total.about(*_grid_of(total.columns.mean, total.columns.variance))
        return total

    def within(self, coordinates: Coordinates) -> np.ndarray:
        """The sums in other coordinates (B^T (x - c), 1)."""
        own = self._at_mean
        basis = own.scale[:, None] * coordinates.basis
        shift = (own.center - coordinates.center) @ coordinates.basis
        if own.sums.ndim == 4:
            matrix = np.zeros((len(basis) + 1, len(shift) + 1))
            matrix[:-1, :-1], matrix[-1, :-1], matrix[-1, -1] = basis, shift, 1.0
            return np.array([apply_to_modes(cube, matrix) for cube in own.sums])
        factors = np.diag(basis)
        if basis.shape[0] == basis.shape[1] and not (basis - np.diag(factors)).any():
            return np.array([moved_pairs(gram, factors, shift) for gram in own.sums])
        matrix = np.vstack([np.column_stack([basis, np.zeros(len(basis))]), np.append(shift, 1.0)])
        return np.array([SymmetricFour(gram, len(matrix)).project(matrix).packed for gram in own.sums])

    def about(self, center: np.ndarray, scale: np.ndarray) -> Self:
        """The sums in another frame, in twice the precision."""
        if np.array_equal(center, self.center) and np.array_equal(scale, self.scale):
            return self
        shift, shift_low = (part / scale for part in twofold.add_floats(self.center, -center))
        factors = self.scale / scale  # powers of two, as all scales are
        moved = self._moved_cubes if self.sums.ndim == 4 else self._moved_pairs
        sums, rest = moved(np.append(factors, 1.0), (np.append(shift, 0.0), np.append(shift_low, 0.0)))
        return replace(self, center=center, scale=scale, sums=sums, rest=rest)

    def _moved_cubes(self, factors: np.ndarray, shift: Twofold) -> Twofold:
        """Sums of products of (f y + h, 1)."""
        size = len(factors)
        places = np.column_stack([np.arange(size), np.full(size, size - 1)])
        weights = np.column_stack([factors, shift[0]]), np.column_stack([np.zeros(size), shift[1]])
        sums, rest = np.empty_like(self.sums), np.empty_like(self.rest)
        for g, (cube, low) in enumerate(zip(self.sums, self.rest, strict=True)):
            for _ in range(3):  # each turn maps the first mode, and makes it the last one
                flat = [np.ascontiguousarray(part).reshape(size, -1) for part in (cube, low)]
                mapped = twofold.combine_rows(flat[0], flat[1], places, weights[0], weights[1])
                cube, low = (part.reshape(cube.shape).transpose(1, 2, 0) for part in mapped)
            sums[g], rest[g] = cube, low
        return sums, rest

    def _moved_pairs(self, factors: np.ndarray, shift: Twofold) -> Twofold:
        """Sums of products of pairs (f_i y_i + h_i) (f_j y_j + h_j)."""
        size = len(factors)
        i, j = np.triu_indices(size)
        alone = np.flatnonzero(j == size - 1)  # places of the pairs (y_i, 1)
        f, h = (factors, np.zeros(size)), shift
        terms = [
            twofold.multiply((left[0][one], left[1][one]), (right[0][two], right[1][two]))
            for left, one, right, two in ((f, i, f, j), (h, i, f, j), (f, i, h, j), (h, i, h, j))
        ]
        places = np.column_stack([np.arange(len(i)), alone[j], alone[i], np.full(len(i), len(i) - 1)])
        weights = [np.column_stack([term[part] for term in terms]) for part in (0, 1)]
        sums, rest = np.empty_like(self.sums), np.empty_like(self.rest)
        for g, (gram, low) in enumerate(zip(self.sums, self.rest, strict=True)):
            for _ in range(2):
                mapped = twofold.combine_rows(gram, low, places, weights[0], weights[1])
                gram, low = (np.ascontiguousarray(part.T) for part in mapped)
            sums[g], rest[g] = gram, low
        return sums, rest

    @cached_property
    def _at_mean(self) -> Self:
        """The same where numbers are read: in a frame that is not far from the mean and the deviation of what is there."""
        columns = self.columns
        center, scale = _grid_of(columns.mean, columns.variance)
        varies = columns.variance > 0
        off = np.abs(columns.mean - self.center) > _OFF * scale
        off |= varies & (np.abs(np.log2(self.scale / scale)) > np.log2(_OFF))
        return self.about(center, scale) if (off & varies).any() else self

    @property
    def _first_and_second(self) -> tuple[Twofold, Twofold]:
        """Sums over all rows of y, and of y^2, both of shape (D,)."""
        size = len(self.center) + 1
        if self.sums.ndim == 4:
            of_constant = [np.asarray(part[..., -1]) for part in (self.sums, self.rest)]
            first, second = [part[:, -1] for part in of_constant], [np.einsum("gii->gi", part) for part in of_constant]
        else:
            i, j = np.triu_indices(size)
            of_constant = [part[:, -1] for part in (self.sums, self.rest)]
            first, second = ([part[:, which] for part in of_constant] for which in (j == size - 1, i == j))
        one, other = (twofold.sum_of_rows(*numbers) for numbers in (first, second))
        return (one[0][:-1], one[1][:-1]), (other[0][:-1], other[1][:-1])

    @property
    def _second(self) -> np.ndarray:
        """Sum over all rows of y y^T."""
        total = self.sums.sum(axis=0)
        if total.ndim == 3:
            return np.asarray(total[..., -1])
        second, (i, j) = np.empty((len(self.center) + 1,) * 2), np.triu_indices(len(self.center) + 1)
        second[i, j] = second[j, i] = total[-1]  # the last pair is (1, 1)
        return second

    def _check_reach(self, rows: np.ndarray, farthest: float) -> None:
        """Raise for a row so far out that it could not be forgotten without a trace."""
        if not len(rows):
            return
        distances = np.abs(rows - self.center) / self.scale
        # Columns without digits to lose, and rows no further out than some that are there, as are all that may be forgotten.
        there = (1 + _ROUNDING) * np.sqrt(self._first_and_second[1][0])
        distances[(distances <= there) | (self.columns.variance == 0)] = 0.0
        row, column = np.unravel_index(int(np.argmax(distances)), distances.shape)
        if distances[row, column] > farthest:
            raise LatentiaError(
                f"Column {column} has an entry of {rows[row, column]:.6g}, {distances[row, column]:.1g} times its spread "
                f"({self.scale[column]:.2g}) from its center ({self.center[column]:.6g}): beyond {farthest:.1g} times kept "
                "sums lose the digits of other rows, and such a row could not be forgotten again. Drop or clip it, take the "
                "logarithm of the column, or fit without keep_moments."
            )

    def _add_far(self, rows: np.ndarray, groups: np.ndarray) -> None:
        """Add rows one by one, in place."""
        size = len(self.center) + 1
        i, j = np.triu_indices(size) if self.sums.ndim == 3 else (part.ravel() for part in np.indices((size, size)))
        for row, group in zip(rows, groups, strict=True):
            y, low = (np.append(part / self.scale, 0.0) for part in twofold.add_floats(row, -self.center))
            y[-1] = 1.0
            pairs = twofold.multiply((y[i], low[i]), (y[j], low[j]))
            shape = len(i), -1
            sums, rest = self.sums[group].reshape(shape), self.rest[group].reshape(shape)
            other = pairs if self.sums.ndim == 3 else (y, low)
            twofold.add_outer(sums, rest, pairs[0], pairs[1], other[0], other[1])  # type: ignore[call-arg]


class _NearRows:
    """In-place statistic: another one of the rows near to its center, and the others as they are, with their groups.

    Parameters
    ----------
    statistic : FourthMoments or VectorMoments
    reach : ndarray of shape (D,)
        Distances up to which rows are near.
    """

    def __init__(self, statistic: FourthMoments | VectorMoments, reach: np.ndarray) -> None:
        self.statistic, self.reach = statistic, reach

    def zero(self) -> tuple[Any, list[np.ndarray], list[np.ndarray]]:
        return self.statistic.zero(), [np.empty((0, len(self.reach)))], [np.empty(0, np.int8)]

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        near, rows, groups = state
        table = dense_table(block[0])
        is_far = ~(np.abs(table - self.statistic.coordinates.center) < self.reach).all(axis=1)
        if is_far.any():
            rows, groups = [*rows, table[is_far]], [*groups, self.statistic.folds.of(block.rows[is_far])]
            block = Block.of([block[0][~is_far]], block.number, block.start, block.rows[~is_far])
        return self.statistic.add_tasks(near, block, parallel), rows, groups

    def merge(self, first: Any, second: Any) -> Any:
        return merged(self.statistic, first[0], second[0]), first[1] + second[1], first[2] + second[2]


def _frame_of(
    blocks: Blocks, like: FramedSums | None, farthest: float, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, float]:
    """The center, the scale and the reach in which rows are summed: of few rows a reach of 0, so that all are far."""
    if like is not None:
        center, scale = like.center, like.scale
        if like.n_rows >= _SETTLED:
            rows = dense_table(sample_rows(blocks)[0])
            distant = (np.abs(rows - center) > _NEAR * scale).any(axis=1)
            if len(rows) < _SETTLED or distant.mean() <= _MANY:
                return center, scale, _NEAR
            like._check_reach(rows, farthest)
        if blocks.n_rows < _SETTLED:
            return center, scale, 0.0
    columns = column_moments(blocks, **options)
    if blocks.n_rows < _SETTLED:
        return *_grid_of(columns.mean, columns.variance), 0.0
    rows = dense_table(sample_rows(blocks)[0])
    center = np.median(rows, axis=0)
    spread = np.quantile(np.abs(rows - center), 0.9, axis=0) / 1.645
    spread = np.where(spread > 0, spread, np.sqrt(columns.variance))
    return *_grid_of(center, np.where(spread > _ROUNDING**2 * np.abs(center), spread, 0.0) ** 2), _NEAR


def _grid_of(center: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A center and a scale of columns, on a grid."""
    deviations = np.sqrt(np.where(variance > 0, variance, 1.0))
    scale = np.exp2(np.rint(np.log2(deviations)))
    return np.rint(center / scale * _GRID) * scale / _GRID, scale


def _check_left(n: int) -> None:
    if n < 1:
        raise LatentiaError("No row would be left.")
