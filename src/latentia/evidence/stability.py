"""Error bars from disjoint halves of the data.

Write the answer as truth plus noise that is an average over rows. A fit on half of the rows has noise with twice the
variance, and the fit on all of them is near the mean of the two halves; so the distance of the full fit from a half fit
has the distribution of the distance of the full fit from the truth: sigma^2 (2 + 2) / 4 = sigma^2. No factor is needed.
What it cannot see is bias that all fits share, such as topics without anchor words.

A component's error is its distance to the nearest component of the half fit: a component that the data does not
support has no near one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from ..exceptions import LatentiaError
from ..metrics.matching import nearest_distances
from ..passes import Blocks, row_groups

__all__ = ["EVERYONE", "HALVES", "errors_from_groups", "half_split_errors", "mean_nearest_distance"]

EVERYONE = (0, 1, 2, 3)
HALVES = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
"""The three ways to pair four groups of rows into two halves."""


def half_split_errors(
    estimator: Any, X: Any, *, n_splits: int = 2, random_state: int = 0, **fit_parameters: Any
) -> np.ndarray:
    """Mean distance of each component of a fitted estimator to the nearest one of fits on halves of X.

    Parameters
    ----------
    estimator : fitted estimator
        Distances are those of its method ``_distances(other)``, which returns an array (K,); without it, l1 between rows of
        ``components_``. A method ``_halves(X, random_state, **fit_parameters)`` says how its data is halved, as a list of
        two dicts of arguments of ``fit``; without it, rows of X are dealt at random.
    X : the data, in any form that ``fit`` takes
    n_splits : int
    **fit_parameters
        Further arguments of ``fit`` that belong to the rows, such as ``lengths``.

    Returns
    -------
    ndarray of shape (K,)
    """
    if n_splits < 1:
        raise LatentiaError(f"n_splits={n_splits}: at least one split is needed.")
    own_halves = getattr(estimator, "_halves", None)
    distances = []
    for split in range(n_splits):
        seed = random_state + split
        halves = own_halves(X, seed, **fit_parameters) if own_halves else [{"X": half} for half in _halves(X, seed)]
        for half in halves:
            model = clone(estimator)
            if "n_splits" in model.get_params():
                model.set_params(n_splits=0)
            distances.append(_distances(estimator, model.fit(**half)))
    return np.mean(distances, axis=0)


def errors_from_groups(
    fit: Callable[[tuple[int, ...]], Any], distance: Callable[[Any], np.ndarray], n_splits: int, cheap: bool = True
) -> tuple[np.ndarray | None, str]:
    """Expected error of each component from fits on some of four groups of rows, shape (K,); or None, and why.

    The distance of the full fit to a fit on half of the rows has the size of its error. So has root 3 times the distance to a
    fit on three quarters, whose variance beyond that of the full fit is a third of it. Where noise is so large that answers jump,
    both overstate the error: halves fall apart before the whole does, and jumps are not to be scaled. The smaller one is taken.

    Parameters
    ----------
    fit : callable
        Fits the groups with the given numbers.
    distance : callable
        Distance of each component of the full fit to the nearest one of what ``fit`` returned.
    n_splits : int
        Splits into halves, at most 3; none gives no errors.
    cheap : bool
        Whether fits cost next to nothing. If not, three quarters are tried only where no half can be fitted.
    """
    if not n_splits:
        return None, "Needs fits on parts of the data: call evidence_.stability(X)."
    halves, reason = _fits([half for split in HALVES[:n_splits] for half in split], fit, distance)
    estimates = [halves] if halves is not None else []
    if cheap or halves is None:
        quarters, reason = _fits([tuple(i for i in EVERYONE if i != g) for g in EVERYONE], fit, distance)
        estimates += [np.sqrt(3) * quarters] if quarters is not None else []
    if not estimates:
        return None, f"No part of the data can carry the components. {reason}"
    return min(estimates, key=lambda errors: errors.mean()), ""


def _fits(
    parts: list[tuple[int, ...]], fit: Callable[[tuple[int, ...]], Any], distance: Callable[[Any], np.ndarray]
) -> tuple[np.ndarray | None, str]:
    """Mean distance over the fits that can be made; or None, and why."""
    distances, reason = [], ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for groups in parts:
            try:
                distances.append(distance(fit(groups)))
            except LatentiaError as error:
                reason = str(error)
    return (np.mean(distances, axis=0), reason) if distances else (None, reason)


def _distances(estimator: Any, other: Any) -> np.ndarray:
    if hasattr(estimator, "_distances"):
        return estimator._distances(other)
    return nearest_distances(estimator.components_, other.components_)


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
