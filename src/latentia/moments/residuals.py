"""What the parameters of a fit leave of the moments of three views, beside what noise leaves.

With conditional means nu_ak of view a in its coordinates and weights w_k, a model says

    E[y_1 (x) y_2 (x) y_3] = sum_k w_k nu_1k (x) nu_2k (x) nu_3k,      cov(y_a, y_b) = sum_k w_k nu'_ak nu'_bk^T,

nu' being nu less its mean. What the moments have beyond that is noise where the model holds: half of the difference of the
moments of two halves has the same distribution. It does not matter how the parameters were found. Those that absorb some of
the noise leave less, so that the ratio of the squared norms is at most about one.

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

from .vectors import Coordinates
from .views import CommonFrame, ViewSums

_PAIRS = ((0, 1), (0, 2), (1, 2))
_TWICE = 2.0  # the ratio that is compared with chance
_LEAST = 1e-3  # weight of a component, of an equal share
_CHANCE = 0.95  # of noise to be below that
Halves = Sequence[tuple[ViewSums, ViewSums]]


class Left(NamedTuple):
    """Squared norms: of what a fit leaves of moments, of their noise, and of what it says that they are.

    The noise counts for more where it has so few degrees of freedom that twice of it is nothing special.
    """

    left: float
    noise: float
    whole: float

    @classmethod
    def of(cls, left: list[np.ndarray], differences: list[list[np.ndarray]], said: list[np.ndarray]) -> Left:
        """From arrays, and those of half of the difference of two halves for each split."""
        noises = [_flat(one) for one in differences]
        sizes = [float(one @ one) for one in noises]
        noise = float(np.mean(sizes))
        crossed = [(one @ two) ** 2 for i, one in enumerate(noises) for two in noises[:i]]
        if crossed and noise > 0:
            freedom = min(noise**2 / max(float(np.mean(crossed)), np.finfo(float).tiny), len(noises[0]))
            freedom = max(freedom, 1.0)
            noise *= max(1.0, float(fdtri(freedom, len(noises) * freedom, _CHANCE)) / _TWICE)
        return cls(float((_flat(left) ** 2).sum()), noise, float((_flat(said) ** 2).sum()))


def left_of_tensor(
    frame: CommonFrame, m: ViewSums, halves: Halves, means: Sequence[np.ndarray], weights: np.ndarray
) -> Left:
    """Of the third moment, in the common frame.

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
    said = np.einsum("k,ka,kb,kc->abc", weights, *in_frame, optimize=True)
    noise = [[_turned(frame, (one.third - two.third) / 2)] for one, two in halves]
    return Left.of([_turned(frame, m.third) - said], noise, [frame.tensor])


def left_across_views(m: ViewSums, halves: Halves, means: Sequence[np.ndarray], weights: np.ndarray) -> Left:
    """Of the covariances of different views, in their coordinates. Parameters are those of `left_of_tensor`."""
    spread = [mean - weights @ mean for mean in means]
    said = [(spread[a].T * weights) @ spread[b] for a, b in _PAIRS]
    left = [_covariance(m, *pair) - one for pair, one in zip(_PAIRS, said, strict=True)]
    return Left.of(left, _differences(halves, _PAIRS), said)


def left_within_views(
    coordinates: Sequence[Coordinates],
    variances: Sequence[np.ndarray],
    m: ViewSums,
    halves: Halves,
    means: Sequence[np.ndarray],
    weights: np.ndarray,
    views: Sequence[int] = (0, 1, 2),
) -> Left:
    """Of the covariances of features in one view, which are the components' alone where features are independent given it.

    Parameters
    ----------
    coordinates : Coordinates of each of the views
    variances : ndarrays of shape (D_a,) or (D_a, D_a)
        Of the features in the data: what the components do not have of them is noise of the feature's own. Or covariances given
        the component, on average.
    means : ndarrays of shape (K, D_a)
        In the units of the data.
    views : sequence of int
    """
    left, said = [], []
    for a, view in enumerate(views):
        basis, spread = coordinates[a].basis, means[a] - weights @ means[a]
        own = weights @ spread**2
        projected, size = spread @ basis, basis.shape[1]
        if variances[a].ndim == 1:
            said.append((projected.T * weights) @ projected - (basis.T * own) @ basis)
            noise = (basis.T * variances[a]) @ basis
        else:
            said.append((projected.T * weights) @ projected)
            noise = basis.T @ variances[a] @ basis
        left.append(_covariance(m, view, view)[:size, :size] - said[a] - noise)
    return Left.of(left, _differences(halves, [(view, view) for view in views]), said)


def independent_rows(m: ViewSums, halves: Halves) -> float:
    """How many independent rows would have means as noisy as these: fewer than there are where neighbours or copies agree."""
    variance = sum(float(np.trace(_covariance(m, a, a))) for a in range(3))
    noise = np.mean([sum(_size(one.firsts[a] - two.firsts[a]) for a in range(3)) / 4 for one, two in halves])
    return float(np.clip(variance / max(float(noise), np.finfo(float).tiny), 2, m.n))


def means_given_middle(m: ViewSums, middle: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Conditional means of all views, (K, d_a), and weights, (K,), from those of the middle one: least squares.

    They are what the data says if the middle ones are right, whatever the model says of how views follow each other.
    """
    k, inverse = len(middle), np.linalg.pinv(middle)
    weights = np.maximum(m.firsts[1] @ inverse, _LEAST / k)
    weights = weights / weights.sum()
    others = [(m.pairs[a, 1] @ inverse / weights).T for a in (0, 2)]
    return [others[0], middle, others[1]], weights


def _turned(frame: CommonFrame, third: np.ndarray) -> np.ndarray:
    return np.einsum("abc,ai,bj,ck->ijk", third, *frame.maps, optimize=True)


def _covariance(m: ViewSums, a: int, b: int) -> np.ndarray:
    return m.pairs[a, b] - np.outer(m.firsts[a], m.firsts[b])


def _differences(halves: Halves, pairs: Sequence[tuple[int, int]]) -> list[list[np.ndarray]]:
    return [[(_covariance(one, *pair) - _covariance(two, *pair)) / 2 for pair in pairs] for one, two in halves]


def _flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([array.ravel() for array in arrays])


def _size(array: np.ndarray) -> float:
    return float((array**2).sum())
