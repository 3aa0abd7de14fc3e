"""Recovery of topics from their anchors, by RecoverL2 of the thesis.

Every word's conditional row is a convex combination of the anchors' rows, with weights C_wk = P(topic k | word w);
Bayes' rule with the word frequencies turns them into topics, A_kw = C_wk p_w / sum_v C_vk p_v (thesis, section 4.1).
"""

from __future__ import annotations

import numpy as np

from ..exceptions import LatentiaError
from ..simplex import simplex_least_squares
from ._anchors import Anchor, vertex_rows
from ._embedding import Embedding


def recover_topics(
    embedding: Embedding, anchors: list[Anchor], codes: np.ndarray, *, tol: float, n_jobs: int | None = None
) -> np.ndarray:
    """Recover topics (K, V') by least squares in the embedding: RecoverL2 (section 4.1)."""
    vertices = vertex_rows(embedding, anchors, codes)
    weights = simplex_least_squares(embedding.rows, vertices, tol=tol, n_jobs=n_jobs)
    return _bayes(weights, embedding.marginal)


def _bayes(weights: np.ndarray, marginal: np.ndarray) -> np.ndarray:
    """Apply Bayes' rule to P(topic | word), shape (V, K), and P(word), shape (V,): topics of shape (K, V)."""
    joint = (weights * marginal[:, None]).T
    prevalence = joint.sum(axis=1, keepdims=True)
    if not (prevalence > 1e-12 * prevalence.sum()).all():
        empty = int(np.argmin(prevalence))
        raise LatentiaError(
            f"Topic {empty} got no words: its anchor is a mixture of the other anchors. Give it another anchor, or remove it."
        )
    return joint / prevalence
