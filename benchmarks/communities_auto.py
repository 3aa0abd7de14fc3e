"""Claim: the number of communities and the shape of the model that "auto" takes are as good as the best in hindsight.

    python benchmarks/communities_auto.py [--seeds 200-209] [--kind blocks ...] [--data DIR]

Planted graphs of 400 to 1,200 nodes, 3 to 9 communities and a signal of 2 to 5: blocks, nodes of different activity, mixed
nodes, hubs that know a twentieth of all, weights, directions, and communities whose pairs have rates of their own; and the real
graphs of DIR/graphs (or LATENTIA_DATA) with labels or circles. ``nmi`` is that of labels with the truth (the largest share of a
node), ``best`` that of the best number from half of the true one to 1.5 times as many, in hindsight, and Leiden's is of
modularity. ``shape`` says whether degree correction, directions and one rate for all pairs are those of the truth.
"""

from __future__ import annotations

import argparse
import gzip
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import DATA, report, timed
from _communities import as_igraph, leiden, nmi
from scipy import sparse
from threadpoolctl import threadpool_limits

from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import planted, read_graph
from latentia.moments import Graph, as_graph

Rng = np.random.Generator
AS_GOOD = 0.03
EGOS = (0, 348, 414, 686, 698, 3437, 3980)


class Known(NamedTuple):
    """A graph, its labels, their number, and the true shape: degree-corrected, directed, homophilic; None where unknown."""

    graph: Graph
    labels: np.ndarray
    k: int
    shape: tuple[bool, bool, bool] | None


def drawn(rng: Rng, seed: int, *, rates: bool = False, **options: Any) -> tuple[Any, int]:
    k, n = int(rng.integers(3, 10)), int(rng.integers(400, 1201))
    told: dict[str, Any] = {"alpha0": 0.0, "degree": float(rng.uniform(20, 40)), "snr": float(rng.uniform(2, 5))}
    if rates:
        table = rng.uniform(0.2, 1, (k, k)) + 1.5 * np.eye(k)
        told["connectivity"] = table if options.get("directed") else (table + table.T) / 2
    told["snr"] = min(told["snr"], 0.9 * np.sqrt(told["degree"]))
    return planted.mixed_membership_graph(n, k, random_state=seed, **{**told, **options}), k


def blocks(rng: Rng, seed: int) -> Known:
    return known(*drawn(rng, seed), (False, False, True))


def activities(rng: Rng, seed: int) -> Known:
    return known(*drawn(rng, seed, spread=0.7), (True, False, True))


def mixed(rng: Rng, seed: int) -> Known:
    return known(*drawn(rng, seed, alpha0=0.2), (False, False, True))


def hubs(rng: Rng, seed: int) -> Known:
    found, k = drawn(rng, seed)
    table = found.adjacency.tolil()
    n = table.shape[0]
    for hub in rng.choice(n, 8, replace=False):
        some = rng.choice(n, n // 20, replace=False)
        table[hub, some], table[some, hub] = 1, 1
    table.setdiag(0)
    return known(found, k, None, sparse.csr_array(table))


def weighted(rng: Rng, seed: int) -> Known:
    found, k = drawn(rng, seed)
    upper = sparse.triu(found.adjacency, 1, format="csr")
    upper.data = np.exp(0.7 * rng.standard_normal(upper.nnz))
    return known(found, k, None, sparse.csr_array(upper + upper.T))


def directed(rng: Rng, seed: int) -> Known:
    return known(*drawn(rng, seed, directed=True), (False, True, True))


def own_rates(rng: Rng, seed: int) -> Known:
    return known(*drawn(rng, seed, rates=True), (False, False, False))


def own_directed_rates(rng: Rng, seed: int) -> Known:
    return known(*drawn(rng, seed, rates=True, directed=True, spread=0.5), (True, True, False))


KINDS: dict[str, Callable[[Rng, int], Known]] = {
    "blocks": blocks,
    "activities": activities,
    "mixed": mixed,
    "hubs": hubs,
    "weighted": weighted,
    "directed": directed,
    "own rates": own_rates,
    "own rates, directed": own_directed_rates,
}


def known(found: Any, k: int, shape: tuple[bool, bool, bool] | None, adjacency: Any = None) -> Known:
    table = found.adjacency if adjacency is None else adjacency
    return Known(as_graph(table), found.memberships.argmax(axis=1), k, shape)


def real(folder: Path) -> Iterator[tuple[str, Known]]:
    """Graphs with labels; of circles that overlap each node's first one, and nodes in none are not counted."""
    for name in ("football", "polblogs"):
        graph = read_graph(folder / f"{name}.edges.txt.gz")
        labels = np.loadtxt(folder / f"{name}.labels.txt", dtype=int)[np.array(graph.names, dtype=int)]
        yield name, Known(graph, labels, len(np.unique(labels)), None)
    for ego in EGOS:
        graph = read_graph(folder / f"fb_{ego}.edges.txt.gz")
        place, labels = {name: i for i, name in enumerate(graph.names)}, np.full(graph.n_nodes, -1)
        with gzip.open(folder / f"fb_{ego}.communities.txt.gz", "rt") as lines:
            for number, line in enumerate(lines):
                members = [place[name] for name in line.split() if name in place]
                labels[[i for i in members if labels[i] < 0]] = number
        yield f"ego {ego}", Known(graph, labels, len(np.unique(labels[labels >= 0])), None)


def measured(name: str, seed: int, one: Known) -> dict[str, Any]:
    done = timed(lambda: MixedMembershipBlockModel("auto").fit(one.graph))
    model, shape = done.value, None
    theirs = timed(lambda: leiden(as_igraph(one.graph.adjacency)))

    def agreement(labels: np.ndarray) -> float:
        counted = one.labels >= 0
        return nmi(one.labels[counted], labels[counted])

    span = range(max(one.k // 2, 1), 3 * one.k // 2 + 1)
    every = {k: agreement(MixedMembershipBlockModel(k, n_splits=0).fit(one.graph).labels_) for k in span}
    best = max(every, key=lambda k: every[k])
    if one.shape:
        shape = (model.degree_corrected_, model.directed_, model.homophilic_) == one.shape
    return {
        "graph": name, "seed": seed, "k": one.k, "auto": model.n_components_, "best k": best, "grade": model.evidence_.grade,
        "nmi": agreement(model.labels_), "best": every[best], "leiden": agreement(theirs.value), "shape": shape,
        "corrected": model.degree_corrected_, "homophilic": model.homophilic_, "cpu_s": done.cpu,
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def share(some: list[bool]) -> float | None:
        return 100 * float(np.mean(some)) if some else None

    lines = []
    for name in dict.fromkeys(row["graph"] for row in rows):
        of = [row for row in rows if row["graph"] == name]
        means = {key: float(np.mean([row[key] for row in of])) for key in ("nmi", "best", "leiden")}
        lines.append(
            {
                "graph": name, "graphs": len(of), **means,
                "% as good": share([row["nmi"] >= row["best"] - AS_GOOD for row in of]),
                "% right shape": share([row["shape"] for row in of if row["shape"] is not None]),
                "one, and Leiden above .2": sum(row["auto"] == 1 and row["leiden"] > 0.2 for row in of),
            }
        )  # fmt: skip
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="200-209", help="first-last")
    parser.add_argument("--kind", nargs="*", default=[*KINDS, "real"])
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    first, last = map(int, options.seeds.split("-"))
    warnings.simplefilter("ignore")
    rows = []
    with threadpool_limits(1):
        for kind in (kind for kind in options.kind if kind in KINDS):
            for seed in range(first, last + 1):
                rng = np.random.default_rng([seed, list(KINDS).index(kind)])
                rows.append(measured(kind, seed, KINDS[kind](rng, seed)))
        if "real" in options.kind:
            rows += [measured(name, 0, one) for name, one in real(options.data / "graphs")]
    report("communities_auto", summary(rows), table="by graph")
    report("communities_auto_each", rows, table="each")


if __name__ == "__main__":
    main()
