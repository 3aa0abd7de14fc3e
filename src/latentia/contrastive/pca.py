"""Principal components of the part that only one view has.

Model. u = s1 + s2 and v = A s2 + s3, see `latentia.contrastive.components`; cov(s1) is cov(u) without the shared part.

Source: R. Ge and J. Zou, Rich component analysis, 2015, section 4.1.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import _fields as of
from .._parameters import Integer, OrNone
from ..evidence import ComponentView
from ..exceptions import LatentiaError
from ..fitting.base import OutputNames, fitted, fitting
from ..fitting.stages import Fitted
from ..moments import ColumnSpan
from ._estimator import CONSTRAINTS, ContrastiveEstimator, SpecificMoments, ViewsTransformer
from .views import view_table


class _Axes(NamedTuple):
    """Variances (K,), directions in rows (K, d_u), and the variance of all directions."""

    variances: np.ndarray
    directions: np.ndarray
    total: float


class ContrastivePCA(OutputNames, ViewsTransformer, ContrastiveEstimator):
    """Directions of large variance in U that are not due to the part that U shares with V.

    Choose it in place of scikit-learn's `PCA` where a second table of the same rows sees a disturbance that is also in U.
    (Contrastive PCA by Abid et al. 2018 compares two sets of rows with the same columns; here two sets of columns are
    compared.)

    Parameters
    ----------
    n_components : int, optional
        Number of directions; all d_u by default.
    linear_map, method, order, n_shared : see `ContrastiveComponents`
    n_splits : int, default=3
        Number of splits into halves, at most 3, whose fits give the expected errors; no pass over the data.
    keep_moments : bool, default=False
        Whether to keep all moments up to the fourth of the columns of both views, at most 64, so that rows can be added
        (`partial_fit`), taken away (`forget`), and models merged (`latentia.merge`): 294 MB at most. The answer is the same.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    n_components_ : int
        Number of directions, K.
    components_ : ndarray of shape (K, d_u)
        Directions in rows, of unit length, in order of decreasing variance. The largest entry of each is positive.
    explained_variance_ : ndarray of shape (K,)
        Variance of s1 along them.
    explained_variance_ratio_ : ndarray of shape (K,)
        Its share in the variance of s1.
    naive_variance_ : ndarray of shape (d_u,)
        Eigenvalues of cov(u), as PCA of U alone has them.
    linear_map_, inverse_map_, mean_, n_features_v_ : see `ContrastiveComponents`
    moments_ : Sums
        The kept moments: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are the sines of the angles between directions and
        true ones.
    n_passes_ : int
        Number of passes over the data.

    Notes
    -----
    The covariance of s1 is that of `ContrastiveComponents`, with its differences from the paper.

    References
    ----------
    R. Ge, J. Zou, Rich component analysis, 2015, sections 4.1 and 5.

    Examples
    --------
    >>> from latentia.contrastive import ContrastivePCA
    >>> from latentia.datasets import planted
    >>> data = planted.contrastive_views(20_000, 6, "pca", linear_map="orthogonal")
    >>> model = ContrastivePCA(1).fit(data.U, data.V)
    >>> bool(abs(model.components_[0] @ data.truth) > 0.99)
    True
    """

    _constraints: ClassVar = {**CONSTRAINTS, "n_components": OrNone(Integer(1))}
    _compared = ("components_",)
    _factors = ("components_",)
    _nouns = ("direction", "directions", "variance")
    _max_distance: ClassVar[float] = 1.0
    _symbol: ClassVar[str] = "mean sine of angle"
    _unit: ClassVar[str] = "as sine of the angle to the true one"
    components_: Annotated[np.ndarray, of.numbers("K V")]
    explained_variance_: Annotated[np.ndarray, of.numbers("K")]
    explained_variance_ratio_: Annotated[np.ndarray, of.numbers("K")]
    naive_variance_: Annotated[np.ndarray, of.numbers("V")]
    _n_features_out: Annotated[int, of.size("K")]

    def __init__(
        self,
        n_components: int | None = None,
        *,
        linear_map: Any = None,
        method: str = "auto",
        order: int | str = "auto",
        n_shared: int | None = None,
        n_splits: int = 3,
        keep_moments: bool = False,
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
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    def fit(self, U: Any, V: Any = None, *, sample_weight: Any = None) -> ContrastivePCA:
        """Learn the directions.

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

    def _learn(self, specific: SpecificMoments) -> _Axes:
        d = specific.moments.widths[0]
        size = d if self.n_components is None else int(self.n_components)
        if size > d:
            raise LatentiaError(
                f"{d} features support at most {d} components.", at_most=d, parameter="n_components", value=size
            )
        values, vectors = np.linalg.eigh(specific.covariance)
        directions = vectors[:, ::-1].T
        signs = np.sign(directions[np.arange(d), np.abs(directions).argmax(axis=1)])
        return _Axes(values[::-1][:size], (directions * signs[:, None])[:size], float(values.sum()))

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        super()._set_fitted_attributes(fitted)
        learned: _Axes = fitted.model
        specific: SpecificMoments = fitted.recovered
        self.explained_variance_, self.components_ = learned.variances, learned.directions
        self.n_components_ = len(learned.directions)
        self.explained_variance_ratio_ = learned.variances / max(learned.total, np.finfo(float).tiny)
        covariance_u = specific.extraction.sums.covariance[specific.moments.u, specific.moments.u] * np.outer(
            specific.scale, specific.scale
        )
        self.naive_variance_ = np.linalg.eigvalsh(covariance_u)[::-1]
        self._n_features_out = len(learned.directions)

    def _compare(self, answer: _Axes, reference: _Axes) -> np.ndarray:
        cosines = np.abs(np.einsum("kd,kd->k", answer.directions, reference.directions))
        return np.sqrt(np.clip(1 - cosines**2, 0, None))

    def _component_view(self, fitted: Fitted) -> ComponentView:
        """Return coordinates of rows along the directions."""
        return ComponentView(np.asarray(self.transform(fitted.comparison_rows)).T, signed=True)

    def _distances(self, reference: ContrastivePCA) -> np.ndarray:
        answer, reference_answer = (_Axes(np.empty(0), model.components_, 1.0) for model in (self, reference))
        return self._compare(answer, reference_answer)

    def _shares(self) -> np.ndarray:
        return np.clip(self.explained_variance_ratio_, 0.0, 1.0)

    def _widen_views(self, span_u: ColumnSpan, span_v: ColumnSpan) -> None:
        super()._widen_views(span_u, span_v)
        self.naive_variance_ = np.append(self.naive_variance_, np.zeros(len(span_u.dependent_columns)))

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def transform(self, U: Any, V: Any = None) -> np.ndarray:
        """Return the coordinates of the rows along the directions, shape (n_rows, K).

        With V they are those of the best linear estimate of s1 from both views; without, those of U as it is.

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
        return (self._estimate_specific_rows(U, V) - self.mean_) @ self.components_.T

    @fitted
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows that coordinates (n_rows, K) stand for, shape (n_rows, d_u).

        Parameters
        ----------
        X : array-like of shape (n_rows, K)
            Coordinates.

        Returns
        -------
        ndarray of shape (n_rows, d_u)
        """
        table = view_table(X, "X")
        if table.shape[1] != len(self.components_):
            raise LatentiaError(
                f"X has {table.shape[1]} columns; expected {len(self.components_)}, one for each component."
            )
        return table @ self.components_ + self.mean_
