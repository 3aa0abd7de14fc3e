"""How many atoms a row uses, from what is left of rows after one atom, two, and so on."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from .pursuit import Codes

WANTING = 0.2
"""Share of the rows that may want another atom."""

_MORE = 1.5  # times what an atom takes of noise
_NOTHING = 1e-10  # share of the energy that counts as nothing
_ELBOW = 1.4  # how much less the next atom takes, where there is an elbow
_MANY = 0.5  # share of the rows that want a second atom, beyond which the first is no elbow, as in photographs


def wanting(codes: Codes, steps: int, n_atoms: int, n_features: int) -> float:
    """Share of the rows of which one more atom takes half as much again of what ``steps`` leave as it would take of noise.

    Of noise in n - k dimensions the best of m - k directions takes the largest of as many squares, a share of about
    2 log(m - k) / (n - k).
    """
    left, after, energy = codes.left[:, steps], codes.left[:, steps + 1], codes.left[:, 0]
    if n_features - steps < 2 or n_atoms - steps < 1:
        return 0.0
    by_chance = chi2.ppf(0.5 ** (1 / (n_atoms - steps)), 1) / (n_features - steps)
    return float(((left > _NOTHING * energy) & (left - after > min(_MORE * by_chance, 0.99) * left)).mean())


def better_sparsity(codes: Codes, n_atoms: int, n_features: int) -> int:
    """The sparsity that codes of more atoms suggest.

    Where a row's atoms end, the share that an atom leaves, of the median row, rises at once: from that of a coefficient to that
    of noise. Where it rises nowhere, or after the first atom though most rows want a second one, it is the least sparsity with
    which few rows want another atom.
    """
    most = codes.left.shape[1] - 1
    energy = np.where(codes.left[:, :1] > 0, codes.left[:, :1], 1.0)
    median = np.maximum(np.median(codes.left / energy, axis=0), _NOTHING)
    kept = median[1:] / median[:-1]
    jumps = kept[1:] / kept[:-1]
    elbow = 1 + int(jumps.argmax()) if len(jumps) and jumps.max() >= _ELBOW else 0
    if elbow > 1 or (elbow and wanting(codes, 1, n_atoms, n_features) <= _MANY):
        return elbow
    return next((k for k in range(1, most) if wanting(codes, k, n_atoms, n_features) <= WANTING), most)
