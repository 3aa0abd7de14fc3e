"""Plots of evidence: expected errors, the choice of the number of components, convergence, spectra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ..report.figures import spectrum
from ..report.parts import largest
from ._axes import GRADES, INK, PALE, attribute, colour, disable_formulas, entry, finish_axes, legend, new_axes, rule
from .figures import plot_figure

_MAX_LABELS = 25  # Only the components with the largest errors have numbers.
_CARE_FACTOR = 2.0  # times the limit: the bound of the grade "with care"
_SIZES = {
    "NoisyOr": lambda model: (len(model.priors_), "causes"),
    "ProbabilityMatrix": lambda model: (model.n_components, "rank"),
    "MixedMembershipBlockModel": lambda model: (model.memberships_.shape[1], "communities"),
}
"""Number and name of the directions of a model."""


@disable_formulas
def plot_evidence(model: Any, *, ax: Any = None) -> Any:
    """Draw the expected error of every component against its share of the data, coloured by grade.

    Lines show the limit, up to which a component is supported, and twice the limit, up to which it can be used with care.
    Components without shares are placed by number.

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
    evidence, (singular, plural, rows) = model.evidence_, model.nouns
    records = evidence.components
    if not len(records):
        raise LatentiaError(f"This {type(model).__name__} has no expected errors: fit it with n_splits of 1 or more.")
    ax, shared = new_axes(ax, 6.4, 4.2), records[0].share is not None
    places = np.array([100 * record.share if shared else record.component for record in records], dtype=float)
    errors = np.array([record.expected_error for record in records], dtype=float)
    finite = np.isfinite(errors)
    grades = [record.grade if is_finite else "" for record, is_finite in zip(records, finite, strict=True)]
    _scatter_by_grade(ax, places, errors, grades, counted=True)
    if not finite.all():
        ax.plot([], [], "x", color=PALE, label=f"error not finite ({(~finite).sum()})")
    legend(ax)
    for k in largest(np.where(finite, errors, -1.0), min(_MAX_LABELS, int(finite.sum()))):
        ax.annotate(str(k), (places[k], errors[k]), xytext=(5, 4), textcoords="offset points", size=8, color=INK)
    top = float(errors[finite].max(initial=0.0))
    for times, text in ((1.0, "limit"), (_CARE_FACTOR, "twice the limit")):
        if evidence.limit is not None and (times == 1 or top > evidence.limit):
            rule(ax, times * evidence.limit, text)
            top = max(top, times * evidence.limit)
    ax.set_ylim(0, 1.12 * top or 1.0)
    if shared:
        ax.set_xlim(0, 1.06 * max(places.max(), 1e-12))
    x, article = f"share of the {rows} in %" if shared else singular, "an" if singular[0] in "aeio" else "a"
    title = f"{plural.capitalize()}: {evidence.grade}"
    return finish_axes(ax, x, f"expected error of {article} {singular}", title=title, whole_numbers=not shared)


def _scatter_by_grade(ax: Any, x: np.ndarray, y: np.ndarray, grades: Sequence[str], counted: bool = False) -> None:
    for grade, (tint, marker) in GRADES.items():
        of_grade = np.array([entry == grade for entry in grades])
        if of_grade.any():
            label = f"{grade} ({of_grade.sum()})" if counted else grade
            ax.scatter(
                x[of_grade], y[of_grade], s=60, c=tint, marker=marker, label=label, linewidths=0, alpha=0.9, zorder=2
            )


@disable_formulas
def plot_comparison(model: Any, *, ax: Any = None) -> Any:
    """Draw the expected error against the number of components, for all compared numbers, coloured by grade.

    The dashed line is the limit; the vertical line is the recommended number.

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
        If only one number was fitted.
    """
    rows = attribute(model, "comparison_", 'comparison: fit it with n_components="auto" or several numbers')
    sizes, errors, limits = (
        np.array([row[key] for row in rows], dtype=float) for key in ("n_components", "expected error", "limit")
    )
    ax, chosen_size, (singular, plural, _) = new_axes(ax), model.n_components_, model.nouns
    ax.plot(sizes, errors, color=PALE, linewidth=1.5, zorder=1)
    if np.isfinite(limits).any():
        ax.plot(sizes, limits, color=INK, linestyle="--", linewidth=1.2, label="limit")
    _scatter_by_grade(ax, sizes, errors, [row["grade"] for row in rows])
    ax.axvline(chosen_size, color=INK, linewidth=1)
    label_position = {"ha": "right", "xytext": (-4, 4)} if chosen_size > sizes.mean() else {"xytext": (4, 4)}
    place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    ax.annotate(f"{chosen_size} chosen", (chosen_size, 0), size=9, color=INK, **label_position, **place)
    ax.set_ylim(0, 1.12 * np.nanmax([*errors, *limits, 1e-12]))
    legend(ax)
    return finish_axes(ax, f"number of {plural}", f"mean expected error of a {singular}", whole_numbers=True)


@disable_formulas
def plot_refinement(model: Any, *, ax: Any = None) -> Any:
    """Draw the log-likelihood at every refinement step.

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
    values = attribute(model, "refinement_", "steps of refinement: they come with refine other than 0")
    if not np.isfinite(values).any():
        raise LatentiaError("No step of refinement has a finite log-likelihood.")
    ax = new_axes(ax)
    ax.plot(np.arange(1, len(values) + 1), values, color=colour(0), linewidth=1.8, marker="o", markersize=4)
    if np.nanmax(np.abs(values)) < 1e7:
        ax.ticklabel_format(axis="y", useOffset=False, style="plain")
    return finish_axes(ax, "step", "log-likelihood in nats", whole_numbers=True)


@disable_formulas
def plot_spectrum(model: Any, *, n: int | None = None, ax: Any = None) -> Any:
    """Draw the sizes of the data's directions, and the size that noise alone reaches.

    Directions that the components need are blue. If fewer directions than these exceed the dashed line, the model has too many
    components for this data; if more do, a larger number may reveal others.

    Parameters
    ----------
    model : NoisyOr, ProbabilityMatrix or MixedMembershipBlockModel
        A fitted model.
    n : int, optional
        Number of directions to show; by default all.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    values = np.asarray(attribute(model, "spectrum_", "spectrum"), dtype=float)[:n]
    if len(model.spectrum_) == 1:
        raise LatentiaError(f"The spectrum of this {type(model).__name__} is a single number: {float(values[0]):.3g}.")
    size, noun = entry(model, _SIZES, "spectrum of directions")(model)
    needed = size if noun == "causes" else size - 1  # Frequencies determine one direction of pairs.
    noise = float(model.noise_level_ or 0.0)
    edges = ([noise, -noise] if (values < 0).any() else [noise]) if noise else []
    ax = plot_figure(spectrum(values, needed, edges, "size", exact=True), ax=ax)
    ax.set_title(f"{needed} needed for {f'rank {size}' if noun == 'rank' else f'{size} {noun}'}", loc="left", size=10)
    return ax
