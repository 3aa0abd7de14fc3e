"""Figures of the reports as plain data, drawn by `charts.js`.

A figure is a dictionary with a ``kind``: a ``plot`` of panels with marks (lines, bands, bars, dots, rules) on two axes, a
``heat`` map, or ``links`` between two columns. Colours are positions in `PALETTE` or names of the style sheet, so that they
follow the page from light to dark. The first line of a hover text is its heading.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..datasets.images import picture_of

# The colours of Okabe and Ito are safe for colour-blind readers; a number always accompanies them.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d00", "#52606d")
_PALE, _INK = "pale", "ink"
_MAX_ANNOTATED_CELLS = 400  # Larger maps have no room for numbers.
_MAX_POINTS = 2000
_MAX_DECIMALS = 300  # limit of rounding for floats
_MIN_PANEL_WIDTH = 230  # pixels, for several panels side by side
_MAX_MAP_COLUMNS = 60  # in a map of means
_MAX_NAME_LENGTH, _MAX_UNSORTED_COLUMNS = 40, 12
_DOT_SPACING = 0.17  # between the dots of a row, in row heights

Series = Sequence[tuple[str, np.ndarray, np.ndarray]]
"""Curves as (name, x, y)."""


def shorten(text: object, length: int = 24) -> str:
    """Shorten a text for a figure."""
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
    """Show values (n, m) as colours, the first row on top; signed values run from blue over white at zero to brown.

    ``hover`` is the text of a cell, with ``{row}``, ``{column}`` and ``{value}``, or a function of its row and column numbers.
    """
    hides_numbers, below, across = (
        small or values.size > _MAX_ANNOTATED_CELLS,
        [*map(shorten, rows)],
        [*map(shorten, columns)],
    )
    hover_texts = [
        [hover.format(row=row, column=column, value=values[i, j]) if isinstance(hover, str) else hover(i, j)
         for j, column in enumerate(columns)] for i, row in enumerate(rows)
    ]  # fmt: skip
    return {
        "kind": "heat", "values": _round_values(values), "rows": below, "columns": across, "hover": hover_texts,
        "signed": signed, "top": float(np.abs(values).max(initial=0.0)) or 1.0, "digits": None if hides_numbers else digits,
        "titles": [row_title, column_title], "height": 18 if small else 27,
        "width": (14 if small else 18 if hides_numbers else 40) * len(columns) + (110 if small else 140),
    }  # fmt: skip


def means_map(
    noun: str,
    means: np.ndarray,
    distances: np.ndarray,
    weights: np.ndarray,
    names: Sequence[str],
    deviations: np.ndarray | None = None,
) -> dict[str, Any]:
    """Map distances (K, D) of means from the overall mean, in standard deviations, for the 60 columns that differ most.

    If there are more than a dozen, the columns that differ most come first.
    """
    chosen = np.argsort(-(weights @ distances**2), kind="stable")[:_MAX_MAP_COLUMNS]
    chosen = np.sort(chosen) if len(chosen) <= _MAX_UNSORTED_COLUMNS else chosen
    rows, column_labels = [f"{noun} {k}" for k in range(len(means))], [names[d] for d in chosen]

    def hover(k: int, j: int) -> str:
        d = chosen[j]
        deviation_text = "" if deviations is None else f", standard deviation {deviations[k, d]:.4g}"
        distance_text = f"{distances[k, d]:+.2f} standard deviations from the overall mean"
        return f"{rows[k]}, {shorten(names[d])}\nmean {means[k, d]:.4g}{deviation_text}\n{distance_text}"

    return heat_map(distances[:, chosen], rows, column_labels, hover=hover, signed=True, digits=1)


def links(
    circles: Sequence[tuple[str, str, int] | tuple[str, str, int, str]],
    dots: Sequence[tuple[str, str]],
    edges: Sequence[tuple[int, int, float]],
    heights: tuple[np.ndarray, np.ndarray],
    *,
    exact: bool = False,
) -> dict[str, Any]:
    """Draw lines from circles on the left to dots on the right.

    Parameters
    ----------
    left : sequence of (str, str, int) or (str, str, int, str)
        Labels of the circles, their hover texts, their colours as positions in the palette, and names above them.
    right : sequence of (str, str)
        Labels of the dots and their hover texts.
    edges : sequence of (int, int, float)
        Circle, dot and strength from 0 to 1.
    heights : pair of ndarrays
        Positions of circles and dots, in rows from the top.
    exact : bool
        Whether numbers keep all digits and stay arrays.
    """
    return {
        "kind": "links", "width": 300, "left": [list(circle) for circle in circles], "right": [list(circle) for circle in dots],
        "edges": [[int(a), int(b), strength if exact else round(float(strength), 3)] for a, b, strength in edges],
        "heights": [_round_values(side) for side in heights],
    }  # fmt: skip


# --- curves ---------------------------------------------------------------------------------------------------------


def lines(
    series: Series,
    *,
    steps: Sequence[int] = (),
    title: str = "row",
    y_title: str = "",
    from_zero: bool = False,
    whole_numbers: bool = False,
    aside: int = 0,
) -> dict[str, Any]:
    """Draw curves below one another over a common axis.

    Curves whose numbers are in ``steps`` are step functions; ``whole_numbers`` labels x with whole numbers. With ``aside``
    panels also stand side by side, each at least that many pixels wide.
    """
    panels = []
    for i, (name, x, y) in enumerate(series):
        line = _line(name, x, y, _INK if i in steps else 0, width=1.3) | {"steps": i in steps}
        y_axis = {"title": y_title, "zero": from_zero, "whole": i in steps}
        heading = "" if len(series) == 1 else shorten(name, 40)
        panels.append(_panel([line], x={"title": title, "whole": whole_numbers}, y=y_axis, title=heading))
    beside_others = {"columns": aside} if aside else {}
    return _plot(panels, height=190 if len(series) == 1 else 72, shared=True, **beside_others)


def overlaid(series: Series, *, title: str, y_title: str = "", exact: bool = False) -> dict[str, Any]:
    """Draw curves in one frame, by colour and then by dash; ``exact`` numbers keep all digits."""
    n = len(PALETTE)
    marks = [_line(name, x, y, i % n, dash=i // n % 3, exact=exact) for i, (name, x, y) in enumerate(series)]
    panel = _panel(marks, x={"title": title}, y={"title": y_title, "zero": True})
    return _plot([panel], height=290, shared=True, legend=True)


def trend(
    x: Sequence[float], y: Sequence[float], *, hover: Sequence[str], large: Sequence[bool], title: str, y_title: str
) -> dict[str, Any]:
    """Draw a curve through dots, some of them large."""
    line, dots = _line("", np.asarray(x), np.asarray(y), 0), _dots("", x, y, 0, hover=hover)
    dots["sizes"] = [6.5 if is_large else 3.5 for is_large in large]
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
    """Draw small multiples of a curve with an interval band, on common axes.

    Parameters
    ----------
    panels : sequence of (name, x, y, low, high)
        One curve per panel, with the ends of its interval at every x.
    labels : sequence of str, optional
        Labels at x = 0, 1, ...; by default numbers.
    title, y_title : str
        Titles of the axes.
    percent : bool
        Whether y is a share, shown in percent.
    level : float
        Level of the intervals, for hover texts.
    colours : sequence of int, optional
        Colours of the panels; by default in order.
    """
    x_axis = {"title": title} | ({} if labels is None else {"names": list(labels)})
    interval_name = f"{level:.0%} interval"
    drawn_panels = []
    for i, (name, x, y, low, high) in enumerate(panels):
        colour = (i if colours is None else colours[i]) % len(PALETTE)
        band = {"mark": "band", "x": _round_values(x), "colour": colour, "says": interval_name}
        band |= {"low": _round_values(low), "high": _round_values(high)}
        curve = _line("", x, y, colour) | {"points": len(x) <= 60}
        drawn_panels.append(
            _panel([band, curve], x=x_axis, y={"title": y_title, "zero": True, "percent": percent}, title=name)
        )
    return _plot(drawn_panels, height=130, columns=_MIN_PANEL_WIDTH, same=True)


def intervals(
    panels: Sequence[tuple[str, Sequence[str], np.ndarray, np.ndarray, np.ndarray]],
    *,
    title: str = "",
    percent: bool = False,
    level: float = 0.9,
    colours: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Draw small multiples of horizontal bars with intervals, on a common axis.

    Parameters
    ----------
    panels : sequence of (name, labels, values, low, high)
        Bars per panel with labels and the ends of their intervals.
    title : str
        Title of the horizontal axis.
    percent : bool
        Whether values are shares, shown in percent.
    level : float
        Level of the intervals, for hover texts.
    colours : sequence of int, optional
        Colours of the panels; by default in order.
    """
    drawn_panels = []
    for i, (name, labels, values, low, high) in enumerate(panels):
        colour = (i if colours is None else colours[i]) % len(PALETTE)
        bar = {
            "mark": "bars", "sideways": True, "x": list(range(len(labels))), "y": _round_values(values), "width": 0.62,
            "low": _round_values(low), "high": _round_values(high), "colour": colour, "says": f"{level:.0%} interval",
        }  # fmt: skip
        x_axis = {"title": title, "zero": True, "percent": percent}
        y_axis = {"names": [shorten(label) for label in labels]}
        drawn_panels.append(_panel([bar], x=x_axis, y=y_axis, title=name))
    rows = max((len(labels) for _, labels, *_ in panels), default=0)
    return _plot(drawn_panels, height=22 * rows + 8, columns=_MIN_PANEL_WIDTH, same=True)


# --- bars and dots --------------------------------------------------------------------------------------------------


def bars(
    x: Sequence[float] | np.ndarray,
    series: Sequence[tuple[str, np.ndarray, int | str | Sequence[int | str]]],
    *,
    hover: Sequence[Sequence[str]],
    title: str,
    y_title: str,
    width: float = 0.75,
    whole_numbers: bool = True,
    counts: bool = False,
    height: int = 220,
    exact: bool = False,
) -> dict[str, Any]:
    """Draw vertical bars, side by side for several series.

    Parameters
    ----------
    x : array of shape (n,)
        Positions of the bars.
    series : sequence of (name, heights (n,), colour or colours)
    hover : sequence of sequences of str
        Hover texts of the bars of each series.
    title, y_title : str
        Titles of the axes.
    width : float
        Total width of the bars at one x, in units of x.
    whole_numbers, counts : bool
        Whether x and the heights are whole numbers.
    height : int
        Height in pixels.
    exact : bool
        Whether numbers keep all digits and stay arrays.
    """
    bar_width = width / len(series)
    marks = [
        {
            "mark": "bars", "x": _round_values(np.asarray(x, float) + (i - (len(series) - 1) / 2) * bar_width, 6),
            "y": _round_values(heights, exact=exact), "width": bar_width, "colour": colour, "hover": list(texts), "name": name,
        } for i, ((name, heights, colour), texts) in enumerate(zip(series, hover, strict=True))
    ]  # fmt: skip
    panel = _panel(
        marks, x={"title": title, "whole": whole_numbers}, y={"title": y_title, "zero": True, "whole": counts}
    )
    return _plot([panel], height=height, legend=len(series) > 1)


def horizontal_bars(
    names: Sequence[str],
    values: Sequence[float] | np.ndarray,
    *,
    title: str,
    hover: Sequence[str] = (),
    colours: Sequence[int | str] | int = 0,
    percent: bool = True,
) -> dict[str, Any]:
    """Draw a horizontal bar per name, the first on top."""
    bar = {"mark": "bars", "sideways": True, "x": list(range(len(names))), "y": _round_values(values), "width": 0.62}
    bar |= {"colour": colours} | ({"hover": list(hover)} if hover else {})
    y_axis = {"names": [shorten(name, _MAX_NAME_LENGTH) for name in names]}
    return _plot([_panel([bar], x={"title": title, "zero": True, "percent": percent}, y=y_axis)], 24 * len(names) + 8)


def strips(
    sequences: Sequence[tuple[str, np.ndarray]], kinds: Sequence[str], *, title: str, max_steps: int
) -> dict[str, Any]:
    """Draw a strip per sequence of states, coloured by state, with at most ``max_steps`` steps."""
    marks: list[dict[str, Any]] = [
        {"mark": "spans", "name": kind, "colour": k % len(PALETTE), "x": [], "to": [], "y": [], "hover": []}
        for k, kind in enumerate(kinds)
    ]
    for row, (name, states) in enumerate(sequences):
        visible_states = np.asarray(states[:max_steps])
        edges = [0, *(np.flatnonzero(np.diff(visible_states)) + 1).tolist(), len(visible_states)]
        for start, stop in pairwise(edges):
            mark = marks[int(visible_states[start])]
            for key, value in (("x", start), ("to", stop), ("y", row)):
                mark[key].append(value)
            steps = f"step {stop}" if stop - start == 1 else f"steps {start + 1:,} to {stop:,}"
            mark["hover"].append(f"{shorten(mark['name'], 60)}\n{name}, {steps}")
    y_axis = {"names": [shorten(name) for name, _ in sequences]}
    panel = _panel([mark for mark in marks if mark["x"]], x={"title": title, "whole": True}, y=y_axis)
    return _plot([panel], 30 * len(sequences) + 12, legend=True)


def spectrum(
    values: np.ndarray, n_used: int, noise: Sequence[float], title: str, *, exact: bool = False
) -> dict[str, Any]:
    """Draw the sizes of directions as bars, the first ``n_used`` in blue, with dashed lines at the noise levels.

    ``exact`` numbers keep all digits.
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


def dot_plot(
    names: Sequence[str],
    answers: Mapping[str, np.ndarray],
    errors: np.ndarray | None,
    *,
    title: str,
    exact: bool = False,
) -> dict[str, Any]:
    """Draw a row per name with a dot per answer, and intervals of plus or minus ``errors`` at the first answer.

    ``exact`` numbers keep all digits.
    """
    marks = []
    for i, (name, values) in enumerate(answers.items()):
        places = np.arange(len(names)) + (i - (len(answers) - 1) / 2) * _DOT_SPACING
        hover = [f"{shorten(row_name, 40)}\n{name}: {value:.3g}" for row_name, value in zip(names, values, strict=True)]
        look = (0, 1, 3, 2)[i % 4]
        mark = _dots(name, values, places, look, hover=hover, symbol=look, exact=exact)
        if not i and errors is not None:
            mark |= {
                "low": _round_values(values - errors, exact=exact),
                "high": _round_values(values + errors, exact=exact),
            }
        marks.append(mark)
    panel = _panel(marks, x={"title": title, "origin": True}, y={"names": [shorten(name) for name in names]})
    return _plot([panel], height=34 * len(names) + 10, legend=True)


def points(places: np.ndarray, labels: np.ndarray, centres: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Draw rows in the plane (n, 2) in the colours of their components, with the numbered centres (K, 2)."""
    n = len(PALETTE)
    marks = []
    for k, name in enumerate(names):
        component_places = places[labels == k]
        mark = _dots(name, component_places[:, 0], component_places[:, 1], k % n, symbol=k // n % 6)
        marks.append(mark | {"size": 2.6, "opacity": 0.6, "quiet": True})
    rings = _dots("", centres[:, 0], centres[:, 1], 0, hover=[f"{name}: its mean" for name in names])
    rings |= {"size": 12, "colour": [k % n for k in range(len(names))], "texts": [str(k) for k in range(len(names))]}
    panel = _panel([*marks, rings], x={"title": "first direction"}, y={"title": "second direction"})
    return _plot([panel], height=450)


# --- parts ----------------------------------------------------------------------------------------------------------


def _plot(panels: list[dict[str, Any]], height: int, **options: Any) -> dict[str, Any]:
    """Combine panels of one height in pixels; ``columns`` is the minimal width of panels side by side."""
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
        "mark": "line", "name": shorten(name, 40), "x": _round_values(x, exact=exact), "y": _round_values(y, exact=exact),
        "colour": colour, "width": width, "dash": dash,
    }  # fmt: skip


def _dots(
    name: str, x: Any, y: Any, colour: int, *, hover: Sequence[str] = (), symbol: int = 0, exact: bool = False
) -> dict[str, Any]:
    return {
        "mark": "dots", "name": shorten(name, 40), "x": _round_values(x, exact=exact), "y": _round_values(y, exact=exact),
        "colour": colour, "symbol": symbol, "size": 4.5, "hover": list(hover),
    }  # fmt: skip


def picture(image: np.ndarray) -> str:
    """Encode an image of values from 0 to 1 as the data URL of a PNG."""
    file = io.BytesIO()
    picture_of(image).save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def places_on_a_plane(centres: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the plane (D, 2) with most of the weighted spread of the centres (K, D)."""
    about = (centres - weights @ centres) * np.sqrt(weights)[:, None]
    directions = np.linalg.svd(about, full_matrices=False)[2][:2]
    plane = np.zeros((centres.shape[1], 2))
    for axis, direction in enumerate(directions):
        plane[:, axis] = direction * (np.sign(direction[np.argmax(np.abs(direction))]) or 1.0)  # a reproducible sign
    return plane


def thin_curve(values: np.ndarray, max_points: int = _MAX_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Return row numbers from 1 and values of a curve; a long curve keeps the minimum and maximum of each stretch."""
    n = len(values)
    if n <= max_points:
        return np.arange(1, n + 1), values
    edges = np.linspace(0, n, max_points // 2 + 1).astype(int)
    kept_places = sorted(
        {start + int(find(values[start:stop])) for start, stop in pairwise(edges) for find in (np.argmin, np.argmax)}
    )
    return np.array(kept_places) + 1, values[kept_places]


def _round_values(values: Any, digits: int = 5, *, exact: bool = False) -> Any:
    """Round numbers to the digits of a figure, as lists: integers for whole numbers, None for missing values.

    ``exact`` numbers stay an unrounded array.
    """
    array = np.asarray(values, dtype=float)
    if exact:
        return array
    is_finite = np.isfinite(array)
    scale = np.abs(array[is_finite]).max(initial=0.0)
    places = min(digits - 1 - int(np.floor(np.log10(scale))), _MAX_DECIMALS) if scale > 0 else 0
    rounded = np.round(np.where(is_finite, array, 0.0), places) + 0.0  # no "-0.0"
    all_whole = scale < 1e15 and bool((rounded == np.round(rounded)).all())
    result = (rounded.astype(int) if all_whole else rounded).astype(object)
    result[~is_finite] = None
    return result.tolist()
