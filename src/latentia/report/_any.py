"""The report of any model, from what it knows without its data: verdict, evidence, components and parameters."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from .figures import heat_map, shortened
from .page import render, write_page
from .parts import Mark, Nouns, comparison_rows, component_marks, count, evidence_of, evidence_parts, largest, version

_TELLING, _MOST_LINES, _MAP_ROWS, _MAP_COLUMNS = 6, 300, 40, 60


@dataclass(frozen=True)
class _Line:
    """What the page shows of a component; `telling` holds columns and what the component has there."""

    number: int
    name: str
    share: float | None
    telling: list[tuple[str, float]]
    error: float | None
    grade: Mark


def write_any_report(
    path: str | os.PathLike[str],
    model: Any,
    *,
    columns: Sequence[str] | None = None,
    title: str = "",
    source: str = "",
    comparison: Sequence[Mapping[str, Any]] | None = None,
    note: str = "This page shows what the model itself knows, and no rows.",
) -> Path:
    """Write the evidence of a fitted model, its components and its parameters to one HTML file that works offline.

    It is the page of models that have none of their own, and of those whose page needs the data.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : estimator of this library
        A fitted model.
    columns : sequence of str, optional
        Names of the columns of the data.
    title, source : str
        Heading of the page, by default the name of the class, and where the data came from.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of components, the first value the number.
    note : str
        What the page lacks.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    evidence = evidence_of(model)
    one, many, rows = evidence.nouns
    names = _columns(model, columns)
    values, labels = _values(model, names)
    lines = _lines(model, values, labels, names)
    page = render(
        "any.html",
        title=title or type(model).__name__,
        source=source,
        summary=_summary(model, lines, one, names),
        missing=note,
        nouns=Nouns(many, one, rows),
        evidence=evidence_parts(evidence),
        error=_error_sentence([line.error for line in lines], one),
        lines=lines[:_MOST_LINES],
        n_lines=len(lines),
        named=any(line.name for line in lines),
        telling=any(line.telling for line in lines),
        shares=all(line.share is not None for line in lines),
        kind=type(model).__name__,
        parameters=[(name, repr(value)) for name, value in sorted(model.get_params(deep=False).items())],
        data=_figures(values, labels, names, one),
        comparison=comparison_rows(comparison, len(lines)),
        version=version(),
    )
    return write_page(path, page)


# --- what the components are ----------------------------------------------------------------------------------------


def _columns(model: Any, columns: Sequence[str] | None) -> list[str]:
    width = int(getattr(model, "n_features_in_", 0))
    found = [f"column {i}" for i in range(1, width + 1)] if columns is None else [str(name) for name in columns]
    if len(found) != width:
        raise LatentiaError(f"columns has {len(found)} entries and the model {width}: they must agree.")
    return found


def _values(model: Any, names: list[str]) -> tuple[np.ndarray | None, list[str]]:
    """What every component has in every column, shape (K, D), where it is known; and names of the components, or none."""
    if hasattr(model, "subsets_"):
        several = [j for j, views in enumerate(model.subsets_) if model.present_[j] and len(views) > 1]
        return None, [f"subset {j}: views {', '.join(map(str, model.subsets_[j]))}" for j in several]
    if hasattr(model, "edges_"):
        return None, [f"{names[i]} and {names[j]}: {value:+.3g}" for (i, j), value in zip(
            model.edges_, model.couplings_, strict=True
        )]  # fmt: skip
    if hasattr(model, "coef_"):
        return None, [f"{name}: {value:+.3g}" for name, value in zip(names, np.ravel(model.coef_), strict=True)]
    if hasattr(model, "covariance"):
        return None, ["s1: what U has and V has not", "s2: what both share", "s3: what V has and U has not"]
    found = getattr(model, "components_", getattr(model, "means_", None))
    return (
        (found, [])
        if isinstance(found, np.ndarray) and found.ndim == 2 and found.shape[1] == len(names)
        else (None, [])
    )


def _lines(model: Any, values: np.ndarray | None, labels: list[str], names: list[str]) -> list[_Line]:
    evidence = evidence_of(model)
    size = len(values) if values is not None else len(labels) or len(evidence.components)
    shares = evidence.shares if evidence.shares is not None and len(evidence.shares) == size else None
    centre = 0.0 if values is None or not hasattr(model, "means_") else values.mean(axis=0)
    told = [[]] * size if values is None else [
        [(names[d], float(row[d])) for d in largest(np.abs(row - centre), _TELLING) if row[d]] for row in values
    ]  # fmt: skip
    return [
        _Line(k, labels[k] if labels else "", None if shares is None else float(shares[k]), told[k], error, grade)
        for k, (error, grade) in enumerate(component_marks(evidence, size))
    ]


def _figures(values: np.ndarray | None, labels: list[str], names: list[str], one: str) -> dict[str, Any]:
    if values is None or len(values) > _MAP_ROWS:
        return {}
    chosen = np.sort(largest((values**2).sum(axis=0), _MAP_COLUMNS))
    rows = labels or [f"{one} {k}" for k in range(len(values))]
    hover = [
        [f"{row}, {shortened(names[d])}\n{own[d]:.4g}" for d in chosen] for row, own in zip(rows, values, strict=True)
    ]
    signed = bool((values < 0).any())
    return {"map": heat_map(values[:, chosen], rows, [names[d] for d in chosen], hover=hover, signed=signed)}


# --- words about the whole ------------------------------------------------------------------------------------------


def _summary(model: Any, lines: list[_Line], one: str, names: list[str]) -> str:
    views = f" in {count(model.n_views_, 'view')}" if hasattr(model, "n_views_") else ""
    return f"{type(model).__name__}: {count(len(lines), one)}{views} of {count(len(names), 'column')}."


def _error_sentence(errors: Sequence[float | None], one: str) -> str:
    measured = [error for error in errors if error is not None]
    if not measured:
        return ""
    return f"Expected error of a {one}: {np.mean(measured):.2g} on average."
