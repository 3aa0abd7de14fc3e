"""Mixtures of spherical Gaussians by tensor decomposition.

Model. A row draws a component h with P(h = k) = w_k, and x = mu_h + sigma_h z with z standard normal in R^D. With y =
(x - E[x], 1), nu_k = (mu_k - E[x], 1) and s^2 = sum_k w_k sigma_k^2, the least eigenvalue of the covariance,

    E[y y^T] - s^2 (I, 0)                                   = sum_k w_k nu_k nu_k^T,
    E[y^(x 3)] - sum_i (g (x) e_i (x) e_i + rotations)       = sum_k w_k nu_k^(x 3),      g = sum_k w_k sigma_k^2 nu_k,

and g = E[r y] / (D - K + 1), where r is the squared distance of x to the K - 1 dimensional plane of the means.

Source: D. Hsu, S. Kakade, Learning mixtures of spherical Gaussians, ITCS 2013, for the moments; R. Ge, thesis,
Princeton 2013, chapter 7, for the decomposition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from .._validation import check_splits, check_whole, seed_of, table_blocks
from ..evidence import (
    EVERYONE,
    HALVES,
    Check,
    Evidence,
    PartErrors,
    TensorMeasured,
    error_checks,
    errors_from_groups,
    separation_limit,
    tensor_checks,
    whitened_noise,
)
from ..exceptions import LatentiaError
from ..metrics import nearest_other_distance
from ..moments import (
    SphericalMixtureUpdate,
    VectorMoments,
    VectorSums,
    column_moments,
    principal_coordinates,
    spherical_log_density,
)
from ..passes import Blocks, accumulate
from ..tensor import apply_to_modes, decompose, symmetrised

__all__ = ["SphericalGaussianMixture"]

_OVERSAMPLE = 12


@dataclass(frozen=True)
class _Recovered:
    means: np.ndarray
    weights: np.ndarray
    variance: np.ndarray
    spectrum: np.ndarray
    whitening: np.ndarray
    tensor: np.ndarray
    eigenvalues: np.ndarray
    info: Any


class SphericalGaussianMixture(DensityMixin, BaseEstimator):
    """Mixture of spherical Gaussians by tensor decomposition: deterministic, few passes, error bars for every mean.

    When to choose it: many components of roughly round shape, where EM from random starts merges some of them and
    splits others. It needs means that do not lie in a plane of fewer than K - 1 dimensions, at least as many features
    as components, and some hundreds of rows a component. Scale the features first if their units differ.

    Parameters
    ----------
    n_components : int, default=10
        Number of components K, at most the number of features.
    refine : int, default=0
        EM passes over the data, started from the moments. Outside the theorem; 10 are mostly enough for the accuracy
        of maximum likelihood.
    n_splits : int, default=3
        Random splits into halves, at most 3, whose fits give the error bars; they cost no pass over the data, but with
        ``refine`` one is made and costs as much as refining itself. 0 gives up the error bars.
    random_state : int, default=0
        Seed of the starts and splits; None or a RandomState draws one.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : bool, default=False
        Show progress and the time that remains.

    Attributes
    ----------
    means_ : ndarray of shape (K, D)
        The largest weight first.
    weights_ : ndarray of shape (K,)
    variance_ : ndarray of shape (K,)
        sigma_k^2, of one feature.
    evidence_ : Evidence
        Checks of the assumptions, and expected l2 errors of the means in the units of the data (``component_errors``).
    n_passes_ : int
        Passes over the data.

    Notes
    -----
    Differences from Hsu and Kakade:

    1. Moments are about the mean, with a constant appended: K means need span only K - 1 dimensions, and moving the
       data changes nothing.
    2. g averages all D - K + 1 directions across the plane of the means, where the paper takes one; s^2 likewise.
    3. With more than 2 (K + 12) features all moments are taken in the K + 12 leading principal directions; nothing of
       size D x D appears.
    4. Weights come from the constant's coordinate, E[y] = sum_k w_k nu_k, not from the tensor's eigenvalues w_k^-1/2.
    5. ``refine`` is not in the paper: EM with variances of at least a thousandth of their mean.

    References
    ----------
    D. Hsu, S. Kakade, ITCS 2013. R. Ge, thesis 2013, chapter 7.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.mixtures import SphericalGaussianMixture
    >>> data = planted.gaussian_mixture(5000, n_components=4, n_features=8, separation=8)
    >>> model = SphericalGaussianMixture(4, refine=5).fit(data.X)
    >>> model.means_.shape
    (4, 8)
    """

    _compared = ("means_",)

    def __init__(
        self,
        n_components: int = 10,
        *,
        refine: int = 0,
        n_splits: int = 3,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.refine = refine
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> SphericalGaussianMixture:
        """Learn the mixture.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        blocks = table_blocks(self, X, reset=True)
        if self.n_components > min(blocks.n_rows, self.n_features_in_):
            raise LatentiaError(
                f"n_components={self.n_components}: {blocks.n_rows} rows of {self.n_features_in_} features support at most "
                f"n_components={min(blocks.n_rows, self.n_features_in_)}."
            )
        moments, sums = self._moments(blocks)
        basis = moments.coordinates.basis
        found = self._recover(moments.of(sums, EVERYONE), basis)
        self.means_, self.weights_, self.variance_ = self._refine(found, blocks)

        def fit_half(groups: tuple[int, ...]) -> np.ndarray:
            half = blocks.group(frozenset(groups), 4, self._seed) if self.refine else blocks
            return self._refine(self._recover(moments.of(sums, groups), basis), half)[0]

        parts = errors_from_groups(
            fit_half, lambda half: cdist(self.means_, half).min(axis=1), self.n_splits, cheap=not self.refine
        )
        self.n_passes_ += self.refine
        return self._weigh_evidence(found, moments, sums, parts)

    def _moments(self, blocks: Blocks) -> tuple[VectorMoments, Any]:
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        columns = column_moments(blocks, **options)
        if not columns.variance.any():
            raise LatentiaError(f"All {columns.n} rows are the same: there is no mixture to find.")
        self._least = 1e-9 * float(
            columns.variance.mean()
        )  # rows that are all the same in a component leave no variance
        self._features = {"constant": int((columns.variance == 0).sum())}
        coordinates, n_passes = principal_coordinates(
            blocks, self.n_components + _OVERSAMPLE, columns.mean, random_state=self._seed, **options
        )
        moments = VectorMoments(coordinates, 4, self._seed)
        self.n_passes_ = n_passes + 2
        return moments, accumulate(blocks, moments, **options)

    def _recover(self, m: VectorSums, basis: np.ndarray) -> _Recovered:
        """Parameters from moments in the coordinates of an orthonormal basis (D x b)."""
        k, n_features = self.n_components, len(m.mean)
        values, vectors = np.linalg.eigh(m.third[:-1, :-1, -1])
        values, vectors = values[::-1], vectors[:, ::-1]
        noise = max((m.energy[-1] - values[: k - 1].sum()) / (n_features - k + 1), 0.0)
        signal = self._signal(values, noise)
        # Whitening: the plane of the means is scaled to unit signal, and the constant is a direction of its own.
        size = m.third.shape[0]
        plane = np.zeros((size, k))
        plane[:-1, : k - 1] = vectors[:, : k - 1]
        plane[-1, -1] = 1.0
        whitening = plane / np.append(np.sqrt(signal), 1.0)
        # g: what lies across the plane, averaged over its directions.
        across = m.energy - np.einsum("abc,ai,bi->c", m.third, plane[:, :-1], plane[:, :-1], optimize=True)
        g = whitening.T @ across / (n_features - k + 1)
        tensor = apply_to_modes(m.third, whitening)
        diagonal = np.diag(np.append(1.0 / signal, 0.0))
        tensor -= 3 * symmetrised(diagonal[:, :, None] * g)
        eigenvalues, v, info = decompose(tensor, k, self._seed)
        roots = np.clip(v[:, -1], 0.3 / eigenvalues, 3 / eigenvalues)
        directions = whitening @ v.T
        spread = m.sketch @ directions - noise * basis @ directions[:-1]
        means = m.mean + (spread / roots).T
        variance = np.clip(v @ g / roots, max(0.05 * noise, self._least), max(20 * noise, self._least))
        weights = roots**2 / (roots**2).sum()
        order = np.argsort(-weights, kind="stable")
        return _Recovered(
            means[order], weights[order], variance[order], values - noise, whitening, tensor, eigenvalues, info
        )

    def _signal(self, values: np.ndarray, noise: float) -> np.ndarray:
        """Variance of the means along the K - 1 leading directions, shape (K - 1,)."""
        signal = values[: self.n_components - 1] - noise
        lacking = signal <= 1e-9 * values[0]
        if len(signal) < self.n_components - 1 or lacking.any():
            rank = int(np.argmax(lacking)) if lacking.any() else len(signal)
            raise LatentiaError(
                f"n_components={self.n_components} means span {self.n_components - 1} directions, but eigenvalue {rank + 1} of "
                f"the covariance does not exceed the noise of {noise:.3g} (the largest is {values[0]:.3g}): this data supports "
                f"at most n_components={rank + 1}."
            )
        return signal

    def _refine(self, found: _Recovered, blocks: Blocks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        means, weights, variance = found.means, found.weights, found.variance
        for step in range(self.refine):
            update = SphericalMixtureUpdate(means, weights, variance)
            label = self.verbose and f"refining {step + 1} of {self.refine}"
            sums = accumulate(blocks, update, self.n_jobs, progress=label)
            means, weights, variance = update.updated(sums, floor=max(1e-3 * float(weights @ variance), self._least))
        order = np.argsort(-weights, kind="stable")
        return means[order], weights[order], variance[order]

    def _distances(self, other: SphericalGaussianMixture) -> np.ndarray:
        return cdist(self.means_, other.means_).min(axis=1)

    def _weigh_evidence(
        self, found: _Recovered, moments: VectorMoments, sums: Any, parts: PartErrors
    ) -> SphericalGaussianMixture:
        first, second = (moments.of(sums, half) for half in HALVES[0])
        noise = whitened_noise(
            found.whitening, (first.third[..., -1], first.third), (second.third[..., -1], second.third)
        )
        whole = moments.of(sums, EVERYONE)
        k = self.n_components
        measured = TensorMeasured(
            spectrum=found.spectrum,
            weights=found.eigenvalues,
            residual=found.info.residual,
            stable=found.info.stable,
            samples=whole.n,
            n_directions=k - 1,
            noise=noise,
        )
        separation = nearest_other_distance(self.means_, "euclidean")
        limit = (
            separation_limit(self.means_, "euclidean") if self.n_components > 1 else float(np.sqrt(self.variance_[0]))
        )
        checks = error_checks(parts, limit, "mean |mu_k - mu'_k|_2", "in l2 and the units of the data", "mean")
        checks += [*tensor_checks(measured), *self._separation(separation), *self._constant_features()]
        self.evidence_ = Evidence(checks, parts.errors).bind(self)
        return self

    def _separation(self, nearest: float) -> list[Check]:
        sigma = float(np.sqrt(self.weights_ @ self.variance_))
        if not np.isfinite(nearest) or sigma == 0:
            return []
        return [
            Check(
                "separation", "|mu_k - mu_l| / sigma", nearest / sigma, "", None,
                "Distance of a mean to the nearest other one in standard deviations; clusters of rows overlap below about 4.",
                "Hsu and Kakade 2013",
            )
        ]  # fmt: skip

    def _constant_features(self) -> list[Check]:
        n = self._features["constant"]
        if not n:
            return []
        meaning = "They have no noise, which the model gives to every feature: leave them out."
        return [Check("constant features", "", float(n), "0", False, meaning, "model")]

    # --- use ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Most probable component of every row, shape (n_rows,)."""
        return np.concatenate([joint.argmax(axis=1) for joint in self._joint(X)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the components of every row, shape (n_rows, K)."""
        return np.vstack([np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) for joint in self._joint(X)])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of a row, in nats. Higher is better."""
        return float(np.mean(self.score_samples(X)))

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-density of every row, shape (n_rows,)."""
        return np.concatenate([logsumexp(joint, axis=1) for joint in self._joint(X)])

    def sample(self, n_samples: int = 1, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from the fitted mixture: X (n_samples, D) and their components (n_samples,)."""
        check_is_fitted(self)
        rng = np.random.default_rng(random_state)
        labels = rng.choice(len(self.weights_), size=n_samples, p=self.weights_)
        noise = rng.standard_normal((n_samples, self.means_.shape[1]))
        return self.means_[labels] + np.sqrt(self.variance_[labels])[:, None] * noise, labels

    def _joint(self, X: Any) -> Iterator[np.ndarray]:
        """Log-density of each row together with each component, (n, K), block by block."""
        check_is_fitted(self)
        blocks = table_blocks(self, X, reset=False)
        variance = np.maximum(self.variance_, np.finfo(float).tiny)
        log_weights = np.log(np.maximum(self.weights_, np.finfo(float).tiny))
        return (spherical_log_density(block[0], self.means_, variance) + log_weights for block in blocks)

    # --- helpers ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_whole(self, n_components=1, refine=0)
        check_splits(self, "rows")
        self._seed = seed_of(self.random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
