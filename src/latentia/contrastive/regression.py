"""Regression on the part that only one view has.

Model. u = s1 + s2 and v = A s2 + s3, see `latentia.contrastive.components`, and y = beta . s1 + intercept + noise, independent
of s2 and s3. Then cov(s1) beta = cov(s1, y) = cov(u, y).

Source: R. Ge and J. Zou, Rich component analysis, 2015, sections 4.1 and 4.2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import Lasso
from sklearn.metrics import r2_score

from .. import _fields as of
from .._parameters import Choice, Number, OrNone
from .._validation import check_same_rows, weights_of
from ..evidence import Evidence, PartErrors
from ..exceptions import LatentiaError
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted
from ..linalg.ratios import ratio_of
from ._estimator import CONSTRAINTS, ContrastiveEstimator, SpecificMoments, measure_target_misfit
from ._weak import ShrunkRegression
from .views import target_column


class ContrastiveRegression(RegressorMixin, ContrastiveEstimator):
    """Linear regression on U without the part that it shares with V.

    A disturbance s2 in U weakens and mixes its coefficients. V, of the same rows, sees s2 through an unknown linear map, and
    perhaps a part s3 of its own. V as covariates removes only the part of s2 that V predicts linearly; here the remainder is
    removed as well, where s2 is not Gaussian.

    Parameters
    ----------
    penalty : {None, "l1", "l2"}, default=None
        Minimises (1/2) E (y - beta . s1)^2 + alpha |beta|_1, or + (alpha / 2) |beta|_2^2, in the units of the data.
    alpha : float, default=0.1
        The penalty's weight.
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
    coef_ : ndarray of shape (d_u,)
    intercept_ : float
    covariates_coef_ : ndarray of shape (d_u,)
        Coefficients of U in the regression on U and V, the simple remedy; without ``penalty``.
    naive_coef_ : ndarray of shape (d_u,)
        Coefficients of the regression on U alone.
    linear_map_, inverse_map_, mean_, n_features_v_ : see `ContrastiveComponents`
    moments_ : Sums
        The kept moments: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are those of the coefficients, columns in unit
        variance, relative to their root mean square.
    n_passes_ : int
        Number of passes over the data.

    Notes
    -----
    Differences from the paper, besides those of `ContrastiveComponents`:

    1. cov(s1, y) is cov(u, y) less the regression of u on v, whose covariance with y is noise.
    2. In directions where the variance of s1 may be zero, dividing by it would let the coefficients explode. They are the best
       linear estimate given the error bars of cov(s1): it shrinks towards the coefficients with V as covariates, and the
       expected errors include this; ``method="eq2"`` divides. A penalty is added to the matrix that stands in for cov(s1), so
       that alpha = 0 is no penalty.

    References
    ----------
    R. Ge, J. Zou, Rich component analysis, 2015, sections 4.1, 4.2 and 5.

    Examples
    --------
    >>> from latentia.contrastive import ContrastiveRegression
    >>> from latentia.datasets import planted
    >>> data = planted.contrastive_views(20_000, 6, "regression", linear_map="orthogonal")
    >>> model = ContrastiveRegression().fit(data.U, data.V, data.y)
    >>> bool(((model.coef_ - data.truth) ** 2).sum() < 0.02 < ((model.naive_coef_ - data.truth) ** 2).sum())
    True
    """

    _constraints: ClassVar = {**CONSTRAINTS, "penalty": OrNone(Choice("l1", "l2")), "alpha": Number(0, closed="low")}
    _compared = ("coef_", "_scale")
    _factors = ("coef_", "covariates_coef_", "naive_coef_")
    _nouns = ("coefficient", "coefficients", "rows")
    _target: ClassVar[bool] = True
    _symbol: ClassVar[str] = "mean error of a coefficient"
    _unit: ClassVar[str] = "relative to their root mean square"
    coef_: Annotated[np.ndarray, of.numbers("V")]
    covariates_coef_: Annotated[np.ndarray, of.numbers("V")]
    naive_coef_: Annotated[np.ndarray, of.numbers("V")]
    intercept_: Annotated[float, of.number()]
    evidence_: Annotated[Evidence, of.Letters({"K": "V"})]
    _scale: Annotated[np.ndarray, of.numbers("V", of.MIN_MAGNITUDE)]

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.1,
        linear_map: Any = None,
        method: str = "auto",
        order: int | str = "auto",
        n_shared: int | None = None,
        n_splits: int = 3,
        keep_moments: bool = False,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.linear_map = linear_map
        self.method = method
        self.order = order
        self.n_shared = n_shared
        self.n_splits = n_splits
        self.keep_moments = keep_moments
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def scale_(self) -> np.ndarray:
        """Standard deviations of the columns of U, the units of the errors of the evidence, shape (d_u,)."""
        return self._scale

    @fitting
    def fit(self, U: Any, V: Any = None, y: Any = None, *, sample_weight: Any = None) -> ContrastiveRegression:
        """Learn the coefficients.

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            Blocks may have three parts: U, V, and y of one column.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view of the same rows, with d_v of at least d_u.
        y : array-like of shape (n_rows,), optional
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
        return self._fit(U, V, y, sample_weight=sample_weight)

    def _learn(self, specific: SpecificMoments) -> np.ndarray:
        """Learn coefficients for columns in unit variance."""
        covariance, target = _regression_covariance(specific), specific.target
        if self.penalty == "l2":
            covariance = covariance + self.alpha * np.eye(len(covariance))
        if self.penalty == "l1" and self.alpha:
            return _lasso(covariance, target, self.alpha) * specific.scale
        return np.asarray(np.linalg.lstsq(covariance, target, rcond=None)[0]) * specific.scale

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        super()._set_fitted_attributes(fitted)
        learned: np.ndarray = fitted.model
        specific: SpecificMoments = fitted.recovered
        m, s = specific.moments, specific.extraction.sums.covariance
        self._scale = specific.scale
        self.coef_ = learned / specific.scale
        self.intercept_ = specific.mean_y - float(specific.mean_u @ self.coef_)
        scale_y = m.scale[m.y][0]
        views = slice(0, m.n_views)
        self.covariates_coef_ = np.linalg.solve(s[views, views], s[views, m.y][:, 0])[m.u] * scale_y / specific.scale
        self.naive_coef_ = np.linalg.solve(s[m.u, m.u], s[m.u, m.y][:, 0]) * scale_y / specific.scale

    def _pull(self, answer: np.ndarray, specific: SpecificMoments) -> np.ndarray:
        """Return the bias, including the effect of a covariance of y with v, where this is above the noise."""
        pull, misfit, extraction, m = (
            super()._pull(answer, specific),
            measure_target_misfit(specific),
            specific.extraction,
            specific.moments,
        )
        if misfit.ratio is None or misfit.ratio <= misfit.noise_limit:
            return pull
        s = extraction.sums.covariance
        corrected_target = (s[m.u, m.y] - extraction.map.inverse @ s[m.v, m.y])[:, 0]  # u - B v has no s2
        alternative_answer = self._learn(replace(specific, extraction=replace(extraction, target=corrected_target)))
        return np.maximum(
            pull, np.minimum(self._compare(answer, alternative_answer), self._compare(alternative_answer, answer))
        )

    def _errors(self, fitted: Fitted) -> PartErrors:
        """Return errors from parts, at least as large as the errors expected from the shrinkage of uncertain directions."""
        parts, regression, answer = super()._errors(fitted), _shrink_weak_directions(fitted.recovered), fitted.model
        if regression is None or parts.errors is None:
            return parts
        scale_y = fitted.recovered.moments.scale[fitted.recovered.moments.y]
        deviations = regression.deviations * scale_y
        size = np.sqrt(np.mean(answer**2) + np.mean(deviations**2))
        expected = np.sqrt(2 / np.pi) * deviations / size
        return parts.widen(np.sqrt(np.maximum(expected**2 - parts.errors**2, 0)), self._max_distance)

    def _compare(self, answer: np.ndarray, reference: np.ndarray) -> np.ndarray:
        return np.asarray(ratio_of(np.abs(answer - reference), np.sqrt(np.mean(answer**2))))

    def _component_numbers(self, answer: np.ndarray) -> list[np.ndarray]:
        """Return all coefficients for each of them: they are compared as one vector."""
        return [answer] * len(answer)

    def _distances(self, reference: ContrastiveRegression) -> np.ndarray:
        return self._compare(self.coef_ * self._scale, reference.coef_ * self._scale)

    @fitted
    def predict(self, U: Any, V: Any = None) -> np.ndarray:
        """Return the expected y of the rows, shape (n_rows,).

        With V from the best linear estimate of s1; without, U is taken to be s1 itself, free of the disturbance.

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            The first view; Blocks may have two parts, U and V.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view. Without it U is taken to be free of what the views share.

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        LatentiaError
            If a view has another number of columns than in the fit, or NaN.
        """
        return self._estimate_specific_rows(U, V) @ self.coef_ + self.intercept_

    def score(self, U: Any, V: Any = None, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return the coefficient of determination of `predict`.

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            The first view; Blocks may have two parts, U and V.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view. Without it U is taken to be free of what the views share.
        y : array-like of shape (n_rows,)
            True values.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        true = target_column(y)
        predicted = self.predict(U, V)
        check_same_rows(U=len(predicted), y=len(true))
        if len(true) < 2:
            raise LatentiaError("R^2 needs at least two rows; found one.")
        return float(r2_score(true, predicted, sample_weight=weights_of(sample_weight, len(true))))


def _regression_covariance(specific: SpecificMoments) -> np.ndarray:
    """Return cov(s1), or the matrix that stands in for it where some directions are uncertain, in the units of the data."""
    regression = _shrink_weak_directions(specific)
    return (
        specific.covariance if regression is None else regression.covariance * np.outer(specific.scale, specific.scale)
    )


def _shrink_weak_directions(specific: SpecificMoments) -> ShrunkRegression | None:
    """Return the regression that shrinks uncertain directions; None for the paper's method."""
    m, extraction = specific.moments, specific.extraction
    if extraction.shares is None:
        return None
    assert extraction.target is not None
    s, views = extraction.sums.covariance, slice(0, m.n_views)
    cross_covariance = s[views, m.y][:, 0]
    residual_variance = float(s[m.y, m.y][0, 0] - cross_covariance @ np.linalg.solve(s[views, views], cross_covariance))
    return ShrunkRegression.from_shares(
        extraction.shares, extraction.target, max(residual_variance, 0.0) / extraction.sums.n
    )


def _lasso(covariance: np.ndarray, target: np.ndarray, alpha: float) -> np.ndarray:
    """Return lasso coefficients of d rows with these moments. Directions without variance, as in "eq2", get a small one."""
    values, vectors = np.linalg.eigh(covariance)
    root = np.sqrt(len(values) * np.maximum(values, 1e-9 * np.abs(values).max()))
    rows, target_rows = (vectors * root).T, (vectors.T @ target) * len(values) / root
    return np.asarray(Lasso(alpha=alpha, fit_intercept=False, max_iter=100_000, tol=1e-10).fit(rows, target_rows).coef_)
