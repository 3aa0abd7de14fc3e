"""Methods of fitted block models: memberships of new nodes, probabilities of links, draws."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import ClusterMixin, TransformerMixin

from .. import _fields as of
from .._parameters import Choice, Number, check_parameter, seed_of
from .._validation import array_of, number_table
from ..datasets.graphs import graph_of
from ..exceptions import LatentiaError
from ..fitting.base import Estimator, OutputNames, check_size, fitted
from ..likelihood import draw_edges
from ..metrics import link_auc
from ..passes import Blocks
from ..simplex import distributions
from ._memberships import dirichlet_posteriors
from ._model import Communities
from ._weights import Weights

_MIN_PRIOR = 1e-3  # alpha_0 for memberships of new nodes, where every node is in one community
_MAX_WEIGHT = 1e15  # largest weight of an edge
_N_PAIRS = 200_000  # pairs without an edge, to compare edges with


class MembershipMethods(OutputNames, TransformerMixin, ClusterMixin, Estimator):
    """Methods of fitted block models: memberships of new nodes, probabilities of links, draws."""

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
    noise_level_: Annotated[float, of.number(0.0)]
    n_suggested_: Annotated[int, of.count()]
    n_edges_: Annotated[int, of.count()]
    degree_corrected_: bool
    homophilic_: bool
    directed_: bool
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    n_iter_: Annotated[int, of.count()]
    converged_: bool
    _rates: Annotated[np.ndarray, of.numbers("K K", 0.0)]
    _as_counts: Weights

    @fitted
    def support(
        self, threshold: float = 0.1, statistic: Literal["memberships", "averages"] = "memberships"
    ) -> np.ndarray:
        """Return which communities each node belongs to, as booleans of shape (n, K).

        Parameters
        ----------
        threshold : float
            xi: communities with a share of at least xi should be included, and none below xi / 2.
        statistic : {"memberships", "averages"}
            Numbers compared with 3 xi / 4. "averages" is Algorithm 8.3, whose guarantee is Theorem 8.6
            (`latentia.evidence.bounds.support_threshold`); it needs more edges inside communities than across.

        Returns
        -------
        ndarray of bool, shape (n, K)
        """
        check_parameter("threshold", threshold, Number(0, 1))
        check_parameter("statistic", statistic, Choice("memberships", "averages"))
        shares = self.memberships_ if statistic == "memberships" else self.averages_
        return np.nan_to_num(shares, nan=-1.0) >= 0.75 * threshold

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
        table, communities = self._check_new_edges(A, "A"), self._communities(self._rates)
        if A_in is not None and not self.directed_:
            raise LatentiaError("A_in: the model's graph has no directions; give A alone.")
        field = communities.fields(self.directed_)
        if self.directed_:
            n_rows = table.shape[0]
            edges_in = sparse.csr_array(table.shape) if A_in is None else self._check_new_edges(A_in, "A_in")
            if edges_in.shape[0] != n_rows:
                raise LatentiaError(
                    f"A has {n_rows} rows and A_in {edges_in.shape[0]}; expected one for each new node in both."
                )
            table = sparse.csr_array(sparse.hstack([table, edges_in], format="csr"))
        expected = field.sum(axis=0)
        inhabited = expected > 1e-12 * expected.max()
        expected = np.where(inhabited, expected, 1.0)
        alpha = np.maximum(self.dirichlet_, _MIN_PRIOR * self.weights_ + 1e-9)
        images = table @ (field / expected)
        uniform = np.full(len(alpha), 1 / len(alpha))
        start = distributions(images, uniform)
        rough = start, np.full(len(start), 0.1), np.ones(start.shape[1])
        posteriors = dirichlet_posteriors(table, field / expected, alpha, start, rough, self.n_jobs)
        shares = distributions(inhabited * posteriors.shares / expected, uniform)
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
    def edge_probability(self, i: Any, j: Any) -> np.ndarray:
        """Return expected weights of edges from the nodes i to j; probabilities without weights, 0 without edges.

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
        """Return the AUC of the edges of a graph on the same nodes: how often they score higher than pairs without an edge.

        Give edges that were not fitted to measure how well links are predicted; pairs without an edge are drawn at random.

        Parameters
        ----------
        A : as in ``fit``
            Edges on the nodes of the fit.
        y : ignored

        Returns
        -------
        float
        """
        graph = graph_of(A, self.directed_, progress=bool(self.verbose))
        n = graph.n_nodes
        if n != self.n_features_in_:
            raise LatentiaError(f"The graph has {n} nodes; expected the {self.n_features_in_} nodes of the fit.")
        edges = sparse.coo_array(graph.adjacency)
        a, b = np.random.default_rng(0).integers(0, n, (2, _N_PAIRS))
        has_no_edge = (a != b) & (np.asarray(graph.adjacency[a, b]).ravel() == 0)
        if not has_no_edge.any():
            raise LatentiaError("All drawn pairs of nodes have an edge: there are no pairs to compare edges with.")
        c = self._communities(self._rates)
        return link_auc(c.rates(*edges.coords), c.rates(a[has_no_edge], b[has_no_edge]))

    @fitted
    def sample(self, n_samples: int = 1, random_state: Any = 0) -> list[sparse.csr_array]:
        """Draw graphs with the same nodes: csr_arrays (n, n) of zeros and ones.

        Probabilities of edges are those of the model, at most .99. Weights are not drawn: for a weighted graph, probabilities
        are those of its counts (see difference 7).

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
        parameters = c.memberships, c.connectivity, c.activity
        return [
            draw_edges(*parameters, directed=self.directed_, rng=rng, activity_in=c.activity_in)
            for _ in range(n_samples)
        ]

    def _communities(self, connectivity: np.ndarray) -> Communities:
        activity_in = self.activity_in_ if self.directed_ else self.activity_
        return Communities(np.nan_to_num(self.memberships_), connectivity, self.activity_, activity_in)

    def _nodes(self, name: str, nodes: Any) -> np.ndarray:
        numbers = array_of(nodes, name)
        if numbers.dtype.kind not in "iu" or (
            numbers.size and (numbers.min() < 0 or numbers.max() >= self.n_features_in_)
        ):
            raise LatentiaError(f"{name}: expected numbers of nodes from 0 to {self.n_features_in_ - 1}.")
        return numbers

    def _check_new_edges(self, A: Any, name: str) -> sparse.csr_array:
        """Return edges of new nodes as counts, after checks."""
        table = sparse.csr_array(number_table(A.table() if isinstance(A, Blocks) else A, name))
        if table.shape[1] != self.n_features_in_:
            raise LatentiaError(
                f"{name} has the shape {table.shape}; expected a row for each new node and {self.n_features_in_} columns, the "
                "nodes of the fit."
            )
        if not ((table.data >= 0) & (table.data <= _MAX_WEIGHT)).all():
            raise LatentiaError(
                f"{name} holds weights that are negative or too large; expected numbers from 0 to {_MAX_WEIGHT:g}."
            )
        return self._as_counts.counts(table)

    def _check_fitted(self) -> None:
        has_edges = self.labels_ >= 0
        shares = self.memberships_[has_edges]
        are_distributions = np.isfinite(shares).all() and np.allclose(
            shares.sum(axis=1), 1.0, rtol=0, atol=of.TOLERANCE
        )
        if not has_edges.any() or not are_distributions or not np.isfinite(self.averages_[has_edges]).all():
            raise LatentiaError("memberships_ do not match the nodes that have labels_")
        if "names_" not in vars(self):
            raise LatentiaError("names_ is missing")
        if not self._rates.any():
            raise LatentiaError("_rates are zero")
