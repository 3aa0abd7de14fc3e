"""Frame of a wide table, and further sums besides the moments of its coordinates: see `latentia.moments.wide`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse

from .. import _fields as of
from ..exceptions import LatentiaError
from ..passes import Block, Folds
from ..passes.blocks import mix_bits
from ..system.threads import Parallel
from . import twofold
from .framed import MAX_DISTANCE
from .products import CHUNK
from .vectors import Coordinates, centred_product, dense_table, squared_distances

FIRST = 2  # index of the first rows among the products
FIRST_HALF = (0, 1)  # groups
_MAX_BUCKETS = 512  # largest number of columns, or hashed sums of columns, outside of the frame
_MAX_ORDINARY_VARIANCE = 4.0  # in variances of the first rows: coordinates of rows beyond are summed in fixed order
_NEAR_DEVIATIONS = 64.0  # in deviations of the first rows: nearer rows are summed by matrix products


@dataclass(frozen=True)
class Frame:
    """Principal directions of the first rows, their centre and spread.

    Attributes
    ----------
    center : ndarray of shape (D,)
    basis : ndarray of shape (D, b)
        B, orthonormal.
    spread : float
        Variance of the first rows, in all columns.
    """

    center: Annotated[np.ndarray, of.numbers("V")]
    basis: Annotated[np.ndarray, of.numbers("V Q")]
    spread: Annotated[float, of.number(0.0)]

    @property
    def coordinates(self) -> Coordinates:
        return Coordinates(self.center, self.basis)

    def places(self, table: Any, distances: np.ndarray | None = None) -> np.ndarray:
        """Return (y, 1) of rows; those of distant rows do not depend on the other rows of a block."""
        y = self.coordinates(table)
        distances = squared_distances(table, self.center) if distances is None else distances
        distant = np.flatnonzero(distances > _MAX_ORDINARY_VARIANCE * self.spread)
        if len(distant):
            y[distant, :-1] = twofold.products_in_order(dense_table(table[distant]) - self.center, self.basis)
        return y

    @cached_property
    def buckets(self) -> sparse.csr_array:
        """Hash matrix S, (D, q): each column in a bucket, with a sign; few columns have separate buckets."""
        width = len(self.center)
        numbers = mix_bits(np.arange(1, width + 1, dtype=np.uint64))
        places = np.arange(width) if width <= _MAX_BUCKETS else (numbers >> np.uint64(1)) % np.uint64(_MAX_BUCKETS)
        signs = np.where(numbers & np.uint64(1), 1.0, -1.0) if width > _MAX_BUCKETS else np.ones(width)
        return sparse.csr_array((signs, (np.arange(width), places.astype(np.int64))), (width, min(width, _MAX_BUCKETS)))

    @cached_property
    def _inside(self) -> np.ndarray:
        """S^T (c, B), (q, b + 1)."""
        return np.asarray(self.buckets.T @ np.column_stack([self.basis, self.center]))

    def outside(self, table: Any, y: np.ndarray) -> np.ndarray:
        """Return s of the rows of a table, (n, q), from their coordinates (y, 1)."""
        if sparse.issparse(table):
            return (table @ self.buckets).toarray() - y @ self._inside.T
        residual = table - self.center - y[:, :-1] @ self.basis.T
        return residual if residual.shape[1] <= _MAX_BUCKETS else np.asarray((self.buckets.T @ residual.T).T)

    def check_reach(self, rows: np.ndarray) -> None:
        """Raise for a row so far out that it could not be forgotten without a trace."""
        distances = np.sqrt(squared_distances(rows, self.center) / max(self.spread, of.MIN_MAGNITUDE))
        if len(rows) and distances.max() > MAX_DISTANCE:
            raise LatentiaError(
                f"A row is {distances.max():.1g} times as far from the mean as the first rows; expected at most "
                f"{MAX_DISTANCE:.1g} times. Further out, kept sums lose digits and cannot forget the row. Drop or clip such "
                "rows, or fit without keep_moments."
            )

    def is_that_of(self, frame: Frame) -> bool:
        return np.array_equal(self.center, frame.center) and np.array_equal(self.basis, frame.basis)


class FrameSums(NamedTuple):
    """Further sums besides the moments: per fold, over all rows, over halves of later rows and over first rows."""

    sketch: np.ndarray
    energy: np.ndarray
    squares: np.ndarray
    products: np.ndarray
    fourth: np.ndarray


class FrameMoments:
    """In-place statistic: `FrameSums`, and the far rows themselves, with their folds and parts of the products.

    Parameters
    ----------
    frame : Frame
    folds : Folds
    members : ndarray of int, optional
        Hashes of the first rows; by default all are such rows.
    """

    def __init__(self, frame: Frame, folds: Folds, members: np.ndarray | None) -> None:
        self.frame, self.folds, self.members = frame, folds, members

    def zero(self) -> tuple[FrameSums, list[np.ndarray], list[np.ndarray]]:
        (width, b), g = self.frame.basis.shape, self.folds.n
        q = self.frame.buckets.shape[1]
        shapes = (g, width, b + 1), (g, b + 1), (width,), (3, q + b + 1, q + b + 1), (q,)
        return FrameSums(*(np.zeros(shape) for shape in shapes)), [np.empty((0, width))], [np.empty((0, 2), np.int64)]

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        near, far, kinds = state
        table, kind = block[0], np.column_stack([self.folds.of(block.rows), self._parts(block.rows)]).astype(np.int64)
        distances = squared_distances(table, self.frame.center)
        is_far = distances > _NEAR_DEVIATIONS**2 * self.frame.spread
        if is_far.any():
            far, kinds = [*far, dense_table(table[is_far])], [*kinds, kind[is_far]]
        for g, part in np.unique(kind[~is_far], axis=0):
            rows = np.flatnonzero(~is_far & (kind == (g, part)).all(axis=1))
            for a in range(0, len(rows), CHUNK):
                chunk = rows[a : a + CHUNK]
                self._add(near, table[chunk], distances[chunk], g, part)
        return near, far, kinds

    def merge(self, first: Any, second: Any) -> Any:
        return FrameSums(*map(np.add, first[0], second[0])), first[1] + second[1], first[2] + second[2]

    def _parts(self, rows: np.ndarray) -> np.ndarray:
        """Return the part of each row: 0 or 1 (halves of later rows), 2 (first rows), -1 (rows that chose the directions)."""
        is_late = ~np.isin(self.folds.of(rows), FIRST_HALF)
        is_first = np.full(len(rows), self.members is None)
        if self.members is not None and self.folds.leaders is not None:
            is_first = np.isin(self.folds.leaders[rows], self.members)
        return np.where(is_first, np.where(is_late, 2, -1), is_late)

    def _add(self, state: FrameSums, table: Any, distances: np.ndarray, group: int, part: int) -> None:
        frame = self.frame
        y = frame.places(table, distances)
        state.sketch[group] += centred_product(table, frame.center, y)
        state.energy[group] += distances @ y
        state.squares[:] += _squares(table, frame.center)
        if part >= 0:
            s = frame.outside(table, y)
            rows = np.hstack([s, y])
            state.products[part] += rows.T @ rows
            state.fourth[:] += (s**4).sum(axis=0) * (part == FIRST)

    def add_far(self, state: FrameSums, rows: np.ndarray, kinds: np.ndarray) -> FrameSums:
        """Add rows one by one, in place; return the rounding errors in arrays of the same shapes."""
        rest = FrameSums(*(np.zeros_like(part) for part in state))
        for x, (group, part) in zip(rows, kinds, strict=True):
            centred = x - self.frame.center
            y = np.append(twofold.products_in_order(centred[None], self.frame.basis), 1.0)
            energy = twofold.products_in_order(centred[None], centred[:, None])[0]
            _add_one(state.sketch[group], rest.sketch[group], centred, y)
            _add_one(state.energy[group][None], rest.energy[group][None], energy, y)
            state.squares[:], rest.squares[:] = twofold.add(
                (state.squares, rest.squares), twofold.multiply_floats(centred, centred)
            )
            if part >= 0:
                residual = (
                    centred - twofold.products_in_order(y[None, :-1], np.ascontiguousarray(self.frame.basis.T))[0]
                )
                s = residual if len(residual) <= _MAX_BUCKETS else self.frame.buckets.T @ residual
                _add_one(state.products[part], rest.products[part], *[np.append(s, y)] * 2)
                state.fourth[:] += s**4 * (part == FIRST)
        return rest


def _add_one(sums: np.ndarray, rest: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    twofold.add_outer(sums, rest, first, np.zeros_like(first), second, np.zeros_like(second))


def _squares(table: Any, center: np.ndarray) -> np.ndarray:
    """Return sum_n (x_n - c)^2 of every column."""
    if not sparse.issparse(table):
        return np.asarray(((table - center) ** 2).sum(axis=0))
    numbers = table.astype(np.float64, copy=False)
    sums, squares = (np.asarray(part.sum(axis=0)).ravel() for part in (numbers, numbers.multiply(numbers)))
    return squares - 2 * center * sums + table.shape[0] * center**2
