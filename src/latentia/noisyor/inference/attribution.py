"""Attribution of the posteriors of one row to its findings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._parameters import seed_of
from ...exceptions import LatentiaError
from .network import InteriorNetwork, Network, absorb_absent
from .posterior import posteriors
from .records import EPS, SAMPLING, check_flags
from .sampling import MAX_VISITED, list_visited_states, start_stream

_N_LIKELIEST, _N_PAIRED = 256, 32  # configurations whose neighbours, one or two causes away, are added
_FINDINGS_AT_ONCE = 64  # findings removed in one chunk


def attributions(
    network: Network,
    present_row: Any,
    observed_row: Any = None,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Compute how much every finding of one row speaks for every cause, in nats.

    The attribution is logit P[d_k = 1 | x] - logit P[d_k = 1 | x without finding i], positive if the finding speaks for the
    cause. Attributions do not add up to the posterior: findings explain each other away. Probabilities are kept at least the
    rounding error of the row away from 0 and 1. If the row is sampled, both posteriors are sums over the same configurations,
    those that chains visit and their neighbours, so that sampling noise cancels.

    Parameters
    ----------
    network : Network
    present_row : array-like of shape (n,)
    observed_row : array-like of shape (n,), optional
    random_state, n_jobs
        As in `posteriors`.

    Returns
    -------
    ndarray of shape (m, n)
        0 for findings that are not observed.
    """
    row = check_flags(np.atleast_2d(present_row), "present_row", network.n)
    observed = (
        np.ones_like(row)
        if observed_row is None
        else check_flags(np.atleast_2d(observed_row), "observed_row", network.n)
    )
    if len(row) != 1 or len(observed) != 1:
        raise LatentiaError(
            f"present_row has {len(row)} rows and observed_row {len(observed)}; expected one row in each."
        )
    full = posteriors(network, row, observed, random_state=random_state, n_jobs=n_jobs)
    if full.method[0] == SAMPLING:
        return _attribute_by_states(network, row[0], observed[0], seed_of(random_state))
    columns = np.flatnonzero(observed[0])
    masks = np.repeat(observed, len(columns), axis=0)
    masks[np.arange(len(columns)), columns] = False
    reduced = posteriors(network, np.repeat(row, len(columns), axis=0), masks, random_state=random_state, n_jobs=n_jobs)
    logits = [_logits(result.probabilities, np.clip(result.error, EPS, 0.5)[:, None]) for result in (full, reduced)]
    attribution = np.zeros((network.m, network.n))
    attribution[:, columns] = (logits[0] - logits[1]).T
    return attribution


def _logits(probabilities: np.ndarray, min_probability: Any) -> np.ndarray:
    p = np.clip(probabilities, min_probability, 1 - min_probability)
    return np.log(p) - np.log1p(-p)


def _attribute_by_states(network: Network, present: np.ndarray, observed: np.ndarray, seed: int) -> np.ndarray:
    """Compute `attributions` by sums over configurations that chains visit, and neighbours of the likeliest."""
    model = InteriorNetwork.from_network(network)
    on, off, _, present_columns = absorb_absent(model.weights, model.on, model.off, model.hazard, present, observed)
    loads, hazard = np.ascontiguousarray(model.weights[:, present_columns]), model.hazard[present_columns]
    states = list_visited_states(on, off, loads, hazard, start_stream(np.uint64(seed), present, observed), MAX_VISITED)
    states = np.unique(states, axis=0)
    likeliest = states[np.argsort(-_log_joint(states, on, off, loads, hazard), kind="stable")[:_N_LIKELIEST]]
    single_flips = np.eye(network.m, dtype=bool)
    double_flips = (single_flips[:, None] | single_flips)[np.triu_indices(network.m, 1)]
    neighbours = [
        (starts[:, None] ^ flips).reshape(-1, network.m)
        for starts, flips in ((likeliest, single_flips), (likeliest[:_N_PAIRED], double_flips))
    ]
    states = np.unique(np.vstack([states, *neighbours]), axis=0)
    joint, table = _log_joint(states, on, off, loads, hazard), states.astype(float)
    full_logits = _logits(_compute_mean_state(joint[:, None], table), EPS)
    attribution = np.zeros((network.m, network.n))
    columns = np.flatnonzero(observed)
    for chunk in np.array_split(columns, max(1, len(columns) // _FINDINGS_AT_ONCE)):
        load = table @ model.weights[:, chunk] + model.hazard[chunk]
        # Log probability of each finding as it is in the row.
        log_finding = np.where(present[chunk], np.log(-np.expm1(-load)), -load)
        attribution[:, chunk] = (full_logits - _logits(_compute_mean_state(joint[:, None] - log_finding, table), EPS)).T
    return attribution


def _log_joint(
    states: np.ndarray, on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray
) -> np.ndarray:
    """Return log P of configurations (C, m) and the present findings, given the absent ones."""
    table = states.astype(float)
    return table @ np.log(on) + (1 - table) @ np.log(off) + np.log(-np.expm1(-(table @ loads + hazard))).sum(axis=1)


def _compute_mean_state(logs: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return means (L, m) of configurations (C, m), weighted by each column of exp(logs), (C, L)."""
    weights = np.exp(logs - logs.max(axis=0))
    return (weights.T @ table) / weights.sum(axis=0)[:, None]
