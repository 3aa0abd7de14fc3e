"""From anchors to topics: the recoveries of the thesis.

Every word's conditional row is a convex combination of the anchors' rows, with weights C_wk = P(topic k | word w);
Bayes' rule with the word frequencies turns them into topics, A_kw = C_wk p_w / sum_v C_vk p_v (thesis, section 4.1).
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg

from ..exceptions import LatentiaError, NegativeRecoveryWarning
from ..simplex import simplex_least_squares

__all__ = ["bayes_topics", "inverse_topics", "kl_weights"]


def bayes_topics(weights: np.ndarray, marginal: np.ndarray) -> np.ndarray:
    """Topics, shape (K, V), from P(topic | word), shape (V, K), and P(word), shape (V,)."""
    joint = (weights * marginal[:, None]).T
    prevalence = joint.sum(axis=1, keepdims=True)
    if not (prevalence > 1e-12 * prevalence.sum()).all():
        empty = int(np.argmin(prevalence))
        raise LatentiaError(
            f"Topic {empty} got no words: its anchor is a mixture of the other anchors. Give it another, or leave it out."
        )
    return joint / prevalence


def kl_weights(rows: np.ndarray, vertices: np.ndarray, *, tol: float = 1e-6, max_iter: int = 500) -> np.ndarray:
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


def inverse_topics(anchor_rows: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Topics (K, V) by matrix inversion: Recover (Alg. 3.2 and 3.3; R is read off the sketch, for all recoveries).

    Parameters
    ----------
    anchor_rows : ndarray of shape (K, V)
        The anchors' rows of Q, D R A^T in the thesis.
    anchors : ndarray of int, shape (K,)

    Warns
    -----
    NegativeRecoveryWarning
        If scalings or probabilities come out negative; they are clipped at zero.
    """
    corner = anchor_rows[:, anchors]
    try:
        scaling = linalg.solve(corner, anchor_rows.sum(axis=1))
        topics = linalg.solve(corner * scaling, anchor_rows)
    except linalg.LinAlgError:
        raise LatentiaError(
            "recover='inverse': the anchors' block of Q is singular. Use recover='l2', which needs no inverse."
        ) from None
    negative, mass = int((scaling < 0).sum()), float(-topics[topics < 0].sum() / np.abs(topics).sum())
    if negative or mass > 0.01:
        warnings.warn(
            f"recover='inverse': {negative} of {len(anchors)} scalings are negative, and {100 * mass:.0f}% of the mass of "
            "the topics was negative and is clipped. The inverse amplifies noise: recover='l2' does not.",
            NegativeRecoveryWarning,
            stacklevel=3,
        )
    topics = np.maximum(topics, 0.0)
    topics[topics.sum(axis=1) == 0] = 1.0
    return topics / topics.sum(axis=1, keepdims=True)
