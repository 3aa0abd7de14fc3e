"""Sums over rows that can be added to those of other rows, and subtracted again.

Whole numbers are summed as they are, with no rounding at all. `latentia.moments.framed` sums other numbers.

Rows are assigned to folds by hashes, so that all copies of a row share a fold. If few different rows are possible, copies are
accidental, and folds differ by more than if each row were assigned alone: with c_p copies of row p, their variance is
sum_p c_p^2 / sum_p c_p times as large. The copies are counted by the hash, and the folds of a table are shrunk towards their
mean by the root of that factor (`shrink_to_mean`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Protocol, Self

import numpy as np

from .. import _fields as of
from ..exceptions import LatentiaError

WIDEST = 64  # columns whose fourth moments, in four groups of rows, fit into 300 MB
_MAX_ROWS = 2**31 - 1  # largest count in 32 bits
_N_REMAINDERS = 1 << 16
_MIN_SINGLE_SHARE = 0.5  # if more different rows than this share occur once, copies are not by chance


class Sums(Protocol):
    """Sums over the rows that a model is fitted on."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_bytes(self) -> int:
        """Size in memory."""

    def plus(self, added: Self, sign: int = 1) -> Self:
        """Add the sums of other rows, or subtract them if ``sign`` is -1."""


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

    def plus(self, added: Self, sign: int = 1) -> Self:
        if self.n_rows + added.n_rows > _MAX_ROWS:
            raise LatentiaError(f"Expected at most {_MAX_ROWS} rows for kept moments.")
        tables = {name: table + sign * added.tables[name] for name, table in self.tables.items()}
        if sign < 0 and any((table < 0).any() for table in tables.values()):
            raise LatentiaError("Some of these rows were never added to the model.")
        return replace(self, n_rows=_check_remaining(self.n_rows + sign * added.n_rows), tables=tables)


def count_remainders(hashes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Count rows by the remainder of their hash, which all copies of a row share, shape (65536,)."""
    return np.bincount((hashes >> 20) % _N_REMAINDERS, weights, _N_REMAINDERS).astype(np.int32)


def copy_inflation(by_chance: np.ndarray, copied: np.ndarray, squares: float | None = None) -> float:
    """Return sum_p c_p^2 / sum_p c_p for rows counted by `count_remainders`, for copies that occur by chance.

    Parameters
    ----------
    by_chance : ndarray of shape (65536,)
        Weights of rows whose copies occur by chance.
    copied : ndarray of shape (65536,)
        Rows whose copies occur by chance only if at least half of the different rows occur once.
    squares : float, optional
        Sum of the squares of the weights.
    """
    sum_of_squares, total = _squares_of_copies(by_chance), float(by_chance.sum()) if squares is None else squares
    if copied.any():
        n, occupied = float(copied.sum()), float((copied > 0).mean())
        rate = -np.log1p(-min(occupied, 1 - 1 / _N_REMAINDERS))  # of different rows to a remainder
        single_share = float((copied == 1).mean()) / (rate * np.exp(-rate))
        sum_of_squares, total = (
            sum_of_squares + (_squares_of_copies(copied) if single_share > _MIN_SINGLE_SHARE else n),
            total + n,
        )
    return max(sum_of_squares / total, 1.0) if total else 1.0


def _squares_of_copies(counts: np.ndarray) -> float:
    """Return the sum of c_p^2, corrected for different rows with the same remainder."""
    numbers = counts.astype(np.float64)
    return float((numbers @ numbers - numbers.sum() ** 2 / _N_REMAINDERS) / (1 - 1 / _N_REMAINDERS))


def shrink_to_mean(tables: np.ndarray, excess: float) -> np.ndarray:
    """Shrink tables of folds, (G, ...), to their mean."""
    mean = tables.mean(axis=0)
    return np.asarray(mean + (tables - mean) / np.sqrt(excess))


def check_width(width: int) -> None:
    """Raise if there are too many columns for kept moments."""
    if width > WIDEST:
        raise LatentiaError(
            f"The rows have {width} columns; expected at most {WIDEST} for kept moments. Fit without keep_moments."
        )


def _check_remaining(n: int) -> int:
    if n < 1:
        raise LatentiaError("Expected at least one remaining row.")
    return n
