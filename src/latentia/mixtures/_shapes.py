"""Diagonal, full and common covariances, by scikit-learn's EM from starts that are given to it.

What is computed here are the starts; the steps are those of `sklearn.mixture.GaussianMixture`, continued where it stopped. All
rows are in memory.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from ..exceptions import LatentiaError
from ..likelihood import Refine, Refinement
from ..passes import Blocks
from ._moves import Shape
from ._rows import Mixture

__all__ = ["ShapedRows"]

_RIDGE = 1e-6  # on all variances, of the mean variance of a column
_STILL = 1e-4  # nats a row that a step gains, below which it is the last in a search
_SETTLED = 0.02  # nats, and at the end
_MOST_STEPS = 500


@dataclass(frozen=True)
class ShapedRows:
    """Rows about their centre, and EM for mixtures with covariances of one shape.

    Attributes
    ----------
    table : ndarray of shape (n, D)
    shape : {"diag", "full", "tied"}
    ridge : float
        Added to all variances.
    center : ndarray of shape (D,)
    """

    table: np.ndarray
    shape: Shape
    ridge: float
    center: np.ndarray

    @classmethod
    def of(cls, blocks: Blocks, center: np.ndarray, shape: Shape, most: int | None = None) -> ShapedRows:
        """All rows, or at most so many spread over the data."""
        (rows,) = blocks.some_rows(blocks.n_rows if most is None else most)
        table = (rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)) - center
        return cls(table, shape, max(_RIDGE * float(table.var(axis=0).mean()), np.finfo(float).tiny), center)

    def start(self, shares: np.ndarray) -> GaussianMixture:
        """The model whose components have these shares of the rows, shape (n, K)."""
        mass = shares.sum(axis=0) + 10 * np.finfo(float).eps
        means = shares.T @ self.table / mass[:, None]
        covariances = self._covariances(shares, mass, means)
        return self.model(Mixture(means + self.center, mass / mass.sum(), mass, covariances))

    def model(self, mixture: Mixture) -> GaussianMixture:
        """The model of scikit-learn that begins at a mixture."""
        assert mixture.covariances is not None
        if self.shape == "diag":
            precisions = 1.0 / mixture.covariances
        else:
            precisions = np.array([np.linalg.inv(one) for one in mixture.covariances])
            precisions = (precisions + precisions.swapaxes(1, 2)) / 2
        return GaussianMixture(
            len(mixture.weights), covariance_type=self.shape, reg_covar=self.ridge, warm_start=True, random_state=0,
            means_init=mixture.means - self.center, weights_init=mixture.weights,
            precisions_init=precisions[0] if self.shape == "tied" else precisions,
        )  # fmt: skip

    def climb(self, model: GaussianMixture, steps: int) -> tuple[float, GaussianMixture]:
        """The log-likelihood after at most so many further steps, in nats, and the model, which has made them."""
        self._fit(model, steps, _STILL)
        return float(model.lower_bound_) * len(self.table), model

    def shares(self, model: GaussianMixture) -> np.ndarray:
        """The probability of each component for each row, shape (n, K)."""
        return np.asarray(model.predict_proba(self.table))

    def refined(self, start: Mixture, steps: Refine) -> tuple[Mixture, Refinement]:
        """A mixture after so many steps, or until they have settled."""
        model = self.model(start)
        if steps == "auto":
            self._fit(model, _MOST_STEPS, _SETTLED / len(self.table))
        else:
            self._fit(model, steps, 0.0)
        heights = np.array(getattr(model, "lower_bounds_", [model.lower_bound_])) * len(self.table)
        return self.mixture(model), Refinement((), heights, bool(model.converged_), float("nan"))

    def mixture(self, model: GaussianMixture) -> Mixture:
        """What a model of scikit-learn has found."""
        covariances = model.covariances_[None] if self.shape == "tied" else model.covariances_
        spread = covariances if self.shape == "diag" else np.diagonal(covariances, axis1=1, axis2=2)
        variance = np.array(np.broadcast_to(spread.mean(axis=1), len(model.weights_)))
        return Mixture(model.means_ + self.center, model.weights_ / model.weights_.sum(), variance, covariances)

    def _fit(self, model: GaussianMixture, steps: int, enough: float) -> None:
        model.set_params(max_iter=steps, tol=enough)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(self.table)
        except ValueError as error:
            raise LatentiaError(str(error)) from error

    def _covariances(self, shares: np.ndarray, mass: np.ndarray, means: np.ndarray) -> Any:
        if self.shape == "diag":
            spread = shares.T @ self.table**2 / mass[:, None] - means**2
            return np.maximum(spread, 0.0) + self.ridge
        ridge = self.ridge * np.eye(self.table.shape[1])
        if self.shape == "tied":
            return (self.table.T @ self.table - (means * mass[:, None]).T @ means)[None] / len(self.table) + ridge
        found = np.empty((len(mass), *ridge.shape))
        for k, mean in enumerate(means):
            about = self.table - mean
            found[k] = (shares[:, k] * about.T) @ about / mass[k] + ridge
        return found
