"""Figures of the reports as plain data, which `charts.js` draws.

A figure is a dictionary with a ``kind``: a ``plot`` of panels with marks (lines, bands, bars, dots, rules) on two axes, a
``heat`` map, or ``links`` between two columns. Colours are numbers in `PALETTE`, or names of the style sheet, so that
they follow the page from light to dark. Hover texts are plain; the first line is the heading.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..datasets.images import picture_of

# Okabe and Ito's colours, safe for the colour-blind; numbers always stand beside them.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d00", "#52606d")
_PALE, _INK = "pale", "ink"
_ANNOTATED = 400  # cells that still have room for their numbers
_MOST_POINTS = 2000
_MOST_PLACES = 300  # that a float can be rounded to
_NARROW = 230  # least width in pixels of a panel among others
_MAP_COLUMNS = 60  # of a map of means
_LONG_NAME, _GLANCE = 40, 12
_APART = 0.17  # dots of the same row, in rows

Series = Sequence[tuple[str, np.ndarray, np.ndarray]]
"""Curves: their names, x and y."""


def shortened(text: object, length: int = 24) -> str:
    """Text for a figure."""
    plain = str(text)
    return plain if len(plain) <= length else plain[: length - 1] + "…"


# --- maps -----------------------------------------------------------------------------------------------------------


def heat_map(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    hover: str | Callable[[int, int], str],
    signed: bool = False,
    digits: int = 2,
    row_title: str = "",
    column_title: str = "",
    small: bool = False,
) -> dict[str, Any]:
    """Values (n, m) as colours, the first row on top; signed ones go from blue through nothing at zero to brown.

    ``hover`` is what is said of a cell, with ``{row}``, ``{column}`` and ``{value}``, or a function of their numbers.
    """
    many, below, across = small or values.size > _ANNOTATED, [*map(shortened, rows)], [*map(shortened, columns)]
    told = [
        [hover.format(row=row, column=column, value=values[i, j]) if isinstance(hover, str) else hover(i, j)
         for j, column in enumerate(columns)] for i, row in enumerate(rows)
    ]  # fmt: skip
    return {
        "kind": "heat", "values": _rounded(values), "rows": below, "columns": across, "hover": told, "signed": signed,
        "top": float(np.abs(values).max(initial=0.0)) or 1.0, "digits": None if many else digits,
        "titles": [row_title, column_title], "height": 18 if small else 27,
        "width": (14 if small else 18 if many else 40) * len(columns) + (110 if small else 140),
    }  # fmt: skip


def means_map(
    what: str,
    means: np.ndarray,
    distances: np.ndarray,
    weights: np.ndarray,
    names: Sequence[str],
    deviations: np.ndarray | None = None,
) -> dict[str, Any]:
    """Distances (K, D) of means from the overall mean, in standard deviations: the 60 columns at most that differ most.

    Of more columns than are seen at a glance those that differ most come first.
    """
    chosen = np.argsort(-(weights @ distances**2), kind="stable")[:_MAP_COLUMNS]
    chosen = np.sort(chosen) if len(chosen) <= _GLANCE else chosen
    rows, shown = [f"{what} {k}" for k in range(len(means))], [names[d] for d in chosen]

    def hover(k: int, j: int) -> str:
        d = chosen[j]
        more = "" if deviations is None else f", standard deviation {deviations[k, d]:.4g}"
        far = f"{distances[k, d]:+.2f} standard deviations from the overall mean"
        return f"{rows[k]}, {shortened(names[d])}\nmean {means[k, d]:.4g}{more}\n{far}"

    return heat_map(distances[:, chosen], rows, shown, hover=hover, signed=True, digits=1)


def links(
    left: Sequence[tuple[str, str, int] | tuple[str, str, int, str]],
    right: Sequence[tuple[str, str]],
    edges: Sequence[tuple[int, int, float]],
    heights: tuple[np.ndarray, np.ndarray],
    *,
    exact: bool = False,
) -> dict[str, Any]:
    """Lines from circles on the left to dots on the right.

    Parameters
    ----------
    left : sequence of (str, str, int) or (str, str, int, str)
        Labels of the circles, what is said of them, their colours as numbers of the palette, and names to stand above them.
    right : sequence of (str, str)
        Labels of the dots, and what is said of them.
    edges : sequence of (int, int, float)
        From where to where, and how strong, from 0 to 1.
    heights : pair of ndarrays
        Where circles and dots stand, in rows from the top.
    exact : bool
        Whether numbers keep all their digits, and are no plain data.
    """
    return {
        "kind": "links", "width": 300, "left": [list(one) for one in left], "right": [list(one) for one in right],
        "edges": [[int(a), int(b), strength if exact else round(float(strength), 3)] for a, b, strength in edges],
        "heights": [_rounded(side) for side in heights],
    }  # fmt: skip


# --- curves ---------------------------------------------------------------------------------------------------------


def lines(
    series: Series,
    *,
    steps: Sequence[int] = (),
    title: str = "row",
    y_title: str = "",
    from_zero: bool = False,
    whole: bool = False,
    aside: int = 0,
) -> dict[str, Any]:
    """Curves below one another over a common axis; those numbered in ``steps`` move in steps, ``whole`` x are numbers.

    With ``aside`` they also stand beside one another, each at least so many pixels wide.
    """
    panels = []
    for i, (name, x, y) in enumerate(series):
        line = _line(name, x, y, _INK if i in steps else 0, width=1.3) | {"steps": i in steps}
        y_axis = {"title": y_title, "zero": from_zero, "whole": i in steps}
        heading = "" if len(series) == 1 else shortened(name, 40)
        panels.append(_panel([line], x={"title": title, "whole": whole}, y=y_axis, title=heading))
    beside_others = {"columns": aside} if aside else {}
    return _plot(panels, height=190 if len(series) == 1 else 72, shared=True, **beside_others)


def overlaid(series: Series, *, title: str, y_title: str = "", exact: bool = False) -> dict[str, Any]:
    """Curves in one frame, in the colours of their numbers, and then dashed; ``exact`` numbers keep all their digits."""
    n = len(PALETTE)
    marks = [_line(name, x, y, i % n, dash=i // n % 3, exact=exact) for i, (name, x, y) in enumerate(series)]
    panel = _panel(marks, x={"title": title}, y={"title": y_title, "zero": True})
    return _plot([panel], height=290, shared=True, legend=True)


def trend(
    x: Sequence[float], y: Sequence[float], *, hover: Sequence[str], large: Sequence[bool], title: str, y_title: str
) -> dict[str, Any]:
    """A curve through dots, some of them large."""
    line, dots = _line("", np.asarray(x), np.asarray(y), 0), _dots("", x, y, 0, hover=hover)
    dots["sizes"] = [6.5 if one else 3.5 for one in large]
    panel = _panel([line | {"quiet": True}, dots], x={"title": title, "whole": True}, y={"title": y_title})
    return _plot([panel], height=230)


def bands(
    panels: Sequence[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]],
    *,
    labels: Sequence[str] | None = None,
    title: str = "",
    y_title: str = "",
    percent: bool = False,
    level: float = 0.9,
    colours: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Small multiples of a curve with a band around it, on common axes.

    Parameters
    ----------
    panels : sequence of (name, x, y, low, high)
        A curve a panel, and the ends of its interval at every x.
    labels : sequence of str, optional
        Texts at x = 0, 1, ...; without them x is written as numbers.
    title, y_title : str
        Of the axes.
    percent : bool
        Whether y is a share, to be written in percent.
    level : float
        Of the intervals, for hover texts.
    colours : sequence of int, optional
        Of the panels; by default one after the other.
    """
    x_axis = {"title": title} | ({} if labels is None else {"names": list(labels)})
    said = f"{level:.0%} interval"
    drawn = []
    for i, (name, x, y, low, high) in enumerate(panels):
        colour = (i if colours is None else colours[i]) % len(PALETTE)
        band = {"mark": "band", "x": _rounded(x), "colour": colour, "says": said}
        band |= {"low": _rounded(low), "high": _rounded(high)}
        curve = _line("", x, y, colour) | {"points": len(x) <= 60}
        drawn.append(
            _panel([band, curve], x=x_axis, y={"title": y_title, "zero": True, "percent": percent}, title=name)
        )
    return _plot(drawn, height=130, columns=_NARROW, same=True)


def intervals(
    panels: Sequence[tuple[str, Sequence[str], np.ndarray, np.ndarray, np.ndarray]],
    *,
    title: str = "",
    percent: bool = False,
    level: float = 0.9,
    colours: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Small multiples of horizontal bars with intervals, on a common axis.

    Parameters
    ----------
    panels : sequence of (name, labels, values, low, high)
        Bars a panel, their labels, and the ends of their intervals.
    title : str
        Of the horizontal axis.
    percent : bool
        Whether values are shares, to be written in percent.
    level : float
        Of the intervals, for hover texts.
    colours : sequence of int, optional
        Of the panels; by default one after the other.
    """
    drawn = []
    for i, (name, labels, values, low, high) in enumerate(panels):
        colour = (i if colours is None else colours[i]) % len(PALETTE)
        bar = {
            "mark": "bars", "sideways": True, "x": list(range(len(labels))), "y": _rounded(values), "width": 0.62,
            "low": _rounded(low), "high": _rounded(high), "colour": colour, "says": f"{level:.0%} interval",
        }  # fmt: skip
        x_axis = {"title": title, "zero": True, "percent": percent}
        y_axis = {"names": [shortened(one) for one in labels]}
        drawn.append(_panel([bar], x=x_axis, y=y_axis, title=name))
    rows = max((len(labels) for _, labels, *_ in panels), default=0)
    return _plot(drawn, height=22 * rows + 8, columns=_NARROW, same=True)


# --- bars and dots --------------------------------------------------------------------------------------------------


def bars(
    x: Sequence[float] | np.ndarray,
    series: Sequence[tuple[str, np.ndarray, int | str | Sequence[int | str]]],
    *,
    hover: Sequence[Sequence[str]],
    title: str,
    y_title: str,
    width: float = 0.75,
    whole: bool = True,
    counts: bool = False,
    height: int = 220,
    exact: bool = False,
) -> dict[str, Any]:
    """Upright bars, those of several series beside each other.

    Parameters
    ----------
    x : array of shape (n,)
        Where the bars stand.
    series : sequence of (name, heights (n,), colour or colours)
    hover : sequence of sequences of str
        What is said of the bars of each series.
    title, y_title : str
        Of the axes.
    width : float
        Of the bars at one x together, in its units.
    whole, counts : bool
        Whether x and heights are whole numbers.
    height : int
        In pixels.
    exact : bool
        Whether numbers keep all their digits, and are no plain data.
    """
    own = width / len(series)
    marks = [
        {
            "mark": "bars", "x": _rounded(np.asarray(x, float) + (i - (len(series) - 1) / 2) * own, 6),
            "y": _rounded(heights, exact=exact), "width": own, "colour": colour, "hover": list(texts), "name": name,
        } for i, ((name, heights, colour), texts) in enumerate(zip(series, hover, strict=True))
    ]  # fmt: skip
    panel = _panel(marks, x={"title": title, "whole": whole}, y={"title": y_title, "zero": True, "whole": counts})
    return _plot([panel], height=height, legend=len(series) > 1)


def named_bars(
    names: Sequence[str],
    values: Sequence[float] | np.ndarray,
    *,
    title: str,
    hover: Sequence[str] = (),
    colours: Sequence[int | str] | int = 0,
    percent: bool = True,
) -> dict[str, Any]:
    """A bar for every name, the first on top."""
    bar = {"mark": "bars", "sideways": True, "x": list(range(len(names))), "y": _rounded(values), "width": 0.62}
    bar |= {"colour": colours} | ({"hover": list(hover)} if hover else {})
    y_axis = {"names": [shortened(name, _LONG_NAME) for name in names]}
    return _plot([_panel([bar], x={"title": title, "zero": True, "percent": percent}, y=y_axis)], 24 * len(names) + 8)


def strips(
    sequences: Sequence[tuple[str, np.ndarray]], kinds: Sequence[str], *, title: str, most: int
) -> dict[str, Any]:
    """A strip for every sequence of kinds (numbers from 0), in stretches of their colours; at most ``most`` steps of each."""
    marks: list[dict[str, Any]] = [
        {"mark": "spans", "name": kind, "colour": k % len(PALETTE), "x": [], "to": [], "y": [], "hover": []}
        for k, kind in enumerate(kinds)
    ]
    for row, (name, found) in enumerate(sequences):
        shown = np.asarray(found[:most])
        edges = [0, *(np.flatnonzero(np.diff(shown)) + 1).tolist(), len(shown)]
        for start, stop in pairwise(edges):
            mark = marks[int(shown[start])]
            for key, value in (("x", start), ("to", stop), ("y", row)):
                mark[key].append(value)
            steps = f"step {stop}" if stop - start == 1 else f"steps {start + 1:,} to {stop:,}"
            mark["hover"].append(f"{shortened(mark['name'], 60)}\n{name}, {steps}")
    y_axis = {"names": [shortened(name) for name, _ in sequences]}
    panel = _panel([mark for mark in marks if mark["x"]], x={"title": title, "whole": True}, y=y_axis)
    return _plot([panel], 30 * len(sequences) + 12, legend=True)


def spectrum(
    values: np.ndarray, n_used: int, noise: Sequence[float], title: str, *, exact: bool = False
) -> dict[str, Any]:
    """Sizes of directions as bars, the first ``n_used`` in blue, and dashed lines up to which chance alone would reach.

    ``exact`` numbers keep all their digits.
    """
    number = np.arange(1, len(values) + 1)
    hover = [f"direction {i}: {value:.3g}" for i, value in zip(number, values, strict=True)]
    colours: list[int | str] = [0 if i <= n_used else _PALE for i in number]
    series, look = [("", values, colours)], {"height": 240, "exact": exact}
    figure = bars(number, series, hover=[hover], title="direction", y_title=title, **look)  # type: ignore[arg-type]
    figure["panels"][0]["marks"] += [
        {"mark": "rule", "y": float(f"{y:.5g}"), "text": f"noise {y:.3g}", "colour": "bad"} for y in noise
    ]
    return figure


def beside(
    names: Sequence[str],
    answers: Mapping[str, np.ndarray],
    errors: np.ndarray | None,
    *,
    title: str,
    exact: bool = False,
) -> dict[str, Any]:
    """A row for every name with a dot for each answer, and intervals of plus or minus ``errors`` at the first one's.

    ``exact`` numbers keep all their digits.
    """
    marks = []
    for i, (name, values) in enumerate(answers.items()):
        places = np.arange(len(names)) + (i - (len(answers) - 1) / 2) * _APART
        hover = [f"{shortened(one, 40)}\n{name}: {value:.3g}" for one, value in zip(names, values, strict=True)]
        look = (0, 1, 3, 2)[i % 4]
        mark = _dots(name, values, places, look, hover=hover, symbol=look, exact=exact)
        if not i and errors is not None:
            mark |= {"low": _rounded(values - errors, exact=exact), "high": _rounded(values + errors, exact=exact)}
        marks.append(mark)
    panel = _panel(marks, x={"title": title, "origin": True}, y={"names": [shortened(name) for name in names]})
    return _plot([panel], height=34 * len(names) + 10, legend=True)


def points(places: np.ndarray, labels: np.ndarray, centres: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Rows in the plane (n, 2) in the colours of their components, and the components' centres (K, 2) with their numbers."""
    n = len(PALETTE)
    marks = []
    for k, name in enumerate(names):
        own = places[labels == k]
        mark = _dots(name, own[:, 0], own[:, 1], k % n, symbol=k // n % 6)
        marks.append(mark | {"size": 2.6, "opacity": 0.6, "quiet": True})
    rings = _dots("", centres[:, 0], centres[:, 1], 0, hover=[f"{name}: its mean" for name in names])
    rings |= {"size": 12, "colour": [k % n for k in range(len(names))], "texts": [str(k) for k in range(len(names))]}
    panel = _panel([*marks, rings], x={"title": "first direction"}, y={"title": "second direction"})
    return _plot([panel], height=450)


# --- parts ----------------------------------------------------------------------------------------------------------


def _plot(panels: list[dict[str, Any]], height: int, **options: Any) -> dict[str, Any]:
    """Panels of one height in pixels; ``columns`` is their least width where several stand beside each other."""
    look = {"height": height, "width": options.get("columns", 280)}
    return {"kind": "plot", "panels": panels} | look | options


def _panel(marks: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], title: str = "") -> dict[str, Any]:
    return {"title": title, "x": x, "y": y, "marks": marks}


def _line(
    name: str,
    x: np.ndarray,
    y: np.ndarray,
    colour: int | str,
    *,
    width: float = 2,
    dash: int = 0,
    exact: bool = False,
) -> dict[str, Any]:
    return {
        "mark": "line", "name": shortened(name, 40), "x": _rounded(x, exact=exact), "y": _rounded(y, exact=exact),
        "colour": colour, "width": width, "dash": dash,
    }  # fmt: skip


def _dots(
    name: str, x: Any, y: Any, colour: int, *, hover: Sequence[str] = (), symbol: int = 0, exact: bool = False
) -> dict[str, Any]:
    return {
        "mark": "dots", "name": shortened(name, 40), "x": _rounded(x, exact=exact), "y": _rounded(y, exact=exact),
        "colour": colour, "symbol": symbol, "size": 4.5, "hover": list(hover),
    }  # fmt: skip


def picture(image: np.ndarray) -> str:
    """An image of values from 0 to 1 as the address of a PNG file in the page."""
    file = io.BytesIO()
    picture_of(image).save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def places_on_a_plane(centres: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The plane that keeps most of the weighted spread of the centres (K, D), as columns (D, 2)."""
    about = (centres - weights @ centres) * np.sqrt(weights)[:, None]
    directions = np.linalg.svd(about, full_matrices=False)[2][:2]
    plane = np.zeros((centres.shape[1], 2))
    for axis, direction in enumerate(directions):
        plane[:, axis] = direction * (np.sign(direction[np.argmax(np.abs(direction))]) or 1.0)  # a sign free of chance
    return plane


def thinned(values: np.ndarray, most: int = _MOST_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers from 1 and values of a curve; a long one keeps the least and the largest of every stretch."""
    n = len(values)
    if n <= most:
        return np.arange(1, n + 1), values
    edges = np.linspace(0, n, most // 2 + 1).astype(int)
    kept = sorted(
        {start + int(find(values[start:stop])) for start, stop in pairwise(edges) for find in (np.argmin, np.argmax)}
    )
    return np.array(kept) + 1, values[kept]


def _rounded(values: Any, digits: int = 5, *, exact: bool = False) -> Any:
    """Numbers as lists, with as many digits as a figure shows; whole ones without a point, None where there is none.

    ``exact`` ones stay as they are, in an array.
    """
    array = np.asarray(values, dtype=float)
    if exact:
        return array
    known = np.isfinite(array)
    scale = np.abs(array[known]).max(initial=0.0)
    places = min(digits - 1 - int(np.floor(np.log10(scale))), _MOST_PLACES) if scale > 0 else 0
    rounded = np.round(np.where(known, array, 0.0), places) + 0.0  # no "-0.0"
    whole = scale < 1e15 and bool((rounded == np.round(rounded)).all())
    found = (rounded.astype(int) if whole else rounded).astype(object)
    found[~known] = None
    return found.tolist()
