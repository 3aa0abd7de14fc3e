"""Page of any model without its data: verdict, evidence, components and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contrastive import (
    BackgroundPCA,
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveIsing,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
    RichComponents,
)  # fmt: skip
from ..evidence import Evidence
from ..nmf import ApproximateNMF, PoissonNMF
from ..summaries import Answer, Column, Figure, Summary, Table, grade_columns
from .figures import heat_map, horizontal_bars
from .page import page
from .parts import column_names, count, evidence_of, grades_say, largest, listing, short_number

_N_COLUMNS, _MAX_ROWS, _MAX_MAP_ROWS, _MAX_MAP_COLUMNS, _MAX_BARS = 6, 300, 40, 60, 15


@page()
def summarize_any(
    model: Any,
    *,
    columns: Sequence[str] | None = None,
    note: str = "This page shows the model alone, without rows of the data.",
) -> Summary:
    """Say what is known of a fitted model without its data.

    Models without a page of their own have this page, and models whose page needs the data.

    Parameters
    ----------
    model : estimator of this library
        A fitted model.
    columns : sequence of str, optional
        Names of the columns of the data.
    note : str
        Note on missing parts.

    Returns
    -------
    Summary

    """
    evidence = evidence_of(model)
    noun = evidence.nouns[0]
    names = column_names(columns, int(model.n_features_in_))
    values, labels = _values(model, names)
    size = len(values) if values is not None else len(labels) or len(evidence.components)
    kind = type(model).__name__
    views = f" in {count(model.n_views_, 'view')}" if isinstance(model, RichComponents) else ""
    return Summary(
        headline=f"{kind}: {count(size, noun)}{views} of {count(len(names), 'column')}.",
        parts=(
            *((_table(model, values, labels, names, size, evidence),) if size else ()),
            _parameters(model),
        ),
        answer=_answer(model, values, labels, names, evidence),
        error=f"Expected error of a {evidence.nouns[0]}: {{}} on average.",
        missing=note,
    )


# --- what the components are ----------------------------------------------------------------------------------------


def _values(model: Any, names: list[str]) -> tuple[np.ndarray | None, list[str]]:
    """Return the values of the components, shape (K, D), or None; and their names, or an empty list."""
    if isinstance(model, RichComponents):
        several = [j for j, views in enumerate(model.subsets_) if model.present_[j] and len(views) > 1]
        return None, [f"shared by views {listing(model.subsets_[j])}" for j in several]
    if isinstance(model, ContrastiveIsing):
        return None, [f"{names[i]} and {names[j]}: {value:+.3g}" for (i, j), value in zip(
            model.edges_, model.couplings_, strict=True
        )]  # fmt: skip
    if isinstance(model, ContrastiveRegression | ContrastiveLogisticRegression):
        return None, [f"{name}: {value:+.3g}" for name, value in zip(names, np.ravel(model.coef_), strict=True)]
    if isinstance(model, ContrastiveComponents):
        return None, ["only in the first table", "in both tables", "only in the second table"]
    if isinstance(model, ContrastiveGaussianMixture):
        return model.means_, []
    with_rows = ApproximateNMF | PoissonNMF | BackgroundPCA | ContrastivePCA
    return (model.components_, []) if isinstance(model, with_rows) else (None, [])


def _table(
    model: Any, values: np.ndarray | None, labels: list[str], names: list[str], size: int, evidence: Evidence
) -> Table:
    singular, plural, rows = evidence.nouns
    shares = evidence.shares if evidence.shares is not None and len(evidence.shares) == size else None
    centre = 0.0 if values is None or not isinstance(model, ContrastiveGaussianMixture) else values.mean(axis=0)
    strongest = [
        [(names[d], float(row[d])) for d in largest(np.abs(row - centre), _N_COLUMNS) if row[d]]
        for row in (() if values is None else values)
    ]
    meaning = (
        f"The {rows} are split at random, and {plural} are learned again from the parts. The distance between the fits "
        f"estimates the distance to the truth. "
        + grades_say(evidence, f"a {singular}", "other data of the same kind would give another one")
    )
    made_of = "A building block of the data in this model. It has a number; the reader decides what it means."
    cut = f" The first {_MAX_ROWS} of {size}." if size > _MAX_ROWS else ""
    return Table(
        "components",
        (
            Column(singular, range(size), kind="bold", meaning=made_of),
            *(() if shares is None else (Column("share", shares, kind="share"),)),
            *((Column("what it is", labels, kind="text"),) if labels else ()),
            *((Column("strongest columns", strongest, short=short_number, kind="words"),) if any(strongest) else ()),
            *grade_columns(evidence, size, meaning=meaning),
        ),
        title=f"All {plural}",
        hint=("With the columns that distinguish each, and its values there." if any(strongest) else "") + cut,
        label="component",
        most=_MAX_ROWS,
    )


_QUESTIONS = {
    "ApproximateNMF": "Which parts add up to the rows?",
    "PoissonNMF": "Which parts add up to the counts?",
    "BackgroundPCA": "Along which directions do these rows vary more than the background?",
    "RichComponents": "What do several views have in common?",
}


def _answer(model: Any, values: np.ndarray | None, labels: list[str], names: list[str], evidence: Evidence) -> Answer:
    """Describe the components by their strongest columns, with a picture."""
    singular, plural, _ = evidence.nouns
    question = _QUESTIONS.get(type(model).__name__, f"Which {plural} does this data show?")
    if values is None:
        return Answer(
            question, f"{count(len(labels), singular)}: {listing(labels)}.", _numbers(model, labels, names, evidence)
        )
    phrases = [
        f"{singular} {k} mostly of {listing(names[d] for d in largest(np.abs(component), 3))}"
        for k, component in enumerate(values)
    ]
    return Answer(
        question,
        f"{count(len(values), singular)}: {listing(phrases, comma='; ')}.",
        *_map(values, labels, names, evidence),
    )


def _numbers(model: Any, labels: list[str], names: list[str], evidence: Evidence) -> Figure | None:
    """Draw coefficients, couplings or the strength of shared components as bars."""
    if isinstance(model, RichComponents):
        several = [j for j, views in enumerate(model.subsets_) if model.present_[j] and len(views) > 1]
        called = [label.removeprefix("shared by ") for label in labels]
        values, title = model.zero_test_[several], "size, relative to its noise"
    elif isinstance(model, ContrastiveIsing):
        called = [f"{names[i]}, {names[j]}" for i, j in model.edges_]
        values, title = model.couplings_, "coupling: positive together, negative apart"
    elif isinstance(model, ContrastiveRegression | ContrastiveLogisticRegression):
        called, values, title = names, np.ravel(model.coef_), "coefficient"
    else:
        return None
    first = largest(np.abs(values), _MAX_BARS)
    cut = f"The {_MAX_BARS} largest of {len(values)}." if len(values) > _MAX_BARS else f"All {evidence.nouns[1]}."
    data = horizontal_bars([called[i] for i in first], values[first], title=title, percent=False)
    return Figure("numbers", data, f"The {evidence.nouns[1]}", f"Bars of the {evidence.nouns[1]}", cut)


def _map(values: np.ndarray | None, labels: list[str], names: list[str], evidence: Evidence) -> tuple[Figure, ...]:
    if values is None or len(values) > _MAX_MAP_ROWS:
        return ()
    singular, plural, _ = evidence.nouns
    chosen = np.sort(largest((values**2).sum(axis=0), _MAX_MAP_COLUMNS))
    rows = labels or [f"{singular} {k}" for k in range(len(values))]
    hover, signed = "{row}, {column}\n{value:.4g}", bool((values < 0).any())
    return (
        Figure(
            "map",
            heat_map(values[:, chosen], rows, [names[d] for d in chosen], hover=hover, signed=signed),
            f"The {plural} side by side",
            f"Heat map of the {plural}",
            "Values in the columns of the data, at most the 60 largest: the stronger the colour, the larger the value.",
        ),
    )


def _parameters(model: Any) -> Table:
    parameters = sorted(model.get_params(deep=False).items())
    return Table(
        "parameters",
        (
            Column("parameter", [name for name, _ in parameters], kind="name"),
            Column("value", [repr(value) for _, value in parameters], kind="text"),
        ),
        title="Parameters",
        hint=f"Settings of this {type(model).__name__}.",
    )
