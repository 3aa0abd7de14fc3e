"""Collapsed variational Bayes of order zero: documents that mix topics, with proportions and topics integrated out.

Model: a document has proportions from Dirichlet(alpha), a topic has word probabilities from Dirichlet(beta), and every
occurrence of a word draws a topic and then the word. Each stored count c of word w in document d has shares r_k over the
topics, and a sweep sets them to

    r_k  proportional to  (N_dk - r_k + alpha_k) (N_wk - c r_k + beta_w) / (N_k - c r_k + sum beta),

where N are the counts that the shares imply: of topics in the document, of words in topics, and of topics. An occurrence thus
does not influence its own attribution, neither through its document nor through its topic. In expectation maximisation it
influences both: short documents end in one topic each, and rare words stay in the topic where they started.

The documents of a block come in four groups, each with a copy of the counts of words in topics. Within a group, the counts of a
document change at once and those of words after the document; the groups' changes are summed in order at the end. The bits
therefore do not depend on the number of threads, of which at most four are busy. Work for K topics: about 16 flops for every
stored count and topic. Bytes: the shares are read and written once, 8 K a count in memory, or 48 (64 above 256 topics) packed
in a file; and 16 V K for the copies.

The parameters alpha follow Minka's fixed point, with counts of the words of each topic in a document. Expected counts do not
suffice: shares do not tell how the words of a document go together, and make all documents mix all topics a little. So the
topics of some documents' words are drawn from their shares, followed by two rounds of Gibbs sampling within each document. The
draws depend on the position of the document alone, and influence alpha alone.

Source: A. Asuncion, M. Welling, P. Smyth, Y. W. Teh, On smoothing and inference for topic models, UAI 2009; T. Minka,
Estimating a Dirichlet distribution, 2000.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numba import njit
from scipy import sparse
from scipy.special import digamma
from sklearn import get_config

from ..likelihood import Distributions, Expected, Values
from ..moments.counts import Counts, as_counts
from ..passes import Block
from ..system.scratch import scratch_folder
from ..system.threads import Parallel

_N_GROUPS = 4  # Groups of the documents of a block, each with its copy of the counts.
_WORDS_PER_TASK = 1024  # Words that a thread sums at a time.
_FIRST_ROUNDS, _LATER_ROUNDS = 3, 1  # Rounds over a document, in the first sweep and in later ones.
_N_PACKED = 8  # A file stores this many of the largest shares of a count.
_MIN_SHARE = 1e-3  # Packed shares are at least this.
_BINS_PER_OCTAVE = 8  # Bins of the histograms of counts of topics in documents.
_N_BINS = 32 * _BINS_PER_OCTAVE
_SWEEPS_PER_ALPHA = 5  # Every fifth sweep estimates alpha.
_ALPHA_DOCUMENTS, _GIBBS_ROUNDS = (
    1000,
    2,
)  # An estimate of alpha draws topics in 1000 documents, with two Gibbs rounds each.
_LONG_DOCUMENT = 20_000  # Longer documents get expected counts instead of drawn ones,
_MAX_TOPIC_WORDS = 1e12  # which are at most this large.
_ALPHA_STEPS = 5  # Steps of Minka's fixed point.
_MIN_ALPHA = 1e-3
_LANES = 8  # Topics in a vector register: rows of shares and counts are padded to a multiple of it.
_TINY = np.float32(1e-30)


class Shares(Protocol):
    """The shares of every stored count of a source, from sweep to sweep."""

    width: int
    """Topics and the zeros after them."""

    def begin(self, block: int, n: int) -> None:
        """Make room for a block with n stored counts, if there is none yet; they are zero."""

    def sweep(self, block: int, documents: Any) -> None:
        """Update the shares of some documents of a block; ``documents`` are the first arguments of `_sweep`."""

    def load(self, block: int, first: int, last: int) -> np.ndarray:
        """Return the shares of counts first to last of a block, float32 of shape (last - first, width)."""


class _MemoryShares:
    """Shares in memory, in single precision."""

    def __init__(self, n_topics: int) -> None:
        self.n_topics, self.width = n_topics, _pad_width(n_topics)
        self._tables: dict[int, np.ndarray] = {}

    def sweep(self, block: int, documents: Any) -> None:
        _sweep(*documents, self._tables[block])  # type: ignore[call-arg]

    def begin(self, block: int, n: int) -> None:
        if block not in self._tables:
            self._tables[block] = np.zeros((n, self.width), np.float32)

    def load(self, block: int, first: int, last: int) -> np.ndarray:
        return self._tables[block][first:last]

    def join(self, place: np.ndarray) -> None:
        """Add the shares of every topic to those at its new place."""
        self.n_topics = int(place.max()) + 1
        self.width = _pad_width(self.n_topics)
        for number, table in self._tables.items():
            self._tables[number] = np.zeros((len(table), self.width), np.float32)
            _join_columns(table, place, self._tables[number])


class _FileShares:
    """Shares in files that are mapped into memory: the eight largest of every count, in 16 bits each."""

    def __init__(self, n_topics: int, folder: Path) -> None:
        self.n_topics, self.width, self._folder = n_topics, _pad_width(n_topics), folder
        self._kind = np.uint8 if n_topics <= 256 else np.uint16
        self._files: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def sweep(self, block: int, documents: Any) -> None:
        _sweep_packed(*documents, *self._files[block])  # type: ignore[call-arg]

    def begin(self, block: int, n: int) -> None:
        if block not in self._files:
            self._files[block] = (
                self._map_file(f"{block}.topics", n, self._kind),
                self._map_file(f"{block}.parts", n, np.uint16),
            )

    def load(self, block: int, first: int, last: int) -> np.ndarray:
        topics, parts = self._files[block]
        table = np.zeros((last - first, self.width), np.float32)
        _unpack_shares(topics[first:last], parts[first:last], table)
        return table

    def _map_file(self, name: str, n: int, dtype: Any) -> np.ndarray:
        if not n:
            return np.zeros((0, _N_PACKED), dtype)
        return np.asarray(np.memmap(self._folder / name, dtype, "w+", shape=(n, _N_PACKED)))


def fit_in_memory(n_entries: float, n_topics: int) -> bool:
    """Return True if the shares of this many stored counts fit into memory without packing.

    They may take scikit-learn's ``working_memory``, which is 1 GB unless it is set.
    """
    return bool(n_entries * _pad_width(n_topics) * 4 <= get_config()["working_memory"] * (1 << 20))


@contextmanager
def allocate_shares(n_entries: int, n_topics: int, *, in_memory: bool = False) -> Iterator[Shares]:
    """Allocate shares for this many stored counts: in memory if they fit or if asked for, else in temporary files."""
    if in_memory or fit_in_memory(n_entries, n_topics):
        yield _MemoryShares(n_topics)
        return
    with scratch_folder() as folder:
        yield _FileShares(n_topics, folder)


@dataclass
class SweepSums:
    """Sums of a sweep.

    Attributes
    ----------
    log_likelihood : float
        Of all words, each predicted from all others, in nats.
    histograms : ndarray of shape (2, K + 1, n_bins)
        Number of documents, and of their words, by the binned count of words of each topic in a document; the last row is by
        the length of the document.
    """

    log_likelihood: float = 0.0
    histograms: np.ndarray = field(default_factory=lambda: np.zeros((2, 0, _N_BINS)))


class SweepUpdate:
    """In-place statistic of one sweep, with the state of the sweeps: counts, shares and Dirichlet parameters.

    The first sweep attributes words by the initial topics, and later ones by the counts of the sweep before.

    Parameters
    ----------
    topics : ndarray of shape (K, V)
        Positive wherever there are words.
    alpha : ndarray of shape (K,)
        Dirichlet parameters of the proportions.
    shares : Shares
    n_rows : int
        Documents of the source.
    prior : ndarray of shape (V,)
        Pseudo-counts of every word in a topic, positive.
    learn_alpha : bool
        Whether the Dirichlet parameters are estimated, in every fifth sweep.
    """

    keeps_rows = True

    def __init__(
        self,
        topics: np.ndarray,
        alpha: np.ndarray,
        shares: Shares,
        n_rows: int,
        *,
        prior: np.ndarray,
        learn_alpha: bool = True,
    ) -> None:
        self.topics, self.alpha, self.shares = topics, np.asarray(alpha, dtype=np.float64), shares
        self.prior, self.learn_alpha = np.asarray(prior, dtype=np.float64), learn_alpha
        self.n_sweeps, self.log_likelihood = 0, list[float]()
        self._stride = max(-(-n_rows // _ALPHA_DOCUMENTS), 1)
        self._counts = np.zeros(topics.T.shape)
        self._totals = np.full(len(self.alpha), self.prior.sum())
        self._set_word_weights(topics.T)

    @property
    def values(self) -> Values:
        return (self.topics,)

    @property
    def counts(self) -> np.ndarray:
        """Words in topics, shape (V, K)."""
        return self._counts

    def move_to(self, *values: np.ndarray) -> SweepUpdate:
        (self.topics,) = values
        return self

    def zero(self) -> SweepSums:
        return SweepSums(histograms=np.zeros((2, len(self.alpha) + 1, _N_BINS)))

    def add_tasks(self, state: SweepSums, block: Block, parallel: Parallel) -> SweepSums:
        counts = as_counts(block[0])
        n, has_started = len(counts.indptr) - 1, self.n_sweeps > 0
        data, probabilities = counts.data.astype(np.float32), np.empty(len(counts.data), np.float32)
        group_ends = np.searchsorted(counts.indptr, counts.indptr[-1] * np.arange(1, _N_GROUPS) / _N_GROUPS)
        group_ends = np.array([0, *group_ends, n])
        k, rounds = len(self.alpha), _LATER_ROUNDS if has_started else _FIRST_ROUNDS
        alpha, floors = self._pad(self.alpha), self._pad(np.full(k, _TINY))
        inverse = self._pad(1 / self._totals if has_started else np.ones(k))
        self.shares.begin(block.number, len(data))

        def sweep(g: int) -> None:
            copy = self._copies[g]
            copy[:] = self._by_word if has_started else 0
            word_weights = copy if has_started else self._by_word
            document = counts.indptr, counts.indices, data, group_ends[g], group_ends[g + 1]
            self.shares.sweep(
                block.number,
                (*document, word_weights, copy, inverse, alpha, floors, np.float32(has_started), rounds, probabilities),
            )

        def merge(i: int) -> None:
            words = slice(i * _WORDS_PER_TASK, (i + 1) * _WORDS_PER_TASK)
            before = self._by_word[words, :k] if has_started else np.float32(0)
            for copy in self._copies:
                self._counts[words] += copy[words, :k] - before
            np.maximum(self._counts[words], 0.0, out=self._counts[words])  # changes of large counts are rounded
            if has_started:
                self._by_word[words, :k] = self._counts[words] + self.prior[words, None]

        parallel(sweep, _N_GROUPS)
        parallel(merge, -(-len(self._counts) // _WORDS_PER_TASK))
        self._totals = self._counts.sum(axis=0) + self.prior.sum()
        is_possible = probabilities > 0
        state.log_likelihood += float(counts.data[is_possible] @ np.log(probabilities[is_possible].astype(np.float64)))
        if self._learns_alpha:
            self._draw_topics(state, block, counts, data, inverse, alpha[:k], parallel)
        return state

    def expected(self, sums: SweepSums) -> tuple[Expected, ...]:
        if self._learns_alpha:
            self.alpha = _estimate_alpha(self.alpha, *sums.histograms)
        if not self.n_sweeps:
            self._by_word[:, : len(self.alpha)] = self._counts + self.prior[:, None]
        self.n_sweeps += 1
        self.log_likelihood.append(sums.log_likelihood)
        return (Distributions(self.topics, self._counts.T, self.prior),)

    @property
    def _learns_alpha(self) -> bool:
        return self.learn_alpha and self.n_sweeps % _SWEEPS_PER_ALPHA == _SWEEPS_PER_ALPHA - 1

    def _draw_topics(
        self,
        state: SweepSums,
        block: Block,
        counts: Counts,
        data: np.ndarray,
        inverse: np.ndarray,
        alpha: np.ndarray,
        parallel: Parallel,
    ) -> None:
        """Draw topics for the words of some documents of a block, and add them to the histograms."""
        documents = np.flatnonzero((block.start + np.arange(len(counts.indptr) - 1)) % self._stride == 0)
        topic_counts = np.empty((len(documents), len(alpha)), np.int64)

        def draw(i: int) -> None:
            d = int(documents[i])
            shares = self.shares.load(block.number, int(counts.indptr[d]), int(counts.indptr[d + 1]))
            document = counts.indptr, counts.indices, data, d, block.start + d
            _draw_topics(*document, self._by_word, inverse, alpha, shares, topic_counts[i])

        parallel(draw, len(documents))
        _add_to_histograms(topic_counts, state.histograms)

    def join(self, n_left: int) -> None:
        """Join the most similar topics, pair by pair, until ``n_left`` remain. The shares must be in memory."""
        if not isinstance(self.shares, _MemoryShares):
            raise TypeError("Expected shares in memory: packed shares cannot be joined.")
        losses = _compute_join_losses(self._counts, self.prior)
        np.fill_diagonal(losses, np.inf)
        pairs: list[tuple[int, int]] = []
        is_free = np.ones(len(losses), dtype=bool)
        for flat in np.argsort(losses, axis=None, kind="stable"):
            first, second = sorted(divmod(int(flat), len(losses)))
            if len(pairs) == len(losses) - n_left or first == second:
                break
            if is_free[first] and is_free[second]:
                pairs.append((first, second))
                is_free[[first, second]] = False
        remaining = np.delete(np.arange(len(losses)), [second for _, second in pairs])
        places = np.zeros(len(losses), np.int64)
        places[remaining] = np.arange(len(remaining))
        for first, second in pairs:
            places[second] = places[first]
        indicator = sparse.csr_array((np.ones(len(places)), (np.arange(len(places)), places)))
        self.shares.join(places)
        self._counts, self.alpha, self.topics = (
            self._counts @ indicator,
            indicator.T @ self.alpha,
            indicator.T @ self.topics,
        )
        self.topics /= self.topics.sum(axis=1, keepdims=True)
        self._totals = self._counts.sum(axis=0) + self.prior.sum()
        self._set_word_weights(self._counts + self.prior[:, None])

    def _set_word_weights(self, by_word: np.ndarray) -> None:
        """Set the weights of words in topics, (V, K), and allocate their copies."""
        self._by_word = np.zeros((len(by_word), self.shares.width), np.float32)
        self._by_word[:, : by_word.shape[1]] = by_word
        self._copies = np.empty((_N_GROUPS, *self._by_word.shape), np.float32)

    def _pad(self, values: np.ndarray) -> np.ndarray:
        """Pad values of the topics with zeros, in single precision."""
        return np.append(values, np.zeros(self.shares.width - len(values))).astype(np.float32)


def _pad_width(n_topics: int) -> int:
    return -(-n_topics // _LANES) * _LANES


def _compute_join_losses(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Approximate the nats that the words lose if two topics become one, shape (K, K).

    The loss is n_a D(a || ab) + n_b D(b || ab), which for similar topics is 2 n_a n_b / (n_a + n_b) times the squared distance
    of the roots of their probabilities. ``counts`` of shape (V, K) are those of words in topics.
    """
    totals = counts.sum(axis=0) + prior.sum()
    roots = np.sqrt((counts + prior[:, None]) / totals)
    return totals[:, None] * totals / (totals[:, None] + totals) * 4 * (1 - roots.T @ roots)


def _estimate_alpha(alpha: np.ndarray, n_documents: np.ndarray, n_words: np.ndarray) -> np.ndarray:
    """Take some steps of Minka's fixed point from binned numbers of words, see `SweepSums`."""
    size = np.divide(n_words, n_documents, out=np.zeros_like(n_words), where=n_documents > 0)
    for _ in range(_ALPHA_STEPS):
        numerator = (n_documents[:-1] * (digamma(size[:-1] + alpha[:, None]) - digamma(alpha)[:, None])).sum(axis=1)
        denominator = float(n_documents[-1] @ (digamma(size[-1] + alpha.sum()) - digamma(alpha.sum())))
        if not denominator > 0:
            return alpha
        alpha = np.maximum(alpha * numerator / denominator, _MIN_ALPHA)
    return alpha


def _add_to_histograms(topic_counts: np.ndarray, histograms: np.ndarray) -> None:
    """Add documents to the histograms, by their positive numbers of words of each topic."""
    for row, numbers in enumerate([*topic_counts.T, topic_counts.sum(axis=1)]):
        positive = numbers[numbers > 0]
        bins = np.minimum((_BINS_PER_OCTAVE * np.log2(positive)).astype(np.int64), _N_BINS - 1)
        histograms[0, row] += np.bincount(bins, minlength=_N_BINS)
        histograms[1, row] += np.bincount(bins, positive, _N_BINS)


# Sums over topics may be reordered in loops that store nothing: see `likelihood.admixture`. Rows are read in place, as a view
# of a row costs as much as ten topics. `_attribute_words` is inlined in both sweeps: a separate function would be compiled once
# by itself and once in them, and would round differently after compilation than after loading from the cache.
_REORDERED = {"reassoc", "contract", "nsz", "arcp"}


@njit(inline="always")
def _attribute_words(
    indices, data, first, last, weights, inverse, alpha, floors, leave_out, rounds, old, old_start, new, in_document,
    shares, probabilities
):  # fmt: skip
    """Update the shares of the counts of one document, first to last; its old ones begin at row ``old_start``.

    ``weights`` are counts with their prior, and ``inverse`` one over their sums; or, with ``leave_out`` 0, topics and
    ones. ``floors`` are lower bounds of the shares before scaling. ``probabilities`` receives those of the occurrences;
    ``in_document`` and ``shares`` are scratch arrays.
    """
    k, n = len(alpha), last - first
    unit, zero = np.float32(1), np.float32(0)
    prior, length = zero, zero
    for j in range(k):
        prior += alpha[j]
    for e in range(first, last):
        length += data[e]
    if leave_out > zero:
        for j in range(k):
            in_document[j] = alpha[j]
        for e in range(n):
            c = data[first + e]
            for j in range(k):
                in_document[j] += c * old[old_start + e, j]
    else:
        for j in range(k):
            in_document[j] = alpha[j] + length * alpha[j] / prior
    denominator = max(length + prior - leave_out, _TINY)
    for turn in range(rounds):
        for e in range(n):
            c, w = data[first + e], indices[first + e]
            part = leave_out * c
            if turn == 0:
                for j in range(k):
                    r = old[old_start + e, j]
                    x = in_document[j] - leave_out * r
                    x = x * (weights[w, j] - part * r) * (inverse[j] + inverse[j] * inverse[j] * part * r)
                    shares[j] = x if x > floors[j] else floors[j]
            else:
                for j in range(k):
                    r = old[old_start + e, j]
                    x = in_document[j] - new[e, j]
                    x = x * (weights[w, j] - part * r) * (inverse[j] + inverse[j] * inverse[j] * part * r)
                    shares[j] = x if x > floors[j] else floors[j]
            total = zero
            for j in range(k):
                total += shares[j]
            scale = unit / total
            probabilities[first + e] = total / denominator
            if turn == 0 and leave_out == zero:  # the counts are still those of the prior
                for j in range(k):
                    new[e, j] = shares[j] * scale
            elif turn == 0:
                for j in range(k):
                    r = shares[j] * scale
                    in_document[j] += c * (r - old[old_start + e, j])
                    new[e, j] = r
            else:
                for j in range(k):
                    r = shares[j] * scale
                    in_document[j] += c * (r - new[e, j])
                    new[e, j] = r
        if turn == 0 and leave_out == zero:
            for j in range(k):
                in_document[j] = alpha[j]
            for e in range(n):
                c = data[first + e]
                for j in range(k):
                    in_document[j] += c * new[e, j]


@njit(nogil=True, cache=True, fastmath=_REORDERED)
def _sweep(
    indptr, indices, data, first, last, weights, new_weights, inverse, alpha, floors, leave_out, rounds, probabilities,
    table
):  # fmt: skip
    """Update the shares of documents first to last in a table, and add the changes to ``new_weights``."""
    k, longest = len(alpha), 0
    for d in range(first, last):
        longest = max(longest, indptr[d + 1] - indptr[d])
    new, in_document, shares = np.empty((longest, k), np.float32), np.empty(k, np.float32), np.empty(k, np.float32)
    for d in range(first, last):
        a, b = indptr[d], indptr[d + 1]
        _attribute_words(
            indices, data, a, b, weights, inverse, alpha, floors, leave_out, rounds, table, a, new, in_document, shares,
            probabilities
        )  # fmt: skip
        for e in range(b - a):
            c, w = data[a + e], indices[a + e]
            for j in range(k):
                new_weights[w, j] += c * (new[e, j] - table[a + e, j])
            for j in range(k):
                table[a + e, j] = new[e, j]


@njit(nogil=True, cache=True, fastmath=_REORDERED)
def _sweep_packed(
    indptr, indices, data, first, last, weights, new_weights, inverse, alpha, floors, leave_out, rounds, probabilities,
    topics, parts
):  # fmt: skip
    """Do as `_sweep` does, for packed shares."""
    k, longest = len(alpha), 0
    for d in range(first, last):
        longest = max(longest, indptr[d + 1] - indptr[d])
    new, in_document, shares = np.empty((longest, k), np.float32), np.empty(k, np.float32), np.empty(k, np.float32)
    old, start = np.empty((longest, k), np.float32), np.int64(0)
    for d in range(first, last):
        a, b = indptr[d], indptr[d + 1]
        old[: b - a] = 0
        _unpack_shares(topics[a:b], parts[a:b], old)
        _attribute_words(
            indices, data, a, b, weights, inverse, alpha, floors, leave_out, rounds, old, start, new, in_document,
            shares, probabilities
        )  # fmt: skip
        _pack_shares(new[: b - a], topics[a:b], parts[a:b])
        for e in range(b - a):
            c, w = data[a + e], indices[a + e]
            for j in range(k):
                new_weights[w, j] += c * (new[e, j] - old[e, j])


@njit(nogil=True, cache=True)
def _join_columns(table, place, joined):
    """Add every column to the one at its new place."""
    for e in range(len(table)):
        for j in range(len(place)):
            joined[e, place[j]] += table[e, j]


@njit(nogil=True, cache=True)
def _draw_topics(indptr, indices, data, d, seed, by_word, inverse, alpha, shares, topic_counts):
    """Draw numbers of words of each topic in a document, by Gibbs sampling within it from the shares of its counts.

    Long documents get the expected numbers.
    """
    k, n = len(alpha), 0
    for e in range(indptr[d], indptr[d + 1]):
        n += int(min(np.ceil(data[e]), _LONG_DOCUMENT + 1))
    if n > _LONG_DOCUMENT:
        for j in range(k):
            words = 0.0
            for e in range(indptr[d], indptr[d + 1]):
                words += data[e] * shares[e - indptr[d], j]
            topic_counts[j] = int(min(words, _MAX_TOPIC_WORDS) + 0.5)
        return
    topics, cumulative = np.empty(n, np.int64), np.empty(k, np.float32)
    state = np.uint64(seed)
    topic_counts[:] = 0
    for turn in range(1 + _GIBBS_ROUNDS):
        i = 0
        for e in range(indptr[d], indptr[d + 1]):
            row, share = by_word[indices[e]], shares[e - indptr[d]]
            for _ in range(int(np.ceil(data[e]))):
                total = np.float32(0)
                if turn == 0:
                    for j in range(k):
                        total += share[j]
                        cumulative[j] = total
                else:
                    topic_counts[topics[i]] -= 1
                    for j in range(k):
                        total += (np.float32(topic_counts[j]) + alpha[j]) * row[j] * inverse[j]
                        cumulative[j] = total
                state += np.uint64(0x9E3779B97F4A7C15)
                bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                threshold = np.float32((bits >> np.uint64(40)) * (1.0 / (1 << 24))) * total
                j = 0
                while j < k - 1 and cumulative[j] <= threshold:
                    j += 1
                topics[i] = j
                topic_counts[j] += 1
                i += 1


@njit(nogil=True, cache=True)
def _pack_shares(shares, topics, parts):
    """Pack the largest shares of every row in units of 1 / 65535 of their sum, and round the rows to the packed values."""
    n, k = shares.shape
    best_shares = np.empty(_N_PACKED, np.float32)
    best_topics = np.empty(_N_PACKED, np.int64)
    for e in range(n):
        row = shares[e]
        n_held = 0
        for j in range(k):
            r = row[j]
            if r < _MIN_SHARE or (n_held == _N_PACKED and r <= best_shares[n_held - 1]):
                continue
            place = min(n_held, _N_PACKED - 1)
            n_held = min(n_held + 1, _N_PACKED)
            while place > 0 and best_shares[place - 1] < r:
                best_shares[place], best_topics[place] = best_shares[place - 1], best_topics[place - 1]
                place -= 1
            best_shares[place], best_topics[place] = r, j
        total = np.float32(0)
        for i in range(n_held):
            total += best_shares[i]
        row[:] = 0
        for i in range(_N_PACKED):
            topics[e, i], parts[e, i] = 0, 0
        for i in range(n_held):
            part = int(best_shares[i] / total * 65535 + 0.5)
            topics[e, i], parts[e, i] = best_topics[i], part
            row[best_topics[i]] = np.float32(part) / np.float32(65535)


@njit(nogil=True, cache=True)
def _unpack_shares(topics, parts, shares):
    for e in range(len(topics)):
        for i in range(_N_PACKED):
            if parts[e, i] == 0:
                break
            shares[e, topics[e, i]] = np.float32(parts[e, i]) / np.float32(65535)
