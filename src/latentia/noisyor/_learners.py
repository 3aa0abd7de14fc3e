"""The recovery in rounds, and the number of causes. It learns from the rows of any groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.spatial.distance import cdist

from ..exceptions import LatentiaError
from ..passes import Folds
from ._recovery import (
    Moments,
    compute_moments,
    compute_noise,
    compute_pair_basis,
    compute_residual,
    count_pair_directions,
    largest,
    recover,
    scale_pairs,
)
from .absences import AbsenceMoments, Partition
from .inference import Network

Groups = tuple[int, ...]
MAX_SOLVED = 60  # causes of which the core is solved for, with 41 K^3 numbers: 70 MB; of 570 they would be 60 GB
_N_SPLITS = 4
_MIN_TRIALS = 3
_MIN_CORRECTIONS = 2
_COMPARED_RATIO = (
    2.0  # residuals, in units of the least, of numbers that are compared, and from which no fewer are tried
)
_STOP_RATIO = 4.0
_EQUIVALENT_RATIO = 1.02  # the same of parts that a network was not learned from
_TINY = 1e-12
_DEFAULT_RATIO, _MAX_RATIO = 0.5, 0.9  # of the change of a round to that of the one before


class Learner(Protocol):
    """Gives the network of some groups of rows.

    Attributes
    ----------
    agreement : ndarray of shape (K,) or None
        Mean relative distance of each cause to the nearest one that a single partition finds.
    remaining : ndarray of shape (K,) or None
        Relative error that further rounds of corrections would take off; None where no rounds tell.
    likely : (int, int) or None
        Numbers of causes that the data does not tell from the one that was found; None if it was given.
    scale : ndarray of shape (n,) or None
        By which findings are scaled; None: by sqrt P(absent).
    """

    agreement: np.ndarray | None
    remaining: np.ndarray | None
    likely: tuple[int, int] | None
    scale: np.ndarray | None

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


def compute_pair_spectrum(source: AbsenceMoments, network: Network, folds: Folds, scale: np.ndarray | None) -> Spectrum:
    """Spectrum of PMI2 of findings scaled as in `Learner`; its noise is half of the difference of two halves of the rows.

    With a scale for many causes it is that beside their directions, in which halves differ by how often causes are on too.
    """
    logs, has_many_causes = source.logs(folds.all), scale is not None
    scale = np.exp(logs.single / 2) if scale is None else scale
    pairs = scale_pairs(logs, scale)
    odds, scaled_strengths = network.priors / (1 - network.priors), -np.expm1(-network.weights) * scale
    np.fill_diagonal(pairs, odds @ scaled_strengths**2)
    directions = np.linalg.qr(scaled_strengths.T)[0] if has_many_causes else np.zeros((len(scale), 0))
    return Spectrum(np.linalg.eigvalsh(pairs)[::-1], compute_noise(source, scale, folds, directions))


def bound_causes(source: AbsenceMoments, folds: Folds) -> int:
    """Causes worth trying, by the singular values of half of the findings against the other half.

    Those above half of the largest of their noise, and two more: a few too many cost time, one too few is lost.
    """
    logs = source.logs(folds.all)
    scale = np.exp(logs.single / 2)
    pairs = scale_pairs(logs, scale)
    n_causes = 0
    for order in (np.random.default_rng(folds.seed + i).permutation(source.n_features) for i in range(_N_SPLITS)):
        first, second = np.array_split(order, 2)
        values = np.linalg.svd(pairs[np.ix_(first, second)], compute_uv=False)
        n_causes = max(n_causes, int((values > _block_noise(source, scale, folds, first, second) / 2).sum()))
    return max(1, min(n_causes + 2, source.n_features // 3, MAX_SOLVED))


def _block_noise(source: AbsenceMoments, scale: np.ndarray, folds: Folds, rows: Any, columns: Any) -> float:
    """Spectral norm of a block of half of the difference of two halves of the rows; 0 for exact moments."""
    first_half, second_half = (scale_pairs(source.logs(half), scale) for half in folds.splits[0])
    return largest(((first_half - second_half) / 2)[rows][:, columns])


class IterativeRecovery:
    """The recovery of `latentia.noisyor._recovery`, from triples that are counted once for all selections of groups.

    Parameters
    ----------
    source : AbsenceMoments
    findings : ndarray of int
        Findings whose triples are counted.
    partitions : sequence of Partition
        Of these findings; what each splits is learned from alone, for `agreement`.
    n_components : int or None
        None: the number, up to ``most``, whose networks of halves of the rows predict pairs of the other halves best.
    most : int
    selections : sequence of tuple
        Groups of rows that will be asked for, all of them first; the triples of others are counted when they are.
    folds : Folds
    rounds : dict
        prior, corrections and max_weight.

    """

    scale: np.ndarray | None = None

    def __init__(
        self,
        source: AbsenceMoments,
        findings: np.ndarray,
        partitions: Sequence[Partition],
        n_components: int | None,
        max_components: int,
        selections: Sequence[Groups],
        folds: Folds,
        rounds: dict[str, Any],
        progress: bool = False,
    ) -> None:
        logs = source.logs(selections[0])
        pairs = scale_pairs(logs, np.exp(logs.single / 2))
        if n_components is None:
            max_components = count_pair_directions(pairs, max_components)
        basis = np.zeros((source.n_features, n_components or max_components))
        basis[findings] = compute_pair_basis(pairs, n_components or max_components)[findings]
        halves = [] if n_components else [half for pair in folds.splits for half in pair]
        all_selections = [*selections, *(half for half in halves if half not in selections)]
        by_rows, by_partition = compute_moments(source, basis, partitions, all_selections, progress)
        self.likely = None
        if n_components is None:
            by_groups = dict(zip(all_selections, by_rows, strict=True))
            k, self.likely = _choose_number(
                by_rows[0], [[by_groups[h] for h in pair] for pair in folds.splits], max_components, rounds
            )
            by_rows, by_partition = ([moments.first(k) for moments in group] for group in (by_rows, by_partition))
        self._source, self._moments, self._rounds = source, dict(zip(all_selections, by_rows, strict=True)), rounds
        recovered = recover(by_rows[0], **rounds)
        self._all_groups, self._full_network, self.remaining = (
            selections[0],
            recovered.network,
            _extrapolate_remaining(recovered.rounds),
        )
        self.agreement = _compute_agreement(self._full_network, by_partition, rounds)

    def network(self, groups: Groups) -> Network:
        if groups == self._all_groups:
            return self._full_network
        if groups not in self._moments:  # then triples are counted once more
            basis = self._moments[self._all_groups].basis
            self._moments[groups] = compute_moments(self._source, basis, [], [self._all_groups, groups])[0][1]
        return recover(self._moments[groups], **self._rounds).network


def _choose_number(
    all_rows: Moments, splits: Sequence[Sequence[Moments]], max_components: int, rounds: dict[str, Any]
) -> tuple[int, tuple[int, int]]:
    """The number of causes whose networks of halves leave least of the pairs of the other halves, and numbers as likely.

    As likely are those between numbers that are best for some half, or leave at most 2% more than the best one in the median.
    """
    # Systematic error would be all there is with fewer corrections.
    rounds = rounds | {"corrections": max(rounds["corrections"], _MIN_CORRECTIONS)}
    # From above, until what is left of the same rows is clearly more.
    residuals: dict[int, float] = {}
    for k in range(max_components, 0, -1):
        residuals[k] = _residual_norm(all_rows.first(k), all_rows, rounds, 2)
        smallest = min(residuals.values())
        if len(residuals) > _MIN_TRIALS and min(list(residuals.values())[-_MIN_TRIALS:]) > _STOP_RATIO * smallest:
            break
    compared = sorted(k for k in residuals if residuals[k] <= _COMPARED_RATIO * smallest)
    # Of the other half.
    pairs = [(train, test) for first, second in splits for train, test in ((first, second), (second, first))]
    held_out = np.array(
        [[_residual_norm(train.first(k), test, rounds, "fro") ** 2 for k in compared] for train, test in pairs]
    )
    medians = np.median(held_out, axis=0)
    best = compared[int(medians.argmin())]
    likely = {best, *(compared[i] for i in held_out.argmin(axis=1))}
    likely |= {k for k, value in zip(compared, medians, strict=True) if value <= _EQUIVALENT_RATIO * medians.min()}
    return best, (min(likely), max(likely))


def _residual_norm(moments: Moments, target: Moments, rounds: dict[str, Any], norm: Any) -> float:
    """What the network of some moments leaves of the pairs of others; infinite if there is none."""
    try:
        return float(np.linalg.norm(compute_residual(target, recover(moments, **rounds).network), norm))
    except LatentiaError:  # a core without so many components
        return np.inf


def _compute_agreement(network: Network, by_partition: Sequence[Moments], rounds: dict[str, Any]) -> np.ndarray | None:
    """Mean relative distance of each cause to the nearest one of each partition."""
    distances = []
    for moments in by_partition:
        try:
            network_of_partition = recover(moments, **rounds).network
        except LatentiaError:
            continue
        distances.append(relative_distances(network.weights, network_of_partition.weights).min(axis=1))
    return np.mean(distances, axis=0) if distances else None


def _extrapolate_remaining(rounds: Sequence[Network]) -> np.ndarray | None:
    """What is left when the changes of the last rounds go on as a geometric series, relative to the weights, (K,)."""
    if len(rounds) < 2:
        return None
    last = relative_distances(rounds[-1].weights, rounds[-2].weights)
    before = last.argmin(axis=1)
    change = last.min(axis=1)
    ratio = np.full(len(change), _DEFAULT_RATIO)
    if len(rounds) > 2:
        earlier = relative_distances(rounds[-2].weights, rounds[-3].weights).min(axis=1)[before]
        ratio = np.clip(change / np.maximum(earlier, _TINY), 0, _MAX_RATIO)
    return change * ratio / (1 - ratio)


def relative_distances(weights: np.ndarray, other_weights: np.ndarray) -> np.ndarray:
    """|W_k - W'_l|_2 / |W_k|_2 for all pairs of rows."""
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    return cdist(weights, other_weights) / np.maximum(lengths, _TINY)
