"""``latentia communities``: overlapping communities of a graph on disk, as tables, a model and a report."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy import sparse

from ..communities import MixedMembershipBlockModel
from ..datasets import read_graph
from ..datasets.separated import has_columns
from ..exceptions import LatentiaError
from ..moments import Graph
from ..report.communities import Community, cut, suggested
from ..report.communities import communities as described
from ..report.parts import count
from ._shared import (
    Cache,
    Comparison,
    Encoding,
    Force,
    FullEvidence,
    Jobs,
    NoCache,
    Out,
    Quiet,
    Reading,
    Refine,
    Results,
    Rows,
    Seed,
    Splits,
    check_choice,
    component_cells,
    parse_sizes,
    possible_sizes,
    print_components,
    run_command,
    say,
    sizes_help,
    write_csv,
)
from ._tables import split_names

__all__ = ["apply_communities", "communities"]

_MEMBERSHIPS = "memberships.csv"
_FILES = (_MEMBERSHIPS, "communities.csv", "connectivity.csv", "spectrum.csv")
_THRESHOLD = 0.1
_PRINTED, _LONGEST = 8, 24  # members of a community on the screen, and characters of their names
_WAYS = {"auto": "auto", "yes": True, "no": False}
_LINKS = "held-out links"


def communities(
    source: Annotated[
        Path,
        typer.Argument(
            help="Edges, two nodes per line and, if wanted, a weight: text, CSV, TSV, Excel, NumPy; a matrix (.mtx, .npz); "
            "or GraphML, GML, GEXF, Pajek."
        ),
    ],
    k: Annotated[
        str,
        typer.Option(
            "-k",
            "--communities",
            help=sizes_help("communities", auto=True),
        ),
    ] = "10",
    out: Out = Path("communities"),
    directed: Annotated[
        bool | None,
        typer.Option(
            "--directed/--undirected",
            help="Whether edges have directions; by default as the file says, and lists of edges have none.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Two columns of nodes of a table with headings, and one of weights, separated by commas."),
    ] = None,
    alpha0: Annotated[
        float | None,
        typer.Option(
            help="How mixed nodes are: 0 for one community each, 1 for two or three; by default it is found.",
            min=0,
            max=1000,
        ),
    ] = None,
    degree_corrected: Annotated[
        str, typer.Option(help="Whether nodes of a community may have more edges than others: auto, yes or no.")
    ] = "auto",
    method: Annotated[str, typer.Option(help="stars, or partitioned: the thesis's algorithm.")] = "stars",
    threshold: Annotated[
        float, typer.Option(help="Share from which a community is listed for a node, above 0.")
    ] = _THRESHOLD,
    splits: Splits = 1,
    refine: Refine = "auto",
    cache: Cache = None,
    no_cache: NoCache = False,
    encoding: Encoding = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    evidence: FullEvidence = False,
    force: Force = False,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """Find overlapping communities of a graph, and write tables, a model and a report."""
    sizes = parse_sizes(k, "communities", auto=True)
    if sizes and min(sizes) < 2:
        raise LatentiaError(f"-k {k}: two communities or more are needed.")
    if len(sizes) != 1 and not splits:
        raise LatentiaError(f"--splits 0: -k {k} compares what is measured on edges that are left out; give 1 or more.")
    check_choice("--degree-corrected", degree_corrected, tuple(_WAYS))
    check_choice("--method", method, ("stars", "partitioned"))
    if not 0 < threshold <= 1:
        raise LatentiaError(f"--threshold {threshold:g}: a share above 0 and up to 1 is needed.")
    results = Results(out, source, _FILES, force, evidence, not quiet)
    results.check()
    how = Reading.of(quiet, cache, no_cache, encoding=encoding)
    names = split_names(columns)
    graph = _read(source, names, directed, how)
    console = Console()
    name = "standard input" if str(source) == "-" else source.name
    say(console, _counted(name, graph))
    linked = graph.n_nodes - len(graph.isolated)
    options: dict[str, Any] = {
        "alpha0": alpha0, "degree_corrected": _WAYS[degree_corrected], "method": method, "refine": refine, "n_splits": splits,
        "random_state": seed, "n_jobs": jobs, "verbose": not quiet,
    }  # fmt: skip
    if k == "auto":
        sizes = MixedMembershipBlockModel("auto", n_jobs=jobs).candidates(graph)
    else:
        sizes = possible_sizes(sizes, linked, f"{name}: {linked} nodes with edges", "communities", console)
    found = functools.cache(lambda model: described(model, graph, threshold))

    def fit(size: Any, **more: Any) -> MixedMembershipBlockModel:
        return MixedMembershipBlockModel(size, **options | more).fit(graph)

    return run_command(
        results, name, sizes, fit,
        show=lambda model, console: _show(model, found(model), console),
        write=lambda folder, model, comparison: _write(folder, model, graph, found(model), threshold, comparison, name),
        reading={"columns": names, "threshold": threshold},
        compare=lambda: Comparison(
            "communities", "a quarter of the edges", lambda size: fit(size, verbose=False), _links
        ),
    )  # fmt: skip


# --- reading ----------------------------------------------------------------------------------------------------


def _read(path: Path, columns: Sequence[str] | None, directed: bool | None, how: Reading) -> Graph:
    return read_graph(
        path, columns=columns, directed=directed, encoding=how.encoding, cache=how.cache, progress=how.progress
    )


def _counted(name: str, graph: Graph) -> str:
    per_node = (1 if graph.directed else 2) * graph.n_edges / (graph.n_nodes - len(graph.isolated))
    edges = count(graph.n_edges, "edge") + (" with directions" if graph.directed else "")
    weights = graph.adjacency.data
    weighted = f"; weights {weights.min():.3g} to {weights.max():.3g}" if graph.weighted else ""
    return f"{name}: {edges} of {count(graph.n_nodes, 'node')}, {per_node:.3g} per node{weighted}"


def _links(model: Any) -> dict[str, Any]:
    """How well edges that were left out are told from pairs without edge."""
    return {
        "AUC of held-out links": next((c.measured for c in model.evidence_.checks if c.name == _LINKS), float("nan"))
    }


# --- printing ---------------------------------------------------------------------------------------------------


def _show(model: Any, found: list[Community], console: Console) -> None:
    rows = []
    for one in found:
        members = ", ".join(cut(name, _LONGEST) for name, *_ in one.members[:_PRINTED])
        rows.append(
            [str(one.number), f"{100 * one.share:.1f}%", *component_cells(model.evidence_, one.number, 2), members]
        )
    heads = {"community": "right", "share": "right", "error": "right", "grade": "left", "most central": "left"}
    print_components(console, f"{len(rows)} communities, largest first", heads, rows, "communities.csv")
    say(console, suggested(model))


# --- writing ----------------------------------------------------------------------------------------------------


def _write(
    folder: Path,
    model: Any,
    graph: Graph,
    found: list[Community],
    threshold: float,
    comparison: Rows | None,
    source: str,
) -> None:
    from ..report import write_communities_report

    assert graph.names is not None
    _write_memberships(folder / _MEMBERSHIPS, graph.names, graph.degrees, model.memberships_, threshold)
    _write_communities(folder / "communities.csv", model, found)
    numbers = range(len(found))
    rows = ([k, *(f"{value:.8g}" for value in row)] for k, row in enumerate(model.connectivity_))
    write_csv(folder / "connectivity.csv", ["community", *(f"community {k}" for k in numbers)], rows)
    spectrum = (
        [i, f"{value:.8g}", f"{model.edge_:.8g}", "yes" if abs(value) > model.edge_ else "no"]
        for i, value in enumerate(model.spectrum_, 1)
    )
    write_csv(folder / "spectrum.csv", ["direction", "eigenvalue", "edge of the noise", "above"], spectrum)
    write_communities_report(
        folder / "report.html", model, graph, threshold=threshold, found=found, comparison=comparison, source=source,
        title=f"Communities of {source}",
    )  # fmt: skip


def _write_memberships(
    path: Path, names: Sequence[str], degrees: np.ndarray, shares: np.ndarray, threshold: float
) -> None:
    """A row a node: its edges, strongest community, all that are listed for it, and its share of each; empty if not known."""
    header = ["node", "edges", "community", "communities", *(f"community {k}" for k in range(shares.shape[1]))]
    write_csv(path, header, _memberships(names, degrees, shares, threshold))


def _memberships(
    names: Sequence[str], degrees: np.ndarray, shares: np.ndarray, threshold: float
) -> Iterator[list[Any]]:
    unknown = [""] * (2 + shares.shape[1])
    for name, degree, own in zip(names, degrees, shares, strict=True):
        if np.isnan(own[0]):
            yield [name, f"{degree:.10g}", *unknown]
            continue
        order = np.argsort(-own, kind="stable")
        listed = " ".join(str(k) for k in order if own[k] >= threshold)
        yield [name, f"{degree:.10g}", order[0], listed, *(f"{x:.5f}" for x in own)]


def _write_communities(path: Path, model: Any, found: list[Community]) -> None:
    header = [
        "community", "size", "share", "nodes", "expected error", "grade", "inside", "inside by chance", "most central",
    ]  # fmt: skip
    rows = (
        [
            one.number, f"{one.size:.6g}", f"{one.share:.6f}", one.nodes, *component_cells(model.evidence_, one.number),
            f"{one.inside:.4f}", f"{one.chance:.4f}", "; ".join(name for name, *_ in one.members),
        ]
        for one in found
    )  # fmt: skip
    write_csv(path, header, rows)


# --- applying ---------------------------------------------------------------------------------------------------


def apply_communities(model: Any, source: Path, console: Console, how: Reading) -> Callable[[Path], object]:
    """Read edges of new nodes to those of the model; gives the function that writes what the new ones belong to.

    An edge is of a new node, first, and of one of the model's. Where only the first is one of the model's, the second is new.
    """
    reading = getattr(model, "reading_", {"columns": None, "threshold": _THRESHOLD})
    columns = reading["columns"] if has_columns(source) else None
    graph = _read(source, columns, True, how)
    assert graph.names is not None
    numbers = {str(name): i for i, name in enumerate(model.names_ or range(model.n_features_in_))}
    place = np.array([numbers.get(name, -1) for name in graph.names])
    cells = graph.adjacency.tocoo()
    first, second = cells.coords
    forward = place[second] >= 0
    backward = ~forward & (place[first] >= 0)
    known = forward | backward
    if not known.any():
        raise LatentiaError(f"{source.name}: the model has none of its nodes. Every edge needs one of them.")
    nodes = np.unique(np.where(forward, first, second)[known])

    def table(these: np.ndarray, new: np.ndarray, old: np.ndarray) -> sparse.csr_array:
        places = np.searchsorted(nodes, new[these]), place[old[these]]
        return sparse.csr_array((cells.data[these], places), shape=(len(nodes), len(numbers)))

    leading, coming = table(forward, first, second), table(backward, second, first)
    say(
        console,
        f"{source.name}: {count(int(known.sum()), 'edge')} of {count(len(nodes), 'node')} to those of the model",
    )
    if not known.all():
        a, b = (graph.names[ends[int(known.argmin())]] for ends in (first, second))
        text = f"{count(int((~known).sum()), 'edge')} between nodes that the model does not have: ignored"
        say(console, f"{text}, such as that of {a!r} and {b!r}.")
    if graph.n_loops:
        say(
            console,
            f"{count(graph.n_loops, 'edge')} of a node to itself: ignored, as new nodes need names of their own.",
        )
    shares = model.transform(leading, coming) if model.directed_ else model.transform(leading + coming)
    degrees = np.asarray((leading + coming).sum(axis=1)).ravel()
    names = [graph.names[i] for i in nodes]
    return lambda path: _write_memberships(path, names, degrees, shares, reading["threshold"])
