"""Escape from local optima of one community a node: split one community in two, and merge two others.

EM cannot move a community to another place. Where one fitted community holds two true ones, and two share another, exchanging
them makes the edges more probable, and sums predict this: for hard memberships, with J the numbers of edges between communities
and M their total activity, the log-likelihood at the best P is sum_kl J_kl log(J_kl / (M_k M_l)) up to a constant.
A community is split along the leading direction of its nodes' coordinates; the pair whose merger loses least is merged.

Source: N. Ueda, R. Nakano, Z. Ghahramani, G. Hinton, SMEM algorithm for mixture models, Neural Computation 12 (2000).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ._model import EdgeLists, build_communities, tie_rates
from ._refine import BlockModelFit, Shape, fit_single_memberships

_MAX_EXCHANGES = 8
_MAX_TRIALS = 3  # exchanges to try at a time, those of highest predicted gain
_STEPS = 4  # steps of EM after an exchange
_MIN_GAIN = 1e-6  # smallest gain that counts, as a share of the log-likelihood


def exchange_communities(
    ends: EdgeLists, points: np.ndarray, current: BlockModelFit, shape: Shape, n_jobs: int | None = None
) -> BlockModelFit:
    """Exchange communities as long as that makes the edges more probable, and return the fit.

    Parameters
    ----------
    points : ndarray of shape (n, b)
        Coordinates of the nodes.
    current : BlockModelFit
        A fit with one community a node.
    """
    k = current.communities.memberships.shape[1]
    if k < 3:
        return current
    for _ in range(_MAX_EXCHANGES):
        best = current
        for labels in _propose_exchanges(ends, points, current.communities.memberships.argmax(axis=1), k, shape):
            start = build_communities(ends, np.eye(k)[labels], shape.corrected)
            trial = fit_single_memberships(ends, start, shape, _STEPS, n_jobs=n_jobs)
            if _last_log_likelihood(trial) > _last_log_likelihood(best):
                best = trial
        if _last_log_likelihood(best) <= _last_log_likelihood(current) + _MIN_GAIN * abs(_last_log_likelihood(current)):
            break
        current = best
    return current


def gain_of_free_rates(ends: EdgeLists, fit: BlockModelFit, corrected: bool) -> float:
    """Return the gain of the log-likelihood if every pair of communities has its own rate, with the same memberships."""
    labels, k = fit.communities.memberships.argmax(axis=1), fit.communities.memberships.shape[1]
    free, tie_rates = (
        _Table.from_labels(ends, labels, k, Shape(corrected, homophilic)).value() for homophilic in (False, True)
    )
    return (free - tie_rates) * (2.0 if ends.directed else 1.0)


def _last_log_likelihood(fit: BlockModelFit) -> float:
    return float(fit.refinement.log_likelihood[-1])


def _propose_exchanges(
    ends: EdgeLists, points: np.ndarray, labels: np.ndarray, k: int, shape: Shape
) -> list[np.ndarray]:
    """Return labels after the exchanges of highest predicted gain, if it is positive."""
    table = _Table.from_labels(ends, labels, k, shape)
    splits = {c: half for c in range(k) if (half := _halves(points, labels, c)) is not None}
    if not splits:
        return []
    halved_labels = labels.copy()
    for half in splits.values():
        halved_labels[half] += k  # splits all communities at once
    halved_table = _Table.from_labels(ends, halved_labels, 2 * k, shape)
    value = table.value()
    gains = {c: halved_table.merge([(d, d + k) for d in range(k) if d != c]).value() - value for c in splits}
    losses = {(a, b): table.merge([(a, b)]).value() - value for a in range(k) for b in range(a)}
    ranked_exchanges = sorted(
        ((gains[c] + loss, c, pair) for c in gains for pair, loss in losses.items() if c not in pair), reverse=True
    )
    proposals: list[np.ndarray] = []
    split_communities: set[int] = set()
    for gain, c, (a, b) in ranked_exchanges:
        if gain <= 0 or len(proposals) == _MAX_TRIALS:
            break
        if c in split_communities:
            continue
        split_communities.add(c)
        new_labels = labels.copy()
        new_labels[new_labels == a] = b
        new_labels[splits[c]] = a
        proposals.append(new_labels)
    return proposals


def _halves(points: np.ndarray, labels: np.ndarray, community: int) -> np.ndarray | None:
    """Return a community's nodes on one side of the middle of their leading direction; None if one side is empty."""
    members = np.flatnonzero(labels == community)
    if len(members) < 4:
        return None
    centered = points[members] - points[members].mean(axis=0)
    axis = np.linalg.eigh(centered.T @ centered)[1][:, -1]
    side = centered @ axis > 0
    return members[side] if 0 < side.sum() < len(members) else None


class _Table:
    """Numbers of edges between communities, and the total activity of communities."""

    def __init__(self, edges: np.ndarray, out: np.ndarray, into: np.ndarray, homophilic: bool) -> None:
        self.edges, self.out, self.into, self.homophilic = edges, out, into, homophilic

    @classmethod
    def from_labels(cls, ends: EdgeLists, labels: np.ndarray, k: int, shape: Shape) -> _Table:
        places = np.arange(len(labels))
        members = sparse.csr_array((np.ones(len(labels)), (places, labels)), shape=(len(labels), k))
        edges = (members.T @ (ends.adjacency @ members)).toarray()
        if not shape.corrected:
            sizes = np.bincount(labels, minlength=k).astype(np.float64)
            return cls(edges, sizes, sizes, shape.homophilic)
        return cls(
            edges, np.bincount(labels, ends.degrees_out, k), np.bincount(labels, ends.degrees_in, k), shape.homophilic
        )

    def merge(self, pairs: list[tuple[int, int]]) -> _Table:
        """Return the table with the second community of each pair merged into the first."""
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
        """Return sum_kl J_kl log(J_kl / (M_k M_l)), with each unordered pair once."""
        mass = np.outer(self.out, self.into)
        edges = tie_rates(self.edges, mass) if self.homophilic else self.edges
        has_edges = edges > 0
        return 0.5 * float((self.edges[has_edges] * np.log(edges[has_edges] / mass[has_edges])).sum())
