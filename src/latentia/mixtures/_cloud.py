"""Whether components are what a mixture cuts a single cloud into. Halves of the rows cut it alike and find these again.

A cloud has the rows' mean and covariance, and their distances from it in all directions alike: tails as heavy, and no clusters.
Components may be its parts if no rows are missing between them, and if they gain hardly more over one Gaussian than a mixture
of such a cloud does. Where rows do not lie about components as the model says they must gain more: a cube is no such cloud.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

_VANISHED = 1e-8  # of the widest direction
_TIMES = 1.5  # what a cloud gains: tails like those of t with 6 degrees of freedom give up to 1.3
_BEYOND = 0.2  # nats a row, where rows do not lie about components as they should: those of a cube gain up to .15
_WINDOW, _SHALLOW, _SURE = 0.125, 0.5, 2.0  # of the distance of two means; share of the rows there; standard errors


def one_cloud(rows: np.ndarray, seed: int) -> np.ndarray:
    """Rows of one cloud: directions are drawn anew, distances in standard deviations dealt to them, shape (n, D)."""
    rng, mean = np.random.default_rng([seed, 104]), rows.mean(axis=0)
    left, sizes, right = np.linalg.svd(rows - mean, full_matrices=False)
    kept = sizes > _VANISHED * sizes[0]
    lengths = np.linalg.norm(left[:, kept], axis=1)
    directions = rng.standard_normal((len(rows), int(kept.sum())))
    directions *= (rng.permutation(lengths) / np.linalg.norm(directions, axis=1))[:, None]
    return np.asarray(mean + (directions * sizes[kept]) @ right[kept])


def gains_more(of_rows: float, of_cloud: float, shaped: bool) -> bool:
    """Whether the gain over one Gaussian, in nats a row, is clearly more than that of a cloud.

    ``shaped`` says whether components are better than one Gaussian, and rows lie about them as the model says.
    """
    return of_rows > (_TIMES * of_cloud if shaped else of_cloud + _BEYOND)


def have_valley(rows: np.ndarray, means: np.ndarray, labels: np.ndarray) -> bool:
    """Whether rows are fewer halfway between a component and the nearest other one than about both of them.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
    means : ndarray of shape (K, D)
    labels : ndarray of int, shape (n,)
        Component of each row.
    """
    apart = cdist(means, means)
    np.fill_diagonal(apart, np.inf)
    for k, nearest in enumerate(apart.argmin(axis=1)):
        between = means[nearest] - means[k]
        places = (
            (rows[(labels == k) | (labels == nearest)] - means[k]) @ between / max(float(between @ between), 1e-300)
        )
        first, middle, last = (int((np.abs(places - place) < _WINDOW).sum()) for place in (0.0, 0.5, 1.0))
        few = min(first, last)
        if middle + _SURE * np.sqrt(few) < _SHALLOW * few:
            return True
    return False
