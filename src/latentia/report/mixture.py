"""The report of a mixture, for readers who do not program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ._missing import without_data
from .figures import PALETTE, heat_map, places_on_a_plane, points, shortened
from .page import render, write_page
from .parts import Mark, Nouns, comparison_rows, component_marks, count, evidence_of, evidence_parts, version

__all__ = ["standard_deviations", "telling_columns", "write_mixture_report"]

_TELLING, _MAP_COLUMNS, _SAMPLE = 6, 60, 2000
_NOUNS = Nouns("components", "component", "rows")


@dataclass(frozen=True)
class _Component:
    """What the page shows of a component; `telling` are columns, means, and their distance from the overall mean."""

    number: int
    share: float
    rows: int | None
    error: float | None
    grade: Mark
    spread: float | None
    colour: str
    telling: list[tuple[str, float, float]]


def standard_deviations(means: np.ndarray, values: Any) -> np.ndarray:
    """Means (K, D) as distances from the overall mean in standard deviations of the rows."""
    centre, deviation = _overall(values)
    return (means - centre) / deviation


def telling_columns(scaled: np.ndarray, component: int) -> np.ndarray:
    """The columns in which a component lies farthest from the overall mean, farthest first."""
    return np.argsort(-np.abs(scaled[component]), kind="stable")[:_TELLING]


def write_mixture_report(
    path: str | os.PathLike[str],
    model: Any,
    values: Any = None,
    *,
    columns: Sequence[str] | None = None,
    means: np.ndarray | None = None,
    labels: np.ndarray | None = None,
    scaled: bool = False,
    title: str = "Components",
    source: str = "",
    comparison: Sequence[Mapping[str, Any]] | None = None,
) -> Path:
    """Write what a mixture found, and how far it can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : SphericalGaussianMixture or MultiViewMixture
        A fitted model.
    values : array or sparse matrix of shape (n_rows, D), optional
        The rows to show, in the units of the reader. Without them none are shown.
    columns : sequence of str of length D, optional
        Names of the columns.
    means : ndarray of shape (K, D), optional
        Means in the same units; by default the model's.
    labels : ndarray of int, shape (n_rows,), optional
        Component of every row; by default the model's prediction.
    scaled : bool
        Whether the model was fitted on columns brought to standard deviation 1; then ``means`` and ``labels`` are needed.
    title, source : str
        Heading of the page, and where the rows came from.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of components, the first value the number.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    if means is None:
        means = np.hstack(model.means_) if isinstance(model.means_, list) else model.means_
    if labels is None and values is not None and getattr(model, "distribution", "") is not None:
        labels = model.predict(values)
    names = [f"column {i}" for i in range(1, means.shape[1] + 1)] if columns is None else [str(c) for c in columns]
    if len(names) != means.shape[1]:
        raise LatentiaError(f"columns has {len(names)} entries and the data has {means.shape[1]}: they must agree.")
    overall = _overall_of_model(model, means) if values is None else _overall(values)
    distances = (means - overall[0]) / overall[1]
    n_rows = None if values is None else values.shape[0]
    in_rows = "" if n_rows is None else f" in {count(n_rows, 'row')}"
    figures = {"means": _means(model.weights_, means, distances, names)}
    if labels is not None:
        figures["plane"] = _plane(model.weights_, distances, values, overall, labels)
    components = _describe(model, means, distances, labels, names)
    unit = "in standard deviations" if scaled or not hasattr(model, "variance_") else "in the units of the data"
    page = render(
        "mixture.html",
        title=title,
        source=source,
        summary=f"{count(len(means), 'component')}{in_rows} of {count(len(names), 'column')}.",
        nouns=_NOUNS,
        evidence=evidence_parts(evidence_of(model)),
        error=_error_sentence([component.error for component in components], unit),
        components=components,
        scaled=scaled,
        spherical=hasattr(model, "variance_"),
        unit=unit,
        all_columns=len(names) <= _MAP_COLUMNS,
        sampled=n_rows is not None and n_rows > _SAMPLE,
        data=figures,
        comparison=comparison_rows(comparison, len(means)),
        version=version(),
        missing=without_data("rows") if n_rows is None else "",
    )
    return write_page(path, page)


def _describe(
    model: Any, means: np.ndarray, distances: np.ndarray, labels: np.ndarray | None, names: list[str]
) -> list[_Component]:
    marks = component_marks(evidence_of(model), len(means))
    counts = None if labels is None else np.bincount(labels, minlength=len(means))
    return [
        _Component(
            number=i,
            share=float(model.weights_[i]),
            rows=None if counts is None else int(counts[i]),
            error=error,
            grade=mark,
            spread=float(np.sqrt(model.variance_[i])) if hasattr(model, "variance_") else None,
            colour=PALETTE[i % len(PALETTE)],
            telling=[(names[d], float(means[i, d]), float(distances[i, d])) for d in telling_columns(distances, i)],
        )
        for i, (error, mark) in enumerate(marks)
    ]


def _overall(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the columns, these 1 where a column is constant."""
    mean = np.asarray(values.mean(axis=0)).ravel()
    square = np.asarray(values.multiply(values).mean(axis=0)).ravel() if sparse.issparse(values) else None
    variance = values.var(axis=0) if square is None else np.maximum(square - mean**2, 0)
    return mean, np.where(variance > 0, np.sqrt(variance), 1.0)


def _overall_of_model(model: Any, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, of the rows that the model expects."""
    mean = model.weights_ @ means / model.weights_.sum()
    if hasattr(model, "_scales"):  # of the rows that it was fitted on
        return mean, np.concatenate(model._scales)
    variance = model.weights_ @ ((means - mean) ** 2 + model.variance_[:, None]) / model.weights_.sum()
    return mean, np.sqrt(variance)


# --- figures --------------------------------------------------------------------------------------------------------


def _means(weights: np.ndarray, means: np.ndarray, distances: np.ndarray, names: list[str]) -> dict[str, Any]:
    """Those that differ most, in standard deviations from the overall mean."""
    chosen = np.sort(np.argsort(-(weights @ distances**2), kind="stable")[:_MAP_COLUMNS])
    hover = [
        [
            f"component {i}, {shortened(names[d])}\nmean {means[i, d]:.4g}\n{distances[i, d]:+.2f} standard deviations "
            "from the overall mean"
            for d in chosen
        ]
        for i in range(len(means))
    ]
    rows = [f"component {i}" for i in range(len(means))]
    return heat_map(distances[:, chosen], rows, [names[d] for d in chosen], hover=hover, signed=True, digits=1)


def _plane(
    weights: np.ndarray, distances: np.ndarray, values: Any, overall: tuple[np.ndarray, np.ndarray], labels: np.ndarray
) -> dict[str, Any]:
    """A sample of the rows in the plane in which the means lie farthest apart."""
    centre, deviation = overall
    sample = np.sort(np.random.default_rng(0).permutation(len(labels))[:_SAMPLE])
    rows = values[sample]
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    plane = places_on_a_plane(distances, weights / weights.sum())
    names = [f"component {i}" for i in range(len(weights))]
    return points(((rows - centre) / deviation) @ plane, labels[sample], distances @ plane, names)


# --- words about the whole ------------------------------------------------------------------------------------------


def _error_sentence(errors: Sequence[float | None], unit: str) -> str:
    measured = [error for error in errors if error is not None]
    if not measured:
        return ""
    return (
        f"Expected error of a component's mean: {np.mean(measured):.2g} on average, {unit} over all columns together."
    )
