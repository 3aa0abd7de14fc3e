"""Record of posteriors with their methods, and checks of rows of findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...exceptions import LatentiaError

ENUMERATION, QUICKSCORE, SAMPLING, SEARCH = 0, 1, 2, 3
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Posteriors:
    """Posteriors of the causes for rows of findings.

    Attributes
    ----------
    probabilities : ndarray of shape (rows, m)
        P[d_k = 1 | x].
    log_likelihood : ndarray of shape (rows,)
        log P[x] of the known findings, in nats. For methods 2 and 3 a lower bound: log of the joint probability of x and the
        distinct configurations that chains visited or that were listed.
    method : ndarray of shape (rows,)
        0 enumeration, 1 sum over the subsets of the present findings, 2 sampling, 3 sum over likely configurations.
    error : ndarray of shape (rows,)
        Accuracy of the row's probabilities: a bound on rounding for exact methods, and the standard error for sampling,
        largest over the causes, which cannot show configurations that all chains miss. For likely configurations it is the
        share of those that are hardly likely enough to be listed, about that of the unlisted ones.
    """

    probabilities: np.ndarray
    log_likelihood: np.ndarray
    method: np.ndarray
    error: np.ndarray


def check_flags(values: Any, name: str, n: int) -> np.ndarray:
    """Return values as a new boolean array of shape (rows, n)."""
    flags = np.asarray(values)
    if flags.ndim != 2 or flags.shape[1] != n:
        raise LatentiaError(f"{name} has shape {flags.shape}; expected rows of {n} findings.")
    if flags.dtype != bool:
        invalid = np.argwhere(~((flags == 0) | (flags == 1)))
        if len(invalid):
            i, j = invalid[0]
            raise LatentiaError(f"{name}[{i}, {j}] is {flags[i, j]!r}; expected 0, 1 or a boolean.")
    return np.array(flags, dtype=bool, order="C")


def list_set_places(flags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """List the set places of each row of flags: ends of the rows (n_rows + 1,), and places row by row."""
    return np.append(0, np.cumsum(np.count_nonzero(flags, axis=1))), np.ascontiguousarray(np.nonzero(flags)[1])
