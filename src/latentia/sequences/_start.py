"""The user's own chain from which EM starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..moments import ColumnSpan
from ._chain import Chain

_SUM_TOLERANCE = 1e-6  # largest difference from one of a sum of probabilities


def build_initial_chain(
    init: Any, k: int, deviations: np.ndarray, symbols: bool, span: ColumnSpan | None = None
) -> Chain:
    """Build the chain of a dict, or of a fitted model of this library or of hmmlearn.

    Parameters
    ----------
    init : mapping, or object with attributes of the same names and an underscore
        ``startprob``, ``transmat``, and ``emissionprob``, or ``means`` with optional ``variances``; for counts ``means`` or,
        as hmmlearn calls them, ``lambdas``.
    k : int
        Number of states.
    deviations : ndarray of shape (width,)
        Standard deviations of the columns; for vectors their squares are the default variances.
    symbols : bool
    span : ColumnSpan, optional
        For vectors: the place of the fitted features among all columns, which ``init`` describes.
    """
    span = span or ColumnSpan.all_columns(len(deviations))
    width = len(span.offset)
    names = "startprob, transmat, " + ("emissionprob" if symbols else "means")
    start, transitions = _array(init, "startprob", (k,), names), _array(init, "transmat", (k, k), names)
    for name, values in (("startprob", start), ("transmat", transitions)):
        _check_sums(name, values)
    if symbols:
        emissions = _array(init, "emissionprob", (k, width), names)
        _check_sums("emissionprob", emissions)
        return Chain(start, transitions, emissions)
    means_name = "lambdas" if _value(init, "means") is None and _value(init, "lambdas") is not None else "means"
    means = span.select(_array(init, means_name, (k, width), names))
    if _value(init, "variances") is None:
        return Chain(start, transitions, means, np.tile(deviations**2, (k, 1)))
    variances = span.select(_array(init, "variances", (k, width), names))
    if not (variances > 0).all():
        raise LatentiaError("init: expected variances above 0.")
    return Chain(start, transitions, means, variances)


def _value(init: Any, name: str) -> Any:
    return init.get(name) if isinstance(init, Mapping) else getattr(init, f"{name}_", None)


def _array(init: Any, name: str, shape: tuple[int, ...], names: str) -> np.ndarray:
    value = _value(init, name)
    if value is None:
        raise LatentiaError(f"init: {name} is missing. Give {names}, in a dict or as a fitted model.")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LatentiaError(f"init: expected numbers in {name} ({error}).") from error
    if array.shape != shape:
        raise LatentiaError(f"init: expected {name} of shape {shape}; found {array.shape}.")
    if not np.isfinite(array).all():
        raise LatentiaError(f"init: expected finite values in {name}.")
    return array


def _check_sums(name: str, values: np.ndarray) -> None:
    sums = np.atleast_1d(values.sum(axis=-1))
    if (values < 0).any() or np.abs(sums - 1).max() > _SUM_TOLERANCE:
        row = int(np.abs(sums - 1).argmax())
        raise LatentiaError(
            f"init: expected probabilities that sum to one in {name}; row {row} sums to {sums[row]:.6g}."
        )
