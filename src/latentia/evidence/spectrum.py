"""Eigenvalues above the noise that a fit leaves out."""

from __future__ import annotations

import numpy as np

_MIN_EXCESS = 0.08  # relative excess over the edge that the largest noise eigenvalue seldom has,
_WIDTH_FACTOR = 2.5  # or this times n^(-2/3), the width of its distribution, if that is more


def missing_spectrum_share(spectrum: np.ndarray, n_components: int, edge: float, first: int = 0) -> float:
    """Return the norm of later eigenvalues above the noise edge, relative to that of the first ``n_components``.

    A fit with too few components merges some, stably. Merging two equally frequent ones leaves out a direction about as strong
    as theirs, and puts the merged component half their distance away. So half of this share, times the distance to the nearest
    other component, is about the mean error of a component.

    Parameters
    ----------
    spectrum : ndarray, descending
    n_components : int
    edge : float
        Largest eigenvalue of pure noise.
    first : int
        Number of leading eigenvalues that do not belong to components, such as the mean's.
    """
    included = float(np.linalg.norm(spectrum[first:n_components]))
    missed = float(np.linalg.norm(np.maximum(spectrum[n_components:] - edge, 0.0)))
    return min(missed / included, 1.0) if included > 0 else 0.0


def noise_limit(size: int) -> float:
    """Return the multiple of the edge that eigenvalues of a symmetric noise matrix of this size seldom exceed."""
    return 1 + max(_MIN_EXCESS, _WIDTH_FACTOR * size ** (-2 / 3))
