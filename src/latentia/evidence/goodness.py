"""Goodness of fit without a pass: what the components leave of the whitened tensor, against what noise leaves.

With the whitened tensor T = sum_k lambda_k v_k^(x 3) + R, the residual R of data that follows the model is the noise of T.
Half of the difference N of the tensors of two halves has the same distribution, so that the ratio |R|^2 / |N|^2 is about one;
where the model does not hold it is larger, however much data there is. Two things are taken care of:

- A half has a whitening of its own. To first order its tensor in that is T_h (I - E_h / 2) in each mode, where
  W^T M_h W = I + E_h.
- The fit absorbs what can be had by changing lambda and turning v. In the basis v these are T_kkk and, of the pair
  (T_kkl, T_llk), the direction (lambda_k, -lambda_l). They are left out of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri

from ..tensor import apply_to_modes
from .checks import Check, at_most

_MOST = 2.0  # ratio that noise alone seldom has
_CHANCE, _MANY = 0.01, 1000
_TINY, _MOST_OF_NOTHING = float(np.finfo(float).tiny), 1e16
_PER_SHARE = 1.2  # error of a component, in distances to the nearest other one, if the misfit is all of the tensor


@dataclass(frozen=True)
class WhitenedMoments:
    """Moments of some rows in the whitened coordinates of all.

    Attributes
    ----------
    second : ndarray of shape (K, K)
        W^T M_2 W, the identity for all rows.
    third : ndarray of shape (K, K, K)
    """

    second: np.ndarray
    third: np.ndarray

    def in_own_whitening(self) -> np.ndarray:
        """The tensor as the whitening of these rows alone would have it, to first order."""
        turn = np.eye(len(self.second)) - (self.second - np.eye(len(self.second))) / 2
        return apply_to_modes(self.third, turn)


def share_of(beyond: float, whole: float) -> float:
    """Norm of a part as a share of that of the whole, from their squares; of nothing at most 1e8."""
    return float(np.sqrt(min(max(float(beyond), 0.0) / max(float(whole), _TINY), _MOST_OF_NOTHING)))


@dataclass(frozen=True)
class Misfit:
    """How much more the components leave than noise does.

    Attributes
    ----------
    ratio : float or None
        |R|^2 / |N|^2; one where the model holds. None if there is nothing to compare.
    share : float
        Norm of what is beyond the most that noise leaves, as a share of the whole.
    most : float
        Ratio that noise alone seldom has.
    """

    ratio: float | None = None
    share: float = 0.0
    most: float = _MOST

    @classmethod
    def of(cls, left: float, noise: float, whole: float, entries: float = np.inf, n_splits: int = 3) -> Misfit:
        """From squared norms of the residual, the noise and the whole.

        Of few independent entries, measured by ``n_splits`` differences of halves, the ratio scatters as F does: noise alone
        exceeds the limit in one of a hundred.
        """
        most = _MOST if entries > _MANY else max(_MOST, float(fdtri(entries, n_splits * entries, 1 - _CHANCE)))
        left, noise, whole = (
            float(left),
            float(noise),
            float(whole),
        )  # whose quotients may be infinite, without a warning
        return cls(left / max(noise, _TINY), share_of(left - most * noise, whole), most)

    def bias(self, distances: np.ndarray) -> np.ndarray:
        """Error that it adds to each component, from their distances to the nearest other ones, shape (K,)."""
        return np.asarray(_PER_SHARE * self.share * np.where(np.isfinite(distances), distances, 0.0))

    def checks(self, most: float = 0.0, what: str = "components") -> list[Check]:
        """One line, which asks for care where the ratio is above its limit, or ``most`` if that is more."""
        return [
            Check(
                "goodness of fit", "|R|^2 / |N|^2", self.ratio, at_most(max(most, self.most), "1 for noise"),
                f"Part of the moments that the {what} do not explain, relative to noise. Above the limit the data has "
                "structure that the model does not have.",
                "not in the papers", "caution",
                f"The data has structure that these {what} do not explain: compare with other numbers of them, or with another "
                "model.",
            )
        ]  # fmt: skip


def misfit_of_tensor(
    tensor: np.ndarray,
    weights: np.ndarray,
    vectors: np.ndarray,
    splits: Sequence[tuple[WhitenedMoments, WhitenedMoments]],
) -> Misfit:
    """The misfit of an orthogonal decomposition.

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
    halves = [[half.in_own_whitening() for half in pair] for pair in splits]
    noise = np.mean([_left((first - second) / 2, weights, vectors) for first, second in halves])
    k = len(weights)
    entries = k * (k - 1) / 2 + k * (k - 1) * (k - 2) / 6
    return Misfit.of(_left(tensor, weights, vectors), float(noise), float((tensor**2).sum()), entries, len(splits))


def _left(tensor: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> float:
    """Squared norm of what no change of weights and no rotation of the vectors absorbs."""
    turned = apply_to_modes(tensor, vectors.T)
    twice = np.einsum("kkl->kl", turned)
    own = np.diag(twice)
    sums = weights**2 + weights[:, None] ** 2
    across = (twice * weights + (twice * weights).T) ** 2 / np.maximum(sums, np.finfo(float).tiny)
    np.fill_diagonal(across, 0.0)
    distinct = (turned**2).sum() - (own**2).sum() - 3 * ((twice**2).sum() - (own**2).sum())
    return float(max(distinct, 0.0) + 1.5 * across.sum())
