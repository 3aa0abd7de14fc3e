"""Any model, from what it knows without its data: verdict, evidence, components and parameters."""

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
from ..summaries import Answer, Column, Figure, Summary, Table, graded
from .figures import heat_map, named_bars
from .page import page
from .parts import column_names, count, evidence_of, grades_say, largest, listing, short_number

_TELLING, _MOST_LINES, _MAP_ROWS, _MAP_COLUMNS, _BARS = 6, 300, 40, 60, 15


@page()
def summarize_any(
    model: Any,
    *,
    columns: Sequence[str] | None = None,
    note: str = "This page shows what the model itself knows, and no rows.",
) -> Summary:
    """Say what is known of a fitted model without its data.

    It is said of models that have no page of their own, and of those whose page needs the data.

    Parameters
    ----------
    model : estimator of this library
        A fitted model.
    columns : sequence of str, optional
        Names of the columns of the data.
    note : str
        What the page lacks.

    Returns
    -------
    Summary

    """
    evidence = evidence_of(model)
    one = evidence.nouns[0]
    names = column_names(columns, int(model.n_features_in_))
    values, labels = _values(model, names)
    size = len(values) if values is not None else len(labels) or len(evidence.components)
    kind = type(model).__name__
    views = f" in {count(model.n_views_, 'view')}" if isinstance(model, RichComponents) else ""
    return Summary(
        says=f"{kind}: {count(size, one)}{views} of {count(len(names), 'column')}.",
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
    """What every component has in every column, shape (K, D), where it is known; and names of the components, or none."""
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
        return None, ["what the first table has alone", "what both share", "what the second has alone"]
    if isinstance(model, ContrastiveGaussianMixture):
        return model.means_, []
    with_rows = ApproximateNMF | PoissonNMF | BackgroundPCA | ContrastivePCA
    return (model.components_, []) if isinstance(model, with_rows) else (None, [])


def _table(
    model: Any, values: np.ndarray | None, labels: list[str], names: list[str], size: int, evidence: Evidence
) -> Table:
    one, many, rows = evidence.nouns
    shares = evidence.shares if evidence.shares is not None and len(evidence.shares) == size else None
    centre = 0.0 if values is None or not isinstance(model, ContrastiveGaussianMixture) else values.mean(axis=0)
    told = [
        [(names[d], float(row[d])) for d in largest(np.abs(row - centre), _TELLING) if row[d]]
        for row in (() if values is None else values)
    ]
    meaning = (
        f"The {rows} are split at random, and {many} are learned from the parts anew. How far one moves says how far it may be "
        f"from the truth. {grades_say(evidence, f'a {one}', 'other data of the same kind would give another one')}"
    )
    made_of = (
        "One part of which the model builds the data. It has a number, not a name: the reader says what it stands for."
    )
    cut = f" The first {_MOST_LINES} of {size}." if size > _MOST_LINES else ""
    return Table(
        "components",
        (
            Column(one, range(size), kind="bold", meaning=made_of),
            *(() if shares is None else (Column("share", shares, kind="share"),)),
            *((Column("what it is", labels, kind="text"),) if labels else ()),
            *((Column("strongest columns", told, short=short_number, kind="words"),) if any(told) else ()),
            *graded(evidence, size, meaning=meaning),
        ),
        title=f"All {many}",
        hint=("With the columns that set each apart, and what it has there." if any(told) else "") + cut,
        label="component",
        most=_MOST_LINES,
    )


_QUESTIONS = {
    "ApproximateNMF": "Of which parts are all rows sums?",
    "PoissonNMF": "Of which parts are all counts sums?",
    "BackgroundPCA": "Along which directions do these rows vary more than the background?",
    "RichComponents": "What do several views have in common?",
}


def _answer(model: Any, values: np.ndarray | None, labels: list[str], names: list[str], evidence: Evidence) -> Answer:
    """The first components by their strongest columns; as a picture all of them, or numbers with names."""
    one, many, _ = evidence.nouns
    question = _QUESTIONS.get(type(model).__name__, f"Which {many} does this data show?")
    if values is None:
        return Answer(
            question, f"{count(len(labels), one)}: {listing(labels)}.", _numbers(model, labels, names, evidence)
        )
    told = [f"{one} {k} mostly of {listing(names[d] for d in largest(np.abs(own), 3))}" for k, own in enumerate(values)]
    return Answer(
        question, f"{count(len(values), one)}: {listing(told, comma='; ')}.", *_map(values, labels, names, evidence)
    )


def _numbers(model: Any, labels: list[str], names: list[str], evidence: Evidence) -> Figure | None:
    """Coefficients, couplings, or how clearly components are there, as bars."""
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
    first = largest(np.abs(values), _BARS)
    cut = f"The {_BARS} largest of {len(values)}." if len(values) > _BARS else f"All {evidence.nouns[1]}."
    data = named_bars([called[i] for i in first], values[first], title=title, percent=False)
    return Figure("numbers", data, f"The {evidence.nouns[1]}", f"Bars of the {evidence.nouns[1]}", cut)


def _map(values: np.ndarray | None, labels: list[str], names: list[str], evidence: Evidence) -> tuple[Figure, ...]:
    if values is None or len(values) > _MAP_ROWS:
        return ()
    one, many, _ = evidence.nouns
    chosen = np.sort(largest((values**2).sum(axis=0), _MAP_COLUMNS))
    rows = labels or [f"{one} {k}" for k in range(len(values))]
    hover, signed = "{row}, {column}\n{value:.4g}", bool((values < 0).any())
    return (
        Figure(
            "map",
            heat_map(values[:, chosen], rows, [names[d] for d in chosen], hover=hover, signed=signed),
            f"The {many} side by side",
            f"Heat map of the {many}",
            "Values of each in the columns of the data, the 60 largest at most: the stronger its colour, the larger.",
        ),
    )


def _parameters(model: Any) -> Table:
    given = sorted(model.get_params(deep=False).items())
    return Table(
        "parameters",
        (
            Column("parameter", [name for name, _ in given], kind="name"),
            Column("value", [repr(value) for _, value in given], kind="text"),
        ),
        title="Parameters",
        hint=f"With which {type(model).__name__} was fitted.",
    )
