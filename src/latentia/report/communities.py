"""Communities of a graph, for readers who do not program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..datasets.graphs import graph_of
from ..evidence import Evidence
from ..exceptions import LatentiaError
from ..linalg.ratios import ratio_of
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
"""Twenty distinct colours, the first ones safe for the colour-blind; numbers always accompany them."""

_N_MEMBERS, _N_PRINTED, _MAX_DRAWN, _N_DRAWN_OF_MORE, _STRIPS, _MIN_OF_EACH = 12, 8, 500, 300, 500, 4
_MAX_LISTED, _MAX_TABLE = 2000, 60
_MAX_NAME, _MAX_TITLE, _MAX_SHORT_NAME, _MAX_LABEL = 40, 80, 24, 22  # characters of names


@page("Communities", "the drawing of the graph (numbers of edges are expected ones)", "A")
def summarize_communities(
    model: Any,
    graph: Any = None,
    *,
    threshold: float = 0.1,
) -> Summary:
    """Describe the communities of a graph, and how far they can be trusted.

    Parameters
    ----------
    model : MixedMembershipBlockModel
        A fitted model.
    graph : Graph, path, or an input of `latentia.moments.as_graph`, optional
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
            f"The graph has {graph.n_nodes} nodes; expected the {model.n_features_in_} nodes of the fit."
        )
    sizes = np.nan_to_num(model.memberships_).sum(axis=0)
    return Summary(
        headline=_write_headline(model, graph), parts=(
            table := communities_of(model, graph, threshold), Section("memberships.html", {"strips": _compute_strips(model)}),
            _mixing_table(model, threshold), *_spectrum(model), _connectivity(model, graph.weighted),
            _build_node_section(model, graph, threshold),
        ),
        answer=Answer("Which groups do the nodes form?", *_write_answer(model, graph, table)),
        error=_error(evidence_of(model), sizes), reading=_reading(model),
        styles=("tables.css", "communities.css"), scripts=("communities.js",), colours=PALETTE,
    )  # fmt: skip


class _Expected:
    """A stand-in for the graph of a model, with expected degrees."""

    weighted = False

    def __init__(self, model: Any) -> None:
        joint = np.nan_to_num(model.memberships_)
        sent, received = model.activity_[:, None] * joint, model.activity_in_[:, None] * joint
        degrees = (sent @ model.connectivity_ * received.sum(axis=0)).sum(axis=1)
        if model.directed_:
            degrees = degrees + (received @ model.connectivity_.T * sent.sum(axis=0)).sum(axis=1)
        self.degrees = np.round(degrees, 1)
        self.n_nodes, self.n_edges, self.directed = len(joint), int(model.n_edges_), bool(model.directed_)


def _colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def cut(name: str, length: int = _MAX_NAME) -> str:
    """Return a name, or the beginning of a long one."""
    return name if len(name) <= length else name[: length - 1] + "…"


def _names(model: Any) -> list[str]:
    names = model.names_
    return [str(name) for name in (range(model.n_features_in_) if names is None else names)]


def _expected_edges(model: Any) -> np.ndarray:
    """Return expected weights of edges from each community to each, shape (K, K)."""
    shares = np.nan_to_num(model.memberships_)
    senders, receivers = (activity @ shares for activity in (model.activity_, model.activity_in_))
    return np.asarray(np.outer(senders, receivers) * model.connectivity_)


def _largest_first(shares: np.ndarray, min_share: float) -> list[int]:
    """Return the communities of a node with a share of at least ``min_share``, the largest first."""
    return [k for k in np.argsort(-shares, kind="stable").tolist() if shares[k] >= min_share]


# --- tables ---------------------------------------------------------------------------------------------------------


def communities_of(model: Any, graph: Graph | _Expected, threshold: float = 0.1) -> Table:
    """Build the table of communities of a fitted `MixedMembershipBlockModel`, given the graph that it was fitted on.

    Parameters
    ----------
    model : MixedMembershipBlockModel
    graph : Graph
    threshold : float
        Share from which a node counts as one of a community.
    """
    shares, names, joint = np.nan_to_num(model.memberships_), _names(model), _expected_edges(model)
    evidence, joint, is_member = evidence_of(model), joint + joint.T, shares >= threshold
    ends, central = joint.sum(axis=1), np.where(is_member, shares * graph.degrees[:, None], 0.0)
    inside, chance = ratio_of(np.diag(joint), ends), ratio_of(ends, ends.sum())
    best = ((k, centrality, largest(centrality, _N_MEMBERS)) for k, centrality in enumerate(central.T))
    members = [
        [(cut(names[i]), float(shares[i, k])) for i in nodes if centrality[i] > 0] for k, centrality, nodes in best
    ]
    return Table(
        "components",
        (
            Column("community", range(len(ends)), kind="key", meaning=_COMMUNITY),
            Column("size", shares.sum(axis=0), ".6g", where="f"),
            Column("share", model.weights_, ".6f", kind="share", meaning=_share(model)),
            Column("nodes", is_member.sum(axis=0), short=",", where="pf"),
            *grade_columns(evidence, len(ends), meaning=_ERROR + grades_say(evidence, "a community", _GRADE_CLAUSE)),
            Column("inside", inside, ".4f", ".0%", where="pf"),
            Column("inside by chance", chance, ".4f", ".0%", heading="By chance", where="pf"),
            Column(
                "most central", members, lambda nodes: "; ".join(name for name, _ in nodes), _format_share, kind="words",
                screen=_join_short_names,
            ),
        ),
        "All communities",
        f"The largest first. Nodes: number of nodes with a share of {threshold:.0%} or more. Inside: the share of its "
        "members' edges that stay in it, and the share by chance. Most central: members with many edges and a large share, "
        f"which is in brackets if it is below 90%. {describe_suggested_number(model)}",
        "communities.csv", f"{len(ends)} communities, largest first", "community", note=describe_suggested_number(model),
    )  # fmt: skip


def _format_share(share: float) -> str:
    return "" if share >= 0.9 else f"({share:.0%})"


def _join_short_names(members: Sequence[tuple[str, float]]) -> str:
    return ", ".join(cut(name, _MAX_SHORT_NAME) for name, _ in members[:_N_PRINTED])


def memberships_of(
    names: Sequence[str], degrees: np.ndarray, shares: np.ndarray, threshold: float, weighted: bool = False
) -> Table:
    """Build the table of nodes: edges or their weight, strongest community, all listed ones, and shares; empty if unknown."""
    rows = [None if np.isnan(row[0]) else row for row in shares]
    strongest = [None if row is None else int(row.argmax()) for row in rows]
    parts = ([None if row is None else row[k] for row in rows] for k in range(shares.shape[1]))
    listed = [_largest_first(row, threshold) for row in shares]
    degree = Column("weight of edges" if weighted else "edges", degrees, ".10g")
    columns = (
        Column("node", names), degree, Column("community", strongest),
        Column("communities", listed, lambda communities: " ".join(map(str, communities))),
        *(Column(f"community {k}", row, ".5f") for k, row in enumerate(parts)),
    )  # fmt: skip
    return Table("memberships", columns, file="memberships.csv")


def _tables(model: Any, graph: Graph | _Expected, threshold: float) -> tuple[Table, Table, Table]:
    numbers, values, edge = range(len(model.connectivity_)), model.spectrum_, model.noise_level_
    connectivity = block([f"community {k}" for k in numbers], model.connectivity_)
    above = Column("above", ["yes" if abs(value) > edge else "no" for value in values])
    return (
        memberships_of(_names(model), graph.degrees, model.memberships_, threshold, graph.weighted),
        Table("connectivity", (Column("community", numbers), *connectivity), file="connectivity.csv"),
        Table("spectrum", (*directions(values, edge), above), file="spectrum.csv"),
    )


# --- who belongs where ----------------------------------------------------------------------------------------------


def _build_node_section(model: Any, graph: Graph | _Expected, threshold: float) -> Section:
    """Build the section of nodes, which the script of the page lists and sorts."""
    values = {
        "asked": len(model.weights_), "threshold": threshold, "n_nodes": graph.n_nodes, "weighted": graph.weighted,
        "listed": min(_MAX_LISTED, graph.n_nodes),
    }  # fmt: skip
    data = {"colours": PALETTE, "nodes": _nodes(model, graph, threshold)}
    return Section("nodes.html", values, _tables(model, graph, threshold), data=data)


def _write_answer(model: Any, graph: Graph | _Expected, table: Table) -> tuple[str, Figure | Section]:
    """Write the largest communities with their most central nodes; and draw the graph, or else their sizes."""
    central = [listing([name for name, _ in central_names[:3]]) for central_names in table["most central"].values]
    descriptions = [
        f"community {k} ({share:.0%} of the nodes) around {central_names}"
        for k, (central_names, share) in enumerate(zip(central, model.weights_, strict=True))
        if central_names
    ]
    words = f"{len(central)} communit{'y' if len(central) == 1 else 'ies'}: {listing(descriptions, comma='; ')}."
    if isinstance(graph, Graph):
        values = {"drawing": _draw_graph_section(model, graph), "asked": len(model.weights_), "n_nodes": graph.n_nodes}
        return words, Section("graph.html", values)
    first = largest(model.weights_, _N_MEMBERS)
    data = horizontal_bars([f"{k}: {central[k]}" for k in first], model.weights_[first], title="share of the nodes")
    return words, Figure(
        "sizes", data, "The communities by size", "Bars of the sizes of communities", "The largest communities."
    )


def _sorted_nodes(model: Any) -> np.ndarray:
    """Sort nodes by their strongest community and, in it, by falling share, without nodes that have no edges."""
    top = np.nan_to_num(model.memberships_).max(axis=1)
    order = np.lexsort((-top, model.labels_))
    return order[model.labels_[order] >= 0]


def _sample(labels: np.ndarray) -> np.ndarray:
    """Return places of about 500 of the sorted nodes at most, evenly spread over each community."""
    if len(labels) <= _STRIPS:
        return np.arange(len(labels))
    sizes = np.bincount(labels)
    ends = np.cumsum(sizes)
    n_sampled = np.minimum(sizes, np.maximum(np.rint(sizes * _STRIPS / len(labels)), _MIN_OF_EACH)).astype(int)
    places = [np.linspace(end - size, end - 1, n) for end, size, n in zip(ends, sizes, n_sampled, strict=True)]
    return np.round(np.concatenate(places)).astype(int)


def _compute_strips(model: Any) -> dict[str, Any]:
    """Compute a row of bars for every community: the shares of the nodes, which have the same places in all rows."""
    order = _sorted_nodes(model)
    chosen = order[_sample(model.labels_[order])]
    heights = np.rint(100 * model.memberships_[chosen]).astype(int)
    paths = [
        "".join(
            f"M{i} 100v{-heights_of_community[i]}h1v{heights_of_community[i]}z"
            for i in np.flatnonzero(heights_of_community >= 1)
        )
        for heights_of_community in heights.T
    ]
    steps = (np.flatnonzero(np.diff(model.labels_[chosen])) + 1).tolist()
    return {"width": len(chosen), "paths": paths, "steps": steps, "all": len(chosen) == len(order)}


def _mixing_table(model: Any, threshold: float) -> Table:
    """Build the table of nodes by the tenth of their largest share, the highest first."""
    shares = model.memberships_[model.labels_ >= 0]
    top, several = shares.max(axis=1), (shares >= threshold).sum(axis=1) > 1
    counts = np.bincount(np.minimum((10 * top + 1e-9).astype(int), 9), minlength=10)
    tenths = range(9, int(np.flatnonzero(counts)[0]) - 1 if counts.any() else -1, -1)
    single_note = "In this model every node is in one community, and its shares are probabilities. "
    return Table(
        "mixed",
        (
            Column("largest share", [f"{10 * i} to {10 * i + 10}%" for i in tenths], kind="name"),
            Column("nodes", counts[list(tenths)], short=",", kind="bar"),
        ),
        "How mixed the nodes are",
        f"{'' if model.dirichlet_.any() else single_note}The largest share of a node is {top.mean():.0%} on average. "
        f"{several.sum():,} of {len(top):,} nodes have {threshold:.0%} or more of several communities.",
    )


# --- edges ----------------------------------------------------------------------------------------------------------


def _connectivity(model: Any, weighted: bool) -> Figure:
    """Draw the links between communities, in edges of so many pairs of nodes."""
    table, joint, n_communities = (
        model.connectivity_[:_MAX_TABLE, :_MAX_TABLE],
        _expected_edges(model),
        len(model.weights_),
    )
    digits = min(1 - int(np.floor(np.log10(float(table.max()) or 1.0))), 300)
    unit = 10.0 ** (max(digits, 2) if digits > 0 else 0)
    total, names = max(float(joint.sum()), 1e-300), [str(k) for k in range(len(table))]
    chance = joint.sum(axis=0) / total @ (joint.sum(axis=1) / total)
    caption = f"{'Weight of edges' if weighted else 'Edges'} per {unit:,.0f} pairs of nodes"
    caption = "Mean weight between two nodes" if unit == 1 else caption
    inside = (
        f"{np.trace(joint) / total:.0%} of the edges are inside communities; by chance it would be {chance:.0%}. "
        "Communities of friends have strong colours on the diagonal; strong cells beside it are groups that are linked to each "
        "other."
    )
    truncation = (
        f" The largest {len(table)} communities; connectivity.csv holds all numbers."
        if len(table) < n_communities
        else ""
    )
    n_digits = 1 if unit * float(table.max()) < 1000 else 0
    return Figure(
        "connectivity", heat_map(unit * table, names, names, hover="{row} and {column}: {value:.3g}", digits=n_digits),
        "Edges between communities", "Heat map of the edges between communities; connectivity.csv holds all numbers",
        f"{caption}{' of mean activity' if model.degree_corrected_ else ''}, one of the row's community and one of the column's"
        f"{'; edges lead from the row to the column' if model.directed_ else ''}. "
        f"{inside if n_communities > 1 else ''}{truncation}",
        shape="square",
    )  # fmt: skip


def _spectrum(model: Any) -> tuple[Figure, ...]:
    """Draw the directions, and the edge of the noise."""
    values, edge = np.asarray(model.spectrum_, dtype=float), float(model.noise_level_)
    if not len(values):
        return ()
    n_communities, n_used = len(model.weights_), min(len(model.weights_) - 1, len(values))
    above, negative = int((np.abs(values) > edge).sum()), bool((values < 0).any())
    groups = (
        " Negative ones belong to groups whose members are linked to others rather than to each other."
        if negative
        else ""
    )
    figure = spectrum(values, n_used, [edge, -edge] if negative else [edge], "eigenvalue")
    label = "Bars of the eigenvalues, and the edge of the noise; spectrum.csv holds the numbers"
    caption = (
        f"The links of nodes are decomposed into directions, the strongest first. {above} of the first {len(values)} "
        f"{'lies' if above == 1 else 'lie'} above the dashed line, the limit of chance. {n_communities} communities "
        f"take {n_used} of them (blue).{groups}"
    )
    return (Figure("spectrum", figure, "Directions above the noise", label, caption),)


# --- nodes ----------------------------------------------------------------------------------------------------------


def _nodes(model: Any, graph: Graph | _Expected, threshold: float) -> list[list[Any]]:
    """Return the best connected nodes: name, degree, and communities with shares, the largest first."""
    names, degrees, rows = _names(model), graph.degrees, []
    for i in largest(degrees, _MAX_LISTED):
        shares = np.nan_to_num(model.memberships_[i])
        listed = _largest_first(shares, threshold) or ([int(shares.argmax())] if model.labels_[i] >= 0 else [])
        degree = round(float(degrees[i]), 3)
        parts = [[k, round(float(shares[k]), 3)] for k in listed]
        rows.append([cut(names[i], _MAX_TITLE), int(degree) if degree.is_integer() else degree, *parts])
    return rows


def _draw_graph_section(model: Any, graph: Graph) -> dict[str, Any]:
    """Draw the graph, or its best connected nodes, with memberships as pies."""
    degrees, names, linked = graph.degrees, _names(model), np.flatnonzero(model.labels_ >= 0)
    is_complete = len(linked) <= _MAX_DRAWN
    chosen = linked if is_complete else linked[np.sort(largest(degrees[linked], _N_DRAWN_OF_MORE))]
    pies = []
    for i in chosen:
        shares, degree = model.memberships_[i], float(degrees[i])
        parts = _largest_first(shares, 0.05)
        memberships_text = ", ".join(f"community {k} {100 * shares[k]:.0f}%" for k in parts)
        edges = f"weight of its edges {degree:.4g}" if graph.weighted else count(int(degree), "edge")
        slices = [(_colour(k), float(shares[k])) for k in parts]
        title = f"{cut(names[i], _MAX_TITLE)}: {memberships_text}; {edges}"
        pies.append(Pie(cut(names[i], _MAX_LABEL), title, degree, slices, _colour(int(model.labels_[i]))))
    return draw_graph(graph.adjacency[chosen][:, chosen], pies, model.memberships_[chosen], is_complete)


# --- words about the whole ------------------------------------------------------------------------------------------


def describe_suggested_number(model: Any) -> str:
    """Describe in a sentence the number of communities that the spectrum suggests."""
    number, n_communities = model.n_suggested_, model.memberships_.shape[1]
    if number == 1:
        return "No direction of the spectrum is above the noise: it shows no communities."
    prefix = "at least " if number == len(model.spectrum_) + 1 else ""
    comparison = f", as many as there are{' here' if prefix else ''}" if number == n_communities and not prefix else ""
    directions = "1 direction is" if number == 2 else f"{number - 1} directions are"
    return f"The spectrum suggests {prefix}{number} communities{comparison}: {directions} above the noise."


def _write_headline(model: Any, graph: Graph | _Expected) -> str:
    n, isolated = graph.n_nodes, len(model.isolated_)
    per_node = (1 if graph.directed else 2) * graph.n_edges / max(n - isolated, 1)
    directed = " with directions" if graph.directed else ""
    isolated_text = (
        f"; {count(isolated, 'node')} without edges {'is' if isolated == 1 else 'are'} left out" if isolated else ""
    )
    return (
        f"{count(graph.n_edges, 'edge')}{directed} of {count(n, 'node')}, {per_node:.3g} a node; {len(model.weights_)} "
        f"communities{isolated_text}."
    )


def _error(evidence: Evidence, sizes: np.ndarray) -> str:
    errors = np.zeros(0) if evidence.component_errors is None else np.asarray(evidence.component_errors)
    is_known = np.flatnonzero(np.isfinite(errors))
    if not len(is_known):
        return ""
    error = float(errors[is_known] @ sizes[is_known] / max(sizes[is_known].sum(), 1e-300))
    return (
        f"Expected error of memberships: {error:.2f} a node on average, where 0 is perfect and 2 is all wrong; about "
        f"{min(error / 2, 1):.0%} of a node's memberships are expected to be wrong."
    )


_COMMUNITY = (
    "A group of nodes that have edges to the same other nodes. Mostly these are edges to each other, but not always: sellers "
    "who all deal with the same buyers are a community, too. A community has a number, not a name: the reader decides what it "
    "stands for. Their number was given with -k."
)
_ERROR = (
    "Expected distance of the shares of a community from the truth: the sum of the differences over all nodes, relative to the "
    "size of the community; 0 is perfect, and 2 means that all of its members are wrong. It comes from the uncertainty of each "
    "node's edges, and from fits on three quarters of the edges. "
)
_GRADE_CLAUSE = "other edges between the same nodes would give it other members"


def _share(model: Any) -> str:
    explanation = (
        "In this model, which fits these edges best, every node is in one community, and its shares are the probabilities of "
        "communities."
    )
    if model.dirichlet_.any():
        explanation = (
            "Edges follow the shares: about half of the edges of a node that is half in two communities come from each. "
            f" The model has alpha_0 = {model.dirichlet_.sum():.2g}: at 0.1 some nodes have a second community, at 1 "
            "most have two or three."
        )
    return (
        f"A node belongs to communities with shares that sum to 100%. {explanation} The share of a community is the mean over "
        "all nodes."
    )


def _reading(model: Any) -> tuple[tuple[str, str], ...]:
    activity = (
        "Some nodes have many edges whatever their community. The model allows for this: two nodes of the same community may "
        "have different numbers of edges."
    )
    return (
        *((("Activity", activity),) if model.degree_corrected_ else ()),
        ("Noise",
         "Even random edges form apparent groups. Their possible strength is computed from the degrees; weaker groups are not "
         "trusted."),
        ("What to do next",
         "-k 2:20 compares several numbers of communities, and -k auto looks for one. 'latentia apply' finds the "
         "communities of new nodes from their edges to these."),
    )  # fmt: skip
