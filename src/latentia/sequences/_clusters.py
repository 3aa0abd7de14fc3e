"""Starts for vectors: clusters of the steps, and how steps move from one to another.

States that are far from each other are clusters of the steps, whatever their order. Those that differ in how much steps vary
are clusters of means and deviations in a window about each step, and those that steps pass through in an order are clusters of
steps together with their neighbours. Each is found by k-means from centres that are computed from the data, see
`latentia.clusters`. Where states overlap, and their neighbours tell them apart, the moments are the better start.
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

_WINDOWS = (2, 8)  # steps on either side of one
_PRIOR = 0.1  # counts of every move
_LEAST = 1e-3  # variance in a cluster, of that of all steps
_TINY = 1e-6


def chains_of_clusters(blocks: Blocks, deviations: np.ndarray, k: int) -> dict[str, Chain]:
    """Build chains of K clusters of vectors, by the name of the way to find the clusters.

    Parameters
    ----------
    blocks : Blocks
        Some vectors in memory, (n, D), NaN where a step or a cell is missing, and the lengths of the sequences.
    deviations : ndarray of shape (D,)
        Units of the features.
    k : int
    """
    rows, lengths = (np.concatenate(parts) for parts in zip(*(block[:2] for block in blocks), strict=True))
    rows, sequence = rows / deviations, np.repeat(np.arange(len(lengths)), lengths)
    there = ~missing_steps(rows)
    rows, places = _whole(rows[there], k), np.flatnonzero(there)
    follows = (np.diff(places) == 1) & (np.diff(sequence[there]) == 0)
    firsts = np.isin(places, np.cumsum(lengths) - lengths)
    return {
        f"{table}, {way}": _chain(rows, labels, follows, firsts, k, deviations)
        for table, features in _tables(rows, follows)
        for way, labels in label_starts(features, k).items()
    }


def _whole(rows: np.ndarray, rank: int) -> np.ndarray:
    """Return the rows with missing cells completed from the other columns, about the mean: states span fewer directions."""
    gaps = missing_entries(rows)
    if gaps is None:
        return rows
    columns = np.flatnonzero(~gaps.all(axis=0))
    whole, observed = np.zeros_like(rows), rows[:, columns]
    means = np.nanmean(observed, axis=0)
    whole[:, columns] = complete_table(observed - means, gaps[:, columns], min(rank, max(len(columns) - 1, 1))) + means
    return whole


def _tables(rows: np.ndarray, follows: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """What steps are clustered by, shape (n, .): centred, with columns of about the same spread."""
    centred = rows - rows.mean(axis=0)
    yield "steps", centred
    values, axes = np.linalg.eigh(centred.T @ centred / len(rows))
    yield "whitened steps", centred @ (axes / np.sqrt(np.maximum(values, _LEAST)))
    before, after = np.roll(rows, 1, axis=0), np.roll(rows, -1, axis=0)
    before[~np.append(False, follows)] = rows[~np.append(False, follows)]
    after[~np.append(follows, False)] = rows[~np.append(follows, False)]
    neighbours = np.hstack([rows, before, after])
    yield "neighbours", neighbours - neighbours.mean(axis=0)
    piece = np.append(0, np.cumsum(~follows))
    start, end = np.searchsorted(piece, piece), np.searchsorted(piece, piece, side="right")
    place = np.arange(len(rows))
    totals, squares = (np.vstack([np.zeros(rows.shape[1]), np.cumsum(one, axis=0)]) for one in (rows, rows**2))
    for window in _WINDOWS:
        low, high = np.maximum(place - window, start), np.minimum(place + window + 1, end)
        size = (high - low)[:, None]
        means = (totals[high] - totals[low]) / size
        spread = 0.5 * np.log(np.maximum((squares[high] - squares[low]) / size - means**2, _TINY))
        features = np.hstack([means, spread])
        features -= features.mean(axis=0)
        yield f"windows of {2 * window + 1}", features / np.maximum(features.std(axis=0), _TINY)


def _chain(
    rows: np.ndarray, labels: np.ndarray, follows: np.ndarray, firsts: np.ndarray, k: int, deviations: np.ndarray
) -> Chain:
    """Build the chain of labelled steps; a cluster without steps is about one of them."""
    means, variances = np.zeros((k, rows.shape[1])), np.ones((k, rows.shape[1]))
    for i in range(k):
        members = rows[labels == i]
        if len(members):
            means[i], variances[i] = members.mean(axis=0), np.maximum(members.var(axis=0), _LEAST)
        else:
            means[i] = rows[i % len(rows)]
    moves, starts = np.full((k, k), _PRIOR), np.full(k, _PRIOR)
    np.add.at(moves, (labels[:-1][follows], labels[1:][follows]), 1)
    np.add.at(starts, labels[firsts], 1)
    return Chain(
        starts / starts.sum(), moves / moves.sum(axis=1, keepdims=True), means * deviations, variances * deviations**2
    )
