"""Moments of the first part of two views, for any method of moments, and gradient descent on them.

Source: R. Ge and J. Zou, Rich component analysis, 2015, section 4 and 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from .._parameters import Integer, check_parameter
from ..exceptions import LatentiaError
from ..fitting.stages import Fitted
from ..moments import Cumulants, HiddenMoments, cumulants_to_moments
from ..tensor.operators import SymmetricFour
from ._added import Joint
from ._estimator import SpecificMoments
from ._extract import extract
from .components import ContrastiveComponents


class _SpecificPart(ContrastiveComponents):
    """The split of two views, with the joint moments that it comes from."""

    _joint: Joint

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        super()._set_fitted_attributes(fitted)
        self._joint = fitted.moments


def contrast_moments(
    U: Any,
    V: Any,
    *,
    order: int = 3,
    linear_map: Any = None,
    mean: Any = None,
    method: str = "auto",
    n_shared: int | None = None,
    n_jobs: int | None = None,
) -> HiddenMoments:
    """Estimate the moments of s1 in u = s1 + s2, v = A s2 + s3, for estimators that are fitted to moments.

    `latentia.ica.TensorICA.fit_moments` takes those of order 4; `fit_moments` of `latentia.mixtures.SphericalGaussianMixture`
    and `latentia.topics.SpectralLDA` those of order 3. Their evidence includes what is doubtful about the moments.

    Parameters
    ----------
    U : array-like or DataFrame of shape (n_rows, d_u)
        The first view.
    V : array-like or DataFrame of shape (n_rows, d_v)
        The second view of the same rows, with d_v of at least d_u.
    order : {3, 4}, default=3
        Highest order of the cumulants.
    linear_map : array-like of shape (d_v, d_u) or "identity", optional
        A, where it is known. By default it is learned, from cumulants of the order with the stronger signal.
    mean : array-like of shape (d_u,), optional
        Mean of s1, which the views do not identify. By default that of u, as if s2 had the mean zero.
    method, n_shared, n_jobs
        As in `ContrastiveComponents`.

    Returns
    -------
    HiddenMoments
        Mean, covariance and cumulant, of all rows and of groups; ``evidence`` is that of `ContrastiveComponents`.

    Raises
    ------
    LatentiaError
        As in `ContrastiveComponents`; also if columns of a view depend on each other, or if the views have too many columns
        together: more than 161 for the third order, 45 for the fourth.

    Examples
    --------
    >>> from latentia.contrastive import contrast_moments
    >>> from latentia.datasets import planted
    >>> data = planted.contrastive_views(20_000, 4, shared="exponential", linear_map="orthogonal")
    >>> contrast_moments(data.U, data.V, order=3).cumulant.shape
    (4, 4, 4)
    """
    check_parameter("order", order, Integer(3, 4))
    model = _SpecificPart(linear_map=linear_map, method=method, n_shared=n_shared, n_jobs=n_jobs).fit(U, V)
    joint, width = model._joint, model.n_features_in_
    if joint.views.widths[:2] != (width, model.n_features_v_):
        raise LatentiaError("Expected columns that do not depend on each other: leave out copies and sums of others.")
    if not joint.views.keeps(order):
        raise LatentiaError(
            f"views of {joint.views.n_views} columns together have too many cumulants of order {order}: reduce them by PCA.",
            parameter="order", value=order,
        )  # fmt: skip
    given_mean = None if mean is None else np.asarray(mean, dtype=np.float64)
    if given_mean is not None and (given_mean.shape != (width,) or not np.isfinite(given_mean).all()):
        raise LatentiaError(f"mean: expected {width} finite numbers, one for each column of U.")

    def cumulants_of(groups: tuple[int, ...], variant: Callable[[SpecificMoments], SpecificMoments]) -> Cumulants:
        part = variant(SpecificMoments(joint.views, extract(joint.views, groups, joint.choice)))
        cumulants = [_to_units(part.cumulant(size), part.scale) for size in range(3, order + 1)]
        part_mean = part.mean_u if given_mean is None else given_mean
        fourth = SymmetricFour.from_tensor(cumulants[1]) if order == 4 else None
        return Cumulants(part.extraction.sums.n, part_mean, part.unshrunk_covariance, cumulants[0], fourth)

    def moments_of(
        variant: Callable[[SpecificMoments], SpecificMoments], *alternatives: HiddenMoments
    ) -> HiddenMoments:
        cumulants = cache(lambda groups: cumulants_of(groups, variant))
        return HiddenMoments(order, cumulants, joint.views.folds, model.evidence_, names, alternatives)

    names = None if not hasattr(U, "columns") else [str(name) for name in U.columns]
    alternatives = [moments_of(SpecificMoments.alternative), moments_of(SpecificMoments.from_other_order)]
    return moments_of(lambda part: part, *alternatives)


def _to_units(cumulant: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return a cumulant in units of the columns' standard deviations in the units of the data."""
    for axis in range(cumulant.ndim):
        cumulant = np.moveaxis(np.moveaxis(cumulant, axis, -1) * scale, -1, axis)
    return cumulant


class ContrastiveGradient:
    """Minimise any loss of s1 in u = s1 + s2, v = A s2 + s3, whose gradient is a polynomial in s1.

    The gradient of the expected loss is E[grad l(s1; theta)] = sum_m c_m(theta) E[s1^m] over monomials s1^m, and
    `contrast_moments` estimates the moments E[s1^m] (Ge and Zou, 2015, section 4.1). Gradient descent takes that estimate in
    place of an average over rows. Choose it for a model of s1 that has no estimator here. Other losses can be approximated by
    polynomials, as the paper does for logistic regression.

    Parameters
    ----------
    gradient : callable
        From parameters, an array of any shape, to a dict: from monomials, tuples with the exponent of every column of U (and
        of y, last), of degree 4 at most, to their coefficients, arrays of the shape of the parameters.
    init : array-like
        Parameters to start from.
    linear_map : array-like of shape (d_v, d_u) or "identity", optional
        A, where it is known.
    mean : array-like of shape (d_u,), optional
        Mean of s1, and of y; by default that of u.
    n_shared : int, optional
        Dimensions of s2; all of U by default.
    learning_rate : float, default=0.1
        Step along the gradient.
    max_iter : int, default=10000
        Largest number of steps.
    tol : float, default=1e-8
        Descent ends where the largest entry of the gradient is at most this.

    Attributes
    ----------
    parameters_ : ndarray of the shape of ``init``
    errors_ : ndarray of the shape of ``init``
        Expected errors: root mean square distance to the answers of halves of the rows and of `HiddenMoments.alternatives`.
    moments_ : HiddenMoments
        Moments of s1, with their evidence.
    n_iter_ : int

    References
    ----------
    R. Ge, J. Zou, Rich component analysis, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from latentia.contrastive import ContrastiveGradient
    >>> from latentia.datasets import planted
    >>> data = planted.contrastive_views(20_000, 3, shared="exponential", linear_map="orthogonal")
    >>> def slope_of_first_on_second(b):  # the gradient of E[(s_0 - b s_1)^2] / 2
    ...     return {(1, 1, 0): -np.ones(1), (0, 2, 0): b}
    >>> model = ContrastiveGradient(slope_of_first_on_second, np.zeros(1), mean=np.zeros(3)).fit(data.U, data.V)
    >>> model.parameters_.shape
    (1,)
    """

    parameters_: np.ndarray
    errors_: np.ndarray
    moments_: HiddenMoments
    n_iter_: int

    def __init__(
        self,
        gradient: Callable[[np.ndarray], Mapping[tuple[int, ...], Any]],
        init: Any,
        *,
        linear_map: Any = None,
        mean: Any = None,
        n_shared: int | None = None,
        learning_rate: float = 0.1,
        max_iter: int = 10_000,
        tol: float = 1e-8,
    ) -> None:
        self.gradient = gradient
        self.init = init
        self.linear_map = linear_map
        self.mean = mean
        self.n_shared = n_shared
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, U: Any, V: Any, y: Any = None) -> ContrastiveGradient:
        """Descend from ``init``.

        Parameters
        ----------
        U, V : array-like of shape (n_rows, d_u) and (n_rows, d_v)
            The two views.
        y : array-like of shape (n_rows,), optional
            A target that depends on s1 alone. It counts as one more column of U, and d_v must be larger than d_u.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            As in `contrast_moments`; also if a monomial does not fit the columns, or if descent does not converge.
        """
        start, n_shared = np.array(self.init, dtype=np.float64), self.n_shared
        if y is not None:
            U = np.column_stack([np.asarray(U, dtype=np.float64), np.asarray(y, dtype=np.float64)])
            n_shared = U.shape[1] - 1 if n_shared is None else n_shared
        degree = max((sum(monomial) for monomial in self.gradient(start)), default=0)
        self.moments_ = contrast_moments(
            U, V, order=4 if degree == 4 else 3, linear_map=self.linear_map, mean=self.mean, n_shared=n_shared
        )
        self.parameters_, self.n_iter_ = self._descend(self.moments_.all_rows, start)
        halves = [half for split in self.moments_.folds.splits for half in split]
        noise = self._move([self.moments_.of(half) for half in halves])
        bias = self._move([alternative.all_rows for alternative in self.moments_.alternatives])
        self.errors_ = np.sqrt((noise**2).mean(axis=0) + (bias**2).max(axis=0))
        return self

    def _move(self, cumulants: Sequence[Cumulants]) -> np.ndarray:
        """Return how far the parameters move under other cumulants, shape (n, ...)."""
        return np.array([self._descend(of_part, self.parameters_)[0] - self.parameters_ for of_part in cumulants])

    def _descend(self, cumulants: Cumulants, start: np.ndarray) -> tuple[np.ndarray, int]:
        """Descend until the gradient vanishes; return the parameters and the number of steps."""
        tensors = cumulants_to_moments(cumulants.tensors())
        parameters = start
        for step in range(self.max_iter):
            terms = [np.asarray(c) * _moment(tensors, monomial) for monomial, c in self.gradient(parameters).items()]
            gradient = np.sum(terms, axis=0)
            if gradient.shape != start.shape:
                raise LatentiaError(f"gradient: expected arrays of shape {start.shape}, found {gradient.shape}.")
            size = np.abs(gradient).max(initial=0.0)
            if size <= self.tol:
                return parameters, step
            if not np.isfinite(size):
                break
            parameters = parameters - self.learning_rate * gradient
        raise LatentiaError(
            f"gradient descent has not converged in {self.max_iter} steps. Give a smaller learning_rate, or scale the columns.",
            parameter="learning_rate", value=self.learning_rate,
        )  # fmt: skip


def _moment(tensors: Sequence[np.ndarray], monomial: tuple[int, ...]) -> float:
    """Return E[s1^m] from the moments of orders 1, 2, ..."""
    width = len(tensors[0])
    if len(monomial) != width or min(monomial) < 0 or sum(monomial) > len(tensors):
        raise LatentiaError(
            f"gradient: expected {width} exponents of sum 4 at most, the same monomials for all parameters; found {monomial}."
        )
    places = tuple(np.repeat(np.arange(width), monomial))
    return float(tensors[len(places) - 1][places]) if places else 1.0
