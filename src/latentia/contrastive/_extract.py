"""Cumulants of the parts s1, s2 and s3, once the linear map is known: the paper's equations 3 to 5, and 8 to 10."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..exceptions import LatentiaError
from ._linear_map import Choice, LinearMap, find_map
from ._views import JointMoments, JointSums

__all__ = ["Extracted", "extract", "parts_of_cumulant", "symmetrised_tensor"]

_LEAST_SHARE = 0.01  # of the variance of u that v does not predict, which s1 has in every direction
_DOUBT = 0.2  # share of the signal from which on its pull towards regression is undone


@dataclass(frozen=True)
class Extracted:
    """What some rows say of s1, in units of the columns' standard deviations.

    Attributes
    ----------
    groups : tuple of int
    sums : JointSums
    map : LinearMap
    residual : ndarray of shape (d_u, d_u)
        R, the covariance of u less its regression on v.
    covariance : ndarray of shape (d_u, d_u)
        Of s1.
    alternative : ndarray of shape (d_u, d_u)
        Of s1, if what B may miss of the shared part is removed as well: how far the answer may be off.
    target : ndarray of shape (d_u,) or None
        Covariance of s1 with y.
    """

    groups: tuple[int, ...]
    sums: JointSums
    map: LinearMap
    residual: np.ndarray
    covariance: np.ndarray
    alternative: np.ndarray
    target: np.ndarray | None


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
        return Extracted(groups, sums, found, residual, rest, rest, s[u, y][:, 0] if has_target else None)
    metric = _Metric.of(residual)
    own = metric.shares(_without_shared(s[u, u], s[u, v], found.inverse))
    noise = _noise_of_shares(moments, groups, choice)
    mean, eye = float(np.trace(own)) / len(own), np.eye(len(own))
    deviations = own - mean * eye
    kept = 1 - min(1.0, noise / max(float((deviations**2).sum()), np.finfo(float).tiny))
    moved = (1 - mean) * (_undone(found.pull) - 1)
    shares = kept * deviations + (mean - moved) * eye
    # cov(u, B v) = cov(s2) (B A)^T: what B A lacks of the identity is missed of cov(s2). That is at least P = cov(u) - R, more
    # likely twice that, and half of R where cumulants of u show that s2 is there.
    possible = 2 * (s[u, u] - residual) + found.seen @ residual @ found.seen.T / 2
    lacking = possible @ (eye - found.inverse @ found.unbiased).T
    missed = metric.shares((lacking + lacking.T) / 2)
    of_mean = float(np.trace(missed)) / len(own)
    alternative = metric.matrix(shares - (missed - of_mean * eye) - max(of_mean - moved, 0.0) * eye, _LEAST_SHARE)
    covariance = metric.matrix(shares, _LEAST_SHARE)
    target = (s[u, y] - regression @ s[v, y])[:, 0] if has_target else None
    return Extracted(groups, sums, found, residual, covariance, alternative, target)


def _without_shared(of_u: np.ndarray, crossed: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """cov(u) - cov(s2), with the paper's cov(s2) = cov(u, B v)."""
    shared = crossed @ inverse.T
    return np.asarray(of_u - (shared + shared.T) / 2)


def _undone(kept: float) -> float:
    """Factor by which a correction, of which the share ``kept`` was not lost, is to be raised."""
    return max(1.0, kept / (kept**2 + _DOUBT**2))


def _noise_of_shares(moments: JointMoments, groups: tuple[int, ...], choice: Choice) -> float:
    """Squared Frobenius norm of the noise of cov(s1) in the metric of R: the jackknife over groups of rows."""
    if len(groups) < 2:
        return np.inf
    found = []
    for left in groups:
        some = tuple(g for g in groups if g != left)
        sums = moments.of(some)
        u, v, s = moments.u, moments.v, sums.covariance
        regression = np.linalg.solve(s[v, v], s[v, u]).T
        metric = _Metric.of(s[u, u] - regression @ s[v, u])
        found.append(metric.shares(_without_shared(s[u, u], s[u, v], find_map(moments, some, sums, choice).inverse)))
    return (1 - 1 / len(groups)) * float(((np.array(found) - np.mean(found, axis=0)) ** 2).sum())


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


def parts_of_cumulant(joint: np.ndarray, forward: np.ndarray, inverse: np.ndarray, part: int, sums: bool) -> np.ndarray:
    """Cumulant of s1, s2 or s3 from that of (u, v).

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
        shared = symmetrised_tensor(of([from_u] * (order - 1) + [to_u]))
    return shared if part == 2 else of([own] * order) - shared


def symmetrised_tensor(tensor: np.ndarray) -> np.ndarray:
    """The mean over the places that the last mode can have, of a tensor that is symmetric in the others."""
    order = tensor.ndim
    return np.asarray(sum(np.moveaxis(tensor, -1, place) for place in range(order)) / order)
