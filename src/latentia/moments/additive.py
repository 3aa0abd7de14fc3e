"""Sums over rows that can be added to those of other rows, and taken away again.

Whole numbers are summed as they are, with no rounding at all. `latentia.moments.framed` sums other numbers.

Groups of rows are dealt by hashes of rows, so that all copies of a row are in one. Where only few different rows can be, they
are copies by accident, and groups differ by more than if each row were dealt alone: with c_p copies of row p their variance is
sum_p c_p^2 / sum_p c_p times as large. How often rows are there is counted beside them, by the hash, and the groups of a table
are drawn towards each other by the root of that (`evened`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Protocol, Self

import numpy as np

from .. import _fields as of
from ..exceptions import LatentiaError

WIDEST = 64  # columns whose fourth moments, in four groups of rows, fit into 300 MB
_MOST_ROWS = 2**31 - 1  # that counts of 32 bits hold
_REMAINDERS = 1 << 16
_ONCE = 0.5  # of the different rows, which then are there once, where copies are accidents


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
