"""Moments of 3-stars with different leaves, in few dimensions, without a partition of the nodes.

A 3-star has a head x and three leaves a, b, c among the m columns of a table of edges G (n x m). In coordinates S (m x b) of
the leaves, z_x = S^T G_x, and the sum over ordered triples of *different* edges of a head is

    z_x^(x 3) - 3 sym(sum_a G_xa S_a (x) S_a (x) z_x) + 2 sum_a G_xa S_a^(x 3),

with falling factorials for edges that are there several times. Given the memberships, different edges are independent, so
that the mean over heads of these sums, over the number d (d - 1) (d - 2) of the triples, is a third moment of memberships
mapped by S^T F, without bias for whole counts of edges. The thesis makes leaves different by three disjoint sets of nodes,
which uses few of the stars.

Heads are weighted by their degree, as those with few edges are noisy. The weights do not matter where degrees do not depend on
memberships.

Source: R. Ge, thesis 2013, section 8.2, (8.3) to (8.10).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from ..linalg import sparse_product
from ..moments import WordMoments, correct_for_lda, third_moment
from ..moments.products import add_triples
from ..system.threads import threads
from ..tensor.operators import symmetrise_modes


@dataclass(frozen=True)
class StarMoments:
    """Moments of different leaves of a head, in coordinates S.

    Attributes
    ----------
    images : ndarray of shape (n, b)
        z_x of every head.
    first : ndarray of shape (b,)
    second : ndarray of shape (b, b)
    third : ndarray of shape (b, b, b)
    """

    images: np.ndarray
    first: np.ndarray
    second: np.ndarray
    third: np.ndarray

    def correct_for_mixing(self, alpha0: float) -> StarMoments:
        """Return moments that are sums over communities for Dirichlet memberships, (8.7) with half of its last line.

        They become sum_k alpha_k / (alpha_0 (alpha_0 + 1)) f_k^(x 2) and sum_k 2 alpha_k / (alpha_0 (alpha_0 + 1) (alpha_0 +
        2)) f_k^(x 3), with f_k = S^T F e_k over the degree.
        """
        no_words = np.empty(0), np.empty((0, len(self.first)))
        moments = correct_for_lda(WordMoments(*no_words, self.first, self.second, self.third), alpha0)
        return StarMoments(self.images, moments.first, moments.second, moments.third)


def star_moments(table: Any, coordinates: np.ndarray, n_jobs: int | None = None) -> StarMoments:
    """Compute moments of the leaves of all heads with three edges or more.

    Parameters
    ----------
    table : csr_array of shape (n, m)
        Counts of edges from every head to every leaf.
    coordinates : ndarray of shape (m, b)
        S.
    """
    images = sparse_product(table, coordinates, n_jobs)
    degrees = np.asarray(table.sum(axis=1), dtype=np.float64).ravel()
    has_stars = degrees >= 3
    safe_degrees = np.where(has_stars, degrees, 3.0)
    pairs, triples = has_stars / (safe_degrees - 1), has_stars / ((safe_degrees - 1) * (safe_degrees - 2))
    total = max(float(degrees[has_stars].sum()), 1.0)
    transposed = table.T.tocsr()
    leaf_sums = sparse_product(transposed, np.column_stack([pairs, triples, triples[:, None] * images]), n_jobs)
    first = has_stars @ images / total
    second = (pairs[:, None] * images).T @ images - (leaf_sums[:, :1] * coordinates).T @ coordinates
    with threads(effective_n_jobs(n_jobs)) as parallel:
        third = third_moment(images, triples, parallel) + 2 * third_moment(coordinates, leaf_sums[:, 1], parallel)
        repeated = np.zeros_like(third)
        add_triples(repeated, coordinates, coordinates, leaf_sums[:, 2:], parallel)
    third -= 3 * symmetrise_modes(repeated)
    return StarMoments(images, first, (second + second.T) / (2 * total), third / total)
