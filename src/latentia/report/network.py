"""The report of a sparse network, for readers who do not program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ._missing import without_data
from .figures import bars
from .noisy_or import percent
from .page import render, write_page
from .parts import Mark, Nouns, comparison_rows, component_marks, count, evidence_of, evidence_parts, largest, version

__all__ = ["Agreement", "Unit", "agreements", "encoded", "unit_names", "units", "write_network_report"]

_SAMPLE = 20_000  # rows of which pages show what encoder and decoder say
_LISTED, _MEMBERS, _BELOW = 300, 24, 8
_BINS, _TENTHS = 24, 20
_WIDTH, _BOX, _BETWEEN, _NARROWEST = 760.0, 46.0, 62.0, 0.42
_NOUNS = Nouns("units", "unit", "rows")


@dataclass(frozen=True)
class Unit:
    """What is said of a unit.

    Attributes
    ----------
    number : int
        Over all layers, those of the lowest first.
    layer : int
        From 1, the lowest.
    rate : float
        Share of the rows in which it is on.
    error : float or None
        Expected error.
    grade : Mark
    positive, negative : list of str
        Names of what it switches on, and off: columns, or units of the layer below.
    below : list of str
        Of units of higher layers, the columns to which most of their edges lead.
    undetermined : int
        Columns, or units below, of which the data cannot tell.
    """

    number: int
    layer: int
    rate: float
    error: float | None
    grade: Mark
    positive: list[str]
    negative: list[str]
    below: list[str]
    undetermined: int


@dataclass(frozen=True)
class Agreement:
    """How far what units say of the layer below is what is there.

    Attributes
    ----------
    layer : int
    explained : float
        Share of what is on, below, that a unit switches on; of real columns the share of their variance.
    right : float or None
        Share of what the units switch on that is on; None of real columns.
    """

    layer: int
    explained: float
    right: float | None


# --- what a network says --------------------------------------------------------------------------------------------


def unit_names(model: Any) -> list[list[str]]:
    """Of each hidden layer, the lowest first, what its units are called: their number over all layers."""
    ends = np.cumsum([0, *(layer.shape[0] for layer in model.layers_)])
    return [[f"unit {i}" for i in range(a, b)] for a, b in pairwise(ends)]


def units(model: Any, columns: Sequence[str]) -> list[Unit]:
    """The units of a fitted `SparseNetwork`, those of the lowest layer first, with the names of what they switch."""
    named = unit_names(model)
    found: list[Unit] = []
    marks = component_marks(evidence_of(model), sum(map(len, named)))
    reach: Any = None
    for i, layer in enumerate(model.layers_):
        below = list(columns) if i == 0 else named[i - 1]
        signs, open_pairs = sparse.csr_array(layer), np.diff(sparse.csr_array(model.undetermined_[i]).indptr)
        positive = sparse.csr_array((signs > 0).astype(np.int64))
        reach = positive if reach is None else sparse.csr_array(positive @ reach)
        for j in range(signs.shape[0]):
            own = slice(signs.indptr[j], signs.indptr[j + 1])
            places, values = signs.indices[own], signs.data[own]
            error, mark = marks[len(found)]
            found.append(
                Unit(
                    number=len(found),
                    layer=i + 1,
                    rate=float(model.densities_[i][j]),
                    error=error,
                    grade=mark,
                    positive=[below[p] for p in np.sort(places[values > 0])],
                    negative=[below[p] for p in np.sort(places[values < 0])],
                    below=[columns[p] for p in _most_reached(reach, j)] if i else [],
                    undetermined=int(open_pairs[j]),
                )
            )
    return found


def _most_reached(reach: sparse.csr_array, unit: int) -> list[int]:
    """Columns to which most paths of positive edges lead."""
    own = slice(reach.indptr[unit], reach.indptr[unit + 1])
    first = largest(reach.data[own], _BELOW)
    return [int(place) for place in reach.indices[own][first]]


def encoded(model: Any, Y: Any) -> list[sparse.csr_array]:
    """Which units of each layer are on in each row, the lowest layer first: csr_arrays of bool, shape (n_rows, units)."""
    return [sparse.csr_array(model.encode(Y, layer=i + 1)) for i in range(len(model.layers_))]


def agreements(model: Any, Y: Any, hidden: Sequence[sparse.csr_array]) -> list[Agreement]:
    """How far each layer says what the one below is, one step down; `hidden` is what `encoded` gives."""
    found = []
    for i, (layer, on) in enumerate(zip(model.layers_, hidden, strict=True)):
        if i == 0 and model.observed == "real":
            table = Y.toarray() if sparse.issparse(Y) else np.asarray(Y, dtype=float)
            left = float(((table - model.decode(on, layer=1)) ** 2).sum())
            found.append(Agreement(1, 1 - left / max(float(((table - table.mean(axis=0)) ** 2).sum()), 1e-300), None))
            continue
        said = sparse.csr_array(on.astype(np.int32) @ sparse.csr_array(layer).astype(np.int32))
        below = sparse.csr_array(Y if i == 0 else hidden[i - 1]).astype(bool)
        lit = sparse.csr_array(said > 0)
        both = lit.multiply(below).nnz
        found.append(Agreement(i + 1, both / max(below.nnz, 1), both / max(lit.nnz, 1)))
    return found


# --- the page -------------------------------------------------------------------------------------------------------


def write_network_report(
    path: str | os.PathLike[str],
    model: Any,
    Y: Any = None,
    *,
    columns: Sequence[str] | None = None,
    comparison: Sequence[Mapping[str, Any]] | None = None,
    title: str = "Hidden units",
    source: str = "",
) -> Path:
    """Write the units that were found, and how far they can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : SparseNetwork
        A fitted model.
    Y : array or sparse matrix of shape (n_rows, n), optional
        The rows, usually those that the model was fitted on. Of more than 20,000 some are drawn for what pages show. Without
        them it is not shown how well they are described.
    columns : sequence of str of length n, optional
        Names of the columns.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of layers, the first value the number.
    title, source : str
        Heading of the page, and where the rows came from.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    n = model.n_features_in_
    names = [f"column {i}" for i in range(1, n + 1)] if columns is None else [str(name) for name in columns]
    n_rows, width = (0, n) if Y is None else Y.shape
    if len(names) != n or width != n:
        raise LatentiaError(
            f"columns has {len(names)} entries, the data {width} columns and the network {n}: they must agree."
        )
    some = np.sort(np.random.default_rng(0).permutation(n_rows)[:_SAMPLE]) if n_rows > _SAMPLE else None
    rows = Y if some is None else sparse.csr_array(Y)[some] if sparse.issparse(Y) else np.asarray(Y)[some]
    hidden = [] if Y is None else encoded(model, rows)
    agreed = [] if Y is None else agreements(model, rows, hidden)
    found = units(model, names)
    layers = _layers(model, found, agreed, n)
    page = render(
        "network.html",
        title=title,
        source=source,
        summary=_summary(model, n_rows, n),
        nouns=_NOUNS,
        evidence=evidence_parts(evidence_of(model)),
        error=_error_sentence([unit.error for unit in found]),
        units=found,
        layers=layers,
        listed=[_chosen(found, layer + 1) for layer in range(len(layers))],
        members=_MEMBERS,
        real=model.observed == "real",
        density=float(model.observed_density_),
        n_columns=n,
        free=_free(model),
        sampled=_SAMPLE if some is not None else 0,
        percent=percent,
        diagram=_diagram(model, n),
        on=[float(one.sum() / max(one.shape[0], 1)) for one in hidden],
        data=_figures(model),
        comparison=comparison_rows(comparison, len(layers)),
        version=version(),
        missing=without_data("rows and how well they are described") if Y is None else "",
    )
    return write_page(path, page)


def _layers(model: Any, found: Sequence[Unit], agreed: Sequence[Agreement], n: int) -> list[dict[str, Any]]:
    """What the page says of each layer, the lowest first."""
    rows = []
    for i, layer in enumerate(model.layers_):
        signs = sparse.csr_array(layer)
        own = [unit for unit in found if unit.layer == i + 1]
        pairs = max(signs.shape[0] * signs.shape[1], 1)
        rows.append({
            "number": i + 1, "units": signs.shape[0], "below": signs.shape[1],
            "what": "columns" if i == 0 else f"units of layer {i}",
            "positive": int((signs.data > 0).sum()), "negative": int((signs.data < 0).sum()),
            "degree": float(np.mean([len(unit.positive) for unit in own])) if own else 0.0,
            "undetermined": sparse.csr_array(model.undetermined_[i]).nnz / pairs,
            "rate": float(np.mean(model.densities_[i])) if len(own) else 0.0,
            "explained": agreed[i].explained if agreed else None, "right": agreed[i].right if agreed else None,
        })  # fmt: skip
    return rows


def _free(model: Any) -> int:
    """Columns that no unit switches on or, where they are real, that none raises or lowers."""
    signs = sparse.csr_array(model.layers_[0])
    linked = signs.indices[(signs.data != 0) if model.observed == "real" else (signs.data > 0)]
    return int(signs.shape[1] - len(np.unique(linked)))


def _chosen(found: Sequence[Unit], layer: int) -> list[Unit]:
    """Units of a layer that the page lists: those that are on most often, in their order."""
    own = [unit for unit in found if unit.layer == layer]
    first = largest(np.array([unit.rate for unit in own]), _LISTED)
    return [own[i] for i in sorted(first)]


# --- figures --------------------------------------------------------------------------------------------------------


def _diagram(model: Any, n: int) -> dict[str, Any]:
    """Layers as boxes, the highest on top, as wide as they have units, and what lies between them."""
    sizes = [n, *(layer.shape[0] for layer in model.layers_)]
    widest = np.log1p(max(sizes))
    boxes: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    height = len(sizes) * _BOX + (len(sizes) - 1) * _BETWEEN
    for i, size in enumerate(sizes):
        share = _NARROWEST + (1 - _NARROWEST) * float((np.log1p(size) / widest) ** 2)
        y = height - (i + 1) * _BOX - i * _BETWEEN
        rate = model.observed_density_ if i == 0 else float(np.mean(model.densities_[i - 1])) if size else 0.0
        on = "real values" if i == 0 and model.observed == "real" else f"{percent(float(rate))} on"
        what = count(size, "column") if i == 0 else f"layer {i}: {count(size, 'unit')}"
        boxes.append({
            "x": f"{(_WIDTH - share * _WIDTH) / 2:.1f}", "y": f"{y:.1f}", "width": f"{share * _WIDTH:.1f}", "height": _BOX,
            "text": f"{what}, {on}", "middle": f"{y + _BOX / 2 + 5:.1f}", "hidden": i > 0,
        })  # fmt: skip
    for i, layer in enumerate(model.layers_):
        upper, lower = boxes[i + 1], boxes[i]
        data = sparse.csr_array(layer).data
        positive, negative = int((data > 0).sum()), int((data < 0).sum())
        top, bottom = float(upper["y"]) + _BOX, float(lower["y"])
        corners = [
            (float(upper["x"]), top), (float(upper["x"]) + float(upper["width"]), top),
            (float(lower["x"]) + float(lower["width"]), bottom), (float(lower["x"]), bottom),
        ]  # fmt: skip
        links.append({
            "points": " ".join(f"{x:.1f},{y:.1f}" for x, y in corners), "middle": f"{(top + bottom) / 2 + 5:.1f}",
            "text": f"{count(positive, 'edge')} that switch on, {negative:,} that switch off",
        })  # fmt: skip
    return {"width": _WIDTH, "height": height, "boxes": boxes, "links": links}


def _figures(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for i, layer in enumerate(model.layers_, 1):
        positive = sparse.csr_array(sparse.csr_array(layer) > 0)
        if not positive.shape[0]:
            continue
        below = "columns" if i == 1 else f"units of layer {i - 1}"
        found[f"degrees-{i}"] = _bars(np.diff(positive.indptr), f"{below} that a unit switches on", "units")
        parents = np.bincount(positive.indices, minlength=positive.shape[1])
        found[f"parents-{i}"] = _bars(parents, "units that switch one on", below)
        found[f"rates-{i}"] = _rates(np.asarray(model.densities_[i - 1], dtype=float))
    return found


def _bars(values: np.ndarray, title: str, what: str) -> dict[str, Any]:
    """How often each whole number, or each range of them, occurs."""
    low, high = int(values.min()), int(values.max())
    step = max(1, -(-(high - low + 1) // _BINS))
    edges = np.arange(low, high + step + 1, step)
    counts = np.histogram(values, edges)[0]
    labels = [str(a) if step == 1 else f"{a} to {a + step - 1}" for a in edges[:-1]]
    hover = [f"{label}: {number:,} {what}" for label, number in zip(labels, counts, strict=True)]
    return _bar_figure(edges[:-1] + (step - 1) / 2, counts, step, hover, title, what, whole=True)


def _rates(rates: np.ndarray) -> dict[str, Any]:
    """Firing rates in percent, in steps of equal width."""
    percents = 100 * rates
    low, high = float(percents.min()), float(percents.max())
    if high <= low:
        low, high = 0.0, max(2 * high, 1e-6)
    counts, edges = np.histogram(percents, _TENTHS, (low, high))
    hover = [
        f"{a:.3g} to {b:.3g}%: {number:,} units" for a, b, number in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    title = "% of the rows in which a unit is on"
    return _bar_figure(
        (edges[:-1] + edges[1:]) / 2, counts, float(edges[1] - edges[0]), hover, title, "units", whole=False
    )


def _bar_figure(
    places: np.ndarray, counts: np.ndarray, width: float, hover: Sequence[str], title: str, what: str, *, whole: bool
) -> dict[str, Any]:
    return bars(
        places, [("", counts, 0)], hover=[hover], title=title, y_title=what, width=0.9 * width, whole=whole, counts=True,
        height=170,
    )  # fmt: skip


# --- words about the whole ------------------------------------------------------------------------------------------


def _summary(model: Any, n_rows: int, n: int) -> str:
    sizes = [layer.shape[0] for layer in model.layers_]
    where = "" if len(sizes) == 1 else f" in {len(sizes)} layers ({', '.join(f'{size:,}' for size in sizes)})"
    rows = f", from {count(n_rows, 'row')}" if n_rows else ""
    return f"{count(sum(sizes), 'hidden unit')}{where} above {count(n, 'column')}{rows}."


def _error_sentence(errors: Sequence[float | None]) -> str:
    measured = [error for error in errors if error is not None]
    if not measured:
        return ""
    return (
        f"Expected error of a unit: {np.mean(measured):.2g} on average: of what it or the true unit switches on, that share is "
        "in one of the two only."
    )
