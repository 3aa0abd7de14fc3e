"""Documents that mix topics, with proportions and topics both integrated out: collapsed variational Bayes of order zero.

Model: a document has proportions from Dirichlet(alpha), a topic has word probabilities from Dirichlet(beta), and every
occurrence of a word draws a topic and then the word. Each stored count c of word w in document d has shares r_k over the
topics, and a sweep sets them to

    r_k  proportional to  (N_dk - r_k + alpha_k) (N_wk - c r_k + beta_w) / (N_k - c r_k + sum beta),

N being the counts that the shares make: of topics in the document, of words in topics, of topics. An occurrence thus has no
say in its own attribution, neither through its document nor through its topic. Expectation maximisation, where it has both,
believes what it has said before: short documents end in one topic each, and rare words where they began.

The documents of a block come in four groups, each with a copy of the counts of words in topics. Within a group the counts of a
document follow its shares at once, and those of words when the document is done; the groups' changes are summed in order when
all are done. So the bits depend on no number of threads, of which four find work. Work for K topics: about 16 flops for every
stored count and topic. Bytes: the shares are read and written once, 8 K a count in memory, or 48 (64 above 256 topics) where
they are packed in a file; and 16 V K for the copies.

The parameters alpha follow Minka's fixed point, with numbers of words of each topic in a document. Expected ones will not do:
shares say nothing of how the words of a document go together, and make all documents mix all topics a little. So the topics of
some documents' words are drawn from their shares, and moved by two rounds of Gibbs sampling within each document; the draws
depend on nothing but the place of the document, and enter nothing but alpha.

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

_GROUPS = 4  # of the documents of a block, each with counts of its own
_WORDS = 1024  # of a task
_FIRST, _LATER = 3, 1  # rounds over a document in the first sweep, and in every other
_PACKED = 8  # largest shares of a count that are kept in a file
_NOTHING = 1e-3  # shares below are not
_OCTAVE = 8  # bins of counts of topics in documents
_BINS = 32 * _OCTAVE
_EVERY = 5  # sweeps from one estimate of alpha to the next
_DRAWN, _GIBBS = 1000, 2  # documents whose words' topics are drawn for it; rounds of Gibbs sampling
_LONG, _MOST_WORDS = 20_000, 1e12  # words of a document that are drawn; of a topic in a document that count
_ALPHA_STEPS = 5
_LEAST_ALPHA = 1e-3
_LANES = 8  # topics that are worked on at a time; rows of shares and counts end with zeros up to a multiple of it
_TINY = np.float32(1e-30)


class Shares(Protocol):
    """The shares of every stored count of a source, from sweep to sweep."""

    width: int
    """Topics and the zeros after them."""

    def begin(self, block: int, n: int) -> None:
        """Make room for a block with n stored counts, if there is none yet; they are zero."""

    def sweep(self, block: int, documents: Any) -> None:
        """Make new shares of some documents of a block; ``documents`` are the first arguments of `_sweep`."""

    def load(self, block: int, first: int, last: int) -> np.ndarray:
        """Those of counts first to last of a block, float32 of shape (last - first, width)."""


class _InMemory:
    """All shares, in single precision."""

    def __init__(self, n_topics: int) -> None:
        self.n_topics, self.width = n_topics, _width(n_topics)
        self._tables: dict[int, np.ndarray] = {}

    def sweep(self, block: int, documents: Any) -> None:
        _sweep(*documents, self._tables[block])  # type: ignore[call-arg]

    def begin(self, block: int, n: int) -> None:
        if block not in self._tables:
            self._tables[block] = np.zeros((n, self.width), np.float32)

    def load(self, block: int, first: int, last: int) -> np.ndarray:
        return self._tables[block][first:last]

    def join(self, place: np.ndarray) -> None:
        """Give every topic the place of the one that it joins."""
        self.n_topics = int(place.max()) + 1
        self.width = _width(self.n_topics)
        for number, table in self._tables.items():
            self._tables[number] = np.zeros((len(table), self.width), np.float32)
            _join(table, place, self._tables[number])


class _Packed:
    """The eight largest shares of every count, in 16 bits each, in files that are mapped into memory."""

    def __init__(self, n_topics: int, folder: Path) -> None:
        self.n_topics, self.width, self._folder = n_topics, _width(n_topics), folder
        self._kind = np.uint8 if n_topics <= 256 else np.uint16
        self._files: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def sweep(self, block: int, documents: Any) -> None:
        _sweep_packed(*documents, *self._files[block])  # type: ignore[call-arg]

    def begin(self, block: int, n: int) -> None:
        if block not in self._files:
            self._files[block] = (
                self._file(f"{block}.topics", n, self._kind),
                self._file(f"{block}.parts", n, np.uint16),
            )

    def load(self, block: int, first: int, last: int) -> np.ndarray:
        topics, parts = self._files[block]
        table = np.zeros((last - first, self.width), np.float32)
        _unpack(topics[first:last], parts[first:last], table)
        return table

    def _file(self, name: str, n: int, kind: Any) -> np.ndarray:
        if not n:
            return np.zeros((0, _PACKED), kind)
        return np.asarray(np.memmap(self._folder / name, kind, "w+", shape=(n, _PACKED)))


def fit_in_memory(n_entries: float, n_topics: int) -> bool:
    """Whether the shares of so many stored counts are held in memory as they are, and not packed in files.

    They may take scikit-learn's ``working_memory``, which is 1 GB unless it is set.
    """
    return bool(n_entries * _width(n_topics) * 4 <= get_config()["working_memory"] * (1 << 20))


@contextmanager
def held_shares(n_entries: int, n_topics: int, *, in_memory: bool = False) -> Iterator[Shares]:
    """Room for the shares of so many stored counts: in memory where they fit or it is asked for, else in temporary files."""
    if in_memory or fit_in_memory(n_entries, n_topics):
        yield _InMemory(n_topics)
        return
    with scratch_folder() as folder:
        yield _Packed(n_topics, folder)


@dataclass
class CollapsedSums:
    """Sums of a sweep.

    Attributes
    ----------
    log_likelihood : float
        Of all words, each predicted from all others, in nats.
    drawn : ndarray of shape (2, K + 1, n_bins)
        Documents by how many of their words have each topic, in bins, and by their lengths; and these numbers, summed.
    """

    log_likelihood: float = 0.0
    drawn: np.ndarray = field(default_factory=lambda: np.zeros((2, 0, _BINS)))


class CollapsedUpdate:
    """In-place statistic of one sweep. It holds the state of the sweeps itself: counts, shares and Dirichlet parameters.

    The first sweep attributes words by the topics it is given, and every other one by the counts of the last.

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
        self._stride = max(-(-n_rows // _DRAWN), 1)
        self._counts = np.zeros(topics.T.shape)
        self._totals = np.full(len(self.alpha), self.prior.sum())
        self._hold(topics.T)

    @property
    def values(self) -> Values:
        return (self.topics,)

    @property
    def counts(self) -> np.ndarray:
        """Words in topics, shape (V, K)."""
        return self._counts

    def at(self, *values: np.ndarray) -> CollapsedUpdate:
        (self.topics,) = values
        return self

    def zero(self) -> CollapsedSums:
        return CollapsedSums(drawn=np.zeros((2, len(self.alpha) + 1, _BINS)))

    def add_tasks(self, state: CollapsedSums, block: Block, parallel: Parallel) -> CollapsedSums:
        counts = as_counts(block[0])
        n, started = len(counts.indptr) - 1, self.n_sweeps > 0
        data, mass = counts.data.astype(np.float32), np.empty(len(counts.data), np.float32)
        ends = np.searchsorted(counts.indptr, counts.indptr[-1] * np.arange(1, _GROUPS) / _GROUPS)
        ends = np.array([0, *ends, n])
        k, rounds = len(self.alpha), _LATER if started else _FIRST
        alpha, least = self._padded(self.alpha), self._padded(np.full(k, _TINY))
        inverse = self._padded(1 / self._totals if started else np.ones(k))
        self.shares.begin(block.number, len(data))

        def sweep(g: int) -> None:
            copy = self._copies[g]
            copy[:] = self._by_word if started else 0
            read = copy if started else self._by_word
            document = counts.indptr, counts.indices, data, ends[g], ends[g + 1]
            self.shares.sweep(
                block.number, (*document, read, copy, inverse, alpha, least, np.float32(started), rounds, mass)
            )

        def merge(i: int) -> None:
            words = slice(i * _WORDS, (i + 1) * _WORDS)
            before = self._by_word[words, :k] if started else np.float32(0)
            for copy in self._copies:
                self._counts[words] += copy[words, :k] - before
            np.maximum(self._counts[words], 0.0, out=self._counts[words])  # changes of large counts are rounded
            if started:
                self._by_word[words, :k] = self._counts[words] + self.prior[words, None]

        parallel(sweep, _GROUPS)
        parallel(merge, -(-len(self._counts) // _WORDS))
        self._totals = self._counts.sum(axis=0) + self.prior.sum()
        seen = mass > 0
        state.log_likelihood += float(counts.data[seen] @ np.log(mass[seen].astype(np.float64)))
        if self._learning:
            self._draw(state, block, counts, data, inverse, alpha[:k], parallel)
        return state

    def expected(self, sums: CollapsedSums) -> tuple[Expected, ...]:
        if self._learning:
            self.alpha = _minka(self.alpha, *sums.drawn)
        if not self.n_sweeps:
            self._by_word[:, : len(self.alpha)] = self._counts + self.prior[:, None]
        self.n_sweeps += 1
        self.log_likelihood.append(sums.log_likelihood)
        return (Distributions(self.topics, self._counts.T, self.prior),)

    @property
    def _learning(self) -> bool:
        return self.learn_alpha and self.n_sweeps % _EVERY == _EVERY - 1

    def _draw(
        self,
        state: CollapsedSums,
        block: Block,
        counts: Counts,
        data: np.ndarray,
        inverse: np.ndarray,
        alpha: np.ndarray,
        parallel: Parallel,
    ) -> None:
        """Add what is drawn for some of the documents of a block."""
        chosen = np.flatnonzero((block.start + np.arange(len(counts.indptr) - 1)) % self._stride == 0)
        drawn = np.empty((len(chosen), len(alpha)), np.int64)

        def draw(i: int) -> None:
            d = int(chosen[i])
            shares = self.shares.load(block.number, int(counts.indptr[d]), int(counts.indptr[d + 1]))
            document = counts.indptr, counts.indices, data, d, block.start + d
            _draw(*document, self._by_word, inverse, alpha, shares, drawn[i])

        parallel(draw, len(chosen))
        _bin(drawn, state.drawn)

    def join(self, n_left: int) -> None:
        """Join the topics that are most alike, pair by pair, until so many are left. The shares must be in memory."""
        if not isinstance(self.shares, _InMemory):
            raise TypeError("Topics are joined in memory alone.")
        losses = _join_losses(self._counts, self.prior)
        np.fill_diagonal(losses, np.inf)
        pairs: list[tuple[int, int]] = []
        free = np.ones(len(losses), dtype=bool)
        for flat in np.argsort(losses, axis=None, kind="stable"):
            first, second = sorted(divmod(int(flat), len(losses)))
            if len(pairs) == len(losses) - n_left or first == second:
                break
            if free[first] and free[second]:
                pairs.append((first, second))
                free[[first, second]] = False
        left = np.delete(np.arange(len(losses)), [second for _, second in pairs])
        place = np.zeros(len(losses), np.int64)
        place[left] = np.arange(len(left))
        for first, second in pairs:
            place[second] = place[first]
        joins = sparse.csr_array((np.ones(len(place)), (np.arange(len(place)), place)))
        self.shares.join(place)
        self._counts, self.alpha, self.topics = self._counts @ joins, joins.T @ self.alpha, joins.T @ self.topics
        self.topics /= self.topics.sum(axis=1, keepdims=True)
        self._totals = self._counts.sum(axis=0) + self.prior.sum()
        self._hold(self._counts + self.prior[:, None])

    def _hold(self, by_word: np.ndarray) -> None:
        """Keep what words have in topics, (V, K), and make room for its copies."""
        self._by_word = np.zeros((len(by_word), self.shares.width), np.float32)
        self._by_word[:, : by_word.shape[1]] = by_word
        self._copies = np.empty((_GROUPS, *self._by_word.shape), np.float32)

    def _padded(self, values: np.ndarray) -> np.ndarray:
        """Values of the topics in single precision, and zeros."""
        return np.append(values, np.zeros(self.shares.width - len(values))).astype(np.float32)


def _width(n_topics: int) -> int:
    return -(-n_topics // _LANES) * _LANES


def _join_losses(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Nats that the words lose if two topics become one, very nearly, shape (K, K).

    They are n_a D(a || ab) + n_b D(b || ab), which for topics that are alike is 2 n_a n_b / (n_a + n_b) times the squared
    distance of the roots of their probabilities.

    ``counts`` of shape (V, K) are those of words in topics.
    """
    totals = counts.sum(axis=0) + prior.sum()
    roots = np.sqrt((counts + prior[:, None]) / totals)
    return totals[:, None] * totals / (totals[:, None] + totals) * 4 * (1 - roots.T @ roots)


def _minka(alpha: np.ndarray, documents: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Some steps of Minka's fixed point from binned numbers of words, see `CollapsedSums`."""
    size = np.divide(total, documents, out=np.zeros_like(total), where=documents > 0)
    for _ in range(_ALPHA_STEPS):
        above = (documents[:-1] * (digamma(size[:-1] + alpha[:, None]) - digamma(alpha)[:, None])).sum(axis=1)
        below = float(documents[-1] @ (digamma(size[-1] + alpha.sum()) - digamma(alpha.sum())))
        if not below > 0:
            return alpha
        alpha = np.maximum(alpha * above / below, _LEAST_ALPHA)
    return alpha


def _bin(drawn: np.ndarray, total: np.ndarray) -> None:
    """Add documents with so many words of each topic; topics without one say nothing."""
    for row, numbers in enumerate([*drawn.T, drawn.sum(axis=1)]):
        some = numbers[numbers > 0]
        bins = np.minimum((_OCTAVE * np.log2(some)).astype(np.int64), _BINS - 1)
        total[0, row] += np.bincount(bins, minlength=_BINS)
        total[1, row] += np.bincount(bins, some, _BINS)


# Sums over topics may be reordered, but stand in loops that store nothing: see `likelihood.admixture`. Rows are read in place:
# a view of one costs as much as ten topics. It stands inline in both sweeps: as a function of its own it would be compiled once
# by itself and once in them, and round differently in a process that compiles and in one that loads what was compiled.
_REORDERED = {"reassoc", "contract", "nsz", "arcp"}


@njit(inline="always")
def _attribute(indices, data, first, last, read, inverse, alpha, least, own, rounds, old, at, new, here, shares, mass):
    """New shares for the counts of one document, first to last; its old ones begin at row ``at`` of ``old``.

    ``read`` are counts with their prior, and ``inverse`` one over their sums; or, with ``own`` 0, topics and ones, where
    nothing is left out. ``least`` are bounds of what becomes shares. ``mass`` becomes the probability of each occurrence;
    ``here`` and ``shares`` are room.
    """
    k, n = len(alpha), last - first
    one, zero = np.float32(1), np.float32(0)
    prior, length = zero, zero
    for j in range(k):
        prior += alpha[j]
    for e in range(first, last):
        length += data[e]
    if own > zero:
        for j in range(k):
            here[j] = alpha[j]
        for e in range(n):
            c = data[first + e]
            for j in range(k):
                here[j] += c * old[at + e, j]
    else:
        for j in range(k):
            here[j] = alpha[j] + length * alpha[j] / prior
    others = max(length + prior - own, _TINY)
    for turn in range(rounds):
        for e in range(n):
            c, w = data[first + e], indices[first + e]
            part = own * c
            if turn == 0:
                for j in range(k):
                    r = old[at + e, j]
                    x = here[j] - own * r
                    x = x * (read[w, j] - part * r) * (inverse[j] + inverse[j] * inverse[j] * part * r)
                    shares[j] = x if x > least[j] else least[j]
            else:
                for j in range(k):
                    r = old[at + e, j]
                    x = here[j] - new[e, j]
                    x = x * (read[w, j] - part * r) * (inverse[j] + inverse[j] * inverse[j] * part * r)
                    shares[j] = x if x > least[j] else least[j]
            total = zero
            for j in range(k):
                total += shares[j]
            scale = one / total
            mass[first + e] = total / others
            if turn == 0 and own == zero:  # the counts are still those of the prior
                for j in range(k):
                    new[e, j] = shares[j] * scale
            elif turn == 0:
                for j in range(k):
                    r = shares[j] * scale
                    here[j] += c * (r - old[at + e, j])
                    new[e, j] = r
            else:
                for j in range(k):
                    r = shares[j] * scale
                    here[j] += c * (r - new[e, j])
                    new[e, j] = r
        if turn == 0 and own == zero:
            for j in range(k):
                here[j] = alpha[j]
            for e in range(n):
                c = data[first + e]
                for j in range(k):
                    here[j] += c * new[e, j]


@njit(nogil=True, cache=True, fastmath=_REORDERED)
def _sweep(indptr, indices, data, first, last, read, write, inverse, alpha, least, own, rounds, mass, table):
    """New shares for documents first to last, in a table, and the counts of words that they make."""
    k, most = len(alpha), 0
    for d in range(first, last):
        most = max(most, indptr[d + 1] - indptr[d])
    new, here, shares = np.empty((most, k), np.float32), np.empty(k, np.float32), np.empty(k, np.float32)
    for d in range(first, last):
        a, b = indptr[d], indptr[d + 1]
        _attribute(indices, data, a, b, read, inverse, alpha, least, own, rounds, table, a, new, here, shares, mass)
        for e in range(b - a):
            c, w = data[a + e], indices[a + e]
            for j in range(k):
                write[w, j] += c * (new[e, j] - table[a + e, j])
            for j in range(k):
                table[a + e, j] = new[e, j]


@njit(nogil=True, cache=True, fastmath=_REORDERED)
def _sweep_packed(
    indptr, indices, data, first, last, read, write, inverse, alpha, least, own, rounds, mass, topics, parts
):
    """As `_sweep`, for shares that are packed."""
    k, most = len(alpha), 0
    for d in range(first, last):
        most = max(most, indptr[d + 1] - indptr[d])
    new, here, shares = np.empty((most, k), np.float32), np.empty(k, np.float32), np.empty(k, np.float32)
    old, start = np.empty((most, k), np.float32), np.int64(0)
    for d in range(first, last):
        a, b = indptr[d], indptr[d + 1]
        old[: b - a] = 0
        _unpack(topics[a:b], parts[a:b], old)
        _attribute(indices, data, a, b, read, inverse, alpha, least, own, rounds, old, start, new, here, shares, mass)
        _pack(new[: b - a], topics[a:b], parts[a:b])
        for e in range(b - a):
            c, w = data[a + e], indices[a + e]
            for j in range(k):
                write[w, j] += c * (new[e, j] - old[e, j])


@njit(nogil=True, cache=True)
def _join(table, place, joined):
    """Add every column to that of its place."""
    for e in range(len(table)):
        for j in range(len(place)):
            joined[e, place[j]] += table[e, j]


@njit(nogil=True, cache=True)
def _draw(indptr, indices, data, d, place, by_word, inverse, alpha, shares, drawn):
    """Numbers of words of each topic in a document, by Gibbs sampling within it, from the shares of its counts.

    Of long documents they are the expected ones.
    """
    k, n = len(alpha), 0
    for e in range(indptr[d], indptr[d + 1]):
        n += int(min(np.ceil(data[e]), _LONG + 1))
    if n > _LONG:
        for j in range(k):
            words = 0.0
            for e in range(indptr[d], indptr[d + 1]):
                words += data[e] * shares[e - indptr[d], j]
            drawn[j] = int(min(words, _MOST_WORDS) + 0.5)
        return
    topics, below = np.empty(n, np.int64), np.empty(k, np.float32)
    state = np.uint64(place)
    drawn[:] = 0
    for turn in range(1 + _GIBBS):
        i = 0
        for e in range(indptr[d], indptr[d + 1]):
            row, share = by_word[indices[e]], shares[e - indptr[d]]
            for _ in range(int(np.ceil(data[e]))):
                total = np.float32(0)
                if turn == 0:
                    for j in range(k):
                        total += share[j]
                        below[j] = total
                else:
                    drawn[topics[i]] -= 1
                    for j in range(k):
                        total += (np.float32(drawn[j]) + alpha[j]) * row[j] * inverse[j]
                        below[j] = total
                state += np.uint64(0x9E3779B97F4A7C15)
                bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                at = np.float32((bits >> np.uint64(40)) * (1.0 / (1 << 24))) * total
                j = 0
                while j < k - 1 and below[j] <= at:
                    j += 1
                topics[i] = j
                drawn[j] += 1
                i += 1


@njit(nogil=True, cache=True)
def _pack(shares, topics, parts):
    """The largest shares of every row in units of 1 / 65535 of their sum, largest first; the rows become what is kept."""
    n, k = shares.shape
    best = np.empty(_PACKED, np.float32)
    which = np.empty(_PACKED, np.int64)
    for e in range(n):
        row = shares[e]
        held = 0
        for j in range(k):
            r = row[j]
            if r < _NOTHING or (held == _PACKED and r <= best[held - 1]):
                continue
            place = min(held, _PACKED - 1)
            held = min(held + 1, _PACKED)
            while place > 0 and best[place - 1] < r:
                best[place], which[place] = best[place - 1], which[place - 1]
                place -= 1
            best[place], which[place] = r, j
        total = np.float32(0)
        for i in range(held):
            total += best[i]
        row[:] = 0
        for i in range(_PACKED):
            topics[e, i], parts[e, i] = 0, 0
        for i in range(held):
            part = int(best[i] / total * 65535 + 0.5)
            topics[e, i], parts[e, i] = which[i], part
            row[which[i]] = np.float32(part) / np.float32(65535)


@njit(nogil=True, cache=True)
def _unpack(topics, parts, shares):
    for e in range(len(topics)):
        for i in range(_PACKED):
            if parts[e, i] == 0:
                break
            shares[e, topics[e, i]] = np.float32(parts[e, i]) / np.float32(65535)
