"""Goodness of fit without a pass: the residual of the whitened tensor against its noise.

With the whitened tensor T = sum_k lambda_k v_k^(x 3) + R, the residual R of data that follows the model is the noise of T.
Half of the difference N of the tensors of two halves has the same distribution, so the ratio |R|^2 / |N|^2 is about one. If the
model does not hold, the ratio is larger, however much data there is. Two corrections:

- Each half has its own whitening. To first order its tensor in that whitening is T_h (I - E_h / 2) in each mode, where
  W^T M_h W = I + E_h.
- The fit absorbs whatever a change of lambda and a rotation of v can explain: in the basis v the entries T_kkk and, of the pair
  (T_kkl, T_llk), the direction (lambda_k, -lambda_l). R and N leave them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri

from ..linalg.ratios import ratio_of
from ..tensor import apply_to_modes
from .checks import Check, at_most
from .limits import NOISE_RATIO

_EXCEED_PROBABILITY = 0.01  # chance that noise alone exceeds the limit
_MANY_ENTRIES = 1000  # with more entries the ratio hardly scatters
_TINY, _MAX_SQUARED_SHARE = float(np.finfo(float).tiny), 1e16
_ERROR_PER_SHARE = 1.2  # error, in distances to the nearest other component, if the misfit is the whole tensor


@dataclass(frozen=True)
class WhitenedMoments:
    """Moments of some rows, in coordinates whitened by all rows.

    Attributes
    ----------
    second : ndarray of shape (K, K)
        W^T M_2 W, the identity for all rows.
    third : ndarray of shape (K, K, K)
    """

    second: np.ndarray
    third: np.ndarray

    def rewhiten(self) -> np.ndarray:
        """Return the tensor in the whitening of these rows alone, to first order."""
        turn = np.eye(len(self.second)) - (self.second - np.eye(len(self.second))) / 2
        return apply_to_modes(self.third, turn)


def share_of(excess: float, total: float) -> float:
    """Return the norm of a part relative to the total norm, from squared norms; at most 1e8."""
    return float(np.sqrt(min(max(float(excess), 0.0) / max(float(total), _TINY), _MAX_SQUARED_SHARE)))


@dataclass(frozen=True)
class Misfit:
    """Residual of the components in relation to noise.

    Attributes
    ----------
    ratio : float or None
        |R|^2 / |N|^2; one if the model holds. None if there is nothing to compare.
    share : float
        Norm of the residual beyond the limit of noise, relative to the total norm.
    noise_limit : float
        Ratio that noise alone seldom exceeds.
    """

    ratio: float | None = None
    share: float = 0.0
    noise_limit: float = NOISE_RATIO

    @classmethod
    def from_norms(
        cls, residual: float, noise: float, total: float, entries: float = np.inf, n_splits: int = 3
    ) -> Misfit:
        """Build a misfit from squared norms of the residual, the noise and the total.

        With few independent entries, measured by ``n_splits`` differences of halves, the ratio has an F distribution: noise
        alone exceeds the limit in one of a hundred cases.
        """
        limit = (
            NOISE_RATIO
            if entries > _MANY_ENTRIES
            else max(NOISE_RATIO, float(fdtri(entries, n_splits * entries, 1 - _EXCEED_PROBABILITY)))
        )
        residual, noise, total = (
            float(residual),
            float(noise),
            float(total),
        )  # whose quotients may be infinite, without a warning
        return cls(float(ratio_of(residual, noise)), share_of(residual - limit * noise, total), limit)

    def bias(self, distances: np.ndarray) -> np.ndarray:
        """Return the error that the misfit adds to each component, from distances to the nearest other one, shape (K,)."""
        return np.asarray(_ERROR_PER_SHARE * self.share * np.where(np.isfinite(distances), distances, 0.0))

    def checks(self, min_limit: float = 0.0, noun: str = "components") -> list[Check]:
        """Build a caution that fails if the ratio exceeds its limit, or ``min_limit`` if that is larger."""
        return [
            Check(
                "goodness of fit", "|R|^2 / |N|^2", self.ratio, at_most(max(min_limit, self.noise_limit), "1 for noise"),
                f"Part of the moments that the {noun} do not explain, relative to noise. Above the limit, the data has "
                "structure that the model lacks.",
                "not in the papers", "caution",
                f"The data has structure that these {noun} do not explain: compare with other numbers of {noun}, or with "
                "another model.",
            )
        ]  # fmt: skip


def misfit_of_tensor(
    tensor: np.ndarray,
    weights: np.ndarray,
    vectors: np.ndarray,
    splits: Sequence[tuple[WhitenedMoments, WhitenedMoments]],
) -> Misfit:
    """Measure the misfit of an orthogonal tensor decomposition.

    Parameters
    ----------
    tensor : ndarray of shape (K, K, K)
        Whitened tensor of all rows.
    weights, vectors : ndarrays of shape (K,), (K, K)
        Its decomposition, vectors in rows.
    splits : sequence of pairs of WhitenedMoments
        Moments of disjoint halves.
    """
    if len(weights) < 2 or not splits:
        return Misfit()
    halves = [[half.rewhiten() for half in pair] for pair in splits]
    noise = np.mean([_residual_norm((first - second) / 2, weights, vectors) for first, second in halves])
    k = len(weights)
    entries = k * (k - 1) / 2 + k * (k - 1) * (k - 2) / 6
    return Misfit.from_norms(
        _residual_norm(tensor, weights, vectors), float(noise), float((tensor**2).sum()), entries, len(splits)
    )


def _residual_norm(tensor: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> float:
    """Return the squared norm of the residual that no change of weights or rotation of vectors absorbs."""
    rotated = apply_to_modes(tensor, vectors.T)
    pair_entries = np.einsum("kkl->kl", rotated)
    diagonal = np.diag(pair_entries)
    sums = weights**2 + weights[:, None] ** 2
    pair_residual = (pair_entries * weights + (pair_entries * weights).T) ** 2 / np.maximum(sums, np.finfo(float).tiny)
    np.fill_diagonal(pair_residual, 0.0)
    distinct_residual = (rotated**2).sum() - (diagonal**2).sum() - 3 * ((pair_entries**2).sum() - (diagonal**2).sum())
    return float(max(distinct_residual, 0.0) + 1.5 * pair_residual.sum())
