"""What rows of findings say about the causes: the record of it, the methods it may come from, and rows as flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...exceptions import LatentiaError

__all__ = ["ENUMERATION", "EPS", "QUICKSCORE", "SAMPLING", "Posteriors", "as_flags"]

ENUMERATION, QUICKSCORE, SAMPLING = 0, 1, 2
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Posteriors:
    """What rows of findings say about the causes.

    Attributes
    ----------
    probabilities : ndarray of shape (rows, m)
        P[d_k = 1 | x].
    log_likelihood : ndarray of shape (rows,)
        log P[x] of what is observed, in nats. For sampled rows a lower bound: the logarithm of the joint probability of x
        and the distinct configurations that the chains visited.
    method : ndarray of shape (rows,)
        0 enumeration, 1 sum over the subsets of the present findings, 2 sampling.
    error : ndarray of shape (rows,)
        Accuracy of the row's probabilities: a bound on rounding for exact methods, and for sampling the standard error,
        largest over the causes. Chains that all miss the same configurations do not show in it.
    """

    probabilities: np.ndarray
    log_likelihood: np.ndarray
    method: np.ndarray
    error: np.ndarray


def as_flags(values: Any, name: str, n: int) -> np.ndarray:
    """A new boolean array of shape (rows, n)."""
    flags = np.asarray(values)
    if flags.ndim != 2 or flags.shape[1] != n:
        raise LatentiaError(f"{name} has shape {flags.shape}: a row has {n} findings in this network.")
    if flags.dtype != bool:
        bad = np.argwhere(~((flags == 0) | (flags == 1)))
        if len(bad):
            i, j = bad[0]
            raise LatentiaError(f"{name}[{i}, {j}] is {flags[i, j]!r}: 0 and 1 or booleans are needed.")
    return np.array(flags, dtype=bool, order="C")
