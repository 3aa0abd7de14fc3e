"""Recall of the topics of documents from their words, on documents that the words were not learned from.

Half of the documents give word probabilities of the topics, by each document's main topic. Documents of the other half get
the topic under which their words are most likely (multinomial naive Bayes with equal priors), and vice versa. Recall is the
share of a topic's documents that get their topic. Words without relation to the topics have a mean recall of 1 / K, for
instance if texts and embeddings are not in the same order.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..evidence import Check, above
from ..evidence.limits import MANY_STANDARD_ERRORS
from ..metrics import word_probabilities
from ..passes import Folds

_PSEUDO_WORDS = 20.0  # Words of the corpus that are added to each topic.


def measure_word_recall(counts: sparse.csr_array, labels: np.ndarray, k: int, folds: Folds) -> np.ndarray:
    """Measure how often words recall each topic on held-out documents, shape (K,); NaN for topics without documents."""
    is_first_half = np.isin(folds.of(np.arange(len(labels))), folds.splits[0][0])
    is_recalled = np.zeros(len(labels), dtype=bool)
    for is_learned in (is_first_half, ~is_first_half):
        is_recalled[~is_learned] = (
            _predict_labels(counts[is_learned], labels[is_learned], counts[~is_learned], k) == labels[~is_learned]
        )
    has_words = counts.sum(axis=1) > 0
    sizes = np.bincount(labels[has_words], minlength=k)
    n_recalled = np.bincount(labels[has_words], is_recalled[has_words], minlength=k)
    return np.where(sizes > 0, n_recalled / np.maximum(sizes, 1), np.nan)


def _predict_labels(learned: sparse.csr_array, labels: np.ndarray, held_out: sparse.csr_array, k: int) -> np.ndarray:
    """Return the topic under which the words of each held-out document are most likely."""
    shares = (labels[:, None] == np.arange(k)).astype(np.float64)
    n_words = shares.T @ learned.sum(axis=1)
    common = word_probabilities(learned, np.ones((len(labels), 1)))
    floor = 1e-3 / learned.shape[1]
    topic_counts = np.asarray(learned.T @ shares).T
    probabilities = (topic_counts + _PSEUDO_WORDS * (common + floor)) / (n_words + _PSEUDO_WORDS * (1 + 1e-3))[:, None]
    return np.asarray((held_out @ np.log(probabilities).T).argmax(axis=1))


def word_recall_checks(recall: np.ndarray, labels: np.ndarray) -> list[Check]:
    """Return a check, a veto, that words recall the topics more often than chance."""
    k, sizes = len(recall), np.maximum(np.bincount(labels, minlength=len(recall)), 1)
    is_measured = np.isfinite(recall)
    if k < 2 or is_measured.sum() < 2:
        return []
    share = (recall * sizes + 1) / (sizes + 2)
    error = np.sqrt(np.sum((share * (1 - share) / sizes)[is_measured])) / is_measured.sum()
    return [
        Check(
            "words identify the topics", "recall", float(recall[is_measured].mean()),
            above(min(1 / k + MANY_STANDARD_ERRORS * float(error), 1.0)),
            "Share of a topic's documents whose words alone identify the topic, learned on other documents: the mean over the "
            f"topics, which is {1 / k:.2g} by chance.",
            "not in the papers", "veto",
            "The words have nothing to do with the topics: check that texts and embeddings are in the same order. If they are, "
            "read documents of a topic instead of its words.",
        )
    ]  # fmt: skip
