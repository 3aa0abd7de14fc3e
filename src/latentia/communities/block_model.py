"""Overlapping communities of a graph: the mixed membership block model.

Model. Node i of n belongs to communities to the shares pi_i, drawn from Dirichlet(alpha), and edges are independent, of mean

    E[A_ij] = theta_i phi_j pi_i^T P pi_j,

with activities theta = phi of the nodes (one without degree correction, and of two kinds where edges have directions) and the
connectivity P (K x K) of the communities. With alpha_0 = sum alpha -> 0 every node is in one community.

Given the head x of a 3-star, its leaves are independent: its 3-stars are a third moment of pi_x, and their tensor, whitened by
the leading directions of A, has the communities for orthogonal components.

Source: R. Ge, Provable algorithms for machine learning problems, PhD thesis, Princeton 2013, chapter 8.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse

from .._parameters import Choice, Flag, NComponents, Number, OrNone, Seed
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
    Measured,
    Part,
    checks,
    column_distances,
    expected_errors,
    found_again,
    held_out,
    relative_spread,
    spectrum_of,
    unexplained,
)
from ._fit import Begun, Choices, Found, begin, finish, fit_communities
from ._methods import MembershipMethods
from ._model import EdgeLists
from ._refine import averages
from ._residual import residual_ratio, triangle_ratios
from ._scatter import Scatter
from ._start import Start, above_noise, spectral_start, suggested_number
from ._weights import Weights, among

_MOST_SUGGESTED = 60


class MixedMembershipBlockModel(MembershipMethods, Staged):
    """Overlapping communities of a graph, with shares of membership for every node.

    Choose it for graphs whose nodes may belong to several groups, from some hundred nodes to millions: for shares instead of
    one label, the number of communities that the edges support, and errors. It finds groups by whom their members are linked
    to, so also groups without links inside. For one label each and no errors, Leiden's algorithm is as good where communities
    are dense and small, and faster.

    Parameters
    ----------
    n_components : int, range, list or "auto", default=10
        K, number of communities. A range compares several and takes the one that the evidence recommends; "auto" compares some
        around the number that the spectrum suggests.
    alpha0 : float, optional
        How mixed nodes are: 0 for one community a node, .1 for a second one here and there, 1 for two or three. By default the
        smallest of 0, .1, .3, 1 and 3 that explains how a node's edges scatter over the communities, or if none does, the
        one of highest evidence; 0 for "partitioned" and with ``refine=0``.
    method : {"stars", "partitioned"}, default="stars"
        "partitioned" is the thesis's own algorithm on five parts of the nodes (8.1 to 8.3). It needs dense graphs, looks at
        edges from a node alone where they have directions, and takes "auto" for no degree correction.
    degree_corrected : bool or "auto", default="auto"
        Whether nodes have an activity of their own. "auto" looks at how degrees scatter within communities.
    homophilic : bool or "auto", default="auto"
        Whether memberships are found as if all pairs of different communities were linked at one rate, as in the thesis: this
        keeps to groups with links inside. "auto" does, unless the edges support a rate for every pair (BIC) and either the
        spectrum shows groups that are linked to others more than inside, or these rates describe the graph up to noise.
    directed : bool or "auto", default="auto"
        Whether edges have directions. "auto" asks the graph: a matrix has if it is neither symmetric nor triangular.
    refine : int or "auto", default="auto"
        EM steps after the tensor; "auto" makes as many as memberships need to converge. 0 keeps to the theorem:
        communities of the tensor, or clusters where it has not the rank, reassigned once by all edges.
    n_splits : int, default=1
        Number of fits on three quarters of the edges, at most 3, for the expected errors and held-out edges; each takes about
        three quarters of the time of the fit. They also tell which communities are found again. 0 makes none.
    random_state : int, default=0
        Seed of the starting directions of iterations, and of which edges are left out. None or a RandomState draws a seed.
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
        Mean membership: what share of the nodes each community is.
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
        Modulus up to which they are noise.
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
    Differences from the thesis ("stars"):

    1. No parts: the tensor of stars with three different leaves has a closed form on all nodes
       (`latentia.communities._stars`).
    2. Directions come from the adjacency matrix scaled by degrees, without what the degrees alone explain.
    3. The expectation of (8.7) is twice (8.9); it is halved. Heads are weighed by their degree.
    4. All components are found at once (`latentia.tensor.decompose`), and clusters of the directions are further starts: the
       one under which edges are most probable is refined.
    5. ``refine``: variational EM of the whole model, first with one community a node, where communities are also split and
       merged, then with a Dirichlet prior. Without it memberships are Algorithm 8.1's reassignment by Q, with a threshold at a
       multiple of the noise, as least squares for any P.
    6. P is any nonnegative matrix and communities have any sizes, where the thesis has p, q and equal ones.
    7. Weights are divided by their dispersion, so that noise has the size of that of counts. Where they are no whole numbers,
       or scatter half as much again as counts do, their roots are taken before, so that a few heavy edges do not decide. P is
       that of the weights themselves.

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
        "method": Choice("stars", "partitioned"),
        "degree_corrected": Flag(auto=True),
        "homophilic": Flag(auto=True),
        "directed": Flag(auto=True),
    }

    def __init__(
        self,
        n_components: NComponents = 10,
        *,
        alpha0: float | None = None,
        method: Literal["stars", "partitioned"] = "stars",
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
        self.method = method
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
        kept = self._kept(graph)
        self._fit_stages(_Edges(graph, kept, *_as_counts(graph, kept)))
        self._warn(graph)
        return self

    def _assign_folds(self, rows: _Edges) -> Folds:
        return Folds(4, self._seed)

    def _moments(self, rows: _Edges, folds: Folds) -> StarMoments:
        """Leading directions of the scaled adjacency matrix, and moments of stars in them."""
        return StarMoments(rows.ends, spectral_start(rows.ends, self.n_components, self._seed, self.n_jobs))

    def _recover(self, moments: StarMoments, subset: stages.Subset, full_fit: Any) -> Begun:
        """Algorithm 8.2: the tensor's communities; and clusters of the directions."""
        return begin(moments.ends, moments.start, self._choices())

    def _refine(self, recovered: Begun, moments: StarMoments, subset: stages.Subset, full_fit: Any) -> _Answer:
        """Variational EM from the most probable start; without it Algorithm 8.1's reassignment. Algorithm 8.3's averages."""
        answer = finish(moments.ends, recovered, self._choices())
        return _Answer(answer, *averages(moments.ends, answer.communities, answer.alpha0, self.n_jobs))

    def _checks(self, fitted: Fitted) -> Evidence:
        """Fits on three quarters of the edges, what communities leave of the graph, and what the theorem assumes."""
        edges: _Edges = fitted.rows
        found, _, high, low = fitted.model
        scatter = Scatter.of(edges.ends, found.mixed)
        residual = residual_ratio(edges.ends, found.communities, found.start.space, self._seed, self.n_jobs)
        triangles, of_each = triangle_ratios(edges.ends, found.communities, self._seed)
        parts, errors = self._errors(found, edges.ends, scatter, unexplained(found, residual, of_each))
        m = Measured(edges.graph, edges.ends, found, errors, parts, residual, triangles, high, low, scatter)
        return Evidence(checks(m), errors.errors, found_again=found_again(parts))

    def _graph(self, A: Any) -> Graph:
        return graph_of(A, None if self.directed == "auto" else bool(self.directed), progress=bool(self.verbose))

    def _kept(self, graph: Graph) -> np.ndarray:
        """Nodes with edges; raise if they are fewer than the communities, and warn of what was left out."""
        kept = np.flatnonzero(graph.part_of >= 0)
        if self.n_components > len(kept):
            raise LatentiaError(
                f"{len(kept)} nodes with edges carry at most {len(kept)} communities.",
                at_most=len(kept), parameter="n_components", value=self.n_components,
            )  # fmt: skip
        told = [
            f"{number} {one if number == 1 else many}"
            for number, one, many in (
                (graph.n_loops, "loop was left out", "loops were left out"),
                (graph.n_merged, "repetition of an edge was merged", "repetitions of edges were merged"),
            )
            if number
        ]
        if told:
            warn(f"{', and '.join(told)}.", DroppedDataWarning)
        return kept

    def _choices(self) -> Choices:
        corrected, homophilic = (
            None if asked == "auto" else bool(asked) for asked in (self.degree_corrected, self.homophilic)
        )
        return Choices(
            self.n_components, self.alpha0, corrected, homophilic, self.method, self.refine, self._seed, self.n_jobs
        )

    def _errors(
        self, found: Found, ends: EdgeLists, scatter: Scatter, beyond: np.ndarray
    ) -> tuple[list[Part], PartErrors]:
        """Fits on three quarters of the edges, and the expected error of each community."""
        if not self.n_splits:
            return [], PartErrors.missing()
        folds = FoldCounts(ends.adjacency, Folds(4, self._seed), symmetric=not ends.directed)
        parts, reason = [], ""
        for group in range(self.n_splits):
            some = tuple(g for g in folds.folds.all if g != group)
            try:
                parts.append(self._part(found, ends, folds.of(some), folds.of((group,))))
            except LatentiaError as error:
                reason = str(error)
        if not parts:
            return [], PartErrors(
                None, self.n_splits, self.n_splits, f"No part of the edges can carry the communities. {reason}"
            )
        errors = expected_errors(found, parts, scatter, beyond, ends.directed)
        return parts, PartErrors(errors, self.n_splits, self.n_splits - len(parts), reason)

    def _part(self, found: Found, ends: EdgeLists, known: sparse.csr_array, left_out: sparse.csr_array) -> Part:
        """A fit of the same shape to some of the edges, beside the whole one and the other edges."""
        choices = self._choices()
        degrees = np.asarray(known.sum(axis=1)).ravel() + np.asarray(known.sum(axis=0)).ravel()
        place = np.flatnonzero(degrees > 0)
        if len(place) <= choices.n_components:
            raise LatentiaError("A part of the edges has too few nodes.")
        corrected, homophilic = found.shape
        own = replace(choices, alpha0=found.alpha0, corrected=corrected, homophilic=homophilic)
        part = fit_communities(EdgeLists(known[place][:, place], ends.directed), own)
        whole, theirs = found.communities.memberships[place], part.communities.memberships
        apart = column_distances(whole, theirs)
        nearest = apart.argmin(axis=1)
        return Part(
            apart.min(axis=1),
            relative_spread(part)[nearest],
            repeat_shares(ComponentView(whole.T), ComponentView(theirs.T)),
            *held_out(part.communities, place, known, left_out, ends.directed, self._seed),
        )

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        found, near, *_ = fitted.model
        graph, kept, _, weights = fitted.rows
        c, n = found.communities, graph.n_nodes
        self.weights_ = c.memberships.mean(axis=0)
        self.memberships_ = _scattered(c.memberships, kept, n)
        self.labels_ = np.full(n, -1)
        self.labels_[kept] = c.memberships.argmax(axis=1)
        self.connectivity_ = weights.connectivity(c, graph, kept, self.n_jobs)
        self.dirichlet_ = found.mixed.dirichlet
        self.activity_ = _scattered(c.activity[:, None], kept, n, 0.0).ravel()
        self.activity_in_ = (
            _scattered(c.activity_in[:, None], kept, n, 0.0).ravel() if graph.directed else self.activity_
        )
        self.degree_corrected_, self.homophilic_ = bool(found.shape[0]), bool(found.shape[1])
        self.directed_ = graph.directed
        self.spectrum_, self.noise_level_ = spectrum_of(found, graph.directed), found.start.space.edge
        self.n_suggested_ = above_noise(found.start.space, graph.directed) + 1
        self._as_counts, self._rates = weights, c.connectivity
        self.isolated_, self.names_, self.n_edges_ = graph.isolated, graph.names, graph.n_edges
        self.n_features_in_, self.n_passes_ = n, 1
        self._set_refinement_attributes(found.mixed.refinement)
        self.averages_ = _scattered(near, kept, n)

    def _warn(self, graph: Graph) -> None:
        if n := len(graph.isolated):
            warn(f"Nodes without edges: {n} of {graph.n_nodes}. Their memberships are NaN.", DroppedDataWarning)
        if self.n_components > self.n_suggested_ and self.evidence_.grade not in ("supported", "with care"):
            shown = f"{self.n_suggested_} communities" if self.n_suggested_ > 1 else "no communities"
            warn(
                f"The spectrum shows {shown} above the noise, and {self.n_components} were asked for: some of them may be "
                "hardly more than chance. See evidence_.",
                EvidenceWarning,
            )

    def candidates(self, A: Any) -> list[int]:
        """Return the numbers of communities that "auto" compares: some around the one that the spectrum suggests.

        Parameters
        ----------
        A : sparse matrix, array-like, DataFrame or Blocks of shape (n, n), networkx or igraph graph, Graph, or path
            As in ``fit``.

        Returns
        -------
        list of int
        """
        graph = self._graph(A)
        kept = np.flatnonzero(graph.part_of >= 0)
        ends = _as_counts(graph, kept)[0]
        return numbers_around(suggested_number(ends, min(_MOST_SUGGESTED, len(kept)), self.n_jobs), len(kept))

    def _candidates(self, A: Any, y: Any = None) -> list[int]:
        return self.candidates(A)

    def _distances(self, other: Any) -> np.ndarray:
        return column_distances(self.memberships_, other.memberships_).min(axis=1)

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        graph = self._graph(X)
        halves = split_counts(graph.adjacency, not graph.directed, random_state)
        return [{"A": Graph(half, graph.names, graph.directed)} for half in halves]

    # --- use ----------------------------------------------------------------------------------------------------


def numbers_around(suggested: int, most: int) -> list[int]:
    """Numbers of communities to compare, from half of a suggested one to 1.4 times as many, and two more at least."""
    around = [round(share * suggested) for share in (0.5, 0.7, 0.85, 1.0, 1.2, 1.4)]
    more = [suggested + 1, suggested + 2] if suggested < 5 else []
    return sorted({min(max(k, 1), most) for k in around + more})


def _scattered(rows: np.ndarray, kept: np.ndarray, n: int, otherwise: float = np.nan) -> np.ndarray:
    """Rows of the nodes ``kept`` among those of all n."""
    if len(kept) == n:
        return rows
    found = np.full((n, rows.shape[1]), otherwise)
    found[kept] = rows
    return found


class _Edges(NamedTuple):
    """A graph, the numbers of its nodes with edges, the edges among them as counts, and how these come from the weights."""

    graph: Graph
    kept: np.ndarray
    ends: EdgeLists
    weights: Weights


class StarMoments(NamedTuple):
    """Edges, and directions of the scaled adjacency matrix with moments of stars in them."""

    ends: EdgeLists
    start: Start


class _Answer(NamedTuple):
    """A fit; Algorithm 8.3's averages (n, K), and their means inside and across communities."""

    found: Found
    near: np.ndarray
    high: float
    low: float


def _as_counts(graph: Graph, kept: np.ndarray) -> tuple[EdgeLists, Weights]:
    """Edges among nodes with weights that scatter as counts do, and how these come from those of the graph."""
    counts = among(graph, kept)
    how = Weights.of(counts) if graph.weighted else Weights(False, 1.0)
    return EdgeLists(how.counts(counts), graph.directed), how
