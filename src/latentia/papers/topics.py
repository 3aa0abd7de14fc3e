"""Recovery of topics from anchor words, as printed in chapters 3 and 4 of the thesis.

Model. Q = A R A^T holds the joint probabilities of two words of a document. Columns of A (V x K) are the word distributions of
the topics, and R = E[w w^T] is the second moment of their proportions. An anchor word has positive probability in one topic
only. Topics are returned as rows, A^T, of shape (K, V).

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, section 3.3 and section 4.1.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..exceptions import LatentiaError, NegativeRecoveryWarning, warn
from ..simplex import simplex_least_squares

_MIN_NEGATIVE_MASS = 0.01  # Share of the mass of the topics: less is rounding, and gives no warning.
_TINY = 1e-300  # Denominators are at least this.


def recover(Q: np.ndarray, anchors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Recover topics by matrix inversion: Algorithms 3.2 and 3.3, Recover with true or almost anchor words.

    Parameters
    ----------
    Q : ndarray of shape (V, V)
        Joint probabilities of two words.
    anchors : ndarray of int, shape (K,)
        An anchor word of every topic.

    Returns
    -------
    topics : ndarray of shape (K, V)
        Rows sum to one. Noise in Q can make entries negative.
    R : ndarray of shape (K, K)

    Raises
    ------
    LatentiaError
        If the anchors' block of Q is singular.

    Warns
    -----
    NegativeRecoveryWarning
        If scalings are negative, or more than 1% of the mass of the topics is.
    """
    anchor_rows = Q[anchors]  # D R A^T
    anchor_block = anchor_rows[:, anchors]  # D R D
    try:
        z = linalg.solve(anchor_block, anchor_rows.sum(axis=1))
        topics = linalg.solve(anchor_block * z, anchor_rows)
    except linalg.LinAlgError:
        raise LatentiaError(
            "Recover inverts the anchors' block of Q, which is singular here. Use recover_l2, which inverts nothing."
        ) from None
    n_negative, mass = int((z < 0).sum()), float(-topics[topics < 0].sum() / np.abs(topics).sum())
    if n_negative or mass > _MIN_NEGATIVE_MASS:
        warn(
            f"Recover: {n_negative} of {len(z)} scalings and {100 * mass:.0f}% of the mass of the topics are negative. The "
            "inverse amplifies the noise of Q; recover_l2 does not.",
            NegativeRecoveryWarning,
        )
    return topics, z[:, None] * anchor_block * z


def recover_kl(Q: np.ndarray, anchors: np.ndarray, tolerance: float = 1e-8) -> tuple[np.ndarray, np.ndarray]:
    """Recover topics by the divergence of rows of Q from mixtures of the anchors' rows: Algorithm 4.2, RecoverKL.

    Parameters
    ----------
    Q, anchors
        As in `recover`.
    tolerance : float
        EM for the weights of a word stops when none of them moves further than this.

    Returns
    -------
    topics : ndarray of shape (K, V)
    R : ndarray of shape (K, K)
    """
    word_probabilities = Q.sum(axis=1)
    rows = Q / np.maximum(word_probabilities, _TINY)[:, None]
    return _topics_and_moment(Q, topics_from_weights(kl_weights(rows, rows[anchors], tolerance), word_probabilities))


def recover_l2(Q: np.ndarray, anchors: np.ndarray, tolerance: float = 1e-8) -> tuple[np.ndarray, np.ndarray]:
    """Recover topics by least squares: RecoverL2 of section 4.1, which is Algorithm 4.2 with the quadratic loss.

    Parameters
    ----------
    Q, anchors
        As in `recover`.
    tolerance : float
        Relative duality gap of the weights of a word.

    Returns
    -------
    topics : ndarray of shape (K, V)
    R : ndarray of shape (K, K)
    """
    word_probabilities = Q.sum(axis=1)
    rows = Q / np.maximum(word_probabilities, _TINY)[:, None]
    weights = simplex_least_squares(rows, rows[anchors], tol=tolerance)
    return _topics_and_moment(Q, topics_from_weights(weights, word_probabilities))


def kl_weights(rows: np.ndarray, vertices: np.ndarray, tolerance: float = 1e-8, max_steps: int = 500) -> np.ndarray:
    """Find the convex weights that minimise D_KL(row || weights @ vertices), by EM: the loop of Algorithm 4.2.

    Merging the same columns of ``rows`` and ``vertices`` keeps the model exact, and makes a step cheaper.

    Parameters
    ----------
    rows : ndarray of shape (V, n_columns)
        Conditional probabilities given each word.
    vertices : ndarray of shape (K, n_columns)
        The anchors' rows.
    tolerance : float
        A word is finished when none of its weights moves further than this.
    max_steps : int

    Returns
    -------
    ndarray of shape (V, K)
        P(topic | word).
    """
    weights = 0.9 * simplex_least_squares(rows, vertices, tol=1e-2) + 0.1 / len(vertices)  # EM never leaves zero.
    active = np.flatnonzero(rows.sum(axis=1) > 0)
    for _ in range(max_steps):
        current = weights[active]
        updated = current * ((rows[active] / np.maximum(current @ vertices, _TINY)) @ vertices.T)
        updated /= np.maximum(updated.sum(axis=1, keepdims=True), _TINY)
        weights[active] = updated
        active = active[np.abs(updated - current).max(axis=1) > tolerance]
        if not len(active):
            break
    return weights


def topics_from_weights(weights: np.ndarray, word_probabilities: np.ndarray) -> np.ndarray:
    """Apply Bayes' rule to P(topic | word), shape (V, K), and P(word), shape (V,): topics of shape (K, V)."""
    joint = (word_probabilities[:, None] * weights).T
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _topics_and_moment(Q: np.ndarray, topics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the topics and R = A^+ Q (A^+)^T."""
    inverse = np.linalg.pinv(topics)
    return topics, np.asarray(inverse.T @ Q @ inverse)
