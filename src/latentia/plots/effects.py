"""Plots of effects of covariates on components, and of components on an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..report.figures import intervals, shorten
from ._axes import disable_formulas
from .figures import plot_figure

_MAX_NAME_LENGTH = 28  # characters


@disable_formulas
def plot_effects(effects: Any, *, terms: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Draw effects, or differences of an outcome: a panel per term, with a bar and an interval per component.

    Parameters
    ----------
    effects : Effects
        From ``effects`` or ``regress`` of a topic model or a mixture.
    terms : sequence of str, optional
        Terms to draw; by default all but the intercept.
    ax : matplotlib.axes.Axes, optional
        Where to draw a single term.

    Returns
    -------
    matplotlib.axes.Axes, or an ndarray of them if several terms are drawn
    """
    labels = [shorten(name, _MAX_NAME_LENGTH) for name in effects.components]
    panels = [(term, labels, *parts) for term, *parts in effects.panels(terms)]
    figure = intervals(panels, percent=effects.plug_in is None, level=effects.level)
    return plot_figure(figure, ax=ax)
