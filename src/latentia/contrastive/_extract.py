"""Cumulants of the parts s1, s2 and s3, once the linear map is known: the paper's equations 3 to 5, and 8 to 10."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..evidence import Misfit
from ..exceptions import LatentiaError
from ..linalg.ratios import ratio_of
from ._linear_map import Choice, LinearMap, find_map
from .views import JointMoments, JointSums

_MIN_SHARE = 0.01  # s1 has at least this share of the variance of u that v does not predict, in every direction
CHANCE_FACTOR = 1.5  # raises limits of misfits, as their noise comes from four groups of rows alone
_MAX_MISSED = 0.75  # largest share of the shared part that may be missed
_MAX_STEPS = 200  # steps of EM
_TOLERANCE = 1e-4  # EM ends when no entry changes by more than this share of the largest
_DOUBTFUL_SHARE = 0.2  # share of the signal above which its bias towards regression is corrected


@dataclass(frozen=True)
class Shares:
    """The covariance of s1 and its noise, in the metric of the residual covariance R of the regression of u on v.

    There its eigenvalues are shares of the variance of u that v does not predict: between 0, no s1, and 1, no s2.

    Attributes
    ----------
    metric : _Metric
    mean : ndarray of shape (d_u, d_u)
        cov(s1), shrunk; with noise its eigenvalues may lie outside of [0, 1].
    noise : ndarray of shape (d_u, d_u)
        Mean square N^2 of the noise N of ``mean``.
    alternative_shift : ndarray of shape (d_u, d_u)
        The alternative less ``mean``.
    """

    metric: _Metric
    mean: np.ndarray
    noise: np.ndarray
    alternative_shift: np.ndarray


@dataclass(frozen=True)
class Extraction:
    """Moments of s1 from some rows, in units of the columns' standard deviations.

    Attributes
    ----------
    groups : tuple of int
    sums : JointSums
    map : LinearMap
    regression : ndarray of shape (d_u, d_v)
        Coefficients of u on v.
    covariance : ndarray of shape (d_u, d_u)
        cov(s1).
    alternative : ndarray of shape (d_u, d_u)
        cov(s1) if the shared part that B may miss is removed as well: how far the answer may be off.
    target : ndarray of shape (d_u,) or None
        Covariance of s1 with y.
    symmetry : Misfit or None
        Asymmetry of cov(u, B v), which is cov(s2) where the model holds; measured for total least squares alone.
    outside : float or None
        How far variances of s1 are below zero, or above the variance of u that v does not predict: squares, over those of their
        noise; measured for total least squares alone.
    shares : Shares or None
        None for the paper's cov(u) - cov(s2), and where there is one group of rows alone.
    unshrunk : ndarray of shape (d_u, d_u) or None
        cov(s1) without (b): its noise is larger, and no part of it is the same in all groups.
    """

    groups: tuple[int, ...]
    sums: JointSums
    map: LinearMap
    regression: np.ndarray
    covariance: np.ndarray
    alternative: np.ndarray
    target: np.ndarray | None
    symmetry: Misfit | None = None
    outside: float | None = None
    shares: Shares | None = None
    unshrunk: np.ndarray | None = None


def extract(moments: JointMoments, groups: tuple[int, ...], choice: Choice) -> Extraction:
    """Find the linear map, and remove the shared part from the covariance of u.

    cov(s2) = cov(u, B v). The paper subtracts it from cov(u) as it is. The other methods use bounds of the remainder: in the
    metric of the residual covariance R of the regression of u on v, its eigenvalues E lie between 0 and 1, where 1 is V used
    as covariates. So (a) E is brought into this range; (b) its deviations from their mean are shrunk by the share of them that
    is noise, as Ledoit and Wolf do, with the noise from leaving out parts of the rows; and (c) where least squares pulls B
    towards the regression, mean(E) is moved away from 1 by the factor f / (f^2 + .2^2), with f the mean share of signal that
    was not lost, so that nothing is moved where there is no signal.

    A target is independent of s2 and s3, so that cov(s1, y) = cov(u, y); less the regression of u on v, whose covariance with
    y is noise.
    """
    sums = moments.group_sums(groups)
    linear_map = find_map(moments, groups, sums, choice)
    u, v, y, s = moments.u, moments.v, moments.y, sums.covariance
    regression = np.linalg.solve(s[v, v], s[v, u]).T
    residual = s[u, u] - regression @ s[v, u]
    has_target = y.start < y.stop
    if choice.forward == "eq2":
        rest = _subtract_shared(s[u, u], s[u, v], linear_map.inverse)
        return Extraction(groups, sums, linear_map, regression, rest, rest, s[u, y][:, 0] if has_target else None)
    metric = _Metric.from_residual(residual)
    raw_shares, skew = _compute_shares(moments, sums, linear_map, metric)
    share_noise, skew_noise = _jackknife_shares(moments, groups, choice)
    total_noise, total_skew_noise = float((share_noise**2).sum()), float((skew_noise**2).sum())
    mean, eye = float(np.trace(raw_shares)) / len(raw_shares), np.eye(len(raw_shares))
    deviations = raw_shares - mean * eye
    signal_share = 1 - min(1.0, ratio_of(total_noise, float((deviations**2).sum())))
    mean_shift = (1 - mean) * (_correction_factor(linear_map.signal_share) - 1)
    shares = signal_share * deviations + (mean - mean_shift) * eye
    covariance = alternative = metric.matrix(shares, _MIN_SHARE)
    symmetry: Misfit | None = None
    outside = None
    if choice.inverse == "bls":
        alternative = _alternative(s[u, u] - residual, metric, linear_map, shares, mean_shift)
    elif np.isfinite(total_noise) and len(raw_shares) > 1:
        # Both are zero up to noise where the model holds. Where they are not, cov(s2) is off by at least as much.
        rank = choice.n_shared
        degrees_of_freedom = max(rank * len(raw_shares) - rank * (rank + 1) / 2, 1)
        skew_misfit = Misfit.from_norms(float((skew**2).sum()), total_skew_noise, 1.0, degrees_of_freedom)
        symmetry = replace(skew_misfit, noise_limit=CHANCE_FACTOR * skew_misfit.noise_limit)
        excess = _excess_shares(raw_shares)
        outside = float(ratio_of((excess**2).sum(), total_noise))
        asymmetric = symmetry.ratio is not None and symmetry.ratio > symmetry.noise_limit
        if asymmetric or outside > 1:
            size = _absolute_value(skew) if asymmetric else 0.0
            alternative = metric.matrix(shares - size - (excess if outside > 1 else 0.0), _MIN_SHARE)
    known_shares = None
    if np.isfinite(total_noise):
        mean_noise = float((np.einsum("gii->g", share_noise) ** 2).sum()) / len(raw_shares) ** 2
        remaining_noise = (
            signal_share * np.einsum("gij,gjk->ik", share_noise, share_noise) + (1 - signal_share) * mean_noise * eye
        )
        known_shares = Shares(metric, shares, remaining_noise, metric.shares(alternative - covariance))
    target = (s[u, y] - regression @ s[v, y])[:, 0] if has_target else None
    return Extraction(
        groups,
        sums,
        linear_map,
        regression,
        covariance,
        alternative,
        target,
        symmetry,
        outside,
        known_shares,
        metric.matrix(raw_shares - mean_shift * eye, _MIN_SHARE),
    )


def _alternative(
    predicted: np.ndarray, metric: _Metric, linear_map: LinearMap, shares: np.ndarray, mean_shift: float
) -> np.ndarray:
    """Return cov(s1) if the part of cov(s2) that B misses is removed as well, as far as the data identifies it.

    cov(u, B v) = cov(s2) (B A)^T, so that B misses cov(s2) (I - B A)^T, which is between 0 and cov(s2). In the metric of R,
    cov(s2) is at least the part P of u that v predicts, and at most P + I. The guess is P + P / (P + I), and half of I more in
    directions where cumulants of u show s2.
    """
    eye, predicted_shares = np.eye(len(shares)), metric.shares(predicted)
    visible = metric.inverse @ linear_map.visible_directions @ metric.root
    guess = predicted_shares @ np.linalg.inv(eye + predicted_shares)
    further = guess + visible @ visible.T / 2 + _MIN_SHARE * eye
    possible, max_shares = (
        _Metric.from_residual(predicted_shares + further),
        _Metric.from_residual((further + further.T) / 2),
    )
    lacking = metric.inverse @ (eye - linear_map.inverse @ linear_map.unbiased) @ metric.root
    left_vectors, values, right_vectors = np.linalg.svd(possible.inverse @ lacking @ possible.root)
    lacking = (left_vectors * np.minimum(values, 1.0)) @ right_vectors
    missed = possible.root @ (lacking + lacking.T) @ possible.root / 2
    values, vectors = np.linalg.eigh(max_shares.shares(missed))
    missed = max_shares.root @ (vectors * np.clip(values, -_MAX_MISSED, _MAX_MISSED)) @ vectors.T @ max_shares.root
    mean_missed = float(np.trace(missed)) / len(eye)
    # The mean was moved by a factor that is known where the signal is strong; elsewhere it may be off by as much as it was
    # moved, or by the part that v predicts.
    uncertainty = _DOUBTFUL_SHARE**2 / (linear_map.signal_share**2 + _DOUBTFUL_SHARE**2)
    uncertain_part = uncertainty**2 * float(np.trace(guess)) / len(eye)
    step = uncertainty * mean_shift if uncertainty * mean_shift > uncertain_part else -uncertain_part
    return metric.matrix(shares - (missed - mean_missed * eye) + step * eye, _MIN_SHARE)


def _subtract_shared(covariance_u: np.ndarray, cross_covariance: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return cov(u) - cov(s2), with the paper's cov(s2) = cov(u, B v)."""
    shared = cross_covariance @ inverse.T
    return np.asarray(covariance_u - (shared + shared.T) / 2)


def _absolute_value(matrix: np.ndarray) -> np.ndarray:
    """Return (M^T M)^(1/2): symmetric, without negative eigenvalues, and as large as M in every direction."""
    _, values, right = np.linalg.svd(matrix)
    return np.asarray((right.T * values) @ right)


def _excess_shares(shares: np.ndarray) -> np.ndarray:
    """Return the part of the shares that is below zero or above one."""
    values, vectors = np.linalg.eigh(shares)
    return np.asarray((vectors * (values - np.clip(values, 0.0, 1.0))) @ vectors.T)


def _correction_factor(signal_share: float) -> float:
    """Return the factor that restores a correction of which only ``signal_share`` remains."""
    return max(1.0, signal_share / (signal_share**2 + _DOUBTFUL_SHARE**2))


def _compute_shares(
    moments: JointMoments, sums: JointSums, linear_map: LinearMap, metric: _Metric
) -> tuple[np.ndarray, np.ndarray]:
    """Return cov(s1) in the metric of R, and the antisymmetric part of cov(u) - cov(u, B v)."""
    u, v, s = moments.u, moments.v, sums.covariance
    raw = metric.shares(s[u, u] - s[u, v] @ linear_map.inverse.T)
    symmetric, skew = (raw + raw.T) / 2, (raw - raw.T) / 2
    if linear_map.choice.inverse == "known":
        symmetric = metric.shares(
            fit_gaussian_parts(
                s[u, u], s[u, v] @ linear_map.inverse.T, linear_map.inverse @ s[v, v] @ linear_map.inverse.T
            )
        )
    return symmetric, skew


def fit_gaussian_parts(covariance_u: np.ndarray, cross_covariance: np.ndarray, covariance_w: np.ndarray) -> np.ndarray:
    """Return cov(s1) for Gaussian parts with u = s1 + s2 and w = B v = s2 + B s3, by maximum likelihood.

    It weighs both estimates of cov(s2) in cov(u, w), and no part's covariance has a negative eigenvalue. Each step of EM takes
    C_k to C_k - C_k D_k C_k, with D_k the part's blocks of D = P - P S P, for the covariance S of (u, w) and the inverse P of
    its model.
    """
    d = len(covariance_u)
    u, w = slice(0, d), slice(d, None)
    sample = np.block([[covariance_u, cross_covariance], [cross_covariance.T, covariance_w]])
    cov_s2 = _raise_eigenvalues((cross_covariance + cross_covariance.T) / 2)
    cov_s1, cov_s3 = _raise_eigenvalues(covariance_u - cov_s2), _raise_eigenvalues(covariance_w - cov_s2)
    for _ in range(_MAX_STEPS):
        model = np.tile(cov_s2, (2, 2))
        model[u, u] += cov_s1
        model[w, w] += cov_s3
        inverse = np.linalg.inv(model)
        slope = inverse - inverse @ sample @ inverse
        previous = cov_s1
        cov_s1 = cov_s1 - cov_s1 @ slope[u, u] @ cov_s1
        cov_s2 = cov_s2 - cov_s2 @ (slope[u, u] + slope[u, w] + slope[w, u] + slope[w, w]) @ cov_s2
        cov_s3 = cov_s3 - cov_s3 @ slope[w, w] @ cov_s3
        if np.abs(cov_s1 - previous).max() <= _TOLERANCE * np.abs(cov_s1).max():
            break
    return cov_s1


def _raise_eigenvalues(covariance: np.ndarray) -> np.ndarray:
    """Raise eigenvalues to positive ones, from which EM can move in both directions."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, _MIN_SHARE * np.abs(values).max())) @ vectors.T)


def _jackknife_shares(moments: JointMoments, groups: tuple[int, ...], choice: Choice) -> tuple[np.ndarray, np.ndarray]:
    """Return the jackknife deviations of `_compute_shares` over groups of rows, shape (G, d_u, d_u) each.

    Their squares add up to the variance of the noise.
    """
    if len(groups) < 2:
        return (np.full((1, moments.widths[0], moments.widths[0]), np.inf),) * 2
    replicates = []
    for removed in groups:
        remaining = tuple(g for g in groups if g != removed)
        sums = moments.group_sums(remaining)
        u, v, s = moments.u, moments.v, sums.covariance
        regression = np.linalg.solve(s[v, v], s[v, u]).T
        metric = _Metric.from_residual(s[u, u] - regression @ s[v, u])
        replicates.append(_compute_shares(moments, sums, find_map(moments, remaining, sums, choice), metric))
    share_deviations, skew_deviations = (
        np.sqrt(1 - 1 / len(groups)) * (np.array(values) - np.mean(values, axis=0))
        for values in zip(*replicates, strict=True)
    )
    return share_deviations, skew_deviations


@dataclass(frozen=True)
class _Metric:
    """The metric of the residual covariance R: a covariance matrix is R^(1/2) E R^(1/2), with shares E."""

    root: np.ndarray
    inverse: np.ndarray

    @classmethod
    def from_residual(cls, residual: np.ndarray) -> _Metric:
        values, vectors = np.linalg.eigh(residual)
        if values[0] <= 1e-12 * max(values[-1], np.finfo(float).tiny):
            raise LatentiaError(
                "V predicts a combination of the columns of U exactly: one view must not be computed from the other."
            )
        return cls((vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T)

    def shares(self, matrix: np.ndarray) -> np.ndarray:
        return np.asarray(self.inverse @ matrix @ self.inverse)

    def matrix(self, shares: np.ndarray, min_share: float) -> np.ndarray:
        """Return the covariance of these shares, with eigenvalues clipped to [min_share, 1]."""
        values, vectors = np.linalg.eigh(shares)
        return np.asarray(self.root @ (vectors * np.clip(values, min_share, 1.0)) @ vectors.T @ self.root)


def compute_specific_cumulant(joint: np.ndarray, inverse: np.ndarray, regression: np.ndarray) -> np.ndarray:
    """Return the cumulant of s1, of third or higher order, from that of (u, v): kappa(u - B v, u, e, ..., e), made symmetric.

    Here e = u - (regression of u on v). B v has no s1, u - B v has no s2, and u has no s3: so this is kappa(s1), as in the
    paper's equation 3, which has u in place of e. With e, which has less of s2 and s3, the noise is smaller.
    """
    d_u, order = inverse.shape[0], joint.ndim
    select_u, select_v = np.eye(len(joint))[:d_u], np.eye(len(joint))[d_u:]
    tensor = joint
    for matrix in (select_u - inverse @ select_v, select_u, *[select_u - regression @ select_v] * (order - 2)):
        tensor = np.tensordot(tensor, matrix, axes=(0, 1))  # the first mode becomes the last one
    places = [(i, j) for i in range(order) for j in range(order) if i != j]
    return np.asarray(sum(np.moveaxis(tensor, (0, 1), place) for place in places) / len(places))


def compute_part_cumulant(
    joint: np.ndarray, forward: np.ndarray, inverse: np.ndarray, part: int, sums: bool
) -> np.ndarray:
    """Return the cumulant of s1, s2 or s3 from that of (u, v), by the paper's equations.

    Parameters
    ----------
    joint : ndarray of shape (d_u + d_v, ...), of any order
    forward, inverse : ndarrays of shape (d_v, d_u), (d_u, d_v)
        A and B.
    part : {1, 2, 3}
    sums : bool
        Equations 8 to 10, from sums of the views; otherwise 3 to 5, from one cross-cumulant.
    """
    d_u, order = inverse.shape[0], joint.ndim
    u, v = slice(0, d_u), slice(d_u, None)

    def apply(modes: list[np.ndarray]) -> np.ndarray:
        tensor = joint
        for matrix in modes:  # the first mode becomes the last one
            tensor = np.tensordot(tensor, matrix, axes=(0, 1))
        return tensor

    from_u, from_v = np.eye(len(joint))[u], np.eye(len(joint))[v]
    to_u = inverse @ from_v  # B v
    select = from_u
    if part == 3:
        from_u, to_u, select = forward @ from_u, from_v, from_v
    if sums:
        shared = (apply([from_u + to_u] * order) - apply([from_u] * order) - apply([to_u] * order)) / (2**order - 2)
    else:
        shared = _symmetrise(apply([from_u] * (order - 1) + [to_u]))
    return shared if part == 2 else apply([select] * order) - shared


def _symmetrise(tensor: np.ndarray) -> np.ndarray:
    """Return the mean over all places of the last mode, for a tensor that is symmetric in the other modes."""
    order = tensor.ndim
    return np.asarray(sum(np.moveaxis(tensor, -1, place) for place in range(order)) / order)
