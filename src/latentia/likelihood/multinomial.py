"""Mixtures of multinomials, with one component per document: posteriors and EM updates.

Model: a document comes from component k with probability w_k, and its words are drawn from the distribution mu_k.

EM reinforces itself: every document votes for the words of its present component, and short documents stay where they are.
`LeaveOneOutUpdate` removes a document before it decides where it belongs. With responsibilities r_dk, counts
N_vk = sum_d r_dk c_dv and masses M_k = sum_d r_dk,

    r_dk  proportional to  (M_k - r_dk + 1) prod_v [(N_vk - r_dk c_dv + b f_v) / (N_k - r_dk n_d + b)]^c_dv,

where n_d is the length of the document, N_k = sum_v N_vk, and b f_v are pseudo-counts in proportion to the word frequencies f:
collapsed variational Bayes of order zero with plain powers for a document's own words. The probability that each word has
without its document also tells b: its slope is zero where as many words come from the pseudo-counts as these expect,

    sum r_dk c_dv b f_v / (N_vk - r_dk c_dv + b f_v)  =  sum r_dk n_d b / (N_k - r_dk n_d + b).

Source: A. Asuncion, M. Welling, P. Smyth, Y. W. Teh, On smoothing and inference for topic models, UAI 2009; J. Yin, J. Wang, A
Dirichlet multinomial mixture model-based approach for short text clustering, KDD 2014.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit

from ..moments.counts import Counts, as_counts
from ..passes import Block
from ..system.threads import Parallel, run_in_chunks
from .admixture import COLUMNS, add_expected
from .coordinates import Distributions, Expected, Values
from .rows import MixtureSums, log, normalised

ROWS = 1024  # documents per task
STILL = 0.0025  # share of the documents that a pass may move after convergence
_N_BATCHES = 16  # batches per pass; documents of a batch do not see each other's moves
_MIN_BATCH = 64
_MAX_BATCH = 1024
_TASK_DOCUMENTS = 64  # documents of a batch per task
_MIN_PSEUDO, _MAX_PSEUDO = 1e-3, 10.0  # limits of pseudo-counts: mean per word; per component, in words that it has
_FACTORS = np.array([0.5, 1.0, 2.0])  # factors of the pseudo-counts that a pass compares
_MAX_CHANGE = 0.1  # change of their logarithm after convergence
_MIN_RESPONSIBILITY = 1e-3  # components with less do not count for the pseudo-counts
_MAX_MULTIPLIED, _RESCALE_AFTER = (
    4.0,
    8.0,
)  # largest counts multiplied one by one, and occurrences after which products are rescaled


class MultinomialMixtureUpdate:
    """In-place statistic of one E-step for documents with one component each.

    Parameters
    ----------
    components : ndarray of shape (K, V)
        Word probabilities; a word of probability zero rules the component out.
    weights : ndarray of shape (K,)
    prior : float or ndarray of shape (V,)
        Pseudo-counts of every word in a component.
    """

    def __init__(self, components: np.ndarray, weights: np.ndarray, prior: Any = 0.0) -> None:
        self.components, self.weights = np.asarray(components, dtype=np.float64), np.asarray(weights, dtype=np.float64)
        self.log_by_word, self.log_weights, self.prior = log(self.components.T), log(self.weights), prior

    @property
    def values(self) -> Values:
        return self.components, self.weights

    def move_to(self, *values: np.ndarray) -> MultinomialMixtureUpdate:
        components, weights = values
        return MultinomialMixtureUpdate(components, weights, self.prior)

    def zero(self) -> MixtureSums:
        n_words, k = self.log_by_word.shape
        first = [np.zeros((n_words, min(COLUMNS, k - a))) for a in range(0, k, COLUMNS)]
        return MixtureSums(np.zeros(k), first)

    def add_tasks(self, state: MixtureSums, block: Block, parallel: Parallel) -> MixtureSums:
        counts = as_counts(block[0])
        n = len(counts.indptr) - 1
        posterior, log_likelihood = np.empty((n, len(self.weights))), np.empty(n)

        def rows(i: int) -> None:
            span = (i * ROWS, min(n, (i + 1) * ROWS))
            multinomial_posterior(
                counts, *span, self.log_by_word, self.log_weights, self.weights, posterior, log_likelihood
            )

        def columns(i: int) -> None:
            chunk = np.ascontiguousarray(posterior[:, i * COLUMNS : (i + 1) * COLUMNS])
            add_expected(counts.indptr, counts.indices, counts.data, chunk, state.first[i])

        parallel(rows, -(-n // ROWS))
        parallel(columns, len(state.first))
        state.mass += posterior.sum(axis=0)
        state.log_likelihood += float(log_likelihood.sum())
        state.n_rows += n
        return state

    def expected(self, sums: MixtureSums) -> tuple[Expected, ...]:
        counts = np.concatenate(sums.first, axis=1).T
        return Distributions(self.components, counts, self.prior), Distributions(self.weights, sums.mass)


@dataclass
class Responsibilities:
    """Responsibilities of all documents and their counts, kept from pass to pass.

    Attributes
    ----------
    values : ndarray of float32, shape (n_documents, K)
        Responsibilities by position of the row in the pass; zero for documents without words.
    counts : ndarray of shape (V, K)
        Counts of the words in the components.
    words, mass : ndarray of shape (K,)
        Words and documents in each component.
    n_begun : int
        Number of documents, from the first on, that a pass has read.
    moved : float
        Share of the documents that the last pass moved.
    corrected : float
        Change of the logarithm of the pseudo-counts in that pass.
    batch_parts : list
        Documents of the current batch, with their new responsibilities.
    """

    values: np.ndarray
    counts: np.ndarray
    words: np.ndarray
    mass: np.ndarray
    n_begun: int = 0
    moved: float = 1.0
    corrected: float = np.inf
    batch_parts: list[tuple[Counts, int, int, np.ndarray, np.ndarray]] = field(default_factory=list)

    @classmethod
    def empty(cls, n_documents: int, n_words: int, n_components: int) -> Responsibilities:
        """Return the state before the first pass."""
        k = n_components
        return cls(np.zeros((n_documents, k), dtype=np.float32), np.zeros((n_words, k)), np.zeros(k), np.zeros(k))

    @property
    def batch(self) -> int:
        """Number of documents that move together."""
        return int(np.clip(len(self.values) // _N_BATCHES, _MIN_BATCH, _MAX_BATCH))

    def estimate(self, pseudo: np.ndarray) -> np.ndarray:
        """Return components from the counts with pseudo-counts of shape (V,), shape (K, V)."""
        components = np.maximum(self.counts, 0.0).T + pseudo
        return np.asarray(components / components.sum(axis=1, keepdims=True))

    def converged(self) -> bool:
        """Return True if the last pass hardly moved documents or changed the pseudo-counts."""
        return self.moved <= STILL and self.corrected <= _MAX_CHANGE


@dataclass
class LeaveOneOutSums:
    """Sums over the documents of a pass.

    Attributes
    ----------
    log_likelihood : float
        Log-likelihood in nats of each document given all others; in the first pass, under the values of the update.
    from_pseudo, of_pseudo : ndarray of shape (3,)
        Observed and expected number of words from the pseudo-counts, at half, one and two times these.
    moved, n_documents : float
        Number of documents that changed their component, and of those with words.
    """

    log_likelihood: float = 0.0
    from_pseudo: np.ndarray = field(default_factory=lambda: np.zeros(len(_FACTORS)))
    of_pseudo: np.ndarray = field(default_factory=lambda: np.zeros(len(_FACTORS)))
    moved: float = 0.0
    n_documents: float = 0.0


class LeaveOneOutUpdate:
    """In-place statistic of a pass that assigns every document given all others.

    The first pass computes responsibilities under the values of the update; each later one goes through the documents in their
    order, a batch of them at a time, and moves the counts along. Bits depend on neither threads nor memory.

    Parameters
    ----------
    components : ndarray of shape (K, V)
        Word probabilities, positive where any document has the word.
    weights : ndarray of shape (K,)
    pseudo : ndarray of shape (1,)
        Pseudo-counts of all words in a component.
    frequencies : ndarray of shape (V,)
        Word frequencies, to which pseudo-counts are proportional; positive, with sum one.
    responsibilities : Responsibilities
        Responsibilities, changed in place by a pass.
    """

    keeps_rows = True

    def __init__(
        self,
        components: np.ndarray,
        weights: np.ndarray,
        pseudo: np.ndarray,
        frequencies: np.ndarray,
        responsibilities: Responsibilities,
    ) -> None:
        self.components, self.weights, self.pseudo = components, weights, pseudo
        self.frequencies, self.responsibilities = frequencies, responsibilities

    @cached_property
    def _logs(self) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the components by word, and of the weights."""
        return log(self.components.T), log(self.weights)

    @property
    def values(self) -> Values:
        return self.components, self.weights, self.pseudo

    def move_to(self, *values: np.ndarray) -> LeaveOneOutUpdate:
        components, weights, pseudo = values
        return LeaveOneOutUpdate(components, weights, pseudo, self.frequencies, self.responsibilities)

    def zero(self) -> LeaveOneOutSums:
        return LeaveOneOutSums()

    def add_tasks(self, state: LeaveOneOutSums, block: Block, parallel: Parallel) -> LeaveOneOutSums:
        counts, responsibilities = as_counts(block[0]), self.responsibilities
        n = len(counts.indptr) - 1
        current, was_read = (
            responsibilities.values[block.start : block.start + n],
            block.start + n <= responsibilities.n_begun,
        )
        row_sums = np.zeros((n, 2 + 2 * len(_FACTORS)))
        compute = self._next_responsibilities if was_read else self._first_responsibilities
        batch, start = responsibilities.batch if was_read else n, 0
        while start < n:
            stop = min(n, start + batch - (block.start + start) % batch) if was_read else n
            new = np.empty((stop - start, current.shape[1]), dtype=np.float32)
            compute(counts, start, stop, current, new, row_sums, parallel)
            responsibilities.batch_parts.append((counts, start, stop, current, new))
            if not was_read or (block.start + stop) % batch == 0 or block.start + stop == len(responsibilities.values):
                for part in responsibilities.batch_parts:  # A batch may span blocks, whose bounds change nothing.
                    self._move(*part, parallel)
                responsibilities.batch_parts.clear()
            start = stop
        responsibilities.n_begun = max(responsibilities.n_begun, block.start + n)
        log_likelihood, moved, *pseudo = row_sums.sum(axis=0)
        state.log_likelihood, state.moved = state.log_likelihood + float(log_likelihood), state.moved + float(moved)
        state.from_pseudo += pseudo[: len(_FACTORS)]
        state.of_pseudo += pseudo[len(_FACTORS) :]
        state.n_documents += float(np.count_nonzero(current.any(axis=1)))
        return state

    def expected(self, sums: LeaveOneOutSums) -> Sequence[Any]:
        return (_PassResult(self, sums),)

    def _first_responsibilities(
        self,
        counts: Counts,
        first: int,
        last: int,
        current: np.ndarray,
        new: np.ndarray,
        row_sums: np.ndarray,
        parallel: Parallel,
    ) -> None:
        """Compute responsibilities of documents first to last under the values."""
        logs, log_weights = self._logs
        part, log_likelihood = np.empty((last, len(log_weights))), np.empty(last)

        def rows(i: int) -> None:
            a, b = first + i * ROWS, min(last, first + (i + 1) * ROWS)
            multinomial_posterior(counts, a, b, logs, log_weights, self.weights, part, log_likelihood)
            empty = np.add.reduceat(np.append(counts.data, 0.0), counts.indptr[a:b]) == 0
            empty |= np.diff(counts.indptr[a : b + 1]) == 0
            new[a - first : b - first] = np.where(empty[:, None], 0.0, part[a:b])
            row_sums[a:b, 0] = np.where(empty, 0.0, log_likelihood[a:b])

        parallel(rows, -(-(last - first) // ROWS))

    def _next_responsibilities(
        self,
        counts: Counts,
        first: int,
        last: int,
        current: np.ndarray,
        new: np.ndarray,
        row_sums: np.ndarray,
        parallel: Parallel,
    ) -> None:
        """Compute responsibilities of documents first to last given all others."""
        responsibilities = self.responsibilities
        sums, pseudo = (responsibilities.counts, responsibilities.words, responsibilities.mass), float(self.pseudo[0])

        def rows(i: int) -> None:
            a, b = first + i * _TASK_DOCUMENTS, min(last, first + (i + 1) * _TASK_DOCUMENTS)
            _leave_one_out(*counts, a, b, first, *sums, self.frequencies, pseudo, _FACTORS, current, new, row_sums)

        parallel(rows, -(-(last - first) // _TASK_DOCUMENTS))

    def _move(
        self, counts: Counts, first: int, last: int, current: np.ndarray, new: np.ndarray, parallel: Parallel
    ) -> None:
        """Move the counts along, and keep the new responsibilities."""
        responsibilities, k = self.responsibilities, current.shape[1]

        def columns(i: int) -> None:
            a, b = i * COLUMNS, min(k, (i + 1) * COLUMNS)
            _move_counts(
                *counts,
                first,
                last,
                a,
                b,
                current,
                new,
                responsibilities.counts,
                responsibilities.words,
                responsibilities.mass,
            )

        parallel(columns, -(-k // COLUMNS))


@dataclass(frozen=True)
class _PassResult:
    """Estimates from a pass; acts as a single distribution."""

    update: LeaveOneOutUpdate
    sums: LeaveOneOutSums

    def estimate(self) -> Values:
        """Return posterior means of components and weights, and new pseudo-counts."""
        responsibilities, f, old_pseudo = (
            self.update.responsibilities,
            self.update.frequencies,
            float(self.update.pseudo[0]),
        )
        min_pseudo = _MIN_PSEUDO * len(f)
        pseudo = float(
            np.clip(
                old_pseudo * self._factor(),
                min_pseudo,
                max(min_pseudo, _MAX_PSEUDO * float(responsibilities.words.mean())),
            )
        )
        if self.sums.of_pseudo.all():
            responsibilities.moved, responsibilities.corrected = (
                self.sums.moved / max(self.sums.n_documents, 1.0),
                abs(math.log(pseudo / old_pseudo)),
            )
        mass = np.maximum(responsibilities.mass, 0.0) + 1.0
        return responsibilities.estimate(pseudo * f), mass / mass.sum(), np.array([pseudo])

    def _factor(self) -> float:
        """Return the factor of the pseudo-counts at which observed and expected words agree best."""
        sums = self.sums
        if not sums.of_pseudo.all():
            return 1.0
        log_ratios = np.log(np.maximum(sums.from_pseudo, 1e-300) / sums.of_pseudo)
        return float(np.exp(np.interp(0.0, -np.minimum.accumulate(log_ratios), np.log(_FACTORS))))

    def log_prior(self) -> float:
        return 0.0


def multinomial_responsibilities(
    table: Any, components: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Compute probabilities of the components given each document, shape (n_documents, K).

    Parameters
    ----------
    table : array or sparse matrix of shape (n_documents, V)
        Counts.
    components : ndarray of shape (K, V)
    weights : ndarray of shape (K,)
    n_jobs : int, optional
    """
    return _multinomial_rows(table, components, weights, n_jobs)[0]


def multinomial_log_likelihood(
    table: Any, components: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Return log sum_k w_k prod_v A_kv^c_dv for each document, without the multinomial coefficient, (n_documents,)."""
    return _multinomial_rows(table, components, weights, n_jobs)[1]


def _multinomial_rows(
    table: Any, components: np.ndarray, weights: np.ndarray, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    counts, update = as_counts(table), MultinomialMixtureUpdate(components, weights)
    n = len(counts.indptr) - 1
    out = np.empty((n, len(update.weights))), np.empty(n)
    model = update.log_by_word, update.log_weights, update.weights
    run_in_chunks(lambda a, b: multinomial_posterior(counts, a, b, *model, *out), n, ROWS, n_jobs)
    return out


def multinomial_posterior(
    counts: Counts,
    first: int,
    last: int,
    log_by_word: np.ndarray,
    log_weights: np.ndarray,
    weights: np.ndarray,
    posterior: np.ndarray,
    log_likelihood: np.ndarray,
) -> None:
    """Compute responsibilities and log-likelihoods of documents first to last."""
    log_joint = np.tile(log_weights, (last - first, 1))
    _add_log_words(*counts, first, log_by_word, log_joint)
    posterior[first:last], log_likelihood[first:last] = normalised(log_joint, weights)


@njit(nogil=True, cache=True)
def _add_log_words(indptr, indices, data, first, log_by_word, log_joint):
    k = log_by_word.shape[1]
    for d in range(len(log_joint)):
        out = log_joint[d]
        for e in range(indptr[first + d], indptr[first + d + 1]):
            c = data[e]
            if c == 0.0:  # a stored zero is not a word: 0 * -inf is NaN
                continue
            row = log_by_word[indices[e]]
            for j in range(k):
                out[j] += c * row[j]


@njit(nogil=True, cache=True, error_model="numpy")
def _leave_one_out(
    indptr, indices, data, first, last, start, counts, words, mass, frequencies, pseudo, factors, current, new, row_sums
):
    """Compute leave-one-out responsibilities of documents first to last, from row first - start of ``new`` on.

    Probabilities of the words are over their frequencies, which keeps products in range.
    """
    k, n_factors = counts.shape[1], len(factors)
    p, document_shares, inverse, ratio, powers = np.empty(k), np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for d in range(first, last):
        length = 0.0
        for e in range(indptr[d], indptr[d + 1]):
            length += data[e]
        if length == 0.0:
            new[d - start] = 0.0
            continue
        for j in range(k):
            document_shares[j] = current[d, j]
            p[j] = max(mass[j] - document_shares[j], 0.0) + 1.0
            inverse[j] = 1.0 / (max(words[j] - document_shares[j] * length, 0.0) + pseudo)
        powers[:] = 0.0
        n_multiplied, shift, has_powers = 0.0, 0.0, False
        for e in range(indptr[d], indptr[d + 1]):
            c, v = data[e], indices[e]
            if c == 0.0:
                continue
            scale, prior = 1.0 / frequencies[v], pseudo * frequencies[v]
            for j in range(k):
                remaining = counts[v, j] - c * document_shares[j]
                ratio[j] = ((remaining if remaining > 0.0 else 0.0) + prior) * scale * inverse[j]
            if c <= _MAX_MULTIPLIED and c == math.floor(c):
                for _ in range(int(c)):
                    for j in range(k):
                        p[j] *= ratio[j]
                n_multiplied += c
            else:
                has_powers = True
                for j in range(k):
                    powers[j] += c * math.log(ratio[j])
            shift += c * math.log(frequencies[v])
            if n_multiplied >= _RESCALE_AFTER:
                shift += _rescale(p)
                n_multiplied = 0.0
        if has_powers:
            top = -np.inf
            for j in range(k):
                powers[j] += math.log(p[j]) if p[j] > 0.0 else -np.inf
                top = max(top, powers[j])
            for j in range(k):
                p[j] = math.exp(powers[j] - top)
            shift += top
        total, n = 0.0, 0.0
        for j in range(k):
            total += p[j]
            n += mass[j]
        row_sums[d, 0] = math.log(total) + shift - math.log(max(n - 1.0, 0.0) + k)
        for j in range(k):
            share = p[j] / total
            new[d - start, j] = share
            row_sums[d, 1] += 0.5 * abs(share - document_shares[j])
            if share < _MIN_RESPONSIBILITY:
                continue
            remaining = 1.0 / inverse[j] - pseudo
            for i in range(n_factors):
                row_sums[d, 2 + n_factors + i] += (
                    share * length * factors[i] * pseudo / (remaining + factors[i] * pseudo)
                )
            for e in range(indptr[d], indptr[d + 1]):
                c, prior = data[e], pseudo * frequencies[indices[e]]
                remaining = max(counts[indices[e], j] - c * document_shares[j], 0.0)
                for i in range(n_factors):
                    row_sums[d, 2 + i] += share * c * factors[i] * prior / (remaining + factors[i] * prior)


@njit(nogil=True, cache=True, error_model="numpy")
def _rescale(p):
    """Divide by the largest entry, and return its logarithm."""
    top = 0.0
    for j in range(len(p)):
        top = max(top, p[j])
    for j in range(len(p)):
        p[j] /= top
    return math.log(top)


@njit(nogil=True, cache=True, error_model="numpy")
def _move_counts(indptr, indices, data, first, last, a, b, current, new, counts, words, mass):
    """Move columns a to b of the counts by the new responsibilities of documents first to last, and keep these."""
    change = np.empty(b - a)
    for d in range(first, last):
        is_unchanged = True
        for j in range(a, b):
            change[j - a] = np.float64(new[d - first, j]) - np.float64(current[d, j])
            is_unchanged = is_unchanged and change[j - a] == 0.0
            current[d, j] = new[d - first, j]
        if is_unchanged:
            continue
        length = 0.0
        for e in range(indptr[d], indptr[d + 1]):
            c, v = data[e], indices[e]
            length += c
            for j in range(a, b):
                counts[v, j] += c * change[j - a]
        for j in range(a, b):
            words[j] += length * change[j - a]
            mass[j] += change[j - a]
