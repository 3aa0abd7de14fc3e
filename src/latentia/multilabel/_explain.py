"""Explanations of labels: the words that speak for a label, and the topics of the document that have it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._features import features
from ._features import words as words_of
from ._topics import SMOOTHING


@dataclass(frozen=True)
class Explanation:
    """Explanation of a label of a document.

    Attributes
    ----------
    label : int
        Column of Y.
    name : str
    score, probability : float
    words : list of (str, float)
        Words of the document that speak most for the label, with their contributions. For linear heads, contributions of all
        words and the intercept add up to the score. For topics, it is the log ratio of the word's probability in the
        document's topics with the label and overall.
    intercept : float
        Score of a document without words.
    topics : list of (int, float, float)
        Topic, its posterior probability, and the probability of the label in it; by their product. Empty without topics.
    """

    label: int
    name: str
    score: float
    probability: float
    words: list[tuple[str, float]]
    intercept: float
    topics: list[tuple[int, float, float]]


def explain_by_head(
    model: Any, table: Any, labels_of_rows: np.ndarray, posterior: np.ndarray, n_words: int, n_topics: int
) -> list[list[Explanation]]:
    """Explain labels whose score is linear in the words."""
    weighted = features(table, model.inverse_document_frequency_)

    def contributions(row: int, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        entries = slice(weighted.indptr[row], weighted.indptr[row + 1])
        indices, data = weighted.indices[entries], weighted.data[entries].astype(np.float64)
        basis = model.word_features_
        weights = model.coef_[np.ix_(indices, labels)] if basis is None else (
            basis[indices].astype(np.float64) @ model.coef_[:, labels]
        )  # fmt: skip
        contributions_of_words = data[:, None] * weights
        return indices, contributions_of_words, contributions_of_words.sum(axis=0) + model.intercept_[labels]

    return _make_explanations(model, labels_of_rows, posterior, contributions, model.intercept_, n_words, n_topics)


def explain_by_topics(
    model: Any, table: Any, labels_of_rows: np.ndarray, posterior: np.ndarray, n_words: int, n_topics: int
) -> list[list[Explanation]]:
    """Explain labels whose score is a mean over the posterior of topics."""
    present, gamma, tiny = words_of(table, model._occurrences), model._label_model(), np.finfo(float).tiny

    def contributions(row: int, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        entries = slice(present.indptr[row], present.indptr[row + 1])
        indices, data = present.indices[entries], present.data[entries]
        joint = posterior[row][:, None] * gamma[:, labels]
        scores = joint.sum(axis=0)
        shares = joint / np.maximum(scores, np.finfo(float).tiny)
        of_words = model.word_probabilities_[:, indices]
        overall = (model.weights_ @ of_words)[:, None]
        of_topics = (1 - SMOOTHING) * of_words.T @ shares + SMOOTHING * overall
        return indices, data[:, None] * np.log(np.maximum(of_topics, tiny) / np.maximum(overall, tiny)), scores

    return _make_explanations(
        model, labels_of_rows, posterior, contributions, model.weights_ @ gamma, n_words, n_topics
    )


def _make_explanations(
    model: Any, labels_of_rows: np.ndarray, posterior: np.ndarray, contributions: Any, intercept: np.ndarray, n_words: int,
    n_topics: int,
) -> list[list[Explanation]]:  # fmt: skip
    words, labels = model.word_names, model.names_of_labels
    explanations = []
    for row, labels_of_row in enumerate(labels_of_rows):
        indices, parts, scores = contributions(row, labels_of_row)
        explanations.append(
            [
                Explanation(
                    int(label), f"label {label}" if labels is None else str(labels[label]), float(scores[j]),
                    float(model.probability_of(scores[j])),
                    [(f"word {v}" if words is None else str(words[v]), c) for v, c in _best(indices, parts[:, j], n_words)],
                    float(intercept[label]), list(_topics(model, posterior[row], label, n_topics)),
                )
                for j, label in enumerate(labels_of_row)
            ]
        )  # fmt: skip
    return explanations


def _best(indices: np.ndarray, values: np.ndarray, n: int) -> Iterator[tuple[int, float]]:
    for i in np.argsort(-values, kind="stable")[:n]:
        yield int(indices[i]), float(values[i])


def _topics(model: Any, posterior: np.ndarray, label: int, n: int) -> Iterator[tuple[int, float, float]]:
    if not model.topics:
        return
    gamma = model.label_probabilities_[:, label]
    for k in np.argsort(-posterior * gamma, kind="stable")[:n]:
        yield int(k), float(posterior[k]), float(gamma[k])
