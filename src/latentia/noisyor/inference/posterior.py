"""Posteriors of the causes of a noisy-or network, exact where a sum over 2^14 terms allows it and sampled elsewhere.

A row is handled by the first of these that it allows:

0. enumeration of the 2^m configurations, for m <= 14;
1. a sum over the subsets of its present findings, for at most 14 of them, or 16 where memory allows, or, with more than 60
   causes, as many as take milliseconds;
2. with more than 60 causes, a sum over its likely configurations, where there are few enough to list;
3. sampling, with more than 60 causes of those that are likely beside no other.

Source: S. Arora, R. Ge, T. Ma, A. Risteski, Provable learning of noisy-or networks, STOC 2017, section 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config

from ..._parameters import seed_of
from ...exceptions import LatentiaError, LatentiaWarning, warn
from ...system.threads import run_in_chunks
from .enumeration import MOST_CAUSES, enumerate_configurations
from .network import Network, Prepared, absorb
from .records import QUICKSCORE, SAMPLING, SEARCH, Posteriors, as_flags, lists_of
from .sampling import sample, stream_of
from .search import Likely, likely_configurations
from .subsets import LOST, MOST_COVERED, MOST_PRESENT, n_terms, sum_over_subsets

_ROWS = 4  # of a task: exact rows take milliseconds
_MANY = 60  # causes: with more, what a row takes must not go with all of them
_TERMS = 1 << 22  # of a sum over subsets with many causes
_SEARCHED = 256  # rows at once: 16 MB of configurations
_LEFT_OUT = np.exp(-7.0)  # odds of causes that are no candidates
_LAST_NAT = 6.0
_SECONDS_A_ROW, _LONG = 0.02, 60.0  # of rows with 15 to 60 causes, and seconds from which on that is said


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
        return result
    seconds = _SECONDS_A_ROW * len(X) / effective_n_jobs(n_jobs)
    if network.m <= _MANY and seconds > _LONG:
        warn(
            f"Posteriors of {network.m} causes take about {1000 * _SECONDS_A_ROW:.0f} ms a row: some {seconds / 60:.0f} "
            f"minutes for {len(X):,} rows. Give fewer rows or more n_jobs, or fit at most {MOST_CAUSES} causes, which take "
            "less than 1 ms.",
            LatentiaWarning,
        )
    left = np.arange(len(X))
    if network.m > _MANY:
        many = np.flatnonzero(X.sum(axis=1) > _most_present(network.m)[0])
        left = np.setdiff1d(left, many[_by_search(network, X[many], known[many], result, many, n_jobs)])
    _by_row(model, X, known, result, seed_of(random_state), n_jobs, left)
    return result


def _most_present(m: int) -> tuple[int, int]:
    """Present findings up to which subsets are summed over, and up to which that is without subtractions."""
    # The backward pass of a sum without subtractions keeps m arrays of 2^|P|; rows for which that is too much are sampled.
    floats = get_config()["working_memory"] * (1 << 20) / 8 / 8
    largest = min(MOST_COVERED, int(np.log2(max(1.0, floats / (m + 1)))))
    if m <= _MANY:
        return max(MOST_PRESENT, largest), largest
    few = max(p for p in range(MOST_COVERED) if m * (p + 1) << p <= _TERMS // 2)
    return few, min(few, largest)


def _by_search(
    network: Network, present: np.ndarray, observed: np.ndarray, out: Posteriors, places: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """Fill ``out`` at places by sums over likely configurations; says of which rows these can be listed."""
    model, listed = network.search_model, np.zeros(len(present), bool)
    leak = 1 - model.silent

    def task(first: int, last: int) -> None:
        some = present[first:last]
        likely = likely_configurations(model, *lists_of(some), *lists_of(~observed[first:last]))
        width = likely.causes.shape[1]
        listed[first:last] = ~likely.crowded
        for r in np.flatnonzero(likely.causes[:, -1] < network.m):  # there may be more candidates
            listed[first + r] &= _none_beside(network, some[r], observed[first + r], likely, int(r))
        highest = likely.logs.max(axis=1)
        shares = np.exp(likely.logs - highest[:, None])
        total = shares.sum(axis=1)
        shares /= total[:, None]
        found = np.zeros((len(some), network.m + 1))
        on = (likely.masks[:, :, None] >> np.arange(width) & 1).astype(float)
        np.put_along_axis(found, likely.causes, (shares[:, None] @ on)[:, 0], axis=1)
        silent, absent = np.log(model.silent), observed[first:last] & ~some
        rows = places[first:last]
        out.probabilities[rows] = found[:, :-1]
        out.log_likelihood[rows] = some @ np.log(leak) + absent @ silent + np.log1p(-network.priors).sum()
        out.log_likelihood[rows] += highest + np.log(total)
        last_nat = likely.logs < highest[:, None] - _LAST_NAT
        out.error[rows], out.method[rows] = _LEFT_OUT + (shares * last_nat).sum(axis=1), SEARCH

    run_in_chunks(task, len(present), _SEARCHED, n_jobs)
    return listed


def _none_beside(network: Network, present: np.ndarray, observed: np.ndarray, likely: Likely, row: int) -> bool:
    """Whether no cause but the candidates of a row can be on beside its likeliest configuration."""
    model, best = network.search_model, int(likely.logs[row].argmax())
    causes = likely.causes[row]
    on = causes[likely.masks[row, best] >> np.arange(len(causes)) & 1 == 1]
    off = model.silent[present] * np.exp(-network.weights[on][:, present].sum(axis=0))
    kept = np.exp(-network.weights[:, present])
    gains = np.log((1 - off * kept) / (1 - off)).sum(axis=1) - network.weights[:, observed & ~present].sum(axis=1)
    others = np.setdiff1d(np.arange(network.m), causes)
    odds = np.log(network.priors[others]) - np.log1p(-network.priors[others])
    return bool((odds + gains[others] <= np.log(_LEFT_OUT)).all())


def _by_row(
    model: Prepared, present: np.ndarray, observed: np.ndarray, out: Posteriors, seed: int, n_jobs: int | None,
    rows: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Fill ``out`` by sums over the subsets of a row's present findings where they are few, else by sampling."""
    (few, largest), many = _most_present(len(model.on)), len(model.on) > _MANY
    rows = np.arange(len(present)) if rows is None else rows

    def task(first: int, last: int) -> None:
        for r in rows[first:last]:
            on, off, scale, found = absorb(model.weights, model.on, model.off, model.hazard, present[r], observed[r])
            out.probabilities[r], linked = on, np.flatnonzero(model.weights[:, found].any(axis=1))
            on, off, loads, hazard = on[linked], off[linked], model.weights[np.ix_(linked, found)], model.hazard[found]
            if len(found) <= few or (many and n_terms(loads) <= _TERMS):
                likelihood, joint, error = sum_over_subsets(on, off, loads, hazard, many or len(found) <= largest)
                if error <= LOST:
                    out.probabilities[r, linked] = np.clip(joint / likelihood, 0, 1)
                    out.log_likelihood[r], out.method[r], out.error[r] = scale + np.log(likelihood), QUICKSCORE, error
                    continue
            stream = stream_of(np.uint64(seed), present[r], observed[r])
            chosen = _candidates(on, off, loads, hazard) if many else np.ones(len(on), bool)
            found_on, log_likelihood, out.error[r] = sample(on[chosen], off[chosen], loads[chosen], hazard, stream)
            out.probabilities[r, linked[chosen]] = found_on
            log_likelihood += np.log(off[~chosen]).sum()
            out.log_likelihood[r], out.method[r] = scale + log_likelihood, SAMPLING

    run_in_chunks(task, len(rows), _ROWS, n_jobs)


def _candidates(on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray) -> np.ndarray:
    """Which of many causes can be on, bool (m,): beside others their odds are no larger than beside none."""
    alone = np.log(-np.expm1(-loads - hazard) / -np.expm1(-hazard)).sum(axis=1)
    return np.asarray(np.log(on / off) + alone > np.log(_LEFT_OUT))
