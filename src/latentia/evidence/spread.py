"""How much documents of one topic differ: whether words are independent given the topic.

Given its topic a document has the word probabilities p_d, which the model says are those of the topic, mu_k. If they are not,
the words of a document depend on each other beyond their topic, and moments and likelihood take for topics what mixes them. The
spread

    s_k^2 = E |P (p_d - mu_k)|^2,      |x|^2 = sum_v x_v^2 / f_v,

in the metric of even noise (f the overall frequencies of the words), is measured from pairs of different words of a document,
weighted by the topic's posterior, in which noise of the words cancels. P leaves out mu_k itself, since length is no topic.
Divided by the mean length it is about the square of an l1 distance.

Inside of the span of the topics a spread is a bias of about its size at the same time: topics are mixed. Beyond the span, in
directions of words that go together, it is that of topics that stand for several, which is averaged: a third of it counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .checks import Check, at_most

_SURE = 2.0  # standard deviations of the noise that do not count
_BEYOND = 1 / 3


@dataclass(frozen=True)
class Spread:
    """Mean squared spread of the documents of a topic, and its standard error, in units of l1.

    Attributes
    ----------
    inside : (float, float)
        In the span of the topics.
    beyond : (float, float)
        With further directions.
    """

    inside: tuple[float, float] = (0.0, 0.0)
    beyond: tuple[float, float] = (0.0, 0.0)

    def bias(self, errors: np.ndarray | None, weights: np.ndarray) -> float:
        """The error that it adds to a topic: what is left without its noise and without the errors of the topics themselves."""
        own = 0.0 if errors is None else float(weights @ errors**2)
        left = [
            share**2 * (square - own - _SURE * noise)
            for share, (square, noise) in ((1.0, self.inside), (_BEYOND, self.beyond))
        ]
        return float(np.sqrt(max(*left, 0.0)))

    @staticmethod
    def checks(bias: float | None, limit: float, what: str = "topic", rows: str = "documents") -> list[Check]:
        """One line, which asks for care where it fails."""
        return [
            Check(
                f"{rows} of a {what} alike", "|p_d - mu_k|", bias, at_most(limit),
                f"How far word probabilities of {rows} of one {what} are from one another, beyond chance: words should be "
                f"independent given the {what}. Expected errors are widened by it.", "not in the paper", "caution",
                f"The {rows} of one {what} differ more than {what}s may: ask for more of them, or use a model of {rows} that "
                f"mix {what}s.",
            )
        ]  # fmt: skip


def spread_of_documents(
    rows: Any, posterior: np.ndarray, topics: np.ndarray, frequencies: np.ndarray, further: np.ndarray, *, counts: bool
) -> Spread:
    """The spread of the documents of topics.

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
        Words are drawn one after the other; otherwise they are present or absent.
    """
    table, scale = sparse.csr_array(rows), 1 / np.sqrt(frequencies)
    span, _ = np.linalg.qr((topics * scale).T)
    inside = _spread(table, posterior, scale[:, None] * span, counts)
    if not further.shape[1]:
        return Spread(inside, inside)
    wider, _ = np.linalg.qr(np.hstack([span, further]))
    return Spread(inside, _spread(table, posterior, scale[:, None] * wider, counts))


def _spread(table: Any, posterior: np.ndarray, s: np.ndarray, counts: bool) -> tuple[float, float]:
    """Mean over the topics and its standard error, in coordinates S, shape (V, b)."""
    length = np.asarray(table.sum(axis=1)).ravel()
    if counts:
        posterior = posterior * (length >= 2)[:, None]
        pairs, single = 1 / np.maximum(length * (length - 1), 1), 1 / np.maximum(length, 1)
    else:
        pairs = single = np.ones(len(length))
    mass = np.maximum(posterior.sum(axis=0), 1e-100)  # whose square is in range
    means = (table.T @ (posterior * single[:, None])).T / mass[:, None]
    along = means @ s
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), np.finfo(float).tiny)
    # Pairs of different words: all pairs less those of a word with itself.
    own = (s**2).sum(axis=1)[:, None] - (s @ along.T) ** 2
    z = table @ s
    squares = pairs[:, None] * ((z**2).sum(axis=1)[:, None] - (z @ along.T) ** 2 - table.power(2) @ own)
    average = (posterior * squares).sum(axis=0) / mass
    variance = (posterior**2 * (squares - average) ** 2).sum(axis=0) / mass**2
    spread = average + np.einsum("kv,vk->k", means**2, own)
    weights = mass / mass.sum()
    unit = max(float(length.mean()), np.finfo(float).tiny) ** (1 if counts else -1)
    return unit * float(weights @ spread), unit * float(np.sqrt(weights**2 @ variance))
