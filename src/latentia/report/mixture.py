"""Mixtures, for readers who do not program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..effects import Effects
from ..mixtures import MultiViewMixture, SphericalGaussianMixture
from ..summaries import Answer, Column, Figure, Summary, Table, block, grade_columns
from ._effects import effects_lines, effects_parts
from .figures import means_map, places_on_a_plane, points
from .page import page
from .parts import column_names, count, evidence_of, grades_say, largest, listing, short_number

_TELLING, _NAMED, _MAP_COLUMNS, _SAMPLE = 6, 2, 60, 2000


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
    """Say what a mixture found, and how far it can be trusted.

    Parameters
    ----------
    model : SphericalGaussianMixture or MultiViewMixture
        A fitted model.
    values : array or sparse matrix of shape (n_rows, D), optional
        The rows to show, in the units of the reader. Without them none are shown.
    columns : sequence of str of length D, optional
        Names of the columns.
    means : ndarray of shape (K, D), optional
        Means in the same units; by default the model's.
    probabilities : ndarray of shape (n_rows, K), optional
        Of the components of every row; by default as the model has them.
    scaling : dict of "subtracted" and "divided_by", optional
        What brought the columns to standard deviation 1, if anything did; then ``means`` and ``probabilities`` are needed.
    criteria : dict of "bic" and "aic", optional
        Of the fit.
    row_labels : sequence of Column
        What tells the rows apart.
    effects : (str, Effects), optional
        A formula, and what ``effects`` says of it.

    Returns
    -------
    Summary

    """
    round_, means = isinstance(model, SphericalGaussianMixture), means_of(model) if means is None else means
    if probabilities is None and values is not None and (round_ or model.has_densities):
        probabilities = model.predict_proba(values)
    size, names = len(means), column_names(columns, means.shape[1])
    overall = _overall_of_model(model, means) if values is None else _overall(values)
    distances = (means - overall[0]) / overall[1]
    most_probable = None if probabilities is None else probabilities.argmax(axis=1)
    plane = () if most_probable is None else (_plane(model.weights_, distances, values, overall, most_probable),)
    unit = "in standard deviations" if scaling or not round_ else "in the units of the data"
    titles = [
        ", ".join(f"{names[d]} {'high' if one[d] > 0 else 'low'}" for d in largest(np.abs(one), _NAMED))
        for one in distances
    ]
    kinds = None if round_ else model.kinds
    in_rows = "" if values is None else f" in {count(values.shape[0], 'row')}"
    return Summary(
        says=f"{count(size, 'component')}{in_rows} of {count(len(names if kinds is None else kinds), 'column')}.",
        parts=(
            _table(model, means, distances, most_probable, names, bool(scaling), unit, criteria),
            *plane,
            *(() if probabilities is None else (rows_of(probabilities, row_labels),)),
            *(() if kinds is None else (_columns(model),)),
            *(() if scaling is None else (scaling_of(names, scaling),)),
            *(() if effects is None else effects_parts(*effects, titles)),
        ),
        answer=Answer(
            "Which groups do the rows fall into?",
            _words(model.weights_, distances, names),
            _means(model.weights_, means, distances, names),
        ),
        error=f"Expected error of a component's mean: {{}} on average, {unit} over all columns together.",
        reading=(("Scaling", _SCALED),) if scaling else (),
        lines=() if effects is None else effects_lines(*effects, titles),
    )


def _columns(model: MultiViewMixture) -> Table:
    """What each component has in each column of several kinds: a line for every parameter."""
    parameters = model.parameters
    columns, said, values = zip(*parameters, strict=True)
    return Table(
        "columns",
        (
            Column("column", columns, kind="name"),
            Column(
                "parameter", said, kind="text",
                meaning="Of the column in a component: mean and standard deviation of numbers, probabilities of categories, "
                "mean of counts.",
            ),
            *(Column(f"component {k}", own, ".8g", short_number) for k, own in enumerate(np.array(values).T)),
        ),
        title="All columns",
        hint="What rows of each component have in each column.",
        file="columns.csv",
    )  # fmt: skip


def means_of(model: Any) -> np.ndarray:
    """Its means (K, D), those of views side by side."""
    return np.hstack(model.means_) if isinstance(model.means_, list) else model.means_  # type: ignore[no-any-return]


def rows_of(probabilities: np.ndarray, row_labels: Sequence[Column] = ()) -> Table:
    """The most probable component of every row, of probabilities (n_rows, K)."""
    most = probabilities.argmax(axis=1)
    sure = probabilities[np.arange(len(most)), most]
    return Table(
        "rows", (*row_labels, Column("component", most), Column("probability", sure, ".5f")), file="labels.csv"
    )


def scaling_of(names: list[str], scaling: Mapping[str, np.ndarray]) -> Table:
    """What was done to the columns before the fit."""
    values = scaling["subtracted"], scaling["divided_by"]
    return Table(
        "scaling",
        (Column("column", names), Column("subtracted", values[0], str), Column("divided by", values[1], str)),
        file="scaling.csv",
    )


def _words(weights: np.ndarray, distances: np.ndarray, names: list[str]) -> str:
    apart = [
        listing(f"{'high' if own[d] > 0 else 'low'} {names[d]}" for d in largest(np.abs(own), _NAMED))
        for own in distances
    ]
    groups = [f"{share:.0%} of the rows ({text})" for share, text in zip(weights, apart, strict=True)]
    return f"{count(len(groups), 'group')}: {listing(groups)}."


def _table(
    model: Any,
    means: np.ndarray,
    distances: np.ndarray,
    labels: np.ndarray | None,
    names: list[str],
    scaled: bool,
    unit: str,
    criteria: Mapping[str, float] | None,
) -> Table:
    evidence, size, round_ = evidence_of(model), len(means), isinstance(model, SphericalGaussianMixture)
    in_files = "" if not scaled and round_ else "standard deviations"
    told = [
        [(names[d], means[k, d], f"{distances[k, d]:+.1f}") for d in largest(np.abs(distances[k]), _TELLING)]
        for k in range(size)
    ]
    counts = () if labels is None else (Column("rows", np.bincount(labels, minlength=size), "", ",", where="p"),)
    by = " (BIC {bic:,.0f}, AIC {aic:,.0f})".format(**criteria) if criteria else ""
    after = " It is measured after scaling." if scaled else ""
    columns = "the same for all" if round_ and model.covariance_type == "spherical" else "on average over the columns"
    spread = (
        Column(
            "spread", np.sqrt(model.variance_), ".8g", short_number, unit=in_files, where="pf",
            meaning=f"How far rows of the component lie from its mean in one column: a standard deviation, {columns}.{after}",
        ),
    ) if round_ else ()  # fmt: skip
    error = (
        "The rows are split at random, and components are learned from the parts anew. How far a mean moves says how far it "
        f"may be from the truth, {unit}, over all columns together. "
        + grades_say(evidence, "a component", "other rows of the same kind would give another one")
        + " The limit depends on how far the means lie apart."
    )
    return Table(
        "components",
        (
            Column("component", range(size), kind="key", meaning=_COMPONENT),
            Column("share", model.weights_, ".6f", kind="share", term="Share, rows", meaning=_SHARE),
            *counts,
            *grade_columns(evidence, size, unit=in_files, meaning=error),
            *spread,
            Column("what sets it apart", told, short=short_number, kind="words", where="ps"),
            *block(names, means),
        ),
        title="All components",
        hint="The largest first. What sets a component apart: the columns whose means lie farthest from the overall mean, in "
        "brackets by how many standard deviations.",
        file="means.csv",
        caption=f"{size} components, largest first{by}",
        label="component",
    )


def _overall(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the columns, these 1 where a column is constant."""
    if sparse.issparse(values):
        mean = np.asarray(values.mean(axis=0)).ravel()
        variance = np.maximum(np.asarray(values.multiply(values).mean(axis=0)).ravel() - mean**2, 0)
    else:
        seen = np.ma.masked_invalid(values)  # NaN is a missing cell
        mean, variance = np.ma.filled(seen.mean(axis=0), 0.0), np.ma.filled(seen.var(axis=0), 0.0)
    return mean, np.where(variance > 0, np.sqrt(variance), 1.0)


def _overall_of_model(model: Any, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, of the rows that the model expects."""
    mean = model.weights_ @ means / model.weights_.sum()
    if isinstance(model, MultiViewMixture):  # of the rows that it was fitted on
        return mean, np.concatenate(model.column_scales)
    variance = model.weights_ @ ((means - mean) ** 2 + model.variance_[:, None]) / model.weights_.sum()
    return mean, np.sqrt(variance)


# --- figures --------------------------------------------------------------------------------------------------------


def _means(weights: np.ndarray, means: np.ndarray, distances: np.ndarray, names: list[str]) -> Figure:
    """Those that differ most, in standard deviations from the overall mean."""
    cut = " Columns: the 60 whose means differ most." if len(names) > _MAP_COLUMNS else ""
    return Figure(
        "means",
        means_map("component", means, distances, weights, names),
        "Means of the components",
        "Heat map of the means; means.csv holds the numbers",
        "How far the mean of each component lies from the overall mean, in standard deviations of the column: blue above, "
        f"brown below. Columns without colour do not tell the components apart.{cut}",
    )


def _plane(
    weights: np.ndarray, distances: np.ndarray, values: Any, overall: tuple[np.ndarray, np.ndarray], labels: np.ndarray
) -> Figure:
    """A sample of the rows in the plane in which the means lie farthest apart."""
    centre, deviation = overall
    sample = np.sort(np.random.default_rng(0).permutation(len(labels))[:_SAMPLE])
    rows = values[sample]
    rows = rows.toarray() if sparse.issparse(rows) else np.where(np.isnan(rows), centre, rows)
    plane = places_on_a_plane(distances, weights / weights.sum())
    names = [f"component {k}" for k in range(len(weights))]
    which = "A random sample of the rows" if len(labels) > _SAMPLE else "All rows"
    return Figure(
        "plane",
        points(((rows - centre) / deviation) @ plane, labels[sample], distances @ plane, names),
        "The rows in a plane",
        "Rows in the plane of the means; labels.csv holds the component of every row",
        f"{which}, in the plane in which the means lie farthest apart, each in the colour of its component. The numbered "
        "circles are the means: clouds that do not touch are well told apart.",
        term="The plane",
        meaning="Rows have as many dimensions as there are columns, and the plane has two. Components that cover each other "
        "there may still be apart in other directions.",
    )


_COMPONENT = (
    "A group of rows that are alike. A component has a number, not a name: what it stands for is for the reader to say. Every "
    "row belongs to each component with a probability; labels.csv names the most probable one."
)
_SHARE = "The share of the component in the model, and how many rows have it as their most probable one."
_SCALED = (
    "Before the fit every column was brought to mean 0 and standard deviation 1, so that columns of different units weigh "
    "equally. Distances, spreads and expected errors are therefore in standard deviations; the means above are in the units of "
    "the file."
)
