"""Goodness of fit of independent components: residual of the fourth cumulant, compared with noise.

In the white coordinates of independent sources the cumulant C is diagonal. As in `latentia.evidence.goodness`, the residual R
of C is compared with half of the difference N of the cumulants of two halves, each whitened separately. The directions that the
fit absorbs are removed from both: C_kkkk and, for each pair (C_kkkl, C_lllk), the direction (kappa_k, -kappa_l) of a rotation.
In Gaussian noise the sources need not be white, and all C_kkkl are removed; directions without a source are compared too.

The full cumulant is compared with that of Gaussian rows. Its distinct entries, times the root of their multiplicity, are
independent with variance 24 / n, to first order also after whitening; those of the covariance have variance 2 / n. Three splits
of four groups of rows give three independent differences of the halves' covariances, which estimate n, so that dependent rows
count less. The ratio has an F distribution.

Noise in the data, more sources than components and dependent sources all increase R. Entries C_kkll alone mean that sources are
loud at the same times, which changes no direction and does not increase the errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from ..evidence import Misfit
from ..evidence.limits import MANY_STANDARD_ERRORS, NOISE_RATIO
from ..linalg.ratios import ratio_of
from ..moments import FourthCumulants
from ..tensor.operators import SymmetricFour

_FALSE_ALARM = 0.01  # chance that noise is above the limit
_GAUSSIAN_CHANCE = 0.005  # chance that Gaussian rows are taken as non-Gaussian
_ERROR_PER_SHARE = 1.7  # amplitude of other sources in a recovered one, for a misfit as large as the cumulant
_MIN_VARIANCE = 1e-2  # smallest variance of a half in white coordinates
_MIN_CLOUD_WIDTH = 3  # In two directions most of the cumulant of two sources is like that of a cloud.
_MANY_COMPONENTS = 16  # From here on one split has enough entries.


class CumulantFit(NamedTuple):
    """Fit of the cumulant, judged by halves of the rows.

    Attributes
    ----------
    misfit : Misfit
    limit : float
        Ratio that noise seldom exceeds; larger for fewer than four components, which have few entries.
    excess : float or None
        |C|^2 over its mean for Gaussian data, about one for such data; lower if C is like that of a cloud with tails in every
        direction. None if there is nothing to compare.
    min_excess : float
        Excess of Gaussian data in one of two hundred fits; larger for few components.
    noise : SymmetricFour
        Noise tensor N of the first split.
    rotation_error : float or ndarray of shape (K,)
        Amplitude of other sources in each source if several look Gaussian: any rotation of these gives the same rows.
    """

    misfit: Misfit
    limit: float
    excess: float | None
    min_excess: float
    noise: SymmetricFour
    rotation_error: float | np.ndarray = 0.0

    @property
    def fits(self) -> bool:
        """True if noise of the cumulant explains the residual."""
        return self.misfit.ratio is None or self.misfit.ratio <= self.limit

    @property
    def bias(self) -> float:
        """Amplitude of other sources in each source that the misfit implies."""
        return min(_ERROR_PER_SHARE * self.misfit.share, 1.0)


def measure_cumulant_fit(
    sums: FourthCumulants,
    splits: list[tuple[FourthCumulants, FourthCumulants]],
    unmixing: np.ndarray,
    rest: np.ndarray | None = None,
) -> CumulantFit:
    """Measure the residual of the cumulant, and compare it with noise.

    Parameters
    ----------
    sums : FourthCumulants
    splits : list of pairs of FourthCumulants
        Sums of disjoint halves.
    unmixing : ndarray of shape (K, b)
        Map from coordinates to white sources.
    rest : ndarray of shape (r - K, b), optional
        In Gaussian noise: map from coordinates to white ones without a source. The sources need not be white then.
    """
    is_noisy, n_sources = rest is not None, len(unmixing)
    unmixing = unmixing if rest is None else np.vstack([unmixing, rest])
    k = len(unmixing)
    cumulant = sums.cumulant(unmixing.T)
    used_splits = splits if k < _MANY_COMPONENTS else splits[:1]
    halves = [
        [half.cumulant(unmixing.T) if is_noisy else _whiten_half(half, unmixing.T) for half in pair]
        for pair in used_splits
    ]
    noises = [SymmetricFour((first.packed - second.packed) / 2, k) for first, second in halves]
    if k < 2:
        return CumulantFit(Misfit(), NOISE_RATIO, None, NOISE_RATIO, noises[0])
    kurtosis = np.diag(_extract_repeated(cumulant)[0])[:n_sources]
    residual, joint_part = _measure_residual(cumulant, kurtosis, is_noisy)
    noise, joint_noise = np.mean(
        [_measure_residual(noise_tensor, kurtosis, is_noisy) for noise_tensor in noises], axis=0
    )
    other_part, other_noise = residual - joint_part, max(noise - joint_noise, np.finfo(float).tiny)
    entries = k * (k + 1) * (k + 2) * (k + 3) // 24 - (k * n_sources if is_noisy else k * (k + 1) // 2)
    limit = _compute_limit(entries, len(noises))
    ratio = max(ratio_of(residual, noise), ratio_of(other_part, other_noise))
    beyond = max(other_part - (limit if is_noisy else 1.0) * other_noise, 0.0) if ratio > limit else 0.0
    size = float(residual + kurtosis @ kurtosis)
    misfit = Misfit(float(ratio), float(np.sqrt(ratio_of(beyond, size))))
    if is_noisy:
        unmixing = np.linalg.inv(np.linalg.cholesky(unmixing @ sums.covariance @ unmixing.T)) @ unmixing
        cumulant = sums.cumulant(unmixing.T)
    variance = _estimate_entry_variance(splits, unmixing)
    rotation_error = (
        0.0 if is_noisy else _estimate_rotation_error(np.diag(_extract_repeated(cumulant)[1]), 12 * variance)
    )
    excess, min_excess = _measure_excess(cumulant, variance, len(splits))
    if not is_noisy and k >= _MIN_CLOUD_WIDTH and excess > min_excess:
        excess = min(excess, min_excess * _measure_cloud_excess(cumulant, noises))
    return CumulantFit(misfit, limit, excess, min_excess, noises[0], rotation_error)


def _whiten_half(half: FourthCumulants, matrix: np.ndarray) -> SymmetricFour:
    """Compute the cumulant of a half in its own white coordinates."""
    values, vectors = np.linalg.eigh(matrix.T @ half.covariance @ matrix)
    return half.cumulant(matrix @ (vectors / np.sqrt(np.maximum(values, _MIN_VARIANCE))) @ vectors.T)


def _measure_residual(tensor: SymmetricFour, kurtosis: np.ndarray, is_noisy: bool) -> tuple[float, float]:
    """Measure the squared norm that no kurtosis and no rotation absorbs, and its part in the entries kkll.

    With ``is_noisy``: that no change of the mixing absorbs.
    """
    triples, doubles = _extract_repeated(tensor)
    diagonal = np.diag(doubles)
    joint_part = 3 * ((doubles**2).sum() - (diagonal**2).sum())
    if is_noisy:
        k = len(kurtosis)
        absorbed = 4 * (triples[:k] ** 2).sum() - 3 * (diagonal[:k] ** 2).sum()
        return float(max(tensor.norm_squared() - absorbed, 0.0)), float(joint_part)
    scale = kurtosis**2 + kurtosis[:, None] ** 2
    rotations = (triples * kurtosis + (triples * kurtosis).T) ** 2 / np.maximum(scale, np.finfo(float).tiny)
    np.fill_diagonal(rotations, 0.0)
    distinct = tensor.norm_squared() - (diagonal**2).sum() - 4 * ((triples**2).sum() - (diagonal**2).sum())
    return float(max(distinct, 0.0) + 2 * rotations.sum()), float(joint_part)


def _extract_repeated(tensor: SymmetricFour) -> tuple[np.ndarray, np.ndarray]:
    """Extract the entries kkkl and kkll, both of shape (K, K)."""
    i, j = np.triu_indices(tensor.dim)
    diagonal = np.flatnonzero(i == j)
    place = np.empty((tensor.dim,) * 2, np.int64)
    place[i, j] = place[j, i] = np.arange(len(i))
    return tensor.packed[diagonal[:, None], place], tensor.packed[np.ix_(diagonal, diagonal)]


def _estimate_entry_variance(splits: list[tuple[FourthCumulants, FourthCumulants]], unmixing: np.ndarray) -> float:
    """Estimate 2 / n, with the effective number of rows n from the difference of halves."""
    k = len(unmixing)
    halves = [unmixing @ (first.covariance - second.covariance) @ unmixing.T / 2 for first, second in splits]
    squared = float(np.mean([(half**2).sum() for half in halves]))
    return max(squared / (k * (k + 1) // 2), np.finfo(float).tiny)


def _measure_excess(cumulant: SymmetricFour, variance: float, n_splits: int) -> tuple[float, float]:
    """Measure the squared cumulant over its mean for Gaussian rows, and its limit for such rows in one of two hundred fits."""
    k = cumulant.dim
    fourth, second = k * (k + 1) * (k + 2) * (k + 3) // 24, k * (k + 1) // 2
    min_excess = float(stats.f.isf(_GAUSSIAN_CHANCE, fourth, n_splits * second))
    return float(ratio_of(cumulant.norm_squared(), 12 * variance * fourth)), max(NOISE_RATIO, min_excess)


def _measure_cloud_excess(cumulant: SymmetricFour, noises: list[SymmetricFour]) -> float:
    """Measure the squared cumulant over the limit of noise, both without the part of a cloud with tails in every direction.

    The cumulant of such a cloud is a multiple of the symmetric tensor with entries 1 at kkll and 3 at kkkk, and so has no
    directions that sources could have, however large it is.
    """
    k = cumulant.dim

    def remove_cloud(tensor: SymmetricFour) -> float:
        trace = float(_extract_repeated(tensor)[1].sum())
        return max(float(tensor.norm_squared()) - 3 * trace**2 / (k * (k + 2)), 0.0)

    noise = float(np.mean([remove_cloud(tensor) for tensor in noises]))
    entries = k * (k + 1) * (k + 2) * (k + 3) // 24 - 1
    limit = min(NOISE_RATIO, float(stats.f.isf(_GAUSSIAN_CHANCE, entries, len(noises) * entries)))
    return float(ratio_of(remove_cloud(cumulant), limit * noise))


def _estimate_rotation_error(kurtosis: np.ndarray, variance: float) -> np.ndarray:
    """Estimate the amplitude of other sources in those whose kurtosis is within noise, if there are several.

    In m random directions of m sources the largest source of each has about the share (1 + log m) / m.
    """
    looks_gaussian = kurtosis**2 <= MANY_STANDARD_ERRORS**2 * variance
    m = max(int(looks_gaussian.sum()), 1)
    return np.where(looks_gaussian, np.sqrt(1 - (1 + np.log(m)) / m), 0.0)


def _compute_limit(entries: int, n_splits: int) -> float:
    """Compute the ratio that normal noise exceeds by chance in one of a hundred fits, at least 2."""
    return max(NOISE_RATIO, float(stats.f.isf(_FALSE_ALARM, entries, n_splits * entries)))
