"""Figures of a report, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..report.figures import PALETTE
from ._axes import (
    INK,
    PALE,
    disable_formulas,
    draw_circled,
    finish_axes,
    heat,
    legend,
    make_axes,
    name_rows,
    new_axes,
    rule,
)

_COLOURS = {"ink": "#1b2430", "pale": PALE, "bad": "#a33b00", "good": PALETTE[0], "care": PALETTE[1], "unknown": PALE}
_DASHES, _MARKERS = ("-", "--", ":"), "osD^xv"
_PIXELS_PER_INCH = 96
_MIN_HEIGHT, _WIDTH = 1.5, 7.0  # inches
_N_COLUMNS = 3
_MAX_TICK_NAMES = 24  # per axis; longer axes show every second, third, ... name


@disable_formulas
def plot_figure(figure: Mapping[str, Any], *, ax: Any = None) -> Any:
    """Draw a figure of a report.

    Parameters
    ----------
    figure : dict
        One of ``model.summary(X).figures``, such as ``model.summary(X).figures["means"]``.
    ax : matplotlib.axes.Axes, optional
        Where to draw a figure of one panel; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes, or an ndarray of them if there are several panels
    """
    kind = figure.get("kind")
    if kind == "heat":
        return _heat(figure, ax)
    if kind == "links":
        return _links(figure, ax)
    if kind != "plot":
        raise LatentiaError("expected a figure from model.summary(X).figures.", parameter="figure", value=kind)
    panels, height = figure["panels"], figure["height"] / _PIXELS_PER_INCH
    across = _N_COLUMNS if "columns" in figure and len(panels) > 1 else 1
    share = bool(figure.get("shared") or figure.get("same"))
    size = 3.4 if across > 1 else _WIDTH, max(_MIN_HEIGHT, height + 0.8)
    axes = make_axes(ax, len(panels), across, *size, sharex=share, sharey=bool(figure.get("same")))
    for panel_axes, panel in zip(axes, panels, strict=True):
        _panel(panel_axes, panel)
        if figure.get("legend"):
            legend(panel_axes)
    for panel_axes, panel in zip(axes, panels, strict=True):  # Panels may share an axis, so all must be drawn.
        if panel["x"].get("zero") and panel_axes.dataLim.x0 >= 0:
            panel_axes.set_xlim(left=0)
        if panel["y"].get("zero") and panel_axes.dataLim.y0 >= 0:
            panel_axes.set_ylim(bottom=0)
    return axes[0] if len(axes) == 1 else axes


def _colour(name: int | str | Sequence[int | str]) -> Any:
    if isinstance(name, str):
        return _COLOURS.get(name, INK)
    return PALETTE[name % len(PALETTE)] if isinstance(name, int) else [_colour(item) for item in name]


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array(values, dtype=float)  # None becomes NaN


def _panel(ax: Any, panel: Mapping[str, Any]) -> None:
    x, y = panel["x"], panel["y"]
    for mark in panel["marks"]:
        _MARKS[mark["mark"]](ax, mark)
    finish_axes(ax, x.get("title", ""), y.get("title", ""), title=panel["title"])
    for ticks, axis in ((ax.xaxis, x), (ax.yaxis, y)):
        if axis.get("whole"):
            ticks.get_major_locator().set_params(integer=True)
        if axis.get("percent"):
            ticks.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    if x.get("names"):
        step = -(-len(x["names"]) // _MAX_TICK_NAMES)
        ax.set_xticks(range(0, len(x["names"]), step), x["names"][::step])
    if y.get("names"):
        name_rows(ax, y["names"])
    if x.get("origin"):
        ax.axvline(0, color=PALE, linewidth=1, zorder=0)


def _line(ax: Any, mark: Mapping[str, Any]) -> None:
    look = {"color": _colour(mark["colour"]), "linestyle": _DASHES[mark["dash"]], "linewidth": mark["width"]}
    style = "steps-post" if mark.get("steps") else "default"
    marker = "o" if mark.get("points") else ""
    ax.plot(
        mark["x"], _numbers(mark["y"]), drawstyle=style, marker=marker, markersize=3, label=mark["name"] or None, **look
    )


def _band(ax: Any, mark: Mapping[str, Any]) -> None:
    low, high = _numbers(mark["low"]), _numbers(mark["high"])
    ax.fill_between(mark["x"], low, high, color=_colour(mark["colour"]), alpha=0.2, linewidth=0, label=mark["says"])


def _rule(ax: Any, mark: Mapping[str, Any]) -> None:
    rule(ax, mark["y"], mark["text"], _colour(mark["colour"]))


def _bars(ax: Any, mark: Mapping[str, Any]) -> None:
    sideways, values = bool(mark.get("sideways")), _numbers(mark["y"])
    draw = ax.barh if sideways else ax.bar
    draw(mark["x"], values, mark["width"], color=_colour(mark["colour"]), label=mark.get("name") or None)
    if "low" in mark:
        reach = np.abs(np.array([_numbers(mark["low"]), _numbers(mark["high"])]) - values)
        x, y, error = (values, mark["x"], {"xerr": reach}) if sideways else (mark["x"], values, {"yerr": reach})
        ax.errorbar(x, y, fmt="none", ecolor=INK, capsize=3, **error)


def _spans(ax: Any, mark: Mapping[str, Any]) -> None:
    start, stop = _numbers(mark["x"]), _numbers(mark["to"])
    ax.barh(mark["y"], stop - start, 0.72, left=start, color=_colour(mark["colour"]), label=mark["name"])


def _dots(ax: Any, mark: Mapping[str, Any]) -> None:
    """Draw dots; with texts as numbers in circles, with intervals as error bars."""
    x, y, tint = _numbers(mark["x"]), _numbers(mark["y"]), _colour(mark["colour"])
    marker, look = _MARKERS[mark["symbol"] % len(_MARKERS)], {"label": mark["name"] or None, "alpha": 0.9}
    if "texts" in mark:
        for text, *place, circle_tint in zip(mark["texts"], x, y, tint, strict=True):
            draw_circled(ax, text, (place[0], place[1]), circle_tint)
    elif "low" in mark:
        reach = np.abs(np.array([_numbers(mark["low"]), _numbers(mark["high"])]) - x)
        ax.errorbar(x, y, xerr=reach, fmt=marker, color=tint, markersize=2 * mark["size"] - 2, capsize=3, alpha=0.9)
        ax.plot([], [], marker, color=tint, **look)  # This entry comes first in the legend.
    else:
        sizes = (2 * np.asarray(mark.get("sizes", mark["size"]), dtype=float)) ** 2
        look["alpha"] = mark.get("opacity", 0.9)
        ax.scatter(x, y, sizes, c=tint, marker=marker, linewidths=0, **look)


_MARKS = {"line": _line, "band": _band, "rule": _rule, "bars": _bars, "spans": _spans, "dots": _dots}


def _heat(figure: Mapping[str, Any], ax: Any) -> Any:
    look = dict(zip(("row_title", "column_title"), figure["titles"], strict=True))
    look["digits"] = 2 if figure["digits"] is None else figure["digits"]
    return heat(ax, _numbers(figure["values"]), figure["rows"], figure["columns"], **look)


def _links(figure: Mapping[str, Any], ax: Any) -> Any:
    circle_heights, dot_heights = (_numbers(side) for side in figure["heights"])
    bottom = float(max([*circle_heights, *dot_heights], default=1)) + 0.8
    ax = new_axes(ax, 6.4, max(2.4, 0.24 * bottom + 0.6))
    tints = [_colour(circle[2]) for circle in figure["left"]]
    for start, end, strength in sorted(figure["edges"], key=lambda edge: edge[2]):
        ends = [circle_heights[start], dot_heights[end]]
        ax.plot([0, 1], ends, color=tints[start], linewidth=0.6 + 5 * strength, alpha=0.6, zorder=1)
    ax.scatter(np.ones(len(dot_heights)), dot_heights, s=22, c=INK, zorder=2)
    for height, (name, *_) in zip(dot_heights, figure["right"], strict=True):
        ax.text(1.03, height, name, va="center", size=9)
    for height, (name, _, _, *headings), tint in zip(circle_heights, figure["left"], tints, strict=True):
        draw_circled(ax, name, (0, height), tint)
        for text in headings:
            ax.text(-0.04, height - 0.75, text, size=9, weight="bold")
    ax.set(xlim=(-0.25, 1.5), ylim=(bottom, -0.5))
    ax.set_axis_off()
    return ax
