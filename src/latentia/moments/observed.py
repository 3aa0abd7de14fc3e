"""Columns with missing entries, and filled tables that replace them in moments.

With c the mean of the observed entries of a column and p their share, a missing entry becomes c, and an observed one
c + (x - c) / p. If entries are missing at random, independently in different views given the component, the means and cross
moments given the component are those of a complete table. Squares of a column about c must be multiplied by p.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._entries import missing_entries
from ..exceptions import LatentiaError
from ..passes import Block, Blocks, accumulate
from .vectors import ColumnMoments, check_columns, column_sums, merge_columns


class ObservedColumns(NamedTuple):
    """Moments of the observed entries of columns, and their share, shape (D,)."""

    moments: ColumnMoments
    share: np.ndarray

    @property
    def is_complete(self) -> bool:
        """True if no entry is missing."""
        return bool((self.share == 1).all())


def observed_columns(blocks: Blocks, **options: Any) -> list[ObservedColumns]:
    """Measure the columns of all parts in one pass; raise for a column or row without any entry."""
    results = []
    for part, (n, columns) in enumerate(accumulate(blocks, _Observed(len(blocks.shapes)), **options)):
        view_name = f"View {part + 1}" if len(blocks.shapes) > 1 else "The data"
        counts = np.broadcast_to(columns.n, columns.mean.shape)
        if (counts == 0).any():
            raise LatentiaError(f"{view_name}: column {int(np.argmax(counts == 0))} has no values. Drop it.")
        moments = check_columns(ColumnMoments(n, columns.mean, columns.variance), view_name)
        results.append(ObservedColumns(moments, counts / n))
    return results


def fill_missing(table: Any, columns: ObservedColumns) -> Any:
    """Fill missing entries, and rescale observed ones, for moments."""
    if columns.is_complete:
        return table
    gaps = np.asarray(table, dtype=np.float64) - columns.moments.mean
    return columns.moments.mean + np.where(np.isnan(gaps), 0.0, gaps) / columns.share


class _Observed:
    """Statistic: for every part, the number of rows and moments of the observed entries."""

    def __init__(self, n_parts: int) -> None:
        self.n_parts = n_parts

    def zero(self) -> list[tuple[int, Any]]:
        return [(0, ColumnMoments(0, np.zeros(1), np.zeros(1))) for _ in range(self.n_parts)]

    def add(self, state: list[tuple[int, Any]], block: Block) -> list[tuple[int, Any]]:
        missing = [missing_entries(table) for table in block[: self.n_parts]]
        if all(mask is not None for mask in missing):
            empty = np.logical_and.reduce([mask.all(axis=1) for mask in missing if mask is not None])
            if empty.any():
                row = block.rows[int(np.argmax(empty))]
                raise LatentiaError(f"Row {row} has no values in any view, only NaN. Drop it.")
        sums = [
            (table.shape[0], _sums(table, mask)) for table, mask in zip(block[: self.n_parts], missing, strict=True)
        ]
        return self.merge(state, sums)

    def merge(self, first: list[tuple[int, Any]], second: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        return [
            (n + m, merge_columns(first_sums, second_sums))
            for (n, first_sums), (m, second_sums) in zip(first, second, strict=True)
        ]


def _sums(table: Any, missing: np.ndarray | None) -> ColumnMoments:
    if missing is None:
        return column_sums(table)
    counts = (~missing).sum(axis=0)
    n_observed = np.maximum(counts, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # refused after the pass
        mean = np.where(missing, 0.0, table).sum(axis=0) / n_observed
        variance = (np.where(missing, 0.0, table - mean) ** 2).sum(axis=0) / n_observed
    return ColumnMoments(counts, mean, variance)  # type: ignore[arg-type]
