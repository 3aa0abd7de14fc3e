"""Two ways from moments to a network: in rounds, and as printed. Each learns from the rows of any groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.spatial.distance import cdist

from ..exceptions import LatentiaError
from ..moments import AbsenceMoments, Partition
from ..passes import RowGroups
from ._printed import recover_as_printed
from ._recovery import (
    Moments,
    basis_of_pairs,
    directions_of_pairs,
    moments_in_basis,
    recover,
    residual_norm,
    scaled_pairs,
)
from .inference import Network

__all__ = ["InRounds", "Learner", "Printed", "Spectrum", "most_causes", "pair_spectrum", "relative_distances"]

Groups = tuple[int, ...]
_MOST = 60  # causes that are tried when their number is not given
_SPLITS = 4
_LEAST_CORRECTIONS = 2
_CLOSE = 1.5  # a residual that many times the least is as good
_TINY = 1e-12
_UNKNOWN_RATIO, _MOST_RATIO = 0.5, 0.9  # of the change of a round to that of the one before


class Learner(Protocol):
    """Gives the network of some groups of rows.

    Attributes
    ----------
    agreement : ndarray of shape (K,) or None
        Mean relative distance of each cause to the nearest one that a single partition finds.
    remaining : ndarray of shape (K,) or None
        Relative error that further rounds of corrections would take off; None where no rounds tell.
    """

    agreement: np.ndarray | None
    remaining: np.ndarray | None

    def network(self, groups: Groups) -> Network: ...


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of scaled PMI2 with the diagonal that the network says, the largest first, and the largest of its noise."""

    values: np.ndarray
    noise: float

    @property
    def rank(self) -> int:
        """Values above the noise."""
        return int((self.values > self.noise).sum())


def pair_spectrum(source: AbsenceMoments, network: Network, dealt: RowGroups) -> Spectrum:
    """Spectrum of PMI2; its noise is half of the difference of two halves of the rows."""
    logs = source.logs(dealt.all)
    scale = np.exp(logs.single / 2)
    pairs = scaled_pairs(logs, scale)
    odds = network.priors / (1 - network.priors)
    np.fill_diagonal(pairs, odds @ (np.expm1(-network.weights) * scale) ** 2)
    return Spectrum(np.linalg.eigvalsh(pairs)[::-1], _noise(source, scale, dealt, slice(None), slice(None)))


def most_causes(source: AbsenceMoments, dealt: RowGroups) -> int:
    """Causes worth trying, by the singular values of half of the findings against the other half.

    Those above half of the largest of their noise, and two more: a few too many cost time, one too few is lost.
    """
    logs = source.logs(dealt.all)
    scale = np.exp(logs.single / 2)
    pairs = scaled_pairs(logs, scale)
    found = 0
    for order in (np.random.default_rng(dealt.seed + i).permutation(source.n_features) for i in range(_SPLITS)):
        first, second = np.array_split(order, 2)
        values = np.linalg.svd(pairs[np.ix_(first, second)], compute_uv=False)
        found = max(found, int((values > _noise(source, scale, dealt, first, second) / 2).sum()))
    return max(1, min(found + 2, source.n_features // 3, _MOST))


def _noise(source: AbsenceMoments, scale: np.ndarray, dealt: RowGroups, rows: Any, columns: Any) -> float:
    """Spectral norm of a block of half of the difference of two halves of the rows; 0 for exact moments."""
    one, other = (scaled_pairs(source.logs(half), scale) for half in dealt.splits[0])
    return float(np.linalg.norm(((one - other) / 2)[rows][:, columns], 2))


class InRounds:
    """The recovery of `latentia.noisyor._recovery`, from triples that are counted once for all selections of groups.

    Parameters
    ----------
    source : AbsenceMoments
    findings : ndarray of int
        Findings whose triples are counted.
    partitions : sequence of Partition
        Of these findings; what each splits is learned from alone, for `agreement`.
    n_components : int or None
        None: the smallest number, up to ``most``, whose network leaves a residual of PMI2 near the least of all.
    most : int
    selections : sequence of tuple
        Groups of rows that will be asked for, all of them first; the triples of others are counted when they are.
    rounds : dict
        prior, corrections and max_weight.
    """

    def __init__(
        self,
        source: AbsenceMoments,
        findings: np.ndarray,
        partitions: Sequence[Partition],
        n_components: int | None,
        most: int,
        selections: Sequence[Groups],
        rounds: dict[str, Any],
        progress: bool = False,
    ) -> None:
        logs = source.logs(selections[0])
        pairs = scaled_pairs(logs, np.exp(logs.single / 2))
        if n_components is None:
            most = directions_of_pairs(pairs, most)
        basis = np.zeros((source.n_features, n_components or most))
        basis[findings] = basis_of_pairs(pairs, n_components or most)[findings]
        found, split = moments_in_basis(source, basis, partitions, selections, progress)
        if n_components is None:
            k = _fewest(found[0], most, rounds)
            found, split = ([moments.first(k) for moments in some] for some in (found, split))
        self._source, self._moments, self._rounds = source, dict(zip(selections, found, strict=True)), rounds
        whole = recover(found[0], **rounds)
        self._everyone, self._whole, self.remaining = selections[0], whole.network, _remaining(whole.rounds)
        self.agreement = _agreement(self._whole, split, rounds)

    def network(self, groups: Groups) -> Network:
        if groups == self._everyone:
            return self._whole
        if groups not in self._moments:  # then triples are counted once more
            basis = self._moments[self._everyone].basis
            self._moments[groups] = moments_in_basis(self._source, basis, [], [self._everyone, groups])[0][1]
        return recover(self._moments[groups], **self._rounds).network


def _fewest(moments: Moments, most: int, rounds: dict[str, Any]) -> int:
    """The smallest number of causes whose network leaves little more of PMI2 than any other."""
    residuals = []
    rounds = rounds | {
        "corrections": max(rounds["corrections"], _LEAST_CORRECTIONS)
    }  # else systematic error is all there is
    for k in range(1, most + 1):
        try:
            residuals.append(residual_norm(moments, recover(moments.first(k), **rounds).network))
        except LatentiaError:  # a core without k components
            residuals.append(np.inf)
    return 1 + int(np.argmax(np.array(residuals) <= _CLOSE * min(residuals)))


def _agreement(network: Network, split: Sequence[Moments], rounds: dict[str, Any]) -> np.ndarray | None:
    """Mean relative distance of each cause to the nearest one of each partition."""
    distances = []
    for moments in split:
        try:
            alone = recover(moments, **rounds).network
        except LatentiaError:
            continue
        distances.append(relative_distances(network.weights, alone.weights).min(axis=1))
    return np.mean(distances, axis=0) if distances else None


def _remaining(rounds: Sequence[Network]) -> np.ndarray | None:
    """What is left when the changes of the last rounds go on as a geometric series, relative to the weights, (K,)."""
    if len(rounds) < 2:
        return None
    last = relative_distances(rounds[-1].weights, rounds[-2].weights)
    before = last.argmin(axis=1)
    change = last.min(axis=1)
    ratio = np.full(len(change), _UNKNOWN_RATIO)
    if len(rounds) > 2:
        earlier = relative_distances(rounds[-2].weights, rounds[-3].weights).min(axis=1)[before]
        ratio = np.clip(change / np.maximum(earlier, _TINY), 0, _MOST_RATIO)
    return change * ratio / (1 - ratio)


class Printed:
    """Algorithm 1; triples are counted anew for every selection of groups."""

    agreement: np.ndarray | None = None
    remaining: np.ndarray | None = None

    def __init__(
        self, source: AbsenceMoments, partition: Partition, n_components: int, progress: bool = False, **options: Any
    ) -> None:
        self._source, self._partition, self._k = source, partition, n_components
        self._options = options | {"progress": progress}

    def network(self, groups: Groups) -> Network:
        return recover_as_printed(self._source, groups, self._partition, self._k, **self._options)


def relative_distances(weights: np.ndarray, others: np.ndarray) -> np.ndarray:
    """|W_k - W'_l|_2 / |W_k|_2 for all pairs of rows."""
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    return cdist(weights, others) / np.maximum(lengths, _TINY)
