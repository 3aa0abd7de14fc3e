"""What the estimators of one component of two views share: parameters, the fit up to the covariance of s1, and evidence."""

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
from ..fitting.stages import Fitted, Subset
from ..moments import ColumnSpan, FramedSums, span_of
from ..passes import Blocks, Folds, assign_folds
from ._added import AddedViews, Joint
from ._extract import BY_CHANCE, Extracted, extract, own_cumulant, parts_of_cumulant
from ._linear_map import Choice, Signal, choose, held_out_share, left_by_map, orders_of, scale_of_known_map
from .views import FOLD_SEED, JointMoments, check_shape, two_views, view_table

_FROM_NOISE = 6.0  # standard deviations of the shared signal, which Gaussian views seldom have
_SURELY = 10.0  # of those, which Gaussian views with a long memory seldom have either
_MOST_BESIDE = 1.4  # times the noise, in directions that no A explains: they were chosen to have little
_HEAVY = 15.0  # kurtosis
_MOST_LEFT = 3.2  # standard deviations of what A leaves of cross-cumulants of either order
_OF_MODEL = ("goodness of fit", "both orders explained", "symmetry of cov(s2)", "variances of the parts")
_TOLD = 0.25  # of the noise, from which on a shared direction is told from none


@dataclass(frozen=True)
class Order:
    """The order of the cumulants: 3, 4 or "auto"."""

    expectation: str = "expected 3, 4 or 'auto'"

    def allows(self, value: Any) -> bool:
        return (isinstance(value, str) and value == "auto") or Integer(3, 4).allows(value)


@dataclass(frozen=True)
class KnownMap:
    """The linear map: a table, "identity", or None where it is to be learned."""

    expectation: str = "expected None, 'identity' or an array of shape (d_v, d_u)"

    def allows(self, value: Any) -> bool:
        return value is None or (value == "identity" if isinstance(value, str) else np.ndim(value) == 2)


CONSTRAINTS: Mapping[str, Constraint] = {
    "linear_map": KnownMap(),
    "method": OneOf("auto", "bls", "gtls", "eq2"),
    "order": Order(),
    "n_shared": OrNone(Integer(1)),
}


C = TypeVar("C", bound="ContrastiveEstimator")


class ContrastiveEstimator(AddedViews):
    """Base: a model of s1 in u = s1 + s2, v = A s2 + s3.

    A family says what it learns from the covariance, cumulants and target of s1, and how far two answers are apart.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = CONSTRAINTS
    _target: ClassVar[bool] = False
    _factors: ClassVar[tuple[str, ...]] = ()
    """Arrays of factors of the columns of U."""
    _by_number: ClassVar[tuple[str, ...]] = ()
    """Parameters that speak of columns by their numbers."""
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
    def _learn(self, own: Own) -> Any:
        """What the moments of s1 say, as a record or an array."""

    @abstractmethod
    def _apart(self, learned: Any, other: Any) -> np.ndarray:
        """Distance of each component of one answer from another one, shape (K,), in the unit of the expected error."""

    def _accuracy(self, learned: Any) -> float:
        """Limit of the expected error."""
        return self._limit

    def _more_checks(self, learned: Any, own: Own) -> list[Check]:
        """Lines of its own."""
        return []

    # --- the fit ------------------------------------------------------------------------------------------------

    def _fit(self, U: Any, V: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Find the shared part, remove it from the moments of u, and learn from what is left."""
        rows = weighted(self._read(U, V, y), sample_weight)
        orders = orders_of(self.method, self.order) if self.linear_map is None else []
        check_shape(rows.n_rows, [width for _, width in rows.shapes], orders)
        if self.keep_moments or self._names_columns:
            return self._fit_stages(rows)
        spans = self._spans_of(*(span_of(rows, part) for part in (0, 1)))
        if spans is None:
            return self._fit_stages(rows)
        few = rows
        for part, span in enumerate(spans):
            few = span.reduce(few, part) if len(span.dependent_columns) else few
        return _fit_in_spans(self, lambda: self._fit_stages(few), *spans)

    def _fit_sums_in_span(self, sums: FramedSums, rows: Blocks | None) -> None:
        width, end = self.n_features_in_, self.n_features_in_ + self.n_features_v_
        spans = None if self._names_columns else self._spans_of(
            sums.select(np.arange(width)).span, sums.select(np.arange(width, end)).span
        )  # fmt: skip
        if spans is None:
            return self._fit_selected(sums, rows)
        kept = np.concatenate([spans[0].join(spans[1]).kept, np.arange(end, len(sums.center))])
        _fit_in_spans(self, lambda: self._fit_selected(sums.select(kept), rows), *spans)

    @property
    def _names_columns(self) -> bool:
        """True where a parameter names columns by their numbers, so that all of them count."""
        return any(getattr(self, name) is not None for name in self._by_number)

    def _spans_of(self, of_u: ColumnSpan | None, of_v: ColumnSpan | None) -> tuple[ColumnSpan, ColumnSpan] | None:
        """Return both spans if one leaves columns out, and warn of these columns; None otherwise."""
        if of_u is None and of_v is None:
            return None
        for span, table, names in ((of_u, "U", self._column_names), (of_v, "V", self._v_names)):
            if span is not None:
                span.tell(names, table)
        return of_u or ColumnSpan.all_columns(self.n_features_in_), of_v or ColumnSpan.all_columns(self.n_features_v_)

    def _widen_views(self, of_u: ColumnSpan, of_v: ColumnSpan) -> None:
        """Give arrays of the columns that were kept entries for all columns of both views."""
        self.linear_map_ = of_v.directions(of_u.coefficients(self.linear_map_), axis=0)
        self.inverse_map_ = of_u.directions(of_v.coefficients(self.inverse_map_), axis=0)
        self._own_given_views = of_u.directions(self._span.coefficients(self._own_given_views), axis=0)
        self.mean_, self._mean_v = of_u.points(self.mean_), of_v.points(self._mean_v)
        for name in self._factors:
            setattr(self, name, of_u.coefficients(getattr(self, name)))
        if "_scale" in vars(self):  # errors are of columns; no other is said to be better than the worst of them
            scale: np.ndarray = vars(self)["_scale"]
            self.__dict__["_scale"] = np.maximum(of_u.coefficients(scale), of.MIN_MAGNITUDE)
            evidence = self.evidence_
            for name, worst in (("component_errors", np.max), ("found_again", np.min), ("shares", np.min)):
                values = getattr(evidence, name)
                if values is not None:
                    wide = np.full(len(of_u.offset), worst(values))
                    wide[of_u.kept] = values
                    setattr(evidence, name, wide)

    def _assign_folds(self, rows: Blocks) -> Folds:
        return assign_folds(rows, FOLD_SEED)

    def _moments(self, rows: Blocks, folds: Folds) -> Joint:
        """Two passes: columns, and joint moments of four groups of rows; and which cumulants tell most of the linear map."""
        self._known_map(rows.shapes[1][1])
        return self._of_joint(JointMoments.of_blocks(rows, folds, n_jobs=self.n_jobs, progress=self.verbose))

    def _recover(self, moments: Joint, subset: Subset, full_fit: Any) -> Own:
        """The linear map, and the moments of s1 (section 3.1)."""
        return Own(moments.views, extract(moments.views, subset.groups, moments.choice))

    def _refine(self, recovered: Own, moments: Joint, subset: Subset, full_fit: Any) -> Any:
        """What they say."""
        return self._learn(recovered)

    def _cost(self) -> Literal["free"]:
        return "free"

    def _distance(self, first: Any, second: Any, moments: Joint) -> np.ndarray:
        return self._apart(first, second)

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        own: Own = fitted.recovered
        self.linear_map_, self.inverse_map_, self.mean_ = own.linear_map, own.inverse_map, own.mean_u
        self._mean_v, self._own_given_views = own.mean_v, own.given_views
        self.n_passes_ = own.moments.n_passes

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """Errors of parts; what these cannot see is how far the answer is pulled towards no correction."""
        own: Own = fitted.recovered
        learned, joint = fitted.model, fitted.moments
        parts = self._errors(fitted)
        lines = self._lines(learned, own, parts, joint.signal, joint.choice)
        return _with_vetoes(lines) + self._more_checks(learned, own), parts

    def _repeat_shares(self, fitted: Fitted) -> np.ndarray | None:
        """Not measured where nothing tells the shared part: what repeats then is U itself, and no contrast."""
        signal: Signal | None = fitted.moments.signal
        if signal is not None and signal.deviations <= _FROM_NOISE:
            return None
        if self._component_numbers(fitted.model) is None:
            return super()._repeat_shares(fitted)
        halves = [self._component_numbers(fitted.model_of(half)) for half in fitted.compared]
        return mean_cosine(self._component_numbers(fitted.model), halves)

    def _component_numbers(self, learned: Any) -> Any:
        """Numbers that halves are compared by, an array for each component; None where shares of rows are compared."""
        return None

    def _errors(self, fitted: Fitted) -> PartErrors:
        """Of parts of the rows, and the pull."""
        return fitted.errors(self.n_splits).widen(self._pull(fitted.model, fitted.recovered), self._max_distance)

    def _pull(self, learned: Any, own: Own) -> np.ndarray:
        """Distance to what is learned if the linear map misses what it may, or if it is another one in the other order.

        Relative to the larger one of the two answers.
        """
        bias = np.zeros(len(self._apart(learned, learned)))
        for alternative in (own.alternative(), own.of_other_order()):
            if alternative is not own:
                other = self._learn(alternative)
                bias = np.maximum(bias, np.minimum(self._apart(learned, other), self._apart(other, learned)))
        return bias

    def _lines(self, learned: Any, own: Own, parts: PartErrors, signal: Signal | None, choice: Choice) -> list[Check]:
        moments = own.moments
        singular = np.linalg.svd(own.found.map.forward, compute_uv=False)[: choice.n_shared]
        return [
            *error_checks(
                parts, self._accuracy(learned), self._symbol, self._unit, self._nouns[0], n_rows=own.found.sums.n
            ),
            *([] if signal is None else _shared_misfit(signal).checks(0.0, "shared directions")),
            *_left_checks(moments, own, choice),
            *_tail_checks(moments),
            *self._target_checks(own),
            *([] if signal is None else _signal_checks(moments, signal, choice)),
            Check(
                "conditioning of A", "sigma_1 / sigma_r", float(singular[0] / max(singular[-1], np.finfo(float).tiny)), None,
                "Largest over smallest singular value of A, columns in unit variance: errors grow with its square.",
                "Lemma B.3",
            ),
        ]  # fmt: skip

    def _target_checks(self, own: Own) -> list[Check]:
        """Whether y says nothing of v, which it does not where it depends on s1 alone."""
        if not self._target:
            return []
        misfit = of_target(own)
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
        """Weights of both views in the best guess at rows of s1, shape (d_u, d_u + d_v): cov(s1, (u, v)) over cov(u, v)."""
        return self._own_given_views

    @property
    def column_names_v(self) -> list[str] | None:
        """Names of the columns of V, where they have some."""
        found = self.__dict__.get("_v_names")
        return self.reading_.get("columns_v") if found is None else found

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        return [{"U": half.pop("X"), **half} for half in halves_of_rows(random_state, X=X, **fit_parameters)]

    # --- use ----------------------------------------------------------------------------------------------------

    def _own_rows(self, U: Any, V: Any) -> np.ndarray:
        """Rows of s1: with V the best linear estimate from both views; without, U is taken to be s1 itself."""
        if V is None and not isinstance(U, Blocks):
            table = view_table(U, "U")
            if table.shape[1] != self.n_features_in_:
                raise LatentiaError(
                    f"U has {table.shape[1]} features and the model was fitted on {self.n_features_in_}."
                )
            return table
        blocks = two_views(self, U, V, reset=False)
        center = np.concatenate([self.mean_, self._mean_v])
        return self.mean_ + np.vstack([(np.hstack(block[:2]) - center) @ self._own_given_views.T for block in blocks])

    def _check_fitted(self) -> None:
        if self._own_given_views.shape[1] != self.n_features_in_ + self.n_features_v_:
            raise LatentiaError("_own_given_views has not the columns of both views")


def _fit_in_spans(model: C, fit: Callable[[], object], of_u: ColumnSpan, of_v: ColumnSpan) -> C:
    """Let a function fit the columns that say something of their own, and give all columns their entries."""
    names = model._column_names, model._v_names
    model.n_features_in_, model.n_features_v_ = len(of_u.kept), len(of_v.kept)
    model._column_names, model._v_names = (
        own if own is None else [own[i] for i in span.kept] for own, span in zip(names, (of_u, of_v), strict=True)
    )
    model._spans = of_u, of_v
    fit()
    del model._spans
    model.n_features_in_, model.n_features_v_ = len(of_u.offset), len(of_v.offset)
    (model._column_names, model._v_names), model._span = names, of_u.join(of_v)
    model._widen_views(of_u, of_v)
    model.evidence_.bind(model)
    return model


class ViewsTransformer(TransformerMixin):
    """Base of the contrasts that transform rows of both views."""

    def fit_transform(self, U: Any, V: Any = None, *, sample_weight: Any = None) -> Any:
        """Fit, and return what ``transform(U, V)`` makes of the same rows: with V, coordinates of what U has alone.

        Parameters
        ----------
        U, V, sample_weight : as in ``fit``

        Returns
        -------
        ndarray of shape (n_rows, K)
        """
        return self.fit(U, V, sample_weight=sample_weight).transform(U, V)  # type: ignore[attr-defined]


def _with_vetoes(lines: list[Check]) -> list[Check]:
    """One sign that parts are dependent or the map is not linear may be chance; with another one it is none."""
    signs = [check for check in lines if check.name in _OF_MODEL and check.holds is False]
    return [replace(check, role="veto") if len(signs) > 1 and check in signs else check for check in lines]


def _shared_misfit(signal: Signal) -> Misfit:
    """What no A explains."""
    return replace(Misfit.from_norms(signal.left, signal.left_noise, max(signal.whole, 0.0)), noise_limit=_MOST_BESIDE)


def _signal_checks(moments: JointMoments, signal: Signal, choice: Choice) -> list[Check]:
    """Whether the cumulants tell a linear map that is not known."""
    kappa = f"kappa_{signal.order}"
    return [
        Check(
            "shared cumulant above noise", f"|{kappa}| / sd", signal.deviations,
            above(_SURELY if signal.deviations > _FROM_NOISE else _FROM_NOISE, "noise"),
            f"The cross-cumulants of order {signal.order} of both views, in standard deviations of their noise. The shared "
            "part is identified by these alone; a Gaussian one has none.",
            "Lemma 3.1", "caution" if signal.deviations > _FROM_NOISE else "veto",
            "Little or nothing identifies the shared part: it looks Gaussian, or the rows are too few. Use V as covariates. "
            "If the linear map is known, give it (linear_map, --linear-map).",
        ),
        Check(
            "held-out cumulants explained", "share", float(np.clip(held_out_share(moments, choice), -1, 1)),
            above(0.0, "none"),
            "How much of the cumulants of V, of other rows than A was learned from, A explains from those of U; one where "
            "the model holds.",
            "not in the paper", "veto",
            "The linear map says nothing of other rows: do not use it.",
        ),
        Check(
            "weakest shared direction", "signal / noise", float(signal.strengths[-1]), at_least(_TOLD),
            f"Of {choice.n_shared} shared directions the one whose cumulants are least above their noise: what it adds to U "
            "may remain.",
            "Lemma 3.1", "caution",
            "Some shared directions are within the noise: give the number of those that there are (n_shared, "
            "--shared), fewer columns, or more rows.",
        ),
        Check(
            "linear map", choice.inverse, float(choice.order), None,
            "Order of the cumulants that it comes from. gtls: total least squares, where the signal is clearly above the "
            "noise; bls: least squares for the inverse, which falls back to regression on V where it is not.",
            "section 3.1",
        ),
    ]  # fmt: skip


def _left_checks(moments: JointMoments, own: Own, choice: Choice) -> list[Check]:
    """What the model leaves of moments that told nothing of the linear map, where this one is not biased."""
    left, found = left_by_map(moments, choice), own.found
    if found.symmetry is None:
        return []
    remedy = "Parts are not independent, or V sees s2 in another way than linearly: use V as covariates, or leave columns out."
    if choice.known is not None:
        scale, apart = scale_of_known_map(moments, choice)
        left = None if left is None else max(left, apart)
        remedy = (
            "V does not see the shared part as the given map says: leave linear_map (--linear-map) out, to learn it"
            + (f", or give {scale:.2f} times it." if apart > _MOST_LEFT else ".")
        )
    return [
        Check(
            "both orders explained", "|M_v - M_u A^T|^2 / sd", left, at_most(_MOST_LEFT, "noise"),
            "What A leaves of the cross-cumulants of third or of fourth order, in standard deviations of its noise; of a known "
            "A also how far a multiple of it is the better one.",
            "Lemma 3.1", "caution", remedy,
        ),
        Check(
            "symmetry of cov(s2)", "|K|^2 / |N|^2", found.symmetry.ratio, at_most(found.symmetry.noise_limit, "1 for noise"),
            "cov(u, B v) is cov(s2), and symmetric, where the parts are independent; what is not symmetric, against noise.",
            "the model", "note", remedy,
        ),
        Check(
            "variances of the parts", "|E - [0, 1]|^2 / |N|^2", found.outside, at_most(1.0, "its noise"),
            "How far variances of s1 are below zero or above what V leaves of U, against noise.",
            "the model", "note", remedy,
        ),
    ]  # fmt: skip


def _tail_checks(moments: JointMoments) -> list[Check]:
    """Whether a few rows rule the moments; of views whose fourth moments are kept."""
    if not moments.keeps_fourth:
        return []
    kurtosis = moments.kurtosis()
    worst = int(np.argmax(kurtosis))
    name = f"column {worst} of U" if worst < moments.widths[0] else f"column {worst - moments.widths[0]} of V"
    return [
        Check(
            "tails of the columns", "max of kappa_4 / sigma^4", float(kurtosis[worst]), at_most(_HEAVY),
            f"Largest kurtosis, of {name}: 0 for normal columns, 6 for exponential ones. Above the limit a few rows rule the "
            "moments.",
            "not in the paper", "caution",
            f"A few rows are far out, in {name}: look at them, and clip or transform such columns.",
        )
    ]  # fmt: skip


def misfit_of_parts(left: np.ndarray, parts: Sequence[np.ndarray], extra: float = 0.0) -> Misfit:
    """Of numbers that are zero but for noise, by the same numbers of all rows but a group each, and ``extra`` noise."""
    apart = np.array(parts) - np.mean(parts, axis=0)
    noise = (1 - 1 / len(parts)) * float((apart**2).sum()) + extra
    misfit = Misfit.from_norms(float((left**2).sum()), noise, 1.0, left.size)
    return replace(misfit, noise_limit=BY_CHANCE * misfit.noise_limit)


def of_target(own: Own) -> Misfit:
    """cov(v, y) in the metric of v, against its scatter over the groups of rows."""
    m = own.moments
    weight = np.linalg.inv(own.found.sums.covariance[m.v, m.v])
    parts = np.array([m.of((g,)).covariance[m.v, m.y][:, 0] for g in m.folds.all])
    mean, n = parts.mean(axis=0), len(parts)
    noise = float(np.einsum("gi,ij,gj->", parts - mean, weight, parts - mean)) / (n * (n - 1))
    misfit = Misfit.from_norms(float(mean @ weight @ mean), noise, 1.0, m.widths[1])
    return replace(misfit, noise_limit=BY_CHANCE * misfit.noise_limit)


@dataclass(frozen=True)
class Own:
    """Moments of s1 in the units of the data."""

    moments: JointMoments
    found: Extracted

    def alternative(self) -> Own:
        """If what the linear map may miss of the shared part is removed as well; A as cov(v, u) = A cov(s2) has it then."""
        found, m = self.found, self.moments
        if found.alternative is found.covariance:
            return self
        s = found.sums.covariance
        shared = s[m.u, m.u] - found.alternative
        forward = np.linalg.lstsq(shared, s[m.u, m.v], rcond=None)[0].T
        shares = found.shares and replace(found.shares, mean=found.shares.mean + found.shares.apart)
        changed = replace(found, covariance=found.alternative, map=replace(found.map, forward=forward), shares=shares)
        return replace(self, found=changed)

    def of_other_order(self) -> Own:
        """By the cumulants that A is not learned from, where no A explains those of both orders.

        Of a known A by a multiple of it, or by an A that is learned.
        """
        found, m = self.found, self.moments
        choice = found.map.choice
        left, (scale, apart) = left_by_map(m, choice), scale_of_known_map(m, choice)
        if apart > _MOST_LEFT and choice.known is not None:
            other = replace(choice, known=scale * choice.known)
        elif left is None or left <= _MOST_LEFT:
            return self
        elif choice.known is not None:
            other = choose(m, "gtls", "auto", None)[0]
        else:
            other = replace(choice, order=4 if choice.order == 3 else 3)
        return replace(self, found=extract(m, found.groups, other))

    def without(self) -> list[Own]:
        """The same of all rows but those of each group."""
        m, found = self.moments, self.found
        some = [tuple(g for g in found.groups if g != left) for left in found.groups]
        return [Own(m, extract(m, groups, found.map.choice)) for groups in some]

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations of the columns of u, shape (d_u,)."""
        return self.moments.scale[self.moments.u]

    @property
    def covariance(self) -> np.ndarray:
        """Of s1, shape (d_u, d_u)."""
        return self.found.covariance * np.outer(self.scale, self.scale)

    @property
    def target(self) -> np.ndarray:
        """Covariance of s1 with y, shape (d_u,)."""
        assert self.found.target is not None
        return self.found.target * self.scale * self.moments.scale[self.moments.y]

    @property
    def mean_u(self) -> np.ndarray:
        m = self.moments
        return np.asarray(m.center[m.u] + self.found.sums.mean[m.u] * m.scale[m.u])

    @property
    def mean_v(self) -> np.ndarray:
        m = self.moments
        return np.asarray(m.center[m.v] + self.found.sums.mean[m.v] * m.scale[m.v])

    @property
    def mean_y(self) -> float:
        m = self.moments
        return float((m.center[m.y] + self.found.sums.mean[m.y] * m.scale[m.y])[0])

    @property
    def linear_map(self) -> np.ndarray:
        """A, shape (d_v, d_u)."""
        return np.asarray(self.found.map.forward * self.moments.scale[self.moments.v][:, None] / self.scale)

    @property
    def inverse_map(self) -> np.ndarray:
        """B, shape (d_u, d_v)."""
        return np.asarray(self.found.map.inverse * self.scale[:, None] / self.moments.scale[self.moments.v])

    @property
    def given_views(self) -> np.ndarray:
        """Weights of the best linear estimate of s1 from u and v, shape (d_u, d_u + d_v)."""
        m, d = self.moments, self.moments.n_views
        joint = self.found.sums.covariance[:d, :d]
        crossed = np.zeros((m.widths[0], d))
        crossed[:, m.u] = self.found.covariance
        weights = np.linalg.solve(joint, crossed.T).T
        return np.asarray(weights * self.scale[:, None] / m.scale[:d])

    def cumulant(self, order: int) -> np.ndarray:
        """Third or fourth cumulant of s1, in units of the columns' standard deviations."""
        return self.part_of(self.moments.tensor(self.found.groups, order))

    def part_of(self, joint: np.ndarray) -> np.ndarray:
        """What of a joint cumulant of (u, v) is that of s1."""
        one = self.found.map
        if one.choice.forward == "eq2":
            return parts_of_cumulant(joint, one.forward, one.inverse, 1, False)
        return own_cumulant(joint, one.inverse, self.found.regression)

    def of_groups(self, basis: np.ndarray, order: int) -> np.ndarray | None:
        """Cumulants of basis^T s1, for a basis (d_u, q), from each group of rows: (4, q, ...). None if they are not kept."""
        m, q = self.moments, basis.shape[1]
        if order > 3 and not m.keeps_fourth:
            return None
        scaled, eye = basis * self.scale[:, None], np.eye(q)
        columns = np.zeros((m.n_views, 3 * q))
        columns[m.u, :q] = scaled
        columns[m.v, q:] = np.hstack([self.found.map.inverse.T @ scaled, self.found.regression.T @ scaled])
        inverse, regression = np.hstack([eye, 0 * eye]), np.hstack([0 * eye, eye])
        return np.array([own_cumulant(m.tensor((g,), order, columns), inverse, regression) for g in m.folds.all])
