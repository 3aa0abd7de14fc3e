"""Pages on sparse networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ..deep.agreement import encode_layers, measure_agreements
from ..deep.edges import list_unit_edges, members, unit_names
from ..summaries import Answer, Column, Figure, Section, Summary, Table, grade_columns
from .figures import PALETTE, bars, links, shorten
from .noisy_or import compute_heights, frequencies, percent
from .page import page
from .parts import column_names, count, evidence_of, grades_say, largest, listing

_MAX_SAMPLE = 20_000  # rows on which pages measure the encoder and decoder
_MAX_LISTED, _MAX_MEMBERS, _N_PRINTED = 300, 24, 8
_N_UNITS_DRAWN, _N_COLUMNS_DRAWN = 6, 4  # units in the picture, and columns of each
_BINS, _TENTHS = 24, 20
_WIDTH, _BOX, _GAP, _MIN_WIDTH = 760.0, 46.0, 62.0, 0.42


@page("Hidden units", "rows and how well they are described")
def summarize_network(
    model: Any,
    Y: Any = None,
    *,
    columns: Sequence[str] | None = None,
) -> Summary:
    """Summarise the units and how reliable they are.

    Parameters
    ----------
    model : SparseNetwork
        A fitted model.
    Y : array or sparse matrix of shape (n_rows, n), optional
        The rows, usually those of the fit. If there are more than 20,000, pages measure a random sample. Without rows pages do
        not show how well they are described.
    columns : sequence of str of length n, optional
        Names of the columns.

    Returns
    -------
    Summary

    """
    names = column_names(columns, model.n_features_in_, X=Y, noun="network")
    sizes, units = [layer.shape[0] for layer in model.layers_], units_table(model, names)
    where = "" if len(sizes) == 1 else f" in {len(sizes)} layers ({', '.join(f'{size:,}' for size in sizes)})"
    rows = "" if Y is None else f", from {count(Y.shape[0], 'row')}"
    no_units = "No units were found: no group of columns is active together often enough"
    return Summary(
        headline=f"{count(len(units), 'hidden unit')}{where} above {count(len(names), 'column')}{rows}.",
        parts=(
            _diagram(model, "" if len(units) else f"{no_units}, as far as this number of rows can show."),
            _layers(model, Y, bool(len(units))),
            *_figures(model),
            _list_units(model, units),
            _edges(units),
            *(() if Y is None else (_columns(model, Y, names),)),
        ),
        answer=Answer(
            f"Which hidden units {'move' if _real(model) else 'switch on'} these columns together?",
            *_words_and_picture(model, units, names),
        ),
        size=len(sizes), styles=("tables.css", "network.css"),
        error="Expected error of a unit: {} on average: the share of the columns of the unit or of the true unit that only one "
        "of the two switches on.",
        reading=_reading(model),
        lines=() if len(units) else (f"{no_units}.",),
    )  # fmt: skip


def _words_and_picture(model: Any, units: Table, names: Sequence[str]) -> tuple[str, Figure | None]:
    """Describe the units that are on most often, each with the columns that few other units switch on."""
    layer, on_in = np.asarray(model.layers_[0].toarray() > 0), np.asarray(model.densities_[0])
    first = [int(u) for u in largest(on_in, _N_UNITS_DRAWN) if layer[u].any()]
    if not first:
        return "None: no group of columns is active together often enough.", None
    rare, verb = layer.sum(axis=0), "raises" if _real(model) else "switches on"
    members = [np.flatnonzero(layer[u]).tolist() for u in first]
    rarest = [sorted(unit_columns, key=lambda d: (int(rare[d]), d))[:_N_COLUMNS_DRAWN] for unit_columns in members]
    examples = zip(first[:2], members, strict=False)
    listed = [f"unit {u} {verb} {listing([names[d] for d in unit_columns], 3)}" for u, unit_columns in examples]
    columns = list(dict.fromkeys(d for unit_columns in rarest for d in unit_columns))
    drawn_edges = layer[first][:, columns]
    order = np.argsort(drawn_edges.argmax(axis=0), kind="stable")
    columns, drawn_edges = [columns[i] for i in order], drawn_edges[:, order]
    unit_boxes = [
        (str(u), f"unit {u}, on in {percent(on_in[u])} of the rows\n{verb} {count(int(layer[u].sum()), 'column')}",
         i % len(PALETTE), f"{percent(on_in[u])} of the rows, {count(int(layer[u].sum()), 'column')}")
        for i, u in enumerate(first)
    ]  # fmt: skip
    column_boxes = [(shorten(names[d]), f"{names[d]}\nof {count(int(rare[d]), 'unit')}") for d in columns]
    edges = [(i, j, 0.4) for i, j in np.argwhere(drawn_edges)]
    data = links(
        unit_boxes, column_boxes, edges, (compute_heights(drawn_edges.astype(float)), np.arange(len(columns)) + 0.5)
    )
    caption = f"The units that are on most often, each with {_N_COLUMNS_DRAWN} of its columns; the table below has all."
    label = "Lines from units to columns; edges.csv holds all"
    mean = layer.sum(axis=1).mean()
    words = f"{count(len(units), 'unit')}, each over {mean:.3g} columns on average. For instance {'; '.join(listed)}."
    return words, Figure("groups", data, "Units and their columns", label, caption, shape="square")


def _reading(model: Any) -> tuple[tuple[str, str], ...]:
    real = _real(model)
    values = (
        "up or down. The value of a column is the number of units that raise it less the number of those that lower it, and "
        "noise." if real else "on. A column is on where more units that are on switch it on than off."
    )  # fmt: skip
    lowers = "A column that is lowered is low where the unit is on." if real else (
        "A unit can keep columns off that other units switch on. That shows only where both units are on at a time, which may "
        "be rare. So many pairs stay undetermined."
    )  # fmt: skip
    layers = ("Layers", "Units of a layer that are often on together are switched by a unit of the layer above, as columns are "
              "by units. Units of higher layers are on more rarely and stand for more columns at once.")  # fmt: skip
    return (
        ("Unit", f"A hidden cause that is on or off in each row and, where it is on, switches a few columns {values} The "
         "number of units is estimated from the data."),
        ("Lowers" if real else "Switches off", lowers),
        *((layers,) if len(model.layers_) > 1 else ()),
        ("Explained, right", "A unit counts as on where at least 60% of its columns are on. If such a network made the data, "
         "nearly everything is explained and nearly everything is right; in other data much stays unexplained."),
        ("Expected error", "The units are learned again from parts of the rows. The change of a unit's list of columns "
         "estimates its distance from the truth: 0 is the same list, 1 is a list that has nothing in common with it. "
         + grades_say(evidence_of(model), "a unit", "other rows of the same kind would give another list")),
        ("What to do next", "Give names to the units that are supported. 'latentia apply' writes which units are on in other "
         "rows and, with --denoise, the rows as the units predict them, without single values that no unit explains."),
    )  # fmt: skip


# --- tables ---------------------------------------------------------------------------------------------------------


def units_table(model: Any, columns: Sequence[str]) -> Table:
    """Return the table of the units of all layers, lowest first, with the columns or units below that they switch.

    For units of higher layers "columns below" are those to which most of their edges lead.
    """
    unit_edges, names_below, sizes = (
        list_unit_edges(model),
        [columns, *unit_names(model)],
        [len(densities) for densities in model.densities_],
    )
    layer_sizes = [f"{size:,} in layer {i}" for i, size in enumerate(sizes, 1)]
    on, off = (
        [
            [names_below[layer - 1][i] for i in numbers]
            for layer, numbers in zip(unit_edges.layers, edge_lists, strict=True)
        ]
        for edge_lists in (unit_edges.on, unit_edges.off)
    )
    several, caption = len(sizes) > 1, count(len(on), "unit")
    return Table(
        "components",
        (
            Column("unit", range(len(on))),
            Column("layer", unit_edges.layers, where="sf" if several else "f"),
            Column("on in", np.concatenate(model.densities_), ".6f", percent),
            *grade_columns(evidence_of(model), len(on)),
            Column(
                "switches on", on, "; ".join, _join_names, kind="text", head="" if several or not _real(model) else "raises"
            ),
            Column("switches off", off, "; ".join, where="f"),
            Column("undetermined", unit_edges.undetermined, where="f"),
            Column("columns below", [[columns[i] for i in numbers] for numbers in unit_edges.below], where=""),
        ),
        file="units.csv",
        caption="" if not on else f"{caption}: {', '.join(layer_sizes)}" if several else caption,
    )  # fmt: skip


def _real(model: Any) -> bool:
    return bool(model.input_type == "real")


def _share(value: float) -> str:
    return "\u2013" if np.isnan(value) else percent(value)


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_N_PRINTED]) + (" ..." if len(names) > _N_PRINTED else "")


def _edges(units: Table) -> Table:
    edges = [
        (row["unit"], row["layer"], name, sign)
        for row in units.rows()
        for sign, names in ((1, row["switches on"]), (-1, row["switches off"]))
        for name in names
    ]
    columns = zip(*edges, strict=True) if edges else [()] * 4
    return Table("edges", tuple(map(Column, ("unit", "layer", "to", "sign"), columns)), file="edges.csv")


def _columns(model: Any, Y: Any, names: Sequence[str]) -> Table:
    """Return the table of columns: how often each is on, or its mean, and its units."""
    edges, joined = model.layers_[0].T, lambda numbers: " ".join(map(str, numbers))
    return Table(
        "columns",
        (
            Column("column", names),
            Column("mean", frequencies(Y), ".6g"),
            Column("switched on by", members(edges > 0), joined),
            Column("switched off by", members(edges < 0), joined),
        ),
        file="columns.csv",
    )


def _layers(model: Any, Y: Any, any_units: bool) -> Table:
    """Return the table of layers, lowest first."""
    n_rows, real, first = 0 if Y is None else Y.shape[0], _real(model), model.layers_[0]
    sample = np.sort(np.random.default_rng(0).permutation(n_rows)[:_MAX_SAMPLE]) if n_rows > _MAX_SAMPLE else None
    rows = Y if sample is None else sparse.csr_array(Y)[sample] if sparse.issparse(Y) else np.asarray(Y)[sample]
    hidden = [] if Y is None else encode_layers(model, rows)
    agreement = [] if Y is None else measure_agreements(model, rows, hidden)
    degrees = [float((layer > 0).sum() / max(layer.shape[0], 1)) for layer in model.layers_]
    undetermined_shares = [
        sparse.csr_array(item).nnz / max(item.shape[0] * item.shape[1], 1) for item in model.undetermined_
    ]
    on = Column("on at a time", [item.sum() / max(item.shape[0], 1) for item in hidden], short=".1f")
    explained = (
        Column("explained", [item.explained for item in agreement], short=percent),
        Column("right", [np.nan if item.right is None else item.right for item in agreement], short=_share),
    )
    by_chance = "" if real else f"; by chance {percent(float(model.observed_density_))} of the columns would be"
    method_text = (
        "Encoder and decoder: the units that are on in a row are inferred from it, and the columns that they switch on are "
        f"compared with the row{'' if sample is None else f', on {_MAX_SAMPLE:,} random rows'}. *Explained* is the share of "
        f"{'the variance of the columns, and of what is on in higher layers,' if real else 'what is on'} that units account "
        f"for, *right* the share of what they switch on that is on{by_chance}. "
    )
    free = np.count_nonzero(((first != 0) if real else (first > 0)).sum(axis=0) == 0)
    return Table(
        "layers",
        (
            Column("layer", range(1, len(degrees) + 1), kind="bold"),
            Column("units", [len(item) for item in model.densities_], short=","),
            Column("on in", [float(np.mean(item)) if len(item) else 0.0 for item in model.densities_], short=percent),
            *((on,) if hidden else ()),
            Column("edges", degrees, where=""),
            Column("each switches on", [f"{d:.1f} {'units' if i else 'columns'}" for i, d in enumerate(degrees)]),
            Column("undetermined", undetermined_shares, short=percent),
            *(explained if hidden else ()),
        ),
        "Layers" if any_units else "",
        f"{method_text if hidden else ''}{free:,} of {first.shape[1]:,} columns belong to no unit and are unexplained. "
        "*Undetermined* pairs are those for which the data shows neither an edge nor its absence.",
        label="layer",
    )  # fmt: skip


def _list_units(model: Any, units: Table) -> Section:
    """Return a section with the units of each layer that are on most often, in their order."""
    rows, layers = units.rows(), list[dict[str, Any]]()
    for i in range(1, len(model.layers_) + 1):
        layer_rows = [row for row in rows if row["layer"] == i]
        first = [layer_rows[j] for j in sorted(largest(np.array([row["on in"] for row in layer_rows]), _MAX_LISTED))]
        cut = (
            f"The {_MAX_LISTED} of {len(layer_rows):,} units that are on most often; units.csv holds all"
            if len(layer_rows) > _MAX_LISTED
            else ""
        )
        title = ": ".join(part for part in (f"Layer {i}" if len(model.layers_) > 1 else "", cut) if part)
        layers.append(
            {
                "number": i,
                "title": title,
                "units": first,
                "widest": max((row["on in"] for row in layer_rows), default=1),
            }
        )
    values = {"layers": layers if rows else [], "members": _MAX_MEMBERS, "real": _real(model)}
    return Section("network_units.html", values, tables=(units,))


# --- figures --------------------------------------------------------------------------------------------------------


def _diagram(model: Any, message: str) -> Section:
    """Draw layers as boxes, the highest on top, wider with more units, and the edges between them."""
    sizes = [model.n_features_in_, *(layer.shape[0] for layer in model.layers_)]
    widths = _WIDTH * (_MIN_WIDTH + (1 - _MIN_WIDTH) * (np.log1p(sizes) / np.log1p(max(sizes))) ** 2)
    rates = [
        float(model.observed_density_),
        *(float(np.mean(densities)) if len(densities) else 0.0 for densities in model.densities_),
    ]
    boxes, links, step = list[dict[str, Any]](), list[dict[str, Any]](), _BOX + _GAP
    for i, (size, width, rate) in enumerate(zip(sizes, widths, rates, strict=True)):
        x_start, top = (_WIDTH - width) / 2, (len(sizes) - 1 - i) * step
        on = "real values" if i == 0 and _real(model) else f"{percent(rate)} on"
        size_text = count(size, "column") if i == 0 else f"layer {i}: {count(size, 'unit')}"
        place = {"x": f"{x_start:.1f}", "y": f"{top:.1f}", "width": f"{width:.1f}", "middle": top + _BOX / 2 + 5}
        boxes.append(place | {"text": f"{size_text}, {on}", "hidden": i > 0})
        if i < len(sizes) - 1:
            edges, above = model.layers_[i], (_WIDTH - widths[i + 1]) / 2
            corners = (above, top - _GAP), (_WIDTH - above, top - _GAP), (_WIDTH - x_start, top), (x_start, top)
            link_text = (
                f"{count(int((edges > 0).sum()), 'edge')} that switch on, {int((edges < 0).sum()):,} that switch off"
            )
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
            links.append({"points": points, "middle": top - _GAP / 2 + 5, "text": link_text})
    values = {"width": _WIDTH, "height": len(sizes) * step - _GAP, "box": _BOX, "boxes": boxes, "links": links}
    return Section("network.html", values | {"none": message, "several": len(sizes) > 2})


def _figures(model: Any) -> Iterator[Section]:
    """Yield, for each layer with units, charts of the numbers of edges and of how often units are on."""
    for i, layer in enumerate(model.layers_, 1):
        if not layer.shape[0]:
            continue
        below, edges = "columns" if i == 1 else f"units of layer {i - 1}", sparse.csr_array(layer > 0)
        parents = np.bincount(edges.indices, minlength=edges.shape[1])
        charts = (
            ("degrees", _bars(np.diff(edges.indptr), f"{below} that a unit switches on", "units"),
             f"Bars of how many {below} a unit switches on",
             f"How many {below} a unit switches on: the height of a bar is the number of such units."),
            ("parents", _bars(parents, "units that switch one on", below),
             f"Bars of how many units switch on one of the {below}",
             f"How many units switch on one of the {below}. Those at 0 belong to no unit."),
            ("rates", _rates(100 * np.asarray(model.densities_[i - 1])),
             "Bars of how often units are on; units.csv holds the numbers",
             "In how many rows a unit is on. Units far to the right say little of single rows."),
        )  # fmt: skip
        figures = [Figure(f"{name}-{i}", data, "", label, caption) for name, data, label, caption in charts]
        title_start = "How" if len(model.layers_) == 1 else f"Layer {i}: how"
        values = {"title": f"{title_start} many edges there are, and how often units are on", "shown": figures}
        yield Section("figures.html", values, figures={figure.name: figure.data for figure in figures})


def _bars(values: np.ndarray, title: str, unit: str) -> dict[str, Any]:
    """Draw how often each whole number, or each range of them, occurs."""
    low, high = int(values.min()), int(values.max())
    step = max(1, -(-(high - low + 1) // _BINS))
    edges = np.arange(low, high + step + 1, step)
    labels = [str(a) if step == 1 else f"{a} to {a + step - 1}" for a in edges[:-1]]
    return _histogram(values, edges, labels, title, unit, True)


def _rates(percents: np.ndarray) -> dict[str, Any]:
    """Draw firing rates in percent, in steps of equal width."""
    low, high = float(percents.min()), float(percents.max())
    edges = np.linspace(*((low, high) if high > low else (0.0, max(2 * high, 1e-6))), _TENTHS + 1)
    labels = [f"{a:.3g} to {b:.3g}%" for a, b in pairwise(edges)]
    return _histogram(percents, edges, labels, "% of the rows in which a unit is on", "units", False)


def _histogram(
    values: np.ndarray, edges: np.ndarray, labels: Sequence[str], title: str, unit: str, is_whole: bool
) -> dict[str, Any]:
    counts = np.histogram(values, edges)[0]
    hover = [f"{label}: {number:,} {unit}" for label, number in zip(labels, counts, strict=True)]
    places, width = (edges[:-1] + edges[1:] - is_whole) / 2, 0.9 * float(edges[1] - edges[0])
    look: dict[str, Any] = {"whole_numbers": is_whole, "counts": True, "height": 170}
    return bars(places, [("", counts, 0)], hover=[hover], title=title, y_title=unit, width=width, **look)
