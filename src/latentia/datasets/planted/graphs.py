"""Graphs of overlapping communities: mixed membership block models, with degrees of their own and with directions.

Node i belongs to community k to the share pi_ik, drawn from Dirichlet(alpha), and an edge from i to j is there with
probability theta_i theta_j pi_i^T P pi_j, independently of all others. With alpha_0 = 0 every node is in one community: a
stochastic block model. Edges are drawn in time proportional to their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...exceptions import LatentiaError
from ...likelihood import draw_edges
from ._draws import check_sizes


@dataclass(frozen=True)
class PlantedCommunities:
    """A graph and its communities.

    Attributes
    ----------
    adjacency : csr_array of shape (n, n), of zeros and ones
        Symmetric unless directed, where rows are where edges start; the diagonal is empty.
    memberships : ndarray of shape (n, K)
        pi: rows sum to one.
    connectivity : ndarray of shape (K, K)
        P.
    activity : ndarray of shape (n,)
        theta, of mean one.
    dirichlet : ndarray of shape (K,)
        alpha; zeros where every node is in one community.
    """

    adjacency: sparse.csr_array
    memberships: np.ndarray
    connectivity: np.ndarray
    activity: np.ndarray
    dirichlet: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        """The community in which each node has its largest share, shape (n,)."""
        return self.memberships.argmax(axis=1)

    @property
    def snr(self) -> float:
        """(p - q) (n / K) / sqrt(d), with the mean diagonal p and off-diagonal q of P, and the mean degree d."""
        k = len(self.connectivity)
        inside = float(np.trace(self.connectivity)) / k
        across = (float(self.connectivity.sum()) - k * inside) / max(k * (k - 1), 1)
        n = len(self.memberships)
        return (inside - across) * n / k / float(np.sqrt(self.adjacency.sum() / n))


def mixed_membership_graph(
    n_nodes: int = 2000,
    n_components: int = 5,
    *,
    alpha0: float = 0.1,
    degree: float = 30.0,
    snr: float = 3.0,
    connectivity: np.ndarray | None = None,
    shares: Any = None,
    spread: float = 0.0,
    directed: bool = False,
    random_state: int = 0,
) -> PlantedCommunities:
    """Plant a mixed membership block model.

    Parameters
    ----------
    n_nodes, n_components : int
        n and K.
    alpha0 : float
        Sum of the Dirichlet parameters: 0 for one community a node, 1 for one to three.
    degree : float
        Mean degree d; where directed, mean out-degree.
    snr : float
        (p - q) (n / K) / sqrt(d): with p inside and q across communities of equal size. Above 1 communities can be detected.
    connectivity : array-like of shape (K, K), optional
        P up to a factor, which is set by the degree; ``snr`` has no effect then. Not symmetric only where directed.
    shares : array-like of shape (K,), optional
        Expected share of each community; equal by default.
    spread : float
        Standard deviation of log theta_i: 0 for equal activity, 1 for degrees that range over two orders of magnitude.
    directed : bool
    random_state : int

    Returns
    -------
    PlantedCommunities
        The data and the truth that it was drawn from.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> graph = planted.mixed_membership_graph(500, 4, alpha0=0.2, degree=20, snr=3)
    >>> graph.memberships.shape
    (500, 4)
    """
    check_sizes(n_nodes=n_nodes, n_components=n_components)
    if alpha0 < 0 or degree <= 0 or spread < 0:
        raise LatentiaError(
            f"alpha0={alpha0}, degree={degree}, spread={spread}: none may be negative, nor degree zero."
        )
    rng = np.random.default_rng(random_state)
    sizes = np.full(n_components, 1.0) if shares is None else np.asarray(shares, dtype=np.float64)
    if sizes.shape != (n_components,) or not (sizes > 0).all():
        raise LatentiaError(f"shares: expected {n_components} positive numbers.")
    sizes = sizes / sizes.sum()
    if alpha0 == 0:
        members = rng.permutation(np.searchsorted(np.cumsum(sizes)[:-1], (np.arange(n_nodes) + 0.5) / n_nodes))
        memberships = np.eye(n_components)[members]
    else:
        memberships = rng.dirichlet(alpha0 * sizes, n_nodes)
    activity = np.exp(spread * rng.standard_normal(n_nodes))
    activity /= activity.mean()
    table = _homophilic(n_components, degree, snr) if connectivity is None else np.array(connectivity, dtype=np.float64)
    if table.shape != (n_components,) * 2 or (table < 0).any() or not (directed or np.allclose(table, table.T)):
        raise LatentiaError(
            f"connectivity: expected a {n_components} x {n_components} array of numbers of at least 0, symmetric for an "
            "undirected graph."
        )
    mass = activity @ memberships
    table *= degree * n_nodes / float(mass @ table @ mass)
    adjacency = draw_edges(memberships, table, activity, directed=directed, rng=rng)
    return PlantedCommunities(adjacency, memberships, table, activity, alpha0 * sizes)


def _homophilic(n_components: int, degree: float, snr: float) -> np.ndarray:
    """Return P up to a factor, with p on the diagonal and q elsewhere."""
    difference = snr * float(np.sqrt(degree))  # (p - q) n / K
    across = degree - difference
    if across < 0:
        raise LatentiaError(
            f"degree={degree}, snr={snr}: edges across communities would need a negative probability. Take an snr of at most "
            f"{np.sqrt(degree):.3g}, or a larger degree."
        )
    return across * np.ones((n_components, n_components)) + n_components * difference * np.eye(n_components)
