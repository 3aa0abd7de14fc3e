"""What rows of findings say about the causes: the record of it, the methods it may come from, and rows as flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...exceptions import LatentiaError

ENUMERATION, QUICKSCORE, SAMPLING, SEARCH = 0, 1, 2, 3
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Posteriors:
    """What rows of findings say about the causes.

    Attributes
    ----------
    probabilities : ndarray of shape (rows, m)
        P[d_k = 1 | x].
    log_likelihood : ndarray of shape (rows,)
        log P[x] of what is observed, in nats. For methods 2 and 3 a lower bound: the logarithm of the joint probability of x
        and the distinct configurations that chains visited, or that were listed.
    method : ndarray of shape (rows,)
        0 enumeration, 1 sum over the subsets of the present findings, 2 sampling, 3 sum over likely configurations.
    error : ndarray of shape (rows,)
        Accuracy of the row's probabilities: a bound on rounding for exact methods, and for sampling the standard error,
        largest over the causes. Chains that all miss the same configurations do not show in it. Of likely configurations
        the share of those that are hardly likely enough to be listed, which is about that of those that are not.
    """

    probabilities: np.ndarray
    log_likelihood: np.ndarray
    method: np.ndarray
    error: np.ndarray


def check_flags(values: Any, name: str, n: int) -> np.ndarray:
    """A new boolean array of shape (rows, n)."""
    flags = np.asarray(values)
    if flags.ndim != 2 or flags.shape[1] != n:
        raise LatentiaError(f"{name} has shape {flags.shape}: a row has {n} findings in this network.")
    if flags.dtype != bool:
        invalid = np.argwhere(~((flags == 0) | (flags == 1)))
        if len(invalid):
            i, j = invalid[0]
            raise LatentiaError(f"{name}[{i}, {j}] is {flags[i, j]!r}: 0 and 1 or booleans are needed.")
    return np.array(flags, dtype=bool, order="C")


def list_set_places(flags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is set in each row of flags: ends of the rows (n_rows + 1,) and, row by row, places."""
    return np.append(0, np.cumsum(np.count_nonzero(flags, axis=1))), np.ascontiguousarray(np.nonzero(flags)[1])
