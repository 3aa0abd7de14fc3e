"""Components of two models are known up to their order: match them, then measure how far apart they are."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist


def l1_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """l1 distance of every row of ``first``, (m, d), to every row of ``second``, (k, d): shape (m, k).

    Between two probability distributions it lies in [0, 2].

    Parameters
    ----------
    first : array-like of shape (m, d)
        One component per row.
    second : array-like of shape (k, d)
        One component per row.

    Returns
    -------
    ndarray of shape (m, k)
    """
    return cdist(np.ascontiguousarray(first), np.ascontiguousarray(second), "cityblock")


def match_components(recovered: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Match rows one to one with the least total l1 distance.

    Parameters
    ----------
    found : array-like of shape (m, d)
        One component per row.
    true : array-like of shape (k, d)
        One component per row.

    Returns
    -------
    of_found, of_true : ndarray of int, shape (min(m, k),)
        Row ``of_found[i]`` of ``found`` stands for row ``of_true[i]`` of ``true``, sorted by ``of_true``.
    """
    recovered_rows, true_rows = linear_sum_assignment(l1_distances(recovered, true))
    order = np.argsort(true_rows)
    return recovered_rows[order], true_rows[order]


def nearest_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """l1 distance of every row of ``first`` to the nearest row of ``second``, shape (m,).

    Parameters
    ----------
    first : array-like of shape (m, d)
        One component per row.
    second : array-like of shape (k, d)
        One component per row.

    Returns
    -------
    ndarray of shape (m,)
    """
    return l1_distances(first, second).min(axis=1)


def nearest_other_distance(components: np.ndarray, metric: str = "cityblock") -> float:
    """Mean distance of a row to the nearest other row; infinite for a single one.

    Parameters
    ----------
    components : array-like of shape (K, d)
        One component per row.
    metric : str, default="cityblock"
        A metric of `scipy.spatial.distance.cdist`; the default is l1.

    Returns
    -------
    float
    """
    return float(nearest_others(components, metric).mean())


def nearest_others(components: np.ndarray, metric: str = "cityblock") -> np.ndarray:
    """Distance of every row to the nearest other row, shape (K,); infinite for a single one.

    Parameters
    ----------
    components : array-like of shape (K, d)
        One component per row.
    metric : str, default="cityblock"
        A metric of `scipy.spatial.distance.cdist`; the default is l1.

    Returns
    -------
    ndarray of shape (K,)
    """
    components = np.ascontiguousarray(components)  # SciPy is five times slower on strided rows
    distances = cdist(components, components, metric)
    np.fill_diagonal(distances, np.inf)
    return np.asarray(distances.min(axis=1))


def recovery_errors(recovered: np.ndarray, true: np.ndarray, norm: Literal["l1", "l2"] = "l1") -> np.ndarray:
    """Distance of every true component to the found one it is matched with.

    Parameters
    ----------
    found : ndarray of shape (m, d)
    true : ndarray of shape (k, d)
    norm : {"l1", "l2"}
        Norm of the distance. The matching always minimises the total l1 distance.

    Returns
    -------
    ndarray of shape (k,); NaN for a true component that is left without a match because m < k
    """
    recovered_rows, true_rows = match_components(recovered, true)
    errors = np.full(len(true), np.nan)
    difference = recovered[recovered_rows] - true[true_rows]
    errors[true_rows] = np.linalg.norm(difference, ord=1 if norm == "l1" else 2, axis=1)
    return errors
