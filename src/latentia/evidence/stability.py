"""Error bars from full fits on disjoint halves of the data, for `Evidence.stability`."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from .._parameters import Integer, check_parameter
from ..exceptions import LatentiaError, NotSupportedWarning
from ..passes.dask import convert_collections

_MAX_SPLITS = 100  # The mean of 200 halves of the same rows is exact to 7%; more fits only take time.


def half_split_errors(estimator: Any, *data: Any, n_splits: int = 2, random_state: int = 0, **named: Any) -> np.ndarray:
    """Return the mean distance of each fitted component to the nearest one in fits on halves of the data.

    Parameters
    ----------
    estimator : Estimator
        Fitted. Its ``_halves`` halve the data and its ``_distances`` compare.
    *data, **named
        The arguments of ``fit``, by position or name, in any form it accepts.
    n_splits : int
        At most 100.

    Returns
    -------
    ndarray of shape (K,)
    """
    check_parameter("n_splits", n_splits, Integer(1, _MAX_SPLITS))
    check_parameter("random_state", random_state, Integer(0))
    signature = inspect.signature(estimator.fit)
    unknown = [name for name in named if name not in signature.parameters]
    if unknown:
        raise LatentiaError(f"stability: fit takes no {unknown[0]!r}; it takes {', '.join(signature.parameters)}.")
    try:
        arguments = signature.bind(*data, **named).arguments
    except TypeError as error:
        raise LatentiaError(f"stability: {error}; fit takes {', '.join(signature.parameters)}.") from error
    (_, table), *remaining = arguments.items()
    args, named = convert_collections(
        type(estimator).fit, (table,), {name: value for name, value in remaining if value is not None}
    )
    distances = []
    for split in range(n_splits):
        for half in estimator._halves(*args, random_state + split, **named):
            model = clone(estimator)
            if "n_splits" in model.get_params():
                model.set_params(n_splits=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotSupportedWarning)  # the warning would be about half of the data
                model.fit(**half)
            _check_same_widths(estimator, model)
            distances.append(estimator._distances(model))
    return np.mean(distances, axis=0)


def _check_same_widths(estimator: Any, half_model: Any) -> None:
    """Raise if the fit on new data has other numbers of columns than the estimator."""
    for noun, expected in estimator._widths().items():
        observed = half_model._widths()[noun]
        if expected != observed:
            raise LatentiaError(f"stability: expected the {expected} {noun} of the fit, found {observed}.")
