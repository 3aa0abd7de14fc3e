"""Fits on parts of the data, and what they say of the fit on all of it.

Write the answer as truth plus noise that is an average over rows. A fit on half of the rows has noise with twice the
variance, and the fit on all of them is near the mean of the two halves; so the distance of the full fit from a half fit
has the distribution of the distance of the full fit from the truth: sigma^2 (2 + 2) / 4 = sigma^2. No factor is needed.
What it cannot see is bias that all fits share, such as topics without anchor words.

A component's error is its distance to the nearest component of the half fit: a component that the data does not
support has no near one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from ..exceptions import LatentiaError
from ..passes import RowGroups

__all__ = ["PartErrors", "PartFits"]

Found = TypeVar("Found")
Model = TypeVar("Model")
Groups = tuple[int, ...]

_CLEARLY = 10.0  # nats by which one optimum must be more likely than another one on the same rows


@dataclass(frozen=True)
class PartErrors:
    """What fits on parts of the data say of the full fit.

    Attributes
    ----------
    errors : ndarray of shape (K,) or None
        Expected error of each component; None if no part could be fitted, or none was asked for.
    n_parts, n_failed : int
        Parts, and those on which the model could not be fitted.
    reason : str
        Why there are no errors, or why the last part failed.
    shared : float
        Mean square of what `widened` added, which more rows do not make smaller.
    """

    errors: np.ndarray | None
    n_parts: int = 0
    n_failed: int = 0
    reason: str = ""
    shared: float = 0.0

    def widened(self, bias: np.ndarray, most: float = np.inf) -> PartErrors:
        """The same with a bias of each component, shape (K,), that all parts share."""
        if self.errors is None:
            return self
        shared = self.shared + float(np.mean(np.square(bias)))
        return replace(self, errors=np.minimum(np.hypot(self.errors, bias), most), shared=shared)

    @classmethod
    def none(cls, reason: str = "Needs fits on parts of the data: call evidence_.stability(X).") -> PartErrors:
        """No errors, and why."""
        return cls(None, reason=reason)


@dataclass(frozen=True)
class PartFits(Generic[Found, Model]):
    """The fit on all groups of rows, and those on some of them. Each is made once.

    Attributes
    ----------
    dealt : RowGroups
    recover : callable
        ``recover(groups)``: what the moments of these groups say.
    finish : callable
        ``finish(found, groups)``: the model that it becomes, after EM on the rows of these groups where there is any.
    distance : callable
        ``distance(model, part)``: of each component of the full model to the nearest one of a part's, shape (K,).
    most : float
        The largest distance that there can be.
    cost : {"free", "algebra", "passes"}
        Of the fit of a part. "free": all halves and three quarters that were asked for. "algebra": halves; three quarters only
        where no half can be fitted. "passes": one split, whatever number was asked for.
    restart : callable, optional
        ``restart(model, groups)``: what EM makes of the full model on the rows of these groups, or None. It counts in place of
        the part's own fit where its likelihood is clearly higher: EM from the moments of half of the rows ends in worse optima
        than that of all rows does, and would make the full fit look worse than it is. Where both are about as likely, the
        data does not tell them apart, and the distance says so.
    """

    dealt: RowGroups
    recover: Callable[[Groups], Found]
    finish: Callable[[Found, Groups], Model]
    distance: Callable[[Model, Model], np.ndarray]
    most: float = np.inf
    cost: Literal["free", "algebra", "passes"] = "free"
    restart: Callable[[Model, Groups], Model | None] | None = None
    _found: dict[Groups, Found] = field(default_factory=dict, init=False, repr=False)
    _models: dict[Groups, Model] = field(default_factory=dict, init=False, repr=False)
    _restarted: dict[Groups, Model | None] = field(default_factory=dict, init=False, repr=False)

    def found(self, groups: Groups) -> Found:
        """The fit on some groups before `finish`."""
        if groups not in self._found:
            self._found[groups] = self.recover(groups)
        return self._found[groups]

    def model(self, groups: Groups) -> Model:
        """The fit on some groups."""
        if groups not in self._models:
            self._models[groups] = self.finish(self.found(groups), groups)
        return self._models[groups]

    def made(self, groups: Groups) -> Model | None:
        """The same, if it has been made."""
        return self._models.get(groups)

    def restarted(self, model: Model, groups: Groups) -> Model | None:
        """The full fit, refined on some groups; None where nothing is restarted."""
        if groups not in self._restarted:
            self._restarted[groups] = None if self.restart is None else self.restart(model, groups)
        return self._restarted[groups]

    def whole(self) -> tuple[Found, Model]:
        """The fit on all rows, before and after `finish`."""
        return self.found(self.dealt.all), self.model(self.dealt.all)

    def errors(self, model: Model, n_splits: int) -> PartErrors:
        """Expected error of each component of the full model from fits on some of the groups.

        The distance of the full fit to a fit on half of the rows has the size of its error. So has root 3 times the distance
        to a fit on three quarters, whose variance beyond that of the full fit is a third of it. Where noise is so large that
        answers jump, both overstate the error: halves fall apart before the whole does, and jumps are not to be scaled. The
        smaller one is taken.

        Parameters
        ----------
        model : the full fit
        n_splits : int
            Splits into halves, at most 3; none gives no errors.
        """
        if not n_splits:
            return PartErrors.none()
        halves = [half for split in self._splits(n_splits) for half in split]
        found, reason = self._distances(model, halves)
        estimates, n_parts, n_failed = [found] if found else [], len(halves), len(halves) - len(found)
        if len(self.dealt.all) == 4 and (self.cost == "free" or not found):
            quarters = [tuple(i for i in self.dealt.all if i != g) for g in self.dealt.all]
            found, later = self._distances(model, quarters)
            estimates += [[np.sqrt(3) * one for one in found]] if found else []
            n_parts, n_failed = n_parts + len(quarters), n_failed + len(quarters) - len(found)
            reason = later or reason
        if not estimates:
            return PartErrors(None, n_parts, n_failed, f"No part of the data can carry the components. {reason}")
        errors = min((np.mean(one, axis=0) for one in estimates), key=lambda one: float(one.mean()))
        return PartErrors(np.minimum(errors, self.most), n_parts, n_failed, reason)

    def halves(self, model: Model, n_splits: int) -> list[tuple[Model, Model]]:
        """The fits that `errors` has compared on both halves of each split, where both can be made."""
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for first, second in self._splits(n_splits):
                try:
                    found.append((self._part(model, first), self._part(model, second)))
                except LatentiaError:
                    continue
        return found

    def _splits(self, n_splits: int) -> Sequence[tuple[Groups, Groups]]:
        return self.dealt.splits[: min(n_splits, 1) if self.cost == "passes" else n_splits]

    def _distances(self, model: Model, parts: Sequence[Groups]) -> tuple[list[Any], str]:
        """Distances to the fits that can be made, and why the last of the others cannot."""
        distances, reason = [], ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for groups in parts:
                try:
                    distances.append(self.distance(model, self._part(model, groups)))
                except LatentiaError as error:
                    reason = str(error)
        return distances, reason

    def _part(self, model: Model, groups: Groups) -> Model:
        """The fit of some groups."""
        own: Any = self.model(groups)
        again: Any = self.restarted(model, groups)
        if again is None:
            return own
        gain = again.refinement.log_likelihood[-1] - own.refinement.log_likelihood[-1]
        return again if gain > _CLEARLY else own
