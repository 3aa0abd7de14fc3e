"""Edge densities that mixed memberships need: Ge, thesis 2013, chapter 8."""

from __future__ import annotations

import math

from ...exceptions import LatentiaError
from ._positive import check_positive


def community_strength(n_nodes: int, n_components: int, constant: float = 1.0) -> float:
    """Return the smallest (p - q) / sqrt(p) for recovery: k / sqrt(n) (Theorem 8.4), with edge probabilities p and q.

    Parameters
    ----------
    n_nodes : int
        n, the number of nodes.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(n_nodes=n_nodes, n_components=n_components)
    return constant * n_components / math.sqrt(n_nodes)


def support_threshold(n_nodes: int, n_components: int, inside: float, across: float, constant: float = 1.0) -> float:
    """Return xi: Algorithm 8.3 finds every membership above xi, and none below xi / 2 (Theorem 8.6).

    sqrt(p) k / ((p - q) sqrt(n)).

    Parameters
    ----------
    n_nodes : int
        n, the number of nodes.
    n_components : int
        K, the number of components.
    inside : float
        Probability of an edge inside of a community.
    across : float
        Probability of an edge between communities.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(n_nodes=n_nodes, n_components=n_components, inside=inside)
    if not 0 <= across < inside:
        raise LatentiaError(f"across={across}: expected a number of at least 0 and below inside={inside}.")
    return constant * math.sqrt(inside) * n_components / ((inside - across) * math.sqrt(n_nodes))
