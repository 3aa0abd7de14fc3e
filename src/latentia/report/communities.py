"""The report of communities of a graph, for readers who do not program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..datasets.graphs import graph_of
from ..exceptions import LatentiaError
from ..moments import Graph
from ._graph import Drawing, Pie, draw_graph
from ._missing import without_data
from .figures import PALETTE as BASIC
from .page import render, write_page
from .parts import Mark, Nouns, comparison_rows, component_marks, count, evidence_of, evidence_parts, largest, version

__all__ = ["PALETTE", "Community", "communities", "cut", "suggested", "write_communities_report"]

PALETTE = (
    *BASIC[:7], "#7b3fa0", "#d1b800", "#b2182b", "#1fb5ad", "#7fb800", "#e0399a", "#a65628", "#a58be8", "#17835a",
    "#f08a75", "#3f63c4", "#93a1af", "#6b6b6b",
)  # fmt: skip
"""Twenty colours that can be told apart, the first ones safe for the colour-blind; numbers always stand beside them."""

_MEMBERS, _DRAWN, _DRAWN_OF_MORE, _EDGES_DRAWN = 12, 500, 300, 8000
_STRIPS, _FEWEST_OF_EACH, _LISTED, _NUMBERED, _TABLE = 500, 4, 2000, 25, 60
_LONGEST, _LABELLED = 40, 30  # characters of names, and names in the drawing
_NOUNS = Nouns("communities", "community", "nodes")


@dataclass(frozen=True)
class Community:
    """What is said of a community.

    Attributes
    ----------
    number : int
    size : float
        Sum of memberships.
    share : float
        Of the nodes with edges.
    nodes : int
        Those with a share of the threshold or more.
    error : float or None
        Expected error.
    grade : Mark
    inside, chance : float
        Share of its ends of edges whose other end is in it too, as the model expects it; and by chance.
    members : list of (str, float, float)
        The most central of these nodes, by share times degree: names, shares and degrees.
    """

    number: int
    size: float
    share: float
    nodes: int
    error: float | None
    grade: Mark
    inside: float
    chance: float
    members: list[tuple[str, float, float]]

    @property
    def colour(self) -> str:
        """In pictures."""
        return _colour(self.number)


class _Expected:
    """What a model says of its graph: the degrees are those that it expects."""

    weighted = False

    def __init__(self, model: Any) -> None:
        joint = np.nan_to_num(model.memberships_)
        sent, received = model.activity_[:, None] * joint, model.activity_in_[:, None] * joint
        found = (sent @ model.connectivity_ * received.sum(axis=0)).sum(axis=1)
        if model.directed_:
            found = found + (received @ model.connectivity_.T * sent.sum(axis=0)).sum(axis=1)
        self.degrees = np.round(found, 1)
        self.n_nodes, self.n_edges, self.directed = len(joint), int(model.n_edges_), bool(model.directed_)


def _colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def cut(name: str, length: int = _LONGEST) -> str:
    """A name, or the beginning of a long one."""
    return name if len(name) <= length else name[: length - 1] + "…"


def communities(model: Any, graph: Graph | _Expected, threshold: float = 0.1) -> list[Community]:
    """The communities of a fitted `MixedMembershipBlockModel`, given the graph that it was fitted on.

    Parameters
    ----------
    model : MixedMembershipBlockModel
    graph : Graph
    threshold : float
        Share from which a node counts as one of a community.
    """
    shares, names, joint = np.nan_to_num(model.memberships_), _names(model), _expected_edges(model)
    joint = joint + joint.T
    ends, sizes, degrees = joint.sum(axis=1), shares.sum(axis=0), graph.degrees
    found = []
    for k, (error, grade) in enumerate(component_marks(evidence_of(model), len(sizes))):
        own = np.where(shares[:, k] >= threshold, shares[:, k] * degrees, 0.0)
        found.append(
            Community(
                number=k,
                size=float(sizes[k]),
                share=float(model.weights_[k]),
                nodes=int((shares[:, k] >= threshold).sum()),
                error=error,
                grade=grade,
                inside=float(joint[k, k] / max(ends[k], 1e-300)),
                chance=float(ends[k] / max(ends.sum(), 1e-300)),
                members=[
                    (cut(names[i]), float(shares[i, k]), float(degrees[i]))
                    for i in largest(own, _MEMBERS)
                    if own[i] > 0
                ],
            )
        )
    return found


def suggested(model: Any) -> str:
    """How many communities the spectrum suggests, in a sentence."""
    number, asked = model.n_suggested_, model.memberships_.shape[1]
    if number == 1:
        return "No direction of the spectrum stands out of the noise: it shows no communities."
    more = "at least " if number == len(model.spectrum_) + 1 else ""
    same = f", as many as there are{' here' if more else ''}" if number == asked and not more else ""
    directions = "1 direction stands" if number == 2 else f"{number - 1} directions stand"
    return f"The spectrum suggests {more}{number} communities{same}: {directions} out of the noise."


def _names(model: Any) -> list[str]:
    given = model.names_
    return [str(name) for name in (range(model.n_features_in_) if given is None else given)]


def _expected_edges(model: Any) -> np.ndarray:
    """Expected weights of edges from each community to each, shape (K, K)."""
    shares = np.nan_to_num(model.memberships_)
    senders, receivers = (activity @ shares for activity in (model.activity_, model.activity_in_))
    return np.asarray(np.outer(senders, receivers) * model.connectivity_)


def write_communities_report(
    path: str | os.PathLike[str],
    model: Any,
    graph: Any = None,
    *,
    threshold: float = 0.1,
    found: Sequence[Community] | None = None,
    comparison: Sequence[Mapping[str, Any]] | None = None,
    title: str = "Communities",
    source: str = "",
) -> Path:
    """Write which communities a graph has, and how far they can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : MixedMembershipBlockModel
        A fitted model.
    graph : Graph, path, or what `latentia.moments.as_graph` takes, optional
        The graph that it was fitted on. Without it there is no drawing, and numbers of edges are those that the model expects.
    threshold : float
        Share from which a community is listed for a node.
    found : sequence of Community, optional
        What `communities` gives, if it is there already.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of communities, the first value the number.
    title, source : str
        Heading of the page, and where the graph came from.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    missing = (
        without_data("the drawing of the graph (numbers of edges are what the model expects)", "A")
        if graph is None
        else ""
    )
    graph = _Expected(model) if graph is None else graph_of(graph, model.directed_)
    if graph.n_nodes != model.n_features_in_:
        raise LatentiaError(
            f"The graph has {graph.n_nodes} nodes, and the fit {model.n_features_in_}: the same ones are needed."
        )
    found = communities(model, graph, threshold) if found is None else found
    joint = _expected_edges(model)
    page = render(
        "communities.html",
        title=title,
        source=source,
        summary=_summary(model, graph),
        nouns=_NOUNS,
        evidence=evidence_parts(evidence_of(model)),
        error=_error_sentence(found),
        communities=found,
        suggested=suggested(model),
        asked=len(found),
        threshold=threshold,
        one_each=not model.dirichlet_.any(),
        mixedness=float(model.dirichlet_.sum()),
        corrected=model.degree_corrected_,
        directed=model.directed_,
        drawing=_drawing(model, graph) if isinstance(graph, Graph) else None,
        strips=_strips(model),
        mixed=_mixed(model, threshold),
        edges=_edges(model, joint),
        weighted=graph.weighted,
        spectrum=_spectrum(model),
        listed=min(_LISTED, graph.n_nodes),
        n_nodes=graph.n_nodes,
        palette=PALETTE,
        data={"colours": PALETTE, "nodes": _nodes(model, graph, threshold)},
        comparison=comparison_rows(comparison, len(found)),
        version=version(),
        missing=missing,
    )
    return write_page(path, page)


# --- who belongs where ----------------------------------------------------------------------------------------------


def _sorted_nodes(model: Any) -> np.ndarray:
    """Nodes by their strongest community and, in it, by falling share; those without edges are left out."""
    top = np.nan_to_num(model.memberships_).max(axis=1)
    order = np.lexsort((-top, model.labels_))
    return order[model.labels_[order] >= 0]


def _sample(labels: np.ndarray) -> np.ndarray:
    """Places of at most about 500 of sorted nodes, evenly spread over each community."""
    if len(labels) <= _STRIPS:
        return np.arange(len(labels))
    sizes = np.bincount(labels)
    ends = np.cumsum(sizes)
    wanted = np.minimum(sizes, np.maximum(np.rint(sizes * _STRIPS / len(labels)), _FEWEST_OF_EACH)).astype(int)
    places = [
        np.round(np.linspace(end - size, end - 1, n)).astype(int)
        for end, size, n in zip(ends, sizes, wanted, strict=True)
        if n
    ]
    return np.concatenate(places)


def _strips(model: Any) -> dict[str, Any]:
    """A row of bars for every community: the shares of the nodes, which have the same places in all rows."""
    order = _sorted_nodes(model)
    chosen = order[_sample(model.labels_[order])]
    shares, labels = model.memberships_[chosen], model.labels_[chosen]
    heights = np.rint(100 * shares).astype(int)
    paths = []
    for k in range(shares.shape[1]):
        seen = np.flatnonzero(heights[:, k] >= 1)
        paths.append("".join(f"M{i} 100v{-heights[i, k]}h1v{heights[i, k]}z" for i in seen))
    steps = (np.flatnonzero(np.diff(labels)) + 1).tolist()
    return {"width": len(chosen), "paths": paths, "steps": steps, "all": len(chosen) == len(order)}


def _mixed(model: Any, threshold: float) -> dict[str, Any]:
    """How many nodes have a largest share in each tenth, those of the largest first; and in how many communities they are."""
    shares = model.memberships_[model.labels_ >= 0]
    top = shares.max(axis=1)
    counts = np.bincount(np.minimum((10 * top + 1e-9).astype(int), 9), minlength=10)[::-1]
    first = next((i for i, number in enumerate(counts[::-1]) if number), 0)
    rows = [(f"{90 - 10 * i} to {100 - 10 * i}%", int(number)) for i, number in enumerate(counts[: 10 - first])]
    several = (shares >= threshold).sum(axis=1)
    return {
        "rows": rows,
        "most": int(counts.max()),
        "nodes": len(top),
        "mean": float(top.mean()),
        "several": int((several > 1).sum()),
    }


# --- edges ----------------------------------------------------------------------------------------------------------


def _edges(model: Any, joint: np.ndarray) -> dict[str, Any]:
    """The connectivity as cells with colours, and what share of the edges is inside communities."""
    table = model.connectivity_[:_TABLE, :_TABLE]
    top = float(table.max()) or 1.0
    digits = min(1 - int(np.floor(np.log10(top))), 300)
    unit = 10.0 ** (max(digits, 2) if digits > 0 else 0)
    total = max(float(joint.sum()), 1e-300)
    cells = [[_cell(float(value), top, unit, i, j) for j, value in enumerate(row)] for i, row in enumerate(table)]
    return {
        "rows": cells,
        "unit": int(unit),
        "numbered": len(table) <= _NUMBERED,
        "shown": len(table),
        "inside": float(np.trace(joint)) / total,
        "chance": float(joint.sum(axis=0) / total @ (joint.sum(axis=1) / total)),
    }


def _cell(value: float, top: float, unit: float, i: int, j: int) -> dict[str, Any]:
    level, scaled = value / top, unit * value
    text = "0" if scaled < 0.05 else f"{scaled:.1f}" if unit * top < 1000 else f"{scaled:,.0f}"
    return {"text": text, "level": round(100 * level), "light": level > 0.55, "title": f"{i} and {j}: {value:.3g}"}


def _spectrum(model: Any) -> dict[str, Any] | None:
    """Moduli of the directions as heights in percent, with the edge of the noise."""
    values, edge = np.asarray(model.spectrum_, dtype=float), float(model.edge_)
    if not len(values):
        return None
    top = 1.05 * max(float(np.abs(values).max()), edge, 1e-300)
    bars = [
        {
            "height": f"{100 * abs(value) / top:.2f}",
            "above": bool(abs(value) > edge),
            "negative": bool(value < 0),
            "title": f"direction {i}: {value:.3g}",
        }
        for i, value in enumerate(values, 1)
    ]
    used = min(model.memberships_.shape[1] - 1, len(values))
    return {
        "bars": bars, "edge": f"{100 * edge / top:.2f}", "value": edge, "used": used,
        "place": f"{100 * used / len(values):.3f}", "negative": bool((values < 0).any()),
        "above": int((np.abs(values) > edge).sum()),
    }  # fmt: skip


# --- nodes ----------------------------------------------------------------------------------------------------------


def _nodes(model: Any, graph: Graph | _Expected, threshold: float) -> list[list[Any]]:
    """The best connected nodes: name, degree, and communities with shares, the largest first."""
    names, degrees = _names(model), graph.degrees
    shares = np.nan_to_num(model.memberships_)
    rows = []
    for i in largest(degrees, _LISTED):
        own = [int(k) for k in np.argsort(-shares[i], kind="stable") if shares[i, k] >= threshold]
        own = own or ([int(shares[i].argmax())] if model.labels_[i] >= 0 else [])
        degree = round(float(degrees[i]), 3)
        rows.append(
            [cut(names[i], 80), int(degree) if degree.is_integer() else degree]
            + [[k, round(float(shares[i, k]), 3)] for k in own]
        )
    return rows


def _drawing(model: Any, graph: Graph) -> Drawing:
    """The graph, or its best connected nodes, with memberships as pies."""
    degrees, names = graph.degrees, _names(model)
    linked = np.flatnonzero(model.labels_ >= 0)
    whole = len(linked) <= _DRAWN
    chosen = linked if whole else linked[np.sort(largest(degrees[linked], _DRAWN_OF_MORE))]
    shares = model.memberships_[chosen]
    pies = [
        Pie(
            name=names[i],
            label=cut(names[i], 22),
            weight=float(degrees[i]),
            slices=[(_colour(int(k)), float(own[k])) for k in np.argsort(-own, kind="stable") if own[k] >= 0.05],
            title=f"{cut(names[i], 80)}: {_said(own)}; {_degree(float(degrees[i]), graph)}",
        )
        for i, own in zip(chosen, shares, strict=True)
    ]
    labels = [_colour(int(k)) for k in model.labels_[chosen]]
    return draw_graph(
        graph.adjacency[chosen][:, chosen], pies, labels, shares, most_edges=_EDGES_DRAWN, named=_LABELLED, whole=whole
    )


def _said(shares: np.ndarray) -> str:
    order = [int(k) for k in np.argsort(-shares, kind="stable") if shares[k] >= 0.05]
    return ", ".join(f"community {k} {100 * shares[k]:.0f}%" for k in order)


def _degree(degree: float, graph: Graph) -> str:
    if graph.weighted:
        return f"weight of its edges {degree:.4g}"
    return count(int(degree), "edge")


# --- words about the whole ------------------------------------------------------------------------------------------


def _summary(model: Any, graph: Graph | _Expected) -> str:
    n, isolated = graph.n_nodes, len(model.isolated_)
    per_node = (1 if graph.directed else 2) * graph.n_edges / max(n - isolated, 1)
    directed = " with directions" if graph.directed else ""
    alone = f"; {count(isolated, 'node')} without edges {'is' if isolated == 1 else 'are'} left out" if isolated else ""
    return (
        f"{count(graph.n_edges, 'edge')}{directed} of {count(n, 'node')}, {per_node:.3g} a node; "
        f"{model.memberships_.shape[1]} communities{alone}."
    )


def _error_sentence(found: Sequence[Community]) -> str:
    measured = [(one.error, one.size) for one in found if one.error is not None]
    if not measured:
        return ""
    errors, sizes = np.array(measured).T
    error = float(errors @ sizes / max(sizes.sum(), 1e-300))
    return (
        f"Expected error of memberships: {error:.2f} a node on average, where 0 is perfect and 2 is all wrong; about "
        f"{min(error / 2, 1):.0%} of what a node is said to belong to is expected to be wrong."
    )
