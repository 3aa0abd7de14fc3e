"""Networks of many causes, from triples of landmark findings.

B is the factor of pairs, (B B^T)_ij = PMI2_ij off the diagonal. Triples are counted for landmarks only, findings whose rows of
B span all causes well. With W = B (B^T B)^-1 over their rows, B^T W = I, and the sum over all triples of landmarks

    sum_ijl PMI3_ijl w_i (x) w_j (x) w_l

would be the core, sum_k r_k^(-1/2) R_k (x) R_k (x) R_k. Triples with a repeated finding are no moments: they are imputed from
the network of the last round, to first order in r. The higher orders of the other triples are subtracted. No system is
solved, and no array is larger than the core, which is packed and in single precision.

Findings are scaled by sqrt(P(absent) / P(present)). Moments of independent findings then have the same noise, 1 / sqrt N in
pairs and triples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import qr

from ..evidence.bounds import noisy_or_causes
from ..passes import Folds
from ..tensor.operators import SymmetricThree
from ..tensor.polar import ascent
from ._expansion import choose_degree, compute_higher_orders
from ._missing_diagonal import factor_off_diagonal
from ._packed import sum_products, symmetrise, transform
from ._recovery import compute_column_lengths, compute_noise, compute_odds, order_network, scale_pairs
from .absences import AbsenceMoments, LogAbsences
from .inference import Network
from .inference.network import MIN_STRENGTH

Groups = tuple[int, ...]
_LANDMARKS_PER_CAUSE = 2  # smallest number of landmarks for each cause
_NOISE_FACTOR = 1.1  # eigenvalues count as causes from this multiple of the noise
_UNCERTAINTY_FACTOR = 1.1  # factor on the noise that gives the range of likely numbers of causes
_SAME_NOISE_SHARE = 0.98  # noise that falls by less, with more directions projected out, has converged
_MAX_FACTOR_STEPS, _FACTOR_TOL = 100, 1e-4  # steps and tolerance of the factor of pairs
_MAX_POLAR_STEPS, _POLAR_TOL = 40, 1e-4  # steps and tolerance of the decomposition
_EXPANSION_ERROR = 1e-6  # error of log(1 + r t) by its orders
_MIN_WEIGHT_SHARE = 0.3  # share of its observed weight below which the imputed part of a component is not trusted


def compute_even_scale(logs: LogAbsences) -> np.ndarray:
    """Compute sqrt(P(absent) / P(present)) of every finding."""
    return np.exp(logs.single / 2) / np.sqrt(-np.expm1(logs.single))


def count_causes_above_noise(source: AbsenceMoments, folds: Folds) -> tuple[int, tuple[int, int]]:
    """Count the eigenvalues of scaled pairs above their noise; also with a noise 10% larger and 10% smaller.

    The diagonal of pairs is that of a factor with more columns than such eigenvalues. The noise is measured outside their
    directions, where halves of the rows do not differ by the frequency of causes.
    """
    scale = compute_even_scale(source.logs(folds.all))
    pairs = scale_pairs(source.logs(folds.all), scale).astype(np.float32)
    max_causes = noisy_or_causes(source.n_features)
    noise = compute_noise(source, scale, folds, np.zeros((len(scale), 0)))
    n_columns = int((np.linalg.eigvalsh(pairs) > noise).sum())
    while True:
        n_columns = min(max(n_columns + n_columns // 10 + 5, 1), max_causes)
        factor = factor_pairs(pairs, n_columns).astype(np.float64)
        values = (factor**2).sum(axis=0)
        n_causes = int((values > _NOISE_FACTOR * noise).sum())
        remaining_noise = compute_noise(source, scale, folds, factor[:, :n_causes] / np.sqrt(values[:n_causes]))
        if remaining_noise >= _SAME_NOISE_SHARE * noise and (n_causes < n_columns or n_columns == max_causes):
            low, high = (
                max(int((values > share * _NOISE_FACTOR * noise).sum()), 1)
                for share in (_UNCERTAINTY_FACTOR, 1 / _UNCERTAINTY_FACTOR)
            )
            return max(n_causes, 1), (low, high)
        noise = min(remaining_noise, noise)


def factor_pairs(pairs: np.ndarray, rank: int, start: np.ndarray | None = None) -> np.ndarray:
    """Factor pairs in single precision, B (n, rank), from the factor of similar pairs if there is one."""
    if start is None:  # short columns, whose squares leave the diagonal near zero
        start = 1e-6 * np.random.default_rng(0).standard_normal((len(pairs), rank)).astype(np.float32)
    return factor_off_diagonal(pairs, rank, start, max_iter=_MAX_FACTOR_STEPS, tol=_FACTOR_TOL)[0]


class Landmarks:
    """Recovery from triples of landmarks, which are counted once for all selections of groups of rows.

    Parameters
    ----------
    source : AbsenceMoments
    n_components : int
    selections : sequence of tuple
        Groups of rows to prepare, all rows first. Triples of other groups are counted on demand.
    size : int
        Number of landmarks; at least two for every cause are used.
    rounds : dict
        Options of each round: prior, corrections and max_weight.
    """

    agreement: np.ndarray | None = None
    remaining: np.ndarray | None = None
    scale: np.ndarray | None

    def __init__(
        self,
        source: AbsenceMoments,
        n_components: int,
        selections: Sequence[Groups],
        size: int,
        rounds: dict[str, Any],
        likely: tuple[int, int] | None = None,
        progress: bool = False,
    ) -> None:
        self._source, self._n_components, self._rounds, self.likely = source, n_components, rounds, likely
        self._scale = compute_even_scale(source.logs(selections[0]))
        self.scale = self._scale
        pairs = scale_pairs(source.logs(selections[0]), self._scale).astype(np.float32)
        self._first_factor = factor = factor_pairs(pairs, n_components)
        compute_column_lengths(factor)
        n = source.n_features
        self._landmark_columns = _choose_landmarks(factor, min(n, max(size, _LANDMARKS_PER_CAUSE * n_components)))
        self._dual = np.linalg.pinv(factor[self._landmark_columns].astype(np.float64)).T.astype(np.float32)
        self._basis = np.zeros((n, n_components), np.float32)
        self._basis[self._landmark_columns] = self._dual * self._scale[self._landmark_columns, None]
        triples = source.sum_packed_triples(self._basis, selections, progress and "triples")
        self._triples = dict(zip(selections, triples, strict=True))
        self._networks: dict[Groups, Network] = {}

    def network(self, groups: Groups) -> Network:
        if groups not in self._triples:
            self._triples[groups] = self._source.sum_packed_triples(self._basis, [groups])[0]
        if groups not in self._networks:
            self._networks[groups] = self._learn(groups)
        return self._networks[groups]

    def _learn(self, groups: Groups) -> Network:
        """Run rounds of factor, core and decomposition, each with the missing triples of the last network."""
        logs, network, factor = self._source.logs(groups), None, self._first_factor
        pairs = scale_pairs(logs, self._scale).astype(np.float32)
        for _ in range(self._rounds["corrections"] + 1):
            first_order = pairs if network is None else pairs - self._compute_higher_pairs(network)
            factor = factor_pairs(first_order, self._n_components, factor)
            compute_column_lengths(factor)
            network = self._network(self._core(groups, factor, network), factor, network, logs.single)
        assert network is not None
        return network

    def _core(self, groups: Groups, factor: np.ndarray, network: Network | None) -> np.ndarray:
        """Compute the packed core in coordinates B, (K, P)."""
        core = 6 * self._triples[groups]
        if network is not None:
            core += symmetrise(sum_products(*self._missing(network)))
        return transform(core, np.linalg.inv(factor[self._landmark_columns].T @ self._dual))

    def _missing(self, network: Network) -> tuple[np.ndarray, np.ndarray]:
        """Return two factors of the missing part: triples with a repeated finding, less the higher orders of the others.

        A sum over distinct i, j, l is the sum over all, less three times that with two equal ones, plus twice that with three.
        """
        weights, odds = network.weights[:, self._landmark_columns], network.priors / (1 - network.priors)
        coefficients, vectors = compute_higher_orders(weights, odds, choose_degree(odds, _EXPANSION_ERROR))
        vectors_scaled = (vectors * self._scale[self._landmark_columns]).astype(np.float32)
        images = vectors_scaled @ self._dual
        all_orders = coefficients.copy()
        all_orders[: len(odds)] += odds
        pair_repeats = (all_orders[:, None] * vectors_scaled**2).astype(np.float32).T @ images
        triple_repeats = (all_orders @ vectors_scaled**3).astype(np.float32)
        repeats = 3 * pair_repeats - 2 * triple_repeats[:, None] * self._dual
        first_factor = np.vstack([-(coefficients.astype(np.float32)[:, None] * images), repeats])
        return first_factor, np.vstack([images, self._dual])

    def _compute_higher_pairs(self, network: Network) -> np.ndarray:
        """Compute the higher orders of pairs, (n, n)."""
        odds = network.priors / (1 - network.priors)
        coefficients, vectors = compute_higher_orders(network.weights, odds, choose_degree(odds, _EXPANSION_ERROR))
        scaled = (vectors * self._scale).astype(np.float32)
        return (coefficients.astype(np.float32) * scaled.T) @ scaled

    def _frame(self, network: Network, factor: np.ndarray) -> np.ndarray:
        """Return the directions of the causes of a network in the coordinates B, (K, K)."""
        odds = network.priors / (1 - network.priors)
        scaled_strengths = np.sqrt(odds)[:, None] * -np.expm1(-network.weights) * self._scale
        return np.asarray(scaled_strengths @ factor / (factor**2).sum(axis=0))

    def _network(
        self, core: np.ndarray, factor: np.ndarray, last_network: Network | None, single: np.ndarray
    ) -> Network:
        """Build the network of a core whose imputed part comes from the last network."""
        start_vectors = None if last_network is None else self._frame(last_network, factor)
        options: dict[str, Any] = {
            "n_init": 1,
            "max_iter": _MAX_POLAR_STEPS,
            "tol": _POLAR_TOL,
            "starts": start_vectors,
        }
        decomposition = ascent(
            SymmetricThree.from_packed(core), self._n_components, np.random.default_rng(0), **options
        )
        signs = np.where(decomposition.weights < 0, -1.0, 1.0)
        vectors = decomposition.vectors.astype(np.float64) * signs[:, None]
        imputed = (
            np.zeros(self._n_components)
            if last_network is None
            else np.sqrt((1 - last_network.priors) / last_network.priors)
        )
        counted_shares = self._compute_counted_shares(vectors, factor[self._landmark_columns])
        weights = imputed + np.linalg.lstsq(counted_shares, decomposition.weights * signs - imputed, None)[0]
        weights = np.where(
            weights > _MIN_WEIGHT_SHARE * np.abs(decomposition.weights), weights, np.abs(decomposition.weights)
        )
        odds = compute_odds(weights, self._rounds["prior"])
        strengths = (vectors @ factor.T) / np.sqrt(odds)[:, None] / self._scale
        strengths[strengths < MIN_STRENGTH] = 0.0
        return order_network(strengths, odds, single, self._rounds["max_weight"])

    def _compute_counted_shares(self, vectors: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Return the share of component k's weight that triples of distinct findings show in direction l, (K, K)."""
        loadings = vectors @ factor.T
        dual = vectors @ np.linalg.inv(factor.T @ self._dual).T @ self._dual.T
        return (
            (dual @ loadings.T) ** 3
            - 3 * (dual @ loadings.T) * (dual**2 @ loadings.T**2)
            + 2 * (dual**3 @ loadings.T**3)
        )


def _choose_landmarks(factor: np.ndarray, size: int) -> np.ndarray:
    """Choose findings whose rows of the factor span its space well, by repeated pivoted QR of the remaining ones."""
    remaining, chosen = np.arange(len(factor)), np.empty(0, np.int64)
    while len(chosen) < size:
        order = qr(factor[remaining].T, mode="r", pivoting=True)[1]
        pivots = remaining[order[: min(factor.shape[1], size - len(chosen))]]
        chosen, remaining = np.append(chosen, pivots), np.setdiff1d(remaining, pivots)
    return np.sort(chosen)
