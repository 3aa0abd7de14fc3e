"""One fit of a block model to a graph whose nodes all have edges: a start, one community a node, memberships."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from ..evidence import noise_limit
from ..likelihood import Refine, Refinement
from ._exchange import exchanged, gain_of_rates
from ._model import Communities, EdgeLists, of_memberships
from ._partitioned import partitioned
from ._refine import Mixed, Shape, cut_memberships, mixed_memberships, one_community
from ._residual import residual_ratio
from ._scatter import Scatter
from ._start import Start, by_clusters, coordinates, spectral_start, with_fallback

_ALPHA0 = 0.1, 0.3, 1.0, 3.0  # that are tried, from the least on
_WORK = 1e8  # multiplications that trial steps may take, about
_TRIAL = 3, 12  # steps that choose between starts
_RACES, _SETTLING = (3, 6), 6  # steps in which nodes choose among starts, and that follow
_ROUGH, _FEW = 5e-3, 15  # how far one community a node is refined, as a start for mixed memberships
_DISPERSED = 1.5  # variance of degrees over their mean, within communities, from which nodes differ in activity,
_CLEARLY = 4.0  # and this many standard deviations above one
_EQUAL = 0.9  # normalised mutual information of starts, of which one will do
_EDGES_A_RATE = 100  # that tell the rates of pairs of communities


@dataclass(frozen=True)
class Choices:
    """What the user asked for, or what a fit of the whole graph found, for one of its parts.

    Attributes
    ----------
    n_components : int
    alpha0 : float or None
    corrected : bool or None
        Degree correction; None where the degrees decide.
    homophilic : bool or None
        Whether all pairs of different communities have one rate; None where the edges decide.
    method : {"stars", "partitioned"}
    steps : int or "auto"
    seed : int
    n_jobs : int or None
    """

    n_components: int
    alpha0: float | None
    corrected: bool | None
    homophilic: bool | None
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
    shape : Shape
    start : Start
    dispersion : float
        Variance of the degrees over their mean, within communities.
    """

    mixed: Mixed
    alpha0: float
    shape: Shape
    start: Start
    dispersion: float

    @property
    def communities(self) -> Communities:
        return self.mixed.communities


@dataclass(frozen=True)
class Begun:
    """Directions of the scaled adjacency matrix, and starts from them.

    Attributes
    ----------
    start : Start
    memberships : list of ndarray of shape (n, K)
        The tensor's communities, if it has any, and clusters of the directions; none for the partitioned algorithm.
    spread : float
        Least dispersion of the edges about one of them.
    corrected : bool
        Whether nodes have activities of their own.
    """

    start: Start
    memberships: list[np.ndarray]
    spread: float = 0.0
    corrected: bool = False


def fit_communities(ends: EdgeLists, choices: Choices) -> Found:
    """Fit a model.

    1. Leading directions of the scaled adjacency matrix, and moments of stars in them (`spectral_start`).
    2. Starts: the tensor's communities, and clusters of the directions (`begin`).
    3. One community a node, from each start for some steps, then from the most probable one, with exchanges of communities.
    4. Memberships with a Dirichlet prior from there, of the least alpha_0 that describes how edges scatter; 0 among them
       (`finish`).
    """
    start = spectral_start(ends, choices.n_components, choices.seed, choices.n_jobs)
    return finish(ends, begin(ends, start, choices), choices)


def begin(ends: EdgeLists, start: Start, choices: Choices) -> Begun:
    """Starts from the moments of stars."""
    if choices.method == "partitioned":
        return Begun(start, [])
    k, seed = choices.n_components, choices.seed
    rough = choices.alpha0 if choices.alpha0 is not None else 0.0
    shares = with_fallback(ends, start, k, rough, seed)
    starts = by_clusters(ends, start, k, seed)
    if shares is not None:
        starts.insert(0, np.eye(k)[shares.argmax(axis=1)])
    spread = min(dispersion(ends, one) for one in starts)
    corrected = choices.corrected if choices.corrected is not None else _is_dispersed(spread, ends.n_nodes)
    return Begun(start, starts, spread, corrected)


def finish(ends: EdgeLists, begun: Begun, choices: Choices) -> Found:
    """The model from its starts."""
    if choices.method == "partitioned":
        return _partitioned(ends, choices, begun.start)
    if choices.steps:
        mixed, shape = _refined(ends, begun.memberships, begun.corrected, begun.start, choices)
    else:
        mixed = _by_theorem(ends, begun.memberships[0], begun.corrected, choices)
        shape = Shape(begun.corrected, False)
    return Found(mixed.sorted(), float(mixed.dirichlet.sum()), shape, begun.start, begun.spread)


def _refined(
    ends: EdgeLists, starts: list[np.ndarray], corrected: bool, start: Start, choices: Choices
) -> tuple[Mixed, Shape]:
    k, n_jobs = choices.n_components, choices.n_jobs
    best, shape = _best_start(ends, starts, corrected, start, choices)
    best = exchanged(ends, coordinates(ends, start), best, shape, n_jobs)
    if choices.alpha0 == 0 or k == 1:
        return one_community(ends, best.communities, shape, choices.steps, n_jobs=n_jobs), shape
    best = one_community(ends, best.communities, shape, "auto", converged=_ROUGH, most=_FEW, n_jobs=n_jobs)
    if choices.alpha0 is None:
        return _of_best_alpha(ends, best, shape, choices), shape
    alpha = _even(choices.alpha0, k)
    races = _affordable(ends, choices, _RACES)
    return mixed_memberships(ends, best.communities, shape, alpha, choices.steps, races=races, n_jobs=n_jobs), shape


def _best_start(
    ends: EdgeLists, starts: list[np.ndarray], corrected: bool, start: Start, choices: Choices
) -> tuple[Mixed, Shape]:
    """The most probable fit of some steps from the starts, and whether it is homophilic."""

    def tried(begun: list[Communities], homophilic: bool) -> Mixed:
        shape = Shape(corrected, homophilic)
        found = [one_community(ends, one, shape, steps, n_jobs=choices.n_jobs) for one in begun]
        return max(found, key=lambda one: float(one.refinement.log_likelihood[-1]))

    steps = _affordable(ends, choices, _TRIAL)
    begun = [of_memberships(ends, one, corrected) for one in _different(starts)]
    if choices.homophilic is not None:
        return tried(begun, choices.homophilic), Shape(corrected, choices.homophilic)
    tied = tried(begun, True)
    mixing = start.mixing(choices.n_components)
    k = choices.n_components
    extra = (k * (k - 1) if ends.directed else k * (k - 1) // 2) - 1
    edges = ends.total if ends.directed else ends.total / 2
    penalty = 0.5 * extra * float(np.log(edges)) if extra > 0 else np.inf
    told = edges >= _EDGES_A_RATE * (extra + k) and gain_of_rates(ends, tied, corrected) > penalty
    if extra > 0 and (mixing or told):
        free = tried(begun if mixing else [tied.communities, begun[0]], False)
        gain = float(free.refinement.log_likelihood[-1] - tied.refinement.log_likelihood[-1])
        if gain > penalty and (mixing or _explained(ends, free.communities, start, choices)):
            return free, Shape(corrected, False)
    return tied, Shape(corrected, True)


def _different(starts: list[np.ndarray]) -> list[np.ndarray]:
    """Starts without those that an earlier one is as good as equal to."""
    found: list[np.ndarray] = []
    for one in starts:
        labels = one.argmax(axis=1)
        if all(normalized_mutual_info_score(labels, other.argmax(axis=1)) < _EQUAL for other in found):
            found.append(one)
    return found


def _explained(ends: EdgeLists, c: Communities, start: Start, choices: Choices) -> bool:
    """Whether a model leaves nothing of the edges but noise."""
    left = residual_ratio(ends, c, start.space, choices.seed, choices.n_jobs)
    return left <= noise_limit(len(start.space.scale))


def _of_best_alpha(ends: EdgeLists, best: Mixed, shape: Shape, choices: Choices) -> Mixed:
    """The fit with the least alpha_0 under which edges scatter as memberships say; if none does, of highest evidence.

    Evidence alone would take alpha_0 too small: its bound is the looser, the more mixed nodes are.
    """
    k, n_jobs, races = choices.n_components, choices.n_jobs, _affordable(ends, choices, _RACES)
    found, labels = [best], best.communities.memberships.argmax(axis=1)
    scatter = Scatter.of(ends, best)
    even = scatter.ratio <= scatter.limit
    for alpha0 in () if even else _ALPHA0:
        alpha = _even(alpha0, k)
        found.append(mixed_memberships(ends, best.communities, shape, alpha, races, races=races, n_jobs=n_jobs))
        if even := Scatter.of(ends, found[-1], labels).ratio <= 1:
            break
    chosen = found[-1] if even else max(found, key=lambda one: one.evidence)
    if chosen is best:
        return one_community(ends, best.communities, shape, choices.steps, n_jobs=n_jobs)
    options: dict[str, Any] = {"races": 1, "most": _SETTLING, "n_jobs": n_jobs}
    return mixed_memberships(ends, chosen.communities, shape, chosen.dirichlet, choices.steps, **options)


def _affordable(ends: EdgeLists, choices: Choices, steps: tuple[int, int]) -> int:
    """Number of trial steps: more of them on small graphs."""
    return int(np.clip(_WORK / (ends.table.nnz * choices.n_components), *steps))


def _by_theorem(ends: EdgeLists, start: np.ndarray, corrected: bool, choices: Choices) -> Mixed:
    """Memberships of the tensor, reassigned once by all edges."""
    alpha0 = choices.alpha0 or 0.0
    begun = of_memberships(ends, start, corrected)
    memberships = cut_memberships(ends, begun, alpha0, choices.n_jobs)
    return _as_is(ends, memberships, corrected, _even(alpha0, choices.n_components))


def _partitioned(ends: EdgeLists, choices: Choices, start: Start) -> Found:
    alpha0 = choices.alpha0 or 0.0
    found = partitioned(ends.adjacency, choices.n_components, alpha0, seed=choices.seed, n_jobs=choices.n_jobs)
    corrected = bool(choices.corrected)
    mixed = _as_is(ends, found.memberships, corrected, alpha0 * found.shares)
    return Found(mixed.sorted(), alpha0, Shape(corrected, False), start, dispersion(ends, found.memberships))


def _as_is(ends: EdgeLists, memberships: np.ndarray, corrected: bool, alpha: np.ndarray) -> Mixed:
    """A model of these memberships, without steps."""
    communities = of_memberships(ends, memberships, corrected)
    pi = communities.memberships
    # Expected edges between communities from those between mixed nodes: P = (u^T u)^-1 u^T A v (v^T v)^-1.
    left, right = (np.linalg.pinv(x.T @ x, hermitian=True) for x in (communities.senders, communities.receivers))
    table = left @ (communities.senders.T @ (ends.adjacency @ communities.receivers)) @ right
    communities = Communities(pi, np.maximum(table, 0.0), communities.activity, communities.activity_in)
    return Mixed(communities, alpha, float("-inf"), None, Refinement.no_steps())


def dispersion(ends: EdgeLists, memberships: np.ndarray) -> float:
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
