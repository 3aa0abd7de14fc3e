"""Topics of documents with label sets from moments of words and labels, as the paper prints it.

Model. A document draws a topic k with probability pi_k. Given the topic, words v are present independently with probability
mu_kv, and labels l with probability gamma_kl.

As printed, moments keep their diagonals, where a word occurs together with itself: the topics are biased however many documents
there are. Rows of mu and gamma are divided by their sums, and negative word probabilities count as 1e-10. The tensor is
decomposed by the power method with deflation (`latentia.papers.tensors.robust_power_method`).

Source: Multi-label learning for large text corpora using latent variable model with provable guarantees, sections 3 and 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from ..exceptions import LatentiaError
from .tensors import robust_power_method

_MIN_PROBABILITY = 1e-10  # of a word in a topic: its logarithm is finite
_CHUNK_ENTRIES = 1 << 22  # of products of coordinates that are in memory at a time: 32 MB


def learn_labelled_topics(
    X: Any, Y: Any, n_components: int, *, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Learn topics with their words and labels (Algorithm 1).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, D)
        Documents: a word is present where its entry is not 0.
    Y : array-like or sparse matrix of shape (n_rows, L)
        Label sets, 0 or 1.
    n_components : int
        Number of topics K, below D.
    random_state : int, default=0

    Returns
    -------
    weights : ndarray of shape (K,)
        pi, the largest first.
    words : ndarray of shape (K, D)
        mu, divided by its row sums.
    labels : ndarray of shape (K, L)
        gamma, divided by its row sums.

    Raises
    ------
    LatentiaError
        If the words span fewer directions than topics.
    """
    X, Y, k = _presence(X), sparse.csr_array(Y), n_components
    n_words = X.sum(axis=1)
    # Steps 1 to 3: eigenvectors of M_2, and the whitening matrix.
    second = LinearOperator((X.shape[1],) * 2, lambda v: X.T @ (X @ v) / (n_words**2).sum(), dtype=np.float64)
    values, vectors = eigsh(second, k, v0=np.ones(X.shape[1]))
    rank = int((values > len(vectors) * np.finfo(float).eps * values.max()).sum())
    if rank < k:
        raise LatentiaError(
            f"Expected words that span {k} directions, one a topic; found {rank}. Ask for at most that many topics.",
            at_most=rank, parameter="n_components", value=k,
        )  # fmt: skip
    vectors = vectors * np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)
    whitening, inverse = vectors / np.sqrt(values), vectors * np.sqrt(values)
    # Steps 4 and 5: the whitened third moment and its eigenvectors.
    third = _sum_cubes(X @ whitening) / (n_words**3).sum()
    rotation = robust_power_method(third, k, random_state=random_state)[1]
    eigenvalues = np.einsum("ijk,ri,rj,rk->r", third, rotation, rotation, rotation)
    order = np.argsort(eigenvalues)  # the smallest has the largest weight, lambda^-2
    eigenvalues, rotation = eigenvalues[order], rotation[order]
    # Steps 6 and 7: words.
    words = rotation @ inverse.T
    words = np.maximum(words / words.sum(axis=1, keepdims=True), _MIN_PROBABILITY)
    # Steps 8 and 9: labels and weights.
    labels = (Y.T @ (X @ (whitening @ rotation.T)) ** 2).T
    weights = eigenvalues**-2.0
    return weights / weights.sum(), words, labels / labels.sum(axis=1, keepdims=True)


def score_labels(
    X: Any, weights: np.ndarray, words: np.ndarray, labels: np.ndarray, *, threshold: float = 0.001
) -> np.ndarray:
    """Compute the scores of all labels, sum_k gamma_kl P[topic k | words] (section 4, equation 2).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, D)
    weights, words, labels : ndarrays
        What `learn_labelled_topics` returns.
    threshold : float, default=0.001
        eta: a word that is absent counts only in topics where it has at least this probability.

    Returns
    -------
    ndarray of shape (n_rows, L)
    """
    absent = np.where(words > threshold, np.log1p(-np.minimum(words, 1 - _MIN_PROBABILITY)), 0.0)
    log_joint = _presence(X) @ (np.log(words) - absent).T + absent.sum(axis=1) + np.log(weights)
    posterior = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return posterior / posterior.sum(axis=1, keepdims=True) @ labels


def _presence(X: Any) -> sparse.csr_array:
    """Return 1 where a word is present, 0 elsewhere."""
    return (sparse.csr_array(X) != 0).astype(np.float64)


def _sum_cubes(rows: np.ndarray) -> np.ndarray:
    """Sum z (x) z (x) z over the rows z of an array (n, K)."""
    n, k = rows.shape
    cube = np.zeros((k * k, k))
    step = max(1, _CHUNK_ENTRIES // k**2)
    for start in range(0, n, step):
        chunk = rows[start : start + step]
        cube += (chunk[:, :, None] * chunk[:, None, :]).reshape(len(chunk), -1).T @ chunk
    return cube.reshape(k, k, k)
