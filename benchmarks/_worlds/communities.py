"""Graphs, for `MixedMembershipBlockModel`.

The true error is the l1 distance of a community's column of memberships to the nearest true one, relative to its size, of a
possible 2. Where a graph has positions instead of communities there is nothing right to find, and every community is 2 off.

Signal is (p - q) (n / K) / sqrt(d), of edges of probability p inside and q across K communities at mean degree d: equal
communities without mixed nodes can be detected above 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from latentia.communities import MixedMembershipBlockModel
from latentia.metrics import link_auc

from .world import Case, Draw, Rng, labels_of, spread_shares, worlds

_PAIRS = 50_000
Table = sparse.csr_array
Graphs = Callable[[Rng], Table]


def case(
    rng: Rng, draw: Graphs, k: int, truth: np.ndarray | None, nothing: bool = False, new: bool = True, **told: Any
) -> Case:
    """``truth`` are memberships in columns; without them communities are 2 off, or in ``nothing`` have no error at all."""
    graph = draw(rng)
    other = draw(rng) if new else None

    def distances(model: MixedMembershipBlockModel) -> np.ndarray:
        if truth is None:
            return np.full((model.memberships_.shape[1], 1), 2.0)
        found = np.nan_to_num(model.memberships_)
        true = truth * (found.sum(axis=1, keepdims=True) > 0)
        apart = np.abs(found[:, :, None] - true[:, None, :]).sum(axis=0)
        return np.asarray(apart / np.maximum(found.sum(axis=0), 1e-300)[:, None])

    def score(model: MixedMembershipBlockModel) -> tuple[float, float]:
        """AUC of the edges of another graph of the same nodes, and that of degrees alone."""
        assert other is not None
        degrees = np.asarray(graph.sum(axis=0)).ravel() + np.asarray(graph.sum(axis=1)).ravel()
        i, j = other.nonzero()
        a, b = np.random.default_rng(0).integers(0, len(degrees), (2, _PAIRS))
        free = (a != b) & (np.asarray(other[a, b]).ravel() == 0)
        return model.score(other), link_auc(degrees[i] * degrees[j], degrees[a[free]] * degrees[b[free]])

    return Case(
        lambda refine: MixedMembershipBlockModel(k, refine=refine, **told),
        lambda model: model.fit(graph),
        None if nothing else distances,
        score if new else None,
        2.0,
    )


# --- graphs from the chances of their edges -----------------------------------------------------------------------


def drawn(rng: Rng, rates: np.ndarray, directed: bool = False, counts: bool = False) -> Table:
    """An edge with each of these chances, or Poisson counts of these means."""
    table = rng.poisson(rates) if counts else (rng.random(rates.shape) < rates).astype(np.int8)
    if directed:
        np.fill_diagonal(table, 0)
        return sparse.csr_array(table)
    return both_ways(np.triu(table, 1))


def both_ways(table: Any) -> Table:
    table = sparse.csr_array(table)
    return sparse.csr_array(table + table.T)


def of_pairs(pairs: np.ndarray, n: int) -> Table:
    """Edges (m, 2), each once and without loops."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys = np.unique((low * n + high)[low != high])
    return both_ways(sparse.coo_array((np.ones(len(keys), np.int8), (keys // n, keys % n)), shape=(n, n)))


def scaled(rates: np.ndarray, degree: float) -> np.ndarray:
    """Rates of this mean degree."""
    return rates * (degree * len(rates) / rates.sum())


def homophily(k: int, degree: float, snr: float) -> np.ndarray:
    """Expected degrees n P, of the same mean, at a signal of ``snr``, which is negative where the edges go across."""
    table = np.full((k, k), degree - snr * np.sqrt(degree))
    np.fill_diagonal(table, degree + (k - 1) * snr * np.sqrt(degree))
    assert table.min() >= 0
    return table


def mixed(rng: Rng, n: int, k: int, alpha0: float, fold: float = 1.0) -> np.ndarray:
    """Memberships: one community a node where alpha_0 is zero."""
    shares = spread_shares(k, fold)
    return rng.dirichlet(alpha0 * shares, n) if alpha0 else np.eye(k)[labels_of(rng, n, shares)]


def communities(
    n: int = 1000,
    k: int = 4,
    degree: float = 30.0,
    snr: float = 3.0,
    *,
    alpha0: float = 0.0,
    fold: float = 1.0,
    activity: float = 0.0,
    wide: float = 0.0,
    directed: bool = False,
    counts: bool = False,
    asked: int | None = None,
    after: Callable[[Rng, Table], Table] | None = None,
    told: Mapping[str, Any] | None = None,
) -> Draw:
    """``activity`` is the deviation of its logarithm, ``wide`` that of P, and ``after`` changes the graph."""

    def world(rng: Rng) -> Case:
        pi = mixed(rng, n, k, alpha0, fold)
        table = homophily(k, degree, snr)
        if wide:
            table = np.exp(wide * rng.standard_normal((k, k)))
            table = table if directed else np.triu(table) + np.triu(table, 1).T
        out, into = np.exp(activity * rng.standard_normal((2, n)))
        into = into if directed else out
        rates = scaled((out[:, None] * (pi @ table @ pi.T) * into).astype(np.float32), degree)

        def draw(rng: Rng) -> Table:
            graph = drawn(rng, rates, directed, counts)
            return after(rng, graph) if after else graph

        return case(rng, draw, asked or k, pi, **(told or {}))

    return world


# --- what is wrong with them --------------------------------------------------------------------------------------


def nested(n: int, coarse: int, fine: int, degree: tuple[float, float, float], asked: int) -> Draw:
    """Communities of communities, with so many neighbours in a node's own, in its larger one, and elsewhere."""

    def world(rng: Rng) -> Case:
        k = coarse * fine
        large = np.repeat(np.eye(coarse), fine, axis=0)
        own, larger, elsewhere = degree
        table = own * k * np.eye(k) + larger * coarse * large @ large.T + elsewhere
        pi = mixed(rng, n, k, 0)
        rates = pi @ table @ pi.T / n
        return case(rng, lambda rng: drawn(rng, rates), asked, np.hstack([pi, pi @ large]))

    return world


def of_positions(n: int, k: int, degree: float, rates: Callable[[Rng, int], np.ndarray], **told: Any) -> Draw:
    """Positions instead of communities."""

    def world(rng: Rng) -> Case:
        chances = np.minimum(scaled(rates(rng, n), degree), 1)
        return case(rng, lambda rng: drawn(rng, chances), k, None, **told)

    return world


def in_the_plane(rng: Rng, n: int) -> np.ndarray:
    x = rng.random((n, 2))
    return (np.square(x[:, None] - x).sum(axis=2) < 20 / (np.pi * n)).astype(float)


def in_the_plane_softly(rng: Rng, n: int) -> np.ndarray:
    x = rng.random((n, 2))
    return np.exp(-np.square(x[:, None] - x).sum(axis=2) / (2 * 0.1**2)) + 0.01


def in_time(rng: Rng, n: int) -> np.ndarray:
    t = np.linspace(0, 1, n)
    return np.exp(-np.abs(t[:, None] - t) / 0.1) + 0.02


def on_a_circle(rng: Rng, n: int) -> np.ndarray:
    angle = rng.uniform(0, 2 * np.pi, n)
    return 1 + 0.9 * np.cos(angle[:, None] - angle)


def core_and_periphery(rng: Rng, n: int) -> np.ndarray:
    """Activity along a line, without a gap."""
    depth = np.sort(rng.random(n))
    return np.exp(-3 * np.maximum(depth[:, None], depth) - 0.5 * (depth[:, None] + depth))


def on_a_torus(rng: Rng, n: int) -> np.ndarray:
    x = rng.random((n, 2))
    apart = np.abs(x[:, None] - x)
    return (np.square(np.minimum(apart, 1 - apart)).sum(axis=2) < 12 / (np.pi * n)).astype(float)


def popular_and_similar(rng: Rng, n: int) -> np.ndarray:
    """Points of a hyperbolic disk: degrees of a power law, and neighbours in the same direction."""
    radius, sharp = 2 * np.log(n), 0.4
    r, angle = radius + 1.5 * np.log(rng.random(n)), rng.uniform(0, 2 * np.pi, n)
    apart = np.pi - np.abs(np.pi - np.abs(angle[:, None] - angle))
    x = r[:, None] + r + 2 * np.log(np.maximum(apart, 1e-9) / 2)
    return 1 / (1 + np.exp(np.clip((x - radius) / (2 * sharp), -50, 50)))


def bipartite(n: int, degree: float, snr: float) -> Draw:
    """Three communities on each of two sides, and edges from side to side alone."""

    def world(rng: Rng) -> Case:
        pi = mixed(rng, n, 6, 0)
        across = homophily(3, degree, snr)
        rates = scaled(pi @ np.kron(1 - np.eye(2), across) @ pi.T, degree)
        return case(rng, lambda rng: drawn(rng, rates), 2, np.hstack([pi, pi @ np.repeat(np.eye(2), 3, axis=0)]))

    return world


def small_world(n: int, near: int, rewired: float, k: int) -> Draw:
    """A ring on which everyone knows the next ones, some of them replaced."""

    def draw(rng: Rng) -> Table:
        i, step = np.repeat(np.arange(n), near), np.tile(np.arange(1, near + 1), n)
        j = np.where(rng.random(len(i)) < rewired, rng.integers(0, n, len(i)), (i + step) % n)
        return of_pairs(np.column_stack([i, j]), n)

    return lambda rng: case(rng, draw, k, None)


def preferential(n: int, each: int, k: int) -> Draw:
    """Every new node knows some of those before it, the better for having been known."""

    def draw(rng: Rng) -> Table:
        ends = list(range(each + 1))
        pairs = []
        for i in range(each + 1, n):
            known = [ends[e] for e in rng.integers(0, len(ends), each)]
            pairs += [(i, j) for j in known]
            ends += [*known, *([i] * each)]
        return of_pairs(np.array(pairs), n)

    return lambda rng: case(rng, draw, k, None)


def hubs(n: int, degree: float, many: int, share: float, k: int) -> Draw:
    """Some nodes know a share of all, and others know whom they happen to."""

    def world(rng: Rng) -> Case:
        rates = np.full((n, n), degree / n)
        rates[:many] = rates[:, :many] = share
        return case(rng, lambda rng: drawn(rng, rates), k, None)

    return world


def projected(n: int, groups: int, k: int, size: int, strays: float) -> Draw:
    """Who was at the same event: events are of few, most of them of one community, so that edges come in cliques."""

    def world(rng: Rng) -> Case:
        labels = labels_of(rng, n, spread_shares(k))

        def draw(rng: Rng) -> Table:
            kind = rng.integers(0, k, groups)
            members = [np.flatnonzero(labels == c) for c in range(k)]
            at = np.array([rng.choice(members[c], size) for c in kind])
            at = np.where(rng.random(at.shape) < strays, rng.integers(0, n, at.shape), at)
            i, j = np.triu_indices(size, 1)
            return of_pairs(np.column_stack([at[:, i].ravel(), at[:, j].ravel()]), n)

        return case(rng, draw, k, None if strays == 1 else np.eye(k)[labels])

    return world


def twins(n: int, k: int, degree: float, snr: float, times: int = 2) -> Draw:
    """Every node has twins with the same neighbours."""

    def world(rng: Rng) -> Case:
        pi = mixed(rng, n // times, k, 0)
        rates = scaled(pi @ homophily(k, degree, snr) @ pi.T, degree / times)

        def draw(rng: Rng) -> Table:
            return sparse.csr_array(sparse.kron(drawn(rng, rates), np.ones((times, times), np.int8), format="csr"))

        return case(rng, draw, k, np.repeat(pi, times, axis=0))

    return world


def copied(times: int) -> Callable[[Rng, Table], Table]:
    return lambda rng, graph: sparse.csr_array(times * graph.astype(np.int64))


def unevenly_copied(rng: Rng, graph: Table) -> Table:
    """Weights of a bursty kind: three on average, most of them one."""
    upper = sparse.triu(graph, 1, format="csr")
    return both_ways(
        sparse.csr_array((rng.geometric(1 / 3, upper.nnz), upper.indices, upper.indptr), shape=graph.shape)
    )


def lognormal_weights(rng: Rng, graph: Table) -> Table:
    upper = sparse.triu(graph, 1, format="csr")
    weights = np.exp(rng.standard_normal(upper.nnz))
    return both_ways(sparse.csr_array((weights, upper.indices, upper.indptr), shape=graph.shape))


def rewired_to_hubs(share: float, many: int) -> Callable[[Rng, Table], Table]:
    """A share of the edges goes to some hubs, at one end."""

    def change(rng: Rng, graph: Table) -> Table:
        n = graph.shape[0]
        i, j = sparse.triu(graph, 1).nonzero()
        j = np.where(rng.random(len(i)) < share, rng.integers(0, many, len(i)), j)
        return of_pairs(np.column_stack([i, j]), n)

    return change


def closed(share: float) -> Callable[[Rng, Table], Table]:
    """Friends of friends are made friends: some open triangles are closed, as many as a share of the edges."""

    def change(rng: Rng, graph: Table) -> Table:
        n, indices, indptr = graph.shape[0], graph.indices, graph.indptr
        degrees = np.diff(indptr)
        heads = rng.choice(n, int(share * graph.nnz / 2), p=degrees / degrees.sum())
        ends = [indices[indptr[heads] + (rng.random(len(heads)) * degrees[heads]).astype(int)] for _ in range(2)]
        i, j = sparse.triu(graph, 1).nonzero()
        return of_pairs(np.vstack([np.column_stack([i, j]), np.column_stack(ends)]), n)

    return change


def affiliations(n: int, k: int, each: float, within: float, noise: float) -> Draw:
    """Any number of groups a node, and in each of them the same chance of an edge: 1 - prod (1 - p_k)."""

    def world(rng: Rng) -> Case:
        groups = rng.random((n, k)) < each / k
        groups[np.arange(n), rng.integers(0, k, n)] |= ~groups.any(axis=1)
        shared = groups.astype(float) @ groups.T
        rates = 1 - (1 - within) ** shared * (1 - noise)
        return case(rng, lambda rng: drawn(rng, rates), k, groups / groups.sum(axis=1, keepdims=True))

    return world


def chain(n: int, k: int, degree: float, across: float) -> Draw:
    """Every node is between two communities that follow each other."""

    def world(rng: Rng) -> Case:
        at = rng.random(n) * (k - 1)
        pi = np.maximum(1 - np.abs(at[:, None] - np.arange(k)), 0)
        rates = scaled(pi @ (np.eye(k) + across) @ pi.T, degree)
        return case(rng, lambda rng: drawn(rng, rates), k, pi)

    return world


def cliques(n: int, many: int, size: int, degree: float) -> Draw:
    """Small groups that all know each other in a graph of chance; each is a community, and so are all others."""

    def world(rng: Rng) -> Case:
        rates = np.full((n, n), degree / n)
        truth = np.zeros((n, many + 1))
        for c in range(many):
            some = slice(c * size, (c + 1) * size)
            rates[some, some], truth[some, c] = 1.0, 1
        truth[:, many] = 1 - truth.sum(axis=1)
        return case(rng, lambda rng: drawn(rng, rates), many + 1, truth)

    return world


# --- nothing there ------------------------------------------------------------------------------------------------


def nothing(draw: Graphs, k: int = 4) -> Draw:
    return lambda rng: case(rng, draw, k, None, nothing=True)


def even(n: int, degree: float, **options: bool) -> Graphs:
    return lambda rng: drawn(rng, np.full((n, n), degree / n), **options)


def matched_stubs(degrees: Callable[[Rng], np.ndarray]) -> Graphs:
    """Half-edges paired at random."""

    def draw(rng: Rng) -> Table:
        each = degrees(rng)
        stubs = rng.permutation(np.repeat(np.arange(len(each)), each))
        return of_pairs(stubs[: len(stubs) // 2 * 2].reshape(-1, 2), len(each))

    return draw


def pareto_degrees(rng: Rng) -> np.ndarray:
    return np.minimum(3 * (1 + rng.pareto(1.5, 2000)), 150).astype(int)


def with_activity(n: int, degree: float, deviation: float) -> Draw:
    """Activities of the nodes and no more."""

    def world(rng: Rng) -> Case:
        theta = np.exp(deviation * rng.standard_normal(n))
        rates = scaled(np.outer(theta, theta), degree)
        return case(rng, lambda rng: drawn(rng, rates), 4, None, nothing=True)

    return world


def trees(rng: Rng) -> Table:
    """A forest of random trees of some ten nodes."""
    n = 1500
    parent = (rng.random(n) * np.arange(n)).astype(int)
    i = np.arange(n)
    kept = (i > 0) & (rng.random(n) > 0.1)
    return of_pairs(np.column_stack([i, parent])[kept], n)


def stars(rng: Rng) -> Table:
    """Leaves around heads, and heads that know each other by chance."""
    heads, n = 50, 1500
    leaves = np.column_stack([np.arange(heads, n), rng.integers(0, heads, n - heads)])
    return of_pairs(np.vstack([leaves, rng.integers(0, heads, (200, 2))]), n)


def noise_of_weights(rng: Rng) -> Table:
    n = 500
    return both_ways(np.triu(np.exp(rng.standard_normal((n, n))) * (rng.random((n, n)) < 0.2), 1))


WORLDS = worlds(
    "MixedMembershipBlockModel",
    right={
        "plenty": communities(snr=5),
        "enough": communities(2000, snr=2.5),
        "signal 2": communities(snr=2),
        "signal 1.5": communities(snr=1.5),
        "signal 1.2": communities(snr=1.2),
        "hopeless": communities(snr=0.7),
        "ten communities": communities(2000, 10, 40, 2.2),
        "ten communities, signal 1.7": communities(3000, 10, 60, 1.7),
        "two communities": communities(500, 2, 20, 2),
        "two communities, degree 8": communities(2000, 2, 8, 1.6),
        "degree 8": communities(3000, 4, 8, 2.5),
        "sizes 5-fold": communities(2000, 5, 40, 2.5, fold=5),
        "sizes 10-fold": communities(2000, 3, 40, 4, fold=10),
        "alpha0 .1": communities(1500, 4, 30, 4, alpha0=0.1),
        "alpha0 .1, signal 2.5": communities(1500, 4, 30, 2.5, alpha0=0.1),
        "alpha0 .3": communities(1500, 4, 60, 5, alpha0=0.3),
        "alpha0 .3, signal 3": communities(1500, 3, 40, 3, alpha0=0.3),
        "alpha0 1": communities(1500, 3, 60, 6, alpha0=1.0),
        "alpha0 1, signal 3": communities(1500, 4, 60, 3, alpha0=1.0),
        "alpha0 1, eight communities": communities(2000, 8, 60, 6, alpha0=1.0),
        "activities": communities(1500, 4, 30, 3, activity=0.6),
        "activities, signal 2": communities(1500, 4, 30, 2, activity=0.6),
        "activities, alpha0 .3": communities(1500, 4, 60, 5, activity=0.6, alpha0=0.3),
        "directed": communities(1500, 4, 15, 1.6, directed=True),
        "directed, alpha0 .3": communities(1500, 3, 40, 4, directed=True, alpha0=0.3),
        "two sides": communities(2000, 2, 30, -2),
        "edges across": communities(1500, 4, 40, -1.8),
        "counts": communities(500, 4, 200, 2, counts=True),
        "any P": communities(1500, 4, 40, wide=1.0),
        "any P, alpha0 .3": communities(1500, 4, 60, wide=1.2, alpha0=0.3),
    },
    wrong={
        "half of the communities": communities(1500, 8, 40, 4, asked=4),
        "twice the communities": communities(1000, 4, 30, 4, asked=8),
        "two more communities": communities(1000, 4, 30, 4, asked=6),
        "two communities less, alpha0 .3": communities(1500, 5, 60, 5, alpha0=0.3, asked=3),
        "nested, coarse": nested(1800, 3, 3, (15, 10, 10), 3),
        "nested, in between": nested(1800, 3, 3, (15, 10, 10), 6),
        "disks in the plane": of_positions(1000, 6, 20, in_the_plane),
        "positions in the plane": of_positions(1500, 4, 30, in_the_plane_softly),
        "disks on a torus": of_positions(1500, 5, 12, on_a_torus),
        "popularity and similarity": of_positions(1500, 5, 20, popular_and_similar),
        "bipartite": bipartite(1500, 30, 2),
        "ring": small_world(1000, 10, 0.0, 4),
        "small world": small_world(1500, 10, 0.1, 10),
        "preferential attachment": preferential(1500, 5, 4),
        "preferential attachment, a tree": preferential(1500, 1, 4),
        "hubs": hubs(1500, 8, 10, 0.3, 4),
        "events of communities": projected(1500, 1500, 4, 8, 0.2),
        "events of anyone": projected(1500, 1000, 4, 8, 1.0),
        "copied edges": communities(1000, 4, 20, 1.5, after=copied(3)),
        "bursty weights": communities(1000, 4, 30, 2, after=unevenly_copied),
        "lognormal weights": communities(1000, 4, 30, 3, after=lognormal_weights),
        "twins": twins(1500, 4, 30, 2.5),
        "five twins, weak": twins(1500, 4, 30, 1.2, times=5),
        "closed triangles": communities(1500, 4, 15, 1.0, after=closed(1.0)),
        "closed triangles, signal 3": communities(1500, 4, 25, 3.0, after=closed(0.5)),
        "edges to hubs": communities(1500, 4, 30, 4, after=rewired_to_hubs(0.2, 20)),
        "core and periphery": of_positions(1500, 3, 20, core_and_periphery),
        "activities, not corrected": communities(1500, 4, 30, 4, activity=0.6, told={"degree_corrected": False}),
        "activities twofold, not corrected": communities(
            1500, 4, 40, 3, activity=1.0, told={"degree_corrected": False}
        ),
        "alpha0 1, told 0": communities(1500, 3, 60, 6, alpha0=1.0, told={"alpha0": 0.0}),
        "chain of communities": chain(1500, 5, 40, 0.02),
        "time": of_positions(1500, 5, 30, in_time),
        "circle": of_positions(1500, 3, 40, on_a_circle),
        "circle, degree 15": of_positions(1500, 4, 15, on_a_circle),
        "affiliations": affiliations(1500, 6, 1.6, 0.08, 0.003),
        "cliques": cliques(1000, 4, 12, 15),
    },
    empty={
        "chance": nothing(even(1000, 20)),
        "chance, degree 4": nothing(even(2000, 4)),
        "degrees of a power law": nothing(matched_stubs(pareto_degrees)),
        "equal degrees": nothing(matched_stubs(lambda rng: np.full(1000, 12))),
        "activities alone": with_activity(1500, 20, 0.8),
        "directed chance": nothing(even(1000, 15, directed=True)),
        "weights of noise": nothing(noise_of_weights),
        "counts of chance": nothing(even(300, 60, counts=True)),
        "trees": nothing(trees),
        "stars": nothing(stars),
        "nearly complete": nothing(even(300, 270)),
    },
)
