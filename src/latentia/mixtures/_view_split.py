"""Columns of one table dealt into three views, so that each pair of views tells the components apart.

What moments can learn from three views goes by the canonical correlations of the two that have least in common: K components
need K - 1 of them. Of several ways to deal the columns that one is taken whose smallest is largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..passes import Blocks, sample_rows
from ._columns import Columns, EncodedRows

_MAX_SPLITS = 40  # that are compared
_MAX_TRIED = 8  # that are tried
_MAX_FEATURES = 1000  # with which they are
_MAX_ROWS = 10_000
_PAIRS = ((0, 1), (0, 2), (1, 2))


def propose_splits(encoded: EncodedRows, n_components: int, seed: int) -> list[EncodedRows]:
    """The columns and features of one view in three, in the best few ways."""
    columns, features = encoded.columns, encoded.blocks
    sizes = [columns.free([column]) for column in range(len(columns.names))]
    rng = np.random.default_rng(seed)
    splits = [_assign_columns(rng.permutation(len(sizes)), sizes) for _ in range(_MAX_SPLITS)]
    if features.shapes[0][1] <= _MAX_FEATURES:
        correlations = _compute_correlations(features)
        splits.sort(
            key=lambda views: (
                -_min_correlation([_features_of_view(columns, view) for view in views], correlations, n_components)
            )
        )
    return [_split_columns(encoded, views) for views in splits[:_MAX_TRIED]]


def _split_columns(encoded: EncodedRows, views: list[list[int]]) -> EncodedRows:
    columns, table = replace(encoded.columns, views=views), encoded.blocks.table()
    return EncodedRows(
        columns, Blocks.from_array(*[table[:, _features_of_view(encoded.columns, view)] for view in views])
    )


def _assign_columns(order: np.ndarray, sizes: Sequence[int]) -> list[list[int]]:
    """Columns, one after the other, into the view that has the fewest dimensions."""
    views: list[list[int]] = [[], [], []]
    dimensions = [0, 0, 0]
    for column in order.tolist():
        view = min(range(3), key=lambda i: (dimensions[i], len(views[i])))
        views[view].append(column)
        dimensions[view] += sizes[column]
    return [sorted(view) for view in views]


def _features_of_view(columns: Columns, view: Sequence[int]) -> np.ndarray:
    return np.concatenate([columns.places[column] for column in view]) if view else np.empty(0, int)


def _compute_correlations(features: Blocks) -> np.ndarray:
    """Of the features, (D, D), those that are missing at their means."""
    (rows,) = sample_rows(features, _MAX_ROWS)
    missing = np.isnan(rows)
    centred = np.where(missing, 0.0, rows - np.nanmean(rows, axis=0))
    centred /= np.maximum(np.sqrt((centred**2).mean(axis=0)), np.finfo(float).tiny)
    return centred.T @ centred / len(centred)


def _min_correlation(views: Sequence[np.ndarray], correlations: np.ndarray, n_components: int) -> float:
    """The smallest canonical correlation that tells components apart, of the two views that have least in common."""
    roots = [_inverse_root(correlations[np.ix_(view, view)]) for view in views]
    correlations_of_pairs = []
    for a, b in _PAIRS:
        cross = roots[a] @ correlations[np.ix_(views[a], views[b])] @ roots[b]
        size = n_components - 2
        values = np.linalg.svd(cross, compute_uv=False)
        correlations_of_pairs.append(float(values[max(size, 0)]) if len(values) > max(size, 0) else 0.0)
    return min(correlations_of_pairs)


def _inverse_root(moment: np.ndarray) -> np.ndarray:
    """M^-1/2 on the directions that have spread."""
    values, vectors = np.linalg.eigh(moment)
    has_spread = values > 1e-3
    return (vectors[:, has_spread] / np.sqrt(values[has_spread])) @ vectors[:, has_spread].T
