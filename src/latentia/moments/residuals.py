"""Residuals of the moments of three views under fitted parameters, in relation to noise.

With conditional means nu_ak of view a in its coordinates and weights w_k, a model says

    E[y_1 (x) y_2 (x) y_3] = sum_k w_k nu_1k (x) nu_2k (x) nu_3k,      cov(y_a, y_b) = sum_k w_k nu'_ak nu'_bk^T,

nu' being nu less its mean. If the model holds, the residual of the moments is noise: half of the difference of the moments of
two halves has the same distribution, however the parameters were estimated. Parameters that absorb some of the noise leave
less, so the ratio of the squared norms is at most about one.

Four groups of rows make three splits into halves, whose differences are independent of each other and of the noise of the
whole. So the ratio has about the F distribution with d and 3d degrees of freedom, where d = (tr S)^2 / tr S^2 for the
covariance S of the noise, and tr S^2 is the mean of the squared inner products of the differences. Where a view is
ill-conditioned, or a component rare, nearly all noise is in one direction: d is near one, and a ratio of ten is nothing
special.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import fdtri

from ..linalg.ratios import ratio_of
from .vectors import Coordinates
from .views import CommonFrame, ViewSums

_PAIRS = ((0, 1), (0, 2), (1, 2))
_REFERENCE_RATIO = 2.0  # ratio that noise may reach
_MIN_WEIGHT_SHARE = 1e-3  # smallest weight of a component, relative to an equal share
_NOISE_QUANTILE = 0.95  # quantile of noise that must be below that ratio
Halves = Sequence[tuple[ViewSums, ViewSums]]


class Residual(NamedTuple):
    """Squared norms of a residual, of its noise, and of the prediction.

    The noise is enlarged if it has so few degrees of freedom that twice of it is common.
    """

    residual: float
    noise: float
    total: float

    @classmethod
    def of(
        cls, residuals: list[np.ndarray], differences: list[list[np.ndarray]], predictions: list[np.ndarray]
    ) -> Residual:
        """Build a residual from arrays, and from half-differences of two halves for each split."""
        noises = [_flat(noise_array) for noise_array in differences]
        sizes = [float(noise_array @ noise_array) for noise_array in noises]
        noise = float(np.mean(sizes))
        squared_products = [
            (noise_array @ earlier) ** 2 for i, noise_array in enumerate(noises) for earlier in noises[:i]
        ]
        if squared_products and noise > 0:
            degrees = min(ratio_of(noise**2, np.mean(squared_products)), len(noises[0]))
            degrees = max(degrees, 1.0)
            noise *= max(1.0, float(fdtri(degrees, len(noises) * degrees, _NOISE_QUANTILE)) / _REFERENCE_RATIO)
        return cls(float((_flat(residuals) ** 2).sum()), noise, float((_flat(predictions) ** 2).sum()))


def tensor_residual(
    frame: CommonFrame, m: ViewSums, halves: Halves, means: Sequence[np.ndarray], weights: np.ndarray
) -> Residual:
    """Return the residual of the third moment, in the common frame.

    Parameters
    ----------
    frame : CommonFrame
    m : ViewSums
        Of all rows.
    halves : pairs of ViewSums
    means : three ndarrays of shape (K, d_a)
        Conditional means of the views in their coordinates.
    weights : ndarray of shape (K,)
    """
    in_frame = [mean @ n for mean, n in zip(means, frame.maps, strict=True)]
    prediction = np.einsum("k,ka,kb,kc->abc", weights, *in_frame, optimize=True)
    noise = [[_map_to_frame(frame, (first.third - second.third) / 2)] for first, second in halves]
    return Residual.of([_map_to_frame(frame, m.third) - prediction], noise, [frame.tensor])


def residual_across_views(m: ViewSums, halves: Halves, means: Sequence[np.ndarray], weights: np.ndarray) -> Residual:
    """Return the residual of covariances across views, in their coordinates; parameters as in `tensor_residual`."""
    spread = [mean - weights @ mean for mean in means]
    predictions = [(spread[a].T * weights) @ spread[b] for a, b in _PAIRS]
    residuals = [_covariance(m, *pair) - prediction for pair, prediction in zip(_PAIRS, predictions, strict=True)]
    return Residual.of(residuals, _differences(halves, _PAIRS), predictions)


def residual_within_views(
    coordinates: Sequence[Coordinates],
    variances: Sequence[np.ndarray],
    m: ViewSums,
    halves: Halves,
    means: Sequence[np.ndarray],
    weights: np.ndarray,
    views: Sequence[int] = (0, 1, 2),
) -> Residual:
    """Return the residual of covariances within views, under independence of features given the component.

    Parameters
    ----------
    coordinates : Coordinates of each of the views
    variances : ndarrays of shape (D_a,) or (D_a, D_a)
        Variances of the features, whose part beyond the components is noise; or mean covariances given the component.
    means : ndarrays of shape (K, D_a)
        In the units of the data.
    views : sequence of int
    """
    residuals, predictions = [], []
    for a, view in enumerate(views):
        basis, spread = coordinates[a].basis, means[a] - weights @ means[a]
        feature_variance = weights @ spread**2
        projected, size = spread @ basis, basis.shape[1]
        if variances[a].ndim == 1:
            predictions.append((projected.T * weights) @ projected - (basis.T * feature_variance) @ basis)
            noise = (basis.T * variances[a]) @ basis
        else:
            predictions.append((projected.T * weights) @ projected)
            noise = basis.T @ variances[a] @ basis
        residuals.append(_covariance(m, view, view)[:size, :size] - predictions[a] - noise)
    return Residual.of(residuals, _differences(halves, [(view, view) for view in views]), predictions)


def independent_rows(m: ViewSums, halves: Halves) -> float:
    """Return the number of independent rows whose means would be as noisy as these."""
    variance = sum(float(np.trace(_covariance(m, a, a))) for a in range(3))
    noise = np.mean(
        [sum(_sum_of_squares(first.firsts[a] - second.firsts[a]) for a in range(3)) / 4 for first, second in halves]
    )
    return float(np.clip(ratio_of(variance, noise), 2, m.n))


def means_given_middle(m: ViewSums, middle: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return conditional means of all views, (K, d_a), and weights, (K,), from the middle view by least squares.

    They follow from the data if the means of the middle view are right, whatever the model says about the other views.
    """
    k, inverse = len(middle), np.linalg.pinv(middle)
    weights = np.maximum(m.firsts[1] @ inverse, _MIN_WEIGHT_SHARE / k)
    weights = weights / weights.sum()
    outer_means = [(m.pairs[a, 1] @ inverse / weights).T for a in (0, 2)]
    return [outer_means[0], middle, outer_means[1]], weights


def _map_to_frame(frame: CommonFrame, third: np.ndarray) -> np.ndarray:
    return np.einsum("abc,ai,bj,ck->ijk", third, *frame.maps, optimize=True)


def _covariance(m: ViewSums, a: int, b: int) -> np.ndarray:
    return m.pairs[a, b] - np.outer(m.firsts[a], m.firsts[b])


def _differences(halves: Halves, pairs: Sequence[tuple[int, int]]) -> list[list[np.ndarray]]:
    return [
        [(_covariance(first, *pair) - _covariance(second, *pair)) / 2 for pair in pairs] for first, second in halves
    ]


def _flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([array.ravel() for array in arrays])


def _sum_of_squares(array: np.ndarray) -> float:
    return float((array**2).sum())
