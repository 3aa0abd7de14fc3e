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

_SHARE, _DEVIATIONS = 0.3, 2.0  # of the set, and of the count by chance, that a tuple must have above what chance gives
_SMALLEST, _LARGEST = 0.25, 1.6  # times the expected size of a set
_SAME = 0.4  # Jaccard similarity from which on two sets are one
_INSIDE = 0.8  # share of a smaller set inside a larger one that stands for several, then
_FEWEST_TUPLES, _TUPLES = 20, 500  # from which the count by chance is taken
_TRIES = 6.0  # times m k log m
_PILOT, _PILOT_SETS, _BISECTIONS = 4000, 25, 8
_FEWEST = 8  # nodes of a set


class GraphClusters(NamedTuple):
    """Overlapping clusters.

    Attributes
    ----------
    sets : list of ndarray of int
        Nodes of each, ascending.
    threshold : float
        Common neighbours from which on nodes belong together.
    by_chance : float
        Common neighbours that a random tuple has, the median.
    size : float
        Size of the sets that was expected, as given or as estimated.
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
    """Clusters from the connection graph.

    Parameters
    ----------
    graph : PackedGraph
    n_clusters : int, optional
        How many there are: half as many again at most are looked for.
    size : float, optional
        About how many nodes each has; by default the size at which the sets that are found have it.
    order : int
        Nodes of a tuple, at least 3. More tell clusters apart that overlap more, and find fewer of them.
    n_tries : int, optional
        Tuples that are drawn.
    random_state : int

    Notes
    -----
    Differences from the thesis:

    1. A tuple must have more common neighbours than others have whose nodes are not all connected (the median, and two
       standard deviations of a count of that size) by .3 of a set: the thesis's p k / (10 m) holds for none of the sizes that
       fit on a machine.
    2. Sets of less than .25 or more than 1.6 of the expected size are not taken, nor those that share .4 with one found
       before (Jaccard). Tuples inside a set that was found are not looked at again.
    """
    degrees = graph.degrees
    if graph.n_nodes < order or not degrees.any():
        return GraphClusters([], 0.0, 0.0, 0.0 if size is None else float(size))
    by_chance = _by_chance(graph.words, degrees, order, random_state)
    if size is None:
        size = _size_that_agrees(graph, degrees, by_chance, order, random_state)
    most = graph.n_nodes if n_clusters is None else n_clusters + -(-n_clusters // 2)
    if n_tries is None:
        m = max(2, n_clusters or graph.n_nodes // 8)
        n_tries = int(_TRIES * m * max(1.0, m * size / graph.n_nodes) ** (order - 2) * np.log(m)) + _PILOT
    threshold = _threshold(by_chance, size)
    sets = _found(graph, degrees, threshold, size, order, n_tries, most, random_state)
    return GraphClusters(_without_unions(sets), threshold, by_chance, float(size))


def _threshold(by_chance: float, size: float) -> float:
    return by_chance + _SHARE * size + _DEVIATIONS * np.sqrt(by_chance)


def _size_that_agrees(graph: PackedGraph, degrees: np.ndarray, by_chance: float, order: int, seed: int) -> float:
    """The size which the sets found under its threshold have: it falls as the threshold rises, so that bisection finds it."""
    low, high = float(_FEWEST), graph.n_nodes / 4
    for _ in range(_BISECTIONS):
        size = np.sqrt(low * high)
        threshold = _threshold(by_chance, size)
        sets = _found(graph, degrees, threshold, size, order, _PILOT, _PILOT_SETS, seed, (0.0, np.inf))
        if sets and np.median([len(one) for one in sets]) > size:
            low = size
        else:
            high = size
    return float(np.sqrt(low * high))


def _found(
    graph: PackedGraph,
    degrees: np.ndarray,
    threshold: float,
    size: float,
    order: int,
    n_tries: int,
    most: int,
    seed: int,
    span: tuple[float, float] = (_SMALLEST, _LARGEST),
) -> list[np.ndarray]:
    low, high = float(max(span[0] * size, _FEWEST)), float(min(span[1] * size, graph.n_nodes))
    most = min(most, max(1, n_tries))
    found = np.zeros((most, graph.words.shape[1]), dtype=np.uint64)
    sizes = np.zeros(most, dtype=np.int64)
    n = _search(graph.words, degrees, order, n_tries, threshold, low, high, np.uint64(seed), found, sizes)
    return [np.nonzero(np.unpackbits(one.view(np.uint8), bitorder="little"))[0] for one in found[:n]]


def _without_unions(sets: list[np.ndarray]) -> list[np.ndarray]:
    """Delete sets that hold another one: their pair shared several clusters."""
    if len(sets) < 2:
        return sets
    n = 1 + max(int(one[-1]) for one in sets)
    table = np.zeros((len(sets), n), dtype=np.float32)
    for i, one in enumerate(sets):
        table[i, one] = 1.0
    shared, sizes = table @ table.T, table.sum(axis=1)
    holds = (shared > _INSIDE * sizes) & (sizes[:, None] > sizes)
    return [one for one, union in zip(sets, holds.any(axis=1), strict=True) if not union]


@njit(nogil=True, cache=True)
def _drawn(state):
    """A random 64-bit number, and the state moved on (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def _below(state, n):
    """A random number from 0 to n - 1."""
    return np.int64(_drawn(state) % np.uint64(n))


@njit(nogil=True, cache=True)
def _neighbour(words, node, rank):
    """The neighbour of that rank."""
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
    """A random node and random neighbours of it, all different; whether there is one."""
    nodes[0] = _below(state, len(words))
    if degrees[nodes[0]] < len(nodes) - 1:
        return False
    for i in range(1, len(nodes)):
        nodes[i] = _neighbour(words, nodes[0], _below(state, degrees[nodes[0]]))
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
    counts, found = np.empty(n, np.int64), 0
    for _ in range(20 * n):
        if found == n:
            break
        if _draw_tuple(words, degrees, state, nodes) and not _has(words[nodes[1]], nodes[order - 1]):
            counts[found] = _n_common(words, nodes)
            found += 1
    return counts[:found]


def _by_chance(words: np.ndarray, degrees: np.ndarray, order: int, seed: int) -> float:
    """Median number of common neighbours of a node and some of its neighbours, two of which are not connected.

    Neighbours that are may well be of one set, which is what chance is compared with.
    """
    counts = _counts_of_tuples(words, degrees, order, _TUPLES, np.uint64(seed))
    return float(np.median(counts)) if len(counts) > _FEWEST_TUPLES else 0.0


@njit(nogil=True, cache=True)
def _has(packed, node):
    return (packed[node >> 6] >> np.uint64(node & 63)) & np.uint64(1) != np.uint64(0)


@njit(nogil=True, cache=True)
def _search(words, degrees, order, n_tries, threshold, low, high, seed, found, sizes):
    """Fill ``found`` with packed sets and return how many there are."""
    p, n_words = words.shape
    state, nodes = np.full(1, seed), np.empty(order, np.int64)
    shared, one, counts = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64), np.empty(p, np.int64)
    n = 0
    for _ in range(n_tries):
        if n == len(found):
            break
        if not _draw_tuple(words, degrees, state, nodes):
            continue
        known = False
        for s in range(n):
            inside = True
            for i in range(order):
                inside = inside and _has(found[s], nodes[i])
            if inside:
                known = True
                break
        if known or _n_common(words, nodes) < threshold:
            continue
        for w in range(n_words):
            shared[w] = words[nodes[0], w]
            for i in range(1, order - 1):
                shared[w] &= words[nodes[i], w]
            one[w] = np.uint64(0)
        count_common(words, shared, counts)
        for i in range(order):
            counts[nodes[i]] = p  # the tuple itself
        size = 0
        for x in range(p):
            if counts[x] >= threshold:
                one[x >> 6] |= np.uint64(1) << np.uint64(x & 63)
                size += 1
        if size < low or size > high:
            continue
        for s in range(n):
            both = 0
            for w in range(n_words):
                both += np.int64(popcount(found[s, w] & one[w]))
            if both > _SAME * (size + sizes[s] - both):
                known = True
                break
        if not known:
            for w in range(n_words):
                found[n, w] = one[w]
            sizes[n] = size
            n += 1
    return n
