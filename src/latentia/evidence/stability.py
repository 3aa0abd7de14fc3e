"""Error bars from full fits on disjoint halves of the data: what `Evidence.stability` does."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from ..exceptions import LatentiaError, NotSupportedWarning
from ..passes.dask import convert_collections


def half_split_errors(estimator: Any, *data: Any, n_splits: int = 2, random_state: int = 0, **named: Any) -> np.ndarray:
    """Mean distance of each component of a fitted estimator to the nearest one of fits on halves of the data.

    Parameters
    ----------
    estimator : Estimator
        Fitted. Its ``_halves`` halve the data and its ``_distances`` compare.
    *data, **named
        What ``fit`` took, by position or name, in any form that it takes.
    n_splits : int

    Returns
    -------
    ndarray of shape (K,)
    """
    if n_splits < 1:
        raise LatentiaError("at least one split is needed.", parameter="n_splits", value=n_splits)
    signature = inspect.signature(estimator.fit)
    unknown = [name for name in named if name not in signature.parameters]
    if unknown:
        raise LatentiaError(f"stability: fit takes no {unknown[0]!r}; it takes {', '.join(signature.parameters)}.")
    try:
        arguments = signature.bind(*data, **named).arguments
    except TypeError as error:
        raise LatentiaError(f"stability: {error}; fit takes {', '.join(signature.parameters)}.") from error
    (_, table), *more = arguments.items()
    args, named = convert_collections(
        type(estimator).fit, (table,), {name: value for name, value in more if value is not None}
    )
    distances = []
    for split in range(n_splits):
        for half in estimator._halves(*args, random_state + split, **named):
            model = clone(estimator)
            if "n_splits" in model.get_params():
                model.set_params(n_splits=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotSupportedWarning)  # it is about half of the data
                model.fit(**half)
            _check_alike(estimator, model)
            distances.append(estimator._distances(model))
    return np.mean(distances, axis=0)


def _check_alike(estimator: Any, other: Any) -> None:
    """Raise unless a fit of other data has the columns of an estimator."""
    for what, expected in estimator._widths().items():
        observed = other._widths()[what]
        if expected != observed:
            raise LatentiaError(f"stability: expected the {expected} {what} of the fit, found {observed}.")
