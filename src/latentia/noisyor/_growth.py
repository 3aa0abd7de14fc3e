"""Networks grown cause by cause, each cause from the residuals that the causes before it leave in the rows.

Real data may follow no noisy-or network; its moments then fit none, and EM from them ends far below the best likelihood or
with too few causes. This second start does not use moments. Residuals r of findings, given the posteriors of the causes so
far, are measured in standard deviations; the next cause starts from the rows that score highest along the leading eigenvector
of their products. Two causes more than asked for are grown. The least useful ones are dropped again, and the least useful of
the rest is exchanged for a new one as long as the likelihood grows. A few EM steps follow every change. Causes that exclude
each other leave no common residual: short climbs from random strengths are candidates as well, and the likeliest is taken.

Constants were chosen on five tables of 10 to 15 findings (fertil2, twoyear, headInjury, recid and Schooling of the R packages
wooldridge, DAAG and Ecdat). `benchmarks/noisy_or_real_tables.py` shows its effect on ten other tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..likelihood import EStep, normalised, over, refine
from ..passes import Blocks
from ._em import MAX_ENUMERATED, Configurations, NoisyOrUpdate
from ._findings import fill_gaps_with_nan, read_cells
from .inference.network import Network

MAX_GROWN = 10
"""Largest number of causes of a grown network: with the two spare ones, all 4,096 configurations are summed."""

_N_SPARE, _N_EXCHANGES = 2, 6  # spare causes, and exchanges that are tried
_N_RANDOM_STARTS = 12  # random starts up to the next number of causes, and half as many for each further one
_MAX_CAUSES_FOR_ALL = 7  # each further cause doubles the configurations, and the time of a step
_ROUNDS = ((15, 4), (30, 1))  # EM steps of random starts, and the number of them that go on
_N_STEPS = 15  # EM steps after each change; 40 take two to three times as long
_START_PRIOR = 0.1  # prior of a new cause
_MIN_GAIN_PER_ROW = 0.005  # nats a row from which a network counts as clearly likelier
_MAX_CHEAP_CAUSES = 4  # causes up to which exchanges take next to no time
_STRENGTH_RANGE, _LEAK_RANGE = (0.02, 0.95), (1e-4, 0.99)  # ranges of starting values


@dataclass(frozen=True)
class _Rows:
    """Rows in memory.

    Attributes
    ----------
    present, missing : ndarray of shape (n_rows, n)
        Whether each finding is present, 0 or 1, and whether it is unknown.
    e_step : EStep
        A pass over the rows.
    options : dict
        Options of `NoisyOrUpdate`.
    """

    present: np.ndarray
    missing: np.ndarray
    e_step: EStep
    options: dict[str, Any]

    @classmethod
    def from_table(cls, rows: Any, options: dict[str, Any]) -> _Rows:
        blocks = Blocks.from_array(fill_gaps_with_nan(rows))
        return cls(*read_cells(rows), over(blocks), options)

    def climb(self, network: Network, n_steps: int = _N_STEPS) -> Network:
        """Return the network after some steps of EM."""
        update = NoisyOrUpdate.from_network(network, **self.options)
        return update.move_to(*refine(update, self.e_step, n_steps).values).network

    def explain(self, network: Network) -> tuple[np.ndarray, np.ndarray]:
        """Return the chances of findings given the posteriors of the causes, (n_rows, n), and log-likelihoods of rows."""
        configurations = Configurations.enumerate(NoisyOrUpdate.from_network(network))
        log_joint = configurations.log_joint(self.present, self.missing)
        posterior, log_likelihood = normalised(log_joint, np.exp(configurations.log_prior))
        return posterior @ configurations.present, log_likelihood

    def log_likelihood(self, network: Network) -> np.ndarray:
        """Return the log-likelihood of every row, in nats."""
        return self.explain(network)[1]

    def compute_score(self, network: Network) -> float:
        """Return the mean log-likelihood of the rows, less a nat for each link and prior: an estimate for new rows."""
        return float(self.log_likelihood(network).sum() - network.n_links - network.m) / len(self.present)


def choose_start(network: Network, rows: Any, prior: float | None, **options: Any) -> tuple[Network, bool]:
    """Return the network, or a grown one if that is clearly likelier, and whether it is the grown one.

    With more than four causes, exchanges are tried only if the grown network is likelier already. That saves time: on data
    that follow a network, both starts lead to the same optimum.

    Parameters
    ----------
    network : Network
        Network of at most `MAX_GROWN` causes.
    rows : table of 0, 1 and NaN, shape (n_rows, n)
    prior : float, optional
        P(cause on), if it is given.
    options
        Options of `NoisyOrUpdate`.
    """
    n_causes, start_prior = network.m, prior or _START_PRIOR
    table = _Rows.from_table(rows, options)
    min_score = table.compute_score(table.climb(network)) + _MIN_GAIN_PER_ROW
    grown = table.climb(_start_network(table, start_prior))
    while grown.m < n_causes:
        grown = table.climb(_add_cause(grown, table, start_prior))
    best = max((grown, *_climb_from_random_strengths(n_causes, table, prior)), key=table.compute_score)
    if n_causes > _MAX_CHEAP_CAUSES and table.compute_score(best) <= min_score:
        return network, False
    best = _exchange_causes(best, table, start_prior)
    return (best, True) if table.compute_score(best) > min_score else (network, False)


def _climb_from_random_strengths(n_causes: int, table: _Rows, prior: float | None) -> list[Network]:
    """Return the ends of short climbs from random strengths, with half of the frequencies as leaks."""
    n_known = (~table.missing).sum(axis=0)
    leak = np.clip(table.present.sum(axis=0) / np.maximum(n_known, 1) / 2, *_LEAK_RANGE)
    rng, shape = np.random.default_rng(0), (n_causes, len(leak))
    n_starts = _N_RANDOM_STARTS >> max(n_causes - _MAX_CAUSES_FOR_ALL, 0)
    weights = (-np.log1p(-rng.uniform(0, _STRENGTH_RANGE[1], shape)) for _ in range(n_starts))
    priors = np.full(n_causes, prior or 1 / (n_causes + 1))
    networks = [Network(start, priors, leak) for start in weights]
    for n_steps, n_best in _ROUNDS:
        networks = [table.climb(network, n_steps) for network in networks]
        networks = sorted(networks, key=table.compute_score, reverse=True)[:n_best]
    return networks


def _exchange_causes(network: Network, table: _Rows, prior: float) -> Network:
    """Grow and drop two more causes, then exchange causes one by one; return the likeliest network."""
    start, n_causes, n_failed = network, network.m, 0
    for _ in range(_N_SPARE if n_causes <= MAX_ENUMERATED else 0):
        network = table.climb(_add_cause(network, table, prior))
    while network.m > n_causes:
        network = table.climb(_drop_each_cause(network, table)[0])
    for _ in range(_N_EXCHANGES if n_causes > 1 else 0):
        smaller = _drop_each_cause(network, table)
        dropped = table.climb(smaller[min(n_failed, len(smaller) - 1)])
        exchanged = table.climb(table.climb(_add_cause(dropped, table, prior)))
        if table.log_likelihood(exchanged).mean() > table.log_likelihood(network).mean():
            network, n_failed = exchanged, 0
        else:
            n_failed += 1
    return max(start, network, key=lambda network: float(table.log_likelihood(network).mean()))


def _start_network(table: _Rows, prior: float) -> Network:
    n_known = (~table.missing).sum(axis=0)
    frequencies = np.tile(table.present.sum(axis=0) / np.maximum(n_known, 1), (len(table.present), 1))
    strengths, leak = _propose_cause(table, frequencies, prior)
    return Network(-np.log1p(-strengths)[None], np.array([prior]), np.clip(leak, *_LEAK_RANGE))


def _add_cause(network: Network, table: _Rows, prior: float) -> Network:
    strengths, _ = _propose_cause(table, table.explain(network)[0], prior)
    weights = np.vstack([network.weights, -np.log1p(-strengths)])
    return Network(weights, np.append(network.priors, prior), network.leak)


def _propose_cause(table: _Rows, chances: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Return strengths of a cause that is on in the rows with the largest common residual, and rates in the other rows."""
    deviations = np.sqrt(np.maximum((chances * (1 - chances)).mean(axis=0), 1e-6))
    residuals = np.where(table.missing, 0.0, table.present - chances) / deviations
    products = residuals.T @ residuals
    np.fill_diagonal(products, 0.0)
    direction = np.linalg.eigh(products)[1][:, -1]
    direction = direction if (direction**3).sum() > 0 else -direction
    scores = residuals @ np.maximum(direction, 0.0)
    is_on = scores >= np.quantile(scores, 1 - prior)
    is_known = ~table.missing
    rates = [table.present[rows].sum(axis=0) / np.maximum(is_known[rows].sum(axis=0), 1) for rows in (is_on, ~is_on)]
    return np.clip(1 - (1 - rates[0]) / np.maximum(1 - rates[1], 1e-3), *_STRENGTH_RANGE), rates[1]


def _drop_each_cause(network: Network, table: _Rows) -> list[Network]:
    """Return the networks with one cause less, the likeliest first; the leak takes over the cause's average effect."""
    networks = []
    for k in range(network.m):
        remaining = np.arange(network.m) != k
        silent = 1 - network.priors[k] * -np.expm1(-network.weights[k])
        leak = np.clip(1 - (1 - network.leak) * silent, *_LEAK_RANGE)
        networks.append(Network(network.weights[remaining], network.priors[remaining], leak))
    return sorted(networks, key=lambda network: -float(table.log_likelihood(network).mean()))
