"""One fit for many methods: four stages, through which parts of the rows go as all of them do.

=============  ============================================  ==========================================================
stage          is given                                      returns
=============  ============================================  ==========================================================
``_moments``   the rows, and the groups they are dealt into  sums over the rows, kept by group
``_recover``   moments, and which groups to use of them      what the theorem makes of these
``_refine``    that, moments, and the rows of the groups     the answer: a record of parameters, and how it came about
``_checks``    all of it, for all rows and for parts         checks of what the theorem assumes, and expected errors
=============  ============================================  ==========================================================

The answer of all rows becomes the fitted attributes (`Staged._keep`). The distances of those of parts to it are the expected
errors, as `latentia.evidence.parts` explains.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from . import _fields as of
from ._base import Estimator
from .evidence import (
    Check,
    Drawn,
    Evidence,
    PartErrors,
    Reading,
    doubted,
    found_again,
    neighbour_checks,
    simulated_checks,
)
from .exceptions import LatentiaError
from .likelihood import Refinement
from .moments import ColumnSpan, span_of
from .passes import Blocks, RowGroups, deal, sample_rows

Groups: TypeAlias = tuple[int, ...]

_READ = 1000  # rows on which what people read of components is compared
_CLEARLY = 10.0  # nats by which one optimum must be more likely than another one on the same rows


@dataclass(frozen=True)
class Part:
    """Some of the groups that rows are dealt into.

    Attributes
    ----------
    groups : tuple of int
    dealt : RowGroups
    source : Blocks
        All rows, or what else has ``group``.
    """

    groups: tuple[int, ...]
    dealt: RowGroups
    source: Any

    @cached_property
    def rows(self) -> Blocks:
        """The rows of these groups."""
        rows = self.source.group(self.groups, self.dealt)
        if getattr(rows, "n_rows", 1) == 0:
            raise LatentiaError("A part of the data has no rows: there are too few different ones.")
        return rows

    @property
    def is_whole(self) -> bool:
        """Whether these are all groups."""
        return self.groups == self.dealt.all


class Fitted:
    """The stages of a fit on all rows, and on parts of them; each part is fitted once, when it is asked for.

    Attributes
    ----------
    method : Staged
    rows
        What the fit was given.
    dealt : RowGroups
    moments
        What ``_moments`` returned.
    found, model
        What ``_recover`` and ``_refine`` make of all rows.
    groups : tuple of int
        Those whose answer ``model`` is.
    compared : list of tuple of int
        Halves whose answers `errors` has compared with that.
    rival : str
        A sentence on a second method that the errors were compared with, where this fit made one.
    """

    def __init__(self, method: Staged, rows: Any, dealt: RowGroups, moments: Any) -> None:
        self.method, self.rows, self.dealt, self.moments = method, rows, dealt, moments
        self._found: dict[Groups, Any] = {}
        self._models: dict[Groups, Any] = {}
        self._restarted: dict[Groups, Any] = {}
        self.groups, self.compared, self.rival = dealt.all, list[Groups](), ""
        self.model = self.model_of(dealt.all)
        self.found = self._found[dealt.all]

    def found_of(self, groups: Groups) -> Any:
        """What ``_recover`` makes of some groups."""
        if groups not in self._found:
            whole = self._found.get(self.dealt.all)
            self._found[groups] = self.method._recover(self.moments, Part(groups, self.dealt, self.rows), whole)
        return self._found[groups]

    def model_of(self, groups: Groups) -> Any:
        """What ``_refine`` makes of some groups."""
        if groups not in self._models:
            found, whole = self.found_of(groups), self._models.get(self.dealt.all)
            self._models[groups] = self.method._refine(found, self.moments, Part(groups, self.dealt, self.rows), whole)
        return self._models[groups]

    def made(self, groups: Groups) -> Any | None:
        """The answer of some groups, if it has been asked for."""
        return self._models.get(groups)

    def restarted(self, groups: Groups) -> Any | None:
        """The answer of all rows, refined on some groups; None where nothing is restarted, or nothing to be gained."""
        if groups not in self._restarted:
            part, method = Part(groups, self.dealt, self.rows), self.method
            hopeless = method._is_best(self.model_of(groups), self.model, self.moments, part, _CLEARLY)
            self._restarted[groups] = None if hopeless else method._restart(self.model, self.moments, part)
        return self._restarted[groups]

    def errors(self, n_splits: int) -> PartErrors:
        """Expected error of each component from parts of the rows.

        The distance of the answer to that of half of the rows has the size of its error. So has root 3 times the distance
        to that of three quarters, whose variance beyond that of all rows is a third of it. Where noise is so large that
        answers jump, both overstate the error: halves fall apart before the whole does, and jumps are not to be scaled. The
        smaller one is taken.

        Parameters
        ----------
        n_splits : int
            Splits into halves, at most 3; none gives no errors. ``_cost`` says how many are made, and whether three quarters
            are too.
        """
        if not n_splits:
            return PartErrors.none()
        halves = [half for split in self._splits(n_splits) for half in split]
        found, reason = self._distances(halves)
        self.compared = [half for half in halves if half in self._models]
        estimates, n_parts, n_failed = [found] if found else [], len(halves), len(halves) - len(found)
        if len(self.dealt.all) == 4 and (self.method._cost() == "free" or not found):
            quarters = [tuple(i for i in self.dealt.all if i != g) for g in self.dealt.all]
            found, later = self._distances(quarters)
            estimates += [[np.sqrt(3) * one for one in found]] if found else []
            n_parts, n_failed = n_parts + len(quarters), n_failed + len(quarters) - len(found)
            reason = later or reason
        if not estimates:
            return PartErrors(None, n_parts, n_failed, f"No part of the data can carry the components. {reason}")
        errors = min((np.mean(one, axis=0) for one in estimates), key=lambda one: float(one.mean()))
        return PartErrors(np.minimum(errors, self.method._farthest), n_parts, n_failed, reason)

    def halves(self, n_splits: int) -> list[tuple[Any, Any]]:
        """The answers that `errors` has compared on both halves of each split, where both can be had."""
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for first, second in self._splits(n_splits):
                with contextlib.suppress(LatentiaError):
                    found.append((self._part(first), self._part(second)))
        return found

    def found_again(self) -> np.ndarray | None:
        """How much of what people read of each component is the same on halves, shape (K,); None where there are no halves."""
        if self.reading is None:
            return None
        halves = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for groups in self.compared:
                with contextlib.suppress(LatentiaError):
                    half = self._as_fitted(groups)._reading(self)
                    halves += [] if half is None else [half]
        return found_again(self.reading, halves)

    @cached_property
    def reading(self) -> Reading | None:
        """What people read of the answer of all rows, where there is one of halves to compare it with."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.method._reading(self) if self.compared and self.rows is not None else None

    @cached_property
    def some(self) -> Blocks:
        """Some of the rows, on which the answers of parts are compared."""
        return Blocks.from_array(*sample_rows(self.rows, _READ))

    def _as_fitted(self, groups: Groups) -> Staged:
        """The estimator with what a fit on some groups alone gives."""
        one, fitted = copy(self.method), copy(self)
        fitted.groups, fitted.model, fitted.found = groups, self.model_of(groups), self.found_of(groups)
        one._keep(fitted)
        return one

    def _splits(self, n_splits: int) -> Sequence[tuple[Groups, Groups]]:
        return self.dealt.splits[: min(n_splits, 1) if self.method._cost() == "passes" else n_splits]

    def _distances(self, parts: Sequence[Groups]) -> tuple[list[Any], str]:
        """Distances to the answers of parts, and why the last of the others cannot be had."""
        distances, reason = [], ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for groups in parts:
                try:
                    distances.append(self.method._distance(self.model, self._part(groups), self.moments))
                except LatentiaError as error:
                    reason = str(error)
        return distances, reason

    def _part(self, groups: Groups) -> Any:
        """The answer of some groups: their own, or that of all rows refined on them where it is clearly more likely.

        EM from the moments of half of the rows ends in worse optima than that of all rows does, and would make the answer
        look worse than it is. Where both are about as likely, the data does not tell them apart, and the distance says so.
        """
        own: Any = self.model_of(groups)
        again: Any = self.restarted(groups)
        if again is None:
            return own
        gain = again.refinement.log_likelihood[-1] - own.refinement.log_likelihood[-1]
        return again if gain > _CLEARLY else own


def fit_alone(method: Staged, rows: Any, settings: Mapping[str, Any]) -> Fitted:
    """The stages of a fit on other rows, by a method with other settings, and without evidence."""
    other = copy(method)
    other.__dict__ |= {"n_splits": 0, "keep_moments": False, "verbose": False, **settings}
    dealt = other._dealt(rows)
    return Fitted(other, rows, dealt, other._moments(rows, dealt))


class Staged(Estimator):
    """Base of the estimators whose fit is the four stages."""

    refine: Any
    _span: Annotated[ColumnSpan, of.optional(of.Field())]
    _draws_rows: ClassVar[bool] = True
    """Whether ``sample`` draws rows with all of their noise."""

    @property
    def _farthest(self) -> float:
        """The largest distance of two components that there can be."""
        return np.inf

    def _dealt(self, rows: Any) -> RowGroups:
        """The groups of rows that parts are made of."""
        return deal(rows, self._seed)

    def _moments(self, rows: Any, dealt: RowGroups) -> Any:
        raise NotImplementedError

    def _recover(self, moments: Any, part: Part, whole: Any) -> Any:
        """``whole`` is what all rows gave, where the part is not all of them."""
        raise NotImplementedError

    def _refine(self, found: Any, moments: Any, part: Part, whole: Any) -> Any:
        return found

    def _restart(self, model: Any, moments: Any, part: Part) -> Any:
        """The answer of all rows, refined on a part of them; None where there is nothing to gain from it."""
        return None

    def _is_best(self, own: Any, model: Any, moments: Any, part: Part, clearly: float) -> bool:
        """Whether a few steps tell that ``_restart`` would not be more likely by so many nats than a part's own answer."""
        return False

    def _distance(self, one: Any, other: Any, moments: Any) -> np.ndarray:
        """Of each component of an answer to the nearest one of another, shape (K,)."""
        raise NotImplementedError

    def _cost(self) -> Literal["free", "algebra", "passes"]:
        """Of the fit of a part.

        "free": all halves and three quarters that were asked for. "algebra": halves; three quarters only where no half can be
        fitted. "passes": one split, whatever number was asked for.
        """
        return "passes" if self.refine else "free"

    def _keep(self, fitted: Fitted) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def _keep_refinement(self, refinement: Refinement) -> None:
        """Set the attributes that say how the likelihood was climbed."""
        steps = refinement.log_likelihood
        self.__dict__ |= {"refinement_": steps, "n_iter_": len(steps), "converged_": bool(refinement.settled)}

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors] | Evidence:
        """Checks and expected errors, or what these are weighed into."""
        raise NotImplementedError

    def _reading(self, fitted: Fitted) -> Reading | None:
        """What people read of the components of this estimator, mostly in ``fitted.some`` rows; None where it is one number."""
        if not hasattr(self, "predict_proba") or not isinstance(fitted.rows, Blocks):
            return None
        return Reading(np.asarray(self.predict_proba(fitted.some)).T)

    def _real_and_drawn(self, fitted: Fitted, rng: np.random.Generator) -> Drawn | None:
        """Some rows, and as many drawn from the fitted model with their design; None of a family that cannot draw rows.

        By default those of ``sample``, where that has an estimator of complete tables.
        """
        sample = getattr(self, "sample", None)
        if sample is None or not self._draws_rows or not isinstance(fitted.rows, Blocks):
            return None
        rows = sample_rows(fitted.rows)[0]
        if not isinstance(rows, np.ndarray) or rows.ndim != 2 or np.isnan(rows).any():
            return None
        drawn = sample(len(rows), random_state=rng)
        drawn = np.asarray(drawn[0] if isinstance(drawn, tuple) else drawn, dtype=np.float64)
        return Drawn(rows, drawn, self.column_names or ()) if drawn.shape == rows.shape else None

    def _weighed(self, fitted: Fitted) -> np.ndarray | None:
        """What share of the data each component stands for, shape (K,), where no fitted attribute tells."""
        return None

    def _found_again(self, fitted: Fitted) -> np.ndarray | None:
        """How much of each component is found again on other rows, shape (K,)."""
        return fitted.found_again()

    def _may_be_nothing(self, fitted: Fitted, checks: Sequence[Check]) -> bool | np.ndarray:
        """Whether rows without components, or which of these, may give the same: halves, which are such rows too, repeat it."""
        return any(check.role == "veto" and check.holds is False for check in checks)

    def _fit_in_span(self, rows: Any, *more: Any) -> Self:
        """Fit on the columns that say something of their own; `_widen` then gives all columns their entries."""
        span = self._span_of(rows, more)
        if span is None:
            return self._fit_rows(rows, *more)
        return self._fit_columns(span, lambda: self._fit_rows(*(span.reduce(table) for table in (rows, *more))))

    def _span_of(self, rows: Any, more: Sequence[Any]) -> ColumnSpan | None:
        """Return which columns say something of their own; None where these are all."""
        return span_of(rows, more=more)

    def _fit_columns(self, span: ColumnSpan, fit: Callable[[], object]) -> Self:
        """Let a function fit the columns that are kept, and give all columns their entries."""
        width, names = self.n_features_in_, self._column_names
        span.tell(names)
        self.n_features_in_ = len(span.kept)
        self._column_names = None if names is None else [names[i] for i in span.kept]
        fit()
        self.n_features_in_, self._column_names, self._span = width, names, span
        self._widen(span)
        self.evidence_.bind(self)
        return self

    def _fit_rows(self, rows: Any, *more: Any) -> Self:
        """Fit on rows as they are."""
        return self._fit_stages(rows)

    def _widen(self, span: ColumnSpan) -> None:
        """Give arrays of the columns that were kept entries for all columns."""
        raise NotImplementedError

    def _simulated_checks(self, fitted: Fitted) -> list[Check]:
        """Compare rows that are drawn from the model with real ones."""
        if fitted.rows is None or not getattr(self, "n_splits", 0):
            return []
        tables = self._real_and_drawn(fitted, np.random.default_rng([self._seed, 107]))
        return [] if tables is None else simulated_checks(tables, self._seed, self._nouns[2].removesuffix("s"))

    def _fit_stages(self, rows: Any, exact: Any = None, dealt: RowGroups | None = None) -> Self:
        """Fit: the stages in their order; exact moments take the place of those of rows, which may be None then."""
        dealt = self._dealt(rows) if dealt is None else dealt
        fitted = Fitted(self, rows, dealt, self._moments(rows, dealt) if exact is None else exact)
        self._keep(fitted)
        weighed = self._checks(fitted)
        if not isinstance(weighed, Evidence):
            checks, parts = weighed
            weighed = Evidence(checks, parts.errors, shares=self._weighed(fitted))
        components = weighed.of_components
        components.rival = fitted.rival
        components.checks = self._simulated_checks(fitted) + components.checks
        if components.found_again is None:
            found = self._found_again(fitted)
            if found is not None:
                components.found_again = doubted(found, self._may_be_nothing(fitted, components.checks))
        if fitted.rows is None:
            weighed.missing = components.missing = "Kept moments have no rows to measure it on: fit the rows."
        if fitted.reading is not None:
            components.checks += neighbour_checks(fitted.reading, dealt.stretch)
        self.evidence_ = weighed.bind(self)
        return self
