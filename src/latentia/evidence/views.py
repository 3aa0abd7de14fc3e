"""Goodness of fit of models whose views are independent given the component."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from .checks import Check, at_most
from .goodness import Misfit, share_of
from .limits import NOISE_RATIO

_EM_SHARE = 0.8  # error of an EM fit relative to a fit by moments, on data with known answers
_MAX_RATIO_WITHIN = 3.0  # times the noise; within a view, moment estimates add their own

Norms: TypeAlias = tuple[float, float, float]


class ViewMisfits(NamedTuple):
    """Residuals of the third moment of three views, of covariances across views, and of those within views.

    Attributes
    ----------
    tensor, across : Misfit
    within : Misfit or None
        Misfit of features in one view; None if the model does not assume their independence.
    """

    tensor: Misfit
    across: Misfit
    within: Misfit | None = None

    @classmethod
    def from_norms(cls, tensor: Norms, across: Norms, within: Norms | None, surplus: bool) -> ViewMisfits:
        """Build misfits from squared norms of residual, noise and total.

        Parameters
        ----------
        surplus : bool
            Whether more directions are above the noise than the components span. Then the residual across views is not noise
            alone, and all of it beyond the noise counts.
        """
        beyond = Misfit.from_norms(*across)
        if surplus:
            residual, noise, total = across
            beyond = replace(beyond, share=share_of(residual - noise, total))
        return cls(Misfit.from_norms(*tensor), beyond, None if within is None else Misfit.from_norms(*within))

    def together(self, refined: bool) -> Misfit:
        """Combine the misfits into one that bounds the error of components.

        A residual of covariances moves means by half as much: to first order, whitening with M + E turns them by E / 2. It
        moves no component further than to the nearest other one. EM uses whole rows instead of three moments, and is moved
        less.
        """
        share = min(max(self.tensor.share, self.across.share / 2), 1.0)
        return replace(self.tensor, share=_EM_SHARE * share if refined else share)

    def checks(self, component_noun: str, views: str, parts: str, refined: bool) -> list[Check]:
        """Build one check per misfit.

        Parameters
        ----------
        component_noun : str
            Plural noun for components.
        views, parts : str
            Nouns for what is independent given a component: "views", "features of a view".
        refined : bool
            Whether EM refined the fit: if features depend on each other more than on the component, EM fits that instead.
        """
        remedy = f"Remove what {views} share besides the {component_noun}, or compare with more {component_noun}."
        lines = [
            *self.tensor.checks(noun=component_noun),
            _independence_check(views, self.across, NOISE_RATIO, remedy),
        ]
        if self.within is not None:
            remedy = f"Some {parts} repeat others: remove them, or merge them."
            line = _independence_check(parts, self.within, _MAX_RATIO_WITHIN, remedy)
            lines.append(replace(line, role="veto") if refined and self.within.share > 1 else line)
        return lines


def count_parameters(extra: int, n_rows: int, refined: bool) -> int:
    """Count parameters for `trivial_checks`: all after EM; for moments, as many as give Akaike's penalty."""
    return extra if refined else round(2 * extra / np.log(max(n_rows, 8)))


def _independence_check(feature_noun: str, misfit: Misfit, max_ratio: float, remedy: str) -> Check:
    return Check(
        f"independence of {feature_noun}", "|R|^2 / |N|^2", misfit.ratio, at_most(max_ratio, "1 for noise"),
        f"Dependence of {feature_noun} that the model does not explain, relative to noise.",
        "not in the papers", "caution", remedy,
    )  # fmt: skip
