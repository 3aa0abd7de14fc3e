"""The evidence of a mixture: errors of parts, misfit of the moments, and the shape of components."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from ..evidence import (
    Check,
    Misfit,
    PartErrors,
    TensorMeasured,
    at_most,
    convergence_checks,
    error_checks,
    separation_limit,
    tensor_checks,
    whiten_noise,
)
from ..likelihood import Refined
from ..metrics import nearest_other_distance, nearest_others
from ..moments import ColumnMoments
from ._moments import Moments, Recovered, compute_misfit, measure_noise
from ._rows import Mixture

_TAIL, _MAX_TAIL_SHARE = 1e-3, 4e-3  # share of rows in the tail of a Gaussian, and the largest accepted share
_BINS, _MAX_UNEVEN = 20, 0.05  # bins of the distances, and the largest accepted share of rows in wrong bins
_MIN_SHARE = 1e-4  # smallest probability of a component that counts
_MAX_EXCESS, _DEVIATIONS = 0.1, 4.0  # largest accepted excess of a variance, or this many of its standard deviations


@dataclass(frozen=True)
class MixtureMeasurements:
    """A mixture and the moments of the data, for the checks.

    Attributes
    ----------
    recovered : Recovered or None
        Mixture of the moments; None if they do not carry the components, or components are not spherical.
    mixture : Mixture
    moments : Moments
    """

    recovered: Recovered | None
    mixture: Mixture
    moments: Moments

    @cached_property
    def compute_misfit(self) -> Misfit | None:
        return None if self.recovered is None else compute_misfit(self.recovered, self.moments)

    @cached_property
    def roundness(self) -> Check | None:
        """Check of roundness, for spherical components whose means do not span all directions."""
        is_flat = len(self.mixture.weights) > len(self.moments.columns.mean)
        return None if is_flat or self.mixture.covariances is not None else _check_roundness(self.mixture, self.moments)

    @property
    def bias(self) -> np.ndarray:
        """Error that all parts of the data share, shape (K,)."""
        cluster_distance = (
            np.zeros(len(self.mixture.weights))
            if self.roundness is None
            else _measure_cluster_distance(self.mixture, self.roundness)
        )
        if self.compute_misfit is None:
            return np.broadcast_to(cluster_distance, self.mixture.weights.shape)
        return np.hypot(self.compute_misfit.bias(nearest_others(self.mixture.means, "euclidean")), cluster_distance)


def build_checks(refined: Refined, measured: MixtureMeasurements, parts: PartErrors) -> list[Check]:
    """Build the checks of a mixture."""
    mixture, moments = measured.mixture, measured.moments
    k = len(mixture.weights)
    limit = separation_limit(mixture.means, "euclidean") if k > 1 else float(np.sqrt(mixture.variance[0]))
    return [
        *error_checks(
            parts,
            limit,
            "mean |mu_k - mu'_k|_2",
            "in the units of the data",
            "component",
            n_rows=moments.sum_groups(moments.folds.all).n,
        ),
        *([] if measured.compute_misfit is None else measured.compute_misfit.checks(noun="components")),
        *convergence_checks(refined.refinement),
        *([] if measured.recovered is None else tensor_checks(_measure_tensor(measured.recovered, moments))),
        *([] if measured.roundness is None else [measured.roundness]),
        *_check_separation(mixture),
        *_check_constant_features(moments.columns),
    ]


def build_shape_checks(log_density: np.ndarray, shares: np.ndarray, log_dets: np.ndarray, width: int) -> list[Check]:
    """Check that squared distances of rows to their components have the chi-square distribution of Gaussians.

    Parameters
    ----------
    log_density : ndarray of shape (n, K)
        Log-densities of rows in every component.
    shares : ndarray of shape (n, K)
        Probabilities of the components of every row.
    log_dets : ndarray of shape (K,) or (1,)
        Logarithms of the determinants of the covariances.
    width : int
        Number of columns.
    """
    squares = -2 * log_density - log_dets - width * np.log(2 * np.pi)
    i, k = np.nonzero(shares > _MIN_SHARE)
    places, weights = stats.chi2.cdf(squares[i, k], width), shares[i, k] / shares[i, k].sum()
    tail_share = float(weights[places > 1 - _TAIL].sum())
    counts = np.histogram(places, _BINS, (0.0, 1.0), weights=weights)[0]
    chance = 0.6 * np.sqrt(_BINS / len(squares))  # 1.5 times the mean deviation of the bins' shares by chance
    max_tail_share = max(_MAX_TAIL_SHARE, _TAIL + _DEVIATIONS * np.sqrt(_TAIL / len(squares)))
    uneven_share = float(0.5 * np.abs(counts - 1 / _BINS).sum())
    outliers, spread = tail_share / max_tail_share, uneven_share / (_MAX_UNEVEN + chance)
    if outliers > spread:
        remedy = "Some rows are far from all components: look for outliers (smallest score_samples), or transform heavy tails."
    else:
        remedy = "The components are not Gaussian: the means are those of clusters that only roughly have this shape."
    return [
        Check(
            "spread about components", "times", max(outliers, spread), at_most(1.0),
            f"Do rows spread about their component like a Gaussian? {uneven_share:.0%} are at the wrong distance, and a share "
            f"of {tail_share:.2g} is as far out as {_TAIL:g} of a Gaussian's rows; the larger one relative to its limit.",
            "the model", "note", remedy,
        )
    ]  # fmt: skip


def _measure_tensor(recovered: Recovered, moments: Moments) -> TensorMeasured:
    first, second = (moments.sum_groups(half) for half in moments.folds.splits[0])
    return TensorMeasured(
        spectrum=recovered.spectrum,
        weights=recovered.decomposition.weights,
        residual=recovered.decomposition.info.residual,
        stable=recovered.decomposition.info.stable,
        samples=moments.sum_groups(moments.folds.all).n,
        n_directions=len(recovered.decomposition.weights) - 1,
        noise=whiten_noise(
            recovered.whitening, (first.third[..., -1], first.third), (second.third[..., -1], second.third)
        ),
    )


def _check_roundness(mixture: Mixture, moments: Moments) -> Check:
    """Check that rows spread equally in all directions outside the plane of the means: the widest in one half, in the other."""
    k = len(mixture.weights)
    excesses, noises = [], []
    for split in moments.folds.splits:
        first, second = (moments.sum_groups(half) for half in split)
        for fitted, held_out in ((first, second), (second, first)):
            values, vectors = np.linalg.eigh(fitted.third[:-1, :-1, -1])
            if len(values) < k:
                continue
            across = vectors[:, ::-1][:, k - 1]
            covariance = held_out.third[:-1, :-1, -1]
            noises.append(measure_noise(held_out, np.linalg.eigvalsh(covariance)[::-1], k))
            excesses.append(float(across @ covariance @ across) - noises[-1])
    noise, n = float(np.mean(noises or [0.0])), moments.sum_groups(moments.folds.splits[0][0]).n
    measured = float(np.mean(excesses)) / noise if noise > 0 else None
    # The square of a mixture of normal variables has variance (3 q - 1) s^4, where q is the mean of sigma^4 over s^4.
    q = float(mixture.weights @ mixture.variance**2 / (mixture.weights @ mixture.variance) ** 2)
    limit = max(_MAX_EXCESS, _DEVIATIONS * np.sqrt((3 * q - 1) / n))
    return Check(
        "round components", "variance", measured, at_most(limit, "above the mean one"),
        "Excess of the variance in the widest direction that the means do not explain. Above the limit components are "
        "elongated, or each is several.", "the model", "note",
        "Components are not spherical: compare with more components, or with other units of the features.",
    )  # fmt: skip


def _measure_cluster_distance(mixture: Mixture, roundness: Check) -> float:
    """Measure how far components that are not spherical may be from the clusters that they stand for."""
    if roundness.holds is not False or not isinstance(roundness.measured, float):
        return 0.0
    return float(np.sqrt(roundness.measured * (mixture.weights @ mixture.variance)))


def _check_separation(mixture: Mixture) -> list[Check]:
    nearest = nearest_other_distance(mixture.means, "euclidean")
    sigma = float(np.sqrt(mixture.weights @ mixture.variance))
    if not np.isfinite(nearest) or sigma == 0:
        return []
    return [
        Check(
            "separation", "|mu_k - mu_l| / sigma", nearest / sigma, None,
            "Distance of a mean to the nearest other mean, in standard deviations; clusters overlap below about 4.",
            "Hsu and Kakade 2013",
        )
    ]  # fmt: skip


def _check_constant_features(columns: ColumnMoments) -> list[Check]:
    n = int((columns.variance == 0).sum())
    if not n:
        return []
    meaning = "Constant features have no noise, which the model assumes in every feature: leave them out."
    return [Check("constant features", "", float(n), at_most(0), meaning, "model")]
