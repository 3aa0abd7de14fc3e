"""Plots of components and of their relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dictionary.patches import mosaic
from ..exceptions import LatentiaError
from ..report.figures import PALETTE, dot_plot, links, overlaid, shorten
from ..report.nmf import axis_of
from ..report.noisy_or import compute_heights, order_findings
from ..report.parts import largest
from ._axes import INK, attribute, check_names, column_names, disable_formulas, entry, heat, new_axes
from .figures import plot_figure

_N_COLUMNS, _N_COEFFICIENTS, _N_FINDINGS, _THRESHOLD = 40, 40, 40, 0.05
_VECTORS = dict.fromkeys(("MixtureMethods", "ContrastiveGaussianMixture", "SpectralHMM"), "means_") | {
    "TensorICA": "mixing_", "MomentMultiLabelClassifier": "word_probabilities_", "Estimator": "components_",
}  # fmt: skip
_WEIGHTS = {
    "ContrastiveRegression": "linear", "ContrastiveLogisticRegression": "logistic", "ContrastiveIsing": "couplings",
}  # fmt: skip


@disable_formulas
def plot_components(
    model: Any,
    *,
    n: int | None = None,
    kind: str = "heat",
    shape: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    n_columns: int = _N_COLUMNS,
    ax: Any = None,
) -> Any:
    """Draw the components of a model of vectors as a heat map, curves, or pictures.

    Means of mixtures and of Gaussian states are drawn as distances from their weighted mean, to show their differences. For
    sources, the mixing is drawn: the weight of each source in every column. Other components are drawn unchanged.

    Parameters
    ----------
    model : estimator with ``components_``, ``means_`` or ``mixing_``
        A fitted model.
    n : int, optional
        Number of components; by default all.
    kind : {"heat", "lines"}
        A row of colours per component, or a curve over the ordered columns, as for spectra.
    shape : (int, int) or (int, int, 3), optional
        Height and width of components that are pictures: they are drawn side by side, with zero as grey.
    columns : sequence of str of length D, optional
        Names of the columns; by default those of the model. Increasing numbers become the x-axis of curves.
    n_columns : int
        Number of columns in a heat map: those that differ most.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    if kind not in ("heat", "lines"):
        raise LatentiaError('expected "heat" or "lines".', parameter="kind", value=kind)
    values, title = _vectors(model)
    values = values[:n]
    if shape is not None:
        return _pictures(values, shape, ax)
    names, labels = column_names(model, values.shape[1], columns), [f"{model.nouns[0]} {k}" for k in range(len(values))]
    if kind == "lines":
        places = axis_of(names)
        x = np.arange(len(names)) if places is None else places
        curves = [(name, x, row) for name, row in zip(labels, values, strict=True)]
        return plot_figure(overlaid(curves, title="column", y_title=title or "entry", exact=True), ax=ax)
    chosen = np.sort(largest(((values - values.mean(axis=0)) ** 2).sum(axis=0), n_columns))
    return heat(ax, values[:, chosen], labels, [names[d] for d in chosen], column_title=title)


def _vectors(model: Any) -> tuple[np.ndarray, str]:
    """Return the components as rows (K, D), with a title if they need explanation."""
    name = entry(model, _VECTORS, "components")
    value = attribute(model, name, "components that are vectors")
    vectors = np.hstack(value) if isinstance(value, list) else np.asarray(value)
    if vectors.ndim != 2:
        raise LatentiaError(f"The components of this {type(model).__name__} are not vectors.")
    if name == "mixing_":
        return vectors.T, "weight of the source in the column"
    if name == "means_":
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


@disable_formulas
def plot_coefficients(
    model: Any, *, n: int = _N_COEFFICIENTS, columns: Sequence[str] | None = None, ax: Any = None
) -> Any:
    """Draw coefficients or couplings with bars of their expected errors, and those of simpler methods for comparison.

    The coefficients of ``model`` exclude the shared part of the two views; those of U alone include it.

    Parameters
    ----------
    model : ContrastiveRegression, ContrastiveLogisticRegression or ContrastiveIsing
        A fitted model.
    n : int
        Number of coefficients: the largest in size.
    columns : sequence of str of length d_u, optional
        Names of the columns of U.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    kind = entry(model, _WEIGHTS, "coefficients")
    names, errors = column_names(model, model.n_features_in_, columns), model.evidence_.component_errors
    title = "coefficient, in the units of the data"
    if kind == "couplings":
        values, title, simpler_answers = model.couplings_, "coupling", {}
        names = [f"{shorten(names[i], 14)}, {shorten(names[j], 14)}" for i, j in model.edges_]
    else:
        values = np.ravel(model.coef_)
        simpler_answers = (
            {} if kind == "logistic" else {"U alone": model.naive_coef_, "V as covariates": model.covariates_coef_}
        )
        if errors is not None:  # Errors are relative to the root mean square of the standardised coefficients.
            errors = errors * np.sqrt(np.mean((values * model.scale_) ** 2)) / model.scale_
    chosen = np.sort(largest(np.abs(values), n))
    estimates = {name: np.ravel(answer)[chosen] for name, answer in {"this fit": values, **simpler_answers}.items()}
    chosen_errors = None if errors is None else errors[chosen]
    return plot_figure(dot_plot([names[d] for d in chosen], estimates, chosen_errors, title=title, exact=True), ax=ax)


@disable_formulas
def plot_network(
    model: Any,
    *,
    n_findings: int = _N_FINDINGS,
    threshold: float = _THRESHOLD,
    columns: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the causes (left), their findings (right), and lines whose width is the strength of the cause.

    Parameters
    ----------
    model : NoisyOr
        A fitted model.
    n_findings : int
        Maximal number of findings: those with the strongest lines.
    threshold : float
        Weaker lines are not drawn.
    columns : sequence of str of length n, optional
        Names of the findings; by default those of the model.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    strengths = attribute(model, "strengths_", "strengths of causes")
    names = column_names(model, strengths.shape[1], columns)
    chosen = order_findings(strengths, threshold, n_findings)
    if not len(chosen):
        raise LatentiaError("no cause is that strong. Lower it.", parameter="threshold", value=threshold)
    chosen_strengths = strengths[:, chosen]
    circles, heights = (
        [(str(k), "", k % len(PALETTE)) for k in range(len(chosen_strengths))],
        compute_heights(chosen_strengths),
    )
    dots = [(shorten(names[i], 30), "") for i in chosen]
    edges = [(k, i, chosen_strengths[k, i]) for k, i in np.argwhere(chosen_strengths >= max(threshold, 1e-12))]
    ax = plot_figure(links(circles, dots, edges, (heights, np.arange(len(chosen)) + 0.5), exact=True), ax=ax)
    for prior, height in zip(model.priors_, heights, strict=True):
        ax.text(-0.06, height, f"in {100 * prior:.0f}%", va="center", ha="right", size=8, color=INK)
    return ax


@disable_formulas
def plot_connectivity(model: Any, *, ax: Any = None) -> Any:
    """Draw the model's weights of edges between communities, relative to the largest.

    Parameters
    ----------
    model : MixedMembershipBlockModel
        A fitted model.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    values = attribute(model, "connectivity_", "connectivity")
    names, ends = [str(k) for k in range(len(values))], ("from ", "to ") if model.directed_ else ("", "")
    row, column = (f"{end}community" for end in ends)
    return heat(ax, values / (float(values.max()) or 1.0), names, names, row_title=row, column_title=column)


@disable_formulas
def plot_transitions(model: Any, *, names: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Draw the probabilities of the next state (columns) given the current state (rows).

    Parameters
    ----------
    model : SpectralHMM or TwoStateHMM
        A fitted model.
    names : sequence of str of length K, optional
        Names of the states; by default their numbers.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    matrix = attribute(model, "transmat_", "transitions")
    labels = check_names(names, [str(k) for k in range(len(matrix))], "states")
    return heat(ax, matrix, labels, labels, row_title="from state", column_title="to state")
