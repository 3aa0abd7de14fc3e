"""Overlapping clusters of a graph whose edges come from them: two nodes are connected only if some cluster holds both.

Model. Unknown sets S_1, ..., S_m of p nodes; nodes in no common set are not connected, and nodes of a set are, often enough.
Three nodes of one set have about as many common neighbours as the set is large, others far fewer. So a connected pair u, v that
share one set alone gives the set: all x for which u, v and x have many common neighbours.

Source: R. Ge, thesis, Princeton 2013, Algorithms 5.1 (triples) and 5.4 (tuples of higher order).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from .bits import PackedGraph, count_common, popcount

_SHARE, _DEVIATIONS = (
    0.3,
    2.0,
)  # excess of a tuple over chance: this share of a set, and so many standard deviations of the count by chance
_MIN_RELATIVE_SIZE, _MAX_RELATIVE_SIZE = 0.25, 1.6  # limits of the size of a set over the expected one
_SAME_SET = 0.4  # sets with a larger Jaccard similarity are the same
_INSIDE_SHARE = 0.8  # a set that contains such a share of a smaller one is a union
_MIN_TUPLES, _TUPLES = 20, 500  # least and drawn tuples for the count by chance
_TRIES = 6.0  # multiple of m k log m
_PILOT, _PILOT_SETS, _BISECTIONS = 4000, 25, 8
_MIN_NODES = 8  # least nodes of a set


class GraphClusters(NamedTuple):
    """Overlapping clusters.

    Attributes
    ----------
    sets : list of ndarray of int
        Nodes of each set, ascending.
    threshold : float
        Tuples with more common neighbours belong to one set.
    by_chance : float
        Median number of common neighbours of a random tuple.
    size : float
        Expected size of the sets, as given or as estimated.
    """

    sets: list[np.ndarray]
    threshold: float
    by_chance: float
    size: float


def recover_graph(
    graph: PackedGraph,
    n_clusters: int | None = None,
    size: float | None = None,
    *,
    order: int = 3,
    n_tries: int | None = None,
    random_state: int = 0,
) -> GraphClusters:
    """Recover clusters from the connection graph.

    Parameters
    ----------
    graph : PackedGraph
    n_clusters : int, optional
        Number of clusters; the search ends at half as many again.
    size : float, optional
        Approximate size of a cluster; by default the size that is consistent with the recovered sets.
    order : int
        Nodes of a tuple, at least 3. Larger tuples separate clusters that overlap more, and find fewer of them.
    n_tries : int, optional
        Number of tuples to draw.
    random_state : int

    Notes
    -----
    Differences from the thesis:

    1. A tuple must exceed the count of common neighbours of tuples that are not all connected (the median, and two standard
       deviations of a count of that size) by .3 of a set: the thesis's p k / (10 m) does not hold at sizes that fit on a
       machine.
    2. Sets of less than .25 or more than 1.6 of the expected size are dropped, and those that share .4 with an earlier one
       (Jaccard). Tuples inside an earlier set are skipped.
    """
    degrees = graph.degrees
    if graph.n_nodes < order or not degrees.any():
        return GraphClusters([], 0.0, 0.0, 0.0 if size is None else float(size))
    by_chance = _measure_chance(graph.words, degrees, order, random_state)
    if size is None:
        size = _find_consistent_size(graph, degrees, by_chance, order, random_state)
    max_sets = graph.n_nodes if n_clusters is None else n_clusters + -(-n_clusters // 2)
    if n_tries is None:
        m = max(2, n_clusters or graph.n_nodes // 8)
        n_tries = int(_TRIES * m * max(1.0, m * size / graph.n_nodes) ** (order - 2) * np.log(m)) + _PILOT
    threshold = _threshold(by_chance, size)
    sets = _find_sets(graph, degrees, threshold, size, order, n_tries, max_sets, random_state)
    return GraphClusters(_drop_unions(sets), threshold, by_chance, float(size))


def _threshold(by_chance: float, size: float) -> float:
    return by_chance + _SHARE * size + _DEVIATIONS * np.sqrt(by_chance)


def _find_consistent_size(graph: PackedGraph, degrees: np.ndarray, by_chance: float, order: int, seed: int) -> float:
    """Find by bisection the size that sets recovered under its threshold have; they shrink as the threshold rises."""
    low, high = float(_MIN_NODES), graph.n_nodes / 4
    for _ in range(_BISECTIONS):
        size = np.sqrt(low * high)
        threshold = _threshold(by_chance, size)
        sets = _find_sets(graph, degrees, threshold, size, order, _PILOT, _PILOT_SETS, seed, (0.0, np.inf))
        if sets and np.median([len(nodes) for nodes in sets]) > size:
            low = size
        else:
            high = size
    return float(np.sqrt(low * high))


def _find_sets(
    graph: PackedGraph,
    degrees: np.ndarray,
    threshold: float,
    size: float,
    order: int,
    n_tries: int,
    max_sets: int,
    seed: int,
    span: tuple[float, float] = (_MIN_RELATIVE_SIZE, _MAX_RELATIVE_SIZE),
) -> list[np.ndarray]:
    low, high = float(max(span[0] * size, _MIN_NODES)), float(min(span[1] * size, graph.n_nodes))
    max_sets = min(max_sets, max(1, n_tries))
    packed_sets = np.zeros((max_sets, graph.words.shape[1]), dtype=np.uint64)
    sizes = np.zeros(max_sets, dtype=np.int64)
    n = _search(graph.words, degrees, order, n_tries, threshold, low, high, np.uint64(seed), packed_sets, sizes)
    return [
        np.nonzero(np.unpackbits(packed_set.view(np.uint8), bitorder="little"))[0] for packed_set in packed_sets[:n]
    ]


def _drop_unions(sets: list[np.ndarray]) -> list[np.ndarray]:
    """Drop sets that contain another one: their pair of nodes shared several clusters."""
    if len(sets) < 2:
        return sets
    n = 1 + max(int(nodes[-1]) for nodes in sets)
    table = np.zeros((len(sets), n), dtype=np.float32)
    for i, nodes in enumerate(sets):
        table[i, nodes] = 1.0
    shared, sizes = table @ table.T, table.sum(axis=1)
    contains = (shared > _INSIDE_SHARE * sizes) & (sizes[:, None] > sizes)
    return [nodes for nodes, union in zip(sets, contains.any(axis=1), strict=True) if not union]


@njit(nogil=True, cache=True)
def _draw_bits(state):
    """Draw a random 64-bit number, and advance the state (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def _draw_below(state, n):
    """Draw a random number from 0 to n - 1."""
    return np.int64(_draw_bits(state) % np.uint64(n))


@njit(nogil=True, cache=True)
def _neighbour(words, node, rank):
    """Return the neighbour of this rank."""
    for w in range(words.shape[1]):
        word = words[node, w]
        inside = np.int64(popcount(word))
        if rank < inside:
            for _ in range(rank):
                word &= word - np.uint64(1)
            return 64 * w + np.int64(popcount((word & (~word + np.uint64(1))) - np.uint64(1)))
        rank -= inside
    return -1


@njit(nogil=True, cache=True)
def _draw_tuple(words, degrees, state, nodes):
    """Draw a random node and random neighbours of it; return False if they are not all different."""
    nodes[0] = _draw_below(state, len(words))
    if degrees[nodes[0]] < len(nodes) - 1:
        return False
    for i in range(1, len(nodes)):
        nodes[i] = _neighbour(words, nodes[0], _draw_below(state, degrees[nodes[0]]))
        for j in range(i):
            if nodes[j] == nodes[i]:
                return False
    return True


@njit(nogil=True, cache=True)
def _n_common(words, nodes):
    total = 0
    for w in range(words.shape[1]):
        shared = words[nodes[0], w]
        for i in range(1, len(nodes)):
            shared &= words[nodes[i], w]
        total += np.int64(popcount(shared))
    return total


@njit(nogil=True, cache=True)
def _counts_of_tuples(words, degrees, order, n, seed):
    state, nodes = np.full(1, seed), np.empty(order, np.int64)
    counts, n_counts = np.empty(n, np.int64), 0
    for _ in range(20 * n):
        if n_counts == n:
            break
        if _draw_tuple(words, degrees, state, nodes) and not _has(words[nodes[1]], nodes[order - 1]):
            counts[n_counts] = _n_common(words, nodes)
            n_counts += 1
    return counts[:n_counts]


def _measure_chance(words: np.ndarray, degrees: np.ndarray, order: int, seed: int) -> float:
    """Return the median number of common neighbours of a node and some of its neighbours, two of which are not connected.

    Connected neighbours may belong to one set, so they do not measure chance.
    """
    counts = _counts_of_tuples(words, degrees, order, _TUPLES, np.uint64(seed))
    return float(np.median(counts)) if len(counts) > _MIN_TUPLES else 0.0


@njit(nogil=True, cache=True)
def _has(packed, node):
    return (packed[node >> 6] >> np.uint64(node & 63)) & np.uint64(1) != np.uint64(0)


@njit(nogil=True, cache=True)
def _search(words, degrees, order, n_tries, threshold, low, high, seed, packed_sets, sizes):
    """Fill ``packed_sets`` and return their number."""
    p, n_words = words.shape
    state, nodes = np.full(1, seed), np.empty(order, np.int64)
    shared, candidate, counts = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64), np.empty(p, np.int64)
    n = 0
    for _ in range(n_tries):
        if n == len(packed_sets):
            break
        if not _draw_tuple(words, degrees, state, nodes):
            continue
        is_known = False
        for s in range(n):
            inside = True
            for i in range(order):
                inside = inside and _has(packed_sets[s], nodes[i])
            if inside:
                is_known = True
                break
        if is_known or _n_common(words, nodes) < threshold:
            continue
        for w in range(n_words):
            shared[w] = words[nodes[0], w]
            for i in range(1, order - 1):
                shared[w] &= words[nodes[i], w]
            candidate[w] = np.uint64(0)
        count_common(words, shared, counts)
        for i in range(order):
            counts[nodes[i]] = p  # the tuple itself
        size = 0
        for x in range(p):
            if counts[x] >= threshold:
                candidate[x >> 6] |= np.uint64(1) << np.uint64(x & 63)
                size += 1
        if size < low or size > high:
            continue
        for s in range(n):
            n_shared = 0
            for w in range(n_words):
                n_shared += np.int64(popcount(packed_sets[s, w] & candidate[w]))
            if n_shared > _SAME_SET * (size + sizes[s] - n_shared):
                is_known = True
                break
        if not is_known:
            for w in range(n_words):
                packed_sets[n, w] = candidate[w]
            sizes[n] = size
            n += 1
    return n
