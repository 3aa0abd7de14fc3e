"""Error bars from disjoint halves of the data.

Write the answer as truth plus noise that is an average over rows. A fit on half of the rows has noise with twice the
variance, and the fit on all of them is near the mean of the two halves; so the distance of the full fit from a half fit
has the distribution of the distance of the full fit from the truth: sigma^2 (2 + 2) / 4 = sigma^2. No factor is needed.
What it cannot see is bias that all fits share, such as topics without anchor words.

A component's error is its distance to the nearest component of the half fit: a component that the data does not
support has no near one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from ..exceptions import LatentiaError
from ..metrics.matching import nearest_distances
from ..passes import Blocks, row_groups

__all__ = ["half_split_errors", "mean_nearest_distance"]


def half_split_errors(estimator: Any, X: Any, *, n_splits: int = 2, random_state: int = 0) -> np.ndarray:
    """Mean l1 distance of each component of a fitted estimator to the nearest one of fits on halves of X.

    Parameters
    ----------
    estimator : fitted estimator with ``components_``, shape (K, d)
    X : array-like, sparse matrix, DataFrame or Blocks
    n_splits : int

    Returns
    -------
    ndarray of shape (K,)
    """
    if n_splits < 1:
        raise LatentiaError(f"n_splits={n_splits}: at least one split is needed.")
    halves = []
    for split in range(n_splits):
        for half in _halves(X, random_state + split):
            model = clone(estimator)
            if "n_splits" in model.get_params():
                model.set_params(n_splits=0)
            halves.append(model.fit(half).components_)
    return mean_nearest_distance(estimator.components_, halves)


def mean_nearest_distance(components: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """Distance of each component to the nearest one of another fit, averaged over the other fits, shape (K,)."""
    return np.mean([nearest_distances(components, other) for other in others], axis=0)


def _halves(X: Any, random_state: int) -> list[Any]:
    if isinstance(X, Blocks):
        return X.split(2, random_state)
    group = row_groups(np.arange(X.shape[0] if hasattr(X, "shape") else len(X)), 2, random_state)
    picked = [np.flatnonzero(group == g) for g in (0, 1)]
    if hasattr(X, "iloc"):
        return [X.iloc[rows] for rows in picked]
    table = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    return [table[rows] for rows in picked]
