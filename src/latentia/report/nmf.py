"""The report of a nonnegative matrix factorization, for readers who do not program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..exceptions import LatentiaError
from ._missing import without_data
from .dictionary import row_errors
from .figures import PALETTE, lines, overlaid, picture, thinned
from .page import render, write_page
from .parts import Mark, Nouns, comparison_rows, component_marks, count, evidence_of, evidence_parts, largest, version

__all__ = ["METHODS", "axis_of", "contributions", "map_of", "picture_of_component", "write_nmf_report"]

METHODS = {
    "spa": "successive projections",
    "farthest": "the row farthest from the span of those found, then each once more (Algorithm 4.3)",
    "spa-spa": "successive projections, twice: the first ones whiten the rows",
    "whitened": "successive projections of whitened rows",
    "snpa": "successive nonnegative projections",
    "xray": "extreme rays of the cone",
    "smoothed": "successive projections, each the mean of the rows near it",
    "lp": "rows outside of the hull of the others (Theorem 2.46)",
    "robust-lp": "rows outside of the hull of the others, with noise (Theorem 2.48)",
    "loners": "loners (section 3.5)",
}
"""What the methods of `SeparableNMF` do, in words."""
MIXINGS = {
    "simplex": "the shares of a row sum to 1, and rows are taken as they are",
    "cone": "rows may have any scale, and shares are those of their sums",
}
_TILES, _PANELS, _MAPS, _OVERLAID, _LISTED = 200, 24, 40, 12, 300
_STRONGEST, _BARS = 6, 8
_FEW_COLUMNS = 12  # columns from which a component is drawn as a line
_MOST_POINTS = 240
_CURVE_WIDTH, _CURVE_HEIGHT = 240.0, 60.0
_HEADROOM = 0.94
_STOPS = np.array([[255, 255, 255], [107, 169, 209], [0, 80, 125]]) / 255
_RED = np.array([163, 59, 0]) / 255
_WORST = 0.99  # quantile of the rows' errors that is drawn in full colour
_NOUNS = Nouns("components", "component", "rows")
_PIXELS = Nouns("components", "component", "pixels")
_PICTURES = Nouns("components", "component", "pictures")
_TINY = 1e-300


@dataclass(frozen=True)
class _Component:
    """What the page shows of a component; `bars` holds columns, entries and lengths in percent."""

    number: int
    share: float
    error: float | None
    grade: Mark
    anchor: str
    place: tuple[float, float] | None
    strongest: list[tuple[str, float]]
    bars: list[tuple[str, float, float]]
    curve: str
    picture: str
    map: str

    @property
    def colour(self) -> str:
        return PALETTE[self.number % len(PALETTE)]


# --- numbers and pictures -------------------------------------------------------------------------------------------


def contributions(model: Any, weights: np.ndarray) -> np.ndarray:
    """Shares of the components in every row, shape (n_rows, r), rows that sum to one; zeros for a row of zeros.

    Where rows may have any scale, the share of a component is that of its entries in the row's sum.
    """
    sizes = np.abs(model.components_).sum(axis=1) if model.mixing_ == "cone" else np.ones(len(model.components_))
    parts = np.asarray(weights) * sizes
    total = parts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, parts / np.where(total > 0, total, 1.0), 0.0))


def axis_of(columns: Sequence[str]) -> np.ndarray | None:
    """The columns' names as increasing numbers, such as wavelengths; None where they are none."""
    try:
        found = np.array([float(str(name).strip()) for name in columns])
    except ValueError:
        return None
    return found if np.isfinite(found).all() and (np.diff(found) > 0).all() else None


def map_of(values: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Values from 0 to 1 of all pixels as an image in colours, shape (height, width, 3): white to dark blue."""
    place = np.clip(values, 0.0, 1.0).reshape(shape) * (len(_STOPS) - 1)
    low = np.minimum(place.astype(int), len(_STOPS) - 2)
    return np.asarray(_STOPS[low] + (place - low)[..., None] * (_STOPS[low + 1] - _STOPS[low]))


def picture_of_component(component: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """A component as a picture of this height and width: black is zero, white its largest entry."""
    return np.asarray(np.clip(component / max(float(component.max()), _TINY), 0.0, 1.0).reshape(tuple(shape)))


# --- the page -------------------------------------------------------------------------------------------------------


def write_nmf_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any = None,
    *,
    columns: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    weights: np.ndarray | None = None,
    image: Sequence[int] | None = None,
    picture_shape: Sequence[int] | None = None,
    comparison: Sequence[Mapping[str, Any]] | None = None,
    title: str = "Components",
    source: str = "",
) -> Path:
    """Write the components, their rows, and how far they can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : SeparableNMF
        A fitted model.
    X : array or sparse matrix of shape (n_rows, d), optional
        The rows that it was fitted on. Without them it is not shown how well they are described.
    columns : sequence of str of length d, optional
        Names of the columns. Increasing numbers, such as wavelengths, make components spectra.
    rows : sequence of str of length n_rows, optional
        Names of the rows.
    weights : ndarray of shape (n_rows, r), optional
        What ``model.transform(X)`` gives, if it is there already.
    image : (int, int), optional
        Height and width of the image whose pixels the rows are, row by row: the page has maps then.
    picture_shape : sequence of int, optional
        Height and width of the pictures that the rows are: components are drawn as pictures then.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of components, the first value the number.
    title, source : str
        Heading of the page, and where the rows came from.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    names = _checked(model, X, columns, rows, image, picture_shape)
    shares = errors = None
    if X is not None:
        weights = np.asarray(model.transform(X) if weights is None else weights)
        shares = contributions(model, weights)
        errors = row_errors(model, X, weights)
    shape = None if image is None else (int(image[0]), int(image[1]))
    nouns = _PIXELS if image is not None else _PICTURES if picture_shape is not None else _NOUNS
    found = _describe(model, names, rows, shares, shape, picture_shape)
    axis = axis_of(names)
    curves = picture_shape is None and len(names) >= _FEW_COLUMNS
    page = render(
        "nmf.html",
        title=title,
        source=source,
        summary=_summary(model, None if X is None else X.shape[0], names, shape, picture_shape),
        nouns=nouns,
        evidence=evidence_parts(evidence_of(model)),
        error=_error_sentence([one.error for one in found], model.mixing_),
        components=found,
        tiles=found[:_TILES] if picture_shape is not None else [],
        panels=[] if picture_shape is not None else found[:_PANELS],
        maps=found[:_MAPS] if shape is not None else [],
        listed=found[:_LISTED],
        spectra=axis is not None and curves,
        curves=curves,
        overlaid=curves and axis is not None,
        n_columns=len(names),
        rows=nouns.data,
        mixed=_mixed_picture(shares, shape),
        residual=_residual_picture(errors, shape),
        width=0 if shape is None else shape[1],
        method=METHODS.get(model.method_, model.method_),
        mixing=MIXINGS.get(model.mixing_, model.mixing_),
        cone=model.mixing_ == "cone",
        norm=float(model.reconstruction_err_),
        relative=float(model.relative_error_),
        explained=1 - float(model.relative_error_) ** 2,
        pooled=bool(getattr(model, "pooled", False)),
        refined=len(np.atleast_1d(model.refinement_)) if model.refine else 0,
        errors=None if errors is None else _error_bars(errors),
        purity=None if shares is None else _purity_bars(shares),
        data=_figures(model, names, axis, curves),
        comparison=comparison_rows(comparison, len(model.components_)),
        version=version(),
        missing=without_data("rows and how well they are described") if X is None else "",
    )
    return write_page(path, page)


def _checked(
    model: Any,
    X: Any,
    columns: Sequence[str] | None,
    rows: Sequence[str] | None,
    image: Sequence[int] | None,
    picture_shape: Sequence[int] | None,
) -> list[str]:
    """Names of the columns; raises where sizes do not agree."""
    d = model.components_.shape[1]
    names = [str(i) for i in range(1, d + 1)] if columns is None else [str(name) for name in columns]
    n, width = (None, d) if X is None else X.shape
    if len(names) != d or width != d:
        raise LatentiaError(
            f"columns has {len(names)} entries, the data {width} columns and the components {d}: they must agree."
        )
    if rows is not None and n is not None and len(rows) != n:
        raise LatentiaError(f"rows has {len(rows)} entries, and the data {n} rows.")
    last = max(model.anchors_, default=0)
    if n is not None and last >= n:
        raise LatentiaError(f"The data has {n} rows, and row {last} is a component: give the rows of the fit.")
    if n is None and image is not None:
        raise LatentiaError(
            "An image has maps of its pixels, which are the rows of X: give them.", parameter="X", value=None
        )
    if n is None and rows is not None and last >= len(rows):
        raise LatentiaError(f"rows has {len(rows)} entries, and row {last} is a component: name the rows of the fit.")
    for shape, size, what in ((image, n, "rows"), (picture_shape, d, "columns")):
        if shape is not None and (len(shape) != 2 or int(np.prod(shape)) != size):
            height_and_width = " x ".join(map(str, shape[::-1]))
            raise LatentiaError(f"{height_and_width} pixels are {int(np.prod(shape))}, and there are {size} {what}.")
    return names


def _describe(
    model: Any,
    names: list[str],
    rows: Sequence[str] | None,
    shares: np.ndarray | None,
    image: tuple[int, int] | None,
    picture_shape: Sequence[int] | None,
) -> list[_Component]:
    found = []
    marks = component_marks(evidence_of(model), len(model.components_))
    for i, (W, (error, mark)) in enumerate(zip(model.components_, marks, strict=True)):
        first = largest(W, _BARS)
        top = max(float(np.abs(W).max()), _TINY)
        anchor = int(model.anchors_[i])
        shown = picture_shape is None and i < _PANELS
        found.append(
            _Component(
                number=i,
                share=float(model.weights_[i] if shares is None else shares[:, i].mean()),
                error=error,
                grade=mark,
                anchor=f"row {anchor}" if rows is None else str(rows[anchor]),
                place=None if image is None else _place(anchor, image),
                strongest=[(names[d], float(W[d])) for d in first[:_STRONGEST] if W[d] > 0],
                bars=[(names[d], float(W[d]), 100 * max(float(W[d]), 0.0) / top) for d in first] if shown else [],
                curve=_curve(W) if shown and len(W) >= _FEW_COLUMNS else "",
                picture=picture(picture_of_component(W, picture_shape))
                if picture_shape is not None and i < _TILES
                else "",
                map="" if image is None or shares is None or i >= _MAPS else picture(map_of(shares[:, i], image)),
            )
        )
    return found


def _place(row: int, image: tuple[int, int]) -> tuple[float, float]:
    """Where the middle of a pixel lies, in percent across and down."""
    return 100 * (row % image[1] + 0.5) / image[1], 100 * (row // image[1] + 0.5) / image[0]


def _curve(component: np.ndarray) -> str:
    """The entries of all columns, in the order of the file, as the path of a line; zero is at the bottom."""
    steps = np.linspace(0, len(component), min(len(component), _MOST_POINTS) + 1).astype(int)
    heights = np.maximum.reduceat(component, steps[:-1])
    low, high = min(float(heights.min()), 0.0), max(float(heights.max()), _TINY)
    x = _CURVE_WIDTH * (np.arange(len(heights)) + 0.5) / len(heights)
    y = _CURVE_HEIGHT * (1 - _HEADROOM * (heights - low) / (high - low))
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


def _mixed_picture(shares: np.ndarray | None, image: tuple[int, int] | None) -> str:
    """All pixels, each in the mean colour of its components."""
    if image is None or shares is None:
        return ""
    colours = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in PALETTE])
    own = colours[np.arange(shares.shape[1]) % len(PALETTE)]
    return picture((shares @ own).reshape(*image, 3))


def _residual_picture(errors: np.ndarray | None, image: tuple[int, int] | None) -> str:
    """How much of each pixel is left over: white is nothing, and full colour as much as one pixel in a hundred has."""
    if image is None or errors is None:
        return ""
    size = np.sqrt(errors)
    share = np.clip(size / max(float(np.quantile(size, _WORST)), _TINY), 0, 1).reshape(image)
    return picture(1 - share[..., None] * (1 - _RED))


# --- bars and figures -----------------------------------------------------------------------------------------------


def _error_bars(errors: np.ndarray) -> dict[str, Any]:
    """How many rows have so large a distance from what the components say, relative to their length."""
    size = np.sqrt(errors)
    edges = np.array([0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, np.inf])
    labels = ["below 1%", "1 to 2%", "2 to 5%", "5 to 10%", "10 to 20%", "20 to 50%", "above 50%"]
    counts = np.histogram(size, edges)[0]
    return {
        "rows": list(zip(labels, map(int, counts), strict=True)),
        "most": max(int(counts.max()), 1),
        "median": float(np.median(size)),
        "worst": float(np.quantile(size, 0.95)),
    }


def _purity_bars(shares: np.ndarray) -> dict[str, Any]:
    """How many rows have so large a largest share."""
    purest = shares.max(axis=1)
    edges = np.array([0, 0.3, 0.5, 0.7, 0.9, 0.99, np.inf])
    labels = ["below 30%", "30 to 50%", "50 to 70%", "70 to 90%", "90 to 99%", "above 99%"]
    counts = np.histogram(purest, edges)[0]
    return {
        "rows": list(zip(labels, map(int, counts), strict=True)),
        "most": max(int(counts.max()), 1),
        "pure": int((purest >= 0.99).sum()),
        "median": float(np.median(purest)),
    }


def _figures(model: Any, names: list[str], axis: np.ndarray | None, curves: bool) -> dict[str, Any]:
    found = {}
    if curves and axis is not None:
        series = []
        for i, component in enumerate(model.components_[:_OVERLAID]):
            places, heights = thinned(component)
            series.append((f"component {i}", axis[places - 1], heights))
        found["spectra"] = overlaid(series, title="column", y_title="entry")
    rounds = np.atleast_1d(np.asarray(model.refinement_, dtype=float))
    if model.refine and len(rounds) > 1:
        curve = [("log-likelihood", np.arange(1, len(rounds) + 1), rounds)]
        found["rounds"] = lines(curve, title="round", y_title="nats", whole=True)
    return found


# --- words about the whole ------------------------------------------------------------------------------------------


def _summary(
    model: Any, n: int | None, names: list[str], image: tuple[int, int] | None, picture_shape: Sequence[int] | None
) -> str:
    if n is None:
        return f"{count(len(model.components_), 'component')} of {count(len(names), 'column')}."
    what = f"{count(n, 'row')} of {count(len(names), 'column')}"
    if image is not None:
        what = f"an image of {image[1]} x {image[0]} pixels in {count(len(names), 'band')}"
    if picture_shape is not None:
        what = f"{count(n, 'picture')} of {picture_shape[1]} x {picture_shape[0]} pixels"
    one = "pixel" if image is not None else "picture" if picture_shape is not None else "row"
    return f"{count(len(model.components_), 'component')} in {what}; each {one} is a mixture of them."


def _error_sentence(errors: Sequence[float | None], mixing: str) -> str:
    measured = [error for error in errors if error is not None]
    if not measured:
        return ""
    unit = "components of length 1" if mixing == "cone" else "the mean length of the components as 1"
    return (
        f"Expected error of a component: {np.mean(measured):.2g} on average, as a distance with {unit}; 0 is perfect."
    )
