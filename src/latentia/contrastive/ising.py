"""An Ising model of the part that only one view has.

Model. u = s1 + s2 and v = A s2 + s3, see `latentia.contrastive.components`, and s1 are spins of -1 and 1 with

    P(s1) ~ exp(sum over edges {i, j} of J_ij s_i s_j).

Source: R. Ge and J. Zou, Rich component analysis, 2015, sections 4.2 and 5, and appendix D.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.special import expit

from .. import _fields as of
from .._parameters import Anything, Choice, Seed
from ..evidence import Check, Evidence, at_most
from ..exceptions import LatentiaError
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted
from ..linalg.ratios import ratio_of
from ..moments import ColumnSpan
from ._estimator import CONSTRAINTS, ContrastiveEstimator, SpecificMoments, measure_group_misfit

_MAX_LISTED = 12  # so many spins have all states listed; for more, rows are drawn
_MAX_ROWS, _MIN_ROWS, _MAX_PRODUCTS = 20_000, 1000, 2e7
_SWEEPS, _LATER_SWEEPS = 40, 15  # Gibbs sweeps before the first step, and before each later one
_MAX_NEWTON_STEPS = 12
_MAX_COUPLING, _MAX_STEP, _MIN_STEP, _RIDGE = 4.0, 0.5, 1e-6, 1e-4  # limits of couplings and steps
_APPROXIMATION_FACTOR = 2.0  # raises the limit of a misfit of correlations, as the couplings are approximate

_MIN_VARIANCE = 1e-6  # smallest variance of a spin, as a share of the largest: "eq2" may leave negative ones


class ContrastiveIsing(ContrastiveEstimator):
    """Couplings of spins in U that are not due to the part that U shares with V.

    Choose it where U are binary states, coded -1 and 1, under a disturbance that V, of the same rows, sees through an unknown
    linear map. Give the pairs that may be coupled, if you know them.

    Parameters
    ----------
    edges : array-like of shape (n_edges, 2), optional
        Pairs of columns of U that may be coupled; all pairs by default.
    gradient : {"bethe", "taylor"}, default="bethe"
        "bethe": J_ij = -asinh(2 (C^-1)_ij) / 2 with the correlations C of s1, exact where the edges make a tree, and from there
        Newton steps to the couplings whose spins have these correlations along the edges, the most likely ones. "taylor": the
        paper's, zero of the gradient of the composite likelihood to third order in s1, which is biased even for spins without
        a disturbance.
    linear_map, method, order, n_shared : see `ContrastiveComponents`
    n_splits : int, default=3
        Number of splits into halves, at most 3, whose fits give the expected errors; no pass over the data.
    keep_moments : bool, default=False
        Whether to keep all moments up to the fourth of the columns of both views, at most 64, so that rows can be added
        (`partial_fit`), taken away (`forget`), and models merged (`latentia.merge`): 294 MB at most. The answer is the same.
    random_state : int, default=0
        Seed of the spins that are drawn, where they are more than 12.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    couplings_ : ndarray of shape (n_edges,)
        J, in the order of ``edges_``.
    edges_ : ndarray of int, shape (n_edges, 2)
    correlations_ : ndarray of shape (d_u, d_u)
        Correlations of s1.
    linear_map_, inverse_map_, mean_, n_features_v_ : see `ContrastiveComponents`
    moments_ : Sums
        The kept moments: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are those of the couplings.
    n_passes_ : int
        Number of passes over the data.

    Notes
    -----
    Differences from the paper, besides those of `ContrastiveComponents`:

    1. "bethe" is not in the paper. Where edges make loops the formula is biased, and up to twelve Newton steps of the
       likelihood follow, with all states of up to 12 spins and Gibbs sampling of more. How far the last step went widens the
       expected errors.
    2. "taylor" solves for the zero of the gradient in place of stochastic steps, and uses s_i^2 = 1 in place of the fourth
       moments E[s_i^2 s_j s_k].

    References
    ----------
    R. Ge, J. Zou, Rich component analysis, 2015. H. Nguyen, J. Berg, Bethe-Peierls approximation and the inverse Ising problem,
    J. Stat. Mech. 2012.

    Examples
    --------
    >>> from latentia.contrastive import ContrastiveIsing
    >>> from latentia.datasets import planted
    >>> data = planted.contrastive_views(50_000, 9, "ising", linear_map="orthogonal")
    >>> model = ContrastiveIsing(data.edges).fit(data.U, data.V)
    >>> model.couplings_.shape
    (18,)
    """

    _constraints: ClassVar = {**CONSTRAINTS, "edges": Anything(), "gradient": Choice("bethe", "taylor")}
    _compared = ("couplings_",)
    _by_number = ("edges",)
    _nouns = ("coupling", "couplings", "rows")
    _limit: ClassVar[float] = 0.15
    _symbol: ClassVar[str] = "mean |J - J'|"
    _unit: ClassVar[str] = "as difference of J"
    couplings_: Annotated[np.ndarray, of.numbers("E")]
    edges_: Annotated[np.ndarray, of.places("E *", below="V")]
    correlations_: Annotated[np.ndarray, of.numbers("V V")]
    evidence_: Annotated[Evidence, of.Letters({"K": "E"})]

    def __init__(
        self,
        edges: Any = None,
        *,
        gradient: str = "bethe",
        linear_map: Any = None,
        method: str = "auto",
        order: int | str = "auto",
        n_shared: int | None = None,
        n_splits: int = 3,
        keep_moments: bool = False,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.edges = edges
        self.gradient = gradient
        self.linear_map = linear_map
        self.method = method
        self.order = order
        self.n_shared = n_shared
        self.n_splits = n_splits
        self.keep_moments = keep_moments
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    def fit(self, U: Any, V: Any = None, *, sample_weight: Any = None) -> ContrastiveIsing:
        """Learn the couplings.

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            Blocks may have two parts, U and V.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view of the same rows, with d_v of at least d_u.
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if the views differ in rows, if V has fewer columns than U, or if
            entries are NaN or infinite.
        """
        return self._fit(U, V, sample_weight=sample_weight)

    def _widen_views(self, span_u: ColumnSpan, span_v: ColumnSpan) -> None:
        super()._widen_views(span_u, span_v)
        self.edges_, self.correlations_ = span_u.kept[self.edges_], span_u.covariances(self.correlations_)

    def _learn(self, specific: SpecificMoments) -> np.ndarray:
        correlations, edges = _correlations(specific.covariance), self._check_edges(specific.moments.widths[0])
        return _bethe(correlations, edges) if self.gradient == "bethe" else _taylor(correlations, edges)

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        super()._set_fitted_attributes(fitted)
        learned: np.ndarray = fitted.model
        specific: SpecificMoments = fitted.recovered
        self.couplings_, self.edges_ = learned, self._check_edges(specific.moments.widths[0])
        self.correlations_ = _correlations(specific.covariance)
        d, bethe = specific.moments.widths[0], _bethe(self.correlations_, self.edges_)
        corrected, error = _match_correlations(bethe, self.correlations_, self.edges_, d, self._seed)
        if self.gradient == "bethe":
            self.couplings_, self._coupling_error = corrected, error
        else:
            self._coupling_error = np.hypot(learned - corrected, error)

    def _pull(self, answer: np.ndarray, specific: SpecificMoments) -> np.ndarray:
        """Return the bias of the map and the size of the last Newton step, combined."""
        return np.hypot(super()._pull(answer, specific), self.__dict__.pop("_coupling_error"))

    def _check_edges(self, d: int) -> np.ndarray:
        if self.edges is None:
            return np.argwhere(np.triu(np.ones((d, d)), 1) > 0)
        edges = np.asarray(self.edges)
        if edges.ndim != 2 or edges.shape[1] != 2 or not len(edges) or edges.dtype.kind not in "iu":
            raise LatentiaError(
                "expected pairs of columns, whole numbers in an array of shape (n_edges, 2).",
                parameter="edges",
                value=self.edges,
            )
        wrong = (edges < 0).any(axis=1) | (edges >= d).any(axis=1) | (edges[:, 0] == edges[:, 1])
        if wrong.any():
            raise LatentiaError(f"Edge {edges[wrong][0].tolist()} does not join two of the columns 0 to {d - 1} of U.")
        edges = np.sort(edges, axis=1)
        if len(np.unique(edges, axis=0)) < len(edges):
            raise LatentiaError("edges has the same pair of columns more than once.")
        return edges

    def _compare(self, answer: np.ndarray, reference: np.ndarray) -> np.ndarray:
        return np.abs(answer - reference)

    def _component_numbers(self, answer: np.ndarray) -> list[np.ndarray]:
        """Return all couplings for each of them: they are compared as one vector."""
        return [answer] * len(answer)

    def _more_checks(self, answer: np.ndarray, specific: SpecificMoments) -> list[Check]:
        """Check that s1 has the variances of spins, and the correlations that the couplings predict."""
        if not specific.extraction.map.choice.is_unbiased:
            return []
        d, parts = len(specific.covariance), [covariance.covariance for covariance in specific.leave_out_groups()]
        variances = measure_group_misfit(np.diag(specific.covariance) - 1, [np.diag(part) - 1 for part in parts])
        pairs, spins = np.triu_indices(d, 1), _Spins(self.edges_, d, np.random.default_rng(self._seed))
        model_correlations = spins.correlations(self.couplings_)
        sample_correlations = [_correlations(covariance)[pairs] for covariance in (specific.covariance, *parts)]
        residual = sample_correlations[0] - np.mean(model_correlations, axis=0)[pairs]
        extra = float(((model_correlations[0] - model_correlations[-1])[pairs] ** 2).sum()) / 4
        explained = measure_group_misfit(residual, sample_correlations[1:], extra)
        return [
            Check(
                "variances of spins", "|var(s1) - 1|^2 / |N|^2", variances.ratio, at_most(variances.noise_limit, "1 for noise"),
                "Spins that are -1 and 1 equally often have variance one; how far variances of s1 are from it, against noise.",
                "section 4.2", "caution",
                "s1 does not consist of spins, or has a disturbance that V does not see: couplings fit its correlations alone.",
            ),
            Check(
                "correlations explained", "|C - C(J)|^2 / |N|^2", explained.ratio,
                at_most(_APPROXIMATION_FACTOR * explained.noise_limit, "1 for noise"),
                "Correlations of s1 that spins with these couplings do not explain, relative to noise.",
                "the model", "caution",
                "Spins on these edges do not have these correlations: add edges, or leave edges out to have all pairs.",
            ),
        ]  # fmt: skip

    def _distances(self, reference: ContrastiveIsing) -> np.ndarray:
        return np.abs(self.couplings_ - reference.couplings_)

    def _shares(self) -> None:
        return None

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def graph(self) -> np.ndarray:
        """Return the couplings as a symmetric matrix of shape (d_u, d_u), zero where there is no edge.

        Returns
        -------
        ndarray of shape (d_u, d_u)
        """
        matrix = np.zeros((self.n_features_in_, self.n_features_in_))
        i, j = self.edges_.T
        matrix[i, j] = matrix[j, i] = self.couplings_
        return matrix

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self.edges_.shape[1] != 2 or (self.edges_[:, 0] == self.edges_[:, 1]).any():
            raise LatentiaError("edges_ are not pairs of columns")


def _correlations(covariance: np.ndarray) -> np.ndarray:
    variances = np.diag(covariance)
    scale = np.sqrt(np.maximum(variances, _MIN_VARIANCE * np.abs(variances).max()))
    correlations = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlations, 1.0)
    return correlations


def _bethe(correlations: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return J_ij = -asinh(2 (C^-1)_ij) / 2."""
    inverse = np.linalg.pinv(correlations, hermitian=True)
    return np.asarray(-np.arcsinh(2 * inverse[edges[:, 0], edges[:, 1]]) / 2)


def _match_correlations(
    couplings: np.ndarray, correlations: np.ndarray, edges: np.ndarray, d: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximum likelihood couplings by Newton steps, and how far they may be off, (n_edges,) both.

    Their spins have the given correlations along the edges. Steps are shortened by the share of them that is noise of the drawn
    spins, which two halves give, and to at most half a unit of a coupling. The given couplings are returned if no others match
    better.
    """
    spins = _Spins(edges, d, np.random.default_rng(seed))
    target, current = correlations[edges[:, 0], edges[:, 1]], np.clip(couplings, -_MAX_COUPLING, _MAX_COUPLING)
    best, error, min_gap = couplings, np.full(len(couplings), np.inf), np.inf
    for _ in range(_MAX_NEWTON_STEPS):
        mean, spread, noise = spins.products(current)
        gap = target - mean
        size = float(gap @ gap)
        step = np.linalg.solve(spread + _RIDGE * np.trace(spread) / len(spread) * np.eye(len(spread)), gap)
        step *= max(0.0, 1 - ratio_of(noise, size))
        if not np.isfinite(step).all():
            break
        if size < min_gap:
            best, error, min_gap = current, np.abs(step), size
        if size <= noise or np.abs(step).max() < _MIN_STEP:
            break
        current = np.clip(current + step * min(1.0, _MAX_STEP / np.abs(step).max()), -_MAX_COUPLING, _MAX_COUPLING)
    return best, np.where(np.isfinite(error), error, np.abs(couplings))


class _Spins:
    """Spins with given couplings: the list of all states, or rows of a Gibbs sampler."""

    def __init__(self, edges: np.ndarray, d: int, rng: np.random.Generator) -> None:
        self._edges, self._d, self._rng, self._sweeps = edges, d, rng, _SWEEPS
        if d <= _MAX_LISTED:
            self._states = 2.0 * ((np.arange(2**d)[:, None] >> np.arange(d)) & 1) - 1
        else:
            n = int(np.clip(_MAX_PRODUCTS / d**2, _MIN_ROWS, _MAX_ROWS))
            self._states = rng.choice([-1.0, 1.0], (n, d))

    def correlations(self, couplings: np.ndarray) -> list[np.ndarray]:
        """Return the correlations of two halves of the rows; or of all states, if they are listed."""
        states, weights = self._draw_states(couplings)
        if weights is not None:
            return [(states.T * weights) @ states]
        half = len(states) // 2
        return [part.T @ part / len(part) for part in (states[:half], states[half:])]

    def products(self, couplings: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return mean and covariance of the products of neighbours, and the noise of the mean, a squared norm."""
        states, weights = self._draw_states(couplings)
        products = states[:, self._edges[:, 0]] * states[:, self._edges[:, 1]]
        if weights is not None:
            mean = weights @ products
            return mean, (products.T * weights) @ products - np.outer(mean, mean), 0.0
        mean, half = products.mean(axis=0), len(products) // 2
        half_difference = products[:half].mean(axis=0) - products[half:].mean(axis=0)
        return (
            mean,
            products.T @ products / len(products) - np.outer(mean, mean),
            float(half_difference @ half_difference) / 4,
        )

    def _draw_states(self, couplings: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return states in rows, and their probabilities if all are listed; otherwise continue the sampler."""
        d, states = self._d, self._states
        strengths = np.zeros((d, d))
        strengths[self._edges[:, 0], self._edges[:, 1]] = couplings
        strengths += strengths.T
        if d <= _MAX_LISTED:
            energies = np.einsum("si,si->s", states @ strengths, states) / 2
            weights = np.exp(energies - energies.max())
            return states, weights / weights.sum()
        columns = states.T.copy()
        for _ in range(self._sweeps):
            for i in range(d):
                up = self._rng.random(len(states)) < expit(2 * (strengths[i] @ columns))
                columns[i] = np.where(up, 1.0, -1.0)
        self._states, self._sweeps = columns.T, _LATER_SWEEPS
        return self._states, None


def _taylor(correlations: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the zero of 2 C_ij - sum_k J_ik C_jk - sum_k J_jk C_ik, over the neighbours k of i and of j."""
    system = np.zeros((len(edges), len(edges)))
    for row, (i, j) in enumerate(edges):
        for spin, partner in ((i, j), (j, i)):
            for column, (a, b) in enumerate(edges):
                if spin in (a, b):
                    system[row, column] += correlations[b if a == spin else a, partner]
    target = 2 * correlations[edges[:, 0], edges[:, 1]]
    return np.asarray(np.linalg.lstsq(system, target, rcond=None)[0])
