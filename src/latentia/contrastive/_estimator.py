"""Base of the estimators of one component of two views: parameters, the fit up to the covariance of s1, and evidence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from sklearn.base import TransformerMixin

from .. import _fields as of
from .._parameters import Choice as OneOf
from .._parameters import Constraint, Integer, OrNone
from .._validation import weighted
from ..evidence import Check, Misfit, PartErrors, above, at_least, at_most, error_checks, mean_cosine
from ..exceptions import LatentiaError
from ..fitting.base import halves_of_rows
from ..fitting.stages import Fitted, Parameters, Subset
from ..linalg.ratios import ratio_of
from ..moments import ColumnSpan, FramedSums, span_of
from ..passes import Blocks, Folds, assign_folds
from ._added import AdditiveViews, Joint
from ._extract import CHANCE_FACTOR, Extraction, compute_part_cumulant, compute_specific_cumulant, extract
from ._linear_map import (
    Choice,
    Signal,
    choose_method,
    compute_held_out_share,
    fit_scale_of_given_map,
    list_orders,
    measure_residual,
)
from .views import FOLD_SEED, JointMoments, check_shape, two_views, view_table

_MIN_DEVIATIONS = 6.0  # standard deviations of the shared signal: Gaussian views seldom exceed it
_CLEAR_DEVIATIONS = 10.0  # Gaussian views whose rows depend on each other seldom exceed this either
_MIN_MEMORY, _NEIGHBOURS = 0.5, 2000  # correlation of neighbouring rows from which they depend, and rows that show it
_MAX_UNEXPLAINED = 1.4  # multiple of the noise in directions that no A explains; these were chosen to have little of it
_MAX_KURTOSIS = 15.0
_MAX_RESIDUAL = 3.2  # standard deviations of the cross-cumulants of either order that A leaves unexplained
_MODEL_CHECKS = ("goodness of fit", "both orders explained", "symmetry of cov(s2)", "variances of the parts")
_MIN_STRENGTH = 0.25  # share of the noise above which a shared direction counts as one


@dataclass(frozen=True)
class OrderConstraint:
    """The order of the cumulants: 3, 4 or "auto"."""

    expectation: str = "expected 3, 4 or 'auto'"

    def allows(self, value: Any) -> bool:
        return (isinstance(value, str) and value == "auto") or Integer(3, 4).allows(value)


@dataclass(frozen=True)
class LinearMapConstraint:
    """The linear map: a table, "identity", or None where it is to be learned."""

    expectation: str = "expected None, 'identity' or an array of shape (d_v, d_u)"

    def allows(self, value: Any) -> bool:
        return value is None or (value == "identity" if isinstance(value, str) else np.ndim(value) == 2)


CONSTRAINTS: Mapping[str, Constraint] = {
    "linear_map": LinearMapConstraint(),
    "method": OneOf("auto", "bls", "gtls", "eq2"),
    "order": OrderConstraint(),
    "n_shared": OrNone(Integer(1)),
}


C = TypeVar("C", bound="ContrastiveEstimator")


class ContrastiveEstimator(AdditiveViews[Parameters]):
    """Base: a model of s1 in u = s1 + s2, v = A s2 + s3.

    A family defines what it learns from the covariance, cumulants and target of s1, and the distance of two answers.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = CONSTRAINTS
    _target: ClassVar[bool] = False
    _factors: ClassVar[tuple[str, ...]] = ()
    """Fitted arrays with one factor for every column of U."""
    _by_number: ClassVar[tuple[str, ...]] = ()
    """Parameters that name columns by their numbers."""
    _limit: ClassVar[float] = 0.3
    _symbol: ClassVar[str] = "mean relative error"
    _unit: ClassVar[str] = "relative to its size"

    linear_map: Any
    method: str
    order: Any
    n_shared: int | None
    n_splits: int
    n_jobs: int | None
    linear_map_: Annotated[np.ndarray, of.numbers("W V")]
    inverse_map_: Annotated[np.ndarray, of.numbers("V W")]
    mean_: Annotated[np.ndarray, of.numbers("V")]
    n_features_v_: Annotated[int, of.size("W")]
    _v_names: list[str] | None
    _mean_v: Annotated[np.ndarray, of.numbers("W")]
    _own_given_views: Annotated[np.ndarray, of.numbers("V B")]

    # --- what a family writes -----------------------------------------------------------------------------------

    @abstractmethod
    def _learn(self, specific: SpecificMoments) -> Any:
        """Learn the family's answer, a record or an array, from the moments of s1."""

    @abstractmethod
    def _compare(self, answer: Any, reference: Any) -> np.ndarray:
        """Return distances of the components of an answer from a reference, shape (K,), in the unit of the expected error."""

    def _accuracy(self, answer: Any) -> float:
        """Return the limit of the expected error."""
        return self._limit

    def _more_checks(self, answer: Any, specific: SpecificMoments) -> list[Check]:
        """Return further checks of the family."""
        return []

    # --- the fit ------------------------------------------------------------------------------------------------

    def _fit(self, U: Any, V: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Find the shared part, remove it from the moments of u, and learn from the remaining moments."""
        rows = weighted(self._read(U, V, y), sample_weight)
        orders = list_orders(self.method, self.order) if self.linear_map is None else []
        check_shape(rows.n_rows, [width for _, width in rows.shapes], orders)
        if self.keep_moments or self._names_columns:
            return self._fit_stages(rows)
        spans = self._spans_of(*(span_of(rows, part) for part in (0, 1)))
        if spans is None:
            return self._fit_stages(rows)
        reduced_rows = rows
        for part, span in enumerate(spans):
            reduced_rows = span.reduce(reduced_rows, part) if len(span.dependent_columns) else reduced_rows
        return _fit_in_spans(self, lambda: self._fit_stages(reduced_rows), *spans)

    def _fit_sums_in_span(self, sums: FramedSums, rows: Blocks | None) -> None:
        width, end = self.n_features_in_, self.n_features_in_ + self.n_features_v_
        spans = None if self._names_columns else self._spans_of(
            sums.select(np.arange(width)).span, sums.select(np.arange(width, end)).span
        )  # fmt: skip
        if spans is None:
            return self._fit_selected(sums, rows)
        columns = np.concatenate([spans[0].join(spans[1]).kept, np.arange(end, len(sums.center))])
        _fit_in_spans(self, lambda: self._fit_selected(sums.select(columns), rows), *spans)

    @property
    def _names_columns(self) -> bool:
        """True where a parameter names columns by their numbers, so that all of them count."""
        return any(getattr(self, name) is not None for name in self._by_number)

    def _spans_of(self, span_u: ColumnSpan | None, span_v: ColumnSpan | None) -> tuple[ColumnSpan, ColumnSpan] | None:
        """Return both spans if one leaves columns out, and warn of these columns; None otherwise."""
        if span_u is None and span_v is None:
            return None
        for span, table, names in ((span_u, "U", self._column_names), (span_v, "V", self._v_names)):
            if span is not None:
                span.tell(names, table)
        return span_u or ColumnSpan.all_columns(self.n_features_in_), span_v or ColumnSpan.all_columns(
            self.n_features_v_
        )

    def _widen_views(self, span_u: ColumnSpan, span_v: ColumnSpan) -> None:
        """Extend fitted arrays from the independent columns to all columns of both views."""
        self.linear_map_ = span_v.directions(span_u.coefficients(self.linear_map_), axis=0)
        self.inverse_map_ = span_u.directions(span_v.coefficients(self.inverse_map_), axis=0)
        self._own_given_views = span_u.directions(self._span.coefficients(self._own_given_views), axis=0)
        self.mean_, self._mean_v = span_u.points(self.mean_), span_v.points(self._mean_v)
        for name in self._factors:
            setattr(self, name, span_u.coefficients(getattr(self, name)))
        if "_scale" in vars(self):  # errors are of columns; the other columns get the worst of them
            scale: np.ndarray = vars(self)["_scale"]
            self.__dict__["_scale"] = np.maximum(span_u.coefficients(scale), of.MIN_MAGNITUDE)
            evidence = self.evidence_
            for name, worst in (("component_errors", np.max), ("found_again", np.min), ("shares", np.min)):
                values = getattr(evidence, name)
                if values is not None:
                    values_of_all = np.full(len(span_u.offset), worst(values))
                    values_of_all[span_u.kept] = values
                    setattr(evidence, name, values_of_all)

    def _assign_folds(self, rows: Blocks) -> Folds:
        return assign_folds(rows, FOLD_SEED)

    def _moments(self, rows: Blocks, folds: Folds) -> Joint:
        """Compute joint moments of four groups of rows in two passes, and choose the cumulants for the linear map."""
        self._read_linear_map(rows.shapes[1][1])
        return self._choose_map(JointMoments.from_blocks(rows, folds, n_jobs=self.n_jobs, progress=self.verbose))

    def _recover(self, moments: Joint, subset: Subset, choices: Any) -> SpecificMoments:
        """Find the linear map, and the moments of s1 (section 3.1)."""
        return SpecificMoments(moments.views, extract(moments.views, subset.groups, moments.choice))

    def _refine(self, recovered: SpecificMoments, moments: Joint, subset: Subset, choices: Any) -> Any:
        """Learn the family's answer from the moments of s1."""
        return self._learn(recovered)

    def _cost(self) -> Literal["free"]:
        return "free"

    def _distance(self, first: Any, second: Any, moments: Joint) -> np.ndarray:
        return self._compare(first, second)

    def _set_fitted_attributes(self, fitted: Fitted[Joint, Any]) -> None:
        specific: SpecificMoments = fitted.recovered
        self.linear_map_, self.inverse_map_, self.mean_ = specific.linear_map, specific.inverse_map, specific.mean_u
        self._mean_v, self._own_given_views = specific.mean_v, specific.view_weights
        self.n_passes_ = specific.moments.n_passes

    def _checks(self, fitted: Fitted[Joint, Any]) -> tuple[list[Check], PartErrors]:
        """Compute errors from parts, widened by the bias towards no correction, which all parts share; and the checks."""
        specific: SpecificMoments = fitted.recovered
        answer, joint = fitted.model, fitted.moments
        parts = self._errors(fitted)
        checks = self._lines(answer, specific, parts, joint.signal, joint.choice, _find_min_deviations(fitted.rows))
        return _escalate_repeated_signs(checks) + self._more_checks(answer, specific), parts

    def _repeat_shares(self, fitted: Fitted[Joint, Any]) -> np.ndarray | None:
        """Return how far components repeat; None without a shared signal, where U itself would repeat, and no contrast."""
        signal: Signal | None = fitted.moments.signal
        if signal is not None and signal.deviations <= _find_min_deviations(fitted.rows):
            return None
        if self._component_numbers(fitted.model) is None:
            return super()._repeat_shares(fitted)
        halves = [self._component_numbers(fitted.model_of(half)) for half in fitted.compared]
        return mean_cosine(self._component_numbers(fitted.model), halves)

    def _component_numbers(self, answer: Any) -> Any:
        """Return an array for each component by which halves are compared; None where shares of rows are compared."""
        return None

    def _errors(self, fitted: Fitted[Joint, Any]) -> PartErrors:
        """Return errors from parts of the rows, widened by the bias."""
        return fitted.errors(self.n_splits).widen(self._pull(fitted.model, fitted.recovered), self._max_distance)

    def _pull(self, answer: Any, specific: SpecificMoments) -> np.ndarray:
        """Return the distance to the answer with the shared part that the map may miss, or with the other order's map.

        Distances are relative to the larger of the two answers.
        """
        bias = np.zeros(len(self._compare(answer, answer)))
        for alternative in (specific.alternative(), specific.from_other_order()):
            if alternative is not specific:
                alternative_answer = self._learn(alternative)
                bias = np.maximum(
                    bias,
                    np.minimum(self._compare(answer, alternative_answer), self._compare(alternative_answer, answer)),
                )
        return bias

    def _lines(
        self,
        answer: Any,
        specific: SpecificMoments,
        parts: PartErrors,
        signal: Signal | None,
        choice: Choice,
        min_deviations: float,
    ) -> list[Check]:
        moments = specific.moments
        singular = np.linalg.svd(specific.extraction.map.forward, compute_uv=False)[: choice.n_shared]
        return [
            *error_checks(
                parts, self._accuracy(answer), self._symbol, self._unit, self._nouns[0], n_rows=specific.extraction.sums.n
            ),
            *([] if signal is None else _shared_misfit(signal).checks(0.0, "shared directions")),
            *_residual_checks(moments, specific, choice),
            *_tail_checks(moments),
            *self._target_checks(specific),
            *([] if signal is None else _signal_checks(moments, signal, choice, min_deviations)),
            Check(
                "conditioning of A", "sigma_1 / sigma_r", float(ratio_of(singular[0], singular[-1])), None,
                "Largest over smallest singular value of A, columns in unit variance: errors grow with its square.",
                "Lemma B.3",
            ),
        ]  # fmt: skip

    def _target_checks(self, specific: SpecificMoments) -> list[Check]:
        """Check that y and v are uncorrelated, as they are where y depends on s1 alone."""
        if not self._target:
            return []
        misfit = measure_target_misfit(specific)
        return [
            Check(
                "target independent of V", "|cov(v, y)|^2 / |N|^2", misfit.ratio, at_most(misfit.noise_limit, "1 for noise"),
                "Covariances of y with V, against their noise: where y depends on s1 alone there are none.",
                "the model, section 4.2", "note",
                "y depends on what V sees, beyond s1: use V as covariates.",
            )
        ]  # fmt: skip

    @property
    def own_weights(self) -> np.ndarray:
        """Weights of both views in the best linear estimate of s1, shape (d_u, d_u + d_v): cov(s1, (u, v)) over cov(u, v)."""
        return self._own_given_views

    @property
    def column_names_v(self) -> list[str] | None:
        """Names of the columns of V; None without names."""
        names = self.__dict__.get("_v_names")
        return self.reading_.get("columns_v") if names is None else names

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        return [{"U": half.pop("X"), **half} for half in halves_of_rows(random_state, X=X, **fit_parameters)]

    # --- use ----------------------------------------------------------------------------------------------------

    def _estimate_specific_rows(self, U: Any, V: Any) -> np.ndarray:
        """Estimate rows of s1: with V by the best linear estimate from both views; without, U is taken to be s1 itself."""
        if V is None and not isinstance(U, Blocks):
            table = view_table(U, "U")
            if table.shape[1] != self.n_features_in_:
                raise LatentiaError(f"U has {table.shape[1]} columns; the model was fitted on {self.n_features_in_}.")
            return table
        blocks = two_views(self, U, V, reset=False)
        center = np.concatenate([self.mean_, self._mean_v])
        return self.mean_ + np.vstack([(np.hstack(block[:2]) - center) @ self._own_given_views.T for block in blocks])

    def _check_fitted(self) -> None:
        if self._own_given_views.shape[1] != self.n_features_in_ + self.n_features_v_:
            raise LatentiaError("_own_given_views does not have the columns of both views")


def _fit_in_spans(model: C, fit: Callable[[], object], span_u: ColumnSpan, span_v: ColumnSpan) -> C:
    """Fit the linearly independent columns by a function, and extend fitted arrays to all columns."""
    names = model._column_names, model._v_names
    model.n_features_in_, model.n_features_v_ = len(span_u.kept), len(span_v.kept)
    model._column_names, model._v_names = (
        view_names if view_names is None else [view_names[i] for i in span.kept]
        for view_names, span in zip(names, (span_u, span_v), strict=True)
    )
    model._spans = span_u, span_v
    fit()
    del model._spans
    model.n_features_in_, model.n_features_v_ = len(span_u.offset), len(span_v.offset)
    (model._column_names, model._v_names), model._span = names, span_u.join(span_v)
    model._widen_views(span_u, span_v)
    model.evidence_.bind(model)
    return model


class ViewsTransformer(TransformerMixin):
    """Base of the contrasts that transform rows of both views."""

    def fit_transform(self, U: Any, V: Any = None, *, sample_weight: Any = None) -> Any:
        """Fit, and return ``transform(U, V)`` of the same rows: coordinates of the part that only U has.

        Parameters
        ----------
        U, V, sample_weight : as in ``fit``

        Returns
        -------
        ndarray of shape (n_rows, K)
        """
        return self.fit(U, V, sample_weight=sample_weight).transform(U, V)  # type: ignore[attr-defined]


def _escalate_repeated_signs(checks: list[Check]) -> list[Check]:
    """Turn failed checks of the model into vetoes where there are several: a single one may be chance."""
    signs = [check for check in checks if check.name in _MODEL_CHECKS and check.holds is False]
    return [replace(check, role="veto") if len(signs) > 1 and check in signs else check for check in checks]


def _shared_misfit(signal: Signal) -> Misfit:
    """Return the misfit in directions that no A explains."""
    return replace(
        Misfit.from_norms(signal.residual, signal.residual_noise, max(signal.total, 0.0)), noise_limit=_MAX_UNEXPLAINED
    )


def _find_min_deviations(rows: Blocks | None) -> float:
    """Return the standard deviations that a shared cumulant needs: more where neighbouring rows, and so folds, depend."""
    if rows is None:
        return _MIN_DEVIATIONS
    table = np.hstack(rows.first_rows(_NEIGHBOURS))
    centred = table - table.mean(axis=0)
    products = (centred[1:] * centred[:-1]).sum(axis=0)
    squares = np.maximum((centred**2).sum(axis=0), np.finfo(float).tiny)
    return _CLEAR_DEVIATIONS if float(np.median(products / squares)) > _MIN_MEMORY else _MIN_DEVIATIONS


def _signal_checks(moments: JointMoments, signal: Signal, choice: Choice, min_deviations: float) -> list[Check]:
    """Check whether the cumulants identify a linear map that is not given."""
    kappa, is_enough = f"kappa_{signal.order}", signal.deviations > min_deviations
    return [
        Check(
            "shared cumulant above noise", f"|{kappa}| / sd", signal.deviations,
            above(_CLEAR_DEVIATIONS if is_enough else min_deviations, "noise"),
            f"The cross-cumulants of order {signal.order} of both views, in standard deviations of their noise. Only these "
            "identify the shared part; a Gaussian shared part has none.",
            "Lemma 3.1", "caution" if is_enough else "veto",
            "Little or nothing identifies the shared part: it looks Gaussian, or there are too few rows. Use V as covariates. "
            "If the linear map is known, give it (linear_map, --linear-map).",
        ),
        Check(
            "held-out cumulants explained", "share", float(np.clip(compute_held_out_share(moments, choice), -1, 1)),
            above(0.0, "none"),
            "Share of the cumulants of V that A explains from those of U, on rows that A was not learned from; one where the "
            "model holds.",
            "not in the paper", "veto",
            "The linear map does not predict other rows: do not use it.",
        ),
        Check(
            "weakest shared direction", "signal / noise", float(signal.strengths[-1]), at_least(_MIN_STRENGTH),
            f"The weakest of {choice.n_shared} shared directions, relative to the noise: its part of U may not be removed.",
            "Lemma 3.1", "caution",
            "Some shared directions are within the noise: give their number (n_shared, --shared), fewer columns, or more rows.",
        ),
        Check(
            "linear map", choice.inverse, float(choice.order), None,
            "Order of the cumulants that it was learned from. gtls: total least squares, where the signal is clearly above the "
            "noise; bls: least squares for the inverse, which falls back to regression on V where the signal is weak.",
            "section 3.1",
        ),
    ]  # fmt: skip


def _residual_checks(moments: JointMoments, specific: SpecificMoments, choice: Choice) -> list[Check]:
    """Check moments that the linear map was not learned from, where the map has no bias."""
    residual, extraction = measure_residual(moments, choice), specific.extraction
    if extraction.symmetry is None:
        return []
    remedy = "Parts are dependent, or V does not see s2 linearly: use V as covariates, or leave columns out."
    if choice.given_map is not None:
        scale, scale_deviations = fit_scale_of_given_map(moments, choice)
        residual = None if residual is None else max(residual, scale_deviations)
        remedy = "The given map does not fit the shared part of V: leave linear_map (--linear-map) out, to learn it" + (
            f", or give {scale:.2f} times it." if scale_deviations > _MAX_RESIDUAL else "."
        )
    return [
        Check(
            "both orders explained", "|M_v - M_u A^T|^2 / sd", residual, at_most(_MAX_RESIDUAL, "noise"),
            "Cross-cumulants of third or fourth order that A does not explain, in standard deviations of their noise; for a "
            "given A also how much better a multiple of it fits.",
            "Lemma 3.1", "caution", remedy,
        ),
        Check(
            "symmetry of cov(s2)", "|K|^2 / |N|^2", extraction.symmetry.ratio,
            at_most(extraction.symmetry.noise_limit, "1 for noise"),
            "Where the parts are independent, cov(u, B v) is cov(s2) and symmetric; this is its asymmetry, against noise.",
            "the model", "note", remedy,
        ),
        Check(
            "variances of the parts", "|E - [0, 1]|^2 / |N|^2", extraction.outside, at_most(1.0, "its noise"),
            "How far variances of s1 are below zero, or above the variance of U that V does not predict, against noise.",
            "the model", "note", remedy,
        ),
    ]  # fmt: skip


def _tail_checks(moments: JointMoments) -> list[Check]:
    """Check whether a few rows dominate the moments, for views whose fourth moments are kept."""
    if not moments.keeps_fourth:
        return []
    kurtosis = moments.kurtosis()
    column = int(np.argmax(kurtosis))
    name = f"column {column} of U" if column < moments.widths[0] else f"column {column - moments.widths[0]} of V"
    return [
        Check(
            "tails of the columns", "max of kappa_4 / sigma^4", float(kurtosis[column]), at_most(_MAX_KURTOSIS),
            f"Largest kurtosis, of {name}: 0 for normal columns, 6 for exponential ones. Above the limit a few rows dominate "
            "the moments.",
            "not in the paper", "caution",
            f"A few rows are far out, in {name}: look at them, and clip or transform such columns.",
        )
    ]  # fmt: skip


def measure_group_misfit(values: np.ndarray, group_values: Sequence[np.ndarray], extra: float = 0.0) -> Misfit:
    """Return the misfit of numbers that are zero up to noise, from their jackknife values and ``extra`` noise."""
    deviations = np.array(group_values) - np.mean(group_values, axis=0)
    noise = (1 - 1 / len(group_values)) * float((deviations**2).sum()) + extra
    misfit = Misfit.from_norms(float((values**2).sum()), noise, 1.0, values.size)
    return replace(misfit, noise_limit=CHANCE_FACTOR * misfit.noise_limit)


def measure_target_misfit(specific: SpecificMoments) -> Misfit:
    """Return the misfit of cov(v, y) = 0: its size in the metric of v, against its scatter over groups of rows."""
    m = specific.moments
    metric = np.linalg.inv(specific.extraction.sums.covariance[m.v, m.v])
    parts = np.array([m.group_sums((g,)).covariance[m.v, m.y][:, 0] for g in m.folds.all])
    mean, n = parts.mean(axis=0), len(parts)
    noise = float(np.einsum("gi,ij,gj->", parts - mean, metric, parts - mean)) / (n * (n - 1))
    misfit = Misfit.from_norms(float(mean @ metric @ mean), noise, 1.0, m.widths[1])
    return replace(misfit, noise_limit=CHANCE_FACTOR * misfit.noise_limit)


@dataclass(frozen=True)
class SpecificMoments:
    """Moments of s1 in the units of the data."""

    moments: JointMoments
    extraction: Extraction

    def alternative(self) -> SpecificMoments:
        """Return the moments if the shared part that the map may miss is removed as well, with A from cov(v, u) = A cov(s2)."""
        extraction, m = self.extraction, self.moments
        if extraction.alternative is extraction.covariance:
            return self
        s = extraction.sums.covariance
        shared = s[m.u, m.u] - extraction.alternative
        forward = np.linalg.lstsq(shared, s[m.u, m.v], rcond=None)[0].T
        shares = extraction.shares and replace(
            extraction.shares, mean=extraction.shares.mean + extraction.shares.alternative_shift
        )
        unshrunk = extraction.unshrunk
        if unshrunk is not None:
            unshrunk = unshrunk + extraction.alternative - extraction.covariance
        changed = replace(
            extraction,
            covariance=extraction.alternative,
            unshrunk=unshrunk,
            map=replace(extraction.map, forward=forward),
            shares=shares,
        )
        return replace(self, extraction=changed)

    def from_other_order(self) -> SpecificMoments:
        """Return the moments by the other order's cumulants, where no A explains those of both orders.

        For a given A, by a multiple of it, or by an A that is learned.
        """
        extraction, m = self.extraction, self.moments
        choice = extraction.map.choice
        residual, (scale, scale_deviations) = measure_residual(m, choice), fit_scale_of_given_map(m, choice)
        if scale_deviations > _MAX_RESIDUAL and choice.given_map is not None:
            other_choice = replace(choice, given_map=scale * choice.given_map)
        elif residual is None or residual <= _MAX_RESIDUAL:
            return self
        elif choice.given_map is not None:
            other_choice = choose_method(m, "gtls", "auto", None)[0]
        else:
            other_choice = replace(choice, order=4 if choice.order == 3 else 3)
        return replace(self, extraction=extract(m, extraction.groups, other_choice))

    def leave_out_groups(self) -> list[SpecificMoments]:
        """Return the moments of all rows without each group in turn."""
        m, extraction = self.moments, self.extraction
        kept_groups = [tuple(g for g in extraction.groups if g != removed) for removed in extraction.groups]
        return [SpecificMoments(m, extract(m, groups, extraction.map.choice)) for groups in kept_groups]

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations of the columns of u, shape (d_u,)."""
        return self.moments.scale[self.moments.u]

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of s1, shape (d_u, d_u)."""
        return self.extraction.covariance * np.outer(self.scale, self.scale)

    @property
    def unshrunk_covariance(self) -> np.ndarray:
        """Covariance of s1 without shrinkage, whose bias all groups of rows share; as `covariance` where there is none."""
        unshrunk = self.extraction.unshrunk
        return self.covariance if unshrunk is None else unshrunk * np.outer(self.scale, self.scale)

    @property
    def target(self) -> np.ndarray:
        """Covariance of s1 with y, shape (d_u,)."""
        assert self.extraction.target is not None
        return self.extraction.target * self.scale * self.moments.scale[self.moments.y]

    @property
    def mean_u(self) -> np.ndarray:
        m = self.moments
        return np.asarray(m.center[m.u] + self.extraction.sums.mean[m.u] * m.scale[m.u])

    @property
    def mean_v(self) -> np.ndarray:
        m = self.moments
        return np.asarray(m.center[m.v] + self.extraction.sums.mean[m.v] * m.scale[m.v])

    @property
    def mean_y(self) -> float:
        m = self.moments
        return float((m.center[m.y] + self.extraction.sums.mean[m.y] * m.scale[m.y])[0])

    @property
    def linear_map(self) -> np.ndarray:
        """A, shape (d_v, d_u)."""
        return np.asarray(self.extraction.map.forward * self.moments.scale[self.moments.v][:, None] / self.scale)

    @property
    def inverse_map(self) -> np.ndarray:
        """B, shape (d_u, d_v)."""
        return np.asarray(self.extraction.map.inverse * self.scale[:, None] / self.moments.scale[self.moments.v])

    @property
    def view_weights(self) -> np.ndarray:
        """Weights of the best linear estimate of s1 from u and v, shape (d_u, d_u + d_v)."""
        m, d = self.moments, self.moments.n_views
        joint = self.extraction.sums.covariance[:d, :d]
        crossed = np.zeros((m.widths[0], d))
        crossed[:, m.u] = self.extraction.covariance
        weights = np.linalg.solve(joint, crossed.T).T
        return np.asarray(weights * self.scale[:, None] / m.scale[:d])

    def cumulant(self, order: int) -> np.ndarray:
        """Return the third or fourth cumulant of s1, in units of the columns' standard deviations."""
        return self.extract_part(self.moments.tensor(self.extraction.groups, order))

    def extract_part(self, joint: np.ndarray) -> np.ndarray:
        """Return the cumulant of s1 from a joint cumulant of (u, v)."""
        linear_map = self.extraction.map
        if linear_map.choice.forward == "eq2":
            return compute_part_cumulant(joint, linear_map.forward, linear_map.inverse, 1, False)
        return compute_specific_cumulant(joint, linear_map.inverse, self.extraction.regression)

    def group_cumulants(self, basis: np.ndarray, order: int) -> np.ndarray | None:
        """Return cumulants of basis^T s1, basis (d_u, q), of each group of rows, (4, q, ...); None if they are not kept."""
        m, q = self.moments, basis.shape[1]
        if order > 3 and not m.keeps_fourth:
            return None
        scaled, eye = basis * self.scale[:, None], np.eye(q)
        columns = np.zeros((m.n_views, 3 * q))
        columns[m.u, :q] = scaled
        columns[m.v, q:] = np.hstack([self.extraction.map.inverse.T @ scaled, self.extraction.regression.T @ scaled])
        inverse, regression = np.hstack([eye, 0 * eye]), np.hstack([0 * eye, eye])
        return np.array(
            [compute_specific_cumulant(m.tensor((g,), order, columns), inverse, regression) for g in m.folds.all]
        )
