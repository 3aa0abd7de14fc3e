"""Fit: a check for cells that are missing because of their value.

The model predicts the value of a missing cell from the other columns. If cells are missing because of their own value, this
prediction tells missing cells better than any other column does. If another column causes the gaps, that column tells them
better; if cells are missing at random, nothing does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .checks import Check, at_most

_N_BINS = 16
_MIN_DEVIATIONS = 5.0  # standard deviations by which chi-squared must exceed chance
_MAX_RATIO = 0.8  # largest ratio to the best other column; below one because bins are coarse
_N_FOLDS, _MAX_COLUMNS = 5, 200


def missing_checks(
    rows: Any,
    expect: Callable[[np.ndarray, np.ndarray], np.ndarray],
    seed: int,
    column_groups: Sequence[np.ndarray] = (),
) -> list[Check]:
    """Build one caution if cells are missing.

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n, D)
        The data; NaN marks a missing cell.
    expect : callable
        Function of the observed columns, bool of shape (D,), and the numbers of others, that returns the values that the
        model expects in these others, shape (n, number of others).
    column_groups : sequence of arrays of int
        Groups of columns that are hidden together; by default five random groups.
    """
    d = rows.shape[1]
    columns = np.unique(np.linspace(0, d - 1, _MAX_COLUMNS).astype(int))
    table = rows[:, columns].toarray() if sparse.issparse(rows) else rows[:, columns]
    is_missing, expected = np.isnan(table), np.zeros(table.shape)
    incomplete = np.flatnonzero(is_missing.any(axis=0))
    if not len(incomplete) or d < 2:
        return []
    for fold in column_groups or np.array_split(np.random.default_rng([seed, 108]).permutation(d), min(d, _N_FOLDS)):
        observed, positions = ~np.isin(np.arange(d), fold), np.flatnonzero(np.isin(columns, fold))
        expected[:, positions] = expect(observed, columns[positions])
    expected_statistics = [_chi_squared(is_missing[:, [j]], expected[:, j]) for j in incomplete]
    column_statistics = np.array(
        [_chi_squared(is_missing[:, incomplete], column)[0] * (incomplete != j) for j, column in enumerate(table.T)]
    )
    expected_chi_squared, variance = (float(np.sum(numbers)) for numbers in zip(*expected_statistics, strict=True))
    column_chi_squared = max(float(column_statistics.max(axis=0).sum()), np.finfo(float).tiny)
    measured = (
        expected_chi_squared / column_chi_squared if expected_chi_squared > _MIN_DEVIATIONS * np.sqrt(variance) else 0.0
    )
    return [
        Check(
            "cells missing by value", "told by itself / by another column", measured, at_most(_MAX_RATIO),
            "How well a cell's expected value tells whether the cell is missing, relative to the best other column; 0 if no "
            "better than chance.",
            "not in the papers", "caution",
            "Cells are missing because of their value, so the observed cells of these columns are not typical. Find out why "
            "cells are missing.",
        )
    ]  # fmt: skip


def _chi_squared(is_missing: np.ndarray, predictor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return excess and variance of chi-squared of gaps, (n, g), in bins of a predictor; both have shape (g,)."""
    edges = (
        np.unique(np.nanquantile(predictor, np.arange(1, _N_BINS) / _N_BINS))
        if not np.isnan(predictor).all()
        else np.zeros(0)
    )
    bins = np.where(np.isnan(predictor), _N_BINS, np.searchsorted(edges, predictor, side="right"))
    member = (bins[:, None] == np.unique(bins)).astype(np.float64)
    share = is_missing.mean(axis=0)
    expected = np.outer(member.sum(axis=0), np.maximum(share * (1 - share), 1 / len(is_missing) ** 2))
    squared = (member.T @ (is_missing - share)) ** 2 / expected
    return squared.sum(axis=0) - (member.shape[1] - 1), (2 + 1 / expected).sum(axis=0)
