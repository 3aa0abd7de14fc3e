"""Topics from a probability matrix: pairs determine them up to a rotation, which triples or anchor words fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import array_of
from ..exceptions import LatentiaError
from ..simplex import distributions, farthest_vertices, simplex_least_squares
from ..tensor import apply_to_modes, decompose_whitened
from .factored import LowRankProduct


@dataclass(frozen=True)
class PairTopics:
    """A topic model B = P^T W P.

    Attributes
    ----------
    components : ndarray of shape (R, M)
        P: word probabilities of the topics, in order of decreasing weight; rows sum to one.
    mixing : ndarray of shape (R, R)
        W: probability that the words of a pair come from these two topics.
    anchors : ndarray of int or None
        The anchor words.
    """

    components: np.ndarray
    mixing: np.ndarray
    anchors: np.ndarray | None = None

    @property
    def weights(self) -> np.ndarray:
        """Share of each topic in all words, shape (R,)."""
        return self.mixing.sum(axis=1)


def topics_from_triples(model: LowRankProduct, marginals: np.ndarray, triples: Any, random_state: int) -> PairTopics:
    """Return topics from documents of three words each, all of one topic, by a tensor on the R-dimensional span of B.

    With Q^T B Q = I the tensor E[Q_x (x) Q_y (x) Q_z] over triples is orthogonally decomposable, and its eigenvectors are
    the whitened topics.
    """
    words = array_of(triples, "triples")
    if words.ndim != 2 or words.shape[1] != 3 or words.dtype.kind not in "iu" or not len(words):
        raise LatentiaError(
            f"triples has shape {words.shape} and dtype {words.dtype}: expected three whole numbers a row."
        )
    if words.min() < 0 or words.max() >= model.size:
        raise LatentiaError(
            f"triples: expected words from 0 to {model.size - 1}, found {words.min()} to {words.max()}."
        )
    rank = model.factor.shape[1]
    # Coordinates in which B is the core: Q' = (left^+)^T in the metric that gives frequent and rare words equal noise.
    root = np.sqrt(marginals + 1 / model.size)
    coordinates = np.linalg.pinv(model.factor / root[:, None]).T / root[:, None]
    third = np.zeros((rank,) * 3)
    for start in range(0, len(words), 1 << 16):
        x, y, z = (coordinates[column] for column in words[start : start + (1 << 16)].T)
        third += np.einsum("nab,nc->abc", x[:, :, None] * y[:, None, :], z, optimize=True)
    decomposition = decompose_whitened(model.core, apply_to_modes(third / len(words), np.eye(rank)), rank, random_state)
    # mu = sqrt(w) (W^T)^+ v in the coordinates of the core, and the topic is left @ mu.
    columns = (
        model.factor @ (decomposition.whitening.inverse @ decomposition.vectors.T) * np.sign(decomposition.weights)
    )
    columns *= np.where(columns.sum(axis=0) < 0, -1.0, 1.0)
    components = distributions(columns.T, marginals)
    return _sort_topics(components, np.diag(_compute_weights(decomposition.weights)), None)


def topics_from_anchors(
    model: LowRankProduct, marginals: np.ndarray, n_topics: int, anchors: Any, min_frequency: float, n_jobs: int | None
) -> PairTopics:
    """Return topics from words that occur in one topic each: corners of the words' rows of B over their marginals."""
    is_observed = marginals > 0
    points = np.where(is_observed[:, None], model.factor / np.where(is_observed, marginals, 1.0)[:, None], 0.0)
    points = points * np.sqrt(np.abs(np.diag(model.core)))
    if anchors is None:
        candidates = np.flatnonzero(marginals >= min_frequency)
        if len(candidates) < n_topics:
            raise LatentiaError(
                f"Expected {n_topics} or more words with a frequency of {min_frequency:.3g} for anchors, found "
                f"{len(candidates)}."
            )
        corners, _ = farthest_vertices(points, n_topics, candidates=candidates)
    else:
        corners = array_of(anchors, "anchors")
        is_valid = corners.shape == (n_topics,) and corners.dtype.kind in "iu" and len(np.unique(corners)) == n_topics
        if not is_valid or corners.min() < 0 or corners.max() >= model.size:
            raise LatentiaError(
                f"anchors: expected {n_topics} different numbers of words from 0 to {model.size - 1}, one a topic."
            )
    if len(corners) < n_topics:
        raise LatentiaError(f"The matrix has {len(corners)} corners: it supports at most that many topics.")
    shares = np.zeros((model.size, n_topics))
    shares[is_observed] = simplex_least_squares(points[is_observed], points[corners], n_jobs=n_jobs)
    joint = shares * marginals[:, None]
    components = distributions(joint.T, marginals)
    small = np.linalg.pinv(components.T) @ model.factor
    mixing = np.maximum(small @ model.core @ small.T, 0)
    return _sort_topics(components, mixing / mixing.sum(), corners)


def _compute_weights(eigenvalues: np.ndarray) -> np.ndarray:
    """Return weights w = 1 / lambda^2 of the whitened tensor's eigenvalues, with a sum of one."""
    weights = 1 / np.maximum(eigenvalues, 1e-12) ** 2
    return weights / weights.sum()


def _sort_topics(components: np.ndarray, mixing: np.ndarray, anchors: np.ndarray | None) -> PairTopics:
    order = np.argsort(-mixing.sum(axis=1), kind="stable")
    return PairTopics(components[order], mixing[np.ix_(order, order)], None if anchors is None else anchors[order])
