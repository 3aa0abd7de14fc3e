"""How many components are there, and has the fit settled?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..report.figures import PALETTE
from ._axes import GRADES, INK, PALE, attribute, called, new_axes, tidy

__all__ = ["plot_comparison", "plot_refinement"]

_MARKS = {**GRADES, "partly": (PALETTE[4], "s")}


def plot_comparison(model: Any, *, ax: Any = None) -> Any:
    """Draw the expected error against the number of components, for the numbers that were compared, coloured by grade.

    The dashed line is the limit, and the upright one the number that was recommended and taken.

    Parameters
    ----------
    model : estimator
        Fitted with ``n_components="auto"`` or several numbers.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    LatentiaError
        If one number alone was fitted.
    """
    rows: Sequence[Mapping[str, Any]] = attribute(
        model, ["comparison_"], 'comparison: fit it with n_components="auto" or several numbers'
    )
    ax = new_axes(ax)
    sizes = np.array([row["n_components"] for row in rows])
    errors = np.array([np.nan if row["expected error"] is None else row["expected error"] for row in rows], dtype=float)
    limits = np.array([np.nan if row["limit"] is None else row["limit"] for row in rows], dtype=float)
    ax.plot(sizes, errors, color=PALE, linewidth=1.5, zorder=1)
    if np.isfinite(limits).any():
        ax.plot(sizes, limits, color=INK, linestyle="--", linewidth=1.2, label="limit")
    for grade, (colour, marker) in _MARKS.items():
        own = np.array([row["grade"] == grade for row in rows])
        if own.any():
            ax.scatter(sizes[own], errors[own], s=60, c=colour, marker=marker, label=grade, linewidths=0, zorder=2)
    ax.axvline(model.n_components_, color=INK, linewidth=1)
    late = model.n_components_ > sizes.mean()
    ax.annotate(
        f"{model.n_components_} taken", (model.n_components_, 0), xytext=(-4 if late else 4, 4), size=9, color=INK,
        xycoords=("data", "axes fraction"), textcoords="offset points", ha="right" if late else "left",
    )  # fmt: skip
    tidy(ax)
    ax.xaxis.get_major_locator().set_params(integer=True)
    one, many, _ = called(model)
    ax.set_ylim(0, 1.12 * np.nanmax([*errors, *limits, 1e-12]))
    ax.set(xlabel=f"number of {many}", ylabel=f"mean expected error of a {one}")
    ax.legend(frameon=False, fontsize=9)
    return ax


def plot_refinement(model: Any, *, ax: Any = None) -> Any:
    """Draw the log-likelihood at every step of refinement.

    Parameters
    ----------
    model : estimator
        Fitted with ``refine`` other than 0.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    LatentiaError
        If the fit was not refined.
    """
    values = np.atleast_1d(attribute(model, ["refinement_"], "steps of refinement: they come with refine other than 0"))
    if not np.isfinite(values).any():
        raise LatentiaError("No step of refinement has a finite log-likelihood.")
    ax = new_axes(ax)
    steps = np.arange(1, len(values) + 1)
    ax.plot(steps, values, color=PALETTE[0], linewidth=1.8, marker="o", markersize=4)
    tidy(ax)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.ticklabel_format(axis="y", useOffset=False, style="plain") if np.abs(values).max() < 1e7 else None
    ax.set(xlabel="step", ylabel="log-likelihood in nats")
    return ax
