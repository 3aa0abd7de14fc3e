"""Canonical order of rows and columns, so that results do not depend on the order of the input.

Sums of floating-point numbers depend on their order. Some methods amplify this: where two candidates are nearly tied, rounding
decides between them and changes the answer. In an order that depends on the content alone, rounding is the same, bit for bit.

Columns are distinguished by their entries, rows by the columns of their entries, columns again by the rows of their entries,
and so on: the colour refinement of Weisfeiler and Lehman (1968), in hashes of 64 bits. Rows that remain equal are copies, which
may come in any order, or are tied by a symmetry of the table, which is rare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..passes import Block, Blocks, Folds
from ..passes.blocks import mix_bits

_ROUNDS = 2


@dataclass(frozen=True)
class CanonicalOrder:
    """A table of counts in canonical order, or in the order of the input if ordering would take too much memory.

    Attributes
    ----------
    blocks : Blocks
        The table.
    columns : ndarray of int, shape (V,)
        Column of the data for every column of the table.
    rows : ndarray of int, shape (n_rows,), or None
        Row of the source for every row of the table; None in the order of the input.
    """

    blocks: Blocks
    columns: np.ndarray
    rows: np.ndarray | None = None

    def group(self, groups: tuple[int, ...], folds: Folds) -> CanonicalOrder:
        """Select the rows of some groups of folds that the method `folds` returned."""
        return replace(self, blocks=self.blocks.group(groups, folds))

    def folds(self, folds: Folds) -> Folds:
        """Return the same folds by the row numbers of the table instead of those of the source."""
        if self.rows is None:
            return folds
        return replace(folds, leaders=self.rows if folds.leaders is None else folds.leaders[self.rows])

    def merge_groups(self, folds: Folds) -> Folds:
        """Merge the folds into one, whose sums do not depend on the folds; in the order of the input they stay."""
        return folds if self.rows is None else replace(folds, n=1)

    def arrange(self, values: np.ndarray) -> np.ndarray:
        """Arrange values by the columns of the data, on the last axis, by the columns of the table."""
        return np.ascontiguousarray(values[..., self.columns])

    def restore(self, values: np.ndarray) -> np.ndarray:
        """Arrange values by the columns of the table, on the last axis, by the columns of the data."""
        result = np.empty_like(values)
        result[..., self.columns] = values
        return result

    def restore_table(self, table: sparse.csr_array) -> sparse.csr_array:
        """Return a table with the columns of this table in the columns of the data."""
        result = sparse.csr_array((table.data, self.columns[table.indices], table.indptr), shape=table.shape)
        result.sort_indices()
        return result


def canonical_order(
    blocks: Blocks, read_counts: Callable[[Block], sparse.csr_array], max_entries: int
) -> CanonicalOrder:
    """Put the first part of blocks into canonical order, unless it has more than ``max_entries`` entries.

    Parameters
    ----------
    blocks : Blocks
    read_counts : callable
        Checks a block and returns its table of counts.
    max_entries : int

    Returns
    -------
    CanonicalOrder
    """
    pieces, rows, n_entries = [], [], 0
    for block in blocks:
        pieces.append(read_counts(block))
        rows.append(block.rows)
        n_entries += pieces[-1].nnz
        if n_entries > max_entries:
            return CanonicalOrder(blocks, np.arange(blocks.shapes[0][1]))
    if not pieces:
        return CanonicalOrder(blocks, np.arange(blocks.shapes[0][1]))
    table = sparse.csr_array(sparse.vstack(pieces, format="csr"))
    by_row, by_column = _find_orders(table)
    ordered = sparse.csr_array(table[by_row][:, by_column])
    ordered.sort_indices()
    return CanonicalOrder(Blocks.from_array(ordered), by_column, np.concatenate(rows)[by_row])


def _find_orders(table: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return the canonical order of the rows and columns of a table."""
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    counts = np.ascontiguousarray(table.data, dtype=np.float64).view(np.uint64)
    column_hashes = np.ones(table.shape[1], np.uint64)
    for _ in range(_ROUNDS):
        row_hashes = _sum_hashes(counts ^ mix_bits(column_hashes)[table.indices], rows, table.shape[0])
        column_hashes = _sum_hashes(counts ^ mix_bits(row_hashes)[rows], table.indices, table.shape[1])
    row_hashes = _sum_hashes(counts ^ mix_bits(column_hashes)[table.indices], rows, table.shape[0])
    return np.argsort(row_hashes, kind="stable"), np.argsort(column_hashes, kind="stable")


def _sum_hashes(keys: np.ndarray, places: Any, n: int) -> np.ndarray:
    """Sum hashes of keys by their places, modulo 2^64, shape (n,)."""
    sums = np.zeros(n, np.uint64)
    np.add.at(sums, places, mix_bits(keys))
    return sums
