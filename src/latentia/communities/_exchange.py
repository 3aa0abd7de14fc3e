"""Out of local optima of one community a node: split one community in two, and merge two others.

EM cannot move a community to another place. Where one found community holds two true ones, and two share another, exchanging
them makes the edges more probable, and that can be told from sums: for hard memberships, with J the numbers of edges between
communities and M their total activity, the log-likelihood at the best P is sum_kl J_kl log(J_kl / (M_k M_l)) up to a constant.
A community is split along the leading direction of its nodes' coordinates; the pair whose merger loses least is merged.

Source: N. Ueda, R. Nakano, Z. Ghahramani, G. Hinton, SMEM algorithm for mixture models, Neural Computation 12 (2000).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ._model import EdgeLists, of_memberships, tied
from ._refine import Mixed, Shape, one_community

_MOST = 8  # exchanges
_TRIED = 3  # at a time, those that promise most
_STEPS = 4
_LEAST = 1e-6  # gain, as a share of the log-likelihood


def exchanged(ends: EdgeLists, points: np.ndarray, found: Mixed, shape: Shape, n_jobs: int | None = None) -> Mixed:
    """The fit after exchanges, each of which makes the edges more probable.

    Parameters
    ----------
    points : ndarray of shape (n, b)
        Coordinates of the nodes.
    found : Mixed
        One community a node.
    """
    k = found.communities.memberships.shape[1]
    if k < 3:
        return found
    for _ in range(_MOST):
        best = found
        for labels in _promising(ends, points, found.communities.memberships.argmax(axis=1), k, shape):
            start = of_memberships(ends, np.eye(k)[labels], shape.corrected)
            one = one_community(ends, start, shape, _STEPS, n_jobs=n_jobs)
            if _last(one) > _last(best):
                best = one
        if _last(best) <= _last(found) + _LEAST * abs(_last(found)):
            break
        found = best
    return found


def gain_of_rates(ends: EdgeLists, found: Mixed, corrected: bool) -> float:
    """What the log-likelihood gains if every pair of communities has a rate of its own, memberships staying as they are."""
    labels, k = found.communities.memberships.argmax(axis=1), found.communities.memberships.shape[1]
    free, tied = (_Table.of(ends, labels, k, Shape(corrected, one)).value() for one in (False, True))
    return (free - tied) * (2.0 if ends.directed else 1.0)


def _last(one: Mixed) -> float:
    return float(one.refinement.log_likelihood[-1])


def _promising(ends: EdgeLists, points: np.ndarray, labels: np.ndarray, k: int, shape: Shape) -> list[np.ndarray]:
    """Labels after the exchanges of highest predicted gain, those above zero."""
    whole = _Table.of(ends, labels, k, shape)
    splits = {c: half for c in range(k) if (half := _halves(points, labels, c)) is not None}
    if not splits:
        return []
    moved = labels.copy()
    for half in splits.values():
        moved[half] += k  # every community in two, at once
    fine = _Table.of(ends, moved, 2 * k, shape)
    value = whole.value()
    gains = {c: fine.merged([(d, d + k) for d in range(k) if d != c]).value() - value for c in splits}
    losses = {(a, b): whole.merged([(a, b)]).value() - value for a in range(k) for b in range(a)}
    offers = sorted(
        ((gains[c] + loss, c, pair) for c in gains for pair, loss in losses.items() if c not in pair), reverse=True
    )
    found: list[np.ndarray] = []
    used: set[int] = set()
    for gain, c, (a, b) in offers:
        if gain <= 0 or len(found) == _TRIED:
            break
        if c in used:
            continue
        used.add(c)
        after = labels.copy()
        after[after == a] = b
        after[splits[c]] = a
        found.append(after)
    return found


def _halves(points: np.ndarray, labels: np.ndarray, community: int) -> np.ndarray | None:
    """The nodes of a community on one side of the middle of their leading direction; None if one side is empty."""
    members = np.flatnonzero(labels == community)
    if len(members) < 4:
        return None
    centered = points[members] - points[members].mean(axis=0)
    axis = np.linalg.eigh(centered.T @ centered)[1][:, -1]
    side = centered @ axis > 0
    return members[side] if 0 < side.sum() < len(members) else None


class _Table:
    """Numbers of edges between communities, and the total activity of these."""

    def __init__(self, edges: np.ndarray, out: np.ndarray, into: np.ndarray, homophilic: bool) -> None:
        self.edges, self.out, self.into, self.homophilic = edges, out, into, homophilic

    @classmethod
    def of(cls, ends: EdgeLists, labels: np.ndarray, k: int, shape: Shape) -> _Table:
        places = np.arange(len(labels))
        members = sparse.csr_array((np.ones(len(labels)), (places, labels)), shape=(len(labels), k))
        edges = (members.T @ (ends.adjacency @ members)).toarray()
        if not shape.corrected:
            sizes = np.bincount(labels, minlength=k).astype(np.float64)
            return cls(edges, sizes, sizes, shape.homophilic)
        return cls(edges, np.bincount(labels, ends.out, k), np.bincount(labels, ends.into, k), shape.homophilic)

    def merged(self, pairs: list[tuple[int, int]]) -> _Table:
        """The second of each pair in the first."""
        edges, out, into = self.edges.copy(), self.out.copy(), self.into.copy()
        for a, b in pairs:
            edges[a] += edges[b]
            edges[:, a] += edges[:, b]
            edges[b] = edges[:, b] = 0.0
            for x in (out, into):
                x[a] += x[b]
                x[b] = 0.0
        return _Table(edges, out, into, self.homophilic)

    def value(self) -> float:
        """sum_kl J_kl log(J_kl / (M_k M_l)), for pairs in one order."""
        mass = np.outer(self.out, self.into)
        edges = tied(self.edges, mass) if self.homophilic else self.edges
        some = edges > 0
        return 0.5 * float((self.edges[some] * np.log(edges[some] / mass[some])).sum())
