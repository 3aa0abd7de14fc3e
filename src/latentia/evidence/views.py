"""Goodness of fit of models whose views are independent given the component: what they leave, against noise."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from .checks import Check, at_most
from .goodness import Misfit, share_of

_OF_EM = 0.8  # as far as a fit by moments: so it was on data with known answers
_MOST_ACROSS, _MOST_WITHIN = 2.0, 3.0  # times the noise; parameters by moments have some of their own within a view

Norms: TypeAlias = tuple[float, float, float]


class ViewMisfits(NamedTuple):
    """Residuals of a fit: of the third moment of three views, of their covariances, and of those of features.

    Attributes
    ----------
    tensor, across : Misfit
    within : Misfit or None
        Of features in one view; None where the model does not say that they are independent.
    """

    tensor: Misfit
    across: Misfit
    within: Misfit | None = None

    @classmethod
    def of(cls, tensor: Norms, across: Norms, within: Norms | None, surplus: bool) -> ViewMisfits:
        """From squared norms of what is left, of its noise and of the whole.

        Parameters
        ----------
        surplus : bool
            Whether more directions are above the noise than the components span. Then what is left across views is known not
            to be noise, and all of it beyond the noise counts.
        """
        beyond = Misfit.of(*across)
        if surplus:
            left, noise, whole = across
            beyond = replace(beyond, share=share_of(left - noise, whole))
        return cls(Misfit.of(*tensor), beyond, None if within is None else Misfit.of(*within))

    def together(self, refined: bool) -> Misfit:
        """The one that says how far components are off.

        What is left of covariances moves means by half as much: to first order, whitening with M + E turns them by E / 2. No
        component is further off than the nearest other one because of it. EM goes by whole rows and not by three moments, and
        is moved less.
        """
        share = min(max(self.tensor.share, self.across.share / 2), 1.0)
        return replace(self.tensor, share=_OF_EM * share if refined else share)

    def checks(self, what: str, views: str, parts: str, refined: bool) -> list[Check]:
        """A line for each.

        Parameters
        ----------
        what : str
            The components.
        views, parts : str
            What is independent given one: "views", "features of a view".
        refined : bool
            By EM: where features share more among themselves than with the component, it finds that instead.
        """
        remedy = f"Leave out what {views} share apart from the {what}, or compare with more {what}."
        lines = [*self.tensor.checks(what=what), _shared(views, self.across, _MOST_ACROSS, remedy)]
        if self.within is not None:
            remedy = f"Some {parts} repeat others: leave them out, or make one of them."
            line = _shared(parts, self.within, _MOST_WITHIN, remedy)
            lines.append(replace(line, role="veto") if refined and self.within.share > 1 else line)
        return lines


def counted_parameters(extra: int, n_rows: int, refined: bool) -> int:
    """For `trivial_checks`: all that a likelihood chose, and of those by moments as many as Akaike's penalty has."""
    return extra if refined else round(2 * extra / np.log(max(n_rows, 8)))


def _shared(what: str, misfit: Misfit, most: float, remedy: str) -> Check:
    return Check(
        f"independence of {what}", "|R|^2 / |N|^2", misfit.ratio, at_most(most, "1 for noise"),
        f"What {what} share beyond what the model says, against noise.", "not in the papers", "caution", remedy,
    )  # fmt: skip
