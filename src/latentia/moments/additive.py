"""Sums over rows that can be added to those of other rows, and taken away again.

Numbers are summed about a center and in a scale, so that powers of them keep their digits:

    y = ((x - c) / s, 1),      sums over rows of y^(x 3), or of y^(x 4),

and the sums about another center are a linear map of these. After each change c and s are put near to the mean and the standard
deviation of what is there, on a grid: they say nothing of rows that are gone, and mostly stay as they are. Whole numbers are
summed as they are, with no rounding at all.

Groups of rows are dealt by hashes of rows, so that all copies of a row are in one. Where only few different rows can be, they
are copies by accident, and groups differ by more than if each row were dealt alone: with c_p copies of row p their variance is
sum_p c_p^2 / sum_p c_p times as large. How often rows are there is counted beside them, by the hash, and the groups of a table
are drawn towards each other by the root of that (`evened`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol, Self

import numpy as np

from .. import _fields as of
from ..exceptions import LatentiaError
from ..passes import Blocks, RowGroups, accumulate
from ..tensor import apply_to_modes
from ..tensor.operators import SymmetricFour
from .fourth import FourthMoments, moved_pairs
from .products import mirror_cube, mirror_gram
from .vectors import ColumnMoments, Coordinates, VectorMoments, column_moments

WIDEST = 64  # columns whose fourth moments, in four groups of rows, fit into 150 MB
_MOST_ROWS = 2**31 - 1  # that counts of 32 bits hold
_REMAINDERS = 1 << 16
_ONCE = 0.5  # of the different rows, which then are there once, where copies are accidents
_GRID = 8  # steps of the center in a scale


class Sums(Protocol):
    """Sums over the rows from which a model is fitted."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_bytes(self) -> int:
        """Size in memory."""

    def plus(self, other: Self, sign: int = 1) -> Self:
        """Those of both, or without the rows of the other where ``sign`` is -1."""


@dataclass(frozen=True)
class CountSums:
    """Whole numbers, in one or more arrays.

    Attributes
    ----------
    n_rows : int
    tables : dict of ndarray of int
    """

    n_rows: Annotated[int, of.count()]
    tables: Annotated[dict[str, np.ndarray], of.Field("...", ("int64", "int32"), 0)]

    @property
    def n_bytes(self) -> int:
        return sum(table.nbytes for table in self.tables.values())

    def plus(self, other: Self, sign: int = 1) -> Self:
        if self.n_rows + other.n_rows > _MOST_ROWS:
            raise LatentiaError(f"Moments are kept of at most {_MOST_ROWS} rows.")
        tables = {name: table + sign * other.tables[name] for name, table in self.tables.items()}
        if sign < 0 and any((table < 0).any() for table in tables.values()):
            raise LatentiaError("Rows are to be forgotten that are not all among those of the model.")
        return replace(self, n_rows=_left(self.n_rows + sign * other.n_rows), tables=tables)


@dataclass(frozen=True)
class FramedSums:
    """Sums of all moments up to the third or fourth, of four groups of rows.

    Attributes
    ----------
    center, scale : ndarray of shape (D,)
    sums : ndarray of shape (4, D + 1, D + 1, D + 1) or (4, P, P)
        Sums of y^(x 3); or of products of pairs y_i y_j, i <= j, as in `latentia.moments.FourthMoments`.
    """

    center: Annotated[np.ndarray, of.numbers("Q")]
    scale: Annotated[np.ndarray, of.numbers("Q", of.LEAST)]
    sums: Annotated[np.ndarray, of.numbers("...")]

    @classmethod
    def of_blocks(cls, blocks: Blocks, order: int, dealt: RowGroups, like: Self | None = None, **options: Any) -> Self:
        """Of the rows of the first part, about the center of others where these are given: one pass, or two."""
        center, scale = (like.center, like.scale) if like is not None else _frame(column_moments(blocks, **options))
        coordinates = Coordinates(center, np.diag(1 / scale))
        if order == 4:
            grams = accumulate(blocks, FourthMoments(coordinates, dealt), **options)
            return cls(center, scale, np.array([mirror_gram(gram) for gram in grams]))
        cubes = accumulate(blocks, VectorMoments(coordinates, dealt), **options)[0]
        return cls(center, scale, np.array([mirror_cube(cube) for cube in cubes]))

    @property
    def n_rows(self) -> int:
        return round(float(self.sums.sum(axis=0).ravel()[-1]))

    @property
    def n_bytes(self) -> int:
        return self.sums.nbytes

    @property
    def columns(self) -> ColumnMoments:
        """Means and variances."""
        second = self._second / self.n_rows
        mean, square = second[-1, :-1], np.diag(second)[:-1]
        variance = np.maximum(square - mean**2, 0.0)
        variance[variance <= 1e-14 * square] = 0.0
        return ColumnMoments(self.n_rows, self.center + self.scale * mean, self.scale**2 * variance)

    @property
    def covariance(self) -> np.ndarray:
        """Of the columns, (D, D)."""
        second = self._second / self.n_rows
        return np.outer(self.scale, self.scale) * (second[:-1, :-1] - np.outer(second[-1, :-1], second[-1, :-1]))

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

    @property
    def _second(self) -> np.ndarray:
        """Sum over all rows of y y^T."""
        total = self.sums.sum(axis=0)
        if total.ndim == 3:
            return np.asarray(total[..., -1])
        second, (i, j) = np.empty((len(self.center) + 1,) * 2), np.triu_indices(len(self.center) + 1)
        second[i, j] = second[j, i] = total[-1]  # the last pair is (1, 1)
        return second

    def plus(self, other: Self, sign: int = 1) -> Self:
        shifted = other._about(self.center, self.scale)
        _left(self.n_rows + sign * other.n_rows)
        found = replace(self, sums=self.sums + sign * shifted.sums)
        return found._about(*_frame(found.columns))

    def within(self, coordinates: Coordinates) -> np.ndarray:
        """The sums in other coordinates (B^T (x - c), 1)."""
        basis = self.scale[:, None] * coordinates.basis
        shift = (self.center - coordinates.center) @ coordinates.basis
        if self.sums.ndim == 4:
            matrix = np.zeros((len(basis) + 1, len(shift) + 1))
            matrix[:-1, :-1], matrix[-1, :-1], matrix[-1, -1] = basis, shift, 1.0
            return np.array([apply_to_modes(cube, matrix) for cube in self.sums])
        factors = np.diag(basis)
        if basis.shape[0] == basis.shape[1] and not (basis - np.diag(factors)).any():
            return np.array([moved_pairs(gram, factors, shift) for gram in self.sums])
        matrix = np.vstack([np.column_stack([basis, np.zeros(len(basis))]), np.append(shift, 1.0)])
        return np.array([SymmetricFour(gram, len(matrix)).project(matrix).packed for gram in self.sums])

    def _about(self, center: np.ndarray, scale: np.ndarray) -> Self:
        if np.array_equal(center, self.center) and np.array_equal(scale, self.scale):
            return self
        return replace(self, center=center, scale=scale, sums=self.within(Coordinates(center, np.diag(1 / scale))))


def alike(hashes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """How many rows have each of so many remainders of their hash, which all copies of a row have, shape (65536,)."""
    return np.bincount((hashes >> 20) % _REMAINDERS, weights, _REMAINDERS).astype(np.int32)


def excess_of_copies(by_chance: np.ndarray, copied: np.ndarray, squares: float | None = None) -> float:
    """sum_p c_p^2 / sum_p c_p of rows that were counted by `alike`, of copies that are there by accident.

    Parameters
    ----------
    by_chance : ndarray of shape (65536,)
        Weights of rows of which copies are accidents.
    copied : ndarray of shape (65536,)
        Rows of which they are so only if at least half of the different ones are there once.
    squares : float, optional
        Sum of the squares of the weights.
    """
    together, alone = _squares_of_copies(by_chance), float(by_chance.sum()) if squares is None else squares
    if copied.any():
        n, seen = float(copied.sum()), float((copied > 0).mean())
        rate = -np.log1p(-min(seen, 1 - 1 / _REMAINDERS))  # of different rows to a remainder
        once = float((copied == 1).mean()) / (rate * np.exp(-rate))
        together, alone = together + (_squares_of_copies(copied) if once > _ONCE else n), alone + n
    return max(together / alone, 1.0) if alone else 1.0


def _squares_of_copies(counts: np.ndarray) -> float:
    """Sum of c_p^2, without what different rows with the same remainder add to it."""
    numbers = counts.astype(np.float64)
    return float((numbers @ numbers - numbers.sum() ** 2 / _REMAINDERS) / (1 - 1 / _REMAINDERS))


def evened(tables: np.ndarray, excess: float) -> np.ndarray:
    """Tables of groups of rows, (G, ...), drawn towards their mean."""
    mean = tables.mean(axis=0)
    return np.asarray(mean + (tables - mean) / np.sqrt(excess))


def check_width(width: int) -> None:
    """Raise for more columns than have their fourth moments kept."""
    if width > WIDEST:
        raise LatentiaError(
            f"The rows have {width} columns: moments are kept of at most {WIDEST}. Fit without keep_moments."
        )


def _left(n: int) -> int:
    if n < 1:
        raise LatentiaError("No row would be left.")
    return n


def _frame(columns: ColumnMoments) -> tuple[np.ndarray, np.ndarray]:
    """A center and a scale of columns, on a grid."""
    deviations = np.sqrt(np.where(columns.variance > 0, columns.variance, 1.0))
    scale = np.exp2(np.rint(np.log2(deviations)))
    return np.rint(columns.mean / scale * _GRID) * scale / _GRID, scale
