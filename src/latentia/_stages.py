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
errors: see `latentia.evidence.PartFits`, which says which parts there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from ._base import Estimator
from .evidence import Check, Evidence, PartErrors, PartFits
from .passes import Blocks, RowGroups, deal

__all__ = ["Fitted", "Part", "Staged"]


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
        return self.source.group(self.groups, self.dealt)

    @property
    def is_whole(self) -> bool:
        """Whether these are all groups."""
        return self.groups == self.dealt.all


@dataclass(frozen=True)
class Fitted:
    """The stages of a fit on all rows, and on parts of them.

    Attributes
    ----------
    rows
        What the fit was given.
    moments
        What ``_moments`` returned.
    fits : PartFits
        What ``_recover`` and ``_refine`` return, by groups of rows.
    """

    rows: Any
    moments: Any
    fits: PartFits[Any, Any]

    @classmethod
    def of(cls, method: Staged, rows: Any, dealt: RowGroups, exact: Any = None) -> Fitted:
        """All rows through the first three stages; parts follow when they are asked for."""
        moments = method._moments(rows, dealt) if exact is None else exact

        def part(groups: tuple[int, ...]) -> Part:
            return Part(groups, dealt, rows)

        def recover(groups: tuple[int, ...]) -> Any:
            return method._recover(moments, part(groups), None if groups == dealt.all else fits.found(dealt.all))

        def refine(found: Any, groups: tuple[int, ...]) -> Any:
            return method._refine(found, moments, part(groups), None if groups == dealt.all else fits.model(dealt.all))

        fits = PartFits[Any, Any](
            dealt, recover, refine, lambda one, other: method._distance(one, other, moments), method._farthest,
            method._cost(), lambda one, groups: method._restart(one, moments, part(groups)),
        )  # fmt: skip
        fits.whole()
        return cls(rows, moments, fits)

    @property
    def found(self) -> Any:
        """What ``_recover`` makes of all rows."""
        return self.fits.found(self.fits.dealt.all)

    @property
    def model(self) -> Any:
        """What ``_refine`` makes of them."""
        return self.fits.model(self.fits.dealt.all)

    def errors(self, n_splits: int) -> PartErrors:
        """Expected error of each component, from parts of the rows."""
        return self.fits.errors(self.model, n_splits)


class Staged(Estimator):
    """Base of the estimators whose fit is the four stages."""

    refine: Any

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

    def _distance(self, one: Any, other: Any, moments: Any) -> np.ndarray:
        """Of each component of an answer to the nearest one of another, shape (K,)."""
        raise NotImplementedError

    def _cost(self) -> Literal["free", "algebra", "passes"]:
        """Of the fit of a part: see `latentia.evidence.PartFits`."""
        return "passes" if self.refine else "free"

    def _keep(self, fitted: Fitted) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        raise NotImplementedError

    def _evidence(self, fitted: Fitted) -> Evidence:
        checks, parts = self._checks(fitted)
        return Evidence(checks, parts.errors, shares=self._weighed(fitted))

    def _weighed(self, fitted: Fitted) -> np.ndarray | None:
        """What share of the data each component stands for, shape (K,), where no fitted attribute tells."""
        return None

    def _fit_stages(self, rows: Any, exact: Any = None) -> Self:
        """Fit: the stages in their order; exact moments take the place of those of rows, of which there are none then."""
        fitted = Fitted.of(self, rows, self._dealt(rows), exact)
        self._keep(fitted)
        self.evidence_ = self._evidence(fitted).bind(self)
        return self
