"""Plain EM for mixtures of Gaussians on rows in memory.

With features phi(x) of a row, the logarithm of w_k N(x; mu_k, C_k) is c_k . phi(x) + a_k, and EM's estimates follow from
sum_i r_ik phi(x_i), where r_ik are the responsibilities of row i. So a step is two products of matrices for any shape of C_k:

    spherical   phi(x) = (coordinates of x, |x|^2)
    diag        phi(x) = (x, x_1^2, ..., x_D^2)
    full        phi(x) = (x, x_i x_j for i <= j)
    tied        phi(x) = x:  the quadratic part is the same for all components

Rows are centred. For spherical mixtures a few coordinates suffice, with the squared length over all columns: means in the span
of the coordinates have the same likelihood on both, and principal coordinates hold nearly all differences between means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..likelihood import Refine, Refinement, gaussian_log_density, log
from ..likelihood.gaussian import covariance_roots, full_gaussian_log_density
from ..moments import Coordinates
from ..moments.vectors import squared_distances
from ..passes import Blocks
from ._moves import Shape
from ._shrunk import Prior
from ._spherical_update import spherical_log_density

_VARIANCE_FLOOR = 1e-3  # smallest variance of a spherical component, as a share of the mean variance at the start
_RIDGE = 1e-6  # added to all variances of other shapes, as a share of the mean variance of a column
_SHRUNK_RIDGE, _MIN_COLUMN_VARIANCE = 1e-8, 1e-3  # ridge of shrunk matrices, for columns above this share of variance
_MIN_GAIN = 1e-4  # gain of the last step in a search, in nats per row
_MAX_STEPS = 500
_MAX_PRIOR_UPDATES = 5
_FORECAST_STEPS, _FORECAST_MARGIN = 6, 3.0  # steps that forecast the objective, and the safety factor of the forecast
_MAX_GAIN_RATIO, _NEGLIGIBLE_GAIN = 0.95, 0.01  # ratio of gains that allows no forecast, and a negligible gain in nats
_MIN_MASS = 1e-12
_CHUNK_SIZE = 1 << 20  # numbers in the features of one product
_MAX_CACHE = 1 << 25  # numbers in features that are kept between steps


class Mixture(NamedTuple):
    """Means (K, D), weights (K,), variances of a single feature (K,) and, unless components are spherical, covariances.

    Covariances are (K, D) if diagonal, (K, D, D) if full, and (1, D, D) if all components share one. ``strength`` is the
    strength of their prior, in rows.
    """

    means: np.ndarray
    weights: np.ndarray
    variance: np.ndarray
    covariances: np.ndarray | None = None
    strength: float = 0.0

    def sorted(self) -> Mixture:
        """Sort the components by decreasing weight."""
        return self.select(np.argsort(-self.weights, kind="stable"))

    def select(self, components: np.ndarray) -> Mixture:
        """Select some components, in this order."""
        weights, covariances = self.weights[components], self.covariances
        if covariances is not None and len(covariances) > 1:
            covariances = covariances[components]
        weights = weights / weights.sum()
        return Mixture(self.means[components], weights, self.variance[components], covariances, self.strength)

    def shift(self, offset: np.ndarray) -> Mixture:
        """Shift the means by an offset."""
        return self._replace(means=self.means + offset)

    def log_density(self, rows: Any) -> np.ndarray:
        """Compute the log-density of rows given each component, in nats, shape (n, K)."""
        if self.covariances is None:
            return spherical_log_density(rows, self.means, np.maximum(self.variance, np.finfo(float).tiny))
        if self.covariances.ndim == 2:
            return gaussian_log_density(rows, self.means, self.covariances)
        return full_gaussian_log_density(rows, self.means, self.covariances)

    def log_dets(self) -> np.ndarray:
        """Compute the log-determinants of the covariances, shape (K,), or (1,) if all components share one."""
        if self.covariances is None:
            return self.means.shape[1] * np.log(self.variance)
        return (
            np.log(self.covariances).sum(axis=1)
            if self.covariances.ndim == 2
            else np.linalg.slogdet(self.covariances)[1]
        )

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows, shape (n, D), and their components, shape (n,)."""
        labels = rng.choice(len(self.weights), size=n, p=self.weights)
        noise = rng.standard_normal((n, self.means.shape[1]))
        if self.covariances is None:
            noise = np.sqrt(self.variance[labels])[:, None] * noise
        elif self.covariances.ndim == 2:
            noise = np.sqrt(self.covariances[labels]) * noise
        else:
            roots = np.linalg.cholesky(self.covariances)
            noise = np.einsum("nij,nj->ni", roots[np.minimum(labels, len(roots) - 1)], noise)
        return self.means[labels] + noise, labels


def n_parameters(k: int, width: int, shape: Shape) -> int:
    """Count the parameters of K components with means, weights and covariances of a shape."""
    n_covariances = width * (width + 1) // 2
    return (
        k * width + k - 1 + {"spherical": k, "diag": k * width, "full": k * n_covariances, "tied": n_covariances}[shape]
    )


class EMResult(NamedTuple):
    """Result of EM: objective, log-likelihood in nats, mixture, responsibilities (K, n), and the objective at every step.

    The objective is the log-likelihood less the penalty of the covariances' prior.
    """

    objective: float
    likelihood: float
    mixture: Mixture
    shares: np.ndarray
    objectives: list[float]


@dataclass(frozen=True)
class GaussianRows:
    """Centred rows, and EM for mixtures with covariances of one shape.

    Attributes
    ----------
    table : ndarray of shape (n, b)
        The rows, or their coordinates if components are spherical.
    shape : {"spherical", "diag", "full", "tied"}
    width : int
        Number of columns D.
    min_variance : float or ndarray of shape (D,)
        Smallest variance of a spherical component; ridge on the variances of other shapes.
    squared_lengths : ndarray of shape (n,) or None
        Squared distances to the centre over all columns, for spherical components.
    shrink : bool
        True shrinks covariances; those of spherical components are never shrunk.
    prior : Prior or None
        Prior that shrinks them, from `learn_prior` on.
    """

    table: np.ndarray
    shape: Shape
    width: int
    min_variance: float | np.ndarray
    squared_lengths: np.ndarray | None = None
    shrink: bool = False
    prior: Prior | None = None
    _feature_cache: list[np.ndarray] = field(default_factory=list, repr=False)

    @classmethod
    def sample_spherical(
        cls, blocks: Blocks, coordinates: Coordinates, min_variance: float, max_rows: int
    ) -> GaussianRows:
        """Sample at most ``max_rows`` rows, evenly over the data, in coordinates, for spherical components."""
        (rows,) = blocks.some_rows(max_rows)
        squared_lengths = squared_distances(rows, coordinates.center)
        return cls(
            coordinates(rows)[:, : coordinates.basis.shape[1]],
            "spherical",
            rows.shape[1],
            min_variance,
            squared_lengths,
        )

    @classmethod
    def all_spherical(cls, blocks: Blocks, center: np.ndarray, min_variance: float) -> GaussianRows:
        """Read all rows in all columns, for spherical components."""
        (rows,) = blocks.some_rows(blocks.n_rows)
        table = (rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)) - center
        return cls(table, "spherical", table.shape[1], min_variance, (table**2).sum(axis=1))

    @classmethod
    def from_blocks(
        cls, blocks: Blocks, center: np.ndarray, shape: Shape, max_rows: int | None = None, shrink: bool = False
    ) -> GaussianRows:
        """Read all rows, or at most ``max_rows`` evenly over the data."""
        (rows,) = blocks.some_rows(blocks.n_rows if max_rows is None else max_rows)
        table = (rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)) - center
        variances = table.var(axis=0)
        is_flat = variances <= _MIN_COLUMN_VARIANCE * variances.mean() if shrink and shape != "diag" else np.array(True)
        ridge = np.maximum(np.where(is_flat, _RIDGE, _SHRUNK_RIDGE) * variances.mean(), np.finfo(float).tiny)
        return cls(table, shape, table.shape[1], ridge, shrink=shrink)

    @property
    def size(self) -> int:
        return len(self.table)

    def shares(self, mixture: Mixture) -> np.ndarray:
        """Compute the probabilities of the components of every row, shape (K, n)."""
        return self._e_step(mixture)[0]

    def learn_prior(self, shares: np.ndarray) -> GaussianRows:
        """Return a copy with the prior learned from these responsibilities, shape (K, n)."""
        if not self.shrink:
            return self
        return replace(self, prior=Prior.from_labels(self.table, shares.argmax(axis=0), self.shape, self.min_variance))

    def climb_with_prior(
        self, mixture: Mixture, steps: int, tolerance: float = _MIN_GAIN
    ) -> tuple[GaussianRows, EMResult]:
        """Climb as `climb` does, and learn the prior again as long as left-out rows become likelier."""
        rows = self.learn_prior(self.shares(mixture)) if self.shrink else self
        result = rows.climb(mixture, steps, tolerance)
        relearned = rows.learn_prior(result.shares)
        for _ in range(_MAX_PRIOR_UPDATES):
            if relearned.strength == rows.strength:
                break
            rows, next_result = relearned, relearned.climb(result.mixture, steps, tolerance)
            next_rows = rows.learn_prior(next_result.shares)
            if next_rows.subtract_optimism(next_result) <= relearned.subtract_optimism(result):
                break
            relearned, result = next_rows, next_result
        return relearned, result

    def subtract_optimism(self, result: EMResult) -> float:
        """Subtract the prior's optimism from the log-likelihood, for a comparison of starts."""
        return result.likelihood - (0.0 if self.prior is None else self.prior.optimism)

    @property
    def strength(self) -> float:
        """Strength of the prior, in rows."""
        return 0.0 if self.prior is None else self.prior.strength

    def start(self, shares: np.ndarray) -> Mixture:
        """Estimate the mixture from responsibilities, shape (K, n)."""
        return self._m_step(shares, self.min_variance)

    def climb(self, mixture: Mixture, steps: int, tolerance: float = _MIN_GAIN) -> EMResult:
        """Make at most ``steps`` steps of EM, until one gains less than ``tolerance`` nats per row."""
        min_variance = self.min_variance
        if self.shape == "spherical":
            min_variance = max(_VARIANCE_FLOOR * float(mixture.weights @ mixture.variance), min_variance)
        objectives: list[float] = []
        for step in range(steps + 1):
            shares, log_likelihood, cost = self._e_step(mixture)
            objective = log_likelihood - cost
            if step == steps or (objectives and objective - objectives[-1] < tolerance * self.size):
                break
            objectives.append(objective)
            mixture = self._m_step(shares, min_variance)
        objectives.append(objective)
        return EMResult(objective, log_likelihood, mixture, shares, objectives)

    def may_reach(self, mixture: Mixture, target: float) -> bool:
        """Return True if EM from a mixture may reach a target, by extrapolating the gains of a few steps."""
        rows = self.learn_prior(self.shares(mixture)) if self.shrink else self
        objectives = rows.climb(mixture, _FORECAST_STEPS, -np.inf).objectives
        previous_gain, gain = np.diff(objectives[-3:]).tolist()
        if gain > _NEGLIGIBLE_GAIN and gain > _MAX_GAIN_RATIO * previous_gain:
            return True
        return (
            objectives[-1]
            + _FORECAST_MARGIN
            * max(gain, _NEGLIGIBLE_GAIN)
            / (1 - min(gain / max(previous_gain, _NEGLIGIBLE_GAIN), _MAX_GAIN_RATIO))
            > target
        )

    def converge(self, mixture: Mixture, steps: Refine, tolerance: float) -> tuple[Mixture, Refinement]:
        """Make ``steps`` steps of EM; "auto" goes on until one gains less than ``tolerance`` nats.

        The refinement has the steps under the last prior.
        """
        limits = (_MAX_STEPS, tolerance / self.size) if steps == "auto" else (steps, -np.inf)
        _, result = self.climb_with_prior(mixture, *limits)
        has_converged = len(result.objectives) > 1 and result.objectives[-1] - result.objectives[-2] < tolerance
        return result.mixture, Refinement((), np.array(result.objectives), has_converged, float("nan"))

    # --- a step -------------------------------------------------------------------------------------------------

    def _features(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows and their features, (p, m), chunk by chunk."""
        b = self.table.shape[1]
        n_features = {"spherical": b + 1, "diag": 2 * b, "full": b * (b + 3) // 2, "tied": b}[self.shape]
        length = max(_CHUNK_SIZE // n_features, 1)
        use_cache, cache = self.size * n_features <= _MAX_CACHE, self._feature_cache
        for number, start in enumerate(range(0, self.size, length)):
            rows = slice(start, min(start + length, self.size))
            if number < len(cache):
                yield rows, cache[number]
                continue
            features = self._build_features(rows)
            if use_cache:
                cache.append(features)
            yield rows, features

    def _build_features(self, rows: slice) -> np.ndarray:
        table = np.ascontiguousarray(self.table[rows].T)
        if self.shape == "spherical":
            assert self.squared_lengths is not None
            return np.vstack([table, self.squared_lengths[rows]])
        if self.shape == "diag":
            return np.vstack([table, table**2])
        if self.shape == "full":
            return np.vstack([table, *(table[i] * table[i:] for i in range(len(table)))])
        return table

    def _e_step(self, mixture: Mixture) -> tuple[np.ndarray, float, float]:
        """Compute responsibilities (K, n), the log-likelihood, and the prior's penalty."""
        slopes, constants, common, cost = self._density_coefficients(mixture)
        shares, log_likelihood = np.empty((len(constants), self.size)), common
        for rows, features in self._features():
            joint = slopes @ features
            joint += constants[:, None]
            top = joint.max(axis=0)
            joint -= top
            np.exp(joint, out=joint)
            total = joint.sum(axis=0)
            joint /= total
            log_likelihood += float(top.sum() + np.log(total).sum())
            shares[:, rows] = joint
        return shares, log_likelihood, cost

    def _density_coefficients(self, mixture: Mixture) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Compute slopes (K, p) and constants (K,) of log w_k N(x; mu_k, C_k), the part common to all k, and the penalty."""
        means, weights, variance, covariances, _ = mixture
        if self.shape == "spherical":
            slopes = np.hstack([means, np.full((len(means), 1), -0.5)]) / variance[:, None]
            spread = self.width * np.log(variance) + (means**2).sum(axis=1) / variance
            return slopes, log(weights) - 0.5 * (spread + self.width * np.log(2 * np.pi)), 0.0, 0.0
        assert covariances is not None
        if self.shape == "diag":
            slopes = np.hstack([means / covariances, -0.5 / covariances])
            spread = (np.log(covariances) + means**2 / covariances).sum(axis=1)
            cost = self._cost(1 / covariances, np.log(covariances).sum(axis=1))
            return slopes, log(weights) - 0.5 * (spread + self.width * np.log(2 * np.pi)), 0.0, cost
        precisions, log_det = _invert(covariances)
        cost = self._cost(precisions, log_det)
        linear = (precisions @ means[:, :, None])[:, :, 0]
        spread = log_det + (means * linear).sum(axis=1)
        constants = log(weights) - 0.5 * (spread + self.width * np.log(2 * np.pi))
        if self.shape == "tied":
            return linear, constants, -0.5 * float((precisions[0] * self._scatter).sum()), cost
        i, j = _upper(self.width)
        return np.hstack([linear, np.where(i == j, -0.5, -1.0) * precisions[:, i, j]]), constants, 0.0, cost

    def _cost(self, precisions: np.ndarray, log_dets: np.ndarray) -> float:
        return 0.0 if self.prior is None else self.prior.cost(precisions, log_dets)

    @cached_property
    def _scatter(self) -> np.ndarray:
        return self.table.T @ self.table

    def _component_moments(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute numbers of rows (K,), means (K, b), and scatters: (K,), (K, b), (K, b, b) or (1, b, b)."""
        mass = np.maximum(shares.sum(axis=1), _MIN_MASS)
        sums = sum(shares[:, rows] @ features.T for rows, features in self._features())
        b = self.table.shape[1]
        means = sums[:, :b] / mass[:, None]
        if self.shape == "spherical":
            return mass, means, sums[:, b] - mass * (means**2).sum(axis=1)
        if self.shape == "diag":
            return mass, means, np.maximum(sums[:, b:] - mass[:, None] * means**2, 0.0)
        if self.shape == "tied":
            return mass, means, (self._scatter - (means * mass[:, None]).T @ means)[None]
        scatters = np.empty((len(mass), b, b))
        i, j = _upper(b)
        scatters[:, i, j] = scatters[:, j, i] = sums[:, b:]
        return mass, means, scatters - means[:, :, None] * (mass[:, None] * means)[:, None, :]

    def _m_step(self, shares: np.ndarray, min_variance: float | np.ndarray) -> Mixture:
        """Estimate the new mixture from responsibilities (K, n)."""
        mass, means, scatters = self._component_moments(shares)
        weights, n_rows = mass / mass.sum(), np.array([float(self.size)]) if self.shape == "tied" else mass
        if self.shape == "spherical":
            return Mixture(means, weights, np.maximum(scatters / mass / self.width, min_variance))
        prior = self.prior or Prior(0.0, np.zeros(scatters.shape[1:]))
        covariances = prior.shrink(scatters, n_rows)
        diagonal = covariances if self.shape == "diag" else np.einsum("kii->ki", covariances)
        diagonal += min_variance
        variance = diagonal.mean(axis=1) + np.zeros(len(means))
        return Mixture(means, weights, variance, covariances, prior.strength)


@lru_cache(maxsize=8)
def _upper(width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the entries on and above the diagonal."""
    return np.triu_indices(width)


def _invert(covariances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute inverses and log-determinants of positive matrices, (K, D, D)."""
    roots = covariance_roots(covariances)
    inverse = np.linalg.inv(roots)
    log_det = 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    return inverse.swapaxes(1, 2) @ inverse, log_det
