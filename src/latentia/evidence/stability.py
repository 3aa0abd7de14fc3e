"""Error bars from full fits on disjoint halves of the data: what `Evidence.stability` does."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from ..exceptions import LatentiaError, NotSupportedWarning


def half_split_errors(
    estimator: Any, X: Any, *, n_splits: int = 2, random_state: int = 0, **fit_parameters: Any
) -> np.ndarray:
    """Mean distance of each component of a fitted estimator to the nearest one of fits on halves of X.

    Parameters
    ----------
    estimator : Estimator
        Fitted. Its ``_halves`` halve the data and its ``_distances`` compare.
    X : the data, in any form that ``fit`` takes
    n_splits : int
    **fit_parameters
        Further arguments of ``fit`` that belong to the rows, such as ``lengths``.

    Returns
    -------
    ndarray of shape (K,)
    """
    if n_splits < 1:
        raise LatentiaError("at least one split is needed.", parameter="n_splits", value=n_splits)
    taken = inspect.signature(estimator.fit).parameters
    unknown = [name for name in fit_parameters if name not in taken]
    if unknown:
        raise LatentiaError(f"stability: fit takes no {unknown[0]!r}; it takes {', '.join(taken)}.")
    distances = []
    for split in range(n_splits):
        for half in estimator._halves(X, random_state + split, **fit_parameters):
            model = clone(estimator)
            if "n_splits" in model.get_params():
                model.set_params(n_splits=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotSupportedWarning)  # it is about half of the data
                model.fit(**half)
            distances.append(estimator._distances(model))
    return np.mean(distances, axis=0)
