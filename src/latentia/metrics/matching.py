"""Matching of the components of two models, and their distances."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist


def l1_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Compute the l1 distance of every row of ``first``, (m, d), to every row of ``second``, (k, d): shape (m, k).

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
    """Match rows one to one with the smallest total l1 distance.

    Parameters
    ----------
    recovered : array-like of shape (m, d)
        One component per row.
    true : array-like of shape (k, d)
        One component per row.

    Returns
    -------
    recovered_rows, true_rows : ndarray of int, shape (min(m, k),)
        Row ``recovered_rows[i]`` of ``recovered`` matches row ``true_rows[i]`` of ``true``, sorted by ``true_rows``.
    """
    recovered_rows, true_rows = linear_sum_assignment(l1_distances(recovered, true))
    order = np.argsort(true_rows)
    return recovered_rows[order], true_rows[order]


def nearest_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Compute the l1 distance of every row of ``first`` to the nearest row of ``second``, shape (m,).

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
    """Compute the mean distance of a row to the nearest other row; infinite for a single row.

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
    """Compute the distance of every row to the nearest other row, shape (K,); infinite for a single row.

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
    """Compute the distance of every true component to its matched recovered one.

    Parameters
    ----------
    recovered : ndarray of shape (m, d)
    true : ndarray of shape (k, d)
    norm : {"l1", "l2"}
        Norm of the distance. The matching always minimises the total l1 distance.

    Returns
    -------
    ndarray of shape (k,); NaN for a true component without a match because m < k
    """
    recovered_rows, true_rows = match_components(recovered, true)
    errors = np.full(len(true), np.nan)
    difference = recovered[recovered_rows] - true[true_rows]
    errors[true_rows] = np.linalg.norm(difference, ord=1 if norm == "l1" else 2, axis=1)
    return errors
