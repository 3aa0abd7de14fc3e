"""Fit any family in four stages, which take subsets of the rows by the same code as all rows.

=============  ==============================================  ==========================================================
stage          takes                                           returns
=============  ==============================================  ==========================================================
``_moments``   the rows and their folds                        sums over the rows, kept by fold
``_recover``   moments, a subset of the folds, choices         the estimate of the theorem
``_refine``    that, moments, the rows of the subset, choices  the answer: a record of parameters, and how it came about
``_checks``    the answers of all rows and of subsets          checks of what the theorem assumes, and expected errors
=============  ==============================================  ==========================================================

`Fitted.run` takes all rows through `_recover` and `_refine`; subsets follow on request. The answer of all rows becomes the
fitted attributes (`Staged._set_fitted_attributes`). Its distances to the answers of subsets are the expected errors: see
`latentia.evidence.parts`. Fits of subsets take over only the record of *choices* of the full fit (`Staged._shared_choices`).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar

import numpy as np

from .. import _fields as of
from ..evidence import (
    Check,
    ComponentView,
    Evidence,
    PartErrors,
    RealAndSimulated,
    discount_repeats,
    mean_repeat_shares,
    neighbour_checks,
    simulation_checks,
)
from ..exceptions import LatentiaError
from ..likelihood import Refinement
from ..moments import ColumnSpan, HiddenMoments, span_of
from ..passes import Blocks, Folds, assign_folds, sample_rows
from .base import Estimator

Groups: TypeAlias = tuple[int, ...]
Moments = TypeVar("Moments")
Parameters = TypeVar("Parameters")
"""Results of ``_moments`` and ``_refine``."""

_MAX_COMPARED_ROWS = 1000  # rows on which component views are compared
_MIN_GAIN = 10.0  # nats by which an optimum must be more likely than another one on the same rows


@dataclass(frozen=True)
class Subset:
    """Rows of some folds.

    Attributes
    ----------
    groups : tuple of int
    folds : Folds
    source : Blocks
        All rows, or another object with ``group``.
    """

    groups: tuple[int, ...]
    folds: Folds
    source: Any

    @cached_property
    def rows(self) -> Blocks:
        """Rows of these folds."""
        rows = self.source.group(self.groups, self.folds)
        if getattr(rows, "n_rows", 1) == 0:
            raise LatentiaError("A subset of the data has no rows: the data has too few different rows.")
        return rows

    @property
    def is_whole(self) -> bool:
        """True for the subset of all folds."""
        return self.groups == self.folds.all


class Fitted(Generic[Moments, Parameters]):
    """Stages of a fit on all rows and on subsets; a subset is fitted once, at its first use.

    Attributes
    ----------
    method : Staged
    rows
        Data of the fit.
    folds : Folds
    moments
        Result of ``_moments``.
    recovered, model
        Results of ``_recover`` and ``_refine`` for all rows.
    groups : tuple of int
        Folds that ``model`` was fitted to.
    compared : list of tuple of int
        Halves whose answers `errors` has compared with ``model``.
    rival : str
        A sentence on a second method that the errors were compared with, where this fit made one.
    """

    model: Parameters
    recovered: Any

    def __init__(self, method: Staged[Moments, Parameters], rows: Any, folds: Folds, moments: Moments) -> None:
        self.method, self.rows, self.folds, self.moments = method, rows, folds, moments
        self._recoveries: dict[Groups, Any] = {}
        self._models: dict[Groups, Parameters] = {}
        self._refined_again: dict[Groups, Parameters | None] = {}
        self.groups, self.compared, self.rival = folds.all, list[Groups](), ""

    @classmethod
    def run(cls, method: Staged[Moments, Parameters], rows: Any, folds: Folds, moments: Moments) -> Self:
        """Run the stages on all rows."""
        fitted = cls(method, rows, folds, moments)
        fitted.model, fitted.recovered = fitted.model_of(folds.all), fitted.recovery_of(folds.all)
        return fitted

    def recovery_of(self, groups: Groups) -> Any:
        """Return the result of ``_recover`` for some folds."""
        if groups not in self._recoveries:
            subset = Subset(groups, self.folds, self.rows)
            self._recoveries[groups] = self.method._recover(self.moments, subset, self._choices_for(groups))
        return self._recoveries[groups]

    def model_of(self, groups: Groups) -> Parameters:
        """Return the result of ``_refine`` for some folds."""
        if groups not in self._models:
            recovered, subset = self.recovery_of(groups), Subset(groups, self.folds, self.rows)
            self._models[groups] = self.method._refine(recovered, self.moments, subset, self._choices_for(groups))
        return self._models[groups]

    def _choices_for(self, groups: Groups) -> Any:
        """Return the choices of the full fit that a fit of these folds takes over; None for all rows."""
        full = self.folds.all
        return None if groups == full else self.method._shared_choices(self._recoveries[full], self._models[full])

    def cached_model(self, groups: Groups) -> Parameters | None:
        """Return the answer of some folds, or None if it was not computed yet."""
        return self._models.get(groups)

    def refine_full_fit(self, groups: Groups) -> Parameters | None:
        """Refine the answer of all rows on some folds; return None if the family does not, or nothing can be gained."""
        if groups not in self._refined_again:
            subset, method = Subset(groups, self.folds, self.rows), self.method
            is_best = method._is_best(self.model_of(groups), self.model, self.moments, subset, _MIN_GAIN)
            self._refined_again[groups] = None if is_best else method._restart(self.model, self.moments, subset)
        return self._refined_again[groups]

    def errors(self, n_splits: int) -> PartErrors:
        """Estimate the error of each component from subsets of the rows.

        The distance between the answers of all rows and of a half has the size of the error. So has root 3 times the distance
        to the answer of three quarters, whose variance beyond that of all rows is a third of it. If noise is so large that
        answers jump, both overstate the error: halves fail before the full fit does, and jumps must not be scaled. The result
        is the smaller one.

        Parameters
        ----------
        n_splits : int
            Number of splits into halves, at most 3; 0 gives no errors. ``_cost`` decides how many are made, and whether three
            quarters are fitted as well.
        """
        if not n_splits:
            return PartErrors.missing()
        halves = [half for split in self._splits(n_splits) for half in split]
        distances, reason = self._distances(halves)
        self.compared = [half for half in halves if half in self._models]
        estimates, n_parts, n_failed = [distances] if distances else [], len(halves), len(halves) - len(distances)
        if len(self.folds.all) == 4 and (self.method._cost() == "free" or not distances):
            quarters = [tuple(i for i in self.folds.all if i != g) for g in self.folds.all]
            distances, last_reason = self._distances(quarters)
            estimates += [[np.sqrt(3) * part_errors for part_errors in distances]] if distances else []
            n_parts, n_failed = n_parts + len(quarters), n_failed + len(quarters) - len(distances)
            reason = last_reason or reason
        if not estimates:
            return PartErrors(None, n_parts, n_failed, f"No part of the data supports the components. {reason}")
        errors = min(
            (np.mean(part_errors, axis=0) for part_errors in estimates),
            key=lambda part_errors: float(part_errors.mean()),
        )
        parts = PartErrors(np.minimum(errors, self.method._max_distance), n_parts, n_failed, reason)
        for moments in self.method._alternative_moments:
            alternative = Fitted(self.method, self.rows, self.folds, moments).model_of(self.folds.all)
            bias = self.method._distance(self.model, alternative, self.moments)
            parts = parts.widen(bias, self.method._max_distance)
        return parts

    def halves(self, n_splits: int) -> list[tuple[Parameters, Parameters]]:
        """Return pairs of answers for the halves of each split, where both halves can be fitted."""
        answers = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for first, second in self._splits(n_splits):
                with contextlib.suppress(LatentiaError):
                    answers.append((self._part(first), self._part(second)))
        return answers

    def first_half_and_other_rows(self) -> tuple[Parameters, Blocks]:
        """Return the answer of the first half that was compared, and all other rows; without halves the answer of all rows."""
        if not self.compared:
            return self.model, Subset(self.folds.all, self.folds, self.rows).rows
        half = self.compared[0]
        others = tuple(group for group in self.folds.all if group not in half)
        return self._models[half], Subset(others, self.folds, self.rows).rows

    def repeat_shares(self) -> np.ndarray | None:
        """Measure how much of each component repeats on halves, shape (K,); return None without halves."""
        if self.component_view is None:
            return None
        halves = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for groups in self.compared:
                with contextlib.suppress(LatentiaError):
                    half = self._fit_attributes_of(groups)._component_view(self)
                    halves += [] if half is None else [half]
        return mean_repeat_shares(self.component_view, halves)

    @cached_property
    def component_view(self) -> ComponentView | None:
        """View of the components of all rows, if halves were fitted to compare it with."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.method._component_view(self) if self.compared and self.rows is not None else None

    @cached_property
    def comparison_rows(self) -> Blocks:
        """Sample of the rows on which the answers of subsets are compared."""
        return Blocks.from_array(*sample_rows(self.rows, _MAX_COMPARED_ROWS))

    def _fit_attributes_of(self, groups: Groups) -> Staged[Moments, Parameters]:
        """Return a copy of the estimator with the fitted attributes of some folds."""
        method, fitted = copy(self.method), copy(self)
        fitted.groups, fitted.model, fitted.recovered = groups, self.model_of(groups), self.recovery_of(groups)
        method._set_fitted_attributes(fitted)
        return method

    def _splits(self, n_splits: int) -> Sequence[tuple[Groups, Groups]]:
        return self.folds.splits[: min(n_splits, 1) if self.method._cost() == "passes" else n_splits]

    def _distances(self, parts: Sequence[Groups]) -> tuple[list[Any], str]:
        """Return distances to the answers of subsets, and the reason why the last of the others has none."""
        distances, reason = [], ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for groups in parts:
                try:
                    distances.append(self.method._distance(self.model, self._part(groups), self.moments))
                except LatentiaError as error:
                    reason = str(error)
        return distances, reason

    def _part(self, groups: Groups) -> Parameters:
        """Return the answer of some folds, or that of all rows refined on them where it is clearly more likely.

        EM started from half the data finds worse optima, which would overstate the error. Where both are about as likely, the
        data cannot distinguish them, and their distance is part of the error.
        """
        answer: Any = self.model_of(groups)
        refined: Any = self.refine_full_fit(groups)
        if refined is None:
            return answer
        gain = refined.refinement.log_likelihood[-1] - answer.refinement.log_likelihood[-1]
        return refined if gain > _MIN_GAIN else answer


def fit_alone(
    method: Staged[Moments, Parameters], rows: Any, settings: Mapping[str, Any]
) -> Fitted[Moments, Parameters]:
    """Run the stages on other rows, with other settings and without evidence."""
    method_alone = copy(method)
    method_alone.__dict__ |= {"n_splits": 0, "keep_moments": False, "verbose": False, **settings}
    folds = method_alone._assign_folds(rows)
    return Fitted.run(method_alone, rows, folds, method_alone._moments(rows, folds))


class Staged(Estimator, Generic[Moments, Parameters]):
    """Base class of the estimators that are fitted in four stages."""

    refine: Any
    _span: Annotated[ColumnSpan, of.optional(of.Field())]
    _draws_rows: ClassVar[bool] = True
    """True if ``sample`` draws rows with all of their noise."""
    _alternative_moments: Sequence[Any] = ()
    """Moments under which all folds err alike, for the expected errors; set during a fit alone."""

    @property
    def _max_distance(self) -> float:
        """Largest possible distance of two components."""
        return np.inf

    def _assign_folds(self, rows: Any) -> Folds:
        """Assign the rows to folds."""
        return assign_folds(rows, self._seed)

    def _moments(self, rows: Any, folds: Folds) -> Moments:
        raise NotImplementedError

    def _shared_choices(self, recovered: Any, model: Parameters) -> Any:
        """Return the record that fits of subsets take over from the full fit: sizes, plans, starts; None by default."""
        return None

    def _recover(self, moments: Moments, subset: Subset, choices: Any) -> Any:
        """Recover the parameters; ``choices`` are those of the full fit; None for all rows, or without any."""
        raise NotImplementedError

    def _refine(self, recovered: Any, moments: Moments, subset: Subset, choices: Any) -> Parameters:
        return recovered  # type: ignore[no-any-return]

    def _restart(self, model: Parameters, moments: Moments, subset: Subset) -> Parameters | None:
        """Refine the answer of all rows on a subset; return None where nothing is to be gained."""
        return None

    def _is_best(
        self, answer: Parameters, model: Parameters, moments: Moments, subset: Subset, min_gain: float
    ) -> bool:
        """Return True if a few steps show that ``_restart`` cannot be more likely by so many nats than ``answer``."""
        return False

    def _distance(self, first: Parameters, second: Parameters, moments: Moments) -> np.ndarray:
        """Return the distance of each component to its nearest one in a second answer, shape (K,)."""
        raise NotImplementedError

    def _fit_hidden_moments(self, hidden: HiddenMoments, order: int, read: Callable[[HiddenMoments], Moments]) -> Self:
        """Fit the moments of a hidden part of rows: there is no refinement, and what is doubtful about them stays so."""
        if not isinstance(hidden, HiddenMoments):
            raise LatentiaError(
                f"fit_moments: expected the result of latentia.contrastive.contrast_moments, found {type(hidden).__name__}."
            )
        hidden.check_order(order)
        self.n_features_in_, self._column_names = len(hidden.mean), hidden.column_names
        refine, self.refine = self.refine, 0
        self._alternative_moments = [read(alternative) for alternative in hidden.alternatives]
        try:
            self._fit_stages(None, read(hidden), hidden.folds)
        finally:
            self.refine = refine
            del self._alternative_moments
        of_moments = [check for check in hidden.evidence.checks if check.role in ("caution", "veto")]
        self.evidence_.checks += [check for check in of_moments if check.holds is False]
        return self

    def _cost(self) -> Literal["free", "algebra", "passes"]:
        """Return what a fit of a subset costs, which decides how many are made.

        "free": all halves and three quarters. "algebra": halves; three quarters only where no half can be
        fitted. "passes": one split, whatever ``n_splits`` says.
        """
        return "passes" if self.refine else "free"

    def _set_fitted_attributes(self, fitted: Fitted[Moments, Parameters]) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def _set_refinement_attributes(self, refinement: Refinement) -> None:
        """Set the attributes on the steps of the refinement."""
        steps = refinement.log_likelihood
        self.__dict__ |= {"refinement_": steps, "n_iter_": len(steps), "converged_": bool(refinement.converged)}

    def _checks(self, fitted: Fitted[Moments, Parameters]) -> tuple[list[Check], PartErrors] | Evidence:
        """Return checks and expected errors, or the evidence made of them."""
        raise NotImplementedError

    def _component_view(self, fitted: Fitted[Moments, Parameters]) -> ComponentView | None:
        """Return the view of the components on ``fitted.comparison_rows``; None for an estimator of a single number."""
        if not hasattr(self, "predict_proba") or not isinstance(fitted.rows, Blocks):
            return None
        return ComponentView(np.asarray(self.predict_proba(fitted.comparison_rows)).T)

    def _real_and_simulated(
        self, fitted: Fitted[Moments, Parameters], rng: np.random.Generator
    ) -> RealAndSimulated | None:
        """Return some rows, and as many simulated ones of the same design; None if the family cannot simulate rows.

        The default uses ``sample``, for estimators of complete tables.
        """
        sample = getattr(self, "sample", None)
        if sample is None or not self._draws_rows or not isinstance(fitted.rows, Blocks):
            return None
        rows = sample_rows(fitted.rows)[0]
        if not isinstance(rows, np.ndarray) or rows.ndim != 2 or np.isnan(rows).any():
            return None
        simulated = sample(len(rows), random_state=rng)
        simulated = np.asarray(simulated[0] if isinstance(simulated, tuple) else simulated, dtype=np.float64)
        return RealAndSimulated(rows, simulated, self.column_names or ()) if simulated.shape == rows.shape else None

    def _component_shares(self, fitted: Fitted[Moments, Parameters]) -> np.ndarray | None:
        """Return the share of the data of each component, shape (K,), if no fitted attribute holds it."""
        return None

    def _repeat_shares(self, fitted: Fitted[Moments, Parameters]) -> np.ndarray | None:
        """Return how much of each component repeats on other rows, shape (K,)."""
        return fitted.repeat_shares()

    def _may_be_nothing(self, fitted: Fitted[Moments, Parameters], checks: Sequence[Check]) -> bool | np.ndarray:
        """Return True, or a mask of components, where rows without components could give the same answer on halves."""
        return any(check.role == "veto" and check.holds is False for check in checks)

    def _fit_in_span(self, rows: Any, *further_tables: Any) -> Self:
        """Fit on the informative columns; `_expand_columns` then adds the entries of all other columns."""
        span = self._span_of(rows, further_tables)
        if span is None:
            return self._fit_rows(rows, *further_tables)
        return self._fit_columns(
            span, lambda: self._fit_rows(*(span.reduce(table) for table in (rows, *further_tables)))
        )

    def _span_of(self, rows: Any, further_tables: Sequence[Any]) -> ColumnSpan | None:
        """Return the informative columns, or None if all are."""
        return span_of(rows, further_tables=further_tables)

    def _fit_columns(self, span: ColumnSpan, fit: Callable[[], object]) -> Self:
        """Call a function that fits the informative columns, and add the entries of all other columns."""
        width, names = self.n_features_in_, self._column_names
        span.tell(names)
        self.n_features_in_ = len(span.kept)
        self._column_names = None if names is None else [names[i] for i in span.kept]
        fit()
        self.n_features_in_, self._column_names, self._span = width, names, span
        self._expand_columns(span)
        self.evidence_.bind(self)
        return self

    def _fit_rows(self, rows: Any, *further_tables: Any) -> Self:
        """Fit on rows as they are."""
        return self._fit_stages(rows)

    def _expand_columns(self, span: ColumnSpan) -> None:
        """Add entries of all other columns to the fitted arrays."""
        raise NotImplementedError

    def _simulation_checks(self, fitted: Fitted[Moments, Parameters]) -> list[Check]:
        """Compare rows simulated by the model with real ones."""
        if fitted.rows is None or not getattr(self, "n_splits", 0):
            return []
        tables = self._real_and_simulated(fitted, np.random.default_rng([self._seed, 107]))
        return [] if tables is None else simulation_checks(tables, self._seed, self._nouns[2].removesuffix("s"))

    def _fit_stages(self, rows: Any, exact: Moments | None = None, folds: Folds | None = None) -> Self:
        """Run the stages in order; ``exact`` moments replace those of the rows, which may then be None."""
        folds = self._assign_folds(rows) if folds is None else folds
        fitted = Fitted.run(self, rows, folds, self._moments(rows, folds) if exact is None else exact)
        self._set_fitted_attributes(fitted)
        self._n_rows = int(getattr(rows, "n_rows", 0))
        evidence = self._checks(fitted)
        if not isinstance(evidence, Evidence):
            checks, parts = evidence
            evidence = Evidence(checks, parts.errors, shares=self._component_shares(fitted))
        components = evidence.of_components
        components.rival = fitted.rival
        components.checks = self._simulation_checks(fitted) + components.checks
        if components.found_again is None:
            repeats = self._repeat_shares(fitted)
            if repeats is not None:
                components.found_again = discount_repeats(repeats, self._may_be_nothing(fitted, components.checks))
        if fitted.rows is None:
            evidence.missing = components.missing = "Kept moments have no rows for this measurement: fit the rows."
        if fitted.component_view is not None:
            components.checks += neighbour_checks(fitted.component_view, folds.stretch)
        self.evidence_ = evidence.bind(self)
        return self
