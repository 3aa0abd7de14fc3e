"""Assessment of a head on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..metrics import document_auc, precision_at_k, top_indices

RARE = 5  # labels with fewer rows are rare
_AT = (1, 3, 5)  # numbers of first labels in the precisions


@dataclass(frozen=True)
class Precision:
    """Precision at 1, 3 and 5 (as far as there are labels) of each row, and its AUC.

    Attributes
    ----------
    rows : ndarray of shape (n, at most 3)
    each_auc : ndarray of shape (n,)
        NaN if a row has no label, or all labels.
    """

    rows: np.ndarray
    each_auc: np.ndarray

    @property
    def auc(self) -> float:
        """Mean AUC; NaN if no row has a label and lacks another."""
        is_known = np.isfinite(self.each_auc)
        return float(self.each_auc[is_known].mean()) if is_known.any() else np.nan

    @property
    def criterion(self) -> float:
        """Criterion that compares heads: the mean of the precisions and the AUC."""
        values = [*self.rows.mean(axis=0), *([self.auc] if np.isfinite(self.auc) else [])]
        return float(np.mean(values))

    @property
    def ranking(self) -> np.ndarray:
        """Criterion of each row, shape (n,)."""
        return np.asarray(np.nanmean(np.column_stack([self.rows, self.each_auc]), axis=1))


class Gain(NamedTuple):
    """Mean gain of a ranking of labels over a simpler one, with its standard error.

    ``value`` and ``simple`` are the criteria of both: means of the precisions and the AUC.
    """

    value: float
    simple: float
    mean: float
    error: float

    @classmethod
    def compare(cls, precision: Precision, simple: Precision) -> Gain:
        gains = precision.ranking - simple.ranking
        error = float(gains.std() / np.sqrt(max(len(gains), 1)))
        return cls(float(precision.ranking.mean()), float(simple.ranking.mean()), float(gains.mean()), error)


@dataclass(frozen=True)
class Assessment:
    """Measures of a head on held-out rows.

    Attributes
    ----------
    description : str
        How the rows were held out.
    n_rows, n_labels : int
    first, first_five : float
        Precision at 1 and at 5 (or at L).
    auc : float
    frequent : float
        Precision at 1 of the most frequent label.
    over_frequencies : Gain
        Gain over labels in the order of their frequencies, the same for all rows.
    over_bayes : Gain or None
        Gain over naive Bayes, if that was fitted.
    n_rare, rare_predicted, rare_right : int
        Labels with fewer than 5 rows, how often one is among the first five of a row, and how often it is right.
    """

    description: str
    n_rows: int
    n_labels: int
    first: float
    first_five: float
    auc: float
    frequent: float
    over_frequencies: Gain
    over_bayes: Gain | None
    n_rare: int
    rare_predicted: int
    rare_right: int


def precision_of(scores: np.ndarray, labels: sparse.csr_array, n_jobs: int | None = None) -> Precision:
    """Compute the precision of scores (n, L) of rows with labels (n, L)."""
    top, _ = top_indices(scores, max(_AT), n_jobs)
    at = [k for k in _AT if k <= top.shape[1]]
    return Precision(
        np.stack([precision_at_k(labels, top, k) for k in at], axis=1), document_auc(labels, scores, n_jobs)
    )


def assess(
    description: str,
    scores: np.ndarray,
    labels: sparse.csr_array,
    label_counts: np.ndarray,
    bayes_scores: np.ndarray | None = None,
) -> Assessment:
    """Assess scores (n, L) of rows with labels (n, L); ``label_counts`` are those of the training rows.

    ``bayes_scores`` are scores of naive Bayes for the same rows.
    """
    precision, top = precision_of(scores, labels), top_indices(scores, max(_AT))[0]
    frequent = precision_of(np.tile(label_counts.astype(scores.dtype), (len(scores), 1)), labels)
    is_rare = (label_counts > 0) & (label_counts < RARE)
    is_rare_prediction = is_rare[top]
    is_right = np.asarray(labels[np.repeat(np.arange(len(top)), top.shape[1]), top.ravel()]).ravel() != 0
    return Assessment(
        description, len(top), labels.shape[1], float(precision.rows[:, 0].mean()), float(precision.rows[:, -1].mean()),
        precision.auc, float(frequent.rows[:, 0].mean()), Gain.compare(precision, frequent),
        None if bayes_scores is None else Gain.compare(precision, precision_of(bayes_scores, labels)),
        int(is_rare.sum()), int(is_rare_prediction.sum()),
        int((is_right.reshape(is_rare_prediction.shape) & is_rare_prediction).sum()),
    )  # fmt: skip
