"""What a mixture's evidence consists of: errors of parts, moments where they were used, and the shape of components."""

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
from ._moments import Moments, Recovered, misfit, noise_of
from ._rows import Mixture

_FAR, _MOST_FAR = 1e-3, 4e-3  # chance of a row so far off where the model holds, and the share that is let pass
_BINS, _UNEVEN = 20, 0.05  # of the distances, and the share of rows that may lie in other ones
_COUNTED = 1e-4  # least share of a row that counts
_ROUND, _DEVIATIONS = 0.1, 4.0  # excess of a variance that is let pass, or so many of its standard deviations


@dataclass(frozen=True)
class Measured:
    """A mixture beside the moments of the data.

    Attributes
    ----------
    found : Recovered or None
        What the moments say; None where they do not carry the components, or components are no balls.
    mixture : Mixture
    moments : Moments
    """

    found: Recovered | None
    mixture: Mixture
    moments: Moments

    @cached_property
    def misfit(self) -> Misfit | None:
        return None if self.found is None else misfit(self.found, self.moments)

    @cached_property
    def roundness(self) -> Check | None:
        """Of spherical components whose means leave directions across their plane."""
        flat = len(self.mixture.weights) > len(self.moments.columns.mean)
        return None if flat or self.mixture.covariances is not None else _roundness(self.mixture, self.moments)

    @property
    def bias(self) -> np.ndarray:
        """What all parts of the data share and errors are widened by, shape (K,)."""
        apart = np.zeros(len(self.mixture.weights)) if self.roundness is None else _apart(self.mixture, self.roundness)
        if self.misfit is None:
            return np.broadcast_to(apart, self.mixture.weights.shape)
        return np.hypot(self.misfit.bias(nearest_others(self.mixture.means, "euclidean")), apart)


def checks_of(refined: Refined, measured: Measured, parts: PartErrors) -> list[Check]:
    """The lines of the evidence."""
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
            n_rows=moments.of(moments.folds.all).n,
        ),
        *([] if measured.misfit is None else measured.misfit.checks(noun="components")),
        *convergence_checks(refined.refinement),
        *([] if measured.found is None else tensor_checks(_of_tensor(measured.found, moments))),
        *([] if measured.roundness is None else [measured.roundness]),
        *_separation(mixture),
        *_constant_features(moments.columns),
    ]


def shape_checks(log_density: np.ndarray, shares: np.ndarray, log_dets: np.ndarray, width: int) -> list[Check]:
    """Whether rows lie about their components as about Gaussians: squared distances have a chi-square distribution then.

    Parameters
    ----------
    log_density : ndarray of shape (n, K)
        Of rows in every component.
    shares : ndarray of shape (n, K)
        Probabilities of the components of every row.
    log_dets : ndarray of shape (K,) or (1,)
        Logarithms of the determinants of the covariances.
    width : int
        Number of columns.
    """
    squares = -2 * log_density - log_dets - width * np.log(2 * np.pi)
    i, k = np.nonzero(shares > _COUNTED)
    places, weights = stats.chi2.cdf(squares[i, k], width), shares[i, k] / shares[i, k].sum()
    far = float(weights[places > 1 - _FAR].sum())
    counts = np.histogram(places, _BINS, (0.0, 1.0), weights=weights)[0]
    chance = 0.6 * np.sqrt(_BINS / len(squares))  # half more than the mean of what numbers of rows in bins are off by
    most_far = max(_MOST_FAR, _FAR + _DEVIATIONS * np.sqrt(_FAR / len(squares)))
    uneven = float(0.5 * np.abs(counts - 1 / _BINS).sum())
    outliers, spread = far / most_far, uneven / (_UNEVEN + chance)
    if outliers > spread:
        remedy = "Rows lie where no component is: look for outliers (least score_samples), or transform heavy-tailed columns."
    else:
        remedy = "Rows about a component are not as a Gaussian's: means are those of clusters that only roughly have its shape."
    return [
        Check(
            "spread about components", "times", max(outliers, spread), at_most(1.0),
            f"Do rows lie around their component as in a Gaussian? {uneven:.0%} lie elsewhere, "
            f"and {far:.2g} are as far out as {_FAR:g} of a Gaussian's rows; each over what chance and shapes allow.",
            "the model", "caution", remedy,
        )
    ]  # fmt: skip


def _of_tensor(found: Recovered, moments: Moments) -> TensorMeasured:
    first, second = (moments.of(half) for half in moments.folds.splits[0])
    return TensorMeasured(
        spectrum=found.spectrum,
        weights=found.decomposition.weights,
        residual=found.decomposition.info.residual,
        stable=found.decomposition.info.stable,
        samples=moments.of(moments.folds.all).n,
        n_directions=len(found.decomposition.weights) - 1,
        noise=whiten_noise(found.whitening, (first.third[..., -1], first.third), (second.third[..., -1], second.third)),
    )


def _roundness(mixture: Mixture, moments: Moments) -> Check:
    """Whether rows spread as far in all directions across the plane of the means: the widest of one half, in the other."""
    k = len(mixture.weights)
    excesses, noises = [], []
    for split in moments.folds.splits:
        first, second = (moments.of(half) for half in split)
        for one, other in ((first, second), (second, first)):
            values, vectors = np.linalg.eigh(one.third[:-1, :-1, -1])
            if len(values) < k:
                continue
            across = vectors[:, ::-1][:, k - 1]
            spread = other.third[:-1, :-1, -1]
            noises.append(noise_of(other, np.linalg.eigvalsh(spread)[::-1], k))
            excesses.append(float(across @ spread @ across) - noises[-1])
    noise, n = float(np.mean(noises or [0.0])), moments.of(moments.folds.splits[0][0]).n
    measured = float(np.mean(excesses)) / noise if noise > 0 else None
    # A square of a mixture of normal variables has variance (3 q - 1) s^4, q being the mean of sigma^4 over s^4.
    q = float(mixture.weights @ mixture.variance**2 / (mixture.weights @ mixture.variance) ** 2)
    limit = max(_ROUND, _DEVIATIONS * np.sqrt((3 * q - 1) / n))
    return Check(
        "round components", "variance", measured, at_most(limit, "above the mean one"),
        "How much wider rows spread in the widest direction that the means do not explain. Above the limit components are "
        "long, or several each.", "the model", "caution",
        "Components are not round: compare with more components, or with other units of the features.",
    )  # fmt: skip


def _apart(mixture: Mixture, roundness: Check) -> float:
    """How far components are from the clusters that they may stand for, where they are not round."""
    if roundness.holds is not False or not isinstance(roundness.measured, float):
        return 0.0
    return float(np.sqrt(roundness.measured * (mixture.weights @ mixture.variance)))


def _separation(mixture: Mixture) -> list[Check]:
    nearest = nearest_other_distance(mixture.means, "euclidean")
    sigma = float(np.sqrt(mixture.weights @ mixture.variance))
    if not np.isfinite(nearest) or sigma == 0:
        return []
    return [
        Check(
            "separation", "|mu_k - mu_l| / sigma", nearest / sigma, None,
            "Distance of a mean to the nearest other one in standard deviations; clusters of rows overlap below about 4.",
            "Hsu and Kakade 2013",
        )
    ]  # fmt: skip


def _constant_features(columns: ColumnMoments) -> list[Check]:
    n = int((columns.variance == 0).sum())
    if not n:
        return []
    meaning = "They have no noise, which the model gives to every feature: leave them out."
    return [Check("constant features", "", float(n), at_most(0), meaning, "model")]
