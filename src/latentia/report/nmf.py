"""Pages on nonnegative matrix factorizations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns, histogram
from ._any import summarize_any
from .dictionary import row_errors
from .figures import PALETTE, heat_map, lines, overlaid, picture, thin_curve
from .page import page
from .parts import check_shape, component_marks, count, evidence_of, grades_say, largest, listing, short_number

METHODS = {
    "spa": "successive projections",
    "farthest": "the row farthest from the span of those chosen, then each once more (Algorithm 4.3)",
    "spa-spa": "successive projections, twice: the first ones whiten the rows",
    "whitened": "successive projections of whitened rows",
    "snpa": "successive nonnegative projections",
    "robust-lp": "rows outside of the hull of the others, with noise (Theorem 2.48)",
}
"""The methods of `SeparableNMF` in words."""
MIXINGS = {
    "simplex": "the shares of a row sum to 1, and rows are taken as they are",
    "cone": "rows may have any scale, and shares are those of their sums",
}
_UNITS = {"simplex": "the mean length of the components as 1", "cone": "components of length 1"}
_MAX_TILES, _MAX_PANELS, _MAX_MAPS, _MAX_CURVES, _MAX_LISTED = 60, 24, 40, 12, 300
_N_STRONGEST, _N_PRINTED, _N_BARS = 6, 5, 8
_MIN_CURVE_COLUMNS, _MAX_MAP_COLUMNS = 12, 40  # least number of columns for curves, largest for a heat map
_STOPS = np.array([[255, 255, 255], [107, 169, 209], [0, 80, 125]]) / 255
_RED = np.array([163, 59, 0]) / 255
_WORST_QUANTILE = 0.99  # quantile of the rows' errors that has the full colour
_TINY = 1e-300


@dataclass(frozen=True)
class _View:
    """A model with the names of its columns and anchors, and measures of its rows."""

    model: Any
    names: list[str]
    row_names: list[str]
    axis: np.ndarray | None = None
    image: Sequence[int] | None = None
    picture_shape: Sequence[int] | None = None
    shares: np.ndarray | None = None
    errors: np.ndarray | None = None

    @property
    def row_kind(self) -> str:
        """Kind of a row: pixel, picture or row."""
        return "pixel" if self.image is not None else "picture" if self.picture_shape is not None else "row"

    @property
    def mean_shares(self) -> list[float]:
        """Mean share of each component in all rows."""
        return [float(np.mean(shares)) for shares in (self.model.weights_ if self.shares is None else self.shares.T)]

    @property
    def origin(self) -> str:
        """Sentence on the origin of the components."""
        if self.model.refine:
            return f"They began as {self.row_kind}s of the data and were polished."
        average_note = ", or the mean of such rows that differ only by noise" if self.model.pooled else ""
        return f"Each is a {self.row_kind} of the data{average_note}."


@page("Components", "rows and how well they are described")
def summarize_nmf(
    model: Any,
    X: Any = None,
    *,
    columns: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    weights: np.ndarray | None = None,
    image: Sequence[int] | None = None,
    picture_shape: Sequence[int] | None = None,
    row_labels: Sequence[Column] = (),
) -> Summary:
    """Summarise the components, the rows that they come from, and how reliable they are.

    Parameters
    ----------
    model : SeparableNMF
        A fitted model.
    X : array or sparse matrix of shape (n_rows, d), optional
        The rows of the fit. Without them the page does not show how well they are described.
    columns : sequence of str of length d, optional
        Names of the columns. Increasing numbers, such as wavelengths, make components spectra.
    rows : sequence of str of length n_rows, optional
        Names of the rows.
    weights : ndarray of shape (n_rows, r), optional
        The result of ``model.transform(X)``, if it is known already.
    image : (int, int), optional
        Height and width of the image whose pixels are the rows, row by row. The page then has maps.
    picture_shape : sequence of int, optional
        Height and width of the pictures that are the rows. Components are then drawn as pictures.
    row_labels : sequence of Column
        Labels of the rows, their numbers first.

    Returns
    -------
    Summary

    """
    names, n = _check_sizes(model, X, columns, rows, image, picture_shape), 0
    row_names = [f"row {row}" if rows is None else str(rows[row]) for row in model.anchors_]
    axis = axis_of(names) if picture_shape is None and len(names) >= _MIN_CURVE_COLUMNS else None
    view, files = _View(model, names, row_names, axis, image, picture_shape), list[Table]()
    if X is not None:
        n, weights = X.shape[0], np.asarray(model.transform(X) if weights is None else weights)
        check_shape("weights", weights, n, len(model.components_))
        shares = contributions(model, weights)
        view = replace(view, shares=shares, errors=np.sqrt(row_errors(model, X, weights)))
        files = [_anchors(model, shares, row_names, row_labels), weights_table(weights, row_labels)]
    (width, row_kind), (picture, *further_pictures) = (count(len(names), "column"), view.row_kind), _pictures(view)
    sizes = {
        "pixel": f"an image of {_pixels(image)} in {count(len(names), 'band')}",
        "row": f"{count(n, 'row')} of {width}",
    }
    size_text = sizes.get(row_kind, f"{count(n, 'picture')} of {_pixels(picture_shape)}")
    return Summary(
        headline=count(len(row_names), "component")
        + (f" in {size_text}; each {row_kind} is a mixture of them." if n else f" of {width}."),
        nouns=("component", "components", f"{row_kind}s"),
        parts=(*further_pictures, *_panels(view), *_describe_rows(view), *_rounds(view), _table(view), *files),
        answer=Answer(f"Which pure {row_kind}s are all other {row_kind}s mixtures of?", _words(view), picture),
        error=f"Expected error of a component: {{}} on average, as a distance with {_UNITS[model.mixing_kind_]}; 0 is perfect.",
        reading=(("What to do next", _NEXT_STEPS.format(row_kind)),),
        styles=("tables.css", "nmf.css"),
    )


def _words(view: _View) -> str:
    components = [f"component {k} ({share:.0%} of the data) from {row_name}" for k, (share, row_name) in enumerate(
        zip(view.mean_shares, view.row_names, strict=True)
    )]  # fmt: skip
    return f"{count(len(components), f'pure {view.row_kind}')}: {listing(components)}."


def summarize_counts(
    model: Any, weights: np.ndarray, columns: Sequence[str], row_labels: Sequence[Column] = (), **options: Any
) -> Summary:
    """Summarise the components of counts, with tables of them and of their weights in every row.

    Parameters
    ----------
    model : PoissonNMF
        A fitted model.
    weights : ndarray of shape (n_rows, r)
        The result of ``model.transform``.
    columns : sequence of str of length d
        Names of the columns.
    row_labels : sequence of Column
        Labels of the rows, their numbers first.
    **options
        ``title``, ``source`` and ``comparison``, as of `summarize_nmf`.

    Returns
    -------
    Summary
    """
    summary, size = summarize_any(model, columns=columns, note="", **options), len(model.components_)
    factor_columns = (
        Column("component", range(size)),
        Column("share", model.weights_, ".6f"),
        *grade_columns(summary.evidence, size),
        *block(columns, model.components_),
    )
    return replace(
        summary,
        parts=(
            *summary.parts,
            Table("factors", factor_columns, file="components.csv"),
            weights_table(weights, row_labels),
        ),
    )


def _check_sizes(model: Any, X: Any, columns: Any, rows: Any, image: Any, picture_shape: Any) -> list[str]:
    """Return the names of the columns; raise an error if sizes do not agree."""
    d, last, problem = model.components_.shape[1], max(model.anchors_, default=0), ""
    names = [str(i) for i in range(1, d + 1)] if columns is None else [str(name) for name in columns]
    n, width = (None, d) if X is None else X.shape
    if len(names) != d or width != d:
        problem = f"columns has {len(names)} entries, the data {width} columns and the components {d}: they must agree."
    elif rows is not None and n is not None and len(rows) != n:
        problem = f"rows has {len(rows)} entries, and the data {n} rows."
    elif n is not None and last >= n:
        problem = f"The data has {n} rows, and row {last} is a component: give the rows of the fit."
    elif n is None and image is not None:
        raise LatentiaError(
            "An image has maps of its pixels, which are the rows of X: give them.", parameter="X", value=None
        )
    elif n is None and rows is not None and last >= len(rows):
        problem = f"rows has {len(rows)} entries, and row {last} is a component: name the rows of the fit."
    for shape, size, unit in ((image, n, "rows"), (picture_shape, d, "columns")):
        if not problem and shape is not None and (len(shape) != 2 or int(np.prod(shape)) != size):
            size_text = " x ".join(map(str, shape[::-1]))
            problem = f"{size_text} pixels are {int(np.prod(shape))}, and there are {size} {unit}."
    if problem:
        raise LatentiaError(problem)
    return names


def _pixels(shape: Sequence[int] | None) -> str:
    return "" if shape is None else f"{shape[1]} x {shape[0]} pixels"


# --- tables ---------------------------------------------------------------------------------------------------------


def _format_entries(entries: list[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {short_number(entry)}" for name, entry in entries[:_N_PRINTED])


def _table(view: _View) -> Table:
    row_kind, size, model, evidence = view.row_kind, len(view.row_names), view.model, evidence_of(view.model)
    kind_note = {"pixel": "The spectrum of a material.", "picture": "A picture."}.get(
        row_kind, "A row of numbers, none below zero."
    )
    strongest = [[(view.names[d], W[d]) for d in largest(W, _N_STRONGEST) if W[d] > 0] for W in model.components_]
    where = "p" if axis_of(view.names) is not None else "ps"
    entries_column = Column(
        "largest entries", strongest, short=short_number, screen=_format_entries, kind="words", where=where
    )
    residual_percent = f"{100 * model.relative_error_:.3g}"
    cone, is_plain = model.mixing_kind_ == "cone", view.picture_shape is None and view.axis is None
    average_note = "" if not model.pooled else "Others that differ from it only by noise are averaged with it."
    average_note = (
        f"It was polished afterwards and need no longer be that {row_kind}." if model.refine else average_note
    )
    weight = f"The weight of a component in a {row_kind}, where all weights sum to 1"
    share = f"How much of the sum of a {row_kind} a component makes up" if cone else weight
    error = (
        f"The components are found again with new noise. The distance that a component moves estimates its distance from the "
        f"truth, {'as a distance of' if cone else 'with'} {_UNITS[model.mixing_kind_]}. "
        + grades_say(evidence, "a component", f"other {row_kind}s of the same kind would give another one")
    )
    return Table(
        "components",
        (
            Column("component", range(size), kind="bold", meaning=f"{kind_note} {_COMPONENT_NOTE.format(row_kind)}"),
            Column(
                "share", view.mean_shares, ".6f", kind="share", meaning=f"{share}, and on average over all of them."
            ),
            *grade_columns(evidence, size, meaning=error),
            Column(
                "taken from",
                view.row_names,
                kind="text",
                where="ps",
                meaning=_SOURCE_NOTE.format(row_kind, average_note),
            ),
            *((entries_column,) if is_plain else ()),
            *block(view.names, model.components_),
        ),
        title="All components",
        hint=f"The first {_MAX_LISTED}; components.csv holds all {size}." if size > _MAX_LISTED else "",
        file="components.csv",
        caption=count(size, "component"),
        note=f"Chosen by {model.method_}, {'rows of any scale' if cone else 'shares that sum to 1'}. Left over: "
        f"{residual_percent}% of the length of all rows (|X - A W| = {short_number(model.reconstruction_err_)}).",
        label="component",
        most=_MAX_LISTED,
        tall=True,
    )


_COMPONENT_NOTE = (
    "Every {} is, apart from noise, a mixture of components, each with a weight that is never negative: parts add up and none "
    "is taken away. A component has a number, not a name."
)
_SOURCE_NOTE = (
    "Each component is one {0} of the data that consists of this component alone (an anchor, or in images of the earth a pure "
    "pixel). {1} Where no {0} is pure, the components are mixtures themselves."
)
_NEXT_STEPS = (
    "-k 3:10 compares several numbers of components. --refine auto polishes them where no {0} is quite pure. 'latentia apply' "
    "gives the shares of other {0}s."
)


def _anchors(model: Any, shares: np.ndarray, row_names: list[str], row_labels: Sequence[Column]) -> Table:
    """Return the table of anchors: the row of each component."""
    rows = [int(row) for row in model.anchors_]
    columns = (
        Column("component", range(len(rows))),
        Column("row", [row_labels[0].values[row] for row in rows] if row_labels else rows),
        Column("name", row_names),
        Column("share of the row", shares[rows, range(len(rows))], ".6f"),
        Column("share", [shares_of_component.mean() for shares_of_component in shares.T], ".6f"),
    )
    return Table("anchors", columns, file="anchors.csv")


def weights_table(weights: np.ndarray, row_labels: Sequence[Column] = ()) -> Table:
    """Return the table of the weights (n_rows, r) of the components in every row."""
    names = [f"component {k}" for k in range(weights.shape[1])]
    return Table("rows", (*row_labels, *block(names, weights, ".6g")), file="weights.csv")


# --- pictures and figures -------------------------------------------------------------------------------------------


def _pictures(view: _View) -> tuple[Figure | Section, ...]:
    """Return the answer as a picture, and further ones: maps, pictures, spectra, or a heat map of the largest entries."""
    model, spectra = view.model, _spectra(view)
    parts = [
        {"number": k, "share": share, "from": name, "error": error, "grade": mark}
        for k, (share, name, (error, mark)) in enumerate(
            zip(view.mean_shares, view.row_names, component_marks(evidence_of(model), len(view.row_names)), strict=True)
        )
    ]
    if view.image is not None and view.shares is not None and view.errors is not None:
        maps = _maps(model, view.shares, view.errors, view.image, parts) | {"worst": np.quantile(view.errors, 0.95)}
        return Section("nmf_maps.html", maps | {"size": len(parts)}), *spectra
    if view.picture_shape is not None:
        tiles = [
            component | {
                "picture": picture(picture_of_component(W, view.picture_shape)), "alt": f"component {component['number']}",
                "title": f"component {component['number']}: {component['share']:.1%} of the data",
                "used": f"{component['share']:.1%}",
            } for component, W in zip(parts[:_MAX_TILES], model.components_, strict=False)
        ]  # fmt: skip
        cut = f" The first {len(tiles)} of {len(parts)}; components.png shows all." if len(tiles) < len(parts) else ""
        hint = f"Black is zero, and white the largest entry of each.{cut} {view.origin}"
        return (Section("tiles.html", {"tiles": tiles, "tile": 96, "things": "components", "hint": hint}),)
    return spectra or (_map(view),)


def _map(view: _View) -> Figure:
    W = view.model.components_[:_MAX_PANELS]
    chosen = np.sort(largest(W.max(axis=0), _MAX_MAP_COLUMNS))
    rows, names = [f"component {k}" for k in range(len(W))], [view.names[d] for d in chosen]
    hover = "{row}, {column}\n{value:.4g}"
    cut = f" The {_MAX_MAP_COLUMNS} columns with the largest." if len(view.names) > _MAX_MAP_COLUMNS else ""
    label = "Heat map of the components; components.csv holds the numbers"
    caption = f"The entries of each component: the stronger its colour, the larger.{cut} {view.origin}"
    return Figure("map", heat_map(W[:, chosen], rows, names, hover=hover), "The components", label, caption)


def _panels(view: _View) -> tuple[Section, ...]:
    """Return panels of components with their largest entries, if there are many columns with names."""
    if view.axis is not None or view.picture_shape is not None or len(view.names) < _MIN_CURVE_COLUMNS:
        return ()
    size, marks = len(view.row_names), component_marks(evidence_of(view.model), len(view.row_names))
    panels = [
        {"number": k, "used": f"{view.mean_shares[k]:.1%} of the data", "from": view.row_names[k], "error": error,
         "grade": mark, "bars": _bars(W, view.names)}
        for k, (W, (error, mark)) in enumerate(zip(view.model.components_[:_MAX_PANELS], marks, strict=False))
    ]  # fmt: skip
    cut = f"{len(panels)} of {size}; components.csv holds all. " if len(panels) < size else ""
    below = f"Bars are the columns with the largest entries. Below stands the {view.row_kind} that each was taken from."
    values = {"place": "shown", "title": "The columns of the components", "hint": cut + below, "panels": panels}
    return (Section("panels.html", values),)


def _bars(component: np.ndarray, names: list[str]) -> list[tuple[str, float, str, str]]:
    """Return the largest entries of a component, with lengths in percent."""
    lengths = 100 * np.maximum(component, 0.0) / max(float(np.abs(component).max()), _TINY)
    return [(names[d], float(lengths[d]), "", short_number(float(component[d]))) for d in largest(component, _N_BARS)]


def _describe_rows(view: _View) -> tuple[Table, ...]:
    """Return tables on how well rows are described, how mixed they are, and how the components were found."""
    model, shares, errors, row_kind, row_kinds = (
        view.model,
        view.shares,
        view.errors,
        view.row_kind,
        f"{view.row_kind}s",
    )
    relative, rounds = float(model.relative_error_), np.size(model.refinement_) if model.refine else 0
    facts = {
        f"Left over of all {row_kinds}": f"{100 * relative:.3g}% of their length ({short_number(model.reconstruction_err_)})",
        "Chosen by": METHODS.get(model.method_, model.method_), "Mixing": MIXINGS[model.mixing_kind_],
    } | ({"Rounds of polish": str(rounds)} if rounds else {})  # fmt: skip
    columns = (
        Column("what", list(facts), kind="name"),
        Column("value", list(facts.values()), kind="text", heading="How it is"),
    )
    method_table = Table("certificate", columns, "How the components were found")
    if shares is None or errors is None:
        return (method_table,)
    purest = shares.max(axis=1)
    pure = int((purest >= 0.99).sum())
    nearly = f"{pure:,} {row_kinds} are" if pure > 1 else f"{'1' if pure else 'No'} {row_kind} is"
    fit_text = (
        f"Mixtures of the components account for **{100 * (1 - relative**2):.2f}%** of the squares of all {row_kinds}. "
        f"Distance of a {row_kind} from the nearest mixture, relative to its length: half of them less than "
        f"{100 * np.median(errors):.2g}%, and one in twenty more than {100 * np.quantile(errors, 0.95):.2g}%."
    )
    purity_text = (
        f"The largest share of a component in a {row_kind}; half of them have more than {np.median(purest):.0%}. {nearly} "
        f"nearly one component alone. The method takes such {row_kinds} as components, so it cannot find a component that "
        "never occurs alone."
    )
    return (
        histogram(
            "left over",
            row_kinds,
            errors,
            (1, 2, 5, 10, 20, 50),
            f"How well {row_kinds} are described",
            fit_text,
            "errors",
        ),
        histogram(
            "largest share",
            row_kinds,
            purest,
            (30, 50, 70, 90, 99),
            f"How mixed {row_kinds} are",
            purity_text,
            "purity",
        ),
        method_table,
    )


def _maps(
    model: Any, shares: np.ndarray, errors: np.ndarray, image: Sequence[int], parts: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Draw maps of the shares of each component, of all together in colours, and of the residual (white where it is 0)."""
    height, width = image
    places = [(100 * (row % width + 0.5) / width, 100 * (row // width + 0.5) / height) for row in model.anchors_]
    maps = [
        component | {"place": place, "map": picture(colour_map(component_shares, (height, width)))}
        for component, place, component_shares in zip(parts[:_MAX_MAPS], places, shares.T, strict=False)
    ]
    colours = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in PALETTE])
    mixed = (shares @ colours[np.arange(len(parts)) % len(PALETTE)]).reshape(height, width, 3)
    residual = np.clip(errors / max(float(np.quantile(errors, _WORST_QUANTILE)), _TINY), 0, 1).reshape(height, width, 1)
    return {"maps": maps, "mixed": picture(mixed), "residual": picture(1 - residual * (1 - _RED))}


def _spectra(view: _View) -> tuple[Figure, ...]:
    """Draw the components as curves over the columns, if these have numbers as names."""
    if view.axis is None:
        return ()
    curves = [(k, *thin_curve(component)) for k, component in enumerate(view.model.components_[:_MAX_CURVES])]
    series = [(f"component {k}", view.axis[places - 1], heights) for k, places, heights in curves]
    size, figure = len(view.row_names), overlaid(series, title="column", y_title="entry")
    cut = f" The first {_MAX_CURVES} of {size}." if size > _MAX_CURVES else ""
    label = "Curves of the components over the columns; components.csv holds the numbers"
    caption = f"The entries of each component over the columns, which have numbers as names.{cut} {view.origin}"
    return (Figure("spectra", figure, "The components as spectra", label, caption),)


def _rounds(view: _View) -> tuple[Figure, ...]:
    rounds = np.atleast_1d(np.asarray(view.model.refinement_, dtype=float))
    if not view.model.refine or len(rounds) < 2:
        return ()
    curve = [("log-likelihood", np.arange(1, len(rounds) + 1), rounds)]
    figure = lines(curve, title="round", y_title="nats", whole_numbers=True)
    caption = (
        f"Likelihood of the {view.row_kind}s after each round of polish, in which components and weights are fitted in turn; a "
        "curve that is flat at its end has converged."
    )
    return (Figure("rounds", figure, "How the fit improved", "Line of the likelihood after each round", caption),)


# --- numbers and pictures -------------------------------------------------------------------------------------------


def contributions(model: Any, weights: np.ndarray) -> np.ndarray:
    """Return the shares of the components in every row, shape (n_rows, r); rows sum to one, or are zero for a row of zeros.

    Where rows may have any scale, the share of a component is its part of the row's sum.
    """
    sizes = np.abs(model.components_).sum(axis=1) if model.mixing_kind_ == "cone" else np.ones(len(model.components_))
    parts = np.asarray(weights) * sizes
    total = parts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, parts / np.where(total > 0, total, 1.0), 0.0))


def axis_of(columns: Sequence[str]) -> np.ndarray | None:
    """Return the names of columns as increasing numbers, such as wavelengths; None if they are not."""
    try:
        numbers = np.array([float(str(name).strip()) for name in columns])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() and (np.diff(numbers) > 0).all() else None


def colour_map(values: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Draw values from 0 to 1 of all pixels as an image, shape (height, width, 3): white to dark blue."""
    place = np.clip(values, 0.0, 1.0).reshape(shape) * (len(_STOPS) - 1)
    low = np.minimum(place.astype(int), len(_STOPS) - 2)
    return np.asarray(_STOPS[low] + (place - low)[..., None] * (_STOPS[low + 1] - _STOPS[low]))


def picture_of_component(component: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Draw a component as a picture of this height and width: black is zero, white its largest entry."""
    return np.asarray(np.clip(component / max(float(component.max()), _TINY), 0.0, 1.0).reshape(tuple(shape)))
