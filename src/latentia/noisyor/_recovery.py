"""Weights and priors from the moments of pairs and triples.

With F = 1 - exp(-W) and r = rho / (1 - rho), both moments are, to first order in r,

    PMI2_ij = sum_k r_k F_ki F_kj,    PMI3_ijl = sum_k r_k F_ki F_kj F_kl    (i, j, l distinct).

A factor B of the first, (B B^T)_ij = PMI2_ij off the diagonal, is (sqrt r_k F_k)_k up to a rotation R, and the second is
the K x K x K core sum_k r_k^(-1/2) R_k (x) R_k (x) R_k in the coordinates B: an orthogonal tensor whose eigenvalues give
the priors. Higher orders follow from the recovered network and are subtracted before the next round.

Findings are scaled by sqrt P(absent), the reciprocal of the noise of their moments up to a constant. Otherwise a single
finding that is nearly always present would drown all others.
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
from ._expansion import choose_degree, compute_higher_orders
from ._missing_diagonal import compute_largest_eigenvalue, factor_off_diagonal
from .absences import AbsenceMoments, LogAbsences, Partition
from .inference import Network

MIN_ODDS, MAX_ODDS = 1e-8, 1e3  # range of estimated odds of causes
_TINY, _NEGLIGIBLE = 1e-12, 1e-6  # smallest leak, and relative length from which a direction counts
_SOLVER_TOL, _KRYLOV_SIZE, _RESTARTS = 1e-7, 40, 4  # options of GMRES
_EXPANSION_ERROR = 1e-12  # error of log(1 + r t) by its orders
_MAX_DENSE_NORM = 600  # rows up to which norms come from all singular values
_NORM_TOL = 0.03  # relative error of the norms of larger matrices


Operator = Callable[[np.ndarray], np.ndarray]


class Triples(Protocol):
    """The set of triples of findings that a moment sums over."""

    def operator(self, core_rows: np.ndarray, basis_rows: np.ndarray) -> Operator:
        """Return the map from a symmetric core to the symmetrised sum over triples of core(l_i, l_j, l_k) r_i (x) r_j (x) r_k.

        The core is (K, K, K); l are the rows of ``core_rows`` (n, K), r those of ``basis_rows`` (n, d).
        """

    def powers(self, coefficients: np.ndarray, vectors: np.ndarray, basis_rows: np.ndarray) -> np.ndarray:
        """Return the same sum with sum_p c_p v_pi v_pj v_pk in place of the core, (d, d, d); vectors (P, n)."""


class AllTriples:
    """All triples of distinct findings, each once, without findings whose basis row is zero.

    A sum over distinct indices is the sum over all indices, less those with two equal ones, plus twice those with three equal
    ones: no list of triples is needed.
    """

    def operator(self, core_rows: np.ndarray, basis_rows: np.ndarray) -> Operator:
        counted_findings = np.flatnonzero(basis_rows.any(axis=1))
        core_rows, basis_rows = core_rows[counted_findings], basis_rows[counted_findings]
        k, cross_product = core_rows.shape[1], core_rows.T @ basis_rows
        core_pairs, basis_pairs = _pairs(core_rows), _pairs(basis_rows)

        def apply(core: np.ndarray) -> np.ndarray:
            inner = core_pairs @ core.reshape(k * k, k)
            repeated = basis_pairs.T @ (
                inner @ cross_product - (2 / 3) * (inner * core_rows).sum(axis=1, keepdims=True) * basis_rows
            )
            return (
                symmetrise_modes(
                    multilinear(core, cross_product, cross_product, cross_product)
                    - 3 * repeated.reshape([basis_rows.shape[1]] * 3)
                )
                / 6
            )

        return apply

    def powers(self, coefficients: np.ndarray, vectors: np.ndarray, basis_rows: np.ndarray) -> np.ndarray:
        images = vectors @ basis_rows
        all_index_sums = np.einsum("p,pa,pb,pc->abc", coefficients, images, images, images, optimize=True)
        squares = (coefficients[:, None] * vectors**2).T @ images
        cubes = coefficients @ vectors**3
        repeated = _pairs(basis_rows).T @ (squares - (2 / 3) * cubes[:, None] * basis_rows)
        return symmetrise_modes(all_index_sums - 3 * repeated.reshape(all_index_sums.shape)) / 6


class SplitTriples:
    """Triples of findings with one in each set of a partition."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    def operator(self, core_rows: np.ndarray, basis_rows: np.ndarray) -> Operator:
        maps = [core_rows[part].T @ basis_rows[part] for part in self._partition]
        return lambda core: symmetrise_modes(multilinear(core, *maps))

    def powers(self, coefficients: np.ndarray, vectors: np.ndarray, basis_rows: np.ndarray) -> np.ndarray:
        a, b, c = (vectors[:, part] @ basis_rows[part] for part in self._partition)
        return symmetrise_modes(np.einsum("p,pa,pb,pc->abc", coefficients, a, b, c, optimize=True))


def _pairs(rows: np.ndarray) -> np.ndarray:
    """Return r_i (x) r_i for every row, shape (n, d^2)."""
    return (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)


@dataclass(frozen=True)
class Moments:
    """Moments of pairs, and of triples in the coordinates of a basis.

    Attributes
    ----------
    pairs : ndarray of shape (n, n)
        PMI2, scaled.
    single : ndarray of shape (n,)
        Logarithms of P(absent).
    cube : ndarray of shape (d, d, d)
        Sum of scaled PMI3_ijl u_i (x) u_j (x) u_l over some triples, u the rows of the basis, symmetrised.
    basis : ndarray of shape (n, d)
        Orthonormal columns, the leading one first; zero rows for findings whose triples are not counted.
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
        """Return the moments in the coordinates of the leading columns alone."""
        k = n_components
        return replace(self, basis=self.basis[:, :k], cube=self.cube[:k, :k, :k])


class Recovered(NamedTuple):
    """A recovered network, the factor B (n, K), and the networks of the last rounds."""

    network: Network
    factor: np.ndarray
    rounds: tuple[Network, ...] = ()


def draw_partitions(findings: np.ndarray, n_partitions: int, seed: int) -> list[Partition]:
    """Draw random partitions of findings into sets S_a, S_b and S_c of equal size."""
    rng = np.random.default_rng(seed)
    shuffled = (rng.permutation(findings) for _ in range(n_partitions))
    return [Partition(*(np.sort(part) for part in np.array_split(order, 3))) for order in shuffled]


def count_pair_directions(pairs: np.ndarray, max_directions: int) -> int:
    """Count the directions in which pairs of findings vary together, up to a maximum."""
    lengths = np.linalg.norm(factor_off_diagonal(pairs, max_directions)[0], axis=0)
    return max(1, int((lengths > _NEGLIGIBLE * lengths[0]).sum()))


def compute_pair_basis(pairs: np.ndarray, n_components: int) -> np.ndarray:
    """Compute an orthonormal basis of the leading space of scaled PMI2, (n, K)."""
    factor = factor_off_diagonal(pairs, n_components)[0]
    return factor / compute_column_lengths(factor)


def compute_column_lengths(factor: np.ndarray) -> np.ndarray:
    """Compute the lengths of the columns of the factor of pairs; raise if some are negligible."""
    lengths, k = np.linalg.norm(factor, axis=0), factor.shape[1]
    n_supported = int((lengths > _NEGLIGIBLE * lengths[0]).sum())
    if n_supported < k:
        raise LatentiaError(
            f"pairs of findings vary together in {n_supported} directions, which can separate at most {n_supported} causes.",
            at_most=n_supported, parameter="n_components", value=k,
        )  # fmt: skip
    return lengths


def compute_moments(
    source: AbsenceMoments,
    basis: np.ndarray,
    partitions: Sequence[Partition],
    selections: Sequence[tuple[int, ...]],
    progress: bool = False,
) -> tuple[list[Moments], list[Moments]]:
    """Compute the moments of each selection of groups of rows, from all triples, and of each partition, from all rows.

    The first selection is that of all rows.
    """
    logs = source.logs(selections[0])
    scale = np.exp(logs.single / 2)
    cubes, split_cubes = source.all_triples(scale[:, None] * basis, selections, partitions, progress and "triples")
    by_rows = []
    for groups, cube in zip(selections, cubes, strict=True):
        logs_of_selection = source.logs(groups)
        by_rows.append(
            Moments(scale_pairs(logs_of_selection, scale), logs_of_selection.single, cube, basis, scale, AllTriples())
        )
    pairs = scale_pairs(logs, scale)
    by_partition = [
        Moments(pairs, logs.single, cube, basis, scale, SplitTriples(partition))
        for cube, partition in zip(split_cubes, partitions, strict=True)
    ]
    return by_rows, by_partition


def scale_pairs(logs: LogAbsences, scale: np.ndarray) -> np.ndarray:
    """Return PMI2 between scaled findings."""
    return scale[:, None] * logs.pmi * scale


def largest(matrix: np.ndarray) -> float:
    """Return the spectral norm; matrices with more than 600 rows and columns must be symmetric."""
    if min(matrix.shape) <= _MAX_DENSE_NORM:
        return float(np.linalg.norm(matrix, 2))
    return max(compute_largest_eigenvalue(matrix, _NORM_TOL), compute_largest_eigenvalue(-matrix, _NORM_TOL))


def compute_noise(source: AbsenceMoments, scale: np.ndarray, folds: Folds, directions: np.ndarray) -> float:
    """Compute the noise of scaled PMI2: the spectral norm of half of the difference of two halves, outside some directions.

    Parameters
    ----------
    directions : ndarray of shape (n, k)
        Orthonormal columns to project out.
    """
    first_half, second_half = (scale_pairs(source.logs(half), scale) for half in folds.splits[0])
    noise = (first_half - second_half) / 2
    for _ in range(2):
        noise = noise.T - directions @ (directions.T @ noise.T)
    return largest(noise)


def recover(moments: Moments, prior: float | None, corrections: int, max_weight: float) -> Recovered:
    """Run rounds of factor, core and decomposition, each on moments less the higher orders of the last network."""
    k = moments.basis.shape[1]
    recovered: Recovered | None = None
    rounds: tuple[Network, ...] = ()
    for _ in range(corrections + 1):
        # Subtract the higher orders of the last network.
        pairs, cube = _subtract_higher_orders(moments, recovered)
        # Pairs give the components up to a rotation, and triples the rotation.
        factor = factor_off_diagonal(pairs, k, None if recovered is None else recovered.factor)[0]
        decomposition = decompose(_solve_core(moments, factor, cube), k)
        network = _build_network(moments, factor, decomposition, prior, max_weight)
        rounds = (*rounds[-2:], network)
        recovered = Recovered(network, factor, rounds)
    assert recovered is not None
    return recovered


def compute_residual(moments: Moments, network: Network) -> np.ndarray:
    """Return scaled PMI2 less that of the network, (n, n), with a zero diagonal."""
    return subtract_pairs(moments.pairs, moments.scale, network)


def subtract_pairs(pairs: np.ndarray, scale: np.ndarray, network: Network) -> np.ndarray:
    """Return scaled pairs less those of the network, (n, n), with a zero diagonal."""
    odds = network.priors / (1 - network.priors)
    coefficients, vectors = compute_higher_orders(network.weights, odds, choose_degree(odds, _EXPANSION_ERROR))
    coefficients[: network.m] += odds
    vectors *= scale
    residual: np.ndarray = pairs - (coefficients * vectors.T) @ vectors
    np.fill_diagonal(residual, 0.0)
    return residual


def _subtract_higher_orders(moments: Moments, recovered: Recovered | None) -> tuple[np.ndarray, np.ndarray]:
    """Return PMI2 (n, n) and the cube (d, d, d) less their higher orders."""
    if recovered is None:
        return moments.pairs, moments.cube
    network = recovered.network
    coefficients, vectors = compute_higher_orders(network.weights, network.priors / (1 - network.priors))
    vectors = vectors * moments.scale
    pairs = moments.pairs - (coefficients * vectors.T) @ vectors
    return pairs, moments.cube - moments.triples.powers(coefficients, vectors, moments.basis)


def _solve_core(moments: Moments, factor: np.ndarray, cube: np.ndarray) -> np.ndarray:
    """Find the symmetric core S, (K, K, K), whose sum over triples of S(B_i, B_j, B_l) u_i (x) u_j (x) u_l is the cube."""
    # Solve for S in an orthonormal basis of span(B), rotated to be as near to u as possible: the equations are then nearly
    # symmetric and well conditioned.
    orthonormal, triangle = np.linalg.qr(factor)
    rotation = polar_factor(orthonormal.T @ moments.basis)
    k = orthonormal.shape[1]
    apply_triples = moments.triples.operator(orthonormal @ rotation, moments.basis)
    system = LinearOperator(
        (k**3, k**3), lambda flat: apply_triples(symmetrise_modes(flat.reshape(k, k, k))).ravel(), dtype=np.float64
    )
    solution, _ = gmres(system, cube.ravel(), rtol=_SOLVER_TOL, restart=_KRYLOV_SIZE, maxiter=_RESTARTS)
    return symmetrise_modes(
        multilinear(symmetrise_modes(solution.reshape(k, k, k)), *[rotation.T @ np.linalg.inv(triangle).T] * 3)
    )


def _build_network(
    moments: Moments, factor: np.ndarray, decomposition: Decomposition, prior: float | None, max_weight: float
) -> Network:
    """Build the network: F_k = B R_k / sqrt r_k, and r_k = 1 / lambda_k^2 unless the prior is given."""
    eigenvalues, rotation, _ = decomposition
    odds = compute_odds(eigenvalues, prior)
    strengths = (rotation @ factor.T) / np.sqrt(odds)[:, None] / moments.scale
    return order_network(strengths, odds, moments.single, max_weight)


def compute_odds(eigenvalues: np.ndarray, prior: float | None) -> np.ndarray:
    """Return r = rho / (1 - rho) of every cause, from the eigenvalues of the core unless the prior is given."""
    if prior is None:
        return np.clip(np.maximum(eigenvalues, _TINY) ** -2.0, MIN_ODDS, MAX_ODDS)
    return np.full(len(eigenvalues), prior / (1 - prior))


def order_network(strengths: np.ndarray, odds: np.ndarray, single: np.ndarray, max_weight: float) -> Network:
    """Return the network with F = strengths, clipped to their range, the most frequent cause first.

    The leak is what P(absent), given by its logarithm ``single``, shows beyond the causes.
    """
    clipped = np.clip(strengths, 0.0, -np.expm1(-max_weight))
    priors = odds / (1 + odds)
    leak = _mean_leak(-np.expm1(single - np.log1p(-priors[:, None] * clipped).sum(axis=0)), np.exp(single / 2))
    order = np.lexsort((-clipped.sum(axis=1), -priors))
    return Network(-np.log1p(-clipped[order]), priors[order], leak)


def _mean_leak(estimates: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return posterior means of leaks given estimates with normal noise and a flat prior above 0; never 0.

    Negative estimates are noise alone and show its size, which is proportional to 1 / sqrt P(absent). A leak of 0 would make
    rows impossible that no cause explains, and posteriors too sharp.
    """
    is_negative = estimates < 0
    if not is_negative.any():
        return np.clip(estimates, _TINY, 1.0)
    noise = np.sqrt(np.mean((estimates[is_negative] * scale[is_negative]) ** 2)) / scale
    z = estimates / noise
    # Ratio of the standard normal density to its distribution function, by a scaled function that cannot underflow.
    mills_ratio = np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2))
    return np.clip(estimates + noise * mills_ratio, _TINY, 1.0)
