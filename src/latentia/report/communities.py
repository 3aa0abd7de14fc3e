"""Communities of a graph, for readers who do not program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..datasets.graphs import graph_of
from ..evidence import Evidence
from ..exceptions import LatentiaError
from ..moments import Graph
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns
from ._graph import Pie, draw_graph
from .figures import PALETTE as BASIC
from .figures import heat_map, horizontal_bars, spectrum
from .page import page
from .parts import count, directions, evidence_of, grades_say, largest, listing

PALETTE = (
    *BASIC[:7], "#7b3fa0", "#d1b800", "#b2182b", "#1fb5ad", "#7fb800", "#e0399a", "#a65628", "#a58be8", "#17835a",
    "#f08a75", "#3f63c4", "#93a1af", "#6b6b6b",
)  # fmt: skip
"""Twenty colours that can be told apart, the first ones safe for the colour-blind; numbers always stand beside them."""

_MEMBERS, _PRINTED, _DRAWN, _DRAWN_OF_MORE, _STRIPS, _FEWEST_OF_EACH = 12, 8, 500, 300, 500, 4
_LISTED, _TABLE = 2000, 60
_LONGEST, _LONG, _SHORT, _LABEL = 40, 80, 24, 22  # characters of names


@page("Communities", "the drawing of the graph (numbers of edges are what the model expects)", "A")
def summarize_communities(
    model: Any,
    graph: Any = None,
    *,
    threshold: float = 0.1,
) -> Summary:
    """Say what communities a graph has, and how far they can be trusted.

    Parameters
    ----------
    model : MixedMembershipBlockModel
        A fitted model.
    graph : Graph, path, or what `latentia.moments.as_graph` takes, optional
        The graph that it was fitted on. Without it there is no drawing, and numbers of edges are those that the model expects.
    threshold : float
        Share from which a community is listed for a node.

    Returns
    -------
    Summary

    """
    graph = _Expected(model) if graph is None else graph_of(graph, model.directed_)
    if graph.n_nodes != model.n_features_in_:
        raise LatentiaError(
            f"The graph has {graph.n_nodes} nodes, and the fit {model.n_features_in_}: the same ones are needed."
        )
    sizes = np.nan_to_num(model.memberships_).sum(axis=0)
    return Summary(
        says=_says(model, graph), parts=(
            table := communities_of(model, graph, threshold), Section("memberships.html", {"strips": _strips(model)}),
            _mixed(model, threshold), *_spectrum(model), _connectivity(model, graph.weighted), _listed(model, graph, threshold),
        ),
        answer=Answer("Which groups do the nodes form?", *_words_and_picture(model, graph, table)),
        error=_error(evidence_of(model), sizes), reading=_reading(model),
        styles=("tables.css", "communities.css"), scripts=("communities.js",), colours=PALETTE,
    )  # fmt: skip


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


def _names(model: Any) -> list[str]:
    given = model.names_
    return [str(name) for name in (range(model.n_features_in_) if given is None else given)]


def _expected_edges(model: Any) -> np.ndarray:
    """Expected weights of edges from each community to each, shape (K, K)."""
    shares = np.nan_to_num(model.memberships_)
    senders, receivers = (activity @ shares for activity in (model.activity_, model.activity_in_))
    return np.asarray(np.outer(senders, receivers) * model.connectivity_)


def _largest_first(shares: np.ndarray, least: float) -> list[int]:
    """The communities of a node that have a share of ``least`` or more."""
    return [k for k in np.argsort(-shares, kind="stable").tolist() if shares[k] >= least]


# --- tables ---------------------------------------------------------------------------------------------------------


def communities_of(model: Any, graph: Graph | _Expected, threshold: float = 0.1) -> Table:
    """The communities of a fitted `MixedMembershipBlockModel`, given the graph that it was fitted on.

    Parameters
    ----------
    model : MixedMembershipBlockModel
    graph : Graph
    threshold : float
        Share from which a node counts as one of a community.
    """
    shares, names, joint = np.nan_to_num(model.memberships_), _names(model), _expected_edges(model)
    evidence, joint, some = evidence_of(model), joint + joint.T, shares >= threshold
    ends, central = joint.sum(axis=1), np.where(some, shares * graph.degrees[:, None], 0.0)
    inside, chance = np.diag(joint) / np.maximum(ends, 1e-300), ends / max(ends.sum(), 1e-300)
    best = ((k, own, largest(own, _MEMBERS)) for k, own in enumerate(central.T))
    members = [[(cut(names[i]), float(shares[i, k])) for i in few if own[i] > 0] for k, own, few in best]
    return Table(
        "components",
        (
            Column("community", range(len(ends)), kind="key", meaning=_COMMUNITY),
            Column("size", shares.sum(axis=0), ".6g", where="f"),
            Column("share", model.weights_, ".6f", kind="share", meaning=_share(model)),
            Column("nodes", some.sum(axis=0), short=",", where="pf"),
            *grade_columns(evidence, len(ends), meaning=_ERROR + grades_say(evidence, "a community", _OTHERS)),
            Column("inside", inside, ".4f", ".0%", where="pf"),
            Column("inside by chance", chance, ".4f", ".0%", heading="By chance", where="pf"),
            Column(
                "most central", members, lambda few: "; ".join(name for name, _ in few), _in_part, kind="words",
                screen=_in_short,
            ),
        ),
        "All communities",
        f"The largest first. Nodes: how many belong to it by {threshold:.0%} or more. Inside: the share of its members' "
        "edges that stay in it, beside what chance would give. Most central are members of many edges "
        f"and a large share, which is in brackets where it is below 90%. {suggested(model)}",
        "communities.csv", f"{len(ends)} communities, largest first", "community", note=suggested(model),
    )  # fmt: skip


def _in_part(share: float) -> str:
    return "" if share >= 0.9 else f"({share:.0%})"


def _in_short(members: Sequence[tuple[str, float]]) -> str:
    return ", ".join(cut(name, _SHORT) for name, _ in members[:_PRINTED])


def memberships_of(names: Sequence[str], degrees: np.ndarray, shares: np.ndarray, threshold: float) -> Table:
    """A row a node: its edges, strongest community, all that are listed for it, and its share of each; empty if not known."""
    rows = [None if np.isnan(own[0]) else own for own in shares]
    strongest = [None if own is None else int(own.argmax()) for own in rows]
    parts = ([None if own is None else own[k] for own in rows] for k in range(shares.shape[1]))
    listed = [_largest_first(own, threshold) for own in shares]
    columns = (
        Column("node", names), Column("edges", degrees, ".10g"), Column("community", strongest),
        Column("communities", listed, lambda some: " ".join(map(str, some))),
        *(Column(f"community {k}", own, ".5f") for k, own in enumerate(parts)),
    )  # fmt: skip
    return Table("memberships", columns, file="memberships.csv")


def _tables(model: Any, graph: Graph | _Expected, threshold: float) -> tuple[Table, Table, Table]:
    numbers, values, edge = range(len(model.connectivity_)), model.spectrum_, model.noise_level_
    connectivity = block([f"community {k}" for k in numbers], model.connectivity_)
    above = Column("above", ["yes" if abs(value) > edge else "no" for value in values])
    return (
        memberships_of(_names(model), graph.degrees, model.memberships_, threshold),
        Table("connectivity", (Column("community", numbers), *connectivity), file="connectivity.csv"),
        Table("spectrum", (*directions(values, edge), above), file="spectrum.csv"),
    )


# --- who belongs where ----------------------------------------------------------------------------------------------


def _listed(model: Any, graph: Graph | _Expected, threshold: float) -> Section:
    """The nodes, which the script of the page lists and sorts."""
    values = {
        "asked": len(model.weights_), "threshold": threshold, "n_nodes": graph.n_nodes, "weighted": graph.weighted,
        "listed": min(_LISTED, graph.n_nodes),
    }  # fmt: skip
    data = {"colours": PALETTE, "nodes": _nodes(model, graph, threshold)}
    return Section("nodes.html", values, _tables(model, graph, threshold), data=data)


def _words_and_picture(model: Any, graph: Graph | _Expected, table: Table) -> tuple[str, Figure | Section]:
    """The largest communities with their most central nodes; and the graph, or else their sizes."""
    central = [listing([name for name, _ in own[:3]]) for own in table["most central"].values]
    named = [
        f"community {k} ({share:.0%} of the nodes) around {own}"
        for k, (own, share) in enumerate(zip(central, model.weights_, strict=True))
        if own
    ]
    words = f"{len(central)} communit{'y' if len(central) == 1 else 'ies'}: {listing(named, comma='; ')}."
    if isinstance(graph, Graph):
        values = {"drawing": _drawing(model, graph), "asked": len(model.weights_), "n_nodes": graph.n_nodes}
        return words, Section("graph.html", values)
    first = largest(model.weights_, _MEMBERS)
    data = horizontal_bars([f"{k}: {central[k]}" for k in first], model.weights_[first], title="share of the nodes")
    return words, Figure(
        "sizes", data, "The communities by size", "Bars of the sizes of communities", "The largest communities."
    )


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
    places = [np.linspace(end - size, end - 1, n) for end, size, n in zip(ends, sizes, wanted, strict=True)]
    return np.round(np.concatenate(places)).astype(int)


def _strips(model: Any) -> dict[str, Any]:
    """A row of bars for every community: the shares of the nodes, which have the same places in all rows."""
    order = _sorted_nodes(model)
    chosen = order[_sample(model.labels_[order])]
    heights = np.rint(100 * model.memberships_[chosen]).astype(int)
    paths = ["".join(f"M{i} 100v{-own[i]}h1v{own[i]}z" for i in np.flatnonzero(own >= 1)) for own in heights.T]
    steps = (np.flatnonzero(np.diff(model.labels_[chosen])) + 1).tolist()
    return {"width": len(chosen), "paths": paths, "steps": steps, "all": len(chosen) == len(order)}


def _mixed(model: Any, threshold: float) -> Table:
    """How many nodes have a largest share in each tenth, those of the largest first; and in how many communities they are."""
    shares = model.memberships_[model.labels_ >= 0]
    top, several = shares.max(axis=1), (shares >= threshold).sum(axis=1) > 1
    counts = np.bincount(np.minimum((10 * top + 1e-9).astype(int), 9), minlength=10)
    tenths = range(9, int(np.flatnonzero(counts)[0]) - 1 if counts.any() else -1, -1)
    alone = "In this model every node is in one community, and its shares are how sure that is. "
    return Table(
        "mixed",
        (
            Column("largest share", [f"{10 * i} to {10 * i + 10}%" for i in tenths], kind="name"),
            Column("nodes", counts[list(tenths)], short=",", kind="bar"),
        ),
        "How mixed the nodes are",
        f"{'' if model.dirichlet_.any() else alone}The largest share of a node is {top.mean():.0%} on average. "
        f"{several.sum():,} of {len(top):,} nodes have {threshold:.0%} or more of several communities.",
    )


# --- edges ----------------------------------------------------------------------------------------------------------


def _connectivity(model: Any, weighted: bool) -> Figure:
    """How strongly communities are linked, in edges of so many pairs of nodes."""
    table, joint, asked = model.connectivity_[:_TABLE, :_TABLE], _expected_edges(model), len(model.weights_)
    digits = min(1 - int(np.floor(np.log10(float(table.max()) or 1.0))), 300)
    unit = 10.0 ** (max(digits, 2) if digits > 0 else 0)
    total, names = max(float(joint.sum()), 1e-300), [str(k) for k in range(len(table))]
    chance = joint.sum(axis=0) / total @ (joint.sum(axis=1) / total)
    what = f"{'Weight of edges' if weighted else 'Edges'} per {unit:,.0f} pairs of nodes"
    what = "Mean weight between two nodes" if unit == 1 else what
    inside = (
        f"{np.trace(joint) / total:.0%} of the edges are inside communities, and chance would put {chance:.0%} there. "
        "Communities of friends have strong colours on the diagonal; strong cells beside it are groups that are linked to each "
        "other."
    )
    cut = f" The largest {len(table)} communities; connectivity.csv holds all numbers." if len(table) < asked else ""
    form = 1 if unit * float(table.max()) < 1000 else 0
    return Figure(
        "connectivity", heat_map(unit * table, names, names, hover="{row} and {column}: {value:.3g}", digits=form),
        "Edges between communities", "Heat map of the edges between communities; connectivity.csv holds all numbers",
        f"{what}{' of mean activity' if model.degree_corrected_ else ''}, one of the row's community and one of the column's"
        f"{'; edges lead from the row to the column' if model.directed_ else ''}. {inside if asked > 1 else ''}{cut}",
        shape="square",
    )  # fmt: skip


def _spectrum(model: Any) -> tuple[Figure, ...]:
    """The directions, and the edge of the noise."""
    values, edge = np.asarray(model.spectrum_, dtype=float), float(model.noise_level_)
    if not len(values):
        return ()
    asked, used = len(model.weights_), min(len(model.weights_) - 1, len(values))
    above, negative = int((np.abs(values) > edge).sum()), bool((values < 0).any())
    groups = (
        " Negative ones are groups whose members are linked to others rather than to each other." if negative else ""
    )
    drawn = spectrum(values, used, [edge, -edge] if negative else [edge], "eigenvalue")
    label = "Bars of the eigenvalues, and the edge of the noise; spectrum.csv holds the numbers"
    caption = (
        f"The links of nodes are decomposed into directions, the strongest first. {above} of the first {len(values)} "
        f"{'lies' if above == 1 else 'lie'} above the dashed line, up to which chance alone would reach. {asked} communities "
        f"take {used} of them (blue).{groups}"
    )
    return (Figure("spectrum", drawn, "What stands out of the noise", label, caption),)


# --- nodes ----------------------------------------------------------------------------------------------------------


def _nodes(model: Any, graph: Graph | _Expected, threshold: float) -> list[list[Any]]:
    """The best connected nodes: name, degree, and communities with shares, the largest first."""
    names, degrees, rows = _names(model), graph.degrees, []
    for i in largest(degrees, _LISTED):
        own = np.nan_to_num(model.memberships_[i])
        listed = _largest_first(own, threshold) or ([int(own.argmax())] if model.labels_[i] >= 0 else [])
        degree = round(float(degrees[i]), 3)
        parts = [[k, round(float(own[k]), 3)] for k in listed]
        rows.append([cut(names[i], _LONG), int(degree) if degree.is_integer() else degree, *parts])
    return rows


def _drawing(model: Any, graph: Graph) -> dict[str, Any]:
    """The graph, or its best connected nodes, with memberships as pies."""
    degrees, names, linked = graph.degrees, _names(model), np.flatnonzero(model.labels_ >= 0)
    whole = len(linked) <= _DRAWN
    chosen = linked if whole else linked[np.sort(largest(degrees[linked], _DRAWN_OF_MORE))]
    pies = []
    for i in chosen:
        own, degree = model.memberships_[i], float(degrees[i])
        parts = _largest_first(own, 0.05)
        said = ", ".join(f"community {k} {100 * own[k]:.0f}%" for k in parts)
        edges = f"weight of its edges {degree:.4g}" if graph.weighted else count(int(degree), "edge")
        slices = [(_colour(k), float(own[k])) for k in parts]
        title = f"{cut(names[i], _LONG)}: {said}; {edges}"
        pies.append(Pie(cut(names[i], _LABEL), title, degree, slices, _colour(int(model.labels_[i]))))
    return draw_graph(graph.adjacency[chosen][:, chosen], pies, model.memberships_[chosen], whole)


# --- words about the whole ------------------------------------------------------------------------------------------


def suggested(model: Any) -> str:
    """How many communities the spectrum suggests, in a sentence."""
    number, asked = model.n_suggested_, model.memberships_.shape[1]
    if number == 1:
        return "No direction of the spectrum stands out of the noise: it shows no communities."
    more = "at least " if number == len(model.spectrum_) + 1 else ""
    same = f", as many as there are{' here' if more else ''}" if number == asked and not more else ""
    directions = "1 direction stands" if number == 2 else f"{number - 1} directions stand"
    return f"The spectrum suggests {more}{number} communities{same}: {directions} out of the noise."


def _says(model: Any, graph: Graph | _Expected) -> str:
    n, isolated = graph.n_nodes, len(model.isolated_)
    per_node = (1 if graph.directed else 2) * graph.n_edges / max(n - isolated, 1)
    directed = " with directions" if graph.directed else ""
    alone = f"; {count(isolated, 'node')} without edges {'is' if isolated == 1 else 'are'} left out" if isolated else ""
    return (
        f"{count(graph.n_edges, 'edge')}{directed} of {count(n, 'node')}, {per_node:.3g} a node; {len(model.weights_)} "
        f"communities{alone}."
    )


def _error(evidence: Evidence, sizes: np.ndarray) -> str:
    errors = np.zeros(0) if evidence.component_errors is None else np.asarray(evidence.component_errors)
    known = np.flatnonzero(np.isfinite(errors))
    if not len(known):
        return ""
    error = float(errors[known] @ sizes[known] / max(sizes[known].sum(), 1e-300))
    return (
        f"Expected error of memberships: {error:.2f} a node on average, where 0 is perfect and 2 is all wrong; about "
        f"{min(error / 2, 1):.0%} of what a node is said to belong to is expected to be wrong."
    )


_COMMUNITY = (
    "A group of nodes that have edges to the same others. Mostly these are edges to each other, but need not be: sellers who "
    "all deal with the same buyers are a community, too. A community has a number, not a name: what it stands for is for the "
    "reader to say. How many there are was given with -k."
)
_ERROR = (
    "How far the shares of a community are expected to lie from the truth: the sum of the differences over all nodes, "
    "relative to the size of the community; 0 is perfect, and 2 means that all of its members are wrong. It comes from what "
    "the edges of each node leave open, and from fits on three quarters of the edges. "
)
_OTHERS = "other edges between the same nodes would give it other members"


def _share(model: Any) -> str:
    own = "In this model, which fits these edges best, every node is in one community, and shares are probabilities of which."
    if model.dirichlet_.any():
        own = (
            "A share is the part that it plays there: of the edges of a node that is half in two communities about half come "
            f"from each. The model has alpha_0 = {model.dirichlet_.sum():.2g}: at 0.1 some nodes have a second community, at 1 "
            "most have two or three."
        )
    return (
        f"A node belongs to communities to shares that sum to 100%. {own} The share of a community is the mean of these over "
        "all nodes."
    )


def _reading(model: Any) -> tuple[tuple[str, str], ...]:
    activity = (
        "Some nodes have many edges whatever their community. The model knows this: two nodes of the same community may differ "
        "in how many edges they have."
    )
    return (
        *((("Activity", activity),) if model.degree_corrected_ else ()),
        ("Noise",
         "Even edges drawn at random form something that looks like groups. How strong that can be is computed from the "
         "degrees. What is weaker is not believed."),
        ("What to do next",
         "-k 2:20 compares several numbers of communities, and -k auto looks for one. 'latentia apply' says to which "
         "communities new nodes belong, from their edges to these."),
    )  # fmt: skip
