"""Columns of one table dealt into three views, so that each pair of views tells the components apart.

What moments can learn from three views goes by the canonical correlations of the two that have least in common: K components
need K - 1 of them. Of several ways to deal the columns that one is taken whose smallest is largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..passes import Blocks, sample_rows
from ._columns import Columns, Encoded

_DEALS = 40  # that are compared
_TRIED = 8  # that are tried
_MOST_FEATURES = 1000  # with which they are
_MOST_ROWS = 10_000
_PAIRS = ((0, 1), (0, 2), (1, 2))


def deals(encoded: Encoded, n_components: int, seed: int) -> list[Encoded]:
    """The columns and features of one view in three, in the best few ways."""
    columns, features = encoded.columns, encoded.blocks
    sizes = [columns.free([column]) for column in range(len(columns.names))]
    rng = np.random.default_rng(seed)
    ways = [_deal(rng.permutation(len(sizes)), sizes) for _ in range(_DEALS)]
    if features.shapes[0][1] <= _MOST_FEATURES:
        correlations = _correlations(features)
        ways.sort(key=lambda views: -_least([_features(columns, view) for view in views], correlations, n_components))
    return [_split_columns(encoded, views) for views in ways[:_TRIED]]


def _split_columns(encoded: Encoded, views: list[list[int]]) -> Encoded:
    columns, table = replace(encoded.columns, views=views), encoded.blocks.table()
    return Encoded(columns, Blocks.from_array(*[table[:, _features(encoded.columns, view)] for view in views]))


def _deal(order: np.ndarray, sizes: Sequence[int]) -> list[list[int]]:
    """Columns, one after the other, into the view that has the fewest dimensions."""
    views: list[list[int]] = [[], [], []]
    room = [0, 0, 0]
    for column in order.tolist():
        view = min(range(3), key=lambda i: (room[i], len(views[i])))
        views[view].append(column)
        room[view] += sizes[column]
    return [sorted(view) for view in views]


def _features(columns: Columns, view: Sequence[int]) -> np.ndarray:
    return np.concatenate([columns.places[column] for column in view]) if view else np.empty(0, int)


def _correlations(features: Blocks) -> np.ndarray:
    """Of the features, (D, D), those that are missing at their means."""
    (rows,) = sample_rows(features, _MOST_ROWS)
    missing = np.isnan(rows)
    gaps = np.where(missing, 0.0, rows - np.nanmean(rows, axis=0))
    gaps /= np.maximum(np.sqrt((gaps**2).mean(axis=0)), np.finfo(float).tiny)
    return gaps.T @ gaps / len(gaps)


def _least(views: Sequence[np.ndarray], correlations: np.ndarray, n_components: int) -> float:
    """The smallest canonical correlation that tells components apart, of the two views that have least in common."""
    roots = [_inverse_root(correlations[np.ix_(view, view)]) for view in views]
    found = []
    for a, b in _PAIRS:
        between = roots[a] @ correlations[np.ix_(views[a], views[b])] @ roots[b]
        size = n_components - 2
        values = np.linalg.svd(between, compute_uv=False)
        found.append(float(values[max(size, 0)]) if len(values) > max(size, 0) else 0.0)
    return min(found)


def _inverse_root(moment: np.ndarray) -> np.ndarray:
    """M^-1/2 on the directions that have spread."""
    values, vectors = np.linalg.eigh(moment)
    seen = values > 1e-3
    return (vectors[:, seen] / np.sqrt(values[seen])) @ vectors[:, seen].T
