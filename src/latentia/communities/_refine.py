"""EM for block models: one community a node, or memberships with a Dirichlet prior.

A step computes the posterior of every node's memberships given those of all others, and the expected numbers of edges between
communities, J_kl = P_kl sum_ij A_ij u_ik v_jl / (u_i^T P v_j), with u_i = theta_i pi_i and v_j = phi_j pi_j. These, as shares
of all edges, are the parameters of the EM driver; memberships are the state that a step passes to the next.

- One community: p_ik is proportional to rho_k prod_j f_jk^A_ij exp(-e_k), where f_jk = (P v_j)_k and e_k is the expected
  degree; with degree correction, theta_i at its best, to rho_k prod_j (f_jk / e_k)^A_ij.
- Mixed: the ends of a node's edges are like a document, whose topics are the chances f_k / e_k of ends (see
  `latentia.communities._memberships`). Shares of edges, divided by e_k, become memberships. In the first steps every node
  chooses among sparse starts: least squares estimates from its neighbours' memberships, cut at several times their noise.

Memberships that start in all communities stay in all of them, whatever alpha: small memberships explain stray edges. This is
why mixed memberships start from those of one community a node.
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
from ._model import (
    Communities,
    EdgeLists,
    balance_activity,
    build_communities,
    inside_and_across,
    mean_l1_change,
    noise_multiple,
    tie_rates,
)

_TOLERANCE = 1e-3  # mean l1 change of memberships in a step, below which they have converged
_MAX_STEPS, _MAX_STEPS_MIXED = 60, 12
_PSEUDO = 0.01  # pseudo-edges between two communities, on average
_ROWS = 1 << 13  # rows at a time
_MAX_NEWTON_STEPS, _SUMS_TO_ONE = 12, 1e-6
_NOISE_MULTIPLE = 3.0  # memberships below so many deviations are cut, where there is little overlap
_EMPTY_SHARE = 1e-12  # communities with a smaller share of the most expected edges are empty
_TINY = 1e-300


class Shape(NamedTuple):
    """The kind of block model to fit.

    Attributes
    ----------
    corrected : bool
        Whether nodes have an activity of their own.
    homophilic : bool
        Whether memberships are fitted with one rate for all pairs of different communities. P then has the rate of each pair
        under these memberships.
    """

    corrected: bool
    homophilic: bool


class BlockModelFit(NamedTuple):
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

    def sorted(self) -> BlockModelFit:
        """Return the model with the largest community first."""
        c = self.communities
        order = np.argsort(-c.memberships.mean(axis=0), kind="stable")
        communities = Communities(
            np.ascontiguousarray(c.memberships[:, order]), c.connectivity[order][:, order], c.activity, c.activity_in
        )
        gamma = None if self.gamma is None else np.ascontiguousarray(self.gamma[:, order])
        return BlockModelFit(communities, self.dirichlet[order], self.evidence, gamma, self.refinement)

    def spread(self) -> np.ndarray:
        """Return the sum over nodes of the expected distance of memberships, or shares of edges, from the estimate, (K,)."""
        p = self.communities.memberships
        if self.gamma is None:
            return np.asarray((2 * p * (1 - p)).sum(axis=0))
        total = np.zeros(p.shape[1])
        for a in range(0, len(p), _ROWS):
            total += _mean_deviation(self.gamma[a : a + _ROWS]).sum(axis=0)
        return total


def fit_single_memberships(
    ends: EdgeLists,
    start: Communities,
    shape: Shape,
    steps: Refine,
    *,
    converged: float = _TOLERANCE,
    max_steps: int = _MAX_STEPS,
    n_jobs: int | None = None,
) -> BlockModelFit:
    """Fit posterior probabilities of communities, where every node is in one of them.

    Parameters
    ----------
    start : Communities
    shape : Shape
    steps : int or "auto"
    converged : float
        Mean l1 change of memberships below which "auto" ends.
    max_steps : int
        Largest number of steps of "auto".
    """
    step = _SingleMembershipStep(ends, start, shape, n_jobs)
    refinement = refine(step.update(), step, steps, until=lambda: step.change < converged or step.number >= max_steps)
    return BlockModelFit(step.model(), np.zeros(len(step.communities.connectivity)), step.evidence, None, refinement)


def fit_mixed_memberships(
    ends: EdgeLists,
    start: Communities,
    shape: Shape,
    alpha: np.ndarray,
    steps: Refine,
    *,
    races: int,
    max_steps: int = _MAX_STEPS_MIXED,
    n_jobs: int | None = None,
) -> BlockModelFit:
    """Fit mean memberships under a Dirichlet prior.

    Parameters
    ----------
    start : Communities
        Preferably the answer of `fit_single_memberships`.
    alpha : ndarray of shape (K,)
        Its sum is kept; the share of each community is fitted.
    races : int
        Steps in which nodes choose among starts.
    max_steps : int
        Largest number of steps of "auto". On small graphs with much overlap, long series of steps drift to P that are too
        steep.
    """
    step = _DirichletStep(ends, start, shape, n_jobs, alpha, races, max_steps)
    refinement = refine(step.update(), step, steps, until=lambda: step.is_done)
    return BlockModelFit(step.model(), step.alpha, step.evidence, step.gamma, refinement)


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

    def move_to(self, *values: np.ndarray) -> _JointUpdate:
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
    change: float = field(default=np.inf, init=False)
    evidence: float = field(default=-np.inf, init=False)
    number: int = field(default=0, init=False)
    untied: np.ndarray | None = field(default=None, init=False)

    def update(self) -> _JointUpdate:
        """Return the starting point of the driver."""
        mass = self.communities.mass
        pseudo = _PSEUDO * mass.size * mass / mass.sum()
        joint = self._tie_if_homophilic(self.communities.connectivity * mass, mass) + pseudo
        return _JointUpdate(joint.ravel() / joint.sum(), pseudo.ravel())

    def __call__(self, update: Any, number: int) -> _JointSums:
        joint = self.ends.total * update.joint.reshape(self.communities.connectivity.shape)
        self.number = number
        previous = self.communities.replace_joint(joint)
        updated = self.posterior(previous).replace_joint(joint)
        self.change = mean_l1_change(previous.memberships, updated.memberships)
        image, log_likelihood = ratio_product(
            self.ends.adjacency, updated.senders @ updated.connectivity, updated.receivers, self.n_jobs
        )
        joint_edges = updated.connectivity * (updated.senders.T @ image)
        if not self.ends.directed:
            joint_edges, log_likelihood = (joint_edges + joint_edges.T) / 2, log_likelihood / 2
        self.untied = joint_edges
        joint_edges = self._tie_if_homophilic(joint_edges, updated.mass)
        self.communities = updated.replace_joint(joint_edges + update.pseudo.reshape(joint_edges.shape))
        edges = self.ends.total if self.ends.directed else self.ends.total / 2
        return _JointSums(log_likelihood - edges, joint_edges)

    @abstractmethod
    def posterior(self, previous: Communities) -> Communities:
        """Return memberships and activity given those of all other nodes."""

    def model(self) -> Communities:
        """Return the fitted model, with its own rate for every pair of communities."""
        return self.communities if self.untied is None else self.communities.replace_joint(self.untied)

    def _tie_if_homophilic(self, joint: np.ndarray, mass: np.ndarray) -> np.ndarray:
        return tie_rates(joint, mass) if self.shape.homophilic else joint

    def _totals(self, c: Communities) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return expected edges from, to, and of a node of activity one in each community."""
        out, into = (np.maximum(x, _TINY) for x in c.expected_degrees())
        return out, into, out + into if self.ends.directed else out


class _SingleMembershipStep(_Step):
    def posterior(self, previous: Communities) -> Communities:
        ends = self.ends
        logs = np.log(np.maximum(previous.fields(ends.directed), _TINY))
        log_posterior = sparse_product(ends.table, logs.astype(np.float32), self.n_jobs).astype(np.float64)
        out, into, expected = self._totals(previous)
        shares = np.maximum(previous.memberships.mean(axis=0), 1e-12)
        if self.shape.corrected:
            log_posterior -= ends.degrees_out[:, None] * np.log(out)
            log_posterior -= ends.degrees_in[:, None] * np.log(into) if ends.directed else 0.0
            constant = 0.0
        else:
            log_posterior -= expected
            constant = (
                ends.degrees[:, None] * np.log(expected) - expected
            )  # part of the evidence, which is given the degrees
        log_posterior += np.log(shares)
        log_posterior[:, ~_has_expected_edges(expected)] = -np.inf
        top = log_posterior.max(axis=1, keepdims=True)
        p = np.exp(log_posterior - top)
        total = p.sum(axis=1, keepdims=True)
        p /= total
        self.evidence = float((top + np.log(total) - (p * constant).sum(axis=1, keepdims=True)).mean())
        return _replace_memberships(ends, p, self.shape.corrected, previous)


@dataclass
class _DirichletStep(_Step):
    alpha: np.ndarray
    races: int
    max_steps: int

    def __post_init__(self) -> None:
        self.gamma: np.ndarray | None = None

    @property
    def is_done(self) -> bool:
        """True if memberships have converged, after all races."""
        return (self.change < _TOLERANCE and self.number > self.races) or self.number >= self.max_steps

    def posterior(self, previous: Communities) -> Communities:
        ends = self.ends
        out, into, expected = self._totals(previous)
        racing = self.number <= self.races
        shares = previous.memberships * expected
        shares /= shares.sum(axis=1, keepdims=True)
        rough = None
        if racing:
            estimate, row_deviations, column_deviations = _regression(ends, previous, self.n_jobs)
            rough = (estimate * expected).astype(np.float32), row_deviations, column_deviations * expected
            del estimate
        current = shares if self.gamma is None or racing else _normalise_rows(np.maximum(self.gamma - self.alpha, 0))
        topics = previous.fields(ends.directed) / expected
        posteriors = dirichlet_posteriors(ends.table, topics, self.alpha, current, rough, self.n_jobs)
        self.gamma, self.evidence = posteriors.gamma, float(posteriors.evidence.mean())
        self.alpha = _fit_proportions(posteriors.mean_logs(), self.alpha)
        if not self.shape.corrected:
            inhabited = _has_expected_edges(expected)
            memberships = _match_degrees(posteriors.gamma * inhabited, np.where(inhabited, expected, expected.max()))
            return Communities(memberships, previous.connectivity, previous.activity, previous.activity_in)
        memberships = _normalise_rows(posteriors.gamma * _has_expected_edges(expected) / expected)
        activity = ends.degrees_out / np.maximum(memberships @ out, _TINY)
        activity_in = ends.degrees_in / np.maximum(memberships @ into, _TINY) if ends.directed else activity
        memberships, factor = balance_activity(memberships, (activity + activity_in) / 2)
        activity = activity * factor
        activity_in = activity_in * factor if ends.directed else activity
        return Communities(memberships, previous.connectivity, activity, activity_in)


def _replace_memberships(
    ends: EdgeLists, memberships: np.ndarray, corrected: bool, previous: Communities
) -> Communities:
    """Return the model with new memberships and the activity that follows from them; P stays the same."""
    if not corrected:
        return Communities(memberships, previous.connectivity, previous.activity, previous.activity_in)
    updated = build_communities(ends, memberships, corrected)
    return Communities(memberships, previous.connectivity, updated.activity, updated.activity_in)


def _match_degrees(gamma: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return memberships gamma_k / (nu + e_k), with nu such that they sum to one: a node has the degree of its communities.

    Newton's steps find nu from below, where the sum is convex.
    """
    memberships = np.empty_like(gamma)
    for a in range(0, len(gamma), _ROWS):
        part = gamma[a : a + _ROWS]
        nu, min_sum = (part - expected).max(axis=1, keepdims=True), np.maximum(part, _TINY)  # no share is above one
        for _ in range(_MAX_NEWTON_STEPS):
            sums = np.maximum(nu + expected, min_sum)
            shares = part / sums
            excess = shares.sum(axis=1, keepdims=True) - 1
            if np.abs(excess).max() < _SUMS_TO_ONE:
                break
            nu = nu + excess / np.maximum((shares / sums).sum(axis=1, keepdims=True), _TINY)
        memberships[a : a + _ROWS] = _normalise_rows(part / np.maximum(nu + expected, min_sum))
    return memberships


def _fit_proportions(mean_logs: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Fit the proportions of alpha to the posteriors, with the same sum."""
    fitted_alpha = dirichlet_fit(mean_logs, alpha)
    return fitted_alpha * (float(alpha.sum()) / float(fitted_alpha.sum()))


def _has_expected_edges(expected: np.ndarray) -> np.ndarray:
    """Return True for communities with expected edges: dividing by those of an empty community would make it win."""
    return expected > _EMPTY_SHARE * expected.max()


def _normalise_rows(rows: np.ndarray) -> np.ndarray:
    return distributions(rows, np.full(rows.shape[1], 1 / rows.shape[1]))


def _mean_deviation(gamma: np.ndarray) -> np.ndarray:
    """Return E|w_k - E w_k| of Dirichlet distributions, shape (n, K): 2 a^a b^b / (B(a, b) s^(s + 1)) with b = s - a."""
    total = gamma.sum(axis=1, keepdims=True)
    rest = np.maximum(total - gamma, _TINY)
    return 2 * np.exp(
        xlogy(gamma, gamma) + xlogy(rest, rest) - xlogy(total + 1, total) - betaln(np.maximum(gamma, _TINY), rest)
    )


# --- averages over neighbours -------------------------------------------------------------------------------------


def _regression(ends: EdgeLists, c: Communities, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimate theta_i pi_i, (n, K), by least squares from the neighbours' memberships, with factors of deviations, (n,), (K,).

    The sums G_i = sum_j A_ij pi_j have mean theta_i pi_i^T P V^T pi, and a covariance of about d_i times the mean of pi pi^T
    over ends.
    """
    pi = c.memberships
    sums = [sparse_product(ends.adjacency, pi, n_jobs)]
    maps = [c.connectivity @ (c.receivers.T @ pi)]
    noise = [_second_moment(pi, ends.degrees_in)]
    if ends.directed:
        sums.append(sparse_product(ends.adjacency.T.tocsr(), pi, n_jobs))
        maps.append(c.connectivity.T @ (c.senders.T @ pi))
        noise.append(_second_moment(pi, ends.degrees_out))
    precisions = [np.linalg.pinv(x, hermitian=True) for x in noise]
    information = sum(m @ w @ m.T for m, w in zip(maps, precisions, strict=True))
    covariance = np.linalg.pinv(information, hermitian=True)
    estimates = sum(s @ (w @ m.T) for s, m, w in zip(sums, maps, precisions, strict=True)) @ covariance
    degrees = ends.degrees / (2 if ends.directed else 1)
    return estimates, np.sqrt(degrees), np.sqrt(np.maximum(np.diag(covariance), 0))


def _second_moment(pi: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    return (pi * degrees[:, None]).T @ pi / degrees.sum()


def cut_memberships(ends: EdgeLists, c: Communities, alpha0: float, n_jobs: int | None = None) -> np.ndarray:
    """Reassign memberships once: least squares from the neighbours' memberships, cut at a multiple of the noise.

    The multiple is 3 for alpha_0 up to .2 and falls to 1.5 at alpha_0 = 1; with alpha_0 = 0 one community remains.
    """
    estimates, row_deviations, column_deviations = _regression(ends, c, n_jobs)
    noise = row_deviations[:, None] * column_deviations
    if alpha0 == 0:
        return np.eye(estimates.shape[1])[estimates.argmax(axis=1)]
    cut = noise_multiple(alpha0, _NOISE_MULTIPLE)
    above_noise = np.where(estimates > cut * noise, estimates, 0.0)
    single = np.eye(estimates.shape[1])[estimates.argmax(axis=1)]
    return _normalise_rows(np.where((above_noise > 0).any(axis=1, keepdims=True), above_noise, single))


def average_neighbours(
    ends: EdgeLists, c: Communities, alpha0: float, n_jobs: int | None = None
) -> tuple[np.ndarray, float, float]:
    """Run Algorithm 8.3 on all edges: (F - L) / (H - L) for F = G Q, shape (n, K), and H and L.

    Q has (alpha_0 + 1) pi_ik / sum_i theta_i pi_ik - alpha_0 / n. For directed graphs F is the mean over the directions in
    which a node has edges; with degree correction, sums are divided by the node's activity.
    """
    pi = c.memberships

    def mean(edges: Any, neighbours: np.ndarray, activity: np.ndarray) -> np.ndarray:
        q = (alpha0 + 1) * pi / np.maximum(neighbours.sum(axis=0), _TINY) - alpha0 / len(pi)
        return np.asarray(sparse_product(edges, q, n_jobs) / np.maximum(activity, _TINY)[:, None])

    means = mean(ends.adjacency, c.receivers, c.activity)
    if ends.directed:
        means_in = mean(ends.adjacency.T.tocsr(), c.senders, c.activity_in)
        has_edges = [(x > 0)[:, None] for x in (c.activity, c.activity_in)]
        means = (has_edges[0] * means + has_edges[1] * means_in) / np.maximum(
            has_edges[0].astype(float) + has_edges[1], 1
        )
    q = pi / np.maximum(pi.sum(axis=0), _TINY) * (alpha0 + 1) - alpha0 / len(pi)
    high, low = inside_and_across(q.T @ means)
    return (means - low) / (high - low) if high != low else means - low, high, low
