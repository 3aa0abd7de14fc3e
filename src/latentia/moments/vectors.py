"""First, second and third moments of real vectors, in few coordinates.

Coordinates are y = (B^T (x - c), 1) for a centre c and a basis B (D x b). The constant makes moments affine: the third moment
of y contains the first and the second, the sums of halves can be centred at their own means, and K component means need only be
affinely independent (K - 1 dimensions), not linearly. B is the identity where D is small, and the leading principal
subspace of the data otherwise, so that nothing of size D x D or D^3 appears.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._entries import LARGEST
from ..exceptions import LatentiaError
from ..linalg import subspace_iteration
from ..passes import Block, Blocks, Folds, accumulate
from ..system.threads import Parallel
from ..tensor import apply_to_modes
from .products import CHUNK, add_cubes, mirror_cube


@dataclass(frozen=True)
class Coordinates:
    """The map x -> (B^T (x - c), 1), or without the constant.

    Attributes
    ----------
    center : ndarray of shape (D,)
    basis : ndarray of shape (D, b)
    constant : bool
    """

    center: np.ndarray
    basis: np.ndarray
    constant: bool = True

    @property
    def size(self) -> int:
        """Number of coordinates, the constant included."""
        return self.basis.shape[1] + self.constant

    def __call__(self, table: Any) -> np.ndarray:
        """Coordinates of the rows of a dense or sparse table, shape (n, size)."""
        b = self.basis.shape[1]
        rows = np.ones((table.shape[0], self.size))
        if sparse.issparse(table):
            rows[:, :b] = table @ self.basis - self.center @ self.basis
        else:  # first centred, then multiplied: no cancellation far from the origin
            rows[:, :b] = (table - self.center) @ self.basis
        return rows


@dataclass
class ColumnMoments:
    """Number of rows, and the mean and variance of every column, shape (D,).

    A variance within rounding of zero is zero: constants whose mean is not exact would seem to vary otherwise.
    """

    n: int
    mean: np.ndarray
    variance: np.ndarray


class _Columns:
    """Statistic: `ColumnMoments`, merged without cancellation."""

    def __init__(self, part: int) -> None:
        self.part = part

    def zero(self) -> ColumnMoments:
        return ColumnMoments(0, np.zeros(1), np.zeros(1))

    def add(self, state: ColumnMoments, block: Block) -> ColumnMoments:
        return merge_columns(state, column_sums(block[self.part]))

    def merge(self, first: ColumnMoments, second: ColumnMoments) -> ColumnMoments:
        return merge_columns(first, second)


def column_sums(table: Any) -> ColumnMoments:
    """Return the moments of the columns of one table, not yet checked."""
    if not table.shape[0]:
        return ColumnMoments(0, np.zeros(1), np.zeros(1))
    with np.errstate(over="ignore", invalid="ignore"):  # refused after the pass
        mean = np.asarray(table.mean(axis=0), dtype=np.float64).ravel()
        if sparse.issparse(table):
            numbers = table.astype(np.float64, copy=False)  # squares of integers wrap around
            variance = np.asarray(numbers.multiply(numbers).mean(axis=0)).ravel() - mean**2
        else:
            variance = np.asarray(table, dtype=np.float64).var(axis=0)
        return ColumnMoments(table.shape[0], mean, np.maximum(variance, 0))


def merge_columns(first: ColumnMoments, second: ColumnMoments) -> ColumnMoments:
    """Merge column moments of two sets of rows; numbers of rows may differ by column."""
    n = first.n + second.n
    if not np.any(n):
        return first
    share = second.n / np.maximum(n, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # refused after the pass
        shift = second.mean - first.mean
        spread = (1 - share) * first.variance + share * second.variance + share * (1 - share) * shift**2
        return ColumnMoments(n, first.mean + share * shift, spread)


def column_moments(blocks: Blocks, part: int = 0, **options: Any) -> ColumnMoments:
    """Return means and variances of the columns of one part: one pass. Options are those of `accumulate`."""
    return check_columns(accumulate(blocks, _Columns(part), **options))


def all_column_moments(blocks: Blocks, **options: Any) -> list[ColumnMoments]:
    """Return means and variances of the columns of all parts: one pass."""
    results = accumulate(blocks, [_Columns(part) for part in range(len(blocks.shapes))], **options)
    return [check_columns(columns, f"View {part + 1}") for part, columns in enumerate(results)]


def check_columns(columns: ColumnMoments, source: str = "Input") -> ColumnMoments:
    """Raise for a column with NaN, infinity or numbers out of range; variances within rounding of zero become zero."""
    finite = np.isfinite(columns.variance) & np.isfinite(columns.mean)
    large = ~(np.abs(columns.mean) <= LARGEST) | ~(columns.variance <= LARGEST**2)
    if not finite.all():
        raise LatentiaError(
            f"{source} contains NaN or infinity, or its squares do (the first in column {int(np.argmin(finite))}). Drop "
            "or impute these entries, or rescale the column."
        )
    rounding = (16 * np.finfo(float).eps * columns.mean) ** 2
    variance = np.where(columns.variance > rounding, columns.variance, 0.0)
    small = (variance < LARGEST**-2) & ((variance > 0) | (np.abs(columns.mean) < LARGEST**-2) & (columns.mean != 0))
    is_wrong = large | small  # Squares of small numbers vanish: their column would look constant.
    if is_wrong.any():
        column = int(np.argmax(is_wrong))
        raise LatentiaError(
            f"{source} has numbers in column {column} whose powers are out of range: mean {columns.mean[column]:.1g}, standard "
            f"deviation {np.sqrt(variance[column]):.1g}. Rescale the column."
        )
    return ColumnMoments(columns.n, columns.mean, variance)


class _GramAboutCentre:
    """In-place statistic: sum over rows of (x - c) (x - c)^T B."""

    def __init__(self, center: np.ndarray, basis: np.ndarray, part: int) -> None:
        self.coordinates, self.part = Coordinates(center, basis, constant=False), part

    def zero(self) -> np.ndarray:
        return np.zeros(self.coordinates.basis.shape)

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        state += centred_product(block[self.part], self.coordinates.center, self.coordinates(block[self.part]))
        return state


def principal_coordinates(
    blocks: Blocks,
    n_columns: int,
    center: np.ndarray,
    *,
    scale: np.ndarray | None = None,
    part: int = 0,
    n_passes: int = 3,
    slack: float = 2.0,
    random_state: int = 0,
    **options: Any,
) -> tuple[Coordinates, int]:
    """Compute coordinates near the leading principal subspace of the columns, and return the number of passes.

    Parameters
    ----------
    n_columns : int
        b; with at most ``slack`` times as many columns in the data, all of them are kept and no pass is taken.
    center : ndarray of shape (D,)
    scale : ndarray of shape (D,), optional
        Factors of the columns: the subspace is that of the scaled ones, and B contains them.
    n_passes : int
        Subspace iterations.
    """
    width = blocks.shapes[part][1]
    scale = np.ones(width) if scale is None else scale
    if width <= slack * n_columns:
        return Coordinates(center, np.diag(scale)), 0
    column = scale[:, None]
    start = np.random.default_rng(random_state).standard_normal((width, n_columns))

    def apply(basis: np.ndarray) -> np.ndarray:
        return column * accumulate(blocks, _GramAboutCentre(center, column * basis, part), **options)

    return Coordinates(center, column * subspace_iteration(apply, start, n_passes)), n_passes


@dataclass(frozen=True)
class VectorSums:
    """Moments of rows about their own mean, in coordinates y = (B^T (x - mean), 1).

    Attributes
    ----------
    n : int
    mean : ndarray of shape (D,)
        Of x.
    third : ndarray of shape (b + 1, b + 1, b + 1)
        E[y (x) y (x) y]; its last slice is E[y y^T].
    energy : ndarray of shape (b + 1,)
        E[|x - mean|^2 y]; its last entry is the total variance.
    sketch : ndarray of shape (D, b + 1)
        E[(x - mean) y^T].
    """

    n: int
    mean: np.ndarray
    third: np.ndarray
    energy: np.ndarray
    sketch: np.ndarray


class VectorMoments:
    """In-place statistic of vectors in groups of rows; `of` makes the moments of some groups together.

    Parameters
    ----------
    coordinates : Coordinates
    folds : Folds
        Groups of rows, with sums each.
    """

    def __init__(self, coordinates: Coordinates, folds: Folds) -> None:
        self.coordinates, self.folds = coordinates, folds

    def zero(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size, g = self.coordinates.size, self.folds.n
        return np.zeros((g, size, size, size)), np.zeros((g, size)), np.zeros((g, len(self.coordinates.center), size))

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        cubes, energy, sketch = state
        groups = self.folds.of(block.rows)
        for g in self.folds.all:
            table = block[0][np.flatnonzero(groups == g)]
            for a in range(0, table.shape[0], 4 * CHUNK):
                piece = table[a : a + 4 * CHUNK]
                rows = self.coordinates(piece)
                add_cubes(cubes[g], rows, None, parallel)
                energy[g] += squared_distances(piece, self.coordinates.center) @ rows
                sketch[g] += centred_product(piece, self.coordinates.center, rows)
        return state

    def of(self, state: Any, groups: tuple[int, ...]) -> VectorSums:
        """Return the moments of the rows of some folds, from the summed state."""
        selected = list(groups)
        cube, energy, sketch = (part[selected].sum(axis=0) for part in state)
        cube = mirror_cube(cube)
        n = float(cube[-1, -1, -1])
        if n < 1:
            raise LatentiaError("Expected rows in each part of the data, found none: there are too few to split.")
        cube, energy, sketch = cube / n, energy / n, sketch / n
        shift = sketch[:, -1]  # mean of x - c
        move = np.eye(len(cube))
        move[:-1, -1] = -cube[:-1, -1, -1]
        # |x - mean|^2 = |x - c|^2 - 2 (x - c) . shift + |shift|^2, and y' = move y.
        moved_energy = move @ (energy - 2 * shift @ sketch + shift @ shift * cube[-1, -1])
        moved_sketch = (sketch - np.outer(shift, cube[-1, -1])) @ move.T
        mean = self.coordinates.center + shift
        return VectorSums(round(n), mean, apply_to_modes(cube, move.T), moved_energy, moved_sketch)


def squared_distances(table: Any, center: np.ndarray) -> np.ndarray:
    """Return |x - c|^2 of every row, shape (n,)."""
    if sparse.issparse(table):
        numbers = table.astype(np.float64, copy=False)
        squares = np.asarray(numbers.multiply(numbers).sum(axis=1)).ravel()
        return squares - 2 * (table @ center) + center @ center
    centred = table - center
    return np.einsum("ij,ij->i", centred, centred)


def centred_product(table: Any, center: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return sum_n (x_n - c) y_n^T, shape (D, k), for rows y of shape (n, k)."""
    if sparse.issparse(table):
        return table.T @ rows - np.outer(center, rows.sum(axis=0))
    return (table - center).T @ rows


def dense_table(table: Any) -> np.ndarray:
    """Convert a table, possibly sparse, to a contiguous array of floats."""
    return np.ascontiguousarray(table.toarray() if sparse.issparse(table) else table, np.float64)
