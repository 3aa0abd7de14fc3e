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
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from .. import _fields as of
from .._base import Estimator, check_size, fitted, fitting
from .._parameters import Choice, Flag, NComponents, Number, OrNone, Seed, check_parameter, seed_of
from .._validation import number_table
from ..evidence import Evidence, PartErrors
from ..exceptions import DroppedDataWarning, EvidenceWarning, LatentiaError, warn
from ..likelihood import Refine, draw_edges
from ..metrics import link_auc
from ..moments import DealtCounts, Graph, split_counts
from ..passes import Blocks, RowGroups
from ..simplex import distributions
from ._evidence import (
    Measured,
    Part,
    checks,
    column_distances,
    expected_errors,
    held_out,
    relative_spread,
    spectrum_of,
)
from ._fit import Choices, Found, fit_communities
from ._memberships import dirichlet_posteriors
from ._model import Communities, Ends
from ._refine import averages
from ._residual import residual_ratio
from ._scatter import Scatter
from ._start import above_noise, suggested_number
from ._weights import Weights, among

__all__ = ["MixedMembershipBlockModel"]

_LEAST_PRIOR = 1e-3  # alpha_0 for memberships of new nodes, where every node is in one community
_MOST_SUGGESTED = 60
_LARGEST = 1e15  # weight
_SCORED = 200_000  # pairs without edge that edges are compared with


class MixedMembershipBlockModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
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
        least of 0, .1, .3, 1 and 3 under which a node's edges scatter over the communities no more than it says, or if none
        does, the one of highest evidence; 0 for "partitioned" and with ``refine=0``.
    method : {"stars", "partitioned"}, default="stars"
        "partitioned" is the thesis's own algorithm on five parts of the nodes (8.1 to 8.3). It needs dense graphs, looks at
        edges from a node alone where they have directions, and takes "auto" for no degree correction.
    degree_corrected : bool or "auto", default="auto"
        Whether nodes have an activity of their own. "auto" looks at how degrees scatter within communities.
    homophilic : bool or "auto", default="auto"
        Whether memberships are found as if all pairs of different communities were linked at one rate, as in the thesis: this
        keeps to groups with links inside. "auto" does, unless the edges tell a rate for every pair (BIC) and either the
        spectrum shows groups that are linked to others more than inside, or these rates describe the graph up to noise.
    directed : bool or "auto", default="auto"
        Whether edges have directions. "auto" asks the graph: a matrix has if it is neither symmetric nor triangular.
    refine : int or "auto", default="auto"
        EM steps after the tensor; "auto" makes as many as it takes for memberships to settle. 0 keeps to the theorem:
        communities of the tensor, or clusters where it has not the rank, reassigned once by all edges.
    n_splits : int, default=1
        Number of fits on three quarters of the edges, at most 3, for the expected errors and held-out edges; each takes about
        three quarters of the time of the fit. 0 makes none.
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
    edge_ : float
        Modulus up to which they are noise.
    n_suggested_ : int
        Number of communities that the spectrum suggests: one more than the eigenvalues clearly above ``edge_``, K + 5 at
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
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are l1 distances of a community's column of
        memberships, over its sum, of a possible 2.
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

    memberships_: Annotated[np.ndarray, of.Field("V K", low=0.0, high=1.0 + of.TOLERANCE, finite=False)]
    averages_: Annotated[np.ndarray, of.Field("V K", finite=False)]
    labels_: Annotated[np.ndarray, of.places("V", below="K", low=-1)]
    isolated_: Annotated[np.ndarray, of.places("*", below="V")]
    connectivity_: Annotated[np.ndarray, of.numbers("K K", 0.0)]
    dirichlet_: Annotated[np.ndarray, of.numbers("K", 0.0)]
    weights_: Annotated[np.ndarray, of.shares("K")]
    activity_: Annotated[np.ndarray, of.numbers("V", 0.0)]
    activity_in_: Annotated[np.ndarray, of.numbers("V", 0.0)]
    spectrum_: Annotated[np.ndarray, of.numbers("*")]
    edge_: Annotated[float, of.number(0.0)]
    n_suggested_: Annotated[int, of.count()]
    n_edges_: Annotated[int, of.count()]
    degree_corrected_: bool
    homophilic_: bool
    directed_: bool
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    _rates: Annotated[np.ndarray, of.numbers("K K", 0.0)]
    _as_counts: Weights

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
        ends, weights = self._counts(graph, kept)
        found = fit_communities(ends, self._choices())
        scatter = Scatter.of(ends, found.mixed)
        parts, errors = self._errors(found, ends, scatter)
        self._set_model(found, graph, kept, weights)
        near, high, low = averages(ends, found.communities, found.alpha0, self.n_jobs)
        self.averages_ = _scattered(near, kept, graph.n_nodes)
        residual = residual_ratio(ends, found.communities, found.start.space, self._seed, self.n_jobs)
        measured = Measured(graph, ends, found, errors, parts, residual, high, low, scatter)
        self.evidence_ = Evidence(checks(measured), errors.errors).bind(self)
        self._warn(graph)
        return self

    def _graph(self, A: Any) -> Graph:
        return self._read(A, None if self.directed == "auto" else bool(self.directed))

    def _read(self, A: Any, directed: bool | None) -> Graph:
        from ..datasets.graphs import graph_of

        return graph_of(A, directed, progress=bool(self.verbose))

    def _kept(self, graph: Graph) -> np.ndarray:
        """Nodes with edges; raise if they are fewer than the communities, and warn of what was left out."""
        kept = np.flatnonzero(graph.part_of >= 0)
        if self.n_components > len(kept):
            raise LatentiaError(
                f"{len(kept)} nodes with edges carry at most {len(kept)} communities.",
                parameter="n_components", value=self.n_components,
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

    def _counts(self, graph: Graph, kept: np.ndarray) -> tuple[Ends, Weights]:
        """Edges among nodes with weights that scatter as counts do, and how these come from those of the graph."""
        counts = among(graph, kept)
        how = Weights.of(counts) if graph.weighted else Weights(False, 1.0)
        return Ends(how.counts(counts), graph.directed), how

    def _choices(self) -> Choices:
        corrected, homophilic = (
            None if asked == "auto" else bool(asked) for asked in (self.degree_corrected, self.homophilic)
        )
        return Choices(
            self.n_components, self.alpha0, corrected, homophilic, self.method, self.refine, self._seed, self.n_jobs
        )

    def _errors(self, found: Found, ends: Ends, scatter: Scatter) -> tuple[list[Part], PartErrors]:
        """Fits on three quarters of the edges, and the expected error of each community."""
        if not self.n_splits:
            return [], PartErrors.none()
        dealt = DealtCounts(ends.adjacency, RowGroups(4, self._seed), symmetric=not ends.directed)
        parts, reason = [], ""
        for group in range(self.n_splits):
            some = tuple(g for g in dealt.dealt.all if g != group)
            try:
                parts.append(self._part(found, ends, dealt.of(some), dealt.of((group,))))
            except LatentiaError as error:
                reason = str(error)
        if not parts:
            return [], PartErrors(
                None, self.n_splits, self.n_splits, f"No part of the edges can carry the communities. {reason}"
            )
        errors = expected_errors(found, parts, scatter, ends.directed)
        return parts, PartErrors(errors, self.n_splits, self.n_splits - len(parts), reason)

    def _part(self, found: Found, ends: Ends, known: sparse.csr_array, left_out: sparse.csr_array) -> Part:
        choices = self._choices()
        degrees = np.asarray(known.sum(axis=1)).ravel() + np.asarray(known.sum(axis=0)).ravel()
        place = np.flatnonzero(degrees > 0)
        if len(place) <= choices.n_components:
            raise LatentiaError("A part of the edges has too few nodes.")
        corrected, homophilic = found.shape
        own = replace(choices, alpha0=found.alpha0, corrected=corrected, homophilic=homophilic)
        part = fit_communities(Ends(known[place][:, place], ends.directed), own)
        apart = column_distances(found.communities.memberships[place], part.communities.memberships)
        nearest = apart.argmin(axis=1)
        fitted, trivial, auc = held_out(part.communities, place, known, left_out, ends.directed, self._seed)
        return Part(apart.min(axis=1), relative_spread(part)[nearest], fitted, trivial, auc)

    def _set_model(self, found: Found, graph: Graph, kept: np.ndarray, weights: Weights) -> None:
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
        self.degree_corrected_, self.homophilic_ = found.shape
        self.directed_ = graph.directed
        self.spectrum_, self.edge_ = spectrum_of(found, graph.directed), found.start.space.edge
        self.n_suggested_ = above_noise(found.start.space, graph.directed) + 1
        self._as_counts, self._rates = weights, c.connectivity
        self.isolated_, self.names_, self.n_edges_ = graph.isolated, graph.names, graph.n_edges
        self.n_features_in_, self.n_passes_ = n, 1
        self.refinement_ = found.mixed.refinement.log_likelihood

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
        ends = self._counts(graph, kept)[0]
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

    @fitted
    def support(
        self, threshold: float = 0.1, statistic: Literal["memberships", "averages"] = "memberships"
    ) -> np.ndarray:
        """Return which communities each node belongs to, as booleans of shape (n, K).

        Parameters
        ----------
        threshold : float
            xi: communities with a share of xi or more are to be in it, and none with less than xi / 2.
        statistic : {"memberships", "averages"}
            What is compared with 3 xi / 4. "averages" is Algorithm 8.3, whose guarantee is Theorem 8.6
            (`latentia.evidence.bounds.support_threshold`); it needs more edges inside communities than across.

        Returns
        -------
        ndarray of bool, shape (n, K)
        """
        check_parameter("threshold", threshold, Number(0, 1))
        check_parameter("statistic", statistic, Choice("memberships", "averages"))
        found = self.memberships_ if statistic == "memberships" else self.averages_
        return np.nan_to_num(found, nan=-1.0) >= 0.75 * threshold

    @property
    def _n_features_out(self) -> int:
        return len(self.connectivity_)

    @fitted
    def transform(self, A: Any, A_in: Any = None) -> np.ndarray:
        """Return memberships of new nodes from their edges to the nodes of the fit, shape (m, K); NaN for those without edges.

        Parameters
        ----------
        A : sparse matrix or array-like of shape (m, n)
            Weights of edges to the nodes of the fit, from the new nodes where there are directions.
        A_in : sparse matrix or array-like of shape (m, n), optional
            Where there are directions, weights of edges from the nodes of the fit.

        Returns
        -------
        ndarray of shape (m, K)

        Raises
        ------
        LatentiaError
            If A has another number of columns than the fit had nodes.
        """
        table, known = self._new_edges(A, "A"), self._communities(self._rates)
        if A_in is not None and not self.directed_:
            raise LatentiaError("A_in: this graph has no directions; give A alone.")
        field = known.fields(self.directed_)
        if self.directed_:
            n_rows = table.shape[0]
            back = sparse.csr_array(table.shape) if A_in is None else self._new_edges(A_in, "A_in")
            if back.shape[0] != n_rows:
                raise LatentiaError(f"A has {n_rows} rows and A_in {back.shape[0]}: one for each new node is needed.")
            table = sparse.csr_array(sparse.hstack([table, back], format="csr"))
        expected = field.sum(axis=0)
        inhabited = expected > 1e-12 * expected.max()
        expected = np.where(inhabited, expected, 1.0)
        alpha = np.maximum(self.dirichlet_, _LEAST_PRIOR * self.weights_ + 1e-9)
        images = table @ (field / expected)
        even = np.full(len(alpha), 1 / len(alpha))
        start = distributions(images, even)
        rough = start, np.full(len(start), 0.1), np.ones(start.shape[1])
        posteriors = dirichlet_posteriors(table, field / expected, alpha, start, rough, self.n_jobs)
        shares = distributions(inhabited * posteriors.shares / expected, even)
        shares[~images.any(axis=1)] = np.nan
        return shares

    @fitted
    def predict(self, A: Any, A_in: Any = None) -> np.ndarray:
        """Return the community of new nodes with the largest share, shape (m,), -1 for nodes without edges; see `transform`.

        Parameters
        ----------
        A : sparse matrix or array-like of shape (m, n)
            Weights of edges from the new nodes to the nodes of the fit.
        A_in : sparse matrix or array-like of shape (m, n), optional
            Where there are directions, weights of edges from the nodes of the fit.

        Returns
        -------
        ndarray of int, shape (m,)
        """
        shares = self.transform(A, A_in)
        return np.where(np.isnan(shares[:, 0]), -1, np.nan_to_num(shares).argmax(axis=1))

    @fitted
    def links(self, i: Any, j: Any) -> np.ndarray:
        """Return expected weights of edges from the nodes i to j, probabilities where edges have no weights; 0 without edges.

        Parameters
        ----------
        i, j : array-like of int that broadcast

        Returns
        -------
        ndarray of the broadcast shape of i and j
        """
        i, j = self._nodes("i", i), self._nodes("j", j)
        try:
            i, j = np.broadcast_arrays(i, j)
        except ValueError:
            raise LatentiaError(f"i has the shape {i.shape} and j {j.shape}: they must broadcast.") from None
        return self._communities(self.connectivity_).rates(i, j)

    @fitted
    def score(self, A: Any, y: Any = None) -> float:
        """Return the AUC of the edges of a graph on the same nodes: how often they score higher than pairs without edge.

        Give edges that were not fitted to know how well links are predicted; pairs without edge are drawn.

        Parameters
        ----------
        A : as in ``fit``
            Edges on the nodes of the fit.
        y : ignored

        Returns
        -------
        float
        """
        graph = self._read(A, self.directed_)
        n = graph.n_nodes
        if n != self.n_features_in_:
            raise LatentiaError(
                f"The graph has {n} nodes, and the fit {self.n_features_in_}: the same ones are needed."
            )
        edges = sparse.coo_array(graph.adjacency)
        a, b = np.random.default_rng(0).integers(0, n, (2, _SCORED))
        free = (a != b) & (np.asarray(graph.adjacency[a, b]).ravel() == 0)
        if not free.any():
            raise LatentiaError(
                "All pairs of nodes that were drawn have an edge: there is nothing to compare edges with."
            )
        c = self._communities(self._rates)
        return link_auc(c.rates(*edges.coords), c.rates(a[free], b[free]))

    @fitted
    def sample(self, n_samples: int = 1, random_state: Any = 0) -> list[sparse.csr_array]:
        """Draw graphs with the same nodes: csr_arrays (n, n) of zeros and ones.

        Probabilities of edges are what the model expects, at most .99. Weights are not drawn: of a weighted graph they are
        those of its counts (see difference 7).

        Parameters
        ----------
        n_samples : int, default=1
            Number of graphs.
        random_state : int, RandomState or Generator, default=0
            Seed of the draws.

        Returns
        -------
        list of csr_array of shape (n, n)
        """
        n_samples, rng = check_size(n_samples), np.random.default_rng(seed_of(random_state))
        c = self._communities(self._rates)
        given = c.memberships, c.connectivity, c.activity
        return [
            draw_edges(*given, directed=self.directed_, rng=rng, activity_in=c.activity_in) for _ in range(n_samples)
        ]

    def _communities(self, connectivity: np.ndarray) -> Communities:
        activity_in = self.activity_in_ if self.directed_ else self.activity_
        return Communities(np.nan_to_num(self.memberships_), connectivity, self.activity_, activity_in)

    def _nodes(self, name: str, nodes: Any) -> np.ndarray:
        found = np.asarray(nodes)
        if found.dtype.kind not in "iu" or (found.size and (found.min() < 0 or found.max() >= self.n_features_in_)):
            raise LatentiaError(f"{name}: numbers of nodes from 0 to {self.n_features_in_ - 1} are needed.")
        return found

    def _new_edges(self, A: Any, name: str) -> sparse.csr_array:
        """Edges of new nodes, checked."""
        table = sparse.csr_array(number_table(A.table() if isinstance(A, Blocks) else A, name))
        if table.shape[1] != self.n_features_in_:
            raise LatentiaError(
                f"{name} has the shape {table.shape}: a row for each new node and {self.n_features_in_} columns, the nodes of "
                "the fit, are needed."
            )
        if not ((table.data >= 0) & (table.data <= _LARGEST)).all():
            raise LatentiaError(
                f"{name} holds weights that are negative or out of range: numbers from 0 to {_LARGEST:g} are needed."
            )
        return self._as_counts.counts(table)

    def _check_fitted(self) -> None:
        known = self.labels_ >= 0
        shares = self.memberships_[known]
        whole = np.isfinite(shares).all() and np.allclose(shares.sum(axis=1), 1.0, rtol=0, atol=of.TOLERANCE)
        if not known.any() or not whole or not np.isfinite(self.averages_[known]).all():
            raise LatentiaError("memberships_ are not those of the nodes that have labels_")
        if "names_" not in vars(self):
            raise LatentiaError("names_ is missing")
        if not self._rates.any():
            raise LatentiaError("_rates are zero")


def numbers_around(suggested: int, most: int) -> list[int]:
    """Numbers of communities to compare, from half of a suggested one to 1.4 times as many."""
    return sorted({min(max(round(share * suggested), 1), most) for share in (0.5, 0.7, 0.85, 1.0, 1.2, 1.4)})


def _scattered(rows: np.ndarray, kept: np.ndarray, n: int, otherwise: float = np.nan) -> np.ndarray:
    """Rows of the nodes ``kept`` among those of all n."""
    if len(kept) == n:
        return rows
    found = np.full((n, rows.shape[1]), otherwise)
    found[kept] = rows
    return found
