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
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import DensityMixin

from .._base import Estimator, check_size, fitted, fitting
from .._parameters import seed_of
from .._validation import table_blocks
from ..evidence import (
    Check,
    Evidence,
    Misfit,
    PartErrors,
    PartFits,
    TensorMeasured,
    WhitenedMoments,
    at_most,
    error_checks,
    misfit_of_tensor,
    separation_limit,
    settled_checks,
    tensor_checks,
    trivial_checks,
    whitened_noise,
)
from ..exceptions import LatentiaError
from ..likelihood import (
    Refine,
    Refined,
    Refinement,
    SphericalMixtureUpdate,
    normalised,
    one_gaussian,
    over,
    refine,
    spherical_log_density,
)
from ..metrics import nearest_other_distance, nearest_others
from ..moments import ColumnMoments, VectorMoments, VectorSums, column_moments, principal_coordinates
from ..passes import Blocks, RowGroups, accumulate, deal, sample_rows
from ..tensor import Decomposition, apply_to_modes, decompose, symmetrised

__all__ = ["SphericalGaussianMixture"]

_OVERSAMPLE = 12
_ROUND, _DEVIATIONS = 0.1, 4.0  # excess of a variance that is let pass, or so many of its standard deviations
_FLOOR = 1e-3  # least variance of a component, as a share of the mean one


class SphericalGaussianMixture(DensityMixin, Estimator):
    """Mixture of spherical Gaussians, fitted by tensor decomposition.

    The fit is deterministic, makes a few passes over the data, and gives an expected error for every mean.

    Choose it for many components of roughly round shape, where EM from random starts merges some of them and splits
    others. It needs means that do not lie in a plane of fewer than K - 1 dimensions, at least as many features as
    components, and some hundreds of rows per component. Scale the features first if their units differ.

    Parameters
    ----------
    n_components : int, "auto" or several, default=10
        Number of components K, at most the number of features.
        Of a range or list of numbers, or "auto" for 2 to 100, the one is taken that the evidence recommends: see
        ``n_components_``, ``recommendation_`` and ``comparison_`` then. Each number costs a fit.
    refine : int or "auto", default="auto"
        EM from the moments: "auto" makes accelerated steps until they have settled, a number that many plain ones, each a
        pass over the data. 0 keeps to the theorem. See ``refinement_``, and *EM has settled* in the evidence.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They cost no pass over the
        data; with ``refine`` a single split is made, which costs as much as refining. With 0 no errors are measured.
    random_state : int, default=0
        Seed of the starts and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    means_ : ndarray of shape (K, D)
        Means, in order of decreasing weight.
    weights_ : ndarray of shape (K,)
    variance_ : ndarray of shape (K,)
        Variances sigma_k^2 of a single feature.
    evidence_ : Evidence
        Checks of the assumptions, and the expected l2 error of every mean in the units of the data
        (``component_errors``).
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the data at every step of EM, in nats.
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted.

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
    means_: np.ndarray

    def __init__(
        self,
        n_components: int = 10,
        *,
        refine: Refine = "auto",
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

    @fitting
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
        blocks = table_blocks(self, X, reset=True)
        self._check_count(blocks)
        # Passes over the data: columns, principal coordinates, and moments in these of four groups of rows.
        moments = self._moments(blocks, deal(blocks, self._seed))
        # Decomposition for all rows and for parts of them, and EM on the same rows.
        fits = PartFits(
            moments.dealt,
            recover=lambda groups: _recover(moments, groups, self.n_components, self._seed),
            finish=lambda found, groups: self._refined(found.mixture, moments, blocks, groups),
            restart=(lambda one, groups: self._refined(one.parameters, moments, blocks, groups))
            if self.refine
            else None,
            distance=lambda one, part: cdist(one.parameters.means, part.parameters.means).min(axis=1),
            cost="passes" if self.refine else "free",
        )
        found, refined = fits.whole()
        self.means_, self.weights_, self.variance_ = refined.parameters
        self.refinement_ = refined.refinement.log_likelihood
        self.n_passes_ = moments.n_passes + len(self.refinement_)
        # Evidence.
        misfit, roundness = _misfit(found, moments), _roundness(refined.parameters, moments)
        bias = misfit.bias(nearest_others(self.means_, "euclidean"))
        parts = fits.errors(refined, self.n_splits).widened(np.hypot(bias, _apart(refined.parameters, roundness)))
        checks = _checks(refined, found, moments, parts, misfit, roundness) + self._against_one_component(blocks)
        self.evidence_ = Evidence(checks, parts.errors).bind(self)
        return self

    def _moments(self, blocks: Blocks, dealt: RowGroups) -> _Moments:
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        columns = column_moments(blocks, **options)
        if not columns.variance.any():
            raise LatentiaError(f"All {columns.n} rows are the same: there is no mixture to find.")
        coordinates, n_passes = principal_coordinates(
            blocks, self.n_components + _OVERSAMPLE, columns.mean, random_state=self._seed, **options
        )
        statistic = VectorMoments(coordinates, dealt)
        return _Moments(columns, statistic, accumulate(blocks, statistic, **options), dealt, n_passes + 2)

    def _refined(self, mixture: _Mixture, moments: _Moments, blocks: Blocks, groups: tuple[int, ...]) -> Refined:
        """After EM on the rows of some groups."""
        if not self.refine:
            return Refined(mixture.sorted(), Refinement.none())
        update = SphericalMixtureUpdate(*mixture, floor=_FLOOR, least=moments.least_variance)
        rows = blocks.group(groups, moments.dealt)
        found = refine(update, over(rows, self.n_jobs, self.verbose), self.refine)
        means, variance, weights = found.values
        return Refined(_Mixture(means, weights, variance).sorted(), found)

    def _against_one_component(self, blocks: Blocks) -> list[Check]:
        """Whether the fit predicts better than one Gaussian."""
        (rows,) = sample_rows(blocks)
        trivial, n_parameters = one_gaussian(rows, blocks.n_rows)
        extra = self.means_.size + 2 * len(self.weights_) - 1 - n_parameters
        return trivial_checks(
            self.score_samples(rows), trivial, extra=extra, n_rows=blocks.n_rows, against="one component"
        )

    def _check_count(self, blocks: Blocks) -> None:
        most = min(blocks.n_rows, self.n_features_in_)
        if self.n_components > most:
            raise LatentiaError(
                f"{blocks.n_rows} rows of {self.n_features_in_} features support at most {most} components.",
                parameter="n_components", value=self.n_components,
            )  # fmt: skip

    def _distances(self, other: SphericalGaussianMixture) -> np.ndarray:
        return cdist(self.means_, other.means_).min(axis=1)

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable component of every row, shape (n_rows,)."""
        return np.concatenate([joint.argmax(axis=1) for joint in self._joint(X)])

    @fitted
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the components of every row, shape (n_rows, K)."""
        return np.vstack([normalised(joint, self.weights_)[0] for joint in self._joint(X)])

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of a row in nats; higher is better."""
        return float(np.mean(self.score_samples(X)))

    @fitted
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-density of every row in nats, shape (n_rows,)."""
        return np.concatenate([normalised(joint, self.weights_)[1] for joint in self._joint(X)])

    @fitted
    def sample(self, n_samples: int = 1, random_state: Any = 0) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from the fitted mixture: X (n_samples, D) and their components (n_samples,)."""
        n_samples, rng = check_size(n_samples), np.random.default_rng(seed_of(random_state))
        labels = rng.choice(len(self.weights_), size=n_samples, p=self.weights_)
        noise = rng.standard_normal((n_samples, self.means_.shape[1]))
        return self.means_[labels] + np.sqrt(self.variance_[labels])[:, None] * noise, labels

    def _joint(self, X: Any) -> Iterator[np.ndarray]:
        """Log-density of each row together with each component, (n, K), block by block."""
        blocks = table_blocks(self, X, reset=False)
        variance = np.maximum(self.variance_, np.finfo(float).tiny)
        log_weights = np.log(np.maximum(self.weights_, np.finfo(float).tiny))
        return (spherical_log_density(block[0], self.means_, variance) + log_weights for block in blocks)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# --- from moments to the mixture ----------------------------------------------------------------------------------


class _Mixture(NamedTuple):
    """Means (K, D), weights (K,) and variances (K,)."""

    means: np.ndarray
    weights: np.ndarray
    variance: np.ndarray

    def sorted(self) -> _Mixture:
        """The same, the largest weight first."""
        order = np.argsort(-self.weights, kind="stable")
        return _Mixture(self.means[order], self.weights[order], self.variance[order])


@dataclass(frozen=True)
class _Moments:
    """Columns, and the moments of groups of rows in principal coordinates."""

    columns: ColumnMoments
    statistic: VectorMoments
    sums: Any
    dealt: RowGroups
    n_passes: int

    def of(self, groups: tuple[int, ...]) -> VectorSums:
        return self.statistic.of(self.sums, groups)

    @property
    def least_variance(self) -> float:
        """Of a component whose rows are all the same."""
        return 1e-9 * float(self.columns.variance.mean())


@dataclass(frozen=True)
class _Recovered:
    """The mixture, and the decomposition that it comes from."""

    mixture: _Mixture
    spectrum: np.ndarray
    whitening: np.ndarray
    tensor: np.ndarray
    decomposition: Decomposition


def _recover(moments: _Moments, groups: tuple[int, ...], k: int, seed: int) -> _Recovered:
    """The mixture from the moments of some groups, in the coordinates of an orthonormal basis (D x b)."""
    m, basis, least = moments.of(groups), moments.statistic.coordinates.basis, moments.least_variance
    values, vectors = np.linalg.eigh(m.third[:-1, :-1, -1])
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = _noise(m, values, k)
    signal = _signal(values, noise, k)
    # Whitening: the plane of the means is scaled to unit signal, and the constant is a direction of its own.
    size = m.third.shape[0]
    plane = np.zeros((size, k))
    plane[:-1, : k - 1] = vectors[:, : k - 1]
    plane[-1, -1] = 1.0
    whitening = plane / np.append(np.sqrt(signal), 1.0)
    tensor, g = _tensor(m, whitening)
    decomposition = decompose(tensor, k, seed)
    eigenvalues, v, _ = decomposition
    roots = np.clip(v[:, -1], 0.3 / eigenvalues, 3 / eigenvalues)
    directions = whitening @ v.T
    spread = m.sketch @ directions - noise * basis @ directions[:-1]
    means = m.mean + (spread / roots).T
    variance = np.clip(v @ g / roots, max(0.05 * noise, least), max(20 * noise, least))
    mixture = _Mixture(means, roots**2 / (roots**2).sum(), variance).sorted()
    return _Recovered(mixture, values - noise, whitening, tensor, decomposition)


def _tensor(m: VectorSums, whitening: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The whitened tensor of the means, (K, K, K), and g in the whitened coordinates: the share of the variances in it."""
    k = whitening.shape[1]
    scales = np.append(np.linalg.norm(whitening[:-1, :-1], axis=0), 0.0)
    plane = whitening[:, :-1] / scales[:-1]
    # g: what lies across the plane, averaged over its directions.
    across = m.energy - np.einsum("abc,ai,bi->c", m.third, plane, plane, optimize=True)
    g = whitening.T @ across / (len(m.mean) - k + 1)
    tensor = apply_to_modes(m.third, whitening)
    return tensor - 3 * symmetrised(np.diag(scales**2)[:, :, None] * g), g


def _noise(m: VectorSums, values: np.ndarray, k: int) -> float:
    """Mean variance across the plane of the means, from the principal variances, descending."""
    return max((m.energy[-1] - values[: k - 1].sum()) / (len(m.mean) - k + 1), 0.0)


def _whitened(m: VectorSums, whitening: np.ndarray) -> WhitenedMoments:
    """Moments of some rows in the whitened coordinates of all."""
    k = whitening.shape[1]
    noise = _noise(m, np.linalg.eigvalsh(m.third[:-1, :-1, -1])[::-1], k)
    second = whitening.T @ m.third[..., -1] @ whitening
    second[:-1, :-1] -= noise * whitening[:-1, :-1].T @ whitening[:-1, :-1]
    return WhitenedMoments(second, _tensor(m, whitening)[0])


def _misfit(found: _Recovered, moments: _Moments) -> Misfit:
    one, whitening = moments.of, found.whitening
    halves = [(_whitened(one(a), whitening), _whitened(one(b), whitening)) for a, b in moments.dealt.splits]
    weights, vectors, _ = found.decomposition
    return misfit_of_tensor(found.tensor, weights, vectors, halves)


def _signal(values: np.ndarray, noise: float, k: int) -> np.ndarray:
    """Variance of the means along the K - 1 leading directions, shape (K - 1,)."""
    signal = values[: k - 1] - noise
    lacking = signal <= 1e-9 * values[0]
    if len(signal) < k - 1 or lacking.any():
        rank = int(np.argmax(lacking)) if lacking.any() else len(signal)
        raise LatentiaError(
            f"the means span {k - 1} directions, but eigenvalue {rank + 1} of the covariance does not exceed the noise of "
            f"{noise:.3g} (the largest is {values[0]:.3g}): this data supports at most {rank + 1} components.",
            parameter="n_components", value=k,
        )  # fmt: skip
    return signal


# --- evidence -----------------------------------------------------------------------------------------------------


def _checks(
    refined: Refined, found: _Recovered, moments: _Moments, parts: PartErrors, misfit: Misfit, roundness: Check
) -> list[Check]:
    mixture: _Mixture = refined.parameters
    first, second = (moments.of(half) for half in moments.dealt.splits[0])
    noise = whitened_noise(found.whitening, (first.third[..., -1], first.third), (second.third[..., -1], second.third))
    k = len(mixture.weights)
    limit = separation_limit(mixture.means, "euclidean") if k > 1 else float(np.sqrt(mixture.variance[0]))
    measured = TensorMeasured(
        spectrum=found.spectrum,
        weights=found.decomposition.weights,
        residual=found.decomposition.info.residual,
        stable=found.decomposition.info.stable,
        samples=moments.of(moments.dealt.all).n,
        n_directions=k - 1,
        noise=noise,
    )
    return [
        *error_checks(
            parts,
            limit,
            "mean |mu_k - mu'_k|_2",
            "in l2 and the units of the data",
            "component",
            n_rows=measured.samples,
        ),
        *misfit.checks(what="components"),
        *settled_checks(refined.refinement),
        *tensor_checks(measured),
        roundness,
        *_separation(mixture),
        *_constant_features(moments.columns),
    ]


def _roundness(mixture: _Mixture, moments: _Moments) -> Check:
    """Whether rows spread as far in all directions across the plane of the means: the widest of one half, in the other."""
    k = len(mixture.weights)
    excesses, noises = [], []
    for split in moments.dealt.splits:
        first, second = (moments.of(half) for half in split)
        for one, other in ((first, second), (second, first)):
            values, vectors = np.linalg.eigh(one.third[:-1, :-1, -1])
            if len(values) < k:
                continue
            across = vectors[:, ::-1][:, k - 1]
            spread = other.third[:-1, :-1, -1]
            noises.append(_noise(other, np.linalg.eigvalsh(spread)[::-1], k))
            excesses.append(float(across @ spread @ across) - noises[-1])
    noise, n = float(np.mean(noises or [0.0])), moments.of(moments.dealt.splits[0][0]).n
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


def _apart(mixture: _Mixture, roundness: Check) -> float:
    """How far components are from the clusters that they may stand for, where they are not round."""
    if roundness.holds is not False or not isinstance(roundness.measured, float):
        return 0.0
    return float(np.sqrt(roundness.measured * (mixture.weights @ mixture.variance)))


def _separation(mixture: _Mixture) -> list[Check]:
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
