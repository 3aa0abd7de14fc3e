"""Naive Bayes, one label against the rest: a simple classifier, which a head should not be worse than.

Let a_v and b_v be the shares of word v among the features of rows with a label and of rows without it. A row with features f
has the score log odds of the label + sum_v f_v log(a_v / b_v).
"""

from __future__ import annotations

import numpy as np

from ._full import Rows

_SMOOTHING = 0.1  # added to every sum


def naive_bayes(train: Rows, test: Rows) -> np.ndarray:
    """Compute scores (m, L) of test rows, learned from training rows."""
    n = train.labels.shape[0]
    total = np.asarray(train.features.sum(axis=0)).ravel()
    label_sums = (train.labels.T.astype(np.float32) @ train.features).toarray()
    ratios = _log_shares(label_sums) - _log_shares(np.maximum(total - label_sums, 0.0))
    odds = np.log(train.label_counts + 0.5) - np.log(n - train.label_counts + 0.5)
    return np.asarray(test.features @ ratios.T + odds)


def _log_shares(sums: np.ndarray) -> np.ndarray:
    smooth = sums + _SMOOTHING
    return np.log(smooth / smooth.sum(axis=1, keepdims=True))
