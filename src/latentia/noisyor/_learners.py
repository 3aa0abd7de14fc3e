"""The iterative recovery of a network from the rows of any groups, and the choice of the number of causes."""

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
MAX_SOLVED = 60  # causes up to which the core is solved for: its 41 K^3 numbers take 70 MB, and 60 GB for 570 causes
_N_SPLITS = 4  # random splits of the findings that give the largest number of causes to try
_MIN_TRIALS = 3  # numbers of causes to try before stopping
_MIN_CORRECTIONS = 2  # rounds with which numbers of causes are compared
_COMPARED_RATIO = 2.0  # largest residual, relative to the smallest, of a number of causes that is compared
_STOP_RATIO = 4.0  # residual, relative to the smallest, from which no smaller number is tried
_EQUIVALENT_RATIO = 1.02  # largest held-out residual, relative to the smallest, of a number that is as likely
_TINY = 1e-12
_DEFAULT_RATIO, _MAX_RATIO = 0.5, 0.9  # ratio of the changes of two rounds: if it is unknown, and at most


class Learner(Protocol):
    """A recovery that gives the network of any groups of rows.

    Attributes
    ----------
    agreement : ndarray of shape (K,) or None
        Mean relative distance of each cause to the nearest one recovered from a single partition.
    remaining : ndarray of shape (K,) or None
        Relative error that further rounds of corrections would remove; None if it is unknown.
    likely : (int, int) or None
        Range of the numbers of causes that fit as well as the chosen one; None if the number was given.
    scale : ndarray of shape (n,) or None
        Scale of the findings; None for sqrt P(absent).
    """

    agreement: np.ndarray | None
    remaining: np.ndarray | None
    likely: tuple[int, int] | None
    scale: np.ndarray | None

    def network(self, groups: Groups) -> Network: ...


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of scaled PMI2 with the diagonal of the network, the largest first, and the largest of its noise."""

    values: np.ndarray
    noise: float

    @property
    def rank(self) -> int:
        """Number of values above the noise."""
        return int((self.values > self.noise).sum())


def compute_pair_spectrum(source: AbsenceMoments, network: Network, folds: Folds, scale: np.ndarray | None) -> Spectrum:
    """Compute the spectrum of scaled PMI2; its noise is half of the difference of two halves of the rows.

    With the scale for many causes, the noise is measured outside their directions, where halves also differ by the frequency of
    causes.
    """
    logs, has_many_causes = source.logs(folds.all), scale is not None
    scale = np.exp(logs.single / 2) if scale is None else scale
    pairs = scale_pairs(logs, scale)
    odds, scaled_strengths = network.priors / (1 - network.priors), -np.expm1(-network.weights) * scale
    np.fill_diagonal(pairs, odds @ scaled_strengths**2)
    directions = np.linalg.qr(scaled_strengths.T)[0] if has_many_causes else np.zeros((len(scale), 0))
    return Spectrum(np.linalg.eigvalsh(pairs)[::-1], compute_noise(source, scale, folds, directions))


def bound_causes(source: AbsenceMoments, folds: Folds) -> int:
    """Return the largest number of causes worth trying, from singular values of half of the findings against the other half.

    It counts those above half the noise level, plus two spare: too many cost time, too few lose a cause.
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
    """Compute the noise of a block: the spectral norm of half of the difference of two halves; 0 for exact moments."""
    first_half, second_half = (scale_pairs(source.logs(half), scale) for half in folds.splits[0])
    return largest(((first_half - second_half) / 2)[rows][:, columns])


@dataclass
class IterativeRecovery:
    """Network of all rows by recovery in rounds (`latentia.noisyor._recovery`), and of any other groups of rows.

    Attributes
    ----------
    source : AbsenceMoments
    moments : dict
        Moments of each selection of groups; others are counted at their first use.
    rounds : dict
        Options of each round: prior, corrections and max_weight.
    full_groups : tuple of int
    full_network : Network
    agreement, remaining, likely, scale
        See `Learner`.
    """

    source: AbsenceMoments
    moments: dict[Groups, Moments]
    rounds: dict[str, Any]
    full_groups: Groups
    full_network: Network
    agreement: np.ndarray | None
    remaining: np.ndarray | None
    likely: tuple[int, int] | None
    scale: np.ndarray | None = None

    def network(self, groups: Groups) -> Network:
        if groups == self.full_groups:
            return self.full_network
        if groups not in self.moments:  # counts triples once more
            basis = self.moments[self.full_groups].basis
            self.moments[groups] = compute_moments(self.source, basis, [], [self.full_groups, groups])[0][1]
        return recover(self.moments[groups], **self.rounds).network


def recover_in_rounds(
    source: AbsenceMoments,
    findings: np.ndarray,
    partitions: Sequence[Partition],
    n_components: int | None,
    max_components: int,
    selections: Sequence[Groups],
    folds: Folds,
    rounds: dict[str, Any],
    progress: bool = False,
) -> IterativeRecovery:
    """Recover the network of all rows in rounds, from triples counted once for all selections of groups.

    Parameters
    ----------
    source : AbsenceMoments
    findings : ndarray of int
        Findings whose triples are counted.
    partitions : sequence of Partition
        Partitions of these findings; the network of each one alone gives the agreement.
    n_components : int or None
        Number of causes; None chooses the one, up to ``max_components``, whose networks of halves of the rows predict pairs
        of the other halves best.
    max_components : int
    selections : sequence of tuple
        Groups of rows to prepare, all rows first. Triples of other groups are counted on demand.
    folds : Folds
    rounds : dict
        Options of each round: prior, corrections and max_weight.
    """
    logs = source.logs(selections[0])
    pairs = scale_pairs(logs, np.exp(logs.single / 2))
    if n_components is None:
        max_components = count_pair_directions(pairs, max_components)
    basis = np.zeros((source.n_features, n_components or max_components))
    basis[findings] = compute_pair_basis(pairs, n_components or max_components)[findings]
    halves = [] if n_components else [half for pair in folds.splits for half in pair]
    all_selections = [*selections, *(half for half in halves if half not in selections)]
    by_rows, by_partition = compute_moments(source, basis, partitions, all_selections, progress)
    likely = None
    if n_components is None:
        by_groups = dict(zip(all_selections, by_rows, strict=True))
        k, likely = _choose_number(
            by_rows[0], [[by_groups[h] for h in pair] for pair in folds.splits], max_components, rounds
        )
        by_rows, by_partition = ([moments.first(k) for moments in group] for group in (by_rows, by_partition))
    full = recover(by_rows[0], **rounds)
    return IterativeRecovery(
        source,
        dict(zip(all_selections, by_rows, strict=True)),
        rounds,
        selections[0],
        full.network,
        _compute_agreement(full.network, by_partition, rounds),
        _extrapolate_remaining(full.rounds),
        likely,
    )


def _choose_number(
    all_rows: Moments, splits: Sequence[Sequence[Moments]], max_components: int, rounds: dict[str, Any]
) -> tuple[int, tuple[int, int]]:
    """Choose the number of causes whose networks of halves leave the smallest residual of pairs of the other halves.

    Also return the range of numbers that are as likely: best for some half, or with a median residual at most 2% larger.
    """
    # With fewer corrections systematic error would hide the differences.
    rounds = rounds | {"corrections": max(rounds["corrections"], _MIN_CORRECTIONS)}
    # Try fewer and fewer causes until the residual of the same rows is clearly larger.
    residuals: dict[int, float] = {}
    for k in range(max_components, 0, -1):
        residuals[k] = _residual_norm(all_rows.first(k), all_rows, rounds, 2)
        smallest = min(residuals.values())
        if len(residuals) > _MIN_TRIALS and min(list(residuals.values())[-_MIN_TRIALS:]) > _STOP_RATIO * smallest:
            break
    compared = sorted(k for k in residuals if residuals[k] <= _COMPARED_RATIO * smallest)
    # Compare residuals of the other half.
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
    """Return the residual norm of the target's pairs under the network of some moments; infinite if there is no network."""
    try:
        return float(np.linalg.norm(compute_residual(target, recover(moments, **rounds).network), norm))
    except LatentiaError:  # a core without so many components
        return np.inf


def _compute_agreement(network: Network, by_partition: Sequence[Moments], rounds: dict[str, Any]) -> np.ndarray | None:
    """Compute the mean relative distance of each cause to the nearest one of each partition."""
    distances = []
    for moments in by_partition:
        try:
            network_of_partition = recover(moments, **rounds).network
        except LatentiaError:
            continue
        distances.append(relative_distances(network.weights, network_of_partition.weights).min(axis=1))
    return np.mean(distances, axis=0) if distances else None


def _extrapolate_remaining(rounds: Sequence[Network]) -> np.ndarray | None:
    """Extrapolate the changes of the last rounds as a geometric series: remaining error relative to the weights, (K,)."""
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
    """Return |W_k - W'_l|_2 / |W_k|_2 for all pairs of rows."""
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    return cdist(weights, other_weights) / np.maximum(lengths, _TINY)
