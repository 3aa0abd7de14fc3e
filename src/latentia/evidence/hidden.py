"""Fit: whether cells are missing because of their value.

The value of a missing cell is not seen, but the model expects one, from cells of other columns. Where what is missing hangs
on the cell's own value, this tells it better than any other column does, which know of it through that value alone; where it
hangs on another column, that column tells it better; and where cells are missing by chance, nothing does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .checks import Check, at_most

_BINS = 16
_CLEARLY = 5.0  # standard deviations of chance
_NEARLY = 0.8  # of what the best other column tells, as bins are coarse
_FOLDS, _MOST_COLUMNS = 5, 200


def missing_checks(
    rows: Any, expect: Callable[[np.ndarray, np.ndarray], np.ndarray], seed: int, together: Sequence[np.ndarray] = ()
) -> list[Check]:
    """Build one line, a caution, where cells are missing.

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n, D)
        NaN where a cell is missing.
    expect : callable
        From the columns that are seen, bool of shape (D,), and the numbers of others to what the model expects in these,
        shape (n, number of others).
    together : sequence of arrays of int
        Columns that are hidden at a time; by default a fifth of them.
    """
    d = rows.shape[1]
    chosen = np.unique(np.linspace(0, d - 1, _MOST_COLUMNS).astype(int))
    table = rows[:, chosen].toarray() if sparse.issparse(rows) else rows[:, chosen]
    gaps, expected = np.isnan(table), np.zeros(table.shape)
    gappy = np.flatnonzero(gaps.any(axis=0))
    if not len(gappy) or d < 2:
        return []
    for fold in together or np.array_split(np.random.default_rng([seed, 108]).permutation(d), min(d, _FOLDS)):
        seen, places = ~np.isin(np.arange(d), fold), np.flatnonzero(np.isin(chosen, fold))
        expected[:, places] = expect(seen, chosen[places])
    by_expected = [_chi_squared(gaps[:, [j]], expected[:, j]) for j in gappy]
    by_columns = np.array([_chi_squared(gaps[:, gappy], column)[0] * (gappy != j) for j, column in enumerate(table.T)])
    itself, variance = (float(np.sum(numbers)) for numbers in zip(*by_expected, strict=True))
    another = max(float(by_columns.max(axis=0).sum()), np.finfo(float).tiny)
    measured = itself / another if itself > _CLEARLY * np.sqrt(variance) else 0.0
    return [
        Check(
            "cells missing by value", "told by itself / by another column", measured, at_most(_NEARLY),
            "How well the value that the model expects in a cell tells whether it is missing, beside the best other column; 0 "
            "where it tells no more than chance does.",
            "not in the papers", "caution",
            "What is missing goes with its own value: what is seen of these columns is not typical of them. Find out why "
            "cells are missing.",
        )
    ]  # fmt: skip


def _chi_squared(gaps: np.ndarray, by: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Chi-squared of gaps, (n, g), in bins of numbers, less what it is by chance, and its variance, both (g,)."""
    edges = np.unique(np.nanquantile(by, np.arange(1, _BINS) / _BINS)) if not np.isnan(by).all() else np.zeros(0)
    bins = np.where(np.isnan(by), _BINS, np.searchsorted(edges, by, side="right"))
    member = (bins[:, None] == np.unique(bins)).astype(np.float64)
    share = gaps.mean(axis=0)
    expected = np.outer(member.sum(axis=0), np.maximum(share * (1 - share), 1 / len(gaps) ** 2))
    squared = (member.T @ (gaps - share)) ** 2 / expected
    return squared.sum(axis=0) - (member.shape[1] - 1), (2 + 1 / expected).sum(axis=0)
