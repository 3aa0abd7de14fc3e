"""The likelihood of what a model leaves of the data."""

from __future__ import annotations

import numpy as np

_EXACT = 1e-14  # share of the energy that counts as nothing


def best_gaussian_log_likelihood(residual: float, energy: float, size: int) -> float:
    """Log-likelihood in nats of ``size`` residuals of squared length ``left``, at the best variance of Gaussian noise.

    Of data of squared length ``energy``, 1e-14 of it counts as left at least, so that an exact fit has a likelihood too.
    """
    size = max(size, 1)
    variance = max(residual, _EXACT * energy, np.finfo(float).tiny) / size
    return float(-0.5 * size * (np.log(2 * np.pi * variance) + 1))
