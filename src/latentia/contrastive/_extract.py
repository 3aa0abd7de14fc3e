"""Cumulants of the parts s1, s2 and s3, once the linear map is known: the paper's equations 3 to 5, and 8 to 10."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..evidence import Misfit
from ..exceptions import LatentiaError
from ._linear_map import Choice, LinearMap, find_map
from .views import JointMoments, JointSums

_LEAST_SHARE = 0.01  # of the variance of u that v does not predict, which s1 has in every direction
BY_CHANCE = 1.5  # times the limit of a misfit, for noise that is known from four groups of rows alone
_MISSED = 0.75  # share of what may be missed of the shared part, at most
_MOST_STEPS = 200
_SETTLED = 1e-4  # change of the largest entry in one of them
_DOUBT = 0.2  # share of the signal from which on its pull towards regression is undone


@dataclass(frozen=True)
class Shares:
    """How well the covariance of s1 is told, in the metric of the residual covariance R of the regression of u on v.

    There its eigenvalues are shares of the variance that v leaves of u: between 0, no s1, and 1, no s2.

    Attributes
    ----------
    metric : _Metric
    mean : ndarray of shape (d_u, d_u)
        cov(s1), shrunk; noise may have taken eigenvalues of it out of [0, 1].
    noise : ndarray of shape (d_u, d_u)
        Mean square N^2 of its noise N.
    apart : ndarray of shape (d_u, d_u)
        How far the alternative is from it.
    """

    metric: _Metric
    mean: np.ndarray
    noise: np.ndarray
    apart: np.ndarray


@dataclass(frozen=True)
class Extracted:
    """What some rows say of s1, in units of the columns' standard deviations.

    Attributes
    ----------
    groups : tuple of int
    sums : JointSums
    map : LinearMap
    regression : ndarray of shape (d_u, d_v)
        Of u on v.
    covariance : ndarray of shape (d_u, d_u)
        Of s1.
    alternative : ndarray of shape (d_u, d_u)
        Of s1, if what B may miss of the shared part is removed as well: how far the answer may be off.
    target : ndarray of shape (d_u,) or None
        Covariance of s1 with y.
    symmetry : Misfit or None
        Of cov(u, B v), which is cov(s2) where the model holds and so symmetric; measured for total least squares alone.
    outside : float or None
        By how much the variances of s1 are below zero, or above what v leaves of u, against their noise, in squares; as before.
    shares : Shares or None
        None for the paper's cov(u) - cov(s2), and where there is one group of rows alone.
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


def extract(moments: JointMoments, groups: tuple[int, ...], choice: Choice) -> Extracted:
    """Find the linear map, and remove the shared part from the covariance of u.

    cov(s2) = cov(u, B v). The paper subtracts it from cov(u) as it is. The other methods use what is known of the rest: in the
    metric of the residual covariance R of the regression of u on v, its eigenvalues E lie between 0 and 1, where 1 is V used
    as covariates. So (a) E is brought into this range; (b) its deviations from their mean are shrunk by the share of them that
    is noise, as Ledoit and Wolf do, with the noise from leaving out parts of the rows; and (c) where least squares pulls B
    towards the regression, mean(E) is moved away from 1 by the factor f / (f^2 + .2^2), with f the mean share of signal that
    was not lost, so that nothing is moved where there is no signal.

    A target is independent of s2 and s3, so that cov(s1, y) = cov(u, y); less the regression of u on v, whose covariance with
    y is noise.
    """
    sums = moments.of(groups)
    found = find_map(moments, groups, sums, choice)
    u, v, y, s = moments.u, moments.v, moments.y, sums.covariance
    regression = np.linalg.solve(s[v, v], s[v, u]).T
    residual = s[u, u] - regression @ s[v, u]
    has_target = y.start < y.stop
    if choice.forward == "eq2":
        rest = _without_shared(s[u, u], s[u, v], found.inverse)
        return Extracted(groups, sums, found, regression, rest, rest, s[u, y][:, 0] if has_target else None)
    metric = _Metric.of(residual)
    own, turned = _shares_of(moments, sums, found, metric)
    noisy, noisy_turned = _noise_of_shares(moments, groups, choice)
    noise, noise_turned = float((noisy**2).sum()), float((noisy_turned**2).sum())
    mean, eye = float(np.trace(own)) / len(own), np.eye(len(own))
    deviations = own - mean * eye
    kept = 1 - min(1.0, noise / max(float((deviations**2).sum()), np.finfo(float).tiny))
    moved = (1 - mean) * (_undone(found.kept) - 1)
    shares = kept * deviations + (mean - moved) * eye
    covariance = alternative = metric.matrix(shares, _LEAST_SHARE)
    symmetry: Misfit | None = None
    outside = None
    if choice.inverse == "bls":
        alternative = _alternative(s[u, u] - residual, metric, found, shares, moved)
    elif np.isfinite(noise) and len(own) > 1:
        # Both are zero but for noise where the model holds. Where they are not, cov(s2) is off by as much, at least.
        rank = choice.n_shared
        free = max(rank * len(own) - rank * (rank + 1) / 2, 1)
        chance = Misfit.from_norms(float((turned**2).sum()), noise_turned, 1.0, free)
        symmetry = replace(chance, noise_limit=BY_CHANCE * chance.noise_limit)
        beyond = _beyond(own)
        outside = float((beyond**2).sum()) / max(noise, np.finfo(float).tiny)
        asymmetric = symmetry.ratio is not None and symmetry.ratio > symmetry.noise_limit
        if asymmetric or outside > 1:
            size = _size(turned) if asymmetric else 0.0
            alternative = metric.matrix(shares - size - (beyond if outside > 1 else 0.0), _LEAST_SHARE)
    told = None
    if np.isfinite(noise):
        of_mean = float((np.einsum("gii->g", noisy) ** 2).sum()) / len(own) ** 2
        left = kept * np.einsum("gij,gjk->ik", noisy, noisy) + (1 - kept) * of_mean * eye
        told = Shares(metric, shares, left, metric.shares(alternative - covariance))
    target = (s[u, y] - regression @ s[v, y])[:, 0] if has_target else None
    return Extracted(groups, sums, found, regression, covariance, alternative, target, symmetry, outside, told)


def _alternative(
    predicted: np.ndarray, metric: _Metric, found: LinearMap, shares: np.ndarray, moved: float
) -> np.ndarray:
    """cov(s1) if what B misses of cov(s2) is removed as well, as far as the data tells it, and a guess of it beyond.

    cov(u, B v) = cov(s2) (B A)^T, so that B misses cov(s2) (I - B A)^T, which is between 0 and cov(s2). In the metric of R the
    latter is at least P, what v predicts of u, and at most P + I; P / (P + I) more than the least is taken, and half of I where
    cumulants of u show that s2 is there.
    """
    eye, of_v = np.eye(len(shares)), metric.shares(predicted)
    seen = metric.inverse @ found.seen @ metric.root
    guess = of_v @ np.linalg.inv(eye + of_v)
    further = guess + seen @ seen.T / 2 + _LEAST_SHARE * eye
    possible, most = _Metric.of(of_v + further), _Metric.of((further + further.T) / 2)
    lacking = metric.inverse @ (eye - found.inverse @ found.unbiased) @ metric.root
    left, values, right = np.linalg.svd(possible.inverse @ lacking @ possible.root)
    lacking = (left * np.minimum(values, 1.0)) @ right
    missed = possible.root @ (lacking + lacking.T) @ possible.root / 2
    values, vectors = np.linalg.eigh(most.shares(missed))
    missed = most.root @ (vectors * np.clip(values, -_MISSED, _MISSED)) @ vectors.T @ most.root
    of_mean = float(np.trace(missed)) / len(eye)
    # The mean was moved by a factor that is known where the signal is; elsewhere it may be off by as much as it was moved, or
    # by what v predicts.
    untold = _DOUBT**2 / (found.kept**2 + _DOUBT**2)
    beyond = untold**2 * float(np.trace(guess)) / len(eye)
    step = untold * moved if untold * moved > beyond else -beyond
    return metric.matrix(shares - (missed - of_mean * eye) + step * eye, _LEAST_SHARE)


def _without_shared(of_u: np.ndarray, crossed: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """cov(u) - cov(s2), with the paper's cov(s2) = cov(u, B v)."""
    shared = crossed @ inverse.T
    return np.asarray(of_u - (shared + shared.T) / 2)


def _size(matrix: np.ndarray) -> np.ndarray:
    """The symmetric matrix with no negative eigenvalues that is as large in every direction."""
    _, values, right = np.linalg.svd(matrix)
    return np.asarray((right.T * values) @ right)


def _beyond(shares: np.ndarray) -> np.ndarray:
    """What of the shares is below zero or above one."""
    values, vectors = np.linalg.eigh(shares)
    return np.asarray((vectors * (values - np.clip(values, 0.0, 1.0))) @ vectors.T)


def _undone(kept: float) -> float:
    """Factor by which a correction, of which the share ``kept`` was not lost, is to be raised."""
    return max(1.0, kept / (kept**2 + _DOUBT**2))


def _shares_of(
    moments: JointMoments, sums: JointSums, found: LinearMap, metric: _Metric
) -> tuple[np.ndarray, np.ndarray]:
    """cov(s1) in the metric of R, and what of cov(u) - cov(u, B v) is not symmetric."""
    u, v, s = moments.u, moments.v, sums.covariance
    raw = metric.shares(s[u, u] - s[u, v] @ found.inverse.T)
    own, turned = (raw + raw.T) / 2, (raw - raw.T) / 2
    if found.choice.inverse == "known":
        own = metric.shares(
            likeliest_parts(s[u, u], s[u, v] @ found.inverse.T, found.inverse @ s[v, v] @ found.inverse.T)
        )
    return own, turned


def likeliest_parts(of_u: np.ndarray, crossed: np.ndarray, of_v: np.ndarray) -> np.ndarray:
    """cov(s1) for Gaussian parts with u = s1 + s2 and w = B v = s2 + B s3, by maximum likelihood.

    It weighs what cov(u, w) has twice, and all three parts have covariances without negative eigenvalues. Each step of EM takes
    C_k to C_k - C_k D_k C_k, with D_k the part's blocks of D = P - P S P, for the covariance S of (u, w) and the inverse P of
    its model.
    """
    d = len(of_u)
    u, w = slice(0, d), slice(d, None)
    seen = np.block([[of_u, crossed], [crossed.T, of_v]])
    shared = _at_least((crossed + crossed.T) / 2)
    own, other = _at_least(of_u - shared), _at_least(of_v - shared)
    for _ in range(_MOST_STEPS):
        model = np.tile(shared, (2, 2))
        model[u, u] += own
        model[w, w] += other
        inverse = np.linalg.inv(model)
        slope = inverse - inverse @ seen @ inverse
        before = own
        own = own - own @ slope[u, u] @ own
        shared = shared - shared @ (slope[u, u] + slope[u, w] + slope[w, u] + slope[w, w]) @ shared
        other = other - other @ slope[w, w] @ other
        if np.abs(own - before).max() <= _SETTLED * np.abs(own).max():
            break
    return own


def _at_least(covariance: np.ndarray) -> np.ndarray:
    """With eigenvalues from which EM can move, in both directions."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, _LEAST_SHARE * np.abs(values).max())) @ vectors.T)


def _noise_of_shares(moments: JointMoments, groups: tuple[int, ...], choice: Choice) -> tuple[np.ndarray, np.ndarray]:
    """Noise of cov(s1) in the metric of R: deviations whose squares add up to its variance, shape (G, d_u, d_u).

    The jackknife over groups of rows; and the same of what is not symmetric.
    """
    if len(groups) < 2:
        return (np.full((1, moments.widths[0], moments.widths[0]), np.inf),) * 2
    found = []
    for left in groups:
        some = tuple(g for g in groups if g != left)
        sums = moments.of(some)
        u, v, s = moments.u, moments.v, sums.covariance
        regression = np.linalg.solve(s[v, v], s[v, u]).T
        metric = _Metric.of(s[u, u] - regression @ s[v, u])
        found.append(_shares_of(moments, sums, find_map(moments, some, sums, choice), metric))
    of_own, of_turned = (
        np.sqrt(1 - 1 / len(groups)) * (np.array(one) - np.mean(one, axis=0)) for one in zip(*found, strict=True)
    )
    return of_own, of_turned


@dataclass(frozen=True)
class _Metric:
    """That of the residual covariance R: a covariance matrix is R^(1/2) E R^(1/2), with shares E."""

    root: np.ndarray
    inverse: np.ndarray

    @classmethod
    def of(cls, residual: np.ndarray) -> _Metric:
        values, vectors = np.linalg.eigh(residual)
        if values[0] <= 1e-12 * max(values[-1], np.finfo(float).tiny):
            raise LatentiaError(
                "V predicts a combination of the columns of U exactly: one view must not be computed from the other."
            )
        return cls((vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T)

    def shares(self, matrix: np.ndarray) -> np.ndarray:
        return np.asarray(self.inverse @ matrix @ self.inverse)

    def matrix(self, shares: np.ndarray, least: float) -> np.ndarray:
        """With eigenvalues of the shares brought into [least, 1]."""
        values, vectors = np.linalg.eigh(shares)
        return np.asarray(self.root @ (vectors * np.clip(values, least, 1.0)) @ vectors.T @ self.root)


def own_cumulant(joint: np.ndarray, inverse: np.ndarray, regression: np.ndarray) -> np.ndarray:
    """Cumulant of s1, of third or higher order, from that of (u, v): kappa(u - B v, u, e, ..., e), made symmetric.

    With e = u - (regression of u on v). B v has no s1 and u - B v no s2, and s3 is not in u: so it is kappa(s1), as in the
    paper's equation 3, which has u in place of e. The latter has less of s2 and s3, whose noise and remains count the less.
    """
    d_u, order = inverse.shape[0], joint.ndim
    of_u, of_v = np.eye(len(joint))[:d_u], np.eye(len(joint))[d_u:]
    found = joint
    for matrix in (of_u - inverse @ of_v, of_u, *[of_u - regression @ of_v] * (order - 2)):
        found = np.tensordot(found, matrix, axes=(0, 1))  # the first mode becomes the last one
    places = [(i, j) for i in range(order) for j in range(order) if i != j]
    return np.asarray(sum(np.moveaxis(found, (0, 1), place) for place in places) / len(places))


def parts_of_cumulant(joint: np.ndarray, forward: np.ndarray, inverse: np.ndarray, part: int, sums: bool) -> np.ndarray:
    """Cumulant of s1, s2 or s3 from that of (u, v), by the paper's equations.

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

    def of(modes: list[np.ndarray]) -> np.ndarray:
        found = joint
        for matrix in modes:  # the first mode becomes the last one
            found = np.tensordot(found, matrix, axes=(0, 1))
        return found

    from_u, from_v = np.eye(len(joint))[u], np.eye(len(joint))[v]
    to_u = inverse @ from_v  # B v
    own = from_u
    if part == 3:
        from_u, to_u, own = forward @ from_u, from_v, from_v
    if sums:
        shared = (of([from_u + to_u] * order) - of([from_u] * order) - of([to_u] * order)) / (2**order - 2)
    else:
        shared = _symmetrised(of([from_u] * (order - 1) + [to_u]))
    return shared if part == 2 else of([own] * order) - shared


def _symmetrised(tensor: np.ndarray) -> np.ndarray:
    """The mean over the places that the last mode can have, of a tensor that is symmetric in the others."""
    order = tensor.ndim
    return np.asarray(sum(np.moveaxis(tensor, -1, place) for place in range(order)) / order)
