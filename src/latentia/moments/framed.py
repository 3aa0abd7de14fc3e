"""Sums of all moments of rows up to the third or fourth, in a frame: a centre and a scale of each column.

Numbers are summed about the center and in the scale, so that powers of them keep their digits:

    y = ((x - c) / s, 1),      sums over rows of y^(x 3), or of y^(x 4),

and the sums about another centre are a linear map of these. The first rows choose the frame, and it stays: their medians and
the spread of nine tenths of them, rounded to a grid, so that it reveals little of single rows and outliers cannot stretch it.
Rows within 64 scales are summed by matrix products. Those beyond are rare, and are added one by one in twice the precision of
floats, in which the sums are kept: rows up to two million scales out can be forgotten again without a trace. Rows further out
are refused. Results are read off after moving the sums to the mean and the standard deviation of the present rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np

from .. import _fields as of
from ..exceptions import LatentiaError
from ..passes import Block, Blocks, Folds, accumulate, sample_rows
from ..passes.cluster import merge_sums
from ..system.threads import Parallel
from ..tensor import apply_to_modes
from ..tensor.operators import SymmetricFour
from . import twofold
from .fourth import FourthMoments, move_pairs
from .products import mirror_cube, mirror_gram
from .span import ColumnSpan, span_of_moments
from .twofold import Twofold
from .vectors import ColumnMoments, Coordinates, VectorMoments, column_moments, dense_table

_GRID_STEPS = 8  # steps of the centre per scale
_MIN_FRAME_ROWS = 64  # the frame of at least this many rows is final
_NEAR_SCALES = 64.0  # scales: nearer rows are summed by matrix products
MAX_DISTANCE = 2.0**21  # scales: rows further out are refused
_MAX_FAR_SHARE = 0.1  # share of far rows above which a batch is summed in its own frame
_ROUNDING = 1e-6  # relative rounding; a spread below its square times the centre counts as zero
_MAX_FRAME_ERROR = 4.0  # scales, or factor, by which a frame may differ from mean and deviation


@dataclass(frozen=True)
class FramedSums:
    """Sums of all moments up to the third or fourth, of four folds of rows.

    Attributes
    ----------
    center, scale : ndarray of shape (D,)
    sums : ndarray of shape (4, D + 1, D + 1, D + 1) or (4, P, P)
        Sums of y^(x 3); or of products of pairs y_i y_j, i <= j, as in `latentia.moments.FourthMoments`.
    rest : ndarray of the same shape
        Rounding errors of ``sums``.
    """

    center: Annotated[np.ndarray, of.numbers("Q")]
    scale: Annotated[np.ndarray, of.numbers("Q", of.MIN_MAGNITUDE)]
    sums: Annotated[np.ndarray, of.numbers("...")]
    rest: Annotated[np.ndarray, of.numbers("...")]

    @classmethod
    def from_blocks(
        cls, blocks: Blocks, order: int, folds: Folds, like: Self | None = None, max_distance: float = MAX_DISTANCE,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Sum the rows of the first part, in the frame of ``like`` if it is near: one pass, or two."""
        center, scale, reach = _choose_frame(blocks, like, max_distance, options)
        coordinates = Coordinates(center, np.diag(1 / scale))
        statistic = FourthMoments(coordinates, folds) if order == 4 else VectorMoments(coordinates, folds)
        state, rows, groups = accumulate(blocks, _NearRows(statistic, reach * scale), **options)
        near = [mirror_gram(gram) for gram in state] if order == 4 else [mirror_cube(cube) for cube in state[0]]
        sums = np.array(near)
        framed = cls(center, scale, sums, np.zeros_like(sums))
        rows = np.vstack(rows)
        if like is not None and like.n_rows >= _MIN_FRAME_ROWS:
            like._check_reach(rows, max_distance)
        elif len(rows) < blocks.n_rows:
            framed._check_reach(rows, max_distance)
        framed._add_far(rows, np.concatenate(groups))
        return framed

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
        zeros, approximate_mean = np.zeros_like(first[0]), first[0] / n
        # sum (y - a)^2 = sum y^2 - 2 a sum y + n a^2, and the offset of the mean from a.
        square = twofold.add(second, twofold.multiply(first, (-2 * approximate_mean, zeros)))
        square = twofold.add(
            square, twofold.multiply(twofold.multiply_floats(approximate_mean, approximate_mean), (zeros + n, zeros))
        )
        mean_offset = twofold.add(first, twofold.multiply_floats(-approximate_mean, zeros + n))[0] / n
        variance = np.maximum(square[0] / n - mean_offset**2, 0.0)
        variance[variance <= 1e-14 * second[0] / n] = 0.0
        return ColumnMoments(n, self.center + self.scale * (approximate_mean + mean_offset), self.scale**2 * variance)

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the columns, (D, D)."""
        centred = self._frame_at_mean
        second = centred._second / centred.n_rows
        return np.outer(centred.scale, centred.scale) * (second[:-1, :-1] - np.outer(second[-1, :-1], second[-1, :-1]))

    @property
    def span(self) -> ColumnSpan | None:
        """Informative columns; None if these are all, or none."""
        columns, covariance = self.columns, self.covariance
        np.fill_diagonal(covariance, columns.variance)
        return span_of_moments(columns.mean, covariance)

    def select(self, columns: np.ndarray) -> Self:
        """Return the sums of some columns."""
        size, entries = len(self.center) + 1, np.append(columns, len(self.center))
        if self.sums.ndim == 3:
            i, j = np.triu_indices(size)
            entries = np.flatnonzero(np.isin(i, entries) & np.isin(j, entries))
        places = np.ix_(np.arange(len(self.sums)), *[entries] * (self.sums.ndim - 1))
        return replace(
            self, center=self.center[columns], scale=self.scale[columns], sums=self.sums[places], rest=self.rest[places]
        )

    def vectors(self, n_columns: int) -> tuple[Coordinates, tuple[np.ndarray, ...]]:
        """Return principal coordinates, and sums in them as in `VectorMoments`, from third moments."""
        coordinates, width = self.principal(n_columns), len(self.center)
        cubes = self.to_coordinates(Coordinates(coordinates.center, np.eye(width)))
        lift = np.zeros((width + 1, coordinates.size))
        lift[:-1, :-1], lift[-1, -1] = coordinates.basis, 1.0
        energy = np.einsum("gaab->gb", cubes[:, :-1, :-1]) @ lift
        moved = np.array([apply_to_modes(cube, lift) for cube in cubes])
        return coordinates, (moved, energy, cubes[:, :-1, :, -1] @ lift)

    def principal(self, n_columns: int, slack: float = 2.0) -> Coordinates:
        """Return the leading principal directions about the mean; all, if there are at most ``slack`` times as many columns."""
        center, width = self.columns.mean, len(self.center)
        if width <= slack * n_columns:
            return Coordinates(center, np.eye(width))
        return Coordinates(center, np.linalg.eigh(self.covariance)[1][:, ::-1][:, :n_columns])

    def plus(self, added: Self, sign: int = 1) -> Self:
        _check_remaining(self.n_rows + sign * added.n_rows)
        first = self
        if sign > 0 and self.n_rows < _MIN_FRAME_ROWS <= added.n_rows:
            first = self.change_frame(added.center, added.scale)
        second = added.change_frame(first.center, first.scale)
        sums, rest = twofold.add_tables((first.sums, first.rest), (second.sums, second.rest), sign)
        total = replace(first, sums=sums, rest=rest)
        if sign > 0 and max(self.n_rows, added.n_rows) < _MIN_FRAME_ROWS:
            return total.change_frame(*_round_frame(total.columns.mean, total.columns.variance))
        return total

    def to_coordinates(self, coordinates: Coordinates) -> np.ndarray:
        """Return the sums in other coordinates (B^T (x - c), 1)."""
        centred = self._frame_at_mean
        basis = centred.scale[:, None] * coordinates.basis
        shift = (centred.center - coordinates.center) @ coordinates.basis
        if centred.sums.ndim == 4:
            matrix = np.zeros((len(basis) + 1, len(shift) + 1))
            matrix[:-1, :-1], matrix[-1, :-1], matrix[-1, -1] = basis, shift, 1.0
            return np.array([apply_to_modes(cube, matrix) for cube in centred.sums])
        factors = np.diag(basis)
        if basis.shape[0] == basis.shape[1] and not (basis - np.diag(factors)).any():
            return np.array([move_pairs(gram, factors, shift) for gram in centred.sums])
        matrix = np.vstack([np.column_stack([basis, np.zeros(len(basis))]), np.append(shift, 1.0)])
        return np.array([SymmetricFour(gram, len(matrix)).project(matrix).packed for gram in centred.sums])

    def change_frame(self, center: np.ndarray, scale: np.ndarray) -> Self:
        """Return the sums in another frame, in twice the precision."""
        if np.array_equal(center, self.center) and np.array_equal(scale, self.scale):
            return self
        shift, shift_low = (part / scale for part in twofold.add_floats(self.center, -center))
        factors = self.scale / scale  # powers of two, as all scales are
        moved = self._move_cubes if self.sums.ndim == 4 else self._move_pairs
        sums, rest = moved(np.append(factors, 1.0), (np.append(shift, 0.0), np.append(shift_low, 0.0)))
        return replace(self, center=center, scale=scale, sums=sums, rest=rest)

    def _move_cubes(self, factors: np.ndarray, shift: Twofold) -> Twofold:
        """Return sums of products of (f y + h, 1)."""
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

    def _move_pairs(self, factors: np.ndarray, shift: Twofold) -> Twofold:
        """Return sums of products of pairs (f_i y_i + h_i) (f_j y_j + h_j)."""
        size = len(factors)
        i, j = np.triu_indices(size)
        single = np.flatnonzero(j == size - 1)  # places of the pairs (y_i, 1)
        f, h = (factors, np.zeros(size)), shift
        terms = [
            twofold.multiply(
                (first[0][first_index], first[1][first_index]), (second[0][second_index], second[1][second_index])
            )
            for first, first_index, second, second_index in ((f, i, f, j), (h, i, f, j), (f, i, h, j), (h, i, h, j))
        ]
        places = np.column_stack([np.arange(len(i)), single[j], single[i], np.full(len(i), len(i) - 1)])
        weights = [np.column_stack([term[part] for term in terms]) for part in (0, 1)]
        sums, rest = np.empty_like(self.sums), np.empty_like(self.rest)
        for g, (gram, low) in enumerate(zip(self.sums, self.rest, strict=True)):
            for _ in range(2):
                mapped = twofold.combine_rows(gram, low, places, weights[0], weights[1])
                gram, low = (np.ascontiguousarray(part.T) for part in mapped)
            sums[g], rest[g] = gram, low
        return sums, rest

    @cached_property
    def _frame_at_mean(self) -> Self:
        """The same sums in a frame near the mean and deviation of the present rows."""
        columns = self.columns
        center, scale = _round_frame(columns.mean, columns.variance)
        varies = columns.variance > 0
        is_off = np.abs(columns.mean - self.center) > _MAX_FRAME_ERROR * scale
        is_off |= varies & (np.abs(np.log2(self.scale / scale)) > np.log2(_MAX_FRAME_ERROR))
        return self.change_frame(center, scale) if (is_off & varies).any() else self

    @property
    def _first_and_second(self) -> tuple[Twofold, Twofold]:
        """Sums of y and y^2 over all rows, both of shape (D,)."""
        size = len(self.center) + 1
        if self.sums.ndim == 4:
            constant_sums = [np.asarray(part[..., -1]) for part in (self.sums, self.rest)]
            first, second = (
                [part[:, -1] for part in constant_sums],
                [np.einsum("gii->gi", part) for part in constant_sums],
            )
        else:
            i, j = np.triu_indices(size)
            constant_sums = [part[:, -1] for part in (self.sums, self.rest)]
            first, second = ([part[:, mask] for part in constant_sums] for mask in (j == size - 1, i == j))
        first_sums, second_sums = (twofold.sum_of_rows(*numbers) for numbers in (first, second))
        return (first_sums[0][:-1], first_sums[1][:-1]), (second_sums[0][:-1], second_sums[1][:-1])

    @property
    def _second(self) -> np.ndarray:
        """Sum of y y^T over all rows."""
        total = self.sums.sum(axis=0)
        if total.ndim == 3:
            return np.asarray(total[..., -1])
        second, (i, j) = np.empty((len(self.center) + 1,) * 2), np.triu_indices(len(self.center) + 1)
        second[i, j] = second[j, i] = total[-1]  # the last pair is (1, 1)
        return second

    def _check_reach(self, rows: np.ndarray, max_distance: float) -> None:
        """Raise for a row so far out that it could not be forgotten without a trace."""
        if not len(rows):
            return
        distances = np.abs(rows - self.center) / self.scale
        # Exempt are constant columns, and rows no further out than present ones, such as rows to forget.
        present = (1 + _ROUNDING) * np.sqrt(self._first_and_second[1][0])
        distances[(distances <= present) | (self.columns.variance == 0)] = 0.0
        row, column = np.unravel_index(int(np.argmax(distances)), distances.shape)
        if distances[row, column] > max_distance:
            raise LatentiaError(
                f"Column {column} has an entry of {rows[row, column]:.6g}, {distances[row, column]:.1g} times its spread "
                f"({self.scale[column]:.2g}) from its centre ({self.center[column]:.6g}); expected at most {max_distance:.1g} "
                "times. Further out, kept sums lose digits and cannot forget the row. Drop or clip it, take the "
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
            right = pairs if self.sums.ndim == 3 else (y, low)
            twofold.add_outer(sums, rest, pairs[0], pairs[1], right[0], right[1])  # type: ignore[call-arg]


class _NearRows:
    """In-place statistic: another statistic of the near rows, and the far rows themselves, with their folds.

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
            block = Block.from_parts([block[0][~is_far]], block.number, block.start, block.rows[~is_far])
        return self.statistic.add_tasks(near, block, parallel), rows, groups

    def merge(self, first: Any, second: Any) -> Any:
        return merge_sums(self.statistic, first[0], second[0]), first[1] + second[1], first[2] + second[2]


def _choose_frame(
    blocks: Blocks, like: FramedSums | None, max_distance: float, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Choose centre, scale and reach of the frame; few rows get a reach of 0, so that all are far."""
    if like is not None:
        center, scale = like.center, like.scale
        if like.n_rows >= _MIN_FRAME_ROWS:
            rows = dense_table(sample_rows(blocks)[0])
            is_far = (np.abs(rows - center) > _NEAR_SCALES * scale).any(axis=1)
            if len(rows) < _MIN_FRAME_ROWS or is_far.mean() <= _MAX_FAR_SHARE:
                return center, scale, _NEAR_SCALES
            like._check_reach(rows, max_distance)
        if blocks.n_rows < _MIN_FRAME_ROWS:
            return center, scale, 0.0
    columns = column_moments(blocks, **options)
    if blocks.n_rows < _MIN_FRAME_ROWS:
        return *_round_frame(columns.mean, columns.variance), 0.0
    rows = dense_table(sample_rows(blocks)[0])
    center = np.median(rows, axis=0)
    spread = np.quantile(np.abs(rows - center), 0.9, axis=0) / 1.645
    spread = np.where(spread > 0, spread, np.sqrt(columns.variance))
    return *_round_frame(center, np.where(spread > _ROUNDING**2 * np.abs(center), spread, 0.0) ** 2), _NEAR_SCALES


def _round_frame(center: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round centre and scale of columns to a grid."""
    deviations = np.sqrt(np.where(variance > 0, variance, 1.0))
    scale = np.exp2(np.rint(np.log2(deviations)))
    return np.rint(center / scale * _GRID_STEPS) * scale / _GRID_STEPS, scale


def _check_remaining(n: int) -> None:
    if n < 1:
        raise LatentiaError("Expected at least one remaining row.")
