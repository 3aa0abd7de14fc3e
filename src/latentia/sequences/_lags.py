"""Past, present and future of a step as three views, and the coordinates in which neighbouring steps depend on each other.

Given the state of a step, what comes before it, the step itself and what comes after it are independent (thesis,
Proposition 7.6), so that they are the views of `latentia.moments.views`. The thesis takes the steps t - 1, t and t +
1. Here the past and the future are two vectors each: the next neighbour, and the sum of six neighbours with weights
0.6^(distance - 1), as far as the sequence goes. The leading directions of a step are those of E[x_t x_s^T] + E[x_s
x_t^T] over neighbours at distance one and two.

Steps of one stretch of a sequence go to one fold: neighbours are dependent, and halves of the data should not be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..linalg import subspace_iteration
from ..moments import Coordinates
from ..moments.vectors import centred_product
from ..moments.views import Views
from ..passes import Block, Blocks, Folds, accumulate
from ..system.threads import Parallel
from ._symbols import as_symbols

REACH, DISCOUNT = 6, 0.6
N_PASSES = 8


def encode_one_hot(blocks: Blocks, n_symbols: int) -> Blocks:
    """Encode a column of symbols as unit vectors, (n, S) sparse; the lengths stay."""

    def encode(block: Block) -> list[Any]:
        symbols = as_symbols(block[0], n_symbols, block.rows)
        n = len(symbols)
        table = sparse.csr_array((np.ones(n), symbols, np.arange(n + 1)), shape=(n, n_symbols))
        return [table, block[-1]]

    return blocks.map(encode, [(blocks.n_rows, n_symbols)])


def build_step_views(block: Block, coordinates: Coordinates, average: np.ndarray, folds: Folds) -> Views:
    """Build past (n, d + b), step (n, D) and future (n, d + b) of the inner steps of a block's sequences, and their folds.

    The first d columns of the past and of the future are the coordinates of the next neighbour, constant included; the
    other b are discounted sums of differences from the ``average`` coordinates, (b,), without the constant. Near the ends
    of a sequence the sums have fewer terms; if they grew with that number, past and future would depend on each other.
    """
    lengths = block[-1]
    y = coordinates(block[0])
    b = coordinates.basis.shape[1]
    centred = y[:, :b] - average
    past, future = np.zeros_like(centred), np.zeros_like(centred)
    for lag in range(1, REACH + 1):
        starts = find_pair_starts(lengths, lag)
        weight = DISCOUNT ** (lag - 1)
        past[starts + lag] += weight * centred[starts]
        future[starts] += weight * centred[starts + lag]
    inner_steps = find_pair_starts(lengths, 2) + 1
    groups = folds.of(block.rows[inner_steps])
    previous = np.hstack([y[inner_steps - 1], past[inner_steps]])
    following = np.hstack([y[inner_steps + 1], future[inner_steps]])
    return [previous, block[0][inner_steps], following], groups


def compute_neighbour_means(
    state_coordinates: np.ndarray, average: np.ndarray, transmat: np.ndarray, shares: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the means of past and future given the state in a stationary chain, (K, d + b) each.

    Parameters
    ----------
    state_coordinates : ndarray of shape (K, d)
        Coordinates of the states' emissions.
    average : ndarray of shape (b,)
    transmat : ndarray of shape (K, K)
    shares : ndarray of shape (K,)
        Shares of the steps in each state.
    lengths : ndarray of int
        Lengths of the sequences, which say how often a neighbour at each distance exists.
    """
    backward = (transmat * shares[:, None]).T / np.maximum(shares, np.finfo(float).tiny)[:, None]
    centred, n_inner = state_coordinates[:, : len(average)] - average, np.maximum(lengths - 2, 0).sum()
    means = []
    for transitions in (backward, transmat):
        distant, total = centred, np.zeros_like(centred)
        for lag in range(1, REACH + 1):
            distant = transitions @ distant
            total += DISCOUNT ** (lag - 1) * np.maximum(lengths - 1 - lag, 0).sum() / n_inner * distant
        means.append(np.hstack([transitions @ state_coordinates, total]))
    return means[0], means[1]


def find_pair_starts(lengths: np.ndarray, lag: int) -> np.ndarray:
    """Find the positions in concatenated sequences whose sequence has another step ``lag`` steps later."""
    ends = np.repeat(np.cumsum(lengths), lengths)
    return np.flatnonzero(np.arange(len(ends)) + lag < ends)


class _LagProducts:
    """In-place statistic: sum over neighbours s of t at distance one and two of (x_t - c) (B^T (x_s - c))^T, shape (D, k)."""

    def __init__(self, center: np.ndarray, basis: np.ndarray) -> None:
        self.coordinates = Coordinates(center, basis, constant=False)

    def zero(self) -> np.ndarray:
        return np.zeros(self.coordinates.basis.shape)

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        rows = self.coordinates(block[0])
        neighbours = np.zeros_like(rows)
        for lag in (1, 2):
            starts = find_pair_starts(block[-1], lag)
            neighbours[starts] += rows[starts + lag]
            neighbours[starts + lag] += rows[starts]
        state += centred_product(block[0], self.coordinates.center, neighbours)
        return state


def fit_lagged_coordinates(
    blocks: Blocks,
    n_columns: int,
    center: np.ndarray,
    scale: np.ndarray,
    *,
    constant: bool,
    n_passes: int = N_PASSES,
    random_state: int = 0,
    **options: Any,
) -> tuple[Coordinates, int]:
    """Fit coordinates near the leading lagged directions of the scaled columns, and return the number of passes.

    Parameters
    ----------
    blocks : Blocks
        Vectors (or unit vectors of symbols) and lengths.
    n_columns : int
        Number of directions b; if the data has at most twice as many columns, all are kept without a pass.
    center, scale : ndarray of shape (D,)
    constant : bool
        True appends a constant.
    n_passes : int
        Subspace iterations; many are needed, since lagged moments are indefinite and their eigenvalues fall slowly.
    """

    def multiply_lagged(basis: np.ndarray) -> np.ndarray:
        return np.asarray(accumulate(blocks, _LagProducts(center, basis), **options))

    coordinates = fit_leading_coordinates(multiply_lagged, n_columns, center, scale, constant, n_passes, random_state)
    return coordinates, 0 if len(center) <= 2 * n_columns else n_passes


def fit_leading_coordinates(
    multiply_lagged: Callable[[np.ndarray], np.ndarray],
    n_columns: int,
    center: np.ndarray,
    scale: np.ndarray,
    constant: bool,
    n_iterations: int = N_PASSES,
    random_state: int = 0,
) -> Coordinates:
    """Fit the same coordinates with a function that multiplies the sum of lagged moments, (D, D), by a matrix (D, b)."""
    width, column = len(center), scale[:, None]
    if width <= 2 * n_columns:
        return Coordinates(center, np.diag(scale), constant)
    start = np.random.default_rng(random_state).standard_normal((width, n_columns)) * (column > 0)
    basis = subspace_iteration(lambda basis: column * multiply_lagged(column * basis), start, n_iterations)
    return Coordinates(center, column * basis, constant)
