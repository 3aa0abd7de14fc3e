"""Overlapping clusters of a hypergraph of triples: three nodes make a triple if some cluster holds all of them.

Model. Unknown sets F(1), ..., F(m) of n nodes, and the triples of nodes of one set, possibly with some that are missing and
some that are there by chance. Nodes that make triples with all three pairs of a triple are those of its set, and few others.
Triples tell sets apart that overlap too much for pairs.

Source: R. Ge, thesis, Princeton 2013, Algorithms 6.3 (triples from rows of bits) and 6.6 (sets from triples).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from ...exceptions import LatentiaError
from ...system.threads import run_in_chunks
from .bits import popcount

_SHARE = 0.5  # of the pairs of a set, with which each of its nodes makes triples
_LARGEST = 1.8  # times the expected size of a set
_NEW = 0.5  # share of the triples of a set that no other set has
_CHUNK = 16


@dataclass(frozen=True)
class TripleGraph:
    """A hypergraph of triples, by pairs: pair (u, v), u < v, is number p, and makes triples with ``thirds`` of p.

    Attributes
    ----------
    n_nodes : int
    triples : ndarray of int32, shape (n_triples, 3)
        Ascending in each row, and by rows.
    node_starts, partners : ndarrays of int
        The pairs (u, v) of node u have numbers ``node_starts[u]`` to ``node_starts[u + 1]``, and v is ``partners`` there.
    pair_starts, thirds, numbers : ndarrays of int
        The triples of pair p: the third node, ascending, and the number of the triple.
    """

    n_nodes: int
    triples: np.ndarray
    node_starts: np.ndarray
    partners: np.ndarray
    pair_starts: np.ndarray
    thirds: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, triples: Any, n_nodes: int) -> TripleGraph:
        """Index triples of nodes, shape (n_triples, 3), in any order."""
        rows = np.asarray(triples)
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise LatentiaError(f"triples has shape {rows.shape}: three nodes a row are needed.")
        rows = np.sort(rows.astype(np.int64), axis=1)
        if len(rows) and (rows.min() < 0 or rows.max() >= n_nodes or (rows[:, :-1] == rows[:, 1:]).any()):
            raise LatentiaError(f"triples: three different nodes from 0 to {n_nodes - 1} are needed in each row.")
        rows = np.unique(rows, axis=0).reshape(-1, 3).astype(np.int32)
        number = np.tile(np.arange(len(rows)), 3)
        key = np.concatenate([rows[:, a].astype(np.int64) * n_nodes + rows[:, b] for a, b in ((0, 1), (0, 2), (1, 2))])
        third = np.concatenate([rows[:, 2], rows[:, 1], rows[:, 0]])
        order = np.lexsort((third, key))
        pairs, starts = np.unique(key[order], return_index=True)
        node_starts = np.searchsorted(pairs, np.arange(n_nodes + 1, dtype=np.int64) * n_nodes)
        return cls(
            n_nodes,
            rows,
            node_starts,
            (pairs % n_nodes).astype(np.int32),
            np.append(starts, len(key)),
            third[order],
            number[order],
        )


def three_wise_graph(words: np.ndarray, least: float, n_jobs: int | None = None) -> TripleGraph:
    """Nodes that are on together in at least ``least`` rows, three at a time (Algorithm 6.3, there rho N / 3 rows).

    Three nodes are looked at only where each two of them are on together as often.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_nodes, n_words)
        Rows of each node in packed bits.
    least : float
    n_jobs : int, optional
    """
    n_nodes, needed = len(words), np.uint64(max(1, int(np.ceil(least))))
    together = np.zeros((n_nodes, n_nodes), dtype=bool)
    run_in_chunks(lambda a, b: _pairs(words, needed, a, b, together), n_nodes, _CHUNK, n_jobs)
    counts = np.zeros(n_nodes + 1, dtype=np.int64)
    none = np.zeros((0, 3), dtype=np.int32)
    run_in_chunks(lambda a, b: _triples(words, needed, together, a, b, counts, none), n_nodes, _CHUNK, n_jobs)
    starts = np.append(0, np.cumsum(counts[:-1]))
    triples = np.empty((starts[-1], 3), dtype=np.int32)
    run_in_chunks(lambda a, b: _triples(words, needed, together, a, b, starts, triples), n_nodes, _CHUNK, n_jobs)
    return TripleGraph.of(triples, n_nodes)


def recover_graph_3wise(
    graph: TripleGraph, degree: float | None = None, *, min_size: int = 4, random_state: int = 0
) -> sparse.csr_array:
    """Sets from triples: which nodes belong to which.

    Parameters
    ----------
    graph : TripleGraph
    degree : float, optional
        Expected size d' of a set: what a triple starts is not looked at where it is 1.8 times larger. Not needed.
    min_size : int
        Nodes of a set: 3 takes each triple that is left for a set, 4 only what more than one triple supports.
    random_state : int

    Returns
    -------
    csr_array of bool, shape (n_sets, n_nodes)

    Notes
    -----
    Differences from Algorithm 6.6:

    1. Constants are 1.8 and .5 where the thesis has 1.3 and .8, with which sets larger than 1.3 d' are never found.
    2. A node stays if it makes triples with half of the pairs of what is left, not with a number of pairs that is the same for
       all sets: the node that makes the fewest goes first. So sets may have any size, and two sets which share a triple come
       apart. Then nodes that were missed are added by the same rule.
    3. A set is taken if at least half of its triples are of no set found before, so that triples by chance add nothing.
    """
    if min_size < 3:
        raise LatentiaError(f"min_size={min_size}: a set that has a triple has at least 3 nodes.")
    order = np.random.default_rng(random_state).permutation(len(graph.triples))
    largest = np.inf if degree is None else _LARGEST * degree
    nodes, starts = _recovered(
        graph.triples,
        graph.node_starts,
        graph.partners,
        graph.pair_starts,
        graph.thirds,
        graph.numbers,
        order,
        largest,
        min_size,
    )
    sets = sparse.csr_array((np.ones(len(nodes), dtype=bool), nodes, starts), shape=(len(starts) - 1, graph.n_nodes))
    sets.sort_indices()
    return sets


@njit(nogil=True, cache=True)
def _pairs(words, needed, start, stop, together):
    """Which v > u are on together with u, for some u."""
    for u in range(start, stop):
        for v in range(u + 1, len(words)):
            total = np.uint64(0)
            for w in range(words.shape[1]):
                total += popcount(words[u, w] & words[v, w])
            together[u, v] = total >= needed


@njit(nogil=True, cache=True)
def _triples(words, needed, together, start, stop, at, triples):
    """Count the triples whose first node is u in ``at[u]``, or, given room for them, write them from ``at[u]`` on."""
    both = np.empty(words.shape[1], np.uint64)
    for u in range(start, stop):
        partners = np.nonzero(together[u])[0]
        found = 0
        for i in range(len(partners)):
            v = partners[i]
            for w in range(words.shape[1]):
                both[w] = words[u, w] & words[v, w]
            for j in range(i + 1, len(partners)):
                s = partners[j]
                if not together[v, s]:
                    continue
                total = np.uint64(0)
                for w in range(words.shape[1]):
                    total += popcount(both[w] & words[s, w])
                if total >= needed:
                    if len(triples):
                        triples[at[u] + found, 0] = u
                        triples[at[u] + found, 1] = v
                        triples[at[u] + found, 2] = s
                    found += 1
        if not len(triples):
            at[u] = found


@njit(nogil=True, cache=True)
def _pair(u, v, node_starts, partners):
    """Number of the pair, -1 if it makes no triple."""
    if u > v:
        u, v = v, u
    low, high = node_starts[u], node_starts[u + 1]
    while low < high:
        middle = (low + high) // 2
        if partners[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low if low < node_starts[u + 1] and partners[low] == v else -1


@njit(nogil=True, cache=True)
def _started(triple, node_starts, partners, pair_starts, thirds, counts, members):
    """The triple, and nodes that make triples with all of its pairs, into ``members``; how many they are."""
    size = 0
    for i in range(3):
        members[size] = triple[i]
        size += 1
    for i in range(3):
        p = _pair(triple[i], triple[(i + 1) % 3], node_starts, partners)
        for e in range(pair_starts[p], pair_starts[p + 1]):
            counts[thirds[e]] += 1
    p = _pair(triple[0], triple[1], node_starts, partners)
    for e in range(pair_starts[p], pair_starts[p + 1]):
        if counts[thirds[e]] == 3:
            members[size] = thirds[e]
            size += 1
    for i in range(3):
        p = _pair(triple[i], triple[(i + 1) % 3], node_starts, partners)
        for e in range(pair_starts[p], pair_starts[p + 1]):
            counts[thirds[e]] = 0
    return size


@njit(nogil=True, cache=True)
def _add(u, v, sign, node_starts, partners, pair_starts, thirds, counts):
    """Add ``sign`` to the count of every node that makes a triple with u and v."""
    p = _pair(u, v, node_starts, partners)
    if p >= 0:
        for e in range(pair_starts[p], pair_starts[p + 1]):
            counts[thirds[e]] += sign


@njit(nogil=True, cache=True)
def _peeled(members, size, node_starts, partners, pair_starts, thirds, counts):
    """Take away the node of the fewest pairs until all have a share of them; ``counts`` has the pairs of every node then."""
    for i in range(size):
        for j in range(i):
            _add(members[i], members[j], np.int64(1), node_starts, partners, pair_starts, thirds, counts)
    while size > 2:
        worst = 0
        for i in range(size):
            if counts[members[i]] < counts[members[worst]]:
                worst = i
        if counts[members[worst]] >= _SHARE * (size - 1) * (size - 2) / 2:
            break
        gone = members[worst]
        size -= 1
        members[worst] = members[size]
        for i in range(size):
            _add(gone, members[i], np.int64(-1), node_starts, partners, pair_starts, thirds, counts)
    return size


@njit(nogil=True, cache=True)
def _recovered(triples, node_starts, partners, pair_starts, thirds, numbers, order, largest, min_size):
    n_nodes = len(node_starts) - 1
    marked = np.zeros(len(triples), np.bool_)
    counts = np.zeros(n_nodes, np.int64)
    inside = np.zeros(n_nodes, np.bool_)
    members = np.empty(n_nodes + 3, np.int64)
    nodes = np.empty(1024, np.int64)
    starts = [0]
    for t in order:
        if marked[t]:
            continue
        marked[t] = True
        size = _started(triples[t], node_starts, partners, pair_starts, thirds, counts, members)
        if size < min_size or size >= largest:
            continue
        size = _peeled(members, size, node_starts, partners, pair_starts, thirds, counts)
        if size >= min_size:
            first = size
            for i in range(first):
                inside[members[i]] = True
            for v in range(n_nodes):
                if not inside[v] and counts[v] >= _SHARE * first * (first - 1) / 2:
                    members[size] = v
                    inside[v] = True
                    size += 1
            for i in range(size):
                inside[members[i]] = False
            for v in range(n_nodes):
                counts[v] = 0
            size = _peeled(members, size, node_starts, partners, pair_starts, thirds, counts)
        for v in range(n_nodes):
            counts[v] = 0
        if size < min_size:
            continue
        for i in range(size):
            inside[members[i]] = True
        total, new = 0, 0
        for mark in (False, True):
            for i in range(size):
                for j in range(i):
                    p = _pair(members[i], members[j], node_starts, partners)
                    if p < 0:
                        continue
                    for e in range(pair_starts[p], pair_starts[p + 1]):
                        if inside[thirds[e]]:
                            if mark:
                                marked[numbers[e]] = True
                            else:
                                total += 1
                                new += not marked[numbers[e]]
        for i in range(size):
            inside[members[i]] = False
        if new < _NEW * total - 3:  # the triple that started it was marked, three times
            continue
        end = starts[-1]
        if len(nodes) < end + size:
            more = np.empty(2 * (end + size), np.int64)
            for i in range(end):
                more[i] = nodes[i]
            nodes = more
        for i in range(size):
            nodes[end + i] = members[i]
        starts.append(end + size)
    return nodes[: starts[-1]], np.array(starts)
