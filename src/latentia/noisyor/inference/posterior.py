"""Posteriors of the causes of a noisy-or network, exact where a sum over 2^14 terms allows it and sampled elsewhere.

A row is handled by the first of these that it allows:

0. enumeration of the 2^m configurations, for m <= 14;
1. a sum over the subsets of its present findings, for at most 14 of them, or 16 where memory allows;
2. sampling.

Source: S. Arora, R. Ge, T. Ma, A. Risteski, Provable learning of noisy-or networks, STOC 2017, section 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config

from ..._parameters import seed_of
from ..._threads import for_chunks
from ...exceptions import LatentiaError
from .enumeration import MOST_CAUSES, enumerate_configurations
from .network import Network, Prepared, absorb
from .records import QUICKSCORE, SAMPLING, Posteriors, as_flags
from .sampling import sample, stream_of
from .subsets import LOST, MOST_COVERED, MOST_PRESENT, sum_over_subsets

__all__ = ["posteriors"]

_ROWS = 4  # of a task: exact rows take milliseconds


def posteriors(
    network: Network,
    present: Any,
    observed: Any = None,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Posteriors:
    """Posterior probabilities of the causes for many rows of findings.

    A leak below 1e-12 counts as 1e-12, so that findings which no cause explains have an answer: they are then put down to
    the leak and change nothing.

    Parameters
    ----------
    network : Network
    present : array-like of shape (rows, n)
        1 where a finding is on, 0 where it is off. Entries of unobserved findings are not read.
    observed : array-like of shape (rows, n), optional
        Which findings are known; by default all. The others are summed out.
    random_state : int, RandomState or None
        Of the sampled rows. The draws of a row depend on it and on the row's findings alone, not on other rows.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.

    Returns
    -------
    Posteriors
    """
    X = as_flags(present, "present", network.n)
    known = np.ones_like(X) if observed is None else as_flags(observed, "observed", network.n)
    if known.shape != X.shape:
        raise LatentiaError(f"observed has shape {known.shape} and present {X.shape}: they must agree.")
    X &= known
    result = Posteriors(np.empty((len(X), network.m)), np.empty(len(X)), np.zeros(len(X), np.int8), np.empty(len(X)))
    model = Prepared.of(network)
    if network.m <= MOST_CAUSES:
        enumerate_configurations(model, X, known, result, n_jobs)
    else:
        _by_row(model, X, known, result, seed_of(random_state), n_jobs)
    return result


def _by_row(
    model: Prepared, present: np.ndarray, observed: np.ndarray, out: Posteriors, seed: int, n_jobs: int | None
) -> None:
    """Fill ``out`` by sums over the subsets of a row's present findings where they are few, else by sampling."""
    # The backward pass of a sum without subtractions keeps m arrays of 2^|P|; rows for which that is too much are sampled.
    floats = get_config()["working_memory"] * (1 << 20) / 8 / 8
    largest = min(MOST_COVERED, int(np.log2(max(1.0, floats / (len(model.on) + 1)))))

    def task(first: int, last: int) -> None:
        for r in range(first, last):
            on, off, scale, found = absorb(model.weights, model.on, model.off, model.hazard, present[r], observed[r])
            loads, hazard = np.ascontiguousarray(model.weights[:, found]), model.hazard[found]
            if len(found) <= max(MOST_PRESENT, largest):
                likelihood, joint, error = sum_over_subsets(on, off, loads, hazard, len(found) <= largest)
                if error <= LOST:
                    out.probabilities[r] = np.clip(joint / likelihood, 0, 1)
                    out.log_likelihood[r], out.method[r], out.error[r] = scale + np.log(likelihood), QUICKSCORE, error
                    continue
            stream = stream_of(np.uint64(seed), present[r], observed[r])
            out.probabilities[r], log_likelihood, out.error[r] = sample(on, off, loads, hazard, stream)
            out.log_likelihood[r], out.method[r] = scale + log_likelihood, SAMPLING

    for_chunks(task, len(present), _ROWS, n_jobs)
