"""Figures of the reports as plain data, which `figures.js` draws: heat maps, lines over the rows, points in the plane."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..datasets.images import picture_of

__all__ = [
    "PALETTE", "heat_map", "lines", "overlaid", "picture", "places_on_a_plane", "points", "shortened", "spectrum", "thinned",
]  # fmt: skip

# Okabe and Ito's colours, safe for the colour-blind; numbers always stand beside them.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d00", "#52606d")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
_DASHES = ("solid", "dash", "dot")
_BLUES = [[0, "#ffffff"], [0.5, "#6ba9d1"], [1, "#00507d"]]
_BOTH = [[0, "#8f3400"], [0.25, "#dd9a6f"], [0.5, "#ffffff"], [0.75, "#6ba9d1"], [1, "#00507d"]]
_INK, _GRID, _PALE, _RED = "#1b2430", "#e6eaee", "#b9c2cc", "#a33b00"
_ANNOTATED = 400  # cells that still have room for their numbers
_MOST_POINTS = 2000


def shortened(text: object, length: int = 24) -> str:
    """Text for a figure: the plotting library reads it as a kind of HTML."""
    plain = str(text)
    plain = plain if len(plain) <= length else plain[: length - 1] + "…"
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def heat_map(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    hover: Sequence[Sequence[str]],
    signed: bool = False,
    digits: int = 2,
    row_title: str = "",
    column_title: str = "",
) -> dict[str, Any]:
    """Values (n, m) as colours, the first row on top; signed ones diverge from white at zero."""
    top = float(np.abs(values).max()) or 1.0
    trace: dict[str, Any] = {
        "type": "heatmap", "z": _rounded(values), "x": list(range(len(columns))), "y": list(range(len(rows))),
        "hovertext": [list(row) for row in hover], "hoverinfo": "text", "xgap": 1, "ygap": 1,
        "colorscale": _BOTH if signed else _BLUES, "zmin": -top if signed else 0.0, "zmax": top,
        "colorbar": {"thickness": 10, "outlinewidth": 0, "nticks": 5},
    }  # fmt: skip
    if values.size <= _ANNOTATED:
        trace |= {
            "text": [[f"{v:.{digits}f}" for v in row] for row in np.round(values, digits) + 0.0],  # no "-0.0"
            "texttemplate": "%{text}",
            "textfont": {"size": 11},
            "showscale": False,
        }
    axis = {"automargin": True, "fixedrange": True, "ticks": "", "showgrid": False, "zeroline": False}
    longest = min(max(map(len, columns), default=0), 24)
    long = len(columns) * (7 * longest + 16) > 300
    layout = {
        "xaxis": axis | {
            "tickvals": list(range(len(columns))), "ticktext": [shortened(c) for c in columns], "side": "top",
            "tickangle": -60 if long else 0, "title": {"text": column_title},
        },
        "yaxis": axis | {
            "tickvals": list(range(len(rows))), "ticktext": [shortened(r) for r in rows], "autorange": "reversed",
            "title": {"text": row_title},
        },
        "height": 27 * len(rows) + (50 + 6 * longest if long else 80), "plot_bgcolor": _GRID,
        "margin": {"l": 40, "r": 10, "t": 40, "b": 10},
    }  # fmt: skip
    wide = (34 if values.size <= _ANNOTATED else 14) * len(columns) + 140
    return {"traces": [trace], "layout": layout, "width": wide}


def lines(
    series: Sequence[tuple[str, np.ndarray, np.ndarray]], *, steps: Sequence[int] = (), title: str = "row"
) -> dict[str, Any]:
    """Curves (name, x, y) below one another over a common axis; those numbered in ``steps`` move in steps."""
    n, gap = len(series), 0.25
    traces, layout = [], {
        "height": 84 * n + 60, "margin": {"l": 40, "r": 12, "t": 8, "b": 40}, "showlegend": False, "hovermode": "x",
        "xaxis": {"title": {"text": title}, "fixedrange": True, "anchor": f"y{n}", "gridcolor": _GRID, "zeroline": False},
    }  # fmt: skip
    for i, (name, x, y) in enumerate(series):
        low = 1 - (i + 1) / n
        layout[f"yaxis{i + 1}"] = {
            "domain": [low + gap / n / 2, low + (1 - gap / 2) / n], "fixedrange": True, "nticks": 4, "zeroline": False,
            "gridcolor": _GRID, "automargin": True,
            "title": {"text": shortened(name, 14), "standoff": 6, "font": {"size": 12}},
        }  # fmt: skip
        traces.append({
            "type": "scatter", "mode": "lines", "x": _rounded(x), "y": _rounded(y), "yaxis": f"y{i + 1}",
            "name": shortened(name),
            "line": {"width": 1.2, "color": PALETTE[0] if i not in steps else _INK, "shape": "hv" if i in steps else "linear"},
        })  # fmt: skip
    return {"traces": traces, "layout": layout, "width": 300}


def overlaid(series: Sequence[tuple[str, np.ndarray, np.ndarray]], *, title: str, y_title: str = "") -> dict[str, Any]:
    """Curves (name, x, y) in one frame, in the colours of their numbers; after those are used up, dashed."""
    traces = [
        {
            "type": "scatter", "mode": "lines", "x": _rounded(x), "y": _rounded(y), "name": shortened(name, 40),
            "line": {
                "width": 2, "color": PALETTE[i % len(PALETTE)], "dash": _DASHES[i // len(PALETTE) % len(_DASHES)],
            },
        }
        for i, (name, x, y) in enumerate(series)
    ]  # fmt: skip
    axis = {"fixedrange": True, "zeroline": False, "gridcolor": _GRID, "automargin": True}
    layout = {
        "height": 360, "showlegend": True, "hovermode": "x", "margin": {"l": 40, "r": 10, "t": 10, "b": 40},
        "legend": {"orientation": "h", "y": -0.2}, "xaxis": axis | {"title": {"text": title}},
        "yaxis": axis | {"title": {"text": y_title}, "rangemode": "tozero"},
    }  # fmt: skip
    return {"traces": traces, "layout": layout, "width": 300}


def picture(image: np.ndarray) -> str:
    """An image of values from 0 to 1 as the address of a PNG file in the page."""
    file = io.BytesIO()
    picture_of(image).save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def points(places: np.ndarray, labels: np.ndarray, centres: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Rows in the plane (n, 2) in the colours of their components, and the components' centres (K, 2) with their numbers."""
    traces: list[dict[str, Any]] = []
    for k, name in enumerate(names):
        own = places[labels == k]
        traces.append({
            "type": "scatter", "mode": "markers", "x": _rounded(own[:, 0]), "y": _rounded(own[:, 1]), "name": shortened(name),
            "hoverinfo": "name", "hoverlabel": {"namelength": -1},
            "marker": {
                "size": 5, "opacity": 0.65, "color": PALETTE[k % len(PALETTE)],
                "symbol": _SYMBOLS[k // len(PALETTE) % len(_SYMBOLS)],
            },
        })  # fmt: skip
    traces.append({
        "type": "scatter", "mode": "markers+text", "x": _rounded(centres[:, 0]), "y": _rounded(centres[:, 1]),
        "text": [f"<b>{k}</b>" for k in range(len(names))], "textfont": {"size": 12, "color": _INK}, "hoverinfo": "skip",
        "marker": {
            "size": 24, "color": "#ffffff", "opacity": 0.9,
            "line": {"width": 3, "color": [PALETTE[k % len(PALETTE)] for k in range(len(names))]},
        },
    })  # fmt: skip
    axis = {"fixedrange": True, "zeroline": False, "gridcolor": _GRID, "automargin": True}
    layout = {
        "height": 520, "showlegend": False, "hovermode": "closest", "margin": {"l": 40, "r": 10, "t": 10, "b": 40},
        "xaxis": axis | {"title": {"text": "first direction"}}, "yaxis": axis | {"title": {"text": "second direction"}},
    }  # fmt: skip
    return {"traces": traces, "layout": layout, "width": 300}


def spectrum(values: np.ndarray, n_used: int, noise: Sequence[float], title: str) -> dict[str, Any]:
    """Sizes of directions as bars, the first ``n_used`` in blue, and dashed lines up to which chance alone would reach."""
    digits = 4 - int(np.floor(np.log10(max(np.abs(values).max(initial=0.0), *np.abs(noise), 1e-12))))
    number = np.arange(1, len(values) + 1)
    bars = {
        "type": "bar", "x": number.tolist(), "y": np.round(values, digits).tolist(), "hoverinfo": "text",
        "marker": {"color": np.where(number <= n_used, PALETTE[0], _PALE).tolist()},
        "hovertext": [f"direction {i}: {value:.3g}" for i, value in zip(number, values, strict=True)],
    }  # fmt: skip
    heights = [round(float(y), digits) for y in noise]
    layout = {
        "height": 300, "showlegend": False, "bargap": 0.25, "margin": {"l": 50, "r": 60, "t": 20, "b": 45},
        "xaxis": {
            "title": {"text": "direction"}, "fixedrange": True, "dtick": max(1, len(values) // 20), "zeroline": False,
            "showgrid": False,
        },
        "yaxis": {"title": {"text": title}, "fixedrange": True, "gridcolor": _GRID, "automargin": True},
        "shapes": [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y,
             "line": {"color": _RED, "width": 2, "dash": "dash"}} for y in heights
        ],
        "annotations": [
            {"xref": "paper", "x": 1.005, "y": y, "text": "noise", "showarrow": False, "xanchor": "left",
             "font": {"color": _RED}} for y in heights
        ],
    }  # fmt: skip
    return {"traces": [bars], "layout": layout, "width": 300}


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


def _rounded(values: np.ndarray) -> Any:
    """Numbers as lists, with as many digits as a figure shows."""
    array = np.asarray(values, dtype=float)
    scale = np.abs(array).max(initial=0.0)
    digits = 4 - int(np.floor(np.log10(scale))) if scale > 0 else 0
    return np.round(array, digits).tolist()
