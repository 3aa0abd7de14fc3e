"""Rows and errors of noisy-or networks: Provable learning of noisy-or networks, 2017."""

from __future__ import annotations

import math

from ._positive import check_positive

_LARGEST_TAU = 1e100  # its powers are in range


def noisy_or_rows(least_absence: float, n_findings: int, accuracy: float = 0.1) -> float:
    """Return the rows at which every PMI is within ``accuracy``: log n / (delta^2 min P_S) (Lemmas E.1 and E.2).

    Parameters
    ----------
    least_absence : float
        Smallest probability that all findings of a pair (E.1) or triple (E.2) are absent.
    n_findings : int
        The union bound is over pairs of findings; the paper prints log m.
    accuracy : float
        delta.

    Returns
    -------
    float
    """
    check_positive(least_absence=least_absence, accuracy=accuracy)
    return math.log(max(n_findings, 2)) / (accuracy**2 * least_absence)


def noisy_or_causes(n_findings: int) -> int:
    """Return how many causes pairs of findings can identify: more have more parameters than there are pairs (Ledermann).

    Parameters
    ----------
    n_findings : int
        n.

    Returns
    -------
    int
        The largest m with n m - m (m - 1) / 2 <= n (n - 1) / 2, about n - sqrt(2 n).
    """
    return int((2 * n_findings + 1 - math.sqrt(8 * n_findings + 1)) // 2)


def noisy_or_error(n_causes: int, density: float, prior: float, tau: float) -> float:
    """Return eta = sqrt(m p) rho tau^1.5, the relative l2 error of a column of weights up to logarithms (Theorem 3.3).

    Parameters
    ----------
    n_causes : m
    density : float
        p, the share of nonzero weights.
    prior : float
        rho.
    tau : float
        Spectral boundedness.

    Returns
    -------
    float
    """
    if not tau < _LARGEST_TAU:  # no bound at all
        return math.inf
    return math.sqrt(n_causes * density) * prior * tau**1.5
