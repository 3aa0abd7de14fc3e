"""Moments of the first part of two views, for any method of moments, and gradient descent on them.

Source: R. Ge and J. Zou, Rich component analysis, 2015, section 4 and 4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .._parameters import Integer, check_parameter
from ..exceptions import LatentiaError
from ..fitting.stages import Fitted
from ..moments import Cumulants, HiddenMoments
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

    `latentia.ica.TensorICA.fit_moments` takes those of order 4; `fit_moments` of
    `latentia.mixtures.SphericalGaussianMixture` those of order 3. Their evidence includes what is doubtful about the moments.

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
        cumulant = part.cumulant(order)
        for axis in range(order):
            cumulant = np.moveaxis(np.moveaxis(cumulant, axis, -1) * part.scale, -1, axis)
        part_mean = part.mean_u if given_mean is None else given_mean
        extraction = part.extraction
        shrunk = 0.0 if extraction.unshrunk is None else extraction.covariance - extraction.unshrunk
        third, fourth = (cumulant, None) if order == 3 else (None, SymmetricFour.from_tensor(cumulant))
        return Cumulants(
            part.extraction.sums.n,
            part_mean,
            part.covariance - shrunk * np.outer(part.scale, part.scale),
            third,
            fourth,
        )

    def moments_of(
        variant: Callable[[SpecificMoments], SpecificMoments], *alternatives: HiddenMoments
    ) -> HiddenMoments:
        cumulants = cache(lambda groups: cumulants_of(groups, variant))
        return HiddenMoments(order, cumulants, joint.views.folds, model.evidence_, names, alternatives)

    names = None if not hasattr(U, "columns") else [str(name) for name in U.columns]
    alternatives = [moments_of(SpecificMoments.alternative), moments_of(SpecificMoments.from_other_order)]
    return moments_of(lambda part: part, *alternatives)
