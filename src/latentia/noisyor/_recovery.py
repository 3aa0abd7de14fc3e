"""Weights and priors from the moments of pairs and triples.

With F = 1 - exp(-W) and r = rho / (1 - rho), both moments are, to first order in r,

    PMI2_ij = sum_k r_k F_ki F_kj,    PMI3_ijl = sum_k r_k F_ki F_kj F_kl    (i, j, l distinct).

A factor B of the first, (B B^T)_ij = PMI2_ij off the diagonal, is (sqrt r_k F_k)_k up to a rotation R, and the second is
the K x K x K core sum_k r_k^(-1/2) R_k (x) R_k (x) R_k in the coordinates B: an orthogonal tensor whose eigenvalues tell
the priors. Orders beyond the first follow from what was found and are taken off before the next round.

Findings are scaled by sqrt P(absent), the reciprocal of the noise of their moments up to a constant: without that a
single finding that is nearly always present would drown all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres
from scipy.special import erfcx

from ..exceptions import LatentiaError
from ..linalg import polar_factor
from ..passes import Folds
from ..tensor import Decomposition, decompose
from ..tensor.operators import multilinear, symmetrise_modes
from ._expansion import degree_for, higher_orders
from ._hollow import hollow_factor, largest_value
from .absences import AbsenceMoments, LogAbsences, Partition
from .inference import Network

LEAST_ODDS, MOST_ODDS = 1e-8, 1e3
_TINY, _NEGLIGIBLE = 1e-12, 1e-6
_EXACT, _KRYLOV, _RESTARTS = 1e-7, 40, 4
_EXACT_ORDERS = 1e-12  # error of log(1 + r t) by its orders
_SMALL, _NEARLY = 600, 0.03  # sides of matrices whose norm is that of all singular values, and the error of others


Operator = Callable[[np.ndarray], np.ndarray]


class Triples(Protocol):
    """Which triples of findings a moment is a sum over."""

    def operator(self, left: np.ndarray, right: np.ndarray) -> Operator:
        """Takes core, symmetric (K, K, K), to the sum of core(l_i, l_j, l_k) r_i (x) r_j (x) r_k over the triples, symmetrised.

        Rows of left are l (n, K), those of right r (n, d).
        """

    def powers(self, coefficients: np.ndarray, vectors: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The same sum with sum_p c_p v_pi v_pj v_pk in place of the core, (d, d, d); vectors (P, n)."""


class AllTriples:
    """All triples of distinct findings, each once; those with a row of zeros on the right are left out.

    Sums over distinct indices are those over all indices, less those with two that are the same, plus twice those with
    three: no list of triples is made.
    """

    def operator(self, left: np.ndarray, right: np.ndarray) -> Operator:
        used = np.flatnonzero(right.any(axis=1))
        left, right = left[used], right[used]
        k, gram = left.shape[1], left.T @ right
        left_pairs, right_pairs = _pairs(left), _pairs(right)

        def apply(core: np.ndarray) -> np.ndarray:
            inner = left_pairs @ core.reshape(k * k, k)
            twice = right_pairs.T @ (inner @ gram - (2 / 3) * (inner * left).sum(axis=1, keepdims=True) * right)
            return symmetrise_modes(multilinear(core, gram, gram, gram) - 3 * twice.reshape([right.shape[1]] * 3)) / 6

        return apply

    def powers(self, coefficients: np.ndarray, vectors: np.ndarray, right: np.ndarray) -> np.ndarray:
        images = vectors @ right
        every = np.einsum("p,pa,pb,pc->abc", coefficients, images, images, images, optimize=True)
        squares = (coefficients[:, None] * vectors**2).T @ images
        cubes = coefficients @ vectors**3
        twice = _pairs(right).T @ (squares - (2 / 3) * cubes[:, None] * right)
        return symmetrise_modes(every - 3 * twice.reshape(every.shape)) / 6


class SplitTriples:
    """The triples that a partition splits: one finding in each set."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    def operator(self, left: np.ndarray, right: np.ndarray) -> Operator:
        maps = [left[part].T @ right[part] for part in self._partition]
        return lambda core: symmetrise_modes(multilinear(core, *maps))

    def powers(self, coefficients: np.ndarray, vectors: np.ndarray, right: np.ndarray) -> np.ndarray:
        a, b, c = (vectors[:, part] @ right[part] for part in self._partition)
        return symmetrise_modes(np.einsum("p,pa,pb,pc->abc", coefficients, a, b, c, optimize=True))


def _pairs(rows: np.ndarray) -> np.ndarray:
    """r_i (x) r_i for every row, shape (n, d^2)."""
    return (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)


@dataclass(frozen=True)
class Moments:
    """Pairs, and triples in the coordinates of a basis.

    Attributes
    ----------
    pairs : ndarray of shape (n, n)
        PMI2, scaled.
    single : ndarray of shape (n,)
        Logarithms of P(absent).
    cube : ndarray of shape (d, d, d)
        Sum of scaled PMI3_ijl u_i (x) u_j (x) u_l over some triples, u the rows of the basis, symmetrised.
    basis : ndarray of shape (n, d)
        Orthonormal columns, the leading one first; rows of zeros for findings whose triples are not counted.
    scale : ndarray of shape (n,)
        sqrt P(absent).
    triples : Triples
    """

    pairs: np.ndarray
    single: np.ndarray
    cube: np.ndarray
    basis: np.ndarray
    scale: np.ndarray
    triples: Triples

    def first(self, n_components: int) -> Moments:
        """In the coordinates of the leading columns alone."""
        k = n_components
        return replace(self, basis=self.basis[:, :k], cube=self.cube[:k, :k, :k])


class Recovered(NamedTuple):
    """What the moments say: the network, the factor B (n, K), and the last rounds' networks."""

    network: Network
    factor: np.ndarray
    rounds: tuple[Network, ...] = ()


def random_partitions(findings: np.ndarray, n_partitions: int, seed: int) -> list[Partition]:
    """Random equipartitions of findings into S_a, S_b and S_c."""
    rng = np.random.default_rng(seed)
    shuffled = (rng.permutation(findings) for _ in range(n_partitions))
    return [Partition(*(np.sort(part) for part in np.array_split(order, 3))) for order in shuffled]


def directions_of_pairs(pairs: np.ndarray, most: int) -> int:
    """In how many directions pairs of findings vary together, at most ``most``."""
    lengths = np.linalg.norm(hollow_factor(pairs, most)[0], axis=0)
    return max(1, int((lengths > _NEGLIGIBLE * lengths[0]).sum()))


def basis_of_pairs(pairs: np.ndarray, n_components: int) -> np.ndarray:
    """Orthonormal basis of the leading space of scaled PMI2, (n, K)."""
    factor = hollow_factor(pairs, n_components)[0]
    return factor / lengths_of(factor)


def lengths_of(factor: np.ndarray) -> np.ndarray:
    """Lengths of the columns of the factor of pairs; an error if some are nothing."""
    lengths, k = np.linalg.norm(factor, axis=0), factor.shape[1]
    supported = int((lengths > _NEGLIGIBLE * lengths[0]).sum())
    if supported < k:
        raise LatentiaError(
            f"pairs of findings vary together in {supported} directions, which can separate at most that many causes.",
            at_most=supported, parameter="n_components", value=k,
        )  # fmt: skip
    return lengths


def moments_in_basis(
    source: AbsenceMoments,
    basis: np.ndarray,
    partitions: Sequence[Partition],
    selections: Sequence[tuple[int, ...]],
    progress: bool = False,
) -> tuple[list[Moments], list[Moments]]:
    """The moments of each selection of groups of rows, from all triples, and those of each partition, from all rows.

    The first selection is that of all rows.
    """
    logs = source.logs(selections[0])
    scale = np.exp(logs.single / 2)
    cubes, split = source.all_triples(scale[:, None] * basis, selections, partitions, progress and "triples")
    by_rows = []
    for groups, cube in zip(selections, cubes, strict=True):
        own = source.logs(groups)
        by_rows.append(Moments(scaled_pairs(own, scale), own.single, cube, basis, scale, AllTriples()))
    pairs = scaled_pairs(logs, scale)
    by_partition = [
        Moments(pairs, logs.single, cube, basis, scale, SplitTriples(partition))
        for cube, partition in zip(split, partitions, strict=True)
    ]
    return by_rows, by_partition


def scaled_pairs(logs: LogAbsences, scale: np.ndarray) -> np.ndarray:
    """PMI2 between scaled findings."""
    return scale[:, None] * logs.pmi * scale


def largest(matrix: np.ndarray) -> float:
    """Spectral norm; matrices with more than 600 rows and columns need to be symmetric."""
    if min(matrix.shape) <= _SMALL:
        return float(np.linalg.norm(matrix, 2))
    return max(largest_value(matrix, _NEARLY), largest_value(-matrix, _NEARLY))


def noise_beside(source: AbsenceMoments, scale: np.ndarray, folds: Folds, known: np.ndarray) -> float:
    """Spectral norm of half of the difference of scaled PMI2 of two halves of the rows, beside known directions (n, k).

    Parameters
    ----------
    known : ndarray of shape (n, k)
        Orthonormal columns.
    """
    one, other = (scaled_pairs(source.logs(half), scale) for half in folds.splits[0])
    noise = (one - other) / 2
    for _ in range(2):
        noise = noise.T - known @ (known.T @ noise.T)
    return largest(noise)


def recover(
    moments: Moments, prior: float | None, corrections: int, max_weight: float, start: Recovered | None = None
) -> Recovered:
    """Rounds of factor, core, decomposition, each on moments less the higher orders of the network before."""
    k = moments.basis.shape[1]
    found = start
    rounds: tuple[Network, ...] = ()
    for _ in range(corrections + 1):
        # What the network of the round before says of higher orders is taken off.
        pairs, cube = _first_order(moments, found)
        # Pairs give the components up to a rotation, triples the rotation.
        factor = hollow_factor(pairs, k, None if found is None else found.factor)[0]
        decomposition = decompose(_core(moments, factor, cube), k)
        network = _read_off(moments, factor, decomposition, prior, max_weight)
        rounds = (*rounds[-2:], network)
        found = Recovered(network, factor, rounds)
    assert found is not None
    return found


def residual(moments: Moments, network: Network) -> np.ndarray:
    """Scaled PMI2 less that of the network, (n, n), with a diagonal of zeros."""
    return left_of_pairs(moments.pairs, moments.scale, network)


def left_of_pairs(pairs: np.ndarray, scale: np.ndarray, network: Network) -> np.ndarray:
    """The same of PMI2 between findings with these scales."""
    odds = network.priors / (1 - network.priors)
    coefficients, vectors = higher_orders(network.weights, odds, degree_for(odds, _EXACT_ORDERS))
    coefficients[: network.m] += odds
    vectors *= scale
    left = pairs - (coefficients * vectors.T) @ vectors
    np.fill_diagonal(left, 0.0)
    return left


def _first_order(moments: Moments, found: Recovered | None) -> tuple[np.ndarray, np.ndarray]:
    """PMI2 (n, n) and the cube (d, d, d) less their higher orders."""
    if found is None:
        return moments.pairs, moments.cube
    network = found.network
    coefficients, vectors = higher_orders(network.weights, network.priors / (1 - network.priors))
    vectors = vectors * moments.scale
    pairs = moments.pairs - (coefficients * vectors.T) @ vectors
    return pairs, moments.cube - moments.triples.powers(coefficients, vectors, moments.basis)


def _core(moments: Moments, factor: np.ndarray, cube: np.ndarray) -> np.ndarray:
    """The symmetric core S for which the sum over triples of S(B_i, B_j, B_l) u_i (x) u_j (x) u_l is the cube, (K, K, K)."""
    # Unknown is S in that orthonormal basis of B which is nearest to the basis u: the equations are then nearly symmetric
    # and well conditioned.
    frame, triangle = np.linalg.qr(factor)
    turn = polar_factor(frame.T @ moments.basis)
    k = frame.shape[1]
    apply = moments.triples.operator(frame @ turn, moments.basis)
    system = LinearOperator(
        (k**3, k**3), lambda flat: apply(symmetrise_modes(flat.reshape(k, k, k))).ravel(), dtype=np.float64
    )
    solved, _ = gmres(system, cube.ravel(), rtol=_EXACT, restart=_KRYLOV, maxiter=_RESTARTS)
    return symmetrise_modes(
        multilinear(symmetrise_modes(solved.reshape(k, k, k)), *[turn.T @ np.linalg.inv(triangle).T] * 3)
    )


def _read_off(
    moments: Moments, factor: np.ndarray, decomposition: Decomposition, prior: float | None, max_weight: float
) -> Network:
    """F_k = B R_k / sqrt r_k, and r_k = 1 / lambda_k^2 unless the prior is given."""
    values, rotation, _ = decomposition
    odds = odds_of(values, prior)
    strengths = (rotation @ factor.T) / np.sqrt(odds)[:, None] / moments.scale
    return ordered_network(strengths, odds, moments.single, max_weight)


def odds_of(eigenvalues: np.ndarray, prior: float | None) -> np.ndarray:
    """r = rho / (1 - rho) of every cause, from the eigenvalues of the whitened tensor unless the prior is given."""
    if prior is None:
        return np.clip(np.maximum(eigenvalues, _TINY) ** -2.0, LEAST_ODDS, MOST_ODDS)
    return np.full(len(eigenvalues), prior / (1 - prior))


def ordered_network(strengths: np.ndarray, odds: np.ndarray, single: np.ndarray, max_weight: float) -> Network:
    """The network with F = strengths as far as they are possible, the most frequent cause first.

    A leak acts on no pair; it is what P(absent), given by its logarithm ``single``, asks for beyond the causes.
    """
    possible = np.clip(strengths, 0.0, -np.expm1(-max_weight))
    priors = odds / (1 + odds)
    leak = _mean_leak(-np.expm1(single - np.log1p(-priors[:, None] * possible).sum(axis=0)), np.exp(single / 2))
    order = np.lexsort((-possible.sum(axis=1), -priors))
    return Network(-np.log1p(-possible[order]), priors[order], leak)


def _mean_leak(found: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Means of the leaks given estimates with normal noise, every leak from 0 being as likely before the data; never 0.

    Estimates below 0 are noise alone and tell its size, which goes with 1 / sqrt P(absent). A leak of 0 would make rows
    impossible that no cause explains, and all posteriors sharper than the data allows.
    """
    below = found < 0
    if not below.any():
        return np.clip(found, _TINY, 1.0)
    noise = np.sqrt(np.mean((found[below] * scale[below]) ** 2)) / scale
    z = found / noise
    # The density of the standard normal over its distribution function, by the scaled function without underflow.
    excess = np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2))
    return np.clip(found + noise * excess, _TINY, 1.0)
