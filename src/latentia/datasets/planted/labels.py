"""Labelled text of any size: documents of one topic each, with words and labels independent given the topic.

A document draws its topic h = k with probability pi_k. Every word v is then present with probability mu_kv and every
label l with probability gamma_kl, independently: the model of multi-label learning by moments.

No array of K x D probabilities is needed to draw from it. N ~ Poisson(r) words are drawn from the topic's multinomial
p_k, and the distinct ones are kept. The counts of the words are then independent Poisson(r p_kv), so that their
presences are independent with mu_kv = 1 - exp(-r p_kv), exactly. Labels are drawn in the same way.

p_k = beta b + (1 - beta) z_k: b is Zipf-like over all words, b_v proportional to 1 / (v + 30), and z_k over the topic's
own words, which are a random subset: proportional to 1 / (j + 10) at its j-th word, and to 1 / j at its j-th label. Word
v belongs to a topic with a probability that falls as 1 / sqrt(v), so that two topics share some of their words and
differ in most.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numba import njit
from scipy import sparse
from scipy.optimize import brentq

from ...exceptions import LatentiaError
from ...likelihood.sampling import alias_tables
from ...system.scratch import atomic_file
from ._draws import check_sizes, geometric_weights

_BLOCK_ROWS = 4096
_MAX_DENSE_BYTES = 2e9
_MAX_DRAWS = 1024.0
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_CODE_NEWLINE, _CODE_SPACE, _CODE_COMMA, _CODE_0, _CODE_1, _CODE_COLON = (ord(c) for c in "\n ,01:")


@dataclass(frozen=True)
class TopicTerms:
    """The words, or the labels, of all topics, and their probabilities.

    A draw from topic k is term t with probability p_kt = beta b_t + (1 - beta) z_kt. A document of topic k makes
    Poisson(r f) draws, where log f is normal with standard deviation sigma and E[f] = 1, and has their distinct terms.

    Attributes
    ----------
    base : ndarray of shape (n_terms,)
        b: the probabilities that all topics share; they sum to one.
    own : ndarray of shape (n_topics, n_own), int32
        Row k: the exclusive terms of topic k, the most probable first.
    own_probabilities : ndarray of shape (n_own,)
        Row k of z at ``own[k]``: the same numbers for every topic; they sum to one.
    background : float
        beta, the share of the base.
    length_variation : float
        sigma; 0 where f = 1.
    rate : float
        r, the mean number of draws for a document.
    """

    base: np.ndarray
    own: np.ndarray
    own_probabilities: np.ndarray
    background: float
    length_variation: float
    rate: float

    @property
    def n_terms(self) -> int:
        return len(self.base)

    def probabilities(self, topics: np.ndarray | list[int] | None = None) -> np.ndarray:
        """Return P(term t is present | topic k), for all topics or these, shape (n_topics, n_terms).

        1 - exp(-r p_kt), and its mean over f with ``length_variation``: by Gauss-Hermite quadrature with 40 nodes, to
        a relative error of 1e-4 at the most and of 1e-9 for length_variation=.955.
        """
        exclusive = self.own if topics is None else self.own[topics]
        size = 8.0 * len(exclusive) * self.n_terms
        if size > _MAX_DENSE_BYTES:
            raise LatentiaError(
                f"The probabilities of {len(exclusive)} topics x {self.n_terms} terms would take {size / 1e9:.1f} GB. "
                "Take those of a few topics: .words.probabilities([0, 1]), or .labels."
            )
        common, with_own = self._present(self.rate, exclusive)
        present = np.tile(common, (len(exclusive), 1))
        np.put_along_axis(present, exclusive.astype(np.intp), with_own, axis=1)
        return present

    def mean_count(self, weights: np.ndarray, rate: float) -> float:
        """Return the mean number of distinct terms of a document for topic weights, shape (n_topics,), and r = rate."""
        common, with_own = self._present(rate, self.own)
        return float(common.sum() + weights @ (with_own - common[self.own]).sum(axis=1))

    def draw(self, topics: np.ndarray, rng: np.random.Generator) -> sparse.csr_array:
        """Draw terms of documents with the given topics, shape (n_documents, n_terms): ones, int8, with sorted indices."""
        counts = rng.poisson(self.rate * self._factors(rng.standard_normal(len(topics))))
        terms_drawn, indptr = np.empty(counts.sum(), np.int32), np.concatenate([[0], np.cumsum(counts)])
        _draw(topics, counts, rng.random(len(terms_drawn)), self.background, *self._tables, self.own, terms_drawn)
        terms = sparse.csr_array(
            (np.ones(len(terms_drawn), np.int8), terms_drawn, indptr), shape=(len(topics), self.n_terms)
        )
        terms.sum_duplicates()
        terms.data[:] = 1
        return terms

    def _present(self, rate: float, exclusive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities of presence: of every term by the base alone, and of the exclusive terms of the topics."""
        base = self.background * self.base
        rates = base, base[exclusive] + (1 - self.background) * self.own_probabilities
        common, with_own = (self._mean_presence(rate * p) for p in rates)
        return common, with_own

    def _mean_presence(self, rates: np.ndarray) -> np.ndarray:
        """Return E[1 - exp(-f r)] for every rate r."""
        if not self.length_variation:
            return -np.expm1(-rates)
        present = np.zeros_like(rates)
        for factor, weight in zip(self._factors(_NODES), _NODE_WEIGHTS / _NODE_WEIGHTS.sum(), strict=True):
            present -= weight * np.expm1(-factor * rates)
        return present

    def _factors(self, normal: np.ndarray) -> np.ndarray:
        """Return f, from standard normal numbers."""
        return np.exp(self.length_variation * normal - self.length_variation**2 / 2)

    @cached_property
    def _tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Thresholds and aliases of the base, and of the exclusive terms of every topic."""
        (threshold,), (alias,) = alias_tables(self.base[None, :])
        (own_threshold,), (own_alias,) = alias_tables(self.own_probabilities[None, :])
        return threshold, alias, own_threshold, own_alias


@dataclass(frozen=True)
class LabelModelTruth:
    """The parameters of a planted model of labelled text, and a sampler of documents from it.

    Attributes
    ----------
    weights : ndarray of shape (n_topics,)
        pi: probability of each topic.
    words, labels : TopicTerms
        The topics' words and labels.
    """

    weights: np.ndarray
    words: TopicTerms = field(repr=False)
    labels: TopicTerms = field(repr=False)

    @property
    def word_probabilities(self) -> np.ndarray:
        """mu, shape (n_topics, n_words): P(word v is present | topic k). An error if it would take more than 2 GB.

        With ``length_variation`` these are the means over the lengths, and words of one document are independent
        given its topic and its length, not given its topic alone.
        """
        return self.words.probabilities()

    @property
    def label_probabilities(self) -> np.ndarray:
        """gamma, shape (n_topics, n_labels): P(label l | topic k). An error if it would take more than 2 GB."""
        return self.labels.probabilities()

    def sample_blocks(
        self, n_documents: int, random_state: int = 0, block_rows: int = _BLOCK_ROWS
    ) -> Iterator[tuple[sparse.csr_array, sparse.csr_array, np.ndarray]]:
        """Yield (X, Y, topics) block by block: words, labels and topic of the next ``block_rows`` documents.

        X and Y are of ones, int8, with sorted indices. The same ``random_state`` and ``block_rows`` yield the same
        documents; block b has its own stream of random numbers.
        """
        check_sizes(n_documents=n_documents, block_rows=block_rows)
        streams = np.random.SeedSequence(random_state).spawn(-(-n_documents // block_rows))
        for b, stream in enumerate(streams):
            rng = np.random.default_rng(stream)
            rows = min(block_rows, n_documents - b * block_rows)
            topics = rng.choice(len(self.weights), size=rows, p=self.weights)
            yield self.words.draw(topics, rng), self.labels.draw(topics, rng), topics

    def sample(self, n_documents: int, random_state: int = 0) -> PlantedLabels:
        """Draw ``n_documents`` documents."""
        X, Y, topics = zip(*self.sample_blocks(n_documents, random_state), strict=True)
        return PlantedLabels(
            sparse.vstack(X, format="csr"), sparse.vstack(Y, format="csr"), np.concatenate(topics), self
        )

    def write(self, path: str | os.PathLike[str], n_documents: int, random_state: int = 0) -> Path:
        """Write the documents of `sample` as a text file of the Extreme Classification Repository, block by block.

        The first line is ``documents words labels``, and each of the others a document, ``l1,l2 v1:1 v2:1``, counted
        from 0. A document without labels begins with a space, and one without words is its labels alone. The file
        gets its name when it is complete.

        Returns
        -------
        Path of the file
        """
        target = Path(path)
        with atomic_file(target) as file:
            file.write(f"{n_documents} {self.words.n_terms} {self.labels.n_terms}\n".encode())
            for X, Y, _ in self.sample_blocks(n_documents, random_state):
                file.write(_format_lines(X, Y))
        return target


@dataclass(frozen=True)
class PlantedLabels:
    """Labelled documents and the model that generated them.

    Attributes
    ----------
    X : csr_array of shape (n_documents, n_words), int8
        Ones where a word is present.
    Y : csr_array of shape (n_documents, n_labels), int8
        Ones where a label is.
    topics : ndarray of shape (n_documents,), int64
    truth : LabelModelTruth
    """

    X: sparse.csr_array
    Y: sparse.csr_array
    topics: np.ndarray
    truth: LabelModelTruth = field(repr=False)


def label_model(
    n_topics: int = 20,
    n_words: int = 2000,
    n_labels: int = 200,
    *,
    features: float = 60.0,
    labels: float = 3.0,
    background: float = 0.4,
    label_background: float = 0.1,
    topic_words: int | None = None,
    topic_labels: int | None = None,
    length_variation: float = 0.0,
    spread: float = 1.0,
    random_state: int = 0,
) -> LabelModelTruth:
    """Plant a model of labelled text. It takes memory for n_words + n_labels + n_topics (topic_words + topic_labels).

    Parameters
    ----------
    n_topics, n_words, n_labels : int
        K, D and L. Words and labels are numbered by their rank in the base.
    features, labels : float
        Mean numbers of distinct words and labels of a document; the rates r follow from them.
    background, label_background : float
        beta, in [0, 1]: share of a topic's draws that come from the base over all words, or labels.
    topic_words : int, optional
        Number of words of a topic's own; by default a twentieth of the words, at least 50 and at most 5000.
    topic_labels : int, optional
        Number of labels of a topic's own; by default 2 L / K, at least 10. Beyond the K most frequent labels, frequencies
        are then about Zipfian over all of them.
    length_variation : float
        sigma, in [0, 2]: standard deviation of the logarithm of a lognormal factor of mean one on the rate of a
        document's words. 0 is exactly the Bernoulli model; a mean of 71 words and a median of 45 correspond to .955.
    spread : float
        Ratio of the largest to the smallest weight; topics lie between them geometrically, in random order.
    random_state : int

    Returns
    -------
    LabelModelTruth
        The truth, from which data is drawn.
    """
    check_sizes(n_topics=n_topics, n_words=n_words, n_labels=n_labels)
    if not 0 <= length_variation <= 2:
        raise LatentiaError(f"length_variation={length_variation}: need a number in [0, 2].")
    topic_words = _choose_exclusive_size(
        "topic_words", topic_words, min(5000, max(50, n_words // 20)), "n_words", n_words
    )
    topic_labels = _choose_exclusive_size(
        "topic_labels", topic_labels, max(10, 2 * n_labels // n_topics), "n_labels", n_labels
    )
    rng = np.random.default_rng(random_state)
    weights = geometric_weights(n_topics, spread, rng)
    own_words = np.stack([_draw_exclusive_terms(topic_words, n_words, rng) for _ in range(n_topics)])
    own_labels = np.stack([_draw_exclusive_terms(topic_labels, n_labels, rng) for _ in range(n_topics)])
    return LabelModelTruth(
        weights,
        _build_terms("features", features, weights, own_words, 10, n_words, "background", background, length_variation),
        _build_terms("labels", labels, weights, own_labels, 0, n_labels, "label_background", label_background, 0.0),
    )


def labelled_corpus(n_documents: int = 2000, *, random_state: int = 0, **model: object) -> PlantedLabels:
    """Plant a model of labelled text (parameters of `label_model`) and draw ``n_documents`` documents from it.

    Parameters
    ----------
    n_documents : int, default=2000
        Number of documents.
    random_state : int, default=0
        Seed.
    model : parameters of `label_model`

    Returns
    -------
    PlantedLabels
        The data and the truth that it was drawn from.
    """
    truth = label_model(random_state=random_state, **model)  # type: ignore[arg-type]
    return truth.sample(n_documents, random_state=random_state + 1)


def _choose_exclusive_size(name: str, requested: int | None, default: int, name_of_all: str, n_all: int) -> int:
    """Return the number of exclusive terms of a topic: the requested one, or the default if there are as many."""
    if requested is None:
        return min(default, n_all)
    if not 1 <= requested <= n_all:
        raise LatentiaError(f"{name}={requested}: need a number from 1 to {name_of_all}={n_all}.")
    return requested


def _draw_exclusive_terms(size: int, n_terms: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``size`` distinct terms, int32, with density 1 / sqrt(t), by inversion."""
    terms = np.empty(0, np.int32)
    while len(terms) < size:
        candidates = (n_terms * rng.random(2 * size) ** 2).astype(np.int32)
        pool = np.concatenate([terms, candidates])
        terms = pool[np.sort(np.unique(pool, return_index=True)[1])]
    return terms[:size]


def _build_terms(
    name: str,
    mean_count: float,
    weights: np.ndarray,
    exclusive: np.ndarray,
    exclusive_shift: int,
    n_terms: int,
    name_of_background: str,
    background: float,
    length_variation: float,
) -> TopicTerms:
    """Return terms with the rate of draws for which documents have ``mean_count`` distinct terms on average."""
    if not 0 <= background <= 1:
        raise LatentiaError(f"{name_of_background}={background}: need a number in [0, 1].")
    if not 0 < mean_count < np.inf:
        raise LatentiaError(f"{name}={mean_count}: need a positive number.")
    terms = TopicTerms(
        base=_zipf(n_terms, 30),
        own=exclusive,
        own_probabilities=_zipf(exclusive.shape[1], exclusive_shift),
        background=background,
        length_variation=length_variation,
        rate=0.0,
    )
    max_count = terms.mean_count(weights, _MAX_DRAWS * mean_count)
    if max_count <= mean_count:
        raise LatentiaError(
            f"{name}={mean_count}: {_MAX_DRAWS:.0f} times as many draws give {max_count:.4g} distinct ones. "
            f"Lower it, or raise {name_of_background} or the number of a topic's own."
        )
    rate = brentq(lambda r: terms.mean_count(weights, r) - mean_count, 0, _MAX_DRAWS * mean_count, rtol=1e-10)
    return replace(terms, rate=rate)


def _zipf(n: int, shift: int) -> np.ndarray:
    """Return probabilities proportional to 1 / (j + shift), j = 1, ..., n."""
    weights = 1.0 / np.arange(shift + 1, shift + n + 1)
    return weights / weights.sum()


def _format_lines(X: sparse.csr_array, Y: sparse.csr_array) -> memoryview:
    """Return lines ``l1,l2 v1:1 v2:1``, as bytes."""
    a_word, a_label = len(f" {X.shape[1]}:1"), len(f"{Y.shape[1]},")
    buffer = np.empty(X.shape[0] * len(" \n") + X.nnz * a_word + Y.nnz * a_label, np.uint8)
    return buffer[: _write_lines(X.indptr, X.indices, Y.indptr, Y.indices, buffer)].data


@njit(nogil=True, cache=True)
def _draw(
    topics: np.ndarray,
    counts: np.ndarray,
    uniforms: np.ndarray,
    background: float,
    threshold: np.ndarray,
    alias: np.ndarray,
    exclusive_threshold: np.ndarray,
    exclusive_alias: np.ndarray,
    exclusive: np.ndarray,
    terms: np.ndarray,
) -> None:
    """Draw counts[d] terms from topic topics[d], one document after the other.

    A uniform number below ``background`` chooses the base, others the exclusive terms; rescaled it is uniform again.
    """
    i = 0
    for d in range(len(topics)):
        for _ in range(counts[d]):
            u = uniforms[i]
            if u < background:
                terms[i] = _alias_draw(u / background, threshold, alias)
            else:
                j = _alias_draw((u - background) / (1.0 - background), exclusive_threshold, exclusive_alias)
                terms[i] = exclusive[topics[d], j]
            i += 1


@njit(nogil=True, cache=True)
def _alias_draw(uniform: float, threshold: np.ndarray, alias: np.ndarray) -> int:
    """Draw once by Walker's tables from one uniform number."""
    scaled = uniform * len(threshold)
    j = min(int(scaled), len(threshold) - 1)  # stretching may have rounded the number up to one
    return j if scaled - j < threshold[j] else alias[j]


@njit(nogil=True, cache=True)
def _write_lines(
    x_indptr: np.ndarray, x_indices: np.ndarray, y_indptr: np.ndarray, y_indices: np.ndarray, buffer: np.ndarray
) -> np.int64:
    """Write one line a row into ``buffer``; return its length."""
    end = np.int64(0)
    for d in range(len(x_indptr) - 1):
        for i in range(y_indptr[d], y_indptr[d + 1]):
            if i > y_indptr[d]:
                buffer[end] = _CODE_COMMA
                end += 1
            end = _write_number(y_indices[i], buffer, end)
        if x_indptr[d] == x_indptr[d + 1] and y_indptr[d] == y_indptr[d + 1]:
            buffer[end] = _CODE_SPACE
            end += 1
        for i in range(x_indptr[d], x_indptr[d + 1]):
            buffer[end] = _CODE_SPACE
            end = _write_number(x_indices[i], buffer, end + 1)
            buffer[end], buffer[end + 1] = _CODE_COLON, _CODE_1
            end += 2
        buffer[end] = _CODE_NEWLINE
        end += 1
    return end


@njit(nogil=True, cache=True)
def _write_number(number: int, buffer: np.ndarray, start: np.int64) -> np.int64:
    """Write the decimal digits of ``number`` at ``start``; return where they end."""
    end, rest = start + 1, number // 10
    while rest > 0:
        end, rest = end + 1, rest // 10
    rest = number
    for i in range(end - 1, start - 1, -1):
        buffer[i] = _CODE_0 + rest % 10
        rest //= 10
    return end
