"""Attribution of the posteriors of one row to its findings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._parameters import seed_of
from ...exceptions import LatentiaError
from .network import Network, Prepared, absorb
from .posterior import posteriors
from .records import EPS, SAMPLING, as_flags
from .sampling import VISITED, states_visited, stream_of

_LIKELIEST, _PAIRED, _AT_ONCE = 256, 32, 64


def attributions(
    network: Network,
    present_row: Any,
    observed_row: Any = None,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> np.ndarray:
    """How much every finding of one row speaks for every cause: its attribution, in nats.

    It is logit P[d_k = 1 | x] - logit P[d_k = 1 | x without finding i]: positive where the finding speaks for the cause. The
    weights do not add up to the posterior: findings explain each other away. Probabilities nearer to 0 or 1 than
    the rounding error of the row count as that far away. Where rows are sampled, both posteriors are sums over the same
    configurations, those that the chains visit and their neighbours, so that the noise of sampling cancels.

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
    row = as_flags(np.atleast_2d(present_row), "present_row", network.n)
    known = (
        np.ones_like(row) if observed_row is None else as_flags(np.atleast_2d(observed_row), "observed_row", network.n)
    )
    if len(row) != 1 or len(known) != 1:
        raise LatentiaError(
            f"present_row has {len(row)} rows and observed_row {len(known)}: one row is explained at a time."
        )
    whole = posteriors(network, row, known, random_state=random_state, n_jobs=n_jobs)
    if whole.method[0] == SAMPLING:
        return _from_states(network, row[0], known[0], seed_of(random_state))
    columns = np.flatnonzero(known[0])
    without = np.repeat(known, len(columns), axis=0)
    without[np.arange(len(columns)), columns] = False
    less = posteriors(network, np.repeat(row, len(columns), axis=0), without, random_state=random_state, n_jobs=n_jobs)
    logits = [_logits(each.probabilities, np.clip(each.error, EPS, 0.5)[:, None]) for each in (whole, less)]
    found = np.zeros((network.m, network.n))
    found[:, columns] = (logits[0] - logits[1]).T
    return found


def _logits(probabilities: np.ndarray, least: Any) -> np.ndarray:
    p = np.clip(probabilities, least, 1 - least)
    return np.log(p) - np.log1p(-p)


def _from_states(network: Network, present: np.ndarray, observed: np.ndarray, seed: int) -> np.ndarray:
    """`attributions` by sums over configurations that the chains visit, and those one or two causes away from the likeliest."""
    model = Prepared.of(network)
    on, off, _, here = absorb(model.weights, model.on, model.off, model.hazard, present, observed)
    loads, hazard = np.ascontiguousarray(model.weights[:, here]), model.hazard[here]
    states = states_visited(on, off, loads, hazard, stream_of(np.uint64(seed), present, observed), VISITED)
    states = np.unique(states, axis=0)
    likeliest = states[np.argsort(-_log_joint(states, on, off, loads, hazard), kind="stable")[:_LIKELIEST]]
    one = np.eye(network.m, dtype=bool)
    two = (one[:, None] | one)[np.triu_indices(network.m, 1)]
    beside = [
        (some[:, None] ^ flips).reshape(-1, network.m) for some, flips in ((likeliest, one), (likeliest[:_PAIRED], two))
    ]
    states = np.unique(np.vstack([states, *beside]), axis=0)
    joint, table = _log_joint(states, on, off, loads, hazard), states.astype(float)
    whole = _logits(_mean_state(joint[:, None], table), EPS)
    found = np.zeros((network.m, network.n))
    columns = np.flatnonzero(observed)
    for part in np.array_split(columns, max(1, len(columns) // _AT_ONCE)):
        load = table @ model.weights[:, part] + model.hazard[part]
        alone = np.where(present[part], np.log(-np.expm1(-load)), -load)  # log P of each finding as it is
        found[:, part] = (whole - _logits(_mean_state(joint[:, None] - alone, table), EPS)).T
    return found


def _log_joint(
    states: np.ndarray, on: np.ndarray, off: np.ndarray, loads: np.ndarray, hazard: np.ndarray
) -> np.ndarray:
    """log P of configurations (C, m) and the present findings, given the absent ones."""
    table = states.astype(float)
    return table @ np.log(on) + (1 - table) @ np.log(off) + np.log(-np.expm1(-(table @ loads + hazard))).sum(axis=1)


def _mean_state(logs: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Means (L, m) of configurations (C, m), weighted by each column of exp(logs), (C, L)."""
    weights = np.exp(logs - logs.max(axis=0))
    return (weights.T @ table) / weights.sum(axis=0)[:, None]
