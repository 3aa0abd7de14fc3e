"""Rows and densities of sparse deep networks: Ge, thesis 2013, chapter 6."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...exceptions import LatentiaError
from ._positive import check_positive


def network_rows(n_units: int, density: float, constant: float = 1.0) -> float:
    """Rows for all edges of a sparse network: log^2 n / rho^2 (Theorems 6.1, 6.6 and 6.14).

    Parameters
    ----------
    n_units : int
        n, units of the largest layer.
    density : float
        rho: how often a unit of the top layer is active; of the layer above, for a single layer.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(n_units=n_units, density=density)
    return constant * (math.log(n_units) / density) ** 2


def network_density(degree: float, *, order: int = 2, constant: float = 1.0) -> float:
    """Density of a hidden layer below which co-firing identifies common parents: d^-2 for pairs, d^(-3/2) for triples.

    For pairs this is Theorem 6.6, for triples rho_y^3 << rho of Lemma 6.8, with rho_y = rho d. ``degree`` is d, the number of
    parents of a node.

    Parameters
    ----------
    degree : float
        d, the expected number of parents.
    order : {2, 3}, default=2
        Pairs or triples of columns.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(degree=degree)
    if order not in (2, 3):
        raise LatentiaError(f"order={order}: use 2 for pairs or 3 for triples.")
    return float(constant * degree ** (-order / (order - 1)))


def triple_recovery(n_units: int, n_nodes: int, degree: float) -> tuple[float, float]:
    """m^3 d'^8 / n^8, far below one where sets are found from triples, and operations m (d'^3 + n) (Theorem 6.20).

    Parameters
    ----------
    n_units, n_nodes : int
        m sets of n nodes.
    degree : float
        d', nodes of a set.

    Returns
    -------
    (float, float)
        Both numbers, in the order of the summary.
    """
    check_positive(n_units=n_units, n_nodes=n_nodes, degree=degree)
    return n_units**3 * degree**8 / n_nodes**8, n_units * (degree**3 + n_nodes)


def third_moment_bounds(density: float) -> tuple[float, float]:
    """|E[y_u y_v y_s]| of a real layer: at most rho / 10 without a common parent, at least .6 rho with a single one.

    Theorem 6.21, whose statement has the two numbers in each other's place: the proof has them as here.

    Parameters
    ----------
    density : float
        rho, the share of rows in which a unit is on.

    Returns
    -------
    (float, float)
        Both numbers, in the order of the summary.
    """
    check_positive(density=density)
    return 0.1 * density, 0.6 * density


class NetworkConditions(NamedTuple):
    """Ratios that Theorem 6.1 needs far below one, from the lowest layer up; ``real`` is empty for a binary observed layer.

    ``degrees`` has 1 / d_i and 1 / d'_i, ``triples`` n_i^3 d'_(i-1)^8 / n_(i-1)^8, ``densities`` rho_i^3 / rho_(i+1),
    and ``real`` rho_1 d_0 (which need only be bounded), d_0^(3/2) / (d_1 d_2), d_0^(1/2) / d_1 and d_0^2 / n_1.
    """

    degrees: tuple[float, ...]
    triples: tuple[float, ...]
    densities: tuple[float, ...]
    real: tuple[float, ...]


def network_conditions(
    sizes: Sequence[int], degrees: Sequence[float], density: float, *, real: bool = False
) -> NetworkConditions:
    """The conditions of Theorem 6.1, as ratios.

    With rho_(i-1) = rho_i d_(i-1) / 2. Theorem 6.14 has the condition on densities the wrong way round: rho_i^3 << rho_(i+1)
    is what its proof uses.

    Parameters
    ----------
    sizes : sequence of int
        n_0, ..., n_l: units of each layer from the observed one up.
    degrees : sequence of float
        d_0, ..., d_(l-1): parents that a node of layer i has in layer i + 1, of either sign.
    density : float
        rho_l, of the top layer.
    real : bool
        The observed layer is real. Degrees above the top are left out of its ratios.

    Returns
    -------
    NetworkConditions
    """
    if len(degrees) != len(sizes) - 1 or not len(degrees):
        raise LatentiaError(f"sizes={sizes}, degrees={degrees}: a degree for each hidden layer is needed.")
    check_positive(density=density, sizes=min(sizes), degrees=min(degrees))
    forward = [d * below / above for d, below, above in zip(degrees, sizes[:-1], sizes[1:], strict=True)]
    rho = [density]
    for d in reversed(degrees):
        rho.insert(0, rho[0] * d / 2)
    triples = [above**3 * d**8 / below**8 for d, below, above in zip(forward, sizes[:-1], sizes[1:], strict=True)]
    first = 1 if real else 0
    densities = [rho[i] ** 3 / rho[i + 1] for i in range(first, len(degrees))]
    of_real: list[float] = []
    if real:
        above = list(degrees[1:3])
        d = degrees[0]
        of_real = [rho[1] * d]
        if above:
            of_real += [d**1.5 / math.prod(above), math.sqrt(d) / above[0]]
        of_real.append(d**2 / sizes[1])
    ratios = [1 / d for d in [*degrees, *forward]]
    return NetworkConditions(tuple(ratios), tuple(triples), tuple(densities), tuple(of_real))
