"""Goodness of fit of independent components: what they leave of the fourth cumulant, against what noise leaves.

In the white coordinates of the sources the cumulant C of independent ones is diagonal. As in `latentia.evidence.goodness`, the
rest R of C is compared with half of the difference N of the cumulants of two halves, each whitened on its own, and what the fit
absorbs is left out of both: C_kkkk and, of each pair (C_kkkl, C_lllk), the direction (kappa_k, -kappa_l) of a rotation. In
Gaussian noise the sources need not be white, and all C_kkkl are left out; directions without a source are compared too.

The whole cumulant is compared with that of Gaussian rows, whose different entries, times the root of how often each occurs, are
then independent with the variance 24 / n, to first order also after whitening, and those of the covariance with the variance
2 / n. Three splits of four groups of rows give three independent differences D of the halves' covariances, half of each, from
which n is estimated, so that rows which depend on each other count less. The ratio of both has the distribution of F.

Noise in the data, more sources than components and dependent sources all show in R. Entries C_kkll alone say that sources are
loud at the same times: that moves no direction, and errors are not widened by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from ..evidence import Misfit
from ..moments import FourthSums
from ..tensor.operators import SymmetricFour

_MOST = 2.0  # ratio that noise alone seldom has, where there are many entries
_CHANCE = 0.01
_GAUSSIAN = 0.005  # of Gaussian rows, that their cumulant is taken for one
_EXCESS = 2.0  # that rows which depend on each other seldom have
_AMPLITUDE = 1.7  # of other sources in a recovered one, for a misfit that is all of the cumulant
_SURE = 3.0  # standard errors of a kurtosis: the largest of several directions has more than one
_LEAST = 1e-2  # variance of a half in white coordinates
_MANY = 16  # components from which on one split has entries enough


class CumulantFit(NamedTuple):
    """What halves say of the cumulant.

    Attributes
    ----------
    misfit : Misfit
    most : float
        The ratio that noise seldom exceeds: it is larger for fewer than four components, which leave few entries.
    excess : float or None
        |C|^2 over its mean for Gaussian data, which is about one for such data. None if there is nothing to compare.
    least : float
        The excess that Gaussian data has in one of two hundred fits; it is larger for few components.
    noise : SymmetricFour
        N of the first split.
    turned : float or ndarray of shape (K,)
        Amplitude of other sources in each one as several look Gaussian: any rotation of these gives the same rows.
    """

    misfit: Misfit
    most: float
    excess: float | None
    least: float
    noise: SymmetricFour
    turned: float | np.ndarray = 0.0

    @property
    def fits(self) -> bool:
        """Whether noise of the cumulant explains what the sources leave of it."""
        return self.misfit.ratio is None or self.misfit.ratio <= self.most

    @property
    def bias(self) -> float:
        """Amplitude of other sources in each one that it stands for."""
        return min(_AMPLITUDE * self.misfit.share, 1.0)


def fit_of_cumulant(
    whole: FourthSums,
    splits: list[tuple[FourthSums, FourthSums]],
    unmixing: np.ndarray,
    rest: np.ndarray | None = None,
) -> CumulantFit:
    """Compare what the components leave of the cumulant with its noise.

    Parameters
    ----------
    whole : FourthSums
    splits : list of pairs of FourthSums
        Of disjoint halves.
    unmixing : ndarray of shape (K, b)
        From coordinates to white sources.
    rest : ndarray of shape (r - K, b), optional
        In Gaussian noise: from coordinates to white ones without a source. The sources need not be white then.
    """
    free, n_sources = rest is not None, len(unmixing)
    unmixing = unmixing if rest is None else np.vstack([unmixing, rest])
    k = len(unmixing)
    cumulant = whole.cumulant(unmixing.T)
    some = splits if k < _MANY else splits[:1]
    halves = [[half.cumulant(unmixing.T) if free else _own(half, unmixing.T) for half in pair] for pair in some]
    noises = [SymmetricFour((first.packed - second.packed) / 2, k) for first, second in halves]
    if k < 2:
        return CumulantFit(Misfit(), _MOST, None, _EXCESS, noises[0])
    kurtosis = np.diag(_repeated(cumulant)[0])[:n_sources]
    left, loud = _left(cumulant, kurtosis, free)
    noise, loud_noise = np.mean([_left(one, kurtosis, free) for one in noises], axis=0)
    others, others_noise = left - loud, max(noise - loud_noise, np.finfo(float).tiny)
    entries = k * (k + 1) * (k + 2) * (k + 3) // 24 - (k * n_sources if free else k * (k + 1) // 2)
    most, ratio = _most(entries, len(noises)), max(left / max(noise, np.finfo(float).tiny), others / others_noise)
    beyond = max(others - (most if free else 1.0) * others_noise, 0.0) if ratio > most else 0.0
    size = float(left + kurtosis @ kurtosis)
    misfit = Misfit(float(ratio), float(np.sqrt(beyond / size)))
    if free:
        unmixing = np.linalg.inv(np.linalg.cholesky(unmixing @ whole.covariance @ unmixing.T)) @ unmixing
        cumulant = whole.cumulant(unmixing.T)
    variance = _entry_variance(splits, unmixing)
    turned = 0.0 if free else _turned(np.diag(_repeated(cumulant)[1]), 12 * variance)
    return CumulantFit(misfit, most, *_excess(cumulant, variance, len(splits)), noises[0], turned)


def _own(half: FourthSums, matrix: np.ndarray) -> SymmetricFour:
    """Cumulant of a half, whitened on its own."""
    values, vectors = np.linalg.eigh(matrix.T @ half.covariance @ matrix)
    return half.cumulant(matrix @ (vectors / np.sqrt(np.maximum(values, _LEAST))) @ vectors.T)


def _left(tensor: SymmetricFour, kurtosis: np.ndarray, free: bool) -> tuple[float, float]:
    """Squared norm of what no change of the kurtosis and no rotation absorbs, and the part of it in the entries kkll.

    With ``free`` what no change of the mixing absorbs.
    """
    triple, twice = _repeated(tensor)
    own = np.diag(twice)
    loud = 3 * ((twice**2).sum() - (own**2).sum())
    if free:
        k = len(kurtosis)
        absorbed = 4 * (triple[:k] ** 2).sum() - 3 * (own[:k] ** 2).sum()
        return float(max(tensor.norm_squared() - absorbed, 0.0)), float(loud)
    sums = kurtosis**2 + kurtosis[:, None] ** 2
    across = (triple * kurtosis + (triple * kurtosis).T) ** 2 / np.maximum(sums, np.finfo(float).tiny)
    np.fill_diagonal(across, 0.0)
    distinct = tensor.norm_squared() - (own**2).sum() - 4 * ((triple**2).sum() - (own**2).sum())
    return float(max(distinct, 0.0) + 2 * across.sum()), float(loud)


def _repeated(tensor: SymmetricFour) -> tuple[np.ndarray, np.ndarray]:
    """The entries kkkl and kkll, both of shape (K, K)."""
    i, j = np.triu_indices(tensor.dim)
    own = np.flatnonzero(i == j)
    place = np.empty((tensor.dim,) * 2, np.int64)
    place[i, j] = place[j, i] = np.arange(len(i))
    return tensor.packed[own[:, None], place], tensor.packed[np.ix_(own, own)]


def _entry_variance(splits: list[tuple[FourthSums, FourthSums]], unmixing: np.ndarray) -> float:
    """2 / n, of as many rows as halves differ like."""
    k = len(unmixing)
    halves = [unmixing @ (first.covariance - second.covariance) @ unmixing.T / 2 for first, second in splits]
    squared = float(np.mean([(half**2).sum() for half in halves]))
    return max(squared / (k * (k + 1) // 2), np.finfo(float).tiny)


def _excess(cumulant: SymmetricFour, variance: float, n_splits: int) -> tuple[float, float]:
    """The squared cumulant over its mean for Gaussian rows, and what that exceeds for such rows in one of two hundred fits."""
    k = cumulant.dim
    fourth, second = k * (k + 1) * (k + 2) * (k + 3) // 24, k * (k + 1) // 2
    least = float(stats.f.isf(_GAUSSIAN, fourth, n_splits * second))
    return cumulant.norm_squared() / (12 * variance * fourth), max(_EXCESS, least)


def _turned(kurtosis: np.ndarray, variance: float) -> np.ndarray:
    """What other sources are in those whose kurtosis is within its noise, given that of a Gaussian one, if they are several.

    Of m sources in m directions at random, each has about a share of (1 + log m) / m of the one that it has most of.
    """
    alike = kurtosis**2 <= _SURE**2 * variance
    m = max(int(alike.sum()), 1)
    return np.where(alike, np.sqrt(1 - (1 + np.log(m)) / m), 0.0)


def _most(entries: int, n_splits: int) -> float:
    """The ratio that normal noise exceeds by chance in one of a hundred fits, and at least 2."""
    return max(_MOST, float(stats.f.isf(_CHANCE, entries, n_splits * entries)))
