"""A chain that the user gives for EM to start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..moments import ColumnSpan
from ._chain import Chain

_FROM_ONE = 1e-6  # by which sums of probabilities may be off one


def given_chain(init: Any, k: int, deviations: np.ndarray, symbols: bool, span: ColumnSpan | None = None) -> Chain:
    """The chain of a dict, or of a fitted model of this library or of hmmlearn.

    Parameters
    ----------
    init : mapping, or object with attributes of the same names and an underscore
        ``startprob``, ``transmat``, and ``emissionprob``, or ``means`` and, if wanted, ``variances``; of counts ``means``
        or, as hmmlearn has them, ``lambdas``.
    k : int
        States.
    deviations : ndarray of shape (width,)
        Of symbols or features; of vectors their squares are the variances where none are given.
    symbols : bool
    span : ColumnSpan, optional
        Of vectors: the features among all columns, for which ``init`` is given.
    """
    span = span or ColumnSpan.all_columns(len(deviations))
    width = len(span.offset)
    names = "startprob, transmat, " + ("emissionprob" if symbols else "means")
    start, moves = _array(init, "startprob", (k,), names), _array(init, "transmat", (k, k), names)
    for name, values in (("startprob", start), ("transmat", moves)):
        _check_sums(name, values)
    if symbols:
        emissions = _array(init, "emissionprob", (k, width), names)
        _check_sums("emissionprob", emissions)
        return Chain(start, moves, emissions)
    called = "lambdas" if _value(init, "means") is None and _value(init, "lambdas") is not None else "means"
    means = span.select(_array(init, called, (k, width), names))
    if _value(init, "variances") is None:
        return Chain(start, moves, means, np.tile(deviations**2, (k, 1)))
    variances = span.select(_array(init, "variances", (k, width), names))
    if not (variances > 0).all():
        raise LatentiaError("init: variances must be above 0.")
    return Chain(start, moves, means, variances)


def _value(init: Any, name: str) -> Any:
    return init.get(name) if isinstance(init, Mapping) else getattr(init, f"{name}_", None)


def _array(init: Any, name: str, shape: tuple[int, ...], names: str) -> np.ndarray:
    value = _value(init, name)
    if value is None:
        raise LatentiaError(f"init: it has no {name}; give {names}, in a dict or as a fitted model.")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LatentiaError(f"init: {name} holds no numbers ({error}).") from error
    if array.shape != shape:
        raise LatentiaError(f"init: {name} has shape {array.shape}, and this fit needs {shape}.")
    if not np.isfinite(array).all():
        raise LatentiaError(f"init: {name} holds values that are not finite.")
    return array


def _check_sums(name: str, values: np.ndarray) -> None:
    sums = np.atleast_1d(values.sum(axis=-1))
    if (values < 0).any() or np.abs(sums - 1).max() > _FROM_ONE:
        row = int(np.abs(sums - 1).argmax())
        raise LatentiaError(f"init: row {row} of {name} is no distribution: its sum is {sums[row]:.6g}.")
