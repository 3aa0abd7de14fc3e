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
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from ..exceptions import LatentiaError
from ..metrics.matching import nearest_distances
from ..passes import Blocks, row_groups

__all__ = ["EVERYONE", "HALVES", "PartErrors", "errors_from_groups", "half_split_errors", "mean_nearest_distance"]

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


@dataclass(frozen=True)
class PartErrors:
    """What fits on parts of the data say of the full fit.

    Attributes
    ----------
    errors : ndarray of shape (K,) or None
        Expected error of each component; None if no part could be fitted, or none was asked for.
    n_parts, n_failed : int
        Parts, and those on which the model could not be fitted.
    reason : str
        Why there are no errors, or why the last part failed.
    """

    errors: np.ndarray | None
    n_parts: int
    n_failed: int
    reason: str


def errors_from_groups(
    fit: Callable[[tuple[int, ...]], Any],
    distance: Callable[[Any], np.ndarray],
    n_splits: int,
    *,
    cheap: bool = True,
    most: float = np.inf,
) -> PartErrors:
    """Expected error of each component from fits on some of four groups of rows.

    The distance of the full fit to a fit on half of the rows has the size of its error. So has root 3 times the distance
    to a fit on three quarters, whose variance beyond that of the full fit is a third of it. Where noise is so large that
    answers jump, both overstate the error: halves fall apart before the whole does, and jumps are not to be scaled. The
    smaller one is taken.

    Parameters
    ----------
    fit : callable
        Fits the groups with the given numbers.
    distance : callable
        Distance of each component of the full fit to the nearest one of what ``fit`` returned.
    n_splits : int
        Splits into halves, at most 3; none gives no errors.
    cheap : bool
        Whether fits cost next to nothing. If not, one split is made, and three quarters are tried only where no half
        can be fitted.
    most : float
        The largest distance that there can be.
    """
    if not n_splits:
        return PartErrors(None, 0, 0, "Needs fits on parts of the data: call evidence_.stability(X).")
    parts: list[tuple[int, ...]] = [half for split in HALVES[: n_splits if cheap else 1] for half in split]
    found, reason = _fits(parts, fit, distance)
    estimates, n_parts, n_failed = [found] if found else [], len(parts), len(parts) - len(found)
    if cheap or not found:
        parts = [tuple(i for i in EVERYONE if i != g) for g in EVERYONE]
        found, later = _fits(parts, fit, distance)
        estimates += [[np.sqrt(3) * one for one in found]] if found else []
        n_parts, n_failed, reason = n_parts + len(parts), n_failed + len(parts) - len(found), later or reason
    if not estimates:
        return PartErrors(None, n_parts, n_failed, f"No part of the data can carry the components. {reason}")
    errors = min((np.mean(one, axis=0) for one in estimates), key=lambda one: float(one.mean()))
    return PartErrors(np.minimum(errors, most), n_parts, n_failed, reason)


def _fits(
    parts: list[tuple[int, ...]], fit: Callable[[tuple[int, ...]], Any], distance: Callable[[Any], np.ndarray]
) -> tuple[list[np.ndarray], str]:
    """Distances to the fits that can be made, and why the last of the others cannot."""
    distances, reason = [], ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for groups in parts:
            try:
                distances.append(distance(fit(groups)))
            except LatentiaError as error:
                reason = str(error)
    return distances, reason


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
