"""Likelihood of residuals."""

from __future__ import annotations

import numpy as np

_EXACT = 1e-14  # smallest residual, as a share of the energy


def best_gaussian_log_likelihood(residual: float, energy: float, size: int) -> float:
    """Return the log-likelihood in nats of ``size`` residuals of squared length ``residual``, at the best Gaussian variance.

    The residual is at least 1e-14 of the ``energy``, the squared length of the data, so that an exact fit has a likelihood.
    """
    size = max(size, 1)
    variance = max(residual, _EXACT * energy, np.finfo(float).tiny) / size
    return float(-0.5 * size * (np.log(2 * np.pi * variance) + 1))
