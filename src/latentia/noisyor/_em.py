"""Expectation maximisation for noisy-or networks, over the likely configurations of each row.

A finding is present if a cause that is on, or the leak, triggers it: cause k with probability F_ki = 1 - exp(-W_ki). Given
the data, configuration d has posterior p(d | x), and the expected number of rows in which k is on and triggers i is

    F_ki sum_x x_i sum_(d with k on) p(d | x) / P(s_i = 1 | d),

the leak being a cause that is always on. New F are these numbers over the expected number of rows with k on. Up to 8 causes
the sum runs over all configurations; with more, over the likely ones of each row, which are searched for anew in every step
(`latentia.noisyor.inference.search`). The likelihood of a step is then that of these configurations, a lower bound.

Weights below .01 are set to zero, and a leak has half a row in 50 before the data: were one zero, a single row that no cause
explains would be impossible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from ..likelihood import Chances, EStep, Expected, Refine, Refinement, Update, Values, refine
from ..likelihood.rows import merged, normalised
from ..moments import binary_rows, present_findings
from ..passes import Block
from .inference.network import Network
from .inference.search import MOST_FOUND, configurations_of_row, likely_causes, log_fired

__all__ = [
    "LEAST_GAIN",
    "MOST_CROWDED",
    "MOST_ENUMERATED",
    "NoisyOrSums",
    "NoisyOrUpdate",
    "RefinedNetwork",
    "refined_network",
]

MOST_ENUMERATED = 8  # causes: 256 configurations
_CHUNK_ENTRIES = 1 << 19  # of posteriors: 4 MB
_LEAST_WEIGHT = 0.01
_LEAK_PRIOR = 0.5, 50.5  # rows in which it acts, and all
_LEAST, _LEAST_LEAK = 1e-12, 1e-9
_MOST_STEPS = 30
LEAST_GAIN = 0.01  # nats a parameter that a step gains: the best value of one gains half a nat over the true one
MOST_CROWDED = 0.3  # of the rows


@dataclass
class NoisyOrSums:
    """Sums over rows of one E-step.

    Attributes
    ----------
    on : ndarray of shape (m,)
        Expected rows in which each cause is on.
    explained : ndarray of shape (m + 1, n)
        Sums of x_i p(k on) / P(s_i = 1), the last row for the leak: times F_ki, the rows in which k triggers i.
    log_likelihood : float
        In nats.
    n_rows : int
    n_crowded : int
        Rows that have more likely configurations than were kept.
    """

    on: np.ndarray
    explained: np.ndarray
    log_likelihood: float = 0.0
    n_rows: int = 0
    n_crowded: int = 0


class NoisyOrUpdate:
    """Statistic of one E-step, over blocks of rows of 0 and 1.

    Parameters
    ----------
    strengths : ndarray of shape (m, n)
        F.
    leak : ndarray of shape (n,)
    priors : ndarray of shape (m,)
    fixed_prior : bool
        Keep the priors.
    max_weight : float
        Largest weight after the step.
    enumerate_all : bool, optional
        Sum over all configurations of the causes instead of the likely ones of each row; by default with at most 8 causes.
    """

    def __init__(
        self,
        strengths: np.ndarray,
        leak: np.ndarray,
        priors: np.ndarray,
        *,
        fixed_prior: bool = False,
        max_weight: float = np.inf,
        enumerate_all: bool | None = None,
    ) -> None:
        self.fixed_prior, self.max_weight = fixed_prior, max_weight
        self.enumerate_all = len(priors) <= MOST_ENUMERATED if enumerate_all is None else enumerate_all
        self.strengths = np.where(strengths < -np.expm1(-_LEAST_WEIGHT), 0.0, strengths)
        self.leak = np.clip(leak, _LEAST_LEAK, 1 - _LEAST_LEAK)
        self.priors = np.clip(priors, _LEAST, 1 - _LEAST)

    @classmethod
    def of(cls, network: Network, **options: Any) -> NoisyOrUpdate:
        """The update at a network, with the options of the class."""
        return cls(-np.expm1(-network.weights), network.leak, network.priors, **options)

    @property
    def values(self) -> Values:
        return (self.strengths, self.leak) if self.fixed_prior else (self.strengths, self.leak, self.priors)

    def at(self, *values: np.ndarray) -> NoisyOrUpdate:
        strengths, leak, *priors = values
        options: dict[str, Any] = {"fixed_prior": self.fixed_prior, "max_weight": self.max_weight}
        options["enumerate_all"] = self.enumerate_all
        return NoisyOrUpdate(strengths, leak, *(priors or [self.priors]), **options)

    @property
    def network(self) -> Network:
        """The network, the most frequent cause first."""
        order = np.argsort(-self.priors, kind="stable")
        return Network(-np.log1p(-self.strengths[order]), self.priors[order], self.leak)

    def zero(self) -> NoisyOrSums:
        m, n = self.strengths.shape
        return NoisyOrSums(np.zeros(m), np.zeros((m + 1, n)))

    def add(self, state: NoisyOrSums, block: Block) -> NoisyOrSums:
        if self.enumerate_all:
            _add_all(self, state, block)
        else:
            _add_likely(self, state, block)
        state.n_rows += block[0].shape[0]
        return state

    def merge(self, first: NoisyOrSums, second: NoisyOrSums) -> NoisyOrSums:
        return merged(first, second)

    def expected(self, sums: NoisyOrSums) -> tuple[Expected, ...]:
        triggered = self.strengths * sums.explained[:-1]
        strengths = Chances(self.strengths, triggered, sums.on[:, None], high=-float(np.expm1(-self.max_weight)))
        leak = Chances(self.leak, self.leak * sums.explained[-1], np.array(sums.n_rows), _LEAK_PRIOR, low=_LEAST_LEAK)
        priors = Chances(self.priors, sums.on, np.array(sums.n_rows))
        return (strengths, leak) if self.fixed_prior else (strengths, leak, priors)


@dataclass(frozen=True)
class RefinedNetwork:
    """A network, and the EM that it comes from.

    Attributes
    ----------
    network : Network
    refinement : Refinement
        Without values.
    n_steps : int
        Steps that the network has made: none where the first E-step said that EM would be biased.
    crowded : float
        Share of the rows that have more likely configurations than a step sums over, in the last E-step.
    """

    network: Network
    refinement: Refinement
    n_steps: int = 0
    crowded: float = 0.0

    @property
    def last_gain(self) -> float | None:
        """Nats a parameter that the last step gained; None after less than two."""
        if self.n_steps < 2:
            return None
        last = self.refinement.log_likelihood[-2:]
        n_parameters = np.count_nonzero(self.network.weights) + self.network.m + self.network.n
        return float(last[1] - last[0]) / n_parameters


def refined_network(network: Network, e_step: EStep, steps: Refine, **options: Any) -> RefinedNetwork:
    """The network after EM; ``options`` are those of `NoisyOrUpdate`.

    With "auto" plain steps are made until one gains less than .01 nats a parameter, 30 at most, and none if the first
    E-step finds more than 30% of the rows crowded. Steps that are accelerated do not settle, since the likely configurations
    are others at every point, and would not be better: past this many the error hardly falls.
    """
    update, crowded = NoisyOrUpdate.of(network, **options), [0.0]

    def counted(update: Update, number: int) -> NoisyOrSums:
        sums = e_step(update, number)
        crowded.append(sums.n_crowded / max(sums.n_rows, 1))
        return sums

    if steps != "auto":
        found = refine(update, counted, steps)
        network = update.at(*found.values).network if steps else network
        return RefinedNetwork(network, _without_values(found.log_likelihood), steps, crowded[-1])
    enough = LEAST_GAIN * (np.count_nonzero(update.strengths) + len(update.leak) + len(update.priors))
    log_likelihood: list[float] = []
    for number in range(1, _MOST_STEPS + 1):
        step = refine(update, partial(_numbered, counted, number), 1)
        log_likelihood.append(float(step.log_likelihood[0]))
        if crowded[1] > MOST_CROWDED:
            return RefinedNetwork(network, _without_values(log_likelihood), 0, crowded[1])
        update = update.at(*step.values)
        if number > 1 and log_likelihood[-1] - log_likelihood[-2] < enough:
            break
    return RefinedNetwork(update.network, _without_values(log_likelihood), number, crowded[-1])


def _numbered(e_step: EStep, number: int, update: Update, _: int) -> Any:
    return e_step(update, number)


def _without_values(log_likelihood: Any) -> Refinement:
    return Refinement((), np.array(log_likelihood), False, float("nan"))


def _add_all(update: NoisyOrUpdate, state: NoisyOrSums, block: Block) -> None:
    """Add rows, by sums over all configurations."""
    m = len(update.priors)
    table = (np.arange(1 << m)[:, None] >> np.arange(m) & 1).astype(float)
    silent = -(table @ np.log1p(-update.strengths)) - np.log1p(-update.leak)
    present = -np.expm1(-silent)
    slope = np.log(present) + silent
    odds = np.log(update.priors) - np.log1p(-update.priors)
    base = table @ odds + np.log1p(-update.priors).sum() - silent.sum(axis=1)
    mass, found = np.zeros(len(table)), np.zeros_like(slope)
    step = _CHUNK_ENTRIES // len(table)
    for start in range(0, block[0].shape[0], step):
        X = binary_rows(block[0][start : start + step], block.rows[start : start + step]).astype(float)
        posterior, log_likelihood = normalised(X @ slope.T + base, mass)
        mass += posterior.sum(axis=0)
        found += posterior.T @ X
        state.log_likelihood += float(log_likelihood.sum())
    found /= present
    state.on += table.T @ mass
    state.explained[:-1] += table.T @ found
    state.explained[-1] += found.sum(axis=0)


def _add_likely(update: NoisyOrUpdate, state: NoisyOrSums, block: Block) -> None:
    """Add rows, by sums over the likely configurations of each."""
    kept = 1 - update.strengths
    silent, loads = 1 - update.leak, -np.log(kept)
    # What a present finding adds to the gain of a cause beside the empty set.
    gains = np.ascontiguousarray((loads + np.log1p(-silent * kept) - np.log(update.leak)).T)
    base = np.log(update.priors) - np.log1p(-update.priors) - loads.sum(axis=1)
    rows = present_findings(block[0])
    model = gains, np.ascontiguousarray(loads.T), base, kept, silent
    log_likelihood, n_crowded = _add_rows(*rows, *model, state.on, state.explained)
    empty = np.log1p(-update.priors).sum() + np.log(silent).sum()
    odds = np.log(update.leak) - np.log(silent)
    state.log_likelihood += log_likelihood + block[0].shape[0] * float(empty) + float(odds[rows[1]].sum())
    state.n_crowded += n_crowded


@njit(nogil=True, cache=True)
def _add_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    gains: np.ndarray,
    loads: np.ndarray,
    base: np.ndarray,
    kept: np.ndarray,
    silent: np.ndarray,
    on: np.ndarray,
    explained: np.ndarray,
) -> tuple[float, int]:  # pragma: no cover - compiled
    """Log-likelihood relative to the empty configuration, and rows with more configurations than were kept.

    ``gains`` and ``loads`` (n, m): what a present finding adds to the gains beside the empty set, and to ``base`` (m,), which
    is that of a row without findings; ``kept`` (m, n), ``silent`` (n,).
    """
    m, total, n_crowded = len(base), 0.0, 0
    masks, logs, alone, own = np.empty(MOST_FOUND, np.int64), np.empty(MOST_FOUND), np.empty(m), np.empty(m)
    for r in range(len(indptr) - 1):
        present = indices[indptr[r] : indptr[r + 1]]
        alone[:], own[:] = base, base
        for i in present:
            for k in range(m):
                alone[k] += gains[i, k]
                own[k] += loads[i, k]
        causes = likely_causes(alone)
        n, crowded = configurations_of_row(alone, own, kept, silent, causes, present, masks, logs)
        n_crowded += crowded
        highest, mass, off = logs[:n].max(), 0.0, np.empty(len(present))
        for x in range(n):
            mass += np.exp(logs[x] - highest)
        total += highest + np.log(mass)
        for x in range(n):
            share = np.exp(logs[x] - highest) / mass
            log_fired(masks[x], kept, silent, causes, present, off)
            for j, i in enumerate(present):
                explained[m, i] += share / (1.0 - off[j])
            for a, k in enumerate(causes):
                if masks[x] >> a & 1:
                    on[k] += share
                    for j, i in enumerate(present):
                        explained[k, i] += share / (1.0 - off[j])
    return total, n_crowded
