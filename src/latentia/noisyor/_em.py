"""Expectation maximisation for noisy-or networks, over the likely configurations of each row.

A finding is present if a cause that is on, or the leak, triggers it: cause k with probability F_ki = 1 - exp(-W_ki). Given
the data, configuration d has posterior p(d | x), and the expected number of rows in which k is on and triggers i is

    T_ki = F_ki sum_x x_i sum_(d with k on) p(d | x) / P(s_i = 1 | d),

the leak being a cause that is always on. New F are these numbers over N_k, the expected number of rows with k on. Up to 8
causes the sum runs over all configurations. With more, it runs over the likely ones of each row, found anew in every step
(`latentia.noisyor.inference.search`); the likelihood of a step is then a lower bound.

A strength of zero has estimates above zero half of the time, and a network of few links then has thousands that are noise.
Were F_ki zero, T_ki would have a variance of about C_ki / (1 - b), C_ki being the expected number of rows with both k and i,
and b the share of rows with k on that have i without its help. A link stays if T_ki^2 (1 - b) / C_ki is at least 2: it then
improves the prediction of new rows (Akaike). The others are set to zero, and EM goes on without them.

Unknown findings of a row are summed out: they say nothing of its causes, and N_k of such a finding leaves the row out.

A leak has a prior of half a row in 50: were one zero, a single row that no cause explains would be impossible.
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
from ._findings import list_missing, list_present, split_gaps
from .inference.network import Network
from .inference.search import (
    LikelyConfigurations,
    SearchModel,
    bound_links,
    compute_absence,
    likely_configurations,
    list_row_links,
)

MAX_ENUMERATED = 8  # causes up to which all configurations (256) are summed
_CHUNK_ENTRIES = 1 << 19  # posterior probabilities in memory at a time: 4 MB
_ROWS_AT_ONCE = 4096  # rows searched at a time: 8 MB of configurations
_MIN_SUPPORT = 2.0  # smallest squared ratio of a link to its standard error (Akaike)
_LEAK_PRIOR = 0.5, 50.5  # rows added to those in which the leak acts, and to all rows
_MIN_PROBABILITY, _MIN_LEAK = 1e-12, 1e-9
MIN_GAIN = (
    0.01  # nats a parameter; smaller gains are noise, as the best value of one gains half a nat over the true value
)
_PATIENCE = 5  # small gains in a row that end EM: a single one may be an accident, as the likelihood is a bound
_MAX_PATIENT_CAUSES = 60  # causes up to which that patience holds
_PATIENCE_WITH_MANY_CAUSES = 2  # with more causes there are many rows, and most of them have a single explanation
MAX_CROWDED = 0.3  # share of rows with too many likely configurations above which EM would be biased


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
        Expected rows in which cause k is on and finding i is unknown, the last row for the leak.
    log_likelihood : float
        In nats.
    n_rows : int
    n_crowded : int
        Rows with more likely configurations than are summed.
    """

    on: np.ndarray
    explained: np.ndarray
    together: np.ndarray
    unknown: np.ndarray
    log_likelihood: float = 0.0
    n_rows: int = 0
    n_crowded: int = 0

    @property
    def share_crowded(self) -> float:
        """Share of the rows with more likely configurations than are summed."""
        return self.n_crowded / max(self.n_rows, 1)

    @property
    def n_observed(self) -> np.ndarray:
        """Expected rows in which cause k is on and finding i is known, (m, n)."""
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
        Whether priors stay as they are.
    max_weight : float
        Largest weight after the step.
    enumerate_all : bool, optional
        Whether to sum over all configurations of the causes, not only the likely ones of each row; by default with at most 8
        causes.
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
        self.enumerate_all = len(priors) <= MAX_ENUMERATED if enumerate_all is None else enumerate_all
        self.strengths = np.minimum(strengths, 1 - _MIN_PROBABILITY)
        self.leak = np.clip(leak, _MIN_LEAK, 1 - _MIN_LEAK)
        self.priors = np.clip(priors, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)

    @classmethod
    def from_network(cls, network: Network, **options: Any) -> NoisyOrUpdate:
        """Return the update at a network; ``options`` are those of the class."""
        return cls(-np.expm1(-network.weights), network.leak, network.priors, **options)

    @property
    def values(self) -> Values:
        return (self.strengths, self.leak) if self.fixed_prior else (self.strengths, self.leak, self.priors)

    def move_to(self, *values: np.ndarray) -> NoisyOrUpdate:
        strengths, leak, *priors = values
        options: dict[str, Any] = {"fixed_prior": self.fixed_prior, "max_weight": self.max_weight}
        options["enumerate_all"] = self.enumerate_all
        return NoisyOrUpdate(strengths, leak, *(priors or [self.priors]), **options)

    def select_supported_links(self, sums: NoisyOrSums) -> np.ndarray:
        """Return the links that the sums of a pass at these values support, bool (m, n)."""
        triggered = self.strengths * sums.explained[:-1]
        share_without_link = (sums.together - triggered) / np.maximum(sums.n_observed, _MIN_PROBABILITY)
        return (triggered > 0) & (triggered**2 * (1 - share_without_link) >= _MIN_SUPPORT * sums.together)

    def restrict_to_links(self, is_link: np.ndarray) -> NoisyOrUpdate:
        """Return the update with the chosen links alone, bool (m, n); the other strengths stay zero in all steps."""
        strengths, *other_values = self.values
        return self.move_to(np.where(is_link, strengths, 0.0), *other_values)

    @property
    def n_parameters(self) -> int:
        """Number of nonzero strengths, leaks, and priors if they are estimated."""
        return int(np.count_nonzero(self.strengths)) + sum(value.size for value in self.values[1:])

    @property
    def network(self) -> Network:
        """The network, the most frequent cause first."""
        order = np.argsort(-self.priors, kind="stable")
        return Network(-np.log1p(-self.strengths[order]), self.priors[order], self.leak)

    @cached_property
    def model(self) -> SearchModel:
        """The network in the form that the search for configurations takes."""
        return SearchModel.from_strengths(self.strengths, self.leak, self.priors)

    def search_configurations(self, *lists: np.ndarray) -> LikelyConfigurations:
        """Find likely configurations of rows, given as lists of present and of unknown findings."""
        return likely_configurations(self.model, *lists)

    def zero(self) -> NoisyOrSums:
        m, n = self.strengths.shape
        return NoisyOrSums(np.zeros(m), np.zeros((m + 1, n)), np.zeros((m, n)), np.zeros((m + 1, 1)))

    def add(self, state: NoisyOrSums, block: Block) -> NoisyOrSums:
        if self.enumerate_all:
            _add_by_enumeration(self, state, block)
        else:
            _add_by_search(self, state, block)
        state.n_rows += block[0].shape[0]
        return state

    def merge(self, first: NoisyOrSums, second: NoisyOrSums) -> NoisyOrSums:
        for sums, addend in ((first.explained, second.explained), (first.together, second.together)):
            sums += addend  # in place: with hundreds of causes new arrays would take most of a pass
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
        strengths = Chances(self.strengths, triggered, sums.n_observed, high=-float(np.expm1(-self.max_weight)))
        rows = sums.n_rows - sums.unknown[-1]
        leak = Chances(self.leak, self.leak * sums.explained[-1], rows, _LEAK_PRIOR, low=_MIN_LEAK)
        priors = Chances(self.priors, sums.on, np.array(sums.n_rows))
        return (strengths, leak) if self.fixed_prior else (strengths, leak, priors)


@dataclass(frozen=True)
class NetworkRefinement:
    """A network, and the EM steps that led to it.

    Attributes
    ----------
    network : Network
    refinement : Refinement
        Without values.
    refused : bool
        Whether EM was refused: the first E-step showed that it would be biased, and the network is the one that was given.
    crowded : float
        Share of the rows with more likely configurations than a step sums over, in the last E-step that counted them.
    before : Network or None
        The network at the end of EM, if independent findings were likelier: the causes of ``network`` are then hardly ever on.
    is_grown : bool
        Whether EM started from a network that was not the one of the moments.
    """

    network: Network
    refinement: Refinement
    refused: bool = False
    crowded: float = 0.0
    before: Network | None = None
    is_grown: bool = False

    @property
    def n_steps(self) -> int:
        """Number of E-steps that led to the network."""
        return 0 if self.refused else len(self.refinement.log_likelihood)

    @property
    def remaining(self) -> float | None:
        """Gain of further steps, else of the last step, in nats a parameter; None if neither is known."""
        gains = np.diff(self.refinement.log_likelihood)
        nats = self.refinement.remaining
        if np.isnan(nats) and len(gains):
            nats = float(gains[-1])
        n_parameters = np.count_nonzero(self.network.weights) + self.network.m + self.network.n
        return None if np.isnan(nats) else nats / n_parameters


def refine_network(
    network: Network, e_step: EStep, steps: Refine, max_crowded: float = 1.0, **options: Any
) -> NetworkRefinement:
    """Refine a network by EM: until it converges ("auto"), or by a number of plain steps, at least one.

    "auto" climbs until further steps would gain less than 0.01 nats a parameter, or five in a row have gained less. It then
    drops the links that the data does not support, and climbs on without them. If the first E-step finds more than
    ``max_crowded`` of the rows crowded, the network stays as it is. Other ``options`` are those of `NoisyOrUpdate`.
    """
    update = NoisyOrUpdate.from_network(network, **options)
    return (
        _refine_until_converged(network, update, e_step, max_crowded)
        if steps == "auto"
        else _refine_by_plain_steps(update, e_step, steps)
    )


def _refine_until_converged(
    network: Network, update: NoisyOrUpdate, e_step: EStep, max_crowded: float
) -> NetworkRefinement:
    # A first step shows whether sums over likely configurations suffice.
    first = e_step(update, 1)
    if first.share_crowded > max_crowded:
        return NetworkRefinement(network, _make_refinement([first.log_likelihood]), True, first.share_crowded)
    # Climb with all links.
    with_all_links = _climb(update.move_to(*estimate_values(update, first)), e_step, 1)
    # Drop links without support, and climb again.
    update, n_steps = update.move_to(*with_all_links.values), len(with_all_links.log_likelihood) + 2
    middle = e_step(update, n_steps)
    with_supported_links = _climb(
        update.move_to(*estimate_values(update, middle)).restrict_to_links(update.select_supported_links(middle)),
        e_step,
        n_steps,
    )
    log_likelihood = [
        first.log_likelihood,
        *with_all_links.log_likelihood,
        middle.log_likelihood,
        *with_supported_links.log_likelihood,
    ]
    refinement = _make_refinement(log_likelihood, with_supported_links.converged, with_supported_links.remaining)
    return NetworkRefinement(
        update.move_to(*with_supported_links.values).network, refinement, False, middle.share_crowded
    )


def _climb(update: NoisyOrUpdate, e_step: EStep, n_done: int) -> Refinement:
    """Run EM until it converges, after ``n_done`` E-steps."""
    min_gain = MIN_GAIN * update.n_parameters
    patience = _PATIENCE if len(update.priors) <= _MAX_PATIENT_CAUSES else _PATIENCE_WITH_MANY_CAUSES
    return refine(update, lambda at, number: e_step(at, number + n_done), "auto", min_gain, patience=patience)


def _refine_by_plain_steps(update: NoisyOrUpdate, e_step: EStep, steps: int) -> NetworkRefinement:
    fit = refine(update, e_step, steps - 1)
    update = update.move_to(*fit.values)
    last_sums = e_step(update, steps)
    refinement = _make_refinement([*fit.log_likelihood, last_sums.log_likelihood])
    return NetworkRefinement(
        update.move_to(*estimate_values(update, last_sums)).network, refinement, False, last_sums.share_crowded
    )


def _make_refinement(
    log_likelihood: list[float], converged: bool = False, remaining: float = float("nan")
) -> Refinement:
    return Refinement((), np.array(log_likelihood), converged, remaining)


@dataclass(frozen=True)
class Configurations:
    """All configurations of the causes of a network, with the probabilities of findings under each.

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
    def enumerate(cls, update: NoisyOrUpdate) -> Configurations:
        m = len(update.priors)
        table = (np.arange(1 << m)[:, None] >> np.arange(m) & 1).astype(float)
        silent = -(table @ np.log1p(-update.strengths)) - np.log1p(-update.leak)
        odds = np.log(update.priors) - np.log1p(-update.priors)
        return cls(table, silent, -np.expm1(-silent), table @ odds + np.log1p(-update.priors).sum())

    def log_joint(self, present: np.ndarray, missing: np.ndarray | None) -> np.ndarray:
        """Return log P[row, configuration] for rows of findings, shape (n_rows, 2^m)."""
        joint = present @ (np.log(self.present) + self.silent).T + (self.log_prior - self.silent.sum(axis=1))
        return joint if missing is None else joint + missing @ self.silent.T


def _add_by_enumeration(update: NoisyOrUpdate, state: NoisyOrSums, block: Block) -> None:
    """Add rows of a block by sums over all configurations."""
    configurations = Configurations.enumerate(update)
    table = configurations.table
    masses, present_sums = np.zeros(len(table)), np.zeros_like(configurations.silent)
    step = _CHUNK_ENTRIES // len(table)
    for start in range(0, block[0].shape[0], step):
        rows, missing = split_gaps(block[0][start : start + step], block.rows[start : start + step])
        X = rows.astype(float)
        posterior, log_likelihood = normalised(configurations.log_joint(X, missing), masses)
        masses += posterior.sum(axis=0)
        present_sums += posterior.T @ X
        if missing is not None:
            unknown = posterior.T @ missing
            state.unknown = state.unknown + np.vstack([table.T @ unknown, missing.sum(axis=0)])
        state.log_likelihood += float(log_likelihood.sum())
    state.on += table.T @ masses
    state.together += table.T @ present_sums
    present_sums /= configurations.present
    state.explained[:-1] += table.T @ present_sums
    state.explained[-1] += present_sums.sum(axis=0)


def _add_by_search(update: NoisyOrUpdate, state: NoisyOrSums, block: Block) -> None:
    """Add rows of a block by sums over the likely configurations of each row."""
    (starts, present), (gap_starts, missing) = list_present(block[0]), list_missing(block[0])
    model, (m, n) = update.model, update.strengths.shape
    unknown = np.zeros((m + 1, n if len(missing) else 1))
    explained = np.zeros(len(model.absence_factors))
    together = np.zeros(len(model.absence_factors))
    log_likelihood = 0.0
    for start in range(0, block[0].shape[0], _ROWS_AT_ONCE):
        chunk = slice(start, start + _ROWS_AT_ONCE + 1)
        lists = starts[chunk], present, gap_starts[chunk], missing
        likely = update.search_configurations(*lists)
        network = model.first, model.findings, model.absence_factors, model.silent
        sums = state.on, state.explained[-1], explained, together, unknown
        log_likelihood = _add_rows(*lists, *likely[:-1], *network, *sums, log_likelihood)
        state.n_crowded += int(likely.crowded.sum())
    state.explained[model.causes, model.findings] += explained
    state.together[model.causes, model.findings] += together
    if len(missing):
        state.unknown = state.unknown + unknown
    silent = 1 - update.leak
    log_empty = np.log1p(-update.priors).sum() + np.log(silent).sum()
    odds = np.log(update.leak) - np.log(silent)
    state.log_likelihood += log_likelihood + block[0].shape[0] * float(log_empty) + float(odds[present].sum())
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
    n_configurations: np.ndarray,
    first: np.ndarray,
    findings: np.ndarray,
    absence_factors: np.ndarray,
    silent: np.ndarray,
    on: np.ndarray,
    leak_explained: np.ndarray,
    explained: np.ndarray,
    together: np.ndarray,
    unknown: np.ndarray,
    log_likelihood: float,
) -> float:
    """Add rows with their likely configurations to sums; return the log-likelihood so far, relative to no causes.

    ``explained`` and ``together`` have an entry for each link, ``leak_explained`` (n,) one for each leak.
    """
    m, n, max_causes = len(on), len(silent), causes.shape[1]
    absent = np.empty(n)
    inverse_present = np.empty(n)
    share_on = np.empty(max_causes)
    cause_ends = np.empty(max_causes + 1, np.int64)
    scratch, size = np.full(n, -1), bound_links(first, max_causes)
    edges, finding_places = np.empty(size, np.int64), np.empty(size, np.int64)
    row_factors, weight = np.empty(size), np.empty(size)
    for r in range(len(indptr) - 1):
        present = indices[indptr[r] : indptr[r + 1]]
        missing = gap_indices[gap_indptr[r] : gap_indptr[r + 1]]
        highest, mass, n_causes = -np.inf, 0.0, 0
        for x in range(n_configurations[r]):
            highest = max(highest, logs[r, x])
        for x in range(n_configurations[r]):
            mass += np.exp(logs[r, x] - highest)
        log_likelihood += highest + np.log(mass)
        for i in missing:
            unknown[m, i] += 1.0
        while n_causes < max_causes and causes[r, n_causes] < m:
            share_on[n_causes] = 0.0
            n_causes += 1
        list_row_links(
            present,
            first,
            findings,
            absence_factors,
            causes[r, :n_causes],
            scratch,
            cause_ends,
            edges,
            finding_places,
            row_factors,
        )
        for e in range(cause_ends[n_causes]):
            weight[e] = 0.0
        for x in range(n_configurations[r]):
            share = np.exp(logs[r, x] - highest) / mass
            compute_absence(
                masks[r, x], silent, present, cause_ends, finding_places, row_factors, absent, inverse_present
            )
            for j, i in enumerate(present):
                leak_explained[i] += share * inverse_present[j]
            for a in range(n_causes):
                if masks[r, x] >> a & 1:
                    share_on[a] += share
                    for e in range(cause_ends[a], cause_ends[a + 1]):
                        weight[e] += share * inverse_present[finding_places[e]]
        for a in range(n_causes):
            if share_on[a] > 0.0:
                on[causes[r, a]] += share_on[a]
                for i in missing:
                    unknown[causes[r, a], i] += share_on[a]
                for e in range(cause_ends[a], cause_ends[a + 1]):
                    explained[edges[e]] += weight[e]
                    together[edges[e]] += share_on[a]
    return log_likelihood
