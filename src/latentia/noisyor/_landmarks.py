"""Networks of many causes: triples of some findings alone, and what they lack imputed from the network so far.

B is the factor of pairs, (B B^T)_ij = PMI2_ij off the diagonal. Triples are counted of landmarks, findings whose rows of B span
all causes well; with W = B (B^T B)^-1 over their rows, B^T W = I, and the sum over all triples of landmarks

    sum_ijl PMI3_ijl w_i (x) w_j (x) w_l

would be the core, sum_k r_k^(-1/2) R_k (x) R_k (x) R_k. Triples in which a finding comes twice are not moments. They are
imputed from the network of the round before, to first order in r, and the higher orders of the others are taken off. Nothing
is solved for: no array is larger than the core, which is packed and in single precision.

Findings are scaled by sqrt(P(absent) / P(present)): independent findings have moments with the same noise then, 1 / sqrt N in
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
from ._expansion import degree_for, higher_orders
from ._hollow import hollow_factor
from ._packed import products, symmetrise, transform
from ._recovery import lengths_of, noise_beside, odds_of, ordered_network, scaled_pairs
from .absences import AbsenceMoments, LogAbsences
from .inference import Network

Groups = tuple[int, ...]
LEAST_STRENGTH = 0.05  # of a link: weaker ones are noise for the most part
_A_CAUSE = 2  # landmarks
_EDGE, _UNSURE = 1.1, 1.1  # of the noise: above it are causes, and from where to where they may be
_AS_LOUD = 0.98  # of the noise with more directions left out, from which on it is the same
_STEPS, _CLOSE = 100, 1e-4  # of the factor, and how close its diagonal comes
_ITERATIONS, _SETTLED = 40, 1e-4  # of the decomposition
_ORDERS = 1e-6  # error of log(1 + r t) by its orders
_LEAST_SHARE = 0.3  # of a weight that the counted triples show, below which what they do not show is not known


def even_scale(logs: LogAbsences) -> np.ndarray:
    """sqrt(P(absent) / P(present)) of every finding."""
    return np.exp(logs.single / 2) / np.sqrt(-np.expm1(logs.single))


def causes_above_noise(source: AbsenceMoments, folds: Folds) -> tuple[int, tuple[int, int]]:
    """How many eigenvalues of scaled pairs are above their noise, and how many would be with a noise 10% larger or smaller.

    The diagonal of pairs is that of a factor with more columns than there are such eigenvalues. Noise is that beside their
    directions, in which halves of the rows differ by how often causes are on as well.
    """
    scale = even_scale(source.logs(folds.all))
    pairs = scaled_pairs(source.logs(folds.all), scale).astype(np.float32)
    most, noise = noisy_or_causes(source.n_features), noise_beside(source, scale, folds, np.zeros((len(scale), 0)))
    tried = int((np.linalg.eigvalsh(pairs) > noise).sum())
    while True:
        tried = min(max(tried + tried // 10 + 5, 1), most)
        factor = factor_of_pairs(pairs, tried).astype(np.float64)
        values = (factor**2).sum(axis=0)
        found = int((values > _EDGE * noise).sum())
        left = noise_beside(source, scale, folds, factor[:, :found] / np.sqrt(values[:found]))
        if left >= _AS_LOUD * noise and (found < tried or tried == most):
            low, high = (max(int((values > share * _EDGE * noise).sum()), 1) for share in (_UNSURE, 1 / _UNSURE))
            return max(found, 1), (low, high)
        noise = min(left, noise)


def factor_of_pairs(pairs: np.ndarray, rank: int, start: np.ndarray | None = None) -> np.ndarray:
    """The factor B (n, rank) of pairs in single precision, from that of similar ones."""
    if start is None:  # so short that its squares are no diagonal
        start = 1e-6 * np.random.default_rng(0).standard_normal((len(pairs), rank)).astype(np.float32)
    return hollow_factor(pairs, rank, start, max_iter=_STEPS, tol=_CLOSE)[0]


class Landmarks:
    """Learns networks of groups of rows from triples of landmarks, which are counted once for all selections of groups.

    Parameters
    ----------
    source : AbsenceMoments
    n_components : int
    selections : sequence of tuple
        Groups of rows that will be asked for, all of them first; the triples of others are counted when they are.
    size : int
        Landmarks, if there are no more of two for every cause.
    rounds : dict
        prior, corrections and max_weight.
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
        self._source, self._k, self._rounds, self.likely = source, n_components, rounds, likely
        self._scale = even_scale(source.logs(selections[0]))
        self.scale = self._scale
        pairs = scaled_pairs(source.logs(selections[0]), self._scale).astype(np.float32)
        self._first = factor = factor_of_pairs(pairs, n_components)
        lengths_of(factor)
        n = source.n_features
        self._places = _landmarks(factor, min(n, max(size, _A_CAUSE * n_components)))
        self._dual = np.linalg.pinv(factor[self._places].astype(np.float64)).T.astype(np.float32)
        self._basis = np.zeros((n, n_components), np.float32)
        self._basis[self._places] = self._dual * self._scale[self._places, None]
        found = source.packed_triples(self._basis, selections, progress and "triples")
        self._triples = dict(zip(selections, found, strict=True))
        self._networks: dict[Groups, Network] = {}

    def network(self, groups: Groups) -> Network:
        if groups not in self._triples:
            self._triples[groups] = self._source.packed_triples(self._basis, [groups])[0]
        if groups not in self._networks:
            self._networks[groups] = self._learned(groups)
        return self._networks[groups]

    def _learned(self, groups: Groups) -> Network:
        """Rounds of factor, core, decomposition, each with what the network before says is missing."""
        logs, network, factor = self._source.logs(groups), None, self._first
        pairs = scaled_pairs(logs, self._scale).astype(np.float32)
        for _ in range(self._rounds["corrections"] + 1):
            first_order = pairs if network is None else pairs - self._higher_pairs(network)
            factor = factor_of_pairs(first_order, self._k, factor)
            lengths_of(factor)
            network = self._network(self._core(groups, factor, network), factor, network, logs.single)
        assert network is not None
        return network

    def _core(self, groups: Groups, factor: np.ndarray, network: Network | None) -> np.ndarray:
        """The core in coordinates B, (K, P) packed."""
        core = 6 * self._triples[groups]
        if network is not None:
            core += symmetrise(products(*self._missing(network)))
        return transform(core, np.linalg.inv(factor[self._places].T @ self._dual))

    def _missing(self, network: Network) -> tuple[np.ndarray, np.ndarray]:
        """First order of the triples with a finding twice, less the higher orders of the others: left and right factors.

        Sums over distinct i, j, l are those over all, less three times those over two that are the same, plus twice those over
        three.
        """
        weights, odds = network.weights[:, self._places], network.priors / (1 - network.priors)
        coefficients, vectors = higher_orders(weights, odds, degree_for(odds, _ORDERS))
        scaled = (vectors * self._scale[self._places]).astype(np.float32)
        images = scaled @ self._dual
        all_orders = coefficients.copy()
        all_orders[: len(odds)] += odds
        twice = (all_orders[:, None] * scaled**2).astype(np.float32).T @ images
        thrice = (all_orders @ scaled**3).astype(np.float32)
        same = 3 * twice - 2 * thrice[:, None] * self._dual
        left = np.vstack([-(coefficients.astype(np.float32)[:, None] * images), same])
        return left, np.vstack([images, self._dual])

    def _higher_pairs(self, network: Network) -> np.ndarray:
        """What pairs have beyond the first order, (n, n)."""
        odds = network.priors / (1 - network.priors)
        coefficients, vectors = higher_orders(network.weights, odds, degree_for(odds, _ORDERS))
        scaled = (vectors * self._scale).astype(np.float32)
        return (coefficients.astype(np.float32) * scaled.T) @ scaled

    def _frame(self, network: Network, factor: np.ndarray) -> np.ndarray:
        """Directions of the causes of a network in the coordinates B, (K, K)."""
        odds = network.priors / (1 - network.priors)
        own = np.sqrt(odds)[:, None] * -np.expm1(-network.weights) * self._scale
        return np.asarray(own @ factor / (factor**2).sum(axis=0))

    def _network(self, core: np.ndarray, factor: np.ndarray, before: Network | None, single: np.ndarray) -> Network:
        """The network of a core, whose imputed part is that of the network before."""
        frame = None if before is None else self._frame(before, factor)
        options: dict[str, Any] = {"n_init": 1, "max_iter": _ITERATIONS, "tol": _SETTLED, "starts": frame}
        found = ascent(SymmetricThree.from_packed(core), self._k, np.random.default_rng(0), **options)
        signs = np.where(found.weights < 0, -1.0, 1.0)
        vectors = found.vectors.astype(np.float64) * signs[:, None]
        imputed = np.zeros(self._k) if before is None else np.sqrt((1 - before.priors) / before.priors)
        counted = self._counted(vectors, factor[self._places])
        weights = imputed + np.linalg.lstsq(counted, found.weights * signs - imputed, None)[0]
        weights = np.where(weights > _LEAST_SHARE * np.abs(found.weights), weights, np.abs(found.weights))
        odds = odds_of(weights, self._rounds["prior"])
        strengths = (vectors @ factor.T) / np.sqrt(odds)[:, None] / self._scale
        strengths[strengths < LEAST_STRENGTH] = 0.0
        return ordered_network(strengths, odds, single, self._rounds["max_weight"])

    def _counted(self, vectors: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """How much of the weight of component k is counted for direction l, in triples without a finding twice, (K, K)."""
        own = vectors @ factor.T
        dual = vectors @ np.linalg.inv(factor.T @ self._dual).T @ self._dual.T
        return (dual @ own.T) ** 3 - 3 * (dual @ own.T) * (dual**2 @ own.T**2) + 2 * (dual**3 @ own.T**3)


def _landmarks(factor: np.ndarray, size: int) -> np.ndarray:
    """Findings whose rows of the factor span its space well, by pivoted QR, of those left again and again."""
    left, chosen = np.arange(len(factor)), np.empty(0, np.int64)
    while len(chosen) < size:
        order = qr(factor[left].T, mode="r", pivoting=True)[1]
        some = left[order[: min(factor.shape[1], size - len(chosen))]]
        chosen, left = np.append(chosen, some), np.setdiff1d(left, some)
    return np.sort(chosen)
