"""Likelihood EM for nonnegative factors of a symmetric probability matrix, started from the spectral estimate.

Model: B = P^T W P with rows P_k of word probabilities and a symmetric nonnegative W whose entries sum to one (a symmetric
aspect model, or pLSA, whose mixing need not be diagonal). Expected components of pairs need only the observed
cells: with X_ij = (c_ij + c_ji) / B_ij,

    word i of component k        P_ki (W P X)_ki,
    components k and l together  W_kl (P X P^T)_kl / 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..likelihood import Distributions, EStep, Expected, Values
from ..linalg import ratio_product
from ..simplex import farthest_vertices, simplex_least_squares

_MARGINAL_SHARE = 0.02  # share of the marginals in a starting distribution, so that no word is impossible


def initialise_nonnegative(
    factor: np.ndarray, core: np.ndarray, marginals: np.ndarray, occurrences: np.ndarray, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return nonnegative factors near a spectral estimate: P (R x M) and W (R x R).

    A word's row of B over its marginal is a point of the simplex of the components' rows. The corners are chosen among the
    frequent words, and the coordinates of every word relative to them are its shares of the components.

    Parameters
    ----------
    factor : ndarray of shape (M, R)
        r in the first column, then the directions.
    core : ndarray of shape (R, R)
    marginals, occurrences : ndarray of shape (M,)
        r, and the number of occurrences of each word.
    """
    is_observed = marginals > 0
    weight = np.sqrt(np.abs(np.diag(core)))
    points = np.where(is_observed[:, None], factor / np.where(is_observed, marginals, 1.0)[:, None], 0.0) * weight
    rank = factor.shape[1]
    candidates = np.argsort(-occurrences, kind="stable")[
        : max(10 * rank, int((occurrences >= np.quantile(occurrences, 0.75)).sum()) // 2)
    ]
    corners, _ = farthest_vertices(points, rank, candidates=candidates)
    shares = np.full((len(points), len(corners)), 1 / len(corners))
    shares[is_observed] = simplex_least_squares(points[is_observed], points[corners], n_jobs=n_jobs)
    joint = shares * marginals[:, None]
    joint = (1 - _MARGINAL_SHARE) * joint + _MARGINAL_SHARE * marginals[:, None] * joint.sum(axis=0)
    weights = joint.sum(axis=0)
    components = joint / weights
    gram = np.linalg.pinv(components) @ factor
    mixing = np.maximum(gram @ core @ gram.T, 0.05 * np.outer(weights, weights))
    return components.T, mixing / mixing.sum()


class PairSums(NamedTuple):
    """Sums of one E-step: the log-likelihood of the pairs in nats, and X P^T, shape (M, R)."""

    log_likelihood: float
    image: np.ndarray


class PairUpdate:
    """Update of one E-step for pairs of words.

    Parameters
    ----------
    components : ndarray of shape (R, M)
        P: rows sum to one.
    mixing : ndarray of shape (R, R) or (R * R,)
        W: symmetric; its entries sum to one.
    pseudo : ndarray of shape (M,)
        Pseudo-counts of the words in every component.
    """

    def __init__(self, components: np.ndarray, mixing: np.ndarray, pseudo: np.ndarray) -> None:
        self.components, self.mixing, self.pseudo = components, mixing.reshape((len(components),) * 2), pseudo

    @property
    def values(self) -> Values:
        return self.components, self.mixing.ravel()

    def move_to(self, *values: np.ndarray) -> PairUpdate:
        components, mixing = values
        return PairUpdate(components, mixing, self.pseudo)

    def sums(self, counts: Any, n_jobs: int | None = None) -> PairSums:
        """Return the sums over the pairs of a csr_array C + C^T, shape (M, M), which holds each pair twice."""
        words = np.ascontiguousarray(self.components.T)
        image, log_likelihood = ratio_product(counts, words @ self.mixing, words, n_jobs)
        return PairSums(log_likelihood / 2, image)

    def expected(self, sums: PairSums) -> tuple[Expected, ...]:
        words = self.components.T * (sums.image @ self.mixing)
        together = self.mixing * (self.components @ sums.image)
        return (
            Distributions(self.components, words.T, self.pseudo),
            Distributions(self.mixing.ravel(), ((together + together.T) / 4).ravel()),
        )


def make_e_step(counts: Any, n_jobs: int | None = None) -> EStep:
    """Return the E-step of `PairUpdate` over the pairs of a csr_array C + C^T."""

    def e_step(update: Any, number: int) -> PairSums:
        return update.sums(counts, n_jobs)  # type: ignore[no-any-return]

    return e_step
