"""Likelihood EM for nonnegative factors of a symmetric probability matrix, started from the spectral estimate.

Model: B = P W P^T with columns P_k of word probabilities and a symmetric nonnegative W whose entries sum to one (a
symmetric aspect model, or pLSA, whose mixing need not be diagonal). A pair's expected components come from the cells
that were seen alone, X_ij = s_ij / B_ij, and one step is

    P_ik <- P_ik (X P W)_ik + prior r_i,      W <- W * (P^T X P),      both scaled to sums of one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..linalg import cell_ratios, sparse_product
from ..simplex import distributions, farthest_vertices, simplex_least_squares

__all__ = ["nonnegative_start", "refined"]

_LEAST = 0.02  # of a starting distribution: the marginals, so that no word is impossible


def nonnegative_start(
    left: np.ndarray, core: np.ndarray, marginals: np.ndarray, seen: np.ndarray, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Nonnegative factors near a spectral estimate: P (M x R) and W (R x R).

    A word's row of B over its marginal is a point of the simplex of the components' rows. The corners are taken among the
    frequent words, and every word's place among them says which components it belongs to.

    Parameters
    ----------
    left : ndarray of shape (M, R)
        r first, then the directions.
    core : ndarray of shape (R, R)
    marginals, seen : ndarray of shape (M,)
        r, and how often each word was seen.
    """
    known = marginals > 0
    weight = np.sqrt(np.abs(np.diag(core)))
    points = np.where(known[:, None], left / np.where(known, marginals, 1.0)[:, None], 0.0) * weight
    rank = left.shape[1]
    candidates = np.argsort(-seen, kind="stable")[: max(10 * rank, int((seen >= np.quantile(seen, 0.75)).sum()) // 2)]
    corners, _ = farthest_vertices(points, rank, candidates=candidates)
    shares = np.full((len(points), len(corners)), 1 / len(corners))
    shares[known] = simplex_least_squares(points[known], points[corners], n_jobs=n_jobs)
    joint = shares * marginals[:, None]
    joint = (1 - _LEAST) * joint + _LEAST * marginals[:, None] * joint.sum(axis=0)
    weights = joint.sum(axis=0)
    components = joint / weights
    gram = np.linalg.pinv(components) @ left
    mixing = np.maximum(gram @ core @ gram.T, 0.05 * np.outer(weights, weights))
    return components, mixing / mixing.sum()


def refined(
    counts: Any,
    components: np.ndarray,
    mixing: np.ndarray,
    marginals: np.ndarray,
    *,
    steps: int,
    prior: float,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """P, W and the log-likelihood a pair before the last step, in nats.

    Parameters
    ----------
    counts : csr_array of shape (M, M)
        C + C^T.
    prior : float
        Pseudo-pairs a word, shared by the components, of words by their frequency.
    """
    log_likelihood, total = np.nan, float(counts.sum())
    mass = 2 * prior * counts.shape[0] / components.shape[1]  # a pair has two words
    for _ in range(steps):
        ratios, found = cell_ratios(counts, components @ mixing, components, n_jobs)
        log_likelihood = found / total
        seen = sparse.csr_array((ratios, counts.indices, counts.indptr), shape=counts.shape)
        image = sparse_product(seen, components, n_jobs)
        gathered = components * (image @ mixing) + mass * marginals[:, None]
        mixing = mixing * (components.T @ image)
        mixing = (mixing + mixing.T) / (2 * mixing.sum())
        components = distributions(gathered.T, marginals).T
    return components, mixing, log_likelihood
