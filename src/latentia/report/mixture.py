"""Summaries of mixtures, for readers who do not program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
from scipy import sparse

from ..effects import Effects
from ..mixtures import MultiViewMixture, SphericalGaussianMixture
from ..reading import positive_value
from ..summaries import Answer, Column, Figure, Summary, Table, block, grade_columns
from ._effects import effects_lines, effects_parts
from .figures import means_map, places_on_a_plane, points
from .page import page
from .parts import check_keys, check_shape, column_names, count, evidence_of, grades_say, largest, listing, short_number

_MAX_TOP_COLUMNS, _MAX_TITLE_COLUMNS, _MAP_COLUMNS, _MAX_POINTS = 6, 2, 60, 2000


@page("Components", "rows")
def summarize_mixture(
    model: Any,
    values: Any = None,
    *,
    columns: Sequence[str] | None = None,
    means: np.ndarray | None = None,
    probabilities: np.ndarray | None = None,
    scaling: Mapping[str, np.ndarray] | None = None,
    criteria: Mapping[str, float] | None = None,
    row_labels: Sequence[Column] = (),
    effects: tuple[str, Effects] | None = None,
) -> Summary:
    """Summarize a mixture and its reliability.

    Parameters
    ----------
    model : SphericalGaussianMixture or MultiViewMixture
        A fitted model.
    values : array or sparse matrix of shape (n_rows, D), optional
        Rows to show, in the units of the reader. Without them the summary has no rows.
    columns : sequence of str of length D, optional
        Names of the columns.
    means : ndarray of shape (K, D), optional
        Means in the same units; by default the model's.
    probabilities : ndarray of shape (n_rows, K), optional
        Probabilities of the components of every row; by default those of the model.
    scaling : dict of "subtracted" and "divided_by", optional
        Scaling that brought the columns to standard deviation 1, if any; then give ``means`` and ``probabilities`` too.
    criteria : dict of "bic" and "aic", optional
        Information criteria of the fit.
    row_labels : sequence of Column
        Columns that label the rows.
    effects : (str, Effects), optional
        A formula, and its estimated effects.

    Returns
    -------
    Summary

    """
    is_gaussian, means = isinstance(model, SphericalGaussianMixture), join_means(model) if means is None else means
    if probabilities is None and values is not None and (is_gaussian or model.has_densities):
        probabilities = model.predict_proba(values)
    check_shape("means", means, *join_means(model).shape)
    if probabilities is not None:
        check_shape(
            "probabilities", probabilities, len(probabilities) if values is None else values.shape[0], len(means)
        )
    size, names = len(means), column_names(columns, means.shape[1])
    overall = _expect_columns(model, means) if values is None else _measure_columns(values)
    hidden_names = set() if is_gaussian else _complements(model)
    if hidden_names:
        shown = np.array([name not in hidden_names for name in names])
        names, means, overall = list(compress(names, shown)), means[:, shown], (overall[0][shown], overall[1][shown])
        values = None if values is None else values[:, shown]
    distances = (means - overall[0]) / overall[1]
    most_probable = None if probabilities is None else probabilities.argmax(axis=1)
    plane = (
        ()
        if most_probable is None or values is None
        else (_draw_plane(model.weights_, distances, values, overall, most_probable),)
    )
    unit = "in standard deviations" if scaling or not is_gaussian else "in the units of the data"
    titles = [
        ", ".join(
            f"{names[d]} {'high' if deviations[d] > 0 else 'low'}"
            for d in largest(np.abs(deviations), _MAX_TITLE_COLUMNS)
        )
        for deviations in distances
    ]
    kinds = None if is_gaussian else model.kinds
    in_rows = "" if values is None else f" in {count(values.shape[0], 'row')}"
    return Summary(
        headline=f"{count(size, 'component')}{in_rows} of {count(len(names if kinds is None else kinds), 'column')}.",
        parts=(
            _build_components_table(model, means, distances, most_probable, names, bool(scaling), unit, criteria),
            *plane,
            *(() if probabilities is None else (build_rows_table(probabilities, row_labels),)),
            *(() if kinds is None else (_build_columns_table(model),)),
            *(() if scaling is None else (build_scaling_table(names, scaling),)),
            *(() if effects is None else effects_parts(*effects, titles)),
        ),
        answer=Answer(
            "Which groups do the rows fall into?",
            _write_answer(model.weights_, distances, names),
            _draw_means(model.weights_, means, distances, names),
        ),
        error=f"Expected error of a component's mean: {{}} on average, {unit} over all columns together.",
        reading=(("Scaling", _SCALING_MEANING),) if scaling else (),
        lines=() if effects is None else effects_lines(*effects, titles),
    )


def _complements(model: MultiViewMixture) -> set[str]:
    """Return the features of columns of two categories that say the same as the other one, such as "smokes = no"."""
    if model.kinds is None:
        return set()
    features = {name for names in model.feature_names or () for name in names}
    categories: dict[str, list[str]] = {}
    for column, label, _ in model.parameters:
        if model.kinds[column] == "categorical":
            categories.setdefault(column, []).append(label.removeprefix("probability of "))
    hidden_names = {
        f"{column} = {next(value for value in pair if value != positive_value(pair))}"
        for column, pair in categories.items()
        if len(pair) == 2
    }
    return hidden_names & features


def _build_columns_table(model: MultiViewMixture) -> Table:
    """Build the table of columns of several kinds: a line for every parameter, with its value in each component."""
    parameters = model.parameters
    columns, labels, values = zip(*parameters, strict=True)
    return Table(
        "columns",
        (
            Column("column", columns, kind="name"),
            Column(
                "parameter", labels, kind="text",
                meaning="A parameter of the column in each component: mean and standard deviation of numbers, probabilities of "
                "categories, mean of counts.",
            ),
            *(Column(f"component {k}", column_values, ".8g", short_number) for k, column_values in
            enumerate(np.array(values).T)),
        ),
        title="All columns",
        hint="The typical values of each component in each column.",
        file="columns.csv",
    )  # fmt: skip


def join_means(model: Any) -> np.ndarray:
    """Return the means (K, D), those of views side by side."""
    return np.hstack(model.means_) if isinstance(model.means_, list) else model.means_  # type: ignore[no-any-return]


def build_rows_table(probabilities: np.ndarray, row_labels: Sequence[Column] = ()) -> Table:
    """Build the table of every row's most probable component, from probabilities (n_rows, K)."""
    most_probable = probabilities.argmax(axis=1)
    probability = probabilities[np.arange(len(most_probable)), most_probable]
    return Table(
        "rows",
        (*row_labels, Column("component", most_probable), Column("probability", probability, ".5f")),
        file="labels.csv",
    )


def build_scaling_table(names: list[str], scaling: Mapping[str, np.ndarray]) -> Table:
    """Build the table of the scaling before the fit."""
    check_keys("scaling", scaling, ("subtracted", "divided_by"))
    values = [np.asarray(scaling[key]) for key in ("subtracted", "divided_by")]
    for column in values:
        check_shape("scaling", column, len(names))
    return Table(
        "scaling",
        (Column("column", names), Column("subtracted", values[0], str), Column("divided by", values[1], str)),
        file="scaling.csv",
    )


def _write_answer(weights: np.ndarray, distances: np.ndarray, names: list[str]) -> str:
    descriptions = [
        listing(
            f"{'high' if deviations[d] > 0 else 'low'} {names[d]}"
            for d in largest(np.abs(deviations), _MAX_TITLE_COLUMNS)
        )
        for deviations in distances
    ]
    groups = [f"{share:.0%} of the rows ({text})" for share, text in zip(weights, descriptions, strict=True)]
    return f"{count(len(groups), 'group')}: {listing(groups)}."


def _build_components_table(
    model: Any,
    means: np.ndarray,
    distances: np.ndarray,
    labels: np.ndarray | None,
    names: list[str],
    scaled: bool,
    unit: str,
    criteria: Mapping[str, float] | None,
) -> Table:
    evidence, size, is_gaussian = evidence_of(model), len(means), isinstance(model, SphericalGaussianMixture)
    in_files = "" if not scaled and is_gaussian else "standard deviations"
    top_columns = [
        [(names[d], means[k, d], f"{distances[k, d]:+.1f}") for d in largest(np.abs(distances[k]), _MAX_TOP_COLUMNS)]
        for k in range(size)
    ]
    counts = () if labels is None else (Column("rows", np.bincount(labels, minlength=size), "", ",", where="p"),)
    criteria_list = ", ".join(f"{name.upper()} {value:,.0f}" for name, value in (criteria or {}).items())
    criteria_text = f" ({criteria_list})" if criteria else ""
    scaling_note = " It is measured after scaling." if scaled else ""
    columns = (
        "the same for all" if is_gaussian and model.covariance_type == "spherical" else "on average over the columns"
    )
    spread = (
        Column(
            "spread", np.sqrt(model.variance_), ".8g", short_number, unit=in_files, where="pf",
            meaning=f"Distance of the component's rows from its mean in one column: a standard deviation, {columns}."
            + scaling_note,
        ),
    ) if is_gaussian else ()  # fmt: skip
    error = (
        "The rows are split at random, and components are fitted to each part. The distance by which a mean moves estimates "
        f"its distance from the truth, {unit}, over all columns together. "
        + grades_say(evidence, "a component", "other rows of the same kind would give another one")
        + " The limit depends on the distances between the means."
    )
    return Table(
        "components",
        (
            Column("component", range(size), kind="key", meaning=_COMPONENT_MEANING),
            Column("share", model.weights_, ".6f", kind="share", term="Share, rows", meaning=_SHARE_MEANING),
            *counts,
            *grade_columns(evidence, size, unit=in_files, meaning=error),
            *spread,
            Column("what sets it apart", top_columns, short=short_number, kind="words", where="ps"),
            *block(names, means),
        ),
        title="All components",
        hint="The largest first. What sets a component apart: the columns whose means are farthest from the overall mean, with "
        "the distance in standard deviations in brackets.",
        file="means.csv",
        caption=f"{size} components, largest first{criteria_text}",
        label="component",
    )


def _measure_columns(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Measure the mean and the standard deviation of the columns; the latter is 1 for a constant column."""
    if sparse.issparse(values):
        mean = np.asarray(values.mean(axis=0)).ravel()
        variance = np.maximum(np.asarray(values.multiply(values).mean(axis=0)).ravel() - mean**2, 0)
    else:
        observed = np.ma.masked_invalid(values)  # NaN is a missing cell
        mean, variance = np.ma.filled(observed.mean(axis=0), 0.0), np.ma.filled(observed.var(axis=0), 0.0)
    return mean, np.where(variance > 0, np.sqrt(variance), 1.0)


def _expect_columns(model: Any, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the mean and standard deviation of the columns that the model expects."""
    mean = model.weights_ @ means / model.weights_.sum()
    if isinstance(model, MultiViewMixture):  # The model keeps the standard deviations of the fitted rows.
        return mean, np.concatenate(model.column_scales)
    variance = model.weights_ @ ((means - mean) ** 2 + model.variance_[:, None]) / model.weights_.sum()
    return mean, np.sqrt(variance)


# --- figures --------------------------------------------------------------------------------------------------------


def _draw_means(weights: np.ndarray, means: np.ndarray, distances: np.ndarray, names: list[str]) -> Figure:
    """Draw the means that differ most, in standard deviations from the overall mean."""
    omission = " Columns: the 60 whose means differ most." if len(names) > _MAP_COLUMNS else ""
    return Figure(
        "means",
        means_map("component", means, distances, weights, names),
        "Means of the components",
        "Heat map of the means; means.csv holds the numbers",
        "Distance of each component's mean from the overall mean, in standard deviations of the column: blue above, brown "
        f"below. Columns without colour do not distinguish the components.{omission}",
    )


def _draw_plane(
    weights: np.ndarray, distances: np.ndarray, values: Any, overall: tuple[np.ndarray, np.ndarray], labels: np.ndarray
) -> Figure:
    """Draw a sample of the rows in the plane in which the means differ most."""
    centre, deviation = overall
    sample = np.sort(np.random.default_rng(0).permutation(len(labels))[:_MAX_POINTS])
    rows = values[sample]
    rows = rows.toarray() if sparse.issparse(rows) else np.where(np.isnan(rows), centre, rows)
    plane = places_on_a_plane(distances, weights / weights.sum())
    names = [f"component {k}" for k in range(len(weights))]
    selection = "A random sample of the rows" if len(labels) > _MAX_POINTS else "All rows"
    return Figure(
        "plane",
        points(((rows - centre) / deviation) @ plane, labels[sample], distances @ plane, names),
        "The rows in a plane",
        "Rows in the plane of the means; labels.csv holds the component of every row",
        f"{selection}, in the plane in which the means differ most, each in the colour of its component. The numbered circles "
        "are the means: clouds that do not touch are well separated.",
        term="The plane",
        meaning="Rows have as many dimensions as there are columns, and the plane has two. Components that overlap there may "
        "still be separate in other directions.",
    )


_COMPONENT_MEANING = (
    "A group of similar rows. A component has a number, not a name: you decide what it stands for. Every row belongs to each "
    "component with a probability; labels.csv names the most probable one."
)
_SHARE_MEANING = (
    "The share of the component in the model, and the number of rows for which it is the most probable one."
)
_SCALING_MEANING = (
    "Before the fit every column was brought to mean 0 and standard deviation 1, so that columns of different units weigh "
    "equally. Distances, spreads and expected errors are therefore in standard deviations; the means above are in the units of "
    "the file."
)
