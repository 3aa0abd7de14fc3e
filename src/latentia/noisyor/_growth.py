"""Networks grown cause by cause, each from what the causes before it leave unexplained in the rows.

Moments of data that no noisy-or network has made may fit none, and EM from them then ends far below the best likelihood, or
with fewer causes than were asked for. A second start does not use them: with r the residuals of findings, in standard
deviations, given the posteriors of the causes so far, the next cause is started from the rows that score highest along the
leading eigenvector of the residuals' products. Two causes more than were asked for are grown; those that cost least are taken
out again, and the cheapest is exchanged for a new one as long as that is likelier. A few steps of EM follow every change.

Constants were chosen on five tables of 10 to 15 findings (fertil2, twoyear, headInjury, recid and Schooling of the R packages
wooldridge, DAAG and Ecdat). What the start brings on ten other tables is in `benchmarks/noisy_or_real_tables.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..likelihood import EStep, normalised, over, refine
from ..passes import Blocks
from ._em import MOST_ENUMERATED, Configurations, NoisyOrUpdate
from ._findings import cells_of, rows_with_nan
from .inference.network import Network

MOST_GROWN = 10
"""Causes up to which a network is grown: two more have 4,096 configurations, which are all summed."""

_N_SPARE, _N_EXCHANGES = 2, 6
_N_STEPS = 15  # of EM after each change; 40 take two to three times as long
_PRIOR = 0.1  # where a cause starts
_CLEAR = 0.005  # nats a row by which one network is clearly likelier than another
_FEW = 4  # causes whose exchange costs next to nothing
_STRENGTHS, _LEAKS = (0.02, 0.95), (1e-4, 0.99)


@dataclass(frozen=True)
class _Rows:
    """Rows in memory.

    Attributes
    ----------
    present, missing : ndarray of shape (n_rows, n)
        Whether each finding is present, as numbers, and whether it is unknown.
    e_step : EStep
        A pass over them.
    options : dict
        Of `NoisyOrUpdate`.
    """

    present: np.ndarray
    missing: np.ndarray
    e_step: EStep
    options: dict[str, Any]

    @classmethod
    def of(cls, rows: Any, options: dict[str, Any]) -> _Rows:
        blocks = Blocks.from_array(rows_with_nan(rows))
        return cls(*cells_of(rows), over(blocks), options)

    def climbed(self, network: Network) -> Network:
        """Return the network after some steps of EM."""
        update = NoisyOrUpdate.of(network, **self.options)
        return update.at(*refine(update, self.e_step, _N_STEPS).values).network

    def explained(self, network: Network) -> tuple[np.ndarray, np.ndarray]:
        """Return the chances of findings given the posteriors of the causes, (n_rows, n), and log-likelihoods of rows."""
        configurations = Configurations.of(NoisyOrUpdate.of(network))
        log_joint = configurations.log_joint(self.present, self.missing)
        posterior, log_likelihood = normalised(log_joint, np.exp(configurations.log_prior))
        return posterior @ configurations.present, log_likelihood

    def log_likelihood(self, network: Network) -> np.ndarray:
        """Return that of every row, in nats."""
        return self.explained(network)[1]

    def charged(self, network: Network) -> float:
        """Return the mean log-likelihood of the rows less a nat for each link and prior, as other rows would have it."""
        n_parameters = np.count_nonzero(network.weights) + network.m
        return float(self.log_likelihood(network).sum() - n_parameters) / len(self.present)


def likelier_start(network: Network, rows: Any, prior: float | None, **options: Any) -> tuple[Network, bool]:
    """Return the network, or a grown one if that is clearly likelier, with a nat for each parameter, and whether it is that.

    Causes of more than four are exchanged only where a network that is merely grown is likelier already, which saves time:
    data that a network has made has one optimum for both starts.

    Parameters
    ----------
    network : Network
        Of at most `MOST_GROWN` causes.
    rows : table of 0, 1 and NaN, shape (n_rows, n)
    prior : float, optional
        P(cause on), where it is given.
    options
        Of `NoisyOrUpdate`.
    """
    n_causes, start = network.m, prior or _PRIOR
    table = _Rows.of(rows, options)
    least = table.charged(table.climbed(network)) + _CLEAR
    grown = table.climbed(_first_cause(table, start))
    while grown.m < n_causes:
        grown = table.climbed(_with_cause(grown, table, start))
    if n_causes > _FEW and table.charged(grown) <= least:
        return network, False
    grown = _exchanged(grown, table, start)
    return (grown, True) if table.charged(grown) > least else (network, False)


def _exchanged(network: Network, table: _Rows, prior: float) -> Network:
    """Return a likelier network of as many causes: two more are grown and dropped, then some are exchanged one by one."""
    first, n_causes, n_failed = network, network.m, 0
    for _ in range(_N_SPARE if n_causes <= MOST_ENUMERATED else 0):
        network = table.climbed(_with_cause(network, table, prior))
    while network.m > n_causes:
        network = table.climbed(_smaller(network, table)[0])
    for _ in range(_N_EXCHANGES if n_causes > 1 else 0):
        smaller = _smaller(network, table)
        fewer = table.climbed(smaller[min(n_failed, len(smaller) - 1)])
        other = table.climbed(table.climbed(_with_cause(fewer, table, prior)))
        if table.log_likelihood(other).mean() > table.log_likelihood(network).mean():
            network, n_failed = other, 0
        else:
            n_failed += 1
    return max(first, network, key=lambda one: float(table.log_likelihood(one).mean()))


def _first_cause(table: _Rows, prior: float) -> Network:
    known = (~table.missing).sum(axis=0)
    frequency = np.tile(table.present.sum(axis=0) / np.maximum(known, 1), (len(table.present), 1))
    strengths, leak = _next_cause(table, frequency, prior)
    return Network(-np.log1p(-strengths)[None], np.array([prior]), np.clip(leak, *_LEAKS))


def _with_cause(network: Network, table: _Rows, prior: float) -> Network:
    strengths, _ = _next_cause(table, table.explained(network)[0], prior)
    weights = np.vstack([network.weights, -np.log1p(-strengths)])
    return Network(weights, np.append(network.priors, prior), network.leak)


def _next_cause(table: _Rows, chances: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Return strengths of the cause that is on in the rows with the largest common residual, and rates in the others."""
    deviation = np.sqrt(np.maximum((chances * (1 - chances)).mean(axis=0), 1e-6))
    residuals = np.where(table.missing, 0.0, table.present - chances) / deviation
    products = residuals.T @ residuals
    np.fill_diagonal(products, 0.0)
    direction = np.linalg.eigh(products)[1][:, -1]
    direction = direction if (direction**3).sum() > 0 else -direction
    scores = residuals @ np.maximum(direction, 0.0)
    is_on = scores >= np.quantile(scores, 1 - prior)
    known = ~table.missing
    rates = [table.present[rows].sum(axis=0) / np.maximum(known[rows].sum(axis=0), 1) for rows in (is_on, ~is_on)]
    return np.clip(1 - (1 - rates[0]) / np.maximum(1 - rates[1], 1e-3), *_STRENGTHS), rates[1]


def _smaller(network: Network, table: _Rows) -> list[Network]:
    """Return the networks with one cause less, the likeliest first; the leak takes what the cause did on average."""
    smaller = []
    for k in range(network.m):
        others = np.arange(network.m) != k
        silent = 1 - network.priors[k] * -np.expm1(-network.weights[k])
        leak = np.clip(1 - (1 - network.leak) * silent, *_LEAKS)
        smaller.append(Network(network.weights[others], network.priors[others], leak))
    return sorted(smaller, key=lambda one: -float(table.log_likelihood(one).mean()))
