"""The report of a model of what one table has and another one of the same rows has not, for readers who do not program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from .contrast_peers import answer_of, contrast_peers, differences, in_units_of, kind_of, spread_of, variances
from .figures import bars, beside, heat_map, shortened
from .page import render, write_page
from .parts import (
    Mark,
    Nouns,
    comparison_rows,
    component_marks,
    count,
    evidence_of,
    evidence_parts,
    short_number,
    version,
)

__all__ = ["distance_text", "matrix_names", "telling", "write_contrast_report"]

_NOUNS = {
    "pca": Nouns("directions", "direction", "rows"),
    "regression": Nouns("coefficients", "coefficient", "rows"),
    "logistic": Nouns("coefficients", "coefficient", "rows"),
    "mixture": Nouns("components", "component", "rows"),
    "ising": Nouns("couplings", "coupling", "rows"),
    "components": Nouns("parts", "part", "rows"),
}
_ERRORS = {
    "pca": "Expected error of a direction: {:.2g} on average, the sine of the angle to the true one (0.1 is about 6 degrees).",
    "regression": "Expected error of a coefficient: {:.2g} on average, of the size that coefficients have.",
    "logistic": "Expected error of a coefficient: {:.2g} on average, of the size that coefficients have.",
    "mixture": "Expected error of a component's mean: {:.2g} on average, {unit} over all columns together.",
    "ising": "Expected error of a coupling: {:.2g} on average.",
    "components": "Expected error of a part: {:.2g} on average, of the size of its covariance.",
}
_UNITS = {
    "pca": "sine of the angle between directions",
    "regression": "relative to the size of the coefficients",
    "logistic": "relative to the size of the coefficients",
    "mixture": "distance of the means",
    "ising": "difference of couplings",
    "components": "of the covariance of U's own part, relative to its size",
}
_PARTS = (
    ("s1", "what U has and V has not"),
    ("s2", "what both share"),
    ("s3", "what V has and U has not"),
)
_OURS = "this fit"
_TELLING, _MOST_LINES, _MOST_MAP, _MOST_DIRECTIONS = 6, 400, 40, 12
_SAME = 1e-3


@dataclass(frozen=True)
class _Line:
    """One direction, coefficient, component, coupling or part.

    Attributes
    ----------
    number : int
    name : str
    numbers : list of str
        Cells of numbers, as the headings say.
    telling : list of (str, float)
        Columns, and what the line has there.
    error : float or None
    grade : Mark
    """

    number: int
    name: str
    numbers: list[str]
    telling: list[tuple[str, float]]
    error: float | None
    grade: Mark


def write_contrast_report(
    path: str | os.PathLike[str],
    model: Any,
    U: Any,
    V: Any,
    y: Any = None,
    *,
    columns: Sequence[str] | None = None,
    columns_v: Sequence[str] | None = None,
    scaling: tuple[np.ndarray, np.ndarray] | None = None,
    peers: Mapping[str, np.ndarray] | None = None,
    files: tuple[str, str] = ("", ""),
    target: str = "the target",
    title: str = "What U has and V has not",
    source: str = "",
    comparison: Sequence[Mapping[str, Any]] | None = None,
) -> Path:
    """Write what a model of one view says, beside what simpler methods say, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : estimator of `latentia.contrastive`, of two views
        A fitted model.
    U, V : arrays of shape (n_rows, d_u), (n_rows, d_v)
        The views that the model was fitted on.
    y : array of shape (n_rows,), optional
        The target, where the model has one.
    columns, columns_v : sequence of str, optional
        Names of the columns of U and V.
    scaling : (ndarray, ndarray), optional
        What was subtracted from every column of U and what it was divided by; means are shown in the units before that.
    peers : dict of arrays, optional
        What simpler methods say, by their names, in the shape and units of the model; by default it is computed.
    files : (str, str)
        Where U and V came from.
    target : str
        Name of the target.
    title, source : str
        Heading of the page, and where the rows came from.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of components, the first value the number.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    U, V = (np.asarray(table, dtype=float) for table in (U, V))
    names, names_v = _names(columns, U.shape[1], "columns"), _names(columns_v, V.shape[1], "columns_v")
    peers = contrast_peers(model, U, V, y) if peers is None else peers
    kind = kind_of(model)
    covariance, own = variances(model, U, V)
    lines, headings = _described(kind, model, U, V, names, names_v, peers, scaling)
    errors = [line.error for line in lines if line.error is not None]
    error = None if not errors else errors[0] if kind == "components" else float(np.mean(errors))  # peers say s1 alone
    unit = "in standard deviations" if scaling else "in the units of the data"
    shared = 1 - float(np.trace(own) / np.trace(covariance))
    page = render(
        "contrast.html",
        title=title,
        source=source,
        summary=_summary(kind, model, len(U), U.shape[1], V.shape[1], len(lines)),
        nouns=_NOUNS[kind],
        evidence=evidence_parts(evidence_of(model)),
        error=_ERRORS[kind].format(float(np.mean(errors)), unit=unit) if errors else "",
        kind=kind,
        lines=lines[:_MOST_LINES],
        n_lines=len(lines),
        headings=headings,
        files=files,
        target=target,
        classes=[str(one) for one in getattr(model, "classes_", ())],
        widths=(U.shape[1], V.shape[1]),
        shared=shared,
        scaled=scaling is not None,
        mixture_unit=unit,
        peers=_compared(differences(model, U, peers), error),
        peers_unit=_UNITS[kind] + (f", {unit}" if kind == "mixture" else ""),
        shown=min(len(lines), _MOST_DIRECTIONS),
        map_cut=max(U.shape[1], V.shape[1]) > _MOST_MAP,
        data=_figures(kind, model, U, V, names, names_v, peers, scaling, covariance, own),
        comparison=comparison_rows(comparison, len(lines)),
        version=version(),
    )
    return write_page(path, page)


def matrix_names(model: Any, columns: Sequence[str]) -> list[str]:
    """Names of the couplings of an Ising model."""
    return [f"{columns[i]} and {columns[j]}" for i, j in model.edges_]


def telling(values: np.ndarray) -> np.ndarray:
    """Places of the largest of some values, without their signs, largest first."""
    return np.argsort(-np.abs(values), kind="stable")[:_TELLING]


def distance_text(distance: float) -> str:
    """Two digits; what is next to nothing is 0."""
    return "0" if distance < 0.005 else f"{distance:.2g}" if distance < 100 else f"{distance:.0f}"


def _names(names: Sequence[str] | None, width: int, parameter: str) -> list[str]:
    found = [f"column {i}" for i in range(1, width + 1)] if names is None else [str(name) for name in names]
    if len(found) != width:
        raise LatentiaError(f"{parameter} has {len(found)} entries and the data has {width}: they must agree.")
    return found


# --- the table ------------------------------------------------------------------------------------------------------


def _described(
    kind: str,
    model: Any,
    U: np.ndarray,
    V: np.ndarray,
    names: list[str],
    names_v: list[str],
    peers: Mapping[str, np.ndarray],
    scaling: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[list[_Line], list[str]]:
    """Lines, and headings of their numbers."""
    ours = answer_of(model, U)
    if kind == "components":
        sizes = [float(np.trace(model.covariance(part) / _units(part, U, V))) for part in (1, 2, 3)]
        whole = [U.shape[1], U.shape[1], V.shape[1]]
        cells = [[f"{100 * size / most:.0f}% of {'V' if i == 2 else 'U'}"] for i, (size, most) in enumerate(
            zip(sizes, whole, strict=True)
        )]  # fmt: skip
        variance = [np.diag(model.covariance(part) / _units(part, U, V)) for part in (1, 2, 3)]
        strongest = [_pairs(one, names_v if i == 2 else names) for i, one in enumerate(variance)]
        return _lines(model, [f"{name}: {what}" for name, what in _PARTS], cells, strongest), ["Share of the variance"]
    if kind == "pca":
        angles = {name: _angles(ours, found) for name, found in peers.items()}
        cells = [
            [f"{100 * model.explained_variance_ratio_[i]:.1f}%", *(f"{angles[name][i]:.0f}°" for name in peers)]
            for i in range(len(ours))
        ]
        headings = ["Variance", *peers]
        return _lines(model, [""] * len(ours), cells, [_pairs(one, names) for one in ours]), headings
    if kind == "mixture":
        centre, deviation = U.mean(axis=0), spread_of(U)
        means = ours if scaling is None else ours * scaling[1] + scaling[0]
        strongest = []
        for i, one in enumerate((ours - centre) / deviation):
            strongest.append([(names[d], float(means[i, d])) for d in telling(one)])
        apart = {name: np.linalg.norm(ours - found, axis=1) for name, found in peers.items()}
        cells = [
            [f"{100 * model.weights_[i]:.1f}%", *(short_number(float(apart[name][i])) for name in peers)]
            for i in range(len(ours))
        ]
        return (
            _lines(model, [""] * len(ours), cells, strongest),
            ["Share", *peers],
        )
    titles = matrix_names(model, names) if kind == "ising" else names
    cells = [[short_number(float(v), sign=True) for v in row] for row in np.stack([ours, *peers.values()]).T]
    errors = evidence_of(model).component_errors
    if kind != "ising" and errors is not None:
        plus = [short_number(float(v)) for v in in_units_of(model, errors, ours, U)]
        cells = [[row[0], own, *row[1:]] for row, own in zip(cells, plus, strict=True)]
        return _lines(model, titles, cells, [[]] * len(ours)), ["This fit", "Plus or minus", *peers]
    return _lines(model, titles, cells, [[]] * len(ours)), ["This fit", *peers]


def _units(part: int, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    scale = spread_of(V if part == 3 else U)
    return np.outer(scale, scale)


def _pairs(values: np.ndarray, names: list[str]) -> list[tuple[str, float]]:
    return [(names[d], float(values[d])) for d in telling(values)]


def _angles(ours: np.ndarray, other: np.ndarray) -> np.ndarray:
    """In degrees."""
    return np.degrees(np.arccos(np.clip(np.abs((ours * other).sum(axis=1)), 0, 1)))


def _lines(
    model: Any, names: list[str], cells: list[list[str]], strongest: Sequence[list[tuple[str, float]]]
) -> list[_Line]:
    marks = component_marks(evidence_of(model), len(names))
    return [
        _Line(i, names[i], cells[i], strongest[i], error, mark) for i, (error, mark) in enumerate(marks)
    ]  # fmt: skip


def _compared(found: Mapping[str, float], error: float | None) -> list[tuple[str, str, str]]:
    """Simpler methods, their distance from the fit, and what that means."""
    rows = []
    for name, distance in found.items():
        if distance < _SAME:
            said = "The same answer: where the data hardly tells the shared part, this fit falls back to it."
        elif error is None:
            said = ""
        elif distance <= error:
            said = "No more than the error of this fit: the two cannot be told apart."
        elif distance <= 2 * error:
            said = "Somewhat more than the error of this fit."
        else:
            said = "Clearly more than the error of this fit: it matters which of the two is taken."
        rows.append((name, distance_text(distance), said))
    return rows


# --- figures --------------------------------------------------------------------------------------------------------


def _figures(
    kind: str,
    model: Any,
    U: np.ndarray,
    V: np.ndarray,
    names: list[str],
    names_v: list[str],
    peers: Mapping[str, np.ndarray],
    scaling: tuple[np.ndarray, np.ndarray] | None,
    covariance: np.ndarray,
    own: np.ndarray,
) -> dict[str, Any]:
    figures = {"spectrum": _spectra(covariance, own), "map": _linear_map(model, U, V, names, names_v)}
    ours, spread, middle = answer_of(model, U), spread_of(U), U.mean(axis=0)
    all_answers = {_OURS: ours, **peers}
    errors = evidence_of(model).component_errors
    if kind in ("regression", "logistic"):
        unit = float(np.sqrt(np.mean((ours * spread) ** 2)))
        scaled = {name: found * spread for name, found in all_answers.items()}
        title = "per standard deviation of the column"
        figures["answers"] = _dots(scaled, names, None if errors is None else errors * unit, title)
    elif kind == "ising":
        figures["answers"] = _dots(all_answers, matrix_names(model, names), errors, "coupling")
    elif kind in ("pca", "mixture"):
        shown = {n: found if kind == "pca" else (found - middle) / spread for n, found in all_answers.items()}
        figures["answers"] = _stacked(shown, names, "direction" if kind == "pca" else "component")
    else:
        figures["answers"] = _matrix(own, names)
    return figures


def _spectra(covariance: np.ndarray, own: np.ndarray) -> dict[str, Any]:
    """Eigenvalues of two covariances as bars beside each other."""
    number = np.arange(1, len(own) + 1)
    named = {"U as it is": covariance, "U's own part s1": own}
    values = {name: np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0) for name, matrix in named.items()}
    hover = [
        [f"direction {i}\n{name}: variance {v:.3g}" for i, v in zip(number, found, strict=True)]
        for name, found in values.items()
    ]
    colours: tuple[int | str, ...] = "pale", 0
    series = [(name, found, colour) for (name, found), colour in zip(values.items(), colours, strict=True)]
    return bars(number, series, hover=hover, title="direction, by its variance", y_title="variance", height=240)


def _dots(answers: Mapping[str, np.ndarray], names: list[str], errors: np.ndarray | None, title: str) -> dict[str, Any]:
    """A row for every name with a dot for each method, and bars of the expected error at the first one's."""
    chosen = np.sort(_largest(next(iter(answers.values())), _MOST_MAP))
    shown = {name: values[chosen] for name, values in answers.items()}
    return beside([names[d] for d in chosen], shown, None if errors is None else errors[chosen], title=title)


def _largest(values: np.ndarray, most: int) -> np.ndarray:
    """Places of the largest values, without their signs."""
    return np.argsort(-np.abs(values), kind="stable")[:most]


def _stacked(answers: Mapping[str, np.ndarray], names: list[str], noun: str) -> dict[str, Any]:
    """A heat map with a row for every component and method, methods of a component below one another."""
    ours = next(iter(answers.values()))
    chosen = np.sort(_largest((ours**2).sum(axis=0), _MOST_MAP))
    rows, values, hover = [], [], []
    for k in range(min(len(ours), _MOST_DIRECTIONS)):
        for name, found in answers.items():
            rows.append(f"{k}: {name}")
            values.append(found[k, chosen])
            hover.append([f"{noun} {k}, {name}\n{shortened(names[d])}: {found[k, d]:+.3g}" for d in chosen])
    return _map(np.array(values), rows, [names[d] for d in chosen], hover)


def _matrix(own: np.ndarray, names: list[str]) -> dict[str, Any]:
    """Covariance of s1, columns in unit variance."""
    chosen = np.sort(_largest(np.diag(own), _MOST_MAP))
    hover = [[f"{shortened(names[a])} and {shortened(names[b])}\n{own[a, b]:+.3g}" for b in chosen] for a in chosen]
    texts = [names[d] for d in chosen]
    return _map(own[np.ix_(chosen, chosen)], texts, texts, hover)


def _linear_map(model: Any, U: np.ndarray, V: np.ndarray, names: list[str], names_v: list[str]) -> dict[str, Any]:
    """A, columns in units of their standard deviations."""
    scaled = model.linear_map_ * spread_of(U) / spread_of(V)[:, None]
    rows = np.sort(_largest((scaled**2).sum(axis=1), _MOST_MAP))
    columns = np.sort(_largest((scaled**2).sum(axis=0), _MOST_MAP))
    hover = [
        [
            f"{shortened(names_v[a])} of V, from {shortened(names[b])} of U\n{scaled[a, b]:+.3g} standard deviations for one"
            for b in columns
        ]
        for a in rows
    ]
    return _map(
        scaled[np.ix_(rows, columns)], [names_v[a] for a in rows], [names[b] for b in columns], hover)  # fmt: skip


def _map(values: np.ndarray, rows: list[str], columns: list[str], hover: list[list[str]]) -> dict[str, Any]:
    return heat_map(values, rows, columns, hover=hover, signed=True)


# --- words about the whole ------------------------------------------------------------------------------------------


def _summary(kind: str, model: Any, n: int, d_u: int, d_v: int, size: int) -> str:
    nouns = _NOUNS[kind]
    what = "" if kind == "components" else f"{count(size, nouns.one)} of what U has and V has not, "
    start = what if what else "What U and V share, and what each has alone, "
    return f"{start}in {count(n, 'row')}: U has {count(d_u, 'column')}, V {count(d_v, 'column')}."
