"""Canonical row and column order, so that results do not depend on input order.

Sums of floating-point numbers depend on their order, and some methods make more of it: where two candidates are nearly tied,
rounding decides between them, and the answer is another one. In an order that depends on the content alone rounding is the
same, bit for bit.

Columns are told apart by their entries, rows by the columns of theirs, columns again by the rows of theirs, and so on: the
colour refinement of Weisfeiler and Lehman (1968), in hashes of 64 bits. Rows that are still the same are copies, for which
any order is good, or tied by a symmetry of the table, which is rare.
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
class OwnOrder:
    """A table of counts in its own order; or as it came, where that would take too much memory.

    Attributes
    ----------
    blocks : Blocks
        The table.
    columns : ndarray of int, shape (V,)
        Column of the data for every column of the table.
    rows : ndarray of int, shape (n_rows,), or None
        Row of the source for every row of the table; None as it came.
    """

    blocks: Blocks
    columns: np.ndarray
    rows: np.ndarray | None = None

    def group(self, groups: tuple[int, ...], folds: Folds) -> OwnOrder:
        """The rows that ``folds``, made by `folds`, puts into some groups."""
        return replace(self, blocks=self.blocks.group(groups, folds))

    def folds(self, folds: Folds) -> Folds:
        """The same groups of rows, by their numbers in the table instead of the source."""
        if self.rows is None:
            return folds
        return replace(folds, leaders=self.rows if folds.leaders is None else folds.leaders[self.rows])

    def whole(self, folds: Folds) -> Folds:
        """One group of all rows, whose sums do not depend on how they are dealt; as they are where rows are as they came."""
        return folds if self.rows is None else replace(folds, n=1)

    def arranged(self, values: np.ndarray) -> np.ndarray:
        """Values of the columns of the data, on the last axis, by the columns of the table."""
        return np.ascontiguousarray(values[..., self.columns])

    def restored(self, values: np.ndarray) -> np.ndarray:
        """Values of the columns of the table, on the last axis, by the columns of the data."""
        found = np.empty_like(values)
        found[..., self.columns] = values
        return found

    def restored_table(self, table: sparse.csr_array) -> sparse.csr_array:
        """A table with the columns of the data, of one with those of this table."""
        found = sparse.csr_array((table.data, self.columns[table.indices], table.indptr), shape=table.shape)
        found.sort_indices()
        return found


def own_order(blocks: Blocks, read: Callable[[Block], sparse.csr_array], most: int) -> OwnOrder:
    """The first part of blocks in its own order, unless it has more than ``most`` entries.

    Parameters
    ----------
    blocks : Blocks
    read : callable
        Checks a block and gives its table of counts.
    most : int

    Returns
    -------
    OwnOrder
    """
    pieces, rows, n_entries = [], [], 0
    for block in blocks:
        pieces.append(read(block))
        rows.append(block.rows)
        n_entries += pieces[-1].nnz
        if n_entries > most:
            return OwnOrder(blocks, np.arange(blocks.shapes[0][1]))
    if not pieces:
        return OwnOrder(blocks, np.arange(blocks.shapes[0][1]))
    table = sparse.csr_array(sparse.vstack(pieces, format="csr"))
    by_row, by_column = _orders(table)
    ordered = sparse.csr_array(table[by_row][:, by_column])
    ordered.sort_indices()
    return OwnOrder(Blocks.from_array(ordered), by_column, np.concatenate(rows)[by_row])


def _orders(table: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a table in their own order."""
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    counts = np.ascontiguousarray(table.data, dtype=np.float64).view(np.uint64)
    of_columns = np.ones(table.shape[1], np.uint64)
    for _ in range(_ROUNDS):
        of_rows = _added(counts ^ mix_bits(of_columns)[table.indices], rows, table.shape[0])
        of_columns = _added(counts ^ mix_bits(of_rows)[rows], table.indices, table.shape[1])
    of_rows = _added(counts ^ mix_bits(of_columns)[table.indices], rows, table.shape[0])
    return np.argsort(of_rows, kind="stable"), np.argsort(of_columns, kind="stable")


def _added(keys: np.ndarray, places: Any, n: int) -> np.ndarray:
    """Sums of mixed keys by their places, modulo 2^64, shape (n,)."""
    total = np.zeros(n, np.uint64)
    np.add.at(total, places, mix_bits(keys))
    return total
