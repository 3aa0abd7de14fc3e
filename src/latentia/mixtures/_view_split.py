"""A split of one table's columns into three views, such that each pair of views distinguishes the components.

Moments of three views depend on the canonical correlations of the two views with the least in common: K components need K - 1
of them. Of several random splits the best one has the largest smallest correlation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..passes import Blocks, sample_rows
from ._columns import ColumnFeatures, Columns

_MAX_SPLITS = 40  # random splits
_MAX_TRIED = 8  # best splits, which are fitted
_MAX_FEATURES = 1000  # With more features the splits are not compared by correlations.
_MAX_ROWS = 10_000  # rows for the correlations
_PAIRS = ((0, 1), (0, 2), (1, 2))


def propose_splits(encoded: ColumnFeatures, n_components: int, seed: int) -> list[ColumnFeatures]:
    """Propose the best few splits of one view into three."""
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


def _split_columns(encoded: ColumnFeatures, views: list[list[int]]) -> ColumnFeatures:
    columns, table = replace(encoded.columns, views=views), encoded.blocks.table()
    return ColumnFeatures(
        columns, Blocks.from_array(*[table[:, _features_of_view(encoded.columns, view)] for view in views])
    )


def _assign_columns(order: np.ndarray, sizes: Sequence[int]) -> list[list[int]]:
    """Assign columns, one after the other, to the view with the fewest dimensions."""
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
    """Compute the correlations of the features, (D, D), with missing cells at their means."""
    (rows,) = sample_rows(features, _MAX_ROWS)
    missing = np.isnan(rows)
    centred = np.where(missing, 0.0, rows - np.nanmean(rows, axis=0))
    centred /= np.maximum(np.sqrt((centred**2).mean(axis=0)), np.finfo(float).tiny)
    return centred.T @ centred / len(centred)


def _min_correlation(views: Sequence[np.ndarray], correlations: np.ndarray, n_components: int) -> float:
    """Return the smallest canonical correlation that matters for K components, over all pairs of views."""
    roots = [_inverse_root(correlations[np.ix_(view, view)]) for view in views]
    correlations_of_pairs = []
    for a, b in _PAIRS:
        cross = roots[a] @ correlations[np.ix_(views[a], views[b])] @ roots[b]
        size = n_components - 2
        values = np.linalg.svd(cross, compute_uv=False)
        correlations_of_pairs.append(float(values[max(size, 0)]) if len(values) > max(size, 0) else 0.0)
    return min(correlations_of_pairs)


def _inverse_root(moment: np.ndarray) -> np.ndarray:
    """Compute M^-1/2 on directions that have spread."""
    values, vectors = np.linalg.eigh(moment)
    has_spread = values > 1e-3
    return (vectors[:, has_spread] / np.sqrt(values[has_spread])) @ vectors[:, has_spread].T
