"""What lies beyond the leading directions of a spectrum, that a fit leaves out."""

from __future__ import annotations

import numpy as np

_ABOVE = 0.08  # of the edge, that the largest eigenvalue of noise is seldom above it,
_FEW = 2.5  # or this times n^(-2/3), the width of its distribution


def left_out(spectrum: np.ndarray, n_components: int, edge: float, first: int = 0) -> float:
    """Size of the eigenvalues after the first ``n_components``, beyond the edge of the noise, as a share of those before them.

    Where a fit has too few components it merges some, stably. Merging two that are as frequent leaves out a direction about as
    strong as theirs, and puts the merged one at half of their distance: so half of this share, times the distance to the
    nearest other component, is about the error of a component, on average.

    Parameters
    ----------
    spectrum : ndarray, descending
    n_components : int
    edge : float
        Size of eigenvalues of noise.
    first : int
        Number of leading eigenvalues that do not belong to components, such as that of the mean.
    """
    kept = float(np.linalg.norm(spectrum[first:n_components]))
    beyond = float(np.linalg.norm(np.maximum(spectrum[n_components:] - edge, 0.0)))
    return min(beyond / kept, 1.0) if kept > 0 else 0.0


def noise_limit(size: int) -> float:
    """The multiple of the edge that eigenvalues of a symmetric matrix of noise with this many rows seldom exceed."""
    return 1 + max(_ABOVE, _FEW * size ** (-2 / 3))
