"""Starts for vectors: clusters of the steps, and transitions between them.

States that are far from each other are clusters of the steps, whatever their order. States that differ in how much steps vary
are clusters of means and deviations in a window about each step. States that follow a fixed order are clusters of steps
together with their neighbours. Each clustering is k-means from centres that are computed from the data, see
`latentia.clusters`. Where states overlap and only their neighbours distinguish them, the moments are the better start.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._entries import missing_entries
from ..clusters import label_starts
from ..linalg import complete_table
from ..passes import Blocks
from ._chain import Chain
from .updates import missing_steps

_WINDOWS = (2, 8)  # steps on either side of the central step
_TRANSITION_PRIOR = 0.1  # pseudo-count of every transition
_MIN_VARIANCE = 1e-3  # variance within a cluster, relative to that of all steps
_MIN_SPREAD = 1e-6


def build_cluster_chains(blocks: Blocks, deviations: np.ndarray, k: int) -> dict[str, Chain]:
    """Build chains of K clusters of vectors, by the name of the clustering.

    Parameters
    ----------
    blocks : Blocks
        A sample of vectors in memory, (n, D), NaN where a step or a cell is missing, and the lengths of the sequences.
    deviations : ndarray of shape (D,)
        Standard deviations of the features, the units of distance.
    k : int
    """
    rows, lengths = (np.concatenate(parts) for parts in zip(*(block[:2] for block in blocks), strict=True))
    rows, sequence = rows / deviations, np.repeat(np.arange(len(lengths)), lengths)
    is_present = ~missing_steps(rows)
    rows, positions = _complete_rows(rows[is_present], k), np.flatnonzero(is_present)
    is_followed = (np.diff(positions) == 1) & (np.diff(sequence[is_present]) == 0)
    is_first = np.isin(positions, np.cumsum(lengths) - lengths)
    return {
        f"{features_name}, {method}": _chain(rows, labels, is_followed, is_first, k, deviations)
        for features_name, features in _build_features(rows, is_followed)
        for method, labels in label_starts(features, k).items()
    }


def _complete_rows(rows: np.ndarray, rank: int) -> np.ndarray:
    """Complete missing cells from the other columns by a low rank about the mean: states span few directions."""
    gaps = missing_entries(rows)
    if gaps is None:
        return rows
    observed_columns = np.flatnonzero(~gaps.all(axis=0))
    completed_rows, observed = np.zeros_like(rows), rows[:, observed_columns]
    means = np.nanmean(observed, axis=0)
    completed_rows[:, observed_columns] = (
        complete_table(observed - means, gaps[:, observed_columns], min(rank, max(len(observed_columns) - 1, 1)))
        + means
    )
    return completed_rows


def _build_features(rows: np.ndarray, is_followed: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Build the features for clustering, shape (n, .): centred, with columns of about the same spread."""
    centred = rows - rows.mean(axis=0)
    yield "steps", centred
    values, axes = np.linalg.eigh(centred.T @ centred / len(rows))
    yield "whitened steps", centred @ (axes / np.sqrt(np.maximum(values, _MIN_VARIANCE)))
    previous, following = np.roll(rows, 1, axis=0), np.roll(rows, -1, axis=0)
    previous[~np.append(False, is_followed)] = rows[~np.append(False, is_followed)]
    following[~np.append(is_followed, False)] = rows[~np.append(is_followed, False)]
    neighbours = np.hstack([rows, previous, following])
    yield "neighbours", neighbours - neighbours.mean(axis=0)
    segment = np.append(0, np.cumsum(~is_followed))
    start, end = np.searchsorted(segment, segment), np.searchsorted(segment, segment, side="right")
    position = np.arange(len(rows))
    cumulated, cumulated_squares = (
        np.vstack([np.zeros(rows.shape[1]), np.cumsum(table, axis=0)]) for table in (rows, rows**2)
    )
    for window in _WINDOWS:
        low, high = np.maximum(position - window, start), np.minimum(position + window + 1, end)
        size = (high - low)[:, None]
        means = (cumulated[high] - cumulated[low]) / size
        spread = 0.5 * np.log(
            np.maximum((cumulated_squares[high] - cumulated_squares[low]) / size - means**2, _MIN_SPREAD)
        )
        features = np.hstack([means, spread])
        features -= features.mean(axis=0)
        yield f"windows of {2 * window + 1}", features / np.maximum(features.std(axis=0), _MIN_SPREAD)


def _chain(
    rows: np.ndarray, labels: np.ndarray, is_followed: np.ndarray, is_first: np.ndarray, k: int, deviations: np.ndarray
) -> Chain:
    """Build the chain of labelled steps; a cluster without steps gets one of the rows as its mean."""
    means, variances = np.zeros((k, rows.shape[1])), np.ones((k, rows.shape[1]))
    for i in range(k):
        members = rows[labels == i]
        if len(members):
            means[i], variances[i] = members.mean(axis=0), np.maximum(members.var(axis=0), _MIN_VARIANCE)
        else:
            means[i] = rows[i % len(rows)]
    transitions, starts = np.full((k, k), _TRANSITION_PRIOR), np.full(k, _TRANSITION_PRIOR)
    np.add.at(transitions, (labels[:-1][is_followed], labels[1:][is_followed]), 1)
    np.add.at(starts, labels[is_first], 1)
    return Chain(
        starts / starts.sum(),
        transitions / transitions.sum(axis=1, keepdims=True),
        means * deviations,
        variances * deviations**2,
    )
