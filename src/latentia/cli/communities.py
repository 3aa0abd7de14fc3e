"""``latentia communities``: overlapping communities of a graph on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..communities import MixedMembershipBlockModel
from ..datasets import read_graph, read_new_nodes
from ..evidence.sizes import all_sizes, and_beyond
from ..exceptions import LatentiaError
from ..moments import Graph
from ..reading import readings
from ..report.communities import memberships_of, summarize_communities
from ..report.parts import count
from ..system.terminal import say
from ._records import CommunitiesOptions
from ._shared import Comparison, ReadOptions, learn, parse_sizes
from ._tables import split_names

_FILES = "memberships.csv", "communities.csv", "connectivity.csv", "spectrum.csv", "levels.csv"
_THRESHOLD, _LINKS = 0.1, "held-out links"  # the default of --threshold, for models that were not fitted by the command
_DEGREE_CORRECTIONS = {"auto": "auto", "yes": True, "no": False}


def communities(run: CommunitiesOptions) -> dict[str, Any]:
    """Find overlapping communities of a graph, and write tables, a model and a report."""
    sizes = parse_sizes(run.k, "communities", auto=True)
    if sizes and min(sizes) < 2:
        raise LatentiaError(f"-k {run.k}: expected two communities or more.")
    if len(sizes) != 1 and not run.splits:
        raise LatentiaError(f"--splits 0: -k {run.k} compares measurements on held-out edges; give 1 or more.")
    if not 0 < run.threshold <= 1:
        raise LatentiaError(f"--threshold {run.threshold:g}: expected a share above 0 and up to 1.")
    results, names = run.results(run.source, *_FILES), split_names(run.columns)
    graph = read_graph(run.source, columns=names, directed=run.directed, **_reading_options(run.reading()))
    name = "standard input" if str(run.source) == "-" else run.source.name
    say(_describe_graph(name, graph))
    if run.directed is None and not graph.directed and any(reading.shape == "pairs" for reading in readings()):
        say("Edges are used without their directions: --directed keeps those from the first node to the second.")
    linked = graph.n_nodes - len(graph.isolated)
    options = run.parameters_of(MixedMembershipBlockModel)
    options["degree_corrected"] = _DEGREE_CORRECTIONS[run.degree_corrected]
    if run.k == "auto":
        sizes[:] = MixedMembershipBlockModel("auto", n_jobs=run.jobs).candidates(graph)
    else:
        sizes = sizes.limit_to(linked, f"{name}: {linked} nodes with edges")

    def fit(size: Any, **overrides: Any) -> MixedMembershipBlockModel:
        return MixedMembershipBlockModel(size, **options | overrides).fit(graph)

    return learn(
        results, name, sizes, fit,
        lambda model, _: summarize_communities(model, graph, threshold=run.threshold),
        reading={"columns": names, "threshold": run.threshold, "weighted": graph.weighted}, levels=run.levels,
        compare=lambda: Comparison(
            "communities", "a quarter of the edges", lambda size: fit(size, verbose=False), _measure_held_out_links,
            walk=and_beyond if run.k == "auto" else all_sizes,
        ),
    )  # fmt: skip


# --- reading ----------------------------------------------------------------------------------------------------


def _reading_options(options: ReadOptions) -> dict[str, Any]:
    return {"encoding": options.encoding, "cache": options.cache, "progress": options.progress}


def _describe_graph(name: str, graph: Graph) -> str:
    per_node = (1 if graph.directed else 2) * graph.n_edges / (graph.n_nodes - len(graph.isolated))
    edges = count(graph.n_edges, "edge") + (" with directions" if graph.directed else "")
    weights = graph.adjacency.data
    weighted = f"; weights {weights.min():.3g} to {weights.max():.3g}" if graph.weighted else ""
    return f"{name}: {edges} of {count(graph.n_nodes, 'node')}, {per_node:.3g} per node{weighted}"


def _measure_held_out_links(model: Any) -> dict[str, Any]:
    """Measure how well held-out edges are separated from pairs without an edge."""
    measurements = (check.measured for check in model.evidence_.checks if check.name == _LINKS)
    return {"AUC of held-out links": next(measurements, float("nan"))}


# --- applying ---------------------------------------------------------------------------------------------------


def apply_communities(model: Any, source: Path, options: ReadOptions) -> Callable[[Path], object]:
    """Read edges of new nodes to those of the model; return the function that writes memberships of the new nodes."""
    reading = model.reading_ or {"columns": None, "threshold": _THRESHOLD}
    known_nodes = model.names_ or range(model.n_features_in_)
    edges_of_new = read_new_nodes(source, known_nodes, columns=reading["columns"], **_reading_options(options))
    edges_text, nodes_text = count(edges_of_new.n_edges, "edge"), count(len(edges_of_new.names), "node")
    say(f"{source.name}: {edges_text} of {nodes_text} to those of the model")
    if edges_of_new.ignored:
        text = f"{count(edges_of_new.n_ignored, 'edge')} between nodes that the model does not have: ignored"
        say(f"{text}, such as that of {edges_of_new.ignored[0]!r} and {edges_of_new.ignored[1]!r}.")
    if edges_of_new.n_loops:
        loops = count(edges_of_new.n_loops, "edge")
        say(f"{loops} of a node to itself: ignored, as new nodes need names of their own.")
    leading, all_edges = edges_of_new.leading, edges_of_new.leading + edges_of_new.coming
    shares = model.transform(leading, edges_of_new.coming) if model.directed_ else model.transform(all_edges)
    return memberships_of(
        edges_of_new.names,
        np.asarray(all_edges.sum(axis=1)).ravel(),
        shares,
        reading["threshold"],
        bool(reading.get("weighted")),
    ).write
