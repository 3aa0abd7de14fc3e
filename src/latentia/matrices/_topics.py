"""Topics read off a probability matrix: pairs alone leave a rotation open, which triples or anchor words settle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..simplex import distributions, farthest_vertices, simplex_least_squares
from ..tensor import apply_to_modes, decompose_whitened
from .factored import Factored


@dataclass(frozen=True)
class PairTopics:
    """A topic model B = P^T W P.

    Attributes
    ----------
    components : ndarray of shape (R, M)
        P: word probabilities of the topics; rows sum to one. The largest weight first.
    mixing : ndarray of shape (R, R)
        W: probability that a pair has its words of these two topics.
    anchors : ndarray of int or None
        The anchor words that were used.
    """

    components: np.ndarray
    mixing: np.ndarray
    anchors: np.ndarray | None = None

    @property
    def weights(self) -> np.ndarray:
        """Share of the words that each topic has, shape (R,)."""
        return self.mixing.sum(axis=1)


def topics_from_triples(model: Factored, marginals: np.ndarray, triples: Any, random_state: int) -> PairTopics:
    """Topics of documents of three words each, all of one topic: a tensor on the R-dimensional span of B.

    With Q^T B Q = I the tensor E[Q_x (x) Q_y (x) Q_z] over triples is orthogonally decomposable, and its eigenvectors are
    the whitened topics.
    """
    words = np.asarray(triples)
    if words.ndim != 2 or words.shape[1] != 3 or words.dtype.kind not in "iu" or not len(words):
        raise LatentiaError(f"triples has shape {words.shape} and type {words.dtype}: three whole numbers a row.")
    if words.min() < 0 or words.max() >= model.size:
        raise LatentiaError(f"triples has words from {words.min()} to {words.max()}, and there are {model.size} words.")
    rank = model.left.shape[1]
    # Coordinates in which B is the core: Q' = (left^+)^T in the metric that gives frequent and rare words equal noise.
    root = np.sqrt(marginals + 1 / model.size)
    coordinates = np.linalg.pinv(model.left / root[:, None]).T / root[:, None]
    third = np.zeros((rank,) * 3)
    for start in range(0, len(words), 1 << 16):
        x, y, z = (coordinates[column] for column in words[start : start + (1 << 16)].T)
        third += np.einsum("nab,nc->abc", x[:, :, None] * y[:, None, :], z, optimize=True)
    found = decompose_whitened(model.core, apply_to_modes(third / len(words), np.eye(rank)), rank, random_state)
    # mu = sqrt(w) (W^T)^+ v in the coordinates of the core, and the topic is left @ mu.
    columns = model.left @ (found.whitening.inverse @ found.vectors.T) * np.sign(found.weights)
    columns *= np.where(columns.sum(axis=0) < 0, -1.0, 1.0)
    components = distributions(columns.T, marginals)
    return _sorted(components, np.diag(_weights(found.weights)), None)


def topics_from_anchors(
    model: Factored, marginals: np.ndarray, n_topics: int, anchors: Any, least: float, n_jobs: int | None
) -> PairTopics:
    """Topics from words that occur in one topic each: the corners of the words' rows of B over their marginals."""
    known = marginals > 0
    points = np.where(known[:, None], model.left / np.where(known, marginals, 1.0)[:, None], 0.0)
    points = points * np.sqrt(np.abs(np.diag(model.core)))
    if anchors is None:
        candidates = np.flatnonzero(marginals >= least)
        if len(candidates) < n_topics:
            raise LatentiaError(
                f"{len(candidates)} words reach a frequency of {least:.3g}, and {n_topics} anchors are needed."
            )
        corners, _ = farthest_vertices(points, n_topics, candidates=candidates)
    else:
        corners = np.asarray(anchors)
        good = corners.shape == (n_topics,) and corners.dtype.kind in "iu" and len(np.unique(corners)) == n_topics
        if not good or corners.min() < 0 or corners.max() >= model.size:
            raise LatentiaError(
                f"anchors: {n_topics} different numbers of words from 0 to {model.size - 1}, one a topic."
            )
    if len(corners) < n_topics:
        raise LatentiaError(f"The matrix has {len(corners)} corners: it supports at most that many topics.")
    shares = np.zeros((model.size, n_topics))
    shares[known] = simplex_least_squares(points[known], points[corners], n_jobs=n_jobs)
    joint = shares * marginals[:, None]
    components = distributions(joint.T, marginals)
    small = np.linalg.pinv(components.T) @ model.left
    mixing = np.maximum(small @ model.core @ small.T, 0)
    return _sorted(components, mixing / mixing.sum(), corners)


def _weights(eigenvalues: np.ndarray) -> np.ndarray:
    """Weights w = 1 / lambda^2 of the whitened tensor's eigenvalues, with a sum of one."""
    weights = 1 / np.maximum(eigenvalues, 1e-12) ** 2
    return weights / weights.sum()


def _sorted(components: np.ndarray, mixing: np.ndarray, anchors: np.ndarray | None) -> PairTopics:
    order = np.argsort(-mixing.sum(axis=1), kind="stable")
    return PairTopics(components[order], mixing[np.ix_(order, order)], None if anchors is None else anchors[order])
