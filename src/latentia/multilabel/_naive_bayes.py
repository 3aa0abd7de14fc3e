"""Naive Bayes, one label against the rest: the simple classifier that a head should rank labels at least as well as.

With the sums of the features of rows that have a label, and of those that lack it, as shares a_v and b_v, a row with features f
has the score log odds of the label + sum_v f_v log(a_v / b_v).
"""

from __future__ import annotations

import numpy as np

from ._full import Rows

_SMOOTHING = 0.1  # added to every sum


def naive_bayes(part: Rows, rest: Rows) -> np.ndarray:
    """Scores (m, L) of rows from other rows."""
    n = part.labels.shape[0]
    total = np.asarray(part.features.sum(axis=0)).ravel()
    own = (part.labels.T.astype(np.float32) @ part.features).toarray()
    ratios = _log_shares(own) - _log_shares(np.maximum(total - own, 0.0))
    odds = np.log(part.label_counts + 0.5) - np.log(n - part.label_counts + 0.5)
    return np.asarray(rest.features @ ratios.T + odds)


def _log_shares(sums: np.ndarray) -> np.ndarray:
    smooth = sums + _SMOOTHING
    return np.log(smooth / smooth.sum(axis=1, keepdims=True))
