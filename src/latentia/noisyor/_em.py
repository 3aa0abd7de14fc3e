"""Expectation maximisation for noisy-or networks, over configurations with few causes on.

A finding is present if a cause that is on, or the leak, triggers it: cause k with probability q_ki = 1 - exp(-W_ki). Given
the data, configuration d has posterior p(d | x), and the expected number of rows in which k is on and triggers i is

    q_ki sum_x x_i sum_(d with k on) p(d | x) / P(s_i = 1 | d),

the leak being a cause that is always on. New q are these numbers over the expected number of rows with k on. The sum runs
over all 2^m configurations where there are at most 4,096, and else over those with few enough causes on.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from ..moments import binary_rows
from ..passes import Block
from ._posterior import Network

__all__ = ["NoisyOrUpdate", "configurations", "left_out"]

_MOST = 4096
_CHUNK_ENTRIES, _LEAST_CHUNK = 1 << 19, 128  # of posteriors: 4 MB
_LEAST_LEAK = 1e-3  # a leak of zero would stay zero
_LEAST = 1e-12


def configurations(n_causes: int) -> np.ndarray:
    """Sets of causes that are on, the smallest first, as rows of bool: at most 4,096, or those with one on at most."""
    most_on, total = 0, 1
    while most_on < n_causes and (most_on == 0 or total + comb(n_causes, most_on + 1) <= _MOST):
        most_on += 1
        total += comb(n_causes, most_on)
    table = np.zeros((total, n_causes), bool)
    sets = (chosen for size in range(most_on + 1) for chosen in combinations(range(n_causes), size))
    for row, chosen in zip(table, sets, strict=True):
        row[list(chosen)] = True
    return table


def left_out(priors: np.ndarray, table: np.ndarray) -> float:
    """Share of the rows in which more causes are on than in any configuration of the table, by the priors."""
    number = np.ones(1)
    for prior in priors:
        number = np.convolve(number, [1 - prior, prior])
    return float(number[int(table.sum(axis=1).max()) + 1 :].sum())


class _Sums(NamedTuple):
    rows: int
    log_likelihood: float
    configurations: np.ndarray
    present: np.ndarray


class NoisyOrUpdate:
    """Statistic of one step, over blocks of rows of 0 and 1.

    Parameters
    ----------
    network : Network
    table : ndarray of bool, shape (C, m)
        Configurations.
    fixed_prior : bool
        Keep the priors.
    max_weight : float
        Largest weight after the step.
    """

    def __init__(self, network: Network, table: np.ndarray, fixed_prior: bool, max_weight: float) -> None:
        self._network, self._table = network, table.astype(float)
        self._fixed_prior, self._strongest = fixed_prior, -np.expm1(-max_weight)
        self._leak = np.clip(network.leak, _LEAST_LEAK, 1 - _LEAST_LEAK)
        silent = self._table @ network.weights - np.log1p(-self._leak)
        self._present = np.maximum(-np.expm1(-silent), _LEAST)
        self._slope = np.log(self._present) + silent
        priors = np.clip(network.priors, _LEAST, 1 - _LEAST)
        self._base = self._table @ (np.log(priors) - np.log1p(-priors)) + np.log1p(-priors).sum() - silent.sum(axis=1)

    def zero(self) -> _Sums:
        return _Sums(0, 0.0, np.zeros(len(self._table)), np.zeros_like(self._slope))

    def add(self, state: _Sums, block: Block) -> _Sums:
        n_rows = block[0].shape[0]
        rows, log_likelihood, mass, present = state
        step = max(_LEAST_CHUNK, _CHUNK_ENTRIES // len(self._table))
        for start in range(0, n_rows, step):
            X = binary_rows(block[0][start : start + step], block.rows[start : start + step]).astype(float)
            posterior = X @ self._slope.T
            posterior += self._base
            largest = posterior.max(axis=1, keepdims=True)
            np.exp(np.subtract(posterior, largest, out=posterior), out=posterior)
            total = posterior.sum(axis=1, keepdims=True)
            posterior /= total
            log_likelihood += float((np.log(total) + largest).sum())
            mass += posterior.sum(axis=0)
            present += posterior.T @ X
        return _Sums(rows + n_rows, log_likelihood, mass, present)

    def merge(self, first: _Sums, second: _Sums) -> _Sums:
        return _Sums(
            first.rows + second.rows,
            first.log_likelihood + second.log_likelihood,
            first.configurations + second.configurations,
            first.present + second.present,
        )

    def updated(self, state: Any) -> Network:
        """The network after the step."""
        triggered = state.present / self._present
        on = self._table.T @ state.configurations
        strengths = -np.expm1(-self._network.weights) * (self._table.T @ triggered) / np.maximum(on, _LEAST)[:, None]
        leak = self._leak * triggered.sum(axis=0) / state.rows
        weights = -np.log1p(-np.clip(strengths, 0.0, self._strongest))
        priors = self._network.priors if self._fixed_prior else on / state.rows
        return Network(weights, priors, np.clip(leak, 0.0, 1.0))
