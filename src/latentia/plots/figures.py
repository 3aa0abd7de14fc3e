"""The figures of a report with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..report.figures import PALETTE
from ._axes import INK, PALE, heat, new_axes, pyplot, tidy

_NAMED = {"ink": "#1b2430", "pale": PALE, "bad": "#a33b00", "good": PALETTE[0], "paper": "#ffffff"}
_DASHES, _MARKERS = ("-", "--", ":"), "osD^xv"
_PIXELS = 96  # an inch
_LEAST, _WIDE = 1.5, 7.0  # inches
_ACROSS = 3


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
        raise LatentiaError("This is no figure: take one of model.summary(X).figures.", parameter="figure", value=kind)
    panels = figure["panels"]
    if len(panels) == 1:
        axes: Sequence[Any] = [new_axes(ax, _WIDE, max(_LEAST, figure["height"] / _PIXELS + 0.8))]
    elif ax is not None:
        raise LatentiaError(f"One ax has room for one panel, and this figure has {len(panels)}: leave ax out.")
    else:
        axes = _grid(figure, len(panels))
    for one, panel in zip(axes, panels, strict=True):
        _panel(one, panel)
        if figure.get("legend"):
            one.legend(frameon=False, fontsize=9)
    return axes[0] if len(axes) == 1 else np.asarray(axes)


def _grid(figure: Mapping[str, Any], n: int) -> Sequence[Any]:
    """Axes for several panels: small multiples, or curves below one another."""
    across = min(n, _ACROSS) if "columns" in figure else 1
    down = -(-n // across)
    size = (max(_WIDE, 3.4 * across), min(30.0, down * max(_LEAST, figure["height"] / _PIXELS + 0.6)))
    share = bool(figure.get("shared") or figure.get("same"))
    _, made = pyplot().subplots(down, across, figsize=size, layout="constrained", squeeze=False, sharex=share)
    for empty in made.ravel()[n:]:
        empty.set_visible(False)
    return made.ravel()[:n]  # type: ignore[no-any-return]


def _colour(name: int | str | Sequence[int | str]) -> Any:
    if isinstance(name, str):
        return _NAMED.get(name, INK)
    return PALETTE[name % len(PALETTE)] if isinstance(name, int) else [_colour(one) for one in name]


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array(values, dtype=float)  # None becomes NaN


def _panel(ax: Any, panel: Mapping[str, Any]) -> None:
    for mark in panel["marks"]:
        _MARKS[mark["mark"]](ax, mark)
    for side, axis in (("x", panel["x"]), ("y", panel["y"])):
        getattr(ax, f"set_{side}label")(axis.get("title", ""))
        ticks = ax.xaxis if side == "x" else ax.yaxis
        if axis.get("names"):
            ticks.set_ticks(range(len(axis["names"])), axis["names"])
        elif axis.get("whole"):
            ticks.get_major_locator().set_params(integer=True)
        if axis.get("percent"):
            ticks.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    if panel["y"].get("names"):
        ax.set_ylim(len(panel["y"]["names"]) - 0.5, -0.5)
    ax.set_title(panel["title"], loc="left", size=10)
    tidy(ax)


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
    ax.axhline(mark["y"], color=_colour(mark["colour"]), linestyle="--", linewidth=1.4, label=mark["text"])


def _bars(ax: Any, mark: Mapping[str, Any]) -> None:
    sideways, values = bool(mark.get("sideways")), _numbers(mark["y"])
    draw = ax.barh if sideways else ax.bar
    draw(mark["x"], values, mark["width"], color=_colour(mark["colour"]), label=mark.get("name") or None)
    if "low" in mark:
        reach = np.abs(np.array([_numbers(mark["low"]), _numbers(mark["high"])]) - values)
        x, y, error = (values, mark["x"], {"xerr": reach}) if sideways else (mark["x"], values, {"yerr": reach})
        ax.errorbar(x, y, fmt="none", ecolor=INK, capsize=3, **error)


def _dots(ax: Any, mark: Mapping[str, Any]) -> None:
    sizes = (2 * np.asarray(mark.get("sizes", mark["size"]), dtype=float)) ** 2
    x, y, colour = _numbers(mark["x"]), _numbers(mark["y"]), _colour(mark["colour"])
    if "low" in mark:
        ax.hlines(y, _numbers(mark["low"]), _numbers(mark["high"]), color=colour, linewidth=1.5)
    marker, faces = _MARKERS[mark["symbol"] % len(_MARKERS)], _NAMED["paper"] if "texts" in mark else colour
    edges = {"edgecolors": colour, "linewidths": 2} if "texts" in mark else {}
    ax.scatter(x, y, sizes, c=faces, marker=marker, alpha=mark.get("opacity", 0.9), label=mark["name"] or None, **edges)
    for at, text in enumerate(mark.get("texts", ())):
        ax.annotate(text, (x[at], y[at]), ha="center", va="center", size=9)


_MARKS = {"line": _line, "band": _band, "rule": _rule, "bars": _bars, "dots": _dots}


def _heat(figure: Mapping[str, Any], ax: Any) -> Any:
    values = np.array(figure["values"], dtype=float)
    rows, columns = figure["titles"]
    digits = figure["digits"] or 2
    return heat(ax, values, figure["rows"], figure["columns"], digits=digits, row_title=rows, column_title=columns)


def _links(figure: Mapping[str, Any], ax: Any) -> Any:
    left, right = (_numbers(side) for side in figure["heights"])
    ax = new_axes(ax, 6.4, max(2.4, 0.3 * max(len(left), len(right))))
    for start, end, strength in figure["edges"]:
        colour = _colour(figure["left"][start][2])
        ax.plot([0, 1], [left[start], right[end]], color=colour, linewidth=0.6 + 5 * strength, alpha=0.6, zorder=1)
    for side, heights, labels, align in ((0, left, figure["left"], "right"), (1, right, figure["right"], "left")):
        ax.plot(np.full(len(heights), side), heights, "o", color=INK, markersize=6, zorder=2)
        for height, label in zip(heights, labels, strict=True):
            place = (side + (0.04 if side else -0.04), height)
            ax.annotate(label[0], place, ha=align, va="center", size=9)
    ax.set(xlim=(-0.4, 1.5), ylim=(max([*left, *right], default=1) + 0.8, -0.8))
    ax.set_axis_off()
    return ax
