"""Spread of the documents of one topic: are words independent given the topic?

Given its topic, a document has word probabilities p_d, which the model assumes to be those of the topic, mu_k. If they differ,
the words of a document depend on each other beyond their topic, and moments and likelihood mistake mixtures for topics. The
spread

    s_k^2 = E |P (p_d - mu_k)|^2,      |x|^2 = sum_v x_v^2 / f_v,

in the metric of even noise (f are the overall word frequencies), is measured from pairs of different words of a document,
weighted by the topic's posterior; there the noise of the words cancels. P projects out mu_k itself, since length is no topic.
Divided by the mean length, it is about the square of an l1 distance.

Inside the span of the topics, a spread is also a bias of about its size: topics are mixed. Beyond the span, it comes from
topics that merge several, and averages out: a third of it counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .checks import Check, at_most
from .limits import STANDARD_ERRORS

_BEYOND_SHARE = 1 / 3  # share of the spread beyond the topics' span that counts as bias


@dataclass(frozen=True)
class Spread:
    """Mean squared spread of the documents of a topic, and its standard error, in units of l1.

    Attributes
    ----------
    inside : (float, float)
        Spread in the span of the topics, and its standard error.
    beyond : (float, float)
        The same with further directions.
    """

    inside: tuple[float, float] = (0.0, 0.0)
    beyond: tuple[float, float] = (0.0, 0.0)

    def bias(self, errors: np.ndarray | None, weights: np.ndarray) -> float:
        """Return the error that the spread adds to a topic, without its noise and the errors of the topics."""
        topic_error = 0.0 if errors is None else float(weights @ errors**2)
        excesses = [
            share**2 * (square - topic_error - STANDARD_ERRORS * noise)
            for share, (square, noise) in ((1.0, self.inside), (_BEYOND_SHARE, self.beyond))
        ]
        return float(np.sqrt(max(*excesses, 0.0)))

    @staticmethod
    def checks(bias: float | None, limit: float, noun: str = "topic", rows: str = "documents") -> list[Check]:
        """Build one note."""
        return [
            Check(
                f"{rows} of a {noun} alike", "|p_d - mu_k|", bias, at_most(limit),
                f"How much word probabilities differ between {rows} of one {noun}, beyond chance: words should be "
                f"independent given the {noun}. Expected errors include it.", "not in the paper", "note",
                f"The {rows} of one {noun} differ too much: ask for more {noun}s, or use a model of {rows} that mix {noun}s.",
            )
        ]  # fmt: skip


def spread_of_documents(
    rows: Any, posterior: np.ndarray, topics: np.ndarray, frequencies: np.ndarray, further: np.ndarray, *, counts: bool
) -> Spread:
    """Measure the spread of the documents of each topic.

    Parameters
    ----------
    rows : sparse matrix of shape (n, V)
        Counts or occurrences in some documents.
    posterior : ndarray of shape (n, K)
    topics : ndarray of shape (K, V)
        Word probabilities.
    frequencies : ndarray of shape (V,)
        Share of the documents with the word; positive.
    further : ndarray of shape (V, r)
        Further directions in the metric's coordinates, x_v / sqrt(f_v); r may be zero.
    counts : bool
        True if words are counted; False if they are present or absent.
    """
    table, scale = sparse.csr_array(rows), 1 / np.sqrt(frequencies)
    span, _ = np.linalg.qr((topics * scale).T)
    inside = _measure_spread(table, posterior, scale[:, None] * span, counts)
    if not further.shape[1]:
        return Spread(inside, inside)
    wider, _ = np.linalg.qr(np.hstack([span, further]))
    return Spread(inside, _measure_spread(table, posterior, scale[:, None] * wider, counts))


def _measure_spread(table: Any, posterior: np.ndarray, coordinates: np.ndarray, counts: bool) -> tuple[float, float]:
    """Return the mean spread over topics and its standard error, in ``coordinates``, shape (V, b)."""
    length = np.asarray(table.sum(axis=1)).ravel()
    if counts:
        posterior = posterior * (length >= 2)[:, None]
        pair_weights, word_weights = 1 / np.maximum(length * (length - 1), 1), 1 / np.maximum(length, 1)
    else:
        pair_weights = word_weights = np.ones(len(length))
    mass = np.maximum(posterior.sum(axis=0), 1e-100)  # its square is in range
    means = (table.T @ (posterior * word_weights[:, None])).T / mass[:, None]
    topic_directions = means @ coordinates
    topic_directions /= np.maximum(np.linalg.norm(topic_directions, axis=1, keepdims=True), np.finfo(float).tiny)
    # Pairs of different words: all pairs less those of a word with itself.
    same_word = (coordinates**2).sum(axis=1)[:, None] - (coordinates @ topic_directions.T) ** 2
    document_coordinates = table @ coordinates
    squares = pair_weights[:, None] * (
        (document_coordinates**2).sum(axis=1)[:, None]
        - (document_coordinates @ topic_directions.T) ** 2
        - table.power(2) @ same_word
    )
    average = (posterior * squares).sum(axis=0) / mass
    variance = (posterior**2 * (squares - average) ** 2).sum(axis=0) / mass**2
    spread = average + np.einsum("kv,vk->k", means**2, same_word)
    weights = mass / mass.sum()
    unit = max(float(length.mean()), np.finfo(float).tiny) ** (1 if counts else -1)
    return unit * float(weights @ spread), unit * float(np.sqrt(weights**2 @ variance))
