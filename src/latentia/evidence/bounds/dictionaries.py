"""Rows, sparsity and errors of incoherent dictionaries: Ge, thesis 2013, chapter 5."""

from __future__ import annotations

import math
from typing import NamedTuple

from ._positive import check_positive


def dictionary_sparsity(
    n_features: int, n_components: int, incoherence: float, *, order: int = 3, constant: float = 1.0
) -> float:
    """Atoms per row up to which the connection graph finds the supports: c min(m^((l - 1) / (2 l - 1)), n^(1/2) / (mu log n)).

    Theorems 5.4, 5.21 and 5.23 for triples, where the first is m^(2/5), and Theorem 5.33 for tuples of ``order`` l.

    Parameters
    ----------
    n_features, n_components : int
        n and m.
    incoherence : float
        mu: n^(1/2) times the largest |A_i . A_j|.
    order : int
        l, at least 3.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(n_features=n_features - 1, n_components=n_components, incoherence=incoherence, order=order - 2)
    by_atoms = n_components ** ((order - 1) / (2 * order - 1))
    return constant * min(by_atoms, math.sqrt(n_features) / (incoherence * math.log(n_features)))


def dictionary_rows(
    n_components: int, sparsity: float, eps: float | None = None, *, noise: float = 0.0, constant: float = 1.0
) -> float:
    """Rows for error eps of every atom: max{m^2 / k^2 log m, m log m / eps^2, m sigma^2 log m / eps^2}.

    The first is for the supports alone (Theorems 5.21 and 5.33), the others are for the atoms by averages of signed rows
    (Theorems 5.4 and 5.23) and under Gaussian noise of standard deviation sigma.

    Parameters
    ----------
    n_components : int
        m.
    sparsity : float
        k, atoms a row uses.
    eps : float, optional
        l2 distance of an atom; without it the rows are those for the supports.
    noise : float
        sigma, for coefficients of size one.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(n_components=n_components, sparsity=sparsity)
    rows = (n_components / sparsity) ** 2 * math.log(n_components)
    if eps is not None:
        check_positive(eps=eps)
        rows = max(rows, max(1.0, noise**2) * n_components * math.log(n_components) / eps**2)
    return constant * rows


def dictionary_svd(
    n_features: int, n_components: int, sparsity: float, incoherence: float, constant: float = 1.0
) -> tuple[float, float]:
    """Rows, and error zeta of every atom, where atoms are the largest singular vectors of their rows (Theorem 5.28).

    zeta = max{mu k / n^(1/2), (k / m)^(1/2)} (Definition 5.26), which more rows do not make smaller, and
    max{m^2 / k^2 log m, m n log m log n / zeta^2} rows.

    Parameters
    ----------
    n_features, n_components : int
        n and m.
    sparsity, incoherence : float
        k and mu.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    (float, float)
        Both numbers, in the order of the summary.
    """
    check_positive(n_features=n_features, n_components=n_components, sparsity=sparsity, incoherence=incoherence)
    zeta = max(incoherence * sparsity / math.sqrt(n_features), math.sqrt(sparsity / n_components))
    logs = math.log(n_components) * math.log(n_features)
    rows = max(dictionary_rows(n_components, sparsity), n_components * n_features * logs / zeta**2)
    return constant * rows, zeta


class WeakDictionaryBounds(NamedTuple):
    """Guarantees for coefficients that depend on each other: atoms per row, rows, and error of an atom."""

    sparsity: float
    rows: float
    error: float


def weak_dictionary(
    n_features: int,
    n_components: int,
    sparsity: float,
    incoherence: float,
    *,
    slack: float = 0.0,
    constant: float = 1.0,
) -> WeakDictionaryBounds:
    """Bounds where coefficients are neither centred nor independent, and atoms are weakly correlated (Theorem 5.9).

    Sparsity up to min(m^(1/4), n^(1/4 - s/2) / mu^(1/2)), max{m^2 / k^2 log m, m n^(3/2) log m log n / (k^2 mu)} rows, and
    error k mu^(1/2) / n^(1/4 - s/2).

    Parameters
    ----------
    n_features, n_components : int
        n and m.
    sparsity, incoherence : float
        k and mu.
    slack : float
        s: two atoms are used together at most n^s times as often as if they were independent.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    WeakDictionaryBounds
    """
    check_positive(n_features=n_features, n_components=n_components, sparsity=sparsity, incoherence=incoherence)
    n, m, k = n_features, n_components, sparsity
    root = n ** (0.25 - slack / 2)
    logs = math.log(m) * math.log(n)
    return WeakDictionaryBounds(
        constant * min(m**0.25, root / math.sqrt(incoherence)),
        constant * max(dictionary_rows(m, k), m * n**1.5 * logs / (k**2 * incoherence)),
        constant * k * math.sqrt(incoherence) / root,
    )


def disjoint_product(
    n_features: int, sparsity: float, incoherence: float, *, certain: bool = True, constant: float = 1.0
) -> float:
    """Largest inner product of two rows without a common atom: their pair is an edge by mistake only where it is above 1/2.

    k^2 mu / n^(1/2) for any signs of the coefficients (Lemma 5.11), and with ``certain=False`` k mu log n / n^(1/2) with high
    probability, for random signs (Lemma 5.13). Coefficients are of size one.

    Parameters
    ----------
    n_features : int
        n, the number of features.
    sparsity : float
        k, the number of atoms that a row uses.
    incoherence : float
        mu: atoms have inner products of at most mu / sqrt(n).
    certain : bool, default=True
        Whether it holds for all pairs of rows, or with high probability.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(n_features=n_features, sparsity=sparsity, incoherence=incoherence)
    if certain:
        return sparsity**2 * incoherence / math.sqrt(n_features)
    return constant * sparsity * incoherence * math.log(n_features) / math.sqrt(n_features)


def chance_of_common_neighbour(sparsity: float, n_components: int, shared: float = 0.0) -> float:
    """Probability that a row shares atoms with each of three rows that have no atom in common (Lemma 5.19), at most.

    k^6 / m^3 + 3 k^3 (a + b + c) / m^2, where the first two rows share a atoms, and so on: ``shared`` is the sum of the three.
    Rows with a common atom have at least k / (8 m).

    Parameters
    ----------
    sparsity : float
        k, the number of atoms that a row uses.
    n_components : int
        m, the number of atoms.
    shared : float, default=0.0
        a + b + c: how many atoms two of the three rows share, summed over the pairs.

    Returns
    -------
    float
    """
    check_positive(sparsity=sparsity, n_components=n_components)
    k, m = sparsity, n_components
    return min(1.0, k**6 / m**3 + 3 * k**3 * shared / m**2)


def piercing_probability(sparsity: float, n_components: int, order: int, shared: float = 1.0) -> float:
    """Probability that a row shares atoms with each of ``order`` rows without a common one, at most (Corollary 5.32).

    sum over 2 <= s < l of (C_s + (l k)^(s - 1)) (k / m)^s, and over s >= l of (l k^2 / m)^s, with C_s = Q s (s + 1) from
    Lemma 5.31. Rows with a common atom have at least 2^-l k / m.

    Parameters
    ----------
    sparsity : float
        k.
    n_components : int
        m.
    order : int
        l, at least 3.
    shared : float
        Q, atoms that two rows share at most.

    Returns
    -------
    float
    """
    check_positive(sparsity=sparsity, n_components=n_components, order=order - 2)
    k, m, tuples = sparsity, n_components, order
    few = sum((shared * s * (s + 1) + (tuples * k) ** (s - 1)) * (k / m) ** s for s in range(2, tuples))
    ratio = tuples * k**2 / m
    return min(1.0, few + ratio**tuples / (1 - ratio)) if ratio < 1 else 1.0
