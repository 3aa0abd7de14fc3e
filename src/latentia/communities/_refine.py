"""EM for block models: one community a node, or memberships with a Dirichlet prior.

A step finds the posterior of every node's memberships given those of all others, and the expected numbers of edges between
communities, J_kl = P_kl sum_ij A_ij u_ik v_jl / (u_i^T P v_j), with u_i = theta_i pi_i and v_j = phi_j pi_j. These, as shares
of all edges, are the parameters that the driver steps; memberships are the state that a step leaves to the next.

- One community: p_ik is proportional to rho_k prod_j f_jk^A_ij exp(-e_k), where f_jk = (P v_j)_k and e_k is the expected
  degree; with degree correction, theta_i at its best, to rho_k prod_j (f_jk / e_k)^A_ij.
- Mixed: the ends of a node's edges are like a document, whose topics are the chances f_k / e_k of ends (see
  `latentia.communities._memberships`). Shares of edges become memberships over e_k. In the first steps every node has
  its choice of sparse starts: least squares estimates from its neighbours' memberships, cut at several times their noise.

Memberships that start with some of everything stay so, whatever alpha: a node that is a little in a community explains its
stray edges better that way. This is why mixed memberships start from those of one community a node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, xlogy

from ..likelihood import Distributions, Expected, Refine, Refinement, Values, refine
from ..linalg import ratio_product, sparse_product
from ..simplex import distributions
from ._memberships import dirichlet_fit, dirichlet_posteriors
from ._model import Communities, EdgeLists, balanced, inside_and_across, l1_moved, noise_multiple, of_memberships, tied

_SETTLED = 1e-3  # mean l1 move of memberships in a step
_MOST, _MOST_MIXED = 60, 12  # steps
_PSEUDO = 0.01  # edges between two communities, on average
_ROWS = 1 << 13
_NEWTON, _SUMS_TO_ONE = 12, 1e-6
_STRICT = 3.0  # deviations below which memberships are cut, where there is little overlap
_EMPTY = 1e-12  # of the most expected edges
_TINY = 1e-300


class Shape(NamedTuple):
    """What kind of block model is fitted.

    Attributes
    ----------
    corrected : bool
        Whether nodes have an activity of their own.
    homophilic : bool
        Whether memberships are found with one rate for all pairs of different communities. P then has the rates of pairs that
        these memberships say.
    """

    corrected: bool
    homophilic: bool


class Mixed(NamedTuple):
    """A refined model.

    Attributes
    ----------
    communities : Communities
    dirichlet : ndarray of shape (K,)
        alpha; zeros for one community a node.
    evidence : float
        Mean log-probability of the ends of a node's edges, in nats: comparable between models of one graph.
    gamma : ndarray of shape (n, K) or None
        Parameters of the posteriors of shares of edges; None for one community a node, and without steps.
    refinement : Refinement
    """

    communities: Communities
    dirichlet: np.ndarray
    evidence: float
    gamma: np.ndarray | None
    refinement: Refinement

    def sorted(self) -> Mixed:
        """The same, the largest community first."""
        c = self.communities
        order = np.argsort(-c.memberships.mean(axis=0), kind="stable")
        communities = Communities(
            np.ascontiguousarray(c.memberships[:, order]), c.connectivity[order][:, order], c.activity, c.activity_in
        )
        gamma = None if self.gamma is None else np.ascontiguousarray(self.gamma[:, order])
        return Mixed(communities, self.dirichlet[order], self.evidence, gamma, self.refinement)

    def spread(self) -> np.ndarray:
        """Sum over nodes of the expected distance of memberships, or shares of edges, from the estimate, shape (K,)."""
        p = self.communities.memberships
        if self.gamma is None:
            return np.asarray((2 * p * (1 - p)).sum(axis=0))
        total = np.zeros(p.shape[1])
        for a in range(0, len(p), _ROWS):
            total += _mean_deviation(self.gamma[a : a + _ROWS]).sum(axis=0)
        return total


def one_community(
    ends: EdgeLists,
    start: Communities,
    shape: Shape,
    steps: Refine,
    *,
    converged: float = _SETTLED,
    most: int = _MOST,
    n_jobs: int | None = None,
) -> Mixed:
    """Posterior probabilities of communities, where every node is in one of them.

    Parameters
    ----------
    start : Communities
    shape : Shape
    steps : int or "auto"
    converged : float
        Mean l1 move of memberships below which "auto" ends.
    most : int
        Most steps of "auto".
    """
    step = _OneCommunity(ends, start, shape, n_jobs)
    refinement = refine(step.update(), step, steps, until=lambda: step.moved < converged or step.number >= most)
    return Mixed(step.model(), np.zeros(len(step.communities.connectivity)), step.evidence, None, refinement)


def mixed_memberships(
    ends: EdgeLists,
    start: Communities,
    shape: Shape,
    alpha: np.ndarray,
    steps: Refine,
    *,
    races: int,
    most: int = _MOST_MIXED,
    n_jobs: int | None = None,
) -> Mixed:
    """Mean memberships under a Dirichlet prior.

    Parameters
    ----------
    start : Communities
        Best that of `one_community`.
    alpha : ndarray of shape (K,)
        Its sum stays; what share each community has of it is found.
    races : int
        Steps in which nodes choose among starts.
    most : int
        Most steps of "auto". Of small graphs with much overlap, long series of steps drift to P that are too steep.
    """
    step = _MixedMemberships(ends, start, shape, n_jobs, alpha, races, most)
    refinement = refine(step.update(), step, steps, until=lambda: step.done)
    return Mixed(step.model(), step.alpha, step.evidence, step.gamma, refinement)


# --- steps --------------------------------------------------------------------------------------------------------


class _JointSums(NamedTuple):
    """Log-likelihood of the edges in nats, and expected edges between communities, shape (K, K)."""

    log_likelihood: float
    joint: np.ndarray


@dataclass(frozen=True)
class _JointUpdate:
    """Shares of all edges that are between two communities, shape (K K,)."""

    joint: np.ndarray
    pseudo: np.ndarray

    @property
    def values(self) -> Values:
        return (self.joint,)

    def at(self, *values: np.ndarray) -> _JointUpdate:
        return _JointUpdate(values[0], self.pseudo)

    def expected(self, sums: _JointSums) -> tuple[Expected, ...]:
        return (Distributions(self.joint, sums.joint.ravel(), self.pseudo),)


@dataclass
class _Step(ABC):
    """An E-step that holds the memberships."""

    ends: EdgeLists
    communities: Communities
    shape: Shape
    n_jobs: int | None
    moved: float = field(default=np.inf, init=False)
    evidence: float = field(default=-np.inf, init=False)
    number: int = field(default=0, init=False)
    untied: np.ndarray | None = field(default=None, init=False)

    def update(self) -> _JointUpdate:
        """Where the driver starts."""
        mass = self.communities.mass
        pseudo = _PSEUDO * mass.size * mass / mass.sum()
        joint = self._of_shape(self.communities.connectivity * mass, mass) + pseudo
        return _JointUpdate(joint.ravel() / joint.sum(), pseudo.ravel())

    def __call__(self, update: Any, number: int) -> _JointSums:
        joint = self.ends.total * update.joint.reshape(self.communities.connectivity.shape)
        self.number = number
        before = self.communities.with_joint(joint)
        after = self.posterior(before).with_joint(joint)
        self.moved = l1_moved(before.memberships, after.memberships)
        image, log_likelihood = ratio_product(
            self.ends.adjacency, after.senders @ after.connectivity, after.receivers, self.n_jobs
        )
        found = after.connectivity * (after.senders.T @ image)
        if not self.ends.directed:
            found, log_likelihood = (found + found.T) / 2, log_likelihood / 2
        self.untied = found
        found = self._of_shape(found, after.mass)
        self.communities = after.with_joint(found + update.pseudo.reshape(found.shape))
        edges = self.ends.total if self.ends.directed else self.ends.total / 2
        return _JointSums(log_likelihood - edges, found)

    @abstractmethod
    def posterior(self, before: Communities) -> Communities:
        """Memberships and activity given all others'."""

    def model(self) -> Communities:
        """What was found, with a rate of its own for every pair of communities."""
        return self.communities if self.untied is None else self.communities.with_joint(self.untied)

    def _of_shape(self, joint: np.ndarray, mass: np.ndarray) -> np.ndarray:
        return tied(joint, mass) if self.shape.homophilic else joint

    def _totals(self, c: Communities) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Expected edges from, to, and of a node of activity one in each community."""
        out, into = (np.maximum(x, _TINY) for x in c.expected_degrees())
        return out, into, out + into if self.ends.directed else out


class _OneCommunity(_Step):
    def posterior(self, before: Communities) -> Communities:
        ends = self.ends
        logs = np.log(np.maximum(before.fields(ends.directed), _TINY))
        found = sparse_product(ends.table, logs.astype(np.float32), self.n_jobs).astype(np.float64)
        out, into, expected = self._totals(before)
        shares = np.maximum(before.memberships.mean(axis=0), 1e-12)
        if self.shape.corrected:
            found -= ends.out[:, None] * np.log(out)
            found -= ends.into[:, None] * np.log(into) if ends.directed else 0.0
            at_best = 0.0
        else:
            found -= expected
            at_best = ends.degrees[:, None] * np.log(expected) - expected  # of evidence, which knows the degrees
        found += np.log(shares)
        found[:, ~_inhabited(expected)] = -np.inf
        top = found.max(axis=1, keepdims=True)
        p = np.exp(found - top)
        total = p.sum(axis=1, keepdims=True)
        p /= total
        self.evidence = float((top + np.log(total) - (p * at_best).sum(axis=1, keepdims=True)).mean())
        return _with_memberships(ends, p, self.shape.corrected, before)


@dataclass
class _MixedMemberships(_Step):
    alpha: np.ndarray
    races: int
    most: int

    def __post_init__(self) -> None:
        self.gamma: np.ndarray | None = None

    @property
    def done(self) -> bool:
        """Whether memberships have settled, after all races."""
        return (self.moved < _SETTLED and self.number > self.races) or self.number >= self.most

    def posterior(self, before: Communities) -> Communities:
        ends = self.ends
        out, into, expected = self._totals(before)
        racing = self.number <= self.races
        shares = before.memberships * expected
        shares /= shares.sum(axis=1, keepdims=True)
        rough = None
        if racing:
            estimate, of_rows, of_columns = _regression(ends, before, self.n_jobs)
            rough = (estimate * expected).astype(np.float32), of_rows, of_columns * expected
            del estimate
        current = shares if self.gamma is None or racing else _normalised(np.maximum(self.gamma - self.alpha, 0))
        topics = before.fields(ends.directed) / expected
        found = dirichlet_posteriors(ends.table, topics, self.alpha, current, rough, self.n_jobs)
        self.gamma, self.evidence = found.gamma, float(found.evidence.mean())
        self.alpha = _shaped(found.mean_logs(), self.alpha)
        if not self.shape.corrected:
            inhabited = _inhabited(expected)
            memberships = _with_degrees(found.gamma * inhabited, np.where(inhabited, expected, expected.max()))
            return Communities(memberships, before.connectivity, before.activity, before.activity_in)
        memberships = _normalised(found.gamma * _inhabited(expected) / expected)
        activity = ends.out / np.maximum(memberships @ out, _TINY)
        activity_in = ends.into / np.maximum(memberships @ into, _TINY) if ends.directed else activity
        memberships, factor = balanced(memberships, (activity + activity_in) / 2)
        activity = activity * factor
        activity_in = activity_in * factor if ends.directed else activity
        return Communities(memberships, before.connectivity, activity, activity_in)


def _with_memberships(ends: EdgeLists, memberships: np.ndarray, corrected: bool, before: Communities) -> Communities:
    """New memberships with the activity that they say; P stays as it was."""
    if not corrected:
        return Communities(memberships, before.connectivity, before.activity, before.activity_in)
    found = of_memberships(ends, memberships, corrected)
    return Communities(memberships, before.connectivity, found.activity, found.activity_in)


def _with_degrees(gamma: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Memberships gamma_k / (nu + e_k), with nu such that they sum to one: a node's degree is that of its communities.

    nu is found by Newton's steps from below, where the sum is convex.
    """
    found = np.empty_like(gamma)
    for a in range(0, len(gamma), _ROWS):
        part = gamma[a : a + _ROWS]
        nu, least = (part - expected).max(axis=1, keepdims=True), np.maximum(part, _TINY)  # no share is above one
        for _ in range(_NEWTON):
            whole = np.maximum(nu + expected, least)
            shares = part / whole
            left = shares.sum(axis=1, keepdims=True) - 1
            if np.abs(left).max() < _SUMS_TO_ONE:
                break
            nu = nu + left / np.maximum((shares / whole).sum(axis=1, keepdims=True), _TINY)
        found[a : a + _ROWS] = _normalised(part / np.maximum(nu + expected, least))
    return found


def _shaped(mean_logs: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """alpha of the same sum with the proportions that the posteriors have."""
    found = dirichlet_fit(mean_logs, alpha)
    return found * (float(alpha.sum()) / float(found.sum()))


def _inhabited(expected: np.ndarray) -> np.ndarray:
    """Communities that have expected edges: what is divided by those of an empty one would win."""
    return expected > _EMPTY * expected.max()


def _normalised(rows: np.ndarray) -> np.ndarray:
    return distributions(rows, np.full(rows.shape[1], 1 / rows.shape[1]))


def _mean_deviation(gamma: np.ndarray) -> np.ndarray:
    """E|w_k - E w_k| of Dirichlet distributions, shape (n, K): 2 a^a b^b / (B(a, b) s^(s + 1)) with b = s - a."""
    total = gamma.sum(axis=1, keepdims=True)
    rest = np.maximum(total - gamma, _TINY)
    return 2 * np.exp(
        xlogy(gamma, gamma) + xlogy(rest, rest) - xlogy(total + 1, total) - betaln(np.maximum(gamma, _TINY), rest)
    )


# --- averages over neighbours -------------------------------------------------------------------------------------


def _regression(ends: EdgeLists, c: Communities, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """theta_i pi_i by least squares from the neighbours' memberships, (n, K), and factors of deviations, (n,) and (K,).

    The sums G_i = sum_j A_ij pi_j have mean theta_i pi_i^T P V^T pi, and a covariance of about d_i times the mean of pi pi^T
    over ends.
    """
    pi = c.memberships
    sums = [sparse_product(ends.adjacency, pi, n_jobs)]
    maps = [c.connectivity @ (c.receivers.T @ pi)]
    noise = [_second(pi, ends.into)]
    if ends.directed:
        sums.append(sparse_product(ends.adjacency.T.tocsr(), pi, n_jobs))
        maps.append(c.connectivity.T @ (c.senders.T @ pi))
        noise.append(_second(pi, ends.out))
    precisions = [np.linalg.pinv(x, hermitian=True) for x in noise]
    information = sum(m @ w @ m.T for m, w in zip(maps, precisions, strict=True))
    covariance = np.linalg.pinv(information, hermitian=True)
    found = sum(s @ (w @ m.T) for s, m, w in zip(sums, maps, precisions, strict=True)) @ covariance
    degrees = ends.degrees / (2 if ends.directed else 1)
    return found, np.sqrt(degrees), np.sqrt(np.maximum(np.diag(covariance), 0))


def _second(pi: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    return (pi * degrees[:, None]).T @ pi / degrees.sum()


def cut_memberships(ends: EdgeLists, c: Communities, alpha0: float, n_jobs: int | None = None) -> np.ndarray:
    """Memberships by one reassignment: least squares from the neighbours', cut at a multiple of the noise.

    The multiple is 3 for alpha_0 up to .2, falls to 1.5 at alpha_0 = 1, and one community is left where alpha_0 = 0.
    """
    found, of_rows, of_columns = _regression(ends, c, n_jobs)
    noise = of_rows[:, None] * of_columns
    if alpha0 == 0:
        return np.eye(found.shape[1])[found.argmax(axis=1)]
    cut = noise_multiple(alpha0, _STRICT)
    kept = np.where(found > cut * noise, found, 0.0)
    alone = np.eye(found.shape[1])[found.argmax(axis=1)]
    return _normalised(np.where((kept > 0).any(axis=1, keepdims=True), kept, alone))


def averages(
    ends: EdgeLists, c: Communities, alpha0: float, n_jobs: int | None = None
) -> tuple[np.ndarray, float, float]:
    """Algorithm 8.3 on all edges: (F - L) / (H - L) for F = G Q, shape (n, K), and H and L.

    Q has (alpha_0 + 1) pi_ik / sum_i theta_i pi_ik - alpha_0 / n. Of directed graphs it is the mean of the directions that a
    node has, and with degree correction sums are divided by its activity.
    """
    pi = c.memberships

    def mean(edges: Any, others: np.ndarray, activity: np.ndarray) -> np.ndarray:
        q = (alpha0 + 1) * pi / np.maximum(others.sum(axis=0), _TINY) - alpha0 / len(pi)
        return np.asarray(sparse_product(edges, q, n_jobs) / np.maximum(activity, _TINY)[:, None])

    found = mean(ends.adjacency, c.receivers, c.activity)
    if ends.directed:
        back = mean(ends.adjacency.T.tocsr(), c.senders, c.activity_in)
        some = [(x > 0)[:, None] for x in (c.activity, c.activity_in)]
        found = (some[0] * found + some[1] * back) / np.maximum(some[0].astype(float) + some[1], 1)
    q = pi / np.maximum(pi.sum(axis=0), _TINY) * (alpha0 + 1) - alpha0 / len(pi)
    high, low = inside_and_across(q.T @ found)
    return (found - low) / (high - low) if high != low else found - low, high, low
