"""Sparse networks, for readers who do not program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ..deep.agreement import agreements, encoded
from ..deep.edges import members, switched, unit_names
from ..summaries import Answer, Column, Figure, Section, Summary, Table, grade_columns
from .figures import PALETTE, bars, links, shorten
from .noisy_or import frequencies, heights_of, percent
from .page import page
from .parts import column_names, count, evidence_of, grades_say, largest, listing

_SAMPLE = 20_000  # rows of which pages show what encoder and decoder say
_LISTED, _MEMBERS, _PRINTED = 300, 24, 8
_DRAWN, _OF_EACH = 6, 4  # units in the picture, and columns of each
_BINS, _TENTHS = 24, 20
_WIDTH, _BOX, _BETWEEN, _NARROWEST = 760.0, 46.0, 62.0, 0.42


@page("Hidden units", "rows and how well they are described")
def summarize_network(
    model: Any,
    Y: Any = None,
    *,
    columns: Sequence[str] | None = None,
) -> Summary:
    """Say what units were found, and how far they can be trusted.

    Parameters
    ----------
    model : SparseNetwork
        A fitted model.
    Y : array or sparse matrix of shape (n_rows, n), optional
        The rows, usually those that the model was fitted on. Of more than 20,000 some are drawn for what pages show. Without
        them it is not shown how well they are described.
    columns : sequence of str of length n, optional
        Names of the columns.

    Returns
    -------
    Summary

    """
    names = column_names(columns, model.n_features_in_, X=Y, noun="network")
    sizes, units = [layer.shape[0] for layer in model.layers_], units_of(model, names)
    where = "" if len(sizes) == 1 else f" in {len(sizes)} layers ({', '.join(f'{size:,}' for size in sizes)})"
    rows = "" if Y is None else f", from {count(Y.shape[0], 'row')}"
    none = "No units were found: no columns are on together as those of a unit are"
    return Summary(
        says=f"{count(len(units), 'hidden unit')}{where} above {count(len(names), 'column')}{rows}.",
        parts=(
            _diagram(model, "" if len(units) else f"{none}, as far as this number of rows can show."),
            _layers(model, Y, bool(len(units))),
            *_figures(model),
            _listed(model, units),
            _edges(units),
            *(() if Y is None else (_columns(model, Y, names),)),
        ),
        answer=Answer(
            f"Which hidden units {'move' if _real(model) else 'switch on'} these columns together?",
            *_words_and_picture(model, units, names),
        ),
        size=len(sizes), styles=("tables.css", "network.css"),
        error="Expected error of a unit: {} on average: of what it or the true unit switches on, that share is in one of the "
        "two only.",
        reading=_reading(model),
        lines=() if len(units) else (f"{none}.",),
    )  # fmt: skip


def _words_and_picture(model: Any, units: Table, names: Sequence[str]) -> tuple[str, Figure | None]:
    """The units that are on most often, each with the columns that hardly any other switches on."""
    layer, on_in = np.asarray(model.layers_[0].toarray() > 0), np.asarray(model.densities_[0])
    first = [int(u) for u in largest(on_in, _DRAWN) if layer[u].any()]
    if not first:
        return "None: no columns are on together as those of a unit are.", None
    rare, verb = layer.sum(axis=0), "raises" if _real(model) else "switches on"
    members = [np.flatnonzero(layer[u]).tolist() for u in first]
    own = [sorted(some, key=lambda d: (int(rare[d]), d))[:_OF_EACH] for some in members]
    told = zip(first[:2], members, strict=False)
    listed = [f"unit {u} {verb} {listing([names[d] for d in some], 3)}" for u, some in told]
    columns = list(dict.fromkeys(d for some in own for d in some))
    shown = layer[first][:, columns]
    order = np.argsort(shown.argmax(axis=0), kind="stable")
    columns, shown = [columns[i] for i in order], shown[:, order]
    left = [
        (str(u), f"unit {u}, on in {percent(on_in[u])} of the rows\n{verb} {count(int(layer[u].sum()), 'column')}",
         i % len(PALETTE), f"{percent(on_in[u])} of the rows, {count(int(layer[u].sum()), 'column')}")
        for i, u in enumerate(first)
    ]  # fmt: skip
    right = [(shorten(names[d]), f"{names[d]}\nof {count(int(rare[d]), 'unit')}") for d in columns]
    edges = [(i, j, 0.4) for i, j in np.argwhere(shown)]
    data = links(left, right, edges, (heights_of(shown.astype(float)), np.arange(len(columns)) + 0.5))
    caption = f"The units that are on most often, each with {_OF_EACH} of its columns; the table below has all."
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
        "A unit can hold back what others switch on. That shows only where both are on at a time, which may be rare: many "
        "pairs stay undetermined, and none of these is called absent."
    )  # fmt: skip
    layers = ("Layers", "Units of a layer that are often on together are switched by one of the layer above, as columns are by "
              "units. Units of higher layers are on more rarely and stand for more columns at once.")  # fmt: skip
    return (
        ("Unit", f"Something that is not in the data and, where it is on, switches a few columns {values} How many units there "
         "are is found from the data."),
        ("Lowers" if real else "Switches off", lowers),
        *((layers,) if len(model.layers_) > 1 else ()),
        ("Explained, right", "A unit is read as on where 60% or more of what it switches on is on. If the network is what made "
         "the data, nearly everything is explained, and nearly everything right; of other data much is left over."),
        ("Expected error", "The units are learned anew from parts of the rows. How much a unit's list of what it switches on "
         "changes says how far it may be from the truth: 0 is the same list, 1 one that has nothing in common with it. "
         + grades_say(evidence_of(model), "a unit", "other rows of the same kind would give another list")),
        ("What to do next", "Give names to the units that are supported. 'latentia apply' says which units are on in other "
         "rows and, with --denoise, writes the rows as the units have them: single values that no unit explains are gone."),
    )  # fmt: skip


# --- tables ---------------------------------------------------------------------------------------------------------


def units_of(model: Any, columns: Sequence[str]) -> Table:
    """The units of all layers, those of the lowest first, with what they switch: columns, or units of the layer below.

    Of units of higher layers "columns below" are those to which most of their edges lead.
    """
    found, named, sizes = switched(model), [columns, *unit_names(model)], [len(one) for one in model.densities_]
    of = [f"{size:,} in layer {i}" for i, size in enumerate(sizes, 1)]
    on, off = (
        [[named[layer - 1][i] for i in own] for layer, own in zip(found.layers, some, strict=True)]
        for some in (found.on, found.off)
    )
    several, caption = len(sizes) > 1, count(len(on), "unit")
    return Table(
        "components",
        (
            Column("unit", range(len(on))),
            Column("layer", found.layers, where="sf" if several else "f"),
            Column("on in", np.concatenate(model.densities_), ".6f", percent),
            *grade_columns(evidence_of(model), len(on)),
            Column("switches on", on, "; ".join, _few, kind="text", head="" if several or not _real(model) else "raises"),
            Column("switches off", off, "; ".join, where="f"),
            Column("undetermined", found.undetermined, where="f"),
            Column("columns below", [[columns[i] for i in own] for own in found.below], where=""),
        ),
        file="units.csv",
        caption="" if not on else f"{caption}: {', '.join(of)}" if several else caption,
    )  # fmt: skip


def _real(model: Any) -> bool:
    return bool(model.input_type == "real")


def _share(value: float) -> str:
    return "\u2013" if np.isnan(value) else percent(value)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:_PRINTED]) + (" ..." if len(names) > _PRINTED else "")


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
    """How often each column is on, or its mean, and its units."""
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
    """What the page says of each layer, the lowest first."""
    n_rows, real, first = 0 if Y is None else Y.shape[0], _real(model), model.layers_[0]
    some = np.sort(np.random.default_rng(0).permutation(n_rows)[:_SAMPLE]) if n_rows > _SAMPLE else None
    rows = Y if some is None else sparse.csr_array(Y)[some] if sparse.issparse(Y) else np.asarray(Y)[some]
    hidden = [] if Y is None else encoded(model, rows)
    agreed = [] if Y is None else agreements(model, rows, hidden)
    degrees = [float((layer > 0).sum() / max(layer.shape[0], 1)) for layer in model.layers_]
    told = [sparse.csr_array(one).nnz / max(one.shape[0] * one.shape[1], 1) for one in model.undetermined_]
    on = Column("on at a time", [one.sum() / max(one.shape[0], 1) for one in hidden], short=".1f")
    explained = (
        Column("explained", [one.explained for one in agreed], short=percent),
        Column("right", [np.nan if one.right is None else one.right for one in agreed], short=_share),
    )
    by_chance = "" if real else f"; by chance {percent(float(model.observed_density_))} of the columns would be"
    how = (
        "Encoder and decoder: the units that are on in a row are read from it, and what they switch on is compared with what "
        f"is there{'' if some is None else f', on {_SAMPLE:,} rows drawn at random'}. *Explained* is the share of "
        f"{'the variance of the columns, and of what is on in higher layers,' if real else 'what is on'} that units account "
        f"for, *right* the share of what they switch on that is on{by_chance}. "
    )
    free = np.count_nonzero(((first != 0) if real else (first > 0)).sum(axis=0) == 0)
    return Table(
        "layers",
        (
            Column("layer", range(1, len(degrees) + 1), kind="bold"),
            Column("units", [len(one) for one in model.densities_], short=","),
            Column("on in", [float(np.mean(one)) if len(one) else 0.0 for one in model.densities_], short=percent),
            *((on,) if hidden else ()),
            Column("edges", degrees, where=""),
            Column("each switches on", [f"{d:.1f} {'units' if i else 'columns'}" for i, d in enumerate(degrees)]),
            Column("undetermined", told, short=percent),
            *(explained if hidden else ()),
        ),
        "Layers" if any_units else "",
        f"{how if hidden else ''}{free:,} of {first.shape[1]:,} columns belong to no unit: what is on in them is unexplained. "
        "*Undetermined* are pairs of which the data says neither that one switches the other nor that it does not.",
        label="layer",
    )  # fmt: skip


def _listed(model: Any, units: Table) -> Section:
    """Units of each layer that are on most often, in their order."""
    rows, shown = units.rows(), list[dict[str, Any]]()
    for i in range(1, len(model.layers_) + 1):
        own = [row for row in rows if row["layer"] == i]
        first = [own[j] for j in sorted(largest(np.array([row["on in"] for row in own]), _LISTED))]
        cut = (
            f"The {_LISTED} of {len(own):,} units that are on most often; units.csv holds all"
            if len(own) > _LISTED
            else ""
        )
        title = ": ".join(one for one in (f"Layer {i}" if len(model.layers_) > 1 else "", cut) if one)
        shown.append(
            {"number": i, "title": title, "units": first, "widest": max((row["on in"] for row in own), default=1)}
        )
    values = {"layers": shown if rows else [], "members": _MEMBERS, "real": _real(model)}
    return Section("network_units.html", values, tables=(units,))


# --- figures --------------------------------------------------------------------------------------------------------


def _diagram(model: Any, none: str) -> Section:
    """Layers as boxes, the highest on top, as wide as they have units, and what lies between them."""
    sizes = [model.n_features_in_, *(layer.shape[0] for layer in model.layers_)]
    widths = _WIDTH * (_NARROWEST + (1 - _NARROWEST) * (np.log1p(sizes) / np.log1p(max(sizes))) ** 2)
    rates = [float(model.observed_density_), *(float(np.mean(one)) if len(one) else 0.0 for one in model.densities_)]
    boxes, links, step = list[dict[str, Any]](), list[dict[str, Any]](), _BOX + _BETWEEN
    for i, (size, width, rate) in enumerate(zip(sizes, widths, rates, strict=True)):
        left, top = (_WIDTH - width) / 2, (len(sizes) - 1 - i) * step
        on = "real values" if i == 0 and _real(model) else f"{percent(rate)} on"
        what = count(size, "column") if i == 0 else f"layer {i}: {count(size, 'unit')}"
        place = {"x": f"{left:.1f}", "y": f"{top:.1f}", "width": f"{width:.1f}", "middle": top + _BOX / 2 + 5}
        boxes.append(place | {"text": f"{what}, {on}", "hidden": i > 0})
        if i < len(sizes) - 1:
            edges, above = model.layers_[i], (_WIDTH - widths[i + 1]) / 2
            corners = (above, top - _BETWEEN), (_WIDTH - above, top - _BETWEEN), (_WIDTH - left, top), (left, top)
            said = f"{count(int((edges > 0).sum()), 'edge')} that switch on, {int((edges < 0).sum()):,} that switch off"
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
            links.append({"points": points, "middle": top - _BETWEEN / 2 + 5, "text": said})
    values = {"width": _WIDTH, "height": len(sizes) * step - _BETWEEN, "box": _BOX, "boxes": boxes, "links": links}
    return Section("network.html", values | {"none": none, "several": len(sizes) > 2})


def _figures(model: Any) -> Iterator[Section]:
    """Of each layer with units, how many edges there are and how often units are on."""
    for i, layer in enumerate(model.layers_, 1):
        if not layer.shape[0]:
            continue
        below, edges = "columns" if i == 1 else f"units of layer {i - 1}", sparse.csr_array(layer > 0)
        parents = np.bincount(edges.indices, minlength=edges.shape[1])
        told = (
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
        shown = [Figure(f"{name}-{i}", data, "", label, caption) for name, data, label, caption in told]
        how = "How" if len(model.layers_) == 1 else f"Layer {i}: how"
        values = {"title": f"{how} many edges there are, and how often units are on", "shown": shown}
        yield Section("figures.html", values, figures={one.name: one.data for one in shown})


def _bars(values: np.ndarray, title: str, what: str) -> dict[str, Any]:
    """How often each whole number, or each range of them, occurs."""
    low, high = int(values.min()), int(values.max())
    step = max(1, -(-(high - low + 1) // _BINS))
    edges = np.arange(low, high + step + 1, step)
    labels = [str(a) if step == 1 else f"{a} to {a + step - 1}" for a in edges[:-1]]
    return _histogram(values, edges, labels, title, what, True)


def _rates(percents: np.ndarray) -> dict[str, Any]:
    """Firing rates in percent, in steps of equal width."""
    low, high = float(percents.min()), float(percents.max())
    edges = np.linspace(*((low, high) if high > low else (0.0, max(2 * high, 1e-6))), _TENTHS + 1)
    labels = [f"{a:.3g} to {b:.3g}%" for a, b in pairwise(edges)]
    return _histogram(percents, edges, labels, "% of the rows in which a unit is on", "units", False)


def _histogram(
    values: np.ndarray, edges: np.ndarray, labels: Sequence[str], title: str, what: str, whole: bool
) -> dict[str, Any]:
    counts = np.histogram(values, edges)[0]
    hover = [f"{label}: {number:,} {what}" for label, number in zip(labels, counts, strict=True)]
    places, width = (edges[:-1] + edges[1:] - whole) / 2, 0.9 * float(edges[1] - edges[0])
    look: dict[str, Any] = {"whole_numbers": whole, "counts": True, "height": 170}
    return bars(places, [("", counts, 0)], hover=[hover], title=title, y_title=what, width=width, **look)
