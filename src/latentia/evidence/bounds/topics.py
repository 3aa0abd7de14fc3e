"""Documents for topics with anchor words, and the noise that anchors tolerate: Ge, thesis 2013, chapters 3 and 4."""

from __future__ import annotations

import math

import numpy as np

from ._positive import check_positive


def topic_documents(
    eps: float,
    *,
    n_topics: int,
    n_words: int,
    length: float,
    separability: float,
    condition: float,
    imbalance: float = 1.0,
    covariance: bool = False,
    constant: float = 1.0,
) -> float:
    """Return the documents for entry-wise error eps of the topic matrix (Theorem 3.4).

    max{log n a^4 r^6 / (eps^2 p^6 gamma^2 N), log r a^2 r^4 / gamma^2}, and with ``covariance`` also
    log r r^2 / eps^2 for the topic-topic matrix R.

    Parameters
    ----------
    eps : float
        Additive error of an entry of A.
    n_topics, n_words, length : r, n and N, the words of a document
    separability : float
        p: every topic has an anchor word of at least this probability.
    condition : float
        gamma: l1 condition number of R.
    imbalance : float
        a: ratio of the largest to the smallest expected topic proportion.
    covariance : bool, default=False
        Whether to recover the covariance of topics as well.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(eps=eps, separability=separability, condition=condition, length=length)
    r, a, p, gamma = n_topics, imbalance, separability, condition
    sampling = math.log(n_words) * a**4 * r**6 / (eps**2 * p**6 * gamma**2 * length)
    mixing = math.log(max(r, 2)) * a**2 * r**4 / gamma**2
    moments = math.log(max(r, 2)) * r**2 / eps**2 if covariance else 0.0
    return constant * max(sampling, mixing, moments)


def dirichlet_topic_documents(
    eps: float,
    *,
    n_topics: int,
    n_words: int,
    length: float,
    separability: float,
    alpha0: float,
    imbalance: float = 1.0,
    constant: float = 1.0,
) -> float:
    """Return the documents for error eps of topics and Dirichlet parameters under LDA (Theorem 3.17).

    max{log n a^6 r^8 (alpha0 + 1)^4 / (eps^2 p^6 N), log r a^2 r^4 (alpha0 + 1)^2 / eps^2}, with alpha0 the sum of the
    Dirichlet parameters and the rest as in `topic_documents`.

    Parameters
    ----------
    eps : float
        Target error.
    n_topics : int
        K.
    n_words : int
        V.
    length : float
        Words of a document.
    separability : float
        p: smallest probability of an anchor word in its topic.
    alpha0 : float
        Sum of the Dirichlet parameters.
    imbalance : float, default=1.0
        Ratio of the largest to the smallest share.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(eps=eps, separability=separability, length=length)
    r, a, p = n_topics, imbalance, separability
    sampling = math.log(n_words) * a**6 * r**8 * (alpha0 + 1) ** 4 / (eps**2 * p**6 * length)
    mixing = math.log(max(r, 2)) * a**2 * r**4 * (alpha0 + 1) ** 2 / eps**2
    return constant * max(sampling, mixing)


def anchor_noise_limit(robustness: float, n_topics: int) -> float:
    """Return the largest l2 noise of a row for which greedy anchors are proven: 20 K eps / gamma^2 < gamma (Theorem 4.3).

    ``robustness`` is gamma, the smallest distance of a vertex to the span of the others: the proofs need the span, although
    Definition 4.1 says the convex hull.

    Parameters
    ----------
    robustness : float
        Smallest distance of a vertex to the span (or the hull) of the others.
    n_topics : int
        K.

    Returns
    -------
    float
    """
    return robustness**3 / (20 * n_topics)


def l1_condition_number(matrix: np.ndarray) -> float:
    """Return the minimum of |x^T B|_1 over |x|_1 = 1 for a square matrix B with rows scaled to sum one (Definition 3.5).

    With y = x^T B, |x|_1 <= |y|_1 max_j |e_j^T B^-1|_1, and y = e_j attains it: the number is the inverse of the
    largest l1 norm of a row of B^-1, and 0 for a singular matrix.

    Parameters
    ----------
    matrix : array-like of shape (n, m)
        The matrix.

    Returns
    -------
    float
    """
    rows = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    try:
        return 1.0 / float(np.abs(np.linalg.inv(rows)).sum(axis=1).max())
    except np.linalg.LinAlgError:
        return 0.0
