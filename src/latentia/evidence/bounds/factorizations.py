"""Noise limits of separable and approximate nonnegative factorizations: Ge, thesis 2013, chapter 2."""

from __future__ import annotations

import math
from typing import NamedTuple

from ._positive import check_positive


def robust_loner_noise_limit(robustness: float) -> float:
    """Return the largest l1 noise of a row for which robust loners are anchors: alpha^2 / (40 + 13 alpha) (Theorem 2.48).

    Parameters
    ----------
    robustness : float
        Smallest distance of a vertex to the span (or the hull) of the others.

    Returns
    -------
    float
    """
    return robustness**2 / (40 + 13 * robustness)


class ApproximateFactorizationBounds(NamedTuple):
    """Proven relative error, and delta, below which the convex program handles singular values of A."""

    error: float
    cutoff: float


def approximate_factorization_bounds(
    eps: float, n_components: int, constant: float = 1.0
) -> ApproximateFactorizationBounds:
    """Return the Frobenius error eps^(1/2) r^(1/4), with delta = (eps / r^(1/2))^(1/2) (Theorem 2.49).

    ``eps`` is the relative error of the best nonnegative factorization by r components. Lemma 2.53 needs the factor A' from a
    nonnegative least-squares problem, which the thesis omits.

    Parameters
    ----------
    eps : float
        Relative error of the best factorization.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    ApproximateFactorizationBounds
    """
    check_positive(n_components=n_components)
    return ApproximateFactorizationBounds(
        constant * math.sqrt(eps) * n_components**0.25, math.sqrt(eps / math.sqrt(n_components))
    )
