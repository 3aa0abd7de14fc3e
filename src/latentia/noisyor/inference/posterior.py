"""Posteriors of the causes of a noisy-or network, exact where a sum over 2^14 terms suffices, and sampled elsewhere.

The first suitable method handles a row:

0. enumeration of the 2^m configurations, for m <= 14;
1. a sum over the subsets of its present findings, for at most 14 of them, or 16 where memory allows, or, with more than 60
   causes, as many as take milliseconds;
2. with more than 60 causes, a sum over its likely configurations, where there are few enough to list;
3. sampling; with more than 60 causes only causes that are likely by themselves are sampled.

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
from .enumeration import MAX_CAUSES, enumerate_configurations
from .network import InteriorNetwork, Network, absorb_absent
from .records import QUICKSCORE, SAMPLING, SEARCH, Posteriors, check_flags, list_set_places
from .sampling import sample, start_stream
from .search import LikelyConfigurations, likely_configurations
from .subsets import MAX_COVERED, MAX_ERROR, MAX_PRESENT, count_terms, sum_over_subsets

_ROWS_PER_TASK = 4  # rows of a task: exact rows take milliseconds
_MAX_FEW_CAUSES = 60  # causes up to which a row may take time proportional to all of them
_MAX_TERMS = 1 << 22  # terms of a sum over subsets with more causes
_SEARCH_ROWS = 256  # rows searched at a time: 16 MB of configurations
_MIN_CANDIDATE_ODDS = np.exp(-7.0)  # odds below which a cause is no candidate
_LAST_NAT = 6.0  # configurations more than 6 nats below the best are about as likely as unlisted ones
_SECONDS_PER_ROW = 0.02  # time of a row with 15 to 60 causes
_MIN_WARNED_SECONDS = 60.0  # expected time from which a warning names it


def posteriors(
    network: Network,
    present: Any,
    observed: Any = None,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Posteriors:
    """Compute posterior probabilities of the causes for many rows of findings.

    A leak below 1e-12 counts as 1e-12: findings that no cause explains are then due to the leak and change nothing.

    Parameters
    ----------
    network : Network
    present : array-like of shape (rows, n)
        1 where a finding is on, 0 where it is off. Entries of unobserved findings are not read.
    observed : array-like of shape (rows, n), optional
        Whether findings are known, by default all; unknown ones are summed out.
    random_state : int, RandomState or None
        Seed of the sampled rows. The draws of a row depend on the seed and on the row's findings alone.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.

    Returns
    -------
    Posteriors
    """
    X = check_flags(present, "present", network.n)
    is_observed = np.ones_like(X) if observed is None else check_flags(observed, "observed", network.n)
    if is_observed.shape != X.shape:
        raise LatentiaError(f"observed has shape {is_observed.shape} and present {X.shape}; expected equal shapes.")
    X &= is_observed
    result = Posteriors(np.empty((len(X), network.m)), np.empty(len(X)), np.zeros(len(X), np.int8), np.empty(len(X)))
    model = InteriorNetwork.from_network(network)
    if network.m <= MAX_CAUSES:
        enumerate_configurations(model, X, is_observed, result, n_jobs)
        return result
    seconds = _SECONDS_PER_ROW * len(X) / effective_n_jobs(n_jobs)
    if network.m <= _MAX_FEW_CAUSES and seconds > _MIN_WARNED_SECONDS:
        warn(
            f"Posteriors of {network.m} causes take about {1000 * _SECONDS_PER_ROW:.0f} ms a row: some {seconds / 60:.0f} "
            f"minutes for {len(X):,} rows. Give fewer rows or more n_jobs, or fit at most {MAX_CAUSES} causes, which take "
            "less than 1 ms.",
            LatentiaWarning,
        )
    remaining = np.arange(len(X))
    if network.m > _MAX_FEW_CAUSES:
        long_rows = np.flatnonzero(X.sum(axis=1) > _max_present(network.m)[0])
        remaining = np.setdiff1d(
            remaining,
            long_rows[_fill_by_search(network, X[long_rows], is_observed[long_rows], result, long_rows, n_jobs)],
        )
    _fill_row_by_row(model, X, is_observed, result, seed_of(random_state), n_jobs, remaining)
    return result


def _max_present(m: int) -> tuple[int, int]:
    """Return the largest number of present findings for sums over subsets, and for such sums without subtractions."""
    # A sum without subtractions needs m arrays of 2^|P| numbers; rows that need too much memory are sampled.
    floats = get_config()["working_memory"] * (1 << 20) / 8 / 8
    largest = min(MAX_COVERED, int(np.log2(max(1.0, floats / (m + 1)))))
    if m <= _MAX_FEW_CAUSES:
        return max(MAX_PRESENT, largest), largest
    max_present = max(p for p in range(MAX_COVERED) if m * (p + 1) << p <= _MAX_TERMS // 2)
    return max_present, min(max_present, largest)


def _fill_by_search(
    network: Network, present: np.ndarray, observed: np.ndarray, out: Posteriors, places: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """Fill ``out`` at places by sums over likely configurations; return the rows whose configurations fit the list."""
    model, is_listed = network.search_model, np.zeros(len(present), bool)
    leak = 1 - model.silent

    def task(first: int, last: int) -> None:
        rows_present = present[first:last]
        likely = likely_configurations(model, *list_set_places(rows_present), *list_set_places(~observed[first:last]))
        width = likely.causes.shape[1]
        is_listed[first:last] = ~likely.crowded
        for r in np.flatnonzero(likely.causes[:, -1] < network.m):  # the list of candidates is full
            is_listed[first + r] &= _has_all_candidates(network, rows_present[r], observed[first + r], likely, int(r))
        highest = likely.logs.max(axis=1)
        shares = np.exp(likely.logs - highest[:, None])
        total = shares.sum(axis=1)
        shares /= total[:, None]
        probabilities = np.zeros((len(rows_present), network.m + 1))
        on = (likely.masks[:, :, None] >> np.arange(width) & 1).astype(float)
        np.put_along_axis(probabilities, likely.causes, (shares[:, None] @ on)[:, 0], axis=1)
        silent, absent = np.log(model.silent), observed[first:last] & ~rows_present
        rows = places[first:last]
        out.probabilities[rows] = probabilities[:, :-1]
        out.log_likelihood[rows] = rows_present @ np.log(leak) + absent @ silent + np.log1p(-network.priors).sum()
        out.log_likelihood[rows] += highest + np.log(total)
        last_nat = likely.logs < highest[:, None] - _LAST_NAT
        out.error[rows], out.method[rows] = _MIN_CANDIDATE_ODDS + (shares * last_nat).sum(axis=1), SEARCH

    run_in_chunks(task, len(present), _SEARCH_ROWS, n_jobs)
    return is_listed


def _has_all_candidates(
    network: Network, present: np.ndarray, observed: np.ndarray, likely: LikelyConfigurations, row: int
) -> bool:
    """Return True if no further cause of a row is likely given its likeliest configuration."""
    model, likeliest = network.search_model, int(likely.logs[row].argmax())
    causes = likely.causes[row]
    on = causes[likely.masks[row, likeliest] >> np.arange(len(causes)) & 1 == 1]
    off = model.silent[present] * np.exp(-network.weights[on][:, present].sum(axis=0))
    absence_factors = np.exp(-network.weights[:, present])
    gains = np.log((1 - off * absence_factors) / (1 - off)).sum(axis=1) - network.weights[:, observed & ~present].sum(
        axis=1
    )
    other_causes = np.setdiff1d(np.arange(network.m), causes)
    odds = np.log(network.priors[other_causes]) - np.log1p(-network.priors[other_causes])
    return bool((odds + gains[other_causes] <= np.log(_MIN_CANDIDATE_ODDS)).all())


def _fill_row_by_row(
    model: InteriorNetwork, present: np.ndarray, observed: np.ndarray, out: Posteriors, seed: int, n_jobs: int | None,
    rows: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Fill ``out`` by sums over subsets of a row's present findings if these are few, else by sampling."""
    (max_present, largest), has_many_causes = _max_present(len(model.on)), len(model.on) > _MAX_FEW_CAUSES
    rows = np.arange(len(present)) if rows is None else rows

    def task(first: int, last: int) -> None:
        for r in rows[first:last]:
            on, off, scale, present_columns = absorb_absent(
                model.weights, model.on, model.off, model.hazard, present[r], observed[r]
            )
            out.probabilities[r], linked = on, np.flatnonzero(model.weights[:, present_columns].any(axis=1))
            on = on[linked]
            off = off[linked]
            loads = model.weights[np.ix_(linked, present_columns)]
            hazard = model.hazard[present_columns]
            if len(present_columns) <= max_present or (has_many_causes and count_terms(loads) <= _MAX_TERMS):
                likelihood, joint, error = sum_over_subsets(
                    on, off, loads, hazard, has_many_causes or len(present_columns) <= largest
                )
                if error <= MAX_ERROR:
                    out.probabilities[r, linked] = np.clip(joint / likelihood, 0, 1)
                    out.log_likelihood[r], out.method[r], out.error[r] = scale + np.log(likelihood), QUICKSCORE, error
                    continue
            stream = start_stream(np.uint64(seed), present[r], observed[r])
            is_candidate = _select_candidates(on, off, loads, hazard) if has_many_causes else np.ones(len(on), bool)
            probabilities, log_likelihood, out.error[r] = sample(
                on[is_candidate], off[is_candidate], loads[is_candidate], hazard, stream
            )
            out.probabilities[r, linked[is_candidate]] = probabilities
            log_likelihood += np.log(off[~is_candidate]).sum()
            out.log_likelihood[r], out.method[r] = scale + log_likelihood, SAMPLING

    run_in_chunks(task, len(rows), _ROWS_PER_TASK, n_jobs)


def _select_candidates(on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray) -> np.ndarray:
    """Return the causes that can be on, bool (m,): odds of a cause are largest if no other is on."""
    alone = np.log(-np.expm1(-loads - hazard) / -np.expm1(-hazard)).sum(axis=1)
    return np.asarray(np.log(on / off) + alone > np.log(_MIN_CANDIDATE_ODDS))
