"""Three consecutive steps of a sequence as three views, and the coordinates in which steps tell of each other.

Given the state of the middle step, the steps before and after it are independent of it and of each other (thesis, Proposition 7.6), so
that steps t, t + 1 and t + 2 are the views of `latentia.moments.views`. The leading directions of a step are those of E[x_t x_s^T] + E[x_s x_t^T]
over neighbours at distance one and two.

Steps of one stretch of a sequence go to one group of rows: neighbours are dependent, and halves of the data should not be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._threads import Parallel
from ..linalg import subspace_iteration
from ..passes import Block, Blocks, MappedBlocks, accumulate, row_groups
from .hidden_markov import as_symbols
from .vectors import Coordinates, centred_product
from .views import Views

__all__ = ["lagged_coordinates", "one_hot_blocks", "triples", "window_groups"]


def one_hot_blocks(blocks: Blocks, n_symbols: int) -> Blocks:
    """Blocks of a column of symbols and lengths as blocks of unit vectors, (n, S) sparse, and lengths."""

    def encode(block: Block) -> list[Any]:
        symbols = as_symbols(block[0], n_symbols, block.rows)
        n = len(symbols)
        table = sparse.csr_array((np.ones(n), symbols, np.arange(n + 1)), shape=(n, n_symbols))
        return [table, block[-1]]

    return MappedBlocks(blocks, encode, [(blocks.n_rows, n_symbols)])


def triples(block: Block, n_groups: int, random_state: int, stretch: int) -> Views:
    """Steps t, t + 1 and t + 2 of all sequences of a block, and the group of each triple."""
    starts = followed(block[-1], 2)
    groups = window_groups(block.rows[starts], n_groups, random_state, stretch)
    return [block[0][starts + lag] for lag in range(3)], groups


def window_groups(rows: np.ndarray, n_groups: int, random_state: int, stretch: int) -> np.ndarray:
    """The group of every row: the same for ``stretch`` neighbours."""
    return row_groups(np.asarray(rows) // stretch, n_groups, random_state)


def followed(lengths: np.ndarray, lag: int) -> np.ndarray:
    """Positions in concatenated sequences that have another ``lag`` steps later in the same one."""
    ends = np.repeat(np.cumsum(lengths), lengths)
    return np.flatnonzero(np.arange(len(ends)) + lag < ends)


class _Lagged:
    """In-place statistic: sum over neighbours s of t at distance one and two of (x_t - c) (B^T (x_s - c))^T, shape (D, k)."""

    def __init__(self, center: np.ndarray, basis: np.ndarray) -> None:
        self.coordinates = Coordinates(center, basis, constant=False)

    def zero(self) -> np.ndarray:
        return np.zeros(self.coordinates.basis.shape)

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        rows = self.coordinates(block[0])
        neighbours = np.zeros_like(rows)
        for lag in (1, 2):
            first = followed(block[-1], lag)
            neighbours[first] += rows[first + lag]
            neighbours[first + lag] += rows[first]
        state += centred_product(block[0], self.coordinates.center, neighbours)
        return state


def lagged_coordinates(
    blocks: Blocks,
    n_columns: int,
    center: np.ndarray,
    scale: np.ndarray,
    *,
    constant: bool,
    n_passes: int = 3,
    random_state: int = 0,
    **options: Any,
) -> tuple[Coordinates, int]:
    """Coordinates near the leading lagged directions of the scaled columns, and the number of passes that took.

    Parameters
    ----------
    blocks : Blocks
        Vectors (or unit vectors of symbols) and lengths.
    n_columns : int
        b; with at most twice as many columns in the data, all of them are kept and no pass is made.
    center, scale : ndarray of shape (D,)
    constant : bool
        Whether a constant is appended.
    """
    width = len(center)
    if width <= 2 * n_columns:
        return Coordinates(center, np.diag(scale), constant), 0
    column = scale[:, None]
    start = np.random.default_rng(random_state).standard_normal((width, n_columns)) * (column > 0)

    def apply(basis: np.ndarray) -> np.ndarray:
        return column * accumulate(blocks, _Lagged(center, column * basis), **options)

    return Coordinates(center, column * subspace_iteration(apply, start, n_passes), constant), n_passes
