"""One fit of a block model to a graph whose nodes all have edges: a start, one community a node, memberships."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..likelihood import Refine, Refinement
from ..tensor import WhitenedDecomposition
from ._model import Communities, Ends, of_memberships
from ._partitioned import partitioned
from ._refine import Mixed, cut_memberships, mixed_memberships, one_community
from ._start import Start, by_clusters, spectral_start, with_fallback

__all__ = ["Choices", "Found", "dispersion", "fit_communities"]

_GRID = 0.03, 0.1, 0.3, 1.0, 3.0, 10.0  # alpha_0 that are compared, from the second on
_TRIAL = 3  # steps that choose between starts
_ROUGH, _FEW = 5e-3, 15  # how far one community a node is refined, as a start for mixed memberships
_DISPERSED = (
    1.5  # variance of degrees over their mean, within communities, from which nodes have an activity of their own
)
_CLEARLY = 4.0  # and this many standard deviations above one


@dataclass(frozen=True)
class Choices:
    """What the user asked for, or what a fit of the whole graph found, for one of its parts.

    Attributes
    ----------
    n_components : int
    alpha0 : float or None
    corrected : bool or None
        Degree correction; None where the degrees decide.
    method : {"stars", "partitioned"}
    steps : int or "auto"
    seed : int
    n_jobs : int or None
    """

    n_components: int
    alpha0: float | None
    corrected: bool | None
    method: str
    steps: Refine
    seed: int
    n_jobs: int | None


@dataclass(frozen=True)
class Found:
    """A fit.

    Attributes
    ----------
    mixed : Mixed
    alpha0 : float
    corrected : bool
    start : Start
    stars : WhitenedDecomposition or None
        None where the moments of stars have no such rank, or were not needed.
    dispersion : float
        Variance of the degrees over their mean, within communities.
    """

    mixed: Mixed
    alpha0: float
    corrected: bool
    start: Start
    stars: WhitenedDecomposition | None
    dispersion: float

    @property
    def communities(self) -> Communities:
        return self.mixed.communities


def fit_communities(ends: Ends, choices: Choices) -> Found:
    """Fit a model.

    1. Leading directions of the scaled adjacency matrix, and moments of stars in them.
    2. Starts: the tensor's communities, and clusters of the directions.
    3. One community a node, from each start for some steps, then from the more probable one.
    4. Memberships with a Dirichlet prior from there, for the alpha_0 of highest evidence, or none if that has none.
    """
    k, seed, n_jobs = choices.n_components, choices.seed, choices.n_jobs
    start = spectral_start(ends, k, seed, n_jobs)
    if choices.method == "partitioned":
        return _partitioned(ends, choices, start)
    rough = choices.alpha0 if choices.alpha0 is not None else 0.0
    shares, stars = with_fallback(ends, start, k, rough, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there are fewer different nodes than clusters
        clusters = by_clusters(ends, start, k, seed)
    starts = [clusters] if shares is None else [np.eye(k)[shares.argmax(axis=1)], clusters]
    spread = min(dispersion(ends, one) for one in starts)
    corrected = choices.corrected if choices.corrected is not None else _is_dispersed(spread, ends.n_nodes)
    if not choices.steps:
        mixed = _by_theorem(ends, starts[0], corrected, choices)
    else:
        mixed = _refined(ends, starts, corrected, choices)
    return Found(mixed, float(mixed.dirichlet.sum()), corrected, start, stars, spread)


def _refined(ends: Ends, starts: list[np.ndarray], corrected: bool, choices: Choices) -> Mixed:
    k, n_jobs = choices.n_components, choices.n_jobs
    tried = [one_community(ends, one, corrected, _TRIAL, n_jobs=n_jobs) for one in starts]
    best = max(tried, key=lambda one: one.refinement.log_likelihood[-1])
    memberships = best.communities.memberships
    if choices.alpha0 == 0 or k == 1:
        return one_community(ends, memberships, corrected, choices.steps, n_jobs=n_jobs)
    best = one_community(ends, memberships, corrected, "auto", settled=_ROUGH, most=_FEW, n_jobs=n_jobs)
    memberships = best.communities.memberships
    options: dict[str, Any] = {"n_jobs": n_jobs}
    if choices.alpha0 is not None:
        alpha = _even(choices.alpha0, k)
        return mixed_memberships(ends, memberships, corrected, alpha, choices.steps, **options)
    chosen = _by_evidence(
        lambda alpha0, at: mixed_memberships(ends, at, corrected, _even(alpha0, k), _TRIAL, **options), memberships
    )
    if best.evidence > chosen.evidence:
        return one_community(ends, memberships, corrected, choices.steps, **options)
    return mixed_memberships(
        ends, chosen.communities.memberships, corrected, chosen.dirichlet, choices.steps, **options
    )


def _by_evidence(fit: Any, memberships: np.ndarray) -> Mixed:
    """The fit whose alpha_0 has the highest evidence: from .1 on up as long as it rises, or else down."""
    found = fit(_GRID[1], memberships)
    for alpha0 in _GRID[2:]:
        further = fit(alpha0, found.communities.memberships)
        if further.evidence <= found.evidence:
            break
        found = further
    if found.dirichlet.sum() > 1.5 * _GRID[1]:
        return found  # type: ignore[no-any-return]
    return max(found, fit(_GRID[0], found.communities.memberships), key=lambda one: one.evidence)  # type: ignore[no-any-return]


def _by_theorem(ends: Ends, start: np.ndarray, corrected: bool, choices: Choices) -> Mixed:
    """Memberships of the tensor, reassigned once by all edges."""
    alpha0 = choices.alpha0 or 0.0
    begun = of_memberships(ends, start, corrected)
    memberships = cut_memberships(ends, begun, alpha0, choices.n_jobs)
    return _as_is(ends, memberships, corrected, _even(alpha0, choices.n_components))


def _partitioned(ends: Ends, choices: Choices, start: Start) -> Found:
    alpha0 = choices.alpha0 or 0.0
    found = partitioned(ends.adjacency, choices.n_components, alpha0, seed=choices.seed, n_jobs=choices.n_jobs)
    corrected = bool(choices.corrected)
    mixed = _as_is(ends, found.memberships, corrected, alpha0 * found.shares)
    return Found(mixed, alpha0, corrected, start, None, dispersion(ends, found.memberships))


def _as_is(ends: Ends, memberships: np.ndarray, corrected: bool, alpha: np.ndarray) -> Mixed:
    """A model of these memberships, without steps."""
    communities = of_memberships(ends, memberships, corrected)
    pi = communities.memberships
    # Expected edges between communities from those between mixed nodes: P = (u^T u)^-1 u^T A v (v^T v)^-1.
    left, right = (np.linalg.pinv(x.T @ x, hermitian=True) for x in (communities.senders, communities.receivers))
    table = left @ (communities.senders.T @ (ends.adjacency @ communities.receivers)) @ right
    communities = Communities(pi, np.maximum(table, 0.0), communities.activity, communities.activity_in)
    return Mixed(communities, alpha, float("-inf"), np.zeros_like(pi), Refinement.none())


def dispersion(ends: Ends, memberships: np.ndarray) -> float:
    """Sum over nodes of (d_i - e_i)^2 / e_i over their number, e_i being the mean degree in the node's communities.

    One for nodes without an activity of their own; of directed graphs the larger one of both directions.
    """
    sizes = np.maximum(memberships.sum(axis=0), 1e-300)

    def of(degrees: np.ndarray) -> float:
        expected = np.maximum(memberships @ (degrees @ memberships / sizes), 1e-300)
        return float(((degrees - expected) ** 2 / expected).mean())

    return max(of(ends.out), of(ends.into)) if ends.directed else of(ends.out)


def _is_dispersed(measured: float, n: int) -> bool:
    return measured > max(_DISPERSED, 1 + _CLEARLY * np.sqrt(2 / n))


def _even(alpha0: float, k: int) -> np.ndarray:
    return np.full(k, alpha0 / k)
