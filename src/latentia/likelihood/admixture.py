"""Documents as mixtures of known topics: proportions, and the EM update of the topics.

Model: word probabilities of a document are w^T A with topics in the rows of A (K x V). `fold_in` iterates

    w_k <- (w_k sum_v c_v A_kv / (w^T A)_v + alpha_k) / (n + sum alpha),

EM for w under smoothing by the pseudo-counts alpha (the mode under a Dirichlet(1 + alpha) prior, so that small alpha
does not push proportions to the boundary). The fixed point of an empty document is alpha normalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from .._threads import Parallel, for_chunks
from ..moments.counts import Counts, as_counts
from ..passes import Block
from .coordinates import Distributions, Expected, Values

__all__ = ["COLUMNS", "AdmixtureUpdate", "Proportions", "add_expected", "fold_in", "token_probabilities"]

_ROWS, COLUMNS = 256, 16


def fold_in(
    table: Any,
    topics: np.ndarray,
    alpha: np.ndarray,
    *,
    max_iter: int = 100,
    tol: float = 1e-4,
    start: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Topic proportions of documents.

    Parameters
    ----------
    table : array or sparse matrix of shape (n_documents, n_words)
        Counts.
    topics : ndarray of shape (K, n_words)
    alpha : ndarray of shape (K,)
        Pseudo-counts, positive.
    max_iter : int
        Most iterations for a document.
    tol : float
        A document stops when its proportions move by less than this in l1.
    start : ndarray of shape (n_documents, K), optional
    n_jobs : int, optional

    Returns
    -------
    ndarray of shape (n_documents, K), rows sum to one
    """
    counts, by_word = as_counts(table), np.ascontiguousarray(topics.T, dtype=np.float64)
    n = len(counts.indptr) - 1
    weights = np.tile(alpha / alpha.sum(), (n, 1)) if start is None else np.array(start, dtype=np.float64)
    unused = np.empty((0, 0)), np.empty(0)
    alpha = np.asarray(alpha, dtype=np.float64)
    for_chunks(lambda a, b: _iterate(*counts, a, b, by_word, alpha, max_iter, tol, weights, *unused), n, _ROWS, n_jobs)
    return weights


def token_probabilities(table: Any, topics: np.ndarray, proportions: np.ndarray) -> np.ndarray:
    """(w_d^T A)_v for every stored entry (d, v) of a CSR table, in its order, shape (nnz,)."""
    counts = as_counts(table)
    probability = np.empty(len(counts.data))
    by_word = np.ascontiguousarray(topics.T, dtype=np.float64)
    _probabilities(counts.indptr, counts.indices, by_word, np.ascontiguousarray(proportions), probability)
    return probability


@dataclass
class AdmixtureSums:
    """Expected counts of every word in every topic over its probability, in chunks of topics, (V, at most 16), and nats."""

    ratios: list[np.ndarray]
    log_likelihood: float = 0.0


@dataclass
class Proportions:
    """Proportions of all documents, kept from pass to pass, so that a few inner iterations suffice after the first.

    Attributes
    ----------
    values : ndarray of float32, shape (n_documents, K)
        By position of the row in the pass.
    first, later : int
        Inner iterations for a document in the first pass, and in every other.
    n_begun : int
        Documents, from the first on, that a pass has iterated before.
    """

    values: np.ndarray
    first: int = 10
    later: int = 3
    n_begun: int = 0

    def n_inner(self, documents: slice) -> int:
        """Inner iterations for these documents now."""
        return self.later if documents.stop <= self.n_begun else self.first

    def shares(self) -> np.ndarray:
        """Mean proportions of the documents, shape (K,)."""
        mean = np.asarray(self.values.mean(axis=0, dtype=np.float64))
        return mean / mean.sum()


class AdmixtureUpdate:
    """In-place statistic of one EM pass: expected counts of every word in every topic, shape (V, K).

    The expected counts are A * (sum_d r_d w_d^T) with r_dv = c_dv / (w_d^T A)_v: rows of the block update their proportions
    and ratios first, then each task sums a chunk of the topics. Proportions and topics are in float32, which halves the
    bytes and changes the topics by less than 1e-5 in l1; sums over documents are in float64.

    Parameters
    ----------
    topics : ndarray of shape (K, V)
    alpha : ndarray of shape (K,)
    proportions : Proportions
        A pass changes them in place.
    leave_one_out : bool
        Whether an occurrence of a word is attributed to topics by the rest of the document alone, its own share being
        taken out of the proportions first. Point estimates of proportions attribute too sharply in short documents;
        this removes nearly all of that bias where ``alpha`` are the Dirichlet parameters of the proportions (it is
        the fixed point of collapsed variational Bayes of order zero, Asuncion et al. 2009, up to terms of order one
        over the length).
    prior : float or ndarray of shape (V,)
        Pseudo-counts of every word in a topic.
    """

    def __init__(
        self,
        topics: np.ndarray,
        alpha: np.ndarray,
        proportions: Proportions,
        *,
        leave_one_out: bool = False,
        prior: Any = 0.0,
    ) -> None:
        self.topics, self.by_word = topics, np.ascontiguousarray(topics.T, dtype=np.float32)
        self.alpha, self.proportions = alpha.astype(np.float32), proportions
        self.leave_one_out, self.prior = leave_one_out, prior

    @property
    def values(self) -> Values:
        return (self.topics,)

    def at(self, *values: np.ndarray) -> AdmixtureUpdate:
        options: dict[str, Any] = {"leave_one_out": self.leave_one_out, "prior": self.prior}
        (topics,) = values
        return AdmixtureUpdate(topics, self.alpha, self.proportions, **options)

    def zero(self) -> AdmixtureSums:
        n_words, k = self.by_word.shape
        return AdmixtureSums([np.zeros((n_words, min(COLUMNS, k - a))) for a in range(0, k, COLUMNS)])

    def add_tasks(self, state: AdmixtureSums, block: Block, parallel: Parallel) -> AdmixtureSums:
        counts: Counts = as_counts(block[0])
        n = len(counts.indptr) - 1
        documents = slice(block.start, block.start + n)
        weights, n_inner = self.proportions.values[documents], self.proportions.n_inner(documents)
        data = counts.data.astype(np.float32)
        used, ratio = np.empty_like(weights), np.empty_like(data)
        own = np.empty_like(data) if self.leave_one_out else ratio

        def rows(i: int) -> None:
            span = (i * _ROWS, min(n, (i + 1) * _ROWS))
            document = (counts.indptr, counts.indices, data, *span, self.by_word, self.alpha, n_inner)
            if self.leave_one_out:
                _iterate_without_own(*document, weights, used, ratio, own)
            else:
                _iterate(*document, 0.0, weights, used, ratio)

        def columns(i: int) -> None:
            span = slice(i * COLUMNS, (i + 1) * COLUMNS)
            chunk = np.ascontiguousarray(used[:, span])
            if self.leave_one_out:
                by_word = np.ascontiguousarray(self.by_word[:, span])
                _add_expected_without_own(counts.indptr, counts.indices, ratio, own, by_word, chunk, state.ratios[i])
            else:
                add_expected(counts.indptr, counts.indices, ratio, chunk, state.ratios[i])

        parallel(rows, -(-n // _ROWS))
        parallel(columns, len(state.ratios))
        self.proportions.n_begun = max(self.proportions.n_begun, documents.stop)
        state.log_likelihood += _nats(counts.data, ratio)
        return state

    def expected(self, sums: AdmixtureSums) -> tuple[Expected, ...]:
        return (Distributions(self.topics, (self.by_word * np.concatenate(sums.ratios, axis=1)).T, self.prior),)


def _nats(counts: np.ndarray, ratio: np.ndarray) -> float:
    """Log-likelihood of the words by the proportions that they were attributed by: their probabilities are c / ratio."""
    seen = (ratio > 0) & (counts > 0)
    return float(counts[seen] @ (np.log(counts[seen]) - np.log(ratio[seen].astype(np.float64))))


# Sums over topics may be reordered, which lets them use vector registers; the order is fixed when this is compiled, so long
# as no loop both sums and stores: such loops are compiled twice, and where arrays lie in memory says which one runs.
@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _iterate(
    indptr, indices, data, first, last, by_word, alpha, max_iter, tol, weights, used, ratio
):  # pragma: no cover - compiled
    """Iterate the proportions of rows first to last.

    Unless ``ratio`` is empty, the last iteration leaves there c / (w A), and in ``used`` the w it started from.
    """
    k = by_word.shape[1]
    zero = weights.dtype.type(0)
    gain = np.empty(k, weights.dtype)
    prior = zero
    for j in range(k):
        prior += alpha[j]
    for d in range(first, last):
        w = weights[d]
        for iteration in range(max_iter):
            keep = len(ratio) > 0 and iteration == max_iter - 1
            gain[:] = zero
            for e in range(indptr[d], indptr[d + 1]):
                row = by_word[indices[e]]
                p = zero
                for j in range(k):
                    p += w[j] * row[j]
                r = data[e] / p if p > zero else zero
                for j in range(k):
                    gain[j] += r * row[j]
                if keep:
                    ratio[e] = r
            for j in range(k):
                if keep:
                    used[d, j] = w[j]
                gain[j] = w[j] * gain[j] + alpha[j]
            total = zero
            for j in range(k):
                total += gain[j]
            for j in range(k):
                gain[j] = gain[j] / total if total > zero else alpha[j] / prior
            moved = zero
            for j in range(k):
                moved += abs(gain[j] - w[j])
            w[:] = gain
            if len(ratio) == 0 and moved <= tol:
                break


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _iterate_without_own(
    indptr, indices, data, first, last, by_word, alpha, n_inner, weights, used, ratio, own
):  # pragma: no cover - compiled
    """Iterate the proportions of rows first to last, every occurrence being attributed by the others.

    With p = (w A)_v, the pseudo-counts without an occurrence of v are w (N + sum alpha - A_v / p), N being the
    length. The last iteration leaves in ``ratio`` c (N + sum alpha) / q and in ``own`` c / (p q), with q the sum over
    topics of these pseudo-counts times A_v, and in ``used`` the w it started from: expected counts are A_v w (ratio -
    own A_v).
    """
    k = by_word.shape[1]
    zero = weights.dtype.type(0)
    gain, left = np.empty(k, weights.dtype), np.empty(k, weights.dtype)
    prior = zero
    for j in range(k):
        prior += alpha[j]
    for d in range(first, last):
        w = weights[d]
        total = prior
        for e in range(indptr[d], indptr[d + 1]):
            total += data[e]
        for _ in range(n_inner):
            gain[:] = zero
            for e in range(indptr[d], indptr[d + 1]):
                row = by_word[indices[e]]
                p = zero
                for j in range(k):
                    p += w[j] * row[j]
                inverse = weights.dtype.type(1) / p if p > zero else zero
                for j in range(k):
                    left[j] = max(total - row[j] * inverse, zero) * w[j] * row[j]
                q = zero
                for j in range(k):
                    q += left[j]
                r = data[e] / q if q > zero else zero
                for j in range(k):
                    gain[j] += r * left[j]
                ratio[e], own[e] = r * total, r * inverse
            for j in range(k):
                used[d, j] = w[j]
                w[j] = (gain[j] + alpha[j]) / total


@njit(nogil=True, cache=True)
def _add_expected_without_own(indptr, indices, ratio, own, by_word, weights, total):  # pragma: no cover - compiled
    k = weights.shape[1]
    for d in range(len(indptr) - 1):
        w = weights[d]
        for e in range(indptr[d], indptr[d + 1]):
            r, s = ratio[e], own[e]
            topic, row = by_word[indices[e]], total[indices[e]]
            for j in range(k):
                row[j] += w[j] * max(r - s * topic[j], 0.0)


@njit(nogil=True, cache=True)
def add_expected(indptr, indices, ratio, weights, total):  # pragma: no cover - compiled
    """Add ratio[e] weights[d] to the row of ``total`` of every stored entry e of document d."""
    k = weights.shape[1]
    for d in range(len(indptr) - 1):
        w = weights[d]
        for e in range(indptr[d], indptr[d + 1]):
            r = ratio[e]
            row = total[indices[e]]
            for j in range(k):
                row[j] += r * w[j]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _probabilities(indptr, indices, by_word, weights, probability):  # pragma: no cover - compiled
    for d in range(len(indptr) - 1):
        for e in range(indptr[d], indptr[d + 1]):
            p = 0.0
            for j in range(by_word.shape[1]):
                p += weights[d, j] * by_word[indices[e], j]
            probability[e] = p
