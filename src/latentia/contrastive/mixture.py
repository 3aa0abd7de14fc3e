"""A mixture of spherical Gaussians in the part that only one view has.

Model. u = s1 + s2 and v = A s2 + s3, see `latentia.contrastive.components`, and s1 is drawn from component k with probability
w_k, from N(mu_k, sigma^2 I). About the mean, with nu_k = mu_k - sum_l w_l mu_l,

    cov(s1) = sum_k w_k nu_k nu_k^T + sigma^2 I,        kappa_3(s1) = sum_k w_k nu_k (x) nu_k (x) nu_k,

and K means span K - 1 dimensions. With a constant appended, (nu_k, 1), both are moments of K vectors in K dimensions, whose
whitened third moment is an orthogonal tensor.

Source: R. Ge and J. Zou, Rich component analysis, 2015, sections 4.1 and 5; D. Hsu and S. Kakade, Learning mixtures of
spherical Gaussians, ITCS 2013.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import DensityMixin

from .. import _fields as of
from .._parameters import Integer, Seed
from .._validation import weighted_mean
from ..evidence import Check, ComponentView, above, at_most, separation_limit
from ..exceptions import LatentiaError
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted
from ..likelihood import normalised
from ..linalg.ratios import ratio_of
from ..moments import ColumnSpan
from ..tensor import apply_to_modes, decompose
from ._estimator import CONSTRAINTS, ContrastiveEstimator, SpecificMoments
from .views import two_views

_MIN_SHARE = 1e-6  # least share of the variance along a direction of the means
_MAX_DIRECTIONS = 12  # cumulants are compared along so many directions of the means
_MAX_RESIDUAL, _MAX_RESIDUAL_LEAST_SQUARES = 3.0, 10.0  # limits for third cumulants; least squares has a bias


class _Mixture(NamedTuple):
    """Means about the mean of s1 (K, d_u), weights (K,), and the variance."""

    means: np.ndarray
    weights: np.ndarray
    variance: float


class ContrastiveGaussianMixture(DensityMixin, ContrastiveEstimator):
    """Clusters in U that are not due to the part that U shares with V.

    Choose it in place of scikit-learn's `GaussianMixture` where a disturbance in U has clusters of its own, and V, of the same
    rows, sees it through an unknown linear map.

    Parameters
    ----------
    n_components : int, default=2
        Number of clusters K, at most d_u.
    linear_map, method, order, n_shared : see `ContrastiveComponents`
    n_splits : int, default=3
        Number of splits into halves, at most 3, whose fits give the expected errors; no pass over the data.
    keep_moments : bool, default=False
        Whether to keep all moments up to the fourth of the columns of both views, at most 64, so that rows can be added
        (`partial_fit`), taken away (`forget`), and models merged (`latentia.merge`): 294 MB at most. The answer is the same.
    random_state : int, default=0
        Seed of the tensor's starts.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    means_ : ndarray of shape (K, d_u)
        In order of decreasing weight. Their mean is that of U: the data does not tell how much of it belongs to s1.
    weights_ : ndarray of shape (K,)
    variance_ : float
        sigma^2, of every feature and component.
    linear_map_, inverse_map_, mean_, n_features_v_ : see `ContrastiveComponents`
    moments_ : Sums
        The kept moments: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are distances of the means to true ones,
        in the units of the data.
    n_passes_ : int
        Number of passes over the data.

    Notes
    -----
    Differences from the paper, besides those of `ContrastiveComponents`:

    1. Cumulants are about the mean, and a constant is appended: the paper takes third moments, and means that span K
    dimensions.

    References
    ----------
    R. Ge, J. Zou, Rich component analysis, 2015, sections 4.1 and 5. D. Hsu, S. Kakade, ITCS 2013.

    Examples
    --------
    >>> from latentia.contrastive import ContrastiveGaussianMixture
    >>> from latentia.datasets import planted
    >>> data = planted.contrastive_views(20_000, 4, "mixture", linear_map="orthogonal")
    >>> model = ContrastiveGaussianMixture(4).fit(data.U, data.V)
    >>> model.means_.shape
    (4, 4)
    """

    _constraints: ClassVar = {**CONSTRAINTS, "n_components": Integer(1)}
    _compared = ("means_",)
    _symbol: ClassVar[str] = "mean |mu - mu'|"
    _unit: ClassVar[str] = "as distance in the units of the data"
    means_: Annotated[np.ndarray, of.numbers("K V")]
    weights_: Annotated[np.ndarray, of.distributions("K")]
    variance_: Annotated[float, of.number(0.0)]
    _within_root: Annotated[np.ndarray, of.numbers("R R")]

    def __init__(
        self,
        n_components: int = 2,
        *,
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
        self.n_components = n_components
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
    def fit(self, U: Any, V: Any = None, *, sample_weight: Any = None) -> ContrastiveGaussianMixture:
        """Learn the mixture.

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

    def _learn(self, specific: SpecificMoments) -> _Mixture:
        """Whiten the part of cov(s1) that belongs to the means, and decompose the third cumulant with a constant appended."""
        d, k = specific.moments.widths[0], self.n_components
        if k > d:
            raise LatentiaError(
                f"{d} features support at most {d} components.", at_most=d, parameter="n_components", value=k
            )
        values, vectors = np.linalg.eigh(specific.covariance)
        values, vectors = values[::-1], vectors[:, ::-1]
        min_variance = _MIN_SHARE * float(np.abs(values).max())
        variance = max(float(values[k - 1 :].mean()), min_variance)
        signal = np.maximum(values[: k - 1] - variance, min_variance)
        scales = np.sqrt(signal)
        whitening = vectors[:, : k - 1] / scales
        tensor = np.zeros((k, k, k))
        tensor[-1, -1, -1] = 1.0
        for i in range(k - 1):
            tensor[i, i, -1] = tensor[i, -1, i] = tensor[-1, i, i] = 1.0
        if k > 1:
            tensor[:-1, :-1, :-1] = apply_to_modes(specific.cumulant(3), whitening * specific.scale[:, None])
        eigenvalues, v, _ = decompose(tensor, k, self._seed)
        roots = np.clip(v[:, -1], 0.3 / eigenvalues, 3 / eigenvalues)
        means = (v[:, :-1] / roots[:, None] * scales) @ vectors[:, : k - 1].T
        weights = roots**2 / (roots**2).sum()
        order = np.argsort(-weights, kind="stable")
        return _Mixture(means[order], weights[order], variance)

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        super()._set_fitted_attributes(fitted)
        learned: _Mixture = fitted.model
        specific: SpecificMoments = fitted.recovered
        m, d = specific.moments, specific.moments.n_views
        self.means_, self.weights_, self.variance_ = learned.means + specific.mean_u, learned.weights, learned.variance
        # Given a component, both views are taken to be Gaussian about their means.
        within = specific.extraction.sums.covariance[:d, :d] * np.outer(m.scale[:d], m.scale[:d])
        within[m.u, m.u] -= (learned.means.T * learned.weights) @ learned.means
        values, vectors = np.linalg.eigh(within)
        self._within_root = vectors / np.sqrt(np.maximum(values, _MIN_SHARE * values[-1]))

    def _compare(self, answer: _Mixture, reference: _Mixture) -> np.ndarray:
        return cdist(answer.means, reference.means).min(axis=1)

    def _accuracy(self, answer: _Mixture) -> float:
        spread = float(np.sqrt(max(answer.variance, np.finfo(float).tiny)))
        return separation_limit(answer.means, "euclidean") if len(answer.means) > 1 else spread

    def _more_checks(self, answer: _Mixture, specific: SpecificMoments) -> list[Check]:
        """Check that the mixture explains more of the cumulants than one Gaussian, and all of the third."""
        return [
            *self._single_component_checks(answer, specific),
            *self._cumulant_checks(answer, specific),
        ]

    def _cumulant_checks(self, answer: _Mixture, specific: SpecificMoments) -> list[Check]:
        """Check that the components explain the third cumulants of s1, along its leading directions."""
        values, vectors = np.linalg.eigh(specific.covariance)
        basis = (vectors / np.sqrt(np.maximum(values, _MIN_SHARE * np.abs(values).max())))[:, ::-1][:, :_MAX_DIRECTIONS]
        group_cumulants = specific.group_cumulants(basis, 3)
        assert group_cumulants is not None
        residual = group_cumulants.mean(axis=0) - cumulant_of_points(answer.means @ basis, answer.weights, 3)
        noise = float(group_cumulants.var(axis=0, ddof=1).sum()) / len(group_cumulants)
        limit = _MAX_RESIDUAL if specific.extraction.map.choice.is_unbiased else _MAX_RESIDUAL_LEAST_SQUARES
        return [
            Check(
                "third cumulants explained", "|R|^2 / |N|^2", float(ratio_of((residual**2).sum(), noise)),
                at_most(limit, "1 for noise"),
                "Third cumulants of s1 that the components do not explain, relative to noise. Above the limit some "
                "components merge several.",
                "the model", "caution", "There may be more components than these: compare with larger numbers.",
            )
        ]  # fmt: skip

    def _single_component_checks(self, answer: _Mixture, specific: SpecificMoments) -> list[Check]:
        """Check that the mixture's cumulants, which one Gaussian does not have, fit those of four groups of rows."""
        if len(answer.means) < 2:
            return []
        _, sizes, vectors = np.linalg.svd(np.sqrt(answer.weights)[:, None] * answer.means, full_matrices=False)
        rank = min(int((sizes > np.sqrt(_MIN_SHARE) * sizes[0]).sum()), len(answer.means) - 1, _MAX_DIRECTIONS)
        basis = vectors[:rank].T / sizes[:rank]
        points = answer.means @ basis
        gain = 0.0
        for order in (3, 4):
            group_cumulants = specific.group_cumulants(basis, order)
            if group_cumulants is not None:
                predicted = cumulant_of_points(points, answer.weights, order)
                noise = float(group_cumulants.var(axis=0, ddof=1).mean()) / len(group_cumulants)
                mean = group_cumulants.mean(axis=0)
                gain += float(ratio_of(2 * (mean * predicted).sum() - (predicted**2).sum(), noise)) / 2
        penalty = 0.5 * (len(answer.means) - 1) * (rank + 1) * np.log(specific.extraction.sums.n)
        return [
            Check(
                "better than one component", "nats, of cumulants", gain - penalty, above(0),
                "Gain of the mixture over one Gaussian on the third and fourth cumulants of s1, less a penalty "
                "for its parameters.",
                "not in the paper", "veto",
                "One Gaussian explains s1 as well as these components: there are no clusters.",
            )
        ]  # fmt: skip

    def _component_view(self, fitted: Fitted) -> ComponentView:
        """Return probabilities of the components of rows."""
        return ComponentView(self.predict_proba(fitted.comparison_rows).T)

    def _distances(self, reference: ContrastiveGaussianMixture) -> np.ndarray:
        return cdist(self.means_, reference.means_).min(axis=1)

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def predict_proba(self, U: Any, V: Any = None) -> np.ndarray:
        """Return the probabilities of the components, shape (n_rows, K).

        With V, both views are taken to be Gaussian given the component; without, U is taken to be s1 itself.

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            The first view; Blocks may have two parts, U and V.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view. Without it U is taken to be free of what the views share.

        Returns
        -------
        ndarray of shape (n_rows, K)

        Raises
        ------
        LatentiaError
            If a view has another number of columns than in the fit, or NaN.
        """
        return self._component_probabilities(U, V)[0]

    @fitted
    def score(self, U: Any, V: Any = None, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return the mean log-density of a row in nats, under the Gaussians of `predict_proba`; higher is better.

        With V it is that of both views, so that scores with and without V cannot be compared.

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            The first view; Blocks may have two parts, U and V.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view. Without it U is taken to be free of what the views share.
        y : ignored
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        return weighted_mean(self._component_probabilities(U, V)[1], sample_weight)

    def _component_probabilities(self, U: Any, V: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities of the components (n_rows, K), and the log-densities of rows (n_rows,)."""
        tables: list[Any]
        span = vars(self).get("_span") or ColumnSpan.all_columns(self.n_features_in_ + self.n_features_v_)
        if V is None and not hasattr(U, "shapes"):
            span = span.take_first(self.n_features_in_)
            root = np.eye(len(span.kept)) / np.sqrt(max(self.variance_, np.finfo(float).tiny))
            tables, means = [self._estimate_specific_rows(U, None)], self.means_
        else:
            root = self._within_root
            tables = [np.hstack(block[:2]) for block in two_views(self, U, V, reset=False)]
            means = np.hstack([self.means_, np.tile(self._mean_v, (len(self.means_), 1))])
        log_weights = np.log(np.maximum(self.weights_, np.finfo(float).tiny))
        volume = np.linalg.slogdet(root)[1] - len(root) / 2 * np.log(2 * np.pi)
        pieces = []
        means = span.select(means)
        for table in tables:
            joint = log_weights + volume - cdist(span.select(table) @ root, means @ root, "sqeuclidean") / 2
            pieces.append(normalised(joint, self.weights_))
        return np.vstack([probabilities for probabilities, _ in pieces]), np.concatenate(
            [densities for _, densities in pieces]
        )

    @fitted
    def predict(self, U: Any, V: Any = None) -> np.ndarray:
        """Return the most probable component of every row, shape (n_rows,).

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            The first view; Blocks may have two parts, U and V.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view. Without it U is taken to be free of what the views share.

        Returns
        -------
        ndarray of int, shape (n_rows,)
        """
        return self.predict_proba(U, V).argmax(axis=1)

    def _widen_views(self, span_u: ColumnSpan, span_v: ColumnSpan) -> None:
        super()._widen_views(span_u, span_v)
        self.means_ = span_u.points(self.means_)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not np.isfinite(np.linalg.slogdet(self._within_root)[1]):
            raise LatentiaError("_within_root is singular")


def cumulant_of_points(points: np.ndarray, weights: np.ndarray, order: int) -> np.ndarray:
    """Return the third cumulant of weighted points (K, q) of mean zero; or the fourth, if their covariance is the identity."""
    modes = "abcd"[:order]
    terms = ",".join("k" + mode for mode in modes)
    cumulant = np.einsum(f"k,{terms}->{modes}", weights, *[points] * order, optimize=True)
    if order == 4:
        eye = np.eye(points.shape[1])
        for pairs in ("ab,cd", "ac,bd", "ad,bc"):
            cumulant = cumulant - np.einsum(f"{pairs}->abcd", eye, eye)
    return np.asarray(cumulant)
