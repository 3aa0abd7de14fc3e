"""How far can each component be trusted?"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ._axes import GRADES, INK, PALE, called, new_axes, tidy

__all__ = ["plot_evidence"]

_LABELLED = 25  # components that have room for their numbers: those of the largest errors
_CARE = 2.0  # limits up to which a component can be used with care


def plot_evidence(model: Any, *, ax: Any = None) -> Any:
    """Draw the expected error of every component against its share of the data, coloured by grade.

    Lines are the limit up to which a component is supported, and twice the limit, up to which it can be used with care.
    Components without shares stand beside each other, by their numbers.

    Parameters
    ----------
    model : estimator
        A fitted model whose evidence has errors of components.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    LatentiaError
        If no errors were measured, with ``n_splits=0``.
    """
    check_is_fitted(model)
    evidence = getattr(model, "evidence_", None)
    if evidence is None or not len(evidence.components):
        raise LatentiaError(f"This {type(model).__name__} has no expected errors: fit it with n_splits of 1 or more.")
    one, many, rows = called(model)
    ax = new_axes(ax, 6.4, 4.2)
    shared = all(record.share is not None for record in evidence.components)
    places = np.array([100 * r.share if shared else r.component for r in evidence.components], dtype=float)
    errors = np.array([record.expected_error for record in evidence.components], dtype=float)
    finite = np.isfinite(errors)
    for grade, (colour, marker) in GRADES.items():
        own = np.array([record.grade == grade for record in evidence.components]) & finite
        if own.any():
            label = f"{grade} ({own.sum()})"
            ax.scatter(places[own], errors[own], s=60, c=colour, marker=marker, label=label, linewidths=0, alpha=0.9)
    tidy(ax)
    for k in np.argsort(-np.where(finite, errors, -np.inf), kind="stable")[:_LABELLED]:
        if finite[k]:
            ax.annotate(str(k), (places[k], errors[k]), xytext=(5, 4), textcoords="offset points", size=8, color=INK)
    top = float(errors[finite].max(initial=0.0))
    for times, style in ((1.0, "--"), (_CARE, ":")):
        if evidence.limit is not None and (times == 1 or top > evidence.limit):
            ax.axhline(times * evidence.limit, color=INK, linestyle=style, linewidth=1.2)
            ax.annotate(
                "limit" if times == 1 else "twice the limit", (0, times * evidence.limit), xytext=(4, 3), size=8, color=INK,
                xycoords=("axes fraction", "data"), textcoords="offset points",
            )  # fmt: skip
            top = max(top, times * evidence.limit)
    if not finite.all():
        ax.plot([], [], "x", color=PALE, label=f"error not finite ({(~finite).sum()})")
    ax.set_ylim(0, 1.12 * top or 1.0)
    if shared:
        ax.set_xlim(0, 1.06 * max(places.max(), 1e-12))
    ax.set(xlabel=f"share of the {rows} in %" if shared else one, ylabel=f"expected error of {_article(one)} {one}")
    ax.set_title(f"{many.capitalize()}: {evidence.grade}", loc="left", size=11)
    if not shared:
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(frameon=False, fontsize=9)
    return ax


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" and noun != "unit" else "a"
