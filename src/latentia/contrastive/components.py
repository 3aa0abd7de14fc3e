"""One component of two views, without a model of the others.

Model. Rows of two views are

    u = s1 + s2,        v = A s2 + s3,

with s1, s2 and s3 independent and of any distribution, and an unknown linear map A (d_v x d_u) of full column rank.
Cross-cumulants of both views depend on s2 alone, so that their last mode identifies A, and with it the cumulants of all three
parts.

Source: R. Ge and J. Zou, Rich component analysis, 2015, sections 3.1 and B.1.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import _fields as of
from .._parameters import Choice, check_parameter
from ..evidence import Evidence
from ..exceptions import LatentiaError
from ..fitting.base import OutputNames, fitted, fitting
from ..fitting.stages import Fitted
from ..linalg.ratios import ratio_of
from ..moments import ColumnSpan, cross_cumulant
from ._estimator import ContrastiveEstimator, SpecificMoments, ViewsTransformer
from ._extract import compute_part_cumulant, compute_specific_cumulant
from .views import two_views

_MAX_ORDER = 6


class _Parts(NamedTuple):
    """Covariances of s1, s2 and s3, columns in unit variance."""

    s1: np.ndarray
    s2: np.ndarray
    s3: np.ndarray


class ContrastiveComponents(OutputNames, ViewsTransformer, ContrastiveEstimator):
    """Split two views into a shared part and a part of each: the linear map between them, covariances and cumulants.

    Of rows u = s1 + s2 and v = A s2 + s3 with independent s1, s2 and s3 of any distribution, the fit learns A without a model
    of any of them. It needs a shared part s2 that is not Gaussian; the evidence says whether it can be identified.

    Choose it to learn the part of one table of measurements that another table of the same rows does not have: molecular
    patterns beyond physiology, or signals beyond artefacts of a device that control channels see too. For a model of s1 use
    `ContrastivePCA`, `ContrastiveRegression`, `ContrastiveLogisticRegression`, `ContrastiveGaussianMixture` or
    `ContrastiveIsing`. Where the shared part may be Gaussian, or rows are few, use V as covariates instead: it is simpler, and
    nearly as good.

    Parameters
    ----------
    linear_map : array-like of shape (d_v, d_u) or "identity", optional
        A, where it is known, of full column rank and in the units of the data: two devices that are alike have "identity". Then
        covariances identify the parts, also Gaussian ones, from far fewer rows, and the cumulants test the map. ``order`` and
        ``n_shared`` have no effect. By default it is learned.
    method : {"auto", "bls", "gtls", "eq2"}, default="auto"
        How the linear map is solved for. "eq2": the paper's equation 2. "bls": least squares for the inverse B, which falls
        back to the regression of U on V where the signal is weak. "gtls": generalised total least squares, without bias and
        without a fallback. "auto": "gtls" where the cumulants are clearly above their noise, otherwise "bls".
    order : {"auto", 3, 4}, default="auto"
        Of the cumulants: third ones, of skewed data, have less noise, and fourth ones serve symmetric data as well. "auto"
        takes those with the stronger signal; with "eq2" fourth ones, as the paper.
    n_shared : int, optional
        Dimensions of s2; d_u by default. With fewer, A is learned in the directions of s2 (appendix D).
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
    linear_map_ : ndarray of shape (d_v, d_u)
        A: V is s2 @ A.T + s3.
    inverse_map_ : ndarray of shape (d_u, d_v)
        B, an estimate of a left inverse of A; where "auto" takes least squares for it, not that of ``linear_map_``.
    mean_ : ndarray of shape (d_u,)
        Mean of U. The data does not tell how much of it belongs to s1.
    n_features_v_ : int
        d_v.
    moments_ : Sums
        The kept moments: ``moments_.n_bytes`` is their size, ``moments_.n_rows`` the number of rows.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are those of the covariances of s1, s2 and s3, columns
        in unit variance, in Frobenius norm and relative to the size of each.
    n_passes_ : int
        Number of passes over the data.

    Notes
    -----
    Differences from the paper:

    1. Equation 2 (``method="eq2"``) needs very many rows: its least squares has noise on both sides, and A is then inverted.
       "bls" solves for the inverse. Instruments are whitened, and the block kappa_4(V, V, U, .) is used as well.
    2. Cumulants are unbiased k-statistics, of four groups of rows each, which also separate signal from noise.
    3. The covariance of s1 lies between 0 and that of U less its regression on V; it is brought there, and shrunk towards a
       multiple of the latter by as much of it as is noise. "eq2" leaves it as the formula has it, perhaps indefinite.
    4. Cumulants of s1 are kappa(u - B v, u, e, ...), where the residual e of the regression of u on v replaces further copies
       of u, see `cumulant`: third cumulants have a quarter less error.
    5. Means are removed. The paper takes them to be zero, or given.
    6. With a known A cov(s1) is that of the most likely Gaussian parts of u and B v, B the left inverse that has least of s3,
       and shrunk as in 3. The paper's cov(u) - cov(u, A^+ v) does not weigh what cov(u, B v) says twice (``method="eq2"``).

    References
    ----------
    R. Ge, J. Zou, Rich component analysis, 2015.

    Examples
    --------
    >>> from latentia.contrastive import ContrastiveComponents
    >>> from latentia.datasets import planted
    >>> data = planted.contrastive_views(20_000, 4, shared="exponential", linear_map="orthogonal")
    >>> model = ContrastiveComponents().fit(data.U, data.V)
    >>> float(abs(model.linear_map_ - data.linear_map).max()) < 0.2
    True
    """

    _compared = ("_covariances",)
    _nouns = ("part", "parts", "rows")
    _max_distance: ClassVar[float] = 2.0
    _symbol: ClassVar[str] = "mean relative error of cov(s)"
    _unit: ClassVar[str] = "of its covariance, relative to its size"
    evidence_: Annotated[Evidence, of.Letters({"K": "N"})]
    _regression: Annotated[np.ndarray, of.numbers("V W")]
    _covariances: Annotated[list[np.ndarray], of.numbers("C# C#")]
    _cumulants: Annotated[dict[int, np.ndarray], of.optional(of.numbers("..."))]
    _n_features_out: Annotated[int, of.size("V")]

    def __init__(
        self,
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
        self.linear_map = linear_map
        self.method = method
        self.order = order
        self.n_shared = n_shared
        self.n_splits = n_splits
        self.keep_moments = keep_moments
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    def fit(self, U: Any, V: Any = None, *, sample_weight: Any = None) -> ContrastiveComponents:
        """Learn the linear map, and the second cumulants of the three parts.

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            The first view. Blocks may have two parts, U and V.
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

    def _learn(self, specific: SpecificMoments) -> _Parts:
        s, m = specific.extraction.sums.covariance, specific.moments
        shared = s[m.u, m.u] - specific.extraction.covariance
        return _Parts(
            specific.extraction.covariance,
            shared,
            s[m.v, m.v] - specific.extraction.map.forward @ shared @ specific.extraction.map.forward.T,
        )

    def _compare(self, answer: _Parts, reference: _Parts) -> np.ndarray:
        return np.array(
            [ratio_of(np.linalg.norm(a - b), np.linalg.norm(a)) for a, b in zip(answer, reference, strict=True)]
        )

    def _component_numbers(self, answer: _Parts) -> list[np.ndarray]:
        """Return the covariance of each part."""
        return list(answer)

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        super()._set_fitted_attributes(fitted)
        learned: _Parts = fitted.model
        specific: SpecificMoments = fitted.recovered
        m = specific.moments
        self._covariances = [
            part * np.outer(m.scale[columns], m.scale[columns])
            for part, columns in zip(learned, (m.u, m.u, m.v), strict=True)
        ]
        self._regression = specific.extraction.regression * m.scale[m.u][:, None] / m.scale[m.v]
        self._cumulants: dict[int, np.ndarray] = {}
        for order in (3, 4):
            if m.keeps(order):
                joint = m.tensor(m.folds.all, order)
                for place in range(order):
                    joint = np.moveaxis(np.moveaxis(joint, place, -1) * m.scale[: m.n_views], -1, place)
                self._cumulants[order] = joint
        self._n_features_out = m.widths[0]

    def _distances(self, reference: ContrastiveComponents) -> np.ndarray:
        scales = [np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny)) for covariance in self._covariances]
        scales = [np.hypot(scales[0], scales[1])] * 2 + [scales[2]]
        answer, reference_answer = (
            _Parts(*(covariance / np.outer(s, s) for covariance, s in zip(model._covariances, scales, strict=True)))
            for model in (self, reference)
        )
        return self._compare(answer, reference_answer)

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def covariance(self, part: int) -> np.ndarray:
        """Return the covariance of s1, s2 or s3, in the units of the data.

        Parameters
        ----------
        part : {1, 2, 3}

        Returns
        -------
        ndarray of shape (d_u, d_u), or (d_v, d_v) for part 3
        """
        return self._covariances[_check_part(part) - 1].copy()

    @fitted
    def cumulant(self, part: int, order: int, U: Any = None, V: Any = None, *, formula: str = "auto") -> np.ndarray:
        """Return the cumulant of s1, s2 or s3, in the units of the data.

        Parameters
        ----------
        part : {1, 2, 3}
        order : int
            From 2 to 6.
        U, V : array-like of shape (n_rows, d_u) and (n_rows, d_v), optional
            The views, or Blocks of both as U: needed for orders 5 and 6, and for views of too many columns for the model to
            keep their joint cumulants (more than 161 for the third order, 45 for the fourth).
        formula : {"auto", "eq3", "eq8"}
            "eq3": the paper's equations 3 to 5, from one cross-cumulant. "eq8": equations 8 to 10, which average all
            cross-cumulants of both views. "auto": for s1 kappa(u - B v, u, e, ...) with the residual e of the regression of u
            on v, which has less noise; otherwise, and with ``method="eq2"``, as "eq3".

        Returns
        -------
        ndarray of shape (d_u,) * order or, for s3, (d_v,) * order
        """
        part = _check_part(part)
        check_parameter("formula", formula, Choice("auto", "eq3", "eq8"))
        if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or not 2 <= order <= _MAX_ORDER:
            raise LatentiaError(f"expected a whole number from 2 to {_MAX_ORDER}.", parameter="order", value=order)
        if U is not None:
            blocks = two_views(self, U, V, reset=False)
            d = sum(shape[1] for shape in blocks.shapes[:2])
            if d**order > 1 << 26:
                raise LatentiaError(
                    f"the joint cumulant of {d} columns would have {d**order:,} entries: choose a lower order, or fewer "
                    "columns.",
                    parameter="order", value=order,
                )  # fmt: skip
            joined = blocks.map(lambda block: [np.hstack(block[:2])], [(blocks.n_rows, d)])
            joint = cross_cumulant(joined, (0,) * order, n_jobs=self.n_jobs)
        elif order == 2:
            if formula != "eq8":
                return self.covariance(part)
            raise LatentiaError("Equations 8 to 10 of second order need the views: give U and V.")
        elif order in self._cumulants:
            joint = self._cumulants[order]
        else:
            raise LatentiaError(
                f"The model does not keep cumulants of order {order} of this many columns: give U and V.",
                parameter="order", value=order,
            )  # fmt: skip
        if formula == "auto" and part == 1 and order > 2 and self.method != "eq2":
            return compute_specific_cumulant(joint, self.inverse_map_, self._regression)
        return compute_part_cumulant(joint, self.linear_map_, self.inverse_map_, part, formula == "eq8")

    @fitted
    def transform(self, U: Any, V: Any = None) -> np.ndarray:
        """Return the best linear estimate of s1 from both views, with the mean of U, shape (n_rows, d_u).

        Two views do not determine rows of s1; this estimate has less variance than s1.

        Parameters
        ----------
        U : array-like, DataFrame or Blocks of shape (n_rows, d_u)
            The first view; Blocks may have two parts, U and V.
        V : array-like or DataFrame of shape (n_rows, d_v), optional
            The second view. Without it U is taken to be free of what the views share.

        Returns
        -------
        ndarray of shape (n_rows, d_u)

        Raises
        ------
        LatentiaError
            If a view has another number of columns than in the fit, or NaN.
        """
        return self._estimate_specific_rows(U, V)

    def _widen_views(self, span_u: ColumnSpan, span_v: ColumnSpan) -> None:
        super()._widen_views(span_u, span_v)
        self._regression = span_u.directions(span_v.coefficients(self._regression), axis=0)
        self._covariances = [
            span.covariances(covariance)
            for span, covariance in zip((span_u, span_u, span_v), self._covariances, strict=True)
        ]
        for order, cumulant in self._cumulants.items():
            for axis in range(order):
                cumulant = self._span.directions(cumulant, axis)
            self._cumulants[order] = cumulant
        self._n_features_out = len(span_u.offset)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        v, w = self.n_features_in_, self.n_features_v_
        if [len(array) for array in self._covariances] != [v, v, w]:
            raise LatentiaError("_covariances do not belong to three components")
        if any(array.shape != (v + w,) * order for order, array in self._cumulants.items()):
            raise LatentiaError("_cumulants do not have the columns of both views")


def _check_part(part: Any) -> int:
    if isinstance(part, bool) or not isinstance(part, (int, np.integer)) or part not in (1, 2, 3):
        raise LatentiaError("expected 1, 2 or 3, for s1, s2 or s3.", parameter="part", value=part)
    return int(part)
