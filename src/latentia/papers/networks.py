"""Layers of a network from nodes that are on together, as printed.

R. Ge, thesis, Princeton 2013, Algorithms 6.3 and 6.6 (with S. Arora and others). `SparseNetwork` has pairs as seeds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np
from scipy import sparse

Triples = Mapping[tuple[int, int], set[int]]


def triples_together(rows: np.ndarray, least: float) -> np.ndarray:
    """Return the triples u < v < w of nodes that are on in ``least`` rows or more (Algorithm 6.3: rho N / 3), by rows.

    ``rows`` is 0 or 1, shape (N, n).
    """
    triples = [np.empty((0, 3), dtype=np.int64)]
    for u, column in enumerate(rows.T):
        on = rows[column > 0, u + 1 :].astype(np.float64)
        v, w = np.nonzero(np.triu(on.T @ on >= least, 1))
        triples.append(u + np.column_stack([np.zeros_like(v), v + 1, w + 1]))
    return np.concatenate(triples)


def recover_graph_3wise(
    triples: np.ndarray,
    n_nodes: int,
    degree: float = np.inf,
    min_size: int = 4,
    share: float = 0.5,
    excess: float = 1.8,
    random_state: int = 0,
) -> sparse.csr_array:
    """Return sets of nodes whose triples these are (Algorithm 6.6), shape (n_sets, n_nodes), of bool.

    Parameters
    ----------
    triples : ndarray of int, shape (n_triples, 3)
    n_nodes : int
    degree : float, optional
        d', expected size of a set: sets that start ``excess`` times as large are skipped.
    min_size : int, optional
        Least nodes of a set: with 3 each remaining triple becomes a set.
    share : float, optional
        A node stays in a set if it makes triples with such a share of the pairs of the others, and a set counts if
        such a share of its triples is in no earlier one.
    excess : float, optional
    random_state : int, optional

    Notes
    -----
    Printed are .8 and 1.3, with which sets larger than 1.3 d' are never found, and a fixed number of pairs in place of their
    share: with the share, sets may have any size. The node with the fewest pairs goes first, and missing nodes are
    added at the end.
    """
    triples = np.unique(np.sort(triples, axis=1), axis=0)
    linked: Triples = defaultdict(set)
    for u, v, w in triples.tolist():
        linked[u, v].add(w)
        linked[u, w].add(v)
        linked[v, w].add(u)
    marked: set[tuple[int, int, int]] = set()
    sets: list[list[int]] = []
    for u, v, w in triples[np.random.default_rng(random_state).permutation(len(triples))].tolist():
        if (u, v, w) in marked:
            continue
        members = {u, v, w} | (linked[u, v] & linked[u, w] & linked[v, w])
        if not min_size <= len(members) < excess * degree:
            continue
        members, pairs = _peel(members, linked, share)
        enough = share * len(members) * (len(members) - 1) / 2
        members, _ = _peel(members | {x for x, n in pairs.items() if n >= enough}, linked, share)
        within = {
            (a, b, c) for a, b in combinations(sorted(members), 2) for c in linked.get((a, b), set()) & members if c > b
        }
        if len(members) >= min_size and len(within - marked) >= share * len(within):
            sets.append(sorted(members))
            marked |= within
    starts = np.cumsum([0, *map(len, sets)])
    nodes = np.array([x for members in sets for x in members], dtype=np.int64)
    return sparse.csr_array((np.ones(len(nodes), dtype=bool), nodes, starts), shape=(len(sets), n_nodes))


def _peel(members: set[int], linked: Triples, share: float) -> tuple[set[int], Counter[int]]:
    """Remove the node with the fewest pairs until all have enough; return the nodes, and of every node its pairs of them."""
    members = set(members)
    pairs = _count_pairs(combinations(sorted(members), 2), linked)
    while len(members) > 2:
        worst = min(sorted(members), key=lambda x: pairs[x])
        if pairs[worst] >= share * (len(members) - 1) * (len(members) - 2) / 2:
            break
        members.remove(worst)
        pairs -= _count_pairs(((min(worst, x), max(worst, x)) for x in members), linked)
    return members, pairs


def _count_pairs(chosen: Iterable[tuple[int, int]], linked: Triples) -> Counter[int]:
    return Counter(x for pair in chosen for x in linked.get(pair, ()))
