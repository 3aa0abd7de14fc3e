"""Columns of tables whose entries may be missing, and tables that stand for them in moments.

With c the mean of the entries of a column that are there and p their share, a missing entry becomes c, and another one
c + (x - c) / p. Where entries are missing at random, and those of one view independently of those of another given the
component, the means and cross moments given the component are those of a whole table. Squares of a column about c are to be
multiplied by p.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._entries import missing_entries
from ..exceptions import LatentiaError
from ..passes import Block, Blocks, accumulate
from .vectors import ColumnMoments, checked_columns, column_sums, merged_columns


class ObservedColumns(NamedTuple):
    """Moments of the entries of columns that are there, and their share, shape (D,)."""

    moments: ColumnMoments
    share: np.ndarray

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return bool((self.share == 1).all())


def observed_columns(blocks: Blocks, **options: Any) -> list[ObservedColumns]:
    """Columns of all parts: one pass. A column or row without any entry is an error."""
    found = []
    for part, (n, columns) in enumerate(accumulate(blocks, _Observed(len(blocks.shapes)), **options)):
        what = f"View {part + 1}" if len(blocks.shapes) > 1 else "The data"
        counts = np.broadcast_to(columns.n, columns.mean.shape)
        if (counts == 0).any():
            raise LatentiaError(f"{what}: column {int(np.argmax(counts == 0))} has no entry that is there: drop it.")
        checked = checked_columns(ColumnMoments(n, columns.mean, columns.variance), what)
        found.append(ObservedColumns(checked, counts / n))
    return found


def filled(table: Any, columns: ObservedColumns) -> Any:
    """The table that stands for one with missing entries."""
    if columns.whole:
        return table
    gaps = np.asarray(table, dtype=np.float64) - columns.moments.mean
    return columns.moments.mean + np.where(np.isnan(gaps), 0.0, gaps) / columns.share


class _Observed:
    """Statistic: for every part the number of rows, and moments of the entries that are there."""

    def __init__(self, n_parts: int) -> None:
        self.n_parts = n_parts

    def zero(self) -> list[tuple[int, Any]]:
        return [(0, ColumnMoments(0, np.zeros(1), np.zeros(1))) for _ in range(self.n_parts)]

    def add(self, state: list[tuple[int, Any]], block: Block) -> list[tuple[int, Any]]:
        missing = [missing_entries(table) for table in block[: self.n_parts]]
        if all(one is not None for one in missing):
            empty = np.logical_and.reduce([one.all(axis=1) for one in missing if one is not None])
            if empty.any():
                row = block.rows[int(np.argmax(empty))]
                raise LatentiaError(f"Row {row} has no entry in any view, all are NaN: drop it.")
        own = [(table.shape[0], _sums(table, one)) for table, one in zip(block[: self.n_parts], missing, strict=True)]
        return self.merge(state, own)

    def merge(self, first: list[tuple[int, Any]], second: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        return [(n + m, merged_columns(one, other)) for (n, one), (m, other) in zip(first, second, strict=True)]


def _sums(table: Any, missing: np.ndarray | None) -> ColumnMoments:
    if missing is None:
        return column_sums(table)
    counts = (~missing).sum(axis=0)
    seen = np.maximum(counts, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # refused after the pass
        mean = np.where(missing, 0.0, table).sum(axis=0) / seen
        variance = (np.where(missing, 0.0, table - mean) ** 2).sum(axis=0) / seen
    return ColumnMoments(counts, mean, variance)  # type: ignore[arg-type]
