"""The number of atoms that a row uses, from residuals after one atom, two, and so on."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from .pursuit import Codes

MAX_UNDERCODED_SHARE = 0.2
"""Largest share of rows that may want another atom."""

_FACTOR_OVER_NOISE = 1.5  # multiple of the share of noise that an atom explains
_ZERO_SHARE = 1e-10  # share of the energy that counts as nothing
_ELBOW = 1.4  # rise of the remaining share at an elbow
_MAX_SHARE_FOR_ONE = 0.5  # if more rows want a second atom, the first is not an elbow, as in photographs


def measure_undercoding(codes: Codes, steps: int, n_atoms: int, n_features: int) -> float:
    """Return the share of rows of which one more atom, after ``steps``, explains half as much again as it would of noise.

    In noise of n - k dimensions the best of m - k directions explains the largest of as many squares, a share of about
    2 log(m - k) / (n - k).
    """
    residuals, next_residuals, energy = codes.residuals[:, steps], codes.residuals[:, steps + 1], codes.residuals[:, 0]
    if n_features - steps < 2 or n_atoms - steps < 1:
        return 0.0
    by_chance = chi2.ppf(0.5 ** (1 / (n_atoms - steps)), 1) / (n_features - steps)
    return float(
        (
            (residuals > _ZERO_SHARE * energy)
            & (residuals - next_residuals > min(_FACTOR_OVER_NOISE * by_chance, 0.99) * residuals)
        ).mean()
    )


def suggest_sparsity(codes: Codes, n_atoms: int, n_features: int) -> int:
    """Return the sparsity that codes of more atoms suggest.

    After the last atom of a row, the share of the residual that remains after one more atom rises sharply, for the median row,
    from that of a coefficient to that of noise. Without such a rise, or if it comes after the first atom though most rows want
    a second one, it is the least sparsity with which few rows want another atom.
    """
    max_sparsity = codes.residuals.shape[1] - 1
    energy = np.where(codes.residuals[:, :1] > 0, codes.residuals[:, :1], 1.0)
    median = np.maximum(np.median(codes.residuals / energy, axis=0), _ZERO_SHARE)
    remaining_shares = median[1:] / median[:-1]
    jumps = remaining_shares[1:] / remaining_shares[:-1]
    elbow = 1 + int(jumps.argmax()) if len(jumps) and jumps.max() >= _ELBOW else 0
    if elbow > 1 or (elbow and measure_undercoding(codes, 1, n_atoms, n_features) <= _MAX_SHARE_FOR_ONE):
        return elbow
    return next(
        (
            k
            for k in range(1, max_sparsity)
            if measure_undercoding(codes, k, n_atoms, n_features) <= MAX_UNDERCODED_SHARE
        ),
        max_sparsity,
    )
