"""Expectation maximisation for noisy-or networks, over the likely configurations of each row.

A finding is present if a cause that is on, or the leak, triggers it: cause k with probability F_ki = 1 - exp(-W_ki). Given
the data, configuration d has posterior p(d | x), and the expected number of rows in which k is on and triggers i is

    T_ki = F_ki sum_x x_i sum_(d with k on) p(d | x) / P(s_i = 1 | d),

the leak being a cause that is always on. New F are these numbers over N_k, the expected number of rows with k on. Up to 8
causes the sum runs over all configurations; with more, over the likely ones of each row, which are searched for anew in every
step (`latentia.noisyor.inference.search`). The likelihood of a step is then that of these configurations, a lower bound.

A strength of zero has estimates above zero half of the time, and a network of few links then has thousands that are noise.
Were F_ki zero, T_ki would have a variance of about C_ki / (1 - b), C_ki being the expected number of rows with both k and i,
and b the share of rows with k on that have i without its help. A link stays where T_ki^2 (1 - b) / C_ki is at least 2, that
is where it improves the prediction of other rows (Akaike). The others are set to zero, and EM goes on without them.

Findings that are not known in a row are summed out: they say nothing of its causes, and N_k of such a finding is without the
row.

A leak has half a row in 50 before the data: were one zero, a single row that no cause explains would be impossible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit

from ..likelihood import Chances, EStep, Expected, Refine, Refinement, Values, estimate_values, refine
from ..likelihood.rows import normalised
from ..passes import Block
from ._findings import missing_findings, present_findings, rows_with_gaps
from .inference.network import Network
from .inference.search import Likely, SearchModel, fire, likely_configurations, most_links, own_links

MOST_ENUMERATED = 8  # causes: 256 configurations
_CHUNK_ENTRIES = 1 << 19  # of posteriors: 4 MB
_SEARCHED = 4096  # rows at once: 8 MB of configurations
_LEAST_SUPPORT = 2.0  # of a link, in squares of its standard error
_LEAK_PRIOR = 0.5, 50.5  # rows in which it acts, and all
_LEAST, _LEAST_LEAK = 1e-12, 1e-9
LEAST_GAIN = 0.01  # nats a parameter that further steps gain: the best value of one gains half a nat over the true one
_PATIENCE = 5  # such gains in a row, after which steps end: the likelihood is a bound where rows have many explanations
_FEW = 60  # causes, and the same with more of them, whose rows are many and have hardly more than one
_LESS_PATIENCE = 2
MOST_CROWDED = 0.3  # of the rows


@dataclass
class NoisyOrSums:
    """Sums over rows of one E-step.

    Attributes
    ----------
    on : ndarray of shape (m,)
        Expected rows in which each cause is on.
    explained : ndarray of shape (m + 1, n)
        Sums of x_i p(k on) / P(s_i = 1), the last row for the leak: T_ki / F_ki.
    together : ndarray of shape (m, n)
        Expected rows in which cause k is on and finding i present, C_ki.
    unknown : ndarray of shape (m + 1, n), or (m + 1, 1) where all are known
        Expected rows in which cause k is on and finding i not known, the last row for the leak.
    log_likelihood : float
        In nats.
    n_rows : int
    n_crowded : int
        Rows that have more likely configurations than were kept.
    """

    on: np.ndarray
    explained: np.ndarray
    together: np.ndarray
    unknown: np.ndarray
    log_likelihood: float = 0.0
    n_rows: int = 0
    n_crowded: int = 0

    @property
    def crowded(self) -> float:
        """Share of the rows that have more."""
        return self.n_crowded / max(self.n_rows, 1)

    @property
    def known(self) -> np.ndarray:
        """Expected rows in which cause k is on and finding i known, (m, n)."""
        return self.on[:, None] - self.unknown[:-1]


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
        self.strengths = np.minimum(strengths, 1 - _LEAST)
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

    def supported(self, sums: NoisyOrSums) -> np.ndarray:
        """Which links the sums of a pass at these values support, bool (m, n)."""
        triggered = self.strengths * sums.explained[:-1]
        without = (sums.together - triggered) / np.maximum(sums.known, _LEAST)
        return (triggered > 0) & (triggered**2 * (1 - without) >= _LEAST_SUPPORT * sums.together)

    def with_links(self, chosen: np.ndarray) -> NoisyOrUpdate:
        """The same update with some of its links, bool (m, n); the strengths of the others are zero for good."""
        strengths, *others = self.values
        return self.at(np.where(chosen, strengths, 0.0), *others)

    @property
    def n_parameters(self) -> int:
        """Strengths that are not zero, leaks, and priors that are estimated."""
        return int(np.count_nonzero(self.strengths)) + sum(value.size for value in self.values[1:])

    @property
    def network(self) -> Network:
        """The network, the most frequent cause first."""
        order = np.argsort(-self.priors, kind="stable")
        return Network(-np.log1p(-self.strengths[order]), self.priors[order], self.leak)

    @cached_property
    def model(self) -> SearchModel:
        """What likely configurations are searched with."""
        return SearchModel.of(self.strengths, self.leak, self.priors)

    def likely(self, *lists: np.ndarray) -> Likely:
        """Likely configurations of rows, given as lists of the findings that are present, and of those that are not known."""
        return likely_configurations(self.model, *lists)

    def zero(self) -> NoisyOrSums:
        m, n = self.strengths.shape
        return NoisyOrSums(np.zeros(m), np.zeros((m + 1, n)), np.zeros((m, n)), np.zeros((m + 1, 1)))

    def add(self, state: NoisyOrSums, block: Block) -> NoisyOrSums:
        if self.enumerate_all:
            _add_all(self, state, block)
        else:
            _add_likely(self, state, block)
        state.n_rows += block[0].shape[0]
        return state

    def merge(self, first: NoisyOrSums, second: NoisyOrSums) -> NoisyOrSums:
        for sums, others in ((first.explained, second.explained), (first.together, second.together)):
            sums += others  # in place: with hundreds of causes most of a pass would go into new arrays
        return replace(
            first,
            on=first.on + second.on,
            unknown=first.unknown + second.unknown,
            log_likelihood=first.log_likelihood + second.log_likelihood,
            n_rows=first.n_rows + second.n_rows,
            n_crowded=first.n_crowded + second.n_crowded,
        )

    def expected(self, sums: NoisyOrSums) -> tuple[Expected, ...]:
        triggered = self.strengths * sums.explained[:-1]
        strengths = Chances(self.strengths, triggered, sums.known, high=-float(np.expm1(-self.max_weight)))
        rows = sums.n_rows - sums.unknown[-1]
        leak = Chances(self.leak, self.leak * sums.explained[-1], rows, _LEAK_PRIOR, low=_LEAST_LEAK)
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
    refused : bool
        Whether the first E-step said that EM would be biased, so that the network is the one that was given.
    crowded : float
        Share of the rows that have more likely configurations than a step sums over, in the last E-step that counted them.
    before : Network or None
        What EM ended at, where independent findings were likelier and the network has causes that are hardly ever on.
    is_grown : bool
        Whether EM started from a grown network, and not from the one that was recovered.
    """

    network: Network
    refinement: Refinement
    refused: bool = False
    crowded: float = 0.0
    before: Network | None = None
    is_grown: bool = False

    @property
    def n_steps(self) -> int:
        """E-steps that led to the network."""
        return 0 if self.refused else len(self.refinement.log_likelihood)

    @property
    def remaining(self) -> float | None:
        """Nats a parameter that further steps would gain, else those that the last step gained; None if there is neither."""
        gains = np.diff(self.refinement.log_likelihood)
        nats = self.refinement.remaining
        if np.isnan(nats) and len(gains):
            nats = float(gains[-1])
        n_parameters = np.count_nonzero(self.network.weights) + self.network.m + self.network.n
        return None if np.isnan(nats) else nats / n_parameters


def refined_network(
    network: Network, e_step: EStep, steps: Refine, most_crowded: float = 1.0, **options: Any
) -> RefinedNetwork:
    """The network after EM: until it settles, or a number of plain steps, at least one.

    "auto" climbs until further steps would gain less than .01 nats a parameter, or five in a row have gained less, leaves out
    the links that the data does not support, and climbs on without them. If the first E-step finds a larger share of the rows
    crowded than ``most_crowded``, the network stays as it is. Other ``options`` are those of `NoisyOrUpdate`.
    """
    update = NoisyOrUpdate.of(network, **options)
    return _until_settled(network, update, e_step, most_crowded) if steps == "auto" else _plain(update, e_step, steps)


def _until_settled(network: Network, update: NoisyOrUpdate, e_step: EStep, most_crowded: float) -> RefinedNetwork:
    # One step, which tells whether sums over likely configurations would do.
    first = e_step(update, 1)
    if first.crowded > most_crowded:
        return RefinedNetwork(network, _without_values([first.log_likelihood]), True, first.crowded)
    # All links.
    dense = _settled(update.at(*estimate_values(update, first)), e_step, 1)
    # Those that have support.
    update, n_steps = update.at(*dense.values), len(dense.log_likelihood) + 2
    between = e_step(update, n_steps)
    sparse = _settled(
        update.at(*estimate_values(update, between)).with_links(update.supported(between)), e_step, n_steps
    )
    log_likelihood = [first.log_likelihood, *dense.log_likelihood, between.log_likelihood, *sparse.log_likelihood]
    made = _without_values(log_likelihood, sparse.converged, sparse.remaining)
    return RefinedNetwork(update.at(*sparse.values).network, made, False, between.crowded)


def _settled(update: NoisyOrUpdate, e_step: EStep, done: int) -> Refinement:
    """EM until it settles, after so many E-steps."""
    enough, patience = LEAST_GAIN * update.n_parameters, _PATIENCE if len(update.priors) <= _FEW else _LESS_PATIENCE
    return refine(update, lambda at, number: e_step(at, number + done), "auto", enough, patience=patience)


def _plain(update: NoisyOrUpdate, e_step: EStep, steps: int) -> RefinedNetwork:
    found = refine(update, e_step, steps - 1)
    update = update.at(*found.values)
    last = e_step(update, steps)
    made = _without_values([*found.log_likelihood, last.log_likelihood])
    return RefinedNetwork(update.at(*estimate_values(update, last)).network, made, False, last.crowded)


def _without_values(
    log_likelihood: list[float], converged: bool = False, remaining: float = float("nan")
) -> Refinement:
    return Refinement((), np.array(log_likelihood), converged, remaining)


@dataclass(frozen=True)
class Configurations:
    """All configurations of the causes of a network, and what findings do under each.

    Attributes
    ----------
    table : ndarray of shape (2^m, m)
        Whether each cause is on.
    silent : ndarray of shape (2^m, n)
        -log P(s_i = 0 | d).
    present : ndarray of shape (2^m, n)
        P(s_i = 1 | d).
    log_prior : ndarray of shape (2^m,)
    """

    table: np.ndarray
    silent: np.ndarray
    present: np.ndarray
    log_prior: np.ndarray

    @classmethod
    def of(cls, update: NoisyOrUpdate) -> Configurations:
        m = len(update.priors)
        table = (np.arange(1 << m)[:, None] >> np.arange(m) & 1).astype(float)
        silent = -(table @ np.log1p(-update.strengths)) - np.log1p(-update.leak)
        odds = np.log(update.priors) - np.log1p(-update.priors)
        return cls(table, silent, -np.expm1(-silent), table @ odds + np.log1p(-update.priors).sum())

    def log_joint(self, present: np.ndarray, missing: np.ndarray | None) -> np.ndarray:
        """Logarithms of the joint probabilities with rows of findings, shape (n_rows, 2^m)."""
        joint = present @ (np.log(self.present) + self.silent).T + (self.log_prior - self.silent.sum(axis=1))
        return joint if missing is None else joint + missing @ self.silent.T


def _add_all(update: NoisyOrUpdate, state: NoisyOrSums, block: Block) -> None:
    """Add rows, by sums over all configurations."""
    every = Configurations.of(update)
    table = every.table
    mass, found = np.zeros(len(table)), np.zeros_like(every.silent)
    step = _CHUNK_ENTRIES // len(table)
    for start in range(0, block[0].shape[0], step):
        rows, missing = rows_with_gaps(block[0][start : start + step], block.rows[start : start + step])
        X = rows.astype(float)
        posterior, log_likelihood = normalised(every.log_joint(X, missing), mass)
        mass += posterior.sum(axis=0)
        found += posterior.T @ X
        if missing is not None:
            unknown = posterior.T @ missing
            state.unknown = state.unknown + np.vstack([table.T @ unknown, missing.sum(axis=0)])
        state.log_likelihood += float(log_likelihood.sum())
    state.on += table.T @ mass
    state.together += table.T @ found
    found /= every.present
    state.explained[:-1] += table.T @ found
    state.explained[-1] += found.sum(axis=0)


def _add_likely(update: NoisyOrUpdate, state: NoisyOrSums, block: Block) -> None:
    """Add rows, by sums over the likely configurations of each."""
    (starts, present), (gap_starts, missing) = present_findings(block[0]), missing_findings(block[0])
    model, (m, n) = update.model, update.strengths.shape
    unknown = np.zeros((m + 1, n if len(missing) else 1))
    explained, together, total = np.zeros(len(model.kept)), np.zeros(len(model.kept)), 0.0
    for first in range(0, block[0].shape[0], _SEARCHED):
        some = slice(first, first + _SEARCHED + 1)
        lists = starts[some], present, gap_starts[some], missing
        likely = update.likely(*lists)
        network = model.first, model.findings, model.kept, model.silent
        sums = state.on, state.explained[-1], explained, together, unknown
        total = _add_rows(*lists, *likely[:-1], *network, *sums, total)
        state.n_crowded += int(likely.crowded.sum())
    state.explained[model.causes, model.findings] += explained
    state.together[model.causes, model.findings] += together
    if len(missing):
        state.unknown = state.unknown + unknown
    silent = 1 - update.leak
    empty = np.log1p(-update.priors).sum() + np.log(silent).sum()
    odds = np.log(update.leak) - np.log(silent)
    state.log_likelihood += total + block[0].shape[0] * float(empty) + float(odds[present].sum())
    state.log_likelihood -= float(np.log(silent)[missing].sum())


@njit(nogil=True, cache=True)
def _add_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    gap_indptr: np.ndarray,
    gap_indices: np.ndarray,
    causes: np.ndarray,
    masks: np.ndarray,
    logs: np.ndarray,
    n_found: np.ndarray,
    first: np.ndarray,
    findings: np.ndarray,
    kept: np.ndarray,
    silent: np.ndarray,
    on: np.ndarray,
    leaked: np.ndarray,
    explained: np.ndarray,
    together: np.ndarray,
    unknown: np.ndarray,
    total: float,
) -> float:
    """Add rows with their likely configurations to sums; returns ``total`` and their log-likelihood, relative to no causes.

    Those of causes and findings, ``explained`` and ``together``, are of links alone; ``leaked`` (n,) is that of the leak.
    """
    m, n, most = len(on), len(silent), causes.shape[1]
    off, fired, share_on, ends = np.empty(n), np.empty(n), np.empty(most), np.empty(most + 1, np.int64)
    seats, size = np.full(n, -1), most_links(first, most)
    edges, places = np.empty(size, np.int64), np.empty(size, np.int64)
    passing, weight = np.empty(size), np.empty(size)
    for r in range(len(indptr) - 1):
        present = indices[indptr[r] : indptr[r + 1]]
        missing = gap_indices[gap_indptr[r] : gap_indptr[r + 1]]
        highest, mass, n_causes = -np.inf, 0.0, 0
        for x in range(n_found[r]):
            highest = max(highest, logs[r, x])
        for x in range(n_found[r]):
            mass += np.exp(logs[r, x] - highest)
        total += highest + np.log(mass)
        for i in missing:
            unknown[m, i] += 1.0
        while n_causes < most and causes[r, n_causes] < m:
            share_on[n_causes] = 0.0
            n_causes += 1
        own_links(present, first, findings, kept, causes[r, :n_causes], seats, ends, edges, places, passing)
        for e in range(ends[n_causes]):
            weight[e] = 0.0
        for x in range(n_found[r]):
            share = np.exp(logs[r, x] - highest) / mass
            fire(masks[r, x], silent, present, ends, places, passing, off, fired)
            for j, i in enumerate(present):
                leaked[i] += share * fired[j]
            for a in range(n_causes):
                if masks[r, x] >> a & 1:
                    share_on[a] += share
                    for e in range(ends[a], ends[a + 1]):
                        weight[e] += share * fired[places[e]]
        for a in range(n_causes):
            if share_on[a] > 0.0:
                on[causes[r, a]] += share_on[a]
                for i in missing:
                    unknown[causes[r, a], i] += share_on[a]
                for e in range(ends[a], ends[a + 1]):
                    explained[edges[e]] += weight[e]
                    together[edges[e]] += share_on[a]
    return total
