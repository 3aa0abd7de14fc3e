"""What are the components?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dictionary.patches import mosaic
from ..exceptions import LatentiaError
from ..report.figures import PALETTE, shortened
from ._axes import INK, PALE, attribute, called, colour, column_names, heat, new_axes, tidy

__all__ = ["plot_coefficients", "plot_components"]

_COLUMNS, _CURVES, _COEFFICIENTS = 40, 8, 40


def plot_components(
    model: Any,
    *,
    n: int | None = None,
    kind: str = "heat",
    shape: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    n_columns: int = _COLUMNS,
    ax: Any = None,
) -> Any:
    """Draw the components of a model of vectors: a heat map, curves, or pictures.

    Means of mixtures and of Gaussian states are drawn as distances from their weighted mean, so that what sets them apart is
    seen; everything else as it is. Of sources the mixing is drawn: the weight of each in every column.

    Parameters
    ----------
    model : estimator with ``components_``, ``means_`` or ``mixing_``
        A fitted model.
    n : int, optional
        How many components; by default all.
    kind : {"heat", "lines"}
        A row of colours for each component, or a curve over the columns in their order, such as a spectrum.
    shape : (int, int) or (int, int, 3), optional
        Height and width of the pictures that components are: they are drawn side by side then, grey being zero.
    columns : sequence of str of length D, optional
        Names of the columns; by default those that the model knows. Increasing numbers are the places of curves.
    n_columns : int
        How many columns a heat map shows: those that differ most.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    if kind not in ("heat", "lines"):
        raise LatentiaError('"heat" or "lines" is needed.', parameter="kind", value=kind)
    values, title = _vectors(model)
    values = values[:n]
    if shape is not None:
        return _pictures(values, shape, ax)
    names = column_names(model, values.shape[1], columns, "word" if hasattr(model, "word_frequencies_") else "column")
    one = called(model)[0]
    if kind == "lines":
        return _curves(values, names, one, title, ax)
    chosen = np.arange(values.shape[1])
    if len(chosen) > n_columns:
        chosen = np.sort(np.argsort(-((values - values.mean(axis=0)) ** 2).sum(axis=0), kind="stable")[:n_columns])
    ax = heat(ax, values[:, chosen], [f"{one} {k}" for k in range(len(values))], [names[d] for d in chosen])
    if title:
        ax.set_xlabel(title)
    return ax


def _vectors(model: Any) -> tuple[np.ndarray, str]:
    """Components as rows (K, D), and what they are where that is not plain."""
    if hasattr(model, "mixing_") and isinstance(model.mixing_, np.ndarray):
        return np.asarray(model.mixing_.T), "weight of the source in the column"
    found = attribute(model, ["means_", "components_", "word_probabilities_"], "components that are vectors")
    vectors = np.hstack(found) if isinstance(found, list) else np.asarray(found)
    if vectors.ndim != 2:
        raise LatentiaError(f"The components of this {type(model).__name__} are no vectors.")
    if hasattr(model, "means_"):
        return vectors - model.weights_ @ vectors / model.weights_.sum(), "distance from the overall mean"
    return vectors, ""


def _pictures(values: np.ndarray, shape: Sequence[int], ax: Any) -> Any:
    if int(np.prod(shape)) != values.shape[1] or len(shape) not in (2, 3):
        raise LatentiaError(f"Components have {values.shape[1]} columns.", parameter="shape", value=tuple(shape))
    image = mosaic(values, shape)
    ax = new_axes(ax, 6.4, 6.4 * image.shape[0] / image.shape[1])
    ax.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    ax.set_axis_off()
    return ax


def _curves(values: np.ndarray, names: list[str], one: str, title: str, ax: Any) -> Any:
    ax = new_axes(ax, 7.2, 4.0)
    try:
        places = np.array([float(name) for name in names])
    except ValueError:
        places = np.arange(values.shape[1], dtype=float)
    for k, row in enumerate(values):
        style = ("-", "--", ":")[k // len(PALETTE) % 3]
        ax.plot(places, row, color=colour(k), linestyle=style, linewidth=1.6, label=f"{one} {k}")
    tidy(ax)
    ax.set(xlabel="column", ylabel=title or "entry")
    ax.legend(frameon=False, fontsize=9, ncols=1 + len(values) // (_CURVES + 1))
    return ax


def plot_coefficients(
    model: Any, *, n: int = _COEFFICIENTS, columns: Sequence[str] | None = None, ax: Any = None
) -> Any:
    """Draw coefficients, or couplings, with bars of their expected errors, beside those of simpler methods.

    The shared part of the two views is removed from the coefficients of ``model``, and not from those of U alone.

    Parameters
    ----------
    model : ContrastiveRegression, ContrastiveLogisticRegression or ContrastiveIsing
        A fitted model.
    n : int
        How many: those of the largest size.
    columns : sequence of str of length d_u, optional
        Names of the columns of U.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    values = np.ravel(attribute(model, ["coef_", "couplings_"], "coefficients"))
    names = column_names(model, model.n_features_in_, columns)
    others = {
        "U alone": getattr(model, "naive_coef_", None), "V as covariates": getattr(model, "covariates_coef_", None),
    }  # fmt: skip
    errors = model.evidence_.component_errors
    if hasattr(model, "couplings_"):
        names, others = [f"{shortened(names[i], 14)}, {shortened(names[j], 14)}" for i, j in model.edges_], {}
    elif len(values) != len(names):
        raise LatentiaError(f"This {type(model).__name__} has no coefficient for every column.")
    elif errors is not None:  # relative to the size of all, columns in standard deviations
        errors = errors * np.sqrt(np.mean((values * model._scale) ** 2)) / model._scale
    chosen = np.sort(np.argsort(-np.abs(values), kind="stable")[:n])
    ax = new_axes(ax, 6.4, 0.3 * len(chosen) + 1.4)
    places = np.arange(len(chosen))
    ax.axvline(0, color=PALE, linewidth=1)
    ax.errorbar(
        values[chosen], places, xerr=None if errors is None else errors[chosen], fmt="o", color=PALETTE[0], ecolor=PALETTE[0],
        elinewidth=1.6, capsize=3, label="this fit", zorder=3,
    )  # fmt: skip
    for (name, found), marker, tint in zip(others.items(), "s^", (PALETTE[1], PALETTE[3]), strict=False):
        if found is not None:
            ax.plot(np.ravel(found)[chosen], places, marker, color=tint, label=name, alpha=0.9)
    ax.set_yticks(places, [shortened(names[d], 30) for d in chosen])
    ax.invert_yaxis()
    tidy(ax, "x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("coupling" if hasattr(model, "couplings_") else "coefficient, in the units of the data")
    handles, labels = ax.get_legend_handles_labels()
    if len(labels) > 1:  # this fit, which matplotlib lists last, first
        ax.legend(handles[::-1], labels[::-1], frameon=False, fontsize=9, labelcolor=INK)
    return ax
