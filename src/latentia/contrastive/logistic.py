"""Logistic regression on the part that only one view has.

Model. u = s1 + s2 and v = A s2 + s3, see `latentia.contrastive.components`, and P(y = 1 | s1) = 1 / (1 + exp(-beta . s1 - b)),
with y independent of s2 and s3. The gradient of the likelihood is E[(y - sigma(p)) s1] with p = beta . s1 + b; a polynomial in
place of sigma makes it a function of the moments of s1, which its cumulants give.

Source: R. Ge and J. Zou, Rich component analysis, 2015, section 4.2.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import root
from scipy.special import expit
from sklearn.base import ClassifierMixin

from .. import _fields as of
from .._parameters import Choice, Integer
from .._validation import check_same_rows, classes_of, weighted_mean
from ..evidence import Check, Evidence, at_least
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted
from ._estimator import CONSTRAINTS, ContrastiveEstimator, SpecificMoments
from .views import target_column

_PAPER_COEFFICIENTS = (0.5, 0.245, 0.0, -0.014)
_NODES = 40
_MAX_SPREAD = 8.0  # solutions with a larger standard deviation of beta . s1 + b are rejected


class _Logistic(NamedTuple):
    """Coefficients (d_u,) for columns of unit variance, the intercept at the mean, and how the solver ended."""

    coef: np.ndarray
    intercept: float
    solved: bool
    n_evaluations: int = 0


class ContrastiveLogisticRegression(ClassifierMixin, ContrastiveEstimator):
    """Logistic regression on U without the part that it shares with V, by a polynomial in place of the logistic function.

    Choose it where two classes depend on U without a disturbance that V sees too, and see `ContrastiveRegression`.

    Parameters
    ----------
    degree : {1, 2, 3}, default=3
        Of the polynomial. The bias falls with the degree, and moments of one order more are needed.
    approximation : {"adaptive", "paper"}, default="adaptive"
        "adaptive": the polynomial nearest to the logistic function for a normal beta . s1 of the learned variance.
        "paper": 0.5 + 0.245 p - 0.014 p^3, up to ``degree``.
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
    coef_ : ndarray of shape (1, d_u)
    intercept_ : ndarray of shape (1,)
    classes_ : ndarray of shape (2,)
    n_iter_ : int
        Evaluations of the gradient.
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

    1. The equations gradient = 0 are solved, in place of stochastic steps.
    2. There is an intercept, and the polynomial adapts to the spread of beta . s1. The paper's is of third degree, not of
       fourth.

    References
    ----------
    R. Ge, J. Zou, Rich component analysis, 2015, sections 4.2 and 5.

    Examples
    --------
    >>> from latentia.contrastive import ContrastiveLogisticRegression
    >>> from latentia.datasets import planted
    >>> data = planted.contrastive_views(40_000, 5, "logistic", linear_map="orthogonal")
    >>> model = ContrastiveLogisticRegression().fit(data.U, data.V, data.y)
    >>> bool(((model.coef_[0] - data.truth) ** 2).sum() < 0.05)
    True
    """

    _constraints: ClassVar = {**CONSTRAINTS, "degree": Integer(1, 3), "approximation": Choice("adaptive", "paper")}
    _compared = ("coef_", "_scale")
    _factors = ("coef_",)
    _nouns = ("coefficient", "coefficients", "rows")
    _target: ClassVar[bool] = True
    _symbol: ClassVar[str] = "mean error of a coefficient"
    _unit: ClassVar[str] = "relative to their root mean square"
    coef_: Annotated[np.ndarray, of.numbers("* V")]
    intercept_: Annotated[np.ndarray, of.numbers("*")]
    classes_: Annotated[np.ndarray, of.symbols("C")]
    n_iter_: Annotated[int, of.count()]
    evidence_: Annotated[Evidence, of.Letters({"K": "V"})]
    _scale: Annotated[np.ndarray, of.numbers("V", of.MIN_MAGNITUDE)]

    def __init__(
        self,
        *,
        degree: int = 3,
        approximation: str = "adaptive",
        linear_map: Any = None,
        method: str = "auto",
        order: int | str = "auto",
        n_shared: int | None = None,
        n_splits: int = 3,
        keep_moments: bool = False,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.degree = degree
        self.approximation = approximation
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
    def fit(self, U: Any, V: Any = None, y: Any = None, *, sample_weight: Any = None) -> ContrastiveLogisticRegression:
        """Learn the coefficients.

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            Blocks may have three parts: U, V, and y of one column with 0 and 1.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view of the same rows, with d_v of at least d_u.
        y : array-like of shape (n_rows,), optional
            Two classes.
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if the views differ in rows, if V has fewer columns than U, or if
            entries are NaN or infinite. Also if y does not have two classes.
        """
        return self._fit(U, V, y, sample_weight=sample_weight)

    def _check_target(self, y: Any) -> Any:
        """Return the classes as 0 and 1."""
        if y is None:
            self.classes_ = np.array([0, 1])
            return None
        column = target_column(y, numbers=False)
        classes = classes_of(column)
        known_classes = vars(self).get("classes_")  # from rows that were added before
        if known_classes is None and len(classes) != 2:
            raise LatentiaError(f"y has {len(classes)} different values; expected two classes.")
        if known_classes is not None and not np.isin(classes, known_classes).all():
            raise LatentiaError(f"y has the values {classes}; the model was fitted on {known_classes}.")
        self.classes_ = classes if known_classes is None else known_classes
        return (column == self.classes_[1]).astype(float)

    def _learn(self, specific: SpecificMoments) -> _Logistic:
        """Solve gradient = 0 for columns in unit variance."""
        m, extraction = specific.moments, specific.extraction
        if not 0 < specific.mean_y < 1:
            raise LatentiaError("Expected the values 0 and 1 in y; it has others, or only one of them.")
        assert extraction.target is not None
        covariance, target = extraction.covariance, extraction.target * m.scale[m.y][0]
        third = specific.cumulant(3) if self.degree > 1 else None
        fourth = specific.cumulant(4) if self.degree > 2 else None
        mean_y = float(np.clip(specific.mean_y, 1e-9, 1 - 1e-9))

        def gradient(parameters: np.ndarray) -> np.ndarray:
            beta, center = parameters[:-1], parameters[-1]
            spread = float(np.sqrt(max(beta @ covariance @ beta, 1e-12)))
            coefficients = _polynomial(self.degree, self.approximation, center, spread)
            images = covariance @ beta
            expected, mean = coefficients[1] * images, coefficients[0]
            if third is not None:
                expected = expected + coefficients[2] * third @ beta @ beta
                mean += coefficients[2] * spread**2
            if fourth is not None:
                expected = expected + coefficients[3] * (fourth @ beta @ beta @ beta + 3 * spread**2 * images)
                mean += coefficients[3] * float(third @ beta @ beta @ beta) if third is not None else 0.0
            return np.append(target - expected, mean_y - mean)

        slope = max(mean_y * (1 - mean_y), 1e-9)
        start = np.append(np.linalg.solve(covariance, target) / slope, np.log(mean_y / (1 - mean_y)))
        answer = root(gradient, start, method="hybr", options={"maxfev": 200 * len(start)})
        beta = answer.x[:-1]
        solved = bool(answer.success) and float(beta @ covariance @ beta) < _MAX_SPREAD**2
        if not solved:
            return _Logistic(start[:-1], float(start[-1]), False, int(answer.nfev))
        return _Logistic(beta, float(answer.x[-1]), True, int(answer.nfev))

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        super()._set_fitted_attributes(fitted)
        learned: _Logistic = fitted.model
        specific: SpecificMoments = fitted.recovered
        self._scale = specific.scale
        self.coef_ = (learned.coef / specific.scale)[None, :]
        self.intercept_ = np.array([learned.intercept - specific.mean_u @ self.coef_[0]])
        self.n_iter_ = learned.n_evaluations
        if not learned.solved:
            warn(
                f"The equations of degree {self.degree} have no solution: the coefficients are those of degree 1. The classes "
                "may be too well separated.",
                EvidenceWarning,
            )

    def _more_checks(self, answer: _Logistic, specific: SpecificMoments) -> list[Check]:
        """Check that the equations were solved: otherwise the coefficients have a bias that parts of the data share."""
        return [
            Check(
                "equations solved", "1 if they are", float(answer.solved), at_least(1.0),
                f"One if the equations of degree {self.degree} have a solution. Without one the coefficients are those of "
                "degree 1, which are too small where classes are well separated.",
                "section 4.2", "veto",
                "The classes are too well separated for a polynomial: use logistic regression with V as covariates.",
            )
        ]  # fmt: skip

    def _compare(self, answer: _Logistic, reference: _Logistic) -> np.ndarray:
        size = max(float(np.sqrt(np.mean(answer.coef**2))), np.finfo(float).tiny)
        return np.abs(answer.coef - reference.coef) / size

    def _component_numbers(self, answer: _Logistic) -> list[np.ndarray]:
        """Return all coefficients for each of them: they are compared as one vector."""
        return [answer.coef] * len(answer.coef)

    def _distances(self, reference: ContrastiveLogisticRegression) -> np.ndarray:
        answer, reference_answer = (_Logistic(model.coef_[0] * self._scale, 0.0, True) for model in (self, reference))
        return self._compare(answer, reference_answer)

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def decision_function(self, U: Any, V: Any = None) -> np.ndarray:
        """Return the log-odds of the second class, shape (n_rows,); see `ContrastiveRegression.predict` for V.

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
        return self._estimate_specific_rows(U, V) @ self.coef_[0] + self.intercept_[0]

    @fitted
    def predict_proba(self, U: Any, V: Any = None) -> np.ndarray:
        """Return the probabilities of both classes, shape (n_rows, 2).

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            The first view; Blocks may have two parts, U and V.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view. Without it U is taken to be free of what the views share.

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        second = expit(self.decision_function(U, V))
        return np.column_stack([1 - second, second])

    @fitted
    def predict(self, U: Any, V: Any = None) -> np.ndarray:
        """Return the more probable class of every row, shape (n_rows,).

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            The first view; Blocks may have two parts, U and V.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view. Without it U is taken to be free of what the views share.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self.classes_[(self.decision_function(U, V) > 0).astype(int)]

    def score(self, U: Any, V: Any = None, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return the share of rows for which `predict` is right.

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            The first view; Blocks may have two parts, U and V.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view. Without it U is taken to be free of what the views share.
        y : array-like of shape (n_rows,)
            True classes.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float
        """
        true = target_column(y, numbers=False)
        predicted = self.predict(U, V)
        check_same_rows(U=len(predicted), y=len(true))
        return weighted_mean(predicted == true, sample_weight)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if len(self.coef_) != 1 or len(self.intercept_) != 1 or len(self.classes_) != 2:
            raise LatentiaError("expected two classes and one intercept")


def _polynomial(degree: int, approximation: str, center: float, spread: float) -> np.ndarray:
    """Return coefficients c_0, ..., c_3 of a polynomial in p - center that approximates the logistic function of p."""
    if approximation == "paper":
        shifted = Polynomial(_PAPER_COEFFICIENTS[: degree + 1])(Polynomial([center, 1.0])).coef
        return np.pad(shifted, (0, 4 - len(shifted)))
    nodes, weights = hermegauss(_NODES)
    powers = nodes[:, None] ** np.arange(degree + 1)
    values = expit(center + spread * nodes)
    coefficients = np.linalg.solve((powers.T * weights) @ powers, (powers.T * weights) @ values)
    return np.pad(coefficients / spread ** np.arange(degree + 1), (0, 3 - degree))
