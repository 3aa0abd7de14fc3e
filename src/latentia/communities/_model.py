"""Records of a mixed membership block model, and of a graph as the ends of every node's edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

_MAX_ROUNDS = 20
_TOLERANCE, _MAX_SCALE = 1e-6, 100.0
_TINY = 1e-300
_PIECE_SIZE = 1 << 16  # edges at a time
_EMPTY_SHARE = 1e-12  # pairs of communities with a smaller share of the total activity are empty


@dataclass(frozen=True, eq=False)
class EdgeLists:
    """A graph whose nodes all have edges.

    Attributes
    ----------
    adjacency : csr_array of shape (n, n)
        Counts of edges from i to j, symmetric unless directed.
    directed : bool
    """

    adjacency: sparse.csr_array
    directed: bool

    @cached_property
    def table(self) -> Any:
        """Ends of each node's edges: the adjacency matrix A or, where directed, [A, A^T], a csr_array (n, m)."""
        if not self.directed:
            return self.adjacency
        return sparse.csr_array(sparse.hstack([self.adjacency, self.adjacency.T], format="csr"))

    @cached_property
    def pairs(self) -> sparse.csr_array:
        """Symmetric counts (m, m) whose leading eigenvectors are those of A or, one above the other, its singular vectors."""
        if not self.directed:
            return self.adjacency
        return sparse.csr_array(sparse.block_array([[None, self.adjacency], [self.adjacency.T, None]], format="csr"))

    @cached_property
    def degrees_out(self) -> np.ndarray:
        """Degrees, or out-degrees, shape (n,)."""
        return np.asarray(self.adjacency.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def degrees_in(self) -> np.ndarray:
        """Degrees, or in-degrees, shape (n,)."""
        return np.asarray(self.adjacency.sum(axis=0), dtype=np.float64).ravel() if self.directed else self.degrees_out

    @cached_property
    def degrees(self) -> np.ndarray:
        """Number of ends of each node, shape (n,)."""
        return self.degrees_out + self.degrees_in if self.directed else self.degrees_out

    @property
    def total(self) -> float:
        """Sum of all entries of A."""
        return float(self.degrees_out.sum())

    @property
    def n_nodes(self) -> int:
        """n."""
        return int(self.adjacency.shape[0])


@dataclass(frozen=True, eq=False)
class Communities:
    """Expected counts theta_i phi_j pi_i^T P pi_j of edges from i to j.

    Attributes
    ----------
    memberships : ndarray of shape (n, K)
        pi: rows sum to one.
    connectivity : ndarray of shape (K, K)
        P.
    activity, activity_in : ndarray of shape (n,)
        theta and phi; the same without directions, and ones without degree correction.
    """

    memberships: np.ndarray
    connectivity: np.ndarray
    activity: np.ndarray
    activity_in: np.ndarray

    @cached_property
    def senders(self) -> np.ndarray:
        """theta_i pi_i, shape (n, K)."""
        return self.memberships * self.activity[:, None]

    @cached_property
    def receivers(self) -> np.ndarray:
        """phi_j pi_j, shape (n, K)."""
        return self.senders if self.activity_in is self.activity else self.memberships * self.activity_in[:, None]

    @property
    def mass(self) -> np.ndarray:
        """Products of the total activity of communities, shape (K, K): expected edges between them are this times P."""
        return np.outer(self.senders.sum(axis=0), self.receivers.sum(axis=0))

    def replace_joint(self, joint: np.ndarray) -> Communities:
        """Return the model with P such that communities have these expected numbers of edges between them, shape (K, K)."""
        mass = self.mass
        is_inhabited = mass > _EMPTY_SHARE * mass.sum()
        connectivity = np.where(is_inhabited, joint / np.where(is_inhabited, mass, 1.0), 0.0)
        return Communities(self.memberships, connectivity, self.activity, self.activity_in)

    def fields(self, directed: bool) -> np.ndarray:
        """Return the probability, up to a factor, of every end for a node of each community, shape (m, K)."""
        out = self.receivers @ self.connectivity.T
        return np.vstack([out, self.senders @ self.connectivity]) if directed else out

    def expected_degrees(self) -> tuple[np.ndarray, np.ndarray]:
        """Return expected edges from a node of activity one in each community, and to it, shapes (K,)."""
        out = self.connectivity @ self.receivers.sum(axis=0)
        into = out if self.activity_in is self.activity else self.senders.sum(axis=0) @ self.connectivity
        return out, into

    def rates(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return expected counts of the edges (i, j), of the shape of both."""
        rates, linked = np.empty(np.size(i)), self.senders @ self.connectivity
        i, shape, j = np.ravel(i), np.shape(i), np.ravel(j)
        for a in range(0, len(i), _PIECE_SIZE):
            piece = slice(a, a + _PIECE_SIZE)
            rates[piece] = np.einsum("ek,ek->e", linked[i[piece]], self.receivers[j[piece]])
        return rates.reshape(shape)


def tie_rates(joint: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return numbers of edges between communities (K, K) with one rate for all pairs of different communities."""
    is_across = ~np.eye(len(joint), dtype=bool)
    across = float(mass[is_across].sum())
    return np.where(is_across, mass * (float(joint[is_across].sum()) / across), joint) if across > 0 else joint


def build_communities(ends: EdgeLists, memberships: np.ndarray, corrected: bool) -> Communities:
    """Build a model with these memberships, and P from the edges between them.

    With degree correction the activity is a node's degree over the mean degree in its communities.
    """
    activity = _activity(ends.degrees_out, memberships) if corrected else np.ones(ends.n_nodes)
    activity_in = _activity(ends.degrees_in, memberships) if corrected and ends.directed else activity
    if ends.directed and not corrected:
        activity_in = activity.copy()
    empty = np.zeros((memberships.shape[1],) * 2)
    communities = Communities(memberships, empty, activity, activity_in)
    return communities.replace_joint(memberships.T @ (ends.adjacency @ memberships))


def _activity(degrees: np.ndarray, memberships: np.ndarray) -> np.ndarray:
    mean = degrees @ memberships / np.maximum(memberships.sum(axis=0), _TINY)
    return np.asarray(degrees / np.maximum(memberships @ mean, _TINY))


def balance_activity(memberships: np.ndarray, activity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return memberships (n, K), and factors of the activity (n,), such that the mean activity is one in every community.

    P, the memberships and the activity can be scaled community by community without changing any edge's probability; this
    fixes the scales: sum_i theta_i pi_ik = sum_i pi_ik.
    """
    scale, balanced_memberships, factor = np.ones(memberships.shape[1]), memberships, np.ones(len(memberships))
    for _ in range(_MAX_ROUNDS):
        rows = memberships * scale
        factor = rows.sum(axis=1)
        balanced_memberships = rows / np.maximum(factor, _TINY)[:, None]
        change = balanced_memberships.sum(axis=0) / np.maximum((activity * factor) @ balanced_memberships, _TINY)
        if np.abs(change - 1).max() < _TOLERANCE:
            break
        scale = np.clip(scale * change, 1 / _MAX_SCALE, _MAX_SCALE)  # a nearly empty community has no scale
    return balanced_memberships, factor


def inside_and_across(connectivity: np.ndarray) -> tuple[float, float]:
    """Return H and L, the means of the diagonal and of the other entries."""
    k = len(connectivity)
    inside = float(np.trace(connectivity)) / k
    return inside, (float(connectivity.sum()) - k * inside) / max(k * (k - 1), 1)


def noise_multiple(alpha0: float, strict: float) -> float:
    """Return how many times its noise a membership must reach: ``strict`` up to alpha_0 = .2, then falling to 1.5 at 1."""
    return float(np.interp(np.log(alpha0), np.log([0.2, 1.0]), [strict, 1.5]))


def mean_l1_change(previous: np.ndarray, current: np.ndarray) -> float:
    """Return the mean l1 distance of memberships of the nodes."""
    total = sum(
        float(np.abs(previous[a : a + (1 << 16)] - current[a : a + (1 << 16)]).sum())
        for a in range(0, len(previous), 1 << 16)
    )
    return total / max(len(previous), 1)
