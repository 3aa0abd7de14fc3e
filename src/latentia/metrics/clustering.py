"""Accuracy of clusters, each named after the most frequent label in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.cluster import contingency_matrix

from ..exceptions import LatentiaError


def many_to_one_accuracy(predicted: Any, true: Any) -> float:
    """Return the share of samples whose label is the most frequent one in their cluster.

    Several clusters may have the same label, so more clusters than labels raise the accuracy.

    Parameters
    ----------
    predicted : array-like of shape (n,), int or str
        Clusters.
    true : array-like of shape (n,), int or str
        Labels.

    Returns
    -------
    float

    References
    ----------
    Johnson: Why doesn't EM find good HMM POS-taggers?, EMNLP-CoNLL 2007.

    Examples
    --------
    >>> many_to_one_accuracy([0, 0, 0, 1], ["noun", "noun", "verb", "verb"])
    0.75
    """
    predicted, true = np.asarray(predicted), np.asarray(true)
    if predicted.ndim != 1 or predicted.shape != true.shape or not len(true):
        raise LatentiaError(
            f"predicted has shape {predicted.shape} and true {true.shape}; expected one cluster and one label per sample."
        )
    counts = contingency_matrix(true, predicted, sparse=True)
    return float(counts.max(axis=0).sum() / len(true))
