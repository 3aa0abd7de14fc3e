"""Overlapping communities of a graph: the mixed membership block model.

Model. Node i of n belongs to communities with shares pi_i, drawn from Dirichlet(alpha), and edges are independent, of mean

    E[A_ij] = theta_i phi_j pi_i^T P pi_j,

with activities theta = phi of the nodes (one without degree correction, and different where edges have directions) and the
connectivity P (K x K) of the communities. With alpha_0 = sum alpha -> 0 every node is in one community.

Given the head x of a 3-star, its leaves are independent: its 3-stars are a third moment of pi_x, and the communities are
orthogonal components of their tensor, whitened by the leading directions of A.

Source: R. Ge, Provable algorithms for machine learning problems, PhD thesis, Princeton 2013, chapter 8.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse

from .._parameters import Flag, NComponents, Number, OrNone, Seed
from ..comparing.profile import Profile
from ..datasets.graphs import graph_of
from ..evidence import ComponentView, Evidence, PartErrors, repeat_shares
from ..exceptions import DroppedDataWarning, EvidenceWarning, LatentiaError, warn
from ..fitting import stages
from ..fitting.base import fitting
from ..fitting.stages import Fitted, Staged
from ..likelihood import Refine
from ..moments import FoldCounts, Graph, split_counts
from ..passes import Folds
from ._evidence import (
    Measurements,
    PartialFit,
    checks,
    column_distances,
    estimate_errors,
    estimate_position_errors,
    posterior_errors_of,
    rate_repeatability,
    score_held_out_edges,
    spectrum_of,
)
from ._fit import Choices, CommunityFit, StartingPoints, find_starts, fit_communities, refine_starts
from ._methods import MembershipMethods
from ._model import EdgeLists
from ._refine import average_neighbours
from ._residual import measure_residual_ratio, measure_triangle_ratios
from ._scatter import Scatter
from ._start import Start, count_above_noise, spectral_start, suggest_number
from ._weights import Weights, select_nodes

_MAX_SUGGESTED = 60


class MixedMembershipBlockModel(MembershipMethods, Staged["StarMoments", "_Answer"]):
    """Overlapping communities of a graph, with shares of membership for every node.

    Choose it for graphs whose nodes may belong to several groups, from some hundred nodes to millions: for shares instead of
    one label, the number of communities that the edges support, and errors. Members of a group have similar links, so groups
    without links inside are found too. For one label each and no errors, Leiden's algorithm is as good where communities are
    dense and small, and faster.

    Parameters
    ----------
    n_components : int, range, list or "auto", default=10
        K, number of communities. A range compares several and takes the one that the evidence recommends; "auto" compares
        numbers around the one that the spectrum suggests.
    alpha0 : float, optional
        How mixed nodes are: 0 for one community a node, .1 for a second one here and there, 1 for two or three. By default the
        smallest of 0, .1, .3, 1 and 3 that explains the scatter of nodes' edges over communities, or if none does, the one of
        highest evidence; 0 with ``refine=0``.
    degree_corrected : bool or "auto", default="auto"
        Whether nodes differ in activity. "auto" looks at the scatter of degrees within communities.
    homophilic : bool or "auto", default="auto"
        Whether all pairs of different communities have one rate of links while memberships are fitted, as in the thesis: this
        favours groups with links inside. "auto" does so, unless the edges support a rate for every pair (BIC) and either the
        spectrum shows groups with more links to others than inside, or these rates describe the graph up to noise.
    directed : bool or "auto", default="auto"
        Whether edges have directions. "auto": a matrix has directions if it is neither symmetric nor triangular.
    refine : int or "auto", default="auto"
        EM steps after the tensor; "auto" continues until memberships converge. 0 follows the theorem: communities of the
        tensor, or clusters where its rank is too small, reassigned once by all edges.
    n_splits : int, default=1
        Number of fits on three quarters of the edges, at most 3, for the expected errors and held-out edges; each takes about
        three quarters of the time of the fit. They also show which communities repeat. 0 skips them.
    random_state : int, default=0
        Seed of the starting directions of iterations, and of the held-out edges. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress where a file is read.

    Attributes
    ----------
    memberships_ : ndarray of shape (n, K)
        pi: rows sum to one, communities in columns, the largest first. With ``dirichlet_`` zero, probabilities of the one
        community of a node. Nodes without edges have NaN.
    labels_ : ndarray of shape (n,)
        The community with the largest share; -1 for nodes without edges.
    connectivity_ : ndarray of shape (K, K)
        P: probability, or mean weight, of an edge from a node of one community to one of another, of activity one.
    dirichlet_ : ndarray of shape (K,)
        alpha; zeros where every node is in one community.
    weights_ : ndarray of shape (K,)
        Mean membership: the share of each community in the nodes.
    activity_, activity_in_ : ndarray of shape (n,)
        theta and phi, of mean one in every community, 0 for nodes without edges. One array where there are no directions; all
        ones without degree correction.
    averages_ : ndarray of shape (n, K)
        Algorithm 8.3's averages over a node's neighbours, (F - L) / (H - L): memberships with noise, without a prior.
    degree_corrected_, homophilic_, directed_ : bool
    spectrum_ : ndarray of shape (n_eigenvalues,)
        Leading eigenvalues, or singular values, of the scaled adjacency matrix without that of the degrees, by decreasing
        modulus.
    noise_level_ : float
        Eigenvalues of smaller modulus are noise.
    n_suggested_ : int
        Number of communities that the spectrum suggests: one more than the eigenvalues clearly above ``noise_level_``, K + 5 at
        most.
    isolated_ : ndarray of int, shape (n_isolated,)
        Nodes without edges.
    names_ : list of str or None
        Names of the nodes, where the graph has them.
    n_edges_ : int
    n_features_in_ : int
        n.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the edges at every step of EM, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are l1 distances of a community's column of
        memberships, over its sum (0 to 2).
    n_passes_ : int
        Number of times that the graph was read: one.

    Notes
    -----
    Differences from the thesis, whose algorithm is `latentia.papers.communities.partitioned_communities`:

    1. No parts: the tensor of stars with three different leaves has a closed form on all nodes
       (`latentia.communities._stars`).
    2. Directions come from the adjacency matrix scaled by degrees, without what the degrees alone explain.
    3. The expectation of (8.7) is twice (8.9); it is halved. Heads are weighted by their degree.
    4. All components are computed at once (`latentia.tensor.decompose`), and clusters of the directions are further starts: the
       one under which edges are most probable is refined.
    5. ``refine``: variational EM of the whole model, first with one community a node, where communities are also split and
       merged, then with a Dirichlet prior. Without it memberships are Algorithm 8.1's reassignment by Q, with a threshold at a
       multiple of the noise, as least squares for any P.
    6. P is any nonnegative matrix and communities have any sizes, where the thesis has p, q and equal ones.
    7. Weights are divided by their dispersion, so that their noise has the size of that of counts. Where they are not whole
       numbers, or scatter half as much again as counts, their roots are taken first, so that a few heavy edges do not dominate.
       P is that of the weights themselves.

    References
    ----------
    R. Ge, PhD thesis, Princeton 2013, Algorithms 8.1 to 8.3, Theorems 8.4 and 8.6. A. Anandkumar, R. Ge, D. Hsu, S. Kakade, A
    tensor approach to learning mixed membership community models, JMLR 15 (2014).

    Examples
    --------
    >>> from latentia.communities import MixedMembershipBlockModel
    >>> from latentia.datasets import planted
    >>> graph = planted.mixed_membership_graph(1000, 4, alpha0=0.1, degree=30, snr=4)
    >>> model = MixedMembershipBlockModel(4).fit(graph.adjacency)
    >>> model.memberships_.shape
    (1000, 4)
    """

    _compared = ("memberships_",)
    _nouns = ("community", "communities", "nodes")
    _constraints: ClassVar = {
        "alpha0": OrNone(Number(0, 1000, closed="both")),
        "degree_corrected": Flag(auto=True),
        "homophilic": Flag(auto=True),
        "directed": Flag(auto=True),
    }

    def __init__(
        self,
        n_components: NComponents = 10,
        *,
        alpha0: float | None = None,
        degree_corrected: bool | Literal["auto"] = "auto",
        homophilic: bool | Literal["auto"] = "auto",
        directed: bool | Literal["auto"] = "auto",
        refine: Refine = "auto",
        n_splits: int = 1,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.alpha0 = alpha0
        self.degree_corrected = degree_corrected
        self.homophilic = homophilic
        self.directed = directed
        self.refine = refine
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, A: Any, y: Any = None) -> MixedMembershipBlockModel:
        """Learn communities from a graph.

        Parameters
        ----------
        A : sparse matrix, array-like, DataFrame or Blocks of shape (n, n), networkx or igraph graph, Graph, or path
            Weights of edges, 0 for none; see `latentia.moments.as_graph`, and for paths `latentia.datasets.read_graph`. Loops
            are left out and repeated edges merged.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if A is not square, has NaN, infinite or negative entries, or no edge,
            or has fewer nodes than communities.
        """
        graph = self._graph(A)
        linked = self._find_linked_nodes(graph)
        self._fit_stages(_Edges(graph, linked, *_as_counts(graph, linked)))
        self._warn(graph)
        return self

    def _assign_folds(self, rows: _Edges) -> Folds:
        return Folds(4, self._seed)

    def _moments(self, rows: _Edges, folds: Folds) -> StarMoments:
        """Compute leading directions of the scaled adjacency matrix, and moments of stars in them."""
        return StarMoments(rows.ends, spectral_start(rows.ends, self.n_components, self._seed, self.n_jobs))

    def _recover(self, moments: StarMoments, subset: stages.Subset, choices: Any) -> StartingPoints:
        """Find starts: the tensor's communities (Algorithm 8.2), and clusters of the directions."""
        return find_starts(moments.ends, moments.start, self._choices())

    def _refine(self, recovered: StartingPoints, moments: StarMoments, subset: stages.Subset, choices: Any) -> _Answer:
        """Run variational EM from the most probable start, or Algorithm 8.1's reassignment; and Algorithm 8.3's averages."""
        answer = refine_starts(moments.ends, recovered, self._choices())
        return _Answer(answer, *average_neighbours(moments.ends, answer.communities, answer.alpha0, self.n_jobs))

    def _checks(self, fitted: Fitted[StarMoments, _Answer]) -> Evidence:
        """Measure fits on three quarters of the edges, residuals of the graph, and the assumptions of the theorem."""
        edges: _Edges = fitted.rows
        fit, _, high, low = fitted.model
        scatter = Scatter.measure(edges.ends, fit.mixed)
        residual = measure_residual_ratio(edges.ends, fit.communities, fit.start.space, self._seed, self.n_jobs)
        triangles, community_triangles = measure_triangle_ratios(edges.ends, fit.communities, self._seed)
        parts, errors = self._errors(
            fit, edges.ends, scatter, estimate_position_errors(fit, residual, community_triangles)
        )
        m = Measurements(edges.graph, edges.ends, fit, errors, parts, residual, triangles, high, low, scatter)
        return Evidence(checks(m), errors.errors, found_again=rate_repeatability(parts))

    def _graph(self, A: Any) -> Graph:
        return graph_of(A, None if self.directed == "auto" else bool(self.directed), progress=bool(self.verbose))

    def _find_linked_nodes(self, graph: Graph) -> np.ndarray:
        """Return nodes with edges; raise if they are fewer than the communities, and warn of dropped edges."""
        linked = np.flatnonzero(graph.part_of >= 0)
        if self.n_components > len(linked):
            raise LatentiaError(
                f"{len(linked)} nodes with edges carry at most {len(linked)} communities.",
                at_most=len(linked), parameter="n_components", value=self.n_components,
            )  # fmt: skip
        dropped = [
            f"{number} {singular if number == 1 else plural}"
            for number, singular, plural in (
                (graph.n_loops, "loop was left out", "loops were left out"),
                (graph.n_merged, "repetition of an edge was merged", "repetitions of edges were merged"),
            )
            if number
        ]
        if dropped:
            warn(f"{', and '.join(dropped)}.", DroppedDataWarning)
        return linked

    def _choices(self) -> Choices:
        corrected, homophilic = (
            None if parameter == "auto" else bool(parameter) for parameter in (self.degree_corrected, self.homophilic)
        )
        return Choices(self.n_components, self.alpha0, corrected, homophilic, self.refine, self._seed, self.n_jobs)

    def _errors(
        self, fit: CommunityFit, ends: EdgeLists, scatter: Scatter, model_errors: np.ndarray
    ) -> tuple[list[PartialFit], PartErrors]:
        """Fit three quarters of the edges, and estimate the error of each community."""
        if not self.n_splits:
            return [], PartErrors.missing()
        folds = FoldCounts(ends.adjacency, Folds(4, self._seed), symmetric=not ends.directed)
        parts, reason = [], ""
        for group in range(self.n_splits):
            known_groups = tuple(g for g in folds.folds.all if g != group)
            try:
                parts.append(self._fit_part(fit, ends, folds.of(known_groups), folds.of((group,))))
            except LatentiaError as error:
                reason = str(error)
        if not parts:
            return [], PartErrors(
                None, self.n_splits, self.n_splits, f"No part of the edges supports the communities. {reason}"
            )
        errors = estimate_errors(fit, parts, scatter, model_errors, ends.directed)
        return parts, PartErrors(errors, self.n_splits, self.n_splits - len(parts), reason)

    def _fit_part(
        self, fit: CommunityFit, ends: EdgeLists, fitted_edges: sparse.csr_array, held_out_edges: sparse.csr_array
    ) -> PartialFit:
        """Fit a model of the same shape to some of the edges, and compare it with the full fit and the held-out edges."""
        choices = self._choices()
        degrees = np.asarray(fitted_edges.sum(axis=1)).ravel() + np.asarray(fitted_edges.sum(axis=0)).ravel()
        nodes = np.flatnonzero(degrees > 0)
        if len(nodes) <= choices.n_components:
            raise LatentiaError("A part of the edges has fewer nodes than communities.")
        corrected, homophilic = fit.shape
        shape_choices = replace(choices, alpha0=fit.alpha0, corrected=corrected, homophilic=homophilic)
        part = fit_communities(EdgeLists(fitted_edges[nodes][:, nodes], ends.directed), shape_choices)
        full_memberships, part_memberships = fit.communities.memberships[nodes], part.communities.memberships
        distances = column_distances(full_memberships, part_memberships)
        nearest = distances.argmin(axis=1)
        return PartialFit(
            distances.min(axis=1),
            posterior_errors_of(part)[nearest],
            repeat_shares(ComponentView(full_memberships.T), ComponentView(part_memberships.T)),
            *score_held_out_edges(part.communities, nodes, fitted_edges, held_out_edges, ends.directed, self._seed),
        )

    def _set_fitted_attributes(self, fitted: Fitted[StarMoments, _Answer]) -> None:
        fit, averages, *_ = fitted.model
        graph, linked, _, weights = fitted.rows
        c, n = fit.communities, graph.n_nodes
        self.weights_ = c.memberships.mean(axis=0)
        self.memberships_ = _scatter_rows(c.memberships, linked, n)
        self.labels_ = np.full(n, -1)
        self.labels_[linked] = c.memberships.argmax(axis=1)
        self.connectivity_ = weights.connectivity(c, graph, linked, self.n_jobs)
        self.dirichlet_ = fit.mixed.dirichlet
        self.activity_ = _scatter_rows(c.activity[:, None], linked, n, 0.0).ravel()
        self.activity_in_ = (
            _scatter_rows(c.activity_in[:, None], linked, n, 0.0).ravel() if graph.directed else self.activity_
        )
        self.degree_corrected_, self.homophilic_ = bool(fit.shape[0]), bool(fit.shape[1])
        self.directed_ = graph.directed
        self.spectrum_, self.noise_level_ = spectrum_of(fit, graph.directed), fit.start.space.edge
        self.n_suggested_ = count_above_noise(fit.start.space, graph.directed) + 1
        self._as_counts, self._rates = weights, c.connectivity
        self.isolated_, self.names_, self.n_edges_ = graph.isolated, graph.names, graph.n_edges
        self.n_features_in_, self.n_passes_ = n, 1
        self._set_refinement_attributes(fit.mixed.refinement)
        self.averages_ = _scatter_rows(averages, linked, n)

    def _warn(self, graph: Graph) -> None:
        if n := len(graph.isolated):
            warn(f"Nodes without edges: {n} of {graph.n_nodes}. Their memberships are NaN.", DroppedDataWarning)
        if self.n_components > self.n_suggested_ and self.evidence_.grade not in ("supported", "with care"):
            suggestion = f"{self.n_suggested_} communities" if self.n_suggested_ > 1 else "no communities"
            warn(
                f"The spectrum shows {suggestion} above the noise, and {self.n_components} were requested: some of them may be "
                "hardly more than chance. See evidence_.",
                EvidenceWarning,
            )

    def candidates(self, A: Any) -> list[int]:
        """Return the numbers of communities that "auto" compares, around the one that the spectrum suggests.

        Parameters
        ----------
        A : sparse matrix, array-like, DataFrame or Blocks of shape (n, n), networkx or igraph graph, Graph, or path
            As in ``fit``.

        Returns
        -------
        list of int
        """
        graph = self._graph(A)
        linked = np.flatnonzero(graph.part_of >= 0)
        ends = _as_counts(graph, linked)[0]
        return numbers_around(suggest_number(ends, min(_MAX_SUGGESTED, len(linked)), self.n_jobs), len(linked))

    def _candidates(self, A: Any, y: Any = None) -> list[int]:
        return self.candidates(A)

    def _profile(self) -> Profile:
        return Profile(
            self.memberships_.T, self.weights_, self.names_, missing="left out", join="sum",
            distances=lambda first, second: column_distances(first.T, second.T),
        )  # fmt: skip

    def _profile_of_levels(self) -> Profile:
        """Return where the links of each community go; expected errors of memberships stand in for those of links."""
        links = self.connectivity_ * self.weights_
        return Profile(links / np.maximum(links.sum(axis=1, keepdims=True), np.finfo(float).tiny), self.weights_)

    def _distances(self, reference: Any) -> np.ndarray:
        return column_distances(self.memberships_, reference.memberships_).min(axis=1)

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        graph = self._graph(X)
        halves = split_counts(graph.adjacency, not graph.directed, random_state)
        return [{"A": Graph(half, graph.names, graph.directed)} for half in halves]

    # --- use ----------------------------------------------------------------------------------------------------


def numbers_around(suggested: int, max_number: int) -> list[int]:
    """Return numbers of communities to compare, from half of the suggested number to 1.4 times, and at least two more."""
    around = [round(share * suggested) for share in (0.5, 0.7, 0.85, 1.0, 1.2, 1.4)]
    small_numbers = [suggested + 1, suggested + 2] if suggested < 5 else []
    return sorted({min(max(k, 1), max_number) for k in around + small_numbers})


def _scatter_rows(rows: np.ndarray, nodes: np.ndarray, n: int, missing: float = np.nan) -> np.ndarray:
    """Return an array for all n nodes with the rows of some nodes."""
    if len(nodes) == n:
        return rows
    full = np.full((n, rows.shape[1]), missing)
    full[nodes] = rows
    return full


class _Edges(NamedTuple):
    """A graph, the numbers of its nodes with edges, the edges among them as counts, and the map from weights to counts."""

    graph: Graph
    linked: np.ndarray
    ends: EdgeLists
    weights: Weights


class StarMoments(NamedTuple):
    """Edges, and directions of the scaled adjacency matrix with moments of stars in them."""

    ends: EdgeLists
    start: Start


class _Answer(NamedTuple):
    """A fit; Algorithm 8.3's averages (n, K), and their means inside and across communities."""

    fit: CommunityFit
    averages: np.ndarray
    high: float
    low: float


def _as_counts(graph: Graph, linked: np.ndarray) -> tuple[EdgeLists, Weights]:
    """Return edges with weights as counts, and the map from the weights of the graph to these."""
    counts = select_nodes(graph, linked)
    weights = Weights.from_edges(counts) if graph.weighted else Weights(False, 1.0)
    return EdgeLists(weights.counts(counts), graph.directed), weights
