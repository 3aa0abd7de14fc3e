"""Overlapping clusters of a hypergraph of triples: three nodes make a triple if some cluster holds all of them.

Model. Unknown sets F(1), ..., F(m) of n nodes, and the triples of nodes of one set, with some missing and some there by chance.
Nodes that make triples with all three pairs of a triple are those of its set, and few others. Triples separate sets that
overlap too much for pairs.

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

_MIN_PAIR_SHARE = 0.5  # each node of a set makes triples with at least this share of its pairs
_MAX_RELATIVE_SIZE = 1.8  # largest size of a set over the expected one
_MIN_NEW_SHARE = 0.5  # least share of a set's triples that no earlier set has
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
    def index(cls, triples: Any, n_nodes: int) -> TripleGraph:
        """Index triples of nodes, shape (n_triples, 3), in any order."""
        rows = np.asarray(triples)
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise LatentiaError(f"triples has shape {rows.shape}; expected three nodes in each row.")
        rows = np.sort(rows.astype(np.int64), axis=1)
        if len(rows) and (rows.min() < 0 or rows.max() >= n_nodes or (rows[:, :-1] == rows[:, 1:]).any()):
            raise LatentiaError(f"triples: expected three different nodes from 0 to {n_nodes - 1} in each row.")
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


def three_wise_graph(words: np.ndarray, min_rows: float, n_jobs: int | None = None) -> TripleGraph:
    """Find triples of nodes that are on together in at least ``min_rows`` rows (Algorithm 6.3, there rho N / 3 rows).

    Three nodes are compared only if each two of them are on together as often.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_nodes, n_words)
        Rows of each node in packed bits.
    min_rows : float
    n_jobs : int, optional
    """
    n_nodes, needed = len(words), np.uint64(max(1, int(np.ceil(min_rows))))
    together = np.zeros((n_nodes, n_nodes), dtype=bool)
    run_in_chunks(lambda a, b: _find_pairs(words, needed, a, b, together), n_nodes, _CHUNK, n_jobs)
    counts = np.zeros(n_nodes + 1, dtype=np.int64)
    no_triples = np.zeros((0, 3), dtype=np.int32)
    run_in_chunks(
        lambda a, b: _find_triples(words, needed, together, a, b, counts, no_triples), n_nodes, _CHUNK, n_jobs
    )
    starts = np.append(0, np.cumsum(counts[:-1]))
    triples = np.empty((starts[-1], 3), dtype=np.int32)
    run_in_chunks(lambda a, b: _find_triples(words, needed, together, a, b, starts, triples), n_nodes, _CHUNK, n_jobs)
    return TripleGraph.index(triples, n_nodes)


def recover_graph_3wise(
    graph: TripleGraph, degree: float | None = None, *, min_size: int = 4, random_state: int = 0
) -> sparse.csr_array:
    """Recover sets of nodes from triples.

    Parameters
    ----------
    graph : TripleGraph
    degree : float, optional
        Expected size d' of a set: sets that start 1.8 times larger are skipped. Optional.
    min_size : int
        Least nodes of a set: with 3 each remaining triple becomes a set, with 4 a set needs more than one triple.
    random_state : int

    Returns
    -------
    csr_array of bool, shape (n_sets, n_nodes)

    Notes
    -----
    Differences from Algorithm 6.6:

    1. Constants are 1.8 and .5 where the thesis has 1.3 and .8, with which sets larger than 1.3 d' are never found.
    2. A node stays if it makes triples with half of the pairs of the remaining nodes, not with a fixed number of pairs: the
    node
       with the fewest goes first. So sets may have any size, and two sets that share a triple are separated. Then missing nodes
       are added by the same rule.
    3. A set is accepted if at least half of its triples are not in earlier sets, so that triples by chance add no sets.
    """
    if min_size < 3:
        raise LatentiaError(f"min_size={min_size}: a set that has a triple has at least 3 nodes.")
    order = np.random.default_rng(random_state).permutation(len(graph.triples))
    largest = np.inf if degree is None else _MAX_RELATIVE_SIZE * degree
    nodes, starts = _recover_sets(
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
def _find_pairs(words, needed, start, stop, together):
    """Mark the nodes v > u that are on together with u, for u from start to stop."""
    for u in range(start, stop):
        for v in range(u + 1, len(words)):
            total = np.uint64(0)
            for w in range(words.shape[1]):
                total += popcount(words[u, w] & words[v, w])
            together[u, v] = total >= needed


@njit(nogil=True, cache=True)
def _find_triples(words, needed, together, start, stop, starts, triples):
    """Count the triples whose first node is u in ``at[u]``, or, given room for them, write them from ``at[u]`` on."""
    shared = np.empty(words.shape[1], np.uint64)
    for u in range(start, stop):
        partners = np.nonzero(together[u])[0]
        n_found = 0
        for i in range(len(partners)):
            v = partners[i]
            for w in range(words.shape[1]):
                shared[w] = words[u, w] & words[v, w]
            for j in range(i + 1, len(partners)):
                s = partners[j]
                if not together[v, s]:
                    continue
                total = np.uint64(0)
                for w in range(words.shape[1]):
                    total += popcount(shared[w] & words[s, w])
                if total >= needed:
                    if len(triples):
                        triples[starts[u] + n_found, 0] = u
                        triples[starts[u] + n_found, 1] = v
                        triples[starts[u] + n_found, 2] = s
                    n_found += 1
        if not len(triples):
            starts[u] = n_found


@njit(nogil=True, cache=True)
def _find_pair(u, v, node_starts, partners):
    """Return the number of the pair, -1 if it makes no triple."""
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
def _start_set(triple, node_starts, partners, pair_starts, thirds, counts, members):
    """Write the triple, and nodes that make triples with all of its pairs, into ``members``; return their number."""
    size = 0
    for i in range(3):
        members[size] = triple[i]
        size += 1
    for i in range(3):
        p = _find_pair(triple[i], triple[(i + 1) % 3], node_starts, partners)
        for e in range(pair_starts[p], pair_starts[p + 1]):
            counts[thirds[e]] += 1
    p = _find_pair(triple[0], triple[1], node_starts, partners)
    for e in range(pair_starts[p], pair_starts[p + 1]):
        if counts[thirds[e]] == 3:
            members[size] = thirds[e]
            size += 1
    for i in range(3):
        p = _find_pair(triple[i], triple[(i + 1) % 3], node_starts, partners)
        for e in range(pair_starts[p], pair_starts[p + 1]):
            counts[thirds[e]] = 0
    return size


@njit(nogil=True, cache=True)
def _add(u, v, sign, node_starts, partners, pair_starts, thirds, counts):
    """Add ``sign`` to the count of every node that makes a triple with u and v."""
    p = _find_pair(u, v, node_starts, partners)
    if p >= 0:
        for e in range(pair_starts[p], pair_starts[p + 1]):
            counts[thirds[e]] += sign


@njit(nogil=True, cache=True)
def _peel_set(members, size, node_starts, partners, pair_starts, thirds, counts):
    """Remove the node with the fewest pairs until all have enough; ``counts`` then has the pairs of every node."""
    for i in range(size):
        for j in range(i):
            _add(members[i], members[j], np.int64(1), node_starts, partners, pair_starts, thirds, counts)
    while size > 2:
        worst = 0
        for i in range(size):
            if counts[members[i]] < counts[members[worst]]:
                worst = i
        if counts[members[worst]] >= _MIN_PAIR_SHARE * (size - 1) * (size - 2) / 2:
            break
        removed = members[worst]
        size -= 1
        members[worst] = members[size]
        for i in range(size):
            _add(removed, members[i], np.int64(-1), node_starts, partners, pair_starts, thirds, counts)
    return size


@njit(nogil=True, cache=True)
def _recover_sets(triples, node_starts, partners, pair_starts, thirds, numbers, order, largest, min_size):
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
        size = _start_set(triples[t], node_starts, partners, pair_starts, thirds, counts, members)
        if size < min_size or size >= largest:
            continue
        size = _peel_set(members, size, node_starts, partners, pair_starts, thirds, counts)
        if size >= min_size:
            first = size
            for i in range(first):
                inside[members[i]] = True
            for v in range(n_nodes):
                if not inside[v] and counts[v] >= _MIN_PAIR_SHARE * first * (first - 1) / 2:
                    members[size] = v
                    inside[v] = True
                    size += 1
            for i in range(size):
                inside[members[i]] = False
            for v in range(n_nodes):
                counts[v] = 0
            size = _peel_set(members, size, node_starts, partners, pair_starts, thirds, counts)
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
                    p = _find_pair(members[i], members[j], node_starts, partners)
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
        if new < _MIN_NEW_SHARE * total - 3:  # the starting triple was marked before, and counted three times
            continue
        end = starts[-1]
        if len(nodes) < end + size:
            larger = np.empty(2 * (end + size), np.int64)
            for i in range(end):
                larger[i] = nodes[i]
            nodes = larger
        for i in range(size):
            nodes[end + i] = members[i]
        starts.append(end + size)
    return nodes[: starts[-1]], np.array(starts)
