"""From anchors to topics: the recoveries of the thesis.

Every word's conditional row is a convex combination of the anchors' rows, with weights C_wk = P(topic k | word w);
Bayes' rule with the word frequencies turns them into topics, A_kw = C_wk p_w / sum_v C_vk p_v (thesis, section 4.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from ..exceptions import LatentiaError, NegativeRecoveryWarning, warn
from ..simplex import simplex_least_squares
from ._anchors import Anchor, vertex_rows
from ._embedding import Embedding

_MERGED_COLUMNS = 512


def l2_topics(
    embedding: Embedding, anchors: list[Anchor], codes: np.ndarray, *, tol: float, n_jobs: int | None = None
) -> np.ndarray:
    """Topics (K, V') by least squares in the embedding: RecoverL2 (section 4.1)."""
    vertices = vertex_rows(embedding, anchors, codes)
    weights = simplex_least_squares(embedding.rows, vertices, tol=tol, n_jobs=n_jobs)
    return _bayes(weights, embedding.marginal)


def kl_topics(
    embedding: Embedding, anchors: list[Anchor], codes: np.ndarray, q: Any, *, tol: float, random_state: int
) -> np.ndarray:
    """Topics (K, V') by divergence on rows of Q with columns merged at random: RecoverKL (Alg. 4.2).

    ``q`` is a `Cooccurrence`, which one more pass is made over, or Q itself.
    """
    if any(strength != 1 for anchor in anchors for strength in anchor.strengths):
        raise LatentiaError(
            "this recovery knows no strengths of anchors below 1, and 'l2' does.", parameter="recover", value="kl"
        )
    size = len(embedding.marginal)
    merged = np.zeros((size, min(_MERGED_COLUMNS, size)))
    merged[np.arange(size), np.random.default_rng(random_state).permutation(size) % merged.shape[1]] = 1.0
    rows = np.maximum(_product(q, merged), 0.0)
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    tandem = [codes[list(anchor.words)] for anchor in anchors]
    shares = [embedding.marginal[words] / embedding.marginal[words].sum() for words in tandem]
    vertices = np.array([share @ rows[words] for share, words in zip(shares, tandem, strict=True)])
    return _bayes(_kl_weights(rows, vertices, tol=max(tol * 1e-2, 1e-12)), embedding.marginal)


def inverse_topics(embedding: Embedding, anchors: list[Anchor], codes: np.ndarray, q: Any) -> np.ndarray:
    """Topics (K, V') by matrix inversion: Recover (Alg. 3.2 and 3.3; R is read off the sketch, for all recoveries).

    ``q`` is a `Cooccurrence`, which one more pass is made over for the anchors' rows, D R A^T in the thesis; or Q itself.

    Warns
    -----
    NegativeRecoveryWarning
        If scalings or probabilities come out negative; they are clipped at zero.
    """
    if any(len(anchor.words) > 1 or anchor.strengths != (1.0,) for anchor in anchors):
        raise LatentiaError(
            "this recovery takes single words of strength 1 as anchors, and 'l2' any.",
            parameter="recover",
            value="inverse",
        )
    words = codes[[anchor.words[0] for anchor in anchors]]
    columns = np.zeros((len(embedding.marginal), len(words)))
    columns[words, np.arange(len(words))] = 1.0
    anchor_rows = _product(q, columns).T
    corner = anchor_rows[:, words]
    try:
        scaling = linalg.solve(corner, anchor_rows.sum(axis=1))
        topics = linalg.solve(corner * scaling, anchor_rows)
    except linalg.LinAlgError:
        raise LatentiaError(
            "the anchors' block of Q is singular. Use 'l2', which needs no inverse.",
            parameter="recover",
            value="inverse",
        ) from None
    negative, mass = int((scaling < 0).sum()), float(-topics[topics < 0].sum() / np.abs(topics).sum())
    if negative or mass > 0.01:
        warn(
            f"recover='inverse': {negative} of {len(anchors)} scalings are negative, and {100 * mass:.0f}% of the mass of "
            "the topics was negative and is clipped. The inverse amplifies noise: recover='l2' does not.",
            NegativeRecoveryWarning,
        )
    topics = np.maximum(topics, 0.0)
    topics[topics.sum(axis=1) == 0] = 1.0
    return topics / topics.sum(axis=1, keepdims=True)


def _product(q: Any, columns: np.ndarray) -> np.ndarray:
    return q @ columns if isinstance(q, np.ndarray) else q.product(columns)


def _bayes(weights: np.ndarray, marginal: np.ndarray) -> np.ndarray:
    """Topics, shape (K, V), from P(topic | word), shape (V, K), and P(word), shape (V,)."""
    joint = (weights * marginal[:, None]).T
    prevalence = joint.sum(axis=1, keepdims=True)
    if not (prevalence > 1e-12 * prevalence.sum()).all():
        empty = int(np.argmin(prevalence))
        raise LatentiaError(
            f"Topic {empty} got no words: its anchor is a mixture of the other anchors. Give it another anchor, or remove it."
        )
    return joint / prevalence


def _kl_weights(rows: np.ndarray, vertices: np.ndarray, *, tol: float = 1e-6, max_iter: int = 500) -> np.ndarray:
    """Convex weights that minimise D(row || weights @ vertices): RecoverKL (Alg. 4.2), by EM, shape (V, K).

    Rows and vertices are distributions over the same columns (words merged at random: merging keeps the model exact).
    Multiplicative updates decrease the divergence monotonically; the loop stops when no weight moves by ``tol``.
    """
    weights = simplex_least_squares(rows, vertices, tol=1e-2)
    weights = 0.9 * weights + 0.1 / len(vertices)  # EM cannot leave zero
    active = np.flatnonzero(rows.sum(axis=1) > 0)
    for _ in range(max_iter):
        current = weights[active]
        ratio = rows[active] / np.maximum(current @ vertices, 1e-300)
        updated = current * (ratio @ vertices.T)
        updated /= np.maximum(updated.sum(axis=1, keepdims=True), 1e-300)
        weights[active] = updated
        active = active[np.abs(updated - current).max(axis=1) > tol]
        if not len(active):
            break
    return weights
