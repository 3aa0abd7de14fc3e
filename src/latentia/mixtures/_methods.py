"""Methods of every fitted mixture, from the joint log-density of rows and components."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from .. import _fields as of
from .._validation import weighted_mean
from ..evidence import ComponentView, RealAndSimulated
from ..fitting.base import fitted
from ..fitting.covariates import CovariateEffects
from ..fitting.stages import Fitted
from ..likelihood import normalised
from ..passes import sample_rows
from ._deconvolution import ClassMemberships, measure_confusions


class MixtureMethods(CovariateEffects):
    """Base of mixtures: a subclass gives joint log-densities and the number of free parameters."""

    weights_: Annotated[np.ndarray, of.distributions("K")]
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    n_iter_: Annotated[int, of.count()]
    converged_: bool
    _confusions: Annotated[np.ndarray, of.optional(of.numbers("* K K"))]

    @abstractmethod
    def _joint(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the joint log-density of each row and component, (n, K), block by block."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """Count the free parameters."""

    def _distances(self, other: Any) -> np.ndarray:
        return cdist(self.means_, other.means_).min(axis=1)

    def _row_scores(self, X: Any) -> np.ndarray:
        return np.asarray(self.score_samples(X))

    def _component_view(self, fitted: Fitted) -> ComponentView | None:
        """Return the probabilities of the rows' components."""
        return ComponentView(self.predict_proba(fitted.comparison_rows).T)

    def _real_and_simulated(self, fitted: Fitted, rng: np.random.Generator) -> RealAndSimulated | None:
        """Return complete rows of numbers and simulated ones, if the mixture is Gaussian."""
        rows, mixture = sample_rows(fitted.rows)[0], getattr(self, "_mixture", None)
        if mixture is None or self._gaps is not None or sparse.issparse(rows):
            return None
        return RealAndSimulated(np.asarray(rows), mixture.draw(len(rows), rng)[0], self.column_names or ())

    def fit_predict(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> np.ndarray:
        """Fit the mixture, and return the most probable component of every row, shape (n_rows,).

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D)
            Rows to learn from and to assign.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row counts.

        Returns
        -------
        ndarray of int, shape (n_rows,)
        """
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def _memberships(self, X: Any) -> ClassMemberships:
        k = len(self.weights_)
        return ClassMemberships(self._log_densities(X), vars(self).get("_confusions", np.empty((0, k, k))))

    def _plug_in_shares(self, X: Any) -> np.ndarray:
        return np.eye(len(self.weights_))[self.predict(X)]

    def _log_densities(self, X: Any) -> np.ndarray:
        """Compute the log-density of each row in each component, (n_rows, K)."""
        return np.vstack(list(self._joint(X))) - np.log(np.maximum(self.weights_, np.finfo(float).tiny))

    def _keep_confusions(self, fitted: Fitted, n_splits: int) -> None:
        """Keep the confusions of memberships by fits on halves; none without halves or without a likelihood."""
        k, halves = len(self.weights_), [half for pair in fitted.halves(n_splits) for half in pair] if n_splits else []
        self._confusions = np.empty((0, k, k))
        if halves:
            densities = [self._copy_with_answer(fitted, half)._log_densities(fitted.comparison_rows) for half in halves]
            self._confusions = measure_confusions(self._log_densities(fitted.comparison_rows), densities)

    def _copy_with_answer(self, fitted: Fitted, answer: Any) -> Self:
        """Return a copy of the estimator with another answer."""
        model, other_fit = copy(self), copy(fitted)
        other_fit.model = answer
        model._set_fitted_attributes(other_fit)  # type: ignore[attr-defined]
        return model

    @fitted
    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable component of every row, shape (n_rows,).

        Parameters
        ----------
        X : as in ``fit``
            Rows with the columns, or the views, of the fit.

        Returns
        -------
        ndarray of int, shape (n_rows,)

        Raises
        ------
        LatentiaError
            If X has other columns than the data of the fit, or if the model has no densities.
        """
        return np.concatenate([joint.argmax(axis=1) for joint in self._joint(X)])

    @fitted
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the components of every row, shape (n_rows, K).

        Parameters
        ----------
        X : as in ``fit``
            Rows with the columns, or the views, of the fit.

        Returns
        -------
        ndarray of shape (n_rows, K)

        Raises
        ------
        LatentiaError
            If X has other columns than the data of the fit, or if the model has no densities.
        """
        return np.vstack([normalised(joint, self.weights_)[0] for joint in self._joint(X)])

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return the mean log-density of a row in nats; higher is better.

        Parameters
        ----------
        X : as in ``fit``
            Rows with the columns, or the views, of the fit.
        y : ignored
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float

        Raises
        ------
        LatentiaError
            If X has other columns than the data of the fit, or if the model has no densities.
        """
        return weighted_mean(self.score_samples(X), sample_weight)

    @fitted
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-density of every row in nats, of its observed cells, shape (n_rows,).

        Parameters
        ----------
        X : as in ``fit``
            Rows with the columns, or the views, of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        LatentiaError
            If X has other columns than the data of the fit, or if the model has no densities.
        """
        return np.concatenate([normalised(joint, self.weights_)[1] for joint in self._joint(X)])

    def bic(self, X: Any) -> float:
        """Return Schwarz's criterion of the model on rows, in units of two nats as scikit-learn has it; lower is better.

        Parameters
        ----------
        X : as in ``fit``
            Rows with the columns, or the views, of the fit.

        Returns
        -------
        float
        """
        log_likelihoods = self.score_samples(X)
        return float(self._n_parameters() * np.log(len(log_likelihoods)) - 2 * log_likelihoods.sum())

    def aic(self, X: Any) -> float:
        """Return Akaike's criterion of the model on rows, in units of two nats as scikit-learn has it; lower is better.

        Parameters
        ----------
        X : as in ``fit``
            Rows with the columns, or the views, of the fit.

        Returns
        -------
        float
        """
        return float(2 * self._n_parameters() - 2 * self.score_samples(X).sum())
