"""Measurement of the properties of random graphs on which learning a sparse network relies.

F(z) are the children of a unit z, B(v) the parents of a node v, F+ and B+ those by positive edges. B^(l)(v) are the ancestors
of v in the top layer, B+^(l)(v) those by paths of positive edges. d and d' are the mean numbers of parents and of children, and
rho_(i-1) = rho_i d_(i-1) / 2, or rho_i d_(i-1) where no edge is negative.

Source: R. Ge, thesis, Princeton 2013, section 6.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ...exceptions import LatentiaError

_PAIRS_AT_ONCE = 1 << 23  # pairs of nodes at a time


@dataclass(frozen=True)
class NetworkProperty:
    """One property of one layer.

    Attributes
    ----------
    group : str
        "unique", "sing", "sing+", "mul", "mul+", "rec+" or "neg+".
    name : str
        The number of the property in its group, and its subject.
    layer : int
        Number of the layer of the nodes v, 0 for the observed one; units z are in the layer above.
    measured, bound : float
        The value of the worst node, pair or set, and its limit.
    holds : bool
    """

    group: str
    name: str
    layer: int
    measured: float
    bound: float
    holds: bool


@dataclass(frozen=True)
class NetworkProperties:
    """Measured properties of a network.

    Attributes
    ----------
    checks : tuple of NetworkProperty
    """

    checks: tuple[NetworkProperty, ...]

    def holds(self, group: str, layer: int | None = None) -> bool:
        """Return True if all properties of a group hold, in all layers or in one."""
        chosen = [check for check in self.checks if check.group == group and layer in (None, check.layer)]
        if not chosen:
            groups = sorted({check.group for check in self.checks})
            raise LatentiaError(f"group={group!r}, layer={layer}: no measurement. Groups are {', '.join(groups)}.")
        return all(check.holds for check in chosen)

    def __str__(self) -> str:
        rows = (
            f"{check.layer}  {check.group:<6}  {check.name:<34}  {check.measured:>9.4g}  {check.bound:>9.4g}  "
            f"{'yes' if check.holds else 'no'}"
            for check in self.checks
        )
        return "\n".join(rows)


def network_properties(
    layers: sparse.csr_array | Sequence[sparse.csr_array],
    density: float = 0.01,
    *,
    sets: Sequence[Any] | None = None,
    epsilon: float = 1 / 12,
    n_samples: int = 200,
    constant: float = 1.0,
    random_state: int = 0,
) -> NetworkProperties:
    """Measure the properties of section 6.8 on the weights of a network.

    Parameters
    ----------
    layers : csr_array of shape (n_units, n_nodes), or a list of them from the lowest hidden layer up
        Weights of -1, 0 and 1.
    density : float
        rho of the top layer: random sets of units have as many as are active in a row.
    sets : sequence of array-like of int, optional
        Sets of units of the lowest hidden layer for the unique neighbour property, instead of random ones.
    epsilon : float
        A unit has the property for a set if 1 - epsilon of its children have no parent among the others of the set. 1/12 is
        what the encoder needs (Lemma 6.10).
    n_samples : int
        Random sets, and random triples, of each layer.
    constant : float
        Stands for the constants that the thesis leaves out.
    random_state : int

    Returns
    -------
    NetworkProperties
        "unique": Definition 6.25, over all units and the sets. "sing" and "sing+": P_sing and P_sing+ (single layers). "mul",
        "mul+": P_mul and P_mul+ (several layers; without those on pairs below the top layer, where they say nothing). "rec+":
        P_rec+, on positive edges (recovery from triples). "neg+": P_neg+ (negative edges).

    Notes
    -----
    Triples, sets of parents and sets of units are random samples: of these the worst of ``n_samples`` is measured. P_sing+ is
    measured on intersections |B+(u) & B+(v)|, which its use in Lemma 6.8 and its proof are about, though the thesis prints a
    union. Property 2 of P_mul+ is compared with the .2 that Lemma 6.15 needs.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> network = planted.sparse_network(10, (20_000, 100), 2, 0.01)
    >>> planted.network_properties(network.layers, 0.01).holds("unique")
    True
    """
    stack: list[Any] = [layers] if sparse.issparse(layers) else list(layers)
    if not stack or any(a.shape[0] != b.shape[1] for a, b in pairwise(stack)):
        raise LatentiaError("layers: expected at least one, each with as many columns as the one below has units.")
    if not 0 < density < 1 or n_samples < 1:
        raise LatentiaError(
            f"density={density}, n_samples={n_samples}: expected a density between 0 and 1, and n_samples of at least 1."
        )
    rng = np.random.default_rng(random_state)
    network = _Network([sparse.csr_array(edges) for edges in stack], density, constant, n_samples, rng)
    checks: list[NetworkProperty] = []
    for i in range(len(stack)):
        given_sets = [np.asarray(chosen, dtype=np.intp) for chosen in sets] if sets is not None and i == 0 else None
        checks.extend(_check_unique(network, i, given_sets, epsilon))
        checks.extend(_check_single(network, i))
        if len(stack) > 1:
            checks.extend(_check_several(network, i))
        checks.extend(_check_recovery(network, i))
        checks.extend(_check_negative(network, i))
    return NetworkProperties(tuple(checks))


class _Network:
    """Weights of each layer, their degrees, and ancestors in the top layer."""

    def __init__(
        self, layers: list[sparse.csr_array], density: float, constant: float, n_samples: int, rng: np.random.Generator
    ) -> None:
        self.all = [(edges != 0).astype(np.int32) for edges in layers]
        self.positive = [(edges > 0).astype(np.int32) for edges in layers]
        self.signed = [bool((edges < 0).nnz) for edges in layers]
        self.parents = [edges.nnz / edges.shape[1] for edges in self.all]
        self.children = [edges.nnz / edges.shape[0] for edges in self.all]
        self.rho = [density]
        for d, signed in zip(reversed(self.parents), reversed(self.signed), strict=True):
            self.rho.insert(0, self.rho[0] * (d / 2 if signed else d))
        self.above = _find_ancestors(self.all)
        self.above_positive = _find_ancestors(self.positive)
        self.constant, self.n_samples, self.rng = constant, n_samples, rng
        self.log_n = float(np.log(max(max(edges.shape) for edges in layers)))


def _find_ancestors(layers: list[sparse.csr_array]) -> list[sparse.csr_array]:
    """Return for each layer below the top its nodes by ancestors in the top layer, shape (n_nodes, n_top)."""
    ancestors = [sparse.csr_array(layers[-1].T)]
    for edges in reversed(layers[:-1]):
        ancestors.insert(0, _binarize(edges.T @ ancestors[0]))
    return ancestors


def _binarize(counts: Any) -> sparse.csr_array:
    return sparse.csr_array((counts > 0).astype(np.int32))


def _check_at_most(group: str, name: str, layer: int, measured: float, bound: float) -> NetworkProperty:
    return NetworkProperty(group, name, layer, float(measured), float(bound), bool(measured <= bound))


def _check_at_least(group: str, name: str, layer: int, measured: float, bound: float) -> NetworkProperty:
    return NetworkProperty(group, name, layer, float(measured), float(bound), bool(measured >= bound))


def _check_unique(
    network: _Network, i: int, sets: list[np.ndarray] | None, epsilon: float
) -> Iterator[NetworkProperty]:
    """Check the share of exclusive children of the worst unit and set."""
    edges = network.all[i]
    n_units = edges.shape[0]
    size = min(n_units, max(1, round(network.rho[i + 1] * n_units)))
    if sets is None:
        sets = [network.rng.choice(n_units, size, replace=False) for _ in range(network.n_samples)]
    degree = np.maximum(np.diff(edges.indptr), 1)
    has_children = np.diff(edges.indptr) > 0
    worst = 1.0
    for chosen in sets:
        inside = np.zeros(n_units, dtype=np.int32)
        inside[chosen] = 1
        parents = edges.T @ inside
        n_exclusive = np.where(inside, edges @ (parents == 1).astype(np.int32), edges @ (parents == 0).astype(np.int32))
        worst = min(worst, float((n_exclusive / degree)[has_children].min(initial=1.0)))
    yield _check_at_least("unique", "children without others of the set", i, worst, 1 - epsilon)


def _check_degrees(network: _Network, group: str, i: int) -> Iterator[NetworkProperty]:
    """Check that degrees are within a tenth of their means, for all edges and for positive ones."""
    for number, axis, noun, mean in ((1, 0, "parents", network.parents[i]), (2, 1, "children", network.children[i])):
        counts = network.all[i].sum(axis=axis)
        yield _check_at_most(group, f"{number} {noun}, from their mean", i, np.abs(counts / mean - 1).max(), 0.1)
        if network.signed[i]:
            counts = network.positive[i].sum(axis=axis)
            yield _check_at_most(
                group, f"{number} positive {noun}, from their mean", i, np.abs(2 * counts / mean - 1).max(), 0.1
            )


def _check_single(network: _Network, i: int) -> Iterator[NetworkProperty]:
    yield from _check_degrees(network, "sing", i)
    shared = max((int(overlap.max(initial=0)) for _, overlap in _count_overlaps(network.positive[i].T)), default=0)
    yield _check_at_most("sing+", "1 positive parents in common", i, shared, 10 * network.log_n)


def _count_overlaps(members: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the numbers of common members of some rows with all rows; zero for a row with itself."""
    members = sparse.csr_array(members)
    transposed = sparse.csr_array(members.T)
    n = members.shape[0]
    step = max(1, _PAIRS_AT_ONCE // max(n, 1))
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        overlap = (members[rows] @ transposed).toarray()
        overlap[np.arange(overlap.shape[0]), np.arange(rows.start, rows.stop)] = 0
        yield rows, overlap


def _check_several(network: _Network, i: int) -> Iterator[NetworkProperty]:
    """Check P_mul and P_mul+ of the nodes of layer i."""
    top = len(network.all)
    yield from _check_degrees(network, "mul", i)
    expected = network.rho[i] / network.rho[top]
    smallest, largest = network.above_positive[i].sum(axis=1).min(), network.above[i].sum(axis=1).max()
    yield _check_at_least("mul", "2 positive ancestors, relative", i, smallest / expected, 0.8)
    yield _check_at_most("mul", "2 ancestors, relative", i, largest / expected, 2.0 ** (top - i + 1))
    if i == top - 1:
        return
    per_parent = network.rho[i + 1] / network.rho[top]
    n_top = network.all[-1].shape[0]
    floor = 1 / network.parents[i + 1] + network.log_n / (network.rho[top] * n_top)
    worst = shared = 0.0
    for (_, ancestors), (_, parents) in zip(
        _count_overlaps(network.above_positive[i]), _count_overlaps(network.positive[i].T), strict=True
    ):
        worst = max(worst, float((ancestors / (per_parent * (floor + parents))).max(initial=0)))
        shared = max(shared, float(ancestors.max(initial=0)))
    yield _check_at_most("mul", "3 positive ancestors in common", i, worst, network.constant)
    yield _check_at_most(
        "mul+", "1 positive ancestors in common", i, shared / per_parent, network.constant * network.log_n
    )
    yield _check_at_most(
        "mul+", "2 the same, of strange triples", i, _measure_strange_triples(network, i) / per_parent, 0.2
    )


def _measure_strange_triples(network: _Network, i: int) -> float:
    """Return the largest number of common positive ancestors of three nodes without a common positive parent, two with one."""
    members, rng = network.positive[i], network.rng
    ancestors = network.above_positive[i].astype(bool).toarray()
    parents = members.T.astype(bool).toarray()
    largest = 0
    for _ in range(network.n_samples):
        children = members.indices[slice(*members.indptr[(z := rng.integers(members.shape[0])) : z + 2])]
        if len(children) < 2:
            continue
        u, v = rng.choice(children, 2, replace=False)
        s = rng.choice(len(parents), min(50, len(parents)), replace=False)
        s = s[~(parents[s] & parents[u] & parents[v]).any(axis=1) & (s != u) & (s != v)]
        largest = max(largest, int((ancestors[s] & ancestors[u] & ancestors[v]).sum(axis=1).max(initial=0)))
    return float(largest)


def _check_recovery(network: _Network, i: int) -> Iterator[NetworkProperty]:
    """Check P_rec+ of the positive edges."""
    F, rng = network.positive[i], network.rng
    mean = F.nnz / F.shape[0]
    degree = np.diff(F.indptr)
    dense = F.astype(bool).toarray()
    extra, single_shares = 0, np.full(F.shape[0], np.nan)
    for z in np.flatnonzero(degree >= 3)[: network.n_samples]:
        children = F.indices[F.indptr[z] : F.indptr[z + 1]]
        triples = np.array([rng.choice(children, 3, replace=False) for _ in range(20)])
        parents = dense[:, triples[:, 0]] & dense[:, triples[:, 1]] & dense[:, triples[:, 2]]
        single_shares[z] = (parents.sum(axis=0) == 1).mean()
        a, b, c = triples[0]
        common = parents[:, 0]
        started = np.ones(F.shape[1], dtype=bool)
        for u, v in ((a, b), (a, c), (b, c)):
            started &= dense[dense[:, u] & dense[:, v]].any(axis=0)
        extra = max(extra, int((started & ~dense[common].any(axis=0)).sum()))
    yield _check_at_most("rec+", "1 strangers that a triple finds", i, extra / mean, 1 / 20)
    union, stranger = np.inf, 0.0
    for rows, overlap in _count_overlaps(F):
        unions = degree[rows, None] + degree[None] - overlap
        unions[np.arange(len(unions)), np.arange(rows.start, rows.stop)] = np.iinfo(unions.dtype).max
        union = min(union, float(unions.min(initial=np.iinfo(unions.dtype).max)))
        pairs = (overlap * (overlap - 1.0) / 2) @ dense
        pairs[dense[rows]] = 0
        stranger = max(stranger, float(pairs.max(initial=0)))
    yield _check_at_least("rec+", "2 children of two units", i, union / mean, 1.5)
    yield _check_at_most("rec+", "3 pairs of a stranger", i, stranger / mean**2, 1 / 40)
    yield _check_at_least(
        "rec+",
        "4 triples of one unit alone",
        i,
        np.nanmin(single_shares) if np.isfinite(single_shares).any() else 0.0,
        0.1,
    )
    yield _check_at_most("rec+", "5 children, from their mean", i, np.abs(degree / mean - 1).max(), 0.1)


def _check_negative(network: _Network, i: int) -> Iterator[NetworkProperty]:
    """Check P_neg+ of the nodes of layer i, with sets of 2 d_(i-1) nodes, except in the observed layer."""
    top = len(network.all)
    expected = network.rho[i] / network.rho[top]
    smallest_count = network.above_positive[i].sum(axis=1).min()
    yield _check_at_least("neg+", "1 positive ancestors, relative", i, smallest_count / expected, 0.8)
    if i == 0:
        return
    positive, ancestors = network.above_positive[i], network.above[i]
    n_nodes = positive.shape[0]
    size = min(n_nodes - 1, round(2 * network.parents[i - 1]))
    smallest = np.inf
    for _ in range(network.n_samples):
        nodes = network.rng.choice(n_nodes, size + 1, replace=False)
        is_free = np.ones(positive.shape[1], dtype=np.int32)
        is_free[ancestors[nodes[1:]].indices] = 0
        smallest = min(smallest, float((positive[nodes[:1]] @ is_free)[0]))
    yield _check_at_least("neg+", "2 ancestors that a set leaves", i, smallest / expected, 0.5)
