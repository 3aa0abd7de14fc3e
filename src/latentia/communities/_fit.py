"""One fit of a block model to a graph whose nodes all have edges: a start, one community a node, memberships."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from ..evidence import noise_limit
from ..likelihood import Refine, Refinement
from ._exchange import exchange_communities, gain_of_free_rates
from ._model import Communities, EdgeLists, build_communities
from ._refine import BlockModelFit, Shape, cut_memberships, fit_mixed_memberships, fit_single_memberships
from ._residual import measure_residual_ratio
from ._scatter import Scatter
from ._start import Start, coordinates, find_by_clusters, spectral_start, try_stars

_ALPHA0_CANDIDATES = 0.1, 0.3, 1.0, 3.0  # tried in this order
_MAX_MULTIPLICATIONS = 1e8  # rough limit for trial steps
_TRIAL_STEPS = 3, 12  # least and most steps to choose between starts
_RACE_STEPS, _FINAL_STEPS = (3, 6), 6  # steps in which nodes choose among starts, and steps that follow
_ROUGH_TOLERANCE, _MAX_ROUGH_STEPS = 5e-3, 15  # end of the fit that mixed memberships start from
_MIN_DISPERSION = 1.5  # nodes differ in activity if variance over mean of degrees within communities exceeds this,
_MIN_DEVIATIONS = 4.0  # and one by so many standard deviations
_SAME_START = 0.9  # starts with more normalised mutual information count as the same
_MIN_EDGES_PER_RATE = 100  # edges per rate of a pair of communities, below which rates are not compared


@dataclass(frozen=True)
class Choices:
    """The user's parameters; for fits of parts, with the choices of the full fit.

    Attributes
    ----------
    n_components : int
    alpha0 : float or None
    corrected : bool or None
        Degree correction; None where the degrees decide.
    homophilic : bool or None
        Whether all pairs of different communities have one rate; None where the edges decide.
    steps : int or "auto"
    seed : int
    n_jobs : int or None
    """

    n_components: int
    alpha0: float | None
    corrected: bool | None
    homophilic: bool | None
    steps: Refine
    seed: int
    n_jobs: int | None


@dataclass(frozen=True)
class CommunityFit:
    """A fitted block model, and how it was chosen.

    Attributes
    ----------
    mixed : BlockModelFit
    alpha0 : float
    shape : Shape
    start : Start
    dispersion : float
        Variance of the degrees over their mean, within communities.
    """

    mixed: BlockModelFit
    alpha0: float
    shape: Shape
    start: Start
    dispersion: float

    @property
    def communities(self) -> Communities:
        return self.mixed.communities


@dataclass(frozen=True)
class StartingPoints:
    """Directions of the scaled adjacency matrix, and starting memberships from them.

    Attributes
    ----------
    start : Start
    memberships : list of ndarray of shape (n, K)
        The tensor's communities, if it has any, and clusters of the directions.
    spread : float
        Smallest dispersion of the degrees within communities of any start.
    corrected : bool
        Whether nodes have activities of their own.
    """

    start: Start
    memberships: list[np.ndarray]
    spread: float
    corrected: bool


def fit_communities(ends: EdgeLists, choices: Choices) -> CommunityFit:
    """Fit a model.

    1. Leading directions of the scaled adjacency matrix, and moments of stars in them (`spectral_start`).
    2. Starts: the tensor's communities, and clusters of the directions (`find_starts`).
    3. One community a node, from each start for some steps, then from the most probable one, with exchanges of communities.
    4. Memberships with a Dirichlet prior from there, of the least alpha_0 that describes how edges scatter; 0 among them
       (`refine_starts`).
    """
    start = spectral_start(ends, choices.n_components, choices.seed, choices.n_jobs)
    return refine_starts(ends, find_starts(ends, start, choices), choices)


def find_starts(ends: EdgeLists, start: Start, choices: Choices) -> StartingPoints:
    """Find starting memberships: communities of the tensor of stars, and clusters."""
    k, seed = choices.n_components, choices.seed
    rough_alpha0 = choices.alpha0 if choices.alpha0 is not None else 0.0
    shares = try_stars(ends, start, k, rough_alpha0, seed)
    starts = find_by_clusters(ends, start, k, seed)
    if shares is not None:
        starts.insert(0, np.eye(k)[shares.argmax(axis=1)])
    spread = min(dispersion(ends, memberships) for memberships in starts)
    corrected = choices.corrected if choices.corrected is not None else _is_dispersed(spread, ends.n_nodes)
    return StartingPoints(start, starts, spread, corrected)


def refine_starts(ends: EdgeLists, starting_points: StartingPoints, choices: Choices) -> CommunityFit:
    """Fit the model from its starting points."""
    if choices.steps:
        mixed, shape = _refine_best_start(
            ends, starting_points.memberships, starting_points.corrected, starting_points.start, choices
        )
    else:
        mixed = _reassign_once(ends, starting_points.memberships[0], starting_points.corrected, choices)
        shape = Shape(starting_points.corrected, False)
    return CommunityFit(
        mixed.sorted(), float(mixed.dirichlet.sum()), shape, starting_points.start, starting_points.spread
    )


def _refine_best_start(
    ends: EdgeLists, starts: list[np.ndarray], corrected: bool, start: Start, choices: Choices
) -> tuple[BlockModelFit, Shape]:
    k, n_jobs = choices.n_components, choices.n_jobs
    best, shape = _best_start(ends, starts, corrected, start, choices)
    best = exchange_communities(ends, coordinates(ends, start), best, shape, n_jobs)
    if choices.alpha0 == 0 or k == 1:
        return fit_single_memberships(ends, best.communities, shape, choices.steps, n_jobs=n_jobs), shape
    best = fit_single_memberships(
        ends, best.communities, shape, "auto", converged=_ROUGH_TOLERANCE, max_steps=_MAX_ROUGH_STEPS, n_jobs=n_jobs
    )
    if choices.alpha0 is None:
        return _choose_alpha(ends, best, shape, choices), shape
    alpha = _even(choices.alpha0, k)
    races = _affordable(ends, choices, _RACE_STEPS)
    return fit_mixed_memberships(ends, best.communities, shape, alpha, choices.steps, races=races, n_jobs=n_jobs), shape


def _best_start(
    ends: EdgeLists, starts: list[np.ndarray], corrected: bool, start: Start, choices: Choices
) -> tuple[BlockModelFit, Shape]:
    """Return the most probable fit after some steps from the starts, and its shape."""

    def fit_starts(models: list[Communities], homophilic: bool) -> BlockModelFit:
        shape = Shape(corrected, homophilic)
        fits = [fit_single_memberships(ends, model, shape, steps, n_jobs=choices.n_jobs) for model in models]
        return max(fits, key=lambda model: float(model.refinement.log_likelihood[-1]))

    steps = _affordable(ends, choices, _TRIAL_STEPS)
    initial_models = [build_communities(ends, memberships, corrected) for memberships in _drop_duplicates(starts)]
    if choices.homophilic is not None:
        return fit_starts(initial_models, choices.homophilic), Shape(corrected, choices.homophilic)
    tied = fit_starts(initial_models, True)
    mixing = start.mixing(choices.n_components)
    k = choices.n_components
    extra = (k * (k - 1) if ends.directed else k * (k - 1) // 2) - 1
    edges = ends.total if ends.directed else ends.total / 2
    penalty = 0.5 * extra * float(np.log(edges)) if extra > 0 else np.inf
    rates_differ = edges >= _MIN_EDGES_PER_RATE * (extra + k) and gain_of_free_rates(ends, tied, corrected) > penalty
    if extra > 0 and (mixing or rates_differ):
        free_fit = fit_starts(initial_models if mixing else [tied.communities, initial_models[0]], False)
        gain = float(free_fit.refinement.log_likelihood[-1] - tied.refinement.log_likelihood[-1])
        if gain > penalty and (mixing or _explains_edges(ends, free_fit.communities, start, choices)):
            return free_fit, Shape(corrected, False)
    return tied, Shape(corrected, True)


def _drop_duplicates(starts: list[np.ndarray]) -> list[np.ndarray]:
    """Return the starts without near duplicates of earlier ones."""
    distinct: list[np.ndarray] = []
    for memberships in starts:
        labels = memberships.argmax(axis=1)
        if all(normalized_mutual_info_score(labels, earlier.argmax(axis=1)) < _SAME_START for earlier in distinct):
            distinct.append(memberships)
    return distinct


def _explains_edges(ends: EdgeLists, c: Communities, start: Start, choices: Choices) -> bool:
    """Return True if the edges less those that a model expects are noise."""
    ratio = measure_residual_ratio(ends, c, start.space, choices.seed, choices.n_jobs)
    return ratio <= noise_limit(len(start.space.scale))


def _choose_alpha(ends: EdgeLists, best: BlockModelFit, shape: Shape, choices: Choices) -> BlockModelFit:
    """Return the fit with the least alpha_0 that explains the scatter of edges; if none does, that of highest evidence.

    Evidence alone would choose too small an alpha_0: its bound is looser for more mixed nodes.
    """
    k, n_jobs, races = choices.n_components, choices.n_jobs, _affordable(ends, choices, _RACE_STEPS)
    fits, labels = [best], best.communities.memberships.argmax(axis=1)
    scatter = Scatter.measure(ends, best)
    scatter_is_explained = scatter.ratio <= scatter.limit
    for alpha0 in () if scatter_is_explained else _ALPHA0_CANDIDATES:
        alpha = _even(alpha0, k)
        fits.append(fit_mixed_memberships(ends, best.communities, shape, alpha, races, races=races, n_jobs=n_jobs))
        if scatter_is_explained := Scatter.measure(ends, fits[-1], labels).ratio <= 1:
            break
    chosen = fits[-1] if scatter_is_explained else max(fits, key=lambda fit: fit.evidence)
    if chosen is best:
        return fit_single_memberships(ends, best.communities, shape, choices.steps, n_jobs=n_jobs)
    options: dict[str, Any] = {"races": 1, "max_steps": _FINAL_STEPS, "n_jobs": n_jobs}
    return fit_mixed_memberships(ends, chosen.communities, shape, chosen.dirichlet, choices.steps, **options)


def _affordable(ends: EdgeLists, choices: Choices, steps: tuple[int, int]) -> int:
    """Return the number of trial steps: more on small graphs."""
    return int(np.clip(_MAX_MULTIPLICATIONS / (ends.table.nnz * choices.n_components), *steps))


def _reassign_once(ends: EdgeLists, start: np.ndarray, corrected: bool, choices: Choices) -> BlockModelFit:
    """Reassign memberships of the tensor once by all edges."""
    alpha0 = choices.alpha0 or 0.0
    initial = build_communities(ends, start, corrected)
    memberships = cut_memberships(ends, initial, alpha0, choices.n_jobs)
    return _build_without_steps(ends, memberships, corrected, _even(alpha0, choices.n_components))


def _build_without_steps(ends: EdgeLists, memberships: np.ndarray, corrected: bool, alpha: np.ndarray) -> BlockModelFit:
    """Build a model of these memberships, without steps of EM."""
    communities = build_communities(ends, memberships, corrected)
    pi = communities.memberships
    # Expected edges between communities from those between mixed nodes: P = (u^T u)^-1 u^T A v (v^T v)^-1.
    inverse_out, inverse_in = (
        np.linalg.pinv(x.T @ x, hermitian=True) for x in (communities.senders, communities.receivers)
    )
    table = inverse_out @ (communities.senders.T @ (ends.adjacency @ communities.receivers)) @ inverse_in
    communities = Communities(pi, np.maximum(table, 0.0), communities.activity, communities.activity_in)
    return BlockModelFit(communities, alpha, float("-inf"), None, Refinement.no_steps())


def dispersion(ends: EdgeLists, memberships: np.ndarray) -> float:
    """Return the mean over nodes of (d_i - e_i)^2 / e_i, with e_i the mean degree in the node's communities.

    It is one for equally active nodes; for directed graphs it is the larger one of both directions.
    """
    sizes = np.maximum(memberships.sum(axis=0), 1e-300)

    def variance_ratio(degrees: np.ndarray) -> float:
        expected = np.maximum(memberships @ (degrees @ memberships / sizes), 1e-300)
        return float(((degrees - expected) ** 2 / expected).mean())

    return (
        max(variance_ratio(ends.degrees_out), variance_ratio(ends.degrees_in))
        if ends.directed
        else variance_ratio(ends.degrees_out)
    )


def _is_dispersed(measured: float, n: int) -> bool:
    return measured > max(_MIN_DISPERSION, 1 + _MIN_DEVIATIONS * np.sqrt(2 / n))


def _even(alpha0: float, k: int) -> np.ndarray:
    return np.full(k, alpha0 / k)
