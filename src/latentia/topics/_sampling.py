"""Posterior means of topics by collapsed Gibbs sampling with draws that depend on the content of the documents alone.

Model: a document has proportions from Dirichlet(alpha), a topic has word probabilities from Dirichlet(beta), and every
occurrence of a word draws a topic and then the word. With proportions and topics integrated out, the topic z of an
occurrence of word w in document d has, given the topics of all others,

    P(z = k)  proportional to  (n_dk + alpha_k) (n_wk + beta_w) / (n_k + sum beta),

where n are the counts of the other occurrences: of topics in the document, of words in topics, and of topics. A sweep draws
every z again. After a burn-in the probabilities, not the draws, are summed over sweeps; the sums plus beta, normalised,
estimate the posterior mean of the topics.

Documents are split into groups by a hash of their content. Within a group every document uses the counts of words in topics
from before the group; whole numbers are added afterwards. A draw is a hash of the content of the document, the number of its
copy, the position of the word and the sweep. Probabilities are summed in multiples of 2^-20, which double precision adds
exactly. So the result depends neither on a seed, nor on the order of documents, nor on the number of threads.

The parameters alpha and beta follow Minka's fixed point on the counts. beta has an entry for each word, shared by the topics,
which is large for words that are common to all topics.

Proportions of real documents are seldom Dirichlet: some topics often occur together, others never. So documents have one of K
kinds (at most 32), each with its alpha, and a sweep draws the kind of every document as well. These alphas are shrunk to that
of all documents. On planted worlds, two fits each from the true topics, the error with kinds is .75 of that with one kind for
logistic-normal proportions, .996 to 1.008 for seven worlds with Dirichlet ones, and 1.02 to 1.08 for four topics of 80 words.
With a given sum of alpha there is one kind.

Memory: 4 bytes for every occurrence of a word, and for every word and topic 20 bytes and 8 for each thread.

Source: T. Griffiths, M. Steyvers, Finding scientific topics, PNAS 101, 2004, for the sampler; H. Wallach, D. Mimno, A.
McCallum, Rethinking LDA: why priors matter, NIPS 2009, and T. Minka, Estimating a Dirichlet distribution, 2000, for the
priors; D. Newman, A. Asuncion, P. Smyth, M. Welling, Distributed algorithms for topic models, JMLR 10, 2009, for simultaneous
updates of documents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from joblib import effective_n_jobs
from numba import njit
from scipy import sparse
from scipy.special import digamma, gammaln

from ..exceptions import LatentiaError
from ..passes.blocks import Blocks, mix_bits
from ..system.threads import Parallel, run_in_chunks, threads
from .prevalence import unmixing_matrix

MAX_OCCURRENCES = 30_000_000
"""Sampled occurrences of words, in some 20 bytes each; of larger corpora a part of this size is sampled."""

_N_GROUPS = 16  # More groups follow the sampler more closely, and cost more waits between threads.
_INITIAL_ROUNDS = 3  # Rounds over a document with the initial topics, before there are counts.
_LANE_WIDTH = 8  # Topics are padded to a multiple of it.
_N_EXACT_BINS = 64  # Numbers of words below 64 have a bin each,
_BINS_PER_OCTAVE = 8  # and each doubling beyond has eight bins.
_N_BINS = _N_EXACT_BINS + 24 * _BINS_PER_OCTAVE
_PROBABILITY_UNIT = 1 << 20  # Probabilities are sums of multiples of one over this.
_ALPHA, _ALPHA_SUM, _BETA = 0.1, 2.0, 0.05  # Initial alpha, its largest initial sum, and initial beta.
_ALPHA_STEPS, _BETA_STEPS = 3, 2  # Steps of the fixed points after each sweep.
_LEARNING_STARTS_AT = 3  # Sweeps before the priors are estimated.
_MAX_KINDS = 32  # Kinds of documents.
_SHRINKAGE = 1.0  # Weight of the alpha of all documents in that of each kind, in occurrences of words.
_MIN_ALPHA, _MIN_BETA, _MAX_BETA = 1e-3, 1e-6, 1e3
_WINDOW, _DRIFT = 10, 2e-4  # The burn-in ends when the mean log-likelihood of ten sweeps rises by a smaller share.
_ALPHA_DRIFT = 0.02  # The same for the sum of alpha, which converges slowly for mixed documents; .01 is chance.
_MIN_BURN_IN, _MAX_BURN_IN = 20, 100  # Sweeps of a burn-in.
_MIN_BURN_IN_OF_PART, _MIN_AVERAGED = 15, 6  # Fewest sweeps of a burn-in, and of the average, for large corpora.
_SPREAD_EVERY = 5  # Averaged sweeps from one draw of the topics to the next.
_GIBBS_ROUNDS = 5, 20  # Rounds over a document with given topics: burn-in, and averaged.
_DOCUMENTS_AT_ONCE = 256  # Documents that a thread takes at a time.
_STREAM = 0x9E3779B97F4A7C15  # Odd multiplier of the hashes of copies.


@dataclass(frozen=True)
class TopicPosterior:
    """Posterior means and their errors.

    Attributes
    ----------
    topics : ndarray of shape (K, V)
    alpha : ndarray of shape (K,)
        Dirichlet parameters of the proportions.
    shares : ndarray of shape (K,)
        Shares of the topics in all words.
    spread : ndarray of shape (K,)
        Mean l1 distance of draws from the posterior to their mean.
    confusions : ndarray of shape (n_draws, K, K)
        Effect of the errors of draws from the posterior on proportions (`latentia.topics.prevalence`).
    noise : ndarray of shape (K,)
        l1 error of the mean from the finite number of sweeps: half of the distance between the means of both halves.
    log_likelihood : ndarray of shape (n_sweeps,)
        Log-likelihood of all words, each predicted from all others, in nats.
    drift : float
        Share of the log-likelihood that the second half of the averaged sweeps gains over the first.
    """

    topics: np.ndarray
    alpha: np.ndarray
    shares: np.ndarray
    spread: np.ndarray
    confusions: np.ndarray
    noise: np.ndarray
    log_likelihood: np.ndarray
    drift: float


def is_samplable(table: sparse.csr_array) -> bool:
    """Return True if all counts are whole numbers and their words fit into memory."""
    return bool(table.sum() <= 2 * MAX_OCCURRENCES and (table.data == np.rint(table.data)).all())


def sample_topics(
    table: sparse.csr_array,
    topics: np.ndarray,
    *,
    burn_in: int | Literal["auto"] = "auto",
    n_averaged: int = 50,
    effort: float = 1.0,
    alpha: np.ndarray | None = None,
    alpha_sum: float | None = None,
    n_jobs: int | None = None,
    all_documents: Blocks | None = None,
) -> TopicPosterior:
    """Run a chain and average it; if there are more documents than in the chain, then draw the topics of all once.

    Parameters
    ----------
    table : csr_array of shape (n, V)
        Whole counts, with documents and words in canonical order (`latentia.topics._ordering`).
    topics : ndarray of shape (K, V)
        Initial topics, positive wherever there are words.
    burn_in : int or "auto"
        Sweeps before the averaged ones; "auto" runs 20 to 100, until log-likelihood and alpha converge.
    n_averaged : int
    effort : float
        Share of the sweeps of a long burn-in, and of the averaged ones, that are run: at least 15 and 6.
    alpha : ndarray of shape (K,), optional
        Initial Dirichlet parameters of the proportions.
    alpha_sum : float, optional
        Their sum, if known.
    n_jobs : int, optional
    all_documents : Blocks, optional
        Documents of which ``table`` is a part. They are read once; every block is drawn with the topics of the chain and of the
        blocks before it.
    """
    n_workers = effective_n_jobs(n_jobs)
    with threads(n_workers) as parallel:
        sampler = TopicSampler(table, topics, alpha, alpha_sum, parallel, n_workers)
        sampler.burn_in(burn_in, max_sweeps=max(_MIN_BURN_IN_OF_PART, int(effort * _MAX_BURN_IN)))
        sampler.average(max(min(n_averaged, _MIN_AVERAGED), int(effort * n_averaged)))
        posterior = sampler.posterior()
        if all_documents is None:
            return posterior
        counts, counts_before = np.zeros(sampler.counts.shape), posterior.topics.T * sampler.counts.sum(axis=0)
        for block in all_documents:
            current_topics = (counts_before + counts).T
            current_topics /= np.maximum(current_topics.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            part = sparse.csr_array(block[0])
            longest = float(part.sum(axis=1).max())
            if longest > MAX_OCCURRENCES:
                raise LatentiaError(
                    f"A document has {longest:,.0f} words; at most {MAX_OCCURRENCES:,} can be sampled: leave it out, or use "
                    "refine=0."
                )
            counts += TopicSampler(part, current_topics, posterior.alpha, alpha_sum, parallel, n_workers).counts
    mean = counts + sampler.beta[:, None]
    topics = np.ascontiguousarray((mean / mean.sum(axis=0)).T)
    spread, confusion = draw_errors(mean, topics, 0)
    shares = counts.sum(axis=0) / counts.sum()
    return replace(posterior, topics=topics, shares=shares, spread=spread, confusions=confusion[None])


class TopicSampler:
    """State of the sampler: a topic for every occurrence, counts, priors, and sums of probabilities.

    Parameters are those of `sample_topics`.
    """

    def __init__(
        self,
        table: sparse.csr_array,
        topics: np.ndarray,
        alpha: np.ndarray | None,
        alpha_sum: float | None,
        parallel: Parallel,
        n_workers: int,
    ) -> None:
        self.n_topics, self._n_words = topics.shape
        self.alpha = (
            np.full(self.n_topics, min(_ALPHA, _ALPHA_SUM / self.n_topics))
            if alpha is None
            else np.array(alpha, np.float64)
        )
        self.beta, self._alpha_sum = np.full(self._n_words, _BETA), alpha_sum
        self.n_sweeps, self.log_likelihood = 0, list[float]()
        self._parallel, self._n_workers = parallel, n_workers
        data, indptr = table.data.astype(np.int32), table.indptr.astype(np.int64)
        tokens = np.append(0, np.cumsum(data, dtype=np.int64))[indptr]
        self._documents = indptr, table.indices.astype(np.int32), data, tokens
        self._keys = document_keys(table)
        group = mix_bits(self._keys) % np.uint64(_N_GROUPS)
        self._groups = [np.flatnonzero(group == g) for g in range(_N_GROUPS)]
        self._old = np.zeros(tokens[-1], np.uint16)
        self._new = np.zeros_like(self._old)
        width = -(-self.n_topics // _LANE_WIDTH) * _LANE_WIDTH
        self.counts = np.zeros((self._n_words, self.n_topics), np.int32)
        self._by_word = np.zeros((self._n_words, width), np.float32)
        self._by_word[:, : self.n_topics] = topics.T
        self._safe_inverse = np.ones(width, np.float32)
        self._sums = np.zeros((n_workers, 0, width))
        self._n_averaged, self._errors, self._noise = 0, list[tuple[np.ndarray, np.ndarray]](), np.zeros(self.n_topics)
        n_kinds = 1 if alpha_sum is not None else min(self.n_topics, _MAX_KINDS)
        self._kinds, self._kind_alpha = np.zeros(len(indptr) - 1, np.int64), np.tile(self.alpha, (n_kinds, 1))
        self._histogram = np.zeros((n_workers, n_kinds, 2, self.n_topics + 1, _N_BINS), np.int64)
        self._draw(started=False)
        _count_topics(*self._documents, self._new, self.counts)
        self._totals: np.ndarray = self.counts.sum(axis=0)
        self._old[:] = self._new
        self._refresh_weights()

    # --- sweeps -------------------------------------------------------------------------------------------------

    def burn_in(self, n_sweeps: int | Literal["auto"] = "auto", max_sweeps: int = _MAX_BURN_IN) -> None:
        """Sweep until the log-likelihood converges, or ``n_sweeps`` times."""
        if n_sweeps != "auto":
            for _ in range(n_sweeps):
                self._sweep()
            return
        alpha_sum = 0.0
        while self.n_sweeps < max_sweeps:
            self._sweep()
            if self.n_sweeps % _WINDOW:
                continue
            alpha_before, alpha_sum = alpha_sum, self.alpha.sum()
            if self.n_sweeps >= _MIN_BURN_IN:
                before, after = np.reshape(self.log_likelihood[-2 * _WINDOW :], (2, _WINDOW)).mean(axis=1)
                if after - before < _DRIFT * abs(after) and abs(alpha_sum - alpha_before) < _ALPHA_DRIFT * alpha_sum:
                    return

    def average(self, n_sweeps: int) -> None:
        """Sweep ``n_sweeps`` times, and sum the probabilities."""
        self._sums = np.zeros((self._n_workers, *self._by_word.shape))
        first_half = self.topics
        for i in range(n_sweeps):
            self._sweep(averaged=True)
            if i == n_sweeps // 2 - 1:
                first_half = self.topics
            if i >= n_sweeps // 2 and i % _SPREAD_EVERY == 0:
                self._errors.append(draw_errors(self.counts + self.beta[:, None], self.topics, i))
        self._noise = np.abs(first_half - self.topics).sum(axis=1)

    def posterior(self) -> TopicPosterior:
        """Return the posterior means."""
        values = np.array(self.log_likelihood)
        first, second = np.array_split(values[len(values) - self._n_averaged :], 2)
        drift = float((second.mean() - first.mean()) / abs(values[-1])) if len(second) and values[-1] else 0.0
        k = self.n_topics
        spread = np.mean([spread for spread, _ in self._errors], axis=0) if self._errors else np.zeros(k)
        confusions = np.array([confusion for _, confusion in self._errors]).reshape(-1, k, k)
        return TopicPosterior(self.topics, self.alpha, self.shares, spread, confusions, self._noise, values, drift)

    @property
    def topics(self) -> np.ndarray:
        """Posterior mean of the topics, (K, V), by the sums of probabilities or, before averaging, by the counts."""
        sums: np.ndarray = self.counts.astype(np.float64)
        if self._n_averaged:
            sums = self._sums.sum(axis=0)[:, : self.n_topics] / (_PROBABILITY_UNIT * self._n_averaged)
        mean = sums + self.beta[:, None]
        return np.ascontiguousarray((mean / mean.sum(axis=0)).T)

    @property
    def shares(self) -> np.ndarray:
        """Shares of the topics in all words, shape (K,)."""
        return np.asarray(self._totals / max(self._totals.sum(), 1))

    def _sweep(self, *, averaged: bool = False) -> None:
        self._draw(started=True, averaged=averaged)
        self.n_sweeps += 1
        self._n_averaged += averaged
        if self.n_sweeps >= _LEARNING_STARTS_AT:
            self._update_priors()

    def _draw(self, *, started: bool, averaged: bool = False) -> None:
        width = self._by_word.shape[1]
        alpha = np.zeros((len(self._kind_alpha), width), np.float32)
        alpha[:, : self.n_topics] = self._kind_alpha
        sums = self._sums if averaged else self._sums[:, :0]
        log_likelihood = np.zeros(self._n_workers, np.int64)
        sweep = np.uint64(self.n_sweeps + started)
        rounds = 1 if started else _INITIAL_ROUNDS
        n_documents = self._histogram.sum(axis=0)[:, 0, -1].sum(axis=1)
        log_rising = (
            _log_rising_factorials(self._kind_alpha, n_documents) if self.n_sweeps >= _LEARNING_STARTS_AT else _NO_KINDS
        )
        self._histogram[:] = 0
        for documents in self._groups:
            ends = np.linspace(0, len(documents), self._n_workers + 1).astype(np.int64)

            def draw(i: int, documents: np.ndarray = documents, ends: np.ndarray = ends) -> None:
                log_likelihood[i] += _draw_topics(
                    documents[ends[i] : ends[i + 1]], *self._documents, self._keys, sweep, self._by_word, self._safe_inverse,
                    alpha, log_rising, self._kinds, started, rounds, self._old, self._new, sums[i], self._histogram[i],
                )  # fmt: skip

            self._parallel(draw, self._n_workers)
            if started:
                _apply_changes(
                    documents, *self._documents, self._old, self._new, self.counts, self._totals, self._by_word
                )
                self._set_totals()
        if started:
            self.log_likelihood.append(float(log_likelihood.sum()) / _PROBABILITY_UNIT)

    def _update_priors(self) -> None:
        histogram = self._histogram.sum(axis=0)
        self.alpha = _estimate_alpha(self.alpha[None], histogram.sum(axis=0, keepdims=True))[0]
        if self._alpha_sum is not None:
            self.alpha *= self._alpha_sum / self.alpha.sum()
        several = len(self._kind_alpha) > 1
        self._kind_alpha = _estimate_alpha(self._kind_alpha, histogram, self.alpha) if several else self.alpha[None]
        self.beta = _estimate_beta(self.beta, self.counts)
        self._refresh_weights()

    def _refresh_weights(self) -> None:
        """Update the weights of words from counts and priors."""
        self._by_word[:, : self.n_topics] = self.counts + self.beta[:, None]
        self._set_totals()

    def _set_totals(self) -> None:
        self._safe_inverse[: self.n_topics] = 1 / (self._totals + self.beta.sum())


def draw_errors(parameters: np.ndarray, topics: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw topics from Dirichlet distributions, (V, K); return their l1 distances to the means (K, V), and the confusion."""
    rng = np.random.default_rng(
        number
    )  # Words are in canonical order, so that a fixed seed does not depend on the input.
    draws = rng.standard_gamma(parameters)
    error = draws / np.maximum(draws.sum(axis=0), 1e-300) - topics.T
    return np.abs(error).sum(axis=0), unmixing_matrix(topics, topics.mean(axis=0)) @ error


def mean_proportions(
    table: sparse.csr_array, topics: np.ndarray, alpha: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """Sample the posterior means of the proportions of documents under given topics, shape (n, K).

    Parameters
    ----------
    table : csr_array of shape (n, V)
        Whole counts.
    topics : ndarray of shape (K, V)
    alpha : ndarray of shape (K,)
    n_jobs : int, optional
    """
    keys, proportions = document_keys(table), np.empty((table.shape[0], len(topics)))
    indptr, indices, data = table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data.astype(np.int32)
    by_word = np.ascontiguousarray(topics.T)

    def sample(first: int, last: int) -> None:
        _sample_proportions(indptr, indices, data, first, last, keys, by_word, alpha, *_GIBBS_ROUNDS, proportions)

    run_in_chunks(sample, table.shape[0], _DOCUMENTS_AT_ONCE, n_jobs)
    return proportions


def document_keys(table: sparse.csr_array) -> np.ndarray:
    """Return a hash of every document's words, its number among its copies, and the number of all words."""
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    entries = mix_bits(table.indices.astype(np.uint64) + np.uint64(1)) ^ table.data.astype(np.uint64)
    content = np.full(table.shape[0], np.uint64(table.data.sum()))
    np.add.at(content, rows, mix_bits(entries))
    order = np.argsort(content, kind="stable")
    first = np.flatnonzero(np.append(True, content[order][1:] != content[order][:-1]))
    ordinal = np.empty(len(order), np.uint64)
    ordinal[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return mix_bits(mix_bits(content) + ordinal * np.uint64(_STREAM))


def _estimate_alpha(alpha: np.ndarray, histogram: np.ndarray, center: np.ndarray | None = None) -> np.ndarray:
    """Take steps of Minka's fixed point for each kind of documents, shape (n_kinds, K).

    Parameters
    ----------
    alpha : ndarray of shape (n_kinds, K)
    histogram : ndarray of shape (n_kinds, 2, K + 1, n_bins)
        Documents and their words by numbers of words in a topic; the last row is by length.
    center : ndarray of shape (K,), optional
        Center to which the parameters are shrunk.
    """
    n_kinds, k = alpha.shape
    kind, topic, bin_number = np.nonzero(histogram[:, 0])
    documents = histogram[kind, 0, topic, bin_number].astype(np.float64)
    size, of_topic = histogram[kind, 1, topic, bin_number] / documents, topic < k
    cell, (weight, target) = kind * k + topic, (0.0, 1.0) if center is None else (_SHRINKAGE, center)
    for _ in range(_ALPHA_STEPS):
        parameter = np.where(of_topic, alpha[kind, np.minimum(topic, k - 1)], alpha.sum(axis=1)[kind])
        terms = documents * (digamma(size + parameter) - digamma(parameter))
        numerator = alpha * np.bincount(cell[of_topic], terms[of_topic], n_kinds * k).reshape(n_kinds, k)
        denominator = np.bincount(kind[~of_topic], terms[~of_topic], n_kinds)[:, None]
        if not (denominator + weight > 0).all():
            return alpha
        alpha = np.maximum((numerator + weight) / (denominator + weight / target), _MIN_ALPHA)
    return alpha


def _log_rising_factorials(alpha: np.ndarray, n_documents: np.ndarray) -> np.ndarray:
    """Return log Gamma(n + alpha_k) / Gamma(alpha_k) for every kind, topic and n below 64, shape (n_kinds, K + 2, 64).

    The last two rows are minus the same for the sum of alpha, and the log share of the kind.
    """
    n = np.arange(_N_EXACT_BINS)
    parameters = np.column_stack([alpha, alpha.sum(axis=1)])[:, :, None]
    log_ratios = gammaln(n + parameters) - gammaln(parameters)
    log_ratios[:, -1] *= -1
    share = np.broadcast_to(np.log(n_documents + 1.0)[:, None, None], (len(alpha), 1, _N_EXACT_BINS))
    return np.concatenate([log_ratios, share], axis=1)


_NO_KINDS = np.empty((0, 0, _N_EXACT_BINS))


def _estimate_beta(beta: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Take steps of Minka's fixed point from the counts of words in topics, shape (V, K)."""
    words, topics = np.nonzero(counts)
    values, totals = counts[words, topics].astype(np.float64), counts.sum(axis=0)
    for _ in range(_BETA_STEPS):
        denominator = float((digamma(totals + beta.sum()) - digamma(beta.sum())).sum())
        if not denominator > 0:
            return beta
        numerator = digamma(values + beta[words]) - digamma(beta)[words]
        beta = np.clip(beta * np.bincount(words, numerator, len(beta)) / denominator, _MIN_BETA, _MAX_BETA)
    return beta


_REORDERED = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_REORDERED)
def _draw_topics(
    documents,
    indptr,
    indices,
    data,
    tokens,
    keys,
    sweep,
    by_word,
    inverse,
    alphas,
    log_rising,
    kinds,
    started,
    rounds,
    old_topics,
    new_topics,
    sums,
    histogram,
):
    """Draw topics for the words of some documents; return their log-likelihood in units of 2^-20 nats.

    ``alphas`` are those of the kinds of documents. Kinds are drawn with ``log_rising`` (`_log_rising_factorials`); without it
    the kind of a document is its most frequent topic. ``by_word`` and ``inverse`` are counts with their prior and one over
    their sums; or, before the chain has ``started``, topics and ones. ``sums``, if it has rows, receives the probabilities.
    """
    n_kinds, k = alphas.shape
    n_topics = histogram.shape[2] - 1
    in_document, weight, probabilities = np.empty(k, np.float32), np.empty(k, np.float32), np.empty(k, np.float32)
    blocks = np.empty(k // 8, np.float32)
    unit = np.float32(1)
    averaged = len(sums) > 0
    log_likelihood, chances = np.int64(0), np.empty(n_kinds)
    for d in documents:
        first, last = indptr[d], indptr[d + 1]
        start = tokens[d]
        in_document[:] = 0
        if started:
            for t in range(start, tokens[d + 1]):
                in_document[old_topics[t]] += unit
            if n_kinds > 1:
                n = tokens[d + 1] - start
                kinds[d] = _draw_kind(in_document[:n_topics], n, alphas, log_rising, keys[d], sweep, chances)
        alpha = alphas[kinds[d]]
        alpha_sum = alphas[kinds[d]].sum()
        for turn in range(rounds):
            for j in range(k):
                weight[j] = (in_document[j] + alpha[j]) * inverse[j]
            state = keys[d] + (sweep * np.uint64(rounds) + np.uint64(turn)) * np.uint64(0xD1B54A32D192ED03)
            t = start
            last_old, last_new = 0, 0
            log_probability, product = 0.0, 1.0
            for e in range(first, last):
                w = indices[e]
                for _ in range(data[e]):
                    z = old_topics[t] if started else new_topics[t]
                    total = np.float32(0)
                    for b in range(k // 8):
                        c = 8 * b
                        q0, q1, q2, q3 = (
                            weight[c] * by_word[w, c],
                            weight[c + 1] * by_word[w, c + 1],
                            weight[c + 2] * by_word[w, c + 2],
                            weight[c + 3] * by_word[w, c + 3],
                        )
                        q4, q5, q6, q7 = (
                            weight[c + 4] * by_word[w, c + 4],
                            weight[c + 5] * by_word[w, c + 5],
                            weight[c + 6] * by_word[w, c + 6],
                            weight[c + 7] * by_word[w, c + 7],
                        )
                        probabilities[c], probabilities[c + 1], probabilities[c + 2], probabilities[c + 3] = (
                            q0,
                            q1,
                            q2,
                            q3,
                        )
                        probabilities[c + 4], probabilities[c + 5], probabilities[c + 6], probabilities[c + 7] = (
                            q4,
                            q5,
                            q6,
                            q7,
                        )
                        s = ((q0 + q1) + (q2 + q3)) + ((q4 + q5) + (q6 + q7))
                        blocks[b] = s
                        total += s
                    # The weights lack the change of the last word, since a wide load right after a narrow store would stall.
                    if last_old != last_new:
                        weight[last_old] = (in_document[last_old] + alpha[last_old]) * inverse[last_old]
                        weight[last_new] = (in_document[last_new] + alpha[last_new]) * inverse[last_new]
                        change = weight[last_old] * by_word[w, last_old] - probabilities[last_old]
                        probabilities[last_old] += change
                        blocks[last_old // 8] += change
                        total += change
                        change = weight[last_new] * by_word[w, last_new] - probabilities[last_new]
                        probabilities[last_new] += change
                        blocks[last_new // 8] += change
                        total += change
                    if started or turn > 0:
                        in_document[z] -= unit
                        weight_z = (in_document[z] + alpha[z]) * inverse[z]
                        if started:
                            remaining_words = unit / inverse[z] - unit
                            change = (in_document[z] + alpha[z]) * (
                                by_word[w, z] - unit
                            ) / remaining_words - probabilities[z]
                        else:
                            change = weight_z * by_word[w, z] - probabilities[z]
                        probabilities[z] += change
                        blocks[z // 8] += change
                        total += change
                    product *= total
                    if not 1e-200 < product < 1e200:
                        log_probability += np.log(min(max(product, 1e-300), 1e300))
                        product = 1.0
                    state += np.uint64(0x9E3779B97F4A7C15)
                    bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    threshold = np.float32(np.int64(bits >> np.uint64(40))) * np.float32(1.0 / (1 << 24)) * total
                    b = 0
                    while b < k // 8 - 1 and blocks[b] <= threshold:
                        threshold -= blocks[b]
                        b += 1
                    j = 8 * b
                    end = min(8 * b + 8, n_topics) - 1
                    while j < end and probabilities[j] <= threshold:
                        threshold -= probabilities[j]
                        j += 1
                    new_topics[t] = j
                    in_document[j] += unit
                    if started or turn > 0:
                        last_old, last_new = z, j
                    else:
                        weight[j] = (in_document[j] + alpha[j]) * inverse[j]
                        last_old, last_new = 0, 0
                    if averaged:
                        scale = np.float32(1 << 20) / total
                        for i in range(k):
                            sums[w, i] += np.int32(probabilities[i] * scale)
                    t += 1
        n = tokens[d + 1] - start
        if n > 0:
            log_probability += np.log(product) - n * np.log(n - 1 + alpha_sum)
            log_likelihood += np.int64(np.rint(log_probability * (1 << 20)))
            _add_to_histogram(histogram[kinds[d]], n_topics, n)
            for j in range(n_topics):
                if in_document[j] > 0:
                    _add_to_histogram(histogram[kinds[d]], j, int(in_document[j]))
    return log_likelihood


@njit(nogil=True, cache=True)
def _draw_kind(in_document, n, alphas, log_rising, key, sweep, chances):
    """Draw the kind of a document, given how many of its words have each topic."""
    n_kinds = len(alphas)
    if not len(log_rising):
        return np.argmax(in_document) % n_kinds
    for c in range(n_kinds):
        log_chance = log_rising[c, -1, 0]
        if n < 64:
            log_chance += log_rising[c, -2, n]
        else:
            alpha_sum = np.float64(alphas[c].sum())
            log_chance += math.lgamma(alpha_sum) - math.lgamma(alpha_sum + n)
        chances[c] = log_chance
    for j in range(len(in_document)):
        n_j = int(in_document[j])
        if n_j > 0:
            for c in range(n_kinds):
                if n_j < 64:
                    chances[c] += log_rising[c, j, n_j]
                else:
                    chances[c] += math.lgamma(alphas[c, j] + n_j) - math.lgamma(np.float64(alphas[c, j]))
    chances -= chances.max()
    total = 0.0
    for c in range(n_kinds):
        chances[c] = np.exp(chances[c])
        total += chances[c]
    bits = (key ^ (sweep + np.uint64(1)) * np.uint64(0xD6E8FEB86659FD93)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    threshold = np.float64(np.int64(bits >> np.uint64(11))) * (1.0 / (1 << 53)) * total
    c = 0
    while c < n_kinds - 1 and chances[c] <= threshold:
        threshold -= chances[c]
        c += 1
    return c


@njit(inline="always")
def _add_to_histogram(histogram, row, n):
    b = n if n < 64 else min(64 + int(8 * np.log2(n / 64.0)), histogram.shape[2] - 1)
    histogram[0, row, b] += 1
    histogram[1, row, b] += n


@njit(nogil=True, cache=True)
def _apply_changes(documents, indptr, indices, data, tokens, old, new, counts, totals, by_word):
    """Update the counts for the words whose topics have changed."""
    for d in documents:
        t = tokens[d]
        for e in range(indptr[d], indptr[d + 1]):
            w = indices[e]
            for _ in range(data[e]):
                a, b = old[t], new[t]
                if a != b:
                    counts[w, a] -= 1
                    counts[w, b] += 1
                    totals[a] -= 1
                    totals[b] += 1
                    by_word[w, a] -= np.float32(1)
                    by_word[w, b] += np.float32(1)
                    old[t] = b
                t += 1


@njit(nogil=True, cache=True)
def _count_topics(indptr, indices, data, tokens, new, counts):
    for d in range(len(indptr) - 1):
        t = tokens[d]
        for e in range(indptr[d], indptr[d + 1]):
            for _ in range(data[e]):
                counts[indices[e], new[t]] += 1
                t += 1


@njit(nogil=True, cache=True)
def _sample_proportions(indptr, indices, data, first, last, keys, by_word, alpha, n_before, n_averaged, proportions):
    """Average the counts of topics in documents over rounds of Gibbs sampling with given topics."""
    k = len(alpha)
    weights, cumulative = np.empty(k), np.empty(k)
    for d in range(first, last):
        n = 0
        for e in range(indptr[d], indptr[d + 1]):
            n += data[e]
        topic_of, state = np.empty(n, np.int64), keys[d]
        weights[:] = alpha
        proportions[d] = 0.0
        for turn in range(n_before + n_averaged):
            t = 0
            for e in range(indptr[d], indptr[d + 1]):
                w = indices[e]
                for _ in range(data[e]):
                    if turn > 0:
                        weights[topic_of[t]] -= 1.0
                    total = 0.0
                    for j in range(k):
                        total += weights[j] * by_word[w, j]
                        cumulative[j] = total
                    if turn >= n_before:
                        previous = 0.0
                        for j in range(k):
                            proportions[d, j] += (cumulative[j] - previous) / total
                            previous = cumulative[j]
                    state += np.uint64(0x9E3779B97F4A7C15)
                    bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    threshold = (bits >> np.uint64(11)) * (1.0 / (1 << 53)) * total
                    j = 0
                    while j < k - 1 and cumulative[j] <= threshold:
                        j += 1
                    topic_of[t] = j
                    weights[j] += 1.0
                    t += 1
        total = 0.0
        for j in range(k):
            proportions[d, j] = proportions[d, j] / n_averaged + alpha[j]
            total += proportions[d, j]
        for j in range(k):
            proportions[d, j] /= total
