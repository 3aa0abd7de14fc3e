"""Nonnegative matrix factorizations, for readers who do not program."""

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
from .parts import component_marks, count, evidence_of, grades_say, largest, listing, short_number

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
_UNITS = {"simplex": "the mean length of the components as 1", "cone": "components of length 1"}
_TILES, _PANELS, _MAPS, _OVERLAID, _LISTED = 60, 24, 40, 12, 300
_STRONGEST, _PRINTED, _BARS = 6, 5, 8
_FEW_COLUMNS, _MOST_COLUMNS = 12, 40  # from so many columns on components are curves; of a heat map
_STOPS = np.array([[255, 255, 255], [107, 169, 209], [0, 80, 125]]) / 255
_RED = np.array([163, 59, 0]) / 255
_WORST = 0.99  # quantile of the rows' errors that is drawn in full colour
_TINY = 1e-300


@dataclass(frozen=True)
class _Seen:
    """A model, the names of its columns and of the rows it chose, and what is known of its rows."""

    model: Any
    names: list[str]
    called: list[str]
    axis: np.ndarray | None = None
    image: Sequence[int] | None = None
    picture_shape: Sequence[int] | None = None
    shares: np.ndarray | None = None
    errors: np.ndarray | None = None

    @property
    def one(self) -> str:
        """What a row is."""
        return "pixel" if self.image is not None else "picture" if self.picture_shape is not None else "row"

    @property
    def mean_shares(self) -> list[float]:
        """Of each component in all rows."""
        return [float(np.mean(own)) for own in (self.model.weights_ if self.shares is None else self.shares.T)]

    @property
    def origin(self) -> str:
        """Where components come from."""
        if self.model.refine:
            return f"They began as {self.one}s of the data and were polished."
        more = ", or the mean of it and of others within the noise of it" if self.model.pooled else ""
        return f"Each is a {self.one} of the data{more}."


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
    """Say what components were found, from which rows, and how far they can be trusted.

    Parameters
    ----------
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
    row_labels : sequence of Column
        What tells the rows apart, their numbers first.

    Returns
    -------
    Summary

    """
    names, n = _checked(model, X, columns, rows, image, picture_shape), 0
    called = [f"row {row}" if rows is None else str(rows[row]) for row in model.anchors_]
    axis = axis_of(names) if picture_shape is None and len(names) >= _FEW_COLUMNS else None
    seen, files = _Seen(model, names, called, axis, image, picture_shape), list[Table]()
    if X is not None:
        n, weights = X.shape[0], np.asarray(model.transform(X) if weights is None else weights)
        shares = contributions(model, weights)
        seen = replace(seen, shares=shares, errors=np.sqrt(row_errors(model, X, weights)))
        files = [_anchors(model, shares, called, row_labels), rows_of(weights, row_labels)]
    (width, one), (picture, *others) = (count(len(names), "column"), seen.one), _pictures(seen)
    what = {
        "pixel": f"an image of {_pixels(image)} in {count(len(names), 'band')}",
        "row": f"{count(n, 'row')} of {width}",
    }
    said = what.get(one, f"{count(n, 'picture')} of {_pixels(picture_shape)}")
    return Summary(
        says=count(len(called), "component")
        + (f" in {said}; each {one} is a mixture of them." if n else f" of {width}."),
        nouns=("component", "components", f"{one}s"),
        parts=(*others, *_panels(seen), *_described(seen), *_rounds(seen), _table(seen), *files),
        answer=Answer(f"Which pure {one}s are all other {one}s mixtures of?", _words(seen), picture),
        error=f"Expected error of a component: {{}} on average, as a distance with {_UNITS[model.mixing_kind_]}; 0 is perfect.",
        reading=(("What to do next", _NEXT.format(one)),),
        styles=("tables.css", "nmf.css"),
    )


def _words(seen: _Seen) -> str:
    named = [f"component {k} ({share:.0%} of the data) from {own}" for k, (share, own) in enumerate(
        zip(seen.mean_shares, seen.called, strict=True)
    )]  # fmt: skip
    return f"{count(len(named), f'pure {seen.one}')}: {listing(named)}."


def summarize_counts(
    model: Any, weights: np.ndarray, columns: Sequence[str], row_labels: Sequence[Column] = (), **options: Any
) -> Summary:
    """Say what components of counts were found, with files of these and of their weights in every row.

    Parameters
    ----------
    model : PoissonNMF
        A fitted model.
    weights : ndarray of shape (n_rows, r)
        What ``model.transform`` gives.
    columns : sequence of str of length d
        Names of the columns.
    row_labels : sequence of Column
        What tells the rows apart, their numbers first.
    **options
        ``title``, ``source`` and ``comparison``, as of `summarize_nmf`.

    Returns
    -------
    Summary
    """
    summary, size = summarize_any(model, columns=columns, note="", **options), len(model.components_)
    found = (
        Column("component", range(size)),
        Column("share", model.weights_, ".6f"),
        *grade_columns(summary.evidence, size),
        *block(columns, model.components_),
    )
    return replace(
        summary, parts=(*summary.parts, Table("factors", found, file="components.csv"), rows_of(weights, row_labels))
    )


def _checked(model: Any, X: Any, columns: Any, rows: Any, image: Any, picture_shape: Any) -> list[str]:
    """Names of the columns; raises where sizes do not agree."""
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
    for shape, size, what in ((image, n, "rows"), (picture_shape, d, "columns")):
        if not problem and shape is not None and (len(shape) != 2 or int(np.prod(shape)) != size):
            asked = " x ".join(map(str, shape[::-1]))
            problem = f"{asked} pixels are {int(np.prod(shape))}, and there are {size} {what}."
    if problem:
        raise LatentiaError(problem)
    return names


def _pixels(shape: Sequence[int] | None) -> str:
    return "" if shape is None else f"{shape[1]} x {shape[0]} pixels"


# --- tables ---------------------------------------------------------------------------------------------------------


def _few(entries: list[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {short_number(entry)}" for name, entry in entries[:_PRINTED])


def _table(seen: _Seen) -> Table:
    one, size, model, evidence = seen.one, len(seen.called), seen.model, evidence_of(seen.model)
    own = {"pixel": "The spectrum of a material.", "picture": "A picture."}.get(
        one, "A row of numbers, none below zero."
    )
    told = [[(seen.names[d], W[d]) for d in largest(W, _STRONGEST) if W[d] > 0] for W in model.components_]
    where = "p" if axis_of(seen.names) is not None else "ps"
    listed = Column("largest entries", told, short=short_number, screen=_few, kind="words", where=where)
    left = f"{100 * model.relative_error_:.3g}"
    cone, alone = model.mixing_kind_ == "cone", seen.picture_shape is None and seen.axis is None
    taken = "" if not model.pooled else "Others that noise cannot tell from it are averaged with it."
    taken = f"It was polished afterwards and need no longer be that {one}." if model.refine else taken
    weight = f"The weight of a component in a {one}, where all weights sum to 1"
    share = f"How much of the sum of a {one} a component makes up" if cone else weight
    error = (
        f"The {one}s are split at random, and components are found in the parts anew. How far a component moves says how far "
        f"it may be from the truth, {'as a distance of' if cone else 'with'} {_UNITS[model.mixing_kind_]}. "
        + grades_say(evidence, "a component", f"other {one}s of the same kind would give another one")
    )
    return Table(
        "components",
        (
            Column("component", range(size), kind="bold", meaning=f"{own} {_COMPONENT.format(one)}"),
            Column(
                "share", seen.mean_shares, ".6f", kind="share", meaning=f"{share}, and on average over all of them."
            ),
            *grade_columns(evidence, size, meaning=error),
            Column("taken from", seen.called, kind="text", where="ps", meaning=_TAKEN.format(one, taken)),
            *((listed,) if alone else ()),
            *block(seen.names, model.components_),
        ),
        title="All components",
        hint=f"The first {_LISTED}; components.csv holds all {size}." if size > _LISTED else "",
        file="components.csv",
        caption=count(size, "component"),
        note=f"Chosen by {model.method_}, {'rows of any scale' if cone else 'shares that sum to 1'}. Left over: {left}% of the "
        f"length of all rows (|X - A W| = {short_number(model.reconstruction_err_)}).",
        label="component",
        most=_LISTED,
        tall=True,
    )


_COMPONENT = (
    "Every {} is, apart from noise, a mixture of components, each with a weight that is never negative: parts add up and none "
    "is taken away. A component has a number, not a name."
)
_TAKEN = (
    "Each component is found as one {0} of the data that is that component alone (an anchor, or in images of the earth a pure "
    "pixel). {1} Where no {0} is pure, the components that are found are mixtures themselves."
)
_NEXT = (
    "-k 3:10 compares several numbers of components. --refine auto polishes them where no {0} is quite pure. 'latentia apply' "
    "gives the shares of other {0}s."
)


def _anchors(model: Any, shares: np.ndarray, called: list[str], row_labels: Sequence[Column]) -> Table:
    """The row of each component."""
    rows = [int(row) for row in model.anchors_]
    columns = (
        Column("component", range(len(rows))),
        Column("row", [row_labels[0].values[row] for row in rows] if row_labels else rows),
        Column("name", called),
        Column("share of the row", shares[rows, range(len(rows))], ".6f"),
        Column("share", [own.mean() for own in shares.T], ".6f"),
    )
    return Table("anchors", columns, file="anchors.csv")


def rows_of(weights: np.ndarray, row_labels: Sequence[Column] = ()) -> Table:
    """The weight (n_rows, r) of each component in every row."""
    names = [f"component {k}" for k in range(weights.shape[1])]
    return Table("rows", (*row_labels, *block(names, weights, ".6g")), file="weights.csv")


# --- pictures and figures -------------------------------------------------------------------------------------------


def _pictures(seen: _Seen) -> tuple[Figure | Section, ...]:
    """The answer as a picture, and others: maps, pictures, spectra, or else a heat map of the largest entries."""
    model, spectra = seen.model, _spectra(seen)
    parts = [
        {"number": k, "share": share, "from": name, "error": error, "grade": mark}
        for k, (share, name, (error, mark)) in enumerate(
            zip(seen.mean_shares, seen.called, component_marks(evidence_of(model), len(seen.called)), strict=True)
        )
    ]
    if seen.image is not None and seen.shares is not None and seen.errors is not None:
        maps = _maps(model, seen.shares, seen.errors, seen.image, parts) | {"worst": np.quantile(seen.errors, 0.95)}
        return Section("nmf_maps.html", maps | {"size": len(parts)}), *spectra
    if seen.picture_shape is not None:
        tiles = [
            one | {
                "picture": picture(picture_of_component(W, seen.picture_shape)), "alt": f"component {one['number']}",
                "title": f"component {one['number']}: {one['share']:.1%} of the data", "used": f"{one['share']:.1%}",
            } for one, W in zip(parts[:_TILES], model.components_, strict=False)
        ]  # fmt: skip
        cut = f" The first {len(tiles)} of {len(parts)}; components.png shows all." if len(tiles) < len(parts) else ""
        hint = f"Black is zero, and white the largest entry of each.{cut} {seen.origin}"
        return (Section("tiles.html", {"tiles": tiles, "tile": 96, "things": "components", "hint": hint}),)
    return spectra or (_map(seen),)


def _map(seen: _Seen) -> Figure:
    W = seen.model.components_[:_PANELS]
    chosen = np.sort(largest(W.max(axis=0), _MOST_COLUMNS))
    rows, names = [f"component {k}" for k in range(len(W))], [seen.names[d] for d in chosen]
    hover = "{row}, {column}\n{value:.4g}"
    cut = f" The {_MOST_COLUMNS} columns with the largest." if len(seen.names) > _MOST_COLUMNS else ""
    label = "Heat map of the components; components.csv holds the numbers"
    caption = f"The entries of each component: the stronger its colour, the larger.{cut} {seen.origin}"
    return Figure("map", heat_map(W[:, chosen], rows, names, hover=hover), "The components", label, caption)


def _panels(seen: _Seen) -> tuple[Section, ...]:
    """Components with their largest entries, where there are many columns that have names."""
    if seen.axis is not None or seen.picture_shape is not None or len(seen.names) < _FEW_COLUMNS:
        return ()
    size, marks = len(seen.called), component_marks(evidence_of(seen.model), len(seen.called))
    panels = [
        {"number": k, "used": f"{seen.mean_shares[k]:.1%} of the data", "from": seen.called[k], "error": error, "grade": mark,
         "bars": _bars(W, seen.names)}
        for k, (W, (error, mark)) in enumerate(zip(seen.model.components_[:_PANELS], marks, strict=False))
    ]  # fmt: skip
    cut = f"{len(panels)} of {size}; components.csv holds all. " if len(panels) < size else ""
    below = f"Bars are the columns with the largest entries. Below stands the {seen.one} that each was taken from."
    values = {"place": "shown", "title": "The columns of the components", "hint": cut + below, "panels": panels}
    return (Section("panels.html", values),)


def _bars(component: np.ndarray, names: list[str]) -> list[tuple[str, float, str, str]]:
    """Its largest entries, with lengths in percent."""
    lengths = 100 * np.maximum(component, 0.0) / max(float(np.abs(component).max()), _TINY)
    return [(names[d], float(lengths[d]), "", short_number(float(component[d]))) for d in largest(component, _BARS)]


def _described(seen: _Seen) -> tuple[Table, ...]:
    """How well rows are described, how mixed they are, and how the components were found."""
    model, shares, errors, one, many = seen.model, seen.shares, seen.errors, seen.one, f"{seen.one}s"
    relative, rounds = float(model.relative_error_), np.size(model.refinement_) if model.refine else 0
    facts = {
        f"Left over of all {many}": f"{100 * relative:.3g}% of their length ({short_number(model.reconstruction_err_)})",
        "Chosen by": METHODS.get(model.method_, model.method_), "Mixing": MIXINGS[model.mixing_kind_],
    } | ({"Rounds of polish": str(rounds)} if rounds else {})  # fmt: skip
    columns = (
        Column("what", list(facts), kind="name"),
        Column("value", list(facts.values()), kind="text", heading="How it is"),
    )
    found = Table("certificate", columns, "How the components were found")
    if shares is None or errors is None:
        return (found,)
    purest = shares.max(axis=1)
    pure = int((purest >= 0.99).sum())
    nearly = f"{pure:,} {many} are" if pure > 1 else f"{'1' if pure else 'No'} {one} is"
    well = (
        f"Mixtures of the components account for **{100 * (1 - relative**2):.2f}%** of the squares of all {many}. How far a "
        f"{one} is from the nearest mixture, relative to its length: half of them less than {100 * np.median(errors):.2g}%, "
        f"and one in twenty more than {100 * np.quantile(errors, 0.95):.2g}%."
    )
    mixed = (
        f"The largest share of a component in a {one}; half of them have more than {np.median(purest):.0%}. {nearly} nearly "
        f"one component alone. The method takes such {many} as components: a component that never occurs alone cannot be found "
        "by it."
    )
    return (
        histogram("left over", many, errors, (1, 2, 5, 10, 20, 50), f"How well {many} are described", well, "errors"),
        histogram("largest share", many, purest, (30, 50, 70, 90, 99), f"How mixed {many} are", mixed, "purity"),
        found,
    )


def _maps(
    model: Any, shares: np.ndarray, errors: np.ndarray, image: Sequence[int], parts: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The shares of each component, all together, each in its colour, and what is left over, white where nothing is."""
    height, width = image
    places = [(100 * (row % width + 0.5) / width, 100 * (row // width + 0.5) / height) for row in model.anchors_]
    maps = [
        one | {"place": place, "map": picture(map_of(own, (height, width)))}
        for one, place, own in zip(parts[:_MAPS], places, shares.T, strict=False)
    ]
    colours = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in PALETTE])
    mixed = (shares @ colours[np.arange(len(parts)) % len(PALETTE)]).reshape(height, width, 3)
    left = np.clip(errors / max(float(np.quantile(errors, _WORST)), _TINY), 0, 1).reshape(height, width, 1)
    return {"maps": maps, "mixed": picture(mixed), "residual": picture(1 - left * (1 - _RED))}


def _spectra(seen: _Seen) -> tuple[Figure, ...]:
    """The components over the columns, where these have numbers as names."""
    if seen.axis is None:
        return ()
    curves = [(k, *thin_curve(component)) for k, component in enumerate(seen.model.components_[:_OVERLAID])]
    series = [(f"component {k}", seen.axis[places - 1], heights) for k, places, heights in curves]
    size, figure = len(seen.called), overlaid(series, title="column", y_title="entry")
    cut = f" The first {_OVERLAID} of {size}." if size > _OVERLAID else ""
    label = "Curves of the components over the columns; components.csv holds the numbers"
    caption = f"The entries of each component over the columns, which have numbers as names.{cut} {seen.origin}"
    return (Figure("spectra", figure, "The components as spectra", label, caption),)


def _rounds(seen: _Seen) -> tuple[Figure, ...]:
    rounds = np.atleast_1d(np.asarray(seen.model.refinement_, dtype=float))
    if not seen.model.refine or len(rounds) < 2:
        return ()
    curve = [("log-likelihood", np.arange(1, len(rounds) + 1), rounds)]
    figure = lines(curve, title="round", y_title="nats", whole_numbers=True)
    caption = (
        f"Likelihood of the {seen.one}s after each round of polish, in which components and weights are fitted in turn; a "
        "curve that is flat at its end has converged."
    )
    return (Figure("rounds", figure, "How the fit improved", "Line of the likelihood after each round", caption),)


# --- numbers and pictures -------------------------------------------------------------------------------------------


def contributions(model: Any, weights: np.ndarray) -> np.ndarray:
    """Shares of the components in every row, shape (n_rows, r), rows that sum to one; zeros for a row of zeros.

    Where rows may have any scale, the share of a component is that of its entries in the row's sum.
    """
    sizes = np.abs(model.components_).sum(axis=1) if model.mixing_kind_ == "cone" else np.ones(len(model.components_))
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
